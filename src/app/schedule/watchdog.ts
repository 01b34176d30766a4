/**
 * Reports a blocked event loop while it is blocked, from a thread of its own. A blocked loop renews no lease and sends no
 * heartbeat to the deadman switch, and the log must show the reason.
 */
import { Worker } from 'node:worker_threads';
import type { Metronome, Timer } from '../../base/clock.ts';

export interface WatchdogOptions {
  readonly clock: Metronome & { monotonic(): number };
  /** A pause of the loop longer than this is a stall, ms. */
  readonly stallMs: number;
  /** Called when the loop continues, with the length of the stall, ms. */
  readonly onStall: (ms: number) => void;
}

/** Interval at which the loop shows that it is alive, ms. */
const SIGNAL_MS = 250;

/**
 * Waits for the next sign of life, and writes a log line when none comes in time. Cell 0 counts the signs, cell 1 is set to end
 * the watch. Written as text, because the bundle has no file for this thread alone.
 */
const WATCH = `
const { workerData: { cells, stallMs } } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const signs = new Int32Array(cells);
while (Atomics.load(signs, 1) === 0) {
  const seen = Atomics.load(signs, 0);
  if (Atomics.wait(signs, 0, seen, stallMs) !== 'timed-out') continue;
  const line = { level: 60, time: Date.now(), pid: process.pid, event: 'loop_stalled', stallMs,
    msg: 'the event loop has been blocked for ' + stallMs + ' ms: no lease is renewed and no heartbeat is sent meanwhile' };
  // A closed log must not stop this thread.
  try { writeSync(2, JSON.stringify(line) + '\\n'); } catch {}
  Atomics.wait(signs, 0, seen);
}`;

export class Watchdog {
  private readonly options: WatchdogOptions;
  private readonly cells = new Int32Array(new SharedArrayBuffer(8));
  private readonly worker: Worker;
  private timer: Timer | undefined;
  private signalledMs: number;

  constructor(options: WatchdogOptions) {
    this.options = options;
    this.signalledMs = options.clock.monotonic();
    const workerData = { cells: this.cells.buffer, stallMs: options.stallMs };
    this.worker = new Worker(WATCH, { eval: true, workerData, env: {} });
    this.worker.unref();
    this.signal();
  }

  async stop(): Promise<void> {
    this.timer?.cancel();
    Atomics.store(this.cells, 1, 1);
    this.wake();
    await this.worker.terminate();
  }

  private signal(): void {
    const { clock, stallMs, onStall: stalled } = this.options;
    const now = clock.monotonic();
    if (now - this.signalledMs > stallMs) stalled(Math.round(now - this.signalledMs));
    this.signalledMs = now;
    this.wake();
    this.timer = clock.after(SIGNAL_MS, () => this.signal());
  }

  private wake(): void {
    Atomics.add(this.cells, 0, 1);
    Atomics.notify(this.cells, 0);
  }
}
