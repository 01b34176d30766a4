/**
 * Executes the steps that call the venue: one function per row of the step table. A function reaches its endpoints through
 * `call`, typed by its row: a call of an endpoint that the row does not name does not compile. Orders go through the order manager.
 */
import { Decimal, formatDecimal, toWholeNumber } from '../../base/decimal.ts';
import type { StepName, StepOf } from '../../runbook/checked.ts';
import { ACCOUNT, DEADMAN, FILL, TIER } from '../../runbook/functions/records.ts';
import { STEPS } from '../../runbook/steps.ts';
import type { Duration, Expr, Value, ValueType } from '../../runbook/values.ts';
import { type EndpointName, getEndpoint, type Params, type Result } from '../../venue/catalogue.ts';
import type { CallClass, CallOutcome, VenueCall } from '../../venue/port.ts';
import type { FillRecord, OrderRecord, Side } from '../../venue/records.ts';
import { toFailure } from '../failure.ts';
import { hydrate } from '../hydrate.ts';
import { StepFailure } from '../interruption.ts';
import { asHandle } from '../orders/handles.ts';
import { callWhileWanted, type Terms } from '../orders/parts.ts';
import { sleepUntil } from '../waiting.ts';
import type { StepExecution } from './execution.ts';
import {
  clearEarlier,
  ensureBand,
  evaluateLeg,
  findHandle,
  makeOrderContext,
  registerUndo,
  resolveOrder,
  resolveOrderId,
  toListed,
} from './order-steps.ts';

type Rows = typeof STEPS;
export type VenueVerb = { [V in StepName]: Rows[V]['group'] extends 'venue' ? V : never }[StepName];
type VerbFunction<V extends VenueVerb> = (execution: StepExecution<StepOf<V>>) => Promise<Value>;
type EndpointsOf<V extends VenueVerb> = Rows[V]['endpoints'][number] & EndpointName;

/** Pages of one `all_pages` list: a bound on a list that never ends. */
const MOST_PAGES = 100;
const PAGE_ROWS = 1000;

export function isVenueVerb(execution: StepExecution): execution is StepExecution<StepOf<VenueVerb>> {
  return STEPS[execution.step.verb].group === 'venue';
}

export function runVenueVerb(execution: StepExecution<StepOf<VenueVerb>>): Promise<Value> {
  const run = VERBS[execution.step.verb] as VerbFunction<VenueVerb>;
  return run(execution);
}

