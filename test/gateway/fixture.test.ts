import { describe, expect, it } from 'vitest';
import { toExactNumber } from '../../src/gateway/fixture/exact-json.ts';
import { type Fixture, readFixture, readFixtureLines } from '../../src/gateway/fixture/fixture.ts';
import { writeFixture, writeFixtureLines } from '../../src/gateway/fixture/text.ts';

const START = Date.parse('2026-01-05T08:00:00Z');

const placed =
  '{"success":true,"error":"","result":[{"id":"BTC-USD@1191","status":"processing","size":"0.0001","price":"12345678901234567890.123456789","timestamp":1748776162875466}]}';

const fixture: Fixture = {
  recordedAt: START,
  startMs: START,
  runbook: 'entry',
  inputs: { size: '0.0001', markets: ['BTC-USD'] },
  seed: 7,
  capabilities: ['cancel_all'],
  markets: { 'BTC-USD': { tick: '0.5', lot: '0.0001', min_size: '0.0001' } },
  feeds: [{ name: 'mid', key: 'BTC-USD', value: '64200.5', afterMs: -250 }],
  exchanges: [
    {
      afterMs: 0,
      tookMs: 42,
      request: { method: 'POST', path: '/orders', params: { market_id: 'BTC-USD', size: '0.0001' } },
      reply: { kind: 'answer', status: 200, headers: { 'x-ratelimit-remaining': '1199' }, body: placed },
    },
    {
      afterMs: 61_005,
      tookMs: 10_000,
      request: { method: 'GET', path: '/account', params: {} },
      reply: { kind: 'failure', sent: true, message: 'timeout: response' },
    },
    {
      afterMs: 1,
      tookMs: 0,
      request: { method: 'GET', path: '/orders', params: { p_limit: '10' } },
      reply: { kind: 'answer', status: 502, headers: {}, body: '<html>\u001b[31m\u202e</html>\n' },
    },
    {
      afterMs: 1,
      tookMs: 0,
      request: { method: 'GET', path: '/markets', params: {} },
      reply: { kind: 'answer', status: 200, headers: {}, body: '{"a": 0.1000000000000000055511151231257827}' },
    },
  ],
};

describe('a fixture as text', () => {
  it('is read back complete from JSON lines', () => {
    expect(readFixtureLines(writeFixtureLines(fixture))).toEqual({ fixture });
  });

  it('has one exchange per line, without terminal control characters', () => {
    const text = writeFixture(fixture);
    expect(text.split('\n').filter((line) => line.startsWith('  - {"after"'))).toHaveLength(4);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it('has as many lines as a run of weeks recorded', () => {
    const feeds = Array.from({ length: 200_000 }, (_, afterMs) => ({ name: 'mid', value: '64000', afterMs }));
    const lines = writeFixture({ ...fixture, feeds }).split('\n');
    expect(lines.filter((line) => line.startsWith('  - {"name"'))).toHaveLength(200_000);
  });

  it('writes a body as a structure when that is exact, otherwise as a string', () => {
    const lines = writeFixtureLines(fixture).split('\n');
    expect(lines[1]).toContain('"body": {"success": true, "error": "", "result": [{"id": "BTC-USD@1191"');
    expect(lines[4]).toContain('"body": "{\\"a\\": 0.1000000000000000055511151231257827}"');
  });
});

describe('reading a fixture', () => {
  const least = {
    fixture: 1,
    recorded_at: '2026-01-05T08:00:00Z',
    start: '2026-01-05T08:00:00Z',
    markets: {},
    exchanges: [],
  };
  const exchange = {
    after: '0ms',
    took: '1s',
    request: { method: 'GET', path: '/account' },
    answer: { status: 200, body: {} },
  };

  it('accepts what people write: bare numbers, structures, headers in any case', () => {
    const { fixture: read, problems } = readFixture({
      ...least,
      markets: { 'BTC-USD': { tick: 0.5, lot: toExactNumber('0.00000000000000000001') } },
      feeds: [{ name: 'mid', value: 64200.5, after: '1m30s' }],
      exchanges: [
        {
          ...exchange,
          request: { method: 'GET', path: '/fills', params: { p_limit: 10, market_id: 'BTC-USD', all: true } },
          answer: {
            status: 429,
            headers: { 'X-RateLimit-Retry-After': 2 },
            body: { big: toExactNumber('1.00000000000000000001') },
          },
        },
      ],
    });
    expect(problems).toBeUndefined();
    expect(read).toEqual({
      recordedAt: START,
      startMs: START,
      markets: { 'BTC-USD': { tick: '0.5', lot: '0.00000000000000000001' } },
      feeds: [{ name: 'mid', value: '64200.5', afterMs: 90_000 }],
      exchanges: [
        {
          afterMs: 0,
          tookMs: 1000,
          request: { method: 'GET', path: '/fills', params: { p_limit: '10', market_id: 'BTC-USD', all: 'true' } },
          reply: {
            kind: 'answer',
            status: 429,
            headers: { 'x-ratelimit-retry-after': '2' },
            body: '{"big":1.00000000000000000001}',
          },
        },
      ],
    });
  });

  const faults: readonly (readonly [string, unknown, readonly (string | number)[], string])[] = [
    ['no map', [], [], 'the fixture must be object'],
    ['another version', { ...least, fixture: 2 }, ['fixture'], 'fixture must be 1'],
    [
      'an unknown key',
      { ...least, exchange: [] },
      [],
      'the fixture has the unknown key exchange; did you mean exchanges?',
    ],
    [
      'a duration of words',
      { ...least, exchanges: [{ ...exchange, took: 'soon' }] },
      ['exchanges', 0, 'took'],
      'exchanges[0].took must match pattern',
    ],
    [
      'neither answer nor failure',
      { ...least, exchanges: [{ ...exchange, answer: undefined }] },
      ['exchanges', 0],
      'exchanges[0] must have either an answer or a failure',
    ],
    [
      'a method the venue does not have',
      { ...least, exchanges: [{ ...exchange, request: { method: 'PATCH', path: '/x' } }] },
      ['exchanges', 0, 'request', 'method'],
      'must be one of GET, PUT, POST, DELETE',
    ],
    [
      'a number that lost digits',
      { ...least, markets: { X: { tick: 0.1 + 0.2, lot: '1' } } },
      ['markets', 'X', 'tick'],
      'may have lost digits',
    ],
    [
      'a tick of zero',
      { ...least, markets: { X: { tick: '0', lot: '1' } } },
      ['markets', 'X', 'tick'],
      'must be a plain decimal above 0, found 0',
    ],
    ['a day that does not exist', { ...least, start: '2026-02-41T00:00:00Z' }, ['start'], 'start is not a valid time'],
  ];
  it.each(faults)('names the position of %s', (_name, data, path, message) => {
    const problems = readFixture(JSON.parse(JSON.stringify(data))).problems ?? [];
    expect(problems.map((problem) => problem.path)).toContainEqual(path);
    expect(problems.map((problem) => problem.message).join('\n')).toContain(message);
  });

  it('names the line of JSON lines that is not JSON', () => {
    const text = `${JSON.stringify(least)}\n\n{"after":\n`;
    expect(readFixtureLines(text).problems?.[0]?.message).toMatch(/^line 3 cannot be read: not JSON/);
    expect(readFixtureLines('').problems?.[0]?.message).toMatch(/^the first line must be the header/);
  });
});
