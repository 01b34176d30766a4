import { describe, expect, it } from 'vitest';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { findRequestProblems } from '../../src/venue/wire/bounds.ts';

const LIMIT = { market_id: 'BTC-USD', side: 'long', size: '0.1', type: 'limit', price: '64000' };
const STOP_LOSS = {
  market_id: 'BTC-USD',
  side: 'short',
  size: '1',
  type: 'stop_loss',
  price: '90',
  trigger_price: '91',
};

const GOOD: [string, EndpointName, Record<string, unknown>][] = [
  ['no parameters', 'GET /account', {}],
  ['leverage at its bounds', 'PUT /account/leverage', { market_id: 'BTC-USD', leverage: 20 }],
  ['a refresh token the session fills in', 'POST /jwt', { is_client: true, refresh_token: '' }],
  ['a look-up by client order id in its market', 'GET /orders', { client_order_id: 'rbabc', market_id: 'BTC-USD' }],
  ['a whole page', 'GET /orders', { p_limit: 1000, p_page: 0, p_order: 'ASC', start_time: 1, end_time: 1 }],
  ['a limit order', 'POST /orders', { ...LIMIT, client_order_id: 'x'.repeat(50), time_in_force: 'fill_or_kill' }],
  ['a market order without a price', 'POST /orders', { ...LIMIT, type: 'market', price: undefined }],
  [
    'a stop-market without a price',
    'POST /orders',
    { ...LIMIT, type: 'stop_market', price: undefined, trigger_price: '1' },
  ],
  ['a stop-loss of the whole position', 'POST /orders', STOP_LOSS],
  [
    'an amend of the price alone',
    'PUT /orders',
    { order_id: 'BTC-USD@1', market_id: 'BTC-USD', price: '0.000000000000000001' },
  ],
  ['a cancel by client order id', 'DELETE /orders', { market_id: 'BTC-USD', client_order_id: 'a_b-C' }],
  ['the smallest deadman timeout', 'POST /cancel_all_after', { market_id: 'BTC-USD', timeout: 1 }],
];

