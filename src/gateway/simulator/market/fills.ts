/**
 * Matches orders with prices: an order waits for its trigger, enters the book, is filled, and ends. Every change goes into the
 * ledger with its time, every fill into the account. events.ts decides when this happens, orders.ts what was asked for.
 */
import { Decimal, decimal, formatDecimal } from '../../../base/decimal.ts';
import type { Chance } from '../config/random.ts';
import type { Settings } from '../config/settings.ts';
import type { Account, Exposure } from './account.ts';
import { isPositionOrder, isTerminal, type OrderLedger, type SimOrder, type Stage } from './ledger.ts';
import type { Execution, Market } from './matching.ts';
import { VenueError } from './request.ts';

interface FillEngineParts {
  readonly chance: Chance;
  readonly settings: Settings;
  readonly ledger: OrderLedger;
  readonly account: Account;
  readonly markets: ReadonlyMap<string, Market>;
}

/** The new terms of an amend; without a size, the size stays. */
export interface NewTerms {
  readonly price: Decimal;
  readonly size: Decimal | undefined;
}

type Given =
  | 'marketId'
  | 'side'
  | 'type'
  | 'clientOrderId'
  | 'timeInForce'
  | 'price'
  | 'trigger'
  | 'size'
  | 'stage'
  | 'visibleAt'
  | 'nulls';

const FIRST_NUMBER = 1001;

export class FillEngine {
  private readonly parts: FillEngineParts;
  private readonly trades = new Map<string, number>();
  private numbers = FIRST_NUMBER;
  private priorities = 0;

  constructor(parts: FillEngineParts) {
    this.parts = parts;
  }

  getMarket(id: string): Market {
    const market = this.parts.markets.get(id);
    if (market === undefined) throw new VenueError('MARKET_NOT_FOUND', `there is no market ${id}`, 404);
    return market;
  }

  /** The number of the next order. */
  get nextNumber(): number {
    return this.numbers;
  }

  add(given: Pick<SimOrder, Given>, at: number): SimOrder {
    const order: SimOrder = {
      ...given,
      number: this.numbers,
      readLagMs: this.drawLag(this.parts.settings.readLagMs, 'read lag', this.numbers),
      id: `${given.marketId}@${this.numbers}`,
      arrivedAt: at,
      timestampUs: this.parts.ledger.stamp(at),
      initialSize: given.size,
      filled: new Decimal(0),
      reason: '',
      priority: this.takePriority(),
      amendsUnderWay: 0,
      flickers: false,
      cancelsUnderWay: 0,
      cancelsAllUnderWay: 0,
      history: [],
    };
    this.numbers += 1;
    this.parts.ledger.add(order, at);
    return order;
  }

  /** Adds the positions and resting orders of the configuration, oldest first; called when they are placed or before. */
  openWith({ positions, resting }: Pick<Settings['account'], 'positions' | 'resting'>, startedAt: number): void {
    const rows = [
      ...positions.map((row) => ({ ...row, kind: 'position' as const })),
      ...resting.map((row) => ({ ...row, kind: 'resting' as const })),
    ];
    for (const row of rows.sort((a, b) => b.agoMs - a.agoMs)) {
      const at = startedAt - row.agoMs;
      const rests = row.kind === 'resting';
      const [size, price] = [decimal(row.size), decimal(row.price)];
      const order = this.add(
        {
          marketId: row.market,
          side: rests ? row.side : size.isNegative() ? 'short' : 'long',
          type: rests ? 'limit' : 'market',
          clientOrderId: rests ? (row.client_order_id ?? '') : '',
          timeInForce: 'good_till_cancel',
          price,
          trigger: undefined,
          size: size.abs(),
          stage: 'working',
          visibleAt: at,
          ...(rests && row.nulls !== undefined ? { nulls: row.nulls } : {}),
        },
        at,
      );
      if (rests) this.getMarket(row.market).watch(order);
      else this.fill(order, { price, size: size.abs() }, false, at);
    }
  }

