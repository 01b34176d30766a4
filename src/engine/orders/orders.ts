/**
 * Manages the orders of a run for its steps and for its end. Placing, confirming, amending, cancelling and settling have a file
 * each. Every request that was sent is awaited.
 */
import type { Decimal } from '../../base/decimal.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget } from '../../runbook/checked.ts';
import { COMPLETED_TOGETHER } from '../../venue/order/polling.ts';
import { isTerminal } from '../../venue/order/states.ts';
import type { OrderTerms } from '../../venue/port.ts';
import type { OrderRecord, Side } from '../../venue/records.ts';
import { toFailure } from '../failure.ts';
import { Cancellation, Halt } from '../interruption.ts';
import { Completing, type CompletingRequest } from '../readings/completing.ts';
import { ExitLook } from '../readings/exit-look.ts';
import { type OrderHandle, OrderHandles, requireOwnOrder } from '../readings/handles.ts';
import { LastLook, type LookRequest } from '../readings/last-look.ts';
import {
  callWhileWanted,
  listWorkingOrders,
  type OrderManagerParts,
  type OrderRequestContext,
  type Terms,
} from '../readings/parts.ts';
import { SeenEnds, ShortOrders } from '../readings/seen-ends.ts';
import { getOrderName, isQuarantined } from '../readings/status.ts';
import { OrderWatch } from '../readings/watch.ts';
import { createSignal, type Signal, waitFor } from '../waiting.ts';
import { Amending } from './amend.ts';
import { Cancelling } from './cancel.ts';
import { Confirming } from './confirm.ts';
import { type Denial, Placing } from './place.ts';
import { RefusedOrders } from './refused.ts';
import { Resolution } from './resolution.ts';
import { Settling } from './settle.ts';

export class OrderManager {
  readonly watch: OrderWatch;
  private readonly run: OrderManagerParts;
  private readonly handles = new OrderHandles();
  private readonly placing: Placing;
  private readonly confirming: Confirming;
  private readonly amending: Amending;
  private readonly cancelling: Cancelling;
  private readonly settling: Settling;
  private readonly completing: Completing;
  private readonly seenEnds: SeenEnds;
  private readonly lastLook: LastLook;
  private readonly exitLook: ExitLook;
  private readonly short: ShortOrders;
  private readonly completedAgain = new Set<OrderHandle>();
  private readonly refused: RefusedOrders;
  private readonly resolution: Resolution;
  /** Resolves when no cancel_all is under way: new orders and amends wait until its result is known. */
  private barrier: Promise<unknown> = Promise.resolve();
  /** The exits under way, by market, and the side of their orders. */
  private readonly exits = new Map<string, { readonly side: Side; readonly over: Signal<void> }>();

  constructor(run: OrderManagerParts) {
    this.run = run;
    const { handles } = this;
    const watch = new OrderWatch(run);
    const resolution = new Resolution(run, watch);
    const amending = new Amending(run, watch);
    const cancelling = new Cancelling(run, watch);
    const confirming = new Confirming(run, watch, cancelling);
    this.watch = watch;
    this.resolution = resolution;
    this.completing = new Completing(run, watch);
    this.seenEnds = new SeenEnds(run, watch, this.completing);
    this.lastLook = new LastLook(run, watch, this.completing, this.seenEnds);
    this.exitLook = new ExitLook(run, watch, this.completing, this.seenEnds);
    this.short = new ShortOrders(run.log.tracker);
    this.amending = amending;
    this.cancelling = cancelling;
    this.confirming = confirming;
    const refused = new RefusedOrders(run, resolution, cancelling);
    this.refused = refused;
    this.placing = new Placing(run, {
      resolution,
      refused,
      handles,
      swept: () => this.barrier,
      giveUp: (order) => this.settling.markUnwanted(order),
    });
    this.settling = new Settling(run, { watch, resolution, refused, amending, cancelling, confirming, handles });
  }

  /** Marks that so much of the run's time, ms, proves no order absent: the wall clock alone has measured it. */
  markUnseen(ms: number): void {
    this.resolution.markUnseen(ms);
  }

  handle(order: TrackedOrder): OrderHandle {
    return this.handles.get(order);
  }

