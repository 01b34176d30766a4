/** One notice to one webhook, as JSON. The address is a secret: it is in no message. Never rejects. */
import type { Secret } from './secret.ts';

const NOTICE_TIMEOUT_MS = 5_000;

/** Resolves with why it was not delivered, or undefined. One further try, because a notice is worth one. */
export async function postNotice(
  webhook: Secret,
  notice: { readonly to: string; readonly text: string },
): Promise<string | undefined> {
  const { got } = await import('got');
  const body = { to: notice.to, text: notice.text.slice(0, 4000) };
  let problem: string | undefined;
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      await got.post(webhook.reveal(), {
        json: body,
        retry: { limit: 0 },
        followRedirect: false,
        timeout: { request: NOTICE_TIMEOUT_MS },
        throwHttpErrors: true,
      });
      return undefined;
    } catch (error) {
      // Only the code: the message and the request behind it hold the address.
      problem = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
    }
  }
  return problem;
}
