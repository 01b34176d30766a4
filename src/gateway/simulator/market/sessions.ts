/**
 * Authenticates callers: JWTs that this venue issued or accepts, their lifetime, refresh and rotation; and API-key signatures,
 * recomputed here from venue-notes.md and not with the client's code. The tokens protect nothing; they exist so that the
 * session of a client can be tested.
 */
import { createHash, createHmac } from 'node:crypto';
import type { AuthConfig } from '../config/settings.ts';
import { VenueError, type VenueRequest } from './request.ts';

/** In-process callers send no headers; `token` is the one that they would send. */
export interface Caller {
  readonly inProcess: boolean;
  readonly token: string | undefined;
}

/** Longest lifetime of a signature in seconds (venue-notes.md, Signed requests). */
const SIGNATURE_LIFE_S = 600;

export class Sessions {
  private readonly config: AuthConfig;
  /** Expiry of each token, epoch ms. */
  private readonly ends = new Map<string, number>();
  private readonly spent = new Set<string>();
  private refreshToken: string | undefined;
  private issued = 0;

  constructor(config: AuthConfig, startedAt: number) {
    this.config = config;
    this.refreshToken = config.refreshToken;
    if (config.token !== undefined) this.ends.set(config.token, this.computeEnd(startedAt));
  }

  /** Issues a new JWT. A client can read the claims `iat` and `exp`; the signature is only a word. */
  issue(at: number): string {
    this.issued += 1;
    const claims = { sub: 'simulated', jti: this.issued, iat: Math.floor(at / 1000), ...this.buildExpiryClaim(at) };
    const token = [{ alg: 'none', typ: 'JWT' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    this.ends.set(`${token}.simulated`, this.computeEnd(at));
    return `${token}.simulated`;
  }

  /** Throws a VenueError for an unknown caller or an expired token. */
  check(request: VenueRequest, caller: Caller, at: number): void {
    if (this.config.mode === 'off') return;
    if (!caller.inProcess && this.config.mode === 'api_key') this.checkSignature(request, at);
    else this.checkToken(request, caller, at);
  }

  private checkToken(request: VenueRequest, caller: Caller, at: number): void {
    const token = caller.inProcess ? caller.token : this.readToken(request.headers);
    // An in-process caller without a token is accepted unless only issued tokens are.
    if (token === undefined && caller.inProcess && this.config.accept === 'any') return;
    if (token === undefined || token === '') throw new VenueError('UNAUTHORIZED', 'no JWT was sent', 401);
    let end = this.ends.get(token);
    if (end === undefined && this.config.accept === 'any') {
      end = this.computeEnd(at);
      this.ends.set(token, end);
    }
    if (end === undefined) throw new VenueError('UNAUTHORIZED', 'the JWT is not known', 401);
    if (at >= end) throw new VenueError('JWT_EXPIRED', 'the JWT has expired', 401);
  }

  /** POST /jwt: returns a new token for a valid refresh token; with rotation, the old refresh token becomes invalid. */
  refresh(refreshToken: string, at: number): { jwt: string; refresh_token?: string } {
    const wanted = this.refreshToken;
    const good = wanted === undefined ? refreshToken !== '' && !this.spent.has(refreshToken) : refreshToken === wanted;
    if (!good) throw new VenueError('INVALID_REFRESH_TOKEN', 'the refresh token is not good', 401);
    const jwt = this.issue(at);
    if (!this.config.rotate) return { jwt };
    this.spent.add(refreshToken);
    this.refreshToken = `simulated-refresh-${this.issued}`;
    return { jwt, refresh_token: this.refreshToken };
  }

  private computeEnd(at: number): number {
    return this.config.lifeMs === undefined ? Number.POSITIVE_INFINITY : at + this.config.lifeMs;
  }

  private buildExpiryClaim(at: number): { exp?: number } {
    return this.config.lifeMs === undefined ? {} : { exp: Math.floor(this.computeEnd(at) / 1000) };
  }

  private readToken(headers: VenueRequest['headers']): string | undefined {
    const { cookie, header, prefix } = this.config;
    if (cookie !== undefined) {
      const pairs = (headers['cookie'] ?? '').split(';').map((pair) => pair.trim());
      return pairs.find((pair) => pair.startsWith(`${cookie}=`))?.slice(cookie.length + 1);
    }
    const text = headers[header.toLowerCase()];
    return text?.startsWith(prefix) ? text.slice(prefix.length) : undefined;
  }

  private checkSignature({ headers, params, placement, method, path }: VenueRequest, at: number): void {
    const { key, secret } = this.config.apiKey as NonNullable<AuthConfig['apiKey']>;
    if (headers['rbt-api-key'] !== key) throw new VenueError('UNAUTHORIZED', 'the API key is not known', 401);
    const expiry = headers['rbt-ts'] ?? '';
    const left = /^\d+$/.test(expiry) ? Number(expiry) - at / 1000 : -1;
    if (left <= 0 || left > SIGNATURE_LIFE_S)
      throw new VenueError('SIGNATURE_EXPIRED', 'RBT-TS is past or too far ahead', 401);
    const body =
      placement === 'body' ? Object.entries(params).map(([name, value]): [string, string] => [name, value.text]) : [];
    const message = [...body, ['method', method], ['path', path]]
      .sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
      .map(([name, text]) => `${name}=${text}`)
      .join('');
    const digest = createHash('sha256')
      .update(message + expiry)
      .digest();
    const wanted = `0x${createHmac('sha256', Buffer.from(secret.slice(2), 'hex'))
      .update(digest)
      .digest('hex')}`;
    if (headers['rbt-signature'] !== wanted)
      throw new VenueError('INVALID_SIGNATURE', 'the signature does not fit the request', 401);
  }
}
