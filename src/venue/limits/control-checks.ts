/**
 * The checks of the controls, in their order: cheap and static ones come first. A rule whose fact is missing denies: not knowing
 * is no reason to send.
 */
import {
  countDigits,
  Decimal,
  type DecimalString,
  decimal,
  formatDecimal,
  MOST_DIGITS,
  roundToNearest,
} from '../../base/decimal.ts';
import type { Side } from '../records.ts';
import {
  type CheckedCase,
  exact,
  getMode,
  getParam,
  getReference,
  isFraction,
  listOthersIn,
  neverRests,
  sumWorkingOnSide,
} from './case.ts';
import { DENIALS, type DenialCode } from './denials.ts';
import { choosePrice, computeCountedBefore, computeHeldNotional, followsMarket } from './price.ts';
import { describeMissingProof, getCertainPosition, getFurthestPosition, lowers } from './reducing.ts';
import { getBandWidth } from './rules.ts';

/** In `considered`: the resting orders of our own that a way out may trade with. */
export const SELF_MATCHED = 'self_match';
/** Written before a figure of `considered` that may turn out to be more. */
export const AT_LEAST = 'at least ';
/** The venue allows 1000 open orders per account; the last fifty are kept for protective orders (fault-matrix.md, row 63). */
export const MOST_OPEN_ORDERS = 950;
/** The bound of PUT /account/leverage where no rule is tighter. */
const MOST_LEVERAGE = '20';

export interface Denied {
  readonly code: DenialCode;
  /** In the order of the code's `names`. */
  readonly figures: readonly (string | number)[];
  /** What to do, where the figures alone do not show it; the whole message where there are no figures. */
  readonly advice?: string;
}
type Check = (at: CheckedCase) => Denied | undefined;

function deny(code: DenialCode, ...figures: (string | number)[]): Denied {
  return { code, figures };
}

/** An emergency exit passes the notional caps, but only if it certainly only reduces (language.md, decision 11). */
export function passesCaps(at: CheckedCase): boolean {
  if (!allowsReduce(at)) return false;
  const proven = lowers(at);
  at.considered['allow'] = proven ? 'reduce' : 'reduce not proven';
  return proven;
}

function allowsReduce({ write }: CheckedCase): boolean {
  return (write.allow ?? write.intent?.allow) === 'reduce';
}

/** Adds to a denial what would have let the order pass with `allow: reduce`, where it asked for that. */
function adviseReduce(at: CheckedCase, denied: Denied): Denied {
  return at.considered['allow'] === undefined
    ? denied
    : { ...denied, advice: `allow: reduce: ${describeMissingProof(at)}` };
}

function denyUnknownNotional(at: CheckedCase, market = at.market): Denied {
  const { order } = at;
  const short = market === at.market && order?.side === 'short' && order.price !== undefined;
  const advice = short
    ? 'a short fills at its price or higher: bind a price feed in the profile, give the market price with `price_band.around`, or send the order post_only'
    : undefined;
  return { ...deny('NOTIONAL_UNKNOWN', market), ...(advice === undefined ? {} : { advice }) };
}

/** Counts and figures are journaled as `used/allowed`; with `atLeast` more than `used` may turn out to be used. */
function fitsWithin(
  at: CheckedCase,
  control: string,
  value: Decimal | number,
  max: DecimalString | number,
  atLeast = false,
): boolean {
  at.considered[control] =
    `${atLeast ? AT_LEAST : ''}${typeof value === 'number' ? value : formatDecimal(value)}/${max}`;
  return typeof value === 'number' ? value <= Number(max) : value.lte(exact(String(max)));
}

