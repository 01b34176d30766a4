/** The simulated venue on real sockets, as an HTTP client sees it, with faults of the connection. */
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { SystemClock } from '../../src/base/clock.ts';
import { type SimServer, startSimServer } from '../../src/gateway/simulator/server.ts';
import { Simulator, type SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';

const QUICK: SimulatorConfig = {
  latencyMs: { min: 0, max: 0 },
  processingMs: { min: 0, max: 0 },
  visibilityLagMs: { min: 0, max: 0 },
};
const BEARER = { authorization: 'Bearer anything', 'content-type': 'application/json' };

let server: SimServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function startVenue(config: SimulatorConfig = {}): Promise<string> {
  server = await startSimServer(new Simulator({ ...QUICK, ...config }, new SystemClock(), 1), { port: 0 });
  return server.url;
}

async function ask(url: string, method: string, path: string, body?: string, headers: Record<string, string> = BEARER) {
  const answer = await fetch(url + path, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: () => JSON.parse(text) };
}
const ORDER = '{"market_id":"BTC-USD","side":"long","type":"limit","price":63000,"size":0.1,"client_order_id":"mine"}';

describe('requests', () => {
  it('places an order from a JSON body and lists it by query', async () => {
    const url = await startVenue();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const placed = await ask(url, 'POST', '/orders', ORDER);
    expect([placed.status, placed.headers.get('x-ratelimit-remaining')]).toEqual([200, '1199']);
    const [{ id }] = placed.json().result;
    const listed = await ask(url, 'GET', `/orders?market_id=BTC-USD&client_order_id=mine`);
    expect(listed.json().result).toEqual([expect.objectContaining({ id, price: '63000', size: '0.1' })]);
  });

  it('keeps every digit of a number in a body', async () => {
    const url = await startVenue({ surprises: { offStep: 'accept' } });
    const placed = await ask(url, 'POST', '/orders', ORDER.replace('63000', '0.1234567890123456789'));
    expect(placed.json().result[0].price).toBe('0.1234567890123456789');
  });

  it.each([
    ['a decimal sent as text', ORDER.replace('63000', '"63000"'), 'INVALID_PARAMETER'],
    ['an exponent', ORDER.replace('63000', '6.3e4'), 'INVALID_PARAMETER'],
    ['a nested value', ORDER.replace('63000', '[63000]'), 'INVALID_PARAMETER'],
    ['not JSON', '{"market_id":', 'INVALID_JSON'],
    ['not an object', '[1]', 'INVALID_JSON'],
    ['an unknown parameter', ORDER.replace('}', ',"leverage":3}'), 'INVALID_PARAMETER'],
    ['a prototype', ORDER.replace('}', ',"__proto__":{"x":1}}'), 'INVALID_PARAMETER'],
  ])('refuses %s', async (_, body, code) => {
    const url = await startVenue();
    const refused = await ask(url, 'POST', '/orders', body);
    expect([refused.status, refused.json()]).toEqual([400, { success: false, error: code, result: [] }]);
  });

  it('requires a token, in the configured header or cookie', async () => {
    const url = await startVenue();
    const nobody = await ask(url, 'GET', '/account', undefined, {});
    expect([nobody.status, nobody.json().error]).toEqual([401, 'UNAUTHORIZED']);
    await server?.close();
    const other = await startVenue({ auth: { header: 'RBT-JWT', prefix: '' } });
    expect((await ask(other, 'GET', '/account', undefined, { 'rbt-jwt': 'x' })).status).toBe(200);
    await server?.close();
    const cookie = await startVenue({ auth: { cookie: 'jwt' } });
    expect((await ask(cookie, 'GET', '/account', undefined, { cookie: 'a=b; jwt=x' })).status).toBe(200);
    expect((await ask(cookie, 'GET', '/account')).status).toBe(401);
  });

  it('serves prices for feeds without authentication', async () => {
    const url = await startVenue();
    const markets = (await ask(url, 'GET', '/markets?market_id=ETH-USD', undefined, {})).json().result;
    expect(markets).toEqual([
      expect.objectContaining({
        id: 'ETH-USD',
        fair_price: expect.stringMatching(/^3[12]\d\d(\.\d)?$/),
        min_tick: '0.1',
      }),
    ]);
  });

  it('answers 404 for an unknown path, and 413 for a body that is too long', async () => {
    const url = await startVenue();
    expect((await ask(url, 'GET', '/balances')).status).toBe(404);
    expect((await ask(url, 'POST', '/orders', ' '.repeat(1024 * 1024 + 1))).status).toBe(413);
  });
});

describe('faults of the wire', () => {
  const under = (fault: string, more = {}) =>
    startVenue({ faults: [{ on: 'POST /orders', do: fault as 'delay', ...more }] });
  const ordersIn = async (url: string) => (await ask(url, 'GET', '/_sim/books')).json().orders.length;

  /** Resolves once the POST is in the books, however slow this machine is. */
  const seen = async (url: string): Promise<void> => {
    const { requests } = (await ask(url, 'GET', '/_sim/books')).json();
    return requests.length > 0 ? undefined : seen(url);
  };

  it.each([
    ['reset_before', 0],
    ['reset_after', 1],
    ['refused', 0],
  ])('%s breaks the connection', async (fault, orders) => {
    const url = await under(fault);
    await expect(ask(url, 'POST', '/orders', ORDER)).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
    expect(await ordersIn(url)).toBe(orders);
  });

  it('truncated ends the body before its length', async () => {
    const url = await under('truncated');
    await expect(ask(url, 'POST', '/orders', ORDER)).rejects.toThrow('terminated');
    expect(await ordersIn(url)).toBe(1);
  });

  it('oversize sends a small body that unpacks to a large one', async () => {
    const url = await under('oversize');
    const { text } = await ask(url, 'POST', '/orders', ORDER, { ...BEARER, 'accept-encoding': 'gzip' });
    expect(text.length).toBe(64 * 1024 * 1024);
  });

  it.each(['lost_before', 'lost_after', 'slow_loris'])('%s never ends, and the client may leave', async (fault) => {
    const url = await under(fault);
    const left = await new Promise<string>((resolve) => {
      const asked = request(`${url}/orders`, { method: 'POST', headers: BEARER }, (answer) => {
        answer.once('data', (part: Buffer) => {
          resolve(`${answer.statusCode} ${part.length}`);
          asked.destroy();
        });
      });
      asked.on('error', (problem) => resolve(problem.message));
      asked.end(ORDER);
      if (fault !== 'slow_loris') void seen(url).then(() => asked.destroy(new Error('left')));
    });
    expect(left).toBe(fault === 'slow_loris' ? '200 1' : 'left');
    expect(await ordersIn(url)).toBe(fault === 'lost_before' ? 0 : 1);
  });

  it('redirect sends the client elsewhere', async () => {
    const url = await under('redirect', { status: 307, location: 'http://127.0.0.1:9/x' });
    const moved = await ask(url, 'POST', '/orders', ORDER);
    expect([moved.status, moved.headers.get('location'), await ordersIn(url)]).toEqual([
      307,
      'http://127.0.0.1:9/x',
      0,
    ]);
  });
});

describe('the control paths', () => {
  it('show the books and change the faults', async () => {
    const url = await startVenue();
    expect(
      (await ask(url, 'PUT', '/_sim/faults', '[{"on":"GET /account","do":"status","status":503}]')).json(),
    ).toEqual({ faults: 1 });
    expect((await ask(url, 'GET', '/account')).status).toBe(503);
    const refused = await ask(url, 'PUT', '/_sim/faults', '[{"on":"GET /account","do":"explode"}]');
    expect([refused.status, refused.json().problems.length]).toEqual([400, 1]);
    const { requests, tokens } = (await ask(url, 'GET', '/_sim/books')).json();
    expect(requests).toEqual([expect.objectContaining({ path: '/account', status: 503, fault: 'status' })]);
    expect(tokens.used).toBe(20);
  });

  it('refuse another host name and unknown settings', async () => {
    const url = await startVenue();
    const status = await new Promise((resolve, reject) => {
      request(`${url}/_sim/books`, { headers: { host: 'evil.example' } }, (answer) =>
        resolve(answer.resume().statusCode),
      )
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
    expect((await ask(url, 'DELETE', '/_sim/books')).status).toBe(404);
  });
});
