/** Completing alone: which readings are sent for which orders, when and how, and what becomes of those that no longer want them. */
import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/engine/interruption.ts';
import type { CompletingRequest } from '../../src/engine/readings/completing.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { COMPLETED_TOGETHER } from '../../src/venue/order/polling.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import { completing, finish, isWhole, lacksFills, lacksRecord, make, nameOf } from './completing-stage.ts';
import { failureOf, START } from './tracked-orders.ts';

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
