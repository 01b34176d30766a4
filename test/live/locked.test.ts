/** A journal's file that another process locks for a while: the run goes on, and so do its heartbeats. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { document, type Report, rests, scene } from './scene.ts';

const LOCKED_MS = 12_000;
const TIMEOUT_MS = 5_000;
const RUNBOOK = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about its journal}
deadman: {market: BTC-USD, timeout: 5s, on_exit: disarm}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - wait: 8s
  - cancel: o
    await: terminal
`;

it('does not hold up the heartbeats of a run, nor its cancel, nor end it', { tags: ['long'] }, () =>
  scene({ runbook: RUNBOOK }, async ({ venue, path, start, run }) => {
    const running = start(['run', 'one.yaml', '--profile', 'p.yaml', '--json']);
    await rests(venue);
    const other = await openDatabase(join(path, '.runbook/runbook.db'));
    other.exec('BEGIN IMMEDIATE');
    await pause(LOCKED_MS);
    const cancels = venue.of('DELETE', '/orders').length;
    other.exec('ROLLBACK');
    other.close();
    const ended = await running.ended;
    expect([ended.exit, (document(ended.out) as Report).outcome, cancels]).toEqual([0, 'succeeded', 1]);
    const heartbeats = venue.of('POST', '/cancel_all_after').map(({ at }) => at);
    const pauses = heartbeats.slice(1).map((at, index) => at - (heartbeats[index] ?? 0));
    expect(Math.max(...pauses)).toBeLessThan(TIMEOUT_MS);
    expect((await run(['audit', 'verify', '--json'])).exit).toBe(0);
  }),
);
