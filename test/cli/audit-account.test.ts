/** `audit verify` over the journal of an account: what somebody with write access to the state folder could do, and what it shows. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeActor, makeAct, makeKillAct, makeRunAct } from '../../src/app/account/acts.ts';
import { keepBaseline, loadLedger } from '../../src/app/account/ledger.ts';
import { environmentOf } from '../../src/app/environment.ts';
import { stateFolder } from '../../src/app/state.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { verify } from '../../src/cli/audit/verify.ts';
import { type Invocation, invocationAt } from '../../src/cli/invocation.ts';
import { showSchedule } from '../../src/cli/ledger/occurrences.ts';
import { showPeople } from '../../src/cli/ledger/people.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';
import type { NewAct } from '../../src/journal/account/acts.ts';
import { MemoryAccountJournal } from '../../src/journal/account/memory.ts';
import { signAct } from '../../src/journal/account/signature.ts';
import { openSqliteAccountJournal } from '../../src/journal/account/sqlite.ts';
import { findContradictedAct } from '../../src/journal/anchors/newest.ts';
import { EMPTY_HEAD, sealLine } from '../../src/journal/chain.ts';
import type { Entry, Envelope } from '../../src/journal/entry.ts';
import { openSqliteScheduleStore } from '../../src/journal/schedule/sqlite.ts';
import type { OccurrenceRow } from '../../src/journal/schedule/store.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { copyDatabase, type Database, openDatabase } from '../../src/journal/sql/sqlite.ts';
import type { RunRow, StoredEntry } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { verifyChain } from '../../src/report/compare/verify.ts';
import { newWriter, START, startedData } from '../journal/sample.ts';

const URL = 'https://venue.example';
const KEY = `${URL} main`;
const ADA = { ...describeActor('ada'), how: 'claimed' } as const;

let home: string;
let folder: string;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'audit-account-'));
  folder = join(home, '.runbook');
  mkdirSync(folder);
  await build();
});
afterEach(() => rmSync(home, { recursive: true }));

const at = (name: string) => join(folder, name);

async function withDatabase<T>(file: string, work: (database: Database) => T): Promise<T> {
  const database = await openDatabase(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Adds a live run of the account to a store, with its start and end in the journal of the account. */
async function addRun(run: string, file = at('runbook.db'), end = true): Promise<void> {
  const store = await openSqliteStore(file);
  const writer = newWriter(store, run, { acts: { key: KEY, actOf: (entry: Entry) => makeRunAct(entry, ADA) } });
  writer.append('run.started', startedData({ mode: 'live', settings: { base_url: URL } }));
  if (end) writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
  await writer.close();
  await store.close();
}

/** Two live runs of the account, the first approved by ada; a kill by ada and its release; an anchor of everything. */
async function build(): Promise<void> {
  const store = await openSqliteStore(at('runbook.db'));
  const journal = await openSqliteAccountJournal(at('runbook.db'));
  const acts = { key: KEY, actOf: (entry: Entry) => makeRunAct(entry, ADA) };
  for (const run of ['r1', 'r2']) {
    const writer = newWriter(store, run, { acts });
    writer.append('run.started', startedData({ mode: 'live', settings: { base_url: URL } }));
    await writer.flush();
    if (run === 'r1') {
      await journal.append(KEY, makeAct('command.given', ADA, START, { run, command: 'approve', step: 'ask' }));
      writer.append('operator.acted', { command: 'approve', by: 'ada', step: 'ask' }, '', 'human:ada');
    }
    writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await writer.close();
    anchor(await store.last(run));
  }
  const shared = await openSharedSqlite({ file: at('shared.db'), ledgerFile: at('tokens.db') });
  const order = { scope: KEY, by: 'ada', reason: 'too much', at: START };
  await shared.killSwitch.engage(order);
  await journal.append(KEY, makeKillAct({ ...order, action: 'engage' }, ADA, START));
  await shared.killSwitch.release(KEY, 'ada', START + 1);
  const released = { action: 'release', scope: KEY, by: 'ada', reason: '', at: START + 1 } as const;
  await journal.append(KEY, makeKillAct(released, ADA, START + 1));
  anchor((await journal.lines(KEY)).at(-1));
  for (const each of [journal, shared, store]) await each.close();
}

function anchor(last: StoredEntry | undefined): void {
  const { run, seq, hash } = last as StoredEntry;
  const line = { v: 1, run, seq, head: hash, count: seq, time: '2026-01-05T08:00:00.000Z' };
  appendFileSync(at('anchors.jsonl'), `${JSON.stringify(line)}\n`);
}

