/**
 * Closes a position of the run by market orders, for `manage` and `close`. The venue has no market order that only reduces, so
 * the stops end first: filled beside a market order, they would leave the opposite position. From the cancel of the first stop on
 * nothing abandons the exit until the position is closed or its stops are back, and no stop is given up that the journal cannot
 * record: then it could not record the market order either.
 */

import { Decimal, decimal, formatDecimal, roundToStep } from '../../base/decimal.ts';
import type { StepOf } from '../../runbook/checked.ts';
import { findFeedMarket, listFeeds } from '../../runbook/feed-reads.ts';
import { countPutBack, MOST_EXITS, MOST_PUT_BACK, PUT_BACK_TRIES } from '../../runbook/steps/exit.ts';
import { HOLD_EVERY_MS } from '../../runbook/steps/manage.ts';
import type { Scope } from '../../runbook/values.ts';
import { isPositionStop, type OrderContext, showsPrice, TIMINGS } from '../../venue/order/context.ts';
import { isFilledUnseen } from '../../venue/order/guards.ts';
import { isTerminal } from '../../venue/order/states.ts';
import { type Consent, type FeedNeed, GATE_STALE, type OrderTerms, STALE_INTENT } from '../../venue/port.ts';
import { isStop } from '../../venue/position/residual.ts';
import type { Side } from '../../venue/records.ts';
import { type Cancellation, Halt, runEach, StepFailure } from '../interruption.ts';
import { findEndShownAt, findMissing, mayHaveMore } from '../readings/completion.ts';
import type { OrderHandle } from '../readings/handles.ts';
import type { OrderRequestContext, Terms } from '../readings/parts.ts';
import { createSignal, sleepUntil } from '../waiting.ts';
import { boundExit } from './barriers.ts';
import type { StepExecution } from './execution.ts';
import { cancelSideBySide, ensureBand, makeOrderContext, placeOrder, RateWait, registerUndo } from './order-steps.ts';
import { listTaken, readClosedByOthers } from './others.ts';

type ClosingExecution = StepExecution<StepOf<'manage' | 'close'>>;

/**
 * Failures of an order of the exit after which the next is sent: the venue has refused it, no byte of it left, or it is proven absent,
 * also where its process died before it was sent. One that was refused in unknown words is awaited first: it may have filled.
 */
const SENT_AGAIN: ReadonlySet<string> = new Set(['rejected', 'cancelled', 'transport', 'rate_limited', 'not_placed']);
/** Denials of an order that was decided too long ago: the next one has the price of now. */
const OUTDATED: ReadonlySet<string> = new Set([STALE_INTENT, GATE_STALE]);

/**
 * How long a market order of which no byte left is tried again without counting, and how often, ms: a venue that restarts is away for
 * as long, and five orders would be used up within seconds.
 */
const AWAY_PATIENCE_MS = 60_000;
const AWAY_EVERY_MS = 5000;

/** How long it may be unknown what became of a market order before the stops for a fraction of the position are back, ms. */
const COVER_AFTER_MS = 10_000;
/** How often they come back so before no further market order is sent. */
const MOST_COVERS = 2;

/** Failures after which a stop is put back again: no byte of it left, or the venue asked to wait. */
const NOT_SENT: ReadonlySet<string> = new Set(['transport', 'rate_limited']);

/** Of what an exit reads: as urgent as its orders, and soon given up, because an older price bounds them as well. */
export const EXIT_READING: FeedNeed = { class: 'resolve', withinMs: 5000 };

/** How often an order that is closed and shows less than it asked for is read, ms. */
const WHOLE_EVERY_MS = 1000;

/** Of a stop that is put back: a person agreed to it when it was placed, and the position has none while they are asked again. */
const AGREED: Consent = { what: '', answer: Promise.resolve(true) };

