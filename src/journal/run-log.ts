/**
 * Writes the journal of a run for the engine and the gateway. Before `append` returns, the sealed entry has gone to the
 * observers (the facts of the limits) and then to the order tracker, whose conclusions follow directly behind their cause.
 */
import type { DataOf, Entry, EntryType } from './entry.ts';
import type { OrderTracker } from './orders.ts';
import type { JournalWriter } from './writer.ts';

export type FlushOf = 'all' | 'written';

export class RunLog {
  readonly tracker: OrderTracker;
  private readonly writer: JournalWriter;
  private readonly observers: readonly ((entry: Entry) => void)[];

  /** `observers` get each entry before the tracker, whose listeners write entries of their own. */
  constructor(writer: JournalWriter, tracker: OrderTracker, observers: readonly ((entry: Entry) => void)[]) {
    this.writer = writer;
    this.tracker = tracker;
    this.observers = observers;
  }

  readonly append = <T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): void => {
    this.tracker.apply(this.seal(type, data, step, actor));
  };

  /** Writes an entry that the tracker has applied already: on resume, conclusions that the recorded journal lacks. */
  readonly keep = <T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): void => {
    this.seal(type, data, step, actor);
  };

  /** Resolves when everything appended is durable; `written`: without what says what the entries before it said. */
  readonly flush = (of: FlushOf = 'all'): Promise<void> =>
    of === 'written' ? this.writer.flushWritten() : this.writer.flush();

  /** Why nothing is stored any more; undefined while it is. */
  readonly findFailure = (): string | undefined => this.writer.failure?.message;

  private seal<T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): Entry {
    const entry = this.writer.append(type, data, step, actor) as unknown as Entry;
    for (const observe of this.observers) observe(entry);
    return entry;
  }
}
