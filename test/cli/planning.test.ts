/** `runbook plan --profile`: the requests that the limits would deny, and where the switch is armed. */
import { describe, expect, it } from 'vitest';
import { folder } from './command.ts';

const home = folder();
home.write(
  'rest.yaml',
  `runbook: rest
dsl: 1
inputs:
  price: {type: price, default: 40000}
limits: {markets: [BTC-USD], max_order_notional: 25000}
deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}
steps:
  - set_leverage: {market: BTC-USD, leverage: 3}
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.4, price: inputs.price, tif: post_only}
    allow: reduce
  - amend: {order: entry, price: inputs.price + 2}
  - cancel: entry
`,
);
const BTC = 'markets: {BTC-USD: {tick: "2", lot: "0.0001"}}';

interface PlanDocument {
  readonly hash: string;
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly limits?: string;
    readonly denied?: { readonly code: string; readonly message: string };
  }[];
}

function profile(settings: string): string {
  return home.write('p.yaml', `profile: p\nbase_url: http://127.0.0.1:8099\nauth: {mode: none}\n${settings}\n`);
}
function planned(settings: string, ...more: readonly string[]): PlanDocument {
  const ended = home.run('plan', 'rest.yaml', '--profile', profile(settings), '--json', ...more);
  expect(ended.exit).toBe(0);
  return JSON.parse(ended.out) as PlanDocument;
}
function denials({ requests }: PlanDocument): readonly string[] {
  return requests.flatMap(({ method, path, denied }) =>
    denied === undefined ? [] : [`${method} ${path} ${denied.code}`],
  );
}

describe('plan --profile', () => {
  it('marks nothing that the limits allow', () => expect(denials(planned(BTC))).toEqual([]));

  it.each([
    [
      'the tighter notional',
      `${BTC}\nlimits: {max_order_notional: 100}`,
      ['POST /orders NOTIONAL_EXCEEDS_MAX_PER_ORDER'],
    ],
    ['leverage', `${BTC}\nlimits: {max_leverage: 2}`, ['PUT /account/leverage LEVERAGE_EXCEEDS_MAX']],
    [
      'a halted account',
      `${BTC}\nlimits: {mode: halted}`,
      ['PUT /account/leverage TRADING_HALTED', 'POST /orders TRADING_HALTED', 'PUT /orders TRADING_HALTED'],
    ],
    [
      'another market',
      `${BTC.replace('BTC', 'ETH')}`,
      ['POST /orders MARKET_RULES_UNKNOWN', 'PUT /orders MARKET_RULES_UNKNOWN'],
    ],
    ['a price off the tick', BTC.replace('"2"', '"7"'), ['POST /orders PRICE_OFF_TICK', 'PUT /orders PRICE_OFF_TICK']],
    // The first write of the run uses the limit up; any later write would exceed it.
    ['a count', `${BTC}\nlimits: {max_writes: 2}`, ['PUT /orders WRITES_EXCEED_MAX']],
  ])('marks what %s would deny', (_name, settings, expected) => {
    expect(denials(planned(settings))).toEqual(expect.arrayContaining(expected));
    expect(denials(planned(settings)).length).toBeGreaterThanOrEqual(expected.length);
  });

  it('makes no statement about values known only at run time, such as a position after an order', () => {
    // The entry reaches the limit exactly. Whether the slightly larger amend adds to a fill is not known.
    expect(denials(planned(`${BTC}\nlimits: {max_market_notional: 16000}`))).toEqual([]);
    expect(denials(planned(`${BTC}\nlimits: {max_market_notional: 15999}`))).toContain(
      'POST /orders NOTIONAL_EXCEEDS_MAX_PER_MARKET',
    );
  });

  it('applies the tighter limit, and counts the denials at the end', () => {
    const name = profile(`${BTC}\nlimits: {max_order_notional: 100}`);
    const { out, exit } = home.run('plan', 'rest.yaml', '--profile', name);
    expect(exit).toBe(0);
    expect(out).toContain('notional 16000/100');
    expect(out).toMatch(/would be denied: NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=16000, max=100[;\n]/);
    expect(out).toMatch(/\n2 requests would be denied\n\nplan hash [0-9a-f]{64}\n$/);
  });

  it('has a different hash under different limits, even where none denies', () => {
    const hash = (limits: string) => planned(`${BTC}\nlimits: {${limits}}`).hash;
    expect(hash('max_open_orders: 5')).toBe(hash('max_open_orders: 5'));
    expect(hash('max_open_orders: 5')).not.toBe(hash('max_open_orders: 6'));
  });

  it('warns about a profile without markets, and denies nothing for it', () => {
    const name = profile('capabilities: []');
    const { err, out } = home.run('plan', 'rest.yaml', '--profile', name);
    expect(err).toContain('warning: the profile names no markets, so prices and sizes are not checked');
    expect(out).not.toContain('would be denied');
    expect(home.run('plan', 'rest.yaml', '--profile', profile(BTC)).err).not.toContain('names no markets');
  });
});

describe('the deadman switch in a plan', () => {
  const requests = (steps: string) => {
    home.write(
      'switch.yaml',
      `runbook: switch
dsl: 1
inputs: {go: {type: boolean, default: true}}
deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}
steps:
  - id: account
    read_account: {}
${steps}`,
    );
    const ended = home.run('plan', 'switch.yaml', '--json');
    expect(ended.err + ended.exit).toMatch(/0$/);
    const { requests: listed } = JSON.parse(ended.out) as {
      requests: { method: string; path: string; when?: string; times?: string }[];
    };
    // Without the reads that confirm an order, and the heartbeats while it rests.
    const isOfStep = ({ path, when = '', method }: (typeof listed)[number]) =>
      !(method === 'GET' && path.startsWith('/orders')) && path !== '/fills/order' && !when.endsWith('orders rest');
    return listed
      .filter(isOfStep)
      .map(({ method, path, when, times }) => [`${method} ${path}`, when ?? times ?? ''].join(' ').trim());
  };
  const PLACE = 'place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 40000}\n    allow: reduce\n';

  it('is armed right before the first order, once', () => {
    expect(requests(`  - ${PLACE}  - ${PLACE}`)).toEqual([
      'GET /account',
      'POST /cancel_all_after',
      'POST /orders',
      'POST /orders',
      'DELETE /cancel_all_after',
      'GET /cancel_all_after',
    ]);
  });

  it('is armed under the condition of the first order, and again where that may have been false', () => {
    const only = 'account.health > 0.5';
    expect(requests(`  - if: ${only}\n    ${PLACE}  - ${PLACE}`)).toEqual([
      'GET /account',
      `POST /cancel_all_after ${only}`,
      `POST /orders ${only}`,
      'POST /cancel_all_after it is not armed yet',
      'POST /orders',
      'DELETE /cancel_all_after',
      'GET /cancel_all_after',
    ]);
  });

  it('is armed once, not in every round of a loop', () => {
    expect(
      requests(`  - repeat: {every: 10s, max: 3, do: [{${PLACE.replace('\n    allow', ', allow').trim()}}]}\n`),
    ).toEqual([
      'GET /account',
      'POST /cancel_all_after',
      'POST /orders every 10s, at most 3 times',
      'DELETE /cancel_all_after',
      'GET /cancel_all_after',
    ]);
  });
});
