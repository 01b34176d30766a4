/**
 * One run's pen. Appending is synchronous and gives the sealed entry at once; `flush` tells when the disk has it. Everything
 * appended in one turn shares one commit. After one failed commit nothing is ever written again by this writer: whether the
 * lost pages reached the disk is not knowable, and a later success would only pretend so.
 */
import type { Clock } from '../base/clock.ts';
import { type ChainHead, EMPTY_HEAD, sealEntry } from './chain.ts';
import { type DataOf, ENTRY_VERSION, type Entry, type EntryBody, type EntryOf, type EntryType } from './entry.ts';
import { type JournalStore, type RunRow, type StoredEntry, StoreError } from './store.ts';

export interface WriterOptions {
  readonly run: string;
  readonly account: string;
  /** First 16 hex digits of the definition's sha256. */
  readonly def: string;
  readonly boot: string;
  /** Of the lease; an append below the run's newest epoch is refused as `fenced`. */
  readonly epoch: number;
  readonly actor: 'engine';
  readonly clock: Clock;
  /**
   * False for dry-runs: entries go to the store in batches and `flush` waits for none of them, because nothing that could not
   * be repeated depends on them. They are all there after `run.ended` was flushed, or after `close`.
   */
  readonly durable: boolean;
  /** Where the chain stands, for a run that is taken up again. */
  readonly head?: ChainHead;
  /** The run's row; made from `run.started` when it is not given. Completed at `run.ended`. */
  readonly row?: RunRow;
}

/**
 * Entries a writer keeps back at most: those of a dry-run until then, those of one turn no longer either: how much one
 * turn writes is up to the runbook, and it would all be held in memory.
 */
const BATCH = 256;

export class JournalWriter {
  private readonly store: JournalStore;
  private readonly options: WriterOptions;
  private readonly listeners = new Set<(entry: Entry) => void>();
  private readonly durableListeners = new Set<(head: ChainHead) => void>();
  private readonly untold: Entry[] = [];
  private telling = false;
  private buffer: StoredEntry[] = [];
  private row: RunRow | undefined;
  private rowChanged: boolean;
  private hasEnded = false;
  private sealed: ChainHead;
  private stored: ChainHead;
  /** The commit that takes what is buffered now; undefined when none is due. */
  private due: Promise<void> | undefined;
  private running: Promise<void> = Promise.resolve();
  private failed: StoreError | undefined;

  constructor(store: JournalStore, options: WriterOptions) {
    this.store = store;
    this.options = options;
    this.sealed = options.head ?? EMPTY_HEAD;
    this.stored = this.sealed;
    this.row = options.row;
    this.rowChanged = options.row !== undefined;
  }

  /** The last entry appended. */
  get head(): ChainHead {
    return this.sealed;
  }

  /** The last entry the store has. */
  get storedHead(): ChainHead {
    return this.stored;
  }

  /** Why nothing is written any more, once a commit has failed. */
  get failure(): StoreError | undefined {
    return this.failed;
  }

  /**
   * Seals an entry and tells the listeners, in the order of the entries even when a listener appends. After a failure
   * entries are still sealed and told, so that a run can be wound down in sight of its reader, but kept nowhere.
   */
  append<T extends EntryType>(type: T, data: DataOf<T>, step = '', actor: string = this.options.actor): EntryOf<T> {
    const { run, account, def, boot, epoch, clock } = this.options;
    const body = { type, data } as EntryBody;
    const mono = Math.round(clock.monotonic() * 1000) / 1000;
    const { entry, stored } = sealEntry(
      body,
      { v: ENTRY_VERSION, at: clock.now(), mono, boot, epoch, account, run, def, step, actor },
      this.sealed,
    );
    this.sealed = { seq: entry.seq, hash: entry.hash };
    this.follow(entry);
    if (this.failed === undefined) {
      this.buffer.push(stored);
      if (this.buffer.length >= BATCH && this.due === undefined) void this.commitSoon(this.running.catch(() => {}));
    }
    this.tell(entry);
    return entry as EntryOf<T>;
  }

