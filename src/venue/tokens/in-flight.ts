/**
 * Requests from the moment their tokens are held until they settle, in the order in which they began, and the marks that
 * tell later what the venue can have counted by then. Plain counting: what follows from it is decided in budget.ts.
 */
import type { CostedEndpoint } from './costs.ts';

export interface InFlightRequest {
  readonly endpoint: CostedEndpoint;
  readonly weight: number;
  readonly urgent: boolean;
  /** It is a beat of a deadman switch, and its tokens are of those kept for beats. */
  readonly beat: true | undefined;
  readonly at: number;
  readonly order: number;
  /** Tokens sent in all, this request's among them; and expired in all, at that moment. */
  readonly sentMark: number;
  readonly expiredMark: number;
  /** Tokens under way when this was sent: the venue may count them before or after it. */
  readonly overlap: number;
  /** Sent when nothing else was under way and nothing had been sent since the venue's last word. */
  readonly alone: boolean;
}

/** What is known of a request that begins. */
interface Beginning extends Pick<InFlightRequest, 'endpoint' | 'weight' | 'urgent' | 'beat' | 'at' | 'expiredMark'> {
  /** Nothing has been sent since the venue's last word. */
  readonly undisturbed: boolean;
}

export interface SavedInFlightRequests {
  readonly sent: number;
  readonly order: number;
  readonly flights: readonly (readonly [id: string, flight: InFlightRequest])[];
}

export class InFlightRequests {
  /** Tokens sent in all. */
  sent = 0;
  private underWay = 0;
  private order = 0;
  private readonly flights = new Map<string, InFlightRequest>();

  get(id: string): InFlightRequest | undefined {
    return this.flights.get(id);
  }

  begin(id: string, { endpoint, weight, urgent, beat, at, expiredMark, undisturbed }: Beginning): void {
    const overlap = this.underWay;
    const alone = undisturbed && this.flights.size === 0;
    this.sent += weight;
    this.underWay += weight;
    this.order += 1;
    const { sent: sentMark, order } = this;
    this.flights.set(id, { endpoint, weight, urgent, beat, at, order, sentMark, expiredMark, overlap, alone });
  }

  /** Takes it out; undefined where it is not, or no longer, under way. */
  end(id: string): InFlightRequest | undefined {
    const flight = this.flights.get(id);
    if (flight === undefined) return undefined;
    this.flights.delete(id);
    this.underWay -= flight.weight;
    return flight;
  }

  /** Takes out the one that began first, where that was at `at` or before. */
  endOldest(at: number): InFlightRequest | undefined {
    for (const [id, flight] of this.flights) return flight.at > at ? undefined : this.end(id);
    return undefined;
  }

  save(): SavedInFlightRequests {
    return { sent: this.sent, order: this.order, flights: [...this.flights] };
  }

  restore({ sent, order, flights }: SavedInFlightRequests): void {
    this.sent = sent;
    this.order = order;
    for (const [id, flight] of flights) {
      this.flights.set(id, flight);
      this.underWay += flight.weight;
    }
  }
}
