/**
 * Executes the steps that call the venue. A step makes the requests of its row; one that does more has a function here. Orders go
 * through the order manager.
 */
import { Decimal, formatDecimal } from '../../base/decimal.ts';
import type { StepOf } from '../../runbook/checked.ts';
import { hydrate } from '../../runbook/functions/hydrate.ts';
import { DEADMAN, FILL } from '../../runbook/functions/records.ts';
import { endsAtOnce, findAwaited } from '../../runbook/steps/awaited.ts';
import type { CallRow } from '../../runbook/steps/row.ts';
import { bindCalls, getStepRow, STEPS, type VenueStep, type VenueStepName } from '../../runbook/steps/steps.ts';
import type { Value } from '../../runbook/values.ts';
import { CATALOGUE, type EndpointName, getEndpoint, type Params, type Result } from '../../venue/catalogue.ts';
import type { OrderContext } from '../../venue/order/context.ts';
import { isZeroDecimal } from '../../venue/order/fills.ts';
import { REPEAT_DELAYS_MS } from '../../venue/order/polling.ts';
import { isTerminal } from '../../venue/order/states.ts';
import { Pages } from '../../venue/pages.ts';
import type { CallOutcome, VenueCall, WriteLimits } from '../../venue/port.ts';
import type { FillRecord, OrderRecord } from '../../venue/records.ts';
import { toFailure } from '../failure.ts';
import { StepFailure } from '../interruption.ts';
import { asHandle, type OrderHandle } from '../readings/handles.ts';
import { callWhileWanted, leaveWithdrawn, restrict, type Terms } from '../readings/parts.ts';
import { getOrderName } from '../readings/status.ts';
import { sleepUntil } from '../waiting.ts';
import { close } from './close.ts';
import type { StepExecution } from './execution.ts';
import { manage } from './manage.ts';
import {
  cancelSideBySide,
  clearEarlier,
  ensureBand,
  findHandle,
  makeOrderContext,
  placeOrder,
  registerUndo,
  resolveOrder,
  toListed,
} from './order-steps.ts';
import { listPlacements, RunValues } from './run-values.ts';

type VerbFunction<V extends VenueStepName> = (execution: StepExecution<StepOf<V>>) => Promise<Value>;

export function runVenueStep(execution: StepExecution<VenueStep>): Promise<Value> {
  const run = VERBS[execution.step.verb] as VerbFunction<VenueStepName> | undefined;
  return run === undefined ? makeCalls(execution) : run(execution);
}

