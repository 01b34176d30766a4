/** The rules of interface.md for gaps and overlaps, intervals, single times and bounds, each with a case that is easy to verify. */
import { describe, expect, it } from 'vitest';
import type { ScheduleDeclaration } from '../../src/runbook/checked.ts';
import {
  describeEffect,
  findNextOccurrence,
  listClockEffects,
  listOccurrences,
} from '../../src/runbook/schedule/schedule.ts';
import { atSlot, cronSlot, DAY_MS, everySlot, HOUR_MS } from './sample-schedule.ts';

const FOREVER = Number.POSITIVE_INFINITY;
const ms = (iso: string): number => Date.parse(iso);
const at = (slot: ScheduleDeclaration, from: string, to: string): readonly string[] =>
  listOccurrences(slot, { fromMs: ms(from), toMs: ms(to) }).map(({ nominalMs }) => new Date(nominalMs).toISOString());
const local = (slot: ScheduleDeclaration, from: string, to: string): readonly string[] =>
  listOccurrences(slot, { fromMs: ms(from), toMs: ms(to) }).map(
    (each) => `${each.local.slice(0, 16)}${each.local.slice(23)}`,
  );

const BERLIN_FORWARD = ['2026-03-29T00:00:00Z', '2026-03-29T03:00:00Z'] as const;
const BERLIN_BACK = ['2026-10-24T23:00:00Z', '2026-10-25T03:00:00Z'] as const;
const dst = (gap: 'next_valid' | 'skip', overlap: 'first' | 'both'): Pick<ScheduleDeclaration, 'dst'> => ({
  dst: { gap, overlap },
});

describe('when Berlin skips 02:00 to 03:00', () => {
  it('fires 02:30 at 03:00, and says why', () => {
    expect(
      listOccurrences(cronSlot('30 2 * * *', 'Europe/Berlin'), {
        fromMs: ms(BERLIN_FORWARD[0]),
        toMs: ms(BERLIN_FORWARD[1]),
      }),
    ).toEqual([
      {
        slot: '0',
        nominalMs: ms('2026-03-29T01:00:00Z'),
        local: '2026-03-29T03:00:00.000+02:00',
        zone: 'Europe/Berlin',
        notes: [
          {
            kind: 'gap',
            text: '02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): fires at 03:00 instead',
          },
        ],
      },
    ]);
  });

  it('fires once for many lost times', () => {
    expect(local(cronSlot('*/10 2 * * *', 'Europe/Berlin'), ...BERLIN_FORWARD)).toEqual(['2026-03-29T03:00+02:00']);
  });

  it('fires once when a lost time merges with one that is due', () => {
    expect(local(cronSlot('0,30 2,3 * * *', 'Europe/Berlin'), ...BERLIN_FORWARD)).toEqual([
      '2026-03-29T03:00+02:00',
      '2026-03-29T03:30+02:00',
    ]);
  });

  it('drops lost times with gap: skip', () => {
    expect(local(cronSlot('0,30 2,3 * * *', 'Europe/Berlin', dst('skip', 'first')), ...BERLIN_FORWARD)).toEqual([
      '2026-03-29T03:00+02:00',
      '2026-03-29T03:30+02:00',
    ]);
    expect(local(cronSlot('30 2 * * *', 'Europe/Berlin', dst('skip', 'first')), ...BERLIN_FORWARD)).toEqual([]);
  });

  it('fires times with seconds once', () => {
    expect(local(cronSlot('30 59 2 * * *', 'Europe/Berlin'), ...BERLIN_FORWARD)).toEqual(['2026-03-29T03:00+02:00']);
  });
});

describe('when Berlin repeats 02:00 to 03:00', () => {
  it('fires a fixed hour the first time only', () => {
    expect(at(cronSlot('30 2 * * *', 'Europe/Berlin'), ...BERLIN_BACK)).toEqual(['2026-10-25T00:30:00.000Z']);
    expect(at(cronSlot('*/20 2 * * *', 'Europe/Berlin'), ...BERLIN_BACK)).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T00:20:00.000Z',
      '2026-10-25T00:40:00.000Z',
    ]);
  });

  it('fires each time with overlap: both, and notes which one it is', () => {
    const found = listOccurrences(cronSlot('30 2 * * *', 'Europe/Berlin', dst('next_valid', 'both')), {
      fromMs: ms(BERLIN_BACK[0]),
      toMs: ms(BERLIN_BACK[1]),
    });
    expect(found.map((each) => [each.local, each.notes[0]?.text])).toEqual([
      ['2026-10-25T02:30:00.000+02:00', '02:30 comes twice on 2026-10-25: this is the first time'],
      ['2026-10-25T02:30:00.000+01:00', '02:30 comes twice on 2026-10-25: this is the second time'],
    ]);
  });

  it('continues in real time for an expression of every hour', () => {
    const found = listOccurrences(cronSlot('*/15 * * * *', 'Europe/Berlin'), {
      fromMs: ms(BERLIN_BACK[0]),
      toMs: ms(BERLIN_BACK[1]),
    });
    expect(found.length).toBe(16);
    expect(found.every((each, index) => each.nominalMs === ms(BERLIN_BACK[0]) + index * 15 * 60_000)).toBe(true);
  });

  it('recognizes the second time when the range begins inside it', () => {
    expect(at(cronSlot('*/20 2 * * *', 'Europe/Berlin'), '2026-10-25T01:10:00Z', '2026-10-25T03:00:00Z')).toEqual([]);
  });
});

