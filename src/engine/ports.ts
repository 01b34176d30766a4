/**
 * The ports of a run: its identity, the venue, its journal, the clock, notices and commands of people. The caller that starts
 * a run implements them; nothing here knows how one is executed.
 */
import type { Clock } from '../base/clock.ts';
import type { DataOf, EntryType, RunMode } from '../journal/entry.ts';
import type { OrderTracker } from '../journal/orders.ts';
import type { PassedRounds } from '../journal/rounds/passed-rounds.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import type { Value } from '../runbook/values.ts';
import type { VenuePort } from '../venue/port.ts';
import type { NoticeSeverity } from '../venue/profile/setting-form.ts';

/** The engine appends its entries here. `tracker` folds each entry in the sequence in which it was appended. */
export interface RunJournal {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string, actor?: string): void;
  readonly tracker: OrderTracker;
  /** Of a record that is played: rounds in it that a loop need not execute again. */
  readonly passing?: {
    /** Those that the record has next, where they are of this loop and begin with this round. */
    find(loop: string, round: number): PassedRounds | undefined;
    /** Continues behind them, at the time when the last of them ended; false where something is due or open before that. */
    move(passed: PassedRounds): boolean;
  };
}

/** A command of a person or a signal to a run under way. */
export interface OperatorCommand {
  readonly command: 'approve' | 'reject' | 'cancel' | 'kill' | 'interrupt';
  readonly by: string;
  readonly step?: string;
  readonly reason?: string;
}

export interface Notifier {
  /** Sends a message of a step. Must neither throw nor make the run wait. */
  send(to: string, text: string, step: string, severity: NoticeSeverity): void;
  /** Resolves when it is known of each message whether it arrived, which is bounded; undefined where nothing is under way. */
  settled?(): Promise<void> | undefined;
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
  /** For this long after the last attempt, ms, "not found" does not prove an order absent (profile: ambiguity.window). */
  readonly absenceHorizonMs: number;
  /** How long the fills of an order are read at most until they agree with its record, ms (profile: fills.window). */
  readonly fillsWindowMs: number;
  /** Id of the step after which the run stops (`run --until`). */
  readonly until?: string | undefined;
  /** Hash of the plan that an approver sees; an `approve` step is bound to it. */
  readonly plan: string;
}

export interface RunPorts {
  readonly venue: VenuePort;
  readonly log: RunJournal;
  readonly clock: Clock;
  readonly notifier: Notifier;
  /** Called with what was thrown where a run fails because of an internal error. */
  readonly onCrash?: (error: unknown) => void;
}
