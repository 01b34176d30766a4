/** Serves a webhook over a real socket. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `status` is its answer; `posted` holds the documents received so far. */
export async function webhook<T>(
  status: number,
  play: (url: string, posted: readonly unknown[]) => Promise<T>,
): Promise<T> {
  const posted: unknown[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (body !== '') posted.push(JSON.parse(body));
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await play(`http://127.0.0.1:${(server.address() as AddressInfo).port}/canary-address`, posted);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
