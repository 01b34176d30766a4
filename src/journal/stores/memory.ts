/**
 * Keeps a journal in memory, for tests and for programs that store nothing. It refuses the same appends as the other stores, and
 * fails on request as a disk does.
 */

import { MemoryAccountJournal } from '../account/memory.ts';
import {
  type AccountRow,
  type AccountRowChange,
  type AppendOptions,
  filterRuns,
  type JournalStore,
  type RunFilter,
  type RunHead,
  type RunRow,
  type StoredEntry,
  StoreError,
} from '../store.ts';
import { ANSWER, buildConflict, refuseAppend } from './errors.ts';

interface MemoryStoreFaults {
  /** Number of appends that succeed; every later one fails as a full disk does (`unavailable`). */
  readonly failAfter?: number;
  /** Number of appends that succeed; every later one finds that another process wrote first (`conflict`). */
  readonly conflictAfter?: number;
  /** Delays each append until its promise has settled, as a slow disk does. */
  readonly before?: (entries: readonly StoredEntry[]) => Promise<void>;
}

export class MemoryStore implements JournalStore {
  private readonly faults: MemoryStoreFaults;
  private readonly entries = new Map<string, StoredEntry[]>();
  private readonly rows = new Map<string, RunRow>();
  private readonly epochs = new Map<string, number>();
  private readonly ofAccounts = new Map<string, Map<string, string>>();
  /** Number of successful appends, for tests that count commits. */
  appends = 0;
  /** What was appended with the entries. */
  readonly accountJournal = new MemoryAccountJournal();

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
    if (this.appends >= conflictAfter) throw buildConflict(first.run, first.seq, first.seq + 1);
    const { run } = first;
    const known = this.entries.get(run) ?? [];
    const last = known.at(-1);
    refuseAppend(entries, options, {
      epoch: this.epochs.get(run),
      last: last?.seq ?? 0,
      lastType: known.findLast(({ type }) => type !== ANSWER)?.type,
      outcome: this.rows.get(run)?.outcome,
    });
    this.entries.set(run, known);
    known.push(...entries);
    this.epochs.set(run, options.epoch ?? 0);
    if (options.row !== undefined) this.rows.set(run, options.row);
    for (const act of options.acts?.acts ?? []) await this.accountJournal.append(options.acts?.account ?? '', act);
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
    return filterRuns(this.rows.values(), filter);
  }

  async run(run: string): Promise<RunRow | undefined> {
    return this.rows.get(run);
  }

  async runsStamp(): Promise<string> {
    return [...this.rows.values()].map(({ run, endedAt = '' }) => `${run} ${endedAt}`).join(' ');
  }

  async last(run: string): Promise<StoredEntry | undefined> {
    return this.entries.get(run)?.at(-1);
  }

  async remove(run: string, head: string): Promise<boolean> {
    if (this.rows.get(run)?.outcome === undefined || this.entries.get(run)?.at(-1)?.hash !== head) return false;
    this.entries.delete(run);
    this.rows.delete(run);
    this.epochs.delete(run);
    return true;
  }

  async heads(account: string): Promise<readonly RunHead[]> {
    return filterRuns(this.rows.values(), { account })
      .toReversed()
      .flatMap((row) => {
        const last = this.entries.get(row.run)?.at(-1);
        return last === undefined ? [] : [{ ...row, seq: last.seq, hash: last.hash }];
      });
  }

  lastAct(account: string, upTo?: number): Promise<StoredEntry | undefined> {
    return this.accountJournal.last(account, upTo);
  }

  async accountRows(key: string): Promise<readonly AccountRow[]> {
    return this.listRows(key);
  }

  private listRows(key: string): readonly AccountRow[] {
    const rows = [...(this.ofAccounts.get(key) ?? [])].map(([name, text]) => ({ name, text }));
    return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async changeAccountRows(key: string, change: AccountRowChange): Promise<void> {
    const known = this.ofAccounts.get(key) ?? new Map<string, string>();
    this.ofAccounts.set(key, known);
    for (const { name, text } of change(this.listRows(key)))
      if (text === '') known.delete(name);
      else known.set(name, text);
  }

  async close(): Promise<void> {}
}
