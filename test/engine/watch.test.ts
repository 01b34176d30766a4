import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Abandoned, Cancellation } from '../../src/engine/interruption.ts';
import { OrderWatch } from '../../src/engine/readings/watch.ts';
import { WallTime } from '../../src/engine/wall-time.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { type CallOutcome, type Consent, SWEEP, type VenueCall, type VenuePort } from '../../src/venue/port.ts';

const START = Date.UTC(2026, 0, 5, 8);

/** A watch whose readings wait for so long before they are answered: tokens are scarce. */
function watching(answeredAfterMs: number) {
  const clock = new VirtualClock(START);
  const asked: string[] = [];
  let underWay = 0;
  let most = 0;
  const venue = {
    call(call: VenueCall<'GET /orders'>): Promise<CallOutcome<'GET /orders'>> {
      asked.push(
        `+${clock.now() - START} ${call.params.order_id ?? 'all'}${call.class === 'resolve' ? ' resolve' : ''}`,
      );
      underWay += 1;
      most = Math.max(most, underWay);
      return new Promise((resolve) => {
        const timer = clock.at(clock.now() + answeredAfterMs, () => {
          underWay -= 1;
          resolve({ kind: 'confirmed', result: [], settledAt: clock.now() });
        });
        call.wanted?.onWithdrawn(() => {
          timer.cancel();
          resolve({ kind: 'denied', code: 'STEP_ENDED', message: 'STEP_ENDED', settledAt: clock.now() });
        });
      });
    },
  } as unknown as VenuePort;
  let calls = 0;
  const watch = new OrderWatch({
    venue,
    clock,
    wall: new WallTime(clock),
    callId: (path) => `${path}#${++calls}`,
  });
  return { clock, watch, asked, most: () => most };
}

function orderOf(id: string): TrackedOrder {
  const [market] = id.split('@');
  return {
    intent: { market, clientOrderId: `rb${id}` },
    createdAt: START,
    snapshot: { state: 'processing', context: { venueId: id, since: START } },
  } as unknown as TrackedOrder;
}

/** A watch of a market in which other programs have `newer` orders, all younger than ours, of which `open` rest. */
function crowded({ newer, open }: { readonly newer: number; readonly open: readonly (readonly string[])[] }) {
  const clock = new VirtualClock(START);
  const asked: string[] = [];
  const venue = {
    async call({ params }: VenueCall<'GET /orders'>): Promise<CallOutcome<'GET /orders'>> {
      const { order_id, status, p_page = 0, p_limit = 1 } = params;
      asked.push(order_id ?? `${status ?? 'all'} ${p_page}`);
      const foreign = Math.max(0, Math.min(p_limit, newer - p_page * p_limit));
      const shown = order_id !== undefined ? [order_id] : status === 'open' ? (open[p_page] ?? []) : [];
      const result = shown.map((id) => ({ id, client_order_id: `rb${id}` }));
      const leftOut = status === undefined && order_id === undefined ? { leftOut: foreign } : {};
      return { kind: 'confirmed', result, settledAt: clock.now(), ...leftOut } as unknown as CallOutcome<'GET /orders'>;
    },
  } as unknown as VenuePort;
  let calls = 0;
  const watch = new OrderWatch({ venue, clock, wall: new WallTime(clock), callId: (path) => `${path}#${++calls}` });
  return { clock, watch, asked };
}

describe('an order that an exit awaits', () => {
  it.each([
    [0, '+500 BTC-USD@1 resolve'],
    [3000, '+3000 BTC-USD@1 resolve'],
  ])(
    'is read half a second after its last change, and at once where that was before: begun after %i ms',
    async (afterMs, first) => {
      const { clock, watch, asked } = watching(50);
      await clock.advanceTo(START + afterMs);
      const whole = new Cancellation();
      const exit: Consent = { what: 'close', answer: Promise.resolve(true) };
      const wait = watch.until(orderOf('BTC-USD@1'), () => false, { cancel: whole, exit }).catch(() => 'left');
      await clock.advanceTo(START + afterMs + 500);
      expect(asked).toEqual([first]);
      whole.cancel('operator', 'enough');
      await wait;
    },
  );
});

