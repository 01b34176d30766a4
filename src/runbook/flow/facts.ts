/**
 * The facts of the check of `leaves` on one path: the orders that can open a position, and the stops that cover it. Rather too little
 * is concluded than too much: what cannot be known leaves a doubt.
 */
import type { Decimal } from '../../base/decimal.ts';
import type { StepOf } from '../checked.ts';
import { spellValue } from '../expression/expression.ts';
import { type Expr, NOWHERE, type Value } from '../values.ts';
import { type Decisions, UNDECIDED } from './decisions.ts';

/** An order that can open a position, or may have been one of a called runbook. */
export interface OrderFact {
  readonly step: StepOf<'place'>;
  /** Its market, as `spellValue` spells it. */
  readonly market: string;
  /** Whether it may have filled, in part or whole. */
  readonly fill: 'none' | 'may' | 'some';
  /** It may still fill. */
  readonly working: boolean;
  /** The measures, as `spell` writes them, that are zero only if it filled nothing: `done`, `net_size(mine.fills)`. */
  readonly counted: ReadonlySet<string>;
  /** On some of the paths that were joined it was not placed. */
  readonly maybeAbsent?: true;
}

export function makeFact(step: StepOf<'place'>, fill: OrderFact['fill'], working: boolean): OrderFact {
  return { step, market: spellValue(step.args.market), fill, working, counted: new Set() };
}

export interface PathState {
  /** By the path of the step that places it; an earlier round of a loop has a key of its own. */
  readonly orders: ReadonlyMap<string, OrderFact>;
  /** By the market as `spellValue` spells it: the shares of the position that working stop-losses close. */
  readonly covered: ReadonlyMap<string, readonly Decimal[]>;
  /** Something on the path can have closed, covered or opened more than is known. */
  readonly doubt: boolean;
  readonly decided: Decisions;
  /** What happened on it, for the message: `line 12: place`. */
  readonly trace: readonly string[];
}

export const START: PathState = {
  orders: new Map(),
  covered: new Map(),
  doubt: false,
  decided: UNDECIDED,
  trace: [],
};

/** Whether the sides of two steps are written alike. */
export function isSameSide(one: OrderStep, other: OrderStep): boolean {
  return spellValue(one.args.side) === spellValue(other.args.side);
}

type OrderStep = StepOf<'place' | 'protect' | 'manage'>;

export function evaluateConstant<T extends Value>(expr: Expr<T>): T | undefined {
  return expr.constant ? expr.evaluate(NOWHERE) : undefined;
}

/** Kinds of failure after which a `place` has no order at the venue. */
export const NOT_PLACED: ReadonlySet<string> = new Set([
  'rejected',
  'denied',
  'rate_limited',
  'stale_feed',
  'assertion',
  'not_placed',
]);

/** The joined orders of earlier rounds of a loop. */
const EARLIER = '#earlier';

export function withOrder(state: PathState, key: string, fact: OrderFact): PathState {
  const orders = new Map(state.orders);
  const before = orders.get(key);
  if (before !== undefined && isExposing(before)) {
    const earlier = `${key}${EARLIER}`;
    orders.set(earlier, joinFacts(before, orders.get(earlier)));
  }
  orders.set(key, fact);
  return { ...state, orders };
}

/** Two orders as one: it fills and works if one of them does. */
function joinFacts(one: OrderFact, other: OrderFact | undefined): OrderFact {
  if (other === undefined) return one;
  return {
    ...one,
    fill: one.fill === 'some' || other.fill === 'some' ? 'some' : one.fill === 'none' ? other.fill : one.fill,
    working: one.working || other.working,
    counted: new Set([...one.counted].filter((measure) => other.counted.has(measure))),
  };
}

/** States as one that is any of them: what is certain on all of them is kept, and the rest is in doubt. */
export function joinStates(states: readonly PathState[]): PathState | undefined {
  const [first, ...others] = states;
  if (first === undefined || others.length === 0) return first;
  const keys = new Set(states.flatMap(({ orders }) => [...orders.keys()]));
  const orders = [...keys].map((key) => [key, joinAlternatives(states.map((each) => each.orders.get(key)))] as const);
  const covered = [...first.covered].flatMap(([market, shares]) => {
    const left = others.reduce((kept, each) => keepShared(kept, each.covered.get(market) ?? []), shares);
    return left.length === 0 ? [] : [[market, left] as const];
  });
  const truths = [...first.decided.truths].filter(([condition, truth]) =>
    others.every(({ decided }) => decided.truths.get(condition) === truth),
  );
  const paths = new Set(states.flatMap(({ decided }) => [...decided.paths]));
  const { trace } = states.reduce((least, each) => (each.trace.length < least.trace.length ? each : least));
  return {
    orders: new Map(orders),
    covered: new Map(covered),
    doubt: true,
    decided: { truths: new Map(truths), paths },
    trace,
  };
}

/** One order as it may be on several paths. */
function joinAlternatives(facts: readonly (OrderFact | undefined)[]): OrderFact {
  const [one, ...others] = facts.filter((fact) => fact !== undefined);
  if (one === undefined) throw new Error('there is no order to join');
  const all = [one, ...others];
  const isAbsent = all.length < facts.length || all.some(({ maybeAbsent }) => maybeAbsent === true);
  const fills = new Set([...all.map(({ fill }) => fill), ...(isAbsent ? (['none'] as const) : [])]);
  return {
    step: one.step,
    // Where a name got another value on one path, it is not certainly of the market of that text.
    market: all.find(({ market }) => market.includes(FORMER))?.market ?? one.market,
    fill: fills.size === 1 ? one.fill : 'may',
    working: all.some(({ working }) => working),
    counted: new Set([...one.counted].filter((measure) => others.every(({ counted }) => counted.has(measure)))),
    ...(isAbsent ? { maybeAbsent: true as const } : {}),
  };
}

