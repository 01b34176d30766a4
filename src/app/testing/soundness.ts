/**
 * Judges every run of a test, whatever happened to it: no second order for one intent, every order and fill accounted
 * for, an end, a sound journal, and that it keeps to what the runbook says it leaves. `runbook test --explore` holds its stories
 * to it, and a case that expects `sound: true`.
 */
import { decimal } from '../../base/decimal.ts';
import { verifyChain } from '../../journal/chain.ts';
import { OrderTracker } from '../../journal/orders.ts';
import { getExposure } from '../../venue/order/life.ts';
import { isInDoubt, isResting, isTerminal, isWorking } from '../../venue/order/states.ts';
import { describeBeyond, findBeyond, findLeft, isStop, type LeftPosition } from '../../venue/position/residual.ts';
import { SIMULATED_PROFILE } from '../../venue/profile/profile.ts';
import type { CaseResult } from './case-run.ts';
import type { TestCase, VenueRule } from './file/test-case.ts';
import type { Sent } from './venue/venue.ts';

/** Everything that does not hold of a run of `test`, each in a sentence. `leaves`: what its runbook declares. */
export function findUnsound(test: TestCase, leaves: LeftPosition, result: CaseResult): readonly string[] {
  return [...findProblems(result), ...findBare(test, leaves, result)];
}

/**
 * A run that leaves more than it declares never ends well, and says what it leaves. It leaves a position without a stop only where a
 * price jumped through its stop, or where a second fault met it.
 */
function findBare(test: TestCase, leaves: LeftPosition, { entries, report }: CaseResult): readonly string[] {
  const tracker = track(entries);
  const left = findLeft(tracker.orders(), { when: 'end', staysArmed: tracker.hasArmedSwitch });
  const beyond = findBeyond(left, leaves);
  if (beyond.length === 0) return [];
  const { outcome, error } = report;
  const ended = (how: string) => [`the run ${outcome}${how}: ${describeBeyond(leaves, beyond)}`];
  if (outcome === 'succeeded' || outcome === 'stopped') return ended('');
  const faults = countFaults(test);
  // Of the story, or of the case's own prices.
  const hasGap =
    test.rules.some(({ jump }) => Object.keys(jump).length > 0) ||
    beyond.some(({ idle = [] }) => idle.some(({ why }) => why === 'gapped'));
  // What a working stop covers is not bare: a run that failed may leave it, whatever its runbook declares.
  if (faults < 2 && !hasGap && findBeyond(left, 'protected').length > 0) return ended('');
  const said = entries.findLast((entry) => entry.type === 'run.residual' && entry.data.when === 'end');
  if (said?.type !== 'run.residual' || said.data.ok) return ended(' without saying what is left');
  // An error of a step of its own is kept; what is left is said beside it.
  const isStepsOwn = entries.some((entry) => entry.type === 'step.ended' && entry.data.outcome === 'failed');
  if (faults === 0 && (outcome === 'halted' || (error?.kind !== 'unprotected_position' && !isStepsOwn)))
    return ended(`, with ${error?.kind ?? 'no error'} instead of unprotected_position`);
  return [];
}

/** Faults of a test: what repeats counts as two. Fills, prices and late fills are no faults. */
function countFaults({ rules, crashes, simulator, feeds }: TestCase): number {
  const unread = Object.values(feeds).some((script) =>
    (script.kind === 'points' ? [script.points] : Object.values(script.markets))
      .flat()
      .some(({ value }) => value === undefined),
  );
  const own = rules.filter(isFault).map(({ call }) => (call?.first === call?.last && call !== undefined ? 1 : 2));
  return (
    own.reduce((sum, each) => sum + each, 0) + crashes.length + (unread ? 2 : 0) + 2 * (simulator.faults ?? []).length
  );
}

function isFault({ reply, http, error, lost, malformed, delayMs }: VenueRule): boolean {
  return [reply, http, error, lost, malformed].some((each) => each !== undefined) || delayMs > 0;
}

