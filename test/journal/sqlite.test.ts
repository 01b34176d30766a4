import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { openSqliteAccountJournal } from '../../src/journal/account/sqlite.ts';
import { verifyChain } from '../../src/journal/chain.ts';
import { openSqliteScheduleStore } from '../../src/journal/schedule/sqlite.ts';
import { copyDatabase, openDatabase, overwriteDatabase, sealDatabase } from '../../src/journal/sql/sqlite.ts';
import { loadDriver } from '../../src/journal/sql/sqlite-driver.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { verifyRun } from '../../src/report/compare/verify.ts';
import { appendMany, newWriter, START, startedData } from './sample.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sqlite-'));
  file = join(folder, 'state', 'runbook.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

/**
 * Puts a descriptor that cannot be written in the place of the one that SQLite has for the log, so that the disk seems to fail until the
 * file is opened anew.
 */
function breakLog(of: string): void {
  const log = readdirSync('/proc/self/fd').find((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === `${of}-wal`;
    } catch {
      return false;
    }
  });
  closeSync(Number(log));
  // The lowest free number comes first.
  const opened: number[] = [];
  while (opened.at(-1) !== Number(log)) opened.push(openSync('/dev/null', 'r'));
  for (const other of opened.slice(0, -1)) closeSync(other);
}

