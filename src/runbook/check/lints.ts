/**
 * Checks a whole runbook once every step is known: the deadman switch against waits and stops, entries against protection,
 * the token rate, and unused names (language.md, Checks 5). Facts about a single field are reported where the field is read.
 */
import { findPosition, type Span } from '../../base/diagnostic.ts';
import { shorten } from '../../base/printable.ts';
import { hintMeant, suggestSpelling } from '../../base/spelling.ts';
import type { CheckedRunbook, CheckedStep, FeedDeclaration, StepOf } from '../checked.ts';
import { CODES } from '../codes/codes.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { findOrigin, listFieldsRead, listParsed } from '../expression/expression.ts';
import { listFillReads } from '../flow/conditions.ts';
import { findLeaks } from '../flow/leaks.ts';
import { findStaleReads } from '../flow/stale.ts';
import { type Costs, countSteadyTokens } from '../plan/steady.ts';
import { findAwaited } from '../steps/awaited.ts';
import { listInnerBlocks, walkSteps } from '../steps/walk.ts';
import type { Duration, Expr, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';
import { formatValue } from './inputs.ts';
import { lintPercents } from './percents.ts';

export interface Allowance {
  readonly costs: Costs;
  /** Tokens a minute that the account may use. */
  readonly tokensPerMinute: number;
}

/** The lints that need every step: a step that was left out would make their findings wrong. */
export function lintRunbook(checking: Checking, runbook: CheckedRunbook, root: MapNode, allowance: Allowance): void {
  lintDeadman(checking, runbook);
  lintPercents(checking, runbook);
  lintProtection(checking, runbook);
  if (runbook.leaves.position !== 'open' && runbook.onError.length === 0) lintAmends(checking, runbook.steps);
  for (const block of [runbook.steps, runbook.onError, runbook.finally]) lintCloses(checking, block);
  // Nothing is said of the paths of a file with errors: they are not known, and a value may be none of its type.
  if (checking.diagnostics.some(({ severity }) => severity === 'error')) return;
  lintRate(checking, runbook, root, allowance);
  lintStaleReads(checking, runbook);
  lintLeaves(checking, runbook);
}

/** Checks that `release_after` names a step; needs only the ids. */
export function lintRelease(checking: Checking, root: MapNode): void {
  const deadman = root.get('deadman');
  const at = deadman?.kind === 'map' ? deadman.get('release_after') : undefined;
  if (at?.kind !== 'scalar' || checking.compiler.isFaulty(at) || checking.ids.has(at.text)) return;
  // The step may have a refused id, or may have been left out.
  if (checking.names.lost) return;
  checking.report(
    at,
    'unknown-step',
    `release_after names ${JSON.stringify(at.text)}, which is not the id of a step`,
    hintMeant(suggestSpelling(at.text, checking.ids.keys())),
  );
}

function findNameSpan(checking: Checking, step: CheckedStep): Span {
  return checking.places.get(step)?.nameSpan ?? step.span;
}

/** How long a step may wait, if that is the same in every run. */
function evaluateWait(checking: Checking, step: CheckedStep): Duration | undefined {
  const { compiler } = checking;
  if (step.verb === 'wait') return step.args.kind === 'for' ? compiler.evaluateConstant(step.args.for) : undefined;
  if (step.verb === 'manage') return compiler.evaluateConstant(step.args.timeLimit);
  return step.verb === 'wait_for' || step.verb === 'approve'
    ? compiler.evaluateConstant(step.args.within as Expr<Duration>)
    : undefined;
}

function lintDeadman(checking: Checking, runbook: CheckedRunbook): void {
  const { deadman } = runbook;
  if (deadman !== undefined) {
    const pause = checking.compiler.evaluateConstant(deadman.keepAlive);
    const timeout = pause?.ms === 0 ? checking.compiler.evaluateConstant(deadman.timeout) : undefined;
    const unreleased = deadman.releaseAfter === undefined;
    let released = false;
    for (const step of walkSteps(runbook.steps)) {
      if (!released && timeout !== undefined) lintWait(checking, step, timeout);
      if (unreleased && (isProtection(step) || (step.verb === 'call' && placesProtection(runbook, step.args.runbook))))
        checking.report(
          findNameSpan(checking, step),
          'protect-under-deadman',
          'the deadman switch stays armed while these orders rest, and cancels them too when it fires: the deadman block has no release_after',
        );
      if (!released) lintHand(checking, step);
      released ||= step.id !== undefined && step.id === deadman.releaseAfter;
    }
    for (const block of [runbook.onError, runbook.finally])
      for (const step of walkSteps(block)) lintHand(checking, step);
  }
  for (const block of [runbook.steps, runbook.onError, runbook.finally]) lintArmed(checking, block, undefined);
}

/** Warns of a step that moves the switch which the block keeps. */
function lintHand(checking: Checking, step: CheckedStep): void {
  if (step.verb !== 'arm_deadman' && step.verb !== 'disarm_deadman') return;
  const what = `the deadman block keeps the switch: after this ${step.verb} its next heartbeat arms it again`;
  checking.report(findNameSpan(checking, step), 'deadman-beside-block', what);
}

/** Whether a step places protective orders, which a deadman switch would cancel. */
function isProtection(step: CheckedStep): step is StepOf<'protect'> | StepOf<'manage'> {
  return step.verb === 'protect' || step.verb === 'manage';
}

/** Whether a called runbook places protective orders: the caller's switch cancels those too. */
function placesProtection(runbook: CheckedRunbook, name: string): boolean {
  const callee = runbook.calls[name];
  return (
    callee !== undefined &&
    [...walkSteps(callee.steps)].some(
      (step) => isProtection(step) || (step.verb === 'call' && placesProtection(callee, step.args.runbook)),
    )
  );
}

function lintWait(checking: Checking, step: CheckedStep, timeout: Duration): void {
  const wait = evaluateWait(checking, step);
  if (wait !== undefined && wait.ms > timeout.ms)
    checking.report(
      findNameSpan(checking, step),
      'deadman-unattended',
      `${step.verb} may take ${formatValue(wait)}, the deadman switch fires after ${formatValue(timeout)}, and nothing keeps it alive`,
    );
}

/**
 * Checks the steps while a switch is armed by a step: nothing keeps it alive until it is disarmed. Returns the step whose
 * switch is armed at the end of the block.
 */
function lintArmed(
  checking: Checking,
  steps: readonly CheckedStep[],
  before: StepOf<'arm_deadman'> | undefined,
): StepOf<'arm_deadman'> | undefined {
  let armed = before;
  for (const step of steps) {
    if (step.verb === 'arm_deadman') armed = step;
    else if (step.verb === 'disarm_deadman') armed = undefined;
    else if (armed !== undefined) {
      const timeout = checking.compiler.evaluateConstant(armed.args.timeout);
      if (timeout !== undefined) lintWait(checking, step, timeout);
      if (isProtection(step))
        checking.report(
          findNameSpan(checking, step),
          'protect-under-deadman',
          'the deadman switch armed before stays armed while these orders rest, and cancels them too when it fires',
          'Disarm it first with `disarm_deadman`, or use the deadman block with `release_after`.',
        );
    }
    for (const block of listInnerBlocks(step)) armed = lintArmed(checking, block, armed);
  }
  return armed;
}

const USE_UNNAMED = {
  'an earlier round':
    'Use it in each round before: `cancel: {mine: MARKET}`, or keep it in a variable of type `list<order>` and `refresh` or `cancel` that list; or place it with `await: terminal`.',
  unnamed:
    'Give the order an `id` and `refresh` or `cancel` it before; or `cancel: {mine: MARKET}`; or place it with `await: terminal`.',
} as const;

/** Refuses reads of an order that may have changed since a step used it. */
function lintStaleReads(checking: Checking, runbook: CheckedRunbook): void {
  for (const { since, expr, field, span, among } of findStaleReads(runbook)) {
    const { line } = findPosition(checking.source.text, since.span.start);
    const what = `${field} in ${shorten(expr.text.trim())}`;
    if (since.verb === 'cancel')
      checking.report(
        span,
        'stale-after-cancel',
        `${what} is read as it was before the cancel in line ${line}, which is only awaited until it is accepted`,
      );
    else
      checking.report(
        span,
        'stale-after-place',
        `${what} is read as it was when the order was placed in line ${line}${among === 'an earlier round' ? ', in an earlier round' : ''}, and no step has used the order since`,
        among && USE_UNNAMED[among],
      );
  }
}

/** Checks each path against what the runbook says that it leaves. */
function lintLeaves(checking: Checking, runbook: CheckedRunbook): void {
  const { position } = runbook.leaves;
  const may = position === 'none' ? 'no position' : 'only what working stops of it cover';
  const { leaks, crossing } = findLeaks(runbook);
  for (const step of crossing)
    checking.report(
      findNameSpan(checking, step),
      'exit-may-open',
      'the order of this place rests beside a stop-loss: where the stop closes the position first, it opens the opposite one',
    );
  for (const { step, certain, path } of leaks) {
    const on = path.length === 0 ? '' : ` (${path.join(', ')})`;
    const what = step.verb === 'call' ? `the runbook ${step.args.runbook}` : 'this order';
    if (certain)
      checking.report(
        findNameSpan(checking, step),
        'leaves-violated',
        `the runbook leaves ${may}, and there is a path on which ${what} may have filled and is left${on}`,
        adviseLeaves(checking, position, step).violated,
      );
    else
      checking.report(
        findNameSpan(checking, step),
        'leaves-unproven',
        `the runbook leaves ${may}; whether that holds for ${what} is known only in the run${on}`,
        adviseLeaves(checking, position, step).unproven,
      );
  }
}

/** What to do about the order of a step, in its own words; nothing of a called runbook, whose file has the hint. */
function adviseLeaves(
  { compiler }: Checking,
  position: CheckedRunbook['leaves']['position'],
  step: CheckedStep,
): { readonly violated?: string; readonly unproven?: string } {
  if (step.verb === 'call') return {};
  const asked = `\`if: ${step.id ?? 'ID'}.filled == 0\``;
  const ask = step.id === undefined ? `give the order an \`id\` and ask first: ${asked}` : `ask first: ${asked}`;
  if (position !== 'none')
    return {
      violated: `Protect or close what may have filled, or ${ask}. If it is meant: \`leaves: {position: open, because: …}\`.`,
    };
  const market = step.verb === 'place' ? compiler.evaluateConstant(step.args.market) : undefined;
  const close = `\`close: ${market ?? 'MARKET'}\` as the last step`;
  return {
    violated: `Close what may have filled: ${close}; or ${ask}. Where its stop may stay: \`leaves: {position: protected}\`.`,
    unproven: `Close what is left: ${close}. Or ${CODES['leaves-unproven'].fix.replace(/^A/, 'a')}`,
  };
}

/**
 * Checks that a fill is known before an entry is protected, and that a stop which follows it at once is not where the entry gains; in
 * reading order. Later the market may be there.
 */
function lintProtection(checking: Checking, runbook: CheckedRunbook): void {
  let entry: StepOf<'place'> | undefined;
  let filled = false;
  let isLater = false;
  const visit = (steps: readonly CheckedStep[]): void => {
    for (const step of steps) {
      filled ||= asksWhatFilled(step);
      // One of the other side closes.
      if (isEntry(step, runbook) && (entry === undefined || entry.args.side.text === step.args.side.text)) {
        entry ??= step;
        filled = showsFills(findAwaited(step));
        isLater = false;
      } else if (step.verb === 'wait_for') {
        const { args } = step;
        if (args.kind === 'order' || args.kind === 'any') filled ||= showsFills(args.is);
        isLater ||= args.kind !== 'order' || findOrigin(args.order) !== entry?.id;
      } else if (isProtection(step)) {
        if (entry !== undefined && !filled && checking.names.doubted.size === 0)
          checking.report(
            findNameSpan(checking, step),
            'protect-before-fill',
            'nothing is known to have filled when these orders are placed',
          );
        const wrong = checking.stopsOnGain.find(
          ({ span }) => step.span.start < span.start && span.end <= step.span.end,
        );
        if (wrong !== undefined && entry !== undefined && !isLater && entry.args.side.text !== step.args.side.text)
          checking.report(
            wrong,
            'stop-reversed',
            'the stop-loss is where the position gains, seen from the price that it is computed from: it triggers at once',
          );
      }
      isLater ||= TAKES_TIME.has(step.verb);
      for (const block of listInnerBlocks(step)) visit(block);
    }
  };
  visit(runbook.steps);
}

/** Steps during which the market may go anywhere. */
const TAKES_TIME: ReadonlySet<CheckedStep['verb']> = new Set([
  'wait',
  'manage',
  'repeat',
  'for_each',
  'approve',
  'call',
]);

/** Whether the step, or a block that it decides about, depends on what has filled. */
function asksWhatFilled(step: CheckedStep): boolean {
  const conditions = [
    ...(step.if === undefined ? [] : [step.if]),
    ...(step.verb === 'switch' || step.verb === 'if' ? step.args.cases.flatMap(({ when }) => when ?? []) : []),
  ];
  return conditions.some(
    (condition) =>
      listFieldsRead(condition).some((field) => /\.(?:filled|avg_price)$/.test(field)) ||
      listParsed(condition).some(({ plain }) => listFillReads(plain).length > 0),
  );
}

/** Warns of an amend whose order may fill on the way, where nothing then protects or closes what it filled. */
function lintAmends(checking: Checking, steps: readonly CheckedStep[]): void {
  for (const step of steps) {
    if (step.catch.some(({ on }) => on === 'any' || on.includes('not_found'))) continue;
    if (step.verb === 'amend')
      checking.report(
        findNameSpan(checking, step),
        'amend-uncaught',
        'the amend fails where its order fills before it, and no catch or on_error follows: what has filled is left as it is',
      );
    for (const block of listInnerBlocks(step)) lintAmends(checking, block);
  }
}

/** Warns of branches that close the position of one market side by side. */
function lintCloses(checking: Checking, steps: readonly CheckedStep[]): void {
  for (const step of walkSteps(steps)) {
    if (step.verb !== 'parallel' || step.args.kind !== 'branches') continue;
    const closed = new Map<string, CheckedStep>();
    for (const { do: branch } of step.args.branches) {
      const own = [...walkSteps(branch)].flatMap((each) => {
        const market = findClosed(checking, each);
        return market === undefined ? [] : [{ market, each }];
      });
      for (const { market, each } of own) {
        const other = closed.get(market);
        if (other === undefined) continue;
        const { line } = findPosition(checking.source.text, other.span.start);
        const what = `this ${each.verb} and the ${other.verb} in line ${line} may both close the position in ${market} at the same time`;
        checking.report(findNameSpan(checking, each), 'parallel-closes', what);
      }
      for (const { market, each } of own) closed.set(market, each);
    }
  }
}

/** The market in which a step closes a position, where that is the same in every run. */
function findClosed({ compiler }: Checking, step: CheckedStep): string | undefined {
  const closes = step.verb === 'close' || step.verb === 'manage' || (step.verb === 'place' && step.allow === 'reduce');
  return closes ? compiler.evaluateConstant(step.args.market) : undefined;
}

function isEntry(step: CheckedStep, runbook: CheckedRunbook): step is StepOf<'place'> {
  const mode = runbook.limits?.mode ?? 'active';
  return step.verb === 'place' && step.allow !== 'reduce' && mode === 'active';
}

function showsFills(target: string | undefined): boolean {
  return target === 'any_fill' || target === 'filled' || target === 'terminal';
}

function lintRate(
  checking: Checking,
  runbook: CheckedRunbook,
  root: MapNode,
  { costs, tokensPerMinute }: Allowance,
): void {
  const worst = countSteadyTokens(runbook, costs);
  if (worst <= tokensPerMinute / 2) return;
  const at = findMostExpensiveStep(checking, runbook, costs) ?? root.entry('steps')?.keySpan ?? root.span;
  const figure = Number.isFinite(worst) ? `${worst} tokens a minute` : 'as many tokens a minute as the network allows';
  if (worst > tokensPerMinute)
    checking.report(at, 'token-rate', `the worst case is ${figure}, and the account has ${tokensPerMinute}`);
  else
    checking.report(
      at,
      'token-rate-high',
      `the worst case is ${figure}, more than half of the account's ${tokensPerMinute}`,
    );
}

/** The top-level step with the largest worst case. */
function findMostExpensiveStep(checking: Checking, runbook: CheckedRunbook, costs: Costs): Span | undefined {
  const alone = (step: CheckedStep): number =>
    countSteadyTokens({ ...runbook, steps: [step], onError: [], finally: [] }, costs);
  let worst: { readonly step: CheckedStep; readonly tokens: number } | undefined;
  for (const step of runbook.steps) {
    const tokens = alone(step);
    if (worst === undefined || tokens > worst.tokens) worst = { step, tokens };
  }
  return worst && findNameSpan(checking, worst.step);
}

/** Reports what is declared and never used, and a price that cannot be read. The id of a step is not: tests, reports, `--until` and `--answer` name steps by it. */
export function lintUnused(
  checking: Checking,
  root: MapNode,
  { feeds }: { readonly feeds: readonly FeedDeclaration[] },
): void {
  // Another value than a price, such as a funding rate, may be one of the venue.
  const isLost = (key: string) =>
    feeds.some(({ name, type, market }) => name === key && isPrice(type) && market === undefined);
  const { used } = checking.compiler;
  const keys = (node: Node | undefined): MapNode['entries'] => (node?.kind === 'map' ? node.entries : []);
  for (const { key, keySpan } of keys(root.get('inputs')))
    if (!used.has(`inputs.${key}`))
      checking.report(keySpan, 'unused-input', `nothing reads the input ${key}: what is given for it changes nothing`);
  for (const { key, keySpan } of keys(root.get('feeds')))
    if (!used.has(`feeds.${key}`)) checking.report(keySpan, 'unused-feed', `nothing reads the feed ${key}`);
    else if (isLost(key))
      checking.report(keySpan, 'feed-without-market', `nothing says of which market the feed ${key} is the price`);
  for (const { name, span } of checking.lets)
    if (!used.has(name)) checking.report(span, 'unused-name', `nothing reads ${name}`);
}

function isPrice(type: ValueType): boolean {
  return type.kind === 'decimal' && type.unit === 'price';
}
