import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { VenueClient } from '../../src/gateway/client.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import { buildDeclaredRequests, DeclaredFeeds } from '../../src/gateway/live/declared.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { WireReply } from '../../src/gateway/transport.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import type { RequestOutcome } from '../../src/venue/port.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';

const START = Date.UTC(2026, 0, 5, 8);
const PROFILE: Profile = {
  ...SIMULATED_PROFILE,
  requests: {
    markets: {
      method: 'GET',
      path: '/markets',
      query: { market_id: 'text' },
      tokens: 3,
      result: { kind: 'record', fields: { price: { kind: 'value', type: 'price', optional: false } } },
    },
  },
};

function answer(status: number, body: unknown): WireReply {
  return { kind: 'answer', status, headers: { 'x-ratelimit-remaining': '9' }, body: JSON.stringify(body) };
}

interface Asked {
  readonly name?: string;
  readonly ready?: boolean;
  readonly tokens?: number;
  readonly profile?: typeof PROFILE;
  readonly renew?: () => Promise<boolean>;
}

function connect(
  clock: VirtualClock,
  send: () => Promise<WireReply>,
  { ready = true, tokens, profile = PROFILE, renew = async () => true }: Asked = {},
) {
  const entries: (readonly [string, unknown])[] = [];
  const client = new VenueClient({
    profile,
    transport: { send },
    budget: new LocalBudget(budgetSettings(tokens === undefined ? {} : { tokens }), clock, {}, { random: () => 0.5 }),
    log: {
      append: (type, data) => void entries.push([type, data]),
      flush: async () => {},
      tracker: new OrderTracker(),
    },
    clock,
    gate: new LimitFactsFold(new OrderTracker(), {}),
    feeds: { read: async () => undefined },
    markets: {},
    epoch: 1,
    session: { ready: async () => ready, renew },
    requests: buildDeclaredRequests(profile),
  });
  return { client, entries };
}

/** The outcome of `request markets`, and what the journal says of it. */
async function request(reply: WireReply | Error, asked: Asked = {}) {
  const clock = new VirtualClock(START);
  const send = () =>
    new Promise<WireReply>((resolve, reject) =>
      clock.at(START + 20, () => (reply instanceof Error ? reject(reply) : resolve(reply))),
    );
  const { client, entries } = connect(clock, send, asked);
  const outcome = await clock.runUntil(client.request(asked.name ?? 'markets', { market_id: 'BTC-USD' }, 'r#1', 'r'));
  return { outcome, types: entries.map(([type]) => type), settled: entries.at(-1)?.[1] };
}

const SENT = ['call.intended', 'call.attempted', 'call.settled'];
const UNSENT = ['call.intended', 'call.settled'];

