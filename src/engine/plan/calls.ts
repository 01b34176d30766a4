/**
 * What the verbs that call the venue would send: one request or several for each step, with its exact parameters, and the
 * value the step would yield as far as that is known before the run.
 */
import { Decimal, decimal, decimalText } from '../../base/decimal.ts';
import { formatCount } from '../../base/format.ts';
import type { VenueVerb } from '../../runbook/check/arguments.ts';
import type { CheckedStep, PlaceStep, StepOf } from '../../runbook/checked.ts';
import { ACCOUNT, FILL } from '../../runbook/functions/records.ts';
import type { Expr, RecordValue, Value } from '../../runbook/values.ts';
import { notionalOf } from '../../venue/limits/check.ts';
import type { Side } from '../../venue/records.ts';
import { hydrate } from '../hydrate.ts';
import type { PlannedSwitches } from './deadman.ts';
import type { PlannedWrite } from './limits.ts';
import type { PlanRows } from './rows.ts';
import { isOpen, KNOWN_AFTER_RUN, type PlanContext, type PlanScope, plannedOrder } from './scope.ts';

/** What a step yields, where only the run will know. */
export const UNKNOWN = Symbol('not known');
export type Planned = Value | typeof UNKNOWN;

/** A step that calls the venue. */
export type VenueStep = Extract<CheckedStep, { verb: VenueVerb }>;

export class PlannedCalls {
  private readonly rows: PlanRows;
  private readonly switches: PlannedSwitches;
  private readonly read: PlanContext['read'];

  constructor(rows: PlanRows, switches: PlannedSwitches, read: PlanContext['read']) {
    this.rows = rows;
    this.switches = switches;
    this.read = read;
  }

  /** Lists the requests of a step; `at` is its path. */
  call(step: VenueStep, scope: PlanScope, at: string): Planned {
    const { rows } = this;
    switch (step.verb) {
      case 'place':
        return this.placement(step, scope, at);
      case 'protect':
        return this.protection(step, scope, at);
      case 'amend':
        rows.request(
          at,
          'PUT /orders',
          {
            order_id: orderId(step.args.order),
            price: scope.number(step.args.price),
            ...(step.args.size === undefined ? {} : { size: scope.number(step.args.size) }),
          },
          { order: orderBefore(step.args.order, scope) },
        );
        return UNKNOWN;
      case 'cancel':
        rows.request(
          at,
          'DELETE /orders',
          step.args.kind === 'order' ? { order_id: orderId(step.args.order) } : { order_id: KNOWN_AFTER_RUN },
          {
            ...(step.args.kind === 'mine'
              ? { times: `for each order of this run in ${scope.text(step.args.market)}` }
              : {}),
            ...(step.args.kind === 'ids' ? { times: 'for each order of the list' } : {}),
          },
        );
        return UNKNOWN;
      case 'cancel_all':
        rows.request(at, 'DELETE /orders/cancel_all', {});
        return undefined;
      case 'set_leverage': {
        const market = scope.text(step.args.market);
        const leverage = scope.number(step.args.leverage);
        const before = this.leverageBefore(market);
        rows.request(
          at,
          'PUT /account/leverage',
          { market_id: market, leverage },
          before === undefined ? {} : { limits: `${before} -> ${leverage}` },
        );
        return UNKNOWN;
      }
      case 'read_account':
        return this.account(at);
      case 'read_tier':
        rows.request(at, 'GET /profile', {});
        return UNKNOWN;
      case 'list_orders':
        rows.request(at, 'GET /orders', listParams(step, scope), ofPages(step));
        return UNKNOWN;
      case 'list_fills':
        return this.fills(step, scope, at);
      case 'refresh':
        rows.request(at, 'GET /orders', { order_id: orderId(step.args.order) });
        return UNKNOWN;
      case 'arm_deadman': {
        const timeout = scope.known(step.args.timeout);
        rows.request(at, 'POST /cancel_all_after', {
          market_id: scope.text(step.args.market),
          timeout: timeout === undefined ? KNOWN_AFTER_RUN : String(timeout.ms),
        });
        return UNKNOWN;
      }
      case 'read_deadman':
        rows.request(at, 'GET /cancel_all_after', { market_id: scope.text(step.args.market) });
        return UNKNOWN;
      case 'disarm_deadman':
        rows.request(at, 'DELETE /cancel_all_after', { market_id: scope.text(step.args.market) });
        return undefined;
      case 'refresh_session':
        rows.request(at, 'POST /jwt', { is_client: 'true', refresh_token: '[redacted]' });
        return undefined;
      case 'request':
        rows.note(at, `request ${step.args.name} of the profile`);
        return UNKNOWN;
      default:
        return step satisfies never;
    }
  }

  private placement(step: PlaceStep, scope: PlanScope, at: string): Value {
    const { args } = step;
    this.switches.beforeOrder();
    const params = {
      market_id: scope.text(args.market),
      side: scope.text(args.side),
      size: scope.number(args.size),
      type: args.type,
      ...(args.price === undefined ? {} : { price: scope.number(args.price) }),
      ...(args.trigger === undefined ? {} : { trigger_price: scope.number(args.trigger) }),
      client_order_id: KNOWN_AFTER_RUN,
      time_in_force: args.tif,
    };
    const undo =
      step.undo === 'keep'
        ? 'none'
        : Array.isArray(step.undo)
          ? formatCount(step.undo.length, 'step')
          : 'DELETE /orders';
    const notional = this.notionalOf(params);
    const { maxOrderNotional } = this.rows.bounds.rules;
    const most = maxOrderNotional === undefined ? '' : `/${decimalText(decimal(maxOrderNotional))}`;
    this.rows.request(at, 'POST /orders', params, {
      undo,
      allow: step.allow,
      ...(notional === undefined ? {} : { limits: `notional ${notional}${most}` }),
    });
    return plannedOrder(params);
  }

