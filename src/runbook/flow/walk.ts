/**
 * Walks the paths of a runbook for a check: each step taken, skipped and failed, each loop with no round, one and two. What is known
 * on a path is the state of a domain, which says how a step and a condition change it. Paths that end as failed are not walked.
 */
import type { CatchClause, CheckedStep, StepOf } from '../checked.ts';
import type { Expr } from '../values.ts';

export type Loop = StepOf<'for_each'> | StepOf<'repeat'> | StepOf<'parallel'>;

/** Steps of which a path says that they are skipped: without them a position stays open or uncovered. */
const TOLD: ReadonlySet<CheckedStep['verb']> = new Set(['protect', 'manage', 'close', 'cancel']);

/** What one check knows on a path, and how steps change it. A result of undefined says that the path is impossible or ends. */
export interface Domain<S> {
  /** Called once the condition of a step holds, with the state in which it reads its arguments. */
  begin(step: CheckedStep, state: S): void;
  /** The state where the condition is as `truth` says. */
  narrow(state: S, condition: Expr<boolean>, truth: boolean, step: CheckedStep): S | undefined;
  /** The state after a step that holds no steps. */
  perform(step: CheckedStep, state: S): S | undefined;
  /** The state after the step failed, or timed out, and before what handles that. */
  fail(step: CheckedStep, state: S, on: CatchClause['on'] | 'timeout'): S;
  /** A loop that has no round. */
  passOver(loop: Loop, state: S): S | undefined;
  /** At the beginning of a round, and at its end, before its `until`. */
  beginRound(loop: Loop, state: S): S;
  endRound(loop: Loop, state: S): S;
  /** While other branches are under way, and where they were cut off at an unknown place. */
  beginBranches(step: StepOf<'parallel'>, state: S): S;
  cutBranches(others: readonly (readonly CheckedStep[])[], state: S): S;
  /** Each state once. */
  merge(states: readonly S[]): readonly S[];
  /** For the message about a path. */
  tell(state: S, step: CheckedStep, what: string): S;
}

export class FlowWalk<S> {
  /** The states at each `stop`, and behind the last step of what was walked with `walkToEnd`. */
  readonly ends: S[] = [];
  /** The states in which a step failed, whether or not something handled that; kept where they are asked for. */
  readonly failed: S[] = [];
  private readonly domain: Domain<S>;
  private readonly keepsFailures: boolean;

  constructor(domain: Domain<S>, { keepsFailures }: { readonly keepsFailures: boolean } = { keepsFailures: false }) {
    this.domain = domain;
    this.keepsFailures = keepsFailures;
  }

  /** Walks the steps of a runbook; returns the states in which it ends as succeeded or stopped. */
  walkToEnd(steps: readonly CheckedStep[], start: S): readonly S[] {
    this.ends.push(...this.walkBlock(steps, [start]));
    return this.ends;
  }

  walkBlock(steps: readonly CheckedStep[], from: readonly S[]): readonly S[] {
    let states = from;
    for (const step of steps) states = this.domain.merge(states.flatMap((state) => this.walkStep(step, state)));
    return states;
  }

  private walkStep(step: CheckedStep, state: S): readonly S[] {
    const { domain } = this;
    const { if: condition } = step;
    if (condition === undefined) return this.attempt(step, state);
    const skipped = domain.narrow(state, condition, false, step);
    const taken = domain.narrow(state, condition, true, step);
    const isTold = TOLD.has(step.verb);
    return [
      ...(skipped === undefined ? [] : [isTold ? domain.tell(skipped, step, `${step.verb} is skipped`) : skipped]),
      ...(taken === undefined ? [] : this.attempt(step, taken)),
    ];
  }

  /** The step done, and what follows where it fails and its handlers go on. */
  private attempt(step: CheckedStep, state: S): readonly S[] {
    const { domain } = this;
    domain.begin(step, state);
    const states = [...this.perform(step, state)];
    if (this.keepsFailures) this.failed.push(domain.fail(step, state, 'any'));
    if (step.onTimeout !== undefined) {
      const timedOut = domain.tell(domain.fail(step, state, 'timeout'), step, `${step.verb} times out`);
      states.push(...this.walkBlock(step.onTimeout, [timedOut]));
    }
    for (const clause of step.catch) {
      const failed = domain.tell(domain.fail(step, state, clause.on), step, `${step.verb} fails`);
      const narrowed = clause.if === undefined ? failed : domain.narrow(failed, clause.if, true, step);
      if (narrowed === undefined) continue;
      const handled = this.walkBlock(clause.do, [narrowed]);
      if (clause.then === 'continue') states.push(...handled);
      if (clause.then === 'stop') this.ends.push(...handled);
    }
    return states;
  }

