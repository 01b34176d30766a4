/**
 * Serves the simulated venue over HTTP on the loopback address, for `runbook sim`, for people and for tests of the live
 * transport. It sends the simulator's deliveries over real sockets, faults of the wire included. It listens only on loopback,
 * because the simulator may accept any token.
 *
 * In addition to the venue's paths it serves `GET /_sim/books`, the venue's own books, and `PUT /_sim/faults`, which replaces the
 * faults by a JSON list. Neither costs tokens or is delayed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../base/clock.ts';
import { closeServer, listen, readBody } from '../../base/http-server.ts';
import type { WireAnswer } from '../transport.ts';
import { type Delivery, type HttpRequest, readFaults, type Simulator } from './simulator.ts';

export interface SimServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  /** Closes all connections and stops listening. */
  close(): Promise<void>;
}

const BODY_LIMIT_BYTES = 1024 * 1024;
/** Size of an answer with the fault `oversize` before compression; far above the client's limit of 8 MiB. */
const OVERSIZE_BYTES = 64 * 1024 * 1024;
const DRIP_MS = 1000;

/** The simulator must run on a SystemClock. Port 0 chooses a free one. Rejects if the port is in use. */
export async function startSimServer(simulator: Simulator, { port }: { readonly port: number }): Promise<SimServer> {
  const server = createServer((request, response) => void receive(simulator, request, response));
  const bound = await listen(server, port, '127.0.0.1');
  return { url: `http://127.0.0.1:${bound}`, close: () => closeServer(server) };
}

async function receive(simulator: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on('error', () => response.destroy());
  const body = await readBody(request, BODY_LIMIT_BYTES);
  if (body === undefined) return sendJson(response, 413, { success: false, error: 'BODY_TOO_LARGE', result: [] });
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  if (path.startsWith('/_sim/')) return handleControl(simulator, request, path, body, response);
  const asked = { method: request.method ?? 'GET', path, query, headers: readHeaders(request), body };
  simulator.clock.arrive(() =>
    simulator.serve(asked, (delivery) => send(simulator.clock, response, delivery, asked.headers)),
  );
}

function readHeaders(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

/** Sends a delivery, or does to the socket what the fault demands. */
function send(clock: Clock, response: ServerResponse, delivery: Delivery, asked: HttpRequest['headers']): void {
  if (response.destroyed || delivery.kind === 'silence') return;
  // A running server cannot refuse a connection that is already open; breaking it comes closest.
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

/** Sends one character per second until the client disconnects; never sends the last one. */
function drip(clock: Clock, response: ServerResponse, body: string, from = 0): void {
  if (response.destroyed || from >= body.length - 1) return;
  response.write(body[from]);
  clock.at(clock.now() + DRIP_MS, () => drip(clock, response, body, from + 1));
}

/** Sends an oversized body of spaces, which is small on the wire if the client accepts gzip. */
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
  // A page in a browser can reach loopback under another name, but it cannot forge this header.
  if (!isLoopback(request.headers.host)) {
    sendJson(response, 403, {
      problems: ['this path is served only under a loopback name, such as 127.0.0.1 or localhost'],
    });
  } else if (request.method === 'GET' && path === '/_sim/books') {
    simulator.clock.arrive(() => sendJson(response, 200, simulator.books()));
  } else if (request.method === 'PUT' && path === '/_sim/faults') {
    changeFaults(simulator, body, response);
  } else {
    const asked = `${request.method ?? ''} ${path}`;
    sendJson(response, 404, { problems: [`unknown request ${asked}; known are GET /_sim/books and PUT /_sim/faults`] });
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
