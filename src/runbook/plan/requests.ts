/**
 * Plans the requests of one step by its row: their parameters, how often they are made, what they count, and the value that the
 * step would yield as far as that is known.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import { formatCount } from '../../base/format.ts';
import { type EndpointName, getAction, getEndpoint } from '../../venue/catalogue.ts';
import { AT_LEAST, getBandWidth, needsMarketPrice, notionalOf } from '../../venue/limits/check.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { countPosts, FIRST_POLL_MS, REPEAT_DELAYS_MS } from '../../venue/order/polling.ts';
import {
  makeAccountOrderParams,
  makeCancelParams,
  makeLookupParams,
  makeNewestOrderParams,
  makeReadParams,
  type OrderDraft,
} from '../../venue/order/requests.ts';
import type { Side } from '../../venue/records.ts';
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { hydrate } from '../functions/hydrate.ts';
import { ORDER } from '../functions/records.ts';
import { placesStop, STOPS } from '../steps/exit.ts';
import { placesOrders } from '../steps/risk.ts';
import type { Counts, PlacedStop } from '../steps/row.ts';
import { bindCalls, describeSubject, findUndo, getStepRow, type StepCall, type VenueStep } from '../steps/steps.ts';
import { listSteps } from '../steps/walk.ts';
import type { Expr, RecordValue, Value } from '../values.ts';
import type { PlannedSwitches } from './deadman.ts';
import { type Interval, multiply } from './intervals.ts';
import type { PlannedWrite } from './limits.ts';
import { EMPTY, type Figure, type Load, makeLoad, type Range, sequence, together, UNBOUNDED } from './load/load.ts';
import { WINDOW_MS } from './load/pace.ts';
import { PlanValues } from './plan-values.ts';
import type { PlanRows, RequestDetails } from './rows.ts';
import { boundTerm, type Estimating, makePlannedOrder, type PlanContext, type PlanScope } from './scope.ts';
import { Unknown } from './unknown.ts';

/** The value of a step, where only the run will know it. */
export interface Open {
  readonly open: true;
  readonly estimate?: Value;
}
export interface Planned {
  readonly load: Load;
  /** What follows the calls until the step is done; an attempt that was refused before it placed anything has none of it. */
  readonly follows?: Load;
  readonly value: { readonly known: Value } | Open;
}
export const NOT_KNOWN: Open = { open: true };

export interface RequestParts {
  readonly context: PlanContext;
  readonly rows: PlanRows;
  readonly switches: PlannedSwitches;
  readonly estimating: Estimating;
  /** Whether failures are walked too. */
  readonly failures: boolean;
  /** The most orders of the run. */
  readonly placed: number;
}

export class PlannedRequests {
  /** Whether a number of requests depends on that of the run's orders. */
  countedPlaced = false;
  private readonly parts: RequestParts;

  constructor(parts: RequestParts) {
    this.parts = parts;
  }

  /** Lists the requests of a step that calls the venue. */
  plan(step: VenueStep, scope: PlanScope, at: StepAt): Planned {
    const { path } = at;
    const { rows, estimating } = this.parts;
    const loads: Load[] = [];
    const placed: [string, Value][] = [];
    let market: string | Unknown | undefined;
    for (const call of this.listCalls(step)) {
      const draft = call.draft?.(new PlanValues(scope));
      market = draft?.market ?? market;
      if (draft !== undefined) {
        loads.push(this.parts.switches.beforeOrder());
        placed.push([call.leg ?? '', makePlannedOrder(draft, estimating, { amended: scope.amends })]);
      }
      loads.push(this.request({ step, scope, path, call, draft, market }));
    }
    if (getStepRow(step.verb).calls === undefined) rows.addNote(path, `${step.verb} ${describeSubject(step)}`);
    if (step.verb === 'request') loads.push(this.weighDeclared(step.args.name));
    const follows = this.planReads(step, scope, at, market);
    const value = this.valueOf(step, placed);
    if (getStepRow(step.verb).overlaps === true) return { load: together([...loads, follows]), value };
    return { load: sequence(loads), follows, value };
  }

