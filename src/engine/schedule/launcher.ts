/** Runs as the scheduler has them: how one is started, stopped and how it may end. The doing is a port (cli/daemon-runs.ts). */
import type { RunOutcome } from '../../journal/entry.ts';
import type { OperatorCommand } from '../ports.ts';

export interface Launch {
  readonly run: string;
  readonly slot: string;
  readonly nominalMs: number;
}

/** Starts and finds runs. Nothing of it throws: what goes wrong with a run is how it ended. */
export interface Launcher {
  start(launch: Launch): LaunchedRun;
  /** Whether the journal holds a run of this name. */
  exists(run: string): Promise<boolean>;
}

export interface LaunchedRun {
  /** True once the journal has its beginning; false when it was refused before; undefined when nobody knows which. */
  readonly begun: Promise<boolean | undefined>;
  readonly done: Promise<RunEnding>;
  /** Asks it to stop in order; does nothing once it has ended. */
  stop(command: OperatorCommand): void;
}

export type RunEnding =
  | { readonly kind: 'ended'; readonly outcome: RunOutcome; readonly reason?: string }
  /** Never begun: nothing was sent. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Given up by this process without an end of its own: nobody but a person can say what is to become of it. */
  | { readonly kind: 'stuck'; readonly why: string }
  /** Given up by this process, which can not write its journal: whoever acts for the account next takes it up. */
  | { readonly kind: 'left'; readonly why: string };
