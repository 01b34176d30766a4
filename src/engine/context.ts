/**
 * What a run holds while it is executed: its identity, its ports and the few things all its steps share. Nothing here
 * decides anything; `run.ts` makes one, everything else in the engine is handed it.
 */
import type { Clock } from '../base/clock.ts';
import type { DataOf, EntryType, RunMode } from '../journal/entry.ts';
import type { OrderBook } from '../journal/orders.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import type { Value } from '../runbook/values.ts';
import type { VenuePort } from '../venue/port.ts';
import type { FeedCache } from './feeds.ts';
import type { Cancellation } from './interruption.ts';
import type { DeadmanKeeper } from './keeper.ts';
import type { OrderDesk } from './desk.ts';

/** Where the engine writes what happens; entries come back to `book` in the order they were written. */
export interface RunLog {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): void;
  readonly book: OrderBook;
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
  /** Names the plan an approver sees; an `approve` step is bound to it. */
  readonly plan: string;
}

export interface RunPorts {
  readonly venue: VenuePort;
  readonly log: RunLog;
  readonly clock: Clock;
  readonly notifier: Notifier;
}

/** The parts of one run, made by run.ts. */
export interface RunContext extends RunPorts {
  readonly setup: RunSetup;
  readonly desk: OrderDesk;
  readonly keeper: DeadmanKeeper;
  readonly feeds: FeedCache;
  readonly approvals: Approvals;
  /** Numbers the calls of a step: `<path>#<n>`, the same whenever the run is executed again. */
  callId(path: string): string;
  /** Completed steps that know how to undo themselves, oldest first. */
  readonly undos: UndoEntry[];
}

export interface UndoEntry {
  readonly path: string;
  run(cancel: Cancellation): Promise<void>;
}

export interface Approvals {
  /** Resolves with the first answer for the step; undefined when the scope is left. */
  answer(step: string, cancel: Cancellation): Promise<OperatorCommand>;
}
