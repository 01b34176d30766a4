/**
 * Compares occurrences with three oracles: a walk over every minute with the platform's own zone data and a small cron matcher,
 * croner with its own zones, and cron-parser with its own.
 */
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listOccurrences } from '../../src/runbook/schedule/schedule.ts';
import { itHolds } from '../property.ts';
import { cronSlot, DAY_MS, HOUR_MS, MINUTE_MS, offsetMs } from './sample-schedule.ts';

/** A zone and days on which its clocks change; both changes of Berlin, Lord Howe's half hour, Apia's lost day, midnights. */
const CHANGES: readonly (readonly [zone: string, ...days: string[]])[] = [
  ['Europe/Berlin', '2026-03-29', '2026-10-25'],
  ['Europe/London', '2026-03-29', '2026-10-25'],
  ['Atlantic/Azores', '2026-03-29', '2026-10-25'],
  ['America/New_York', '2026-03-08', '2026-11-01'],
  ['America/Los_Angeles', '2026-03-08', '2026-11-01'],
  ['America/St_Johns', '2026-03-08', '2026-11-01'],
  ['America/Havana', '2026-03-08', '2026-11-01'],
  ['America/Santiago', '2026-04-05', '2026-09-06'],
  ['America/Nuuk', '2026-03-29', '2026-10-25'],
  ['America/Asuncion', '2023-03-26', '2023-10-01'],
  ['America/Sao_Paulo', '2018-02-18', '2018-11-04'],
  ['Pacific/Easter', '2026-04-05', '2026-09-06'],
  ['Australia/Lord_Howe', '2026-04-05', '2026-10-04'],
  ['Australia/Sydney', '2026-04-05', '2026-10-04'],
  ['Pacific/Auckland', '2026-04-05', '2026-09-27'],
  ['Pacific/Chatham', '2026-04-05', '2026-09-27'],
  ['Pacific/Apia', '2011-09-24', '2011-12-30', '2012-04-01'],
  ['Pacific/Kwajalein', '1993-08-21'],
  ['Africa/Casablanca', '2026-02-15', '2026-03-22'],
  ['Africa/Cairo', '2026-04-24', '2026-10-30'],
  ['Asia/Beirut', '2026-03-29', '2026-10-25'],
  ['Asia/Tehran', '2021-03-22', '2021-09-22'],
  ['Asia/Jerusalem', '2026-03-27', '2026-10-25'],
  ['Antarctica/Troll', '2026-03-29', '2026-10-25'],
  ['Europe/Lisbon', '2026-03-29', '2026-10-25'],
  ['Asia/Pyongyang', '2018-05-05'],
  ['Asia/Kathmandu', '2026-03-29'],
  ['UTC', '2026-03-29'],
];

const STEADY = new Set(['UTC', 'Asia/Kathmandu']);

const PATTERNS = [
  '30 2 * * *',
  '0 0 * * *',
  '*/15 2 * * *',
  '*/15 * * * *',
  '30 * * * *',
  '5,35 0-3 * * *',
  '0 */2 * * *',
  '10 23 * * 1-5',
  '0,30 1,2,3 30,31 12,3 6',
  '45 1 29 2,3 *',
];

interface Minute {
  readonly atMs: number;
  readonly wallMs: number;
}

function walk(zone: string, fromMs: number, toMs: number): readonly Minute[] {
  const minutes: Minute[] = [];
  for (let atMs = fromMs; atMs < toMs; atMs += MINUTE_MS) minutes.push({ atMs, wallMs: atMs + offsetMs(zone, atMs) });
  return minutes;
}

type Matcher = { (wallMs: number): boolean; everyHour: boolean };

function matcher(cron: string): Matcher {
  const [minute, hour, day, month, weekday] = cron.split(' ').map((field, index) => set(field, index)) as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  const either = cron.split(' ')[2] !== '*' && cron.split(' ')[4] !== '*';
  const matches = (wallMs: number): boolean => {
    const wall = new Date(wallMs);
    const onDay = day.has(wall.getUTCDate());
    const onWeekday = weekday.has(wall.getUTCDay());
    return (
      minute.has(wall.getUTCMinutes()) &&
      hour.has(wall.getUTCHours()) &&
      month.has(wall.getUTCMonth() + 1) &&
      (either ? onDay || onWeekday : onDay && onWeekday)
    );
  };
  return Object.assign(matches, { everyHour: hour.size === 24 });
}

function set(field: string, index: number): Set<number> {
  const [low, high] = [
    [0, 59],
    [0, 23],
    [1, 31],
    [1, 12],
    [0, 6],
  ][index] as [number, number];
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '*', step = '1'] = part.split('/');
    const [first, last = first] = range === '*' ? [low, high] : range.split('-').map(Number);
    for (let value = first as number; value <= (last as number); value += Number(step)) values.add(value);
  }
  return values;
}

