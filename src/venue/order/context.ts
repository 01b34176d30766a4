/**
 * The context of one order beside its state, and the events that change it: pure data, decimals as strings, instants in epoch
 * ms. Nothing is decided here; the table is in transitions.ts, its guards in guards.ts.
 */
import type { DecimalString } from '../../base/decimal.ts';
import type { OrderTerms } from '../port.ts';
import type { FillRecord, OrderRecord } from '../records.ts';
import type { OrderState } from './states.ts';

/** Every duration and count that a guard or a caller's timer uses. The lags are guesses: the document gives none (orders.md). */
export const TIMINGS = {
  /** A read may show the old terms for this long after an amend was resolved: with too short a time an applied amend counts as lost. */
  amendLagMs: 3_000,
  /** This many later reads with the old terms make an amend lost: a single one may come from a replica that hangs. */
  amendLostReads: 2,
  /**
   * A `canceled` around an amend must still be shown by a read sent so long after the answer that showed it first: the venue may show
   * it for an instant (venue-notes.md, surprise 4), of 1.5 s at most, and a read of behind it may be as old as the read lag.
   */
  phantomMs: 4_000,
  /**
   * The same where a cancel was asked for, counted from when the first read was sent, and from its answer: an end is what is to be
   * expected there, and an exit waits for it.
   */
  cancelPhantomMs: 2_000,
  cancelPhantomAnswerMs: 1_500,
  /** For this long after an amend whose new terms were not shown a `canceled` may be only that instant. */
  phantomWindowMs: 20_000,
  /** A read may be this much older than one that was answered before it. */
  readLagMs: 2_500,
  /** `open` in a read this long after a cancel was answered means that the cancel failed; before that the cancel may not be visible yet. */
  cancelLagMs: 3_500,
  /** Like the read lag, but longer: fills lead to `closed`, and reopening a filled order would be the worse mistake. */
  closedLagMs: 5_000,
  /** Cancels sent for one order before a person is needed. */
  cancelTries: 3,
  /** A state in flight that is older than this needs a read (T_CONFIRM); longer than the time-out of a request would hide a dead one. */
  confirmMs: 15_000,
  /** Late-fill grace after a terminal status (T_SETTLE): twice the longest lag above. */
  settleMs: 10_000,
  /** Reads that must find nothing before an order may be called absent. */
  absenceReads: 5,
  /** Default of `ambiguity.window`: how long after the last attempt a request may still arrive at the venue. */
  absenceHorizonMs: 90_000,
  /** Contradictions on one order within the window after which a person is needed. */
  illegalEvents: 3,
  illegalWindowMs: 60_000,
} as const;

/** Why an order is cancelled. `external`: the venue showed it cancelling without a request of ours. */
export type CancelCause = 'run' | 'operator' | 'cancel_all' | 'deadman' | 'kill' | 'external';

interface Timed {
  /** Epoch ms when it was known. */
  readonly at: number;
}
interface Observed extends Timed {
  /** Epoch ms when the read was sent, which decides whether it is admissible. For a push: when it arrived. */
  readonly sentAt: number;
  readonly record: OrderRecord;
}
interface Refusal extends Timed {
  /** The venue's text, whole. */
  readonly message?: string;
}

export type ObservationType =
  | 'P_PROCESSING'
  | 'P_OPEN'
  | 'P_AMENDING'
  | 'P_CANCELING'
  | 'P_CLOSED'
  | 'P_CANCELED'
  | 'P_REJECTED'
  | 'P_UNKNOWN_STATUS';

export type Observation = Observed & { readonly type: ObservationType };

/** The rows of the table: commands, then their answers, then records, then time. */
export type OrderEvent =
  | (Timed & { readonly type: 'SUBMIT' })
  | (Refusal & { readonly type: 'DENY' })
  | (Timed & { readonly type: 'AMEND'; readonly price: DecimalString; readonly size?: DecimalString | undefined })
  | (Timed & { readonly type: 'CANCEL'; readonly cause?: CancelCause | undefined })
  | (Timed & { readonly type: 'ACK'; readonly orderId: string })
  | (Refusal & { readonly type: 'REFUSED' | 'DUPLICATE' | 'SUBMIT_UNKNOWN' | 'AMEND_REFUSED' | 'CANCEL_REFUSED' })
  | (Timed & {
      readonly type: 'AMEND_ACK';
      readonly price?: DecimalString | undefined;
      readonly size?: DecimalString | undefined;
    })
  | (Timed & {
      readonly type:
        | 'RATE_LIMITED'
        | 'AMEND_UNKNOWN'
        | 'CANCEL_ACK'
        | 'CANCEL_FINAL'
        | 'CANCEL_UNKNOWN'
        | 'CANCELALL_ACK'
        | 'CANCELALL_UNKNOWN'
        | 'DEADMAN'
        | 'T_CONFIRM'
        | 'T_SETTLE';
    })
  /** `unproven`: no page of the market confirmed what the look-ups found. */
  | (Timed & { readonly type: 'T_EXHAUSTED'; readonly unproven?: true })
  | Observation
  | (Timed & { readonly type: 'P_NOT_FOUND'; readonly sentAt: number })
  | (Timed & { readonly type: 'FILL'; readonly fill: FillRecord });
