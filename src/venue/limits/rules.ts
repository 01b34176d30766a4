/**
 * The limits of a profile and of a runbook (profile.md, Limits) as data, and the combination of two sets: per control the
 * tighter wins. Decimals as strings. Nothing is checked here.
 */
import { type DecimalString, decimal } from '../../base/decimal.ts';
import type { OrderType, Side } from '../records.ts';

/** active · reducing: only what lowers exposure · halted: only cancels. */
export const TRADING_MODES = ['active', 'reducing', 'halted'] as const;
export type TradingMode = (typeof TRADING_MODES)[number];

/** At most `max` events in a window. */
export interface Throttle {
  readonly max: number;
  readonly windowMs: number;
}

/** An absent control does not limit anything. */
export interface LimitRules {
  readonly markets?: readonly string[];
  /** The only sides of orders that may raise exposure. */
  readonly sides?: readonly Side[];
  readonly orderTypes?: readonly OrderType[];
  /** Base currency. */
  readonly maxOrderSize?: DecimalString;
  /** `deny`: an order whose notional is not known exactly is denied, instead of being measured by its own price. */
  readonly unknownPrice?: 'deny';
  /** Quote currency, like all notionals. */
  readonly maxOrderNotional?: DecimalString;
  readonly maxRunNotional?: DecimalString;
  /** Position and working orders of one market at their worst. */
  readonly maxMarketNotional?: DecimalString;
  /** The same over all markets. */
  readonly maxExposure?: DecimalString;
  /** Base currency, per market, either side, working orders at their worst. */
  readonly maxPosition?: DecimalString;
  /** Working orders of the run, those of unknown fate included. */
  readonly maxOpenOrders?: number;
  /** Notional that the account sends on a UTC day. Only a profile sets it, as the next. */
  readonly maxDailyNotional?: DecimalString;
  /** Loss that the account realises on a UTC day, fees included; beyond it only what lowers exposure is sent. */
  readonly maxDailyLoss?: DecimalString;
  readonly maxLeverage?: DecimalString;
  /** Requests of the run that change something. */
  readonly maxWrites?: number;
  readonly maxOrdersPerMinute?: number;
  /** Ratio: the largest distance of a price from the reference. */
  readonly priceBandWithin?: DecimalString;
  /** The same by market. */
  readonly marketBands?: Readonly<Record<string, DecimalString>>;
  readonly maxReferenceAgeMs?: number;
  /** Fills of one step: a step that is filled again and again is a loop gone wrong. */
  readonly stepFills?: Throttle;
  /** Refusals and contradictions. */
  readonly refusals?: Throttle;
  /**
   * Both sets must allow it; otherwise an order that would trade with a resting one of our own is denied: where neither denies it,
   * with the exception of one that is proven to reduce.
   */
  readonly selfMatch?: 'deny' | 'allow';
  readonly minEquity?: DecimalString;
  readonly minHealth?: DecimalString;
  /** How old the account record for the two minimums may be. */
  readonly maxAccountAgeMs?: number;
  /** How old the last read from the venue may be. */
  readonly maxReadAgeMs?: number;
  readonly mode?: TradingMode;
  readonly marketModes?: Readonly<Record<string, TradingMode>>;
}

/** Combines two sets, say the profile's and a runbook's: per control the tighter wins, so what either denies is denied. */
export function tighter(a: LimitRules, b: LimitRules): LimitRules {
  const combined: Record<string, unknown> = {};
  for (const control of LIMIT_CONTROLS) {
    const combine = COMBINE[control] as (a: unknown, b: unknown) => unknown;
    const value = a[control] === undefined && b[control] === undefined ? undefined : combine(a[control], b[control]);
    if (value !== undefined) combined[control] = value;
  }
  return combined as LimitRules;
}

/** The largest distance of a price in a market from the reference, a ratio; undefined where none is set. */
export function getBandWidth(rules: LimitRules, market: string): DecimalString | undefined {
  const own = Object.hasOwn(rules.marketBands ?? {}, market) ? rules.marketBands?.[market] : undefined;
  return smaller(rules.priceBandWithin, own);
}

