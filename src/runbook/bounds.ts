/**
 * Computes the worst case of a run before it starts: tokens per minute, write requests, orders and notional. Every loop
 * has a bound (language.md, decision 13). A list of unknown length counts as one item in a rate and makes a total
 * `unbounded`. The figures are the steady load: retries, `catch`, `undo`, the reads at the start of a run and those that
 * confirm an order or a cancel come on top, and every text that prints the figures says so.
 */
import type { Decimal } from '../base/decimal.ts';
import { type DecimalString, formatDecimal } from '../base/decimal.ts';
import type { EndpointName } from '../venue/catalogue.ts';
import { getEndpoint } from '../venue/catalogue.ts';
import { chooseDeadmanReadPauseMs } from '../venue/deadman.ts';
import type { CheckedRunbook, CheckedStep, StepOf } from './checked.ts';
import { KnownValues, toCount } from './expression/known-values.ts';
import type { Value } from './values.ts';

interface WorstCase {
  /** Tokens in a minute of the most expensive wait or loop, including keep-alives. */
  readonly tokensPerMinute: number;
  /** Requests that change something, without keep-alives. */
  readonly writes: number | 'unbounded';
  /** POST /orders requests. */
  readonly orders: number | 'unbounded';
  /** Quote currency; absent when nothing bounds it. */
  readonly notional?: DecimalString;
}

export type Costs = (endpoint: EndpointName) => number;

/** Time between two reads of an order that a step waits for, ms. */
export const ORDER_POLL_MS = 2000;
const MINUTE_MS = 60_000;
/** The tokens of an address in a minute (Limits, Rate limit); requests that are made once are spread over several minutes. */
export const TOKENS_PER_MINUTE = 1200;
/** A quarter of the shortest timeout that a live run accepts; shorter ones exist only in virtual time. */
const QUICKEST_KEEP_ALIVE_MS = 1250;
/** Tokens assumed for an endpoint whose cost the venue document does not give. */
const UNKNOWN_COST = 10;

/** The token cost of the venue document, or the assumed cost if the document gives none. */
export function readDocumentedCost(name: EndpointName): number {
  return getEndpoint(name).tokens ?? UNKNOWN_COST;
}

/** `inputs`: the values of a planned run; without them only values that are the same in every run are known. */
export function computeWorstCase(
  runbook: CheckedRunbook,
  costs: Costs,
  inputs?: Readonly<Record<string, Value>>,
): WorstCase {
  const known = new KnownValues(runbook, inputs);
  const load = computeBlockLoad(runbook.steps, { known, costs, runbook, depth: 0 });
  const cleanup = computeBlockLoad([...runbook.onError, ...runbook.finally], { known, costs, runbook, depth: 0 });
  const sumFigure = addLoads(load, cleanup);
  const burst = Math.min(Math.max(load.burst, cleanup.burst), TOKENS_PER_MINUTE);
  const maxWrites = toCount(known.evaluateDecimal(runbook.limits?.maxWrites));
  const writes = Math.min(sumFigure.writes, maxWrites);
  const orders = Math.min(sumFigure.orders, maxWrites);
  const notional = boundNotional(runbook, known, sumFigure, orders);
  return {
    tokensPerMinute: Math.ceil(Math.max(load.rate, cleanup.rate, burst) + countKeepAliveTokens(runbook, known, costs)),
    writes: Number.isFinite(writes) ? writes : 'unbounded',
    orders: Number.isFinite(orders) ? orders : 'unbounded',
    ...(notional === undefined ? {} : { notional: formatDecimal(notional) }),
  };
}

/**
 * Tokens in a minute of the most expensive wait or loop. Steps that run once are not counted: the token budget spreads
 * them over time, and their number is fixed.
 */
export function computeSteadyRate(runbook: CheckedRunbook, costs: Costs): number {
  const known = new KnownValues(runbook, undefined);
  const { rate } = computeBlockLoad([...runbook.steps, ...runbook.onError, ...runbook.finally], {
    known,
    costs,
    runbook,
    depth: 0,
  });
  return Math.ceil(rate + countKeepAliveTokens(runbook, known, costs));
}

