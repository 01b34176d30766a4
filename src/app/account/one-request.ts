/** Sends one request to an account outside any run, without lease or journal: for `kill`, `doctor`, `reconcile` and late orders. */
import { exchangeOnce, NO_SESSION } from '../../gateway/exchange.ts';
import type { WireAnswer } from '../../gateway/transport.ts';
import type { EndpointName, Params } from '../../venue/catalogue.ts';
import type { CallClass } from '../../venue/port.ts';
import { type AnswerVerdict, readAnswer } from '../../venue/wire/answer.ts';
import { toWireRequest } from '../../venue/wire/request.ts';
import type { Account } from './account.ts';

export type Asked<E extends EndpointName> =
  | (AnswerVerdict<E> & { readonly tookMs: number; readonly reply: WireAnswer })
  | { readonly kind: 'unanswered'; readonly why: string; readonly sent: boolean };

/** Sends once; a rejected session is renewed for the next request. `tokensWithinMs`: gives up when no tokens are free within it. */
export async function sendOnce<E extends EndpointName>(
  account: Account,
  name: E,
  params: Params<E>,
  klass: CallClass,
  tokensWithinMs?: number,
): Promise<Asked<E>> {
  const { budget, profile, session, clock } = account;
  const sent = await exchangeOnce(account, {
    tokens: () => ({
      endpoint: name,
      weight: budget.weightOf(name),
      class: klass,
      deadlineAt: tokensWithinMs === undefined ? undefined : clock.now() + tokensWithinMs,
    }),
    request: () => toWireRequest(name, params, profile),
    read: (answer) => readAnswer(name, answer, profile),
  });
  if (sent.kind === 'stopped') {
    const noSession = sent.obstacle.code === NO_SESSION;
    const why = noSession ? (session.problem ?? 'there is no session') : 'no tokens in time';
    return { kind: 'unanswered', why, sent: false };
  }
  if (sent.kind === 'unanswered') return { kind: 'unanswered', why: sent.reply.message, sent: sent.reply.sent };
  const { verdict, reply, times } = sent;
  return { ...verdict, tookMs: times.settledAt - times.sentAt, reply };
}
