/** Reads values of options that several commands take; throws a UserError for a wrong one. */
import { UserError } from '../app/errors.ts';
import { makePrintable } from '../base/printable.ts';

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
