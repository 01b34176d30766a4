/**
 * The names that expressions see while a run is planned: values where they are known, NotKnown where only the run will know. A
 * record may be known in part: its fields are computed when read, so that one unknown field does not hide the others.
 */
import { Decimal, formatDecimal } from '../../base/decimal.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import {
  EvaluationFailure,
  type Expr,
  NotKnown,
  type RecordValue,
  type Scope,
  Time,
  toJson,
  type Value,
} from '../../runbook/values.ts';
import type { EndpointName } from '../../venue/catalogue.ts';
import type { LimitRules } from '../../venue/limits/check.ts';
import type { MarketRules } from '../../venue/port.ts';

export const KNOWN_AFTER_RUN = '(known after run)';

export interface PlanContext {
  readonly runbook: CheckedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  /** Epoch ms taken for `now`; not part of the hash. */
  readonly now: number;
  readonly market: (id: string) => MarketRules | undefined;
  readonly markets: readonly string[];
  /** A value of a feed where one is recorded. */
  readonly feed: (name: string, key: string | undefined) => string | undefined;
  /** The recorded result of a read, where there is one. */
  readonly read: (name: EndpointName) => unknown;
  readonly costOf: (name: EndpointName) => number;
  /** The profile's limits, where there is a profile; part of the hash. */
  readonly limits: LimitRules | undefined;
  /** Base URL and account; part of the hash. */
  readonly deployment: string;
}

/** The names in sight while planning. Reading one that is not known yet throws NotKnown. */
export class PlanScope implements Scope {
  private readonly names = new Map<string, Value>();
  private readonly unknown = new Map<string, string>();
  private readonly parent: PlanScope | undefined;
  private readonly context: PlanContext;
  private readonly defs: ReadonlyMap<string, Expr>;
  private readonly feeds: RecordValue;

  constructor(context: PlanContext, runbook: CheckedRunbook | undefined, parent?: PlanScope) {
    this.context = context;
    this.parent = parent;
    this.defs =
      runbook === undefined
        ? (parent?.defs ?? new Map())
        : new Map(runbook.def.map(({ name, value }) => [name, value]));
    this.feeds = runbook === undefined ? (parent?.feeds ?? {}) : makePlannedFeeds(runbook, context);
  }

  set(name: string, value: Value): void {
    this.unknown.delete(name);
    this.names.set(name, value);
  }
  setUnknown(name: string): void {
    this.names.delete(name);
    this.unknown.set(name, name);
  }
  /** Changes a variable where it was declared; with undefined it becomes unknown. */
  assign(name: string, value: Value | undefined): void {
    let owner: PlanScope = this;
    while (!owner.names.has(name) && !owner.unknown.has(name) && owner.parent !== undefined) owner = owner.parent;
    if (value === undefined) owner.setUnknown(name);
    else owner.set(name, value);
  }

  get(root: string): Value {
    if (root === 'now') return Time.ofMs(this.context.now);
    if (root === 'feeds') return this.feeds;
    const def = this.defs.get(root);
    if (def !== undefined) return def.evaluate(this);
    for (let scope: PlanScope | undefined = this; scope !== undefined; scope = scope.parent) {
      if (scope.names.has(root)) return scope.names.get(root);
      if (scope.unknown.has(root)) throw new NotKnown(root);
    }
    throw new NotKnown(root);
  }

  rules(market: string): MarketRules | undefined {
    return this.context.market(market) ?? throwUnknownRules(market);
  }

  /** Gives a name the value of an expression, as far as it is known. */
  define(name: string, expr: Expr): void {
    try {
      this.set(name, expr.evaluate(this));
    } catch (error) {
      if (!isOpen(error)) throw error;
      this.setUnknown(name);
    }
  }

  /** The value; undefined where it is unknown or absent. */
  evaluateKnown<T extends Value>(expr: Expr<T>): T | undefined {
    try {
      return expr.evaluate(this);
    } catch (error) {
      if (isOpen(error)) return undefined;
      throw error;
    }
  }

  formatNumber(expr: Expr<Decimal>): string {
    const value = this.evaluateKnown(expr);
    return value === undefined ? KNOWN_AFTER_RUN : formatDecimal(value);
  }

  text(expr: Expr<string>): string {
    return this.evaluateKnown(expr) ?? KNOWN_AFTER_RUN;
  }

  /** For a reader: the value, or the expression where it is unknown. */
  format(expr: Expr): string {
    const value = this.evaluateKnown(expr);
    if (value === undefined) return expr.text;
    const json = toJson(value);
    return typeof json === 'string' ? json : JSON.stringify(json);
  }
}

/** Without a market table nothing can be rounded: the value is then unknown. */
function throwUnknownRules(market: string): never {
  throw new NotKnown(`the step of ${market}`);
}

/** Whether an error means "not known yet": the value may be computable by the time it is needed. */
export function isOpen(error: unknown): boolean {
  return error instanceof NotKnown || error instanceof EvaluationFailure;
}

/** A record whose fields are computed when read, so that one unknown field does not hide the others. */
export function makeLazyRecord(fields: readonly (readonly [string, () => Value])[]): RecordValue {
  const record: Record<string, Value> = Object.create(null);
  for (const [name, get] of fields) Object.defineProperty(record, name, { get, enumerable: true });
  return record;
}

/** An order as far as it is known before it is placed. */
export function makePlannedOrder(params: Readonly<Record<string, string>>): RecordValue {
  const unknown = (name: string) => (): never => {
    throw new NotKnown(name);
  };
  const decimalOf = (name: string) => {
    const text = params[name];
    return text === undefined || text === KNOWN_AFTER_RUN ? unknown(name) : () => new Decimal(text);
  };
  const names = [
    'id',
    'client_order_id',
    'status',
    'reason',
    'timestamp',
    'filled',
    'remaining',
    'avg_price',
    'open',
    'terminal',
    'total_filled_size',
  ];
  return makeLazyRecord([
    ...names.map((name) => [name, unknown(name)] as const),
    ['price', decimalOf('price')],
    ['size', decimalOf('size')],
    ['initial_size', decimalOf('size')],
    ['market_id', () => params['market_id']],
    ['side', () => params['side']],
    ['order_type', () => params['type']],
    ['time_in_force', () => params['time_in_force']],
  ]);
}

function makePlannedFeeds(runbook: CheckedRunbook, context: PlanContext): RecordValue {
  return makeLazyRecord(
    runbook.feeds.map((feed) => [
      feed.name,
      () => {
        if (feed.type.kind === 'map') {
          const known = context.markets.flatMap((market): [string, Decimal][] => {
            const value = context.feed(feed.name, market);
            return value === undefined ? [] : [[market, new Decimal(value)]];
          });
          if (known.length === 0) throw new NotKnown(`feeds.${feed.name}`);
          return new Map(known);
        }
        const [first] = context.markets;
        const value = context.feed(feed.name, first) ?? context.feed(feed.name, undefined);
        if (value === undefined) throw new NotKnown(`feeds.${feed.name}`);
        return new Decimal(value);
      },
    ]),
  );
}
