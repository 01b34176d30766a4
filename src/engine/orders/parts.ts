import { formatSpan } from '../../base/format.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { EndpointName } from '../../venue/catalogue.ts';
import type { LimitRules } from '../../venue/limits/check.ts';
import { isWorking } from '../../venue/order/states.ts';
import { type CallOutcome, type OrderTerms, STEP_ENDED, type Wanted } from '../../venue/port.ts';
import { Abandoned, type Cancellation } from '../interruption.ts';
import type { RunJournal, RunPorts, RunSetup } from '../ports.ts';
import type { WallTime } from '../wall-time.ts';
import { CONFIRM_WITHIN_MS, hasUnknownStatus, isEnded } from './status.ts';

/** Where in the run a desk order is given: the step, and the scope its waits belong to. */
export interface OrderRequestContext {
  /** The step's path with iterations. */
  readonly step: string;
  readonly cancel: Cancellation;
  /** The same for every attempt of a step: which intents it has made, by leg. */
  readonly memory: Map<string, unknown>;
  readonly limits: LimitRules | undefined;
  readonly reference: { readonly price: string; readonly at: number } | undefined;
}
/** What the desk needs of the run. */
export interface OrderManagerParts extends RunPorts {
  readonly setup: RunSetup;
  readonly wall: WallTime;
  readonly heartbeat: { beforeOrder(step: string): Promise<void> };
  callId(path: string): string;
}

export type Terms = Omit<OrderTerms, 'clientOrderId'> & { readonly tag?: string };

/** The limits of a write, and the reference its price is measured against. */
export function limitsOf(at: OrderRequestContext): { limits?: LimitRules; reference?: { price: string; at: number } } {
  return {
    ...(at.limits === undefined ? {} : { limits: at.limits }),
    ...(at.reference === undefined ? {} : { reference: at.reference }),
  };
}

/** Makes a call that is given up when its scope is left before it has gone. Throws Abandoned where that was so. */
export async function whileWanted<E extends EndpointName>(
  cancel: Cancellation,
  make: (wanted: Wanted) => Promise<CallOutcome<E>>,
): Promise<CallOutcome<E>> {
  const wanted = cancel.withdrawal();
  try {
    const outcome = await make(wanted);
    if (outcome.kind !== 'denied' || outcome.code !== STEP_ENDED) return outcome;
    // Who hears of an interruption that nobody else was told of has been told.
    cancel.check();
    if (wanted.reason === undefined) throw new Error('engine: a call was withdrawn by nobody');
    throw new Abandoned(wanted.reason);
  } finally {
    wanted.end();
  }
}

export type Conclusion = Omit<DataOf<'order.concluded'>, 'clientOrderId'>;

/** Writes down what the engine concludes about an order without a new answer; the book takes it in. */
export function conclude(log: RunJournal, order: TrackedOrder, conclusion: Conclusion, step: string): void {
  log.append('order.concluded', { clientOrderId: order.intent.clientOrderId, ...conclusion }, step);
}

/** A desk order of the run itself, where no step gives one: before it ends, or when it is taken up again. */
export function internalRequest(step: string, cancel: Cancellation): OrderRequestContext {
  return { step, cancel, memory: new Map(), limits: undefined, reference: undefined };
}

/** Shown for so long under a status that nobody knows that waiting on would only hide it from people. */
export function isStranded(run: OrderManagerParts, order: TrackedOrder): boolean {
  return hasUnknownStatus(order, run.clock.now(), CONFIRM_WITHIN_MS);
}

export function strand(run: OrderManagerParts, order: TrackedOrder, step: string): void {
  if (!isStranded(run, order) || isEnded(order)) return;
  const because = `shown under an unknown status for ${formatSpan(CONFIRM_WITHIN_MS)}`;
  conclude(run.log, order, { event: 'T_EXHAUSTED', because }, step);
}

/** Orders of the run that rest or may rest. */
export function workingOrders(log: RunJournal, market?: string): readonly TrackedOrder[] {
  return log.tracker
    .orders()
    .filter(({ intent, snapshot }) => (market === undefined || intent.market === market) && isWorking(snapshot.state));
}
