/**
 * A token ledger that several processes continue in turn: read, changed and stored again while no other can. Whoever looks at
 * it tells it first what has happened here since. Nothing that a look decides counts before it is stored.
 */
import type { LedgerRows } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import type { Ledger } from '../../venue/tokens/ledger.ts';

export interface BudgetShare {
  readonly rows: LedgerRows;
  /** `ledgerKey` of the address (journal/shared.ts). */
  readonly key: string;
  /** Tells this process's requests from others'; unique among all that share. */
  readonly owner: string;
}

/** Something that happened here, told to the ledger at an instant of its clock. */
export type Told = (ledger: Ledger, now: number) => void;

/** What a look decided, and whether the ledger came to be another by it. */
interface Decided {
  readonly changes: boolean;
}

export class SharedLedger {
  /** As it was left by the last look. */
  ledger: Ledger;
  /** The ledger's clock minus ours. */
  offsetMs = 0;
  private readonly share: BudgetShare;
  private readonly monotonic: () => number;
  private readonly restored: (text: string | undefined, now: number) => Ledger;
  private revision: number | undefined;
  /** What the ledger has not heard yet, in order. */
  private told: Told[] = [];

  /** `monotonic`: our clock. `restored`: the ledger that a stored text is, by our settings. */
  constructor(
    share: BudgetShare,
    monotonic: () => number,
    restored: (text: string | undefined, now: number) => Ledger,
  ) {
    this.share = share;
    this.monotonic = monotonic;
    this.restored = restored;
    this.ledger = restored(undefined, 0);
  }

  /** To be told at the next look. */
  tell(told: Told): void {
    this.told.push(told);
  }

  /** One look, alone. Where it could not be stored, whatever it decided is void, and what was to be told is told again. */
  async look<D extends Decided>(
    decide: (ledger: Ledger, now: number) => D,
  ): Promise<{ readonly stored: true; readonly decided: D } | { readonly stored: false; readonly decided?: D }> {
    const { told } = this;
    this.told = [];
    let decided: D | undefined;
    try {
      return await this.share.rows.change(this.share.key, (row, nowMs) => {
        // Whose last writer we are stands here as it stands there.
        if (row === undefined || row.revision !== this.revision) this.ledger = this.restored(row?.text, nowMs);
        this.offsetMs = nowMs - this.monotonic();
        for (const each of told) each(this.ledger, nowMs);
        decided = decide(this.ledger, nowMs);
        const changed = told.length > 0 || decided.changes;
        this.revision = (row?.revision ?? 0) + (changed ? 1 : 0);
        return { text: changed ? this.ledger.save() : undefined, result: { stored: true, decided } };
      });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.revision = undefined;
      this.told = [...told, ...this.told];
      return { stored: false, ...(decided === undefined ? {} : { decided }) };
    }
  }
}
