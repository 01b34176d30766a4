import { lookup } from 'node:dns';
import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { createServer as createTcp, type Socket, type Server as TcpServer } from 'node:net';
import tls, { createServer as createTls } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Clock, VirtualClock } from '../../src/base/clock.ts';
import { Connections, type LiveConnection } from '../../src/gateway/live/connections.ts';
import { LARGEST_BODY, type LiveParts, type LiveTransport, openLive } from '../../src/gateway/live/transport.ts';
import type { WireReply } from '../../src/gateway/transport.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { UNTRUSTED } from './untrusted.ts';

const PLACE = toWireRequest(
  'POST /orders',
  { market_id: 'BTC-USD', side: 'long', size: '0.1', type: 'limit', price: '64264.20' },
  SIMULATED_PROFILE,
);
const LIST = toWireRequest('GET /orders', { order_id: 'BTC-USD@7', p_limit: 10 }, SIMULATED_PROFILE);

/** A clock for real sockets: runs what arrives at once, and counts it. */
class ArrivalClock extends VirtualClock implements Clock {
  turns = 0;
  inTurn = false;
  override arrive(turn: () => void): void {
    this.turns += 1;
    this.inTurn = true;
    turn();
    setImmediate(() => {
      this.inTurn = false;
    });
  }
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function startListening<T extends Server | TcpServer>(server: T): Promise<T> {
  closing.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function readPort(server: Server | TcpServer): number {
  return (server.address() as AddressInfo).port;
}

function openTransport(baseUrl: string, parts: Partial<LiveParts> = {}): LiveTransport {
  const opened = openLive({
    profile: { baseUrl, allowedAddresses: [], socketIdleMs: 4_000 },
    clock: new ArrivalClock(0),
    variables: {},
    ...parts,
  });
  if ('problem' in opened) throw new Error(opened.problem);
  closing.push(() => void opened.transport.close());
  return opened.transport;
}

async function serve(
  handle: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<LiveTransport> {
  const server = await startListening(
    createHttp((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => handle(request, response, Buffer.concat(chunks).toString()));
    }),
  );
  return openTransport(`http://127.0.0.1:${readPort(server)}/api`);
}

/** A server that calls `talk` with its raw socket once a request begins to arrive. */
async function serveRaw(talk: (socket: Socket, requests: number) => void): Promise<LiveTransport> {
  let requests = 0;
  const server = await startListening(
    createTcp((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => {
        requests += 1;
        talk(socket, requests);
      });
    }),
  );
  return openTransport(`http://127.0.0.1:${readPort(server)}`);
}

const OPTIONS = { timeoutMs: 5_000 };

async function connectTo(transport: LiveTransport): Promise<LiveConnection> {
  const connection = await transport.connect(5_000);
  if ('kind' in connection) throw new Error(connection.message);
  return connection;
}

describe('LiveTransport, requests and answers', () => {
  it('sends the exact body with its headers and gives the complete answer', async () => {
    const seen: unknown[] = [];
    const transport = await serve((request, response, body) => {
      const { authorization, 'content-type': type, 'user-agent': agent } = request.headers;
      seen.push([request.method, request.url, body, type, authorization, agent]);
      response
        .writeHead(400, { 'content-type': 'application/json', 'X-RateLimit-Remaining': '7' })
        .end('{"success":false,"error":"é","result":[]}');
    });
    const reply = await transport.send(PLACE, { ...OPTIONS, headers: { authorization: 'Bearer t' } });
    expect(seen).toEqual([
      [
        'POST',
        '/api/orders',
        '{"market_id":"BTC-USD","price":64264.20,"side":"long","size":0.1,"type":"limit"}',
        'application/json',
        'Bearer t',
        'perp-runbook',
      ],
    ]);
    expect(reply).toMatchObject({
      kind: 'answer',
      status: 400,
      headers: { 'x-ratelimit-remaining': '7' },
      body: '{"success":false,"error":"é","result":[]}',
    });
  });

  it('puts the parameters of a GET into the query and sends no body', async () => {
    const seen: unknown[] = [];
    const transport = await serve((request, response, body) => {
      seen.push([request.method, request.url, body, request.headers['content-length']]);
      response.end('{}');
    });
    await transport.send(LIST, OPTIONS);
    expect(seen).toEqual([['GET', '/api/orders?order_id=BTC-USD%407&p_limit=10', '', undefined]]);
  });

  it('sends a body with a DELETE', async () => {
    const bodies: string[] = [];
    const transport = await serve((_, response, body) => {
      bodies.push(body);
      response.end('{}');
    });
    await transport.send(
      toWireRequest('DELETE /orders', { order_id: 'BTC-USD@7', market_id: 'BTC-USD' }, SIMULATED_PROFILE),
      OPTIONS,
    );
    await transport.send(toWireRequest('DELETE /orders/cancel_all', {}, SIMULATED_PROFILE), OPTIONS);
    expect(bodies).toEqual(['{"order_id":"BTC-USD@7","market_id":"BTC-USD"}', '{}']);
  });

  it('settles inside a turn of the clock', async () => {
    const clock = new ArrivalClock(0);
    const server = await startListening(createHttp((_, response) => response.end('{}')));
    const transport = openTransport(`http://127.0.0.1:${readPort(server)}`, { clock });
    const inTurn = await transport.send(LIST, OPTIONS).then(() => clock.inTurn);
    expect([inTurn, clock.turns]).toEqual([true, 1]);
  });

  it('unpacks gzip', async () => {
    const transport = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"success":true}')),
    );
    expect(await transport.send(LIST, OPTIONS)).toMatchObject({ kind: 'answer', body: '{"success":true}' });
  });

