/**
 * What each venue verb does: one function per row of the step table. A function gets its endpoints through `call`, typed
 * by its row, so that a verb which calls anything its row does not name does not compile; orders go through the desk.
 */
import { Decimal, decimalText, wholeNumber } from '../../base/decimal.ts';
import type { StepOf, Verb } from '../../runbook/checked.ts';
import { ACCOUNT, DEADMAN, FILL, TIER } from '../../runbook/functions/records.ts';
import { STEPS } from '../../runbook/steps.ts';
import type { Duration, Expr, Time, Value, ValueType } from '../../runbook/values.ts';
import { type EndpointName, endpoint, type Params, type Result } from '../../venue/catalogue.ts';
import type { CallClass, CallOutcome, VenueCall } from '../../venue/port.ts';
import type { FillRecord, OrderRecord, Side } from '../../venue/records.ts';
import { failureOfOutcome } from '../failure.ts';
import { hydrate } from '../hydrate.ts';
import { StepFailure } from '../interruption.ts';
import { handleOf } from '../orders/handles.ts';
import { type Terms, whileWanted } from '../orders/parts.ts';
import { sleepUntil } from '../waiting.ts';
import {
  clearEarlier,
  deskOf,
  ensureBand,
  given,
  handleById,
  legTerms,
  listed,
  orderIdOf,
  orderOf,
  undoLater,
} from './order-steps.ts';
import type { StepRun, Walker } from './walker.ts';

type Rows = typeof STEPS;
export type VenueVerb = { [V in Verb]: Rows[V]['group'] extends 'venue' ? V : never }[Verb];
type VerbFunction<V extends VenueVerb> = (walker: Walker, at: StepRun<StepOf<V>>) => Promise<Value>;
type EndpointsOf<V extends VenueVerb> = Rows[V]['endpoints'][number];

/** Pages of one `all_pages` list: a bound on a list that never ends. */
const MOST_PAGES = 100;
const PAGE_ROWS = 1000;

export function isVenueVerb(at: StepRun): at is StepRun<StepOf<VenueVerb>> {
  return STEPS[at.step.verb].group === 'venue';
}

export function runVenueVerb(walker: Walker, at: StepRun<StepOf<VenueVerb>>): Promise<Value> {
  const run = VERBS[at.step.verb] as VerbFunction<VenueVerb>;
  return run(walker, at);
}

