/**
 * The life of an order as one total table: thirteen states, every event in every state, and the reason beside each odd
 * row. Acknowledgements set intent, records set truth, exposure is the sum of fills. `stepOrder` folds one event over a
 * snapshot; `OrderActor` does the same for one order by the XState machine that is generated from the table.
 * Nothing here asks the time, sends anything, or throws at what a venue says.
 */
import { assign, setup } from 'xstate';
import type { OrderTerms } from '../port.ts';
import { isTerminalStatus, type OrderRecord } from '../records.ts';
import { afterAnomaly, isQuarantineDue } from './anomalies.ts';
import type { Change } from './change.ts';
import {
  isPositionStop,
  newOrder,
  type ObservationType,
  ORDER_STATES,
  type OrderAlarm,
  type OrderContext,
  type OrderEvent,
  type OrderEventType,
  type OrderOptions,
  type OrderSnapshot,
  type OrderState,
  type OrderStep,
  type OrderWant,
} from './context.ts';
import { largerDecimal, shortfall } from './fills.ts';
import { GUARDS, type GuardName, isForeign } from './guards.ts';
import { afterEvent } from './updates.ts';

export type {
  CancelCause,
  Observation,
  ObservationType,
  OrderAlarm,
  OrderAlarmName,
  OrderContext,
  OrderEvent,
  OrderEventType,
  OrderOptions,
  OrderSnapshot,
  OrderState,
  OrderStep,
  OrderWant,
} from './context.ts';
export { isPositionStop, newOrder, ORDER_ALARMS, ORDER_STATES, TIMINGS } from './context.ts';

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

const [
  draft,
  submitting,
  unknown,
  processing,
  open,
  amending,
  canceling,
  closed,
  canceled,
  rejected,
  absent,
  denied,
  quarantin,
] = ORDER_STATES;
const X = 'X';
const _ = '.';
const Z = '~';
const C = '!';
const orQuarant = split('absenceProven', absent, quarantin);
const amendOpen = split('amendSettled', open, _);
const cancelLst = split('cancelLost', open, _);
const cancelRef = split('cancelOvertaken', _, open);
const phantCanc = split('phantomConfirmed', canceled, _);
const phantReje = split('phantomConfirmed', rejected, _);
const cancelCon = split('cancelConfirmed', canceled, _);
const closedLag = split('sentBeforeClose', Z, C);
const endedOpen = split('sentBeforeEnd', Z, open);
const afterProc = split('refusedBefore', processing, C);
const afterOpen = split('refusedBefore', open, C);
const afterCncl = split('refusedBefore', canceling, C);
const afterClsd = split('refusedBefore', closed, C);
const afterCncd = split('refusedBefore', canceled, C);
const afterRejd = split('refusedBefore', rejected, C);
const notFound = split('sentBeforeConfirmed', Z, C);
const notFoundC: Split = {
  arms: [
    ['neverConfirmed', _],
    ['sentBeforeConfirmed', Z],
  ],
  otherwise: C,
};

/** In the column order of ORDER_STATES. */
type Row = readonly [Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell];

