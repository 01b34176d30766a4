/**
 * Finds the orders that a runbook leaves beyond `leaves` on a path that ends as succeeded or stopped (docs/language.md, What a run
 * leaves). An order may have filled on every path on which it was sent: after a time-out, in part, and while a cancel was on its way.
 * Paths that end as failed are not walked: the run is held to its word there as well.
 */
import { findPosition } from '../../base/diagnostic.ts';
import type { CatchClause, CheckedRunbook, CheckedStep, LeavesDeclaration, StepOf } from '../checked.ts';
import { findPlain, listItems, spellValue } from '../expression/expression.ts';
import { endsAtOnce, findAwaited } from '../steps/awaited.ts';
import { getStepRow } from '../steps/steps.ts';
import { listInnerBlocks, walkSteps } from '../steps/walk.ts';
import type { Expr } from '../values.ts';
import { narrowByCondition, StepNames } from './conditions.ts';
import {
  assignName,
  changeOrders,
  cover,
  doubtElsewhere,
  endOrder,
  evaluateConstant,
  isCovered,
  isExposed,
  isSameSide,
  joinStates,
  listExposed,
  makeFact,
  mayCover,
  NOT_PLACED,
  type OrderFact,
  type PathState,
  START,
  uncover,
  uncoverMeant,
  withOrder,
} from './facts.ts';
import { type Domain, FlowWalk, type Loop } from './walk.ts';

/** An order, or a called runbook, that may leave more than the runbook declares. */
export interface Leak {
  readonly step: CheckedStep;
  /** On some path it certainly does, if it fills; else the check cannot tell. */
  readonly certain: boolean;
  /** What happens on the path, in sequence. */
  readonly path: readonly string[];
}

/** States kept at one place; more are joined, which leaves a doubt. */
const MOST_STATES = 200;
/** Orders kept in all of them: where there are many orders, fewer states are kept. */
const MOST_FACTS = 2000;
const RANK = { none: 0, protected: 1, open: 2 } as const satisfies Record<LeavesDeclaration['position'], number>;

/** Leaks, and the orders that open the opposite position where a stop of the run has closed its own before they fill. */
export function findLeaks(runbook: CheckedRunbook): {
  readonly leaks: readonly Leak[];
  readonly crossing: readonly StepOf<'place'>[];
} {
  if (runbook.leaves.position === 'open') return { leaks: [], crossing: [] };
  const domain = new LeavesDomain(runbook);
  const ends = new FlowWalk(domain).walkToEnd(runbook.steps, START);
  const found = new Map<CheckedStep, Leak>();
  for (const [step, path] of domain.looser) found.set(step, { step, certain: false, path });
  for (const end of ends.flatMap((each) => walkFinally(domain, runbook, each)))
    for (const fact of domain.listBeyond(end)) {
      const { step } = fact;
      const known = found.get(step);
      const certain = !end.doubt && !(runbook.leaves.position === 'protected' && mayCover(end, fact));
      const isWorse = known === undefined || (certain && !known.certain);
      const isShorter = known?.certain === certain && end.trace.length < known.path.length;
      if (isWorse || isShorter) found.set(step, { step, certain, path: end.trace });
    }
  return { leaks: [...found.values()], crossing: [...domain.crossing] };
}

/** What the steps leave is judged before `finally`; where that is as declared, it must not take away what covers it. */
function walkFinally(domain: LeavesDomain, { finally: steps }: CheckedRunbook, end: PathState): readonly PathState[] {
  const [first] = steps;
  if (first === undefined || domain.listBeyond(end).length > 0) return [end];
  return new FlowWalk(domain).walkToEnd(steps, domain.tell(end, first, 'finally'));
}

class LeavesDomain implements Domain<PathState> {
  /** Calls of runbooks that may leave more than the caller, with the path to them. */
  readonly looser = new Map<CheckedStep, readonly string[]>();
  readonly crossing = new Set<StepOf<'place'>>();
  private readonly runbook: CheckedRunbook;
  private readonly names: StepNames;
  /** The switch stays armed after the run: it cancels what works, stops too. */
  private readonly staysArmed: boolean;
  private readonly branches: BranchPlaces;
  private readonly numbers = new Numbers();
  private readonly factNumbers = new WeakMap<OrderFact, number>();
  /** By a market as `spellValue` spells it: the names that it reads. */
  private readonly readBy: ReadonlyMap<string, readonly string[]>;

