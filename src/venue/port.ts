/**
 * The engine's only interface to the venue: a call goes in, one of four outcomes comes out. Limits, budget, journal, session,
 * sockets, fixtures, the simulator and recorded journals are behind it and not visible here.
 */
import type { DecimalString } from '../base/decimal.ts';
import type { EndpointName, Params, Result } from './catalogue.ts';
import type { LimitRules } from './limits/check.ts';
import type { OrderType, Side, TimeInForce } from './records.ts';

/**
 * Budget classes, the most urgent first: strict priority, first in first out within a class (budget.md, Admission). `resolve`: also the
 * orders and the price of an exit, whose stops are cancelled.
 */
export const CALL_CLASSES = ['protect', 'resolve', 'complete', 'enter', 'reconcile', 'read'] as const;
export type CallClass = (typeof CALL_CLASSES)[number];

/** The intended terms of an order of ours; durable before the first byte of its POST is sent. Decimals as strings. */
export interface OrderTerms {
  readonly clientOrderId: string;
  readonly market: string;
  readonly side: Side;
  readonly type: OrderType;
  /** Base currency; for stop_loss and take_profit the fraction of the position. */
  readonly size: DecimalString;
  readonly price?: DecimalString;
  readonly trigger?: DecimalString;
  readonly timeInForce?: TimeInForce;
  /** `halt`: an unknown outcome ends the run; `resend`: the order may be sent again once its absence is proven. */
  readonly onAmbiguous: 'halt' | 'resend';
  /** `reduce`: may pass notional caps, because it only lowers exposure (language.md, decision 11). */
  readonly allow?: 'reduce';
}

/** Code of a decision whose process died before it was carried out, and that is too old to carry out now. */
export const STALE_INTENT = 'STALE_INTENT';
/** Code of a request that the last gate held back each time: whatever was asked was too old again when it should have left. */
export const GATE_STALE = 'GATE_STALE';
/** Code of a call that was withdrawn before it was sent. */
export const STEP_ENDED = 'STEP_ENDED';
/** Purpose of a call made only as a precaution: a recording without an answer to it denies it with `NOT_RECORDED`. */
export const SWEEP = 'sweep';
export const NOT_RECORDED = 'NOT_RECORDED';

export interface VenueCall<E extends EndpointName = EndpointName> {
  /** Unique in the run, and the same when the run is replayed: `<path>#<n>`. */
  readonly id: string;
  /** Path of the step that makes the call, `deadman` for the heartbeat, `watch` for order confirmation. */
  readonly step: string;
  readonly endpoint: E;
  readonly params: Params<E>;
  readonly class: CallClass;
  /** How long to wait for the answer at most, ms, where that is less than the time-out of the transport. */
  readonly answerMs?: number;
  /** For a heartbeat of the deadman switch, or a read between heartbeats: the pause until the next one, ms; tokens are kept for it. */
  readonly repeatsMs?: number;
  /**
   * Denied with code DEADLINE at once when the budget cannot grant it before this time (epoch ms), and at that time when a write that
   * needs a durable attempt has none.
   */
  readonly deadlineAt?: number;
  /** For POST /orders: the intent; for PUT and DELETE /orders: which of our orders it is for. */
  readonly intent?: OrderTerms;
  readonly clientOrderId?: string;
  /** For a write that adds risk: whether it is still wanted, checked until its first byte is sent. A withdrawn one is denied as STEP_ENDED. */
  readonly wanted?: Wanted;
  /** For a cancel: it is not sent without its durable attempt, as an order is not. */
  readonly recorded?: true;
  /** For the writes of an exit, its cancels among them: a person is asked once for all of them. */
  readonly consent?: Consent;
  /** Epoch ms of the decision, where its process died before anything was sent: one that is too old is denied as STALE_INTENT. */
  readonly decidedAt?: number;
  /** Limits of the runbook; per control the tighter of these and the profile's holds. */
  readonly limits?: LimitRules;
  /** For writes under a price band: the reference price, and when it was true (epoch ms). */
  readonly reference?: { readonly price: DecimalString; readonly at: number };
  /**
   * How rows of a list are judged that cannot be read. Absent: one of them makes the answer unreadable, because what is added up
   * or shown to be empty must not lack a row. `each`: they are given beside the others. `own`: the list is read for orders of
   * this run alone; rows of others are left out of the result and of the journal, readable or not.
   */
  readonly rows?: 'each' | 'own';
  /** Why the call is made, in a word or two for the reviewer: `lookup`, `confirm`, `keep-alive`, `undo`. */
  readonly purpose?: string;
}

/** How long a write may take. */
export type WriteLimits = { readonly [name in 'answerMs' | 'deadlineAt']: VenueCall[name] | undefined };

/** A row that cannot be read; with the client order id where it shows which order of the run it is. */
export interface UnreadOrder {
  readonly clientOrderId?: string;
  /** What the row shows of whichever order it is, with `each`: as it came, where it is a text. */
  readonly orderId?: string;
  readonly market?: string;
  readonly status?: string;
  /** Printable. */
  readonly why: string;
}

export interface Wanted {
  /** Why the request is not wanted any more; undefined while it is. */
  readonly withdrawn: string | undefined;
  /** Calls `listener` once when the request is withdrawn, not where it already was; the returned function removes it. */
  onWithdrawn(listener: () => void): () => void;
}

