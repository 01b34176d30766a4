/**
 * Exact decimals. A price, size, balance or fee is a string in every message, record and journal entry, and a `Decimal` only
 * inside a function. Only `wholeNumber` turns a decimal into a JavaScript number, and it refuses every fraction.
 */
import { Decimal as DecimalJs } from 'decimal.js';

/** A plain decimal literal: optional minus, digits, optional point and digits; no exponent, no plus, no blanks. */
export type DecimalString = string;

/**
 * decimal.js at 60 significant digits, so that a 36-digit venue balance times a 20-digit price stays exact.
 * A class of our own: settings on the shared default class would leak into, and from, other users of the library.
 */
export const Decimal = DecimalJs.clone({
  precision: 60,
  rounding: DecimalJs.ROUND_HALF_EVEN,
  toExpNeg: -9e15,
  toExpPos: 9e15,
  defaults: true,
});
export type Decimal = DecimalJs;

const PLAIN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/**
 * Reads a plain decimal literal of any length up to `maxDigits` digits.
 * Returns undefined for everything else, also for what decimal.js itself would accept (`0x1F`, `1e9`, `Infinity`, `1_000`).
 */
export function parseDecimal(text: string, maxDigits = 400): Decimal | undefined {
  return isDecimalText(text, maxDigits) ? new Decimal(text) : undefined;
}

/** Whether `parseDecimal` reads the text: for callers that do not need the value. */
export function isDecimalText(text: string, maxDigits = 400): boolean {
  return text.length <= maxDigits + 2 && PLAIN.test(text);
}

/** The most digits of a decimal of an author or a venue, and the most of them that an author writes after the point. */
export const MOST_DIGITS = 36;
const MOST_PLACES = 18;

/** A decimal that an author writes (interface.md, Settled points). */
export function parseAuthoredDecimal(text: string): Decimal | undefined {
  const value = parseDecimal(text);
  if (value === undefined) return undefined;
  const [, fraction = ''] = text.split('.');
  return fraction.length <= MOST_PLACES && countDigits(text) <= MOST_DIGITS ? value : undefined;
}

/** The digits of a plain decimal literal, without the zero before the point: those of a quotient are as many as are computed. */
export function countDigits(text: DecimalString): number {
  return text.replace(/^-?(?:0\.)?|\./g, '').length;
}

/** The finest step that an author can write. */
export const FINEST_STEP = new Decimal(10).pow(-MOST_PLACES);

/** Reads a decimal that this program wrote or has already checked. Throws a RangeError for anything else: an internal error. */
export function decimal(text: DecimalString | number | Decimal): Decimal {
  if (typeof text === 'string') {
    const value = parseDecimal(text);
    if (value === undefined) throw new RangeError(`not a plain decimal: ${JSON.stringify(text.slice(0, 60))}`);
    return value;
  }
  if (typeof text === 'number' && !Number.isSafeInteger(text)) throw new RangeError(`not a whole number: ${text}`);
  return new Decimal(text);
}

/** Writes a decimal as its plain literal: never an exponent, never `-0`. Throws a RangeError for what is not finite. */
export function formatDecimal(value: Decimal): DecimalString {
  if (!value.isFinite()) throw new RangeError(`not a finite decimal: ${value.toString()}`);
  return value.isZero() ? '0' : value.toFixed();
}

/** Rounds to a multiple of `step` (> 0): to the nearest (half away from zero), down, or up. */
export function roundToStep(value: Decimal, step: Decimal, mode: 'nearest' | 'down' | 'up'): Decimal {
  const rounding = {
    nearest: DecimalJs.ROUND_HALF_UP,
    down: DecimalJs.ROUND_FLOOR,
    up: DecimalJs.ROUND_CEIL,
  }[mode];
  return value
    .div(step)
    .toDecimalPlaces(0, rounding as 0)
    .times(step);
}

/** A whole decimal as a bound or an index, where beyond ±`Number.MAX_SAFE_INTEGER` nothing differs. Throws a RangeError for a fraction. */
export function toCount(value: Decimal): number {
  const most = Number.MAX_SAFE_INTEGER;
  return toWholeNumber(Decimal.max(-most, Decimal.min(value, most)));
}

/** A whole decimal as an integer: counts, leverage, page sizes. Throws a RangeError for a fraction or an unsafe integer. */
export function toWholeNumber(value: Decimal): number {
  const number = Number(value.toFixed());
  if (!Number.isSafeInteger(number)) throw new RangeError(`not a whole number: ${value.toFixed()}`);
  return number;
}

/** The nearest multiple of a step; never zero, which is neither a price nor a size. */
export function roundToNearest(value: Decimal, step: Decimal): DecimalString {
  const rounded = roundToStep(value, step, 'nearest');
  return formatDecimal(rounded.isZero() ? step : rounded);
}
