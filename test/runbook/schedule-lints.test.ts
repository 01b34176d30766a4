/** Lints of schedules, through the check as an author meets them: code, place and what is said. */
import { describe, expect, it } from 'vitest';
import { place } from '../../src/base/diagnostic.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { SCHEDULE_CODES } from '../../src/runbook/codes/schedule.ts';
import { scheduleDiagnostics } from '../../src/runbook/schedule/lints.ts';

const NOW = Date.parse('2026-01-05T08:00:00Z');

function lint(
  schedule: string,
  rest = '',
  nowMs = NOW,
): readonly { readonly code: string; readonly at: string; readonly message: string }[] {
  const text = `runbook: nightly\ndsl: 1\n${rest}schedule:\n${schedule}\nsteps:\n  - read_account: {}\n`;
  const { diagnostics } = checkRunbook({ file: 'nightly.yaml', text }, () => undefined, {
    scheduleLint: (runbook) => scheduleDiagnostics(runbook, nowMs),
  });
  return diagnostics.map(place).map(({ code, line, column, message }) => ({ code, at: `${line}:${column}`, message }));
}

describe('what can not be a schedule', () => {
  it.each([
    ['{every: 0s}', [['duration-not-positive', 'every must be longer than nothing, found 0s']]],
    ['{every: 999ms}', [['schedule-every', 'every is at least 1s, found 999ms']]],
    ['{every: 1s}', []],
    [
      '{every: 1h, from: 2026-02-01T00:00:00Z, to: 2026-01-01T00:00:00Z}',
      [['schedule-window', 'to 2026-01-01T00:00:00.000Z is not after from 2026-02-01T00:00:00.000Z']],
    ],
  ])('%s is told once, for what it is', (schedule, told) => {
    expect(lint(`  - ${schedule}`).map(({ code, message }) => [code, message])).toEqual(told);
  });
});

describe('changes of the clocks in the next twelve months', () => {
  it('warns of a time that will not exist, and of one that comes twice, at the expression', () => {
    expect(lint('  - cron: "30 2 * * *"\n    tz: Europe/Berlin')).toEqual([
      {
        code: 'schedule-dst-gap',
        at: '4:11',
        message:
          'in Europe/Berlin, 02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): fires at 03:00 instead (gap: next_valid)',
      },
      {
        code: 'schedule-dst-overlap',
        at: '4:11',
        message:
          'in Europe/Berlin, 02:30 comes twice on 2026-10-25 (the clocks go from 03:00 back to 02:00): fires the first time only (overlap: first)',
      },
    ]);
  });

  it('says nothing of hours that no change touches, of intervals, or of zones that change no clocks', () => {
    expect(
      lint('  - {cron: "30 21 * * 1-5", tz: Europe/London}\n  - {every: 1h}\n  - {cron: "30 2 * * *", tz: Asia/Tokyo}'),
    ).toEqual([]);
  });

  it('says nothing of what fires through every hour', () => {
    expect(lint('  - {cron: "*/5 * * * *", tz: Europe/Berlin}')).toEqual([]);
  });

  it('says nothing of changes after the schedule has ended', () => {
    expect(lint('  - {cron: "30 2 * * *", tz: Europe/Berlin, to: 2026-03-01T00:00:00Z}')).toEqual([]);
  });
});

describe('schedules that do not fire', () => {
  it('is an error when no date lies between from and to', () => {
    expect(lint('  - {cron: "0 0 25 12 *", tz: UTC, from: 2026-01-01T00:00:00Z, to: 2026-06-01T00:00:00Z}')).toEqual([
      { code: 'schedule-never', at: '4:12', message: '"0 0 25 12 *" never fires between its from and to' },
    ]);
  });

  it('is a warning when all dates have passed, for a file does not break by lying there', () => {
    expect(lint('  - {at: 2025-12-24T18:00:00Z}')).toEqual([
      { code: 'schedule-over', at: '4:10', message: 'the one time fires no more: its last time has passed' },
    ]);
    expect(lint('  - {at: 2025-12-24T18:00:00Z}', '', Date.parse('2025-12-24T17:59:00Z'))).toEqual([]);
  });

  it('is said once of an expression that fits no date', () => {
    expect(lint('  - {cron: "0 0 31 2 *", tz: UTC}').map(({ code }) => code)).toEqual(['schedule-never']);
  });
});

describe('slots under one concurrency key', () => {
  const two = '  - {cron: "0 20 * * 1-5", tz: UTC}\n  - {cron: "0 15 * * 5", tz: America/New_York}';

  it('warns where they are due at one instant, at the later slot', () => {
    expect(lint(two, 'concurrency: {key: account, on_busy: skip}\n')).toEqual([
      {
        code: 'schedule-collision',
        at: '6:12',
        message:
          'slots 0 and 1 are both due at 2026-01-09T15:00:00.000-05:00 under the concurrency key "account": one of them is skipped',
      },
    ]);
  });

  it('says nothing without a key, or when they never meet', () => {
    expect(lint(two)).toEqual([]);
    expect(
      lint(
        '  - {cron: "0 20 * * *", tz: UTC}\n  - {cron: "1 20 * * *", tz: UTC}',
        'concurrency: {key: account, on_busy: skip}\n',
      ),
    ).toEqual([]);
  });

  it('tells keys apart by the inputs of the slot', () => {
    const keyed = `inputs:\n  market: {type: market, default: BTC-USD}\nconcurrency: {key: "desk-\${inputs.market}", on_busy: fail}\n`;
    const apart = '  - {cron: "0 20 * * *", tz: UTC}\n  - {cron: "0 20 * * *", tz: UTC, inputs: {market: ETH-USD}}';
    const same = '  - {cron: "0 20 * * *", tz: UTC}\n  - {cron: "0 20 * * *", tz: UTC, inputs: {market: BTC-USD}}';
    expect(lint(apart, keyed)).toEqual([]);
    expect(lint(same, keyed).map(({ code, message }) => [code, message])).toEqual([
      [
        'schedule-collision',
        'slots 0 and 1 are both due at 2026-01-05T20:00:00.000+00:00 under the concurrency key "desk-BTC-USD": one of them fails',
      ],
    ]);
  });
});

it('every code says what to do about it', () => {
  for (const row of Object.values(SCHEDULE_CODES)) expect(row.fix.length).toBeGreaterThan(10);
});
