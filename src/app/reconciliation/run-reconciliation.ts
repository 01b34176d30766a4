/**
 * Compares a live run with what the venue lists of its account: the orders before it sends its first, and what earlier runs left, for
 * limits and expressions. What could not be read is asked for again while the run goes on.
 */
import { StoreError } from '../../journal/store.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { placesOrders, readsAccount } from '../../runbook/steps/risk.ts';
import { nameLedger, takeRows } from '../account/ledger.ts';
import { SILENT, type Voice } from '../voice.ts';
import { type LedgerHost, settleLedger } from './ledger-settling.ts';
import { type Contradiction, findVenueContradiction, type VenueComparison } from './venue-comparison.ts';

/** How often what other processes have kept of the account is counted at most, ms. */
const RECOUNT_EVERY_MS = 10_000;
/** Pause before the venue is asked again for what earlier runs left, ms: each time costs at most 60 tokens, and more for each market. */
const SETTLE_EVERY_MS = 15_000;

interface ReconciliationHost extends LedgerHost {
  readonly comparison: VenueComparison;
  readonly voice: Pick<Voice, 'complain' | 'note'>;
}

export class RunReconciliation {
  /** Whether an order of the run was denied in this process. */
  wasDenied = false;
  private readonly host: ReconciliationHost;
  private readonly run: string;
  private readonly contradict: (why: string) => void;
  /** Whether the venue's orders were compared with the journal. */
  private isCompared = true;
  private readsAccount = false;
  /** Since when what the account holds could not be compared with the venue's lists, and when they are asked for again, epoch ms. */
  private unread: { readonly since: number; readonly nextAt: number } | undefined;
  private isSettling = false;
  /** When what others have kept of it is counted at the earliest, epoch ms. */
  private recountAt = 0;

  /** `contradict` is called where the venue shows later that the journal is not the account's newest. */
  constructor(host: ReconciliationHost, run: string, contradict: (why: string) => void) {
    this.host = host;
    this.run = run;
    this.contradict = contradict;
  }

  /**
   * Why the journal is not the account's newest, as the venue shows it to a run that begins; one without an order asks nothing. Where the
   * venue does not answer, the run begins, places nothing, and the next one asks again. A store that does not answer fails no run: its
   * orders wait.
   */
  async compareBegun(runbook: CheckedRunbook): Promise<Contradiction | undefined> {
    const found = await this.compareOrders(runbook);
    if (found?.isAway !== true) return found;
    this.askAgain(found);
    return undefined;
  }

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
  async compareResumed(runbook: CheckedRunbook): Promise<string | undefined> {
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
    if (found?.isSure) this.contradict(found.text);
    return this.isCompared;
  }

  /** Compares what earlier runs left with the venue's lists. Throws StoreError. */
  async settle(runbook: CheckedRunbook): Promise<void> {
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

  /** See Bars. It is asked for where the run depends on it: something is unknown, or a limit has denied. */
  async recount(read?: string): Promise<boolean> {
    const { account, ledger } = this.host;
    const { clock } = account;
    const depends = read !== undefined || this.wasDenied || ledger.unknown !== undefined || this.unread !== undefined;
    if (depends && clock.now() >= this.recountAt) {
      this.recountAt = clock.now() + RECOUNT_EVERY_MS;
      await takeRows(nameLedger(account), ledger).catch(passStoreError);
    }
    // A person may have stated it meanwhile.
    return this.unread === undefined || (ledger.findStatedAt(read ?? '') ?? 0) > this.unread.since;
  }
}

/** What the store does not show now is asked for again. */
export function passStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}
