/**
 * Terms: checked parts of an expression, each with its type and the closure that computes it. Adapts bare literals to units,
 * unifies the types of several terms, and describes why terms do not fit.
 */

import type { SyntaxCode } from '../codes/syntax.ts';
import { suggestWord } from '../foreign-words.ts';
import type { Unit, ValueType } from '../values.ts';
import type { Run } from './evaluation.ts';
import {
  findComparisonMisfit,
  findMisfit,
  findUnit,
  formatType,
  type Misfit,
  replaceUnit,
  unifyTypes,
} from './typing.ts';

export interface Term {
  readonly type: ValueType;
  readonly run: Run;
  /** Consists of literals: its numbers have no unit of their own yet, its texts are exactly those of its type. */
  readonly bare: boolean;
  /** Depends on nothing outside the expression. */
  readonly constant: boolean;
  /** The dotted path it reads, if it is one: `entry.avg_price`. */
  readonly path?: string;
  /** Where the value comes from, if that is one place: `entry.avg_price`, `ladder[].o` for a field of each item of a list. */
  readonly origin?: string;
  /** Optional by declaration, known to be present here. */
  readonly narrowed?: true;
  /** The literal `[]` or `{}`, a list or map of anything. */
  readonly empty?: true;
  /** Paths that are present when it is true, or false. */
  readonly whenTrue?: readonly string[];
  readonly whenFalse?: readonly string[];
}

/** Why terms do not fit; the caller, who knows the place, makes a diagnostic of it. */
export interface TypeMismatch {
  readonly refused: SyntaxCode;
  readonly message: string;
  readonly hint?: string;
  /** Index of the wrong operand, if it is a single one. */
  readonly at?: number;
}

export function isTypeMismatch(value: object): value is TypeMismatch {
  return 'refused' in value;
}

/** A bare term with the wanted unit; any other term unchanged. */
export function adaptUnit(term: Term, unit: Unit | undefined): Term {
  if (!term.bare || unit === undefined || unit === 'number' || findUnit(term.type) !== 'number') return term;
  return { ...term, type: replaceUnit(term.type, unit) };
}

/** Fits a term to the type `wanted`, or returns why it does not fit. */
export function fitTerm(term: Term, wanted: ValueType): Term | TypeMismatch {
  if (term.empty === true && wanted.kind === term.type.kind) return { ...term, type: wanted };
  const fit = adaptUnit(term, findUnit(wanted));
  const why = findMisfit(fit.type, wanted);
  if (why !== undefined) return toTypeMismatch(why, fit, wanted);
  const bad =
    wanted.kind === 'text' && wanted.market === true && term.type.kind === 'text'
      ? term.type.of?.find((each) => !isMarket(each))
      : undefined;
  if (bad !== undefined && term.type.kind === 'text' && term.type.market !== true)
    return { refused: 'market-form', message: `a market id is <BASE>-<QUOTE>, found '${bad}'` };
  return fit;
}

const CODE: Readonly<Record<Misfit, SyntaxCode>> = {
  type: 'type-mismatch',
  unit: 'unit-mismatch',
  integer: 'not-integer',
  member: 'not-a-member',
  optional: 'optional-unhandled',
};

const ASK = 'Write .hasValue() behind it to ask whether it is there.';
const COMPARE = 'Write a comparison, such as x > 0.';

function toTypeMismatch(why: Misfit, term: Term, wanted: ValueType): TypeMismatch {
  if (why === 'member' && term.type.kind === 'text' && wanted.kind === 'text')
    return describeNonMember(term.type.of ?? [], wanted.of ?? []);
  const message = `${addArticle(formatType(wanted))} is needed, found ${formatType(term.type)}`;
  const scale =
    why === 'unit' && term.type.kind === 'decimal' && wanted.kind === 'decimal' && term.type.unit === 'number';
  return {
    refused: CODE[why],
    message,
    ...(wanted.kind === 'boolean' ? { hint: term.type.kind === 'optional' ? ASK : COMPARE } : {}),
    ...(scale ? { hint: explainPlainNumber(wanted.unit) } : {}),
    ...tellLeg(term, wanted),
  };
}

/** The legs of a `protect`, where an order is needed. */
function tellLeg({ type, path }: Term, wanted: ValueType): Partial<TypeMismatch> {
  if (type.kind !== 'record' || wanted.kind !== 'record' || wanted.name !== 'Order') return {};
  const legs = Object.entries(type.fields).flatMap(([name, of]) =>
    [of.kind === 'optional' ? of.of : of].some((each) => each.kind === 'record' && each.name === 'Order') ? [name] : [],
  );
  return legs.length === 0 ? {} : { hint: `Write ${legs.map((leg) => `${path ?? ''}.${leg}`).join(' or ')}.` };
}

