import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { KILL_SWEEP, STEP_SWEEP, type SweepAnswer, type SweptVenue, sweep } from '../../src/engine/sweep.ts';
import type { EndpointName, Params } from '../../src/venue/catalogue.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import { ORDER_STATUSES } from '../../src/venue/records.ts';
import { inputsFrom, loadedFrom, perform, replay, type Scene } from './stage.ts';

interface VenueBehaviour {
  /** Orders one microsecond apart, oldest first, of which a list has the newest of a page, whatever page is asked for. */
  readonly onePage?: boolean;
  /** The places of orders whose rows cannot be read. */
  readonly odd?: readonly number[];
  /** Status that an order keeps, whatever is cancelled, until this many cancels by its own id. */
  readonly stubborn?: number;
  readonly mute?: boolean;
}

/** A venue with these orders by status; cancel_all takes the open ones. */
function venueOf(
  statuses: readonly string[],
  { stubborn = 0, mute = false, onePage = false, odd = [] }: VenueBehaviour = {},
) {
  const clock = new VirtualClock(1_700_000_000_000);
  const orders = statuses.map((status, index) => {
    const timestamp = onePage ? { timestamp: clock.now() * 1000 - statuses.length + index } : {};
    return { id: `BTC-USD@${index}`, market_id: 'BTC-USD', status, asked: 0, ...timestamp };
  });
  const asked: string[] = [];
  const answer = (result: unknown) => ({ kind: 'confirmed', result, notes: [] }) as never;
  const venue: SweptVenue = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    pause: (ms) => new Promise<void>((resolve) => void clock.after(ms, resolve)),
    async ask<E extends EndpointName>(name: E, params: Params<E>): Promise<SweepAnswer<E>> {
      await new Promise<void>((resolve) => void clock.after(20, resolve));
      const { status, order_id, end_time: until } = params as { status?: string; order_id?: string; end_time?: number };
      asked.push([name, status ?? order_id].filter((each) => each !== undefined).join(' '));
      if (mute) return { kind: 'no answer', why: 'down' };
      if (name === 'DELETE /orders/cancel_all') {
        for (const order of orders) if (order.status === 'open' && stubborn === 0) order.status = 'canceled';
        return answer([]);
      }
      if (name === 'DELETE /orders') {
        const order = orders.find(({ id }) => id === order_id);
        if (order !== undefined && ++order.asked >= stubborn) order.status = 'canceled';
        return answer([]);
      }
      // The venue cannot filter by a status that its document does not name.
      expect(status === undefined || (ORDER_STATUSES as readonly string[]).includes(status)).toBe(true);
      const listed = orders.filter((order) => status === undefined || order.status === status);
      if (odd.length > 0) {
        const isOdd = ({ id }: { id: string }) => odd.includes(Number(id.split('@')[1]));
        const unread = listed
          .filter(isOdd)
          .map(({ id: orderId, market_id: market, status }) => ({ orderId, market, status, why: 'odd' }));
        const page = listed.slice(PAGE_ROWS * ((params as { p_page?: number }).p_page ?? 0)).slice(0, PAGE_ROWS);
        const rows = unread.filter(({ orderId }) => page.some(({ id }) => id === orderId));
        const result = page.filter((each) => !isOdd(each));
        return { kind: 'confirmed', result, ...(rows.length === 0 ? {} : { unread: rows }) } as never;
      }
      const older = (at = 0) => until === undefined || at <= until;
      return answer(onePage ? listed.filter(({ timestamp }) => older(timestamp)).slice(-PAGE_ROWS) : listed);
    },
  };
  return { venue, clock, orders, asked };
}

