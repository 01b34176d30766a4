import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Decimal } from '../../src/base/decimal.ts';
import { findPosition } from '../../src/base/diagnostic.ts';
import {
  compileField,
  isBare,
  listPresentWhenFalse,
  listPresentWhenTrue,
  type TypeEnv,
} from '../../src/runbook/expression/expression.ts';
import { makeRecordType } from '../../src/runbook/functions/records.ts';
import {
  BOOLEAN,
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
} from '../../src/runbook/functions/typing.ts';
import { Duration, EvaluationFailure, type Expr, NotKnown, type ValueType } from '../../src/runbook/values.ts';
import { itHolds } from '../property.ts';
import { compile, ENV, faults, field, ROOTS, scalarOf, scopeOf, template, valueIn } from './sample.ts';

const SIXTH = `0.1${'6'.repeat(59)}`;

/** [expression, type, value as JSON]; the names are those of sample.ts. */
const VALUES: readonly (readonly [expression: string, type: string, value: unknown])[] = [
  // One exact number type: cases that floats get wrong.
  ['0.1 + 0.2 == 0.3', 'boolean', true],
  ['(0.1 + 0.2) * qty', 'size', '0.15'],
  ['1 / 3 * qty', 'size', SIXTH],
  ['1 / 3', 'number', `0.${'3'.repeat(60)}`],
  ['2 / 3', 'number', `0.${'6'.repeat(59)}7`],
  ['0.123456789012345678 + n', 'number', '3.123456789012345678'],
  ['123456789012345678901234567890123456 + 1', 'integer', '123456789012345678901234567890123457'],
  ['n * 0.5', 'number', '1.5'],
  ['k * 0.5', 'number', '1'],
  ['7 / 2', 'number', '3.5'],
  ['10 % 3', 'integer', '1'],
  ['-7 % 3', 'integer', '-1'],
  ['5.5 % 2', 'number', '1.5'],
  ['1.50 == 1.5', 'boolean', true],
  ['-0 == 0', 'boolean', true],
  ['1 - 1', 'integer', '0'],
  ['3.0', 'integer', '3'],
  ['--3', 'integer', '3'],
  ['2 + 3 * 4', 'integer', '14'],
  ['(2 + 3) * 4', 'integer', '20'],
  ['10 - 3 - 2', 'integer', '5'],
  ['100 / 10 / 5', 'number', '2'],
  // Whole numbers stay whole as long as nothing is divided.
  ['k * 2 + 1', 'integer', '5'],
  ['k / 2', 'number', '1'],
  ['k % 2', 'integer', '0'],
  ['-k', 'integer', '-2'],
  ['k * n', 'number', '6'],
  ['inputs.rungs - 1', 'integer', '4'],
  ['min(k, 10)', 'integer', '2'],
  ['max(k, n)', 'number', '3'],
  ['floor_to(k / 2, 1)', 'integer', '1'],
  ['inputs.cross ? k : 1', 'integer', '1'],
  ['inputs.cross ? k : 1.5', 'number', '1.5'],
  // Units.
  ['px * qty', 'money', '50'],
  ['qty * px', 'money', '50'],
  ['cash / px', 'size', '10'],
  ['cash / qty', 'price', '2000'],
  ['px / px', 'number', '1'],
  ['cash / cash', 'number', '1'],
  ['qty / inputs.size', 'number', '2'],
  ['cash / 2', 'money', '500'],
  ['2 * px', 'price', '200'],
  ['px * (1 - pct(1))', 'price', '99'],
  ['px + px', 'price', '200'],
  ['px - 5', 'price', '95'],
  ['5 + px', 'price', '105'],
  ['-qty', 'size', '-0.5'],
  ['px % 30', 'price', '10'],
  ['cash > px * qty', 'boolean', true],
  ['px > 0', 'boolean', true],
  ['0 < px', 'boolean', true],
  ['px == 3', 'boolean', false],
  ['px >= 100 && px <= 100', 'boolean', true],
  ['cash / px * px', 'money', '1000'],
  ['cash / px / qty', 'number', '20'],
  ['abs(px - 150)', 'price', '50'],
  ['inputs.budget / inputs.rungs', 'money', '6000'],
  ['acct.account_equity * 3 > inputs.size * inputs.trigger', 'boolean', true],
  ['acct.account_equity - acct.total_notional', 'money', '-1765.9'],
  // A bare literal adapts to the unit of its neighbour.
  ['inputs.cross ? qty : 0', 'size', '0'],
  ['inputs.cross ? 0 : qty', 'size', '0.5'],
  ['inputs.cross ? 1 : -1', 'integer', '-1'],
  ['min(qty, 0.05)', 'size', '0.05'],
  ['max(0, qty, 0.7)', 'size', '0.7'],
  ['[qty, 0.2]', 'list<size>', ['0.5', '0.2']],
  ['[0.2, qty, 1].max()', 'size', '1'],
  ['taker.filled.orValue(0)', 'size', '0'],
  ['min(px, inputs.cross ? 5 : 7)', 'price', '7'],
  ['floor_to(px, 0.5)', 'price', '100'],
  ['px in [100, 200]', 'boolean', true],
  ['min(1 + 1, px)', 'price', '2'],
  // Booleans: from left to right, only as far as needed.
  ['true && false', 'boolean', false],
  ['true || 1 > 2', 'boolean', true],
  ['false && qty / (n - 3) > 1', 'boolean', false],
  ['true || qty / (n - 3) > 1', 'boolean', true],
  ['!inputs.cross', 'boolean', true],
  ['!(px > 1) || !inputs.cross', 'boolean', true],
  ['inputs.cross == false', 'boolean', true],
  ['true ? 1 : 2', 'integer', '1'],
  ['px > 1 ? px > 2 ? 1 : 2 : 3', 'integer', '1'],
  // Texts and closed sets.
  ["inputs.side == 'long'", 'boolean', true],
  ['inputs.side != "short"', 'boolean', true],
  ["inputs.side == 'long' ? 1 : -1", 'integer', '1'],
  ["n > 0 ? 'short' : 'long'", "'short' or 'long'", 'short'],
  ['opposite(inputs.side)', 'side', 'short'],
  ["opposite(n > 0 ? 'short' : 'long')", 'side', 'long'],
  ["inputs.side in ['long', 'short']", 'boolean', true],
  ["'a' + 'b'", 'text', 'ab'],
  ["inputs.note + '!'", 'text', 'hello!'],
  ["inputs.note == 'x'", 'boolean', false],
  ["inputs.market == 'ETH-USD'", 'boolean', false],
  ['inputs.market in inputs.markets', 'boolean', true],
  ["'it\\'s'", "'it's'", "it's"],
  ['inputs.note.size()', 'integer', '5'],
  ["entry.status == 'open'", 'boolean', true],
  ["error.kind == 'rejected'", 'boolean', true],
  // Times and durations.
  ['now - days(7)', 'time', '2026-06-29T08:00:00.000Z'],
  ['now + inputs.for', 'time', '2026-07-06T08:10:00.000Z'],
  ['inputs.for + now', 'time', '2026-07-06T08:10:00.000Z'],
  ['now - inputs.start', 'duration', '0s'],
  ['now - inputs.start < hours(1)', 'boolean', true],
  ['now == inputs.start', 'boolean', true],
  ['inputs.for / 4', 'duration', '2m30s'],
  ['inputs.for * 1.5', 'duration', '15m'],
  ['n * inputs.for', 'duration', '30m'],
  ['seconds(1) / 3', 'duration', '333ms'],
  ['inputs.for / minutes(1)', 'number', '10'],
  ['inputs.for - minutes(11)', 'duration', '-1m'],
  ['-inputs.for', 'duration', '-10m'],
  ['abs(-inputs.for)', 'duration', '10m'],
  ['hours(1) + minutes(30)', 'duration', '1h30m'],
  ['max(inputs.for, hours(1))', 'duration', '1h'],
  ['min(now, inputs.start + days(1))', 'time', '2026-07-06T08:00:00.000Z'],
  ['days(0.5)', 'duration', '12h'],
  ['entry.timestamp <= now', 'boolean', true],
  // Records, lists, maps.
  ['entry.remaining', 'size', '0.1'],
  ['run.id', 'text', 'r1'],
  ['fills[0].price', 'price', '64000'],
  ['fills[1].price * fills[1].size', 'money', '6440'],
  ['fills[?9].price.orValue(1)', 'price', '1'],
  ['fills[?0].price.orValue(1)', 'price', '64000'],
  ["feeds.mark['BTC-USD']", 'price', '64000'],
  ['feeds.mark[inputs.market] * 0.99', 'price', '63360'],
  ["feeds.mark[?'ETH-USD'].orValue(0)", 'price', '0'],
  ["'ETH-USD' in feeds.mark", 'boolean', false],
  ['acct.leverage[?inputs.market].orValue(20) > 3', 'boolean', true],
  ['acct.leverage.size()', 'integer', '1'],
  ['[[1], [2, 3]][1][0]', 'integer', '2'],
  ['[1, 2.5]', 'list<number>', ['1', '2.5']],
  ['[1, 2] == [1, 2]', 'boolean', true],
  ['[1, 2] == [2, 1]', 'boolean', false],
  ['n in [1, 2, 3]', 'boolean', true],
  ['4 in []', 'boolean', false],
  ['(inputs.cross ? [] : [1]).size()', 'integer', '1'],
  ['range(3)', 'list<integer>', ['0', '1', '2']],
  ['range(0)', 'list<integer>', []],
  ['range(inputs.rungs).map(i, i * 2)', 'list<integer>', ['0', '2', '4', '6', '8']],
  ['range(3).map(i, px * (1 - i * pct(1)))', 'list<price>', ['100', '99', '98']],
  ['ladder.map(r, r.o.filled).sum()', 'size', '0.4'],
  ['ladder.filter(r, r.o.open).size()', 'integer', '1'],
  ['ladder.filter(r, r.k > 0).map(r, r.o.price)', 'list<price>', ['2980']],
  ['ladder.exists(r, r.o.open)', 'boolean', true],
  ['ladder.all(r, r.o.open)', 'boolean', false],
  ['range(0).all(i, i > 5)', 'boolean', true],
  ['range(0).exists(i, i >= 0)', 'boolean', false],
  ['range(3).map(i, range(i + 1).map(j, i * j).sum())', 'list<integer>', ['0', '1', '6']],
  ['range(0).sum()', 'integer', '0'],
  ['ladder.map(r, r.o.avg_price.orValue(0)).max()', 'price', '64001.5'],
  ['fills.filter(f, f.side == inputs.side).map(f, f.size).sum()', 'size', '0.4'],
  ['net_size(fills) == 0', 'boolean', false],
  // Values that may be absent.
  ['entry.avg_price', 'optional price', '64001.5'],
  ['entry.avg_price.orValue(entry.price) * 2', 'price', '128003'],
  ['entry.avg_price.hasValue()', 'boolean', true],
  ['entry.avg_price.hasValue() ? entry.avg_price * 2 : 0', 'price', '128003'],
  ['entry.avg_price.hasValue() && entry.avg_price > 64000', 'boolean', true],
  ['!entry.avg_price.hasValue() || entry.avg_price > 64000', 'boolean', true],
  ['!entry.avg_price.hasValue() ? 0 : entry.avg_price / 2', 'price', '32000.75'],
  ['taker', 'optional Order', null],
  ['taker.hasValue()', 'boolean', false],
  ['taker.filled', 'optional size', null],
  ['taker?.filled', 'optional size', null],
  ['taker?.filled.orValue(3)', 'size', '3'],
  ['entry?.filled', 'optional size', '0.15'],
  ["inputs.note == '?.x'", 'boolean', false],
  ['taker.avg_price.orValue(1)', 'price', '1'],
  ['taker.hasValue() && taker.filled > 0', 'boolean', false],
  ['taker.avg_price.hasValue() ? taker.filled : entry.filled', 'size', '0.15'],
  ['inputs.cross ? taker.filled : entry.filled', 'optional size', '0.15'],
  ['ladder.map(r, r.o.avg_price.hasValue() ? r.o.avg_price : r.o.price)', 'list<price>', ['64001.5', '2980']],
  ['avg_price(fills).orValue(0)', 'price', '64100'],
];

