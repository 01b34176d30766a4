/**
 * The function table: every function that an expression may call, with its parameters and result and their units, its
 * description, its examples and its implementation. The examples are tests, and the reference is generated from the table.
 * signatures.ts checks calls, so `apply` may rely on the types.
 */
import type { DateTime } from 'luxon';
import { Decimal, decimal, roundToStep, toWholeNumber } from '../../base/decimal.ts';
import { DENIALS } from '../../venue/limits/denials.ts';
import { ACCOUNT_POSITION } from '../../venue/port.ts';
import { loadLuxon } from '../calendar.ts';
import {
  Duration,
  EvaluationFailure,
  type HeldPosition,
  NotKnown,
  type RecordValue,
  type Time,
  type Value,
  type ValueType,
} from '../values.ts';
import {
  areEqual,
  COST,
  compare,
  divide,
  LONGEST_LIST,
  requireBounded,
  requireShort,
  toDuration,
} from './evaluation.ts';
import type { Application, FunctionRow, Parameter, Shape, Signature } from './function-row.ts';
import { FILL, makeRecordType, ORDER } from './records.ts';
import {
  DURATION,
  formatType,
  INTEGER,
  MARKET,
  MONEY,
  NUMBER,
  PRICE,
  SIDE,
  SIZE,
  TEXT,
  TIME,
  unifyTypes,
} from './typing.ts';

const UNIT: Shape = { kind: 'unit' };
const ORDERED: Shape = { kind: 'ordered' };
const SAME = { kind: 'same' } as const;
const FILLS: Shape = { kind: 'list_of', of: FILL };
const ORDERS: Shape = { kind: 'list_of', of: ORDER };
/** As many as an author may write. */
const MOST_PLACES = 18;
const ANY_LIST: Shape = { kind: 'list_of', of: { kind: 'any' } };
const ANY_MAP: Shape = { kind: 'map_of', of: { kind: 'any' } };
const SAMPLE_FILLS = 'fills: long 0.3 at 64000, long 0.1 at 64400, short 0.1 at 64100';

/** A signature: its parameters by name, in their order; one that is more than its shape is written out. */
function takes(
  parameters: Readonly<Record<string, Shape | Omit<Parameter, 'name'>>>,
  result: Signature['result'],
): Signature {
  const named = Object.entries(parameters).map(([name, of]) => ({ name, ...('shape' in of ? of : { shape: of }) }));
  return { parameters: named, result };
}

const EXTREME = [
  takes({ list: { kind: 'list_of', of: ORDERED } }, SAME),
  takes({ a: ORDERED, b: { shape: ORDERED, rest: true } }, SAME),
];

