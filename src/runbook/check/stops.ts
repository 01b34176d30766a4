/**
 * Finds stop prices on the wrong side of each other before a run: a stop-loss in the place of the take-profit triggers at once at any
 * market price. Also finds limits that are too close to their triggers. Expressions are evaluated with feeds and fills at two sample
 * prices, and inputs at their defaults. Doubtful cases are not reported.
 */

import { Decimal } from '../../base/decimal.ts';
import { mapFields } from '../../base/json.ts';
import type { ProtectLeg } from '../checked.ts';
import type { Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { listParsed } from '../expression/expression.ts';
import { findRoot, listPaths } from '../expression/tree.ts';
import { Duration, type Expr, type RecordValue, type Scope, Time, type Value, type ValueType } from '../values.ts';
import type { Checking } from './checking.ts';

/** A leg of a `protect` with its place in the text. */
export interface LegPlace {
  readonly leg: ProtectLeg;
  readonly at: Node;
}

export function lintStops(
  checking: Checking,
  side: Expr<string>,
  stopLoss: LegPlace | undefined,
  takeProfit: LegPlace | undefined,
): void {
  const legs = [stopLoss, takeProfit].flatMap((each) => (each === undefined ? [] : [each.leg.trigger, each.leg.price]));
  // Which of two prices from different sources is higher is not known.
  if (new Set(legs.flatMap((expr) => listPricesRead(checking, expr))).size > 1) return;
  const ways = PROBES.map((price) => buildProbe(checking, price));
  // The side of the closing order: a long position is closed by a short one, and its stop lies below.
  const isBelow = (first: Expr<Decimal>, second: Expr<Decimal>): boolean =>
    ways.every((way) => {
      const closing = tryEvaluate(side, way);
      const [a, b] = [tryEvaluate(first, way), tryEvaluate(second, way)];
      if (closing === undefined || a === undefined || b === undefined) return false;
      return closing === 'short' ? a.lessThan(b) : a.greaterThan(b);
    });
  for (const place of [stopLoss, takeProfit]) if (place !== undefined) checkAboveZero(checking, place, ways);
  if (stopLoss !== undefined && takeProfit !== undefined && isBelow(takeProfit.leg.trigger, stopLoss.leg.trigger))
    checking.report(
      stopLoss.at,
      'stop-reversed',
      'the stop-loss and the take-profit are on the wrong side of each other: one of them triggers at once',
    );
  else if (stopLoss !== undefined && isBelow(stopLoss.leg.trigger, stopLoss.leg.price))
    checking.report(
      stopLoss.at,
      'stop-reversed',
      'the price of the stop-loss is better than its trigger: when it triggers, the market has already passed the price',
    );
  else if (stopLoss !== undefined && isGain(side, stopLoss.leg.trigger, ways)) checking.stopsOnGain.push(stopLoss.at);
}

function checkAboveZero(checking: Checking, { leg, at }: LegPlace, ways: readonly Scope[]): void {
  const isNever = (expr: Expr<Decimal>) =>
    checking.compiler.evaluateConstant(expr) === undefined &&
    ways.every((way) => tryEvaluate(expr, way)?.lessThanOrEqualTo(0));
  const name = (['trigger', 'price'] as const).find((each) => isNever(leg[each]));
  if (name !== undefined)
    checking.report(at, 'price-not-positive', `${name} is not above zero at any price: ${leg[name].text.trim()}`);
}

/** Whether a stop-loss is where the position gains, seen from the price that it is computed from. */
function isGain(side: Expr<string>, trigger: Expr<Decimal>, ways: readonly Scope[]): boolean {
  return ways.every((way, index) => {
    const closing = tryEvaluate(side, way);
    const [at, price] = [tryEvaluate(trigger, way), PROBES[index]];
    if (closing === undefined || at === undefined || price === undefined || trigger.constant) return false;
    return closing === 'short' ? at.greaterThan(price) : at.lessThan(price);
  });
}

/**
 * Reports the bound of a market order, or the trigger of a stop, that is on the wrong side of the feed from which alone it is computed:
 * the order fills nothing, or triggers at once.
 */
export function lintFeedSide(
  checking: Checking,
  { side, price, at, isStop }: Omit<StopPlace, 'trigger'> & { readonly isStop: boolean },
): void {
  const read = new Set(listPricesRead(checking, price));
  const [path = ''] = read;
  const isSideRead = side.reads.some((root) => root.startsWith('feeds.'));
  if (read.size !== 1 || !isPriceFeed(checking, path) || isSideRead) return;
  const isBeyond = PROBES.every((market) => {
    const way = buildProbe(checking, market);
    const [taken, value] = [tryEvaluate(side, way), tryEvaluate(price, way)];
    if (taken === undefined || value === undefined) return false;
    return (taken === 'long') === value.lessThan(market) && !value.eq(market);
  });
  if (!isBeyond) return;
  const what = isStop ? 'the stop triggers at once' : 'the order fills nothing';
  checking.report(
    at,
    'price-beyond-feed',
    `${what}: its ${isStop ? 'trigger' : 'price'} is on the wrong side of ${path}`,
  );
}

function isPriceFeed({ names }: Checking, path: string): boolean {
  const feeds = names.roots.get('feeds');
  const type =
    feeds?.kind === 'record' && path.startsWith('feeds.') ? feeds.fields[path.slice('feeds.'.length)] : undefined;
  return type?.kind === 'decimal' && type.unit === 'price';
}

/** A stop that reduces a position, with its place in the text. */
interface StopPlace {
  readonly side: Expr<string>;
  readonly trigger: Expr<Decimal>;
  readonly price: Expr<Decimal>;
  readonly at: Node;
}

/**
 * Reports a stop whose limit is closer to its trigger than `stop.room`, on the side where it loses: a market that jumps further
 * leaves it unfilled, and the position open.
 */
export function lintRoom(checking: Checking, { side, trigger, price, at }: StopPlace): void {
  const [first, second] = [0, 1].map((pick) => {
    const rooms = PROBES.map((value) => {
      const way = buildProbe(checking, value, { pick });
      const closing = tryEvaluate(side, way);
      const [from, to] = [tryEvaluate(trigger, way), tryEvaluate(price, way)];
      if (closing === undefined || from === undefined || to === undefined || !from.greaterThan(0)) return undefined;
      return (closing === 'short' ? from.minus(to) : to.minus(from)).div(from);
    });
    const [one, other] = rooms;
    // Prices of two sources: how far they are apart is known in the run alone.
    return one === undefined || other === undefined || one.minus(other).abs().greaterThan(ROUNDING) ? undefined : one;
  });
  if (first === undefined || second === undefined || first.isNegative() || second.isNegative()) return;
  const most = Decimal.max(first, second);
  if (!most.plus(ROUNDING).lessThan(checking.stopRoom)) return;
  checking.report(
    at,
    'stop-room',
    `the limit is ${formatPercent(most)} from the trigger: a market that jumps further leaves the stop unfilled (stop.room is ${formatPercent(checking.stopRoom)})`,
  );
}

const ROUNDING = new Decimal('0.00001');

function formatPercent(part: Decimal): string {
  return `${part.times(100).toDecimalPlaces(2).toFixed()}%`;
}

const PROBES = [new Decimal(100), new Decimal(70_000)] as const;

/** The paths that an expression reads during a run, also through lets and defs: `entry.avg_price`, `feeds.mid`. */
function listPricesRead(checking: Checking, expr: Expr, seen: ReadonlySet<Expr> = new Set()): readonly string[] {
  const { names } = checking;
  // A name that is declared twice, which is reported, may be made of itself.
  if (seen.has(expr)) return [];
  return listParsed(expr)
    .flatMap(({ tree }) => listPaths(tree))
    .flatMap((path) => {
      const root = findRoot(path);
      if (root === 'inputs' || names.constants.has(root) || !(names.roots.has(root) || names.defs.has(root))) return [];
      const named = names.defs.get(root) ?? names.lets.get(root);
      return named === undefined ? [path] : listPricesRead(checking, named, new Set(seen).add(expr));
    });
}

/**
 * A scope in which every price has the same value, and an input without a default is not known. With `apart` every figure has a
 * value of its own and every input is known; `pick` is the word of a text that is one of several.
 */
function buildProbe(checking: Checking, price: Decimal, apart?: { readonly pick: number }): Scope {
  const { names } = checking;
  const scope: Scope = {
    get(root) {
      const known = names.constants.get(root);
      if (known !== undefined) return known;
      if (root === 'inputs') return apart === undefined ? checking.defaults : sampleInputs(checking, price, apart);
      const def = names.defs.get(root) ?? names.lets.get(root);
      if (def !== undefined) return def.evaluate(scope);
      const type = names.roots.get(root);
      if (type === undefined) throw new Error(`unknown root ${root}`);
      return makeSample(type, price, apart && { ...apart, name: root });
    },
    rules: () => ({ tick: '0.000001', lot: '0.000001' }),
  };
  return scope;
}

function sampleInputs(checking: Checking, price: Decimal, apart: { readonly pick: number }): RecordValue {
  const type = checking.names.roots.get('inputs');
  if (type?.kind !== 'record') return {};
  const known = Object.entries(type.fields).map(([name, field]) => [
    name,
    checking.defaulted.has(name) ? checking.defaults[name] : makeSample(field, price, { ...apart, name }),
  ]);
  return Object.fromEntries(known) as RecordValue;
}

/** A value of a type; with `apart`, a figure of its own for each name. */
function makeSample(type: ValueType, price: Decimal, apart?: { readonly pick: number; readonly name: string }): Value {
  switch (type.kind) {
    case 'decimal': {
      const value = type.unit === 'price' ? price : new Decimal(1);
      return apart === undefined ? value : value.times(spread(`${apart.name}${price.toFixed()}`));
    }
    case 'boolean':
      return true;
    case 'text':
      return type.of?.[apart?.pick ?? 0] ?? type.of?.[0] ?? '';
    case 'duration':
      return new Duration(0);
    case 'time':
      return new Time(0);
    case 'list':
      return [];
    case 'map':
      return new Map();
    case 'optional':
      return makeSample(type.of, price, apart);
    case 'record':
      return mapFields(type.fields, (field, name) =>
        makeSample(field, price, apart && { ...apart, name: `${apart.name}.${name}` }),
      );
    default:
      return type satisfies never;
  }
}

/** A factor from 1 to 1.96 that follows from a name. */
function spread(name: string): Decimal {
  const sum = [...name].reduce((hash, character) => (hash * 31 + character.charCodeAt(0)) % 97, 7);
  return new Decimal(1).plus(new Decimal(sum).div(100));
}

/** The value of an expression in such a scope; undefined if it has none. */
function tryEvaluate<T extends Value>(expr: Expr<T>, scope: Scope): T | undefined {
  if ((expr as Expr) === FAULTY) return undefined;
  try {
    return expr.evaluate(scope);
  } catch {
    return undefined;
  }
}
