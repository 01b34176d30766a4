/** Settling alone, with the parts that it asks given: which orders are confirmed, cancelled, looked up or left, and what is thrown. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Cancellation, Halt, StepFailure } from '../../src/engine/interruption.ts';
import { Settling } from '../../src/engine/orders/settle.ts';
import type { OrderHandle } from '../../src/engine/readings/handles.ts';
import type { OrderManagerParts, OrderRequestContext } from '../../src/engine/readings/parts.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import type { ErrorKind } from '../../src/runbook/checked.ts';
import { TIMINGS } from '../../src/venue/order/context.ts';
import { stepOrder } from '../../src/venue/order/life.ts';
import { CANCEL_WITHIN_MS } from '../../src/venue/order/polling.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import type { OrderRecord } from '../../src/venue/records.ts';
import { fill, orderIn, record, T0, terms } from '../venue/order-samples.ts';
import { failureOf, orderOf, START, setState } from './tracked-orders.ts';

const halt = (message = 'it is not known') => new Halt('unknown_outcome', message, 's');
const failure = (kind: ErrorKind = 'rejected') => new StepFailure(kind, 'refused', 's');

interface Given {
  /** What each cancel throws, by client order id. */
  readonly cancels?: Readonly<Record<string, Error>>;
  readonly confirms?: Readonly<Record<string, Error>>;
  readonly amends?: Readonly<Record<string, Error>>;
  /** Why the watch of a refused order came to no result. */
  readonly refused?: Error;
  /** How long a cancel takes, ms. */
  readonly takesMs?: number;
  /** Whether the end of a stop that is being cancelled shows in time. */
  readonly ends?: boolean;
  readonly namesakes?: readonly OrderRecord[];
  readonly namesake?: Error;
  readonly doubts?: Error;
}

function settling(orders: readonly TrackedOrder[], given: Given = {}) {
  const clock = new VirtualClock(START);
  const did: string[] = [];
  const entries: object[] = [];
  const how: object[] = [];
  const decided: ((order: TrackedOrder) => boolean)[] = [];
  const touched: string[] = [];
  const act = (what: string, throws: Readonly<Record<string, Error>> = {}) => {
    return async ({ intent: { clientOrderId } }: TrackedOrder, ...rest: readonly unknown[]): Promise<void> => {
      if (given.takesMs !== undefined) await new Promise<void>((done) => void clock.after(given.takesMs ?? 0, done));
      did.push(`${what} ${clientOrderId}`);
      if (what === 'cancels') how.push(rest[2] ?? {});
      const error = throws[clientOrderId];
      if (error !== undefined) throw error;
    };
  };
  const run = {
    clock,
    log: {
      append: (type: string, data: object) => void entries.push({ type, ...data }),
      tracker: { orders: () => orders, unfinished: () => orders },
    },
  } as unknown as OrderManagerParts;
  const made = new Settling(run, {
    watch: {
      async waitWithin(ms: number, order: TrackedOrder, isDecided: (order: TrackedOrder) => boolean) {
        did.push(`waits ${ms} for ${order.intent.clientOrderId}`);
        decided.push(isDecided);
        return given.ends ?? true;
      },
      async readNamesakes({ intent }: TrackedOrder, _step: string, { deadlineAt = 0 }: { deadlineAt?: number }) {
        did.push(`looks for ${intent.clientOrderId} until ${deadlineAt - START}`);
        return given.namesakes ?? [];
      },
      check() {},
    },
    resolution: {
      async settleDoubts() {
        did.push('looks up');
        if (given.doubts !== undefined) throw given.doubts;
      },
    },
    refused: { settle: async () => given.refused },
    amending: { settle: act('amends', given.amends) },
    cancelling: {
      own: act('cancels', given.cancels),
      async external({ id }: OrderHandle) {
        did.push(`cancels ${id}`);
        if (given.namesake !== undefined) throw given.namesake;
      },
    },
    confirming: { confirm: act('confirms', given.confirms) },
    handles: { get: ({ intent }: TrackedOrder) => ({ touch: () => void touched.push(intent.clientOrderId) }) },
  } as never);
  return {
    made,
    clock,
    did,
    entries,
    how,
    decided,
    touched,
    run: <T>(work: Promise<T>) => clock.runUntil(work),
    settle: (failed = false) => clock.runUntil(failureOf(made.settle('s', new Cancellation(), failed))),
  };
}
const of = (id: string, state: OrderState, context: object = {}, over: Partial<OrderTerms> = {}) =>
  orderOf(state, terms({ clientOrderId: id, ...over }), { venueId: `BTC-USD@${id}`, ...context });
