import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { Anchorer, AnchorFile, hashAnchor, readAnchors } from '../../src/journal/anchors/anchors.ts';
import { readContents } from '../../src/journal/archive/archive.ts';
import type { RunOutcome } from '../../src/journal/entry.ts';
import { holdFile, openDatabase } from '../../src/journal/sql/sqlite.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { newWriter, startedData } from '../journal/sample.ts';
import { BIN, folder } from './command.ts';

const STATE = '.runbook';
const JANUARY = '2026-01.jsonl.gz';

/** A live run of `entries` entries that ends a second after it began, anchored at its end. */
async function writeRun(
  store: JournalStore,
  state: string,
  run: string,
  { at = '2026-01-05T08:00:00Z', entries = 20, outcome = 'succeeded' as RunOutcome | 'none' } = {},
): Promise<void> {
  const clock = new VirtualClock(Date.parse(at));
  const writer = newWriter(store, run, { clock });
  const sinks = [new AnchorFile(join(state, 'anchors.jsonl'))];
  const findPrevious = () => readAnchors(join(state, 'anchors.jsonl')).anchors.map(hashAnchor).at(-1);
  const anchorer = new Anchorer(writer, { run, clock, sinks, everyMs: null, findPrevious });
  writer.append('run.started', startedData({ mode: 'live', startedAt: clock.now() }));
  for (let index = 2; index < entries; index += 1)
    writer.append('variable.set', { name: 'v', value: `${run} ${index}` }, `steps/${index}:set`);
  await clock.advanceTo(clock.now() + 1000);
  if (outcome !== 'none') writer.append('run.ended', { outcome, outputs: {} });
  await writer.close();
  await anchorer.settled();
}