describe('openDatabase', () => {
  it('creates folder and files for the owner only', async () => {
    const database = await openDatabase(file);
    database.exec('CREATE TABLE a (b); INSERT INTO a VALUES (1)');
    const modes = ['', '-wal', '-shm'].map((suffix) => statSync(file + suffix).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    expect(statSync(join(folder, 'state')).mode & 0o777).toBe(0o700);
    database.close();
  });

  it('keeps the lock by which other programs see that the file is in use', { tags: ['linux'] }, async () => {
    const openers = [openSqliteStore, openSqliteScheduleStore, openDatabase];
    const opened = [];
    for (const open of [...openers, ...openers]) opened.push(await open(file));
    // A reader's lock on the byte range that SQLite calls SHARED, on the inode of the file.
    const held = () =>
      readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(file).ino} 1073741826 `));
    expect(held()).toEqual([expect.stringContaining('READ')]);
    for (const each of opened.splice(1)) await each.close();
    expect(held()).toHaveLength(1);
    await opened[0]?.close();
  });

  it('has one connection per file, with the durability of each opener', async () => {
    const [one, two] = await Promise.all([openDatabase(file), openDatabase(file)]);
    const descriptors = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`) === file;
        } catch {
          return false;
        }
      });
    if (process.platform === 'linux') expect(descriptors()).toHaveLength(1);
    const pragma = () => one.statement('PRAGMA synchronous').get()?.synchronous;
    one.exec('CREATE TABLE a (b)');
    two.setDurable(false);
    const add = 'INSERT INTO a VALUES (1)';
    two.runAlone(add);
    expect(pragma()).toBe(1);
    one.runAlone(add);
    expect(pragma()).toBe(2);
    two.transaction(() => two.statement(add).run());
    expect(pragma()).toBe(1);
    one.statement(add).run();
    expect(pragma()).toBe(2);
    one.close();
    expect(two.statement('SELECT count(*) AS n FROM a').get()?.n).toBe(4);
    two.close();
    const again = await openDatabase(file);
    expect(again.runAlone(add).changes).toBe(1);
    again.close();
  });

  it.each(['', '-wal', '-shm'])('commits nothing once the file %s is gone or another one', async (suffix) => {
    const database = await openDatabase(file);
    database.exec('CREATE TABLE a (b)');
    const said: string[] = [];
    database.place.onReplaced((message) => said.push(message));
    expect(database.place.findReplaced()).toBeUndefined();
    renameSync(file + suffix, join(folder, 'away'));
    if (suffix !== '-wal') copyFileSync(join(folder, 'away'), file + suffix);
    for (const work of [() => database.runAlone('INSERT INTO a VALUES (1)'), () => database.transaction(() => 1)])
      expect(work).toThrow(expect.objectContaining({ name: 'StoreError', reason: 'replaced' }));
    expect([said.length, database.place.findReplaced()]).toEqual([1, said[0]]);
    // The next opening has the file that is there now.
    if (suffix === '') {
      const next = await openDatabase(file);
      expect(next.place.findReplaced()).toBeUndefined();
      next.close();
    }
    database.close();
  });

  it('is overwritten in its own file, for those who have it open too', async () => {
    const other = await openDatabase(join(folder, 'other.db'));
    other.exec("CREATE TABLE a (b); INSERT INTO a VALUES ('new')");
    sealDatabase(other);
    other.close();
    const database = await openDatabase(file);
    database.exec("CREATE TABLE a (b); INSERT INTO a VALUES ('old')");
    await copyDatabase(file, join(folder, 'kept.db'));
    const inode = statSync(file).ino;
    await overwriteDatabase(join(folder, 'other.db'), file);
    expect(database.statement('SELECT b FROM a').all()).toMatchObject([{ b: 'new' }]);
    expect([statSync(file).ino, database.place.findReplaced()]).toEqual([inode, undefined]);
    expect(database.runAlone("INSERT INTO a VALUES ('next')").changes).toBe(1);
    database.close();
    const kept = await openDatabase(join(folder, 'kept.db'));
    expect(kept.statement('SELECT b FROM a').all()).toMatchObject([{ b: 'old' }]);
    kept.close();
    expect(statSync(join(folder, 'kept.db')).mode & 0o777).toBe(0o600);
  });

  it('writes ahead, waits for the disk and for other writers', async () => {
    const database = await openDatabase(file);
    const pragma = (name: string) => Object.values(database.statement(`PRAGMA ${name}`).get() ?? {})[0];
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('synchronous')).toBe(2);
    expect(Number(pragma('busy_timeout'))).toBeGreaterThanOrEqual(10_000);
    database.setDurable(false);
    expect(pragma('synchronous')).toBe(1);
    database.setDurable(true);
    expect(pragma('synchronous')).toBe(2);
    database.close();
  });

  it('rolls back what throws, and continues', async () => {
    const database = await openDatabase(file);
    database.exec('CREATE TABLE a (b INTEGER PRIMARY KEY)');
    expect(() =>
      database.transaction(() => {
        database.statement('INSERT INTO a VALUES (?)').run(1);
        throw new Error('changed my mind');
      }),
    ).toThrow('changed my mind');
    expect(database.transaction(() => database.statement('INSERT INTO a VALUES (?)').run(2).changes)).toBe(1);
    expect(
      database
        .statement('SELECT b FROM a')
        .all()
        .map((row) => row.b),
    ).toEqual([2]);
    database.close();
  });

  it('says unavailable when the disk is full, keeps what was there and works again when there is room', async () => {
    const database = await openDatabase(file);
    database.exec('CREATE TABLE a (b TEXT); PRAGMA max_page_count = 20');
    const insert = (rows: number) =>
      database.transaction(() => {
        for (let row = 0; row < rows; row += 1) database.statement('INSERT INTO a VALUES (?)').run('x'.repeat(2000));
      });
    insert(10);
    expect(() => insert(100)).toThrow(
      expect.objectContaining({
        name: 'StoreError',
        reason: 'unavailable',
        message: expect.stringContaining('the disk is full'),
      }),
    );
    expect(database.statement('SELECT count(*) AS n FROM a').get()?.n).toBe(10);
    database.exec('PRAGMA max_page_count = 2000');
    insert(100);
    expect(database.statement('SELECT count(*) AS n FROM a').get()?.n).toBe(110);
    database.close();
  });

  it.each([
    ['a text', 'this is no database\n'.repeat(400)],
    ['a header without a body', `SQLite format 3\0${'\0'.repeat(60)}`],
  ])('says damaged, naming the file, for %s', async (_what, content) => {
    mkdirSync(join(folder, 'state'));
    writeFileSync(file, content);
    const error = await openSqliteStore(file).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'StoreError', reason: 'damaged' });
    expect((error as Error).message).toContain(file);
  });

  it('of a user who may not write reads, refuses writing, and creates nothing', async () => {
    const { DatabaseSync } = await loadDriver();
    const write = (sql: string) => {
      const writer = new DatabaseSync(join(folder, 'rest.db'));
      writer.exec(sql);
      writer.close();
    };
    write('PRAGMA journal_mode = WAL; CREATE TABLE a (b); INSERT INTO a VALUES (1)');
    const database = await openDatabase(join(folder, 'rest.db'), () => false);
    expect(database.statement('SELECT b FROM a').all()).toEqual([{ b: 1 }]);
    for (const sql of ['CREATE TABLE c (d)', 'DELETE FROM a', 'PRAGMA user_version = 2'])
      expect(() => database.transaction(() => database.exec(sql))).toThrow('may only be read');
    expect(readdirSync(folder)).toEqual(['rest.db']);
    // Read without locks: it is opened anew once it was written to, and with the log of a writer that has it open.
    write('INSERT INTO a VALUES (2)');
    const read = () => database.statement('SELECT b FROM a').all().length;
    expect(read()).toBe(2);
    const writer = new DatabaseSync(join(folder, 'rest.db'));
    writer.exec('INSERT INTO a VALUES (3)');
    expect(read()).toBe(3);
    writer.close();
    write('INSERT INTO a VALUES (4)');
    expect(read()).toBe(4);
    database.close();
  });

  it('of a user who may not write reads what a writer has only in its log, and refuses a log that it cannot use', async () => {
    const copy = join(folder, 'copy.db');
    const writer = new (await loadDriver()).DatabaseSync(copy);
    writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE a (b); INSERT INTO a VALUES (1)');
    const reader = await openDatabase(copy, () => false);
    expect(reader.statement('SELECT b FROM a').all()).toEqual([{ b: 1 }]);
    writer.exec('INSERT INTO a VALUES (2)');
    expect(reader.statement('SELECT b FROM a').all()).toEqual([{ b: 1 }, { b: 2 }]);
    reader.close();
    for (const suffix of ['', '-wal']) copyFileSync(copy + suffix, `${file}${suffix}`.replace('/state', ''));
    writer.close();
    await expect(openDatabase(join(folder, 'runbook.db'), () => false)).rejects.toThrow('was not closed cleanly');
  });

  it('goes on after a disk error that passed, with a commit of which it does not know whether it was stored', {
    tags: ['linux'],
  }, async () => {
    const store = await openSqliteStore(file);
    const clock = new VirtualClock(START);
    const writer = newWriter(store, 'a', { clock, patienceMs: 10_000 });
    writer.append('run.started', startedData());
    await clock.runUntil(writer.flush());
    breakLog(file);
    writer.append('variable.set', { name: 'a', value: '1' });
    const seen: unknown[] = [];
    clock.at(START + 400, () => seen.push(writer.away?.message));
    await clock.runUntil(writer.flush());
    expect(seen).toEqual([expect.stringContaining('the disk reported an error')]);
    appendMany(writer, 3);
    await clock.runUntil(writer.flush());
    await store.close();
    const again = await openSqliteStore(file);
    expect(verifyChain(await again.read('a'))).toMatchObject({ ok: true, entries: 5 });
    await again.close();
  });

  it('goes on after a disk error with commits that need not be durable', { tags: ['linux'] }, async () => {
    const database = await openDatabase(file);
    database.exec('CREATE TABLE a (b)');
    database.setDurable(false);
    const insert = () => database.transaction(() => database.statement('INSERT INTO a VALUES (1)').run());
    insert();
    for (const again of [insert, () => database.runAlone('INSERT INTO a VALUES (1)')]) {
      breakLog(file);
      expect(insert).toThrow('the disk reported an error');
      expect(again).not.toThrow();
    }
    expect(database.statement('SELECT count(*) AS n FROM a').get()?.n).toBeGreaterThanOrEqual(3);
    database.close();
  });

  it('says unavailable for a link to a file that is not there', async () => {
    mkdirSync(join(folder, 'state'));
    symlinkSync(join(folder, 'gone.db'), file);
    const refused = { reason: 'unavailable', message: expect.stringContaining('a link to a file') };
    await expect(openDatabase(file)).rejects.toMatchObject(refused);
    expect(readdirSync(folder)).toEqual(['state']);
  });

  it('says unavailable when a folder cannot be created', async () => {
    writeFileSync(join(folder, 'state'), 'a file, not a folder');
    await expect(openDatabase(file)).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'unavailable',
      message: expect.stringContaining(file),
    });
  });
});

