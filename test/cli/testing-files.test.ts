import { describe, expect, it } from 'vitest';
import { readTestFile } from '../../src/app/testing/file/test-file.ts';
import { placeDiagnostic } from '../../src/base/diagnostic.ts';
import { PATIENT, patient, testing } from './testing-bench.ts';

const unread = (path: string): never => {
  throw new Error(`the account ${path} cannot be read: there is no such file or directory`);
};

/** Code, line and column of every error in a test file. */
function faults(text: string) {
  const { file, diagnostics } = readTestFile({ file: 'x.test.yaml', text }, unread);
  expect(file === undefined).toBe(diagnostics.length > 0);
  return diagnostics.map(placeDiagnostic).map(({ code, line, column, hint = '' }) => ({ code, line, column, hint }));
}

/** The errors of one case, which starts at line 4. */
function caseFaults(lines: string) {
  const indented = lines
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
  return faults(`tests: x\ncases:\n  - name: a\n${indented}\n    expect: {outcome: succeeded}\n`);
}

describe('a test file', () => {
  it('is read with its defaults merged into each case', () => {
    const { file, diagnostics } = readTestFile(
      {
        file: 'x.test.yaml',
        text: `tests: x
defaults:
  clock: 2026-01-05T08:00:00Z
  seed: 3
  inputs: {a: 1, b: [BTC-USD]}
  account: {balance: 100}
  venue:
    - {on: GET /profile, http: 500}
  expect: {outcome: succeeded, tokens: <= 400}
cases:
  - name: one
    inputs: {a: 2.50}
    account: {health: "1"}
    venue:
      - {on: POST /orders stop_loss, match: {price: 64000}, call: 3+, lost: after, delay: 1s500ms, reply: {id: BTC-USD@4}}
    crash_at: [{after: POST /orders, answer: kept, call: 2}, {before: GET /account, down: 1m}]
    feeds: {mid: 3200, mark: {BTC-USD: [{after: 5s, value: 2}, {value: 1, age: 3s}]}}
    approvals: {go: approve}
    expect: {outcome: failed, requests: [POST /orders limit x3]}
`,
      },
      unread,
    );
    expect(diagnostics).toEqual([]);
    const [test] = file?.cases ?? [];
    expect(test).toMatchObject({
      name: 'one',
      clock: Date.UTC(2026, 0, 5, 8),
      seed: 3,
      inputs: { a: { text: '2.50' }, b: { text: '["BTC-USD"]' } },
      account: { balance: '100', health: '1' },
      simulator: { account: { equity: '100' } },
      rules: [
        {
          on: { endpoint: 'POST /orders', type: 'stop_loss' },
          match: { price: '64000' },
          call: { first: 3, last: Number.POSITIVE_INFINITY },
          lost: 'after',
          delayMs: 1500,
          reply: { kind: 'records', records: [{ id: 'BTC-USD@4' }] },
        },
        { on: { endpoint: 'GET /profile' }, http: 500 },
      ],
      crashes: [
        { when: 'after', on: { endpoint: 'POST /orders' }, call: 2, answer: 'kept', downMs: 1000 },
        { when: 'before', on: { endpoint: 'GET /account' }, call: 1, downMs: 60_000 },
      ],
      feeds: {
        mid: { kind: 'points', points: [{ afterMs: 0, value: '3200', ageMs: 0 }] },
        mark: {
          kind: 'markets',
          markets: {
            'BTC-USD': [
              { afterMs: 0, value: '1', ageMs: 3000 },
              { afterMs: 5000, value: '2', ageMs: 0 },
            ],
          },
        },
      },
      approvals: { go: { answer: 'approve', afterMs: 1000 } },
      expect: {
        outcome: { value: 'failed' },
        tokens: { value: [{ operator: '<=', value: 400 }] },
        requests: {
          value: [{ pattern: { endpoint: 'POST /orders', type: 'limit' }, times: 3, text: 'POST /orders limit' }],
        },
      },
    });
  });

  it.each([
    [
      'a price without quotes',
      'simulator: {markets: {BTC-USD: {start: 64000}}}',
      { code: 'wrong-type', line: 4, column: 44, hint: 'Put it in quotes: "64000".' },
    ],
    ['an answer of another language', 'approvals: {a: yes}', { code: 'unknown-word', hint: 'Did you mean approve?' }],
    ['an unknown key', 'venu: []', { code: 'unknown-key', line: 4, column: 5, hint: 'Did you mean venue?' }],
    [
      'an unknown request',
      'venue:\n  - {on: POST /order}',
      { code: 'unknown-word', line: 5, column: 14, hint: 'Did you mean POST /orders?' },
    ],
    [
      'a parameter the endpoint does not have',
      'venue:\n  - {on: GET /orders, match: {orderid: x}}',
      { code: 'unknown-key', line: 5, column: 35, hint: 'Did you mean order_id?' },
    ],
    [
      'an order type that no order has',
      'venue:\n  - {on: POST /orders, match: {type: limt}, error: NOPE}',
      { code: 'unknown-word', line: 5, column: 42, hint: 'Did you mean limit?' },
    ],
    [
      'the side of another venue',
      'venue:\n  - {on: POST /orders, match: {side: buy}, error: NOPE}',
      { code: 'unknown-word', line: 5, column: 42, hint: 'Did you mean long?' },
    ],
    [
      'the time in force of another venue',
      'venue:\n  - {on: POST /orders, match: {time_in_force: gtc}, error: NOPE}',
      { code: 'unknown-word', line: 5, column: 51, hint: 'Did you mean good_till_cancel?' },
    ],
    [
      'a field the record does not have',
      'venue:\n  - {on: GET /orders, reply: {state: open}}',
      { code: 'unknown-key', line: 5, column: 35 },
    ],
    [
      'a value the field cannot have',
      'venue:\n  - {on: GET /orders, reply: {side: buy}}',
      { code: 'wrong-type', line: 5, column: 35 },
    ],
    [
      'a decimal that is none',
      'venue:\n  - {on: GET /orders, reply: {price: cheap}}',
      { code: 'wrong-type', line: 5, column: 35 },
    ],
    [
      'two records where one is answered',
      'venue:\n  - {on: POST /cancel_all_after, reply: [{}, {}]}',
      { code: 'wrong-type', line: 5, column: 45 },
    ],
    [
      'a reply that never arrives',
      'venue:\n  - {on: GET /orders, lost: before, reply: []}',
      { code: 'conflicting-keys', line: 5, column: 41 },
    ],
    [
      'a reply beside a refusal',
      'venue:\n  - {on: GET /orders, error: NO, reply: []}',
      { code: 'conflicting-keys', line: 5, column: 27 },
    ],
    [
      'a duration that is none',
      'venue:\n  - {on: GET /orders, delay: soon}',
      { code: 'invalid-text', line: 5, column: 34 },
    ],
    [
      'a call that is no range',
      'venue:\n  - {on: GET /orders, call: 1..2}',
      { code: 'invalid-text', line: 5, column: 33 },
    ],
    [
      'a range that ends before it begins',
      'venue:\n  - {on: GET /orders, call: 3-2}',
      { code: 'out-of-range', line: 5, column: 33 },
    ],
    ['a time without offset', 'clock: 2026-01-05T08:00:00', { code: 'invalid-text', line: 4, column: 12 }],
    ['a feed that is no number', 'feeds: {mid: high}', { code: 'invalid-text', line: 4, column: 18 }],
    [
      'a crash both before and after',
      'crash_at: {before: GET /account, after: GET /account}',
      { code: 'conflicting-keys', line: 4, column: 15 },
    ],
    ['an approval that is neither', 'approvals: {go: yes please}', { code: 'unknown-word', line: 4, column: 21 }],
    [
      'a simulated market without a start',
      'simulator: {markets: {AB-USD: {tick: "1", lot: "1"}}}',
      { code: 'schema-violation', line: 4, column: 27 },
    ],
    [
      'a misspelt move of a price, and not for what is left of it',
      'simulator: {markets: {BTC-USD: {start: "60000", price: [{hodl: 9s}]}}}',
      { code: 'unknown-key', line: 4, column: 62, hint: 'Did you mean hold?' },
    ],
    [
      'a misspelt request of a crash, and not for what is left of it',
      'crash_at: {after: POST /orders limt}',
      { code: 'unknown-word', line: 4, column: 23, hint: 'Did you mean POST /orders limit?' },
    ],
    [
      'a price that is none',
      'simulator: {markets: {BTC-USD: {price: sixty}}}',
      { code: 'invalid-text', line: 4, column: 44 },
    ],
    [
      'a status that the document does not name',
      'venue:\n  - {on: POST /orders, reply: {status: procesing}}',
      { code: 'unknown-word', line: 5, column: 44, hint: 'Did you mean processing?' },
    ],
    ['an account in a file that is not there', 'account: nowhere.json', { code: 'invalid-text', line: 4, column: 14 }],
  ])('has a place for %s', (_what, lines, fault) => {
    expect(caseFaults(lines)).toMatchObject([fault]);
  });

  it.each([
    ['a word of another tool', 'outcome: success', { code: 'unknown-word', hint: 'Did you mean succeeded?' }],
    ['a kind of error', 'error: {kind: reject}', { code: 'unknown-word', column: 28, hint: 'Did you mean rejected?' }],
    ['an outcome', 'outcome: succeded', { code: 'unknown-word', column: 23, hint: 'Did you mean succeeded?' }],
    [
      'a request',
      'requests: [POST /orders limt]',
      { code: 'unknown-word', column: 25, hint: 'Did you mean POST /orders limit?' },
    ],
    ['an event of the switch', 'deadman: [armd]', { code: 'unknown-word', column: 24, hint: 'Did you mean armed?' }],
    ['a map of markets', 'position: 0', { code: 'wrong-type', column: 24 }],
    ['a list of texts', 'notified: hello', { code: 'wrong-type', column: 24 }],
    ['a duration without a unit', 'elapsed: 5', { code: 'wrong-type', column: 23, hint: 'Write it with a unit: 5s.' }],
    ['a duration', 'elapsed: "> soon"', { code: 'invalid-text', column: 14 }],
    ['a count', 'tokens: "<= many"', { code: 'invalid-text', column: 14 }],
    ['a field of an order', 'orders: [{sise: 1}]', { code: 'unknown-key', column: 24, hint: 'Did you mean side?' }],
  ])('has a place for what is wrong with %s that is expected', (_what, expectation, fault) => {
    expect(faults(`tests: x\ncases:\n  - name: a\n    expect: {${expectation}}\n`)).toMatchObject([
      { line: 4, ...fault },
    ]);
  });

  it('must expect something of each case, with distinct names', () => {
    expect(faults('tests: x\ncases:\n  - name: a\n  - {name: a, expect: {outcome: failed}}\n')).toMatchObject([
      { code: 'missing-key', line: 3, column: 5 },
      { code: 'name-taken', line: 4, column: 12 },
    ]);
    expect(faults('tests: x\ncases: []\n')).toMatchObject([{ code: 'missing-key', line: 2 }]);
    expect(faults('tests: ../x\ncases: [{name: a, expect: {outcome: failed}}]\n')).toMatchObject([
      { code: 'invalid-text', line: 1, column: 8 },
    ]);
  });

  it('reports errors in the defaults once', () => {
    const cases = '  - {name: a}\n  - {name: b}\n';
    expect(faults(`tests: x\ndefaults: {clock: now, expect: {outcome: failed}}\ncases:\n${cases}`)).toMatchObject([
      { code: 'invalid-text', line: 2, column: 19 },
    ]);
  });

  it('merges fields into an account from a file', () => {
    const record = '{"success": true, "error": "", "result": [{"balance": "5", "health": "0.5"}]}';
    const text =
      'tests: x\ndefaults: {account: a.json}\ncases: [{name: a, account: {balance: 7}, expect: {tokens: 1}}]\n';
    const { file } = readTestFile({ file: 'x.test.yaml', text }, (path) => ({ file: path, text: record }));
    expect(file?.cases[0]?.account).toEqual({ balance: '7', health: '0.5' });
    const odd = readTestFile({ file: 'x.test.yaml', text }, (path) => ({ file: path, text: '{"balanse": "5"}' }));
    expect(odd.diagnostics.map(placeDiagnostic)).toMatchObject([
      { code: 'unknown-key', file: 'a.json', line: 1, column: 2 },
    ]);
  });

  it('requires whole records with replies: strict, and accepts anything with replies: off', () => {
    const reply = 'venue:\n  - {on: DELETE /orders, reply: {id: BTC-USD@1, status: gone}}';
    expect(caseFaults(`replies: strict\n${reply}`)).toMatchObject([{ code: 'missing-key', line: 6, column: 37 }]);
    const whole = reply.replace('status', 'market_id: BTC-USD, profile_id: 1, status');
    expect(caseFaults(`replies: strict\n${whole}`)).toMatchObject([{ code: 'unknown-word', line: 6 }]);
    expect(caseFaults(`replies: present\n${whole}`)).toMatchObject([{ code: 'unknown-word', line: 6 }]);
    expect(caseFaults(`replies: present\n${whole.replace('gone', 'canceling')}`)).toEqual([]);
    expect(caseFaults(`replies: off\n${whole}`)).toEqual([]);
    expect(caseFaults('replies: off\nvenue:\n  - {on: DELETE /orders, reply: {nonsense: [1, null]}}')).toEqual([]);
  });
});

