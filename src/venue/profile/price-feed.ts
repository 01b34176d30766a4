/** Finds the feed of a profile that gives the price of any market, for limits that need it. */
import { parseResultPath } from './conflicts.ts';
import type { Profile, ResultShape } from './profile.ts';

export const NO_PRICE_FEED =
  'the profile has no feed that reads a price of the market it is asked for (docs/profile.md)';

/** The first feed that reads a price of the market it is asked for; undefined where the profile binds none. */
export function findPriceFeed({ feeds, requests }: Pick<Profile, 'feeds' | 'requests'>): string | undefined {
  const found = Object.entries(feeds).find(([name, { request, read }]) => {
    const result = Object.hasOwn(requests, request) ? requests[request]?.result : undefined;
    return followsMarket({ feeds }, name) && result !== undefined && isPrice(result, parseResultPath(read).slice(1));
  });
  return found?.[0];
}

/** Whether a feed of the profile is asked for the market that a runbook reads it of. */
export function followsMarket({ feeds }: Pick<Profile, 'feeds'>, name: string): boolean {
  const given = Object.hasOwn(feeds, name) ? feeds[name]?.with : undefined;
  return Object.values(given ?? {}).some((text) => text.includes('${market}'));
}

function isPrice(shape: ResultShape, path: readonly (string | number)[]): boolean {
  const [part, ...rest] = path;
  if (shape.kind === 'value') return shape.type === 'price';
  const next = shape.kind === 'record' ? shape.fields[String(part)] : shape.of;
  return part !== undefined && next !== undefined && isPrice(next, rest);
}
