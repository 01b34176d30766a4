/**
 * The session with the venue: adds credentials to every request and renews the JWT. It is a transport between the client and the
 * live transport, because every POST /jwt must pass through it: it fills in the refresh token, and stores a rotated one
 * before it is used. It decides nothing about orders and repeats no request.
 */
import type { Clock } from '../../base/clock.ts';
import type { DataOf } from '../../journal/entry.ts';
import { getAction } from '../../venue/catalogue.ts';
import type { CallClass } from '../../venue/port.ts';
import type { AuthSettings, Profile } from '../../venue/profile/profile.ts';
import { readAnswer } from '../../venue/wire/answer.ts';
import { readJwtTimes } from '../../venue/wire/jwt.ts';
import { toWireRequest } from '../../venue/wire/request.ts';
import { parseSecret, signRequest } from '../../venue/wire/signing.ts';
import { exchangeOnce, type Session } from '../exchange.ts';
import type { Budget, BudgetAnswer, BudgetRequest } from '../tokens/budget.ts';
import {
  EXCHANGE_TIMEOUT_MS,
  type SendOptions,
  type Transport,
  type WireReply,
  type WireRequest,
} from '../transport.ts';
import { type ProfileSecrets, Secret } from './secret.ts';
import type { TokenStore } from './token-store.ts';
import type { LiveSendOptions } from './transport.ts';

export interface SessionParts {
  readonly profile: Pick<Profile, 'auth' | 'encoding' | 'positionOrders' | 'refusals' | 'rateLimit'>;
  readonly secrets: ProfileSecrets;
  /** Sends the requests with the headers that this session adds. */
  readonly transport: {
    send(request: WireRequest, options: LiveSendOptions): Promise<WireReply>;
    connect?: Transport['connect'];
    close?(): Promise<void>;
  };
  readonly budget: Pick<Budget, 'acquire' | 'weightOf'>;
  readonly clock: Clock;
  /** Stores a rotated refresh token; without it a session with a venue that rotates tokens ends with the process. */
  readonly store?: TokenStore;
  /** Called with every new secret before it is used, so that the redactor can filter it. */
  readonly obtained?: (secret: Secret) => void;
  /** Called for every POST /jwt that the session sent by itself, once it has been answered or given up. */
  readonly requested?: (request: NonNullable<DataOf<'session.moved'>['request']>) => void;
  /** Called when a new JWT is in use, with its expiry, epoch ms. */
  readonly renewed?: (expiresAt: number) => void;
  /** Called when the session cannot be renewed and a person must act; the message has no secrets. */
  readonly alarm?: (message: string) => void;
}

/** The JWT is renewed after this share of its life: early enough for several attempts, late enough to be rare. */
const REFRESH_AT = 0.8;
/** Largest clock error: a JWT that has expired by our clock may still be valid by the venue's (fault-matrix.md, row 51). */
const SKEW_MS = 600_000;
const BACKOFF_MS = { first: 1_000, most: 60_000 } as const;
const ALARM_AFTER = 3;
/** Renewals are as urgent as cancels and heartbeats, which need the session. */
const CLASS: CallClass = 'protect';

interface HeldJwt {
  readonly secret: Secret;
  /** On the monotonic clock, so that adjusting the wall clock does not change the life. */
  readonly refreshAt: number;
  readonly expiresAt: number;
}
type JwtAuth = Extract<AuthSettings, { mode: 'jwt' }>;

export class VenueSession implements Session, Transport {
  private readonly parts: SessionParts;
  private jwt: HeldJwt | undefined;
  private refreshToken: Secret | undefined;
  /** A rotated token that is not on the disk yet; not to be used. */
  private unsaved: Secret | undefined;
  private renewal: Promise<boolean> | undefined;
  private exchange: Promise<unknown> = Promise.resolve();
  private renewedAt = Number.NEGATIVE_INFINITY;
  private failures = 0;
  private notBefore = Number.NEGATIVE_INFINITY;
  /** The venue has refused the current JWT, and no other has been obtained since. */
  private refused = false;
  /** Set by `close`; no renewal starts after it. */
  private closing = false;
  /** Resolves when `close` is called: what waits for tokens is not sent any more. */
  private readonly closed: Promise<BudgetAnswer>;
  private resolveClosed: () => void = () => {};
  private why: string | undefined;