describe('unusual zones', () => {
  it('Lord Howe repeats half an hour', () => {
    expect(
      local(
        cronSlot('45 1 * * *', 'Australia/Lord_Howe', dst('next_valid', 'both')),
        '2026-04-04T12:00:00Z',
        '2026-04-05T00:00:00Z',
      ),
    ).toEqual(['2026-04-05T01:45+11:00', '2026-04-05T01:45+10:30']);
    expect(
      local(
        cronSlot('15 1 * * *', 'Australia/Lord_Howe', dst('next_valid', 'both')),
        '2026-04-04T12:00:00Z',
        '2026-04-05T00:00:00Z',
      ),
    ).toEqual(['2026-04-05T01:15+11:00']);
  });

  it('Apia has no 30 December 2011: its noon falls on the first minute of the 31st', () => {
    expect(local(cronSlot('0 12 * * *', 'Pacific/Apia'), '2011-12-29T00:00:00Z', '2011-12-31T12:00:00Z')).toEqual([
      '2011-12-29T12:00-10:00',
      '2011-12-31T00:00+14:00',
      '2011-12-31T12:00+14:00',
    ]);
    expect(
      local(
        cronSlot('0 12 30 * *', 'Pacific/Apia', dst('skip', 'first')),
        '2011-12-01T00:00:00Z',
        '2012-02-01T00:00:00Z',
      ),
    ).toEqual(['2012-01-30T12:00+14:00']);
  });

  it('Cairo has no midnight on one Friday', () => {
    expect(local(cronSlot('0 0 * * 5', 'Africa/Cairo'), '2026-04-23T12:00:00Z', '2026-04-25T00:00:00Z')).toEqual([
      '2026-04-24T01:00+03:00',
    ]);
  });
});

describe('effects of clock changes', () => {
  const year = { fromMs: ms('2026-01-01T00:00:00Z'), toMs: ms('2027-01-01T00:00:00Z') };
  const describeEffects = (slot: ScheduleDeclaration): readonly string[] =>
    listClockEffects(slot, year).map((effect) => `${effect.outcome}: ${describeEffect(effect)}`);

  it('name the times, the date and the outcome', () => {
    expect(describeEffects(cronSlot('0,30 2 * * *', 'Europe/Berlin'))).toEqual([
      expect.stringMatching(/^moved: 2 times from 02:00 to 02:30 .*2026-03-29 .*02:00 to 03:00.*at 03:00/),
      expect.stringMatching(/^once: 2 times from 02:00 to 02:30 .*2026-10-25 .*03:00 back to 02:00/),
    ]);
    expect(describeEffects(cronSlot('15 2,3 * * *', 'Europe/Berlin', dst('skip', 'both')))).toEqual([
      expect.stringMatching(/^skipped: 02:15 .*2026-03-29 .*02:00 to 03:00/),
      expect.stringMatching(/^twice: 02:15 .*2026-10-25 .*03:00 back to 02:00/),
    ]);
    expect(describeEffects(cronSlot('0 2,3 * * *', 'Europe/Berlin'))[0]).toMatch(/^merged: 02:00 .*2026-03-29.*03:00/);
  });

  it('are empty when no time of the schedule is affected', () => {
    expect(describeEffects(cronSlot('30 21 * * 1-5', 'Europe/London'))).toEqual([]);
    expect(describeEffects(cronSlot('30 2 * * 1-5', 'Europe/Berlin'))).toEqual([]);
    expect(describeEffects(everySlot(HOUR_MS))).toEqual([]);
  });

  it('do not affect an expression of every hour', () => {
    expect(listClockEffects(cronSlot('*/15 * * * *', 'Europe/Berlin'), year).map(({ outcome }) => outcome)).toEqual([
      'real_time',
      'real_time',
    ]);
    // The lost half hour moves to the full hour, which adds a time; with `gap: skip` it does not.
    expect(listClockEffects(cronSlot('30 * * * *', 'Europe/Berlin'), year).map(({ outcome }) => outcome)).toEqual([
      'moved',
      'real_time',
    ]);
    expect(
      listClockEffects(cronSlot('30 * * * *', 'Europe/Berlin', dst('skip', 'first')), year).map(
        ({ outcome }) => outcome,
      ),
    ).toEqual(['real_time', 'real_time']);
  });

  it('stay within the schedule’s own bounds', () => {
    expect(
      listClockEffects(cronSlot('30 2 * * *', 'Europe/Berlin', { from: '2026-06-01T00:00:00Z' }), year).map(
        ({ kind }) => kind,
      ),
    ).toEqual(['overlap']);
    expect(
      listClockEffects(cronSlot('30 2 * * *', 'Europe/Berlin', { to: '2026-06-01T00:00:00Z' }), year).map(
        ({ kind }) => kind,
      ),
    ).toEqual(['gap']);
  });
});