/** The steps that do more than make the calls of their row. */
const VERBS: { readonly [V in VenueStepName]?: VerbFunction<V> } = {
  async place(execution) {
    const { args, step, run } = execution;
    const [request] = listPlacements(execution);
    if (request === undefined) throw new Error('engine: a place step without a request');
    const terms: Terms = {
      ...request.terms,
      onAmbiguous: args.onAmbiguous,
      ...(step.allow === undefined ? {} : { allow: step.allow }),
      ...(args.tag === undefined ? {} : { tag: args.tag }),
    };
    await ensureBand(execution, terms.market);
    const on = makeOrderContext(execution, terms.market);
    await clearEarlier(execution, request.leg);
    const handle = await placeOrder(execution, on, request.leg, terms);
    execution.touched.add(handle);
    registerUndo(execution, handle, handle.value);
    // What handles a failure, and the steps behind it, would otherwise take an order that rests for one that was never placed.
    const name = (value: Value) => step.id === undefined || execution.frame.set(step.id, value);
    name(handle.value);
    try {
      await run.orderManager.reach(handle, findAwaited(step), on, step.await === undefined && endsAtOnce(step.args));
    } catch (error) {
      if (wasRefused(handle)) name(undefined);
      throw error;
    }
    return handle.value;
  },

  async protect(execution) {
    const { step, run } = execution;
    const value: Record<string, Value> = {};
    const name = () =>
      step.id === undefined || execution.frame.set(step.id, Object.keys(value).length === 0 ? undefined : value);
    for (const { leg, terms } of listPlacements(execution)) {
      const on = makeOrderContext(execution, terms.market);
      const handle = await placeOrder(execution, on, leg, terms);
      execution.touched.add(handle);
      value[leg] = handle.value;
      registerUndo(execution, handle, value);
      // As for place: a leg that works must not be taken for one that was never placed.
      name();
      try {
        await run.orderManager.reach(handle, findAwaited(step), on);
      } catch (error) {
        if (wasRefused(handle)) delete value[leg];
        name();
        throw error;
      }
    }
    return value;
  },

  manage,
  close,

  async amend(execution) {
    const { args, run } = execution;
    const handle = resolveOrder(execution, args.order);
    const price = execution.evaluate(args.price);
    const size = execution.evaluateGiven(args.size);
    await ensureBand(execution, handle.market_id);
    await run.orderManager.amend(handle, price, size, makeOrderContext(execution, handle.market_id));
    return handle.value;
  },

  async cancel(execution) {
    const { args, run } = execution;
    const { orderManager } = run;
    const target = findAwaited(execution.step);
    if (args.kind === 'order') {
      const handle = resolveOrder(execution, args.order);
      await orderManager.cancel(handle, target, makeOrderContext(execution, handle.market_id));
      return handle.value;
    }
    const handles =
      args.kind === 'mine'
        ? orderManager.listWorking(execution.evaluate(args.market)).map((order) => orderManager.handle(order))
        : execution.evaluate(args.ids).map((value) => asHandle(value) ?? findHandle(run, String(value)));
    for (const handle of handles) execution.touched.add(handle);
    await cancelSideBySide(execution.cancel, [...new Set(handles)], (handle) =>
      orderManager.cancel(handle, target, makeOrderContext(execution, handle.market_id)),
    );
    return undefined;
  },

  async cancel_all(execution) {
    const { orderManager } = execution.run;
    for (const order of orderManager.listWorking()) execution.touched.add(orderManager.handle(order));
    const left = await orderManager.cancelAll(makeOrderContext(execution, undefined));
    return { left: left.map((record) => toListed(execution, record)) };
  },

  async list_orders(execution) {
    const { rows, unread } = await readPages(execution, STEPS.list_orders.calls[0]);
    const orders = rows.map((record) => toListed(execution, record));
    return execution.args.skipUnread ? { orders, unread: new Decimal(unread) } : { orders };
  },

  async list_fills(execution) {
    const [ofAccount, ofOrder] = STEPS.list_fills.calls;
    const fills =
      execution.args.order === undefined
        ? (await readPages(execution, ofAccount)).rows
        : requireConfirmed(execution, await send(execution, ofOrder));
    return { fills: fills.map((fill) => hydrate(FILL, fill)) };
  },

  async refresh(execution) {
    const { args, run } = execution;
    if (args.kind === 'order') {
      const handle = resolveOrder(execution, args.order);
      await run.orderManager.refresh(handle, makeOrderContext(execution, handle.market_id));
      requireShown(execution, [handle]);
      return handle.value;
    }
    const orders = execution.evaluate(args.orders);
    const handles = new Set(orders.map((order) => resolveOrder(execution, args.orders, order)));
    await run.orderManager.refreshAll([...handles], makeOrderContext(execution, undefined));
    requireShown(execution, handles);
    return orders;
  },

  async arm_deadman(execution) {
    const [arm] = STEPS.arm_deadman.calls;
    const params = arm.params(execution.args, new RunValues(execution));
    execution.run.heartbeat.requireLong(params.timeout, execution.path);
    const record = await writeSwitch(execution, arm, params);
    const { market_id: market, timeout: timeoutMs } = params;
    const because = execution.step.verb;
    execution.run.log.append('deadman.moved', { event: 'armed', market, timeoutMs, because }, execution.path);
    return record === null ? undefined : toNamedValue(execution, hydrate(DEADMAN, record));
  },

  async read_deadman(execution) {
    const { clock, heartbeat } = execution.run;
    const [read] = STEPS.read_deadman.calls;
    const params = read.params(execution.args, new RunValues(execution));
    const askedAt = clock.now();
    const outcome = await call(execution, read.endpoint, params, { class: read.class });
    const record = requireConfirmed(execution, outcome);
    heartbeat.observeReading(params.market_id, outcome.sentAt ?? askedAt, record);
    return record === null ? undefined : toNamedValue(execution, hydrate(DEADMAN, record));
  },

  async disarm_deadman(execution) {
    const [disarm] = STEPS.disarm_deadman.calls;
    const params = disarm.params(execution.args, new RunValues(execution));
    await writeSwitch(execution, disarm, params);
    const because = execution.step.verb;
    execution.run.log.append('deadman.moved', { event: 'disarmed', market: params.market_id, because }, execution.path);
    return undefined;
  },

  async request(execution) {
    const { args, run, path, cancel } = execution;
    const params = Object.fromEntries(
      Object.entries(args.with).map(([name, expr]) => {
        const value = execution.evaluate(expr);
        return [name, Decimal.isDecimal(value) ? formatDecimal(value as Decimal) : String(value)];
      }),
    );
    const wanted = cancel.createWithdrawal();
    const outcome = await run.venue
      .request(args.name, params, run.callId(path), path, { wanted })
      .finally(() => wanted.end());
    if (wanted.reason !== undefined && outcome.kind === 'denied') leaveWithdrawn(cancel, wanted.reason);
    if (outcome.kind !== 'confirmed') {
      const kind =
        outcome.failure === 'cancelled' || outcome.failure === 'unknown_outcome' ? 'transport' : outcome.failure;
      throw new StepFailure(kind, outcome.message, path, outcome);
    }
    return outcome.result as Value;
  },
};

