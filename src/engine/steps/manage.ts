/**
 * Executes `manage`: places the stop-loss and the take-profit, looks at them and at the market until the position is gone, and does
 * what barriers.ts decides. A tighter stop is placed and read as live before the old one is cancelled, so the position always has
 * one. What the step has done is kept in its memory: another attempt continues there.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import type { StepOf } from '../../runbook/checked.ts';
import type { ManageEnd } from '../../runbook/functions/records.ts';
import { HOLD_EVERY_MS, MOST_EXITS, MOVE_EVERY_MS, mayExit, PUT_BACK_TRIES } from '../../runbook/steps/manage.ts';
import type { Value } from '../../runbook/values.ts';
import { computeAveragePrice, sumFills } from '../../venue/order/fills.ts';
import { getExposure, isEndUnseen } from '../../venue/order/life.ts';
import { isTerminal } from '../../venue/order/states.ts';
import type { Side } from '../../venue/records.ts';
import { listFeeds } from '../globals.ts';
import { StepFailure } from '../interruption.ts';
import type { OrderHandle } from '../orders/handles.ts';
import type { Terms } from '../orders/parts.ts';
import { StepScope } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import { type Barriers, boundExit, chooseBest, decideHold, hasReachedTrigger, type StopTerms } from './barriers.ts';
import type { StepExecution } from './execution.ts';
import { cancelSideBySide, ensureBand, makeOrderContext, placeOrder, registerUndo } from './order-steps.ts';
import { listPlacements } from './run-values.ts';

type Execution = StepExecution<StepOf<'manage'>>;

/** How far a market exit may go where its author says nothing. */
const SLIP = new Decimal('0.01');
/**
 * Failures of an order of the exit after which the next is sent: the venue has refused it, or no byte of it left. One without an
 * answer may arrive late, even if it is proven absent, and both together would open the opposite position.
 */
const SENT_AGAIN: ReadonlySet<string> = new Set(['rejected', 'cancelled', 'transport', 'rate_limited']);

/** Failures after which a stop is put back again: no byte of it left, or the venue asked to wait. */
const NOT_SENT: ReadonlySet<string> = new Set(['transport', 'rate_limited']);

/** Failures after which the position is left alone: it may be gone, or no price bounds its exit. */
const NOT_CLOSED: ReadonlySet<string> = new Set(['not_found', 'unprotected_position', 'stale_feed']);

/** The orders with which it begins. */
const LEGS = ['stop_loss', 'take_profit'] as const;

interface Own {
  readonly handle: OrderHandle;
  readonly how: ManageEnd;
}

/** What the step has done, kept from one attempt to the next. */
interface Kept {
  readonly startedAt: number;
  /** What the run had realized in the market before. */
  readonly realized: Decimal;
  readonly orders: Own[];
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
  return new Holding(execution).run();
}