// biome-ignore format: a table is read by its columns
const ROWS = {
  //                  draft       submitting  unknown     processing  open        amending    canceling   closed      canceled    rejected    absent      denied      quarantined
  // Commands. Only a draft, or an order proven absent, may be sent: a second POST is a second order.
  SUBMIT:            [submitting, X,          X,          X,          X,          X,          X,          X,          X,          X,          submitting, X,          X],
  DENY:              [denied,     X,          X,          X,          X,          X,          X,          X,          X,          X,          X,          _,          X],
  // One amend at a time, and none before the terms are known. A draft's terms change without a request.
  AMEND:             [_,          X,          X,          X,          amending,   X,          X,          X,          X,          X,          X,          X,          X],
  // Never refused: cancelling what has ended is harmless, refusing to cancel what lives is not. In `submitting` the wish is kept until an id is known.
  CANCEL:            [denied,     _,          _,          canceling,  canceling,  canceling,  _,          _,          _,          _,          _,          _,          _],
  // Answers to a POST. A late ACK heals `unknown`, `absent` and `quarantined`: it is the venue's word that the order exists.
  ACK:               [X,          processing, processing, Z,          Z,          Z,          Z,          Z,          Z,          Z,          processing, X,          processing],
  REFUSED:           [X,          rejected,   rejected,   Z,          Z,          Z,          Z,          Z,          Z,          Z,          Z,          X,          _],
  // A 429 is definite: nothing was placed, and the same attempt may be sent again.
  RATE_LIMITED:      [X,          draft,      _,          Z,          Z,          Z,          Z,          Z,          Z,          Z,          Z,          X,          _],
  // "Duplicate" means that it exists: look it up, and never call it absent (venue-notes.md, surprise 11).
  DUPLICATE:         [X,          unknown,    _,          Z,          Z,          Z,          Z,          Z,          Z,          Z,          unknown,    X,          _],
  SUBMIT_UNKNOWN:    [X,          unknown,    _,          Z,          Z,          Z,          Z,          Z,          Z,          Z,          Z,          X,          _],
  // Answers to a PUT. In `open` a late one re-opens the question: the terms are unknown again until a record shows them.
  AMEND_ACK:         [X,          X,          C,          C,          amending,   _,          _,          Z,          Z,          Z,          Z,          X,          _],
  AMEND_REFUSED:     [X,          X,          C,          Z,          Z,          open,       _,          Z,          Z,          Z,          Z,          X,          _],
  AMEND_UNKNOWN:     [X,          X,          C,          Z,          amending,   _,          _,          Z,          Z,          Z,          Z,          X,          _],
  // Answers to a DELETE. An acknowledged cancel is an intent; only CANCEL_FINAL, whose status is `canceled`, is an end.
  CANCEL_ACK:        [X,          X,          canceling,  canceling,  canceling,  canceling,  _,          Z,          Z,          Z,          Z,          X,          _],
  CANCEL_FINAL:      [X,          X,          canceled,   canceled,   canceled,   canceled,   canceled,   Z,          Z,          Z,          Z,          X,          canceled],
  // Refused because it has ended already: stay and read, for a fill or an earlier cancel won. Refused otherwise: it still works.
  CANCEL_REFUSED:    [X,          X,          _,          _,          Z,          _,          cancelRef,  Z,          Z,          Z,          Z,          X,          _],
  CANCEL_UNKNOWN:    [X,          X,          _,          canceling,  canceling,  canceling,  _,          Z,          Z,          Z,          Z,          X,          _],
  // Account-wide cancels. Each order still needs a terminal record of its own; what survives is swept again. One in flight may land behind them.
  CANCELALL_ACK:     [_,          _,          _,          canceling,  canceling,  canceling,  _,          Z,          Z,          Z,          Z,          Z,          _],
  CANCELALL_UNKNOWN: [_,          _,          _,          canceling,  canceling,  canceling,  _,          Z,          Z,          Z,          Z,          Z,          _],
  DEADMAN:           [_,          _,          _,          canceling,  canceling,  canceling,  _,          Z,          Z,          Z,          Z,          Z,          _],
  // Records. A draft that was never sent and a denied order: whatever is read of them is somebody else's, or our mistake. A
  // draft that was sent and refused is at the venue all the same when a record shows it.
  P_PROCESSING:      [afterProc,  processing, processing, _,          Z,          Z,          _,          Z,          Z,          Z,          processing, C,          _],
  // `amending`: only the requested terms, or the old ones late and twice, settle it. `canceling`: a lost cancel only if the read was sent late.
  // `canceled`, `rejected`: a read from before the end is stale, a later one re-opens. `closed` is never re-opened: fills closed it.
  P_OPEN:            [afterOpen,  open,       open,       open,       _,          amendOpen,  cancelLst,  closedLag,  endedOpen,  endedOpen,  open,       C,          open],
  // Nobody can amend what has not been seen: before `open` it contradicts. `rejected` keeps its end: only P_OPEN re-opens it.
  P_AMENDING:        [C,          C,          C,          C,          amending,   _,          _,          Z,          endedOpen,  Z,          C,          C,          _],
  P_CANCELING:       [afterCncl,  canceling,  canceling,  canceling,  canceling,  canceling,  _,          Z,          Z,          Z,          canceling,  C,          _],
  // Terminal records are admissible at once. `closed` outranks `canceled` and `rejected`: a fill that won shows last.
  P_CLOSED:          [afterClsd,  closed,     closed,     closed,     closed,     closed,     closed,     _,          closed,     closed,     closed,     C,          closed],
  // Around an amend the venue may show `canceled` for an instant (venue-notes.md, surprise 4): there it must be seen twice.
  P_CANCELED:        [afterCncd,  canceled,   canceled,   canceled,   canceled,   phantCanc,  cancelCon,  C,          _,          C,          canceled,   C,          canceled],
  P_REJECTED:        [afterRejd,  rejected,   rejected,   rejected,   rejected,   phantReje,  rejected,   C,          C,          _,          rejected,   C,          rejected],
  // An unknown status never crashes and never ends anything; reported once, and not counted towards quarantine (fault-matrix.md, row 56).
  P_STRANGE:         [C,          C,          C,          C,          C,          C,          C,          C,          C,          C,          C,          C,          C],
  // Not found is not "not placed" (venue-notes.md, surprise 2): counted while nothing was ever seen, contradicting once something was.
  P_NOT_FOUND:       [_,          _,          _,          _,          notFound,   notFound,   notFoundC,  Z,          Z,          Z,          _,          _,          _],
  // A fill is booked in every state, the contradicting ones too: exposure must not wait for an explanation.
  FILL:              [afterOpen,  _,          _,          open,       _,          _,          _,          _,          _,          C,          open,       C,          _],
  // Time. What is not resolved when the reads are used up is a person's case; only a never-seen order can be proven absent.
  T_CONFIRM:         [Z,          unknown,    _,          _,          _,          _,          _,          Z,          Z,          Z,          Z,          Z,          _],
  T_EXHAUSTED:       [Z,          unknown,    orQuarant,  quarantin,  quarantin,  quarantin,  orQuarant,  Z,          Z,          Z,          Z,          Z,          _],
  T_SETTLE:          [Z,          Z,          Z,          Z,          Z,          Z,          Z,          _,          _,          _,          _,          _,          Z],
} as const satisfies Record<OrderEventType, Row>;