/** The answer of a person to several writes that belong together (`run --step`); they are asked before the first. */
export interface Consent {
  /** What the writes do together, for the person. */
  readonly what: string;
  /** Whether what they do is still wanted while the person thinks. */
  readonly wanted?: Wanted;
  /** Undefined until the person was asked. */
  answer?: Promise<boolean>;
}

/** The error kinds a runbook can catch that come from a call. */
type CallFailureKind =
  | 'transport'
  | 'rate_limited'
  | 'rejected'
  | 'not_found'
  | 'denied'
  | 'unknown_outcome'
  | 'cancelled';

/** Why the venue certainly did not do it. `duplicate`: it already has this client order id; `unauthorized`: it refused the session twice. */
export type RejectionCause = 'transport' | 'rate_limited' | 'rejected' | 'not_found' | 'duplicate' | 'unauthorized';

interface Settled {
  /** Epoch ms just before the request's first byte was sent; undefined where nothing was sent. */
  readonly sentAt?: number;
  /** Epoch ms when the outcome was known. */
  readonly settledAt: number;
}

/**
 * The four outcomes of a call:
 * - confirmed: the venue reported success and the answer has the endpoint's shape;
 * - rejected: it certainly did not happen: the venue refused it, or nothing was sent (`failure: 'transport'`);
 * - denied: refused here, before sending, by a limit, the budget's deadline or the kill switch;
 * - unresolved: it may have happened. It is reconciled, never simply retried and never called failed. For a read it only means
 *   that no answer came.
 */
export type CallOutcome<E extends EndpointName = EndpointName> =
  | (Settled & {
      readonly kind: 'confirmed';
      readonly result: Result<E>;
      readonly notes?: readonly string[];
      /** Number of rows of other orders that were left out (rows: `own`). */
      readonly leftOut?: number;
      /** Rows that cannot be read; with `own` those that may be orders of this run. Nothing follows from the reading for them. */
      readonly unread?: readonly UnreadOrder[];
    })
  | (Settled & {
      readonly kind: 'rejected';
      readonly failure: RejectionCause;
      /** The venue's whole text; make it printable before printing. */
      readonly message: string;
      /** False where the text is not known to be definite: after a POST the order is then watched (interface.md, Settled points). */
      readonly definite: boolean;
      readonly retryAfterMs?: number;
    })
  | (Settled & { readonly kind: 'denied'; readonly code: string; readonly message: string })
  /** `code`: STALE_INTENT where the call could be repeated, but too long after its decision. */
  | (Settled & { readonly kind: 'unresolved'; readonly message: string; readonly code?: string });

/** Whether the venue answered a reading of one order by saying that there is no such order. A bare 404 may mean another thing. */
export function isFoundMissing(outcome: {
  readonly kind: CallOutcome['kind'];
  readonly failure?: string;
  readonly definite?: boolean;
}): boolean {
  return outcome.kind === 'rejected' && outcome.failure === 'not_found' && outcome.definite === true;
}

/** Read like a feed, by market: what the account holds, base currency, long positive. No profile declares a name with a dot. */
export const ACCOUNT_POSITION = 'account.position';
/** Read like a feed, by market: the price of the profile's price feed; absent where the profile binds none. */
export const MARKET_PRICE = 'market.price';

/** A value of a feed that the profile declares. */
export interface FeedValue {
  readonly name: string;
  /** The market for a feed that is a map or follows a market. */
  readonly key?: string;
  readonly value: DecimalString;
  /** Epoch ms at which it was true. */
  readonly at: number;
}

/** How urgent the reading of a feed is, and how long it may wait for its tokens and then for its answer, ms. */
export interface FeedNeed {
  readonly class?: CallClass;
  readonly withinMs?: number;
}

export interface VenuePort {
  call<E extends EndpointName>(call: VenueCall<E>): Promise<CallOutcome<E>>;
  /**
   * Makes a call only where it is certain to be denied here, and gives the denial; undefined where it may pass. Orders of the run that
   * work are not held against it: they may end before it is sent.
   */
  findDenial(call: VenueCall<'POST /orders'>): Promise<CallOutcome<'POST /orders'> | undefined>;
  /** Holds back new orders of the account, of every run in this process, until the promise is settled. */
  keepOrdersBack(until: Promise<unknown>): void;
  /** Reads a feed. Never throws: a feed that cannot be read gives undefined, which the engine reports as stale. */
  feed(name: string, key: string | undefined, step: string, need?: FeedNeed): Promise<FeedValue | undefined>;
  /** A read-only endpoint that the profile declares (`request` of the runbook). The result is JSON with decimals as strings. */
  request(
    name: string,
    params: Readonly<Record<string, string>>,
    id: string,
    step: string,
    need?: { readonly wanted?: Wanted | undefined },
  ): Promise<RequestOutcome>;
  /** Tick, lot and smallest size of a market; undefined for a market that the deployment does not describe. */
  market(id: string): MarketRules | undefined;
  /** Every market that the deployment describes, for feeds that are maps. */
  readonly markets: readonly string[];
}

export type RequestOutcome =
  /** `sentAt`: epoch ms; absent in a replay. */
  | { readonly kind: 'confirmed'; readonly result: unknown; readonly sentAt?: number }
  | {
      readonly kind: 'rejected' | 'denied' | 'unresolved';
      readonly failure: CallFailureKind;
      readonly message: string;
      readonly retryAfterMs?: number;
    };

/** The steps of a market, decimals as strings (profile, `markets`). */
export interface MarketRules {
  readonly tick: DecimalString;
  readonly lot: DecimalString;
  readonly min_size?: DecimalString;
}
