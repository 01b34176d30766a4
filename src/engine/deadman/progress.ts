/**
 * Measures whether a run makes progress, without which the deadman switch is not renewed: a step has begun or ended, a request
 * of a step was answered, or a step is within its own time or waits for tokens. Silence counts as a hang after a while.
 */

import type { Clock } from '../../base/clock.ts';
import { PassingMap } from '../../base/passing-map.ts';

/** A step without a timeout counts as progress for this many deadman timeouts after the last sign of progress. */
const ALLOWANCE = 2;
/** The least such time, ms: waiting for an answer that is lost takes half of it, and that is no hang yet. */
const LEAST_ALLOWANCE_MS = 20_000;

/** For how long a switch with this timeout is renewed without progress, ms. */
export function computeAllowance(timeoutMs: number): number {
  return Math.max(ALLOWANCE * timeoutMs, LEAST_ALLOWANCE_MS);
}

export class Progress {
  private readonly clock: Clock;
  private lastAt: number;
  /** By attempt, until when its deliberate wait lasts (epoch ms). */
  private readonly waits = new PassingMap<string, number>();

  constructor(clock: Clock) {
    this.clock = clock;
    this.lastAt = clock.now();
  }

  /** Records progress now. */
  record(): void {
    this.lastAt = this.clock.now();
  }

  /** Records that an attempt is within its time, or waits on purpose, until then (epoch ms). */
  extendUntil(path: string, until: number): void {
    const now = this.clock.now();
    const over: string[] = [];
    for (const [each, end] of this.waits) if (end < now) over.push(each);
    for (const each of over) this.waits.delete(each);
    this.waits.set(path, until);
  }

  /** Ends a wait without progress. */
  drop(path: string): void {
    this.waits.delete(path);
  }

  end(path: string): void {
    this.drop(path);
    this.record();
  }

  /** Until when a switch with this timeout may be renewed (epoch ms), by the progress so far. */
  countsUntil(timeoutMs: number): number {
    let until = this.lastAt + computeAllowance(timeoutMs);
    for (const over of this.waits.values()) until = Math.max(until, over);
    return until;
  }
}
