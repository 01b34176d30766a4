/**
 * Finds reads of an order that may have changed meanwhile: since it was placed, or since its cancel was accepted, no step on the path
 * has used the order again, so that more may have filled than the read shows (docs/language.md, Steps and what they yield).
 */
import type { Span } from '../../base/diagnostic.ts';
import type { CatchClause, CheckedRunbook, CheckedStep, StepOf } from '../checked.ts';
import { findOrigin, findPlain, findTree, listFieldsRead, listParsed, spellValue } from '../expression/expression.ts';
import type { SyntaxNode } from '../expression/syntax.ts';
import { findPath, isZero, listTerms } from '../expression/tree.ts';
import { findAwaited } from '../steps/awaited.ts';
import { listAllSteps, listInnerBlocks, walkSteps } from '../steps/walk.ts';
import type { Expr } from '../values.ts';
import { isSteady, listFillReads, OF_FILLS } from './conditions.ts';
import { ConditionUses, type Decisions, UNDECIDED } from './decisions.ts';
import { NOT_PLACED } from './facts.ts';
import { type Domain, FlowWalk, type Loop } from './walk.ts';

/** A read of a field that may have changed since. */
export interface StaleRead {
  /** The step that reads; undefined for an output. */
  readonly step: CheckedStep | undefined;
  readonly expr: Expr;
  readonly field: string;
  /** The place of what reads it. */
  readonly span: Span;
  /** The step that made the order stale: it placed it, or its cancel was not awaited. */
  readonly since: CheckedStep;
  /** Of a position: the order that has changed it may have no name here. */
  readonly among: 'an earlier round' | 'unnamed' | undefined;
}

/** Fields that change while an order works. */
const CHANGING: ReadonlySet<string> = new Set(['filled', 'remaining', 'avg_price', 'status', 'terminal', 'open']);

/** An order that no step has used since `since`; `isOpen`: it was seen at the venue then. */
interface Untouched {
  readonly since: CheckedStep;
  readonly market: string;
  readonly isOpen: boolean;
}

interface StaleState {
  /** By where the order is found: `entry`, `guard.stop_loss`, `ladder[].o`. */
  readonly stale: ReadonlyMap<string, Untouched>;
  /** Every order placed on the path, with the text of its market. */
  readonly placed: ReadonlyMap<string, string>;
  /** What a name of a let, or of an item of a loop, stands for. */
  readonly names: ReadonlyMap<string, string>;
  /** The orders that a variable may hold. */
  readonly held: ReadonlyMap<string, ReadonlySet<string>>;
  readonly decided: Decisions;
}

const START: StaleState = {
  stale: new Map(),
  placed: new Map(),
  names: new Map(),
  held: new Map(),
  decided: UNDECIDED,
};

/** States kept at one place; the rest is not walked, and found by the run at most. */
const MOST_STATES = 200;
/** Orders kept in all of them: where there are many orders, fewer states are kept. */
const MOST_ORDERS = 4000;

export function findStaleReads(runbook: CheckedRunbook): readonly StaleRead[] {
  const domain = new StaleDomain(runbook);
  const walk = new FlowWalk(domain, { keepsFailures: true });
  const ended = domain.merge(walk.walkToEnd(runbook.steps, START));
  const failed = domain.merge(walk.failed);
  const handlers = new FlowWalk(domain);
  for (const { undo } of walkSteps(runbook.steps)) if (typeof undo === 'object') handlers.walkBlock(undo, failed);
  const handled = handlers.walkBlock(runbook.onError, failed);
  handlers.walkBlock(runbook.finally, domain.merge([...failed, ...handled]));
  for (const state of new FlowWalk(domain).walkBlock(runbook.finally, ended))
    for (const { value } of runbook.outputs) domain.read(state, value, undefined);
  return [...domain.found.values()];
}

class StaleDomain implements Domain<StaleState> {
  readonly found = new Map<string, StaleRead>();
  private readonly steady: ReadonlySet<string>;
  private readonly uses: ConditionUses;
  /** The names of orders, and of pairs of them. */
  private readonly orders: ReadonlySet<string>;
  /** Somewhere in the text a function may read the fills of the run; as a key of YAML, its name is none. */
  private readonly mayReadFills: boolean;

