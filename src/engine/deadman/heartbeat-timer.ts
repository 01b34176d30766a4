/**
 * Schedules heartbeats and readings of the deadman switch with one timer: for the next heartbeat while the run makes progress,
 * for the next reading between two heartbeats, and for the instant from which the switch counts as fired.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { type DeadmanState, findArmedUntil, findRenewalTime, limitDeadmanAnswerMs } from '../../venue/deadman.ts';
import type { Progress } from './progress.ts';

export class HeartbeatTimer {
  private readonly clock: Clock;
  private readonly progress: Progress;
  private readonly wake: (at: number) => void;
  private timer: Timer | undefined;
  private timerAt = 0;
  /** When the switch is to be read back; undefined before it is armed and during a reading. */
  private readDueAt: number | undefined;
  private isStopped = false;

  /** `wake` is called with the instant for which the timer was set. */
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
    this.clear();
  }

  /** Forgets the instant that it was set for. */
  clear(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  setReadDue(at: number | undefined): void {
    this.readDueAt = at;
  }

  schedule(state: DeadmanState): void {
    if (this.isStopped) return;
    const due = findRenewalTime(state);
    const until = findArmedUntil(state);
    // Each step, and each answer, asks anew; hardly any of them leaves an instant before the one that is set.
    const earliest = Math.min(due ?? Infinity, until === undefined ? Infinity : until + 1, this.readDueAt ?? Infinity);
    if (this.timer !== undefined && this.timerAt <= earliest) return;
    const heartbeatAt =
      due !== undefined && this.mayRenewAt(due, state) ? due : until === undefined ? undefined : until + 1;
    const readAt = this.readAt(state);
    const next = readAt === undefined || (heartbeatAt !== undefined && heartbeatAt < readAt) ? heartbeatAt : readAt;
    // Requests keep postponing the heartbeat: a timer that wakes too early and checks again is cheaper than a new one each time.
    if (next === undefined || (this.timer !== undefined && this.timerAt <= next)) return;
    this.timer?.cancel();
    this.timerAt = next;
    this.timer = this.clock.at(next, () => {
      this.timer = undefined;
      this.wake(this.timerAt);
    });
  }

  /**
   * What was due at the instant for which the timer was set. What came due since does not count, however late the timer runs:
   * a replay may run the timer later than the live run did, and must reach the same sequence of events.
   */
  findDue(at: number, state: DeadmanState): 'heartbeat' | 'reading' | undefined {
    if (this.isStopped) return undefined;
    const due = findRenewalTime(state);
    if (due !== undefined && due <= at && this.mayRenewAt(due, state)) return 'heartbeat';
    return (this.readAt(state) ?? at + 1) <= at ? 'reading' : undefined;
  }

  /**
   * When the switch is to be read back: between two heartbeats, so that a reading which hangs is given up before the next
   * heartbeat is due. Undefined where no such instant is known; the next answer sets one.
   */
  private readAt(state: DeadmanState): number | undefined {
    const { readDueAt } = this;
    if (readDueAt === undefined || state.status !== 'armed' || state.inFlight > 0) return undefined;
    const at = Math.max(readDueAt, this.clock.now());
    const due = findRenewalTime(state);
    const fits = due === undefined || at + computeReadAnswerMs(state) <= due;
    return fits && this.mayRenewAt(at, state) ? at : undefined;
  }

  private mayRenewAt(due: number, { timeoutMs }: DeadmanState): boolean {
    return due <= this.progress.countsUntil(timeoutMs);
  }
}

/** How long a reading between two heartbeats may take, ms: half of the pause between them. */
export function computeReadAnswerMs({ keepAliveMs, timeoutMs }: DeadmanState): number {
  return keepAliveMs === 0 ? limitDeadmanAnswerMs(timeoutMs) : Math.max(1, Math.floor(keepAliveMs / 2));
}
