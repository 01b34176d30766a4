import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../../src/app/errors.ts';
import { readScheduled, TimetableFiles } from '../../src/app/schedule/runs/timetable.ts';
import type { Diagnostic } from '../../src/base/diagnostic.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';

let folder: string;
const said: string[] = [];
const voice = { diagnostics: (list: readonly Diagnostic[]) => void said.push(...list.map(({ code }) => code)) };
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'timetable-')));
  said.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const runbook = (name: string, schedule: string, rest = '') =>
  `runbook: ${name}\ndsl: 1\n${schedule === '' ? '' : `schedule: ${schedule}\n`}${rest}steps:\n  - read_account: {}\n`;
const files = (...paths: string[]) => new TimetableFiles(paths, SIMULATED_PROFILE);
const WITH_PRICES: Profile = {
  ...SIMULATED_PROFILE,
  requests: {
    info: {
      path: '/markets',
      query: { market_id: 'text' },
      tokens: 1,
      result: { kind: 'record', fields: { mid: { kind: 'value', type: 'price', optional: false } } },
    },
  } as unknown as Profile['requests'],
  feeds: { mid: { request: 'info', with: { market_id: '${market}' }, read: 'result.mid' } },
};
const ids = (from: TimetableFiles) => from.read(voice).slots.map(({ id }) => id);

describe('slots', () => {
  it('are named by their times, independent of their position in the file', () => {
    const times = '{cron: "30  21 * * 1-5", tz: Europe/London}, {every: 90m, from: 2026-01-01T00:00:00Z}';
    const path = write('a.yaml', runbook('a', `[${times}, {at: 2026-06-01T08:00:00+02:00}, {every: 2s}, {every: 2s}]`));
    const before = ids(files(path));
    expect(before).toEqual([
      'a/30 21 * * 1-5 Europe/London',
      'a/every 1h30m from 2026-01-01T00:00:00.000Z',
      'a/at 2026-06-01T06:00:00.000Z',
      'a/every 2s',
      'a/every 2s (2)',
    ]);
    write('a.yaml', runbook('a', `[{every: 5s}, {at: 2026-06-01T08:00:00+02:00}, ${times}]`));
    expect(ids(files(path)).sort()).toEqual([...before.slice(0, 3), 'a/every 5s'].sort());
  });

  it('have the inputs of the schedule over defaults, and the key that follows from them', () => {
    const rest =
      'inputs: {market: {type: market, default: BTC-USD}, size: {type: size, default: 1}}\nconcurrency: {key: "on ${inputs.market}", on_busy: skip}\n';
    const path = write('a.yaml', runbook('a', '[{every: 1h}, {every: 2h, inputs: {market: ETH-USD}}]', rest));
    const { slots } = files(path).read(voice);
    expect(slots.map(({ inputs, concurrency }) => [String(inputs['market']), concurrency])).toEqual([
      ['BTC-USD', { key: 'on BTC-USD', onBusy: 'skip' }],
      ['ETH-USD', { key: 'on ETH-USD', onBusy: 'skip' }],
    ]);
  });

  it('on paper are other slots than those with orders, and share nothing with them', () => {
    const rest = 'concurrency: {key: all, on_busy: skip}\ndeadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}\n';
    const path = write(
      'a.yaml',
      runbook('a', '[{every: 1h}, {every: 1h, paper: true}, {every: 1h, paper: false}]', rest),
    );
    const { slots } = new TimetableFiles([path], WITH_PRICES).read(voice);
    expect(files(path).read(voice).problems).toMatchObject([{ path, exit: 2, kept: false }]);
    expect(slots.map((slot) => [slot.id, slot.runbook, slot.concurrency?.key, slot.exclusive])).toEqual([
      ['a/every 1h', 'a', 'all', ['deadman switch']],
      ['a/every 1h on paper', 'a-paper', 'all on paper', []],
      ['a/every 1h (2)', 'a', 'all', ['deadman switch']],
    ]);
  });

  it('of runbooks that use the deadman switch, themselves or by a call, exclude each other', () => {
    write('armed.yaml', runbook('armed', '{every: 1h}', 'deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}\n'));
    write('plain.yaml', runbook('plain', '{every: 1h}'));
    write('caller.yaml', 'runbook: caller\ndsl: 1\nschedule: {every: 1h}\nsteps:\n  - call: {runbook: armed}\n');
    write('bare.yaml', 'runbook: bare\ndsl: 1\nschedule: {every: 1h}\nsteps:\n  - disarm_deadman: {market: BTC-USD}\n');
    const { slots } = files(folder).read(voice);
    expect(Object.fromEntries(slots.map((slot) => [slot.runbook, slot.exclusive]))).toEqual({
      armed: ['deadman switch'],
      bare: ['deadman switch'],
      caller: ['deadman switch'],
      plain: [],
    });
  });
});

