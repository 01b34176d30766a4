/**
 * The heartbeat alone, at a venue whose answers are given: which requests about the switch it sends, when, and how it judges what
 * comes back. What a run does with it is in heartbeat.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Heartbeat } from '../../src/engine/deadman/heartbeat.ts';
import { Abandoned, Cancellation } from '../../src/engine/interruption.ts';
import type { Frame } from '../../src/engine/scope.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { SettledCall } from '../../src/journal/orders.ts';
import type { VenueCall } from '../../src/venue/port.ts';
import type { DeadmanRecord } from '../../src/venue/records.ts';

const START = Date.UTC(2026, 0, 5, 8);
const MARKET = 'BTC-USD';
const POST = 'POST /cancel_all_after';
const GET = 'GET /cancel_all_after';
const DELETE = 'DELETE /cancel_all_after';

/** How the venue answers a request: `lost` gives no answer; `now` takes no time; without anything it does what it was asked. */
interface Answer {
  readonly kind?: 'rejected' | 'denied' | 'lost' | 'unresolved';
  readonly code?: string;
  readonly failure?: string;
  readonly definite?: boolean;
  /** The record instead of the venue's own. */
  readonly record?: Partial<DeadmanRecord> | null;
  readonly afterMs?: number;
  /** The process that sent it has ended: it is not known when it was sent. */
  readonly left?: true;
}
type Answers = Readonly<Record<string, Answer | readonly Answer[]>>;

function record(over: Partial<DeadmanRecord>): DeadmanRecord {
  return { profile_id: 1, timeout: 20_000, last_updated: 0, status: 'active', ...over };
}

interface Block {
  readonly timeoutMs?: number;
  readonly keepAliveMs?: number;
  readonly onExit?: 'disarm' | 'leave_armed';
  readonly releaseAfter?: string;
}

/** A frame of a runbook with that block. */
function frameOf({ timeoutMs = 20_000, keepAliveMs, onExit = 'disarm', releaseAfter }: Block): Frame {
  const give = (value: unknown) => ({ text: '', evaluate: () => value });
  const deadman = {
    timeout: give({ ms: timeoutMs }),
    market: give(MARKET),
    ...(keepAliveMs === undefined ? {} : { keepAlive: give({ ms: keepAliveMs }) }),
    releaseAfter,
    onExit,
  };
  return { globals: { runbook: { deadman } } } as unknown as Frame;
}

function setUp(answers: Answers = {}) {
  const clock = new VirtualClock(START);
  const whole = new Cancellation();
  const calls: (VenueCall & { readonly at: number })[] = [];
  const entries: Record<string, unknown>[] = [];
  const counts = new Map<string, number>();
  const read: string[] = [];
  const numbered: (readonly [string, number])[] = [];
  let armed: number | undefined;
  let settle: (call: SettledCall) => void = () => {};
  let wait: (call: { readonly call: string; readonly until: number }) => void = () => {};
  let ids = 0;
  let onReadAll: () => Promise<void> = async () => {};
  const answerTo = (endpoint: string): Answer => {
    const given = answers[endpoint];
    const count = counts.get(endpoint) ?? 0;
    counts.set(endpoint, count + 1);
    return (Array.isArray(given) ? given[count] : (given as Answer | undefined)) ?? {};
  };
  const call = async (asked: VenueCall) => {
    const sentAt = clock.now();
    calls.push({ ...asked, at: sentAt - START });
    const { kind, afterMs, record: given, left, ...more } = answerTo(asked.endpoint);
    const ms = afterMs ?? (kind === 'lost' ? (asked.answerMs ?? 10_000) : 20);
    await new Promise<void>((done) => void clock.after(ms, done));
    const { timeout } = asked.params as { readonly timeout?: number };
    if (kind === undefined && asked.endpoint === POST) armed = timeout;
    if (kind === undefined && asked.endpoint === DELETE) armed = undefined;
    const own = asked.endpoint !== DELETE && armed !== undefined ? record({ timeout: armed }) : null;
    const result = given === undefined ? own : given === null ? null : record({ timeout: armed ?? 0, ...given });
    const outcome =
      kind === undefined
        ? { kind: 'confirmed', result }
        : { kind: kind === 'lost' ? 'unresolved' : kind, message: '', ...more };
    const { id, endpoint, params } = asked;
    settle({ call: id, endpoint, params, kind: outcome.kind, sentAt, at: clock.now() } as unknown as SettledCall);
    return { ...outcome, ...(left ? {} : { sentAt }), settledAt: clock.now() };
  };
  const heartbeat = new Heartbeat({
    mode: 'simulated',
    venue: { call } as never,
    log: {
      append: (type: string, data: object, step?: string) =>
        void entries.push({ type, at: clock.now() - START, step, ...data }),
      tracker: {
        onSettled: (listener: typeof settle) => {
          settle = listener;
        },
        onWaiting: (listener: typeof wait) => {
          wait = listener;
        },
      },
    } as never,
    clock,
    callId(path) {
      ids += 1;
      return `${path}#${ids}`;
    },
    readAll: async (step) => {
      read.push(step);
      await onReadAll();
    },
    whole,
    numberCalls: (path, last) => void numbered.push([path, last]),
  });
  return {
    numbered,
    heartbeat,
    clock,
    whole,
    calls,
    entries,
    read,
    enter: (block: Block = {}, id = '') => heartbeat.enter(frameOf(block), START, id),
    /** Lets time go on to so many ms after the start. */
    to: (ms: number) => clock.advanceTo(START + ms),
    run: <T>(work: Promise<T>) => clock.runUntil(work),
    waits: (call: string, untilMs: number) => wait({ call, until: START + untilMs }),
    failReading: () => {
      onReadAll = () => Promise.reject(new Error('no answer'));
    },
    /** A call of a step that settles now. */
    step: (endpoint: string, over: Partial<SettledCall> = {}) =>
      settle({
        call: 'steps/o#1',
        endpoint,
        params: { market_id: MARKET },
        kind: 'confirmed',
        sentAt: clock.now(),
        at: clock.now(),
        ...over,
      } as unknown as SettledCall),
    sent: () => calls.map(({ endpoint, at }) => [endpoint.split(' ')[0], at]),
    moves: () => entries.map(({ event, at }) => [event, at]),
  };
}
type Stage = ReturnType<typeof setUp>;

