/**
 * Narrows the state of the check of `leaves` by a condition, where that says something about an order, or about a measure of what
 * filled. What a condition says in another way leaves a doubt.
 */
import type { CheckedRunbook, CheckedStep, StepOf } from '../checked.ts';
import { findPlain, spellValue } from '../expression/expression.ts';
import type { SyntaxNode } from '../expression/syntax.ts';
import { findPath, findRoot, isZero, listParts, listPaths, listTerms, spell } from '../expression/tree.ts';
import { listAllSteps, walkSteps } from '../steps/walk.ts';
import type { Expr } from '../values.ts';
import { ConditionUses } from './decisions.ts';
import { assumeZero, changeOrders, countOrders, evaluateConstant, type OrderFact, type PathState } from './facts.ts';

/** Names of a runbook's steps and variables, as conditions use them. */
export class StepNames {
  private readonly places = new Map<string, string>();
  private readonly protections = new Map<string, StepOf<'protect'>>();
  /** Names whose values say nothing about orders. */
  private readonly others = new Set(['inputs', 'feeds', 'now', 'run', 'account']);
  /** Of these, the ones that are the same during the whole run. */
  readonly steady: ReadonlySet<string>;
  readonly uses: ConditionUses;
  /** Variables that begin at zero and only ever add what orders filled. */
  private readonly sums: ReadonlySet<string>;

  constructor(runbook: CheckedRunbook) {
    this.uses = new ConditionUses(runbook);
    const steps = [...walkSteps(listAllSteps(runbook))];
    for (const step of steps) {
      if (step.id === undefined) continue;
      if (step.verb === 'place') this.places.set(step.id, step.path);
      else if (step.verb === 'protect') this.protections.set(step.id, step);
      else if (step.verb === 'read_account' || step.verb === 'read_tier' || step.verb === 'request')
        this.others.add(step.id);
    }
    const lets = runbook.let.filter(({ value }) => value.reads.every((root) => this.others.has(findRoot(root))));
    for (const { name } of lets) this.others.add(name);
    this.steady = new Set(['inputs', ...runbook.let.map(({ name }) => name)]);
    const set = steps.flatMap((step) => (step.verb === 'set' ? step.args.names : []));
    const isGrowing = (sum: string) =>
      set.every(({ name, value }) => name !== sum || listSummed(sum, value) !== undefined);
    const sums = runbook.vars.filter(({ name, init }) => isFromZero(init) && isGrowing(name));
    this.sums = new Set(sums.map(({ name }) => name));
  }

  /** The key of the order that an expression names by a step's id alone. */
  findPlace(tree: SyntaxNode | undefined): string | undefined {
    return tree?.op === 'id' ? this.places.get(tree.args) : undefined;
  }

  /** The `protect` of which an expression names an order, and which one. */
  findProtected(
    tree: SyntaxNode | undefined,
  ): { readonly protection: StepOf<'protect'>; readonly leg: string | undefined } | undefined {
    const [id = '', leg] = (tree && findPath(tree))?.split('.') ?? [];
    const protection = this.protections.get(id);
    return protection && { protection, leg };
  }

  /** Whether a condition can have to do with orders: it reads more than inputs, feeds, times and the account. */
  concernsOrders(paths: readonly string[]): boolean {
    return paths.some((path) => !this.others.has(findRoot(path)));
  }

  isSum(name: string): boolean {
    return this.sums.has(name);
  }

  /** The state after variables and lets got values: what a sum of fills, or a name for one, counts. */
  note(state: PathState, step: CheckedStep): PathState {
    if (step.verb === 'list_fills') {
      const { market, allPages } = step.args;
      if (step.id === undefined || market === undefined || !allPages) return state;
      return countOrders(state, `net_size(${step.id}.fills)`, (fact) => fact.market === spellValue(market));
    }
    if (step.verb !== 'let' && step.verb !== 'set') return state;
    let noted = state;
    for (const { name, value } of step.args.names) {
      const measure = spellValue(value);
      if (step.verb === 'let') noted = countOrders(forget(noted, name), name, ({ counted }) => counted.has(measure));
      else if (this.isSum(name)) {
        const summed = (listSummed(name, value) ?? []).map((id) => this.places.get(id));
        noted = countOrders(noted, name, (_, key) => summed.includes(key));
      }
    }
    return noted;
  }
}

function isFromZero(init: Expr): boolean {
  const tree = findPlain(init);
  return tree !== undefined && isZero(tree);
}

function forget(state: PathState, measure: string): PathState {
  return changeOrders(
    state,
    ({ counted }) => counted.has(measure),
    (fact) => ({ ...fact, counted: new Set([...fact.counted].filter((each) => each !== measure)) }),
  );
}

/**
 * The ids whose `filled` an assignment adds to a variable: `done + entry.filled + taker.filled.orValue(0)`, whose terms are never
 * negative; undefined where it does anything else.
 */
