import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import type { Fixture, RecordedExchange, RecordedRequest } from '../../src/gateway/fixture/fixture.ts';
import { TIME_TOLERANCE_MS } from '../../src/gateway/fixture/identity.ts';
import { FixtureRecorder } from '../../src/gateway/fixture/recorder.ts';
import { HIDDEN_WALLET } from '../../src/gateway/fixture/redaction.ts';
import { type FixtureMiss, FixtureTransport } from '../../src/gateway/fixture/transport.ts';
import type { Transport, WireReply, WireRequest } from '../../src/gateway/transport.ts';

const START = Date.parse('2026-01-05T08:00:00Z');
const R1 = 'rbaaaaaaaaaaaaaaaaaaaa';
const R2 = 'rbbbbbbbbbbbbbbbbbbbbb';
const N1 = 'rbcccccccccccccccccccc';
const N2 = 'rbdddddddddddddddddddd';

function exchange(
  method: RecordedRequest['method'],
  path: string,
  params: Record<string, string>,
  body = '{}',
  tookMs = 0,
): RecordedExchange {
  return {
    afterMs: 0,
    tookMs,
    request: { method, path, params },
    reply: { kind: 'answer', status: 200, headers: {}, body },
  };
}

function wire(method: RecordedRequest['method'], path: string, params: Record<string, string> = {}): WireRequest {
  const values = Object.entries(params).map(([name, text]) => [name, { as: 'text', text }] as const);
  return { endpoint: `GET ${path}`, method, path, params: Object.fromEntries(values), placement: 'query' };
}

/** Builds a transport over `exchanges`, and a function that gives its reply and the virtual time it took. */
function stage(exchanges: readonly RecordedExchange[], { startMs = START, repeatLastRead = true } = {}) {
  const clock = new VirtualClock(startMs);
  const misses: FixtureMiss[] = [];
  const fixture: Fixture = { recordedAt: START, startMs: START, markets: {}, feeds: [], exchanges };
  const transport = new FixtureTransport(fixture, clock, {
    startMs,
    repeatLastRead,
    onMiss: (miss) => misses.push(miss),
  });
  const ask = async (request: WireRequest, timeoutMs = 10_000) => {
    const before = clock.now();
    const reply = await clock.runUntil(transport.send(request, { timeoutMs }));
    return { reply, tookMs: clock.now() - before };
  };
  const body = async (request: WireRequest) => {
    const { reply } = await ask(request);
    return reply.kind === 'answer' ? reply.body : reply.message;
  };
  return { clock, transport, misses, ask, body };
}

