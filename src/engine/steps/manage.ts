/**
 * Executes `manage`: places the stop-loss and the take-profit, looks at them and at the market until the position is gone, and does
 * what barriers.ts decides. A tighter stop is placed and read as live before the old one is cancelled, so the position always has
 * one. What the step has done is kept in its memory: another attempt continues there.
 */
import { type Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import type { StepOf } from '../../runbook/checked.ts';
import { listFeeds } from '../../runbook/feed-reads.ts';
import type { ManageEnd } from '../../runbook/functions/records.ts';
import { MOST_EXITS, SLIP } from '../../runbook/steps/exit.ts';
import { HOLD_EVERY_MS, MOVE_EVERY_MS, mayExit } from '../../runbook/steps/manage.ts';
import type { Expr, Value } from '../../runbook/values.ts';
import { computeAveragePrice, sumFills } from '../../venue/order/fills.ts';
import { getExposure } from '../../venue/order/life.ts';
import { isTerminal } from '../../venue/order/states.ts';
import type { FeedNeed } from '../../venue/port.ts';
import type { Side } from '../../venue/records.ts';
import { StepFailure } from '../interruption.ts';
import type { OrderHandle } from '../readings/handles.ts';
import { callWhileWanted, type Terms } from '../readings/parts.ts';
import { StepScope } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import { type Barriers, chooseBest, decideHold, hasReachedTrigger, type StopTerms } from './barriers.ts';
import { listCovering } from './close.ts';
import { mayRetry, type StepExecution } from './execution.ts';
import { EXIT_READING, endOrders, ensurePrice, hasEnded, MarketExit, placeAndAwait } from './exit.ts';
import { cancelSideBySide, makeOrderContext } from './order-steps.ts';
import { listPlacements } from './run-values.ts';

type Execution = StepExecution<StepOf<'manage'>>;

/** Failures after which the position is left alone: it may be gone, or no price bounds its exit. */
const NOT_CLOSED: ReadonlySet<string> = new Set(['not_found', 'unprotected_position', 'stale_feed']);

/** How long a price may be read where its exit falls due meanwhile, ms: without one the exit waits for another look. */
const PRICE_WAIT_MS = 5000;

/** The orders with which it begins. */
const LEGS = ['stop_loss', 'take_profit'] as const;

interface Own {
  readonly handle: OrderHandle;
  readonly how: ManageEnd;
  /** Of a stop. */
  readonly stop?: StopTerms | undefined;
}

/** What the step has done, kept from one attempt to the next. */
interface Kept {
  readonly startedAt: number;
  /** What the run had realized in the market before. */
  readonly realized: Decimal;
  readonly orders: Own[];
  /** Orders of other steps that could close the position as well: an exit ends them first. */
  readonly beside: Set<OrderHandle>;
  stop?: StopTerms & { readonly handle: OrderHandle };
  /** Numbers of the stops and exits so far: each order has an identity of its own. */
  placed: number;
  /** Market orders that were to close it. */
  exits: number;
  best?: Decimal | undefined;
  price?: Decimal | undefined;
  triggeredAt?: number | undefined;
  movedAt?: number | undefined;
  hasBegun: boolean;
  hasLegs: boolean;
}

export async function manage(execution: Execution): Promise<Value> {
  const { args, frame, run, path, scope } = execution;
  // Not that of the market, which each look reads: its stop is placed also while that is down.
  const { feed: _read, ...rest } = args;
  await run.feeds.ensure(listFeedsIn(rest), frame.globals.runbook.feeds, scope, path);
  return new Holding(execution).run();
}

/** The feeds that the expressions among the values read. */
function listFeedsIn(values: object): readonly string[] {
  const found = Object.values(values as Readonly<Record<string, object | undefined>>).flatMap((value) => {
    if (value === undefined) return [];
    return 'reads' in value ? listFeeds(value as Expr) : listFeedsIn(value);
  });
  return [...new Set(found)];
}

class Holding {
  private readonly execution: Execution;
  private readonly market: string;
  private readonly side: Side;
  private readonly barriers: Barriers;
  private readonly kept: Kept;
  /** The exit of this attempt. */
  private lastExit: MarketExit | undefined;

  constructor(execution: Execution) {
    const { args, run, memory } = execution;
    this.execution = execution;
    this.market = execution.evaluate(args.market);
    this.side = execution.evaluate(args.side) as Side;
    this.barriers = readBarriers(execution, this.market, this.side);
    const known = memory.get('manage') as Kept | undefined;
    const { realized } = run.positions.get(this.market);
    this.kept = known ?? {
      startedAt: run.clock.now(),
      realized,
      orders: [],
      beside: new Set(),
      placed: 0,
      exits: 0,
      hasBegun: false,
      hasLegs: false,
    };
    memory.set('manage', this.kept);
  }

  /** Holds the position until it is gone. Where a request fails for good, it is closed before the step fails. */
  async run(): Promise<Value> {
    try {
      return await this.hold();
    } catch (error) {
      if (error instanceof StepFailure) await this.closeAfter(error);
      throw error;
    }
  }

  private async hold(): Promise<Value> {
    const { execution, kept } = this;
    const { clock, heartbeat } = execution.run;
    if (!kept.hasBegun && this.computeLeft().lte(0)) {
      const held = this.side === 'short' ? 'long' : 'short';
      throw new StepFailure('not_found', `the run holds no ${held} position in ${this.market}`, execution.path);
    }
    kept.hasBegun = true;
    if (this.computeLeft().gt(0)) await this.placeLegs();
    // When the look is due, until it reads something: of a look that finds nothing to do the record has no instant, and a replay, which
    // comes to it only with the entry behind it, would decide it by another.
    let at = clock.now();
    for (;;) {
      const startedAt = at;
      if (await this.readPrice(this.findNeed(), startedAt)) at = clock.now();
      const next = this.decide(at);
      switch (next.do) {
        case 'done':
          return this.finish();
        case 'lost':
          return this.endLost();
        case 'exit':
          return this.exit(next.how);
        case 'unpriced':
          throw new StepFailure(
            'stale_feed',
            `the time of the position is over, and no price of ${this.market} can be read to bound its exit`,
            execution.path,
          );
        case 'tighten':
          await this.tighten(next.to);
          break;
        default:
          await this.cancelReplaced();
      }
      const until = startedAt + HOLD_EVERY_MS;
      heartbeat.markWaiting(execution.path, until);
      await sleepUntil(clock, until, execution.cancel);
      at = (await this.readOrders()) ? clock.now() : Math.max(at, until);
    }
  }

  private async placeLegs(): Promise<void> {
    const { execution, kept } = this;
    if (kept.hasLegs) return;
    for (const { leg, terms } of listPlacements(execution, LEGS)) {
      if (leg === 'stop_loss' && kept.stop !== undefined) continue;
      const { trigger = '0', price = '0' } = terms;
      const stop = { how: 'stop_loss', trigger: decimal(trigger), price: decimal(price) } as const;
      const isStop = leg === 'stop_loss';
      // The stop may have closed the position at once.
      if (!isStop && this.computeLeft().lte(0)) break;
      const handle = await this.placeLeg(leg as (typeof LEGS)[number], terms, isStop ? stop : undefined);
      if (handle === undefined) break;
      if (isStop) {
        kept.stop = { ...stop, handle };
        // From here on its stop protects the position, also where this program dies.
        await execution.run.heartbeat.releaseAfterStep(execution.step.id, execution.frame);
      }
    }
    kept.hasLegs = true;
  }

  /** Undefined where the venue refuses the leg because the stop has closed the position meanwhile. */
  private async placeLeg(
    leg: (typeof LEGS)[number],
    terms: Terms,
    stop: StopTerms | undefined,
  ): Promise<OrderHandle | undefined> {
    try {
      return await this.place(leg, terms, leg, stop);
    } catch (error) {
      if (!(error instanceof StepFailure) || error.kind !== 'rejected') throw error;
      await this.readOrders();
      if (this.computeLeft().gt(0)) throw error;
      return undefined;
    }
  }

  /**
   * A step that fails leaves its position to nothing that watches it, so it is closed, where the author allows exits at the market.
   * Not where its exits have failed already, nor where the position may be gone by another hand.
   */
  private async closeAfter(failure: StepFailure): Promise<void> {
    const { kept, execution, barriers } = this;
    const { kind } = failure;
    // The next attempt continues there, with the stop that works or places it.
    if (mayRetry(execution.step, failure, execution.attempt)) return;
    const isRefused = this.lastExit?.isRefused === true;
    if (!mayExit(execution.step) || kept.exits >= MOST_EXITS || isRefused || NOT_CLOSED.has(kind)) return;
    if (this.computeLeft().lte(0)) return;
    await this.readPrice();
    // Without a bound the exit could fill at any price.
    if (barriers.priced && kept.price === undefined) return this.makeExit('escalated').putBack();
    try {
      await this.exit('escalated');
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
    }
  }

  private place(leg: string, terms: Terms, how: ManageEnd, stop?: StopTerms): Promise<OrderHandle> {
    const { execution, kept, market } = this;
    const at = makeOrderContext(execution, market);
    return placeAndAwait(execution, at, { leg, terms }, (handle) => kept.orders.push({ handle, how, stop }));
  }

  /** `now`: the instant of the look, epoch ms. */
  private decide(now: number) {
    const { kept, barriers } = this;
    this.fallBack();
    const { stop, price } = kept;
    if (price !== undefined) kept.best = chooseBest(barriers, price, kept.best);
    if (stop === undefined || !this.seemsTriggered(stop)) kept.triggeredAt = undefined;
    else kept.triggeredAt ??= now;
    const { averageEntry } = this.execution.run.positions.get(this.market);
    return decideHold(barriers, {
      left: this.computeLeft(),
      averageEntry,
      stop: stop && { ...stop, ended: hasEnded(stop.handle) },
      works: this.listWorking().length > 0,
      price,
      best: kept.best,
      now,
      startedAt: kept.startedAt,
      triggeredAt: kept.triggeredAt,
      movedAt: kept.movedAt,
    });
  }

  /** Where the stop has ended and another one of the step still works, that one holds the position: it must not go with the other. */
  private fallBack(): void {
    const { kept } = this;
    if (kept.stop === undefined || !hasEnded(kept.stop.handle)) return;
    for (const { handle, stop } of kept.orders)
      if (stop !== undefined && !hasEnded(handle)) kept.stop = { ...stop, handle };
  }

  /** Whether its records show that the stop has triggered; where they show nothing, whether the market has reached it. */
  private seemsTriggered({ handle, trigger }: NonNullable<Kept['stop']>): boolean {
    const { price } = this.kept;
    const own = handle.own?.snapshot;
    if (own === undefined || isTerminal(own.state)) return false;
    if (own.context.triggered === true || !decimal(getExposure(own).filled).isZero()) return true;
    return price !== undefined && hasReachedTrigger(this.barriers, trigger, price);
  }

  /** What is left of the position, base currency; not above 0 where it is gone. */
  private computeLeft(): Decimal {
    return this.execution.run.positions.getHeld(this.market).times(this.barriers.direction);
  }

  /** The orders of other steps of the run that could close the position: one that has filled unseen would be sold once more. */
  private listBeside(): readonly OrderHandle[] {
    const { execution, kept, market, side } = this;
    const { orderManager } = execution.run;
    const own = new Set(kept.orders.map(({ handle }) => handle));
    for (const order of orderManager.listWorking(market)) {
      const handle = orderManager.handle(order);
      if (order.intent.side === side && !own.has(handle)) kept.beside.add(handle);
    }
    for (const handle of kept.beside) execution.touched.add(handle);
    return [...kept.beside];
  }

  private listWorking(): readonly OrderHandle[] {
    return this.kept.orders.flatMap(({ handle }) => (hasEnded(handle) ? [] : [handle]));
  }

  /** Reads the orders that work; false where there are none. One that cannot be read goes on working: the next look reads it again. */
  private async readOrders(): Promise<boolean> {
    const { run, path, cancel } = this.execution;
    const { watch } = run.orderManager;
    const working = this.listWorking().flatMap(({ own }) => (own === undefined ? [] : [own]));
    const [only] = working;
    if (only === undefined) return false;
    const dueAt = this.findDueAt();
    const until = dueAt === undefined ? {} : { deadlineAt: Math.max(dueAt, run.clock.now()) };
    await callWhileWanted(cancel, (wanted) =>
      working.length === 1
        ? watch.read(only, path, 'refresh', { class: 'reconcile', ...until, wanted })
        : watch.readTogether(working, path, { ...until, wanted }),
    );
    watch.check();
    cancel.check();
    return true;
  }

  /** When its position is to be closed at the market, epoch ms, as far as that is known: no reading may wait for tokens beyond. */
  private findDueAt(): number | undefined {
    const { barriers, kept } = this;
    const { timeLimit, escalateAfter } = barriers;
    const { startedAt, triggeredAt } = kept;
    const times = [
      ...(timeLimit === undefined ? [] : [startedAt + timeLimit]),
      ...(escalateAfter === undefined || triggeredAt === undefined ? [] : [triggeredAt + escalateAfter]),
    ];
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** What bounds the reading of a look: the price of an exit that is due is read as one. */
  private findNeed(): FeedNeed | undefined {
    const dueAt = this.findDueAt();
    if (dueAt === undefined) return undefined;
    const leftMs = dueAt - this.execution.run.clock.now();
    return leftMs <= 0 ? EXIT_READING : { withinMs: Math.max(leftMs, PRICE_WAIT_MS) };
  }

  /** Reads the price of the market, where the one it has is old; whether it did. Without one the stop stays where it is. */
  private async readPrice(need = this.findNeed(), dueAt?: number): Promise<boolean> {
    const { execution, kept } = this;
    const { args, frame, run } = execution;
    kept.price = undefined;
    if (args.feed === undefined) return false;
    let hasRead = true;
    const scope = () => new StepScope(frame, run.wall.now());
    try {
      // Not those of the legs: a stale one of theirs must not keep the exit back.
      hasRead = await ensurePrice(execution, this.market, scope(), { need, dueAt });
      kept.price = execution.evaluate(args.feed, scope());
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
    }
    return hasRead;
  }

  /** Places the tighter stop first, then cancels the old one: the position must not be bare between the two. */
  private async tighten(to: StopTerms): Promise<void> {
    const { kept, execution } = this;
    const before = kept.stop;
    if (before === undefined) return;
    kept.movedAt = execution.run.clock.now();
    try {
      kept.stop = { ...to, handle: await this.placeStop(to) };
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      const { client_order_id: clientOrderId } = before.handle;
      const detail = { why: error.message };
      execution.run.log.append('order.alarmed', { clientOrderId, alarm: 'StopNotTightened', detail }, execution.path);
    }
    await this.cancelReplaced(true);
  }

  /** Cancels the stops that a tighter one has replaced. One that cannot be cancelled now only reduces: a later look tries again. */
  private async cancelReplaced(now = false): Promise<void> {
    const { kept, execution } = this;
    const at = execution.run.clock.now();
    const replaced = kept.orders
      .filter(({ handle, how }) => how !== 'take_profit' && handle !== kept.stop?.handle)
      .flatMap(({ handle }) => (hasEnded(handle) ? [] : [handle]));
    if (replaced.length === 0 || (!now && at - (kept.movedAt ?? at) < MOVE_EVERY_MS)) return;
    kept.movedAt = at;
    try {
      const { orderManager } = execution.run;
      const context = makeOrderContext(execution, this.market);
      await cancelSideBySide(execution.cancel, replaced, (handle) => orderManager.cancel(handle, 'terminal', context));
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
    }
  }

  /** Cancels what works of its orders. Throws StepFailure where the venue does not show the end of one. */
  private async cancelRest(): Promise<void> {
    const { execution, kept } = this;
    const handles = kept.orders.map(({ handle }) => handle);
    await endOrders(execution, handles, { cancel: this.lastExit?.scope ?? execution.cancel });
    // Also those of an attempt before: what they filled is in the value.
    for (const handle of handles) execution.touched.add(handle);
  }

  private async exit(how: ManageEnd): Promise<Value> {
    this.lastExit = this.makeExit(how);
    await this.lastExit.run();
    return this.finish();
  }

  private makeExit(how: ManageEnd): MarketExit {
    const { execution, kept, market, side } = this;
    let { price } = kept;
    return new MarketExit(execution, {
      market,
      side,
      slip: execution.evaluateGiven(execution.args.escalate?.slip) ?? SLIP,
      kept,
      listOrders: () => [...kept.orders.map(({ handle }) => handle), ...this.listBeside()],
      listStops: () => {
        this.fallBack();
        if (kept.stop !== undefined) return [kept.stop.handle];
        return listCovering(
          this.listBeside().filter((handle) => !hasEnded(handle)),
          side,
        );
      },
      readPrice: async () => {
        await this.readPrice(EXIT_READING);
        price = kept.price ?? price;
        return price;
      },
      notePlaced: (handle, replaces) => {
        const before = kept.orders.find((order) => order.handle === replaces);
        if (replaces !== undefined && before === undefined) kept.beside.add(handle);
        else kept.orders.push(before === undefined ? { handle, how } : { ...before, handle });
      },
    });
  }

  /** The stop, or all that could close the position, has ended and something is left: a person, or another program, has cancelled it. */
  private async endLost(): Promise<Value> {
    const { orderManager } = this.execution.run;
    // An exit of another branch has cancelled it, and closes the position.
    await orderManager.waitForExit(this.market, this.execution.cancel);
    await this.cancelRest();
    const left = this.computeLeft();
    if (left.lte(0)) return this.finish();
    throw new StepFailure(
      'unprotected_position',
      `the order that protects the position has ended, and ${formatDecimal(left)} of it in ${this.market} is left`,
      this.execution.path,
    );
  }

  /** The position is gone: cancels the rest. Its value is made when the fills are read, for `realized` of every order in the market. */
  private async finish(): Promise<Value> {
    await this.cancelRest();
    const { log, orderManager } = this.execution.run;
    for (const order of log.tracker.unfinished())
      if (order.intent.market === this.market) this.execution.touched.add(orderManager.handle(order));
    this.execution.valueBehind = () => this.describeEnd();
    return undefined;
  }

  private describeEnd(): Value {
    const { kept, execution } = this;
    const fills = kept.orders.flatMap(({ handle: { own }, how }) =>
      [...(own?.snapshot.context.fills.values() ?? [])].map((fill) => ({ how, fill })),
    );
    const last = fills.reduce<(typeof fills)[number] | undefined>(
      (latest, each) => (latest === undefined || each.fill.timestamp >= latest.fill.timestamp ? each : latest),
      undefined,
    );
    const average = computeAveragePrice(fills.map(({ fill }) => fill));
    return {
      // Other orders of the run have closed it.
      how: last?.how ?? 'cancelled',
      exit_price: average === undefined ? undefined : decimal(average),
      filled: decimal(sumFills(fills.map(({ fill }) => fill))),
      realized: execution.run.positions.get(this.market).realized.minus(kept.realized),
    };
  }

  private placeStop({ trigger, price, how }: StopTerms): Promise<OrderHandle> {
    this.kept.placed += 1;
    const stop = { trigger, price, how };
    const terms = {
      market: this.market,
      side: this.side,
      type: 'stop_loss',
      size: '1',
      price: formatDecimal(price),
      trigger: formatDecimal(trigger),
      onAmbiguous: 'halt',
    } as const;
    return this.place(`stop_loss/${this.kept.placed}`, terms, how, stop);
  }
}

function readBarriers(execution: Execution, market: string, side: Side): Barriers {
  const { args, run } = execution;
  const { trail, breakEven } = args;
  return {
    direction: side === 'short' ? 1 : -1,
    tick: run.venue.market(market)?.tick,
    priced: args.feed !== undefined,
    trail: trail && { by: execution.evaluate(trail.by), step: execution.evaluate(trail.step) },
    breakEven: breakEven && {
      after: execution.evaluate(breakEven.after),
      offset: execution.evaluate(breakEven.offset),
    },
    timeLimit: execution.evaluateGiven(args.timeLimit)?.ms,
    escalateAfter: execution.evaluateGiven(args.escalate?.after)?.ms,
  };
}
