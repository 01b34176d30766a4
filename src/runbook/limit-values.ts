/** Evaluates the limits that a runbook declares, for a run or a plan. */
import { type Decimal, type DecimalString, formatDecimal } from '../base/decimal.ts';
import { omitUndefined } from '../base/json.ts';
import type { LimitRules } from '../venue/limits/check.ts';
import type { Side } from '../venue/records.ts';
import { type LimitsDeclaration, mapLimitAmounts, type PriceBand } from './checked.ts';
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
  const known = <T>(expr: Expr<Decimal> | undefined, write: (decimal: Decimal) => T): T | undefined => {
    const decimal = expr === undefined ? undefined : value(expr);
    return decimal === undefined ? undefined : write(decimal);
  };
  const text = (expr: Expr<Decimal> | undefined) => known(expr, formatDecimal);
  const all = (list: readonly Expr<string>[] | undefined) => {
    const values = list?.map(value);
    return values?.includes(undefined) ? undefined : (values as readonly string[] | undefined);
  };
  const rules = {
    markets: all(limits.markets),
    sides: all(limits.sides) as readonly Side[] | undefined,
    ...mapLimitAmounts((name, { write }) => known<string | number>(limits[name], write)),
    unknownPrice: limits.unknownPrice,
    priceBandWithin: text(findBand(limits, undefined)?.within),
    marketBands: evaluateBands(limits, text),
    mode: limits.mode,
  };
  return omitUndefined(rules) as LimitRules;
}
