/** One case for each of the surprises (venue-notes.md, Surprises), as the simulated venue shows it. */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { CALM, moving, SimulatedVenue } from './harness.ts';

const surprised = (surprises: NonNullable<SimulatorConfig['surprises']>, config: SimulatorConfig = CALM) =>
  new SimulatedVenue({ ...config, surprises });
const statuses = (venue: SimulatedVenue, id: string) => venue.booked(id).history.map((look) => look.status);

describe('surprise 1: an acknowledgement is not an outcome', () => {
  it.each([
    ['margin', { size: '100' }, 'INSUFFICIENT_MARGIN'],
    ['post-only that would cross', { price: '64001', time_in_force: 'post_only' as const }, 'POST_ONLY_WOULD_CROSS'],
    ['time in force', { price: '64001', size: '1', time_in_force: 'fill_or_kill' as const }, 'FILL_OR_KILL_NOT_FILLED'],
    [
      'no position',
      { type: 'stop_loss' as const, side: 'short' as const, size: '1', trigger_price: '63000', price: '62900' },
      'NO_POSITION',
    ],
  ])('an order is acknowledged and then rejected: %s', async (_, params, reason) => {
    const venue = new SimulatedVenue();
    const ack = await venue.place(params);
    expect(ack.status).toBe('processing');
    await venue.pass(100);
    expect(await venue.order(ack.id)).toMatchObject({ status: 'rejected', reason, total_filled_size: '0' });
    expect(statuses(venue, ack.id)).toEqual(['processing', 'rejected']);
  });

  it('any order can be rejected late by configuration', async () => {
    const venue = new SimulatedVenue({
      ...CALM,
      faults: [{ on: 'POST /orders', when: { type: 'limit', call: 2 }, do: 'late_reject', reason: 'RISK' }],
    });
    const [first, second] = [await venue.place(), await venue.place()];
    await venue.pass(100);
    expect([venue.booked(first.id).status, venue.booked(second.id).status, venue.booked(second.id).reason]).toEqual([
      'open',
      'rejected',
      'RISK',
    ]);
  });

  it('a cancel is acknowledged and the order is still there afterwards', async () => {
    const venue = new SimulatedVenue({
      ...CALM,
      faults: [{ on: 'DELETE /orders', when: { call: 1 }, do: 'cancel_lost' }],
    });
    const { id } = await venue.place();
    await venue.pass(100);
    expect((await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' })).result[0]?.status).toBe(
      'canceling',
    );
    await venue.pass(100);
    expect(statuses(venue, id)).toEqual(['processing', 'open', 'canceling', 'open']);
    await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' });
    await venue.pass(100);
    expect(venue.booked(id).status).toBe('canceled');
  });

  it('an amend is acknowledged and the old terms stay', async () => {
    const venue = new SimulatedVenue({ ...CALM, faults: [{ on: 'PUT /orders', do: 'amend_lost' }] });
    const { id } = await venue.place();
    await venue.pass(100);
    await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '62000' });
    await venue.pass(100);
    expect(venue.booked(id)).toMatchObject({ status: 'open', price: '63000' });
    expect(statuses(venue, id)).toEqual(['processing', 'open', 'amending', 'open']);
  });
});