describe('matching', () => {
  it('answers equal requests in recorded order, each after the time it took', async () => {
    const { ask, misses } = stage([
      exchange('GET', '/orders', { order_id: 'X@1' }, '"open"', 40),
      exchange('GET', '/orders', { order_id: 'X@2' }, '"other"'),
      exchange('GET', '/orders', { order_id: 'X@1' }, '"closed"', 70),
    ]);
    const request = wire('GET', '/orders', { order_id: 'X@1' });
    expect(await ask(request)).toEqual({
      reply: { kind: 'answer', status: 200, headers: {}, body: '"open"' },
      tookMs: 40,
    });
    expect(await ask(request)).toMatchObject({ reply: { body: '"closed"' }, tookMs: 70 });
    expect(misses).toEqual([]);
  });

  it('compares numbers by value and texts exactly', async () => {
    const { body, misses } = stage([exchange('POST', '/orders', { size: '0.250', side: 'long' }, '"ok"')]);
    expect(await body(wire('POST', '/orders', { size: '0.25', side: 'long' }))).toBe('"ok"');
    expect(misses).toEqual([]);
  });

  it('repeats the last answer of a read that is repeated, never that of a write', async () => {
    const recorded = [
      exchange('GET', '/account', {}, '"a"'),
      exchange('GET', '/account', {}, '"b"'),
      exchange('DELETE', '/orders', {}, '"gone"'),
    ];
    const { body, misses } = stage(recorded);
    const read = () => body(wire('GET', '/account'));
    expect([await read(), await read(), await read(), await read()]).toEqual(['"a"', '"b"', '"b"', '"b"']);
    await body(wire('DELETE', '/orders'));
    expect(await body(wire('DELETE', '/orders'))).toMatch(/^fixture: .* DELETE \/orders {} .*exchange 3/);
    expect(misses).toHaveLength(1);

    const strict = stage(recorded, { repeatLastRead: false });
    const first = [await strict.body(wire('GET', '/account')), await strict.body(wire('GET', '/account'))];
    expect(first).toEqual(['"a"', '"b"']);
    expect(await strict.body(wire('GET', '/account'))).toMatch(/^fixture: /);
  });

  it('reports a miss with the nearest exchange and every difference, and sends nothing', async () => {
    const { ask, misses } = stage([
      exchange('POST', '/orders', { market_id: 'ETH-USD', side: 'short', price: '1' }),
      exchange('POST', '/orders', { market_id: 'BTC-USD', side: 'long', price: '64200' }),
    ]);
    const { reply } = await ask(
      wire('POST', '/orders', { market_id: 'BTC-USD', side: 'long', price: '64200.5', type: 'limit' }),
    );
    expect(reply).toMatchObject({ kind: 'failure', sent: false, message: misses[0]?.message });
    expect(misses[0]?.nearest?.position).toBe(2);
    expect(misses[0]?.nearest?.differences).toEqual([
      { name: 'price', recorded: '64200', sent: '64200.5' },
      { name: 'type', recorded: undefined, sent: 'limit' },
    ]);
    expect(misses[0]?.message).toContain(
      'the nearest is exchange 2: price recorded 64200, sent 64200.5; type recorded absent, sent limit',
    );
  });

  it('names the recorded endpoints when the requested one has none', async () => {
    const { body } = stage([exchange('GET', '/account', {})]);
    expect(await body(wire('GET', '/fills'))).toMatch(/^fixture: .* GET \/fills {}; .*GET \/account$/);
  });

  it('times out when the recorded answer came later than the run waits', async () => {
    const { ask } = stage([exchange('GET', '/account', {}, '{}', 12_000)]);
    expect(await ask(wire('GET', '/account'), 10_000)).toEqual({
      reply: { kind: 'failure', sent: true, message: 'timeout: response' },
      tookMs: 10_000,
    });
  });
});

describe("the run's own order ids", () => {
  const ack = (id: string, client: string) => `{"result":[{"id":"${id}","client_order_id":"${client}"}]}`;

  it('replace the recorded ones in answers, also in other orders before and after', async () => {
    const { body, misses } = stage([
      exchange('POST', '/orders', { client_order_id: R1, price: '1' }, ack('X@1', R1)),
      exchange('POST', '/orders', { client_order_id: R2, price: '2' }, ack('X@2', R2)),
      exchange('GET', '/orders', { client_order_id: R2 }, ack('X@2', R2)),
      exchange('GET', '/orders', {}, `{"result":["${R1}"],"error":"duplicate ${R2}"}`),
    ]);
    expect(await body(wire('POST', '/orders', { client_order_id: N1, price: '1' }))).toBe(ack('X@1', N1));
    expect(await body(wire('POST', '/orders', { client_order_id: N2, price: '2' }))).toBe(ack('X@2', N2));
    expect(await body(wire('GET', '/orders', { client_order_id: N2 }))).toBe(ack('X@2', N2));
    expect(await body(wire('GET', '/orders'))).toBe(`{"result":["${N1}"],"error":"duplicate ${N2}"}`);
    expect(misses).toEqual([]);
  });

  it('once paired, match no other order', async () => {
    const { body } = stage([
      exchange('POST', '/orders', { client_order_id: R1 }, ack('X@1', R1)),
      exchange('GET', '/orders', { client_order_id: R1 }, ack('X@1', R1)),
    ]);
    await body(wire('POST', '/orders', { client_order_id: N1 }));
    expect(await body(wire('GET', '/orders', { client_order_id: N2 }))).toMatch(/^fixture: .*client_order_id recorded/);
  });

  it("keep the author's tag", async () => {
    const { body } = stage([exchange('POST', '/orders', { client_order_id: `${R1}-exit` }, '"ok"')]);
    expect(await body(wire('POST', '/orders', { client_order_id: `${N1}-entry` }))).toMatch(/^fixture: /);
    expect(await body(wire('POST', '/orders', { client_order_id: `${N1}-exit` }))).toBe('"ok"');
  });

  it('are given to an order recorded without one', async () => {
    const { body } = stage([
      exchange('POST', '/orders', { price: '1' }, ack('X@1', '')),
      exchange(
        'GET',
        '/orders',
        { order_id: 'X@1' },
        `{"result":[{"id":"X@1","client_order_id":"","price":"1.10","n":1.10}]}`,
      ),
    ]);
    expect(await body(wire('POST', '/orders', { price: '1', client_order_id: N1 }))).toBe(ack('X@1', N1));
    expect(await body(wire('GET', '/orders', { order_id: 'X@1' }))).toBe(
      `{"result":[{"id":"X@1","client_order_id":"${N1}","price":"1.10","n":1.10}]}`,
    );
  });
});

