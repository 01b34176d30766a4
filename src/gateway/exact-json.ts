/**
 * JSON whose numbers stay what was written: read as literals, written back to the digit. For recordings and for whatever
 * else must repeat an answer exactly; it never turns a fraction into a JavaScript number.
 */
import { isLosslessNumber, LosslessNumber, stringify } from 'lossless-json';
import { type JsonLimits, type JsonReading, readJson } from '../venue/wire/request.ts';

/** A recording holds many answers: more than one answer may, in size and in depth. */
const RECORDING_LIMITS: JsonLimits = { maxLength: 256 * 1024 * 1024, maxDepth: 80, maxValues: 20_000_000 };

/** Reads one JSON document of a recording; every number is a literal. Never throws. */
export function parseExactJson(text: string): JsonReading {
  return readJson(text, RECORDING_LIMITS);
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
