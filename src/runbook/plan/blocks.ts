/**
 * Plans the steps that hold blocks: loops, branches and cases. Of a loop whose rounds only the run will know, the block is walked once,
 * and its load repeated.
 */
import { Decimal, toCount } from '../../base/decimal.ts';
import type { CheckedRunbook, CheckedStep, StepOf } from '../checked.ts';
import { listVisibleIds } from '../steps/walk.ts';
import type { Expr, Value } from '../values.ts';
import { forgetChanged } from './changes.ts';
import type { PlannedSwitch } from './deadman.ts';
import type { PlannedFeeds } from './feeds.ts';
import { passesOver } from './load/attempts.ts';
import {
  type Alternative,
  choose,
  EMPTY,
  endAnyTime,
  getRange,
  type Load,
  repeat,
  sequence,
  together,
  UNBOUNDED,
} from './load/load.ts';
import { NOT_KNOWN, type Planned } from './requests.ts';
import type { PlanRows } from './rows.ts';
import { makeLazyRecord, type PlanScope } from './scope.ts';

/** The place of the walk: the runbook, its names, the prefix of its paths, and its deadman switch. */
export interface Place {
  readonly runbook: CheckedRunbook;
  readonly scope: PlanScope;
  readonly prefix: string;
  readonly deadman: PlannedSwitch | undefined;
}

/** The same place, with names of its own. */
export function enterBlock(place: Place): Place {
  return { ...place, scope: place.scope.inner() };
}

interface BlockParts {
  readonly rows: PlanRows;
  readonly feeds: PlannedFeeds;
  /** Whether the inputs of the run are known. */
  readonly hasInputs: boolean;
  readonly walkBlock: (steps: readonly CheckedStep[], place: Place) => Load;
}

/** The items of a list, where they are known; of one that is certainly empty the steps are not walked: they would arm the switch. */
function findItems<T extends Value>(
  list: Expr<readonly T[]>,
  most: number | undefined,
  scope: PlanScope,
): readonly T[] | undefined {
  return scope.evaluateKnown(list) ?? (most === 0 ? [] : undefined);
}

export const DONE: Planned['value'] = { known: undefined };

export class PlannedBlocks {
  private readonly parts: BlockParts;

  constructor(parts: BlockParts) {
    this.parts = parts;
  }

  planForEach(step: StepOf<'for_each'>, place: Place): Planned {
    const { each, in: list, at: position, do: steps, collect } = step.args;
    const most = place.scope.countItems(list);
    const items = findItems(list, most, place.scope);
    if (items === undefined) {
      const inner = this.enterLoop(place, steps);
      inner.scope.setUnknown(each);
      if (position !== undefined) inner.scope.setUnknown(position);
      const load = this.parts.rows.withLoop(`for each ${each} in ${list.text}`, () =>
        this.parts.walkBlock(steps, inner),
      );
      if (most !== undefined && step.id !== undefined) place.scope.setLength(step.id, most);
      return { load: this.repeatList(load, most), value: collect === undefined ? DONE : NOT_KNOWN };
    }
    const collected: Value[] = [];
    const loads = items.map((item, index) => {
      const inner = enterBlock(place);
      inner.scope.set(each, item);
      if (position !== undefined) inner.scope.set(position, new Decimal(index));
      const load = this.parts.walkBlock(steps, inner);
      if (collect !== undefined)
        collected.push(makeLazyRecord(collect.map(({ name, value }) => [name, inner.scope.freeze(value)])));
      return load;
    });
    return { load: sequence(loads), value: { known: collect === undefined ? undefined : collected } };
  }

  /** A part that is done for each item of a list, of which only the most is known. */
  private repeatList(load: Load, most: number | undefined): Load {
    const all = repeat(load, { min: 0, max: most ?? Number.POSITIVE_INFINITY });
    // Without inputs nothing is known of a list: its items count as one in a rate.
    return most === undefined && !this.parts.hasInputs ? { ...all, ...pickRates(load) } : all;
  }

  planRepeat(step: StepOf<'repeat'>, place: Place): Planned {
    const { every, for: duration, max, while: condition, until, do: steps } = step.args;
    const { scope } = place;
    // As they are before the first round.
    const everyMs = every === undefined ? undefined : scope.evaluateKnown(every)?.ms;
    const lengthMs = duration === undefined ? undefined : scope.evaluateKnown(duration)?.ms;
    const known = max === undefined ? undefined : scope.evaluateKnown(max);
    const byCount = known?.isInteger()
      ? toCount(known)
      : max === undefined
        ? Number.POSITIVE_INFINITY
        : countMostRounds(max, scope);
    if ((lengthMs !== undefined && lengthMs <= 0) || byCount <= 0) return { load: EMPTY, value: DONE };
    const bound = describeBound(step, scope);
    const inner = this.enterLoop(place, steps);
    const load = this.parts.rows.withLoop(bound, () =>
      sequence([
        condition === undefined && until === undefined ? EMPTY : this.parts.feeds.ofCondition(step, place.runbook),
        includePause(this.parts.walkBlock(steps, inner), every && (everyMs ?? 'unknown')),
      ]),
    );
    const roundMs = Math.max(everyMs ?? 0, load.leastMs);
    const byTime = lengthMs === undefined || roundMs === 0 ? Number.POSITIVE_INFINITY : Math.ceil(lengthMs / roundMs);
    const rounds = Math.min(byTime, byCount);
    const fixed = condition === undefined && until === undefined && duration === undefined && Number.isFinite(rounds);
    const all = repeat(load, { min: fixed ? rounds : until === undefined ? 0 : 1, max: rounds }, everyMs);
    // A pause or a number of rounds that depends on an input without a value proves nothing.
    const isOpen = (every !== undefined && everyMs === undefined) || (max !== undefined && known === undefined);
    const open = isOpen && !this.parts.hasInputs;
    return { load: open ? { ...all, ...pickRates(load) } : all, value: DONE };
  }

