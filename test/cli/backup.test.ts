/** Backups of a store that is in use, and their restores, as processes against the simulated venue. */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import { UserError } from '../../src/app/errors.ts';
import { backUpStore } from '../../src/app/stores/backup.ts';
import { RestoreLeases, restoreStore } from '../../src/app/stores/restore.ts';
import { openSqliteAccountJournal } from '../../src/journal/account/sqlite.ts';
import { openSqliteScheduleStore } from '../../src/journal/schedule/sqlite.ts';
import { describeMachine } from '../../src/journal/shared/machine.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { StoreAway, StoreError } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { profileFor, until } from './background.ts';
import { folder } from './command.ts';
import { itSchedules, ORDERING } from './schedulers.ts';

const READING = `
runbook: reading
dsl: 1
schedule: {every: 1s, misfire: {within: 1h, then: run_all}}
steps:
  - read_account: {}
`;
const COPIED = 'anchors: {copies: {elsewhere: {file: copied.jsonl}}}';

const it = itSchedules;
it.beforeEach(({ at, venue }) => {
  at.write('profile.yaml', `${profileFor(venue.url)}\n${COPIED}\n`);
  at.write('reading.yaml', READING);
  at.write('ordering.yaml', ORDERING);
});

async function readOccurrences(file: string) {
  const database = await openDatabase(file);
  const rows = database.statement('SELECT nominal, verdict, why, run FROM occurrence ORDER BY nominal').all();
  database.close();
  return rows.map(({ nominal, verdict, why, run }) => ({ nominal: Number(nominal), verdict, why, run }));
}

