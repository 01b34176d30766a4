import { describe, expect, it } from 'vitest';
import type { Fixture } from '../../src/gateway/fixture/fixture.ts';
import { convertFixtureToHar, convertHarToFixture } from '../../src/gateway/fixture/har.ts';

const START = Date.parse('2026-01-05T08:00:00Z');

function entry(seconds: number, method: string, url: string, body: string | undefined, answer: object) {
  return {
    startedDateTime: new Date(START + seconds * 1000).toISOString(),
    time: 41.6,
    request: {
      method,
      url,
      headers: [{ name: 'Authorization', value: 'Bearer abcdefghijkl' }],
      ...(body === undefined ? {} : { postData: { text: body } }),
    },
    response: answer,
  };
}
const ok = (text: string) => ({
  status: 200,
  headers: [
    { name: 'X-RateLimit-Remaining', value: '1180' },
    { name: 'Set-Cookie', value: 'jwt=1' },
  ],
  content: { text },
});
const har = (...entries: object[]) => JSON.stringify({ log: { version: '1.2', entries } });

describe('a HAR as fixture', () => {
  it("keeps the venue's exchanges under the common base, in the order of time", () => {
    const { fixture, notes } = convertHarToFixture(
      har(
        entry(
          3,
          'POST',
          'https://api.example.test/v1/orders',
          '{"market_id":"BTC-USD","size":0.10000000000000000000001,"post":true}',
          ok('{"a":1.10}'),
        ),
        entry(1, 'GET', 'https://api.example.test/v1/orders?market_id=BTC-USD&p_limit=10', undefined, ok('[]')),
        entry(2, 'GET', 'https://api.example.test/v1/markets?market_id=BTC-USD', undefined, ok('{"m":1}')),
        entry(2.5, 'GET', 'https://cdn.example.test/app.js', undefined, ok('')),
        entry(4, 'DELETE', 'https://api.example.test/v1/orders/cancel_all', undefined, {
          status: 0,
          _error: 'net::ERR_TIMED_OUT',
        }),
      ),
    );
    const answer = (body: string) => ({
      kind: 'answer',
      status: 200,
      headers: { 'x-ratelimit-remaining': '1180' },
      body,
    });
    expect(fixture).toEqual({
      recordedAt: START + 1000,
      startMs: START + 1000,
      markets: {},
      feeds: [],
      exchanges: [
        {
          afterMs: 0,
          tookMs: 42,
          request: { method: 'GET', path: '/orders', params: { market_id: 'BTC-USD', p_limit: '10' } },
          reply: answer('[]'),
        },
        {
          afterMs: 1000,
          tookMs: 42,
          request: { method: 'GET', path: '/markets', params: { market_id: 'BTC-USD' } },
          reply: answer('{"m":1}'),
        },
        {
          afterMs: 1000,
          tookMs: 42,
          request: {
            method: 'POST',
            path: '/orders',
            params: { market_id: 'BTC-USD', size: '0.10000000000000000000001', post: 'true' },
          },
          reply: answer('{"a":1.10}'),
        },
        {
          afterMs: 1000,
          tookMs: 42,
          request: { method: 'DELETE', path: '/orders/cancel_all', params: {} },
          reply: { kind: 'failure', sent: true, message: 'net::ERR_TIMED_OUT' },
        },
      ],
    });
    expect(notes).toEqual([
      expect.stringMatching(/^1 entry left out: .*https:\/\/api\.example\.test\/v1$/),
      expect.stringMatching(/steps of the markets/),
    ]);
  });

  it('hides the tokens of a session', () => {
    const { fixture } = convertHarToFixture(
      har(
        entry(
          0,
          'POST',
          'https://v.test/jwt',
          '{"is_client":true,"refresh_token":"opaque"}',
          ok('{"result":["also-opaque"]}'),
        ),
      ),
    );
    expect(JSON.stringify(fixture)).not.toContain('opaque');
  });

  it('hides the credentials of its own headers and cookies wherever a body repeats them', () => {
    const key = 'k3y-of-4-real-account+and/more==';
    const session = 'sess10n-c00kie-value';
    const asked = entry(
      0,
      'GET',
      'https://v.test/orders?market_id=BTC-USD',
      undefined,
      ok(`{"you":"${key}","again":"${encodeURIComponent(key)}","seen":["${session}"],"size":"0.10"}`),
    );
    Object.assign(asked.request, {
      headers: [
        { name: 'X-Api-Key', value: key },
        { name: 'Cookie', value: `sid=${session}; theme=dark` },
      ],
    });
    const { fixture } = convertHarToFixture(har(asked));
    const [exchange] = fixture?.exchanges ?? [];
    expect(exchange?.reply).toMatchObject({
      body: '{"you":"[redacted]","again":"[redacted]","seen":["[redacted]"],"size":"0.10"}',
    });
  });

  it('hides fields named as secrets, in requests and in answers', () => {
    const body =
      '{"market_id":"BTC-USD","api_secret":"opaque-1","apiKey":"opaque-2","passphrase":77712345,"size":"0.1"}';
    const { fixture } = convertHarToFixture(har(entry(0, 'POST', 'https://v.test/orders', body, ok(body))));
    const [exchange] = fixture?.exchanges ?? [];
    const hidden = { api_secret: '[redacted]', apiKey: '[redacted]', passphrase: '[redacted]' };
    expect(exchange?.request.params).toEqual({ market_id: 'BTC-USD', ...hidden, size: '0.1' });
    expect(exchange?.reply).toMatchObject({ body: JSON.stringify({ market_id: 'BTC-USD', ...hidden, size: '0.1' }) });
  });

  it.each([
    ['text', 'no json', /not JSON/],
    ['other JSON', '{"log":{}}', /^it is not HAR/],
    [
      'another site',
      har(entry(0, 'GET', 'https://x.test/news', undefined, ok(''))),
      /^no entry is a request to an endpoint/,
    ],
  ])('says why %s is none', (_name, text, reason) => {
    const { fixture, notes } = convertHarToFixture(text);
    expect(fixture).toBeUndefined();
    expect(notes.at(-1)).toMatch(reason);
  });

  it('is read back complete from a HAR written from a fixture', () => {
    const fixture: Fixture = {
      recordedAt: START,
      startMs: START - 500,
      runbook: 'entry',
      inputs: { size: '0.1' },
      seed: 3,
      capabilities: [],
      markets: { 'BTC-USD': { tick: '0.5', lot: '0.0001' } },
      feeds: [{ name: 'mid', value: '1.5', afterMs: 20 }],
      exchanges: [
        {
          afterMs: 500,
          tookMs: 12,
          request: { method: 'PUT', path: '/account/leverage', params: { market_id: 'BTC-USD', leverage: '3' } },
          reply: {
            kind: 'answer',
            status: 200,
            headers: { 'content-type': 'application/json' },
            body: '{"a":"12345678901234567890.123456789"}',
          },
        },
        {
          afterMs: 7,
          tookMs: 9,
          request: { method: 'GET', path: '/orders', params: { market_id: 'BTC-USD', order_id: 'BTC-USD@1' } },
          reply: { kind: 'failure', sent: false, message: 'ECONNREFUSED' },
        },
      ],
    };
    const text = convertFixtureToHar(fixture, '0.0.0');
    expect(convertHarToFixture(text)).toEqual({ fixture, notes: [] });
    const [first, second] = JSON.parse(text).log.entries;
    expect(first.request.postData.text).toBe('{"market_id":"BTC-USD","leverage":3}');
    expect(second.request.url).toBe('https://venue.invalid/orders?market_id=BTC-USD&order_id=BTC-USD%401');
  });
});
