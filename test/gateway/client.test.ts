/** The client of a run: what it journals of each call, when it sends it, sends it again or not at all, and how it settles it. */
import { describe, expect, it } from 'vitest';
import { PROTECTIVE_FLUSH_MS } from '../../src/gateway/client.ts';
import type { ClientParts, FeedSource } from '../../src/gateway/client-parts.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { WireReply } from '../../src/gateway/transport.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { type CallOutcome, MARKET_PRICE, type VenueCall } from '../../src/venue/port.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { record } from '../venue/order-samples.ts';
import {
  ACK,
  ARMING,
  callOf,
  confirmed,
  type Given,
  intent,
  NOTHING,
  placing,
  refused,
  START,
  setUp,
  TOUCH,
} from './client-stage.ts';

describe('a call', () => {
  it('is journaled as intended, attempted and settled, and passes its points in this order', async () => {
    const { client, run, entries, points, of, turns } = setUp({ replies: [confirmed(ACK)] });
    const outcome = await run(client.call(placing({ purpose: 'undo', reference: { price: '101', at: START } })));
    expect(outcome).toMatchObject({ kind: 'confirmed', sentAt: START, settledAt: START + 20 });
    expect(entries.map(({ type, step }) => [type, step])).toEqual(
      ['call.intended', 'call.attempted', 'call.settled'].map((type) => [type, 'steps/o']),
    );
    expect(of('call.intended')).toStrictEqual([
      {
        call: 'steps/o#1',
        endpoint: 'POST /orders',
        params: expect.objectContaining({ client_order_id: 'rbabc' }),
        class: 'enter',
        intent,
        clientOrderId: 'rbabc',
        purpose: 'undo',
        reference: '101',
      },
    ]);
    expect(of('call.attempted')).toMatchObject([{ call: 'steps/o#1', n: 1, epoch: 7, tokens: 'POST /orders'.length }]);
    expect(of('call.settled')).toMatchObject([{ kind: 'confirmed', status: 200, sentAt: START }]);
    expect(points).toEqual(['CP0', 'CP1', 'CP2', 'CP5', 'CP3', 'CP4', 'CP10', 'CP11']);
    expect(turns()).toBe(0);
  });

  it('has in the journal only what it has, with secrets replaced', async () => {
    const { client, run, of } = setUp();
    const params = { grant_type: 'refresh_token', refresh_token: 'hush' };
    await run(client.call(callOf('POST /jwt', { params })));
    expect(of('call.intended')).toStrictEqual([
      {
        call: 'steps/o#1',
        endpoint: 'POST /jwt',
        params: expect.objectContaining({ refresh_token: '[redacted]' }),
        class: 'read',
      },
    ]);
  });

  it('asks for its tokens with all that they depend on', async () => {
    const wanted = { withdrawn: undefined, onWithdrawn: () => () => {} };
    const { client, run, asked, sent } = setUp();
    await run(client.call(callOf('GET /orders', { deadlineAt: START + 9, wanted, answerMs: 50 })));
    expect(asked).toEqual([
      { endpoint: 'GET /orders', weight: 11, class: 'read', withinMs: 9, wanted, heartbeat: undefined },
    ]);
    expect(sent[0]?.options.timeoutMs).toBe(50);
  });

  it('that repeats keeps tokens for the switch of its account', async () => {
    const { client, run, asked } = setUp();
    await run(client.call({ ...ARMING, repeatsMs: 6_000 }));
    await run(client.call(callOf('GET /cancel_all_after', { repeatsMs: 60_000 })));
    const readWeight = 'GET /cancel_all_after'.length;
    expect(asked.map(({ heartbeat }) => heartbeat)).toEqual([
      { of: 'main', everyMs: 6_000, timeoutMs: 20_000, readWeight, sessionWeight: 0 },
      { of: 'main', everyMs: 60_000, timeoutMs: 0, readWeight, sessionWeight: 0, reads: true },
    ]);
  });

  it.each([
    ['a refresh token', { refreshToken: { env: 'REFRESH' } }, 20],
    ['none', {}, 0],
  ])('that repeats keeps tokens for a renewal of its session, where it has %s', async (_, token, sessionWeight) => {
    const carrier = { in: 'header', header: 'Authorization', prefix: 'Bearer ' } as const;
    const auth = {
      mode: 'jwt',
      isClient: true,
      carrier,
      jwtLifeMs: 60_000,
      sendJwtOnRefresh: false,
      ...token,
    } as const;
    const { client, run, asked } = setUp({ parts: { profile: { ...SIMULATED_PROFILE, auth } } });
    await run(client.call({ ...ARMING, repeatsMs: 6_000 }));
    expect(asked).toMatchObject([{ heartbeat: { sessionWeight } }]);
  });

  it.each([
    ['a write', callOf('DELETE /orders'), [START + 62_000]],
    ['a heartbeat', { ...ARMING, repeatsMs: 6_000 }, []],
  ])('that waits long for its tokens is shown to wait, but for a heartbeat: %s', async (_, call, until) => {
    const { client, run, of } = setUp({ tokensAfterMs: 5_000 });
    await run(client.call(call));
    expect(of('call.waiting')).toEqual(until.map((each) => ({ call: 'steps/o#1', until: each })));
  });

  it('that reads is not made durable, a heartbeat only as far as it was written', async () => {
    const { client, run, flushes, sent } = setUp();
    await run(client.call(callOf('GET /orders')));
    expect([flushes, sent[0]?.options.mayLeave]).toEqual([[], undefined]);
    await run(client.call({ ...ARMING, purpose: 'keep-alive' }));
    await run(client.call({ ...ARMING, purpose: 'arm' }));
    expect(flushes).toEqual(['written', 'all']);
    expect(sent[1]?.options.mayLeave?.()).toBe(true);
  });

  it.each([
    [undefined, 'unresolved'],
    ['each', 'confirmed'],
  ] as const)('reads a list with a row that cannot be read as its caller says: %s', async (rows, kind) => {
    const { client, run } = setUp({ replies: [confirmed(record('open'), { id: 'BTC-USD@9' })] });
    const outcome = await run(
      client.call(callOf('GET /orders', { params: {}, ...(rows === undefined ? {} : { rows }) })),
    );
    expect(outcome.kind).toBe(kind);
    if (outcome.kind === 'confirmed') expect([outcome.result.length, outcome.unread?.length]).toEqual([1, 1]);
  });

  it('that looks for an order is no proof of its absence where the row it got cannot be read', async () => {
    const placed = placing();
    const params = { client_order_id: placed.intent?.clientOrderId ?? '', market_id: 'BTC-USD' };
    const found: (number | undefined)[] = [];
    for (const rows of [[], [{ id: 'BTC-USD@9' }]]) {
      const { client, run, tracker } = setUp({ replies: [new Error('reset'), confirmed(...rows)] });
      await run(client.call(placed));
      await run(client.call(callOf('GET /orders', { params, rows: 'each' })));
      found.push(tracker.get(params.client_order_id)?.snapshot.context.absence.count);
    }
    expect(found).toEqual([1, 0]);
  });

  it('that disarms releases the tokens of the switch when that is confirmed, and no other call does', async () => {
    const { client, run, ended } = setUp({ replies: [refused(400, 'no'), NOTHING, confirmed(TOUCH)] });
    await run(client.call(callOf('DELETE /cancel_all_after')));
    expect(ended).toEqual(['answered']);
    await run(client.call(callOf('DELETE /cancel_all_after')));
    await run(client.call(callOf('DELETE /orders')));
    expect(ended).toEqual(['answered', 'answered', 'releases main', 'answered']);
  });
});

