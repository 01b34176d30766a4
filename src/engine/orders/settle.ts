/**
 * Settles the orders of a run before it ends, and again when a halted run is resumed: cancels are confirmed, unknown orders are
 * looked up, none is left in doubt.
 */
import type { TrackedOrder } from '../../journal/orders.ts';
import { type OrderSnapshot, TIMINGS } from '../../venue/order/context.ts';
import { CANCEL_WITHIN_MS, LOOKUP_EVERY_MS } from '../../venue/order/polling.ts';
import { isCovering, isStop } from '../../venue/position/residual.ts';
import { Cancellation, Halt, runEach, StepFailure } from '../interruption.ts';
import { OrderHandle, type OrderHandles } from '../readings/handles.ts';
import {
  conclude,
  listWorkingOrders,
  makeInternalRequest,
  type OrderManagerParts,
  type OrderRequestContext,
} from '../readings/parts.ts';
import {
  getOrderName,
  haltForQuarantine,
  haltForWorking,
  hasBeenShown,
  isBeingCancelled,
  isConfirmed,
  isEnded,
  isQuarantined,
} from '../readings/status.ts';
import type { OrderWatch } from '../readings/watch.ts';
import type { Amending } from './amend.ts';
import type { Cancelling } from './cancel.ts';
import type { Confirming } from './confirm.ts';
import type { RefusedOrders } from './refused.ts';
import type { Resolution } from './resolution.ts';

interface SettlingParts {
  readonly watch: OrderWatch;
  readonly resolution: Resolution;
  readonly refused: RefusedOrders;
  readonly amending: Amending;
  readonly cancelling: Cancelling;
  readonly confirming: Confirming;
  readonly handles: OrderHandles;
}

export class Settling {
  private readonly run: OrderManagerParts;
  private readonly parts: SettlingParts;
  /** Orders for which a cancel was asked: none of them is left working without an error, but for stops that cover. */
  private readonly unwanted = new Set<TrackedOrder>();
  /** Those for which their author's last word asked: stops among them are cancelled although they cover. */
  private readonly dismissed = new Set<TrackedOrder>();
  /** Cancels of undecided orders under way; each resolves to its error. */
  private readonly beside: Promise<unknown>[] = [];

  constructor(run: OrderManagerParts, parts: SettlingParts) {
    this.run = run;
    this.parts = parts;
  }

  /**
   * Begins to cancel an undecided order without awaiting it; `settle` does. Its requests belong to the settling of the run, not to
   * a step that goes on beside them. Throws Halt where the order is quarantined: whether it works is not known.
   */
  cancelBeside(order: TrackedOrder, asked: OrderRequestContext): void {
    this.markUnwanted(order, asked);
    const at = makeInternalRequest('settle', new Cancellation());
    const cancelled = this.parts.cancelling.own(order, 'terminal', at).then(
      () => undefined,
      (error: unknown) => error,
    );
    this.beside.push(cancelled);
    if (isQuarantined(order)) throw haltForQuarantine(order, asked.step);
  }

  /** Waits for the cancels that go on beside. Gives the first error. */
  async finishBeside(): Promise<unknown> {
    const errors = await Promise.all(this.beside.splice(0));
    return errors.find((error) => error !== undefined);
  }

  /** Marks an order for which a step asked a cancel. One that makes way for an exit is not the last word: the exit wants the position gone. */
  markUnwanted(order: TrackedOrder, at?: OrderRequestContext): void {
    this.unwanted.add(order);
    if (at?.isLastWord === true && at.exit === undefined) this.dismissed.add(order);
  }

  /** Leaves an order alone that covers what the run has opened, and journals that; false where it does not. */
  keepCovering(order: TrackedOrder, step: string): boolean {
    const { log } = this.run;
    if (!isCovering(order, log.tracker.orders())) return false;
    const { clientOrderId, market, size } = order.intent;
    log.append('order.alarmed', { clientOrderId, alarm: 'StopKept', detail: { market, size } }, step);
    return true;
  }

  /**
   * Settles the orders before a run ends: cancels are confirmed, and drafts are closed. Where the run failed (`failed`), every
   * order is confirmed as well, because the step that would have waited for it may have been abandoned. Throws Halt where an
   * order to be cancelled may still work: a clean end would hide it.
   */
  async settle(step: string, cancel: Cancellation, failed: boolean): Promise<void> {
    const at = makeInternalRequest(step, cancel);
    const errors = [await this.parts.refused.settle(), await this.finishBeside()];
    const unsettled = errors.find((error) => error !== undefined);
    const eachWorking = (act: (order: TrackedOrder) => Promise<void> | false) =>
      runEach(...listWorkingOrders(this.run.log).map((order) => async () => act(order)));
    // An order of which nothing can be found out must not leave another one working.
    await runEach(
      () =>
        eachWorking((order) => order.snapshot.state === 'amending' && this.parts.amending.settle(order, step, cancel)),
      () => eachWorking((order) => failed && !isConfirmed(order) && this.settleUnconfirmed(order, at)),
      () => this.cancelAll(this.listLeftOver(), at),
      async () => this.closeDrafts(step),
      async () => {
        if (unsettled !== undefined) throw unsettled;
      },
    );
  }

  /** Orders that a step wanted cancelled, or that are being cancelled. */
  private listLeftOver(): readonly TrackedOrder[] {
    return listWorkingOrders(this.run.log).filter(
      (order) => !isQuarantined(order) && (order.snapshot.state === 'canceling' || this.unwanted.has(order)),
    );
  }

  /**
   * Throws Halt where the fate of an order is unknown, also where a step handled that: only a run that has halted is looked at again,
   * by a person and by `resume`.
   */
  requireKnown(step: string): void {
    const doubtful = listWorkingOrders(this.run.log).find(isQuarantined);
    if (doubtful !== undefined) throw haltForQuarantine(doubtful, step);
  }

