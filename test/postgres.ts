/**
 * Starts a PostgreSQL server for the tests: in a temporary folder, with a password, on a free port of the loopback
 * address, and removes it again. Its commits wait for the disk, as in production. Each test file starts its own server, so
 * that a file that kills its server does not disturb others.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll } from 'vitest';
import { openPostgresStore } from '../src/journal/stores/postgres.ts';

/** Tests look for it in everything that is printed or stored; it must not appear anywhere. */
export const POSTGRES_PASSWORD = 'canary-Zq7vX2mKp9';
const ROLE = 'runbook';
const LONGEST_START_MS = 30_000;

const ROLES = new URL('../deploy/postgres/roles.sql', import.meta.url);
const LOGINS = ['writer', 'reviewer', 'archivist'] as const;

/** The URL of the same database for another login. */
export function asLogin(url: string, login: (typeof LOGINS)[number] | typeof ROLE): string {
  return Object.assign(new URL(url), { username: login }).href;
}

export interface PostgresServer {
  readonly port: number;
  /** Creates a database that no other test uses, with a store and the roles of deploy/postgres, and gives the URL of the writer. */
  database(): Promise<string>;
  /** Creates a database with nothing in it, and gives the URL of its owner. */
  emptyDatabase(): Promise<string>;
  /** Stops the server and cuts its connections; `crash` kills all its processes at once, as a power cut would. */
  stop(how?: 'fast' | 'crash'): Promise<void>;
  /** Starts it again, on the same port, with its data. */
  start(): Promise<void>;
  restart(how?: 'fast' | 'crash'): Promise<void>;
  /** Runs statements as the superuser, in the database of the URL. */
  query(sql: string, url?: string): Promise<readonly Record<string, unknown>[]>;
  /** Stops and removes it. */
  remove(): Promise<void>;
}

/** The server of a test file: started when the first of its tests asks for a database, gone after the last. */
export function postgresOfFile(): () => PostgresServer {
  let starting: Promise<PostgresServer> | undefined;
  let started: PostgresServer | undefined;
  afterAll(async () => (await starting)?.remove(), LONGEST_START_MS);
  const running = () => {
    if (started === undefined) throw new Error('no test of this file has asked for a database yet');
    return started;
  };
  const start = async () => {
    starting ??= startPostgres();
    started = await starting;
    return started;
  };
  const server: PostgresServer = {
    get port() {
      return running().port;
    },
    async database() {
      return (await start()).database();
    },
    async emptyDatabase() {
      return (await start()).emptyDatabase();
    },
    stop: (how) => running().stop(how),
    start: () => running().start(),
    restart: (how) => running().restart(how),
    query: (sql, url) => running().query(sql, url),
    remove: () => running().remove(),
  };
  return () => server;
}

/** Options of a suite over one of several stores: those on a server need one. */
export function onServer(store: string): { readonly tags: string[] } {
  return { tags: /postgres/i.test(store) ? ['postgres'] : [] };
}