  /**
   * Lists the readings with which a live run begins: the orders since the newest journal entry, before the first order of a process,
   * and the open orders that the account has already.
   */
  planStart(runbook: CheckedRunbook): Load {
    const name = 'GET /orders';
    const isCompared = placesOrders(runbook);
    if (isCompared) {
      const newest = new Unknown('a minute before the newest journal entry');
      const when = 'the run is live, and its process has placed no order';
      const once = { when, times: 'until it is answered', beside: true };
      this.parts.rows.addRequest('reconcile', name, makeNewestOrderParams<Unknown>(newest, 0), once);
    }
    const since = new Unknown('three months before the run');
    const details = { when: 'the run is live', times: 'until it is answered', beside: true };
    this.parts.rows.addRequest('reconcile', name, makeAccountOrderParams<Unknown>(since, { status: 'open' }), details);
    const readings = isCompared ? 2 : 1;
    const tries = REPEAT_DELAYS_MS.length + 1;
    const max = new Decimal(2 * readings * tries);
    // All tries are over within a minute.
    const tokens = readings * (this.parts.failures ? tries : 1) * this.parts.context.costOf(name);
    return makeLoad({ [`requests ${name}`]: { max } }, { tokens, minMs: 0, rate: 0 });
  }

  /** The requests of a step, without those that put back a stop which no other step of the run places. */
  private listCalls(step: CheckedStep): readonly StepCall[] {
    return bindCalls(step, 'calls').filter(
      ({ ofStops }) => ofStops === undefined || this.isPlacedElsewhere(step, ofStops),
    );
  }

  private isPlacedElsewhere(step: CheckedStep, stop: PlacedStop): boolean {
    return listSteps(this.parts.context.runbook).some((each) => each !== step && placesStop(each, stop));
  }

  /** Lists the cancels that revert a step when the run fails. They are counted with the requests about orders in doubt. */
  planUndo(step: CheckedStep, scope: PlanScope, path: string): void {
    const values = new PlanValues(scope);
    for (const { draft, leg = '' } of this.listCalls(step)) {
      if (draft === undefined) continue;
      const order = new PlanValues(scope, draft<Unknown>(values).market).placed(leg);
      const details = { when: 'the order has not ended' };
      this.parts.rows.addRequest(path, 'DELETE /orders', makeCancelParams<Unknown>(order), details);
    }
  }

  /** Lists what a process reads first that continues the run of another. Each resume may add it to the bounds. */
  planResume(): Load {
    const since = new Unknown('an hour before the order');
    const order = { market: new Unknown('its market'), clientOrderId: new Unknown('its client order id') };
    const venueId = new Unknown('its id');
    const { rows, switches } = this.parts;
    rows.addRequest('resume', 'GET /orders', makeLookupParams<Unknown>(order, since), {
      times: 'for each order in doubt',
    });
    rows.addRequest('resume', 'GET /orders', makeReadParams<Unknown>({ ...order, venueId }, since), {
      times: 'for each open order',
    });
    switches.planResume();
    return EMPTY;
  }

  /** Lists the reads that follow a step until it is done, and those for answers that are lost. */
  planReads(step: CheckedStep, scope: PlanScope, { path, name }: StepAt, market?: string | Unknown): Load {
    const { rows, failures } = this.parts;
    const loads = bindCalls(step, 'confirms').map((call) =>
      this.request({ step, scope, path, call, market, beside: true }),
    );
    if (failures)
      loads.push(
        rows.inSection(
          `if an answer of ${name} is lost or late`,
          () =>
            sequence([
              ...bindCalls(step, 'otherwise').map((call) => this.request({ step, scope, path, call, market })),
              ...(bindCalls(step, 'calls').some(({ draft }) => draft !== undefined) && this.parts.switches.isDeclared
                ? [this.readWorking(scope, path)]
                : []),
            ]),
          'doubt',
        ),
      );
    return sequence(loads);
  }

  /** Lists the readings before an order where the deadman switch may have fired: every order of the run that may still work. */
  private readWorking(scope: PlanScope, path: string): Load {
    const { rows, context, placed } = this.parts;
    this.countedPlaced = true;
    const values = new PlanValues(scope);
    const order = values.each(undefined);
    const details = { when: 'the deadman switch may have fired', times: 'for each open order of this run' };
    rows.addRequest(path, 'GET /orders', makeReadParams<Unknown>(order, values.since()), details);
    rows.addRequest(path, 'GET /orders', makeLookupParams<Unknown>(order, values.since()), details);
    // Each try to send it may come after another lapse.
    const max = new Decimal(placed).times(countPosts(true));
    const tokens = Number.isFinite(placed) ? placed * countPosts(true) * context.costOf('GET /orders') : 0;
    return makeLoad({ 'requests GET /orders': { max } }, { tokens, apart: tokens, minMs: 0, rate: 0 });
  }