function countKeepAliveTokens(runbook: CheckedRunbook, known: KnownValues, costs: Costs): number {
  const { heartbeats, readings } = countKeepAlivesPerMinute(runbook, known);
  return heartbeats * costs('POST /cancel_all_after') + readings * costs('GET /cancel_all_after');
}

/** The load of one execution of a step or block. */
interface Load {
  /** Tokens spent without a pause, between waits. */
  readonly burst: number;
  /** Tokens in the most expensive minute of a wait or loop in it. */
  readonly rate: number;
  /** The part of `rate` spent on polling orders: waits in one market share these reads. */
  readonly pollTokens: number;
  /** The shortest time it takes, ms. */
  readonly ms: number;
  readonly writes: number;
  readonly orders: number;
  /** Quote currency; undefined if the notional of an order is not known. */
  readonly notional: Decimal | undefined | 'none';
}

interface View {
  readonly known: KnownValues;
  readonly costs: Costs;
  readonly runbook: CheckedRunbook;
  readonly depth: number;
}

const IDLE: Load = { burst: 0, rate: 0, pollTokens: 0, ms: 0, writes: 0, orders: 0, notional: 'none' };

function computeBlockLoad(steps: readonly CheckedStep[], view: View): Load {
  let all = IDLE;
  let worst = 0;
  let burst = 0;
  for (const step of steps) {
    const load = computeStepLoad(step, view);
    burst = load.ms >= MINUTE_MS ? load.burst : burst + load.burst;
    worst = Math.max(worst, burst);
    all = addLoads(all, load);
  }
  return { ...all, burst: worst };
}

/** The load of two parts that run one after the other. */
function addLoads(first: Load, second: Load): Load {
  return {
    burst: first.burst + second.burst,
    ...pickHigherRate(first, second),
    ms: first.ms + second.ms,
    writes: first.writes + second.writes,
    orders: first.orders + second.orders,
    notional: addNotionals(first.notional, second.notional),
  };
}

/** The rate of the more expensive minute. */
function pickHigherRate(first: Load, second: Load): Pick<Load, 'rate' | 'pollTokens'> {
  const { rate, pollTokens } = second.rate > first.rate ? second : first;
  return { rate, pollTokens };
}

function addNotionals(first: Load['notional'], second: Load['notional']): Load['notional'] {
  if (first === 'none') return second;
  if (second === 'none') return first;
  return first === undefined || second === undefined ? undefined : first.plus(second);
}

function multiplyLoad(load: Load, count: number): Load {
  const notional =
    load.notional === 'none' || load.notional === undefined
      ? load.notional
      : Number.isFinite(count)
        ? load.notional.times(count)
        : undefined;
  return {
    ...load,
    ms: load.ms * Math.min(count, 1),
    writes: load.writes === 0 ? 0 : load.writes * count,
    orders: load.orders === 0 ? 0 : load.orders * count,
    notional,
  };
}