/** What is to be closed, and what its step knows of it. */
export interface ExitOf {
  readonly market: string;
  /** Of the closing orders. */
  readonly side: Side;
  readonly slip: Decimal;
  /** Counts of all attempts of the step: each order has an identity of its own, and the exits are bounded. */
  readonly kept: { placed: number; exits: number };
  /** The orders that have to end before a market order is sent, with those that have ended already. */
  listOrders(): readonly OrderHandle[];
  /** The stops that are put back where the position stays. */
  listStops(): readonly OrderHandle[];
  /** Reads the price that bounds the next market order; undefined where it is to have no bound. Throws StepFailure without one. */
  readPrice(): Promise<Decimal | undefined>;
  /** Called with each order before its end is awaited. `replaces`: the stop that it puts back. */
  notePlaced(handle: OrderHandle, replaces?: OrderHandle): void;
}

export class MarketExit {
  /** The scope of what must not stop half-way. */
  readonly scope: Cancellation;
  /** Whether another market order would be refused as well, or would leave the position bare again. */
  isRefused = false;
  private readonly execution: ClosingExecution;
  private readonly of: ExitOf;
  private stops: readonly OrderHandle[];
  /** How many orders may still put stops back. */
  private tries: number | undefined;
  /** How often stops were put back while it was unknown what had become of a market order. */
  private covers = 0;
  /** What others have closed of the position, base currency: no market order is sent for it. */
  private closedByOthers = new Decimal(0);
  /** How many orders have shown that others close. */
  private taken = 0;
  /** The last order that was refused for its rate: it is looked up before another one is sent. */
  private limited: { readonly leg: string; readonly replaces: OrderHandle | undefined } | undefined;
  /** Until when market orders that cannot be sent do not count, from the first of them on. */
  private awayUntil: number | undefined;
  /** A person is asked before the first cancel, for the whole exit. */
  private consent: Consent = AGREED;

  constructor(execution: ClosingExecution, of: ExitOf) {
    this.execution = execution;
    this.of = of;
    this.scope = execution.cancel.createShield();
    this.stops = of.listStops();
  }

  /**
   * Closes the position, after an exit that another branch has under way in the market; what that one leaves is closed. Where it fails
   * for good, each stop that has ended is put back before the error is thrown.
   */
  async run(): Promise<void> {
    const { execution, of } = this;
    const end = await execution.run.orderManager.beginExit(of.market, of.side, execution.cancel);
    // The question alone is withdrawn where the step ends: what was answered with yes is not left half-way.
    const wanted = execution.cancel.createWithdrawal();
    try {
      this.stops = of.listStops();
      if (this.computeLeft().lte(0)) return;
      await this.readTaken();
      const left = this.computeLeft();
      if (left.lte(0)) throw this.describeTaken();
      const what = `close ${formatDecimal(left)} of the position in ${of.market} by market orders, its own orders there cancelled first`;
      this.consent = { what, wanted };
      await this.send();
      if (this.closedByOthers.gt(0)) throw this.describeTaken();
    } catch (error) {
      const isDenied = error instanceof StepFailure && error.kind === 'denied';
      this.isRefused ||= isDenied;
      if (isKnown(error)) await this.putBack();
      // Without an answer, because the step ends.
      if (isDenied) execution.cancel.check();
      throw error;
    } finally {
      wanted.end();
      end();
    }
  }

