/**
 * Lists every code with which a limit denies: what it means, which figures its message names, and what to do about it. The
 * codes are a contract: a runbook's `catch`, an alert and a test may depend on them.
 */
interface Denial {
  readonly summary: string;
  /** Names of the figures in the message, in its order. */
  readonly names: readonly string[];
  readonly fix: string;
  /** The denial ends the run, not only this write. */
  readonly halts?: true;
}

export const DENIALS = {
  KILL_SWITCH_ENGAGED: {
    summary: 'the kill switch is engaged',
    names: [],
    fix: 'find out why, then `runbook release --by NAME`',
  },
  DEADMAN_LAPSED: {
    summary: 'the deadman switch of the run may have expired',
    names: ['since'],
    fix: 'nothing where the run ends because of it; set a longer timeout where requests take that long',
  },
  BEYOND_PLAN: {
    summary: 'the order would exceed a bound of the plan that the run was approved with',
    names: ['figure', 'value', 'max'],
    fix: 'look at the run: it does more than its plan; plan again and approve the new hash if that is wanted',
  },
  TRADING_HALTED: {
    summary: 'trading is halted: only cancels are allowed',
    names: ['mode', 'market'],
    fix: 'change `mode` in the profile or the runbook, or ask the person who halted trading',
  },
  REDUCING_ONLY: {
    summary: 'only orders that lower exposure are allowed, and it is not certain that this one does',
    names: ['mode', 'side', 'size', 'position', 'working'],
    fix: 'place at most the proven position, on its opposite side; working orders and position stops on that side count',
  },
  LEVERAGE_RAISED_WHILE_REDUCING: {
    summary: 'raising leverage does not lower exposure',
    names: ['mode', 'leverage', 'current'],
    fix: 'lower the leverage or leave it unchanged',
  },
  MARKET_NOT_ALLOWED: {
    summary: 'the market is not allowed',
    names: ['market', 'allowed'],
    fix: 'add it to `limits.markets` here and in the profile',
  },
  MARKET_RULES_UNKNOWN: {
    summary: 'the profile describes other markets but not this one: its tick and lot are unknown',
    names: ['market'],
    fix: "add it to the profile's `markets`",
  },
  ORDER_TYPE_NOT_ALLOWED: {
    summary: 'the order type is not allowed',
    names: ['type', 'allowed'],
    fix: 'use an allowed type',
  },
  SIDE_NOT_ALLOWED: {
    summary: 'the side is not allowed for orders that may raise exposure',
    names: ['side', 'allowed'],
    fix: 'add it to `limits.sides`, or lower the size so that the order only reduces',
  },
  AMEND_TARGET_UNKNOWN: {
    summary: 'the order to amend is unknown to this run, so its side and size cannot be checked',
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
    summary: 'the size is below the smallest size of the market',
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
    summary: 'the run has used up its requests that change something',
    names: ['writes', 'max'],
    fix: 'raise `max_writes`',
  },
  ORDER_RATE_EXCEEDED: {
    summary: 'the run has used up its orders of the last minute',
    names: ['orders', 'max'],
    fix: 'wait, or raise `max_orders_per_minute`',
  },
  OPEN_ORDERS_EXCEED_MAX: {
    summary: 'the run has too many working orders',
    names: ['open', 'max'],
    fix: 'cancel some or raise `max_open_orders`',
  },
  OPEN_ORDERS_NEAR_VENUE_LIMIT: {
    summary: "the account is close to the venue's limit of 1000 open orders; the rest is kept for protective orders",
    names: ['open', 'max'],
    fix: 'cancel some orders of the account',
  },
  NOTIONAL_UNKNOWN: {
    summary: 'a notional limit applies and the order has no price to measure it with',
    names: ['market'],
    fix: 'give the order a price, or bind a price feed in the profile; `unknown_price: deny` also denies a short that nothing measures',
  },
  NOTIONAL_EXCEEDS_MAX_PER_ORDER: {
    summary: 'the notional of the order is too large',
    names: ['notional', 'max'],
    fix: 'lower the size or raise `max_order_notional`; an exit that only reduces may pass with `allow: reduce`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_RUN: {
    summary: 'the run has used up its notional',
    names: ['notional', 'sent', 'max'],
    fix: 'raise `max_run_notional`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_MARKET: {
    summary: 'the notional of the position and the working orders of the market would be too large',
    names: ['notional', 'held', 'max'],
    fix: 'cancel orders or close part of the position',
  },
  EXPOSURE_EXCEEDS_MAX: {
    summary: 'the notional of all positions and working orders would be too large',
    names: ['notional', 'held', 'max'],
    fix: 'cancel orders or close positions',
  },
  POSITION_EXCEEDS_MAX: {
    summary: 'the position could become too large if all working orders filled',
    names: ['position', 'max'],
    fix: 'lower the size, or cancel working orders on that side',
  },
  PRICE_OUTSIDE_BAND: {
    summary: 'the price is too far from the reference',
    names: ['price', 'reference', 'low', 'high'],
    fix: 'check the price; if it is right, widen `price_band.within`',
  },
  REFERENCE_MISSING: {
    summary: 'a price band applies and there is no reference price',
    names: ['market'],
    fix: 'set `price_band.around` to a value that can be read',
  },
  PRICE_MISSING: {
    summary: 'a price band applies and the order has no price to check',
    names: ['type'],
    fix: 'give it a `price`: for a market or stop_market order the worst price it may fill at',
  },
  REFERENCE_STALE: {
    summary: 'the reference price is too old',
    names: ['age_ms', 'max_ms'],
    fix: 'give the feed that `price_band.around` reads a `max_age` of at most `max_ms`',
  },
  SELF_MATCH: {
    summary: 'the order would trade with a resting order of our own',
    names: ['price', 'resting', 'order'],
    fix: 'cancel the resting order first',
  },
  EQUITY_BELOW_MIN: {
    summary: 'the account equity is below its minimum',
    names: ['equity', 'min'],
    fix: 'lower exposure or add funds',
  },
  HEALTH_BELOW_MIN: {
    summary: 'the account health is below its minimum',
    names: ['health', 'min'],
    fix: 'lower exposure or add funds',
  },
  ACCOUNT_STALE: {
    summary: 'a minimum of equity or health applies, and the account was not read recently enough',
    names: ['age_ms', 'max_ms'],
    fix: 'read the account',
  },
  MARKET_DATA_STALE: {
    summary: 'the last read from the venue is too old: no new exposure',
    names: ['age_ms', 'max_ms'],
    fix: 'wait for a read to succeed',
  },
  MARKET_QUARANTINED: {
    summary: 'the fate of an order in this market is unknown: no new exposure there',
    names: ['market', 'order'],
    fix: 'look the order up at the venue; resuming the halted run looks it up again',
  },
  STEP_FILLS_EXCEEDED: {
    summary: 'the same step was filled too often',
    names: ['fills', 'max', 'window_ms'],
    fix: 'check the loop; if it is right, raise the throttle',
    halts: true,
  },
  REFUSALS_EXCEEDED: {
    summary: 'too many refusals and contradictions by the venue',
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
