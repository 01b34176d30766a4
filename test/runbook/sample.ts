/** Names with types and values for expression tests. */
import { Decimal } from '../../src/base/decimal.ts';
import { findPosition } from '../../src/base/diagnostic.ts';
import { readDocument, type ScalarNode } from '../../src/runbook/document/document.ts';
import {
  type Compiled,
  compileExpression,
  compileField,
  compileTemplate,
  type TypeEnv,
} from '../../src/runbook/expression/expression.ts';
import { ACCOUNT, FILL, makeRecordType, ORDER, RUN, STEP_ERROR } from '../../src/runbook/functions/records.ts';
import {
  BOOLEAN,
  DURATION,
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
import {
  Duration,
  type Expr,
  type RecordValue,
  type Scope,
  Time,
  toJson,
  type Value,
  type ValueType,
} from '../../src/runbook/values.ts';

const d = (text: string): Decimal => new Decimal(text);
const list = (of: ValueType): ValueType => ({ kind: 'list', of });
const optional = (of: ValueType): ValueType => ({ kind: 'optional', of });

/** 2026-07-06 is a Monday; London is an hour ahead of UTC then. */
export const NOW = Time.ofMs(Date.UTC(2026, 6, 6, 8));

function order(fields: Partial<RecordValue>): RecordValue {
  return {
    id: 'BTC-USD@11',
    client_order_id: 'c1',
    market_id: 'BTC-USD',
    order_type: 'limit',
    side: 'long',
    price: d('64000'),
    size: d('0.1'),
    initial_size: d('0.25'),
    total_filled_size: d('0.15'),
    status: 'open',
    reason: '',
    timestamp: NOW,
    time_in_force: 'good_till_cancel',
    filled: d('0.15'),
    remaining: d('0.1'),
    avg_price: d('64001.5'),
    open: true,
    terminal: false,
    ...fields,
  } as RecordValue;
}

const fill = (side: string, size: string, price: string): RecordValue => ({
  id: 'BTC-USD-1',
  market_id: 'BTC-USD',
  side,
  size: d(size),
  price: d(price),
  fee: d('-0.01'),
});

export const ROOTS: ReadonlyMap<string, ValueType> = new Map<string, ValueType>([
  [
    'inputs',
    makeRecordType('inputs', {
      market: MARKET,
      markets: list(MARKET),
      side: SIDE,
      size: SIZE,
      trigger: PRICE,
      budget: MONEY,
      rungs: INTEGER,
      ratio: NUMBER,
      note: TEXT,
      for: DURATION,
      start: TIME,
      cross: BOOLEAN,
    }),
  ],
  ['feeds', makeRecordType('feeds', { mid: PRICE, mark: { kind: 'map', of: PRICE } })],
  ['now', TIME],
  ['run', RUN],
  ['error', STEP_ERROR],
  ['entry', ORDER],
  ['taker', optional(ORDER)],
  ['acct', ACCOUNT],
  ['fills', list(FILL)],
  ['ladder', list(makeRecordType('ladder', { o: ORDER, k: INTEGER }))],
  ['qty', SIZE],
  ['px', PRICE],
  ['cash', MONEY],
  ['n', NUMBER],
  ['k', INTEGER],
]);

export const ENV: TypeEnv = { roots: ROOTS, present: new Set() };

const VALUES: Readonly<Record<string, Value>> = {
  inputs: {
    market: 'BTC-USD',
    markets: ['BTC-USD', 'ETH-USD'],
    side: 'long',
    size: d('0.25'),
    trigger: d('64200'),
    budget: d('30000'),
    rungs: d('5'),
    ratio: d('0.015'),
    note: 'hello',
    for: new Duration(600_000),
    start: NOW,
    cross: false,
  },
  feeds: { mid: d('3000'), mark: new Map([['BTC-USD', d('64000')]]) },
  now: NOW,
  run: { id: 'r1', started_at: NOW },
  error: { kind: 'rejected', message: 'no', step: 'entry' },
  entry: order({}),
  taker: undefined,
  acct: {
    account_equity: d('18234.10'),
    total_notional: d('20000'),
    health: d('1.5'),
    leverage: new Map([['BTC-USD', d('5')]]),
  },
  fills: [fill('long', '0.3', '64000'), fill('long', '0.1', '64400'), fill('short', '0.1', '64100')],
  ladder: [
    { o: order({ price: d('2990') }), k: d('0') },
    { o: order({ price: d('2980'), open: false, filled: d('0.25'), avg_price: undefined }), k: d('1') },
  ],
  qty: d('0.5'),
  px: d('100'),
  cash: d('1000'),
  n: d('3'),
  k: d('2'),
};

export function scopeOf(values: Readonly<Record<string, Value>> = {}): Scope {
  return {
    get: (root) => (Object.hasOwn(values, root) ? values[root] : VALUES[root]),
    rules: (market) =>
      market === 'BTC-USD'
        ? { tick: '1', lot: '0.0001' }
        : market === 'ETH-USD'
          ? { tick: '0.5', lot: '0.01' }
          : undefined,
    // Of the fills above.
    accountPosition: () => d('0.4'),
    position: () => ({ size: d('0.3'), averageEntry: d('64100'), realized: d('0'), fees: d('1.2') }),
  };
}

export function scalarOf(yaml: string): { node: ScalarNode; source: { file: string; text: string } } {
  const source = { file: 'a.yaml', text: yaml };
  const { root, diagnostics } = readDocument(source);
  const node = root?.kind === 'map' ? root.entries[0]?.value : root;
  if (node?.kind !== 'scalar') throw new Error(`no scalar: ${JSON.stringify(diagnostics.map((each) => each.message))}`);
  return { node, source };
}

/** A scalar whose text begins at column 1 of line 1, so that columns are those of the expression. */
export function plain(text: string): { node: ScalarNode; source: { file: string; text: string } } {
  const source = { file: 'a.yaml', text };
  const span = { start: 0, end: text.length };
  return {
    node: { kind: 'scalar', span, text, style: 'plain', type: 'text', offset: (index) => Math.min(index, text.length) },
    source,
  };
}

export function compile(text: string, expected: ValueType | 'any' = 'any', env: TypeEnv = ENV): Compiled {
  const { node, source } = plain(text);
  return compileExpression(node, source, env, expected);
}

export function field(text: string, expected: ValueType | 'any', env: TypeEnv = ENV): Compiled {
  const { node, source } = plain(text);
  return compileField(node, source, env, expected);
}

export function template(text: string, expected: ValueType | 'any' = TEXT, env: TypeEnv = ENV): Compiled {
  const { node, source } = plain(text);
  return compileTemplate(node, source, env, expected);
}

/** `code@column` of each diagnostic. */
export function faults(compiled: Compiled): string[] {
  return compiled.diagnostics.map(
    ({ code, source, span }) => `${code}@${findPosition(source.text, span.start).column}`,
  );
}

export function valueIn(expr: Expr | undefined, scope: Scope = scopeOf()): unknown {
  return expr === undefined ? undefined : toJson(expr.evaluate(scope));
}
