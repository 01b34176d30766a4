import { describe, expect, it } from 'vitest';
import type { CaseVerdict } from '../../src/app/testing/verdict.ts';
import { PATIENT, patient, testing } from './testing-bench.ts';

/** Failures of the case with these lines; empty where it passes. */
async function failures(lines: string, more: Readonly<Record<string, string>> = {}): Promise<CaseVerdict['failures']> {
  const indented = lines
    .trim()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
  const { files, err } = await testing(patient(`  - name: the case\n${indented}\n`, more));
  const [verdict] = files[0]?.cases ?? [];
  if (verdict === undefined) throw new Error(err);
  return verdict.failures;
}

describe('venue rules', () => {
  it('answer by parameters, decimals by value, in sequence, counting every matching request', async () => {
    expect(
      await failures(`
inputs: {price: "60000"}
venue:
  - {on: POST /orders limit, match: {price: 60000.0, size: "0.0100"}, reply: {id: BTC-USD@77}}
  - {on: GET /orders, match: {order_id: BTC-USD@77}, call: 2, reply: {status: open, total_filled_size: 0.004}}
  - {on: GET /orders, match: {order_id: BTC-USD@77}, call: 4+, reply: {status: closed}}
expect:
  outcome: succeeded
  orders: [{order_id: BTC-USD@77, state: closed, filled: "0.010", average_price: 60000}]
  at_least: {GET /orders: 4}
  outputs: {filled: 0.01}
  notified: [{to: desk, text: filled 0.01}]
`),
    ).toEqual([]);
  });

  it('complete missing fields from the request, and keep an order open until they change it', async () => {
    expect(
      await failures(`
venue:
  - {on: POST /orders, reply: {}}
expect:
  outcome: stopped
  reason: expired
  orders: [{side: long, size: 0.01, price: 60000, state: canceled, filled: 0}]
  requests: [POST /orders limit, DELETE /orders]
`),
    ).toEqual([]);
  });

  it('define an order of the simulated venue from the first reading they answer', async () => {
    expect(
      await failures(`
venue:
  - {on: GET /orders, call: 3, reply: {status: closed, total_filled_size: "0.01"}}
expect: {outcome: succeeded, orders: [{state: closed, filled: 0.01, price: 60000}]}
`),
    ).toEqual([]);
  });

  it('book a repeated fill once, and two fills as two', async () => {
    expect(
      await failures(`
venue:
  - {on: POST /orders, reply: {}}
  - {on: GET /orders, call: 3+, reply: {status: closed}}
  - {on: GET /fills/order, reply: [{price: 59990, size: 0.004}, {price: 60000, size: 0.006}]}
expect: {outcome: succeeded, orders: [{filled: 0.01, average_price: 59996}]}
`),
    ).toEqual([]);
  });

  it('are consulted for each order when several are polled in one listing', async () => {
    const two = `runbook: two
dsl: 1
leaves: {position: open, because: the case is about something else}
inputs: {prices: {type: list<price>, default: [60000, 61000]}}
steps:
  - parallel:
      each: n
      in: inputs.prices
      max: 2
      on_fail: let_others_finish
      do:
        - id: order
          place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: n}
        - wait_for: {order: order, is: filled, within: 1m}
`;
    const { files, err } = await testing({
      'two.yaml': two,
      'two.test.yaml': `tests: two
cases:
  - name: both
    venue:
      - {on: POST /orders, match: {price: 60000}, reply: {id: BTC-USD@1}}
      - {on: POST /orders, match: {price: 61000}, reply: {id: BTC-USD@2}}
      - {on: GET /orders, match: {order_id: BTC-USD@1}, call: 3+, reply: {status: closed}}
      - {on: GET /orders, match: {order_id: BTC-USD@2}, call: 4+, reply: {status: closed}}
    expect: {outcome: succeeded, orders: [{order_id: BTC-USD@1, state: closed}, {order_id: BTC-USD@2, state: closed}]}
`,
    });
    expect([files[0]?.cases[0]?.failures, err]).toEqual([[], expect.not.stringContaining(' error ')]);
  });

  it.each([
    [
      'a status and headers',
      '{on: POST /orders, call: 1, http: 429, headers: {X-RateLimit-Retry-After: "3"}}',
      'outcome: stopped, requests_exactly: {POST /orders limit: 2}, elapsed: ">= 33s"',
    ],
    [
      'a refusal',
      '{on: POST /orders, error: INSUFFICIENT_MARGIN}',
      'outcome: failed, error: {kind: rejected, message: INSUFFICIENT_MARGIN}',
    ],
    [
      'an answer that is lost, of a request that is carried out',
      '{on: POST /orders, lost: after}',
      'outcome: stopped, requests_exactly: {POST /orders: 1}, orders: [{state: canceled}]',
    ],
    [
      'a request that is lost',
      '{on: POST /orders, lost: before}',
      'outcome: failed, requests_exactly: {POST /orders: 1}, error: {kind: not_placed}',
    ],
    [
      'an answer later than anybody waits',
      '{on: POST /orders, delay: 20s}',
      'outcome: stopped, requests_exactly: {POST /orders: 1}, elapsed: ">= 40s"',
    ],
    [
      'a body cut off',
      '{on: POST /orders, malformed: true}',
      'outcome: stopped, requests_exactly: {POST /orders: 1}, orders: [{state: canceled}]',
    ],
    [
      'another body',
      '{on: POST /orders, malformed: "<html>"}',
      'outcome: stopped, requests_exactly: {POST /orders: 1}',
    ],
    ['a server in trouble', '{on: POST /orders, http: 503}', 'outcome: failed, requests_exactly: {POST /orders: 1}'],
    [
      'an acknowledgement of a rejected order',
      '{on: POST /orders, reply: {status: rejected}}',
      'outcome: failed, error: {kind: rejected}, orders: [{state: rejected}]',
    ],
  ])('can give %s', async (_what, rule, expected) => {
    expect(await failures(`venue: [${rule}]\nexpect: {${expected}}`)).toEqual([]);
  });

  it('fail a case with venue_default: none, and name the unanswered request', async () => {
    const [failure, ...others] = await failures(`
venue_default: none
venue:
  - {on: POST /orders, reply: {id: BTC-USD@5}}
  - {on: GET /fills/order, reply: []}
expect: {outcome: stopped}
`);
    // What was placed by a rule is read from the script; only orders without a rule are missing.
    expect([failure, others]).toEqual([undefined, []]);
    const [missed] = await failures('venue_default: none\nexpect: {outcome: stopped}');
    expect(missed).toMatchObject({ expectation: 'run', line: 3 });
    expect(missed?.found).toMatch(/^no rule answers request 1: POST \/orders \{"market_id":"BTC-USD","price":"60000",/);
  });
});

describe('the surroundings of a case', () => {
  const READER = `runbook: reader
dsl: 1
leaves: {position: open, because: the case is about something else}
inputs: {patience: {type: duration, default: 1s}}
feeds: {mid: {type: price, max_age: 2s}}
limits: {markets: [BTC-USD]}
steps:
  - id: before
    read_account: {}
  - set_leverage: {market: BTC-USD, leverage: 3}
  - id: after
    read_account: {}
  - id: tier
    read_tier: {}
  - wait: inputs.patience
  - id: price
    let: {seen: feeds.mid}
  - id: go
    approve: {ask: "go?", by: [risk], within: 10m, on_timeout: reject}
outputs:
  equity: before.account_equity
  leverage: after.leverage["BTC-USD"]
  eth: after.leverage["ETH-USD"]
  title: \${tier.tier_status.current.title}
  seen: seen
`;
  const READ = { 'reader.yaml': READER };
  const read = async (lines: string) => {
    const { files, err } = await testing({
      ...READ,
      'reader.test.yaml': `tests: reader\ncases:\n  - name: a\n${lines
        .trim()
        .split('\n')
        .map((line) => `    ${line}`)
        .join('\n')}\n`,
    });
    if (files[0]?.cases[0] === undefined) throw new Error(err);
    return files[0].cases[0].failures;
  };

  it('replace fields of the simulated account; leverage set by the run wins', async () => {
    expect(
      await read(`
account: {account_equity: 12345.678, leverage: {BTC-USD: 9, ETH-USD: 7}}
venue: [{on: GET /profile, reply: {tier_status: {current: {tier: 2, title: Whale, min_volume: "1"}, next: {tier: 3, title: Kraken, min_volume: "2"}, needed_volume: "1"}}}]
feeds: {mid: [{value: 100}, {after: 1s, value: 200.5}]}
approvals: {go: {answer: approve, after: 2m}}
expect: {outcome: succeeded, outputs: {equity: "12345.678", leverage: 3, eth: 7, title: Whale, seen: 200.5}, elapsed: ">= 2m1s, < 2m10s"}
`),
    ).toEqual([]);
  });

  it('can make a feed too old, unreadable, or different by market', async () => {
    for (const feed of ['[{value: 100, age: 3s}]', '[{value: 100}, {after: 500ms, value: null}]', '{ETH-USD: 100}'])
      expect(await read(`feeds: {mid: ${feed}}\nexpect: {outcome: failed, error: {kind: stale_feed}}`)).toEqual([]);
    expect(
      await read(
        'feeds: {mid: {BTC-USD: 7}}\napprovals: {"*": approve}\nexpect: {outcome: succeeded, outputs: {seen: 7}}',
      ),
    ).toEqual([]);
  });

  it('can reject an approval, or leave it unanswered', async () => {
    expect(
      await read(
        'approvals: {go: reject}\nexpect: {outcome: failed, error: {kind: approval_rejected, message: rejected by test, step: go}}',
      ),
    ).toEqual([]);
    expect(await read('expect: {outcome: failed, error: {kind: approval_rejected}, elapsed: ">= 10m"}')).toEqual([]);
  });
});

describe('orders of a script and the deadman switch of the simulated venue', () => {
  const GUARDED = `${PATIENT.replace('runbook: patient', 'runbook: guarded')}deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}\n`;

  it('keep it from firing while they are in use, and are cancelled when it fires', async () => {
    const { files } = await testing({
      'guarded.yaml': GUARDED,
      'guarded.test.yaml': `tests: guarded
cases:
  - name: long patience
    inputs: {patience: 5m}
    venue: [{on: POST /orders, reply: {}}]
    expect: {outcome: stopped, deadman: [armed, disarmed], requests: [POST /orders, DELETE /orders], at_least: {POST /cancel_all_after: 40}}
  - name: renewed once or more
    inputs: {patience: 5m}
    expect: {deadman: [armed, renewed*, disarmed]}
  - name: no process for longer than the switch waits
    inputs: {patience: 5m}
    venue: [{on: POST /orders, reply: {id: BTC-USD@3}}]
    crash_at: {before: GET /orders, call: 4, down: 1m}
    expect: {orders: [{order_id: BTC-USD@3, state: canceled}], deadman: [armed, assumed_fired, disarmed], never: [DELETE /orders], error: {kind: deadman_fired}}
`,
    });
    expect(files[0]?.cases.map(({ name, failures: found }) => [name, found])).toEqual([
      ['long patience', []],
      ['renewed once or more', []],
      ['no process for longer than the switch waits', []],
    ]);
  });
});