function computeStepLoad(step: CheckedStep, view: View): Load {
  const { known, costs } = view;
  const read = (name: EndpointName): Load => ({ ...IDLE, burst: costs(name) });
  const write = (name: EndpointName, count = 1): Load => ({ ...IDLE, burst: costs(name), writes: count });
  switch (step.verb) {
    case 'place':
      return {
        ...write('POST /orders'),
        orders: 1,
        notional: computeOrderNotional(step, known),
        ...computeAwaitRate(step, view),
      };
    case 'protect': {
      const legs = (step.args.stopLoss === undefined ? 0 : 1) + (step.args.takeProfit === undefined ? 0 : 1);
      return { ...IDLE, burst: legs * costs('POST /orders'), writes: legs, orders: legs };
    }
    case 'amend':
      return write('PUT /orders');
    case 'cancel': {
      const count =
        step.args.kind === 'order'
          ? 1
          : step.args.kind === 'ids'
            ? known.countItems(step.args.ids)
            : Number.POSITIVE_INFINITY;
      return { ...write('DELETE /orders', count), ...computeAwaitRate(step, view) };
    }
    case 'cancel_all':
      return write('DELETE /orders/cancel_all');
    case 'set_leverage':
      return write('PUT /account/leverage');
    case 'read_account':
      return read('GET /account');
    case 'read_tier':
      return read('GET /profile');
    case 'list_orders':
    case 'refresh':
      return read('GET /orders');
    case 'list_fills':
      return read(step.args.order === undefined ? 'GET /fills' : 'GET /fills/order');
    case 'arm_deadman':
      return write('POST /cancel_all_after');
    case 'read_deadman':
      return read('GET /cancel_all_after');
    case 'disarm_deadman':
      return write('DELETE /cancel_all_after');
    case 'refresh_session':
      return read('POST /jwt');
    case 'request':
      return { ...IDLE, burst: UNKNOWN_COST };
    case 'wait':
      return { ...IDLE, ms: step.args.kind === 'for' ? (known.evaluateDuration(step.args.for) ?? 0) : 0 };
    case 'wait_for':
      return computeWaitLoad(step, view);
    case 'for_each': {
      const count = known.countItems(step.args.in, step.id);
      const body = computeBlockLoad(step.args.do, view);
      return { ...multiplyLoad(body, count), burst: body.burst * (Number.isFinite(count) ? count : 1) };
    }
    case 'parallel':
      return computeParallelLoad(step, view);
    case 'repeat':
      return computeRepeatLoad(step, view);
    case 'switch': {
      const cases = [
        ...step.args.cases.map((each) => each.do),
        ...(step.args.else === undefined ? [] : [step.args.else]),
      ].map((block) => computeBlockLoad(block, view));
      return cases.reduce(takeWorst, { ...IDLE });
    }
    case 'call': {
      const callee = view.runbook.calls[step.args.runbook];
      if (callee === undefined || view.depth > 16) return IDLE;
      return computeBlockLoad(callee.steps, {
        ...view,
        runbook: callee,
        known: new KnownValues(callee, undefined),
        depth: view.depth + 1,
      });
    }
    case 'let':
    case 'set':
    case 'assert':
    case 'approve':
    case 'notify':
    case 'stop':
    case 'fail':
      return IDLE;
    default:
      return step satisfies never;
  }
}

function takeWorst(first: Load, second: Load): Load {
  const takeLarger = (a: Load['notional'], b: Load['notional']): Load['notional'] =>
    a === 'none' ? b : b === 'none' ? a : a === undefined || b === undefined ? undefined : a.greaterThan(b) ? a : b;
  return {
    burst: Math.max(first.burst, second.burst),
    ...pickHigherRate(first, second),
    ms: Math.min(first.ms, second.ms),
    writes: Math.max(first.writes, second.writes),
    orders: Math.max(first.orders, second.orders),
    notional: takeLarger(first.notional, second.notional),
  };
}

/** Reads in a minute, with one read every `everyMs` for at most `withinMs`. */
function countPolls(everyMs: number, withinMs: number | undefined): number {
  return Math.ceil(Math.min(MINUTE_MS, withinMs ?? MINUTE_MS) / everyMs);
}

/** An `await` for fills or for the end of an order polls like a wait; `accepted` and `live` take only a moment. */
function computeAwaitRate(step: CheckedStep, view: View): Pick<Load, 'rate' | 'pollTokens'> {
  if (step.await === undefined || step.await === 'accepted' || step.await === 'live') return { rate: 0, pollTokens: 0 };
  return computeOrderPolls(view.known.evaluateDuration(step.timeout), view);
}

function computeOrderPolls(withinMs: number | undefined, { costs }: View): Pick<Load, 'rate' | 'pollTokens'> {
  const rate = countPolls(ORDER_POLL_MS, withinMs) * costs('GET /orders');
  return { rate, pollTokens: rate };
}

function computeWaitLoad(step: StepOf<'wait_for'>, view: View): Load {
  const within = view.known.evaluateDuration(step.args.within);
  if (step.args.kind === 'order') return { ...IDLE, ...computeOrderPolls(within, view) };
  const every = view.known.evaluateDuration(step.args.every);
  const { burst } = computeStepLoad(step.args.read, view);
  return every === undefined ? { ...IDLE, burst } : { ...IDLE, rate: countPolls(every, within) * burst };
}

function computeParallelLoad(step: StepOf<'parallel'>, view: View): Load {
  if (step.args.kind === 'branches') {
    const loads = step.args.branches.map((branch) => computeBlockLoad(branch.do, view));
    return { ...loads.reduce(addLoads, IDLE), ...addConcurrentRates(loads, 1, view) };
  }
  const count = view.known.countItems(step.args.in);
  const width = Math.min(count, toCount(view.known.evaluateDecimal(step.args.max), 1));
  const body = computeBlockLoad(step.args.do, view);
  return {
    ...multiplyLoad(body, count),
    burst: body.burst * (Number.isFinite(count) ? count : width),
    ...addConcurrentRates([body], width, view),
  };
}

