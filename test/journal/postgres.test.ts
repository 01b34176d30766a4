/** Tests what only a server can do to a store: restart, lose the connection during a commit, refuse, and get secrets. */
import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { openPostgresAccountJournal } from '../../src/journal/account/postgres.ts';
import { openPostgresScheduleStore } from '../../src/journal/schedule/postgres.ts';
import { openSharedPostgres } from '../../src/journal/shared/postgres.ts';
import { openPostgres, type PostgresAccess } from '../../src/journal/sql/postgres.ts';
import type { RunRow, StoredEntry } from '../../src/journal/store.ts';
import { openPostgresStore } from '../../src/journal/stores/postgres.ts';
import { accessTo } from '../contract/postgres-access.ts';
import { asLogin, POSTGRES_PASSWORD, postgresOfFile } from '../postgres.ts';

const server = postgresOfFile();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
  const made = await opening;
  closing.push(() => made.close());
  return made;
}

const row: RunRow = {
  run: 'a',
  runbook: 'ladder',
  mode: 'live',
  account: 'main',
  trigger: 'manual',
  startedAt: 1000,
};
const entry = (seq: number, line = `{"seq":${seq}}`): StoredEntry => ({
  run: 'a',
  seq,
  at: seq,
  type: 'variable.set',
  step: '',
  line,
  hash: `${line} ${seq}`.padStart(64, '0'),
});
const numbers = (entries: readonly StoredEntry[]) => entries.map(({ seq }) => seq);
const UNAVAILABLE = { name: 'StoreError', reason: 'unavailable' };

/**
 * Opens a connection to the server that is cut once at a commit: `before` the server gets it, or `after`, so that it commits
 * and the answer is lost.
 */
