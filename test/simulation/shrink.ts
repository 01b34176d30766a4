/** Finds the smallest world that shows what a drawn one shows: leaves out its parts for as long as it does. */
import { type DrawnName, drawnWorld } from './drawn-world.ts';
import { breachesOf } from './invariants.ts';
import { simulate } from './world.ts';

/** Worlds that are tried at most. */
const MOST_TRIES = 400;

/** The same world with as few parts as `shows` allows, which is asked of the numbers of the parts that are left out. */
export async function shrink(
  { drawn, without: before = [] }: DrawnName,
  shows: (without: ReadonlySet<number>) => Promise<boolean>,
): Promise<DrawnName> {
  const parts = drawnWorld({ drawn, without: before })?.parts ?? 0;
  let without: ReadonlySet<number> = new Set(before);
  let tries = 0;
  for (let chunk = Math.ceil(parts / 2); chunk >= 1; chunk = chunk === 1 ? 0 : Math.ceil(chunk / 2)) {
    for (let from = 0; from < parts && tries < MOST_TRIES; from += chunk) {
      const added = Array.from({ length: Math.min(chunk, parts - from) }, (_, index) => from + index);
      if (added.every((part) => without.has(part))) continue;
      const leftOut = new Set([...without, ...added]);
      tries += 1;
      if (await shows(leftOut)) without = leftOut;
    }
  }
  return { drawn, without: [...without].sort((a, b) => a - b) };
}

/** The smallest world in which one of these invariants is still broken. */
export function shrinkBreach(world: DrawnName, invariants: readonly string[]): Promise<DrawnName> {
  return shrink(world, async (leftOut) => {
    const name = { drawn: world.drawn, without: [...leftOut] };
    if (drawnWorld(name) === undefined) return false;
    const breaches = await breachesOf(await simulate(name));
    return breaches.some(({ invariant }) => invariants.includes(invariant));
  });
}

/** `1-3,7` */
export function writeParts(parts: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const part of parts) {
    const last = ranges.at(-1);
    if (last?.[1] === part - 1) last[1] = part;
    else ranges.push([part, part]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

/** Undefined where the text is no list of numbers and ranges. */
export function readParts(text: string): readonly number[] | undefined {
  if (!/^\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*$/.test(text)) return undefined;
  return text.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  });
}
