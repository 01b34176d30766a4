/** Sends one request to an account outside any run: for `kill`, which needs no lease, and for `doctor`. Uses the token budget. */

import type { EndpointName, Params } from '../../venue/catalogue.ts';
import type { CallClass } from '../../venue/port.ts';
import { type AnswerVerdict, readAnswer } from '../../venue/wire/answer.ts';
import { toWireRequest } from '../../venue/wire/request.ts';
import type { Account } from './account.ts';

const EXCHANGE_TIMEOUT_MS = 10_000;

export type Asked<E extends EndpointName> =
  | (AnswerVerdict<E> & {
      readonly tookMs: number;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
    })
  | { readonly kind: 'unanswered'; readonly why: string; readonly sent: boolean };

/** Sends once; a rejected session is renewed for the next request. `tokensWithinMs`: gives up when no tokens are free within it. */
export async function sendOnce<E extends EndpointName>(
  account: Account,
  name: E,
  params: Params<E>,
  klass: CallClass,
  tokensWithinMs?: number,
): Promise<Asked<E>> {
  const { budget, transport, profile, session, clock } = account;
  if (!(await session.ready()))
    return { kind: 'unanswered', why: session.problem ?? 'there is no session', sent: false };
  const granted = await budget.acquire({
    endpoint: name,
    weight: budget.weightOf(name),
    class: klass,
    ...(tokensWithinMs === undefined ? {} : { deadlineAt: clock.now() + tokensWithinMs }),
  });
  if (granted.kind === 'refused') return { kind: 'unanswered', why: 'no tokens in time', sent: false };
  granted.ticket.sent();
  const askedAt = clock.monotonic();
  const reply = await transport.send(toWireRequest(name, params, profile), { timeoutMs: EXCHANGE_TIMEOUT_MS });
  if (reply.kind === 'failure') {
    if (reply.sent) granted.ticket.aborted();
    else granted.ticket.notSent();
    return { kind: 'unanswered', why: reply.message, sent: reply.sent };
  }
  const verdict = readAnswer(name, reply, profile);
  granted.ticket.answered(reply.headers, { limited: verdict.kind === 'refused' && verdict.limited });
  if (verdict.kind === 'refused' && verdict.unauthorized) await session.renew();
  return { ...verdict, tookMs: clock.monotonic() - askedAt, status: reply.status, headers: reply.headers };
}
