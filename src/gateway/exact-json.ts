/**
 * JSON whose numbers stay what was written: read as literals, written back to the digit. For recordings and for whatever
 * else must repeat an answer exactly; it never turns a fraction into a JavaScript number.
 */
import { isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json';

/** A value read by `parseExactJson`: every number is a literal. */
export type ExactJson =
  | null
  | boolean
  | string
  | LosslessNumber
  | readonly ExactJson[]
  | { readonly [key: string]: ExactJson };

export type ExactReading = { readonly value: ExactJson; readonly problem?: undefined } | { readonly problem: string };

/** Reads one JSON document. Never throws: also a text that is nested too deeply to be read is a problem. */
export function parseExactJson(text: string): ExactReading {
  try {
    return { value: parse(text) as ExactJson };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? error.message : 'nested too deeply' };
  }
}

/** Writes a value of `parseExactJson` on one line, numbers to the digit. */
export function exactJsonText(value: unknown): string {
  const text = stringify(value);
  if (text === undefined) throw new TypeError(`not JSON: ${typeof value}`);
  return text;
}

export function exactNumber(literal: string): LosslessNumber {
  return new LosslessNumber(literal);
}

/**
 * The literal of a number: what was written, for one that was read exactly; for a JavaScript number its shortest text as
 * long as that is certainly what was written (at most 15 digits, no exponent). `inexact` for other numbers, undefined for
 * what is no number.
 */
export function numberLiteral(value: unknown): string | 'inexact' | undefined {
  if (isLosslessNumber(value)) return value.value;
  if (typeof value !== 'number') return undefined;
  const text = String(value);
  return /^-?\d+(?:\.\d+)?$/.test(text) && text.replace(/\D/g, '').length <= 15 ? text : safeInteger(value);
}

function safeInteger(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : 'inexact';
}
