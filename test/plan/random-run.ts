/** Runs the random runbook of a seed at the venue of the seed, and holds its journal against its plan. */
import { planFor } from '../../src/app/plan.ts';
import { dryRun } from '../../src/app/run/virtual-run.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { Plan } from '../../src/runbook/plan/plan.ts';
import { START } from '../engine/stage.ts';
import { findExceeded, findUnplanned } from './against-plan.ts';
import { drawRunbook, type RandomRunbook } from './random-runbook.ts';
import { drawVenue } from './random-venue.ts';

export interface RandomRun extends RandomRunbook {
  readonly seed: number;
  readonly plan: Plan;
  readonly entries: readonly Entry[];
  readonly outcome: string;
  /** How the run left its plan; empty when it kept to it. */
  readonly breaches: readonly string[];
}

export async function runRandom(seed: number): Promise<RandomRun> {
  const drawn = drawRunbook(seed);
  const { loaded, inputs } = drawn;
  const plan = planFor(loaded.runbook, inputs, { now: START });
  const entries: Entry[] = [];
  const { result } = await dryRun({
    loaded,
    inputs,
    run: `random-${seed}`,
    at: START,
    seed,
    store: new MemoryStore(),
    venue: { kind: 'simulated', config: drawVenue(seed) },
    onEntry: (entry) => entries.push(entry),
  });
  const breaches = [...findExceeded(plan, entries), ...findUnplanned(plan, entries)];
  return { ...drawn, seed, plan, entries, outcome: result.outcome, breaches };
}

/** Everything about a seed that has left its plan. */
export function describeRun({ seed, sources, given, breaches }: RandomRun): string {
  return [
    ...sources.map(({ file, text }) => `# ${file}\n${text}`),
    `inputs: ${JSON.stringify(given)}`,
    `venue: ${JSON.stringify(drawVenue(seed))}`,
    ...breaches,
    `again: ${repeatCommand(seed)}`,
  ].join('\n');
}

export function repeatCommand(seed: number): string {
  return `npm run runbooks -- --seed ${seed}`;
}
