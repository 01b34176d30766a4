import { describe, expect, it } from 'vitest';
import { CALM, moving, SimulatedVenue, START_MS, total } from './harness.ts';

describe('POST /orders', () => {
  it('acknowledges a limit order with every field of the placement record and lets it rest', async () => {
    const venue = new SimulatedVenue();
    const ack = await venue.place({ client_order_id: 'abc-1', time_in_force: 'post_only' });
    expect(ack).toEqual({
      id: 'BTC-USD@1001',
      is_liquidation: false,
      market_id: 'BTC-USD',
      price: '63000',
      profile_id: 88892,
      side: 'long',
      size: '0.1',
      status: 'processing',
      client_order_id: 'abc-1',
      type: 'limit',
      time_in_force: 'post_only',
    });
    await venue.pass(100);
    expect(await venue.order(ack.id)).toEqual({
      id: 'BTC-USD@1001',
      client_order_id: 'abc-1',
      market_id: 'BTC-USD',
      order_type: 'limit',
      side: 'long',
      price: '63000',
      size: '0.1',
      initial_size: '0.1',
      total_filled_size: '0',
      status: 'open',
      reason: '',
      profile_id: 88892,
      timestamp: (START_MS + 5) * 1000,
      time_in_force: 'post_only',
    });
  });

  it.each([
    ['a limit order without price', { price: undefined }, 'MISSING_PARAMETER'],
    ['a stop without trigger', { type: 'stop_market' as const }, 'MISSING_PARAMETER'],
    [
      'a stop_limit without price',
      { type: 'stop_limit' as const, price: undefined, trigger_price: '65000' },
      'MISSING_PARAMETER',
    ],
    ['a limit order with a trigger', { trigger_price: '65000' }, 'INVALID_PARAMETER'],
    ['a price off the tick', { price: '63000.5' }, 'INVALID_PRICE'],
    ['a size off the lot', { size: '0.00015' }, 'INVALID_SIZE'],
    ['a size of zero', { size: '0' }, 'INVALID_PARAMETER'],
    [
      'more than the whole position',
      { type: 'stop_loss' as const, size: '1.5', trigger_price: '60000' },
      'INVALID_SIZE',
    ],
    ['an exponent', { size: '1e-4' }, 'INVALID_PARAMETER'],
    ['a market it does not have', { market_id: 'DOGE-USD' }, 'MARKET_NOT_FOUND'],
    ['a client order id with a blank', { client_order_id: 'a b' }, 'INVALID_PARAMETER'],
  ])('refuses %s and keeps nothing', async (_, change, code) => {
    const venue = new SimulatedVenue();
    await expect(venue.place(change)).rejects.toThrow(`refused: ${code}`);
    expect(venue.simulator.books().orders).toEqual([]);
  });

  it('fills a market order level by level from the touch and stops at its price', async () => {
    const venue = new SimulatedVenue();
    const ack = await venue.place({
      type: 'market',
      price: '64002',
      size: '0.25',
      time_in_force: 'immediate_or_cancel',
    });
    await venue.pass(100);
    expect(venue.simulator.books().fills.map(({ price, size, is_maker }) => [price, size, is_maker])).toEqual([
      ['64001', '0.1', false],
      ['64002', '0.1', false],
    ]);
    expect(venue.booked(ack.id)).toMatchObject({
      status: 'canceled',
      reason: 'IMMEDIATE_OR_CANCEL',
      filled: '0.2',
      size: '0.05',
    });
  });

  it('fills a resting order at its own price, part by part, when the price reaches it', async () => {
    const venue = new SimulatedVenue(moving([0, '64000'], [10, '63002'], [11, '63000'], [12, '64000']));
    const ack = await venue.place({ size: '0.45' });
    await venue.until(20_000);
    // At 63002 the ask is 63003; at 63000 it is 63001: neither reaches a bid of 63000.
    expect(venue.booked(ack.id)).toMatchObject({ status: 'open', filled: '0' });
    const deeper = new SimulatedVenue(moving([0, '64000'], [10, '62998'], [10.2, '64000'], [15, '62990']));
    const resting = await deeper.place({ size: '0.45' });
    await deeper.until(20_000);
    const { fills } = deeper.simulator.books();
    // The ask at 62999 leaves two levels up to 63000, at each of two steps of 100 ms; the rest goes at 15 s.
    expect(
      fills.map(({ price, size, is_maker, timestamp }) => [
        price,
        size,
        is_maker,
        Math.floor(timestamp / 1000) - START_MS,
      ]),
    ).toEqual([
      ['63000', '0.2', true, 10_000],
      ['63000', '0.2', true, 10_100],
      ['63000', '0.05', true, 15_000],
    ]);
    expect(deeper.booked(resting.id)).toMatchObject({ status: 'closed', filled: '0.45', size: '0' });
  });

  it('triggers a stop at the price step that reaches it, without a request', async () => {
    const venue = new SimulatedVenue(moving([0, '64000'], [60, '64199'], [61, '64200'], [62, '64100']));
    const stop = await venue.place({ type: 'stop_limit', price: '64264', trigger_price: '64200', size: '0.25' });
    await venue.until(60_500);
    expect(venue.booked(stop.id).status).toBe('open');
    await venue.until(3_600_000);
    expect(venue.booked(stop.id)).toMatchObject({ status: 'closed', filled: '0.25' });
    expect(
      venue.simulator.books().fills.map((fill) => [fill.price, fill.timestamp / 1000 - START_MS >= 61_000]),
    ).toEqual([
      ['64201', true],
      ['64202', true],
      ['64203', true],
    ]);
  });

  it('takes the size of a position order from the position when it is triggered', async () => {
    const venue = new SimulatedVenue(moving([0, '64000'], [60, '63000']));
    await venue.place({ type: 'market', price: '64010', size: '0.3' });
    await venue.pass(100);
    const guard = await venue.place({
      type: 'stop_loss',
      side: 'short',
      size: '0.5',
      trigger_price: '63500',
      price: '62900',
    });
    await venue.pass(100);
    expect(venue.booked(guard.id)).toMatchObject({ status: 'open', size: '0.5', trigger_price: '63500' });
    await venue.place({ type: 'market', side: 'short', price: '63900', size: '0.1' });
    await venue.until(61_000);
    expect(venue.booked(guard.id)).toMatchObject({ status: 'closed', initial_size: '0.1', filled: '0.1' });
    expect(total(venue.simulator.books().fills.map(({ side, size }) => (side === 'long' ? size : `-${size}`)))).toBe(
      '0.1',
    );
  });

  it('triggers a take-profit by a rise and a stop-loss by a fall for a long position', async () => {
    const venue = new SimulatedVenue(moving([0, '64000'], [60, '65000']));
    await venue.place({ type: 'market', price: '64010', size: '0.1' });
    await venue.pass(100);
    const loss = await venue.place({
      type: 'stop_loss',
      side: 'short',
      size: '1',
      trigger_price: '63500',
      price: '62900',
    });
    const profit = await venue.place({
      type: 'take_profit',
      side: 'short',
      size: '1',
      trigger_price: '64900',
      price: '64900',
    });
    await venue.until(61_000);
    expect([venue.booked(loss.id).status, venue.booked(profit.id).status]).toEqual(['open', 'closed']);
  });

  it('rejects all of a fill-or-kill that cannot be filled at once', async () => {
    const venue = new SimulatedVenue();
    const ack = await venue.place({ price: '64002', size: '0.21', time_in_force: 'fill_or_kill' });
    const fits = await venue.place({ price: '64002', size: '0.2', time_in_force: 'fill_or_kill' });
    await venue.pass(100);
    expect(venue.booked(ack.id)).toMatchObject({ status: 'rejected', reason: 'FILL_OR_KILL_NOT_FILLED', filled: '0' });
    expect(venue.booked(fits.id)).toMatchObject({ status: 'closed', filled: '0.2' });
  });

  it('refuses an order over the limit of open orders, also while the last is processing', async () => {
    const venue = new SimulatedVenue({ ...CALM, account: { equity: '100000', maxOpenOrders: 2 } });
    await venue.place();
    await venue.place();
    const said = await venue.call('POST /orders', {
      market_id: 'BTC-USD',
      side: 'long',
      type: 'limit',
      price: '63000',
      size: '0.1',
    });
    expect([said.success, said.error]).toEqual([false, 'OPEN_ORDERS_LIMIT']);
  });

  it('keeps a price of twenty digits as it came', async () => {
    const venue = new SimulatedVenue({ ...CALM, surprises: { offStep: 'accept' } });
    const ack = await venue.place({ price: '0.1234567890123456789', size: '123456789012345678.000000000000000001' });
    expect(ack).toMatchObject({ price: '0.1234567890123456789', size: '123456789012345678.000000000000000001' });
  });
});