  constructor(parts: SessionParts) {
    this.parts = parts;
    this.closed = new Promise((resolve) => {
      this.resolveClosed = () => resolve({ kind: 'refused', code: 'WITHDRAWN' });
    });
    const { jwt, refreshToken } = parts.secrets;
    if (jwt !== undefined) this.jwt = this.holdJwt(jwt, false);
    this.refreshToken = parts.store?.load() ?? refreshToken;
    if (this.refreshToken !== undefined && this.refreshToken !== refreshToken) parts.obtained?.(this.refreshToken);
  }

  /** Why the last renewal failed, printable; undefined when it succeeded. */
  get problem(): string | undefined {
    return this.why;
  }

  /** True when several renewals in a row have failed: a new order might soon not be cancellable. */
  get failing(): boolean {
    return this.failures >= ALARM_AFTER;
  }

  /** When the JWT expires, epoch ms; undefined without one. */
  get expiresAt(): number | undefined {
    const { clock } = this.parts;
    return this.jwt === undefined ? undefined : Math.round(clock.now() + this.jwt.expiresAt - clock.monotonic());
  }

  async ready(): Promise<boolean> {
    if (this.parts.profile.auth.mode !== 'jwt') return true;
    const { jwt } = this;
    if (jwt === undefined) return this.renewOnce();
    const now = this.parts.clock.monotonic();
    // A refused or expired JWT is still tried when no other can be obtained: the attempt costs a token, while a cancel held
    // back because of a refusal that meant something else could cost more.
    if (this.refused || now >= jwt.expiresAt) return (await this.renewOnce()) || now < jwt.expiresAt + SKEW_MS;
    // Before it expires no request waits for the renewal: the current JWT is valid until the new one is there.
    if (now >= jwt.refreshAt && this.refreshToken !== undefined) void this.renewOnce();
    return true;
  }

  async renew(): Promise<boolean> {
    if (this.parts.profile.auth.mode !== 'jwt') return false;
    // Two requests with one JWT are refused twice, but one renewal serves both: so soon after it, a refusal is about the old JWT.
    if (this.renewal === undefined && this.parts.clock.monotonic() - this.renewedAt < EXCHANGE_TIMEOUT_MS) return true;
    const renewed = await this.renewOnce();
    if (!renewed) this.refused = true;
    // One renewal serves several requests. Each goes on in a turn of its own: a replay feeds in their outcomes one by one.
    await new Promise<void>((resolve) => this.parts.clock.arrive(resolve));
    return renewed;
  }

  connect(withinMs: number): ReturnType<NonNullable<Transport['connect']>> {
    return this.parts.transport.connect?.(withinMs);
  }

  send(request: WireRequest, options: SendOptions): Promise<WireReply> {
    if (getAction(request.endpoint) === 'session') return this.sendJwt(request, options);
    return this.parts.transport.send(request, { ...options, headers: this.headersFor(request) });
  }

  /**
   * Resolves when no POST /jwt is in progress and the tokens of an answered one are stored. Call it before the budget and the
   * stores are closed. A request that still waits for tokens is not sent any more.
   */
  async close(): Promise<void> {
    this.closing = true;
    this.resolveClosed();
    await Promise.all([this.exchange, this.renewal]);
    await this.parts.transport.close?.();
  }

  /** Builds the credentials of a request immediately before it is sent, because a signature expires soon. Lower-case names. */
  headersFor(request: WireRequest): Record<string, string> {
    const { auth } = this.parts.profile;
    switch (auth.mode) {
      case 'none':
        return {};
      case 'api_key':
        return this.signRequest(request, auth);
      case 'jwt':
        if (this.jwt === undefined || (getAction(request.endpoint) === 'session' && !auth.sendJwtOnRefresh)) return {};
        return buildJwtHeader(auth, this.jwt.secret);
      default:
        return auth satisfies never;
    }
  }

