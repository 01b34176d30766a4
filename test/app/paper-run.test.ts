/** A run on paper in virtual time: the limits of the profile hold for it, people answer it, and the kill switch ends it. */
import { describe, expect, it } from 'vitest';
import { runOnPaper } from '../../src/app/paper/paper-run.ts';
import { makeVolatileStore } from '../../src/app/stores/location.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { type DecimalString, decimal } from '../../src/base/decimal.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { Shared } from '../../src/journal/shared/shared.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { loadedFrom } from '../engine/stage.ts';

const START = Date.UTC(2026, 0, 5, 8);
const RUN = '20260105T080000000-one-paper-0123456789';
const PROFILE: Profile = {
  ...SIMULATED_PROFILE,
  account: 'main',
  markets: { 'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001' } },
};
const KEY = `${PROFILE.baseUrl} main`;
const head = `runbook: one
dsl: 1
limits: {markets: [BTC-USD]}
leaves: {position: open, because: the case is about something else}
steps:
`;
const ORDER = `${head}  - place: {type: limit, market: BTC-USD, side: long, size: 1, price: 50000}
  - wait: 1h
`;
const ASKS = `${head}  - id: ok
    approve: {ask: "on?", by: [desk], within: 1h}
`;

/** Plays a run; `begun` is called once it has begun. */
async function play(text: string, limits: Profile['limits'], begun: (shared: Shared, clock: VirtualClock) => unknown) {
  const clock = new VirtualClock(START);
  const stores = makeVolatileStore(() => clock.monotonic());
  const [store, shared] = [await stores.openJournal(), await stores.openShared()];
  await shared.killSwitch.engage({ scope: KEY, by: 'eve', reason: 'of another day', at: START - 2 });
  await shared.killSwitch.release(KEY, 'eve', START - 1);
  const entries: Entry[] = [];
  const price = { name: 'mid', key: 'BTC-USD', value: '64000', at: START } as const;
  const result = await clock.runUntil(
    runOnPaper({
      loaded: loadedFrom({ file: 'one.yaml', text }),
      inputs: {},
      profile: { ...PROFILE, limits },
      run: RUN,
      seed: 1,
      store,
      clock,
      quotes: { feed: 'mid', quotes: { read: async () => price, readPrice: async () => decimal('64000') } },
      shared,
      onBegin: () => void begun(shared, clock),
      onEntry: (entry) => void entries.push(entry),
      onCrash: (error) => expect.unreachable(String(error)),
    }),
  );
  return { result, entries, took: clock.now() - START };
}

describe('a run on paper', () => {
  it('is held to the limits of the profile', async () => {
    const { result, entries } = await play(ORDER, { maxOrderSize: '0.5' as DecimalString }, () => {});
    expect([result.outcome, result.error?.kind]).toEqual(['failed', 'denied']);
    expect(entries.some(({ type }) => type === 'call.attempted')).toBe(false);
  });

  it('takes the answer of a person', async () => {
    const { result, entries, took } = await play(ASKS, {}, async (shared, clock) => {
      clock.after(10_000, () => {
        void shared.mailbox.post({ run: RUN, command: 'approve', by: 'ada', at: clock.now(), step: 'ok' });
      });
    });
    expect(result.outcome).toBe('succeeded');
    expect(entries.filter(({ type }) => type === 'operator.acted')).toMatchObject([
      { actor: 'human:ada', data: { command: 'approve', step: 'ok' } },
    ]);
    expect(took).toBeLessThan(12_000);
  });

  it('is ended by the kill switch of its account, with its orders', async () => {
    const { result, entries, took } = await play(ORDER, {}, (shared, clock) => {
      clock.after(10_000, () => {
        void shared.killSwitch.engage({ scope: KEY, by: 'ada', reason: 'enough', at: clock.now() });
      });
    });
    expect(result.outcome).not.toBe('succeeded');
    expect(entries.filter(({ type }) => type === 'operator.acted')).toMatchObject([{ data: { command: 'kill' } }]);
    const endpoints = entries.flatMap((entry) => (entry.type === 'call.intended' ? [entry.data.endpoint] : []));
    expect(endpoints.filter((name) => !name.startsWith('GET'))).toEqual([
      'POST /orders',
      expect.stringMatching(/^DELETE \/orders/),
    ]);
    expect(took).toBeLessThan(60_000);
  });

  it('is ended by a kill that was released before it could be read', async () => {
    const { result, entries } = await play(ORDER, {}, (shared, clock) => {
      clock.after(10_000, () => {
        void shared.killSwitch.engage({ scope: KEY, by: 'ada', reason: 'enough', at: clock.now() });
        void shared.killSwitch.release(KEY, 'bob', clock.now());
      });
    });
    expect(result.outcome).not.toBe('succeeded');
    expect(entries.filter(({ type }) => type === 'operator.acted')).toMatchObject([
      { data: { command: 'kill', by: 'ada' } },
    ]);
  });
});
