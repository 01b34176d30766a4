/** The last stretch of the road: what a fault leaves of an answer, and what a client's transport makes of that. */
import type { WireAnswer, WireReply } from '../transport.ts';
import type { FaultRule } from './config/faults.ts';

/** What comes back over the road: an answer, perhaps crippled on the wire, or none. */
export type Delivery =
  | {
      readonly kind: 'answer';
      readonly answer: WireAnswer;
      readonly wire?: 'slow_loris' | 'truncated' | 'oversize';
    }
  | { readonly kind: 'silence' | 'reset' | 'refused' };

export const TIMED_OUT: WireReply = { kind: 'failure', sent: true, message: 'timeout: response' };

/** What is delivered where the request never got to the venue; undefined for every other fault. */
export function interceptRequest(fault: FaultRule | undefined): Delivery | undefined {
  switch (fault?.do) {
    case 'refused':
      return { kind: 'refused' };
    case 'reset_before':
      return { kind: 'reset' };
    case 'lost_before':
      return { kind: 'silence' };
    default:
      return undefined;
  }
}

export function deliverAnswer(answer: WireAnswer, fault: FaultRule | undefined): Delivery {
  switch (fault?.do) {
    case 'lost_after':
      return { kind: 'silence' };
    case 'reset_after':
      return { kind: 'reset' };
    case 'slow_loris':
    case 'truncated':
    case 'oversize':
      return { kind: 'answer', answer, wire: fault.do };
    default:
      return { kind: 'answer', answer };
  }
}

/** What a client's transport makes of a delivery; undefined where it waits until its time is up. */
export function toReply(delivery: Delivery): WireReply | undefined {
  switch (delivery.kind) {
    case 'refused':
      return { kind: 'failure', sent: false, message: 'ECONNREFUSED' };
    case 'reset':
      return { kind: 'failure', sent: true, message: 'ECONNRESET' };
    case 'silence':
      return undefined;
    case 'answer':
      if (delivery.wire === 'slow_loris') return undefined;
      if (delivery.wire === 'truncated') return { kind: 'failure', sent: true, message: 'the body ended early' };
      if (delivery.wire === 'oversize') return { kind: 'failure', sent: true, message: 'body over 8 MiB' };
      return delivery.answer;
    default:
      return delivery satisfies never;
  }
}
