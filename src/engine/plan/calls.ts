/**
 * Plans the steps that call the venue: their requests with exact parameters, and the value each step would yield as far as that
 * is known before the run.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import { formatCount } from '../../base/format.ts';
import type { PlaceStep, StepOf } from '../../runbook/checked.ts';
import { ACCOUNT, FILL } from '../../runbook/functions/records.ts';
import type { VenueStep } from '../../runbook/steps/steps.ts';
import type { Expr, RecordValue, Value } from '../../runbook/values.ts';
import { notionalOf } from '../../venue/limits/check.ts';
import type { Side } from '../../venue/records.ts';
import { hydrate } from '../hydrate.ts';
import type { PlannedSwitches } from './deadman.ts';
import type { PlannedWrite } from './limits.ts';
import type { PlanRows } from './rows.ts';
import { isOpen, KNOWN_AFTER_RUN, makePlannedOrder, type PlanContext, type PlanScope } from './scope.ts';

/** The value of a step, where only the run will know it. */
export const UNKNOWN = Symbol('not known');
export type Planned = Value | typeof UNKNOWN;

export class PlannedCalls {
  private readonly rows: PlanRows;
  private readonly switches: PlannedSwitches;
  private readonly read: PlanContext['read'];

  constructor(rows: PlanRows, switches: PlannedSwitches, read: PlanContext['read']) {
    this.rows = rows;
    this.switches = switches;
    this.read = read;
  }

  /** Lists the requests of a step. */
  plan(step: VenueStep, scope: PlanScope, path: string): Planned {
    const { rows } = this;
    switch (step.verb) {
      case 'place':
        return this.planPlace(step, scope, path);
      case 'protect':
        return this.planProtect(step, scope, path);
      case 'amend':
        rows.addRequest(
          path,
          'PUT /orders',
          {
            order_id: describeOrderId(step.args.order),
            price: scope.formatNumber(step.args.price),
            ...(step.args.size === undefined ? {} : { size: scope.formatNumber(step.args.size) }),
          },
          { order: findOrderBefore(step.args.order, scope) },
        );
        return UNKNOWN;
      case 'cancel':
        rows.addRequest(
          path,
          'DELETE /orders',
          step.args.kind === 'order' ? { order_id: describeOrderId(step.args.order) } : { order_id: KNOWN_AFTER_RUN },
          {
            ...(step.args.kind === 'mine'
              ? { times: `for each order of this run in ${scope.text(step.args.market)}` }
              : {}),
            ...(step.args.kind === 'ids' ? { times: 'for each order of the list' } : {}),
          },
        );
        return UNKNOWN;
      case 'cancel_all':
        rows.addRequest(path, 'DELETE /orders/cancel_all', {});
        return undefined;
      case 'set_leverage': {
        const market = scope.text(step.args.market);
        const leverage = scope.formatNumber(step.args.leverage);
        const before = this.findLeverage(market);
        rows.addRequest(
          path,
          'PUT /account/leverage',
          { market_id: market, leverage },
          before === undefined ? {} : { limits: `${before} -> ${leverage}` },
        );
        return UNKNOWN;
      }
      case 'read_account':
        return this.planAccount(path);
      case 'read_tier':
        rows.addRequest(path, 'GET /profile', {});
        return UNKNOWN;
      case 'list_orders':
        rows.addRequest(path, 'GET /orders', makeListParams(step, scope), describePages(step));
        return UNKNOWN;
      case 'list_fills':
        return this.planFills(step, scope, path);
      case 'refresh':
        rows.addRequest(path, 'GET /orders', { order_id: describeOrderId(step.args.order) });
        return UNKNOWN;
      case 'arm_deadman': {
        const timeout = scope.evaluateKnown(step.args.timeout);
        rows.addRequest(path, 'POST /cancel_all_after', {
          market_id: scope.text(step.args.market),
          timeout: timeout === undefined ? KNOWN_AFTER_RUN : String(timeout.ms),
        });
        return UNKNOWN;
      }
      case 'read_deadman':
        rows.addRequest(path, 'GET /cancel_all_after', { market_id: scope.text(step.args.market) });
        return UNKNOWN;
      case 'disarm_deadman':
        rows.addRequest(path, 'DELETE /cancel_all_after', { market_id: scope.text(step.args.market) });
        return undefined;
      case 'refresh_session':
        rows.addRequest(path, 'POST /jwt', { is_client: 'true', refresh_token: '[redacted]' });
        return undefined;
      case 'request':
        rows.addNote(path, `request ${step.args.name} of the profile`);
        return UNKNOWN;
      default:
        return step satisfies never;
    }
  }

  private planPlace(step: PlaceStep, scope: PlanScope, path: string): Value {
    const { args } = step;
    this.switches.beforeOrder();
    const params = {
      market_id: scope.text(args.market),
      side: scope.text(args.side),
      size: scope.formatNumber(args.size),
      type: args.type,
      ...(args.price === undefined ? {} : { price: scope.formatNumber(args.price) }),
      ...(args.trigger === undefined ? {} : { trigger_price: scope.formatNumber(args.trigger) }),
      client_order_id: KNOWN_AFTER_RUN,
      time_in_force: args.tif,
    };
    const undo =
      step.undo === 'keep'
        ? 'none'
        : Array.isArray(step.undo)
          ? formatCount(step.undo.length, 'step')
          : 'DELETE /orders';
    const notional = this.computeNotional(params);
    const { maxOrderNotional } = this.rows.bounds.rules;
    const maximum = maxOrderNotional === undefined ? '' : `/${formatDecimal(decimal(maxOrderNotional))}`;
    this.rows.addRequest(path, 'POST /orders', params, {
      undo,
      allow: step.allow,
      ...(notional === undefined ? {} : { limits: `notional ${notional}${maximum}` }),
    });
    return makePlannedOrder(params);
  }

