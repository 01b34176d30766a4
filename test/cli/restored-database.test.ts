/** The recipe of docs/deployment.md for the backup and the restore of a PostgreSQL store, read from the page and run as it is written. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { makeRunAct } from '../../src/app/account/acts.ts';
import { environmentOf } from '../../src/app/environment.ts';
import { markRestored } from '../../src/app/stores/restore.ts';
import { SystemClock } from '../../src/base/clock.ts';
import { startSimServer } from '../../src/gateway/simulator/server.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { openPostgresAccountJournal } from '../../src/journal/account/postgres.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { openSharedPostgres } from '../../src/journal/shared/postgres.ts';
import { openPostgresStore } from '../../src/journal/stores/postgres.ts';
import { newWriter, START, startedData } from '../journal/sample.ts';
import { asLogin, POSTGRES_PASSWORD, postgresOfFile } from '../postgres.ts';
import { openBackground, profileFor } from './background.ts';
import { folder } from './command.ts';
import { ORDERING, Scheduler } from './schedulers.ts';

const ROOT = new URL('../../', import.meta.url);
const server = postgresOfFile();
const home = folder();

/** The commands of the page: those of the backup, and those of the restore. */
function readRecipes(): readonly string[] {
  const page = readFileSync(new URL('docs/deployment.md', ROOT), 'utf8');
  const [, section = ''] = page.split('\n### Backup and restore of the database\n');
  return [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands ?? '');
}

describe('the recipe for a database', { tags: ['postgres'] }, () => {
  it('puts an older state back, starts nothing due since, and no order where the venue knows of more', async ({
    onTestFinished,
  }) => {
    const simulator = new Simulator({}, new SystemClock(), 1);
    const venue = await startSimServer(simulator, { port: 0 });
    const at = openBackground();
    onTestFinished(async () => {
      at.close();
      await venue.close();
    });
    const url = await server().database();
    const access = { url, name: 'the database' };
    at.write('database', url);
    at.write('profile.yaml', `${profileFor(venue.url)}\nstore: {postgres: {file: database}}\n`);
    at.write('ordering.yaml', ORDERING);
    const { hostname, port, username, pathname } = new URL(asLogin(url, 'runbook'));
    const env = {
      PATH: [fileURLToPath(new URL('bin', ROOT)), process.env['PATH']].join(delimiter),
      HOME: join(at.path, 'home'),
      PGPASSFILE: join(at.path, 'home', '.pgpass'),
      ...{ PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1) },
      RUNBOOK_STATE: join(at.path, '.runbook'),
    };
    at.write('home/.pgpass', `*:*:*:*:${POSTGRES_PASSWORD}\n`);
    const [backUp = '', restore = ''] = readRecipes();
    const type = (commands: string) =>
      promisify(execFile)('sh', ['-euc', `runbook() { runbook.js "$@"; }\n${commands}`], { cwd: at.path, env });
    const schedule = () =>
      new Scheduler(at.start(['schedule', 'ordering.yaml', '--profile', 'profile.yaml', '--port', '0']));
    const ids = () => simulator.books().orders.map(({ client_order_id }) => client_order_id);
    const nominals = async (where: string) =>
      (await server().query(`SELECT nominal FROM runbook.occurrence WHERE ${where}`, url)).map((row) =>
        Number(row['nominal']),
      );
    const adopt = () => at.run(['account', 'adopt', '--profile', 'profile.yaml', '--by', 'ada']);

    const first = schedule();
    await first.sees('run_ended', 2);
    await type(backUp);
    await first.sees('run_ended', 5);
    expect((await at.run(['restore', '--profile', 'profile.yaml', '--by', 'ada'])).exit).toBe(3);
    await first.stop('SIGTERM');
    const placed = ids().length;

    const [key = ''] = (await server().query('SELECT account FROM runbook.agenda_epoch', url)).map(
      (row) => row['account'],
    );
    // The dump has the lease of the process that ran meanwhile; its life is of the time before.
    await type(restore);
    const journal = await openPostgresAccountJournal(access);
    const acts = await journal.find(String(key), ['store.restored']);
    await journal.close();
    expect(acts).toMatchObject([{ type: 'store.restored', by: 'ada', data: { epoch: expect.any(Number) } }]);
    const [{ data } = { data: undefined }] = acts;
    const restoredAt = (data as { restoredAt: number }).restoredAt;
    expect(await nominals("why = 'restored'")).toEqual([restoredAt]);
    expect(existsSync(join(at.path, 'runbook.dump'))).toBe(true);
    expect(JSON.parse((await at.run(['audit', 'verify', '--ledger', '--json'])).out)).toMatchObject({ ok: true });

    const refused = schedule();
    const [failure] = await refused.sees('account_failed');
    expect(failure?.msg).toContain('JOURNAL_CONTRADICTED');
    await refused.stop('SIGTERM');
    expect(ids().length).toBe(placed);
    expect((await adopt()).exit).toBe(0);
    const second = schedule();
    await second.sees('run_ended', 2);
    await second.stop('SIGTERM');
    expect([ids().length > placed, new Set(ids()).size]).toEqual([true, ids().length]);
    expect((await nominals(`nominal > ${restoredAt}`)).length).toBeGreaterThanOrEqual(2);
    expect((await nominals(`nominal <= ${restoredAt} AND decided_at > ${restoredAt}`)).length).toBe(0);
    const shared = await openSharedPostgres(access);
    const lease = await shared.leases.acquire(String(key), 'a test');
    await shared.close();
    expect(lease).toMatchObject({ kind: 'held' });
    expect(Number((lease as { epoch: number }).epoch)).toBeGreaterThan(Number((data as { epoch: number }).epoch));
  });

  it('is not followed by a clock that is behind the dump: what was due since would be started', async () => {
    const url = await server().database();
    const store = await openPostgresStore({ url, name: 'the database' });
    const acts = { key: 'https://venue.example main', actOf: (entry: Entry) => makeRunAct(entry, undefined) };
    const writer = newWriter(store, 'r1', { acts });
    writer.append('run.started', startedData({ mode: 'live', settings: { base_url: 'https://venue.example' } }));
    writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await writer.close();
    await store.close();
    const at = (nowMs: number) =>
      markRestored({
        place: { kind: 'postgres', url: { env: 'DATABASE' } },
        who: { name: 'ada', how: 'claimed', user: 'ada', host: 'here' },
        nowMs,
        environment: environmentOf({ HOME: home.path, DATABASE: url }),
      });
    await expect(at(START - 1)).rejects.toMatchObject({ exit: 1, message: expect.stringContaining('clock') });
    expect(await at(START)).toMatchObject({ backupAt: START, runs: 1 });
  });
});
