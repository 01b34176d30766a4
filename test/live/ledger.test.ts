/** The ledger of an account over HTTP: what earlier runs left is compared with the venue, and a person can state it. */
import { describe, expect, it } from 'vitest';
import { addUp, isPrinted } from '../report/exact-pnl.ts';
import type { MockVenue } from './mock-venue.ts';
import { document, LIMIT, type LiveEnded, type Scene, scene } from './scene.ts';

const BUY = LIMIT.replace('type: limit', 'type: market')
  .replace('price: 19800', 'price: 20000')
  .replace('0.0001', '0.09');
const REST = LIMIT.replace('0.0001', '0.09');
const MOST = 'limits: {max_position: 0.1}';

const code = ({ exit, report }: LiveEnded) => [exit, report.error?.message.split(':')[0]];
const SENT = [0, undefined];
const DENIED = [1, 'POSITION_EXCEEDS_MAX'];

/** That its rows are what the journals give, beside what the venue has shown since. */
async function isVerified({ run }: Scene): Promise<void> {
  expect(document((await run(['audit', 'verify', '--ledger', '--json'])).out)).toMatchObject({ ok: true });
}

/** A fill of an order that no run placed. */
function tradeByHand(venue: MockVenue, side: 'long' | 'short', size: string): void {
  const [known] = venue.fills;
  const id = `BTC-USD-${900 + venue.fills.length}`;
  venue.fills.push({ ...known, id, trade_id: id, order_id: 'BTC-USD@9000', side, size, timestamp: Date.now() * 1000 });
}

async function ledger({ run }: Scene, ...words: readonly string[]) {
  const { exit, out } = await run(['account', ...words, '--json']);
  return { exit, ...(document(out) as { readonly known: boolean; readonly markets: Record<string, object> }) };
}

describe.concurrent('what an earlier run left', () => {
  it('is not held any more where the venue lists the fills that closed it', { tags: ['long'] }, () =>
    scene({ runbook: BUY, profile: MOST }, async (desk) => {
      const { venue, live } = desk;
      expect(code(await live())).toEqual(SENT);
      tradeByHand(venue, 'short', '0.09');
      // One answer that is lost keeps nothing from being known.
      let asked = 0;
      venue.rules.push(({ method, path }) => {
        if (method !== 'GET' || path !== '/fills') return undefined;
        asked += 1;
        return asked === 1 ? { status: 503, body: 'x' } : undefined;
      });
      expect(code(await live())).toEqual(SENT);
      expect(asked).toBeGreaterThan(1);
      expect(code(await live())).toEqual(DENIED);
      expect(venue.placed).toHaveLength(2);
      expect((await ledger(desk, 'ledger')).markets['BTC-USD']).toMatchObject({ position: '0.09', foreign: '-0.09' });
      await isVerified(desk);
    }),
  );

  it('is read by an expression over all runs, and not where the venue does not list its fills', () =>
    scene({ runbook: BUY }, async ({ venue, run, live, write }) => {
      expect(code(await live())).toEqual(SENT);
      tradeByHand(venue, 'long', '0.01');
      write(
        'one.yaml',
        `${BUY.replace('outputs: {id: "${o.id}"}', '')}  - assert: account.position('BTC-USD') == 0.19 && position('BTC-USD') == 0.09\n`,
      );
      const second = await live();
      expect(second.exit, second.err).toBe(0);
      expect((await run(['audit', 'replay', 'last'])).exit).toBe(0);
      venue.rules.push(({ method, path }) =>
        method === 'GET' && path === '/fills' ? { status: 503, body: 'x' } : undefined,
      );
      tradeByHand(venue, 'long', '0.01');
      const third = await live();
      expect([third.exit, third.report.error?.kind, third.report.error?.message]).toEqual([
        1,
        'assertion',
        expect.stringContaining('account reconcile'),
      ]);
    }));

  it('does not fill any more where the venue does not list it as open', () =>
    scene({ runbook: REST, profile: MOST }, async (desk) => {
      const { venue, live } = desk;
      expect(code(await live())).toEqual(SENT);
      expect((await ledger(desk, 'ledger')).markets['BTC-USD']).toMatchObject({ position: '0', workingBuy: '0.09' });
      expect(code(await live())).toEqual(DENIED);
      for (const order of venue.orders) order.status = 'canceled';
      expect(code(await live())).toEqual(SENT);
      await isVerified(desk);
    }));

  it('counts at its worst where the venue does not answer', { tags: ['long'] }, () =>
    scene({ runbook: BUY, profile: MOST }, async ({ venue, live }) => {
      expect(code(await live())).toEqual(SENT);
      tradeByHand(venue, 'short', '0.09');
      venue.rules.push(({ method, path }) =>
        method === 'GET' && path === '/fills' ? { status: 503, body: 'x' } : undefined,
      );
      const ended = await live();
      expect(code(ended)).toEqual(DENIED);
      expect(ended.err).toContain('status 503');
    }),
  );
});