describe('PUT /orders', () => {
  it('acknowledges with amending and applies the terms a moment later', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place();
    await venue.pass(100);
    const said = await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '62500', size: '0.2' });
    expect(said.result).toEqual([
      { id, market_id: 'BTC-USD', price: '62500', profile_id: 88892, size: '0.2', status: 'amending' },
    ]);
    expect(await venue.order(id)).toMatchObject({ status: 'amending', price: '63000', size: '0.1' });
    await venue.pass(100);
    expect(await venue.order(id)).toMatchObject({ status: 'open', price: '62500', size: '0.2', initial_size: '0.2' });
  });

  it('leaves the old terms of a post-only order that would cross', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place({ time_in_force: 'post_only' });
    await venue.pass(100);
    await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '64500' });
    await venue.pass(100);
    expect(venue.booked(id)).toMatchObject({ status: 'open', price: '63000', filled: '0' });
  });

  it('trades an order that is amended through the touch', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place();
    await venue.pass(100);
    await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '64001' });
    await venue.pass(100);
    expect(venue.booked(id)).toMatchObject({ status: 'closed', filled: '0.1' });
  });

  it('refuses closed and unknown orders', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place({ price: '64001' });
    await venue.pass(100);
    const closed = await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '64000' });
    const unknown = await venue.call('PUT /orders', { order_id: 'BTC-USD@7', market_id: 'BTC-USD', price: '64000' });
    const elsewhere = await venue.call('PUT /orders', { order_id: id, market_id: 'ETH-USD', price: '3200' });
    expect([closed, unknown, elsewhere].map(({ status, error }) => [status, error])).toEqual([
      [400, 'ORDER_NOT_OPEN'],
      [404, 'ORDER_NOT_FOUND'],
      [404, 'ORDER_NOT_FOUND'],
    ]);
  });
});