/** A stage whose switch is armed, 20 ms after the start. */
async function armed(answers: Answers = {}, block: Block = {}): Promise<Stage> {
  const stage = setUp(answers);
  await stage.enter(block);
  await stage.run(stage.heartbeat.beforeOrder('steps/o'));
  return stage;
}
/** An attempt that lasts so long is progress. */
const busy = (stage: Stage, ms = 3_600_000) => stage.heartbeat.beginAttempt('steps/o', START + ms);
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => ({ name: error.constructor.name, ...error.fact }),
  );

describe('before an order', () => {
  it('nothing is sent where no block asks for the switch', async () => {
    const stage = setUp();
    const frame = { globals: { runbook: {} } } as unknown as Frame;
    await (await stage.heartbeat.enter(frame, START, '')).leave();
    await stage.heartbeat.beforeOrder('steps/o');
    await stage.heartbeat.exit();
    expect([stage.calls, stage.heartbeat.disarmsAtExit, stage.heartbeat.firesAt]).toEqual([[], false, undefined]);
  });

  it('the switch is armed, once', async () => {
    const stage = await armed();
    await stage.run(stage.heartbeat.beforeOrder('steps/p'));
    expect(stage.calls).toStrictEqual([
      {
        id: 'deadman#1',
        step: 'steps/o',
        endpoint: POST,
        params: { market_id: MARKET, timeout: 20_000 },
        class: 'enter',
        purpose: 'arm',
        answerMs: 5_000,
        repeatsMs: 5_000,
        at: 0,
      },
    ]);
    expect(stage.entries).toStrictEqual([
      { type: 'deadman.moved', at: 20, step: 'deadman', event: 'armed', market: MARKET, timeoutMs: 20_000 },
    ]);
    expect([stage.heartbeat.firesAt, stage.heartbeat.disarmsAtExit]).toEqual([START + 20_000, true]);
  });

  it('the keep-alive is that of the block, and an arming without a step is its own', async () => {
    const stage = setUp();
    await stage.enter({ keepAliveMs: 2_000 });
    await stage.run(stage.heartbeat.beforeOrder(''));
    expect(stage.calls).toMatchObject([{ step: 'deadman', repeatsMs: 2_000 }]);
  });

  it('branches arm it together: the others wait, and arm it themselves where that failed', async () => {
    const together = setUp();
    await together.enter();
    await together.run(Promise.all(['a', 'b', 'c'].map((step) => together.heartbeat.beforeOrder(step))));
    expect(together.sent()).toEqual([['POST', 0]]);
    const failing = setUp({ [POST]: [{ kind: 'denied' }] });
    await failing.enter();
    const both = ['a', 'b'].map((step) => failureOf(failing.heartbeat.beforeOrder(step)));
    const [first, second] = await failing.run(Promise.all(both));
    expect([first?.kind, second, failing.sent()]).toEqual([
      'denied',
      undefined,
      [
        ['POST', 0],
        ['POST', 20],
      ],
    ]);
  });

  it.each<[string, Answer, readonly number[], string]>([
    ['no answer', { kind: 'lost' }, [0, 5_250, 10_750, 16_750, 23_750, 32_750], 'transport'],
    [
      'a refusal that is not definite',
      { kind: 'rejected', failure: 'rejected', definite: false },
      [0, 270, 790, 1_810, 3_830, 7_850],
      'rejected',
    ],
    [
      'the rate limit',
      { kind: 'rejected', failure: 'rate_limited', definite: true },
      [0, 270, 790, 1_810, 3_830, 7_850],
      'rate_limited',
    ],
    ['another status', { record: { status: 'inactive' } }, [0, 270, 790, 1_810, 3_830, 7_850], 'rejected'],
    ['a definite refusal', { kind: 'rejected', failure: 'rejected', definite: true }, [0], 'rejected'],
    ['a denial', { kind: 'denied' }, [0], 'denied'],
  ])('an arming with %s is tried again while that may help, and fails', async (_, answer, at, kind) => {
    const stage = setUp({ [POST]: answer });
    await stage.enter();
    expect(await stage.run(failureOf(stage.heartbeat.beforeOrder('steps/o')))).toMatchObject({
      name: 'StepFailure',
      kind,
      step: 'steps/o',
    });
    expect([stage.sent(), stage.entries]).toEqual([at.map((ms) => ['POST', ms]), []]);
  });

  it('an arming that may have reached the venue is tried again as often as a heartbeat would renew it', async () => {
    const stage = setUp({ [POST]: { kind: 'lost' } });
    await stage.enter({ timeoutMs: 5_000, keepAliveMs: 1_250 });
    await stage.run(failureOf(stage.heartbeat.beforeOrder('steps/o')));
    const times = stage.sent().map(([, ms]) => Number(ms));
    expect(times.slice(1).map((ms, index) => ms - (times[index] ?? 0))).toEqual([1_500, 1_750, 2_250, 2_500, 2_500]);
  });

  it('an arming that succeeds at its second try is one', async () => {
    const stage = await armed({ [POST]: [{ kind: 'lost' }] });
    expect([stage.sent().length, stage.moves()]).toEqual([2, [['armed', 5_270]]]);
  });

  it('an arming that may have reached the venue is repeated as a heartbeat, which waits for no store', async () => {
    const { heartbeat, enter, run, calls } = setUp({
      [POST]: [{ kind: 'rejected' }, { kind: 'lost' }, { kind: 'lost' }],
    });
    await enter();
    await run(heartbeat.beforeOrder('steps/o'));
    const asked = calls.map(({ purpose, class: priority }) => [purpose, priority]);
    expect(asked.slice(0, 2)).toEqual(Array(2).fill(['arm', 'enter']));
    expect(asked.slice(2)).toEqual(Array(2).fill(['keep-alive', 'protect']));
  });

  it('what the venue armed otherwise is said once', async () => {
    const stage = await armed({ [POST]: [{ record: { timeout: 30_000 } }] });
    busy(stage);
    await stage.to(6_000);
    expect(stage.entries).toMatchObject([{ event: 'armed', because: expect.any(String) }, { event: 'renewed' }]);
    expect(stage.entries[1]).not.toHaveProperty('because');
  });

  it('is not waited for a heartbeat that hangs while the switch is certainly armed', async () => {
    const stage = await armed({ [POST]: [{}, { kind: 'lost' }] });
    busy(stage);
    await stage.to(5_500);
    let ready = false;
    void stage.heartbeat.beforeOrder('steps/p').then(() => {
      ready = true;
    });
    await stage.to(5_501);
    expect([ready, stage.sent()]).toEqual([
      true,
      [
        ['POST', 0],
        ['POST', 5_000],
      ],
    ]);
  });
});

