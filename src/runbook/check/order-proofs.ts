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
import type { Expr } from '../values.ts';
import type { Checking } from './checking.ts';
import type { FieldReader } from './field-reader.ts';

/** Checks that a price or size of an order is above zero, and that one which comes of a division is rounded. */
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
  else if (value === undefined ? divides(checking.names, expr) : countDigits(value.toFixed()) > MOST_DIGITS) {
    const step = key === 'size' ? 'lot' : 'tick';
    checking.report(
      read.locate(key),
      'quotient-not-rounded',
      `${key} comes of a division and is not rounded: it is denied where it is no multiple of the ${step} of the market`,
      `Write ${step}(${shorten(expr.text.trim())}).`,
    );
  }
}

const ROUNDING: ReadonlySet<string> = new Set(['tick', 'lot', 'floor_to', 'ceil_to', 'round_to']);

/** Whether a value comes of a division, also through lets and defs, that nothing rounds. */
function divides(names: Checking['names'], expr: Expr, seen: ReadonlySet<Expr> = new Set()): boolean {
  // A name that is declared twice, which is reported, may be made of itself.
  if (seen.has(expr)) return false;
  const isQuotient = (node: SyntaxNode, items: readonly string[]): boolean => {
    const isAny = (parts: readonly SyntaxNode[]): boolean => parts.some((part) => isQuotient(part, items));
    switch (node.op) {
      case '/':
        return true;
      case 'id': {
        const named = items.includes(node.args) ? undefined : (names.defs.get(node.args) ?? names.lets.get(node.args));
        return named !== undefined && divides(names, named, new Set(seen).add(expr));
      }
      case 'call':
        return !ROUNDING.has(node.args[0]) && isAny(node.args[1]);
      case 'rcall': {
        const [name, on, args] = node.args;
        if (!MACROS.has(name)) return isAny([on, ...args]);
        const [item, body] = args;
        // What the others ask of each item is not in their value.
        const isMapped = name === 'map' && item?.op === 'id' && body !== undefined;
        return isAny([on]) || (isMapped && isQuotient(body, [...items, item.args]));
      }
      case '?:':
        return isAny([node.args[1], node.args[2]]);
      case '[]':
      case '[?]':
        return isAny([node.args[0]]);
      default:
        return isAny(listParts(node));
    }
  };
  return listParsed(expr).some(({ tree }) => isQuotient(tree, []));
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
