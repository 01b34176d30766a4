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

function load() {
  const { loaded } = checkText({ file: 'sale.yaml', text: SALE });
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