describe('a heartbeat', () => {
  it('is sent while a step is within its time, and is no progress itself', async () => {
    const stage = await armed();
    const attempt = busy(stage, 62_000);
    await stage.to(13_000);
    expect(stage.calls.slice(1)).toMatchObject(
      [5_000, 10_000].map((at) => ({ endpoint: POST, at, step: 'deadman', class: 'protect', purpose: 'keep-alive' })),
    );
    expect(stage.moves()).toEqual([
      ['armed', 20],
      ['renewed', 5_020],
      ['renewed', 10_020],
    ]);
    attempt.end();
    // Two timeouts after the step has ended nothing shows progress any more.
    await stage.to(100_000);
    expect(stage.sent().at(-1)).toEqual(['POST', 50_000]);
    expect(stage.entries.at(-1)).toMatchObject({ event: 'assumed_fired', at: 70_001, market: MARKET });
    expect(() => stage.whole.check()).toThrow(Abandoned);
  });

  it('that the venue refused renews nothing', async () => {
    const stage = await armed({ [POST]: [{}, { kind: 'rejected', failure: 'rate_limited', definite: true }] });
    busy(stage);
    await stage.to(6_500);
    expect(stage.moves()).toEqual([
      ['armed', 20],
      ['renewed', 6_290],
    ]);
  });

  it.each<[string, (stage: Stage) => void, number]>([
    ['an order that was confirmed', (stage) => stage.step('POST /orders'), 8_000],
    ['a refused order', (stage) => stage.step('POST /orders', { kind: 'rejected' }), 5_000],
    [
      'an order of which nothing was sent',
      (stage) => stage.step('POST /orders', { sentAt: undefined as never }),
      5_000,
    ],
    ['a reading', (stage) => stage.step('GET /orders'), 5_000],
    ['a request of the profile', (stage) => stage.step('request info'), 5_000],
    ['a heartbeat', (stage) => stage.step('DELETE /orders', { call: 'deadman#9' }), 5_000],
  ])('is due a keep-alive after %s', async (_, act, due) => {
    const stage = await armed();
    busy(stage);
    await stage.to(3_000);
    act(stage);
    await stage.to(8_500);
    expect(stage.sent()[1]).toEqual(['POST', due]);
  });

  it.each<[string, (stage: Stage) => void, number]>([
    ['an answer of a step', (stage) => stage.step('GET /orders'), 70_000],
    ['a refused call', (stage) => stage.step('GET /orders', { kind: 'rejected' }), 40_000],
    ['an own call', (stage) => stage.step(GET, { call: 'deadman#9' }), 40_000],
    ['the begin of an attempt', (stage) => void stage.heartbeat.beginAttempt('a', undefined), 70_000],
    ['the end of one', (stage) => stage.heartbeat.beginAttempt('a', undefined).end(), 70_000],
    ['a wait on purpose', (stage) => stage.heartbeat.markWaiting('a', START + 52_000), 50_000],
    ['a wait for tokens', (stage) => stage.waits('steps/o#1', 52_000), 50_000],
    ['a store that does not answer', (stage) => stage.heartbeat.markSuspended(), 90_000],
    ['a store that answers again', (stage) => stage.heartbeat.markResumed(), 70_000],
  ])('counts as progress, or not: %s', async (_, act, last) => {
    const stage = await armed();
    await stage.to(30_000);
    act(stage);
    await stage.to(200_000);
    expect(
      stage
        .sent()
        .filter(([method]) => method === 'POST')
        .at(-1),
    ).toEqual(['POST', last]);
  });

  it('counts a wait for tokens until the call has settled, and one for the store until that answers', async () => {
    const stage = await armed();
    stage.waits('steps/o#1', 600_000);
    stage.step('GET /orders', { kind: 'rejected' });
    stage.heartbeat.markSuspended();
    await stage.to(10_000);
    stage.heartbeat.markResumed();
    await stage.to(200_000);
    expect(stage.entries.at(-1)).toMatchObject({ event: 'assumed_fired', at: 70_001 });
  });

  it('is due at once where a step has disarmed the switch, or armed it for another time', async () => {
    for (const [endpoint, over, times] of [
      [DELETE, {}, [0, 3_000]],
      [DELETE, { kind: 'unresolved' }, [0, 3_000]],
      [DELETE, { kind: 'rejected' }, [0]],
      [DELETE, { params: { market_id: 'ETH-USD' } }, [0]],
      [DELETE, { call: 'deadman#9' }, [0]],
      [POST, { params: { market_id: MARKET, timeout: 9_000 } }, [0, 3_000]],
      [POST, { params: { market_id: MARKET, timeout: 9_000 }, kind: 'rejected' }, [0]],
      [POST, { params: { market_id: MARKET, timeout: 9_000 }, call: 'deadman#9' }, [0]],
    ] as const) {
      const stage = await armed();
      busy(stage);
      await stage.to(3_000);
      stage.step(endpoint, over as Partial<SettledCall>);
      await stage.to(4_000);
      expect(stage.sent().map(([, at]) => at)).toEqual(times);
    }
  });

  it('that a step armed for a shorter time lets it fire earlier', async () => {
    const stage = await armed();
    stage.step(POST, { params: { market_id: MARKET, timeout: 9_000 } });
    expect(stage.heartbeat.firesAt).toBe(START + 9_000);
  });
});

