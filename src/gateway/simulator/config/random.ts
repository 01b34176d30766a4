/**
 * Draws seeded random numbers from named streams. Each purpose has its own stream, so that one fault more or one poll less
 * never shifts the price path or the latency of another request. The generator is sfc32 on unsigned 32-bit integers, which
 * gives the same numbers on every machine.
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

  /** Opens a stream that continues: the price path of a market. */
  openStream(name: string): Stream {
    return sfc32(this.seed, name);
  }

  /** Returns the number in [0, 1) for a name and an index; it is the same at each call. */
  draw(name: string, index: number): number {
    return sfc32(this.seed, `${name}#${index}`).next();
  }

  /** Returns a whole number within the range, both ends included. */
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
  // The first values still depend on the seed in a visible way; the generator's author asks for twelve rounds.
  for (let round = 0; round < 12; round += 1) draw();
  return { next: () => draw() / 2 ** 32 };
}

/** A 32-bit hash of a name (FNV-1a with a final mix); not cryptographic. */
function hashName(text: string, start: number): number {
  let hash = (0x811c9dc5 ^ start) | 0;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
