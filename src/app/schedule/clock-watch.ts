/**
 * Compares the clock of this machine with those of the venue and of the store while an account is served: schedules that follow a wrong
 * clock start at the wrong time.
 */
import { pause } from '../../base/clock.ts';
import { ignoreStore } from '../../journal/store.ts';
import type { Account } from '../account/account.ts';
import { sendOnce } from '../account/one-request.ts';
import type { SchedulerEvents } from './events.ts';

/** Interval for reading the clocks of venue and store, in ticks: monotonic time carries a reading further. */
const READ_EVERY = 3_600;
/** The same while they differ: 15 s, also before the first look, which waits in seconds. */
const READ_WRONG_EVERY = 30;
const READ_WRONG_EVERY_S = 15;
/** How long the request waits for its tokens, ms. */
const TOKENS_MS = 10_000;

export class ClockWatch {
  /** Whether it was reported that the clocks differ too much. */
  isWrong = false;
  private readonly account: Account;
  private readonly events: SchedulerEvents;
  private reading: Promise<void> | undefined;

  constructor(account: Account, events: SchedulerEvents) {
    this.account = account;
    this.events = events;
  }

  /** Whether the clocks agree as far as they have to; reports a change. */
  check(): boolean {
    const { clocks, clock, profile } = this.account;
    const difference = clocks.findDifference(clock.now(), clock.monotonic());
    const isWrong = Math.abs(difference?.aheadMs ?? 0) > profile.clockAheadMs;
    if (isWrong !== this.isWrong) this.events.reportClock(isWrong ? difference : undefined, profile.clockAheadMs);
    this.isWrong = isWrong;
    return !isWrong;
  }

  /** Reads the other clocks at some ticks. Nothing waits for it: an answer may take its time. */
  readAtTick(tick: number): void {
    if (tick % READ_EVERY !== 0 && (!this.isWrong || tick % READ_WRONG_EVERY !== 0)) return;
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
    });
  }

  /** Returns once the clocks agree, or when it is asked to stop. */
  async waitUntilRight(isStopped: () => boolean): Promise<void> {
    // The answer with the account's id has shown the venue's.
    await this.read(!this.account.clocks.isKnown);
    for (let waits = 1; !isStopped() && !this.check(); waits += 1) {
      await pause(this.account.clock, 1_000);
      if (waits % READ_WRONG_EVERY_S === 0) await this.read();
    }
  }

  /** Resolves when no answer is awaited any more. */
  async settled(): Promise<void> {
    await this.reading;
  }

  /** How far this machine's clock is ahead, s; undefined while that is not known. */
  get aheadSeconds(): number | undefined {
    const { clocks, clock } = this.account;
    if (!clocks.isKnown) return undefined;
    return (clocks.findDifference(clock.now(), clock.monotonic())?.aheadMs ?? 0) / 1000;
  }

  /** Reads the clocks of the store and, by any answer, of the venue. One that does not answer is not compared. */
  private async read(alsoVenue = true): Promise<void> {
    const { clock, clocks, shared } = this.account;
    const fromMs = clock.monotonic();
    await shared
      .readClock?.()
      .then((now) => clocks.note('the store', { fromMs, untilMs: clock.monotonic() }, now, 1), ignoreStore);
    if (alsoVenue) await sendOnce(this.account, 'GET /account', {}, 'read', { tokensWithinMs: TOKENS_MS });
  }
}
