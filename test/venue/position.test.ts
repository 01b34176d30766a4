import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Decimal, decimal, formatDecimal } from '../../src/base/decimal.ts';
import {
  addTrade,
  computeUnrealized,
  FLAT,
  getAverageEntry,
  type Position,
} from '../../src/venue/position/position.ts';
import { PositionBook } from '../../src/venue/position/position-book.ts';
import type { FillRecord } from '../../src/venue/records.ts';
import { fill } from './order-samples.ts';

type Row = readonly [side: 'long' | 'short', size: string, price: string, fee?: string];

const fold = (...rows: readonly Row[]): Position =>
  rows.reduce((position, [side, size, price, fee = '0']) => addTrade(position, { side, size, price, fee }), FLAT);
const show = (position: Position) => [
  formatDecimal(position.size),
  getAverageEntry(position),
  formatDecimal(position.realized),
  formatDecimal(position.fees),
];

describe('a position', () => {
  it.each<[string, readonly Row[], ReturnType<typeof show>]>([
    ['opened', [['long', '0.2', '100', '0.01']], ['0.2', '100', '0', '0.01']],
    [
      'added to',
      [
        ['long', '1', '100'],
        ['long', '3', '104'],
      ],
      ['4', '103', '0', '0'],
    ],
    [
      'closed in part',
      [
        ['long', '4', '103'],
        ['short', '1', '110', '-0.5'],
      ],
      ['3', '103', '7', '-0.5'],
    ],
    [
      'closed',
      [
        ['short', '2', '50'],
        ['long', '2', '45'],
      ],
      ['0', undefined, '10', '0'],
    ],
    [
      'turned from long to short',
      [
        ['long', '1', '100'],
        ['short', '3', '90'],
      ],
      ['-2', '90', '-10', '0'],
    ],
    [
      'turned from short to long',
      [
        ['short', '1', '100'],
        ['long', '1.5', '90'],
      ],
      ['0.5', '90', '10', '0'],
    ],
    [
      'closed by thirds',
      [
        ['long', '3', '100'],
        ['short', '1', '101'],
        ['short', '1', '101'],
        ['short', '1', '101'],
      ],
      ['0', undefined, '3', '0'],
    ],
  ])('%s', (_what, rows, shown) => {
    expect(show(fold(...rows))).toEqual(shown);
  });

  it('gains what the price moves', () => {
    const short = fold(['short', '2', '50']);
    expect(formatDecimal(computeUnrealized(short, decimal('48')))).toBe('4');
    expect(formatDecimal(computeUnrealized(FLAT, decimal('48')))).toBe('0');
  });
});

/** A fraction of two whole numbers, reduced nowhere: independent of any decimal library. */
interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}
const of = (text: string): Fraction => {
  const [whole = '', places = ''] = text.split('.');
  return { n: BigInt(whole + places), d: 10n ** BigInt(places.length) };
};
const plus = (a: Fraction, b: Fraction): Fraction => ({ n: a.n * b.d + b.n * a.d, d: a.d * b.d });
const times = (a: Fraction, b: Fraction): Fraction => ({ n: a.n * b.n, d: a.d * b.d });
const over = (a: Fraction, b: Fraction): Fraction =>
  b.n < 0n ? { n: -a.n * b.d, d: a.d * -b.n } : { n: a.n * b.d, d: a.d * b.n };
const minus = (a: Fraction): Fraction => ({ n: -a.n, d: a.d });
const toDecimal = ({ n, d }: Fraction) => new Decimal(n.toString()).div(new Decimal(d.toString())).toDecimalPlaces(18);

/** The same, lot by lot: every fill is cut into units, and each unit opens, or closes one at the average of those held. */
function countUnits(rows: readonly Row[]): { net: number; average: Fraction | undefined; realized: Fraction } {
  let net = 0;
  let average: Fraction = of('0');
  let realized: Fraction = of('0');
  for (const [side, size, price] of rows) {
    const step = side === 'long' ? 1 : -1;
    for (let unit = 0; unit < Number(size); unit += 1) {
      if (net * step >= 0) {
        const held = Math.abs(net);
        average = over(plus(times(average, of(String(held))), of(price)), of(String(held + 1)));
      } else {
        const gain = plus(of(price), minus(average));
        realized = plus(realized, step < 0 ? gain : minus(gain));
      }
      net += step;
      if (net === 0) average = of('0');
    }
  }
  return { net, average: net === 0 ? undefined : average, realized };
}

