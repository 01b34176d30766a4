/** Completing alone: which readings are sent for which orders, when and how, and what becomes of those that no longer want them. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Cancellation } from '../../src/engine/interruption.ts';
import { Completing, type CompletingRequest } from '../../src/engine/orders/completing.ts';
import type { OrderManagerParts } from '../../src/engine/orders/parts.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { COMPLETED_TOGETHER } from '../../src/venue/order/polling.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { Wanted } from '../../src/venue/port.ts';
import { terms } from '../venue/order-samples.ts';
import { failureOf, orderOf, START } from './tracked-orders.ts';

let count = 0;
function make(market: string, figures: object, state: OrderState = 'closed', createdAt = START): TrackedOrder {
  count += 1;
  const venueId = `${market}@${count}`;
  const order = orderOf(state, terms({ clientOrderId: `rb${count}`, market }), { venueId, ...figures });
  return Object.assign(order, { createdAt });
}
const lacksFills = (market = 'BTC-USD', state: OrderState = 'closed', createdAt = START) =>
  make(market, { recordFilled: '10' }, state, createdAt);
const lacksRecord = (market = 'BTC-USD') => make(market, { filled: '10' });
const isWhole = (market = 'BTC-USD') => make(market, { filled: '10', recordFilled: '10' });
const nameOf = ({ snapshot }: TrackedOrder) => snapshot.context.venueId;
/** The venue shows what the order lacks. */
const finish = ({ snapshot }: TrackedOrder) => Object.assign(snapshot.context, { filled: '10', recordFilled: '10' });

type Limits = { readonly deadlineAt?: number; readonly answerMs?: number; readonly wanted?: Wanted };
interface Sent {
  readonly at: number;
  readonly what: string;
  readonly limits: Limits;
}

/** Completes orders with readings whose answers take 20 ms; `answer` gives what they show. */
function completing(
  answer: (what: string, nth: number) => object | undefined = () => undefined,
  others: readonly TrackedOrder[] = [],
) {
  const clock = new VirtualClock(START);
  const sent: Sent[] = [];
  const waits: [string, number][] = [];
  const entries: object[] = [];
  const send = async (what: string, { deadlineAt, answerMs, wanted }: Limits): Promise<object> => {
    const limits = {
      ...(deadlineAt === undefined ? {} : { deadlineAt: deadlineAt - START }),
      ...(answerMs === undefined ? {} : { answerMs }),
    };
    sent.push({ at: clock.now() - START, what, limits: Object.assign(limits, wanted && { wanted }) });
    const withdrawn = new Promise<object>((resolve) => {
      wanted?.onWithdrawn(() => resolve({ kind: 'denied', code: 'STEP_ENDED', message: '' }));
    });
    const nth = sent.length;
    const answered = new Promise<void>((done) => void clock.after(20, done));
    return Promise.race([withdrawn, answered.then(() => answer(what, nth) ?? { kind: 'confirmed', result: [] })]);
  };
  const run = {
    clock,
    setup: { fillsWindowMs: 30_000 },
    heartbeat: { markWaiting: (path: string, until: number) => void waits.push([path, until - START]) },
    callId: (path: string) => `${path}#1`,
    venue: {
      call: ({ endpoint, params, ...limits }: Limits & { endpoint: string; params: Record<string, unknown> }) =>
        send(
          endpoint === 'GET /fills'
            ? `fills of ${params['market_id']} since ${params['start_time']}`
            : `fills of ${params['order_id']}`,
          limits,
        ),
    },
    log: {
      append: (type: string, data: object) => void entries.push({ type, ...data }),
      tracker: { unfinished: () => others },
    },
  } as unknown as OrderManagerParts;
  const shown = new Set<TrackedOrder>();
  const endShownAt = new Map<TrackedOrder, number>();
  const read = async (what: string, how: Limits, orders: readonly TrackedOrder[]) => {
    const at = clock.now();
    const outcome = (await send(what, how)) as { readonly kind?: string };
    if (outcome.kind === 'confirmed') for (const order of orders) endShownAt.set(order, at);
    return outcome;
  };
  const watch = {
    read: (order: TrackedOrder, _step: string, _purpose: string, how: Limits) =>
      read(`record of ${nameOf(order)}`, how, [order]),
    readTogether: (orders: readonly TrackedOrder[], _step: string, how: Limits) =>
      read(`records of ${orders.map(nameOf).join(', ')}`, how, orders),
    check() {},
    hasShownWithin: (_ms: number, order: TrackedOrder) => shown.has(order),
    hasShownEndSince: (ms: number, order: TrackedOrder) => (endShownAt.get(order) ?? 0) >= ms,
    hasShownSince: (ms: number, order: TrackedOrder) => (endShownAt.get(order) ?? 0) >= ms,
    lookFrom: (at: number) => at - START,
  };
  const made = new Completing(run, watch as never);
  const complete = (orders: Iterable<TrackedOrder>, request: Partial<CompletingRequest> = {}) =>
    made.complete(orders, { step: 's', windowMs: 10_000, cancel: new Cancellation(), ...request });
  return {
    clock,
    made,
    complete,
    sent,
    waits,
    entries,
    shown,
    run: <T>(work: Promise<T>) => clock.runUntil(work),
    asked: () => sent.map(({ what }) => what),
  };
}

