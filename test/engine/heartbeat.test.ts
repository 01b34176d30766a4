/** Tests the heartbeats of a run: sent only while the run makes progress, and restored when another client disarms the switch. */
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

async function performed(text: string, more: Partial<Scene> = {}, called?: string): Promise<Performance> {
  const loaded = loadedFrom(
    {
      file: 'kept.yaml',
      text: `runbook: kept\ndsl: 1\nleaves: {position: open, because: the case is about something else}\n${text}`,
    },
    (name) =>
      called === undefined
        ? undefined
        : {
            file: `${name}.yaml`,
            text: `runbook: ${name}\ndsl: 1\nleaves: {position: open, because: the case is about something else}\n${called}`,
          },
  );
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: {}, ...more };
  const performance = await perform(scene);
  await expect(replay(performance, scene)).resolves.toBeUndefined();
  return performance;
}

const SWITCH = 'deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}\n';
const RESTING = `  - id: q
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
`;
const HOUR = 3_600_000;

/** Seconds after the start. */
const seconds = ({ entries }: Performance, at: number) => (at - (entries[0]?.at ?? 0)) / 1000;

/** The events of the switch, with their seconds after the start. */
function moves(performance: Performance): readonly (readonly [number, string])[] {
  return performance.entries.flatMap((entry) =>
    entry.type === 'deadman.moved' ? [[Math.floor(seconds(performance, entry.at)), entry.data.event] as const] : [],
  );
}

/** When the requests were sent, in seconds after the start. */
function sent(performance: Performance, endpoint: string): readonly number[] {
  const calls = new Set(
    performance.entries.flatMap((entry) =>
      entry.type === 'call.intended' && entry.data.endpoint === endpoint ? [entry.data.call] : [],
    ),
  );
  const leaves = (entry: Entry) => entry.type === 'call.attempted' && calls.has(entry.data.call);
  return performance.entries.filter(leaves).map((entry) => seconds(performance, entry.at));
}

const gaps = (times: readonly number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0));

