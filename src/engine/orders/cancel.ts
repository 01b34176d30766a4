/**
 * Cancels orders and waits until their end is known: one of ours, one of another origin, or all of the account. An
 * acknowledged cancel is an intent; repeating a cancel is always harmless.
 */
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { type EndpointName, getEndpoint, type Params } from '../../venue/catalogue.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import { CANCEL_WITHIN_MS, POLL_MS, REPEAT_DELAYS_MS } from '../../venue/order/polling.ts';
import { makeCancelParams, makeReadParams, type OrderRef } from '../../venue/order/requests.ts';
import { isInDoubt, isPlaced, isTerminal } from '../../venue/order/states.ts';
import { type CallOutcome, NOT_RECORDED, SWEEP, type VenueCall } from '../../venue/port.ts';
import type { OrderRecord } from '../../venue/records.ts';
import { toFailure } from '../failure.ts';
import { Cancellation, Halt, StepFailure } from '../interruption.ts';
import type { OrderHandle } from '../readings/handles.ts';
import {
  callWhileWanted,
  conclude,
  type OrderManagerParts,
  type OrderRequestContext,
  refer,
} from '../readings/parts.ts';
import {
  getOrderName,
  haltForQuarantine,
  hasUnknownStatus,
  isBeingCancelled,
  isEnded,
  isQuarantined,
  toJsonOrder,
} from '../readings/status.ts';
import type { OrderWatch } from '../readings/watch.ts';
import { STEP_SWEEP, type SweepAnswer, sweep } from '../sweep.ts';
import { sleepUntil } from '../waiting.ts';

export class Cancelling {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  /** Orders that were cancelled because no record confirmed them, and that showed no end in time: the venue does not decide. */
  readonly overdue = new Set<TrackedOrder>();

  constructor(run: OrderManagerParts, watch: OrderWatch) {
    this.run = run;
    this.watch = watch;
  }

  /**
   * Cancels an order of ours. One that has ended already needs no request. `isLost`: a cancel under way has shown no end in time. Throws
   * StepFailure where a record shows it still working, or where no answer comes.
   */
  async own(
    order: TrackedOrder,
    target: AwaitTarget,
    at: OrderRequestContext,
    { most = TIMINGS.cancelTries, isLost = false }: { readonly most?: number; readonly isLost?: boolean } = {},
  ): Promise<void> {
    for (let tries = 1; !isTerminal(order.snapshot.state); tries += 1) {
      // A cancel under way is awaited first.
      const outcome = tries === 1 && isBeingCancelled(order) && !isLost ? undefined : await this.send(order, at);
      if (outcome?.kind === 'denied') throw toFailure(outcome, at.step);
      if (outcome?.kind === 'rejected' && outcome.failure !== 'duplicate') {
        // Refused: most often a fill or an earlier cancel came first. The record decides, not the text.
        const urgency = at.exit === undefined ? 'reconcile' : 'resolve';
        const read = await this.watch.read(order, at.step, 'confirm', { class: urgency });
        this.watch.check();
        if (isTerminal(order.snapshot.state)) break;
        // Still `canceling`: the text says that it has ended and no record does yet; or no cancel was sent and no answer came.
        const isUnanswered = outcome.failure === 'transport' && read.kind !== 'confirmed';
        if (isUnanswered || order.snapshot.state !== 'canceling') throw toFailure(outcome, at.step);
      }
      if (target === 'accepted') break;
      const isOver = (each: TrackedOrder) => isEnded(each) || each.snapshot.state === 'open';
      const isDecided = await this.watch.seeWithin(CANCEL_WITHIN_MS, order, isOver, at);
      if (isTerminal(order.snapshot.state) || isQuarantined(order)) break;
      // Under an unknown status it may have ended long ago: another cancel would be answered the same.
      if (tries < most && !hasUnknownStatus(order, this.run.clock.now(), CANCEL_WITHIN_MS)) continue;
      if (isDecided)
        throw new StepFailure(
          'rejected',
          `the venue did not cancel order ${getOrderName(order)}, asked ${tries === 1 ? 'again' : `${tries} times`}${describeAnswer(outcome)}`,
          at.step,
        );
      conclude(this.run.log, order, { event: 'T_EXHAUSTED', because: `no end seen after ${tries} cancels` }, at.step);
      break;
    }
    if (isQuarantined(order)) throw haltForQuarantine(order, at.step);
  }