// The order of the checks is the order of this table: static ones, then counters, then what is measured at the market.
export const CHECKS: readonly Check[] = [
  function killSwitch({ facts }) {
    return facts.killed === true ? deny('KILL_SWITCH_ENGAGED') : undefined;
  },

  function halted(at) {
    return getMode(at) === 'halted' ? deny('TRADING_HALTED', 'halted', at.market) : undefined;
  },

  function knownOrder({ kind, order, write }) {
    if (kind === 'leverage' || order !== undefined) return undefined;
    return deny('AMEND_TARGET_UNKNOWN', getParam(write, 'order_id') ?? write.clientOrderId ?? '');
  },

  function allowedMarket({ rules, market, considered }) {
    if (rules.markets === undefined) return undefined;
    considered['markets'] = market;
    return rules.markets.includes(market) ? undefined : deny('MARKET_NOT_ALLOWED', market, rules.markets.join(' '));
  },

  function describedMarket({ order, market, facts }) {
    if (order === undefined || facts.marketRules !== undefined || facts.marketsDescribed !== true) return undefined;
    return {
      ...deny('MARKET_RULES_UNKNOWN', market),
      advice: "add it, with its tick and lot, to the profile's `markets`",
    };
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
    const text = getParam(write, 'leverage') ?? '';
    if (!/^[1-9]\d{0,8}$/.test(text)) return deny('LEVERAGE_NOT_WHOLE', text);
    const max = rules.maxLeverage ?? MOST_LEVERAGE;
    return fitsWithin(at, 'max_leverage', exact(text), max) ? undefined : deny('LEVERAGE_EXCEEDS_MAX', text, max);
  },

  function leverageWhileReducing(at) {
    const { kind, write, facts, market } = at;
    if (kind !== 'leverage' || getMode(at) !== 'reducing') return undefined;
    const leverage = facts.account?.leverage ?? {};
    const current = Object.hasOwn(leverage, market) ? leverage[market] : undefined;
    const asked = getParam(write, 'leverage') ?? '';
    // An unknown leverage passes: the usual reason to set leverage while reducing is to lower it (housekeeping.yaml).
    if (current === undefined || exact(asked).lte(exact(current))) return undefined;
    return deny('LEVERAGE_RAISED_WHILE_REDUCING', 'reducing', asked, current);
  },

  function tick({ order, facts }) {
    const { marketRules } = facts;
    if (order === undefined || marketRules === undefined) return undefined;
    const step = exact(marketRules.tick);
    if (order.price !== undefined && !isMultiple(exact(order.price), step)) {
      return deny('PRICE_OFF_TICK', order.price, marketRules.tick, roundToNearest(exact(order.price), step));
    }
    if (order.trigger !== undefined && !isMultiple(exact(order.trigger), step)) {
      return deny('TRIGGER_OFF_TICK', order.trigger, marketRules.tick, roundToNearest(exact(order.trigger), step));
    }
    return undefined;
  },

  function lot({ order, facts }) {
    const { marketRules } = facts;
    if (order === undefined || marketRules === undefined || order.fraction || !order.resizes) return undefined;
    const step = exact(marketRules.lot);
    const least = exact(marketRules.min_size ?? marketRules.lot);
    if (!isMultiple(order.size, step)) {
      const legal = Decimal.max(decimal(roundToNearest(order.size, step)), least);
      return deny('SIZE_OFF_LOT', formatDecimal(order.size), marketRules.lot, formatDecimal(legal));
    }
    return order.size.lt(least) ? deny('SIZE_BELOW_MIN', formatDecimal(order.size), formatDecimal(least)) : undefined;
  },

  /** Of a market whose steps are not known, and of the fraction of a position stop, which has none. */
  function digits({ order }) {
    if (order === undefined) return undefined;
    const { price, trigger } = order;
    const terms = { price, trigger, size: order.resizes ? formatDecimal(order.size) : undefined };
    for (const [name, value = ''] of Object.entries(terms)) {
      const count = countDigits(value);
      if (count > MOST_DIGITS) return deny('TOO_MANY_DIGITS', `${name} ${value.slice(0, 20)}…`, count, MOST_DIGITS);
    }
    return undefined;
  },

  function writes(at) {
    const { maxWrites } = at.rules;
    const used = at.facts.counters.writes + 1;
    return maxWrites === undefined || fitsWithin(at, 'max_writes', used, maxWrites)
      ? undefined
      : deny('WRITES_EXCEED_MAX', used, maxWrites);
  },

  orderRate,

  function stepFills(at) {
    const { stepFills } = at.rules;
    if (stepFills === undefined || at.kind === 'leverage') return undefined;
    const fills = at.facts.counters.stepFills ?? 0;
    return fitsWithin(at, 'step_fills', fills, stepFills.max)
      ? undefined
      : deny('STEP_FILLS_EXCEEDED', fills, stepFills.max, stepFills.windowMs);
  },

  function refusals(at) {
    const { refusals } = at.rules;
    if (refusals === undefined) return undefined;
    const count = at.facts.counters.refusals ?? 0;
    return fitsWithin(at, 'refusals', count, refusals.max)
      ? undefined
      : deny('REFUSALS_EXCEEDED', count, refusals.max, refusals.windowMs);
  },

  openOrders,

  function orderSize(at) {
    const { order, rules, write } = at;
    if (rules.maxOrderSize === undefined || order === undefined || order.fraction) return undefined;
    const fits = fitsWithin(at, 'max_order_size', order.size, rules.maxOrderSize);
    if (fits) return undefined;
    const denied = deny('SIZE_EXCEEDS_MAX_PER_ORDER', formatDecimal(order.size), rules.maxOrderSize);
    const advice = 'it bounds the order that closes, too: let it be as large as the position can become';
    return write.allow === 'reduce' ? { ...denied, advice } : denied;
  },

  function reducing(at) {
    if (getMode(at) !== 'reducing' || at.order === undefined) return undefined;
    at.considered['mode'] = 'reducing';
    if (lowers(at)) return undefined;
    const { side, rest } = at.order;
    return {
      ...deny(
        'REDUCING_ONLY',
        'reducing',
        side,
        formatDecimal(rest),
        formatDecimal(getCertainPosition(at)),
        formatDecimal(sumWorkingOnSide(at, side)),
      ),
      advice: describeMissingProof(at),
    };
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
    return doubtful && deny('MARKET_QUARANTINED', market, doubtful.orderId ?? doubtful.clientOrderId);
  },

  function marketData(at) {
    const { maxReadAgeMs } = at.rules;
    if (maxReadAgeMs === undefined || at.order === undefined || lowers(at)) return undefined;
    const age = at.facts.lastReadAgeMs;
    if (age !== undefined && fitsWithin(at, 'read_age_ms', age, maxReadAgeMs)) return undefined;
    if (age !== undefined) return deny('MARKET_DATA_STALE', age, maxReadAgeMs);
    return { ...deny('MARKET_DATA_STALE'), advice: 'the run has not read anything from the venue yet' };
  },

  function accountMinimums(at) {
    const { minEquity, minHealth, maxAccountAgeMs } = at.rules;
    if ((minEquity === undefined && minHealth === undefined) || at.order === undefined || lowers(at)) return undefined;
    const { account, now } = at.facts;
    if (account === undefined) {
      const advice = '`min_equity` or `min_health` applies, and the run has not read the account yet: read it first';
      return { ...deny('ACCOUNT_STALE'), advice };
    }
    const age = now - account.at;
    if (maxAccountAgeMs !== undefined && age > maxAccountAgeMs) return deny('ACCOUNT_STALE', age, maxAccountAgeMs);
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
    const measure = choosePrice(at);
    if (measure === undefined) return adviseReduce(at, denyUnknownNotional(at));
    const notional = order.size.times(exact(measure.price));
    if (fitsWithin(at, 'max_order_notional', notional, rules.maxOrderNotional, measure.atLeast)) return undefined;
    return adviseReduce(at, deny('NOTIONAL_EXCEEDS_MAX_PER_ORDER', formatDecimal(notional), rules.maxOrderNotional));
  },

  function runNotional(at) {
    const { order, rules, facts } = at;
    if (rules.maxRunNotional === undefined || order === undefined || order.fraction || passesCaps(at)) return undefined;
    if (followsMarket(at, order)) return undefined;
    const measure = choosePrice(at);
    const { runNotional: sent, runNotionalAtLeast = false } = facts.counters;
    if (measure === undefined || sent === undefined) return adviseReduce(at, denyUnknownNotional(at));
    const notional = order.size.times(exact(measure.price)).minus(computeCountedBefore(order));
    if (!notional.gt(0)) return undefined;
    const atLeast = measure.atLeast || runNotionalAtLeast;
    if (fitsWithin(at, 'max_run_notional', notional.plus(exact(sent)), rules.maxRunNotional, atLeast)) return undefined;
    return adviseReduce(at, deny('NOTIONAL_EXCEEDS_MAX_PER_RUN', formatDecimal(notional), sent, rules.maxRunNotional));
  },

  function priceBand(at) {
    const { order, rules, facts, market } = at;
    // A position stop is meant to be away from the market, and can only reduce.
    const within = getBandWidth(rules, market);
    if (within === undefined || order === undefined || isFraction(order.type)) return undefined;
    if (order.price === undefined) {
      const advice =
        'a price band cannot be checked for an order without a price: give the worst price it may fill at as `price`';
      return { ...deny('PRICE_MISSING', order.type), advice };
    }
    const reference = getReference(at);
    if (reference === undefined) return deny('REFERENCE_MISSING', market);
    const age = facts.now - reference.at;
    if (rules.maxReferenceAgeMs !== undefined && age > rules.maxReferenceAgeMs)
      return deny('REFERENCE_STALE', age, rules.maxReferenceAgeMs);
    const middle = exact(reference.price);
    const width = middle.times(exact(within));
    const [low, high] = [formatDecimal(middle.minus(width)), formatDecimal(middle.plus(width))];
    at.considered['price_band'] = `${order.price} in ${low}..${high}`;
    const inside = exact(order.price).minus(middle).abs().lte(width);
    return inside ? undefined : deny('PRICE_OUTSIDE_BAND', order.price, reference.price, low, high);
  },

  position,

  marketNotional,

  exposure,

  function selfMatch(at) {
    const { order, rules, market } = at;
    if (rules.selfMatch === 'allow' || order === undefined || !BOOK_TYPES.has(order.type)) return undefined;
    const own = order.price;
    // At worst a way out trades with the order, and the next one closes what is left. Without it the position stays open for as long
    // as an order rests that may be another run's.
    const isExit = allowsReduce(at) && lowers(at);
    const passed: string[] = [];
    for (const each of listOthersIn(at, market)) {
      if (each.side === order.side || !BOOK_TYPES.has(each.type)) continue;
      if (isExit && each.doubtful === true) continue;
      // Of an order on its way that never rests, only one that comes to rest before it can be the other side.
      if (neverRests(each) && neverRests(order)) continue;
      if (own === undefined || each.price === undefined || crosses(order.side, exact(own), exact(each.price))) {
        const id = each.orderId ?? each.clientOrderId;
        if (!isExit || rules.selfMatch === 'deny')
          return deny('SELF_MATCH', own ?? 'market', each.price ?? 'market', id);
        passed.push(id);
      }
    }
    if (passed.length > 0) at.considered[SELF_MATCHED] = passed.join(' ');
    return undefined;
  },
];