describe('surprise 2: an order may not be visible yet', () => {
  it('is not found by any read within the lag, and is found afterwards as if it had always been there', async () => {
    const venue = new SimulatedVenue({ ...CALM, visibilityLagMs: { min: 1500, max: 1500 } });
    const { id } = await venue.place({ client_order_id: 'mine' });
    const found = async (params: object) => (await venue.call('GET /orders', params)).result.length;
    expect([
      await found({ order_id: id }),
      await found({ market_id: 'BTC-USD', client_order_id: 'mine' }),
      await found({}),
    ]).toEqual([0, 0, 0]);
    await venue.pass(100);
    expect(venue.booked(id).status).toBe('open');
    await venue.pass(1500);
    expect(await found({ market_id: 'BTC-USD', client_order_id: 'mine' })).toBe(1);
  });

  it('can be so of one order and not of another, and of one fill', async () => {
    const venue = surprised({ lags: 'each' }, { ...CALM, readLagMs: 2000, fillLagMs: 2000 });
    const ids: string[] = [];
    for (let index = 0; index < 8; index += 1) ids.push((await venue.place({ price: '64001', size: '0.001' })).id);
    const listShown = async () => (await Promise.all(ids.map((id) => venue.order(id)))).map((each) => each?.status);
    const countFills = async () => (await venue.call('GET /fills', {})).result.length;
    await venue.pass(1000);
    expect(new Set(await listShown())).toEqual(new Set(['processing', 'closed']));
    expect([0, 8]).not.toContain(await countFills());
    await venue.pass(2000);
    expect([new Set(await listShown()), await countFills()]).toEqual([new Set(['closed']), 8]);
  });

  it('a later reading can show an earlier state', async () => {
    const venue = surprised({ lags: 'reads' }, { ...CALM, readLagMs: 2000 });
    const { id } = await venue.place({ price: '64001' });
    const shown: (string | undefined)[] = [];
    for (let index = 0; index < 20; index += 1) {
      await venue.pass(100);
      shown.push((await venue.order(id))?.status);
    }
    expect(shown.slice(shown.indexOf('closed'))).toContain('processing');
  });

  it('reads can be older than the present', async () => {
    const venue = new SimulatedVenue({ ...CALM, readLagMs: 1000 });
    const { id } = await venue.place({ price: '64001' });
    await venue.pass(500);
    expect([venue.booked(id).status, (await venue.order(id))?.status]).toEqual(['closed', 'processing']);
    await venue.pass(1000);
    expect((await venue.order(id))?.status).toBe('closed');
  });
});

describe('surprise 3: any terminal status may carry fills', () => {
  it('a cancel that lost against a fill', async () => {
    const venue = new SimulatedVenue({
      ...CALM,
      faults: [{ on: 'DELETE /orders', do: 'fill_first', fraction: '0.5' }],
    });
    const { id } = await venue.place({ size: '0.1' });
    await venue.pass(100);
    await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' });
    await venue.pass(100);
    expect(venue.booked(id)).toMatchObject({ status: 'canceled', filled: '0.05', size: '0.05' });
    expect((await venue.call('GET /fills/order', { order_id: id })).result).toHaveLength(1);
  });

  it('an immediate-or-cancel that ends as rejected', async () => {
    const venue = surprised({ iocRest: 'rejected' });
    const { id } = await venue.place({ price: '64001', size: '0.3', time_in_force: 'immediate_or_cancel' });
    await venue.pass(100);
    expect(venue.booked(id)).toMatchObject({ status: 'rejected', filled: '0.1', size: '0.2' });
  });

  it.each([
    ['limit', 'canceled', '0.1'],
    ['market', 'closed', '0.3'],
  ] as const)('an immediate-or-cancel %s order shows as open and unfilled first', async (type, status, filled) => {
    const venue = surprised({ immediateOpenMs: 1000 });
    const price = type === 'limit' ? '64001' : '64010';
    const { id } = await venue.place({ type, price, size: '0.3', time_in_force: 'immediate_or_cancel' });
    await venue.pass(500);
    expect(await venue.order(id)).toMatchObject({ status: 'open', total_filled_size: '0', size: '0.3' });
    expect((await venue.call('GET /fills/order', { order_id: id })).result).not.toEqual([]);
    await venue.pass(1000);
    expect(await venue.order(id)).toMatchObject({ status, total_filled_size: filled });
  });
});

describe('a cancel', () => {
  it('can be carried out before it is answered', async () => {
    const venue = surprised({ cancelAck: 'canceled' });
    const { id } = await venue.place();
    await venue.pass(100);
    const answer = await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' });
    expect(answer.result).toMatchObject([{ id, status: 'canceled' }]);
    expect(statuses(venue, id)).toEqual(['processing', 'open', 'canceled']);
  });
});

