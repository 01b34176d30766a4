/**
 * The table of transitions: the outcome of each event in each state, with the reason beside each odd row (orders.md, The
 * transition table). Acknowledgements set intent, records set truth, exposure is the sum of fills.
 */
import type { OrderEventType } from './context.ts';
import type { GuardName } from './guards.ts';
import { ORDER_STATES, type OrderState } from './states.ts';

/**
 * The outcome of a cell: a state to go to · `.` stay and update the context · `~` stale or redundant: drop and count · `!`
 * contradiction: keep both facts, stay, read again · `X` the caller's mistake: refuse, no request is sent.
 */
export type Outcome = OrderState | '.' | '~' | '!' | 'X';

/** A cell with guards: the first arm whose guard holds, else `otherwise`. */
export interface Split {
  readonly arms: readonly (readonly [guard: GuardName, then: Outcome])[];
  readonly otherwise: Outcome;
}
export type Cell = Outcome | Split;

function split(guard: GuardName, then: Outcome, otherwise: Outcome): Split {
  return { arms: [[guard, then]], otherwise };
}

const STATE = Object.fromEntries(ORDER_STATES.map((state) => [state, state])) as { readonly [S in OrderState]: S };
const { draft, submitting, unknown, processing, open, amending, canceling } = STATE;
const { closed, canceled, rejected, absent, denied, quarantined } = STATE;
const X = 'X';
const _ = '.';
const stale = '~';
const contradicts = '!';
const absentOrQuarantined = split('absenceProven', absent, quarantined);
const openIfAmendSettled = split('amendSettled', open, _);
const openIfCancelLost = split('cancelLost', open, _);
const openUnlessOvertaken = split('cancelOvertaken', _, open);
const canceledIfSeenTwice = split('phantomConfirmed', canceled, _);
const rejectedIfSeenTwice = split('phantomConfirmed', rejected, _);
const canceledIfConfirmed = split('cancelConfirmed', canceled, _);
const canceledIfNoInstant = split('endConfirmed', canceled, _);
const staleBeforeClose = split('sentBeforeClose', stale, contradicts);
const openUnlessStale = split('sentBeforeEnd', stale, open);
const processingIfRefused = split('refusedBefore', processing, contradicts);
const openIfRefused = split('refusedBefore', open, contradicts);
const cancelingIfRefused = split('refusedBefore', canceling, contradicts);
const closedIfRefused = split('refusedBefore', closed, contradicts);
const canceledIfRefused = split('refusedBefore', canceled, contradicts);
const rejectedIfRefused = split('refusedBefore', rejected, contradicts);
const staleBeforeRecord = split('sentBeforeConfirmed', stale, contradicts);
const stayBeforeRecord: Split = {
  arms: [
    ['neverConfirmed', _],
    ['sentBeforeConfirmed', stale],
  ],
  otherwise: contradicts,
};

/** In the column order of ORDER_STATES. */
type Row = readonly [Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell];

