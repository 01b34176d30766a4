/**
 * The two machines that decide how a run and a step go on. They are flat and hold no timers, no calls and no children:
 * an event goes in, the next state comes out, and the interpreter does what the state asks for. (The third, an order's,
 * is in venue/order.) They are never persisted: a resumed run feeds them again.
 */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventFromLogic,
  initialTransition,
  setup,
  transition,
} from 'xstate';

/**
 * A run's life. A failure undoes completed steps in reverse before `on_error`; a halt goes the same way with what only
 * reduces risk and leaves the deadman switch alone; `stop` and success go to `finally` at once (docs/language.md, How a run ends).
 */
export const runMachine = setup({
  types: {
    events: {} as
      | { type: 'STARTED' }
      | { type: 'COMPLETED' }
      | { type: 'STOPPED' }
      | { type: 'FAILED' }
      | { type: 'HALTED' }
      | { type: 'DONE' }
      | { type: 'RESUMED' },
  },
}).createMachine({
  id: 'run',
  initial: 'starting',
  states: {
    starting: { on: { STARTED: 'running', FAILED: 'exiting', HALTED: 'undoingHalted' } },
    running: {
      on: { COMPLETED: 'finalizing', STOPPED: 'finalizingStopped', FAILED: 'undoing', HALTED: 'undoingHalted' },
    },
    undoing: { on: { DONE: 'handling', HALTED: 'handlingHalted' } },
    handling: { on: { DONE: 'finalizingFailed', FAILED: 'finalizingFailed', HALTED: 'finalizingHalted' } },
    undoingHalted: { on: { DONE: 'handlingHalted', HALTED: 'handlingHalted' } },
    handlingHalted: { on: { DONE: 'finalizingHalted', FAILED: 'finalizingHalted', HALTED: 'finalizingHalted' } },
    finalizing: { on: { DONE: 'exitingSucceeded', FAILED: 'exitingFailed', HALTED: 'halted' } },
    finalizingStopped: { on: { DONE: 'exitingStopped', FAILED: 'exitingFailed', HALTED: 'halted' } },
    finalizingFailed: { on: { DONE: 'exitingFailed', FAILED: 'exitingFailed', HALTED: 'halted' } },
    finalizingHalted: { on: { DONE: 'halted', FAILED: 'halted', HALTED: 'halted' } },
    exiting: { on: { DONE: 'failed', FAILED: 'failed', HALTED: 'halted' } },
    exitingSucceeded: { on: { DONE: 'succeeded', FAILED: 'failed', HALTED: 'halted' } },
    exitingStopped: { on: { DONE: 'stopped', FAILED: 'failed', HALTED: 'halted' } },
    exitingFailed: { on: { DONE: 'failed', FAILED: 'failed', HALTED: 'halted' } },
    succeeded: { tags: 'ended' },
    stopped: { tags: 'ended' },
    failed: { tags: 'ended' },
    // A person has looked, or time has passed: what was not known is asked for again.
    halted: { tags: 'ended', on: { RESUMED: 'settling' } },
    settling: { on: { DONE: 'failed', HALTED: 'halted' } },
  },
});
export type RunEvent = EventFromLogic<typeof runMachine>['type'];

/** A step's attempts: RETRY and CATCH carry the decision that was made from the step's `retry` and `catch`. */
export const stepMachine = setup({
  types: {
    events: {} as
      | { type: 'SKIP' }
      | { type: 'BEGIN' }
      | { type: 'OK' }
      | { type: 'RETRY' }
      | { type: 'CATCH' }
      | { type: 'TIMED_OUT' }
      | { type: 'FAIL' }
      | { type: 'HALT' },
  },
}).createMachine({
  id: 'step',
  initial: 'waiting',
  states: {
    // A condition that can not be told is a failure before the first attempt.
    waiting: {
      on: {
        SKIP: 'skipped',
        BEGIN: 'attempting',
        RETRY: 'backingOff',
        FAIL: 'failed',
        CATCH: 'catching',
        HALT: 'halted',
      },
    },
    attempting: {
      on: {
        OK: 'succeeded',
        RETRY: 'backingOff',
        CATCH: 'catching',
        TIMED_OUT: 'handlingTimeout',
        FAIL: 'failed',
        HALT: 'halted',
      },
    },
    backingOff: {
      on: {
        SKIP: 'skipped',
        BEGIN: 'attempting',
        RETRY: 'backingOff',
        CATCH: 'catching',
        TIMED_OUT: 'handlingTimeout',
        FAIL: 'failed',
        HALT: 'halted',
      },
    },
    catching: { on: { OK: 'succeeded', RETRY: 'backingOff', FAIL: 'failed', HALT: 'halted' } },
    handlingTimeout: { on: { OK: 'succeeded', FAIL: 'failed', CATCH: 'catching', HALT: 'halted' } },
    succeeded: { tags: 'ended' },
    skipped: { tags: 'ended' },
    failed: { tags: 'ended' },
    halted: { tags: 'ended' },
  },
});
export type StepEvent = EventFromLogic<typeof stepMachine>['type'];

/**
 * One walk through one of these machines. They have no context and no actions, so all that XState can say of a state and an
 * event is which state follows, for every walk the same: each pair is asked once and remembered, and a step of a long run
 * costs no more than a look-up.
 */
export interface Decider<E extends string> {
  readonly state: string;
  /**
   * Moves to the next state. XState drops an event that a state does not handle without a word; here that would be a
   * decision lost, so it is our mistake and stops the run.
   */
  decide(event: E): string;
}
export type RunActor = Decider<RunEvent>;
export type StepActor = Decider<StepEvent>;

export const startRunActor: () => RunActor = decidersOf<RunEvent>(runMachine);
export const startStepActor: () => StepActor = decidersOf<StepEvent>(stepMachine);

/** A state that has been met, and what was found to follow from it. */
interface KnownState<E extends string> {
  readonly name: string;
  readonly snapshot: AnyMachineSnapshot;
  readonly next: Map<E, KnownState<E>>;
}

function decidersOf<E extends string>(machine: AnyStateMachine): () => Decider<E> {
  const states = new Map<string, KnownState<E>>();
  const known = (snapshot: AnyMachineSnapshot): KnownState<E> => {
    const name = String(snapshot.value);
    const state = states.get(name) ?? { name, snapshot, next: new Map() };
    states.set(name, state);
    return state;
  };
  const after = ({ name, snapshot, next }: KnownState<E>, type: E): KnownState<E> => {
    if (!snapshot.can({ type })) throw new Error(`engine: state ${name} does not take ${type}`);
    const [found] = transition(machine, snapshot, { type });
    const state = known(found);
    next.set(type, state);
    return state;
  };
  let initial: KnownState<E> | undefined;
  return () => {
    initial ??= known(initialTransition(machine)[0]);
    let state = initial;
    return {
      get state() {
        return state.name;
      },
      decide(event) {
        state = state.next.get(event) ?? after(state, event);
        return state.name;
      },
    };
  };
}
