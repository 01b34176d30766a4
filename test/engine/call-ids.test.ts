/** Tests that no two calls of a run have the same id, where its steps are done again. */
import { expect, it } from 'vitest';
import { loadedFrom, perform, replay, type Scene } from './stage.ts';

const READ = 'list_orders: {market: BTC-USD, since: now - hours(1)}';
const FAIL = 'fail: {because: it does}';

it.each([
  ['a clause that is taken again', `  - assert: now != now\n    catch: [{on: any, do: [{${READ}}], then: retry}]\n`],
  ['a block', `  - if: now == now\n    do: [{${READ}}, {${FAIL}}]\n    catch: [{on: any, then: retry}]\n`],
  [
    'a loop',
    `  - for_each: {each: n, in: range(2), do: [{${READ}}, {if: n == 1, ${FAIL}}]}\n    catch: [{on: any, then: retry}]\n`,
  ],
  [
    'a branch',
    `  - parallel: {branches: {a: [{${READ}}, {${FAIL}}], b: [{${READ}}]}, join: all, on_fail: let_others_finish}\n    catch: [{on: any, then: retry}]\n`,
  ],
  [
    'a wait',
    `  - wait_for: {read: {id: left, ${READ}}, until: left.orders.size() > 9, every: 1s, within: 2s}\n    catch: [{on: any, then: retry}]\n`,
  ],
  [
    'a repetition',
    `  - repeat: {max: 2, do: [{${READ}}, {wait: 1s}]}\n    timeout: 1500ms\n    catch: [{on: any, then: retry}]\n`,
  ],
])('%s', async (_what, steps) => {
  const text = `runbook: case\ndsl: 1\nsteps:\n${steps}`;
  const scene: Scene = { loaded: loadedFrom({ file: 'case.yaml', text }), inputs: {}, config: {} };
  const performance = await perform(scene);
  await replay(performance, scene);
  const ids = performance.entries.flatMap((entry) => (entry.type === 'call.intended' ? [entry.data.call] : []));
  expect(ids.length).toBeGreaterThan(3);
  expect(new Set(ids).size).toBe(ids.length);
});