async function openCuttingLine(access: PostgresAccess, cut: 'before' | 'after'): Promise<PostgresAccess> {
  const url = new URL(access.url);
  const port = Number(url.port);
  let armed = true;
  const ends = new Set<Socket>();
  const line = createServer((near) => {
    const far = dial(port, url.hostname);
    for (const socket of [near, far]) {
      ends.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    let cutting = false;
    near.on('data', (chunk) => {
      if (armed && chunk.includes('COMMIT')) {
        armed = false;
        cutting = true;
        if (cut === 'before') return void near.destroy();
      }
      far.write(chunk);
    });
    far.on('data', (chunk) => (cutting ? near.destroy() : near.write(chunk)));
  }).listen(0, '127.0.0.1');
  await once(line, 'listening');
  closing.push(async () => {
    for (const socket of ends) socket.destroy();
    line.close();
  });
  const address = line.address();
  url.port = String(typeof address === 'object' ? address?.port : '');
  return { ...access, url: url.href };
}

describe('a server that goes down', { tags: ['postgres'] }, () => {
  // One that failed while it was down leaves it running for the next.
  afterEach(() => server().start());

  it.each(['fast', 'crash'] as const)(
    '%s: appends are refused, nothing is half there, and then it goes on',
    async (how) => {
      const access = await accessTo(server());
      const store = await opened(openPostgresStore(access, { patienceMs: 0 }));
      await store.append([entry(1), entry(2)], { durable: true, row, epoch: 1 });
      await server().stop(how);
      await expect(store.append([entry(3), entry(4)], { durable: true, epoch: 1 })).rejects.toMatchObject(UNAVAILABLE);
      await expect(store.read('a')).rejects.toMatchObject(UNAVAILABLE);
      await server().start();
      expect(numbers(await store.read('a'))).toEqual([1, 2]);
      await store.append([entry(3), entry(4)], { durable: true, epoch: 1 });
      expect(numbers(await store.read('a'))).toEqual([1, 2, 3, 4]);
    },
  );

  it('for a moment makes an append wait', async () => {
    const store = await opened(openPostgresStore(await accessTo(server())));
    await store.append([entry(1)], { durable: true, row, epoch: 1 });
    await server().stop();
    const appended = store.append([entry(2)], { durable: true, epoch: 1 });
    await server().start();
    await appended;
    expect(numbers(await store.read('a'))).toEqual([1, 2]);
  });

  it('during many appends keeps exactly those that resolved', async () => {
    const access = await accessTo(server());
    const store = await opened(openPostgresStore(access, { patienceMs: 0 }));
    await store.append([entry(1)], { durable: true, row, epoch: 1 });
    let acknowledged = 1;
    const crash = new Promise<void>((resolve) => setTimeout(() => void server().restart('crash').then(resolve), 150));
    for (let failed = false; !failed; ) {
      await store
        .append([entry(acknowledged + 1), entry(acknowledged + 2)], { durable: true, epoch: 1 })
        .then(() => {
          acknowledged += 2;
        })
        .catch((error: unknown) => {
          expect(error).toMatchObject(UNAVAILABLE);
          failed = true;
        });
    }
    await crash;
    const kept = numbers(await store.read('a'));
    expect(kept).toEqual(kept.map((_, index) => index + 1));
    // The batch in progress during the crash is committed completely or not at all.
    expect([acknowledged, acknowledged + 2]).toContain(kept.length);
    await store.append([entry(kept.length + 1)], { durable: true, epoch: 1 });
  });

  it('grants nothing from a ledger meanwhile, and afterwards no more than was left', async () => {
    const { ledgers, killSwitch, leases } = await opened(openSharedPostgres(await accessTo(server())));
    const take = () =>
      ledgers.change('k', (found) => {
        const taken = Number(found?.text ?? 0);
        return taken < 5 ? { text: String(taken + 1), result: true } : { text: undefined, result: false };
      });
    for (let turn = 0; turn < 3; turn += 1) expect(await take()).toBe(true);
    await killSwitch.engage({ scope: 'main', by: 'ana', reason: 'drill', at: 1 });
    const { epoch } = (await leases.acquire('main', 'run 1')) as { epoch: number };
    await server().stop('crash');
    await expect(take()).rejects.toMatchObject(UNAVAILABLE);
    await expect(leases.renew('main', epoch)).rejects.toMatchObject(UNAVAILABLE);
    await server().start();
    expect([await take(), await take(), await take()]).toEqual([true, true, false]);
    expect(await killSwitch.engaged('main')).toMatchObject({ reason: 'drill' });
    expect(await leases.renew('main', epoch)).toBe(true);
  });

  it('for long makes the kill switch count as engaged', async () => {
    const { killSwitch } = await opened(openSharedPostgres(await accessTo(server())));
    await server().stop();
    const order = await killSwitch.engaged('main');
    await server().start();
    expect(order?.reason).toContain('cannot be read');
    expect(await killSwitch.engaged('main')).toBeUndefined();
  });
});

describe('a commit whose answer is lost', { tags: ['postgres'] }, () => {
  it.each(['before', 'after'] as const)(
    'cut %s the server committed: the append resolves, and is there once',
    async (cut) => {
      const access = await accessTo(server());
      const direct = await opened(openPostgresStore(access));
      await direct.append([entry(1)], { durable: true, row, epoch: 1 });
      const store = await opened(openPostgresStore(await openCuttingLine(access, cut)));
      await store.append([entry(2), entry(3)], { durable: true, epoch: 1 });
      expect(numbers(await direct.read('a'))).toEqual([1, 2, 3]);
    },
  );

  it('after another process has written is a conflict, because the stored entry is not ours', async () => {
    const access = await accessTo(server());
    const direct = await opened(openPostgresStore(access));
    await direct.append([entry(1)], { durable: true, row, epoch: 1 });
    const store = await opened(openPostgresStore(await openCuttingLine(access, 'before')));
    const appended = store.append([entry(2)], { durable: true, epoch: 1 });
    appended.catch(() => {});
    await direct.append([entry(2, '{"other":true}')], { durable: true, epoch: 1 }).catch(() => {});
    const outcome = await appended.then(() => 'ours').catch((error: { reason: string }) => error.reason);
    const [, second] = await direct.read('a');
    expect([outcome, second?.line]).toEqual(
      second?.line === '{"other":true}' ? ['conflict', '{"other":true}'] : ['ours', '{"seq":2}'],
    );
  });

  it('on a ledger is checked, so that nothing is counted twice', async () => {
    const access = await accessTo(server());
    await (await opened(openSharedPostgres(access))).ledgers.change('k', () => ({ text: '1', result: 0 }));
    const { ledgers } = await opened(openSharedPostgres(await openCuttingLine(access, 'after')));
    expect(await ledgers.change('k', (found) => ({ text: `${found?.text}+1`, result: 'done' }))).toBe('done');
    expect(await ledgers.change('k', (found) => ({ text: undefined, result: found }))).toEqual({
      revision: 2,
      text: '1+1',
    });
  });

  it('on an occurrence is recorded once, and does not conflict with itself', async () => {
    const access = await accessTo(server());
    await opened(openPostgresScheduleStore(access));
    const scheduleStore = await opened(openPostgresScheduleStore(await openCuttingLine(access, 'after')));
    const decided = { slot: 's', nominalMs: 10, verdict: 'started', run: 'r', decidedAt: 11 } as const;
    await scheduleStore.record('main', 1, [decided]);
    expect(await scheduleStore.occurrences('main')).toEqual([decided]);
  });
});

describe('a process that hangs inside a transaction', { tags: ['postgres'] }, () => {
  it('holds a lock no longer than others wait, then loses it', async () => {
    const access = await accessTo(server());
    const timeouts = { connections: 1, connectMs: 1_000, lockMs: 300, answerMs: 1_000 };
    const [one, two] = [await opened(openPostgres(access, timeouts)), await opened(openPostgres(access, timeouts))];
    const still = one.transaction('x', () => new Promise<void>((resolve) => setTimeout(resolve, 6_500)));
    still.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 200));
    await expect(two.transaction('x', async () => 1)).rejects.toMatchObject(UNAVAILABLE);
    expect(await two.transaction('y', async () => 1)).toBe(1);
    await expect(still).rejects.toMatchObject(UNAVAILABLE);
    expect(await two.transaction('x', async () => 1)).toBe(1);
  });
});

