import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Secret } from '../../src/gateway/live/secret.ts';
import {
  askHeartbeat,
  buildAnchorBucket,
  buildAnchorWebhook,
  type PostOutcome,
  postNotice,
} from '../../src/gateway/live/webhook.ts';
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
      heard.push({ method, url, type: headers['content-type'], body: body === '' ? undefined : JSON.parse(body) });
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
  return { heard, close, url, sink: buildAnchorWebhook('anchors.copies.desk', new Secret('anchors.copies.desk', url)) };
}

const POSTED = { method: 'POST', url: PATH, type: 'application/json', body: ANCHOR };

it('posts an anchor as in the anchor file', async () => {
  const { heard, sink } = await serveStatuses([204]);
  await sink.write(ANCHOR);
  expect([sink.name, heard]).toEqual(['anchors.copies.desk', [POSTED]]);
});

it('puts an anchor into an object store as an object of its own, and keeps the query of the address', async () => {
  const { heard, url } = await serveStatuses([200, 403]);
  const sink = buildAnchorBucket('anchors.copies.away', new Secret('anchors.copies.away', `${url}/?sig=canary`));
  await sink.write(ANCHOR);
  const put = { ...POSTED, method: 'PUT', url: `${PATH}/20260105T080000000Z-12-abababababababab.json?sig=canary` };
  expect(heard).toEqual([put]);
  await expect(sink.write(ANCHOR)).rejects.toThrow(/^HTTP_403$/);
});

it('puts an anchor under another name where it failed: an object store may have it, and refuse to overwrite it', async () => {
  const { heard, url } = await serveStatuses([503, 503, 200, 200]);
  const sink = buildAnchorBucket('anchors.copies.away', new Secret('anchors.copies.away', url));
  await expect(sink.write(ANCHOR)).rejects.toThrow(/^HTTP_503$/);
  await sink.write(ANCHOR);
  await sink.write({ ...ANCHOR, seq: 13, count: 13 });
  const ends = heard.map((each) => /-(\d+-[^/]*)\.json$/.exec((each as { readonly url: string }).url)?.[1]);
  expect(ends).toEqual([
    '12-abababababababab',
    '12-abababababababab-1',
    '12-abababababababab-2',
    '13-abababababababab',
  ]);
});

it('tries once more, and counts an anchor as stored only when the server says so', async () => {
  const { heard, sink } = await serveStatuses([503, 200]);
  await sink.write(ANCHOR);
  expect(heard).toEqual([POSTED, POSTED]);
});

it.each([
  ['fails twice', [500, 503], /^HTTP_503$/, 2],
  ['refuses it', [404], /^HTTP_404$/, 1],
  ['sends it elsewhere', [307], /^REDIRECTED_307$/, 1],
])('fails when the server %s, and follows no redirect', async (_what, statuses, why, tries) => {
  const { heard, sink } = await serveStatuses(statuses);
  await expect(sink.write(ANCHOR)).rejects.toThrow(why);
  expect(heard).toEqual(Array(tries).fill(POSTED));
});

it.each([200, 503])('reads no body behind the status %d: one without an end is cut off at once', async (status) => {
  let written = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status);
    const write = () => {
      for (let more = true; more; written += 1) more = response.write(Buffer.alloc(65_536));
    };
    response.on('drain', write).on('error', () => {});
    write();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const isClosed = new Promise<void>((resolve) => server.on('connection', (socket) => socket.on('close', resolve)));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  const answered = await askHeartbeat(new Secret('heartbeat.url', url));
  await isClosed;
  server.close();
  expect([answered, written < 500]).toEqual([status === 200 ? undefined : 'HTTP_503', true]);
});

it('fails when a server answers 101, behind which nothing follows', async () => {
  const server = createTcp((socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n'),
    ),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => server.close(() => resolve())));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  expect(await askHeartbeat(new Secret('heartbeat.url', url))).toBe('HTTP_101');
});

it('fails when no server listens, and names no address', async () => {
  const { sink, close } = await serveStatuses([]);
  await close();
  await expect(sink.write(ANCHOR)).rejects.toThrow(/^ECONNREFUSED$/);
});

it.each([
  [204, undefined],
  [404, 'HTTP_404'],
  [503, 'HTTP_503'],
  [302, 'REDIRECTED_302'],
])('asks for a heartbeat URL once, with GET; %i comes to %s', async (status, problem) => {
  const { heard, url } = await serveStatuses([status]);
  expect(await askHeartbeat(new Secret('heartbeat.url', url))).toBe(problem);
  expect(heard).toEqual([{ method: 'GET', url: PATH, type: undefined, body: undefined }]);
});

describe('a notice is posted', () => {
  const HOOK = new Secret('notify.ops.webhook', `http://127.0.0.1:1${PATH}`);
  /** Posts to a server that answers with these outcomes, the last one for ever; each takes `tookMs`. */
  async function play(outcomes: readonly PostOutcome[], tookMs = 0) {
    const clock = new VirtualClock(0);
    const at: number[] = [];
    const within: number[] = [];
    const problem = await clock.runUntil(
      postNotice(HOOK, { text: 'one' }, clock, async (_webhook, _body, withinMs) => {
        at.push(clock.now());
        within.push(withinMs);
        const outcome = outcomes[Math.min(at.length, outcomes.length) - 1] ?? {};
        await new Promise<void>((resolve) => void clock.after(Math.min(tookMs, withinMs), resolve));
        return outcome;
      }),
    );
    return { problem, at, within, endedAt: clock.now() };
  }
  const FAILS: PostOutcome = { problem: 'HTTP_503', again: true };

  it.each<[string, readonly PostOutcome[], readonly number[], string | undefined]>([
    ['once, where it arrives', [{}], [0], undefined],
    ['again, where it fails', [FAILS, FAILS, {}], [0, 1000, 3000], undefined],
    ['four times at most', [FAILS], [0, 1000, 3000, 7000], 'HTTP_503 (4 tries)'],
    ['once, where it is refused', [{ problem: 'HTTP_404', again: false }], [0], 'HTTP_404'],
    ['as late as the server asks', [{ problem: 'HTTP_429', again: true, waitMs: 9000 }, {}], [0, 9000], undefined],
    [
      'once, where the server asks for too long',
      [{ problem: 'HTTP_429', again: true, waitMs: 60_000 }],
      [0],
      'HTTP_429',
    ],
  ])('%s', async (_what, outcomes, times, because) => {
    const { problem, at } = await play(outcomes);
    expect([problem, at]).toEqual([because, times]);
  });

  it('within 15 s, also by a server that never answers', async () => {
    const { problem, within, endedAt } = await play([{ problem: 'ETIMEDOUT', again: true }], 60_000);
    expect([problem, within, endedAt]).toEqual(['ETIMEDOUT (3 tries)', [5000, 5000, 2000], 15_000]);
  });

  it('and a failure names no address', async () => {
    const { close, url } = await serveStatuses([]);
    await close();
    const after = (_ms: number, turn: () => void) => {
      turn();
      return { cancel() {} };
    };
    const clock = { monotonic: () => 0, after };
    expect(await postNotice(new Secret('notify.ops.webhook', url), {}, clock)).toBe('ECONNREFUSED (4 tries)');
  });
});