describe('time', () => {
  const later = START + 86_400_000;
  const us = (ms: number) => String(ms * 1000);

  it('is relative to the start of each run', async () => {
    const { body, misses } = stage(
      [
        exchange(
          'GET',
          '/fills',
          { start_time: us(START - 60_000) },
          `{"timestamp":${START}123,"last_update":"x","price":"${START}123"}`,
        ),
      ],
      { startMs: later },
    );
    const answer = await body(wire('GET', '/fills', { start_time: us(later - 60_000 + TIME_TOLERANCE_MS) }));
    expect(answer).toBe(`{"timestamp":${later}123,"last_update":"x","price":"${START}123"}`);
    expect(await body(wire('GET', '/fills', { start_time: us(later - 60_000 + TIME_TOLERANCE_MS + 1) }))).toMatch(
      /^fixture: .*start_time/,
    );
    expect(misses).toHaveLength(1);
  });

  it('that the author wrote is the same instant in both runs', async () => {
    const { body } = stage([exchange('GET', '/fills', { end_time: us(START) }, '"ok"')], { startMs: later });
    expect(await body(wire('GET', '/fills', { end_time: us(START) }))).toBe('"ok"');
  });

  it('shifts the reset of the rate limit in any unit', async () => {
    const reset = async (value: string) => {
      const recorded: RecordedExchange = {
        ...exchange('GET', '/account', {}),
        reply: { kind: 'answer', status: 200, headers: { 'x-ratelimit-reset': value }, body: '{}' },
      };
      const { reply } = await stage([recorded], { startMs: later }).ask(wire('GET', '/account'));
      return reply.kind === 'answer' ? reply.headers['x-ratelimit-reset'] : undefined;
    };
    expect(await reset(String(START / 1000))).toBe(String(later / 1000));
    expect(await reset(String(START))).toBe(String(later));
    expect(await reset(us(START))).toBe(us(later));
    expect(await reset('2026-01-05T08:00:00Z')).toBe('2026-01-06T08:00:00.000Z');
    expect(await reset('60')).toBe('60');
  });
});

describe('feeds', () => {
  it('give the newest value so far', async () => {
    const clock = new VirtualClock(START);
    const feeds = [
      { name: 'mid', value: '2', afterMs: 5000 },
      { name: 'mid', value: '1', afterMs: -100 },
      { name: 'mark', key: 'BTC-USD', value: '9', afterMs: 0 },
    ];
    const fixture: Fixture = { recordedAt: START, startMs: START, markets: {}, feeds, exchanges: [] };
    const transport = new FixtureTransport(fixture, clock, { startMs: START, onMiss: () => {} });
    expect(transport.feed('mid', undefined)).toEqual({ name: 'mid', value: '1', at: START - 100 });
    await clock.advanceTo(START + 5000);
    expect(transport.feed('mid', undefined)).toEqual({ name: 'mid', value: '2', at: START + 5000 });
    expect(transport.feed('mark', 'BTC-USD')).toEqual({ name: 'mark', key: 'BTC-USD', value: '9', at: START });
    expect(transport.feed('mark', undefined)).toBeUndefined();
  });
});

