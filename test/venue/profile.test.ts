import { describe, expect, it } from 'vitest';
import { findSchemaIssues } from '../../src/base/schema.ts';
import { ASSUMPTIONS } from '../../src/venue/assumptions.ts';
import { ENDPOINT_NAMES } from '../../src/venue/catalogue.ts';
import { LIMIT_CONTROLS } from '../../src/venue/limits/rules.ts';
import { parseResultPath } from '../../src/venue/profile/conflicts.ts';
import { restoreProfile, writeProfileSettings } from '../../src/venue/profile/in-force.ts';
import { toLimitRules } from '../../src/venue/profile/limits.ts';
import { getCost, type Profile, readProfile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { buildProfileSchema, PROFILE_SCHEMA_NAME } from '../../src/venue/profile/schema.ts';
import { looksSecret } from '../../src/venue/profile/secret-like.ts';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';

/** A whole profile. */
const EXAMPLE = {
  profile: 'local-sim',
  base_url: 'http://127.0.0.1:8080',
  account: 'main',
  auth: {
    mode: 'jwt',
    jwt: { env: 'VENUE_JWT' },
    refresh_token: { env: 'VENUE_REFRESH_TOKEN' },
    is_client: true,
    header: 'Authorization',
    prefix: 'Bearer ',
  },
  encoding: { 'POST /cancel_all_after': 'body', 'DELETE /cancel_all_after': 'body' },
  rate_limit: { tokens: 1200, window: '60s', shared_as: 'default', costs: { 'GET /orders': 10 } },
  markets: { 'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001' }, 'ETH-USD': { tick: '0.1', lot: '0.001' } },
  requests: {
    market_info: {
      method: 'GET',
      path: '/markets',
      query: { market_id: 'text' },
      tokens: 10,
      result: { type: 'list', of: { fair_price: 'price', best_bid: 'price', best_ask: 'price' } },
    },
  },
  feeds: { mid: { request: 'market_info', with: { market_id: '${market}' }, read: 'result[0].fair_price' } },
  capabilities: ['cancel_all'],
  limits: { max_order_notional: 50000, max_open_orders: 50, max_leverage: 10, markets: ['BTC-USD', 'ETH-USD'] },
  ambiguity: { window: '90s' },
  store: { sqlite: '.runbook/runbook.db' },
  notify: { ops: { webhook: { env: 'OPS_WEBHOOK' } }, desk: { log: true } },
};

const MINIMAL = { profile: 'p', base_url: 'https://venue.example', auth: { jwt: { env: 'JWT' } } };

type Data = Record<string, unknown>;

/** Each diagnostic as `code path: message`; the span's start is the index of the path among those asked for. */
function read(data: unknown, file = 'profiles/p.yaml') {
  const paths: string[] = [];
  const locate = (path: readonly (string | number)[]) => {
    paths.push(path.join('.'));
    return { start: paths.length - 1, end: paths.length };
  };
  const { profile, diagnostics } = readProfile(data, { file, text: '' }, locate);
  return {
    profile,
    found: diagnostics.map(
      ({ severity, code, span, message }) => `${severity} ${code} ${paths[span.start]}: ${message}`,
    ),
  };
}

function profileOf(data: unknown): Profile {
  const { profile, found } = read(data);
  expect(found).toEqual([]);
  return profile as Profile;
}

