/**
 * The modifiers of a step that are data: retry, and the words of await, undo and allow. Those that hold steps or change
 * what is in sight are read where the names are kept, in blocks.ts.
 */
import { Decimal } from '../../base/decimal.ts';
import { type AwaitTarget, ERROR_KINDS, type ErrorKind, type RetryDeclaration, type Verb } from '../checked.ts';
import type { Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { listPresentWhenTrue } from '../expression/expression.ts';
import { BOOLEAN } from '../functions/typing.ts';
import { stepRow } from '../steps.ts';
import { Duration, type Expr } from '../values.ts';
import type { Checking } from './checking.ts';
import { getScalarText, readLiteralDuration } from './declarations.ts';

/** What a verb that calls the venue is repeated for when the author does not say (language.md, decision 9). */
const RETRIED: Readonly<Record<'read' | 'write', readonly ErrorKind[]>> = {
  read: ['transport', 'rate_limited'],
  write: ['rate_limited'],
};
const DEFAULTS = {
  max: 4,
  first: new Duration(250),
  factor: new Decimal(2),
  maxDelay: new Duration(8000),
  jitter: true,
} as const;

/** Undefined for a verb that calls nothing. */
export function readRetry(checking: Checking, stepName: Verb, node: Node | undefined): RetryDeclaration | undefined {
  const kind = stepRow(stepName).retry;
  if (kind === 'none') return undefined;
  if (node?.kind !== 'map') return { on: RETRIED[kind], ...DEFAULTS };
  const number = (key: string): Node | undefined =>
    checking.compiler.isFaulty(node.get(key)) ? undefined : node.get(key);
  const jitter = getScalarText(number('jitter'));
  const factor = getScalarText(number('factor'));
  return {
    on: readKinds(node.get('on')),
    max: Number(getScalarText(number('max')) ?? DEFAULTS.max),
    first: readLiteralDuration(checking, node.get('first')) ?? DEFAULTS.first,
    factor: factor === undefined ? DEFAULTS.factor : new Decimal(factor),
    maxDelay: readLiteralDuration(checking, node.get('max_delay')) ?? DEFAULTS.maxDelay,
    jitter: jitter === undefined ? DEFAULTS.jitter : jitter === 'true',
  };
}

/** The kinds in a list; what is none has been reported. */
export function readKinds(node: Node | undefined): readonly ErrorKind[] {
  const words = node?.kind === 'list' ? node.items.map(getScalarText) : [];
  return ERROR_KINDS.filter((kind) => words.includes(kind));
}

export function readAwait(checking: Checking, stepName: Verb, node: Node | undefined): AwaitTarget | undefined {
  const row = stepRow(stepName).await;
  const word = checking.compiler.isFaulty(node) ? undefined : getScalarText(node);
  return row?.allowed.find((target) => target === word) ?? row?.default;
}

/** Compiles a condition; one that is the same whatever happens is reported. */
export function checkCondition(checking: Checking, node: Node | undefined, what: string): Expr<boolean> {
  const expr = checking.compiler.compile<boolean>(node, BOOLEAN);
  if (node !== undefined && (expr as Expr) !== FAULTY && expr.constant && expr.reads.length === 0) {
    const value = checking.compiler.evaluateConstant(expr);
    checking.report(
      node,
      'constant-condition',
      `${what} is always ${value === undefined ? 'the same' : String(value)}`,
    );
  }
  return expr;
}

/** The paths of the optionals that are there where a condition holds. */
export function listAssured(condition: Expr<boolean>): readonly string[] {
  return (condition as Expr) === FAULTY ? [] : listPresentWhenTrue(condition);
}

/** Takes them, and the ids of earlier steps that hung on the same condition, for there until the block ends. */
export function assume(
  checking: Checking,
  condition: Expr<boolean>,
  guarded: ReadonlyMap<string, readonly string[]> = new Map(),
): void {
  for (const path of listAssured(condition)) checking.names.assume(path);
  for (const name of guarded.get(condition.text.trim()) ?? []) checking.names.assume(name);
}
