/** Holds what an evaluation may spend, and how large a value may be. */
import { describe, expect, it } from 'vitest';
import { Decimal } from '../../src/base/decimal.ts';
import { readInputs } from '../../src/runbook/check/inputs.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { LONGEST_LIST, LONGEST_TEXT } from '../../src/runbook/functions/evaluation.ts';
import { INTEGER, TEXT } from '../../src/runbook/functions/typing.ts';
import { EvaluationFailure, type Value, type ValueType } from '../../src/runbook/values.ts';
import { compile, ENV, ROOTS, scopeOf, template } from './sample.ts';

const NUMBERS: ValueType = { kind: 'list', of: INTEGER };
const MORE = new Map<string, ValueType>([
  ...ROOTS,
  ['a', NUMBERS],
  ['b', NUMBERS],
  ['words', { kind: 'list', of: TEXT }],
  ['long', TEXT],
  ['same', TEXT],
  ['by', { kind: 'map', of: NUMBERS }],
]);
const list = (length: number): readonly Value[] => Array.from({ length }, (_, index) => new Decimal(index));
const scope = scopeOf({
  a: list(LONGEST_LIST),
  b: list(LONGEST_LIST),
  words: Array.from({ length: 1000 }, (_, index) => `${'é'.repeat(20_000)}${index}`),
  long: 'x'.repeat(LONGEST_TEXT),
  same: 'x'.repeat(LONGEST_TEXT),
  by: new Map([['one', list(LONGEST_LIST)]]),
});

function evaluate(text: string): Value {
  const { expr, diagnostics } = compile(text, 'any', { ...ENV, roots: MORE });
  if (expr === undefined) throw new Error(diagnostics.map(({ message }) => message).join('; '));
  return expr.evaluate(scope);
}

describe('an evaluation that would hold the process ends as an error of the step', () => {
  it.each([
    'range(9001).all(i, a == b)',
    'range(9001).all(i, by == by)',
    'range(9001).all(i, !((k - 3) in b))',
    'range(9001).all(i, long == same)',
    'range(9001).all(i, size(long) > i)',
    'range(9001).all(i, a.sum() > 0)',
    'range(9001).all(i, a.max() > 0)',
    'range(9001).all(i, !words.exists(w, w == long))',
    'range(9001).all(i, range(9001).size() > 0)',
    'range(9001).all(i, a.filter(j, j > 0).size() > 0)',
    'range(9001).exists(i, range(9001).exists(j, j / 7 == 0.1))',
    "range(9001).all(i, hour(now, 'Europe/London') >= 0)",
    'range(9001).map(i, a)',
    'range(9001).map(i, words)',
  ])('%s', (text) => expect(() => evaluate(text)).toThrow(EvaluationFailure));

  it('spends the same in every execution, and begins anew with the next evaluation', () => {
    const fits = (rows: number) => {
      try {
        return evaluate(`range(${rows}).all(i, a.sum() > 0)`) === true;
      } catch {
        return false;
      }
    };
    const most = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].filter(fits).length;
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(10);
    for (let again = 0; again < 5; again += 1) expect([fits(most), fits(most + 1)]).toEqual([true, false]);
  });

  it('takes what a page of orders needs', () => {
    const page = scopeOf({ a: list(1000) });
    const { expr } = compile(
      'a.filter(j, j * 0.1 / 3 > 1 && j % 7 != 2 && [1, 2, 3].exists(k2, k2 == j) == false).size()',
      'any',
      {
        ...ENV,
        roots: MORE,
      },
    );
    expect(expr?.evaluate(page)).toBeInstanceOf(Decimal);
  });
});

describe('a check takes time by what is written', () => {
  it('of names that each use the one before twice', () => {
    const defs = Array.from({ length: 40 }, (_, at) => `  d${at + 1}: d${at} + d${at}\n`).join('');
    const text = `runbook: r\ndsl: 1\ninputs: {q: {type: number, default: 1}}\ndef:\n  d0: inputs.q\n${defs}steps:\n  - assert: d40 > 0\n`;
    expect(checkRunbook({ file: 'r.yaml', text }, () => undefined).diagnostics).toEqual([]);
  });
});

describe('a value is bounded', () => {
  it('a text by 64 KiB, built by + or by ${…}', () => {
    expect(evaluate('long')).toHaveLength(LONGEST_TEXT);
    expect(() => evaluate("long + 'x'")).toThrow(EvaluationFailure);
    const { expr } = template('${inputs.note}${inputs.note}', TEXT);
    expect(() => expr?.evaluate(scopeOf({ inputs: { note: 'é'.repeat(20_000) } }))).toThrow(EvaluationFailure);
    expect(expr?.evaluate(scopeOf({ inputs: { note: 'é'.repeat(16_384) } }))).toHaveLength(32_768);
  });

  it('a list and a map by 10,000 items', () => {
    const of = (length: number) => scopeOf({ a: list(length), by: new Map(list(length).map((n) => [String(n), []])) });
    for (const root of ['a', 'by']) {
      const { expr } = compile(root, 'any', { ...ENV, roots: MORE });
      expect(() => expr?.evaluate(of(LONGEST_LIST))).not.toThrow();
      expect(() => expr?.evaluate(of(LONGEST_LIST + 1))).toThrow(EvaluationFailure);
    }
  });

  it('a duration by a hundred years, written or computed: the end of a longer one may be no date', () => {
    expect(evaluate('days(36525)')).toEqual(evaluate('days(18262) + days(18263)'));
    for (const long of [
      'days(36526)',
      'days(100000000)',
      '-days(36525) * 2',
      'days(36525) + seconds(1)',
      'days(1) / 0.00001',
    ])
      expect(() => evaluate(long), long).toThrow('the duration is too long');
  });

  it('by 64 levels', () => {
    const nested = (levels: number): Value => (levels === 0 ? new Decimal(1) : [nested(levels - 1)]);
    const { expr } = compile('a', 'any', { ...ENV, roots: MORE });
    expect(() => expr?.evaluate(scopeOf({ a: nested(64) }))).not.toThrow();
    expect(() => expr?.evaluate(scopeOf({ a: nested(65) }))).toThrow(EvaluationFailure);
  });

  it('an input that is larger is refused before the run', () => {
    const text = 'runbook: a\ndsl: 1\ninputs: {t: {type: text}}\nsteps: [{notify: {to: ops, text: "${inputs.t}"}}]\n';
    const { runbook } = checkRunbook({ file: 'a.yaml', text }, () => undefined);
    if (runbook === undefined) throw new Error('the runbook is wrong');
    expect(readInputs(runbook, { t: 'x'.repeat(LONGEST_TEXT + 1) })).toHaveProperty('problems');
    expect(readInputs(runbook, { t: 'x'.repeat(LONGEST_TEXT) })).toHaveProperty('values');
  });
});

it('an evaluation spends what its scope gives it', () => {
  const { expr } = compile('range(100).all(i, i >= 0)', 'any', { ...ENV, roots: MORE });
  expect(() => expr?.evaluate({ ...scope, fuel: 100 })).toThrow(EvaluationFailure);
  expect(expr?.evaluate({ ...scope, fuel: Number.POSITIVE_INFINITY })).toBe(true);
  expect(expr?.evaluate(scope)).toBe(true);
});
