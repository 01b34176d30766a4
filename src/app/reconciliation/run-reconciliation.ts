/**
 * Compares a live run with its anchors and with what the venue lists of its account: the orders before it sends its first, what earlier
 * runs left, for limits and expressions, and their late orders. What could not be read is asked for again while the run goes on.
 */
import type { DataOf, Entry } from '../../journal/entry.ts';
import { ignoreStore } from '../../journal/store.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { placesOrders, readsAccount } from '../../runbook/steps/risk.ts';
import { findContradiction } from '../account/anchoring.ts';
import { nameLedger, takeRows } from '../account/ledger.ts';
import { EXIT, UserError } from '../errors.ts';
import { SILENT } from '../voice.ts';
import { type LateOrderParts, reportLateOrders } from './late-orders.ts';
import { type LedgerHost, readReleases, settleLedger } from './ledger-settling.ts';
import {
  type Contradiction,
  findRestoredOver,
  findVenueContradiction,
  type VenueComparison,
} from './venue-comparison.ts';

/** How often what other processes have kept of the account is counted at most, ms. */
const RECOUNT_EVERY_MS = 10_000;
/** Pause before the venue is asked again for what earlier runs left, ms: each time costs at most 60 tokens, and more for each market. */
const SETTLE_EVERY_MS = 15_000;
const WRONG_CLOCK =
  "CLOCK_WRONG: the clock by which the schedule decided to start this run differs from the venue's or the store's, as an answer has shown since";

interface ReconciliationHost extends LedgerHost, LateOrderParts {
  readonly voice: LateOrderParts['voice'];
  readonly comparison: VenueComparison;
  readonly contradiction?: string | undefined;
}

export class RunReconciliation {
  /** Why the run sends nothing new: its journal is contradicted by an anchor, by the venue, or by its own chain. */
  contradiction: string | undefined;
  private readonly host: ReconciliationHost;
  private readonly run: string;
  private readonly recordLate: (late: DataOf<'account.late_orders'>) => void;
  private clockAgrees = () => true;
  /** Whether an order of the run was denied in this process. */
  private wasDenied = false;
  /** The search in the journals of earlier runs. */
  private lateSearch: Promise<void> = Promise.resolve();
  /** Whether the venue's orders were compared with the journal. */
  private isCompared = true;
  private readsAccount = false;
  /** Since when what the account holds could not be compared with the venue's lists, and when they are asked for again, epoch ms. */
  private unread: { readonly since: number; readonly nextAt: number } | undefined;
  private isSettling = false;
  /** When what others have kept of it is counted at the earliest, epoch ms. */
  private recountAt = 0;

  /** `recordLate` is called in a turn of the clock, also after the run has ended. */
  constructor(host: ReconciliationHost, run: string, recordLate: (late: DataOf<'account.late_orders'>) => void) {
    this.host = host;
    this.run = run;
    this.recordLate = recordLate;
  }

  /** Compares the journal with its anchors: before anything is written. */
  async compareAnchors(): Promise<void> {
    this.contradiction = this.host.contradiction ?? (await findContradiction(this.host.account));
  }

  /**
   * Compares a run that begins, once the anchors are compared. Throws a UserError where it may not begin. `clockAgrees`: of a run whose
   * time a schedule has decided; the venue's answers may be the first that show its clock.
   */
  async begin(runbook: CheckedRunbook, clockAgrees: () => boolean = () => true): Promise<void> {
    this.clockAgrees = clockAgrees;
    const byVenue = this.contradiction === undefined ? await this.compareBegun(runbook) : undefined;
    this.contradiction ??= byVenue?.text;
    if (this.contradiction !== undefined && byVenue?.isSure !== false)
      throw new UserError(`${this.contradiction}; nothing was sent`, EXIT.held, 'contradicted');
    await this.settle(runbook);
    if (!clockAgrees()) throw new UserError(`${WRONG_CLOCK}; nothing was sent`, EXIT.held, 'clock');
  }

  /** Compares a run that is resumed, once the anchors are compared. A contradiction does not prevent cancels. */
  async resume(runbook: CheckedRunbook, startedAt: number): Promise<void> {
    const { account, ledger, voice } = this.host;
    this.contradiction ??= await findRestoredOver(account, { run: this.run, startedAt });
    this.contradiction ??= await this.compareResumed(runbook);
    // Its next order may leave before the first look at what people did meanwhile.
    await readReleases(this.host);
    if (readsAccount(runbook) || !ledger.isWhole) await this.settle(runbook);
    if (this.contradiction !== undefined) voice.complain(this.contradiction);
  }