export type OrderEventType = OrderEvent['type'];

/** Price and ordered size; price is undefined while none is known (a market order without one). */
export interface Terms {
  readonly price?: DecimalString | undefined;
  readonly size?: DecimalString | undefined;
}

export interface Amend {
  readonly old: Terms;
  /** Undefined for an amend that this program did not send. */
  readonly req?: Terms | undefined;
  /** What was known to have filled when this program sent it, base currency. */
  readonly filled?: DecimalString | undefined;
  readonly sentAt: number;
  /** When the PUT was answered or given up; until then no read proves anything about it. */
  readonly resolvedAt?: number | undefined;
  /** Later reads that still showed the old terms, and when the last of them was sent. */
  readonly oldReads: number;
  readonly oldReadSentAt?: number | undefined;
  readonly outcome?: 'applied' | 'lost' | 'refused' | undefined;
}

export interface Cancel {
  readonly cause: CancelCause;
  readonly sentAt: number;
  /** When the cancel in force was answered or given up. */
  readonly ackedAt?: number | undefined;
  /** Whether the venue has ever accepted one; an order that ends without that may have ended before. */
  readonly accepted?: boolean | undefined;
  /** DELETEs requested in all. */
  readonly tries: number;
}

export interface Absence {
  readonly horizonMs: number;
  /** Reads that found nothing, sent after the submission was resolved. */
  readonly count: number;
  readonly firstAt?: number | undefined;
  readonly lastSentAt?: number | undefined;
  /** When the POST was answered or given up. */
  readonly abortAt?: number | undefined;
  /** `abortAt` plus the horizon: absence needs a read sent later than this. */
  readonly provenAfter?: number | undefined;
  /** The venue called the client order id a duplicate: the order exists, whatever reads show. */
  readonly duplicateSeen: boolean;
}

/** Everything known of an order beside its state. `fills` is a map for look-ups; the rest is plain JSON. */
export interface OrderContext {
  readonly intent: OrderTerms;
  /** Counts the requests that placed it: one more each time that it was proven absent and is sent again. */
  readonly attempt: number;
  /** When the present state was entered. */
  readonly since: number;
  readonly venueId?: string | undefined;
  /** Price in force, as far as known. */
  readonly price?: DecimalString | undefined;
  /** Ordered size in force, base currency; for stop_loss and take_profit the fraction until a record has given a size. */
  readonly size: DecimalString;
  /** When the terms in force were last changed or settled; reads sent soon after may still show older ones. */
  readonly termsSince?: number | undefined;
  /** The largest size that was ever ordered, base currency; undefined where only a fraction is known. */
  readonly authorised?: DecimalString | undefined;
  readonly fills: ReadonlyMap<string, FillRecord>;
  /**
   * For a stop: its records show that it has triggered. A part of the position was shown as a fraction and is shown as a size, or
   * a status that only an untriggered stop has was followed by another. Undefined where nothing shows it, which proves nothing.
   */
  readonly triggered?: true | undefined;
  /** Of a position stop: its records show a size in base currency before it triggers, so that one proves nothing. */
  readonly showsBase?: true;
  /** Σ fills. */
  readonly filled: DecimalString;
  /** The largest filled size in any record. */
  readonly recordFilled: DecimalString;
  /** When a record showed that size first, epoch ms. */
  readonly recordFilledAt?: number | undefined;
  /** The part of the size in force that is not filled yet; `0` for stop_loss and take_profit until a record has given a size. */
  readonly remaining: DecimalString;
  readonly overfilled: boolean;
  readonly amend?: Amend | undefined;
  /**
   * The instant in which the venue may show it as canceled, of the last amend that was not refused: `since` that was resolved, and
   * over when a record showed the new terms (`overAt`), where nothing else explains them.
   */
  readonly instant?: { readonly since: number; readonly overAt?: number | undefined } | undefined;
  readonly cancel?: Cancel | undefined;
  /** When a record of the order was first read. */
  readonly confirmedAt?: number | undefined;
  /** When the terminal status was known. */
  readonly terminalAt?: number | undefined;
  readonly absence: Absence;
  /** An end that is not believed yet: its record's event, and when the read that showed it first was sent and answered. */
  readonly phantom?: { readonly status: string; readonly sentAt: number; readonly at: number } | undefined;
  /** The late-fill grace is over. */
  readonly settled: boolean;
  readonly lastRecord?: OrderRecord | undefined;
  /** The unknown status under which the venue shows it, and since when; cleared as soon as it shows a known one. */
  readonly unknownStatus?: { readonly status: string; readonly since: number } | undefined;
  /** An attempt was refused for want of tokens or of a session. */
  readonly refused?: boolean | undefined;
  /** Why it was refused, denied or rejected: the venue's text or ours. */
  readonly reason?: string | undefined;
  /** Stale and redundant events dropped. */
  readonly stale: number;
  readonly illegal: {
    /** `state × event` cells that have raised their alarm. */
    readonly cells: readonly string[];
    /** Times of those that count towards quarantine. */
    readonly recent: readonly number[];
    readonly total: number;
  };
}