  constructor(runbook: CheckedRunbook) {
    this.mayReadFills = new RegExp(`\\b(?:${[...OF_FILLS].join('|')})\\b(?!\\s*:)`).test(runbook.source.text);
    this.uses = new ConditionUses(runbook);
    this.steady = new Set(['inputs', ...runbook.let.map(({ name }) => name)]);
    const named = [...walkSteps(listAllSteps(runbook))].flatMap((step) => {
      if (step.id === undefined || (step.verb !== 'place' && step.verb !== 'protect')) return [];
      return [step.id, ...(step.verb === 'protect' ? listLegs(step).map((leg) => `${step.id}.${leg}`) : [])];
    });
    this.orders = new Set(named);
  }

  begin(step: CheckedStep, state: StaleState): void {
    for (const expr of listArguments(step)) this.read(state, expr, step);
  }

  /**
   * Notes what an expression, or a part of it, reads too late. `decides`: it decides on a stop, a failure or an order, where `open`
   * is not enough.
   */
  read(state: StaleState, expr: Expr, step: CheckedStep | undefined, decides = false, part?: SyntaxNode): void {
    for (const { tree, plain, fields, locate } of listParsed(expr)) {
      const within = part ?? tree;
      for (const { origin, by } of fields) {
        const [, order = '', field = ''] = /^(.*)\.(\w+)$/.exec(origin) ?? [];
        if (!CHANGING.has(field) || by.start < within.start || by.end > within.end) continue;
        const untouched = state.stale.get(this.resolve(state, order));
        if (untouched === undefined || (field === 'open' && untouched.isOpen && !decides)) continue;
        this.note({ step, expr, field, span: locate(by), since: untouched.since, among: undefined }, origin);
      }
      for (const { name: field, market, by } of listFillReads(plain, tree)) {
        if (by.start < within.start || by.end > within.end) continue;
        const [key, untouched] = [...state.stale].find(([, each]) => each.market === market) ?? [];
        if (key === undefined || untouched === undefined) continue;
        const { since } = untouched;
        const among = key.startsWith(EARLIER) ? 'an earlier round' : since.id === undefined ? 'unnamed' : undefined;
        this.note({ step, expr, field, span: locate(by), since, among }, `${field}(${market})`);
      }
    }
  }

  private note(read: StaleRead, what: string): void {
    const id = `${read.step?.path ?? ''} ${read.expr.text} ${what}`;
    if (!this.found.has(id)) this.found.set(id, read);
  }

  /** Reads a condition from left to right: what one part says, the next ones know. */
  narrow(state: StaleState, condition: Expr<boolean>, truth: boolean, step: CheckedStep): StaleState | undefined {
    const tree = findTree(condition);
    const plain = findPlain(condition);
    if (tree === undefined || plain === undefined) return state;
    const decides = isDeciding(step, condition);
    const parts = listTerms(tree, '&&');
    let known: StaleState | undefined = state;
    for (const part of parts) {
      if (known !== undefined) this.read(known, condition, step, decides, part);
      known = known && this.narrowBy(known, part, true);
    }
    if (isSteady(plain, this.steady)) {
      const taken = this.uses.take(state.decided, condition, plain, truth);
      return taken && { ...state, decided: taken.decided };
    }
    if (truth) return known;
    return parts.length === 1 ? this.narrowBy(state, tree, false) : state;
  }

  perform(step: CheckedStep, state: StaleState): StaleState {
    switch (step.verb) {
      case 'place':
      case 'protect':
        return this.place(step, state);
      case 'close':
        return this.endAll(state, step.args.market);
      case 'cancel':
        return this.cancel(step, state);
      case 'cancel_all':
        return { ...state, stale: new Map() };
      case 'refresh':
        return this.touch(state, [step.args.kind === 'list' ? step.args.orders : step.args.order]);
      case 'amend':
        return this.touch(state, [step.args.order]);
      case 'set':
        return this.keep(step, state);
      case 'wait_for':
        return this.waitFor(step, state);
      case 'let': {
        const names = new Map(state.names);
        for (const { name, value } of step.args.names) {
          const origin = findOrigin(value);
          if (origin !== undefined) names.set(name, this.resolve(state, origin));
          else names.delete(name);
        }
        return { ...state, names };
      }
      default:
        return state;
    }
  }

