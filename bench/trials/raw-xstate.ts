/** Defines the trials of plain XState without an engine: a machine that invokes one promise after another. */
import { createActor, createMachine, fromPromise, toPromise } from 'xstate';
import { ACCOUNT_RECORD } from './account-record.ts';
import type { Trial } from './trial.ts';

const read = fromPromise(async () => JSON.parse(ACCOUNT_RECORD) as unknown);

function createLine(size: number) {
  const states = Object.fromEntries(
    Array.from({ length: size }, (_, index) => [`s${index}`, { invoke: { src: read, onDone: `s${index + 1}` } }]),
  );
  return createMachine({ initial: 's0', states: { ...states, [`s${size}`]: { type: 'final' as const } } });
}

async function execute(machine: ReturnType<typeof createLine>): Promise<void> {
  const actor = createActor(machine);
  const done = toPromise(actor);
  actor.start();
  await done;
}

export const XSTATE_TRIALS = {
  /** Only the execution of a machine that was created before. */
  xstateLine: {
    async prepare(size) {
      const machine = createLine(size);
      return () => execute(machine);
    },
  },
  /** From the definition to the outcome. */
  xstateWholeLine: { prepare: async (size) => () => execute(createLine(size)) },
} as const satisfies Record<string, Trial>;
