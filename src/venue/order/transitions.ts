/**
 * What each event does to an order in each state, as one total table, with the reason beside each odd row (orders.md, The
 * transition table). Acknowledgements set intent, records set truth, exposure is the sum of fills.
 */
import type { OrderEventType } from './context.ts';
import type { GuardName } from './guards.ts';
import { ORDER_STATES, type OrderState } from './states.ts';

/**
 * What a cell says: a state to go to · `.` stay, update the context · `~` stale or redundant: drop, count · `!`
 * contradiction: keep both facts, stay, read again · `X` the caller's mistake: refuse, no request is sent.
 */
export type Outcome = OrderState | '.' | '~' | '!' | 'X';

/** A cell that depends: the first arm whose guard holds, else the last. */
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
  // Never refused: cancelling what has ended is harmless, refusing to cancel what lives is not. In `submitting` the wish is kept until an id is known.
  CANCEL:            [denied,              _,           _,                   canceling,   canceling,         canceling,           _,                   _,                _,               _,               _,           _,           _],
  // Answers to a POST. A late ACK heals `unknown`, `absent` and `quarantined`: it is the venue's word that the order exists.
  ACK:               [X,                   processing,  processing,          stale,       stale,             stale,               stale,               stale,            stale,           stale,           processing,  X,           processing],
  REFUSED:           [X,                   rejected,    rejected,            stale,       stale,             stale,               stale,               stale,            stale,           stale,           stale,       X,           _],
  // A 429 is definite: nothing was placed, and the same attempt may be sent again.
  RATE_LIMITED:      [X,                   draft,       _,                   stale,       stale,             stale,               stale,               stale,            stale,           stale,           stale,       X,           _],
  // "Duplicate" means that it exists: look it up, and never call it absent (venue-notes.md, surprise 11).
  DUPLICATE:         [X,                   unknown,     _,                   stale,       stale,             stale,               stale,               stale,            stale,           stale,           unknown,     X,           _],
  SUBMIT_UNKNOWN:    [X,                   unknown,     _,                   stale,       stale,             stale,               stale,               stale,            stale,           stale,           stale,       X,           _],
  // Answers to a PUT. In `open` a late one re-opens the question: the terms are unknown again until a record shows them.
  AMEND_ACK:         [X,                   X,           contradicts,         contradicts, amending,          _,                   _,                   stale,            stale,           stale,           stale,       X,           _],
  AMEND_REFUSED:     [X,                   X,           contradicts,         stale,       stale,             open,                _,                   stale,            stale,           stale,           stale,       X,           _],
  AMEND_UNKNOWN:     [X,                   X,           contradicts,         stale,       amending,          _,                   _,                   stale,            stale,           stale,           stale,       X,           _],
  // Answers to a DELETE. An acknowledged cancel is an intent; only CANCEL_FINAL, whose status is `canceled`, is an end.
  CANCEL_ACK:        [X,                   X,           canceling,           canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       X,           _],
  CANCEL_FINAL:      [X,                   X,           canceled,            canceled,    canceled,          canceled,            canceled,            stale,            stale,           stale,           stale,       X,           canceled],
  // Refused because it has ended already: stay and read, for a fill or an earlier cancel won. Refused otherwise: it still works.
  CANCEL_REFUSED:    [X,                   X,           _,                   _,           stale,             _,                   openUnlessOvertaken, stale,            stale,           stale,           stale,       X,           _],
  CANCEL_UNKNOWN:    [X,                   X,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       X,           _],
  // Account-wide cancels. Each order still needs a terminal record of its own; what survives is swept again. One in flight may land behind them.
  CANCELALL_ACK:     [_,                   _,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       stale,       _],
  CANCELALL_UNKNOWN: [_,                   _,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       stale,       _],
  DEADMAN:           [_,                   _,           _,                   canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           stale,       stale,       _],
  // Records. A draft that was never sent and a denied order: whatever is read of them is somebody else's, or our mistake. A
  // draft that was sent and refused is at the venue all the same when a record shows it.
  P_PROCESSING:      [processingIfRefused, processing,  processing,          _,           stale,             stale,               _,                   stale,            stale,           stale,           processing,  contradicts, _],
  // `amending`: only the requested terms, or the old ones late and twice, settle it. `canceling`: a lost cancel only if the read was sent late.
  // `canceled`, `rejected`: a read from before the end is stale, a later one re-opens. `closed` is never re-opened: fills closed it.
  P_OPEN:            [openIfRefused,       open,        open,                open,        _,                 openIfAmendSettled,  openIfCancelLost,    staleBeforeClose, openUnlessStale, openUnlessStale, open,        contradicts, open],
  // Nobody can amend what has not been seen: before `open` it contradicts. `rejected` keeps its end: only P_OPEN re-opens it.
  P_AMENDING:        [contradicts,         contradicts, contradicts,         contradicts, amending,          _,                   _,                   stale,            openUnlessStale, stale,           contradicts, contradicts, _],
  P_CANCELING:       [cancelingIfRefused,  canceling,   canceling,           canceling,   canceling,         canceling,           _,                   stale,            stale,           stale,           canceling,   contradicts, _],
  // Terminal records are admissible at once. `closed` outranks `canceled` and `rejected`: a fill that won shows last.
  P_CLOSED:          [closedIfRefused,     closed,      closed,              closed,      closed,            closed,              closed,              _,                closed,          closed,          closed,      contradicts, closed],
  // Around an amend the venue may show `canceled` for an instant (surprise 4): there it must be seen twice.
  P_CANCELED:        [canceledIfRefused,   canceled,    canceled,            canceled,    canceled,          canceledIfSeenTwice, canceledIfConfirmed, contradicts,      _,               contradicts,     canceled,    contradicts, canceled],
  P_REJECTED:        [rejectedIfRefused,   rejected,    rejected,            rejected,    rejected,          rejectedIfSeenTwice, rejected,            contradicts,      contradicts,     _,               rejected,    contradicts, rejected],
  // An unknown status never crashes and never ends anything; reported once, and not counted towards quarantine (fault-matrix.md, row 56).
  P_UNKNOWN_STATUS:         [contradicts,         contradicts, contradicts,         contradicts, contradicts,       contradicts,         contradicts,         contradicts,      contradicts,     contradicts,     contradicts, contradicts, contradicts],
  // Not found is not "not placed" (surprise 2): counted while nothing was ever seen, contradicting once something was.
  P_NOT_FOUND:       [_,                   _,           _,                   _,           staleBeforeRecord, staleBeforeRecord,   stayBeforeRecord,    stale,            stale,           stale,           _,           _,           _],
  // A fill is booked in every state, the contradicting ones too: exposure must not wait for an explanation.
  FILL:              [openIfRefused,       _,           _,                   open,        _,                 _,                   _,                   _,                _,               contradicts,     open,        contradicts, _],
  // Time. What is not resolved when the reads are used up is a person's case; only a never-seen order can be proven absent.
  T_CONFIRM:         [stale,               unknown,     _,                   _,           _,                 _,                   _,                   stale,            stale,           stale,           stale,       stale,       _],
  T_EXHAUSTED:       [stale,               unknown,     absentOrQuarantined, quarantined, quarantined,       quarantined,         absentOrQuarantined, stale,            stale,           stale,           stale,       stale,       _],
  T_SETTLE:          [stale,               stale,       stale,               stale,       stale,             stale,               stale,               _,                _,               _,               _,           _,           stale],
} as const satisfies Record<OrderEventType, Row>;

export const ORDER_EVENT_TYPES = Object.keys(ROWS) as readonly OrderEventType[];

/** The table of orders.md: event, then state, then what happens. */
export const TRANSITIONS: Readonly<Record<OrderEventType, Readonly<Record<OrderState, Cell>>>> = Object.fromEntries(
  ORDER_EVENT_TYPES.map((type) => [
    type,
    Object.fromEntries(ORDER_STATES.map((state, column) => [state, ROWS[type][column]])),
  ]),
) as Record<OrderEventType, Record<OrderState, Cell>>;