describe('a backup', () => {
  it('of a running scheduler is one private file, and its restore starts nothing that was due since', async ({
    at,
    schedule,
    json,
  }) => {
    const store = join(at.path, '.runbook', 'runbook.db');
    const first = schedule('reading.yaml');
    await first.sees('run_ended', 2);
    const made = await json('backup', 'one.backup');
    expect([made.exit, Number(made.document['runs']) >= 2]).toEqual([0, true]);
    expect(statSync(join(at.path, 'one.backup')).mode & 0o777).toBe(0o600);
    expect(readdirSync(at.path).filter((name) => name.startsWith('one.backup'))).toEqual(['one.backup']);
    expect((await json('backup', 'one.backup')).exit).toBe(1);
    await first.sees('run_ended', 5);
    const refused = await json('restore', 'one.backup', '--by', 'ada');
    expect([refused.exit, refused.document]).toMatchObject([3, { error: { kind: 'held' } }]);
    await first.stop('SIGTERM');

    const before = await readOccurrences(store);
    const restored = await json('restore', 'one.backup', '--by', 'ada');
    expect([restored.exit, restored.document]).toMatchObject([0, { by: 'ada', runs: made.document['runs'] }]);
    const kept = await readOccurrences(String(restored.document['kept']));
    expect(kept).toEqual(before);
    const restoredAt = Date.parse(String(restored.document['restoredAt']));
    const then = await readOccurrences(store);
    expect(then.at(-1)).toMatchObject({ nominal: restoredAt, verdict: 'missed', why: 'restored' });

    const second = schedule('reading.yaml');
    await second.sees('run_ended', 2);
    expect((await second.stop('SIGTERM')).exit).toBe(143);
    const known = new Set(then.map(({ nominal }) => nominal));
    const since = (await readOccurrences(store)).filter(({ nominal }) => !known.has(nominal));
    expect(since.length).toBeGreaterThanOrEqual(2);
    expect(since.every(({ nominal }) => nominal > restoredAt)).toBe(true);
    const [account, ...others] = restored.document['accounts'] as string[];
    expect(others).toEqual([]);
    const journal = await openSqliteAccountJournal(store);
    expect(await journal.find(String(account), ['store.restored'])).toMatchObject([
      { type: 'store.restored', by: 'ada', data: { restoredAt, epoch: restored.document['epoch'] } },
    ]);
    await journal.close();
    expect((await json('audit', 'verify')).document).toMatchObject({ ok: true });
  });

  it('that is older than orders at the venue is not traded on until a person adopts them', { tags: ['long'] }, async ({
    simulator,
    schedule,
    json,
  }) => {
    const ids = () => simulator.books().orders.map(({ client_order_id }) => client_order_id);
    const first = schedule('ordering.yaml');
    await first.sees('run_ended', 2);
    expect((await json('backup', 'one.backup')).exit).toBe(0);
    await first.sees('run_ended', 5);
    await first.stop('SIGKILL');
    const placed = ids().length;
    expect((await json('restore', 'one.backup', '--by', 'ada')).exit).toBe(0);
    const refused = schedule('ordering.yaml');
    expect([(await refused.started.ended).exit, ids().length]).toEqual([3, placed]);
    expect((await json('account', 'adopt', '--profile', 'profile.yaml', '--by', 'ada')).exit).toBe(0);
    const second = schedule('ordering.yaml');
    await second.sees('run_ended', 2);
    await second.stop('SIGTERM');
    expect([ids().length > placed, new Set(ids()).size]).toEqual([true, ids().length]);
  });

  // A large store is copied for a while: the run may have begun behind the time of the backup.
  it.for([0, 60_000])(
    'with a run that had not ended lets it cancel, and not place again what it placed since: %i ms',
    {
      tags: ['long'],
    },
    async (agoMs, { simulator, at, json }) => {
      const orders = () => simulator.books().orders;
      at.write('later.yaml', ORDERING.replace(/^schedule.*\n/m, '').replace('steps:', 'steps:\n  - wait: 3s'));
      const running = at.start(['run', 'later.yaml', '--profile', 'profile.yaml']);
      const store = join(at.path, '.runbook', 'runbook.db');
      await until(() => existsSync(store));
      await until(async () => ((await json('audit', 'list')).document['runs'] as unknown[] | undefined)?.length === 1);
      await backUpStore(store, join(at.path, 'one.backup'), Date.now() - agoMs);
      expect(orders()).toEqual([]);
      expect((await running.ended).exit).toBe(0);
      const restored = await json('restore', 'one.backup', '--by', 'ada');
      expect([restored.exit, restored.document['unfinished']]).toMatchObject([
        0,
        [expect.stringContaining('ordering')],
      ]);
      expect((await json('account', 'adopt', '--profile', 'profile.yaml', '--by', 'ada')).exit).toBe(0);
      const resumed = await json('resume');
      expect([resumed.exit, resumed.document['outcome'], orders().length]).toEqual([1, 'failed', 1]);
    },
  );

  it('on a machine that has nothing brings the kill switch and epochs that fence', { tags: ['long'] }, async ({
    at,
    schedule,
    json,
  }) => {
    const first = schedule('reading.yaml');
    await first.sees('run_ended', 1);
    await first.stop('SIGTERM');
    expect((await at.run(['kill', '--profile', 'profile.yaml', '--by', 'ada'])).exit).toBe(0);
    expect((await json('backup', 'one.backup')).exit).toBe(0);
    for (const name of ['.runbook', 'home', 'copied.jsonl'])
      rmSync(join(at.path, name), { recursive: true, force: true });
    const restored = await json('restore', 'one.backup', '--by', 'ada');
    expect([restored.exit, restored.document['kept']]).toEqual([0, null]);
    expect(existsSync(join(at.path, '.runbook', 'anchors.jsonl'))).toBe(true);
    const barred = await json('run', 'reading.yaml', '--profile', 'profile.yaml');
    expect([barred.exit, barred.document]).toMatchObject([1, { error: { kind: 'killed' } }]);
    expect((await at.run(['release', '--profile', 'profile.yaml', '--by', 'ada'])).exit).toBe(0);
    const second = schedule('reading.yaml');
    await second.sees('run_ended', 1);
    expect((await second.stop('SIGTERM')).exit).toBe(143);
  });

  it('that was changed, or is none, is refused with exit 1 and changes nothing', async ({ at, schedule, json }) => {
    const store = join(at.path, '.runbook', 'runbook.db');
    const first = schedule('reading.yaml');
    await first.sees('run_ended', 1);
    await first.stop('SIGTERM');
    for (const [file, change] of [
      ['one.backup', "UPDATE entries SET line = replace(line, 'reading', 'leading') WHERE seq = 1"],
      ['acts.backup', "UPDATE account_act SET line = replace(line, 'reading', 'leading') WHERE seq = 1"],
    ] as const) {
      expect((await json('backup', file)).exit).toBe(0);
      const database = await openDatabase(join(at.path, file));
      expect(database.statement(change).run().changes).toBe(1);
      database.close();
    }
    const occurrences = await readOccurrences(store);
    at.write('text.backup', 'not a database\n'.repeat(200));
    for (const file of ['one.backup', 'acts.backup', 'text.backup', 'nothing.backup', store]) {
      const { exit, document } = await json('restore', file, '--by', 'ada');
      const named = { kind: 'restore', message: expect.not.stringMatching(/\.part/) };
      expect([file, exit, document]).toMatchObject([file, 1, { error: named }]);
    }
    expect(await readOccurrences(store)).toEqual(occurrences);
    expect(readdirSync(join(at.path, '.runbook')).filter((name) => /part|before/.test(name))).toEqual([]);
    // Where there is no store, no folder is made for one.
    for (const file of ['one.backup', 'text.backup', 'nothing.backup', '.'])
      expect([file, (await json('restore', file, '--by', 'ada', '--state', 'none/at/all')).exit]).toEqual([file, 1]);
    expect((await json('backup', 'no.backup', '--state', 'none/at/all')).exit).toBe(1);
    expect(readdirSync(at.path).filter((name) => name === 'none' || /part|no\.backup/.test(name))).toEqual([]);
    // A store of which an entry was changed is no backup either.
    const own = await openDatabase(store);
    own.exec("UPDATE entries SET line = replace(line, 'reading', 'leading') WHERE seq = 1");
    own.close();
    expect([(await json('backup', 'two.backup')).exit, existsSync(join(at.path, 'two.backup'))]).toEqual([1, false]);
    expect(readFileSync(join(at.path, 'text.backup'), 'utf8')).toContain('not a database');
  });
});