  /** The notional as the limits would measure it; for a short without a known market price, the least it can be. */
  private computeNotional(params: Readonly<Record<string, string | undefined>>): string | undefined {
    const { market_id: market = '', side, size = '', type = '', price, trigger_price: trigger } = params;
    if ([side, size, price, trigger].includes(KNOWN_AFTER_RUN)) return undefined;
    const { rules, reference } = this.rows.bounds;
    const around = reference();
    return notionalOf(
      { market, side: side as Side, size, type, price, trigger },
      { reference: around === 'open' ? price : around, within: rules.priceBandWithin, last: price },
    );
  }

  private planProtect(step: StepOf<'protect'>, scope: PlanScope, path: string): Value {
    const { args } = step;
    const value: Record<string, Value> = {};
    for (const [type, leg] of [['stop_loss', args.stopLoss] as const, ['take_profit', args.takeProfit] as const]) {
      if (leg === undefined) continue;
      this.switches.beforeOrder();
      const params = {
        market_id: scope.text(args.market),
        side: scope.text(args.side),
        size: scope.formatNumber(leg.fraction),
        type,
        trigger_price: scope.formatNumber(leg.trigger),
        price: scope.formatNumber(leg.price),
        client_order_id: KNOWN_AFTER_RUN,
      };
      this.rows.addRequest(path, 'POST /orders', params);
      value[type] = makePlannedOrder(params);
    }
    return value;
  }

  private planAccount(path: string): Planned {
    this.rows.addRequest(path, 'GET /account', {});
    const [record] = (this.read('GET /account') as readonly unknown[] | undefined) ?? [];
    return record === undefined ? UNKNOWN : hydrate(ACCOUNT, record);
  }

  private findLeverage(market: string): string | undefined {
    const [record] =
      (this.read('GET /account') as readonly { readonly leverage?: Readonly<Record<string, string>> }[] | undefined) ??
      [];
    return record?.leverage?.[market];
  }

  private planFills(step: StepOf<'list_fills'>, scope: PlanScope, path: string): Planned {
    if (step.args.order !== undefined) {
      this.rows.addRequest(path, 'GET /fills/order', { order_id: resolveOrderId(step.args.order, scope) });
      return UNKNOWN;
    }
    this.rows.addRequest(path, 'GET /fills', makeListParams(step, scope), describePages(step));
    const records = this.read('GET /fills') as readonly unknown[] | undefined;
    return records === undefined ? UNKNOWN : { fills: records.map((record) => hydrate(FILL, record)) };
  }
}

type Listing = StepOf<'list_orders'> | StepOf<'list_fills'>;

function makeListParams(step: Listing, scope: PlanScope): Readonly<Record<string, string>> {
  const { market, order, since, until, limit, page, sort, allPages } = step.args;
  const { status, clientOrderId } = step.verb === 'list_orders' ? step.args : {};
  return {
    ...(status === undefined ? {} : { status: scope.text(status) }),
    ...(order === undefined ? {} : { order_id: resolveOrderId(order, scope) }),
    ...(clientOrderId === undefined ? {} : { client_order_id: scope.text(clientOrderId) }),
    ...(market === undefined ? {} : { market_id: scope.text(market) }),
    ...(since === undefined ? {} : { start_time: since.text }),
    ...(until === undefined ? {} : { end_time: until.text }),
    ...(limit === undefined || allPages ? {} : { p_limit: scope.formatNumber(limit) }),
    ...(page === undefined || allPages ? {} : { p_page: scope.formatNumber(page) }),
    ...(sort === undefined || allPages ? {} : { p_order: sort === 'asc' ? 'ASC' : 'DESC' }),
  };
}

function describePages({ args }: Listing): { readonly times?: string } {
  return args.allPages ? { times: 'for each page' } : {};
}

/** The order of an amend, as far as the plan has placed it. */
function findOrderBefore(expr: Expr<RecordValue>, scope: PlanScope): PlannedWrite['order'] {
  const order = scope.evaluateKnown(expr);
  if (order === undefined) return undefined;
  const field = (name: string): string => {
    try {
      const value = order[name];
      return value === undefined ? KNOWN_AFTER_RUN : value instanceof Decimal ? formatDecimal(value) : String(value);
    } catch (error) {
      if (isOpen(error)) return KNOWN_AFTER_RUN;
      throw error;
    }
  };
  const [market_id, side, size, price] = ['market_id', 'side', 'size', 'price'].map(field);
  return { market_id, side, size, price, type: field('order_type') };
}

function describeOrderId(expr: Expr): string {
  return `<${expr.text}.id>`;
}

/** The id of an order; a text is taken as an id. */
function resolveOrderId(expr: Expr, scope: PlanScope): string {
  const value = expr.type.kind === 'text' ? scope.evaluateKnown(expr) : undefined;
  return typeof value === 'string' ? value : expr.type.kind === 'text' ? KNOWN_AFTER_RUN : describeOrderId(expr);
}