  private signRequest(request: WireRequest, auth: Extract<AuthSettings, { mode: 'api_key' }>): Record<string, string> {
    const { apiKey, apiSecret } = this.parts.secrets;
    const key = parseSecret(apiSecret?.reveal() ?? '');
    if (apiKey === undefined || key === undefined)
      throw new Error('gateway: a signed session was made without its key');
    const expiry = Math.floor((this.parts.clock.now() + auth.signatureLifeMs) / 1000);
    return {
      [auth.headers.key.toLowerCase()]: apiKey.reveal(),
      [auth.headers.expiry.toLowerCase()]: String(expiry),
      [auth.headers.signature.toLowerCase()]: signRequest(request, expiry, key),
      ...(auth.chain === undefined ? {} : { [auth.headers.chain.toLowerCase()]: auth.chain }),
    };
  }

  /** Starts one renewal for all callers. Never rejects. */
  private renewOnce(): Promise<boolean> {
    if (this.renewal !== undefined) return this.renewal;
    if (this.closing || this.parts.clock.monotonic() < this.notBefore) return Promise.resolve(false);
    const renewal = this.obtain().finally(() => {
      this.renewal = undefined;
    });
    this.renewal = renewal;
    return renewal;
  }

  private async obtain(): Promise<boolean> {
    const { profile, budget, clock } = this.parts;
    const auth = profile.auth as JwtAuth;
    const acquire = (asked: BudgetRequest) => Promise.race([budget.acquire(asked), this.closed]);
    const parts = { clock, transport: this, budget: { acquire } };
    if (this.refreshToken === undefined) return this.recordFailure('there is no refresh token');
    // Another process may have rotated the token meanwhile; then a second request uses the new one.
    for (let attempt = 1; ; attempt += 1) {
      const tokens = budget.weightOf('POST /jwt');
      const sent = await exchangeOnce(parts, {
        tokens: () => ({ endpoint: 'POST /jwt', weight: tokens, class: CLASS }),
        request: () => toWireRequest('POST /jwt', { is_client: auth.isClient, refresh_token: '' }, profile),
        read: (answer) => readAnswer('POST /jwt', answer, profile),
      });
      if (sent.kind === 'stopped')
        return this.recordFailure(this.closing ? 'the session is being closed' : 'there are no tokens for POST /jwt');
      const { sentAt } = sent.times;
      if (sent.kind === 'unanswered') {
        if (sent.reply.sent) this.parts.requested?.({ sentAt, tokens, success: false });
        return this.recordFailure(`POST /jwt: ${sent.reply.message}`);
      }
      const { verdict, reply } = sent;
      this.parts.requested?.({ sentAt, tokens, status: reply.status, success: verdict.kind === 'confirmed' });
      if (verdict.kind === 'confirmed') return true;
      const other =
        attempt === 1 && verdict.kind === 'refused' && !verdict.limited ? this.parts.store?.load() : undefined;
      if (other === undefined || other.reveal() === this.refreshToken.reveal()) {
        // The venue's text is not repeated: it may quote the token.
        const why = verdict.kind === 'refused' ? ` was refused with status ${reply.status}` : `: ${verdict.why}`;
        return this.recordFailure(`POST /jwt${why}`);
      }
      this.parts.obtained?.(other);
      this.refreshToken = other;
    }
  }

  /** Sends one POST /jwt at a time: two at once would use one refresh token twice. */
  private sendJwt(request: WireRequest, options: SendOptions): Promise<WireReply> {
    const turn = this.exchange.then(() => this.exchangeJwt(request, options));
    this.exchange = turn.catch(() => undefined);
    return turn;
  }

  private async exchangeJwt(request: WireRequest, options: SendOptions): Promise<WireReply> {
    const { transport, profile, clock } = this.parts;
    const settle = (reply: WireReply): Promise<WireReply> =>
      new Promise((resolve) => clock.arrive(() => resolve(reply)));
    if (!(await this.saveRotated()))
      return settle({ kind: 'failure', sent: false, message: 'the rotated refresh token cannot be stored' });
    const completed = this.fillInToken(request);
    if (completed === undefined) return settle({ kind: 'failure', sent: false, message: 'there is no refresh token' });
    const reply = await transport.send(completed, { ...options, headers: this.headersFor(request) });
    const verdict = reply.kind === 'answer' ? readAnswer('POST /jwt', reply, profile) : undefined;
    if (verdict?.kind !== 'confirmed') return reply;
    await this.adopt(verdict.result);
    // The disk answers at any time, so the reply continues in a turn of its own.
    return settle(reply);
  }

