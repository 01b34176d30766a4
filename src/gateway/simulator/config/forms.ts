/** The forms of single values in a simulator configuration, as parts of its JSON Schema, and what each is called in a message. */
import { DURATION_PATTERN } from '../../../base/duration.ts';
import { makeObject } from '../../../base/schema.ts';

/** A form, with what it means here. */
export function described<F extends object>(form: F, description: string): F & { readonly description: string } {
  return { ...form, description };
}

/** A form, with what it means here and its default. */
export function standard<F extends object, const D>(
  form: F,
  given: D,
  description: string,
): F & { readonly default: D; readonly description: string } {
  return { ...form, default: given, description };
}

export const DECIMAL = {
  type: 'string',
  pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$',
  description: 'a plain decimal, quoted',
} as const;
export const POSITIVE = {
  type: 'string',
  pattern: '^(?=.*[1-9])(0|[1-9][0-9]*)(\\.[0-9]+)?$',
  description: 'a plain decimal above 0, quoted',
} as const;
export const DURATION = { type: 'string', pattern: DURATION_PATTERN, description: 'a duration such as 1m30s' } as const;
/** Which of the requests that match a fault. */
export const CALL = {
  type: ['integer', 'string'],
  minimum: 1,
  pattern: '^[1-9][0-9]*(\\+|-[1-9][0-9]*)?$',
  description: 'which of the requests that match all other conditions: 2, "2+", "2-4"; counted from 1',
} as const;
export const SECRET = { type: 'string', pattern: '^0x([0-9a-fA-F]{2})+$' } as const;

export const FLAG = { type: 'boolean' } as const;
export const TEXT = { type: 'string', minLength: 1 } as const;
export const WHOLE = { type: 'integer' } as const;
export const COUNT = { type: 'integer', minimum: 1 } as const;
/** A number of tokens, or a time in ms. */
export const MS = { type: 'integer', minimum: 0 } as const;
export const STATUS = { type: 'integer', minimum: 200, maximum: 599 } as const;
/** Milliseconds, both ends included. */
export const RANGE = makeObject({ min: MS, max: MS }, ['min', 'max']);

/** What a text must be, by the pattern of its schema. */
const FORMS: Readonly<Record<string, string>> = {
  [DECIMAL.pattern]: 'a decimal, such as "-0.5"',
  [POSITIVE.pattern]: 'a decimal above 0, such as "64000"',
  [DURATION.pattern]: 'a duration, such as 1m30s',
  [CALL.pattern]: 'a number, or a range such as "2+" or "2-4"',
  [SECRET.pattern]: 'bytes in hex, such as "0x1f"',
};

export function describeForm(pattern: string): string {
  return FORMS[pattern] ?? 'in the required form';
}
