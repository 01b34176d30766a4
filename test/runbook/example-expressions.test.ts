/** Every expression of the five example runbooks, with the names visible there. */
import { describe, expect, it } from 'vitest';
import { compileField, type TypeEnv } from '../../src/runbook/expression/expression.ts';
import { ACCOUNT, FILL, makeRecordType, ORDER, STEP_ERROR } from '../../src/runbook/functions/records.ts';
import { parseTypeWord } from '../../src/runbook/functions/type-words.ts';
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
import type { Expr, ValueType } from '../../src/runbook/values.ts';
import { faults, plain } from './sample.ts';

interface Example {
  readonly inputs: Readonly<Record<string, string>>;
  readonly feeds?: Readonly<Record<string, string>>;
  /** Names besides inputs, feeds, now and run: step ids, loop variables. */
  readonly names?: Readonly<Record<string, ValueType>>;
  readonly present?: readonly string[];
  readonly let?: Readonly<Record<string, string>>;
  readonly def?: Readonly<Record<string, string>>;
  /** [expression, expected type, type found]. */
  readonly fields: readonly (readonly [text: string, expected: ValueType | 'any', found: string])[];
}

const types = (words: Readonly<Record<string, string>>): Record<string, ValueType> =>
  Object.fromEntries(Object.entries(words).map(([name, word]) => [name, parseTypeWord(word) as ValueType]));
const list = (of: ValueType): ValueType => ({ kind: 'list', of });
const RUNG = makeRecordType('ladder', { o: ORDER, k: INTEGER });

const EXAMPLES: Readonly<Record<string, Example>> = {
  'bracket-entry': {
    inputs: {
      market: 'market',
      side: 'side',
      size: 'size',
      trigger: 'price',
      slip: 'bps',
      risk: 'pct',
      reward: 'number',
      patience: 'duration',
    },
    names: { before: ACCOUNT, entry: ORDER, error: STEP_ERROR },
    present: ['entry.avg_price'],
    let: { dir: "inputs.side == 'long' ? 1 : -1", limit: 'tick(inputs.trigger * (1 + dir * inputs.slip))' },
    fields: [
      ['before.account_equity * 3 > inputs.size * limit', BOOLEAN, 'boolean'],
      ['inputs.size', SIZE, 'size'],
      ['limit', PRICE, 'price'],
      ['inputs.patience', DURATION, 'duration'],
      ['entry', ORDER, 'Order'],
      ['${opposite(inputs.side)}', SIDE, 'side'],
      ['1', NUMBER, 'integer'],
      ['tick(entry.avg_price * (1 - dir * inputs.risk))', PRICE, 'price'],
      ['tick(entry.avg_price * (1 - dir * inputs.risk * 2))', PRICE, 'price'],
      ['tick(entry.avg_price * (1 + dir * inputs.risk * inputs.reward))', PRICE, 'price'],
      ['entry.filled', SIZE, 'size'],
      ['entry.avg_price * (1 - dir * pct(3))', PRICE, 'price'],
      ['protection of ${entry.id} failed (${error.kind}); flattened ${entry.filled}', TEXT, 'text'],
      ['${entry.id}', 'any', 'text'],
      ['entry.avg_price', 'any', 'price'],
      ['20s', DURATION, 'duration'],
    ],
  },
  flatten: {
    inputs: { markets: 'list<market>', since: 'duration', slip: 'pct', dry: 'boolean' },
    feeds: { mark: 'map<price>' },
    names: {
      m: MARKET,
      net: SIZE,
      left: makeRecordType('left', { orders: list(ORDER) }),
      f: makeRecordType('f', { fills: list(FILL) }),
      acct: ACCOUNT,
    },
    fields: [
      ['now - days(7)', TIME, 'time'],
      ['left.orders.size() == 0', BOOLEAN, 'boolean'],
      ['still ${left.orders.size()} open orders after cancel_all', TEXT, 'text'],
      ['inputs.markets', list(MARKET), 'list<market>'],
      ['${m}', MARKET, 'market'],
      ['now - inputs.since', TIME, 'time'],
      ['net_size(f.fills)', 'any', 'size'],
      ['net != 0', BOOLEAN, 'boolean'],
      ["${net > 0 ? 'short' : 'long'}", SIDE, "'short' or 'long'"],
      ['abs(net)', SIZE, 'size'],
      ['tick(feeds.mark[m] * (net > 0 ? 1 - inputs.slip : 1 + inputs.slip))', PRICE, 'price'],
      ['acct.total_position_margin == 0 && acct.total_order_margin == 0', BOOLEAN, 'boolean'],
      ['NOT FLAT: position margin ${acct.total_position_margin}', TEXT, 'text'],
    ],
  },
  housekeeping: {
    inputs: { markets: 'list<market>', night_leverage: 'integer', stale_after: 'duration', max_exposure: 'number' },
    names: { m: MARKET, acct: ACCOUNT, after: ACCOUNT, o: ORDER, old: makeRecordType('old', { orders: list(ORDER) }) },
    fields: [
      ['acct.leverage[?m].orValue(20) > inputs.night_leverage', BOOLEAN, 'boolean'],
      ['inputs.night_leverage', INTEGER, 'integer'],
      ['now - inputs.stale_after', TIME, 'time'],
      ['old.orders', list(ORDER), 'list<Order>'],
      ['o', ORDER, 'Order'],
      ['after.total_notional > after.account_equity * inputs.max_exposure', BOOLEAN, 'boolean'],
      ['Exposure ${after.total_notional} is over ${inputs.max_exposure}x equity. Run flatten?', TEXT, 'text'],
      ['night setup done: notional ${after.total_notional}, health ${after.health}', TEXT, 'text'],
      ['after.total_notional', 'any', 'money'],
    ],
  },
  ladder: {
    inputs: {
      market: 'market',
      budget: 'money',
      rungs: 'integer',
      first: 'bps',
      step: 'bps',
      drift: 'bps',
      for: 'duration',
    },
    feeds: { mid: 'price' },
    names: { k: INTEGER, px: PRICE, want: PRICE, r: RUNG, o: ORDER },
    let: { each_notional: 'inputs.budget / inputs.rungs' },
    fields: [
      ['inputs.rungs', INTEGER, 'integer'],
      ['inputs.budget', MONEY, 'money'],
      ['feeds.mid', PRICE, 'price'],
      ['3%', NUMBER, 'number'],
      ['range(inputs.rungs)', list(INTEGER), 'list<integer>'],
      ['tick(feeds.mid * (1 - inputs.first - k * inputs.step))', 'any', 'price'],
      ['lot(each_notional / px)', SIZE, 'size'],
      ['inputs.for', DURATION, 'duration'],
      ['r.o', ORDER, 'Order'],
      ['tick(feeds.mid * (1 - inputs.first - r.k * inputs.step))', 'any', 'price'],
      ['r.o.open && abs(want - r.o.price) > feeds.mid * inputs.drift', BOOLEAN, 'boolean'],
    ],
  },
  'ladder, after its loop': {
    inputs: {},
    names: { ladder: list(RUNG) },
    fields: [
      ['ladder.exists(r, r.o.open)', BOOLEAN, 'boolean'],
      ['ladder.filter(r, r.o.open)', list(RUNG), 'list<ladder>'],
      ['ladder.map(r, r.o.filled).sum()', 'any', 'size'],
      ['ladder.filter(r, r.o.open).size()', 'any', 'integer'],
    ],
  },
  requote: {
    inputs: {
      market: 'market',
      side: 'side',
      size: 'size',
      offset: 'bps',
      for: 'duration',
      worst: 'price',
      cross: 'boolean',
    },
    feeds: { bid: 'price', ask: 'price' },
    names: { quote: ORDER, chases: INTEGER, taker: { kind: 'optional', of: ORDER } },
    def: {
      long: "inputs.side == 'long'",
      target:
        'long ? min(tick(feeds.bid * (1 - inputs.offset)), inputs.worst) : max(tick(feeds.ask * (1 + inputs.offset)), inputs.worst)',
    },
    fields: [
      ['target', PRICE, 'price'],
      ['quote.open && target != quote.price', BOOLEAN, 'boolean'],
      ['chases + 1', INTEGER, 'integer'],
      ['inputs.cross && quote.remaining > 0', BOOLEAN, 'boolean'],
      ['quote.remaining', SIZE, 'size'],
      ['quote.filled + taker.filled.orValue(0)', 'any', 'size'],
      ['quote.filled / inputs.size', 'any', 'number'],
      ['chases', 'any', 'integer'],
    ],
  },
};

