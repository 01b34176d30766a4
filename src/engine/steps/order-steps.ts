/**
 * Helps the steps about orders: finds the order that a step names, evaluates its terms, waits for its state, and registers its
 * undo.
 */
import { Decimal, formatDecimal } from '../../base/decimal.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { AwaitTarget, StepOf } from '../../runbook/checked.ts';
import { findUndo } from '../../runbook/steps/steps.ts';
import { type Duration, EvaluationFailure, type Expr, type RecordValue, type Value } from '../../runbook/values.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { isZeroDecimal } from '../../venue/order/fills.ts';
import { getExposure } from '../../venue/order/life.ts';
import type { FeedNeed } from '../../venue/port.ts';
import { isStop } from '../../venue/position/residual.ts';
import { makeRecord, type OrderRecord } from '../../venue/records.ts';
import type { RunContext, Undo } from '../context.ts';
import { awaitEach, Cancellation, InternalFailure, StepFailure, toInterruption } from '../interruption.ts';
import type { OrderManager } from '../orders/orders.ts';
import { asHandle, OrderHandle } from '../readings/handles.ts';
import { makeInternalRequest, type OrderRequestContext, type Terms } from '../readings/parts.ts';
import type { RunbookGlobals } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import type { StepExecution } from './execution.ts';

/** `wait_for: {order, is, within}`. */
export async function waitForOrder(
  execution: StepExecution<StepOf<'wait_for'>>,
  args: {
    readonly order: Expr<RecordValue>;
    readonly is: Exclude<AwaitTarget, 'accepted'>;
    readonly within: Expr<Duration>;
  },
): Promise<Value> {
  const { orderManager } = execution.run;
  const handle = resolveOrder(execution, args.order);
  // Its name is that of the order, also where the wait times out.
  if (execution.step.id !== undefined) execution.frame.set(execution.step.id, handle.value);
  const late = `order ${handle.id} did not become ${args.is} within the time given`;
  await waitWithin(execution, args.within, late, (cancel) =>
    orderManager.reach(handle, args.is, { ...makeOrderContext(execution, handle.market_id), cancel }),
  );
  return handle.value;
}

/** `wait_for: {any, is, within}`: the first order of the list that is there, with its place. */
export async function waitForFirst(
  execution: StepExecution<StepOf<'wait_for'>>,
  args: Extract<StepOf<'wait_for'>['args'], { kind: 'any' }>,
): Promise<Value> {
  const { orderManager } = execution.run;
  const handles = resolveOrders(execution, args.any);
  const late = `none of ${handles.length} orders became ${args.is} within the time given`;
  const which = await waitWithin(execution, args.within, late, (cancel) =>
    orderManager.reachAny(handles, args.is, { ...makeOrderContext(execution, undefined), cancel }),
  );
  return { which: new Decimal(which), order: handles[which]?.value };
}

/** Does something that waits for orders, for as long as a wait may take; then it fails as a timeout, in these words. */
async function waitWithin<T>(
  execution: StepExecution,
  within: Expr<Duration>,
  late: string,
  wait: (cancel: Cancellation) => Promise<T>,
): Promise<T> {
  const { clock, heartbeat } = execution.run;
  const withinMs = execution.evaluate(within).ms;
  const until = clock.now() + withinMs;
  execution.windowMs = Math.min(execution.windowMs, withinMs);
  heartbeat.markWaiting(execution.path, until);
  const own = new Cancellation(execution.cancel);
  const timer = clock.at(until, () => own.cancel('timeout', late));
  try {
    return await wait(own);
  } catch (error) {
    if (own.timedOut) throw new StepFailure('timeout', own.reason?.message ?? '', execution.path);
    throw error;
  } finally {
    timer.cancel();
    own.close();
  }
}

/**
 * Cancels the order of an earlier attempt before `place` is tried again. Only where it is proven to have filled nothing another is
 * placed: by its record and by its fills, the larger counts. Else a second order would be a second position, so the step fails.
 */
