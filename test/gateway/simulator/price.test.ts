/** Tests the prices that a person gives: recorded ticks and candles, and the moves of a configuration file. */
import { describe, expect, it } from 'vitest';
import { withHistories } from '../../../src/gateway/simulator/config/config.ts';
import type { PriceHistory } from '../../../src/gateway/simulator/config/settings.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../../src/gateway/simulator/simulator.ts';
import { CALM, SimulatedVenue, START_MS } from '../../venue/harness.ts';

const MINUTE = 60_000;

/** Candles of a minute from the start: open, high, low, close. */
function candles(...rows: readonly (readonly [number, number, number, number])[]): SimulatorConfig {
  return recorded(
    'candles',
    rows.map((_row, index) => START_MS + index * MINUTE),
    rows.flat(),
  );
}

function recorded(form: PriceHistory['form'], times: readonly number[], ticks: readonly number[]): SimulatorConfig {
  const history = { form, times: Float64Array.from(times), ticks: Float64Array.from(ticks) };
  return withHistories(CALM, { 'BTC-USD': history });
}

const mid = (venue: SimulatedVenue) => venue.simulator.feed('mid', 'BTC-USD')?.value;

/** The middle at each of these milliseconds after the start. */
async function follow(venue: SimulatedVenue, ...at: readonly number[]): Promise<(string | undefined)[]> {
  const seen: (string | undefined)[] = [];
  for (const ms of at) {
    await venue.until(ms);
    seen.push(mid(venue));
  }
  return seen;
}

const FLAT = [64_000, 64_000, 64_000, 64_000] as const;
const BOTH = [64_000, 64_300, 63_400, 64_100] as const;

describe('recorded ticks', () => {
  it('hold from each to the next, before the first and after the last', async () => {
    const config = recorded('ticks', [START_MS - 5000, START_MS + 1000, START_MS + 90_000], [63_000, 63_500, 64_000]);
    const venue = new SimulatedVenue(config);
    expect(await follow(venue, 0, 999, 1000, 89_999, 90_000, 500_000)).toEqual([
      '63000',
      '63000',
      '63500',
      '63500',
      '64000',
      '64000',
    ]);
  });

  it('have the simulated spread around them, and its depth', async () => {
    const venue = new SimulatedVenue(recorded('ticks', [START_MS], [64_000]));
    expect(['bid', 'ask'].map((name) => venue.simulator.feed(name, 'BTC-USD')?.value)).toEqual(['63999', '64001']);
    await venue.place({ type: 'market', price: '65000', size: '0.15' });
    await venue.pass(1000);
    expect(venue.simulator.books().fills.map(({ price, size }) => [price, size])).toEqual([
      ['64001', '0.1'],
      ['64002', '0.05'],
    ]);
  });
});

describe('recorded candles', () => {
  it('go from the open over both extremes to the close, and jump to the next open', async () => {
    const venue = new SimulatedVenue(candles(BOTH, [64_500, 64_500, 64_500, 64_500]));
    // Without a position the nearer extreme comes first: the high.
    expect(await follow(venue, 0, 10_000, 20_000, 40_000, 59_900, 60_000)).toEqual([
      '64000',
      '64150',
      '64300',
      '63400',
      '64100',
      '64500',
    ]);
  });

  it.each([
    ['long', '65000', '63400', '64300'],
    ['short', '63000', '64300', '63400'],
  ] as const)('reach the extreme that hurts a %s position first', async (side, price, first, second) => {
    const venue = new SimulatedVenue(candles(FLAT, BOTH, BOTH));
    await venue.place({ type: 'market', side, price, size: '0.01' });
    const [one, two] = [MINUTE, 2 * MINUTE];
    expect(await follow(venue, one + 20_000, one + 40_000, two + 20_000, two + 40_000)).toEqual([
      first,
      second,
      first,
      second,
    ]);
  });

  it('turn against a position that is opened within the candle, from where the price is', async () => {
    const venue = new SimulatedVenue(candles(BOTH));
    await venue.until(5_000);
    const before = mid(venue);
    await venue.place({ type: 'market', price: '65000', size: '0.01' });
    expect(before).toBe('64075');
    const [soon, first, second] = await follow(venue, 5_200, 20_000, 40_000);
    expect(Math.abs(Number(soon) - 64_075)).toBeLessThan(20);
    expect([first, second]).toEqual(['63400', '64300']);
  });

  it('trigger the stop before the target when one candle reaches both', async () => {
    const venue = new SimulatedVenue(candles(FLAT, BOTH, FLAT));
    await venue.place({ type: 'market', price: '65000', size: '0.01' });
    await venue.pass(1000);
    const stop = await venue.place({
      side: 'short',
      type: 'stop_loss',
      trigger_price: '63500',
      price: '63000',
      size: '1',
    });
    const target = await venue.place({
      side: 'short',
      type: 'take_profit',
      trigger_price: '64200',
      price: '64200',
      size: '1',
    });
    await venue.until(3 * MINUTE);
    expect([venue.booked(stop.id).status, venue.booked(target.id).reason]).toEqual(['closed', 'NO_POSITION']);
    const [, exit] = venue.simulator.books().fills;
    expect(exit?.price).toBe('63498');
  });

  it('give the same prices however often they are read', async () => {
    const at = [70_000, 80_000, 95_000, 119_000, 150_000];
    const often = new SimulatedVenue(candles(FLAT, BOTH, BOTH));
    const seldom = new SimulatedVenue(candles(FLAT, BOTH, BOTH));
    for (const venue of [often, seldom]) await venue.place({ type: 'market', price: '65000', size: '0.01' });
    await follow(often, ...Array.from({ length: 600 }, (_each, index) => 1000 + index * 100));
    expect(await follow(often, ...at)).toEqual(await follow(seldom, ...at));
  });
});