describe('orders that are complete', () => {
  it('need no reading and no wait, alone or beside others', async () => {
    const stage = completing();
    expect(await stage.run(stage.complete([isWhole(), isWhole()]))).toEqual([]);
    expect([stage.sent, stage.waits]).toEqual([[], []]);
    const order = lacksFills();
    const mixed = completing(() => void finish(order));
    expect(await mixed.run(mixed.complete([isWhole(), order]))).toEqual([]);
    expect(mixed.asked()).toEqual([`fills of ${nameOf(order)}`]);
  });
});

describe('an order that lacks something', () => {
  it('is read until the time is over, and the wait is shown for as long', async () => {
    const order = lacksFills();
    const { complete, run, sent, waits, entries } = completing();
    expect(await run(complete([order]))).toEqual([order]);
    expect(sent.map(({ at, limits }) => [at, 'deadlineAt' in limits])).toEqual(
      [0, 1_000, 3_000, 7_000, 10_000].map((at) => [at, false]),
    );
    expect(waits).toEqual([
      ['s#fills', 10_000],
      ['s#fills', 10_020],
    ]);
    expect(entries).toMatchObject([{ type: 'order.concluded', event: 'T_SETTLE' }]);
  });

  it('that is shown stops being read, and the wait ends with it', async () => {
    const [late, never] = [lacksFills(), lacksFills()];
    const { complete, run, waits, asked } = completing((what, nth) => {
      if (what.endsWith(`${nameOf(late)}`) && nth > 2) finish(late);
      return undefined;
    });
    expect(await run(complete([late]))).toEqual([]);
    expect([asked().length, waits.at(-1)]).toEqual([3, ['s#fills', 3_020]]);
    expect(await run(complete([late, never], { windowMs: 1_000 }))).toEqual([never]);
  });

  it('is read once where nothing may wait: only with tokens that are free, and an answer that comes at once', async () => {
    const order = lacksFills();
    const { complete, run, sent, waits, entries } = completing();
    expect(await run(complete([order], { windowMs: 0 }))).toEqual([order]);
    expect(sent).toMatchObject([{ at: 0, limits: { deadlineAt: 0, answerMs: 2_000 } }]);
    expect([sent.length, waits, entries]).toEqual([1, [], []]);
  });

  it('is given up at the deadline of its reading', async () => {
    const { complete, run, sent } = completing();
    await run(complete([lacksFills()], { windowMs: 1_000, deadlineAt: START + 500 }));
    expect(sent[0]?.limits).toMatchObject({ deadlineAt: 500 });
    expect(sent[0]?.limits).not.toHaveProperty('answerMs');
  });

  it.each<[string, OrderState, boolean]>([
    ['an order that still works', 'open', false],
    ['one whose grace is over already', 'closed', true],
  ])('is not concluded again, nor before its end: %s', async (_name, state, settled) => {
    const order = make('BTC-USD', { recordFilled: '10', settled }, state);
    const { complete, run, entries } = completing();
    expect(await run(complete([order]))).toEqual([order]);
    expect(entries).toEqual([]);
  });

  it('halts the run where nothing can be recorded any more, and is read again after any other denial', async () => {
    const unrecorded = completing(() => ({ kind: 'denied', code: 'JOURNAL', message: 'the disk is full' }));
    expect(await unrecorded.run(failureOf(unrecorded.complete([lacksFills()])))).toMatchObject({ name: 'Halt' });
    expect(unrecorded.sent).toHaveLength(1);
    const order = lacksRecord();
    const denied = completing((_what, nth) => {
      if (nth === 1) return { kind: 'denied', code: 'DEADLINE', message: '' };
      return void finish(order);
    });
    expect(await denied.run(denied.complete([order]))).toEqual([]);
    expect(denied.sent).toHaveLength(2);
  });

  it('is no longer read when its step is cancelled, and the wait ends there', async () => {
    const { complete, run, clock, waits, sent } = completing();
    const cancel = new Cancellation();
    clock.after(1_500, () => cancel.cancel('operator', 'enough'));
    expect(await run(failureOf(complete([lacksFills()], { cancel })))).toMatchObject({ name: 'Abandoned' });
    expect([sent.length, waits.at(-1)]).toEqual([2, ['s#fills', 1_500]]);
  });
});

