/**
 * Places an order and finds out whether it is at the venue. Never sends a second POST for an intent whose first may have
 * arrived (orders.md, "Unknown outcomes").
 */
import { formatCount } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { deriveClientOrderId } from '../../venue/order/identity.ts';
import { getExposure } from '../../venue/order/life.ts';
import { RESENDS } from '../../venue/order/polling.ts';
import { makePlaceParams } from '../../venue/order/requests.ts';
import { isWorking } from '../../venue/order/states.ts';
import type { OrderTerms, VenueCall } from '../../venue/port.ts';
import { toFailure } from '../failure.ts';
import { type Halt, StepFailure } from '../interruption.ts';
import type { OrderHandle, OrderHandles } from '../readings/handles.ts';
import {
  callWhileWanted,
  conclude,
  describeTerms,
  hasSameTerms,
  makeIntent,
  type OrderManagerParts,
  type OrderRequestContext,
  selectLimits,
  type Terms,
} from '../readings/parts.ts';
import { getOrderName, haltForQuarantine } from '../readings/status.ts';
import type { RefusedOrders } from './refused.ts';
import type { Resolution } from './resolution.ts';

interface Placed {
  attempt: number;
  order: TrackedOrder | undefined;
}

/** Why an order would be denied here; `code`: of the limit or the switch. */
export interface Denial {
  readonly code: string;
  readonly failure: StepFailure | Halt;
}

interface PlacingParts {
  readonly resolution: Resolution;
  readonly refused: RefusedOrders;
  readonly handles: OrderHandles;
  /** Resolves when no cancel_all of the run is under way. */
  readonly swept: () => Promise<unknown>;
  /** Marks an order as not wanted any more: it is cancelled where it appears after all. */
  readonly giveUp: (order: TrackedOrder) => void;
}

export class Placing {
  private readonly run: OrderManagerParts;
  private readonly parts: PlacingParts;
  /** Orders that were refused for their rate, and not looked up since. */
  private readonly limited = new Set<TrackedOrder>();

  constructor(run: OrderManagerParts, parts: PlacingParts) {
    this.run = run;
    this.parts = parts;
  }

  /**
   * Places an order and resolves when it is known to be at the venue: acknowledged or found. Throws StepFailure when it is
   * certainly not there, Halt when that is unknown.
   */
  async place(at: OrderRequestContext, leg: string, terms: Terms): Promise<OrderHandle> {
    const placed = this.recallPlaced(at, leg);
    const before = placed.order;
    if (before !== undefined && (await this.parts.refused.claim(before, at.cancel)))
      return this.adoptClaimed(before, terms, at.step);
    await this.parts.swept();
    at.cancel.check();
    await this.run.heartbeat.beforeOrder(at.step);
    // Arming the switch takes time, and so does looking up an order that was rate-limited.
    at.cancel.check();
    if (before !== undefined && (leg !== '' ? isKept(before, at.step) : isWorking(before.snapshot.state))) {
      if (!hasSameTerms(before.intent, terms)) this.alarmTerms(before, terms, at.step);
      return this.parts.handles.get(before);
    }
    const limited = await this.findLimited(at, leg);
    if (limited !== undefined && before !== undefined) return this.adoptClaimed(before, terms, at.step);
    const again = before !== undefined && before.snapshot.state === 'draft' && hasSameTerms(before.intent, terms);
    if (!again) {
      if (before?.snapshot.state === 'draft')
        conclude(this.run.log, before, { event: 'DENY', because: 'superseded by other terms' }, at.step);
      placed.attempt += 1;
    }
    const id = again ? before.intent.clientOrderId : this.deriveId(at, leg, terms, placed.attempt);
    const intent = makeIntent(terms, id);
    at.cancel.check();
    return this.post(at, placed, intent);
  }

  /** See OrderManager. */
  async findLimited(at: OrderRequestContext, leg: string): Promise<OrderHandle | undefined> {
    const { order } = this.recallPlaced(at, leg);
    if (order === undefined || !this.limited.delete(order)) return undefined;
    return (await this.parts.resolution.lookUpOnce(order, at.step)) ? this.adopt(order, at.step) : undefined;
  }

  /** See OrderManager. One that gets no answer in time is looked up the next time. */
  async lookUpLimited(step: string, withinMs: number): Promise<void> {
    for (const order of [...this.limited]) {
      if (!(await this.parts.resolution.lookUpWithin(withinMs, order, step))) continue;
      this.limited.delete(order);
      if (order.snapshot.state !== 'draft') this.parts.giveUp(order);
    }
  }

  /** See OrderManager. Its call has the leg for a number: one that is not journaled takes none. */
  async findDenial(at: OrderRequestContext, leg: string, terms: Terms): Promise<Denial | undefined> {
    const intent = makeIntent(terms, this.deriveId(at, leg, terms, 1));
    const call = this.makeCall(at, intent, `${at.step}#${leg}`);
    const outcome = await this.run.venue.findDenial(call);
    return outcome?.kind === 'denied' ? { code: outcome.code, failure: toFailure(outcome, at.step) } : undefined;
  }

  private deriveId(at: OrderRequestContext, leg: string, { tag }: Terms, attempt: number): string {
    const { account, run } = this.run.setup;
    const path = leg === '' ? at.step : `${at.step}#${leg}`;
    return deriveClientOrderId({ account, run, path, attempt, ...(tag === undefined ? {} : { tag }) });
  }