describe('a switch that may have fired', () => {
  it('says why, and says it once', async () => {
    const stage = await armed();
    await stage.to(200_000);
    expect(stage.entries.at(-1)).toMatchObject({ event: 'assumed_fired', because: expect.stringMatching(/./) });
    await stage.run(stage.heartbeat.beforeOrder('steps/p'));
    expect(stage.entries.at(-1)).toMatchObject({ event: 'armed' });
    expect(stage.entries.at(-1)).not.toHaveProperty('because');
  });

  it('is armed again when every order has been read', async () => {
    const stage = await armed();
    stage.heartbeat.markUnseen();
    expect(stage.entries.at(-1)).toMatchObject({ event: 'assumed_fired', market: MARKET });
    await stage.run(stage.heartbeat.beforeOrder('steps/p'));
    expect([stage.read, stage.moves().map(([event]) => event)]).toEqual([
      ['steps/p'],
      ['armed', 'assumed_fired', 'armed'],
    ]);
    busy(stage);
    await stage.to(9_000);
    expect(stage.sent().at(-1)?.[0]).toBe('POST');
    expect(stage.calls.length).toBe(3);
  });

  it('is not armed where the orders cannot be read', async () => {
    const stage = await armed();
    stage.heartbeat.markUnseen();
    stage.failReading();
    await expect(stage.run(stage.heartbeat.beforeOrder('steps/p'))).rejects.toThrow('no answer');
    expect(stage.calls).toHaveLength(1);
  });

  it('is not armed where nothing requires it any more', async () => {
    const stage = setUp();
    const { leave } = await stage.enter({ onExit: 'leave_armed' });
    await stage.run(stage.heartbeat.beforeOrder('steps/o'));
    stage.heartbeat.markUnseen();
    await leave();
    await stage.run(stage.heartbeat.beforeOrder('steps/p'));
    expect([stage.read, stage.calls.length]).toEqual([['steps/p'], 1]);
  });

  it('was never armed: nothing may have fired', async () => {
    const stage = setUp();
    await stage.enter();
    stage.heartbeat.markUnseen();
    await stage.run(stage.heartbeat.beforeOrder('steps/p'));
    expect([stage.read, stage.moves()]).toEqual([[], [['armed', 20]]]);
  });

  it('is shown off by the reading of a step in its market', async () => {
    const stage = await armed();
    stage.heartbeat.observeReading('ETH-USD', START + 100, null);
    expect(stage.moves()).toHaveLength(1);
    stage.heartbeat.observeReading(MARKET, START + 100, null);
    expect(stage.moves().at(-1)?.[0]).toBe('assumed_fired');
    expect(() => stage.whole.check()).toThrow(Abandoned);
  });
});

