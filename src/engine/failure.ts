/** Turns a call's outcome into the error that a runbook can catch. */
import { type CallOutcome, STALE_INTENT } from '../venue/port.ts';
import { Halt, StepFailure } from './interruption.ts';

export function toFailure(outcome: Exclude<CallOutcome, { kind: 'confirmed' }>, step: string): StepFailure | Halt {
  switch (outcome.kind) {
    case 'denied':
      // Without a journal no further act of this run is recorded: the process that resumes it would not know, for one, that
      // the deadman switch was disarmed. The run halts and leaves everything as recorded.
      if (outcome.code === 'JOURNAL') return new Halt('denied', outcome.message, step);
      return new StepFailure('denied', outcome.message, step, outcome);
    case 'unresolved':
      // A retry would send the stale intent after all: a person decides what is wanted now.
      if (outcome.code === STALE_INTENT) return new Halt('unknown_outcome', outcome.message, step);
      return new StepFailure('transport', outcome.message, step);
    case 'rejected':
      return new StepFailure(KINDS[outcome.failure], outcome.message, step, outcome);
    default:
      return outcome satisfies never;
  }
}

/** A session that was refused twice is a failure of transport, not of the order. */
const KINDS = {
  transport: 'transport',
  rate_limited: 'rate_limited',
  rejected: 'rejected',
  not_found: 'not_found',
  duplicate: 'rejected',
  unauthorized: 'transport',
} as const;
