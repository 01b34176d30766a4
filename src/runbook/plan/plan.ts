/**
 * Plans a run: lists the requests it would send, without sending any, with those that only a failure sends in sections; bounds
 * what it can spend; and computes the hash that an approval is bound to.
 */
import { createHash } from 'node:crypto';
import { Decimal, decimal, formatDecimal, toWholeNumber } from '../../base/decimal.ts';
import { mapFields, toCanonicalJson } from '../../base/json.ts';
import { ENDPOINT_NAMES, type EndpointName } from '../../venue/catalogue.ts';
import type { LimitRules } from '../../venue/limits/check.ts';
import type { CheckedRunbook } from '../checked.ts';
import { listItems } from '../expression/expression.ts';
import { listRunbooks } from '../steps/walk.ts';
import { toJson } from '../values.ts';
import { type DeclaredName, type Figure, getRange, type Load, type Range, sequence } from './load/load.ts';
import { countWindowTokens } from './load/pace.ts';
import type { PlanRow } from './rows.ts';
import type { PlanContext } from './scope.ts';
import { nameList, PlanWalk, RENEWALS } from './walk.ts';

export type { PlannedRequest, PlanRow } from './rows.ts';

/** How much a run asks for: `min` without failures, `max` in every run; absent where nothing bounds it. */
export interface Bound<T> {
  readonly min: T;
  readonly max?: T;
  /** The decisions on the path that attains `max`. */
  readonly path?: readonly string[];
}

export interface PlanBounds {
  /**
   * By `METHOD /path`, and `request NAME` for those that the profile declares; what no run of it can use is left out. Heartbeats,
   * and the POST /jwt with which the gateway renews the session, are in them.
   */
  readonly requests: Readonly<Partial<Record<EndpointName | DeclaredName, Bound<number>>>>;
  /** Readings by feed. Where the profile reads it by a request, they are among its requests too. */
  readonly feeds: Readonly<Record<string, Bound<number>>>;
  /** Orders that the venue can have accepted. */
  readonly orders: Bound<number>;
  /** By the orders' own prices, quote currency; decimals as strings. */
  readonly notional: Bound<string>;
  /**
   * The largest net notional of what the run opens, by market, without sign. The empty name is for markets that are not
   * listed, where only the run will know the market of an order.
   */
  readonly exposure: Readonly<Record<string, Bound<string>>>;
  readonly tokensPerMinute: Bound<number>;
  /** ms, without the readings with which a live run begins. */
  readonly duration: Bound<number>;
}

/** What happens only on a failure. */
export interface PlanSection {
  /** The failure, in words: `if entry times out`. */
  readonly when: string;
  /** `doubt`: an answer is lost or late; `failure`: a handler of the author runs. */
  readonly kind: 'doubt' | 'failure';
  readonly rows: readonly PlanRow[];
  /** The limits, with what the section adds to the path without failures. */
  readonly limits: readonly LimitVerdict[];
}

export interface Plan {
  /** sha256 over definitions, inputs, the profile's limits, rows, sections and bounds, hex. `run --plan` and an approval are bound to it. */
  readonly hash: string;
  readonly rows: readonly PlanRow[];
  readonly sections: readonly PlanSection[];
  readonly bounds: PlanBounds;
  /** Notional of the orders that a run of this plan is held to: without exits that are proven to reduce, which are never denied for it. */
  readonly opening: Bound<string>;
  /** The most tokens of a minute on the path without failures. */
  readonly pathTokensPerMinute: number;
  readonly limits: readonly LimitVerdict[];
}

/** A limit of profile and runbook against the worst case of the plan. */
export interface LimitVerdict {
  readonly limit: string;
  readonly verdict: 'within' | 'exceeded' | 'unknown';
  readonly value?: string;
  /** `value` counts a short by its own price, and the market may bring more. */
  readonly atLeast?: true;
  readonly max: string;
}