describe('DELETE /orders', () => {
  it('acknowledges with canceling, then the order is canceled', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place();
    await venue.pass(100);
    const said = await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' });
    expect(said.result).toEqual([{ id, market_id: 'BTC-USD', profile_id: 88892, status: 'canceling' }]);
    expect(await venue.order(id)).toMatchObject({ status: 'canceling' });
    await venue.pass(100);
    expect(await venue.order(id)).toMatchObject({ status: 'canceled', size: '0.1' });
  });

  it('finds an order by client order id and market', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place({ client_order_id: 'mine' });
    const said = await venue.call('DELETE /orders', { client_order_id: 'mine', market_id: 'BTC-USD' });
    expect(said.result[0]).toMatchObject({ id, status: 'canceling' });
    const nameless = await venue.call('DELETE /orders', { market_id: 'BTC-USD' });
    expect([nameless.success, nameless.error]).toEqual([false, 'MISSING_PARAMETER']);
  });

  it('cancels one that is still processing, which then never opens', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place();
    await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' });
    await venue.pass(200);
    expect(venue.booked(id).history.map((look) => look.status)).toEqual(['processing', 'canceling', 'canceled']);
  });
});

describe('DELETE /orders/cancel_all', () => {
  it('cancels every open order of every market, stops too, through cancelingall to canceled', async () => {
    const venue = new SimulatedVenue();
    const orders = [
      await venue.place(),
      await venue.place({ market_id: 'ETH-USD', price: '3000', size: '1' }),
      await venue.place({ type: 'stop_market', price: undefined, trigger_price: '70000' }),
    ];
    await venue.pass(100);
    const said = await venue.call('DELETE /orders/cancel_all', {});
    expect(said.result).toEqual([]);
    expect((await venue.call('GET /orders', { status: 'cancelingall' })).result).toHaveLength(3);
    await venue.pass(100);
    expect(orders.map(({ id }) => venue.booked(id).status)).toEqual(['canceled', 'canceled', 'canceled']);
  });
});