  private request(made: {
    readonly step: CheckedStep;
    readonly scope: PlanScope;
    readonly path: string;
    readonly call: StepCall;
    readonly draft?: OrderDraft<Unknown> | undefined;
    readonly market: string | Unknown | undefined;
    readonly beside?: boolean;
  }): Load {
    const { step, scope, path, call, draft } = made;
    const params = call.params<Unknown>(new PlanValues(scope, made.market));
    const times = call.times(this.countsOf(step, scope));
    const changed = this.findAmended(step, scope);
    const terms = draft ?? amendTerms(params, changed, call.endpoint);
    const details: RequestDetails = {
      when: call.when ?? times.when,
      times: times.max === 1 ? undefined : times.words,
      beside: made.beside === true,
      ...(draft === undefined
        ? {}
        : { undo: describeUndo(step), allow: step.allow, limits: this.formatNotional(draft) }),
      ...(changed === undefined ? {} : { order: changed }),
      ...this.describeLeverage(call.endpoint, params),
    };
    this.parts.rows.addRequest(path, call.endpoint, params, details);
    const { market_id: market } = params as { readonly market_id?: unknown };
    // Reads of one market are shared, also where its name is an input.
    const found = typeof market === 'string' ? market : scope.hasOneMarket ? 'the market' : '';
    const shared = call.alone === true ? '' : found;
    const closes = getStepRow(step.verb).risk === 'reduces';
    const reduces = step.allow === 'reduce' || closes;
    return this.weigh({ call, times, terms, reduces, closes, market: shared });
  }

  /** How much a request counts that the profile declares: it is sent once in each attempt of its step. */
  private weighDeclared(name: string): Load {
    const one = new Decimal(1);
    return makeLoad(
      { [`requests request ${name}`]: { min: one, max: one }, duration: { max: UNBOUNDED } },
      { tokens: this.parts.context.declared.costOf(name), minMs: 0, rate: 0 },
    );
  }

  /** How much a request counts. */
  private weigh({
    call,
    times,
    terms,
    reduces,
    closes,
    market,
  }: {
    readonly call: StepCall;
    readonly times: { readonly min: number; readonly max: number };
    readonly terms: OrderDraft<Unknown> | undefined;
    readonly reduces: boolean;
    /** Whether its step can only close what is open. */
    readonly closes: boolean;
    /** Of which waits share their reads; empty where that is not known. */
    readonly market: string;
  }): Load {
    const { context, failures, rows } = this.parts;
    const { method, qualifies, repeatable } = getEndpoint(call.endpoint);
    // A refused session is renewed once, and what may be repeated is sent again.
    const sends = failures ? call.sends * (repeatable === 'never' ? 1 : 2) : 1;
    const count: Partial<Range> = {
      min: new Decimal(call.when === undefined ? times.min : 0),
      max: new Decimal(times.max).times(sends),
    };
    const figures: Partial<Record<Figure, Partial<Range>>> = {
      [`requests ${call.endpoint}`]: count,
      duration: { max: UNBOUNDED },
      ...(method === 'GET' || !qualifies ? {} : { writes: count }),
      ...(terms === undefined
        ? {}
        : this.weighOrder(terms, { reduces, closes, follows: call.draft === undefined, most: times.max })),
      ...(call.draft === undefined ? {} : { orders: { min: new Decimal(times.min), max: new Decimal(times.max) } }),
    };
    const cost = context.costOf(call.endpoint);
    if (call.everyMs !== undefined) {
      const perMinute = Math.min(WINDOW_MS / call.everyMs, times.max) * cost;
      return makeLoad(
        figures,
        {
          tokens: cost,
          apart: cost,
          // The reading of another branch may show it sooner.
          minMs: times.min > 0 && !(failures && rows.isInBranch) ? FIRST_POLL_MS : 0,
          rate: cost / call.everyMs,
          ...(market === '' ? {} : { market }),
        },
        call.waits ? { own: 0, polls: new Map([[market, perMinute]]) } : undefined,
      );
    }
    // Without failures a read that the venue's answer asks for is made once.
    // Without inputs nothing is known of a number: it counts as one in a rate.
    const most = Number.isFinite(times.max) || context.inputs !== undefined ? times.max : 1;
    const expected = call.when !== undefined && !failures ? Math.min(most, 1) : most * sends;
    const tokens = cost * expected;
    return makeLoad(figures, { tokens, ...(call.when === undefined ? {} : { apart: tokens }), minMs: 0, rate: 0 });
  }

