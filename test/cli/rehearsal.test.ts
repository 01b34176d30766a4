/** Tests what a dry-run takes from files and from the command line: prices, feeds. */

import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import { EXIT, UserError } from '../../src/app/errors.ts';
import { readPriceFile } from '../../src/app/files/prices.ts';
import { stateFolder } from '../../src/app/state.ts';
import { type FoundRun, ServedRuns } from '../../src/cli/serve/runs.ts';
import { itFirst } from '../rows.ts';
import { folder } from './command.ts';

const ENTRY = `runbook: entry
dsl: 1
limits: {markets: [BTC-USD]}
leaves: {position: none}
feeds:
  mid: {type: price, max_age: 5s}
  funding: {type: number, max_age: 5s}
vars: {funding: {type: number, init: 0}}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: tick(feeds.mid * 1.01)}
    await: filled
  - id: exit
    protect:
      market: BTC-USD
      side: short
      stop_loss: {fraction: 1, trigger: 63500, price: 63000}
      take_profit: {fraction: 1, trigger: 64500, price: 64500}
  - wait_for: {order: exit.stop_loss, is: terminal, within: 10m}
  - cancel: exit.take_profit
    catch:
      - {on: any, then: continue}
  - wait: 2m
  - set: {funding: feeds.funding}
outputs:
  funding: funding
`;

const CANDLES = `time,open,high,low,close,volume
2026-01-05T08:00:00Z,64000,64010,63990,64000,12.5
2026-01-05T09:01:00+01:00,64000,64800,63300,64700,3
1767600120000,64700,64800.4,64600,64750,1
`;

