/** Schedule declarations for tests, as the check makes them, and local time from a source other than ours. */
import type { ScheduleDeclaration } from '../../src/runbook/checked.ts';
import { Duration, Time } from '../../src/runbook/values.ts';

type Rest = Partial<Omit<ScheduleDeclaration, 'when' | 'from' | 'to'>> & {
  readonly from?: string;
  readonly to?: string;
};

export function cronSlot(cron: string, tz: string, rest: Rest = {}): ScheduleDeclaration {
  return slotOf({ kind: 'cron', cron, tz }, rest);
}

export function everySlot(everyMs: number, rest: Rest = {}): ScheduleDeclaration {
  return slotOf({ kind: 'every', every: new Duration(everyMs) }, rest);
}

export function atSlot(at: string, tz?: string, rest: Rest = {}): ScheduleDeclaration {
  return slotOf({ kind: 'at', at: time(at), ...(tz !== undefined && { tz }) }, rest);
}

export function misfire(
  withinMs: number,
  policy: ScheduleDeclaration['misfire']['then'],
): ScheduleDeclaration['misfire'] {
  return { within: new Duration(withinMs), then: policy };
}

export function time(iso: string): Time {
  return Time.ofMs(Date.parse(iso));
}

function slotOf(when: ScheduleDeclaration['when'], { from, to, ...rest }: Rest): ScheduleDeclaration {
  return {
    slot: '0',
    when,
    misfire: misfire(60_000, 'run_once'),
    overlap: 'skip',
    dst: { gap: 'next_valid', overlap: 'first' },
    inputs: {},
    span: { start: 0, end: 0 },
    ...rest,
    ...(from !== undefined && { from: time(from) }),
    ...(to !== undefined && { to: time(to) }),
  };
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Local time minus UTC by the platform's own formatter: `GMT+10:30`. */
export function offsetMs(zone: string, atMs: number): number {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    formats.set(zone, format);
  }
  const name = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const match = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(name);
  if (match === null) throw new Error(`no offset in ${name}`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * 1000);
}
const formats = new Map<string, Intl.DateTimeFormat>();
