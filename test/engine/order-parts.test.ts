/**
 * Placing, finding out and completing alone, with the parts that they ask given: which of them is asked for what, and what follows.
 * What a run does with them is in the goldens.
 */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Cancellation } from '../../src/engine/interruption.ts';
import { OrderManager } from '../../src/engine/orders/orders.ts';
import { Placing } from '../../src/engine/orders/place.ts';
import { Resolution } from '../../src/engine/orders/resolution.ts';
import type { OrderManagerParts, OrderRequestContext, Terms } from '../../src/engine/readings/parts.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { deriveClientOrderId } from '../../src/venue/order/identity.ts';
import {
  COMPLETED_TOGETHER,
  LOOKUP_EVERY_MS,
  LOOKUP_PATIENCE,
  MARKET_PROOFS,
  RESENDS,
} from '../../src/venue/order/polling.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { Consent, OrderTerms } from '../../src/venue/port.ts';
import { terms as sampleTerms } from '../venue/order-samples.ts';
import { failureOf, orderOf, START, setState } from './tracked-orders.ts';

const { clientOrderId: _own, ...TERMS } = sampleTerms();
const OTHER: Terms = { ...TERMS, size: '11' };

/** How the venue answers a POST, and the state of its order then. */
interface Posted {
  readonly kind: 'confirmed' | 'rejected' | 'denied' | 'unresolved';
  readonly failure?: string;
  readonly definite?: boolean;
  readonly state: OrderState;
}
const UNANSWERED: Posted = { kind: 'unresolved', state: 'unknown' };

/** Places orders with parts whose answers are given; notes what they are asked. */
function placing(
  posts: readonly Posted[],
  parts: { readonly looked?: boolean; readonly begun?: boolean; readonly resolved?: OrderState } = {},
) {
  const orders = new Map<string, TrackedOrder>();
  const did: string[] = [];
  const sent: OrderTerms[] = [];
  const calls: object[] = [];
  const entries: unknown[] = [];
  const note = (what: string) => () => void did.push(what);
  const answer = (what: string, given: boolean | undefined) => async () => {
    did.push(what);
    return given ?? false;
  };
  const run = {
    setup: { account: 'main', run: 'r' },
    callId: (path: string) => `${path}#1`,
    heartbeat: { beforeOrder: async () => void did.push('switch') },
    log: {
      append: (type: string, data: object) => void entries.push({ type, ...data }),
      tracker: { get: (id: string) => orders.get(id) },
    },
    venue: {
      async call(call: { readonly intent: OrderTerms }) {
        const { intent } = call;
        calls.push(call);
        const { state, ...outcome } = posts[sent.length] ?? { kind: 'confirmed', state: 'open' as OrderState };
        did.push('post');
        sent.push(intent);
        const order = orders.get(intent.clientOrderId) ?? orderOf(state, intent);
        orders.set(intent.clientOrderId, order);
        setState(order, state);
        return { message: '', code: '', ...outcome };
      },
    },
  } as unknown as OrderManagerParts;
  const place = new Placing(run, {
    resolution: {
      lookUpOnce: answer('looks up', parts.looked),
      lookUpRefused: answer('looks up refused', parts.looked),
      resolve: async (order: TrackedOrder) => {
        did.push('resolves');
        setState(order, parts.resolved ?? 'absent');
      },
    } as unknown as Resolution,
    refused: { claim: async () => false, begin: answer('watches', parts.begun) } as never,
    handles: { get: (order: TrackedOrder) => order } as never,
    swept: async () => void did.push('swept'),
    giveUp: note('gives up'),
  });
  const at = { step: 'steps/o', cancel: new Cancellation(), memory: new Map() } as unknown as OrderRequestContext;
  return {
    did,
    sent,
    calls,
    entries,
    place: (terms: Terms = TERMS, leg = '', exit?: Consent) =>
      place.place({ ...at, ...(exit === undefined ? {} : { exit }) }, leg, terms) as unknown as Promise<TrackedOrder>,
    fails: (terms: Terms = TERMS, leg = '') => failureOf(place.place(at, leg, terms)),
    ids: () => sent.map(({ clientOrderId }) => clientOrderId),
    /** What an earlier attempt placed. */
    placed: (order: TrackedOrder, leg = '', limited = false) =>
      void at.memory.set(`order:${leg}`, { attempt: 1, order, limited }),
  };
}
const idOf = (path: string, attempt: number, tag?: string) =>
  deriveClientOrderId({ account: 'main', run: 'r', path, attempt, ...(tag === undefined ? {} : { tag }) });

