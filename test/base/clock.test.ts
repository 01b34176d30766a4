import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SystemClock, VirtualClock } from '../../src/base/clock.ts';

const EIGHT = Date.parse('2026-01-05T08:00:00Z');

describe('real time, as the system tells it', () => {
  beforeEach(
    () => void vi.useFakeTimers({ now: EIGHT, toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] }),
  );
  afterEach(() => void vi.useRealTimers());

  it('counts pauses on the clock that never jumps, and instants on the wall', async () => {
    const clock = new SystemClock();
    const told: string[] = [];
    clock.at(EIGHT + 60_000, () => told.push('instant'));
    clock.after(60_000, () => told.push('pause'));
    vi.setSystemTime(EIGHT - 3_600_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual(['pause']);
    await vi.advanceTimersByTimeAsync(3_599_999);
    expect(told).toEqual(['pause']);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual(['pause', 'instant']);
  });

  it('sees a clock put forward within half a minute', async () => {
    const clock = new SystemClock();
    const told: string[] = [];
    clock.at(EIGHT + 3_600_000, () => told.push('instant'));
    clock.after(3_600_000, () => told.push('pause'));
    vi.setSystemTime(EIGHT + 7_200_000);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(told).toEqual(['instant']);
  });

  it('takes pauses back', async () => {
    const clock = new SystemClock();
    const told: string[] = [];
    const timer = clock.after(1_000, () => told.push('first'));
    clock.after(2_000, () => told.push('second'));
    timer.cancel();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual(['second']);
  });
});

describe('virtual time', () => {
  it('counts pauses and instants alike, in the order they were asked for', async () => {
    const clock = new VirtualClock(EIGHT);
    const told: string[] = [];
    clock.after(1_000, () => told.push(`pause ${clock.now() - EIGHT}`));
    clock.at(EIGHT + 1_000, () => told.push(`instant ${clock.now() - EIGHT}`));
    await clock.advanceTo(EIGHT + 5_000);
    expect(told).toEqual(['pause 1000', 'instant 1000']);
  });
});