  /**
   * Resolves when everything appended so far is durable (with `durable: false`: at once, unless the run has ended). Rejects
   * with the StoreError of the first commit that failed, now and ever after.
   */
  flush(): Promise<void> {
    if (this.failed !== undefined) return Promise.reject(this.failed);
    if (!this.options.durable && !this.hasEnded) return Promise.resolve();
    return this.commitSoon();
  }

  /** Writes whatever is left, durable or not. The writer can be used afterwards; the store stays open. */
  close(): Promise<void> {
    return this.failed === undefined ? this.commitSoon() : Promise.reject(this.failed);
  }

  /** Calls `listener` with every entry appended from now on, in order, inside `append`. */
  subscribe(listener: (entry: Entry) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Calls `listener` with the head after each commit. */
  onStored(listener: (head: ChainHead) => void): () => void {
    this.durableListeners.add(listener);
    return () => void this.durableListeners.delete(listener);
  }

  /** Keeps the run's row in step with its entries. */
  private follow(entry: Entry): void {
    const row = nextRow(this.row, entry);
    if (row === this.row) return;
    this.row = row;
    this.rowChanged = true;
    this.hasEnded ||= row?.outcome !== undefined;
  }

  private tell(entry: Entry): void {
    if (this.listeners.size === 0) return;
    this.untold.push(entry);
    if (this.telling) return;
    this.telling = true;
    try {
      for (let next = this.untold.shift(); next !== undefined; next = this.untold.shift()) {
        for (const listener of this.listeners) listener(next);
      }
    } finally {
      this.telling = false;
    }
  }

  /** One commit for all who ask before it begins; at the end of the turn, unless it is to come after something else. */
  private commitSoon(after?: Promise<void>): Promise<void> {
    if (this.buffer.length === 0) return this.running;
    if (this.due === undefined) {
      const due = after === undefined ? this.atEndOfTurn() : after.then(() => this.commit());
      this.due = due;
      this.running = due;
      // Whoever flushes sees the rejection; a batch nobody waits for must not end the process.
      due.catch(() => {});
    }
    return this.due;
  }

  /**
   * Commits when the commit before has settled and everything that can go on without waiting has: after the microtasks,
   * before any timer or socket. So all that one turn appends shares a commit, and a virtual clock sees the commit within the
   * turn. Written with as few promises as there can be: each is paid for by every write that must be durable.
   */
  private atEndOfTurn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const commit = () => void this.commit().then(resolve, reject);
      const settled = () => process.nextTick(commit);
      this.running.then(settled, settled);
    });
  }

  private async commit(): Promise<void> {
    this.due = undefined;
    if (this.failed !== undefined) throw this.failed;
    const entries = this.buffer;
    const { durable, epoch } = this.options;
    const row = this.rowChanged ? this.row : undefined;
    this.buffer = [];
    this.rowChanged = false;
    try {
      await this.store.append(entries, { durable, epoch, ...(row === undefined ? {} : { row }) });
    } catch (error) {
      this.failed = error instanceof StoreError ? error : new StoreError('unavailable', (error as Error).message);
      this.buffer = [];
      throw this.failed;
    }
    const last = entries.at(-1) as StoredEntry;
    this.stored = { seq: last.seq, hash: last.hash };
    for (const listener of this.durableListeners) listener(this.stored);
  }
}

/** The run's row after `entry`; the same object where the entry does not touch it. */
export function nextRow(row: RunRow | undefined, entry: Entry): RunRow | undefined {
  if (entry.type === 'run.started' && row === undefined) {
    const { runbook, mode, account, trigger, startedAt } = entry.data;
    return { run: entry.run, runbook, mode, account, trigger, startedAt };
  }
  if (entry.type === 'run.ended' && row !== undefined)
    return { ...row, endedAt: entry.at, outcome: entry.data.outcome };
  return row;
}
