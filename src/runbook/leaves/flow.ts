/**
 * Walks every path of a runbook that ends as succeeded or stopped, and finds the orders that it leaves beyond `leaves`
 * (docs/language.md, What a run leaves). An order may have filled on every path on which it was sent: after a time-out, in part, and
 * while a cancel was on its way. Paths that end as failed are not walked: the run is held to its word there as well.
 */
import { findPosition } from '../../base/diagnostic.ts';
import type { CatchClause, CheckedRunbook, CheckedStep, LeavesDeclaration, StepOf } from '../checked.ts';
import { getStepRow } from '../steps/steps.ts';
import { walkSteps } from '../steps/walk.ts';
import type { Expr, Scope, Value } from '../values.ts';
import {
  changeOrders,
  endOrder,
  isExposed,
  listExposed,
  narrow,
  type OrderFact,
  type PathState,
  START,
  StepNames,
  withOrder,
} from './facts.ts';

/** An order, or a called runbook, that may leave more than the runbook declares. */
export interface Leak {
  readonly step: CheckedStep;
  /** On some path it certainly does, if it fills; else the check cannot tell. */
  readonly certain: boolean;
  /** What happens on the path, in sequence. */
  readonly path: readonly string[];
}

/** States kept at one place; beyond them the rest is only in doubt. */
const MOST_STATES = 200;
const RANK = { none: 0, protected: 1, open: 2 } as const satisfies Record<LeavesDeclaration['position'], number>;

export function findLeaks(runbook: CheckedRunbook): readonly Leak[] {
  return runbook.leaves.position === 'open' ? [] : new FlowWalk(runbook).findLeaks();
}

class FlowWalk {
  private readonly runbook: CheckedRunbook;
  private readonly names: StepNames;
  private readonly ends: PathState[] = [];
  private readonly looser = new Map<CheckedStep, readonly string[]>();
  /** The switch stays armed after the run: it cancels what works, stops too. */
  private readonly staysArmed: boolean;

  constructor(runbook: CheckedRunbook) {
    this.runbook = runbook;
    this.names = new StepNames(runbook);
    this.staysArmed = runbook.deadman?.onExit === 'leave_armed' && runbook.deadman.releaseAfter === undefined;
  }

  findLeaks(): readonly Leak[] {
    this.ends.push(...this.walkBlock(this.runbook.steps, [START]));
    const found = new Map<CheckedStep, Leak>();
    for (const [step, path] of this.looser) found.set(step, { step, certain: false, path });
    for (const end of this.ends)
      for (const { step } of this.listBeyond(end)) {
        const known = found.get(step);
        const certain = !end.doubt;
        const isWorse = known === undefined || (certain && !known.certain);
        const isShorter = known?.certain === certain && end.trace.length < known.path.length;
        if (isWorse || isShorter) found.set(step, { step, certain, path: end.trace });
      }
    return [...found.values()];
  }

  private listBeyond(end: PathState): readonly OrderFact[] {
    const left = listExposed(end).filter(({ fill }) => fill !== 'none' || !this.staysArmed);
    return end.covered && this.runbook.leaves.position === 'protected' ? [] : left;
  }

  private walkBlock(steps: readonly CheckedStep[], from: readonly PathState[]): readonly PathState[] {
    let states = from;
    for (const step of steps) states = merge(states.flatMap((state) => this.walkStep(step, state)));
    return states;
  }

  private walkStep(step: CheckedStep, state: PathState): readonly PathState[] {
    const { if: condition } = step;
    if (condition === undefined) return this.attempt(step, state);
    if (!matters(step)) return [state, ...this.attempt(step, state)];
    const skipped = narrow(state, condition, false, this.names);
    const taken = narrow(state, condition, true, this.names);
    const isTold = step.verb === 'protect' || step.verb === 'cancel';
    return [
      ...(skipped === undefined ? [] : [isTold ? this.tell(skipped, step, `${step.verb} is skipped`) : skipped]),
      ...(taken === undefined ? [] : this.attempt(step, taken)),
    ];
  }

  /** The step done, and what follows where it fails and its handlers go on. */
  private attempt(step: CheckedStep, state: PathState): readonly PathState[] {
    const states = [...this.perform(step, state)];
    if (step.onTimeout !== undefined) {
      const timedOut = this.tell(this.fail(step, state, 'timeout'), step, `${step.verb} times out`);
      states.push(...this.walkBlock(step.onTimeout, [timedOut]));
    }
    for (const clause of step.catch) {
      if (clause.then === 'retry') continue;
      const failed = this.tell(this.fail(step, state, clause.on), step, `${step.verb} fails`);
      const narrowed = clause.if === undefined ? failed : narrow(failed, clause.if, true, this.names);
      if (narrowed === undefined) continue;
      const handled = this.walkBlock(clause.do, [narrowed]);
      if (clause.then === 'continue') states.push(...handled);
      if (clause.then === 'stop') this.ends.push(...handled);
    }
    return states;
  }

