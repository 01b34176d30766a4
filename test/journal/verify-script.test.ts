/** docs/verify.py, which verifies journals without this program: on what was written, and on each kind of change. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteAccountJournal } from '../../src/journal/account/sqlite.ts';
import { sealEntry } from '../../src/journal/chain.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { exportJsonl } from '../report/whole-run.ts';
import { appendMany, newWriter } from './sample.ts';

const SCRIPT = fileURLToPath(new URL('../../docs/verify.py', import.meta.url));

describe('docs/verify.py', { tags: ['python3'] }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'verify-'));
  const file = (name: string) => join(folder, name);
  let entries: readonly StoredEntry[];

  beforeAll(async () => {
    const store = await openSqliteStore(file('runbook.db'));
    for (const run of ['a', 'b']) {
      const writer = newWriter(store, run);
      appendMany(writer, 9);
      await writer.flush();
    }
    entries = await store.read('a');
    const anchors = [3, 9].map((seq) => ({
      v: 1,
      run: 'a',
      seq,
      head: entries[seq - 1]?.hash,
      count: seq,
      time: 'then',
    }));
    writeFileSync(file('anchors.jsonl'), `${anchors.map((anchor) => JSON.stringify(anchor)).join('\n')}\n{"v":1,"ru`);
    const journal = await openSqliteAccountJournal(file('runbook.db'));
    for (const at of [1, 2])
      await journal.append('main', { type: 'orders.adopted', by: 'ada', at, data: { orders: [] } });
    const ofB = { run: 'b', outcome: 'succeeded', entries: 9, head: String((await store.last('b'))?.hash) } as const;
    await journal.append('main', { type: 'end.sealed', by: 'engine', at: 3, data: ofB });
    await journal.close();
    await store.close();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The exit code, and what is said of each file. */
  function verify(...names: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(
      'python3',
      [SCRIPT, '--anchors', file('anchors.jsonl'), ...names.map(file)],
      {
        encoding: 'utf8',
      },
    );
    const said = (name: string) =>
      `${stderr}${stdout}`
        .split('\n')
        .filter((line) => line.startsWith(file(name)))
        .map((line) => line.slice(file(name).length + 2));
    return { status, said };
  }

  /** Entry `seq` and everything behind it computed anew, with another figure in that entry. */
  function reseal(seq: number): readonly StoredEntry[] {
    const made = entries.slice(0, seq - 1);
    for (const { line } of entries.slice(seq - 1)) {
      const { type, data, ...envelope } = JSON.parse(line);
      const changed = made.length === seq - 1 ? { ...data, value: 'another' } : data;
      made.push(sealEntry({ type, data: changed }, envelope, made.at(-1) as StoredEntry).stored);
    }
    return made;
  }

  it('finds a journal as it was written in an export and in a store', () => {
    writeFileSync(file('good.jsonl'), exportJsonl(entries));
    const { status, said } = verify('good.jsonl', 'runbook.db');
    expect([status, said('good.jsonl'), said('runbook.db')]).toEqual([
      0,
      ['1 chains, 9 entries'],
      ['3 chains, 21 entries'],
    ]);
  });

  it('is short enough to be read, and says what it cannot read', () => {
    expect(readFileSync(SCRIPT, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(40);
    writeFileSync(file('broken.db'), 'SQLite format 3, and nothing else');
    for (const name of ['absent.jsonl', 'broken.db']) expect([name, verify(name).status]).toEqual([name, 2]);
  });

  it('names the entry of each change to an export', () => {
    const [one, two, three, four, ...rest] = entries as [StoredEntry, StoredEntry, StoredEntry, StoredEntry];
    const changes: Readonly<Record<string, readonly [readonly StoredEntry[], string]>> = {
      figure: [
        [one, { ...two, line: two.line.replace('"value":', '"value" :') }, three, four, ...rest],
        "'a', entry 2: its text was changed",
      ],
      removed: [[one, three, four, ...rest], "'a', entry 3: it does not follow entry 1"],
      swapped: [[one, three, two, four, ...rest], "'a', entry 3: it does not follow entry 1"],
      twice: [[one, two, two, three, four, ...rest], "'a', entry 2: it does not follow entry 2"],
      cut: [[one, two, three], "'a', entry 9: an anchor, or its account, names it, and it is missing"],
      resealed: [reseal(6), "'a', entry 9: its anchor, or its account, has another hash"],
    };
    for (const [name, [changed]] of Object.entries(changes)) writeFileSync(file(name), exportJsonl(changed));
    writeFileSync(file('text'), 'no entry\n[]\n{"run":{}}\n');
    const { status, said } = verify(...Object.keys(changes), 'text');
    for (const [name, [, problem]] of Object.entries(changes)) expect([name, said(name)[0]]).toEqual([name, problem]);
    expect([status, said('text')[0]]).toEqual([1, "not an entry: 'no entry'"]);
  });

  it.each([
    [
      'a column',
      "UPDATE entries SET at = at + 1 WHERE run = 'a' AND seq = 4",
      "'a', entry 4: it does not follow entry 3",
    ],
    [
      'a run',
      "DELETE FROM entries WHERE run = 'a'",
      "'a', entry 9: an anchor, or its account, names it, and it is missing",
    ],
    [
      'a run that has no anchor',
      "DELETE FROM entries WHERE run = 'b'",
      "'b', entry 9: an anchor, or its account, names it, and it is missing",
    ],
    ['an act', "UPDATE account_act SET line = replace(line, 'ada', 'bob') WHERE seq = 2", 'its text was changed'],
  ])('names what was changed in a store: %s', async (what, sql, problem) => {
    const name = `${what}.db`;
    const database = await openDatabase(file('runbook.db'));
    database.statement('VACUUM INTO ?').run(file(name));
    database.close();
    const copy = await openDatabase(file(name));
    copy.exec(sql);
    copy.close();
    const { status, said } = verify(name);
    expect([status, said(name)[0]]).toEqual([1, expect.stringContaining(problem)]);
  });
});