/** Checks of the profile's limits that hold for the account, with its sums in place of the run's. */
export const ACCOUNT_CHECKS: readonly Check[] = [
  orderRate,
  openOrders,
  dailyLoss,
  positionKnown,
  position,
  marketNotional,
  exposure,
  dailyNotional,
];

function orderRate(at: CheckedCase): Denied | undefined {
  const { maxOrdersPerMinute } = at.rules;
  if (maxOrdersPerMinute === undefined || at.kind === 'leverage') return undefined;
  const used = at.facts.counters.ordersLastMinute + 1;
  return fitsWithin(at, 'orders_per_minute', used, maxOrdersPerMinute)
    ? undefined
    : deny('ORDER_RATE_EXCEEDED', used, maxOrdersPerMinute);
}

function openOrders(at: CheckedCase): Denied | undefined {
  if (at.kind !== 'place') return undefined;
  const { run, account } = at.facts.openOrders;
  const { maxOpenOrders } = at.rules;
  if (maxOpenOrders !== undefined && !fitsWithin(at, 'max_open_orders', run + 1, maxOpenOrders)) {
    return deny('OPEN_ORDERS_EXCEED_MAX', run + 1, maxOpenOrders);
  }
  return account + 1 > MOST_OPEN_ORDERS
    ? deny('OPEN_ORDERS_NEAR_VENUE_LIMIT', account + 1, MOST_OPEN_ORDERS)
    : undefined;
}

