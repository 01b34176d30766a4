/**
 * Builds the journal entries of a call: intent, attempt and outcome. Secrets are replaced by a word here, and only the listed
 * parts of an answer are kept.
 */

import { mapFields } from '../base/json.ts';
import type { DataOf, DraftOf, Json, JsonObject } from '../journal/entry.ts';
import { CATALOGUE, type Endpoint, type EndpointName, getAction } from '../venue/catalogue.ts';
import type { CallOutcome, VenueCall } from '../venue/port.ts';
import { computeDigest } from '../venue/wire/request.ts';
import type { Attempt } from './exchange.ts';
import type { WireAnswer, WireReply } from './transport.ts';

/** Gives a call's parameters for the journal, with secrets replaced by a word. */
export function redactParams(name: EndpointName, params: object): JsonObject {
  const secrets = listSecrets(name);
  const given = params as Readonly<Record<string, Json | undefined>>;
  const redacted: Record<string, Json> = {};
  for (const key of Object.keys(given)) {
    const value = given[key];
    if (value !== undefined) redacted[key] = secrets.includes(key) ? '[redacted]' : value;
  }
  return redacted;
}

/** The names of the secret parameters of each endpoint; a request that the profile declares has none. */
const SECRETS = new Map(
  Object.entries<Endpoint>(CATALOGUE).map(([name, { parameters }]) => [
    name,
    Object.keys(parameters).filter((key) => parameters[key]?.secret === true),
  ]),
);

function listSecrets(endpoint: string): readonly string[] {
  return SECRETS.get(endpoint) ?? [];
}

/** `n`: counts the attempts of the call from 1. */
export function buildAttempt(
  call: string,
  n: number,
  { request, tokens, waitedMs }: Attempt,
  epoch: number,
): DataOf<'call.attempted'> {
  const secrets = listSecrets(request.endpoint);
  const params = mapFields(request.params, ({ text }, key) => (secrets.includes(key) ? '[redacted]' : text));
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
  const settled: DraftOf<'call.settled'> = {
    call: call.id,
    kind: outcome.kind,
  };
  if (answer !== undefined) {
    settled.status = answer.status;
    settled.headers = selectRateHeaders(answer);
    settled.success = outcome.kind === 'confirmed';
  }
  if (outcome.kind === 'confirmed') {
    settled.result = secret ? null : (outcome.result as unknown as Json);
    if (outcome.notes !== undefined) settled.notes = outcome.notes;
    if (outcome.leftOut !== undefined) settled.leftOut = outcome.leftOut;
    if (outcome.unread !== undefined) settled.unread = outcome.unread;
  } else settled.message = outcome.message;
  if (outcome.kind === 'rejected') {
    settled.failure = outcome.failure;
    settled.definite = outcome.definite;
    if (outcome.retryAfterMs !== undefined) settled.retryAfterMs = outcome.retryAfterMs;
  }
  if ('code' in outcome && outcome.code !== undefined) settled.code = outcome.code;
  if (outcome.sentAt !== undefined) settled.sentAt = outcome.sentAt;
  return settled;
}

/** Selects the headers to keep: those that the token budget learns from, and the venue's clock. */
export function selectRateHeaders(answer: WireAnswer): JsonObject {
  const kept: Record<string, string> = {};
  for (const name of Object.keys(answer.headers))
    if (name.startsWith('x-ratelimit-') || name === 'retry-after' || name === 'date')
      kept[name] = answer.headers[name] as string;
  return kept;
}
