/**
 * The only way the engine sees the venue: one function that takes a call and gives one of four outcomes. What stands
 * behind it (limits, budget, journal, session, sockets, fixtures, the simulator, a recorded journal) is not visible here.
 */
import type { DecimalString } from '../base/decimal.ts';
import type { EndpointName, Params, Result } from './catalogue.ts';
import type { LimitRules } from './limits/check.ts';
import type { OrderType, Side, TimeInForce } from './records.ts';

/** Budget classes, strict, first in first out inside one (budget.md, Admission): 0 is the most urgent. */
export const CALL_CLASSES = ['protect', 'resolve', 'enter', 'reconcile', 'read'] as const;
export type CallClass = (typeof CALL_CLASSES)[number];

/** What an order of ours was meant to be; durable before the first byte of its POST. Decimals as strings. */
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
  /** `halt`: an outcome that is not known ends the run; `resend`: allowed once absence is proven. */
  readonly onAmbiguous: 'halt' | 'resend';
  /** `reduce`: may pass notional caps, because it only lowers exposure (language.md, decision 11). */
  readonly allow?: 'reduce';
}

/** Code of what a process decided that died before it was done, and that is too old by now to be done. */
export const STALE_INTENT = 'STALE_INTENT';
/** Code of a call that was withdrawn before it left. */
export const STEP_ENDED = 'STEP_ENDED';
/** The purpose of what is asked only to make sure: not asked of a recording that has no answer to it, but denied with this code. */
export const SWEEP = 'sweep';
export const NOT_RECORDED = 'NOT_RECORDED';

export interface VenueCall<E extends EndpointName = EndpointName> {
  /** Unique in the run and the same when the run is executed again: `<path>#<n>`. */
  readonly id: string;
  /** Path of the step that wants it, `deadman` for the keeper, `watch` for order confirmation. */
  readonly step: string;
  readonly endpoint: E;
  readonly params: Params<E>;
  readonly class: CallClass;
  /** The longest that its answer is waited for, ms, where that is less than the transport's own patience. */
  readonly answerMs?: number;
  /** Of a beat of the deadman switch, or a reading between beats: another one follows as often as this, ms, and must find its tokens. */
  readonly repeatsMs?: number;
  /** Refused at once as `denied` with code DEADLINE when the budget can not grant it before this time (epoch ms). */
  readonly deadlineAt?: number;
  /** For POST /orders: the intent; for PUT and DELETE /orders: which of our orders it is for. */
  readonly intent?: OrderTerms;
  readonly clientOrderId?: string;
  /** Of a write that adds risk: whether it is still wanted, asked until its first byte leaves. Withdrawn, it is denied as STEP_ENDED. */
  readonly wanted?: Wanted;
  /** Epoch ms of the decision, where the process that made it died before anything left: what is too old by now is denied as STALE_INTENT. */
  readonly decidedAt?: number;
  /** Limits of the runbook the step belongs to; the profile's are tighter or looser, and the tighter wins. */
  readonly limits?: LimitRules;
  /** For writes under a price band: the reference it is measured against, and when that was true (epoch ms). */
  readonly reference?: { readonly price: DecimalString; readonly at: number };
  /** Why the call is made, in a word or two, for the reviewer: `lookup`, `confirm`, `keep-alive`, `undo`. */
  readonly purpose?: string;
}

export interface Wanted {
  /** Why it is not any more; undefined while it is. */
  readonly withdrawn: string | undefined;
  /** Tells once when it is withdrawn; what is given ends the listening. */
  onWithdrawn(listener: () => void): () => void;
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

/** Why the venue certainly did not do it. `duplicate`: it knows this client order id already; `unauthorized`: the session was refused twice. */
export type RejectionCause = 'transport' | 'rate_limited' | 'rejected' | 'not_found' | 'duplicate' | 'unauthorized';

interface Settled {
  /** Epoch ms when the request's first byte was about to leave; undefined where nothing left. */
  readonly sentAt?: number;
  /** Epoch ms when the outcome was known. */
  readonly settledAt: number;
}

/**
 * Four outcomes, and nothing else decides:
 * - confirmed: the venue said success and the answer has the endpoint's shape;
 * - rejected: it certainly did not happen: the venue refused it, or no byte left (`failure: 'transport'`);
 * - denied: refused here, before sending, by a limit, the budget's deadline or the kill switch;
 * - unresolved: it may have happened. Never retried as it is, never called failed: reconciled. For a read it means only
 *   that no answer came.
 */
export type CallOutcome<E extends EndpointName = EndpointName> =
  | (Settled & { readonly kind: 'confirmed'; readonly result: Result<E>; readonly notes?: readonly string[] })
  | (Settled & {
      readonly kind: 'rejected';
      readonly failure: RejectionCause;
      /** The venue's text, whole; hostile when printed. */
      readonly message: string;
      /** False where the text is not known to be definite: a POST then looks the order up once (interface.md, Settled points). */
      readonly definite: boolean;
      readonly retryAfterMs?: number;
    })
  | (Settled & { readonly kind: 'denied'; readonly code: string; readonly message: string })
  /** `code`: STALE_INTENT where it could be made again, but too long after it was decided to be what was meant. */
  | (Settled & { readonly kind: 'unresolved'; readonly message: string; readonly code?: string });

/** A value from outside the fourteen endpoints: a feed of the profile. */
export interface FeedValue {
  readonly name: string;
  /** The market for a feed that is a map or follows a market. */
  readonly key?: string;
  readonly value: DecimalString;
  /** Epoch ms at which it was true. */
  readonly at: number;
}

export interface VenuePort {
  call<E extends EndpointName>(call: VenueCall<E>): Promise<CallOutcome<E>>;
  /** Sends no new order for the account, whichever run of this process wants one, until the promise is settled. */
  keepOrdersBack(until: Promise<unknown>): void;
  /** Reads a feed. Throws nothing: a feed that can not be read gives undefined, which the engine reports as stale. */
  feed(name: string, key: string | undefined, step: string): Promise<FeedValue | undefined>;
  /** A read-only endpoint that the profile declares (`request` of the runbook). The result is JSON with decimals as strings. */
  request(name: string, params: Readonly<Record<string, string>>, id: string, step: string): Promise<RequestOutcome>;
  /** Tick, lot and smallest size of a market; undefined for a market the deployment does not describe. */
  market(id: string): MarketRules | undefined;
  /** Every market the deployment describes, for feeds that are maps. */
  readonly markets: readonly string[];
}

export type RequestOutcome =
  | { readonly kind: 'confirmed'; readonly result: unknown }
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