  /**
   * Cancels every order of the account, ours or not, and gives those that could still fill when the bounds of the sweep were
   * reached; they are journaled. Throws StepFailure where the venue refuses the request, or never shows which orders are left.
   */
  async all(at: OrderRequestContext): Promise<readonly OrderRecord[]> {
    const { venue, clock, log, callId } = this.run;
    let isTaken = false;
    const ask = async <E extends EndpointName>(name: E, params: Params<E>): Promise<SweepAnswer<E>> => {
      const isReading = getEndpoint(name).method === 'GET';
      const outcome = await venue.call({
        id: callId(at.step),
        step: at.step,
        endpoint: name,
        params,
        // Readings leave the tokens of cancels and heartbeats alone, and are given up where no tokens are free in time.
        class: isReading ? 'resolve' : 'protect',
        // One row that cannot be read must not hide which others are left: a step that closes positions waits behind this one.
        ...(isReading ? { deadlineAt: clock.now() + STEP_SWEEP.patienceMs, rows: 'each' } : {}),
        ...(isTaken ? { purpose: SWEEP } : {}),
      });
      if (outcome.kind === 'confirmed') {
        isTaken = true;
        const { result, unread } = outcome;
        return { kind: 'confirmed', result, ...(unread === undefined ? {} : { unread }) };
      }
      if (outcome.kind === 'denied' && outcome.code === NOT_RECORDED) throw new NotRecorded();
      const failure = toFailure(outcome, at.step);
      if (!isTaken || failure instanceof Halt) throw failure;
      return { kind: 'no answer', why: outcome.message };
    };
    const swept = await sweep(
      {
        ask,
        now: () => clock.now(),
        monotonic: () => clock.now(),
        pause: (ms) => sleepUntil(clock, clock.now() + ms, at.cancel),
      },
      STEP_SWEEP,
    ).catch((error: unknown) => {
      if (error instanceof NotRecorded) return undefined;
      throw error;
    });
    if (swept === undefined) return [];
    const { left, unread, cancels, readings, because } = swept;
    const inDoubt = log.tracker.unfinished().filter(({ snapshot: { state } }) => isInDoubt(state) && !isPlaced(state));
    log.append(
      'account.swept',
      {
        cancels,
        readings,
        ...(left === undefined ? {} : { left: left.map(toJsonOrder) }),
        ...(unread.length === 0 ? {} : { unread }),
        inDoubt: inDoubt.map(({ intent }) => intent.clientOrderId),
        ...(because === undefined ? {} : { because }),
      },
      at.step,
    );
    if (left !== undefined) return left;
    throw new StepFailure(
      'transport',
      `the venue accepted cancel_all, but did not show which orders are left: ${because ?? 'no answer'}`,
      at.step,
    );
  }

