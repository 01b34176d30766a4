/**
 * Handles events that the table does not accept: dropped and counted, refused as a caller's mistake, or kept as a contradiction
 * with both facts. No event is lost, none fails a runbook, and three contradictions within a minute need a person.
 */

import { begin, type Change, type Draft, enter, NOTHING, raise, toChange, want } from './change.ts';
import {
  type OrderAlarm,
  type OrderAlarmName,
  type OrderContext,
  type OrderEvent,
  type OrderSnapshot,
  TIMINGS,
} from './context.ts';
import { bookFillOfOrder, takeFilled } from './filled.ts';
import { pickLarger } from './fills.ts';
import { isForeign, isObservation } from './guards.ts';
import type { OrderState } from './states.ts';

/** Applies an event that the table does not accept: counts it, or keeps it as a contradiction with both facts. */
export function applyAnomaly(
  { state, context }: OrderSnapshot,
  event: OrderEvent,
  outcome: '~' | '!' | 'X',
  quarantine: boolean,
): Change {
  if (outcome === '~') return { ...NOTHING, context: { ...context, stale: context.stale + 1 } };
  if (outcome === 'X') {
    return { ...NOTHING, context: { ...context, illegal: { ...context.illegal, total: context.illegal.total + 1 } } };
  }
  const draft = begin(context, state, quarantine ? 'quarantined' : state);
  contradict(draft, event);
  if (quarantine) enter(draft, event);
  return draft.redundant
    ? { ...NOTHING, context: { ...context, stale: context.stale + 1 }, redundant: true }
    : toChange(draft);
}

/** Whether this is the third contradiction on one order within 60 s, which needs a person (orders.md, Contradictions). */
export function isQuarantineDue(
  state: OrderState,
  context: OrderContext,
  event: OrderEvent,
  outcome: '~' | '!' | 'X',
): boolean {
  if (outcome !== '!' || state === 'quarantined' || !countsTowardsQuarantine(context, event)) return false;
  return listRecentIllegal(context, event.at).length + 1 >= TIMINGS.illegalEvents;
}

/** Keeps both facts of a contradiction, with one alarm per cell, and asks for a read that may explain it. */
function contradict(draft: Draft, event: OrderEvent): void {
  const { order, from } = draft;
  const foreign = isForeign(order, event);
  if (event.type === 'FILL' && !foreign) bookFillOfOrder(draft, event.fill);
  if (isObservation(event) && !foreign) takeFilled(draft, event.record, event.at, true);
  if (event.type === 'P_UNKNOWN_STATUS' && !foreign) {
    order.venueId ??= event.record.id;
    order.unknownStatus = { status: event.record.status, since: order.unknownStatus?.since ?? event.at };
  }
  if (draft.redundant) return;
  const status = isObservation(event) ? event.record.status : '';
  const cell = `${from} × ${event.type}${event.type === 'P_UNKNOWN_STATUS' ? ` ${status}` : ''}${foreign ? ' foreign' : ''}`;
  const { cells, total } = order.illegal;
  const recent = countsTowardsQuarantine(order, event)
    ? [...listRecentIllegal(order, event.at), event.at]
    : listRecentIllegal(order, event.at);
  const known = cells.includes(cell);
  order.illegal = { cells: known ? cells : [...cells, cell], recent, total: total + 1 };
  want(draft, 'resync');
  if (order.venueId !== undefined) want(draft, 'read_fills');
  if (!known) raise(draft, chooseAlarm(event, foreign), describeContradiction(order, from, event));
}

function chooseAlarm(event: OrderEvent, foreign: boolean): OrderAlarmName {
  if (foreign) return 'DuplicateOrder';
  return event.type === 'P_UNKNOWN_STATUS' ? 'UnknownStatus' : 'Contradiction';
}

function describeContradiction(order: OrderContext, from: OrderState, event: OrderEvent): OrderAlarm['detail'] {
  const shown: Record<string, string> = {};
  if (isObservation(event)) {
    shown['shownId'] = event.record.id;
    shown['shownStatus'] = event.record.status;
    shown['shownFilled'] = event.record.total_filled_size;
  } else if (event.type === 'FILL') {
    shown['fill'] = event.fill.id;
    shown['fillOrder'] = event.fill.order_id;
  }
  return {
    state: from,
    event: event.type,
    knownId: order.venueId ?? '',
    knownStatus: order.lastRecord?.status ?? '',
    knownFilled: pickLarger(order.filled, order.recordFilled),
    ...shown,
  };
}

/**
 * Whether a contradiction counts towards quarantine. An unknown status is tolerated (fault-matrix.md, row 56), and fills of a
 * rejected order are booked and alarmed while it keeps its status: stopping the market helps with neither.
 */
function countsTowardsQuarantine(context: OrderContext, event: OrderEvent): boolean {
  return isForeign(context, event) || (event.type !== 'P_UNKNOWN_STATUS' && event.type !== 'FILL');
}

function listRecentIllegal({ illegal }: OrderContext, at: number): readonly number[] {
  return illegal.recent.filter((each) => at - each <= TIMINGS.illegalWindowMs);
}