  /**
   * Places an order and resolves when it is known to be at the venue: acknowledged or found. Throws StepFailure when it is
   * certainly not there, Halt when that is unknown. One that could close a position which an exit is closing waits for its end: both
   * together would open the opposite one.
   */
  async place(at: OrderRequestContext, leg: string, terms: Terms): Promise<OrderHandle> {
    this.short.update();
    if (at.exit === undefined) await this.waitForExit(terms.market, at.cancel, terms.side);
    return this.placing.place(at, leg, terms);
  }

  /**
   * Looks up the order of a leg that the venue refused for its rate limit, before another one takes its place. Gives it where it is
   * there all the same (reliability.md: a 429 is definite, and still looked up before the order is sent again).
   */
  findLimited(at: OrderRequestContext, leg: string): Promise<OrderHandle | undefined> {
    return this.placing.findLimited(at, leg);
  }

  /**
   * Looks up the orders that were refused for their rate and that no later attempt has asked about, each for as long as given, ms: one
   * that is there all the same is not wanted any more, and what it filled counts.
   */
  lookUpLimited(step: string, withinMs: number): Promise<void> {
    return this.placing.lookUpLimited(step, withinMs);
  }

  /** The denial with which the first order of a leg is certain to be denied here now, journaled as its own; undefined where it may pass. */
  findDenial(at: OrderRequestContext, leg: string, terms: Terms): Promise<Denial | undefined> {
    return this.placing.findDenial(at, leg, terms);
  }

  /**
   * Waits until the order has reached `target`. Throws StepFailure when it can no longer reach it. `endsAtOnce`: an order that
   * never rests, of which nothing else was written.
   */
  reach(handle: OrderHandle, target: AwaitTarget, at: OrderRequestContext, endsAtOnce = false): Promise<void> {
    return this.confirming.reach(handle, target, at, endsAtOnce);
  }

  /** The place of the first order that has reached `target`. Throws StepFailure when none can reach it any more. */
  reachAny(handles: readonly OrderHandle[], target: AwaitTarget, at: OrderRequestContext): Promise<number> {
    return this.confirming.reachAny(handles, target, at);
  }

  /** Reads the orders of this run until each is complete or the time is over; then updates their handles. */
  complete(handles: Iterable<OrderHandle>, request: CompletingRequest): Promise<void> {
    const touched = [...handles];
    const orders: TrackedOrder[] = [];
    for (const { own } of touched) if (own !== undefined) orders.push(own);
    const touch = () => {
      for (const handle of touched) handle.touch();
    };
    return this.completing.complete(orders, request).then(touch, (error: unknown) => {
      touch();
      throw error;
    });
  }

  /**
   * Reads again the orders that steps have handed out incomplete, after their failure was handled. Each once: where its fills
   * still lag then, steps that read it fail.
   */
  async completeHandled(request: CompletingRequest): Promise<void> {
    const again = this.listIncomplete().filter((handle) => !this.completedAgain.has(handle));
    for (const handle of again) this.completedAgain.add(handle);
    await this.complete(again, request);
  }

  /** The orders of this run whose handles were touched when they were not complete. */
  private listIncomplete(): readonly OrderHandle[] {
    return this.handles.list().filter(({ incomplete }) => incomplete !== undefined);
  }

  /** Whether an order may be cancelled or not: a cancel or the switch took it, and nothing has shown its end. */
  get hasCanceling(): boolean {
    return this.listWorking().some(({ snapshot }) => snapshot.state === 'canceling');
  }

  /**
   * Reads what orders of the run that `chosen` picks may have filled that nothing has shown, before it is judged what they leave. Gives
   * those that ended short, and of which no answer shows what filled.
   */
  async readUnseen(chosen: (order: TrackedOrder) => boolean, request: LookRequest): Promise<readonly TrackedOrder[]> {
    const { looked, unseen } = await this.lastLook.readUnseen(this.listLookedAt(chosen), request);
    const ended = await this.readShown(chosen, request.step, request.cancel);
    for (const order of [...looked, ...ended]) this.handles.get(order).touch();
    // Also those that this look has shown as ended.
    return this.lastLook.listUnseen(this.listLookedAt(chosen), unseen);
  }

  /**
   * Reads what the orders of the run that `chosen` picks have filled, where they ended short, before an exit sends its first order. No
   * time-out cuts it off: of such an instant the journal has no entry, and a replay would come to it later.
   */
  async readBeforeExit(chosen: (order: TrackedOrder) => boolean, step: string): Promise<void> {
    await this.exitLook.readBefore(this.listLookedAt(chosen), step, new Cancellation());
  }