describe('a folder', () => {
  it('gives its scheduled runbooks and ignores other files', () => {
    write('a.yaml', runbook('a', '{every: 1h}'));
    write('b.yml', runbook('b', '{every: 1h}'));
    write('called.yaml', runbook('called', ''));
    write('a.test.yaml', 'tests: a\n');
    write('profile.yaml', 'profile: main\n');
    write('notes.txt', runbook('notes', '{every: 1h}'));
    mkdirSync(join(folder, 'below'));
    writeFileSync(join(folder, 'below', 'c.yaml'), runbook('c', '{every: 1h}'));
    expect(ids(files(folder))).toEqual(['a/every 1h', 'b/every 1h']);
    expect(readScheduled([folder], voice).map(({ id }) => id)).toEqual(['a/every 1h', 'b/every 1h']);
  });
});

describe('an unusable file', () => {
  it('is reported with the exit code of a command that needs it', () => {
    const path = write('a.yaml', runbook('a', '{every: 1h}'));
    write('twin.yaml', runbook('a', '{every: 2h}'));
    write('broken.yaml', runbook('broken', '{every: 0s}'));
    write(
      'needy.yaml',
      runbook('needy', '{every: 1h}', 'feeds: {mid: {type: price, max_age: 3s}}\nlet: {m: feeds.mid}\n'),
    );
    const { slots, problems } = files(path, folder).read(voice);
    expect(slots.map(({ id }) => id)).toEqual(['a/every 1h']);
    expect(problems.map(({ path: at, exit, kept }) => [at.slice(folder.length + 1), exit, kept])).toEqual([
      ['broken.yaml', 1, false],
      ['needy.yaml', 2, false],
      ['twin.yaml', 2, false],
    ]);
    expect(said).toContain('duration-not-positive');
  });

  it('is a file with an impossible concurrency key, before anything starts', () => {
    const held = (rest: string) => runbook('held', '{every: 1h}', rest);
    write('held.yaml', held('let: {twice: 2}\nconcurrency: {key: "n ${twice}", on_busy: skip}\n'));
    expect(files(folder).read(voice)).toMatchObject({ slots: [], problems: [{ exit: 1 }] });
    expect(said).toContain('concurrency-key');
    const first = 'concurrency: {key: "on ${inputs.markets[0]}", on_busy: skip}\n';
    write('held.yaml', held(`inputs: {markets: {type: list<market>, default: []}}\n${first}`));
    expect(files(folder).read(voice)).toMatchObject({
      slots: [],
      problems: [{ message: expect.stringContaining('the concurrency key of held') }],
    });
  });

  it('is a named file without a schedule, but not one in a folder', () => {
    const path = write('a.yaml', runbook('a', ''));
    expect(files(path).read(voice).problems).toMatchObject([{ path, exit: 2 }]);
    expect(files(folder).read(voice)).toEqual({ slots: [], problems: [] });
  });

  it('is a path that does not exist', () => {
    expect(() => files(join(folder, 'nothing.yaml'))).toThrow(UserError);
  });
});

