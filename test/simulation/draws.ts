/**
 * Chance for the simulation's own choices: which runbook, which faults, where a process dies. Independent of the simulated
 * venue's, so that one more fault rule shifts no price. mulberry32; the same on every machine.
 */

export class Draws {
  private state: number;

  /** One stream per name of one seed. */
  constructor(seed: number, name: string) {
    let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.floor(seed / 2 ** 32);
    for (let at = 0; at < name.length; at += 1) state = Math.imul(state ^ name.charCodeAt(at), 0x01000193);
    this.state = state;
    // Neighbouring seeds begin near each other; a few rounds part them.
    for (let round = 0; round < 4; round += 1) this.next();
  }

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number, both ends possible. */
  within(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  of<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.next() * list.length)];
    if (item === undefined) throw new RangeError('nothing to draw from');
    return item;
  }

  /** One of the keys, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const rows = Object.entries(weights) as [K, number][];
    let left = this.next() * rows.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of rows) {
      left -= weight;
      if (left < 0) return key;
    }
    return (rows[rows.length - 1] as [K, number])[0];
  }
}
