import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type MachineTime, SystemClock, VirtualClock } from '../../src/base/clock.ts';
import { RunClock } from '../../src/base/run-clock.ts';

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

  it('runs what a turn asks for at once at the time of that turn, however long the turn took', async () => {
    let passed = 0;
    const machine = { wall: () => EIGHT + passed, monotonic: () => passed, sinceBoot: () => passed };
    const clock = new SystemClock(machine);
    const told: [string, number, number][] = [];
    const note = (what: string) => told.push([what, clock.now() - EIGHT, clock.elapsed()]);
    clock.arrive(() => {
      clock.at(clock.now() - 20, () => note('instant'));
      clock.after(0, () => note('pause'));
      passed += 60;
    });
    clock.arrive(() => note('arrival'));
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual([
      ['instant', 0, 0],
      ['pause', 0, 0],
      ['arrival', 60, 60],
    ]);
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

describe('a machine whose clocks part', () => {
  beforeEach(
    () => void vi.useFakeTimers({ now: EIGHT, toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] }),
  );
  afterEach(() => void vi.useRealTimers());

  function machine() {
    const state = { putMs: 0 };
    const time: MachineTime = {
      wall: () => Date.now() + state.putMs,
      monotonic: () => performance.now(),
      sinceBoot: () => performance.now() + 500_000,
    };
    return { state, clock: new SystemClock(time) };
  }

  it('tells that the clock on the wall was put, once, and takes drift for none', async () => {
    const { state, clock } = machine();
    const told: number[] = [];
    clock.onWallMoved(() => told.push(clock.now() - EIGHT));
    clock.after(200_000, () => {});
    state.putMs = 1_500;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([]);
    state.putMs = -3_600_000;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([90_000 - 3_600_000]);
  });

  it('counts the time that it slept through as passed, and as no jump', async () => {
    const asleep = { ms: 0 };
    const clock = new SystemClock({
      wall: () => Date.now() + asleep.ms,
      monotonic: () => performance.now(),
      sinceBoot: () => performance.now() + 500_000 + asleep.ms,
    });
    const told: string[] = [];
    clock.onWallMoved(() => told.push('put'));
    clock.after(660_000, () => told.push('pause'));
    asleep.ms = 600_000;
    await vi.advanceTimersByTimeAsync(59_000);
    expect([told, Math.round(clock.monotonic() - performance.now())]).toEqual([[], 500_000 + 600_000]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told).toEqual(['pause']);
  });

  it('leaves the time of a run as it was, with the difference told apart', async () => {
    const { state, clock } = machine();
    const run = new RunClock(clock, EIGHT);
    const told: string[] = [];
    run.at(EIGHT + 20_000, () => told.push(`instant ${run.now() - EIGHT}`));
    run.at(EIGHT + 40_000, () => told.push(`later ${run.now() - EIGHT}`));
    state.putMs = -3_600_000;
    await vi.advanceTimersByTimeAsync(20_000);
    state.putMs = 7_200_000;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(told).toEqual(['instant 20000', 'later 40000']);
    expect(run.wallAheadMs()).toBe(7_200_000);
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