describe('dry-run with recorded prices', () => {
  const here = folder();
  here.write('entry.yaml', ENTRY);
  here.write('candles.csv', CANDLES);
  here.write('candles.csv.gz', gzipSync(CANDLES));
  here.write('funding.csv', 'time,value\n2026-01-05T07:00:00Z,0.0001\n2026-01-05T08:02:00Z,-0.0002\n');
  const dryRun = (...args: readonly string[]) =>
    here.run('dry-run', 'entry.yaml', '--feed', 'funding=funding.csv', '--json', ...args);

  itFirst(1, [['candles.csv'], ['BTC-USD=candles.csv'], ['candles.csv.gz']])(
    'begins with %s, and stops before the target',
    (prices) => {
      const { out, err } = dryRun('--prices', prices);
      const report = JSON.parse(out);
      expect(report).toMatchObject({
        startedAt: '2026-01-05T08:00:00.000Z',
        orders: [
          { averagePrice: '64002' },
          { type: 'stop_loss', state: 'closed', filled: '0.01' },
          { type: 'take_profit' },
        ],
        outputs: { funding: '-0.0002' },
      });
      expect(err).toContain('the prices of BTC-USD end at 2026-01-05T08:03:00.000Z');
    },
  );

  it('begins at --at, within the file', () => {
    expect(
      JSON.parse(dryRun('--prices', 'candles.csv', '--at', '2026-01-05T08:02:00Z').out).orders[0].averagePrice,
    ).toBe('64702');
    for (const at of ['2026-01-05T07:59:59Z', '2026-01-05T08:03:00Z'])
      expect(dryRun('--prices', 'candles.csv', '--at', at).exit).toBe(EXIT.usage);
  });

  it.each([
    ['a column of another name', 'time,price,vol\n', 1],
    ['no rows', 'time,price\n', 1],
    ['an empty first line', '\ntime,price\n', 1],
    ['a column twice', 'time,price,price\n', 1],
    ['a missing column', 'time,price\n2026-01-05T08:00:00Z,64000\n2026-01-05T08:00:01Z\n', 3],
    ['an exponent', 'time,price\n2026-01-05T08:00:00Z,6.4e4\n', 2],
    ['an empty price', 'time,price\n2026-01-05T08:00:00Z,\n', 2],
    ['a price of nothing', 'time,price\n2026-01-05T08:00:00Z,0.4\n', 2],
    ['a negative size', 'time,price,size\n2026-01-05T08:00:00Z,64000,-1\n', 2],
    ['no zone', 'time,price\n2026-01-05T08:00:00Z,64000\n\n2026-01-05T08:00:01,64000\n', 4],
    ['no such day', 'time,price\n2026-02-30T08:00:00Z,64000\n', 2],
    ['a time before the last', 'time,price\n2026-01-05T09:00:00+00:00,1\n2026-01-05T09:30:00+01:00,1\n', 3],
    ['two candles of one time', `${CANDLES}1767600120000,1,1,1,1,1\n`, 5],
    ['a high below the open', 'time,open,high,low,close\r\n2026-01-05T08:00:00Z,5,4,3,4\r\n', 2],
    ['a low above the close', 'time,open,high,low,close\n2026-01-05T08:00:00Z,5,6,5,4\n', 2],
    ['an open quote', 'time,price\n2026-01-05T08:00:00Z,"64000\n', 2],
  ])('refuses a file with %s, with its line', (_what, text, line) => {
    here.write('broken.csv', text);
    const read = () => readPriceFile(join(here.path, 'broken.csv'), '1');
    expect(read).toThrow(UserError);
    expect(read).toThrow(`broken.csv, line ${line}: `);
  });

  it('keeps every digit of a feed, and refuses a broken one', () => {
    here.write('funding.csv', 'time,value\n2026-01-05T07:00:00Z,0.100000000000000000000000001\n');
    expect(JSON.parse(dryRun('--prices', 'candles.csv').out).outputs).toEqual({
      funding: '0.100000000000000000000000001',
    });
    expect(dryRun('--prices', 'candles.csv').err).not.toContain('--feed');
    expect(here.run('dry-run', 'entry.yaml').err).toContain('--feed funding=FILE.csv');
    here.write('broken.csv', 'time,price\n2026-01-05T08:00:00Z,high\n');
    expect(dryRun('--prices', 'broken.csv')).toMatchObject({
      exit: EXIT.usage,
      out: expect.stringContaining('the prices broken.csv, line 2: price '),
    });
    here.write('bad.csv', 'time,value\n2026-01-05T07:00:00Z,high\n');
    const { exit, out } = here.run('dry-run', 'entry.yaml', '--feed', 'funding=bad.csv', '--json');
    expect([exit, JSON.parse(out).error.message]).toEqual([
      EXIT.usage,
      expect.stringContaining('bad.csv, line 2: value '),
    ]);
  });

  it('gives each market of a feed values of its own', () => {
    here.write(
      'spread.yaml',
      `runbook: spread
dsl: 1
feeds: {funding: {type: map<number>, max_age: 5s}}
steps: [{let: {rich: "feeds.funding['BTC-USD']", cheap: "feeds.funding['ETH-USD']"}}]
outputs: {rich: rich, cheap: cheap}
`,
    );
    here.write('cheap.csv', 'time,value\n2026-01-05T07:00:00Z,0.3\n');
    here.write('rich.csv', 'time,value\n2026-01-05T07:00:00Z,0.7\n');
    const spread = (...feeds: readonly string[]) =>
      here.run('dry-run', 'spread.yaml', '--json', ...feeds.flatMap((feed) => ['--feed', feed]));
    expect(JSON.parse(spread('funding[BTC-USD]=rich.csv', 'funding=cheap.csv').out).outputs).toEqual({
      rich: '0.7',
      cheap: '0.3',
    });
    expect(spread('funding[BTC-USD]=rich.csv', 'funding[ETH-USD]=cheap.csv').err).not.toContain('--feed');
    expect(spread().err).toContain("--feed 'funding[MARKET]=FILE.csv'");
  });

  it.each([
    ['btc-usd', 'did you mean BTC-USD?'],
    ['DOGE-USD', 'it has BTC-USD, ETH-USD, SOL-USD'],
  ])('notes that the simulated venue has no market %s', (market, hint) => {
    here.write('other.yaml', ENTRY.replaceAll('BTC-USD', market));
    expect(here.run('dry-run', 'other.yaml').err).toContain(`has no market ${market}; ${hint}`);
    expect(here.run('dry-run', 'entry.yaml').err).not.toContain('has no market');
  });

  it('notes prices of a market that the runbook does not trade', () => {
    const { exit, err } = dryRun('--prices', 'candles.csv', '--prices', 'ETH-USD=candles.csv');
    expect([exit, err]).toEqual([EXIT.done, expect.stringContaining('entry sends no request for ETH-USD')]);
    expect(dryRun('--prices', 'candles.csv').err).not.toContain('sends no request');
  });

  it('says where a configuration of the simulated venue is wrong, and what was meant', () => {
    here.write('bad.sim.yaml', 'markets:\n  BTC-USD: {start: "60000", price: [{hodl: 9s}]}\n');
    const { exit, out } = here.run('dry-run', 'entry.yaml', '--simulator', 'bad.sim.yaml', '--json');
    expect([exit, JSON.parse(out).error.message]).toEqual([
      EXIT.usage,
      expect.stringMatching(/line 2, column 38: .*"hodl".*did you mean hold\?$/),
    ]);
  });

  it.each([
    ['a market that is not there', ['--prices', 'XRP-USD=candles.csv'], 'XRP-USD'],
    ['a market twice', ['--prices', 'candles.csv', '--prices', 'BTC-USD=candles.csv'], 'twice'],
    ['a feed that the runbook does not have', ['--feed', 'fundin=funding.csv'], 'did you mean funding?'],
    ['a market of a feed that has one value', ['--feed', 'funding[BTC-USD]=funding.csv'], '--feed funding=FILE'],
    ['a feed without a name', ['--feed', 'funding.csv'], 'NAME=FILE'],
    ['a file that is not there', ['--prices', 'missing.csv'], 'missing.csv'],
    ['a file that is not packed', ['--prices', 'packed.csv.gz'], 'cannot be unpacked'],
  ])('refuses %s', (_what, args, message) => {
    here.write('packed.csv.gz', Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]));
    const { exit, out } = here.run('dry-run', 'entry.yaml', '--json', ...args);
    expect([exit, JSON.parse(out).error.message]).toEqual([EXIT.usage, expect.stringContaining(message)]);
  });

  it('asks for the market where the runbook trades several', () => {
    here.write(
      'two.yaml',
      `runbook: two
dsl: 1
steps:
  - set_leverage: {market: BTC-USD, leverage: 5}
  - set_leverage: {market: ETH-USD, leverage: 5}
`,
    );
    const { exit, out } = here.run('dry-run', 'two.yaml', '--prices', 'candles.csv', '--json');
    expect([exit, JSON.parse(out).error.message]).toEqual([EXIT.usage, expect.stringContaining('BTC-USD, ETH-USD')]);
  });
});

