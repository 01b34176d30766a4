/** Reads values of options that several commands take; throws a UserError for a wrong one. */
import { UserError } from '../app/errors.ts';
import { makePrintable } from '../base/printable.ts';
import { readTime } from '../runbook/expression/literals.ts';

/** `--port`; 0 takes a free one. */
export function readPortOption(text: string | undefined, whereNone: number): number {
  if (text === undefined) return whereNone;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= 0 && port <= 65_535))
    throw new UserError(`--port takes a port from 0 to 65535, found ${makePrintable(text, 60)}`);
  return port;
}

export function readWholeOption(option: string, text: string): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number))
    throw new UserError(`${option} takes a whole number, found ${makePrintable(text, 100)}`);
  return number;
}

/** `--seed`; 1 where it is not given. */
export function readSeedOption(text: string | undefined): number {
  if (text === undefined) return 1;
  const seed = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(seed))
    throw new UserError(`--seed takes a whole number, found ${makePrintable(text, 100)}`);
  return seed;
}

/** Gives milliseconds since 1970. */
export function readTimeOption(option: string, text: string): number {
  const time = readTime(text);
  if ('value' in time) return time.value.ms;
  throw new UserError(
    `${option} takes a time in ISO 8601 with its offset, such as 2026-01-05T08:00:00Z; found ${makePrintable(text, 100)}`,
  );
}

/** A file for a drawing: its ending says which form is written. */
export function readDrawingOption(option: string, path: string): 'svg' | 'html' {
  const form = /\.(svg|html)$/i.exec(path)?.[1]?.toLowerCase();
  if (form === 'svg' || form === 'html') return form;
  throw new UserError(`${option} takes a file that ends in .svg or .html, found ${makePrintable(path, 300)}`);
}