describe('a step that hangs', () => {
  const HUNG = `feeds: {mid: {type: price, max_age: 5s}}\n${SWITCH}steps:\n${RESTING}`;
  const config: Scene['config'] = { markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000' } } };

  it('lets the switch fire after two timeouts without progress, although every heartbeat was answered', async () => {
    const performance = await performed(`${HUNG}  - assert: feeds.mid > 0\n`, { config, feedAfterMs: HOUR });
    const { report, books } = performance;
    expect(moves(performance)).toContainEqual([60, 'assumed_fired']);
    expect(books.deadman.events.at(-1)).toMatchObject({ event: 'fired' });
    expect([books.orders[0]?.status, report.outcome, report.error?.kind]).toEqual([
      'canceled',
      'failed',
      'deadman_fired',
    ]);
  });

  it('is no wait inside a loop that may go on for hours', async () => {
    const loop = '  - repeat:\n      every: 3s\n      for: 2h\n      do: [{assert: feeds.mid > 0}]\n';
    const performance = await performed(`${HUNG}${loop}`, { config, feedAfterMs: HOUR });
    expect(performance.books.orders[0]?.status).toBe('canceled');
    expect(sent(performance, 'POST /cancel_all_after').filter((at) => at > 60)).toEqual([]);
  });

  it('has its own timeout: heartbeats go on until then', async () => {
    const performance = await performed(
      `${HUNG}  - assert: feeds.mid > 0\n    timeout: 5m\n    catch: [{on: any, then: continue}]\n`,
      {
        config,
        feedAfterMs: HOUR,
      },
    );
    const heartbeats = sent(performance, 'POST /cancel_all_after');
    expect(heartbeats.at(-1)).toBeGreaterThan(290);
    expect(heartbeats.at(-1)).toBeLessThan(345);
  });
});

it('a wait for an order whose readings all fail is no progress: the state of the order is unknown', async () => {
  const performance = await performed(
    `${SWITCH}steps:\n  - id: q\n    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}\n    await: filled\n`,
    {
      between: (venue, clock) => ({
        async send(request, options) {
          const isLate = clock.now() > START + 10_000 && clock.now() < START + HOUR;
          if (isLate && request.endpoint === 'GET /orders')
            return { kind: 'failure', sent: true, message: 'timeout: response' };
          return venue.send(request, options);
        },
      }),
    },
  );
  expect(moves(performance).find(([, event]) => event === 'assumed_fired')?.[0]).toBeLessThan(75);
  expect(performance.books.orders[0]?.status).toBe('canceled');
});

it('a wait for tokens is no hang: heartbeats go on until its deadline', async () => {
  const reads = '  - list_orders: {}\n'.repeat(3);
  const performance = await performed(`${SWITCH}steps:\n${RESTING}${reads}`, { config: { tokens: { limit: 240 } } });
  const [waiting] = performance.entries.flatMap((entry) => (entry.type === 'call.waiting' ? [entry] : []));
  const waitedMs = performance.entries.map((entry) => (entry.type === 'call.attempted' ? entry.data.waitedMs : 0));
  expect(Math.max(...waitedMs)).toBeGreaterThan(40_000);
  expect((waiting?.data.until ?? 0) - (waiting?.at ?? 0)).toBe(60_000);
  expect(Math.max(...gaps(sent(performance, 'POST /cancel_all_after')))).toBeLessThan(5.5);
  expect([performance.report.outcome, performance.books.orders[0]?.status]).toEqual(['succeeded', 'open']);
});

it('one lost answer is no hang, however short the timeout', async () => {
  let lost = 0;
  const performance = await performed(
    `deadman: {market: BTC-USD, timeout: 5s, on_exit: disarm}\nsteps:\n${RESTING}  - refresh: q\n`,
    {
      between: (venue, clock) => ({
        async send(request, options) {
          // The second reading: the order has been confirmed, and nothing else is under way.
          if (request.endpoint !== 'GET /orders' || ++lost !== 2) return venue.send(request, options);
          await new Promise<void>((done) => void clock.after(options.timeoutMs, done));
          return { kind: 'failure', sent: true, message: 'timeout: response' };
        },
      }),
    },
  );
  expect([performance.report.outcome, performance.books.orders[0]?.status]).toEqual(['succeeded', 'open']);
  expect(Math.max(...gaps(sent(performance, 'POST /cancel_all_after')))).toBeLessThan(2.5);
});

describe('requests that renew the switch', () => {
  const QUOTING = `vars: {p: {type: price, init: 50000}}
${SWITCH}steps:
${RESTING}  - repeat:
      every: 3s
      for: 4m
      do:
        - set: {p: p + 1}
        - amend: {order: q, price: p}
`;

  it('do not replace heartbeats: one is sent in each timeout, and the switch is read back', async () => {
    const performance = await performed(QUOTING);
    expect(performance.report.outcome).toBe('succeeded');
    const heartbeats = sent(performance, 'POST /cancel_all_after');
    expect(heartbeats.length).toBeGreaterThan(10);
    expect(Math.max(...gaps(heartbeats))).toBeLessThanOrEqual(20.5);
    const readings = sent(performance, 'GET /cancel_all_after');
    expect(readings.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...gaps(readings))).toBeLessThanOrEqual(100);
  });

  it('renew nothing where another client has disarmed it: it is armed again within a timeout', async () => {
    const performance = await performed(QUOTING, {
      between: (venue, clock) => {
        // Another program of the account.
        clock.after(65_000, () => {
          const taken = toWireRequest('DELETE /cancel_all_after', { market_id: 'BTC-USD' }, SIMULATED_PROFILE);
          void venue.send(taken, { timeoutMs: 1_000 });
        });
        return venue;
      },
    });
    const { events } = performance.books.deadman;
    const gone = events.findIndex(({ event }) => event === 'disarmed');
    expect(events[gone + 1]?.event).toBe('armed');
    expect((events[gone + 1]?.at ?? 0) - (events[gone]?.at ?? 0)).toBeLessThanOrEqual(20_500);
  });
});

describe('a step of a called runbook that changes the switch', () => {
  const QUIET = `${SWITCH}steps:\n${RESTING}  - call: {runbook: tidy}\n  - wait: 2m\n`;

  it('has disarmed it: it is armed again at once, because the caller still requires it', async () => {
    const performance = await performed(QUIET, {}, 'steps:\n  - disarm_deadman: {market: BTC-USD}\n');
    const { events } = performance.books.deadman;
    const gone = events.findIndex(({ event }) => event === 'disarmed');
    expect(events[gone + 1]?.event).toBe('armed');
    expect((events[gone + 1]?.at ?? 0) - (events[gone]?.at ?? 0)).toBeLessThan(1_000);
    expect([performance.report.outcome, performance.books.orders[0]?.status]).toEqual(['succeeded', 'open']);
  });

  it('has armed it with a shorter timeout: that of the caller is requested again at once', async () => {
    const performance = await performed(QUIET, {}, 'steps:\n  - arm_deadman: {market: BTC-USD, timeout: 6s}\n');
    const { events } = performance.books.deadman;
    const short = events.findIndex(({ timeoutMs }) => timeoutMs === 6_000);
    expect(events[short + 1]).toMatchObject({ event: 'renewed', timeoutMs: 20_000 });
    expect((events[short + 1]?.at ?? 0) - (events[short]?.at ?? 0)).toBeLessThan(1_000);
    expect(performance.report.outcome).toBe('succeeded');
  });
});

