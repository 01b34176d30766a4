/** Sends a request that the profile declares: a read that the venue document does not describe, with a result of its own shape. */
import type { DataOf, Json } from '../journal/entry.ts';
import type { RequestOutcome } from '../venue/port.ts';
import { buildAttempt, selectRateHeaders } from './call-entries.ts';
import { type CallProgress, describeThrown } from './call-outcome.ts';
import type { ClientParts, ReadNeed } from './client-parts.ts';
import { exchangeOnce, makeObstacle, NO_SESSION, type Obstacle } from './exchange.ts';

interface DeclaredCall {
  /** The request's name in the profile. */
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
  /** Names the call in the journal. */
  readonly id: string;
  readonly step: string;
  readonly need?: ReadNeed | undefined;
}

export async function sendDeclared(
  parts: ClientParts,
  { name, params, id, step, need = {} }: DeclaredCall,
): Promise<RequestOutcome> {
  const { requests, log, clock, epoch } = parts;
  log.append('call.intended', { call: id, endpoint: `request ${name}`, params: { ...params }, class: 'read' }, step);
  const settle = (outcome: RequestOutcome, extra: Partial<DataOf<'call.settled'>>): RequestOutcome => {
    const { kind, ...details } = outcome;
    log.append('call.settled', { call: id, kind, ...(details as { result?: Json }), ...extra }, step);
    return outcome;
  };
  const deny = async ({ code, message }: Obstacle): Promise<RequestOutcome> => {
    await new Promise<void>((resolve) => clock.arrive(resolve));
    return code === NO_SESSION
      ? settle({ kind: 'rejected', failure: 'transport', message }, {})
      : settle({ kind: 'denied', failure: 'denied', message }, { code });
  };
  const declared = requests?.(name, params) ?? { problem: `this deployment declares no request named ${name}` };
  if ('problem' in declared) return deny(makeObstacle('UNKNOWN_REQUEST', declared.problem));

  const progress: CallProgress = { attempted: false, settled: false };
  const sent = await exchangeOnce(parts, {
    ...declared,
    waiting: (until) => log.append('call.waiting', { call: id, until }, step),
    tokens: () => ({ ...declared.tokens(), ...need }),
    answerMs: need.withinMs,
    attempted: (attempt) => {
      progress.attempted = true;
      log.append('call.attempted', buildAttempt(id, 1, attempt, epoch), step);
    },
  }).catch((error: unknown) => ({ kind: 'thrown', error }) as const);
  if (sent.kind === 'thrown') {
    parts.onCrash?.(sent.error);
    await new Promise<void>((resolve) => clock.arrive(resolve));
    const { kind, message } = describeThrown(sent.error, progress, clock.now());
    return settle({ kind, failure: 'transport', message }, {});
  }
  if (sent.kind === 'stopped') return deny(sent.obstacle);
  const { sentAt } = sent.times;
  if (sent.kind === 'unanswered')
    return settle({ kind: 'unresolved', failure: 'transport', message: sent.reply.message }, { sentAt });
  const { verdict, reply } = sent;
  const { status } = reply;
  const extra = { sentAt, status, success: verdict.kind === 'confirmed', headers: selectRateHeaders(reply) };
  switch (verdict.kind) {
    case 'confirmed':
      settle({ kind: 'confirmed', result: verdict.result }, extra);
      return { kind: 'confirmed', result: verdict.result, sentAt };
    case 'refused':
      return settle({ kind: 'rejected', failure: 'rate_limited', message: 'the rate limit is exhausted' }, extra);
    case 'unreadable':
      return settle({ kind: 'unresolved', failure: 'transport', message: verdict.why }, extra);
    default:
      return verdict satisfies never;
  }
}
