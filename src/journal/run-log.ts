/**
 * A run's journal as the engine and the gateway write it: an entry is sealed, then taken in by the limits' facts and by the
 * order book, in that order, before `append` returns. What the book concludes is appended right behind its cause.
 */
import type { DataOf, Entry, EntryType } from './entry.ts';
import type { OrderTracker } from './orders.ts';
import type { JournalWriter } from './writer.ts';

export class RunLog {
  readonly tracker: OrderTracker;
  private readonly writer: JournalWriter;
  private readonly observers: readonly ((entry: Entry) => void)[];

  /** `observers` are told before the book, whose listeners write entries of their own. */
  constructor(writer: JournalWriter, tracker: OrderTracker, observers: readonly ((entry: Entry) => void)[]) {
    this.writer = writer;
    this.tracker = tracker;
    this.observers = observers;
  }

  readonly append = <T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): void => {
    this.tracker.apply(this.sealed(type, data, step, actor));
  };

  /** Writes what the book has taken in before it could be sealed: behind the end of a record, as a run is taken up again. */
  readonly keep = <T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): void => {
    this.sealed(type, data, step, actor);
  };

  flush(): Promise<void> {
    return this.writer.flush();
  }

  private sealed<T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): Entry {
    const entry = this.writer.append(type, data, step, actor) as unknown as Entry;
    for (const observe of this.observers) observe(entry);
    return entry;
  }
}