// biome-ignore format: a table is read by its columns
const ROWS = {
  //                  draft                submitting   unknown              processing   open               amending             canceling            closed            canceled         rejected         absent       denied       quarantined
  // Commands. Only a draft, or an order proven absent, may be sent: a second POST is a second order.
  SUBMIT:            [submitting,          X,           X,                   X,           X,                 X,                   X,                   X,                X,               X,               submitting,  X,           X],
  DENY:              [denied,              X,           X,                   X,           X,                 X,                   X,                   X,                X,               X,               X,           _,           X],
  // One amend at a time, and none before the terms are known. A draft's terms change without a request.
  AMEND:             [_,                   X,           X,                   X,           amending,          X,                   X,                   X,                X,               X,               X,           X,           X],
  // Never refused: cancelling an ended order is harmless, refusing to cancel a live one is not. In `submitting` the cancel is kept until an id is known.
  CANCEL:            [denied,              _,           _,                   canceling,   canceling,         canceling,           _,                   _,                _,               _,               _,           _,           _],
  // Answers to a POST. A late ACK resolves `unknown`, `absent` and `quarantined`: it proves that the order exists.
  ACK:               [X,                   processing,  processing,          stale,       stale,             stale,               stale,               stale,            stale,           stale,           processing,  X,           processing],
  REFUSED:           [X,                   rejected,    rejected,            stale,       stale,             stale,               stale,               stale,            stale,           stale,           stale,       X,           _],
  // A 429 is definite: nothing was placed, and the same attempt may be sent again.
  RATE_LIMITED:      [X,                   draft,       _,                   stale,       stale,             stale,               stale,               stale,            stale,           stale,           stale,       X,           _],
  // "Duplicate" means that it exists: look it up, and never call it absent (venue-notes.md, surprise 11).
  DUPLICATE:         [X,                   unknown,     _,                   stale,       stale,             stale,               stale,               stale,            stale,           stale,           unknown,     X,           _],
  SUBMIT_UNKNOWN:    [X,                   unknown,     _,                   stale,       stale,             stale,               stale,               stale,            stale,           stale,           stale,       X,           _],
  // Answers to a PUT. In `open` a late answer makes the terms unknown again until a record shows them.
  AMEND_ACK:         [X,                   X,           contradicts,         contradicts, amending,          _,                   _,                   stale,            stale,           stale,           stale,       X,           _],
  AMEND_REFUSED:     [X,                   X,           contradicts,         stale,       stale,             open,                _,                   stale,            stale,           stale,           stale,       X,           _],
  AMEND_UNKNOWN:     [X,                   X,           contradicts,         stale,       amending,          _,                   _,                   stale,            stale,           stale,           stale,       X,           _],
  // Answers to a DELETE. An acknowledged cancel is an intent; only CANCEL_FINAL, whose status is `canceled`, is an end.
  CANCEL_ACK:        [X,                   X,           canceling,           canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       X,           _],
  CANCEL_FINAL:      [X,                   X,           canceled,            canceled,    canceled,          canceled,            canceled,            stale,            stale,           stale,           stale,       X,           canceled],
  // Refused because the order has ended: stay and read, because a fill or an earlier cancel came first. Refused otherwise: it still works.
  CANCEL_REFUSED:    [X,                   X,           _,                   _,           stale,             _,                   openUnlessOvertaken, stale,            stale,           stale,           stale,       X,           _],
  CANCEL_UNKNOWN:    [X,                   X,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       X,           _],
  // Account-wide cancels. Each order still needs its own terminal record; survivors are cancelled again. A POST in flight may arrive after them.
  CANCELALL_ACK:     [_,                   _,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       stale,       _],
  CANCELALL_UNKNOWN: [_,                   _,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       stale,       _],
  DEADMAN:           [_,                   _,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       stale,       _],
  // Records. A record of a draft that was never sent, or of a denied order, belongs to another program or is an internal error.
  // A draft that was sent and refused is at the venue after all when a record shows it.
  P_PROCESSING:      [processingIfRefused, processing,  processing,          _,           stale,             stale,               _,                   stale,            stale,           stale,           processing,  contradicts, _],
  // `amending`: only the requested terms, or the old ones late and twice, settle it. `canceling`: a lost cancel only if the read was sent late.
  // `canceled`, `rejected`: a read from before the end is stale, a later one re-opens. `closed` is never re-opened: fills closed it.
  P_OPEN:            [openIfRefused,       open,        open,                open,        _,                 openIfAmendSettled,  openIfCancelLost,    staleBeforeClose, openUnlessStale, openUnlessStale, open,        contradicts, open],
  // An order cannot be amended before it was seen: before `open` it contradicts. `rejected` keeps its end: only P_OPEN re-opens it.
  P_AMENDING:        [contradicts,         contradicts, contradicts,         contradicts, amending,          _,                   _,                   stale,            openUnlessStale, stale,           contradicts, contradicts, _],
  P_CANCELING:       [cancelingIfRefused,  canceling,   canceling,           canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           canceling,   contradicts, _],
  // Terminal records are admissible at once. `closed` outranks `canceled` and `rejected`: the fill that closed the order shows last.
  P_CLOSED:          [closedIfRefused,     closed,      closed,              closed,      closed,            closed,              closed,              _,                closed,          closed,          closed,      contradicts, closed],
  // Around an amend the venue may show `canceled` for an instant (surprise 4), and a late read shows it behind the new terms: there it must be seen twice.
  P_CANCELED:        [canceledIfRefused,   canceled,    canceled,            canceled,    canceledIfNoInstant, canceledIfSeenTwice, canceledIfConfirmed, contradicts,      _,               contradicts,     canceled,    contradicts, canceled],
  P_REJECTED:        [rejectedIfRefused,   rejected,    rejected,            rejected,    rejected,          rejectedIfSeenTwice, rejected,            contradicts,      contradicts,     _,               rejected,    contradicts, rejected],
  // An unknown status never crashes and never ends anything; reported once, and not counted towards quarantine (fault-matrix.md, row 56).
  P_UNKNOWN_STATUS:         [contradicts,         contradicts, contradicts,         contradicts, contradicts,       contradicts,         contradicts,         contradicts,      contradicts,     contradicts,     contradicts, contradicts, contradicts],
  // Not found is not "not placed" (surprise 2): counted while nothing was ever seen, contradicting once something was.
  P_NOT_FOUND:       [_,                   _,           _,                   _,           staleBeforeRecord, staleBeforeRecord,   stayBeforeRecord,    stale,            stale,           stale,           _,           _,           _],
  // A fill is booked in every state, the contradicting ones too: exposure must not wait for an explanation.
  FILL:              [openIfRefused,       _,           _,                   open,        _,                 _,                   _,                   _,                _,               contradicts,     open,        contradicts, _],
  // Time. An order that is not resolved when the reads are used up needs a person; only an order that was never seen can be proven absent.
  T_CONFIRM:         [stale,               unknown,     _,                   _,           _,                 _,                   _,                   stale,            stale,           stale,           stale,       stale,       _],
  T_EXHAUSTED:       [stale,               unknown,     absentOrQuarantined, quarantined, quarantined,       quarantined,         absentOrQuarantined, stale,            stale,           stale,           stale,       stale,       absentOrQuarantined],
  T_SETTLE:          [stale,               stale,       stale,               stale,       stale,             stale,               stale,               _,                _,               _,               _,           _,           stale],
} as const satisfies Record<OrderEventType, Row>;

export const ORDER_EVENT_TYPES = Object.keys(ROWS) as readonly OrderEventType[];

/** The table of orders.md: event, then state, then outcome. */
export const TRANSITIONS: Readonly<Record<OrderEventType, Readonly<Record<OrderState, Cell>>>> = Object.fromEntries(
  ORDER_EVENT_TYPES.map((type) => [
    type,
    Object.fromEntries(ORDER_STATES.map((state, column) => [state, ROWS[type][column]])),
  ]),
) as Record<OrderEventType, Record<OrderState, Cell>>;