  /**
   * A `place` that failed may have placed its order all the same. A wait has read its order however it ended, and so has an amend or a
   * cancel that the venue refused.
   */
  fail(step: CheckedStep, state: StaleState, on: CatchClause['on'] | 'timeout'): StaleState {
    if (step.verb === 'wait_for') return this.waitFor(step, state);
    const isGone = typeof on !== 'string' && on.every((kind) => kind === 'not_found' || kind === 'rejected');
    if (step.verb === 'cancel') return isGone ? this.cancel(step, state) : state;
    if (step.verb === 'amend') return isGone ? this.touch(state, [step.args.order]) : state;
    if (step.verb !== 'place' && step.verb !== 'protect') return state;
    const surely = typeof on !== 'string' && on.every((kind) => NOT_PLACED.has(kind));
    return surely ? state : this.place(step, state);
  }

  /** A list of orders without a round has none that works. */
  passOver(loop: Loop, state: StaleState): StaleState | undefined {
    const origin = findItems(loop);
    const group = origin === undefined ? undefined : `${this.resolve(state, origin)}[]`;
    const kept = this.findKept(loop, state);
    const isGroup =
      group !== undefined && [...state.stale.keys()].some((key) => key.startsWith(group) || kept?.has(key) === true);
    return isGroup ? undefined : state;
  }

  beginRound(loop: Loop, state: StaleState): StaleState {
    const origin = findItems(loop);
    if (origin === undefined || !('each' in loop.args)) return this.forgetRound(loop, state);
    const names = new Map(state.names).set(loop.args.each, `${this.resolve(state, origin)}[]`);
    const held = new Map(state.held);
    held.delete(loop.args.each);
    const kept = this.findKept(loop, state);
    if (kept !== undefined) held.set(loop.args.each, kept);
    return this.forgetRound(loop, { ...state, names, held });
  }

  /** What the variable holds whose orders a loop goes through, all of them or all that work: each round uses one, and together all. */
  private findKept({ args }: Loop, state: StaleState): ReadonlySet<string> | undefined {
    const tree = 'in' in args ? findPlain(args.in) : undefined;
    const list = tree && findWhole(tree);
    return list === undefined ? undefined : state.held.get(list);
  }

  /** Orders that a round collects are found under the name of the loop. */
  endRound(loop: Loop, state: StaleState): StaleState {
    const stale = new Map(state.stale);
    const placed = new Map(state.placed);
    for (const { name, value } of (loop.verb === 'for_each' && loop.args.collect) || []) {
      this.read(state, value, loop);
      const origin = findOrigin(value);
      if (origin === undefined || loop.id === undefined) continue;
      const from = this.resolve(state, origin);
      const to = `${loop.id}[].${name}`;
      for (const [key, untouched] of state.stale) {
        if (!isWithin(key, from)) continue;
        stale.set(`${to}${key.slice(from.length)}`, untouched);
        // Behind its round the order has the name of the list alone.
        stale.delete(key);
      }
      for (const [key, market] of state.placed)
        if (isWithin(key, from)) placed.set(`${to}${key.slice(from.length)}`, market);
    }
    return { ...state, stale, placed };
  }

  beginBranches(_step: StepOf<'parallel'>, state: StaleState): StaleState {
    return state;
  }

  cutBranches(others: readonly (readonly CheckedStep[])[], state: StaleState): StaleState {
    let cut = state;
    for (const step of others.flatMap((block) => [...walkSteps(block)]))
      if (step.verb === 'place' || step.verb === 'protect') cut = this.place(step, cut);
    return cut;
  }

  merge(states: readonly StaleState[]): readonly StaleState[] {
    if (states.length < 2) return states;
    const orders = states.reduce((largest, { placed }) => Math.max(largest, placed.size), 1);
    const most = Math.min(MOST_STATES, Math.max(2, Math.floor(MOST_ORDERS / orders)));
    const kept = new Map<string, StaleState>();
    for (const state of states) {
      if (kept.size >= most) break;
      const stale = [...state.stale].map(([key, { since, isOpen }]) => `${key} ${since.path} ${isOpen}`);
      kept.set(
        JSON.stringify([
          stale.sort(),
          [...state.placed.keys()].sort(),
          [...state.names],
          [...state.held].map(([name, orders]) => [name, [...orders].sort()] as const).sort(),
          [...state.decided.truths],
        ]),
        state,
      );
    }
    return [...kept.values()];
  }

  tell(state: StaleState): StaleState {
    return state;
  }

  /** Where an order is found, with each name replaced by what it stands for. */
  private resolve({ names }: StaleState, origin: string): string {
    const [root = ''] = /^\w+/.exec(origin) ?? [];
    const meant = names.get(root);
    return meant === undefined ? origin : `${meant}${origin.slice(root.length)}`;
  }

