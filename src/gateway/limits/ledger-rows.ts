/** The rows from which the ledger of an account is added up: of each run, of the venue's own lists, and of what people state. */
import type { DecimalString } from '../../base/decimal.ts';
import type { WorkingOrder } from '../../venue/limits/check.ts';
import type { FillRecord, Side } from '../../venue/records.ts';

/** Grows with every change of `RunLedger`: a kept one of another version is made again. */
export const RUN_LEDGER_VERSION = 1;

/** A fill of one of the run's orders. */
export interface LedgerFill extends FillRecord {
  readonly clientOrderId: string;
  /** Path of the step that placed the order. */
  readonly step: string;
}

/** An order of the run of which more than its fills counts, or may count. */
export interface LedgerOrder {
  readonly clientOrderId: string;
  readonly orderId?: string;
  readonly market: string;
  readonly side: Side;
  /** Base currency: its fills, or the figure of its record if that is more. */
  readonly filled: DecimalString;
  /** What it may have filled unseen, or may still fill. */
  readonly open: DecimalString;
  /** It can only close: a stop_loss or a take_profit. */
  readonly closes?: true;
  /** As the journal leaves it, where it may still work at the venue. */
  readonly working?: WorkingOrder;
}

/** Orders sent on a UTC day; no notional where one of them could not be measured. */
export interface SentOfDay {
  readonly orders: number;
  readonly notional?: DecimalString;
}

export interface RunLedger {
  readonly version: typeof RUN_LEDGER_VERSION;
  readonly run: string;
  readonly runbook: string;
  /** Venue and account. */
  readonly account: string;
  /** Epoch ms of the first and of the last entry. */
  readonly startedAt: number;
  readonly lastAt: number;
  readonly fills: readonly LedgerFill[];
  readonly orders: readonly LedgerOrder[];
  /** Epoch ms of each POST and PUT of an order in the run's last minute. */
  readonly orderTimes: readonly number[];
  /** By day, `2026-01-05`. */
  readonly days: Readonly<Record<string, SentOfDay>>;
}

/** A position that a person states to be held, and the time at which it was. */
export interface Baseline {
  readonly market: string;
  /** Base currency, long positive. */
  readonly size: string;
  /** Average entry, quote currency; absent where it is not known. */
  readonly price?: string;
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
}

/** What the venue's own lists showed of a market: its fills from a time on, without gaps, as far as no run has read them. */
export interface ListedFills {
  readonly market: string;
  /** Epoch ms until when it has every fill: it was asked for later, by as long as a fill may be late (profile: fills.window). */
  readonly readAt: number;
  readonly fills: readonly FillRecord[];
}

export interface LedgerParts {
  readonly runs: readonly RunLedger[];
  readonly baselines: readonly Baseline[];
  readonly listed: readonly ListedFills[];
  /** Orders that the venue did not list as open any more: client order id to when it was asked, epoch ms. */
  readonly gone: Readonly<Record<string, number>>;
  /** Of these, how much their records show to be filled, base currency: the list of fills may not have it yet. */
  readonly ended?: Readonly<Record<string, DecimalString>>;
  /** What the sums may lack: journals and rows that cannot be read. */
  readonly unknown?: {
    readonly why: string;
    /** When the first of these runs began, epoch ms. */
    readonly since: number;
    /** What was stated or listed of a market later, epoch ms, holds for it all the same. */
    readonly until: number;
  };
}
