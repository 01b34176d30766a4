/** Evaluates the limits that a runbook declares, for a run or a plan. */
import { type Decimal, type DecimalString, formatDecimal, toCount } from '../base/decimal.ts';
import type { LimitRules } from '../venue/limits/check.ts';
import type { Side } from '../venue/records.ts';
import type { LimitsDeclaration, PriceBand } from './checked.ts';
import type { Expr, Value } from './values.ts';

/** The band that a runbook declares for a market; undefined: the one for every market. */
export function findBand({ priceBands = [] }: LimitsDeclaration, market: string | undefined): PriceBand | undefined {
  return priceBands.find((band) => band.market === undefined || band.market === market);
}

function evaluateBands(
  { priceBands = [] }: LimitsDeclaration,
  text: (expr: Expr<Decimal>) => DecimalString | undefined,
): Readonly<Record<string, DecimalString>> | undefined {
  const known = priceBands.flatMap(({ market, within }) => {
    const width = market === undefined ? undefined : text(within);
    return market === undefined || width === undefined ? [] : [[market, width] as const];
  });
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

/** The limits of a runbook as the checks take them, decimals as strings. Leaves out those for which `value` gives undefined. */
export function evaluateLimits(
  limits: LimitsDeclaration,
  value: <T extends Value>(expr: Expr<T>) => T | undefined,
): LimitRules {
  const known = (expr: Expr<Decimal> | undefined) => (expr === undefined ? undefined : value(expr));
  const text = (expr: Expr<Decimal> | undefined) => {
    const decimal = known(expr);
    return decimal === undefined ? undefined : formatDecimal(decimal);
  };
  const count = (expr: Expr<Decimal> | undefined) => {
    const decimal = known(expr);
    return decimal === undefined ? undefined : toCount(decimal);
  };
  const all = (list: readonly Expr<string>[] | undefined) => {
    const values = list?.map(value);
    return values?.includes(undefined) ? undefined : (values as readonly string[] | undefined);
  };
  const rules = {
    markets: all(limits.markets),
    sides: all(limits.sides) as readonly Side[] | undefined,
    maxOrderSize: text(limits.maxOrderSize),
    maxOrderNotional: text(limits.maxOrderNotional),
    maxRunNotional: text(limits.maxRunNotional),
    unknownPrice: limits.unknownPrice,
    maxOpenOrders: count(limits.maxOpenOrders),
    maxLeverage: text(limits.maxLeverage),
    maxWrites: count(limits.maxWrites),
    priceBandWithin: text(findBand(limits, undefined)?.within),
    marketBands: evaluateBands(limits, text),
    mode: limits.mode,
  };
  return Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== undefined)) as LimitRules;
}
