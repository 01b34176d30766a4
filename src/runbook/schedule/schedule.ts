/**
 * Computes when a schedule fires: the nominal instants of a cron expression, an interval or a single time, with explicit
 * rules for clock changes (interface.md, Settled points). Pure: it does not read the clock and starts nothing;
 * engine/schedule/decide.ts decides what to do about an instant.
 *
 * The rules, in wall-clock time of the schedule's zone:
 * - A time that a clock change skips (gap): `next_valid` fires once, at the first time after the gap, no matter how many
 *   times were lost, and merges with an occurrence that is due then; `skip` fires nothing for them.
 * - A time that a clock change repeats (overlap): `first` fires only the first time, `both` each time. An expression that
 *   matches every hour of the day follows real time: it also fires in the repeated hour, regardless of `overlap`, because
 *   otherwise a quarter-hourly check would pause for an hour.
 */
import type { ScheduleDeclaration } from '../checked.ts';
import { CronTimes } from './cron.ts';
import {
  formatClock,
  formatDate,
  formatLocal,
  listZoneChanges,
  listZoneStretches,
  type ZoneChange,
  type ZoneStretch,
} from './local-time.ts';

export interface Occurrence {
  readonly slot: string;
  /** Its nominal instant, epoch ms: its identity, no matter when the run starts. */
  readonly nominalMs: number;
  /** The same instant in `zone`, ISO 8601 with the offset. */
  readonly local: string;
  /** The schedule's zone; UTC if it has none. */
  readonly zone: string;
  /** The effects of clock changes on it; usually empty. */
  readonly notes: readonly OccurrenceNote[];
}

interface OccurrenceNote {
  /** `gap`: it replaces times that do not exist; `repeated`: its local time occurs twice. */
  readonly kind: 'gap' | 'repeated';
  /** Half a sentence. */
  readonly text: string;
}

interface OccurrenceRange {
  /** Inclusive, epoch ms. */
  readonly fromMs: number;
  /** Exclusive, epoch ms. */
  readonly toMs: number;
  /** At most this many, the earliest ones; without it `toMs` must be finite. */
  readonly most?: number;
}

/** The occurrences of a slot in a range, ascending, each instant once. The schedule's `from` is inclusive, its `to` exclusive. */
export function listOccurrences(declaration: ScheduleDeclaration, range: OccurrenceRange): readonly Occurrence[] {
  const { fromMs, toMs, most = Number.POSITIVE_INFINITY } = range;
  if (toMs === Number.POSITIVE_INFINITY && most === Number.POSITIVE_INFINITY)
    throw new RangeError('a range of occurrences needs an end');
  const found: Occurrence[] = [];
  if (most <= 0) return found;
  for (const occurrence of walkOccurrences(declaration, fromMs, toMs)) {
    found.push(occurrence);
    if (found.length >= most) break;
  }
  return found;
}

/** The first occurrence after an instant; undefined if the schedule is over, or never fires. */
export function findNextOccurrence(declaration: ScheduleDeclaration, afterMs: number): Occurrence | undefined {
  return listOccurrences(declaration, { fromMs: afterMs + 1, toMs: Number.POSITIVE_INFINITY, most: 1 })[0];
}

/** The scheduler checks the clock at least this often, ms, so a start is never later than this without a reason. */
const LOOK_MS = 30_000;

/**
 * The longest delay of an occurrence by `jitter`, ms: short enough that a late check of the clock is still within its misfire
 * window, and that it does not overtake the next occurrence.
 */
export function computeLongestDelayMs(declaration: ScheduleDeclaration, nominalMs: number): number {
  const { jitter, misfire } = declaration;
  if (jitter === undefined || jitter.ms <= 0) return 0;
  const windowMs = misfire.within.ms;
  const next = findNextOccurrence(declaration, nominalMs);
  return Math.min(
    jitter.ms,
    Math.max(windowMs - LOOK_MS, Math.floor(windowMs / 2)),
    next === undefined ? jitter.ms : next.nominalMs - nominalMs - 1,
  );
}