describe('a reading of the switch', () => {
  it('is sent every four timeouts between two heartbeats, and for no longer than half the pause', async () => {
    const stage = await armed();
    busy(stage);
    await stage.to(165_000);
    const readings = stage.calls.filter(({ endpoint }) => endpoint === GET);
    expect(readings).toMatchObject(
      readings.map(({ at }) => ({
        step: 'deadman',
        params: { market_id: MARKET },
        class: 'protect',
        purpose: 'verify',
        answerMs: 2_500,
        deadlineAt: START + at + 2_500,
        repeatsMs: 80_000,
      })),
    );
    expect(readings.map(({ at }) => at)).toEqual([80_020, 160_040]);
  });

  it('that got no answer is repeated after a timeout', async () => {
    const stage = await armed({ [GET]: [{ kind: 'lost' }] });
    busy(stage);
    await stage.to(110_000);
    expect(stage.sent().filter(([method]) => method === 'GET')).toEqual([
      ['GET', 80_020],
      ['GET', 105_020],
    ]);
    expect(stage.moves().every(([event]) => event !== 'assumed_fired')).toBe(true);
  });

  it('that shows it off means that it has fired', async () => {
    const stage = await armed({ [GET]: { record: null } });
    busy(stage);
    await stage.to(200_000);
    expect(stage.moves().at(-1)).toEqual(['assumed_fired', 160_060]);
    expect(stage.sent().at(-1)).toEqual(['GET', 160_040]);
  });
});