export async function clearEarlier(execution: StepExecution<StepOf<'place'>>, leg: string): Promise<void> {
  const { orderManager } = execution.run;
  const placed = execution.memory.get(`order:${leg}`) as { readonly order?: TrackedOrder } | undefined;
  const order = placed?.order;
  if (order === undefined || order.snapshot.state === 'draft') return;
  // Refused in unknown words: the next attempt waits for it, and adopts it where it appears.
  if (orderManager.isRefusedOpen(order)) return;
  const handle = orderManager.handle(order);
  const { windowMs, cancel, path } = execution;
  await orderManager.cancel(handle, 'terminal', makeOrderContext(execution, order.intent.market));
  await orderManager.complete([handle], { step: path, windowMs, cancel });
  const { filled } = getExposure(order.snapshot);
  if (!isZeroDecimal(filled)) {
    throw new StepFailure(
      'rejected',
      `order ${handle.id} of an earlier attempt has filled ${filled}; another order would be a second position`,
      path,
    );
  }
  if (handle.incomplete !== undefined) throw new StepFailure('transport', handle.incomplete, path);
}

/** How long an order is waited for that the rate of orders denies, and how often it is tried, ms: the window of the rate is a minute. */
const RATE_PATIENCE_MS = 65_000;
const RATE_EVERY_MS = 5000;

/** Waits for orders that only the rate of orders denies, from the first of them on. */
export class RateWait {
  private readonly execution: StepExecution<StepOf<'place' | 'protect' | 'manage' | 'close'>>;
  private readonly until: number;

  constructor(execution: StepExecution<StepOf<'place' | 'protect' | 'manage' | 'close'>>) {
    this.execution = execution;
    this.until = execution.run.clock.now() + RATE_PATIENCE_MS;
  }

  /** Waits until an order that was denied is to be tried again; false where the denial has another reason, or the time is up. */
  async passes(denial: string | undefined, cancel: Cancellation): Promise<boolean> {
    const { path, run } = this.execution;
    const next = run.clock.now() + RATE_EVERY_MS;
    if (denial !== 'ORDER_RATE_EXCEEDED' || next > this.until) return false;
    run.heartbeat.markWaiting(path, next);
    await sleepUntil(run.clock, next, cancel);
    return true;
  }
}

/**
 * Places an order. A stop that reduces, or a target for a fraction of the position, waits where only too many were sent in the last
 * minute: what would be done instead, an order that closes the position at the market, is denied as long.
 */
export async function placeOrder(
  execution: StepExecution<StepOf<'place' | 'protect' | 'manage' | 'close'>>,
  at: OrderRequestContext,
  leg: string,
  terms: Terms,
): Promise<OrderHandle> {
  const closes = isPositionStop(terms) || (isStop(terms.type) && terms.allow === 'reduce');
  const wait = new RateWait(execution);
  for (;;) {
    try {
      return await placeOnce(execution, at, leg, terms);
    } catch (error) {
      const denial = error instanceof StepFailure ? error.code : undefined;
      if (!closes || !(await wait.passes(denial, at.cancel))) throw error;
    }
  }
}

/**
 * Where an internal error is thrown on the way, the order may exist all the same: its undo is registered then, because an order that
 * nothing cancels is the worse mistake.
 */
async function placeOnce(
  execution: StepExecution<StepOf<'place' | 'protect' | 'manage' | 'close'>>,
  at: OrderRequestContext,
  leg: string,
  terms: Terms,
): Promise<OrderHandle> {
  const { orderManager } = execution.run;
  try {
    return await orderManager.place(at, leg, terms);
  } catch (error) {
    if (toInterruption(error, at.step) instanceof InternalFailure) {
      for (const order of orderManager.listWorking(terms.market)) {
        if (order.step !== at.step) continue;
        const handle = orderManager.handle(order);
        registerUndo(execution, handle, handle.value);
      }
    }
    throw error;
  }
}

/**
 * Registers the undo of a placed order: the steps that `undo` gives, which see `value`, or a cancel of its unfilled rest. Where
 * nothing is written, an order that covers what the run has opened is left alone: without it the position would be bare.
 */
export function registerUndo(
  execution: StepExecution<StepOf<'place' | 'protect' | 'manage' | 'close'>>,
  handle: OrderHandle,
  value: Value,
): void {
  execution.registerUndo(value);
  if (findUndo(execution.step) !== 'cancel') return;
  const { run, path, step } = execution;
  run.undos.push(makeOrderUndo(run.orderManager, handle, path, step.undo !== undefined));
}

/** The cancel of a placed order. A long run has one for each of its orders, so it holds nothing else. */
function makeOrderUndo(orderManager: OrderManager, handle: OrderHandle, placedBy: string, isLastWord: boolean): Undo {
  return async (cancel) => {
    const path = `${placedBy}/undo`;
    if (!isLastWord && handle.own !== undefined && orderManager.keepCovering(handle.own, path)) return;
    try {
      await orderManager.undo(handle, { ...makeInternalRequest(path, cancel), isLastWord });
    } finally {
      // Undoing goes on without the fills; they are read again when the run ends.
      await orderManager.complete([handle], { step: path, windowMs: 0, cancel });
    }
  };
}

