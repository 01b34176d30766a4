/** Measures row 9: the cost of an entry compared with the insert of its bytes, in the store that a live run uses. */
import { join } from 'node:path';
import { SystemClock } from '../../src/base/clock.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import { measureRatio } from '../measure.ts';
import { ACCOUNT_RECORD } from '../trials/account-record.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';

const ENTRIES = 400;
const ROUNDS = 9;
const RESULT = JSON.parse(ACCOUNT_RECORD) as object;
let files = 0;

/** Appends `ENTRIES` entries in commits of `together` each, with the writer of a live run or of a dry-run; ms per entry. */
async function measureAppend(durable: boolean, together: number): Promise<number> {
  const store = await openSqliteStore(join(getWorkFolder(), `journal-${++files}.db`));
  const clock = new SystemClock();
  const writer = new JournalWriter(store, {
    run: 'bench',
    account: 'main',
    def: '0'.repeat(16),
    boot: 'b',
    epoch: 1,
    actor: 'engine',
    clock,
    durable,
  });
  writer.append('run.started', {
    runbook: 'bench',
    file: 'bench.yaml',
    mode: 'live',
    trigger: 'manual',
    inputs: {},
    seed: 1,
    startedAt: clock.now(),
    sources: [],
    settings: {},
    engine: '0',
    account: 'main',
  });
  await writer.close();
  const begun = performance.now();
  for (let n = 0; n < ENTRIES; n += together) {
    for (let each = 0; each < together; each += 1)
      writer.append(
        'call.settled',
        { call: `steps/${n}#1`, kind: 'confirmed', status: 200, success: true, result: RESULT as never },
        `steps/${n}`,
      );
    await writer.close();
  }
  const took = performance.now() - begun;
  await store.close();
  return took / ENTRIES;
}

/** Inserts the same bytes, each in a transaction of its own; ms per row. */
async function measureInsert(durable: boolean): Promise<number> {
  const database = await openDatabase(join(getWorkFolder(), `raw-${++files}.db`));
  database.exec(
    'CREATE TABLE entries (run TEXT, seq INTEGER, at INTEGER, type TEXT, step TEXT, line TEXT, hash TEXT, PRIMARY KEY (run, seq))',
  );
  database.setDurable(durable);
  const insert = database.statement('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)');
  const line = 'x'.repeat(430 + ACCOUNT_RECORD.length);
  const begun = performance.now();
  for (let n = 1; n <= ENTRIES; n += 1)
    insert.run('bench', n, 1_767_600_000_000, 'call.settled', `steps/${n}`, line, '0'.repeat(64));
  const took = performance.now() - begun;
  database.close();
  return took / ENTRIES;
}

export const JOURNAL_ROWS: readonly Row[] = [
  {
    id: '9',
    what: 'an entry, durable (FULL)',
    against: 'raw insert of the same bytes',
    pass: 1.2,
    excellent: 1.1,
    measure: () =>
      measureRatio(
        ROUNDS,
        () => measureAppend(true, 1),
        () => measureInsert(true),
      ),
  },
  {
    id: '9',
    what: 'an entry, of a dry-run (NORMAL)',
    against: 'raw insert of the same bytes',
    pass: 1.7,
    excellent: 1.35,
    measure: () =>
      measureRatio(
        ROUNDS,
        () => measureAppend(false, 1),
        () => measureInsert(false),
      ),
  },
  {
    id: '9b',
    what: '10 entries in one turn, each',
    against: 'one entry per commit, FULL',
    pass: 0.25,
    excellent: 0.15,
    measure: () =>
      measureRatio(
        ROUNDS,
        () => measureAppend(true, 10),
        () => measureAppend(true, 1),
      ),
  },
];
