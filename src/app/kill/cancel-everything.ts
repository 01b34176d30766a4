/** `runbook kill` takes every order of an account away, outside any run: it needs no lease, and insists for longer than a step does. */
import type { Clock, Metronome } from '../../base/clock.ts';
import { KILL_SWEEP, sweep } from '../../engine/sweep.ts';
import type { EndpointName, Params } from '../../venue/catalogue.ts';
import type { Asked } from '../account/one-request.ts';

export interface KilledVenue {
  readonly clock: Clock & Metronome;
  ask<E extends EndpointName>(name: E, params: Params<E>): Promise<Asked<E>>;
  /** Told how many orders are left, after each reading. */
  progress(left: number): void;
}

/** How many orders could still fill when nothing changed any more; undefined where the venue never told. */
export async function takeEverythingAway({ clock, ask, progress }: KilledVenue): Promise<number | undefined> {
  const { left } = await sweep(
    {
      ask: async (name, params) => {
        const asked = await ask(name, params);
        if (asked.kind === 'confirmed') return asked;
        return { kind: 'no answer', why: asked.kind === 'refused' ? asked.text : asked.why };
      },
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      pause: (ms) => new Promise<void>((resolve) => void clock.after(ms, resolve)),
      progress,
    },
    KILL_SWEEP,
  );
  return left?.length;
}
