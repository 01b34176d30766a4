/** Sends one request to an account outside any run, without lease or journal: for `kill`, `doctor`, `reconcile` and late orders. */
import { type Clock, type Metronome, pause } from '../../base/clock.ts';
import { type Exchanged, exchangeOnce, NO_SESSION } from '../../gateway/exchange.ts';
import { buildDeclaredRequests, type ListedPosition, readPositions } from '../../gateway/live/declared.ts';
import type { WireAnswer } from '../../gateway/transport.ts';
import type { EndpointName, Params } from '../../venue/catalogue.ts';
import { REPEAT_DELAYS_MS } from '../../venue/order/polling.ts';
import type { CallClass } from '../../venue/port.ts';
import type { DeclaredPositions } from '../../venue/profile/profile.ts';
import { type AnswerVerdict, type RowReading, readAnswer, type UnreadRow } from '../../venue/wire/answer.ts';
import { toWireRequest } from '../../venue/wire/request.ts';
import type { Account } from './account.ts';

export type Asked<E extends EndpointName> =
  | (AnswerVerdict<E> & { readonly tookMs: number; readonly reply: WireAnswer })
  | { readonly kind: 'unanswered'; readonly why: string; readonly sent: boolean };

/** What a request outside any run needs of an account. */
export type RequestingAccount = Pick<Account, 'budget' | 'profile' | 'session' | 'transport'> & {
  readonly clock: Clock & Metronome;
};

/**
 * Sends once; a rejected session is renewed for the next request. `tokensWithinMs`: gives up when no tokens are free within it; without
 * one, after the window of the limit. A store that does not let this user change the budget gives none.
 * `ask`: asked in front of the last gate, as the checks of a run are (reliability.md, The last gate); what it throws is thrown here.
 * `rows`: how a list is read, as a whole where nothing is given.
 */
export async function sendOnce<E extends EndpointName>(
  account: RequestingAccount,
  name: E,
  params: Params<E>,
  klass: CallClass,
  {
    tokensWithinMs = account.profile.rateLimit.windowMs,
    ask,
    rows,
  }: {
    readonly tokensWithinMs?: number;
    readonly ask?: (() => Promise<void>) | undefined;
    readonly rows?: RowReading;
  } = {},
): Promise<Asked<E>> {
  const { budget, profile } = account;
  const sent = await exchangeOnce(account, {
    tokens: () => ({
      endpoint: name,
      weight: budget.weightOf(name),
      class: klass,
      withinMs: tokensWithinMs,
    }),
    request: () => toWireRequest(name, params, profile),
    read: (answer) => readAnswer(name, answer, profile, rows),
    ...(ask === undefined
      ? {}
      : {
          checks: (phase) => (phase === 'before sending' ? [() => ask().then(() => undefined)] : []),
          flush: async () => undefined,
          staleMs: profile.gateStaleMs,
        }),
  });
  if (sent.kind !== 'answered') return describeUnanswered(account, sent);
  const { verdict, reply, times } = sent;
  return { ...verdict, tookMs: times.settledAt - times.sentAt, reply };
}

/** How long a list waits for tokens, ms. */
const LIST_TOKENS_WITHIN_MS = 10_000;

type ListEndpoint = 'GET /orders' | 'GET /fills';
type Rows<E extends ListEndpoint> = Extract<Asked<E>, { kind: 'confirmed' }>['result'];

/**
 * Reads a page, and repeats that while no answer comes or the venue is in trouble: one lost answer must not keep a run from its start.
 * Resolves to why it could not be read.
 */
export async function readRows<E extends ListEndpoint>(
  account: Account,
  name: E,
  params: Params<E>,
  delaysMs?: readonly number[],
): Promise<Rows<E> | { readonly why: string }> {
  const page = await readPage(account, name, params, { rows: 'whole', delaysMs });
  return 'why' in page ? page : page.result;
}

