/**
 * The two machines that decide the next state of a run and of a step. They are flat, without timers, calls or children: an
 * event goes in, the next state comes out, and the interpreter does what the state asks for. (The machine of an order is in
 * venue/order.) They are never persisted: a resumed run replays their events.
 */
import { type AnyMachineSnapshot, type AnyStateMachine, initialTransition, setup, transition } from 'xstate';

type EventOf<T extends string> = T extends string ? { type: T } : never;

export type RunEvent =
  | ('STARTED' | 'COMPLETED' | 'STOPPED' | 'UNPROTECTED' | 'STOPPED_UNPROTECTED')
  | ('FAILED' | 'HALTED' | 'DONE' | 'RESUMED');

/**
 * The states of a run. A failure undoes completed steps in reverse before `on_error`. A halt takes the same path, does only
 * what reduces risk, and leaves the deadman switch as it is. `stop` and success go directly to `finally` (docs/language.md,
 * How a run ends).
 */
export const runMachine = setup({
  types: {
    events: {} as EventOf<RunEvent>,
  },
}).createMachine({
  id: 'run',
  initial: 'starting',
  states: {
    starting: { on: { STARTED: 'running', FAILED: 'exiting', HALTED: 'undoingHalted' } },
    running: {
      on: {
        COMPLETED: 'finalizing',
        STOPPED: 'finalizingStopped',
        // The steps did what they were to do and left too much, or somebody ended the look at it: undoing them could take their stops away.
        UNPROTECTED: 'handling',
        STOPPED_UNPROTECTED: 'handling',
        FAILED: 'undoing',
        HALTED: 'undoingHalted',
      },
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
    // `resume` looks up again what was unknown.
    halted: { tags: 'ended', on: { RESUMED: 'settling' } },
    settling: { on: { DONE: 'failed', HALTED: 'halted' } },
  },
});

export type StepEvent = 'SKIP' | 'BEGIN' | 'OK' | 'RETRY' | 'CATCH' | 'TIMED_OUT' | 'FAIL' | 'HALT';

/** The attempts of a step. RETRY and CATCH are decided from the step's `retry` and `catch`. */
export const stepMachine = setup({
  types: {
    events: {} as EventOf<StepEvent>,
  },
}).createMachine({
  id: 'step',
  initial: 'waiting',
  states: {
    // A condition that cannot be evaluated is a failure before the first attempt.
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

/**
 * One walk through one of these machines. They have no context and no actions, so the next state depends on state and event
 * alone. XState is asked once for each pair and the answer is kept: a step of a long run costs a look-up.
 */
export interface Decider<E extends string> {
  readonly state: string;
  /**
   * Moves to the next state. XState silently ignores an event that a state does not handle; here that would lose a decision,
   * so it is an internal error and stops the run.
   */
  decide(event: E): string;
}
export type RunActor = Decider<RunEvent>;
export type StepActor = Decider<StepEvent>;

export const startRunActor: () => RunActor = createDeciders<RunEvent>(runMachine);
export const startStepActor: () => StepActor = createDeciders<StepEvent>(stepMachine);

/** A state that was reached, and the states that follow it as far as they were asked for. */
interface KnownState<E extends string> {
  readonly name: string;
  readonly snapshot: AnyMachineSnapshot;
  readonly next: Map<E, KnownState<E>>;
}

function createDeciders<E extends string>(machine: AnyStateMachine): () => Decider<E> {
  const states = new Map<string, KnownState<E>>();
  const remember = (snapshot: AnyMachineSnapshot): KnownState<E> => {
    const name = String(snapshot.value);
    const state = states.get(name) ?? { name, snapshot, next: new Map() };
    states.set(name, state);
    return state;
  };
  const findNext = ({ name, snapshot, next }: KnownState<E>, type: E): KnownState<E> => {
    if (!snapshot.can({ type })) throw new Error(`engine: state ${name} does not take ${type}`);
    const [found] = transition(machine, snapshot, { type });
    const state = remember(found);
    next.set(type, state);
    return state;
  };
  let initial: KnownState<E> | undefined;
  return () => {
    initial ??= remember(initialTransition(machine)[0]);
    return new Walk(initial, findNext);
  };
}

/** A class and not a literal, because a getter in a literal is defined anew for each step. */
class Walk<E extends string> implements Decider<E> {
  private known: KnownState<E>;
  private readonly findNext: (state: KnownState<E>, event: E) => KnownState<E>;

  constructor(initial: KnownState<E>, findNext: (state: KnownState<E>, event: E) => KnownState<E>) {
    this.known = initial;
    this.findNext = findNext;
  }

  get state(): string {
    return this.known.name;
  }

  decide(event: E): string {
    this.known = this.known.next.get(event) ?? this.findNext(this.known, event);
    return this.known.name;
  }
}