describe('several orders of a market with more newer ones than a page holds', () => {
  it('are read by id, from then on in the list of those that are open, and by id where that does not show them', async () => {
    const { clock, watch, asked } = crowded({ newer: 1000, open: [['BTC-USD@1', 'BTC-USD@2']] });
    const whole = new Cancellation();
    const waits = ['BTC-USD@1', 'BTC-USD@2', 'BTC-USD@3'].map((id) =>
      watch.until(orderOf(id), () => false, { cancel: whole }).catch(() => 'left'),
    );
    await clock.advanceTo(START + 3_000);
    expect(asked).toEqual(['all 0', 'BTC-USD@1', 'BTC-USD@2', 'BTC-USD@3', 'open 0', 'BTC-USD@3']);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
  });

  it('are read in one page while there is room', async () => {
    const { clock, watch, asked } = crowded({ newer: 900, open: [] });
    const whole = new Cancellation();
    const waits = ['BTC-USD@1', 'BTC-USD@2'].map((id) =>
      watch.until(orderOf(id), () => false, { cancel: whole }).catch(() => 'left'),
    );
    await clock.advanceTo(START + 3_000);
    expect(asked).toEqual(['all 0', 'all 0']);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
  });

  it('are read page by page of those that are open, as far as there is one that no page has shown', async () => {
    const rest = (page: number) => Array.from({ length: 1000 }, (_, n) => `BTC-USD@${page * 1000 + n}`);
    const { watch, asked } = crowded({ newer: 1000, open: [rest(0), rest(1), rest(2)] });
    const read = (...ids: readonly string[]) => watch.readTogether(ids.map(orderOf), 'a');
    await read('BTC-USD@1');
    asked.length = 0;
    await read('BTC-USD@1', 'BTC-USD@1001');
    expect(asked).toEqual(['open 0', 'open 1']);
  });

  it('are read by their ids where the list of the open ones does not end', async () => {
    const foreign = Array.from({ length: 1000 }, (_, n) => `BTC-USD@${9000 + n}`);
    const { watch, asked } = crowded({ newer: 1000, open: Array.from({ length: 40 }, () => foreign) });
    await watch.readTogether([orderOf('BTC-USD@1'), orderOf('BTC-USD@2')], 'a');
    asked.length = 0;
    await watch.readTogether([orderOf('BTC-USD@1'), orderOf('BTC-USD@2')], 'a');
    expect(asked).toEqual([...Array.from({ length: 10 }, (_, page) => `open ${page}`), 'BTC-USD@1', 'BTC-USD@2']);
  });

  it('are looked for to the end of the list before one counts as absent', async () => {
    const { watch, asked } = crowded({ newer: 2500, open: [] });
    expect(await watch.lookThroughMarket(orderOf('BTC-USD@1'), 'settle')).toBeUndefined();
    expect(asked).toEqual(['all 0', 'all 1', 'all 2']);
  });
});