describe('a refused session', () => {
  const session = (renews: boolean) => ({ ready: async () => true, renew: async () => renews });
  const EXPIRED = refused(401, 'JWT_EXPIRED');
  const ask = async (endpoint: EndpointName, renews: boolean, replies: readonly WireReply[]) => {
    const venue = setUp({ replies, parts: { session: session(renews) } });
    const call: VenueCall = endpoint === 'POST /orders' ? placing() : callOf(endpoint);
    const outcome: CallOutcome = await venue.run(venue.client.call(call));
    return { ...venue, outcome };
  };

  it('is renewed, and what may be repeated is sent once more', async () => {
    const { outcome, of, sent, flushes } = await ask('DELETE /orders', true, [EXPIRED, confirmed(TOUCH)]);
    expect(outcome.kind).toBe('confirmed');
    expect(of('call.attempted')).toMatchObject([{ n: 1 }, { n: 2 }]);
    expect(of('call.answered')).toEqual([
      { call: 'steps/o#1', n: 1, status: 401, message: 'JWT_EXPIRED', headers: { 'x-ratelimit-remaining': '9' } },
    ]);
    expect([sent.length, flushes.length]).toEqual([2, 2]);
  });

  it.each<[string, EndpointName, boolean, number]>([
    ['where it cannot be renewed', 'DELETE /orders', false, 1],
    ['an order', 'POST /orders', true, 1],
    ['more than once', 'GET /orders', true, 2],
  ])('is not repeated %s', async (_, endpoint, renews, times) => {
    const { outcome, sent, of } = await ask(endpoint, renews, [EXPIRED, EXPIRED, EXPIRED]);
    expect(outcome).toMatchObject({ kind: 'rejected', failure: 'unauthorized' });
    expect([sent.length, of('call.settled').length]).toEqual([times, 1]);
  });

  const LEVERAGE = callOf('PUT /account/leverage', { params: { market_id: 'BTC-USD', leverage: 3 } });

  it('asks a person once, before the first attempt', async () => {
    const sentThen: number[] = [];
    const parts = { session: session(true), confirm: async () => sentThen.push(venue.sent.length) > 0 };
    const venue = setUp({ replies: [EXPIRED, confirmed({ leverage: '3' })], parts });
    await venue.run(venue.client.call(LEVERAGE));
    expect([sentThen, venue.sent.length]).toEqual([[0], 2]);
  });

  it('asks again what may have changed meanwhile', async () => {
    let bar: string | undefined;
    const renew = async () => {
      bar = 'KILL_SWITCH_ENGAGED: by ada';
      return true;
    };
    const parts = { session: { ready: async () => true, renew }, forbidden: () => bar };
    const { client, run, sent } = setUp({ replies: [EXPIRED], parts });
    expect(await run(client.call(LEVERAGE))).toMatchObject({ kind: 'denied', code: 'KILL_SWITCH_ENGAGED' });
    expect(sent).toHaveLength(1);
  });
});