  constructor(runbook: CheckedRunbook) {
    this.runbook = runbook;
    this.names = new StepNames(runbook);
    this.branches = new BranchPlaces(runbook.steps);
    const markets = [...walkSteps(runbook.steps)].flatMap((step) =>
      step.verb === 'place' || step.verb === 'protect' ? [step.args.market] : [],
    );
    this.readBy = new Map(markets.map((market) => [spellValue(market), market.reads]));
    this.staysArmed = runbook.deadman?.onExit === 'leave_armed' && runbook.deadman.releaseAfter === undefined;
  }

  listBeyond(end: PathState): readonly OrderFact[] {
    const left = listExposed(end).filter(({ fill }) => fill !== 'none' || !this.staysArmed);
    return this.runbook.leaves.position === 'protected' ? left.filter((fact) => !isCovered(end, fact)) : left;
  }

  begin(): void {}

  narrow(state: PathState, condition: Expr<boolean>, truth: boolean, step: CheckedStep): PathState | undefined {
    if (!matters(step)) return state;
    const narrowed = narrowByCondition(state, condition, truth, this.names);
    // An assertion that may be about something else is passed without a word about what is exposed.
    if (step.verb === 'assert' && narrowed !== undefined)
      return { ...narrowed, doubt: state.doubt || (narrowed.doubt && isExposed(state)) };
    return narrowed;
  }

  perform(step: CheckedStep, state: PathState): PathState {
    switch (step.verb) {
      case 'place':
        return this.place(step, state);
      case 'protect':
        return this.protect(step, state);
      case 'manage':
        return this.manage(step, state);
      case 'close':
        return this.close(step, state);
      case 'cancel':
        return this.cancel(step, state);
      case 'cancel_all':
        return uncover(changeOrders(state, () => true, endOrder));
      case 'wait_for':
        return this.waitFor(step.args, state);
      case 'call':
        return this.call(step, state);
      case 'let':
      case 'set': {
        const noted = this.names.note(state, step);
        return step.args.names.reduce((each, { name }) => this.assign(name, step, each), noted);
      }
      default:
        return this.names.note(state, step);
    }
  }

  /** The state after a step that failed: a `place` may have placed its order all the same. */
  fail(step: CheckedStep, state: PathState, on: CatchClause['on'] | 'timeout'): PathState {
    const surely = typeof on !== 'string' && on.every((kind) => NOT_PLACED.has(kind));
    if (step.verb === 'place') {
      if (surely || !this.mayOpen(step)) return state;
      return withOrder(this.tell(state, step, 'place'), step.path, makeFact(step, 'may', true));
    }
    // Its exit may have closed a part. A `close` may have cancelled a stop that was not placed again; a `manage` cancels its own alone.
    if (step.verb === 'manage' || step.verb === 'close') {
      const left = step.verb === 'close' ? uncoverMeant(state, spellValue(step.args.market)) : state;
      return { ...left, doubt: state.doubt || isExposed(state) };
    }
    const blocks = step.verb === 'wait_for' ? [] : listInnerBlocks(step);
    const isCall = step.verb === 'call';
    return blocks.length === 0 && !isCall ? state : this.cutBranches(blocks, { ...state, doubt: true });
  }

  /** Whether a loop has a round depends on values: one that would have closed or covered something leaves a doubt. */
  passOver(loop: Loop, state: PathState): PathState {
    const changes = listInnerBlocks(loop).some((block) => [...walkSteps(block)].some((step) => CLOSING.has(step.verb)));
    return changes && isExposed(state) ? { ...state, doubt: true } : state;
  }

  beginRound(loop: Loop, state: PathState): PathState {
    return 'each' in loop.args ? this.assign(loop.args.each, loop, state) : state;
  }