/** Rates of parts that run at the same time, each `width` times. One read serves all waits in a market. */
function addConcurrentRates(loads: readonly Load[], width: number, view: View): Pick<Load, 'rate' | 'pollTokens'> {
  const sumFigure = (figure: (load: Load) => number): number =>
    loads.reduce((all, load) => all + figure(load), 0) * width;
  const waited = sumFigure(({ pollTokens }) => pollTokens);
  const markets = view.runbook.limits?.markets?.length ?? Number.POSITIVE_INFINITY;
  const shared = Math.min(waited, markets * computeOrderPolls(undefined, view).pollTokens);
  return { rate: sumFigure(({ rate }) => rate) - waited + shared, pollTokens: shared };
}

function computeRepeatLoad(step: StepOf<'repeat'>, view: View): Load {
  const { known } = view;
  const body = computeBlockLoad(step.args.do, view);
  const every = known.evaluateDuration(step.args.every);
  const interval = Math.max(every ?? 0, body.ms);
  const length = known.evaluateDuration(step.args.for);
  const byTime =
    length === undefined
      ? Number.POSITIVE_INFINITY
      : interval > 0
        ? Math.ceil(length / interval)
        : Number.POSITIVE_INFINITY;
  const rounds = Math.min(toCount(known.evaluateDecimal(step.args.max)), byTime);
  const all = multiplyLoad(body, rounds);
  if (interval > 0)
    return {
      ...all,
      burst: 0,
      ...pickHigherRate(body, { ...IDLE, rate: Math.min(MINUTE_MS / interval, rounds) * body.burst }),
    };
  // A pause that depends on an input without a value proves nothing; without a pause the loop is as fast as the network.
  const endless = !Number.isFinite(rounds) && step.args.every === undefined && length !== undefined && body.burst > 0;
  return {
    ...all,
    burst: Number.isFinite(rounds) ? rounds * body.burst : body.burst,
    rate: endless ? Number.POSITIVE_INFINITY : body.rate,
  };
}

function countKeepAlivesPerMinute(
  runbook: CheckedRunbook,
  known: KnownValues,
): { heartbeats: number; readings: number } {
  const { deadman } = runbook;
  if (deadman === undefined) return { heartbeats: 0, readings: 0 };
  const timeout = known.evaluateDuration(deadman.timeout);
  const pause = deadman.keepAlive === undefined ? timeout && timeout / 4 : known.evaluateDuration(deadman.keepAlive);
  const countPerMinute = (ms: number | undefined, quickest: number) =>
    ms === undefined || ms <= 0 ? 0 : MINUTE_MS / Math.max(ms, quickest);
  return {
    heartbeats: countPerMinute(pause, QUICKEST_KEEP_ALIVE_MS),
    readings: countPerMinute(
      timeout && chooseDeadmanReadPauseMs(timeout),
      chooseDeadmanReadPauseMs(4 * QUICKEST_KEEP_ALIVE_MS),
    ),
  };
}

function computeOrderNotional(step: StepOf<'place'>, known: KnownValues): Decimal | undefined {
  const size = known.evaluateDecimal(step.args.size);
  const price = known.evaluateDecimal(step.args.price);
  return size === undefined || price === undefined ? undefined : size.times(price);
}

/** The smallest of the orders' notional and the limits. */
function boundNotional(runbook: CheckedRunbook, known: KnownValues, load: Load, orders: number): Decimal | undefined {
  const perRun = known.evaluateDecimal(runbook.limits?.maxRunNotional);
  const perOrder = known.evaluateDecimal(runbook.limits?.maxOrderNotional);
  const bounds = [
    load.notional === 'none' ? undefined : load.notional,
    perRun,
    perOrder !== undefined && Number.isFinite(orders) && orders > 0 ? perOrder.times(orders) : undefined,
  ];
  return bounds.reduce((least, each) => (least === undefined || each?.lessThan(least) ? each : least), undefined);
}
