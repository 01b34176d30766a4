/**
 * Writes the journal of one run. Appending is synchronous and returns the sealed entry; `flush` resolves once the disk has it.
 * Everything appended in one turn shares one commit. A store that does not answer is asked again, and its journal shows whether a
 * commit without an answer was stored. A disk error is one of these: the store opens
 * its files anew, and promises a commit only once what it had is on the disk. After any other failure this writer writes nothing more.
 */
import type { Clock } from '../base/clock.ts';
import { type ChainHead, EMPTY_HEAD, sealEntry, toHead } from './chain.ts';
import {
  type DataOf,
  ENTRY_VERSION,
  type Entry,
  type EntryBody,
  type EntryOf,
  type EntryType,
  type JsonObject,
} from './entry.ts';
import { REPEATED, RepeatedRows } from './repeated-rows.ts';
import { keepHeldLines } from './rounds/held-lines.ts';
import { IdleRounds, type Sealed } from './rounds/idle-rounds.ts';
import type { Draft } from './rounds/round-shape.ts';
import {
  type AppendOptions,
  ignoreStore,
  type JournalStore,
  type PostedAct,
  type RunRow,
  StoreAway,
  type StoredEntry,
  StoreError,
} from './store.ts';

export interface WriterOptions {
  readonly run: string;
  readonly account: string;
  /** First 16 hex digits of the definition's sha256. */
  readonly def: string;
  readonly boot: string;
  /** Epoch of the lease; an append below the run's newest epoch is refused as `fenced`. */
  readonly epoch: number;
  readonly actor: 'engine';
  readonly clock: Clock;
  /**
   * False for dry-runs: entries go to the store in batches and `flush` does not wait for them, because a dry-run can be
   * repeated. All are stored once `run.ended` is flushed, or after `close`.
   */
  readonly durable: boolean;
  /** The end of the chain so far, for a resumed run. */
  readonly head?: ChainHead;
  /** The run's row; built from `run.started` when absent, completed at `run.ended`. */
  readonly row?: RunRow;
  /** How long a commit is tried again while the store does not answer, ms; never where it is absent. */
  readonly patienceMs?: number;
  /** Answers of fewer rows are stored whole, also where a line before has their rows; 4 where it is absent. */
  readonly fewestRepeated?: number;
  /** What the journal of the account is to have of an entry, in the transaction that stores it; `key`: of the account. */
  readonly acts?: { readonly key: string; readonly actOf: (entry: Entry) => PostedAct | undefined };
}

/** Pause before a store that does not answer is asked again, ms. */
const RETRY_MS = 500;

/**
 * The most entries that a writer buffers before it commits. This bounds the memory that one turn of a runbook, or a dry-run,
 * can take.
 */
const BATCH = 256;

export class JournalWriter {
  private readonly store: JournalStore;
  private readonly options: WriterOptions;
  private readonly listeners = new Set<(entry: Entry) => void>();
  private readonly durableListeners = new Set<(head: ChainHead) => void>();
  private readonly undelivered: Entry[] = [];
  private readonly repeated: RepeatedRows;
  private readonly idle = new IdleRounds((draft) => this.seal(draft));
  private delivering = false;
  private buffer: StoredEntry[] = [];
  private acts: PostedAct[] = [];
  private row: RunRow | undefined;
  /** Whether the store does not have it. */
  private rowChanged = true;
  private hasEnded = false;
  private sealed: ChainHead;
  private stored: ChainHead;
  /** The commit that will store what is buffered now; undefined when none is due. */
  private due: Promise<void> | undefined;
  /** While what is held back is put beside the journal, and whether it ever was. */
  private keeping: Promise<void> | undefined;
  private hasKept = false;
  private running: Promise<void> = Promise.resolve();
  private failed: StoreError | undefined;
  private awayFor: StoreAway | undefined;

  constructor(store: JournalStore, options: WriterOptions) {
    this.store = store;
    this.options = options;
    this.repeated = new RepeatedRows(options.fewestRepeated);
    this.sealed = options.head ?? EMPTY_HEAD;
    this.stored = this.sealed;
    this.row = options.row;
  }

  /** The last entry appended. */
  get head(): ChainHead {
    return this.sealed;
  }

  /** The last entry the store has. */
  get storedHead(): ChainHead {
    return this.stored;
  }

  /** The error of the failed commit, after which nothing is written. */
  get failure(): StoreError | undefined {
    return this.failed;
  }

  /** Why the store does not answer, while a commit is tried again. */
  get away(): StoreAway | undefined {
    return this.awayFor;
  }

