/**
 * Everything that can be said about the simulated venue, as types: markets and their price paths, the account, delays, the
 * token window, sessions, and the switches for what venue-notes.md calls surprises. No values: `defaults.ts` has them.
 */
import type { DecimalString } from '../../../base/decimal.ts';
import type { EndpointName } from '../../../venue/catalogue.ts';
import type { Side } from '../../../venue/records.ts';
import type { FaultRule } from './faults.ts';

/** Milliseconds, both ends possible. */
interface RangeMs {
  readonly min: number;
  readonly max: number;
}

export type PathConfig =
  /** A seeded walk: each step moves by a nearly normal draw with this deviation. */
  | { readonly kind: 'walk'; readonly volatilityBps: number; readonly stepMs?: number }
  /** The price holds from each point to the next; `afterMs` counts from the start of the simulation. */
  | {
      readonly kind: 'points';
      readonly points: readonly { readonly afterMs: number; readonly price: DecimalString }[];
      /** How often liquidity comes back, and the grid a point's time is rounded up to. */
      readonly stepMs?: number;
    };

export interface MarketConfig {
  readonly tick: DecimalString;
  readonly lot: DecimalString;
  readonly min_size: DecimalString;
  /** Mid price when the simulation starts. */
  readonly start: DecimalString;
  readonly path: PathConfig;
  /** Distance between best bid and best ask, basis points of `start`; never less than two ticks. */
  readonly spreadBps: number;
  /** Base currency offered at each tick away from the touch; all of it is back at the next step. */
  readonly depth: DecimalString;
  /** Ticks away from the touch at which anything is offered at all. */
  readonly levels: number;
}

export interface AccountConfig {
  readonly id: number;
  readonly wallet: string;
  /** Quote currency, before anything is traded. */
  readonly equity: DecimalString;
  /** Leverage of every market until it is set. */
  readonly leverage: number;
  readonly maxLeverage: number;
  /** Rates of the notional; a maker's is negative: a rebate. */
  readonly fees: { readonly maker: DecimalString; readonly taker: DecimalString };
  /** Traded before the simulation starts, quote currency. */
  readonly volume: DecimalString;
  readonly tiers: readonly { readonly tier: number; readonly title: string; readonly min_volume: DecimalString }[];
  /** Positions held already: each is a closed market order with one fill, `agoMs` before the start. Negative size is short. */
  readonly positions: readonly {
    readonly market: string;
    readonly size: DecimalString;
    readonly price: DecimalString;
    readonly agoMs: number;
  }[];
  /** Limit orders that rest already, placed by another program `agoMs` before the start. */
  readonly resting: readonly {
    readonly market: string;
    readonly side: Side;
    readonly size: DecimalString;
    readonly price: DecimalString;
    readonly agoMs: number;
    readonly client_order_id?: string;
  }[];
  readonly maxOpenOrders: number;
}

export type TokenAlgorithm = 'sliding_log' | 'fixed_window' | 'token_bucket' | 'sliding_counter';

export interface TokensConfig {
  readonly limit: number;
  readonly windowMs: number;
  readonly algorithm: TokenAlgorithm;
  /** Costs that differ from the venue document, or that it does not show (10 then). */
  readonly costs: Readonly<Partial<Record<EndpointName, number>>>;
  /** Status of a refusal for want of tokens. */
  readonly status: number;
  readonly resetUnit: 's' | 'ms' | 'us' | 'iso';
  /** False: no X-RateLimit headers at all. */
  readonly headers: boolean;
  /** Adds a plain Retry-After, or puts it in the place of X-RateLimit-Retry-After. */
  readonly retryAfter: 'x' | 'plain' | 'both' | 'none';
  /** Tokens that other programs on the address use. */
  readonly foreign: readonly { readonly afterMs: number; readonly tokens: number }[];
  /** Order actions a second for the account; off when absent. */
  readonly ordersPerSecond?: number;
}