function environment(example: Example): TypeEnv {
  const roots = new Map<string, ValueType>([
    ['inputs', makeRecordType('inputs', types(example.inputs))],
    ['feeds', makeRecordType('feeds', types(example.feeds ?? {}))],
    ['now', TIME],
    ...Object.entries(example.names ?? {}),
  ]);
  const bare: TypeEnv = { roots, present: new Set(example.present) };
  const { node, source } = plain('BTC-USD');
  const market = compileField(node, source, bare, MARKET).expr as Expr<string>;
  const defs = new Map<string, Expr>();
  const env: TypeEnv = { ...bare, market, defs };
  for (const [name, text] of [...Object.entries(example.let ?? {}), ...Object.entries(example.def ?? {})]) {
    const compiled = compileField(plain(text).node, plain(text).source, env, 'any');
    expect(faults(compiled)).toEqual([]);
    roots.set(name, (compiled.expr as Expr).type);
    if (example.def?.[name] !== undefined) defs.set(name, compiled.expr as Expr);
  }
  return env;
}

describe.each(Object.entries(EXAMPLES))('%s', (_, example) => {
  const env = environment(example);
  it.each(example.fields)('%s', (text, expected, found) => {
    const { node, source } = plain(text);
    const compiled = compileField(node, source, env, expected);
    expect(faults(compiled)).toEqual([]);
    expect(formatType((compiled.expr as Expr).type)).toBe(found);
  });
});

it('reads feeds through a def', () => {
  const env = environment(EXAMPLES.requote as Example);
  const { node, source } = plain('target');
  expect(compileField(node, source, env, PRICE).expr?.reads).toEqual([
    'feeds',
    'feeds.ask',
    'feeds.bid',
    'inputs',
    'long',
    'target',
  ]);
});