describe('the end of a run', () => {
  it('disarms the switch and reads that back', async () => {
    const stage = await armed();
    await stage.run(stage.heartbeat.exit());
    const common = { step: 'deadman', class: 'protect', params: { market_id: MARKET }, answerMs: 5_000 };
    // Heartbeats wait for it: it leaves before a quarter and an eighth of the timeout are over, or not now.
    const deadlineAt = START + 7_500;
    expect(stage.calls.slice(1)).toStrictEqual([
      { ...common, id: 'deadman#2', endpoint: DELETE, purpose: 'disarm', deadlineAt, at: 20 },
      { ...common, id: 'deadman#3', endpoint: GET, purpose: 'verify', at: 40 },
    ]);
    expect(stage.entries.at(-1)).toMatchObject({ event: 'disarmed', market: MARKET, at: 60 });
    expect([stage.heartbeat.disarmsAtExit, stage.heartbeat.firesAt]).toEqual([false, undefined]);
    await stage.run(stage.heartbeat.exit());
    expect(stage.calls).toHaveLength(3);
  });

  it('renews the switch while its DELETE cannot leave, as for want of a journal', async () => {
    const late = { kind: 'denied', code: 'DEADLINE', afterMs: 2_500 } as const;
    const stage = await armed({ [DELETE]: [late, late] });
    busy(stage);
    await stage.run(stage.heartbeat.exit());
    expect(stage.sent().slice(1)).toEqual([
      ['DELETE', 20],
      ['POST', 2_520],
      ['DELETE', 7_520],
      ['POST', 10_020],
      ['DELETE', 15_020],
      ['GET', 15_040],
    ]);
    const deadlines = stage.calls.flatMap(({ deadlineAt }) => (deadlineAt === undefined ? [] : [deadlineAt - START]));
    expect(deadlines).toEqual([7_500, 10_020, 17_520]);
    expect(stage.moves().at(-1)).toEqual(['disarmed', 15_060]);
  });

  it('renews it no longer than the run makes progress: then its DELETE waits as long as it must', async () => {
    const late = { kind: 'denied', code: 'DEADLINE', afterMs: 7_000 } as const;
    const stage = await armed({ [DELETE]: Array(20).fill(late) });
    const work = failureOf(stage.heartbeat.exit());
    await stage.to(70_000);
    expect(stage.sent().filter(([method, at]) => method === 'POST' && Number(at) > 40_000)).toEqual([]);
    expect(stage.calls.at(-1)).not.toHaveProperty('deadlineAt');
    void work;
  });

  it('leaves it armed where the runbook says so, and sends nothing more', async () => {
    const stage = await armed({}, { onExit: 'leave_armed' });
    busy(stage);
    expect(stage.heartbeat.disarmsAtExit).toBe(false);
    await stage.run(stage.heartbeat.exit());
    await stage.to(60_000);
    expect([stage.calls.length, stage.heartbeat.firesAt]).toEqual([1, START + 20_000]);
  });

  it('that halts stops the heartbeats and leaves the switch', async () => {
    const stage = await armed();
    busy(stage);
    await stage.run(stage.heartbeat.abandon());
    await stage.to(60_000);
    expect([stage.calls.length, stage.heartbeat.disarmsAtExit]).toEqual([1, true]);
  });

  it('waits for the heartbeat under way, and for one given up that may still arrive', async () => {
    const slow = await armed({ [POST]: [{}, { afterMs: 3_000 }] });
    busy(slow);
    await slow.to(5_500);
    await slow.run(slow.heartbeat.exit());
    expect(slow.sent().slice(1)).toEqual([
      ['POST', 5_000],
      ['DELETE', 8_000],
      ['GET', 8_020],
    ]);
    const lost = await armed({ [POST]: [{}, { kind: 'lost' }] });
    busy(lost);
    await lost.to(5_500);
    await lost.run(lost.heartbeat.exit());
    expect(lost.sent().slice(1)).toEqual([
      ['POST', 5_000],
      ['DELETE', 10_000],
      ['GET', 15_000],
    ]);
    const left = await armed({ [POST]: [{}, { kind: 'unresolved', left: true }] });
    busy(left);
    await left.to(5_030);
    await left.run(left.heartbeat.exit());
    expect(left.sent().slice(1)).toEqual([
      ['POST', 5_000],
      ['DELETE', 5_030],
      ['GET', 15_000],
    ]);
    const refused = await armed({ [POST]: [{}, { kind: 'unresolved' }] });
    busy(refused);
    await refused.to(5_010);
    await refused.run(refused.heartbeat.exit());
    expect(refused.sent().slice(1)).toEqual([
      ['POST', 5_000],
      ['DELETE', 5_020],
      ['GET', 5_040],
    ]);
  });

  it('disarms a switch that a heartbeat given up has armed again, before it fires', async () => {
    const answers = {
      [POST]: [{}, { kind: 'unresolved', left: true }],
      [GET]: [{}, { record: { status: 'active' } }, { record: null }],
    } as const;
    const stage = await armed(answers, { timeoutMs: 8_000, keepAliveMs: 2_000 });
    busy(stage);
    await stage.to(2_030);
    await stage.run(stage.heartbeat.exit());
    expect(stage.sent().slice(1)).toEqual([
      ['POST', 2_000],
      ['DELETE', 2_030],
      ['GET', 6_050],
      ['GET', 10_070],
      ['DELETE', 10_340],
      ['GET', 12_000],
    ]);
    expect(stage.moves().at(-1)).toEqual(['disarmed', 12_020]);
  });

  it('waits for a reading under way', async () => {
    const stage = await armed({ [GET]: [{ afterMs: 1_000 }] });
    busy(stage);
    await stage.to(80_100);
    await stage.run(stage.heartbeat.exit());
    expect(stage.sent().slice(-2)).toEqual([
      ['DELETE', 81_020],
      ['GET', 81_040],
    ]);
  });

  it.each<[string, Answers, readonly (readonly [string, number])[]]>([
    [
      'a DELETE without an answer',
      { [DELETE]: [{ kind: 'unresolved' }] },
      [
        ['DELETE', 20],
        ['GET', 40],
        ['DELETE', 310],
      ],
    ],
    [
      'a reading without an answer',
      { [GET]: [{ kind: 'unresolved' }] },
      [
        ['DELETE', 20],
        ['GET', 40],
        ['GET', 310],
      ],
    ],
  ])('reads again until it is shown off: %s', async (_, answers, sent) => {
    const stage = await armed(answers);
    const work = failureOf(stage.heartbeat.exit());
    await stage.to(320);
    expect(stage.sent().slice(1, 4)).toEqual(sent);
    await stage.run(work);
  });

  it('halts where a person must look: it may still be armed', async () => {
    const stage = await armed({ [GET]: { kind: 'unresolved' } });
    expect(await stage.run(failureOf(stage.heartbeat.exit()))).toMatchObject({ name: 'Halt', kind: 'unknown_outcome' });
    expect(
      stage
        .sent()
        .filter(([method]) => method === 'GET')
        .map(([, at]) => at),
    ).toEqual([40, 310, 830, 1_850, 3_870, 7_890]);
    expect(stage.moves().at(-1)?.[0]).toBe('armed');
    const denied = await armed({ [DELETE]: { kind: 'denied' } });
    expect(await denied.run(failureOf(denied.heartbeat.exit()))).toMatchObject({ name: 'Halt', kind: 'denied' });
    expect(denied.sent().at(-1)?.[0]).toBe('DELETE');
  });

  it('disarms one that has fired meanwhile, and takes a reading for its end', async () => {
    const stage = await armed({ [GET]: { record: null } });
    stage.heartbeat.markUnseen();
    await stage.run(stage.heartbeat.exit());
    expect(stage.sent().slice(1)).toEqual([
      ['DELETE', 20],
      ['GET', 40],
    ]);
    expect(stage.moves().at(-1)).toEqual(['disarmed', 60]);
  });
});

const LATE = { kind: 'denied', code: 'DEADLINE', message: '', settledAt: 0 } as const;