/**
 * Throws StepFailure where no reading has shown an order yet: it is not visible, and what it has filled is not known. What handles a
 * failure goes on without it: a way out must not wait.
 */
function requireShown({ frame, path }: StepExecution, handles: Iterable<OrderHandle>): void {
  if (frame.isHandler) return;
  for (const { own } of handles)
    if (own !== undefined && !isTerminal(own.snapshot.state) && !isShown(own.snapshot.context))
      throw new StepFailure('transport', `the venue does not show order ${getOrderName(own)} yet`, path);
}

/** Also under an unknown status, which confirms nothing: what it has filled is known. */
function isShown({ confirmedAt, unknownStatus }: OrderContext): boolean {
  return confirmedAt !== undefined || unknownStatus !== undefined;
}

/** Whether the venue rejected an order of ours: it was never there. */
function wasRefused({ own }: OrderHandle): boolean {
  return own?.snapshot.state === 'rejected' && isZeroDecimal(own.snapshot.context.filled);
}

/** Makes the calls of a step in sequence; its value is the record that the last one answered with. */
async function makeCalls(execution: StepExecution<VenueStep>): Promise<Value> {
  const { yields } = getStepRow(execution.step.verb);
  let value: Value;
  for (const { endpoint, class: klass, params } of bindCalls(execution.step, 'calls')) {
    const wants = params(new RunValues(execution)) as Params<EndpointName>;
    const once = () => call(execution, endpoint, wants, { class: klass });
    const isWrite = getEndpoint(endpoint).method !== 'GET';
    const result = requireConfirmed(execution, await (isWrite ? repeatUnanswered(execution, once) : once()));
    if (typeof yields === 'string') continue;
    const { answer } = CATALOGUE[endpoint];
    const record = answer.shape === 'list' ? requireOne(execution, result as unknown as readonly unknown[]) : result;
    value = toNamedValue(execution, hydrate(yields, record));
  }
  return value;
}

/** Writes about the deadman switch while no heartbeat is under way; gives what the venue confirms. */
async function writeSwitch<E extends EndpointName>(
  execution: StepExecution,
  { endpoint, class: klass }: Pick<CallRow<VenueStepName, E>, 'endpoint' | 'class'>,
  params: Params<E>,
) {
  const { run, cancel } = execution;
  const write = (limits: WriteLimits) => call(execution, endpoint, params, { class: klass, ...limits });
  return requireConfirmed(execution, await repeatUnanswered(execution, () => run.heartbeat.writeAlone(cancel, write)));
}

/** Makes one call of the step's row. */
function send<V extends VenueStepName, E extends EndpointName>(
  execution: StepExecution<StepOf<V>>,
  row: CallRow<V, E>,
  page?: number,
  rows?: VenueCall<E>['rows'],
): Promise<CallOutcome<E>> {
  const params = row.params(execution.args, new RunValues(execution as StepExecution, page));
  return call(execution as StepExecution, row.endpoint, params as Params<E>, { class: row.class, rows });
}

