import { describe, expect, it } from 'vitest';
import { ENDPOINT_NAMES, type EndpointName } from '../../src/venue/catalogue.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { type AnswerVerdict, readAnswer } from '../../src/venue/wire/answer.ts';

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function read<E extends EndpointName>(
  name: E,
  body: string,
  status = 200,
  headers: Record<string, string> = JSON_TYPE,
  settings = SIMULATED_PROFILE,
): AnswerVerdict<E> {
  return readAnswer(name, { status, headers, body }, settings);
}

function success(result: unknown): string {
  return JSON.stringify({ success: true, error: '', result });
}

function failure(error: string): string {
  return JSON.stringify({ success: false, error, result: [] });
}

const ORDER = {
  id: 'BTC-USD@1193',
  profile_id: 88892,
  market_id: 'BTC-USD',
  order_type: 'limit',
  status: 'open',
  price: '106000',
  size: '0.0001',
  initial_size: '0.0001',
  total_filled_size: '0',
  side: 'short',
  timestamp: 1748776162875466,
  reason: '',
  client_order_id: '',
  time_in_force: 'good_till_cancel',
};
const PLACEMENT = {
  id: 'BTC-USD@1191',
  market_id: 'BTC-USD',
  profile_id: 88892,
  status: 'processing',
  size: '0.0001',
  price: '106000',
  side: 'short',
  type: 'limit',
  is_liquidation: false,
  client_order_id: 'rbabc',
  time_in_force: 'good_till_cancel',
};
const FILL = {
  id: 'BTC-USD-82',
  profile_id: 84980,
  market_id: 'BTC-USD',
  order_id: 'BTC-USD@1147',
  timestamp: 1749801319584077,
  trade_id: 'BTC-USD-81',
  price: '103120',
  size: '0.0002',
  side: 'short',
  is_maker: true,
  fee: '-0.0178801',
  liquidation: false,
};
const DEADMAN = {
  market_id: 'BTC-USD',
  profile_id: 1,
  timeout: 60000,
  last_updated: 1701324346000000,
  status: 'active',
};
const ACCOUNT = {
  id: 13,
  status: 'active',
  profile_type: 'trader',
  wallet: '0x0000000000000000000000000000000000000001',
  balance: '1',
  withdrawable_balance: '2',
  account_equity: '3',
  account_leverage: '4',
  account_margin: '5',
  health: '6',
  cum_trading_volume: '7',
  cum_unrealized_pnl: '-8',
  total_notional: '9',
  total_order_margin: '10',
  total_position_margin: '11',
  last_liq_check: 0,
  last_update: 1701324346000000,
  leverage: { 'BTC-USD': '20', 'ETH-USD': '1' },
};

describe('readAnswer, the recorded samples', () => {
  it.each([
    ['GET /orders', ORDER],
    ['POST /orders', PLACEMENT],
    ['GET /fills', FILL],
    ['GET /fills/order', FILL],
    ['GET /account', ACCOUNT],
    ['PUT /account/leverage', ACCOUNT],
    ['DELETE /orders', { id: 'BTC-USD@1', market_id: 'BTC-USD', profile_id: 1, status: 'canceling' }],
    [
      'PUT /orders',
      { id: 'BTC-USD@1', market_id: 'BTC-USD', price: '1', profile_id: 1, size: '2', status: 'amending' },
    ],
    [
      'GET /profile',
      {
        tier_status: {
          current: { tier: 0, title: 'Basic', min_volume: '0' },
          next: { tier: 1, title: 'Plus', min_volume: '1000' },
          needed_volume: '999.5',
        },
      },
    ],
  ] as const)('%s gives its record as it is', (name, record) => {
    expect(read(name, success([record]))).toEqual({ kind: 'confirmed', result: [record], notes: [] });
  });

  it('refuses with the text of the envelope', () => {
    expect(read('DELETE /orders', '{"success":false,"error":"ORDER_NOT_FOUND","result":[]}', 400)).toEqual({
      kind: 'refused',
      text: 'ORDER_NOT_FOUND',
      serverError: false,
      limited: false,
      unauthorized: false,
      notFound: true,
      duplicate: false,
      definite: true,
      doubtful: false,
    });
  });

  it('shows an error that is no text as the JSON that came, its numbers digit for digit', () => {
    const refused = (error: string) => read('POST /orders', `{"success":false,"error":${error},"result":null}`, 400);
    expect(refused('{"code":1e2,"text":"no margin"}')).toMatchObject({ text: '{"code":1e2,"text":"no margin"}' });
    expect(refused('9007199254740993')).toMatchObject({ text: '9007199254740993' });
  });

  it('gives an outcome for every endpoint when the result is an empty list', () => {
    const kinds = Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, read(name, success([])).kind]));
    expect(Object.keys(kinds).filter((name) => kinds[name] === 'confirmed')).toEqual([
      'GET /orders',
      'DELETE /orders/cancel_all',
      'GET /fills',
      'GET /fills/order',
      'GET /cancel_all_after',
      'DELETE /cancel_all_after',
    ]);
  });
});