const BAD: [string, EndpointName, Record<string, unknown>, string][] = [
  [
    'leverage 50',
    'PUT /account/leverage',
    { market_id: 'BTC-USD', leverage: 50 },
    'leverage must be an integer from 1 to 20, found 50',
  ],
  [
    'leverage 0',
    'PUT /account/leverage',
    { market_id: 'BTC-USD', leverage: 0 },
    'leverage must be an integer from 1 to 20, found 0',
  ],
  [
    'fractional leverage',
    'PUT /account/leverage',
    { market_id: 'BTC-USD', leverage: 2.5 },
    'leverage must be an integer from 1 to 20, found 2.5',
  ],
  ['no leverage', 'PUT /account/leverage', { market_id: 'BTC-USD' }, 'leverage is required for PUT /account/leverage'],
  [
    'a market without a dash',
    'GET /cancel_all_after',
    { market_id: 'BTCUSD' },
    'market_id must be a market id, <BASE>-<QUOTE>, found BTCUSD',
  ],
  [
    'client_order_id without market_id',
    'GET /orders',
    { client_order_id: 'a' },
    'client_order_id needs market_id beside it (venue-api.md, Versioning: since 13 December 2024)',
  ],
  [
    'an unknown status',
    'GET /orders',
    { status: 'placed' },
    'status must be one of open, closed, canceled, rejected, processing, amending, cancelingall, canceling, found placed',
  ],
  ['1001 rows', 'GET /fills', { p_limit: 1001 }, 'p_limit must be an integer from 1 to 1000, found 1001'],
  ['a negative page', 'GET /fills', { p_page: -1 }, 'p_page must be an integer of at least 0, found -1'],
  [
    'times in seconds with a fraction',
    'GET /fills',
    { start_time: 1.5 },
    'start_time must be a whole number of microseconds since the epoch, found 1.5',
  ],
  ['an end before the start', 'GET /fills', { start_time: 2, end_time: 1 }, 'start_time 2 is after end_time 1'],
  [
    'a limit order without a price',
    'POST /orders',
    { ...LIMIT, price: undefined },
    'price is required for an order of type limit',
  ],
  [
    'a limit order with a trigger',
    'POST /orders',
    { ...LIMIT, trigger_price: '1' },
    'an order of type limit has no trigger_price',
  ],
  [
    'a stop-limit without a price',
    'POST /orders',
    { ...LIMIT, type: 'stop_limit', price: undefined, trigger_price: '1' },
    'price is required for an order of type stop_limit',
  ],
  [
    'a stop-market without a trigger',
    'POST /orders',
    { ...LIMIT, type: 'stop_market' },
    'trigger_price is required for an order of type stop_market',
  ],
  [
    'a take-profit without a price',
    'POST /orders',
    { ...STOP_LOSS, type: 'take_profit', price: undefined },
    'price is required for an order of type take_profit',
  ],
  [
    'more than the position',
    'POST /orders',
    { ...STOP_LOSS, size: '1.000001' },
    'size of a stop_loss is a fraction of the position and must be at most 1, found 1.000001',
  ],
  ['a size of zero', 'POST /orders', { ...LIMIT, size: '0' }, 'size must be a plain decimal above 0, found 0'],
  ['a negative price', 'POST /orders', { ...LIMIT, price: '-1' }, 'price must be a plain decimal above 0, found -1'],
  [
    'a JavaScript number',
    'POST /orders',
    { ...LIMIT, price: 64000.5 },
    'price must be a plain decimal above 0, found the number 64000.5',
  ],
  ['an exponent', 'POST /orders', { ...LIMIT, size: '1e-7' }, 'size must be a plain decimal above 0, found 1e-7'],
  [
    'an endless decimal',
    'POST /orders',
    { ...LIMIT, size: `0.${'3'.repeat(90)}` },
    `size must be a plain decimal above 0, found 0.${'3'.repeat(78)}…`,
  ],
  ['a side that is none', 'POST /orders', { ...LIMIT, side: 'lnog' }, 'side must be one of long, short, found lnog'],
  [
    'a client order id of 51 characters',
    'POST /orders',
    { ...LIMIT, client_order_id: 'x'.repeat(51) },
    `client_order_id must be 1 to 50 characters of [A-Za-z0-9_-], found ${'x'.repeat(51)}`,
  ],
  [
    'a client order id with a blank',
    'POST /orders',
    { ...LIMIT, client_order_id: 'a b' },
    'client_order_id must be 1 to 50 characters of [A-Za-z0-9_-], found a b',
  ],
  [
    'an unknown parameter',
    'POST /orders',
    { ...LIMIT, trigerprice: '1' },
    expect.stringMatching(/no parameter trigerprice; .*trigger_price/),
  ],
  [
    'an order id without a number',
    'PUT /orders',
    { order_id: 'BTC-USD', market_id: 'BTC-USD', price: '1' },
    'order_id must be an order id, <market_id>@<number>, found BTC-USD',
  ],
  [
    'an order of another market',
    'PUT /orders',
    { order_id: 'ETH-USD@1', market_id: 'BTC-USD', price: '1' },
    expect.stringMatching(/order_id ETH-USD@1 .* market_id BTC-USD/),
  ],
  [
    'a cancel of nothing',
    'DELETE /orders',
    { market_id: 'BTC-USD' },
    'order_id or client_order_id is required for DELETE /orders',
  ],
  [
    'a timeout of zero',
    'POST /cancel_all_after',
    { market_id: 'BTC-USD', timeout: 0 },
    'timeout must be an integer of at least 1, found 0',
  ],
  [
    'a terminal escape',
    'GET /orders',
    { market_id: '\u001b[2J' },
    'market_id must be a market id, <BASE>-<QUOTE>, found \\u001b[2J',
  ],
];

describe('requestProblems', () => {
  it.each(GOOD)('accepts %s', (_, name, params) => {
    expect(findRequestProblems(name, params)).toEqual([]);
  });

  it.each(BAD)('refuses %s', (_, name, params, problem) => {
    expect(findRequestProblems(name, params)).toEqual([problem]);
  });

  it('never repeats a secret', () => {
    expect(findRequestProblems('POST /jwt', { is_client: true, refresh_token: 123456 })).toEqual([
      'refresh_token must be a text, found something else (not shown)',
    ]);
  });

  it('uses the bounds of the account', () => {
    const settings = { maxLeverage: 50, marketOrderPrice: 'required' } as const;
    expect(findRequestProblems('PUT /account/leverage', { market_id: 'BTC-USD', leverage: 50 }, settings)).toEqual([]);
    expect(findRequestProblems('PUT /account/leverage', { market_id: 'BTC-USD', leverage: 51 }, settings)).toEqual([
      'leverage must be an integer from 1 to 50, found 51',
    ]);
    expect(findRequestProblems('POST /orders', { ...LIMIT, type: 'market', price: undefined }, settings)).toEqual([
      'price is required for an order of type market',
    ]);
  });
});