  /**
   * Places each stop again that has ended: a position whose exit has failed must not stay bare. One that is not is an alarm. `chosen`:
   * all, or those for a fraction, each `most` times.
   */
  async putBack(chosen = hasEnded, most = PUT_BACK_TRIES): Promise<void> {
    const ended = this.stops.filter(chosen);
    let halt: Halt | undefined;
    let tries = this.tries ?? countPutBack(this.stops.length);
    // Sizes together must not be more than is left: beyond it a stop opens the opposite position.
    let covered = new Decimal(0);
    for (const [index, stop] of ended.entries()) {
      const uncovered = this.computeLeft().minus(covered);
      if (stop.own === undefined || uncovered.lte(0)) break;
      const { clientOrderId, ...placed } = stop.own.intent;
      const { price, size: inForce } = stop.own.snapshot.context;
      // An amend may have changed it since it was placed.
      const terms = price === undefined || !showsPrice(placed) ? placed : { ...placed, price };
      const isFraction = isPositionStop(terms);
      const size = Decimal.min(decimal(isFraction ? placed.size : inForce), uncovered);
      const again: Terms = isFraction ? terms : { ...terms, size: this.formatLots(size), allow: 'reduce' };
      // Each of the others keeps a try.
      const own = Math.min(most, tries, Math.max(1, tries - (ended.length - index - 1)));
      const { tried, error } = await this.putBackOne(stop, again, own);
      tries -= tried;
      this.tries = tries;
      if (error === undefined) {
        if (!isFraction) covered = covered.plus(size);
        continue;
      }
      const detail = { why: error.message };
      this.execution.run.log.append(
        'order.alarmed',
        { clientOrderId, alarm: 'StopNotPutBack', detail },
        this.execution.path,
      );
      if (error instanceof Halt) halt ??= error;
    }
    if (halt !== undefined) throw halt;
  }

  /** Reads what others have closed, where an order shows it of which it was not asked yet. */
  private async readTaken(): Promise<void> {
    const { execution, of } = this;
    const taken = listTaken(execution.run, of.market, of.side).length;
    if (taken === this.taken) return;
    const closed = await readClosedByOthers(execution, of.market, of.side);
    // Asked once more behind the cancels. What was known before is not taken away.
    if (closed === undefined) return;
    this.taken = taken;
    this.closedByOthers = closed;
  }

  /** The part that others have closed is the run's own still, as far as its fills say. */
  private describeTaken(): StepFailure {
    this.isRefused = true;
    const { market } = this.of;
    return new StepFailure(
      'unprotected_position',
      `others have closed ${formatDecimal(this.closedByOthers)} of the position in ${market} since the run began to hold it: no market order was sent for it, because it would open the opposite position`,
      this.execution.path,
    );
  }

  private async send(): Promise<void> {
    const { execution, of } = this;
    // What can be refused here is asked while the stops still work.
    await ensureBand(execution, of.market, EXIT_READING);
    await this.claimRefused(execution.cancel);
    const unended = await this.cancelOthers();
    // While the stops still work.
    await this.readBeforeFirst(() => true);
    execution.cancel.check();
    const failure = await this.sendAll();
    if (failure !== undefined) throw failure;
    if (unended !== undefined) throw unended;
  }

  /**
   * Cancels what is no stop, while the stops still work. Throws where an order of the closing side does not end: both could fill. One
   * that can only add to the position must not keep it open: its error is given, and thrown when the position is closed.
   */
  private async cancelOthers(): Promise<StepFailure | Halt | undefined> {
    const { execution, of, stops } = this;
    const others = of.listOrders().filter((handle) => !stops.includes(handle));
    const at = { cancel: execution.cancel, exit: this.consent };
    const end = (side: (handle: OrderHandle) => boolean) => endOrders(execution, others.filter(side), at);
    const [closing, adding] = await Promise.allSettled([
      end(({ side }) => side === of.side),
      end(({ side }) => side !== of.side),
    ]);
    if (closing.status === 'rejected') throw closing.reason;
    if (adding.status === 'fulfilled') return undefined;
    if (isKnown(adding.reason)) return adding.reason;
    throw adding.reason;
  }

  /** What an order of the closing side has filled that ended short would be sold twice. */
  private readBeforeFirst(mayHaveFilled: (context: OrderContext, intent: OrderTerms) => boolean): Promise<void> {
    const { of, execution } = this;
    return execution.run.orderManager.readBeforeExit(
      ({ intent, snapshot }) =>
        intent.market === of.market && intent.side === of.side && mayHaveFilled(snapshot.context, intent),
      execution.path,
    );
  }