  /** As the limits would measure it; of a short of which nothing says where the market will stand, what it comes to at least. */
  private notionalOf(params: Readonly<Record<string, string | undefined>>): string | undefined {
    const { market_id: market = '', side, size = '', type = '', price, trigger_price: trigger } = params;
    if ([side, size, price, trigger].includes(KNOWN_AFTER_RUN)) return undefined;
    const { rules, reference } = this.rows.bounds;
    const around = reference();
    return notionalOf(
      { market, side: side as Side, size, type, price, trigger },
      { reference: around === 'open' ? price : around, within: rules.priceBandWithin, last: price },
    );
  }

  private protection(step: StepOf<'protect'>, scope: PlanScope, at: string): Value {
    const { args } = step;
    const value: Record<string, Value> = {};
    for (const [type, leg] of [['stop_loss', args.stopLoss] as const, ['take_profit', args.takeProfit] as const]) {
      if (leg === undefined) continue;
      this.switches.beforeOrder();
      const params = {
        market_id: scope.text(args.market),
        side: scope.text(args.side),
        size: scope.number(leg.fraction),
        type,
        trigger_price: scope.number(leg.trigger),
        price: scope.number(leg.price),
        client_order_id: KNOWN_AFTER_RUN,
      };
      this.rows.request(at, 'POST /orders', params);
      value[type] = plannedOrder(params);
    }
    return value;
  }

  private account(at: string): Planned {
    this.rows.request(at, 'GET /account', {});
    const [record] = (this.read('GET /account') as readonly unknown[] | undefined) ?? [];
    return record === undefined ? UNKNOWN : hydrate(ACCOUNT, record);
  }

  private leverageBefore(market: string): string | undefined {
    const [record] =
      (this.read('GET /account') as readonly { readonly leverage?: Readonly<Record<string, string>> }[] | undefined) ??
      [];
    return record?.leverage?.[market];
  }

  private fills(step: StepOf<'list_fills'>, scope: PlanScope, at: string): Planned {
    if (step.args.order !== undefined) {
      this.rows.request(at, 'GET /fills/order', { order_id: orderIdOf(step.args.order, scope) });
      return UNKNOWN;
    }
    this.rows.request(at, 'GET /fills', listParams(step, scope), ofPages(step));
    const records = this.read('GET /fills') as readonly unknown[] | undefined;
    return records === undefined ? UNKNOWN : { fills: records.map((record) => hydrate(FILL, record)) };
  }
}

type Listing = StepOf<'list_orders'> | StepOf<'list_fills'>;

function listParams(step: Listing, scope: PlanScope): Readonly<Record<string, string>> {
  const { market, order, since, until, limit, page, sort, allPages } = step.args;
  const { status, clientOrderId } = step.verb === 'list_orders' ? step.args : {};
  return {
    ...(status === undefined ? {} : { status: scope.text(status) }),
    ...(order === undefined ? {} : { order_id: orderIdOf(order, scope) }),
    ...(clientOrderId === undefined ? {} : { client_order_id: scope.text(clientOrderId) }),
    ...(market === undefined ? {} : { market_id: scope.text(market) }),
    ...(since === undefined ? {} : { start_time: since.text }),
    ...(until === undefined ? {} : { end_time: until.text }),
    ...(limit === undefined || allPages ? {} : { p_limit: scope.number(limit) }),
    ...(page === undefined || allPages ? {} : { p_page: scope.number(page) }),
    ...(sort === undefined || allPages ? {} : { p_order: sort === 'asc' ? 'ASC' : 'DESC' }),
  };
}

function ofPages({ args }: Listing): { readonly times?: string } {
  return args.allPages ? { times: 'for each page' } : {};
}

/** What an amend knows of its order: what the plan has placed. */
function orderBefore(expr: Expr<RecordValue>, scope: PlanScope): PlannedWrite['order'] {
  const order = scope.known(expr);
  if (order === undefined) return undefined;
  const field = (name: string): string => {
    try {
      const value = order[name];
      return value === undefined ? KNOWN_AFTER_RUN : value instanceof Decimal ? decimalText(value) : String(value);
    } catch (error) {
      if (isOpen(error)) return KNOWN_AFTER_RUN;
      throw error;
    }
  };
  const [market_id, side, size, price] = ['market_id', 'side', 'size', 'price'].map(field);
  return { market_id, side, size, price, type: field('order_type') };
}

function orderId(expr: Expr): string {
  return `<${expr.text}.id>`;
}

/** Of an order, or an id as it stands. */
function orderIdOf(expr: Expr, scope: PlanScope): string {
  const value = expr.type.kind === 'text' ? scope.known(expr) : undefined;
  return typeof value === 'string' ? value : expr.type.kind === 'text' ? KNOWN_AFTER_RUN : orderId(expr);
}
