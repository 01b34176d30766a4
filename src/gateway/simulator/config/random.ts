/**
 * Chance with a name. Every draw belongs to a named stream of its own, so that a fault more or a poll less never shifts
 * the price path or another request's latency. sfc32 on unsigned 32-bit integers: the same on every machine; `Math.random`
 * appears nowhere.
 */

/** A stream of numbers in [0, 1). */
export interface Stream {
  next(): number;
}

export class Chance {
  private readonly seed: number;

  constructor(seed: number) {
    if (!Number.isSafeInteger(seed)) throw new RangeError(`the seed must be a whole number, found ${seed}`);
    this.seed = seed;
  }

  /** A stream that lasts: the price path of a market. */
  openStream(name: string): Stream {
    return sfc32(this.seed, name);
  }

  /** The one number in [0, 1) that belongs to the `index`-th thing called `name`, whoever asks and whenever. */
  draw(name: string, index: number): number {
    return sfc32(this.seed, `${name}#${index}`).next();
  }

  /** A whole number within the range, both ends possible. */
  drawWithin(range: { readonly min: number; readonly max: number }, name: string, index: number): number {
    if (range.max <= range.min) return range.min;
    return range.min + Math.floor(this.draw(name, index) * (range.max - range.min + 1));
  }
}

function sfc32(seed: number, name: string): Stream {
  let a = hashName(name, 0x9e3779b9);
  let b = hashName(name, 0x243f6a88);
  let c = seed >>> 0;
  let counter = (Math.floor(seed / 2 ** 32) ^ 1) >>> 0;
  const draw = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  // The first values still show the seed; twelve rounds are what the generator's author asks for.
  for (let round = 0; round < 12; round += 1) draw();
  return { next: () => draw() / 2 ** 32 };
}

/** A 32-bit digest of a name (FNV-1a with a final mix); it spreads, it protects nothing. */
function hashName(text: string, start: number): number {
  let hash = (0x811c9dc5 ^ start) | 0;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