  /** Cancels the stops and sends market orders until nothing is left. Gives why something is, where no further one is sent. */
  private async sendAll(): Promise<StepFailure | undefined> {
    const { execution, of, scope } = this;
    const { clock } = execution.run;
    const closing = () => of.listOrders().filter(({ side }) => side === of.side);
    let failure: StepFailure | undefined;
    let pauseMs = HOLD_EVERY_MS;
    for (let isFirst = true; ; isFirst = false) {
      const goesOn = of.kept.exits < MOST_EXITS && this.covers < MOST_COVERS;
      // Also the last one: the stops are not put back beside it.
      if (!isFirst && (goesOn || this.limited !== undefined)) {
        // What the one before filled, a record may not show before that: it would be sold twice.
        const shownAt = closing().map(({ own }) => (own === undefined ? undefined : findEndShownAt(own.snapshot)) ?? 0);
        await sleepUntil(clock, Math.max(clock.now() + pauseMs, ...shownAt), scope);
        await this.findLimited();
      }
      if (!goesOn) break;
      pauseMs = HOLD_EVERY_MS;
      // The stops still work before the first one: they are kept where it is certain to be denied.
      if (isFirst) await this.ensureAllowed(execution.cancel);
      // The record that showed the end of the one before may have been older than what that has filled.
      else if (this.computeLeft().gt(0)) await execution.run.orderManager.readShort(closing(), execution.path, scope);
      let price = isFirst ? await of.readPrice() : undefined;
      await endOrders(execution, closing(), { cancel: scope, exit: this.consent });
      // A stop that had not triggered has filled nothing, and the position is bare meanwhile.
      if (isFirst) await this.readBeforeFirst(({ triggered }, { type }) => triggered === true || !isStop(type));
      // That others have closed may not show before the end of a stop is read, which was to be cancelled.
      if (isFirst) await this.readTaken();
      const left = this.computeLeft();
      if (left.lte(0)) return undefined;
      if (!isFirst) {
        // Not before: where nothing is left none is needed, and whether it is read anew must not depend on an instant without an entry.
        price = await of.readPrice();
        await this.ensureAllowed(scope, price);
      }
      of.kept.exits += 1;
      const until = clock.now() + COVER_AFTER_MS;
      try {
        await this.coverFrom(until, this.sendOne(left, price));
      } catch (error) {
        if (!(error instanceof StepFailure)) throw error;
        if (error.kind === 'transport' && this.isAway()) {
          of.kept.exits -= 1;
          pauseMs = AWAY_EVERY_MS;
        }
        // One that got no answer could still arrive: one more is sent, not four.
        if (error.kind === 'not_placed') of.kept.exits = Math.max(of.kept.exits, MOST_EXITS - 1);
        this.isRefused = !SENT_AGAIN.has(error.kind) && !OUTDATED.has(error.code ?? '');
        if (this.isRefused) return error;
        failure = error;
        await this.coverFrom(until, this.claimRefused(scope));
      }
    }
    await complete(execution, closing(), 0, scope);
    const left = this.computeLeft();
    if (left.lte(0)) return undefined;
    this.isRefused = this.covers === MOST_COVERS;
    const message = `the market orders of the exit have left ${formatDecimal(left)} of the position in ${of.market}`;
    return failure ?? new StepFailure('unprotected_position', message, execution.path);
  }

  /** Whether the venue may be away for a while only, so that an order that could not be sent does not count. */
  private isAway(): boolean {
    const { clock } = this.execution.run;
    this.awayUntil ??= clock.now() + AWAY_PATIENCE_MS;
    return clock.now() < this.awayUntil;
  }