  private makeCall(at: OrderRequestContext, intent: OrderTerms, id: string): VenueCall<'POST /orders'> {
    const { clientOrderId } = intent;
    return {
      id,
      step: at.step,
      endpoint: 'POST /orders',
      params: makePlaceParams<never>(intent, clientOrderId),
      // Its stops are cancelled: it must not wait behind what adds risk, nor for the tokens that their cancels may use.
      class: at.exit === undefined ? 'enter' : 'resolve',
      intent,
      clientOrderId,
      ...(at.exit === undefined ? {} : { consent: at.exit }),
      ...selectLimits(at),
    };
  }

  private async post(at: OrderRequestContext, placed: Placed, intent: OrderTerms): Promise<OrderHandle> {
    for (let sends = 1; ; sends += 1) {
      // Resolving the first attempt may have taken longer than the deadman switch lasts.
      if (sends > 1) await this.beforeResend(at);
      const outcome = await callWhileWanted(at.cancel, (wanted) =>
        this.run.venue.call({ ...this.makeCall(at, intent, this.run.callId(at.step)), wanted }),
      );
      const order = this.run.log.tracker.get(intent.clientOrderId);
      if (order === undefined) throw new Error(`engine: intent ${intent.clientOrderId} did not reach the tracker`);
      placed.order = order;
      if (outcome.kind === 'rejected' && outcome.failure === 'rate_limited') this.limited.add(order);
      switch (outcome.kind) {
        case 'confirmed':
          return this.parts.handles.get(order);
        case 'denied':
          throw toFailure(outcome, at.step);
        case 'rejected': {
          if (outcome.failure === 'duplicate') break;
          // A refused session is definite by the venue's document. The look-up is late enough to find an order that was accepted anyway:
          // also behind the last refusal, because who believes that one sends another order.
          if (
            outcome.failure === 'unauthorized' &&
            !(await this.parts.resolution.lookUpRefused(order, at.step)) &&
            sends === 1
          )
            continue;
          if (outcome.failure === 'unauthorized' && order.snapshot.state !== 'draft') return this.adopt(order, at.step);
          if (outcome.definite || outcome.failure === 'transport' || outcome.failure === 'rate_limited')
            throw toFailure(outcome, at.step);
          if (await this.parts.refused.begin(order, at.step, at.cancel)) return this.adopt(order, at.step);
          throw toFailure(outcome, at.step);
        }
        case 'unresolved':
          break;
        default:
          outcome satisfies never;
      }
      await this.parts.resolution.resolve(order, at.step);
      if (order.snapshot.state !== 'absent') return this.adopt(order, at.step);
      if (intent.onAmbiguous !== 'resend' || sends > RESENDS) {
        this.parts.giveUp(order);
        throw new StepFailure(
          'not_placed',
          `no answer to the order ${intent.clientOrderId}, sent ${formatCount(sends, 'time')}, and it is proven not to be at the venue; it is sent again only under on_ambiguous: resend`,
          at.step,
        );
      }
    }
  }

  private async beforeResend(at: OrderRequestContext): Promise<void> {
    at.cancel.check();
    await this.parts.swept();
    await this.run.heartbeat.beforeOrder(at.step);
    at.cancel.check();
  }

  private adopt(order: TrackedOrder, step: string): OrderHandle {
    if (order.snapshot.state === 'quarantined') throw haltForQuarantine(order, step);
    return this.parts.handles.get(order);
  }

  /**
   * Adopts an order that appeared after its refusal. Throws StepFailure where this attempt wants other terms: the order is cancelled,
   * by the next attempt before it places its own, or when the run ends.
   */
  private adoptClaimed(order: TrackedOrder, terms: Terms, step: string): OrderHandle {
    if (hasSameTerms(order.intent, terms)) return this.adopt(order, step);
    this.alarmTerms(order, terms, step);
    this.parts.giveUp(order);
    throw new StepFailure(
      'rejected',
      `order ${getOrderName(order)} of an earlier attempt is at the venue with other terms (${describeTerms(order.intent)}) than this attempt wants (${describeTerms(terms)})`,
      step,
    );
  }

  private alarmTerms(order: TrackedOrder, terms: Terms, step: string): void {
    const { clientOrderId } = order.intent;
    const detail = { has: describeTerms(order.intent), wanted: describeTerms(terms) };
    this.run.log.append('order.alarmed', { clientOrderId, alarm: 'EarlierTerms', detail }, step);
  }

  private recallPlaced(at: OrderRequestContext, leg: string): Placed {
    const known = at.memory.get(`order:${leg}`) as Placed | undefined;
    const placed: Placed = known ?? { attempt: 0, order: undefined };
    at.memory.set(`order:${leg}`, placed);
    return placed;
  }
}

/**
 * Whether the order of a leg that an earlier attempt placed is that of this attempt too. One that has triggered is not placed
 * again: it would close the position a second time. Throws StepFailure where it was cancelled meanwhile.
 */
function isKept(order: TrackedOrder, step: string): boolean {
  const { snapshot } = order;
  const { state } = snapshot;
  if (isWorking(state) || state === 'closed') return true;
  if (state !== 'canceled') return false;
  throw new StepFailure(
    'cancelled',
    `order ${getOrderName(order)} of an earlier attempt was cancelled with ${getExposure(snapshot).filled} filled`,
    step,
  );
}
