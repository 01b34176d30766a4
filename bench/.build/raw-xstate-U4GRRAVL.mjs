import {
  ACCOUNT_RECORD
} from "./chunk-77T42IEF.mjs";

// trials/raw-xstate.ts
import { createActor, createMachine, fromPromise, toPromise } from "xstate";
var read = fromPromise(async () => JSON.parse(ACCOUNT_RECORD));
var XSTATE_TRIALS = {
  xstateLine: {
    async prepare(size) {
      const states = Object.fromEntries(
        Array.from({ length: size }, (_, index) => [`s${index}`, { invoke: { src: read, onDone: `s${index + 1}` } }])
      );
      const machine = createMachine({ initial: "s0", states: { ...states, [`s${size}`]: { type: "final" } } });
      return async () => {
        const actor = createActor(machine);
        const done = toPromise(actor);
        actor.start();
        await done;
      };
    }
  }
};
export {
  XSTATE_TRIALS
};
