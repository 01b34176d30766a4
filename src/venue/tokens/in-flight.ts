/**
 * Lists requests from the moment their tokens are held until they settle, in the order in which they began, with the marks
 * from which the ledger later derives what the venue can have counted. It counts only; ledger.ts decides.
 */
import { PassingMap } from '../../base/passing-map.ts';
import type { CostedEndpoint } from './costs.ts';

export interface InFlightRequest {
  readonly endpoint: CostedEndpoint;
  readonly weight: number;
  readonly urgent: boolean;
  /** It is a heartbeat of a deadman switch, and uses the tokens kept for heartbeats. */
  readonly heartbeat: true | undefined;
  readonly at: number;
  readonly order: number;
  /** Tokens sent in all, those of this request included; and expired in all, at that moment. */
  readonly sentMark: number;
  readonly expiredMark: number;
  /** Tokens in flight when this was sent: the venue may count them before or after it. */
  readonly overlap: number;
  /** Sent when nothing else was in flight and nothing had been sent since the last reading of the headers. */
  readonly alone: boolean;
}

/** A request that begins. */
interface Beginning
  extends Pick<InFlightRequest, 'endpoint' | 'weight' | 'urgent' | 'heartbeat' | 'at' | 'expiredMark'> {
  /** Nothing has been sent since the last reading of the headers. */
  readonly undisturbed: boolean;
}

/** A request as a saved ledger of version 1 spells it. */
type SavedRequest = Omit<InFlightRequest, 'heartbeat'> & { readonly beat?: true | undefined };

export interface SavedInFlightRequests {
  readonly sent: number;
  readonly order: number;
  readonly flights: readonly (readonly [id: string, request: SavedRequest])[];
}

export class InFlightRequests {
  /** Tokens sent in all. */
  sent = 0;
  private unsettled = 0;
  private order = 0;
  private readonly requests = new PassingMap<string, InFlightRequest>();

  get(id: string): InFlightRequest | undefined {
    return this.requests.get(id);
  }

  list(): Iterable<InFlightRequest> {
    return this.requests.values();
  }

  begin(id: string, { endpoint, weight, urgent, heartbeat, at, expiredMark, undisturbed }: Beginning): void {
    const overlap = this.unsettled;
    const alone = undisturbed && this.requests.size === 0;
    this.sent += weight;
    this.unsettled += weight;
    this.order += 1;
    const { sent: sentMark, order } = this;
    this.requests.set(id, { endpoint, weight, urgent, heartbeat, at, order, sentMark, expiredMark, overlap, alone });
  }

  /** Removes a request; undefined where it is not in flight, or not any more. */
  end(id: string): InFlightRequest | undefined {
    const request = this.requests.get(id);
    if (request === undefined) return undefined;
    this.requests.delete(id);
    this.unsettled -= request.weight;
    return request;
  }

  /** Removes the request that began first, if it began at `at` or before. */
  endOldest(at: number): InFlightRequest | undefined {
    for (const [id, request] of this.requests) return request.at > at ? undefined : this.end(id);
    return undefined;
  }

  save(): SavedInFlightRequests {
    const requests = [...this.requests].map(
      ([id, { heartbeat, ...request }]) => [id, { ...request, beat: heartbeat }] as const,
    );
    return { sent: this.sent, order: this.order, flights: requests };
  }

  restore({ sent, order, flights: saved }: SavedInFlightRequests): void {
    this.sent = sent;
    this.order = order;
    for (const [id, { beat: heartbeat, ...request }] of saved) {
      this.requests.set(id, { ...request, heartbeat });
      this.unsettled += request.weight;
    }
  }
}