export const FUNCTIONS = {
  abs: {
    signatures: [takes({ x: UNIT }, SAME), takes({ x: DURATION }, DURATION)],
    doc: 'The number or duration without its sign.',
    examples: [{ expression: 'abs(-3)', value: '3' }],
    apply: ([x]) => (x instanceof Duration ? new Duration(Math.abs(x.ms)) : (x as Decimal).abs()),
  },
  min: {
    signatures: EXTREME,
    method: true,
    doc: 'The least of two or more values, or of a list. An empty list fails the step.',
    examples: [
      { expression: 'min(2, 1.5, 3)', value: '1.5' },
      { expression: '[4, 2].min()', value: '2' },
    ],
    apply: (args, application) => findExtreme(args, -1, application),
  },
  max: {
    signatures: EXTREME,
    method: true,
    doc: 'The greatest of two or more values, or of a list. An empty list fails the step.',
    examples: [{ expression: 'max(2, 1.5, 3)', value: '3' }],
    apply: (args, application) => findExtreme(args, 1, application),
  },
  sum: {
    signatures: [takes({ list: { kind: 'list_of', of: UNIT } }, SAME)],
    method: true,
    doc: 'The sum of a list of numbers of one unit; 0 for an empty list.',
    examples: [{ expression: '[0.1, 0.2].sum()', value: '0.3' }],
    apply: ([list], application) => addUp(list as readonly Decimal[], application),
  },
  size: {
    signatures: [
      takes({ list: { kind: 'list_of', of: { kind: 'any' } } }, INTEGER),
      takes({ map: { kind: 'map_of', of: { kind: 'any' } } }, INTEGER),
      takes({ text: TEXT }, INTEGER),
    ],
    method: true,
    doc: 'The number of items of a list, of entries of a map or of characters of a text.',
    examples: [
      { expression: 'range(4).size()', value: '4' },
      { expression: "size('BTC')", value: '3' },
    ],
    apply: ([x], application) => {
      if (typeof x === 'string') return new Decimal(countCharacters(x, application));
      return new Decimal(Array.isArray(x) ? x.length : (x as ReadonlyMap<string, Value>).size);
    },
  },
  remove: {
    signatures: [
      takes(
        { list: ANY_LIST, item: { kind: 'any' } },
        {
          kind: 'computed',
          words: 'the same list',
          of: ([list, item]) =>
            list?.kind === 'list' && item !== undefined && unifyTypes(list.of, item)?.kind === list.of.kind
              ? list
              : undefined,
        },
      ),
    ],
    method: true,
    doc: 'The list without the item. An order is taken out as the order that it is, whatever became of it.',
    examples: [{ expression: '[1, 2, 3, 2].remove(2)', value: '["1","3"]' }],
    apply: ([list, item], { text }) =>
      (list as readonly Value[]).filter((each) => !areEqual(identify(each), identify(item), text)),
  },
  keys: {
    signatures: [takes({ map: ANY_MAP }, { kind: 'list', of: TEXT })],
    method: true,
    doc: 'The keys of a map, in the order in which they were added.',
    examples: [{ expression: "keys({'BTC-USD': 1, 'ETH-USD': 2})", value: '["BTC-USD","ETH-USD"]' }],
    apply: ([map], application) => listEntries(map, application).map(([key]) => key),
  },
  values: {
    signatures: [
      takes(
        { map: ANY_MAP },
        {
          kind: 'computed',
          words: 'a list of its values',
          of: ([map]) => (map?.kind === 'map' ? { kind: 'list', of: map.of } : undefined),
        },
      ),
    ],
    method: true,
    doc: 'The values of a map, in the order in which they were added.',
    examples: [{ expression: "values({'BTC-USD': 1, 'ETH-USD': 2})", value: '["1","2"]' }],
    apply: ([map], application) => listEntries(map, application).map(([, value]) => value),
  },
  entries: {
    signatures: [
      takes(
        { map: ANY_MAP },
        {
          kind: 'computed',
          words: 'a list of records with `key` and `value`',
          of: ([map]) => (map?.kind === 'map' ? { kind: 'list', of: makeEntryType(map.of) } : undefined),
        },
      ),
    ],
    method: true,
    doc: 'The entries of a map as records with `key` and `value`, in the order in which they were added.',
    examples: [{ expression: "entries({'BTC-USD': 1}).map(e, e.key)", value: '["BTC-USD"]' }],
    apply: ([map], application) => listEntries(map, application).map(([key, value]) => ({ key, value })),
  },
  tick: {
    cost: COST.division,
    signatures: [takes({ price: PRICE, market: { shape: MARKET, implied: true } }, PRICE)],
    late: true,
    doc: 'The price rounded to the nearest tick of the market, halves away from zero. Inside an order the market is that of the order.',
    examples: [{ expression: "tick(64000.4, 'BTC-USD')", value: '64000', given: 'tick 1' }],
    apply: ([price, market], application) =>
      roundToStep(price as Decimal, decimal(getRules(market as string, application).tick), 'nearest'),
  },
  lot: {
    cost: COST.division,
    signatures: [takes({ size: SIZE, market: { shape: MARKET, implied: true } }, SIZE)],
    late: true,
    doc: 'The size rounded down to a whole number of lots of the market: never more than the given size.',
    examples: [{ expression: "lot(0.12345, 'BTC-USD')", value: '0.1234', given: 'lot 0.0001' }],
    apply: ([size, market], application) => {
      const step = decimal(getRules(market as string, application).lot);
      // Toward zero for a negative size as well: a larger position would be the worse mistake.
      const lots = (size as Decimal).div(step).trunc();
      return requireBounded(lots.times(step), application.text);
    },
  },
  floor_to: makeStepFunction(
    'down',
    'The greatest multiple of `step` that is not above x.',
    'floor_to(64000.7, 0.5)',
    '64000.5',
  ),
  ceil_to: makeStepFunction(
    'up',
    'The least multiple of `step` that is not below x.',
    'ceil_to(64000.2, 0.5)',
    '64000.5',
  ),
  round_to: makeStepFunction(
    'nearest',
    'The multiple of `step` nearest to x, halves away from zero.',
    'round_to(2.25, 0.1)',
    '2.3',
  ),
  format: {
    cost: COST.division,
    signatures: [takes({ x: UNIT, places: INTEGER }, TEXT)],
    doc: `The number as a text with this many digits after the point, 0 to ${MOST_PLACES}; zeros are kept, halves are rounded away from zero.`,
    examples: [
      { expression: 'format(64000.5, 2)', value: '64000.50' },
      { expression: 'format(-0.125, 2)', value: '-0.13' },
    ],
    apply: ([x, places], { text }) => {
      const digits = places as Decimal;
      if (digits.isNegative() || digits.gt(MOST_PLACES))
        throw new EvaluationFailure(`format takes 0 to ${MOST_PLACES} places, found ${digits.toFixed()}`, text);
      const count = toWholeNumber(digits);
      const rounded = (x as Decimal).toDecimalPlaces(count, Decimal.ROUND_HALF_UP);
      // Without the sign of a number that rounds to zero.
      return requireShort((rounded.isZero() ? rounded.abs() : rounded).toFixed(count), text);
    },
  },
  opposite: {
    signatures: [takes({ side: SIDE }, SIDE)],
    doc: 'The other side: the side that closes a position of this side.',
    examples: [{ expression: "opposite('long')", value: 'short' }],
    apply: ([side]) => (side === 'long' ? 'short' : 'long'),
  },
  pct: {
    cost: COST.division,
    signatures: [takes({ n: NUMBER }, NUMBER)],
    doc: 'n percent as a ratio.',
    examples: [{ expression: 'pct(3)', value: '0.03' }],
    apply: ([n], application) => requireBounded((n as Decimal).div(100), application.text),
  },
  bps: {
    cost: COST.division,
    signatures: [takes({ n: NUMBER }, NUMBER)],
    doc: 'n basis points (hundredths of a percent) as a ratio.',
    examples: [{ expression: 'bps(25)', value: '0.0025' }],
    apply: ([n], application) => requireBounded((n as Decimal).div(10_000), application.text),
  },
  range: {
    signatures: [takes({ n: INTEGER }, { kind: 'list', of: INTEGER })],
    late: true,
    doc: `The whole numbers from 0 to n - 1; n is at most ${LONGEST_LIST}.`,
    examples: [{ expression: 'range(3)', value: '["0","1","2"]' }],
    apply: ([n], application) => {
      const count = n as Decimal;
      if (count.isNegative() && !count.isZero())
        throw new EvaluationFailure(`range of a negative number, ${count.toFixed()}`, application.text);
      if (count.gt(LONGEST_LIST))
        throw new EvaluationFailure(
          `range has at most ${LONGEST_LIST} items, asked for ${count.toFixed()}`,
          application.text,
        );
      application.spend(COST.item * toWholeNumber(count));
      return Array.from({ length: toWholeNumber(count) }, (_, index) => new Decimal(index));
    },
  },
  net_size: {
    signatures: [takes({ fills: FILLS }, SIZE)],
    method: true,
    doc: 'The net size of fills: long sizes minus short sizes, so long is positive; 0 without fills.',
    examples: [{ expression: 'net_size(fills)', value: '0.3', given: SAMPLE_FILLS }],
    apply: ([fills], application) =>
      addUp(
        (fills as readonly RecordValue[]).map((fill) =>
          fill.side === 'short' ? (fill.size as Decimal).neg() : (fill.size as Decimal),
        ),
        application,
      ),
  },
  avg_price: {
    cost: COST.division,
    signatures: [takes({ fills: FILLS }, { kind: 'optional', of: PRICE })],
    method: true,
    doc: 'The average price of fills, weighted by size; absent without fills.',
    examples: [{ expression: 'avg_price(fills).orValue(0)', value: '64100', given: SAMPLE_FILLS }],
    apply: ([fills], application) => {
      const records = fills as readonly RecordValue[];
      const size = addUp(
        records.map((fill) => fill.size as Decimal),
        application,
      );
      return size.isZero() ? undefined : divide(computeNotional(records, application), size, application.text);
    },
  },
  notional: {
    signatures: [takes({ fills: FILLS }, MONEY), takes({ orders: ORDERS }, MONEY), takes({ order: ORDER }, MONEY)],
    method: true,
    doc: 'The sum of price times size: for fills the traded amount, for orders the amount still to be traded (their `size` is the remaining size).',
    examples: [{ expression: 'notional(fills)', value: '32050', given: SAMPLE_FILLS }],
    apply: ([of], application) =>
      computeNotional(Array.isArray(of) ? (of as readonly RecordValue[]) : [of as RecordValue], application),
  },
  position: makePositionFunction(
    SIZE,
    'The position of the run in a market: what its own fills known so far add up to, long positive; 0 without fills. What the account held before the run does not count.',
    ({ size }) => size,
    "position('BTC-USD')",
    '0.3',
  ),
  [ACCOUNT_POSITION]: {
    signatures: [takes({ market: MARKET }, SIZE)],
    late: true,
    doc: 'The position of the account in a market when the step began: over all its runs and what else its ledger knows, long positive. Fails where it is not proven.',
    examples: [{ expression: "account.position('BTC-USD')", value: '0.4', given: 'the account holds long 0.4 BTC' }],
    apply: ([market], { scope, text }) => {
      if (scope.accountPosition === undefined) throw new NotKnown(`the account's position in ${market as string}`);
      const held = scope.accountPosition(market as string);
      if (held !== undefined) return held;
      throw new EvaluationFailure(
        `what the account holds in ${market as string} is not proven: wait for the end of its orders there, or ${DENIALS.POSITION_UNKNOWN.fix}`,
        text,
      );
    },
  },
  avg_entry: makePositionFunction(
    { kind: 'optional', of: PRICE },
    'The average price at which the position of the run in a market was opened; absent without a position.',
    ({ averageEntry }) => averageEntry,
    "avg_entry('BTC-USD').orValue(0)",
    '64100',
  ),
  realized: makePositionFunction(
    MONEY,
    'What the run has gained in a market by what it closed, at average cost, without fees, quote currency.',
    ({ realized }) => realized,
    "realized('BTC-USD')",
    '0',
  ),
  fees: makePositionFunction(
    MONEY,
    'The fees of the fills of the run in a market, quote currency; negative where rebates exceed them.',
    ({ fees }) => fees,
    "fees('BTC-USD')",
    '1.2',
  ),
  days: makeDurationFunction('day', 86_400_000, '7d'),
  hours: makeDurationFunction('hour', 3_600_000, '7h'),
  minutes: makeDurationFunction('minute', 60_000, '7m'),
  seconds: makeDurationFunction('second', 1000, '7s'),
  hour: {
    cost: COST.calendar,
    signatures: [takes({ time: TIME, zone: { kind: 'zone' } }, INTEGER)],
    doc: 'The hour of the day, 0 to 23, in a time zone.',
    examples: [{ expression: "hour(now, 'Europe/London')", value: '9', given: 'now: 2026-07-06T08:00:00Z' }],
    apply: ([time, zone], application) => new Decimal(toLocalTime(time as Time, zone as string, application).hour),
  },
  weekday: {
    cost: COST.calendar,
    signatures: [takes({ time: TIME, zone: { kind: 'zone' } }, INTEGER)],
    doc: 'The day of the week in a time zone: 1 is Monday, 7 is Sunday.',
    examples: [{ expression: "weekday(now, 'UTC')", value: '1', given: 'now: 2026-07-06T08:00:00Z' }],
    apply: ([time, zone], application) => new Decimal(toLocalTime(time as Time, zone as string, application).weekday),
  },
  date: {
    cost: COST.calendar,
    signatures: [takes({ time: TIME, zone: { kind: 'zone' } }, TEXT)],
    doc: 'The calendar date in a time zone, as YYYY-MM-DD.',
    examples: [
      { expression: "date(now, 'Pacific/Auckland')", value: '2026-07-06', given: 'now: 2026-07-06T08:00:00Z' },
    ],
    apply: ([time, zone], application) => toLocalTime(time as Time, zone as string, application).toFormat('yyyy-MM-dd'),
  },
} as const satisfies Record<string, FunctionRow>;

