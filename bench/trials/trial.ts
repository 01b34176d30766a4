/** One thing that is timed in a process of its own: prepared once, then run several times. */
export interface Trial {
  /** Everything that is not measured: loading, checking, building. Gives what is. */
  prepare(size: number): Promise<() => Promise<void>>;
}

export interface TrialResult {
  /** The first run in a fresh process, ms. */
  readonly coldMs: number;
  /** Median of the later runs, ms. */
  readonly warmMs: number;
  /** Resident memory after preparing, and the most there ever was, MB. */
  readonly idleMb: number;
  readonly peakMb: number;
}