describe('a called runbook that leaves its switch armed', () => {
  const CALLED = (more: string) => `inputs: {on: {type: boolean, default: false}}
deadman: {market: BTC-USD, timeout: 20s, release_after: guard, on_exit: leave_armed}
steps:
${RESTING}  - id: guard
    ${more}
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 40000, price: 39000}}
`;
  const CALL = 'steps: [{call: {runbook: callee}}]\n';

  it('keeps that promise where the step that releases it was skipped', async () => {
    const performance = await performed(CALL, {}, CALLED('if: inputs.on'));
    expect(moves(performance).map(([, event]) => event)).toEqual(['armed']);
    expect(sent(performance, 'DELETE /cancel_all_after')).toEqual([]);
    expect(performance.books.deadman.armed).toHaveLength(1);
  });

  it('has none armed any more where that step was done', async () => {
    const performance = await performed(CALL, {}, CALLED('await: accepted'));
    expect(moves(performance).map(([, event]) => event)).toEqual(['armed', 'disarmed']);
    expect(sent(performance, 'DELETE /cancel_all_after')).toHaveLength(1);
  });
});

it('release_after names a step of its own runbook, not one of the same name in a called runbook', async () => {
  const performance = await performed(
    `deadman: {market: BTC-USD, timeout: 20s, release_after: guard, on_exit: disarm}
steps:
  - call: {runbook: sub}
${RESTING}  - wait: 1m
  - id: guard
    read_account: {}
  - wait: 1m
`,
    {},
    'steps:\n  - id: guard\n    read_account: {}\n',
  );
  const [armed, ...later] = performance.books.deadman.events;
  const place = performance.entries.find(
    (entry) => entry.type === 'call.attempted' && entry.data.path === '/orders' && entry.data.method === 'POST',
  );
  expect(armed?.event).toBe('armed');
  expect(armed?.at).toBeLessThan(place?.at ?? 0);
  expect(later.at(-1)?.event).toBe('disarmed');
  expect(moves(performance).at(-1)?.[0]).toBeGreaterThanOrEqual(60);
});

it('a run whose switch fires during the last step does not succeed', async () => {
  const brief = 'deadman: {market: BTC-USD, timeout: 5s, on_exit: disarm}\n';
  let reads = 0;
  const performance = await performed(`${brief}steps:\n${RESTING}  - list_orders: {}\n`, {
    between: (venue, clock) => ({
      async send(request, options) {
        // The last step's answer takes longer than the switch lasts, and no other wait is under way.
        if (request.endpoint === 'GET /orders' && ++reads === 2)
          await new Promise<void>((done) => void clock.after(9_000, done));
        if (request.endpoint === 'POST /cancel_all_after' && clock.now() > START)
          return { kind: 'failure', sent: true, message: 'timeout' };
        return venue.send(request, options);
      },
    }),
  });
  expect([performance.report.outcome, performance.report.error?.kind]).toEqual(['failed', 'deadman_fired']);
});

describe('a step that writes about the switch beside a block', () => {
  const BRIEF = 'deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}\n';

  it.each(['disarm_deadman: {market: BTC-USD}', 'arm_deadman: {market: BTC-USD, timeout: 30s}'])(
    'waits for the heartbeat under way, and the next one for it: %s',
    async (step) => {
      let under = 0;
      let most = 0;
      // Each write about the switch takes four seconds, and a heartbeat falls due every five.
      const between: Scene['between'] = (venue, clock) => ({
        async send(request, options) {
          if (request.method === 'GET' || request.path !== '/cancel_all_after') return venue.send(request, options);
          under += 1;
          most = Math.max(most, under);
          const reply = await venue.send(request, options);
          await new Promise<void>((done) => void clock.after(4_000, done));
          under -= 1;
          return reply;
        },
      });
      const waits = [1, 2, 3, 4, 5, 6].map((n) => `  - wait: ${n}300ms\n  - ${step}\n`).join('');
      const performance = await performed(`${BRIEF}steps:\n${RESTING}${waits}`, { between });
      expect([most, performance.report.error]).toEqual([1, undefined]);
    },
  );
});

describe('a person who is asked before each write', () => {
  const ASKED = `${SWITCH}steps:\n${RESTING}  - wait: 30s\n  - cancel: q\n    await: terminal\n`;

  it('is asked only for what adds risk: no heartbeat and no cancel waits for an answer', async () => {
    const asked: string[] = [];
    const performance = await performed(ASKED, { confirm: async ({ endpoint }) => asked.push(endpoint) > 0 });
    expect(asked).toEqual(['POST /orders']);
    expect(sent(performance, 'POST /cancel_all_after').length).toBeGreaterThan(5);
    expect([performance.report.outcome, performance.books.orders[0]?.status]).toEqual(['succeeded', 'canceled']);
  });
});
