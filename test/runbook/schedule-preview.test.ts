/** The preview of schedules: rows, text, JSON, and a month as a drawing. */
import { describe, expect, it } from 'vitest';
import type { ScheduleDeclaration } from '../../src/runbook/checked.ts';
import { drawCalendar } from '../../src/runbook/schedule/calendar-drawing.ts';
import type { ScheduledSlot } from '../../src/runbook/schedule/collisions.ts';
import { formatPreview, previewSchedule, toPreviewJson } from '../../src/runbook/schedule/preview.ts';
import { atSlot, cronSlot, everySlot, MINUTE_MS } from './sample-schedule.ts';

const slotOf = (runbook: string, declaration: ScheduleDeclaration, key?: string): ScheduledSlot => ({
  runbook,
  declaration,
  ...(key !== undefined && { concurrency: { key, onBusy: 'queue' as const } }),
});
const fromMs = Date.parse('2026-03-27T12:00:00Z');

describe('the next occurrences', () => {
  const slots = [
    slotOf('flatten', cronSlot('30 2 * * *', 'Europe/Berlin')),
    slotOf('housekeeping', cronSlot('30 21 * * 1-5', 'Europe/London', { slot: '1' })),
  ];

  it('are one list by instant, in UTC and in local time, with the effects of clock changes', () => {
    expect(toPreviewJson(previewSchedule(slots, { fromMs, next: 4 }))).toEqual({
      occurrences: [
        { runbook: 'housekeeping', slot: '1', at: '2026-03-27T21:30:00.000Z', local: '2026-03-27T21:30:00.000+00:00' },
        { runbook: 'flatten', slot: '0', at: '2026-03-28T01:30:00.000Z', local: '2026-03-28T02:30:00.000+01:00' },
        {
          runbook: 'flatten',
          slot: '0',
          at: '2026-03-29T01:00:00.000Z',
          local: '2026-03-29T03:00:00.000+02:00',
          note: '02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): fires at 03:00 instead',
        },
        { runbook: 'flatten', slot: '0', at: '2026-03-30T00:30:00.000Z', local: '2026-03-30T02:30:00.000+02:00' },
      ],
    });
  });

  it('are a table on a terminal', () => {
    expect(formatPreview(previewSchedule(slots, { fromMs, next: 3 }))).toBe(
      [
        '2026-03-27 21:30Z  Fri 2026-03-27 21:30 +00:00 Europe/London  housekeeping  slot 1',
        '2026-03-28 01:30Z  Sat 2026-03-28 02:30 +01:00 Europe/Berlin  flatten       slot 0',
        '2026-03-29 01:00Z  Sun 2026-03-29 03:00 +02:00 Europe/Berlin  flatten       slot 0',
        '    02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): fires at 03:00 instead',
        '',
      ].join('\n'),
    );
  });

  it('note times skipped by a gap at the next occurrence', () => {
    const rows = previewSchedule(
      [slotOf('flatten', cronSlot('30 2 * * *', 'Europe/Berlin', { dst: { gap: 'skip', overlap: 'first' } }))],
      { fromMs, next: 3 },
    );
    expect(rows.map(({ local, notes }) => [local.slice(0, 16), notes])).toEqual([
      ['2026-03-28T02:30', []],
      [
        '2026-03-30T02:30',
        ['before it, 02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): skipped'],
      ],
      ['2026-03-31T02:30', []],
    ]);
  });

  it('note slots that are due together under one key', () => {
    const together = [
      slotOf('a', everySlot(60 * MINUTE_MS), 'account'),
      slotOf('b', everySlot(120 * MINUTE_MS), 'account'),
      slotOf('c', everySlot(60 * MINUTE_MS), 'desk'),
    ];
    expect(
      previewSchedule(together, { fromMs, next: 4 }).map(({ runbook, at, notes }) => [
        runbook,
        at.slice(11, 16),
        notes,
      ]),
    ).toEqual([
      ['a', '12:00', ['due together with b slot 0 under the concurrency key "account": one waits for the other']],
      ['b', '12:00', ['due together with a slot 0 under the concurrency key "account": one waits for the other']],
      ['c', '12:00', []],
      ['a', '13:00', []],
    ]);
  });

  it('end where the schedules end', () => {
    expect(
      previewSchedule([slotOf('once', atSlot('2026-04-01T00:00:00Z'))], { fromMs, next: 20 }).map(({ at }) => at),
    ).toEqual(['2026-04-01T00:00:00.000Z']);
    expect(formatPreview([])).toBe('Nothing would fire.\n');
  });

  it('escape control characters of a name for the terminal', () => {
    const text = formatPreview(previewSchedule([slotOf('a\u001b[2J', everySlot(MINUTE_MS))], { fromMs, next: 1 }));
    expect(text).toContain('a\\u001b[2J');
    expect(text).not.toContain('\u001b');
  });
});

