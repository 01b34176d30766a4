/** Sends a request that the profile declares: a read that the venue document does not describe, with a result of its own shape. */
import type { DataOf, Json } from '../journal/entry.ts';
import type { RequestOutcome } from '../venue/port.ts';
import { buildAttempt, endTicket, selectRateHeaders } from './call-entries.ts';
import type { ClientParts } from './client-parts.ts';
import { EXCHANGE_TIMEOUT_MS } from './transport.ts';

export interface DeclaredCall {
  /** The request's name in the profile. */
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
  /** Names the call in the journal. */
  readonly id: string;
  readonly step: string;
}

export async function sendDeclared(
  { requests, log, budget, transport, clock, session, epoch }: ClientParts,
  { name, params, id, step }: DeclaredCall,
): Promise<RequestOutcome> {
  const turn = () => new Promise<void>((resolve) => clock.arrive(resolve));
  log.append('call.intended', { call: id, endpoint: `request ${name}`, params: { ...params }, class: 'read' }, step);
  const settle = (outcome: RequestOutcome, extra: Partial<DataOf<'call.settled'>> = {}): RequestOutcome => {
    const details =
      outcome.kind === 'confirmed'
        ? { result: outcome.result as Json }
        : {
            failure: outcome.failure,
            message: outcome.message,
            ...(outcome.retryAfterMs === undefined ? {} : { retryAfterMs: outcome.retryAfterMs }),
          };
    log.append('call.settled', { call: id, kind: outcome.kind, ...details, ...extra }, step);
    return outcome;
  };
  const wired = requests?.wire(name, params) ?? { problem: `this deployment declares no request named ${name}` };
  if ('problem' in wired) {
    await turn();
    return settle(
      { kind: 'denied', failure: 'denied', message: `UNKNOWN_REQUEST: ${wired.problem}` },
      { code: 'UNKNOWN_REQUEST' },
    );
  }
  if (session !== undefined && !(await session.ready())) {
    await turn();
    return settle({ kind: 'rejected', failure: 'transport', message: 'the session could not be renewed' });
  }
  const granted = await budget.acquire({
    endpoint: `GET ${wired.request.path}`,
    weight: wired.tokens,
    class: 'read',
  });
  if (granted.kind === 'refused') {
    await turn();
    return settle(
      { kind: 'denied', failure: 'denied', message: `${granted.code}: no tokens in time` },
      { code: granted.code },
    );
  }
  const attempt = { n: 1, request: wired.request, tokens: wired.tokens, waitedMs: granted.waitedMs };
  log.append('call.attempted', buildAttempt(id, attempt, epoch), step);
  granted.ticket.sent();
  const sentAt = clock.now();
  const reply = await transport.send(wired.request, { timeoutMs: EXCHANGE_TIMEOUT_MS });
  if (reply.kind === 'failure') {
    endTicket(granted.ticket, reply);
    return settle({ kind: 'unresolved', failure: 'transport', message: reply.message }, { sentAt });
  }
  granted.ticket.answered(reply.headers, { limited: reply.status === 429 });
  const read = requests?.read(name, reply) ?? { problem: 'no reader' };
  const success = !('problem' in read) && reply.status !== 429;
  const extra = { sentAt, status: reply.status, success, headers: selectRateHeaders(reply) };
  if (reply.status === 429)
    return settle({ kind: 'rejected', failure: 'rate_limited', message: 'the rate limit is exhausted' }, extra);
  if ('problem' in read) return settle({ kind: 'unresolved', failure: 'transport', message: read.problem }, extra);
  return settle({ kind: 'confirmed', result: read.result }, extra);
}
