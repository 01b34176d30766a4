/**
 * Writes a figure that differs from round to round as a column: its kind, its first value, and the differences that follow, where
 * [difference, n] is n times the same; behind the last of them nothing changes. Kinds: `number`; `start` (a number, counted from the
 * round's first instant); `text` (a whole number written as text); `date` (as HTTP writes it, in seconds); `words` (values in place
 * of differences). A column is written only in a form that gives back each value: whole numbers up to 2^53 do, a text with a
 * fraction stays a text.
 */
import type { Json } from '../entry.ts';

export type Figure = number | string;

/** How a column writes a figure as a whole number. `start` is the first instant of the round. */
type NumberKind = 'number' | 'start' | 'text' | 'date';

function toNumber(kind: NumberKind, value: Figure, start: number): number {
  if (kind === 'date') return Date.parse(String(value)) / 1000;
  return kind === 'start' ? Number(value) - start : Number(value);
}

function toFigure(kind: NumberKind, number: number, start: number): Figure {
  if (kind === 'date') return new Date(number * 1000).toUTCString();
  if (kind === 'text') return String(number);
  return kind === 'start' ? number + start : number;
}

/**
 * Values one after another, those that follow each other and are the same as one with their number; in two flat lists, because many are
 * held for long. The lists of a column that was written are used again for the next line: they live long enough to be moved to the
 * old space, where they would pile up until it is collected.
 */
class Runs {
  private readonly values: Figure[] = [];
  private readonly times: number[] = [];
  private count = 0;

  clear(): void {
    this.count = 0;
  }

  add(value: Figure, times = 1): void {
    const last = this.count - 1;
    if (last >= 0 && this.values[last] === value) {
      this.times[last] = (this.times[last] as number) + times;
      return;
    }
    this.values[this.count] = value;
    this.times[this.count] = times;
    this.count += 1;
  }

  /** `end`: a value that may be left out at the end. */
  write(end?: Figure): readonly Json[] {
    const { count: all } = this;
    const count = all > 0 && this.values[all - 1] === end ? all - 1 : all;
    return this.values
      .slice(0, count)
      .map((value, run) => (this.times[run] === 1 ? value : [value, this.times[run] as number]));
  }
}

/** A column in a form of whole numbers, as long as that gives back each value. */
class Numbers {
  readonly kind: NumberKind;
  private readonly differences = new Runs();
  private first: number | undefined;
  private last = 0;
  private newest: Figure | undefined;

  constructor(kind: NumberKind) {
    this.kind = kind;
  }

  clear(): this {
    this.differences.clear();
    this.first = undefined;
    this.last = 0;
    this.newest = undefined;
    return this;
  }

  /**
   * False, and not taken, where a reader would not get the same value: figures beyond 2^53, texts such as `007` and `Invalid Date`
   * do not come back.
   */
  add(value: Figure, start: number): boolean {
    const { kind, last } = this;
    const isAgain = value === this.newest && kind !== 'start';
    const difference = isAgain ? 0 : toNumber(kind, value, start) - last;
    if (!isAgain) {
      const number = last + difference;
      if (!Number.isSafeInteger(number) || toFigure(kind, number, start) !== value) return false;
      this.last = number;
      this.newest = value;
    }
    if (this.first === undefined) this.first = this.last;
    else this.differences.add(difference);
    return true;
  }

  /** Takes the value before once more, so many times. */
  addAgain(times: number): void {
    this.differences.add(0, times);
  }

  /** Behind the last difference nothing changes. */
  write(): readonly Json[] {
    return [this.kind, this.first as number, ...this.differences.write(0)];
  }
}

/** A column that is being written, value by value: it holds no more than what will be written. All values are of one type. */
export class FigureColumn {
  /** Also counted from the first instant of the round; undefined where that is not asked, or does not give back a value. */
  private counted: Numbers | undefined;
  /** Undefined before the first value, and where it does not give back one. */
  private plain: Numbers | undefined;
  /** Each value, where `plain` does not give them back. */
  private words: Runs | undefined;
  private length = 0;
  /** A text that was added last, and how many more times than are written above: most texts are the same in every round. */
  private last: string | undefined;
  private again = 0;
  /** What the values of the line before were held in. */
  private readonly used: { readonly counted: Numbers | undefined; plain?: Numbers; words?: Runs };