describe('readProfile, valid profiles', () => {
  it('reads a whole profile, with every default filled in', () => {
    const profile = profileOf(EXAMPLE);
    expect(profile).toEqual({
      name: 'local-sim',
      baseUrl: 'http://127.0.0.1:8080',
      account: 'main',
      auth: {
        mode: 'jwt',
        jwt: { env: 'VENUE_JWT' },
        refreshToken: { env: 'VENUE_REFRESH_TOKEN' },
        isClient: true,
        carrier: { in: 'header', header: 'Authorization', prefix: 'Bearer ' },
        jwtLifeMs: 172_800_000,
        sendJwtOnRefresh: true,
      },
      encoding: ASSUMPTIONS.encoding.default,
      rateLimit: {
        tokens: 1200,
        windowMs: 60_000,
        sharedAs: 'default',
        costs: {
          'GET /orders': 10,
          'DELETE /orders/cancel_all': 10,
          'GET /fills/order': 10,
          'POST /cancel_all_after': 10,
          'GET /cancel_all_after': 10,
          'DELETE /cancel_all_after': 10,
        },
        statuses: [429],
        resetUnit: 'auto',
      },
      positionOrders: {
        sizeField: 'size',
        shownSize: 'fraction',
        types: { stop_loss: 'stop_loss', take_profit: 'take_profit' },
      },
      marketOrderPrice: 'optional',
      maxLeverage: 20,
      refusals: { definite: [], doubtful: [] },
      markets: {
        'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001' },
        'ETH-USD': { tick: '0.1', lot: '0.001' },
      },
      requests: {
        market_info: {
          method: 'GET',
          path: '/markets',
          query: { market_id: 'text' },
          tokens: 10,
          result: {
            kind: 'list',
            of: {
              kind: 'record',
              fields: {
                fair_price: { kind: 'value', type: 'price', optional: false },
                best_bid: { kind: 'value', type: 'price', optional: false },
                best_ask: { kind: 'value', type: 'price', optional: false },
              },
            },
          },
        },
      },
      feeds: { mid: { request: 'market_info', with: { market_id: '${market}' }, read: 'result[0].fair_price' } },
      capabilities: ['cancel_all'],
      limits: { maxOrderNotional: '50000', maxOpenOrders: 50, maxLeverage: '10', markets: ['BTC-USD', 'ETH-USD'] },
      ambiguityWindowMs: 90_000,
      socketIdleMs: 4_000,
      fillsWindowMs: 60_000,
      stopRoom: '0.01',
      shutdownWithinMs: 30_000,
      gateStaleMs: 250,
      clockAheadMs: 5_000,
      people: {},
      fourEyes: false,
      allowedAddresses: [],
      store: { sqlite: 'profiles/.runbook/runbook.db' },
      anchors: { copies: {}, patienceMs: 600_000 },
      notify: { ops: { webhook: { env: 'OPS_WEBHOOK' } }, desk: { log: true } },
    });
  });

  it('reads where anchors go, beside the profile', () => {
    const anchors = {
      key: { file: 'anchor.pem' },
      copies: {
        away: { file: '/mnt/log/anchors.jsonl' },
        web: { webhook: { env: 'ANCHORS' } },
        store: { bucket: { env: 'BUCKET' } },
      },
      patience: '90s',
    };
    expect(profileOf({ ...MINIMAL, anchors }).anchors).toEqual({
      key: { file: 'profiles/anchor.pem' },
      copies: {
        away: { file: '/mnt/log/anchors.jsonl' },
        web: { webhook: { env: 'ANCHORS' } },
        store: { bucket: { env: 'BUCKET' } },
      },
      patienceMs: 90_000,
    });
  });

  it('needs a name, a URL and one way to authenticate, and no more', () => {
    expect(profileOf(MINIMAL)).toMatchObject({
      account: 'main',
      auth: { carrier: { in: 'header', header: 'Authorization', prefix: 'Bearer ' } },
      limits: {},
    });
  });

  it('reads numbers given as text', () => {
    const profile = profileOf({
      ...MINIMAL,
      rate_limit: { tokens: '600' },
      limits: { max_order_size: '0.123456789012345678', max_open_orders: '3' },
    });
    expect([profile.rateLimit.tokens, profile.limits]).toEqual([
      600,
      { maxOrderSize: '0.123456789012345678', maxOpenOrders: 3 },
    ]);
  });

  it.each([
    ['another header has no prefix', { header: 'RBT-JWT' }, { in: 'header', header: 'RBT-JWT', prefix: '' }],
    [
      'unless it is given',
      { header: 'X-Token', prefix: 'Token ' },
      { in: 'header', header: 'X-Token', prefix: 'Token ' },
    ],
    ['a cookie', { cookie: 'jwt' }, { in: 'cookie', cookie: 'jwt' }],
  ])('%s', (_, auth, carrier) => {
    expect(profileOf({ ...MINIMAL, auth: { jwt: { env: 'J' }, ...auth } }).auth).toMatchObject({ carrier });
  });

  it('reads the settings of signed requests', () => {
    const auth = {
      mode: 'api_key',
      api_key: { env: 'K' },
      secret: { file: 'key' },
      chain: 'rbx',
      signature_life: '30s',
      signing_headers: { key: 'X-KEY' },
    };
    expect(profileOf({ ...MINIMAL, auth }).auth).toEqual({
      mode: 'api_key',
      apiKey: { env: 'K' },
      secret: { file: 'profiles/key' },
      chain: 'rbx',
      signatureLifeMs: 30_000,
      headers: { key: 'X-KEY', expiry: 'RBT-TS', signature: 'RBT-SIGNATURE', chain: 'EID' },
    });
  });

  it('reads every open item of the venue document in its other forms', () => {
    const profile = profileOf({
      ...MINIMAL,
      encoding: { 'POST /cancel_all_after': 'query', 'DELETE /cancel_all_after': 'query' },
      rate_limit: {
        tokens: 12_000,
        window: '30s',
        order_rate: 20,
        statuses: [200, 429],
        reset_unit: 'us',
        costs: { 'GET /orders': 1 },
      },
      position_orders: {
        size_field: 'size_percent',
        shown_size: 'base',
        stop_loss: 'stop_loss_limit',
        take_profit: 'take_profit_limit',
      },
      market_order_price: 'required',
      max_leverage: 50,
      refusals: { definite: ['INSUFFICIENT_MARGIN'] },
      auth: { jwt: { env: 'J' }, jwt_life: '24h', send_jwt_on_refresh: false, is_client: false },
      ambiguity: { window: '25s' },
      stop: { room: '0.25%' },
    });
    expect(profile).toMatchObject({
      stopRoom: '0.0025',
      encoding: { 'POST /cancel_all_after': 'query', 'DELETE /cancel_all_after': 'query', 'POST /orders': 'body' },
      rateLimit: { tokens: 12_000, windowMs: 30_000, orderRate: 20, statuses: [200, 429], resetUnit: 'us' },
      positionOrders: {
        sizeField: 'size_percent',
        shownSize: 'base',
        types: { stop_loss: 'stop_loss_limit', take_profit: 'take_profit_limit' },
      },
      marketOrderPrice: 'required',
      maxLeverage: 50,
      refusals: { definite: ['INSUFFICIENT_MARGIN'], doubtful: [] },
      auth: { jwtLifeMs: 86_400_000, sendJwtOnRefresh: false, isClient: false },
      ambiguityWindowMs: 25_000,
      fillsWindowMs: 60_000,
    });
    expect([
      getCost(profile, 'GET /orders'),
      getCost(profile, 'GET /fills/order'),
      getCost(profile, 'GET /account'),
    ]).toEqual([1, 10, 20]);
  });

  it('takes nested result types, optional ones and maps', () => {
    const result = { books: { type: 'map', of: { type: 'list', of: 'price?' } }, type: 'text' };
    expect(
      profileOf({ ...MINIMAL, requests: { r: { method: 'GET', path: '/a/b', tokens: 1, result } } }).requests['r']
        ?.result,
    ).toEqual({
      kind: 'record',
      fields: {
        books: { kind: 'map', of: { kind: 'list', of: { kind: 'value', type: 'price', optional: true } } },
        type: { kind: 'value', type: 'text', optional: false },
      },
    });
  });

  it('reads every limit', () => {
    const limits = {
      markets: ['BTC-USD'],
      sides: ['long'],
      order_types: ['limit'],
      max_order_size: '1',
      max_order_notional: '2',
      max_run_notional: '3',
      unknown_price: 'deny',
      max_market_notional: '4',
      max_exposure: '5',
      max_position: '6',
      max_open_orders: 7,
      max_daily_notional: '11',
      max_daily_loss: '12',
      max_leverage: '8',
      max_writes: 9,
      max_orders_per_minute: 10,
      price_band: { within: '0.03', max_age: '5s' },
      step_fills: { max: 3, window: '1m' },
      refusals: { max: 4, window: '2m' },
      self_match: 'deny',
      min_equity: '100',
      min_health: '0.5',
      max_account_age: '1m',
      max_read_age: '10s',
      mode: 'reducing',
      market_modes: { 'ETH-USD': 'halted' },
    };
    // A band by market is a runbook's, which has the reference of each.
    const read = LIMIT_CONTROLS.filter((control) => control !== 'marketBands');
    expect(Object.keys(profileOf({ ...MINIMAL, limits }).limits).sort()).toEqual(read.sort());
  });
});