type Combine<T> = (a: T | undefined, b: T | undefined) => T | undefined;

/** Gives the other value where one is absent, and combines two. */
function combineDefined<T>(both: (a: T, b: T) => T): Combine<T> {
  return (a, b) => (a === undefined ? b : b === undefined ? a : both(a, b));
}
const intersectLists = <T>() => combineDefined<readonly T[]>((a, b) => a.filter((each) => b.includes(each)));
const smaller = combineDefined<DecimalString>((a, b) => (decimal(a).lte(decimal(b)) ? a : b));
const larger = combineDefined<DecimalString>((a, b) => (decimal(a).gte(decimal(b)) ? a : b));
const fewer = combineDefined<number>(Math.min);
const throttle = combineDefined<Throttle>((a, b) => ({
  max: Math.min(a.max, b.max),
  windowMs: Math.max(a.windowMs, b.windowMs),
}));
const smallerEach = combineDefined<Readonly<Record<string, DecimalString>>>((a, b) => {
  const widths = new Map(Object.entries(a));
  for (const [market, width] of Object.entries(b)) widths.set(market, smaller(widths.get(market), width) ?? width);
  return Object.fromEntries(widths);
});
const stricter = combineDefined<TradingMode>((a, b) => (TRADING_MODES.indexOf(a) >= TRADING_MODES.indexOf(b) ? a : b));
const stricterEach = combineDefined<Readonly<Record<string, TradingMode>>>((a, b) => {
  const modes = new Map(Object.entries(a));
  for (const [market, mode] of Object.entries(b)) modes.set(market, stricter(modes.get(market), mode) ?? mode);
  return Object.fromEntries(modes);
});

const COMBINE: { readonly [K in keyof LimitRules]-?: Combine<NonNullable<LimitRules[K]>> } = {
  markets: intersectLists<string>(),
  sides: intersectLists<Side>(),
  orderTypes: intersectLists<OrderType>(),
  maxOrderSize: smaller,
  unknownPrice: (a, b) => a ?? b,
  maxOrderNotional: smaller,
  maxRunNotional: smaller,
  maxMarketNotional: smaller,
  maxExposure: smaller,
  maxPosition: smaller,
  maxOpenOrders: fewer,
  maxDailyNotional: smaller,
  maxDailyLoss: smaller,
  maxLeverage: smaller,
  maxWrites: fewer,
  maxOrdersPerMinute: fewer,
  priceBandWithin: smaller,
  marketBands: smallerEach,
  maxReferenceAgeMs: fewer,
  stepFills: throttle,
  refusals: throttle,
  selfMatch: (a, b) => (a === 'deny' || b === 'deny' ? 'deny' : a === b ? a : undefined),
  minEquity: larger,
  minHealth: larger,
  maxAccountAgeMs: fewer,
  maxReadAgeMs: fewer,
  mode: stricter,
  marketModes: stricterEach,
};

/** Controls of a profile that hold for the account, over all its runs; of a runbook, for its run. */
const ACCOUNT_CONTROLS = [
  'maxMarketNotional',
  'maxExposure',
  'maxPosition',
  'maxOpenOrders',
  'maxOrdersPerMinute',
  'maxDailyNotional',
  'maxDailyLoss',
] as const satisfies readonly (keyof LimitRules)[];

/** The limits of a profile and of a runbook as they are checked: those that hold for the run, and those for the account. */
export function splitLimits(
  profile: LimitRules,
  runbook: LimitRules | undefined,
): { readonly run: LimitRules; readonly account: LimitRules | undefined } {
  const rest: Record<string, unknown> = { ...profile };
  const account: Record<string, unknown> = {};
  for (const control of ACCOUNT_CONTROLS) {
    if (profile[control] === undefined) continue;
    account[control] = profile[control];
    delete rest[control];
  }
  return {
    run: runbook === undefined ? (rest as LimitRules) : tighter(rest as LimitRules, runbook),
    account: Object.keys(account).length === 0 ? undefined : (account as LimitRules),
  };
}

export const LIMIT_CONTROLS = Object.keys(COMBINE) as readonly (keyof LimitRules)[];