function listSummed(name: string, value: Expr): readonly string[] | undefined {
  const tree = findPlain(value);
  const [first, ...terms] = tree === undefined ? [] : listTerms(tree, '+');
  const ids = terms.map((term) => findFilled(dropZero(term)));
  return first?.op === 'id' && first.args === name && ids.every((id) => id !== undefined) ? ids : undefined;
}

function findFilled(node: SyntaxNode): string | undefined {
  const [id, field, ...more] = findPath(node)?.split('.') ?? [];
  return field === 'filled' && more.length === 0 ? id : undefined;
}

/** A value without the zero that is there for it where it is absent. */
function dropZero(node: SyntaxNode): SyntaxNode {
  const [name, value, [instead]] = node.op === 'rcall' ? node.args : [undefined, node, []];
  return name === 'orValue' && instead !== undefined && isZero(instead) ? value : node;
}

/** The state where the condition is as `truth` says; undefined where it cannot be. */
export function narrowByCondition(
  state: PathState,
  condition: Expr<boolean>,
  truth: boolean,
  names: StepNames,
): PathState | undefined {
  const tree = findPlain(condition);
  if (tree === undefined) return { ...state, doubt: true };
  if (isSteady(tree, names.steady)) return decide(state, condition, truth, { uses: names.uses, tree });
  const parts = listTerms(tree, '&&');
  const atoms = parts.map((part) => parseAtom(part, names));
  if (!truth && parts.length > 1)
    return atoms.every((atom) => atom !== undefined) || !concerns(tree, names) ? state : { ...state, doubt: true };
  let narrowed: PathState | undefined = state;
  for (const [index, atom] of atoms.entries()) {
    const part = parts[index] ?? tree;
    if (atom === undefined) {
      if (narrowed !== undefined && concerns(part, names)) narrowed = { ...narrowed, doubt: true };
    } else narrowed = narrowed && applyAtom(narrowed, atom, truth);
  }
  return narrowed;
}

/**
 * A condition whose value never changes goes the same way each time. Another one about the same inputs may depend on it, so that
 * the path may be impossible.
 */
function decide(
  state: PathState,
  condition: Expr<boolean>,
  truth: boolean,
  { uses, tree }: { readonly uses: ConditionUses; readonly tree: SyntaxNode },
): PathState | undefined {
  const taken = uses.take(state.decided, condition, tree, truth);
  return taken && { ...state, decided: taken.decided, doubt: state.doubt || taken.related };
}

/** Functions over the fills of the run in a market: their values change, whatever their arguments are. */
export const OF_FILLS: ReadonlySet<string> = new Set(['position', 'avg_entry', 'realized', 'fees']);

/** A call of such a function. */
export interface FillRead {
  readonly name: string;
  readonly market: string;
  /** What stands for it in the expression: the call, or the name of a `def`. */
  readonly by: SyntaxNode;
}

const FILL_READS = new WeakMap<SyntaxNode, readonly FillRead[]>();

/** The calls of such functions in a tree; `written`: the tree before names of a `def` were replaced in it. */
export function listFillReads(plain: SyntaxNode, written = plain): readonly FillRead[] {
  const reads = FILL_READS.get(written) ?? findFillReads(plain, written);
  FILL_READS.set(written, reads);
  return reads;
}

function findFillReads(plain: SyntaxNode, written: SyntaxNode): readonly FillRead[] {
  const isCall = plain.op === 'call' && OF_FILLS.has(plain.args[0]);
  const here = isCall ? [{ name: plain.args[0], market: plain.args[1].map(spell).join(), by: written }] : [];
  const parts = written.op === plain.op ? listParts(written) : [];
  return [...here, ...listParts(plain).flatMap((part, at) => findFillReads(part, parts[at] ?? written))];
}

function readsFills(tree: SyntaxNode): boolean {
  return listFillReads(tree).length > 0;
}

/** Whether a condition has the same value at each place: it reads names of steady values alone. */
export function isSteady(tree: SyntaxNode, steady: ReadonlySet<string>): boolean {
  const paths = listPaths(tree);
  return paths.length > 0 && !readsFills(tree) && paths.every((path) => steady.has(findRoot(path)));
}

/** Whether a part of a condition that is not understood reads what has to do with orders. */
function concerns(part: SyntaxNode, names: StepNames): boolean {
  return readsFills(part) || names.concernsOrders(listPaths(part));
}

type Saying = 'filled' | 'whole' | 'working' | 'placed';
type Atom =
  | { readonly kind: 'order'; readonly key: string; readonly says: Saying; readonly positive: boolean }
  /** `zero`: the atom says that the measure is zero. */
  | {
      readonly kind: 'measure';
      readonly measure: string;
      /** It is the position of the run in this market. */
      readonly market: string | undefined;
      readonly whole: boolean;
      readonly zero: boolean;
      /** It shows whether a position on this side is there, and nothing of one on the other. */
      readonly side?: 'long' | 'short' | undefined;
    };

