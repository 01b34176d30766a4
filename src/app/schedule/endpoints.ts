/**
 * Serves health, readiness and metrics of the scheduler on the loopback address. Read-only: no request can change a run.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listen } from '../../base/http-server.ts';
import { refusePort } from '../errors.ts';

export interface Endpoints {
  readonly readHealth: () => Health;
  readonly readMetrics: () => Promise<{ readonly type: string; readonly text: string }>;
}

export interface Health {
  /** Why the process is unhealthy; empty when it is healthy. */
  readonly healthProblems: readonly string[];
  /** Why it would not start what falls due; empty when it would. */
  readonly obstacles: readonly string[];
  readonly accounts: Readonly<Record<string, AccountHealth>>;
}

export interface AccountHealth {
  /** `here`: this process acts for the account. `elsewhere`: another one does or will, and this one is on standby. */
  readonly served: 'here' | 'elsewhere';
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** Runs that only a person can settle. They do not make the account unready: everything else continues. */
  readonly needs_a_person: readonly { readonly run: string; readonly why: string }[];
}

export interface EndpointServer {
  readonly url: string;
  close(): Promise<void>;
}

const ADDRESS = '127.0.0.1';

/** Listens on 127.0.0.1; throws a UserError when the port is not available. */
export async function serveEndpoints(endpoints: Endpoints, port: number): Promise<EndpointServer> {
  const server = createServer((request, response) => {
    void answer(endpoints, request).then(
      (reply) => send(response, reply),
      () => send(response, jsonReply(500, { error: 'the figures could not be read' })),
    );
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;
  const bound = await listen(server, port, ADDRESS).catch((error: unknown) => refusePort(port, error));
  return {
    url: `http://${ADDRESS}:${bound}`,
    close: () => closeServer(server),
  };
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

async function answer(
  { readHealth: health, readMetrics: metrics }: Endpoints,
  request: IncomingMessage,
): Promise<Reply> {
  // A DNS name that resolves to this address must not let a web page read the answer in a browser.
  if (!/^(?:127\.0\.0\.1|localhost)(?::\d{1,5})?$/.test(request.headers.host ?? ''))
    return jsonReply(421, { error: 'use the address 127.0.0.1' });
  if (request.method !== 'GET' && request.method !== 'HEAD') return jsonReply(405, { error: 'only GET is supported' });
  switch (request.url?.split('?')[0]) {
    case '/healthz': {
      const { healthProblems: ailments } = health();
      return jsonReply(ailments.length === 0 ? 200 : 503, { healthy: ailments.length === 0, reasons: ailments });
    }
    case '/readyz': {
      const { healthProblems: ailments, obstacles, accounts } = health();
      const reasons = [...ailments, ...obstacles];
      return jsonReply(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons, accounts });
    }
    case '/metrics':
      return { status: 200, ...(await metrics()) };
    default:
      return jsonReply(404, { error: 'available: /healthz, /readyz and /metrics' });
  }
}

function jsonReply(status: number, document: object): Reply {
  return { status, type: 'application/json; charset=utf-8', text: `${JSON.stringify(document)}\n` };
}

function send(response: ServerResponse, { status, type, text }: Reply): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'",
  });
  response.end(text);
}