export const ORDER_EVENT_TYPES = Object.keys(ROWS) as readonly OrderEventType[];

/** The table (orders.md, The transition table): event, then state, then what happens. */
export const TRANSITIONS: Readonly<Record<OrderEventType, Readonly<Record<OrderState, Cell>>>> = Object.fromEntries(
  ORDER_EVENT_TYPES.map((type) => [
    type,
    Object.fromEntries(ORDER_STATES.map((state, column) => [state, ROWS[type][column]])),
  ]),
) as Record<OrderEventType, Record<OrderState, Cell>>;

/** States an order does not leave by itself. Fills may still arrive; a contradicting record can still re-open it. */
const TERMINAL: ReadonlySet<OrderState> = new Set([closed, canceled, rejected, absent, denied]);
/** States in which it may be, or come to be, in the venue's book. */
const WORKING: ReadonlySet<OrderState> = new Set([
  submitting,
  unknown,
  processing,
  open,
  amending,
  canceling,
  quarantin,
]);

export function isTerminal(state: OrderState): boolean {
  return TERMINAL.has(state);
}

/** Canceled by the word of an answer alone: no record has shown the end yet, nor how much was filled before it. */
export function isEndUnseen({ state, context }: OrderSnapshot): boolean {
  const { lastRecord } = context;
  return state === 'canceled' && (lastRecord === undefined || !isTerminalStatus(lastRecord.status));
}

/** Whether it counts as live in every limit: `submitting`, `unknown` and `quarantined` orders too, for nobody knows better. */
export function isWorking(state: OrderState): boolean {
  return WORKING.has(state);
}

/** What a caller may send a request for. The predicates are the table's, narrowed to the cells that mean a request. */
export const orderCan = {
  /** POST: a draft, or an order proven absent that the author allowed to be sent again. */
  submit(order: OrderSnapshot): boolean {
    return order.state === 'draft' || (order.state === 'absent' && order.context.intent.onAmbiguous === 'resend');
  },
  /**
   * PUT. A new size only while nothing is filled, and never for a part of the position: whether the venue reads it as the
   * whole, as the rest or as a fraction is not shown (fault-matrix.md, row 32).
   */
  amend(order: OrderSnapshot, change: { readonly size?: string | undefined } = {}): boolean {
    if (order.state !== 'open') return false;
    return change.size === undefined || (!isPositionStop(order.context.intent) && exposureOf(order).filled === '0');
  },
  /** DELETE: whatever may be at the venue and has a name there. An order in `submitting` is cancelled when its POST is settled. */
  cancel({ state }: OrderSnapshot): boolean {
    return isWorking(state) && state !== 'submitting';
  },
} as const;

/**
 * What the order did and what it may still do, base currency, unsigned. `filled` is the larger of the fills read and what
 * the records say; `worstRemaining` is the most that can still fill: an order whose fate is not known counts whole, an
 * amend in doubt with the larger of its sizes. A stop_loss or take_profit counts only what its records say.
 */
export function exposureOf({ state, context }: OrderSnapshot): {
  readonly filled: string;
  readonly worstRemaining: string;
} {
  const filled = largerDecimal(context.filled, context.recordFilled);
  if (!isWorking(state)) return { filled, worstRemaining: '0' };
  if (isPositionStop(context.intent)) return { filled, worstRemaining: context.remaining };
  const rest = largerDecimal(context.remaining, shortfall(context.size, filled));
  const { amend } = context;
  const pending = amend?.outcome === undefined ? amend?.req?.size : undefined;
  return { filled, worstRemaining: pending === undefined ? rest : largerDecimal(rest, pending) };
}