describe('while the store does not answer', () => {
  const methods = (stage: Stage) => stage.sent().map(([method]) => method);
  /** Whether it is over at 40 s, and whether the switch was disarmed until then, and once the store answers. */
  async function waits(stage: Stage, work: Promise<unknown>) {
    let isOver = false;
    void work.then(() => {
      isOver = true;
    });
    await stage.to(40_000);
    const before = [isOver, methods(stage).includes('DELETE')];
    stage.heartbeat.markResumed();
    await stage.run(work);
    return [...before, methods(stage).includes('DELETE')];
  }

  it('the end of a run waits with the DELETE, and renews the switch meanwhile', async () => {
    const stage = await armed();
    stage.heartbeat.markSuspended();
    expect(await waits(stage, stage.heartbeat.exit())).toEqual([false, false, true]);
    expect(methods(stage).filter((method) => method === 'POST').length).toBeGreaterThan(5);
    expect(stage.moves().at(-1)?.[0]).toBe('disarmed');
  });

  it('waits for a minute, and no longer', async () => {
    const stage = await armed();
    stage.heartbeat.markSuspended();
    await stage.run(stage.heartbeat.exit());
    expect(stage.sent().find(([method]) => method === DELETE.split(' ')[0])?.[1]).toBe(60_020);
  });

  it('nothing waits at the end with a switch that stays armed', async () => {
    const stage = await armed({}, { onExit: 'leave_armed' });
    stage.heartbeat.markSuspended();
    expect(await waits(stage, stage.heartbeat.exit())).toEqual([true, false, false]);
  });

  it('only the block that disarms the switch waits, and a write of a step does', async () => {
    const stage = setUp();
    const outer = await stage.enter({}, 'outer');
    const inner = await stage.enter({ timeoutMs: 8_000 }, 'inner');
    await stage.run(stage.heartbeat.beforeOrder('steps/o'));
    stage.heartbeat.markSuspended();
    const left = stage.clock.now();
    await stage.run(inner.leave());
    expect(stage.clock.now() - left).toBeLessThan(1_000);
    expect(await waits(stage, outer.leave())).toEqual([false, false, true]);
    const other = await armed();
    other.heartbeat.markSuspended();
    let isWritten = false;
    const write = other.heartbeat.writeAlone<typeof DELETE>(new Cancellation(), async () => {
      isWritten = true;
      return { kind: 'confirmed', result: null, sentAt: 0, settledAt: 0 };
    });
    await other.to(30_000);
    expect(isWritten).toBe(false);
    other.heartbeat.markResumed();
    await other.run(write);
    expect(isWritten).toBe(true);
  });
});

describe('what a step writes about the switch itself', () => {
  /** Writes for so long; notes when it began, and within which time it is to be answered. */
  function writes(stage: Stage, ms: number, { fails = false, late = 0 } = {}) {
    const began: unknown[] = [];
    const deadlines: unknown[] = [];
    const step = new Cancellation();
    const work = stage.heartbeat.writeAlone<typeof DELETE>(step, async ({ answerMs, deadlineAt }) => {
      began.push([stage.clock.now() - START, answerMs]);
      deadlines.push(deadlineAt === undefined ? undefined : deadlineAt - START);
      await new Promise<void>((done) => void stage.clock.after(ms, done));
      if (fails) throw new Error('no answer');
      const at = stage.clock.now();
      return late-- > 0 ? LATE : { kind: 'confirmed', result: null, sentAt: at, settledAt: at };
    });
    return { began, deadlines, step, work };
  }

  it('is written at once, and answered within any time where nothing is armed', async () => {
    const stage = setUp();
    const { began, deadlines, work } = writes(stage, 100);
    expect([(await stage.run(work)).kind, began, deadlines]).toEqual(['confirmed', [[0, undefined]], [undefined]]);
  });

  it('waits for the heartbeat under way, and the next heartbeat waits for it', async () => {
    const stage = await armed({ [POST]: [{}, { afterMs: 2_000 }] });
    busy(stage);
    await stage.to(5_500);
    const { began, work } = writes(stage, 6_000);
    await stage.to(12_900);
    expect([began, stage.sent().length]).toEqual([[[7_000, 5_000]], 2]);
    await stage.run(work);
    await stage.to(13_500);
    expect(stage.sent().at(-1)).toEqual(['POST', 13_000]);
  });

  it('is one at a time, and ends also where it failed', async () => {
    const stage = await armed();
    busy(stage);
    const first = writes(stage, 1_000, { fails: true });
    const second = writes(stage, 1_000);
    const failed = failureOf(first.work);
    await stage.run(second.work);
    expect([await failed, first.began, second.began]).toMatchObject([
      { name: 'Error' },
      [[20, 5_000]],
      [[1_020, 5_000]],
    ]);
    await stage.to(8_000);
    expect(stage.sent()[1]).toEqual(['POST', 5_000]);
  });

  it('that cannot leave in time lets heartbeats go on, and is tried again until its step ends', async () => {
    const stage = await armed();
    busy(stage);
    const { began, deadlines, work } = writes(stage, 2_500, { late: 2 });
    await stage.run(work);
    expect(began.map((each) => (each as unknown[])[0])).toEqual([20, 7_520, 15_020]);
    expect(deadlines).toEqual([7_500, 12_500, 17_520]);
    expect(stage.sent().slice(1)).toEqual([
      ['POST', 5_000],
      ['POST', 10_020],
      ['POST', 17_520],
    ]);
    const { began: again, step, work: given } = writes(stage, 1_000, { late: 100 });
    const failed = failureOf(given);
    await stage.to(40_000);
    step.interrupt('sibling', 'the step is over');
    expect(await stage.run(failed)).toMatchObject({ name: 'Abandoned' });
    const tries = again.length;
    await stage.to(60_000);
    expect([tries, again.length]).toEqual([4, 4]);
  });

  it('is awaited at the end of the run', async () => {
    const stage = await armed();
    const { work } = writes(stage, 3_000);
    await stage.to(100);
    await stage.run(Promise.all([work, stage.heartbeat.exit()]));
    expect(stage.sent()[1]).toEqual(['DELETE', 3_020]);
  });
});

