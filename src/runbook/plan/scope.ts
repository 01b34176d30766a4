/**
 * The names that expressions see while a run is planned. A value is known when every run has it; feeds, readings and the time are
 * not known, but may have an estimate. A record may be known in part: its fields are computed when read, so that one unknown
 * field does not hide the others.
 */
import { Decimal } from '../../base/decimal.ts';
import type { EndpointName } from '../../venue/catalogue.ts';
import type { LimitRules } from '../../venue/limits/check.ts';
import { showsPrice } from '../../venue/order/context.ts';
import type { OrderDraft } from '../../venue/order/requests.ts';
import { ACCOUNT_POSITION, type MarketRules } from '../../venue/port.ts';
import type { CheckedRunbook } from '../checked.ts';
import { findTree } from '../expression/expression.ts';
import { listAllSteps, walkSteps } from '../steps/walk.ts';
import {
  EvaluationFailure,
  type Expr,
  NotKnown,
  type RecordValue,
  type Scope,
  Time,
  toJson,
  type Value,
} from '../values.ts';
import { ANY, boundExpression, boundFields, type Interval, makePoint } from './intervals.ts';
import { Unknown } from './unknown.ts';

export interface PlanContext {
  readonly runbook: CheckedRunbook;
  /** Undefined where no inputs are known: then only values that are the same in every run are. */
  readonly inputs: Readonly<Record<string, Value>> | undefined;
  /** Epoch ms, for estimates. */
  readonly now: number;
  readonly market: (id: string) => MarketRules | undefined;
  readonly markets: readonly string[];
  /** The current value of a feed, for estimates. */
  readonly feed: (name: string, key: string | undefined) => string | undefined;
  /** The result of a read as it is now, for estimates. */
  readonly read: (name: EndpointName) => unknown;
  readonly costOf: (name: EndpointName) => number;
  /** What the profile declares beside the venue's document. */
  readonly declared: {
    /** Tokens of a declared request. */
    readonly costOf: (request: string) => number;
    /** The declared request that reads a feed; undefined where no request does. */
    readonly requestOf: (feed: string) => string | undefined;
    /** Whether requests renew the session where they have to. */
    readonly renewsSession: boolean;
  };
  /** After this long "not found" proves an order absent, ms (profile: ambiguity.window). */
  readonly absenceHorizonMs: number;
  /** How long the fills of an order are read at most until they agree with its record, ms (profile: fills.window). */
  readonly fillsWindowMs: number;
  /** Tokens of a minute that the ledger lets a run spend at most. */
  readonly tokensPerMinute: number;
  /** Whether the profile binds a price feed, which a run reads for orders that only the market's price measures. */
  readonly priceFeed?: boolean;
  /** The profile's limits, where there is a profile; part of the hash. */
  readonly limits: LimitRules | undefined;
  /** Base URL and account; part of the hash. */
  readonly deployment: string;
}

/** Whether unknown values are replaced by their estimates now. One for all scopes of a walk. */
export interface Estimating {
  on: boolean;
  /** Whether what may be absent is taken to be there now, and orders to be as they were placed. */
  present: boolean;
}

/** A name whose value is known, or is not and may have an estimate. */
interface Named {
  /** `if present`: the value is known, but in some runs there is none. */
  readonly known: boolean | 'if present';
  readonly value: Value;
  /** Of a number that is not known: between which values it lies. */
  readonly range?: Interval;
}

/** The names in sight while planning. Reading one that is not known throws NotKnown. */
export class PlanScope implements Scope {
  private readonly names = new Map<string, Named>();
  private readonly lengths = new Map<string, number>();
  private readonly parent: PlanScope | undefined;
  private readonly context: PlanContext;
  private readonly estimating: Estimating;
  private readonly defs: ReadonlyMap<string, Expr>;
  private readonly feeds: RecordValue;
  /** Whether the limits of the runbook name one market: then every order is in it. */
  readonly hasOneMarket: boolean;
  /** Whether the runbook amends orders: only the run will know the terms of an order then. */
  readonly amends: boolean;