function call<E extends EndpointName>(
  { run, frame, path, cancel }: StepExecution,
  name: E,
  params: Params<E>,
  {
    class: klass,
    rows,
    answerMs,
    deadlineAt,
  }: Pick<VenueCall<E>, 'class'> & { rows?: VenueCall<E>['rows'] } & Partial<WriteLimits>,
): Promise<CallOutcome<E>> {
  const { venue, callId } = run;
  const limits = restrict(frame.globals.limits, cancel);
  const { method, protective } = getEndpoint(name);
  const wants: VenueCall<E> = {
    id: callId(path),
    step: path,
    endpoint: name,
    params,
    class: klass,
    ...(rows === undefined ? {} : { rows }),
    ...(answerMs === undefined ? {} : { answerMs }),
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
    ...(limits === undefined || method === 'GET' ? {} : { limits }),
  };
  if (protective) return venue.call(wants);
  return callWhileWanted(cancel, (wanted) => venue.call({ ...wants, wanted }));
}

/** Repeats an idempotent call while no answer comes (fault-matrix.md, row 64). */
async function repeatUnanswered<E extends EndpointName>(
  { run: { clock }, cancel }: StepExecution,
  once: () => Promise<CallOutcome<E>>,
): Promise<CallOutcome<E>> {
  let outcome = await once();
  for (const delay of REPEAT_DELAYS_MS.slice(0, -1)) {
    if (outcome.kind !== 'unresolved') break;
    await sleepUntil(clock, clock.now() + delay, cancel);
    outcome = await once();
  }
  return outcome;
}

function requireConfirmed<E extends EndpointName>({ path }: StepExecution, outcome: CallOutcome<E>): Result<E> {
  if (outcome.kind === 'confirmed') return outcome.result;
  throw toFailure(outcome, path);
}

/** The value of a record where the step has an id; without one no expression can refer to it. */
function toNamedValue({ step }: StepExecution, value: Value): Value {
  return step.id === undefined ? undefined : value;
}

function requireOne<T>({ path }: StepExecution, records: readonly T[]): T {
  const [record] = records;
  if (record === undefined) throw new StepFailure('transport', 'the venue confirmed and sent no record', path);
  return record;
}

/** What was read of a list. `unread`: number of its rows that cannot be read, none of which is of an order of this run. */
interface Read<E extends 'GET /orders' | 'GET /fills'> {
  readonly rows: Result<E>;
  readonly unread: number;
}

/**
 * Reads a list: one page, or with `all_pages` page by page until one is not full. A row that cannot be read fails it, because what
 * is added up must not lack one, unless the step says that the others are worth more.
 */
async function readPages<V extends 'list_orders' | 'list_fills', E extends 'GET /orders' | 'GET /fills'>(
  execution: StepExecution<StepOf<V>>,
  row: CallRow<V, E>,
): Promise<Read<E>> {
  const list = new Pages<OrderRecord | FillRecord>();
  const { allPages, sort } = execution.args;
  let unread = 0;
  for (let page = 0; ; page += 1) {
    const answer = await readPage(execution, row, allPages ? page : undefined);
    unread += answer.unread;
    if (!allPages) return answer;
    if (!list.take(answer.rows as readonly (OrderRecord | FillRecord)[], answer.unread)) break;
  }
  if (list.cut !== undefined) throw new StepFailure('transport', list.cut, execution.path);
  const rows = (sort === 'asc' ? list.rows : list.rows.toReversed()) as unknown as Result<E>;
  return { rows, unread };
}

async function readPage<V extends 'list_orders' | 'list_fills', E extends 'GET /orders' | 'GET /fills'>(
  execution: StepExecution<StepOf<V>>,
  row: CallRow<V, E>,
  page: number | undefined,
): Promise<Read<E>> {
  const { args } = execution;
  const isEach = 'skipUnread' in args && args.skipUnread;
  const outcome = await send(execution, row, page, isEach ? 'each' : undefined);
  const rows = requireConfirmed(execution, outcome);
  const unread = outcome.kind === 'confirmed' ? (outcome.unread ?? []) : [];
  const own = unread.find(({ clientOrderId }) => clientOrderId !== undefined);
  if (own !== undefined) throw new StepFailure('transport', own.why, execution.path);
  return { rows, unread: unread.length };
}
