/** The peer without an engine: a machine of one invoked promise after the other, as XState's own documentation writes it. */
import { createActor, createMachine, fromPromise, toPromise } from 'xstate';
import { ACCOUNT_RECORD } from './account-record.ts';
import type { Trial } from './trial.ts';

const read = fromPromise(async () => JSON.parse(ACCOUNT_RECORD) as unknown);

export const XSTATE_TRIALS = {
  xstateLine: {
    async prepare(size) {
      const states = Object.fromEntries(
        Array.from({ length: size }, (_, index) => [`s${index}`, { invoke: { src: read, onDone: `s${index + 1}` } }]),
      );
      const machine = createMachine({ initial: 's0', states: { ...states, [`s${size}`]: { type: 'final' as const } } });
      return async () => {
        const actor = createActor(machine);
        const done = toPromise(actor);
        actor.start();
        await done;
      };
    },
  },
} as const satisfies Record<string, Trial>;