  /**
   * Reads the orders in a market that ended short, and their fills: the record that showed the end may be older than what filled. Gives
   * those of which more has come to light. No time-out cuts it off, either.
   */
  async readEnded(market: string, step: string): Promise<readonly OrderHandle[]> {
    const ended = await this.readShown(({ intent }) => intent.market === market, step, new Cancellation());
    return ended.map((order) => this.handles.get(order));
  }

  private async readShown(
    chosen: (order: TrackedOrder) => boolean,
    step: string,
    cancel: Cancellation,
  ): Promise<readonly TrackedOrder[]> {
    const found = await this.lastLook.readEnded(this.listLookedAt(chosen), step, cancel);
    this.short.forget((order) => this.seenEnds.isOver(order));
    return found;
  }

  /** The orders that work, and those that ended with less than they asked for, in the order of their intents. */
  private listLookedAt(chosen: (order: TrackedOrder) => boolean): readonly TrackedOrder[] {
    const looked = [...this.short.list(), ...this.listWorking()].filter(chosen);
    return looked.sort((a, b) => a.place - b.place);
  }

  /** Reads once more the orders that ended with less than they asked for, before another one is sent for the rest. */
  async readShort(handles: readonly OrderHandle[], step: string, cancel: Cancellation): Promise<void> {
    const orders = handles.flatMap(({ own }) => (own === undefined ? [] : [own]));
    await this.exitLook.readShort(orders, step, cancel);
  }

  /** Reads the fills of every order of the run until they agree with its record: the run's figures are the venue's. */
  async reconcileFills(request: CompletingRequest): Promise<void> {
    await this.completing.complete(this.run.log.tracker.unfinished(), request);
    for (const handle of this.listIncomplete()) handle.touch();
  }

  /** Cancels an order of ours or one that a list showed. An order that has ended already needs no request. */
  async cancel(handle: OrderHandle, target: AwaitTarget, at: OrderRequestContext): Promise<void> {
    if (handle.own === undefined) return this.cancelling.external(handle, target, at);
    this.settling.markUnwanted(handle.own, at);
    await this.cancelling.own(handle.own, target, at);
  }

  /**
   * Cancels an order of a step that is undone. Where the venue has not decided about it in time the end is not awaited here, because
   * older orders and the exit of `on_error` would wait as well: the cancel goes on beside them, and `settle` awaits it.
   */
  async undo(handle: OrderHandle, at: OrderRequestContext): Promise<void> {
    const { own } = handle;
    if (own !== undefined && (isQuarantined(own) || this.cancelling.overdue.has(own)))
      this.settling.cancelBeside(own, at);
    else await this.cancel(handle, 'terminal', at);
  }

  /** Waits for the cancels that went on beside others. Throws the first error. */
  async finishUndo(): Promise<void> {
    const error = await this.settling.finishBeside();
    if (error !== undefined) throw error;
  }

  /** Leaves an order alone that covers what the run has opened, and journals that; false where it does not. */
  keepCovering(order: TrackedOrder, step: string): boolean {
    return this.settling.keepCovering(order, step);
  }

  /** Amends an order and waits until its terms are known. Throws StepFailure: `not_found` if it has ended, `rejected` if it kept its terms. */
  async amend(handle: OrderHandle, price: Decimal, size: Decimal | undefined, at: OrderRequestContext): Promise<void> {
    await this.barrier;
    at.cancel.check();
    await this.amending.own(requireOwnOrder(handle, at.step), price, size, at);
  }

  /** Reads an order. */
  async refresh(handle: OrderHandle, at: OrderRequestContext): Promise<void> {
    const order = handle.own;
    if (order !== undefined) {
      if (!isTerminal(order.snapshot.state)) {
        const outcome = await callWhileWanted(at.cancel, (wanted) =>
          this.watch.read(order, at.step, 'refresh', { class: 'reconcile', wanted }),
        );
        if (outcome.kind !== 'confirmed') throw toFailure(outcome, at.step);
      }
      this.watch.check();
      return;
    }
    await this.cancelling.readExternal(handle, at);
  }