  it.each([[301], [302], [307], [308]])('does not follow a %i, nor repeat the request elsewhere', async (status) => {
    let requests = 0;
    const transport = await serve((_, response) => {
      requests += 1;
      response.writeHead(status, { location: '/api/elsewhere' }).end();
    });
    expect(await transport.send(PLACE, OPTIONS)).toMatchObject({ kind: 'answer', status, body: '' });
    expect(requests).toBe(1);
  });

  it.each([[500], [503], [429], [408]])('does not repeat a request that was answered with %i', async (status) => {
    let requests = 0;
    const transport = await serve((_, response) => {
      requests += 1;
      response.writeHead(status, { 'retry-after': '0' }).end('x');
    });
    expect(await transport.send(LIST, OPTIONS)).toMatchObject({ kind: 'answer', status, body: 'x' });
    expect(requests).toBe(1);
  });

  it('opens a connection within what is left of a short time, which is no whole number of ms', async () => {
    const transport = await serve((_request, response) => response.end('{}'));
    expect(await transport.send(LIST, { timeoutMs: 1_999.75 })).toMatchObject({ kind: 'answer', body: '{}' });
    const other = await serve((_request, response) => response.end('{}'));
    expect(await other.connect(1_249.5)).not.toHaveProperty('kind');
  });

  it('keeps a connection for the next request', async () => {
    const ports: (number | undefined)[] = [];
    const transport = await serve((request, response) => {
      ports.push(request.socket.remotePort);
      response.end('{}');
    });
    await transport.send(LIST, OPTIONS);
    await transport.send(LIST, OPTIONS);
    expect(ports[0]).toBe(ports[1]);
  });
});

describe('LiveTransport, idle connections', () => {
  /** A venue that has given up each connection after its first answer, without a word, as balancers do. */
  async function serveForgetful(headers: string) {
    let connections = 0;
    const server = await startListening(
      createTcp((socket) => {
        let requests = 0;
        connections += 1;
        socket.on('error', () => {});
        socket.on('data', () => {
          requests += 1;
          if (requests === 1) socket.write(`HTTP/1.1 200 OK\r\n${headers}Content-Length: 2\r\n\r\n{}`);
          else socket.resetAndDestroy();
        });
      }),
    );
    const clock = new ArrivalClock(0);
    const transport = openTransport(`http://127.0.0.1:${readPort(server)}`, { clock });
    return { clock, transport, connections: () => connections };
  }

  it.each([
    ['for longer than the setting', '', 4_001],
    ['for longer than the server keeps it, less a second', 'Keep-Alive: timeout=2\r\n', 1_001],
    ['for any time, where the server keeps it for a second', 'Keep-Alive: timeout=1\r\n', 1],
  ])('sends no request on one that was idle %s', async (_, headers, idleMs) => {
    const { clock, transport, connections } = await serveForgetful(headers);
    expect(await transport.send(LIST, OPTIONS)).toMatchObject({ kind: 'answer' });
    clock.skipTo(idleMs);
    expect(await transport.send(PLACE, OPTIONS)).toMatchObject({ kind: 'answer', status: 200 });
    expect(connections()).toBe(2);
  });

  it('reads the time of the wall clock as well: the other one is stopped while the machine sleeps', async () => {
    const { clock, transport } = await serveForgetful('');
    await transport.send(LIST, OPTIONS);
    clock.read = () => ({ monotonicMs: 0, wallMs: 3_600_000 });
    expect(await transport.send(PLACE, OPTIONS)).toMatchObject({ kind: 'answer', status: 200 });
  });

  it('uses one that was idle for less', async () => {
    const { clock, transport, connections } = await serveForgetful('');
    await transport.send(LIST, OPTIONS);
    clock.skipTo(4_000);
    expect(await transport.send(PLACE, OPTIONS)).toMatchObject({ kind: 'failure', sent: true });
    expect(connections()).toBe(1);
  });

  it('gives a request none on which bytes arrived that nothing had asked for', async () => {
    const server = await startListening(
      createTcp((socket) => void socket.on('error', () => {}).write('HTTP/1.1 408 Too Late\r\n\r\n')),
    );
    const connections = new Connections({
      baseUrl: `http://127.0.0.1:${readPort(server)}`,
      clock: new ArrivalClock(0),
      lookup: lookup as LookupFunction,
      idleMs: 4_000,
    });
    closing.push(() => connections.close());
    const first = await connections.take(5_000);
    await once(first.socket, 'readable');
    first.release();
    expect(await connections.take(5_000)).not.toBe(first);
  });
});

