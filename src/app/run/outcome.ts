/** The result of a live run as far as its journal knows it. */
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import type { ReportSource } from '../../report/export/run-report.ts';
import type { Residual } from '../../report/folds/residual.ts';
import type { RunProgress } from '../../report/folds/run.ts';
import type { Signal } from '../process.ts';

/** A run as recorded in its journal so far. */
export interface KnownRun {
  progress(): RunProgress;
  /** The newest request without an answer. */
  findUnanswered(): { readonly method: string; readonly path: string } | undefined;
  residual(): Residual;
}

export interface EndedRun {
  /** Its report, of which the steps and requests are read from its journal: while the account is open. */
  readonly source: ReportSource;
  readonly residual: Residual;
  /** The signal that ended it. */
  readonly signal: Signal | undefined;
  /** Its exchanges, where recording was requested. */
  readonly recording: Fixture | undefined;
}