  private perform(step: CheckedStep, state: S): readonly S[] {
    const { domain } = this;
    switch (step.verb) {
      case 'wait_for':
        return this.walkWait(step, state);
      case 'assert': {
        const holds = domain.narrow(state, step.args.condition, true, step);
        return holds === undefined ? [] : [holds];
      }
      case 'stop':
        this.ends.push(domain.tell(state, step, 'stop'));
        return [];
      case 'fail':
        return [];
      case 'for_each':
      case 'repeat':
        return this.walkLoop(step, step.args.do, state);
      case 'parallel':
        return this.walkBranches(step, domain.beginBranches(step, state));
      case 'if':
      case 'switch':
        return this.walkCases(step, state);
      default:
        return this.performOne(step, state);
    }
  }

  private performOne(step: CheckedStep, state: S): readonly S[] {
    const after = this.domain.perform(step, state);
    return after === undefined ? [] : [after];
  }

  private walkWait(step: StepOf<'wait_for'>, state: S): readonly S[] {
    const { args } = step;
    if (args.kind !== 'read' && args.kind !== 'until') return this.performOne(step, state);
    const read = args.kind === 'read' ? this.walkBlock([args.read], [state]) : [state];
    return read.flatMap((each) => this.domain.narrow(each, args.until, true, step) ?? []);
  }

  /** No round, one, or more: what a second round adds, a third repeats. */
  private walkLoop(loop: Loop, steps: readonly CheckedStep[], state: S): readonly S[] {
    const { domain } = this;
    const condition = loop.verb === 'repeat' ? loop.args.while : undefined;
    const until = loop.verb === 'repeat' ? loop.args.until : undefined;
    const none = condition === undefined ? state : domain.narrow(state, condition, false, loop);
    const passed = none === undefined ? undefined : domain.passOver(loop, none);
    const walkRound = (from: readonly S[]): readonly S[] => {
      const begun = from.flatMap((each) => {
        const holds = condition === undefined ? each : domain.narrow(each, condition, true, loop);
        return holds === undefined ? [] : [domain.beginRound(loop, holds)];
      });
      // A false `until` leads to the next round; that a true one ends the loop adds nothing.
      return this.walkBlock(steps, begun).flatMap((each) => {
        if (until !== undefined) domain.narrow(each, until, true, loop);
        return [domain.endRound(loop, each)];
      });
    };
    const once = walkRound([state]);
    return [...(passed === undefined ? [] : [passed]), ...once, ...walkRound(once)];
  }

  /** Branches in sequence, though they interleave: the domain knows that. One that ends the run, or is first, finds the others anywhere. */
  private walkBranches(step: StepOf<'parallel'>, state: S): readonly S[] {
    const { args } = step;
    if (args.kind === 'each') return this.endCutting([args.do], () => this.walkLoop(step, args.do, state));
    const blocks = args.branches.map((branch) => branch.do);
    const others = (block: readonly CheckedStep[]) => blocks.filter((each) => each !== block);
    if (args.join === 'any')
      return blocks.flatMap((block) =>
        this.endCutting(others(block), () => this.walkBlock(block, [state])).map((each) =>
          this.domain.cutBranches(others(block), each),
        ),
      );
    let states: readonly S[] = [state];
    for (const block of blocks) {
      const from = states;
      states = this.endCutting(others(block), () => this.walkBlock(block, from));
    }
    return states;
  }

  /** Where `walk` meets the end of the run, the branches `others` are cut off. */
  private endCutting(others: readonly (readonly CheckedStep[])[], walk: () => readonly S[]): readonly S[] {
    const before = this.ends.length;
    const states = walk();
    const ended = this.ends.splice(before);
    this.ends.push(...ended.map((end) => this.domain.cutBranches(others, end)));
    return states;
  }

  private walkCases(step: StepOf<'if' | 'switch'>, state: S): readonly S[] {
    const { domain } = this;
    const done: S[] = [];
    let rest: S | undefined = state;
    for (const { when, do: steps } of step.args.cases) {
      if (rest === undefined) return done;
      const taken = domain.narrow(rest, when, true, step);
      if (taken !== undefined) done.push(...this.walkBlock(steps, [taken]));
      rest = domain.narrow(rest, when, false, step);
    }
    if (rest !== undefined) done.push(...this.walkBlock(step.args.else ?? [], [rest]));
    return done;
  }
}