describe('surprise 4: an amended order may show as canceled for an instant', () => {
  it('and is open again with its new terms', async () => {
    const venue = surprised({ amendFlickerMs: 300 });
    const { id } = await venue.place();
    await venue.pass(100);
    await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '62000' });
    await venue.pass(100);
    expect(await venue.order(id)).toMatchObject({ status: 'canceled', price: '63000' });
    await venue.pass(400);
    expect(await venue.order(id)).toMatchObject({ status: 'open', price: '62000' });
    expect(statuses(venue, id)).toEqual(['processing', 'open', 'amending', 'canceled', 'open']);
  });
});

describe('surprise 5: after an amend, initial_size - size need not equal total_filled_size', () => {
  it.each([
    ['total', { size: '0.2', initial_size: '0.3', total_filled_size: '0.1' }],
    ['remaining', { size: '0.3', initial_size: '0.3', total_filled_size: '0.1' }],
  ] as const)('with a size that means the %s', async (amendSize, shown) => {
    const venue = surprised({ amendSize }, moving([0, '64000'], [10, '62999'], [10.1, '64000']));
    const { id } = await venue.place({ size: '0.2' });
    await venue.until(11_000);
    expect(venue.booked(id)).toMatchObject({ status: 'open', filled: '0.1' });
    await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '60000', size: '0.3' });
    await venue.pass(100);
    expect(await venue.order(id)).toMatchObject({ status: 'open', price: '60000', ...shown });
  });
});

describe('surprise 5: after an amend, initial_size may stay what it was', () => {
  it('and size alone shows the new one', async () => {
    const venue = surprised({ amendInitialSize: 'stays' });
    const { id } = await venue.place({ size: '0.2' });
    await venue.pass(100);
    await venue.call('PUT /orders', { order_id: id, market_id: 'BTC-USD', price: '60000', size: '0.1' });
    await venue.pass(100);
    expect(await venue.order(id)).toMatchObject({ price: '60000', size: '0.1', initial_size: '0.2' });
  });
});

describe('surprise 6: a market order is given a price, and what does not fill can rest', () => {
  it('rests as good-till-cancel and does not as immediate-or-cancel', async () => {
    const venue = new SimulatedVenue();
    const rests = await venue.place({ type: 'market', price: '64001', size: '0.3' });
    await venue.pass(45);
    const ends = await venue.place({
      type: 'market',
      price: '63990',
      size: '0.3',
      time_in_force: 'immediate_or_cancel',
    });
    await venue.pass(20);
    expect(venue.booked(rests.id)).toMatchObject({ status: 'open', filled: '0.1', size: '0.2', type: 'market' });
    await venue.pass(100);
    expect(venue.booked(ends.id)).toMatchObject({ status: 'canceled', filled: '0' });
  });
});

describe('surprise 7: the deadman switch cancels stops too and can leave a position without its stop', () => {
  it("takes another program's orders with it, may take seconds, and is off afterwards", async () => {
    const resting = [
      { market: 'ETH-USD', side: 'long', size: '1', price: '3000', agoMs: 60_000, client_order_id: 'somebody' },
    ] as const;
    const venue = surprised({ deadmanDelayMs: 2000 }, { ...CALM, account: { equity: '100000', resting } });
    await venue.place({ type: 'market', price: '64010', size: '0.1' });
    await venue.pass(100);
    const stop = await venue.place({
      type: 'stop_loss',
      side: 'short',
      size: '1',
      trigger_price: '60000',
      price: '59000',
    });
    await venue.call('POST /cancel_all_after', { market_id: 'BTC-USD', timeout: 5000 });
    await venue.pass(6000);
    expect(venue.booked(stop.id).status).toBe('open');
    await venue.pass(2000);
    const { orders, account, deadman } = venue.simulator.books();
    expect(orders.map((order) => order.status)).toEqual(['canceled', 'closed', 'canceled']);
    expect(account.total_notional).toBe('6400');
    expect(deadman.armed).toEqual([]);
  });
});