  constructor(context: PlanContext, estimating: Estimating, runbook: CheckedRunbook | undefined, parent?: PlanScope) {
    this.context = context;
    this.estimating = estimating;
    this.parent = parent;
    this.defs =
      runbook === undefined
        ? (parent?.defs ?? new Map())
        : new Map(runbook.def.map(({ name, value }) => [name, value]));
    this.hasOneMarket = runbook === undefined ? (parent?.hasOneMarket ?? false) : runbook.limits?.markets?.length === 1;
    this.amends =
      runbook === undefined
        ? (parent?.amends ?? false)
        : [...walkSteps(listAllSteps(runbook))].some(({ verb }) => verb === 'amend');
    this.feeds = runbook === undefined ? (parent?.feeds ?? {}) : this.makeFeeds(runbook);
  }

  inner(): PlanScope {
    return new PlanScope(this.context, this.estimating, undefined, this);
  }

  /** The names that have been given here so far. */
  listNames(): ReadonlySet<string> {
    return new Set(this.names.keys());
  }

  /** The names after steps of which each may not have been reached: what they named, beside `before`, may be absent. */
  afterSteps(before: ReadonlySet<string>): PlanScope {
    const inner = this.inner();
    for (const [name, named] of this.names) {
      if (before.has(name)) continue;
      const { known, value } = named;
      if (known === false) inner.names.set(name, named);
      else inner.setOptional(name, value);
      const most = known !== false && Array.isArray(value) ? value.length : this.lengths.get(name);
      if (most !== undefined) inner.setLength(name, most);
    }
    return inner;
  }

  /** Gives a block around this one a name of this one; not `sure`: it may be absent there. */
  publish(name: string, outer: PlanScope, sure: boolean): void {
    const named = this.names.get(name);
    if (named === undefined) return;
    outer.names.set(name, sure || named.known === false ? named : { ...named, known: 'if present' });
  }

  /** The value of an expression as it is now, whatever changes later; read it as a field of a record. */
  freeze(expr: Expr): () => Value {
    const { known, value } = this.weigh(expr);
    return () => {
      const isKnown = known === 'if present' ? this.estimating.present : known;
      if (isKnown || (this.estimating.on && value !== undefined)) return value;
      throw new NotKnown(expr.text);
    };
  }

  set(name: string, value: Value): void {
    this.names.set(name, { known: true, value });
  }
  setUnknown(name: string, estimate?: Value): void {
    this.names.set(name, { known: false, value: estimate });
  }
  /** Of a step that some runs skip, or pass over when it fails. */
  setOptional(name: string, value: Value): void {
    this.names.set(name, { known: 'if present', value });
  }
  /** Gives a name the value of an expression, as far as it is known. */
  define(name: string, expr: Expr): void {
    this.names.set(name, this.weigh(expr));
  }
  /** Changes a variable where it was declared; `certain`: every run comes here exactly once. */
  assign(name: string, expr: Expr, certain: boolean): void {
    let owner: PlanScope = this;
    while (!owner.names.has(name) && owner.parent !== undefined) owner = owner.parent;
    const found = this.weigh(expr);
    owner.names.set(name, certain ? found : { known: false, value: found.value });
  }

  get(root: string): Value {
    if (root === 'now') {
      if (!this.estimating.on) throw new NotKnown('now');
      return Time.ofMs(this.context.now);
    }
    if (root === 'feeds') return this.feeds;
    const def = this.defs.get(root);
    if (def !== undefined) return def.evaluate(this);
    for (let scope: PlanScope | undefined = this; scope !== undefined; scope = scope.parent) {
      const named = scope.names.get(root);
      if (named === undefined) continue;
      const isKnown = named.known === 'if present' ? this.estimating.present : named.known;
      if (isKnown || (this.estimating.on && named.value !== undefined)) return named.value;
      throw new NotKnown(root);
    }
    throw new NotKnown(root);
  }

  accountPosition(market: string): Decimal {
    const value = this.estimating.on ? this.context.feed(ACCOUNT_POSITION, market) : undefined;
    if (value === undefined) throw new NotKnown(`the account's position in ${market}`);
    return new Decimal(value);
  }

