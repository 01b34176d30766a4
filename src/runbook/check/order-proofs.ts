/**
 * Reports what the constants of an order prove before any run: that it cannot be sent, or that the runbook's own limits
 * always deny it. Values known only during a run are checked then.
 */
import { countDigits, type Decimal, MOST_DIGITS } from '../../base/decimal.ts';
import type { Span } from '../../base/diagnostic.ts';
import { shorten } from '../../base/printable.ts';
import type { StepName } from '../checked.ts';
import type { Node } from '../document/nodes.ts';
import { listParsed } from '../expression/expression.ts';
import type { SyntaxNode } from '../expression/syntax.ts';
import { listParts, MACROS } from '../expression/tree.ts';
import { SLIP } from '../steps/exit.ts';
import type { Expr, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';
import type { FieldReader } from './field-reader.ts';

/** Checks that a price or size of an order is above zero, and that one which comes of a division or a product is rounded. */
export function checkFigure(
  checking: Checking,
  read: FieldReader,
  key: string,
  expr: Expr<Decimal> | undefined,
  code: 'size-not-positive' | 'price-not-positive',
): void {
  const value = checking.compiler.evaluateConstant(expr);
  if (expr === undefined) return;
  if (value !== undefined && !value.greaterThan(0))
    checking.report(read.locate(key), code, `${key} must be above zero, found ${value.toFixed()}`);
  else {
    const made =
      value !== undefined ? countDigits(value.toFixed()) > MOST_DIGITS && '/' : findUnrounded(checking.names, expr);
    if (made === false) return;
    const step = key === 'size' ? 'lot' : 'tick';
    checking.report(
      read.locate(key),
      made === '/' ? 'quotient-not-rounded' : 'product-not-rounded',
      `${key} comes of ${made === '/' ? 'a division' : 'a product'} and is not rounded: it is denied where it is no multiple of the ${step} of the market`,
      `Write ${step}(${shorten(expr.text.trim())}).`,
    );
  }
}

const ROUNDING: ReadonlySet<string> = new Set(['tick', 'lot', 'floor_to', 'ceil_to', 'round_to']);

/** The operation, also in lets and defs, that makes a value which nothing rounds: a division, or a product without a whole number. */
function findUnrounded(names: Checking['names'], expr: Expr, seen: ReadonlySet<Expr> = new Set()): '/' | '*' | false {
  // A name that is declared twice, which is reported, may be made of itself.
  if (seen.has(expr)) return false;
  const findNamed = (name: string): Expr | undefined => names.defs.get(name) ?? names.lets.get(name);
  const isWhole = (node: SyntaxNode, within: ReadonlySet<Expr>): boolean => {
    switch (node.op) {
      case 'value':
        return /^\d+$/.test(node.input.slice(node.start, node.end));
      case 'id': {
        const named = findNamed(node.args);
        if (named === undefined || within.has(named)) return isInteger(names.roots.get(node.args));
        const parsed = listParsed(named);
        return parsed.length > 0 && parsed.every(({ tree }) => isWhole(tree, new Set(within).add(named)));
      }
      case '.': {
        const holder = node.args[0].op === 'id' ? names.roots.get(node.args[0].args) : undefined;
        return holder?.kind === 'record' && isInteger(holder.fields[node.args[1]]);
      }
      case '?:':
        return isWhole(node.args[1], within) && isWhole(node.args[2], within);
      case 'call':
        return node.args[0] === 'size';
      case 'rcall':
        return node.args[0] === 'size';
      case '-_':
      case '+':
      case '-':
      case '*':
        return listParts(node).every((part) => isWhole(part, within));
      default:
        return false;
    }
  };
  const find = (node: SyntaxNode, items: readonly string[]): '/' | '*' | false => {
    const findIn = (parts: readonly SyntaxNode[]): '/' | '*' | false => {
      const found = parts.map((part) => find(part, items));
      return found.find((each) => each === '/') ?? found.find((each) => each !== false) ?? false;
    };
    switch (node.op) {
      case '/':
        return '/';
      case '*':
        return findIn(node.args) || (!node.args.some((part) => isWhole(part, new Set())) && '*');
      case 'id': {
        const named = items.includes(node.args) ? undefined : findNamed(node.args);
        return named !== undefined && findUnrounded(names, named, new Set(seen).add(expr));
      }
      case 'call':
        return !ROUNDING.has(node.args[0]) && findIn(node.args[1]);
      case 'rcall': {
        const [name, on, args] = node.args;
        if (!MACROS.has(name)) return findIn([on, ...args]);
        const [item, body] = args;
        // What the others ask of each item is not in their value.
        const isMapped = name === 'map' && item?.op === 'id' && body !== undefined;
        return findIn([on]) || (isMapped && find(body, [...items, item.args]));
      }
      case '?:':
        return findIn([node.args[1], node.args[2]]);
      case '[]':
      case '[?]':
        return findIn([node.args[0]]);
      default:
        return findIn(listParts(node));
    }
  };
  return (
    listParsed(expr)
      .map(({ tree }) => find(tree, []))
      .find((each) => each !== false) ?? false
  );
}

function isInteger(type: ValueType | undefined): boolean {
  return type?.kind === 'decimal' && type.integer === true;
}

export function checkHalted(checking: Checking, nameSpan: Span, name: StepName): void {
  if (checking.limits.mode === 'halted')
    checking.report(nameSpan, 'write-under-halted', `limits.mode is halted, which denies ${name}`);
}

export function checkMarket(checking: Checking, at: Node | undefined, market: Expr<string>): void {
  const id = checking.compiler.evaluateConstant(market);
  const { markets } = checking.limits;
  if (at !== undefined && id !== undefined && markets !== undefined && !markets.includes(id))
    checking.report(at, 'market-not-allowed', `${id} is not among limits.markets: ${markets.join(', ')}`);
}

export function checkSide(checking: Checking, at: Node | undefined, side: Expr<string>): void {
  const known = checking.compiler.evaluateConstant(side);
  const { sides } = checking.limits;
  if (at !== undefined && known !== undefined && sides !== undefined && !sides.includes(known))
    checking.report(at, 'side-not-allowed', `${known} is not among limits.sides: ${sides.join(', ')}`);
}

/** Compares a constant size and price with constant limits. An exit (`allow: reduce`) may exceed the notional caps. */
export function checkSize(
  checking: Checking,
  read: FieldReader,
  size: Expr<Decimal> | undefined,
  price: Expr<Decimal> | undefined,
  exit: boolean,
): void {
  const { maxOrderSize, maxOrderNotional, maxRunNotional } = checking.limits;
  const amount = checking.compiler.evaluateConstant(size);
  if (amount === undefined) return;
  const at = read.locate('size');
  if (maxOrderSize !== undefined && amount.greaterThan(maxOrderSize)) {
    checking.report(
      at,
      'order-over-limit',
      `size ${amount.toFixed()} is above limits.max_order_size, ${maxOrderSize.toFixed()}`,
    );
    return;
  }
  const worth = checking.compiler.evaluateConstant(price);
  if (worth === undefined || exit) return;
  const notional = amount.times(worth);
  const [name, cap] =
    maxOrderNotional !== undefined && notional.greaterThan(maxOrderNotional)
      ? ['max_order_notional', maxOrderNotional]
      : ['max_run_notional', maxRunNotional];
  if (cap !== undefined && notional.greaterThan(cap))
    checking.report(
      at,
      'order-over-limit',
      `size times price is ${notional.toFixed()}, above limits.${name}, ${cap.toFixed()}`,
    );
}

/** The band of a market, as far as it is the same in every run. */
function findBand(checking: Checking, market: Expr<string> | undefined) {
  const id = checking.compiler.evaluateConstant(market);
  return checking.limits.bands?.find((each) => each.market === undefined || each.market === id);
}

export function checkBand(checking: Checking, read: FieldReader, price: Expr<Decimal> | undefined): void {
  const { around, within } = findBand(checking, read.market) ?? {};
  const value = checking.compiler.evaluateConstant(price);
  if (
    around === undefined ||
    within === undefined ||
    value === undefined ||
    !value.minus(around).abs().greaterThan(around.times(within))
  )
    return;
  checking.report(
    read.locate('price'),
    'price-outside-band',
    `price ${value.toFixed()} is further than ${within.toFixed()} from ${around.toFixed()}, limits.price_band`,
  );
}

/** Compares how far a market exit may go with the band, whose reference is near the same price. */
export function checkSlip(
  checking: Checking,
  at: Span,
  step: StepName,
  market: Expr<string>,
  slip: Expr<Decimal> | undefined,
): void {
  const band = findBand(checking, market);
  const most = slip === undefined ? SLIP : checking.compiler.evaluateConstant(slip);
  if (band === undefined || most === undefined || !most.greaterThan(band.within)) return;
  const percent = (ratio: Decimal) => `${ratio.times(100).toFixed()}%`;
  checking.report(
    at,
    'slip-outside-band',
    `the market exit of ${step} may go ${percent(most)} from the price, and limits.price_band allows ${percent(band.within)}: it is denied, and the position stays`,
  );
}