type FunctionName = keyof typeof FUNCTIONS;

/** The row of a function, typed as `FunctionRow`; undefined for an unknown name. */
export function findFunction(name: string): FunctionRow | undefined {
  return Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name as FunctionName] : undefined;
}

export function isZone(name: string): boolean {
  return loadLuxon().IANAZone.isValidZone(name);
}

function makeEntryType(of: ValueType): ValueType {
  return makeRecordType(`Entry<${formatType(of)}>`, { key: TEXT, value: of });
}

function listEntries(map: Value, application: Application): readonly (readonly [string, Value])[] {
  const entries = [...(map as ReadonlyMap<string, Value>)];
  application.spend(COST.item * entries.length);
  return entries;
}

/** What makes two items the same: of an order its id, because its fields change. */
function identify(item: Value): Value {
  const { client_order_id: own, id } = (item ?? {}) as RecordValue;
  return typeof own === 'string' ? own || id : item;
}

function findExtreme(args: readonly Value[], sign: 1 | -1, application: Application): Value {
  const values = Array.isArray(args[0]) ? (args[0] as readonly Value[]) : args;
  application.spend(COST.item * values.length);
  if (values.length === 0)
    throw new EvaluationFailure(`an empty list has no ${sign === 1 ? 'greatest' : 'least'} item`, application.text);
  return values.reduce((best, each) => (compare(each, best) * sign > 0 ? each : best));
}

