/**
 * Runs that somebody handed over: each begins when nothing that it needs is held by another. What is theirs is decided here,
 * beside the schedules; the loop that looks again is the scheduler's (daemon.ts).
 */
import type { AgendaRun } from './decide.ts';
import type { LaunchedRun } from './launcher.ts';

/** A run that somebody handed over: it has no slot, but keeps to concurrency keys as all do. */
export interface Guest {
  readonly run: string;
  readonly runbook: string;
  readonly concurrency?: { readonly key: string; readonly onBusy: 'queue' | 'skip' | 'fail' };
  readonly exclusive?: readonly string[];
  /** Undefined when it is not wanted any more. A StoreError: nothing was begun, and it can be asked again. */
  begin(): Promise<LaunchedRun | undefined>;
  refuse(why: string): Promise<void>;
}

/** Those who decide and hold for all runs of the account. */
export interface GuestHouse {
  readonly running: () => readonly AgendaRun[];
  /** False once nothing is to be begun any more. */
  readonly goesOn: () => boolean;
  readonly hold: (run: AgendaRun, runbook: string, launched: LaunchedRun) => void;
}

export class Guests {
  private guests: readonly Guest[] = [];

  waiting(): number {
    return this.guests.length;
  }

  add(guest: Guest): void {
    this.guests = [...this.guests, guest];
  }

  /** Begins or refuses, in the order they came, what need not wait. A StoreError leaves whoever it met, and the rest, waiting. */
  async admit(house: GuestHouse): Promise<void> {
    for (const guest of this.guests) {
      if (!house.goesOn()) return;
      if (await admitted(guest, house)) this.guests = this.guests.filter((other) => other !== guest);
    }
  }
}

/** False when it has to wait. */
async function admitted(guest: Guest, { running, hold }: GuestHouse): Promise<boolean> {
  const { run, runbook, concurrency, exclusive } = guest;
  const others = running();
  const keyHeld = concurrency !== undefined && others.some(({ key }) => key === concurrency.key);
  const inUse = exclusive?.some((each) => others.some((other) => other.exclusive?.includes(each))) === true;
  if (keyHeld && concurrency.onBusy !== 'queue') {
    await guest.refuse(
      `the concurrency key ${JSON.stringify(concurrency.key)} is held by another run (on_busy: ${concurrency.onBusy})`,
    );
    return true;
  }
  if (keyHeld || inUse) return false;
  const launched = await guest.begin();
  const key = concurrency === undefined ? {} : { key: concurrency.key };
  if (launched !== undefined)
    hold({ run, ...key, ...(exclusive === undefined ? {} : { exclusive }) }, runbook, launched);
  return true;
}
