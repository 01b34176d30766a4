/** Decides which of the four outcomes an answer means for its call (reliability.md, Protocol). No other module does. */
import { decimal, parseDecimal } from '../base/decimal.ts';
import { type EndpointName, getAction, type Result } from '../venue/catalogue.ts';
import { isPositionStop } from '../venue/order/context.ts';
import type { CallOutcome, OrderTerms, VenueCall } from '../venue/port.ts';
import type { PlacementAck } from '../venue/records.ts';
import type { AnswerVerdict } from '../venue/wire/answer.ts';
import type { Exchanged } from './exchange.ts';

export function decideOutcome<E extends EndpointName>(
  call: VenueCall<E>,
  sent: Exclude<Exchanged<AnswerVerdict<E>>, { kind: 'stopped' }>,
): CallOutcome<E> {
  const { times } = sent;
  if (sent.kind === 'unanswered') {
    const { message } = sent.reply;
    return sent.reply.sent
      ? { kind: 'unresolved', message, ...times }
      : { kind: 'rejected', failure: 'transport', message, definite: true, ...times };
  }
  const { verdict } = sent;
  switch (verdict.kind) {
    case 'confirmed': {
      const problem =
        getAction(call.endpoint) === 'place' && call.intent !== undefined
          ? describeMismatch(call.intent, verdict.result as Result<'POST /orders'>)
          : undefined;
      if (problem !== undefined)
        return { kind: 'unresolved', message: `the answer is about another order: ${problem}`, ...times };
      const { result, notes } = verdict;
      const { sentAt, settledAt } = times;
      return notes.length === 0
        ? { kind: 'confirmed', result, sentAt, settledAt }
        : { kind: 'confirmed', result, notes, sentAt, settledAt };
    }
    case 'refused': {
      const isPlacing = getAction(call.endpoint) === 'place';
      // A 401 comes before anything is done. Words of a session under another status decide nothing about an order.
      const isSession = sent.reply.status === 401 || verdict.definite;
      const failure = verdict.limited
        ? 'rate_limited'
        : verdict.unauthorized && (isSession || !isPlacing)
          ? 'unauthorized'
          : verdict.duplicate
            ? 'duplicate'
            : verdict.notFound
              ? 'not_found'
              : 'rejected';
      const hint = verdict.retryAfterMs === undefined ? {} : { retryAfterMs: verdict.retryAfterMs };
      // A server that answers with 5xx may not know what was done, nor one that says that a part of it failed.
      if (verdict.serverError || verdict.doubtful) return { kind: 'unresolved', message: verdict.text, ...times };
      return {
        kind: 'rejected',
        failure,
        message: verdict.text,
        definite: verdict.definite || verdict.limited || (verdict.unauthorized && isSession),
        ...hint,
        ...times,
      };
    }
    case 'unreadable':
      return { kind: 'unresolved', message: verdict.why, ...times };
    default:
      return verdict satisfies never;
  }
}

/** Describes how an acknowledgement differs from the order that was sent; undefined when it matches. */
function describeMismatch(intent: OrderTerms, acks: readonly PlacementAck[]): string | undefined {
  const [ack] = acks;
  if (ack === undefined) return 'no record';
  if (ack.client_order_id !== '' && ack.client_order_id !== intent.clientOrderId)
    return `client_order_id ${ack.client_order_id}`;
  if (ack.market_id !== intent.market) return `market_id ${ack.market_id}`;
  if (ack.side !== intent.side) return `side ${ack.side}`;
  const size = parseDecimal(ack.size);
  if (!isPositionStop(intent) && size !== undefined && !size.isZero() && !size.eq(decimal(intent.size)))
    return `size ${ack.size}`;
  return undefined;
}

/** What the journal has of a call. */
export interface CallProgress {
  attempted: boolean;
  settled: boolean;
}

/** The outcome of a call on whose way something was thrown: it may have happened, unless no attempt of it was journaled. */
export function describeThrown(error: unknown, { attempted }: CallProgress, settledAt: number) {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const message = `an internal error: ${what}`.slice(0, LONGEST_MESSAGE);
  return attempted
    ? ({ kind: 'unresolved', message, settledAt } as const)
    : ({ kind: 'rejected', failure: 'transport', message, definite: true, settledAt } as const);
}
const LONGEST_MESSAGE = 400;