export async function ensureBand(
  { run, frame, scope, path }: StepExecution,
  market: string,
  need?: FeedNeed,
): Promise<void> {
  const { names, only } = frame.globals.bandFeeds(market);
  await run.feeds.ensure(names, frame.globals.runbook.feeds, scope, { step: path, only, need });
}

export function makeOrderContext(execution: StepExecution, market: string | undefined): OrderRequestContext {
  const { globals, isLastWord } = execution.frame;
  const path = execution.attempt === 1 ? execution.path : execution.path.slice(0, execution.path.lastIndexOf('~'));
  return {
    step: path,
    cancel: execution.cancel,
    memory: execution.memory,
    limits: globals.limits,
    reference: market === undefined ? undefined : findReference(execution, market),
    isLastWord,
  };
}

/** The reference of the price band. A price computed from feeds is as old as the oldest of them; any other is taken as current. */
function findReference({ run, frame, scope }: StepExecution, market: string): OrderRequestContext['reference'] {
  const { globals } = frame;
  const price = evaluateReference(globals.reference, market, scope);
  if (price === undefined) return undefined;
  const { names, only = market } = globals.bandFeeds(market);
  const at = run.feeds.findOldestAt(names, globals.runbook.feeds, scope, only);
  return { price: formatDecimal(price), at: at ?? run.clock.now() };
}

/** Without a value of its feeds there is no reference: the limits deny what needs one, and let a cancel pass. */
function evaluateReference(
  reference: RunbookGlobals['reference'],
  market: string,
  scope: StepExecution['scope'],
): Decimal | undefined {
  try {
    return reference(market, scope);
  } catch (error) {
    if (error instanceof EvaluationFailure) return undefined;
    throw error;
  }
}

export function resolveOrder(execution: StepExecution, expr: Expr, value = execution.evaluate(expr)): OrderHandle {
  const handle = asHandle(value);
  if (handle === undefined)
    throw new StepFailure('not_found', `${expr.text} is not an order that this run knows`, execution.path);
  execution.touched.add(handle);
  return handle;
}

/** The orders of a list. Throws StepFailure where it has none, or where one is not an order that this run knows. */
function resolveOrders(execution: StepExecution, expr: Expr<readonly RecordValue[]>): readonly OrderHandle[] {
  const orders = execution.evaluate(expr);
  if (orders.length === 0) throw new StepFailure('not_found', `${expr.text} is an empty list`, execution.path);
  return orders.map((order) => resolveOrder(execution, expr, order));
}

export function findHandle(run: RunContext, id: string): OrderHandle {
  const { tracker } = run.log;
  const own = tracker.byId(id) ?? tracker.get(id);
  if (own !== undefined) return run.orderManager.handle(own);
  const [market = ''] = id.split('@');
  const timestamp = run.clock.now() * 1000;
  return OrderHandle.ofRecord(makeRecord('order', { id, market_id: market, status: 'open', timestamp }));
}

/**
 * An order that a list showed. One of this run is as the run knows it, and is completed like every order that a step hands out. It is
 * known by the id of the venue, which may drop ours: a second order under ours is another one, and can be cancelled as such.
 */
export function toListed({ run, touched }: StepExecution, record: OrderRecord): RecordValue {
  const { tracker } = run.log;
  const named = tracker.get(record.client_order_id);
  const own = tracker.byId(record.id) ?? (named?.snapshot.context.venueId === undefined ? named : undefined);
  if (own === undefined) return OrderHandle.ofRecord(record).value;
  const handle = OrderHandle.ofOwn(own);
  touched.add(handle);
  return handle.value;
}

/** The id of an order; a text is taken as an id. */
export function resolveOrderId(execution: StepExecution, expr: Expr): string {
  const value = execution.evaluate(expr);
  return asHandle(value)?.id ?? String(value);
}

/**
 * Cancels orders side by side: one that does not end must not keep the others working. Throws the first failure when all are done, a
 * Halt before any other.
 */
export async function cancelSideBySide(
  scope: Cancellation,
  handles: readonly OrderHandle[],
  cancel: (handle: OrderHandle) => Promise<void>,
): Promise<void> {
  try {
    await awaitEach(handles.map(cancel));
  } finally {
    scope.check();
  }
}