describe('a database that cannot be used', { tags: ['postgres'] }, () => {
  const refusal = async (access: PostgresAccess) => {
    const error: unknown = await openPostgresStore(access).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const said = inspect(error, { depth: 10, showHidden: true });
    for (const secret of [POSTGRES_PASSWORD, '127.0.0.1', 'test_', String(server().port)]) {
      // Stack frames belong to the program.
      expect(said.replace(/^ +at .*$/gm, '')).not.toContain(secret);
    }
    return error;
  };
  it.each([
    ['another password', { password: `not-${POSTGRES_PASSWORD}` }, 'refuses the user or the password'],
    ['no password', { password: '' }, 'cannot be opened'],
    ['no such database', { pathname: '/test_nowhere' }, 'does not exist on its server'],
    ['no server listening', { port: '1' }, 'cannot be reached (ECONNREFUSED)'],
    ['TLS it does not have', { search: '?sslmode=verify-full' }, 'cannot be reached over TLS'],
  ])('%s is said in a sentence without the URL', async (_what, change, sentence) => {
    const given = await accessTo(server());
    const url = Object.assign(new URL(given.url), change);
    expect(await refusal({ ...given, url: url.href })).toMatchObject({
      ...UNAVAILABLE,
      message: expect.stringContaining(`the PostgreSQL database of DATABASE_URL ${sentence}`),
    });
  });

  it('reports a text that is not a URL, without repeating it', async () => {
    const error = await refusal({ url: `postgres://user:${POSTGRES_PASSWORD}@[/x`, name: 'the database' });
    expect(error).toMatchObject(UNAVAILABLE);
  });

  it('leaves tables of another version alone', async () => {
    const given = await accessTo(server());
    await (await openPostgresStore(given)).close();
    await server().query('UPDATE runbook.store_version SET version = 99', given.url);
    expect(await refusal(given)).toMatchObject({
      reason: 'damaged',
      message: 'the PostgreSQL database of DATABASE_URL holds a store of version 99; this program reads version 1',
    });
  });

  it('reports a user without rights', async () => {
    const given = await accessTo(server());
    await server().query('REVOKE ALL ON SCHEMA runbook FROM runbook_writer', given.url);
    expect(await refusal(given)).toMatchObject({ reason: 'unavailable' });
  });

  it('creates its tables once for many first processes', async () => {
    const given = { url: await server().emptyDatabase(), name: 'the database' };
    const stores = await Promise.all(Array.from({ length: 5 }, () => opened(openPostgresStore(given))));
    await stores[0]?.append([entry(1)], { durable: true, row });
    expect(await stores[4]?.read('a')).toEqual([entry(1)]);
    expect(await server().query('SELECT version FROM runbook.store_version', given.url)).toEqual([{ version: 1 }]);
  });
});

