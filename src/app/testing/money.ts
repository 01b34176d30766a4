/** Judges the position and the money of a case: `expect: {position: {BTC-USD: 0}, realized: "> 10"}`. */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { Span } from '../../base/diagnostic.ts';
import type { RunReport } from '../../report/folds/run.ts';
import { type Expectations, fitsBounds, formatBounds, MONEY_SUMS, type MoneySum } from './file/test-case.ts';

/** What a case asks for, as it was found. */
export type MoneyFound = { readonly position?: Readonly<Record<string, DecimalString>> } & Readonly<
  Partial<Record<MoneySum, DecimalString>>
>;

type Fail = (span: Span, expected: string, found: string) => void;

export function checkPosition({ position = [] }: Expectations, { money }: RunReport, fail: Fail): void {
  for (const { value, span } of position) {
    const found = getPosition(money, value.market);
    if (!fitsBounds(value.bounds, (bound) => decimal(found).comparedTo(bound)))
      fail(span, `${value.market}: ${formatBounds(value.bounds)}`, `${value.market}: ${found}`);
  }
}

export function checkSum(
  name: MoneySum,
): (expect: Expectations, judged: { readonly report: RunReport }, fail: Fail) => void {
  return (expect, { report }, fail) => {
    const expected = expect[name];
    if (expected === undefined) return;
    const found = sumUp(report.money, name);
    if (found === undefined || !fitsBounds(expected.value, (bound) => decimal(found).comparedTo(bound)))
      fail(expected.span, formatBounds(expected.value), found ?? 'none: the run saw no price for it');
  };
}

/** The figures that a case has expectations of; nothing where it has none. */
export function listAskedMoney(expect: Expectations, { money }: RunReport): { readonly money?: MoneyFound } {
  const held = (expect.position ?? []).map(({ value: { market } }) => [market, getPosition(money, market)] as const);
  const sums = MONEY_SUMS.flatMap((name) => {
    const found = expect[name] === undefined ? undefined : sumUp(money, name);
    return found === undefined ? [] : [[name, found] as const];
  });
  if (held.length === 0 && sums.length === 0) return {};
  return {
    money: { ...(held.length === 0 ? {} : { position: Object.fromEntries(held) }), ...Object.fromEntries(sums) },
  };
}

function getPosition(money: RunReport['money'], market: string): DecimalString {
  return Object.hasOwn(money, market) ? (money[market]?.position ?? '0') : '0';
}

/** Nothing traded is 0; undefined where a market lacks the figure because the run saw no price. */
function sumUp(money: RunReport['money'], name: MoneySum): DecimalString | undefined {
  const markets = Object.values(money).filter(({ maxExposure }) => maxExposure !== '0');
  // Nothing held gains nothing, at any price.
  const values = markets.map((market) => (name === 'unrealized' && market.position === '0' ? '0' : market[name]));
  if (values.some((value) => value === undefined)) return undefined;
  return formatDecimal(values.reduce((sum, value) => sum.plus(decimal(value ?? '0')), new Decimal(0)));
}
