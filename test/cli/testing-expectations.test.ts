import { describe, expect, it } from 'vitest';
import { PATIENT, patient, testing } from './testing-bench.ts';

/** The single failure of an expectation, for a run that fills at once. */
async function failing(expectation: string) {
  const { files, err } = await testing(
    patient(`  - name: a\n    inputs: {price: 65000}\n    expect: {${expectation}}\n`),
  );
  const found = files[0]?.cases[0]?.failures;
  if (found === undefined) throw new Error(err);
  return found.map(({ expectation: key, expected, found: was, line, column }) => ({
    key,
    expected,
    was,
    line,
    column,
  }));
}

describe('an expectation that does not hold', () => {
  it.each([
    ['outcome: failed', { key: 'outcome', expected: 'failed', was: 'succeeded', column: 14 }],
    ['reason: expired', { key: 'reason', expected: 'expired', was: 'no reason; succeeded' }],
    ['error: {kind: rejected}', { key: 'error', expected: 'kind: rejected', was: 'no error; succeeded' }],
    ['steps: []', { key: 'steps', expected: 'none', was: 'order' }],
    ['steps: [order, order]', { key: 'steps', expected: 'order, order', was: 'order' }],
    [
      'requests: []',
      {
        key: 'requests',
        expected: 'none',
        was: 'POST /orders limit (from the 1st on: nothing more expected, POST /orders limit found)',
      },
    ],
    [
      'requests: [POST /orders limit, PUT /orders x2]',
      {
        key: 'requests',
        expected: 'POST /orders limit, PUT /orders x2',
        was: 'POST /orders limit (from the 2nd on: PUT /orders expected, nothing more found)',
      },
    ],
    [
      'requests: [POST /orders market]',
      {
        key: 'requests',
        expected: 'POST /orders market',
        was: 'POST /orders limit (from the 1st on: POST /orders market expected, POST /orders limit found)',
      },
    ],
    [
      'requests_exactly: {POST /orders: 2}',
      { key: 'requests_exactly', expected: 'POST /orders 2 times', was: 'once', column: 33 },
    ],
    [
      'requests_exactly: {POST /orders limit: 0}',
      { key: 'requests_exactly', expected: 'POST /orders limit never', was: 'once' },
    ],
    ['at_least: {GET /orders: 100}', { key: 'at_least', expected: 'GET /orders at least 100 times' }],
    ['never: [POST /orders limit]', { key: 'never', expected: 'no POST /orders limit' }],
    ['outputs: {filled: 0.02}', { key: 'outputs', expected: 'filled: 0.02', was: 'filled: 0.01' }],
    ['outputs: {filled: null}', { key: 'outputs', expected: 'filled: absent', was: 'filled: 0.01' }],
    ['orders: [{state: canceled}]', { key: 'orders', expected: 'state: canceled' }],
    ['orders: [{state: closed}, {state: closed}]', { key: 'orders', expected: 'state: closed' }],
    ['notified: [broken]', { key: 'notified', expected: 'broken', was: 'desk: filled 0.01' }],
    ['notified: [{to: ops, text: filled}]', { key: 'notified', expected: 'ops: filled', was: 'desk: filled 0.01' }],
    ['elapsed: ">= 1h"', { key: 'elapsed', expected: '>= 1h' }],
    ['tokens: 1', { key: 'tokens', expected: '1' }],
    ['deadman: [armed]', { key: 'deadman', expected: 'armed', was: 'none' }],
  ])('%s', async (expectation, failure) => {
    expect(await failing(expectation)).toMatchObject([{ line: 5, ...failure }]);
  });
});

describe('what is compared', () => {
  it('compares reads only where a list of requests names them', async () => {
    expect(await failing('requests: [POST /orders limit]')).toEqual([]);
    expect(await failing('requests: [POST /orders]')).toEqual([]);
    const [named] = await failing('requests: [POST /orders limit, GET /account]');
    expect(named?.was).toBe('POST /orders limit (from the 2nd on: GET /account expected, nothing more found)');
  });

  it('compares named outputs: maps in part, lists whole, decimals by value, the absent as null', async () => {
    const listing = `runbook: listing
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: all
    for_each: {each: k, in: range(2), do: [{id: t, read_tier: {}}], collect: {k: k}}
  - id: never
    if: size(all) == 5
    read_account: {}
outputs:
  rows: all
  first: all[0].k
  equity: never.account_equity
`;
    const tested = await testing({
      'listing.yaml': listing,
      'listing.test.yaml': `tests: listing
cases:
  - {name: holds, expect: {outputs: {rows: [{k: 0}, {k: "1.0"}], equity: null}, steps: [all, t*]}}
  - {name: shorter, expect: {outputs: {rows: [{k: 0}]}}}
  - {name: other, expect: {outputs: {rows: [{k: 0}, {k: 2}]}}}
`,
    });
    expect(tested.files[0]?.cases.map(({ failures }) => failures.map(({ found }) => found))).toEqual([
      [],
      ['rows: [{"k":"0"},{"k":"1"}]'],
      ['rows: [{"k":"0"},{"k":"1"}]'],
    ]);
  });

  it('shows of a position stop which part of the position it is for', async () => {
    const guarded = `runbook: guarded
dsl: 1
limits: {markets: [BTC-USD]}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
    await: filled
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 0.5, trigger: 60000, price: 59000}}
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}
`;
    const { files } = await testing({
      'guarded.yaml': guarded,
      'guarded.test.yaml': 'tests: guarded\ncases:\n  - {name: a, expect: {orders: [{type: stop_market}]}}\n',
    });
    const found = files[0]?.cases[0]?.failures.map((failure) => failure.found).join() ?? '';
    expect(found).toContain('market long 0.01 BTC-USD');
    expect(found).toContain('stop_loss short 0.5 of the position in BTC-USD at 59000');
  });

  it('lists failures in the order of the file', async () => {
    const { files } = await testing({
      'patient.yaml': PATIENT,
      'patient.test.yaml': `tests: patient
cases:
  - name: a
    expect:
      tokens: 1
      outcome: failed
`,
    });
    expect(files[0]?.cases[0]?.failures.map(({ expectation, line }) => [expectation, line])).toEqual([
      ['tokens', 5],
      ['outcome', 6],
    ]);
  });
});
