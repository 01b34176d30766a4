/** Delivers answers to the client: applies the faults of the network and turns a delivery into the reply of a transport. */
import type { WireAnswer, WireReply } from '../transport.ts';
import type { FaultRule } from './config/faults.ts';

/** What reaches the client: an answer, possibly damaged on the wire, or none. */
export type Delivery =
  | {
      readonly kind: 'answer';
      readonly answer: WireAnswer;
      readonly wire?: 'slow_loris' | 'truncated' | 'oversize';
    }
  | { readonly kind: 'silence' | 'reset' | 'refused' };

export const TIMED_OUT: WireReply = { kind: 'failure', sent: true, message: 'timeout: response' };

/** Returns the delivery of a fault that keeps the request from the venue; undefined for every other fault. */
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

/** Converts a delivery to the reply of a client's transport; undefined if the client waits for its timeout. */
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