describe('intervals', () => {
  it('count from the epoch, the same after every restart', () => {
    expect(at(everySlot(7 * HOUR_MS), '2026-01-05T00:00:00Z', '2026-01-05T16:00:00Z')).toEqual([
      '2026-01-05T02:00:00.000Z',
      '2026-01-05T09:00:00.000Z',
    ]);
    expect(Date.parse('2026-01-05T02:00:00.000Z') % (7 * HOUR_MS)).toBe(0);
  });

  it('count from `from` if there is one, which is the first instant', () => {
    const slot = everySlot(7 * HOUR_MS, { from: '2026-01-05T00:30:00Z', to: '2026-01-05T21:30:00Z' });
    expect(at(slot, '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z')).toEqual([
      '2026-01-05T00:30:00.000Z',
      '2026-01-05T07:30:00.000Z',
      '2026-01-05T14:30:00.000Z',
    ]);
  });

  it('allow a range with more occurrences than can be listed', () => {
    expect(
      listOccurrences(everySlot(1), { fromMs: 0, toMs: FOREVER, most: 3 }).map(({ nominalMs }) => nominalMs),
    ).toEqual([0, 1, 2]);
  });
});

describe('a single time', () => {
  it('fires once, shown in its zone', () => {
    const slot = atSlot('2026-07-01T10:00:00.250Z', 'America/New_York');
    expect(listOccurrences(slot, { fromMs: 0, toMs: FOREVER, most: 9 })).toEqual([
      {
        slot: '0',
        nominalMs: ms('2026-07-01T10:00:00.250Z'),
        local: '2026-07-01T06:00:00.250-04:00',
        zone: 'America/New_York',
        notes: [],
      },
    ]);
    expect(findNextOccurrence(slot, ms('2026-07-01T10:00:00.250Z'))).toBeUndefined();
  });

  it('does not fire outside its bounds', () => {
    expect(
      listOccurrences(atSlot('2026-07-01T10:00:00Z', 'UTC', { to: '2026-07-01T10:00:00Z' }), {
        fromMs: 0,
        toMs: FOREVER,
        most: 1,
      }),
    ).toEqual([]);
  });
});

describe('bounds', () => {
  it('include the first instant and exclude the last, of the range and of the schedule', () => {
    const slot = cronSlot('0 8 * * *', 'UTC', { from: '2026-01-02T08:00:00Z', to: '2026-01-05T08:00:00Z' });
    expect(at(slot, '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z')).toEqual([
      '2026-01-02T08:00:00.000Z',
      '2026-01-03T08:00:00.000Z',
      '2026-01-04T08:00:00.000Z',
    ]);
    expect(at(slot, '2026-01-03T08:00:00Z', '2026-01-04T08:00:00Z')).toEqual(['2026-01-03T08:00:00.000Z']);
  });

  it('the next occurrence is after the instant, not at it', () => {
    const slot = cronSlot('0 8 * * *', 'UTC');
    expect(findNextOccurrence(slot, ms('2026-01-03T08:00:00Z'))?.nominalMs).toBe(ms('2026-01-04T08:00:00Z'));
    expect(findNextOccurrence(slot, ms('2026-01-03T08:00:00Z') - 1)?.nominalMs).toBe(ms('2026-01-03T08:00:00Z'));
  });

  it('an endless range without a maximum throws', () => {
    expect(() => listOccurrences(everySlot(DAY_MS), { fromMs: 0, toMs: FOREVER })).toThrow(RangeError);
  });
});

describe('rare dates', () => {
  it('29 February is found years ahead', () => {
    expect(findNextOccurrence(cronSlot('0 8 29 2 *', 'Europe/Berlin'), ms('2096-03-01T00:00:00Z'))?.local).toBe(
      '2104-02-29T08:00:00.000+01:00',
    );
  });

  it('31 February never', () => {
    expect(findNextOccurrence(cronSlot('0 0 31 2 *', 'Europe/Berlin'), 0)).toBeUndefined();
  });

  it('the last day of a month, and its second Tuesday', () => {
    expect(local(cronSlot('0 9 L * *', 'UTC'), '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z')).toEqual([
      '2026-02-28T09:00+00:00',
    ]);
    expect(local(cronSlot('0 9 * * 2#2', 'UTC'), '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z')).toEqual([
      '2026-02-10T09:00+00:00',
    ]);
  });

  it('an invalid cron expression throws: the check has refused it', () => {
    expect(() => findNextOccurrence(cronSlot('0 0 1 1 * 2027 1', 'UTC'), 0)).toThrow(/five or six fields/);
    expect(() => findNextOccurrence(cronSlot('0 0 1 1 *', 'Mars/Olympus'), 0)).toThrow(/not a zone/);
  });
});
