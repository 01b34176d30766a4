/**
 * `runbook test --explore`: runs stories of the cases that pass, and keeps the shortest story of each kind of violation. A story is not
 * held to what its case expects, only to what holds of every run and to what the test file says must always hold.
 */
import { formatSpan } from '../../base/format.ts';
import { runCase } from './case-run.ts';
import type { NamedCase } from './file/runbook-names.ts';
import { findUnsound } from './soundness.ts';
import { describeStory, listShorter, type Story, tell } from './story.ts';
import type { ReadyTests } from './tests.ts';

/** What the stories of a case showed. */
export interface Exploration {
  /** Number of stories that were run. */
  readonly variations: number;
  readonly violations: readonly Violation[];
}

export interface Violation {
  readonly variation: string;
  readonly problem: string;
}

/** What does not hold; problems of one kind differ in figures and ids alone. */
interface Problem {
  readonly kind: string;
  readonly text: string;
}

/** How a story of a case ended. */
export interface StoryEnd {
  readonly problems: readonly Problem[];
  /** Number of requests that were sent. */
  readonly requests: number;
}

/** A violation, with the story and the position of its case among the file's. */
export interface FoundViolation {
  readonly index: number;
  readonly story: Story;
  readonly problem: Problem;
  readonly requests: number;
}

export async function runStory({ loaded, cases }: ReadyTests, index: number, story: Story): Promise<StoryEnd> {
  const { test, inputs, always } = cases[index] as NamedCase;
  const told = tell(test, story);
  const result = await runCase({ loaded, test: told, inputs, always, run: nameRun(loaded.runbook.name, index) });
  const unsound = findUnsound(told, loaded.runbook.leaves.position, result);
  return {
    problems: [
      ...unsound.map((text) => ({ kind: text.replaceAll(/\S*\d\S*/g, '#'), text })),
      ...result.broken.map(({ expr, afterMs }) => ({
        kind: `always ${expr.text}`,
        text: `after ${formatSpan(afterMs)} this does not hold: ${expr.text.trim()}`,
      })),
    ],
    requests: result.venue.sent.length,
  };
}

/** The run of a case; client order ids derive from it. */
export function nameRun(runbook: string, index: number): string {
  return `test-${runbook.slice(0, 40)}-${index + 1}`;
}

/** Of the violations alike, each with the shortest story: the one with the fewest requests, less what it does not need. */
export async function findShortest(
  ends: readonly { readonly index: number; readonly story: Story; readonly end: StoryEnd }[],
  run: (index: number, story: Story) => Promise<StoryEnd>,
): Promise<readonly FoundViolation[]> {
  const kept = new Map<string, FoundViolation>();
  for (const { index, story, end } of ends)
    for (const problem of end.problems) {
      const known = kept.get(problem.kind);
      if (known === undefined || isShorter({ story, requests: end.requests }, known))
        kept.set(problem.kind, { index, story, problem, requests: end.requests });
    }
  return Promise.all([...kept.values()].map((violation) => shorten(violation, run)));
}

type Length = Pick<FoundViolation, 'requests' | 'story'>;

function isShorter(one: Length, other: Length): boolean {
  const count = ({ story: { events, fillLagMs } }: Length) => events.length + (fillLagMs === undefined ? 0 : 1);
  return count(one) === count(other) ? one.requests < other.requests : count(one) < count(other);
}

async function shorten(
  violation: FoundViolation,
  run: (index: number, story: Story) => Promise<StoryEnd>,
): Promise<FoundViolation> {
  for (const story of listShorter(violation.story)) {
    const { problems, requests } = await run(violation.index, story);
    const same = problems.find(({ kind }) => kind === violation.problem.kind);
    if (same !== undefined) return shorten({ ...violation, story, problem: same, requests }, run);
  }
  return violation;
}

/** A violation as it is shown. */
export function toViolation({ story, problem }: FoundViolation): Violation {
  return { variation: describeStory(story), problem: problem.text };
}
