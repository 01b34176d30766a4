/**
 * Shares a token ledger between processes: it is read, changed and stored again while no other process can. Each access first
 * applies what happened in this process since the last one. A decision counts only once it is stored.
 */
import type { LedgerRows } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import type { Ledger } from '../../venue/tokens/ledger.ts';

export interface BudgetShare {
  readonly rows: LedgerRows;
  /** `ledgerKey` of the address (journal/shared/shared.ts). */
  readonly key: string;
  /** Distinguishes this process's requests from others'; unique among all processes that share. */
  readonly owner: string;
}

/** Applies something that happened in this process to the ledger, at an instant of the ledger's clock. */
export type LedgerUpdate = (ledger: Ledger, now: number) => void;

/** A decision, and whether it changed the ledger. */
interface Decided {
  readonly changes: boolean;
}

export class SharedLedger {
  /** The ledger after the last access. */
  ledger: Ledger;
  /** The ledger's clock minus ours, ms. */
  offsetMs = 0;
  private readonly share: BudgetShare;
  private readonly monotonic: () => number;
  private readonly restore: (text: string | undefined, now: number) => Ledger;
  private revision: number | undefined;
  /** Updates that are not stored yet, oldest first. */
  private updates: LedgerUpdate[] = [];

  /** `monotonic` reads our clock; `restore` builds the ledger from a stored text with our settings. */
  constructor(share: BudgetShare, monotonic: () => number, restore: (text: string | undefined, now: number) => Ledger) {
    this.share = share;
    this.monotonic = monotonic;
    this.restore = restore;
    this.ledger = restore(undefined, 0);
  }

  /** Adds an update, which the next access applies. */
  add(update: LedgerUpdate): void {
    this.updates.push(update);
  }

  /**
   * Applies the updates and `decide` while no other process can, and stores the result. When that fails, the decision is void and
   * the updates remain for the next access.
   */
  async access<D extends Decided>(
    decide: (ledger: Ledger, now: number) => D,
  ): Promise<{ readonly stored: true; readonly decided: D } | { readonly stored: false; readonly decided?: D }> {
    const { updates } = this;
    this.updates = [];
    let decided: D | undefined;
    try {
      return await this.share.rows.change(this.share.key, (row, nowMs) => {
        // When this process was the last writer, its copy is current.
        if (row === undefined || row.revision !== this.revision) this.ledger = this.restore(row?.text, nowMs);
        this.offsetMs = nowMs - this.monotonic();
        for (const update of updates) update(this.ledger, nowMs);
        decided = decide(this.ledger, nowMs);
        const changed = updates.length > 0 || decided.changes;
        this.revision = (row?.revision ?? 0) + (changed ? 1 : 0);
        return { text: changed ? this.ledger.save() : undefined, result: { stored: true, decided } };
      });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.revision = undefined;
      this.updates = [...updates, ...this.updates];
      return { stored: false, ...(decided === undefined ? {} : { decided }) };
    }
  }
}
