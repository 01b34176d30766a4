/** Another attempt of a step, and the steps after a failure that was passed over, order by what was changed before: so does the plan. */
import { expect, it } from 'vitest';
import { planFor } from '../../src/app/plan.ts';
import { inputsFrom, loadedFrom, perform, START } from '../engine/stage.ts';
import { countSpent, findExceeded, findUnplanned } from './against-plan.ts';

const HEAD = `runbook: case
dsl: 1
leaves: {position: open, because: the case asks about the plan}
vars: {size: {type: size, init: 0.01}}
steps:
`;
const ORDER = 'place: {type: market, market: BTC-USD, side: long, size: size, price: 64100}';
const AGAIN = '    catch: [{on: any, then: retry}]\n';

it.each([
  [
    'an if that is tried again',
    `  - if: run.id != ''\n    do: [{${ORDER}}, {set: {size: size * 2}}, {assert: size > 0.03}]\n${AGAIN}`,
    '1923',
  ],
  [
    'a for_each that is tried again',
    `  - for_each: {each: n, in: "[1]", do: [{${ORDER}}, {set: {size: size * 2}}, {assert: size > 0.03}]}\n${AGAIN}`,
    '1923',
  ],
  [
    'an order after a handler that failed its step',
    `  - if: run.id != ''
    do:
      - assert: size > 1
        catch: [{on: any, do: [{set: {size: 0.1}}], then: fail}]
    catch: [{on: any, then: continue}]
  - ${ORDER}
`,
    '6410',
  ],
])('%s', async (_, steps, notional) => {
  const loaded = loadedFrom({ file: 'case.yaml', text: `${HEAD}${steps}` });
  const inputs = inputsFrom(loaded, {});
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' };
  const { entries } = await perform({ loaded, inputs, config: { markets: { 'BTC-USD': market } } });
  const plan = planFor(loaded.runbook, inputs, { now: START });
  expect([...findUnplanned(plan, entries), ...findExceeded(plan, entries)]).toEqual([]);
  expect(countSpent(entries).notional.toFixed()).toBe(notional);
});
