/**
 * The playback of a journal, without an engine: what the record answers, what it refuses as a divergence, and what is left to the
 * process that takes the run over.
 */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { FailedBefore } from '../../src/engine/interruption.ts';
import { Divergence, Playback, type PlaybackOptions, type Takeover } from '../../src/engine/playback/playback.ts';
import type { Away, Entry, EntryType } from '../../src/journal/entry.ts';
import type { PassedRounds } from '../../src/journal/rounds/passed-rounds.ts';
import type { VenueCall } from '../../src/venue/port.ts';
import { terms as sampleTerms } from '../venue/order-samples.ts';

const START = Date.UTC(2026, 0, 5, 8);
const MARKETS = { 'BTC-USD': { tick: '1', lot: '0.1' } };
const NEVER = new Promise<never>(() => {});

/** An entry that follows the start of a run; its number is its place. */
type Recorded = readonly [type: EntryType, data: object, afterMs?: number, step?: string];

const intended = (call: string, endpoint = 'GET /account', params: object = {}): Recorded => [
  'call.intended',
  { call, endpoint, params, class: 'read' },
];
const attempted = (call: string): Recorded => ['call.attempted', { call, n: 1 }];
const settled = (call: string, data: object, afterMs = 0): Recorded => [
  'call.settled',
  { call, kind: 'confirmed', ...data },
  afterMs,
];
const moved = (from: string, to: string): Recorded => ['run.moved', { from, to, event: 'STARTED' }];

function makeEntries(recorded: readonly Recorded[]): Entry[] {
  const first: Recorded = ['run.started', { startedAt: START, settings: {} }];
  return [first, ...recorded].map(
    ([type, data, afterMs = 0, step = 'steps/a'], index) =>
      ({ seq: index + 1, run: 'r', account: 'main', type, data, at: START + afterMs, step }) as unknown as Entry,
  );
}

function play(recorded: readonly Recorded[], options: Partial<PlaybackOptions> = {}) {
  const playback = new Playback(makeEntries(recorded), { markets: MARKETS, resume: true, ...options });
  const done: unknown[] = [];
  const note = (what: string) => (value: unknown) => void done.push([what, value]);
  const { venue, log } = playback;
  const callOf = (id: string, endpoint = 'GET /account', params: object = {}) =>
    ({ id, endpoint, params, step: 'steps/a', class: 'read' }) as unknown as VenueCall;
  return {
    playback,
    done,
    callOf,
    /** What the engine asks for: when it is answered it is noted. */
    call: (...args: Parameters<typeof callOf>) => void venue.call(callOf(...args)).then(note(args[0])),
    feed: (name: string, key?: string) => void venue.feed(name, key, 'steps/a').then(note(name)),
    request: (id: string, params = {}) => void venue.request('info', params, id, 'steps/a').then(note(id)),
    findDenial: (id: string) => void venue.findDenial(callOf(id, 'POST /orders') as never).then(note(id)),
    append: (type: EntryType, data: object, step = 'steps/a') => log.append(type, data as never, step),
    run: () => playback.play(NEVER),
    /** Where the engine differs from the record: the number of the entry. */
    async diverges() {
      const error = await playback.play(NEVER).catch((thrown: unknown) => thrown);
      return error instanceof Divergence ? [error.sequence, error.step] : error;
    },
    /** Whether the record ends where the engine differs from it. */
    async divergesBehind() {
      const error = await playback.play(NEVER).catch((thrown: unknown) => thrown);
      return error instanceof Divergence ? error.isBehindRecord : error;
    },
  };
}