describe('orders that are awaited while tokens are scarce', () => {
  it('have one reading under way or waiting, and the next some time after its answer', async () => {
    const { clock, watch, asked, most } = watching(10_000);
    const whole = new Cancellation();
    const waiting = watch.until(orderOf('BTC-USD@1'), () => false, { cancel: whole }).catch(() => 'left');
    await clock.advanceTo(START + 25_000);
    expect(asked).toEqual(['+500 BTC-USD@1', '+11000 BTC-USD@1', '+21500 BTC-USD@1']);
    expect(most()).toBe(1);
    whole.cancel('operator', 'enough');
    await clock.advanceTo(START + 60_000);
    await waiting;
    await watch.waitForReadings(60_000);
    expect(asked).toHaveLength(3);
  });

  it('are read as urgently as an exit among them that is not due yet', async () => {
    const { clock, watch, asked } = watching(10_000);
    const whole = new Cancellation();
    const wait = (id: string, exit?: Consent) =>
      watch
        .until(orderOf(id), () => false, { cancel: whole, ...(exit === undefined ? {} : { exit }) })
        .catch(() => 'left');
    const waits = [wait('BTC-USD@1')];
    await clock.advanceTo(START + 200);
    waits.push(wait('BTC-USD@2', { what: '', answer: Promise.resolve(true) }));
    await clock.advanceTo(START + 1_000);
    expect(asked).toEqual(['+500 all resolve']);
    whole.cancel('operator', 'enough');
    await clock.advanceTo(START + 60_000);
    await Promise.all(waits);
  });

  it('are each read in their time, whatever another market is read for', async () => {
    const { clock, watch, asked } = watching(100);
    const whole = new Cancellation();
    const wait = (id: string) => watch.until(orderOf(id), () => false, { cancel: whole }).catch(() => 'left');
    const waits = [wait('BTC-USD@1')];
    await clock.advanceTo(START + 200);
    waits.push(wait('ETH-USD@2'));
    await clock.advanceTo(START + 2_500);
    expect(asked).toEqual(['+500 BTC-USD@1', '+700 ETH-USD@2', '+2000 BTC-USD@1', '+2200 ETH-USD@2']);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
    expect(clock.nextTimerAt()).toBeUndefined();
  });

  it('are no longer read at the end of a run', async () => {
    const { clock, watch } = watching(10_000);
    const whole = new Cancellation();
    const waits = ['BTC-USD@1', 'ETH-USD@2'].map((id) =>
      watch.until(orderOf(id), () => false, { cancel: whole }).catch(() => 'left'),
    );
    await clock.advanceTo(START + 600);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
    let isOver = false;
    const over = watch.waitForReadings(60_000).then(() => {
      isOver = true;
    });
    await clock.advanceTo(START + 10_499);
    expect(isOver).toBe(false);
    await clock.advanceTo(START + 10_500);
    await over;
  });

  it('hold up the end of a run for so long at most', async () => {
    const { clock, watch } = watching(3_600_000);
    const whole = new Cancellation();
    const wait = watch.until(orderOf('BTC-USD@1'), () => false, { cancel: whole }).catch(() => 'left');
    await clock.advanceTo(START + 600);
    whole.cancel('operator', 'enough');
    await wait;
    const over = watch.waitForReadings(60_000);
    await clock.advanceTo(START + 60_600);
    await over;
    expect(clock.nextTimerAt()).toBeUndefined();
  });

  it('are read together with later waiters, and do not hold up another market', async () => {
    const { clock, watch, asked, most } = watching(3_000);
    const whole = new Cancellation();
    const wait = (id: string) => watch.until(orderOf(id), () => false, { cancel: whole }).catch(() => 'left');
    const waits = [wait('BTC-USD@1')];
    await clock.advanceTo(START + 1_000);
    waits.push(wait('BTC-USD@2'), wait('ETH-USD@3'));
    await clock.advanceTo(START + 4_000);
    expect(asked).toEqual(['+500 BTC-USD@1', '+1500 ETH-USD@3', '+3500 all']);
    expect(most()).toBe(2);
    whole.cancel('operator', 'enough');
    await Promise.all(waits);
  });
});

