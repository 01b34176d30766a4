import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type MachineTime, SystemClock, VirtualClock } from '../../src/base/clock.ts';
import { RunClock } from '../../src/base/run-clock.ts';

const EIGHT = Date.parse('2026-01-05T08:00:00Z');

describe('system time', () => {
  beforeEach(
    () => void vi.useFakeTimers({ now: EIGHT, toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] }),
  );
  afterEach(() => void vi.useRealTimers());

  it('measures pauses on the monotonic clock and instants on the wall clock', async () => {
    const clock = new SystemClock();
    const seen: string[] = [];
    clock.at(EIGHT + 60_000, () => seen.push('instant'));
    clock.after(60_000, () => seen.push('pause'));
    vi.setSystemTime(EIGHT - 3_600_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toEqual(['pause']);
    await vi.advanceTimersByTimeAsync(3_599_999);
    expect(seen).toEqual(['pause']);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual(['pause', 'instant']);
  });

  it('notices a clock that was put forward within 30 s', async () => {
    const clock = new SystemClock();
    const seen: string[] = [];
    clock.at(EIGHT + 3_600_000, () => seen.push('instant'));
    clock.after(3_600_000, () => seen.push('pause'));
    vi.setSystemTime(EIGHT + 7_200_000);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(seen).toEqual(['instant']);
  });

  it('runs a timer that a turn sets for at once at the time of that turn, however long the turn took', async () => {
    let passed = 0;
    const machine = { wall: () => EIGHT + passed, monotonic: () => passed, sinceBoot: () => passed };
    const clock = new SystemClock(machine);
    const seen: [string, number, number][] = [];
    const note = (what: string) => seen.push([what, clock.now() - EIGHT, clock.elapsed()]);
    clock.arrive(() => {
      clock.at(clock.now() - 20, () => note('instant'));
      clock.after(0, () => note('pause'));
      passed += 60;
    });
    clock.arrive(() => note('arrival'));
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([
      ['instant', 0, 0],
      ['pause', 0, 0],
      ['arrival', 60, 60],
    ]);
  });

  it('runs timers that are due together at one time, however long the process stood still between them', async () => {
    let passed = 0;
    const machine = { wall: () => EIGHT + passed, monotonic: () => passed, sinceBoot: () => passed };
    const clock = new SystemClock(machine);
    const seen: [number, number][] = [];
    const note = () => seen.push([clock.now() - EIGHT, clock.elapsed()]);
    clock.after(0, () => {
      note();
      passed += 6000;
    });
    clock.after(0, note);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('cancels pauses', async () => {
    const clock = new SystemClock();
    const seen: string[] = [];
    const timer = clock.after(1_000, () => seen.push('first'));
    clock.after(2_000, () => seen.push('second'));
    timer.cancel();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toEqual(['second']);
  });
});

describe('a machine whose clocks drift apart', () => {
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

  it('reports an adjusted wall clock once, and does not report drift', async () => {
    const { state, clock } = machine();
    const seen: number[] = [];
    clock.onWallMoved(() => seen.push(clock.now() - EIGHT));
    clock.after(200_000, () => {});
    state.putMs = 1_500;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toEqual([]);
    state.putMs = -3_600_000;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toEqual([90_000 - 3_600_000]);
  });

  it('counts time that it slept through as elapsed, not as a jump', async () => {
    const asleep = { ms: 0 };
    const clock = new SystemClock({
      wall: () => Date.now() + asleep.ms,
      monotonic: () => performance.now(),
      sinceBoot: () => performance.now() + 500_000 + asleep.ms,
    });
    const seen: string[] = [];
    clock.onWallMoved(() => seen.push('put'));
    clock.after(660_000, () => seen.push('pause'));
    asleep.ms = 600_000;
    await vi.advanceTimersByTimeAsync(59_000);
    expect([seen, Math.round(clock.monotonic() - performance.now())]).toEqual([[], 500_000 + 600_000]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen).toEqual(['pause']);
  });

  it('does not change the time of a run, and reports the difference separately', async () => {
    const { state, clock } = machine();
    const run = new RunClock(clock, EIGHT);
    const seen: string[] = [];
    run.at(EIGHT + 20_000, () => seen.push(`instant ${run.now() - EIGHT}`));
    run.at(EIGHT + 40_000, () => seen.push(`later ${run.now() - EIGHT}`));
    state.putMs = -3_600_000;
    await vi.advanceTimersByTimeAsync(20_000);
    state.putMs = 7_200_000;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(seen).toEqual(['instant 20000', 'later 40000']);
    expect(run.wallAheadMs()).toBe(7_200_000);
  });
});

describe('virtual time', () => {
  it('waits for promises where it is asked in the turn of a socket or a timer, before any promise has run', async () => {
    const clock = new VirtualClock(EIGHT, { promisesAlone: true });
    const work = async () => {
      for (let hop = 0; hop < 5; hop += 1) await Promise.resolve();
      return clock.now();
    };
    const ended = new Promise((resolve, reject) => setImmediate(() => clock.runUntil(work()).then(resolve, reject)));
    expect(await ended).toBe(EIGHT);
  });

  it('runs pauses and instants alike, in the order they were set', async () => {
    const clock = new VirtualClock(EIGHT);
    const seen: string[] = [];
    clock.after(1_000, () => seen.push(`pause ${clock.now() - EIGHT}`));
    clock.at(EIGHT + 1_000, () => seen.push(`instant ${clock.now() - EIGHT}`));
    await clock.advanceTo(EIGHT + 5_000);
    expect(seen).toEqual(['pause 1000', 'instant 1000']);
  });
});

it('waits for promises also where it is started directly in the callback of an event', async () => {
  const clock = new VirtualClock(0, { promisesAlone: true });
  const work = async () => {
    for (let count = 0; count < 5; count += 1) await undefined;
    await new Promise<void>((resolve) => void clock.at(7, resolve));
    return clock.now();
  };
  const ended = new Promise<number>((resolve, reject) => {
    setImmediate(() => void clock.runUntil(work()).then(resolve, reject));
  });
  await expect(ended).resolves.toBe(7);
});