/** The shares that both have. */
function keepShared(ours: readonly Decimal[], theirs: readonly Decimal[]): readonly Decimal[] {
  const left = [...theirs];
  return ours.filter((share) => {
    const at = left.findIndex((each) => each.eq(share));
    if (at !== -1) left.splice(at, 1);
    return at !== -1;
  });
}

function isExposing({ fill, working }: OrderFact): boolean {
  return fill !== 'none' || working;
}

/** The orders that are or may be a position, or may become one. */
export function listExposed({ orders }: PathState): readonly OrderFact[] {
  return [...orders.values()].filter(isExposing);
}

export function isExposed(state: PathState): boolean {
  return listExposed(state).length > 0;
}

/** Takes what `change` makes of each order of which `applies` says so. */
export function changeOrders(
  state: PathState,
  applies: (fact: OrderFact, key: string) => boolean,
  change: (fact: OrderFact) => OrderFact,
): PathState {
  const orders = new Map(
    [...state.orders].map(([key, fact]) => [key, applies(fact, key) ? change(fact) : fact] as const),
  );
  return { ...state, orders };
}

const FORMER = ' before ';

/** After a name got a value: a market that `isMeant` says reads it is not the one of the same text any more, only itself. */
export function assignName(state: PathState, isMeant: (market: string) => boolean, path: string): PathState {
  const name = (market: string) => (isMeant(market.split(FORMER)[0] ?? '') ? `${market}${FORMER}${path}` : market);
  // A measure of that market is one of another market now.
  const listKept = ({ counted }: OrderFact) => [...counted].filter((measure) => !measure.startsWith('position('));
  return {
    ...changeOrders(
      state,
      ({ market }) => name(market) !== market,
      (fact) => ({ ...fact, market: name(fact.market), counted: new Set(listKept(fact)) }),
    ),
    covered: new Map([...state.covered].map(([market, shares]) => [name(market), shares])),
  };
}

/** Markets of which two count as different where their spelling differs: written out, or of an input, whose author would name it. */
const APART = /^(?:"[^"]*"|inputs\.\w+)$/;

/** Whether two markets may be the same: `entry.market_id`, or the item of another loop, is written in another way. */
function maybeSame(one: string, other: string): boolean {
  return one === other || !(APART.test(one) && APART.test(other));
}

/** After a step about a market: it may be that of an exposed order which names it in another way, or before a name got a value. */
export function doubtElsewhere(state: PathState, market: string): PathState {
  const isMeant = listExposed(state).some((fact) => fact.market !== market && maybeSame(fact.market, market));
  return isMeant ? { ...state, doubt: true } : state;
}

export const endOrder = (fact: OrderFact): OrderFact => ({ ...fact, working: false });

/** From now on `measure` is zero only if these orders filled nothing. One that works may still fill, and is left out. */
export function countOrders(
  state: PathState,
  measure: string,
  isMeant: (fact: OrderFact, key: string) => boolean,
): PathState {
  return changeOrders(
    state,
    (fact, key) => !fact.working && isMeant(fact, key),
    (fact) => ({ ...fact, counted: new Set([...fact.counted, measure]) }),
  );
}

/** The state where a measure is zero; `whole`: it counts the fills of its market. */
export function assumeZero(state: PathState, measure: string, whole: boolean): PathState | undefined {
  const isCounted = (fact: OrderFact) => fact.counted.has(measure);
  if (!whole && [...state.orders.values()].some((fact) => isCounted(fact) && fact.fill === 'some')) return undefined;
  const zero = changeOrders(state, isCounted, (fact) => ({ ...fact, fill: 'none' }));
  return whole && !isExposed(zero) ? { ...zero, doubt: false } : zero;
}

/** Adds the share that a stop-loss covers. */
export function cover(state: PathState, market: string, share: Decimal): PathState {
  return withShares(state, market, [...(state.covered.get(market) ?? []), share]);
}

/** Takes away what covers a market, or one stop of a share, or all. */
export function uncover(state: PathState, market?: string, share?: Decimal): PathState {
  if (market === undefined) return { ...state, covered: new Map() };
  const shares = state.covered.get(market) ?? [];
  const at = share === undefined ? -1 : shares.findIndex((each) => each.eq(share));
  return withShares(state, market, at === -1 ? [] : shares.toSpliced(at, 1));
}

/** Takes away what covers a market, also where it may be named in another way. */
export function uncoverMeant(state: PathState, market: string): PathState {
  const meant = [...state.covered.keys()].filter((each) => maybeSame(each, market));
  return meant.reduce((each, covered) => uncover(each, covered), state);
}

function withShares(state: PathState, market: string, shares: readonly Decimal[]): PathState {
  const covered = new Map(state.covered).set(market, shares);
  if (shares.length === 0) covered.delete(market);
  return { ...state, covered };
}

export function isCovered({ covered }: PathState, fact: OrderFact): boolean {
  return covered.get(fact.market)?.some((share) => share.gte(1)) === true;
}

/** Whether parts add up to the whole. A part may be one of what the other stops have left: the venue's document does not say. */
export function mayCover({ covered }: PathState, fact: OrderFact): boolean {
  return (
    covered
      .get(fact.market)
      ?.reduce((sum, share) => sum.plus(share))
      .gte(1) === true
  );
}