  planParallel(step: StepOf<'parallel'>, place: Place, path: string, certain: boolean): Planned {
    const { args } = step;
    if (args.kind === 'branches') {
      this.parts.rows.addNote(
        path,
        `in parallel, join ${args.join}: ${args.branches.map(({ name }) => name).join(', ')}`,
      );
      for (const branch of args.branches) forgetChanged(branch.do, place.scope);
      // Of a branch that did not finish, the names are absent.
      const sure = certain && args.join === 'all' && !passesOver(step);
      const loads = this.parts.rows.inBranches(() =>
        args.branches.map((branch) => {
          const inner = enterBlock(place);
          const branchLoad = this.parts.walkBlock(branch.do, inner);
          for (const id of listVisibleIds(branch.do)) inner.scope.publish(id, place.scope, sure);
          return branchLoad;
        }),
      );
      const load = together(loads);
      return { load: args.join === 'all' ? load : loosen(load, loads), value: DONE };
    }
    const most = place.scope.countItems(args.in);
    const items = findItems(args.in, most, place.scope);
    this.parts.rows.addNote(path, `in parallel for each ${args.each} in ${args.in.text}`);
    forgetChanged(args.do, place.scope);
    if (items === undefined) {
      const inner = enterBlock(place);
      inner.scope.setUnknown(args.each);
      const load = this.parts.rows.inBranches(() =>
        this.parts.rows.withLoop(`for each ${args.each} in ${args.in.text}`, () =>
          this.parts.walkBlock(args.do, inner),
        ),
      );
      return { load: this.repeatList(load, most), value: DONE };
    }
    const loads = this.parts.rows.inBranches(() =>
      items.map((item) => {
        const inner = enterBlock(place);
        inner.scope.set(args.each, item);
        return this.parts.walkBlock(args.do, inner);
      }),
    );
    return { load: together(loads), value: DONE };
  }

  planCases(step: StepOf<'if' | 'switch'>, place: Place, certain: boolean): Load {
    const { cases, else: last = [] } = step.args;
    const { scope } = place;
    const undecided: string[] = [];
    const alternatives: Alternative[] = [];
    let isOver = false;
    const take = (steps: readonly CheckedStep[], when: string | undefined, holds: boolean | undefined) => {
      if (isOver || holds === false) {
        for (const id of listVisibleIds(steps)) scope.set(id, undefined);
        return;
      }
      const inner = enterBlock(place);
      const load = this.parts.rows.withCondition(when, () => this.parts.walkBlock(steps, inner));
      const sure = certain && alternatives.length === 0 && holds === true && !passesOver(step);
      for (const id of listVisibleIds(steps)) inner.scope.publish(id, scope, sure);
      alternatives.push({ load, when });
      isOver = holds === true;
    };
    const otherwise = (): string | undefined =>
      undecided.length === 0 ? undefined : `not (${undecided.join(' || ')})`;
    for (const { when, do: steps } of cases) {
      const holds = scope.evaluateKnown(when);
      take(steps, holds ? otherwise() : when.text, holds);
      if (holds === undefined) undecided.push(when.text);
    }
    take(last, otherwise(), true);
    return choose(alternatives);
  }

  /** The body of a loop: variables that it changes have another value in each round. */
  private enterLoop(place: Place, steps: readonly CheckedStep[]): Place {
    forgetChanged(steps, place.scope);
    return enterBlock(place);
  }
}

/** The most that a number of rounds can be. */
function countMostRounds(count: Expr<Decimal>, scope: PlanScope): number {
  const { max } = scope.bound(count);
  return max.isFinite() ? toCount(Decimal.max(0, max.floor())) : Number.POSITIVE_INFINITY;
}

/** A round of a loop, with the pause until the next one begins: undefined without, `unknown` where only the run will know. */
function includePause(round: Load, pauseMs: number | 'unknown' | undefined): Load {
  if (pauseMs === undefined) return round;
  const duration = getRange(round, 'duration');
  const max = pauseMs === 'unknown' ? UNBOUNDED : Decimal.max(duration.max, pauseMs);
  return { ...round, figures: new Map([...round.figures, ['duration', { ...duration, max }]]) };
}

/** The rates of a part that is done once. */
function pickRates({ segments, steady }: Load): Pick<Load, 'segments' | 'steady'> {
  return { segments, steady };
}

/** Branches of which the first one to end cancels the others: none of their figures is certain. */
function loosen(load: Load, branches: readonly Load[]): Load {
  return {
    ...endAnyTime(load, Math.min(...branches.map(({ leastMs }) => leastMs))),
    figures: new Map([...load.figures].map(([name, range]) => [name, { ...range, min: new Decimal(0) }])),
  };
}

/** The bound of a loop, in words. */
function describeBound({ args }: StepOf<'repeat'>, scope: PlanScope): string {
  const { every, for: duration, max } = args;
  return [
    every === undefined ? '' : `every ${scope.format(every)}`,
    duration === undefined ? '' : `for at most ${scope.format(duration)}`,
    max === undefined ? '' : `at most ${scope.format(max)} times`,
    args.while === undefined ? '' : `while ${args.while.text}`,
    args.until === undefined ? '' : `until ${args.until.text}`,
  ]
    .filter((each) => each !== '')
    .join(', ');
}
