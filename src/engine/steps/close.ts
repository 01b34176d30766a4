/**
 * Executes `close`: closes what the run holds in a market by the exit of exit.ts, and ends the orders of the run there. What fills
 * while they are cancelled is closed as well.
 */
import { type Decimal, decimal } from '../../base/decimal.ts';
import type { StepOf } from '../../runbook/checked.ts';
import { SLIP } from '../../runbook/steps/exit.ts';
import type { Value } from '../../runbook/values.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { isStop } from '../../venue/position/residual.ts';
import type { Side } from '../../venue/records.ts';
import { StepFailure } from '../interruption.ts';
import type { OrderHandle } from '../readings/handles.ts';
import { StepScope } from '../scope.ts';
import type { StepExecution } from './execution.ts';
import { EXIT_READING, endOrders, ensurePrice, hasEnded, MarketExit } from './exit.ts';

type Execution = StepExecution<StepOf<'close'>>;

/** What the step knows, kept from one attempt to the next. */
interface Kept {
  readonly orders: Set<OrderHandle>;
  placed: number;
  exits: number;
}

export async function close(execution: Execution): Promise<Value> {
  const { args, memory, path, run } = execution;
  const market = execution.evaluate(args.market);
  const slip = execution.evaluateGiven(args.slip) ?? SLIP;
  const kept = (memory.get('close') as Kept | undefined) ?? { orders: new Set(), placed: 0, exits: 0 };
  memory.set('close', kept);
  // Orders of branches beside it may arrive while it closes.
  const listOrders = () => {
    for (const order of run.orderManager.listWorking(market)) kept.orders.add(run.orderManager.handle(order));
    for (const handle of kept.orders) execution.touched.add(handle);
    return [...kept.orders];
  };
  const getSize = () => run.positions.getHeld(market);
  for (;;) {
    const size = getSize();
    if (size.isZero()) {
      await endOrders(execution, listOrders(), { cancel: execution.cancel });
      // An order that was refused in unknown words may open a position yet.
      const found = await run.orderManager.claimRefused((terms) => terms.market === market, execution.cancel);
      // So may one whose record is older than what it filled.
      const ended = found.length === 0 ? await run.orderManager.readEnded(market, path) : [];
      for (const handle of [...found, ...ended]) kept.orders.add(handle);
      if (found.length + ended.length === 0 && getSize().isZero()) return undefined;
      continue;
    }
    const side = size.isNegative() ? 'long' : 'short';
    const exit = new MarketExit(execution, {
      market,
      side,
      slip,
      kept,
      listOrders,
      listStops: () =>
        listCovering(
          listOrders().filter((handle) => handle.side === side && !hasEnded(handle)),
          side,
        ),
      readPrice: () => readPrice(execution, market),
      notePlaced: (handle) => kept.orders.add(handle),
    });
    await exit.run();
  }
}

/**
 * The stops that are put back where the exit fails: the newest that covers the whole position, else all of them, the one with the
 * closest trigger first.
 */
export function listCovering(working: readonly OrderHandle[], side: Side): readonly OrderHandle[] {
  const stops = working.filter(({ own }) => own !== undefined && isStop(own.intent.type)).reverse();
  const whole = stops.find(
    ({ own }) => own !== undefined && isPositionStop(own.intent) && decimal(own.intent.size).eq(1),
  );
  if (whole !== undefined) return [whole];
  const getTrigger = ({ own }: OrderHandle) => decimal(own?.intent.trigger ?? '0');
  return stops.sort((a, b) => getTrigger(a).cmp(getTrigger(b)) * (side === 'short' ? -1 : 1));
}

/**
 * The price that bounds the next market order. Where none can be read now, the last one that was, or the average entry: as a bound
 * an old price only makes the order less likely to fill, and a position must not stay open for a feed that is down.
 */
async function readPrice(execution: Execution, market: string): Promise<Decimal | undefined> {
  const { args, frame, run } = execution;
  if (args.feed === undefined) return undefined;
  const scope = () => new StepScope(frame, run.wall.now());
  try {
    await ensurePrice(execution, market, scope(), { need: EXIT_READING });
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
  }
  try {
    return execution.evaluate(args.feed, scope());
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    const { averageEntry } = run.positions.get(market);
    return averageEntry === undefined ? undefined : decimal(averageEntry);
  }
}