const cancelling = (id: string, context: object = {}, over: Partial<OrderTerms> = {}) =>
  of(id, 'canceling', { cancel: { ackedAt: START }, ...context }, over);
const at = (more: Partial<OrderRequestContext> = {}) =>
  ({ step: 's', cancel: new Cancellation(), memory: new Map(), ...more }) as OrderRequestContext;

/** A long position that the run has opened, and its stop. */
function covered(state: OrderState = 'open'): readonly [TrackedOrder, TrackedOrder] {
  const events = [
    { type: 'FILL', at: T0, fill: fill('1', '10') },
    { type: 'P_CLOSED', at: T0 + 900, sentAt: T0 + 800, record: record('closed', { total_filled_size: '10' }) },
  ] as const;
  const position = events.reduce((order, event) => stepOrder(order, event).snapshot, orderIn('open'));
  const stop = terms({ clientOrderId: 'stop', side: 'short', type: 'stop_market', trigger: '90', allow: 'reduce' });
  const { context } = orderIn(state);
  const shown = { ...context, intent: stop, venueId: 'BTC-USD@stop' };
  return [
    { place: 1, intent: terms(), createdAt: T0, step: 's', snapshot: position },
    { place: 2, intent: stop, createdAt: T0, step: 's', snapshot: { state, context: shown } },
  ];
}

describe('a cancel that goes on beside', () => {
  it('is not waited for, except at the end', async () => {
    const order = of('a', 'unknown');
    const stage = settling([order], { takesMs: 9_000 });
    stage.made.cancelBeside(order, at());
    expect(stage.did).toEqual([]);
    expect([await stage.run(stage.made.finishBeside()), stage.did]).toEqual([undefined, ['cancels a']]);
  });

  it('gives its error where it is waited for, the first of several, and once', async () => {
    const orders = ['a', 'b', 'c'].map((id) => of(id, 'unknown'));
    const [second, third] = [failure(), failure()];
    const { made, run } = settling(orders, { cancels: { b: second, c: third } });
    for (const order of orders) made.cancelBeside(order, at());
    expect(await run(made.finishBeside())).toBe(second);
    expect(await run(made.finishBeside())).toBeUndefined();
  });

  it('of a quarantined order halts its step at once', async () => {
    const order = of('a', 'quarantined');
    const { made, run, did } = settling([order]);
    expect(() => made.cancelBeside(order, at())).toThrow(Halt);
    await run(made.finishBeside());
    expect(did).toEqual(['cancels a']);
  });

  it('is waited for also where a refused order came to no result', async () => {
    const order = of('a', 'unknown');
    const { made, settle, did } = settling([order], { refused: halt(), takesMs: 9_000 });
    made.cancelBeside(order, at());
    setState(order, 'canceled');
    expect(await settle()).toMatchObject({ name: 'Halt' });
    expect(did).toEqual(['cancels a']);
  });

  it('that failed fails the end of the run', async () => {
    const order = of('a', 'unknown');
    const { made, settle } = settling([order], { cancels: { a: failure('transport') } });
    made.cancelBeside(order, at());
    setState(order, 'canceled');
    expect(await settle()).toEqual({ name: 'StepFailure', kind: 'transport' });
  });
});