  /** Keeps what makes it look again, and looks for late orders once the account's orders are listed. */
  apply(entry: Entry): void {
    this.wasDenied ||= entry.type === 'call.settled' && entry.data.kind === 'denied';
    if (entry.type === 'account.reconciled')
      this.lateSearch = reportLateOrders(this.host, this.run, entry.data.ofOtherRuns, this.recordLate);
  }

  /** Resolves when no late order is searched any more; the store stays open for it. */
  settled(): Promise<void> {
    return this.lateSearch;
  }

  /**
   * Why the journal is not the account's newest, as the venue shows it to a run that begins; one without an order asks nothing. Where the
   * venue does not answer, the run begins, places nothing, and the next one asks again. A store that does not answer fails no run: its
   * orders wait.
   */
  private async compareBegun(runbook: CheckedRunbook): Promise<Contradiction | undefined> {
    const found = await this.compareOrders(runbook);
    if (found?.isAway !== true) return found;
    this.askAgain(found);
    return undefined;
  }

  /** Why the journal is not the account's newest, as the venue shows it; a run without an order asks nothing. */
  private async compareOrders(runbook: CheckedRunbook): Promise<Contradiction | undefined> {
    const { comparison } = this.host;
    if (placesOrders(runbook)) return findVenueContradiction(comparison);
    await comparison.begin();
    return undefined;
  }

  private askAgain({ text }: Contradiction): void {
    this.isCompared = false;
    this.host.voice.complain(`run ${this.run}: ${text}; this is asked again before each order`);
  }

  /**
   * Why a run that is resumed places nothing, as the venue shows it. A venue that does not answer is asked again before each order: the
   * run may hold a position, and its exit must not be denied for good.
   */
  private async compareResumed(runbook: CheckedRunbook): Promise<string | undefined> {
    const found = await this.compareOrders(runbook);
    if (found === undefined || found.isSure) return found?.text;
    this.askAgain(found);
    return undefined;
  }

  /** Whether the orders are compared by now; asked before each order. */
  async isReady(): Promise<boolean> {
    if (this.isCompared) return true;
    const found = await findVenueContradiction(this.host.comparison);
    this.isCompared = found === undefined || found.isSure;
    if (found?.isSure) this.contradiction = found.text;
    else if (this.isCompared && !this.clockAgrees()) this.contradiction = WRONG_CLOCK;
    return this.isCompared;
  }

  /** Compares what earlier runs left with the venue's lists. Throws StoreError. */
  private async settle(runbook: CheckedRunbook): Promise<void> {
    this.readsAccount = readsAccount(runbook);
    const why = await settleLedger(this.host, { readsAccount: this.readsAccount, beside: this.run });
    const now = this.host.account.clock.now();
    this.unread = why === undefined ? undefined : { since: now, nextAt: now + SETTLE_EVERY_MS };
  }

  /** Compares it again, at intervals until the lists could be read. Throws StoreError. */
  async settleAgain(): Promise<void> {
    const { host, run, readsAccount: reads, unread } = this;
    if (unread === undefined || this.isSettling || host.account.clock.now() < unread.nextAt) return;
    this.isSettling = true;
    try {
      const why = await settleLedger({ ...host, voice: SILENT }, { readsAccount: reads, beside: run });
      this.unread = why === undefined ? undefined : { ...unread, nextAt: host.account.clock.now() + SETTLE_EVERY_MS };
      if (why === undefined)
        host.voice.note(`run ${run}: what earlier runs left is compared with the venue now, and counts as it lists it`);
    } finally {
      this.isSettling = false;
    }
  }

  /**
   * Counts what other processes have kept of the account since, where the run depends on it: something is unknown, or a limit has denied.
   * `read`: the market of which an expression reads what the account holds; false where that could not be compared with the venue's lists.
   */
  async recount(read?: string): Promise<boolean> {
    const { account, ledger } = this.host;
    const { clock } = account;
    const depends = read !== undefined || this.wasDenied || ledger.unknown !== undefined || this.unread !== undefined;
    if (depends && clock.now() >= this.recountAt) {
      this.recountAt = clock.now() + RECOUNT_EVERY_MS;
      await takeRows(nameLedger(account), ledger).catch(ignoreStore);
    }
    // A person may have stated it meanwhile.
    return this.unread === undefined || (ledger.findStatedAt(read ?? '') ?? 0) > this.unread.since;
  }
}
