/** Measures row 19: how long one evaluation takes that spends all of its fuel, in the most expensive ways the language has. */
import { Decimal } from '../../src/base/decimal.ts';
import type { ScalarNode } from '../../src/runbook/document/nodes.ts';
import { compileExpression } from '../../src/runbook/expression/expression.ts';
import { makeRecordType } from '../../src/runbook/functions/records.ts';
import { EvaluationFailure, type RecordValue, Time, type Value, type ValueType } from '../../src/runbook/values.ts';
import type { Row } from './row.ts';

const LONGEST = 10_000;
const NUMBER: ValueType = { kind: 'decimal', unit: 'number' };
const TEXT: ValueType = { kind: 'text' };

const ROOTS = new Map<string, ValueType>([
  ['a', { kind: 'list', of: NUMBER }],
  ['b', { kind: 'list', of: NUMBER }],
  ['texts', { kind: 'list', of: TEXT }],
  ['long', TEXT],
  ['other', TEXT],
  ['x', NUMBER],
  ['y', NUMBER],
  ['now', { kind: 'time' }],
  ['feeds', makeRecordType('feeds', { mid: NUMBER })],
]);

const DIGITS = new Decimal('1234567890123456789012345678901234567890').div(7);
const VALUES: Readonly<Record<string, Value>> = {
  a: Array.from({ length: LONGEST }, (_, index) => DIGITS.plus(index)),
  b: Array.from({ length: LONGEST }, (_, index) => DIGITS.plus(index)),
  texts: Array.from({ length: LONGEST }, () => 'é'.repeat(900)),
  long: 'é'.repeat(32_000),
  other: 'é'.repeat(32_000),
  x: DIGITS,
  y: new Decimal('0.0000000001').div(7),
  now: Time.ofMs(1_767_600_000_000),
};

/** Each spends more than there is, by another operation. */
const HUNGRY: readonly string[] = [
  'range(9001).all(i, a == b)',
  'range(9001).all(i, a.all(j, j > y))',
  'range(9001).all(i, a.all(j, feeds.mid > y))',
  'range(9001).all(i, a.map(j, j + y).size() > 0)',
  'range(9001).all(i, a.map(j, j * y / y).size() > 0)',
  'range(9001).all(i, a.map(j, j / x).size() > 0)',
  'range(9001).all(i, a.map(j, j % y).size() > 0)',
  'range(9001).all(i, a.map(j, round_to(j, y)).size() > 0)',
  'range(9001).all(i, a.sum() > 0)',
  'range(9001).all(i, max(a) > 0)',
  'range(9001).all(i, range(9001).size() > 0)',
  'range(9001).all(i, a[i] == a[i] && (y in b) == false)',
  'range(9001).all(i, range(9001).all(j, long == other))',
  'range(9001).all(i, range(9001).all(j, size(long) > 1))',
  "range(9001).all(i, range(9001).all(j, (long + 'e').size() > 1))",
  "range(9001).all(i, ('none' in texts) == false)",
  "range(9001).all(i, range(9001).all(j, hour(now, 'Europe/London') >= 0))",
  "range(9001).all(i, range(9001).all(j, date(now, 'America/New_York') != ''))",
  'range(9001).map(i, texts)',
];

/** The slowest of them, ms: the best of three, because the machine does other things too. */
function measureHungriest(): number {
  let made = 0;
  const scope = {
    get: (root: string): Value => {
      if (root !== 'feeds') return VALUES[root];
      made += 1;
      return { mid: DIGITS.plus(made) } as RecordValue;
    },
    rules: () => undefined,
  };
  const times = HUNGRY.map((text) => {
    const node = { kind: 'scalar', text, span: { start: 0, end: text.length }, style: 'plain', type: 'text' } as const;
    const scalar: ScalarNode = { ...node, offset: (index) => index };
    const { expr } = compileExpression(scalar, { file: 'bench', text }, { roots: ROOTS, present: new Set() }, 'any');
    if (expr === undefined) throw new Error(`not an expression: ${text}`);
    return Math.min(
      ...[1, 2, 3].map(() => {
        const begun = performance.now();
        let isSpent = false;
        try {
          expr.evaluate(scope);
        } catch (error) {
          if (!(error instanceof EvaluationFailure)) throw error;
          isSpent = true;
        }
        if (!isSpent) throw new Error(`spends too little: ${text}`);
        return performance.now() - begun;
      }),
    );
  });
  return Math.max(...times);
}

export const EXPRESSION_ROWS: readonly Row[] = [
  {
    id: '19',
    what: `one evaluation that spends all of its fuel, the slowest of ${HUNGRY.length}`,
    against: 'none',
    unit: 'ms',
    pass: 50,
    excellent: 25,
    measure: async () => measureHungriest(),
  },
];