/** [expression, code@column, …]. */
const FAULTS: readonly (readonly [expression: string, ...faults: string[]])[] = [
  // Names and fields.
  ['inptus.size', 'unknown-name@1'],
  ['px + price', 'unknown-name@6'],
  ['inputs.prise * 2', 'unknown-field@8'],
  ['entry.toString', 'unknown-field@7'],
  ['inputs.constructor', 'unknown-field@8'],
  ['inputs.hasOwnProperty', 'unknown-field@8'],
  ['constructor', 'unknown-name@1'],
  ['px.foo', 'unknown-field@4'],
  ['fills.price', 'unknown-field@7'],
  ['feeds.mark.BTC', 'unknown-field@12'],
  ['inputs[inputs.side]', 'record-index@8'],
  ["entry['price']", 'record-index@7'],
  ['nope.a + nope.b', 'unknown-name@1', 'unknown-name@10'],
  ['r.o', 'unknown-name@1'],
  ['ladder.map(inputs, 1)', 'name-shadowed@12'],
  ['ladder.map(r, ladder.map(r, 1))', 'name-shadowed@26'],
  // Functions.
  ['floor(px)', 'unknown-function@1'],
  ['px.round()', 'unknown-function@4'],
  ['entry.open()', 'unknown-function@7'],
  ['px.abs()', 'unknown-function@4'],
  ['toString()', 'unknown-function@1'],
  ['abs(1, 2)', 'argument-count@1'],
  ['max()', 'argument-count@1'],
  ['now.orValue()', 'argument-count@5'],
  ['ladder.filter(r)', 'argument-count@8'],
  ['ladder.map(1, 2)', 'expression-syntax@12'],
  ["'aaa'.matches('^(a+)+$')", 'refused-function@7'],
  ['has(entry.nope)', 'refused-function@1'],
  ['dyn(n)', 'refused-function@1'],
  ['int(n)', 'refused-function@1'],
  ["double('1')", 'refused-function@1'],
  ['uint(1)', 'refused-function@1'],
  ["timestamp('2026-01-05T08:00:00Z')", 'refused-function@1'],
  ["now.getHours('UTC')", 'refused-function@5'],
  ["bytes('a')", 'refused-function@1'],
  ['type(n)', 'refused-function@1'],
  ['cel.bind(x, 1, x)', 'refused-function@5'],
  ['optional.of(1)', 'refused-function@10'],
  ["hour(now, 'London')", 'unknown-zone@11'],
  ['hour(now)', 'argument-count@1'],
  ['tick(px)', 'market-unknown@1'],
  ['2 * lot(qty)', 'market-unknown@5'],
  ['tick(qty, inputs.market)', 'unit-mismatch@6'],
  ["tick(px, 'BTCUSD')", 'market-form@10'],
  ['range(n)', 'not-integer@7'],
  ['range(2.5)', 'not-integer@7'],
  ['floor_to(px, qty)', 'unit-mismatch@14'],
  ['min(px, qty)', 'unit-mismatch@9'],
  ['min(px, now)', 'type-mismatch@9'],
  ['sum([px, qty])', 'unit-mismatch@10'],
  ['qty.sum()', 'type-mismatch@1'],
  ['ladder.sum()', 'type-mismatch@1'],
  ['net_size(ladder)', 'type-mismatch@10'],
  ['pct(px)', 'unit-mismatch@5'],
  ["opposite('lnog')", 'not-a-member@10'],
  ['opposite(inputs.note)', 'type-mismatch@10'],
  // Types.
  ['px && true', 'type-mismatch@1'],
  ['!n', 'type-mismatch@2'],
  ['n ? 1 : 2', 'type-mismatch@1'],
  ["px * 'a'", 'type-mismatch@1'],
  ['inputs.side == px', 'type-mismatch@1'],
  ['px == true', 'type-mismatch@1'],
  ["inputs.cross ? 1 : 'a'", 'type-mismatch@20'],
  ["[1, 'a']", 'type-mismatch@5'],
  ['entry == entry', 'type-mismatch@1'],
  ["'a' < 'b'", 'type-mismatch@1'],
  ['now + now', 'type-mismatch@1'],
  ['now * 2', 'type-mismatch@1'],
  ['inputs.for + 5', 'type-mismatch@1'],
  ['inputs.for > 600', 'type-mismatch@1'],
  ['inputs.for * px', 'type-mismatch@1'],
  ['-inputs.note', 'type-mismatch@2'],
  ['px in px', 'type-mismatch@1'],
  ['fills[px]', 'unit-mismatch@7'],
  ['fills[0.5]', 'not-integer@7'],
  ['feeds.mark[1]', 'type-mismatch@12'],
  ['ladder.filter(r, r.k)', 'type-mismatch@18'],
  ['px.map(r, r)', 'type-mismatch@1'],
  ['sum([])', 'type-mismatch@5'],
  ['[] == 3', 'type-mismatch@1'],
  // Units.
  ['px * px', 'unit-mismatch@1'],
  ['px * cash', 'unit-mismatch@1'],
  ['qty / px', 'unit-mismatch@1'],
  ['px / cash', 'unit-mismatch@1'],
  ['1 / px', 'unit-mismatch@1'],
  ['px + qty', 'unit-mismatch@1'],
  ['px == n', 'unit-mismatch@1'],
  ['n < px', 'unit-mismatch@1'],
  ['cash != k * 2', 'unit-mismatch@1'],
  ['qty in [n]', 'unit-mismatch@1'],
  ['px - pct(1)', 'unit-mismatch@1'],
  ['px - inputs.ratio', 'unit-mismatch@1'],
  ['px > qty', 'unit-mismatch@1'],
  ['cash == px', 'unit-mismatch@1'],
  ['inputs.cross ? px : qty', 'unit-mismatch@21'],
  ['inputs.cross ? px : n', 'unit-mismatch@21'],
  ['[px, qty]', 'unit-mismatch@6'],
  ['taker.filled.orValue(px)', 'unit-mismatch@22'],
  ['px in [qty]', 'unit-mismatch@1'],
  ['px % qty', 'unit-mismatch@1'],
  ['(px + qty) * (px + qty)', 'unit-mismatch@2', 'unit-mismatch@15'],
  // Closed sets.
  ["inputs.side == 'lnog'", 'not-a-member@16'],
  ["'lnog' != inputs.side", 'not-a-member@1'],
  ["inputs.side in ['long', 'shrot']", 'not-a-member@16'],
  ["inputs.side == (n > 0 ? 'long' : 'flat')", 'not-a-member@17'],
  ["'a' == 'b'", 'not-a-member@1'],
  ["inputs.market == 'BTCUSD'", 'market-form@18'],
  ["error.kind == 'rejetced'", 'not-a-member@15'],
  // Values that may be absent.
  ['entry.avg_price * 2', 'optional-unhandled@1'],
  ['2 * entry.avg_price', 'optional-unhandled@5'],
  ['entry.avg_price > 3', 'optional-unhandled@1'],
  ['entry.avg_price == 3', 'optional-unhandled@1'],
  ['-entry.avg_price', 'optional-unhandled@2'],
  ['abs(entry.avg_price)', 'optional-unhandled@5'],
  ['taker.filled > 0', 'optional-unhandled@1'],
  ['taker.open && true', 'optional-unhandled@1'],
  ['taker.hasValue() || taker.filled > 0', 'optional-unhandled@21'],
  ['taker.hasValue() ? 1 : taker.filled + 1', 'optional-unhandled@24'],
  ['ladder.map(r, r.o.avg_price).sum()', 'optional-unhandled@1'],
  ['acct.leverage[?inputs.market] * 2', 'optional-unhandled@1'],
  ['null', 'refused-null@1'],
  ['entry.avg_price == null', 'refused-null@20'],
  ['inputs.size.orValue(0)', 'always-present@13'],
  ['inputs.size.hasValue()', 'always-present@13'],
  // Numbers and literals.
  ['1e5', 'number-form@1'],
  ['qty * 1.5E-3', 'number-form@7'],
  ['0x1F', 'number-form@1'],
  ['5u', 'number-form@1'],
  ['007', 'number-form@1'],
  ['0.1234567890123456789', 'number-form@1'],
  [`1 + ${'9'.repeat(37)}`, 'number-form@5'],
  ["b'abc'", 'refused-literal@1'],
  ['1 / 0', 'expression-fails@1'],
  ['qty * (1 / (2 - 2))', 'expression-fails@8'],
  ['qty / (2 - 2)', 'expression-fails@8'],
  ['n % 0', 'expression-fails@5'],
  ['range(2)[0] + 5 % 0', 'expression-fails@15'],
  ['floor_to(1, 0)', 'expression-fails@1'],
  // Syntax.
  ['', 'expression-empty@1'],
  ['   ', 'expression-empty@1'],
  ['(1 + 2', 'expression-syntax@7'],
  ['1 +', 'expression-syntax@4'],
  ['1 2', 'expression-syntax@3'],
  ['px = 3', 'expression-syntax@4'],
  ["'abc", 'expression-syntax@1'],
  ['px ; qty', 'expression-syntax@4'],
  ['__proto__', 'expression-syntax@1'],
  ['for', 'expression-syntax@1'],
  ['${inputs.size}', 'template-not-here@1'],
  ['inputs.size * ${n}', 'template-not-here@15'],
];

