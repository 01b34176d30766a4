/**
 * Holds back new orders of every run of an account while an account-wide cancel is in progress (ARCHITECTURE.md, I7). Requests
 * can overtake each other, so an order sent meanwhile might or might not be cancelled.
 */
export class CancelAllBarrier {
  private readonly inProgress = new Set<Promise<unknown>>();

  get isClosed(): boolean {
    return this.inProgress.size > 0;
  }

  /** Closes the barrier until `cancelAll` has an outcome. */
  during<T>(cancelAll: Promise<T>): Promise<T> {
    const over = cancelAll.finally(() => void this.inProgress.delete(over));
    this.inProgress.add(over);
    return over;
  }

  /** Resolves when no cancel is in progress. */
  async opens(): Promise<void> {
    while (this.isClosed) await Promise.allSettled(this.inProgress);
  }
}