function makeStepFunction(
  mode: 'down' | 'up' | 'nearest',
  doc: string,
  expression: string,
  value: string,
): FunctionRow {
  return {
    cost: COST.division,
    signatures: [takes({ x: UNIT, step: UNIT }, { kind: 'same', wholeAs: 1 })],
    doc: `${doc} The step is above zero and has the unit of x.`,
    examples: [{ expression, value }],
    apply: ([x, step], application) => {
      const size = step as Decimal;
      if (size.lte(0))
        throw new EvaluationFailure(`the step must be above zero, found ${size.toFixed()}`, application.text);
      return requireBounded(roundToStep(x as Decimal, size, mode), application.text);
    },
  };
}

function makePositionFunction(
  result: ValueType,
  doc: string,
  read: (held: HeldPosition) => Value,
  expression: string,
  value: string,
): FunctionRow {
  return {
    cost: COST.division,
    signatures: [takes({ market: MARKET }, result)],
    late: true,
    doc,
    examples: [
      { expression, value, given: 'fills: long 0.3 at 64000, long 0.1 at 64400, short 0.1 at 64100; fees 1.2' },
    ],
    apply: ([market], { scope }) => {
      const held = scope.position?.(market as string);
      if (held === undefined) throw new NotKnown(`the position in ${market as string}`);
      return read(held);
    },
  };
}

