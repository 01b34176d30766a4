/** What is posted to webhooks, as JSON: notices, and anchors. The address is a secret: it is in no message. */
import type { AnchorSink } from '../../journal/anchors/anchors.ts';
import type { Secret } from './secret.ts';

const NOTICE_TIMEOUT_MS = 5_000;

/** Resolves with why it was not delivered, or undefined; never rejects. One further try, because a notice is worth one. */
export async function postNotice(
  webhook: Secret,
  notice: { readonly to: string; readonly text: string },
): Promise<string | undefined> {
  return postJson(webhook, { to: notice.to, text: notice.text.slice(0, 4000) });
}

/** A place for anchors: each is posted as JSON, as it stands in the anchor file. */
export function anchorWebhook(name: string, webhook: Secret): AnchorSink {
  return {
    name,
    async write(anchor) {
      const problem = await postJson(webhook, anchor);
      if (problem !== undefined) throw new Error(problem);
    },
  };
}

async function postJson(webhook: Secret, body: object): Promise<string | undefined> {
  const { got } = await import('got');
  let problem: string | undefined;
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      const { statusCode } = await got.post(webhook.reveal(), {
        json: body,
        retry: { limit: 0 },
        followRedirect: false,
        timeout: { request: NOTICE_TIMEOUT_MS },
        throwHttpErrors: true,
      });
      if (statusCode < 300) return undefined;
      // Nobody took it: a place that has moved must be named anew, because its address is a secret.
      problem = `REDIRECTED_${statusCode}`;
    } catch (error) {
      // Only the code: the message and the request behind it hold the address.
      problem = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
    }
  }
  return problem;
}