/** A process that takes the run over an hour later, and what it was asked for. */
function takeOver(playback: Playback, more: Partial<Takeover> = {}) {
  const asked: unknown[] = [];
  const clock = new VirtualClock(START + 3_600_000);
  const ask =
    (what: string, answer: unknown) =>
    (...args: readonly unknown[]) => {
      asked.push([what, ...args]);
      return Promise.resolve(answer) as never;
    };
  const takeover: Takeover = {
    keep: (type, data) => void asked.push(['keep', type, data]),
    log: { append: (type, data) => void asked.push(['append', type, data]) },
    venue: {
      call: ask('call', 'called'),
      findDenial: ask('findDenial', 'may pass'),
      keepOrdersBack: (until) => void asked.push(['keepOrdersBack', until]),
      feed: ask('feed', 'fed'),
      request: ask('request', 'requested'),
      market: (id) => (id === 'ETH-USD' ? { tick: '2', lot: '2' } : undefined),
      markets: ['ETH-USD'],
    },
    clock,
    continueCall: ask('continue', 'continued'),
    ...more,
  };
  clock.arrive(() => playback.takeOver(takeover));
  return { asked, clock, names: () => asked.map((each) => (each as readonly unknown[])[0]) };
}
const MACHINE: Away = { ms: 3_600_000, by: 'machine' };

