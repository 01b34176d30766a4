import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeBlotter, type TradedFill, type TradedRun, TradedRunFold } from '../../src/report/trading/blotter.ts';
import { makePnl, type PnlKey } from '../../src/report/trading/pnl.ts';
import { startedData } from '../journal/sample.ts';
import { addUp, isPrinted } from './exact-pnl.ts';
import { fillRecord, Script, TERMS } from './sample-run.ts';

const DAY = Date.parse('2026-01-05T00:00:00Z');
const HOUR = 3_600_000;
const KEYS = ['run', 'runbook', 'market', 'account', 'day'] as const;

type Traded = Partial<Pick<TradedFill, 'side' | 'size' | 'price' | 'fee' | 'market'>> & { readonly hour?: number };

let count = 0;

/** A run of the account with its fills, an hour apart where no hour is given. */
function traded(run: string, fills: readonly Traded[], over: Partial<TradedRun> = {}, price?: string): TradedRun {
  const of = { run, runbook: `book-${run.slice(0, 1)}`, account: 'main', ...over };
  return {
    orders: [],
    prices: new Map(price === undefined ? [] : [['BTC-USD', { price, at: DAY + count }]]),
    ...of,
    fills: fills.map(({ hour = count, ...fill }) => {
      count += 1;
      const ms = DAY + hour * HOUR;
      return {
        ...of,
        book: `venue ${of.account}`,
        id: String(count),
        timestamp: ms * 1000,
        at: new Date(ms).toISOString(),
        step: 'steps/o',
        market: 'BTC-USD',
        side: 'long',
        size: '1',
        price: '100',
        fee: '0',
        clientOrderId: `rb${count}`,
        orderId: `BTC-USD@${count}`,
        ...fill,
      };
    }),
  };
}

const keyOf = (by: PnlKey) => (fill: { readonly at: string } & Readonly<Record<string, string>>) =>
  by === 'day' ? fill.at.slice(0, 10) : (fill[by] ?? '');

describe('what runs gained', () => {
  const bought = () => traded('a1', [{ size: '2', price: '100', fee: '0.5', hour: 1 }]);
  const sold = () => traded('b1', [{ side: 'short', size: '1', price: '130', fee: '0.5', hour: 30 }], {}, '120');

  it('is realised by the fill that closes, over runs', () => {
    expect(makePnl([bought(), sold()], 'run', {}).rows).toEqual([
      { run: 'a1', realized: '0', fees: '0.5', net: '-0.5', fills: 1, runs: 1 },
      { run: 'b1', realized: '30', fees: '0.5', net: '29.5', fills: 1, runs: 1 },
    ]);
    expect(makePnl([bought(), sold()], 'day', {}).rows).toMatchObject([
      { day: '2026-01-05', realized: '0' },
      { day: '2026-01-06', realized: '30' },
    ]);
    expect(makePnl([bought(), sold()], 'market', {}).rows).toEqual([
      { market: 'BTC-USD', realized: '30', unrealized: '20', fees: '1', net: '49', fills: 2, runs: 2 },
    ]);
  });

  it('is that of the fill which the venue counted later, of two runs at one instant', () => {
    const runs = [bought(), traded('b1', [{ side: 'short', size: '3', price: '130', hour: 2 }])];
    const both = [...runs, traded('c1', [{ size: '1', price: '120', hour: 2 }])];
    const gained = both.map(({ run }, index) => ({ run, realized: ['0', '60', '10'][index] }));
    expect(makePnl(both, 'run', {}).rows).toMatchObject(gained);
    expect(makePnl([...both].reverse(), 'run', {}).rows).toMatchObject(gained);
  });

  it('of a span counts what its fills cost before', () => {
    const span = { from: DAY + 24 * HOUR };
    expect(makePnl([bought(), sold()], 'account', span)).toEqual({
      from: '2026-01-06T00:00:00.000Z',
      by: 'account',
      rows: [{ account: 'main', realized: '30', unrealized: '20', fees: '0.5', net: '49.5', fills: 1, runs: 1 }],
    });
    expect(makePnl([bought(), sold()], 'account', { to: DAY + 24 * HOUR }).rows).toMatchObject([
      { realized: '0', fees: '0.5', fills: 1 },
    ]);
    expect(makeBlotter([bought(), sold()], span).fills.map(({ run }) => run)).toEqual(['b1']);
  });

  it('takes an account for one whose venue an older version kept in another spelling', async () => {
    const books = [];
    for (const url of ['https://Venue.example:443/', 'https://venue.example']) {
      const script = new Script();
      script.append('run.started', startedData({ mode: 'live', settings: { base_url: url } }));
      const ack = { id: 'BTC-USD@11', client_order_id: TERMS.clientOrderId, status: 'processing' };
      await script.exchange('POST /orders', {}, 1, [ack], 'steps/o', { intent: TERMS });
      const fills = [fillRecord(1, '0.1', '64200')];
      await script.exchange('GET /fills/order', { order_id: 'BTC-USD@11' }, 10, fills, 'steps/o');
      const fold = new TradedRunFold();
      for (const entry of script.entries) fold.apply(entry);
      books.push(fold.finish()?.fills[0]?.book);
    }
    expect(books).toEqual(['https://venue.example main', 'https://venue.example main']);
  });

  it('keeps accounts and markets apart', () => {
    const other = traded('c1', [{ side: 'short', price: '130', market: 'ETH-USD' }], { account: 'two' });
    expect(makePnl([bought(), other], 'account', {}).rows).toMatchObject([
      { account: 'main', realized: '0' },
      { account: 'two', realized: '0' },
    ]);
  });

  it('is, by every key, what an independent count over the blotter gives', () => {
    const anyFill = fc.record({
      side: fc.constantFrom('long' as const, 'short' as const),
      size: fc.integer({ min: 1, max: 40 }).map((n) => `${Math.floor(n / 7)}.${n}`),
      price: fc.integer({ min: 1, max: 9999 }).map((n) => `${n}.${n % 97}`),
      fee: fc.integer({ min: -50, max: 50 }).map((n) => (n < 0 ? `-0.${-n}` : `0.${n}`)),
      market: fc.constantFrom('BTC-USD', 'ETH-USD'),
      hour: fc.integer({ min: 0, max: 90 }),
    });
    const anyRuns = fc.array(
      fc.record({ fills: fc.array(anyFill, { maxLength: 6 }), account: fc.constantFrom('main', 'two') }),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(anyRuns, (given) => {
        const runs = given.map(({ fills, account }, index) => traded(`${'ab'[index % 2]}${index}`, fills, { account }));
        const { fills } = JSON.parse(JSON.stringify(makeBlotter(runs, {}))) as {
          fills: readonly ({ readonly at: string } & Readonly<Record<string, string>>)[];
        };
        for (const by of KEYS) {
          const exact = addUp(fills as never, keyOf(by) as never);
          const { rows } = makePnl(runs, by, {});
          expect(rows.map((row) => [row[by], row.fills])).toEqual([...exact].map(([key, sum]) => [key, sum.fills]));
          for (const row of rows) {
            const sum = exact.get(row[by] ?? '');
            expect(sum !== undefined && isPrinted(row.realized, sum.realized) && isPrinted(row.fees, sum.fees)).toBe(
              true,
            );
          }
        }
      }),
    );
  });
});