const ASK = `runbook: ask
dsl: 1
steps:
  - id: go
    approve: {ask: go on?, by: [ops], within: 10m}
  - read_account: {}
`;

const FIRST = `runbook: first
dsl: 1
steps:
  - parallel:
      join: any
      branches:
        quick:
          - wait: 1s
        slow:
          - wait: 1h
`;

describe('the inputs of a run', () => {
  const here = folder();
  here.write(
    'ratio.yaml',
    `runbook: ratio
dsl: 1
inputs: {risk: {type: pct, default: 2, max: 3}, below: {type: bps, default: 5}, share: {type: number, default: 0.5}}
steps: []
outputs: {sum: inputs.risk + inputs.below + inputs.share}
`,
  );

  it('are shown as they can be given again, and in their JSON as they are read', async () => {
    const { out } = here.run('dry-run', 'ratio.yaml');
    const [, run = ''] = /audit show (\S+)/.exec(out) ?? [];
    const shown = 'risk=2% below=5bps share=0.5';
    expect(out).toContain(`inputs ${shown}`);
    expect(here.run('audit', 'summary', run).out).toContain(`inputs ${shown}`);
    expect(here.run('audit', 'show', run).out).toContain(`inputs: ${shown}`);
    const html = here.run('audit', 'export', run, '--format', 'html').out;
    expect(html).toContain('<span class="value">2%</span>');
    expect(html).toContain('risk=2% below=5bps');
    const served = new ServedRuns(stateFolder(undefined, environmentOf({}), here.path));
    const found = (await served.find(run)) as FoundRun;
    expect((await served.readFold(found)).document().inputs).toMatchObject([{ value: '2%' }, { value: '5bps' }, {}]);
    await served.close();
    expect(here.run('plan', 'ratio.yaml').out).toContain(shown);
    expect(JSON.parse(here.run('dry-run', 'ratio.yaml', '--json').out)).toMatchObject({
      inputs: { risk: '0.02', below: '0.0005' },
    });
    expect(here.run('plan', 'ratio.yaml', '--input', 'risk=4%').err).toContain('risk must be at most 3%, found 4%');
  });
});

it('a failed dry-run says where the step that failed is written', () => {
  const here = folder();
  here.write(
    'off.yaml',
    `runbook: off
dsl: 1
limits: {markets: [BTC-USD]}
leaves: {position: open, because: a test}
steps:
  - for_each:
      each: n
      in: [1, 2]
      do:
        - id: buy
          place: {type: limit, market: BTC-USD, side: long, size: 1, price: 60000.123}
`,
  );
  expect(here.run('dry-run', 'off.yaml').out).toMatch(/^error denied in \S+\/buy, off\.yaml:10:11$/m);
});