const VERBS: { readonly [V in VenueVerb]: VerbFunction<V> } = {
  async place(execution) {
    const { args, step, run } = execution;
    const market = execution.evaluate(args.market);
    const terms: Terms = {
      market,
      side: execution.evaluate(args.side) as Side,
      type: args.type,
      size: formatDecimal(execution.evaluate(args.size)),
      ...(args.price === undefined ? {} : { price: formatDecimal(execution.evaluate(args.price)) }),
      ...(args.trigger === undefined ? {} : { trigger: formatDecimal(execution.evaluate(args.trigger)) }),
      timeInForce: args.tif,
      onAmbiguous: args.onAmbiguous,
      ...(step.allow === undefined ? {} : { allow: step.allow }),
      ...(args.tag === undefined ? {} : { tag: args.tag }),
    };
    await ensureBand(execution);
    const on = makeOrderContext(execution, market);
    await clearEarlier(execution, '');
    const handle = await run.orderManager.place(on, '', terms);
    registerUndo(execution, handle);
    await run.orderManager.reach(handle, step.await ?? 'live', on);
    return handle.value;
  },

  async protect(execution) {
    const { args, step, run } = execution;
    const market = execution.evaluate(args.market);
    const side = execution.evaluate(args.side) as Side;
    const on = makeOrderContext(execution, market);
    const legs = [
      ['stop_loss', args.stopLoss],
      ['take_profit', args.takeProfit],
    ] as const;
    const value: Record<string, Value> = {};
    for (const [type, leg] of legs) {
      if (leg === undefined) continue;
      const handle = await run.orderManager.place(on, type, evaluateLeg(execution, leg, { market, side, type }));
      await run.orderManager.reach(handle, step.await ?? 'live', on);
      value[type] = handle.value;
    }
    return value;
  },

  async amend(execution) {
    const { args, run } = execution;
    const handle = resolveOrder(execution, args.order);
    const price = execution.evaluate(args.price);
    const size = execution.evaluateGiven(args.size);
    await ensureBand(execution);
    await run.orderManager.amend(handle, price, size, makeOrderContext(execution, handle.market_id));
    return handle.value;
  },

  async cancel(execution) {
    const { args, run } = execution;
    const { orderManager } = run;
    const target = execution.step.await ?? 'accepted';
    if (args.kind === 'order') {
      const handle = resolveOrder(execution, args.order);
      await orderManager.cancel(handle, target, makeOrderContext(execution, handle.market_id));
      return handle.value;
    }
    if (args.kind === 'mine') {
      const market = execution.evaluate(args.market);
      for (const order of orderManager.listWorking(market))
        await orderManager.cancel(orderManager.handle(order), target, makeOrderContext(execution, market));
      return undefined;
    }
    for (const value of execution.evaluate(args.ids)) {
      const handle = asHandle(value) ?? findHandle(run, String(value));
      await orderManager.cancel(handle, target, makeOrderContext(execution, handle.market_id));
    }
    return undefined;
  },

  async cancel_all(execution) {
    const { orderManager, log } = execution.run;
    const left = await orderManager.cancelAll(makeOrderContext(execution, undefined));
    return { left: left.map((record) => toListed(record, log.tracker.get(record.client_order_id))) };
  },

  async set_leverage(execution) {
    const market_id = execution.evaluate(execution.args.market);
    const leverage = toWholeNumber(execution.evaluate(execution.args.leverage));
    const set = () => call(execution, 'PUT /account/leverage', { market_id, leverage }, 'enter');
    const outcome = await set();
    // Setting a leverage twice is harmless: without an answer the request is repeated (fault-matrix.md, row 64).
    const settled = outcome.kind === 'unresolved' ? await set() : outcome;
    return toNamedValue(execution, ACCOUNT, requireOne(execution, requireConfirmed(execution, settled)));
  },

  async read_account(execution) {
    const outcome = await call(execution, 'GET /account', {}, 'read');
    return toNamedValue(execution, ACCOUNT, requireOne(execution, requireConfirmed(execution, outcome)));
  },

  async read_tier(execution) {
    const outcome = await call(execution, 'GET /profile', {}, 'read');
    return toNamedValue(execution, TIER, requireOne(execution, requireConfirmed(execution, outcome)));
  },

  async list_orders(execution) {
    const { args } = execution;
    const filter = {
      market_id: execution.evaluateGiven(args.market),
      status: execution.evaluateGiven(args.status) as Params<'GET /orders'>['status'],
      order_id: args.order === undefined ? undefined : resolveOrderId(execution, args.order),
      client_order_id: execution.evaluateGiven(args.clientOrderId),
    };
    const records = await readPages(execution, (paging) =>
      call(execution, 'GET /orders', { ...filter, ...paging }, 'read'),
    );
    const { tracker } = execution.run.log;
    return { orders: records.map((record) => toListed(record, tracker.get(record.client_order_id))) };
  },

  async list_fills(execution) {
    const { args } = execution;
    if (args.order !== undefined) {
      const order_id = resolveOrderId(execution, args.order);
      const fills = requireConfirmed(execution, await call(execution, 'GET /fills/order', { order_id }, 'read'));
      return { fills: fills.map(hydrateFill) };
    }
    const market_id = execution.evaluateGiven(args.market);
    const fills = await readPages(execution, (paging) =>
      call(execution, 'GET /fills', { market_id, ...paging }, 'read'),
    );
    return { fills: fills.map(hydrateFill) };
  },

  async refresh(execution) {
    const handle = resolveOrder(execution, execution.args.order);
    await execution.run.orderManager.refresh(handle, makeOrderContext(execution, handle.market_id));
    return handle.value;
  },

  async arm_deadman(execution) {
    const market_id = execution.evaluate(execution.args.market);
    const timeout: Duration = execution.evaluate(execution.args.timeout);
    const outcome = await repeatUnanswered(execution, () =>
      call(execution, 'POST /cancel_all_after', { market_id, timeout: timeout.ms }, 'protect'),
    );
    const record = requireConfirmed(execution, outcome);
    execution.run.log.append(
      'deadman.moved',
      { event: 'armed', market: market_id, timeoutMs: timeout.ms, because: 'arm_deadman' },
      execution.path,
    );
    return record === null ? undefined : toNamedValue(execution, DEADMAN, record);
  },

  async read_deadman(execution) {
    const { clock, heartbeat } = execution.run;
    const market_id = execution.evaluate(execution.args.market);
    const askedAt = clock.now();
    const outcome = await call(execution, 'GET /cancel_all_after', { market_id }, 'read');
    const record = requireConfirmed(execution, outcome);
    heartbeat.observeReading(market_id, outcome.sentAt ?? askedAt, record);
    return record === null ? undefined : toNamedValue(execution, DEADMAN, record);
  },

  async disarm_deadman(execution) {
    const market_id = execution.evaluate(execution.args.market);
    const outcome = await repeatUnanswered(execution, () =>
      call(execution, 'DELETE /cancel_all_after', { market_id }, 'protect'),
    );
    requireConfirmed(execution, outcome);
    execution.run.log.append(
      'deadman.moved',
      { event: 'disarmed', market: market_id, because: 'disarm_deadman' },
      execution.path,
    );
    return undefined;
  },

  async refresh_session(execution) {
    // The gateway inserts the refresh token; it never passes through the engine or the journal.
    const outcome = await call(execution, 'POST /jwt', { is_client: true, refresh_token: '' }, 'protect');
    requireConfirmed(execution, outcome);
    return undefined;
  },

  async request(execution) {
    const { args, run, path } = execution;
    const params = Object.fromEntries(
      Object.entries(args.with).map(([name, expr]) => {
        const value = execution.evaluate(expr);
        return [name, Decimal.isDecimal(value) ? formatDecimal(value as Decimal) : String(value)];
      }),
    );
    const outcome = await run.venue.request(args.name, params, run.callId(path), path);
    if (outcome.kind !== 'confirmed') {
      const kind =
        outcome.failure === 'cancelled' || outcome.failure === 'unknown_outcome' ? 'transport' : outcome.failure;
      throw new StepFailure(kind, outcome.message, path, outcome.retryAfterMs);
    }
    return outcome.result as Value;
  },
};