function makeDurationFunction(unit: string, ms: number, value: string): FunctionRow {
  return {
    cost: COST.product,
    signatures: [takes({ n: NUMBER }, DURATION)],
    doc: `A duration of n ${unit}s, to the nearest millisecond.`,
    examples: [{ expression: `${unit}s(7)`, value }],
    apply: ([n], application) => toDuration((n as Decimal).times(ms), application.text),
  };
}

function addUp(values: readonly Decimal[], application: Application): Decimal {
  application.spend(COST.sum * values.length);
  return requireBounded(
    values.reduce((total, each) => total.plus(each), new Decimal(0)),
    application.text,
  );
}

function computeNotional(records: readonly RecordValue[], application: Application): Decimal {
  application.spend(COST.product * records.length);
  return addUp(
    records.map((each) => (each.price as Decimal).times(each.size as Decimal)),
    application,
  );
}

/** Characters, not UTF-16 units: the first of a pair counts for both. */
function countCharacters(text: string, application: Application): number {
  application.spend(Math.floor(text.length / 8));
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.codePointAt(at) as number;
    if (unit <= 0xffff) continue;
    count -= 1;
    at += 1;
  }
  return count;
}

function getRules(market: string, application: Application): { readonly tick: string; readonly lot: string } {
  const rules = application.scope.rules(market);
  if (rules === undefined)
    throw new EvaluationFailure(`the tick and lot of market ${market} are not known`, application.text);
  return rules;
}

function toLocalTime(time: Time, zone: string, application: Application): DateTime {
  const local = loadLuxon().DateTime.fromMillis(time.ms, { zone, locale: 'en-US' });
  if (!local.isValid) throw new EvaluationFailure(`there is no time zone ${zone}`, application.text);
  return local;
}
