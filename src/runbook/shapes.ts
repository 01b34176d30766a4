/**
 * The vocabulary of the grammar: the shapes of values, as data. The step table and the keys of a file are written in it; the
 * JSON Schema, the shape check of a document, the reference and the expected types of expressions are derived from it.
 */
import { SIDES } from '../venue/records.ts';
import type { CheckCode } from './codes/codes.ts';
import type { ValueType } from './values.ts';

export type Shape =
  /** A literal or an expression of a type; for a text, a literal with `${…}` (language.md, decision 3). */
  | { readonly kind: 'value'; readonly type: ValueType | 'any'; readonly spelling: string }
  /** One of a closed set of words, never an expression. */
  | { readonly kind: 'word'; readonly values: readonly string[] }
  /** A plain text, never an expression. */
  | { readonly kind: 'text'; readonly pattern?: string; readonly accepts?: string }
  /** A name for expressions: letters, digits and underscores. */
  | { readonly kind: 'name' }
  | { readonly kind: 'integer'; readonly min: number; readonly max?: number }
  | { readonly kind: 'number'; readonly min: number }
  | { readonly kind: 'flag'; readonly only?: true; readonly code?: CheckCode }
  | { readonly kind: 'duration' }
  | { readonly kind: 'time' }
  /** A type word of `inputs`, `feeds` and `vars`. */
  | { readonly kind: 'type' }
  /** A literal whose type is declared elsewhere in the file: an input's default, a schedule's input. */
  | { readonly kind: 'literal' }
  | { readonly kind: 'steps' }
  | { readonly kind: 'step' }
  | { readonly kind: 'list'; readonly of: Shape }
  /** A map whose keys are names that the author chooses. `free`: expressions do not use them, so dashes are allowed. */
  | { readonly kind: 'names'; readonly of: Shape; readonly free?: true }
  | FieldsShape
  /** Fields that depend on the word in one of them: `place` by its `type`. */
  | { readonly kind: 'variants'; readonly by: string; readonly variants: Readonly<Record<string, FieldsShape>> }
  /** One of several forms, by what is written: a plain value, a list, or a map that has the key `by`. */
  | {
      readonly kind: 'choice';
      readonly scalar?: Shape;
      readonly list?: Shape;
      readonly maps?: readonly { readonly by: string; readonly shape: Shape }[];
      /** The shape of a map that has none of these keys; absent: it is refused. */
      readonly otherwise?: Shape;
      /** One line for messages: `an order, {mine: MARKET} or {ids: LIST}`. */
      readonly accepts: string;
    };

export interface FieldsShape {
  readonly kind: 'fields';
  readonly fields: Fields;
  /** At least one of each group must be there. */
  readonly atLeastOne?: readonly (readonly string[])[];
  /** At most one of each group may be there. */
  readonly atMostOne?: readonly (readonly string[])[];
  /** A key, to the key that it requires beside it. */
  readonly together?: Readonly<Record<string, string>>;
  /** Where no key is required: what an author would write. */
  readonly examples?: readonly string[];
  /** Codes of their own for missing keys: by key, or for `atLeastOne`. */
  readonly codes?: Readonly<Record<string, CheckCode>>;
}
export type Fields = Readonly<Record<string, Field>>;

export interface Field {
  readonly shape: Shape;
  readonly required: boolean;
  readonly doc: string;
  /** As an author would write it. */
  readonly default?: string;
}

export function need(shape: Shape, doc: string): Field {
  return { shape, required: true, doc };
}
export function may(shape: Shape, doc: string, byDefault?: string): Field {
  return { shape, required: false, doc, ...(byDefault === undefined ? {} : { default: byDefault }) };
}
export function fields(all: Fields, rules: Omit<FieldsShape, 'kind' | 'fields'> = {}): FieldsShape {
  return { kind: 'fields', fields: all, ...rules };
}
/** One of the maps of a choice, by the key that it has. */
export function form(by: string, all: Fields): { readonly by: string; readonly shape: Shape } {
  return { by, shape: fields(all) };
}
export function list(of: Shape): Shape {
  return { kind: 'list', of };
}
export function word(...values: readonly string[]): Shape {
  return { kind: 'word', values };
}
export function value(type: ValueType | 'any', spelling: string): Shape {
  return { kind: 'value', type, spelling };
}

export const MARKET_TYPE: ValueType = { kind: 'text', market: true };
export const MARKET = value(MARKET_TYPE, 'market');
export const SIDE = value({ kind: 'text', of: SIDES }, 'side');
export const PRICE = value({ kind: 'decimal', unit: 'price' }, 'price');
export const SIZE = value({ kind: 'decimal', unit: 'size' }, 'size');
export const MONEY = value({ kind: 'decimal', unit: 'money' }, 'money');
export const NUMBER = value({ kind: 'decimal', unit: 'number' }, 'number');
export const INTEGER = value({ kind: 'decimal', unit: 'number', integer: true }, 'integer');
export const DURATION = value({ kind: 'duration' }, 'duration');
export const TIME = value({ kind: 'time' }, 'time');
export const CONDITION = value({ kind: 'boolean' }, 'condition');
export const TEXT = value({ kind: 'text' }, 'text');
export const ANYTHING = value('any', 'any value');
export const STEPS_SHAPE: Shape = { kind: 'steps' };
export const NAME_SHAPE: Shape = { kind: 'name' };
export const PLAIN_TEXT: Shape = { kind: 'text' };

/** A name that expressions can use. */
export const NAME_PATTERN = '^[A-Za-z_][A-Za-z0-9_]*$';
/** A name outside of expressions: of a runbook, a branch, a channel. */
export const FREE_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_.-]*$';