  /** More rounds than are walked may cover the rest. */
  endRound(_loop: Loop, state: PathState): PathState {
    const isPartly = [...state.covered.values()].some((shares) => shares.every((share) => share.lt(1)));
    return isPartly ? { ...state, doubt: true } : state;
  }

  beginBranches(step: StepOf<'parallel'>, state: PathState): PathState {
    return listInnerBlocks(step).some(hasPlacement) ? { ...state, doubt: true } : state;
  }

  cutBranches(others: readonly (readonly CheckedStep[])[], state: PathState): PathState {
    let cut = state;
    for (const step of others.flatMap((block) => [...walkSteps(block)])) {
      if (step.verb === 'place' && this.mayOpen(step)) {
        cut = withOrder(this.tell({ ...cut, doubt: true }, step, 'place'), step.path, makeFact(step, 'may', true));
      }
      if (step.verb === 'cancel' || step.verb === 'cancel_all') cut = uncover(cut);
    }
    return cut;
  }

  /** Each state once, the one with the shortest path. Beyond the most that are kept, those that cover and have decided alike are one. */
  merge(states: readonly PathState[]): readonly PathState[] {
    if (states.length < 2) return states;
    const kept = new Map<string, PathState>();
    for (const state of states) {
      const id = `${this.spellPlace(state)} ${state.doubt} ${this.spellOrders(state)}`;
      const known = kept.get(id);
      if (known === undefined || state.trace.length < known.trace.length) kept.set(id, state);
    }
    const all = [...kept.values()];
    const facts = all.reduce((largest, { orders }) => Math.max(largest, orders.size), 1);
    const most = Math.min(MOST_STATES, Math.max(2, Math.floor(MOST_FACTS / facts)));
    if (all.length <= most) return all;
    const alike = new Map<string, PathState[]>();
    for (const state of all) {
      const place = this.spellPlace(state);
      alike.set(place, [...(alike.get(place) ?? []), state]);
    }
    const groups = [...alike.values()];
    const apart = groups.slice(0, groups.length <= most ? most : most - 1);
    return [...apart, groups.slice(apart.length).flat()].flatMap((group) => joinStates(group) ?? []);
  }

  /** What a path has decided, and what covers on it. */
  private spellPlace({ covered, decided }: PathState): string {
    const shares = [...covered].map(([market, each]) => [market, ...each.map((share) => share.toFixed())]);
    return JSON.stringify([shares, [...decided.truths], [...decided.paths].sort()]);
  }

  private spellOrders({ orders }: PathState): string {
    let text = '';
    for (const [key, fact] of orders) text += `${this.numbers.find(key)}:${this.numberFact(fact)},`;
    return text;
  }

  private numberFact(fact: OrderFact): number {
    const known = this.factNumbers.get(fact);
    if (known !== undefined) return known;
    const { market, fill, working, counted, maybeAbsent } = fact;
    const number = this.numbers.find(JSON.stringify([market, fill, working, maybeAbsent, ...counted]));
    this.factNumbers.set(fact, number);
    return number;
  }

  tell(state: PathState, { span }: CheckedStep, what: string): PathState {
    const { line } = findPosition(this.runbook.source.text, span.start);
    return { ...state, trace: [...state.trace, `line ${line}: ${what}`] };
  }

  private assign(name: string, { path }: CheckedStep, state: PathState): PathState {
    return assignName(state, (market) => this.readBy.get(market)?.includes(name) === true, path);
  }

  private place(step: StepOf<'place'>, state: PathState): PathState {
    const { args, path } = step;
    const others = listExposed(state).filter((fact) => fact.step !== step);
    const against = others.some((fact) => !isSameSide(fact.step, step));
    const market = spellValue(args.market);
    const isCrossing = others.some((fact) => fact.market === market && !isSameSide(fact.step, step));
    if (isCrossing && this.mayOpen(step) && !endsAtOnce(args) && state.covered.has(market)) this.crossing.add(step);
    // It closes or covers what is there, in a size that only the run knows.
    if (!this.mayOpen(step) || against) return { ...state, doubt: state.doubt || isExposed(state) };
    const awaited = findAwaited(step);
    const fill = awaited === 'any_fill' || awaited === 'filled' ? 'some' : 'may';
    const working = !endsAtOnce(args) && awaited !== 'filled' && awaited !== 'terminal';
    return withOrder(this.tell(state, step, 'place'), path, makeFact(step, fill, working));
  }

