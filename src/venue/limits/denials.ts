/**
 * Lists every code with which a limit denies: what it means, which figures its message names, and what to do about it. The
 * codes are a contract: a runbook's `catch`, an alert and a test may depend on them.
 */
interface Denial {
  readonly summary: string;
  /** Names of the figures in the message, in its order. */
  readonly names: readonly string[];
  /** A situation in which it denies. */
  readonly example: string;
  readonly fix: string;
  /** The denial ends the run, not only this write. */
  readonly halts?: true;
}

export const DENIALS = {
  KILL_SWITCH_ENGAGED: {
    summary: 'the kill switch is engaged',
    names: [],
    example: 'runbook kill, and then any `place`',
    fix: 'find out why, then `runbook release --by NAME`',
  },
  DEADMAN_LAPSED: {
    summary: 'the deadman switch of the run may have expired',
    names: ['since'],
    example: 'deadman: {timeout: 10s, …}, and a process that was suspended for 15 s before its next order',
    fix: 'nothing where the run ends because of it; set a longer timeout where requests take that long',
  },
  BEYOND_PLAN: {
    summary: 'the order would exceed a bound of the plan that the run was approved with',
    names: ['figure', 'value', 'max'],
    example: 'a run approved with `--plan` for at most 2 orders, and its third `place`',
    fix: 'look at the run: it does more than its plan; plan again and approve the new hash if that is wanted',
  },
  TRADING_HALTED: {
    summary: 'trading is halted: only cancels are allowed',
    names: ['mode', 'market'],
    example: 'limits: {mode: halted}, and any `place`',
    fix: 'change `mode` in the profile or the runbook, or ask the person who halted trading',
  },
  REDUCING_ONLY: {
    summary: 'only orders that lower exposure are allowed, and it is not certain that this one does',
    names: ['mode', 'side', 'size', 'position', 'working'],
    example: 'limits: {mode: reducing}, a proven position of 0.01, and a closing order of 0.02',
    fix: 'place at most the proven position, on its opposite side; working orders and position stops on that side count',
  },
  LEVERAGE_RAISED_WHILE_REDUCING: {
    summary: 'raising leverage does not lower exposure',
    names: ['mode', 'leverage', 'current'],
    example: 'limits: {mode: reducing}, leverage 5, and `set_leverage: {leverage: 6, …}`',
    fix: 'lower the leverage or leave it unchanged',
  },
  MARKET_NOT_ALLOWED: {
    summary: 'the market is not allowed',
    names: ['market', 'allowed'],
    example: 'limits: {markets: [BTC-USD]}, and `place: {market: ETH-USD, …}`',
    fix: 'add it to `limits.markets` here and in the profile',
  },
  MARKET_RULES_UNKNOWN: {
    summary: 'the profile describes other markets but not this one: its tick and lot are unknown',
    names: ['market'],
    example: 'a profile with `markets: {BTC-USD: …}` alone, and `place: {market: DOGE-USD, …}`',
    fix: "add it to the profile's `markets`",
  },
  ORDER_TYPE_NOT_ALLOWED: {
    summary: 'the order type is not allowed',
    names: ['type', 'allowed'],
    example: 'limits: {order_types: [limit]} in the profile, and `place: {type: market, …}`',
    fix: 'use an allowed type',
  },
  SIDE_NOT_ALLOWED: {
    summary: 'the side is not allowed for orders that may raise exposure',
    names: ['side', 'allowed'],
    example: 'limits: {sides: [long]}, and `place: {side: short, …}` that may open a position',
    fix: 'add it to `limits.sides`, or lower the size so that the order only reduces',
  },
  AMEND_TARGET_UNKNOWN: {
    summary: 'the order to amend is unknown to this run, so its side and size cannot be checked',
    names: ['order'],
    example: 'an amend of an order that another program placed',
    fix: 'amend only orders of this run; cancel others',
  },
  PRICE_OFF_TICK: {
    summary: "the price is not a multiple of the market's tick",
    names: ['price', 'tick', 'nearest'],
    example: 'a market with tick 1, and `place: {price: 60000.5, …}`',
    fix: 'round it with tick(…)',
  },
  TRIGGER_OFF_TICK: {
    summary: "the trigger is not a multiple of the market's tick",
    names: ['trigger', 'tick', 'nearest'],
    example: 'a market with tick 1, and `place: {type: stop_limit, trigger: 70000.5, …}`',
    fix: 'round it with tick(…)',
  },
  SIZE_OFF_LOT: {
    summary: "the size is not a multiple of the market's lot",
    names: ['size', 'lot', 'nearest'],
    example: 'a market with lot 0.0001, and `place: {size: 0.01015, …}`',
    fix: 'round it with lot(…)',
  },
  TOO_MANY_DIGITS: {
    summary: 'a price or size has more digits than a venue takes: a quotient that was not rounded',
    names: ['value', 'digits', 'max'],
    example: 'a profile without `markets`, and `place: {size: entry.filled / 3, …}`',
    fix: 'round it with tick(…) or lot(…), or with floor_to(…) where the market is not described',
  },
  SIZE_BELOW_MIN: {
    summary: 'the size is below the smallest size of the market',
    names: ['size', 'min'],
    example: 'a market with min_size 0.0002, and `place: {size: 0.0001, …}`',
    fix: 'raise the size',
  },
  SIZE_EXCEEDS_MAX_PER_ORDER: {
    summary: 'the order is too large',
    names: ['size', 'max'],
    example: 'limits: {max_order_size: 0.01}, and `place: {size: 0.02, …}`',
    fix: 'lower the size or raise `max_order_size`',
  },
  LEVERAGE_NOT_WHOLE: {
    summary: 'leverage is a whole number from 1',
    names: ['leverage'],
    example: 'a leverage of 2.5',
    fix: 'use a whole number',
  },
  LEVERAGE_EXCEEDS_MAX: {
    summary: 'the leverage is too high',
    names: ['leverage', 'max'],
    example: 'limits: {max_leverage: 7}, and `set_leverage: {leverage: 8, …}`',
    fix: 'lower it or raise `max_leverage`',
  },
  WRITES_EXCEED_MAX: {
    summary: 'the run has used up its requests that change something',
    names: ['writes', 'max'],
    example: 'limits: {max_writes: 2}, and the third `place`',
    fix: 'raise `max_writes`',
  },
  ORDER_RATE_EXCEEDED: {
    summary: 'the run has used up its orders of the last minute',
    names: ['orders', 'max'],
    example: 'limits: {max_orders_per_minute: 2} in the profile, and the third `place` within a minute',
    fix: 'wait, or raise `max_orders_per_minute`',
  },
  OPEN_ORDERS_EXCEED_MAX: {
    summary: 'the run has too many working orders',
    names: ['open', 'max'],
    example: 'limits: {max_open_orders: 2}, and a third order that would rest',
    fix: 'cancel some or raise `max_open_orders`',
  },
  OPEN_ORDERS_NEAR_VENUE_LIMIT: {
    summary: "the account is close to the venue's limit of 1000 open orders; the rest is kept for protective orders",
    names: ['open', 'max'],
    example: 'an account with 950 open orders, and a `place` that does not protect',
    fix: 'cancel some orders of the account',
  },
  NOTIONAL_UNKNOWN: {
    summary: 'a notional limit applies and the order has no price to measure it with',
    names: ['market'],
    example: 'limits: {max_order_notional: 650}, and a market order without a price where no feed is known',
    fix: 'give the order a price, or bind a price feed in the profile; `unknown_price: deny` also denies a short that nothing measures',
  },
  NOTIONAL_EXCEEDS_MAX_PER_ORDER: {
    summary: 'the notional of the order is too large',
    names: ['notional', 'max'],
    example: 'limits: {max_order_notional: 600}, and `place: {size: 0.01, price: 60001, …}`',
    fix: 'lower the size or raise `max_order_notional`; an exit that only reduces may pass with `allow: reduce`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_RUN: {
    summary: 'the run has used up its notional',
    names: ['notional', 'sent', 'max'],
    example: 'limits: {max_run_notional: 1200}, and a third order of 600',
    fix: 'raise `max_run_notional`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_MARKET: {
    summary: 'the notional of the position and the working orders of the market would be too large',
    names: ['notional', 'held', 'max'],
    example: 'limits: {max_market_notional: 600} in the profile, and a second order of 600 in the same market',
    fix: 'cancel orders or close part of the position',
  },
  EXPOSURE_EXCEEDS_MAX: {
    summary: 'the notional of all positions and working orders would be too large',
    names: ['notional', 'held', 'max'],
    example: 'limits: {max_exposure: 620} in the profile, an order of 600, and one of 21 in another market',
    fix: 'cancel orders or close positions',
  },
  POSITION_EXCEEDS_MAX: {
    summary: 'the position could become too large if all working orders filled',
    names: ['position', 'max'],
    example: 'limits: {max_position: 0.02} in the profile, a position of 0.01, and an order of 0.011 on the same side',
    fix: 'lower the size, or cancel working orders on that side',
  },
  POSITION_UNKNOWN: {
    summary: 'a limit of the account applies, and what the account holds is not known',
    names: ['market'],
    example: 'limits: {max_position: 0.1} in the profile, and an earlier run whose journal is damaged',
    fix: 'prove the position: `runbook account reconcile`, list_fills of the market with all_pages: true from a day ago or earlier, `positions` in the profile, or `runbook account baseline --market M --size S --by NAME`',
  },
  NOTIONAL_EXCEEDS_MAX_PER_DAY: {
    summary: 'the account has used up its notional of this UTC day',
    names: ['notional', 'sent', 'max'],
    example: 'limits: {max_daily_notional: 2000} in the profile, and a second order of 1800 on the same UTC day',
    fix: 'wait for the next day, or raise `max_daily_notional`',
  },
  DAILY_LOSS_REACHED: {
    summary: 'the account has lost its most of this UTC day: only orders that lower exposure are allowed',
    names: ['loss', 'max'],
    example: 'limits: {max_daily_loss: 50} in the profile, a loss of 90 realised today, and an order that opens',
    fix: 'wait for the next UTC day, or `runbook release --by NAME`, which begins a new count; orders that certainly only reduce pass',
  },
  PRICE_OUTSIDE_BAND: {
    summary: 'the price is too far from the reference',
    names: ['price', 'reference', 'low', 'high'],
    example: 'limits: {price_band: {around: 60000, within: 5%}}, and `place: {price: 56000, …}`',
    fix: 'check the price; if it is right, widen `price_band.within`',
  },
  REFERENCE_MISSING: {
    summary: 'a price band applies and there is no reference price',
    names: ['market'],
    example: 'limits: {price_band: {within: 0.05}} in the profile, and a runbook without `price_band`',
    fix: 'set `price_band.around` to a value that can be read',
  },
  PRICE_MISSING: {
    summary: 'a price band applies and the order has no price to check',
    names: ['type'],
    example: 'limits: {price_band: {around: 60000, within: 10%}}, and `place: {type: market, …}` without a price',
    fix: 'give it a `price`: for a market or stop_market order the worst price it may fill at',
  },
  REFERENCE_STALE: {
    summary: 'the reference price is too old',
    names: ['age_ms', 'max_ms'],
    example:
      'limits: {price_band: {within: 0.05, max_age: 5s}} in the profile, and a feed read 6 s ago as `price_band.around`',
    fix: 'give the feed that `price_band.around` reads a `max_age` of at most `max_ms`',
  },
  SELF_MATCH: {
    summary: 'the order would trade with a resting order of our own',
    names: ['price', 'resting', 'order'],
    example: 'a resting long order at 60000, and `place: {side: short, price: 60000, …}`',
    fix: 'cancel the resting order first; a way out passes it unless the profile has `self_match: deny`',
  },
  EQUITY_BELOW_MIN: {
    summary: 'the account equity is below its minimum',
    names: ['equity', 'min'],
    example: 'limits: {min_equity: 20000} in the profile, and an account with an equity of 18234.10',
    fix: 'lower exposure or add funds',
  },
  HEALTH_BELOW_MIN: {
    summary: 'the account health is below its minimum',
    names: ['health', 'min'],
    example: 'limits: {min_health: 1.5} in the profile, and an account with a health of 1.2',
    fix: 'lower exposure or add funds',
  },
  ACCOUNT_STALE: {
    summary: 'a minimum of equity or health applies, and the account was not read recently enough',
    names: ['age_ms', 'max_ms'],
    example: 'limits: {min_equity: 1} in the profile, and a `place` in a run that has not read the account',
    fix: 'read the account',
  },
  MARKET_DATA_STALE: {
    summary: 'the last read from the venue is too old: no new exposure',
    names: ['age_ms', 'max_ms'],
    example: 'limits: {max_read_age: 10s} in the profile, and a `place` 11 s after the last read',
    fix: 'wait for a read to succeed',
  },
  MARKET_QUARANTINED: {
    summary: 'the fate of an order in this market is unknown: no new exposure there',
    names: ['market', 'order'],
    example: 'a run halted because the fate of its BTC-USD order is unknown, and another run that places there',
    fix: 'look the order up at the venue; resuming the halted run looks it up again',
  },
  STEP_FILLS_EXCEEDED: {
    summary: 'the same step was filled too often',
    names: ['fills', 'max', 'window_ms'],
    example: 'limits: {step_fills: {max: 1, window: 1m}} in the profile, and a loop whose order fills twice',
    fix: 'check the loop; if it is right, raise the throttle',
    halts: true,
  },
  REFUSALS_EXCEEDED: {
    summary: 'too many refusals and contradictions by the venue',
    names: ['refusals', 'max', 'window_ms'],
    example: 'limits: {refusals: {max: 1, window: 1m}} in the profile, and an order after the second refusal',
    fix: 'read the refusals in the journal',
    halts: true,
  },
} as const satisfies Record<string, Denial>;

export type DenialCode = keyof typeof DENIALS;

/** Whether a denial with this code ends the run. */
export function endsRun(code: DenialCode): boolean {
  return (DENIALS[code] as Denial).halts === true;
}

/** Denials that no end of an order lifts: they depend neither on what works nor on what an order certainly reduces. */
export const LASTING_DENIALS: ReadonlySet<DenialCode> = new Set([
  'KILL_SWITCH_ENGAGED',
  'TRADING_HALTED',
  'MARKET_NOT_ALLOWED',
  'MARKET_RULES_UNKNOWN',
  'ORDER_TYPE_NOT_ALLOWED',
  'PRICE_OFF_TICK',
  'SIZE_OFF_LOT',
  'SIZE_BELOW_MIN',
  'SIZE_EXCEEDS_MAX_PER_ORDER',
  'WRITES_EXCEED_MAX',
  'ORDER_RATE_EXCEEDED',
  'STEP_FILLS_EXCEEDED',
  'REFUSALS_EXCEEDED',
  'PRICE_OUTSIDE_BAND',
  'PRICE_MISSING',
  'REFERENCE_MISSING',
  'REFERENCE_STALE',
]);
