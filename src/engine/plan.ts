/**
 * What a run would send, without sending anything: the runbook walked with values where they are known and
 * "(known after run)" where they are not. Every write is listed with its exact parameters, its tokens, the limit it uses,
 * whether the limits would deny it, and how it would be undone. Branches that only a failure takes (catch, on_timeout, on_error) are not walked.
 */
import { createHash } from 'node:crypto';
import { Decimal, decimal, decimalText } from '../base/decimal.ts';
import { canonicalJson } from '../base/json.ts';
import type { CheckedRunbook, CheckedStep, DeadmanDeclaration, PlaceStep, StepOf } from '../runbook/checked.ts';
import { ACCOUNT, FILL } from '../runbook/language-records.ts';
import { type Expr, type RecordValue, type Value, valueJson } from '../runbook/values.ts';
import { type EndpointName, endpoint } from '../venue/catalogue.ts';
import { type LimitRules, tighter } from '../venue/limits.ts';
import { hydrate } from './hydrate.ts';
import { PlanLimits, type PlannedDenial, type PlannedWrite } from './plan-limits.ts';
import { isOpen, KNOWN_AFTER_RUN, lazyRecord, type PlanContext, PlanScope, plannedOrder } from './plan-scope.ts';
import { ruleValues } from './roots.ts';
import { POLL_MS } from './watch.ts';

/** One line of a plan. Requests are numbered among themselves by whoever prints them. */
export type PlanRow =
  | {
      readonly kind: 'request';
      readonly step: string;
      readonly method: string;
      readonly path: string;
      /** Texts, and literals of numbers; `(known after run)` where only the run will tell. */
      readonly params: Readonly<Record<string, string>>;
      readonly tokens: number;
      /** Whether it happens on every way through, and what decides it otherwise. */
      readonly when?: string;
      readonly times?: string;
      readonly undo?: string;
      readonly limits?: string;
      /** What certainly would be denied here, so that nothing is sent: the limits of profile and runbook, ticks and lots. */
      readonly denied?: PlannedDenial;
    }
  | { readonly kind: 'note'; readonly step: string; readonly text: string; readonly when?: string };
export type PlannedRequest = Extract<PlanRow, { kind: 'request' }>;

export interface Plan {
  /** sha256 over definition, inputs, the profile's limits and rows, hex: what `run --plan` and an approver are bound to. */
  readonly hash: string;
  readonly rows: readonly PlanRow[];
}

export function planRun(context: PlanContext): Plan {
  const walk = new PlanWalk(context);
  walk.runbook(context.runbook, context.inputs, '');
  const inputs = Object.fromEntries(Object.entries(context.inputs).map(([name, value]) => [name, valueJson(value)]));
  const essence = {
    definition: context.runbook.sha256,
    deployment: context.deployment,
    ...(context.limits === undefined ? {} : { limits: context.limits as { readonly [control: string]: unknown } }),
    inputs,
    rows: walk.rows,
  };
  return { hash: createHash('sha256').update(canonicalJson(essence)).digest('hex'), rows: walk.rows };
}

class PlanWalk {
  readonly rows: PlanRow[] = [];
  private readonly context: PlanContext;
  private readonly conditions: string[] = [];
  private readonly loops: string[] = [];
  private readonly limits: PlanLimits;
  /** Deadman switches that are asked for and do not certainly stand yet: how each is armed. */
  private unarmed: readonly Unarmed[] = [];
  /** Of branches, the others may end the run before this one gets anywhere. */
  private branches = 0;
  private bounds: Bounds;

  constructor(context: PlanContext) {
    this.context = context;
    this.bounds = { rules: context.limits ?? {}, reference: () => undefined };
    const { market, markets, now } = context;
    this.limits = new PlanLimits({ market, marketsDescribed: markets.length > 0, now });
  }