/** The rules of interface.md, applied minute by minute; `named`: which minutes the pattern names. */
function byWalking(
  minutes: readonly Minute[],
  named: readonly boolean[],
  fires: Matcher,
  gap: 'next_valid' | 'skip',
  overlap: 'first' | 'both',
): readonly number[] {
  const due: number[] = [];
  let shown = Number.NEGATIVE_INFINITY;
  for (const [index, { atMs, wallMs }] of minutes.entries()) {
    const before = minutes[index - 1];
    let fire = named[index] === true && (wallMs > shown || overlap === 'both' || fires.everyHour);
    if (gap === 'next_valid' && before !== undefined)
      for (let lost = before.wallMs + MINUTE_MS; lost < wallMs; lost += MINUTE_MS) fire ||= fires(lost);
    if (fire) due.push(atMs);
    shown = Math.max(shown, wallMs);
  }
  return due;
}

const iso = (instants: readonly number[]): readonly string[] => instants.map((each) => new Date(each).toISOString());

function agreesWithWalk(zone: string, day: string, patterns: readonly string[]): void {
  const fromMs = Date.parse(`${day}T00:00:00Z`) - DAY_MS;
  const toMs = fromMs + 3 * DAY_MS;
  // The walk begins earlier: an overlap may be under way at the start of the range.
  const minutes = walk(zone, fromMs - DAY_MS, toMs);
  const jumps = minutes.filter(
    ({ wallMs }, index) => index > 0 && wallMs !== (minutes[index - 1] as Minute).wallMs + MINUTE_MS,
  );
  expect(jumps.length).toBe(STEADY.has(zone) ? 0 : 1);
  for (const pattern of patterns) {
    const fires = matcher(pattern);
    const named = minutes.map(({ wallMs }) => fires(wallMs));
    for (const gap of ['next_valid', 'skip'] as const)
      for (const overlap of ['first', 'both'] as const) {
        const expected = new Set(byWalking(minutes, named, fires, gap, overlap).filter((each) => each >= fromMs));
        const found = listOccurrences(cronSlot(pattern, zone, { dst: { gap, overlap } }), { fromMs, toMs }).map(
          ({ nominalMs }) => nominalMs,
        );
        const extra = iso(found.filter((each) => !expected.has(each)));
        const lost = iso([...expected].filter((each) => !found.includes(each)));
        const inOrder = found.every((each, index) => index === 0 || each > (found[index - 1] as number));
        expect({ pattern, gap, overlap, extra, lost, inOrder }).toEqual({
          pattern,
          gap,
          overlap,
          extra: [],
          lost: [],
          inOrder: true,
        });
      }
  }
}

describe.each(CHANGES)('in %s', (zone, ...days) => {
  it.each(days)('around %s, the rules of some expressions agree with a walk over the minutes', (day) =>
    agreesWithWalk(zone, day, PATTERNS.slice(0, 3)),
  );

  it.each(days)('around %s, those of all of them do', { tags: ['long'] }, (day) => agreesWithWalk(zone, day, PATTERNS));

  it('shows each occurrence in the local time of the zone', () => {
    const fromMs = Date.parse(`${days[0]}T00:00:00Z`) - DAY_MS;
    for (const { nominalMs, local } of listOccurrences(cronSlot('*/20 * * * *', zone), {
      fromMs,
      toMs: fromMs + 3 * DAY_MS,
    })) {
      expect(Date.parse(local)).toBe(nominalMs);
      expect(Date.parse(`${local.slice(0, 23)}Z`)).toBe(nominalMs + offsetMs(zone, nominalMs));
    }
  });

  it('agrees with croner where the rules are the same', () => {
    const [day] = days as [string];
    const fromMs = Date.parse(`${day}T00:00:00Z`) - DAY_MS;
    const toMs = fromMs + 3 * DAY_MS;
    const theirs = (pattern: string): readonly string[] => {
      const found: number[] = [];
      const cron = new Cron(pattern, { timezone: zone });
      for (
        let next = cron.nextRun(new Date(fromMs - 1000));
        next !== null && next.getTime() < toMs;
        next = cron.nextRun(next)
      )
        found.push(next.getTime());
      return iso(found);
    };
    const ours = (pattern: string, gap: 'next_valid' | 'skip'): readonly string[] =>
      iso(
        listOccurrences(cronSlot(pattern, zone, { dst: { gap, overlap: 'first' } }), { fromMs, toMs }).map(
          ({ nominalMs }) => nominalMs,
        ),
      );
    // It drops a fixed time when the gap reaches into the next day: Apia, Kwajalein.
    const wholeDay = zone === 'Pacific/Kwajalein';
    if (!wholeDay) expect(ours('30 2 * * *', 'next_valid')).toEqual(theirs('30 2 * * *'));
    // It treats an expression of every hour as an interval, and skips the times lost in a gap.
    expect(ours('*/30 * * * *', 'skip')).toEqual(theirs('*/30 * * * *'));
  });
});