  /** Decides the outcome of an order that has been acknowledged (venue-notes.md, surprise 1). */
  decide(order: SimOrder, at: number): void {
    const position = isPositionOrder(order);
    if (position && !this.closes(order)) {
      this.end(order, 'rejected', 'NO_POSITION', at);
    } else if (!position && !this.affords(this.toExposure(order, at), at)) {
      this.end(order, 'rejected', 'INSUFFICIENT_MARGIN', at);
    } else if (order.trigger === undefined) {
      this.enter(order, at);
    } else {
      this.wait(order, at);
    }
  }

  /** Processes one price step: fills resting orders first, then checks triggers. */
  step(market: Market, at: number): void {
    for (const order of market.listCrossed()) {
      const execution = market.fillResting(order);
      if (execution === undefined) continue;
      this.fill(order, execution, true, at);
      if (!isTerminal(order)) market.watch(order);
    }
    for (const order of market.listTriggered()) this.trigger(order, at);
  }

  /** Whether an amend is possible: a post-only order must not cross, and the margin must suffice. */
  allows(order: SimOrder, terms: NewTerms, at: number): boolean {
    const changed = { ...order, price: terms.price };
    const crosses = order.stage === 'working' && this.getMarket(order.marketId).crossesNow(changed);
    if (crosses && order.timeInForce === 'post_only') return false;
    return isPositionOrder(order) || this.affords(this.toExposure(order, at, terms), at, order);
  }

  /** Gives an order new terms; it loses its place in the queue. */
  amend(order: SimOrder, { price, size }: NewTerms, at: number): void {
    order.price = price;
    if (size !== undefined) {
      const { amendInitialSize, amendSize } = this.parts.settings.surprises;
      if (amendInitialSize === 'changes') order.initialSize = size;
      order.size = amendSize === 'total' ? size.minus(order.filled) : size;
    }
    order.priority = this.takePriority();
    if (!order.size.greaterThan(0)) {
      order.size = new Decimal(0);
      this.end(order, 'closed', '', at);
    } else if (order.stage === 'working') {
      this.enter(order, at);
    } else {
      this.parts.ledger.note(order, at);
      if (order.stage === 'waiting') this.getMarket(order.marketId).watch(order);
    }
  }

  /** Fills a fraction of the remaining size at the order's own price, without regard to the market. */
  fillFraction(order: SimOrder, fraction: Decimal, at: number): void {
    const market = this.getMarket(order.marketId);
    const size = Decimal.min(order.size, order.size.times(fraction).div(market.lot).ceil().times(market.lot));
    this.fill(order, { price: order.price ?? market.getMidAt(at), size }, true, at);
  }

  /**
   * Fills an order that rests by a fraction, as an opposite order would. One that is still processed enters the book first; all
   * or nothing takes no part.
   */
  fillResting(order: SimOrder, fraction: Decimal, at: number): void {
    const enters = order.stage === 'processing' && order.trigger === undefined;
    if (!enters && order.stage !== 'working') return;
    if (order.timeInForce === 'fill_or_kill' && fraction.lessThan(1)) return;
    if (enters && !this.affords(this.toExposure(order, at), at)) return;
    order.stage = 'working';
    this.fillFraction(order, fraction, at);
    if (isTerminal(order)) return;
    if (order.timeInForce === 'immediate_or_cancel')
      this.end(order, this.parts.settings.surprises.iocRest, 'IMMEDIATE_OR_CANCEL', at);
    else this.getMarket(order.marketId).watch(order);
  }

  end(order: SimOrder, stage: Extract<Stage, 'closed' | 'canceled' | 'rejected'>, reason: string, at: number): void {
    order.stage = stage;
    order.reason = reason;
    this.getMarket(order.marketId).unwatch(order);
    this.parts.ledger.note(order, at);
  }

  /** Orders that tie up margin: working orders and waiting stops, without `besides` and without position orders. */
  listExposures(at: number, besides?: SimOrder): Exposure[] {
    const exposures: Exposure[] = [];
    for (const order of this.parts.ledger.open) {
      if (order === besides || order.stage === 'processing' || isPositionOrder(order)) continue;
      exposures.push(this.toExposure(order, at));
    }
    return exposures;
  }

  private toExposure(order: SimOrder, at: number, terms?: NewTerms): Exposure {
    const price = terms?.price ?? order.price ?? this.getMarket(order.marketId).getMidAt(at);
    return { marketId: order.marketId, side: order.side, size: terms?.size ?? order.size, price };
  }