describe.concurrent('runbook account', () => {
  it('states a position, compares with the venue, and makes the ledger again', () =>
    scene({ runbook: BUY, profile: MOST }, async (desk) => {
      const { venue, live, run } = desk;
      expect(code(await live())).toEqual(SENT);
      expect(await ledger(desk, 'ledger')).toMatchObject({
        exit: 0,
        account: 'main',
        known: true,
        markets: {
          'BTC-USD': { position: '0.09', averageEntry: '20000', realized: '0', workingBuy: '0', foreign: '0' },
        },
        day: { realized: '0', notional: '1800', orders: 1 },
      });
      // Rounded for reading; `--json` has the exact figures.
      expect((await run(['account', 'ledger'])).out).toMatch(/realized 0\.00, fees -?\d\.\d\d, 1 order worth 1800\.00/);
      expect((await ledger(desk, 'reconcile')).exit).toBe(0);
      tradeByHand(venue, 'short', '0.04');
      expect(await ledger(desk, 'reconcile')).toMatchObject({
        exit: 1,
        ok: false,
        markets: { 'BTC-USD': { position: '0.05', foreign: '-0.04' } },
      });
      expect((await ledger(desk, 'reconcile')).exit).toBe(0);
      const stated = ['baseline', '--market', 'BTC-USD', '--size', '0', '--by', 'ada'];
      expect((await ledger(desk, ...stated)).exit).toBe(0);
      expect((await ledger(desk, 'ledger')).markets['BTC-USD']).toMatchObject({ position: '0' });
      expect(code(await live())).toEqual(SENT);
      const rebuilt = await ledger(desk, 'rebuild');
      expect(rebuilt).toMatchObject({ exit: 0, runs: 2, markets: { 'BTC-USD': { position: '0.09' } } });
      const { runs: _runs, ...again } = rebuilt as typeof rebuilt & { readonly runs: number };
      expect(await ledger(desk, 'ledger')).toEqual(again);
      for (const words of [
        ['--market', 'BTC', '--size', '0', '--by', 'ada'],
        ['--market', 'BTC-USD', '--size', 'x', '--by', 'ada'],
        ['--market', 'BTC-USD', '--size', '0', '--by', ' '],
        ['--market', 'BTC-USD', '--size', '1', '--price', '0', '--by', 'ada'],
      ])
        expect((await run(['account', 'baseline', ...words])).exit).toBe(2);
    }));

  it('adds up what its runs gained, from the fills that the blotter lists', () =>
    scene({ runbook: BUY }, async ({ venue, live, run, write }) => {
      const [buy, sell] = [
        BUY,
        BUY.replace('side: long', 'side: short').replace('20000', '20030').replace('0.09', '0.2'),
      ];
      for (const text of [buy, buy, sell]) {
        write('one.yaml', text);
        expect(code(await live())).toEqual(SENT);
      }
      const read = async (...words: readonly string[]) => document((await run(['audit', ...words, '--json'])).out);
      const blotter = (await read('blotter')) as {
        readonly fills: readonly never[];
        readonly orders: readonly object[];
      };
      expect([blotter.fills.length, blotter.orders.length]).toEqual([3, 3]);
      for (const by of ['run', 'runbook', 'market', 'account', 'day'] as const) {
        const { rows } = (await read('pnl', '--by', by)) as { readonly rows: readonly Record<string, string>[] };
        const exact = addUp(blotter.fills, (fill: Record<string, string>) =>
          by === 'day' ? (fill['at'] ?? '').slice(0, 10) : (fill[by] ?? ''),
        );
        expect(rows.map((row) => row[by])).toEqual([...exact.keys()]);
        for (const row of rows) {
          const sum = exact.get(row[by] ?? '');
          expect(sum !== undefined && isPrinted(row['realized'] ?? '', sum.realized)).toBe(true);
          expect(sum !== undefined && isPrinted(row['fees'] ?? '', sum.fees)).toBe(true);
        }
      }
      expect((await read('pnl', '--by', 'market')) as object).toMatchObject({ rows: [{ realized: '5.4', runs: 3 }] });
      expect((await read('pnl', '--from', '2030-01-01')) as object).toMatchObject({ rows: [] });
      const csv = (await run(['audit', 'blotter', '--csv'])).out.trimEnd().split('\r\n');
      expect([csv.length, csv[0]]).toEqual([4, 'at,run,runbook,step,market,side,size,price,fee,clientOrderId,orderId']);
      expect((await run(['audit', 'pnl', '--by', 'week'])).exit).toBe(2);
      expect((await run(['audit', 'pnl', '--from', 'soon'])).exit).toBe(2);
      expect(venue.placed).toHaveLength(3);
    }));

  it('names no account where there is none', () =>
    scene({}, async ({ run }) => {
      expect((await run(['account', 'ledger'])).exit).toBe(2);
    }));
});
