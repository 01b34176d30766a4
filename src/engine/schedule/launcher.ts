/** The port through which the scheduler starts and stops runs, and how they may end. Implemented in app/schedule. */
import type { RunOutcome } from '../../journal/entry.ts';
import type { OperatorCommand } from '../ports.ts';

export interface Launch {
  readonly run: string;
  readonly slot: string;
  readonly nominalMs: number;
}

/** Starts and finds runs. Nothing here throws: a fault of a run is how it ended. */
export interface Launcher {
  start(launch: Launch): LaunchedRun;
  /** Whether the journal holds a run of this name. */
  exists(run: string): Promise<boolean>;
}

export interface LaunchedRun {
  /** True once the journal has its first entry; false when it was refused before; undefined when that is unknown. */
  readonly begun: Promise<boolean | undefined>;
  readonly done: Promise<RunEnding>;
  /** Asks it to stop cleanly; does nothing once it has ended. */
  stop(command: OperatorCommand): void;
}

export type RunEnding =
  | { readonly kind: 'ended'; readonly outcome: RunOutcome; readonly reason?: string }
  /** Never begun: nothing was sent. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Given up by this process without an end: a person has to decide what becomes of it. */
  | { readonly kind: 'stuck'; readonly why: string }
  /** Given up by this process, which cannot write its journal: the next process of the account resumes it. */
  | { readonly kind: 'left'; readonly why: string };
