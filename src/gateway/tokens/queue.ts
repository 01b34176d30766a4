/**
 * Queues requests that wait for tokens, and picks the next one: strict classes, first in first out within a class; requests of the
 * two lowest classes rise as they wait.
 */
import { PassingMap } from '../../base/passing-map.ts';
import { CALL_CLASSES, type CallClass } from '../../venue/port.ts';

export interface Waiting {
  readonly class: CallClass;
  readonly weight: number;
  /** Milliseconds on the queue's clock. */
  readonly since: number;
}

/** Ageing lifts the two lowest classes at most to order entry, never above a cancel. */
const HIGHEST_AGED_RANK = CALL_CLASSES.indexOf('enter');

export class BudgetQueue<W extends Waiting> {
  readonly limit: number;
  /** A request of the two lowest classes counts one class higher for each period of this length that it has waited, ms. */
  private readonly ageMs: number;
  private readonly lines: readonly Line<W>[] = CALL_CLASSES.map(() => new Line<W>());

  constructor(limit: number, ageMs: number) {
    this.limit = limit;
    this.ageMs = ageMs;
  }

  get size(): number {
    return this.lines.reduce((size, line) => size + line.size, 0);
  }

  get isEmpty(): boolean {
    return this.lines.every((line) => line.size === 0);
  }

  add(entry: W): void {
    this.findLine(entry).add(entry);
  }

  remove(entry: W): void {
    this.findLine(entry).remove(entry);
  }

  /** Puts an entry back that was removed too early; it is the first of its class again. */
  putBack(entry: W): void {
    this.findLine(entry).putBack(entry);
  }

  has(entry: W): boolean {
    return this.findLine(entry).has(entry);
  }

  /** Picks the next entry whose weight is below `lighterThan` for it. */
  next(now: number, lighterThan: (entry: W) => number): W | undefined {
    let best: W | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    const suits = (each: W) => each.weight < lighterThan(each);
    for (let rank = 0; rank < this.lines.length; rank += 1) {
      const entry = (this.lines[rank] as Line<W>).first(suits);
      if (entry === undefined) continue;
      const aged = this.ageRank(rank, now - entry.since);
      if (aged < bestRank || (aged === bestRank && entry.since < (best as W).since)) {
        best = entry;
        bestRank = aged;
      }
    }
    return best;
  }

  /** Picks the entry to refuse for a request of class `cls` when the queue is full: the newest of the lowest class below it. */
  lowestBelow(cls: CallClass): W | undefined {
    for (let rank = this.lines.length - 1; rank > CALL_CLASSES.indexOf(cls); rank -= 1) {
      const last = (this.lines[rank] as Line<W>).last();
      if (last !== undefined) return last;
    }
    return undefined;
  }

  /** Sums the tokens of the entries that come before a new request of class `cls`. */
  tokensAhead(cls: CallClass): number {
    return this.lines.slice(0, CALL_CLASSES.indexOf(cls) + 1).reduce((sum, line) => sum + line.tokens, 0);
  }

  /** Lists the entries of the class in their order; a copy. */
  inClass(cls: CallClass): readonly W[] {
    return (this.lines[CALL_CLASSES.indexOf(cls)] as Line<W>).entries();
  }

  private ageRank(rank: number, waitedMs: number): number {
    return rank <= HIGHEST_AGED_RANK ? rank : Math.max(HIGHEST_AGED_RANK, rank - Math.floor(waitedMs / this.ageMs));
  }

  private findLine(entry: W): Line<W> {
    return this.lines[CALL_CLASSES.indexOf(entry.class)] as Line<W>;
  }
}

/** First in, first out, with removal anywhere: removed entries leave gaps, which are closed at both ends. */
class Line<W extends Waiting> {
  tokens = 0;
  private places: (W | undefined)[] = [];
  private from = 0;
  private readonly placeOf = new PassingMap<W, number>();
  /** Number of places cut off at the front. */
  private cut = 0;

  get size(): number {
    return this.placeOf.size;
  }

  add(entry: W): void {
    this.placeOf.set(entry, this.cut + this.places.length);
    this.places.push(entry);
    this.tokens += entry.weight;
  }

  putBack(entry: W): void {
    if (this.from > 0) this.from -= 1;
    else {
      this.places.unshift(undefined);
      this.cut -= 1;
    }
    this.places[this.from] = entry;
    this.placeOf.set(entry, this.cut + this.from);
    this.tokens += entry.weight;
  }

  remove(entry: W): void {
    const place = this.placeOf.get(entry);
    if (place === undefined) return;
    this.placeOf.delete(entry);
    this.places[place - this.cut] = undefined;
    this.tokens -= entry.weight;
    while (this.from < this.places.length && this.places[this.from] === undefined) this.from += 1;
    while (this.places.length > this.from && this.places.at(-1) === undefined) this.places.pop();
    if (this.from <= 256 || this.from * 2 < this.places.length) return;
    this.places = this.places.slice(this.from);
    this.cut += this.from;
    this.from = 0;
  }

  has(entry: W): boolean {
    return this.placeOf.has(entry);
  }

  first(suits: (entry: W) => boolean): W | undefined {
    for (let index = this.from; index < this.places.length; index += 1) {
      const entry = this.places[index];
      if (entry !== undefined && suits(entry)) return entry;
    }
    return undefined;
  }

  last(): W | undefined {
    return this.places.at(-1);
  }

  entries(): W[] {
    return [...this.placeOf].map(([entry]) => entry);
  }
}
