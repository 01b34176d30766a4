/**
 * The check before every write (limits.md): what is about to be sent, the rules, and the facts, in; a verdict with the
 * figures that decided it, out. Cheap and static checks come first; the first that denies wins. Cancels and calls of the
 * deadman switch always pass. A rule whose fact is missing denies: not knowing is no reason to send. It reads nothing,
 * asks no time and keeps no counters: whoever asks brings the facts.
 */
import { Decimal, type DecimalString, decimal, decimalText, roundToStep } from '../base/decimal.ts';
import type { EndpointName } from './catalogue.ts';
import { DENIALS, type DenialCode } from './denials.ts';
import type { LimitRules, TradingMode } from './limit-rules.ts';
import type { Side } from './records.ts';

export { DENIALS, type DenialCode, endsRun } from './denials.ts';
export {
  LIMIT_CONTROLS,
  type LimitRules,
  type Throttle,
  TRADING_MODES,
  type TradingMode,
  tighter,
} from './limit-rules.ts';

/** The venue takes 1000 open orders per account; the last fifty are kept for what protects (reliability.md, row 63). */
export const MOST_OPEN_ORDERS = 950;
/** PUT /account/leverage, where no rule says less. */
export const MOST_LEVERAGE = '20';

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
  /** Ordered size, base currency. */
  readonly size: DecimalString;
  /** The most that can still fill, base currency. */
  readonly worstRemaining: DecimalString;
  /** The fate of it is a person's case. */
  readonly quarantined?: boolean;
}

export interface PositionFact {
  /** Base currency, long positive. */
  readonly size: DecimalString;
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
    /** Notional the run has sent so far. */
    readonly runNotional: DecimalString;
    /** Fills of this step, and refusals and contradictions of the run, in the windows of their throttles. */
    readonly stepFills?: number;
    readonly refusals?: number;
  };
  readonly reference?: PriceAt | undefined;
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
  /** Tick, lot and smallest size of the market; undefined where nobody describes it: then they are not checked. */
  readonly marketRules?:
    | { readonly tick: DecimalString; readonly lot: DecimalString; readonly min_size?: DecimalString }
    | undefined;
}

export type LimitVerdict =
  /** `considered`: control to figures, for the journal: `max_order_notional: 16066.05/25000`. */
  | { readonly ok: true; readonly considered: Readonly<Record<string, string>> }
  | {
      readonly ok: false;
      readonly code: DenialCode;
      readonly message: string;
      readonly considered: Readonly<Record<string, string>>;
    };

/** Checks one write. Pure; see the table `CHECKS` for the order. */
export function checkLimits(write: LimitWrite, rules: LimitRules, facts: LimitFacts): LimitVerdict {
  const kind = KINDS[write.endpoint];
  const considered: Record<string, string> = {};
  if (kind === undefined) return { ok: true, considered };
  const order = kind === 'leverage' ? undefined : orderOf(write, facts);
  const at: Case = {
    write,
    kind,
    order,
    market: order?.market ?? paramOf(write, 'market_id') ?? '',
    rules,
    facts,
    considered,
  };
  for (const check of CHECKS) {
    const denial = check(at);
    if (denial !== undefined) return { ok: false, code: denial.code, message: messageOf(denial), considered };
  }
  return { ok: true, considered };
}

/** Quote currency an order is worth: size times its price, else its trigger, else the reference; undefined without any. */
export function notionalOf(terms: WriteTerms, reference?: DecimalString): DecimalString | undefined {
  const price = terms.price ?? terms.trigger ?? reference;
  return isFraction(terms.type) || price === undefined ? undefined : decimalText(exact(terms.size).times(exact(price)));
}

/**
 * Products of two 36-digit decimals have 72 digits: a wider class than the project's, so that a limit is met to the last
 * digit or not at all.
 */
const Exact = Decimal.clone({ precision: 160 });
function exact(text: DecimalString): Decimal {
  return new Exact(decimal(text));
}

/** The calls that can raise exposure or change what it costs. All others pass. */
const KINDS: { readonly [E in EndpointName]?: 'place' | 'amend' | 'leverage' } = {
  'POST /orders': 'place',
  'PUT /orders': 'amend',
  'PUT /account/leverage': 'leverage',
};

