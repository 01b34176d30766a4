/**
 * Tests drawn worlds whose journals once were no paths through the charts of their runbooks. Every world is asked it, with the
 * invariants.
 */
import { expect } from 'vitest';
import { findDeparture } from '../engine/chart-oracle.ts';
import { itFirst } from '../rows.ts';
import { simulate } from './world.ts';

/** What was refused, of the runs of a drawn world that have ended. */
async function listDepartures(drawn: number): Promise<readonly string[]> {
  const { runs } = await simulate({ drawn });
  return runs.flatMap(({ entries, name, shape }) => {
    if (entries.at(-1)?.type !== 'run.ended') return [];
    const departure = findDeparture(shape.runbook, entries);
    return departure === undefined ? [] : [`drawn ${drawn}, ${name}: ${departure}`];
  });
}

/** Of these worlds `npm test` has as many as it has time for. */
itFirst(8, [
  ['steps of finally that are skipped', 37],
  ['rounds in which nothing is done', 45],
  ['items that fail beside each other', 55],
  ['a condition in the catch of a parallel', 657],
  ['a time-out that rises through a loop', 101],
  ['a stop in the undo of a step', 246],
  ['a stop in a clause of finally', 64_000_022],
  ['a stop in a loop of finally', 64_000_050],
  ['a halt of the first step of on_error', 64_000_038],
  ['a call that stops the run behind a time-out', 64_000_235],
  ['ten retries of branches beside branches that wait', 64_000_019],
  ['an undo whose only step is skipped', 80_000_341],
  ['a failure that rises through a loop into the next item', 80_003_322],
  ['a time-out that rises from a called runbook', 80_003_408],
  ['branches that are left in one round and begin again in the next', 80_004_000],
  ['undos of two items, the newest first', 80_005_226],
  ['an item that ends with a step that is skipped', 82_000_400],
  ['an item that stops the run beside another', 80_008_026],
  ['a parallel step at the end of a called runbook', 80_008_314],
  ['a stop in a branch of on_error', 1212],
  ['a call that takes too long', 1254],
  ['a called runbook that stops on_error', 80_009_005],
  ['a time-out inside the handler of another', 80_004_388],
  ['a called runbook that leaves too much and whose on_error fails', 777_071],
  ['a halt inside a block that is retried, and then fails in another way', 720_001_802],
])('%s are in the chart', async (_what, drawn) => {
  expect(await listDepartures(drawn)).toEqual([]);
});
