/**
 * Sends requests to a real venue; the only module that imports got. One request, one answer: it does not retry or follow
 * redirects, accepts at most 8 MiB, bounds every phase, and reports whether a byte may have been sent. Errors of got contain
 * the whole request with its token, so none of them leaves this file.
 */
import { lookup as systemLookup } from 'node:dns';
import type { ClientRequest } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import type { Got } from 'got';
import type { Clock } from '../../base/clock.ts';
import { isLoopbackHost } from '../../venue/profile/loopback.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { encodeBody, encodeQuery } from '../../venue/wire/request.ts';
import {
  HELD,
  type SendOptions,
  type Transport,
  type WireFailure,
  type WireReply,
  type WireRequest,
} from '../transport.ts';
import { AddressRule } from './addresses.ts';
import { Connections, type LiveConnection } from './connections.ts';
import type { Variables } from './secret.ts';

/** Largest decompressed body, bytes; a page of 1000 orders has about half a megabyte. */
export const LARGEST_BODY = 8 * 1024 * 1024;
/** Longest time to write the request; the caller bounds the whole exchange. */
const PHASE_MS = 5_000;

export interface LiveParts {
  readonly profile: Pick<Profile, 'baseUrl' | 'allowedAddresses' | 'socketIdleMs'>;
  readonly clock: Clock;
  /** The environment, checked for variables that would weaken TLS. */
  readonly variables: Variables;
  /** Resolves host names; the system's resolver by default. */
  readonly resolve?: Parameters<AddressRule['lookup']>[0];
}

export interface LiveSendOptions extends SendOptions {
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
  if ((parts.variables['NODE_DEBUG'] ?? '') !== '') {
    return {
      problem:
        'NODE_DEBUG makes Node print requests with the secrets in their headers; unset it, because a live run does not start with it',
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

function buildAddressRule({ baseUrl, allowedAddresses }: Pick<Profile, 'baseUrl' | 'allowedAddresses'>): AddressRule {
  return new AddressRule(isLoopbackHost(new URL(baseUrl).hostname), allowedAddresses);
}

export class LiveTransport implements Transport {
  private readonly baseUrl: string;
  private readonly clock: Clock;
  private readonly connections: Connections;
  private loaded: Promise<Got> | undefined;

  /** Use `openLive`, which refuses unsafe settings. */
  constructor({ profile, clock, resolve = systemLookup }: LiveParts) {
    this.baseUrl = profile.baseUrl;
    this.clock = clock;
    const lookup = buildAddressRule(profile).lookup(resolve);
    this.connections = new Connections({ baseUrl: profile.baseUrl, clock, lookup, idleMs: profile.socketIdleMs });
  }

  async send(request: WireRequest, options: LiveSendOptions): Promise<WireReply> {
    const reply = await this.exchange(request, options).catch((error: unknown) => {
      (options.connection as LiveConnection | undefined)?.destroy();
      return fail(error);
    });
    return new Promise((resolve) => this.clock.arrive(() => resolve(reply)));
  }

  connect(withinMs: number): LiveConnection | Promise<LiveConnection | WireFailure> {
    // With the module of the requests, so that the first of them does not wait for it after its last checks.
    const taken =
      this.loaded === undefined
        ? this.loadGot().then(() => this.connections.take(withinMs))
        : this.connections.take(withinMs);
    if (!(taken instanceof Promise)) return taken;
    const settled = taken.catch(fail);
    return new Promise((resolve) => void settled.then((connection) => this.clock.arrive(() => resolve(connection))));
  }

  async close(): Promise<void> {
    this.connections.close();
    await Promise.resolve();
  }

  private async exchange(request: WireRequest, options: LiveSendOptions): Promise<WireReply> {
    const { timeoutMs, headers, mayLeave = () => true } = options;
    const got = await this.loadGot();
    const body = encodeBody(request);
    const query = encodeQuery(request);
    const connection = (options.connection as LiveConnection | undefined) ?? (await this.connections.take(timeoutMs));
    const phase = Math.min(timeoutMs, PHASE_MS);
    const first = new FirstWrite(connection, mayLeave);
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
        agent: { http: connection.agent, https: connection.agent as HttpsAgent },
        decompress: true,
        followRedirect: false,
        throwHttpErrors: false,
        retry: { limit: 0 },
        timeout: { send: phase, response: timeoutMs, request: timeoutMs },
      });
      const giveUp = (message: string): void => {
        // A connection that its server gave up while the request waited for its checks says nothing of the venue.
        const isHeld = first.was === 'held' || (first.was === 'not made' && connection.isStale());
        resolve(isHeld ? HELD : { kind: 'failure', sent: first.was === 'made', message });
        stream.destroy();
        connection.destroy();
      };
      // Headers and body leave together, in one write behind the gate, in however many pieces they come.
      stream.on('request', (sent: ClientRequest) => {
        connection.socket.cork();
        sent.once('prefinish', () => connection.socket.uncork());
      });
      let status = 0;
      let answerHeaders: Readonly<Record<string, string>> = {};
      const chunks: Buffer[] = [];
      let length = 0;
      stream.on('response', (response: { statusCode: number; headers: NodeJS.Dict<string | string[]> }) => {
        status = response.statusCode;
        answerHeaders = flattenHeaders(response.headers);
        connection.heed(answerHeaders['keep-alive']);
      });
      stream.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > LARGEST_BODY) giveUp('body over 8 MiB');
        else chunks.push(chunk);
      });
      stream.once('end', () => {
        const text = decodeUtf8(Buffer.concat(chunks, length));
        if (text === undefined) giveUp('body is not UTF-8');
        else resolve({ kind: 'answer', status, headers: answerHeaders, body: text });
      });
      // Behind a 101 the request counts as over, so that no time-out ends it any more, and no answer follows.
      stream.once('upgrade', ({ headers }: { headers: NodeJS.Dict<string | string[]> }) => {
        resolve({ kind: 'answer', status: 101, headers: flattenHeaders(headers), body: '' });
        stream.destroy();
        connection.destroy();
      });
      // Never removed: an error after the promise has settled must not be unhandled.
      stream.on('error', (error) => giveUp(describeError(error)));
    });
  }

  private loadGot(): Promise<Got> {
    // Loaded with the first request: it takes 85 ms of start-up, which a dry-run does not need.
    this.loaded ??= import('got').then(({ got }) => got);
    return this.loaded;
  }
}

/**
 * Watches the first write on the connection of a request, which is the last moment at which it can be held back: what was
 * written may have been sent. A doubt counts as sent, because a second order is worse than a look-up.
 */
class FirstWrite {
  was: 'not made' | 'held' | 'made' = 'not made';

  constructor(connection: LiveConnection, mayLeave: () => boolean) {
    const { socket } = connection;
    // No call between the gate's reading of the clocks and the write waits or gives the event loop a turn.
    const decide = (write: () => void) => {
      Reflect.deleteProperty(socket, '_write');
      Reflect.deleteProperty(socket, '_writev');
      this.was = connection.isFit() && mayLeave() ? 'made' : 'held';
      if (this.was === 'made') write();
      else connection.destroy();
    };
    // Methods of the stream that the socket is: whatever HTTP does with its own buffers, no byte takes another way.
    socket._write = (...given) => decide(() => socket._write(...given));
    socket._writev = (...given) => decide(() => socket._writev?.(...given));
  }
}

/** A failure of which no byte was sent. */
function fail(error: unknown): WireFailure {
  return { kind: 'failure', sent: false, message: readCode(error) };
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