describe('orders of several markets', () => {
  it('are read together by market, and one by one where they are few there', async () => {
    const few = [lacksRecord(), lacksRecord(), lacksRecord('ETH-USD'), lacksRecord('ETH-USD')];
    const alone = completing(() => void few.map(finish));
    await alone.run(alone.complete(few, { windowMs: 0 }));
    expect(alone.asked()).toEqual([0, 1, 2, 3].map((at) => `record of ${nameOf(few[at] as TrackedOrder)}`));
    const many = Array.from({ length: COMPLETED_TOGETHER }, () => lacksRecord());
    const together = completing(() => void many.map(finish));
    await together.run(together.complete(many, { windowMs: 0 }));
    expect(together.asked()).toEqual([`records of ${many.map(nameOf).join(', ')}`]);
  });

  it('have their fills in one page of a market, those of other branches with them, from the oldest on', async () => {
    const own = [lacksFills('BTC-USD', 'closed', START + 300), lacksFills('BTC-USD', 'closed', START + 200)];
    const other = lacksFills('BTC-USD', 'closed', START + 100);
    const beside = [isWhole(), lacksRecord(), lacksFills('ETH-USD')];
    const apart = completing(() => undefined, beside);
    await apart.run(apart.complete(own, { windowMs: 0 }));
    expect(apart.asked()).toEqual(own.map((each) => `fills of ${nameOf(each)}`));
    const page = completing(() => void own.map(finish), [...beside, other, ...own]);
    await page.run(page.complete(own, { windowMs: 0 }));
    expect(page.asked()).toEqual(['fills of BTC-USD since 100']);
  });

  it('are not read one by one where a page had room for their fills', async () => {
    const own = Array.from({ length: COMPLETED_TOGETHER }, () => lacksFills());
    const stage = completing();
    expect(await stage.run(stage.complete(own, { windowMs: 0 }))).toEqual(own);
    expect(stage.asked()).toEqual(['fills of BTC-USD since 0']);
  });

  it('are read one by one where a page was full, but for those that it completed', async () => {
    const own = Array.from({ length: COMPLETED_TOGETHER }, () => lacksFills());
    const [first, ...rest] = own as [TrackedOrder, ...TrackedOrder[]];
    const stage = completing((what) => {
      if (!what.includes('since')) return undefined;
      finish(first);
      return { kind: 'confirmed', result: Array(PAGE_ROWS).fill({}) };
    });
    await stage.run(stage.complete(own, { windowMs: 0 }));
    expect(stage.asked().slice(1)).toEqual(rest.map((each) => `fills of ${nameOf(each)}`));
  });
});