it.each([
  ['3%', '0.03'],
  ['0.5%', '0.005'],
  [0.03, '0.03'],
  ['100%', '1'],
  [3, undefined],
  ['300%', undefined],
  ['-3%', undefined],
  ['3 %', undefined],
])('the price band of a profile takes %j', (within, accepted) => {
  const { profile } = read({ ...MINIMAL, limits: { price_band: { within } } });
  expect(profile?.limits.priceBandWithin).toBe(accepted);
});

describe('readProfile, refused profiles', () => {
  it.each([
    ['no map', [], ['error profile-form : a profile must be a map, found a list']],
    [
      'nothing in it',
      {},
      [
        'error profile-missing : profile is missing: ',
        'error profile-missing : base_url is missing: ',
        'error profile-missing : auth is missing: ',
      ],
    ],
    ['an unknown key', { ...MINIMAL, base_ulr: 'x' }, ['error profile-unknown base_ulr: a profile has no "base_ulr"']],
    [
      'an unknown key further in',
      { ...MINIMAL, rate_limit: { token: 1 } },
      ['error profile-unknown rate_limit.token: rate_limit has no "token"'],
    ],
    [
      '__proto__',
      JSON.parse('{"profile":"p","base_url":"https://v.example","auth":{"jwt":{"env":"J"}},"__proto__":{"x":1}}'),
      ['error profile-unknown __proto__: a profile has no "__proto__"'],
    ],
    [
      'a negative limit',
      { ...MINIMAL, limits: { max_order_size: '-1' } },
      ['error profile-form limits.max_order_size: limits.max_order_size must be a decimal of at least 0, found "-1"'],
    ],
    [
      'a tick of zero',
      { ...MINIMAL, markets: { 'BTC-USD': { tick: '0', lot: '1' } } },
      ['error profile-form markets.BTC-USD.tick: markets.BTC-USD.tick must be a decimal above 0, found "0"'],
    ],
    [
      'a number JavaScript has rounded',
      { ...MINIMAL, limits: { max_position: 0.1 + 0.2 } },
      [
        'error profile-form limits.max_position: limits.max_position must be a plain decimal such as "0.0001", in quotes where it is long, found 0.30000000000000004',
      ],
    ],
    [
      'a market without a dash',
      { ...MINIMAL, markets: { BTCUSD: { tick: '1', lot: '1' } } },
      ['error profile-form markets.BTCUSD: markets has keys that are a market id, <BASE>-<QUOTE>; found "BTCUSD"'],
    ],
    [
      'too many tokens',
      { ...MINIMAL, rate_limit: { tokens: 0 } },
      ['error profile-form rate_limit.tokens: rate_limit.tokens must be a whole number from 1 to 10000000, found 0'],
    ],
    [
      'leverage beyond 50',
      { ...MINIMAL, max_leverage: 51 },
      ['error profile-form max_leverage: max_leverage must be a whole number from 1 to 50, found 51'],
    ],
    [
      'a duration without a unit',
      { ...MINIMAL, ambiguity: { window: '90' } },
      [
        'error profile-form ambiguity.window: ambiguity.window must be a duration such as 20s or 1h30m, from 1s to 1d, found "90"',
      ],
    ],
    [
      'a signature that lives too long',
      { ...MINIMAL, auth: { mode: 'api_key', api_key: { env: 'K' }, secret: { env: 'S' }, signature_life: '601s' } },
      [
        'error profile-form auth.signature_life: auth.signature_life must be a duration such as 20s or 1h30m, from 1s to 10m, found a text',
      ],
    ],
    [
      'a GET in the body',
      { ...MINIMAL, encoding: { 'GET /orders': 'body' } },
      ['error profile-unknown encoding.GET /orders: encoding has no "GET /orders"'],
    ],
    [
      'a misspelled word',
      { ...MINIMAL, market_order_price: 'requierd' },
      ['error profile-form market_order_price: market_order_price must be one of optional, required, found "requierd"'],
    ],
    [
      'a request that writes',
      { ...MINIMAL, requests: { r: { method: 'POST', path: '/a', tokens: 1, result: 'text' } } },
      ['error profile-form requests.r.method: requests.r.method must be one of GET, found "POST"'],
    ],
    [
      'a path that goes up',
      { ...MINIMAL, requests: { r: { method: 'GET', path: '/a/../orders', tokens: 1, result: 'text' } } },
      ['error profile-form requests.r.path: requests.r.path must be a path such as /markets, found "/a/../orders"'],
    ],
    [
      'a request for a private endpoint',
      { ...MINIMAL, requests: { r: { method: 'GET', path: '/orders', tokens: 1, result: 'text' } } },
      ['error profile-conflict requests.r.path: requests.r: GET /orders '],
    ],
    [
      'a malformed address',
      { ...MINIMAL, allowed_addresses: ['10.0.0.0/33'] },
      [
        'error profile-form allowed_addresses.0: allowed_addresses[0] is not an IP address or network such as 10.1.0.0/16',
      ],
    ],
    ['two stores', { ...MINIMAL, store: { sqlite: 'a', postgres: { env: 'P' } } }, ['error profile-conflict store: ']],
    [
      'a telegram bot without a chat',
      { ...MINIMAL, notify: { ops: { webhook: { env: 'OPS' }, shape: 'telegram' } } },
      ['error profile-conflict notify.ops: '],
    ],
    [
      'a chat of another service',
      { ...MINIMAL, notify: { ops: { webhook: { env: 'OPS' }, chat: '-1' } } },
      ['error profile-conflict notify.ops: '],
    ],
    [
      'a shape of a log',
      { ...MINIMAL, notify: { ops: { log: true, shape: 'slack' } } },
      ['error profile-conflict notify.ops: '],
    ],
    ['a target without a kind', { ...MINIMAL, notify: { ops: {} } }, ['error profile-conflict notify.ops: ']],
    [
      'a place for anchors of two kinds',
      { ...MINIMAL, anchors: { copies: { away: { file: 'a', webhook: { env: 'W' } } } } },
      ['error profile-conflict anchors.copies.away: '],
    ],
  ])('%s', (_, data, found) => {
    expect(read(data)).toEqual({ profile: undefined, found: found.map((start) => expect.stringContaining(start)) });
  });

  it('suggests a similar setting', () => {
    const { diagnostics } = readProfile({ ...MINIMAL, base_ulr: 'x' }, { file: 'p', text: '' }, () => ({
      start: 0,
      end: 0,
    }));
    expect(diagnostics.map(({ hint }) => hint)).toEqual([expect.stringContaining('base_url')]);
  });

  it.each([
    ['http://venue.example', 'found the host venue.example'],
    ['http://127.0.0.1.evil.example', 'found the host 127.0.0.1.evil.example'],
    ['http://0.0.0.0', 'found the host 0.0.0.0'],
    ['http://localhost.evil.example', 'found the host localhost.evil.example'],
    ['https://user@venue.example', 'a user name or a password'],
    ['https://venue.example/v1?x=1', 'base_url has a query or a fragment; it must end with its path'],
    ['https://venue.example/#top', 'base_url has a query or a fragment; it must end with its path'],
    ['https://venue.example/a/../b', 'base_url has a path with '],
    ['https://', 'base_url must be an https URL; http only to a loopback address, found "https://"'],
    [
      'ftp://venue.example',
      'base_url must be an https URL; http only to a loopback address, found "ftp://venue.example"',
    ],
  ])('the URL %s', (base_url, message) => {
    expect(read({ ...MINIMAL, base_url }).found).toEqual([
      expect.stringMatching(/^error profile-(url|form) base_url: /),
    ]);
    expect(read({ ...MINIMAL, base_url }).found[0]).toContain(message);
  });

  it.each([
    ['http://localhost:8080/'],
    ['http://127.0.0.1'],
    ['http://127.9.9.9:1'],
    ['http://[::1]:8080'],
    ['https://venue.example/api/v1/'],
  ])('the URL %s is good', (base_url) => {
    expect(profileOf({ ...MINIMAL, base_url }).baseUrl).toBe(base_url.replace(/\/$/, ''));
  });

  it.each([
    ['https://Venue.Example:443/api//', 'https://venue.example/api'],
    ['https://venue.example./api', 'https://venue.example/api'],
    ['http://LOCALHOST:80', 'http://localhost'],
    ['http://127.1:8080/', 'http://127.0.0.1:8080'],
  ])('the URL %s gets one spelling, so that an account has one name', (base_url, spelled) => {
    expect(profileOf({ ...MINIMAL, base_url }).baseUrl).toBe(spelled);
  });

  it.each([
    ['neither JWT nor refresh token', {}, ['profile-missing auth: auth ']],
    [
      'a cookie and a header',
      { jwt: { env: 'J' }, cookie: 'jwt', header: 'X' },
      ['profile-conflict auth.header: auth.header and auth.cookie '],
    ],
    [
      'a key in mode jwt',
      { jwt: { env: 'J' }, chain: 'rbx' },
      ['profile-conflict auth.chain: auth.chain is for mode api_key; the mode is jwt'],
    ],
    [
      'half a key',
      { mode: 'api_key', api_key: { env: 'K' }, jwt: { env: 'J' } },
      [
        'profile-conflict auth.jwt: auth.jwt is for mode jwt; the mode is api_key',
        'profile-missing auth: auth.secret is missing; mode api_key needs it',
      ],
    ],
    ['no credentials for a real venue', { mode: 'none' }, ['profile-conflict auth.mode: auth.mode none ']],
    [
      'an invalid variable name',
      { jwt: { env: 'MY-JWT' } },
      [
        'profile-form auth.jwt.env: auth.jwt.env must be the name of an environment variable: letters, digits and _, no digit first',
      ],
    ],
    [
      'two places',
      { jwt: { env: 'A', file: 'b' } },
      ['profile-form auth.jwt: auth.jwt must say where the secret is: {env: NAME} or {file: PATH}'],
    ],
    [
      'a password in the file',
      { jwt: 'hunter2hunter2' },
      ['profile-secret auth.jwt: auth.jwt must say where the secret is: {env: NAME} or {file: PATH}'],
    ],
  ])('auth with %s', (_, auth, found) => {
    expect(read({ ...MINIMAL, auth }).found).toEqual(found.map((start) => expect.stringContaining(`error ${start}`)));
  });

  it.each([
    ['inline where a reference belongs', { ...MINIMAL, auth: { jwt: JWT } }],
    ['as the name of a variable', { ...MINIMAL, auth: { jwt: { env: JWT } } }],
    ['as a value of another setting', { ...MINIMAL, account: JWT }],
    ['as a key', { ...MINIMAL, notify: { [JWT]: { log: true } } }],
    ['in a list', { ...MINIMAL, capabilities: [JWT] }],
    ['in a header prefix', { ...MINIMAL, auth: { jwt: { env: 'J' }, prefix: `Bearer ${JWT}` } }],
    ['in an unknown setting', { ...MINIMAL, token: JWT }],
    ['in the URL', { ...MINIMAL, base_url: `https://venue.example/${JWT}` }],
    ['in the parameters of a feed', { ...MINIMAL, feeds: { a: { request: 'r', with: { x: JWT }, read: 'result' } } }],
  ])('a secret %s, without ever repeating it', (_, data) => {
    const { profile, found } = read(data);
    expect(profile).toBeUndefined();
    expect(found.some((line) => line.startsWith('error profile-secret'))).toBe(true);
    const { diagnostics } = readProfile(data, { file: 'p', text: '' }, () => ({ start: 0, end: 0 }));
    expect(JSON.stringify(diagnostics)).not.toContain(JWT.slice(0, 12));
  });

  it.each([
    ['an undeclared request', { request: 'other', read: 'result' }, 'feeds.mid.request: feeds.mid: '],
    [
      'a parameter it does not have',
      { request: 'info', with: { market: 'x' }, read: 'result[0].price' },
      'feeds.mid: the request info has no parameter market',
    ],
    [
      'an unknown template',
      { request: 'info', with: { m: '${side}' }, read: 'result[0].price' },
      'feeds.mid.with.m: only ${market} can be filled in',
    ],
    [
      'a path that does not exist',
      { request: 'info', read: 'result.price' },
      'feeds.mid: result.price is not a number',
    ],
    ['a text', { request: 'info', read: 'result[0].name' }, 'feeds.mid: result[0].name is not a number'],
  ])('a feed of %s', (_, mid, message) => {
    const requests = {
      info: {
        method: 'GET',
        path: '/info',
        query: { m: 'text' },
        tokens: 1,
        result: { type: 'list', of: { price: 'price', name: 'text' } },
      },
    };
    expect(read({ ...MINIMAL, requests, feeds: { mid } }).found).toEqual([expect.stringContaining(message)]);
  });

  it.each([
    ['an undeclared request', { request: 'other' }, 'positions.request: positions: requests has no other'],
    ['a result without the rows', { rows: 'result' }, 'positions.rows: '],
    ['a size that may be absent', { size: 'maybe' }, 'positions.size: '],
    ['a market that is a number', { market: 'size' }, 'positions.market: '],
    ['a field that is not there', { side: 'toString' }, 'positions.side: '],
  ])('positions of %s', (_, change, message) => {
    const positions = {
      request: 'held',
      rows: 'result.rows',
      market: 'market_id',
      size: 'size',
      side: 'side',
      ...change,
    };
    const of = { market_id: 'market', size: 'size', side: 'side', maybe: 'size?', price: 'price?' };
    const result = { rows: { type: 'list', of } };
    const requests = { held: { method: 'GET', path: '/positions', tokens: 10, result } };
    expect(read({ ...MINIMAL, requests, positions }).found).toEqual([expect.stringContaining(message)]);
    const unsided = { request: 'held', rows: 'result.rows', market: 'market_id', size: 'size', price: 'price' };
    expect(read({ ...MINIMAL, requests, positions: unsided }).found).toEqual([expect.stringContaining('.side: ')]);
    const sound = { ...unsided, side: 'side' };
    expect(read({ ...MINIMAL, requests, positions: sound }).profile?.positions).toEqual(sound);
  });

  it('warns of settings without effect, and gives the profile', () => {
    const { profile, found } = read({
      ...MINIMAL,
      rate_limit: { costs: { 'GET /account': 5 } },
      markets: { 'BTC-USD': { tick: '1', lot: '1' } },
      limits: { markets: ['ETH-USD'] },
    });
    expect(found).toEqual([
      expect.stringMatching(/^warning profile-ineffective rate_limit\.costs\.GET \/account: .* costs 20 /),
      expect.stringMatching(/^warning profile-ineffective limits\.markets\.0: .*ETH-USD/),
    ]);
    expect(getCost(profile as Profile, 'GET /account')).toBe(20);
  });

  it('never throws, whatever it is given', () => {
    const odd: unknown[] = [
      null,
      undefined,
      1,
      'x',
      true,
      [[]],
      { auth: null },
      { auth: [] },
      { base_url: {} },
      { markets: { 'A-B': null } },
      { requests: { r: 1 } },
      { limits: { price_band: 1, markets: 'x' } },
    ];
    for (const data of odd) expect(read(data).profile).toBeUndefined();
  });
});

