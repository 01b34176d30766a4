/**
 * Defines the types of the simulator's configuration: markets and their price paths, the account, delays, the token window and
 * sessions, with defaults in `defaults.ts`; and the table of the switches for the surprises of venue-notes.md.
 */
import type { DecimalString } from '../../../base/decimal.ts';
import type { EndpointName } from '../../../venue/catalogue.ts';
import type { Side, TierStep } from '../../../venue/records.ts';
import type { FaultRule } from './faults.ts';

/** Milliseconds, both ends included. */
interface RangeMs {
  readonly min: number;
  readonly max: number;
}

export type PathConfig =
  /** A seeded walk: each step moves by a nearly normal draw with this standard deviation. */
  | { readonly kind: 'walk'; readonly volatilityBps: number; readonly stepMs?: number }
  /** The price holds from each point to the next; `afterMs` counts from the start of the simulation. */
  | {
      readonly kind: 'points';
      readonly points: readonly PricePoint[];
      /** The interval at which liquidity returns, and the grid to which the time of a point is rounded up. */
      readonly stepMs?: number;
    }
  /** The price that `Simulator.setPrice` sets, from `start` on. Not of a configuration file: see `runbook paper`. */
  | { readonly kind: 'live'; readonly stepMs?: number }
  /** Recorded prices, in absolute time; the start price is theirs. Not of a configuration file: see `dry-run --prices`. */
  | { readonly kind: 'history'; readonly history: PriceHistory; readonly stepMs?: number };

interface PricePoint {
  readonly afterMs: number;
  readonly price: DecimalString;
  /** The price moves here in a straight line from the point before. */
  readonly ramp?: boolean;
  /** Until the next point nothing is quoted, and nothing can be traded. */
  readonly closed?: boolean;
}

/** Recorded prices of a market, as whole counts of its ticks; arrays of numbers, because a file may have millions. */
export interface PriceHistory {
  readonly form: 'ticks' | 'candles';
  /** Epoch ms, ascending. */
  readonly times: Float64Array;
  /** One count for each time; of candles four: open, high, low, close. */
  readonly ticks: Float64Array;
}

/** One move of a price, in a configuration file. */
export interface PriceMove {
  /** The price to which it moves in a straight line. */
  readonly ramp?: DecimalString;
  /** The price that holds from here on. */
  readonly jump?: DecimalString;
  /** The price after a time without quotes. */
  readonly gap?: DecimalString;
  /** How long nothing changes, a duration such as `5m`. */
  readonly hold?: string;
  /** How long a ramp or a gap takes. */
  readonly over?: string;
}

export interface MarketConfig {
  readonly tick: DecimalString;
  readonly lot: DecimalString;
  readonly min_size: DecimalString;
  /** Mid price when the simulation starts. */
  readonly start: DecimalString;
  readonly path: PathConfig;
  /** Distance between best bid and best ask in basis points of `start`; at least two ticks. */
  readonly spreadBps: number;
  /** Base currency offered at each tick away from the best price; all of it returns at the next step. */
  readonly depth: DecimalString;
  /** Number of ticks away from the best price at which liquidity is offered. */
  readonly levels: number;
}

export interface AccountConfig {
  readonly id: number;
  readonly wallet: string;
  /** Equity at the start, quote currency. */
  readonly equity: DecimalString;
  /** Leverage of each market until a request sets it. */
  readonly leverage: number;
  readonly maxLeverage: number;
  /** Fractions of the notional; a negative rate is a rebate. */
  readonly fees: { readonly maker: DecimalString; readonly taker: DecimalString };
  /** Volume traded before the simulation starts, quote currency. */
  readonly volume: DecimalString;
  readonly tiers: readonly TierStep[];
  /** Positions at the start: each is a closed market order with one fill, `agoMs` before the start. A negative size is short. */
  readonly positions: readonly {
    readonly market: string;
    readonly size: DecimalString;
    readonly price: DecimalString;
    readonly agoMs: number;
  }[];
  /** Limit orders that another program placed `agoMs` before the start; where that is negative, it places them so long after it. */
  readonly resting: readonly {
    readonly market: string;
    readonly side: Side;
    readonly size: DecimalString;
    readonly price: DecimalString;
    readonly agoMs: number;
    readonly client_order_id?: string;
    /** Fields of its record that GET /orders shows as null: an order may be of a kind that this program never places. */
    readonly nulls?: readonly string[];
  }[];
  readonly maxOpenOrders: number;
}

