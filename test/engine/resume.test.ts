/** Tests a run that is resumed after its process died: its open decisions may be stale, and its journal can be executed again. */
import { describe, expect, it } from 'vitest';
import { replayRun } from '../../src/app/run/virtual-run.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { RunClock } from '../../src/base/run-clock.ts';
import { Playback } from '../../src/engine/playback/playback.ts';
import { startRun } from '../../src/engine/run.ts';
import { VenueClient } from '../../src/gateway/client.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Away, Entry } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { RunLog } from '../../src/journal/run-log.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import type { Params } from '../../src/venue/catalogue.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { inputsFrom, loadedFrom, perform } from './stage.ts';

const PATH = { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } as const;
const MARKETS = { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', path: PATH } };
const HOUR = 3_600_000;

/**
 * Performs a run until its process dies after an entry, and resumes it `away` later, when an order of another client rests; or with
 * `sent`, at a venue that has the orders of the run which were answered.
 */
async function resumeAfter(
  text: string,
  diesAfter: (entry: Entry) => boolean,
  away: Away,
  { sent = false, faults = [] }: { readonly sent?: boolean; readonly faults?: readonly FaultRule[] } = {},
) {
  const awayMs = away.ms;
  const loaded = loadedFrom({ file: 'runbook.yaml', text });
  const inputs = inputsFrom(loaded, {});
  const whole = (await perform({ loaded, inputs, config: { markets: MARKETS, faults } })).entries;
  const entries = whole.slice(0, whole.findIndex(diesAfter) + 1);
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) throw new Error('the run never reached that entry');

  const time = new VirtualClock(last.at + awayMs - 10_000);
  const resting = [{ market: 'BTC-USD', side: 'long', size: '1', price: '40000', agoMs: 60_000 }] as const;
  const simulator = new Simulator({ markets: MARKETS, ...(sent ? {} : { account: { resting } }) }, time, 1);
  const answered = new Set(entries.flatMap((each) => (each.type === 'call.settled' ? [each.data.call] : [])));
  for (const { type, data } of sent ? entries : [])
    if (type === 'call.intended' && data.intent !== undefined && answered.has(data.call)) {
      const request = toWireRequest(
        'POST /orders',
        data.params as unknown as Params<'POST /orders'>,
        SIMULATED_PROFILE,
      );
      await time.runUntil(simulator.transport().send(request, { timeoutMs: 1000 }));
    }
  await time.advanceTo(last.at + awayMs);
  const clock = new RunClock(time, last.at + awayMs);
  const gate = new LimitFactsFold(new OrderTracker(), simulator.markets);
  // A journal of a month must not be in memory as entries: each is taken when the one before it is played.
  let taken = 0;
  let played = 0;
  const takeEach = function* () {
    for (const entry of entries) {
      taken += 1;
      yield entry;
    }
  };
  const playback = new Playback(takeEach(), {
    markets: simulator.markets,
    resume: true,
    observe: (entry) => {
      played += 1;
      expect(taken - played).toBeLessThanOrEqual(1);
      gate.apply(entry);
    },
  });
  gate.useBook(playback.log.tracker);
  const { run, account, def } = first;
  const writer = new JournalWriter(new MemoryStore(), {
    run,
    account,
    def,
    boot: 'virtual',
    epoch: 2,
    actor: 'engine',
    clock,
    durable: false,
    head: { seq: last.seq, hash: last.hash },
  });
  const appended: Entry[] = [];
  const log = new RunLog(writer, playback.log.tracker, [
    (entry) => gate.apply(entry),
    (entry) => void appended.push(entry),
  ]);
  const { tokens, windowMs, costs } = SIMULATED_PROFILE.rateLimit;
  const client = new VenueClient({
    profile: SIMULATED_PROFILE,
    transport: simulator.transport(),
    budget: new LocalBudget(budgetSettings({ tokens, windowMs }), time, costs, { random: () => 0.5 }),
    log,
    clock,
    gate,
    feeds: { read: async () => undefined },
    markets: simulator.markets,
    epoch: 2,
  });
  const running = startRun(
    {
      run,
      account,
      mode: 'simulated',
      runbook: loaded.runbook,
      inputs,
      seed: 1,
      startedAt: first.at,
      absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs,
      fillsWindowMs: SIMULATED_PROFILE.fillsWindowMs,
      plan: '',
    },
    { venue: playback.venue, clock: playback.clock, log: playback.log, notifier: { send() {} } },
  );
  playback.drive(running);
  await playback.play(running.done);
  time.arrive(() =>
    playback.takeOver({
      keep: log.keep,
      log,
      venue: client,
      clock,
      away,
      continueCall: (call, attempts) => client.continueCall(call, attempts),
    }),
  );
  const result = await time.runUntil(running.settled());
  await replayRun([...entries, ...appended], loaded, inputs);
  return { result, appended, statuses: simulator.books().orders.map(({ status }) => status) };
}

