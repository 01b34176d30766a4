/**
 * Sends requests to a real venue; the only module that imports got. One request, one answer: it does not retry or follow
 * redirects, accepts at most 8 MiB, bounds every phase, and reports whether a byte may have been sent. Errors of got contain
 * the whole request with its token, so none of them leaves this file.
 */
import { lookup as systemLookup } from 'node:dns';
import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Got } from 'got';
import type { Clock } from '../../base/clock.ts';
import { isLoopbackHost } from '../../venue/profile/loopback.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { encodeBody, encodeQuery } from '../../venue/wire/request.ts';
import type { Transport, WireFailure, WireReply, WireRequest } from '../transport.ts';
import { AddressRule } from './addresses.ts';
import type { Variables } from './secret.ts';

/** Largest decompressed body, bytes; a page of 1000 orders has about half a megabyte. */
export const LARGEST_BODY = 8 * 1024 * 1024;
/** Longest time of each phase before the answer; the caller bounds the whole exchange. */
const PHASE_MS = 5_000;

export interface LiveParts {
  readonly profile: Pick<Profile, 'baseUrl' | 'allowedAddresses'>;
  readonly clock: Clock;
  /** The environment, checked for variables that would weaken TLS. */
  readonly variables: Variables;
  /** Resolves host names; the system's resolver by default. */
  readonly resolve?: Parameters<AddressRule['lookup']>[0];
}

export interface LiveSendOptions {
  readonly timeoutMs: number;
  /** Headers that the session adds. Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Opens a live transport, or says in one sentence why it must not. */
export function openLive(parts: LiveParts): { readonly transport: LiveTransport } | { readonly problem: string } {
  if (parts.variables['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    return {
      problem:
        'NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates; unset it, because a live run does not start with it',
    };
  }
  const { hostname } = new URL(parts.profile.baseUrl);
  const literal = hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0 && !buildAddressRule(parts.profile).permits(literal)) {
    return {
      problem: `the base URL's address ${literal} is not a public one; list it under allowed_addresses if it is intended`,
    };
  }
  return { transport: new LiveTransport(parts) };
}

function buildAddressRule({ baseUrl, allowedAddresses }: LiveParts['profile']): AddressRule {
  return new AddressRule(isLoopbackHost(new URL(baseUrl).hostname), allowedAddresses);
}

export class LiveTransport implements Transport {
  private readonly baseUrl: string;
  private readonly clock: Clock;
  private readonly http: HttpAgent;
  private readonly https: HttpsAgent;
  private readonly lookup: ReturnType<AddressRule['lookup']>;
  private loaded: Promise<Got> | undefined;

  /** Use `openLive`, which refuses unsafe settings. */
  constructor({ profile, clock, resolve = systemLookup }: LiveParts) {
    this.baseUrl = profile.baseUrl;
    this.clock = clock;
    // Own agents ignore HTTP_PROXY, which the runtime's default agents may follow.
    this.http = new HttpAgent({ keepAlive: true, scheduling: 'lifo' });
    this.https = new HttpsAgent({
      keepAlive: true,
      scheduling: 'lifo',
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
    });
    this.lookup = buildAddressRule(profile).lookup(resolve);
  }

  async send(request: WireRequest, options: LiveSendOptions): Promise<WireReply> {
    const reply = await this.exchange(request, options).catch(
      (error: unknown): WireFailure => ({ kind: 'failure', sent: false, message: readCode(error) }),
    );
    return new Promise((resolve) => this.clock.arrive(() => resolve(reply)));
  }

  async close(): Promise<void> {
    this.http.destroy();
    this.https.destroy();
    await Promise.resolve();
  }

  private async exchange(request: WireRequest, { timeoutMs, headers }: LiveSendOptions): Promise<WireReply> {
    const got = await this.loadGot();
    const body = encodeBody(request);
    const query = encodeQuery(request);
    const phase = Math.min(timeoutMs, PHASE_MS);
    return new Promise((resolve) => {
      const stream = got.stream(`${this.baseUrl}${request.path}${query === '' ? '' : `?${query}`}`, {
        method: request.method,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'gzip, deflate',
          'user-agent': 'perp-runbook',
          ...(body === '' ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === '' ? {} : { body }),
        agent: { http: this.http, https: this.https },
        dnsLookup: this.lookup as never,
        decompress: true,
        followRedirect: false,
        throwHttpErrors: false,
        retry: { limit: 0 },
        https: { minVersion: 'TLSv1.2', rejectUnauthorized: true },
        timeout: {
          lookup: phase,
          connect: phase,
          secureConnect: phase,
          send: phase,
          response: timeoutMs,
          request: timeoutMs,
        },
      });
      const departure = new Departure(this.baseUrl.startsWith('https:'));
      const fail = (message: string): void => {
        resolve({ kind: 'failure', sent: departure.possible, message });
        stream.destroy();
      };
      let status = 0;
      let answerHeaders: Readonly<Record<string, string>> = {};
      const chunks: Buffer[] = [];
      let length = 0;
      stream.on('request', (sent: ClientRequest) => departure.watch(sent));
      stream.on('response', (response: { statusCode: number; headers: NodeJS.Dict<string | string[]> }) => {
        status = response.statusCode;
        answerHeaders = flattenHeaders(response.headers);
      });
      stream.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > LARGEST_BODY) fail('body over 8 MiB');
        else chunks.push(chunk);
      });
      stream.once('end', () => {
        const text = decodeUtf8(Buffer.concat(chunks, length));
        if (text === undefined) fail('body is not UTF-8');
        else resolve({ kind: 'answer', status, headers: answerHeaders, body: text });
      });
      // Never removed: an error after the promise has settled must not be unhandled.
      stream.on('error', (error) => fail(describeError(error)));
    });
  }

  private loadGot(): Promise<Got> {
    // Loaded with the first request: it takes 85 ms of start-up, which a dry-run does not need.
    this.loaded ??= import('got').then(({ got }) => got);
    return this.loaded;
  }
}

/** Finds out whether a byte of the request may have been sent. A doubt counts as yes: a second order is worse than a lookup. */
class Departure {
  possible = false;
  private readonly secure: boolean;
  constructor(secure: boolean) {
    this.secure = secure;
  }

  watch(request: ClientRequest): void {
    request.once('socket', (socket: Socket) => {
      // A reused socket is written to at once, and a reset on it does not show what arrived.
      if (request.reusedSocket) this.possible = true;
      else if (socket.connecting) socket.once(this.secure ? 'secureConnect' : 'connect', () => (this.possible = true));
      // A new socket that is destroyed before it connected (a name that does not resolve) has sent nothing.
      else this.possible = !socket.destroyed;
    });
  }
}

function flattenHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Describes an error as `ECONNREFUSED` or `timeout: response`; never with got's own text, which may quote the request. */
function describeError(error: unknown): string {
  const event = error instanceof Error && error.name === 'TimeoutError' && 'event' in error ? error.event : undefined;
  return typeof event === 'string' && /^[A-Za-z]+$/.test(event) ? `timeout: ${event}` : readCode(error);
}

function readCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : 'the request failed';
}
