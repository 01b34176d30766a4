/**
 * While an account-wide cancel is under way nothing new is sent for the account, whichever run wants it (ARCHITECTURE.md, I7):
 * an order that overtakes it on the road is one that the cancel was meant for, and one behind it is not.
 */
export class CancelAllBarrier {
  private readonly underWay = new Set<Promise<unknown>>();

  get isClosed(): boolean {
    return this.underWay.size > 0;
  }

  /** Closed until `cancelAll` has an outcome. */
  during<T>(cancelAll: Promise<T>): Promise<T> {
    const over = cancelAll.finally(() => void this.underWay.delete(over));
    this.underWay.add(over);
    return over;
  }

  /** Resolves when no cancel is under way any more. */
  async opens(): Promise<void> {
    while (this.isClosed) await Promise.allSettled(this.underWay);
  }
}