describe('moves of a configuration file', () => {
  const config = (price: unknown, more: object = {}): SimulatorConfig => {
    const read = readSimulatorConfig({ ...CALM, markets: { 'BTC-USD': { spreadBps: 0, price, ...more } } });
    if ('problems' in read) throw new Error(read.problems.join('; '));
    return read.config;
  };

  it('may be a constant and nothing else', async () => {
    const venue = new SimulatedVenue(config('61000'));
    expect(await follow(venue, 0, 3_600_000)).toEqual(['61000', '61000']);
  });

  it('are ramps, jumps, gaps and pauses, one after the other', async () => {
    const venue = new SimulatedVenue(
      config(
        [
          { hold: '10s' },
          { ramp: '64100', over: '10s' },
          { jump: '63900' },
          { gap: '63000', over: '30s' },
          { hold: '10s' },
          { jump: '63500' },
        ],
        { start: '64000' },
      ),
    );
    expect(await follow(venue, 10_000, 15_000, 20_000, 20_100, 50_000, 50_100, 60_200)).toEqual([
      '64000',
      '64050',
      '64100',
      '63900',
      '63900',
      '63000',
      '63500',
    ]);
  });

  it('quote nothing and trade nothing during a gap', async () => {
    const venue = new SimulatedVenue(config([{ gap: '63000', over: '30s' }], { start: '64000' }));
    const { id } = await venue.place({ type: 'market', price: '65000', size: '0.01' });
    await venue.until(20_000);
    expect(venue.simulator.feed('mid', 'BTC-USD')).toEqual({ value: '64000', at: START_MS });
    expect(venue.booked(id).status).not.toBe('closed');
    expect(venue.simulator.books().fills).toEqual([]);
    await venue.until(31_000);
    expect(venue.simulator.feed('mid', 'BTC-USD')).toEqual({ value: '63000', at: START_MS + 31_000 });
  });

  it.each([
    [
      { price: '64000', path: { kind: 'walk', volatilityBps: 1 } },
      'markets.BTC-USD.price: says the same as path; leave one out',
    ],
    [{ price: '64000', start: '64000' }, 'markets.BTC-USD.price: is the start already; leave start out'],
    [{ price: [{ ramp: '65000' }] }, 'markets.BTC-USD.price.0: ramp needs `over`, how long it takes'],
    [{ price: [{ jump: '65000', over: '5m' }] }, 'markets.BTC-USD.price.0: jump takes no `over`'],
    [{ price: [{ jump: '65000', hold: '5m' }] }, 'markets.BTC-USD.price.0: has one of ramp, jump, gap, hold'],
    [{ price: 'sixty' }, 'markets.BTC-USD.price: must be a decimal above 0, such as "64000"; found sixty'],
    [{ price: [{ hodl: '9s' }] }, 'markets.BTC-USD.price.0: "hodl" is not a key here; did you mean "hold"?'],
    [{ price: [{ hold: '0s' }] }, 'markets.BTC-USD.price.0: takes no time'],
    [{ price: [{ jump: '64000.5' }] }, 'markets.BTC-USD: 64000.5 is not a positive multiple of the tick 1'],
  ])('are refused with the place: %j', (market, problem) => {
    expect(readSimulatorConfig({ markets: { 'BTC-USD': market } })).toEqual({ problems: [problem] });
  });
});
