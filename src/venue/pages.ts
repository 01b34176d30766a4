/**
 * Joins the pages of a list, and finds whether the list was read to its end. A venue may ignore the number of a page and answer
 * each with the same full one: what was read until then is a part of the list, and proves nothing about the rest.
 */
import { PAGE_ROWS } from './order/requests.ts';

/** Most pages of one list, a bound on a list that never ends. */
export const MOST_PAGES = 100;

export class Pages<T extends { readonly id: string }> {
  /** Once all is read that can be: why the list has more; undefined where it is whole. */
  cut: string | undefined;
  private readonly most: number;
  private readonly records = new Map<string, T>();
  private read = 0;

  constructor(most = MOST_PAGES) {
    this.most = most;
  }

  /**
   * Takes the next page; true while another one is to be read. A record on two pages counts once: rows move while orders change.
   * `unread`: number of its rows that cannot be read; without them a full page would look like the last one.
   */
  take(page: readonly T[], unread = 0): boolean {
    const before = this.records.size;
    for (const record of page) this.records.set(record.id, record);
    this.read += 1;
    if (page.length + unread < PAGE_ROWS) return false;
    if (this.records.size === before)
      this.cut = `the venue answers page ${this.read} of a list with rows of the pages before, so that the list cannot be read beyond ${before} rows`;
    else if (this.read >= this.most)
      this.cut = `the list has more than the ${this.records.size} rows that are read of it`;
    return this.cut === undefined;
  }

  get rows(): readonly T[] {
    return [...this.records.values()];
  }
}
