/** Defines a trial, which is timed in a process of its own: prepared once, then run several times. */
export interface Trial {
  /** Does what is not measured (loading, checking, building) and returns the function that is. */
  prepare(size: number): Promise<() => Promise<void>>;
}

export interface TrialResult {
  /** The first run in a fresh process, ms. */
  readonly coldMs: number;
  /** Median of the later runs, ms. */
  readonly warmMs: number;
  /** Resident memory after preparing, and its maximum, MB. */
  readonly idleMb: number;
  readonly peakMb: number;
}