describe('a page of fills', () => {
  const orders = (createdAt = START) =>
    Array.from({ length: COMPLETED_TOGETHER }, () => lacksFills('BTC-USD', 'closed', createdAt));

  it('is read once for all branches that ask for it at the same instant', async () => {
    const [a, b] = [orders(), orders()];
    const { complete, run, sent, asked } = completing(() => void [...a, ...b].map(finish));
    expect(await run(Promise.all([complete(a), complete(b)]))).toEqual([[], []]);
    expect([sent.length, asked()[0]]).toEqual([1, 'fills of BTC-USD since 0']);
  });

  it.each<[string, Partial<CompletingRequest>]>([
    ['may not wait', { windowMs: 0 }],
    ['has a deadline', { deadlineAt: START + 500 }],
  ])('is not shared by a branch that %s', async (_name, request) => {
    const [a, b] = [orders(), orders()];
    const { complete, run, sent } = completing(() => void [...a, ...b].map(finish));
    await run(Promise.all([complete(a), complete(b, request)]));
    expect(sent).toHaveLength(2);
  });

  it('is read again for orders that are older than those it was read for', async () => {
    const [a, b] = [orders(START + 100), orders()];
    const { complete, run, asked } = completing(() => void [...a, ...b].map(finish));
    await run(Promise.all([complete(a), complete(b)]));
    expect(asked()).toEqual(['fills of BTC-USD since 100', 'fills of BTC-USD since 0']);
  });

  it('is left by a branch that ends, and withdrawn by the last', async () => {
    const { complete, run, clock, sent } = completing();
    const ended: [string, number][] = [];
    const scopes = [new Cancellation(), new Cancellation()];
    const branches = scopes.map((cancel, at) =>
      failureOf(complete(orders(), { cancel })).then(() => ended.push([`${at}`, clock.now() - START])),
    );
    const withdrawn: (string | undefined)[] = [];
    for (const [at, scope] of scopes.entries())
      clock.after(5 * (at + 1), () => {
        scope.cancel('sibling', 'another branch ended');
        withdrawn.push(sent[0]?.limits.wanted?.withdrawn);
      });
    await run(Promise.all(branches));
    expect([sent.length, ended]).toEqual([
      1,
      [
        ['0', 5],
        ['1', 10],
      ],
    ]);
    expect(withdrawn).toEqual([undefined, expect.any(String)]);
  });
});

it('a page that was withdrawn is read again for a branch that asks at that instant', async () => {
  const own = Array.from({ length: COMPLETED_TOGETHER }, () => lacksFills());
  const { complete, run, clock, sent } = completing(() => void own.map(finish));
  const cancel = new Cancellation();
  const second = new Promise<unknown>((resolve) => {
    clock.after(0, () => {
      cancel.cancel('sibling', 'another branch ended');
      resolve(complete(own));
    });
  });
  await run(Promise.all([failureOf(complete(own, { cancel })), second]));
  expect(sent.map(({ at, what }) => [at, what])).toEqual(Array(2).fill([0, 'fills of BTC-USD since 0']));
});

it('reads by themselves the newest alone of many ended orders that a page may hide: others need the tokens', async () => {
  const ended = Array.from({ length: 200 }, () =>
    make('BTC-USD', { size: '10', filled: '0', recordFilled: '0' }, 'canceled'),
  );
  const full = Array.from({ length: PAGE_ROWS }, () => ({}));
  const { made, run, asked } = completing((what) =>
    what.startsWith('fills of BTC-USD since') ? { kind: 'confirmed', result: full } : undefined,
  );
  await run(made.readEnded(ended, 's', new Cancellation()));
  const newest = ended.slice(-20).map((order) => `fills of ${nameOf(order)}`);
  expect(asked()).toEqual(['fills of BTC-USD since 0', ...newest]);
});

const LOOK = { step: 's', cancel: new Cancellation(), patienceMs: 0 };

