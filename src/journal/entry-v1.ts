/**
 * Reads the entries that version 0.1.0 wrote: gives entries of version 1 the names of version 2. Stored lines stay unchanged, and
 * chains are verified over stored lines alone, so hashes are not affected.
 */
import type { JsonObject } from './entry.ts';

/** The last version of the package that executes runs whose entries are of version 1. */
export const LAST_WITH_V1 = '0.1.0';

const TYPES: Readonly<Record<string, string>> = {
  'clock.put': 'clock.adjusted',
  'account.recalled': 'account.late_orders',
};

/** Words that version 2 replaced, by the type of entry (its name in version 1) and the field that holds them. */
const WORDS: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  'order.moved': { event: { P_STRANGE: 'P_UNKNOWN_STATUS' } },
  'order.alarmed': { alarm: { Resurrected: 'LateOrder', StrangeStatus: 'UnknownStatus' } },
  'call.settled': {
    code: { PICTURE_STALE: 'MARKET_DATA_STALE', STEP_OVER: 'STEP_ENDED', BEATS: 'HEARTBEAT_TOKENS' },
  },
};

/** Renamed fields, by the type of entry (its name in version 1). */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'account.recalled': { resurfaced: 'late' },
};

/** Gives the version 2 name of a stored type, whichever version wrote it. */
export function toCurrentType(stored: string): string {
  return TYPES[stored] ?? stored;
}

/** Gives type and data of an entry of version 1 the names of version 2. */
export function upgradeEntry(type: string, data: JsonObject): { readonly type: string; readonly data: JsonObject } {
  return { type: toCurrentType(type), data: upgradeData(type, data) };
}

function upgradeData(type: string, data: JsonObject): JsonObject {
  const [words, fields] = [WORDS[type], FIELDS[type]];
  if (words === undefined && fields === undefined) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      fields?.[name] ?? name,
      typeof value === 'string' ? (words?.[name]?.[value] ?? value) : value,
    ]),
  );
}
