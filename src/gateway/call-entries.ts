/**
 * Builds the journal entries of a call: intent, attempt and outcome. Secrets are replaced by a word here, and only the listed
 * parts of an answer are kept.
 */

import type { DataOf, Json, JsonObject } from '../journal/entry.ts';
import { type EndpointName, getEndpoint } from '../venue/catalogue.ts';
import type { CallOutcome, VenueCall } from '../venue/port.ts';
import { computeDigest } from '../venue/wire/request.ts';
import type { Ticket } from './tokens/budget.ts';
import type { WireAnswer, WireReply, WireRequest } from './transport.ts';

/** Gives a call's parameters for the journal, with secrets replaced by a word. */
export function redactParams(name: EndpointName, params: object): JsonObject {
  const row = getEndpoint(name);
  return Object.fromEntries(
    Object.entries(params)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, row.parameters[key]?.secret === true ? '[redacted]' : (value as Json)]),
  );
}

/** One attempt of a call, just before it is sent. */
export interface Attempt {
  readonly n: number;
  readonly request: WireRequest;
  readonly tokens: number;
  /** How long it waited for its tokens, ms. */
  readonly waitedMs: number;
}

export function buildAttempt(
  call: string,
  { n, request, tokens, waitedMs }: Attempt,
  epoch: number,
): DataOf<'call.attempted'> {
  const secret = request.endpoint in SECRET_OF ? SECRET_OF[request.endpoint] : undefined;
  const params = Object.fromEntries(
    Object.entries(request.params).map(([key, value]) => [key, key === secret ? '[redacted]' : value.text]),
  );
  // A short secret could be guessed from its digest, so the one request that carries a secret has none.
  const digest = secret === undefined ? computeDigest(request) : '';
  return {
    call,
    n,
    method: request.method,
    path: request.path,
    params,
    digest,
    tokens,
    epoch,
    waitedMs: Math.round(waitedMs),
  };
}
const SECRET_OF: Readonly<Record<string, string>> = { 'POST /jwt': 'refresh_token' };

export function buildSettled(
  call: VenueCall,
  outcome: CallOutcome,
  reply: WireReply | undefined,
): DataOf<'call.settled'> {
  const answer = reply?.kind === 'answer' ? reply : undefined;
  const secret = call.endpoint === 'POST /jwt';
  return {
    call: call.id,
    kind: outcome.kind,
    ...(answer === undefined ? {} : { status: answer.status, headers: selectRateHeaders(answer) }),
    ...(answer === undefined ? {} : { success: outcome.kind === 'confirmed' }),
    ...(outcome.kind === 'confirmed'
      ? { result: secret ? null : (outcome.result as unknown as Json) }
      : { message: outcome.message }),
    ...(outcome.kind === 'confirmed' && outcome.notes !== undefined ? { notes: outcome.notes } : {}),
    ...(outcome.kind === 'rejected' ? { failure: outcome.failure, definite: outcome.definite } : {}),
    ...(outcome.kind === 'rejected' && outcome.retryAfterMs !== undefined
      ? { retryAfterMs: outcome.retryAfterMs }
      : {}),
    ...('code' in outcome ? { code: outcome.code } : {}),
    ...(outcome.sentAt === undefined ? {} : { sentAt: outcome.sentAt }),
  };
}

/** Selects the headers to keep: those that the token budget learns from, and the venue's clock. */
export function selectRateHeaders(answer: WireAnswer): JsonObject {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers))
    if (name.startsWith('x-ratelimit-') || name === 'retry-after' || name === 'date') kept[name] = value;
  return kept;
}

/** Returns the tokens of a request that was not sent; holds those of one that may have been. */
export function endTicket(ticket: Ticket, failure: { readonly sent: boolean }): void {
  if (failure.sent) ticket.aborted();
  else ticket.notSent();
}