describe('the end of a run', () => {
  it('settles amends, confirms what its steps left where it failed, and cancels what was to be cancelled', async () => {
    const states: readonly OrderState[] = ['amending', 'processing', 'open', 'quarantined', 'unknown'];
    const orders = [...states.map((state) => of(state, state)), cancelling('canceling')];
    const clean = settling(orders);
    expect(await clean.settle()).toBeUndefined();
    expect(clean.did).toEqual(['amends amending', 'cancels canceling']);
    const failed = settling(orders);
    expect(await failed.settle(true)).toBeUndefined();
    expect(failed.did).toEqual(['amends amending', 'confirms processing', 'confirms unknown', 'cancels canceling']);
    expect(failed.touched).toEqual(['processing', 'unknown', 'canceling']);
    expect(failed.entries).toEqual([]);
  });

  it('closes what was never sent, and nothing else', async () => {
    const { settle, entries } = settling([of('draft', 'draft'), of('open', 'open')]);
    expect(await settle()).toBeUndefined();
    expect(entries).toMatchObject([{ type: 'order.concluded', clientOrderId: 'draft', event: 'DENY' }]);
    expect(entries).toHaveLength(1);
  });

  it.each<[string, Given, object | undefined]>([
    ['was cancelled instead', { confirms: { a: failure('cancelled') } }, undefined],
    ['cannot be found out about', { confirms: { a: halt() } }, { name: 'Halt' }],
    ['meets a mistake of ours', { confirms: { a: new TypeError('ours') } }, { name: 'TypeError' }],
    ['has an amend in doubt', { amends: { m: halt() } }, { name: 'Halt' }],
  ])('goes on with the others where one of them %s', async (_name, given, thrown) => {
    const orders = [of('m', 'amending'), of('a', 'processing'), of('b', 'processing'), cancelling('c')];
    const stage = settling([...orders, of('draft', 'draft')], given);
    const found = await stage.settle(true);
    if (thrown === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(thrown);
    expect(stage.did).toEqual(['amends m', 'confirms a', 'confirms b', 'cancels c']);
    expect(stage.touched).toEqual(['a', 'b', 'c']);
    expect(stage.entries).toHaveLength(1);
  });
});

describe('the cancels at the end of a run', () => {
  it('are as many as of a step, and one of an order whose cancel failed', async () => {
    const failed = of('failed', 'open');
    const underWay = cancelling('under way');
    const { made, settle, how } = settling([failed, underWay, cancelling('never asked')]);
    made.markUnwanted(failed);
    made.markUnwanted(underWay);
    await settle();
    const { cancelTries } = TIMINGS;
    expect(how).toEqual([1, cancelTries, cancelTries].map((most) => ({ most, isLost: false })));
  });

  it.each<[string, Record<string, Error>, object]>([
    ['the first halt', { a: new TypeError('ours'), b: halt('first'), c: halt('second') }, { message: 'first' }],
    ['a mistake of ours', { a: new TypeError('ours') }, { message: 'ours' }],
  ])('go on after one fails, and throw %s', async (_name, cancels, thrown) => {
    const orders = ['a', 'b', 'c'].map((id) => cancelling(id));
    const { made, run, did } = settling(orders, { cancels });
    await expect(run(made.settle('s', new Cancellation(), false))).rejects.toMatchObject(thrown);
    expect(did).toHaveLength(3);
  });

  it('name every order that may still work, before a halt of another', async () => {
    const orders = ['a', 'b', 'c'].map((id) => cancelling(id));
    const { made, run, did } = settling(orders, { cancels: { a: failure(), b: halt('of b'), c: failure() } });
    const end = run(made.settle('s', new Cancellation(), false));
    await expect(end).rejects.toSatisfy((error) => error instanceof Halt && /BTC-USD@a.*BTC-USD@c/.test(error.message));
    expect(did).toHaveLength(3);
  });
});

describe('a stop at the end of a run', () => {
  it('that covers stays, and that is said', async () => {
    const [position, stop] = covered();
    const { made, settle, did, entries } = settling([position, stop]);
    made.markUnwanted(stop, at());
    expect(await settle()).toBeUndefined();
    expect(did).toEqual([]);
    expect(entries).toEqual([
      {
        type: 'order.alarmed',
        clientOrderId: 'stop',
        alarm: 'StopKept',
        detail: { market: 'BTC-USD', size: '10' },
      },
    ]);
  });

  it.each<[string, Partial<OrderRequestContext>, boolean]>([
    ['the last word of its author', { isLastWord: true }, true],
    ['an exit, also in the last word', { isLastWord: true, exit: { what: 'the exit' } }, false],
    ['a step before the last word', {}, false],
  ])('that covers is cancelled where its cancel was %s', async (_name, asked, isCancelled) => {
    const [position, stop] = covered();
    const { made, settle, did } = settling([position, stop]);
    made.markUnwanted(stop, at(asked));
    await settle();
    expect(did).toEqual(isCancelled ? ['cancels stop'] : []);
  });

  it('that covers nothing is cancelled', async () => {
    const [, stop] = covered();
    const { made, settle, did } = settling([stop]);
    made.markUnwanted(stop);
    await settle();
    expect(did).toEqual(['cancels stop']);
  });

  it('whose cancel is under way is waited for first, once', async () => {
    const stop: Partial<OrderTerms> = { type: 'stop_market', side: 'short' };
    const shows = settling([cancelling('stop', {}, stop)]);
    await shows.settle();
    expect([shows.did, shows.how]).toMatchObject([
      [`waits ${CANCEL_WITHIN_MS} for stop`, 'cancels stop'],
      [{ isLost: false }],
    ]);
    const lost = settling([cancelling('stop', {}, stop)], { ends: false });
    await lost.settle();
    expect(lost.how).toMatchObject([{ isLost: true }]);
    const [isDecided] = lost.decided;
    const states: readonly OrderState[] = ['canceling', 'open', 'canceled', 'closed', 'quarantined'];
    expect(states.filter((state) => isDecided?.(of('x', state)))).toEqual([
      'open',
      'canceled',
      'closed',
      'quarantined',
    ]);
    const other = settling([of('stop', 'open', {}, stop)]);
    other.made.markUnwanted(of('other', 'open'));
    await other.settle();
    expect(other.did).toEqual([]);
  });
});

describe('a halted run that is resumed', () => {
  const resting = () => [
    of('shown', 'open'),
    of('never shown', 'processing', { venueId: undefined }),
    of('in doubt', 'quarantined'),
    of('in doubt, never shown', 'quarantined', { venueId: undefined }),
  ];

  it('looks up, then cancels what rests and what a cancel can name, and closes what was never sent', async () => {
    const { made, run, did, entries } = settling([...resting(), of('draft', 'draft')]);
    await run(made.settleDoubts('s'));
    expect(did).toEqual(['looks up', 'cancels shown', 'cancels never shown', 'cancels in doubt']);
    expect(entries).toMatchObject([{ clientOrderId: 'draft', event: 'DENY' }]);
  });

  it('cancels also where the look-up halts', async () => {
    const { made, run, did } = settling(resting(), { doubts: halt() });
    expect(await run(failureOf(made.settleDoubts('s')))).toMatchObject({ name: 'Halt' });
    expect(did).toHaveLength(4);
  });
});

describe('orders that were sent again', () => {
  const sentAgain = of('a', 'open', { attempt: 2 });
  const shown = (over: Partial<OrderRecord> = {}) => record('open', { id: 'BTC-USD@9', client_order_id: 'a', ...over });
  const look = async (given: Given, orders: readonly TrackedOrder[] = [sentAgain]) => {
    const { made, run, did } = settling(orders, given);
    const thrown = await run(
      made.lookForLate('s', 5_000).then(
        () => undefined,
        (error: Error) => error,
      ),
    );
    return { did: did.slice(1), looked: did[0], thrown };
  };

  it('are looked for, and no others', async () => {
    expect(await look({}, [of('b', 'open', { attempt: 1 }), sentAgain])).toEqual({
      looked: 'looks for a until 5000',
      did: [],
      thrown: undefined,
    });
  });

  it.each<[string, Given, readonly string[], object | undefined]>([
    ['the order itself', { namesakes: [shown({ id: 'BTC-USD@a' })] }, [], undefined],
    ['another that works', { namesakes: [shown()] }, ['cancels BTC-USD@9'], undefined],
    ['another that has ended', { namesakes: [shown({ status: 'canceled' })] }, [], undefined],
    [
      'another that ends meanwhile',
      { namesakes: [shown()], namesake: failure('not_found') },
      ['cancels BTC-USD@9'],
      undefined,
    ],
    [
      'another that cannot be cancelled',
      { namesakes: [shown()], namesake: failure() },
      ['cancels BTC-USD@9'],
      { message: expect.stringContaining('BTC-USD@9'), fact: { kind: 'unknown_outcome' } },
    ],
    [
      'a mistake of ours',
      { namesakes: [shown()], namesake: new TypeError('ours') },
      ['cancels BTC-USD@9'],
      { message: 'ours' },
    ],
    [
      'another that has filled',
      { namesakes: [shown({ status: 'closed', total_filled_size: '10' })] },
      [],
      { fact: { kind: 'unknown_outcome' } },
    ],
  ])('show %s', async (_name, given, did, thrown) => {
    const found = await look(given);
    expect(found.did).toEqual(did);
    if (thrown === undefined) expect(found.thrown).toBeUndefined();
    else expect(found.thrown).toMatchObject(thrown);
  });
});

it('an order in doubt that a step has handled halts the end of its run', () => {
  expect(() => settling([of('a', 'open')]).made.requireKnown('s')).not.toThrow();
  expect(() => settling([of('a', 'open'), of('b', 'quarantined')]).made.requireKnown('s')).toThrow(Halt);
});
