/**
 * Writes a journal of very many entries, for measuring: one real run, copied again and again under other names and times, each
 * copy with a chain of its own. Takes seconds; shared by the benchmark and measurements by hand. A copy verifies and can be
 * shown; it does not replay, because the contents of its entries keep the times of the first.
 */
import { sealEntry, toHead } from '../../src/journal/chain.ts';
import type { DataOf, Entry, EntryBody } from '../../src/journal/entry.ts';
import type { JournalStore, StoredEntry } from '../../src/journal/store.ts';
import { updateRow } from '../../src/journal/writer.ts';

export interface ManyRuns {
  readonly runs: number;
  readonly entries: number;
  /** The run ids, oldest first. */
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
    const name = nameCopy(template, names.length);
    await writeCopy(store, template, name, names.length * everyMs);
    names.push(name);
  }
  return { runs: names.length, entries: names.length * template.length, names };
}

async function writeCopy(store: JournalStore, template: readonly Entry[], run: string, laterMs: number): Promise<void> {
  const copies: StoredEntry[] = [];
  let row: ReturnType<typeof updateRow>;
  for (const entry of template) {
    const body = { type: entry.type, data: shiftTimes(entry, laterMs) } as EntryBody;
    const { entry: copy, stored } = sealEntry(body, { ...entry, run, at: entry.at + laterMs }, toHead(copies.at(-1)));
    row = updateRow(row, copy);
    copies.push(stored);
  }
  await store.append(copies, { durable: false, epoch: 1, ...(row === undefined ? {} : { row }) });
}

function shiftTimes({ type, data }: Entry, laterMs: number): DataOf<Entry['type']> {
  return type === 'run.started' ? { ...data, startedAt: data.startedAt + laterMs } : data;
}

/** Names a copy as the command line names runs, so that they sort by time. */
function nameCopy([first]: readonly Entry[], index: number): string {
  return `20260105T${String(index).padStart(9, '0')}-${first?.type === 'run.started' ? first.data.runbook : 'run'}-${index.toString(16).padStart(10, '0')}`;
}
