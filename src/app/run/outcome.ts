/** The result of a live run as far as its journal knows it. */
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import type { Residual } from '../../report/folds/residual.ts';
import type { RunProgress, RunReport } from '../../report/folds/run.ts';
import type { Signal } from '../process.ts';

/** A run as recorded in its journal so far. */
export interface KnownRun {
  report(): RunReport;
  progress(): RunProgress;
  /** The newest request without an answer. */
  findUnanswered(): { readonly method: string; readonly path: string } | undefined;
  residual(): Residual;
}

export interface EndedRun {
  readonly report: RunReport;
  readonly residual: Residual;
  /** The signal that ended it. */
  readonly signal: Signal | undefined;
  /** Its exchanges, where recording was requested. */
  readonly recording: Fixture | undefined;
}