describe('a request that the profile declares', () => {
  it('has an outcome in the journal where a mistake of ours is thrown on its way', async () => {
    const { outcome, types, settled } = await request(new TypeError('a mistake of ours'));
    expect([outcome, types]).toEqual([expect.objectContaining({ kind: 'unresolved', failure: 'transport' }), SENT]);
    expect(settled).toMatchObject({ kind: 'unresolved', failure: 'transport' });
  });

  it.each<[string, WireReply, RequestOutcome, object]>([
    [
      'an answer of its shape',
      answer(200, { price: '64000.5' }),
      { kind: 'confirmed', result: { price: '64000.5' }, sentAt: START },
      { status: 200, success: true, result: { price: '64000.5' }, headers: { 'x-ratelimit-remaining': '9' } },
    ],
    [
      'the rate limit',
      answer(429, { price: '64000.5' }),
      { kind: 'rejected', failure: 'rate_limited', message: 'the rate limit is exhausted' },
      { status: 429, success: false, failure: 'rate_limited', headers: { 'x-ratelimit-remaining': '9' } },
    ],
    [
      'an answer of another shape',
      answer(200, {}),
      { kind: 'unresolved', failure: 'transport', message: 'result.price is absent' },
      { status: 200, success: false, failure: 'transport', headers: { 'x-ratelimit-remaining': '9' } },
    ],
    [
      'a refusal',
      answer(400, { success: false, error: { code: 5 }, result: null }),
      { kind: 'unresolved', failure: 'transport', message: 'refused: {"code":5}' },
      { status: 400, success: false, failure: 'transport', headers: { 'x-ratelimit-remaining': '9' } },
    ],
    [
      'no answer',
      { kind: 'failure', sent: true, message: 'timeout: response' },
      { kind: 'unresolved', failure: 'transport', message: 'timeout: response' },
      { failure: 'transport' },
    ],
  ])('ends and is journaled after %s', async (_, reply, outcome, details) => {
    const ended = await request(reply);
    expect([ended.outcome, ended.types]).toEqual([outcome, SENT]);
    const said = 'message' in outcome ? { message: outcome.message } : {};
    expect(ended.settled).toEqual({ call: 'r#1', kind: outcome.kind, sentAt: START, ...said, ...details });
  });

  it('knows the statuses that the profile gives for an exhausted limit', async () => {
    const profile = { ...PROFILE, rateLimit: { ...PROFILE.rateLimit, statuses: [418, 429] } };
    const { outcome } = await request(answer(418, { price: '64000.5' }), { profile });
    expect(outcome).toMatchObject({ kind: 'rejected', failure: 'rate_limited' });
  });

  it('is not sent again before the time that a refusal gave', async () => {
    const clock = new VirtualClock(START);
    const sentAt: number[] = [];
    const { client } = connect(clock, async () => {
      sentAt.push(clock.now() - START);
      return { kind: 'answer', status: 429, headers: { 'x-ratelimit-retry-after': '9' }, body: '' };
    });
    for (const id of ['r#1', 'r#2']) await clock.runUntil(client.request('markets', { market_id: 'BTC-USD' }, id, 'r'));
    expect(sentAt).toEqual([0, 9_000]);
  });

  it.each<[string, WireReply, number]>([
    ['401', answer(401, {}), 1],
    ['401 that is no JSON', { kind: 'answer', status: 401, headers: {}, body: '<html>' }, 1],
    ['its words', answer(200, { success: false, error: 'JWT_EXPIRED', result: null }), 1],
    ['no words of a session', answer(400, { success: false, error: 'MARKET_NOT_FOUND', result: null }), 0],
    ['a server that failed', answer(503, { success: false, error: 'invalid token', result: null }), 0],
  ])(
    'has a session that is refused by %s renewed: a run that waits for a price makes no other request',
    async (_, reply, renewals) => {
      let renewed = 0;
      const renew = async () => {
        renewed += 1;
        return true;
      };
      const { outcome, types } = await request(reply, { renew });
      expect([outcome.kind, types, renewed]).toEqual(['unresolved', SENT, renewals]);
    },
  );

  it('is not sent where the profile does not declare it', async () => {
    const { outcome, types, settled } = await request(answer(200, {}), { name: 'other' });
    expect([outcome.kind, types]).toEqual(['denied', UNSENT]);
    expect(settled).toMatchObject({ kind: 'denied', code: 'UNKNOWN_REQUEST', failure: 'denied' });
  });

  it('is not sent without a session', async () => {
    const { outcome, types, settled } = await request(answer(200, {}), { ready: false });
    expect([outcome.kind, types]).toEqual(['rejected', UNSENT]);
    expect(settled).toEqual({
      call: 'r#1',
      kind: 'rejected',
      failure: 'transport',
      message: 'the session could not be renewed',
    });
  });
});

describe('a feed', () => {
  it('is as old as the request that read it, without its wait for tokens', async () => {
    const clock = new VirtualClock(START);
    const { client } = connect(
      clock,
      () => new Promise((resolve) => clock.at(clock.now() + 20, () => resolve(answer(200, { price: '64000.5' })))),
      { tokens: 4 },
    );
    const feed = { request: 'markets', with: { market_id: '${market}' }, read: 'result.price' };
    const feeds = new DeclaredFeeds({ ...PROFILE, feeds: { mid: feed } }, () => clock.now());
    feeds.through(client);
    const first = await clock.runUntil(feeds.read('mid', 'BTC-USD', 's'));
    expect(first?.at).toBe(START);
    const second = await clock.runUntil(feeds.read('mid', 'BTC-USD', 's'));
    expect(second?.at).toBe(clock.now() - 20);
    expect(clock.now() - START).toBeGreaterThan(50_000);
  });
});
