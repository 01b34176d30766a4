/**
 * What the clocks of a zone show: its changes of offset, the stretches between them, and an instant as local time. The
 * changes are found by asking the zone day by day, not by trusting a library's choice for a time that exists twice or not
 * at all. Knows nothing of schedules.
 */
import { loadLuxon } from '../calendar.ts';

/** The clocks are put forward (a gap in local time) or back (an overlap). */
export interface ZoneChange {
  readonly atMs: number;
  /** Local time minus UTC. */
  readonly offsetBeforeMs: number;
  readonly offsetAfterMs: number;
}

/** A stretch of time, end exclusive, in which local time runs evenly. */
export interface ZoneStretch {
  readonly startMs: number;
  readonly endMs: number;
  readonly offsetMs: number;
}

const DAY_MS = 86_400_000;

/** The stretches of `zone` from `fromMs` to `toMs`, in order and without a hole; found as far as they are asked for. */
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

/** A year is asked for 365 times at some microseconds each; the answer can not change while the process lives. */
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
  // A day at a time: no zone has ever been put forward and back again within one, some have within a month.
  let offsetMs = readZoneOffsetMs(zone, Date.UTC(year));
  for (let dayMs = Date.UTC(year); dayMs < endMs; dayMs += DAY_MS) {
    const nextMs = readZoneOffsetMs(zone, dayMs + DAY_MS);
    if (nextMs !== offsetMs) searchDay(zone, dayMs, dayMs + DAY_MS, changes);
    offsetMs = nextMs;
  }
  return changes;
}

/** Halves the time until the second of the change is left. */
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

/** Local time minus UTC of `zone` at an instant, in ms. A name that is no zone is our mistake: the check refuses it. */
function readZoneOffsetMs(zone: string, atMs: number): number {
  const minutes = loadLuxon().IANAZone.create(zone).offset(atMs);
  if (!Number.isFinite(minutes)) throw new RangeError(`not a zone, or not an instant: ${zone} at ${atMs}`);
  return Math.round(minutes * 60_000);
}

/** What the clocks show at an instant, ISO 8601 with the offset: `2026-03-29T03:00:00.000+02:00`. */
export function formatLocal(atMs: number, offsetMs: number): string {
  return `${formatWall(atMs + offsetMs)}${formatOffset(offsetMs)}`;
}

/** `2026-03-29T03:00:00.000`, of a wall-clock time counted as if it were UTC. */
function formatWall(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, -1);
}

/** The shortest clock time that says it: `03:00`, `03:00:30`, `03:00:30.250`. */
export function formatClock(wallMs: number): string {
  const text = formatWall(wallMs).slice(11);
  if (!text.endsWith('.000')) return text;
  return text.endsWith(':00.000') ? text.slice(0, 5) : text.slice(0, 8);
}

export function formatDate(wallMs: number): string {
  return formatWall(wallMs).slice(0, 10);
}

function formatOffset(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const two = (count: number): string => String(count).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