/** The end of every search: the last year for which cron expressions are defined. */
const LAST_MS = Date.UTC(9999, 0, 1);

/** As `occurrences`, but lazily. */
export function* walkOccurrences(
  declaration: ScheduleDeclaration,
  fromMs: number,
  toMs: number,
): Generator<Occurrence, void, undefined> {
  const { when, slot } = declaration;
  const startMs = Math.max(fromMs, findBeginMs(declaration) ?? fromMs);
  const endMs = Math.min(toMs, declaration.to === undefined ? toMs : Math.ceil(declaration.to.us / 1000), LAST_MS);
  switch (when.kind) {
    case 'cron':
      yield* walkCron(declaration, when, startMs, endMs);
      return;
    case 'every': {
      const baseMs = findBeginMs(declaration) ?? 0;
      for (
        let n = Math.max(0, Math.ceil((startMs - baseMs) / when.every.ms)), at = baseMs + n * when.every.ms;
        at < endMs;
        at += when.every.ms
      )
        yield makeOccurrence(slot, at, 'UTC', 0);
      return;
    }
    case 'at': {
      const atMs = Math.ceil(when.at.us / 1000);
      if (atMs >= startMs && atMs < endMs)
        yield makeOccurrence(slot, atMs, when.tz ?? 'UTC', findOffsetMs(when.tz, atMs));
      return;
    }
    default:
      when satisfies never;
  }
}

/** The schedule's `from`, rounded up to a whole ms. */
function findBeginMs(declaration: ScheduleDeclaration): number | undefined {
  return declaration.from === undefined ? undefined : Math.ceil(declaration.from.us / 1000);
}

function findOffsetMs(zone: string | undefined, atMs: number): number {
  if (zone === undefined) return 0;
  const [stretch] = listZoneStretches(zone, atMs, atMs + 1);
  return stretch?.offsetMs ?? 0;
}

function makeOccurrence(
  slot: string,
  nominalMs: number,
  zone: string,
  offsetMs: number,
  notes: readonly OccurrenceNote[] = NO_NOTES,
): Occurrence {
  return { slot, nominalMs, local: formatLocal(nominalMs, offsetMs), zone, notes };
}

const NO_NOTES: readonly OccurrenceNote[] = [];

// Cron: wall-clock times, stretch by stretch of constant offset.

type CronWhen = Extract<ScheduleDeclaration['when'], { kind: 'cron' }>;

/** Parsed once for each declaration: the scheduler reads every slot every half minute. */
const parsed = new WeakMap<CronWhen, CronTimes>();

function parseTimes(when: CronWhen): CronTimes {
  let times = parsed.get(when);
  if (times === undefined) {
    times = new CronTimes(when.cron);
    parsed.set(when, times);
  }
  return times;
}

const DAY_MS = 86_400_000;
/** No local time differs from UTC by more than this, and no clock change (Apia's lost day) is larger. */
const REACH_MS = 2 * DAY_MS;
/** Clock changes are looked up in ranges of this length. */
const CHUNK_MS = 366 * DAY_MS;

function* walkCron(
  declaration: ScheduleDeclaration,
  when: CronWhen,
  fromMs: number,
  toMs: number,
): Generator<Occurrence, void, undefined> {
  const times = parseTimes(when);
  for (let startMs = fromMs; startMs < toMs; ) {
    const wall = times.findNext(startMs - REACH_MS);
    if (wall === undefined) return;
    startMs = Math.max(startMs, wall - REACH_MS);
    const endMs = Math.min(toMs, startMs + CHUNK_MS);
    yield* walkChunk({ declaration, when, times }, startMs, endMs);
    startMs = endMs;
  }
}

/** A declaration with a cron expression, and its times. */
interface CronSlot {
  readonly declaration: ScheduleDeclaration;
  readonly when: CronWhen;
  readonly times: CronTimes;
}