const VERBS: { readonly [V in VenueVerb]: VerbFunction<V> } = {
  async place(walker, at) {
    const { args } = at.step;
    const market = text(walker, at, args.market);
    const terms: Terms = {
      market,
      side: text(walker, at, args.side) as Side,
      type: args.type,
      size: decimalText(walker.evaluate(args.size, at.scope, at.path)),
      ...given('price', args.price, walker, at),
      ...given('trigger', args.trigger, walker, at),
      timeInForce: args.tif,
      onAmbiguous: args.onAmbiguous,
      ...(at.step.allow === undefined ? {} : { allow: at.step.allow }),
      ...(args.tag === undefined ? {} : { tag: args.tag }),
    };
    const { desk } = walker.run;
    await ensureBand(walker, at);
    const on = deskOf(walker, at, market);
    await clearEarlier(walker, at, '');
    const handle = await desk.place(on, '', terms);
    undoLater(walker, at, [handle]);
    await desk.reach(handle, at.step.await ?? 'live', on);
    return handle.value;
  },

  async protect(walker, at) {
    const { args } = at.step;
    const market = text(walker, at, args.market);
    const side = text(walker, at, args.side) as Side;
    const { desk } = walker.run;
    const on = deskOf(walker, at, market);
    const legs = [
      ['stop_loss', args.stopLoss],
      ['take_profit', args.takeProfit],
    ] as const;
    const value: Record<string, Value> = {};
    for (const [type, leg] of legs) {
      if (leg === undefined) continue;
      const handle = await desk.place(on, type, legTerms(walker, at, leg, { market, side, type }));
      undoLater(walker, at, [handle]);
      await desk.reach(handle, at.step.await ?? 'live', on);
      value[type] = handle.value;
    }
    return value;
  },

  async amend(walker, at) {
    const { args } = at.step;
    const handle = orderOf(walker, at, args.order);
    const price = walker.evaluate(args.price, at.scope, at.path);
    const size = args.size === undefined ? undefined : walker.evaluate(args.size, at.scope, at.path);
    await ensureBand(walker, at);
    await walker.run.desk.amend(handle, price, size, deskOf(walker, at, handle.market_id));
    return handle.value;
  },

  async cancel(walker, at) {
    const { args } = at.step;
    const { desk } = walker.run;
    const target = at.step.await ?? 'accepted';
    if (args.kind === 'order') {
      const handle = orderOf(walker, at, args.order);
      await desk.cancel(handle, target, deskOf(walker, at, handle.market_id));
      return handle.value;
    }
    if (args.kind === 'mine') {
      const market = text(walker, at, args.market);
      for (const order of desk.working(market))
        await desk.cancel(desk.handle(order), target, deskOf(walker, at, market));
      return undefined;
    }
    for (const value of walker.evaluate(args.ids, at.scope, at.path)) {
      const handle = handleOf(value) ?? handleById(walker, String(value));
      await desk.cancel(handle, target, deskOf(walker, at, handle.market_id));
    }
    return undefined;
  },

  async cancel_all(walker, at) {
    const left = await walker.run.desk.cancelAll(deskOf(walker, at, undefined));
    const { book } = walker.run.log;
    return { left: left.map((record) => listed(record, book.get(record.client_order_id))) };
  },

  async set_leverage(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    const leverage = wholeNumber(walker.evaluate(at.step.args.leverage, at.scope, at.path));
    const outcome = await call<'set_leverage', 'PUT /account/leverage'>(
      walker,
      at,
      'PUT /account/leverage',
      { market_id, leverage },
      'enter',
    );
    // A leverage that was set twice is set once: an answer that never came is simply asked for again (fault-matrix.md, row 64).
    const settled =
      outcome.kind === 'unresolved'
        ? await call<'set_leverage', 'PUT /account/leverage'>(
            walker,
            at,
            'PUT /account/leverage',
            { market_id, leverage },
            'enter',
          )
        : outcome;
    return named(at, ACCOUNT, one(confirmed(settled, at), at));
  },

  async read_account(walker, at) {
    return named(
      at,
      ACCOUNT,
      one(confirmed(await call<'read_account', 'GET /account'>(walker, at, 'GET /account', {}, 'read'), at), at),
    );
  },

  async read_tier(walker, at) {
    return named(
      at,
      TIER,
      one(confirmed(await call<'read_tier', 'GET /profile'>(walker, at, 'GET /profile', {}, 'read'), at), at),
    );
  },

  async list_orders(walker, at) {
    const { args } = at.step;
    const filter = {
      market_id: optionalText(walker, at, args.market),
      status: optionalText(walker, at, args.status) as Params<'GET /orders'>['status'],
      order_id: args.order === undefined ? undefined : orderIdOf(walker, at, args.order),
      client_order_id: optionalText(walker, at, args.clientOrderId),
    };
    const records = await pages(walker, at, (paging) =>
      call<'list_orders', 'GET /orders'>(walker, at, 'GET /orders', { ...filter, ...paging }, 'read'),
    );
    const { book } = walker.run.log;
    return { orders: records.map((record) => listed(record, book.get(record.client_order_id))) };
  },

  async list_fills(walker, at) {
    const { args } = at.step;
    if (args.order !== undefined) {
      const order_id = orderIdOf(walker, at, args.order);
      const fills = confirmed(
        await call<'list_fills', 'GET /fills/order'>(walker, at, 'GET /fills/order', { order_id }, 'read'),
        at,
      );
      return { fills: fills.map(hydrateFill) };
    }
    const market_id = optionalText(walker, at, args.market);
    const fills = await pages(walker, at, (paging) =>
      call<'list_fills', 'GET /fills'>(walker, at, 'GET /fills', { market_id, ...paging }, 'read'),
    );
    return { fills: fills.map(hydrateFill) };
  },

  async refresh(walker, at) {
    const handle = orderOf(walker, at, at.step.args.order);
    await walker.run.desk.refresh(handle, deskOf(walker, at, handle.market_id));
    return handle.value;
  },

  async arm_deadman(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    const timeout: Duration = walker.evaluate(at.step.args.timeout, at.scope, at.path);
    const outcome = await insisted(walker, at, () =>
      call<'arm_deadman', 'POST /cancel_all_after'>(
        walker,
        at,
        'POST /cancel_all_after',
        { market_id, timeout: timeout.ms },
        'protect',
      ),
    );
    const record = confirmed(outcome, at);
    walker.run.log.append(
      'deadman.moved',
      { event: 'armed', market: market_id, timeoutMs: timeout.ms, because: 'arm_deadman' },
      at.path,
    );
    return record === null ? undefined : named(at, DEADMAN, record);
  },

  async read_deadman(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    const askedAt = walker.run.clock.now();
    const outcome = await call<'read_deadman', 'GET /cancel_all_after'>(
      walker,
      at,
      'GET /cancel_all_after',
      { market_id },
      'read',
    );
    const record = confirmed(outcome, at);
    walker.run.keeper.observed(market_id, outcome.sentAt ?? askedAt, record);
    return record === null ? undefined : named(at, DEADMAN, record);
  },

  async disarm_deadman(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    confirmed(
      await insisted(walker, at, () =>
        call<'disarm_deadman', 'DELETE /cancel_all_after'>(
          walker,
          at,
          'DELETE /cancel_all_after',
          { market_id },
          'protect',
        ),
      ),
      at,
    );
    walker.run.log.append(
      'deadman.moved',
      { event: 'disarmed', market: market_id, because: 'disarm_deadman' },
      at.path,
    );
    return undefined;
  },

  async refresh_session(walker, at) {
    // The gateway holds the refresh token and puts it in; it never passes through the engine or the journal.
    confirmed(
      await call<'refresh_session', 'POST /jwt'>(
        walker,
        at,
        'POST /jwt',
        { is_client: true, refresh_token: '' },
        'protect',
      ),
      at,
    );
    return undefined;
  },

  async request(walker, at) {
    const params = Object.fromEntries(
      Object.entries(at.step.args.with).map(([name, expr]) => {
        const value = walker.evaluate(expr, at.scope, at.path);
        return [name, Decimal.isDecimal(value) ? decimalText(value as Decimal) : String(value)];
      }),
    );
    const outcome = await walker.run.venue.request(at.step.args.name, params, walker.run.callId(at.path), at.path);
    if (outcome.kind !== 'confirmed') {
      const kind =
        outcome.failure === 'cancelled' || outcome.failure === 'unknown_outcome' ? 'transport' : outcome.failure;
      throw new StepFailure(kind, outcome.message, at.path, outcome.retryAfterMs);
    }
    return outcome.result as Value;
  },
};