  private mayOpen({ allow }: StepOf<'place'>): boolean {
    return allow !== 'reduce' && (this.runbook.limits?.mode ?? 'active') === 'active';
  }

  private protect(step: StepOf<'protect'>, state: PathState): PathState {
    const { args } = step;
    if (args.stopLoss === undefined) return state;
    const here = listExposed(state).filter(({ market }) => market === spellValue(args.market));
    // On the side of the orders it would open more, and covers nothing.
    if (here.length > 0 && here.every((fact) => isSameSide(fact.step, step)))
      return args.side.reads.every((root) => root === 'inputs')
        ? this.tell(state, step, 'protect on the side of the order itself')
        : { ...state, doubt: true };
    const share = evaluateConstant(args.stopLoss.fraction);
    if (share === undefined) return { ...state, doubt: true };
    const market = spellValue(args.market);
    return this.staysArmed ? state : cover(doubtElsewhere(state, market), market, share);
  }

  /** It succeeds when the position is gone, and cancels its own orders: what has filled is closed, what still works may fill again. */
  private manage(step: StepOf<'manage'>, state: PathState): PathState {
    const { args } = step;
    const market = spellValue(args.market);
    const here = listExposed(state).filter((fact) => fact.market === market);
    // Whether it is on the other side is known only in the run.
    const isSame = here.some((fact) => isSameSide(fact.step, step));
    const closed = this.closeOrders(step, state, (fact) => ({ ...fact, fill: fact.working ? 'may' : 'none' }));
    return isSame ? { ...uncover(state, market), doubt: true } : closed;
  }

  /** It succeeds when nothing of the run works in the market any more, and the position is gone. */
  private close(step: StepOf<'close'>, state: PathState): PathState {
    return this.closeOrders(step, state, (fact) => ({ ...endOrder(fact), fill: 'none' }));
  }

  /** Another branch may place its order after the position was found gone: whichever is written first, it may be left. */
  private closeOrders(
    step: StepOf<'close' | 'manage'>,
    state: PathState,
    change: (fact: OrderFact) => OrderFact,
  ): PathState {
    const market = spellValue(step.args.market);
    const isHere = (fact: OrderFact) => fact.market === market;
    const isBeside = (fact: OrderFact) => isHere(fact) && this.branches.areBeside(step, fact.step);
    const closed = changeOrders(state, (fact) => isHere(fact) && !isBeside(fact), change);
    const doubt = state.doubt || listExposed(state).some(isBeside);
    const left = changeOrders(closed, isBeside, (fact) => (fact.fill === 'some' ? { ...fact, fill: 'may' } : fact));
    return doubtElsewhere(uncover({ ...left, doubt }, market), market);
  }

  private cancel({ args }: StepOf<'cancel'>, state: PathState): PathState {
    if (args.kind === 'ids') return { ...state, doubt: true };
    if (args.kind === 'mine') {
      const market = spellValue(args.market);
      const ended = changeOrders(state, (fact) => fact.market === market, endOrder);
      return doubtElsewhere(uncoverMeant(ended, market), market);
    }
    const key = this.names.findPlace(findPlain(args.order));
    if (key !== undefined) return changeOrders(state, (_, each) => each === key, endOrder);
    const found = this.names.findProtected(findPlain(args.order));
    if (found === undefined) return { ...state, doubt: true };
    // A target covers nothing.
    if (found.leg === 'take_profit') return state;
    // Another stop, placed before this one was cancelled, covers on.
    const { market, stopLoss } = found.protection.args;
    const share = stopLoss && evaluateConstant(stopLoss.fraction);
    return uncover(state, spellValue(market), share);
  }