  /**
   * Waits for what shows what became of a market order. Where that takes long, the stops for a fraction of the position are put back
   * meanwhile: where the order has filled, they close nothing. One with a size is not: filled beside the order, it would open the
   * opposite position, which is worse than a time without a stop that ends with the proof of absence. After a second time no further
   * order is sent, also by the step that closes what it fails to hold: it would leave the position bare again.
   */
  private async coverFrom(at: number, known: Promise<void>): Promise<void> {
    const late = createSignal<boolean>();
    const timer = this.execution.run.clock.at(at, () => late.resolve(true));
    const isLate = await Promise.race([late.promise, known.then(notLate, notLate)]);
    timer.cancel();
    const stops = this.stops.filter(isEndedFraction);
    if (!isLate || stops.length === 0 || 2 * stops.length > MOST_PUT_BACK) return known;
    this.covers += 1;
    // A try is kept for the time when the exit has failed.
    await runEach(
      () => this.putBack(isEndedFraction, this.covers),
      () => known,
    );
  }

  /**
   * Waits for orders that close the position and were refused in unknown words: one that is there may have filled, and with another
   * one it would open the opposite position. A fraction of the position cannot.
   */
  private async claimRefused(cancel: Cancellation): Promise<void> {
    const { execution, of } = this;
    const closes = (terms: OrderTerms) =>
      terms.market === of.market && terms.side === of.side && !isPositionStop(terms);
    for (const handle of await execution.run.orderManager.claimRefused(closes, cancel)) {
      execution.touched.add(handle);
      of.notePlaced(handle);
    }
  }

  /** Throws StepFailure where a market order for what is left is certain to be denied here. `known`: the price that bounds it. */
  private async ensureAllowed(cancel: Cancellation, known?: Decimal): Promise<void> {
    const { execution, of } = this;
    const denial = await this.findDenial('exit', cancel, async () => {
      const price = known ?? (await of.readPrice());
      await ensureBand(execution, of.market, EXIT_READING);
      const left = this.computeLeft();
      return left.gt(0) ? this.makeTerms(left, price) : undefined;
    });
    if (denial !== undefined) throw denial;
  }

  /** Finds why an order is certain to be denied here. Waits first where only too many were sent in the last minute. */
  private async findDenial(
    what: string,
    cancel: Cancellation,
    make: () => Terms | undefined | Promise<Terms | undefined>,
  ): Promise<StepFailure | Halt | undefined> {
    const { execution, of } = this;
    const { orderManager } = execution.run;
    for (const wait = new RateWait(execution); ; ) {
      const terms = await make();
      if (terms === undefined) return undefined;
      const at = { ...makeOrderContext(execution, of.market), cancel };
      const denial = await orderManager.findDenial(at, `${what}/${of.kept.placed + 1}`, terms);
      if (denial === undefined) return undefined;
      of.kept.placed += 1;
      if (!(await wait.passes(denial.code, cancel))) return denial.failure;
    }
  }

  private makeTerms(left: Decimal, price: Decimal | undefined): Terms {
    const { execution, of } = this;
    const { market, side, slip } = of;
    const at = { direction: side === 'short' ? 1 : -1, tick: execution.run.venue.market(market)?.tick } as const;
    return {
      market,
      side,
      type: 'market',
      size: this.formatLots(left),
      ...(price === undefined ? {} : { price: formatDecimal(boundExit(price, slip, at)) }),
      timeInForce: 'immediate_or_cancel',
      onAmbiguous: 'halt',
      allow: 'reduce',
    };
  }

  /** A part of a lot is denied alone, and left to the stop: it must not keep the rest open, or without its stop. */
  private formatLots(size: Decimal): string {
    const { lot } = this.execution.run.venue.market(this.of.market) ?? {};
    const whole = lot === undefined ? size : roundToStep(size, decimal(lot), 'down');
    return formatDecimal(whole.isZero() ? size : whole);
  }

  private async sendOne(left: Decimal, price: Decimal | undefined): Promise<void> {
    const { execution, of } = this;
    await ensureBand(execution, of.market, EXIT_READING);
    of.kept.placed += 1;
    await this.place(`exit/${of.kept.placed}`, this.makeTerms(left, price), { exit: this.consent });
  }