const OBSERVATIONS: Readonly<Record<string, ObservationType>> = {
  processing: 'P_PROCESSING',
  open: 'P_OPEN',
  placed: 'P_OPEN',
  amending: 'P_AMENDING',
  canceling: 'P_CANCELING',
  cancelingall: 'P_CANCELING',
  closed: 'P_CLOSED',
  canceled: 'P_CANCELED',
  rejected: 'P_REJECTED',
};

/** The row a record belongs to, by its status; P_STRANGE for any text that is not known. */
export function observationOf(record: OrderRecord): ObservationType {
  return (Object.hasOwn(OBSERVATIONS, record.status) ? OBSERVATIONS[record.status] : undefined) ?? 'P_STRANGE';
}

/** The event of having read a record: `sentAt` is when the read was sent, `at` when its answer was known (epoch ms). */
export function observed(record: OrderRecord, sentAt: number, at: number): OrderEvent {
  return { type: observationOf(record), record, sentAt, at };
}

/** What the table says for this event now: split cells decided, and a record of another order turned away. */
export function outcomeOf({ state, context }: OrderSnapshot, event: OrderEvent): Outcome {
  if (isForeign(context, event)) return '!';
  const cell = TRANSITIONS[event.type][state];
  if (typeof cell === 'string') return cell;
  for (const [guard, then] of cell.arms) if (GUARDS[guard](context, event)) return then;
  return cell.otherwise;
}

/** Folds one event over an order; pure. `OrderActor` gives the same answers. */
export function stepOrder(order: OrderSnapshot, event: OrderEvent): OrderStep {
  const outcome = outcomeOf(order, event);
  switch (outcome) {
    case '~':
    case '!':
    case 'X': {
      const quarantine = isQuarantineDue(order.state, order.context, event, outcome);
      return stepTo(
        order,
        quarantine ? 'quarantined' : order.state,
        outcome,
        afterAnomaly(order, event, outcome, quarantine),
      );
    }
    case '.':
      return stepTo(order, order.state, outcome, afterEvent(order.context, order.state, order.state, event));
    default:
      return stepTo(order, outcome, outcome, afterEvent(order.context, order.state, outcome, event));
  }
}

function dispositionOf(outcome: Outcome, redundant: boolean): OrderStep['disposition'] {
  if (redundant || outcome === '~') return 'stale';
  if (outcome === '!') return 'contradiction';
  if (outcome === 'X') return 'caller_error';
  return outcome === '.' ? 'updated' : 'moved';
}

function stepTo(from: OrderSnapshot, state: OrderState, outcome: Outcome, change: Change): OrderStep {
  return {
    snapshot: { state, context: change.context },
    moved: state !== from.state,
    disposition: dispositionOf(outcome, change.redundant),
    alarms: change.alarms,
    wants: change.wants,
  };
}

/** An event that the state does not take, wrapped so that it leaves a trace: XState would drop it without a word. */
interface Anomaly {
  readonly type: 'ANOMALY';
  readonly event: OrderEvent;
  readonly outcome: '~' | '!' | 'X';
}

/** The machine's context: the order's, and what the last event left for the caller. */
interface MachineContext {
  readonly order: OrderContext;
  readonly alarms: readonly OrderAlarm[];
  readonly wants: readonly OrderWant[];
  readonly redundant: boolean;
}

interface Way {
  readonly from: OrderState;
  readonly to: OrderState;
}

const machineSetup = setup({
  types: {
    context: {} as MachineContext,
    events: {} as OrderEvent | Anomaly,
    input: {} as { readonly intent: OrderTerms; readonly at: number; readonly options?: OrderOptions },
    tags: {} as 'terminal' | 'working',
  },
  guards: {
    /** A split cell's arm: named in the drawing by the guard that opens it. */
    cell: (
      { context, event },
      { state, is }: { readonly state: OrderState; readonly is: Outcome; readonly when: string },
    ) => event.type !== 'ANOMALY' && outcomeOf({ state, context: context.order }, event) === is,
    thirdContradiction: ({ context, event }, { state }: { readonly state: OrderState }) =>
      event.type === 'ANOMALY' && isQuarantineDue(state, context.order, event.event, event.outcome),
  },
  actions: {
    take: assign(({ context, event }, { from, to }: Way) => {
      if (event.type === 'ANOMALY') {
        const order = { state: from, context: context.order };
        return contextOf(afterAnomaly(order, event.event, event.outcome, to !== from));
      }
      return contextOf(afterEvent(context.order, from, to, event));
    }),
  },
});

