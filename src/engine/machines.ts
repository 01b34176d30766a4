/**
 * The two machines that decide how a run and a step go on. They are flat and hold no timers, no calls and no children:
 * an event goes in, the next state comes out, and the interpreter does what the state asks for. (The third, an order's,
 * is in venue/order.ts.) They are fed standalone, one actor each, and never persisted: a resumed run feeds them again.
 */
import { type ActorRefFrom, createActor, setup } from 'xstate';

/**
 * A run's life. A failure undoes completed steps in reverse before `on_error`; a halt goes the same way with what only
 * reduces risk and leaves the deadman switch alone; `stop` and success go to `finally` at once (language.md, "When a run ends").
 */
export const runMachine = setup({
  types: {
    events: {} as
      | { type: 'STARTED' }
      | { type: 'COMPLETED' }
      | { type: 'STOPPED' }
      | { type: 'FAILED' }
      | { type: 'HALTED' }
      | { type: 'DONE' },
  },
}).createMachine({
  id: 'run',
  initial: 'starting',
  states: {
    starting: { on: { STARTED: 'running', FAILED: 'exiting', HALTED: 'undoingHalted' } },
    running: { on: { COMPLETED: 'finalizing', STOPPED: 'finalizingStopped', FAILED: 'undoing', HALTED: 'undoingHalted' } },
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
    halted: { tags: 'ended' },
  },
});
export type RunActor = ActorRefFrom<typeof runMachine>;
export type RunEvent = Parameters<RunActor['send']>[0]['type'];

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
    waiting: { on: { SKIP: 'skipped', BEGIN: 'attempting', FAIL: 'failed', CATCH: 'catching', HALT: 'halted' } },
    attempting: {
      on: { OK: 'succeeded', RETRY: 'backingOff', CATCH: 'catching', TIMED_OUT: 'handlingTimeout', FAIL: 'failed', HALT: 'halted' },
    },
    backingOff: { on: { BEGIN: 'attempting', CATCH: 'catching', TIMED_OUT: 'handlingTimeout', FAIL: 'failed', HALT: 'halted' } },
    catching: { on: { OK: 'succeeded', RETRY: 'backingOff', FAIL: 'failed', HALT: 'halted' } },
    handlingTimeout: { on: { OK: 'succeeded', FAIL: 'failed', CATCH: 'catching', HALT: 'halted' } },
    succeeded: { tags: 'ended' },
    skipped: { tags: 'ended' },
    failed: { tags: 'ended' },
    halted: { tags: 'ended' },
  },
});
export type StepActor = ActorRefFrom<typeof stepMachine>;
export type StepEvent = Parameters<StepActor['send']>[0]['type'];

/**
 * Sends an event that the present state must handle. XState drops an unhandled event without a word; here that would be a
 * decision lost, so it is our mistake and stops the run.
 */
export function decide<E extends { type: string }>(
  actor: { getSnapshot(): { value: unknown; can(event: E): boolean }; send(event: E): void },
  type: E['type'],
): string {
  const event = { type } as E;
  const snapshot = actor.getSnapshot();
  if (!snapshot.can(event)) throw new Error(`engine: state ${String(snapshot.value)} does not take ${type}`);
  actor.send(event);
  return String(actor.getSnapshot().value);
}

export function startRunActor(): RunActor {
  return createActor(runMachine).start();
}
export function startStepActor(): StepActor {
  return createActor(stepMachine).start();
}