describe('audit archive', () => {
  const here = folder();
  let state = '';

  beforeEach(() => {
    state = join(here.path, STATE);
    rmSync(state, { recursive: true, force: true });
    rmSync(join(here.path, 'away'), { recursive: true, force: true });
    mkdirSync(state);
  });

  const withStore = async (write: (store: JournalStore) => Promise<void>) => {
    const store = await openSqliteStore(join(state, 'runbook.db'));
    await write(store);
    await store.close();
  };
  const json = (...args: string[]) => JSON.parse(here.run(...args, '--json').out);
  const listed = (): readonly string[] => json('audit', 'list').runs.map(({ run }: { run: string }) => run);
  const inJournal = async () => {
    const database = await openDatabase(join(state, 'runbook.db'));
    const rows = database.statement('SELECT DISTINCT run FROM entries ORDER BY run').all();
    database.close();
    return rows.map((row) => String(row.run));
  };

  it('moves the ended runs of closed months, and every command still reads them', async () => {
    await withStore(async (store) => {
      await writeRun(store, state, 'a-january');
      await writeRun(store, state, 'b-january', { at: '2026-01-31T23:59:58.999Z' });
      await writeRun(store, state, 'c-february', { at: '2026-01-31T23:59:59Z' });
      await writeRun(store, state, 'd-unfinished', { outcome: 'none' });
      await writeRun(store, state, 'e-halted', { outcome: 'halted' });
      await writeRun(store, state, 'f-today', { at: new Date(Date.now() - 2000).toISOString() });
    });
    const verbs = [
      ['audit', 'list'],
      ['audit', 'show', 'a-january'],
      ['audit', 'orders', 'a-january'],
      ['audit', 'fills', 'a-january'],
      ['audit', 'budget', 'a-january'],
      ['audit', 'verify'],
      ['audit', 'verify', 'a-january'],
      ['audit', 'stats'],
      ['audit', 'diff', 'a-january', 'c-february'],
      ['audit', 'export', 'a-january', '--format', 'jsonl'],
      ['audit', 'export', 'a-january', '--format', 'csv'],
    ];
    const before = verbs.map((words) => here.run(...words));
    const { archives, left } = json('audit', 'archive');
    expect(left).toEqual([]);
    expect(archives).toEqual([
      {
        month: '2026-01',
        runs: 2,
        entries: 40,
        removed: 2,
        bytes: expect.any(Number),
        file: join(state, 'archive', JANUARY),
      },
      {
        month: '2026-02',
        runs: 1,
        entries: 20,
        removed: 1,
        bytes: expect.any(Number),
        file: expect.stringMatching(/2026-02/),
      },
    ]);
    expect(await inJournal()).toEqual(['d-unfinished', 'e-halted', 'f-today']);
    const after = verbs.map((words) => here.run(...words));
    for (const [index, { exit, out }] of after.entries()) {
      const sorted = (text: string) => text.split('\n').sort();
      expect([verbs[index], exit, sorted(out)]).toEqual([
        verbs[index],
        before[index]?.exit,
        sorted(before[index]?.out ?? ''),
      ]);
    }
    expect(here.run('audit', 'archive').out).toMatch(/no run of a closed month/);
  });

  it('reads one archive alone, where it lies, without any journal', async () => {
    await withStore(async (store) => {
      await writeRun(store, state, 'a-january');
      await writeRun(store, state, 'f-today', { at: new Date(Date.now() - 2000).toISOString() });
      await writeRun(store, state, 'b-january');
    });
    expect(here.run('audit', 'archive', '--to', 'away').exit).toBe(EXIT.done);
    const file = join('away', JANUARY);
    expect(listed().toSorted()).toEqual(['a-january', 'b-january', 'f-today']);
    expect(json('audit', 'list', '--archive', file).runs).toHaveLength(2);
    const runs = ['a-january', 'b-january'].map((run) => ({ run, ok: true, entries: 20 }));
    const alone = { ok: true, runs };
    // Beside it, the anchors of its runs name those of others, which are not read.
    expect(json('audit', 'verify', '--archive', file)).toEqual(alone);
    rmSync(state, { recursive: true });
    expect(json('audit', 'verify', '--archive', file)).toEqual(alone);
    expect(here.run('audit', 'show', 'a-january', '--archive', file).out).toContain('run succeeded');
    expect(existsSync(state)).toBe(false);
    expect(here.run('audit', 'list', '--archive', 'nothing.gz')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('nothing.gz'),
    });
  });

  it('reports an archive that was moved away', async () => {
    await withStore((store) => writeRun(store, state, 'a-january'));
    here.run('audit', 'archive', '--to', 'away');
    rmSync(join(here.path, 'away'), { recursive: true });
    expect(here.run('audit', 'verify')).toMatchObject({
      exit: EXIT.failed,
      out: expect.stringContaining('the whole run is missing'),
      err: expect.stringMatching(/the archive .*2026-01\.jsonl\.gz is missing/),
    });
  });

  it('archives the requested months, and none that has not ended', async () => {
    await withStore(async (store) => {
      for (const month of ['2026-01', '2026-02', '2026-03'])
        await writeRun(store, state, `run-${month}`, { at: `${month}-05T08:00:00Z` });
    });
    const months = (...words: string[]) =>
      json('audit', 'archive', ...words).archives.map(({ month }: { month: string }) => month);
    expect(months('--month', '2026-02')).toEqual(['2026-02']);
    expect(months('--before', '2026-03')).toEqual(['2026-01']);
    const current = new Date().toISOString().slice(0, 7);
    for (const words of [
      ['--month', current],
      ['--month', '2026-13'],
      ['--before', 'yesterday'],
      ['--before', '2026-03', '--month', '2026-03'],
    ])
      expect(here.run('audit', 'archive', ...words).exit).toBe(EXIT.usage);
    expect(await inJournal()).toEqual(['run-2026-03']);
  });

  it('leaves a run that was changed in the journal, and says so', async () => {
    await withStore(async (store) => {
      await writeRun(store, state, 'a-january');
      await writeRun(store, state, 'b-january');
    });
    const database = await openDatabase(join(state, 'runbook.db'));
    database.exec(
      "UPDATE entries SET line = replace(line, 'a-january 7', 'a-january 8') WHERE run = 'a-january' AND seq = 7",
    );
    database.close();
    expect(here.run('audit', 'archive')).toMatchObject({
      exit: EXIT.failed,
      err: expect.stringMatching(/run a-january was left in the journal: .*: entry 7/),
    });
    expect(await inJournal()).toEqual(['a-january']);
    expect(listed().toSorted()).toEqual(['a-january', 'b-january']);
  });

  it('finds tampering in an archive, and damage of the file', async () => {
    await withStore((store) => writeRun(store, state, 'a-january', { entries: 200 }));
    here.run('audit', 'archive');
    const file = join(state, 'archive', JANUARY);
    const whole = readFileSync(file);
    const damaged = Buffer.from(whole);
    damaged[whole.length >> 2] = (damaged[whole.length >> 2] ?? 0) ^ 0xff;
    writeFileSync(file, damaged);
    expect(json('audit', 'verify')).toMatchObject({
      ok: false,
      runs: [{ run: 'a-january', ok: false, problem: { kind: 'unreadable', sequence: expect.any(Number) } }],
    });
    expect(here.run('audit', 'show', 'a-january')).toMatchObject({
      exit: EXIT.failed,
      err: expect.stringMatching(/2026-01\.jsonl\.gz is damaged: entry \d+ of run a-january/),
    });
  });

  it('reads the sound part of a damaged archive, and everything else as before', async () => {
    await withStore(async (store) => {
      await writeRun(store, state, 'a-january');
      await writeRun(store, state, 'b-january', { entries: 400 });
      await writeRun(store, state, 'c-february', { at: '2026-02-03T08:00:00Z' });
    });
    here.run('audit', 'archive');
    await withStore((store) => writeRun(store, state, 'd-today', { at: new Date(Date.now() - 2000).toISOString() }));
    const file = join(state, 'archive', JANUARY);
    const whole = readFileSync(file);
    const [first, second] = readContents(file).runs.toSorted((a, b) => a.at - b.at);
    const shown = here.run('audit', 'show', 'a-january').out;
    if (first === undefined || second === undefined) throw new Error('two runs were archived');

    writeFileSync(file, whole.subarray(0, second.at + (second.length >> 1)));
    expect(here.run('audit', 'show', first.row.run)).toMatchObject({
      exit: EXIT.done,
      err: expect.stringContaining('is not a whole archive'),
    });
    if (first.row.run === 'a-january') expect(here.run('audit', 'show', 'a-january').out).toBe(shown);
    const list = here.run('audit', 'list');
    expect([list.exit, list.err.split('is not a whole archive').length]).toEqual([EXIT.done, 2]);
    expect(listed().toSorted()).toEqual(['a-january', 'b-january', 'c-february', 'd-today']);
    for (const run of [first.row.run, 'c-february', 'd-today'])
      expect(here.run('audit', 'verify', run)).toMatchObject({
        exit: EXIT.done,
        out: expect.stringContaining('unchanged'),
      });
    const { ok, runs, archives } = json('audit', 'verify');
    expect([ok, archives]).toEqual([false, [{ file, problem: expect.stringContaining('is not a whole archive') }]]);
    expect(runs.filter(({ ok: sound }: { ok: boolean }) => !sound).map(({ run }: { run: string }) => run)).toEqual([
      second.row.run,
    ]);
    expect(here.run('audit', 'verify').exit).toBe(EXIT.failed);

    writeFileSync(file, '');
    expect(here.run('audit', 'show', 'd-today').exit).toBe(EXIT.done);
    expect(listed().toSorted()).toEqual(['c-february', 'd-today']);
    expect(here.run('audit', 'verify')).toMatchObject({
      exit: EXIT.failed,
      out: expect.stringContaining('the whole run is missing'),
    });
    // A copy in a damaged file does not count: the run stays in its journal.
    await withStore((store) => writeRun(store, state, 'e-january'));
    expect(here.run('audit', 'archive').exit).toBe(EXIT.done);
    expect(listed()).toContain('e-january');
  });

  it('continues after an interruption between the archive and the journal', async () => {
    await withStore((store) => writeRun(store, state, 'a-january'));
    expect(json('audit', 'archive', '--keep').archives).toMatchObject([{ runs: 1, removed: 0 }]);
    expect(await inJournal()).toEqual(['a-january']);
    expect(listed()).toEqual(['a-january']);
    expect(json('audit', 'archive').archives).toMatchObject([{ runs: 0, removed: 1 }]);
    expect(await inJournal()).toEqual([]);
    expect(readdirSync(join(state, 'archive'))).toEqual([JANUARY]);
    expect(listed()).toEqual(['a-january']);
  });

  it('keeps both runs when an archive holds a different one of the same name', async () => {
    await withStore((store) => writeRun(store, state, 'a-january'));
    here.run('audit', 'archive');
    rmSync(join(state, 'anchors.jsonl'));
    await withStore((store) => writeRun(store, state, 'a-january', { entries: 30 }));
    expect(here.run('audit', 'archive')).toMatchObject({
      exit: EXIT.failed,
      err: expect.stringContaining('run a-january was left in the journal'),
    });
    expect(await inJournal()).toEqual(['a-january']);
  });

  it('is refused while another one runs, but not by what a dead one left behind', async () => {
    await withStore((store) => writeRun(store, state, 'a-january'));
    const other = await holdFile(join(state, 'archive.lock'));
    expect(other).toBeDefined();
    expect(here.run('audit', 'archive')).toEqual({
      exit: EXIT.failed,
      out: '',
      err: expect.stringContaining('another `audit archive`'),
    });
    expect(await inJournal()).toEqual(['a-january']);
    expect(existsSync(join(state, 'archive'))).toBe(false);
    other?.release();
    expect(json('audit', 'archive').archives).toMatchObject([{ runs: 1, removed: 1 }]);
  });

  it('puts each run into one file when several processes start at once', async () => {
    const runs = Array.from({ length: 40 }, (_, index) => `run-${String(index).padStart(3, '0')}`);
    await withStore(async (store) => {
      for (const run of runs) await writeRun(store, state, run, { entries: 200 });
    });
    const exits = await Promise.all(
      [1, 2, 3].map(
        () =>
          new Promise<number | null>((resolve) =>
            spawn(process.execPath, [BIN, 'audit', 'archive'], { cwd: here.path, stdio: 'ignore' }).on(
              'close',
              resolve,
            ),
          ),
      ),
    );
    expect(exits.filter((exit) => exit === EXIT.done).length).toBeGreaterThan(0);
    expect(exits.every((exit) => exit === EXIT.done || exit === EXIT.failed)).toBe(true);
    expect(readdirSync(join(state, 'archive'))).toEqual([JANUARY]);
    expect(await inJournal()).toEqual([]);
    expect(listed().toSorted()).toEqual(runs);
  });

  const killedAtAnyMoment = async (trials: number) => {
    const runs = Array.from({ length: 60 }, (_, index) => `run-${String(index).padStart(3, '0')}`);
    await withStore(async (store) => {
      for (const [index, run] of runs.entries())
        await writeRun(store, state, run, { at: `2026-0${1 + (index % 3)}-05T08:00:00Z`, entries: 60 });
    });
    const jsonl = (run: string) => here.run('audit', 'export', run, '--format', 'jsonl').out;
    const [first = '', last = ''] = [runs[0], runs.at(-1)];
    const before = [jsonl(first), jsonl(last)];
    let killed = 0;
    for (let trial = 0; trial < trials; trial += 1) {
      const child = spawn(process.execPath, [BIN, 'audit', 'archive'], { cwd: here.path, stdio: 'ignore' });
      const gone = new Promise<NodeJS.Signals | null>((resolve) =>
        child.on('close', (_code, signal) => resolve(signal)),
      );
      const timer = setTimeout(() => child.kill('SIGKILL'), 60 + (trial * 300) / trials);
      if ((await gone) === 'SIGKILL') killed += 1;
      clearTimeout(timer);
      expect(listed().toSorted()).toEqual(runs);
      expect(json('audit', 'verify').ok).toBe(true);
    }
    expect(killed).toBeGreaterThan(0);
    expect(here.run('audit', 'archive').exit).toBe(EXIT.done);
    expect(await inJournal()).toEqual([]);
    expect(listed().toSorted()).toEqual(runs);
    const { runs: verified } = json('audit', 'verify');
    expect(verified.map(({ run, ok }: { run: string; ok: boolean }) => [run, ok]).toSorted()).toEqual(
      runs.map((run) => [run, true]),
    );
    expect([jsonl(first), jsonl(last)]).toEqual(before);
    expect(readdirSync(join(state, 'archive')).filter((name) => name.startsWith('.'))).toEqual([]);
    const archived = readdirSync(join(state, 'archive')).flatMap((name) => {
      const file = join(here.path, name);
      copyFileSync(join(state, 'archive', name), file);
      return json('audit', 'list', '--archive', file).runs.map(({ run }: { run: string }) => run);
    });
    expect(archived.toSorted()).toEqual(runs);
  };

  it('loses nothing and doubles nothing when it is killed at one of 4 moments', () => killedAtAnyMoment(4));

  it('loses nothing and doubles nothing when it is killed at one of 12 moments', { tags: ['long'] }, () =>
    killedAtAnyMoment(12),
  );
});