function position(at: CheckedCase): Denied | undefined {
  const { order, rules } = at;
  if (rules.maxPosition === undefined || order === undefined || lowers(at)) return undefined;
  const worst = getFurthestPosition(at, order.side).plus(sumWorkingOnSide(at, order.side)).plus(order.rest);
  const fits = fitsWithin(at, 'max_position', worst, rules.maxPosition);
  return fits ? undefined : deny('POSITION_EXCEEDS_MAX', formatDecimal(worst), rules.maxPosition);
}

function marketNotional(at: CheckedCase): Denied | undefined {
  const { order, rules, market } = at;
  if (rules.maxMarketNotional === undefined || order === undefined || lowers(at)) return undefined;
  const held = computeHeldNotional(at, market);
  const measure = choosePrice(at);
  if (held === undefined || measure === undefined) return denyUnknownNotional(at);
  const notional = order.rest.times(exact(measure.price));
  if (fitsWithin(at, 'max_market_notional', held.plus(notional), rules.maxMarketNotional, measure.atLeast))
    return undefined;
  return deny('NOTIONAL_EXCEEDS_MAX_PER_MARKET', formatDecimal(notional), formatDecimal(held), rules.maxMarketNotional);
}

function exposure(at: CheckedCase): Denied | undefined {
  const { order, rules, facts } = at;
  if (rules.maxExposure === undefined || order === undefined || lowers(at)) return undefined;
  const measure = choosePrice(at);
  if (measure === undefined) return denyUnknownNotional(at);
  let held: Decimal = exact('0');
  for (const each of new Set([...Object.keys(facts.positions), ...facts.working.map((one) => one.market)])) {
    const here = computeHeldNotional(at, each);
    if (here === undefined) return denyUnknownNotional(at, each);
    held = held.plus(here);
  }
  const notional = order.rest.times(exact(measure.price));
  if (fitsWithin(at, 'max_exposure', held.plus(notional), rules.maxExposure, measure.atLeast)) return undefined;
  return deny('EXPOSURE_EXCEEDS_MAX', formatDecimal(notional), formatDecimal(held), rules.maxExposure);
}

