import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PATIENT, patient, testing } from './testing-bench.ts';

const shipped = (name: string) => readFileSync(new URL(`../../runbooks/${name}`, import.meta.url), 'utf8');

/** A test file with both kinds of case: scripted answers, and a process that dies. */
const BRACKET = `tests: bracket-entry
defaults: {clock: 2026-01-05T08:00:00Z, inputs: {side: long, size: 0.25, trigger: 64200}, account: recordings/acct-18k.json}
cases:
  - name: stop-loss refused twice, then accepted
    venue:
      - {on: POST /orders, match: {type: stop_limit}, reply: {status: processing, id: BTC-USD@11}}
      - {on: GET /orders, match: {order_id: BTC-USD@11}, call: 1-2, reply: [{status: open, total_filled_size: "0"}]}
      - {on: GET /orders, match: {order_id: BTC-USD@11}, call: 3+,  reply: [{status: closed, total_filled_size: "0.25", size: "0"}]}
      - {on: GET /fills/order, reply: [{price: "64201.5", size: "0.25"}]}
      - {on: POST /orders, match: {type: stop_loss}, call: 1-2, http: 429, headers: {X-RateLimit-Retry-After: "2"}}
    expect:
      outcome: succeeded
      steps: [before, entry, guard]                       # order of ids
      requests: [PUT /account/leverage, POST /orders stop_limit, POST /orders stop_loss, POST /orders stop_loss, POST /orders stop_loss, POST /orders take_profit]
      never: [DELETE /orders/cancel_all]
      outputs: {filled: "0.25", avg_price: "64201.5"}
      elapsed: ">= 4s"                                    # virtual clock
  - name: crash between send and answer
    crash_at: {after: POST /orders stop_limit, answer: lost}
    expect: {requests_exactly: {POST /orders stop_limit: 1}, outcome: succeeded}
`;
const ACCOUNT =
  '{"success":true,"error":"","result":[{"account_equity":"18000.5","balance":"18000.5","leverage":{"BTC-USD":"5"}}]}';

describe('a whole test file', () => {
  it('passes, with both its cases', async () => {
    const tested = await testing(
      {
        'bracket-entry.yaml': shipped('bracket-entry.yaml'),
        'bracket.test.yaml': BRACKET,
        'recordings/acct-18k.json': ACCOUNT,
      },
      { textToo: false },
    );
    expect(tested.files[0]?.cases.map(({ name, ok, failures }) => ({ name, ok, failures }))).toEqual([
      { name: 'stop-loss refused twice, then accepted', ok: true, failures: [] },
      { name: 'crash between send and answer', ok: true, failures: [] },
    ]);
    expect([tested.exit, tested.passed, tested.failed]).toEqual([0, 2, 0]);
  });
});

