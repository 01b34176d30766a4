/**
 * Writes a figure that differs from round to round as a column: its kind, its first value, and the differences that follow, where
 * [difference, n] is n times the same; behind the last of them nothing changes. Kinds: `number`; `start` (a number, counted from the
 * round's first instant); `text` (a whole number written as text); `date` (as HTTP writes it, in seconds); `words` (values in place
 * of differences). A column is written only in a form that gives back each value.
 */
import type { Json } from './entry.ts';

export type Figure = number | string;

export function packColumn(values: readonly Figure[], starts: readonly number[]): Json {
  const forms = values.every((value) => typeof value === 'number') ? packAll(values, starts) : packTexts(values);
  return forms.find((form) => givesBack(form, values, starts)) ?? ['words', ...packRuns(values)];
}

/** The shorter form first; without `starts` there is one alone. */
function packAll(values: readonly number[], starts: readonly number[]): readonly Json[] {
  const plain = ['number', ...packNumbers(values)];
  if (starts.length === 0) return [plain];
  const counted = ['start', ...packNumbers(values.map((value, round) => value - (starts[round] ?? 0)))];
  return JSON.stringify(counted).length < JSON.stringify(plain).length ? [counted, plain] : [plain, counted];
}

function packTexts(values: readonly Figure[]): readonly Json[] {
  return [
    ['text', ...packNumbers(values.map(Number))],
    ['date', ...packNumbers(values.map((value) => Date.parse(String(value)) / 1000))],
  ];
}

/** Whether a reader of the stored form gets the same values: figures beyond 2^53, texts such as `007` and `Invalid Date` do not come back. */
function givesBack(form: Json, values: readonly Figure[], starts: readonly number[]): boolean {
  try {
    const found = unpackColumn(form, starts, values.length);
    return found.every((value, round) => value === values[round]);
  } catch {
    return false;
  }
}

function formatDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString();
}

function packNumbers(values: readonly number[]): readonly Json[] {
  const differences = values.slice(1).map((value, index) => value - (values[index] as number));
  const end = differences.findLastIndex((difference) => difference !== 0) + 1;
  return [values[0] as number, ...packRuns(differences.slice(0, end))];
}

function packRuns(values: readonly Figure[]): readonly Json[] {
  const runs: [Figure, number][] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last?.[0] === value) last[1] += 1;
    else runs.push([value, 1]);
  }
  return runs.map((run) => (run[1] === 1 ? run[0] : run));
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
  if (kind === 'start') return numbers.map((number, round) => number + (starts[round] ?? 0));
  if (kind === 'text') return numbers.map(String);
  if (kind === 'date') return numbers.map(formatDate);
  if (kind === 'number') return numbers;
  throw new RangeError('no such kind of column');
}

/** The same of a column that holds whole numbers alone. */
export function unpackNumbers(
  column: Json | undefined,
  rounds: number,
  starts: readonly number[] = [],
): readonly number[] {
  const values = unpackColumn(column ?? null, starts, rounds);
  if (!values.every((value) => Number.isSafeInteger(value))) throw new RangeError('not whole numbers');
  return values as readonly number[];
}
