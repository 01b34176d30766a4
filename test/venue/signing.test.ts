import { describe, expect, it } from 'vitest';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { parseSecret, signedMessage, signRequest } from '../../src/venue/wire/signing.ts';

// The vectors of venue-notes.md: secret 0xdeadbeef, expiry 1700000300.
const SECRET = parseSecret('0xdeadbeef') as Uint8Array;
const EXPIRY = 1_700_000_300;
const VECTORS: [EndpointName, object, string, string][] = [
  [
    'POST /orders',
    {
      market_id: 'BTC-USD',
      type: 'limit',
      side: 'long',
      price: '19800',
      size: '0.45',
      client_order_id: 'abc-1',
      time_in_force: 'post_only',
    },
    'client_order_id=abc-1market_id=BTC-USDmethod=POSTpath=/ordersprice=19800side=longsize=0.45time_in_force=post_onlytype=limit1700000300',
    '0x5085330e0988cf691b89665a645bc08670d149db58f5bb36496ea33b1f03f219',
  ],
  [
    'DELETE /orders',
    { order_id: 'BTC-USD@1859', market_id: 'BTC-USD' },
    'market_id=BTC-USDmethod=DELETEorder_id=BTC-USD@1859path=/orders1700000300',
    '0x1bf939ddf2b651402f570b51b976defd0ca4924a7ea4eea93d41412677e32ed8',
  ],
  [
    'DELETE /orders/cancel_all',
    {},
    'method=DELETEpath=/orders/cancel_all1700000300',
    '0x99d63947cbc9d55b5cb6329e663020ab1cf872b7b901d4cff0e846a1306aee32',
  ],
];

describe('signature', () => {
  it.each(VECTORS)('of %s is the one in the notes', (name, params, message, wanted) => {
    const request = toWireRequest(name, params, SIMULATED_PROFILE);
    expect(signedMessage(request, EXPIRY)).toBe(message);
    expect(signRequest(request, EXPIRY, SECRET)).toBe(wanted);
  });

  it('does not cover the query', () => {
    const request = toWireRequest('GET /orders', { market_id: 'BTC-USD' }, SIMULATED_PROFILE);
    expect(signedMessage(request, EXPIRY)).toBe('method=GETpath=/orders1700000300');
  });

  it('covers a text as its JSON literal without the quotes', () => {
    const request = toWireRequest('POST /jwt', { is_client: true, refresh_token: 'a"b\n' }, SIMULATED_PROFILE);
    expect(signedMessage(request, EXPIRY)).toBe('is_client=truemethod=POSTpath=/jwtrefresh_token=a\\"b\\n1700000300');
  });
});

describe('secretBytes', () => {
  it.each([['0xdeadbeef'], ['DEADBEEF']])('reads %s', (hex) => {
    expect([...(parseSecret(hex) ?? [])]).toEqual([0xde, 0xad, 0xbe, 0xef]);
  });
  it.each([['0x'], ['abc'], ['zz'], ['']])('refuses %s', (hex) => {
    expect(parseSecret(hex)).toBeUndefined();
  });
});