describe('a store that was restored', () => {
  it('starts nothing that waited, was promised or was submitted, and has the kills of the backup', async () => {
    const [from, to] = [folder().path, folder().path];
    const file = join(from, 'runbook.db');
    await (await openSqliteStore(file)).close();
    const before = await openSqliteScheduleStore(file);
    await before.engage('main', 1, ['a', 'b'], 1000);
    await before.record('main', 1, [
      { slot: 'a', nominalMs: 2000, verdict: 'waiting', why: 'overlap', decidedAt: 2000 },
      { slot: 'b', nominalMs: 2000, verdict: 'started', run: 'promised', decidedAt: 2000 },
    ]);
    const submitted = { account: 'main', by: 'ada', at: 1000, sources: [], inputs: {}, plan: 'p' };
    for (const run of ['posted', 'taken', 'begun']) await before.post({ ...submitted, run });
    await before.answer('taken', { state: 'taken' });
    await before.answer('begun', { state: 'begun' });
    await before.close();
    const shared = (path: string) =>
      openSharedSqlite({ file: join(path, 'shared.db'), ledgerFile: join(path, 'tokens.db') });
    const killing = await shared(from);
    await killing.killSwitch.engage({ scope: 'main', by: 'eve', reason: 'of another day', at: 1 });
    await killing.close();
    await backUpStore(file, join(from, 'one.backup'), 3000);

    await (await openSqliteStore(join(to, 'runbook.db'))).close();
    writeFileSync(join(to, 'anchors.jsonl'), 'of the store before\n');
    const at = Date.UTC(2026, 0, 6);
    await restoreStore({
      backup: join(from, 'one.backup'),
      place: { kind: 'sqlite', file: join(to, 'runbook.db') },
      who: { name: 'ada', how: 'claimed', user: 'ada', host: 'here' },
      nowMs: at,
      environment: environmentOf({ HOME: to }),
    });
    const then = await openSqliteScheduleStore(join(to, 'runbook.db'));
    const found = (await then.occurrences('main')).map(({ slot, nominalMs, verdict, why, began }) => [
      `${slot} ${nominalMs}`,
      verdict,
      why ?? began,
    ]);
    expect(found.sort()).toEqual([
      [`a ${at}`, 'missed', 'restored'],
      ['a 2000', 'missed', 'restored'],
      [`b ${at}`, 'missed', 'restored'],
      ['b 2000', 'started', 'lost'],
    ]);
    const answers = await Promise.all(['posted', 'taken', 'begun'].map((run) => then.submission(run)));
    expect(answers.map((answer) => answer?.state)).toEqual(['refused', 'refused', 'begun']);
    await then.close();
    const restored = await shared(to);
    expect(await restored.killSwitch.history()).toMatchObject([{ scope: 'main', action: 'engage', by: 'eve' }]);
    await restored.close();
    // What was there is kept, with its anchors.
    const kept = readdirSync(to).find((name) => name.startsWith('anchors.before-')) ?? '';
    expect(readFileSync(join(to, kept), 'utf8')).toBe('of the store before\n');
  });
});

