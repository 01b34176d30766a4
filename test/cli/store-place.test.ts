/** A scheduler whose database another program reads and backs up, and one whose files are taken away, as processes. */
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { type openBackground, until } from './background.ts';
import { itSchedules, ORDERING, type Scheduler } from './schedulers.ts';

const RESTING = `${ORDERING.replace('then: run_all', 'then: run_once').replace('within: 1h', 'within: 20s')}  - wait: 1h
`;
const LIVE = RESTING.replace(/^schedule.*\n/m, '').replace('1h', '6s');

const it = itSchedules;

const inode = (file: string) => statSync(file, { bigint: true }).ino;

describe('another program at the database of a running scheduler', { tags: ['sqlite3'] }, () => {
  it('that reads it and backs it up takes nothing away: no occurrence runs twice after a kill', async ({
    simulator,
    at,
    schedule,
  }) => {
    at.write('ordering.yaml', ORDERING);
    const file = join(at.path, '.runbook', 'runbook.db');
    const first = schedule('ordering.yaml');
    await first.sees('run_ended', 2);
    const log = inode(`${file}-wal`);
    for (const words of ['SELECT count(*) FROM entries', `.backup '${join(at.path, 'copy.db')}'`])
      execFileSync('/usr/bin/sqlite3', [file, words]);
    await first.sees('run_ended', 4);
    expect(inode(`${file}-wal`)).toBe(log);
    await first.stop('SIGKILL');
    const second = schedule('ordering.yaml');
    await second.sees('run_ended', 2);
    expect((await second.stop('SIGTERM')).exit).toBe(143);
    const database = await openDatabase(file);
    const listRuns = (from: string) =>
      database
        .statement(`SELECT run FROM ${from}`)
        .all()
        .map(({ run }) => run);
    const started = listRuns("occurrence WHERE verdict = 'started'");
    const begun = listRuns("entries WHERE type = 'run.started'");
    database.close();
    const orders = simulator.books().orders.map(({ client_order_id }) => client_order_id);
    expect(orders.length).toBeGreaterThanOrEqual(6);
    // The last run may have been ended before its order.
    expect(orders.length).toBeLessThanOrEqual(started.length);
    expect(new Set(orders).size).toBe(orders.length);
    expect(begun.filter((run) => !started.includes(run))).toEqual([]);
  });
});

describe('a process whose files are taken away', () => {
  const states = (simulator: Simulator) => simulator.books().orders.map(({ status }) => status);

  interface Stage {
    readonly simulator: Simulator;
    readonly at: ReturnType<typeof openBackground>;
    readonly schedule: (file: string) => Scheduler;
  }
  async function takeAway(name: string, { simulator, at, schedule }: Stage): Promise<void> {
    at.write('resting.yaml', RESTING);
    const first = schedule('resting.yaml');
    await until(() => states(simulator).includes('open'));
    await first.rests();
    const place = join(at.path, `.runbook${name}`);
    renameSync(place, join(at.path, 'away'));
    expect((await first.started.ended).exit).toBe(4);
    expect(first.log().at(-1)).toMatchObject({ event: 'store_replaced', account: 'main' });
    expect(states(simulator)).toEqual(['open']);
    rmSync(place, { recursive: true, force: true });
    renameSync(join(at.path, 'away'), place);
    const second = schedule('resting.yaml');
    await second.sees('run_resumed');
    expect((await second.stop('SIGTERM')).exit).toBe(143);
    expect(states(simulator)).toHaveLength(1);
  }

  it('ends at once and leaves its runs to be resumed: the whole folder', ({ simulator, at, schedule }) =>
    takeAway('', { simulator, at, schedule }));

  it.for([
    ['the write-ahead log', '/runbook.db-wal'],
    ['the file of leases and kill orders', '/shared.db'],
  ] as const)(
    'ends at once and leaves its runs to be resumed: %s',
    { tags: ['long'] },
    ([, name], { simulator, at, schedule }) => takeAway(name, { simulator, at, schedule }),
  );

  it('is refused with exit 3 where an older state folder was put in its place', async ({ simulator, at, schedule }) => {
    at.write(
      'profile.yaml',
      `${readFileSync(join(at.path, 'profile.yaml'), 'utf8')}\nanchors: {copies: {elsewhere: {file: copied.jsonl}}}\n`,
    );
    at.write('resting.yaml', RESTING);
    const folder = join(at.path, '.runbook');
    const first = schedule('resting.yaml');
    await until(() => states(simulator).includes('open'));
    await first.stop('SIGTERM');
    rmSync(folder, { recursive: true });
    const older = schedule('resting.yaml');
    expect([(await older.started.ended).exit, states(simulator).length]).toEqual([3, 1]);
    expect((await older.started.ended).err).toContain('JOURNAL_CONTRADICTED');
  });

  it('is suspended as a single run too', { tags: ['long'] }, async ({ simulator, at }) => {
    at.write('live.yaml', LIVE);
    const running = at.start(['run', 'live.yaml', '--profile', 'profile.yaml']);
    await until(() => states(simulator).includes('open'));
    renameSync(join(at.path, '.runbook'), join(at.path, 'away'));
    const { exit, err } = await running.ended;
    expect([exit, states(simulator)]).toEqual([4, ['open']]);
    expect(err).toContain('STORE_REPLACED');
    rmSync(join(at.path, '.runbook'), { recursive: true, force: true });
    renameSync(join(at.path, 'away'), join(at.path, '.runbook'));
    const resumed = await at.run(['resume', '--json']);
    expect([resumed.exit, JSON.parse(resumed.out), states(simulator)]).toMatchObject([
      0,
      { outcome: 'succeeded' },
      ['open'],
    ]);
  });
});