  /**
   * The notional of an order by its own price, and what of it can open, on which side. A position stop opens nothing.
   */
  private weighOrder(
    terms: OrderDraft<Unknown>,
    {
      reduces,
      closes,
      follows,
      most,
    }: { readonly reduces: boolean; readonly closes: boolean; readonly follows: boolean; readonly most: number },
  ): Partial<Record<Figure, Partial<Range>>> {
    const { side, market } = terms;
    if (isPositionStop(terms)) return {};
    const { maxOrderNotional, maxRunNotional, maxOrderSize } = this.parts.rows.bounds.rules;
    const cap = maxOrderNotional === undefined ? UNBOUNDED : decimal(maxOrderNotional);
    const price = terms.price ?? terms.trigger;
    const known = typeof terms.size === 'string' && typeof price === 'string';
    const own = known ? decimal(terms.size).times(decimal(price)) : boundNotional(terms.size, price, maxOrderSize);
    const capped = known ? own : Decimal.min(cap, own);
    const measure = (one: Decimal): Partial<Range> => ({
      min: known ? one : new Decimal(0),
      max: most === 1 || one.isZero() ? one : one.times(most),
    });
    // An exit passes the caps where it is proven to reduce, and then it opens nothing.
    const range = measure(reduces ? own : capped);
    const opened = measure(capped);
    // What a reducing step closes, the run has opened; under a cap an order of it may go out that nothing proves to reduce.
    const isCapped = maxOrderNotional !== undefined || maxRunNotional !== undefined;
    const sides = closes ? [] : side instanceof Unknown ? (['long', 'short'] as const) : ([side] as const);
    const where = market instanceof Unknown ? '' : market;
    return {
      notional: range,
      ...(closes && !isCapped ? {} : { opening: opened }),
      ...(side !== 'long' && needsMarketPrice(terms) ? { 'open notionals': { max: new Decimal(most) } } : {}),
      ...(reduces ? { reducing: range } : {}),
      ...(follows ? { following: range } : {}),
      ...Object.fromEntries(sides.map((each) => [`${each} ${where}`, opened])),
    };
  }

  private countsOf(step: CheckedStep, scope: PlanScope): Counts {
    const hasStops = () => STOPS.some((stop) => this.isPlacedElsewhere(step, stop));
    const countPlaced = () => {
      this.countedPlaced = true;
      return this.parts.placed;
    };
    return {
      items: (expr) =>
        scope.countItems(expr as Expr<readonly Value[]>) ??
        // Each order of the list counts once, and the run has placed it.
        (isOrderList(expr) && !listsOrders(this.parts.context.runbook) ? countPlaced() : undefined),
      duration: (expr) => (expr === undefined ? undefined : scope.evaluateKnown(expr)?.ms),
      get placed() {
        return countPlaced();
      },
      get stopsElsewhere() {
        return hasStops();
      },
      absenceHorizonMs: this.parts.context.absenceHorizonMs,
      fillsWindowMs: this.parts.context.fillsWindowMs,
    };
  }

  private valueOf(step: VenueStep, placed: readonly (readonly [string, Value])[]): Planned['value'] {
    const { yields } = getStepRow(step.verb);
    const [first] = placed;
    if (first !== undefined) return { known: first[0] === '' ? first[1] : (Object.fromEntries(placed) as RecordValue) };
    if (yields === 'nothing') return { known: undefined };
    const [call] = bindCalls(step, 'calls');
    if (typeof yields === 'string' || call === undefined || getEndpoint(call.endpoint).method !== 'GET')
      return NOT_KNOWN;
    // The reading as it is now is an estimate.
    const result = this.parts.context.read(call.endpoint);
    if (!Array.isArray(result) || yields.kind !== 'record') return NOT_KNOWN;
    const [[name, list] = []] = Object.entries(yields.fields);
    const isList = Object.keys(yields.fields).length === 1 && list?.kind === 'list';
    // A recorded order is not the order that this step is about.
    if ([yields, isList ? list.of : yields].some((of) => of.kind === 'record' && of.name === ORDER.name))
      return NOT_KNOWN;
    const json = isList ? { [name as string]: result } : result[0];
    return json === undefined ? NOT_KNOWN : { open: true, estimate: hydrate(yields, json) };
  }

  /** The order that an amend changes, as it was planned. */
  private findAmended(step: CheckedStep, scope: PlanScope): PlannedWrite['order'] {
    if (step.verb !== 'amend') return undefined;
    const { order } = step.args;
    const read = (name: string) =>
      scope.readPresent(order, (value) => {
        const field = value[name];
        return Decimal.isDecimal(field) ? formatDecimal(field as Decimal) : (field as string | undefined);
      });
    if (scope.readPresent(order, () => true) === undefined) return undefined;
    return {
      market_id: read('market_id'),
      side: read('side'),
      type: read('order_type'),
      size: read('size'),
      price: read('price'),
      time_in_force: read('time_in_force'),
    };
  }