  /** Fills in the refresh token, which callers leave empty so that it never passes through the engine or the journal. */
  private fillInToken(request: WireRequest): WireRequest | undefined {
    const given = request.params['refresh_token'];
    if (given === undefined || given.text !== '') return request;
    if (this.refreshToken === undefined) return undefined;
    return { ...request, params: { ...request.params, refresh_token: { ...given, text: this.refreshToken.reveal() } } };
  }

  private async adopt(result: { readonly jwt: string; readonly refresh_token?: string }): Promise<void> {
    const jwt = new Secret('auth.jwt', result.jwt);
    this.parts.obtained?.(jwt);
    this.why = undefined;
    if (result.refresh_token !== undefined && result.refresh_token !== this.refreshToken?.reveal()) {
      this.unsaved = new Secret('auth.refresh_token', result.refresh_token);
      this.parts.obtained?.(this.unsaved);
      await this.saveRotated();
    }
    this.jwt = this.holdJwt(jwt, true);
    this.renewedAt = this.parts.clock.monotonic();
    this.refused = false;
    this.failures = 0;
    this.notBefore = Number.NEGATIVE_INFINITY;
    this.parts.renewed?.(this.expiresAt ?? 0);
  }

  /** Stores a rotated refresh token durably before it is used. */
  private async saveRotated(): Promise<boolean> {
    if (this.unsaved === undefined) return true;
    try {
      if (this.parts.store === undefined) throw new Error('there is no place to store it');
      await this.parts.store.save(this.unsaved);
      this.refreshToken = this.unsaved;
      this.unsaved = undefined;
      return true;
    } catch (error) {
      this.raiseAlarm(
        `the venue rotated the refresh token and the new one could not be stored: ${error instanceof Error ? error.message : 'no reason given'}`,
      );
      return false;
    }
  }

  private recordFailure(why: string): false {
    this.failures += 1;
    this.why = why;
    const backoff = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** (this.failures - 1));
    this.notBefore = this.parts.clock.monotonic() + backoff;
    if (this.failures === ALARM_AFTER)
      this.raiseAlarm(`the session could not be renewed ${ALARM_AFTER} times in a row: ${why}`);
    return false;
  }

  private raiseAlarm(message: string): void {
    this.why = message;
    this.parts.alarm?.(message);
  }

  /** Computes when to renew the JWT. `fresh`: obtained just now, so its whole life is ahead, even if the two clocks differ. */
  private holdJwt(secret: Secret, fresh: boolean): HeldJwt {
    const { clock, profile } = this.parts;
    const now = clock.now();
    const { issuedAt, expiresAt } = readJwtTimes(secret.reveal());
    const life = profile.auth.mode === 'jwt' ? profile.auth.jwtLifeMs : 0;
    // A JWT issued in the future comes from a clock ahead of ours: its life begins now.
    const from = issuedAt === undefined || (!fresh && issuedAt > now) ? now : issuedAt;
    const own = expiresAt === undefined ? undefined : expiresAt - from;
    // One that was obtained just now has not expired, whatever our clock says of its end: renewed for that, it would be before each request.
    const lasts = own === undefined || (fresh && own <= 0) ? life : own;
    const begun = clock.monotonic() - (fresh ? 0 : now - from);
    return { secret, expiresAt: begun + lasts, refreshAt: begun + lasts * REFRESH_AT };
  }
}

function buildJwtHeader(auth: JwtAuth, jwt: Secret): Record<string, string> {
  if (auth.carrier.in === 'cookie') return { cookie: `${auth.carrier.cookie}=${jwt.reveal()}` };
  return { [auth.carrier.header.toLowerCase()]: `${auth.carrier.prefix}${jwt.reveal()}` };
}
