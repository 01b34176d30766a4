import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { HeldLease, takeLease } from '../../src/journal/shared/lease.ts';
import { describeMachine, type Machine } from '../../src/journal/shared/machine.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { openSharedPostgres } from '../../src/journal/shared/postgres.ts';
import { buildLedgerKey, LEASE_LIFE_MS, type Shared } from '../../src/journal/shared/shared.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import type { PostgresAccess } from '../../src/journal/sql/postgres.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { StoreError } from '../../src/journal/store.ts';
import { onServer, postgresOfFile } from '../postgres.ts';
import { accessTo } from './postgres-access.ts';

const open: Shared[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'shared-'));
  folders.push(made);
  return made;
}

/** A machine in a test: its clock, its start, and the processes that have died on it. */
interface Bench {
  nowMs: number;
  clockId: string;
  readonly gone: Set<string>;
}
const bench = (): Bench => ({ nowMs: 1_000_000, clockId: 'start 1', gone: new Set() });

function machineOf(on: Bench, self: string): Machine {
  return {
    nowMs: () => on.nowMs,
    get clockId() {
      return on.clockId;
    },
    self,
    isGone: (mark) => on.gone.has(mark),
  };
}

async function sqlite(on: Bench, at: string, self = 'process 1', accounts?: string): Promise<Shared> {
  const shared = await openSharedSqlite({
    file: join(at, 'shared.db'),
    ledgerFile: join(at, 'ledger.db'),
    ...(accounts === undefined ? {} : { accountsFile: join(accounts, 'accounts.db') }),
    machine: machineOf(on, self),
  });
  open.push(shared);
  return shared;
}

const server = postgresOfFile();

/** The server's clock is the bench's, set before each call. */
async function postgresql(on: Bench, self = 'process 1', access?: PostgresAccess): Promise<Shared> {
  const database = access ?? (await accessTo(server()));
  const shared = await openSharedPostgres(database, machineOf(on, self));
  open.push(shared);
  let told: { readonly nowMs: number; readonly done: Promise<unknown> } | undefined;
  const setClock = async () => {
    if (told?.nowMs !== on.nowMs) {
      const sql = `CREATE OR REPLACE FUNCTION runbook.server_ms() RETURNS DOUBLE PRECISION LANGUAGE sql VOLATILE
        AS 'SELECT ${on.nowMs}::double precision'`;
      told = { nowMs: on.nowMs, done: server().query(sql, database.url) };
    }
    await told.done;
  };
  await setClock();
  const { ledgers, leases } = shared;
  const timed =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      await setClock();
      return call(...given);
    };
  return {
    ...shared,
    ledgers: { change: timed(ledgers.change) as typeof ledgers.change },
    leases: {
      ofThisMachine: leases.ofThisMachine,
      acquire: timed(leases.acquire),
      renew: timed(leases.renew),
      release: timed(leases.release),
      holder: timed(leases.holder),
    },
  };
}

type OpenBackend = (on: Bench) => Promise<Shared>;

const BACKENDS: Readonly<Record<string, OpenBackend>> = {
  memory: async (on) => openSharedMemory(() => on.nowMs),
  sqlite: (on) => sqlite(on, folder()),
  'sqlite, with the accounts of the user': (on) => sqlite(on, folder(), 'process 1', folder()),
  postgresql: (on) => postgresql(on),
};

