import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import type { Plan } from '../../src/runbook/plan/plan.ts';
import { countSpent, findExceeded } from '../plan/against-plan.ts';
import { envelope, JWT, type MockVenue, REFRESH } from './mock-venue.ts';
import { document, scene } from './scene.ts';

const EVERYTHING = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
needs: [cancel_all]
feeds: {mid: {type: price, max_age: 5s}}
steps:
  - id: acct
    read_account: {}
  - id: tier
    read_tier: {}
  - set_leverage: {market: BTC-USD, leverage: 3}
  - id: entry
    place: {type: stop_limit, market: BTC-USD, side: long, size: 0.25, trigger: 64200, price: tick(64264.2)}
  - id: taker
    place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 65000}
    await: filled
  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 0.5, trigger: 60000, price: 59000}}
  - id: f
    list_fills: {market: BTC-USD, since: now - days(1)}
  - refresh_session: {}
    if: feeds.mid > 1
  - cancel_all: {everyone: true}
outputs: {equity: acct.account_equity, net: net_size(f.fills), mid: feeds.mid, tier: tier.tier_status.current.title}
`;
const PROFILE = `capabilities: [cancel_all]
requests:
  info: {method: GET, path: /markets, query: {market_id: text}, tokens: 10, result: {type: list, of: {fair_price: price}}}
feeds:
  mid: {request: info, with: {market_id: BTC-USD}, read: "result[0].fair_price"}
auth: {mode: jwt, jwt: {env: VENUE_JWT}, refresh_token: {env: VENUE_REFRESH_TOKEN}}`;

/** Position orders and stops that have not been triggered show as `placed`, which venue-api.md does not name. */
function venue(mock: MockVenue): void {
  mock.outcome = ({ order_type }) =>
    order_type === 'market'
      ? { status: 'closed', filled: true }
      : { status: order_type === 'limit' ? 'open' : 'placed' };
  mock.rules.push(({ path, headers }) =>
    path === '/markets' && headers['authorization'] !== undefined
      ? { body: envelope([{ fair_price: '64000.123456789012345678901234567891' }]) }
      : undefined,
  );
}

describe.concurrent('every endpoint', () => {
  it.each([
    ['as the document has it', '', '"size":0.5,"type":"stop_loss"'],
    [
      'as the profile spells position orders',
      '\nposition_orders: {size_field: size_percent, stop_loss: stop_loss_limit}',
      '"size_percent":0.5,"type":"stop_loss_limit"',
    ],
  ])('is called with the exact bytes, %s', (_name, more, position) =>
    scene({ runbook: EVERYTHING, profile: PROFILE + more, venue }, async ({ venue: mock, live, run }) => {
      const { exit, report } = await live([], {
        VENUE_JWT: JWT,
        VENUE_REFRESH_TOKEN: REFRESH,
      });
      expect([exit, report.error]).toEqual([0, undefined]);
      const [entry, taker, guard] = report.orders.map(({ clientOrderId }) => clientOrderId);
      expect(
        mock.heard
          .filter(({ method }) => method !== 'GET')
          .map(({ method, path, body }) => `${method} ${path} ${body}`),
      ).toEqual([
        'PUT /account/leverage {"market_id":"BTC-USD","leverage":3}',
        `POST /orders {"market_id":"BTC-USD","price":64264,"side":"long","size":0.25,"type":"stop_limit","trigger_price":64200,"client_order_id":"${entry}","time_in_force":"good_till_cancel"}`,
        `POST /orders {"market_id":"BTC-USD","price":65000,"side":"long","size":0.1,"type":"market","client_order_id":"${taker}","time_in_force":"immediate_or_cancel"}`,
        `POST /orders {"market_id":"BTC-USD","price":59000,"side":"short",${position},"trigger_price":60000,"client_order_id":"${guard}"}`,
        `POST /jwt {"is_client":true,"refresh_token":"${REFRESH}"}`,
        'DELETE /orders/cancel_all {}',
      ]);
      const reads = mock.heard.filter(({ method }) => method === 'GET');
      expect(reads.every(({ body }) => body === '')).toBe(true);
      for (const { path, params } of reads) {
        // Since 13 December 2024 the one needs the other; without a start the whole history is parsed.
        if ('client_order_id' in params) expect(params).toHaveProperty('market_id');
        if (path === '/orders' || path === '/fills') expect(params['start_time']).toMatch(/^\d{16}$/);
      }
      expect(report.orders.map(({ state, filled }) => [state, filled])).toEqual([
        ['canceled', '0'],
        ['closed', '0.1'],
        ['canceled', '0'],
      ]);
      expect(report.outputs).toEqual({
        equity: '10000',
        net: '0.1',
        mid: '64000.123456789012345678901234567891',
        tier: 'VIP 0',
      });
      expect((await run(['replay', 'last', '--json'])).exit).toBe(0);
      const lines = (await run(['audit', 'export', 'last', '--format', 'jsonl'])).out.trim().split('\n');
      const entries = lines.map((line) => JSON.parse(line) as Entry);
      const plan = document((await run(['plan', 'one.yaml', '--profile', 'p.yaml', '--json'])).out) as unknown as Plan;
      expect(findExceeded(plan, entries)).toEqual([]);
      const { requests, feeds } = countSpent(entries);
      expect([requests['request info'], requests['POST /jwt'], feeds]).toEqual([1, 1, { mid: 1 }]);
      const none = { ...plan, bounds: { ...plan.bounds, requests: {}, feeds: {} } };
      expect(findExceeded(none, entries).join()).toMatch(/request info: 1 .*POST \/jwt: 1 .*feed mid: 1 /);
    }),
  );
});