  private perform(step: CheckedStep, state: PathState): readonly PathState[] {
    switch (step.verb) {
      case 'place':
        return [this.place(step, state)];
      case 'protect':
        return [this.protect(step, state)];
      case 'cancel':
        return [this.cancel(step, state)];
      case 'cancel_all':
        return [{ ...changeOrders(state, 'all', endOrder), covered: false }];
      case 'wait_for':
        return this.waitFor(step.args, state);
      case 'assert': {
        const holds = narrow(state, step.args.condition, true, this.names);
        return holds === undefined ? [] : [{ ...holds, doubt: state.doubt || (holds.doubt && isExposed(state)) }];
      }
      case 'stop':
        this.ends.push(this.tell(state, step, 'stop'));
        return [];
      case 'fail':
        return [];
      case 'for_each':
      case 'repeat':
        return this.loop(step.args.do, state);
      case 'parallel': {
        // Branches interleave: one that stops the run finds the others anywhere.
        const blocks = step.args.kind === 'each' ? [step.args.do] : step.args.branches.map((branch) => branch.do);
        const open = {
          ...state,
          doubt: state.doubt || blocks.some((block) => [...walkSteps(block)].some(isPlacement)),
        };
        if (step.args.kind === 'each') return this.loop(step.args.do, open);
        return blocks.reduce<readonly PathState[]>((states, block) => this.walkBlock(block, states), [open]);
      }
      case 'if':
      case 'switch':
        return this.walkCases(step, state);
      case 'call':
        return [this.call(step, state)];
      default:
        return [state];
    }
  }

  private place(step: StepOf<'place'>, state: PathState): PathState {
    const { args, path } = step;
    const others = listExposed(state).filter((fact) => fact.step !== step);
    const against = others.some((fact) => fact.step.verb === 'place' && fact.step.args.side.text !== args.side.text);
    // It closes or covers what is there, in a size that only the run knows.
    if (!this.mayOpen(step) || against) return { ...state, doubt: state.doubt || isExposed(state) };
    const ends = args.type === 'market' || args.tif === 'immediate_or_cancel' || args.tif === 'fill_or_kill';
    const isFilled = step.await === 'any_fill' || step.await === 'filled';
    const working = !ends && step.await !== 'filled' && step.await !== 'terminal';
    const told = this.tell(state, step, 'place');
    return withOrder(told, path, { step, fill: isFilled ? 'some' : 'may', working });
  }

  private mayOpen({ allow }: StepOf<'place'>): boolean {
    return allow !== 'reduce' && (this.runbook.limits?.mode ?? 'active') === 'active';
  }

  private protect({ args }: StepOf<'protect'>, state: PathState): PathState {
    const fraction = args.stopLoss && evaluateConstant(args.stopLoss.fraction);
    if (args.stopLoss === undefined) return state;
    if (fraction === undefined) return { ...state, doubt: true };
    return { ...state, covered: state.covered || (fraction.equals(1) && !this.staysArmed) };
  }

  private cancel({ args }: StepOf<'cancel'>, state: PathState): PathState {
    if (args.kind === 'mine') return { ...changeOrders(state, 'all', endOrder), covered: false };
    if (args.kind === 'ids') return { ...state, doubt: true };
    const key = this.names.findPlace(args.order.text);
    if (key !== undefined) return changeOrders(state, key, endOrder);
    return this.names.isProtection(args.order.text) ? { ...state, covered: false } : { ...state, doubt: true };
  }

  private waitFor(args: StepOf<'wait_for'>['args'], state: PathState): readonly PathState[] {
    if (args.kind === 'read') return this.walkBlock([args.read], [state]);
    if (args.kind === 'until') return [narrow(state, args.until, true, this.names) ?? state];
    if (args.kind === 'order') return [this.waitForOrder(args, state)];
    // Which of them has filled or ended is known only in the run; of the others nothing has changed.
    const orders = args.any.text.replace(/^\s*\[|\]\s*$/g, '').split(',');
    const known = orders.every((text) => this.names.findPlace(text.trim()) !== undefined);
    return [known ? state : { ...state, doubt: true }];
  }

