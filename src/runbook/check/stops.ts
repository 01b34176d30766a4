/**
 * Stop prices on the wrong side of each other, as far as that shows before a run: whatever the market does, a stop-loss
 * that lies where the take-profit should is gone at once. Feeds and fills are tried out at two prices; what hangs on an
 * input is judged by its default. Nothing is said where that leaves a doubt.
 */
import { Decimal } from '../../base/decimal.ts';
import type { ProtectLeg } from '../checked.ts';
import type { Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { Duration, type Expr, type Scope, Time, type Value, type ValueType } from '../values.ts';
import type { Checking } from './checking.ts';

/** Where the legs of a `protect` stand in the text. */
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
  // Of two prices that are read in different places nobody knows which is the higher.
  if (new Set(legs.flatMap((expr) => listPricesRead(checking, expr.text))).size > 1) return;
  const ways = PROBES.map((price) => buildProbe(checking, price));
  // The side of the closing order: a long position is closed by a short one, and its stop lies below.
  const isBelow = (first: Expr<Decimal>, second: Expr<Decimal>): boolean =>
    ways.every((way) => {
      const closing = tryEvaluate(side, way);
      const [a, b] = [tryEvaluate(first, way), tryEvaluate(second, way)];
      if (closing === undefined || a === undefined || b === undefined) return false;
      return closing === 'short' ? a.lessThan(b) : a.greaterThan(b);
    });
  if (stopLoss !== undefined && takeProfit !== undefined && isBelow(takeProfit.leg.trigger, stopLoss.leg.trigger))
    checking.report(
      stopLoss.at,
      'stop-reversed',
      'the stop-loss triggers on the far side of the take-profit: one of the two triggers at once',
    );
  else if (stopLoss !== undefined && isBelow(stopLoss.leg.trigger, stopLoss.leg.price))
    checking.report(
      stopLoss.at,
      'stop-reversed',
      'the price of the stop-loss is better than its trigger: when it triggers, the market has passed the price already',
    );
}

const PROBES = [new Decimal(100), new Decimal(70_000)] as const;

/** The names an expression reads at a run, through lets and defs, as they are written: `entry.avg_price`, `feeds.mid`. */
function listPricesRead(checking: Checking, text: string, level = 0): readonly string[] {
  const { names } = checking;
  return [...text.matchAll(/(?<![\w.'])[A-Za-z_]\w*(?:\.\w+)*(?![\w'(])/g)].flatMap(([path]) => {
    const root = path.split('.', 1)[0] as string;
    if (root === 'inputs' || names.constants.has(root) || !(names.roots.has(root) || names.defs.has(root))) return [];
    const stands = names.defs.get(root) ?? names.lets.get(root);
    if (stands === undefined) return [path];
    return level > 16 ? [path] : listPricesRead(checking, stands.text, level + 1);
  });
}

/** A world in which every price that is read is the same. */
function buildProbe(checking: Checking, price: Decimal): Scope {
  const { names } = checking;
  const scope: Scope = {
    get(root) {
      const known = names.constants.get(root);
      if (known !== undefined) return known;
      if (root === 'inputs') return checking.defaults;
      const def = names.defs.get(root) ?? names.lets.get(root);
      if (def !== undefined) return def.evaluate(scope);
      const type = names.roots.get(root);
      if (type === undefined) throw new Error(`nothing is called ${root}`);
      return makeSample(type, price);
    },
    rules: () => ({ tick: '0.000001', lot: '0.000001' }),
  };
  return scope;
}

function makeSample(type: ValueType, price: Decimal): Value {
  switch (type.kind) {
    case 'decimal':
      return type.unit === 'price' ? price : new Decimal(1);
    case 'boolean':
      return true;
    case 'text':
      return type.of?.[0] ?? '';
    case 'duration':
      return new Duration(0);
    case 'time':
      return new Time(0);
    case 'list':
      return [];
    case 'map':
      return new Map();
    case 'optional':
      return makeSample(type.of, price);
    case 'record':
      return Object.fromEntries(Object.entries(type.fields).map(([name, field]) => [name, makeSample(field, price)]));
    default:
      return type satisfies never;
  }
}

/** The value in such a world; undefined where it can not be worked out there. */
function tryEvaluate<T extends Value>(expr: Expr<T>, scope: Scope): T | undefined {
  if ((expr as Expr) === FAULTY) return undefined;
  try {
    return expr.evaluate(scope);
  } catch {
    return undefined;
  }
}
