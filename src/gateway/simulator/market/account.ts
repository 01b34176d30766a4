/**
 * Computes the account from its fills: positions, balances, margins. The records add up exactly, in decimals:
 *
 *   balance                 = equity at the start + realised profit - fees
 *   cum_unrealized_pnl      = sum over markets of (net size x mark - cost)
 *   account_equity          = balance + cum_unrealized_pnl
 *   total_notional          = sum of |net size| x mark
 *   total_position_margin   = sum of |net size| x mark / leverage of the market
 *   total_order_margin      = sum of remaining size x price / leverage over working orders that could raise exposure
 *   account_margin          = total_position_margin + total_order_margin
 *   withdrawable_balance    = account_equity - account_margin, not below 0
 *   account_leverage        = total_notional / account_equity, 0 when there is no equity
 *   health                  = (account_equity - account_margin) / account_equity, from 0 to 1
 *
 * Each margin is rounded up to 8 places before it is summed, the two ratios down to 6. The venue document does not give
 * these formulas; they are the simulator's own.
 */
import { Decimal, type DecimalString, decimal, formatDecimal, roundToStep } from '../../../base/decimal.ts';
import type { AccountRecord, Side, TierRecord } from '../../../venue/records.ts';
import type { AccountConfig } from '../config/settings.ts';

interface Position {
  /** Base currency, long positive. */
  net: Decimal;
  /** Cost of `net` in quote currency, with the same sign. */
  cost: Decimal;
}

/** The terms of an order that its margin depends on. */
export interface Exposure {
  readonly marketId: string;
  readonly side: Side;
  readonly size: Decimal;
  readonly price: Decimal;
}

const ZERO = new Decimal(0);
const ONE = new Decimal(1);
const MARGIN_STEP = decimal('0.00000001');
const RATIO_STEP = decimal('0.000001');

export class Account {
  private readonly config: AccountConfig;
  private readonly markOf: (marketId: string, at: number) => Decimal;
  private readonly positions = new Map<string, Position>();
  private readonly leverages: Map<string, number>;
  /** The same as the record shows them. */
  private leverageTexts: AccountRecord['leverage'];
  private balance: Decimal;
  private volume: Decimal;
  private readonly startedAt: number;
  private updatedUs: number;

  constructor(
    config: AccountConfig,
    marketIds: readonly string[],
    startedAt: number,
    markOf: (marketId: string, at: number) => Decimal,
  ) {
    this.config = config;
    this.markOf = markOf;
    this.leverages = new Map(marketIds.map((id) => [id, config.leverage]));
    this.leverageTexts = formatLeverages(this.leverages);
    this.balance = decimal(config.equity);
    this.volume = decimal(config.volume);
    this.startedAt = startedAt;
    this.updatedUs = startedAt * 1000;
  }

  /** Net size of the position in a market, base currency, long positive. */
  getNetSize(marketId: string): Decimal {
    return this.positions.get(marketId)?.net ?? ZERO;
  }

  /** The records of GET /positions, in the simulator's own form: venue-api.md names it and does not describe it. */
  listPositions(): readonly { market_id: string; side: Side; size: DecimalString; average_price: DecimalString }[] {
    return [...this.positions].flatMap(([market_id, { net, cost }]) =>
      net.isZero()
        ? []
        : [
            {
              market_id,
              side: net.isNegative() ? 'short' : 'long',
              size: formatDecimal(net.abs()),
              average_price: formatDecimal(roundToStep(cost.div(net), MARGIN_STEP, 'nearest')),
            },
          ],
    );
  }

  /** The exact fee of a trade in quote currency; a negative fee is a rebate. */
  computeFee(price: Decimal, size: Decimal, isMaker: boolean): Decimal {
    return price.times(size).times(decimal(isMaker ? this.config.fees.maker : this.config.fees.taker));
  }

  /** Adds a trade to the position, the realised profit, the fees and the volume. */
  trade(trade: { marketId: string; side: Side; price: Decimal; size: Decimal; fee: Decimal; atUs: number }): void {
    const position = this.positions.get(trade.marketId) ?? { net: ZERO, cost: ZERO };
    this.positions.set(trade.marketId, position);
    const signed = trade.side === 'long' ? trade.size : trade.size.negated();
    if (position.net.isZero() || position.net.isNegative() === signed.isNegative()) {
      position.net = position.net.plus(signed);
      position.cost = position.cost.plus(signed.times(trade.price));
    } else {
      this.reduce(position, signed, trade.price);
    }
    this.balance = this.balance.minus(trade.fee);
    this.volume = this.volume.plus(trade.price.times(trade.size));
    this.updatedUs = trade.atUs;
  }