  /** Reads several orders: those of a market together where they are many, else one by one. */
  async refreshAll(handles: readonly OrderHandle[], at: OrderRequestContext): Promise<void> {
    const open = handles.flatMap(({ own }) => (own === undefined || isTerminal(own.snapshot.state) ? [] : [own]));
    const together = new Set<TrackedOrder>();
    for (const market of new Set(open.map(({ intent }) => intent.market))) {
      const each = open.filter(({ intent }) => intent.market === market);
      if (each.length < COMPLETED_TOGETHER) continue;
      at.cancel.check();
      const outcome = await callWhileWanted(at.cancel, (wanted) => this.watch.readTogether(each, at.step, { wanted }));
      if (outcome.kind !== 'confirmed') throw toFailure(outcome, at.step);
      for (const order of each) together.add(order);
    }
    for (const handle of handles) {
      at.cancel.check();
      if (handle.own === undefined || !together.has(handle.own)) await this.refresh(handle, at);
    }
    this.watch.check();
  }

  /** Cancels every order of the account, ours or not, and gives those that are left. */
  cancelAll(at: OrderRequestContext): Promise<readonly OrderRecord[]> {
    for (const order of this.listWorking()) this.settling.markUnwanted(order, at);
    const work = this.cancelling.all(at);
    this.barrier = work.catch(() => {});
    // An order that another run placed meanwhile would be cancelled too, and would prolong the sweep.
    this.run.venue.keepOrdersBack(this.barrier);
    return work;
  }

  /** Orders of this run that work or may work at the venue, but for those refused in unknown words: they have a watch of their own. */
  listWorking(market?: string): readonly TrackedOrder[] {
    return listWorkingOrders(this.run.log, market).filter((order) => !this.refused.isOpen(order));
  }

  /**
   * Begins an exit in a market when no other one of the run is under way there: two would close the position twice. Gives what ends it.
   */
  async beginExit(market: string, side: Side, cancel: Cancellation): Promise<() => void> {
    // Nothing comes in between when there is none: two that begin at one instant must not both.
    while (this.exits.has(market)) await this.waitForExit(market, cancel);
    const over = createSignal<void>();
    this.exits.set(market, { side, over });
    return () => {
      this.exits.delete(market);
      over.resolve();
    };
  }

  /** Waits until no exit is under way in a market; `side`: whose orders are on that side. */
  async waitForExit(market: string, cancel: Cancellation, side?: Side): Promise<void> {
    for (
      let exit = this.exits.get(market);
      exit !== undefined && (side === undefined || exit.side === side);
      exit = this.exits.get(market)
    )
      await waitFor(exit.over.promise, cancel);
  }

  /** Whether an order was refused in unknown words, and it is not known yet whether it is at the venue. */
  isRefusedOpen(order: TrackedOrder): boolean {
    return this.refused.isOpen(order);
  }

  /**
   * Waits for the orders that `chosen` picks among those refused in unknown words. Gives those that are at the venue, which are then
   * the caller's. Throws Halt where that stays unknown.
   */
  async claimRefused(chosen: (terms: OrderTerms) => boolean, cancel: Cancellation): Promise<readonly OrderHandle[]> {
    const found = await this.refused.claimAll(chosen, cancel);
    return found.map((order) => this.handles.get(order));
  }

  /** Reads every working order. Throws Halt when a reading gets no answer. */
  async readAll(step: string): Promise<void> {
    for (const order of this.listWorking()) {
      const outcome = await this.watch.read(order, step, 'refresh', { class: 'resolve' });
      if (outcome.kind !== 'confirmed')
        throw new Halt('unknown_outcome', `order ${getOrderName(order)} could not be read: ${outcome.message}`, step);
    }
    this.watch.check();
  }

  /**
   * Looks up every order whose fate was unknown, and cancels those that rest. Throws Halt while one of them is still unknown,
   * or when the venue does not answer.
   */
  settleDoubts(step: string): Promise<void> {
    return this.settling.settleDoubts(step);
  }

  /** Looks for orders that were proven absent, and cancels what shows late of those that were sent again. Throws Halt where that may still work, or has filled. */
  lookForLate(step: string, withinMs: number): Promise<void> {
    return this.settling.lookForLate(step, withinMs);
  }

  /** Settles the orders before a run ends, so that none is left in doubt. */
  settle(step: string, cancel: Cancellation, failed: boolean): Promise<void> {
    return this.settling.settle(step, cancel, failed);
  }

  /** Throws Halt where the fate of an order is unknown. */
  requireKnown(step: string): void {
    this.settling.requireKnown(step);
  }
}