describe('cancelling everything', () => {
  it('ends when the venue has shown nothing that could fill for ten seconds, under any status', async () => {
    const { venue, clock, asked } = venueOf(['open', 'closed', 'rejected']);
    const started = clock.now();
    expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [] });
    expect(clock.now() - started).toBeGreaterThanOrEqual(10_000);
    for (const status of ['open', 'processing', 'amending', 'canceling', 'cancelingall'])
      expect(asked).toContain(`GET /orders ${status}`);
    expect(asked).toContain('GET /orders');
  });

  it('cancels an order in transit at the start that arrives five or nine seconds later', async () => {
    for (const lateMs of [5_000, 9_000]) {
      const { venue, clock, orders } = venueOf(['open']);
      clock.after(lateMs, () => orders.push({ id: 'BTC-USD@9', market_id: 'BTC-USD', status: 'open', asked: 0 }));
      expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [] });
      expect(orders.map(({ status }) => status)).toEqual(['canceled', 'canceled']);
    }
  });

  it.each(['placed', 'processing', 'amending', 'canceling', 'in_limbo'])(
    'does not end while an order is %s; what outlives cancel_all is cancelled by its id',
    async (status) => {
      const { venue, clock, orders, asked } = venueOf([status], { stubborn: 3 });
      expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [] });
      expect(orders.map((order) => order.status)).toEqual(['canceled']);
      expect(asked.filter((each) => each === 'DELETE /orders/cancel_all').length).toBeGreaterThanOrEqual(3);
    },
  );

  it('takes what a venue shows that answers every page with the first one, and asks for no third', async () => {
    const closed = Array.from({ length: PAGE_ROWS - 1 }, () => 'closed');
    const { venue, clock, orders, asked } = venueOf([...closed, 'in_limbo'], { stubborn: 1 });
    expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [] });
    expect(orders.at(-1)?.status).toBe('canceled');
    const whole = asked.flatMap((each, index) => (each === 'GET /orders' ? [index] : []));
    expect(Math.max(...whole.map((index, at) => (whole[at + 2] === index + 2 ? 3 : 2)))).toBe(2);
  });

  it('finds what is older than the first page of a venue that answers every page with it', async () => {
    const newer = Array.from({ length: 3 * PAGE_ROWS }, () => 'closed');
    const { venue, clock, orders } = venueOf(['in_limbo', ...newer], { stubborn: 1, onePage: true });
    expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [] });
    expect(orders[0]?.status).toBe('canceled');
  });

  it('ends where such a venue knows no time either', async () => {
    const at = Array.from({ length: 2 * PAGE_ROWS }, () => 'closed');
    const { venue, clock, orders, asked } = venueOf(['in_limbo', ...at], { stubborn: 1, onePage: true });
    for (const order of orders) Object.assign(order, { timestamp: clock.now() * 1000 });
    expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [] });
    expect(asked.filter((each) => each === 'GET /orders').length).toBeLessThan(40);
  });

  it('goes on while the number falls, and reports what is left when nothing changes any more', async () => {
    const { venue, clock } = venueOf(['placed', 'placed'], { stubborn: Number.POSITIVE_INFINITY });
    const started = clock.now();
    expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({
      left: [{ status: 'placed' }, { status: 'placed' }],
    });
    expect(clock.now() - started).toBeGreaterThanOrEqual(120_000);
  });

  describe('a row that cannot be read', () => {
    it.each([
      ['of an order that has ended, is none that is left', ['closed', 'open'], [0], ['closed', 'canceled']],
      ['is left until its order is cancelled, by its id too', ['open', 'in_limbo'], [0, 1], ['canceled', 'canceled']],
    ] as const)('%s', async (_, statuses, odd, then) => {
      const { venue, clock, orders } = venueOf(statuses, { odd, stubborn: 1 });
      expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [], unread: [] });
      expect(orders.map(({ status }) => status)).toEqual(then);
    });

    it('counts while it stays', async () => {
      const { venue, clock } = venueOf(['open', 'open'], { odd: [1], stubborn: Number.POSITIVE_INFINITY });
      const counts: number[] = [];
      const swept = await clock.runUntil(sweep({ ...venue, progress: (left) => void counts.push(left) }, KILL_SWEEP));
      expect(swept).toMatchObject({ left: [{ id: 'BTC-USD@0' }], unread: [{ orderId: 'BTC-USD@1' }] });
      expect(new Set(counts)).toEqual(new Set([2]));
    });

    it('does not make a full page the last one', async () => {
      const closed = Array.from({ length: PAGE_ROWS }, () => 'closed');
      const { venue, clock, orders } = venueOf([...closed, 'in_limbo'], { odd: [3], stubborn: 1 });
      expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: [] });
      expect(orders.at(-1)?.status).toBe('canceled');
    });
  });

  it('has no list where the venue never answers', async () => {
    const { venue, clock } = venueOf(['open'], { mute: true });
    expect(await clock.runUntil(sweep(venue, KILL_SWEEP))).toMatchObject({ left: undefined, because: 'down' });
  });

  it('reads no more often for a step than the step may cost, and says how often it did', async () => {
    const { venue, clock, asked } = venueOf(['open'], { stubborn: Number.POSITIVE_INFINITY });
    const swept = await clock.runUntil(sweep(venue, STEP_SWEEP));
    expect(swept).toMatchObject({ left: [{ status: 'open' }], readings: 8, cancels: 8 });
    expect(asked.filter((each) => each === 'GET /orders open')).toHaveLength(8);
  });
});

describe('a recording of one cancel_all, without readings of what was left', () => {
  it('is not asked for more: the step is done with its one request, and so is its replay', async () => {
    const loaded = loadedFrom({
      file: 'all.yaml',
      text: 'runbook: all\ndsl: 1\nneeds: [cancel_all]\nsteps:\n  - id: swept\n    cancel_all: {everyone: true}\noutputs: {left: swept.left.size()}\n',
    });
    const scene: Scene = {
      loaded,
      inputs: inputsFrom(loaded, {}),
      config: {},
      between: (venue) => ({ send: (request, options) => venue.send(request, options), knows: () => false }),
    };
    const performance = await perform(scene);
    const { outcome, requests, outputs } = performance.report;
    expect([outcome, requests.map(({ method, path }) => `${method} ${path}`), outputs]).toEqual([
      'succeeded',
      ['DELETE /orders/cancel_all'],
      { left: '0' },
    ]);
    await replay(performance, scene);
  });
});