  private place(step: StepOf<'place' | 'protect'>, state: StaleState): StaleState {
    // No expression names an order without an id, but what it fills changes the position of the run.
    const name = step.id ?? (step.verb === 'place' && this.mayReadFills ? step.path : undefined);
    if (name === undefined) return state;
    const awaited = findAwaited(step);
    const market = spellValue(step.args.market);
    const keys = step.verb === 'place' ? [name] : listLegs(step).map((leg) => `${name}.${leg}`);
    const stale = new Map(state.stale);
    const placed = new Map(state.placed);
    for (const key of keys) {
      placed.set(key, market);
      if (awaited === 'live' || awaited === 'accepted')
        stale.set(key, { since: step, market, isOpen: awaited === 'live' });
      else stale.delete(key);
    }
    return { ...state, stale, placed };
  }

  private cancel(step: StepOf<'cancel'>, state: StaleState): StaleState {
    const { args } = step;
    const meant =
      args.kind === 'mine'
        ? [...state.placed].flatMap(([key, market]) => (market === spellValue(args.market) ? [key] : []))
        : this.listNamed(state, args.kind === 'order' ? [args.order] : [args.ids]);
    const stale = new Map(state.stale);
    for (const key of meant) {
      if (findAwaited(step) === 'terminal') stale.delete(key);
      else stale.set(key, { since: step, market: state.placed.get(key) ?? '', isOpen: false });
    }
    return { ...state, stale };
  }

  /** Each order that was placed in the market has ended. */
  private endAll(state: StaleState, market: Expr<string>): StaleState {
    const stale = new Map([...state.stale].filter(([key]) => state.placed.get(key) !== spellValue(market)));
    return { ...state, stale };
  }

  private waitFor({ args }: StepOf<'wait_for'>, state: StaleState): StaleState {
    if (args.kind === 'order') return this.touch(state, [args.order]);
    return args.kind === 'any' ? this.touch(state, [args.any]) : state;
  }

  private touch(state: StaleState, exprs: readonly Expr[]): StaleState {
    const stale = new Map(state.stale);
    for (const key of this.listNamed(state, exprs)) stale.delete(key);
    return { ...state, stale };
  }

  /**
   * What a variable held before and what is added to it: what is taken out of it may be in it all the same. A list of nothing, or of
   * orders that have names, holds no other.
   */
  private keep({ args }: StepOf<'set'>, state: StaleState): StaleState {
    const held = new Map(state.held);
    for (const { name, value } of args.names) {
      const isAnew = value.reads.every((read) => this.orders.has(read));
      const before = isAnew ? [] : (state.held.get(name) ?? []);
      const orders = new Set([...before, ...this.listNamed(state, [value])]);
      if (orders.size > 0) held.set(name, orders);
      else held.delete(name);
    }
    return { ...state, held };
  }

  /** The placed orders that expressions name: by themselves, in a list, or by a field such as `entry.id`. */
  private listNamed(state: StaleState, exprs: readonly Expr[]): readonly string[] {
    const origins = exprs.flatMap((expr) => [...expr.reads, ...listFieldsRead(expr), findOrigin(expr) ?? []].flat());
    const named = new Set(
      origins.flatMap((origin) => [origin, origin.replace(/\.\w+$/, '')]).map((each) => this.resolve(state, each)),
    );
    for (const root of origins) for (const key of state.held.get(root) ?? []) named.add(key);
    return [...state.placed.keys()].filter((key) => named.has(key));
  }

  private narrowBy(state: StaleState, part: SyntaxNode, truth: boolean): StaleState | undefined {
    if (part.op === '!_') return this.narrowBy(state, part.args, !truth);
    const empty = findEmpty(part, truth);
    if (empty !== undefined) {
      const held = state.held.get(empty);
      return { ...state, stale: new Map([...state.stale].filter(([key]) => held?.has(key) !== true)) };
    }
    const says = part.op === '.' || part.op === '.?' ? part.args[1] : part.op === 'rcall' ? part.args[0] : '';
    const order = part.op === 'rcall' ? findPath(part.args[1]) : findPath(part)?.replace(/\.\w+$/, '');
    if (order === undefined || (says !== 'open' && says !== 'terminal' && says !== 'hasValue')) return state;
    const key = this.resolve(state, order);
    if (says === 'hasValue') {
      const isPlaced = [...state.placed.keys()].some((each) => isWithin(each, key));
      return !this.orders.has(key) || truth === isPlaced ? state : undefined;
    }
    if (truth !== (says === 'terminal')) return state;
    const stale = new Map(state.stale);
    for (const each of [key, ...(state.held.get(order) ?? [])]) stale.delete(each);
    return { ...state, stale };
  }