export type TokenAlgorithm = 'sliding_log' | 'fixed_window' | 'token_bucket' | 'sliding_counter';

export interface TokensConfig {
  readonly limit: number;
  readonly windowMs: number;
  readonly algorithm: TokenAlgorithm;
  /** Costs in tokens that differ from the venue document, or that it does not give (default 10). */
  readonly costs: Readonly<Partial<Record<EndpointName, number>>>;
  /** HTTP status of a refusal for lack of tokens. */
  readonly status: number;
  readonly resetUnit: 's' | 'ms' | 'us' | 'iso';
  /** If false, answers have no X-RateLimit headers. */
  readonly headers: boolean;
  /** Which headers a refusal carries: X-RateLimit-Retry-After, a plain Retry-After, both or none. */
  readonly retryAfter: 'x' | 'plain' | 'both' | 'none';
  /** Tokens that other programs on the same address use. */
  readonly foreign: readonly { readonly afterMs: number; readonly tokens: number }[];
  /** Order actions per second for the account; no such limit if absent. */
  readonly ordersPerSecond?: number;
}

export interface AuthConfig {
  /** `off`: no session is needed; `jwt`: HTTP callers need a token; `api_key`: HTTP callers must sign. */
  readonly mode: 'off' | 'jwt' | 'api_key';
  /** `any`: every token is valid, and its life begins with its first use; `issued`: only `token` and those of POST /jwt. */
  readonly accept: 'any' | 'issued';
  /** Lifetime of a token; without it, tokens do not expire. It applies to the in-process transport too. */
  readonly lifeMs?: number;
  /** A token that is valid from the start, in addition to issued ones. */
  readonly token?: string;
  /** The only refresh token that is accepted; without it, any is. */
  readonly refreshToken?: string;
  /** If true, each refresh invalidates the refresh token and returns a new one. */
  readonly rotate: boolean;
  readonly result: 'text' | 'object';
  readonly header: string;
  readonly prefix: string;
  readonly cookie?: string;
  readonly apiKey?: { readonly key: string; readonly secret: string };
}

/**
 * Switches for what venue-api.md leaves open; each value is one possible reading (venue-notes.md, Surprises). Of several words the
 * first is the default; a number is a time in ms, a text alone any text.
 */