describe('placing an order', () => {
  it('waits for sweeps and for the switch, and derives its id from path, leg, attempt and tag', async () => {
    const stage = placing([]);
    const order = await stage.place();
    expect(stage.did).toEqual(['swept', 'switch', 'post']);
    expect([stage.ids(), order.intent.clientOrderId]).toEqual([[idOf('steps/o', 1)], idOf('steps/o', 1)]);
    const tagged = placing([]);
    await tagged.place({ ...TERMS, tag: 'abc' }, 'stop');
    expect(tagged.ids()).toEqual([idOf('steps/o#stop', 1, 'abc')]);
    expect(idOf('steps/o#stop', 1, 'abc')).not.toBe(idOf('steps/o#stop', 1));
  });

  it('asks for the consent of its exit alone', async () => {
    const exit: Consent = { what: 'the exit' };
    const stage = placing([]);
    await stage.place(TERMS, 'exit/1', exit);
    await stage.place(OTHER, 'stop');
    expect(stage.calls).toMatchObject([{ consent: exit }, { clientOrderId: idOf('steps/o#stop', 1) }]);
    expect(stage.calls[1]).not.toHaveProperty('consent');
  });

  it.each<[string, OrderState, string, boolean]>([
    ['a leg that works', 'open', 'stop', false],
    ['a leg that has triggered', 'closed', 'stop', false],
    ['a leg that was refused', 'rejected', 'stop', true],
    ['an order that works', 'open', '', false],
    ['an order that has closed', 'closed', '', true],
    ['an order that was cancelled', 'canceled', '', true],
  ])('a second time: %s', async (_name, state, leg, again) => {
    const stage = placing([]);
    stage.placed(orderOf(state), leg);
    await stage.place(TERMS, leg);
    expect(stage.ids()).toEqual(again ? [idOf(leg === '' ? 'steps/o' : `steps/o#${leg}`, 2)] : []);
    expect(stage.entries).toEqual([]);
  });

  it('of a leg that was cancelled fails', async () => {
    const stage = placing([]);
    stage.placed(orderOf('canceled'), 'stop');
    expect(await stage.fails(TERMS, 'stop')).toEqual({ name: 'StepFailure', kind: 'cancelled' });
    expect(stage.sent).toEqual([]);
  });

  it('keeps an order of other terms, and says so', async () => {
    const stage = placing([]);
    stage.placed(orderOf('open'));
    await stage.place(OTHER);
    expect(stage.sent).toEqual([]);
    expect(stage.entries).toEqual([
      {
        type: 'order.alarmed',
        clientOrderId: 'rbabc',
        alarm: 'EarlierTerms',
        detail: { has: expect.any(String), wanted: expect.any(String) },
      },
    ]);
  });

  it('sends a draft of the same terms again, and gives up one of others', async () => {
    const same = placing([]);
    same.placed(orderOf('draft'));
    await same.place();
    expect([same.ids(), same.entries]).toEqual([['rbabc'], []]);
    const others = placing([]);
    others.placed(orderOf('draft'));
    await others.place(OTHER);
    expect([others.ids(), others.entries]).toMatchObject([
      [idOf('steps/o', 2)],
      [{ type: 'order.concluded', clientOrderId: 'rbabc', event: 'DENY' }],
    ]);
  });

  it.each<[string, Posted, boolean]>([
    ['the rate limit', { kind: 'rejected', failure: 'rate_limited', definite: false, state: 'draft' }, true],
    ['no connection', { kind: 'rejected', failure: 'transport', definite: false, state: 'draft' }, false],
    ['a limit', { kind: 'denied', state: 'draft' }, false],
  ])('that failed for %s is looked up before it is sent again, or not', async (_name, posted, looks) => {
    const stage = placing([posted]);
    expect(await stage.fails()).toMatchObject({ name: 'StepFailure' });
    expect(stage.did).not.toContain('watches');
    stage.did.length = 0;
    await stage.place();
    expect(stage.did).toEqual(['swept', 'switch', ...(looks ? ['looks up'] : []), 'post']);
    expect(new Set(stage.ids()).size).toBe(1);
  });

  it('adopts one that the look-up finds', async () => {
    const stage = placing([{ kind: 'rejected', failure: 'rate_limited', definite: true, state: 'draft' }], {
      looked: true,
    });
    await stage.fails();
    await stage.place();
    expect(stage.sent).toHaveLength(1);
  });

  it('whose session was refused twice is looked up each time, and fails', async () => {
    const refused: Posted = { kind: 'rejected', failure: 'unauthorized', definite: true, state: 'draft' };
    const stage = placing([refused, refused]);
    expect(await stage.fails()).toMatchObject({ name: 'StepFailure' });
    expect(stage.did).toEqual([
      'swept',
      'switch',
      'post',
      'looks up refused',
      'swept',
      'switch',
      'post',
      'looks up refused',
    ]);
    const found = placing([{ ...refused, state: 'open' }], { looked: true });
    expect((await found.place()).snapshot.state).toBe('open');
  });

  it('refused in unknown words is watched, and adopted where it appears', async () => {
    const refused: Posted = { kind: 'rejected', failure: 'rejected', definite: false, state: 'open' };
    const appears = placing([refused], { begun: true });
    await appears.place();
    expect(appears.did.at(-1)).toBe('watches');
    expect(await placing([refused]).fails()).toMatchObject({ kind: 'rejected' });
    const definite = placing([{ ...refused, definite: true }], { begun: true });
    expect(await definite.fails()).toMatchObject({ kind: 'rejected' });
    expect(definite.did).not.toContain('watches');
  });

  it('without an answer is found out about, and sent again only where that is allowed', async () => {
    const halts = placing([UNANSWERED]);
    expect(await halts.fails()).toEqual({ name: 'StepFailure', kind: 'not_placed' });
    expect(halts.did).toEqual(['swept', 'switch', 'post', 'resolves', 'gives up']);
    const resends = placing(Array(9).fill(UNANSWERED));
    expect(await resends.fails({ ...TERMS, onAmbiguous: 'resend' })).toEqual({
      name: 'StepFailure',
      kind: 'not_placed',
    });
    expect([resends.sent.length, resends.did.filter((each) => each === 'switch').length]).toEqual([
      RESENDS + 1,
      RESENDS + 1,
    ]);
    expect(resends.did.filter((each) => each === 'swept')).toHaveLength(RESENDS + 1);
    const duplicate = placing([{ kind: 'rejected', failure: 'duplicate', definite: true, state: 'unknown' }], {
      resolved: 'open',
    });
    expect((await duplicate.place()).snapshot.state).toBe('open');
  });

  it('that stays in doubt halts the run', async () => {
    expect(await placing([UNANSWERED], { resolved: 'quarantined' }).fails()).toMatchObject({ name: 'Halt' });
  });
});