describe('a record', () => {
  it('answers a call at its time, and shows each entry once', async () => {
    const seen: number[] = [];
    const record = [intended('a#1'), attempted('a#1'), settled('a#1', { result: [1], sentAt: START + 5 }, 50)];
    const { playback, call, done, run } = play(record, { observe: ({ seq }) => seen.push(seq) });
    call('a#1');
    expect([done, playback.openCalls]).toEqual([[], ['a#1']]);
    await run();
    expect(done).toEqual([['a#1', expect.objectContaining({ kind: 'confirmed', result: [1], settledAt: START + 50 })]]);
    expect([playback.openCalls, playback.clock.now(), seen]).toEqual([[], START + 50, [1, 2, 3, 4]]);
  });

  it('answers feeds by their names, whatever their order, and not by what the limits read', async () => {
    const read = (name: string, value: string, by = {}): Recorded => [
      'feed.read',
      { call: `steps/a#feed:${name}`, name, value, at: START, ...by },
    ];
    const { feed, done, run } = play([read('mid', '9', { by: 'limits' }), read('bid', '1'), read('mid', '2')]);
    feed('mid');
    feed('bid');
    await run();
    expect(done).toEqual([
      ['bid', { name: 'bid', value: '1', at: START }],
      ['mid', { name: 'mid', value: '2', at: START }],
    ]);
  });

  it('answers requests of the profile; that of a process that died is unresolved', async () => {
    const record = [
      intended('a', 'request info'),
      intended('b', 'request info'),
      settled('a', { result: { x: 1 } }),
      ['run.resumed', { openCalls: [] }, 60] as const,
    ];
    const { request, done, run, playback } = play(record);
    request('a');
    request('b');
    await run();
    expect(done).toEqual([
      ['a', { kind: 'confirmed', result: { x: 1 } }],
      ['b', expect.objectContaining({ kind: 'unresolved', failure: 'transport' })],
    ]);
    expect(playback.clock.now()).toBe(START + 60);
  });

  it('gives what a person, the clock and the store did', async () => {
    const record: Recorded[] = [
      ['operator.acted', { command: 'cancel', by: 'ada' }, 1],
      ['clock.adjusted', { wallAheadMs: 7 }, 2],
      ['store.moved', { event: 'away' }, 3],
      ['run.resumed', { openCalls: [], away: MACHINE }, 4],
      ['session.moved', {}, 5],
    ];
    const { playback, run } = play(record);
    const came: unknown[] = [];
    const note = (what: unknown) => void came.push([what, playback.clock.now() - START]);
    playback.drive({ command: note, clockPut: note, storeMoved: note, takenUp: note });
    await run();
    expect(came).toEqual([
      [{ command: 'cancel', by: 'ada' }, 1],
      [7, 2],
      ['away', 3],
      [MACHINE, 4],
    ]);
  });

  it('runs the timers of the engine at the time of the next entry, and none while a process was away', async () => {
    const record: Recorded[] = [
      ['clock.adjusted', { wallAheadMs: 7 }, 20],
      ['run.resumed', { openCalls: [] }, 90],
      ['store.moved', { event: 'away' }, 100],
    ];
    const { playback, run } = play(record);
    const came: unknown[] = [];
    const note = (what: string) => () => void came.push([what, playback.clock.now() - START]);
    for (const afterMs of [10, 20, 50, 95, 101]) playback.clock.at(START + afterMs, note(`timer ${afterMs}`));
    playback.drive({ clockPut: note('clock'), takenUp: note('resumed'), storeMoved: note('store') });
    await run();
    expect(came).toEqual([
      ['timer 10', 20],
      ['timer 20', 20],
      ['clock', 20],
      ['resumed', 90],
      ['timer 50', 90],
      ['timer 95', 100],
      ['store', 100],
    ]);
  });

  it('is read on before each entry that is played', async () => {
    const turns: string[] = [];
    const seen: number[] = [];
    const readOn = async () => {
      turns.push(`reads behind ${seen.length}`);
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(`has read behind ${seen.length}`);
    };
    const observe = ({ seq }: Entry) => void seen.push(seq);
    const record: Recorded[] = [
      ['session.moved', {}, 1],
      ['session.moved', {}, 2],
    ];
    await play(record, { readOn, observe }).run();
    expect(turns).toEqual(['reads behind 1', 'has read behind 1', 'reads behind 2', 'has read behind 2']);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('that cannot be read on ends there, and what the engine does meanwhile fails no step', async () => {
    const [first, ...rest] = makeEntries([moved('a', 'b'), moved('b', 'c')]) as [Entry, ...Entry[]];
    const damaged = new Error('damaged');
    const seen: number[] = [];
    const entries = function* () {
      yield first;
      yield* rest.slice(0, 1);
      throw damaged;
    };
    for (const resume of [true, false]) {
      const playback = new Playback(entries(), { markets: {}, resume, observe: ({ seq }) => void seen.push(seq) });
      const { append } = playback.log;
      append('run.moved', { from: 'a', to: 'b', event: 'STARTED' } as never, 'steps/a');
      append('run.moved', { from: 'b', to: 'c', event: 'STARTED' } as never, 'steps/a');
      await expect(playback.play(NEVER)).rejects.toBe(damaged);
    }
    const unasked = new Playback(entries(), { markets: {}, resume: true, observe: ({ seq }) => void seen.push(seq) });
    await expect(unasked.play(NEVER)).rejects.toMatchObject({ sequence: 2 });
    expect(seen).toEqual([1, 2, 1, 2, 1]);
  });

  it('says when the run did something, which may be before it was stored', () => {
    const intent = sampleTerms({ clientOrderId: 'rb1' });
    const placed = { call: 'a#1', endpoint: 'POST /orders', params: {}, intent };
    const denied = { clientOrderId: 'rb1', event: 'DENY', because: 'stop' };
    const { playback, call, append } = play([
      ['call.intended', placed, 10],
      ['order.concluded', denied, 3_600_000],
    ]);
    call('a#1', 'POST /orders');
    append('order.concluded', denied);
    const order = playback.log.tracker.get('rb1');
    const { state, context } = order?.snapshot ?? {};
    expect([order?.createdAt, context?.since, state]).toEqual([START + 10, START, 'denied']);
  });

  it('knows the markets of its deployment', () => {
    const { venue } = play([]).playback;
    expect([venue.markets, venue.market('BTC-USD'), venue.market('constructor')]).toEqual([
      ['BTC-USD'],
      MARKETS['BTC-USD'],
      undefined,
    ]);
  });

  it('has a denial where the order of a leg was certain to be denied, and nothing where it was not', async () => {
    const denial = [intended('o#1', 'POST /orders'), settled('o#1', { kind: 'denied', code: 'STOP' })];
    const denied = play(denial);
    denied.findDenial('o#1');
    await denied.run();
    expect(denied.done).toEqual([['o#1', expect.objectContaining({ kind: 'denied', code: 'STOP' })]]);
    for (const record of [[intended('o#2', 'POST /orders')], [moved('a', 'b')]]) {
      const passes = play(record, { resume: false });
      passes.findDenial('o#1');
      await Promise.resolve();
      expect(passes.done).toEqual([['o#1', undefined]]);
    }
    const ended = play([], { resume: false });
    ended.findDenial('o#1');
    await Promise.resolve();
    expect(ended.done).toEqual([['o#1', undefined]]);
  });

  it('begins with the start of a run', () => {
    expect(() => new Playback(makeEntries([]).slice(1), { markets: {}, resume: false })).toThrow();
    expect(() => new Playback(makeEntries([moved('a', 'b')]).slice(1), { markets: {}, resume: false })).toThrow();
  });
});

describe('an engine that does what the record has', () => {
  it('passes by what the gateway wrote on the way', async () => {
    const own = (call: string) => [intended(call), settled(call, {})];
    const silent: Recorded[] = [
      ['call.checked', { call: 'a#1', limits: {} }],
      ['call.answered', { call: 'a#1', n: 1, status: 401, message: '', headers: {} }],
      ['notification.settled', { to: 'ops', delivered: true }],
      ['feed.read', { call: 'x', name: 'mid', by: 'limits' }],
      ...own('steps/a#feed-request:mid:1'),
    ];
    const { append, call, diverges } = play([...silent, moved('a', 'b'), ...silent, intended('a#1')]);
    append('run.moved', { event: 'STARTED', to: 'b', from: 'a' });
    call('a#1');
    expect(await diverges()).toBeUndefined();
  });

  it.each<[string, (played: ReturnType<typeof play>) => void]>([
    ['a type', ({ append }) => append('variable.set', { from: 'a', to: 'b', event: 'STARTED' })],
    ['a step', ({ append }) => append('run.moved', { from: 'a', to: 'b', event: 'STARTED' }, 'steps/b')],
    ['data', ({ append }) => append('run.moved', { from: 'a', to: 'c', event: 'STARTED' })],
    ['a call', ({ call }) => call('a#1')],
    ['a request', ({ request }) => request('a#1')],
    ['nothing', () => {}],
  ])('differs in %s: that is the first divergence', async (_, differs) => {
    const played = play([moved('a', 'b'), moved('b', 'c')]);
    differs(played);
    played.append('run.moved', { from: 'b', to: 'c', event: 'STARTED' });
    expect(await played.diverges()).toEqual([2, expect.any(String)]);
    expect(played.done).toEqual([]);
  });

  it.each<[string, Parameters<ReturnType<typeof play>['callOf']>]>([
    ['its id', ['a#2', 'PUT /orders', { price: '1' }]],
    ['its endpoint', ['a#1', 'POST /orders', { price: '1' }]],
    ['its parameters', ['a#1', 'PUT /orders', { price: '2' }]],
  ])('differs in a call by %s', async (_, call) => {
    const played = play([intended('a#1', 'PUT /orders', { price: '1' })]);
    played.call(...call);
    expect(await played.diverges()).toEqual([2, 'steps/a']);
    const same = play([intended('a#1', 'PUT /orders', { price: '1' })]);
    same.call('a#1', 'PUT /orders', { price: '1' });
    expect(await same.diverges()).toBeUndefined();
  });

  it('is compared in a request of the profile by its parameters, and in one of the session without its secrets', async () => {
    const asks = play([intended('a', 'request info', { x: '1' })]);
    asks.request('a', { x: '2' });
    expect(await asks.diverges()).toEqual([2, 'steps/a']);
    const session = play([intended('a#1', 'POST /jwt', { refresh_token: '[redacted]' })]);
    session.call('a#1', 'POST /jwt', { refresh_token: 'hush' });
    expect(await session.diverges()).toBeUndefined();
  });

  it.each<[string, Recorded]>([
    ['an answer', settled('a#1', {})],
    ['a call', intended('a#1')],
    ['a feed', ['feed.read', { call: 'steps/a#feed:mid', name: 'mid', value: '1', at: START }]],
    ['an end', ['run.ended', { outcome: 'succeeded', outputs: {} }]],
  ])('has not asked for %s that the record has', async (_, recorded) => {
    expect(await play([recorded]).diverges()).toEqual([2, 'steps/a']);
  });

  it('keeps to the first divergence, and does nothing behind it', async () => {
    const seen: number[] = [];
    const observe = ({ seq }: Entry) => void seen.push(seq);
    const played = play([moved('a', 'b'), settled('x', {}, 10), settled('y', {}, 20)], { observe });
    played.append('run.moved', {});
    played.append('run.moved', { from: 'a', to: 'b', event: 'STARTED' });
    played.call('a#1');
    expect(await played.diverges()).toEqual([2, 'steps/a']);
    const calls = play([intended('a#1')], { observe });
    calls.append('run.moved', {});
    calls.call('a#1');
    expect(await calls.diverges()).toEqual([2, 'steps/a']);
    expect([played.playback.clock.now(), seen, calls.playback.openCalls]).toEqual([START, [1, 1], []]);
  });

  it('differs at a time of its own: that is the divergence, and the entry of that time is not played', async () => {
    for (const [type, data] of [moved('b', 'c'), ['operator.acted', { command: 'cancel', by: 'ada' }] as const]) {
      const seen: number[] = [];
      const played = play([[type, data, 10, 'steps/b']], { observe: ({ seq }) => void seen.push(seq) });
      played.playback.clock.at(START + 5, () => played.append('run.moved', {}, 'steps/timer'));
      expect([await played.diverges(), seen]).toEqual([[2, 'steps/timer'], [1]]);
    }
  });

  it('differs at the end of the record, or before it', async () => {
    const behind = play([], { resume: false });
    behind.append('run.moved', {});
    const before = play([moved('a', 'b')], { resume: false });
    before.append('run.moved', {});
    expect([await behind.divergesBehind(), await before.divergesBehind()]).toEqual([true, false]);
  });

  it('has not asked for a feed that the record has, and for another: that one is not answered', async () => {
    const mid: Recorded = ['feed.read', { call: 'steps/a#feed:mid', name: 'mid', value: '1', at: START }];
    const played = play([mid]);
    played.feed('bid');
    expect([await played.diverges(), played.done]).toEqual([[2, 'steps/a'], []]);
  });

  it('knows no order that only the engine of a replay would place', async () => {
    const data = { call: 'a#1', endpoint: 'POST /orders', params: {}, intent: sampleTerms({ clientOrderId: 'rb1' }) };
    const [replayed, resumed] = [play([], { resume: false }), play([])];
    for (const each of [replayed, resumed]) each.append('call.intended', data);
    expect(replayed.playback.log.tracker.orders()).toEqual([]);
    expect(resumed.playback.log.tracker.orders()).toHaveLength(1);
  });

  it.each<[string, (played: ReturnType<typeof play>) => void]>([
    ['an entry', ({ append }) => append('run.moved', {})],
    ['a call', ({ call }) => call('a#1')],
    ['a request', ({ request }) => request('a#1')],
  ])('does more than the record has, which only a resumed run may: %s', async (_, more) => {
    const replayed = play([moved('a', 'b')], { resume: false });
    const resumed = play([moved('a', 'b')]);
    for (const each of [replayed, resumed]) {
      each.append('run.moved', { from: 'a', to: 'b', event: 'STARTED' });
      more(each);
    }
    expect(await replayed.diverges()).toEqual([3, 'steps/a']);
    expect(await resumed.diverges()).toBeUndefined();
  });

  it('fails a step where the build of the record failed by a mistake, and goes on behind its end', async () => {
    const failed: Recorded = ['step.ended', { outcome: 'failed', attempts: 1 }, 0, 'steps/a'];
    const ask = (step: string, recorded: Recorded = failed) => {
      const played = play([recorded, moved('a', 'b')]);
      return { played, differs: () => played.append('variable.set', { name: 'x', value: 1 }, step) };
    };
    for (const step of ['steps/a', 'steps/a/do/b']) expect(ask(step).differs).toThrow(FailedBefore);
    await expect(play([failed]).playback.venue.call(play([]).callOf('a#1'))).rejects.toThrow(FailedBefore);
    const { played } = ask('steps/a');
    played.append('step.ended', { outcome: 'failed', attempts: 1, error: { kind: 'internal', message: '' } });
    played.append('run.moved', { from: 'a', to: 'b', event: 'STARTED' });
    expect(await played.diverges()).toBeUndefined();
    for (const [step, end] of [
      ['steps/b', failed],
      ['steps/a', ['step.ended', { outcome: 'failed', error: {} }]],
      ['steps/a', ['step.ended', { outcome: 'done' }]],
    ] as const) {
      const other = ask(step, end);
      expect(other.differs).not.toThrow();
      expect(await other.played.diverges()).toEqual([2, step]);
    }
    const end = ask('steps/a').played;
    expect(() => end.append('step.ended', { outcome: 'done' })).toThrow(FailedBefore);
    expect(() => end.append('step.ended', { outcome: 'failed' }, 'steps/a/do')).toThrow(FailedBefore);
    expect(() => end.append('run.ended', { outcome: 'failed' })).toThrow(FailedBefore);
  });
});

describe('rounds that the record lacks', () => {
  const PASSED = {
    type: 'rounds.passed',
    seq: 90,
    step: 'steps/loop',
    first: 3,
    next: 9,
    endedAt: START + 5_000,
  } as unknown as PassedRounds;
  const passing = (act: (playback: Playback) => void = () => {}, more: readonly Recorded[] = []) => {
    const [first, ...rest] = makeEntries(more);
    const seen: PassedRounds[] = [];
    const observePassed = (passed: PassedRounds) => void seen.push(passed);
    const playback = new Playback([first as Entry, PASSED, ...rest], { markets: MARKETS, resume: true, observePassed });
    act(playback);
    return { seen, playback, passing: playback.log.passing, move: () => playback.log.passing?.move(PASSED) };
  };
  const call = {
    id: 'a#1',
    endpoint: 'GET /account',
    params: {},
    step: 'steps/a',
    class: 'read',
  } as unknown as VenueCall;

  it('are found by their loop and the first of them', () => {
    const { passing: found } = passing();
    expect([found?.find('steps/loop', 3), found?.find('steps/loop', 4), found?.find('steps/other', 3)]).toEqual([
      PASSED,
      undefined,
      undefined,
    ]);
    expect(passing(() => {}).playback.log.passing?.find('steps/loop', 2)).toBeUndefined();
    expect(play([moved('a', 'b')]).playback.log.passing?.find('steps/loop', 3)).toBeUndefined();
  });

  it('are passed over in no time, and what follows is compared', async () => {
    const { playback, move, seen } = passing(() => {}, [moved('a', 'b')]);
    expect(playback.log.passing?.move({ ...PASSED })).toBe(false);
    expect(playback.clock.now()).toBe(START);
    expect([seen, move(), playback.clock.now(), move()]).toEqual([[PASSED], true, START + 5_000, false]);
    playback.log.append('run.moved', { from: 'a', to: 'b', event: 'STARTED' }, 'steps/a');
    await expect(playback.play(NEVER)).resolves.toBeUndefined();
  });

  it.each<[string, (playback: Playback) => void]>([
    ['a sweep', ({ venue }) => venue.keepOrdersBack(NEVER)],
    ['a feed', ({ venue }) => void venue.feed('mid', undefined, 'steps/a')],
    ['a timer before their end', ({ clock }) => void clock.at(START + 4_999, () => {})],
    ['a timer at their end', ({ clock }) => void clock.at(START + 5_000, () => {})],
  ])('are not passed over where something is under way: %s', (_, act) => {
    const { playback, move } = passing(act);
    expect([move(), playback.clock.now()]).toEqual([false, START]);
  });

  it.each<[string, Recorded, (playback: Playback) => void]>([
    ['a call', intended('a#1'), ({ venue }) => void venue.call(call)],
    ['a request', intended('b', 'request info'), ({ venue }) => void venue.request('info', {}, 'b', 'steps/a')],
  ])('are not passed over where an answer is open: %s', (_, recorded, act) => {
    const playback = new Playback([...makeEntries([recorded]), PASSED], { markets: MARKETS, resume: true });
    act(playback);
    expect(playback.log.passing?.move(PASSED)).toBe(false);
  });

  it('do not keep a timer behind their end from being kept', () => {
    const { move } = passing(({ clock }) => void clock.at(START + 5_001, () => {}));
    expect(move()).toBe(true);
  });

  it('are a divergence where the engine executes one of them', async () => {
    const asks = passing(({ log }) => log.append('run.moved', { from: 'a', to: 'b', event: 'STARTED' }, 'steps/a'));
    await expect(asks.playback.play(NEVER)).rejects.toMatchObject({ sequence: 90, step: 'steps/loop' });
    await expect(passing().playback.play(NEVER)).rejects.toMatchObject({ sequence: 90, step: 'steps/loop' });
    const replayed = new Playback([...makeEntries([]), PASSED], { markets: MARKETS, resume: false });
    replayed.log.append('run.moved', {} as never, 'steps/a');
    await expect(replayed.play(NEVER)).rejects.toMatchObject({ sequence: 90, step: 'steps/loop' });
  });
});

describe('the process that takes a run over', () => {
  it('continues the calls that were under way, old as their decision, and loses the requests', async () => {
    const record = [
      intended('a#1'),
      attempted('a#1'),
      attempted('a#1'),
      intended('b', 'request info'),
      settled('z', {}, 70),
    ];
    const { playback, call, request, done, run } = play(record.slice(0, 4));
    call('a#1');
    request('b');
    await run();
    const came: unknown[] = [];
    playback.drive({ takenUp: (away) => came.push(away) });
    const { asked, clock, names } = takeOver(playback, { away: MACHINE, process: { pid: 1 } as never });
    await clock.advanceTo(START + 3_600_001);
    expect(asked).toStrictEqual([
      ['append', 'run.resumed', { openCalls: ['a#1'], process: { pid: 1 }, away: MACHINE }],
      ['continue', expect.objectContaining({ id: 'a#1', decidedAt: START }), 2],
    ]);
    expect(done).toEqual([
      ['b', expect.objectContaining({ kind: 'unresolved', failure: 'transport' })],
      ['a#1', 'continued'],
    ]);
    expect([came, playback.openCalls, playback.clock.now(), names().length]).toEqual([
      [MACHINE],
      [],
      START + 3_600_001,
      2,
    ]);
  });

  it('takes what only the wall clock measured for any time', async () => {
    const { playback, call, run } = play([intended('a#1')]);
    call('a#1');
    await run();
    const { asked, clock } = takeOver(playback, { away: { ms: 5, by: 'wall' } });
    await clock.advanceTo(START + 3_600_001);
    expect(asked.at(-1)).toEqual(['continue', expect.objectContaining({ decidedAt: Number.NEGATIVE_INFINITY }), 0]);
  });

  it('does what the run did behind the record, in its sequence, before it says that it goes on', async () => {
    const { playback, append, call, feed, request, findDenial, done, run } = play([]);
    append('variable.set', { name: 'x', value: 1 });
    call('a#1');
    feed('mid', 'BTC-USD');
    request('b', { x: '1' });
    findDenial('o#1');
    await run();
    const { asked, clock } = takeOver(playback);
    await clock.advanceTo(START + 3_600_001);
    expect(asked).toStrictEqual([
      ['keep', 'variable.set', { name: 'x', value: 1 }],
      ['call', expect.objectContaining({ id: 'a#1', decidedAt: START })],
      ['feed', 'mid', 'BTC-USD', 'steps/a'],
      ['request', 'info', { x: '1' }, 'b', 'steps/a'],
      ['findDenial', expect.objectContaining({ id: 'o#1' })],
      ['append', 'run.resumed', { openCalls: [] }],
    ]);
    expect(done).toEqual([
      ['a#1', 'called'],
      ['mid', 'fed'],
      ['b', 'requested'],
      ['o#1', 'may pass'],
    ]);
  });

  it('keeps nothing of a feed that the record has answered', async () => {
    const mid: Recorded = ['feed.read', { call: 'steps/a#feed:mid', name: 'mid', value: '1', at: START }, 10];
    const { playback, feed, run } = play([mid, mid, mid]);
    for (let n = 0; n < 4; n += 1) feed('mid');
    await run();
    expect((playback as unknown as { readonly beyond: readonly unknown[] }).beyond).toHaveLength(1);
  });

  it('reads no feed again that the record has answered', async () => {
    const { playback, feed, done, run } = play([
      ['feed.read', { call: 'steps/a#feed:mid', name: 'mid', value: '1', at: START }, 10],
    ]);
    feed('mid');
    feed('bid');
    await run();
    const { clock, asked } = takeOver(playback);
    await clock.advanceTo(START + 3_600_001);
    expect(asked.filter((each) => (each as readonly unknown[])[0] === 'feed')).toEqual([
      ['feed', 'bid', undefined, 'steps/a'],
    ]);
    expect(done).toHaveLength(2);
  });

  it('keeps orders back for the sweeps that have not ended', async () => {
    const { playback, run } = play([]);
    const [ended, failed] = [Promise.resolve(1), Promise.reject(new Error('no'))];
    for (const work of [ended, failed, NEVER]) playback.venue.keepOrdersBack(work);
    await run();
    const { clock, asked } = takeOver(playback);
    await clock.advanceTo(START + 3_600_001);
    expect(asked[0]).toEqual(['keepOrdersBack', NEVER]);
    expect(asked).toHaveLength(2);
  });

  it('is asked for everything from then on', async () => {
    const { playback, append, call, feed, request, findDenial, run } = play([]);
    await run();
    const { asked, clock } = takeOver(playback);
    await clock.advanceTo(START + 3_600_001);
    asked.length = 0;
    append('variable.set', { name: 'x', value: 1 });
    call('a#1');
    feed('mid');
    request('b');
    findDenial('o#1');
    playback.venue.keepOrdersBack(NEVER);
    expect(asked).toStrictEqual([
      ['append', 'variable.set', { name: 'x', value: 1 }],
      ['call', expect.not.objectContaining({ decidedAt: expect.anything() })],
      ['feed', 'mid', undefined, 'steps/a'],
      ['request', 'info', {}, 'b', 'steps/a'],
      ['findDenial', expect.objectContaining({ id: 'o#1' })],
      ['keepOrdersBack', NEVER],
    ]);
    expect([playback.venue.market('ETH-USD'), playback.venue.market('BTC-USD')]).toEqual([
      { tick: '2', lot: '2' },
      MARKETS['BTC-USD'],
    ]);
  });

  it('sends the messages behind the record, and none of the record', async () => {
    const sent: string[] = [];
    let waits = 0;
    const inner = {
      send: (...[, text]: [string, string, ...unknown[]]) => void sent.push(text),
      settled: () => {
        waits += 1;
        return Promise.resolve();
      },
    };
    const { playback, append, run } = play([['notification.sent', { to: 'ops', text: 'one' }], moved('a', 'b')]);
    const notifier = playback.notifier(() => inner);
    notifier.send('ops', 'of the record', 'steps/a', 'info');
    const say = (text: string) => {
      append('notification.sent', { to: 'ops', text });
      notifier.send('ops', text, 'steps/a', 'info');
    };
    say('one');
    expect(notifier.settled?.()).toBeUndefined();
    append('run.moved', { from: 'a', to: 'b', event: 'STARTED' });
    say('two');
    let delivered = false;
    void notifier.settled?.()?.then(() => {
      delivered = true;
    });
    await run();
    expect([sent, waits, delivered]).toEqual([[], 0, false]);
    const { clock } = takeOver(playback);
    await clock.advanceTo(START + 3_600_001);
    expect([sent, waits, delivered]).toEqual([['two'], 1, true]);
    notifier.send('ops', 'three', 'steps/a', 'info');
    await notifier.settled?.();
    expect([sent, waits]).toEqual([['two', 'three'], 2]);
  });
});
