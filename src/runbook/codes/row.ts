/** A row of the code table: what a diagnostic's code means, for the reference and for `--help`. Holds no code itself. */
export interface CodeRow {
  readonly severity: 'error' | 'warning';
  /** What is wrong, in half a sentence. */
  readonly summary: string;
  /** How it comes about, or why it is refused. */
  readonly cause: string;
  /** A line that sets it off. */
  readonly example: string;
  /** What to do instead, in a sentence; the hint of a diagnostic that brings none of its own. */
  readonly fix: string;
}
