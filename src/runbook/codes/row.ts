/** A row of the code table: what a diagnostic's code means, for the reference and for `--help`. */
export interface CodeRow {
  readonly severity: 'error' | 'warning';
  /** What is wrong, in half a sentence. */
  readonly summary: string;
  /** What causes it, or why it is refused. */
  readonly cause: string;
  /** A line that causes it. */
  readonly example: string;
  /** What to do instead, in a sentence; the default hint of its diagnostics. */
  readonly fix: string;
}

export const error = (row: Omit<CodeRow, 'severity'>): CodeRow => ({ severity: 'error', ...row });
export const warning = (row: Omit<CodeRow, 'severity'>): CodeRow => ({ severity: 'warning', ...row });
