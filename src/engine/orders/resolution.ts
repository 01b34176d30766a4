/** Finds out whether an order whose fate is unknown is at the venue, by look-ups only: it never sends the order again. */
import { formatCount, formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import {
  CONFIRM_WITHIN_MS,
  LOOKUP_EVERY_MS,
  LOOKUP_PATIENCE,
  LOOKUPS_MS,
  MARKET_PROOFS,
} from '../../venue/order/polling.ts';
import { makeMarketFillParams } from '../../venue/order/requests.ts';
import { isFound, isInDoubt } from '../../venue/order/states.ts';
import { SWEEP } from '../../venue/port.ts';
import { Cancellation, Halt } from '../interruption.ts';
import { conclude, type OrderManagerParts } from '../readings/parts.ts';
import { getOrderName, haltForQuarantine, hasBeenShown, hasUnknownStatus, isQuarantined } from '../readings/status.ts';
import type { OrderWatch } from '../readings/watch.ts';
import { sleepUntil } from '../waiting.ts';

/** How long the answer may take for which the end of a run waits, ms. */
const ANSWER_WITHIN_MS = 2000;

export class Resolution {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  /** How much of the run's time the wall clock alone has measured, while no process was there, ms: it may have been any other. */
  private unseenMs = 0;

  constructor(run: OrderManagerParts, watch: OrderWatch) {
    this.run = run;
    this.watch = watch;
  }

  /** Marks that so much of the run's time proves nothing. */
  markUnseen(ms: number): void {
    this.unseenMs += ms;
  }

  /**
   * Finds out whether an order whose POST got no answer is at the venue. Looks it up by client order id until it is found; or
   * until five look-ups found nothing, the last of them after the absence horizon, and the list of the market shows nothing either.
   * `offsets`: when to look first, ms; `looked`: called at each look-up that was answered and found nothing.
   */
  async resolve(
    order: TrackedOrder,
    step: string,
    { offsets = LOOKUPS_MS, looked }: { readonly offsets?: readonly number[]; readonly looked?: () => void } = {},
  ): Promise<void> {
    const { clock, setup, venue, callId } = this.run;
    const doubtAt = clock.now();
    const unseenBefore = this.unseenMs;
    const never = new Cancellation();
    let reads = 0;
    let proofs = 0;
    let isProven = false;
    let doubt = '';
    for (let round = 0; ; round += 1) {
      const offset = offsets[round] ?? (offsets.at(-1) ?? 0) + (round - offsets.length + 1) * LOOKUP_EVERY_MS;
      await sleepUntil(clock, Math.max(clock.now(), doubtAt + offset), never);
      const sentAt = clock.now();
      const outcome = await this.watch.read(order, step, 'lookup', { class: 'resolve' });
      this.watch.check();
      if (isFound(order.snapshot.state)) return;
      // It is there, under an unknown status: more look-ups would show the same.
      if (hasUnknownStatus(order, clock.now(), CONFIRM_WITHIN_MS)) break;
      const foundNothing = outcome.kind === 'confirmed';
      if (foundNothing) {
        reads += 1;
        looked?.();
      }
      const doubtedMs = sentAt - doubtAt - (this.unseenMs - unseenBefore);
      if (foundNothing && reads >= TIMINGS.absenceReads && doubtedMs > setup.absenceHorizonMs) {
        // Independent evidence, in case the look-up itself fails: the list of the market.
        const why = await this.watch.lookThroughMarket(order, step);
        isProven = why === undefined;
        doubt = why === undefined ? '' : ` (${why})`;
        if (isFound(order.snapshot.state)) return;
        proofs += 1;
        if (isProven || proofs === MARKET_PROOFS) break;
      }
      if (doubtedMs > LOOKUP_PATIENCE * setup.absenceHorizonMs) break;
    }
    await venue.call({
      id: callId(step),
      step,
      endpoint: 'GET /fills',
      params: makeMarketFillParams<never>(order.intent.market, this.watch.lookFrom(order.createdAt)),
      class: 'resolve',
      purpose: 'lookup',
    });
    const because = `${formatCount(reads, 'look-up')} found nothing in ${formatSpan(clock.now() - doubtAt)}${doubt}`;
    const unproven = isProven || reads < TIMINGS.absenceReads ? {} : { unproven: true as const };
    conclude(this.run.log, order, { event: 'T_EXHAUSTED', because, ...unproven }, step);
    if (isQuarantined(order)) throw haltForQuarantine(order, step, doubt);
  }

  /**
   * Looks an order up once that was refused with an unknown text, when it would be visible if it is there; true when it is.
   * Immediately, "not found" would only mean that it is not visible yet (venue-notes.md, surprise 2).
   */
  async lookUpRefused(order: TrackedOrder, step: string): Promise<boolean> {
    const { clock, setup } = this.run;
    const visibleAfter = Math.min(TIMINGS.closedLagMs, setup.absenceHorizonMs);
    await sleepUntil(clock, clock.now() + visibleAfter, new Cancellation());
    return this.lookUpOnce(order, step);
  }

  /** Looks an order up once by client order id; true when the venue knows it. */
  async lookUpOnce(order: TrackedOrder, step: string): Promise<boolean> {
    const outcome = await this.watch.read(order, step, 'lookup', { class: 'resolve' });
    if (outcome.kind === 'confirmed')
      return outcome.result.some((record) => record.client_order_id === order.intent.clientOrderId);
    // The look-up got no answer either: the order is still in doubt and is resolved as such.
    await this.resolve(order, step);
    return isFound(order.snapshot.state);
  }

  /** Looks an order up once where that does not take longer; false where no answer came. A recording need not hold it. */
  async lookUpWithin(ms: number, order: TrackedOrder, step: string): Promise<boolean> {
    const deadlineAt = this.run.clock.now() + ms;
    const outcome = await this.watch.read(order, step, SWEEP, {
      class: 'resolve',
      deadlineAt,
      answerMs: ANSWER_WITHIN_MS,
    });
    this.watch.check();
    return outcome.kind === 'confirmed';
  }

  /**
   * Looks up every order whose fate was unknown when the run halted. Throws Halt while one of them is still unknown, or when
   * the venue does not answer.
   */
  async settleDoubts(step: string): Promise<void> {
    let halt: Halt | undefined;
    for (const order of this.run.log.tracker.orders()) {
      if (!isInDoubt(order.snapshot.state)) continue;
      try {
        await this.settleDoubt(order, step);
      } catch (error) {
        if (!(error instanceof Halt)) throw error;
        halt ??= error;
      }
    }
    if (halt !== undefined) throw halt;
  }

  private async settleDoubt(order: TrackedOrder, step: string): Promise<void> {
    const outcome = await this.watch.read(order, step, 'lookup', { class: 'resolve' });
    if (outcome.kind !== 'confirmed')
      throw new Halt(
        'unknown_outcome',
        `order ${getOrderName(order)} could not be looked up: ${outcome.message}`,
        step,
      );
    // `absent`: it was proven before the run halted, and the venue still knows no such order. One that the venue has shown cannot
    // be proven absent: it is cancelled by its id.
    if (order.snapshot.state === 'absent' || hasBeenShown(order)) return;
    await this.resolve(order, step);
  }
}