describe('the roles of deploy/postgres/roles.sql', { tags: ['postgres'] }, () => {
  const TABLES = ['entries', 'account_act', 'kill_event', 'runs', 'lease', 'occurrence'];

  it('let a writer add to the evidence and not change it, a reviewer read, and an archivist delete runs', async () => {
    const { url } = await accessTo(server());
    const rows = await server().query(
      `SELECT role, name, string_agg(privilege, ' ' ORDER BY privilege) AS may
        FROM unnest(ARRAY['writer', 'reviewer', 'archivist']) AS role, unnest(ARRAY['${TABLES.join("','")}']) AS name,
          unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS privilege
        WHERE has_table_privilege(role, 'runbook.' || name, privilege) GROUP BY role, name`,
      url,
    );
    const may = (role: string) =>
      Object.fromEntries(rows.filter((row) => row.role === role).map((row) => [row.name, row.may]));
    expect(may('writer')).toEqual({
      ...Object.fromEntries(['entries', 'account_act', 'kill_event'].map((table) => [table, 'INSERT SELECT'])),
      ...Object.fromEntries(['runs', 'lease'].map((table) => [table, 'INSERT SELECT UPDATE'])),
      occurrence: 'DELETE INSERT SELECT UPDATE',
    });
    expect(may('reviewer')).toEqual(Object.fromEntries(TABLES.map((table) => [table, 'SELECT'])));
    expect(may('archivist')).toEqual({ ...may('reviewer'), entries: 'DELETE SELECT', runs: 'DELETE SELECT' });
    const store = await opened(openPostgresStore({ url, name: 'the database' }));
    const ended = { ...row, outcome: 'succeeded', endedAt: 2 } as const;
    await store.append([entry(1)], { durable: true, row: ended });
    await expect(store.remove('a', entry(1).hash)).rejects.toMatchObject(UNAVAILABLE);
    const archivist = await opened(openPostgresStore({ url: asLogin(url, 'archivist'), name: 'the database' }));
    expect(await archivist.remove('a', entry(1).hash)).toBe(true);
  });

  it('fit a store whose later tables the owner makes when it opens the store', async () => {
    const { url } = await accessTo(server());
    await server().query('DROP TABLE runbook.account_act', url);
    const writer = await opened(openPostgresStore({ url, name: 'the database' }));
    await (await openPostgresStore({ url: asLogin(url, 'runbook'), name: 'the database' })).close();
    expect(await server().query('SELECT count(*)::int FROM runbook.account_act', url)).toEqual([{ count: 0 }]);
    expect(await writer.runs()).toEqual([]);
  });

  it.each([
    ['lacks', 'DROP TABLE runbook.account_act'],
    ['has in the form of an unreleased build', 'ALTER TABLE runbook.account_act DROP COLUMN type'],
  ])(
    'fit a store that %s the journals of accounts: it is read, and what may not be written says how to correct it',
    async (_what, change) => {
      const { url } = await accessTo(server());
      const owner = { url: asLogin(url, 'runbook'), name: 'the database' };
      await server().query(change, url);
      const store = await opened(openPostgresStore({ url, name: 'the database' }));
      const journal = await opened(openPostgresAccountJournal({ url, name: 'the database' }));
      const act = { type: 'schedule.lost', by: 'scheduler', at: 1, data: { run: 'a' } } as const;
      expect([await store.lastAct('key'), await journal.accounts(), await journal.find('key', [act.type])]).toEqual([
        undefined,
        [],
        [],
      ]);
      await expect(
        store.append([entry(1)], { durable: true, row, acts: { account: 'key', acts: [act] } }),
      ).rejects.toThrow(/account_act|roles\.sql/);
      expect(await store.runs()).toEqual([]);
      await (await openPostgresStore(owner)).close();
      await server().query('GRANT INSERT, SELECT ON runbook.account_act TO runbook_writer', owner.url);
      await store.append([entry(1)], { durable: true, row, acts: { account: 'key', acts: [act] } });
      expect(await journal.accounts()).toEqual(['key']);
    },
  );
});