export function planRun(context: PlanContext): Plan {
  const { runbook } = context;
  let any = new PlanWalk(context, { failures: true, placed: Number.POSITIVE_INFINITY });
  let worst = any.run();
  const lengths = boundLists(runbook, worst);
  if (lengths.size > 0) {
    any = new PlanWalk(context, { failures: true, placed: Number.POSITIVE_INFINITY, lengths });
    worst = any.run();
  }
  const most = getRange(worst, 'orders').max;
  const placed = most.isFinite() ? toWholeNumber(most) : Number.POSITIVE_INFINITY;
  const path = new PlanWalk(context, { failures: false, placed, lengths });
  const onPath = path.run();
  // How many orders there are is known only now.
  if (any.requests.countedPlaced) {
    any = new PlanWalk(context, { failures: true, placed, lengths });
    worst = any.run();
  }
  const rules = path.rules;
  const bounds = makeBounds(context, rules, { onPath, worst, keepAlive: any.keepAliveTokens });
  const plan = {
    rows: path.rows.list,
    sections: any.rows.sections.map(({ when, kind, rows, load }) => ({
      when,
      kind,
      rows,
      limits: judgeLimits(rules, sequence([onPath, load])),
    })),
    bounds,
    opening: boundOpening(rules, worst),
    pathTokensPerMinute: countTokens(context, onPath, path.keepAliveTokens),
    limits: judgeLimits(rules, onPath),
  };
  return { ...plan, hash: computeHash(context, plan, listCalledDefinitions(runbook)) };
}

/** The most items of each list variable that is empty at the start: what is ever added to it. */
function boundLists(runbook: CheckedRunbook, worst: Load): ReadonlyMap<string, number> {
  const lists = listRunbooks(runbook).flatMap((each) =>
    each.vars.flatMap(({ name, type, init }): [string, number][] => {
      if (type.kind !== 'list' || listItems(init)?.length !== 0) return [];
      const { max } = getRange(worst, `list ${nameList(each, name)}`);
      return max.isFinite() ? [[nameList(each, name), toWholeNumber(max)]] : [];
    }),
  );
  return new Map(lists);
}

function countTokens({ tokensPerMinute }: PlanContext, load: Load, keepAlive: number): number {
  return Math.min(tokensPerMinute, Math.ceil(countWindowTokens(load.segments) + keepAlive));
}

function makeBounds(
  context: PlanContext,
  rules: LimitRules,
  { onPath, worst, keepAlive }: { readonly onPath: Load; readonly worst: Load; readonly keepAlive: number },
): PlanBounds {
  const between = (figure: Figure, most?: Decimal): Range => {
    const { max, path } = getRange(worst, figure);
    const { min } = getRange(onPath, figure);
    return most?.lt(max) ? { min, max: most, path: [] } : { min, max, path };
  };
  const maxWrites = rules.maxWrites === undefined ? undefined : new Decimal(rules.maxWrites);
  // Exits that are proven to reduce pass the cap of the run, and open nothing.
  const maxOpened = capOpened(rules, worst);
  const maxNotional = maxOpened?.plus(getRange(worst, 'reducing').max);
  const names = (prefix: string) =>
    [...worst.figures.keys()].flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : [])).sort();
  const declared = names('requests ').filter((name): name is DeclaredName => name.startsWith('request '));
  const requests = [...ENDPOINT_NAMES, ...declared].flatMap((name): [EndpointName | DeclaredName, Bound<number>][] => {
    const range = between(`requests ${name}`);
    const renewing = name === 'POST /jwt' && context.declared.renewsSession ? countRenewals(worst) : new Decimal(0);
    const max = range.max.plus(renewing);
    return max.isZero() ? [] : [[name, toCount({ ...range, max })]];
  });
  const markets = new Set([...worst.figures.keys()].flatMap((name) => /^(?:long|short) (.*)$/.exec(name)?.[1] ?? []));
  // An order whose market is not known may be in any.
  const within = (side: 'long' | 'short', market: string): Range => {
    const own = getRange(worst, `${side} ${market}`);
    const open = market === '' ? undefined : getRange(worst, `${side} `);
    const max = own.max.plus(open?.max ?? 0);
    const path = [...new Set([...own.path, ...(open?.path ?? [])])];
    return maxOpened?.lt(max) ? { ...own, max: maxOpened, path: [] } : { ...own, max, path };
  };
  return {
    requests: Object.fromEntries(requests),
    feeds: Object.fromEntries(names('feed ').map((name) => [name, toCount(between(`feed ${name}`))])),
    orders: toCount(between('orders', maxWrites)),
    notional: toAmount(between('notional', maxNotional)),
    exposure: Object.fromEntries(
      [...markets].sort().map((market) => {
        const [long, short] = [within('long', market), within('short', market)];
        const larger = short.max.gt(long.max) ? short : long;
        // Whether an order fills is for the market to decide.
        return [market, toAmount({ ...larger, min: new Decimal(0) })];
      }),
    ),
    tokensPerMinute: { min: 0, max: countTokens(context, worst, keepAlive) },
    duration: toCount(between('duration')),
  };
}