  /**
   * Seals an entry and gives it to the listeners, in the order of the entries even when a listener appends. After a failure
   * entries are still sealed and given to the listeners, so that the terminal shows how the run winds down, but not stored.
   * The entries of a round that says what the one before said are given to the listeners at once and held back for `flush`: they
   * have no hash, and the number of the entry that will stand for them at the earliest.
   */
  append<T extends EntryType>(type: T, data: DataOf<T>, step = '', actor?: string): EntryOf<T> {
    const { clock } = this.options;
    const mono = Math.round(clock.monotonic() * 1000) / 1000;
    const draft = { type, data, step, actor, at: clock.now(), mono };
    const entry = this.idle.add(draft)?.entry ?? this.describeHeld(draft);
    this.deliver(entry);
    return entry as EntryOf<T>;
  }

  private seal(draft: Draft): Sealed {
    const { type, data } = draft;
    const short = type === 'call.settled' ? this.repeated.shorten(data as JsonObject, this.sealed.seq + 1) : undefined;
    const sealed = this.sealBehind(draft, this.sealed, short);
    this.sealed = { seq: sealed.entry.seq, hash: sealed.entry.hash };
    this.updateRow(sealed.entry);
    if (this.failed === undefined) {
      this.buffer.push(sealed.stored);
      const act = this.options.acts?.actOf(sealed.entry);
      if (act !== undefined) this.acts.push(act);
      if (this.buffer.length >= BATCH && this.due === undefined) void this.commitSoon(this.running.catch(() => {}));
    }
    return sealed;
  }

  /** `short`: the data of a line that repeats rows of another. */
  private sealBehind(draft: Draft, head: ChainHead, short?: object): Sealed {
    const { type, data, step, actor, at, mono } = draft;
    const { run, account, def, boot, epoch } = this.options;
    const body = { type, data } as EntryBody;
    const envelope = {
      v: ENTRY_VERSION,
      at,
      mono,
      boot,
      epoch,
      account,
      run,
      def,
      step,
      actor: actor ?? this.options.actor,
    } as const;
    return sealEntry(body, envelope, head, short === undefined ? body : { type: REPEATED, data: short });
  }

  private describeHeld({ type, data, step, at, mono }: Draft): Entry {
    const { run, account, def, boot, epoch, actor } = this.options;
    const { seq, hash: prev } = this.sealed;
    const v = ENTRY_VERSION;
    const next = seq + 1;
    return { v, run, seq: next, at, type, step, prev, mono, boot, epoch, account, def, actor, data, hash: '' } as Entry;
  }

  /**
   * Resolves when everything appended so far is durable (with `durable: false`: at once, unless the run has ended). Once a
   * commit has failed, rejects with its StoreError every time.
   */
  flush(): Promise<void> {
    if (!this.options.durable && !this.hasEnded && this.failed === undefined) return Promise.resolve();
    this.idle.release();
    return this.commitSoon();
  }

  /**
   * The same without what is held back, for a heartbeat: one that is held back says what one on the disk said, so the journal has
   * already that the switch may be armed, and for how long. A crash loses only that it was renewed, and the process that resumes
   * the run takes the switch for older than it is.
   */
  flushWritten(): Promise<void> {
    return this.options.durable || this.failed !== undefined ? this.commitSoon() : Promise.resolve();
  }

  /** The same without rounds that decided nothing new and are younger than `ms`, or than `newMs` where they read something new. */
  flushOlder(ms: number, newMs: number): Promise<void> {
    const now = this.options.clock.now();
    this.idle.release(now - ms, now - newMs);
    return this.commitSoon();
  }

  /**
   * Puts on the disk, beside the journal, all that is held back, where any of it is older than `ms`, or than `newMs` where it read
   * something new, and is not there yet. Where that fails it is written into the journal, which tries a store that is away again.
   */
  keepHeld(ms: number, newMs: number): void {
    const now = this.options.clock.now();
    if (this.keeping !== undefined) return;
    const drafts = this.idle.copy(now - ms, now - newMs);
    if (drafts === undefined) return;
    let head = this.sealed;
    const lines = drafts.map((draft) => {
      const { stored } = this.sealBehind(draft, head);
      head = toHead(stored);
      return stored;
    });
    this.keeping = this.commitSoon()
      .then(() => keepHeldLines(this.store, this.options, lines))
      .catch(() => this.flush())
      .catch(() => {})
      .finally(() => {
        this.keeping = undefined;
      });
    this.hasKept = true;
  }