describe('a log that is left of a store whose file was removed', () => {
  async function writeLog(path: string): Promise<void> {
    const store = await openSqliteScheduleStore(join(path, 'runbook.db'));
    await store.engage('main', 1, ['lost'], 1000);
    cpSync(join(path, 'runbook.db-wal'), join(path, 'left-wal'));
    await store.close();
    rmSync(join(path, 'runbook.db'));
    renameSync(join(path, 'left-wal'), join(path, 'runbook.db-wal'));
  }

  async function makeBackup(path: string): Promise<string> {
    const file = join(path, 'runbook.db');
    await (await openSqliteStore(file)).close();
    const schedules = await openSqliteScheduleStore(file);
    await schedules.engage('main', 1, ['kept'], 1000);
    await schedules.close();
    await backUpStore(file, join(path, 'one.backup'), 2000);
    return join(path, 'one.backup');
  }

  it('is not read into the restored store, and is kept', async () => {
    const [from, to] = [folder().path, folder().path];
    const backup = await makeBackup(from);
    await writeLog(to);
    await restoreStore({
      backup,
      place: { kind: 'sqlite', file: join(to, 'runbook.db') },
      who: { name: 'ada', how: 'claimed', user: 'ada', host: 'here' },
      nowMs: Date.UTC(2026, 0, 6),
      environment: environmentOf({ HOME: to }),
    });
    expect(await readOccurrences(join(to, 'runbook.db'))).toMatchObject([{ verdict: 'missed', why: 'restored' }]);
    const journal = await openSqliteAccountJournal(join(to, 'runbook.db'));
    expect(await journal.find('main', ['store.restored'])).toHaveLength(1);
    await journal.close();
    expect(readdirSync(to)).toContain('runbook.before-20260106T000000000Z.db-wal');
  });

  it('is not read into a new backup of its name', async () => {
    const { path } = folder();
    const backup = await makeBackup(path);
    renameSync(backup, join(path, 'two.backup'));
    writeFileSync(`${backup}-wal`, 'of a backup that was opened');
    await expect(backUpStore(join(path, 'runbook.db'), backup, 3000)).rejects.toMatchObject({ exit: 1 });
    expect(readFileSync(`${backup}-wal`, 'utf8')).toBe('of a backup that was opened');
  });
});

