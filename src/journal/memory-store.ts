/**
 * The store of tests and of programs that keep nothing: entries in a map. It refuses what a real store refuses, and fails on
 * demand as a disk does.
 */
import { conflict, fenced, missingRow, otherRun } from './refusals.ts';
import {
  type AppendOptions,
  type JournalStore,
  type RunFilter,
  type RunRow,
  type StoredEntry,
  StoreError,
} from './store.ts';

export interface MemoryStoreFaults {
  /** Appends that succeed before every further one fails as a disk does (`unavailable`). */
  readonly failAfter?: number;
  /** Appends that succeed before every further one finds that another process wrote first (`conflict`). */
  readonly conflictAfter?: number;
  /** Delays each append until the promise this gives has settled: a slow disk. */
  readonly before?: (entries: readonly StoredEntry[]) => Promise<void>;
}

export class MemoryStore implements JournalStore {
  private readonly faults: MemoryStoreFaults;
  private readonly entries = new Map<string, StoredEntry[]>();
  private readonly rows = new Map<string, RunRow>();
  private readonly epochs = new Map<string, number>();
  /** How many appends have succeeded: the commits a test counts. */
  appends = 0;

  constructor(faults: MemoryStoreFaults = {}) {
    this.faults = faults;
  }

  async append(entries: readonly StoredEntry[], options: AppendOptions): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    const { failAfter = Infinity, conflictAfter = Infinity, before } = this.faults;
    if (before !== undefined) await before(entries);
    if (this.appends >= failAfter)
      throw new StoreError('unavailable', 'the store could not be written: the disk is full');
    if (this.appends >= conflictAfter) throw conflict(first.run, first.seq, first.seq + 1);
    const { run } = first;
    const epoch = options.epoch ?? 0;
    const newest = this.epochs.get(run) ?? 0;
    if (epoch < newest) throw fenced(run, epoch, newest);
    const known = this.entries.get(run) ?? [];
    let next = (known.at(-1)?.seq ?? 0) + 1;
    for (const entry of entries) {
      if (entry.run !== run) throw otherRun(run, entry.run);
      if (entry.seq !== next) throw conflict(run, entry.seq, next);
      next += 1;
    }
    if (options.row === undefined && !this.rows.has(run)) throw missingRow(run);
    this.entries.set(run, known);
    known.push(...entries);
    this.epochs.set(run, epoch);
    if (options.row !== undefined) this.rows.set(run, options.row);
    this.appends += 1;
  }

  async read(
    run: string,
    range: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEntry[]> {
    const { after = 0, limit = Infinity } = range;
    return (this.entries.get(run) ?? []).filter((entry) => entry.seq > after).slice(0, limit);
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    return [...this.rows.values()]
      .filter(
        (row) =>
          (filter.account === undefined || row.account === filter.account) &&
          (filter.runbook === undefined || row.runbook === filter.runbook) &&
          (filter.unfinished !== true || row.outcome === undefined),
      )
      .sort((a, b) => b.startedAt - a.startedAt || (a.run < b.run ? 1 : -1))
      .slice(0, filter.limit ?? Infinity);
  }

  async run(run: string): Promise<RunRow | undefined> {
    return this.rows.get(run);
  }

  async close(): Promise<void> {}
}
