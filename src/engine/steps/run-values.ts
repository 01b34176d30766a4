/** Evaluates the arguments of a step for the requests of its row: in a run every value is known. */
import { type Decimal, type DecimalString, formatDecimal } from '../../base/decimal.ts';
import type { Values } from '../../runbook/steps/row.ts';
import { bindCalls, type VenueStep } from '../../runbook/steps/steps.ts';
import type { Duration, Expr, Time } from '../../runbook/values.ts';
import type { OrderRef } from '../../venue/order/requests.ts';
import type { Terms } from '../readings/parts.ts';
import type { StepExecution } from './execution.ts';
import { resolveOrderId } from './order-steps.ts';

/** Throws StepFailure `assertion` where an expression cannot be evaluated. */
export class RunValues implements Values {
  private readonly execution: StepExecution;
  private readonly pageRead: number;

  constructor(execution: StepExecution, page = 0) {
    this.execution = execution;
    this.pageRead = page;
  }

  decimal(expr: Expr<Decimal>): DecimalString {
    return formatDecimal(this.execution.evaluate(expr));
  }
  whole(expr: Expr<Decimal>): number {
    return this.execution.evaluateCount(expr);
  }
  text(expr: Expr<string>): string {
    return this.execution.evaluate(expr);
  }
  duration(expr: Expr<Duration>): number {
    return this.execution.evaluate(expr).ms;
  }
  time(expr: Expr<Time>): number {
    return this.execution.evaluate(expr).us;
  }
  orderId(expr: Expr): string {
    return resolveOrderId(this.execution, expr);
  }
  page(): number {
    return this.pageRead;
  }
  // The order manager makes the requests about orders: it knows which of their ids the venue has given.
  order(): OrderRef {
    return refuse();
  }
  each(): OrderRef {
    return refuse();
  }
  placed(): OrderRef {
    return refuse();
  }
  later(): string {
    return refuse();
  }
  since(): number {
    return refuse();
  }
}

function refuse(): never {
  throw new Error('engine: a request about an order is made by the order manager');
}

/** The orders that a step places, by leg, with their terms; `begins`: of a step that works out further ones, those it begins with. */
export function* listPlacements(
  execution: StepExecution<VenueStep>,
  begins?: readonly string[],
): Generator<{ readonly leg: string; readonly terms: Terms }> {
  // Each is evaluated when it is sent: what an earlier one did may decide it.
  for (const { draft, leg = '' } of bindCalls(execution.step, 'calls')) {
    if (draft === undefined || begins?.includes(leg) === false) continue;
    const { market, side, type, size, price, trigger, timeInForce } = draft(new RunValues(execution));
    yield {
      leg,
      terms: {
        market,
        side,
        type,
        size,
        ...(price === undefined ? {} : { price }),
        ...(trigger === undefined ? {} : { trigger }),
        ...(timeInForce === undefined ? {} : { timeInForce }),
        onAmbiguous: 'halt',
      },
    };
  }
}