  runbook(runbook: CheckedRunbook, inputs: Readonly<Record<string, Value>>, prefix: string): PlanScope {
    const scope = new PlanScope(this.context, runbook);
    scope.set('inputs', inputs);
    for (const { name, value } of runbook.let) this.name(scope, name, value);
    for (const { name, init } of runbook.vars) this.name(scope, name, init);
    const outer = this.bounds;
    this.bounds = this.boundsOf(runbook, scope, outer.rules);
    const pending = this.deadman(runbook, scope, prefix);
    this.block(runbook.steps, scope, prefix);
    if (runbook.finally.length > 0) {
      this.note(prefix, 'finally:');
      this.block(runbook.finally, new PlanScope(this.context, undefined, scope), prefix);
    }
    const { deadman } = runbook;
    const stands = pending !== undefined && (pending.under.length > 0 || !this.unarmed.includes(pending));
    if (stands && deadman?.onExit === 'disarm' && deadman.releaseAfter === undefined)
      this.disarm(deadman, scope, prefix);
    if (pending !== undefined) this.unarmed = this.unarmed.filter((each) => each !== pending);
    this.bounds = outer;
    return scope;
  }

  /** The tighter of what holds outside of a runbook and what it asks for itself. */
  private boundsOf({ limits }: CheckedRunbook, scope: PlanScope, outer: LimitRules): Bounds {
    if (limits === undefined) return { rules: outer, reference: () => undefined };
    const around = limits.priceBand?.around;
    return {
      rules: tighter(
        outer,
        ruleValues(limits, (expr) => this.known(expr, scope)),
      ),
      reference: () => {
        if (around === undefined) return undefined;
        const price = this.known(around, scope);
        return price === undefined ? 'open' : decimalText(price);
      },
    };
  }

  /** The switch is armed right before the first order, wherever that stands. */
  private deadman({ deadman }: CheckedRunbook, scope: PlanScope, prefix: string): Unarmed | undefined {
    if (deadman === undefined) return undefined;
    const pending: Unarmed = { arm: () => this.arm(deadman, scope, prefix), under: [] };
    this.unarmed = [...this.unarmed, pending];
    return pending;
  }

  private armBeforeOrder(): void {
    const when = this.when().when ?? '';
    for (const each of this.unarmed) {
      // Where only some ways come by here, it may still have to be armed at a later order.
      if (each.under.some((before) => when === before || when.startsWith(`${before} && `))) continue;
      const loops = this.loops.splice(0);
      each.arm();
      this.loops.push(...loops);
      each.under.push(when);
    }
    if (when === '') this.unarmed = [];
  }

  private arm(deadman: DeadmanDeclaration, scope: PlanScope, prefix: string): void {
    const timeout = this.known(deadman.timeout, scope);
    this.request(prefix, 'POST /cancel_all_after', {
      market_id: this.text(deadman.market, scope),
      timeout: timeout === undefined ? KNOWN_AFTER_RUN : String(timeout.ms),
    });
    const beat = deadman.keepAlive === undefined ? undefined : this.known(deadman.keepAlive, scope)?.ms;
    const every = beat ?? (timeout === undefined ? undefined : Math.floor(timeout.ms / 4));
    if (every !== undefined)
      this.note(
        prefix,
        `while orders rest: keep-alive POST /cancel_all_after every ${every / 1000}s without an order request`,
      );
  }

  private disarm(deadman: DeadmanDeclaration, scope: PlanScope, prefix: string): void {
    const market_id = this.text(deadman.market, scope);
    this.request(prefix, 'DELETE /cancel_all_after', { market_id });
    this.request(prefix, 'GET /cancel_all_after', { market_id });
  }