/** What `max_run_notional` lets a run open; undefined without it. Amends that only follow the market pass it. */
function capOpened({ maxRunNotional }: LimitRules, worst: Load): Decimal | undefined {
  return maxRunNotional === undefined ? undefined : decimal(maxRunNotional).plus(getRange(worst, 'following').max);
}

function boundOpening(rules: LimitRules, worst: Load): Bound<string> {
  const { max } = getRange(worst, 'opening');
  const most = capOpened(rules, worst);
  return toAmount({ min: new Decimal(0), max: most === undefined ? max : Decimal.min(most, max), path: [] });
}

/** The most POST /jwt beside those of steps. */
function countRenewals({ figures }: Load): Decimal {
  const all = [...figures].filter(([figure]) => figure.startsWith('requests '));
  return all.reduce((sum, [, { max }]) => sum.plus(max), new Decimal(0)).times(RENEWALS);
}

function toCount({ min, max, path }: Range): Bound<number> {
  const least = toWholeNumber(min.isFinite() ? min.floor() : new Decimal(0));
  return max.isFinite()
    ? { min: least, max: toWholeNumber(max.ceil()), ...withPath(path) }
    : { min: least, ...withPath(path) };
}

function toAmount({ min, max, path }: Range): Bound<string> {
  const least = formatDecimal(min.isFinite() ? min : new Decimal(0));
  return max.isFinite()
    ? { min: least, max: formatDecimal(max), ...withPath(path) }
    : { min: least, ...withPath(path) };
}

function withPath(path: readonly string[]): { readonly path?: readonly string[] } {
  return path.length === 0 ? {} : { path };
}

/** The limits of a run that a load can be held against. */
function judgeLimits(rules: LimitRules, load: Load): readonly LimitVerdict[] {
  const judged: readonly (readonly [string, string | number | undefined, Figure])[] = [
    ['max_run_notional', rules.maxRunNotional, 'notional'],
    ['max_writes', rules.maxWrites, 'writes'],
  ];
  return judged.flatMap(([limit, max, figure]): LimitVerdict[] => {
    if (max === undefined) return [];
    const value = getRange(load, figure).max;
    if (!value.isFinite()) return [{ limit, verdict: 'unknown', max: String(max) }];
    const isOpen = figure === 'notional' && !getRange(load, 'open notionals').max.isZero();
    const shown = { value: formatDecimal(value), ...(isOpen ? { atLeast: true as const } : {}), max: String(max) };
    return [{ limit, verdict: value.gt(max) ? 'exceeded' : 'within', ...shown }];
  });
}

function computeHash(context: PlanContext, plan: Omit<Plan, 'hash'>, called: readonly string[]): string {
  const inputs = mapFields(context.inputs ?? {}, toJson);
  const essence = {
    definition: context.runbook.sha256,
    ...(called.length === 0 ? {} : { called }),
    deployment: context.deployment,
    ...(context.limits === undefined ? {} : { limits: context.limits as { readonly [control: string]: unknown } }),
    inputs,
    rows: plan.rows.map(withoutEstimates),
    sections: plan.sections.map(({ when, rows }) => ({ when, rows: rows.map(withoutEstimates) })),
    bounds: plan.bounds,
  };
  return createHash('sha256').update(toCanonicalJson(essence)).digest('hex');
}

/** A row without what depends on current prices and readings (`about`, and `limits`, which may name a reading). */
function withoutEstimates(row: PlanRow): PlanRow {
  if (row.kind === 'note') return row;
  const { unknown, limits: _limits, ...rest } = row;
  if (unknown === undefined) return rest;
  return { ...rest, unknown: Object.fromEntries(Object.entries(unknown).map(([name, { from }]) => [name, { from }])) };
}

/** The definitions of all runbooks that are called from here, at any depth, each once. */
function listCalledDefinitions(runbook: CheckedRunbook): readonly string[] {
  const [, ...called] = listRunbooks(runbook);
  return [...new Set(called.map(({ sha256 }) => sha256))].sort();
}
