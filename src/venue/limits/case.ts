/**
 * Prepares the case that the limit checks look at: one write, one set of rules and the facts, with the order as it would be
 * after the write and the orders that work beside it. Nothing is denied here.
 */
import { Decimal, type DecimalString, decimal } from '../../base/decimal.ts';
import { type EndpointName, getAction } from '../catalogue.ts';
import type { Side } from '../records.ts';
import type { LimitRules, TradingMode } from './rules.ts';

/** Terms of an order, as an intent has them. */
export interface WriteTerms {
  readonly clientOrderId?: string;
  readonly market: string;
  readonly side: Side;
  readonly type: string;
  readonly size: DecimalString;
  readonly price?: DecimalString | undefined;
  readonly trigger?: DecimalString | undefined;
  readonly timeInForce?: string | undefined;
  readonly allow?: 'reduce' | undefined;
}

/** A call about to be made; a `VenueCall` is one. */
export interface LimitWrite {
  readonly endpoint: EndpointName;
  readonly params: object;
  /** POST /orders: the order. PUT /orders: the order that is amended, where `facts.working` does not have it. */
  readonly intent?: WriteTerms | undefined;
  readonly clientOrderId?: string | undefined;
  readonly step: string;
  readonly allow?: 'reduce' | undefined;
  /** Replaces the reference of the facts. */
  readonly reference?: PriceAt | undefined;
}

export interface PriceAt {
  readonly price: DecimalString;
  /** Epoch ms at which it was true. */
  readonly at: number;
}

/** An order of ours that is or may be at the venue; an order of unknown fate counts with its whole size. */
export interface WorkingOrder {
  readonly clientOrderId: string;
  readonly orderId?: string | undefined;
  readonly market: string;
  readonly side: Side;
  readonly type: string;
  readonly price?: DecimalString | undefined;
  readonly trigger?: DecimalString | undefined;
  /** Ordered size, base currency. */
  readonly size: DecimalString;
  /** The most that can still fill, base currency. */
  readonly worstRemaining: DecimalString;
  /** For a stop_loss or take_profit: the largest part of the position that it may still close. */
  readonly fraction?: DecimalString | undefined;
  /** Quote currency: what the notional of the run already counts for it; where absent, the notional of its terms. */
  readonly counted?: DecimalString | undefined;
  /** Its fate must be decided by a person. */
  readonly quarantined?: boolean;
  /** It is not known whether it is at the venue, or its cancel was requested: no reason to keep a position open. */
  readonly doubtful?: boolean;
  readonly timeInForce?: string | undefined;
}

/** A net size in base currency, long positive: the range it may be in, and the part that is proven. */
export interface PositionFact {
  /** The furthest it may be to the short side, and to the long side; equal where every fill is known. */
  readonly least: DecimalString;
  readonly most: DecimalString;
  /** The part that is certainly held, with its sign; `0` where nothing is proven. */
  readonly certain: DecimalString;
  /** Orders that ended and whose final filled size has not been read. */
  readonly unread?: readonly string[] | undefined;
  /** Quote currency, unsigned; without it the reference price is used. */
  readonly notional?: DecimalString | undefined;
}

export interface LimitFacts {
  /** Epoch ms. */
  readonly now: number;
  readonly killed?: boolean;
  /** The mode set by an operator or by the account's state, beside the rules. */
  readonly mode?: TradingMode;
  /** Every working order of ours, those of other runs of the account included; unknown ones at their worst. */
  readonly working: readonly WorkingOrder[];
  /** Working orders of this run and of the whole account, unknown ones included. */
  readonly openOrders: { readonly run: number; readonly account: number };
  /** Per market, from fills; a market without an entry is flat. */
  readonly positions: Readonly<Record<string, PositionFact>>;
  readonly counters: {
    /** Changing requests of the run so far. */
    readonly writes: number;
    /** POST and PUT /orders in the last 60 s. */
    readonly ordersLastMinute: number;
    /** Quote currency: notional the run has sent so far; undefined where one of its orders has no price to measure with. */
    readonly runNotional: DecimalString | undefined;
    /** One of these orders is measured by its own price, because the market was not known: it may bring more. */
    readonly runNotionalAtLeast?: boolean;
    /** Fills of this step, and refusals and contradictions of the run, each within the window of its throttle. */
    readonly stepFills?: number;
    readonly refusals?: number;
    /** Quote currency: notional the account has sent on this UTC day; undefined where an order could not be measured. */
    readonly dayNotional?: DecimalString | undefined;
    /** Quote currency: realised PnL less fees of the account on this UTC day. */
    readonly dayPnl?: DecimalString | undefined;
  };
  /** Why the positions of the account are not known: a journal that cannot be read. */
  readonly unknownPositions?: string | undefined;
  /** Why the account may have open orders that are not among `working`. */
  readonly unknownOrders?: string | undefined;
  /** Why the loss of the day, or the notional sent on it, may be more than the counters say. */
  readonly unknownLoss?: string | undefined;
  readonly unknownSent?: string | undefined;
  readonly reference?: PriceAt | undefined;
  /** A recent reading of the profile's price feed in the market of the write. */
  readonly marketPrice?: DecimalString | undefined;
  /** Per market, the last price at which the run saw a trade or a resting order: a short is measured with it where there is no reference. */
  readonly lastPrices?: Readonly<Record<string, DecimalString>>;
  readonly account?:
    | {
        readonly equity: DecimalString;
        readonly health: DecimalString;
        readonly at: number;
        readonly leverage?: Readonly<Record<string, DecimalString>>;
      }
    | undefined;
  /** ms since the venue was last read; undefined where it never was. */
  readonly lastReadAgeMs?: number | undefined;
  /** Tick, lot and smallest size of the market; undefined where no profile or venue describes it. */
  readonly marketRules?:
    | { readonly tick: DecimalString; readonly lot: DecimalString; readonly min_size?: DecimalString }
    | undefined;
  /** Some markets are described, so one without rules was forgotten. Where none are, nothing can be checked and orders pass. */
  readonly marketsDescribed?: boolean;
}

