/**
 * Decides whether a write certainly only lowers exposure, which exempts it from most limits, and says what would prove it where
 * nothing does. An order wrongly called an exit would open a position that no cap was checked for.
 */
import { Decimal, formatDecimal } from '../../base/decimal.ts';
import { formatSpan } from '../../base/format.ts';
import type { Side } from '../records.ts';
import { type CheckedCase, Exact, exact, getForMarket, isFraction, sumWorkingOnSide } from './case.ts';

/** How far back a list of the account's fills must begin, and how old it may be, to prove a position. */
export const PROVING_LIST = { reachesBackMs: 86_400_000, speaksForMs: 120_000 } as const;

/**
 * Whether the write is a position stop, an amend that only shrinks, or an order against a proven position that it cannot
 * reverse, even together with all working orders on its side.
 */
export function lowers(at: CheckedCase): boolean {
  const { order } = at;
  if (order === undefined) return false;
  if (order.fraction || order.shrinks) return true;
  const left = computeClosable(at, order.side);
  return left.gt(0) && order.rest.plus(sumWorkingOnSide(at, order.side)).lte(left);
}

/** Net size that is certainly held, base currency, long positive; working stops may still close part of it. */
export function getCertainPosition({ facts, market }: CheckedCase): Decimal {
  return exact(getForMarket(facts.positions, market)?.certain ?? '0');
}

/** The furthest that the position may be to a side, base currency, counted positive on that side. */
export function getFurthestPosition({ facts, market }: CheckedCase, side: Side): Decimal {
  const position = getForMarket(facts.positions, market);
  return side === 'long' ? exact(position?.most ?? '0') : exact(position?.least ?? '0').negated();
}

/** Says what would prove that a write only lowers exposure; added to a denial that such a write would not have got. */
export function describeMissingProof(at: CheckedCase): string {
  const { order, market } = at;
  const stops = order === undefined ? [] : listStopsOn(at, order.side);
  if (stops.length > 0 && order !== undefined && computeOppositePosition(at, order.side).gt(0)) {
    const names = stops.map((each) => each.orderId ?? each.clientOrderId).join(' ');
    return `working position stops (${names}) may close ${formatDecimal(sumFractions(stops))} of the position first: cancel them, or refresh those that have ended`;
  }
  const unread = getForMarket(at.facts.positions, market)?.unread ?? [];
  if (unread.length > 0) return `refresh ${unread.join(' ')}: how much was filled before it ended has not been read`;
  return (
    `what is held is proven by fills of this run's own orders, or by list_fills of ${market} with all_pages: true, ` +
    `from a day ago or earlier and read in the last ${formatSpan(PROVING_LIST.speaksForMs)}; a position stop passes in any case`
  );
}

/** How much of the position an order of this side may close without reversing it: the certain part, less what stops may close. */
function computeClosable(at: CheckedCase, side: Side): Decimal {
  const left = new Exact(1).minus(sumFractions(listStopsOn(at, side)));
  return computeOppositePosition(at, side).times(left);
}

function computeOppositePosition(at: CheckedCase, side: Side): Decimal {
  const certain = getCertainPosition(at);
  const held = side === 'short' ? certain : certain.negated();
  return held.isNegative() ? new Exact(0) : held;
}

function listStopsOn({ facts, market, order }: CheckedCase, side: Side) {
  return facts.working.filter(
    (each) => each !== order?.target && each.market === market && each.side === side && isFraction(each.type),
  );
}

/** The part of the position that stops may close together, at most 1. */
function sumFractions(stops: ReturnType<typeof listStopsOn>): Decimal {
  let part: Decimal = new Exact(0);
  for (const { fraction } of stops) part = part.plus(exact(fraction ?? '1'));
  return Decimal.min(part, 1);
}
