/** The limits over HTTP: what is denied never arrives, and the price feed of the profile measures what its own price cannot. */
import { describe, expect, it } from 'vitest';
import { itFirst } from '../rows.ts';
import { envelope, type MockVenue } from './mock-venue.ts';
import { document, LIMIT, scene } from './scene.ts';

const SHORT = LIMIT.replace('side: long', 'side: short');
const FEED = `requests: {info: {method: GET, path: /markets, query: {market_id: text}, tokens: 10, result: {type: list, of: {fair_price: price}}}}
feeds: {mid: {request: info, with: {market_id: "\${market}"}, read: "result[0].fair_price"}}
`;

/** GET /markets gives this price. */
function atPrice(price: string): (venue: MockVenue) => void {
  return (venue) =>
    venue.rules.push(({ path }) => (path === '/markets' ? { body: envelope([{ fair_price: price }]) } : undefined));
}

interface Planned {
  readonly requests: readonly { readonly limits?: string; readonly denied?: { readonly code: string } }[];
}

describe.concurrent('a short under a notional limit', () => {
  it.each<[string, string, string, readonly [exit: number, asked: number, code: string | undefined]]>([
    ['is measured by its own price without a price feed', '', 'max_order_notional: 2', [0, 0, undefined]],
    ['is denied by its own price', '', 'max_order_notional: 1.9', [1, 0, 'NOTIONAL_EXCEEDS_MAX_PER_ORDER']],
    [
      'is denied where that was asked for',
      '',
      'max_order_notional: 2, unknown_price: deny',
      [1, 0, 'NOTIONAL_UNKNOWN'],
    ],
    ['is measured by the price feed', FEED, 'max_order_notional: 2, unknown_price: deny', [0, 1, undefined]],
    ['is denied by the price feed', FEED, 'max_order_notional: 1.99', [1, 1, 'NOTIONAL_EXCEEDS_MAX_PER_ORDER']],
  ])('%s', (_name, feed, limits, [exit, asked, code]) =>
    scene(
      { venue: atPrice('20000'), runbook: SHORT, profile: `${feed}limits: {${limits}}` },
      async ({ venue, live, run }) => {
        const planned = document((await run(['plan', 'one.yaml', '--profile', 'p.yaml', '--json'])).out) as Planned;
        const ended = await live();
        expect([ended.exit, ended.report.error?.message.split(':')[0]]).toEqual([exit, code]);
        expect([venue.placed.length, venue.of('GET', '/markets').length]).toEqual([exit === 0 ? 1 : 0, asked]);
        // The plan says what the run does, except for a price that only the run reads.
        const expected = feed === '' ? code : undefined;
        expect(planned.requests.flatMap(({ denied }) => denied?.code ?? [])).toEqual(
          expected === undefined ? [] : [expected],
        );
        expect(planned.requests.find((row) => row.limits !== undefined)?.limits).toMatch(/^notional at least 1\.98\//);
        expect((await run(['audit', 'replay', 'last'])).exit).toBe(0);
      },
    ),
  );

  it('is measured by its own price where the feed does not answer', () =>
    scene(
      {
        venue: (venue) =>
          venue.rules.push(({ path }) => (path === '/markets' ? { status: 503, body: 'x' } : undefined)),
        runbook: SHORT,
        profile: `${FEED}limits: {max_order_notional: 2}`,
      },
      async ({ venue, live }) => {
        expect((await live()).exit).toBe(0);
        expect(venue.placed).toHaveLength(1);
      },
    ));
});

/** Buys, and sells at a lower price. */
const LOSE = LIMIT.replace(
  'outputs:',
  '  - place: {type: market, market: BTC-USD, side: short, size: 0.0001, price: 19000}\noutputs:',
).replace('type: limit', 'type: market');
const BUY = LIMIT.replace('type: limit', 'type: market').replace('price: 19800', 'price: 20000');

describe.concurrent('a limit of the profile holds for the account', () => {
  const codes = (
    ended: readonly {
      readonly exit: number | null;
      readonly report: { readonly error?: { readonly message: string } };
    }[],
  ) => ended.map(({ exit, report }) => [exit, report.error?.message.split(':')[0]]);
  const DENIED = (code: string) => [1, code];
  const SENT = [0, undefined];

  itFirst<[string, string, string, string, readonly unknown[]]>(3, [
    ['its position', BUY, '0.09', 'max_position: 0.1', [SENT, DENIED('POSITION_EXCEEDS_MAX')]],
    [
      'its orders that stay open',
      LIMIT,
      '0.0001',
      'max_open_orders: 2',
      [SENT, SENT, DENIED('OPEN_ORDERS_EXCEED_MAX')],
    ],
    ['its orders of a minute', LIMIT, '0.0001', 'max_orders_per_minute: 1', [SENT, DENIED('ORDER_RATE_EXCEEDED')]],
    ['its exposure', BUY, '0.09', 'max_exposure: 2000', [SENT, DENIED('EXPOSURE_EXCEEDS_MAX')]],
    ['its orders at their worst', LIMIT, '0.09', 'max_position: 0.1', [SENT, DENIED('POSITION_EXCEEDS_MAX')]],
    ['its notional of a day', BUY, '0.09', 'max_daily_notional: 2000', [SENT, DENIED('NOTIONAL_EXCEEDS_MAX_PER_DAY')]],
    ['its loss of a day', LOSE, '0.09', 'max_daily_loss: 50', [SENT, DENIED('DAILY_LOSS_REACHED')]],
  ])('%s, over runs of several processes', (_what, runbook, size, limits, expected) =>
    scene(
      { runbook: runbook.replaceAll('0.0001', size), profile: `limits: {${limits}}` },
      async ({ venue, live, run }) => {
        const ended = [];
        for (const _each of expected) ended.push(await live());
        expect(codes(ended)).toEqual(expected);
        expect(venue.placed).toHaveLength((expected.length - 1) * runbook.split('place:').length - expected.length + 1);
        expect((await run(['audit', 'replay', 'last'])).exit).toBe(0);
      },
    ),
  );

  it('its loss of a day, until a person releases the account', () =>
    scene(
      { runbook: LOSE.replaceAll('0.0001', '0.09'), profile: 'limits: {max_daily_loss: 50}' },
      async ({ venue, live, run }) => {
        expect(codes([await live(), await live()])).toEqual([SENT, DENIED('DAILY_LOSS_REACHED')]);
        expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada'])).exit).toBe(0);
        expect(codes([await live()])).toEqual([SENT]);
        expect(venue.placed).toHaveLength(4);
      },
    ));

  it('and one of a runbook for its run', () =>
    scene({ runbook: LIMIT.replace('steps:', 'limits: {max_open_orders: 1}\nsteps:') }, async ({ venue, live }) => {
      expect(codes([await live(), await live()])).toEqual([SENT, SENT]);
      expect(venue.placed).toHaveLength(2);
    }));
});
