/**
 * Steps about orders, between the runbook and the desk: the order that a step speaks of, the terms it gives, what it waits for,
 * and what taking it back means.
 */
import { type Decimal, decimal, decimalText } from '../../base/decimal.ts';
import type { AwaitTarget, ProtectLeg, StepOf } from '../../runbook/checked.ts';
import type { Duration, Expr, RecordValue, Value } from '../../runbook/values.ts';
import type { OrderRecord, Side } from '../../venue/records.ts';
import { Cancellation, StepFailure } from '../interruption.ts';
import { handleOf, OrderHandle } from '../orders/handles.ts';
import type { Desk, Terms } from '../orders/parts.ts';
import type { StepRun, Walker } from './walker.ts';

/** `wait_for: {order, is, within}`. */
export async function waitForOrder(
  walker: Walker,
  at: StepRun<StepOf<'wait_for'>>,
  args: {
    readonly order: Expr<RecordValue>;
    readonly is: Exclude<AwaitTarget, 'accepted'>;
    readonly within: Expr<Duration>;
  },
): Promise<Value> {
  const { clock, desk, keeper } = walker.run;
  const handle = orderOf(walker, at, args.order);
  const until = clock.now() + walker.evaluate(args.within, at.scope, at.path).ms;
  keeper.waitsUntil(at.path, until);
  const own = new Cancellation(at.cancel);
  const timer = clock.at(until, () =>
    own.cancel('timeout', `order ${handle.id} did not become ${args.is} within the time given`),
  );
  try {
    await desk.reach(handle, args.is, { ...deskOf(walker, at, handle.market_id), cancel: own });
    return undefined;
  } catch (error) {
    handle.touch();
    if (own.timedOut) throw new StepFailure('timeout', own.reason?.message ?? '', at.path);
    throw error;
  } finally {
    timer.cancel();
    own.close();
  }
}

export function legTerms(
  walker: Walker,
  at: StepRun,
  leg: ProtectLeg,
  position: { market: string; side: Side; type: 'stop_loss' | 'take_profit' },
): Terms {
  return {
    ...position,
    size: decimalText(walker.evaluate(leg.fraction, at.scope, at.path)),
    trigger: decimalText(walker.evaluate(leg.trigger, at.scope, at.path)),
    price: decimalText(walker.evaluate(leg.price, at.scope, at.path)),
    onAmbiguous: 'halt',
  };
}

/**
 * Before a place is tried again: an order of an earlier attempt that still rests is taken away first. One that has filled
 * makes another attempt a second position, so the step fails instead.
 */
export async function clearEarlier(walker: Walker, at: StepRun<StepOf<'place'>>, leg: string): Promise<void> {
  const placed = at.memory.get(`order:${leg}`) as { order?: Parameters<typeof walker.run.desk.handle>[0] } | undefined;
  const order = placed?.order;
  if (order === undefined || order.snapshot.state === 'draft') return;
  const handle = walker.run.desk.handle(order);
  await walker.run.desk.cancel(handle, 'terminal', deskOf(walker, at, order.intent.market));
  if (decimal(order.snapshot.context.filled).gt(0)) {
    throw new StepFailure(
      'rejected',
      `order ${handle.id} of an earlier attempt has filled ${order.snapshot.context.filled}; another would be a second position`,
      at.path,
    );
  }
}

/** What taking a placed order back means: its unfilled rest is cancelled, unless the runbook says otherwise. */
export function undoLater(
  walker: Walker,
  at: StepRun<StepOf<'place'>> | StepRun<StepOf<'protect'>>,
  handles: readonly OrderHandle[],
): void {
  const { undo } = at.step;
  if (undo === 'keep' || Array.isArray(undo) || at.step.verb === 'protect') return;
  walker.run.undos.push({
    path: `${at.path}/undo`,
    async run(cancel) {
      for (const handle of handles) {
        await walker.run.desk.cancel(handle, 'terminal', {
          step: `${at.path}/undo`,
          cancel,
          memory: new Map(),
          limits: undefined,
          reference: undefined,
        });
      }
    },
  });
}

export async function ensureBand(walker: Walker, at: StepRun): Promise<void> {
  await walker.run.feeds.ensure(at.frame.roots.bandFeeds, at.frame.roots.runbook.feeds, at.scope, at.path);
}

export function deskOf(walker: Walker, at: StepRun, market: string | undefined): Desk {
  const { roots } = at.frame;
  const path = at.attempt === 1 ? at.path : at.path.slice(0, at.path.lastIndexOf('~'));
  return {
    step: path,
    cancel: at.cancel,
    memory: at.memory,
    limits: roots.limits,
    reference: market === undefined ? undefined : referenceFor(walker, at, market),
  };
}

/** What the price band measures by. A price made of feeds is as old as the oldest of them; any other is what the author says it is. */
function referenceFor(walker: Walker, { frame, scope }: StepRun, market: string): Desk['reference'] {
  const { roots } = frame;
  const price = roots.reference(scope);
  if (price === undefined) return undefined;
  const at = walker.run.feeds.oldestAt(roots.bandFeeds, roots.runbook.feeds, scope, market);
  return { price: decimalText(price), at: at ?? walker.run.clock.now() };
}

export function orderOf(walker: Walker, at: StepRun, expr: Expr<RecordValue>): OrderHandle {
  const handle = handleOf(walker.evaluate(expr, at.scope, at.path));
  if (handle === undefined) throw new StepFailure('not_found', `${expr.text} is no order that this run knows`, at.path);
  return handle;
}

export function handleById(walker: Walker, id: string): OrderHandle {
  const own = walker.run.log.book
    .orders()
    .find((order) => order.snapshot.context.venueId === id || order.intent.clientOrderId === id);
  if (own !== undefined) return walker.run.desk.handle(own);
  return OrderHandle.ofRecord({
    id,
    client_order_id: '',
    market_id: id.split('@')[0] ?? '',
    order_type: '',
    side: 'long',
    price: '0',
    size: '0',
    initial_size: '0',
    total_filled_size: '0',
    status: 'open',
    reason: '',
    profile_id: 0,
    timestamp: walker.run.clock.now() * 1000,
    time_in_force: '',
  });
}

export function listed(record: OrderRecord, own: Parameters<typeof OrderHandle.ofOwn>[0] | undefined): RecordValue {
  return OrderHandle.ofRecord(record, own).value;
}

/** The id of an order, or an id that was written as such. */
export function orderIdOf(walker: Walker, at: StepRun, expr: Expr): string {
  const value = walker.evaluate(expr, at.scope, at.path);
  return handleOf(value)?.id ?? String(value);
}

export function given(
  name: 'price' | 'trigger',
  expr: Expr<Decimal> | undefined,
  walker: Walker,
  at: StepRun,
): { price?: string; trigger?: string } {
  return expr === undefined ? {} : { [name]: decimalText(walker.evaluate(expr, at.scope, at.path)) };
}