/** The order as it would be after the write. */
export interface Proposal {
  readonly market: string;
  readonly side: Side;
  readonly type: string;
  /** Ordered size. */
  readonly size: Decimal;
  /** The most that could fill from now on. */
  readonly rest: Decimal;
  readonly price: DecimalString | undefined;
  readonly trigger: DecimalString | undefined;
  readonly timeInForce: string | undefined;
  /** stop_loss, take_profit: the size is a fraction of the position, and the order can only reduce it. */
  readonly fraction: boolean;
  readonly target: WorkingOrder | undefined;
  /** For an amend: the terms before it. */
  readonly before: WriteTerms | undefined;
  /** An amend that only shrinks the order: same price, no more to fill than now. */
  readonly shrinks: boolean;
  readonly resizes: boolean;
}

export interface CheckedCase {
  readonly write: LimitWrite;
  readonly kind: 'place' | 'amend' | 'leverage';
  /** Undefined for leverage, and for an amend whose order is not known. */
  readonly order: Proposal | undefined;
  readonly market: string;
  readonly rules: LimitRules;
  readonly facts: LimitFacts;
  readonly considered: Record<string, string>;
}

export function proposeOrder(write: LimitWrite, facts: LimitFacts): Proposal | undefined {
  if (getAction(write.endpoint) === 'place')
    return write.intent === undefined ? undefined : proposePlacement(write.intent);
  const id = getParam(write, 'order_id');
  const target = facts.working.find((each) =>
    write.clientOrderId === undefined
      ? each.orderId !== undefined && each.orderId === id
      : each.clientOrderId === write.clientOrderId,
  );
  const known: WriteTerms | undefined = target ?? write.intent;
  return known === undefined ? undefined : proposeAmend(write, known, target);
}

function proposePlacement(terms: WriteTerms): Proposal {
  const size = exact(terms.size);
  return {
    market: terms.market,
    side: terms.side,
    type: terms.type,
    size,
    rest: size,
    price: terms.price,
    trigger: terms.trigger,
    timeInForce: terms.timeInForce,
    fraction: isFraction(terms.type),
    target: undefined,
    before: undefined,
    shrinks: false,
    resizes: true,
  };
}

/**
 * The document does not say whether an amended size is the whole or the rest: it counts as the rest, the larger of the two. Nor
 * does it say whether that of a position stop is a fraction: it counts as a size, and the limits of sizes apply.
 */
function proposeAmend(write: LimitWrite, known: WriteTerms, target: WorkingOrder | undefined): Proposal {
  const requested = getParam(write, 'size');
  const price = getParam(write, 'price');
  const before = exact(known.size);
  const left = exact(target?.worstRemaining ?? known.size);
  const size = requested === undefined ? before : exact(requested);
  const rest = requested === undefined ? left : size;
  return {
    market: known.market,
    side: known.side,
    type: known.type,
    size,
    rest,
    price: price ?? known.price,
    trigger: known.trigger,
    // An amended price may cross the market although the time in force was chosen for a price that did not.
    timeInForce: undefined,
    fraction: isFraction(known.type) && requested === undefined,
    target,
    before: known,
    shrinks: rest.lte(left) && price !== undefined && known.price !== undefined && exact(price).eq(exact(known.price)),
    resizes: requested !== undefined,
  };
}

/** Orders that work in a market beside the order itself. Position stops are left out: the venue lets them only reduce. */
export function listOthersIn({ facts, order }: CheckedCase, market: string): readonly WorkingOrder[] {
  return facts.working.filter((each) => each !== order?.target && each.market === market && !isFraction(each.type));
}

export function sumWorkingOnSide(at: CheckedCase, side: Side): Decimal {
  let sum: Decimal = new Exact(0);
  for (const each of listOthersIn(at, at.market)) if (each.side === side) sum = sum.plus(exact(each.worstRemaining));
  return sum;
}

export function getMode({ rules, facts, market }: CheckedCase): TradingMode {
  const modes = [rules.mode, getForMarket(rules.marketModes, market), facts.mode];
  return modes.includes('halted') ? 'halted' : modes.includes('reducing') ? 'reducing' : 'active';
}

/** The entry of a market in a table; a market may have the name of a property that every object has. */
export function getForMarket<T>(table: Readonly<Record<string, T>> | undefined, market: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, market) ? table[market] : undefined;
}

export function getReference({ write, facts }: CheckedCase): PriceAt | undefined {
  return write.reference ?? facts.reference;
}

/** The size of a stop-loss or take-profit is a fraction of the position, also when it has filled. */
export function isFraction(type: string): boolean {
  return type === 'stop_loss' || type === 'take_profit';
}

/** Whether an order fills at once or not at all. */
export function neverRests({ timeInForce }: { readonly timeInForce?: string | undefined }): boolean {
  return timeInForce === 'immediate_or_cancel' || timeInForce === 'fill_or_kill';
}

export function getParam(write: LimitWrite, name: string): string | undefined {
  const value: unknown = (write.params as Readonly<Record<string, unknown>>)[name];
  return value === undefined ? undefined : String(value);
}

/**
 * Products of two 36-digit decimals have 72 digits, so this class is wider than the project's: a limit holds to the last
 * digit.
 */
export const Exact = Decimal.clone({ precision: 160 });
export function exact(text: DecimalString): Decimal {
  return new Exact(decimal(text));
}