function track(entries: CaseResult['entries']): OrderTracker {
  const tracker = new OrderTracker({ absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs });
  for (const entry of entries) tracker.apply(entry);
  return tracker;
}

/** What must hold whatever the runbook declares. */
export function findProblems(result: CaseResult): readonly string[] {
  const problems: string[] = [];
  if (result.problem !== undefined) problems.push(`the run did not end: ${result.problem}`);
  else if (!result.entries.some(({ type }) => type === 'run.ended')) problems.push('the run has no end');
  problems.push(...findSecondOrders(result), ...findUnaccounted(result));
  const chain = verifyChain(result.stored);
  if (!chain.ok) problems.push(`the journal does not verify: ${chain.problem.detail}`);
  return problems;
}

/** A second POST for an intent is allowed only where the first certainly had no effect, or with `resend` (orders.md, Unknown outcomes). */
function findSecondOrders({ entries, venue }: CaseResult): readonly string[] {
  const resends = new Set<string>();
  for (const entry of entries) {
    const intent = entry.type === 'call.intended' ? entry.data.intent : undefined;
    if (intent?.onAmbiguous === 'resend') resends.add(intent.clientOrderId);
  }
  const open = new Map<string, Sent>();
  const problems: string[] = [];
  for (const sent of venue.sent) {
    const id = sent.params['client_order_id'];
    if (sent.name !== 'POST /orders' || id === undefined) continue;
    const before = open.get(id);
    if (before !== undefined && !resends.has(id))
      problems.push(
        `order ${id} was sent as request ${before.number}, which may have placed it, and again as request ${sent.number}`,
      );
    if (mayHavePlaced(sent)) open.set(id, sent);
  }
  return problems;
}

/** Whether a POST may have created an order: any reply except a rejection. */
function mayHavePlaced({ reply }: Sent): boolean {
  if (reply === undefined) return true;
  if (reply.kind === 'failure') return reply.sent;
  return reply.status >= 500 || !/"success":false/.test(reply.body);
}

/** At the end the run knows the state of every open order of its own, or has halted and says so. */
function findUnaccounted({ entries, report, venue }: CaseResult): readonly string[] {
  const tracker = track(entries);
  const problems: string[] = [];
  if (report.outcome === 'halted') return problems;
  for (const { id, client_order_id: clientId, status } of venue.listOpenOrders()) {
    const own = tracker.get(clientId) ?? tracker.byId(id);
    const posted = venue.sent.some(({ params }) => clientId !== '' && params['client_order_id'] === clientId);
    if (own === undefined && posted)
      problems.push(`order ${clientId} is open at the venue (${status}) and missing from the journal`);
    if (own !== undefined && isTerminal(own.snapshot.state))
      problems.push(
        `order ${id} is open at the venue (${status}), but the run, which ${report.outcome}, records it as ${own.snapshot.state}`,
      );
  }
  // An order that a rule answered for has no book to compare with.
  const isSimulated = (id: string) => venue.orders.find({ order_id: id }) === undefined;
  for (const { id, client_order_id: clientId, filled, status, terminal } of venue.simulator.books().orders) {
    const own = isSimulated(id) ? (tracker.get(clientId) ?? tracker.byId(id)) : undefined;
    if (own === undefined) continue;
    const { state } = own.snapshot;
    const known = getExposure(own.snapshot).filled;
    if (isTerminal(state) && !decimal(known).eq(decimal(filled)))
      problems.push(`order ${id} has filled ${filled} at the venue, and ${known} in the journal of the run`);
    if (terminal && isResting(state) && isStop(own.intent.type) && decimal(filled).isZero())
      problems.push(`stop ${id} is ${status} at the venue, and the run, which ${report.outcome}, counts on it`);
  }
  for (const order of tracker.orders()) {
    const { state } = order.snapshot;
    if (isWorking(state) && isInDoubt(state))
      problems.push(
        `order ${order.intent.clientOrderId} is ${state}, and the run ${report.outcome} instead of halting`,
      );
  }
  return problems;
}