describe('looksSecret', () => {
  it.each([
    [JWT],
    [`Bearer ${JWT}`],
    [`${'f'.repeat(31)}0123`],
    [`0x${'a1'.repeat(20)}`],
    ['sk_live_4eC39HqLyjWDarjtT1zdp7dc'],
    ['https://user:pass@venue.example'],
    ['-----BEGIN EC PRIVATE KEY-----'],
  ])('finds %s', (text) => {
    expect(looksSecret(text)).toBe(true);
  });
  it.each([
    ['VENUE_REFRESH_TOKEN'],
    ['https://api.venue.example/v1'],
    ['BTC-USD'],
    ['result[0].fair_price'],
    ['.runbook/runbook.db'],
    ['/run/secrets/production-refresh-token'],
    ['POST /cancel_all_after'],
    ['123456789012345678901234567890.5'],
    ['DELETE /orders/cancel_all'],
  ])('leaves %s alone', (text) => {
    expect(looksSecret(text)).toBe(false);
  });
});

describe('profileSettings', () => {
  it('holds every setting in force, and is read back as the same profile', () => {
    for (const data of [
      EXAMPLE,
      MINIMAL,
      {
        ...MINIMAL,
        review_page: 'https://desk.example',
        heartbeat: { url: { env: 'HEARTBEAT' }, every: '90s' },
        notify: { ops: { webhook: { env: 'OPS' }, shape: 'telegram', chat: '-1' } },
        auth: { refresh_token: { file: '/run/token' }, cookie: 'jwt' },
        limits: { price_band: { within: '0.03' }, max_read_age: '10s' },
      },
    ]) {
      const profile = profileOf(data);
      const settings = writeProfileSettings(profile);
      expect(restoreProfile(settings)).toEqual(profile);
      expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
    }
  });

  it('restores the simulated profile, which grants everything', () => {
    expect(restoreProfile(writeProfileSettings(SIMULATED_PROFILE))).toEqual(SIMULATED_PROFILE);
  });

  it('reads back a path in a folder whose name looks like a secret, which a profile must not hold', () => {
    const folder = '/srv/a8Kd93LmQz7RtYwX02bNv5';
    const profile = { ...profileOf(EXAMPLE), store: { sqlite: `${folder}/runs.db` } };
    expect(restoreProfile(writeProfileSettings(profile))).toEqual(profile);
    const { found } = read({ ...EXAMPLE, store: { sqlite: `${folder}/runs.db` } });
    expect(found.some((line) => line.startsWith('error profile-secret'))).toBe(true);
  });

  it('gives undefined for other settings', () => {
    expect(restoreProfile({})).toBeUndefined();
  });

  it('holds references to secrets, and nothing from the environment', () => {
    expect(writeProfileSettings(profileOf(EXAMPLE))['auth']).toMatchObject({
      jwt: { env: 'VENUE_JWT' },
      header: 'Authorization',
      jwt_life: '2d',
    });
  });
});