describe('surprise 8: a second POST with one client order id', () => {
  it('is a second order where the venue does not refuse it', async () => {
    const venue = new SimulatedVenue();
    const [first, second] = [
      await venue.place({ client_order_id: 'same' }),
      await venue.place({ client_order_id: 'same' }),
    ];
    expect(first.id).not.toBe(second.id);
    expect((await venue.call('GET /orders', { market_id: 'BTC-USD', client_order_id: 'same' })).result).toHaveLength(2);
  });
});

describe('surprise 9: decimals run to 36 digits', () => {
  it('and come back whole in every record', async () => {
    const equity = '123456789012345678.123456789012345678';
    const venue = new SimulatedVenue({ ...CALM, account: { equity }, surprises: { offStep: 'accept' } });
    expect((await venue.account()).balance).toBe(equity);
    const { id } = await venue.place({ price: '123456789.000000000000000001', size: '0.000123456789012345' });
    expect(await venue.order(id)).toMatchObject({
      price: '123456789.000000000000000001',
      initial_size: '0.000123456789012345',
    });
  });

  it('refuses what JavaScript makes of a small number', async () => {
    const venue = new SimulatedVenue({ ...CALM, surprises: { offStep: 'accept' } });
    await expect(venue.place({ size: String(0.0000001) })).rejects.toThrow('INVALID_PARAMETER');
  });
});

describe('surprise 10: pages are offsets while orders change', () => {
  it('a row is repeated when an order comes in between two pages', async () => {
    const venue = new SimulatedVenue();
    for (const price of ['61000', '61001', '61002', '61003']) await venue.place({ price });
    const page = async (p_page: number) =>
      (await venue.call('GET /orders', { p_limit: 2, p_page })).result.map((order: { price: string }) => order.price);
    const first = await page(0);
    await venue.place({ price: '61004' });
    expect([first, await page(1)]).toEqual([
      ['61003', '61002'],
      ['61002', '61001'],
    ]);
  });

  it('a page of 1000 rows holds all open orders there can be', async () => {
    const resting = Array.from(
      { length: 1000 },
      () => ({ market: 'BTC-USD', side: 'long', size: '0.0001', price: '60000', agoMs: 1000 }) as const,
    );
    const venue = new SimulatedVenue({ ...CALM, account: { equity: '100000', resting } });
    expect((await venue.call('GET /orders', { status: 'open', p_limit: 1000 })).result).toHaveLength(1000);
    await expect(venue.place()).rejects.toThrow('OPEN_ORDERS_LIMIT');
  });
});

describe('surprise 11: a duplicate-id refusal means that it exists', () => {
  it('and it can be looked up', async () => {
    const venue = surprised(
      { duplicateIds: 'refuse' },
      { ...CALM, faults: [{ on: 'POST /orders', when: { call: 1 }, do: 'lost_after' }] },
    );
    const params = {
      market_id: 'BTC-USD',
      side: 'long',
      type: 'limit',
      price: '63000',
      size: '0.1',
      client_order_id: 'once',
    } as const;
    expect((await venue.send('POST /orders', params)).kind).toBe('failure');
    expect(await venue.call('POST /orders', params)).toMatchObject({
      success: false,
      error: 'CLIENT_ORDER_ID_DUPLICATE',
    });
    const found = await venue.call('GET /orders', { market_id: 'BTC-USD', client_order_id: 'once' });
    expect(found.result).toEqual([expect.objectContaining({ client_order_id: 'once', status: 'open' })]);
  });

  it('or the second request is answered with success, by the order that there is', async () => {
    const venue = surprised({ duplicateIds: 'same' });
    const first = await venue.place({ client_order_id: 'once' });
    await venue.pass(100);
    expect((await venue.place({ client_order_id: 'once' })).id).toBe(first.id);
    expect(venue.simulator.books().orders.filter(({ client_order_id }) => client_order_id === 'once')).toHaveLength(1);
  });
});

