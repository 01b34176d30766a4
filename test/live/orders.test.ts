import { describe, expect, it } from 'vitest';
import { itFirst } from '../rows.ts';
import { envelope, type MockVenue, type Reaction, type Rule } from './mock-venue.ts';
import { document, LIMIT, type Report, scene } from './scene.ts';

/** The first POST /orders is answered so. */
function firstPost(reaction: Reaction): (venue: MockVenue) => void {
  return (venue) => venue.rules.push(onFirst('POST', reaction));
}

function onFirst(method: string, reaction: Reaction): Rule {
  return (heard, count) => (heard.method === method && heard.path === '/orders' && count === 1 ? reaction : undefined);
}

const AMEND_AND_CANCEL = `${LIMIT.replace(/outputs.*\n/, '')}  - amend: {order: o, price: 19900}
  - cancel: o
    await: terminal
outputs: {price: o.price, filled: o.filled}
`;

describe.concurrent('an order on the wire', () => {
  it('is one POST with the exact bytes, decimals as literals without an exponent', () =>
    scene(
      {
        profile: 'markets: {BTC-USD: {tick: "0.000000000000000001", lot: "0.0000001", min_size: "0.0000001"}}',
        runbook: LIMIT.replace('0.0001', '0.0000001').replace('19800', '123456789012345678.123456789012345678'),
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect(exit).toBe(0);
        const [order] = report.orders;
        expect(venue.placed.map(({ body }) => body)).toEqual([
          `{"market_id":"BTC-USD","price":123456789012345678.123456789012345678,"side":"long","size":0.0000001,"type":"limit","client_order_id":"${order?.clientOrderId}","time_in_force":"good_till_cancel"}`,
        ]);
        expect(order).toMatchObject({ state: 'open', filled: '0', price: '123456789012345678.123456789012345678' });
        expect(order?.clientOrderId).toMatch(/^[A-Za-z0-9_-]{1,50}$/);
        const reads = venue.of('GET', '/orders');
        expect(reads.every(({ body, query }) => body === '' && query !== '')).toBe(true);
      },
    ));

  it('is read back with decimals that come as JSON numbers, exponents too', () =>
    scene(
      {
        venue: (venue) => {
          venue.shown = (decimal) => Number(decimal);
          venue.outcome = () => ({ status: 'closed', filled: true });
        },
        profile: 'markets: {BTC-USD: {tick: "1", lot: "0.0000001", min_size: "0.0000001"}}',
        runbook: LIMIT.replace('0.0001', '0.0000001'),
      },
      async ({ live }) => {
        const { exit, report } = await live();
        expect([exit, report.orders]).toMatchObject([
          0,
          [{ state: 'closed', filled: '0.0000001', averagePrice: '19800' }],
        ]);
      },
    ));

  it('is never sent off the step of its market: the nearest legal price is named', () =>
    scene({ runbook: LIMIT.replace('19800', '19800.4') }, async ({ venue, live }) => {
      const { exit, report } = await live();
      expect([exit, report.error?.kind, report.error?.message]).toEqual([
        1,
        'denied',
        'PRICE_OFF_TICK: price=19800.4, tick=1, nearest=19800',
      ]);
      expect(venue.placed).toEqual([]);
    }));

  it('is not sent into an account with as many open orders as the venue takes', () =>
    scene(
      {
        venue: (venue) => {
          for (let at = 1; at <= 1000; at += 1) venue.orders.push({ ...RESTING, id: `BTC-USD@${at}` });
        },
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.error?.message]).toEqual([1, 'OPEN_ORDERS_NEAR_VENUE_LIMIT: open=1001, max=950']);
        expect(venue.placed).toEqual([]);
      },
    ));
});

describe.concurrent('the readings at the start', () => {
  itFirst(1, [
    ['without an answer', { cut: true }],
    ['with status 503', { status: 503, body: envelope([], 'BUSY') }],
    ['with half a document', { body: '{"success":true,"error":"","result":[{"id":' }],
  ] as const)('%s is made again, as every reading is', (_name, reaction) =>
    scene({}, async ({ venue, live }) => {
      // The orders since the newest entry, which are compared with the journal, and then the open ones.
      let reads = 0;
      venue.rules.push(({ method }) => (method === 'GET' && [1, 3].includes(++reads) ? reaction : undefined));
      const { exit } = await live();
      expect([exit, venue.placed.length]).toEqual([0, 1]);
      const asked = venue.heard.slice(
        0,
        venue.heard.findIndex(({ method }) => method === 'POST'),
      );
      expect(asked.map(({ query }) => query.includes('status=open'))).toEqual([false, false, true, true]);
    }),
  );
});