export function describeNonMember(found: readonly string[], members: readonly string[]): TypeMismatch {
  const outsider = found.find((each) => !members.includes(each)) ?? '';
  const meant = suggestWord(outsider, members);
  const known = members
    .slice(0, 10)
    .map((each) => `'${each}'`)
    .join(', ');
  return {
    refused: 'not-a-member',
    message: `'${outsider.slice(0, 40)}' is not one of ${known}`,
    ...(meant === undefined ? {} : { hint: `Did you mean '${meant}'?` }),
  };
}

/** Unifies the types of terms: arms of `?:`, items of a list, arguments of one type. `at` of a mismatch is the term that differs. */
export function unifyTerms(
  terms: readonly Term[],
): { readonly terms: readonly Term[]; readonly type: ValueType } | TypeMismatch {
  const unit = terms.map((term) => (term.bare ? undefined : findUnit(term.type))).find((each) => each !== undefined);
  const fits = terms.map((term) => adaptUnit(term, unit));
  let type: ValueType | undefined;
  for (const [index, term] of fits.entries()) {
    if (term.empty === true) continue;
    const both: ValueType | undefined = type === undefined ? term.type : unifyTypes(type, term.type);
    if (both === undefined) {
      const units = findUnit(type as ValueType) !== undefined && findUnit(term.type) !== undefined;
      return {
        refused: units ? 'unit-mismatch' : 'type-mismatch',
        message: `${formatType(type as ValueType)} and ${formatType(term.type)} have no common type`,
        at: index,
      };
    }
    type = both;
  }
  if (type === undefined)
    return { refused: 'type-mismatch', message: `an empty ${terms[0]?.type.kind ?? 'list'} has no type here`, at: 0 };
  const common = type;
  const other = fits.findIndex((term) => term.empty === true && term.type.kind !== common.kind);
  if (other !== -1)
    return {
      refused: 'type-mismatch',
      message: `${formatType(common)} and an empty ${fits[other]?.type.kind} have no common type`,
      at: other,
    };
  return { terms: fits.map((term) => (term.empty === true ? { ...term, type: common } : term)), type };
}

/** Why two terms cannot be compared with `==`: a literal must be a possible value of the other side. */
export function checkComparable(left: Term, right: Term): TypeMismatch | undefined {
  const [a, b] = [adaptUnit(left, findUnit(right.type)), adaptUnit(right, findUnit(left.type))];
  if ((a.empty === true || b.empty === true) && a.type.kind === b.type.kind) return undefined;
  const literal = findImpossibleLiteral(left, right.type) ?? findImpossibleLiteral(right, left.type);
  if (literal !== undefined) return { ...literal, at: findImpossibleLiteral(left, right.type) === undefined ? 1 : 0 };
  const why = findComparisonMisfit(a.type, b.type);
  if (why === undefined) return undefined;
  if (why === 'optional') return { ...makeOptionalMismatch(), at: left.type.kind === 'optional' ? 0 : 1 };
  const units = why === 'unit' ? [findUnit(a.type), findUnit(b.type)] : [];
  const unit = units.includes('number') ? units.find((each) => each !== 'number') : undefined;
  return {
    refused: CODE[why],
    message: `${formatType(a.type)} and ${formatType(b.type)} cannot be compared`,
    ...(unit === undefined ? {} : { hint: explainPlainNumber(unit) }),
  };
}

function explainPlainNumber(unit: Unit): string {
  return `A plain number is not a ${unit}: write a literal, or declare the value with type ${unit}.`;
}

function findImpossibleLiteral(literal: Term, other: ValueType): TypeMismatch | undefined {
  if (!literal.bare || literal.type.kind !== 'text' || literal.type.of === undefined || other.kind !== 'text')
    return undefined;
  if (other.market === true) {
    const bad = literal.type.of.find((each) => !isMarket(each));
    return bad === undefined
      ? undefined
      : { refused: 'market-form', message: `a market id is <BASE>-<QUOTE>, found '${bad}'` };
  }
  if (other.of === undefined || literal.type.of.every((each) => other.of?.includes(each))) return undefined;
  return describeNonMember(literal.type.of, other.of);
}

export function makeOptionalMismatch(): TypeMismatch {
  return { refused: 'optional-unhandled', message: 'this value may be absent' };
}

/** `<BASE>-<QUOTE>` (venue-api.md, What the service does). */
export function isMarket(text: string): boolean {
  return /^[A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32}$/.test(text);
}

function addArticle(name: string): string {
  if (name === 'money') return 'an amount of money';
  return /^[aeio]/i.test(name) ? `an ${name}` : `a ${name}`;
}