const cancelledAll = (awayMs: number) =>
  resumeAfter(
    'runbook: sweep\ndsl: 1\nleaves: {position: open, because: the case is about something else}\nneeds: [cancel_all]\nsteps:\n  - cancel_all: {everyone: true}\n',
    (entry) => entry.type === 'call.attempted' && entry.data.method === 'DELETE',
    { ms: awayMs, by: 'machine' },
  );

it('a cancel of everything is sent again soon after the process died', async () => {
  const { result, statuses } = await cancelledAll(20_000);
  expect([result.outcome, statuses]).toEqual(['succeeded', ['canceled']]);
});

it('and not hours later, when it would cancel orders of other clients placed since: the run halts', async () => {
  const { result, statuses } = await cancelledAll(10 * HOUR);
  expect([result.outcome, result.error?.kind, statuses]).toEqual(['halted', 'unknown_outcome', ['open']]);
  expect(result.reason).toContain('10 h ago, by a process that died before it was answered');
});

const placed = (diesAfter: (entry: Entry) => boolean, away: Away) =>
  resumeAfter(
    `runbook: buys
dsl: 1
leaves: {position: open, because: the case is about something else}
feeds: {mid: {type: price, max_age: 5s}}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: tick(feeds.mid)}
`,
    diesAfter,
    away,
  );
const intended = (entry: Entry) => entry.type === 'call.intended' && entry.data.endpoint === 'POST /orders';
const decided = (entry: Entry) => entry.type === 'feed.read';

it.each([
  ['that was intended', intended],
  ['that was decided', decided],
])('an order %s is sent where the process comes back at once', async (_, diesAfter) => {
  const { result, statuses } = await placed(diesAfter, { ms: 5_000, by: 'machine' });
  expect([result.outcome, statuses.length]).toEqual(['succeeded', 2]);
});

it.each<[string, (entry: Entry) => boolean, Away]>([
  ['that was intended, hours later', intended, { ms: 10 * HOUR, by: 'machine' }],
  ['that was decided, hours later', decided, { ms: 10 * HOUR, by: 'machine' }],
  ['that was intended, where only the wall clock measured the absence', intended, { ms: 5_000, by: 'wall' }],
])('and not one %s: its price is stale', async (_, diesAfter, away) => {
  const { result, statuses } = await placed(diesAfter, away);
  expect([result.outcome, result.error?.kind, statuses]).toEqual(['failed', 'denied', ['open']]);
  expect(result.error?.message).toContain('STALE_INTENT');
});

it.each<[string, 'call.attempted' | 'call.intended', number]>([
  ['was attempted', 'call.attempted', 5_000],
  ['was intended', 'call.intended', 5_000],
  ['was intended, hours ago', 'call.intended', 10 * HOUR],
])('an exit that %s is sent once by the next process', async (_, type, ms) => {
  const { result, statuses } = await resumeAfter(
    `runbook: leaves
dsl: 1
leaves: {position: none}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 65000}
  - close: BTC-USD
`,
    (entry) => entry.step === 'steps/2:close' && entry.type === type && JSON.stringify(entry.data).includes('POST'),
    { ms, by: 'machine' },
    { sent: true },
  );
  expect([result.outcome, statuses]).toEqual(['succeeded', ['closed', 'closed']]);
});

it('a request of the profile under way is lost with its process, and the next process can die as well', async () => {
  const { result } = await resumeAfter(
    'runbook: asks\ndsl: 1\nleaves: {position: none}\nsteps:\n  - request: {name: info}\n',
    (entry) => entry.type === 'call.intended' && entry.data.endpoint === 'request info',
    { ms: 5_000, by: 'machine' },
  );
  // The second request is denied: the bench declares none.
  expect([result.outcome, result.error?.kind]).toEqual(['failed', 'denied']);
});

describe('an order that a run was looking up when its process died', () => {
  const LOST =
    'leaves: {position: open, because: the case is about something else}\nsteps:\n  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 50000}\n';
  const provenMs = async (by: Away['by']) => {
    let lookUps = 0;
    const { result, appended } = await resumeAfter(
      `runbook: lost\ndsl: 1\n${LOST}`,
      ({ type, data }) =>
        type === 'call.settled' && Array.isArray((data as { result?: unknown }).result) && ++lookUps === 3,
      { ms: 100_000, by },
      { faults: [{ on: 'POST /orders', do: 'lost_before' }] },
    );
    expect(result.error?.kind).toBe('not_placed');
    const [resumed, absent] = ['run.resumed', 'order.moved'].map(
      (type) => appended.find((entry) => entry.type === type)?.at ?? Number.NaN,
    ) as [number, number];
    return absent - resumed;
  };

  it('is proven absent soon where the machine has counted the time meanwhile', async () => {
    expect(await provenMs('machine')).toBeLessThan(60_000);
  });

  it('and only after the whole window where the wall clock alone says how long that was: it may have been put forward', async () => {
    expect(await provenMs('wall')).toBeGreaterThan(60_000);
  });
});