function* walkChunk(cron: CronSlot, fromMs: number, toMs: number): Generator<Occurrence, void, undefined> {
  const stretches = [...listZoneStretches(cron.when.tz, fromMs - REACH_MS, toMs + REACH_MS)];
  for (const [index, stretch] of stretches.entries()) {
    if (stretch.endMs <= fromMs || stretch.startMs >= toMs) continue;
    const window = { fromMs: Math.max(fromMs, stretch.startMs), toMs: Math.min(toMs, stretch.endMs) };
    const around = { before: stretches[index - 1], after: stretches[index + 1] };
    yield* walkStretch(cron, stretch, window, around);
  }
}

function* walkStretch(
  { declaration, when, times }: CronSlot,
  stretch: ZoneStretch,
  window: { readonly fromMs: number; readonly toMs: number },
  { before, after }: { readonly before: ZoneStretch | undefined; readonly after: ZoneStretch | undefined },
): Generator<Occurrence, void, undefined> {
  const { slot, dst } = declaration;
  const { offsetMs } = stretch;
  let wallFrom = window.fromMs + offsetMs;
  const begun = before && findEffect(declaration, when, times, makeChange(before, stretch));
  if (begun?.kind === 'gap' && dst.gap === 'next_valid' && window.fromMs === stretch.startMs) {
    yield makeOccurrence(slot, stretch.startMs, when.tz, offsetMs, [{ kind: 'gap', text: describeEffect(begun) }]);
    // An occurrence due at this very time is the same one.
    wallFrom += 1;
  }
  const repeatedUntil = begun?.kind === 'overlap' ? begun.wallToMs : Number.NEGATIVE_INFINITY;
  const ended = after && findEffect(declaration, when, times, makeChange(stretch, after));
  const repeatsFrom = ended?.kind === 'overlap' ? ended.wallFromMs : Number.POSITIVE_INFINITY;
  if (begun?.outcome === 'once') wallFrom = Math.max(wallFrom, repeatedUntil);
  for (const wall of times.between(wallFrom, window.toMs + offsetMs)) {
    const pass = wall < repeatedUntil ? 'second' : wall >= repeatsFrom ? 'first' : undefined;
    const once = ended?.outcome === 'once';
    yield makeOccurrence(
      slot,
      wall - offsetMs,
      when.tz,
      offsetMs,
      pass && [{ kind: 'repeated', text: describeRepeated(wall, pass, once) }],
    );
  }
}

// The effect of a clock change on a schedule.

/** A clock change that affects a schedule: some of its wall-clock times are skipped, or occur twice. */
interface ClockEffect {
  readonly slot: string;
  readonly zone: string;
  readonly kind: 'gap' | 'overlap';
  /** The instant of the change, epoch ms. */
  readonly atMs: number;
  /** The local times that do not exist or occur twice, counted as if they were UTC; end exclusive. */
  readonly wallFromMs: number;
  readonly wallToMs: number;
  /** The number of the schedule's times among them, and the first and the last one. */
  readonly count: number;
  readonly firstWallMs: number;
  readonly lastWallMs: number;
  /**
   * Gap: `moved` to the first time after it, `merged` with an occurrence that is due then, or `skipped`. Overlap: fires
   * `once` or `twice`. Both: `real_time` if an expression of every hour simply continues.
   */
  readonly outcome: 'moved' | 'merged' | 'skipped' | 'once' | 'twice' | 'real_time';
}

/** The clock changes in a range, both ends exclusive, that affect a slot; none without a cron expression. */
export function listClockEffects(
  declaration: ScheduleDeclaration,
  range: { readonly fromMs: number; readonly toMs: number },
): readonly ClockEffect[] {
  const { when, from, to } = declaration;
  if (when.kind !== 'cron') return [];
  const times = parseTimes(when);
  const fromMs = Math.max(range.fromMs, from?.ms ?? range.fromMs);
  const toMs = Math.min(range.toMs, to?.ms ?? range.toMs);
  return listZoneChanges(when.tz, fromMs, toMs).flatMap((change) => findEffect(declaration, when, times, change) ?? []);
}

