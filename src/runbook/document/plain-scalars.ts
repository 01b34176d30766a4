/**
 * Reads a YAML value without quotes as a text, number, boolean or null. Readers of YAML and JSON disagree about many values
 * that look like a number or a boolean; a value that only some of them read so is refused with a code of its own.
 */
import { Decimal, parseAuthoredDecimal } from '../../base/decimal.ts';
import { shorten } from '../../base/printable.ts';
import type { SyntaxCode } from '../codes/syntax.ts';

export type PlainType = 'text' | 'number' | 'boolean' | 'null';

interface PlainScalar {
  readonly type: PlainType;
  /** Why this spelling is refused. */
  readonly fault?: { readonly code: SyntaxCode; readonly message: string; readonly hint?: string };
}

const NULL = /^(?:~|null|Null|NULL|)$/;
const BOOLEAN = /^(?:true|false)$/;
const ODD_BOOLEAN = /^(?:True|TRUE|False|FALSE)$/;
/** Everything that some reader of YAML or JSON reads as a number; the language accepts only what `parseAuthoredDecimal` does. */
const NUMBER_LIKE =
  /^[-+]?(?:0[xX][\da-fA-F_]+|0[oObB][\d_]+|[\d_]*\d[\d_]*\.?[\d_]*(?:[eE][-+]?\d+)?|\.[\d_]+(?:[eE][-+]?\d+)?|\.inf|\.Inf|\.INF|Infinity)$|^(?:\.nan|\.NaN|\.NAN|NaN)$/;

/** Reads a value. `nulls`: whether null is allowed there. */
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
          message: `the number ${shorten(text, 40)} has more than 36 digits, or 18 after the point`,
        }
      : {
          code: 'yaml-number-form',
          message: `the number ${shorten(text, 40)} is not written as a plain decimal`,
          ...suggestNumber(text),
        },
  };
}

/** Underscores and an exponent have one meaning; `0x10` and `010` are not guessed. */
function suggestNumber(text: string): { readonly hint?: string } {
  const spelling = text.replaceAll('_', '').replace(/^\+/, '');
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,2})?$/.test(spelling)) return {};
  const plain = new Decimal(spelling).toFixed();
  return parseAuthoredDecimal(plain) === undefined ? {} : { hint: `Write ${plain}, or quote it if it is a text.` };
}

/** Whether a key without quotes can be read as something other than a text. */
export function isOddKey(text: string): boolean {
  return [NULL, BOOLEAN, ODD_BOOLEAN, NUMBER_LIKE].some((form) => form.test(text));
}
