/**
 * One write under one set of rules in one situation, and what follows from the three for every check: the order as it
 * would stand, and what works beside it. Nothing is denied here.
 */
import { Decimal, type DecimalString, decimal } from '../../base/decimal.ts';
import type { EndpointName } from '../catalogue.ts';
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
  /** Takes the place of the facts' reference. */
  readonly reference?: PriceAt | undefined;
}

export interface PriceAt {
  readonly price: DecimalString;
  /** Epoch ms at which it was true. */
  readonly at: number;
}

/** An order of ours that is or may be at the venue; one of unknown fate with its whole size. */
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
  /** Of a stop_loss or take_profit: the largest part of the position that it may still take. */
  readonly fraction?: DecimalString | undefined;
  /** Quote currency: what the run's sum has it down for; without it what its terms come to. */
  readonly counted?: DecimalString | undefined;
  /** The fate of it is a person's case. */
  readonly quarantined?: boolean;
}

/** A net size in base currency, long positive: what it may be, and what of it is proven. */
export interface PositionFact {
  /** The furthest that it may be to the short side, and to the long side; the same where every fill is known. */
  readonly least: DecimalString;
  readonly most: DecimalString;
  /** So much is certainly held, on this side; `0` where nothing proves any of it. */
  readonly certain: DecimalString;
  /** Orders that ended, and of which no reading says how much they had filled by then. */
  readonly unread?: readonly string[] | undefined;
  /** Quote currency, unsigned; without it the reference price is used. */
  readonly notional?: DecimalString | undefined;
}

export interface LimitFacts {
  /** Epoch ms. */
  readonly now: number;
  readonly killed?: boolean;
  /** What an operator or the account's state says now, beside the rules. */
  readonly mode?: TradingMode;
  /** Every working order of ours, unknown ones at their worst, including those of other runs of the account. */
  readonly working: readonly WorkingOrder[];
  /** Working orders of this run and of the whole account, unknown ones included. */
  readonly openOrders: { readonly run: number; readonly account: number };
  /** Per market, from fills; a market that is not there is flat. */
  readonly positions: Readonly<Record<string, PositionFact>>;
  readonly counters: {
    /** Changing requests of the run so far. */
    readonly writes: number;
    /** POST and PUT /orders in the last 60 s. */
    readonly ordersLastMinute: number;
    /** Notional the run has sent so far; undefined where an order of it has no price to measure with. */
    readonly runNotional: DecimalString | undefined;
    /** Fills of this step, and refusals and contradictions of the run, in the windows of their throttles. */
    readonly stepFills?: number;
    readonly refusals?: number;
  };
  readonly reference?: PriceAt | undefined;
  /** Per market, at what the run last saw something trade or rest: what a short is measured with where no reference is. */
  readonly lastPrices?: Readonly<Record<string, DecimalString>>;
  readonly account?:
    | {
        readonly equity: DecimalString;
        readonly health: DecimalString;
        readonly at: number;
        readonly leverage?: Readonly<Record<string, DecimalString>>;
      }
    | undefined;
  /** Markets with an order of unknown fate, beside those of `working`. */
  readonly quarantinedMarkets?: readonly string[];
  /** ms since the venue was last read; undefined where it never was. */
  readonly lastReadAgeMs?: number | undefined;
  /** Tick, lot and smallest size of the market; undefined where nobody describes it. */
  readonly marketRules?:
    | { readonly tick: DecimalString; readonly lot: DecimalString; readonly min_size?: DecimalString }
    | undefined;
  /** Other markets are described: one without rules was forgotten. Without any nothing can be checked, and orders pass. */
  readonly marketsDescribed?: boolean;
}

/** The order as it would stand after the write. */
export interface Proposal {
  readonly market: string;
  readonly side: Side;
  readonly type: string;
  /** Ordered size. */
  readonly size: Decimal;
  /** What could fill from now on. */
  readonly rest: Decimal;
  readonly price: DecimalString | undefined;
  readonly trigger: DecimalString | undefined;
  readonly timeInForce: string | undefined;
  /** stop_loss, take_profit: a fraction of the position, reducing by nature; its size is no size. */
  readonly fraction: boolean;
  readonly target: WorkingOrder | undefined;
  /** Of an amend: the terms before it. */
  readonly before: WriteTerms | undefined;
  /** An amend that only shrinks: same price, not more to fill than now. */
  readonly shrinks: boolean;
  readonly resizes: boolean;
}

