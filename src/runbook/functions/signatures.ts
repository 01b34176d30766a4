/**
 * Matches calls with the function table: finds the signature that the checked arguments fit, binds its type variables, and
 * builds the term of the call.
 */

import { formatList } from '../../base/format.ts';
import type { Expr, Scope, ValueType } from '../values.ts';
import { type Run, spend } from './evaluation.ts';
import type { Application, FunctionRow, Parameter, Shape, Signature } from './function-row.ts';
import { adaptUnit, fitTerm, isTypeMismatch, type Term, type TypeMismatch, unifyTerms } from './term.ts';
import { findUnit, formatType, INTEGER, NUMBER } from './typing.ts';

/** Arguments fitted to a signature. */
export interface Match {
  readonly signature: Signature;
  readonly args: readonly Term[];
  /** The common type of the `unit` and `ordered` arguments. */
  readonly same?: ValueType;
  /** Whether the arguments of those parameters are all bare literals. */
  readonly bare: boolean;
}

/**
 * Finds the first signature that fits; if none does, the mismatch of the signature that fitted the most arguments. Undefined
 * if no signature takes this number of arguments.
 */
export function matchCall(
  row: FunctionRow,
  args: readonly Term[],
): Match | (TypeMismatch & { readonly at: number }) | undefined {
  let nearest: (TypeMismatch & { readonly at: number }) | undefined;
  for (const signature of row.signatures.filter((each) => takes(each, args.length))) {
    const found = bindParameters(signature, args);
    if (!isTypeMismatch(found)) return found;
    if (nearest === undefined || found.at > nearest.at) nearest = found;
  }
  return nearest;
}

/** Builds the term of a call; `market` replaces an implied last argument. */
export function applyFunction(row: FunctionRow, match: Match, market: Expr<string> | undefined, text: string): Term {
  const { signature, args, same, bare } = match;
  const runs: Run[] = args.map((each) => each.run);
  if (market !== undefined) runs.push((frame) => market.evaluate(frame.scope));
  const { result } = signature;
  const type: ValueType =
    result.kind === 'computed'
      ? (result.of(args.map((each) => each.type)) ?? NUMBER)
      : result.kind === 'same'
        ? chooseSameType(same ?? NUMBER, args[result.wholeAs ?? -1]?.type)
        : result;
  const count = (items: number): void => spend(items, text);
  const context = (scope: Scope): Application => ({ scope, text, spend: count });
  const [only] = runs;
  // Most calls have one argument; for those no list is built.
  const run: Run =
    runs.length === 1 && only !== undefined
      ? (frame) => row.apply([only(frame)], context(frame.scope))
      : (frame) =>
          row.apply(
            runs.map((each) => each(frame)),
            context(frame.scope),
          );
  return {
    type,
    run,
    bare: bare && result.kind === 'same',
    constant: row.late !== true && args.every((each) => each.constant),
  };
}

/** Fits arguments to one signature; the arguments determine its type variables. */
function bindParameters(signature: Signature, args: readonly Term[]): Match | (TypeMismatch & { readonly at: number }) {
  const last = signature.parameters.length - 1;
  const fits: Term[] = [];
  const variable: number[] = [];
  for (const [index, arg] of args.entries()) {
    const { shape } = signature.parameters[Math.min(index, last)] as Parameter;
    const found = fitShape(arg, shape);
    if (isTypeMismatch(found)) return { ...found, at: index };
    if (isVariable(shape)) variable.push(index);
    fits.push(found);
  }
  const { result } = signature;
  if (result.kind === 'computed')
    for (const [index, fit] of fits.entries()) fits[index] = adaptUnit(fit, findUnit((fits[0] as Term).type));
  if (result.kind === 'computed' && result.of(fits.map(({ type }) => type)) === undefined)
    return {
      refused: 'type-mismatch',
      message: `${formatList(fits.map(({ type }) => formatType(type)))} do not go together`,
      at: fits.length - 1,
    };
  if (variable.length === 0) return { signature, args: fits, bare: false };
  const common = unifyTerms(variable.map((index) => fits[index] as Term));
  if (isTypeMismatch(common)) return { ...common, at: variable[common.at ?? 0] ?? 0 };
  for (const [place, index] of variable.entries()) fits[index] = common.terms[place] as Term;
  return {
    signature,
    args: fits,
    same: common.type.kind === 'list' ? common.type.of : common.type,
    bare: variable.every((index) => (args[index] as Term).bare),
  };
}

function isVariable(shape: Shape): boolean {
  return shape.kind === 'unit' || shape.kind === 'ordered' || (shape.kind === 'list_of' && isVariable(shape.of));
}

/** Fits an argument to a parameter of this shape; type variables stay open. */
function fitShape(term: Term, shape: Shape): Term | TypeMismatch {
  const { type } = term;
  const wrong = (wanted: string): TypeMismatch =>
    type.kind === 'optional'
      ? { refused: 'optional-unhandled', message: 'this value may be absent' }
      : { refused: 'type-mismatch', message: `${wanted} is needed, found ${formatType(type)}` };
  switch (shape.kind) {
    case 'any':
      return term;
    case 'unit':
      return type.kind === 'decimal' ? term : wrong('a number');
    case 'ordered':
      return type.kind === 'decimal' || type.kind === 'duration' || type.kind === 'time'
        ? term
        : wrong('a number, a duration or a time');
    case 'zone':
      return type.kind === 'text' ? term : wrong('a time zone');
    case 'list_of':
    case 'map_of': {
      const kind = shape.kind === 'list_of' ? 'list' : 'map';
      if (type.kind !== kind) return wrong(`a ${kind}`);
      if (term.empty === true) return isVariable(shape) ? term : { ...term };
      const item = fitShape({ ...term, type: type.of }, shape.of);
      if (isTypeMismatch(item)) return item;
      return { ...term, type: { kind, of: item.type } };
    }
    default:
      return fitTerm(term, shape);
  }
}

function chooseSameType(type: ValueType, step: ValueType | undefined): ValueType {
  if (step === undefined || type.kind !== 'decimal') return type;
  return type.unit === 'number' && step.kind === 'decimal' && step.integer === true
    ? INTEGER
    : { kind: 'decimal', unit: type.unit };
}

function takes(signature: Signature, count: number): boolean {
  const { parameters } = signature;
  const least = parameters.filter((each) => each.implied !== true).length;
  return count >= least && (count <= parameters.length || parameters.at(-1)?.rest === true);
}

/** The arguments that a function takes, for a message. */
export function describeArity(row: FunctionRow): string {
  const lists = row.signatures.map(({ parameters }) =>
    parameters.map((each) => `${each.name}${each.rest === true ? ', …' : ''}${each.implied === true ? '?' : ''}`),
  );
  return formatList([...new Set(lists.map((names) => `(${names.join(', ')})`))], 'or');
}
