/** The parts that the files of the order manager share: the context of a request, conclusions, and calls that can be withdrawn. */
import { formatSpan } from '../../base/format.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { EndpointName } from '../../venue/catalogue.ts';
import { type LimitRules, tighter } from '../../venue/limits/check.ts';
import { CONFIRM_WITHIN_MS } from '../../venue/order/polling.ts';
import type { OrderRef } from '../../venue/order/requests.ts';
import { isWorking } from '../../venue/order/states.ts';
import { type CallOutcome, type Consent, type OrderTerms, STEP_ENDED, type Wanted } from '../../venue/port.ts';
import { Abandoned, type AbandonReason, type Cancellation } from '../interruption.ts';
import type { RunJournal, RunPorts, RunSetup } from '../ports.ts';
import type { WallTime } from '../wall-time.ts';
import { hasUnknownStatus, isEnded } from './status.ts';

/** The context of a request about an order: the step, and the scope of its waits. */
export interface OrderRequestContext {
  /** The step's path with iterations. */
  readonly step: string;
  readonly cancel: Cancellation;
  /** Shared by the attempts of a step: its intents so far, by leg. */
  readonly memory: Map<string, unknown>;
  readonly limits: LimitRules | undefined;
  readonly reference: { readonly price: string; readonly at: number } | undefined;
  /**
   * The exit that its writes belong to. No cancel that makes way for it is sent that the journal cannot record, because the market order
   * could not be recorded either.
   */
  readonly exit?: Consent;
  /**
   * Its step is its author's last word about an order: nothing that they wrote follows it. A cancel in the steps, in `on_error` or in the
   * `finally` of a called runbook that was refused leaves a stop that covers alone: what was to follow it, an exit or another stop, did not.
   */
  readonly isLastWord?: boolean;
}
/** The parts of a run that the order manager needs. */
export interface OrderManagerParts extends RunPorts {
  readonly setup: RunSetup;
  readonly wall: WallTime;
  readonly heartbeat: {
    beforeOrder(step: string): Promise<void>;
    markWaiting(path: string, until: number): void;
  };
  callId(path: string): string;
}

export type Terms = Omit<OrderTerms, 'clientOrderId'> & { readonly tag?: string };

/** The limits of a write, and the reference of its price band. While a run halts only what certainly lowers exposure passes. */
export function selectLimits(at: OrderRequestContext): {
  limits?: LimitRules;
  reference?: { price: string; at: number };
} {
  const limits = restrict(at.limits, at.cancel);
  return {
    ...(limits === undefined ? {} : { limits }),
    ...(at.reference === undefined ? {} : { reference: at.reference }),
  };
}

/** The limits of a write in a scope: those given, and `mode: reducing` while the run halts. */
export function restrict(limits: LimitRules | undefined, { onlyReduces }: Cancellation): LimitRules | undefined {
  return onlyReduces ? tighter(limits ?? {}, { mode: 'reducing' }) : limits;
}

/** Makes a call that is withdrawn when its scope is cancelled before it was sent; then throws Abandoned. */
export async function callWhileWanted<E extends EndpointName>(
  cancel: Cancellation,
  make: (wanted: Wanted) => Promise<CallOutcome<E>>,
): Promise<CallOutcome<E>> {
  const wanted = cancel.createWithdrawal();
  try {
    const outcome = await make(wanted);
    if (outcome.kind !== 'denied' || outcome.code !== STEP_ENDED) return outcome;
    if (wanted.reason === undefined) throw new Error('engine: a call was withdrawn without a reason');
    return leaveWithdrawn(cancel, wanted.reason);
  } finally {
    wanted.end();
  }
}

/** Throws Abandoned for a request that was withdrawn. An interruption that is pending because nothing waited counts as delivered here. */
export function leaveWithdrawn(cancel: Cancellation, reason: AbandonReason): never {
  cancel.check();
  throw new Abandoned(reason);
}

/** How a request names the order: by the venue's id where that is known. */
export function refer({ intent, snapshot }: TrackedOrder): OrderRef {
  return { market: intent.market, clientOrderId: intent.clientOrderId, venueId: snapshot.context.venueId };
}

export type Conclusion = Omit<DataOf<'order.concluded'>, 'clientOrderId'>;

/** Journals what the engine concludes about an order without a new answer; the tracker folds it. */
export function conclude(log: RunJournal, order: TrackedOrder, conclusion: Conclusion, step: string): void {
  log.append('order.concluded', { clientOrderId: order.intent.clientOrderId, ...conclusion }, step);
}

/** The context of a request that no step makes: before the run ends, or when it is resumed. */
export function makeInternalRequest(step: string, cancel: Cancellation): OrderRequestContext {
  return { step, cancel, memory: new Map(), limits: undefined, reference: undefined };
}

/** Whether the venue has shown the order under an unknown status for so long that a person has to look. */
export function isUnknownTooLong(run: OrderManagerParts, order: TrackedOrder): boolean {
  return hasUnknownStatus(order, run.clock.now(), CONFIRM_WITHIN_MS);
}

/** Quarantines an order whose status has been unknown for too long. */
export function quarantineUnknown(run: OrderManagerParts, order: TrackedOrder, step: string): void {
  if (!isUnknownTooLong(run, order) || isEnded(order)) return;
  const because = `shown under an unknown status for ${formatSpan(CONFIRM_WITHIN_MS)}`;
  conclude(run.log, order, { event: 'T_EXHAUSTED', because }, step);
}

/** Orders of the run that work or may work at the venue. */
export function listWorkingOrders(log: RunJournal, market?: string): readonly TrackedOrder[] {
  return log.tracker
    .unfinished()
    .filter(({ intent, snapshot }) => (market === undefined || intent.market === market) && isWorking(snapshot.state));
}

/** The intent of an order from a step's terms. */
export function makeIntent(terms: Terms, id: string): OrderTerms {
  const { tag: _tag, ...rest } = terms;
  return { clientOrderId: id, ...rest };
}

/** Whether an intent has these terms, so that its order can be sent for them, or is the order that was wanted. */
export function hasSameTerms(intent: OrderTerms, terms: Terms): boolean {
  return (
    intent.market === terms.market &&
    intent.side === terms.side &&
    intent.type === terms.type &&
    intent.size === terms.size &&
    intent.price === terms.price &&
    intent.trigger === terms.trigger &&
    intent.timeInForce === terms.timeInForce
  );
}

/** Terms in a few words: `limit long 0.01 at 50000`. */
export function describeTerms({ type, side, size, price, trigger }: Terms): string {
  const at = [price === undefined ? '' : ` at ${price}`, trigger === undefined ? '' : ` triggered at ${trigger}`];
  return `${type} ${side} ${size}${at.join('')}`;
}
