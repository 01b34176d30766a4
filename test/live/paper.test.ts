/** Tests at the socket that a paper run only reads: its orders are at the simulated venue, its feeds at the live one. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allowReadsAlone } from '../../src/app/paper/live-quotes.ts';
import type { WireRequest } from '../../src/gateway/transport.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { JWT, type MockVenue } from './mock-venue.ts';
import { document, type Report, scene, until } from './scene.ts';

const FEEDS = `requests:
  market_info: {method: GET, path: /markets, query: {market_id: text}, tokens: 10, result: {type: list, of: {fair_price: price}}}
feeds:
  mid: {request: market_info, with: {market_id: "\${market}"}, read: "result[0].fair_price"}
rate_limit: {tokens: 40000}
capabilities: [cancel_all]`;

/** Every kind of write: leverage, the deadman switch, an order, an amend, a stop, cancels. */
const WRITES = `runbook: one
dsl: 1
limits: {markets: [BTC-USD]}
leaves: {position: open, because: the case is about something else}
needs: [cancel_all]
deadman: {market: BTC-USD, timeout: 60s, release_after: exit, on_exit: disarm}
feeds: {mid: {type: price, max_age: 5s}}
steps:
  - set_leverage: {market: BTC-USD, leverage: 4}
  - id: low
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - id: moved
    amend: {order: low, price: 50001}
  - cancel: low
    await: terminal
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: tick(feeds.mid * 1.05)}
    await: filled
  - id: exit
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 63500, price: 60000}}
  - wait_for: {order: exit.stop_loss, is: terminal, within: 60s}
  - cancel_all: {everyone: true}
`;

const WAITS = `runbook: one
dsl: 1
limits: {markets: [BTC-USD]}
leaves: {position: open, because: the case is about something else}
feeds: {mid: {type: price, max_age: 5s}}
steps:
  - id: low
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: tick(feeds.mid * 0.9)}
  - wait: 10m
`;

/** Its report is longer than what a pipe takes at once. */
const LONG = `runbook: one
dsl: 1
limits: {markets: [BTC-USD]}
feeds: {mid: {type: price, max_age: 1h}}
steps:
  - repeat: {max: 3000, do: [{assert: feeds.mid > 0}]}
`;

const WAITS_ALONE = WAITS.replace(/^feeds:.*\n/m, '').replace('tick(feeds.mid * 0.9)', '50000');

/** The price is 64000 until it is asked for the sixth time, then 63000. */
const falls = (venue: MockVenue) =>
  void venue.rules.push(({ path }, count) =>
    path === '/markets'
      ? { body: { success: true, error: '', result: [{ fair_price: count < 6 ? '64000' : '63000' }] } }
      : undefined,
  );
interface Listed {
  readonly runs: readonly {
    readonly run: string;
    readonly mode: string;
    readonly trigger: string;
    readonly outcome?: string;
  }[];
}
const PAPER = ['paper', 'one.yaml', '--profile', 'p.yaml', '--json'];

