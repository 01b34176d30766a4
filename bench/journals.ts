/** Writes journals of any size, once for all rows: copies of one finished run, and one unfinished run with open orders. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readLines } from '../src/journal/reading.ts';
import type { RunRow, StoredEntry } from '../src/journal/store.ts';
import { MemoryStore } from '../src/journal/stores/memory.ts';
import { openSqliteStore } from '../src/journal/stores/sqlite.ts';
import { updateRow } from '../src/journal/writer.ts';
import { writeManyRuns } from '../test/journal/many-runs.ts';
import { writeLine, writeRestingOrders } from './runbooks.ts';
import { execute, loadRunbook } from './trials/product.ts';
import { getWorkFolder } from './work-folder.ts';

export interface LargeJournal {
  /** A state folder, as `--state` takes it. */
  readonly folder: string;
  readonly file: string;
  /** The name of a finished run in the middle of the journal. */
  readonly run: string;
}

/** Steps of the copied run. Each has five entries; with those of the run itself they make two hundred. */
const STEPS = 39;
const INTERRUPTED = 'interrupted';

const journals = new Map<string, Promise<LargeJournal>>();

/** Prepares a journal of at least `entries` entries, with an unfinished run that has `openOrders` open orders. */
export function prepareJournal(entries: number, openOrders: number): Promise<LargeJournal> {
  const name = `journal-${entries}-${openOrders}`;
  const made = journals.get(name) ?? writeJournal(name, entries, openOrders);
  journals.set(name, made);
  return made;
}

async function writeJournal(name: string, entries: number, openOrders: number): Promise<LargeJournal> {
  const folder = join(getWorkFolder(), name);
  mkdirSync(folder);
  const file = join(folder, 'runbook.db');
  const store = await openSqliteStore(file);
  const { names } = await writeManyRuns(store, [...readLines(await recordRun(writeLine(STEPS)))], entries);
  const interrupted = await recordInterruptedRun(openOrders);
  // The row must follow from the entries: `verify` compares them.
  const row = [...readLines(interrupted)].reduce<RunRow | undefined>(updateRow, undefined);
  await store.append(interrupted, { durable: true, epoch: 1, ...(row === undefined ? {} : { row }) });
  await store.close();
  return { folder, file, run: names[names.length >> 1] ?? '' };
}

async function recordRun(text: string, run = 'bench'): Promise<readonly StoredEntry[]> {
  const store = new MemoryStore();
  await execute(loadRunbook(text), store, run);
  return store.read(run);
}

/** Records a run whose process died while its orders were open: the entries up to the wait after the orders. */
async function recordInterruptedRun(openOrders: number): Promise<readonly StoredEntry[]> {
  const whole = await recordRun(writeRestingOrders(openOrders), INTERRUPTED);
  const end = whole.findIndex(({ type, step }) => type === 'step.started' && step.endsWith(':wait'));
  if (end === -1) throw new Error('the run never came to its wait');
  return whole.slice(0, end + 1);
}