/** Why a page was not read. `isMissing`: the venue says that there is no such order, where one was asked for (as isFoundMissing in a run). */
interface NotRead {
  readonly why: string;
  readonly isMissing?: boolean;
}

/** As `readRows` of orders, with the rows that cannot be read beside the others: one of another program must not hide those of ours. */
export function readEachOrder(
  account: Account,
  params: Params<'GET /orders'>,
  delaysMs?: readonly number[],
): Promise<{ readonly result: Rows<'GET /orders'>; readonly unread: readonly UnreadRow[] } | NotRead> {
  return readPage(account, 'GET /orders', params, { rows: 'each', delaysMs });
}

async function readPage<E extends ListEndpoint>(
  account: Account,
  name: E,
  params: Params<E>,
  {
    rows,
    delaysMs = REPEAT_DELAYS_MS,
  }: { readonly rows: RowReading; readonly delaysMs?: readonly number[] | undefined },
): Promise<{ readonly result: Rows<E>; readonly unread: readonly UnreadRow[] } | NotRead> {
  const how = { tokensWithinMs: LIST_TOKENS_WITHIN_MS, rows };
  for (let tries = 0; ; tries += 1) {
    const asked = await sendOnce(account, name, params, 'reconcile', how);
    if (asked.kind === 'confirmed') return { result: asked.result as Rows<E>, unread: asked.unread ?? [] };
    const isRefused = asked.kind === 'refused';
    const delay = delaysMs[tries];
    // A session that was refused has been renewed for the next request.
    const mayPass = tries === 0 || !isRefused || asked.serverError || asked.retryAfterMs !== undefined;
    if (delay === undefined || !mayPass) {
      const isMissing = isRefused && asked.notFound && asked.definite;
      return { why: isRefused ? asked.text : asked.why, ...(isMissing ? { isMissing } : {}) };
    }
    const pauseMs = Math.max(delay, isRefused ? (asked.retryAfterMs ?? 0) : 0);
    await pause(account.clock, pauseMs);
  }
}

function describeUnanswered(
  { session }: Pick<Account, 'session'>,
  sent: Exclude<Exchanged<never>, { kind: 'answered' }>,
) {
  if (sent.kind === 'unanswered')
    return { kind: 'unanswered', why: sent.reply.message, sent: sent.reply.sent } as const;
  const noSession = sent.obstacle.code === NO_SESSION;
  const unsent = sent.attempted
    ? sent.obstacle.message
    : 'no tokens in time: others use them up, or the store does not take the budget';
  const why = noSession ? (session.problem ?? 'there is no session') : unsent;
  return { kind: 'unanswered', why, sent: false } as const;
}

/**
 * Asks for the positions that the profile declares, once; why they are not known, where they are not. `at`: epoch ms by the clock of the
 * venue, as the times of its fills are, and not after the reading: a fill that came later must not count as contained in it.
 */
export async function readDeclaredPositions(
  account: RequestingAccount,
  declared: DeclaredPositions,
): Promise<
  { readonly positions: ReadonlyMap<string, ListedPosition>; readonly at: number } | { readonly why: string }
> {
  const { profile } = account;
  const exchange = buildDeclaredRequests(profile)(declared.request, {});
  if ('problem' in exchange) return { why: exchange.problem };
  const sent = await exchangeOnce(account, {
    ...exchange,
    tokens: () => ({ ...exchange.tokens(), class: 'reconcile', withinMs: LIST_TOKENS_WITHIN_MS }),
  });
  if (sent.kind !== 'answered') return { why: describeUnanswered(account, sent).why };
  const { verdict, reply, times } = sent;
  if (verdict.kind !== 'confirmed')
    return { why: 'why' in verdict ? verdict.why : `it refused with status ${reply.status}` };
  const positions = readPositions(verdict.result, declared);
  if ('why' in positions) return positions;
  const date = Date.parse(reply.headers['date'] ?? '');
  return { positions, at: Number.isNaN(date) ? times.sentAt : date - (times.settledAt - times.sentAt) };
}
