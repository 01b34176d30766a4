/**
 * What the scheduler answers on the loopback address: whether it lives, whether it would start what falls due, and its
 * figures. It reads; nothing can be done to a run from here.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UserError } from '../errors.ts';

export interface Endpoints {
  readonly health: () => Health;
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>;
}

export interface Health {
  /** Why it cannot be said to live, in words; empty when it does. */
  readonly ailments: readonly string[];
  /** Why what falls due would not be started; empty when it would be. */
  readonly obstacles: readonly string[];
  readonly accounts: Readonly<Record<string, AccountHealth>>;
}

export interface AccountHealth {
  /** `here`: this process acts for the account. `elsewhere`: another does, or is to, and this one is at hand. */
  readonly seat: 'here' | 'elsewhere';
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** Runs that nobody but a person can say the end of. No reason to be called unready: everything else goes on. */
  readonly needs_a_person: readonly { readonly run: string; readonly why: string }[];
}

export interface EndpointServer {
  readonly url: string;
  close(): Promise<void>;
}

const ADDRESS = '127.0.0.1';

/** Listens on 127.0.0.1; throws a UserError when the port cannot be had. */
export async function serveEndpoints(endpoints: Endpoints, port: number): Promise<EndpointServer> {
  const server = createServer((request, response) => {
    void answer(endpoints, request).then(
      (reply) => send(response, reply),
      () => send(response, json(500, { error: 'the figures could not be read' })),
    );
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program listens there' : (error.code ?? 'unknown');
      reject(new UserError(`port ${port} of ${ADDRESS} cannot be used: ${why}; --port N takes another, 0 a free one`));
    });
    server.listen(port, ADDRESS, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${ADDRESS}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

async function answer({ health, metrics }: Endpoints, request: IncomingMessage): Promise<Reply> {
  // A name that somebody else's DNS points here must not get an answer through a browser.
  if (!/^(?:127\.0\.0\.1|localhost)(?::\d{1,5})?$/.test(request.headers.host ?? ''))
    return json(421, { error: 'ask for 127.0.0.1' });
  if (request.method !== 'GET' && request.method !== 'HEAD') return json(405, { error: 'only GET is answered' });
  switch (request.url?.split('?')[0]) {
    case '/healthz': {
      const { ailments } = health();
      return json(ailments.length === 0 ? 200 : 503, { healthy: ailments.length === 0, reasons: ailments });
    }
    case '/readyz': {
      const { ailments, obstacles, accounts } = health();
      const reasons = [...ailments, ...obstacles];
      return json(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons, accounts });
    }
    case '/metrics':
      return { status: 200, ...(await metrics()) };
    default:
      return json(404, { error: 'here are /healthz, /readyz and /metrics' });
  }
}

function json(status: number, document: object): Reply {
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
