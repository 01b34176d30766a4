/** Posts notices and anchors to webhooks, as JSON, and asks for heartbeat URLs. The address is a secret and appears in no message. */
import type { Duplex } from 'node:stream';
import { type Metronome, pause } from '../../base/clock.ts';
import type { Anchor, AnchorSink } from '../../journal/anchors/anchors.ts';
import type { Secret } from './secret.ts';

/** What became of one POST: it arrived where `problem` is absent. */
export interface PostOutcome {
  /** A code without the address, as `HTTP_503` or `ECONNREFUSED`. */
  readonly problem?: string;
  /** Whether the same POST may succeed later. */
  readonly again?: boolean;
  /** What the server asked to wait, ms. */
  readonly waitMs?: number;
}
export type Post = (webhook: Secret, body: object, withinMs: number) => Promise<PostOutcome>;

type Stopwatch = Metronome & { monotonic(): number };

const POST_TIMEOUT_MS = 5_000;
/** The end of a run waits for its notices, so all tries together are bounded. */
const NOTICE_WITHIN_MS = 15_000;
const NOTICE_PAUSES_MS = [1_000, 2_000, 4_000] as const;

/**
 * Posts the body of a notice, again after 1, 2 and 4 s where that may help, for 15 s at most. Resolves to the reason why it was
 * not delivered, or undefined; never rejects. A server whose answer was lost gets it twice, with the same `id`.
 */
export async function postNotice(
  webhook: Secret,
  body: object,
  clock: Stopwatch,
  post: Post = postJson,
): Promise<string | undefined> {
  const until = clock.monotonic() + NOTICE_WITHIN_MS;
  for (let tries = 1; ; tries += 1) {
    const left = until - clock.monotonic();
    const { problem, again = false, waitMs = 0 } = await post(webhook, body, Math.min(POST_TIMEOUT_MS, left));
    if (problem === undefined) return undefined;
    const least = NOTICE_PAUSES_MS[tries - 1];
    const wait = Math.max(least ?? 0, waitMs);
    if (!again || least === undefined || clock.monotonic() + wait >= until)
      return tries === 1 ? problem : `${problem} (${tries} tries)`;
    await pause(clock, wait);
  }
}

/** Builds a sink that posts each anchor as JSON, as in the anchor file, and once more where that may help. */
export function buildAnchorWebhook(name: string, webhook: Secret): AnchorSink {
  return {
    name,
    async write(anchor) {
      let { problem, again } = await postJson(webhook, anchor, POST_TIMEOUT_MS);
      if (again) ({ problem } = await postJson(webhook, anchor, POST_TIMEOUT_MS));
      if (problem !== undefined) throw new Error(problem);
    },
  };
}

/**
 * Builds a sink that puts each anchor into an object store, as an object of its own under the URL of a folder: a line as in the anchor
 * file. No name is used twice, so that an object store can refuse to overwrite: one whose answer was lost may have the object.
 */
export function buildAnchorBucket(name: string, folder: Secret): AnchorSink {
  let failures = 0;
  const put = async (anchor: Anchor): Promise<PostOutcome> => {
    const url = new URL(folder.reveal());
    const time = anchor.time.replace(/[^0-9TZ]/g, '');
    const object = [time, anchor.seq, anchor.head.slice(0, 16), ...(failures === 0 ? [] : [failures])].join('-');
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${object}.json`;
    const outcome = await send(
      url.href,
      { method: 'PUT', body: `${JSON.stringify(anchor)}\n`, headers: { 'content-type': 'application/json' } },
      POST_TIMEOUT_MS,
    );
    failures = outcome.problem === undefined ? 0 : failures + 1;
    return outcome;
  };
  return {
    name,
    async write(anchor) {
      let { problem, again } = await put(anchor);
      if (again) ({ problem } = await put(anchor));
      if (problem !== undefined) throw new Error(problem);
    },
  };
}

/** Asks for a heartbeat URL, once: the next time is soon. Resolves to why it did not succeed, or undefined; never rejects. */
export async function askHeartbeat(address: Secret): Promise<string | undefined> {
  return (await send(address.reveal(), { method: 'GET' }, POST_TIMEOUT_MS)).problem;
}

function postJson(webhook: Secret, body: object, withinMs: number): Promise<PostOutcome> {
  return send(webhook.reveal(), { method: 'POST', json: body }, withinMs);
}

async function send(
  address: string,
  what:
    | { readonly method: 'GET' }
    | { readonly method: 'POST'; readonly json: object }
    | { readonly method: 'PUT'; readonly body: string; readonly headers: Readonly<Record<string, string>> },
  withinMs: number,
): Promise<PostOutcome> {
  const { got } = await import('got');
  try {
    const { statusCode, headers } = await new Promise<Answered>((resolve, reject) => {
      const stream = got.stream(address, {
        ...what,
        retry: { limit: 0 },
        followRedirect: false,
        timeout: { request: withinMs },
        throwHttpErrors: false,
      });
      stream.once('error', reject);
      // The status is the whole answer: a body may have any size, or never end, and is not read.
      stream.once('response', (response: Answered) => {
        resolve(response);
        stream.destroy();
      });
      // Behind a 101 no time-out ends the request any more, and no answer follows.
      stream.once('upgrade', (_response: Answered, socket: Duplex) => {
        socket.destroy();
        reject(Object.assign(new Error('no answer follows'), { code: 'HTTP_101' }));
      });
    });
    if (statusCode < 300) return {};
    // A redirect is not followed: its target would receive a secret address. The user must configure the new one.
    if (statusCode < 400) return { problem: `REDIRECTED_${statusCode}` };
    const again = statusCode >= 500 || statusCode === 429 || statusCode === 408;
    const seconds = Number(headers['retry-after'] ?? 0);
    return { problem: `HTTP_${statusCode}`, again, waitMs: seconds > 0 ? seconds * 1000 : 0 };
  } catch (error) {
    // Only the code: the error's message and its request contain the address.
    return { problem: error instanceof Error && 'code' in error ? String(error.code) : 'failed', again: true };
  }
}

interface Answered {
  readonly statusCode: number;
  readonly headers: { readonly 'retry-after'?: string };
}