  private block(steps: readonly CheckedStep[], scope: PlanScope, prefix: string): void {
    for (const step of steps) {
      if (step.if === undefined) {
        this.step(step, scope, prefix);
        continue;
      }
      const holds = this.known(step.if, scope);
      if (holds === false) {
        this.note(this.place(step, prefix), `skipped: ${step.if.text} is false`);
        if (step.id !== undefined) scope.set(step.id, undefined);
        continue;
      }
      this.conditions.push(step.if.text);
      if (holds === true) this.conditions.pop();
      this.step(step, scope, prefix);
      if (holds === undefined) this.conditions.pop();
    }
  }

  private step(step: CheckedStep, scope: PlanScope, prefix: string): void {
    const at = this.place(step, prefix);
    const value = this.effect(step, scope, at, prefix);
    if (step.id === undefined) return;
    const { deadman } = this.context.runbook;
    if (deadman?.releaseAfter === step.id) this.disarm(deadman, scope, prefix);
    if (value === UNKNOWN) scope.setUnknown(step.id);
    else scope.set(step.id, value);
  }

  private effect(step: CheckedStep, scope: PlanScope, at: string, prefix: string): Value | typeof UNKNOWN {
    switch (step.verb) {
      case 'place':
        return this.placement(step, scope, at);
      case 'protect':
        return this.protection(step, scope, at);
      case 'amend':
        this.request(
          at,
          'PUT /orders',
          {
            order_id: this.orderId(step.args.order),
            price: this.number(step.args.price, scope),
            ...(step.args.size === undefined ? {} : { size: this.number(step.args.size, scope) }),
          },
          { order: this.orderBefore(step.args.order, scope) },
        );
        return UNKNOWN;
      case 'cancel':
        this.request(
          at,
          'DELETE /orders',
          step.args.kind === 'order' ? { order_id: this.orderId(step.args.order) } : { order_id: KNOWN_AFTER_RUN },
          {
            ...(step.args.kind === 'mine'
              ? { times: `for each order of this run in ${this.text(step.args.market, scope)}` }
              : {}),
            ...(step.args.kind === 'ids' ? { times: 'for each order of the list' } : {}),
          },
        );
        return UNKNOWN;
      case 'cancel_all':
        this.request(at, 'DELETE /orders/cancel_all', {});
        return undefined;
      case 'set_leverage': {
        const market = this.text(step.args.market, scope);
        const leverage = this.number(step.args.leverage, scope);
        const before = this.leverageBefore(market);
        this.request(
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
        this.request(at, 'GET /profile', {});
        return UNKNOWN;
      case 'list_orders':
        this.request(at, 'GET /orders', this.listParams(step, scope), ofPages(step));
        return UNKNOWN;
      case 'list_fills':
        return this.fills(step, scope, at);
      case 'refresh':
        this.request(at, 'GET /orders', { order_id: this.orderId(step.args.order) });
        return UNKNOWN;
      case 'arm_deadman': {
        const timeout = this.known(step.args.timeout, scope);
        this.request(at, 'POST /cancel_all_after', {
          market_id: this.text(step.args.market, scope),
          timeout: timeout === undefined ? KNOWN_AFTER_RUN : String(timeout.ms),
        });
        return UNKNOWN;
      }
      case 'read_deadman':
        this.request(at, 'GET /cancel_all_after', { market_id: this.text(step.args.market, scope) });
        return UNKNOWN;
      case 'disarm_deadman':
        this.request(at, 'DELETE /cancel_all_after', { market_id: this.text(step.args.market, scope) });
        return undefined;
      case 'refresh_session':
        this.request(at, 'POST /jwt', { is_client: 'true', refresh_token: '[redacted]' });
        return undefined;
      case 'request':
        this.note(at, `request ${step.args.name} of the profile`);
        return UNKNOWN;
      default:
        return this.control(step, scope, at, prefix);
    }
  }

  private control(
    step: Exclude<CheckedStep, { verb: VenueKind }>,
    scope: PlanScope,
    at: string,
    prefix: string,
  ): Value | typeof UNKNOWN {
    switch (step.verb) {
      case 'let':
        for (const { name, value } of step.args.names) this.name(scope, name, value);
        return undefined;
      case 'set': {
        // Where a step stands in a block it may be done any number of times: what its variables are then is not known.
        const once = prefix === '' && step.if === undefined && step.path.split('/').length === 2;
        const values = step.args.names.map(
          ({ name, value }) => [name, once ? this.known(value, scope) : undefined] as const,
        );
        for (const [name, value] of values) scope.assign(name, value);
        return undefined;
      }
      case 'assert': {
        const holds = this.known(step.args.condition, scope);
        const verdict = holds === undefined ? KNOWN_AFTER_RUN : holds ? 'OK' : 'FAILS';
        this.note(at, `assert ${step.args.condition.text}   ${verdict}`);
        return undefined;
      }
      case 'wait':
        this.note(
          at,
          step.args.kind === 'for'
            ? `wait ${this.shown(step.args.for, scope)}`
            : `wait until ${this.shown(step.args.until, scope)}`,
        );
        return undefined;
      case 'wait_for':
        if (step.args.kind === 'order') {
          this.note(
            at,
            `wait ${step.args.is} <= ${this.shown(step.args.within, scope)}   poll GET /orders every ${POLL_MS / 1000}s`,
          );
          return undefined;
        }
        this.loop(
          `every ${this.shown(step.args.every, scope)} until ${step.args.until.text}, at most ${this.shown(step.args.within, scope)}`,
          () => {
            if (step.args.kind === 'read') this.step(step.args.read, scope, prefix);
          },
        );
        return undefined;
      case 'for_each':
        return this.forEach(step, scope, prefix);
      case 'repeat': {
        const { every, for: duration, max } = step.args;
        const bounds = [
          every === undefined ? '' : `every ${this.shown(every, scope)}`,
          duration === undefined ? '' : `for at most ${this.shown(duration, scope)}`,
          max === undefined ? '' : `at most ${this.shown(max, scope)} times`,
          step.args.while === undefined ? '' : `while ${step.args.while.text}`,
          step.args.until === undefined ? '' : `until ${step.args.until.text}`,
        ];
        const inner = new PlanScope(this.context, undefined, scope);
        this.loop(bounds.filter((each) => each !== '').join(', '), () => this.block(step.args.do, inner, prefix));
        return undefined;
      }
      case 'parallel':
        this.parallel(step, scope, at, prefix);
        return undefined;
      case 'switch':
        this.switch(step, scope, prefix);
        return undefined;
      case 'call':
        return this.call(step, scope, at);
      case 'approve':
        this.note(
          at,
          `approve "${this.shown(step.args.ask, scope)}" by ${step.args.by.join(' or ')} within ${this.shown(step.args.within, scope)}`,
        );
        return undefined;
      case 'notify':
        this.note(at, `notify ${step.args.to}: ${this.shown(step.args.text, scope)}`);
        return undefined;
      case 'stop':
        this.note(at, `stop as ${step.args.outcome}`);
        return undefined;
      case 'fail':
        this.note(at, 'fail');
        return undefined;
      default:
        return step satisfies never;
    }
  }

  private placement(step: PlaceStep, scope: PlanScope, at: string): Value {
    const { args } = step;
    this.armBeforeOrder();
    const params = {
      market_id: this.text(args.market, scope),
      side: this.text(args.side, scope),
      size: this.number(args.size, scope),
      type: args.type,
      ...(args.price === undefined ? {} : { price: this.number(args.price, scope) }),
      ...(args.trigger === undefined ? {} : { trigger_price: this.number(args.trigger, scope) }),
      client_order_id: KNOWN_AFTER_RUN,
      time_in_force: args.tif,
    };
    const undo =
      step.undo === 'keep' ? 'none' : Array.isArray(step.undo) ? `${step.undo.length} steps` : 'DELETE /orders';
    const notional = product(params.size, params.price ?? params.trigger_price);
    const { maxOrderNotional } = this.bounds.rules;
    const most = maxOrderNotional === undefined ? '' : `/${decimalText(decimal(maxOrderNotional))}`;
    this.request(at, 'POST /orders', params, {
      undo,
      allow: step.allow,
      ...(notional === undefined ? {} : { limits: `notional ${notional}${most}` }),
    });
    return plannedOrder(params);
  }

  private protection(step: StepOf<'protect'>, scope: PlanScope, at: string): Value {
    const { args } = step;
    const value: Record<string, Value> = {};
    for (const [type, leg] of [['stop_loss', args.stopLoss] as const, ['take_profit', args.takeProfit] as const]) {
      if (leg === undefined) continue;
      this.armBeforeOrder();
      const params = {
        market_id: this.text(args.market, scope),
        side: this.text(args.side, scope),
        size: this.number(leg.fraction, scope),
        type,
        trigger_price: this.number(leg.trigger, scope),
        price: this.number(leg.price, scope),
        client_order_id: KNOWN_AFTER_RUN,
      };
      this.request(at, 'POST /orders', params);
      value[type] = plannedOrder(params);
    }
    return value;
  }

  private account(at: string): Value | typeof UNKNOWN {
    this.request(at, 'GET /account', {});
    const [record] = (this.context.read('GET /account') as readonly unknown[] | undefined) ?? [];
    return record === undefined ? UNKNOWN : hydrate(ACCOUNT, record);
  }

  private leverageBefore(market: string): string | undefined {
    const [record] =
      (this.context.read('GET /account') as
        | readonly { readonly leverage?: Readonly<Record<string, string>> }[]
        | undefined) ?? [];
    return record?.leverage?.[market];
  }

  private fills(step: StepOf<'list_fills'>, scope: PlanScope, at: string): Value | typeof UNKNOWN {
    if (step.args.order !== undefined) {
      this.request(at, 'GET /fills/order', { order_id: this.orderIdOf(step.args.order, scope) });
      return UNKNOWN;
    }
    this.request(at, 'GET /fills', this.listParams(step, scope), ofPages(step));
    const records = this.context.read('GET /fills') as readonly unknown[] | undefined;
    return records === undefined ? UNKNOWN : { fills: records.map((record) => hydrate(FILL, record)) };
  }

  private listParams(
    step: StepOf<'list_orders'> | StepOf<'list_fills'>,
    scope: PlanScope,
  ): Readonly<Record<string, string>> {
    const { market, order, since, until, limit, page, sort, allPages } = step.args;
    const { status, clientOrderId } = step.verb === 'list_orders' ? step.args : {};
    return {
      ...(status === undefined ? {} : { status: this.text(status, scope) }),
      ...(order === undefined ? {} : { order_id: this.orderIdOf(order, scope) }),
      ...(clientOrderId === undefined ? {} : { client_order_id: this.text(clientOrderId, scope) }),
      ...(market === undefined ? {} : { market_id: this.text(market, scope) }),
      ...(since === undefined ? {} : { start_time: since.text }),
      ...(until === undefined ? {} : { end_time: until.text }),
      ...(limit === undefined || allPages ? {} : { p_limit: this.number(limit, scope) }),
      ...(page === undefined || allPages ? {} : { p_page: this.number(page, scope) }),
      ...(sort === undefined || allPages ? {} : { p_order: sort === 'asc' ? 'ASC' : 'DESC' }),
    };
  }

  private forEach(step: StepOf<'for_each'>, scope: PlanScope, prefix: string): Value | typeof UNKNOWN {
    const { each, in: list, at: position, do: steps, collect } = step.args;
    const items = this.known(list, scope);
    if (items === undefined) {
      const inner = new PlanScope(this.context, undefined, scope);
      inner.setUnknown(each);
      if (position !== undefined) inner.setUnknown(position);
      this.loop(`for each ${each} in ${list.text}`, () => this.block(steps, inner, prefix));
      return UNKNOWN;
    }
    const collected: Value[] = [];
    for (const [index, item] of items.entries()) {
      const inner = new PlanScope(this.context, undefined, scope);
      inner.set(each, item);
      if (position !== undefined) inner.set(position, new Decimal(index));
      this.block(steps, inner, prefix);
      if (collect === undefined) continue;
      collected.push(lazyRecord(collect.map(({ name, value }) => [name, () => value.evaluate(inner)])));
    }
    return collect === undefined ? undefined : collected;
  }

  private parallel(step: StepOf<'parallel'>, scope: PlanScope, at: string, prefix: string): void {
    const { args } = step;
    if (args.kind === 'branches') {
      this.note(at, `in parallel, join ${args.join}: ${args.branches.map(({ name }) => name).join(', ')}`);
      this.branches += 1;
      for (const branch of args.branches) this.block(branch.do, scope, prefix);
      this.branches -= 1;
      return;
    }
    const items = this.known(args.in, scope);
    this.note(at, `in parallel for each ${args.each} in ${args.in.text}`);
    this.branches += 1;
    for (const item of items ?? [UNKNOWN]) {
      const inner = new PlanScope(this.context, undefined, scope);
      if (item === UNKNOWN) inner.setUnknown(args.each);
      else inner.set(args.each, item as Value);
      this.block(args.do, inner, prefix);
    }
    this.branches -= 1;
  }

  private switch(step: StepOf<'switch'>, scope: PlanScope, prefix: string): void {
    for (const { when, do: steps } of step.args.cases) {
      const holds = this.known(when, scope);
      if (holds === false) continue;
      if (holds === undefined) this.conditions.push(when.text);
      this.block(steps, new PlanScope(this.context, undefined, scope), prefix);
      if (holds === true) return;
      this.conditions.pop();
    }
    const undecided = step.args.cases.filter(({ when }) => this.known(when, scope) === undefined);
    if (step.args.else === undefined) return;
    if (undecided.length > 0) this.conditions.push(`not (${undecided.map(({ when }) => when.text).join(' || ')})`);
    this.block(step.args.else, new PlanScope(this.context, undefined, scope), prefix);
    if (undecided.length > 0) this.conditions.pop();
  }

  private call(step: StepOf<'call'>, scope: PlanScope, at: string): Value | typeof UNKNOWN {
    const callee = this.context.runbook.calls[step.args.runbook];
    if (callee === undefined) return UNKNOWN;
    this.note(at, `call ${step.args.runbook}:`);
    const inputs = lazyRecord(
      callee.inputs.map((input) => {
        const expr = step.args.with[input.name];
        return [input.name, () => (expr === undefined ? input.default : expr.evaluate(scope))];
      }),
    );
    const inner = this.runbook(callee, inputs, `${at}/`);
    return lazyRecord(callee.outputs.map(({ name, value }) => [name, () => value.evaluate(inner)]));
  }

  private loop(bound: string, body: () => void): void {
    this.loops.push(bound);
    body();
    this.loops.pop();
  }

  private request(
    step: string,
    name: EndpointName,
    params: Readonly<Record<string, string>>,
    extra: {
      undo?: string;
      limits?: string;
      times?: string;
      allow?: 'reduce' | undefined;
      order?: PlannedWrite['order'];
    } = {},
  ): void {
    const { method, path, parameters } = endpoint(name);
    // In the order in which they go on the wire.
    const ordered = Object.fromEntries(
      Object.keys(parameters).flatMap((key) => (params[key] === undefined ? [] : [[key, params[key]]])),
    );
    const denied = this.limits.next({
      endpoint: name,
      step,
      params,
      order: extra.order,
      allow: extra.allow,
      certain:
        this.conditions.length === 0 && this.loops.length === 0 && this.branches === 0 && extra.times === undefined,
      rules: this.bounds.rules,
      reference: this.bounds.reference(),
    });
    const times = [...this.loops, ...(extra.times === undefined ? [] : [extra.times])].join('; ');
    this.rows.push({
      kind: 'request',
      step,
      method,
      path,
      params: ordered,
      tokens: this.context.costOf(name),
      ...this.when(),
      ...(times === '' ? {} : { times }),
      ...(extra.undo === undefined ? {} : { undo: extra.undo }),
      ...(extra.limits === undefined ? {} : { limits: extra.limits }),
      ...(denied === undefined ? {} : { denied }),
    });
  }

  private note(step: string, text: string): void {
    this.rows.push({ kind: 'note', step, text, ...this.when() });
  }

  private when(): { when?: string } {
    return this.conditions.length === 0 ? {} : { when: this.conditions.join(' && ') };
  }

  private place(step: CheckedStep, prefix: string): string {
    return prefix + step.path;
  }

  private name(scope: PlanScope, name: string, expr: Expr): void {
    try {
      scope.set(name, expr.evaluate(scope));
    } catch (error) {
      if (!isOpen(error)) throw error;
      scope.setUnknown(name);
    }
  }

  /** The value, or undefined while it is not known; an expression that is absent for good is undefined too. */
  private known<T extends Value>(expr: Expr<T>, scope: PlanScope): T | undefined {
    try {
      return expr.evaluate(scope);
    } catch (error) {
      if (isOpen(error)) return undefined;
      throw error;
    }
  }

  private number(expr: Expr<Decimal>, scope: PlanScope): string {
    const value = this.known(expr, scope);
    return value === undefined ? KNOWN_AFTER_RUN : decimalText(value);
  }
  private text(expr: Expr<string>, scope: PlanScope): string {
    return this.known(expr, scope) ?? KNOWN_AFTER_RUN;
  }
  private shown(expr: Expr, scope: PlanScope): string {
    const value = this.known(expr, scope);
    if (value === undefined) return expr.text;
    const json = valueJson(value);
    return typeof json === 'string' ? json : JSON.stringify(json);
  }
  /** What an amend knows of its order: what the plan has placed. */
  private orderBefore(expr: Expr<RecordValue>, scope: PlanScope): PlannedWrite['order'] {
    const order = this.known(expr, scope);
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
  private orderId(expr: Expr): string {
    return `<${expr.text}.id>`;
  }
  /** Of an order, or an id as it stands. */
  private orderIdOf(expr: Expr, scope: PlanScope): string {
    const value = expr.type.kind === 'text' ? this.known(expr, scope) : undefined;
    return typeof value === 'string' ? value : expr.type.kind === 'text' ? KNOWN_AFTER_RUN : this.orderId(expr);
  }
}

function ofPages({ args }: StepOf<'list_orders'> | StepOf<'list_fills'>): { readonly times?: string } {
  return args.allPages ? { times: 'for each page' } : {};
}

/** A deadman switch still to be armed; the conditions under which it has been listed already. */
interface Unarmed {
  readonly arm: () => void;
  readonly under: string[];
}

/** What binds the requests of a runbook. */
interface Bounds {
  readonly rules: LimitRules;
  readonly reference: () => string | undefined;
}

const UNKNOWN = Symbol('not known');
type VenueKind =
  | 'place'
  | 'protect'
  | 'amend'
  | 'cancel'
  | 'cancel_all'
  | 'set_leverage'
  | 'read_account'
  | 'read_tier'
  | 'list_orders'
  | 'list_fills'
  | 'refresh'
  | 'arm_deadman'
  | 'read_deadman'
  | 'disarm_deadman'
  | 'refresh_session'
  | 'request';

function product(size: string, price: string | undefined): string | undefined {
  if (price === undefined || price === KNOWN_AFTER_RUN || size === KNOWN_AFTER_RUN) return undefined;
  return decimalText(new Decimal(size).times(price));
}
