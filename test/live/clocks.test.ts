/** A scheduler whose clock differs from the venue's decides nothing, says so, and goes on once they agree. */
import { describe, expect, it } from 'vitest';

import { get, Scheduler } from '../cli/schedulers.ts';
import { scene, until } from './scene.ts';

const TICK = `runbook: tick
dsl: 1
schedule: {every: 1s, misfire: {within: 20s, then: run_once}}
steps: [{wait: 1ms}]
`;

describe.concurrent('a scheduler whose clock is an hour ahead of the venue', () => {
  it('decides nothing, raises an alarm, and recovers', { tags: ['long'] }, () =>
    scene({ runbook: TICK, profile: 'notify: {ops: {log: true}}' }, async ({ venue, start }) => {
      let behindMs = 3_600_000;
      venue.rules.push(() => ({ done: true, headers: { date: new Date(Date.now() - behindMs).toUTCString() } }));
      const scheduler = new Scheduler(start(['schedule', 'one.yaml', '--profile', 'p.yaml', '--port', '0']));
      const [alarm] = await scheduler.sees('clock_disagrees');
      expect(alarm).toMatchObject({ source: 'the venue' });
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect(
        ['occurrence_started', 'occurrence_missed', 'run_begun'].flatMap((each) => scheduler.events(each)),
      ).toEqual([]);
      behindMs = 0;
      await scheduler.sees('clock_agrees');
      const url = await scheduler.url();
      await scheduler.sees('run_ended');
      expect(scheduler.events('occurrence_missed')).toEqual([]);
      const page = (await get(`${url}/metrics`)).text;
      expect(page).toMatch(/perp_runbook_clock_ahead_seconds\{account="main"\} 0/);
      expect((await scheduler.stop('SIGTERM')).exit).toBe(143);
      await until(() => scheduler.started.child.exitCode !== null);
    }),
  );
});

const ORDERING = `runbook: ordering
dsl: 1
leaves: {position: open, because: the case is about its order}
schedule: {every: 1s, misfire: {within: 20s, then: run_once}, overlap: skip}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
`;

describe.concurrent('a scheduler whose clock is an hour ahead of a venue that is away', () => {
  it('begins nothing of what it has decided, once the venue answers', { tags: ['long'] }, () =>
    scene({ runbook: ORDERING }, async ({ venue, start }) => {
      let isAway = true;
      venue.rules.push(() =>
        isAway ? { cut: true } : { done: true, headers: { date: new Date(Date.now() - 3_600_000).toUTCString() } },
      );
      const scheduler = new Scheduler(start(['schedule', 'one.yaml', '--profile', 'p.yaml', '--port', '0']));
      await scheduler.sees('occurrence_started');
      isAway = false;
      await scheduler.sees('clock_disagrees');
      await scheduler.sees('run_ended');
      expect(scheduler.events('run_ended')).toMatchObject([{ outcome: 'refused' }]);
      expect([venue.placed, scheduler.events('run_begun')]).toEqual([[], []]);
      expect((await scheduler.stop('SIGTERM')).exit).toBe(143);
    }),
  );
});
