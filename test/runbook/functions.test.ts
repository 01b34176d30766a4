import { describe, expect, it } from 'vitest';
import { Decimal, decimal } from '../../src/base/decimal.ts';
import { FUNCTIONS, findFunction } from '../../src/runbook/functions/functions.ts';
import { SIZE } from '../../src/runbook/functions/typing.ts';
import { Time } from '../../src/runbook/values.ts';
import { compile, faults, scopeOf, valueIn } from './sample.ts';

const examples = Object.entries(FUNCTIONS).flatMap(([name, row]) => row.examples.map((each) => ({ name, ...each })));

describe('the function table', () => {
  it('has the functions of the first version', () => {
    const names =
      'abs min max sum tick lot floor_to ceil_to round_to format opposite pct bps range size remove keys values entries net_size avg_price notional position account.position avg_entry realized fees days hours minutes seconds hour weekday date';
    expect(Object.keys(FUNCTIONS).sort()).toEqual(names.split(' ').sort());
  });

  it('does not find a function in a property that every object has', () => {
    expect(findFunction('constructor')).toBeUndefined();
    expect(findFunction('abs')?.doc).toContain('without its sign');
  });

  it.each(examples)('$expression', ({ name, expression, value }) => {
    expect(expression).toContain(name);
    const compiled = compile(expression);
    expect(faults(compiled)).toEqual([]);
    const result = valueIn(compiled.expr);
    expect(typeof result === 'string' ? result : JSON.stringify(result)).toBe(value);
  });
});

describe('rounding', () => {
  it.each([
    ["tick(64000.5, 'BTC-USD')", '64001'],
    ["tick(64000.49, 'BTC-USD')", '64000'],
    ["tick(3000.25, 'ETH-USD')", '3000.5'],
    ["tick(3000.24, 'ETH-USD')", '3000'],
    ["lot(0.99999, 'BTC-USD')", '0.9999'],
    ["lot(0.00009, 'BTC-USD')", '0'],
    ["lot(0 - 0.12345, 'BTC-USD')", '-0.1234'],
    ['floor_to(-1.2, 0.5)', '-1.5'],
    ['ceil_to(-1.2, 0.5)', '-1'],
    ['round_to(-1.25, 0.5)', '-1.5'],
    ['floor_to(1, 0.3)', '0.9'],
    ['ceil_to(px, 30)', '120'],
  ])('%s', (text, value) => {
    expect(valueIn(compile(text).expr)).toBe(value);
  });
});

describe('fills', () => {
  it('add up to zero when there are none', () => {
    const none = scopeOf({ fills: [] });
    expect(
      ['net_size(fills)', 'notional(fills)', 'avg_price(fills)', 'fills.size()'].map((text) =>
        valueIn(compile(text).expr, none),
      ),
    ).toEqual(['0', '0', null, '0']);
  });

  it('stay exact over many of them', () => {
    const fills = Array.from({ length: 5000 }, () => ({ side: 'long', size: decimal('0.1'), price: decimal('3') }));
    expect(valueIn(compile('net_size(fills)', SIZE).expr, scopeOf({ fills }))).toBe('500');
    expect(valueIn(compile('fills.map(f, f.price * f.size).sum()').expr, scopeOf({ fills }))).toBe('1500');
  });

  it('have a notional without sign: the traded amount', () => {
    expect(
      valueIn(
        compile('notional(fills)').expr,
        scopeOf({ fills: [{ side: 'short', size: new Decimal(2), price: new Decimal(5) }] }),
      ),
    ).toBe('10');
  });
});

describe('a formatted number', () => {
  it.each([
    ['format(1, 3)', '1.000'],
    ['format(px / 3, 2)', '33.33'],
    ['format(2.5, 0)', '3'],
    ['format(-2.5, 0)', '-3'],
    ['format(-0.001, 2)', '0.00'],
    ['format(1000000000000000000, 1)', '1000000000000000000.0'],
  ])('%s', (text, value) => {
    expect(valueIn(compile(text).expr)).toBe(value);
  });

  it.each(['format(1, ladder.size() - 3)', 'format(1, ladder.size() + 17)'])('%s fails the step', (text) => {
    expect(() => valueIn(compile(text).expr)).toThrow('0 to 18 places');
  });
});

describe('lists and maps', () => {
  it.each([
    ['[1, 2] + [3]', '["1","2","3"]'],
    ['[] + [3]', '["3"]'],
    ["({'a': 1, 'b': 2} + {'b': 3})['b']", '3'],
    ["({} + {'a': 1}).keys()", '["a"]'],
    ["{'BTC-USD': px}['BTC-USD']", '100'],
    ["{'a': 1}[?'b'].orValue(7)", '7'],
    ["'a' in {'a': 1}", 'true'],
    ["entries({'a': 1, 'b': 2}).map(e, e.value).sum()", '3'],
    ['[px, 5].remove(5).size()', '1'],
    ['remove([1], 2).size()', '1'],
    // One id is one order, whatever its figures.
    ['remove([ladder[0].o], ladder[1].o).size()', '0'],
  ])('%s', (text, value) => {
    const result = valueIn(compile(text).expr);
    expect(typeof result === 'string' ? result : JSON.stringify(result)).toBe(value);
  });

  it.each([
    ['[1] + [now]', 'type-mismatch'],
    ['[1] + {}', 'type-mismatch'],
    ["{'a': 1, 'b': now}", 'type-mismatch'],
    ['{1: 2}', 'type-mismatch'],
    ["remove([1], 'a')", 'type-mismatch'],
    ['keys([1])', 'type-mismatch'],
  ])('%s is refused', (text, code) => {
    expect(faults(compile(text)).map((each) => String(each))).toEqual([expect.stringContaining(code)]);
  });
});

describe('the calendar of a zone', () => {
  it.each([
    // 2026-03-29 01:00 UTC: London goes from 01:00 to 02:00.
    [Date.UTC(2026, 2, 29, 0, 59), 'Europe/London', ['0', '7', '2026-03-29']],
    [Date.UTC(2026, 2, 29, 1, 0), 'Europe/London', ['2', '7', '2026-03-29']],
    [Date.UTC(2026, 0, 1, 4, 59), 'America/New_York', ['23', '3', '2025-12-31']],
    [Date.UTC(2026, 0, 1, 18, 0), 'Asia/Kolkata', ['23', '4', '2026-01-01']],
  ])('at %i in %s', (ms, zone, expected) => {
    const scope = scopeOf({ now: Time.ofMs(ms) });
    const texts = [`hour(now, '${zone}')`, `weekday(now, '${zone}')`, `date(now, '${zone}')`];
    expect(texts.map((text) => valueIn(compile(text).expr, scope))).toEqual(expected);
  });

  it('fails the step for a zone that is not known before the run', () => {
    const expr = compile('hour(now, inputs.note)').expr;
    expect(() => expr?.evaluate(scopeOf())).toThrow('there is no time zone hello');
  });
});
