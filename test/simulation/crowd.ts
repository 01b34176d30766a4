/**
 * Draws the conditions that only every eighth seed has: other runs of the account in the same process, people who answer and who
 * interfere, a wall clock that is adjusted while runs go on, a disk that refuses a later process too, and a fault aimed at the
 * runbook's own requests, which chance alone would meet too rarely. They have draws of their own, so that a kept seed of the other
 * seven kinds (seeds.ts) keeps its meaning.
 */
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import { Draws } from './draws.ts';
import { isCrowded, SHAPES, type Shape, shapeOf } from './shapes.ts';

export interface Companion {
  readonly shape: Shape;
  /** Submitted to the running process this long after the start, ms. */
  readonly afterMs: number;
}

export interface Crowd {
  /** Runs of the account beside the first. At most one run of all has a deadman switch: the scheduler sees to that. */
  readonly companions: readonly Companion[];
  /** A person's answer to each question, and how long after it was asked; undefined: no answer. */
  readonly answer: { readonly says: 'approve' | 'reject'; readonly afterMs: number } | undefined;
  /** A person cancels the first run this long after the start, ms. */
  readonly cancelAfterMs: number | undefined;
  /** A process behind the first has a full disk from this commit on; `life` counts from 1. */
  readonly fullLater: { readonly life: number; readonly after: number } | undefined;
  /** Adjustments of the wall clock: instant after the start, and size, ms. */
  readonly clockPuts: readonly { readonly afterMs: number; readonly byMs: number }[];
  /** An adjustment while no process runs, after the first has died, ms. */
  readonly putWhileDownMs: number | undefined;
  /** Whether the machine starts anew, or another one takes over, between the first process and the second, the second and the third, …. */
  readonly moves: readonly boolean[];
  /** Met before any other fault. */
  readonly aimedFault: FaultRule | undefined;
  /** The first process dies there, the first time it is reached. */
  readonly aimedPoint: 'CP18' | 'CP20' | undefined;
}

const NOBODY: Crowd = {
  companions: [],
  answer: undefined,
  cancelAfterMs: undefined,
  fullLater: undefined,
  clockPuts: [],
  putWhileDownMs: undefined,
  moves: [],
  aimedFault: undefined,
  aimedPoint: undefined,
};

export function crowdOf(seed: number, first: Shape): Crowd {
  if (!isCrowded(seed)) return NOBODY;
  const draws = new Draws(seed, 'crowd');
  const answered = draws.chance(0.8);
  const says = draws.chance(0.75) ? ('approve' as const) : ('reject' as const);
  const afterMs = draws.of([100, 1500, 4000, 9000]);
  const companions: Companion[] = [];
  const wanted = draws.of([0, 0, 1, 1, 1, 1, 1, 2, 2]);
  while (companions.length < wanted) {
    const shape = companionOf(
      draws,
      [first, ...companions.map((each) => each.shape)].some((each) => each.deadman !== undefined),
    );
    companions.push({ shape, afterMs: draws.of([0, 0, 300, 2000, 9000]) });
  }
  const crowd = {
    companions,
    answer: answered ? { says, afterMs } : undefined,
    cancelAfterMs: draws.chance(0.1) ? draws.within(0, 12_000) : undefined,
    fullLater: draws.chance(0.05) ? { life: draws.within(2, 3), after: draws.within(0, 6) } : undefined,
    clockPuts: draws.chance(0.4) ? Array.from({ length: draws.within(1, 2) }, () => clockPut(draws)) : [],
    ...aimed(draws, first),
  };
  const moves = Array.from({ length: 3 }, () => draws.chance(0.25));
  return { ...crowd, moves, putWhileDownMs: draws.chance(0.4) ? clockPut(draws).byMs : undefined };
}

function aimed(draws: Draws, { text, cancelsAll }: Shape): Pick<Crowd, 'aimedFault' | 'aimedPoint'> {
  const once = (on: string, kind: FaultRule['do'], more: Partial<FaultRule> = {}): FaultRule => ({
    on,
    when: { call: 1 },
    do: kind,
    ...more,
  });
  if (cancelsAll && draws.chance(0.6)) return { aimedFault: undefined, aimedPoint: 'CP20' };
  if (text.includes('amend:') && draws.chance(0.75)) {
    const kind = draws.of([
      'amend_lost',
      'amend_lost',
      'amend_lost',
      'stuck',
      'lost_before',
      'lost_after',
      'delay',
    ] as const);
    return { aimedFault: once('PUT /orders', kind, { ms: 2000, way: 'request' }), aimedPoint: undefined };
  }
  if (text.includes('on_ambiguous: resend') && draws.chance(0.7)) {
    const aimedFault = { ...once('POST /orders', 'lost_before'), when: { call: 1, type: 'limit' as const } };
    return { aimedFault, aimedPoint: draws.chance(0.7) ? 'CP18' : undefined };
  }
  if (text.includes('cancel:') && draws.chance(0.6))
    return {
      aimedFault: once('DELETE /orders', draws.of(['cancel_lost', 'fill_first'] as const)),
      aimedPoint: undefined,
    };
  return { aimedFault: undefined, aimedPoint: undefined };
}

function companionOf(draws: Draws, unguarded: boolean): Shape {
  for (;;) {
    const shape = shapeOf(draws.within(0, SHAPES - 1));
    if (!(unguarded && shape.deadman !== undefined)) return shape;
  }
}

/** By seconds, as a time service does after a suspension, or by minutes, as a person does. */
function clockPut(draws: Draws): Crowd['clockPuts'][number] {
  const byMs = draws.of([2500, 20_000, 300_000]) * draws.of([1, -1]);
  return { afterMs: draws.within(100, 20_000), byMs };
}