class Holding {
  private readonly execution: Execution;
  private readonly market: string;
  private readonly side: Side;
  private readonly barriers: Barriers;
  private readonly kept: Kept;
  /** Whether an exit of this attempt was refused for what another one would be refused for as well. */
  private exitRefused = false;

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
    for (;;) {
      const startedAt = clock.now();
      await this.readPrice();
      const next = this.decide();
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
      await this.readOrders();
    }
  }

  private async placeLegs(): Promise<void> {
    const { execution, kept } = this;
    if (kept.hasLegs) return;
    for (const { leg, terms } of listPlacements(execution, LEGS)) {
      if (leg === 'stop_loss' && kept.stop !== undefined) continue;
      const handle = await this.place(leg, terms, leg as (typeof LEGS)[number]);
      if (leg === 'stop_loss') {
        const { trigger = '0', price = '0' } = terms;
        kept.stop = { handle, how: 'stop_loss', trigger: decimal(trigger), price: decimal(price) };
        // From here on its stop protects the position, also where this program dies.
        await execution.run.heartbeat.releaseAfterStep(execution.step.id, execution.frame);
      }
    }
    kept.hasLegs = true;
  }

  /**
   * A step that fails leaves its position to nothing that watches it, so it is closed, where the author allows exits at the market.
   * Not where its exits have failed already, nor where the position may be gone by another hand.
   */
  private async closeAfter({ kind }: StepFailure): Promise<void> {
    const { kept, execution, barriers } = this;
    if (!mayExit(execution.step) || kept.exits >= MOST_EXITS || this.exitRefused || NOT_CLOSED.has(kind)) return;
    if (this.computeLeft().lte(0)) return;
    await this.readPrice();
    // Without a bound the exit could fill at any price.
    if (barriers.priced && kept.price === undefined) return this.putBack();
    try {
      await this.exit('escalated');
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
    }
  }

  /** Places an order of the step, and waits until a record shows it, or its end where it never rests. */
  private async place(leg: string, terms: Terms, how: ManageEnd): Promise<OrderHandle> {
    const { execution, kept } = this;
    const at = makeOrderContext(execution, this.market);
    const endsAtOnce = terms.type === 'market';
    const handle = await placeOrder(execution, at, leg, terms);
    execution.touched.add(handle);
    kept.orders.push({ handle, how });
    registerUndo(execution, handle, undefined);
    await execution.run.orderManager.reach(handle, endsAtOnce ? 'terminal' : 'live', at, endsAtOnce);
    return handle;
  }

  private decide() {
    const { kept, barriers } = this;
    const now = this.execution.run.clock.now();
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
    return this.execution.run.positions.get(this.market).size.times(this.barriers.direction);
  }

  private listWorking(): readonly OrderHandle[] {
    return this.kept.orders.flatMap(({ handle }) => (hasEnded(handle) ? [] : [handle]));
  }

  /** Reads the orders that work. One that cannot be read goes on working: the next look reads it again. */
  private async readOrders(): Promise<void> {
    const { run, path, cancel } = this.execution;
    const { watch } = run.orderManager;
    const working = this.listWorking().flatMap(({ own }) => (own === undefined ? [] : [own]));
    const [only] = working;
    if (only === undefined) return;
    if (working.length === 1) await watch.read(only, path, 'refresh', { class: 'reconcile' });
    else await watch.readTogether(working, path);
    watch.check();
    cancel.check();
  }

  /** Reads the price of the market. Without one the stop stays where it is. */
  private async readPrice(): Promise<void> {
    const { execution, kept } = this;
    const { args, frame, run, path } = execution;
    kept.price = undefined;
    if (args.feed === undefined) return;
    const scope = () => new StepScope(frame, run.wall.now());
    try {
      // Not those of the legs: a stale one of theirs must not keep the exit back.
      await run.feeds.ensure(listFeeds(args.feed), frame.globals.runbook.feeds, scope(), path);
      kept.price = execution.evaluate(args.feed, scope());
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
    }
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
      this.alarm('StopNotTightened', before.handle, error.message);
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
      await this.cancelAll(replaced);
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
    }
  }

  private cancelAll(handles: readonly OrderHandle[]): Promise<void> {
    const { execution, market } = this;
    const at = makeOrderContext(execution, market);
    return cancelSideBySide(execution, handles, (handle) => execution.run.orderManager.cancel(handle, 'terminal', at));
  }

  /** Cancels what works of its orders and reads what they have filled. Throws StepFailure where the venue does not show it. */
  private async cancelRest(): Promise<void> {
    const { execution, kept } = this;
    await this.cancelAll(this.listWorking());
    await this.complete();
    const unseen = kept.orders.find(({ handle: { own } }) => own !== undefined && isEndUnseen(own.snapshot));
    if (unseen !== undefined)
      throw new StepFailure('transport', unseen.handle.incomplete ?? 'an order shows no end', execution.path);
  }

  private complete(): Promise<void> {
    const { run, path, windowMs, cancel } = this.execution;
    const handles = this.kept.orders.map(({ handle }) => handle);
    return run.orderManager.complete(handles, { step: path, windowMs, cancel });
  }

  /**
   * Closes what is left by market orders. The stop is cancelled first: filled beside them, it would leave the opposite position.
   * Where they do not close it, the stop is put back before the step fails.
   */
  private async exit(how: ManageEnd): Promise<Value> {
    try {
      const failure = await this.sendExits(how);
      if (failure === undefined) return await this.finish();
      throw failure;
    } catch (error) {
      if (error instanceof StepFailure) await this.putBack();
      throw error;
    }
  }

  private async sendExits(how: ManageEnd): Promise<StepFailure | undefined> {
    const { execution, kept } = this;
    let { price } = kept;
    let failure: StepFailure | undefined;
    // What can be refused here is asked while the stop still works.
    await ensureBand(execution, this.market);
    for (let isFirst = true; kept.exits < MOST_EXITS; isFirst = false) {
      if (!isFirst) {
        const { clock } = execution.run;
        await sleepUntil(clock, clock.now() + HOLD_EVERY_MS, execution.cancel);
        await this.readPrice();
        price = kept.price ?? price;
      }
      await this.cancelRest();
      const left = this.computeLeft();
      if (left.lte(0)) return undefined;
      kept.exits += 1;
      try {
        await this.sendExit(how, left, price);
      } catch (error) {
        if (!(error instanceof StepFailure)) throw error;
        // One that may arrive late must be the last; one that was never sent leaves the way free for another attempt.
        if (error.kind === 'not_placed') kept.exits = MOST_EXITS;
        if (!SENT_AGAIN.has(error.kind)) {
          this.exitRefused = true;
          throw error;
        }
        failure = error;
      }
    }
    await this.complete();
    const left = this.computeLeft();
    if (left.lte(0)) return undefined;
    const message = `${MOST_EXITS} market orders have left ${formatDecimal(left)} of the position in ${this.market}`;
    return failure ?? new StepFailure('unprotected_position', message, execution.path);
  }

  private async sendExit(how: ManageEnd, left: Decimal, price: Decimal | undefined): Promise<void> {
    const { execution, kept, barriers } = this;
    const slip = execution.evaluateGiven(execution.args.escalate?.slip) ?? SLIP;
    await ensureBand(execution, this.market);
    kept.placed += 1;
    const terms = {
      market: this.market,
      side: this.side,
      type: 'market',
      size: formatDecimal(left),
      ...(price === undefined ? {} : { price: formatDecimal(boundExit(price, slip, barriers)) }),
      timeInForce: 'immediate_or_cancel',
      onAmbiguous: 'halt',
      allow: 'reduce',
    } as const;
    await this.place(`exit/${kept.placed}`, terms, how);
  }

  /**
   * Places the stop again where none works: a position whose exit has failed must not stay bare. One whose cancel failed is wanted
   * again, so that the end of the run leaves it. What cannot be put back is an alarm.
   */
  private async putBack(): Promise<void> {
    const { kept, execution } = this;
    const { stop } = kept;
    if (stop === undefined || this.computeLeft().lte(0)) return;
    if (!hasEnded(stop.handle)) return execution.run.orderManager.keepWorking(stop.handle);
    const { clock } = execution.run;
    for (let tries = 1; ; tries += 1) {
      try {
        kept.stop = { ...stop, handle: await this.placeStop(stop) };
        return;
      } catch (error) {
        if (!(error instanceof StepFailure)) throw error;
        if (tries < PUT_BACK_TRIES && NOT_SENT.has(error.kind)) {
          await sleepUntil(clock, clock.now() + HOLD_EVERY_MS, execution.cancel);
          continue;
        }
        this.alarm('StopNotPutBack', stop.handle, error.message);
        return;
      }
    }
  }

  /** The stop, or all that could close the position, has ended and something is left: a person, or another program, has cancelled it. */
  private async endLost(): Promise<Value> {
    await this.cancelRest();
    const left = this.computeLeft();
    if (left.lte(0)) return this.finish();
    throw new StepFailure(
      'unprotected_position',
      `the order that protects the position has ended, and ${formatDecimal(left)} of it in ${this.market} is left`,
      this.execution.path,
    );
  }

  /** The position is gone: cancels the rest, and says how it was closed. */
  private async finish(): Promise<Value> {
    await this.cancelRest();
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
    const terms = {
      market: this.market,
      side: this.side,
      type: 'stop_loss',
      size: '1',
      price: formatDecimal(price),
      trigger: formatDecimal(trigger),
      onAmbiguous: 'halt',
    } as const;
    return this.place(`stop_loss/${this.kept.placed}`, terms, how);
  }

  private alarm(
    alarm: 'StopNotTightened' | 'StopNotPutBack',
    { client_order_id: clientOrderId }: OrderHandle,
    why: string,
  ): void {
    const { run, path } = this.execution;
    run.log.append('order.alarmed', { clientOrderId, alarm, detail: { why } }, path);
  }
}

function hasEnded({ own }: OrderHandle): boolean {
  return own === undefined || isTerminal(own.snapshot.state);
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