  /**
   * What becomes of a stop of which a step before the last word of its author asked the cancel: `kept` where it covers, `lost` where
   * that cancel has shown no end in time.
   */
  private async judgeStop(
    order: TrackedOrder,
    { step, cancel }: OrderRequestContext,
  ): Promise<'kept' | 'lost' | undefined> {
    if (!isStop(order.intent.type) || this.dismissed.has(order)) return undefined;
    const isDecided = (each: TrackedOrder) => isEnded(each) || each.snapshot.state === 'open';
    // No further cancel is sent before it is known whether the first one was lost.
    const isLost =
      isBeingCancelled(order) && !(await this.parts.watch.waitWithin(CANCEL_WITHIN_MS, order, isDecided, { cancel }));
    if (this.keepCovering(order, step)) return 'kept';
    return isLost ? 'lost' : undefined;
  }

  /** Cancels all of them but stops that cover, even after one fails. Throws Halt that names those which may still work. */
  private async cancelAll(orders: readonly TrackedOrder[], at: OrderRequestContext): Promise<void> {
    const errors: unknown[] = [];
    const left: string[] = [];
    let why = '';
    for (const order of orders) {
      // A cancel that failed is retried once; `resume` does the rest. A cancel that was acknowledged and not awaited has not failed.
      const hasFailed = this.unwanted.has(order) && !isBeingCancelled(order);
      const tries = hasFailed ? 1 : TIMINGS.cancelTries;
      this.unwanted.add(order);
      try {
        const stop = await this.judgeStop(order, at);
        if (stop === 'kept') continue;
        await this.parts.cancelling.own(order, 'terminal', at, { most: tries, isLost: stop === 'lost' });
        this.parts.handles.get(order).touch();
      } catch (error) {
        if (error instanceof StepFailure) {
          left.push(`${getOrderName(order)} (client order id ${order.intent.clientOrderId})`);
          why = error.message;
        } else errors.push(error);
      }
    }
    if (left.length > 0) throw haltForWorking(left, why, at.step);
    const worst = errors.find((error) => error instanceof Halt) ?? errors[0];
    if (worst !== undefined) throw worst;
  }

  /** Confirms an order that no step awaits any more, or cancels it. */
  private async settleUnconfirmed(order: TrackedOrder, at: OrderRequestContext): Promise<void> {
    try {
      await this.parts.confirming.confirm(order, at);
    } catch (error) {
      // It was cancelled; its fills are read at the end of the run.
      if (!(error instanceof StepFailure)) throw error;
    } finally {
      this.parts.handles.get(order).touch();
    }
  }

  /**
   * Looks up every order whose fate was unknown, cancels those that rest, but for a stop that covers what the run has opened, and
   * closes drafts.
   * Throws Halt while one of them is still unknown, or when the venue does not answer. An order that the venue has never shown is
   * not cancelled: it takes no cancel without its id.
   */
  async settleDoubts(step: string): Promise<void> {
    const cancelRest = () => {
      const resting = listWorkingOrders(this.run.log).filter((order) => !isQuarantined(order) || hasBeenShown(order));
      return this.cancelAll(resting, makeInternalRequest(step, new Cancellation()));
    };
    await runEach(() => this.parts.resolution.settleDoubts(step), cancelRest);
    this.closeDrafts(step);
  }

  /**
   * Looks once more, for as long as given in all, ms, for each order that was proven absent: one that shows all the same is settled as any
   * other that no step wants. Where it was sent again, at a venue that takes a client order id twice, what shows of its earlier POSTs
   * is another order, which is cancelled. Throws Halt where that may still work, or has filled: no figure of the run has these fills.
   */
  async lookForLate(step: string, withinMs: number): Promise<void> {
    const { log, clock } = this.run;
    const now = clock.now();
    const how = { class: 'resolve', deadlineAt: now + withinMs } as const;
    for (const order of log.tracker.orders().filter(({ snapshot }) => mayShowLate(snapshot, now))) {
      const records = await this.parts.watch.readNamesakes(order, step, how);
      this.parts.watch.check();
      for (const record of records)
        if (record.id !== order.snapshot.context.venueId)
          await this.cancelNamesake(OrderHandle.ofRecord(record), makeInternalRequest(step, new Cancellation()));
    }
  }

  private async cancelNamesake(handle: OrderHandle, at: OrderRequestContext): Promise<void> {
    const name = `${handle.id} (client order id ${handle.client_order_id}, sent again since)`;
    if (!handle.terminal)
      try {
        await this.parts.cancelling.external(handle, 'terminal', at);
      } catch (error) {
        if (!(error instanceof StepFailure)) throw error;
        if (error.kind !== 'not_found') throw haltForWorking([name], error.message, at.step);
      }
    if (handle.filled.isZero()) return;
    const why = `order ${name} showed after it was proven not to be at the venue, with ${handle.filled} filled, which no figure of the run has`;
    throw new Halt('unknown_outcome', why, at.step);
  }

  private closeDrafts(step: string): void {
    for (const order of this.run.log.tracker.unfinished()) {
      if (order.snapshot.state === 'draft')
        conclude(this.run.log, order, { event: 'DENY', because: 'the run ended before it was sent' }, step);
    }
  }
}

/** Whether a POST of the order may still arrive, and no look-up has just asked for it. */
function mayShowLate({ state, context: { attempt, absence } }: OrderSnapshot, now: number): boolean {
  if (attempt > 1) return true;
  return state === 'absent' && now - (absence.lastSentAt ?? 0) >= LOOKUP_EVERY_MS;
}
