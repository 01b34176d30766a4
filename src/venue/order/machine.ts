/**
 * Builds an XState machine from the table of transitions: flat, without timers, calls or children. Orders are folded by the
 * table itself (`stepOrder`), because a step of XState costs several times as much; a test compares every state and event of
 * the two.
 */
import { assign, setup } from 'xstate';
import type { OrderTerms } from '../port.ts';
import { applyAnomaly, isQuarantineDue } from './anomalies.ts';
import type { Change } from './change.ts';
import {
  createOrder,
  type OrderAlarm,
  type OrderContext,
  type OrderEvent,
  type OrderOptions,
  type OrderWant,
} from './context.ts';
import { decideOutcome } from './life.ts';
import { isTerminal, isWorking, ORDER_STATES, type OrderState } from './states.ts';
import { type Cell, ORDER_EVENT_TYPES, type Outcome, type Split, TRANSITIONS } from './transitions.ts';
import { applyEvent } from './updates.ts';

/** An event that the state does not accept, wrapped so that it leaves a trace: XState would drop it silently. */
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

interface Move {
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
    /** An arm of a split cell, named in the drawing by its guard. */
    cell: (
      { context, event },
      { state, is }: { readonly state: OrderState; readonly is: Outcome; readonly when: string },
    ) => event.type !== 'ANOMALY' && decideOutcome({ state, context: context.order }, event) === is,
    thirdContradiction: ({ context, event }, { state }: { readonly state: OrderState }) =>
      event.type === 'ANOMALY' && isQuarantineDue(state, context.order, event.event, event.outcome),
  },
  actions: {
    take: assign(({ context, event }, { from, to }: Move) => {
      if (event.type === 'ANOMALY') {
        const order = { state: from, context: context.order };
        return toContext(applyAnomaly(order, event.event, event.outcome, to !== from));
      }
      return toContext(applyEvent(context.order, from, to, event));
    }),
  },
});

function toContext({ context, alarms, wants, redundant }: Change): MachineContext {
  return { order: context, alarms, wants, redundant };
}

/** One arm of a cell as a transition. Cells that stay have no target, so that XState re-enters no state. */
function toTransition(from: OrderState, to: OrderState) {
  const take = { type: 'take', params: { from, to } } as const;
  return to === from ? ({ actions: take } as const) : ({ target: to, actions: take } as const);
}

/** The transitions of a cell: none where the event is not accepted, so that `can()` says no. */
function listTransitions(state: OrderState, cell: Cell) {
  const split: Split = typeof cell === 'string' ? { arms: [], otherwise: cell } : cell;
  const named = split.arms.map(([guard, is]) => ({ is, when: guard as string }));
  const arms = [...named, { is: split.otherwise, when: split.arms.map(([guard]) => `not ${guard}`).join(' and ') }];
  return arms.flatMap(({ is, when }) => {
    if (is === '~' || is === '!' || is === 'X') return [];
    const taken = toTransition(state, is === '.' ? state : is);
    return [when === '' ? taken : { ...taken, guard: { type: 'cell', params: { state, is, when } } as const }];
  });
}

function buildStateNode(state: OrderState) {
  const on = Object.fromEntries(
    ORDER_EVENT_TYPES.map((type) => [type, listTransitions(state, TRANSITIONS[type][state])] as const),
  );
  const anomaly = [
    { ...toTransition(state, 'quarantined'), guard: { type: 'thirdContradiction', params: { state } } as const },
    toTransition(state, state),
  ];
  return {
    tags: isTerminal(state) ? (['terminal'] as const) : isWorking(state) ? (['working'] as const) : [],
    on: { ...on, ANOMALY: anomaly },
  };
}

/**
 * The table as an XState machine. Terminal states are tagged, not final: a final state would drop a late fill.
 */
export const orderMachine = machineSetup.createMachine({
  id: 'order',
  context: ({ input }) => ({
    order: createOrder(input.intent, input.at, input.options).context,
    alarms: [],
    wants: [],
    redundant: false,
  }),
  initial: 'draft',
  states: Object.fromEntries(ORDER_STATES.map((state) => [state, buildStateNode(state)])) as Record<
    OrderState,
    ReturnType<typeof buildStateNode>
  >,
});