describe('orders that ended short', () => {
  const canceled = (terminalAt: number, filled = '4') =>
    make('BTC-USD', { size: '10', filled, recordFilled: filled, terminalAt }, 'canceled');

  it('are read when a record shows what they filled, and once', async () => {
    const [late, later, part] = [canceled(START - 1000), canceled(START - 200, '0'), isWhole()];
    const { made, run, sent } = completing();
    const look = async () => {
      await made.readUnseen([late, later, part], LOOK);
      await made.readEnded([late, later, part], 's', new Cancellation());
    };
    await run(look());
    expect(sent.map(({ at, what }) => [at, what])).toEqual([
      [2300, `records of ${nameOf(later)}, ${nameOf(late)}`],
      [2320, `fills of ${nameOf(late)}`],
      [2340, `fills of ${nameOf(later)}`],
    ]);
    await run(look());
    expect(sent).toHaveLength(3);
  });

  it('are read at once where their end is older than the lag of a record', async () => {
    const [old, older] = [canceled(START - 29_000), canceled(START - 93_000)];
    const { made, run, sent } = completing();
    await run(made.readUnseen([old, older], LOOK));
    expect(sent.map(({ at, what }) => [at, what])).toEqual([[0, `records of ${nameOf(old)}, ${nameOf(older)}`]]);
  });

  it('are read where they were closed or rejected as well, and the newest alone of many whose fills are out', async () => {
    const ended = (state: OrderState, at: number) =>
      make('BTC-USD', { size: '10', filled: '4', recordFilled: '4', terminalAt: at }, state);
    const before = Array.from({ length: 30 }, () => ended('rejected', START - 93_000));
    const late = ended('closed', START);
    const { made, run, sent } = completing();
    await run(made.readUnseen([...before, late], LOOK));
    expect(sent.map(({ at, what }) => [at, what])).toEqual([
      [2500, `records of ${[...before.slice(-20), late].toReversed().map(nameOf).join(', ')}`],
    ]);
  });

  it('are asked for again at the next look where none was shown, but not at once where no answer came', async () => {
    const late = canceled(START - 3000);
    const { made, run, clock, sent } = completing(() => ({ kind: 'unresolved', message: 'no answer' }));
    await run(made.readUnseen([late], LOOK));
    const first = sent.length;
    await run(made.readUnseen([late], LOOK));
    expect([first, sent.length]).toEqual([4, 4]);
    await run(new Promise<void>((done) => void clock.after(8000, done)));
    await run(made.readUnseen([late], LOOK));
    expect(sent).toHaveLength(8);
  });

  it('are not waited for by a step that is cancelled', async () => {
    const { made, run, clock, sent } = completing();
    const cancel = new Cancellation();
    clock.after(500, () => cancel.cancel('timeout', 'its time is over'));
    expect(await run(failureOf(made.readEnded([canceled(START)], 's', cancel)))).toMatchObject({ name: 'Abandoned' });
    expect([clock.now() - START, sent]).toEqual([500, []]);
  });
});

describe('what rests when a step looks', () => {
  it('is read by market, but for what was shown just now and what has ended', async () => {
    const open = (market: string) => make(market, {}, 'open');
    const [a, b, c, just] = [open('BTC-USD'), open('ETH-USD'), open('ETH-USD'), open('ETH-USD')] as const;
    const { made, run, sent, shown } = completing();
    shown.add(just);
    await run(made.readUnseen([a, b, c, just, isWhole()], LOOK));
    expect(sent.map(({ what }) => what)).toEqual([`record of ${nameOf(a)}`, `records of ${nameOf(b)}, ${nameOf(c)}`]);
    // It waits for no tokens.
    expect(sent.map(({ at, limits }) => [at, limits])).toMatchObject([
      [0, { deadlineAt: 0, answerMs: 2_000 }],
      [20, { deadlineAt: 20, answerMs: 2_000 }],
    ]);
  });

  it('is read again for no more than eight seconds in however many markets, and once in each', async () => {
    const { made, run, sent, entries } = completing(() => ({ kind: 'unresolved', message: 'no answer' }));
    const orders = Array.from({ length: 9 }, (_, index) => make(`M${index}-USD`, {}, 'open'));
    await run(made.readUnseen(orders, LOOK));
    expect([new Set(sent.map(({ what }) => what)).size, entries.length]).toEqual([9, 9]);
    expect(sent.at(-1)?.at).toBeLessThan(8_500);
  });

  it('halts the run where nothing can be recorded any more', async () => {
    const { made, run } = completing(() => ({ kind: 'denied', code: 'JOURNAL', message: 'the disk is full' }));
    expect(await run(failureOf(made.readUnseen([make('BTC-USD', {}, 'open')], LOOK)))).toMatchObject({ name: 'Halt' });
  });
});
