/** Lints of schedules, through the whole check: code, place, and the times in the message. */
import { describe, expect, it } from 'vitest';
import { placeDiagnostic } from '../../src/base/diagnostic.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { SCHEDULE_CODES } from '../../src/runbook/codes/schedule.ts';
import { lintSchedule } from '../../src/runbook/schedule/lints.ts';

const NOW = Date.parse('2026-01-05T08:00:00Z');

function lint(
  schedule: string,
  rest = '',
  nowMs = NOW,
): readonly { readonly code: string; readonly at: string; readonly message: string }[] {
  const text = `runbook: nightly\ndsl: 1\n${rest}schedule:\n${schedule}\nsteps:\n  - read_account: {}\n`;
  const { diagnostics } = checkRunbook({ file: 'nightly.yaml', text }, () => undefined, {
    scheduleLint: (runbook) => lintSchedule(runbook, nowMs),
  });
  return diagnostics
    .map(placeDiagnostic)
    .map(({ code, line, column, message }) => ({ code, at: `${line}:${column}`, message }));
}

describe('invalid schedules', () => {
  it.each([
    ['{every: 0s}', [['duration-not-positive', '0s']]],
    ['{every: 999ms}', [['schedule-every', '999ms']]],
    ['{every: 1s}', []],
    [
      '{every: 1h, from: 2026-02-01T00:00:00Z, to: 2026-01-01T00:00:00Z}',
      [['schedule-window', '2026-01-01T00:00:00.000Z']],
    ],
  ])('%s is reported once', (schedule, expected) => {
    expect(lint(`  - ${schedule}`).map(({ code, message }) => [code, message])).toEqual(
      expected.map(([code, figure = '']) => [code, expect.stringContaining(figure)]),
    );
  });
});

describe('clock changes in the next twelve months', () => {
  it('cause a warning for a time that does not exist and for one that occurs twice, at the expression', () => {
    expect(lint('  - cron: "30 2 * * *"\n    tz: Europe/Berlin')).toEqual([
      {
        code: 'schedule-dst-gap',
        at: '4:11',
        message: expect.stringMatching(/^in Europe\/Berlin, 02:30 .*2026-03-29.*02:00 to 03:00.*\(gap: next_valid\)$/),
      },
      {
        code: 'schedule-dst-overlap',
        at: '4:11',
        message: expect.stringMatching(
          /^in Europe\/Berlin, 02:30 .*2026-10-25.*03:00 back to 02:00.*\(overlap: first\)$/,
        ),
      },
    ]);
  });

  it('cause no warning for other hours, for intervals, or in zones without clock changes', () => {
    expect(
      lint('  - {cron: "30 21 * * 1-5", tz: Europe/London}\n  - {every: 1h}\n  - {cron: "30 2 * * *", tz: Asia/Tokyo}'),
    ).toEqual([]);
  });

  it('cause no warning for a schedule of every hour', () => {
    expect(lint('  - {cron: "*/5 * * * *", tz: Europe/Berlin}')).toEqual([]);
  });

  it('cause no warning after the end of the schedule', () => {
    expect(lint('  - {cron: "30 2 * * *", tz: Europe/Berlin, to: 2026-03-01T00:00:00Z}')).toEqual([]);
  });
});

describe('schedules that do not fire', () => {
  it('are an error when no date lies between from and to', () => {
    expect(lint('  - {cron: "0 0 25 12 *", tz: UTC, from: 2026-01-01T00:00:00Z, to: 2026-06-01T00:00:00Z}')).toEqual([
      { code: 'schedule-never', at: '4:12', message: expect.stringContaining('"0 0 25 12 *"') },
    ]);
  });

  it('are only a warning when all dates have passed: a file must not break with age', () => {
    expect(lint('  - {at: 2025-12-24T18:00:00Z}')).toEqual([
      { code: 'schedule-over', at: '4:10', message: expect.stringContaining('passed') },
    ]);
    expect(lint('  - {at: 2025-12-24T18:00:00Z}', '', Date.parse('2025-12-24T17:59:00Z'))).toEqual([]);
  });

  it('are reported once for an expression that matches no date', () => {
    expect(lint('  - {cron: "0 0 31 2 *", tz: UTC}').map(({ code }) => code)).toEqual(['schedule-never']);
  });
});

describe('slots under one concurrency key', () => {
  const two = '  - {cron: "0 20 * * 1-5", tz: UTC}\n  - {cron: "0 15 * * 5", tz: America/New_York}';

  it('cause a warning at the later slot when both are due at one instant', () => {
    expect(lint(two, 'concurrency: {key: account, on_busy: skip}\n')).toEqual([
      {
        code: 'schedule-collision',
        at: '6:12',
        message: expect.stringMatching(/slots 0 and 1 .*2026-01-09T15:00:00\.000-05:00 .*"account".*skipped/),
      },
    ]);
  });

  it('cause no warning without a key, or when they never collide', () => {
    expect(lint(two)).toEqual([]);
    expect(
      lint(
        '  - {cron: "0 20 * * *", tz: UTC}\n  - {cron: "1 20 * * *", tz: UTC}',
        'concurrency: {key: account, on_busy: skip}\n',
      ),
    ).toEqual([]);
  });

  it('have the keys of their own inputs', () => {
    const keyed = `inputs:\n  market: {type: market, default: BTC-USD}\nconcurrency: {key: "desk-\${inputs.market}", on_busy: fail}\n`;
    const apart = '  - {cron: "0 20 * * *", tz: UTC}\n  - {cron: "0 20 * * *", tz: UTC, inputs: {market: ETH-USD}}';
    const same = '  - {cron: "0 20 * * *", tz: UTC}\n  - {cron: "0 20 * * *", tz: UTC, inputs: {market: BTC-USD}}';
    expect(lint(apart, keyed)).toEqual([]);
    expect(lint(same, keyed).map(({ code, message }) => [code, message])).toEqual([
      [
        'schedule-collision',
        expect.stringMatching(/slots 0 and 1 .*2026-01-05T20:00:00\.000\+00:00 .*"desk-BTC-USD".*fails/),
      ],
    ]);
  });
});

it('every code has a fix', () => {
  for (const row of Object.values(SCHEDULE_CODES)) expect(row.fix.length).toBeGreaterThan(10);
});
