import { describe, expect, it } from 'vitest';
import { itFirst } from '../rows.ts';
import { JWT, signedAs } from './mock-venue.ts';
import { LIMIT, scene } from './scene.ts';

const GUARDED = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
deadman: {market: BTC-USD, timeout: 20s, keep_alive: 5s, on_exit: disarm}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - id: switch
    read_deadman: {market: BTC-USD}
  - cancel: o
    await: terminal
`;

const READING = `runbook: one
dsl: 1
steps:
  - read_account: {}
`;

describe.concurrent('credentials', () => {
  it.each([
    ['a header of another name', 'header: RBT-JWT, prefix: ""', 'rbt-jwt', JWT],
    ['a cookie', 'cookie: jwt', 'cookie', `jwt=${JWT}`],
  ])('a JWT in %s', (_name, carrier, header, value) =>
    scene(
      {
        profile: `auth: {mode: jwt, jwt: {env: VENUE_JWT}, ${carrier}}`,
        venue: (venue) => {
          venue.authorized = (headers) => headers[header] === value;
        },
      },
      async ({ venue, live }) => {
        expect((await live()).exit).toBe(0);
        expect(venue.heard.every(({ headers }) => headers['authorization'] === undefined)).toBe(true);
      },
    ),
  );

  it('signs every request with an API key as venue-notes.md says', () =>
    scene(
      {
        profile: 'auth: {mode: api_key, api_key: {env: K}, secret: {env: S}, chain: rbx, signature_life: 20s}',
        runbook: `${LIMIT}finally:\n  - cancel: {mine: BTC-USD}\n`,
        venue: (venue) => {
          venue.authorized = () => true;
        },
      },
      async ({ venue, live }) => {
        expect((await live([], { K: 'key-number-one', S: '0xdeadbeef' })).exit).toBe(0);
        expect(venue.heard.map(({ method }) => method)).toEqual(expect.arrayContaining(['GET', 'POST', 'DELETE']));
        for (const heard of venue.heard) {
          const { 'rbt-ts': expiry = '', ...headers } = heard.headers;
          expect(headers['rbt-signature']).toBe(signedAs(heard, '0xdeadbeef', expiry));
          expect([headers['rbt-api-key'], headers['eid'], headers['authorization']]).toEqual([
            'key-number-one',
            'rbx',
            undefined,
          ]);
          const lifeMs = Number(expiry) * 1000 - heard.at;
          expect(lifeMs > 5_000 && lifeMs <= 21_000).toBe(true);
        }
      },
    ));

  itFirst(1, [
    ['before the first order of a process', LIMIT, 2],
    ['of a run', READING, 0],
  ])(
    'renews a JWT that was refused for the first reading %s, and uses a rotated refresh token the next time',
    (_what, runbook, placed) =>
      scene(
        {
          runbook,
          profile:
            'auth: {mode: jwt, jwt: {env: VENUE_JWT}, refresh_token: {env: VENUE_REFRESH_TOKEN}, is_client: true}',
          venue: (venue) => {
            let issued = 0;
            venue.authorized = ({ authorization }) => issued > 0 && authorization === `Bearer issued.jwt.${issued}`;
            venue.jwt = () => {
              issued += 1;
              return [{ jwt: `issued.jwt.${issued}`, refresh_token: `refresh-token-issued-${issued}` }];
            };
          },
        },
        async ({ venue, live, run }) => {
          const env = { VENUE_JWT: JWT, VENUE_REFRESH_TOKEN: 'refresh-token-of-the-environment' };
          const first = await live([], env);
          const second = await live([], env);
          expect([first.exit, second.exit]).toEqual([0, 0]);
          // The first read was answered twice: with 401, and then as usual. In the first run that was the account's id.
          expect(first.report.requests[0]).toMatchObject({ method: 'POST', path: '/jwt', status: 200 });
          if (placed === 0)
            expect(second.report.requests.slice(0, 3)).toMatchObject([
              { method: 'GET', path: '/orders', status: 401, success: false },
              { method: 'POST', path: '/jwt', status: 200 },
              { method: 'GET', path: '/orders', status: 200, success: true },
            ]);
          expect((await run(['replay', 'last'])).exit).toBe(0);
          expect(venue.of('POST', '/jwt').map(({ body }) => body)).toEqual([
            '{"is_client":true,"refresh_token":"refresh-token-of-the-environment"}',
            '{"is_client":true,"refresh_token":"refresh-token-issued-1"}',
          ]);
          expect(venue.placed).toHaveLength(placed);
        },
      ),
  );

  it('ends cleanly without a session, and places nothing', { tags: ['long'] }, () =>
    scene(
      {
        venue: (venue) => {
          venue.authorized = () => false;
        },
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.outcome, venue.placed.length]).toEqual([1, 'failed', 0]);
        expect(report.error?.message).toContain('UNAUTHORIZED');
      },
    ),
  );
});

describe.concurrent('the deadman switch', () => {
  itFirst(1, [
    ['{}', (record: object | undefined) => record ?? {}],
    ['an empty list', (record: object | undefined) => (record === undefined ? [] : [record])],
    ['null', (record: object | undefined) => record ?? null],
  ])('armed before the first order, gone at the end, where "not active" is %s', (_name, show) =>
    scene(
      {
        runbook: GUARDED,
        venue: (venue) => {
          venue.showSwitch = show;
        },
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.deadman.map(({ event }) => event)]).toEqual([0, ['armed', 'disarmed']]);
        const writes = venue.heard
          .filter(({ method }) => method !== 'GET')
          .map(({ method, path }) => `${method} ${path}`);
        expect(writes).toEqual([
          'POST /cancel_all_after',
          'POST /orders',
          'DELETE /orders',
          'DELETE /cancel_all_after',
        ]);
        expect(venue.switchTimeout).toBeUndefined();
      },
    ),
  );

  it('sends its parameters in the query if the profile says so, with an empty JSON body', () =>
    scene(
      {
        runbook: GUARDED,
        profile: 'encoding: {"POST /cancel_all_after": query, "DELETE /cancel_all_after": query}',
      },
      async ({ venue, live }) => {
        expect((await live()).exit).toBe(0);
        const switched = venue.heard.filter(({ path, method }) => path === '/cancel_all_after' && method !== 'GET');
        expect(switched.map(({ query, body }) => [query, body])).toEqual([
          ['market_id=BTC-USD&timeout=20000', '{}'],
          ['market_id=BTC-USD', '{}'],
        ]);
      },
    ));

  it('counts as fired when a step finds it off although it was armed: the run does not continue as if it were armed', () =>
    scene(
      {
        runbook: GUARDED,
        venue: (venue) => {
          venue.showSwitch = () => [];
        },
      },
      async ({ live }) => {
        const { exit, report } = await live();
        expect([exit, report.error?.kind, report.deadman.map(({ event }) => event)]).toEqual([
          1,
          'deadman_fired',
          ['armed', 'assumed_fired', 'disarmed'],
        ]);
        expect(report.orders).toMatchObject([{ state: 'canceled' }]);
      },
    ));
});
