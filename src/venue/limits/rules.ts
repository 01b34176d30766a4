/**
 * The controls of a profile and of a runbook (profile.md, Limits) as data, and how two sets of them combine: per control
 * the tighter wins. Decimals as strings. Nothing is checked here.
 */
import { type DecimalString, decimal } from '../../base/decimal.ts';
import type { OrderType, Side } from '../records.ts';

/** active · reducing: only what lowers exposure · halted: only cancels. */
export const TRADING_MODES = ['active', 'reducing', 'halted'] as const;
export type TradingMode = (typeof TRADING_MODES)[number];

/** At most so many of something in a window. */
export interface Throttle {
  readonly max: number;
  readonly windowMs: number;
}

/** A control that is absent does not bind. */
export interface LimitRules {
  readonly markets?: readonly string[];
  /** The only sides of orders that may raise exposure. */
  readonly sides?: readonly Side[];
  readonly orderTypes?: readonly OrderType[];
  /** Base currency. */
  readonly maxOrderSize?: DecimalString;
  /** Quote currency, as all notionals. */
  readonly maxOrderNotional?: DecimalString;
  readonly maxRunNotional?: DecimalString;
  /** Position and working orders of one market at their worst. */
  readonly maxMarketNotional?: DecimalString;
  /** The same over all markets. */
  readonly maxExposure?: DecimalString;
  /** Base currency, per market, either side, working orders at their worst. */
  readonly maxPosition?: DecimalString;
  /** Working orders of the run, those of unknown fate too. */
  readonly maxOpenOrders?: number;
  readonly maxLeverage?: DecimalString;
  /** Requests of the run that change something. */
  readonly maxWrites?: number;
  readonly maxOrdersPerMinute?: number;
  /** Ratio: the largest distance of a price from the reference. */
  readonly priceBandWithin?: DecimalString;
  readonly maxReferenceAgeMs?: number;
  /** Fills of one step: a step that is filled again and again is a loop gone wrong. */
  readonly stepFills?: Throttle;
  /** Refusals and contradictions. */
  readonly refusals?: Throttle;
  /** Both must allow it; otherwise an order that would trade with an own resting one is denied. */
  readonly selfMatch?: 'deny' | 'allow';
  readonly minEquity?: DecimalString;
  readonly minHealth?: DecimalString;
  /** How old the account record behind the two floors may be. */
  readonly maxAccountAgeMs?: number;
  /** How long ago the venue may last have been read. */
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

type Combine<T> = (a: T | undefined, b: T | undefined) => T | undefined;

/** An absent value gives way to the other; two are combined. */
function either<T>(both: (a: T, b: T) => T): Combine<T> {
  return (a, b) => (a === undefined ? b : b === undefined ? a : both(a, b));
}
const common = <T>() => either<readonly T[]>((a, b) => a.filter((each) => b.includes(each)));
const smaller = either<DecimalString>((a, b) => (decimal(a).lte(decimal(b)) ? a : b));
const larger = either<DecimalString>((a, b) => (decimal(a).gte(decimal(b)) ? a : b));
const fewer = either<number>(Math.min);
const throttle = either<Throttle>((a, b) => ({
  max: Math.min(a.max, b.max),
  windowMs: Math.max(a.windowMs, b.windowMs),
}));
const stricter = either<TradingMode>((a, b) => (TRADING_MODES.indexOf(a) >= TRADING_MODES.indexOf(b) ? a : b));
const stricterEach = either<Readonly<Record<string, TradingMode>>>((a, b) => {
  const modes = new Map(Object.entries(a));
  for (const [market, mode] of Object.entries(b)) modes.set(market, stricter(modes.get(market), mode) ?? mode);
  return Object.fromEntries(modes);
});

const COMBINE: { readonly [K in keyof LimitRules]-?: Combine<NonNullable<LimitRules[K]>> } = {
  markets: common<string>(),
  sides: common<Side>(),
  orderTypes: common<OrderType>(),
  maxOrderSize: smaller,
  maxOrderNotional: smaller,
  maxRunNotional: smaller,
  maxMarketNotional: smaller,
  maxExposure: smaller,
  maxPosition: smaller,
  maxOpenOrders: fewer,
  maxLeverage: smaller,
  maxWrites: fewer,
  maxOrdersPerMinute: fewer,
  priceBandWithin: smaller,
  maxReferenceAgeMs: fewer,
  stepFills: throttle,
  refusals: throttle,
  selfMatch: (a, b) => (a === 'allow' && b === 'allow' ? 'allow' : 'deny'),
  minEquity: larger,
  minHealth: larger,
  maxAccountAgeMs: fewer,
  maxReadAgeMs: fewer,
  mode: stricter,
  marketModes: stricterEach,
};

export const LIMIT_CONTROLS = Object.keys(COMBINE) as readonly (keyof LimitRules)[];
