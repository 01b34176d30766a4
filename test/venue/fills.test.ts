import { describe, expect, it } from 'vitest';
import { CALM, moving, SimulatedVenue, START_MS } from './harness.ts';

describe('GET /fills/order', () => {
  it('gives every field of the fill record, with a rebate for a maker', async () => {
    const venue = new SimulatedVenue(moving([0, '64000'], [10, '62990']));
    const { id } = await venue.place({ size: '0.1' });
    await venue.until(11_000);
    const said = await venue.call('GET /fills/order', { order_id: id });
    expect(said.result).toEqual([
      {
        id: 'BTC-USD-2',
        trade_id: 'BTC-USD-1',
        order_id: id,
        market_id: 'BTC-USD',
        profile_id: 88892,
        side: 'long',
        price: '63000',
        size: '0.1',
        // 63000 x 0.1 x -0.00005
        fee: '-0.315',
        is_maker: true,
        liquidation: false,
        timestamp: (START_MS + 10_000) * 1000,
      },
    ]);
  });

  it('gives nothing for an order without fills', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place();
    expect((await venue.call('GET /fills/order', { order_id: id })).result).toEqual([]);
  });
});

describe('GET /fills', () => {
  async function traded(): Promise<SimulatedVenue> {
    const venue = new SimulatedVenue();
    await venue.place({ type: 'market', price: '64010', size: '0.3' });
    await venue.pass(1000);
    await venue.place({ market_id: 'ETH-USD', type: 'market', side: 'short', price: '3100', size: '0.5' });
    await venue.pass(1000);
    return venue;
  }

  it('has unique rising times, newest first, and filters by market, time and page', async () => {
    const venue = await traded();
    const list = async (params: object) =>
      (await venue.call('GET /fills', params)).result.map((fill: { price: string }) => fill.price);
    const times = venue.simulator.books().fills.map((fill) => fill.timestamp);
    expect(new Set(times).size).toBe(4);
    expect([...times].sort((a, b) => a - b)).toEqual(times);
    expect(await list({})).toEqual(['3199.8', '64003', '64002', '64001']);
    expect(await list({ market_id: 'BTC-USD', p_order: 'ASC' })).toEqual(['64001', '64002', '64003']);
    expect(await list({ start_time: times[1], end_time: times[2] })).toEqual(['64003', '64002']);
    expect(await list({ p_limit: 3, p_page: 1 })).toEqual(['64001']);
  });

  it('lists by the venue’s own clock, also where that is set back', async () => {
    const venue = new SimulatedVenue({ ...CALM, clockSteps: [{ afterMs: 500, byMs: -90_000 }] });
    await venue.place({ type: 'market', price: '64010', size: '0.1' });
    await venue.pass(1000);
    await venue.place({ type: 'market', price: '60000', size: '0.1', side: 'short' });
    await venue.pass(1000);
    const { result } = await venue.call('GET /fills', { p_order: 'ASC' });
    const times = result.map(({ timestamp }) => timestamp - START_MS * 1000);
    expect(result.map(({ side }) => side)[0]).toBe('short');
    expect([times[0], times.at(-1)].map((us = 0) => Math.round(us / 1e6))).toEqual([-89, 0]);
    expect((await venue.call('GET /fills', { start_time: START_MS * 1000 })).result).toHaveLength(1);
  });

  it('does not show a fill before its lag is over, although the order is already filled', async () => {
    const venue = new SimulatedVenue({ ...CALM, fillLagMs: 2000 });
    const { id } = await venue.place({ type: 'market', price: '64010', size: '0.1' });
    await venue.pass(100);
    expect(await venue.order(id)).toMatchObject({ status: 'closed', total_filled_size: '0.1' });
    expect((await venue.call('GET /fills', {})).result).toEqual([]);
    await venue.pass(2000);
    expect((await venue.call('GET /fills', {})).result).toHaveLength(1);
  });
});