describe('a test file against its runbook', () => {
  it('exits 2, with diagnostics, for names the runbook does not have', async () => {
    const tested = await testing(
      patient(`  - name: a
    inputs: {prise: 1, patience: soon}
    expect: {steps: [ordr], outputs: {filed: 1}}
`),
    );
    expect(tested.exit).toBe(2);
    expect(
      tested.files[0]?.diagnostics?.map(({ code, line, column, hint }) => ({ code, line, column, hint })),
    ).toMatchObject([
      { code: 'unknown-input', line: 4, column: 14, hint: 'Did you mean price?' },
      { code: 'invalid-text', line: 4, column: 24 },
      { code: 'unknown-step', line: 5, column: 14, hint: 'Did you mean order?' },
      { code: 'unknown-key', line: 5, column: 39, hint: 'Did you mean filled?' },
    ]);
    expect(tested.err).toContain('patient.test.yaml:4:14 error');
  });

  it('exits 2 for feeds, questions and markets the runbook does not have, which no run would ever meet', async () => {
    const tested = await testing({
      'asks.yaml': `runbook: asks
dsl: 1
feeds: {mid: {type: price, max_age: 5s}}
limits: {markets: [BTC-USD]}
leaves: {position: open, because: the case is about something else}
steps:
  - id: ok
    approve: {ask: go on?, by: [ops], within: 1m}
  - assert: feeds.mid > 1
  - id: order
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000}
    undo: cancel
`,
      'asks.test.yaml': `tests: asks
defaults: {feeds: {mdi: 64000, mid: 64000}}
cases:
  - name: a
    approvals: {okk: approve, ok: approve, "*": reject, steps/ok: reject}
    expect: {position: {BTC-USD: 0, BTCUSD: 0, ETH-USD: 0}}
  - name: b
    expect: {position: {BTC-USD: "< 1"}}
`,
    });
    expect(tested.exit).toBe(2);
    expect(
      tested.files[0]?.diagnostics?.map(({ code, line, column, hint }) => ({ code, line, column, hint })),
    ).toMatchObject([
      { code: 'unknown-key', line: 2, column: 20, hint: 'Did you mean mid?' },
      { code: 'unknown-step', line: 5, column: 17, hint: 'Did you mean ok?' },
      { code: 'unknown-key', line: 6, column: 37, hint: 'Did you mean BTC-USD?' },
      { code: 'unknown-key', line: 6, column: 48, hint: 'Did you mean BTC-USD?' },
    ]);
  });

  it('takes every market of the venue where only the run knows in which it trades', async () => {
    const tested = await testing({
      'any.yaml': `runbook: any
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: book
    list_orders: {status: open}
  - for_each:
      each: o
      in: book.orders
      do:
        - place: {type: limit, market: "\${o.market_id}", side: long, size: 0.01, price: 60000}
`,
      'any.test.yaml': 'tests: any\ncases: [{name: a, expect: {position: {ETH-USD: 0, XYZ-USD: 0}}}]\n',
    });
    expect(tested.files[0]?.diagnostics?.map(({ line, column }) => [line, column])).toEqual([[2, 51]]);
  });

  it('takes a market of `defaults` that another case trades', async () => {
    const tested = await testing({
      'where.yaml': PATIENT.replace('runbook: patient', 'runbook: where')
        .replace('inputs:\n', 'inputs:\n  market: {type: market, default: BTC-USD}\n')
        .replace('market: BTC-USD, side', 'market: "${inputs.market}", side'),
      'where.test.yaml': `tests: where
defaults: {expect: {position: {BTC-USD: 0, ETH-USD: 0}}}
cases: [{name: a}, {name: b, inputs: {market: ETH-USD, price: 3000}}]
`,
    });
    expect([tested.exit, tested.passed]).toEqual([0, 2]);
  });

  it('exits 2 where there is no such runbook', async () => {
    const tested = await testing({ 'x.test.yaml': 'tests: nowhere\ncases: [{name: a, expect: {outcome: failed}}]\n' });
    expect(tested.exit).toBe(2);
    expect(tested.files[0]?.diagnostics).toMatchObject([{ code: 'unknown-runbook', line: 1, column: 1 }]);
  });
});