describe('values', () => {
  it.each(VALUES)('%s', (text, type, value) => {
    const compiled = compile(text);
    expect(faults(compiled)).toEqual([]);
    expect(formatType((compiled.expr as Expr).type)).toBe(type);
    expect(valueIn(compiled.expr)).toEqual(value);
  });
});

describe('errors', () => {
  it.each(FAULTS)('%s', (text, ...expected) => {
    const compiled = compile(text);
    expect(faults(compiled)).toEqual(expected);
    expect(compiled.expr === undefined).toBe(compiled.diagnostics.some(({ severity }) => severity === 'error'));
    for (const { message, hint } of compiled.diagnostics) {
      expect(message.length).toBeGreaterThan(5);
      expect(hint?.length).toBeGreaterThan(5);
    }
  });

  it('suggests what was probably meant', () => {
    const hints = ['inptus.size', 'entry.prise', "inputs.side == 'lnog'", 'mni(1, 2)', 'ladder.fliter(r, true)'].map(
      (text) => compile(text).diagnostics[0]?.hint,
    );
    expect(hints).toEqual([
      'Did you mean inputs?',
      'Did you mean price?',
      "Did you mean 'long'?",
      'Did you mean min?',
      'Did you mean filter?',
    ]);
  });

  it('names the value that may be absent', () => {
    expect(compile('2 * entry.avg_price').diagnostics[0]?.message).toContain('entry.avg_price');
  });

  it('refuses expressions that are too long or too deep to review', () => {
    expect(faults(compile(`${'1 + '.repeat(500)}1`))).toEqual(['expression-too-long@1']);
    expect(faults(compile(`${'('.repeat(65)}1${')'.repeat(65)}`))).toEqual(['expression-too-deep@65']);
    expect(faults(compile(`${'-'.repeat(70)}1`))).toEqual(['expression-too-deep@65']);
    expect(faults(compile(`1${' + 1'.repeat(70)}`))).toEqual(['expression-too-deep@1']);
    expect(faults(compile(`1${' + 1'.repeat(60)}`))).toEqual([]);
  });
});