/** A leverage alone brings no loss nearer, and what certainly reduces is the way out. */
function dailyLoss(at: CheckedCase): Denied | undefined {
  const { rules, facts, order } = at;
  const { dayPnl } = facts.counters;
  if (rules.maxDailyLoss === undefined || order === undefined || dayPnl === undefined) return undefined;
  const loss = Decimal.max(exact(dayPnl).negated(), 0);
  at.considered['max_daily_loss'] = `${formatDecimal(loss)}/${rules.maxDailyLoss}`;
  if (loss.lt(exact(rules.maxDailyLoss)) || lowers(at)) return undefined;
  return deny('DAILY_LOSS_REACHED', formatDecimal(loss), rules.maxDailyLoss);
}

function dailyNotional(at: CheckedCase): Denied | undefined {
  const { order, rules, facts } = at;
  if (rules.maxDailyNotional === undefined || order === undefined || order.fraction || lowers(at)) return undefined;
  if (followsMarket(at, order)) return undefined;
  const measure = choosePrice(at);
  const { dayNotional } = facts.counters;
  if (measure === undefined || dayNotional === undefined) return denyUnknownNotional(at);
  const notional = order.size.times(exact(measure.price)).minus(computeCountedBefore(order));
  if (!notional.gt(0)) return undefined;
  const sum = notional.plus(exact(dayNotional));
  if (fitsWithin(at, 'max_daily_notional', sum, rules.maxDailyNotional, measure.atLeast)) return undefined;
  return deny('NOTIONAL_EXCEEDS_MAX_PER_DAY', formatDecimal(notional), dayNotional, rules.maxDailyNotional);
}

function positionKnown(at: CheckedCase): Denied | undefined {
  const { order, rules, facts, market } = at;
  const { maxPosition, maxMarketNotional, maxExposure, maxOpenOrders, maxDailyLoss, maxDailyNotional } = rules;
  const applies = maxPosition !== undefined || maxMarketNotional !== undefined || maxExposure !== undefined;
  const counts = maxOpenOrders !== undefined && at.kind === 'place';
  const unknown =
    (applies ? facts.unknownPositions : undefined) ??
    (counts ? facts.unknownOrders : undefined) ??
    (maxDailyLoss === undefined ? undefined : facts.unknownLoss) ??
    (maxDailyNotional === undefined ? undefined : facts.unknownSent);
  if (order === undefined || unknown === undefined || lowers(at)) return undefined;
  const ways = DENIALS.POSITION_UNKNOWN.fix;
  return { ...deny('POSITION_UNKNOWN', market), advice: `${unknown}; ${ways}` };
}

/** Types that rest in the market's book or trade with it at once; an untriggered stop does neither. */
const BOOK_TYPES: ReadonlySet<string> = new Set(['limit', 'market']);

function crosses(side: Side, price: Decimal, resting: Decimal): boolean {
  return side === 'long' ? price.gte(resting) : price.lte(resting);
}

function isMultiple(value: Decimal, step: Decimal): boolean {
  return value.mod(step).isZero();
}
