/**
 * Enumerates the wall-clock times of a cron expression, counted in ms as if they were UTC. schedule.ts turns them into
 * instants of a zone with clock changes.
 *
 * croner computes the dates, in UTC, where every local time exists once; the times of day come from its parsed fields.
 */
import type { Cron } from 'croner';
import { loadCroner } from '../calendar.ts';

const DAY_MS = 86_400_000;
const DAY_S = 86_400;
const MOST_KNOWN = 400;

export class CronTimes {
  /** Whether the expression matches every hour: then it follows real time, and a repeated hour is an ordinary hour. */
  readonly everyHour: boolean;
  private readonly hours: readonly number[];
  private readonly minutes: readonly number[];
  private readonly seconds: readonly number[];
  private readonly dates: CronDates;

  /** `text` has five fields, or six with the seconds first; an invalid text throws RangeError (the check has validated it). */
  constructor(text: string) {
    const fields = text.trim().split(/\s+/);
    if (fields.length !== 5 && fields.length !== 6)
      throw new RangeError(`a cron expression has five or six fields, found ${JSON.stringify(text)}`);
    const { CronPattern } = loadCroner();
    const pattern = new CronPattern(text, 'UTC', { mode: '5-or-6-parts' });
    this.hours = listMarked(pattern.hour);
    this.minutes = listMarked(pattern.minute);
    this.seconds = listMarked(pattern.second);
    this.everyHour = this.hours.length === 24;
    this.dates = parseDates(fields.slice(-3).join(' '));
  }

  /** The first wall-clock time at or after `wallMs`; undefined if there is none before the year 9999. */
  findNext(wallMs: number): number | undefined {
    const second = Math.ceil(wallMs / 1000);
    const day = Math.floor(second / DAY_S);
    const found = this.dates.findFrom(day);
    if (found === undefined) return undefined;
    const time = found === day ? this.findTimeFrom(second - day * DAY_S) : this.getFirstTime();
    if (time !== undefined) return found * DAY_MS + time * 1000;
    const later = this.dates.findFrom(day + 1);
    return later === undefined ? undefined : later * DAY_MS + this.getFirstTime() * 1000;
  }

  /** The times from `fromMs`, inclusive, to `toMs`, exclusive. */
  *between(fromMs: number, toMs: number): Generator<number, void, undefined> {
    for (let wall = this.findNext(fromMs); wall !== undefined && wall < toMs; wall = this.findNext(wall + 1000))
      yield wall;
  }

  private getFirstTime(): number {
    return (this.hours[0] as number) * 3600 + (this.minutes[0] as number) * 60 + (this.seconds[0] as number);
  }

  /** The first matching second of the day at or after `from`. */
  private findTimeFrom(from: number): number | undefined {
    for (const hour of this.hours) {
      if (hour * 3600 + 3599 < from) continue;
      for (const minute of this.minutes) {
        if (hour * 3600 + minute * 60 + 59 < from) continue;
        for (const second of this.seconds) {
          const time = hour * 3600 + minute * 60 + second;
          if (time >= from) return time;
        }
      }
    }
    return undefined;
  }
}

/** The dates that match the last three fields of an expression, as days since 1970. */
class CronDates {
  private readonly cron: Cron;
  /** The first date on or after a day, cached: the same few days are asked for repeatedly. */
  private readonly known = new Map<number, number | undefined>();

  constructor(fields: string) {
    this.cron = new (loadCroner().Cron)(`0 0 ${fields}`, { timezone: 'UTC', mode: '5-part' });
  }

  findFrom(day: number): number | undefined {
    if (this.known.has(day)) return this.known.get(day);
    // croner searches strictly after an instant; a date is its midnight.
    const date = this.cron.nextRun(new Date(day * DAY_MS - 1000));
    const found = date === null ? undefined : date.getTime() / DAY_MS;
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.set(day, found);
    return found;
  }
}

/** Most of a thousand schedules fire on the same dates, such as every day or every Monday, and differ in the time of day. */
const datesKnown = new Map<string, CronDates>();

function parseDates(fields: string): CronDates {
  let dates = datesKnown.get(fields);
  if (dates === undefined) {
    dates = new CronDates(fields);
    if (datesKnown.size >= MOST_KNOWN) datesKnown.clear();
    datesKnown.set(fields, dates);
  }
  return dates;
}

function listMarked(field: readonly number[]): readonly number[] {
  return field.flatMap((mark, value) => (mark ? [value] : []));
}