/** Runs a command of this folder in this process; its document. */
async function perform(command: (invocation: Invocation) => Promise<number>) {
  let said = '';
  const environment = environmentOf({ XDG_STATE_HOME: join(home, 'user') });
  const out = { write: (text: string) => (said += text) };
  const terminal = new Terminal({
    out,
    err: { write: () => true },
    json: true,
    quiet: true,
    color: false,
    environment,
  });
  const exit = await command(invocationAt(terminal, environment, stateFolder('.runbook', environment, home)));
  return { exit, document: JSON.parse(said) };
}

async function audit(...anchors: readonly string[]) {
  const { exit, document } = await perform((invocation) =>
    verify({ run: undefined, key: undefined, archive: undefined, anchors, ledger: true }, invocation),
  );
  return { exit, ...(document as { ok: boolean; accounts: { account: string; problems: object[] }[] }) };
}

/** Writes lines again from `from` on, as somebody who knows the format can. */
function reseal(lines: readonly StoredEntry[], change: (line: string) => string): readonly StoredEntry[] {
  let head = EMPTY_HEAD;
  return lines.map(({ line }) => {
    const { seq: _seq, prev: _prev, type, data, ...envelope } = JSON.parse(change(line));
    const sealed = sealLine({ type, data }, envelope as Envelope, head);
    head = sealed;
    return sealed;
  });
}

async function resealAccount(change: (line: string) => string): Promise<void> {
  const journal = await openSqliteAccountJournal(at('runbook.db'));
  const lines = await journal.lines(KEY);
  await journal.close();
  await withDatabase(at('runbook.db'), (database) => {
    for (const { seq, line, hash } of reseal(lines, change))
      database.statement('UPDATE account_act SET line = ?, hash = ? WHERE seq = ?').run(line, hash, seq);
  });
}

async function resealRun(run: string, change: (line: string) => string): Promise<void> {
  const store = await openSqliteStore(at('runbook.db'));
  const lines = await store.read(run);
  await store.close();
  await withDatabase(at('runbook.db'), (database) => {
    for (const { seq, line, hash } of reseal(lines, change))
      database.statement('UPDATE entries SET line = ?, hash = ? WHERE run = ? AND seq = ?').run(line, hash, run, seq);
  });
}

/** Makes the rows of the account's ledger. */
async function countRuns(): Promise<void> {
  const store = await openSqliteStore(at('runbook.db'));
  await loadLedger({ store, name: 'main', key: KEY });
  await store.close();
  expect((await audit()).ok).toBe(true);
}

/** A scheduler decides two occurrences, of a time that no clock of a test has reached: they are not old. */
async function decide(): Promise<void> {
  const schedules = await openSqliteScheduleStore(at('runbook.db'));
  const nominalMs = Date.UTC(2100, 0, 1);
  const common = { slot: 'sample/main/0 9 * * *', decidedAt: START };
  await schedules.record(KEY, 1, [
    { ...common, nominalMs, verdict: 'started', run: 'r2' },
    { ...common, nominalMs: nominalMs - 60_000, verdict: 'missed', why: 'too late' },
  ]);
  await schedules.close();
  expect((await audit()).ok).toBe(true);
}

const run = (sql: string, file = 'runbook.db') => withDatabase(at(file), (database) => database.exec(sql));
const withoutAnchors = () => rmSync(at('anchors.jsonl'));
const toEve = (line: string) => line.replaceAll('"ada"', '"eve"');