  /** `isCounted`: for a column beside that of the rounds' first instants. */
  constructor(isCounted: boolean) {
    this.counted = isCounted ? new Numbers('start') : undefined;
    this.used = { counted: this.counted };
  }

  /** Makes it the empty column that it was. */
  clear(): void {
    const { used, plain, words } = this;
    if (plain !== undefined) used.plain = plain;
    if (words !== undefined) used.words = words;
    this.counted = used.counted?.clear();
    this.plain = undefined;
    this.words = undefined;
    this.length = 0;
    this.last = undefined;
    this.again = 0;
  }

  add(value: Figure, start = 0): void {
    if (value === this.last) {
      this.again += 1;
      return;
    }
    this.takeAgain();
    if (typeof value === 'string') {
      this.counted = undefined;
      this.last = value;
    }
    if (this.counted?.add(value, start) === false) this.counted = undefined;
    if (this.words !== undefined) this.words.add(value);
    else if (!this.addPlain(value)) {
      this.words = this.used.words ?? new Runs();
      this.words.clear();
      const before = this.plain === undefined ? [] : unpackColumn(this.plain.write() as Json, [], this.length);
      for (const each of before) this.words.add(each);
      this.words.add(value);
      this.plain = undefined;
    }
    this.length += 1;
  }

  private takeAgain(): void {
    const { again } = this;
    if (again === 0) return;
    this.again = 0;
    this.length += again;
    if (this.words !== undefined) this.words.add(this.last as string, again);
    else this.plain?.addAgain(again);
  }

  private addPlain(value: Figure): boolean {
    if (this.length > 0) return this.plain?.add(value, 0) === true;
    const kinds: readonly NumberKind[] = typeof value === 'number' ? ['number'] : ['text', 'date'];
    this.plain = kinds.map((kind) => this.makeNumbers(kind)).find((numbers) => numbers.add(value, 0));
    return this.plain !== undefined;
  }

  private makeNumbers(kind: NumberKind): Numbers {
    const { plain } = this.used;
    return plain?.kind === kind ? plain.clear() : new Numbers(kind);
  }

  /** The shorter form, where there are two; a column without values is an empty list. */
  write(): Json {
    this.takeAgain();
    if (this.length === 0) return [];
    const counted = this.counted?.write();
    const plain = this.plain?.write();
    if (counted === undefined) return plain ?? ['words', ...(this.words?.write() ?? [])];
    if (plain === undefined) return counted;
    return JSON.stringify(counted).length < JSON.stringify(plain).length ? counted : plain;
  }
}

/** The values of a column in each round. Throws where it is not one. */
export function unpackColumn(column: Json, starts: readonly number[], rounds: number): readonly Figure[] {
  const [kind, ...packed] = column as readonly Json[];
  const values: Json[] = [];
  for (const item of packed) {
    const [value, times] = Array.isArray(item) ? (item as readonly Json[]) : [item, 1];
    if (!Number.isSafeInteger(times) || (times as number) < 1 || (times as number) > rounds - values.length)
      throw new RangeError('more values than rounds');
    for (let n = 0; n < (times as number); n += 1) values.push(value as Json);
  }
  if (kind === 'words') {
    if (values.length !== rounds || values.some((value) => typeof value !== 'string' && !Number.isSafeInteger(value)))
      throw new RangeError('no words');
    return values as readonly Figure[];
  }
  const numbers: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const number = (numbers[round - 1] ?? 0) + ((values[round] ?? 0) as number);
    if (!Number.isSafeInteger(number)) throw new RangeError('not a whole number');
    numbers.push(number);
  }
  if (kind !== 'start' && kind !== 'text' && kind !== 'date' && kind !== 'number')
    throw new RangeError('no such kind of column');
  return numbers.map((number, round) => toFigure(kind, number, starts[round] ?? 0));
}

/** The same of a column that holds whole numbers alone. */
export function unpackNumbers(column: Json | undefined, rounds: number): readonly number[] {
  const values = unpackColumn(column ?? null, [], rounds);
  if (!values.every((value) => Number.isSafeInteger(value))) throw new RangeError('not whole numbers');
  return values as readonly number[];
}
