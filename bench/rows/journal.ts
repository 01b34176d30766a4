/** Row 9: what an entry costs beside the insert of its bytes, in the store that a live run uses. */
import { join } from 'node:path';
import { SystemClock } from '../../src/base/clock.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import { ratio } from '../measure.ts';
import { ACCOUNT_RECORD } from '../trials/account-record.ts';
import { workFolder } from '../work-folder.ts';
import type { Row } from './row.ts';

const ENTRIES = 400;
const ROUNDS = 9;
const RESULT = JSON.parse(ACCOUNT_RECORD) as object;
let files = 0;

/** `ENTRIES` entries in commits of `together` each: ms per entry. The pen of a live run, or of a dry-run, which is one of 256. */
async function appended(durable: boolean, together: number): Promise<number> {
  const store = await openSqliteStore(join(workFolder(), `journal-${++files}.db`));
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

/** The same bytes, each in a transaction of its own, and nothing else done. */
async function inserted(durable: boolean): Promise<number> {
  const database = await openDatabase(join(workFolder(), `raw-${++files}.db`));
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
      ratio(
        ROUNDS,
        () => appended(true, 1),
        () => inserted(true),
      ),
  },
  {
    id: '9',
    what: 'an entry, of a dry-run (NORMAL)',
    against: 'raw insert of the same bytes',
    pass: 1.7,
    excellent: 1.35,
    measure: () =>
      ratio(
        ROUNDS,
        () => appended(false, 1),
        () => inserted(false),
      ),
  },
  {
    id: '9b',
    what: '10 entries in one turn, each',
    against: 'one entry per commit, FULL',
    pass: 0.25,
    excellent: 0.15,
    measure: () =>
      ratio(
        ROUNDS,
        () => appended(true, 10),
        () => appended(true, 1),
      ),
  },
];
