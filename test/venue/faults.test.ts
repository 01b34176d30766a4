/** Tests the faults that a configuration can inject (fault-matrix.md), seen by the transport and by the venue's own records. */
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS, type FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import { CALM, SimulatedVenue } from './harness.ts';

const ORDER = {
  market_id: 'BTC-USD',
  side: 'long',
  type: 'limit',
  price: '63000',
  size: '0.1',
  client_order_id: 'mine',
} as const;

/** One POST /orders under a fault: what the client sees, and how many orders there are afterwards. */
async function posted(fault: Omit<FaultRule, 'on'>) {
  const venue = new SimulatedVenue({ ...CALM, faults: [{ on: 'POST /orders', ...fault }] });
  const from = venue.clock.now();
  const reply = await venue.send('POST /orders', ORDER, 5000);
  const tookMs = venue.clock.now() - from;
  await venue.pass(60_000);
  return { reply, tookMs, orders: venue.simulator.books().orders, venue };
}

describe('the network', () => {
  it.each([
    ['lost_before', { kind: 'failure', sent: true, message: 'timeout: response' }, 0, 5000],
    ['lost_after', { kind: 'failure', sent: true, message: 'timeout: response' }, 1, 5000],
    ['slow_loris', { kind: 'failure', sent: true, message: 'timeout: response' }, 1, 5000],
    ['refused', { kind: 'failure', sent: false, message: 'ECONNREFUSED' }, 0, 5],
    ['reset_before', { kind: 'failure', sent: true, message: 'ECONNRESET' }, 0, 5],
    ['reset_after', { kind: 'failure', sent: true, message: 'ECONNRESET' }, 1, 10],
    ['truncated', { kind: 'failure', sent: true, message: 'the body ended early' }, 1, 10],
    ['oversize', { kind: 'failure', sent: true, message: 'body over 8 MiB' }, 1, 10],
  ] as const)('%s', async (kind, reply, orders, tookMs) => {
    const seen = await posted({ do: kind });
    expect([seen.reply, seen.orders.length, seen.tookMs]).toEqual([reply, orders, tookMs]);
  });

  it('a delayed answer is late, and after the time-out the order still exists', async () => {
    const late = await posted({ do: 'delay', ms: 1000 });
    expect([late.reply.kind, late.tookMs, late.orders.length]).toEqual(['answer', 1010, 1]);
    const tooLate = await posted({ do: 'delay', ms: 9000 });
    expect([tooLate.reply.kind, tooLate.tookMs, tooLate.orders.length]).toEqual(['failure', 5000, 1]);
  });

  it('a delayed request becomes an order long after its time-out', async () => {
    const ghost = await posted({ do: 'delay', ms: 30_000, way: 'request' });
    expect(ghost.reply.kind).toBe('failure');
    const [request] = ghost.venue.simulator.books().requests;
    expect(ghost.orders.map((order) => order.arrivedAt)).toEqual([(request?.sentAt ?? 0) + 30_005]);
  });
});

describe('the answer', () => {
  const body = async (fault: Omit<FaultRule, 'on'>) => {
    const { reply, orders } = await posted(fault);
    return reply.kind === 'answer'
      ? { status: reply.status, body: reply.body, headers: reply.headers, orders: orders.length }
      : reply;
  };

  it.each([
    [
      { do: 'status', status: 503 },
      { status: 503, body: 'upstream error', orders: 0 },
    ],
    [
      { do: 'status', status: 504, processed: true },
      { status: 504, orders: 1 },
    ],
    [
      { do: 'error', error: 'ODD' },
      { status: 200, body: '{"success":false,"error":"ODD","result":[]}', orders: 0 },
    ],
    [
      { do: 'error', error: 'ODD', status: 500, processed: true },
      { status: 500, orders: 1 },
    ],
    [{ do: 'empty' }, { status: 200, body: '', orders: 1 }],
    [{ do: 'empty_result' }, { status: 200, body: '{"success":true,"error":"","result":[]}', orders: 1 }],
    [
      { do: 'redirect', status: 308, location: 'http://other/' },
      { status: 308, headers: { location: 'http://other/' }, orders: 0 },
    ],
    [
      { do: 'rate_limited', retryAfter: '-7' },
      { status: 429, headers: expect.objectContaining({ 'x-ratelimit-retry-after': '-7' }), orders: 0 },
    ],
    [{ do: 'unauthorized' }, { status: 401, body: '{"success":false,"error":"UNAUTHORIZED","result":[]}', orders: 0 }],
  ] as const)('%j', async (fault, seen) => {
    expect(await body(fault)).toMatchObject(seen);
  });

  it('malformed is the right answer without its end', async () => {
    const seen = await body({ do: 'malformed' });
    expect(seen).toMatchObject({ status: 200, orders: 1 });
    expect(() => JSON.parse('body' in seen ? seen.body : '')).toThrow(SyntaxError);
  });

  it('no_headers is the right answer without what it says of the tokens', async () => {
    const [bare, whole] = [await body({ do: 'no_headers' }), await body({ do: 'delay' })];
    expect(bare).toEqual({ ...whole, headers: { 'content-type': 'application/json' } });
    expect(whole).toMatchObject({ headers: { 'x-ratelimit-limit': '1200' }, orders: 1 });
  });

  it('html is a page', async () => {
    expect(await body({ do: 'html' })).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/html' },
      orders: 1,
    });
  });

  it('two_records and other_record contradict the request', async () => {
    const [two, other] = [await body({ do: 'two_records' }), await body({ do: 'other_record' })];
    expect('body' in two && JSON.parse(two.body).result).toHaveLength(2);
    expect('body' in other && JSON.parse(other.body).result[0]).toMatchObject({
      id: 'BTC-USD@1001',
      client_order_id: 'somebody-elses',
    });
  });
});