describe('a call that is not sent', () => {
  const halted = { profile: { ...SIMULATED_PROFILE, limits: { mode: 'halted' } } } as const;

  it('because a limit denies it is journaled as that, two turns later', async () => {
    const { client, run, sent, of, types, turns } = setUp({ parts: halted });
    const outcome = await run(client.call(placing()));
    expect(outcome).toMatchObject({ kind: 'denied', code: 'TRADING_HALTED', settledAt: START });
    expect([sent, types(), turns()]).toEqual([[], ['call.intended', 'call.settled'], 2]);
    expect(of('call.settled')).toMatchObject([{ kind: 'denied', code: 'TRADING_HALTED' }]);
  });

  it('for want of a session was certainly not sent', async () => {
    const session = { ready: async () => false, renew: async () => false };
    const { client, run, sent, turns } = setUp({ parts: { session } });
    const outcome = await run(client.call(placing()));
    expect(outcome).toMatchObject({ kind: 'rejected', failure: 'unauthorized', definite: true });
    expect([sent, turns()]).toEqual([[], 1]);
  });

  it('because another process acts for the account never settles', async () => {
    const { client, clock, sent, types } = setUp({ parts: { lease: { holds: async () => false } } });
    let settled = false;
    void client.call(placing()).then(() => (settled = true));
    await clock.advanceTo(START + 3_600_000);
    expect([settled, sent, types()]).toEqual([false, [], ['call.intended']]);
  });

  it.each<[string, unknown, string]>([
    ['an error', new Error('the disk is full'), 'JOURNAL: the disk is full'],
    ['anything else', 'gone', 'JOURNAL: gone'],
  ])('because its attempt cannot be made durable was attempted and denied: %s', async (_, error, message) => {
    const venue = setUp({ flush: () => Promise.reject(error) });
    const outcome = await venue.run(venue.client.call(placing()));
    expect(outcome).toMatchObject({ kind: 'denied', code: 'JOURNAL', message });
    expect([venue.sent, venue.types()]).toEqual([[], ['call.intended', 'call.attempted', 'call.settled']]);
    expect(venue.turns()).toBe(1);
    const cancelled = await venue.run(venue.client.call(callOf('DELETE /orders')));
    expect([cancelled.kind === 'denied', venue.sent.length]).toEqual([false, 1]);
  });

  it('protects, and so is sent although the store does not answer, half a second later', async () => {
    const venue = setUp({ replies: [confirmed(TOUCH)], flush: () => new Promise(() => {}) });
    const outcome = await venue.run(venue.client.call(callOf('DELETE /orders')));
    expect([outcome.kind, venue.sent[0]?.at]).toEqual(['confirmed', PROTECTIVE_FLUSH_MS]);
    let settled = false;
    void venue.client.call(placing()).then(() => (settled = true));
    await venue.clock.advanceTo(START + 60_000);
    expect([settled, venue.sent.length]).toEqual([false, 1]);
  });
});

