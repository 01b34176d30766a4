/** How a live run ended, as far as its journal knows: what whoever waited for it is given. */
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import type { Residual } from '../../report/folds/residual.ts';
import type { RunReport } from '../../report/folds/run.ts';
import type { Signal } from '../process.ts';

/** A run as its journal knows it by now. */
export interface KnownRun {
  report(): RunReport;
  residual(): Residual;
}

export interface EndedRun {
  readonly report: RunReport;
  readonly residual: Residual;
  /** The one that ended it. */
  readonly signal: Signal | undefined;
  /** Its exchanges, where they were to be recorded. */
  readonly recording: Fixture | undefined;
}