describe('readAnswer, known shapes', () => {
  it.each([
    ['a text in a list', ['a.b.c'], { jwt: 'a.b.c' }, []],
    ['an object in a list', [{ jwt: 'a.b.c', refresh_token: 'r2' }], { jwt: 'a.b.c', refresh_token: 'r2' }, []],
    ['an object with an empty refresh token', [{ jwt: 'a.b.c', refresh_token: '' }], { jwt: 'a.b.c' }, []],
    ['a bare text', 'a.b.c', { jwt: 'a.b.c' }, ['the JWT is not in a list']],
  ])('POST /jwt gives %s', (_, result, wanted, notes) => {
    expect(read('POST /jwt', success(result))).toEqual({ kind: 'confirmed', result: wanted, notes });
  });

  it.each([[[]], [['a b']], [['']], [['a\nb']], [['a', 'b']], [[{ jwt: 1 }]], [null]])(
    'POST /jwt with %j is unreadable, and the token is not quoted',
    (result) => {
      const verdict = read('POST /jwt', success(result));
      expect(verdict.kind).toBe('unreadable');
      expect(verdict).not.toHaveProperty('why', expect.stringContaining('a b'));
    },
  );

  it.each([[DEADMAN], [[DEADMAN]]])('the deadman switch is %j', (result) => {
    expect(read('POST /cancel_all_after', success(result))).toEqual({ kind: 'confirmed', result: DEADMAN, notes: [] });
    expect(read('GET /cancel_all_after', success(result))).toEqual({ kind: 'confirmed', result: DEADMAN, notes: [] });
  });

  it.each([[[]], [{}], [null], [[{}]], [[null]]])('a switch that is not active is %j', (result) => {
    expect(read('GET /cancel_all_after', success(result))).toEqual({ kind: 'confirmed', result: null, notes: [] });
    expect(read('POST /cancel_all_after', success(result))).toEqual({
      kind: 'unreadable',
      why: 'success without a record of the switch',
    });
  });

  it.each([[[]], [[true]], [null], [true]])('cancel_all and the deadman’s removal give %j', (result) => {
    expect(read('DELETE /orders/cancel_all', success(result))).toEqual({ kind: 'confirmed', result: null, notes: [] });
    expect(read('DELETE /cancel_all_after', success(result))).toEqual({ kind: 'confirmed', result: null, notes: [] });
  });

  it('does not read a false from cancel_all as success', () => {
    expect(read('DELETE /orders/cancel_all', success([false]))).toEqual({
      kind: 'unreadable',
      why: 'success with the result false',
    });
  });

  it('reads null as an empty list of orders, and notes it', () => {
    expect(read('GET /orders', success(null))).toEqual({
      kind: 'confirmed',
      result: [],
      notes: [expect.stringContaining('null ')],
    });
  });

  it('reads the highest tier, which has no next tier', () => {
    const current = { tier: 3, title: 'Top', min_volume: '1000000' };
    expect(read('GET /profile', success([{ tier_status: { current, next: null, needed_volume: null } }]))).toEqual({
      kind: 'confirmed',
      result: [{ tier_status: { current, next: current, needed_volume: '0' } }],
      notes: [expect.stringContaining('no next tier')],
    });
  });
});

