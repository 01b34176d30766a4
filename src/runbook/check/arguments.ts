/**
 * Compiles the arguments of the steps that call the venue, and reports what their constants prove. One function for each
 * step; types and words come from the step table.
 */

import { Decimal } from '../../base/decimal.ts';
import { omitUndefined } from '../../base/json.ts';
import type { OrderType, TimeInForce } from '../../venue/records.ts';
import type { ProtectLeg, StepName, StepOf } from '../checked.ts';
import type { Node } from '../document/nodes.ts';
import { deriveMarket, FAULTY } from '../expression/compiler.ts';
import { findTree } from '../expression/expression.ts';
import { makeOptional } from '../expression/scope.ts';
import { spell } from '../expression/tree.ts';
import { makeRecordType, ORDER } from '../functions/records.ts';
import { MARKET_TYPE } from '../shapes.ts';
import { READABLE_ORDERS } from '../steps/readings.ts';
import { getStepRow, type VenueStepName } from '../steps/steps.ts';
import type { Duration, Expr, RecordValue, Time, Value, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';
import { checkTimeout, getScalarText } from './declarations.ts';
import {
  chooseMapShape,
  FieldReader,
  getFieldsShape,
  getYieldedType,
  isOrderOrId,
  reportMismatch,
} from './field-reader.ts';
import { checkBand, checkFigure, checkHalted, checkMarket, checkSide, checkSize, checkSlip } from './order-proofs.ts';
import { type LegPlace, lintFeedSide, lintRoom, lintStops } from './stops.ts';

/** What the check of a step's arguments needs to know about the step around them. */
export interface Circumstances {
  /** Whether the step has a time-out. */
  readonly timesOut: boolean;
  /** The step's name in the text, to point at when no single argument is wrong. */
  readonly nameSpan: { readonly start: number; readonly end: number };
  readonly allow: string | undefined;
}

export interface BuiltArgs<V extends StepName> {
  readonly args: StepOf<V>['args'];
  /** The type of the step's id; undefined if it yields nothing. */
  readonly yields: ValueType | undefined;
  /** What its id names where it has failed, if that is less. */
  readonly partial?: ValueType;
}

type Builder<V extends StepName> = (checking: Checking, node: Node, circumstances: Circumstances) => BuiltArgs<V>;

export function buildVenueArgs(
  checking: Checking,
  stepName: VenueStepName,
  node: Node,
  circumstances: Circumstances,
): Omit<BuiltArgs<VenueStepName>, 'args'> & { readonly args: object } {
  const build = BUILDERS[stepName] as Builder<VenueStepName> | undefined;
  return (
    build?.(checking, node, circumstances) ?? {
      args: compileFields(checking, stepName, node),
      yields: getYieldedType(stepName),
    }
  );
}

/** The steps with more to check than the types of their arguments. */
const BUILDERS: { readonly [V in VenueStepName]?: Builder<V> } = {
  place,
  protect,
  manage,
  close,
  amend,
  cancel,
  cancel_all: (checking, _node, { nameSpan }) => {
    if (!checking.needs.includes('cancel_all'))
      checking.report(nameSpan, 'cancel-all-not-granted', 'cancel_all needs `needs: [cancel_all]` in the file');
    return { args: { everyone: true }, yields: getYieldedType('cancel_all') };
  },
  set_leverage: setLeverage,
  list_orders: listOrders,
  list_fills: listFills,
  refresh: (checking, node) => {
    const { compiler } = checking;
    return isList(checking, node)
      ? {
          args: { kind: 'list', orders: compiler.compile<readonly RecordValue[]>(node, ORDER_LIST) },
          yields: ORDER_LIST,
        }
      : { args: { kind: 'order', order: compiler.compile<RecordValue>(node, ORDER) }, yields: ORDER };
  },
  arm_deadman: (checking, node) => {
    const read = new FieldReader(checking, node, getFieldsShape('arm_deadman'));
    const timeout = read.compile<Duration>('timeout');
    checkTimeout(checking, read.find('timeout'), checking.compiler.evaluateConstant(timeout));
    return { args: { market: read.compile<string>('market'), timeout }, yields: getYieldedType('arm_deadman') };
  },
  request: (checking, node) => {
    const name = node.kind === 'map' ? (getScalarText(node.get('name')) ?? '') : '';
    return {
      args: { name, with: compileEach(checking, node.kind === 'map' ? node.get('with') : undefined) },
      yields: Object.hasOwn(checking.requests, name) ? checking.requests[name] : undefined,
    };
  },
};

/** Compiles the fields of a step as the table types them; each argument has the name of its field. */
function compileFields(checking: Checking, stepName: VenueStepName, node: Node): object {
  const shape = getFieldsShape(stepName);
  const read = new FieldReader(checking, node, shape);
  return omitUndefined(
    Object.fromEntries(
      Object.entries(shape.fields).map(([name, { required }]) => [
        name,
        required ? read.compile(name) : read.compileOptional(name),
      ]),
    ),
  );
}

function place(checking: Checking, node: Node, { nameSpan, allow }: Circumstances): BuiltArgs<'place'> {
  const type = (node.kind === 'map' ? getScalarText(node.get('type')) : undefined) as OrderType | undefined;
  const shape = getStepRow('place').takes;
  const variant =
    shape.kind === 'variants' && type !== undefined && Object.hasOwn(shape.variants, type)
      ? shape.variants[type]
      : undefined;
  if (variant === undefined || type === undefined) return { args: NO_ORDER, yields: ORDER };
  const read = new FieldReader(checking, node, variant);
  const market = read.compile<string>('market');
  read.market = market;
  const side = read.compile<string>('side');
  const size = read.compile<Decimal>('size');
  const price = read.compileOptional<Decimal>('price');
  const trigger = read.compileOptional<Decimal>('trigger');
  const tif = (read.readWord('tif') ?? (type === 'market' ? 'immediate_or_cancel' : 'good_till_cancel')) as TimeInForce;
  const onAmbiguous = read.readWord('on_ambiguous') === 'resend' ? 'resend' : 'halt';
  const reduces = allow === 'reduce' || checking.limits.mode === 'reducing';

  checkHalted(checking, nameSpan, 'place');
  checkMarket(checking, read.find('market'), market);
  if (!reduces) checkSide(checking, read.find('side'), side);
  checkFigure(checking, read, 'size', size, 'size-not-positive');
  checkFigure(checking, read, 'price', price, 'price-not-positive');
  checkFigure(checking, read, 'trigger', trigger, 'price-not-positive');
  checkSize(checking, read, size, price, allow === 'reduce');
  checkBand(checking, read, price);
  const stopAt = read.find('price');
  if (type === 'stop_limit' && reduces && trigger !== undefined && price !== undefined && stopAt !== undefined)
    lintRoom(checking, { side, trigger, price, at: stopAt });
  const isStop = type === 'stop_limit' || type === 'stop_market';
  const [bound, boundAt] = isStop ? [trigger, read.find('trigger')] : [price, stopAt];
  if ((isStop || type === 'market') && bound !== undefined && boundAt !== undefined)
    lintFeedSide(checking, { side, price: bound, at: boundAt, isStop });
  if (type === 'market' && price === undefined)
    checking.report(
      nameSpan,
      'market-order-without-price',
      'a market order without a price: the venue document does not say whether that is allowed',
    );
  if (type === 'market' && (tif === 'good_till_cancel' || tif === 'post_only'))
    checking.report(
      read.find('tif') ?? nameSpan,
      'market-order-may-rest',
      `a market order with tif ${tif} may rest in the book`,
    );
  if (onAmbiguous === 'resend' && !(type === 'limit' && (tif === 'good_till_cancel' || tif === 'post_only')))
    checking.report(
      read.find('on_ambiguous') ?? nameSpan,
      'resend-not-safe',
      `on_ambiguous: resend is only for good-till-cancel and post-only limit orders, this is a ${type} order with ${tif}`,
    );
  return {
    args: {
      type,
      market,
      side,
      size,
      ...omitUndefined({ price, trigger, tag: read.readWord('tag') }),
      tif,
      onAmbiguous,
    },
    yields: ORDER,
  };
}

/** Placeholder arguments of an order of unknown type; a runbook with such an order is never returned. */
const NO_ORDER: StepOf<'place'>['args'] = {
  type: 'limit',
  market: FAULTY,
  side: FAULTY,
  size: FAULTY,
  tif: 'good_till_cancel',
  onAmbiguous: 'halt',
};

function protect(checking: Checking, node: Node, { nameSpan }: Circumstances): BuiltArgs<'protect'> {
  const read = new FieldReader(checking, node, getFieldsShape('protect'));
  const { market, side, stopLoss, takeProfit } = readLegs(checking, read);
  checkHalted(checking, nameSpan, 'protect');
  const legs = { ...(stopLoss && { stop_loss: ORDER }), ...(takeProfit && { take_profit: ORDER }) };
  const maybe = { stop_loss: makeOptional(ORDER), take_profit: makeOptional(ORDER) };
  return {
    args: { market, side, ...omitUndefined({ stopLoss, takeProfit }) },
    yields: makeRecordType(stopLoss && takeProfit ? 'Protection' : stopLoss ? 'StopLoss' : 'TakeProfit', legs),
    // One leg may be there when the other one fails.
    ...(stopLoss && takeProfit ? { partial: makeRecordType('PartProtection', maybe) } : {}),
  };
}

/** The market and the side of protective orders, with their legs. */
function readLegs(checking: Checking, read: FieldReader) {
  const market = read.compile<string>('market');
  const readLeg = (key: string): ProtectLeg | undefined => {
    const inner = enterFields(checking, read, key);
    if (inner === undefined) return undefined;
    inner.market = market;
    const fraction = inner.compileOptional<Decimal>('fraction') ?? WHOLE;
    const known = checking.compiler.evaluateConstant(fraction);
    if (known !== undefined && !(known.greaterThan(0) && known.lessThanOrEqualTo(1)))
      checking.report(
        inner.locate('fraction'),
        'fraction-out-of-range',
        `fraction must be above 0 and at most 1, found ${known.toFixed()}`,
      );
    const trigger = inner.compile<Decimal>('trigger');
    const price = inner.compile<Decimal>('price');
    checkFigure(checking, inner, 'trigger', trigger, 'price-not-positive');
    checkFigure(checking, inner, 'price', price, 'price-not-positive');
    return { fraction, trigger, price };
  };
  const side = read.compile<string>('side');
  const stopLoss = readLeg('stop_loss');
  const takeProfit = readLeg('take_profit');
  checkMarket(checking, read.find('market'), market);
  // In block style the place of a map is that of its first key.
  const findPrice = (key: string, price: 'trigger' | 'price'): Node | undefined => {
    const at = read.find(key);
    return at?.kind === 'map' ? (at.get(price) ?? at) : at;
  };
  const locateLeg = (leg: ProtectLeg | undefined, key: string): LegPlace | undefined => {
    const at = findPrice(key, 'trigger');
    return leg === undefined || at === undefined ? undefined : { leg, at };
  };
  const stopAt = findPrice('stop_loss', 'price');
  // What escalates is closed at the market where its stop stays unfilled.
  const mayStay = read.find('escalate') === undefined;
  if (stopLoss !== undefined && stopAt !== undefined && mayStay) lintRoom(checking, { side, ...stopLoss, at: stopAt });
  lintStops(checking, side, locateLeg(stopLoss, 'stop_loss'), locateLeg(takeProfit, 'take_profit'));
  return { market, side, stopLoss, takeProfit };
}

/** The reader of a map inside a step's map; undefined where it is not written. */
function enterFields(checking: Checking, read: FieldReader, key: string): FieldReader | undefined {
  const at = read.find(key);
  const shape = read.findShape(key);
  return at === undefined || shape?.kind !== 'fields' ? undefined : new FieldReader(checking, at, shape);
}

/** The whole position. */
const WHOLE: Expr<Decimal> = {
  text: '1',
  type: { kind: 'decimal', unit: 'number' },
  reads: [],
  constant: true,
  evaluate: () => new Decimal(1),
};

function manage(checking: Checking, node: Node, { nameSpan, timesOut }: Circumstances): BuiltArgs<'manage'> {
  const read = new FieldReader(checking, node, getFieldsShape('manage'));
  const { market, side, stopLoss, takeProfit } = readLegs(checking, read);
  checkHalted(checking, nameSpan, 'manage');
  const share = checking.compiler.evaluateConstant(stopLoss?.fraction);
  if (stopLoss !== undefined && stopLoss.fraction !== FAULTY && !share?.equals(1))
    checking.report(
      read.locate('stop_loss'),
      'fraction-out-of-range',
      `the stop-loss of manage is for the whole position: its fraction is 1, found ${stopLoss.fraction.text}`,
    );
  const ratio = (inner: FieldReader, key: string, least: 'above 0' | 'at least 0') =>
    checkRatio(checking, inner, key, inner.compile<Decimal>(key), least);
  const [trail, breakEven, escalate] = ['trail', 'break_even', 'escalate'].map((key) =>
    enterFields(checking, read, key),
  );
  const timeLimit = read.compileOptional<Duration>('time_limit');
  if (timeLimit === undefined && !timesOut)
    checking.report(
      nameSpan,
      'manage-without-end',
      'nothing says how long manage may hold the position: the plan has no bound',
    );
  const followed = trail?.compileOptional<Decimal>('feed');
  const written = read.compileOptional<Decimal>('feed');
  const feed = written ?? followed ?? compileOnlyPrice(checking, node, market);
  if (feed === undefined && (trail !== undefined || breakEven !== undefined))
    checking.report(
      nameSpan,
      'manage-without-price',
      'trail and break_even of manage follow the price of the market, and nothing says which feed that is',
    );
  const escalated = escalate && {
    after: escalate.compile<Duration>('after'),
    slip: ratio(escalate, 'slip', 'at least 0'),
  };
  if (timeLimit !== undefined || escalate !== undefined) {
    checkExitPrice(checking, nameSpan, 'manage', feed);
    checkSlip(checking, nameSpan, 'manage', market, escalated?.slip);
  }
  return {
    args: {
      market,
      side,
      ...omitUndefined({
        stopLoss,
        takeProfit,
        feed,
        trail: trail && { by: ratio(trail, 'by', 'above 0'), step: ratio(trail, 'step', 'at least 0') },
        breakEven: breakEven && {
          after: ratio(breakEven, 'after', 'above 0'),
          offset: ratio(breakEven, 'offset', 'at least 0'),
        },
        timeLimit,
        escalate: escalated,
      }),
    },
    yields: getYieldedType('manage'),
  };
}

function close(checking: Checking, node: Node, { nameSpan }: Circumstances): BuiltArgs<'close'> {
  checkHalted(checking, nameSpan, 'close');
  if (node.kind !== 'map') {
    const market = checking.compiler.compile<string>(node, MARKET_TYPE);
    checkMarket(checking, node, market);
    const feed = compileOnlyPrice(checking, node, market);
    checkExitPrice(checking, nameSpan, 'close', feed);
    checkSlip(checking, nameSpan, 'close', market, undefined);
    return { args: { market, ...omitUndefined({ feed }) }, yields: undefined };
  }
  const read = new FieldReader(checking, node, chooseMapShape('close', node));
  const market = read.compile<string>('market');
  checkMarket(checking, read.find('market'), market);
  read.market = market;
  const feed = read.compileOptional<Decimal>('feed') ?? compileOnlyPrice(checking, node, market);
  checkExitPrice(checking, nameSpan, 'close', feed);
  const slip = read.compileOptional<Decimal>('slip');
  if (slip !== undefined) checkRatio(checking, read, 'slip', slip, 'at least 0');
  checkSlip(checking, nameSpan, 'close', market, slip);
  return { args: { market, ...omitUndefined({ feed, slip }) }, yields: undefined };
}

function checkRatio(
  checking: Checking,
  read: FieldReader,
  key: string,
  expr: Expr<Decimal>,
  least: 'above 0' | 'at least 0',
): Expr<Decimal> {
  const known = checking.compiler.evaluateConstant(expr);
  const isBelow = least === 'above 0' ? known?.lessThanOrEqualTo(0) : known?.lessThan(0);
  if (isBelow || known?.greaterThanOrEqualTo(1))
    checking.report(
      read.locate(key),
      'ratio-out-of-range',
      `${key} is a ratio ${least} and below 1, found ${known?.toFixed()}`,
    );
  return expr;
}

function checkExitPrice(
  checking: Checking,
  at: Circumstances['nameSpan'],
  step: StepName,
  feed: Expr<Decimal> | undefined,
): void {
  if (feed === undefined)
    checking.report(
      at,
      'market-order-without-price',
      `without a price feed the market exit of ${step} has no price: the venue document does not say whether that is allowed`,
      'Declare a price feed, or give it as `feed:`, such as feeds.mid, or "feeds.mid[MARKET]" of a feed by market; the only one of a runbook is found without it.',
    );
}

/** The only feed of the runbook that gives a price of this market: one of the runbook's market, or one by market. */
function compileOnlyPrice(checking: Checking, { span }: Node, market: Expr<string>): Expr<Decimal> | undefined {
  const feeds = checking.names.roots.get('feeds');
  const all = Object.entries(feeds?.kind === 'record' ? feeds.fields : {});
  const isPrice = (type: ValueType | undefined) => type?.kind === 'decimal' && type.unit === 'price';
  const single = isOtherMarket(checking, market)
    ? []
    : all.filter(([, type]) => isPrice(type)).map(([name]) => `feeds.${name}`);
  const key = nameMarketKey(checking, market);
  const byMarket = all.flatMap(([name, type]) =>
    type.kind === 'map' && isPrice(type.of) && key !== undefined ? [`feeds.${name}[${key}]`] : [],
  );
  const [text, ...others] = single.length > 0 ? single : byMarket;
  if (text === undefined || others.length > 0) return undefined;
  const node = { kind: 'scalar', span, text, style: 'plain', type: 'text', offset: () => span.start } as const;
  return checking.compiler.compile<Decimal>(node, { kind: 'decimal', unit: 'price' });
}

/** Whether a feed that is not by market is certainly the price of another market: an exit at that price never fills, or has no bound. */
function isOtherMarket({ compiler }: Checking, market: Expr<string>): boolean {
  const [own, known] = [compiler.market, market].map((expr) => compiler.evaluateConstant(expr));
  return own !== undefined && known !== undefined && own !== known;
}

/** A market as the key of an index; undefined for one that is put together of several parts. */
function nameMarketKey(checking: Checking, market: Expr<string>): string | undefined {
  const known = checking.compiler.evaluateConstant(market);
  const tree = findTree(market);
  return known === undefined ? tree && spell(tree) : `'${known}'`;
}

function amend(checking: Checking, node: Node, { nameSpan }: Circumstances): BuiltArgs<'amend'> {
  const read = new FieldReader(checking, node, getFieldsShape('amend'));
  const order = read.compile<RecordValue>('order');
  read.market = deriveMarket(order);
  const price = read.compile<Decimal>('price');
  const size = read.compileOptional<Decimal>('size');
  checkHalted(checking, nameSpan, 'amend');
  checkFigure(checking, read, 'price', price, 'price-not-positive');
  checkFigure(checking, read, 'size', size, 'size-not-positive');
  checkSize(checking, read, size, price, false);
  checkBand(checking, read, price);
  return { args: { order, price, ...omitUndefined({ size }) }, yields: ORDER };
}

function cancel(checking: Checking, node: Node): BuiltArgs<'cancel'> {
  const { compiler } = checking;
  if (isList(checking, node))
    return { args: { kind: 'ids', ids: compiler.compile<readonly Value[]>(node, ORDER_LIST) }, yields: undefined };
  if (node.kind !== 'map')
    return { args: { kind: 'order', order: compiler.compile<RecordValue>(node, ORDER) }, yields: ORDER };
  const shape = chooseMapShape('cancel', node);
  const read = new FieldReader(checking, node, shape);
  if (node.get('mine') !== undefined)
    return { args: { kind: 'mine', market: read.compile<string>('mine') }, yields: undefined };
  const ids = read.compile<readonly Value[]>('ids');
  if ((ids as Expr) !== FAULTY && (ids.type.kind !== 'list' || !isOrderOrId(ids.type.of)))
    reportMismatch(checking, read.find('ids') ?? node, 'ids takes a list of orders or order ids', ids.type);
  return { args: { kind: 'ids', ids }, yields: undefined };
}

/** Whether a list is written, or an expression whose value is one. */
function isList(checking: Checking, node: Node): boolean {
  return node.kind === 'list' || checking.compiler.peekType(node)?.kind === 'list';
}

const ORDER_LIST: ValueType = { kind: 'list', of: ORDER };

function setLeverage(checking: Checking, node: Node, { nameSpan }: Circumstances): BuiltArgs<'set_leverage'> {
  const read = new FieldReader(checking, node, getFieldsShape('set_leverage'));
  const market = read.compile<string>('market');
  const at = read.find('leverage');
  const literal = at?.kind === 'scalar' && at.type === 'number' ? at.text : undefined;
  checkHalted(checking, nameSpan, 'set_leverage');
  checkMarket(checking, read.find('market'), market);
  // A fractional literal is a leverage out of range before it is a number of the wrong type.
  if (literal?.includes('.')) {
    checking.report(
      at ?? node,
      'leverage-out-of-range',
      `leverage must be a whole number from 1 to 20, found ${literal}`,
    );
    return { args: { market, leverage: FAULTY }, yields: getYieldedType('set_leverage') };
  }
  const leverage = read.compile<Decimal>('leverage');
  const value = checking.compiler.evaluateConstant(leverage);
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
  return { args: { market, leverage }, yields: getYieldedType('set_leverage') };
}

function listOrders(checking: Checking, node: Node, { nameSpan }: Circumstances): BuiltArgs<'list_orders'> {
  const read = new FieldReader(checking, node, getFieldsShape('list_orders'));
  if (read.find('since') === undefined)
    checking.report(
      nameSpan,
      'read-without-since',
      'list_orders without `since` reads the whole history, up to ten times slower',
    );
  const args = {
    ...omitUndefined({
      market: read.compileOptional<string>('market'),
      status: read.compileOptional<string>('status'),
      order: read.compileOrderOrId(),
      clientOrderId: read.compileOptional<string>('client_order_id'),
    }),
    skipUnread: read.readFlag('skip_unread'),
    ...readPeriod(checking, read),
  };
  return { args, yields: args.skipUnread ? READABLE_ORDERS : getYieldedType('list_orders') };
}

function listFills(checking: Checking, node: Node, { nameSpan }: Circumstances): BuiltArgs<'list_fills'> {
  const read = new FieldReader(checking, node, getFieldsShape('list_fills'));
  const order = read.compileOrderOrId();
  if (read.find('since') === undefined && read.find('order') === undefined)
    checking.report(
      nameSpan,
      'read-without-since',
      'list_fills without `since` reads the whole history, up to ten times slower',
    );
  return {
    args: {
      ...omitUndefined({ market: read.compileOptional<string>('market'), order }),
      ...readPeriod(checking, read),
    },
    yields: getYieldedType('list_fills'),
  };
}

function readPeriod(checking: Checking, read: FieldReader) {
  const limit = read.compileOptional<Decimal>('limit');
  const page = read.compileOptional<Decimal>('page');
  const rows = checking.compiler.evaluateConstant(limit);
  if (rows !== undefined && !(rows.greaterThanOrEqualTo(1) && rows.lessThanOrEqualTo(1000)))
    checking.report(
      read.locate('limit'),
      'rows-out-of-range',
      `limit must be a whole number from 1 to 1000, found ${rows.toFixed()}`,
    );
  const number = checking.compiler.evaluateConstant(page);
  if (number?.lessThan(0))
    checking.report(read.locate('page'), 'rows-out-of-range', `page must be at least 0, found ${number.toFixed()}`);
  const sort = read.readWord('sort');
  return {
    ...omitUndefined({
      since: read.compileOptional<Time>('since'),
      until: read.compileOptional<Time>('until'),
      limit,
      page,
      sort: sort === 'asc' || sort === 'desc' ? (sort as 'asc' | 'desc') : undefined,
    }),
    allPages: read.readFlag('all_pages'),
  };
}

/** Compiles each value of a map, of any type: for `with`. */
function compileEach(checking: Checking, node: Node | undefined): Readonly<Record<string, Expr>> {
  if (node?.kind !== 'map') return {};
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, checking.compiler.compile(value, 'any')]));
}