  /** Gives how often it was tried, and why it was not put back. */
  private async putBackOne(
    stop: OrderHandle,
    terms: Terms,
    most: number,
  ): Promise<{ readonly tried: number; readonly error?: StepFailure | Halt }> {
    const { execution, of, scope } = this;
    const { clock } = execution.run;
    const refuse = (message: string) => ({
      tried: 0,
      error: new StepFailure('unprotected_position', message, execution.path),
    });
    if (most === 0) return refuse(`${MOST_PUT_BACK} orders were to put other stops back`);
    if (!isPositionStop(terms) && this.mayYetClose())
      return refuse('a market order may have closed the position: with the stop both would open the opposite one');
    for (let tried = 1; ; tried += 1) {
      try {
        const isWanted = () => this.computeLeft().gt(0);
        const denial = await this.findDenial(terms.type, scope, () => (isWanted() ? terms : undefined));
        if (denial !== undefined) return { tried, error: denial };
        if (!isWanted()) return { tried };
        of.kept.placed += 1;
        await this.place(`${terms.type}/${of.kept.placed}`, terms, { exit: AGREED, replaces: stop });
        return { tried };
      } catch (error) {
        if (!isKnown(error)) throw error;
        if (!(error instanceof StepFailure) || tried >= most || !NOT_SENT.has(error.kind)) return { tried, error };
        await sleepUntil(clock, clock.now() + HOLD_EVERY_MS, scope);
        if (await this.findLimited()) return { tried };
      }
    }
  }

  /** Whether the order that was refused for its rate is at the venue all the same. */
  private async findLimited(): Promise<boolean> {
    const { execution, of, limited } = this;
    this.limited = undefined;
    if (limited === undefined) return false;
    const at = makeOrderContext(execution, of.market);
    const handle = await execution.run.orderManager.findLimited(at, limited.leg);
    if (handle !== undefined) this.note(handle, limited.replaces);
    return handle !== undefined;
  }

  private note(handle: OrderHandle, replaces: OrderHandle | undefined): void {
    this.execution.touched.add(handle);
    this.of.notePlaced(handle, replaces);
    this.stops = this.stops.map((stop) => (stop === replaces ? handle : stop));
  }

  private async place(
    leg: string,
    terms: Terms,
    { exit, replaces }: { readonly exit: Consent; readonly replaces?: OrderHandle },
  ): Promise<void> {
    const { execution, of, scope } = this;
    const at = { ...makeOrderContext(execution, of.market), cancel: scope, exit };
    try {
      await placeAndAwait(execution, at, { leg, terms }, (handle) => this.note(handle, replaces));
    } catch (error) {
      if (error instanceof StepFailure && error.kind === 'rate_limited') this.limited = { leg, replaces };
      throw error;
    }
  }

  /** Whether it stays unknown what became of a market order of the run that closes: filled beside it, a stop with a size opens the opposite. */
  private mayYetClose(): boolean {
    const { execution, of } = this;
    const { log, orderManager } = execution.run;
    const unseen = log.tracker.unfinished().filter(({ snapshot }) => isFilledUnseen(snapshot));
    return [...orderManager.listWorking(of.market), ...unseen].some(
      ({ intent }) => intent.market === of.market && intent.side === of.side && intent.type === 'market',
    );
  }

  /** What is left of the position, base currency; not above 0 where it is gone. */
  private computeLeft(): Decimal {
    const size = this.execution.run.positions.getHeld(this.of.market);
    return (this.of.side === 'short' ? size : size.negated()).minus(this.closedByOthers);
  }
}

/** Places an order of the step, and waits until a record shows it, or its end where it never rests. `notePlaced` is called before. */
export async function placeAndAwait(
  execution: ClosingExecution,
  at: OrderRequestContext,
  { leg, terms }: { readonly leg: string; readonly terms: Terms },
  notePlaced: (handle: OrderHandle) => void,
): Promise<OrderHandle> {
  const endsAtOnce = terms.type === 'market';
  const handle = await placeOrder(execution, at, leg, terms);
  execution.touched.add(handle);
  notePlaced(handle);
  registerUndo(execution, handle, undefined);
  await execution.run.orderManager.reach(handle, endsAtOnce ? 'terminal' : 'live', at, endsAtOnce);
  return handle;
}