describe('heartbeats that are passed over', () => {
  const heartbeatsOf = (
    number: number,
    calls: readonly (readonly [endpoint: string, at: number, result: object])[],
  ) => ({
    number,
    entries: calls.flatMap(([endpoint, at, result], index) => {
      const params = endpoint === POST ? { market_id: MARKET, timeout: 20_000 } : { market_id: MARKET };
      const data = { call: `deadman#${index}`, endpoint, params };
      return [
        { type: 'call.intended', at: START + at, data },
        { type: 'call.settled', at: START + at + 20, data: { ...data, kind: 'confirmed', sentAt: START + at, result } },
      ] as unknown as Entry[];
    }),
  });
  const moveTo = (stage: Stage, ms: number) => () => {
    stage.clock.skipTo(START + ms);
    return true;
  };

  it('leave the switch armed as the newest of them did, and the next are due from there', async () => {
    const stage = await armed();
    const passed = heartbeatsOf(7, [
      [GET, 80_020, record({})],
      [POST, 100_000, record({})],
    ]);
    expect(stage.heartbeat.passOver(passed, moveTo(stage, 101_000))).toBe(true);
    expect([stage.heartbeat.firesAt, stage.numbered]).toEqual([START + 120_000, [['deadman', 7]]]);
    busy(stage);
    await stage.to(162_000);
    expect(stage.sent().slice(1, 3)).toEqual([
      ['POST', 105_000],
      ['POST', 110_000],
    ]);
    expect(stage.sent().filter(([method]) => method === 'GET')).toEqual([['GET', 160_040]]);
  });

  it('may be none: then nothing changes but that the run has gone on', async () => {
    const stage = setUp();
    expect(stage.heartbeat.passOver(heartbeatsOf(3, []), moveTo(stage, 1_000))).toBe(true);
    expect(stage.numbered).toEqual([]);
  });

  it('are not passed over where they do not follow, or the time cannot move', async () => {
    const fresh = setUp();
    const passed = heartbeatsOf(7, [[POST, 100_000, record({})]]);
    expect([fresh.heartbeat.passOver(passed, () => true), fresh.numbered]).toEqual([false, []]);
    const stage = await armed();
    expect(stage.heartbeat.passOver(passed, () => false)).toBe(false);
    expect([stage.heartbeat.firesAt, stage.numbered]).toEqual([START + 20_000, []]);
  });
});

describe('blocks within each other', () => {
  it('share the switch: the shortest timeout holds, and it is disarmed with the last', async () => {
    const stage = setUp();
    const outer = await stage.enter({ timeoutMs: 20_000 }, 'outer');
    const inner = await stage.enter({ timeoutMs: 8_000, onExit: 'leave_armed' }, 'inner');
    await stage.run(stage.heartbeat.beforeOrder('steps/o'));
    expect(stage.calls).toMatchObject([{ params: { timeout: 8_000 } }]);
    expect(stage.heartbeat.disarmsAtExit).toBe(true);
    await stage.run(inner.leave());
    expect(stage.calls).toHaveLength(1);
    await stage.run(outer.leave());
    await stage.run(outer.leave());
    expect(stage.sent().map(([method]) => method)).toEqual(['POST', 'DELETE', 'GET']);
    expect(stage.moves().at(-1)?.[0]).toBe('disarmed');
  });

  it('of a called runbook that leaves it armed keeps it after the last', async () => {
    const stage = setUp();
    const { leave } = await stage.enter({ onExit: 'leave_armed' }, 'call');
    await stage.run(stage.heartbeat.beforeOrder('steps/o'));
    await stage.run(leave());
    expect(stage.calls).toHaveLength(1);
  });

  it('end after the step of their own runbook that releases them', async () => {
    const stage = setUp();
    const frame = frameOf({ releaseAfter: 'o', onExit: 'leave_armed' });
    await stage.heartbeat.enter(frame, START, '');
    await stage.run(stage.heartbeat.beforeOrder('steps/o'));
    await stage.run(stage.heartbeat.releaseAfterStep('o', frameOf({ releaseAfter: 'o' })));
    await stage.run(stage.heartbeat.releaseAfterStep('p', frame));
    await stage.run(stage.heartbeat.releaseAfterStep(undefined, frame));
    expect(stage.calls).toHaveLength(1);
    await stage.run(stage.heartbeat.releaseAfterStep('o', frame));
    expect(stage.sent().map(([method]) => method)).toEqual(['POST', 'DELETE', 'GET']);
    const without = setUp();
    const bare = frameOf({ onExit: 'leave_armed' });
    await without.heartbeat.enter(bare, START, '');
    await without.run(without.heartbeat.beforeOrder('steps/o'));
    await without.run(without.heartbeat.releaseAfterStep(undefined, bare));
    expect(without.calls).toHaveLength(1);
  });
});
