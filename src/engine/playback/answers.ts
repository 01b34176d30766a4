/** Turns recorded answers into what the `VenuePort` gives: of a call, of a declared request, of a feed. */
import type { DataOf, EntryOf } from '../../journal/entry.ts';
import type { EndpointName, Result } from '../../venue/catalogue.ts';
import type { CallOutcome, FeedValue, RejectionCause, RequestOutcome } from '../../venue/port.ts';

export function toFeedValue(data: DataOf<'feed.read'>): FeedValue | undefined {
  const { name, key, value, at } = data;
  if (value === undefined || at === undefined) return undefined;
  return { name, ...(key === undefined ? {} : { key }), value, at };
}

/** The outcome that a `call.settled` entry recorded. */
export function toOutcome(entry: EntryOf<'call.settled'>): CallOutcome {
  const { data, at } = entry;
  const times = { settledAt: at, ...(data.sentAt === undefined ? {} : { sentAt: data.sentAt }) };
  switch (data.kind) {
    case 'confirmed':
      return {
        kind: 'confirmed',
        result: data.result as unknown as Result<EndpointName>,
        ...(data.leftOut === undefined ? {} : { leftOut: data.leftOut }),
        ...(data.unread === undefined ? {} : { unread: data.unread }),
        ...times,
      };
    case 'rejected':
      return {
        kind: 'rejected',
        failure: (data.failure ?? 'rejected') as RejectionCause,
        message: data.message ?? '',
        definite: data.definite ?? true,
        ...(data.retryAfterMs === undefined ? {} : { retryAfterMs: data.retryAfterMs }),
        ...times,
      };
    case 'denied':
      return { kind: 'denied', code: data.code ?? '', message: data.message ?? '', ...times };
    case 'unresolved':
      return {
        kind: 'unresolved',
        message: data.message ?? '',
        ...(data.code === undefined ? {} : { code: data.code }),
        ...times,
      };
    default:
      return data.kind satisfies never;
  }
}

export function toRequestOutcome(entry: EntryOf<'call.settled'>): RequestOutcome {
  const { kind, message, failure, retryAfterMs, result } = entry.data;
  if (kind === 'confirmed') return { kind, result };
  return {
    kind,
    failure:
      failure === 'rate_limited' || failure === 'not_found' || failure === 'rejected'
        ? failure
        : kind === 'denied'
          ? 'denied'
          : 'transport',
    message: message ?? '',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