  private affords(exposure: Exposure, at: number, besides?: SimOrder): boolean {
    const { account } = this.parts;
    const free = account.computeFree(at, this.listExposures(at, besides));
    return account.computeOrderMargin(exposure).lessThanOrEqualTo(Decimal.max(0, free));
  }

  /** Whether a position order closes an existing position. */
  private closes(order: SimOrder): boolean {
    const net = this.parts.account.getNetSize(order.marketId);
    return order.side === 'short' ? net.greaterThan(0) : net.lessThan(0);
  }

  private wait(order: SimOrder, at: number): void {
    order.stage = 'waiting';
    this.parts.ledger.note(order, at);
    const market = this.getMarket(order.marketId);
    if (market.triggersNow(order)) this.trigger(order, at);
    else market.watch(order);
  }

  private trigger(order: SimOrder, at: number): void {
    const market = this.getMarket(order.marketId);
    market.unwatch(order);
    if (isPositionOrder(order)) {
      const held = this.closes(order) ? this.parts.account.getNetSize(order.marketId).abs() : new Decimal(0);
      order.size = held.times(order.size).div(market.lot).floor().times(market.lot);
      order.initialSize = order.size;
    }
    if (order.size.isZero()) this.end(order, 'rejected', 'NO_POSITION', at);
    else this.enter(order, at);
  }

  /** Enters the book: takes the liquidity there is, then rests or ends by its time in force. */
  private enter(order: SimOrder, at: number): void {
    const market = this.getMarket(order.marketId);
    const tif = order.timeInForce;
    if (tif === 'post_only' && market.crossesNow(order)) {
      this.end(order, 'rejected', 'POST_ONLY_WOULD_CROSS', at);
      return;
    }
    if (tif === 'fill_or_kill' && market.sumAvailable(order).lessThan(order.size)) {
      this.end(order, 'rejected', 'FILL_OR_KILL_NOT_FILLED', at);
      return;
    }
    order.stage = 'working';
    this.parts.ledger.note(order, at);
    for (const execution of market.take(order)) this.fill(order, execution, false, at);
    if (isTerminal(order)) return;
    if (tif === 'immediate_or_cancel') {
      this.end(order, this.parts.settings.surprises.iocRest, 'IMMEDIATE_OR_CANCEL', at);
    } else {
      market.watch(order);
    }
  }

  private fill(order: SimOrder, { price, size }: Execution, isMaker: boolean, at: number): void {
    const { account, ledger, settings } = this.parts;
    const atUs = ledger.stamp(at);
    const fee = account.computeFee(price, size, isMaker);
    account.trade({ marketId: order.marketId, side: order.side, price, size, fee, atUs });
    this.getMarket(order.marketId).lean(toSign(account.getNetSize(order.marketId)), at);
    order.filled = order.filled.plus(size);
    order.size = order.size.minus(size);
    const lagMs = this.drawLag(settings.fillLagMs, 'fill lag', ledger.fills.length);
    ledger.addFill(order, {
      shownAt: at + lagMs,
      record: {
        trade_id: this.takeTradeId(order.marketId),
        id: this.takeTradeId(order.marketId),
        order_id: order.id,
        market_id: order.marketId,
        profile_id: settings.account.id,
        side: order.side,
        price: formatDecimal(price),
        size: formatDecimal(size),
        fee: formatDecimal(fee),
        is_maker: isMaker,
        liquidation: false,
        timestamp: atUs,
      },
    });
    if (order.size.isZero()) this.end(order, 'closed', '', at);
    else ledger.note(order, at);
  }

  private drawLag(most: number, name: string, index: number): number {
    const { settings, chance } = this.parts;
    return settings.surprises.lags === 'each' ? chance.drawWithin({ min: 0, max: most }, name, index) : most;
  }

  private takePriority(): number {
    this.priorities += 1;
    return this.priorities;
  }

  private takeTradeId(marketId: string): string {
    const number = (this.trades.get(marketId) ?? 0) + 1;
    this.trades.set(marketId, number);
    return `${marketId}-${number}`;
  }
}

function toSign(size: Decimal): -1 | 0 | 1 {
  return size.isZero() ? 0 : size.isNegative() ? -1 : 1;
}