describe('readAnswer, fields', () => {
  const order = (changes: object) => read('GET /orders', success([{ ...ORDER, ...changes }]));
  const raw = (changes: string) => read('GET /orders', success([ORDER]).replace('"size":"0.0001"', changes));

  it.each([
    ['reason', ''],
    ['client_order_id', ''],
    ['price', '0'],
    ['profile_id', 0],
    ['time_in_force', ''],
  ])('fills in %s where it is absent, null or empty', (field, empty) => {
    for (const missing of [undefined, null, '']) {
      expect(order({ [field]: missing })).toEqual({
        kind: 'confirmed',
        result: [{ ...ORDER, [field]: empty }],
        notes: [],
      });
    }
  });

  it.each([['id'], ['side'], ['size'], ['initial_size'], ['total_filled_size'], ['status'], ['timestamp']])(
    'is unreadable without %s',
    (field) => {
      expect(order({ [field]: undefined })).toEqual({ kind: 'unreadable', why: `order.${field} is missing` });
    },
  );

  it('refuses a size with a sign, which the side would turn around once more', () => {
    expect(read('GET /fills', success([{ ...FILL, size: '-0.0002' }]))).toEqual({
      kind: 'unreadable',
      why: 'fill.size is below zero',
    });
    expect(order({ total_filled_size: '-1e-4' })).toMatchObject({ why: 'order.total_filled_size is below zero' });
    expect(order({ initial_size: '-0.0' })).toMatchObject({ result: [{ initial_size: '0' }] });
  });

  it('never invents a balance or a fee', () => {
    expect(read('GET /account', success([{ ...ACCOUNT, total_position_margin: null }]))).toEqual({
      kind: 'unreadable',
      why: 'account.total_position_margin is missing',
    });
    expect(read('GET /fills', success([{ ...FILL, fee: undefined }]))).toEqual({
      kind: 'unreadable',
      why: 'fill.fee is missing',
    });
  });

  it('keeps unknown statuses and types and notes them, and ignores unknown fields', () => {
    expect(order({ status: 'placed', order_type: 'iceberg', colour: 'red' })).toEqual({
      kind: 'confirmed',
      result: [{ ...ORDER, status: 'placed', order_type: 'iceberg' }],
      notes: ['unknown order.order_type iceberg', 'unknown order.status placed', 'unknown field colour of order'],
    });
  });

  it.each([
    ['"size":"123456789012345678.123456789012345678"', '123456789012345678.123456789012345678'],
    ['"size":0.1234567890123456789012345678901234567', '0.1234567890123456789012345678901234567'],
    ['"size":1e-7', '0.0000001'],
    ['"size":"1.5E+3"', '1500'],
    ['"size":"0.10"', '0.10'],
    ['"size":"-0.0"', '0'],
    ['"size":12', '12'],
  ])('reads %s as %s, whole', (json, size) => {
    expect(raw(json)).toEqual({ kind: 'confirmed', result: [{ ...ORDER, size }], notes: [] });
  });

  it.each([
    ['"size":"NaN"'],
    ['"size":"Infinity"'],
    ['"size":"0x1F"'],
    ['"size":"1,5"'],
    ['"size":true'],
    ['"size":[1]'],
    ['"size":1e999999'],
    ['"size":"1e-401"'],
    [`"size":"${'9'.repeat(600)}"`],
  ])('refuses %s as a decimal', (json) => {
    expect(raw(json)).toEqual({ kind: 'unreadable', why: 'order.size is not a decimal' });
  });

  it.each([['12@BTC'], ['BTC-USD@'], ['BTC-USD@x'], ['BTC-USD-1'], [12], ['BTC-USD@1\n']])(
    'refuses %j as an order id',
    (id) => {
      expect(order({ id })).toEqual({ kind: 'unreadable', why: 'order.id is not an order id, <market_id>@<number>' });
    },
  );

  it('keeps an order id beyond what JavaScript can count', () => {
    expect(order({ id: 'BTC-USD@90071992547409931234' })).toMatchObject({
      result: [{ id: 'BTC-USD@90071992547409931234' }],
    });
  });

  it('refuses an order whose id belongs to another market', () => {
    expect(order({ market_id: 'ETH-USD' })).toEqual({
      kind: 'unreadable',
      why: expect.stringMatching(/order\.id .* order\.market_id/),
    });
  });

  it('refuses a timestamp that is not a safe whole number', () => {
    expect(raw('"size":"0.0001","timestamp":1')).toMatchObject({ kind: 'unreadable' });
    expect(order({ timestamp: '1748776162875466' })).toEqual({ kind: 'confirmed', result: [ORDER], notes: [] });
    expect(read('GET /orders', success([ORDER]).replace('1748776162875466', '17487761628754661748776'))).toEqual({
      kind: 'unreadable',
      why: 'order.timestamp is not a whole number',
    });
  });

  it('reads a side in capitals, and refuses an unknown side', () => {
    expect(order({ side: 'SHORT' })).toEqual({
      kind: 'confirmed',
      result: [ORDER],
      notes: ['order.side spelled SHORT'],
    });
    expect(order({ side: 'buy' })).toEqual({ kind: 'unreadable', why: 'order.side is neither long nor short' });
  });

  it('uses the documented names of position orders, however the deployment spells them', () => {
    const positionOrders = {
      sizeField: 'size',
      shownSize: 'fraction',
      types: { stop_loss: 'stop_loss_limit', take_profit: 'take_profit' },
    } as const;
    const verdict = readAnswer(
      'POST /orders',
      { status: 200, headers: {}, body: success([{ ...PLACEMENT, type: 'stop_loss_limit' }]) },
      { ...SIMULATED_PROFILE, positionOrders },
    );
    expect(verdict).toEqual({ kind: 'confirmed', result: [{ ...PLACEMENT, type: 'stop_loss' }], notes: [] });
  });

  it('reads a leverage map with a market named __proto__ without side effects', () => {
    const body = success([ACCOUNT]).replace('"BTC-USD":"20"', '"__proto__":"20"');
    const verdict = read('GET /account', body);
    const leverage = verdict.kind === 'confirmed' ? verdict.result[0]?.leverage : undefined;
    expect(Object.entries(leverage ?? {})).toEqual([
      ['__proto__', '20'],
      ['ETH-USD', '1'],
    ]);
    expect(Object.getPrototypeOf(leverage)).toBe(Object.prototype);
  });
});

