/** Tests that a simulation is repeatable: one seed gives one history, however often it is read. */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../../src/gateway/simulator/simulator.ts';
import { SimulatedVenue } from '../../venue/harness.ts';

/** Runs a quarter of an hour of orders near the best price, with a poll every `pollEveryMs` if it is given. */
async function runQuarterHour(seed: number, config: SimulatorConfig, pollEveryMs?: number): Promise<SimulatedVenue> {
  const venue = new SimulatedVenue(config, seed);
  if (pollEveryMs !== undefined) {
    const poll = (): void => {
      void venue.transport.send(
        { endpoint: 'GET /orders', method: 'GET', path: '/orders', params: {}, placement: 'query' },
        { timeoutMs: 5000 },
      );
      if (venue.clock.now() < venue.startMs + 900_000) venue.clock.at(venue.clock.now() + pollEveryMs, poll);
    };
    venue.clock.at(venue.startMs, poll);
  }
  const place = [
    { size: '0.5', price: '63990', time_in_force: 'post_only' },
    { side: 'short', size: '0.5', price: '64015' },
    { size: '0.3', price: '64020', type: 'stop_limit', trigger_price: '64010' },
    { market_id: 'ETH-USD', size: '3', price: '3199' },
    { market_id: 'ETH-USD', side: 'short', size: '3', price: '3201' },
  ] as const;
  for (const [index, params] of place.entries()) {
    await venue.until(index * 20_000);
    await venue.place(params);
  }
  await venue.until(1_000_000);
  return venue;
}
const WIDE = { tokens: { limit: 1_000_000 }, account: { equity: '1000000' } } satisfies SimulatorConfig;

describe('one seed', () => {
  it('gives the same books twice, and another seed gives others', async () => {
    const books = async (seed: number) => (await runQuarterHour(seed, WIDE)).simulator.books();
    const [once, twice, other] = [await books(7), await books(7), await books(8)];
    expect(once.fills.length).toBeGreaterThan(0);
    expect(twice).toEqual(once);
    expect(other.fills).not.toEqual(once.fills);
  });

  it.each([137, 250, 1000])('gives the same orders and fills with a poll every %i ms', async (everyMs) => {
    const alone = (await runQuarterHour(7, WIDE)).simulator.books();
    const watched = (await runQuarterHour(7, WIDE, everyMs)).simulator.books();
    expect(watched.requests.length).toBeGreaterThan(alone.requests.length + 800);
    expect(watched.fills).toEqual(alone.fills);
    expect(watched.orders).toEqual(alone.orders);
    expect(watched.account).toEqual(alone.account);
  });

  it('gives the same prices with and without trades and faults', async () => {
    const prices = async (config: SimulatorConfig, trade: boolean) => {
      const venue = trade ? await runQuarterHour(3, config) : new SimulatedVenue(config, 3);
      await venue.until(3_600_000);
      return ['mid', 'bid', 'ask', 'mark', 'index', 'last'].map((name) => venue.simulator.feed(name, 'ETH-USD'));
    };
    const calm = await prices(WIDE, false);
    expect(await prices(WIDE, true)).toEqual(calm);
    expect(
      await prices({ ...WIDE, faults: [{ on: 'GET /account', when: { probability: 0.5 }, do: 'error' }] }, true),
    ).toEqual(calm);
  });

  it('draws the latency of one endpoint independently of requests to another', async () => {
    const arrivals = async (before: number) => {
      const venue = new SimulatedVenue(WIDE, 5);
      for (let time = 0; time < before; time += 1) await venue.call('GET /account', {});
      const from = venue.clock.now();
      await venue.place({ market_id: 'BTC-USD' });
      return venue.clock.now() - from;
    };
    expect(await arrivals(5)).toBe(await arrivals(0));
  });
});

it('draws delays over their whole range, a new one for each request and order', async () => {
  const venue = new SimulatedVenue({ ...WIDE, latencyMs: { min: 20, max: 60 }, processingMs: { min: 20, max: 80 } }, 5);
  for (let count = 0; count < 400; count += 1) await venue.place({ size: '0.0001', price: '60000' });
  await venue.pass(1000);
  const { orders, requests } = venue.simulator.books();
  const there = requests.map((request) => (request.arrivedAt ?? 0) - request.sentAt);
  const decided = orders.map((order) => (order.history[1]?.at ?? 0) - order.arrivedAt);
  expect([Math.min(...there), Math.max(...there)]).toEqual([10, 30]);
  expect([Math.min(...decided), Math.max(...decided)]).toEqual([20, 80]);
});

describe('virtual time', () => {
  it('ends when no order is working', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place();
    await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' });
    const never = new Promise<void>(() => {});
    await expect(venue.clock.runUntil(never)).rejects.toThrow(/virtual time/);
  });

  it('does not tick for an order that the price will never reach', async () => {
    const venue = new SimulatedVenue();
    await venue.place();
    await expect(venue.clock.runUntil(new Promise<void>(() => {}))).rejects.toThrow(/virtual time/);
  });

  it('lets the venue continue while its client is suspended', async () => {
    const venue = new SimulatedVenue();
    await venue.place();
    await venue.pass(100);
    await venue.call('POST /cancel_all_after', { market_id: 'BTC-USD', timeout: 5000 });
    const armedAt = venue.simulator.books().deadman.lastActivityAt;
    await venue.clock.jumpTo(armedAt + 60_000);
    const { orders, deadman } = venue.simulator.books();
    expect(orders[0]?.history.at(-1)).toMatchObject({ at: armedAt + 5000, status: 'canceled' });
    expect(deadman.events.at(-1)).toMatchObject({ event: 'fired', at: armedAt + 5000 });
  });
});

describe('the default configuration', () => {
  it('has three markets, the equity of the examples, and a price that reaches a stop of 64200 within four hours', async () => {
    const venue = new SimulatedVenue({}, 1);
    expect(venue.simulator.markets).toEqual({
      'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001' },
      'ETH-USD': { tick: '0.1', lot: '0.001', min_size: '0.001' },
      'SOL-USD': { tick: '0.01', lot: '0.01', min_size: '0.01' },
    });
    const { id } = await venue.place({ type: 'stop_limit', size: '0.25', trigger_price: '64200', price: '64264' });
    await venue.until(4 * 3_600_000);
    expect(venue.booked(id)).toMatchObject({ status: 'closed', filled: '0.25' });
    expect(venue.simulator.books().account.balance).toMatch(/^182\d\d\./);
  });

  it('knows only its own feeds and markets', () => {
    const { simulator } = new SimulatedVenue({}, 1);
    expect(simulator.feed('mid', 'BTC-USD')).toEqual({ value: '64000', at: simulator.clock.now() });
    expect([
      simulator.feed('volume', 'BTC-USD'),
      simulator.feed('mid', 'DOGE-USD'),
      simulator.feed('mid', undefined),
      simulator.feed('toString', 'BTC-USD'),
    ]).toEqual([undefined, undefined, undefined, undefined]);
    const single = new SimulatedVenue({ markets: { 'SOL-USD': {} } }, 1);
    expect(single.simulator.feed('mid', undefined)?.value).toBe('150');
  });
});
