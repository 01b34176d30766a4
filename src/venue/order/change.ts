/**
 * The draft of an order that one event changes, and the changes every event may make: raise an alarm, ask for something, enter
 * a state. The table in transitions.ts decides which state.
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
  /** The event was accepted and adds nothing new, such as a fill that is already booked. */
  readonly redundant: boolean;
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A working copy of an order for one event. */
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

/** Makes the changes of entering a state, whichever event led there. */
export function enter(draft: Draft, event: OrderEvent): void {
  const { order, from, to } = draft;
  order.since = event.at;
  // What was seen before an amend says nothing of the instant of this one.
  if (isTerminal(to) || to === 'amending') order.phantom = undefined;
  if (isTerminal(to)) {
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
  // A cancel that was requested before there was an order to cancel, or that was lost, is requested again.
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