describe('the type a field expects', () => {
  const cases: readonly (readonly [text: string, expected: ValueType, result: string])[] = [
    ['64000', PRICE, 'price'],
    ['1 / 2', SIZE, 'size'],
    ['px', PRICE, 'price'],
    ['qty', PRICE, 'unit-mismatch@1'],
    ['n', PRICE, 'unit-mismatch@1'],
    ['cash / 2', SIZE, 'unit-mismatch@1'],
    ['inputs.cross ? 64000 : 63000', PRICE, 'price'],
    ['3', INTEGER, 'integer'],
    ['2.5', INTEGER, 'not-integer@1'],
    ['n', INTEGER, 'not-integer@1'],
    ['entry.avg_price', PRICE, 'optional-unhandled@1'],
    ['entry.avg_price', { kind: 'optional', of: PRICE }, 'optional price'],
    ['px', { kind: 'optional', of: PRICE }, 'price'],
    ['inputs.markets', { kind: 'list', of: MARKET }, 'list<market>'],
    ['[]', { kind: 'list', of: MARKET }, 'list<market>'],
    ["['BTC-USD']", { kind: 'list', of: MARKET }, "list<'BTC-USD'>"],
    ['taker', ROOTS.get('entry') as ValueType, 'optional-unhandled@1'],
    ['entry', ROOTS.get('entry') as ValueType, 'Order'],
    ['acct', ROOTS.get('entry') as ValueType, 'type-mismatch@1'],
    ['entry.open', BOOLEAN, 'boolean'],
    ['entry', BOOLEAN, 'type-mismatch@1'],
    ['now', TIME, 'time'],
    ['inputs.for', DURATION, 'duration'],
    ["'long'", SIDE, "'long'"],
    ["'lnog'", SIDE, 'not-a-member@1'],
  ];
  it.each(cases)('%s', (text, expected, result) => {
    const compiled = compile(text, expected);
    expect(compiled.expr === undefined ? faults(compiled)[0] : formatType(compiled.expr.type)).toBe(result);
  });
});