/** Calls one of the endpoints that the step's row names. */
function call<S extends StepOf<VenueVerb>, E extends EndpointsOf<S['verb']>>(
  { run, frame, path, cancel }: StepExecution<S>,
  name: E,
  params: Params<E>,
  klass: CallClass,
): Promise<CallOutcome<E>> {
  const { venue, callId } = run;
  const { limits } = frame.globals;
  const { method, protective } = getEndpoint(name);
  const wants: VenueCall<E> = {
    id: callId(path),
    step: path,
    endpoint: name,
    params,
    class: klass,
    ...(limits === undefined || method === 'GET' ? {} : { limits }),
  };
  if (method === 'GET' || protective) return venue.call(wants);
  return callWhileWanted(cancel, (wanted) => venue.call({ ...wants, wanted }));
}

/** Repeats an idempotent call while no answer comes. */
async function repeatUnanswered<E extends EndpointName>(
  { run: { clock }, cancel }: StepExecution,
  once: () => Promise<CallOutcome<E>>,
): Promise<CallOutcome<E>> {
  let outcome = await once();
  for (let tries = 0; outcome.kind === 'unresolved' && tries < 4; tries += 1) {
    await sleepUntil(clock, clock.now() + 250 * 2 ** tries, cancel);
    outcome = await once();
  }
  return outcome;
}

function requireConfirmed<E extends EndpointName>({ path }: StepExecution, outcome: CallOutcome<E>): Result<E> {
  if (outcome.kind === 'confirmed') return outcome.result;
  throw toFailure(outcome, path);
}

/** The value of a record where the step has an id; without one no expression can refer to it. */
function toNamedValue({ step }: StepExecution, type: ValueType, record: unknown): Value {
  return step.id === undefined ? undefined : hydrate(type, record);
}

function requireOne<T>({ path }: StepExecution, records: readonly T[]): T {
  const [record] = records;
  if (record === undefined) throw new StepFailure('transport', 'the venue confirmed and sent no record', path);
  return record;
}

interface Paging {
  readonly start_time: number | undefined;
  readonly end_time: number | undefined;
  readonly p_limit: number | undefined;
  readonly p_page: number | undefined;
  readonly p_order: 'ASC' | 'DESC' | undefined;
}

/**
 * Reads a list, page by page with `all_pages`. Rows move between pages while orders change, so pages are read oldest first and
 * a repeated record counts once (venue-notes.md, surprise 10).
 */
async function readPages<E extends 'GET /orders' | 'GET /fills'>(
  execution: StepExecution<StepOf<'list_orders'>> | StepExecution<StepOf<'list_fills'>>,
  read: (paging: Paging) => Promise<CallOutcome<E>>,
): Promise<Result<E>> {
  const { args } = execution;
  const number = (expr: Expr<Decimal> | undefined) =>
    expr === undefined ? undefined : toWholeNumber(execution.evaluate(expr));
  const range = {
    start_time: execution.evaluateGiven(args.since)?.us,
    end_time: execution.evaluateGiven(args.until)?.us,
  };
  if (!args.allPages) {
    const p_order = args.sort === undefined ? undefined : args.sort === 'asc' ? 'ASC' : 'DESC';
    return requireConfirmed(
      execution,
      await read({ ...range, p_limit: number(args.limit), p_page: number(args.page), p_order }),
    );
  }
  const found = new Map<string, OrderRecord | FillRecord>();
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const rows = requireConfirmed(
      execution,
      await read({ ...range, p_limit: PAGE_ROWS, p_page: page, p_order: 'ASC' }),
    ) as readonly (OrderRecord | FillRecord)[];
    for (const row of rows) found.set(row.id, row);
    if (rows.length < PAGE_ROWS) break;
  }
  const all = [...found.values()];
  return (args.sort === 'asc' ? all : all.reverse()) as unknown as Result<E>;
}

function hydrateFill(fill: FillRecord): Value {
  return hydrate(FILL, fill);
}
