import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Secret } from '../../src/gateway/live/secret.ts';
import { type SessionParts, VenueSession } from '../../src/gateway/live/session.ts';
import type { TokenStore } from '../../src/gateway/live/token-store.ts';
import type { LiveSendOptions } from '../../src/gateway/live/transport.ts';
import type { Budget } from '../../src/gateway/tokens/budget.ts';
import type { WireReply, WireRequest } from '../../src/gateway/transport.ts';
import { type AuthSettings, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { readJwtTimes } from '../../src/venue/wire/jwt.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { parseSecret, signRequest } from '../../src/venue/wire/signing.ts';

const START = Date.parse('2026-01-05T08:00:00.000Z');
const HOUR = 3_600_000;
const LIST = toWireRequest('GET /orders', { market_id: 'BTC-USD' }, SIMULATED_PROFILE);

type JwtAuth = Extract<AuthSettings, { mode: 'jwt' }>;
const AUTH: JwtAuth = {
  mode: 'jwt',
  isClient: true,
  carrier: { in: 'header', header: 'Authorization', prefix: 'Bearer ' },
  jwtLifeMs: 48 * HOUR,
  sendJwtOnRefresh: true,
};

function jwt(name: string, times: { iat?: number; exp?: number }): string {
  const claims = Object.fromEntries(Object.entries(times).map(([claim, ms]) => [claim, ms / 1000]));
  return `${['{"alg":"none"}', JSON.stringify({ ...claims, sub: name })]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')}.sig`;
}

const hourLong = (name: string, from = START) => jwt(name, { iat: from, exp: from + HOUR });

function answer(body: unknown, status = 200): WireReply {
  return { kind: 'answer', status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
const granted = (result: unknown) => answer({ success: true, error: '', result });
const refused = (status = 401) =>
  answer({ success: false, error: 'INVALID_REFRESH_TOKEN secret-refresh-1', result: [] }, status);

interface Bench {
  readonly session: VenueSession;
  readonly clock: VirtualClock;
  /** The requests sent to the venue: endpoint, authorization header, refresh token. */
  readonly sent: string[];
  readonly tickets: string[];
  readonly obtained: string[];
  readonly alarms: string[];
  run<T>(work: Promise<T>): Promise<T>;
}

/** A session in virtual time whose venue answers each POST /jwt with the next of `replies`, 100 ms later. */
function bench(
  replies: readonly WireReply[],
  given: {
    jwt?: string;
    refreshToken?: string;
    auth?: AuthSettings;
    store?: TokenStore;
    parts?: Partial<SessionParts>;
    onSend?: () => void;
  } = {},
): Bench {
  const clock = new VirtualClock(START);
  const [sent, tickets, obtained, alarms]: [string[], string[], string[], string[]] = [[], [], [], []];
  const left = [...replies];
  const transport = {
    send(request: WireRequest, { headers = {} }: LiveSendOptions): Promise<WireReply> {
      given.onSend?.();
      sent.push(
        [
          request.endpoint,
          headers['authorization'] ?? headers['cookie'] ?? '-',
          request.params['refresh_token']?.text ?? '',
        ]
          .join(' ')
          .trim(),
      );
      const reply =
        request.endpoint === 'POST /jwt'
          ? (left.shift() ?? { kind: 'failure', sent: true, message: 'nothing left to answer' })
          : granted([]);
      return new Promise((resolve) => clock.at(clock.now() + 100, () => resolve(reply as WireReply)));
    },
  };
  const budget: Pick<Budget, 'acquire' | 'weightOf'> = {
    weightOf: () => 20,
    acquire: ({ endpoint, weight, class: cls }) => {
      tickets.push(`${endpoint} ${weight} ${cls}`);
      const told = (what: string) => () => void tickets.push(what);
      return Promise.resolve({
        kind: 'granted',
        waitedMs: 0,
        ticket: { answered: told('answered'), aborted: told('aborted'), notSent: told('not sent') },
      });
    },
  };
  const session = new VenueSession({
    profile: { ...SIMULATED_PROFILE, auth: given.auth ?? AUTH },
    secrets: {
      ...(given.jwt === undefined ? {} : { jwt: new Secret('auth.jwt', given.jwt) }),
      ...(given.refreshToken === undefined
        ? {}
        : { refreshToken: new Secret('auth.refresh_token', given.refreshToken) }),
      webhooks: {},
      anchorAddresses: {},
    },
    transport,
    budget,
    clock,
    ...(given.store === undefined ? {} : { store: given.store }),
    obtained: (secret) => obtained.push(secret.reveal()),
    alarm: (message) => alarms.push(message),
    ...given.parts,
  });
  return { session, clock, sent, tickets, obtained, alarms, run: (work) => clock.runUntil(work) };
}

function openMemoryStore(
  initial?: string,
): TokenStore & { readonly saves: string[]; token: string | undefined; broken: boolean } {
  return {
    saves: [],
    token: initial,
    broken: false,
    load() {
      return this.token === undefined ? undefined : new Secret('auth.refresh_token', this.token);
    },
    save(token) {
      if (this.broken) return Promise.reject(new Error('the disk is full'));
      this.saves.push(token.reveal());
      this.token = token.reveal();
      return Promise.resolve();
    },
  };
}

describe('VenueSession, headers', () => {
  it.each([
    ['a header with its prefix', AUTH, { authorization: 'Bearer a.b.c' }],
    [
      'a header of another name',
      { ...AUTH, carrier: { in: 'header', header: 'RBT-JWT', prefix: '' } },
      { 'rbt-jwt': 'a.b.c' },
    ],
    ['a cookie', { ...AUTH, carrier: { in: 'cookie', cookie: 'jwt' } }, { cookie: 'jwt=a.b.c' }],
    ['nothing', { mode: 'none' }, {}],
  ] as [string, AuthSettings, object][])('puts the JWT into %s', (_, auth, headers) => {
    expect(bench([], { jwt: 'a.b.c', auth }).session.headersFor(LIST)).toEqual(headers);
  });

  it('leaves the JWT out of POST /jwt when the deployment does not want it there', () => {
    const { session } = bench([], { jwt: 'a.b.c', auth: { ...AUTH, sendJwtOnRefresh: false } });
    expect(
      session.headersFor(toWireRequest('POST /jwt', { is_client: true, refresh_token: '' }, SIMULATED_PROFILE)),
    ).toEqual({});
  });

  it('signs each request in mode api_key with its time of sending', () => {
    const auth: AuthSettings = {
      mode: 'api_key',
      apiKey: { env: 'K' },
      secret: { env: 'S' },
      chain: 'rbx',
      signatureLifeMs: 20_000,
      headers: { key: 'RBT-API-KEY', expiry: 'RBT-TS', signature: 'RBT-SIGNATURE', chain: 'EID' },
    };
    const secrets = {
      apiKey: new Secret('k', 'key-1'),
      apiSecret: new Secret('s', '0xdeadbeef'),
      webhooks: {},
      anchorAddresses: {},
    };
    const { session } = bench([], { auth, parts: { secrets } });
    const expiry = START / 1000 + 20;
    expect(session.headersFor(LIST)).toEqual({
      'rbt-api-key': 'key-1',
      'rbt-ts': String(expiry),
      'rbt-signature': signRequest(LIST, expiry, parseSecret('0xdeadbeef') as Uint8Array),
      eid: 'rbx',
    });
  });

  it('is always ready in mode api_key, and has nothing to renew', async () => {
    const { session, run } = bench([], { auth: { mode: 'none' } });
    expect([await run(session.ready()), await run(session.renew())]).toEqual([true, false]);
  });
});

describe('VenueSession, life of a JWT', () => {
  it('follows exp, or the profile when there is none', () => {
    expect(bench([], { jwt: hourLong('a') }).session.expiresAt).toBe(START + HOUR);
    expect(bench([], { jwt: jwt('a', {}) }).session.expiresAt).toBe(START + 48 * HOUR);
    expect(bench([], { jwt: 'opaque' }).session.expiresAt).toBe(START + 48 * HOUR);
    expect(bench([], { jwt: jwt('a', { iat: START - HOUR }) }).session.expiresAt).toBe(START + 47 * HOUR);
  });

  it('obtains the first JWT before a request is sent', async () => {
    const first = hourLong('first');
    const { session, run, sent, tickets, obtained } = bench([granted([first])], { refreshToken: 'r-1' });
    expect(await run(session.ready())).toBe(true);
    expect(sent).toEqual(['POST /jwt - r-1']);
    expect(tickets).toEqual(['POST /jwt 20 protect', 'answered']);
    expect(obtained).toEqual([first]);
    expect(session.headersFor(LIST)).toEqual({ authorization: `Bearer ${first}` });
  });

  it('is not renewed before four fifths of it, and then without making a request wait', async () => {
    const [old, young] = [hourLong('old'), hourLong('young', START + HOUR)];
    const { session, run, clock, sent } = bench([granted([young])], { jwt: old, refreshToken: 'r-1' });
    await clock.advanceTo(START + 0.8 * HOUR - 1);
    expect(await run(session.ready())).toBe(true);
    await clock.advanceTo(START + 0.8 * HOUR + 200);
    expect(sent).toEqual([]);
    expect(await run(session.ready())).toBe(true);
    expect(session.headersFor(LIST)).toEqual({ authorization: `Bearer ${old}` });
    await clock.advanceTo(clock.now() + 200);
    expect([sent, session.headersFor(LIST)]).toEqual([
      [`POST /jwt Bearer ${old} r-1`],
      { authorization: `Bearer ${young}` },
    ]);
  });

  it('renews once for all waiting requests', async () => {
    const { session, run, sent } = bench([granted([hourLong('new')])], { refreshToken: 'r-1' });
    expect(await run(Promise.all([session.ready(), session.renew(), session.ready(), session.renew()]))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['obtained', granted([hourLong('new')])],
    ['refused', refused()],
  ])('lets each refused request go on in a turn of its own: a JWT is %s', async (_, reply) => {
    const { session, run } = bench([reply], { refreshToken: 'r-1' });
    const ends: string[] = [];
    const renewThenAct = async (request: string) => {
      await session.renew();
      ends.push(`${request} refused`);
      for (let step = 0; step < 10; step += 1) await undefined;
      ends.push(`${request} acts`);
    };
    await run(Promise.all([renewThenAct('a'), renewThenAct('b')]));
    expect(ends).toEqual(['a refused', 'a acts', 'b refused', 'b acts']);
  });

  it('attributes a second refusal right after a renewal to the JWT before', async () => {
    const { session, run, clock, sent } = bench([granted([hourLong('b')]), granted([hourLong('c')])], {
      jwt: hourLong('a'),
      refreshToken: 'r-1',
    });
    expect(await run(session.renew())).toBe(true);
    expect(await run(session.renew())).toBe(true);
    expect(sent).toHaveLength(1);
    await clock.advanceTo(clock.now() + 10_001);
    expect(await run(session.renew())).toBe(true);
    expect(sent).toHaveLength(2);
  });

  it('reports each request that it sent by itself, with its tokens and its answer', async () => {
    const told: object[] = [];
    const { session, run, clock } = bench(
      [{ kind: 'failure', sent: true, message: 'timeout: response' }, refused(503), granted({ jwt: hourLong('new') })],
      { jwt: hourLong('old'), refreshToken: 'secret-refresh-1', parts: { requested: (request) => told.push(request) } },
    );
    const sentAt: number[] = [];
    for (const expected of [false, false, true]) {
      sentAt.push(clock.now());
      expect(await run(session.renew())).toBe(expected);
      await clock.advanceTo(clock.now() + 60_000);
    }
    expect(told).toEqual([
      { sentAt: sentAt[0], tokens: 20, success: false },
      { sentAt: sentAt[1], tokens: 20, status: 503, success: false },
      { sentAt: sentAt[2], tokens: 20, status: 200, success: true },
    ]);
  });

  it('keeps the old JWT until there is a new one, and waits longer after each failure', async () => {
    const { session, run, clock, sent, alarms } = bench(
      [refused(), { kind: 'failure', sent: true, message: 'timeout: response' }, refused()],
      { jwt: hourLong('old'), refreshToken: 'secret-refresh-1' },
    );
    expect(await run(session.renew())).toBe(false);
    expect([await run(session.ready()), sent.length]).toEqual([true, 1]);
    await clock.advanceTo(clock.now() + 1_000);
    expect([await run(session.ready()), sent.length]).toEqual([true, 2]);
    await clock.advanceTo(clock.now() + 1_000);
    expect([await run(session.ready()), sent.length]).toEqual([true, 2]);
    await clock.advanceTo(clock.now() + 1_000);
    expect([await run(session.ready()), sent.length, session.failing]).toEqual([true, 3, true]);
    expect(session.headersFor(LIST)).toEqual({ authorization: `Bearer ${hourLong('old')}` });
    expect(alarms).toEqual([
      'the session could not be renewed 3 times in a row: POST /jwt was refused with status 401',
    ]);
  });

  it('treats a JWT that expired by our clock as valid for a while, because the clock may be wrong', async () => {
    const { session, run, clock } = bench([], { jwt: hourLong('old') });
    await clock.advanceTo(START + HOUR + 599_999);
    expect(await run(session.ready())).toBe(true);
    await clock.advanceTo(START + HOUR + 600_000);
    expect([await run(session.ready()), session.problem]).toEqual([false, 'there is no refresh token']);
  });

  it('is not ready without a JWT and a way to get one', async () => {
    const { session, run, sent } = bench([]);
    expect([await run(session.ready()), sent]).toEqual([false, []]);
  });

  it('gives tokens back when nothing was sent', async () => {
    const { session, run, tickets } = bench([{ kind: 'failure', sent: false, message: 'ECONNREFUSED' }], {
      refreshToken: 'r-1',
    });
    expect([await run(session.ready()), session.problem]).toEqual([false, 'POST /jwt: ECONNREFUSED']);
    expect(tickets.at(-1)).toBe('not sent');
  });
});

describe('VenueSession, rotated refresh tokens', () => {
  it('stores the new one before anything uses it', async () => {
    const store = openMemoryStore();
    const order: string[] = [];
    const base = store.save.bind(store);
    store.save = (token) => {
      order.push(`save ${token.reveal()}`);
      return base(token);
    };
    const replies = [
      granted([{ jwt: hourLong('a'), refresh_token: 'r-2' }]),
      granted([{ jwt: hourLong('b'), refresh_token: 'r-3' }]),
    ];
    const { session, run, clock, sent, obtained } = bench(replies, {
      refreshToken: 'r-1',
      store,
      onSend: () => order.push('send'),
    });
    await run(session.ready());
    await clock.advanceTo(clock.now() + 20_000);
    await run(session.renew());
    expect(order).toEqual(['send', 'save r-2', 'send', 'save r-3']);
    expect(sent.map((line) => line.split(' ').at(-1))).toEqual(['r-1', 'r-2']);
    expect(obtained).toEqual(expect.arrayContaining(['r-2', 'r-3']));
  });

  it('closes only after a renewal in progress has been answered and stored, and begins none afterwards', async () => {
    const store = openMemoryStore();
    const replies = [granted([{ jwt: hourLong('b'), refresh_token: 'r-2' }])];
    const { session, run, clock, sent, tickets } = bench(replies, {
      jwt: hourLong('a'),
      refreshToken: 'r-1',
      store,
    });
    await clock.advanceTo(START + 0.9 * HOUR);
    expect([await run(session.ready()), store.saves]).toEqual([true, []]);
    await run(session.close());
    expect([store.saves, sent.length, tickets.at(-1)]).toEqual([['r-2'], 1, 'answered']);
    await clock.advanceTo(START + 4 * HOUR);
    expect([await run(session.renew()), sent.length]).toEqual([false, 1]);
  });

  it('closes without waiting for tokens, and sends nothing when they come', async () => {
    let grant: () => void = () => {};
    const { session, run, sent } = bench([], {
      refreshToken: 'r-1',
      parts: {
        budget: {
          weightOf: () => 20,
          acquire: () =>
            new Promise((resolve) => {
              grant = () => resolve({ kind: 'refused', code: 'QUEUE_FULL', earliestInMs: 0 });
            }),
        },
      },
    });
    const ready = session.ready();
    await run(session.close());
    grant();
    expect([await run(ready), sent]).toEqual([false, []]);
  });

  it('begins with the token that an earlier process stored', async () => {
    const { session, run, sent } = bench([granted([hourLong('a')])], {
      refreshToken: 'r-1',
      store: openMemoryStore('r-9'),
    });
    await run(session.ready());
    expect(sent).toEqual(['POST /jwt - r-9']);
  });

  it('uses the JWT but not a refresh token that could not be stored, raises an alarm, and tries again to store it', async () => {
    const store = openMemoryStore();
    store.broken = true;
    const { session, run, clock, sent, alarms } = bench(
      [granted([{ jwt: hourLong('a'), refresh_token: 'r-2' }]), granted([hourLong('b')])],
      { refreshToken: 'r-1', store },
    );
    expect(await run(session.ready())).toBe(true);
    expect(alarms).toEqual([expect.stringContaining('the disk is full')]);
    await clock.advanceTo(clock.now() + 20_000);
    expect([await run(session.renew()), sent.length]).toEqual([false, 1]);
    store.broken = false;
    await clock.advanceTo(clock.now() + 20_000);
    expect(await run(session.renew())).toBe(true);
    expect([store.saves, sent.at(-1)?.split(' ').at(-1)]).toEqual([['r-2'], 'r-2']);
  });

  it('checks after a refusal whether another process has rotated the token', async () => {
    const store = openMemoryStore();
    const { session, run, sent } = bench([refused(), granted([hourLong('a')])], {
      refreshToken: 'r-1',
      store,
      onSend: () => (store.token = 'r-2'),
    });
    expect(await run(session.ready())).toBe(true);
    expect(sent).toEqual(['POST /jwt - r-1', 'POST /jwt - r-2']);
  });

  it('fills in the token for any caller, adopts the answer, and never has two in progress', async () => {
    const store = openMemoryStore();
    const replies = [
      granted([{ jwt: hourLong('a'), refresh_token: 'r-2' }]),
      granted([{ jwt: hourLong('b'), refresh_token: 'r-3' }]),
    ];
    const { session, run, sent } = bench(replies, { refreshToken: 'r-1', store });
    const asked = toWireRequest('POST /jwt', { is_client: true, refresh_token: '' }, SIMULATED_PROFILE);
    const [ready, reply] = await run(Promise.all([session.ready(), session.send(asked, { timeoutMs: 1000 })]));
    expect([ready, reply.kind]).toEqual([true, 'answer']);
    expect(sent.map((line) => line.split(' ').at(-1))).toEqual(['r-1', 'r-2']);
    expect(session.headersFor(LIST)).toEqual({ authorization: `Bearer ${hourLong('b')}` });
  });

  it('sends no POST /jwt without a token to fill in', async () => {
    const { session, run, sent } = bench([]);
    const asked = toWireRequest('POST /jwt', { is_client: true, refresh_token: '' }, SIMULATED_PROFILE);
    expect(await run(session.send(asked, { timeoutMs: 1000 }))).toEqual({
      kind: 'failure',
      sent: false,
      message: 'there is no refresh token',
    });
    expect(sent).toEqual([]);
  });

  it('never shows a token in a problem or an alarm', async () => {
    const { session, run, alarms } = bench([refused(400)], { refreshToken: 'secret-refresh-1' });
    await run(session.ready());
    expect([session.problem, ...alarms].join()).not.toContain('secret-refresh-1');
    expect(JSON.stringify(session.problem)).toBe('"POST /jwt was refused with status 400"');
  });
});

describe('VenueSession, what it passes on', () => {
  const asked = (refresh_token: string) =>
    toWireRequest('POST /jwt', { is_client: true, refresh_token }, SIMULATED_PROFILE);
  const live = { timeoutMs: 1000 };

  it('is every request with its options and credentials, also while a JWT is obtained', async () => {
    const seen: unknown[] = [];
    const connection = Promise.resolve({ kind: 'open' });
    const transport = {
      send: (request: WireRequest, options: LiveSendOptions) => {
        seen.push([request.endpoint, options]);
        return request.endpoint === 'POST /jwt' ? new Promise<WireReply>(() => {}) : Promise.resolve(granted([]));
      },
      connect: (withinMs: number) => {
        seen.push(withinMs);
        return connection as never;
      },
    };
    const auth = { ...AUTH, sendJwtOnRefresh: false };
    const { session, run } = bench([], { jwt: 'a.b.c', refreshToken: 'r-1', auth, parts: { transport } });
    void session.send(asked(''), live);
    await run(Promise.resolve());
    expect(await session.send(LIST, live)).toEqual(granted([]));
    expect(seen).toContainEqual(['GET /orders', { ...live, headers: { authorization: 'Bearer a.b.c' } }]);
    expect([session.connect(77), seen.at(-1)]).toEqual([connection, 77]);
    expect(bench([]).session.connect(5)).toBeUndefined();
  });

  it('is the token of a caller that has its own', async () => {
    const { session, run, sent } = bench([refused()], { refreshToken: 'r-1' });
    await run(session.send(asked('mine'), live));
    expect(sent).toEqual(['POST /jwt - mine']);
  });

  it('is no signature without both parts of the key', () => {
    const auth: AuthSettings = {
      mode: 'api_key',
      apiKey: { env: 'K' },
      secret: { env: 'S' },
      signatureLifeMs: 20_000,
      headers: { key: 'K', expiry: 'TS', signature: 'SIG', chain: 'EID' },
    };
    const key = { apiKey: new Secret('k', 'key-1') };
    const secret = { apiSecret: new Secret('s', '0xdeadbeef') };
    const headers = (given: object) =>
      bench([], { auth, parts: { secrets: { ...given, webhooks: {}, anchorAddresses: {} } } }).session.headersFor(LIST);
    for (const half of [key, secret, {}]) expect(() => headers(half)).toThrow('without its key');
    expect(Object.keys(headers({ ...key, ...secret })).sort()).toEqual(['k', 'sig', 'ts']);
  });
});

describe('VenueSession, a renewal', () => {
  const MINUTE = 60_000;

  it('begins at four fifths of the life to the millisecond, and only with a refresh token', async () => {
    for (const [refreshToken, count] of [
      ['r-1', 1],
      [undefined, 0],
    ] as const) {
      const given = refreshToken === undefined ? {} : { refreshToken };
      const { session, run, clock, sent } = bench([granted([hourLong('b')])], { jwt: hourLong('a'), ...given });
      await clock.advanceTo(START + 48 * MINUTE - 1);
      await run(session.ready());
      expect(sent).toEqual([]);
      await clock.advanceTo(START + 48 * MINUTE);
      await run(session.ready());
      expect([sent.length, session.problem]).toEqual([count, undefined]);
    }
  });

  it('is waited for from the instant at which the JWT has expired', async () => {
    const { session, run, clock, sent } = bench([granted([hourLong('b', START + HOUR)])], {
      jwt: hourLong('a'),
      refreshToken: 'r-1',
    });
    await clock.advanceTo(START + HOUR);
    await run(session.ready());
    expect([sent.length, clock.now(), session.expiresAt]).toEqual([1, START + HOUR + 100, START + 2 * HOUR + 100]);
  });

  it('that succeeded leaves nothing to renew', async () => {
    const renewed: number[] = [];
    const { session, run, sent } = bench([granted([hourLong('b')])], {
      jwt: hourLong('a'),
      refreshToken: 'r-1',
      parts: { renewed: (at) => renewed.push(at) },
    });
    expect([await run(session.renew()), await run(session.ready()), sent.length]).toEqual([true, true, 1]);
    expect([renewed, session.failing]).toEqual([[START + HOUR + 100], false]);
  });

  it('counts the life of the new JWT from its answer, whatever the clock of the venue says', async () => {
    for (const aheadMs of [-10 * MINUTE, 10 * MINUTE]) {
      const { session, run, clock } = bench([granted([hourLong('b', START + aheadMs)])], { refreshToken: 'r-1' });
      await run(session.ready());
      expect(session.expiresAt).toBe(clock.now() + HOUR);
      await clock.advanceTo(START + MINUTE);
      expect(session.expiresAt).toBe(START + 100 + HOUR);
    }
    expect(bench([]).session.expiresAt).toBeUndefined();
  });

  it('takes the profile’s where the new JWT would have expired by our clock: no request renews it again', async () => {
    const { session, run, sent } = bench([granted([jwt('b', { exp: START - MINUTE })])], { refreshToken: 'r-1' });
    expect([await run(session.ready()), await run(session.ready())]).toEqual([true, true]);
    expect([sent.length, session.expiresAt]).toEqual([1, START + 100 + 48 * HOUR]);
  });

  it('begins the life of a JWT from a clock ahead of ours now', async () => {
    const given = { jwt: hourLong('a', START + 10 * MINUTE), refreshToken: 'r-1' };
    const { session, run, clock, sent } = bench([granted([hourLong('b')])], given);
    await clock.advanceTo(START + 56 * MINUTE);
    await run(session.ready());
    expect(sent).toHaveLength(1);
  });

  it('is not asked for where there is no JWT to renew', async () => {
    const { session, run } = bench([], { auth: { mode: 'none' } });
    expect([await run(session.renew()), session.problem]).toEqual([false, undefined]);
  });

  it('reports nothing where nothing was sent, and fails only with the third', async () => {
    const told: object[] = [];
    const { session, run } = bench([{ kind: 'failure', sent: false, message: 'ECONNREFUSED' }], {
      refreshToken: 'r-1',
      parts: { requested: (request) => told.push(request) },
    });
    await run(session.ready());
    expect([told, session.failing]).toEqual([[], false]);
  });
});

describe('VenueSession, a token that another process stored', () => {
  const rotating = (...tokens: string[]) => {
    const store = openMemoryStore();
    const onSend = () => {
      store.token = tokens.shift() ?? store.token;
    };
    return { store, refreshToken: 'r-1', onSend };
  };

  it('is filtered from what is printed as soon as it is known', () => {
    const known = (token?: string) => bench([], { refreshToken: 'r-1', store: openMemoryStore(token) }).obtained;
    expect([known('r-2'), known()]).toEqual([['r-2'], []]);
    expect(bench([]).obtained).toEqual([]);
  });

  it('is tried once', async () => {
    const { session, run, sent, obtained } = bench([refused(), refused(), refused()], rotating('r-2', 'r-3'));
    expect([await run(session.ready()), sent]).toEqual([false, ['POST /jwt - r-1', 'POST /jwt - r-2']]);
    expect(obtained).toEqual(['r-2']);
  });

  it('is not tried where the refusal is about something else, or it is the same', async () => {
    const unclear: WireReply = { kind: 'answer', status: 200, headers: {}, body: 'not what it should be' };
    for (const reply of [refused(429), unclear]) {
      const { session, run, sent } = bench([reply, granted([hourLong('a')])], rotating('r-2'));
      expect([await run(session.ready()), sent]).toEqual([false, ['POST /jwt - r-1']]);
    }
    const { session, run, sent } = bench([refused(), granted([hourLong('a')])], rotating('r-1'));
    expect([await run(session.ready()), sent]).toEqual([false, ['POST /jwt - r-1']]);
  });

  it('says of an answer that cannot be read what is wrong, not that it was refused', async () => {
    const unclear: WireReply = { kind: 'answer', status: 200, headers: {}, body: 'not what it should be' };
    const { session, run } = bench([unclear], { refreshToken: 'r-1' });
    await run(session.ready());
    expect(session.problem).toMatch(/^POST \/jwt: ./);
  });

  it('is stored only where it is another', async () => {
    const store = openMemoryStore();
    const { session, run } = bench([granted([{ jwt: hourLong('a'), refresh_token: 'r-1' }])], {
      refreshToken: 'r-1',
      store,
    });
    expect([await run(session.ready()), store.saves]).toEqual([true, []]);
  });

  it('has no place to go without a store: the JWT is used, an alarm is raised, and nothing more is sent', async () => {
    const { session, run, clock, alarms, sent } = bench([granted([{ jwt: hourLong('a'), refresh_token: 'r-2' }])], {
      refreshToken: 'r-1',
    });
    expect(await run(session.ready())).toBe(true);
    expect(alarms.join()).toContain('there is no place to store it');
    await clock.advanceTo(START + HOUR);
    await run(session.renew());
    expect(sent).toHaveLength(1);
  });
});

describe('jwtTimes', () => {
  it.each([
    ['both claims', jwt('a', { iat: START, exp: START + 1000 }), { issuedAt: START, expiresAt: START + 1000 }],
    ['no claims', jwt('a', {}), {}],
    ['an opaque text', 'opaque', {}],
    ['a payload that is not JSON', 'a.b.c', {}],
    ['exp in milliseconds', `a.${Buffer.from(`{"exp":${START}}`).toString('base64url')}.c`, { expiresAt: START }],
    ['exp as a text', `a.${Buffer.from('{"exp":"1767600000"}').toString('base64url')}.c`, {}],
    ['exp that is no time', `a.${Buffer.from('{"exp":-1,"iat":1e300}').toString('base64url')}.c`, {}],
    ['null', `a.${Buffer.from('null').toString('base64url')}.c`, {}],
  ])('reads %s', (_, token, times) => {
    expect(readJwtTimes(token)).toEqual(times);
  });
});