describe('openSqliteStore', () => {
  it('keeps a run when it is opened again', async () => {
    const before = await openSqliteStore(file);
    const writer = newWriter(before, 'r1');
    appendMany(writer, 300);
    await writer.flush();
    await before.close();
    const after = await openSqliteStore(file);
    expect(verifyChain(await after.read('r1'))).toEqual({ ok: true, entries: 300, head: writer.head.hash });
    expect(await after.run('r1')).toMatchObject({ outcome: 'succeeded' });
    await after.close();
  });

  it('lets two connections write different runs, and refuses the second writer of one', async () => {
    const [one, two] = await Promise.all([openSqliteStore(file), openSqliteStore(file)]);
    const writers = [newWriter(one, 'a'), newWriter(two, 'b'), newWriter(two, 'a')] as const;
    for (const writer of writers.slice(0, 2)) {
      appendMany(writer, 50);
      await writer.flush();
    }
    appendMany(writers[2], 3);
    await expect(writers[2].flush()).rejects.toMatchObject({ reason: 'conflict' });
    expect(await one.read('b')).toHaveLength(50);
    expect(await two.read('a')).toHaveLength(50);
    await one.close();
    await two.close();
  });

  it('refuses a process of an older epoch, also the entry that follows its own last one', async () => {
    const [old, young] = await Promise.all([openSqliteStore(file), openSqliteStore(file)]);
    const row = { run: 'a', runbook: 'r', mode: 'live', account: 'main', trigger: 'manual', startedAt: 1 } as const;
    const entry = (seq: number, line = 'one') => [
      { run: 'a', seq, at: seq, type: 'variable.set', step: '', line, hash: 'h' },
    ];
    await old.append(entry(1), { durable: true, row, epoch: 1 });
    await old.append(entry(2), { durable: true, epoch: 1 });
    await young.append(entry(3, 'theirs'), { durable: true, epoch: 1 });
    await expect(old.append(entry(3), { durable: true, epoch: 1 })).rejects.toMatchObject({ reason: 'conflict' });
    await young.append(entry(4, 'theirs'), { durable: true, epoch: 2 });
    for (const seq of [3, 5])
      await expect(old.append(entry(seq), { durable: true, epoch: 1 })).rejects.toMatchObject({ reason: 'fenced' });
    expect((await old.read('a')).map(({ line }) => line)).toEqual(['one', 'one', 'theirs', 'theirs']);
    await old.close();
    await young.close();
  });

  it('refuses a writer whose run was removed', async () => {
    const [writer, archive] = await Promise.all([openSqliteStore(file), openSqliteStore(file)]);
    const row = { run: 'a', runbook: 'r', mode: 'live', account: 'main', trigger: 'manual', startedAt: 1 } as const;
    const entry = (seq: number) => [{ run: 'a', seq, at: seq, type: 'variable.set', step: '', line: '{}', hash: 'h' }];
    await writer.append(entry(1), { durable: true, row });
    await archive.append(entry(2), { durable: true, row: { ...row, endedAt: 2, outcome: 'failed' } });
    expect(await archive.remove('a', 'h')).toBe(true);
    await expect(writer.append(entry(2), { durable: true })).rejects.toMatchObject({ reason: 'conflict' });
    expect(await writer.read('a')).toEqual([]);
    await writer.close();
    await archive.close();
  });

  it('refuses a journal of a later version', async () => {
    await (await openSqliteStore(file)).close();
    const database = await openDatabase(file);
    database.exec('UPDATE journal_version SET version = 99');
    database.close();
    await expect(openSqliteStore(file)).rejects.toMatchObject({
      reason: 'damaged',
      message: expect.stringContaining('version 99'),
    });
  });

  it('finds a damaged page when it reads it, and names the run that cannot be verified', async () => {
    const store = await openSqliteStore(file);
    const writer = newWriter(store, 'r1');
    appendMany(writer, 2000);
    await writer.flush();
    await store.close();
    const database = await openDatabase(file);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, bytes.length / 2, bytes.length / 2 + 64 * 1024);
    writeFileSync(file, bytes);
    const damaged = await openSqliteStore(file);
    const verdict = await verifyRun(damaged, 'r1', []);
    expect(verdict).toMatchObject({
      ok: false,
      problem: { kind: expect.stringMatching(/^(unreadable|edited|missing)$/) },
    });
    await damaged.close();
  });

  it('says unavailable for a read-only file', { tags: ['unprivileged'] }, async () => {
    await (await openSqliteStore(file)).close();
    chmodSync(file, 0o400);
    const store = await openSqliteStore(file);
    await expect(store.changeAccountRows('main', () => [{ name: 'a', text: 'b' }])).rejects.toMatchObject({
      reason: 'unavailable',
    });
    await store.close();
  });
});

