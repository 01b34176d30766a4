/**
 * Keeps the connections to a venue: opens them before they are needed, hands each to one request at a time, and takes it back
 * when its answer was read. Which one a request gets is chosen in idle-connections.ts. No byte is written here.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction, connect as openTcp, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as openTls } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import type { Connection } from '../transport.ts';
import { IdleConnections, IdleTime } from './idle-connections.ts';

/** TLS of every connection: certificates are always checked. */
const TLS = { minVersion: 'TLSv1.2', rejectUnauthorized: true } as const;
/** Longest time to open a connection, ms: name, TCP and TLS together. */
const OPEN_MS = 5_000;

/** Thrown where a connection could not be opened in time; its code is shown. */
class OpenTimeout extends Error {
  readonly code = 'CONNECT_TIMEOUT';
}

interface ConnectionParts {
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly lookup: LookupFunction;
  /** Longest time that a connection may be idle and still carry a request, ms. */
  readonly idleMs: number;
}

export class Connections {
  private readonly parts: ConnectionParts;
  private readonly url: URL;
  private readonly idle = new IdleConnections<LiveConnection>();
  private readonly all = new Set<LiveConnection>();
  /** Of the last TLS connection, for an abbreviated handshake of the next. */
  private session: Buffer | undefined;

  constructor(parts: ConnectionParts) {
    this.parts = parts;
    this.url = new URL(parts.baseUrl);
  }

  /** Gives a connected idle connection at once, else opens one; rejects where that fails. The caller sends or releases. */
  take(withinMs: number): LiveConnection | Promise<LiveConnection> {
    const found = this.idle.take();
    if (found === undefined) return this.open(Math.min(withinMs, OPEN_MS));
    found.socket.ref();
    return found;
  }

  close(): void {
    for (const connection of this.all) connection.destroy();
  }

  private open(withinMs: number): Promise<LiveConnection> {
    const secure = this.url.protocol === 'https:';
    const host = this.url.hostname.replace(/^\[|\]$/g, '');
    const port = this.url.port === '' ? (secure ? 443 : 80) : Number(this.url.port);
    const { lookup } = this.parts;
    // What is left of a time is rarely a whole number of ms, which is all that the signal takes.
    const timeout = AbortSignal.timeout(Math.ceil(withinMs));
    return new Promise((resolve, reject) => {
      const tls: ConnectionOptions = {
        ...TLS,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...(this.session === undefined ? {} : { session: this.session }),
      };
      const socket = secure ? openTls({ host, port, lookup, ...tls }) : openTcp({ host, port, lookup });
      const giveUp = () => socket.destroy(new OpenTimeout('the connection was not open in time'));
      timeout.addEventListener('abort', giveUp, { once: true });
      // Never removed: an idle connection that its server resets must not end the process.
      socket.on('error', reject);
      socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      if (secure) socket.on('session', (session: Buffer) => (this.session = session));
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        timeout.removeEventListener('abort', giveUp);
        socket.setNoDelay(true);
        const connection = new LiveConnection(socket, secure, this.parts, (idle) => this.idle.add(idle));
        this.all.add(connection);
        socket.once('close', () => this.all.delete(connection));
        resolve(connection);
      });
    });
  }
}

/** One connected socket, with the agent that gives it, and no other, to a request. */
export class LiveConnection implements Connection {
  readonly socket: Socket;
  readonly agent: HttpAgent;
  private readonly giveBack: (connection: LiveConnection) => void;
  private readonly idle: IdleTime;

  constructor(
    socket: Socket,
    secure: boolean,
    { clock, idleMs }: Pick<ConnectionParts, 'clock' | 'idleMs'>,
    giveBack: (connection: LiveConnection) => void,
  ) {
    this.socket = socket;
    this.idle = new IdleTime(clock, idleMs);
    this.giveBack = giveBack;
    this.agent = bindAgent(secure, socket, () => {
      this.idle.begin();
      this.giveBack(this);
    });
  }

  /** False where a request on it could be lost on the way: closed, idle for too long, or with bytes that no request asked for. */
  isFit(): boolean {
    const { socket } = this;
    const open = !socket.destroyed && socket.writable && socket.readable && socket.readableLength === 0;
    return open && !this.isStale();
  }

  /** Whether it was idle for longer than its server is expected to keep it. */
  isStale(): boolean {
    return this.idle.isOver();
  }

  /** Takes the server's word on how long it keeps the connection: `timeout=5` of the header Keep-Alive. */
  heed(keepAlive: string | undefined): void {
    this.idle.heed(keepAlive);
  }

  release(): void {
    this.socket.unref();
    if (this.isFit()) this.giveBack(this);
    else this.destroy();
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** An agent that knows one socket; `freed`: a request has ended, and another one may use it. It opens no second one. */
function bindAgent(secure: boolean, socket: Socket, freed: () => void): HttpAgent {
  // An own agent ignores HTTP_PROXY, which the runtime's default one may follow.
  const options = { keepAlive: true, maxSockets: 1 };
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
  agent.createConnection = () => {
    if (socket.destroyed) throw Object.assign(new Error('closed'), { code: 'ECONNRESET' });
    return socket;
  };
  const keep = agent.keepSocketAlive.bind(agent) as (kept: Duplex) => unknown;
  agent.keepSocketAlive = (kept) => {
    const keeps = keep(kept);
    if (keeps === true) freed();
    return keeps;
  };
  return agent;
}