function makeChange(before: ZoneStretch, after: ZoneStretch): ZoneChange {
  return { atMs: after.startMs, offsetBeforeMs: before.offsetMs, offsetAfterMs: after.offsetMs };
}

function findEffect(
  declaration: ScheduleDeclaration,
  when: CronWhen,
  times: CronTimes,
  change: ZoneChange,
): ClockEffect | undefined {
  const { atMs, offsetBeforeMs, offsetAfterMs } = change;
  const kind = offsetAfterMs > offsetBeforeMs ? 'gap' : 'overlap';
  const wallFromMs = atMs + Math.min(offsetBeforeMs, offsetAfterMs);
  const wallToMs = atMs + Math.max(offsetBeforeMs, offsetAfterMs);
  const walls = [...times.between(wallFromMs, wallToMs)];
  const [firstWallMs] = walls;
  const lastWallMs = walls.at(-1);
  if (firstWallMs === undefined || lastWallMs === undefined) return undefined;
  const outcome =
    kind === 'gap' ? decideGapOutcome(declaration, times, wallToMs) : decideOverlapOutcome(declaration, times);
  return {
    slot: declaration.slot,
    zone: when.tz,
    kind,
    atMs,
    wallFromMs,
    wallToMs,
    count: walls.length,
    firstWallMs,
    lastWallMs,
    outcome,
  };
}

function decideGapOutcome(
  declaration: ScheduleDeclaration,
  times: CronTimes,
  wallAfterMs: number,
): ClockEffect['outcome'] {
  const skips = declaration.dst.gap === 'skip';
  const merges = times.findNext(wallAfterMs) === wallAfterMs;
  if (times.everyHour && (skips || merges)) return 'real_time';
  if (skips) return 'skipped';
  return merges ? 'merged' : 'moved';
}

function decideOverlapOutcome(declaration: ScheduleDeclaration, times: CronTimes): ClockEffect['outcome'] {
  if (times.everyHour) return 'real_time';
  return declaration.dst.overlap === 'both' ? 'twice' : 'once';
}

/** Half a sentence: `02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): fires at 03:00 instead`. */
export function describeEffect(effect: ClockEffect): string {
  const { kind, count, firstWallMs, lastWallMs, wallFromMs, wallToMs, outcome } = effect;
  const date = formatDate(firstWallMs);
  const formatMoment = (wallMs: number): string =>
    formatDate(wallMs) === date ? formatClock(wallMs) : `${formatDate(wallMs)} ${formatClock(wallMs)}`;
  const which =
    count === 1
      ? formatMoment(firstWallMs)
      : `${count} times from ${formatMoment(firstWallMs)} to ${formatMoment(lastWallMs)}`;
  const many = count > 1;
  if (kind === 'gap') {
    const lost = `${which} ${many ? 'do' : 'does'} not exist on ${date} (the clocks go from ${formatMoment(wallFromMs)} to ${formatMoment(wallToMs)})`;
    if (outcome === 'real_time') return `${lost}: continues in real time`;
    if (outcome === 'skipped') return `${lost}: skipped`;
    if (outcome === 'merged') return `${lost}: merged with ${formatMoment(wallToMs)}, which is due anyway`;
    return `${lost}: fires ${many ? 'once, ' : ''}at ${formatMoment(wallToMs)} instead`;
  }
  const twice = `${which} ${many ? 'come' : 'comes'} twice on ${date} (the clocks go from ${formatMoment(wallToMs)} back to ${formatMoment(wallFromMs)})`;
  if (outcome === 'once') return `${twice}: fires the first time only`;
  return outcome === 'twice' ? `${twice}: fires both times` : `${twice}: continues in real time`;
}

function describeRepeated(wallMs: number, pass: 'first' | 'second', once: boolean): string {
  const twice = `${formatClock(wallMs)} comes twice on ${formatDate(wallMs)}`;
  return once && pass === 'first' ? `${twice}: fires this first time only` : `${twice}: this is the ${pass} time`;
}
