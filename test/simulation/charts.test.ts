/** Tests that the journals of drawn worlds are paths through the charts of their runbooks. */
import { expect, it } from 'vitest';
import { findDeparture } from '../engine/chart-oracle.ts';
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

it.each([
  ['steps of finally that are skipped', 37],
  ['rounds in which nothing is done', 45],
  ['items that fail beside each other', 55],
  ['a condition in the catch of a parallel', 657],
  ['a time-out that rises through a loop', 101],
  ['a stop in the undo of a step', 246],
])('%s are in the chart', async (_what, drawn) => {
  expect(await listDepartures(drawn)).toEqual([]);
});

it('202 worlds follow their charts', { tags: ['long'], timeout: 600_000 }, async () => {
  const departures: string[] = [];
  // Beside the first 200, a `stop` in a clause and in a loop of `finally`.
  const drawn = [...Array.from({ length: 200 }, (_, index) => index), 64_000_022, 64_000_050];
  for (const each of drawn) departures.push(...(await listDepartures(each)));
  expect(departures).toEqual([]);
});
