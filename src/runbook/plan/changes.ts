/** The variables that steps change: while these steps may be under way, or may have run, the values are not known. */
import type { CheckedRunbook, CheckedStep, StepOf } from '../checked.ts';
import { findTree, listItems } from '../expression/expression.ts';
import type { SyntaxNode } from '../expression/syntax.ts';
import { listAllSteps, listInnerBlocks, walkSteps } from '../steps/walk.ts';
import type { Expr } from '../values.ts';
import type { PlanScope } from './scope.ts';

/** Variables that these steps change are not known while they may be under way. */
export function forgetChanged(steps: readonly CheckedStep[], scope: PlanScope): void {
  for (const step of walkSteps(steps))
    if (step.verb === 'set') for (const { name, value } of step.args.names) scope.assign(name, value, false);
}

export function listChanged(steps: readonly CheckedStep[]): ReadonlySet<string> {
  return new Set(
    [...walkSteps(steps)].flatMap((step) => (step.verb === 'set' ? step.args.names.map(({ name }) => name) : [])),
  );
}

/**
 * As `forgetChanged`, for a step that may fail: another attempt sees what the one before has changed, and the steps after it what its
 * handlers have, also of a failure that a step around it passes over.
 */
export function forgetHandled(step: CheckedStep, when: 'before' | 'after', scope: PlanScope): void {
  if (when === 'after')
    for (const handler of [...step.catch.map(({ do: steps }) => steps), step.onTimeout ?? []])
      forgetChanged(handler, scope);
  else if (step.catch.some(({ then }) => then === 'retry')) forgetChanged([step], scope);
}

/** How many items a `set` adds to each list variable at most; Infinity where that is not known. */
export function listGrowth(step: StepOf<'set'>, runbook: CheckedRunbook): readonly (readonly [string, number])[] {
  const lists = new Set(runbook.vars.filter(({ type }) => type.kind === 'list').map(({ name }) => name));
  return step.args.names.flatMap(({ name, value }) => {
    if (!lists.has(name)) return [];
    const added = listItems(value)?.length ?? countAdded(findTree(value), name);
    if (added === undefined) return [[name, Number.POSITIVE_INFINITY] as const];
    const taken = added > 0 && findReplacing(name, runbook) === step ? 1 : 0;
    return [[name, added - taken] as const];
  });
}

/** The items that an expression adds to the list that it changes; undefined where its form says nothing. */
function countAdded(tree: SyntaxNode | undefined, name: string): number | undefined {
  switch (tree?.op) {
    case 'id':
      return tree.args === name ? 0 : undefined;
    case 'list':
      return tree.args.length;
    case '+': {
      const [before, more] = [countAdded(tree.args[0], name), tree.args[1]];
      return before === undefined || more.op !== 'list' ? undefined : before + more.args.length;
    }
    case 'call':
      return tree.args[0] === 'remove' ? countAdded(tree.args[1][0], name) : undefined;
    case 'rcall':
      return tree.args[0] === 'remove' || tree.args[0] === 'filter' ? countAdded(tree.args[1], name) : undefined;
    case '?:': {
      const [first, second] = [countAdded(tree.args[1], name), countAdded(tree.args[2], name)];
      return first === undefined || second === undefined ? undefined : Math.max(first, second);
    }
    default:
      return undefined;
  }
}

const REPLACING = new WeakMap<CheckedRunbook, Map<string, CheckedStep | undefined>>();

/**
 * The `set` that takes an item out of the list each time that it adds some: `remove(list, each) + [next]` in a round of the
 * `for_each` over that list. That holds where no order can be in the list twice, and no two rounds take out the same one.
 */
function findReplacing(name: string, runbook: CheckedRunbook): CheckedStep | undefined {
  const known = REPLACING.get(runbook) ?? new Map<string, CheckedStep | undefined>();
  REPLACING.set(runbook, known);
  if (!known.has(name)) known.set(name, searchReplacing(name, listAllSteps(runbook)));
  return known.get(name);
}