describe('LiveTransport, the last gate', () => {
  /** A venue over TCP or TLS that counts the bytes of each connection. */
  async function serveCounting(secure: boolean) {
    const counts: number[] = [];
    const answer = (socket: Socket) => {
      const index = counts.push(0) - 1;
      socket
        .on('error', () => {})
        .on('data', (data: Buffer) => {
          counts[index] = (counts[index] ?? 0) + data.length;
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
        });
    };
    const server = await startListening(secure ? createTls(UNTRUSTED, answer) : createTcp(answer));
    const transport = openTransport(`${secure ? 'https' : 'http'}://127.0.0.1:${readPort(server)}`);
    return { transport, counts };
  }

  it.each([[false], [true]])('lets no byte of a held request leave, however many it has (TLS: %s)', async (secure) => {
    const { createSecureContext } = tls;
    const trusting = vi
      .spyOn(tls, 'createSecureContext')
      .mockImplementation((options) => createSecureContext({ ...options, ca: UNTRUSTED.cert }));
    closing.push(() => trusting.mockRestore());
    const { transport, counts } = await serveCounting(secure);
    const connection = await connectTo(transport);
    let asked = 0;
    const mayLeave = () => {
      asked += 1;
      return false;
    };
    const large = { ...PLACE, params: { ...PLACE.params, note: { text: 'x'.repeat(300_000), as: 'text' as const } } };
    expect(await transport.send(large, { ...OPTIONS, connection, mayLeave })).toMatchObject({
      sent: false,
      held: true,
    });
    expect([asked, connection.socket.destroyed]).toEqual([1, true]);
    expect(await transport.send(PLACE, OPTIONS)).toMatchObject({ kind: 'answer' });
    expect(counts.filter((count) => count > 0)).toHaveLength(1);
    expect(Math.max(...counts)).toBeLessThan(1_000);
  });

  it('asks with the connection open, directly before the whole request is written at once', async () => {
    const transport = await serve((_, response) => response.end('{}'));
    const connection = await connectTo(transport);
    let handedOver = 0;
    const reply = transport.send(PLACE, {
      ...OPTIONS,
      connection,
      mayLeave() {
        handedOver += connection.socket.writableLength;
        return !connection.socket.connecting;
      },
    });
    expect(await reply).toMatchObject({ kind: 'answer' });
    expect([handedOver > 0, connection.socket.bytesWritten]).toEqual([true, handedOver]);
  });

  it('holds a request whose connection has become idle for too long since it was taken', async () => {
    const clock = new ArrivalClock(0);
    const server = await startListening(createHttp((_, response) => response.end('{}')));
    const transport = openTransport(`http://127.0.0.1:${readPort(server)}`, { clock });
    const connection = await connectTo(transport);
    clock.skipTo(4_001);
    expect(await transport.send(PLACE, { ...OPTIONS, connection })).toMatchObject({ sent: false, held: true });
  });

  it.each([
    ['at once', 0, { kind: 'failure', sent: false, message: 'ECONNRESET' }],
    ['when it was idle for too long', 4_001, { kind: 'failure', sent: false, held: true }],
  ])('says of a connection that was closed since it was taken, %s, what that means', async (_, idleMs, expected) => {
    const clock = new ArrivalClock(0);
    const server = await startListening(createHttp((_request, response) => response.end('{}')));
    const transport = openTransport(`http://127.0.0.1:${readPort(server)}`, { clock });
    const connection = await connectTo(transport);
    connection.socket.destroy();
    clock.skipTo(idleMs);
    expect(await transport.send(PLACE, { ...OPTIONS, connection })).toMatchObject(expected);
  });

  it('keeps a connection that was released, for the next request', async () => {
    const transport = await serve((_, response) => response.end('{}'));
    const connection = await connectTo(transport);
    connection.release();
    expect(await connectTo(transport)).toBe(connection);
  });
});