  private waitFor(args: StepOf<'wait_for'>['args'], state: PathState): PathState {
    if (args.kind === 'order') return this.waitForOrder(args, state);
    if (args.kind !== 'any') return state;
    // Which of them has filled or ended is known only in the run; of the others nothing has changed.
    const orders = listItems(args.any);
    const areKnown = orders?.every((order) => this.names.findPlace(order) !== undefined);
    return areKnown ? state : { ...state, doubt: true };
  }

  private waitForOrder(args: Extract<StepOf<'wait_for'>['args'], { kind: 'order' }>, state: PathState): PathState {
    const key = this.names.findPlace(findPlain(args.order));
    // The stop or the target may have closed the position.
    if (key === undefined) return { ...state, doubt: true };
    const known = {
      live: {},
      any_fill: { fill: 'some' },
      filled: { fill: 'some', working: false },
      terminal: { working: false },
    } as const;
    return changeOrders(
      state,
      (_, each) => each === key,
      (fact) => ({ ...fact, ...known[args.is] }),
    );
  }

  private call(step: StepOf<'call'>, state: PathState): PathState {
    const callee = this.runbook.calls[step.args.runbook];
    const steps = callee === undefined ? [] : [...walkSteps([...callee.steps, ...callee.finally])];
    if (callee === undefined || !steps.some((each) => CLOSING.has(each.verb))) return state;
    const told = this.tell(state, step, `call ${step.args.runbook}`);
    if (RANK[callee.leaves.position] > RANK[this.runbook.leaves.position] && hasPlacement(callee.steps))
      this.looser.set(step, told.trace);
    // It cancels the orders of the whole run, stops too.
    const cancels = steps.some(
      ({ verb, args }) => verb === 'cancel_all' || (verb === 'cancel' && args.kind !== 'order'),
    );
    return { ...(cancels ? uncover(told) : told), doubt: state.doubt || isExposed(state) };
  }
}

/** A number for each text, so that states are compared by short keys. */
class Numbers {
  private readonly known = new Map<string, number>();

  find(text: string): number {
    const number = this.known.get(text) ?? this.known.size;
    this.known.set(text, number);
    return number;
  }
}

/** The branches of `parallel` that the steps of a runbook are in. */
class BranchPlaces {
  private readonly places = new Map<CheckedStep, ReadonlyMap<CheckedStep, number>>();

  constructor(steps: readonly CheckedStep[]) {
    for (const each of walkSteps(steps)) {
      if (each.verb !== 'parallel') continue;
      for (const [index, block] of listInnerBlocks(each).entries())
        for (const inner of walkSteps(block)) this.places.set(inner, new Map(this.places.get(inner)).set(each, index));
    }
  }

  /** Whether two steps are in two branches of one `parallel`, so that either may be first. */
  areBeside(one: CheckedStep, other: CheckedStep): boolean {
    const places = this.places.get(other);
    return [...(this.places.get(one) ?? [])].some(([step, index]) => (places?.get(step) ?? index) !== index);
  }
}

function isPlacement({ verb }: CheckedStep): boolean {
  return verb === 'place' || verb === 'protect' || verb === 'manage' || verb === 'close';
}

function hasPlacement(block: readonly CheckedStep[]): boolean {
  return [...walkSteps(block)].some(isPlacement);
}

/** Steps that can close a position, cover it, or take its cover away. */
const CLOSING: ReadonlySet<CheckedStep['verb']> = new Set([
  'place',
  'protect',
  'manage',
  'close',
  'cancel',
  'cancel_all',
  'call',
]);

/** Steps that place, cancel, or end the run or its switch: whether one is skipped changes what is left, as with inner steps and a wait. */
const DECISIVE: ReadonlySet<CheckedStep['verb']> = new Set([
  ...CLOSING,
  'arm_deadman',
  'disarm_deadman',
  'assert',
  'stop',
  'fail',
]);

function matters({ verb }: CheckedStep): boolean {
  return DECISIVE.has(verb) || getStepRow(verb).risk === 'inner';
}