/**
 * Cancels what works of the orders, and reads how much they have filled: what their records show, because an exit must not wait for
 * fills that are late. Throws StepFailure where the venue does not show the end of one.
 */
export async function endOrders(
  execution: ClosingExecution,
  orders: readonly OrderHandle[],
  at: Pick<OrderRequestContext, 'cancel' | 'exit'>,
): Promise<void> {
  const { orderManager } = execution.run;
  const { cancel } = at;
  const working = orders.filter((handle) => !hasEnded(handle));
  await cancelSideBySide(cancel, working, (handle) =>
    orderManager.cancel(handle, 'terminal', { ...makeOrderContext(execution, handle.market_id), ...at }),
  );
  const listUnseen = () => orders.filter(({ own }) => own !== undefined && isFilledUnseen(own.snapshot));
  const lacksRecord = ({ own }: OrderHandle) => own !== undefined && findMissing(own.snapshot) !== 'fills';
  await complete(execution, orders.filter(lacksRecord), 0, cancel);
  await awaitWhole(execution, orders, cancel);
  if (listUnseen().length > 0) await complete(execution, listUnseen(), execution.windowMs, cancel);
  const [unseen] = listUnseen();
  if (unseen !== undefined)
    throw new StepFailure('transport', unseen.incomplete ?? 'an order shows no end', execution.path);
}

/**
 * Reads an order that is closed, which is filled whole, and shows less, for as long as its record may be older than its end: what that
 * lacks would be sold once more.
 */
async function awaitWhole(
  { run, path }: ClosingExecution,
  orders: readonly OrderHandle[],
  cancel: Cancellation,
): Promise<void> {
  const { clock, orderManager } = run;
  const isShort = ({ own }: OrderHandle) => {
    if (own === undefined || own.snapshot.state !== 'closed' || !mayHaveMore(own.snapshot)) return false;
    return clock.now() < (own.snapshot.context.terminalAt ?? 0) + TIMINGS.closedLagMs;
  };
  for (let short = orders.filter(isShort); short.length > 0; short = short.filter(isShort)) {
    await sleepUntil(clock, clock.now() + WHOLE_EVERY_MS, cancel);
    await orderManager.readShort(short, path, cancel);
  }
}

/** Reads the fills of the orders for as long as given, ms. */
function complete(
  { run, path }: ClosingExecution,
  orders: readonly OrderHandle[],
  windowMs: number,
  cancel: Cancellation,
): Promise<void> {
  // Nothing withdraws a reading of what must not stop half-way.
  const deadlineAt = run.clock.now() + windowMs;
  return run.orderManager.complete(orders, { step: path, windowMs, deadlineAt, cancel });
}

export function hasEnded({ own }: OrderHandle): boolean {
  return own === undefined || isTerminal(own.snapshot.state);
}

/**
 * Refreshes the price of the market that is closed, where the step reads one. Of a feed by market no other market is read: an exit must
 * not wait for them. Throws StepFailure without a price.
 */
export async function ensurePrice(
  { args, frame, run, path }: ClosingExecution,
  market: string,
  scope: Scope,
  when: { readonly need: FeedNeed | undefined; readonly dueAt?: number | undefined },
): Promise<boolean> {
  const { feed } = args;
  const { runbook, values } = frame.globals;
  const only = findFeedMarket(feed, values.get('inputs'), { text: args.market.text, market });
  return run.feeds.ensure(listFeeds(feed), runbook.feeds, scope, { step: path, only, ...when });
}

function isEndedFraction(stop: OrderHandle): boolean {
  return stop.own !== undefined && isPositionStop(stop.own.intent) && hasEnded(stop);
}

const notLate = () => false;

function isKnown(error: unknown): error is StepFailure | Halt {
  return error instanceof StepFailure || error instanceof Halt;
}
