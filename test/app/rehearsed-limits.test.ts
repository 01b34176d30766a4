/** A dry-run measures an order for the limits as a profile with a price feed does live. */
import { describe, expect, it } from 'vitest';
import { checkText, dryRun, planRun, readInputs } from '../../src/index.ts';
import { testing } from '../cli/testing-bench.ts';

const AT = Date.parse('2026-01-05T08:00:00Z');
const SALE = `runbook: sale
dsl: 1
leaves: {position: open, because: only the limit is tested}
inputs: {size: {type: size, default: 0.1}}
limits: {markets: [BTC-USD], max_order_notional: 10000}
steps:
  - place: {type: market, market: BTC-USD, side: short, size: inputs.size}
`;
const STILL = { markets: { 'BTC-USD': { price: '64000' } } } as const;

function load(text = SALE) {
  const { loaded } = checkText({ file: 'sale.yaml', text });
  if (loaded === undefined) throw new Error('the runbook is refused');
  return loaded;
}

describe('a market order without a price under a cap of notional', () => {
  it.each([
    ['0.1', 'succeeded', undefined],
    ['0.2', 'failed', /^NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=12800, max=10000/],
  ])('of size %s is measured at the simulated price, and so from its own recording', async (size, outcome, why) => {
    const loaded = load();
    const inputs = readInputs(loaded, { size });
    const venue = { kind: 'simulated', config: STILL, record: true } as const;
    const first = await dryRun(loaded, { inputs, at: AT, venue });
    expect(first.report).toMatchObject({
      outcome,
      ...(why && { error: { kind: 'denied', message: expect.stringMatching(why) } }),
    });
    if (first.recording === undefined) throw new Error('nothing was recorded');
    const again = { kind: 'fixtures', fixture: first.recording, file: 'sale.fixture.yaml', sha256: '' } as const;
    const { report } = await dryRun(loaded, { inputs, at: AT, venue: again });
    expect(report).toMatchObject({ outcome });
  });

  it.each([
    ['that of a profile, whose name says nothing', SALE, 'BTC-USD'],
    [
      'a feed of the runbook',
      `${SALE.replace('dsl: 1', 'dsl: 1\nfeeds: {touch: {type: price, max_age: 1h}}')}    if: feeds.touch > 0\n`,
      'BTC-USD',
    ],
    [
      'one by market',
      `${SALE.replace('dsl: 1', 'dsl: 1\nfeeds: {touch: {type: map<price>, max_age: 1h}}')}    if: "feeds.touch['BTC-USD'] > 0"\n`,
      'BTC-USD',
    ],
  ])('is measured by the price that a recording has: %s', async (_name, text, key) => {
    const loaded = load(text);
    const venue = { kind: 'simulated', config: STILL, record: true } as const;
    const { recording } = await dryRun(load(), { inputs: readInputs(loaded, {}), at: AT, venue });
    if (recording === undefined) throw new Error('nothing was recorded');
    const feeds = recording.feeds.map((feed) => ({ ...feed, name: 'touch', key }));
    const again = {
      kind: 'fixtures',
      fixture: { ...recording, feeds },
      file: 'sale.fixture.yaml',
      sha256: '',
    } as const;
    const { report } = await dryRun(loaded, { inputs: readInputs(loaded, {}), at: AT, venue: again });
    expect(report).toMatchObject({ outcome: 'succeeded' });
  });

  it('is not measured by a feed that is no price', async () => {
    const loaded = load(
      `${SALE.replace('dsl: 1', 'dsl: 1\nfeeds: {rate: {type: number, max_age: 1h}}')}    if: feeds.rate > 0\n`,
    );
    const feeds = [{ name: 'rate', key: 'BTC-USD', value: '0.0001', afterMs: 0 }];
    const fixture = { fixture: 1, startMs: AT, markets: {}, feeds, exchanges: [] } as never;
    const venue = { kind: 'fixtures', fixture, file: 'sale.fixture.yaml', sha256: '' } as const;
    const { report } = await dryRun(loaded, { inputs: readInputs(loaded, {}), at: AT, venue });
    expect(report.error?.message).toMatch(/^NOTIONAL_UNKNOWN/);
  });

  it('is not marked as denied in a plan without a profile, which would know the price', () => {
    const loaded = load();
    const { requests } = planRun(loaded, { inputs: readInputs(loaded, {}), now: AT });
    expect(requests.filter((each) => 'denied' in each && each.denied !== undefined)).toEqual([]);
  });

  it('passes in a test case at the price of its feeds, and cannot where they have none', async () => {
    const { files } = await testing({
      'sale.yaml': SALE,
      'sale.test.yaml': `tests: sale
cases:
  - name: the price is known
    feeds: {mid: 99000}
    expect: {outcome: succeeded}
  - name: the price is too high
    feeds: {mid: 101000}
    expect: {outcome: failed, error: {kind: denied, message: NOTIONAL_EXCEEDS_MAX_PER_ORDER}}
  - name: the price cannot be read
    feeds: {mid: [{after: 0s, value: null}]}
    expect: {outcome: failed, error: {kind: denied, message: NOTIONAL_UNKNOWN}}
`,
    });
    expect(files.flatMap(({ cases }) => cases.map(({ ok }) => ok))).toEqual([true, true, true]);
  });
});
