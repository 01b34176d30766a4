import { describe, expect, it } from 'vitest';
import type { TokenAlgorithm } from '../../src/gateway/simulator/config/settings.ts';
import { CALM, SimulatedVenue, START_MS } from './harness.ts';

describe('costs', () => {
  it('charges what the document says, and 10 where it gives no figure', async () => {
    const venue = new SimulatedVenue();
    const { id } = await venue.place();
    await venue.call('GET /account', {});
    await venue.call('GET /fills', {});
    await venue.call('GET /orders', {});
    await venue.call('DELETE /orders', { order_id: id, market_id: 'BTC-USD' });
    expect(venue.simulator.books().requests.map(({ method, path, tokens }) => [`${method} ${path}`, tokens])).toEqual([
      ['POST /orders', 1],
      ['GET /account', 20],
      ['GET /fills', 10],
      ['GET /orders', 10],
      ['DELETE /orders', 1],
    ]);
    expect(venue.simulator.books().tokens).toEqual({ used: 42, peak: 42, refused: 0 });
  });

  it('charges what the configuration says instead', async () => {
    const venue = new SimulatedVenue({ ...CALM, tokens: { costs: { 'GET /orders': 3 } } });
    await venue.call('GET /orders', {});
    expect(venue.simulator.books().tokens.used).toBe(3);
  });
});

describe('headers', () => {
  it('sends limit, remaining and reset with each answer', async () => {
    const venue = new SimulatedVenue({ ...CALM, tokens: { limit: 100 } });
    const { headers } = await venue.call('GET /account', {});
    expect(headers).toEqual({
      'content-type': 'application/json',
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '80',
      'x-ratelimit-reset': String(Math.ceil((START_MS + 5 + 60_000) / 1000)),
    });
  });

  it('refuses with 429 and the seconds after which the same request is let in', async () => {
    const venue = new SimulatedVenue({ ...CALM, tokens: { limit: 50 } });
    await venue.call('GET /account', {});
    await venue.pass(20_000);
    await venue.call('GET /account', {});
    const refused = await venue.call('GET /account', {});
    expect([refused.status, refused.success, refused.error]).toEqual([429, false, 'RATE_LIMIT_EXCEEDED']);
    expect([refused.headers['x-ratelimit-remaining'], refused.headers['x-ratelimit-retry-after']]).toEqual([
      '10',
      '40',
    ]);
    await venue.pass(40_000);
    expect((await venue.call('GET /account', {})).success).toBe(true);
  });

  it.each([
    ['s', String(Math.ceil((START_MS + 60_005) / 1000))],
    ['ms', String(START_MS + 60_005)],
    ['us', String((START_MS + 60_005) * 1000)],
    ['iso', new Date(START_MS + 60_005).toISOString()],
  ] as const)('writes the reset in %s', async (resetUnit, text) => {
    const venue = new SimulatedVenue({ ...CALM, tokens: { resetUnit } });
    expect((await venue.call('GET /account', {})).headers['x-ratelimit-reset']).toBe(text);
  });

  it('can refuse with another status and a plain Retry-After', async () => {
    const venue = new SimulatedVenue({ ...CALM, tokens: { limit: 10, status: 200, retryAfter: 'plain' } });
    const refused = await venue.call('GET /account', {});
    expect([
      refused.status,
      refused.success,
      refused.headers['retry-after'],
      refused.headers['x-ratelimit-retry-after'],
    ]).toEqual([200, false, '120', undefined]);
  });
});

/** Reads of 10 tokens that a limit of 100 lets in at times, in ms from a full minute. */
async function letIn(algorithm: TokenAlgorithm, times: readonly number[]): Promise<boolean[]> {
  const venue = new SimulatedVenue({ ...CALM, latencyMs: { min: 0, max: 0 }, tokens: { limit: 100, algorithm } });
  const admitted: boolean[] = [];
  for (const time of times) {
    await venue.until(time);
    admitted.push((await venue.call('GET /profile', {})).success);
  }
  return admitted;
}
const burst = (at: number) => Array.from({ length: 11 }, () => at);
const count = (admitted: readonly boolean[]) => admitted.filter(Boolean).length;

describe('the four ways to count a window', () => {
  it('a log admits nothing until the oldest request is a window old', async () => {
    expect(count(await letIn('sliding_log', [...burst(50_000), 109_999]))).toBe(10);
    expect(count(await letIn('sliding_log', [...burst(50_000), 110_000]))).toBe(11);
  });

  it('fixed windows admit everything again at the full minute', async () => {
    expect(count(await letIn('fixed_window', [...burst(50_000), 59_999]))).toBe(10);
    expect(count(await letIn('fixed_window', [...burst(50_000), ...burst(60_000)]))).toBe(20);
  });

  it('a bucket admits as it refills, 10 tokens in 6 s', async () => {
    expect(count(await letIn('token_bucket', [...burst(50_000), 55_999]))).toBe(10);
    expect(count(await letIn('token_bucket', [...burst(50_000), 56_000, 56_001]))).toBe(11);
  });

  it('a sliding counter still counts the part of the last window that is not over', async () => {
    expect(count(await letIn('sliding_counter', [...burst(50_000), ...burst(60_000)]))).toBe(10);
    expect(count(await letIn('sliding_counter', [...burst(50_000), ...burst(90_000)]))).toBe(15);
  });
});

describe('others', () => {
  it('counts what other programs on the address use', async () => {
    const venue = new SimulatedVenue({ ...CALM, tokens: { foreign: [{ afterMs: 5000, tokens: 300 }] } });
    expect((await venue.call('GET /account', {})).headers['x-ratelimit-remaining']).toBe('1180');
    await venue.until(5000);
    expect((await venue.call('GET /account', {})).headers['x-ratelimit-remaining']).toBe('860');
  });

  it('can limit order actions per second', async () => {
    const venue = new SimulatedVenue({ ...CALM, latencyMs: { min: 0, max: 0 }, tokens: { ordersPerSecond: 2 } });
    const order = { market_id: 'BTC-USD', side: 'long', type: 'limit', price: '63000', size: '0.1' } as const;
    const statuses: number[] = [];
    for (let time = 0; time < 3; time += 1) statuses.push((await venue.call('POST /orders', order)).status);
    await venue.pass(1000);
    statuses.push((await venue.call('POST /orders', order)).status);
    expect(statuses).toEqual([200, 200, 429, 200]);
  });
});
