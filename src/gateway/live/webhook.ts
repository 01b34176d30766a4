/** Posts notices and anchors to webhooks, as JSON. The address is a secret and appears in no message. */
import type { AnchorSink } from '../../journal/anchors/anchors.ts';
import type { Secret } from './secret.ts';

const NOTICE_TIMEOUT_MS = 5_000;

/** Posts a notice, with one retry. Resolves to the reason why it was not delivered, or undefined; never rejects. */
export async function postNotice(
  webhook: Secret,
  notice: { readonly to: string; readonly text: string },
): Promise<string | undefined> {
  return postJson(webhook, { to: notice.to, text: notice.text.slice(0, 4000) });
}

/** Builds a sink that posts each anchor as JSON, as in the anchor file. */
export function buildAnchorWebhook(name: string, webhook: Secret): AnchorSink {
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
      // A redirect is not followed: its target would receive a secret address. The user must configure the new one.
      problem = `REDIRECTED_${statusCode}`;
    } catch (error) {
      // Only the code: the error's message and its request contain the address.
      problem = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
    }
  }
  return problem;
}
