/**
 * A journal of very many entries, for measuring: one real run, written again and again under other names and times, each
 * copy with a chain of its own. Made in seconds, kept nowhere; the benchmark and whoever measures by hand share it. A copy
 * verifies and can be told; it does not replay, because what is inside its entries keeps the times of the first.
 */
import { headOf, sealEntry } from '../../src/journal/chain.ts';
import type { DataOf, Entry, EntryBody } from '../../src/journal/entry.ts';
import type { JournalStore, StoredEntry } from '../../src/journal/store.ts';
import { nextRow } from '../../src/journal/writer.ts';

export interface ManyRuns {
  readonly runs: number;
  readonly entries: number;
  /** The names, oldest first. */
  readonly names: readonly string[];
}

/** Writes copies of the run `template` into `store`, `everyMs` apart, until there are at least `entries` entries. */
export async function writeManyRuns(
  store: JournalStore,
  template: readonly Entry[],
  entries: number,
  everyMs = 600_000,
): Promise<ManyRuns> {
  const names: string[] = [];
  for (let written = 0; written < entries; written += template.length) {
    const name = copyName(template, names.length);
    await writeCopy(store, template, name, names.length * everyMs);
    names.push(name);
  }
  return { runs: names.length, entries: names.length * template.length, names };
}

async function writeCopy(store: JournalStore, template: readonly Entry[], run: string, laterMs: number): Promise<void> {
  const copies: StoredEntry[] = [];
  let row: ReturnType<typeof nextRow>;
  for (const entry of template) {
    const body = { type: entry.type, data: moved(entry, laterMs) } as EntryBody;
    const { entry: copy, stored } = sealEntry(body, { ...entry, run, at: entry.at + laterMs }, headOf(copies.at(-1)));
    row = nextRow(row, copy);
    copies.push(stored);
  }
  await store.append(copies, { durable: false, epoch: 1, ...(row === undefined ? {} : { row }) });
}

function moved({ type, data }: Entry, laterMs: number): DataOf<Entry['type']> {
  return type === 'run.started' ? { ...data, startedAt: data.startedAt + laterMs } : data;
}

/** As the command line names runs, so that their order is that of their making. */
function copyName([first]: readonly Entry[], index: number): string {
  return `20260105T${String(index).padStart(9, '0')}-${first?.type === 'run.started' ? first.data.runbook : 'run'}-${index.toString(16).padStart(10, '0')}`;
}
