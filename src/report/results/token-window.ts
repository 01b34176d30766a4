/** Counts the tokens that were spent within a span of time before each request. */
export class TokenWindow {
  private readonly windowMs: number;
  private spent: { readonly at: number; readonly tokens: number }[] = [];
  private oldest = 0;
  private sum = 0;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  /** The tokens within the window that ends with this request, which is half open: one exactly a window ago is out of it. */
  add(at: number, tokens: number): number {
    this.sum += tokens;
    this.spent.push({ at, tokens });
    for (
      let first = this.spent[this.oldest];
      first !== undefined && first.at <= at - this.windowMs;
      first = this.spent[this.oldest]
    ) {
      this.sum -= first.tokens;
      this.oldest += 1;
    }
    if (this.oldest > 1000) {
      this.spent = this.spent.slice(this.oldest);
      this.oldest = 0;
    }
    return this.sum;
  }
}
