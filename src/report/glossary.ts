/**
 * Explains the words of a journal to a reader who never saw a runbook: verbs, events of an order, purposes of a call. A word
 * that is not in a table is shown unchanged.
 */

import type { DataOf, RunMode, RunOutcome, StepOutcome } from '../journal/entry.ts';
import type { OrderEventType } from '../venue/order/context.ts';

export const VERBS: Readonly<Record<string, string>> = {
  place: 'places an order',
  protect: 'places a stop-loss or take-profit for the position',
  close: 'closes what the run holds in a market by market orders',
  manage: 'holds a position between its stop-loss, take-profit and time limit until it is gone',
  amend: 'changes the price or size of an order',
  cancel: 'cancels orders',
  cancel_all: 'cancels every open order of the account',
  set_leverage: 'sets the leverage of a market',
  read_account: 'reads the account',
  read_tier: 'reads the volume tier',
  list_orders: 'lists orders',
  list_fills: 'lists fills',
  refresh: 'reads an order again',
  arm_deadman: 'arms the deadman switch',
  read_deadman: 'reads the deadman switch',
  disarm_deadman: 'disarms the deadman switch',
  refresh_session: 'renews the session',
  request: 'reads something the profile declares',
  let: 'names values',
  set: 'changes variables',
  assert: 'continues only if a condition is true',
  wait: 'waits',
  wait_for: 'waits for an order or a condition',
  for_each: 'runs its steps once for each element of a list',
  repeat: 'repeats its steps',
  parallel: 'runs several branches at the same time',
  if: 'runs its steps if the condition is true, else those of `else`',
  switch: 'takes the first branch whose condition is true',
  call: 'runs another runbook',
  approve: 'asks a person',
  notify: 'sends a message',
  stop: 'ends the run, as intended',
  fail: 'ends the run as failed',
};

export const ORDER_EVENT_MEANING = {
  SUBMIT: 'it was sent',
  DENY: 'it was denied before sending',
  AMEND: 'a change was sent',
  CANCEL: 'its cancel was requested',
  ACK: 'the venue acknowledged it',
  REFUSED: 'the venue refused it',
  RATE_LIMITED: 'the attempt placed nothing: not sent, or refused for its rate limit or its session',
  DUPLICATE: 'the venue already has its client order id',
  SUBMIT_UNKNOWN: 'no answer shows whether it arrived',
  AMEND_ACK: 'the venue acknowledged the change',
  AMEND_REFUSED: 'the venue refused the change',
  AMEND_UNKNOWN: 'no answer shows whether the change arrived',
  CANCEL_ACK: 'the venue acknowledged the cancel',
  CANCEL_FINAL: 'the venue cancelled it at once',
  CANCEL_REFUSED: 'the venue refused the cancel',
  CANCEL_UNKNOWN: 'no answer decides whether the order is cancelled',
  CANCELALL_ACK: 'the venue acknowledged the cancel of all orders',
  CANCELALL_UNKNOWN: 'no answer shows whether the cancel of all orders arrived',
  DEADMAN: 'the deadman switch must have fired',
  P_PROCESSING: 'a read shows it processing',
  P_OPEN: 'a read shows it open',
  P_AMENDING: 'a read shows it amending',
  P_CANCELING: 'a read shows it cancelling',
  P_CLOSED: 'a read shows it closed',
  P_CANCELED: 'a read shows it cancelled',
  P_REJECTED: 'a read shows it rejected',
  P_UNKNOWN_STATUS: 'a read shows an unknown status',
  P_NOT_FOUND: 'a read did not find it',
  FILL: 'it traded',
  T_CONFIRM: 'it was in flight for too long',
  T_EXHAUSTED: 'every attempt to find out has been used',
  T_SETTLE: 'the time for late fills is over',
} as const satisfies Record<OrderEventType, string>;

export const PURPOSES: Readonly<Record<string, string>> = {
  'start-up': 'to see what the account has open',
  lookup: 'to find out whether the order exists',
  confirm: 'to see what became of the order',
  'keep-alive': 'to keep the deadman switch from firing',
  undo: 'to undo an earlier step',
  fills: 'to see what traded',
  refresh: 'to read the order again',
  sweep: 'to see what has filled, or could still',
  arm: 'to arm the deadman switch',
  disarm: 'to disarm the deadman switch',
  verify: 'to check the deadman switch',
};

export const STEP_OUTCOMES = {
  succeeded: 'done',
  failed: 'failed',
  skipped: 'skipped, its condition is not true',
  halted: 'halted: an outcome is unknown',
  left: 'left, another branch was first',
} as const satisfies Record<StepOutcome | 'left', string>;

export const MODE_MEANING = {
  live: 'with real orders',
  simulated: 'against the simulated venue',
  paper: 'on paper: live feeds, orders at the simulated venue',
  fixtures: 'against recorded answers',
} as const satisfies Record<RunMode, string>;

/** What started a run. */
export const TRIGGERS: Readonly<Record<string, string>> = {
  manual: 'by hand',
  schedule: 'by its schedule',
  test: 'by a test',
};

export const RUN_OUTCOMES = {
  succeeded: 'succeeded: everything was done as written',
  failed: 'failed',
  stopped: 'stopped, as the runbook says',
  halted: 'halted: an outcome at the venue is unknown, or a person is needed',
} as const satisfies Record<RunOutcome, string>;

/** Follows the outcome of a run that had halted: a resume settled what its reason says. */
export const describeSettled = ({ hadHalted }: { readonly hadHalted?: true }) =>
  hadHalted === true ? ', settled after it had halted' : '';

/** Events of the deadman switch, in the story of a run. */
export const DEADMAN_EVENTS = {
  armed: 'armed',
  renewed: 'renewed',
  disarmed: 'disarmed',
  assumed_fired: 'must have fired: every open order of the account is assumed to be cancelled',
} as const satisfies Record<DataOf<'deadman.moved'>['event'], string>;

/** The word's meaning; undefined if the table has none. */
export function findMeaning(table: Readonly<Record<string, string>>, word: string): string | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
