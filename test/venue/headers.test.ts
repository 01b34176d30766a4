import { describe, expect, it } from 'vitest';
import { readRateHeaders, readReset, readRetryAfter } from '../../src/venue/tokens/headers.ts';

const NOW = Date.parse('2026-01-05T08:00:00.000Z');

describe('readRateHeaders', () => {
  it('reads all four headers', () => {
    const headers = {
      'x-ratelimit-limit': '1200',
      'x-ratelimit-remaining': '17',
      'x-ratelimit-reset': String(NOW / 1000 + 30),
      'x-ratelimit-retry-after': '2',
    };
    expect(readRateHeaders(headers, NOW)).toEqual({
      limit: 1200,
      remaining: 17,
      resetAt: NOW + 30_000,
      retryAfterMs: 2000,
    });
  });

  it('leaves out what is absent, garbage or impossible', () => {
    const headers = {
      'x-ratelimit-limit': '0',
      'x-ratelimit-remaining': '-1',
      'x-ratelimit-reset': 'soon',
      'retry-after': 'later',
    };
    expect(readRateHeaders(headers, NOW)).toEqual({});
    expect(readRateHeaders({}, NOW)).toEqual({});
  });
});

describe('readReset', () => {
  const at = NOW + 60_000;
  it.each([
    ['seconds', String(at / 1000)],
    ['seconds with a fraction', `${at / 1000}.0`],
    ['milliseconds', String(at)],
    ['microseconds', String(at * 1000)],
    ['an ISO date', '2026-01-05T08:01:00Z'],
    ['an ISO date without a zone, which is UTC', '2026-01-05T08:01:00'],
    ['an ISO date with an offset', '2026-01-05T10:01:00+02:00'],
  ])('recognizes %s by its form', (_, text) => {
    expect(readReset(text, NOW)).toBe(at);
  });

  it('uses the unit of the profile where there is one', () => {
    expect(readReset(String(at), NOW, 'ms')).toBe(at);
    expect(readReset(String(at), NOW, 's')).toBeUndefined();
    expect(readReset('2026-01-05T08:01:00Z', NOW, 's')).toBeUndefined();
  });

  it.each([['1'], [String(NOW / 1000 + 121)], [String(NOW / 1000 - 121)], ['-5'], ['1e9'], ['']])(
    'ignores %s: not within two minutes of now',
    (text) => {
      expect(readReset(text, NOW)).toBeUndefined();
    },
  );
});

describe('readRetryAfter', () => {
  it.each([
    ['3', 3000],
    ['1.5', 1500],
    ['0', 0],
    ['-4', 0],
    ['1000000000', 120_000],
    ['1e9', 120_000],
  ])('reads %s seconds as %i ms', (text, ms) => {
    expect(readRetryAfter({ 'x-ratelimit-retry-after': text })).toBe(ms);
  });

  it.each([['soon'], [''], ['NaN'], ['Infinity'], ['0x10'], ['1;2']])('ignores %j', (text) => {
    expect(readRetryAfter({ 'x-ratelimit-retry-after': text })).toBeUndefined();
  });

  it('reads a plain Retry-After where the other is missing or garbage, as seconds or as a date', () => {
    expect(readRetryAfter({ 'retry-after': '7' })).toBe(7000);
    expect(readRetryAfter({ 'x-ratelimit-retry-after': 'x', 'retry-after': '7' })).toBe(7000);
    expect(readRetryAfter({ 'retry-after': 'Mon, 05 Jan 2026 08:00:09 GMT' }, NOW)).toBe(9000);
    expect(readRetryAfter({ 'retry-after': 'Mon, 05 Jan 2026 08:00:09 GMT' })).toBeUndefined();
  });

  it('prefers the document’s header over the plain one', () => {
    expect(readRetryAfter({ 'x-ratelimit-retry-after': '1', 'retry-after': '60' })).toBe(1000);
  });
});