describe('fields: literal, expression or template by the type expected', () => {
  const cases: readonly (readonly [text: string, expected: ValueType | 'any', result: unknown])[] = [
    ['30s', DURATION, '30s'],
    ['1h30m', DURATION, '1h30m'],
    ['250ms', DURATION, '250ms'],
    ['PT10M', DURATION, '10m'],
    ['P1DT12H', DURATION, '1d12h'],
    ['inputs.for', DURATION, '10m'],
    ['inputs.for / 2', DURATION, '5m'],
    ['30', DURATION, 'duration-form@1'],
    ['30 sec', DURATION, 'duration-form@1'],
    ['30m1h', DURATION, 'duration-form@1'],
    ['1h1h', DURATION, 'duration-form@1'],
    ['-5m', DURATION, 'duration-form@1'],
    ['P1Y', DURATION, 'unknown-name@1'],
    ['99999999d', DURATION, 'duration-form@1'],
    ['2026-01-05T08:00:00Z', TIME, '2026-01-05T08:00:00.000Z'],
    ['2026-01-05T08:00:00+01:00', TIME, '2026-01-05T07:00:00.000Z'],
    ['2026-01-05T08:00:00.000123Z', TIME, '2026-01-05T08:00:00.000123Z'],
    ['2026-01-05T08:00:00', TIME, 'time-form@1'],
    ['2026-01-05', TIME, 'time-form@1'],
    ['2026-02-30T08:00:00Z', TIME, 'time-form@1'],
    ['now - days(7)', TIME, '2026-06-29T08:00:00.000Z'],
    ['3%', NUMBER, '0.03'],
    ['1.5 %', NUMBER, '0.015'],
    ['25bps', NUMBER, '0.0025'],
    ['-1%', NUMBER, '-0.01'],
    ['3%', PRICE, 'ratio-not-here@1'],
    ['3%', INTEGER, 'ratio-not-here@1'],
    ['3% ', 'any', '0.03'],
    ['7 % 3', NUMBER, '1'],
    ['0.5', SIZE, '0.5'],
    ['inputs.size', SIZE, '0.25'],
    ['${inputs.size}', SIZE, 'template-not-here@1'],
    ['true', BOOLEAN, true],
    ['entry.open', BOOLEAN, true],
    ['yes', BOOLEAN, 'unknown-name@1'],
    ['open it', BOOLEAN, 'expression-syntax@6'],
    ['long', SIDE, 'long'],
    ['lnog', SIDE, 'not-a-member@1'],
    ['${opposite(inputs.side)}', SIDE, 'short'],
    ["${n > 0 ? 'short' : 'long'}", SIDE, 'short'],
    ["${n > 0 ? 'shrot' : 'long'}", SIDE, 'not-a-member@3'],
    ['${inputs.note}', SIDE, 'type-mismatch@3'],
    ['${px}', SIDE, 'type-mismatch@3'],
    ['${inputs.side}x', SIDE, 'template-mixed@1'],
    ['BTC-USD', MARKET, 'BTC-USD'],
    ['BTCUSD', MARKET, 'market-form@1'],
    ['${inputs.market}', MARKET, 'BTC-USD'],
    ['${px}', MARKET, 'type-mismatch@3'],
    ['hello', TEXT, 'hello'],
    ['5', TEXT, '5'],
    ['filled ${entry.filled} of ${entry.initial_size}', TEXT, 'filled 0.15 of 0.25'],
    [
      'at ${now} for ${inputs.for}, ${inputs.cross}, ${inputs.markets}',
      TEXT,
      'at 2026-07-06T08:00:00.000Z for 10m, false, BTC-USD, ETH-USD',
    ],
    ['${cash}', TEXT, '1000'],
    ['${inputs.side}', TEXT, 'long'],
    ['cost $5, $${x}', TEXT, 'cost $5, ${x}'],
    ['${\'}\' + "{"}', TEXT, '}{'],
    ['a ${entry.id', TEXT, 'template-unclosed@3'],
    ['a ${entry.prise} b', TEXT, 'unknown-field@11'],
    ['a ${} b', TEXT, 'expression-empty@5'],
    ['a ${nope} b ${nada}', TEXT, 'unknown-name@5'],
    ['an order: ${entry}', TEXT, 'type-mismatch@13'],
    ['filled ${entry.filled}', 'any', 'filled 0.15'],
    ['${entry.filled}', 'any', '0.15'],
    ['entry.filled', 'any', '0.15'],
    ['30s', 'any', '30s'],
  ];
  it.each(cases)('%s', (text, expected, result) => {
    const compiled = field(text, expected);
    expect(compiled.expr === undefined ? faults(compiled)[0] : valueIn(compiled.expr)).toEqual(result);
  });

  it('keeps the type of an expression that is the whole template', () => {
    expect(formatType((field('${entry.filled}', 'any').expr as Expr).type)).toBe('size');
    expect(formatType((template('${entry.filled}').expr as Expr).type)).toBe('text');
  });

  it('warns of a text with a value that may be absent, and writes it so', () => {
    const compiled = template('at ${taker.avg_price}');
    expect(faults(compiled)).toEqual(['optional-in-text@6']);
    expect(compiled.diagnostics[0]?.severity).toBe('warning');
    expect(valueIn(compiled.expr)).toBe('at (absent)');
  });
});