describe('the leases of a restore, in front of its last step', () => {
  async function open() {
    const here = folder();
    const files = { file: join(here.path, 'shared.db'), ledgerFile: join(here.path, 'tokens.db') };
    const shared = await openSharedSqlite(files);
    shared.limitWait?.();
    const leases = new RestoreLeases(shared);
    await leases.take(['main']);
    return { files, shared, leases, path: here.path };
  }

  it('let no other process take an account while the store is replaced', async () => {
    const { files, shared, leases } = await open();
    let tried: unknown;
    await leases.whileNobodyActs(files.file, async () => {
      tried = await shared.leases.acquire('other', 'a run').catch((error: unknown) => error);
    });
    expect(tried).toBeInstanceOf(StoreAway);
    expect(await shared.leases.acquire('other', 'a run')).toMatchObject({ kind: 'held' });
    await shared.close();
  });

  /** A backup of a store in which somebody has killed an account, and the request that restores it into `path`. */
  async function makeRequest(path: string) {
    const from = folder();
    const store = await openSqliteStore(join(from.path, 'runbook.db'));
    await store.close();
    const before = await openSharedSqlite({
      file: join(from.path, 'shared.db'),
      ledgerFile: join(from.path, 'tokens.db'),
    });
    await before.killSwitch.engage({ scope: 'main', by: 'eve', reason: 'of another day', at: 1 });
    await before.close();
    const backup = join(from.path, 'one.backup');
    await backUpStore(join(from.path, 'runbook.db'), backup, Date.UTC(2026, 0, 5));
    return {
      backup,
      place: { kind: 'sqlite', file: join(path, 'runbook.db') },
      who: { name: 'ada', how: 'claimed', user: 'ada', host: 'here' },
      nowMs: Date.UTC(2026, 0, 6),
      environment: environmentOf({ HOME: from.path }),
    } as const;
  }

  it('are not taken by a clock that is behind the backup: what was due since would be started', async () => {
    const { shared, leases, path } = await open();
    await leases.release();
    await shared.close();
    const request = { ...(await makeRequest(path)), nowMs: Date.UTC(2026, 0, 5) - 1 };
    await expect(restoreStore(request)).rejects.toMatchObject({ exit: 1, message: expect.stringContaining('clock') });
    expect(readdirSync(path).filter((name) => name.startsWith('runbook.db'))).toEqual([]);
  });

  it('are refused where a process holds one, and then no kill of the backup is given', async () => {
    const { shared, path } = await open();
    await expect(restoreStore(await makeRequest(path))).rejects.toMatchObject({ exit: 3 });
    expect(await shared.killSwitch.history()).toEqual([]);
    await shared.close();
  });

  it('leave nothing behind where they are lost before the store is replaced', async () => {
    const { shared, leases, path } = await open();
    await leases.release();
    await shared.close();
    await (await openSqliteStore(join(path, 'runbook.db'))).close();
    const request = await makeRequest(path);
    const before = readdirSync(path).sort();
    const lost = new UserError('it has acted meanwhile', 3, 'held');
    const losing = vi.spyOn(RestoreLeases.prototype, 'requireHeld').mockRejectedValue(lost);
    await expect(restoreStore(request)).rejects.toBe(lost);
    losing.mockRestore();
    expect(readdirSync(path).sort()).toEqual(before);
    expect(await restoreStore(request)).toMatchObject({ kept: expect.stringContaining('runbook.before-') });
  });

  it('that cannot be given back are no failure of a restore that was done', async () => {
    const { shared, leases, path } = await open();
    await leases.release();
    await shared.close();
    const full = new StoreError('unavailable', 'the disk is full');
    const { release } = RestoreLeases.prototype;
    const failing = vi.spyOn(RestoreLeases.prototype, 'release').mockImplementationOnce(function (this: RestoreLeases) {
      return release.call(this);
    });
    failing.mockRejectedValue(full);
    const restored = await restoreStore(await makeRequest(path)).finally(() => failing.mockRestore());
    expect(restored).toMatchObject({ runs: 0, kept: undefined });
  });

  it('refuse where a process acted while this one was stopped: exit 3', async () => {
    const { files, shared, leases } = await open();
    const machine = describeMachine();
    const later = await openSharedSqlite({ ...files, machine: { ...machine, nowMs: () => machine.nowMs() + 20_000 } });
    expect(await later.leases.acquire('main', 'a run')).toMatchObject({ kind: 'held' });
    let replaced = false;
    const replacing = leases.whileNobodyActs(files.file, async () => {
      replaced = true;
    });
    await expect(replacing).rejects.toMatchObject({ exit: 3 });
    expect(replaced).toBe(false);
    await later.close();
    await shared.close();
  });
});
