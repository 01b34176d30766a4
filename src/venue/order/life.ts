/**
 * Folds one event over an order by the table of transitions, and answers which requests an order allows and how much it may
 * still fill. It reads no clock, sends nothing, and does not throw at anything a venue sends.
 */
import type { OrderRecord } from '../records.ts';
import { applyAnomaly, isQuarantineDue } from './anomalies.ts';
import type { Change } from './change.ts';
import {
  isPositionStop,
  type ObservationType,
  type OrderEvent,
  type OrderSnapshot,
  type OrderStep,
} from './context.ts';
import { computeShortfall, isSameDecimal, pickLarger } from './fills.ts';
import { GUARDS, isEndDoubted, isFilledUnseen, isForeign } from './guards.ts';
import { isWorking, type OrderState } from './states.ts';
import { type Outcome, TRANSITIONS } from './transitions.ts';
import { applyEvent } from './updates.ts';

/** Whether nothing more is to be read of what filled so far: a record has shown how an order ended, and the same as the fills. */
export function isComplete(order: OrderSnapshot): boolean {
  if (isFilledUnseen(order) || isEndDoubted(order)) return false;
  return isSameDecimal(order.context.filled, order.context.recordFilled);
}

/**
 * Whether a PUT may be sent. A new size only while nothing is filled, and never for a part of the position: the document does not say
 * whether the venue reads it as the whole, as the rest or as a fraction (fault-matrix.md, row 32).
 */
export function mayAmend(order: OrderSnapshot, change: { readonly size?: string | undefined } = {}): boolean {
  if (order.state !== 'open') return false;
  return change.size === undefined || (!isPositionStop(order.context.intent) && getExposure(order).filled === '0');
}

/**
 * The filled size and the most that can still fill, base currency, unsigned. `filled` is the larger of the fills read and the
 * filled size of the records. In `worstRemaining` an order of unknown fate counts whole, and an amend in doubt with the larger
 * of its sizes. A stop_loss or take_profit counts only with the sizes of its records.
 */
export function getExposure({ state, context }: OrderSnapshot): {
  readonly filled: string;
  readonly worstRemaining: string;
} {
  const filled = pickLarger(context.filled, context.recordFilled);
  if (!isWorking(state)) return { filled, worstRemaining: '0' };
  if (isPositionStop(context.intent)) return { filled, worstRemaining: context.remaining };
  const rest = pickLarger(context.remaining, computeShortfall(context.size, filled));
  const { amend } = context;
  const pending = amend?.outcome === undefined ? amend?.req?.size : undefined;
  return { filled, worstRemaining: pending === undefined ? rest : pickLarger(rest, pending) };
}

const OBSERVATIONS: Readonly<Record<string, ObservationType>> = {
  processing: 'P_PROCESSING',
  open: 'P_OPEN',
  placed: 'P_OPEN',
  amending: 'P_AMENDING',
  canceling: 'P_CANCELING',
  cancelingall: 'P_CANCELING',
  closed: 'P_CLOSED',
  canceled: 'P_CANCELED',
  rejected: 'P_REJECTED',
};

/** The event type of a record by its status; P_UNKNOWN_STATUS for any unknown text. */
export function classifyRecord(record: OrderRecord): ObservationType {
  return (Object.hasOwn(OBSERVATIONS, record.status) ? OBSERVATIONS[record.status] : undefined) ?? 'P_UNKNOWN_STATUS';
}

/** The event of a record that was read: `sentAt` is when the read was sent, `at` when its answer was known (epoch ms). */
export function toObservation(record: OrderRecord, sentAt: number, at: number): OrderEvent {
  return { type: classifyRecord(record), record, sentAt, at };
}

/** The table's outcome for an event: decides split cells, and calls a record of another order a contradiction. */
export function decideOutcome({ state, context }: OrderSnapshot, event: OrderEvent): Outcome {
  if (isForeign(context, event)) return '!';
  const cell = TRANSITIONS[event.type][state];
  if (typeof cell === 'string') return cell;
  for (const [guard, then] of cell.arms) if (GUARDS[guard](context, event)) return then;
  return cell.otherwise;
}

/** Folds one event over an order; pure. An event that the state does not accept is counted or kept as a contradiction, never lost. */
export function stepOrder(order: OrderSnapshot, event: OrderEvent): OrderStep {
  const outcome = decideOutcome(order, event);
  switch (outcome) {
    case '~':
    case '!':
    case 'X': {
      const quarantine = isQuarantineDue(order.state, order.context, event, outcome);
      return toStep(
        order,
        quarantine ? 'quarantined' : order.state,
        outcome,
        applyAnomaly(order, event, outcome, quarantine),
      );
    }
    case '.':
      return toStep(order, order.state, outcome, applyEvent(order.context, order.state, order.state, event));
    default:
      return toStep(order, outcome, outcome, applyEvent(order.context, order.state, outcome, event));
  }
}

function getDisposition(outcome: Outcome, redundant: boolean): OrderStep['disposition'] {
  if (redundant || outcome === '~') return 'stale';
  if (outcome === '!') return 'contradiction';
  if (outcome === 'X') return 'caller_error';
  return outcome === '.' ? 'updated' : 'moved';
}

function toStep(from: OrderSnapshot, state: OrderState, outcome: Outcome, change: Change): OrderStep {
  const isSame = state === from.state && change.context === from.context;
  return {
    snapshot: isSame ? from : { state, context: change.context },
    moved: state !== from.state,
    disposition: getDisposition(outcome, change.redundant),
    alarms: change.alarms,
    wants: change.wants,
  };
}
