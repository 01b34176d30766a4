/** Listens, closes with every connection and reads a body, for the HTTP servers of this program. */
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Gives the port on which the server listens then; 0 takes a free one. Rejects where the port cannot be used. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    // Never removed: a connection that cannot be accepted must not end the process.
    server.on('error', reject);
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Closes the server with its open connections. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Reads the whole body as text; undefined if it is longer than `mostBytes` or the client went away. */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of request) {
      length += (part as Buffer).length;
      if (length > mostBytes) return undefined;
      parts.push(part as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(parts).toString('utf8');
}