describe('a write that holds up the heartbeats', () => {
  const disarming = (deadlineAt?: number) =>
    ({ ...callOf('DELETE /cancel_all_after'), ...(deadlineAt === undefined ? {} : { deadlineAt }) }) as VenueCall;

  it('is denied where its attempt is not durable by its deadline, and waits without one', async () => {
    let store = () => {};
    const flush = () =>
      new Promise<void>((resolve) => {
        store = resolve;
      });
    const venue = setUp({ flush });
    const outcome = await venue.run(venue.client.call(disarming(START + 2_500)));
    expect(outcome).toMatchObject({ kind: 'denied', code: 'DEADLINE', settledAt: START + 2_500 });
    expect([venue.sent, venue.types()]).toEqual([[], ['call.intended', 'call.attempted', 'call.settled']]);
    void venue.client.call(disarming());
    await venue.clock.advanceTo(START + 60_000);
    expect(venue.sent).toEqual([]);
    store();
    await venue.clock.advanceTo(START + 60_001);
    expect(venue.sent.map(({ at }) => at)).toEqual([60_000]);
  });

  it('is denied as any other where the journal is given up before', async () => {
    const venue = setUp({ flush: () => Promise.reject(new Error('the disk is full')) });
    expect(await venue.run(venue.client.call(disarming(START + 2_500)))).toMatchObject({ code: 'JOURNAL' });
  });
});