function searchReplacing(name: string, all: readonly CheckedStep[]): CheckedStep | undefined {
  const sites = [...walkSteps(all)].filter(
    (each): each is StepOf<'set'> => each.verb === 'set' && each.args.names.some((named) => named.name === name),
  );
  const [replacing, ...others] = sites.filter((site) => findTaken(site, name) !== undefined);
  if (replacing === undefined || others.length > 0) return undefined;
  const added = sites.flatMap((site) => listAddedIds(site, name) ?? []);
  const isDistinct = new Set(added).size === added.length && sites.every((site) => addsNewOrders(site, name, all));
  return isDistinct && isOncePerItem(replacing, name, all) ? replacing : undefined;
}

/** The name of the item that `remove(list, item) + [...]` takes out. */
function findTaken(step: StepOf<'set'>, name: string): string | undefined {
  const value = findSet(step, name);
  const tree = value && findTree(value);
  const list = tree?.op === '+' ? tree.args[0] : undefined;
  const [of, item] =
    list?.op === 'call' && list.args[0] === 'remove'
      ? list.args[1]
      : list?.op === 'rcall' && list.args[0] === 'remove'
        ? [list.args[1], list.args[2][0]]
        : [];
  return of?.op === 'id' && of.args === name && item?.op === 'id' ? item.args : undefined;
}

function findSet(step: StepOf<'set'>, name: string): Expr | undefined {
  return step.args.names.find((named) => named.name === name)?.value;
}

/** The ids that a `set` adds to a list; undefined where it adds anything else. */
function listAddedIds(step: StepOf<'set'>, name: string): readonly string[] | undefined {
  const value = findSet(step, name);
  const tree = value && findTree(value);
  const added = tree?.op === '+' ? tree.args[1] : undefined;
  const items = added?.op === 'list' ? added.args : ((value && listItems(value)) ?? []);
  const ids = items.flatMap((item) => (item?.op === 'id' ? [item.args] : []));
  return ids.length === items.length ? ids : undefined;
}

/** Whether every order that a `set` adds has been placed by a step before it in the same block: then it is a new one each time. */
function addsNewOrders(step: StepOf<'set'>, name: string, all: readonly CheckedStep[]): boolean {
  const ids = listAddedIds(step, name);
  const block = listBlocks(all).find((steps) => steps.includes(step));
  const before = block?.slice(0, block.indexOf(step)) ?? [];
  return ids?.every((id) => before.some((each) => each.verb === 'place' && each.id === id)) ?? false;
}

/** Whether a `set` is reached at most once for each item of a list, in the only loop around it that matters. */
function isOncePerItem(step: StepOf<'set'>, name: string, all: readonly CheckedStep[]): boolean {
  let inside: CheckedStep = step;
  for (;;) {
    const owner = [...walkSteps(all)].find((each) => listInnerBlocks(each).some((block) => block.includes(inside)));
    if (owner === undefined || owner.verb === 'parallel') return false;
    if (owner.verb === 'for_each') {
      const from = countAdded(findTree(owner.args.in), name);
      return from === 0 && owner.args.each === findTaken(step, name) && !isInParallel(owner, all);
    }
    const isBlock = owner.verb === 'if' || owner.verb === 'switch';
    if (!isBlock || owner.catch.some(({ then }) => then === 'retry')) return false;
    inside = owner;
  }
}

function isInParallel(step: CheckedStep, all: readonly CheckedStep[]): boolean {
  return [...walkSteps(all)].some((each) => each.verb === 'parallel' && [...walkSteps([each])].includes(step));
}

/** Every list of steps, with those inside the steps of it. */
function listBlocks(steps: readonly CheckedStep[]): readonly (readonly CheckedStep[])[] {
  return [steps, ...[...walkSteps(steps)].flatMap(listInnerBlocks)];
}
