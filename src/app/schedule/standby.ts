/**
 * Takes the lease of an account for the scheduler, and waits while that cannot be: another process holds the account, the store does
 * not answer, or the journal is contradicted.
 */
import { pause, type Timer } from '../../base/clock.ts';
import { formatSpan } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { HeldLease } from '../../journal/shared/lease.ts';
import { ignoreStore, StoreError } from '../../journal/store.ts';
import type { Account } from '../account/account.ts';
import { type ActingAccount, takeAccountLease } from '../account/identity.ts';
import { nameSchedulerHolder } from '../account/lease-holders.ts';
import { EXIT, type ExitCode, UserError } from '../errors.ts';
import type { SchedulerEvents } from './events.ts';
import type { SchedulerLog } from './log.ts';

/** While another process holds the account: fail at once, wait without limit, or wait this long. */
export type WaitPolicy = 'none' | 'endless' | { readonly ms: number };

export interface StopCause {
  readonly by: string;
  readonly exit: ExitCode;
}

export type ServiceEnd =
  | ({ readonly kind: 'stopped' } & StopCause)
  /** Another process holds the account, and renews its lease. */
  | { readonly kind: 'taken'; readonly heldBy: string };

/** Of the error that a contradicted journal is refused with. */
export const CONTRADICTED = 'contradicted';

const STANDBY_CHECK_MS = 1_000;
/** How often a journal that the venue or an anchor contradicts is compared again: each time costs a reading of the venue's orders. */
const CONTRADICTED_EVERY_MS = 15_000;

interface StandbyParts {
  readonly account: Account;
  readonly policy: WaitPolicy;
  readonly log: SchedulerLog;
  readonly events: SchedulerEvents;
  /** Why it is to stop, as soon as it is asked to. */
  readonly stopAsked: Promise<StopCause>;
  readonly getStopCause: () => StopCause | undefined;
  /** Called when the lease is lost after it was taken: the process ends at once. */
  readonly onLost: () => never;
  /** Called with each failure of the store, and with undefined once it answers. */
  readonly noteStore: (problem: StoreError | undefined) => void;
}

export class Standby {
  /** Undefined while it waits. */
  lease: HeldLease | undefined;
  /** Why nothing may be started until a person has looked. */
  contradiction: string | undefined;
  private readonly parts: StandbyParts;

  constructor(parts: StandbyParts) {
    this.parts = parts;
  }

  /**
   * Returns the account once it holds the lease, or why it ends without it. Throws a UserError where another process holds it and
   * nothing is to wait.
   */
  async takeLease(): Promise<ActingAccount | ServiceEnd> {
    const { account, policy, log, onLost, noteStore, getStopCause } = this.parts;
    const { clock, profile } = account;
    const holder = nameSchedulerHolder(process.pid);
    const since = clock.monotonic();
    const waitsOn = () => policy === 'endless' || (policy !== 'none' && clock.monotonic() - since <= policy.ms);
    let cause = getStopCause();
    for (let told = false; cause === undefined; cause = getStopCause()) {
      try {
        const acting = await takeAccountLease(account, { holder, onLost, voice: log.asVoice() });
        noteStore(undefined);
        if (acting.kind === 'held') {
          this.lease = acting.lease;
          return acting;
        }
        // That process looks at the journal now.
        this.contradiction = undefined;
        const held = `the account ${profile.account} is held by another process (${makePrintable(acting.heldBy, 200)})`;
        if (policy === 'none')
          throw new UserError(`${held}; nothing was started. --standby waits for it`, EXIT.held, 'held');
        if (!waitsOn()) return { kind: 'taken', heldBy: acting.heldBy };
        if (!told) log.write('info', 'standing_by', `${held}: standing by`);
        told = true;
      } catch (error) {
        if (this.waitsForAPerson(error)) {
          await this.standContradicted(error);
          continue;
        }
        if (!(error instanceof StoreError && error.reason === 'unavailable' && waitsOn())) throw error;
        noteStore(error);
      }
      await pause(clock, STANDBY_CHECK_MS);
    }
    return { kind: 'stopped', ...cause };
  }

  /**
   * Gives the account back after an error under its lease, and returns when it is to be tried again. Throws where that is not to be:
   * `began` says that runs were started meanwhile.
   */
  async standBack(error: unknown, began: boolean): Promise<void> {
    const { policy, account, noteStore } = this.parts;
    if (this.waitsForAPerson(error)) return this.standContradicted(error);
    if (!(error instanceof StoreError)) throw error;
    if (began || error.reason !== 'unavailable' || policy === 'none')
      throw new UserError(makePrintable(error.message), EXIT.halted, 'journal');
    // The last holder may be suspended within a transaction. A process that gave up instead would leave the account unattended.
    noteStore(error);
    await this.release();
    await pause(account.clock, STANDBY_CHECK_MS);
  }

  private waitsForAPerson(error: unknown): error is UserError {
    return this.parts.policy === 'endless' && error instanceof UserError && error.kind === CONTRADICTED;
  }

  async release(): Promise<void> {
    await this.lease?.release().catch(ignoreStore);
    this.lease = undefined;
  }

  /** A process that ended instead would be started again by its supervisor at once, and pay for the reading each time. */
  private async standContradicted({ message }: UserError): Promise<void> {
    const { events, account, stopAsked } = this.parts;
    if (this.contradiction !== message) {
      const every = formatSpan(CONTRADICTED_EVERY_MS);
      events.reportContradicted(`${makePrintable(message, 1_000)}; compared again each ${every}`);
    }
    this.contradiction = message;
    await this.release();
    let timer: Timer | undefined;
    const waited = new Promise<void>((resolve) => {
      timer = account.clock.after(CONTRADICTED_EVERY_MS, resolve);
    });
    await Promise.race([waited, stopAsked]);
    timer?.cancel();
  }
}
