/**
 * The simulated venue over HTTP on the loopback address, for `runbook sim`, for people and for tests of the live
 * transport. It carries what the simulator delivers onto real sockets, faults of the wire included, and adds nothing to
 * what the venue decides. It refuses to listen anywhere but on loopback: the simulator takes any token for a good one.
 *
 * Beside the venue's own paths it serves `GET /_sim/books`, what is really so, and `PUT /_sim/faults`, a JSON list of the
 * faults from now on. Neither costs tokens or is delayed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../base/clock.ts';
import type { WireAnswer } from '../transport.ts';
import { type Delivery, type HttpRequest, readFaults, type Simulator } from './simulator.ts';

export interface SimServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  /** Ends all connections and listens no more. */
  close(): Promise<void>;
}

interface SimServerOptions {
  /** 0 takes any free port. */
  readonly port: number;
  readonly host?: '127.0.0.1' | '::1';
}

const BODY_LIMIT_BYTES = 1024 * 1024;
/** What the fault `oversize` sends before compression: far over the client's cap of 8 MiB. */
const OVERSIZE_BYTES = 64 * 1024 * 1024;
const DRIP_MS = 1000;

/** The simulator must run on a SystemClock. Rejects when the port is taken. */
export async function startSimServer(
  simulator: Simulator,
  { port, host = '127.0.0.1' }: SimServerOptions,
): Promise<SimServer> {
  const server = createServer((request, response) => void receive(simulator, request, response));
  await listen(server, port, host);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host === '::1' ? '[::1]' : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}

async function receive(simulator: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on('error', () => response.destroy());
  const body = await readBody(request);
  if (body === undefined) return sendJson(response, 413, { success: false, error: 'BODY_TOO_LARGE', result: [] });
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  if (path.startsWith('/_sim/')) return handleControl(simulator, request, path, body, response);
  const asked = { method: request.method ?? 'GET', path, query, headers: readHeaders(request), body };
  simulator.clock.arrive(() =>
    simulator.serve(asked, (delivery) => send(simulator.clock, response, delivery, asked.headers)),
  );
}

/** The whole body as text; undefined when it is too long or the client went away. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of request) {
      length += (part as Buffer).length;
      if (length > BODY_LIMIT_BYTES) return undefined;
      parts.push(part as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(parts).toString('utf8');
}

function readHeaders(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

/** Puts a delivery on the socket, or does to the socket what the fault says. */
function send(clock: Clock, response: ServerResponse, delivery: Delivery, asked: HttpRequest['headers']): void {
  if (response.destroyed || delivery.kind === 'silence') return;
  // A server that runs can not make a connection refused: the nearest it can do is to break it.
  if (delivery.kind !== 'answer') {
    response.socket?.resetAndDestroy();
    return;
  }
  const { status, headers, body } = delivery.answer;
  switch (delivery.wire) {
    case undefined:
      response.writeHead(status, headers).end(body);
      return;
    case 'truncated':
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
      response.write(body.slice(0, body.length >> 1), () => response.destroy());
      return;
    case 'slow_loris':
      drip(clock, response.writeHead(status, headers), body);
      return;
    case 'oversize':
      flood(response, delivery.answer, asked['accept-encoding'] ?? '');
      return;
    default:
      delivery.wire satisfies never;
  }
}

/** A character a second, until the client has had enough; the last one is never sent. */
function drip(clock: Clock, response: ServerResponse, body: string, from = 0): void {
  if (response.destroyed || from >= body.length - 1) return;
  response.write(body[from]);
  clock.at(clock.now() + DRIP_MS, () => drip(clock, response, body, from + 1));
}

/** A body of blanks far over any sensible size, small on the wire where the client takes gzip. */
function flood(response: ServerResponse, answer: WireAnswer, encodings: string): void {
  const compresses = encodings.includes('gzip');
  response.writeHead(answer.status, { ...answer.headers, ...(compresses ? { 'content-encoding': 'gzip' } : {}) });
  const ended = (): void => {
    response.destroy();
  };
  if (compresses) pipeline(Readable.from(generateBlanks()), createGzip(), response, ended);
  else pipeline(Readable.from(generateBlanks()), response, ended);
}

function* generateBlanks(): Generator<Buffer> {
  const part = Buffer.alloc(1024 * 1024, ' ');
  for (let sent = 0; sent < OVERSIZE_BYTES; sent += part.length) yield part;
}

function handleControl(
  simulator: Simulator,
  request: IncomingMessage,
  path: string,
  body: string,
  response: ServerResponse,
): void {
  // A page in a browser could be made to talk to loopback under another name; it can not forge this header.
  if (!isLoopback(request.headers.host)) {
    sendJson(response, 403, { problems: ['only under a loopback name'] });
  } else if (request.method === 'GET' && path === '/_sim/books') {
    simulator.clock.arrive(() => sendJson(response, 200, simulator.books()));
  } else if (request.method === 'PUT' && path === '/_sim/faults') {
    changeFaults(simulator, body, response);
  } else {
    const asked = `${request.method ?? ''} ${path}`;
    sendJson(response, 404, { problems: [`there is no ${asked}; there are GET /_sim/books and PUT /_sim/faults`] });
  }
}

function changeFaults(simulator: Simulator, body: string, response: ServerResponse): void {
  const read = parseFaults(body);
  if ('problems' in read) {
    sendJson(response, 400, read);
    return;
  }
  simulator.clock.arrive(() => {
    simulator.setFaults(read.faults);
    sendJson(response, 200, { faults: read.faults.length });
  });
}

function isLoopback(host: string | undefined): boolean {
  return host !== undefined && /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host);
}

function parseFaults(body: string): ReturnType<typeof readFaults> {
  try {
    return readFaults(JSON.parse(body));
  } catch {
    return { problems: ['the body is not JSON'] };
  }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