function contextOf({ context, alarms, wants, redundant }: Change): MachineContext {
  return { order: context, alarms, wants, redundant };
}

/** One arm of a cell as a transition. Cells that stay have no target, so that XState re-enters nothing. */
function way(from: OrderState, to: OrderState) {
  const take = { type: 'take', params: { from, to } } as const;
  return to === from ? ({ actions: take } as const) : ({ target: to, actions: take } as const);
}

/** The transitions of a cell: none where the event is turned away, for `can()` must then say no. */
function waysOf(state: OrderState, cell: Cell) {
  const split: Split = typeof cell === 'string' ? { arms: [], otherwise: cell } : cell;
  const named = split.arms.map(([guard, is]) => ({ is, when: guard as string }));
  const arms = [...named, { is: split.otherwise, when: split.arms.map(([guard]) => `not ${guard}`).join(' and ') }];
  return arms.flatMap(({ is, when }) => {
    if (is === '~' || is === '!' || is === 'X') return [];
    const taken = way(state, is === '.' ? state : is);
    return [when === '' ? taken : { ...taken, guard: { type: 'cell', params: { state, is, when } } as const }];
  });
}

function stateNode(state: OrderState) {
  const on = Object.fromEntries(
    ORDER_EVENT_TYPES.map((type) => [type, waysOf(state, TRANSITIONS[type][state])] as const),
  );
  const anomaly = [
    { ...way(state, 'quarantined'), guard: { type: 'thirdContradiction', params: { state } } as const },
    way(state, state),
  ];
  return {
    tags: isTerminal(state) ? (['terminal'] as const) : isWorking(state) ? (['working'] as const) : [],
    on: { ...on, ANOMALY: anomaly },
  };
}

/**
 * The table as an XState machine: flat, with no timers, calls or children inside. Terminal states are tagged, not final:
 * a final state would drop a late fill.
 */
export const orderMachine = machineSetup.createMachine({
  id: 'order',
  context: ({ input }) => ({
    order: newOrder(input.intent, input.at, input.options).context,
    alarms: [],
    wants: [],
    redundant: false,
  }),
  initial: 'draft',
  states: Object.fromEntries(ORDER_STATES.map((state) => [state, stateNode(state)])) as Record<
    OrderState,
    ReturnType<typeof stateNode>
  >,
});

/**
 * One order's life, fed events one by one and never persisted; a resumed run feeds it again. Where an event leads is read
 * off the machine's own definition, as the engine does for a run and a step; an actor of XState's own costs several times
 * what an event does, and a run that is taken up again folds thousands of them.
 */
export class OrderActor {
  private order: OrderSnapshot;

  /** `at` is epoch ms; the intent must be durable before SUBMIT is sent here. */
  constructor(intent: OrderTerms, at: number, options: OrderOptions = {}) {
    this.order = newOrder(intent, at, options);
  }

  get snapshot(): OrderSnapshot {
    return this.order;
  }

  /** Folds one event. An event that the state does not take is counted or kept as a contradiction, never lost. */
  send(event: OrderEvent): OrderStep {
    const { order } = this;
    const { state, context } = order;
    const outcome = outcomeOf(order, event);
    const turnedAway = outcome === '~' || outcome === '!' || outcome === 'X';
    const to = turnedAway
      ? targetOf(state, 'ANOMALY', isQuarantineDue(state, context, event, outcome))
      : targetOf(state, event.type, outcome);
    const change = turnedAway
      ? afterAnomaly(order, event, outcome, to !== state)
      : afterEvent(context, state, to, event);
    const step = stepTo(order, to, outcome, change);
    this.order = step.snapshot;
    return step;
  }
}

/** Where the machine goes: by the first of its ways whose guard, if it has one, lets pass what the event comes to. */
function targetOf(state: OrderState, type: OrderEventType | 'ANOMALY', comesTo: Outcome | boolean): OrderState {
  for (const { guard, target } of orderMachine.states[state]?.transitions.get(type) ?? []) {
    const condition = guard as Condition | undefined;
    if (condition === undefined || (condition.type === 'cell' ? condition.params.is === comesTo : comesTo === true))
      return (target?.[0]?.key as OrderState | undefined) ?? state;
  }
  throw new Error(`order: the machine does not take ${type} in ${state}, the table does`);
}

/** The guards of a machine that is made from the table; see `waysOf` and `stateNode`. */
type Condition =
  | { readonly type: 'cell'; readonly params: { readonly is: Outcome } }
  | { readonly type: 'thirdContradiction' };
