/**
 * The form of a row of the function table: parameters, result, description, examples and implementation.
 */
import type { Scope, Value, ValueType } from '../values.ts';

/**
 * What a parameter accepts, besides a plain type: `unit` is a number of any unit, `ordered` a number, duration or time, `any`
 * every value. All `unit` and `ordered` arguments of one call have one type, which is also the type of a result `same`.
 */
export type Shape =
  | ValueType
  | { readonly kind: 'unit' | 'ordered' | 'any' | 'zone' }
  | { readonly kind: 'list_of' | 'map_of'; readonly of: Shape };

export interface Parameter {
  readonly name: string;
  readonly shape: Shape;
  /** Any number of further arguments like this one. */
  readonly rest?: true;
  /** May be left out if the place of the expression has a market: the market of its order. */
  readonly implied?: true;
}

export interface Signature {
  readonly parameters: readonly Parameter[];
  /** `same`: the common type of the `unit` or `ordered` arguments; an integer if argument `wholeAs` is one. */
  readonly result: ValueType | { readonly kind: 'same'; readonly wholeAs?: number } | ComputedType;
}

/** A result whose type depends on those of the arguments. */
export interface ComputedType {
  readonly kind: 'computed';
  /** For the reference. */
  readonly words: string;
  /** Undefined where the arguments do not go together. */
  of(args: readonly ValueType[]): ValueType | undefined;
}

export interface Application {
  readonly scope: Scope;
  /** The expression, for messages. */
  readonly text: string;
  /** Spends fuel of the evaluation, by what is gone through. */
  spend(units: number): void;
}

export interface FunctionRow {
  readonly signatures: readonly Signature[];
  /** `f(x)` may also be written `x.f()`. */
  readonly method?: true;
  /** Units of fuel of a call, besides one for the call and what `apply` spends. */
  readonly cost?: number;
  /** Its value depends on more than its arguments, or is large: never evaluated before the run. */
  readonly late?: true;
  readonly doc: string;
  readonly examples: readonly { readonly expression: string; readonly value: string; readonly given?: string }[];
  apply(args: readonly Value[], application: Application): Value;
}