describe('the journal of an account', () => {
  it('has the start and the end of each run, and agrees with the runs and the kill switch', async () => {
    const journal = await openSqliteAccountJournal(at('runbook.db'));
    const types = (await journal.lines(KEY)).map(({ type }) => type);
    await journal.close();
    const ofRun = ['start.recorded', 'end.sealed'];
    expect(types).toEqual([ofRun[0], 'command.given', ofRun[1], ...ofRun, 'kill.engaged', 'kill.released']);
    expect(await audit()).toMatchObject({ exit: 0, ok: true, accounts: [{ account: KEY, ok: true, entries: 7 }] });
  });

  it.each<[string, () => unknown, object]>([
    [
      'a run that was deleted with its anchors',
      () => {
        withoutAnchors();
        return run("DELETE FROM entries WHERE run = 'r2'; DELETE FROM runs WHERE run = 'r2'");
      },
      { sequence: 4, kind: 'missing' },
    ],
    [
      'a kill given another name',
      () => run("UPDATE kill_event SET by_name = 'eve' WHERE action = 'engage'", 'shared.db'),
      { sequence: 6, kind: 'missing' },
    ],
    [
      'a kill that was removed',
      () => run("DELETE FROM kill_event WHERE action = 'engage'", 'shared.db'),
      { sequence: 6 },
    ],
    [
      'a release that no person gave',
      () =>
        run(
          `INSERT INTO kill_event (action, scope, by_name, reason, at) VALUES ('release', '${KEY}', 'eve', '', ${START + 2})`,
          'shared.db',
        ),
      { sequence: 8, kind: 'inserted' },
    ],
    [
      'a release dated far ahead, so that it seems under way for ever',
      () =>
        run(
          `INSERT INTO kill_event (action, scope, by_name, reason, at) VALUES ('release', '${KEY}', 'eve', '', 4000000000000)`,
          'shared.db',
        ),
      { sequence: 8, kind: 'inserted' },
    ],
    [
      'a person renamed in a chain that was sealed anew',
      () => resealAccount(toEve),
      { sequence: 7, kind: 'rechained' },
    ],
    [
      "an approver renamed in a run's journal that was sealed anew, without its anchors",
      async () => {
        withoutAnchors();
        await resealRun('r1', toEve);
      },
      { sequence: 3, kind: 'edited' },
    ],
    [
      'a chain cut back, without its anchors',
      async () => {
        withoutAnchors();
        await run('DELETE FROM account_act WHERE seq > 4');
      },
      { sequence: 5, kind: 'truncated' },
    ],
    ['a chain cut back', () => run('DELETE FROM account_act WHERE seq > 5'), { sequence: 6, kind: 'truncated' }],
    ['an act taken out', () => run('DELETE FROM account_act WHERE seq = 2'), { sequence: 2, kind: 'missing' }],
    [
      'an act that was changed',
      () => run("UPDATE account_act SET line = replace(line, 'too much', 'too little') WHERE seq = 6"),
      { sequence: 6, kind: 'edited' },
    ],
    [
      'an act given another type in its row alone, so that it is not found',
      () => run("UPDATE account_act SET type = 'x' WHERE seq = 6"),
      { sequence: 6, kind: 'edited' },
    ],
    ['a whole chain removed', () => run('DELETE FROM account_act'), { sequence: 1, kind: 'missing' }],
    [
      'a stated position that was changed where the ledger keeps it',
      async () => {
        const act = makeAct('baseline.stated', ADA, START, { market: 'BTC-USD', size: '1' });
        const journal = await openSqliteAccountJournal(at('runbook.db'));
        await journal.append(KEY, act);
        await journal.close();
        const store = await openSqliteStore(at('runbook.db'));
        const of = { store, name: 'main', key: KEY };
        await keepBaseline(of, { market: 'BTC-USD', size: '1', by: 'ada', at: START });
        await store.close();
        expect((await audit()).ok).toBe(true);
        await run(`UPDATE account_row SET text = replace(text, '"size":"1"', '"size":"0"')`);
      },
      { sequence: 9, kind: 'inserted' },
    ],
    [
      'a position that no person stated, dated before the journal began',
      async () => {
        const store = await openSqliteStore(at('runbook.db'));
        const of = { store, name: 'main', key: KEY };
        await keepBaseline(of, { market: 'BTC-USD', size: '-5', by: 'ada', at: 0 });
        await store.close();
      },
      { sequence: 8, kind: 'inserted' },
    ],
    [
      'a run that was put in',
      async () => {
        const store = await openSqliteStore(at('runbook.db'));
        const writer = newWriter(store, 'r3');
        writer.append('run.started', startedData({ mode: 'live', settings: { base_url: URL } }));
        await writer.close();
        await store.close();
      },
      { sequence: 8, kind: 'truncated' },
    ],
    [
      'a run that the ledger counts otherwise',
      async () => {
        await countRuns();
        await run(`UPDATE account_row SET text = replace(text, '"days":{}', '"days":{"2026-01-05":{"orders":9}}')`);
      },
      { sequence: 4, kind: 'edited' },
    ],
    [
      'a run that the ledger counts and no journal has',
      async () => {
        await countRuns();
        await run("UPDATE account_row SET name = 'run r9' WHERE name = 'run r2'");
      },
      { sequence: 8, kind: 'inserted' },
    ],
    [
      'a run that is not in the store, and that the ledger does not count',
      async () => {
        await countRuns();
        await run("DELETE FROM runs WHERE run = 'r2'; DELETE FROM account_row WHERE name = 'run r2'");
      },
      { sequence: 4, detail: 'entry 4: the ledger does not count run r2' },
    ],
    [
      'a verdict of a schedule that was removed, so that it falls due again',
      async () => {
        await decide();
        await run('DELETE FROM occurrence WHERE run IS NULL');
      },
      { sequence: 8, kind: 'missing' },
    ],
    [
      'a verdict that was changed',
      async () => {
        await decide();
        await run("UPDATE occurrence SET verdict = 'waiting' WHERE run IS NULL");
      },
      { sequence: 8, kind: 'edited' },
    ],
    [
      'a verdict on an occurrence to come, so that it never runs',
      async () => {
        await decide();
        await run(
          `INSERT INTO occurrence SELECT account, slot, nominal + 1000, verdict, why, run, decided_at, began FROM occurrence`,
        );
      },
      { sequence: 9, kind: 'edited' },
    ],
    [
      'the same, as if it had been decided before the journal began',
      async () => {
        await decide();
        await run(
          `INSERT INTO occurrence SELECT account, slot, nominal + 1000, verdict, why, run, 0, began FROM occurrence`,
        );
      },
      { sequence: 9, kind: 'edited' },
    ],
  ])('shows %s', async (_what, tamper, problem) => {
    await tamper();
    const { exit, ok, accounts } = await audit();
    expect([exit, ok]).toEqual([1, false]);
    expect(accounts.flatMap(({ problems }) => problems)).toContainEqual(expect.objectContaining(problem));
  });

  it('is verified to its end, also where that is the last one of a page', async () => {
    const journal = new MemoryAccountJournal();
    const act: NewAct = { type: 'schedule.lost', by: 'scheduler', at: START, data: { run: 'r9' } };
    for (let count = 0; count < 5_000; count += 1) await journal.append(KEY, act);
    const lines = await journal.lines(KEY);
    expect(await verifyChain(lines, [])).toMatchObject({ ok: true, entries: 5_000 });
  });

  it('that was rolled back with its anchors is shown by a copy of them, and so is an anchor that was taken out', async () => {
    const copy = join(home, 'copy.jsonl');
    copyFileSync(at('anchors.jsonl'), copy);
    expect((await audit(copy)).exit).toBe(0);
    writeFileSync(at('anchors.jsonl'), readFileSync(copy, 'utf8').split('\n').slice(0, 1).join('\n'));
    await run(
      "DELETE FROM account_act WHERE seq > 3; DELETE FROM entries WHERE run = 'r2'; DELETE FROM runs WHERE run = 'r2'",
    );
    rmSync(at('shared.db'));
    expect((await audit()).exit).toBe(0);
    expect(await audit(copy)).toMatchObject({ exit: 1, ok: false });
    await expect(audit(join(home, 'none.jsonl'))).rejects.toMatchObject({ exit: 2 });
  });

  it('is one of several where the profile named one store after the other, and a run that none of them has is found', async () => {
    const second = join(home, 'second.db');
    await addRun('r3', second);
    appendFileSync(at('stores.txt'), `${second}\n`);
    const moved = await audit();
    expect(moved).toMatchObject({ exit: 0, ok: true });
    expect(moved.accounts).toHaveLength(2);
    await withDatabase(second, (database) => database.exec("DELETE FROM account_act WHERE type = 'end.sealed'"));
    expect((await audit()).ok).toBe(false);
    await withDatabase(second, (database) => database.exec("DELETE FROM runs WHERE run = 'r3'; DELETE FROM entries"));
    const { accounts } = await audit();
    expect(accounts.flatMap(({ problems }) => problems)).toMatchObject([{ sequence: 1, kind: 'missing' }]);
  });

  it('goes on in a copy of its store: the older one is neither cut back nor unlisted', async () => {
    await addRun('r3', undefined, false);
    const copy = join(home, 'moved.db');
    await copyDatabase(at('runbook.db'), copy);
    await copyDatabase(at('shared.db'), join(home, 'shared.db'));
    appendFileSync(at('stores.txt'), `${copy}\n`);
    const store = await openSqliteStore(copy);
    const writer = newWriter(store, 'r3', {
      head: (await store.last('r3')) as StoredEntry,
      row: (await store.run('r3')) as RunRow,
      acts: { key: KEY, actOf: (entry: Entry) => makeRunAct(entry, ADA) },
    });
    writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await writer.close();
    anchor(await store.last('r3'));
    anchor(await store.lastAct(KEY));
    await store.close();
    await addRun('r4', copy);
    expect(await audit()).toMatchObject({ exit: 0, ok: true, accounts: [{ entries: 8 }, { entries: 11 }] });
    await withDatabase(copy, (database) => database.exec('DELETE FROM account_act WHERE seq = 11'));
    expect((await audit()).ok).toBe(false);
  });

  it('that was rolled back is contradicted by a copy of its anchors, before anything is sent', async () => {
    const store = await openSqliteStore(at('runbook.db'));
    const newest = await store.lastAct(KEY);
    const { run: chain = '', seq = 0, hash = '' } = newest ?? {};
    const copy = [{ v: 1, run: chain, seq, head: hash, count: seq, time: '2026-01-05T08:00:00.000Z' }] as const;
    expect(await findContradictedAct(store, KEY, copy)).toBeUndefined();
    await run(`DELETE FROM account_act WHERE seq = ${seq}`);
    expect(await findContradictedAct(store, KEY, copy)).toMatchObject({ kind: 'cut' });
    const journal = await openSqliteAccountJournal(at('runbook.db'));
    const other: NewAct = { type: 'schedule.lost', by: 'scheduler', at: 9, data: { run: 'r9' } };
    await journal.append(KEY, other);
    expect(await findContradictedAct(store, KEY, copy)).toMatchObject({ kind: 'changed' });
    await journal.close();
    await store.close();
  });
});