describe.concurrent('runbook paper', () => {
  it.each([
    [
      'a feed that the profile does not bind',
      WAITS.replace('feeds: {', 'feeds: {rate: {type: number, max_age: 1h}, '),
      'rate',
    ],
    ['a capability that the profile does not grant', WAITS.replace('leaves:', 'needs: [other]\nleaves:'), 'other'],
  ])('is refused as a live run is, before it begins: %s', (_what, runbook, named) =>
    scene({ profile: FEEDS, runbook }, async ({ venue, run }) => {
      const { exit, out } = await run(PAPER);
      expect([exit, venue.heard.length]).toEqual([2, 0]);
      expect(document(out)).toMatchObject({ error: { message: expect.stringContaining(named) } });
    }),
  );

  it('places, amends and cancels nothing at the venue, and sends it no credentials', { tags: ['long'] }, () =>
    scene({ venue: falls, profile: FEEDS, runbook: WRITES }, async ({ venue, run }) => {
      const { exit, out, err } = await run(PAPER);
      const report = document(out) as Report & { readonly mode: string };
      expect([exit, report.mode, report.outcome], err).toEqual([0, 'paper', 'succeeded']);
      // The stop was triggered by the live price.
      expect(report.orders.map(({ state, averagePrice }) => [state, averagePrice])).toEqual([
        ['canceled', undefined],
        ['closed', expect.stringMatching(/^6400\d/)],
        ['closed', expect.stringMatching(/^6299\d/)],
      ]);
      const writes = report.requests
        .filter(({ method }) => method !== 'GET')
        .map(({ method, path }) => `${method} ${path}`);
      for (const write of [
        'POST /orders',
        'PUT /orders',
        'DELETE /orders',
        'POST /cancel_all_after',
        'DELETE /orders/cancel_all',
      ])
        expect(writes).toContain(write);
      expect(venue.heard.length).toBeGreaterThan(2);
      expect(new Set(venue.heard.map(({ method, path }) => `${method} ${path}`))).toEqual(new Set(['GET /markets']));
      for (const { headers, body } of venue.heard) {
        expect([headers['authorization'], headers['cookie'], body]).toEqual([undefined, undefined, '']);
        expect(JSON.stringify(headers)).not.toContain(JWT);
      }
      const listed = document((await run(['audit', 'list', '--json'])).out) as { runs: readonly { mode: string }[] };
      expect(listed.runs.map(({ mode }) => mode)).toEqual(['paper']);
      expect((await run(['audit', 'replay', 'last'])).exit).toBe(0);
    }),
  );

  it('needs no credentials, and ends cleanly at a signal', () =>
    scene({ venue: falls, profile: FEEDS, runbook: WAITS }, async ({ venue, start }) => {
      const running = start(PAPER, {});
      await until(() => venue.heard.length >= 4);
      running.child.kill('SIGINT');
      const { exit, out, err } = await running.ended;
      const report = document(out) as Report;
      expect([exit, report.orders.map(({ state }) => state)], err).toEqual([130, ['canceled']]);
      expect(new Set(venue.heard.map(({ method }) => method))).toEqual(new Set(['GET']));
    }));

  it('ends once its whole report was read, however slowly', { tags: ['long'] }, () =>
    scene({ venue: falls, profile: FEEDS, runbook: LONG }, async ({ start, run }) => {
      const running = start(PAPER, {});
      running.child.stdout?.pause();
      const list = async () => (document((await run(['audit', 'list', '--json'])).out) as Listed).runs;
      // A run that never began is not waited for: what it printed says why.
      const goesOn = (listed: Listed['runs']) => listed[0]?.outcome === undefined && running.child.exitCode === null;
      for (let listed = await list(); goesOn(listed); ) listed = await list();
      running.child.stdout?.resume();
      const { exit, out } = await running.ended;
      expect([exit, (document(out) as Report).outcome]).toEqual([0, 'succeeded']);
    }),
  );

  it('on a schedule sends no order to the venue, is marked, and is ended by the kill switch', { tags: ['long'] }, () =>
    scene(
      { venue: falls, profile: FEEDS, runbook: `${WAITS}schedule: {every: 5s, paper: true}\n` },
      async ({ venue, run, start }) => {
        const running = start(['schedule', 'one.yaml', '--profile', 'p.yaml', '--port', '0']);
        const list = async () => document((await run(['audit', 'list', '--json'])).out) as Listed;
        let listed: Listed['runs'] = [];
        while (listed.length === 0) listed = (await list()).runs;
        expect(listed).toMatchObject([
          { mode: 'paper', trigger: 'schedule', run: expect.stringContaining('-one-paper-') },
        ]);
        expect((await run(['kill', '--profile', 'p.yaml', '--by', 'ada', '--reason', 'enough'])).exit).toBe(0);
        while (listed.some(({ outcome }) => outcome === undefined)) listed = (await list()).runs;
        const [{ run: name = '' } = {}] = listed;
        const shown = document((await run(['audit', 'orders', name, '--json'])).out) as Pick<Report, 'orders'>;
        expect(shown.orders.map(({ state }) => state)).toEqual(['canceled']);
        running.child.kill('SIGTERM');
        expect((await running.ended).exit).toBe(143);
        const verified = await run(['audit', 'verify']);
        expect(verified.exit, verified.out).toBe(0);
        // The kill cancels what the account has open, and nothing was placed.
        expect(venue.heard.filter(({ method }) => method === 'POST' || method === 'PUT')).toEqual([]);
        expect(venue.heard.some(({ path }) => path === '/markets')).toBe(true);
      },
    ),
  );

  it('starts nothing where the account is killed in the store of its live runs', () =>
    scene(
      { venue: falls, profile: `${FEEDS}\nstore: {sqlite: desk/journal.db}`, runbook: WAITS },
      async ({ venue, run, path }) => {
        const folder = join(path, 'desk');
        mkdirSync(folder);
        await (await openSqliteStore(join(folder, 'journal.db'))).close();
        // By another user, whose guard is elsewhere.
        const shared = await openSharedSqlite({ file: join(folder, 'shared.db'), ledgerFile: join(path, 'tokens.db') });
        await shared.killSwitch.engage({ scope: `${venue.url} main`, by: 'ada', reason: 'enough', at: Date.now() });
        await shared.close();
        const { exit, out } = await run(PAPER);
        expect([exit, (document(out) as { error: { kind: string } }).error.kind]).toEqual([1, 'killed']);
      },
    ));

  it.each([
    ['without a feed of prices', '', WAITS_ALONE, 2, 'configuration'],
    ['with a feed that cannot be read', FEEDS, WAITS, 1, 'feed'],
  ])('starts nothing %s', (_what, given, runbook, code, kind) =>
    scene({ profile: given, runbook }, async ({ venue, run }) => {
      const { exit, out } = await run(PAPER);
      expect([exit, (document(out) as { error: { kind: string } }).error.kind]).toEqual([code, kind]);
      expect(venue.heard.filter(({ method }) => method !== 'GET')).toEqual([]);
    }),
  );
});

it('refuses every request that is not a declared read, before it reaches the transport', () => {
  const sent: string[] = [];
  const inner = {
    send: (request: WireRequest) => {
      sent.push(`${request.method} ${request.path}`);
      return Promise.resolve({ kind: 'failure', message: '', sent: true } as const);
    },
  };
  const { send } = allowReadsAlone(inner, { requests: { info: { path: '/markets' } } } as never);
  const request = (method: string, path: string) => ({ method, path, params: {}, placement: 'query' }) as never;
  void send(request('GET', '/markets'), { timeoutMs: 1 });
  for (const [method, path] of [
    ['POST', '/orders'],
    ['POST', '/markets'],
    ['GET', '/account'],
    ['DELETE', '/orders'],
  ] as const)
    expect(() => send(request(method, path), { timeoutMs: 1 })).toThrow('a paper run sends no');
  expect(sent).toEqual(['GET /markets']);
});