/** Finds out about an order with look-ups whose answers are given. */
function resolving(
  order: TrackedOrder,
  {
    horizonMs = 30_000,
    read = () => true,
    market = () => true,
  }: {
    readonly horizonMs?: number;
    /** Whether the nth look-up got an answer, which then has no such order. */
    readonly read?: (n: number) => boolean;
    readonly market?: (n: number) => boolean;
  } = {},
) {
  const clock = new VirtualClock(START);
  const concluded: object[] = [];
  const reasons: string[] = [];
  const readAt: number[] = [];
  const calls: string[] = [];
  let proofs = 0;
  const run = {
    clock,
    setup: { absenceHorizonMs: horizonMs },
    callId: (path: string) => `${path}#1`,
    venue: { call: async ({ endpoint }: { readonly endpoint: string }) => void calls.push(endpoint) },
    log: {
      append(type: string, { clientOrderId, because, ...data }: Record<string, unknown>) {
        concluded.push({ type, ...data });
        reasons.push(String(because));
        setState(order, 'unproven' in data ? 'quarantined' : 'absent');
      },
      tracker: { orders: () => [order] },
    },
  } as unknown as OrderManagerParts;
  const watch = {
    async read() {
      readAt.push(clock.now() - START);
      return read(readAt.length) ? { kind: 'confirmed', result: [] } : { kind: 'unresolved', message: '' };
    },
    check() {},
    lookFrom: () => 0,
    async lookThroughMarket() {
      proofs += 1;
      return market(proofs) ? undefined : 'cut';
    },
  };
  const resolution = new Resolution(run, watch as never);
  return {
    resolution,
    concluded,
    reasons,
    readAt,
    calls,
    watch,
    proofs: () => proofs,
    run: <T>(work: Promise<T>) => clock.runUntil(work),
  };
}