describe('places in the file', () => {
  it.each([
    ['plain with a comment', 'price: inputs.trigger * prise   # note\n', 1, 25],
    ['quoted', 'price: "inputs.trigger * prise"\n', 1, 26],
    ['doubled quotes', "price: 'inputs.side == ''long'' ? prise : px'\n", 1, 35],
    ['a folded block', 'price: >-\n  inputs.cross ? px\n    : prise\n', 3, 7],
  ])('%s', (_, yaml, line, column) => {
    const { node, source } = scalarOf(yaml);
    const [diagnostic] = compileField(node, source, ENV, PRICE).diagnostics;
    expect([diagnostic?.code, findPosition(yaml, diagnostic?.span.start as number)]).toEqual([
      'unknown-name',
      { line, column },
    ]);
    expect(yaml.slice(diagnostic?.span.start, diagnostic?.span.end)).toBe('prise');
  });

  it('suggests the name without its block', () => {
    const { node, source } = scalarOf('price: vars.px\n');
    expect(compileField(node, source, ENV, PRICE).diagnostics).toEqual([
      expect.objectContaining({ code: 'unknown-name', hint: expect.stringContaining('without the block') }),
    ]);
  });

  it('places an error inside a template', () => {
    const yaml = 'text: "filled ${entry.filled} at ${entry.prise}"\n';
    const { node, source } = scalarOf(yaml);
    const [diagnostic] = compileField(node, source, ENV, TEXT).diagnostics;
    expect(yaml.slice(diagnostic?.span.start, diagnostic?.span.end)).toBe('prise');
  });
});

