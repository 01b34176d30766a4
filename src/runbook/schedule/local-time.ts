/**
 * Computes the local time of a zone: its clock changes, the stretches between them, and the local time of an instant. Finds
 * the changes by comparing the offset of each day, so that it does not depend on a library's choice for a time that exists
 * twice or not at all.
 */
import { loadLuxon } from '../calendar.ts';

/** A clock change: forward (a gap in local time) or back (an overlap). */
export interface ZoneChange {
  readonly atMs: number;
  /** Local time minus UTC. */
  readonly offsetBeforeMs: number;
  readonly offsetAfterMs: number;
}

/** A stretch of time with one offset; the end is exclusive. */
export interface ZoneStretch {
  readonly startMs: number;
  readonly endMs: number;
  readonly offsetMs: number;
}

const DAY_MS = 86_400_000;

/** The stretches of `zone` from `fromMs` to `toMs`, ascending and without gaps; computed lazily. */
export function* listZoneStretches(
  zone: string,
  fromMs: number,
  toMs: number,
): Generator<ZoneStretch, void, undefined> {
  let startMs = fromMs;
  let offsetMs = readZoneOffsetMs(zone, fromMs);
  for (const change of findChangesFrom(zone, fromMs, toMs)) {
    yield { startMs, endMs: change.atMs, offsetMs };
    startMs = change.atMs;
    offsetMs = change.offsetAfterMs;
  }
  if (startMs < toMs) yield { startMs, endMs: toMs, offsetMs };
}

/** The changes of `zone` after `fromMs` and before `toMs`. */
export function listZoneChanges(zone: string, fromMs: number, toMs: number): readonly ZoneChange[] {
  return [...findChangesFrom(zone, fromMs, toMs)];
}

function* findChangesFrom(zone: string, fromMs: number, toMs: number): Generator<ZoneChange, void, undefined> {
  for (let year = new Date(fromMs).getUTCFullYear(); Date.UTC(year) < toMs; year += 1) {
    for (const change of findChangesOfYear(zone, year)) if (change.atMs > fromMs && change.atMs < toMs) yield change;
  }
}

/** Cached: a year takes 365 lookups of some microseconds each, and the result cannot change while the process runs. */
const known = new Map<string, readonly ZoneChange[]>();

function findChangesOfYear(zone: string, year: number): readonly ZoneChange[] {
  const key = `${zone} ${year}`;
  let changes = known.get(key);
  if (changes === undefined) {
    changes = searchYear(zone, year);
    known.set(key, changes);
  }
  return changes;
}

function searchYear(zone: string, year: number): readonly ZoneChange[] {
  const changes: ZoneChange[] = [];
  const endMs = Date.UTC(year + 1);
  // A day at a time: no zone has changed its clocks twice within a day, but some have within a month.
  let offsetMs = readZoneOffsetMs(zone, Date.UTC(year));
  for (let dayMs = Date.UTC(year); dayMs < endMs; dayMs += DAY_MS) {
    const nextMs = readZoneOffsetMs(zone, dayMs + DAY_MS);
    if (nextMs !== offsetMs) searchDay(zone, dayMs, dayMs + DAY_MS, changes);
    offsetMs = nextMs;
  }
  return changes;
}

/** Finds the second of a change by bisection. */
function searchDay(zone: string, startMs: number, endMs: number, changes: ZoneChange[]): void {
  const offsetBeforeMs = readZoneOffsetMs(zone, startMs);
  if (offsetBeforeMs === readZoneOffsetMs(zone, endMs)) return;
  let before = startMs / 1000;
  let after = endMs / 1000;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (readZoneOffsetMs(zone, middle * 1000) === offsetBeforeMs) before = middle;
    else after = middle;
  }
  const atMs = after * 1000;
  changes.push({ atMs, offsetBeforeMs, offsetAfterMs: readZoneOffsetMs(zone, atMs) });
  searchDay(zone, atMs, endMs, changes);
}

/** Local time minus UTC of `zone` at an instant, in ms. An unknown zone throws RangeError: the check has refused it before. */
function readZoneOffsetMs(zone: string, atMs: number): number {
  const minutes = loadLuxon().IANAZone.create(zone).offset(atMs);
  if (!Number.isFinite(minutes)) throw new RangeError(`not a zone, or not an instant: ${zone} at ${atMs}`);
  return Math.round(minutes * 60_000);
}

/** The local time of an instant, ISO 8601 with the offset: `2026-03-29T03:00:00.000+02:00`. */
export function formatLocal(atMs: number, offsetMs: number): string {
  return `${formatWall(atMs + offsetMs)}${formatOffset(offsetMs)}`;
}

/** A wall-clock time, counted as if it were UTC, as `2026-03-29T03:00:00.000`. */
function formatWall(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, -1);
}

export function formatClock(wallMs: number): string {
  return shortenTime(formatWall(wallMs).slice(11));
}

/** The shortest exact form of a time of day: `03:00`, `03:00:30`, `03:00:30.250`. */
export function shortenTime(time: string): string {
  return time.replace(/(?::00)?\.000$/, '');
}

export function formatDate(wallMs: number): string {
  return formatWall(wallMs).slice(0, 10);
}

function formatOffset(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const two = (count: number): string => String(count).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