/** The order as it would stand after the write. */
interface Proposal {
  readonly market: string;
  readonly side: Side;
  readonly type: string;
  /** Ordered size. */
  readonly size: Decimal;
  /** What could fill from now on. */
  readonly rest: Decimal;
  readonly price: DecimalString | undefined;
  readonly trigger: DecimalString | undefined;
  /** stop_loss, take_profit: a fraction of the position, reducing by nature; its size is no size. */
  readonly fraction: boolean;
  readonly target: WorkingOrder | undefined;
  /** An amend that only shrinks: same price, not more to fill than now. */
  readonly shrinks: boolean;
  /** Size that is new to the run. */
  readonly added: Decimal;
  readonly resizes: boolean;
}

interface Case {
  readonly write: LimitWrite;
  readonly kind: 'place' | 'amend' | 'leverage';
  /** Undefined for leverage, and for an amend whose order is not known. */
  readonly order: Proposal | undefined;
  readonly market: string;
  readonly rules: LimitRules;
  readonly facts: LimitFacts;
  readonly considered: Record<string, string>;
}

interface Denied {
  readonly code: DenialCode;
  /** In the order of the code's names. */
  readonly figures: readonly (string | number)[];
}
type Check = (at: Case) => Denied | undefined;

function deny(code: DenialCode, ...figures: (string | number)[]): Denied {
  return { code, figures };
}

function messageOf({ code, figures }: Denied): string {
  const named = DENIALS[code].names.map((name, index) => `${name}=${figures[index] ?? '?'}`);
  return named.length === 0 ? `${code}: ${DENIALS[code].summary}` : `${code}: ${named.join(', ')}`;
}

function isFraction(type: string): boolean {
  return type === 'stop_loss' || type === 'take_profit';
}

function paramOf(write: LimitWrite, name: string): string | undefined {
  const value: unknown = (write.params as Readonly<Record<string, unknown>>)[name];
  return value === undefined ? undefined : String(value);
}

function orderOf(write: LimitWrite, facts: LimitFacts): Proposal | undefined {
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
    fraction: isFraction(terms.type),
    target: undefined,
    shrinks: false,
    added: size,
    resizes: true,
  };
}

/** Whether the venue reads an amended size as the whole or as the rest is not shown: it counts as the rest, the larger of the two. */
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
    trigger: undefined,
    fraction: isFraction(known.type),
    target,
    shrinks: rest.lte(left) && price !== undefined && known.price !== undefined && exact(price).eq(exact(known.price)),
    added: size.gt(before) ? size.minus(before) : new Exact(0),
    resizes: asked !== undefined,
  };
}

/** What works in a market beside the order itself. Position stops are left out: the venue lets them only reduce. */
function othersIn({ facts, order }: Case, market: string): readonly WorkingOrder[] {
  return facts.working.filter((each) => each !== order?.target && each.market === market && !isFraction(each.type));
}

function workingOnSide(at: Case, side: Side): Decimal {
  let sum: Decimal = new Exact(0);
  for (const each of othersIn(at, at.market)) if (each.side === side) sum = sum.plus(exact(each.worstRemaining));
  return sum;
}

function positionOf({ facts, market }: Case): Decimal {
  return exact(Object.hasOwn(facts.positions, market) ? (facts.positions[market]?.size ?? '0') : '0');
}

/**
 * Whether the write certainly only lowers exposure: a position stop, an amend that only shrinks, or an order against the
 * position that together with all that works on its side can not turn it.
 */
function lowers(at: Case): boolean {
  const { order } = at;
  if (order === undefined) return false;
  if (order.fraction || order.shrinks) return true;
  const position = positionOf(at);
  const against = order.side === 'short' ? position.isPositive() : position.isNegative();
  return against && !position.isZero() && order.rest.plus(workingOnSide(at, order.side)).lte(position.abs());
}

function modeOf({ rules, facts, market }: Case): TradingMode {
  const own =
    rules.marketModes !== undefined && Object.hasOwn(rules.marketModes, market) ? rules.marketModes[market] : undefined;
  const modes = [rules.mode, own, facts.mode];
  return modes.includes('halted') ? 'halted' : modes.includes('reducing') ? 'reducing' : 'active';
}