describe('LiveTransport, no answer', () => {
  const failure = (sent: boolean, message: unknown): WireReply => ({
    kind: 'failure',
    sent,
    message: message as string,
  });

  it('knows that nothing was sent where the connection was refused', async () => {
    const server = await startListening(createTcp());
    const port = readPort(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await openTransport(`http://127.0.0.1:${port}`).send(PLACE, OPTIONS)).toEqual(
      failure(false, 'ECONNREFUSED'),
    );
  });

  it('knows that nothing was sent where the name does not resolve', async () => {
    const resolve: NonNullable<LiveParts['resolve']> = (_host, _options, done) =>
      setImmediate(() => done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []));
    expect(await openTransport('https://venue.example', { resolve }).send(PLACE, OPTIONS)).toEqual(
      failure(false, 'ENOTFOUND'),
    );
  });

  it.each([
    ['10.0.0.1'],
    ['127.0.0.1'],
    ['169.254.169.254'],
    ['::1'],
    ['fd00::1'],
    ['::ffff:192.168.0.1'],
    ['0.0.0.0'],
  ])('does not connect where the name leads to %s', async (address) => {
    const resolve: NonNullable<LiveParts['resolve']> = (_host, _options, done) =>
      done(null, [
        { address: '8.8.8.8', family: 4 },
        { address, family: address.includes(':') ? 6 : 4 },
      ]);
    expect(await openTransport('https://venue.example', { resolve }).send(PLACE, OPTIONS)).toEqual(
      failure(false, 'BLOCKED_ADDRESS'),
    );
  });

  it('connects to a private address that the profile allows', async () => {
    const server = await startListening(createHttp((_, response) => response.end('{}')));
    const resolve: NonNullable<LiveParts['resolve']> = (_host, _options, done) =>
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    const profile = {
      baseUrl: `http://venue.example:${readPort(server)}`,
      allowedAddresses: ['127.0.0.0/8'],
      socketIdleMs: 4_000,
    };
    expect(await openTransport(profile.baseUrl, { profile, resolve }).send(LIST, OPTIONS)).toMatchObject({
      kind: 'answer',
      body: '{}',
    });
  });

  it('does not let localhost resolve to other addresses', async () => {
    const resolve: NonNullable<LiveParts['resolve']> = (_host, _options, done) =>
      done(null, [{ address: '8.8.8.8', family: 4 }]);
    expect(await openTransport('http://localhost:1', { resolve }).send(PLACE, OPTIONS)).toEqual(
      failure(false, 'BLOCKED_ADDRESS'),
    );
  });

  it('sends nothing to a server whose certificate is not trusted', async () => {
    const received: string[] = [];
    const server = await startListening(
      createTls(UNTRUSTED, (socket) =>
        socket.on('error', () => {}).on('data', (data) => received.push(data.toString())),
      ),
    );
    expect(await openTransport(`https://127.0.0.1:${readPort(server)}`).send(PLACE, OPTIONS)).toEqual(
      failure(false, 'DEPTH_ZERO_SELF_SIGNED_CERT'),
    );
    expect(received).toEqual([]);
  });

  it('sends nothing to a server that does not speak TLS', async () => {
    const server = await startListening(
      createTcp((socket) =>
        socket.on('error', () => {}).on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
      ),
    );
    expect(await openTransport(`https://127.0.0.1:${readPort(server)}`).send(PLACE, OPTIONS)).toMatchObject({
      sent: false,
      message: expect.stringMatching(/^(ERR_SSL_|EPROTO)/),
    });
  });

  it('cannot say that nothing was sent where the connection broke during the request', async () => {
    const transport = await serveRaw((socket) => socket.resetAndDestroy());
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'ECONNRESET'));
  });

  it('cannot say it for a reused connection either, and does not try again', async () => {
    let requests = 0;
    const transport = await serveRaw((socket, count) => {
      requests = count;
      if (count === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
      else socket.resetAndDestroy();
    });
    expect(await transport.send(LIST, OPTIONS)).toMatchObject({ kind: 'answer', body: '{}' });
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'ECONNRESET'));
    expect(requests).toBe(2);
  });

  it('treats a truncated body as no answer', async () => {
    const transport = await serveRaw((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"success":true'),
    );
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'ECONNRESET'));
  });

  it('treats chunks without an end as no answer', async () => {
    const transport = await serveRaw((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n'),
    );
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'ECONNRESET'));
  });

  it('treats a reply that is not HTTP as no answer', async () => {
    const transport = await serveRaw((socket) => socket.end('hello\r\n\r\n'));
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, expect.stringMatching(/^HPE_/)));
  });

  it('takes a 101 as an answer without a body, behind which no other follows', async () => {
    const transport = await serveRaw((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
    );
    expect(await transport.send(PLACE, OPTIONS)).toMatchObject({ kind: 'answer', status: 101, body: '' });
  });

  it('gives up on a venue that does not answer', async () => {
    const transport = await serveRaw(() => {});
    expect(await transport.send(PLACE, { timeoutMs: 500 })).toEqual(
      failure(true, expect.stringMatching(/^timeout: (response|request)$/)),
    );
  });

  it('gives up on an answer that drips', async () => {
    const transport = await serveRaw((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{'));
    expect(await transport.send(PLACE, { timeoutMs: 500 })).toEqual(failure(true, 'timeout: request'));
  });

  it('stops reading after 8 MiB', async () => {
    const transport = await serve((_, response) => response.end(Buffer.alloc(LARGEST_BODY + 1, 0x20)));
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'body over 8 MiB'));
  });

  it('stops unpacking after 8 MiB', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
    const transport = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    expect(bomb.length).toBeLessThan(100_000);
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'body over 8 MiB'));
  });

  it('treats a damaged gzip as no answer', async () => {
    const transport = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.from('not gzip')),
    );
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'Z_DATA_ERROR'));
  });

  it('treats a body that is not UTF-8 as no answer', async () => {
    const transport = await serve((_, response) => response.end(Buffer.from([0x7b, 0xff, 0x7d])));
    expect(await transport.send(PLACE, OPTIONS)).toEqual(failure(true, 'body is not UTF-8'));
  });

  it('never shows a header’s content in a message', async () => {
    const transport = await serve((_, response) => response.end('{}'));
    const reply = await transport.send(PLACE, { ...OPTIONS, headers: { authorization: 'Bearer very-secret\nx' } });
    expect(reply).toEqual(failure(false, 'ERR_INVALID_CHAR'));
  });
});

