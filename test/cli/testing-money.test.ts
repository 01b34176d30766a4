/** Tests what a test file may expect of position and money, the JUnit report, and the cases of many threads. */
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import type { FileVerdict } from '../../src/app/testing/verdict.ts';
import { folder } from './command.ts';
import { testing } from './testing-bench.ts';

/** Buys at once and sells a minute later. */
const TURN = `runbook: turn
dsl: 1
inputs:
  back: {type: size, default: 0.01}
limits: {markets: [BTC-USD]}
leaves: {position: open, because: the case is about something else}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 70000}
    await: filled
  - wait: 1m
  - place: {type: limit, market: BTC-USD, side: short, size: inputs.back, price: 60000}
    await: filled
`;

/** The price rises by 1000 between the two orders; a maker pays nothing, a taker 0.0005. */
const DEFAULTS = `tests: turn
defaults:
  simulator:
    markets:
      BTC-USD:
        spreadBps: 0
        start: "64000"
        price: [{hold: 30s}, {jump: "65000"}]
`;

const judge = async (expectation: string, inputs = '') => {
  const { files, out, exit, err } = await testing({
    'turn.yaml': TURN,
    'turn.test.yaml': `${DEFAULTS}cases:\n  - {name: a, ${inputs}expect: {${expectation}}}\n`,
  });
  const [found] = files[0]?.cases ?? [];
  return {
    exit,
    out,
    err,
    money: found?.money,
    failures: found?.failures.map(({ expectation: key, expected, found: was }) => [key, expected, was]),
  };
};

describe('expectations of position and money', () => {
  it('hold for the fills of the run, and are printed', async () => {
    const { exit, out, money, failures } = await judge(
      'position: {BTC-USD: "= 0"}, realized: "> 9, < 10", fees: "0.645", net: ">= 9.3", unrealized: 0',
    );
    expect([exit, failures]).toEqual([EXIT.done, []]);
    // Bought at 64001, sold at 64999, a fee of 0.0005 each.
    expect(money).toEqual({
      position: { 'BTC-USD': '0' },
      realized: '9.98',
      unrealized: '0',
      fees: '0.645',
      net: '9.335',
    });
    expect(out).toContain('position BTC-USD 0, realized 9.98, unrealized 0.00, fees 0.65, net 9.34');
  });

  it.each([
    ['position: {BTC-USD: 0}', ['position', 'BTC-USD: 0', 'BTC-USD: 0.006']],
    ['position: {BTC-USD: "> 0.005, < 0.006"}', ['position', 'BTC-USD: > 0.005, < 0.006', 'BTC-USD: 0.006']],
    ['realized: "> 10"', ['realized', '> 10', '3.992']],
    ['fees: "<= 0.44"', ['fees', '<= 0.44', '0.450003']],
  ])('fail with what was found: %s', async (expectation, failure) => {
    const { exit, failures } = await judge(expectation, 'inputs: {back: 0.004}, ');
    expect([exit, failures?.[0]?.slice(0, 2), failures?.length]).toEqual([EXIT.failed, failure.slice(0, 2), 1]);
    expect(failures?.[0]?.[2]).toBe(failure[2]);
  });

  it.each(['realized: much', 'position: {BTC-USD: "> x"}', 'net: 1e3'])(
    'are refused when they are no numbers: %s',
    async (expectation) => {
      expect((await judge(expectation)).exit).toBe(EXIT.usage);
    },
  );
});

describe('the cases of a file', () => {
  const here = folder();
  here.write('turn.yaml', TURN);
  const cases = Array.from(
    { length: 12 },
    (_each, index) =>
      `  - {name: "case ${index} <&>", seed: ${index}, expect: {position: {BTC-USD: ${index % 4 === 3 ? 1 : 0}}}}\n`,
  ).join('');
  here.write('turn.test.yaml', `${DEFAULTS}cases:\n${cases}`);

  it('have the same verdicts on many threads as on one', async () => {
    const { exit, out } = here.run('test', 'turn.test.yaml', '--json');
    const threads: { files: readonly FileVerdict[]; passed: number; failed: number } = JSON.parse(out);
    const alone = await testing({ 'turn.yaml': TURN, 'turn.test.yaml': here.read('turn.test.yaml') });
    expect([exit, threads.passed, threads.failed]).toEqual([EXIT.failed, 9, 3]);
    expect(threads.files).toEqual(alone.files);
  });

  it('are a JUnit report with --format junit', () => {
    here.write('broken.test.yaml', 'tests: turn\ncases: [{name: a, expect: {outcom: failed}}]\n');
    const { exit, out } = here.run('test', 'turn.test.yaml', 'broken.test.yaml', '--format', 'junit');
    expect(exit).toBe(EXIT.usage);
    expect(out).toContain('<testsuites name="runbook test" tests="13" failures="3" errors="1"');
    expect(out.match(/<testcase /g)).toHaveLength(13);
    expect(
      out.match(/<failure message="turn\.test\.yaml:\d+ position: expected BTC-USD: 1, found BTC-USD: 0">/g),
    ).toHaveLength(3);
    expect(out).toContain('name="case 3 &lt;&amp;&gt;"');
    expect(out).toMatch(/<testsuite name="broken\.test\.yaml" tests="1" failures="0" errors="1"/);
    expect(out.endsWith('</testsuites>\n')).toBe(true);
  });
});
