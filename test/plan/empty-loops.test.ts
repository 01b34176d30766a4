/** A loop that certainly has no round arms no switch in a plan: the first order behind it does, as in the run. */
import { expect, it } from 'vitest';
import { planFor } from '../../src/app/plan.ts';
import { inputsFrom, loadedFrom, perform, START } from '../engine/stage.ts';
import { findExceeded, findUnplanned } from './against-plan.ts';

const HEAD = `runbook: case
dsl: 1
leaves: {position: open, because: the case asks about the plan}
vars: {kept: {type: list<order>, init: []}, n: {type: integer, init: 0}}
deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}
steps:
`;
const ORDER = 'place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000}';

const KEEP = `[{id: o, ${ORDER}}, {set: {kept: "kept.remove(k) + [o]"}}]`;

it.each([
  ['of a list', `for_each: {each: k, in: "kept.filter(x, x.terminal)", do: ${KEEP}}`],
  ['of a list, side by side', `parallel: {each: k, in: "kept.filter(x, x.terminal)", max: 2, do: [{${ORDER}}]}`],
])('%s', async (_, loop) => {
  const loaded = loadedFrom({
    file: 'case.yaml',
    text: `${HEAD}  - repeat: {max: 1, every: 1s, do: [{${loop}}, {set: {kept: kept}}]}\n  - ${ORDER}\n`,
  });
  const inputs = inputsFrom(loaded, {});
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
  const { entries, books } = await perform({ loaded, inputs, config: { markets: { 'BTC-USD': market } } });
  const plan = planFor(loaded.runbook, inputs, { now: START });
  expect([...findUnplanned(plan, entries), ...findExceeded(plan, entries)]).toEqual([]);
  expect(books.deadman.events.map(({ event }) => event)).toContain('armed');
});