describe.concurrent('an order whose answer says nothing', () => {
  itFirst(3, [
    ['a cut connection after it was placed', { done: true, cut: true }],
    ['half a document', { done: true, body: '{"success":true,"error":"","result":[{"id":' }],
    ['a refusal of an unknown text, although it was placed', { done: true, body: envelope([], 'SOMETHING_NEW') }],
    ['status 500 after it was placed', { done: true, status: 500, body: 'oops' }],
    ['status 502 with a page', { done: true, status: 502, body: '<html>', headers: { 'content-type': 'text/html' } }],
    ['success without a record', { done: true, body: envelope([]) }],
    ['a refusal as duplicate, although it was placed', { done: true, body: envelope([], 'CLIENT_ORDER_ID_DUPLICATE') }],
    ['an answer that comes too late', { done: true, delayMs: 12_000 }],
  ] as const)('%s: looked up and adopted, never sent again', (_name, reaction) =>
    scene({ venue: firstPost(reaction) }, async ({ venue, live }) => {
      const { exit, report } = await live();
      expect([exit, report.outcome]).toEqual([0, 'succeeded']);
      expect(report.orders).toMatchObject([{ orderId: venue.orders[0]?.id, state: 'open', filled: '0' }]);
      expect(venue.placed).toHaveLength(1);
    }),
  );

  it('is waited for while the venue does not show it yet', () =>
    scene(
      {
        venue: (venue) => {
          venue.hiddenMs = 1500;
          firstPost({ done: true, cut: true })(venue);
        },
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.orders[0]?.state, venue.placed.length]).toEqual([0, 'open', 1]);
      },
    ));

  itFirst(1, [
    ['a cut connection', { cut: true }],
    ['status 500 with an envelope', { status: 500, body: envelope(null, 'INTERNAL') }],
  ] as const)('%s and no trace of it: exit 1, one POST, and its absence is proven', (_name, reaction) =>
    scene({ venue: firstPost(reaction) }, async ({ venue, live }) => {
      const { exit, report, err } = await live();
      expect([exit, report.outcome, report.error?.kind, venue.placed.length]).toEqual([1, 'failed', 'not_placed', 1]);
      const id = venue.placed[0]?.params['client_order_id'] ?? '';
      expect(report.orders).toMatchObject([{ clientOrderId: id, state: 'absent', filled: '0' }]);
      expect(err).not.toContain('left at the venue');
      // No verdict "absent" before the profile's window has passed since the attempt.
      const looks = venue.of('GET', '/orders').filter(({ params }) => params['client_order_id'] === id);
      expect((looks.at(-1)?.at ?? 0) - (venue.placed[0]?.at ?? 0)).toBeGreaterThanOrEqual(3000);
      expect(looks.length).toBeGreaterThanOrEqual(5);
    }),
  );
});

describe.concurrent('a run that halted', () => {
  it('is resumed once the venue shows the order after all: adopted, never sent a second time', () =>
    scene(
      {
        runbook: LIMIT.replace('outputs', '  - cancel: o\n    await: terminal\noutputs'),
        venue: (venue) => {
          venue.hiddenMs = Number.POSITIVE_INFINITY;
          // It has this order, says the venue, and does not show it: no look-up can prove that it is absent.
          firstPost({ done: true, status: 400, body: envelope(null, 'CLIENT_ORDER_ID_DUPLICATE') })(venue);
        },
      },
      async ({ venue, live, run }) => {
        const halted = await live();
        expect([halted.exit, halted.report.outcome, venue.placed.length]).toEqual([4, 'halted', 1]);
        expect(venue.orders.map(({ status }) => status)).toEqual(['open']);
        expect(halted.err).toContain('what to do now, step by step: docs/live.md, Exit 4');
        venue.hiddenMs = 0;
        const resumed = await run(['resume', '--json']);
        const report = document(resumed.out) as Report;
        if (report.outcome === 'failed') expect(resumed.err).toContain('every doubt of that time is settled now');
        expect(report.hadHalted).toBe(true);
        const [shown] = (await run(['audit', 'summary', 'last'])).out.split('\n');
        expect(shown).toContain(`${report.outcome}, settled after it had halted`);
        expect([resumed.exit, report.orders]).toMatchObject([
          report.outcome === 'succeeded' ? 0 : 1,
          [{ orderId: venue.orders[0]?.id, state: 'canceled', filled: '0' }],
        ]);
        expect([venue.placed.length, venue.orders.map(({ status }) => status)]).toEqual([1, ['canceled']]);
        expect((await run(['audit', 'verify', '--json'])).exit).toBe(0);
        expect((await run(['replay', 'last', '--json'])).exit).toBe(0);
      },
    ));
});

describe.concurrent('a run on an account with orders of other programs', () => {
  it('begins although one of their rows cannot be read', () =>
    scene(
      {
        venue: (venue) =>
          venue.rules.push(({ method, path, params }) =>
            method === 'GET' && path === '/orders' && params['status'] === 'open' && params['market_id'] === undefined
              ? { body: envelope([{ id: 'BTC-USD@7', client_order_id: 'grid-7', status: 'open', size: null }]) }
              : undefined,
          ),
      },
      async ({ live }) => {
        const { exit, report } = await live();
        expect([exit, report.outcome]).toEqual([0, 'succeeded']);
      },
    ));
});

