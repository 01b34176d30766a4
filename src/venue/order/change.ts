/**
 * One event's working copy of an order, and what every event may do to it: raise an alarm, ask for something, enter a
 * state. Which state is decided by the table in transitions.ts.
 */
import {
  type OrderAlarm,
  type OrderAlarmName,
  type OrderContext,
  type OrderEvent,
  type OrderWant,
  TIMINGS,
} from './context.ts';
import { isTerminal, type OrderState } from './states.ts';

export interface Change {
  readonly context: OrderContext;
  readonly alarms: readonly OrderAlarm[];
  readonly wants: readonly OrderWant[];
  /** The event was taken and said nothing new: a fill that is booked already. */
  readonly redundant: boolean;
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** One event's working copy. */
export interface Draft {
  readonly order: Writable<OrderContext>;
  readonly from: OrderState;
  readonly to: OrderState;
  readonly alarms: OrderAlarm[];
  readonly wants: OrderWant[];
  redundant: boolean;
}

export const NOTHING = { alarms: [], wants: [], redundant: false } as const;

export function begin(context: OrderContext, from: OrderState, to: OrderState): Draft {
  return { order: { ...context }, from, to, alarms: [], wants: [], redundant: false };
}

export function toChange({ order, alarms, wants, redundant }: Draft): Change {
  return { context: order, alarms, wants, redundant };
}

export function raise(draft: Draft, alarm: OrderAlarmName, detail: OrderAlarm['detail']): void {
  draft.alarms.push({ alarm, detail });
}

export function want(draft: Draft, wanted: OrderWant): void {
  if (!draft.wants.includes(wanted)) draft.wants.push(wanted);
}

/** What entering a state means whatever led there. */
export function enter(draft: Draft, event: OrderEvent): void {
  const { order, from, to } = draft;
  order.since = event.at;
  if (isTerminal(to)) {
    order.phantom = undefined;
    order.terminalAt = event.at;
  } else if (isTerminal(from)) {
    order.terminalAt = undefined;
    order.settled = false;
    if (from !== 'absent') raise(draft, 'LateOrder', { from, to, event: event.type });
    else if (event.type !== 'SUBMIT') raise(draft, 'Reappeared', { to, event: event.type });
  }
  if (to === 'quarantined') {
    raise(draft, 'Quarantined', {
      from,
      event: event.type,
      notFound: order.absence.count,
      illegal: order.illegal.recent.length,
    });
  }
  // A cancel asked for while there was no order to cancel yet, or one that was lost, is asked for again.
  const live = to === 'processing' || to === 'open';
  if (
    live &&
    order.cancel !== undefined &&
    order.cancel.cause !== 'external' &&
    order.cancel.tries < TIMINGS.cancelTries
  ) {
    want(draft, 'cancel_again');
  }
}