function referenceOf({ write, facts }: Case): PriceAt | undefined {
  return write.reference ?? facts.reference;
}

/** The price a notional is measured with: the order's own, else its trigger, else the reference. */
function priceOf(at: Case): DecimalString | undefined {
  return at.order?.price ?? at.order?.trigger ?? referenceOf(at)?.price;
}

/** An emergency exit passes the caps of notional, but only when it certainly only reduces (language.md, decision 11). */
function passesCaps(at: Case): boolean {
  const asked = at.write.allow ?? at.write.intent?.allow;
  if (asked !== 'reduce') return false;
  const proven = lowers(at);
  at.considered['allow'] = proven ? 'reduce' : 'reduce not proven';
  return proven;
}

/** Counts and figures are journaled as `used/allowed`. */
function within(at: Case, control: string, value: Decimal | number, max: DecimalString | number): boolean {
  at.considered[control] = `${typeof value === 'number' ? value : decimalText(value)}/${max}`;
  return typeof value === 'number' ? value <= Number(max) : value.lte(exact(String(max)));
}

// The order of the checks is the order of this table: static ones, then counters, then what is measured at the market.
const CHECKS: readonly Check[] = [
  function killSwitch({ facts }) {
    return facts.killed === true ? deny('KILL_SWITCH_ENGAGED') : undefined;
  },

  function halted(at) {
    return modeOf(at) === 'halted' ? deny('TRADING_HALTED', 'halted', at.market) : undefined;
  },

  function knownOrder({ kind, order, write }) {
    if (kind === 'leverage' || order !== undefined) return undefined;
    return deny('AMEND_TARGET_UNKNOWN', paramOf(write, 'order_id') ?? write.clientOrderId ?? '');
  },

  function market({ rules, market, considered }) {
    if (rules.markets === undefined) return undefined;
    considered['markets'] = market;
    return rules.markets.includes(market) ? undefined : deny('MARKET_NOT_ALLOWED', market, rules.markets.join(' '));
  },

  function orderType({ rules, order }) {
    const { orderTypes } = rules;
    if (orderTypes === undefined || order === undefined) return undefined;
    const allowed: readonly string[] = orderTypes;
    return allowed.includes(order.type) ? undefined : deny('ORDER_TYPE_NOT_ALLOWED', order.type, allowed.join(' '));
  },

  function leverage(at) {
    const { kind, write, rules } = at;
    if (kind !== 'leverage') return undefined;
    const text = paramOf(write, 'leverage') ?? '';
    if (!/^[1-9]\d{0,8}$/.test(text)) return deny('LEVERAGE_NOT_WHOLE', text);
    const max = rules.maxLeverage ?? MOST_LEVERAGE;
    return within(at, 'max_leverage', exact(text), max) ? undefined : deny('LEVERAGE_EXCEEDS_MAX', text, max);
  },

  function leverageWhileReducing(at) {
    const { kind, write, facts, market } = at;
    if (kind !== 'leverage' || modeOf(at) !== 'reducing') return undefined;
    const leverage = facts.account?.leverage ?? {};
    const current = Object.hasOwn(leverage, market) ? leverage[market] : undefined;
    const asked = paramOf(write, 'leverage') ?? '';
    // Unknown is let through: the usual reason to set leverage while reducing is to lower it (housekeeping.yaml).
    if (current === undefined || exact(asked).lte(exact(current))) return undefined;
    return deny('LEVERAGE_RAISED_WHILE_REDUCING', 'reducing', asked, current);
  },

  function tick({ order, facts }) {
    const { marketRules } = facts;
    if (order === undefined || marketRules === undefined) return undefined;
    const step = exact(marketRules.tick);
    if (order.price !== undefined && !isMultiple(exact(order.price), step)) {
      return deny('PRICE_OFF_TICK', order.price, marketRules.tick, nearest(exact(order.price), step));
    }
    if (order.trigger !== undefined && !isMultiple(exact(order.trigger), step)) {
      return deny('TRIGGER_OFF_TICK', order.trigger, marketRules.tick, nearest(exact(order.trigger), step));
    }
    return undefined;
  },

  function lot({ order, facts }) {
    const { marketRules } = facts;
    if (order === undefined || marketRules === undefined || order.fraction || !order.resizes) return undefined;
    const step = exact(marketRules.lot);
    const least = exact(marketRules.min_size ?? marketRules.lot);
    if (!isMultiple(order.size, step)) {
      const legal = Decimal.max(decimal(nearest(order.size, step)), least);
      return deny('SIZE_OFF_LOT', decimalText(order.size), marketRules.lot, decimalText(legal));
    }
    return order.size.lt(least) ? deny('SIZE_BELOW_MIN', decimalText(order.size), decimalText(least)) : undefined;
  },

  function writes(at) {
    const { maxWrites } = at.rules;
    const used = at.facts.counters.writes + 1;
    return maxWrites === undefined || within(at, 'max_writes', used, maxWrites)
      ? undefined
      : deny('WRITES_EXCEED_MAX', used, maxWrites);
  },

  function orderRate(at) {
    const { maxOrdersPerMinute } = at.rules;
    if (maxOrdersPerMinute === undefined || at.kind === 'leverage') return undefined;
    const used = at.facts.counters.ordersLastMinute + 1;
    return within(at, 'orders_per_minute', used, maxOrdersPerMinute)
      ? undefined
      : deny('ORDER_RATE_EXCEEDED', used, maxOrdersPerMinute);
  },

  function stepFills(at) {
    const { stepFills } = at.rules;
    if (stepFills === undefined || at.kind === 'leverage') return undefined;
    const fills = at.facts.counters.stepFills ?? 0;
    return within(at, 'step_fills', fills, stepFills.max)
      ? undefined
      : deny('STEP_FILLS_EXCEEDED', fills, stepFills.max, stepFills.windowMs);
  },

  function refusals(at) {
    const { refusals } = at.rules;
    if (refusals === undefined) return undefined;
    const count = at.facts.counters.refusals ?? 0;
    return within(at, 'refusals', count, refusals.max)
      ? undefined
      : deny('REFUSALS_EXCEEDED', count, refusals.max, refusals.windowMs);
  },

  function openOrders(at) {
    if (at.kind !== 'place') return undefined;
    const { run, account } = at.facts.openOrders;
    const { maxOpenOrders } = at.rules;
    if (maxOpenOrders !== undefined && !within(at, 'max_open_orders', run + 1, maxOpenOrders)) {
      return deny('OPEN_ORDERS_EXCEED_MAX', run + 1, maxOpenOrders);
    }
    return account + 1 > MOST_OPEN_ORDERS
      ? deny('OPEN_ORDERS_NEAR_VENUE_LIMIT', account + 1, MOST_OPEN_ORDERS)
      : undefined;
  },

  function orderSize(at) {
    const { order, rules } = at;
    if (rules.maxOrderSize === undefined || order === undefined || order.fraction) return undefined;
    const fits = within(at, 'max_order_size', order.size, rules.maxOrderSize);
    return fits ? undefined : deny('SIZE_EXCEEDS_MAX_PER_ORDER', decimalText(order.size), rules.maxOrderSize);
  },

  function reducing(at) {
    if (at.kind === 'leverage' || modeOf(at) !== 'reducing' || at.order === undefined) return undefined;
    at.considered['mode'] = 'reducing';
    if (lowers(at)) return undefined;
    const { side, rest } = at.order;
    return deny(
      'REDUCING_ONLY',
      'reducing',
      side,
      decimalText(rest),
      decimalText(positionOf(at)),
      decimalText(workingOnSide(at, side)),
    );
  },

  function side(at) {
    const { order, rules } = at;
    if (rules.sides === undefined || order === undefined || rules.sides.includes(order.side) || lowers(at))
      return undefined;
    return deny('SIDE_NOT_ALLOWED', order.side, rules.sides.join(' '));
  },

  function quarantine(at) {
    const { facts, market, order } = at;
    if (order === undefined || lowers(at)) return undefined;
    const doubtful = facts.working.find((each) => each.market === market && each.quarantined === true);
    if (doubtful === undefined && facts.quarantinedMarkets?.includes(market) !== true) return undefined;
    return deny('MARKET_QUARANTINED', market, doubtful?.orderId ?? doubtful?.clientOrderId ?? '');
  },

  function picture(at) {
    const { maxReadAgeMs } = at.rules;
    if (maxReadAgeMs === undefined || at.order === undefined || lowers(at)) return undefined;
    const age = at.facts.lastReadAgeMs;
    if (age !== undefined && within(at, 'read_age_ms', age, maxReadAgeMs)) return undefined;
    return deny('PICTURE_STALE', age ?? 'never', maxReadAgeMs);
  },

  function floors(at) {
    const { minEquity, minHealth, maxAccountAgeMs } = at.rules;
    if ((minEquity === undefined && minHealth === undefined) || at.order === undefined || lowers(at)) return undefined;
    const { account, now } = at.facts;
    const age = account === undefined ? 'never' : now - account.at;
    if (account === undefined || (maxAccountAgeMs !== undefined && Number(age) > maxAccountAgeMs)) {
      return deny('ACCOUNT_STALE', age, maxAccountAgeMs ?? 'any');
    }
    if (minEquity !== undefined) {
      at.considered['min_equity'] = `${account.equity}/${minEquity}`;
      if (exact(account.equity).lt(exact(minEquity))) return deny('EQUITY_BELOW_MIN', account.equity, minEquity);
    }
    if (minHealth === undefined) return undefined;
    at.considered['min_health'] = `${account.health}/${minHealth}`;
    return exact(account.health).lt(exact(minHealth)) ? deny('HEALTH_BELOW_MIN', account.health, minHealth) : undefined;
  },

  function orderNotional(at) {
    const { order, rules } = at;
    if (rules.maxOrderNotional === undefined || order === undefined || order.fraction || passesCaps(at))
      return undefined;
    const price = priceOf(at);
    if (price === undefined) return deny('NOTIONAL_UNKNOWN', at.market);
    const notional = order.size.times(exact(price));
    const fits = within(at, 'max_order_notional', notional, rules.maxOrderNotional);
    return fits ? undefined : deny('NOTIONAL_EXCEEDS_MAX_PER_ORDER', decimalText(notional), rules.maxOrderNotional);
  },

  /** An amend that keeps the size sends nothing new: a quote that follows the market must not use the run's notional up. */
  function runNotional(at) {
    const { order, rules, facts } = at;
    if (
      rules.maxRunNotional === undefined ||
      order === undefined ||
      order.fraction ||
      order.added.isZero() ||
      passesCaps(at)
    ) {
      return undefined;
    }
    const price = priceOf(at);
    if (price === undefined) return deny('NOTIONAL_UNKNOWN', at.market);
    const notional = order.added.times(exact(price));
    const sum = notional.plus(exact(facts.counters.runNotional));
    if (within(at, 'max_run_notional', sum, rules.maxRunNotional)) return undefined;
    return deny(
      'NOTIONAL_EXCEEDS_MAX_PER_RUN',
      decimalText(notional),
      facts.counters.runNotional,
      rules.maxRunNotional,
    );
  },

  function priceBand(at) {
    const { order, rules, facts, market } = at;
    // A position stop is meant to stand away from the market, and can only reduce.
    if (rules.priceBandWithin === undefined || order?.price === undefined || order.fraction) return undefined;
    const reference = referenceOf(at);
    if (reference === undefined) return deny('REFERENCE_MISSING', market);
    const age = facts.now - reference.at;
    if (rules.maxReferenceAgeMs !== undefined && age > rules.maxReferenceAgeMs)
      return deny('REFERENCE_STALE', age, rules.maxReferenceAgeMs);
    const middle = exact(reference.price);
    const width = middle.times(exact(rules.priceBandWithin));
    const [low, high] = [decimalText(middle.minus(width)), decimalText(middle.plus(width))];
    at.considered['price_band'] = `${order.price} in ${low}..${high}`;
    const inside = exact(order.price).minus(middle).abs().lte(width);
    return inside ? undefined : deny('PRICE_OUTSIDE_BAND', order.price, reference.price, low, high);
  },

  function position(at) {
    const { order, rules } = at;
    if (rules.maxPosition === undefined || order === undefined || lowers(at)) return undefined;
    const held = order.side === 'long' ? positionOf(at) : positionOf(at).negated();
    const worst = held.plus(workingOnSide(at, order.side)).plus(order.rest);
    const fits = within(at, 'max_position', worst, rules.maxPosition);
    return fits ? undefined : deny('POSITION_EXCEEDS_MAX', decimalText(worst), rules.maxPosition);
  },

  function marketNotional(at) {
    const { order, rules, market } = at;
    if (rules.maxMarketNotional === undefined || order === undefined || lowers(at)) return undefined;
    const held = heldNotional(at, market);
    const price = priceOf(at);
    if (held === undefined || price === undefined) return deny('NOTIONAL_UNKNOWN', market);
    const notional = order.rest.times(exact(price));
    if (within(at, 'max_market_notional', held.plus(notional), rules.maxMarketNotional)) return undefined;
    return deny('NOTIONAL_EXCEEDS_MAX_PER_MARKET', decimalText(notional), decimalText(held), rules.maxMarketNotional);
  },

  function exposure(at) {
    const { order, rules, facts, market } = at;
    if (rules.maxExposure === undefined || order === undefined || lowers(at)) return undefined;
    const price = priceOf(at);
    if (price === undefined) return deny('NOTIONAL_UNKNOWN', market);
    let held: Decimal = new Exact(0);
    for (const each of new Set([...Object.keys(facts.positions), ...facts.working.map((one) => one.market)])) {
      const here = heldNotional(at, each);
      if (here === undefined) return deny('NOTIONAL_UNKNOWN', each);
      held = held.plus(here);
    }
    const notional = order.rest.times(exact(price));
    if (within(at, 'max_exposure', held.plus(notional), rules.maxExposure)) return undefined;
    return deny('EXPOSURE_EXCEEDS_MAX', decimalText(notional), decimalText(held), rules.maxExposure);
  },

  function selfMatch(at) {
    const { order, rules, market } = at;
    if (rules.selfMatch === 'allow' || order === undefined || !BOOK_TYPES.has(order.type)) return undefined;
    const own = order.price;
    for (const each of othersIn(at, market)) {
      if (each.side === order.side || !BOOK_TYPES.has(each.type)) continue;
      if (own === undefined || each.price === undefined || crosses(order.side, exact(own), exact(each.price))) {
        return deny('SELF_MATCH', own ?? 'market', each.price ?? 'market', each.orderId ?? each.clientOrderId);
      }
    }
    return undefined;
  },
];