describe('a process killed while it writes', () => {
  it('loses nothing that was reported durable, and leaves a chain that verifies', async () => {
    // Node 20 does not run TypeScript; a module on standard input finds packages from its working directory.
    const script = fileURLToPath(new URL('./writing-process.ts', import.meta.url));
    const { outputFiles } = buildSync({
      entryPoints: [script],
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      write: false,
    });
    const child = spawn(process.execPath, ['--input-type=module', '-', file], {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
    });
    child.stdin.end(outputFiles[0]?.text);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.length > 1500) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const reported = Number(said.trimEnd().split('\n').slice(0, -1).at(-1));
    expect(reported).toBeGreaterThan(100);
    expect(existsSync(`${file}-wal`)).toBe(true);
    const store = await openSqliteStore(file);
    const entries = await store.read('killed');
    expect(entries.length).toBeGreaterThanOrEqual(reported);
    expect(verifyChain(entries)).toMatchObject({ ok: true, entries: entries.length });
    await store.close();
  });
});

describe('the rows of an account', () => {
  it('are a table only once there is one, so that a reader writes nothing', async () => {
    const store = await openSqliteStore(file);
    const database = await openDatabase(file);
    const tables = () =>
      database.statement("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'account_row'").all();
    try {
      expect(await store.accountRows('k')).toEqual([]);
      expect(tables()).toEqual([]);
      await store.changeAccountRows('k', () => [{ name: 'a', text: '1' }]);
      expect(tables()).toHaveLength(1);
    } finally {
      database.close();
      await store.close();
    }
  });

  it('of the account keep the acts of an unreleased build aside, which had another form', async () => {
    const database = await openDatabase(file);
    database.exec(
      "CREATE TABLE account_act (account TEXT, seq INTEGER, line TEXT, hash TEXT); INSERT INTO account_act VALUES ('k', 1, '{}', '0')",
    );
    const journal = await openSqliteAccountJournal(file);
    try {
      expect([await journal.accounts(), await journal.find('k', ['schedule.lost'])]).toEqual([[], []]);
      await journal.append('k', { type: 'schedule.lost', by: 'scheduler', at: START, data: { run: 'r' } });
      expect(await journal.find('k', ['schedule.lost'])).toMatchObject([{ seq: 1, data: { run: 'r' } }]);
      expect(database.statement('SELECT line FROM account_act_before').all()).toEqual([{ line: '{}' }]);
    } finally {
      await journal.close();
      database.close();
    }
  });
});
