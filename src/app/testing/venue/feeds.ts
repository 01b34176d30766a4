/** Feeds from the test file; those it does not define come from the simulated venue. */
import type { Clock } from '../../../base/clock.ts';
import type { FeedSource } from '../../../gateway/client-parts.ts';
import type { Simulator } from '../../../gateway/simulator/simulator.ts';
import type { FeedPoint, FeedScript } from '../file/test-case.ts';

export function makeScriptedFeeds(
  scripts: Readonly<Record<string, FeedScript>>,
  clock: Clock,
  startMs: number,
  simulator: Pick<Simulator, 'feed'>,
): FeedSource {
  return {
    read: async (name, key) => {
      const points = findPoints(scripts, name, key);
      const keyed = key === undefined ? {} : { key };
      if (points === undefined) {
        const read = simulator.feed(name, key);
        return read === undefined ? undefined : { name, ...keyed, ...read };
      }
      const now = clock.now();
      const point = points.findLast(({ afterMs }) => startMs + afterMs <= now);
      return point?.value === undefined ? undefined : { name, ...keyed, value: point.value, at: now - point.ageMs };
    },
  };
}

/** Undefined where the test does not define the feed; a market missing from a feed by market cannot be read. */
function findPoints(
  scripts: Readonly<Record<string, FeedScript>>,
  name: string,
  key: string | undefined,
): readonly FeedPoint[] | undefined {
  const script = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
  if (script === undefined || script.kind === 'points') return script?.points;
  return key !== undefined && Object.hasOwn(script.markets, key) ? script.markets[key] : [];
}
