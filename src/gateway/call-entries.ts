/**
 * Builds the journal entries of a call: intent, attempt and outcome. Secrets are replaced by a word here, and only the listed
 * parts of an answer are kept.
 */

import type { DataOf, Json, JsonObject } from '../journal/entry.ts';
import { type EndpointName, getAction, getEndpoint, isEndpointName } from '../venue/catalogue.ts';
import type { CallOutcome, VenueCall } from '../venue/port.ts';
import { computeDigest } from '../venue/wire/request.ts';
import type { Attempt } from './exchange.ts';
import type { WireAnswer, WireReply } from './transport.ts';

/** Gives a call's parameters for the journal, with secrets replaced by a word. */
export function redactParams(name: EndpointName, params: object): JsonObject {
  const secrets = listSecrets(name);
  return Object.fromEntries(
    Object.entries(params)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, secrets.includes(key) ? '[redacted]' : (value as Json)]),
  );
}

function listSecrets(endpoint: string): readonly string[] {
  const parameters = isEndpointName(endpoint) ? getEndpoint(endpoint).parameters : {};
  return Object.keys(parameters).filter((key) => parameters[key]?.secret === true);
}

/** `n`: counts the attempts of the call from 1. */
export function buildAttempt(
  call: string,
  n: number,
  { request, tokens, waitedMs }: Attempt,
  epoch: number,
): DataOf<'call.attempted'> {
  const secrets = listSecrets(request.endpoint);
  const params = Object.fromEntries(
    Object.entries(request.params).map(([key, value]) => [key, secrets.includes(key) ? '[redacted]' : value.text]),
  );
  // A short secret could be guessed from its digest, so a request that carries one has none.
  const digest = secrets.length === 0 ? computeDigest(request) : '';
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

export function buildSettled(
  call: VenueCall,
  outcome: CallOutcome,
  reply: WireReply | undefined,
): DataOf<'call.settled'> {
  const answer = reply?.kind === 'answer' ? reply : undefined;
  const secret = getAction(call.endpoint) === 'session';
  return {
    call: call.id,
    kind: outcome.kind,
    ...(answer === undefined ? {} : { status: answer.status, headers: selectRateHeaders(answer) }),
    ...(answer === undefined ? {} : { success: outcome.kind === 'confirmed' }),
    ...(outcome.kind === 'confirmed'
      ? { result: secret ? null : (outcome.result as unknown as Json) }
      : { message: outcome.message }),
    ...(outcome.kind === 'confirmed' && outcome.notes !== undefined ? { notes: outcome.notes } : {}),
    ...(outcome.kind === 'confirmed' && outcome.leftOut !== undefined ? { leftOut: outcome.leftOut } : {}),
    ...(outcome.kind === 'confirmed' && outcome.unread !== undefined ? { unread: outcome.unread } : {}),
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