export interface AuthConfig {
  /** `off`: nobody is asked; `jwt`: HTTP callers need a token; `api_key`: HTTP callers must sign. */
  readonly mode: 'off' | 'jwt' | 'api_key';
  /** `any`: every token is good (and lives from when it is first seen); `issued`: only what POST /jwt gave, or `token`. */
  readonly accept: 'any' | 'issued';
  /** Life of a token; absent: for ever. The in-process transport is bound by it too. */
  readonly lifeMs?: number;
  /** A token that is good from the start, beside those issued. */
  readonly token?: string;
  /** The only refresh token that is taken; absent: any. */
  readonly refreshToken?: string;
  /** Each refresh spends the refresh token and gives a new one. */
  readonly rotate: boolean;
  readonly result: 'text' | 'object';
  readonly header: string;
  readonly prefix: string;
  readonly cookie?: string;
  readonly apiKey?: { readonly key: string; readonly secret: string };
}

/** The switches: each a reading of something venue-api.md leaves open (venue-notes.md, Surprises). */
export interface SurprisesConfig {
  /** Status shown for an untriggered stop: `open`, or `placed`, or any other text. */
  readonly stopStatus: string;
  /** Surprise 4: an amended order shows as `canceled` for so long before it is open with its new terms. 0: never. */
  readonly amendFlickerMs: number;
  /** Surprise 5: an amend's size is the order's total, or what shall remain whatever was filled before. */
  readonly amendSize: 'total' | 'remaining';
  /** Surprise 3: what an immediate-or-cancel that is not wholly filled ends as. */
  readonly iocRest: 'canceled' | 'rejected';
  /** Surprises 8 and 11: a second order with the same client order id. */
  readonly duplicateIds: 'accept' | 'refuse';
  /** Surprise 12: how errors are worded. */
  readonly errorText: 'code' | 'code_and_text' | 'text';
  /** Status of refusals: 400, 401 and 404 by kind, or one for all. */
  readonly refusalStatus: 'by_kind' | 200 | 400;
  readonly cancelAllResult: 'empty' | 'true';
  readonly deadmanResult: 'object' | 'array';
  readonly deadmanEmpty: 'object' | 'array' | 'null';
  /** Firing can take seconds (venue-notes.md, surprise 7). */
  readonly deadmanDelayMs: number;
  /** cancel_all and the deadman switch miss orders that are still `processing`. */
  readonly cancelAllSkipsProcessing: boolean;
  /** A price off the tick or a size off the lot. */
  readonly offStep: 'refuse' | 'accept';
  readonly marketWithoutPrice: 'accept' | 'refuse';
  readonly unknownParameters: 'refuse' | 'ignore';
  /** Name of a position order's fraction, and what its type ends in. */
  readonly positionSizeField: 'size' | 'size_percent';
  readonly positionTypeSuffix: '' | '_limit';
}

export interface Settings {
  readonly markets: Readonly<Record<string, MarketConfig>>;
  readonly account: AccountConfig;
  /** There and back, half each way. */
  readonly latencyMs: RangeMs;
  /** From the acknowledgement to the outcome: of an order, an amend, a cancel. */
  readonly processingMs: RangeMs;
  /** Surprise 2: how long after its arrival GET /orders does not show an order. */
  readonly visibilityLagMs: RangeMs;
  /** How old the picture is that GET /orders shows of orders it does show. */
  readonly readLagMs: number;
  /** How long GET /fills does not show a fill. */
  readonly fillLagMs: number;
  /** GET /orders and GET /fills without start_time take up to so many times as long, with the length of the history. */
  readonly fullScanFactor: number;
  readonly tokens: TokensConfig;
  readonly auth: AuthConfig;
  readonly surprises: SurprisesConfig;
  readonly faults: readonly FaultRule[];
}

/** What a person writes: every part optional. A market that is one of the defaults may leave out what it does not change. */
export interface SimulatorConfig
  extends Partial<Omit<Settings, 'markets' | 'account' | 'tokens' | 'auth' | 'surprises'>> {
  /** The markets there are, instead of the three default ones. */
  readonly markets?: Readonly<Record<string, Partial<MarketConfig>>>;
  readonly account?: Partial<Omit<AccountConfig, 'fees'>> & { readonly fees?: Partial<AccountConfig['fees']> };
  readonly tokens?: Partial<TokensConfig>;
  readonly auth?: Partial<AuthConfig>;
  readonly surprises?: Partial<SurprisesConfig>;
}