function testBackend(openBackend: OpenBackend): void {
  describe('a ledger row', () => {
    it('serves one change after another, with a revision that grows by one', async () => {
      const { ledgers } = await openBackend(bench());
      const seen: unknown[] = [];
      const change = (key: string, text: string | undefined) =>
        ledgers.change(key, (row, nowMs) => {
          seen.push([key, row, nowMs]);
          return { text, result: text };
        });
      expect(await change('a', 'one')).toBe('one');
      await change('a', 'two');
      await change('a', undefined);
      await change('b', 'other');
      await change('a', 'three');
      expect(seen).toEqual([
        ['a', undefined, 1_000_000],
        ['a', { revision: 1, text: 'one' }, 1_000_000],
        ['a', { revision: 2, text: 'two' }, 1_000_000],
        ['b', undefined, 1_000_000],
        ['a', { revision: 2, text: 'two' }, 1_000_000],
      ]);
    });

    it('stays unchanged when the change throws', async () => {
      const { ledgers } = await openBackend(bench());
      await ledgers.change('a', () => ({ text: 'one', result: 0 }));
      await expect(
        ledgers.change('a', () => {
          throw new Error('our own mistake');
        }),
      ).rejects.toThrow('our own mistake');
      expect(await ledgers.change('a', (row) => ({ text: undefined, result: row }))).toEqual({
        revision: 1,
        text: 'one',
      });
    });
  });

  describe('a lease', () => {
    it('is held by one process at a time, under an epoch that grows with every acquisition', async () => {
      const on = bench();
      const { leases } = await openBackend(on);
      expect(await leases.acquire('main', 'run 1')).toEqual({ kind: 'held', epoch: 1 });
      on.nowMs += 4_000;
      expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'taken', heldBy: 'run 1', remainingMs: 11_000 });
      expect(await leases.acquire('other', 'run 2')).toEqual({ kind: 'held', epoch: 1 });
      await leases.release('main', 1);
      expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
      await leases.release('main', 1);
      expect(await leases.acquire('main', 'run 3')).toMatchObject({ kind: 'taken', heldBy: 'run 2' });
    });

    it('names its holder without taking it', async () => {
      const on = bench();
      const { leases } = await openBackend(on);
      expect(await leases.holder('main')).toBeUndefined();
      await leases.acquire('main', 'run 1');
      expect(await leases.holder('main')).toBe('run 1');
      on.nowMs += LEASE_LIFE_MS;
      expect(await leases.holder('main')).toBeUndefined();
      expect(await leases.renew('main', 1)).toBe(true);
      expect(await leases.holder('main')).toBe('run 1');
      await leases.release('main', 1);
      expect(await leases.holder('main')).toBeUndefined();
    });

    it('is kept by renewal, and is free after its life', async () => {
      const on = bench();
      const { leases } = await openBackend(on);
      await leases.acquire('main', 'run 1');
      on.nowMs += LEASE_LIFE_MS - 1;
      expect(await leases.renew('main', 1)).toBe(true);
      on.nowMs += LEASE_LIFE_MS - 1;
      expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'taken', heldBy: 'run 1', remainingMs: 1 });
      on.nowMs += 1;
      expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
      expect(await leases.renew('main', 1)).toBe(false);
      expect(await leases.renew('main', 2)).toBe(true);
      await leases.release('main', 2);
      expect(await leases.renew('main', 2)).toBe(false);
      expect(await leases.renew('nobody', 1)).toBe(false);
    });

    it('may be renewed late while no other process has taken it', async () => {
      const on = bench();
      const { leases } = await openBackend(on);
      await leases.acquire('main', 'run 1');
      on.nowMs += 3 * LEASE_LIFE_MS;
      expect(await leases.renew('main', 1)).toBe(true);
      expect(await leases.acquire('main', 'run 2')).toMatchObject({ kind: 'taken' });
    });
  });

  describe('the kill switch', () => {
    const kill = (scope: string, at: number) => ({ scope, by: 'ana', reason: `because of ${scope}`, at });

    it('applies to an account, or to all, until a named person lifts it', async () => {
      const { killSwitch } = await openBackend(bench());
      expect(await killSwitch.engaged('main')).toBeUndefined();
      await killSwitch.engage(kill('main', 1));
      expect(await killSwitch.engaged('main')).toEqual(kill('main', 1));
      expect(await killSwitch.engaged('other')).toBeUndefined();
      await expect(killSwitch.release('main', ' ', 2)).rejects.toThrow(RangeError);
      expect(await killSwitch.engaged('main')).toEqual(kill('main', 1));
      expect(await killSwitch.release('main', 'bo', 3)).toBe(true);
      expect(await killSwitch.engaged('main')).toBeUndefined();
      expect(await killSwitch.release('main', 'bo', 4)).toBe(false);
    });

    it('of every account is lifted for one account, or for all', async () => {
      const { killSwitch } = await openBackend(bench());
      await killSwitch.engage(kill('*', 1));
      expect(await killSwitch.release('main', 'bo', 2)).toBe(true);
      expect(await killSwitch.engaged('main')).toBeUndefined();
      expect(await killSwitch.engaged('other')).toEqual(kill('*', 1));
      await killSwitch.engage(kill('main', 3));
      expect(await killSwitch.engaged('main')).toEqual(kill('main', 3));
      expect(await killSwitch.release('*', 'bo', 4)).toBe(true);
      expect(await killSwitch.engaged('main')).toBeUndefined();
      expect(await killSwitch.engaged('other')).toBeUndefined();
      expect(await killSwitch.release('*', 'bo', 5)).toBe(false);
    });
  });

  it('a kill that was released ends a run that was there when it was given, and none that began later', async () => {
    const { killSwitch } = await openBackend(bench());
    await killSwitch.engage({ scope: 'main', by: 'ana', reason: 'before', at: 1 });
    await killSwitch.release('main', 'bo', 2);
    const given = { scope: '*', by: 'ana', reason: 'drill', at: 3 };
    await killSwitch.engage(given);
    await killSwitch.engage({ scope: 'other', by: 'ana', reason: 'other', at: 4 });
    await killSwitch.release('*', 'bo', 5);
    const endedBy = (startedAt: number) => killSwitch.engaged('main', ({ at }) => at < startedAt);
    expect([await endedBy(2), await endedBy(6), await killSwitch.engaged('main')]).toEqual([
      given,
      undefined,
      undefined,
    ]);
  });

  it('a kill that an older version stored under another spelling of the account is in force, and can be lifted', async () => {
    const { killSwitch } = await openBackend(bench());
    const old = { scope: 'https://Venue.example:443/api/ main', by: 'ana', reason: 'drill', at: 1 };
    await killSwitch.engage(old);
    expect(await killSwitch.engaged('https://venue.example/api main')).toEqual(old);
    expect(await killSwitch.engaged('https://venue.example/api other')).toBeUndefined();
    expect(await killSwitch.engaged('https://venue.example/other main')).toBeUndefined();
    expect(await killSwitch.release('https://venue.example/api main', 'bo', 2)).toBe(true);
    expect(await killSwitch.engaged('https://venue.example/api main')).toBeUndefined();
  });

  describe('the history of the kill switch', () => {
    it('has each event once, oldest first: of the account and of `*`, or of all accounts', async () => {
      const { killSwitch } = await openBackend(bench());
      expect(await killSwitch.history('main')).toEqual([]);
      const all = { scope: '*', by: 'ana', reason: 'drill', at: 1 };
      const other = { scope: 'other', by: 'ana', reason: 'odd fills', at: 2 };
      const main = { scope: 'main', by: 'cy', reason: '', at: 4 };
      await killSwitch.engage(all);
      await killSwitch.engage(other);
      await killSwitch.release('main', 'bo', 3);
      await killSwitch.engage(main);
      await killSwitch.release('other', 'di', 5);
      const [engagedAll, engagedOther, releasedMain, engagedMain, releasedOther] = [
        { action: 'engage', ...all },
        { action: 'engage', ...other },
        { action: 'release', scope: 'main', by: 'bo', reason: '', at: 3 },
        { action: 'engage', ...main },
        { action: 'release', scope: 'other', by: 'di', reason: '', at: 5 },
      ];
      expect(await killSwitch.history('main')).toEqual([engagedAll, releasedMain, engagedMain]);
      expect(await killSwitch.history('nobody')).toEqual([engagedAll]);
      expect(await killSwitch.history()).toEqual([engagedAll, engagedOther, releasedMain, engagedMain, releasedOther]);
    });
  });

  describe('the mailbox', () => {
    it('gives a run its commands in the order of posting until they are acknowledged', async () => {
      const { mailbox } = await openBackend(bench());
      const approve = { run: 'r1', command: 'approve', by: 'ana', at: 5, step: 'ask', reason: 'size is fine' } as const;
      const cancel = { run: 'r1', command: 'cancel', by: 'bo', at: 6 } as const;
      const first = await mailbox.post(approve);
      await mailbox.post({ run: 'r2', command: 'kill', by: 'bo', at: 6 });
      const second = await mailbox.post(cancel);
      expect(second).toBeGreaterThan(first);
      const both = [
        { ...approve, sequence: first },
        { ...cancel, sequence: second },
      ];
      expect(await mailbox.pending('r1')).toEqual(both);
      expect(await mailbox.pending('r1')).toEqual(both);
      await mailbox.acknowledge('r1', first);
      expect(await mailbox.pending('r1')).toEqual([{ ...cancel, sequence: second }]);
      await mailbox.acknowledge('r1', second);
      expect(await mailbox.pending('r1')).toEqual([]);
      expect(await mailbox.pending('r2')).toHaveLength(1);
      expect(await mailbox.pending('nobody')).toEqual([]);
    });
  });
}