  /** The part of the cost that is realised is subtracted from the position, so that rounding loses nothing. */
  private reduce(position: Position, signed: Decimal, price: Decimal): void {
    const closing = Decimal.min(position.net.abs(), signed.abs());
    const all = closing.equals(position.net.abs());
    const part = all
      ? position.cost
      : roundToStep(position.cost.times(closing).div(position.net.abs()), MARGIN_STEP, 'nearest');
    const proceeds = closing.times(price).times(position.net.isNegative() ? -1 : 1);
    this.balance = this.balance.plus(proceeds.minus(part));
    const opening = signed.abs().minus(closing);
    if (opening.greaterThan(0)) {
      position.net = signed.isNegative() ? opening.negated() : opening;
      position.cost = position.net.times(price);
    } else {
      position.net = position.net.plus(signed);
      position.cost = position.cost.minus(part);
    }
  }

  getLeverage(marketId: string): number {
    return this.leverages.get(marketId) ?? this.config.leverage;
  }

  setLeverage(marketId: string, leverage: number, atUs: number): void {
    this.leverages.set(marketId, leverage);
    this.leverageTexts = formatLeverages(this.leverages);
    this.updatedUs = atUs;
  }

  /** The margin that an order ties up; 0 if it can only reduce the position. */
  computeOrderMargin(order: Exposure): Decimal {
    const net = this.getNetSize(order.marketId);
    const reduces =
      net.isNegative() === (order.side === 'long') && !net.isZero() && order.size.lessThanOrEqualTo(net.abs());
    if (reduces) return ZERO;
    return roundToStep(order.size.times(order.price).div(this.getLeverage(order.marketId)), MARGIN_STEP, 'up');
  }

  /** Returns the record of GET /account; `working` are the orders that tie up margin. */
  toRecord(at: number, working: readonly Exposure[]): AccountRecord {
    const sums = this.computeSums(at, working);
    const free = sums.free.isNegative() ? ZERO : sums.free;
    return {
      id: this.config.id,
      status: 'active',
      profile_type: 'trader',
      wallet: this.config.wallet,
      balance: formatDecimal(this.balance),
      withdrawable_balance: formatDecimal(free),
      account_equity: formatDecimal(sums.equity),
      account_leverage: formatDecimal(computeRatio(sums.notional, sums.equity)),
      account_margin: formatDecimal(sums.equity.minus(sums.free)),
      health: formatDecimal(computeRatio(free, sums.equity)),
      cum_trading_volume: formatDecimal(this.volume),
      cum_unrealized_pnl: formatDecimal(sums.unrealized),
      total_notional: formatDecimal(sums.notional),
      total_order_margin: formatDecimal(sums.orderMargin),
      total_position_margin: formatDecimal(sums.positionMargin),
      last_liq_check: this.startedAt * 1000,
      last_update: this.updatedUs,
      leverage: this.leverageTexts,
    };
  }

  /** Equity that no margin ties up; negative if the account cannot carry its positions and orders. */
  computeFree(at: number, working: readonly Exposure[]): Decimal {
    return this.computeSums(at, working).free;
  }

  private computeSums(at: number, working: readonly Exposure[]) {
    let unrealized = ZERO;
    let notional = ZERO;
    let positionMargin = ZERO;
    for (const [marketId, { net, cost }] of this.positions) {
      if (net.isZero()) continue;
      const value = net.times(this.markOf(marketId, at));
      unrealized = unrealized.plus(value.minus(cost));
      notional = notional.plus(value.abs());
      positionMargin = positionMargin.plus(roundToStep(value.abs().div(this.getLeverage(marketId)), MARGIN_STEP, 'up'));
    }
    const orderMargin = working.reduce((sum, order) => sum.plus(this.computeOrderMargin(order)), ZERO);
    const equity = this.balance.plus(unrealized);
    return {
      unrealized,
      notional,
      positionMargin,
      orderMargin,
      equity,
      free: equity.minus(positionMargin).minus(orderMargin),
    };
  }

  /** Returns the record of GET /profile. On the highest tier, the next tier is the same and needs no volume. */
  toTierRecord(): TierRecord {
    const tiers = this.config.tiers;
    let index = 0;
    while (index + 1 < tiers.length && this.volume.greaterThanOrEqualTo(readMinVolume(tiers, index + 1))) index += 1;
    const next = Math.min(index + 1, tiers.length - 1);
    const needed: DecimalString = formatDecimal(Decimal.max(0, readMinVolume(tiers, next).minus(this.volume)));
    const step = (position: number) => tiers[position] as AccountConfig['tiers'][number];
    return { tier_status: { current: step(index), next: step(next), needed_volume: needed } };
  }
}

function computeRatio(part: Decimal, whole: Decimal): Decimal {
  if (!whole.greaterThan(0) || part.isZero()) return ZERO;
  // Each record of an account without a position comes here, and a division would double its cost.
  return part.equals(whole) ? ONE : roundToStep(part.div(whole), RATIO_STEP, 'down');
}

function formatLeverages(leverages: ReadonlyMap<string, number>): AccountRecord['leverage'] {
  return Object.fromEntries([...leverages].map(([id, leverage]) => [id, String(leverage)]));
}

function readMinVolume(tiers: AccountConfig['tiers'], index: number): Decimal {
  return decimal(tiers[index]?.min_volume ?? '0');
}
