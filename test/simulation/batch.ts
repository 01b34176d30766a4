/** Many seeds, one after another: what one worker does, and how the sums of several are put together. */
import { breachesOf } from './invariants.ts';
import { storyOf } from './story.ts';
import { simulate } from './world.ts';

export interface Failing {
  readonly seed: number;
  /** Invariants it breaks. */
  readonly invariants: readonly string[];
  /** Kept of the first few only. */
  readonly story: string | undefined;
}

export interface Tally {
  readonly seeds: number;
  readonly failing: readonly Failing[];
  /** Simulated time, ms. */
  readonly simulatedMs: number;
  readonly entries: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Processes that died or were frozen, by the named point. */
  readonly struck: Readonly<Record<string, number>>;
  /** How often each point was passed, by endpoint. */
  readonly passed: Readonly<Record<string, number>>;
}

export const NOTHING: Tally = {
  seeds: 0,
  failing: [],
  simulatedMs: 0,
  entries: 0,
  outcomes: {},
  struck: {},
  passed: {},
};
const STORIES = 3;

export async function runBatch(from: number, count: number, told?: (done: number) => void): Promise<Tally> {
  let tally = NOTHING;
  for (let seed = from; seed < from + count; seed += 1) {
    const happened = await simulate(seed);
    const breaches = await breachesOf(happened);
    const failing: Failing[] =
      breaches.length === 0
        ? []
        : [
            {
              seed,
              invariants: [...new Set(breaches.map(({ invariant }) => invariant))],
              story: tally.failing.length < STORIES ? storyOf(happened, breaches) : undefined,
            },
          ];
    const struck: Record<string, number> = {};
    for (const { point, how } of happened.lives) {
      const name = point?.split(' ')[0];
      if (name !== undefined) struck[`${name} ${how}`] = (struck[`${name} ${how}`] ?? 0) + 1;
    }
    tally = added(tally, {
      seeds: 1,
      failing,
      simulatedMs: happened.books.at - happened.scenario.startMs,
      entries: happened.entries.length,
      outcomes: { [happened.result?.outcome ?? 'none']: 1 },
      struck,
      passed: Object.fromEntries([...happened.points].filter(([key]) => !key.startsWith('*'))),
    });
    told?.(seed - from + 1);
  }
  return tally;
}

export function added(a: Tally, b: Tally): Tally {
  return {
    seeds: a.seeds + b.seeds,
    failing: [...a.failing, ...b.failing],
    simulatedMs: a.simulatedMs + b.simulatedMs,
    entries: a.entries + b.entries,
    outcomes: sums(a.outcomes, b.outcomes),
    struck: sums(a.struck, b.struck),
    passed: sums(a.passed, b.passed),
  };
}

function sums(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const sum = { ...a };
  for (const [key, value] of Object.entries(b)) sum[key] = (sum[key] ?? 0) + value;
  return sum;
}