/** Calls one of the endpoints that the verb's row names. */
function call<V extends VenueVerb, E extends EndpointsOf<V> & EndpointName>(
  walker: Walker,
  at: StepRun,
  name: E,
  params: Params<E>,
  klass: CallClass,
): Promise<CallOutcome<E>> {
  const { venue, callId } = walker.run;
  const { limits } = at.frame.roots;
  const { method, protective } = endpoint(name);
  const wants: VenueCall<E> = {
    id: callId(at.path),
    step: at.path,
    endpoint: name,
    params,
    class: klass,
    ...(limits === undefined || method === 'GET' ? {} : { limits }),
  };
  if (method === 'GET' || protective) return venue.call(wants);
  return whileWanted(at.cancel, (wanted) => venue.call({ ...wants, wanted }));
}

/** Repeats a call whose effect is the same however often it arrives, while no answer comes. */
async function insisted<E extends EndpointName>(
  walker: Walker,
  at: StepRun,
  once: () => Promise<CallOutcome<E>>,
): Promise<CallOutcome<E>> {
  let outcome = await once();
  for (let tries = 0; outcome.kind === 'unresolved' && tries < 4; tries += 1) {
    await sleepUntil(walker.run.clock, walker.run.clock.now() + 250 * 2 ** tries, at.cancel);
    outcome = await once();
  }
  return outcome;
}

function confirmed<E extends EndpointName>(outcome: CallOutcome<E>, at: StepRun): Result<E> {
  if (outcome.kind === 'confirmed') return outcome.result;
  throw failureOfOutcome(outcome, at.path);
}

/** The value of a record where the step has a name; of any other nobody can speak, and it is not made. */
function named(at: StepRun, type: ValueType, record: unknown): Value {
  return at.step.id === undefined ? undefined : hydrate(type, record);
}

function one<T>(records: readonly T[], at: StepRun): T {
  const [record] = records;
  if (record === undefined) throw new StepFailure('transport', 'the venue confirmed and sent no record', at.path);
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
 * Reads a list, page by page with `all_pages`. Rows move between pages while orders change: pages are read oldest first,
 * and a record that comes twice counts once (venue-notes.md, surprise 10).
 */
async function pages<E extends 'GET /orders' | 'GET /fills'>(
  walker: Walker,
  at: StepRun<StepOf<'list_orders'>> | StepRun<StepOf<'list_fills'>>,
  read: (paging: Paging) => Promise<CallOutcome<E>>,
): Promise<Result<E>> {
  const { args } = at.step;
  const number = (expr: Expr<Decimal> | undefined) =>
    expr === undefined ? undefined : wholeNumber(walker.evaluate(expr, at.scope, at.path));
  const time = (expr: Expr<Time> | undefined) =>
    expr === undefined ? undefined : walker.evaluate(expr, at.scope, at.path).us;
  const range = { start_time: time(args.since), end_time: time(args.until) };
  if (!args.allPages) {
    const p_order = args.sort === undefined ? undefined : args.sort === 'asc' ? 'ASC' : 'DESC';
    return confirmed(await read({ ...range, p_limit: number(args.limit), p_page: number(args.page), p_order }), at);
  }
  const found = new Map<string, OrderRecord | FillRecord>();
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const rows = confirmed(await read({ ...range, p_limit: PAGE_ROWS, p_page: page, p_order: 'ASC' }), at) as readonly (
      | OrderRecord
      | FillRecord
    )[];
    for (const row of rows) found.set(row.id, row);
    if (rows.length < PAGE_ROWS) break;
  }
  const all = [...found.values()];
  return (args.sort === 'asc' ? all : all.reverse()) as unknown as Result<E>;
}

function hydrateFill(fill: FillRecord): Value {
  return hydrate(FILL, fill);
}

function text(walker: Walker, at: StepRun, expr: Expr<string>): string {
  return walker.evaluate(expr, at.scope, at.path);
}

function optionalText(walker: Walker, at: StepRun, expr: Expr<string> | undefined): string | undefined {
  return expr === undefined ? undefined : walker.evaluate(expr, at.scope, at.path);
}
