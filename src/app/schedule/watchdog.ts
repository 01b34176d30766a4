/**
 * Says when the event loop stalls, while it stalls: from a thread of its own, since the loop itself cannot. What stalls
 * renews no lease and beats for no deadman switch, and whoever reads the log afterwards must find the reason.
 */
import { Worker } from 'node:worker_threads';
import type { Metronome, Timer } from '../../base/clock.ts';

export interface WatchdogOptions {
  readonly clock: Metronome & { monotonic(): number };
  /** A pause of the loop longer than this is a stall, ms. */
  readonly stallMs: number;
  /** Told when the loop goes on again. */
  readonly stalled: (ms: number) => void;
}

/** The loop shows that it lives this often, ms. */
const BEAT_MS = 250;

/**
 * Waits for the next beat, and speaks up when none comes. Cell 0 counts beats, cell 1 is set when the watch is over. Written
 * as text: the program is bundled into files of which none is this thread's alone.
 */
const WATCH = `
const { workerData: { cells, stallMs } } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const beats = new Int32Array(cells);
while (Atomics.load(beats, 1) === 0) {
  const seen = Atomics.load(beats, 0);
  if (Atomics.wait(beats, 0, seen, stallMs) !== 'timed-out') continue;
  const line = { level: 60, time: Date.now(), pid: process.pid, event: 'loop_stalled', stallMs,
    msg: 'the event loop has stood still for ' + stallMs + ' ms: no lease is renewed and no deadman switch is kept meanwhile' };
  // A reader of the log that has gone is no reason for the runs to be left where they stand.
  try { writeSync(2, JSON.stringify(line) + '\\n'); } catch {}
  Atomics.wait(beats, 0, seen);
}`;

export class Watchdog {
  private readonly options: WatchdogOptions;
  private readonly beats = new Int32Array(new SharedArrayBuffer(8));
  private readonly worker: Worker;
  private timer: Timer | undefined;
  private beatAt: number;

  constructor(options: WatchdogOptions) {
    this.options = options;
    this.beatAt = options.clock.monotonic();
    const workerData = { cells: this.beats.buffer, stallMs: options.stallMs };
    this.worker = new Worker(WATCH, { eval: true, workerData, env: {} });
    this.worker.unref();
    this.beat();
  }

  async stop(): Promise<void> {
    this.timer?.cancel();
    Atomics.store(this.beats, 1, 1);
    this.wake();
    await this.worker.terminate();
  }

  private beat(): void {
    const { clock, stallMs, stalled } = this.options;
    const now = clock.monotonic();
    if (now - this.beatAt > stallMs) stalled(Math.round(now - this.beatAt));
    this.beatAt = now;
    this.wake();
    this.timer = clock.after(BEAT_MS, () => this.beat());
  }

  private wake(): void {
    Atomics.add(this.beats, 0, 1);
    Atomics.notify(this.beats, 0);
  }
}