describe('openLive', () => {
  const open = (baseUrl: string, variables = {}, allowedAddresses: string[] = []) =>
    openLive({ profile: { baseUrl, allowedAddresses, socketIdleMs: 4_000 }, clock: new VirtualClock(0), variables });

  it('refuses to start where the check of certificates is switched off', () => {
    expect(open('https://venue.example', { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toEqual({
      problem: expect.stringContaining('NODE_TLS_REJECT_UNAUTHORIZED=0'),
    });
  });

  it('refuses to start where Node would print the headers of requests', () => {
    expect(open('https://venue.example', { NODE_DEBUG: 'http' })).toEqual({
      problem: expect.stringContaining('NODE_DEBUG'),
    });
    // Set to nothing it prints nothing.
    expect(open('https://venue.example', { NODE_DEBUG: '' })).not.toHaveProperty('problem');
  });

  it.each([['https://10.0.0.1'], ['https://[fd00::1]'], ['https://169.254.169.254'], ['https://0.0.0.0']])(
    'refuses the private address %s',
    (url) => {
      expect(open(url)).toHaveProperty('problem', expect.stringContaining('is not a public one'));
    },
  );

  it('accepts public addresses, loopback addresses and those that the profile allows', () => {
    for (const opened of [
      open('https://8.8.8.8'),
      open('http://127.0.0.1:1'),
      open('http://[::1]:1'),
      open('https://10.1.2.3', {}, ['10.1.0.0/16']),
    ]) {
      expect(opened).toHaveProperty('transport');
    }
  });
});