  private waitForOrder(args: Extract<StepOf<'wait_for'>['args'], { kind: 'order' }>, state: PathState): PathState {
    const key = this.names.findPlace(args.order.text);
    // The stop or the target may have closed the position.
    if (key === undefined) return { ...state, doubt: true };
    const known = {
      live: {},
      any_fill: { fill: 'some' },
      filled: { fill: 'some', working: false },
      terminal: { working: false },
    } as const;
    return changeOrders(state, key, (fact) => ({ ...fact, ...known[args.is] }));
  }

  private call(step: StepOf<'call'>, state: PathState): PathState {
    const callee = this.runbook.calls[step.args.runbook];
    const steps = callee === undefined ? [] : [...walkSteps(callee.steps)];
    if (callee === undefined || !steps.some((each) => isPlacement(each) || each.verb.startsWith('cancel')))
      return state;
    const told = this.tell(state, step, `call ${step.args.runbook}`);
    if (RANK[callee.leaves.position] > RANK[this.runbook.leaves.position] && steps.some(isPlacement))
      this.looser.set(step, told.trace);
    return { ...told, doubt: state.doubt || isExposed(state) };
  }

  /** No round, one, or more: what a second round adds, a third repeats. */
  private loop(steps: readonly CheckedStep[], state: PathState): readonly PathState[] {
    const once = this.walkBlock(steps, [state]);
    return [state, ...once, ...this.walkBlock(steps, once)];
  }

  private walkCases({ args }: StepOf<'if' | 'switch'>, state: PathState): readonly PathState[] {
    const done: PathState[] = [];
    let rest: PathState | undefined = state;
    for (const { when, do: steps } of args.cases) {
      if (rest === undefined) return done;
      const relevant = steps.some(matters);
      const taken = relevant ? narrow(rest, when, true, this.names) : rest;
      if (taken !== undefined) done.push(...this.walkBlock(steps, [taken]));
      if (relevant) rest = narrow(rest, when, false, this.names);
    }
    if (rest !== undefined) done.push(...this.walkBlock(args.else ?? [], [rest]));
    return done;
  }

  /** The state after a step that failed: a `place` may have placed its order all the same. */
  private fail(step: CheckedStep, state: PathState, on: CatchClause['on'] | 'timeout'): PathState {
    const surely = typeof on !== 'string' && on.every((kind) => NOT_FILLED.has(kind));
    if (step.verb === 'place') {
      if (surely || !this.mayOpen(step)) return state;
      return withOrder(this.tell(state, step, 'place'), step.path, { step, fill: 'may', working: true });
    }
    if (getStepRow(step.verb).risk !== 'inner' || step.verb === 'wait_for') return state;
    return { ...state, doubt: true };
  }

  private tell(state: PathState, { span }: CheckedStep, what: string): PathState {
    const { line } = findPosition(this.runbook.source.text, span.start);
    return { ...state, trace: [...state.trace, `line ${line}: ${what}`] };
  }
}

/** Kinds of failure after which an order of the step cannot have filled. */
const NOT_FILLED: ReadonlySet<string> = new Set(['rejected', 'denied', 'rate_limited', 'stale_feed', 'assertion']);

function isPlacement({ verb }: CheckedStep): boolean {
  return verb === 'place' || verb === 'protect';
}

/** Steps that place, cancel, await, or end the run or its switch: whether one is skipped changes what is left, as with inner steps. */
const DECISIVE: ReadonlySet<CheckedStep['verb']> = new Set([
  'place',
  'protect',
  'cancel',
  'cancel_all',
  'wait_for',
  'arm_deadman',
  'disarm_deadman',
  'assert',
  'stop',
  'fail',
]);

function matters({ verb }: CheckedStep): boolean {
  return DECISIVE.has(verb) || getStepRow(verb).risk === 'inner';
}

/** Each state once, the one with the shortest path; beyond the most that are kept, what is left is in doubt. */
function merge(states: readonly PathState[]): readonly PathState[] {
  const kept = new Map<string, PathState>();
  for (const state of states) {
    const orders = [...state.orders].map(([key, { fill, working }]) => [key, fill, working]);
    const id = JSON.stringify([orders, state.covered, state.doubt]);
    const known = kept.get(id);
    if (known === undefined || state.trace.length < known.trace.length) kept.set(id, state);
  }
  const all = [...kept.values()];
  return all.length <= MOST_STATES ? all : all.slice(0, MOST_STATES).map((state) => ({ ...state, doubt: true }));
}

const NO_SCOPE: Scope = { get: () => undefined, rules: () => undefined };

function evaluateConstant<T extends Value>(expr: Expr<T>): T | undefined {
  return expr.constant ? expr.evaluate(NO_SCOPE) : undefined;
}