describe('a signed approval', () => {
  /** A third run, whose profile has a key of ada, with an approval signed by this key. */
  async function approve(pem: string, publicKey: string): Promise<void> {
    const store = await openSqliteStore(at('runbook.db'));
    const journal = await openSqliteAccountJournal(at('runbook.db'));
    const settings = { base_url: URL, people: { ada: { key: publicKey, roles: [] } } };
    const acts = { key: KEY, actOf: (entry: Entry) => makeRunAct(entry, ADA) };
    const writer = newWriter(store, 'r3', { acts });
    writer.append('run.started', startedData({ mode: 'live', settings }));
    await writer.flush();
    const given = makeAct('command.given', ADA, START, { run: 'r3', command: 'approve', step: 'ask' });
    await journal.append(KEY, signAct(KEY, given, pem));
    writer.append('operator.acted', { command: 'approve', by: 'ada', step: 'ask' }, '', 'human:ada');
    writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await writer.close();
    await journal.close();
    await store.close();
  }
  const makeKey = () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const write = (key: KeyObject, type: 'spki' | 'pkcs8') =>
      key.export({ format: 'der', type } as never).toString('base64');
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    return { pem, publicKey: write(publicKey, 'spki') };
  };

  it('is shown as such, and proves who gave it', async () => {
    const { pem, publicKey } = makeKey();
    await approve(pem, publicKey);
    expect(await audit()).toMatchObject({ exit: 0, ok: true });
    const { acts } = (await perform((invocation) => showPeople({ ...SPAN, csv: false, by: undefined }, invocation)))
      .document;
    expect(acts).toContainEqual(expect.objectContaining({ act: 'approve', run: 'r3', how: 'signed' }));
  });

  it('with a new key is judged once a run has begun since', async () => {
    const [old, next] = [makeKey(), makeKey()];
    await approve(old.pem, old.publicKey);
    const journal = await openSqliteAccountJournal(at('runbook.db'));
    const released = makeAct('kill.released', ADA, START + 1, { scope: KEY, reason: '', at: START + 1, late: true });
    await journal.append(KEY, signAct(KEY, released, next.pem));
    await journal.close();
    expect((await audit()).accounts.flatMap(({ problems }) => problems)).not.toContainEqual(
      expect.objectContaining({ kind: 'inserted' }),
    );
    const store = await openSqliteStore(at('runbook.db'));
    const people = { ada: { key: old.publicKey, roles: [] } };
    const acts = { key: KEY, actOf: (entry: Entry) => makeRunAct(entry, ADA) };
    const writer = newWriter(store, 'r4', { acts, clock: new VirtualClock(START + 2) });
    const started = { mode: 'live', startedAt: START + 2, settings: { base_url: URL, people } } as const;
    writer.append('run.started', startedData(started));
    await writer.close();
    await store.close();
    expect((await audit()).accounts.flatMap(({ problems }) => problems)).toContainEqual(
      expect.objectContaining({ sequence: 11, kind: 'inserted' }),
    );
  });

  it('with another key, or without its signature in a chain sealed anew, is found', async () => {
    const [ada, eve] = [makeKey(), makeKey()];
    await approve(eve.pem, ada.publicKey);
    const problemsAt = async (sequence: number) =>
      (await audit()).accounts
        .flatMap(({ problems }) => problems)
        .filter((each) => 'sequence' in each && each.sequence === sequence);
    expect((await problemsAt(9)).map((each) => (each as { kind?: string }).kind).sort()).toEqual([
      'edited',
      'inserted',
    ]);
    withoutAnchors();
    await resealAccount((line) => line.replace(/,"signature":\{[^}]*\}/, ''));
    expect(await problemsAt(9)).toMatchObject([{ kind: 'edited' }]);
  });
});