describe('the orders', () => {
  it('an order can stay processing for ever, or for long', async () => {
    expect((await posted({ do: 'stuck' })).orders[0]?.status).toBe('processing');
    const long = await posted({ do: 'stuck', ms: 59_000 });
    expect(long.orders[0]?.history.map(({ at, status }) => [at - (long.orders[0]?.arrivedAt ?? 0), status])).toEqual([
      [0, 'processing'],
      [59_050, 'open'],
    ]);
  });

  it('an order can be invisible for a configured time', async () => {
    const { venue, orders } = await posted({ do: 'invisible', ms: 90_000 });
    expect(await venue.order(orders[0]?.id ?? '')).toBeUndefined();
    await venue.pass(40_000);
    expect(await venue.order(orders[0]?.id ?? '')).toMatchObject({ status: 'open' });
  });

  it('an order can be refused, and be shown some time later', async () => {
    const { venue, orders } = await posted({ do: 'error', error: 'ENGINE_TIMEOUT', processed: true, ms: 90_000 });
    expect(orders).toHaveLength(1);
    expect(await venue.order(orders[0]?.id ?? '')).toBeUndefined();
    await venue.pass(40_000);
    expect(await venue.order(orders[0]?.id ?? '')).toMatchObject({ status: 'open' });
  });

  it('a lost cancel_all leaves all orders', async () => {
    const venue = new SimulatedVenue({
      ...CALM,
      faults: [{ on: 'DELETE /orders/cancel_all', when: { call: 1 }, do: 'cancel_lost' }],
    });
    const { id } = await venue.place();
    await venue.pass(100);
    await venue.call('DELETE /orders/cancel_all', {});
    await venue.pass(100);
    expect(venue.booked(id).status).toBe('open');
  });
});

describe('which request meets which fault', () => {
  async function met(when: FaultRule['when'], config = {}): Promise<boolean[]> {
    const venue = new SimulatedVenue({
      ...CALM,
      ...config,
      faults: [{ on: 'POST /orders', ...(when === undefined ? {} : { when }), do: 'error' }],
    });
    const refused: boolean[] = [];
    for (let time = 0; time < 6; time += 1) {
      const market_id = time % 2 === 0 ? 'BTC-USD' : 'ETH-USD';
      refused.push(
        !(
          await venue.call('POST /orders', {
            ...ORDER,
            market_id,
            type: time < 3 ? 'limit' : 'market',
            price: market_id === 'BTC-USD' ? '63000' : '3000',
          })
        ).success,
      );
    }
    return refused;
  }
  const [no, yes] = [false, true];

  it.each([
    [undefined, [yes, yes, yes, yes, yes, yes]],
    [{ call: 2 }, [no, yes, no, no, no, no]],
    [{ call: '5+' }, [no, no, no, no, yes, yes]],
    [{ call: '2-3' }, [no, yes, yes, no, no, no]],
    [{ type: 'market' }, [no, no, no, yes, yes, yes]],
    [{ type: 'market', call: 2 }, [no, no, no, no, yes, no]],
    [{ market: 'ETH-USD' }, [no, yes, no, yes, no, yes]],
    [{ afterMs: 15, untilMs: 35 }, [no, no, yes, yes, no, no]],
    [{ probability: 0 }, [no, no, no, no, no, no]],
    [{ probability: 1 }, [yes, yes, yes, yes, yes, yes]],
  ] as const)('%j', async (when, expected) => {
    expect(await met(when)).toEqual(expected);
  });

  it('applies the first rule that matches, and rules that are replaced at run time', async () => {
    const venue = new SimulatedVenue({
      ...CALM,
      faults: [
        { on: '*', when: { call: 1 }, do: 'error', error: 'FIRST' },
        { on: 'GET /account', do: 'error', error: 'SECOND' },
      ],
    });
    const errors = [(await venue.call('GET /account', {})).error, (await venue.call('GET /account', {})).error];
    venue.simulator.setFaults([]);
    errors.push((await venue.call('GET /account', {})).error);
    expect(errors).toEqual(['FIRST', 'SECOND', '']);
    expect(venue.simulator.books().requests.map((request) => request.fault)).toEqual(['error', 'error', undefined]);
  });
});

it('every kind of fault leaves a POST /orders with at most one order and one reply', async () => {
  for (const kind of FAULT_KINDS) {
    const { reply, orders } = await posted({ do: kind });
    expect([kind, ['answer', 'failure'].includes(reply.kind), orders.length <= 1]).toEqual([kind, true, true]);
  }
});