  /** Cancels an order that is not of this run. It has no tracker, so its record is read. */
  async external(handle: OrderHandle, target: AwaitTarget, at: OrderRequestContext): Promise<void> {
    let sends = 0;
    const make = () => {
      sends += 1;
      return { step: at.step, params: makeCancelParams<never>(referToRecord(handle)), class: 'protect' as const };
    };
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.repeat(make, { cancel: at.cancel });
      if (outcome.kind === 'unresolved') throw new StepFailure('transport', outcome.message, at.step);
      if (outcome.kind === 'rejected' && outcome.failure === 'rejected') {
        // Refused: most often it has ended. The record decides, not the text.
        await this.readExternal(handle, at);
        // By a cancel before this one, whose answer was lost.
        if (handle.terminal && sends > 1) return;
        if (handle.terminal)
          throw new StepFailure('not_found', `order ${handle.id} is ${handle.status} already`, at.step);
      }
      if (outcome.kind !== 'confirmed') throw toFailure(outcome, at.step);
      if (target !== 'terminal' || (await this.awaitEnd(handle, at))) return;
      if (tries >= TIMINGS.cancelTries)
        throw new StepFailure('rejected', `the venue did not cancel order ${handle.id} after ${tries} tries`, at.step);
    }
  }

  /** Reads an order that is not of this run until it has ended; false when it still works after a while. */
  private async awaitEnd(handle: OrderHandle, at: OrderRequestContext): Promise<boolean> {
    const { clock } = this.run;
    const until = clock.now() + CANCEL_WITHIN_MS;
    for (let reads = 1; clock.now() < until; reads += 1) {
      await sleepUntil(clock, clock.now() + (REPEAT_DELAYS_MS[reads] ?? POLL_MS), at.cancel);
      await this.readExternal(handle, at);
      if (handle.terminal) return true;
    }
    return false;
  }

  /** Reads the record of an order that is not of this run. Throws StepFailure where there is no record, or no answer. */
  async readExternal(handle: OrderHandle, at: OrderRequestContext): Promise<void> {
    const outcome = await callWhileWanted(at.cancel, (wanted) =>
      this.run.venue.call({
        id: this.run.callId(at.step),
        step: at.step,
        endpoint: 'GET /orders',
        params: makeReadParams<never>(
          referToRecord(handle),
          this.watch.lookFrom(Math.floor(handle.timestamp.us / 1000)),
        ),
        class: 'reconcile',
        purpose: 'refresh',
        wanted,
      }),
    );
    if (outcome.kind !== 'confirmed') throw toFailure(outcome, at.step);
    const [record] = outcome.result;
    if (record === undefined) throw new StepFailure('not_found', `order ${handle.id} was not found`, at.step);
    handle.touch(record);
  }

  /** Sends one cancel of ours, repeated while its outcome is unknown. */
  send(order: TrackedOrder, at: OrderRequestContext): Promise<CallOutcome<'DELETE /orders'>> {
    const cancel = () => ({
      step: at.step,
      params: makeCancelParams<never>(refer(order)),
      class: 'protect' as const,
      clientOrderId: order.intent.clientOrderId,
      ...(at.exit === undefined ? {} : { recorded: true as const, consent: at.exit }),
    });
    // What the run has placed is cancelled also where its step has ended.
    return this.repeat(cancel, { cancel: new Cancellation(), isOver: () => isTerminal(order.snapshot.state) });
  }

  /** Repeats a cancel while its outcome is unknown, as long as the scope lasts, or until it is over. */
  private async repeat(
    make: () => Omit<VenueCall<'DELETE /orders'>, 'id' | 'endpoint'>,
    { cancel: scope, isOver = () => false }: { readonly cancel: Cancellation; readonly isOver?: () => boolean },
  ): Promise<CallOutcome<'DELETE /orders'>> {
    const { clock, venue, callId } = this.run;
    for (let tries = 0; ; tries += 1) {
      const cancel = make();
      const outcome = await venue.call({ ...cancel, id: callId(cancel.step), endpoint: 'DELETE /orders' });
      const mayRepeat =
        outcome.kind === 'unresolved' ||
        (outcome.kind === 'rejected' && ['transport', 'rate_limited', 'unauthorized'].includes(outcome.failure));
      const delay = REPEAT_DELAYS_MS[tries];
      if (!mayRepeat || delay === undefined || isOver()) return outcome;
      const hinted = outcome.kind === 'rejected' ? (outcome.retryAfterMs ?? 0) : 0;
      await sleepUntil(clock, clock.now() + Math.max(delay, hinted), scope);
    }
  }
}

/** An order of another origin, which only the venue's id names. */
function referToRecord({ id, market_id }: OrderHandle): OrderRef {
  return { market: market_id, clientOrderId: '', venueId: id };
}

/** Thrown where a recording has no readings after cancel_all: it then counts as having cancelled all. */
class NotRecorded extends Error {}

/** The answer to the last cancel, where it was no acknowledgement; empty otherwise. */
function describeAnswer(outcome: CallOutcome<'DELETE /orders'> | undefined): string {
  return outcome === undefined || outcome.kind === 'confirmed' ? '' : ` (${outcome.message})`;
}
