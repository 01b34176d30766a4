/**
 * Reads the modifiers of a step that are plain data, retry and await, and checks conditions and what a retry may send again. Those that
 * hold steps, or change which names are visible, are read in blocks.ts.
 */
import { Decimal } from '../../base/decimal.ts';
import type { Diagnostic, Span } from '../../base/diagnostic.ts';
import {
  type AwaitTarget,
  type CheckedRunbook,
  type CheckedStep,
  ERROR_KINDS,
  type ErrorKind,
  type RetryDeclaration,
  type StepName,
} from '../checked.ts';
import type { Code } from '../codes/codes.ts';
import type { Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { listPresentWhenFalse, listPresentWhenTrue, spellValue } from '../expression/expression.ts';
import { BOOLEAN } from '../functions/typing.ts';
import { getStepRow } from '../steps/steps.ts';
import { listAllSteps, listInnerBlocks, walkSteps } from '../steps/walk.ts';
import { Duration, type Expr } from '../values.ts';
import type { Checking } from './checking.ts';
import { getScalarText, readLiteralDuration } from './declarations.ts';

/** The error kinds for which a step that calls the venue is retried by default (language.md, decision 9). */
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

/** The retry of a step; undefined for a step that does not call the venue. */
export function readRetry(
  checking: Checking,
  stepName: StepName,
  node: Node | undefined,
): RetryDeclaration | undefined {
  const kind = getStepRow(stepName).retry;
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

/** The error kinds in a list; other words have been reported. */
export function readKinds(node: Node | undefined): readonly ErrorKind[] {
  const words = node?.kind === 'list' ? node.items.map(getScalarText) : [];
  return ERROR_KINDS.filter((kind) => words.includes(kind));
}

/** Refuses a retry of `not_placed`, unless each order that it would send again may be sent again. */
export function checkResend(checking: Checking, step: CheckedStep, nameSpan: Span): void {
  const retried = [
    ...(step.retry?.on ?? []),
    ...step.catch.flatMap(({ on, then }) => (on !== 'any' && then === 'retry' ? on : [])),
  ];
  if (!retried.includes('not_placed')) return;
  const inner = listInnerBlocks(step).flatMap((block) => [...walkSteps(block)]);
  if (![step, ...inner].every((each) => maySendAgain(each, Object.fromEntries(checking.calls))))
    checking.report(
      nameSpan,
      'retry-without-resend',
      `${step.verb} is tried again on not_placed, and what it sends has no on_ambiguous: resend`,
    );
}

/** Steps whose orders are never sent again. */
const SENT_ONCE: ReadonlySet<StepName> = new Set(['protect', 'manage', 'close']);

function maySendAgain(step: CheckedStep, calls: CheckedRunbook['calls']): boolean {
  const callee = step.verb === 'call' ? calls[step.args.runbook] : undefined;
  if (callee !== undefined)
    return [...walkSteps(listAllSteps(callee))].every((each) => maySendAgain(each, callee.calls));
  return !SENT_ONCE.has(step.verb) && (step.verb !== 'place' || step.args.onAmbiguous === 'resend');
}

export function readAwait(checking: Checking, stepName: StepName, node: Node | undefined): AwaitTarget | undefined {
  const row = getStepRow(stepName).await;
  const word = checking.compiler.isFaulty(node) ? undefined : getScalarText(node);
  return row?.allowed.find((target) => target === word);
}

/** Compiles a condition; reports one that always has the same value. */
export function checkCondition(checking: Checking, node: Node | undefined, what: string): Expr<boolean> {
  const expr = checking.compiler.compile<boolean>(node, BOOLEAN);
  // What a condition with an error would have assured is in doubt behind it, in its own step too.
  const isWrong = ({ code }: Diagnostic) => code !== ('optional-unhandled' satisfies Code);
  if (node !== undefined && checking.listErrors(node.span).some(isWrong)) checking.doubt(node.span);
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

/** The paths of the optional values that are present when a condition is true. */
export function listAssured(condition: Expr<boolean>): readonly string[] {
  return (condition as Expr) === FAULTY ? [] : listPresentWhenTrue(condition);
}

/** The same for a condition that is false. */
export function listAssuredOtherwise(condition: Expr<boolean>): readonly string[] {
  return (condition as Expr) === FAULTY ? [] : listPresentWhenFalse(condition);
}

/** Treats these values, and the ids of earlier steps with the same condition, as present until the block ends. */
export function assume(
  checking: Checking,
  condition: Expr<boolean>,
  guarded: ReadonlyMap<string, readonly string[]> = new Map(),
): void {
  for (const path of listAssured(condition)) checking.names.assume(path);
  for (const name of guarded.get(spellValue(condition)) ?? []) checking.names.assume(name);
}
