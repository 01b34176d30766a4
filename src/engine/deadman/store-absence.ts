/**
 * The time in which the store does not answer: what waits for it waits on purpose, as long as the store is asked again. Behind
 * that time nothing waits any more, and a run that hangs loses its heartbeats.
 */
import type { Clock } from '../../base/clock.ts';
import { createSignal } from '../waiting.ts';
import type { Progress } from './progress.ts';

/** What waits for the store, among the attempts whose waits are progress. */
const STORE = 'store';
/** How long a store that does not answer counts as a wait and not as a hang, ms (PATIENCE_MS in app/run/live-assembly.ts). */
const SUSPENDED_MS = 60_000;

export class StoreAbsence {
  private readonly clock: Clock;
  private readonly progress: Progress;
  /** While it lasts: what waits for its end, and how it ends. */
  private current: { readonly over: Promise<void>; readonly end: () => void } | undefined;

  constructor(clock: Clock, progress: Progress) {
    this.clock = clock;
    this.progress = progress;
  }

  get isUnderWay(): boolean {
    return this.current !== undefined;
  }

  /** Begins it, or its time anew. */
  begin(): void {
    const until = this.clock.now() + SUSPENDED_MS;
    this.progress.extendUntil(STORE, until);
    this.current?.end();
    const { promise: over, resolve } = createSignal<void>();
    const timer = this.clock.at(until, () => this.finish());
    const end = () => {
      timer.cancel();
      resolve();
    };
    this.current = { over, end };
  }

  /** The store answers again, or another process continues the run. */
  end(): void {
    this.progress.end(STORE);
    this.finish();
  }

  /** Waits for its end as long as `isNeeded`. */
  async wait(isNeeded: () => boolean): Promise<void> {
    while (this.current !== undefined && isNeeded()) await this.current.over;
  }

  private finish(): void {
    this.current?.end();
    this.current = undefined;
  }
}
