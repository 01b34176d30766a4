/**
 * What runs that have ended add up to, kept so that `audit stats` reads each run once. An index beside the journals: made
 * again from them when it is gone, never asked about anything but counts. A run that went on since counts anew.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StateFolder } from '../../app/state.ts';
import { type Database, openDatabase } from '../../journal/sql/sqlite.ts';
import type { RunRow } from '../../journal/store.ts';
import type { RunTally } from '../../report/compare/stats.ts';

/** Of what is counted: another version counts everything anew. */
const VERSION = 1;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS tally (
    run TEXT PRIMARY KEY,
    ended_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    version INTEGER NOT NULL,
    tally TEXT NOT NULL
  ) WITHOUT ROWID;`;

export interface Tallies {
  get(row: RunRow): RunTally | undefined;
  keep(row: RunRow, tally: RunTally): void;
  /** Writes what was kept. */
  flush(): void;
  close(): void;
}

/** Opens the index of the state folder; one that can not be used is as good as none. */
export async function openTallies(state: StateFolder): Promise<Tallies> {
  const nowhere: Tallies = { get: () => undefined, keep: () => {}, flush: () => {}, close: () => {} };
  // Looking at an archive elsewhere makes no folder.
  if (!existsSync(state.path)) return nowhere;
  try {
    const database = await openDatabase(join(state.path, 'tallies.db'));
    database.setDurable(false);
    database.exec(SCHEMA);
    return new TallyIndex(database);
  } catch {
    return nowhere;
  }
}

class TallyIndex implements Tallies {
  private readonly database: Database;
  private readonly known = new Map<string, RunTally>();
  private readonly fresh: (readonly [RunRow, RunTally])[] = [];

  constructor(database: Database) {
    this.database = database;
    const rows = database.statement('SELECT run, ended_at, outcome, tally FROM tally WHERE version = ?').all(VERSION);
    for (const { run, ended_at, outcome, tally } of rows)
      this.known.set(`${run} ${ended_at} ${outcome}`, JSON.parse(String(tally)) as RunTally);
  }

  get(row: RunRow): RunTally | undefined {
    return this.known.get(keyOf(row));
  }

  keep(row: RunRow, tally: RunTally): void {
    if (row.outcome !== undefined && !this.known.has(keyOf(row))) this.fresh.push([row, tally]);
  }

  flush(): void {
    if (this.fresh.length === 0) return;
    this.database.transaction(() => {
      const insert = this.database.statement('INSERT OR REPLACE INTO tally VALUES (?, ?, ?, ?, ?)');
      for (const [{ run, endedAt = 0, outcome = '' }, tally] of this.fresh.splice(0))
        insert.run(run, endedAt, outcome, VERSION, JSON.stringify(tally));
    });
  }

  close(): void {
    this.database.close();
  }
}

function keyOf({ run, endedAt, outcome }: RunRow): string {
  return `${run} ${endedAt} ${outcome}`;
}