describe('the names an expression reads', () => {
  const reads = (text: string, env?: TypeEnv): readonly string[] | undefined => compile(text, 'any', env).expr?.reads;

  it('lists roots and feeds sorted and without duplicates', () => {
    expect(reads('qty * feeds.mid + feeds.mark[inputs.market] * qty')).toEqual([
      'feeds',
      'feeds.mark',
      'feeds.mid',
      'inputs',
      'qty',
    ]);
    expect(reads('ladder.exists(r, r.o.price > px)')).toEqual(['ladder', 'px']);
    expect(reads('1 + 2')).toEqual([]);
  });

  it('includes what a def reads, and the default market of tick', () => {
    const target = compile('feeds.mid * (1 - inputs.ratio)').expr as Expr;
    const market = field('${inputs.market}', MARKET).expr as Expr<string>;
    const env: TypeEnv = {
      roots: new Map([...ROOTS, ['target', target.type]]),
      present: new Set(),
      defs: new Map([['target', target]]),
      market,
    };
    expect(reads('target + px', env)).toEqual(['feeds', 'feeds.mid', 'inputs', 'px', 'target']);
    expect(reads('tick(px)', env)).toEqual(['inputs', 'px']);
    expect(template('at ${target}', TEXT, env).expr?.reads).toEqual(['feeds', 'feeds.mid', 'inputs', 'target']);
  });

  it('knows what is constant', () => {
    const constant = (text: string): boolean | undefined => compile(text).expr?.constant;
    expect(['1 + 2', "pct(3) > 0 ? 'a' : 'b'", 'px', 'now', "tick(5, 'BTC-USD')"].map(constant)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(
      [field('30s', DURATION), field('long', SIDE), field('a ${px}', TEXT), field('a ${1 + 1}', TEXT)].map(
        (each) => each.expr?.constant,
      ),
    ).toEqual([true, true, false, true]);
  });
});

describe('the market of tick and lot', () => {
  const market = field('${inputs.market}', MARKET).expr as Expr<string>;
  const env: TypeEnv = { ...ENV, market };

  it('is that of the order, or the one given', () => {
    expect(valueIn(compile('tick(px + 0.4)', PRICE, env).expr)).toBe('100');
    expect(valueIn(compile("tick(px + 0.4, 'ETH-USD')", PRICE, env).expr)).toBe('100.5');
    expect(valueIn(compile('lot(cash / 3 / px)', SIZE, env).expr)).toBe('3.3333');
  });

  it('is named in the failure when it is unknown', () => {
    const expr = compile("tick(px, 'SOL-USD')", PRICE).expr as Expr;
    expect(() => expr.evaluate(scopeOf())).toThrow(EvaluationFailure);
    expect(() => expr.evaluate(scopeOf())).toThrow('SOL-USD');
  });
});

describe('narrowing', () => {
  const paths = (text: string): readonly (readonly string[])[] => {
    const expr = compile(text, BOOLEAN).expr as Expr;
    return [listPresentWhenTrue(expr), listPresentWhenFalse(expr)];
  };

  it('lists the values that are present when a condition is true', () => {
    expect(paths('taker.hasValue()')).toEqual([['taker'], []]);
    expect(paths('!taker.hasValue()')).toEqual([[], ['taker']]);
    expect(paths('entry.avg_price.hasValue() && px > 0')).toEqual([['entry', 'entry.avg_price'], []]);
    expect(paths('taker.hasValue() || px > 0')).toEqual([[], []]);
    expect(paths('!taker.hasValue() || !entry.avg_price.hasValue()')).toEqual([
      [],
      ['taker', 'entry', 'entry.avg_price'],
    ]);
    expect(paths('ladder.exists(r, r.o.avg_price.hasValue())')).toEqual([[], []]);
  });

  it('follows a def', () => {
    const done = compile('taker.hasValue()').expr as Expr;
    const env: TypeEnv = { roots: ROOTS, present: new Set(), defs: new Map([['done', done]]) };
    expect(faults(compile('done ? taker.filled : 0', SIZE, env))).toEqual([]);
    expect(listPresentWhenTrue(compile('done && px > 0', BOOLEAN, env).expr as Expr)).toEqual(['taker']);
  });

  it('uses the values that the check knows to be present', () => {
    const env: TypeEnv = { roots: ROOTS, present: new Set(['taker', 'entry.avg_price']) };
    expect(faults(compile('taker.filled + 1', SIZE, env))).toEqual([]);
    expect(faults(compile('entry.avg_price * 2', PRICE, env))).toEqual([]);
    expect(faults(compile('entry.avg_price.orValue(0)', PRICE, env))).toEqual([]);
    expect(faults(compile('taker.avg_price * 2', PRICE, env))).toEqual(['optional-unhandled@1']);
  });

  it('fails the step when a value that should be present is absent', () => {
    const env: TypeEnv = { roots: ROOTS, present: new Set(['taker']) };
    const expr = compile('taker.filled + 1', SIZE, env).expr as Expr;
    expect(() => expr.evaluate(scopeOf())).toThrow('taker has no value');
  });
});

describe('bare literals behind a name', () => {
  it('are distinguished from computed numbers', () => {
    expect(
      ['100', '-1', 'inputs.cross ? 1 : 2', '[1, 2]', 'pct(1)', 'n', 'px'].map((text) =>
        isBare(compile(text).expr as Expr),
      ),
    ).toEqual([true, true, true, true, false, false, false]);
  });

  it('adapt to a unit when the environment marks them as bare', () => {
    const roots = new Map<string, ValueType>([...ROOTS, ['gap', INTEGER]]);
    expect(faults(compile('px - gap', PRICE, { roots, present: new Set() }))).toEqual(['unit-mismatch@1']);
    expect(faults(compile('px - gap', PRICE, { roots, present: new Set(), bare: new Set(['gap']) }))).toEqual([]);
  });
});

describe('evaluation', () => {
  const failure = (text: string, values: Parameters<typeof scopeOf>[0] = {}): string => {
    const { expr } = compile(text);
    if (expr === undefined) throw new Error(`does not compile: ${text}`);
    try {
      return `no failure: ${JSON.stringify(valueIn(expr, scopeOf(values)))}`;
    } catch (error) {
      if (!(error instanceof EvaluationFailure)) throw error;
      expect(error.expression).toBe(text);
      return error.message;
    }
  };

  it.each([
    ['px / (n - 3)', 'division by zero'],
    ['n % (n - 3)', 'division by zero'],
    ['inputs.for / (inputs.for - minutes(10))', 'division by zero'],
    ['qty / (n - 3) > 1 || true', 'division by zero'],
    ['true && qty / (n - 3) > 1', 'division by zero'],
    ["feeds.mark['ETH-USD']", 'there is no entry for ETH-USD'],
    ['fills[9].price', 'the list has no item 9'],
    ['fills[0 - k].price', 'the list has no item -2'],
    ['ladder.filter(r, false).map(r, r.k).max()', 'an empty list has no greatest item'],
    ['floor_to(n, n - 3)', 'the step must be above zero, found 0'],
    ['range(0 - k)', 'range of a negative number, -2'],
    ['range(10001)', 'range has at most 10000 items, asked for 10001'],
    ['range(1000).map(a, range(1000).map(b, a * b).sum()).sum()', '100000'],
    ['inputs.for * 100000000000000000000', 'duration'],
    ['now + inputs.for * 20000000', 'the duration is too long'],
    ['now + days(36525) + days(36525) + days(36525)', 'the time is too far away'],
  ])('%s', (text, message) => {
    expect(failure(text)).toContain(message);
  });

  it('bounds the size of numbers', () => {
    const text = Array.from({ length: 4 }, () => 'n').join(' * ');
    expect(failure(text, { n: new Decimal('1e30') })).toContain('too large');
    expect(failure(text, { n: new Decimal('1e-80') })).toContain('too small');
    expect(failure(text, { n: new Decimal('1e12') })).toBe(`no failure: "1${'0'.repeat(48)}"`);
  });

  it('shares its budget with the expressions it evaluates, so that many defs cannot exceed it, and evaluates each of them once', () => {
    const roots = new Map(ROOTS);
    const defs = new Map<string, Expr>();
    for (let level = 0; level < 40; level += 1) {
      const work = 'range(9000).size() * 0';
      const text = level === 0 ? `n + ${work}` : `d${level - 1} + d${level - 1} + ${work}`;
      const expr = compile(text, NUMBER, { roots, present: new Set(), defs }).expr as Expr;
      roots.set(`d${level}`, NUMBER);
      defs.set(`d${level}`, expr);
    }
    const base = scopeOf();
    const scope = { ...base, get: (root: string) => defs.get(root)?.evaluate(scope) ?? base.get(root) };
    expect(valueIn(defs.get('d8'), scope)).toBe('768');
    expect(() => defs.get('d39')?.evaluate(scope)).toThrow('1000000');
    expect(valueIn(defs.get('d8'), scope)).toBe('768');
  });

  it('rethrows errors of the scope', () => {
    const scope = {
      ...scopeOf(),
      get: () => {
        throw new NotKnown('entry.avg_price');
      },
    };
    expect(() => compile('px * 2').expr?.evaluate(scope)).toThrow(NotKnown);
  });

  it('reads only declared fields, also of objects with getters', () => {
    class Live {
      get filled(): Decimal {
        return new Decimal(3);
      }
    }
    expect(valueIn(compile('entry.filled').expr, scopeOf({ entry: new Live() as never }))).toBe('3');
  });

  it('does not look a name up on the prototype of a record type', () => {
    const type: ValueType = { kind: 'record', name: 'plain', fields: { a: NUMBER } };
    const env: TypeEnv = { roots: new Map([['x', type]]), present: new Set() };
    expect(faults(compile('x.valueOf', 'any', env))).toEqual(['unknown-field@3']);
    expect(makeRecordType('r', { a: NUMBER }).fields).not.toHaveProperty('constructor');
  });

  it('gives each evaluation its own loop variables', () => {
    const expr = compile('ladder.map(r, ladder.filter(q, q.k != r.k).map(s, s.k + r.k).sum())').expr;
    expect(valueIn(expr)).toEqual(['1', '1']);
    expect(valueIn(expr)).toEqual(['1', '1']);
  });
});

describe('properties', () => {
  const small = fc.integer({ min: -99_999, max: 99_999 });
  const decimalText = fc
    .tuple(small, fc.integer({ min: 0, max: 5 }))
    .map(([digits, places]) => new Decimal(digits).div(new Decimal(10).pow(places)).toFixed());

  it('adds, subtracts and multiplies exactly', () => {
    fc.assert(
      fc.property(decimalText, decimalText, (a, b) => {
        const x = new Decimal(a);
        const y = new Decimal(b);
        const worked = (operator: string): unknown => valueIn(compile(`(${a}) ${operator} (${b})`).expr);
        const plain = (value: Decimal): string => (value.isZero() ? '0' : value.toFixed());
        expect([worked('+'), worked('-'), worked('*')]).toEqual([
          plain(x.plus(y)),
          plain(x.minus(y)),
          plain(x.times(y)),
        ]);
        expect([worked('<'), worked('=='), worked('>')]).toEqual([x.lt(y), x.eq(y), x.gt(y)]);
      }),
    );
  });

  itHolds('never throws at check time, and at run time only failures of the expression', 5000, (numRuns) => {
    const word = fc.constantFrom(
      'inputs',
      'entry',
      'taker',
      '.',
      'avg_price',
      'filled',
      'side',
      'fills',
      'ladder',
      'px',
      'qty',
      'cash',
      'n',
      'k',
      'now',
      '+',
      '-',
      '*',
      '/',
      '%',
      '==',
      '<',
      '&&',
      '||',
      '!',
      '?',
      ':',
      '(',
      ')',
      '[',
      ']',
      '[?',
      ',',
      '0',
      '1.5',
      '1e3',
      "'long'",
      '"',
      "'",
      'true',
      'null',
      'min(',
      'sum(',
      'map(r,',
      'r',
      '.orValue(0)',
      '.hasValue()',
      'range(3)',
      'in',
      '${',
      '}',
      '3%',
      '30s',
      '__proto__',
      'days(',
      '{',
      '\\',
      'é',
      '😀',
      '\n',
      '\u0000',
    );
    const text = fc.oneof(
      fc.array(word, { maxLength: 14 }).map((parts) => parts.join(' ')),
      fc.array(word, { maxLength: 14 }).map((parts) => parts.join('')),
      fc.string({ unit: 'binary', maxLength: 80 }),
    );
    const expected = fc.constantFrom<ValueType | 'any'>(
      'any',
      PRICE,
      SIDE,
      TEXT,
      BOOLEAN,
      DURATION,
      TIME,
      INTEGER,
      MONEY,
    );
    fc.assert(
      fc.property(text, expected, (each, type) => {
        const compiled = field(each, type);
        expect(compiled.expr !== undefined || compiled.diagnostics.length > 0).toBe(true);
        for (const { span } of compiled.diagnostics) {
          expect(span.start).toBeGreaterThanOrEqual(0);
          expect(span.end).toBeLessThanOrEqual(each.length + 1);
        }
        try {
          valueIn(compiled.expr);
        } catch (error) {
          if (!(error instanceof EvaluationFailure)) throw error;
        }
      }),
      { numRuns },
    );
  });

  it('returns a value of its type, whenever it returns one', () => {
    const operand = fc.constantFrom(
      'px',
      'qty',
      'cash',
      'n',
      'k',
      '2',
      '0.5',
      'inputs.for',
      'now',
      'inputs.cross',
      'entry.avg_price',
      'taker.filled',
      'inputs.side',
      "'long'",
      'fills.size()',
    );
    const operator = fc.constantFrom('+', '-', '*', '/', '%', '==', '<', '&&', '||', '? 1 :');
    fc.assert(
      fc.property(operand, fc.array(fc.tuple(operator, operand), { maxLength: 3 }), (first, rest) => {
        const { expr } = compile([first, ...rest.flat()].join(' '));
        if (expr === undefined) return;
        let value: unknown;
        try {
          value = expr.evaluate(scopeOf());
        } catch (error) {
          if (error instanceof EvaluationFailure) return;
          throw error;
        }
        const type = expr.type.kind === 'optional' ? expr.type.of : expr.type;
        if (value === undefined) expect(expr.type.kind).toBe('optional');
        else if (type.kind === 'decimal')
          expect([Decimal.isDecimal(value), type.integer !== true || (value as Decimal).isInteger()]).toEqual([
            true,
            true,
          ]);
        else if (type.kind === 'duration') expect(value).toBeInstanceOf(Duration);
        else if (type.kind === 'boolean' || type.kind === 'text')
          expect(typeof value).toBe(type.kind === 'text' ? 'string' : 'boolean');
      }),
      { numRuns: 2000 },
    );
  });
});