export async function startPostgres(): Promise<PostgresServer> {
  const programs = findProgramFolder();
  if (programs === undefined)
    throw new Error('no PostgreSQL server is installed: apt-get install postgresql, or put its programs on the PATH');
  const user = findUnprivilegedUser();
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, POSTGRES_PASSWORD, { mode: 0o600 });
  if (user !== undefined) for (const path of [folder, passwordFile]) chownSync(path, user.uid, user.gid);
  execFileSync(
    join(programs, 'initdb'),
    [
      ...['--pgdata', data, '--username', ROLE, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
      ...['--encoding', 'UTF8', '--locale', 'C', '--no-sync', '--no-instructions'],
    ],
    { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const port = await findFreePort();
  const url = (database: string) => `postgres://${ROLE}:${POSTGRES_PASSWORD}@127.0.0.1:${port}/${database}`;
  let supervisor: ChildProcess | undefined;
  let databases = 0;
  let preparing: Promise<void> | undefined;

  /** Makes the database that others are copies of: with a store, and the roles with a login each. */
  async function prepare(): Promise<void> {
    await server.query('CREATE DATABASE prepared');
    await (await openPostgresStore({ url: url('prepared'), name: 'the database' })).close();
    await server.query(readFileSync(ROLES, 'utf8'), url('prepared'));
    for (const login of LOGINS)
      await server.query(`CREATE ROLE ${login} LOGIN PASSWORD '${POSTGRES_PASSWORD}' IN ROLE runbook_${login}`);
  }

  /** Processes that serve a connection outlive the server for a moment, and on a busy machine answer one more query. */
  async function killBackends(): Promise<void> {
    const client = new pg.Client({ connectionString: url('postgres') });
    client.on('error', () => {});
    await client.connect();
    // Suspended first, so that it starts none after the list is read.
    process.kill(Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10), 'SIGSTOP');
    const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_activity');
    for (const { pid } of rows)
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
  }

  async function end(signal: 'INT' | 'KILL'): Promise<void> {
    const running = supervisor;
    supervisor = undefined;
    if (running === undefined) return;
    const gone = once(running, 'exit');
    running.stdin?.end(`${signal}\n`);
    await gone;
  }

  const server: PostgresServer = {
    port,
    async database() {
      preparing ??= prepare();
      await preparing;
      databases += 1;
      // A copy has everything but the rights on the database itself.
      await server.query(`CREATE DATABASE test_${databases} TEMPLATE prepared`);
      await server.query(`GRANT CREATE ON DATABASE test_${databases} TO runbook_writer`);
      return asLogin(url(`test_${databases}`), 'writer');
    },
    async emptyDatabase() {
      databases += 1;
      await server.query(`CREATE DATABASE test_${databases}`);
      return url(`test_${databases}`);
    },
    async stop(how = 'fast') {
      if (how === 'crash' && supervisor !== undefined) await killBackends();
      await end(how === 'fast' ? 'INT' : 'KILL');
    },
    async start() {
      const deadline = Date.now() + LONGEST_START_MS;
      // After a crash the old server's children run on for a moment and hold its memory.
      while (supervisor === undefined) {
        const started = await serve(join(programs, 'postgres'), folder, data, port, user);
        if (typeof started !== 'string') supervisor = started;
        else if (Date.now() > deadline) throw new Error(`PostgreSQL does not start: ${started}`);
        else await pause(50);
      }
    },
    async restart(how) {
      await server.stop(how);
      await server.start();
    },
    async query(sql, at = url('postgres')) {
      const client = new pg.Client({ connectionString: asLogin(at, ROLE) });
      await client.connect();
      try {
        return (await client.query(sql)).rows as Record<string, unknown>[];
      } finally {
        await client.end();
      }
    },
    async remove() {
      await end('KILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await server.start();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return server;
}

/**
 * Supervises the server: ends it with the signal it reads. When the tests' process ended without sending one, it ends the
 * server at once and removes the folder, so that a killed test run leaves nothing behind.
 */
const SUPERVISOR = `
  folder=$1; shift
  "$@" & server=$!
  if read -r signal; then kill -"$signal" $server; wait $server
  else kill -QUIT $server; wait $server; rm -rf "$folder"; fi 2>/dev/null`;

/** Starts the server; gives its process, or its output when it does not start. */
async function serve(program: string, folder: string, data: string, port: number, user: Identity | undefined) {
  const settings = [
    ...[`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'fsync=on'],
    ...['shared_buffers=16MB', 'max_connections=60', 'log_destination=stderr', 'logging_collector=off'],
  ];
  const options = settings.flatMap((setting) => ['-c', setting]);
  const supervisor = spawn('sh', ['-c', SUPERVISOR, 'sh', folder, program, '-D', data, ...options], {
    ...user,
    cwd: folder,
    // A process group of its own: Ctrl-C goes to the tests, which then stop it.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  supervisor.stdin.on('error', () => {});
  let output = '';
  const ready = new Promise<boolean>((resolve) => {
    supervisor.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('is ready to accept connections')) resolve(true);
      // Clients that connect during the start get a FATAL message too.
      if (/FATAL:(?! +the database system is )/.test(output)) resolve(false);
    });
    supervisor.on('exit', () => resolve(false));
  });
  if (await ready) {
    supervisor.unref();
    return supervisor;
  }
  const gone = once(supervisor, 'exit');
  supervisor.stdin.end('QUIT\n');
  await gone;
  return output.trim();
}

/** Finds the folder with `initdb` and `postgres`. */
function findProgramFolder(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/local/bin',
    ...versions.map((version) => join(debian, version, 'bin')),
  ];
  return folders.find((folder) => ['initdb', 'postgres'].every((program) => mayRun(join(folder, program))));
}

function mayRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root; finds an unprivileged user for it. */
function findUnprivilegedUser(): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = ['postgres', 'nobody'].map((name) => users.find((user) => user[0] === name)).find(Boolean);
  if (found === undefined) throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody');
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port of the loopback address is free');
  return address.port;
}