describe('a mistake of ours', () => {
  const mistake = new TypeError('a mistake of ours');

  it.each<[string, Given, object]>([
    ['before the attempt', { parts: { gate: undefined as never } }, { kind: 'rejected', failure: 'transport' }],
    ['after it', { replies: [mistake] }, { kind: 'unresolved' }],
  ])('is the outcome of its call: %s', async (_, given, outcome) => {
    const { client, run, of, crashes } = setUp(given);
    expect(await run(client.call(placing()))).toMatchObject({ ...outcome, settledAt: expect.any(Number) });
    expect([of('call.settled').length, crashes.length]).toEqual([1, 1]);
  });

  it('behind the outcome is thrown: a call has one outcome', async () => {
    const reached = (point: string) => {
      if (point === 'CP11') throw mistake;
    };
    const { client, run, of } = setUp({ parts: { crashPoints: { reached } } });
    await expect(run(client.call(callOf('GET /orders')))).rejects.toBe(mistake);
    expect(of('call.settled')).toHaveLength(1);
  });

  it('in the source of a feed gives no value', async () => {
    const { client, run, of, crashes } = setUp({ parts: { feeds: { read: () => Promise.reject(mistake) } } });
    expect(await run(client.feed('mid', undefined, 'steps/f'))).toBeUndefined();
    expect([crashes, of('feed.read')]).toEqual([[mistake], [{ call: 'steps/f#feed:mid', name: 'mid' }]]);
  });
});

describe('a call whose process died', () => {
  const goOn = async (call: VenueCall, attempts: number, parts: Partial<ClientParts> = {}) => {
    const venue = setUp({ replies: [confirmed(call.endpoint === 'POST /orders' ? ACK : TOUCH)], parts });
    const outcome: CallOutcome = await venue.run(venue.client.continueCall(call, attempts));
    return {
      outcome,
      numbers: venue.of('call.attempted').map((data) => 'n' in data && data.n),
      ...venue,
    };
  };

  it.each<[string, VenueCall, number, readonly number[]]>([
    ['an order that was not attempted', placing(), 0, [1]],
    ['a cancel', callOf('DELETE /orders'), 1, [2]],
    ['a read', callOf('GET /fills/order'), 2, [3]],
  ])('is sent: %s', async (_, call, attempts, numbers) => {
    const { outcome, numbers: found, types } = await goOn(call, attempts);
    expect([outcome.kind === 'denied', found]).toEqual([false, numbers]);
    expect(types()).not.toContain('call.intended');
  });

  it.each<[string, VenueCall]>([
    ['an order', placing({ decidedAt: START - 3_600_000 })],
    ['an amend', callOf('PUT /orders', { decidedAt: START - 3_600_000 })],
  ])('is unresolved where it may have been sent: %s', async (_, call) => {
    const { outcome, sent, of } = await goOn(call, 1);
    expect(outcome).toMatchObject({ kind: 'unresolved', settledAt: START });
    expect([sent, of('call.settled').length, 'code' in outcome]).toEqual([[], 1, false]);
  });

  it.each([
    [1_000, 1, { kind: 'confirmed', code: undefined }, 1],
    [3_600_000, 1, { kind: 'unresolved', code: 'STALE_INTENT' }, 0],
    [3_600_000, 0, { kind: 'denied', code: 'STALE_INTENT' }, 0],
  ])('a cancel_all decided %i ms ago, attempted %i times', async (agoMs, attempts, expected, times) => {
    const call = callOf('DELETE /orders/cancel_all', { decidedAt: START - agoMs });
    const { outcome, sent } = await goOn(call, attempts);
    expect([outcome, sent.length]).toEqual([expect.objectContaining({ kind: expected.kind }), times]);
    expect('code' in outcome ? outcome.code : undefined).toBe(expected.code);
  });

  it('may have done what it was to do, whatever is thrown when it is made again', async () => {
    const { outcome, sent } = await goOn(placing(), 0, { gate: undefined as never });
    expect([outcome.kind, sent]).toEqual(['rejected', []]);
    const transport = { send: () => Promise.reject(new TypeError('a mistake of ours')) };
    const session = { ready: () => Promise.reject(new TypeError('a mistake of ours')), renew: async () => true };
    expect((await goOn(callOf('DELETE /orders'), 1, { transport, session })).outcome.kind).toBe('unresolved');
    expect((await goOn(callOf('DELETE /orders'), 0, { transport, session })).outcome.kind).toBe('rejected');
  });

  it('an old cancel is sent again: it cancels nothing else', async () => {
    const { sent } = await goOn(callOf('DELETE /orders', { decidedAt: START - 3_600_000 }), 1);
    expect(sent).toHaveLength(1);
  });
});