describe('GET /orders', () => {
  async function five(): Promise<SimulatedVenue> {
    const venue = new SimulatedVenue();
    for (const [index, price] of ['61000', '61001', '61002', '61003'].entries()) {
      await venue.place({ price, client_order_id: `c${index % 2}` });
      await venue.pass(1000);
    }
    await venue.place({ market_id: 'ETH-USD', price: '3000', size: '1', client_order_id: 'c0' });
    await venue.pass(1000);
    return venue;
  }
  const prices = (result: readonly { price: string }[]) => result.map(({ price }) => price);

  it('lists the newest first, pages from 0, and reverses the order on ASC', async () => {
    const venue = await five();
    const list = async (params: object) => prices((await venue.call('GET /orders', params)).result);
    expect(await list({})).toEqual(['3000', '61003', '61002', '61001', '61000']);
    expect(await list({ p_limit: 2, p_page: 1 })).toEqual(['61002', '61001']);
    expect(await list({ p_limit: 2, p_page: 2 })).toEqual(['61000']);
    expect(await list({ p_limit: 2, p_order: 'ASC' })).toEqual(['61000', '61001']);
  });

  it('filters by market, client order id, status and time, both ends included', async () => {
    const venue = await five();
    const all = venue.simulator.books().orders.map((order) => order.arrivedAt * 1000);
    const list = async (params: object) => prices((await venue.call('GET /orders', params)).result);
    expect(await list({ market_id: 'ETH-USD' })).toEqual(['3000']);
    expect(await list({ market_id: 'BTC-USD', client_order_id: 'c0' })).toEqual(['61002', '61000']);
    expect(await list({ start_time: all[1], end_time: all[3] })).toEqual(['61003', '61002', '61001']);
    expect(await list({ status: 'closed' })).toEqual([]);
    expect(await list({ status: 'open', market_id: 'BTC-USD', p_limit: 1 })).toEqual(['61003']);
  });

  it('refuses a client order id without its market, and more than 1000 rows', async () => {
    const venue = await five();
    expect(await venue.call('GET /orders', { client_order_id: 'c0' })).toMatchObject({
      success: false,
      error: 'MISSING_PARAMETER',
    });
    expect(await venue.call('GET /orders', { p_limit: 1001 })).toMatchObject({
      success: false,
      error: 'INVALID_PARAMETER',
    });
  });

  it('gives 100 rows when p_limit is absent', async () => {
    const venue = new SimulatedVenue({ ...CALM, tokens: { limit: 100_000 } });
    for (let count = 0; count < 101; count += 1) await venue.place({ size: '0.0001' });
    expect((await venue.call('GET /orders', {})).result).toHaveLength(100);
    expect((await venue.call('GET /orders', { p_page: 1 })).result).toHaveLength(1);
  });

  it('needs up to ten times as long without start_time, growing with the history', async () => {
    const resting = Array.from(
      { length: 900 },
      () => ({ market: 'BTC-USD', side: 'long', size: '0.0001', price: '60000', agoMs: 1000 }) as const,
    );
    const venue = new SimulatedVenue({ ...CALM, account: { equity: '100000', resting } });
    const took = async (params: object) => {
      const from = venue.clock.now();
      await venue.call('GET /orders', params);
      return venue.clock.now() - from;
    };
    expect(await took({ start_time: START_MS * 1000 })).toBe(10);
    expect(await took({})).toBe(100);
  });
});
