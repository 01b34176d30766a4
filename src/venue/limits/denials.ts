/**
 * Every code a limit denies with: what it means, which figures its message names, and what to do about it. The codes are a
 * contract: a runbook's `catch`, an alert and a test may hold on to them.
 */
interface Denial {
  readonly summary: string;
  /** The figures of the message, in order. */
  readonly names: readonly string[];
  readonly fix: string;
  /** The run is to be ended, not only this write. */
  readonly halts?: true;
}

export const DENIALS = {
  KILL_SWITCH_ENGAGED: {
    summary: 'the kill switch is engaged',
    names: [],
    fix: 'find out why, then `runbook release --by NAME`',
  },
  DEADMAN_LAPSED: {
    summary: 'the deadman switch that the run asked for does not certainly stand any more',
    names: ['since'],
    fix: 'nothing, where the run ends by it; a longer time-out where requests take that long',
  },
  TRADING_HALTED: {
    summary: 'trading is halted: only cancels are allowed',
    names: ['mode', 'market'],
    fix: 'change `mode` in the profile or the runbook, or wait for whoever halted it',
  },
  REDUCING_ONLY: {
    summary: 'only what lowers exposure is allowed, and this order does not certainly do so',
    names: ['mode', 'side', 'size', 'position', 'working'],
    fix: 'place at most what is proven to be held, on its opposite side, counting orders and position stops that work there',
  },
  LEVERAGE_RAISED_WHILE_REDUCING: {
    summary: 'raising leverage is not lowering exposure',
    names: ['mode', 'leverage', 'current'],
    fix: 'lower the leverage or leave it',
  },
  MARKET_NOT_ALLOWED: {
    summary: 'the market is not among those allowed',
    names: ['market', 'allowed'],
    fix: 'add it to `limits.markets` here and in the profile',
  },
  MARKET_RULES_UNKNOWN: {
    summary: 'the profile describes markets, and not this one: its tick and lot are not known',
    names: ['market'],
    fix: "add it to the profile's `markets`",
  },
  ORDER_TYPE_NOT_ALLOWED: {
    summary: 'the order type is not among those allowed',
    names: ['type', 'allowed'],
    fix: 'use an allowed type',
  },
  SIDE_NOT_ALLOWED: {
    summary: 'the side is not among those allowed for orders that may raise exposure',
    names: ['side', 'allowed'],
    fix: 'add it to `limits.sides`, or lower the size to what only reduces',
  },
  AMEND_TARGET_UNKNOWN: {
    summary: 'the order to amend is not known here, so its side and size can not be checked',
    names: ['order'],
    fix: 'amend only orders of this run; cancel others',
  },
  PRICE_OFF_TICK: {
    summary: "the price is not a multiple of the market's tick",
    names: ['price', 'tick', 'nearest'],
    fix: 'round it with tick(…)',
  },
  TRIGGER_OFF_TICK: {
    summary: "the trigger is not a multiple of the market's tick",
    names: ['trigger', 'tick', 'nearest'],
    fix: 'round it with tick(…)',
  },
  SIZE_OFF_LOT: {
    summary: "the size is not a multiple of the market's lot",
    names: ['size', 'lot', 'nearest'],
    fix: 'round it with lot(…)',
  },
  SIZE_BELOW_MIN: {
    summary: 'the size is below the smallest the market takes',
    names: ['size', 'min'],
    fix: 'raise the size',
  },
  SIZE_EXCEEDS_MAX_PER_ORDER: {
    summary: 'the order is too large',
    names: ['size', 'max'],
    fix: 'lower the size or raise `max_order_size`',
  },
  LEVERAGE_NOT_WHOLE: { summary: 'leverage is a whole number from 1', names: ['leverage'], fix: 'use a whole number' },
  LEVERAGE_EXCEEDS_MAX: {
    summary: 'the leverage is too high',
    names: ['leverage', 'max'],
    fix: 'lower it or raise `max_leverage`',
  },
  WRITES_EXCEED_MAX: {
    summary: 'the run has made all the changing requests it may',
    names: ['writes', 'max'],
    fix: 'raise `max_writes`',
  },
  ORDER_RATE_EXCEEDED: {
    summary: 'the run has sent all the orders it may in a minute',
    names: ['orders', 'max'],
    fix: 'wait, or raise the rate',
  },
  OPEN_ORDERS_EXCEED_MAX: {
    summary: 'the run has all the working orders it may',
    names: ['open', 'max'],
    fix: 'cancel some or raise `max_open_orders`',
  },
  OPEN_ORDERS_NEAR_VENUE_LIMIT: {
    summary: "the account is close to the venue's limit of 1000 open orders; what is left is kept for protection",
    names: ['open', 'max'],
    fix: 'cancel some of the account',
  },
  NOTIONAL_UNKNOWN: {
    summary: 'a notional limit applies and there is no price to measure with',
    names: ['market'],
    fix: 'give the order a price; a short order needs a reference as well, `price_band.around`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_ORDER: {
    summary: 'the order is worth too much',
    names: ['notional', 'max'],
    fix: 'lower the size or raise `max_order_notional`; an exit that only reduces may pass with `allow: reduce`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_RUN: {
    summary: 'the run has sent all the notional it may',
    names: ['notional', 'sent', 'max'],
    fix: 'raise `max_run_notional`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_MARKET: {
    summary: 'position and working orders of the market would be worth too much',
    names: ['notional', 'held', 'max'],
    fix: 'cancel or close some of it',
  },
  EXPOSURE_EXCEEDS_MAX: {
    summary: 'positions and working orders would be worth too much in all',
    names: ['notional', 'held', 'max'],
    fix: 'cancel or close some',
  },
  POSITION_EXCEEDS_MAX: {
    summary: 'the position could become too large if all that works were filled',
    names: ['position', 'max'],
    fix: 'lower the size, or cancel what works on that side',
  },
  PRICE_OUTSIDE_BAND: {
    summary: 'the price is too far from the reference',
    names: ['price', 'reference', 'low', 'high'],
    fix: 'check the price; widen `price_band.within` if it is meant',
  },
  REFERENCE_MISSING: {
    summary: 'a price band applies and there is no reference price',
    names: ['market'],
    fix: 'give `price_band.around` a value that can be read',
  },
  PRICE_MISSING: {
    summary: 'a price band applies and the order names no price that could be held to it',
    names: ['type'],
    fix: 'give it a `price`: for a market or stop_market order the worst it may be filled at',
  },
  REFERENCE_STALE: {
    summary: 'the reference price is too old',
    names: ['age_ms', 'max_ms'],
    fix: 'give the feed behind `price_band.around` a `max_age` of at most this',
  },
  SELF_MATCH: {
    summary: 'the order would trade with a resting order of our own',
    names: ['price', 'resting', 'order'],
    fix: 'cancel the resting order first',
  },
  EQUITY_BELOW_MIN: {
    summary: 'the account equity is below its floor',
    names: ['equity', 'min'],
    fix: 'lower exposure or add funds',
  },
  HEALTH_BELOW_MIN: {
    summary: 'the account health is below its floor',
    names: ['health', 'min'],
    fix: 'lower exposure or add funds',
  },
  ACCOUNT_STALE: {
    summary: 'a floor applies and the account was not read, or too long ago',
    names: ['age_ms', 'max_ms'],
    fix: 'read the account',
  },
  MARKET_DATA_STALE: {
    summary: 'the venue was not read for too long: no new exposure',
    names: ['age_ms', 'max_ms'],
    fix: 'wait for a read to succeed',
  },
  MARKET_QUARANTINED: {
    summary: 'the fate of an order in this market is not known: no new exposure there',
    names: ['market', 'order'],
    fix: 'look the order up at the venue; resuming the halted run asks for it again',
  },
  STEP_FILLS_EXCEEDED: {
    summary: 'the same step was filled too often',
    names: ['fills', 'max', 'window_ms'],
    fix: 'check the loop; raise the throttle if it is meant',
    halts: true,
  },
  REFUSALS_EXCEEDED: {
    summary: 'the venue refused or contradicted too often',
    names: ['refusals', 'max', 'window_ms'],
    fix: 'read the refusals in the journal',
    halts: true,
  },
} as const satisfies Record<string, Denial>;

export type DenialCode = keyof typeof DENIALS;

/** Whether a denial with this code ends the run. */
export function endsRun(code: DenialCode): boolean {
  return (DENIALS[code] as Denial).halts === true;
}
