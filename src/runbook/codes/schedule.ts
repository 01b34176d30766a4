/** The fourth part of the code table: warnings about a valid schedule that may surprise its author. */
import { type CodeRow, warning } from './row.ts';

export const SCHEDULE_CODES = {
  'schedule-dst-gap': warning({
    summary: 'a schedule with a time that will not exist when the clocks are put forward',
    cause: 'In the next twelve months the zone skips that hour; `dst: {gap: next_valid|skip}` sets what happens then.',
    example: 'schedule: {cron: "30 2 * * *", tz: Europe/Berlin}',
    fix: 'Move it out of the skipped hour, or run `runbook schedule preview` to see when it fires.',
  }),
  'schedule-dst-overlap': warning({
    summary: 'a schedule with a time that will come twice when the clocks are put back',
    cause: 'In the next twelve months the zone repeats that hour; `dst: {overlap: first|both}` sets what happens then.',
    example: 'schedule: {cron: "30 2 * * *", tz: Europe/Berlin}',
    fix: 'Move it out of the repeated hour, or run `runbook schedule preview` to see when it fires.',
  }),
  'schedule-collision': warning({
    summary: 'two slots due at the same instant under one concurrency key',
    cause: 'Only one run holds a concurrency key at a time; the other waits, is skipped or fails, as `on_busy` says.',
    example:
      'schedule: [{cron: "0 8 * * *", tz: UTC}, {cron: "0 8 * * 1", tz: UTC}]\nconcurrency: {key: account, on_busy: skip}',
    fix: 'Move one of them by more than the length of a run, or exclude the days they share.',
  }),
  'schedule-over': warning({
    summary: 'a schedule whose last time has passed',
    cause: '`to`, or the instant of `at`, is in the past: the schedule does not fire again.',
    example: 'schedule: {at: 2020-01-01T00:00:00Z}',
    fix: 'Remove the slot, or correct its dates.',
  }),
} as const satisfies Record<string, CodeRow>;

export type ScheduleCode = keyof typeof SCHEDULE_CODES;