describe('readAnswer, one record', () => {
  it.each([
    ['none', [], 'success without a record'],
    ['two', [PLACEMENT, PLACEMENT], '2 records where one was asked for'],
    ['null', null, 'the result is null, not a list of one record'],
    ['a text', 'ok', 'the result is a string, not a list of one record'],
    ['a malformed id', [{ ...PLACEMENT, id: '1191' }], 'placement.id is not an order id, <market_id>@<number>'],
  ])('a placement with %s is unreadable', (_, result, why) => {
    expect(read('POST /orders', success(result))).toEqual({ kind: 'unreadable', why });
  });

  it('reads a record without its list', () => {
    expect(read('POST /orders', success(PLACEMENT))).toEqual({
      kind: 'confirmed',
      result: [PLACEMENT],
      notes: ['the record is not in a list'],
    });
  });
});

describe('readAnswer, unusable answers', () => {
  const HTML = { 'content-type': 'text/html' };
  it.each([
    ['an empty 200', 200, JSON_TYPE, '', 'status 200 with an empty body'],
    ['blanks', 200, JSON_TYPE, ' \n', 'status 200 with an empty body'],
    ['HTML', 200, HTML, '<html>', 'status 200 with content type text/html'],
    ['JSON called HTML', 200, HTML, success([PLACEMENT]), 'status 200 with content type text/html'],
    ['a proxy’s 502', 502, HTML, '<html>', 'status 502 with content type text/html'],
    ['truncated JSON', 200, JSON_TYPE, success([PLACEMENT]).slice(0, -20), 'status 200, body: not JSON'],
    ['trailing garbage', 200, JSON_TYPE, `${success([PLACEMENT])}{}`, 'status 200, body: not JSON'],
    [
      'a key twice',
      200,
      JSON_TYPE,
      '{"success":true,"success":true,"result":[]}',
      'status 200, body: an object names a key twice',
    ],
    ['deep JSON', 200, JSON_TYPE, '['.repeat(10_000), 'status 200, body: nested more than 16 levels deep'],
    ['a list', 200, JSON_TYPE, '[]', 'status 200 without the envelope of the venue'],
    [
      'success as a text',
      200,
      JSON_TYPE,
      '{"success":"true","result":[]}',
      'status 200 without the envelope of the venue',
    ],
    ['a 301', 301, JSON_TYPE, success([PLACEMENT]), 'status 301: a redirection, which is never followed'],
    ['a 307 with an envelope', 307, JSON_TYPE, failure('MOVED'), 'status 307: a redirection, which is never followed'],
    ['success with status 500', 500, JSON_TYPE, success([PLACEMENT]), expect.stringContaining('status 500, ')],
    ['success with status 400', 400, JSON_TYPE, success([PLACEMENT]), expect.stringContaining('status 400, ')],
    [
      'a 403 in plain text',
      403,
      { 'content-type': 'text/plain' },
      'forbidden',
      'status 403 with content type text/plain',
    ],
  ])('%s is unreadable', (_, status, headers, body, why) => {
    expect(read('POST /orders', body, status, headers)).toEqual({ kind: 'unreadable', why });
  });

  it('needs no content type where the transport has none', () => {
    expect(read('POST /orders', success([PLACEMENT]), 200, {})).toMatchObject({ kind: 'confirmed' });
  });

  it('notes a success that also names an error', () => {
    expect(read('DELETE /orders/cancel_all', '{"success":true,"error":"odd","result":[]}')).toEqual({
      kind: 'confirmed',
      result: null,
      notes: ['success with the error text odd'],
    });
  });
});