  rules(market: string): MarketRules | undefined {
    // Without a market table nothing can be rounded: the value is then unknown.
    const rules = this.context.market(market);
    if (rules === undefined) throw new NotKnown(`the steps of ${market}`);
    return rules;
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

  /** Reads a value for what fails where it is absent; fields of a record are computed while `read` runs. */
  readPresent<T extends Value, R>(expr: Expr<T>, read: (value: T) => R): R | undefined {
    const outer = this.estimating.present;
    this.estimating.present = true;
    try {
      const value = this.evaluateKnown(expr);
      return value === undefined ? undefined : read(value);
    } catch (error) {
      if (isOpen(error)) return undefined;
      throw error;
    } finally {
      this.estimating.present = outer;
    }
  }

  /** The value at current prices, with estimates for what is not known; undefined where there is none. */
  estimate<T extends Value>(expr: Expr<T>): T | undefined {
    const outer = this.estimating.on;
    this.estimating.on = true;
    try {
      return this.evaluateKnown(expr);
    } finally {
      this.estimating.on = outer;
    }
  }

  /** The value in the form that `write` gives it, or what it depends on and an estimate in the same form. */
  resolve<T extends Value, R extends string | number>(expr: Expr<T>, write: (value: T) => R): R | Unknown {
    const known = this.evaluateKnown(expr);
    if (known !== undefined) return write(known);
    const about = this.estimate(expr);
    return new Unknown(expr.text, about === undefined ? undefined : String(write(about)), this.bound(expr));
  }

  /** Between which values a number lies in every run that evaluates the expression. */
  bound(expr: Expr): Interval {
    const { on, present } = this.estimating;
    // An estimate bounds nothing, and an order that is amended does not keep the terms it was placed with.
    this.estimating.on = false;
    this.estimating.present = false;
    try {
      const known = this.evaluateKnown(expr);
      if (known !== undefined) return Decimal.isDecimal(known) ? makePoint(known as Decimal) : ANY;
      return boundExpression(findTree(expr), { peek: (name) => this.peek(name), largest: this.largestSteps });
    } finally {
      this.estimating.on = on;
      this.estimating.present = present;
    }
  }

  /** The most items of a list. A collected list is as long as the list of its `for_each`, and a filter never adds items. */
  countItems(expr: Expr<readonly Value[]>): number | undefined {
    const known = this.evaluateKnown(expr);
    if (Array.isArray(known)) return known.length;
    let tree = findTree(expr);
    while (tree?.op === 'rcall' && (tree.args[0] === 'filter' || tree.args[0] === 'map')) tree = tree.args[1];
    if (tree?.op !== 'id') return undefined;
    const from = tree.args;
    for (let scope: PlanScope | undefined = this; scope !== undefined; scope = scope.parent) {
      const named = scope.names.get(from);
      if (named === undefined) continue;
      return named.known !== false && Array.isArray(named.value) ? named.value.length : scope.lengths.get(from);
    }
    return undefined;
  }

  /** Records the most items of a list whose value is not known. */
  setLength(name: string, most: number): void {
    this.lengths.set(name, most);
  }

  /** For a reader: the value, or the expression where it is unknown. */
  format(expr: Expr): string {
    const value = this.evaluateKnown(expr);
    if (value === undefined) return expr.text;
    const json = toJson(value);
    return typeof json === 'string' ? json : JSON.stringify(json);
  }

  /** What is known of a name, and of one that some runs skip what is known where they do not. */
  private peek(name: string): { readonly value: Value } | { readonly range: Interval } | undefined {
    if (name === 'feeds' || name === 'now') return undefined;
    const def = this.defs.get(name);
    if (def !== undefined) return { range: this.bound(def) };
    for (let scope: PlanScope | undefined = this; scope !== undefined; scope = scope.parent) {
      const named = scope.names.get(name);
      if (named === undefined) continue;
      if (named.known !== false) return { value: named.value };
      return named.range && { range: named.range };
    }
    return undefined;
  }

  private get largestSteps(): { readonly tick: Decimal; readonly lot: Decimal } | undefined {
    const rules = this.context.markets.flatMap((market) => this.context.market(market) ?? []);
    if (rules.length === 0) return undefined;
    const largest = (steps: readonly string[]) => Decimal.max(...steps);
    return { tick: largest(rules.map(({ tick }) => tick)), lot: largest(rules.map(({ lot }) => lot)) };
  }

  private weigh(expr: Expr): Named {
    try {
      return { known: true, value: expr.evaluate(this) };
    } catch (error) {
      if (!isOpen(error)) throw error;
      const present = this.readPresent(expr, (value) => value);
      return present === undefined
        ? { known: false, value: this.estimate(expr), range: this.bound(expr) }
        : { known: 'if present', value: present };
    }
  }

  private makeFeeds(runbook: CheckedRunbook): RecordValue {
    const { context, estimating } = this;
    const read = (name: string, key: string | undefined): Decimal | undefined => {
      const value = context.feed(name, key);
      return value === undefined ? undefined : new Decimal(value);
    };
    return makeLazyRecord(
      runbook.feeds.map(({ name, type }) => [
        name,
        () => {
          if (!estimating.on) throw new NotKnown(`feeds.${name}`);
          if (type.kind === 'map') {
            const known = context.markets.flatMap((market): [string, Decimal][] => {
              const value = read(name, market);
              return value === undefined ? [] : [[market, value]];
            });
            if (known.length > 0) return new Map(known);
          } else {
            const value = read(name, context.markets[0]) ?? read(name, undefined);
            if (value !== undefined) return value;
          }
          throw new NotKnown(`feeds.${name}`);
        },
      ]),
    );
  }
}

/** Whether an error means "not known yet": the value may be computable by the time it is needed. */
function isOpen(error: unknown): boolean {
  return error instanceof NotKnown || error instanceof EvaluationFailure;
}

/** A record whose fields are computed when read, so that one unknown field does not hide the others. */
export function makeLazyRecord(fields: readonly (readonly [string, () => Value])[]): RecordValue {
  const record: Record<string, Value> = Object.create(null);
  for (const [name, get] of fields) Object.defineProperty(record, name, { get, enumerable: true });
  return record;
}

/** Fields of an order that only the venue knows. */
const OF_VENUE = ['id', 'client_order_id', 'status', 'reason', 'timestamp', 'open', 'terminal'] as const;

/** An order as far as it is known before it is placed. The estimates are those of an order that fills at its price. */
export function makePlannedOrder(
  draft: OrderDraft<Unknown>,
  estimating: Estimating,
  { amended }: { readonly amended: boolean },
): RecordValue {
  const unknown = (name: string) => (): never => {
    throw new NotKnown(name);
  };
  const read =
    (name: string, value: string | Unknown | undefined, sure: { readonly certain: boolean } = { certain: true }) =>
    () => {
      if (typeof value === 'string' && (sure.certain || estimating.on)) return value;
      if (value instanceof Unknown && estimating.on && value.about !== undefined) return value.about;
      throw new NotKnown(name);
    };
  const amount = (name: string, value: string | Unknown | undefined, options?: { certain: boolean }) => {
    const text = read(name, value, options);
    return () => new Decimal(text());
  };
  const filled = { certain: false };
  // As placed, where a change of the order is planned.
  const asPlaced = {
    get certain() {
      return estimating.present;
    },
  };
  const terms = amended ? asPlaced : { certain: true };
  const isPriced = showsPrice(draft);
  const record = makeLazyRecord([
    ...OF_VENUE.map((name) => [name, unknown(name)] as const),
    ['price', amount('price', draft.price, isPriced ? terms : filled)],
    // The venue reports what remains to be filled.
    ['size', amount('size', draft.size, asPlaced)],
    ['initial_size', amount('initial_size', draft.size, terms)],
    ['filled', amount('filled', draft.size, filled)],
    ['total_filled_size', amount('total_filled_size', draft.size, filled)],
    ['remaining', amount('remaining', '0', filled)],
    ['avg_price', amount('avg_price', draft.price ?? draft.trigger, filled)],
    ['market_id', read('market_id', draft.market)],
    ['side', read('side', draft.side)],
    ['order_type', () => draft.type],
    ['time_in_force', read('time_in_force', draft.timeInForce)],
  ]);
  return amended ? record : boundFields(record, boundOrder(draft));
}

/** What an order fills at most, and at which prices. */
function boundOrder({ size, price, side, type }: OrderDraft<Unknown>): Readonly<Record<string, Interval>> {
  const zero = new Decimal(0);
  const most = boundTerm(size);
  const part = { min: zero, max: Decimal.max(zero, most.max) };
  const worst = boundTerm(price);
  // A venue never fills a limit beyond it.
  const paid =
    side === 'long'
      ? { min: zero, max: worst.max }
      : { min: side === 'short' ? Decimal.max(zero, worst.min) : zero, max: ANY.max };
  return {
    size: part,
    initial_size: most,
    filled: part,
    total_filled_size: part,
    remaining: part,
    price: showsPrice({ type }) ? worst : ANY,
    avg_price: paid,
  };
}

/** Between which values a term of an order lies. */
export function boundTerm(term: string | Unknown | undefined): Interval {
  if (typeof term === 'string') return makePoint(new Decimal(term));
  return term?.range ?? ANY;
}
