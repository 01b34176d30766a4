/**
 * Runs a minimal venue in a process of its own: it confirms every request at once with a record of the right kind. Prints its
 * port; answers GET /seen with the times (epoch ms) at which requests arrived.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ACCOUNT_RECORD } from './trials/account-record.ts';

const account = `{"success":true,"error":"","result":[${ACCOUNT_RECORD}]}`;
const empty = '{"success":true,"error":"","result":[]}';
const seen: { readonly method: string; readonly at: number }[] = [];

const server = createServer((request, response) => {
  const { method = '', url = '' } = request;
  const at = performance.timeOrigin + performance.now();
  request.resume().on('end', () => {
    const own = url === '/seen';
    if (!own) seen.push({ method, at });
    const body = own ? JSON.stringify(seen.splice(0)) : url.startsWith('/account') ? account : empty;
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
