/** Journals of any size, made once for all rows: copies of one run, and one of them still under way with orders that rest. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readEntry } from '../src/journal/chain.ts';
import type { RunRow, StoredEntry } from '../src/journal/store.ts';
import { MemoryStore } from '../src/journal/stores/memory.ts';
import { openSqliteStore } from '../src/journal/stores/sqlite.ts';
import { nextRow } from '../src/journal/writer.ts';
import { writeManyRuns } from '../test/journal/many-runs.ts';
import { lineOf, restingOrdersOf } from './runbooks.ts';
import { execute, loaded } from './trials/product.ts';
import { workFolder } from './work-folder.ts';

export interface LargeJournal {
  /** A state folder, as `--state` takes it. */
  readonly folder: string;
  readonly file: string;
  /** The name of a finished run in the middle. */
  readonly run: string;
}

/** Steps of the copied run, which has five entries each and some of its own: two hundred in all. */
const STEPS = 39;
const INTERRUPTED = 'interrupted';

const journals = new Map<string, Promise<LargeJournal>>();

/** A journal of at least so many entries, and a run under way with so many open orders. */
export function journalOf(entries: number, openOrders: number): Promise<LargeJournal> {
  const name = `journal-${entries}-${openOrders}`;
  const made = journals.get(name) ?? written(name, entries, openOrders);
  journals.set(name, made);
  return made;
}

async function written(name: string, entries: number, openOrders: number): Promise<LargeJournal> {
  const folder = join(workFolder(), name);
  mkdirSync(folder);
  const file = join(folder, 'runbook.db');
  const store = await openSqliteStore(file);
  const { names } = await writeManyRuns(store, (await recordOf(lineOf(STEPS))).map(readEntry), entries);
  const interrupted = await interruptedRun(openOrders);
  // The row that its own entries make: `verify` compares them.
  const row = interrupted.map(readEntry).reduce<RunRow | undefined>(nextRow, undefined);
  await store.append(interrupted, { durable: true, epoch: 1, ...(row === undefined ? {} : { row }) });
  await store.close();
  return { folder, file, run: names[names.length >> 1] ?? '' };
}

async function recordOf(text: string, run = 'bench'): Promise<readonly StoredEntry[]> {
  const store = new MemoryStore();
  await execute(loaded(text), store, run);
  return store.read(run);
}

/** What a process leaves that dies while its orders rest: the record up to the wait behind them. */
async function interruptedRun(openOrders: number): Promise<readonly StoredEntry[]> {
  const whole = await recordOf(restingOrdersOf(openOrders), INTERRUPTED);
  const end = whole.findIndex(({ type, step }) => type === 'step.started' && step.endsWith(':wait'));
  if (end === -1) throw new Error('the run never came to its wait');
  return whole.slice(0, end + 1);
}
