/** Finds the feed of a profile that gives the price of any market, for limits that need it. */
import { parseResultPath } from './conflicts.ts';
import type { Profile, ResultShape } from './profile.ts';

export const NO_PRICE_FEED =
  'the profile has no feed that reads a price of the market it is asked for (docs/profile.md)';

/** The first feed that reads a price of the market it is asked for; undefined where the profile binds none. */
export function findPriceFeed({ feeds, requests }: Pick<Profile, 'feeds' | 'requests'>): string | undefined {
  const found = Object.entries(feeds).find(([, { request, with: given, read }]) => {
    const followsMarket = Object.values(given).some((text) => text.includes('${market}'));
    const result = Object.hasOwn(requests, request) ? requests[request]?.result : undefined;
    return followsMarket && result !== undefined && isPrice(result, parseResultPath(read).slice(1));
  });
  return found?.[0];
}

function isPrice(shape: ResultShape, path: readonly (string | number)[]): boolean {
  const [part, ...rest] = path;
  if (shape.kind === 'value') return shape.type === 'price';
  const next = shape.kind === 'record' ? shape.fields[String(part)] : shape.of;
  return part !== undefined && next !== undefined && isPrice(next, rest);
}
