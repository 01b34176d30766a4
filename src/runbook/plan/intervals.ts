/**
 * Bounds numbers that only the run will know: interval arithmetic over the syntax tree of an expression. What it cannot bound,
 * such as a price feed, lies between minus and plus infinity: an interval too wide only loosens the plan, while one too narrow
 * would deny an order that the plan promised.
 */
import { Decimal, parseAuthoredDecimal, roundToStep } from '../../base/decimal.ts';
import type { SyntaxNode } from '../expression/syntax.ts';
import { EvaluationFailure, NotKnown, type RecordValue, type Value } from '../values.ts';

/** Both ends included; infinite where nothing bounds it. */
export interface Interval {
  readonly min: Decimal;
  readonly max: Decimal;
}

/** What an expression sees. */
export interface Ranges {
  /** The value of a name, or what bounds it; undefined where nothing does. */
  peek(name: string): { readonly value: Value } | { readonly range: Interval } | undefined;
  /** The largest step of prices and of sizes in any market; undefined where a market has none that is known. */
  readonly largest: { readonly tick: Decimal; readonly lot: Decimal } | undefined;
}

const INFINITY = new Decimal(Number.POSITIVE_INFINITY);
export const ANY: Interval = { min: INFINITY.neg(), max: INFINITY };
const ZERO = new Decimal(0);

const FIELDS = new WeakMap<object, Readonly<Record<string, Interval>>>();

/** Records between which values the fields of a record lie that are not known themselves. */
export function boundFields(record: RecordValue, ranges: Readonly<Record<string, Interval>>): RecordValue {
  FIELDS.set(record, ranges);
  return record;
}

export function makePoint(value: Decimal): Interval {
  return { min: value, max: value };
}

/** Between which values an expression lies in every run that evaluates it. */
export function boundExpression(tree: SyntaxNode | undefined, ranges: Ranges): Interval {
  return tree === undefined ? ANY : new Bounding(ranges).bound(tree);
}

export function multiply(a: Interval, b: Interval): Interval {
  // By convention zero times infinity is zero: a size of zero costs nothing at any price.
  return fromCorners(a, b, (x, y) => (x.isZero() || y.isZero() ? ZERO : x.times(y)));
}

function divide(a: Interval, b: Interval): Interval {
  if (b.min.lte(0) && b.max.gte(0)) return ANY;
  return fromCorners(a, b, (x, y) => (y.isFinite() ? x.div(y) : ZERO));
}

function fromCorners(a: Interval, b: Interval, combine: (x: Decimal, y: Decimal) => Decimal): Interval {
  return enclose([combine(a.min, b.min), combine(a.min, b.max), combine(a.max, b.min), combine(a.max, b.max)]);
}

function enclose(values: readonly Decimal[]): Interval {
  return { min: Decimal.min(...values), max: Decimal.max(...values) };
}

class Bounding {
  private readonly ranges: Ranges;

  constructor(ranges: Ranges) {
    this.ranges = ranges;
  }

  bound(node: SyntaxNode): Interval {
    switch (node.op) {
      case 'value':
        return this.boundLiteral(node);
      case 'id':
      case '.':
      case '.?':
        return this.boundName(node);
      case '-_': {
        const { min, max } = this.bound(node.args);
        return { min: max.neg(), max: min.neg() };
      }
      case '+':
      case '-':
      case '*':
      case '/':
        return this.boundOperation(node.op, this.bound(node.args[0]), this.bound(node.args[1]));
      case '?:':
        return this.boundAny([node.args[1], node.args[2]]);
      case 'call':
        return this.boundCall(node.args[0], node.args[1]);
      case 'rcall':
        return node.args[0] === 'orValue' ? this.boundAny([node.args[1], ...node.args[2]]) : ANY;
      default:
        return ANY;
    }
  }

  private boundLiteral({ input, start, end }: SyntaxNode): Interval {
    const read = parseAuthoredDecimal(input.slice(start, end));
    return Decimal.isDecimal(read) ? makePoint(read as Decimal) : ANY;
  }

  private boundName(node: SyntaxNode): Interval {
    const found = this.peek(node);
    if (found === undefined) return ANY;
    if ('range' in found) return found.range;
    return Decimal.isDecimal(found.value) ? makePoint(found.value as Decimal) : ANY;
  }

  private peek(node: SyntaxNode): ReturnType<Ranges['peek']> {
    if (node.op === 'id') return this.ranges.peek(node.args);
    if (node.op !== '.' && node.op !== '.?') return undefined;
    const [holder, field] = node.args;
    const held = this.peek(holder);
    if (held === undefined || !('value' in held)) return undefined;
    const record = held.value;
    if (record === null || typeof record !== 'object' || Array.isArray(record) || record instanceof Map)
      return undefined;
    try {
      const value = (record as RecordValue)[field];
      return value === undefined ? undefined : { value };
    } catch (error) {
      if (!(error instanceof NotKnown || error instanceof EvaluationFailure)) throw error;
      const range = FIELDS.get(record)?.[field];
      return range && { range };
    }
  }

  private boundOperation(operator: '+' | '-' | '*' | '/', a: Interval, b: Interval): Interval {
    if (operator === '+') return { min: a.min.plus(b.min), max: a.max.plus(b.max) };
    if (operator === '-') return { min: a.min.minus(b.max), max: a.max.minus(b.min) };
    return operator === '*' ? multiply(a, b) : divide(a, b);
  }

  /** One of several values, of which it is not known which. */
  private boundAny(nodes: readonly SyntaxNode[]): Interval {
    return enclose(nodes.map((node) => this.bound(node)).flatMap(({ min, max }) => [min, max]));
  }

  private boundCall(name: string, nodes: readonly SyntaxNode[]): Interval {
    const args = nodes.map((node) => this.bound(node));
    const [x = ANY, y = ANY] = args;
    const { largest } = this.ranges;
    switch (name) {
      case 'min':
      case 'max': {
        if (args.length < 2) return ANY;
        const pick = (values: readonly Decimal[]) => (name === 'min' ? Decimal.min(...values) : Decimal.max(...values));
        return { min: pick(args.map(({ min }) => min)), max: pick(args.map(({ max }) => max)) };
      }
      case 'abs': {
        const far = Decimal.max(x.min.abs(), x.max.abs());
        return { min: Decimal.max(ZERO, x.min, x.max.neg()), max: far };
      }
      case 'pct':
        return { min: x.min.div(100), max: x.max.div(100) };
      case 'bps':
        return { min: x.min.div(10_000), max: x.max.div(10_000) };
      case 'tick':
        return widen(x, largest?.tick.div(2));
      case 'lot':
        // Toward zero: never more than the size, and never past zero.
        return { min: Decimal.min(x.min, ZERO), max: Decimal.max(x.max, ZERO) };
      case 'floor_to':
      case 'ceil_to':
      case 'round_to':
        return y.min.eq(y.max) && y.max.gt(0) ? roundEnds(x, y.max, ROUNDING[name]) : ANY;
      default:
        return ANY;
    }
  }
}

const ROUNDING = { floor_to: 'down', ceil_to: 'up', round_to: 'nearest' } as const;

function roundEnds({ min, max }: Interval, step: Decimal, mode: 'down' | 'up' | 'nearest'): Interval {
  const round = (end: Decimal) => (end.isFinite() ? roundToStep(end, step, mode) : end);
  return { min: round(min), max: round(max) };
}

function widen({ min, max }: Interval, by: Decimal | undefined): Interval {
  return by === undefined ? ANY : { min: min.minus(by), max: max.plus(by) };
}