describe('the output of `runbook test`', () => {
  it('marks passing cases, and shows expectation, position, expected and found of failures', async () => {
    const tested = await testing(
      patient(`  - name: fills at once
    inputs: {price: 65000}
    expect: {outcome: succeeded}
  - name: never fills
    venue:
      - {on: PUT /orders, reply: {}}
    expect:
      outcome: succeeded
      outputs: {filled: "0.01"}
`),
    );
    expect(tested.exit).toBe(1);
    expect([tested.passed, tested.failed]).toEqual([1, 1]);
    const [first, second] = tested.files[0]?.cases ?? [];
    expect(first).toMatchObject({ name: 'fills at once', ok: true, line: 3, outcome: 'succeeded', failures: [] });
    expect(second).toMatchObject({ name: 'never fills', ok: false, line: 6, outcome: 'stopped', unusedRules: [8] });
    expect(second?.failures).toEqual([
      {
        expectation: 'outcome',
        expected: 'succeeded',
        found: 'stopped: expired',
        file: 'patient.test.yaml',
        line: 10,
        column: 7,
      },
      {
        expectation: 'outputs',
        expected: 'filled: 0.01',
        found: 'filled: 0',
        file: 'patient.test.yaml',
        line: 11,
        column: 17,
      },
    ]);
    const lines = tested.out.split('\n');
    expect(lines[0]).toBe('patient.test.yaml');
    expect(lines[1]).toMatch(/^ {2}✓ fills at once {2}succeeded after \d+ ms$/);
    expect(lines[2]).toMatch(/^ {2}✗ never fills {2}stopped after 33\.\d+ s$/);
    expect(lines.slice(3, 10)).toEqual([
      '      patient.test.yaml:10 outcome',
      '        expected  succeeded',
      '        found     stopped: expired',
      '      patient.test.yaml:11 outputs',
      '        expected  filled: 0.01',
      '        found     filled: 0',
      '      note: the rule in line 8 answered nothing',
    ]);
    expect(lines[10]).toMatch(/^1 failed, 1 passed in [\d.]+ m?s$/);
  });

  it('warns of rules that answered nothing in any case, and fails no case for them', async () => {
    const files = {
      'patient.yaml': PATIENT,
      'patient.test.yaml': `tests: patient
defaults:
  venue:
    - {on: PUT /orders, error: NO}
    - {on: DELETE /orders, match: {market_id: BTC-USD}, call: 9, error: NO}
    - {on: POST /orders, match: {price: 59000}, error: NO}
cases:
  - name: a
    venue: [{on: PUT /account/leverage, error: NO}, {on: POST /orders, delay: 1ms}]
    expect: {outcome: stopped}
  - name: b
    inputs: {price: 59000}
    expect: {outcome: failed}
  - name: c
    venue: [{on: POST /jwt, error: NO}]
    expect: {outcome: failed}
`,
    };
    const tested = await testing(files);
    expect(tested.files.map(({ ok, unusedRules }) => ({ ok, unusedRules }))).toEqual([
      { ok: false, unusedRules: [4, 5, 9, 15] },
    ]);
    expect(tested.out).toContain('note: the rules in line 15, 4, 5, 6 answered nothing');
    expect(tested.out).toContain('warning: the rule in line 9 answered nothing in any case');
    const passed = await testing({
      ...files,
      'patient.test.yaml': files['patient.test.yaml'].replace(/ {2}- name: c[\s\S]*/, ''),
    });
    expect([passed.exit, passed.files[0]?.unusedRules]).toEqual([0, [4, 5, 9]]);
  });

  it('prints nothing about passing cases with --quiet', async () => {
    const tested = await testing(
      patient('  - {name: fills at once, inputs: {price: 65000}, expect: {outcome: succeeded}}\n'),
      { quiet: true },
    );
    expect([tested.exit, tested.out]).toEqual([0, '']);
  });

  it('prints one document for several files and fails when one of them does', async () => {
    const tested = await testing({
      'patient.yaml': PATIENT,
      'a.test.yaml': 'tests: patient\ncases: [{name: a, expect: {outcome: stopped}}]\n',
      'b.test.yaml': 'tests: patient\ncases: [{name: b, expect: {outcome: failed}}]\n',
    });
    expect(tested.files.map(({ file, runbook, ok }) => ({ file, runbook, ok }))).toEqual([
      { file: 'a.test.yaml', runbook: 'patient', ok: true },
      { file: 'b.test.yaml', runbook: 'patient', ok: false },
    ]);
    expect(tested.exit).toBe(1);
  });

  it('fails a file whose runbook is invalid, and prints why', async () => {
    const tested = await testing({
      'broken.yaml': 'runbook: broken\ndsl: 1\nsteps: [{plaice: {}}]\n',
      'broken.test.yaml': 'tests: broken\ncases: [{name: a, expect: {outcome: failed}}]\n',
    });
    expect(tested.exit).toBe(1);
    expect(tested.files).toEqual([
      { file: 'broken.test.yaml', runbook: 'broken', ok: false, cases: [], error: 'broken.yaml is invalid: 1 error' },
    ]);
    expect(tested.err).toContain('broken.yaml:3:');
  });

  it('gives the same document for the same seed', async () => {
    const files = patient(
      '  - {name: walks, inputs: {price: 63990, patience: 10m}, seed: 7, expect: {outcome: succeeded}}\n',
    );
    const [one, two] = [await testing(files), await testing(files)];
    expect(two.files).toEqual(one.files);
  });

  it('executes many cases, each alone with its venue', async () => {
    const cases = Array.from(
      { length: 40 },
      (_, index) => `  - {name: case ${index}, seed: ${index}, expect: {outcome: stopped, elapsed: "> 30s, < 35s"}}\n`,
    );
    expect((await testing(patient(cases.join('')))).passed).toBe(40);
  });
});