describe('capabilities', () => {
  it('are words: a star in a file is refused', () => {
    expect(read({ ...MINIMAL, capabilities: ['*'] }).found).toHaveLength(1);
  });
});

describe('the schema', () => {
  const issues = (data: Data) => findSchemaIssues(PROFILE_SCHEMA_NAME, buildProfileSchema, data);

  it('accepts what the reader accepts', () => {
    expect([issues(EXAMPLE), issues(MINIMAL), issues(writeProfileSettings(profileOf(EXAMPLE)) as Data)]).toEqual([
      [],
      [],
      [],
    ]);
  });

  it.each([
    [{ ...MINIMAL, base_ulr: 'x' }],
    [{ ...MINIMAL, auth: { jwt: JWT } }],
    [{ ...MINIMAL, limits: { max_order_size: -1 } }],
    [{ ...MINIMAL, max_leverage: 51 }],
    [{ ...MINIMAL, ambiguity: { window: '90' } }],
    [{ ...MINIMAL, encoding: { 'GET /orders': 'body' } }],
    [{ ...MINIMAL, requests: { r: { method: 'GET', path: '/a', tokens: 1, result: 'prize' } } }],
    [{ profile: 'p', base_url: 'https://venue.example' }],
  ])('refuses what the reader refuses: %j', (data) => {
    expect(issues(data).length).toBeGreaterThan(0);
    expect(read(data).profile).toBeUndefined();
  });
});

describe('the table of assumptions', () => {
  it('names existing settings', () => {
    const settings = writeProfileSettings(profileOf({ ...EXAMPLE, rate_limit: { order_rate: 20 } }));
    const at = (path: string) =>
      path.split('.').reduce<unknown>((value, key) => (value as Data | undefined)?.[key], settings);
    const signed = ['auth.signature_life', 'auth.signing_headers', 'auth.cookie'];
    const named = Object.values(ASSUMPTIONS).flatMap((row) => ('setting' in row ? [row.setting] : []));
    expect(named.filter((path) => at(path) === undefined && !signed.includes(path))).toEqual([]);
  });

  it('has a placement for every endpoint', () => {
    expect(Object.keys(ASSUMPTIONS.encoding.default).sort()).toEqual([...ENDPOINT_NAMES].sort());
  });
});

describe('small parts', () => {
  it('parses a path in a result', () => {
    expect(parseResultPath('result[0].books[12].best_bid')).toEqual(['result', 0, 'books', 12, 'best_bid']);
  });
  it('leaves absent limits absent', () => {
    expect(toLimitRules({})).toEqual({});
  });
});