export const SURPRISES = {
  /** Status of an untriggered stop: `open`, `placed` or any other text. */
  stopStatus: 'open',
  /** Surprise 4: how long an amended order shows as `canceled` before it is open with its new terms; 0: never. */
  amendFlickerMs: 0,
  /** Surprise 5: the size of an amend is the total of the order, or what remains to be filled. */
  amendSize: ['total', 'remaining'],
  /** Surprise 5: whether an amended size changes `initial_size`. */
  amendInitialSize: ['changes', 'stays'],
  /** Surprise 3: final status of an immediate-or-cancel order that is not completely filled. */
  iocRest: ['canceled', 'rejected'],
  /** Surprise 3: how long an order that never rests shows as `open`, with nothing filled, before its end; 0: never. */
  immediateOpenMs: 0,
  /** Surprise 3: how long the filled size in a record of GET /orders lags behind its status; 0: never. */
  filledLagMs: 0,
  /** Whether DELETE answers `canceling` and the cancel follows, or cancels at once and answers `canceled`. */
  cancelAck: ['canceling', 'canceled'],
  /**
   * Whether every order and fill is shown as late as `readLagMs` and `fillLagMs` say, or each by a time of its own up to that. `reads`:
   * each reading by a time of its own, so that a later one may show an earlier state.
   */
  lags: ['same', 'each', 'reads'],
  /** Surprises 8 and 11: how a second order with the same client order id is treated; `same`: answered as the first. */
  duplicateIds: ['accept', 'refuse', 'same'],
  /** Surprise 13: whether GET /orders for one order that does not exist, or is not visible yet, gives an empty list or ORDER_NOT_FOUND. */
  missingOrder: ['empty', 'refuse'],
  /** Rows of GET /orders for one order: that order's alone, or all, as if its id had not been given. */
  lookups: ['exact', 'all'],
  /** Whether p_page names a page, or every page is the first one. */
  pages: ['numbered', 'first'],
  /** Surprise 12: form of the error text. */
  errorText: ['code', 'code_and_text', 'text'],
  /** HTTP status of refusals: 400, 401 or 404 by kind, or one status for all. */
  refusalStatus: ['by_kind', 200, 400],
  cancelAllResult: ['empty', 'true'],
  deadmanResult: ['object', 'array'],
  deadmanEmpty: ['object', 'array', 'null'],
  /** Delay before the deadman switch fires (venue-notes.md, surprise 7). */
  deadmanDelayMs: 0,
  /** cancel_all and the deadman switch miss orders that are still `processing`. */
  cancelAllSkipsProcessing: false,
  /** How a price off the tick or a size off the lot is treated. */
  offStep: ['refuse', 'accept'],
  marketWithoutPrice: ['accept', 'refuse'],
  unknownParameters: ['refuse', 'ignore'],
  /** Name of the parameter that holds the fraction of a position order; `positionTypeSuffix` is added to its type. */
  positionSizeField: ['size', 'size_percent'],
  positionTypeSuffix: ['', '_limit'],
} as const;

type ValueOf<S> = S extends readonly (infer W)[] ? W : S extends number ? number : S extends boolean ? boolean : string;

export type SurprisesConfig = { readonly [K in keyof typeof SURPRISES]: ValueOf<(typeof SURPRISES)[K]> };

export interface Settings {
  readonly markets: Readonly<Record<string, MarketConfig>>;
  readonly account: AccountConfig;
  /** Round trip, half each way. */
  readonly latencyMs: RangeMs;
  /** From the acknowledgement of an order, an amend or a cancel to its outcome. */
  readonly processingMs: RangeMs;
  /** Surprise 2: time after its arrival during which GET /orders does not show an order. */
  readonly visibilityLagMs: RangeMs;
  /** Age of the state of an order that GET /orders shows. */
  readonly readLagMs: number;
  /** Time during which GET /fills does not show a new fill. */
  readonly fillLagMs: number;
  /** Adjustments of the venue's own clock, as the timestamps of orders and fills show it; `byMs` below 0 sets it back. */
  readonly clockSteps: readonly { readonly afterMs: number; readonly byMs: number }[];
  /** How many times longer GET /orders and GET /fills without start_time take at most; grows with the history. */
  readonly fullScanFactor: number;
  readonly tokens: TokensConfig;
  readonly auth: AuthConfig;
  readonly surprises: SurprisesConfig;
  readonly faults: readonly FaultRule[];
}

export interface GivenMarket extends Partial<MarketConfig> {
  /** Instead of `path`: a price that does not change, or the moves of one that begins at `start`, one after the other. */
  readonly price?: DecimalString | readonly PriceMove[];
}

/** The configuration as a person writes it: every part is optional, and so is each field of a default market. */
export interface SimulatorConfig
  extends Partial<Omit<Settings, 'markets' | 'account' | 'tokens' | 'auth' | 'surprises'>> {
  /** Replaces the three default markets. */
  readonly markets?: Readonly<Record<string, GivenMarket>>;
  readonly account?: Partial<Omit<AccountConfig, 'fees'>> & { readonly fees?: Partial<AccountConfig['fees']> };
  readonly tokens?: Partial<TokensConfig>;
  readonly auth?: Partial<AuthConfig>;
  readonly surprises?: Partial<SurprisesConfig>;
}
