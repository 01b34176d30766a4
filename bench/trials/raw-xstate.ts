/** The peer without an engine: a machine of one invoked promise after the other, as XState's own documentation writes it. */
import { createActor, createMachine, fromPromise, toPromise } from 'xstate';
import { ACCOUNT_RECORD } from './account-record.ts';
import type { Trial } from './trial.ts';

const read = fromPromise(async () => JSON.parse(ACCOUNT_RECORD) as unknown);

function line(size: number) {
  const states = Object.fromEntries(
    Array.from({ length: size }, (_, index) => [`s${index}`, { invoke: { src: read, onDone: `s${index + 1}` } }]),
  );
  return createMachine({ initial: 's0', states: { ...states, [`s${size}`]: { type: 'final' as const } } });
}

async function execute(machine: ReturnType<typeof line>): Promise<void> {
  const actor = createActor(machine);
  const done = toPromise(actor);
  actor.start();
  await done;
}

export const XSTATE_TRIALS = {
  /** The execution alone, of a machine that was made before. */
  xstateLine: {
    async prepare(size) {
      const machine = line(size);
      return () => execute(machine);
    },
  },
  /** From the definition to the outcome. */
  xstateWholeLine: { prepare: async (size) => () => execute(line(size)) },
} as const satisfies Record<string, Trial>;
