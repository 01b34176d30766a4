/** The clock of this machine beside those of the store and the venue, while an account is served. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClockWatch } from '../../src/app/schedule/clock-watch.ts';
import type { SchedulerEvents } from '../../src/app/schedule/events.ts';
import { StoreAway } from '../../src/journal/store.ts';
import { World } from './live-host.ts';

const HOUR_MS = 3_600_000;
/** Ticks of half a second between two readings: of clocks that agree, and of others. */
const [EVERY, WRONG_EVERY] = [3_600, 30];

let world: World;
/** By how much the store's clock is ahead of this machine's, ms. */
let storeAheadMs = 0;
/** How often it was read. */
let asked = 0;

beforeEach(() => {
  world = new World({ config: {} });
  [storeAheadMs, asked] = [0, 0];
});
afterEach(() => world.close());

async function watch(readClock: () => Promise<number> = async () => world.time.now() + storeAheadMs) {
  const { shared, time } = world;
  const sent: string[] = [];
  const { host } = await world.openProcess({
    shared: {
      ...shared,
      readClock: () => {
        asked += 1;
        return readClock();
      },
    },
    transport: {
      send: async ({ method, path }) => {
        sent.push(`${method} ${path}`);
        return { kind: 'failure', sent: false, message: 'away' } as never;
      },
    },
  });
  const account = { ...host.account, profile: { ...host.account.profile, clockAheadMs: 5_000 } };
  const reported: (number | undefined)[] = [];
  const events = {
    reportClock: (difference: { aheadMs: number } | undefined) => reported.push(difference?.aheadMs),
  } as unknown as SchedulerEvents;
  const clocks = new ClockWatch(account, events);
  let looks = 0;
  /** For `most` looks, a second apart. */
  const waitUntilRight = (most = 100) =>
    time.runUntil(
      clocks.waitUntilRight(() => {
        looks += 1;
        return looks > most;
      }),
    );
  const readAt = async (tick: number) => {
    clocks.readAtTick(tick);
    await time.runUntil(clocks.settled());
  };
  return { clocks, reported, sent, waitUntilRight, readAt, account };
}

describe('the clock of the store', () => {
  it.each([
    [HOUR_MS, -HOUR_MS],
    [-HOUR_MS, HOUR_MS - 1],
    // A millisecond of its own reading is not certain.
    [5_001, -5_001],
    [-5_002, 5_001],
  ])('%i ms ahead holds up what is due, and is reported', async (aheadMs, difference) => {
    storeAheadMs = aheadMs;
    const { clocks, reported, waitUntilRight } = await watch();
    const begun = world.time.monotonic();
    // Not the same, and near enough.
    world.time.at(world.time.now() + 20_000, () => {
      storeAheadMs = 2_000;
    });
    await waitUntilRight();
    expect(reported).toEqual([difference, undefined]);
    // Read again each 15 s: the second of these finds that they agree.
    expect([world.time.monotonic() - begun, asked, clocks.isWrong]).toEqual([30_000, 3, false]);
  });

  it.each([5_000, -5_001, 0])('%i ms ahead agrees', async (aheadMs) => {
    storeAheadMs = aheadMs;
    const { clocks, reported, waitUntilRight } = await watch();
    await waitUntilRight();
    expect([clocks.check(), reported, asked]).toEqual([true, [], 1]);
  });

  it('is read each half an hour, and each 15 s while it differs', async () => {
    const { clocks, readAt } = await watch();
    for (const tick of [1, WRONG_EVERY, EVERY - 1]) await readAt(tick);
    expect(asked).toBe(0);
    storeAheadMs = HOUR_MS;
    await readAt(EVERY);
    expect([asked, clocks.check()]).toEqual([1, false]);
    await readAt(EVERY + 1);
    expect(asked).toBe(1);
    storeAheadMs = 0;
    await readAt(EVERY + WRONG_EVERY);
    expect([asked, clocks.check()]).toEqual([2, true]);
    await readAt(EVERY + 2 * WRONG_EVERY);
    expect(asked).toBe(2);
  });

  it('is not asked again while an answer is awaited', async () => {
    let answer = (_at: number) => {};
    const { clocks } = await watch(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    clocks.readAtTick(EVERY);
    clocks.readAtTick(2 * EVERY);
    expect(asked).toBe(1);
    answer(world.time.now());
    await world.time.runUntil(clocks.settled());
    clocks.readAtTick(3 * EVERY);
    expect(asked).toBe(2);
  });

  it('that does not answer is not compared, and the venue is asked all the same', async () => {
    const { clocks, sent, readAt } = await watch(() => Promise.reject(new StoreAway('away')));
    await readAt(EVERY);
    expect([sent, clocks.aheadSeconds, clocks.check()]).toEqual([['GET /account'], undefined, true]);
  });

  it('is read although the venue has shown its own, which is not asked again', async () => {
    storeAheadMs = HOUR_MS;
    const { account, sent, waitUntilRight, clocks } = await watch();
    const at = world.time.monotonic();
    account.clocks.note('the venue', { fromMs: at, untilMs: at }, world.time.now(), 1_000);
    await waitUntilRight(3);
    expect([sent, clocks.isWrong, clocks.aheadSeconds]).toEqual([[], true, -HOUR_MS / 1000]);
  });
});
