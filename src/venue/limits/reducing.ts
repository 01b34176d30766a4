/**
 * Whether a write certainly only lowers exposure, which lets it past most of what binds others, and what would prove it
 * where nothing does yet. To take an order for an exit that is none would open a position that no cap was asked about.
 */
import { Decimal, decimalText } from '../../base/decimal.ts';
import { formatSpan } from '../../base/format.ts';
import type { Side } from '../records.ts';
import { type Case, Exact, exact, isFraction, ofMarket, workingOnSide } from './case.ts';

/** How far back a list of the account's fills must begin, and how old it may be, to say what is held. */
export const PROVING_LIST = { reachesBackMs: 86_400_000, speaksForMs: 120_000 } as const;

/**
 * A position stop, an amend that only shrinks, or an order against a position that is certainly there, which together with
 * all that works on its side can not turn it.
 */
export function lowers(at: Case): boolean {
  const { order } = at;
  if (order === undefined) return false;
  if (order.fraction || order.shrinks) return true;
  const left = closable(at, order.side);
  return left.gt(0) && order.rest.plus(workingOnSide(at, order.side)).lte(left);
}

/** Net size, long positive, of which it is certain that it is held; stops that work may still take of it. */
export function certainPosition({ facts, market }: Case): Decimal {
  return exact(ofMarket(facts.positions, market)?.certain ?? '0');
}

/** The furthest that the position may be to a side, counted as positive there. */
export function furthestPosition({ facts, market }: Case, side: Side): Decimal {
  const position = ofMarket(facts.positions, market);
  return side === 'long' ? exact(position?.most ?? '0') : exact(position?.least ?? '0').negated();
}

/** What would let a write pass as one that only lowers: said behind a denial that it would have been spared. */
export function whatWouldProve(at: Case): string {
  const { order, market } = at;
  const stops = order === undefined ? [] : stopsOn(at, order.side);
  if (stops.length > 0 && order !== undefined && against(at, order.side).gt(0)) {
    const names = stops.map((each) => each.orderId ?? each.clientOrderId).join(' ');
    return `the position stops that work (${names}) may take ${decimalText(taken(stops))} of the position first: cancel them, or refresh those that are over`;
  }
  const unread = ofMarket(at.facts.positions, market)?.unread ?? [];
  if (unread.length > 0) return `refresh ${unread.join(' ')}: how much was filled before it ended has not been read`;
  return (
    `what is held is proven by fills of this run's own orders, or by list_fills of ${market} with all_pages: true, ` +
    `from a day ago or earlier and read in the last ${formatSpan(PROVING_LIST.speaksForMs)}; a position stop passes in any case`
  );
}

/** How much of the position an order of this side may take off without turning it: what is certain, less what stops may take. */
function closable(at: Case, side: Side): Decimal {
  const left = new Exact(1).minus(taken(stopsOn(at, side)));
  return against(at, side).times(left);
}

function against(at: Case, side: Side): Decimal {
  const certain = certainPosition(at);
  const held = side === 'short' ? certain : certain.negated();
  return held.isNegative() ? new Exact(0) : held;
}

function stopsOn({ facts, market, order }: Case, side: Side) {
  return facts.working.filter(
    (each) => each !== order?.target && each.market === market && each.side === side && isFraction(each.type),
  );
}

/** The part of the position that stops may take between them: the whole at most. */
function taken(stops: ReturnType<typeof stopsOn>): Decimal {
  let part: Decimal = new Exact(0);
  for (const { fraction } of stops) part = part.plus(exact(fraction ?? '1'));
  return Decimal.min(part, 1);
}
