/**
 * Adds up a blotter by average cost in fractions of whole numbers, from its JSON alone: another program than the one under
 * test, without a decimal library.
 */
interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

interface BlotterRow {
  readonly account: string;
  readonly market: string;
  readonly side: string;
  readonly size: string;
  readonly price: string;
  readonly fee: string;
}

export interface ExactSum {
  /** Net, long positive. */
  size: Fraction;
  realized: Fraction;
  fees: Fraction;
  fills: number;
}

const ZERO: Fraction = { n: 0n, d: 1n };

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b);
}
function reduce(n: bigint, d: bigint): Fraction {
  const by = gcd(n, d) * (d < 0n ? -1n : 1n);
  return { n: n / by, d: d / by };
}
function read(text: string): Fraction {
  const [whole = '', places = ''] = text.split('.');
  return reduce(BigInt(whole + places), 10n ** BigInt(places.length));
}
const plus = (a: Fraction, b: Fraction) => reduce(a.n * b.d + b.n * a.d, a.d * b.d);
const minus = (a: Fraction, b: Fraction) => plus(a, { n: -b.n, d: b.d });
const times = (a: Fraction, b: Fraction) => reduce(a.n * b.n, a.d * b.d);
const absolute = ({ n, d }: Fraction): Fraction => ({ n: n < 0n ? -n : n, d });
const least = (a: Fraction, b: Fraction) => (a.n * b.d < b.n * a.d ? a : b);

/** Realised PnL, fees and number of fills by key; the fills must be in the order of the blotter. */
export function addUp<R extends BlotterRow>(
  fills: readonly R[],
  keyOf: (fill: R) => string,
): ReadonlyMap<string, ExactSum> {
  const held = new Map<string, { size: Fraction; entry: Fraction }>();
  const sums = new Map<string, ExactSum>();
  for (const fill of fills) {
    const id = `${fill.account} ${fill.market}`;
    const { size, entry } = held.get(id) ?? { size: ZERO, entry: ZERO };
    const [traded, price] = [read(fill.size), read(fill.price)];
    const direction = fill.side === 'long' ? 1n : -1n;
    const against = size.n * direction < 0n;
    const closed = against ? least(absolute(size), traded) : ZERO;
    const gain = times(closed, times({ n: -direction, d: 1n }, minus(price, entry)));
    const opened = minus(traded, closed);
    const after = plus(size, times({ n: direction, d: 1n }, traded));
    const cost = plus(times(absolute(size), entry), times(opened, price));
    const grown = plus(absolute(size), opened);
    const averaged = grown.n === 0n ? ZERO : times(cost, { n: grown.d, d: grown.n });
    // What only closes keeps its entry; what goes through zero has the price of the fill.
    const through = against && after.n * size.n <= 0n;
    held.set(id, { size: after, entry: against ? (through ? price : entry) : averaged });
    const sum = sums.get(keyOf(fill)) ?? { size: ZERO, realized: ZERO, fees: ZERO, fills: 0 };
    sums.set(keyOf(fill), {
      size: plus(sum.size, times({ n: direction, d: 1n }, traded)),
      realized: plus(sum.realized, gain),
      fees: plus(sum.fees, read(fill.fee)),
      fills: sum.fills + 1,
    });
  }
  return sums;
}

/** Whether a printed decimal is the fraction, to 18 places. */
export function isPrinted(text: string, exact: Fraction): boolean {
  const difference = minus(read(text), exact);
  return absolute(difference).n * 10n ** 18n <= difference.d;
}
