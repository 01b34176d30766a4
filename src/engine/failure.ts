/** From a call's outcome to the error a runbook can catch. */
import { type CallOutcome, STALE_INTENT } from '../venue/port.ts';
import { Halt, StepFailure } from './interruption.ts';

export function failureOfOutcome(
  outcome: Exclude<CallOutcome, { kind: 'confirmed' }>,
  step: string,
): StepFailure | Halt {
  switch (outcome.kind) {
    case 'denied':
      // Without a journal nothing that this run still does is on record: whoever takes it up would not know that it gave the
      // deadman switch back, for one. It halts, and leaves everything as the record has it.
      if (outcome.code === 'JOURNAL') return new Halt('denied', outcome.message, step);
      return new StepFailure('denied', outcome.message, step);
    case 'unresolved':
      // Made again by a retry it would be what it was not to be: a person says what is wanted by now.
      if (outcome.code === STALE_INTENT) return new Halt('unknown_outcome', outcome.message, step);
      return new StepFailure('transport', outcome.message, step);
    case 'rejected':
      return new StepFailure(KINDS[outcome.failure], outcome.message, step, outcome.retryAfterMs);
    default:
      return outcome satisfies never;
  }
}

/** A session that was refused twice is a road that is closed, not an order that is bad. */
const KINDS = {
  transport: 'transport',
  rate_limited: 'rate_limited',
  rejected: 'rejected',
  not_found: 'not_found',
  duplicate: 'rejected',
  unauthorized: 'transport',
} as const;