describe('dry-run with answers of people', () => {
  const here = folder();
  here.write('ask.yaml', ASK);
  const dryRun = (...args: readonly string[]) => {
    const { exit, out } = here.run('dry-run', 'ask.yaml', '--at', '2026-01-05T08:00:00Z', '--json', ...args);
    return { exit, ...JSON.parse(out) };
  };

  it('goes on when the step is approved, after the time given', () => {
    expect(dryRun('--answer', 'go=approve:5m')).toMatchObject({
      exit: EXIT.done,
      outcome: 'succeeded',
      steps: [{ id: 'go', endedAt: '2026-01-05T08:05:00.000Z' }, { verb: 'read_account' }],
    });
    expect(dryRun('--answer', 'steps/go=approve').outcome).toBe('succeeded');
  });

  it('fails when it is rejected, and when the answer comes too late', () => {
    expect(dryRun('--answer', 'go=reject').error.kind).toBe('approval_rejected');
    for (const late of [['--answer', 'go=approve:11m'], []])
      expect(dryRun(...late)).toMatchObject({ outcome: 'failed', endedAt: '2026-01-05T08:10:00.000Z' });
  });

  it.each([
    ['a step that is not there', 'gone=approve', 'there are go'],
    ['a misspelt step', 'goo=approve', 'did you mean go?'],
    ['a step that asks no one', '2:read_account=approve', 'asks for approval'],
    ['another word', 'go=yes', 'STEP=approve'],
    ['a time that is none', 'go=approve:soon', 'STEP=approve'],
  ])('refuses %s', (_what, answer, message) => {
    expect(dryRun('--answer', answer)).toMatchObject({
      exit: EXIT.usage,
      error: { message: expect.stringContaining(message) },
    });
  });

  it('shows the branch that another was faster than as left, not as failed', () => {
    here.write('first.yaml', FIRST);
    const { out } = here.run('dry-run', 'first.yaml', '--json');
    const { outcome, steps } = JSON.parse(out);
    expect([outcome, steps.map((step: { outcome: string }) => step.outcome)]).toEqual([
      'succeeded',
      ['succeeded', 'succeeded', 'left'],
    ]);
    expect(here.run('audit', 'show', 'last').out).toContain('left, another branch was first');
  });
});

describe('dry-run --chart', () => {
  const here = folder();
  here.write('entry.yaml', ENTRY);
  here.write('candles.csv', CANDLES);
  here.write('funding.csv', 'time,value\n2026-01-05T07:00:00Z,0.0001\n');
  const given = ['--prices', 'candles.csv', '--feed', 'funding=funding.csv'];

  it('draws price, orders, fills, position and net of the run', () => {
    const { out } = here.run('dry-run', 'entry.yaml', '--json', '--chart', 'run.svg', ...given);
    const { orders, money } = JSON.parse(out);
    const svg = here.read('run.svg');
    const count = (mark: RegExp) => svg.match(mark)?.length ?? 0;
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect(count(/<polygon class="fill long"/g)).toBe(1);
    expect(count(/<polygon class="fill short"/g)).toBe(1);
    // A limit price and a trigger each of the stop and the target; the market order has no line.
    expect(count(/<line class="order short"/g)).toBe(4);
    expect(orders).toHaveLength(3);
    expect(count(/<polyline class="price" points="[\d., ]+"/g)).toBe(1);
    expect(count(/<polyline class="net" points="[\d., ]+"/g)).toBe(1);
    expect(count(/<polygon class="held"/g)).toBe(1);
    expect(svg).toContain(`net ${Number(money['BTC-USD'].net).toFixed(2)}`);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('draws a run without orders, a failed one, and one against recorded answers, as a page without scripts', () => {
    here.write('idle.yaml', 'runbook: idle\ndsl: 1\nsteps:\n  - wait: 1m\n');
    here.write('fails.yaml', 'runbook: fails\ndsl: 1\nsteps:\n  - wait: 1m\n  - fail: {}\n    because: "<script>"\n');
    here.run('dry-run', 'entry.yaml', '--record', 'entry.fixture.yaml', ...given);
    const calls = [['idle.yaml'], ['fails.yaml'], ['entry.yaml', '--fixtures', 'entry.fixture.yaml']];
    for (const words of calls) {
      here.run('dry-run', ...words, '--chart', 'run.html');
      const page = here.read('run.html');
      expect(page).toMatch(/^<!doctype html>[\s\S]*<svg [\s\S]*<\/svg>/);
      expect(page).not.toMatch(/<script|NaN|Infinity|undefined/);
    }
    expect(here.run('dry-run', 'idle.yaml', '--chart', 'run.png').exit).toBe(EXIT.usage);
  });

  it('says what an order filled at the simulated venue after the run had stopped looking', () => {
    // The stop is read when it works; what was read less than 2 s ago is not read again at the end.
    here.write('fall.csv', 'time,price\n2026-01-05T08:00:00Z,64000\n2026-01-05T08:00:01.600Z,63400\n');
    here.write(
      'leaves.yaml',
      `runbook: leaves
dsl: 1
leaves: {position: protected}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 65000}
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 63500, price: 63000}}
  - wait: 1s
`,
    );
    const { err } = here.run('dry-run', 'leaves.yaml', '--prices', 'fall.csv', '--at', '2026-01-05T08:00:00Z');
    expect(err).toMatch(
      /at the simulated venue BTC-USD@1002 \(stop_loss short of BTC-USD\) has filled 0\.01; the run read 0/,
    );
  });
});
