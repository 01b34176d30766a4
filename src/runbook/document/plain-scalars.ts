/**
 * What a YAML value without quotes stands for. Readers of YAML and JSON disagree about much that looks like a number or a
 * boolean; what any of them would take for one, and the language does not, is refused by name.
 */
import { parseAuthoredDecimal } from '../../base/decimal.ts';
import type { SyntaxCode } from '../codes/syntax.ts';

export type PlainType = 'text' | 'number' | 'boolean' | 'null';

interface PlainScalar {
  readonly type: PlainType;
  /** Why it may not be written so. */
  readonly fault?: { readonly code: SyntaxCode; readonly message: string };
}

const NULL = /^(?:~|null|Null|NULL|)$/;
const BOOLEAN = /^(?:true|false)$/;
const ODD_BOOLEAN = /^(?:True|TRUE|False|FALSE)$/;
/** Whatever some reader of YAML or JSON would take for a number; what the language takes is `parseAuthoredDecimal`. */
const NUMBER_LIKE =
  /^[-+]?(?:0[xX][\da-fA-F_]+|0[oObB][\d_]+|[\d_]*\d[\d_]*\.?[\d_]*(?:[eE][-+]?\d+)?|\.[\d_]+(?:[eE][-+]?\d+)?|\.inf|\.Inf|\.INF|Infinity)$|^(?:\.nan|\.NaN|\.NAN|NaN)$/;

/** Reads a value. `nulls`: whether null may stand there. */
export function readPlainScalar(text: string, nulls: 'refused' | 'kept'): PlainScalar {
  if (NULL.test(text)) {
    if (nulls === 'kept') return { type: 'null' };
    const message = text === '' ? 'a key without a value' : `the value ${text}`;
    return { type: 'null', fault: { code: 'yaml-null', message } };
  }
  if (BOOLEAN.test(text)) return { type: 'boolean' };
  if (ODD_BOOLEAN.test(text))
    return { type: 'boolean', fault: { code: 'yaml-boolean-form', message: `the boolean ${text}` } };
  if (!NUMBER_LIKE.test(text)) return { type: 'text' };
  if (parseAuthoredDecimal(text) !== undefined) return { type: 'number' };
  const long = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text);
  return {
    type: 'number',
    fault: long
      ? {
          code: 'yaml-number-too-long',
          message: `the number ${shorten(text)} has more than 36 digits, or 18 after the point`,
        }
      : { code: 'yaml-number-form', message: `the number ${shorten(text)} is not written as a plain decimal` },
  };
}

/** Whether a key without quotes reads as something other than a text. */
export function isOddKey(text: string): boolean {
  return [NULL, BOOLEAN, ODD_BOOLEAN, NUMBER_LIKE].some((form) => form.test(text));
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