const anyRow = fc
  .tuple(
    fc.constantFrom('long' as const, 'short' as const),
    fc.integer({ min: 1, max: 6 }),
    fc.integer({ min: 1, max: 999 }),
  )
  .map(([side, size, price]): Row => [side, String(size), `${price}.${price % 10}`]);

describe('any fills', () => {
  it('come to what an exact count unit by unit comes to', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 12 }), (rows) => {
        const position = fold(...rows);
        const { net, average, realized } = countUnits(rows);
        expect(formatDecimal(position.size)).toBe(String(net));
        expect(getAverageEntry(position)).toBe(average === undefined ? undefined : formatDecimal(toDecimal(average)));
        expect(formatDecimal(position.realized.toDecimalPlaces(18))).toBe(formatDecimal(toDecimal(realized)));
      }),
    );
  });

  it('are worth what they brought, whatever was realised on the way', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 12 }), fc.integer({ min: 1, max: 999 }), (rows, last) => {
        const position = fold(...rows);
        const cash = rows.reduce((sum, [side, size, price]) => {
          const value = decimal(size).times(decimal(price));
          return side === 'long' ? sum.minus(value) : sum.plus(value);
        }, new Decimal(0));
        const worth = position.realized.plus(computeUnrealized(position, new Decimal(last)));
        expect(
          worth
            .minus(cash.plus(position.size.times(last)))
            .abs()
            .lt('1e-40'),
        ).toBe(true);
      }),
    );
  });
});

describe('a position book', () => {
  const anyFills = fc
    .array(fc.tuple(anyRow, fc.integer({ min: 0, max: 5 })), { maxLength: 10 })
    .map((rows) =>
      rows.map(
        ([[side, size, price], at], index): FillRecord => fill(String(index), size, { side, price, timestamp: at }),
      ),
    );

  it('holds the fills in the order in which they traded, whenever they are read, each once', () => {
    fc.assert(
      fc.property(
        anyFills.chain((fills) =>
          fc.tuple(fc.constant(fills), fc.shuffledSubarray([...fills, ...fills], { minLength: fills.length * 2 })),
        ),
        ([fills, read]) => {
          const book = new PositionBook();
          for (const each of read) book.add('BTC-USD', each);
          const trades = book.trades('BTC-USD');
          // Those of one instant in the order of their numbers, which is that of the list.
          expect(trades.map((trade) => trade.fill.id)).toEqual(
            [...fills].sort((a, b) => a.timestamp - b.timestamp).map((each) => each.id),
          );
          let after: Position = FLAT;
          for (const trade of trades) {
            after = addTrade(after, trade.fill);
            expect(show(trade.after)).toEqual(show(after));
          }
          expect(show(book.position('BTC-USD'))).toEqual(show(after));
        },
      ),
    );
  });

  it('holds fills of one instant in the order in which the venue counted them, before what is stated of it', () => {
    const sold = (id: string, size: string, price: string) => fill(id, size, { side: 'short', price, timestamp: 5 });
    const [bought, first, second] = [fill('8', '4', { timestamp: 5 }), sold('9', '2', '101'), sold('10', '3', '99')];
    for (const read of [
      [bought, first, second],
      [second, first, bought],
    ]) {
      const book = new PositionBook();
      for (const each of read) book.add('BTC-USD', each);
      // 2 gain 1 each, 2 lose 1 each, and 1 more is sold at 99.
      expect(show(book.position('BTC-USD'))).toEqual(['-1', '99', '0', '0']);
    }
    const book = new PositionBook();
    book.state('BTC-USD', 5, { size: '7' });
    book.add('BTC-USD', first);
    expect(show(book.position('BTC-USD'))[0]).toBe('7');
  });

  it('counts a corrected fill with its larger size, as its order does', () => {
    const book = new PositionBook();
    book.add('BTC-USD', fill('a', '1'));
    book.add('BTC-USD', fill('b', '1', { timestamp: 9 }));
    expect(book.add('BTC-USD', fill('a', '0.5'))).toBeUndefined();
    expect(book.add('BTC-USD', fill('a', '3'))).toBeDefined();
    expect(show(book.position('BTC-USD'))).toEqual(['4', '100', '0', '0']);
    expect(show(book.position('ETH-USD'))).toEqual(show(FLAT));
  });
});