describe('new orders', () => {
  it('wait while a cancel_all has no answer, and while they are kept back', async () => {
    const { client, run, sent } = setUp({ replies: [confirmed(), confirmed(ACK), confirmed(ACK)] });
    const sweep = client.call(callOf('DELETE /orders/cancel_all', { id: 'sweep#1' }));
    await run(Promise.all([sweep, client.call(placing())]));
    expect(sent.map(({ endpoint, at }) => [endpoint, at])).toEqual([
      ['DELETE /orders/cancel_all', 0],
      ['POST /orders', 20],
    ]);
  });

  it.each(['kept', 'failed'])('wait until those that keep them back have ended: %s', async (how) => {
    const { client, clock, run, sent } = setUp({ replies: [confirmed(ACK)] });
    client.keepOrdersBack(
      new Promise(
        (resolve, reject) => void clock.after(500, () => (how === 'kept' ? resolve(1) : reject(new Error('no')))),
      ),
    );
    await run(client.call(placing()));
    expect(sent[0]?.at).toBe(500);
  });
});

describe('the first order of a leg', () => {
  it('that no limit is certain to deny leaves nothing in the journal', async () => {
    const { client, run, types } = setUp();
    expect([await run(client.findDenial(placing())), types()]).toEqual([undefined, []]);
  });

  it('that one is certain to deny is journaled with its denial', async () => {
    const { client, run, types, sent, turns } = setUp({
      parts: { profile: { ...SIMULATED_PROFILE, limits: { maxOrderSize: '9' } } },
    });
    expect(await run(client.findDenial(placing()))).toMatchObject({
      kind: 'denied',
      code: 'SIZE_EXCEEDS_MAX_PER_ORDER',
    });
    expect([types(), sent, turns()]).toEqual([['call.intended', 'call.settled'], [], 2]);
  });
});

describe('what is read', () => {
  it('is a feed with its time and its market, in a turn of its own', async () => {
    const value = { name: 'mid', value: '64000', at: START - 5 };
    const { client, run, of, turns } = setUp({ parts: { feeds: { read: async () => value } } });
    expect(await run(client.feed('mid', 'BTC-USD', 'steps/f'))).toBe(value);
    expect(of('feed.read')).toEqual([
      { call: 'steps/f#feed:mid:BTC-USD', name: 'mid', key: 'BTC-USD', value: '64000', at: START - 5 },
    ]);
    expect(turns()).toBe(1);
  });

  it('is the price of a market by the price feed of the profile, read as needed, and nothing where it binds none', async () => {
    const asked: unknown[] = [];
    const read: FeedSource['read'] = async (...which) => {
      asked.push(which);
      return { name: 'mid', value: '64000', at: START };
    };
    const need = { class: 'complete', withinMs: 7 } as const;
    for (const priceFeed of [undefined, 'mid']) {
      const gate = new LimitFactsFold(new OrderTracker(), {}, undefined, priceFeed);
      const { client, run, of } = setUp({ parts: { feeds: { read }, gate } });
      const found = await run(client.feed(MARKET_PRICE, 'BTC-USD', 'settle', need));
      expect([found?.value, of('feed.read')]).toEqual([
        priceFeed && '64000',
        [
          {
            call: 'settle#feed:market.price:BTC-USD',
            name: 'market.price',
            key: 'BTC-USD',
            ...(priceFeed && { value: '64000', at: START }),
          },
        ],
      ]);
    }
    expect(asked).toEqual([['mid', 'BTC-USD', 'settle', need]]);
  });

  it('are the rules of the markets that the deployment describes', () => {
    const { client } = setUp();
    expect(client.markets).toEqual(['BTC-USD']);
    expect([client.market('BTC-USD'), client.market('constructor')]).toEqual([{ tick: '1', lot: '0.1' }, undefined]);
  });
});