describe('a recorder', () => {
  const SECRET = 'a-refresh-token-no-reader-may-see';
  const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE3MDAwMDAwMDB9.c2lnbmF0dXJl';
  const WALLET = '0x52908400098527886E0F7030069857D2E4169EE7';

  /** Answers each request after `tookMs` with the next reply. */
  function venue(clock: VirtualClock, replies: WireReply[], tookMs: number): Transport {
    return {
      send: () => new Promise((resolve) => clock.at(clock.now() + tookMs, () => resolve(replies.shift() as WireReply))),
    };
  }

  it('records the exchanges in the order of sending, without secrets', async () => {
    const clock = new VirtualClock(START);
    const answer = (body: string): WireReply => ({
      kind: 'answer',
      status: 200,
      headers: { 'x-ratelimit-remaining': '3', 'set-cookie': `jwt=${JWT}`, 'content-type': 'application/json' },
      body,
    });
    const replies = [
      answer(`{"success":true,"error":"","result":["opaque-session-token"]}`),
      answer(`{"result":[{"wallet":"${WALLET}","note":"${JWT}","balance":"12345678901234567890.123456789"}]}`),
      { kind: 'failure', sent: true, message: `timeout with ${SECRET}` } as const,
    ];
    const header = { startMs: START, markets: {}, runbook: 'r' };
    const recorder = new FixtureRecorder(venue(clock, replies, 30), clock, {
      ...header,
      redact: (text: string) => text.replaceAll(SECRET, '[redacted]'),
    });
    await clock.runUntil(
      recorder.send(wire('POST', '/jwt', { refresh_token: SECRET, is_client: 'true' }), { timeoutMs: 1000 }),
    );
    await clock.advanceTo(START + 1000);
    const read = await clock.runUntil(recorder.send(wire('GET', '/account'), { timeoutMs: 1000 }));
    await clock.runUntil(recorder.send(wire('GET', '/account'), { timeoutMs: 1000 }));
    recorder.feed({ name: 'mid', value: '1.5', at: START + 10 });
    recorder.feed({ name: 'mid', value: '1.5', at: START + 10 });

    expect(read).toMatchObject({ body: expect.stringContaining(WALLET) });
    const headers = { 'x-ratelimit-remaining': '3', 'content-type': 'application/json' };
    expect(recorder.fixture()).toEqual({
      ...header,
      recordedAt: START + 1060,
      feeds: [{ name: 'mid', value: '1.5', afterMs: 10 }],
      exchanges: [
        {
          afterMs: 0,
          tookMs: 30,
          request: { method: 'POST', path: '/jwt', params: { refresh_token: '[redacted]', is_client: 'true' } },
          reply: {
            kind: 'answer',
            status: 200,
            headers,
            body: '{"success":true,"error":"","result":["hidden.hidden.hidden"]}',
          },
        },
        {
          afterMs: 1000,
          tookMs: 30,
          request: { method: 'GET', path: '/account', params: {} },
          reply: {
            kind: 'answer',
            status: 200,
            headers,
            body: `{"result":[{"wallet":"${HIDDEN_WALLET}","note":"hidden.hidden.hidden","balance":"12345678901234567890.123456789"}]}`,
          },
        },
        {
          afterMs: 30,
          tookMs: 30,
          request: { method: 'GET', path: '/account', params: {} },
          reply: { kind: 'failure', sent: true, message: 'timeout with [redacted]' },
        },
      ],
    });
  });
});
