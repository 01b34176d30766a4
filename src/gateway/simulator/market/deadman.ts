/**
 * Simulates the deadman switch with its four rules (venue-api.md, Deadman switch). It is armed per market and renewed for the
 * account: a qualifying request renews every armed switch. A switch that fires cancels all open orders of all markets and is
 * disarmed; orders.ts does the cancelling.
 */
import type { Clock, Timer } from '../../../base/clock.ts';

export interface ArmedSwitch {
  readonly marketId: string;
  readonly timeoutMs: number;
}

/** An event of the switch, for the books. */
export interface DeadmanEvent {
  readonly at: number;
  readonly event: 'armed' | 'renewed' | 'disarmed' | 'fired';
  readonly marketId: string;
  readonly timeoutMs: number;
}

export class DeadmanSwitch {
  readonly events: DeadmanEvent[] = [];
  private readonly clock: Clock;
  private readonly firingDelayMs: number;
  private readonly fire: (at: number) => void;
  private readonly armed = new Map<string, ArmedSwitch & { timer: Timer }>();
  private readonly keepsRenewals: boolean;
  private activityAt: number;

  /** `keepsRenewals`: whether the books have them; a switch of a month is renewed 170,000 times. */
  constructor(clock: Clock, firingDelayMs: number, fire: (at: number) => void, keepsRenewals: boolean) {
    this.clock = clock;
    this.keepsRenewals = keepsRenewals;
    this.firingDelayMs = firingDelayMs;
    this.fire = fire;
    this.activityAt = clock.now();
  }

  /** Epoch ms of the last qualifying request. */
  get lastActivityAt(): number {
    return this.activityAt;
  }

  /** Rule 1: notes that a qualifying request of the account arrived. */
  noteActivity(at: number): void {
    this.activityAt = at;
  }

  arm(marketId: string, timeoutMs: number, at: number): void {
    const before = this.armed.get(marketId);
    before?.timer.cancel();
    if (before === undefined) this.events.push({ at, event: 'armed', marketId, timeoutMs });
    else if (this.keepsRenewals) this.events.push({ at, event: 'renewed', marketId, timeoutMs });
    this.watch({ marketId, timeoutMs }, at + timeoutMs);
  }

  /** Rule 4. */
  disarm(marketId: string, at: number): void {
    const before = this.armed.get(marketId);
    if (before === undefined) return;
    before.timer.cancel();
    this.armed.delete(marketId);
    this.events.push({ at, event: 'disarmed', marketId, timeoutMs: before.timeoutMs });
  }

  read(marketId: string): ArmedSwitch | undefined {
    return this.armed.get(marketId);
  }

  listArmed(): readonly ArmedSwitch[] {
    return [...this.armed.values()].map(({ marketId, timeoutMs }) => ({ marketId, timeoutMs }));
  }

  /** Sets one timer for the due time. Activity in between does not move it; the timer then sets the next one. */
  private watch(armed: ArmedSwitch, dueAt: number): void {
    const timer = this.clock.at(dueAt, () => {
      const due = this.activityAt + armed.timeoutMs;
      if (due > dueAt) {
        this.watch(armed, due);
        return;
      }
      this.armed.delete(armed.marketId);
      this.events.push({ at: dueAt, event: 'fired', ...armed });
      // "Immediately" (venue-api.md, rule 2); firing can take seconds (venue-notes.md, surprise 7).
      if (this.firingDelayMs === 0) this.fire(dueAt);
      else this.clock.at(dueAt + this.firingDelayMs, () => this.fire(dueAt + this.firingDelayMs));
    });
    this.armed.set(armed.marketId, { ...armed, timer });
  }
}
