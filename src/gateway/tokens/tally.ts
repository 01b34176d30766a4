/** Counts the tokens that this process has sent: the total, and the most within one window. */
export class BudgetTally {
  tokens = 0;
  peak = 0;
  private readonly windowMs: number;
  private recent: { readonly at: number; readonly weight: number }[] = [];
  private from = 0;
  private inWindow = 0;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  add(weight: number, at: number): void {
    for (
      let first = this.recent[this.from];
      first !== undefined && first.at <= at - this.windowMs;
      first = this.recent[this.from]
    ) {
      this.inWindow -= first.weight;
      this.from += 1;
    }
    if (this.from > 1024) {
      this.recent = this.recent.slice(this.from);
      this.from = 0;
    }
    this.recent.push({ at, weight });
    this.tokens += weight;
    this.inWindow += weight;
    this.peak = Math.max(this.peak, this.inWindow);
  }
}