describe('readAnswer, refusals', () => {
  const EXHAUSTED = { ...JSON_TYPE, 'x-ratelimit-remaining': '0', 'x-ratelimit-retry-after': '3' };
  const WAIT = { ...JSON_TYPE, 'retry-after': '3' };
  const WAIT_LEFT = { ...WAIT, 'x-ratelimit-remaining': '5' };
  const LAST = { ...JSON_TYPE, 'x-ratelimit-remaining': '0' };
  const LEFT = { ...JSON_TYPE, 'x-ratelimit-remaining': '700' };
  const flags = <E extends EndpointName>(verdict: AnswerVerdict<E>) => {
    if (verdict.kind !== 'refused') return verdict.kind;
    const { limited, unauthorized, notFound, duplicate, definite, doubtful, serverError } = verdict;
    return Object.entries({ limited, unauthorized, notFound, duplicate, definite, doubtful, serverError })
      .filter(([, set]) => set)
      .map(([name]) => name)
      .join(' ');
  };

  it.each([
    ['a 429', 429, JSON_TYPE, failure('x'), 'limited'],
    ['a 429 in HTML', 429, { 'content-type': 'text/html' }, '<html>', 'limited'],
    ['a 429 without a body', 429, {}, '', 'limited'],
    ['a 200 that says so, and how long to wait', 200, WAIT, failure('RATE_LIMIT_EXCEEDED'), 'limited'],
    ['a 400 that says so with a wait and tokens left', 400, WAIT_LEFT, failure('rateLimitExceeded'), 'limited'],
    ['a 400 that says so with the last token', 400, LAST, failure('Too many requests, slow down'), 'limited'],
    ['words of the limit and nothing that bears them out', 400, JSON_TYPE, failure('RATE_LIMIT_EXCEEDED'), ''],
    ['words of the limit with tokens left', 200, LEFT, failure('too many requests'), ''],
    ['a market rule that ends like the limit', 400, LAST, failure('MODERATE_LIMIT: price'), ''],
    ['a market rule that begins like the limit', 400, LAST, failure('funding rate limitation'), ''],
    ['a margin rule with a throttled word', 400, LAST, failure('UNTHROTTLED_ONLY'), ''],
    ['a 400 with exhausted headers', 400, EXHAUSTED, failure('no'), 'limited'],
    ['an engine that gave up on the last token', 400, EXHAUSTED, failure('ENGINE_TIMEOUT'), 'doubtful'],
    [
      'a gateway that asks for a pause',
      200,
      { ...JSON_TYPE, 'retry-after': '5' },
      failure('UPSTREAM_BUSY'),
      'doubtful',
    ],
    ['a decision about the last token', 400, EXHAUSTED, failure('INSUFFICIENT_MARGIN'), 'definite'],
    ['the limit, which asks for another try', 400, EXHAUSTED, failure('rate limit: try again'), 'limited'],
    ['a refusal with tokens left', 400, { ...EXHAUSTED, 'x-ratelimit-remaining': '5' }, failure('no'), ''],
    ['a refusal that used the last token', 400, { ...JSON_TYPE, 'x-ratelimit-remaining': '0' }, failure('no'), ''],
    ['too many open orders', 400, JSON_TYPE, failure('OPEN_ORDERS_LIMIT_EXCEEDED'), ''],
    ['a 401', 401, JSON_TYPE, failure('x'), 'unauthorized'],
    ['a 401 of the venue’s door', 401, { 'content-type': 'text/html' }, '<html>', 'unauthorized'],
    ['an expired JWT with status 400', 400, JSON_TYPE, failure('JWT_EXPIRED'), 'unauthorized'],
    ['an expired token in words', 200, JSON_TYPE, failure('token is expired'), 'unauthorized'],
    ['a word that begins like a session error', 400, JSON_TYPE, failure('JWTX_MARKET is closed'), ''],
    ['a bad signature', 400, JSON_TYPE, failure('INVALID_SIGNATURE: does not fit'), 'unauthorized'],
    ['an unknown order in words', 200, JSON_TYPE, failure('Order was not found'), 'notFound definite'],
    ['a 404', 404, JSON_TYPE, failure(''), 'notFound'],
    ['a market that does not exist', 404, JSON_TYPE, failure('MARKET_NOT_FOUND'), 'definite'],
    ['a duplicate client order id', 400, JSON_TYPE, failure('CLIENT_ORDER_ID_DUPLICATE'), 'duplicate definite'],
    ['a duplicate in words', 400, JSON_TYPE, failure('order with this client order id already exists'), 'duplicate'],
    ['a code with a text', 400, JSON_TYPE, failure('ORDER_NOT_FOUND: BTC-USD@7'), 'notFound definite'],
    ['a decision of the venue', 400, JSON_TYPE, failure('INSUFFICIENT_MARGIN: need 5'), 'definite'],
    ['an engine that gave up', 400, JSON_TYPE, failure('ENGINE_TIMEOUT'), 'doubtful'],
    ['a part that failed', 200, JSON_TYPE, failure('internalError'), 'doubtful'],
    ['a venue that asks for another try', 200, JSON_TYPE, failure('Please try again later'), 'doubtful'],
    ['a decision by a part that failed', 400, JSON_TYPE, failure('invalid price: engine unavailable'), 'doubtful'],
    ['a session service that failed', 400, JSON_TYPE, failure('JWT service unavailable'), 'doubtful'],
    ['a 401 that says so', 401, JSON_TYPE, failure('session timeout'), 'unauthorized'],
    ['a 429 that says so', 429, JSON_TYPE, failure('too many requests, try again later'), 'limited'],
    ['words inside other words', 400, JSON_TYPE, failure('engineering internals'), ''],
    ['an unknown text', 400, JSON_TYPE, failure('computer says no'), ''],
    ['a well-formed 5xx', 503, JSON_TYPE, failure('ORDER_NOT_FOUND'), 'notFound serverError'],
    ['a 503 that speaks of a rate limit', 503, EXHAUSTED, failure('RATE_LIMIT'), 'serverError'],
  ])('%s', (_, status, headers, body, wanted) => {
    expect(flags(read('POST /orders', body, status, headers))).toBe(wanted);
  });

  it.each([
    'timeout',
    'time out',
    'timed out',
    'internal',
    'unavailable',
    'busy',
    'overloaded',
    'try again',
    'retry',
    'engine',
    'upstream',
    'gateway',
    'server error',
    'connection',
    'maintenance',
  ])('of a venue that says "%s" may have been carried out, also beside words of a decision', (words) => {
    for (const text of [`system: ${words}`, words.toUpperCase().replaceAll(' ', '_'), `invalid size, ${words}`])
      expect(flags(read('POST /orders', failure(text), 400, JSON_TYPE))).toBe('doubtful');
  });

  it('reads a success with status 429 as neither success nor refusal', () => {
    expect(read('POST /orders', success([PLACEMENT]), 429)).toEqual({
      kind: 'unreadable',
      why: expect.stringContaining('status 429, '),
    });
  });

  it('gives the wait that the venue asks for, at most two minutes', () => {
    expect(read('GET /orders', failure('x'), 429, { ...JSON_TYPE, 'x-ratelimit-retry-after': '1e9' })).toMatchObject({
      retryAfterMs: 120_000,
    });
  });

  it('knows the words of the profile, in any case, and doubts before it believes', () => {
    const refusals = { definite: ['not today'], doubtful: ['LOOK LATER'] };
    const settings = { ...SIMULATED_PROFILE, refusals };
    const said = (text: string) => flags(read('POST /orders', failure(text), 400, JSON_TYPE, settings));
    expect([said('Not-Today: sorry'), said('not today, look_later'), said('cannot todays')]).toEqual([
      'definite',
      'doubtful',
      '',
    ]);
  });

  it('reads another status as an exhausted limit where the profile lists it', () => {
    const settings = { ...SIMULATED_PROFILE, rateLimit: { ...SIMULATED_PROFILE.rateLimit, statuses: [418] } };
    const refused = (text: string) => flags(read('POST /orders', failure(text), 418, JSON_TYPE, settings));
    expect(refused('x')).toBe('limited');
    expect(refused('too many requests, try again')).toBe('limited');
    // Other refusals may have that status as well.
    expect([refused('INSUFFICIENT_MARGIN'), refused('ENGINE_TIMEOUT')]).toEqual(['definite', 'doubtful']);
  });

  it('keeps the whole text, whatever it holds', () => {
    const text = `\u001b[31m${'x'.repeat(2000)}`;
    expect(read('POST /orders', failure(text), 400)).toMatchObject({ text });
  });
});
