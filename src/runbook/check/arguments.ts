/**
 * What stands after a verb that calls the venue, compiled, with what its constants prove. One function a verb; types and
 * words come from the step table, never from here.
 */
import type { Decimal } from '../../base/decimal.ts';
import type { OrderType, TimeInForce } from '../../venue/records.ts';
import type { ProtectLeg, StepOf, Verb } from '../checked.ts';
import type { Node } from '../document/nodes.ts';
import { FAULTY, marketOf } from '../expression/compiler.ts';
import { ORDER, recordType } from '../functions/records.ts';
import { stepRow } from '../steps.ts';
import type { Duration, Expr, RecordValue, Time, Value, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';
import { checkTimeout, defined, textOf } from './declarations.ts';
import { fieldsOf, isOrderOrId, mapShape, mismatch, Reader, typeYielded } from './field-reader.ts';
import { checkBand, checkHalted, checkMarket, checkSide, checkSize, positive } from './order-proofs.ts';
import { type LegPlace, lintStops } from './stops.ts';

export type VenueVerb = Extract<
  Verb,
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
  | 'request'
>;

/** What a step's modifiers say that matters for its arguments. */
export interface Circumstances {
  /** The verb's key, to point at when nothing nearer is at fault. */
  readonly verb: { readonly start: number; readonly end: number };
  readonly allow: string | undefined;
}

export interface BuiltArgs<V extends Verb> {
  readonly args: StepOf<V>['args'];
  /** What the id stands for; undefined for nothing. */
  readonly yields: ValueType | undefined;
}

type Builder<V extends Verb> = (checking: Checking, node: Node, circumstances: Circumstances) => BuiltArgs<V>;

export const VENUE_ARGS = {
  place,
  protect,
  amend,
  cancel,
  cancel_all: (checking, _node, { verb }) => {
    if (!checking.needs.includes('cancel_all'))
      checking.report(verb, 'cancel-all-not-granted', 'cancel_all needs `needs: [cancel_all]` in the file');
    return { args: { everyone: true }, yields: typeYielded('cancel_all') };
  },
  set_leverage: setLeverage,
  read_account: () => ({ args: {}, yields: typeYielded('read_account') }),
  read_tier: () => ({ args: {}, yields: typeYielded('read_tier') }),
  list_orders: listOrders,
  list_fills: listFills,
  refresh: (checking, node) => ({ args: { order: checking.compiler.value<RecordValue>(node, ORDER) }, yields: ORDER }),
  arm_deadman: (checking, node) => {
    const read = new Reader(checking, node, fieldsOf('arm_deadman'));
    const timeout = read.expr<Duration>('timeout');
    checkTimeout(checking, read.at('timeout'), checking.compiler.constant(timeout));
    return { args: { market: read.expr<string>('market'), timeout }, yields: typeYielded('arm_deadman') };
  },
  read_deadman: (checking, node) => ({
    args: { market: new Reader(checking, node, fieldsOf('read_deadman')).expr<string>('market') },
    yields: typeYielded('read_deadman'),
  }),
  disarm_deadman: (checking, node) => ({
    args: { market: new Reader(checking, node, fieldsOf('disarm_deadman')).expr<string>('market') },
    yields: undefined,
  }),
  refresh_session: () => ({ args: {}, yields: undefined }),
  request: (checking, node) => {
    const name = node.kind === 'map' ? (textOf(node.get('name')) ?? '') : '';
    return {
      args: { name, with: exprs(checking, node.kind === 'map' ? node.get('with') : undefined) },
      yields: Object.hasOwn(checking.requests, name) ? checking.requests[name] : undefined,
    };
  },
} as const satisfies { [V in VenueVerb]: Builder<V> };

function place(checking: Checking, node: Node, { verb, allow }: Circumstances): BuiltArgs<'place'> {
  const type = (node.kind === 'map' ? textOf(node.get('type')) : undefined) as OrderType | undefined;
  const shape = stepRow('place').takes;
  const variant =
    shape.kind === 'variants' && type !== undefined && Object.hasOwn(shape.variants, type)
      ? shape.variants[type]
      : undefined;
  if (variant === undefined || type === undefined) return { args: NO_ORDER, yields: ORDER };
  const read = new Reader(checking, node, variant);
  const market = read.expr<string>('market');
  read.market = market;
  const side = read.expr<string>('side');
  const size = read.expr<Decimal>('size');
  const price = read.optional<Decimal>('price');
  const trigger = read.optional<Decimal>('trigger');
  const tif = (read.word('tif') ?? (type === 'market' ? 'immediate_or_cancel' : 'good_till_cancel')) as TimeInForce;
  const onAmbiguous = read.word('on_ambiguous') === 'resend' ? 'resend' : 'halt';
  const reduces = allow === 'reduce' || checking.limits.mode === 'reducing';

  checkHalted(checking, verb, 'place');
  checkMarket(checking, read.at('market'), market);
  if (!reduces) checkSide(checking, read.at('side'), side);
  positive(checking, read, 'size', size, 'size-not-positive');
  positive(checking, read, 'price', price, 'price-not-positive');
  positive(checking, read, 'trigger', trigger, 'price-not-positive');
  checkSize(checking, read, size, price, allow === 'reduce');
  checkBand(checking, read, price);
  if (type === 'market' && price === undefined)
    checking.report(
      verb,
      'market-order-without-price',
      'a market order without a price: the venue document leaves open whether that is allowed',
    );
  if (type === 'market' && (tif === 'good_till_cancel' || tif === 'post_only'))
    checking.report(
      read.at('tif') ?? verb,
      'market-order-may-rest',
      `a market order with tif ${tif} may rest in the book`,
    );
  if (onAmbiguous === 'resend' && !(type === 'limit' && (tif === 'good_till_cancel' || tif === 'post_only')))
    checking.report(
      read.at('on_ambiguous') ?? verb,
      'resend-not-safe',
      `on_ambiguous: resend suits good-till-cancel and post-only limit orders alone, this is a ${type} order with ${tif}`,
    );
  return {
    args: { type, market, side, size, ...defined({ price, trigger, tag: read.text('tag') }), tif, onAmbiguous },
    yields: ORDER,
  };
}

/** Stands for the arguments of an order whose type nobody knows; such a runbook is never given out. */
const NO_ORDER: StepOf<'place'>['args'] = {
  type: 'limit',
  market: FAULTY,
  side: FAULTY,
  size: FAULTY,
  tif: 'good_till_cancel',
  onAmbiguous: 'halt',
};

function protect(checking: Checking, node: Node, { verb }: Circumstances): BuiltArgs<'protect'> {
  const read = new Reader(checking, node, fieldsOf('protect'));
  const market = read.expr<string>('market');
  const leg = (key: string): ProtectLeg | undefined => {
    const at = read.at(key);
    const shape = read.shape(key);
    if (at === undefined || shape?.kind !== 'fields') return undefined;
    const inner = new Reader(checking, at, shape);
    inner.market = market;
    const fraction = inner.expr<Decimal>('fraction');
    const known = checking.compiler.constant(fraction);
    if (known !== undefined && !(known.greaterThan(0) && known.lessThanOrEqualTo(1)))
      checking.report(
        inner.at('fraction') ?? at,
        'fraction-out-of-range',
        `fraction must be above 0 and at most 1, found ${known.toFixed()}`,
      );
    const trigger = inner.expr<Decimal>('trigger');
    const price = inner.expr<Decimal>('price');
    positive(checking, inner, 'trigger', trigger, 'price-not-positive');
    positive(checking, inner, 'price', price, 'price-not-positive');
    return { fraction, trigger, price };
  };
  const side = read.expr<string>('side');
  const stopLoss = leg('stop_loss');
  const takeProfit = leg('take_profit');
  checkHalted(checking, verb, 'protect');
  checkMarket(checking, read.at('market'), market);
  const placed = (leg: ProtectLeg | undefined, key: string): LegPlace | undefined => {
    const at = read.at(key);
    return leg === undefined || at === undefined ? undefined : { leg, at };
  };
  lintStops(checking, side, placed(stopLoss, 'stop_loss'), placed(takeProfit, 'take_profit'));
  const legs = { ...(stopLoss && { stop_loss: ORDER }), ...(takeProfit && { take_profit: ORDER }) };
  return {
    args: { market, side, ...defined({ stopLoss, takeProfit }) },
    yields: recordType(stopLoss && takeProfit ? 'Protection' : stopLoss ? 'StopLoss' : 'TakeProfit', legs),
  };
}

function amend(checking: Checking, node: Node, { verb }: Circumstances): BuiltArgs<'amend'> {
  const read = new Reader(checking, node, fieldsOf('amend'));
  const order = read.expr<RecordValue>('order');
  read.market = marketOf(order);
  const price = read.expr<Decimal>('price');
  const size = read.optional<Decimal>('size');
  checkHalted(checking, verb, 'amend');
  positive(checking, read, 'price', price, 'price-not-positive');
  positive(checking, read, 'size', size, 'size-not-positive');
  checkSize(checking, read, size, price, false);
  checkBand(checking, read, price);
  return { args: { order, price, ...defined({ size }) }, yields: ORDER };
}

function cancel(checking: Checking, node: Node): BuiltArgs<'cancel'> {
  const { compiler } = checking;
  if (node.kind !== 'map')
    return { args: { kind: 'order', order: compiler.value<RecordValue>(node, ORDER) }, yields: ORDER };
  const shape = mapShape('cancel', node);
  const read = new Reader(checking, node, shape);
  if (node.get('mine') !== undefined)
    return { args: { kind: 'mine', market: read.expr<string>('mine') }, yields: undefined };
  const ids = read.expr<readonly Value[]>('ids');
  if ((ids as Expr) !== FAULTY && (ids.type.kind !== 'list' || !isOrderOrId(ids.type.of)))
    mismatch(checking, read.at('ids') ?? node, 'ids takes a list of orders or order ids', ids.type);
  return { args: { kind: 'ids', ids }, yields: undefined };
}

function setLeverage(checking: Checking, node: Node, { verb }: Circumstances): BuiltArgs<'set_leverage'> {
  const read = new Reader(checking, node, fieldsOf('set_leverage'));
  const market = read.expr<string>('market');
  const at = read.at('leverage');
  const literal = at?.kind === 'scalar' && at.type === 'number' ? at.text : undefined;
  checkHalted(checking, verb, 'set_leverage');
  checkMarket(checking, read.at('market'), market);
  // A fractional literal is a leverage out of range before it is a number of the wrong type.
  if (literal?.includes('.')) {
    checking.report(
      at ?? node,
      'leverage-out-of-range',
      `leverage must be a whole number from 1 to 20, found ${literal}`,
    );
    return { args: { market, leverage: FAULTY }, yields: typeYielded('set_leverage') };
  }
  const leverage = read.expr<Decimal>('leverage');
  const value = checking.compiler.constant(leverage);
  const most = checking.limits.maxLeverage;
  if (value !== undefined && !(value.isInteger() && value.greaterThanOrEqualTo(1) && value.lessThanOrEqualTo(20)))
    checking.report(
      at ?? node,
      'leverage-out-of-range',
      `leverage must be a whole number from 1 to 20, found ${value.toFixed()}`,
    );
  else if (value !== undefined && most !== undefined && value.greaterThan(most))
    checking.report(
      at ?? node,
      'leverage-over-limit',
      `leverage ${value.toFixed()} is above limits.max_leverage, ${most.toFixed()}`,
    );
  return { args: { market, leverage }, yields: typeYielded('set_leverage') };
}

function listOrders(checking: Checking, node: Node, { verb }: Circumstances): BuiltArgs<'list_orders'> {
  const read = new Reader(checking, node, fieldsOf('list_orders'));
  if (read.at('since') === undefined)
    checking.report(
      verb,
      'read-without-since',
      'list_orders without `since` reads the whole history, up to ten times slower',
    );
  const args = {
    ...defined({
      market: read.optional<string>('market'),
      status: read.optional<string>('status'),
      order: read.orderOrId('order'),
      clientOrderId: read.optional<string>('client_order_id'),
    }),
    ...period(checking, read),
  };
  return { args, yields: typeYielded('list_orders') };
}

function listFills(checking: Checking, node: Node, { verb }: Circumstances): BuiltArgs<'list_fills'> {
  const read = new Reader(checking, node, fieldsOf('list_fills'));
  const order = read.orderOrId('order');
  if (read.at('since') === undefined && read.at('order') === undefined)
    checking.report(
      verb,
      'read-without-since',
      'list_fills without `since` reads the whole history, up to ten times slower',
    );
  return {
    args: { ...defined({ market: read.optional<string>('market'), order }), ...period(checking, read) },
    yields: typeYielded('list_fills'),
  };
}

function period(checking: Checking, read: Reader) {
  const limit = read.optional<Decimal>('limit');
  const page = read.optional<Decimal>('page');
  const rows = checking.compiler.constant(limit);
  if (rows !== undefined && !(rows.greaterThanOrEqualTo(1) && rows.lessThanOrEqualTo(1000)))
    checking.report(
      read.need('limit'),
      'rows-out-of-range',
      `limit must be a whole number from 1 to 1000, found ${rows.toFixed()}`,
    );
  const number = checking.compiler.constant(page);
  if (number?.lessThan(0))
    checking.report(read.need('page'), 'rows-out-of-range', `page must be at least 0, found ${number.toFixed()}`);
  const sort = read.word('sort');
  return {
    ...defined({
      since: read.optional<Time>('since'),
      until: read.optional<Time>('until'),
      limit,
      page,
      sort: sort === 'asc' || sort === 'desc' ? (sort as 'asc' | 'desc') : undefined,
    }),
    allPages: read.flag('all_pages'),
  };
}

/** Each value of a map, of whatever type: for `with`. */
function exprs(checking: Checking, node: Node | undefined): Readonly<Record<string, Expr>> {
  if (node?.kind !== 'map') return {};
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, checking.compiler.value(value, 'any')]));
}