export interface Case {
  readonly write: LimitWrite;
  readonly kind: 'place' | 'amend' | 'leverage';
  /** Undefined for leverage, and for an amend whose order is not known. */
  readonly order: Proposal | undefined;
  readonly market: string;
  readonly rules: LimitRules;
  readonly facts: LimitFacts;
  readonly considered: Record<string, string>;
}

export function orderOf(write: LimitWrite, facts: LimitFacts): Proposal | undefined {
  if (write.endpoint === 'POST /orders') return write.intent === undefined ? undefined : placed(write.intent);
  const id = paramOf(write, 'order_id');
  const target = facts.working.find((each) =>
    write.clientOrderId === undefined
      ? each.orderId !== undefined && each.orderId === id
      : each.clientOrderId === write.clientOrderId,
  );
  const known: WriteTerms | undefined = target ?? write.intent;
  return known === undefined ? undefined : amended(write, known, target);
}

function placed(terms: WriteTerms): Proposal {
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
 * Whether the venue reads an amended size as the whole or as the rest is not shown: it counts as the rest, the larger of the
 * two. Nor whether it reads that of a position stop as a fraction: it counts as a size, and is held to what sizes are held to.
 */
function amended(write: LimitWrite, known: WriteTerms, target: WorkingOrder | undefined): Proposal {
  const asked = paramOf(write, 'size');
  const price = paramOf(write, 'price');
  const before = exact(known.size);
  const left = exact(target?.worstRemaining ?? known.size);
  const size = asked === undefined ? before : exact(asked);
  const rest = asked === undefined ? left : size;
  return {
    market: known.market,
    side: known.side,
    type: known.type,
    size,
    rest,
    price: price ?? known.price,
    trigger: known.trigger,
    // An amended price may cross what its time in force was chosen for.
    timeInForce: undefined,
    fraction: isFraction(known.type) && asked === undefined,
    target,
    before: known,
    shrinks: rest.lte(left) && price !== undefined && known.price !== undefined && exact(price).eq(exact(known.price)),
    resizes: asked !== undefined,
  };
}

/** What works in a market beside the order itself. Position stops are left out: the venue lets them only reduce. */
export function othersIn({ facts, order }: Case, market: string): readonly WorkingOrder[] {
  return facts.working.filter((each) => each !== order?.target && each.market === market && !isFraction(each.type));
}

export function workingOnSide(at: Case, side: Side): Decimal {
  let sum: Decimal = new Exact(0);
  for (const each of othersIn(at, at.market)) if (each.side === side) sum = sum.plus(exact(each.worstRemaining));
  return sum;
}

export function modeOf({ rules, facts, market }: Case): TradingMode {
  const modes = [rules.mode, ofMarket(rules.marketModes, market), facts.mode];
  return modes.includes('halted') ? 'halted' : modes.includes('reducing') ? 'reducing' : 'active';
}

/** The entry of a table by market; a market may be named like a property that every object has. */
export function ofMarket<T>(table: Readonly<Record<string, T>> | undefined, market: string): T | undefined {
  return table !== undefined && Object.hasOwn(table, market) ? table[market] : undefined;
}

export function referenceOf({ write, facts }: Case): PriceAt | undefined {
  return write.reference ?? facts.reference;
}

export function isFraction(type: string): boolean {
  return type === 'stop_loss' || type === 'take_profit';
}

export function paramOf(write: LimitWrite, name: string): string | undefined {
  const value: unknown = (write.params as Readonly<Record<string, unknown>>)[name];
  return value === undefined ? undefined : String(value);
}

/**
 * Products of two 36-digit decimals have 72 digits: a wider class than the project's, so that a limit is met to the last
 * digit or not at all.
 */
export const Exact = Decimal.clone({ precision: 160 });
export function exact(text: DecimalString): Decimal {
  return new Exact(decimal(text));
}
