/**
 * What a run is given from outside: its identity, the road to the venue, its journal, the time, people. Made by whoever
 * composes a run; nothing here knows how one is executed.
 */
import type { Clock } from '../base/clock.ts';
import type { DataOf, EntryType, RunMode } from '../journal/entry.ts';
import type { OrderTracker } from '../journal/orders.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import type { Value } from '../runbook/values.ts';
import type { VenuePort } from '../venue/port.ts';

/** Where the engine writes what happens; entries come back to `book` in the order they were written. */
export interface RunJournal {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): void;
  readonly tracker: OrderTracker;
}

/** What a person or a signal wants of a run while it goes on. */
export interface OperatorCommand {
  readonly command: 'approve' | 'reject' | 'cancel' | 'kill' | 'interrupt';
  readonly by: string;
  readonly step?: string;
  readonly reason?: string;
}

export interface Notifier {
  /** Hands a message over; must neither throw nor make the run wait. */
  send(to: string, text: string): void;
}

export interface RunSetup {
  readonly run: string;
  readonly account: string;
  readonly mode: RunMode;
  readonly runbook: CheckedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly seed: number;
  /** Epoch ms. */
  readonly startedAt: number;
  /** How long after the last attempt "not found" may not yet mean absent, ms (profile: ambiguity.window). */
  readonly absenceHorizonMs: number;
  /** Id of the step after which the run stops, where somebody asked for that. */
  readonly until?: string | undefined;
  /** Names the plan an approver sees; an `approve` step is bound to it. */
  readonly plan: string;
}

export interface RunPorts {
  readonly venue: VenuePort;
  readonly log: RunJournal;
  readonly clock: Clock;
  readonly notifier: Notifier;
}
