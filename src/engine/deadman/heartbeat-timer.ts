/**
 * When the deadman switch is renewed and read back: one timer, for the next heartbeat while the run makes progress, the next
 * reading between two of them, and the moment at which the switch must be taken for fired.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { type DeadmanState, deadmanAnswerMs, renewDueAt, standsUntil } from '../../venue/deadman.ts';
import type { Progress } from './progress.ts';

export class HeartbeatTimer {
  private readonly clock: Clock;
  private readonly progress: Progress;
  private readonly wake: (at: number) => void;
  private timer: Timer | undefined;
  private timerAt = 0;
  /** When the switch is to be read back; undefined before it was armed, and while that is done. */
  private readDueAt: number | undefined;
  private isStopped = false;

  /** `wake` is handed the time that the timer was set for. */
  constructor(clock: Clock, progress: Progress, wake: (at: number) => void) {
    this.clock = clock;
    this.progress = progress;
    this.wake = wake;
  }

  start(): void {
    this.isStopped = false;
  }

  stop(): void {
    this.isStopped = true;
    this.timer?.cancel();
    this.timer = undefined;
  }

  readAfter(at: number | undefined): void {
    this.readDueAt = at;
  }

  schedule(state: DeadmanState): void {
    if (this.isStopped) return;
    const due = renewDueAt(state);
    const until = standsUntil(state);
    const beatAt = due !== undefined && this.mayRenewAt(due, state) ? due : until === undefined ? undefined : until + 1;
    const readAt = this.readAt(state);
    const next = readAt === undefined || (beatAt !== undefined && beatAt < readAt) ? beatAt : readAt;
    // Requests put the beat off all the time: a timer that wakes too early looks again, and is cheaper than a new one each time.
    if (next === undefined || (this.timer !== undefined && this.timerAt <= next)) return;
    this.timer?.cancel();
    this.timerAt = next;
    this.timer = this.clock.at(next, () => {
      this.timer = undefined;
      this.wake(this.timerAt);
    });
  }

  /**
   * What is due by the time that the timer was set for. However late the timer runs, what came due since is not: a replay,
   * where nothing tells of it, may run it later than it ran then, and must come to the same order of things.
   */
  dueBy(at: number, state: DeadmanState): 'beat' | 'reading' | undefined {
    if (this.isStopped) return undefined;
    const due = renewDueAt(state);
    if (due !== undefined && due <= at && this.mayRenewAt(due, state)) return 'beat';
    return (this.readAt(state) ?? at + 1) <= at ? 'reading' : undefined;
  }

  /**
   * When the switch is to be read back, as its orders are: between two beats, so that one which hangs is given up before the next
   * is due. Undefined where no such time is known: the next answer leads to one.
   */
  private readAt(state: DeadmanState): number | undefined {
    const { readDueAt } = this;
    if (readDueAt === undefined || state.status !== 'armed' || state.inFlight > 0) return undefined;
    const at = Math.max(readDueAt, this.clock.now());
    const due = renewDueAt(state);
    const fits = due === undefined || at + readAnswerMs(state) <= due;
    return fits && this.mayRenewAt(at, state) ? at : undefined;
  }

  private mayRenewAt(due: number, { timeoutMs }: DeadmanState): boolean {
    return due <= this.progress.countsUntil(timeoutMs);
  }
}

/** How long a reading between two beats may take, ms: half of the pause between them. */
export function readAnswerMs({ keepAliveMs, timeoutMs }: DeadmanState): number {
  return keepAliveMs === 0 ? deadmanAnswerMs(timeoutMs) : Math.max(1, Math.floor(keepAliveMs / 2));
}