for (const [name, openBackend] of Object.entries(BACKENDS))
  describe(name, onServer(name), () => testBackend(openBackend));

async function seeEachOther(one: Shared, two: Shared): Promise<void> {
  await one.ledgers.change('a', () => ({ text: 'one', result: 0 }));
  expect(await two.ledgers.change('a', (row) => ({ text: undefined, result: row?.text }))).toBe('one');
  await one.leases.acquire('main', 'run 1');
  expect(await two.leases.acquire('main', 'run 2')).toMatchObject({ kind: 'taken', heldBy: 'run 1' });
  await two.killSwitch.engage({ scope: '*', by: 'ana', reason: 'drill', at: 1 });
  expect(await one.killSwitch.engaged('main')).toMatchObject({ reason: 'drill' });
  await two.mailbox.post({ run: 'r', command: 'kill', by: 'ana', at: 1 });
  expect(await one.mailbox.pending('r')).toHaveLength(1);
}

describe('two processes on one file', () => {
  it('see each other’s ledger, lease, kill and commands', async () => {
    const on = bench();
    const at = folder();
    const [one, two] = [await sqlite(on, at, 'process 1'), await sqlite(on, at, 'process 2')];
    await seeEachOther(one, two);
  });

  it('free a lease at once when its process has certainly ended', async () => {
    const on = bench();
    const at = folder();
    const [one, two] = [await sqlite(on, at, 'process 1'), await sqlite(on, at, 'process 2')];
    await one.leases.acquire('main', 'run 1');
    on.gone.add('process 1');
    expect(await two.leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
    expect(await one.leases.renew('main', 1)).toBe(false);
  });

  it('let a lease from before a restart of the machine last one more life, and no longer', async () => {
    const on = bench();
    const at = folder();
    const one = await sqlite(on, at);
    await one.leases.acquire('main', 'run 1');
    Object.assign(on, { clockId: 'start 2', nowMs: 20 });
    expect(await one.leases.acquire('main', 'run 2')).toEqual({
      kind: 'taken',
      heldBy: 'run 1',
      remainingMs: LEASE_LIFE_MS,
    });
    on.nowMs += 14_999;
    expect(await one.leases.acquire('main', 'run 2')).toEqual({ kind: 'taken', heldBy: 'run 1', remainingMs: 1 });
    on.nowMs += 1;
    expect(await one.leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
  });

  it('read a ledger on a clock that continues after a restart of the machine', async () => {
    const on = bench();
    const at = folder();
    const { ledgers } = await sqlite(on, at);
    const now = () => ledgers.change('a', (_row, nowMs) => ({ text: undefined, result: nowMs }));
    await ledgers.change('a', () => ({ text: 'one', result: 0 }));
    on.nowMs += 500;
    expect(await now()).toBe(1_000_500);
    Object.assign(on, { clockId: 'start 2', nowMs: 20 });
    expect(await now()).toBe(1_000_000);
    on.nowMs += 700;
    expect(await now()).toBe(1_000_700);
    // A container with its own clock: no time has passed there, and the others lose none.
    Object.assign(on, { clockId: 'start 1', nowMs: 9_000_000 });
    expect(await now()).toBe(1_000_000);
  });
});

describe('two machines on one PostgreSQL database', { tags: ['postgres'] }, () => {
  const twoMachines = async () => {
    const access = await accessTo(server());
    const on = bench();
    return { on, one: await postgresql(on, 'process 1', access), two: await postgresql(on, 'process 2', access) };
  };

  it('see each other’s ledger, lease, kill and commands', async () => {
    const { one, two } = await twoMachines();
    await seeEachOther(one, two);
  });

  it('free a lease at once when its process has certainly ended, seen from its own machine', async () => {
    const { on, one, two } = await twoMachines();
    await one.leases.acquire('main', 'run 1');
    on.gone.add('process 1');
    expect(await two.leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
    expect(await one.leases.renew('main', 1)).toBe(false);
  });

  it('give the account to one of many, and each epoch once', async () => {
    const { one, two } = await twoMachines();
    const asked = await Promise.all(
      Array.from({ length: 12 }, (_, index) => (index % 2 ? one : two).leases.acquire('main', `run ${index}`)),
    );
    expect(asked.filter(({ kind }) => kind === 'held')).toEqual([{ kind: 'held', epoch: 1 }]);
  });

  it('grant no more than the limit of a ledger, however many processes ask at once', async () => {
    const { one, two } = await twoMachines();
    const takeOne = (shared: Shared) =>
      shared.ledgers.change('a', (row) => {
        const taken = Number(row?.text ?? 0);
        return taken < 10 ? { text: String(taken + 1), result: true } : { text: undefined, result: false };
      });
    await takeOne(one);
    const answers: boolean[] = [];
    await Promise.all(
      [one, two].map(async (shared) => {
        for (let turn = 0; turn < 10; turn += 1) answers.push(await takeOne(shared));
      }),
    );
    expect(answers.filter(Boolean)).toHaveLength(9);
  });

  it('read a ledger and a lease on a clock that continues when the server’s is set back', async () => {
    const { on, one } = await twoMachines();
    const now = () => one.ledgers.change('a', (_row, nowMs) => ({ text: undefined, result: nowMs }));
    await one.ledgers.change('a', () => ({ text: 'one', result: 0 }));
    await one.leases.acquire('main', 'run 1');
    on.nowMs -= 500_000;
    expect(await now()).toBe(1_000_000);
    on.nowMs += 700;
    expect(await now()).toBe(1_000_700);
    expect(await one.leases.acquire('main', 'run 2')).toMatchObject({ kind: 'taken', remainingMs: LEASE_LIFE_MS });
    on.nowMs += LEASE_LIFE_MS;
    expect(await one.leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
  });
});

describe('a kill switch that cannot be read', () => {
  it('is no kill, and says why it cannot be read', async () => {
    const at = folder();
    const shared = await sqlite(bench(), at);
    const vandal = await openDatabase(join(at, 'shared.db'));
    vandal.exec('DROP TABLE kill_event');
    vandal.close();
    const order = await shared.killSwitch.engaged('main');
    expect(order).toMatchObject({ scope: 'main', unread: true });
    expect(order?.reason).toContain('cannot be read');
  });

  it('does not open', async () => {
    const at = folder();
    writeFileSync(join(at, 'shared.db'), 'this is not a database, it only looks long enough to be one '.repeat(20));
    await expect(sqlite(bench(), at)).rejects.toThrow(StoreError);
  });
});

describe('a held lease', () => {
  async function kept() {
    const on = bench();
    const clock = new VirtualClock(0);
    const shared = openSharedMemory(() => on.nowMs + clock.monotonic());
    const state = { lost: 0, fails: false };
    const leases = {
      ...shared.leases,
      renew: async (account: string, epoch: number) => {
        if (state.fails) throw new StoreError('unavailable', 'the disk reported an error');
        return shared.leases.renew(account, epoch);
      },
    };
    const lease = await takeLease({
      leases,
      account: 'main',
      holder: 'run 1',
      clock,
      onLost: () => (state.lost += 1),
    });
    if (!(lease instanceof HeldLease)) throw new Error('not taken');
    return { clock, lease, state, leases: shared.leases };
  }

  it('is renewed and released', async () => {
    const { clock, lease, leases } = await kept();
    await clock.advanceTo(120_000);
    expect(lease.mayAct()).toBe(true);
    expect(lease.epoch).toBe(1);
    expect(await leases.acquire('main', 'run 2')).toMatchObject({ kind: 'taken' });
    await lease.release();
    expect(lease.mayAct()).toBe(false);
    expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
  });

  it('allows nothing after half a life without renewal, and continues when the store is back', async () => {
    const { clock, lease, state } = await kept();
    state.fails = true;
    await clock.advanceTo(7_499);
    expect(lease.mayAct()).toBe(true);
    await clock.advanceTo(7_500);
    expect(lease.mayAct()).toBe(false);
    state.fails = false;
    await clock.advanceTo(9_000);
    expect(lease.mayAct()).toBe(true);
    expect(state.lost).toBe(0);
  });

  it('allows nothing right after the process slept, before it knows that another has taken over', async () => {
    const { clock, lease, state, leases } = await kept();
    // Suspended for a minute: no timer ran, and another process took the account.
    clock.skipTo(60_000);
    expect(lease.mayAct()).toBe(false);
    expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
    await clock.jumpTo(60_000);
    expect(lease.mayAct()).toBe(false);
    expect(state.lost).toBe(1);
    await lease.release();
    expect(await leases.acquire('main', 'run 3')).toMatchObject({ kind: 'taken', heldBy: 'run 2' });
  });

  it('is refused while another holds the account', async () => {
    const { clock, leases } = await kept();
    expect(await takeLease({ leases, account: 'main', holder: 'run 2', clock })).toEqual({
      kind: 'taken',
      heldBy: 'run 1',
      remainingMs: LEASE_LIFE_MS,
    });
  });
});

describe('this machine', () => {
  it('knows that it is running itself, and claims nothing about a mark it cannot read', () => {
    const machine = describeMachine();
    expect(machine.isGone(machine.self)).toBe(false);
    for (const mark of ['', 'elsewhere 1 1', `${machine.self.split(' ')[0]} pid:[0] 1 1`])
      expect(machine.isGone(mark)).toBe(false);
    const before = machine.nowMs();
    expect(machine.nowMs()).toBeGreaterThanOrEqual(before);
  });

  it('knows that a process with another start time or an unused number is gone', { tags: ['linux'] }, () => {
    const machine = describeMachine();
    const parts = machine.self.split(' ');
    expect(machine.isGone([...parts.slice(0, -1), '1'].join(' '))).toBe(true);
    expect(machine.isGone([...parts.slice(0, -2), '4194999', '1'].join(' '))).toBe(true);
  });
});

it('finds a ledger by base URL and name, in any spelling of the URL', () => {
  const key = buildLedgerKey('https://Venue.example/v1/', 'default');
  expect(key).toBe('https://venue.example/v1 default');
  expect(buildLedgerKey('https://venue.example:443/v1', 'default')).toBe(key);
  expect(buildLedgerKey('https://venue.example/v1', 'other')).not.toBe(key);
});