describe.concurrent('an order that is refused', () => {
  it(
    'with an unknown text: rejected after a look-up, and watched until its absence is proven',
    { tags: ['long'] },
    () =>
      scene({ venue: firstPost({ body: envelope([], 'SOMETHING_NEW') }) }, async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.outcome, report.error]).toMatchObject([
          1,
          'failed',
          { kind: 'rejected', message: 'SOMETHING_NEW', step: 'steps/o' },
        ]);
        expect(venue.of('GET', '/orders').filter(({ params }) => 'client_order_id' in params)).toHaveLength(5);
        expect(report.orders.map(({ state }) => state)).toEqual(['absent']);
        expect(venue.placed).toHaveLength(1);
      }),
  );

  it('by the rate limit: sent again with the same bytes, not before the venue said', () =>
    scene(
      {
        venue: firstPost({
          status: 429,
          body: envelope(null, 'RATE_LIMIT'),
          headers: { 'x-ratelimit-retry-after': '1' },
        }),
      },
      async ({ venue, live }) => {
        const { exit } = await live();
        expect([exit, venue.orders.length]).toEqual([0, 1]);
        const [one, two, ...more] = venue.placed;
        expect(more).toEqual([]);
        expect(two?.body).toBe(one?.body);
        expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThanOrEqual(1000);
      },
    ));

  it('by an empty 429 without a hint: sent again all the same', () =>
    scene({ venue: firstPost({ status: 429, body: '' }) }, async ({ venue, live }) => {
      const { exit } = await live();
      expect([exit, venue.orders.length, venue.placed.length]).toEqual([0, 1, 2]);
    }));

  it('and filled all the same: rejected, with the fill', () =>
    scene(
      {
        venue: (venue) => {
          venue.outcome = (order) => {
            venue.fill(order);
            return { status: 'rejected', reason: 'margin' };
          };
        },
      },
      async ({ live }) => {
        const { exit, report } = await live();
        expect([exit, report.orders]).toMatchObject([
          1,
          [{ state: 'rejected', filled: '0.0001', averagePrice: '19800' }],
        ]);
      },
    ));
});

describe.concurrent('an order that is changed', () => {
  it('is not taken for gone when it shows as canceled for an instant', { tags: ['long'] }, () =>
    scene(
      {
        runbook: AMEND_AND_CANCEL,
        venue: (venue) => {
          let shown = 0;
          venue.rules.push(({ method, path, params }) => {
            if (method !== 'GET' || path !== '/orders' || params['order_id'] === undefined) return undefined;
            if (venue.of('PUT', '/orders').length === 0 || shown > 0) return undefined;
            shown += 1;
            return { body: envelope(venue.orders.map((order) => ({ ...order, status: 'canceled' }))) };
          });
        },
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.outputs]).toEqual([0, { price: '19900', filled: '0' }]);
        expect(venue.of('DELETE', '/orders').map(({ body }) => body)).toEqual([
          `{"order_id":"${venue.orders[0]?.id}","market_id":"BTC-USD"}`,
        ]);
      },
    ),
  );

  it('and whose PUT got no answer is read, not amended a second time', () =>
    scene(
      {
        runbook: AMEND_AND_CANCEL,
        venue: (venue) => venue.rules.push(onFirst('PUT', { done: true, status: 500, body: '' })),
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.outputs, venue.of('PUT', '/orders').length]).toEqual([
          0,
          { price: '19900', filled: '0' },
          1,
        ]);
      },
    ));

  it('and filled while it was being cancelled counts as filled', () =>
    scene(
      {
        runbook: AMEND_AND_CANCEL,
        venue: (venue) =>
          venue.rules.push(({ method, path }) => {
            const [order] = venue.orders;
            if (method !== 'DELETE' || path !== '/orders' || order === undefined) return undefined;
            venue.fill(order);
            const { id, market_id, profile_id } = order;
            return { body: envelope([{ id, market_id, profile_id, status: 'canceling' }]) };
          }),
      },
      async ({ live }) => {
        const { exit, report } = await live();
        expect([exit, report.orders, report.outputs]).toMatchObject([
          0,
          [{ state: 'closed', filled: '0.0001', averagePrice: '19900' }],
          { filled: '0.0001' },
        ]);
      },
    ));
});

const RESTING = {
  client_order_id: '',
  market_id: 'BTC-USD',
  order_type: 'limit',
  side: 'long',
  price: '1',
  size: '1',
  initial_size: '1',
  total_filled_size: '0',
  status: 'open',
  reason: '',
  profile_id: 7,
  timestamp: Date.now() * 1000,
  time_in_force: 'good_till_cancel',
};