/** Types that stand in the book or take from it at once; an untriggered stop does neither. */
const BOOK_TYPES: ReadonlySet<string> = new Set(['limit', 'market']);

function crosses(side: Side, price: Decimal, resting: Decimal): boolean {
  return side === 'long' ? price.gte(resting) : price.lte(resting);
}

/** Worth of a market's position and of what works in it, at worst; undefined where something has no price. */
function heldNotional(at: Case, market: string): Decimal | undefined {
  const position = Object.hasOwn(at.facts.positions, market) ? at.facts.positions[market] : undefined;
  const reference = market === at.market ? referenceOf(at)?.price : undefined;
  const size = exact(position?.size ?? '0').abs();
  let sum: Decimal = new Exact(0);
  if (!size.isZero()) {
    if (position?.notional !== undefined) sum = exact(position.notional).abs();
    else if (reference !== undefined) sum = size.times(exact(reference));
    else return undefined;
  }
  for (const each of othersIn(at, market)) {
    const price = each.price ?? reference;
    const rest = exact(each.worstRemaining);
    if (rest.isZero()) continue;
    if (price === undefined) return undefined;
    sum = sum.plus(rest.times(exact(price)));
  }
  return sum;
}

function isMultiple(value: Decimal, step: Decimal): boolean {
  return value.mod(step).isZero();
}

/** The nearest legal value; never zero, which would be no price and no size. */
function nearest(value: Decimal, step: Decimal): DecimalString {
  const rounded = roundToStep(value, step, 'nearest');
  return decimalText(rounded.isZero() ? step : rounded);
}