type Sayings = Readonly<Record<string, readonly [Saying, boolean]>>;

/** What a field of an order says, and the order itself (''), where it is true, is zero, or is present. */
const TRUE: Sayings = { open: ['working', true], terminal: ['working', false] };
const ZERO: Sayings = { filled: ['filled', false], remaining: ['whole', true] };
const PRESENT: Sayings = { '': ['placed', true], avg_price: ['filled', true] };

/** What a part of a condition says; undefined where it is not understood. */
function parseAtom(node: SyntaxNode, names: StepNames): Atom | undefined {
  switch (node.op) {
    case '!_':
      return negate(parseAtom(node.args, names));
    case '==':
    case '!=':
    case '>':
    case '<':
      return isZero(node.args[1]) ? parseComparison(node.args[0], node.op, names) : undefined;
    case 'rcall':
      return node.args[0] === 'hasValue' ? sayOf(node.args[1], PRESENT, names) : undefined;
    default:
      return sayOf(node, TRUE, names);
  }
}

function negate(atom: Atom | undefined): Atom | undefined {
  return atom?.kind === 'measure' ? { ...atom, zero: !atom.zero } : atom && { ...atom, positive: !atom.positive };
}

/** What a comparison with zero says. */
function parseComparison(left: SyntaxNode, op: '==' | '!=' | '>' | '<', names: StepNames): Atom | undefined {
  const order = op === '<' ? undefined : sayOf(dropZero(left), ZERO, names);
  if (order !== undefined) return op === '==' ? order : negate(order);
  const name = left.op === 'call' ? left.args[0] : undefined;
  if (left.op !== 'id' && name !== 'net_size' && name !== 'position') return undefined;
  const isSum = left.op === 'id' && names.isSum(left.args);
  if (isSum && op === '<') return undefined;
  const side = isSum ? undefined : op === '>' ? 'long' : op === '<' ? 'short' : undefined;
  const market = name === 'position' ? listFillReads(left)[0]?.market : undefined;
  return { kind: 'measure', measure: spell(left), market, whole: !isSum, zero: op === '==', side };
}

function sayOf(node: SyntaxNode, sayings: Sayings, names: StepNames): Atom | undefined {
  const [holder, field] = node.op === '.' || node.op === '.?' ? node.args : [node, ''];
  const key = names.findPlace(holder);
  const saying = Object.hasOwn(sayings, field) ? sayings[field] : undefined;
  return key === undefined || saying === undefined
    ? undefined
    : { kind: 'order', key, says: saying[0], positive: saying[1] };
}

function applyAtom(state: PathState, atom: Atom, truth: boolean): PathState | undefined {
  if (atom.kind === 'measure') {
    const { measure, market, whole, side } = atom;
    const isThere = (fact: OrderFact) => fact.market === market;
    const known = market === undefined ? state : countOrders(state, measure, isThere);
    const isKnown = [...known.orders.values()].some(({ counted }) => counted.has(measure));
    // A position on the other side is one too: orders of one side and their stops alone cannot make it.
    const isOneSided =
      !state.doubt && [...known.orders.values()].every(({ step }) => evaluateConstant(step.args.side) === side);
    if (!isKnown || (side !== undefined && !isOneSided))
      return { ...state, doubt: state.doubt || state.orders.size > 0 };
    return atom.zero === truth ? assumeZero(known, measure, whole) : state;
  }
  const { key, says, positive } = atom;
  const fact = state.orders.get(key);
  const holds = positive === truth;
  if (says === 'placed') return applyPlaced(state, key, holds);
  if (fact === undefined) return state;
  const set = (change: Partial<typeof fact>) =>
    changeOrders(
      state,
      (_, each) => each === key,
      (each) => ({ ...each, ...change }),
    );
  if (says === 'working') return holds ? state : set({ working: false });
  if (says === 'whole') return holds ? set({ fill: 'some', working: false }) : state;
  if (holds) return fact.fill === 'none' && !fact.working ? undefined : set({ fill: 'some' });
  if (fact.fill === 'some') return undefined;
  // What has filled is known of an order that has ended; a working one may fill after it was looked at.
  return fact.working ? state : set({ fill: 'none' });
}

/** The state where an order was placed, or was not. */
function applyPlaced(state: PathState, key: string, holds: boolean): PathState | undefined {
  const fact = state.orders.get(key);
  if (fact?.maybeAbsent !== true) return holds === (fact !== undefined) ? state : undefined;
  const { maybeAbsent: _, ...placed } = fact;
  const orders = new Map(state.orders);
  if (holds) orders.set(key, placed);
  else orders.delete(key);
  return { ...state, orders };
}