describe('a month', () => {
  const slots = [
    slotOf('flatten', cronSlot('30 2 * * *', 'Europe/Berlin')),
    slotOf('watch & <wait>', everySlot(5 * MINUTE_MS)),
    slotOf('close', cronSlot('0 16 * * 1-5', 'America/New_York')),
  ];
  const svg = drawCalendar(slots, { year: 2026, month: 3, zone: 'Europe/Berlin' });

  it('describes itself for screen readers', () => {
    expect(svg).toMatch(
      /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^>]* role="img" aria-labelledby="calendar-title calendar-desc">/,
    );
    expect(svg).toContain('<title id="calendar-title">Schedules, March 2026</title>');
    // 31 × flatten, 22 weekdays of close, and 31 days of every five minutes without the lost hour.
    expect(svg).toContain(
      `<desc id="calendar-desc">${31 + 22 + 31 * 288 - 12} occurrences on 31 days, at local times of Europe/Berlin. On 2026-03-29 the clocks 02:00 → 03:00.</desc>`,
    );
  });

  it('has every day, and marks the day of a clock change', () => {
    expect([...svg.matchAll(/<text class="day"[^>]*>(\d+)</g)].map(([, day]) => Number(day))).toEqual(
      Array.from({ length: 31 }, (_, index) => index + 1),
    );
    expect([...svg.matchAll(/<g class="shifted">.*?class="day"[^>]*>(\d+)</g)].map(([, day]) => day)).toEqual(['29']);
    expect(svg).toContain('<text class="changed"');
    expect(svg).toContain('fires at 03:00 instead</title>03:00 flatten</text>');
  });

  it('shows a slot of another zone at its time in this zone, and counts frequent occurrences', () => {
    expect(svg).toContain('22:00 close slot 0</title>');
    // New York changes three weeks before Berlin.
    expect(svg).toContain('21:00 close slot 0</title>');
    expect(svg).toContain('00:00–23:55 ×288 watch &amp; &lt;wait&gt; slot 0');
    expect(svg).toContain('00:00–23:55 ×276 watch &amp; &lt;wait&gt; slot 0');
  });

  it('contains no markup from a runbook, no script and no external reference', () => {
    const hostile = drawCalendar(
      [slotOf('</text><script>alert(1)</script>"\'&\u0000\u202e', everySlot(60 * MINUTE_MS))],
      { year: 2026, month: 2, zone: 'UTC' },
    );
    expect(hostile).not.toMatch(/<script|\u0000|\u202e/);
    expect(hostile).toContain('&lt;script&gt;');
    expect(hostile.match(/(?:href|src|url)\s*[=(]/g)).toBeNull();
    const open: string[] = [];
    for (const [, close, name = '', empty] of hostile.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
      if (close) expect(open.pop()).toBe(name);
      else if (!empty) open.push(name);
    }
    expect(open).toEqual([]);
  });

  it('has a dark color scheme', () => {
    expect(svg).toContain('@media (prefers-color-scheme:dark)');
  });
});
