/**
 * A map of what is under way, whose entries come and go for as long as the process runs. V8 lets the table of a Map lead to the one that
 * replaced it, so that a table in which entries come and go makes a chain that only a full collection frees (docs/design/long-runs.md,
 * Maps that are emptied). This one is made anew when as many entries have gone as are left, and no fewer than a few: each costs the
 * same, however many there are.
 */
/** With fewer, a map of one entry would be made anew each time that it is emptied; a chain of a few tables holds next to nothing. */
const FEWEST_GONE = 32;

export class PassingMap<K, V> implements Iterable<[K, V]> {
  private entries = new Map<K, V>();
  private gone = 0;

  get size(): number {
    return this.entries.size;
  }

  get(key: K): V | undefined {
    return this.entries.get(key);
  }

  has(key: K): boolean {
    return this.entries.has(key);
  }

  set(key: K, value: V): void {
    this.entries.set(key, value);
  }

  /** Not to be called while it is iterated over. */
  delete(key: K): void {
    if (!this.entries.delete(key)) return;
    this.gone += 1;
    if (this.gone < Math.max(this.entries.size, FEWEST_GONE)) return;
    this.entries = new Map(this.entries);
    this.gone = 0;
  }

  values(): IterableIterator<V> {
    return this.entries.values();
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.entries[Symbol.iterator]();
  }
}
