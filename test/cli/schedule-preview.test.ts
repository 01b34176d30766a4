import { describe, expect, it } from 'vitest';
import { folder } from './command.ts';

const NIGHTLY = `
runbook: nightly
dsl: 1
schedule:
  - {cron: "30 2 * * *", tz: Europe/Berlin}
  - {cron: "0 3 * * 0", tz: Europe/Berlin}
concurrency: {key: account, on_busy: queue}
steps:
  - read_account: {}
`;

describe('runbook schedule preview', () => {
  const at = folder();
  at.write('nightly.yaml', NIGHTLY);
  const from = ['--from', '2026-03-28T00:00:00Z', '--next', '3'];

  it('lists what would fire, in UTC and local time, with the effect of clock changes', () => {
    const { exit, out } = at.run('schedule', 'preview', 'nightly.yaml', ...from);
    expect(exit).toBe(0);
    expect(out).toBe(
      [
        '2026-03-28 01:30Z  Sat 2026-03-28 02:30 +01:00 Europe/Berlin  nightly  slot 0',
        '2026-03-29 01:00Z  Sun 2026-03-29 03:00 +02:00 Europe/Berlin  nightly  slot 0',
        '    02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): fires at 03:00 instead',
        '    due together with nightly slot 1 under the concurrency key "account": one waits for the other',
        '2026-03-29 01:00Z  Sun 2026-03-29 03:00 +02:00 Europe/Berlin  nightly  slot 1',
        '    due together with nightly slot 0 under the concurrency key "account": one waits for the other',
        '',
      ].join('\n'),
    );
  });

  it('prints one document with --json', () => {
    const { out } = at.run('schedule', 'preview', '.', ...from, '--json');
    expect(JSON.parse(out)).toEqual({
      occurrences: [
        { runbook: 'nightly', slot: '0', at: '2026-03-28T01:30:00.000Z', local: '2026-03-28T02:30:00.000+01:00' },
        {
          runbook: 'nightly',
          slot: '0',
          at: '2026-03-29T01:00:00.000Z',
          local: '2026-03-29T03:00:00.000+02:00',
          note: '02:30 does not exist on 2026-03-29 (the clocks go from 02:00 to 03:00): fires at 03:00 instead; due together with nightly slot 1 under the concurrency key "account": one waits for the other',
        },
        {
          runbook: 'nightly',
          slot: '1',
          at: '2026-03-29T01:00:00.000Z',
          local: '2026-03-29T03:00:00.000+02:00',
          note: 'due together with nightly slot 0 under the concurrency key "account": one waits for the other',
        },
      ],
    });
  });

  it('shows how much jitter may delay a start', () => {
    const there = folder();
    const words = ['schedule', 'preview', 'shifted.yaml', ...from];
    const shifted = (slot: string) =>
      there.write('shifted.yaml', NIGHTLY.replace('{cron: "30 2', `{${slot}, cron: "30 2`));
    shifted('jitter: 5m, misfire: {within: 20m, then: run_once}');
    expect(there.run(...words).out).toContain('\n    starts up to 5 min later (jitter)\n');
    expect(JSON.parse(there.run(...words, '--json').out).occurrences[0].note).toBe('starts up to 5 min later (jitter)');
    // Half of the window of a minute is left for a late check.
    shifted('jitter: 5m');
    expect(JSON.parse(there.run(...words, '--json').out).occurrences[0].note).toBe(
      'starts up to 30 s later (jitter of 5 min, as far as misfire.within and the next occurrence leave room)',
    );
  });

  it.each(['month.svg', 'month.html'])('draws the month into %s', (name) => {
    expect(at.run('schedule', 'preview', 'nightly.yaml', ...from, '--calendar', name).exit).toBe(0);
    const text = at.read(name);
    expect(text).toContain('Schedules, March 2026');
    expect(text).toContain('clocks 02:00 → 03:00');
    expect(text.startsWith(name.endsWith('svg') ? '<svg' : '<!doctype html>')).toBe(true);
    expect(text).not.toMatch(/<script|(?:src|href)=/);
  });

  it.each([
    [['nightly.yaml', '--next', '0'], 2, '--next takes a number'],
    [['nightly.yaml', '--from', 'tomorrow'], 2, '--from takes a time'],
    [['nightly.yaml', '--calendar', 'month.png'], 2, '.svg or .html'],
    [['nowhere.yaml'], 2, 'no such file'],
  ])('refuses %j', (words, exit, text) => {
    const ended = at.run('schedule', 'preview', ...words);
    expect(ended.exit).toBe(exit);
    expect(ended.err).toContain(text);
  });
});
