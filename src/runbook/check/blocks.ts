/**
 * Checks lists of steps in reading order: tracks which ids and names are visible and which optional values are known to be
 * present, and turns every step into a `CheckedStep` with its path. arguments.ts reads the arguments of steps that call the
 * venue, control.ts those of the others.
 */

import { omitUndefined } from '../../base/json.ts';
import type { CatchClause, CheckedStep, StepBase, StepName } from '../checked.ts';
import type { Code } from '../codes/codes.ts';
import type { ListNode, MapNode, Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { spellValue } from '../expression/expression.ts';
import { type Declared, makeOptional } from '../expression/scope.ts';
import { STEP_ERROR } from '../functions/records.ts';
import { DURATION, TEXT } from '../functions/typing.ts';
import { stepNameOf } from '../shape/walk.ts';
import { NAME_PATTERN } from '../shapes.ts';
import { getStepRow, type VenueStepName } from '../steps/steps.ts';
import type { Duration, Expr } from '../values.ts';
import { buildVenueArgs } from './arguments.ts';
import type { Block, BuiltStep, StepChecks } from './built-step.ts';
import type { Checking } from './checking.ts';
import { buildControl } from './control.ts';
import { getScalarText } from './declarations.ts';
import { getYieldedType } from './field-reader.ts';
import {
  assume,
  checkCondition,
  checkResend,
  listAssuredOtherwise,
  readAwait,
  readKinds,
  readRetry,
} from './modifiers.ts';

const NAME = new RegExp(NAME_PATTERN);
const NOTHING: Block = { steps: [], ends: false };

/** Checks the steps of a list with the names now visible; the caller enters and leaves the block. */
export function checkSteps(checking: Checking, node: Node | undefined, prefix: string): Block {
  if (node?.kind !== 'list' || checking.compiler.isFaulty(node)) {
    if (node !== undefined) {
      checking.dropped = true;
      checking.names.lost = true;
    }
    return NOTHING;
  }
  return new BlockCheck(checking, prefix).run(node);
}

/** Checks the steps of an inner block and returns the names that the block declared. */
const checkInner: StepChecks['inner'] = (checking, node, prefix, before, after) => {
  const mark = checking.names.enter();
  before?.();
  const block = checkSteps(checking, node, prefix);
  after?.();
  const present = new Set(checking.names.present);
  return { ...block, present, declared: checking.names.leave(mark) };
};

const CHECKS: StepChecks = {
  inner: checkInner,
  one: (checking, node, stepName, prefix) => checkStep(checking, node, stepName, { prefix }).step,
};

class BlockCheck {
  private readonly checking: Checking;
  private readonly prefix: string;
  /** Ids that are present only if a condition was true, by the text of that condition. */
  private readonly guarded = new Map<string, string[]>();

  constructor(checking: Checking, prefix: string) {
    this.checking = checking;
    this.prefix = prefix;
  }

  run(node: ListNode): Block {
    const steps: CheckedStep[] = [];
    let ended: StepName | undefined;
    let reported = false;
    for (const [index, item] of node.items.entries()) {
      if (item.kind !== 'map') {
        this.forget(item);
        continue;
      }
      const stepName = stepNameOf(item);
      if (ended !== undefined && !reported) {
        reported = true;
        this.checking.report(
          item.entries[0]?.keySpan ?? item.span,
          'unreachable-step',
          `this step is never reached: the ${ended} before it ends the run`,
        );
      }
      if (stepName === undefined) {
        this.forget(item);
        continue;
      }
      const step = checkStep(this.checking, item, stepName, { prefix: this.prefix, index, guarded: this.guarded });
      if (this.checking.compiler.isFaulty(item.entry(stepName)?.value)) this.checking.dropped = true;
      else steps.push(step.step);
      if (step.ends) ended ??= stepName;
    }
    return { steps, ends: ended !== undefined };
  }

  /** A wrong step may have an id that other steps use. */
  private forget(item: Node): void {
    this.checking.dropped = true;
    this.checking.doubt(item.span);
    const id = item.kind === 'map' ? getScalarText(item.get('id')) : undefined;
    if (id !== undefined) this.checking.names.unknown.add(id);
    else this.checking.names.lost ||= item.kind !== 'map';
  }
}

interface StepPosition {
  readonly prefix: string;
  /** In its list; undefined for the one step of `wait_for`'s read. */
  readonly index?: number;
  /** The conditions that ids depend on, for the steps after it. */
  readonly guarded?: Map<string, string[]>;
}

function checkStep(
  checking: Checking,
  node: MapNode,
  stepName: StepName,
  { prefix, index, guarded = new Map() }: StepPosition,
): { readonly step: CheckedStep; readonly ends: boolean } {
  const { compiler, names } = checking;
  const entry = node.entry(stepName);
  if (entry === undefined) throw new Error(`no ${stepName} in its own step`);
  const errorsBefore = checking.countErrors(node.span);
  const id = readId(checking, node);
  const own = id ?? (index === undefined ? stepName : `${index + 1}:${stepName}`);
  const path = `${prefix}/${own}`;
  const outerFeeds = compiler.feeds;
  compiler.feeds = new Set();

  const mark = names.enter();
  const guard = stepName === 'if' ? undefined : node.get('if');
  const condition = guard === undefined ? undefined : checkCondition(checking, guard, 'if');
  if (condition !== undefined) assume(checking, condition, guarded);
  const ifFeeds = [...compiler.feeds].sort();
  const allow = getScalarText(node.get('allow'));
  checkCleanup(checking, stepName, allow, entry.keySpan);
  const built: BuiltStep = compiler.isFaulty(entry.value)
    ? { args: {}, yields: getYieldedType(stepName) }
    : getStepRow(stepName).group === 'venue'
      ? buildVenueArgs(checking, stepName as VenueStepName, entry.value, {
          nameSpan: entry.keySpan,
          allow,
          timesOut: node.get('timeout') !== undefined,
        })
      : buildControl(checking, stepName, entry.value, { path, nameSpan: entry.keySpan, node, guarded, steps: CHECKS });
  if (compiler.isFaulty(entry.value) && id !== undefined && getStepRow(stepName).yields === 'computed')
    names.unknown.add(id);
  const timeout =
    node.get('timeout') === undefined ? undefined : compiler.compile<Duration>(node.get('timeout'), DURATION);
  const because =
    node.get('because') === undefined ? built.because : compiler.compile<string>(node.get('because'), TEXT);
  const awaited = readAwait(checking, stepName, node.get('await'));
  const yielded = id !== undefined && built.yields !== undefined ? { name: id, type: built.yields } : undefined;
  const failing = yielded && { ...yielded, type: built.partial ?? yielded.type };
  const clauses = checkCatch(checking, node.get('catch'), path, failing);
  const onTimeout = checkOnTimeout(checking, node, { stepName, path, early: built.early === true }, [
    ...(built.hoisted ?? []),
    ...(failing === undefined ? [] : [failing]),
  ]);
  const undo = checkUndo(checking, node.get('undo'), path, yielded);
  names.leave(mark);
  const { feeds } = compiler;
  compiler.feeds = outerFeeds;

  const goesOn = clauses.goesOn || (onTimeout !== undefined && !onTimeout.ends);
  const certain = condition === undefined && !goesOn;
  // The value of a skipped step is absent.
  const read = built.early === true && condition === undefined && !clauses.goesOn;
  for (const { name, type, value } of built.hoisted ?? []) {
    names.declare(name, certain || read ? type : makeOptional(type));
    if (certain && value !== undefined) compiler.remember(name, value);
  }
  if (yielded !== undefined && failing !== undefined) {
    names.declare(yielded.name, certain || read ? yielded.type : makeOptional((goesOn ? failing : yielded).type));
    if (yielded.type === FAULTY.type) names.unknown.add(yielded.name);
  }
  if (id !== undefined && yielded === undefined && !names.unknown.has(id)) checking.valueless.set(id, stepName);
  if (certain) {
    for (const present of built.assures ?? []) names.assume(present);
    if (yielded !== undefined && (awaited === 'any_fill' || awaited === 'filled'))
      names.assume(`${yielded.name}.avg_price`);
  } else if (condition === undefined && !clauses.goesOn) {
    // What the step assures, a time-out that goes on has to assure as well.
    for (const present of built.assures ?? []) if (onTimeout?.present?.has(present)) names.assume(present);
  } else if (condition !== undefined && !goesOn)
    remember(
      checking,
      condition,
      [...(built.hoisted ?? []).map(({ name }) => name), ...(yielded ? [yielded.name] : [])],
      guarded,
    );

  if (built.guards !== undefined && !goesOn) remember(checking, built.guards.condition, built.guards.names, guarded);
  // The steps after it are reached only where its condition was false.
  if (built.ends === true && condition !== undefined && !clauses.goesOn)
    for (const present of listAssuredOtherwise(condition)) names.assume(present);

  const base: StepBase = {
    path,
    span: node.span,
    catch: clauses.clauses,
    feeds: [...feeds].sort(),
    ifFeeds,
    ...omitUndefined({
      id,
      if: condition,
      retry: readRetry(checking, stepName, node.get('retry')),
      timeout,
      onTimeout: onTimeout?.steps,
      undo,
      await: awaited,
      because,
      note: getScalarText(node.get('note')),
    }),
    ...(allow === 'reduce' ? { allow } : {}),
  };
  const step = { ...base, verb: stepName, args: built.args } as CheckedStep;
  checking.places.set(step, { node, nameSpan: entry.keySpan });
  checkResend(checking, step, entry.keySpan);
  if (checking.countErrors(node.span) > errorsBefore || checking.isMisshapen(node.span))
    doubtWrongStep(checking, node, stepName);
  return { step, ends: built.ends === true && condition === undefined && !clauses.goesOn };
}

/** Steps whose arguments assure that a value is there; of the others only a modifier does, such as `if` or `await`. */
const ASSURING: ReadonlySet<StepName> = new Set([
  'assert',
  'wait_for',
  'switch',
  'parallel',
  'for_each',
  'repeat',
  'let',
]);

/** What a wrong step may have assured is in doubt after it. The steps inside this one have been asked themselves. */
function doubtWrongStep(checking: Checking, node: MapNode, stepName: StepName): void {
  const inner = [...checking.places.values()]
    .map((place) => place.node.span)
    .filter((span) => span.start > node.span.start && span.end <= node.span.end);
  const args = ASSURING.has(stepName) ? undefined : node.entry(stepName)?.span;
  const blameless = args === undefined ? inner : [...inner, args];
  const own = checking
    .listErrors(node.span)
    // A step that does not handle an absent value has not assured it either.
    .filter(({ code }) => code !== ('optional-unhandled' satisfies Code))
    .filter(({ span: error }) => !blameless.some((span) => span.start <= error.start && error.end <= span.end));
  for (const { span } of own) {
    const around = node.entries.find((each) => each.span.start <= span.start && span.end <= each.span.end);
    checking.doubt(around?.span ?? node.span);
    const id = node.entry('id');
    if (id !== undefined) checking.doubt(id.value.span);
  }
}

/** Remembers the ids behind a condition that cannot change during a run, and so has the same value later. */
function remember(
  checking: Checking,
  condition: Expr<boolean>,
  ids: readonly string[],
  guarded: Map<string, string[]>,
): void {
  const steady =
    (condition as Expr) !== FAULTY &&
    condition.reads.every((root) => root === 'inputs' || checking.names.constants.has(root));
  const spelled = spellValue(condition);
  if (steady) guarded.set(spelled, [...(guarded.get(spelled) ?? []), ...ids]);
}

/** Reads the id; reports one that cannot be used. */
function readId(checking: Checking, node: MapNode): string | undefined {
  const at = node.get('id');
  if (at === undefined) return undefined;
  if (at.kind === 'scalar' && !checking.compiler.isFaulty(at) && NAME.test(at.text)) {
    const taken = checking.ids.get(at.text)?.start !== at.span.start;
    if (taken) checking.report(at, 'duplicate-id', `${at.text} is already the id of another step`);
    else if (checking.mayDeclare(at.text, at.span)) return at.text;
  }
  // Other steps may refer to this step by the refused id.
  checking.names.lost = true;
  return undefined;
}

function checkCleanup(
  checking: Checking,
  stepName: StepName,
  allow: string | undefined,
  at: { readonly start: number; readonly end: number },
): void {
  if (checking.cleanup === undefined || getStepRow(stepName).risk !== 'increases') return;
  if (stepName === 'place' && (allow === 'reduce' || checking.limits.mode === 'reducing')) return;
  checking.report(at, 'risk-in-cleanup', `${stepName} can add risk, and ${checking.cleanup} may only reduce it`);
}

function checkCatch(
  checking: Checking,
  node: Node | undefined,
  path: string,
  own: Declared | undefined,
): { readonly clauses: readonly CatchClause[]; readonly goesOn: boolean } {
  const clauses: CatchClause[] = [];
  let goesOn = false;
  if (node?.kind !== 'list' || checking.compiler.isFaulty(node)) return { clauses, goesOn };
  for (const [index, item] of node.items.entries()) {
    if (item.kind !== 'map') continue;
    let condition: Expr<boolean> | undefined;
    const block = checkInner(checking, item.get('do'), `${path}/catch/${index + 1}`, () => {
      checking.names.declare('error', STEP_ERROR);
      if (own !== undefined) checking.names.declare(own.name, makeOptional(own.type));
      condition = item.get('if') === undefined ? undefined : checkCondition(checking, item.get('if'), 'if of a catch');
      if (condition !== undefined) assume(checking, condition);
    });
    const then = (getScalarText(item.get('then')) ?? 'fail') as CatchClause['then'];
    const on = item.get('on');
    clauses.push({
      on: on?.kind === 'list' ? readKinds(on) : 'any',
      ...omitUndefined({ if: condition }),
      do: block.steps,
      then,
    });
    if (then === 'continue' && !block.ends) goesOn = true;
  }
  return { clauses, goesOn };
}

function checkOnTimeout(
  checking: Checking,
  node: MapNode,
  { stepName, path, early }: { readonly stepName: StepName; readonly path: string; readonly early: boolean },
  declared: readonly Declared[],
): Block | undefined {
  const entry = node.entry('on_timeout');
  if (entry === undefined || checking.compiler.isFaulty(entry.value)) return undefined;
  if (stepName !== 'wait_for' && node.get('timeout') === undefined)
    checking.report(
      entry.keySpan,
      'on-timeout-without-timeout',
      `on_timeout of ${stepName} never runs: the step has no timeout`,
    );
  return checkInner(checking, entry.value, `${path}/on_timeout`, () => {
    for (const { name, type } of declared) checking.names.declare(name, early ? type : makeOptional(type));
  });
}

function checkUndo(
  checking: Checking,
  node: Node | undefined,
  path: string,
  own: Declared | undefined,
): StepBase['undo'] {
  if (node === undefined || checking.compiler.isFaulty(node)) return undefined;
  if (node.kind === 'scalar') return node.text === 'keep' || node.text === 'cancel' ? node.text : undefined;
  const outer = checking.cleanup;
  checking.cleanup = 'undo';
  const block = checkInner(checking, node, `${path}/undo`, () => {
    checking.names.declare('error', STEP_ERROR);
    if (own !== undefined) checking.names.declare(own.name, own.type);
  });
  checking.cleanup = outer;
  return block.steps;
}