const SPAN = { from: undefined, to: undefined };

describe('what the journal of an account is read for', () => {
  it('audit people: who did what, in which run, and how the name is known', async () => {
    const journal = await openSqliteAccountJournal(at('runbook.db'));
    await journal.append(KEY, { type: 'schedule.lost', by: 'scheduler', at: START, data: { run: 'r9' } });
    const kill = { action: 'engage', scope: KEY, by: 'bob', reason: 'no store then', at: START + 5 } as const;
    await journal.append(KEY, makeKillAct(kill, 'late', START + 900));
    await journal.append(KEY, makeAct('baseline.stated', describeActor(), START + 6, { market: 'BTC-USD', size: '0' }));
    await journal.close();
    const people = { ...SPAN, csv: false, by: undefined };
    const { acts } = (await perform((invocation) => showPeople(people, invocation))).document;
    const ofRun = { who: 'ada', how: 'claimed' };
    expect(acts).toMatchObject([
      { ...ofRun, act: 'start', about: 'sample', run: 'r1', user: ADA.user, host: ADA.host, account: KEY },
      { ...ofRun, act: 'approve', about: 'ask', run: 'r1' },
      { ...ofRun, act: 'start', run: 'r2' },
      { ...ofRun, act: 'kill', about: 'too much' },
      { ...ofRun, act: 'release' },
      { who: ADA.user, how: 'os', act: 'baseline', about: '0 BTC-USD' },
      { who: 'bob', how: 'claimed', act: 'kill', at: new Date(START + 5).toISOString() },
    ]);
    const bob = await perform((invocation) => showPeople({ ...people, by: 'bob' }, invocation));
    expect(bob.document.acts).toHaveLength(1);
  });

  it('audit schedule: what became of each occurrence, and why', async () => {
    const schedules = await openSqliteScheduleStore(at('runbook.db'));
    const common = { slot: 'sample/main/0 9 * * *', decidedAt: START };
    const rows = (['started', 'started', 'skipped', 'missed', 'waiting', 'waiting', 'started'] as const).map(
      (verdict, hour): OccurrenceRow => ({
        ...common,
        nominalMs: START - hour * 3_600_000,
        verdict,
        ...(verdict === 'started' ? { run: hour === 0 ? 'r1' : `lost${hour}` } : { why: `why ${hour}` }),
      }),
    );
    await schedules.record(KEY, 1, rows);
    await schedules.settle(KEY, 'lost1', 'lost', START);
    const [, , , , , waiting] = rows as [never, never, never, never, never, OccurrenceRow];
    const { why: _why, ...decided } = waiting;
    await schedules.record(KEY, 1, [{ ...decided, verdict: 'skipped', why: 'killed' }]);
    await schedules.close();
    const schedule = { ...SPAN, runbook: 'sample', limit: undefined };
    const { occurrences } = (await perform((invocation) => showSchedule(schedule, invocation))).document;
    expect(occurrences).toMatchObject([
      { runbook: 'sample', slot: 'main/0 9 * * *', verdict: 'started', run: 'r1', lateMs: 0, account: KEY },
      { verdict: 'missed', run: 'lost1' },
      { verdict: 'skipped', why: 'why 2' },
      { verdict: 'missed', why: 'why 3' },
      { verdict: 'due', why: 'why 4' },
      { verdict: 'skipped', why: 'killed' },
      { verdict: 'due', run: 'lost6' },
    ]);
    expect((await audit()).ok).toBe(true);
  });
});