  /**
   * Each round has orders of its own. An entry of the one before is named no more, and what it fills still changes the position; a stop
   * that fills ends it, and what closes what is left then finds that.
   */
  private forgetRound(loop: Loop, state: StaleState): StaleState {
    const inner = listInnerBlocks(loop).flatMap((block) => [...walkSteps(block)]);
    const move = (key: string): readonly string[] => {
      const by = inner.find(({ id, path }) => isWithin(key, id ?? path));
      if (by === undefined) return [key];
      return by.verb === 'place' ? [`${EARLIER}${key}`] : [];
    };
    const moveAll = <V>(map: ReadonlyMap<string, V>) =>
      new Map([...map].flatMap(([key, value]) => move(key).map((to) => [to, value] as const)));
    const held = new Map([...state.held].map(([name, keys]) => [name, new Set([...keys].flatMap(move))] as const));
    return { ...state, stale: moveAll(state.stale), placed: moveAll(state.placed), held };
  }
}

/** Before the name of an order that an earlier round placed. */
const EARLIER = 'earlier ';

function isWithin(key: string, order: string): boolean {
  return key === order || key.startsWith(`${order}.`) || key.startsWith(`${order}[`);
}

function listLegs({ args }: StepOf<'protect'>): readonly string[] {
  return [
    ...(args.stopLoss === undefined ? [] : ['stop_loss']),
    ...(args.takeProfit === undefined ? [] : ['take_profit']),
  ];
}

/** The list that has no item where the comparison of its size is as `truth` says. */
function findEmpty(part: SyntaxNode, truth: boolean): string | undefined {
  if (part.op !== '==' && part.op !== '!=' && part.op !== '>') return undefined;
  const [left, right] = part.args;
  const list = left.op === 'rcall' && left.args[0] === 'size' ? findPath(left.args[1]) : undefined;
  return isZero(right) && truth === (part.op === '==') ? list : undefined;
}

/** The list all of whose orders are gone through, or all that work: `kept`, `kept.filter(o, o.open)`. */
function findWhole(items: SyntaxNode): string | undefined {
  if (items.op !== 'rcall') return findPath(items);
  const [name, on, [item, body]] = items.args;
  if (name !== 'filter' || item?.op !== 'id' || body?.op !== '.') return undefined;
  const [of, field] = body.args;
  return of.op === 'id' && of.args === item.args && field === 'open' ? findPath(on) : undefined;
}

/** Where the items of a loop come from, if that is one place. */
function findItems({ args }: Loop): string | undefined {
  return 'in' in args ? findOrigin(args.in) : undefined;
}

const DECIDED: ReadonlySet<CheckedStep['verb']> = new Set(['stop', 'fail', 'place', 'protect', 'manage']);

/** Whether a condition decides on a stop, a failure or an order: as its `if`, or with it as the first step of its block. */
function isDeciding(step: CheckedStep, condition: Expr): boolean {
  if (step.if === condition) return DECIDED.has(step.verb);
  if (step.verb !== 'if' && step.verb !== 'switch') return false;
  const block = step.args.cases.find(({ when }) => when === condition)?.do;
  return block?.[0] !== undefined && DECIDED.has(block[0].verb);
}

/** Arguments that are conditions: they are read where they narrow. What a round collects is read at its end. */
const CONDITIONS: ReadonlySet<string> = new Set(['cases', 'while', 'until', 'condition', 'collect']);

/** The expressions of a step's arguments and of its own modifiers, without those of the steps in it. */
function listArguments({ args, timeout, because }: CheckedStep): readonly Expr[] {
  const found: Expr[] = [timeout, because].flatMap((each): Expr[] => (each === undefined ? [] : [each]));
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || 'verb' in value) return;
    if ('evaluate' in value && 'reads' in value) found.push(value as Expr);
    else for (const each of Object.values(value)) visit(each);
  };
  for (const [key, value] of Object.entries(args)) if (!CONDITIONS.has(key)) visit(value);
  return found;
}