describe('what a reading gives', () => {
  type Outcome = CallOutcome<'GET /orders'>;
  type Call = VenueCall<'GET /orders'>;
  const rows = (...ids: readonly string[]) => ids.map((id) => ({ id, client_order_id: `rb${id}` }));

  /** A watch whose venue answers each call at once, and the calls. */
  function answering(answer: (call: Call, count: number) => unknown) {
    const clock = new VirtualClock(START);
    const calls: Call[] = [];
    const venue = {
      async call(call: Call): Promise<Outcome> {
        calls.push(call);
        const found = answer(call, calls.length);
        if (found instanceof Error) throw found;
        return (Array.isArray(found) ? { kind: 'confirmed', result: found, settledAt: clock.now() } : found) as Outcome;
      },
    } as unknown as VenuePort;
    const watch = new OrderWatch({ venue, clock, wall: new WallTime(clock), callId: (path) => `${path}#1` });
    return { clock, watch, calls };
  }
  const LOST = { kind: 'unresolved', message: 'reset' };
  const [A, B] = [orderOf('BTC-USD@1'), orderOf('BTC-USD@2')];

  it('is asked for by the id of the venue, and for an order in doubt by ours, of an hour before it', async () => {
    const { watch, calls } = answering(() => []);
    await watch.read(A, 'a', 'confirm', { class: 'reconcile', answerMs: 7 });
    await watch.read(A, 'a', 'lookup', { class: 'resolve' });
    const start_time = (START - 3_600_000) * 1000;
    const given = { endpoint: 'GET /orders', step: 'a', clientOrderId: 'rbBTC-USD@1', rows: 'own' };
    expect(calls).toMatchObject([
      { ...given, purpose: 'confirm', class: 'reconcile', answerMs: 7, params: { order_id: 'BTC-USD@1', start_time } },
      { ...given, purpose: 'lookup', class: 'resolve', params: { client_order_id: 'rbBTC-USD@1', start_time } },
    ]);
    expect(calls[1]?.params).not.toHaveProperty('order_id');
  });

  it('is nothing where the venue says that there is no such order', async () => {
    const missing = { kind: 'rejected', failure: 'not_found', definite: true, settledAt: 9 };
    const { watch } = answering((_, count) => (count === 1 ? { ...missing, sentAt: 5 } : count === 2 ? missing : LOST));
    const read = () => watch.read(A, 'a', 'confirm', { class: 'reconcile' });
    expect([await read(), await read(), await read()]).toStrictEqual([
      { kind: 'confirmed', result: [], settledAt: 9, sentAt: 5 },
      { kind: 'confirmed', result: [], settledAt: 9 },
      LOST,
    ]);
  });

  it('is remembered as long ago as it was sent', async () => {
    const sentAt = START - 40;
    const { watch } = answering(() => ({
      kind: 'confirmed',
      result: rows('BTC-USD@1'),
      sentAt,
      settledAt: START,
    }));
    expect(watch.hasShownSince(0, A)).toBe(false);
    await watch.readTogether([A, B], 'a');
    expect([
      watch.hasShownSince(START - 40, A),
      watch.hasShownSince(START - 39, A),
      watch.hasShownSince(START - 40, B),
    ]).toEqual([true, false, false]);
  });

  it('is remembered of an order that was read alone, which is known by the id of either side', async () => {
    const shown = [{ id: 'BTC-USD@1', client_order_id: '' }];
    const { watch } = answering(({ params }) => (params.order_id === 'BTC-USD@1' ? shown : rows('BTC-USD@1')));
    await watch.read(B, 'a', 'refresh', { class: 'reconcile' });
    expect([watch.hasShownSince(START, A), watch.hasShownSince(START, B)]).toEqual([false, false]);
    await watch.read(A, 'a', 'refresh', { class: 'reconcile' });
    expect([watch.hasShownSince(START, A), watch.hasShownSince(START, B)]).toEqual([true, false]);
    const { watch: other } = answering(() => [{ id: 'another', client_order_id: 'rbBTC-USD@1' }]);
    await other.read(A, 'a', 'refresh', { class: 'reconcile' });
    expect(other.hasShownSince(START, A)).toBe(true);
  });

  it('of several orders is one page since the oldest, and no more where it fails', async () => {
    const older = { ...A, createdAt: START - 500 } as TrackedOrder;
    const { watch, calls } = answering((_, count) => (count === 1 ? [] : LOST));
    await watch.readTogether([B, older], 'a', { purpose: SWEEP, answerMs: 3 });
    expect(calls).toMatchObject([
      {
        class: 'reconcile',
        purpose: SWEEP,
        answerMs: 3,
        params: { market_id: 'BTC-USD', start_time: (START - 3_600_500) * 1000 },
      },
    ]);
    expect(await watch.readTogether([A, B], 'a')).toBe(LOST);
    expect(calls).toHaveLength(2);
    expect(calls[1]?.purpose).toBe('confirm');
  });

  it('of several orders in a crowded market is the worst that reading one by one gave', async () => {
    const full = { kind: 'confirmed', result: rows('BTC-USD@1'), leftOut: 999, settledAt: START };
    const answer = ({ params }: Call) =>
      params.order_id === undefined ? full : params.order_id === 'BTC-USD@2' ? LOST : rows(params.order_id);
    const { watch, calls } = answering(answer);
    expect(await watch.readTogether([A, B, orderOf('BTC-USD@3')], 'a')).toBe(LOST);
    expect(await answering(answer).watch.readTogether([A, orderOf('BTC-USD@3'), B], 'a')).toBe(LOST);
    expect(calls.slice(1)).toMatchObject([
      { params: { order_id: 'BTC-USD@2' }, class: 'reconcile', purpose: 'confirm' },
      { params: { order_id: 'BTC-USD@3' } },
    ]);
    expect(await watch.readTogether([A], 'a')).toMatchObject({ kind: 'confirmed', result: [] });
    expect(calls.at(-1)?.params.status).toBe('open');
  });

  it('in a page that is full by one row less is the whole list', async () => {
    for (const [leftOut, unread, count] of [
      [998, [], 1],
      [998, ['one that cannot be read'], 2],
    ] as const) {
      const { watch, calls } = answering(({ params }) =>
        params.order_id === undefined
          ? { kind: 'confirmed', result: rows('BTC-USD@1'), leftOut, unread, settledAt: START }
          : [],
      );
      await watch.readTogether([A, B], 'a');
      expect(calls).toHaveLength(count);
    }
  });

  it('through a market proves an absence only to its end, with every row read', async () => {
    const looked = async (answer: Parameters<typeof answering>[0]) => {
      const { watch, calls } = answering(answer);
      const isProof = (await watch.lookThroughMarket(A, 'a')) === undefined;
      return [isProof, calls.length, calls[0]?.class, calls[0]?.purpose];
    };
    expect(await looked(() => rows('BTC-USD@9'))).toEqual([true, 1, 'resolve', 'lookup']);
    expect(await looked(() => LOST)).toEqual([false, 1, 'resolve', 'lookup']);
    const page = { kind: 'confirmed', result: rows('BTC-USD@9'), leftOut: 999, settledAt: START };
    expect(await looked(() => ({ ...page, unread: [{ why: 'x' }] }))).toEqual([false, 1, 'resolve', 'lookup']);
    expect((await looked((_, count) => (count < 3 ? page : []))).slice(0, 2)).toEqual([true, 3]);
    // A venue may answer every page with the same one.
    expect((await looked(() => page)).slice(0, 2)).toEqual([false, 10]);
    const ours = { ...page, result: [{ id: 'other', client_order_id: 'rbBTC-USD@1' }] };
    expect((await looked((_, count) => (count === 1 ? ours : []))).slice(0, 2)).toEqual([true, 1]);
  });

  it('comes half a second after the wait began, then two seconds, and every two seconds', async () => {
    const { watch, clock, calls } = answering(() => []);
    const at: number[] = [];
    const whole = new Cancellation();
    const wait = watch
      .until(A, () => void at.push(clock.now() - START) as never, { cancel: whole })
      .catch(() => 'left');
    await clock.advanceTo(START + 6_400);
    expect([calls.length, new Set(at)]).toEqual([4, new Set([0, 500, 2_000, 4_000, 6_000])]);
    whole.cancel('operator', 'enough');
    expect(await wait).toBe('left');
    await clock.advanceTo(START + 60_000);
    expect(calls).toHaveLength(4);
  });

  it('wakes what waited for it, and nothing is read for a condition that holds already', async () => {
    const { watch, clock, calls } = answering(() => []);
    let isThere = false;
    const none = new Cancellation();
    await watch.until(A, () => true, { cancel: none });
    const wait = watch.until(A, () => isThere, { cancel: none });
    isThere = true;
    watch.check();
    await wait;
    await clock.advanceTo(START + 10_000);
    expect(calls).toEqual([]);
  });

  it('is not waited for in a scope that was left, and for no longer than asked', async () => {
    const { watch, clock } = answering(() => []);
    const left = new Cancellation();
    left.cancel('operator', 'enough');
    await expect(watch.until(A, () => false, { cancel: left })).rejects.toBeInstanceOf(Abandoned);
    const open = new Cancellation();
    const inTime = watch.waitWithin(3_000, A, () => clock.now() >= START + 2_000, { cancel: open });
    const late = watch.waitWithin(3_000, B, () => false, { cancel: open });
    expect(await watch.waitWithin(3_000, A, () => true, { cancel: open })).toBe(true);
    await clock.advanceTo(START + 5_000);
    expect([await inTime, await late, clock.nextTimerAt()]).toEqual([true, false, undefined]);
    const stopped = watch.waitWithin(3_000, A, () => false, { cancel: open });
    open.cancel('operator', 'enough');
    await expect(stopped).rejects.toBeInstanceOf(Abandoned);
  });

  it('that fails inside ends the waits of its market, and of no other', async () => {
    const broken = new Error('a defect');
    const { watch, clock } = answering(({ params }) => (params.order_id === 'BTC-USD@1' ? broken : []));
    const whole = new Cancellation();
    const failed = watch.until(A, () => false, { cancel: whole }).catch((error: unknown) => error);
    let other: unknown;
    const kept = watch
      .until(orderOf('ETH-USD@3'), () => false, { cancel: whole })
      .catch((error: unknown) => {
        other = error;
      });
    await clock.advanceTo(START + 3_000);
    expect([await failed, other]).toEqual([broken, undefined]);
    whole.cancel('operator', 'enough');
    await kept;
  });
});