describe('an order whose fate is unknown', () => {
  const unknown = () => orderOf('unknown');

  it('is absent when five look-ups and the market show nothing, the last behind the horizon', async () => {
    const stage = resolving(unknown(), { horizonMs: 10_000 });
    await stage.run(stage.resolution.resolve(unknown(), 's'));
    expect(stage.readAt).toEqual([500, 1_000, 2_000, 4_000, 8_000, 13_000]);
    expect([stage.proofs(), stage.calls]).toEqual([1, ['GET /fills']]);
    expect(stage.reasons).toEqual([expect.stringMatching(/13 s$/)]);
    expect(stage.concluded).toEqual([{ type: 'order.concluded', event: 'T_EXHAUSTED' }]);
    const five = resolving(unknown(), { horizonMs: 7_000 });
    const looked: number[] = [];
    await five.run(five.resolution.resolve(unknown(), 's', { looked: () => void looked.push(1) }));
    expect([five.readAt.length, looked.length]).toEqual([5, 5]);
    const atHorizon = resolving(unknown(), { horizonMs: 8_000 });
    await atHorizon.run(atHorizon.resolution.resolve(unknown(), 's'));
    expect(atHorizon.readAt).toHaveLength(6);
  });

  it('counts no look-up that got no answer', async () => {
    const stage = resolving(unknown(), { horizonMs: 7_000, read: (n) => n !== 3 });
    await stage.run(stage.resolution.resolve(unknown(), 's'));
    expect(stage.readAt).toHaveLength(6);
  });

  it('is left to a person where the market cannot be read so many times', async () => {
    const order = unknown();
    const stage = resolving(order, { market: () => false });
    expect(await stage.run(failureOf(stage.resolution.resolve(order, 's')))).toMatchObject({ name: 'Halt' });
    // Which row or page keeps it in doubt is what a person looks at.
    expect(stage.reasons).toEqual([expect.stringContaining('(cut)')]);
    expect([stage.proofs(), stage.concluded]).toEqual([
      MARKET_PROOFS,
      [{ type: 'order.concluded', event: 'T_EXHAUSTED', unproven: true }],
    ]);
  });

  it('may be found in the market after all', async () => {
    const order = unknown();
    const stage = resolving(order, { market: () => setState(order, 'open') === undefined });
    await stage.run(stage.resolution.resolve(order, 's'));
    expect([stage.proofs(), stage.concluded]).toEqual([1, []]);
  });

  it('is given up when nothing was answered for ten horizons', async () => {
    const horizonMs = 3 * LOOKUP_EVERY_MS;
    const order = unknown();
    const stage = resolving(order, { horizonMs, read: () => false });
    await stage.run(stage.resolution.resolve(order, 's', { offsets: [0] }));
    expect(stage.readAt.at(-1)).toBe(LOOKUP_PATIENCE * horizonMs + LOOKUP_EVERY_MS);
    expect([stage.proofs(), stage.concluded.length]).toEqual([0, 1]);
  });

  it('is there under an unknown status: more look-ups would show the same', async () => {
    const order = orderOf('unknown', sampleTerms(), { unknownStatus: { since: START - 56_000 } });
    const stage = resolving(order, { horizonMs: 60_000 });
    await stage.run(stage.resolution.resolve(order, 's'));
    expect([stage.readAt.length, stage.proofs()]).toEqual([4, 0]);
    // After five look-ups the journal says that the absence is not proven.
    const later = orderOf('unknown', sampleTerms(), { unknownStatus: { since: START - 48_000 } });
    const five = resolving(later, { horizonMs: 60_000 });
    await five.run(failureOf(five.resolution.resolve(later, 's')));
    expect([five.readAt.length, five.concluded]).toEqual([
      6,
      [{ type: 'order.concluded', event: 'T_EXHAUSTED', unproven: true }],
    ]);
  });

  it('is found by a single look-up where a row is its own', async () => {
    const order = unknown();
    const stage = resolving(order);
    const rows = (...ids: readonly string[]) => {
      stage.watch.read = async () => ({
        kind: 'confirmed',
        result: ids.map((id) => ({ client_order_id: id })) as never,
      });
    };
    rows('rbother');
    expect(await stage.run(stage.resolution.lookUpOnce(order, 's'))).toBe(false);
    rows('rbother', 'rbabc');
    expect(await stage.run(stage.resolution.lookUpOnce(order, 's'))).toBe(true);
  });

  it.each<[string, TrackedOrder, number, number]>([
    ['one that is known', orderOf('open'), 0, 0],
    ['one that was proven absent', orderOf('absent'), 1, 0],
    ['one that was shown', orderOf('unknown', sampleTerms(), { venueId: 'BTC-USD@1' }), 1, 0],
    ['one of which nothing is known', orderOf('unknown'), 7, 1],
  ])('is looked up when its run is resumed: %s', async (_name, order, looks, concluded) => {
    const stage = resolving(order, { horizonMs: 7_000 });
    await stage.run(stage.resolution.settleDoubts('s'));
    expect([stage.readAt.length > 0, stage.concluded.length]).toEqual([looks > 0, concluded]);
    if (concluded === 0) expect(stage.readAt).toHaveLength(looks);
  });

  it('halts the run again where the venue does not answer', async () => {
    const order = unknown();
    const stage = resolving(order, { read: () => false });
    expect(await stage.run(failureOf(stage.resolution.settleDoubts('s')))).toMatchObject({ name: 'Halt' });
  });
});

