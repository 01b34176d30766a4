import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { Secret } from '../../src/gateway/live/secret.ts';
import { buildAnchorWebhook } from '../../src/gateway/live/webhook.ts';
import type { Anchor } from '../../src/journal/anchors/anchors.ts';

const ANCHOR: Anchor = {
  v: 1,
  run: 'r1',
  seq: 12,
  head: 'ab'.repeat(32),
  count: 12,
  time: '2026-01-05T08:00:00.000Z',
  signature: 'c2lnbmVk',
};
const PATH = '/hooks/canary-of-the-address';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server that answers with these statuses, one after another, and records the requests. */
async function serveStatuses(statuses: readonly number[]) {
  const heard: unknown[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { method, url, headers } = request;
      heard.push({ method, url, type: headers['content-type'], body: JSON.parse(body) });
      response.writeHead(statuses[heard.length - 1] ?? 500, { location: '/elsewhere' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  closing.push(close);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  return { heard, close, sink: buildAnchorWebhook('anchors.copies.desk', new Secret('anchors.copies.desk', url)) };
}

const POSTED = { method: 'POST', url: PATH, type: 'application/json', body: ANCHOR };

it('posts an anchor as in the anchor file', async () => {
  const { heard, sink } = await serveStatuses([204]);
  await sink.write(ANCHOR);
  expect([sink.name, heard]).toEqual(['anchors.copies.desk', [POSTED]]);
});

it('tries once more, and counts an anchor as stored only when the server says so', async () => {
  const { heard, sink } = await serveStatuses([503, 200]);
  await sink.write(ANCHOR);
  expect(heard).toEqual([POSTED, POSTED]);
});

it.each([
  ['refuses', [500, 503], /^ERR_NON_2XX_3XX_RESPONSE$/],
  ['sends it elsewhere', [302, 307], /^REDIRECTED_307$/],
])('fails when the server %s, and follows no redirect', async (_what, statuses, why) => {
  const { heard, sink } = await serveStatuses(statuses);
  await expect(sink.write(ANCHOR)).rejects.toThrow(why);
  expect(heard).toEqual([POSTED, POSTED]);
});

it('fails when no server listens, and names no address', async () => {
  const { sink, close } = await serveStatuses([]);
  await close();
  await expect(sink.write(ANCHOR)).rejects.toThrow(/^ECONNREFUSED$/);
});
