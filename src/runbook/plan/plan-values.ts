/** Evaluates the arguments of a step for the requests of its row, with placeholders for what only the run will know. */
import { type Decimal, type DecimalString, formatDecimal, toCount } from '../../base/decimal.ts';
import type { OrderRef } from '../../venue/order/requests.ts';
import type { Values } from '../steps/row.ts';
import type { Duration, Expr, RecordValue, Time, Value } from '../values.ts';
import type { PlanScope } from './scope.ts';
import { Unknown } from './unknown.ts';

export class PlanValues implements Values<Unknown> {
  private readonly scope: PlanScope;
  /** The market of the orders that the step places. */
  private readonly market: string | Unknown;

  constructor(scope: PlanScope, market: string | Unknown = new Unknown('its market')) {
    this.scope = scope;
    this.market = market;
  }

  decimal(expr: Expr<Decimal>): DecimalString | Unknown {
    return this.scope.resolve(expr, formatDecimal);
  }
  whole(expr: Expr<Decimal>): number | Unknown {
    return this.scope.resolve(expr, toCount);
  }
  text(expr: Expr<string>): string | Unknown {
    return this.scope.resolve(expr, (value) => value);
  }
  duration(expr: Expr<Duration>): number | Unknown {
    return this.scope.resolve(expr, ({ ms }) => ms);
  }
  time(expr: Expr<Time>): number | Unknown {
    return this.scope.resolve(expr, ({ us }) => us);
  }
  order(expr: Expr): OrderRef<Unknown> {
    const id = `the id of ${expr.text}`;
    return { market: this.readField(expr, 'market_id'), clientOrderId: new Unknown(id), venueId: new Unknown(id) };
  }
  orderId(expr: Expr): string | Unknown {
    const value = this.scope.evaluateKnown(expr);
    return typeof value === 'string' ? value : new Unknown(`the id of ${expr.text}`);
  }
  each(market: Expr<string> | undefined, list?: Expr<readonly Value[]>): OrderRef<Unknown> {
    const id = new Unknown('the id of each order');
    const of = market === undefined ? this.findMarket(list) : this.text(market);
    return { market: of, clientOrderId: id, venueId: id };
  }
  placed(leg: string): OrderRef<Unknown> {
    const id = new Unknown(leg === '' ? 'the id of the order' : `the id of the ${leg} order`);
    return { market: this.market, clientOrderId: id, venueId: id };
  }
  since(): Unknown {
    return new Unknown('an hour before the order');
  }
  later(what: string): Unknown {
    return new Unknown(what);
  }
  page(): Unknown {
    return new Unknown('0, 1, 2, …');
  }

  /** The market of all orders of a list. */
  private findMarket(list: Expr<readonly Value[]> | undefined): string | Unknown {
    const markets =
      list && this.scope.readPresent(list, (items) => new Set(items.map((item) => readText(item, 'market_id'))));
    const [market, ...others] = markets ?? [];
    return market === undefined || others.length > 0 ? new Unknown('the market of each order') : market;
  }

  private readField(expr: Expr, name: string): string | Unknown {
    return this.scope.readPresent(expr, (value) => readText(value, name)) ?? new Unknown(`${expr.text}.${name}`);
  }
}

function readText(record: Value, name: string): string | undefined {
  const value = (record as RecordValue | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}