export interface OrderSnapshot {
  readonly state: OrderState;
  readonly context: OrderContext;
}

export const ORDER_ALARMS = {
  LateFill: 'a fill arrived after the order was settled, or after it ended without a record that announced it',
  Overfill: 'more was filled than was ever ordered; the market must be halted',
  RejectedWithFill: 'a rejected order has fills; they count',
  LateOrder: 'an order that had ended is working again',
  Reappeared: 'an order that was proven absent is at the venue',
  RefusedOrderFound: 'the venue refused it in words that decide nothing, and shows it all the same',
  EarlierTerms: 'a further attempt of its step asked for other terms than those of this order',
  StopKept: 'a stop that covers what the run has opened was left working where the run cleaned up',
  UnseenAtEnd:
    'no answer showed it when it was judged what the run leaves: what it has filled, and whether it works, is not known; look it up at the venue',
  StopNotTightened: 'a tighter stop could not be placed: the one that works stays where it is',
  StopNotPutBack:
    'an exit failed, and the stop that it had cancelled could not be placed again: THE POSITION HAS NO STOP',
  StopClosedMore:
    'a position stop closed more than the run held: it closes the position of the account, and what others held of it is gone too',
  ClosedByOthers:
    'others have closed what the run holds, as a stop or target of it shows that ended without a request of this program or closed less than its part: no market order was sent for that; look at the position at the venue',
  SelfMatchPossible: 'an order that closes was sent although it may trade with a resting order of our own',
  ExternalChange: 'the terms changed without an amend of ours',
  ExternalAction: 'the venue liquidated the position',
  AmendLost: 'the venue acknowledged an amend, and the old terms remain',
  CancelLost: 'the venue acknowledged a cancel, and the order still works',
  FillCorrected: 'a known fill arrived again with other figures; the larger size counts',
  FillsIncomplete: 'the late-fill grace is over and the fills do not add up to the filled size of the record',
  DuplicateOrder: 'another order at the venue carries this client order id',
  UnknownStatus: 'the venue showed an unknown status; it counts as not terminal',
  Contradiction: 'a read contradicts what was known; the detail holds both',
  Quarantined:
    'cannot be resolved automatically: no new exposure in this market until a person or a definite read settles it',
} as const satisfies Record<string, string>;
export type OrderAlarmName = keyof typeof ORDER_ALARMS;

export interface OrderAlarm {
  readonly alarm: OrderAlarmName;
  /** JSON-safe: the facts that contradict each other. */
  readonly detail: { readonly [key: string]: string | number | boolean };
}

/** The next request that the order needs; the caller decides. `cancel_again` is never wanted after three tries. */
export type OrderWant = 'resync' | 'read_fills' | 'cancel_again' | 'halt_market';

export interface OrderStep {
  readonly snapshot: OrderSnapshot;
  readonly moved: boolean;
  readonly disposition: 'moved' | 'updated' | 'stale' | 'contradiction' | 'caller_error';
  readonly alarms: readonly OrderAlarm[];
  readonly wants: readonly OrderWant[];
}

export interface OrderOptions {
  /** Profile, `ambiguity.window`, ms; 90 s where the profile says nothing. */
  readonly absenceHorizonMs?: number;
  /** Profile, `position_orders.shown_size`; fraction where the profile says nothing. */
  readonly shownSize?: 'fraction' | 'base';
}

/** Whether the price that a record shows is the order's own: what a venue shows of an order that takes any price means nothing. */
export function showsPrice({ type }: { readonly type: string }): boolean {
  return type !== 'market' && type !== 'stop_market';
}

/** Whether the size is a fraction of the position: such an order can only reduce, and its size must not be added to base sizes. */
export function isPositionStop(terms: { readonly type: string }): boolean {
  return terms.type === 'stop_loss' || terms.type === 'take_profit';
}

/** Shared by orders: of most of a long run there is nothing to say. */
const NO_FILLS: OrderContext['fills'] = new Map();
const NOTHING_ILLEGAL: OrderContext['illegal'] = { cells: [], recent: [], total: 0 };

/** An order that is validated and journaled but not sent. `at` is epoch ms. */
export function createOrder(intent: OrderTerms, at: number, options: OrderOptions = {}): OrderSnapshot {
  const fraction = isPositionStop(intent);
  return {
    state: 'draft',
    context: {
      intent,
      attempt: 1,
      since: at,
      price: intent.price,
      size: intent.size,
      authorised: fraction ? undefined : intent.size,
      ...(fraction && options.shownSize === 'base' ? { showsBase: true } : {}),
      fills: NO_FILLS,
      filled: '0',
      recordFilled: '0',
      remaining: fraction ? '0' : intent.size,
      overfilled: false,
      absence: { horizonMs: options.absenceHorizonMs ?? TIMINGS.absenceHorizonMs, count: 0, duplicateSeen: false },
      settled: false,
      stale: 0,
      illegal: NOTHING_ILLEGAL,
    },
  };
}