describe('cron-parser', () => {
  const theirs = (pattern: string, tz: string, fromMs: number, most: number): readonly number[] => {
    const cron = CronExpressionParser.parse(pattern, { currentDate: new Date(fromMs - 1000), tz });
    return Array.from({ length: most }, () => cron.next().getTime());
  };

  it.each(CHANGES.map(([zone]) => zone))('agrees in %s on days on which no clock is changed', (zone) => {
    const fromMs = Date.UTC(2026, 0, 6);
    for (const pattern of ['30 2 * * *', '*/45 6-9 * * 1-5', '0 0 13 * 5', '15 */7 * * *']) {
      const expected = theirs(pattern, zone, fromMs, 12);
      expect(
        iso(
          listOccurrences(cronSlot(pattern, zone), { fromMs, toMs: Number.POSITIVE_INFINITY, most: 12 }).map(
            ({ nominalMs }) => nominalMs,
          ),
        ),
      ).toEqual(iso(expected));
    }
  });

  it('differs on purpose in a gap: it fires half an hour later, we fire at the first existing time', () => {
    const fromMs = Date.UTC(2026, 2, 29);
    expect(iso(theirs('30 2 * * *', 'Europe/Berlin', fromMs, 1))).toEqual(['2026-03-29T01:30:00.000Z']);
    expect(
      iso(
        listOccurrences(cronSlot('30 2 * * *', 'Europe/Berlin'), { fromMs, toMs: fromMs + DAY_MS }).map(
          ({ nominalMs }) => nominalMs,
        ),
      ),
    ).toEqual(['2026-03-29T01:00:00.000Z']);
  });
});

const field = (low: number, high: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: low, max: high }).map(String),
    fc
      .uniqueArray(fc.integer({ min: low, max: high }), { minLength: 1, maxLength: 4 })
      .map((values) => values.sort((a, b) => a - b).join(',')),
    fc
      .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }))
      .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
  );
const cronText = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6))
  .map((fields) => fields.join(' '));

describe('any cron expression', () => {
  itHolds('agrees in UTC with croner and cron-parser', 200, (numRuns) => {
    fc.assert(
      fc.property(cronText, fc.integer({ min: 0, max: 365 * 24 }), (pattern, hour) => {
        const fromMs = Date.UTC(2026, 0, 1) + hour * HOUR_MS;
        const found = iso(
          listOccurrences(cronSlot(pattern, 'UTC'), { fromMs, toMs: Number.POSITIVE_INFINITY, most: 5 }).map(
            ({ nominalMs }) => nominalMs,
          ),
        );
        expect(found).toEqual(
          new Cron(pattern, { timezone: 'UTC' }).nextRuns(5, new Date(fromMs - 1000)).map((each) => each.toISOString()),
        );
        const other = CronExpressionParser.parse(pattern, { currentDate: new Date(fromMs - 1000), tz: 'UTC' });
        expect(found).toEqual(Array.from({ length: 5 }, () => other.next().toDate().toISOString()));
      }),
      { numRuns },
    );
  });

  itHolds('gives the same instants for any split of a range', 200, (numRuns) => {
    fc.assert(
      fc.property(
        cronText,
        fc.constantFrom(...CHANGES.map(([zone]) => zone)),
        fc.integer({ min: 0, max: 300 * 24 }),
        fc.array(fc.integer({ min: 0, max: 20 * 24 * 4 }), { maxLength: 4 }),
        (pattern, zone, hour, cuts) => {
          const fromMs = Date.UTC(2026, 0, 1) + hour * HOUR_MS;
          const toMs = fromMs + 20 * DAY_MS;
          const slot = cronSlot(pattern, zone);
          const whole = listOccurrences(slot, { fromMs, toMs });
          const edges = [
            fromMs,
            ...cuts.map((quarter) => fromMs + quarter * 15 * MINUTE_MS).sort((a, b) => a - b),
            toMs,
          ];
          const parts = edges
            .slice(1)
            .flatMap((edge, index) => listOccurrences(slot, { fromMs: edges[index] as number, toMs: edge }));
          expect(parts).toEqual(whole);
        },
      ),
      { numRuns },
    );
  });
});