  /** The notional as the limits would measure it. */
  private formatNotional(draft: OrderDraft<Unknown>): string | undefined {
    const { market, side, size, type, price, trigger, timeInForce } = draft;
    for (const value of [market, side, size, price, trigger, timeInForce])
      if (value instanceof Unknown) return undefined;
    const { rules, reference } = this.parts.rows.bounds;
    const around = reference(String(market));
    const known = { price, trigger, timeInForce } as { price?: string; trigger?: string; timeInForce?: string };
    const notional = notionalOf(
      {
        clientOrderId: '',
        market: String(market),
        side: side as Side,
        size: String(size),
        // What the band will show is no less than the price of a short.
        type: around === 'open' ? 'limit' : type,
        ...known,
      },
      { reference: around === 'open' ? undefined : around, within: getBandWidth(rules, String(market)) },
    );
    if (notional === undefined) return undefined;
    const value = `${notional.atLeast ? AT_LEAST : ''}${notional.value}`;
    const { maxOrderNotional } = rules;
    return `notional ${value}${maxOrderNotional === undefined ? '' : `/${formatDecimal(decimal(maxOrderNotional))}`}`;
  }

  private describeLeverage(endpoint: EndpointName, params: object): { limits?: string } {
    if (endpoint !== 'PUT /account/leverage') return {};
    const { market_id: market, leverage } = params as { readonly market_id: unknown; readonly leverage: unknown };
    const [record] =
      (this.parts.context.read('GET /account') as
        | readonly { readonly leverage?: Readonly<Record<string, string>> }[]
        | undefined) ?? [];
    const before = record?.leverage?.[String(market)];
    return before === undefined ? {} : { limits: `${before} -> ${String(leverage)}` };
  }
}

/** The most that an order can be worth at its own price. */
function boundNotional(
  size: string | Unknown,
  price: string | Unknown | undefined,
  maxOrderSize: string | undefined,
): Decimal {
  // Nothing is sent with a size or price below zero.
  const above = ({ min, max }: Interval) => ({ min: Decimal.max(0, min), max: Decimal.max(0, max) });
  const most = above(boundTerm(size));
  const capped = maxOrderSize === undefined ? most : { ...most, max: Decimal.min(most.max, maxOrderSize) };
  return multiply(capped, above(boundTerm(price))).max;
}

/** The terms of an amended order, where the request is one. */
function amendTerms(
  params: object,
  before: PlannedWrite['order'],
  endpoint: EndpointName,
): OrderDraft<Unknown> | undefined {
  if (getAction(endpoint) !== 'amend') return undefined;
  const { market_id, price, size } = params as Readonly<Record<string, string | Unknown | undefined>>;
  const side = before?.['side'];
  return {
    market: market_id ?? new Unknown('its market'),
    side: side === undefined ? new Unknown('its side') : (side as Side),
    type: 'limit',
    size: size ?? before?.['size'] ?? new Unknown('its size'),
    price: price ?? new Unknown('its price'),
  };
}

function isOrderList({ type }: Expr): boolean {
  return type.kind === 'list' && type.of.kind === 'record' && type.of.name === ORDER.name;
}

/** Whether a step may give out orders that the run has not placed. */
function listsOrders(runbook: CheckedRunbook): boolean {
  const isSource = ({ verb }: CheckedStep) => verb === 'list_orders' || verb === 'cancel_all';
  return listSteps(runbook).some(isSource);
}

function describeUndo(step: CheckedStep): string {
  const undo = findUndo(step);
  return Array.isArray(undo) ? formatCount(undo.length, 'step') : undo === 'cancel' ? 'DELETE /orders' : 'none';
}

/** A step for a reader: the id, else verb and position; with its runbook where that is called. */
export function nameStep(step: CheckedStep, { name }: CheckedRunbook, depth: number): string {
  const [, position] = /(\d+):[^/]*$/.exec(step.path) ?? [];
  return `${step.id ?? `${step.verb} ${position ?? ''}`.trim()}${depth === 0 ? '' : ` of ${name}`}`;
}

/** The place of a step in the run, and its name for a reader. */
export interface StepAt {
  readonly path: string;
  readonly name: string;
}