  /** Writes everything that is buffered. The writer can be used afterwards; the store stays open. */
  async close(): Promise<void> {
    this.idle.release();
    await this.commitSoon();
    if (!this.hasKept) return;
    this.hasKept = false;
    await this.keeping;
    // What is left of a row that cannot be removed follows no line.
    await keepHeldLines(this.store, this.options, []).catch(ignoreStore);
  }

  /** Calls `listener` with every entry appended from now on, in the order of the journal, inside `append`. */
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
  private updateRow(entry: Entry): void {
    const row = updateRow(this.row, entry);
    if (row === this.row) return;
    this.row = row;
    this.rowChanged = true;
    this.hasEnded ||= row?.outcome !== undefined;
  }

  private deliver(entry: Entry): void {
    this.undelivered.push(entry);
    if (this.delivering) return;
    this.delivering = true;
    try {
      for (let next = this.undelivered.shift(); next !== undefined; next = this.undelivered.shift()) {
        for (const listener of this.listeners) listener(next);
      }
    } finally {
      this.delivering = false;
    }
  }

  /**
   * Schedules one commit for all callers until it begins: after `after`, or at the end of the turn without it. Nothing is buffered
   * behind a commit that failed, so it is then the one that all callers get.
   */
  private commitSoon(after?: Promise<void>): Promise<void> {
    if (this.buffer.length === 0) return this.running;
    if (this.due === undefined) {
      const due = after === undefined ? this.commitAtEndOfTurn() : after.then(() => this.commit());
      this.due = due;
      this.running = due;
      // A caller that flushes sees the rejection; a batch without a waiting caller must not end the process.
      due.catch(() => {});
    }
    return this.due;
  }

  /**
   * Commits when the commit before has settled and the microtasks have run, before any timer or socket. So everything that one
   * turn appends shares a commit, and a virtual clock sees the commit within the turn. Uses as few promises as possible: every
   * durable write pays for each of them.
   */
  private commitAtEndOfTurn(): Promise<void> {
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
    const acts = this.acts.length === 0 ? {} : { acts: { account: this.options.acts?.key ?? '', acts: this.acts } };
    this.buffer = [];
    this.acts = [];
    this.rowChanged = false;
    const options = { durable, epoch, ...acts, ...(row === undefined ? {} : { row }) };
    const since = this.options.clock.monotonic();
    try {
      await this.store.append(entries, options);
    } catch (first) {
      try {
        await this.storeAgain(entries, options, first, since);
      } catch (error) {
        this.failed = error instanceof StoreError ? error : new StoreError('unavailable', (error as Error).message);
        this.buffer = [];
        throw this.failed;
      }
    }
    const last = entries.at(-1) as StoredEntry;
    this.stored = { seq: last.seq, hash: last.hash };
    for (const listener of this.durableListeners) listener(this.stored);
  }

  /** Stores entries that the store did not take because it did not answer, or throws. */
  private async storeAgain(
    entries: readonly StoredEntry[],
    options: AppendOptions,
    first: unknown,
    since: number,
  ): Promise<void> {
    const { clock, patienceMs = 0 } = this.options;
    let failure = first;
    try {
      while (failure instanceof StoreAway && clock.monotonic() - since < patienceMs) {
        this.awayFor = failure;
        await new Promise<void>((resolve) => void clock.at(clock.now() + RETRY_MS, resolve));
        try {
          await this.store.append(entries, options);
          return;
        } catch (error) {
          failure = error;
          // Where only the answer was lost, the journal goes on behind these entries.
          if (error instanceof StoreError && error.reason === 'conflict')
            failure = await this.isStored(entries).then(
              (stored) => (stored ? undefined : error),
              (unread: unknown) => unread,
            );
          if (failure === undefined) return;
        }
      }
      throw failure;
    } finally {
      this.awayFor = undefined;
    }
  }

  /** Whether the store has exactly these entries: the hash of the last covers everything before it. */
  private async isStored(entries: readonly StoredEntry[]): Promise<boolean> {
    const last = entries.at(-1) as StoredEntry;
    const [found] = await this.store.read(last.run, { after: last.seq - 1, limit: 1 });
    return found?.hash === last.hash;
  }
}

/** Gives the run's row after `entry`; the same object when the entry does not change it. */
export function updateRow(row: RunRow | undefined, entry: Entry): RunRow | undefined {
  if (entry.type === 'run.started' && row === undefined) {
    const { runbook, mode, account, trigger, startedAt } = entry.data;
    return { run: entry.run, runbook, mode, account, trigger, startedAt };
  }
  if (entry.type === 'run.ended' && row !== undefined)
    return { ...row, endedAt: entry.at, outcome: entry.data.outcome };
  return row;
}