describe('an id of an order in GET /orders', () => {
  it.each([
    ['exact', 1],
    ['all', 2],
  ] as const)('selects rows, or is ignored: %s', async (lookups, rows) => {
    const venue = surprised({ lookups });
    const { id } = await venue.place({ client_order_id: 'one' });
    await venue.place({ client_order_id: 'two' });
    await venue.pass(100);
    const market_id = 'BTC-USD';
    for (const params of [
      { market_id, client_order_id: 'one' },
      { market_id, order_id: id },
    ])
      expect((await venue.call('GET /orders', params)).result).toHaveLength(rows);
  });
});

describe('surprise 12: error texts come in three forms', () => {
  it.each([
    ['code', 'ORDER_NOT_FOUND'],
    ['code_and_text', 'ORDER_NOT_FOUND: there is no such order in that market'],
    ['text', 'there is no such order in that market'],
  ] as const)('%s', async (errorText, text) => {
    const venue = surprised({ errorText });
    expect((await venue.call('DELETE /orders', { order_id: 'BTC-USD@9', market_id: 'BTC-USD' })).error).toBe(text);
  });

  it.each([
    ['by_kind', 404],
    [200, 200],
    [400, 400],
  ] as const)('with a status that is %s', async (refusalStatus, status) => {
    const venue = surprised({ refusalStatus });
    expect((await venue.call('DELETE /orders', { order_id: 'BTC-USD@9', market_id: 'BTC-USD' })).status).toBe(status);
  });
});

describe('surprise 13: an order that is not there is an empty list, or a refusal', () => {
  it.each([
    ['empty', { success: true, result: [] }],
    ['refuse', { success: false, status: 404, error: 'ORDER_NOT_FOUND' }],
  ] as const)('by either id: %s', async (missingOrder, answer) => {
    const venue = surprised({ missingOrder });
    const { id } = await venue.place();
    await venue.pass(100);
    expect(await venue.call('GET /orders', { order_id: 'BTC-USD@9', market_id: 'BTC-USD' })).toMatchObject(answer);
    expect(await venue.call('GET /orders', { client_order_id: 'x', market_id: 'BTC-USD' })).toMatchObject(answer);
    expect((await venue.order(id))?.status).toBe('open');
    expect((await venue.call('GET /orders', { market_id: 'ETH-USD' })).result).toEqual([]);
  });
});

describe('other spellings that have been seen', () => {
  it('shows an untriggered stop as placed, and finds it by that status', async () => {
    const venue = surprised({ stopStatus: 'placed' }, moving([0, '64000'], [60, '66000']));
    const { id } = await venue.place({ type: 'stop_market', price: undefined, trigger_price: '65000' });
    await venue.pass(100);
    expect((await venue.order(id))?.status).toBe('placed');
    expect((await venue.call('GET /orders', { status: 'placed' as never })).result).toHaveLength(1);
    expect((await venue.call('GET /orders', { status: 'open' })).result).toHaveLength(0);
    await venue.until(61_000);
    expect((await venue.order(id))?.status).toBe('closed');
  });

  it('answers cancel_all with [true]', async () => {
    const venue = surprised({ cancelAllResult: 'true' });
    expect((await venue.call('DELETE /orders/cancel_all', {})).result).toEqual([true]);
  });

  it('takes the fraction of a position order as size_percent', async () => {
    const venue = surprised({ positionSizeField: 'size_percent', positionTypeSuffix: '_limit' });
    const body =
      '{"market_id":"BTC-USD","side":"short","type":"stop_loss_limit","size_percent":0.5,"trigger_price":60000,"price":59000}';
    const reply = await venue.serve({
      method: 'POST',
      path: '/orders',
      query: '',
      headers: { authorization: 'Bearer x' },
      body,
    });
    expect(reply.kind === 'answer' && JSON.parse(reply.body).result[0]).toMatchObject({
      type: 'stop_loss',
      size: '0.5',
    });
  });
});
