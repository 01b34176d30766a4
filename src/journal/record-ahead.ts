/**
 * A run that is read while it is executed again, by a replay or a resume: of its lines those of the next turns are in memory, however
 * long it is.
 */
import { settle } from '../base/clock.ts';
import { LineReader } from './chain.ts';
import type { Entry } from './entry.ts';
import { RECOVERY } from './reading.ts';
import type { PassedRounds, RecordPart } from './rounds/passed-rounds.ts';
import { expandEntry } from './rounds/round-line.ts';
import type { StoredEntry } from './store.ts';

/** The lines that were read are at their end, and the run is not. */
export class ReadTooLittle extends Error {}

/**
 * As far as the engine wrote the run. To be iterated once; it throws StoreError `damaged` at an unreadable line, and ReadTooLittle where
 * more is taken than was read.
 */
export class RecordAhead implements Iterable<Entry | PassedRounds> {
  private readonly source: AsyncIterator<readonly RecordPart[], unknown>;
  private readonly ahead: number;
  private readonly visit: (entry: Entry) => void;
  private parts: readonly RecordPart[] = [];
  private taken = 0;
  private isWhole = false;
  private hasPassed = false;
  private newest: StoredEntry | undefined;

  /**
   * `ahead`: how many lines at least are in memory after `readOn`. `visit` is given the entry of each line when it is taken, rounds that
   * changed nothing as the one entry they are.
   */
  constructor(source: AsyncIterable<readonly RecordPart[]>, ahead: number, visit: (entry: Entry) => void = () => {}) {
    this.source = source[Symbol.asyncIterator]();
    this.ahead = ahead;
    this.visit = visit;
  }

  /** Whether rounds were left out so far. */
  get isShort(): boolean {
    return this.hasPassed;
  }

  /** The line that was taken last. */
  get last(): StoredEntry | undefined {
    return this.newest;
  }

  /** Reads on: to be awaited before the first entry is taken, and between turns. Undefined where enough was read. */
  readOn(): Promise<void> | undefined {
    return this.isWhole || this.parts.length - this.taken >= this.ahead ? undefined : this.read();
  }

  private async read(): Promise<void> {
    while (!this.isWhole && this.parts.length - this.taken < this.ahead) {
      const next = await this.source.next();
      this.isWhole = next.done === true;
      if (next.done === true) break;
      this.parts = [...this.parts.slice(this.taken), ...next.value];
      this.taken = 0;
      await settle();
    }
  }

  *[Symbol.iterator](): Generator<Entry | PassedRounds> {
    const reader = new LineReader();
    for (;;) {
      const part = this.parts[this.taken];
      if (part === undefined && !this.isWhole) throw new ReadTooLittle('more is taken of a record than was read');
      if (part === undefined) return;
      this.taken += 1;
      if (part.type === 'rounds.passed') {
        this.hasPassed = true;
        yield part;
        continue;
      }
      this.newest = part.stored;
      const entry = reader.read(part.stored);
      this.visit(entry);
      if (entry.type === 'run.ended' && entry.actor === RECOVERY) return;
      if (entry.type !== 'round.idle') {
        yield entry;
        continue;
      }
      let place = 0;
      for (const each of expandEntry(entry)) {
        if (place >= part.from) yield each;
        place += 1;
      }
    }
  }
}