/** An order manager whose parts are given. */
function manager(orders: readonly TrackedOrder[], parts: object = {}) {
  const tracker = { orders: () => orders, unfinished: () => orders, onChange() {}, watchOrders: () => new Set() };
  const made = new OrderManager({
    log: { tracker, append() {} },
    setup: {},
    venue: {},
  } as unknown as OrderManagerParts);
  return Object.assign(made, parts);
}
const at = { step: 's', cancel: new Cancellation(), memory: new Map() } as unknown as OrderRequestContext;

describe('the order manager', () => {
  it('completes again, and once, what was handed out incomplete', async () => {
    const touched: string[] = [];
    const completed: unknown[] = [];
    const handle = (name: string, incomplete?: string) => ({
      incomplete,
      own: name,
      touch: () => void touched.push(name),
    });
    const made = manager([orderOf('open')], {
      handles: { list: () => [handles[0], handles[1]], get: () => handles[0] },
      completing: { complete: async (each: Iterable<unknown>) => void completed.push([...each]) },
    });
    const handles = [handle('a', 'two fills'), handle('b')];
    await made.completeHandled({} as never);
    await made.completeHandled({} as never);
    expect([completed, touched]).toEqual([[['a'], []], ['a']]);
    await made.reconcileFills({} as never);
    expect([completed.at(-1), touched]).toEqual([[expect.objectContaining({ intent: sampleTerms() })], ['a', 'a']]);
  });

  it('knows whether one of its orders may be cancelled or not', () => {
    const of = (...states: readonly OrderState[]) => manager(states.map((state) => orderOf(state))).hasCanceling;
    expect([of('open', 'canceling'), of('open'), of()]).toEqual([true, false, false]);
  });

  it('gives the first error of the cancels that went on beside others', async () => {
    const ends = (error: unknown) => manager([], { settling: { finishBeside: async () => error } }).finishUndo();
    await expect(ends(undefined)).resolves.toBeUndefined();
    await expect(ends(new Error('halted'))).rejects.toThrow('halted');
  });

  it('reads many orders of a market together, and those of another market one by one', async () => {
    const many = Array.from({ length: COMPLETED_TOGETHER }, (_each, n) =>
      orderOf('open', sampleTerms({ clientOrderId: `rb${n}` })),
    );
    const other = orderOf('open', sampleTerms({ clientOrderId: 'rbeth', market: 'ETH-USD' }));
    const read: unknown[] = [];
    const made = manager([], {
      watch: {
        readTogether: async (each: readonly TrackedOrder[]) => {
          read.push(each.length);
          return { kind: 'confirmed' };
        },
        read: async ({ intent }: TrackedOrder) => {
          read.push(intent.clientOrderId);
          return { kind: 'confirmed' };
        },
        check() {},
      },
    });
    await made.refreshAll([...many, other].map((own) => ({ own })) as never, at);
    expect(read).toEqual([COMPLETED_TOGETHER, 'rbeth']);
  });

  it('lets one exit of a market begin after the other, and those of other markets at once', async () => {
    const made = manager([]);
    const began: string[] = [];
    const begin = async (market: string) => {
      const end = await made.beginExit(market, 'short', at.cancel);
      began.push(market);
      return end;
    };
    const first = begin('BTC-USD');
    const second = begin('BTC-USD');
    const end = await first;
    (await begin('ETH-USD'))();
    expect(began).toEqual(['BTC-USD', 'ETH-USD']);
    end();
    (await second)();
    (await begin('BTC-USD'))();
    expect(began).toEqual(['BTC-USD', 'ETH-USD', 'BTC-USD', 'BTC-USD']);
  });
});