describe('reloading', () => {
  it('a broken file keeps its last valid state in force, and is reloaded when it is fixed', () => {
    const path = write('a.yaml', runbook('a', '{every: 1h}'));
    write('b.yaml', runbook('b', '{every: 1h}'));
    const timetable = files(folder);
    timetable.read(voice);
    write('a.yaml', 'runbook: a\ndsl: 1\nsteps: [');
    write('b.yaml', runbook('b', '{every: 2h}'));
    const broken = timetable.read(voice);
    expect(broken.slots.map(({ id }) => id)).toEqual(['a/every 1h', 'b/every 2h']);
    expect(broken.problems).toMatchObject([{ path, kept: true }]);
    write('a.yaml', runbook('a', '{every: 3h}'));
    expect(ids(timetable)).toEqual(['a/every 3h', 'b/every 2h']);
  });

  it('a file removed from its folder leaves the timetable; a named one does not', () => {
    const path = write('a.yaml', runbook('a', '{every: 1h}'));
    const [byFolder, byName] = [files(folder), files(path)];
    for (const each of [byFolder, byName]) each.read(voice);
    const before = byName.computeSignature();
    rmSync(path);
    expect(byName.computeSignature()).not.toBe(before);
    expect(byFolder.read(voice)).toEqual({ slots: [], problems: [] });
    const { slots, problems } = byName.read(voice);
    expect(slots.map(({ id }) => id)).toEqual(['a/every 1h']);
    expect(problems).toMatchObject([{ path, kept: true }]);
  });

  it('a copy of a file is refused, independent of its name: a slot is in force once', () => {
    write('dca.yaml', runbook('dca', '{every: 1h}'));
    const timetable = files(folder);
    expect(ids(timetable)).toEqual(['dca/every 1h']);
    const copies = ['dca-copy.yaml', 'dca.yml'].map((name) => write(name, runbook('dca', '{every: 1h}')));
    const { slots, problems } = timetable.read(voice);
    expect(slots.map(({ id }) => id)).toEqual(['dca/every 1h']);
    expect(problems.map(({ path, kept }) => [path, kept])).toEqual(copies.map((path) => [path, false]));
    expect(problems[0]?.message).toContain('dca-copy.yaml and ');
  });

  it('two files never get one name: a file that takes the name of another keeps its last state', () => {
    write('a.yaml', runbook('a', '{every: 1h}'));
    write('b.yaml', runbook('b', '{every: 1h}'));
    const timetable = files(folder);
    timetable.read(voice);
    const renamed = write('a.yaml', runbook('b', '{every: 1h}'));
    const { slots, problems } = timetable.read(voice);
    expect(slots.map(({ id }) => id)).toEqual(['a/every 1h', 'b/every 1h']);
    expect(problems).toMatchObject([{ path: renamed, kept: true }]);
    write('b.yaml', runbook('c', '{every: 1h}'));
    timetable.read(voice);
    expect(ids(timetable)).toEqual(['b/every 1h', 'c/every 1h']);
  });

  it('a dangling link hides no change of another file', () => {
    write('a.yaml', runbook('a', '{every: 1h}'));
    symlinkSync('user@nowhere.1234', join(folder, '.#a.yaml'));
    const timetable = files(folder);
    timetable.read(voice);
    const before = timetable.computeSignature();
    write('a.yaml', runbook('a', '{every: 2h}'));
    utimesSync(join(folder, 'a.yaml'), 1, 1);
    expect(timetable.computeSignature()).not.toBe(before);
  });

  it('a missing folder keeps its previous files', () => {
    const below = join(folder, 'below');
    mkdirSync(below);
    writeFileSync(join(below, 'a.yaml'), runbook('a', '{every: 1h}'));
    const timetable = files(below);
    timetable.read(voice);
    rmSync(below, { recursive: true });
    const { slots, problems } = timetable.read(voice);
    expect(slots.map(({ id }) => id)).toEqual(['a/every 1h']);
    expect(problems).toMatchObject([
      { path: below, kept: true },
      { path: join(below, 'a.yaml'), kept: true },
    ]);
  });

  it('includes called runbooks', () => {
    write('callee.yaml', runbook('callee', ''));
    const path = write('a.yaml', 'runbook: a\ndsl: 1\nschedule: {every: 1h}\nsteps:\n  - call: {runbook: callee}\n');
    const timetable = files(path);
    timetable.read(voice);
    const before = timetable.computeSignature();
    expect(timetable.computeSignature()).toBe(before);
    write('callee.yaml', runbook('callee', '').replace('read_account', 'reed_account'));
    utimesSync(join(folder, 'callee.yaml'), 1, 1);
    expect(timetable.computeSignature()).not.toBe(before);
    expect(timetable.read(voice).problems).toMatchObject([{ path, kept: true }]);
  });
});
