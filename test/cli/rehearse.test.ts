/** Tests that a past run's market is played for another runbook: its prices, its feeds, the answers of its people. */
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import type { RunReport } from '../../src/report/folds/run.ts';
import { folder } from './command.ts';

const TURN = `runbook: turn
dsl: 1
limits: {markets: [BTC-USD]}
leaves: {position: none}
inputs: {pause: {type: duration, default: 5m}}
feeds:
  mid: {type: price, max_age: 5s}
  funding: {type: number, max_age: 5s}
vars:
  seen: {type: price, init: 0}
  rate: {type: number, init: 0}
steps:
  - id: go
    approve: {ask: go on?, by: [ops], within: 10m}
  - id: entry
    place: {type: market, market: BTC-USD, side: long, size: 0.01, price: tick(feeds.mid * 1.01)}
    await: filled
  - repeat:
      every: 10s
      for: inputs.pause
      do:
        - set: {seen: feeds.mid, rate: feeds.funding}
  - place: {type: market, market: BTC-USD, side: short, size: entry.filled, price: tick(feeds.mid * 0.99)}
    await: filled
outputs: {seen: seen, rate: rate}
`;

describe('rehearse', () => {
  const here = folder();
  here.write('turn.yaml', TURN);
  here.write('double.yaml', TURN.replace('size: 0.01', 'size: 0.02'));
  here.write('funding.csv', 'time,value\n2026-01-05T07:00:00Z,0.0001\n2026-01-05T08:04:00Z,-0.0003\n');
  const given = ['--at', '2026-01-05T08:00:00Z', '--seed', '7', '--feed', 'funding=funding.csv'];
  here.run('dry-run', 'turn.yaml', '--answer', 'go=approve:90s', ...given);

  it('shows what the run did, what it does again, and what the changed runbook does in the same market', () => {
    const { exit, out } = here.run('rehearse', 'last', '--with', 'double.yaml', '--json');
    const report: Readonly<Record<'recorded' | 'again' | 'changed', RunReport>> = JSON.parse(out);
    const { recorded, again, changed } = report;
    expect(exit).toBe(EXIT.done);
    for (const each of [recorded, again, changed]) {
      expect(each.startedAt).toBe('2026-01-05T08:00:00.000Z');
      // The recorded answer came 90 s after the question, and the feeds have the values of then.
      expect(each.steps[0]).toMatchObject({ id: 'go', endedAt: '2026-01-05T08:01:30.000Z' });
      expect(each.outputs).toEqual(recorded.outputs);
    }
    expect(recorded.outputs['rate']).toBe('-0.0003');
    const net = (each: RunReport) => Number(each.money['BTC-USD']?.net);
    expect(net(changed) / net(again)).toBeCloseTo(2, 1);
    expect(Math.abs(net(again) - net(recorded))).toBeLessThan(Math.abs(net(recorded)) / 2 + 1);
    expect(changed.orders.map(({ filled }) => filled)).toEqual(['0.02', '0.02']);
  });

  it('keeps the changed run alone, and compares in a table', () => {
    const runs = () => JSON.parse(here.run('audit', 'list', '--json').out).runs.length;
    const before = runs();
    // The last run is the changed one of before: its runbook again is the same.
    const { out } = here.run('rehearse', 'last', '--with', 'double.yaml');
    expect(out).toMatch(/as it was +the same again +changed/);
    const [, ...columns] =
      out
        .split('\n')
        .find((line) => line.startsWith('BTC-USD net'))
        ?.trim()
        .split(/ {2,}/) ?? [];
    expect([columns.length, columns[1]]).toEqual([3, columns[2]]);
    expect(runs()).toBe(before + 1);
  });

  it('takes the answer and the inputs given before those recorded', () => {
    const { exit, out } = here.run('rehearse', 'last', '--with', 'turn.yaml', '--json', '--answer', 'go=reject');
    expect([exit, JSON.parse(out).changed.error.kind]).toEqual([EXIT.failed, 'approval_rejected']);
    here.run('dry-run', 'turn.yaml', '--answer', 'go=approve:90s', ...given);
    const { changed, again } = JSON.parse(
      here.run('rehearse', 'last', '--with', 'turn.yaml', '--json', '--input', 'pause=10s').out,
    );
    expect(Date.parse(changed.endedAt)).toBeLessThan(Date.parse(again.endedAt));
    expect(here.run('rehearse', 'last', '--with', 'turn.yaml', '--input', 'pause=2h').err).toMatch(
      /known until \S+, .* at the last price/,
    );
  });

  it('refuses a run that saw no price, and a run that is not there', () => {
    here.write('idle.yaml', 'runbook: idle\ndsl: 1\nsteps:\n  - wait: 1s\n');
    here.run('dry-run', 'idle.yaml', '--state', 'other');
    const { exit, out } = here.run('rehearse', 'last', '--with', 'turn.yaml', '--json', '--state', 'other');
    expect([exit, JSON.parse(out).error.message]).toEqual([EXIT.failed, expect.stringContaining('no price')]);
    expect(here.run('rehearse', 'nothing-like-it', '--with', 'turn.yaml').exit).toBe(EXIT.usage);
  });
});
