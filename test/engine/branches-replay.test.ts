/** Tests that a virtual run whose branches touch one order at one instant replays: what one of them has sent the others do not know yet. */
import { expect, it } from 'vitest';
import { inputsFrom, loadedFrom, perform, replay } from './stage.ts';

const MARKET = {
  tick: '1',
  lot: '0.0001',
  start: '64000',
  spreadBps: 0,
  depth: '100',
  path: { kind: 'points' as const, points: [{ afterMs: 0, price: '64000' }] },
};
const CATCH = 'catch: [{on: any, then: continue}]';
const AMEND = `{amend: {order: o, price: 60100}, ${CATCH}}`;

it.each([
  ['a cancel beside an amend', '{cancel: o}', AMEND],
  ['an amend beside a cancel', AMEND, '{cancel: o}'],
  ['a cancel of all beside an amend', '{cancel: {mine: BTC-USD}}', AMEND],
  ['an amend beside a cancel of all', AMEND, '{cancel: {mine: BTC-USD}}'],
  ['an amend beside an amend', AMEND, AMEND.replace('60100', '60200')],
])('%s', async (_, first, second) => {
  const text = `runbook: beside
dsl: 1
leaves: {position: open, because: a case}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
  - parallel:
      branches:
        a: [${first}]
        b: [${second}]
`;
  const loaded = loadedFrom({ file: 'beside.yaml', text });
  const scene = { loaded, inputs: inputsFrom(loaded, {}), config: { markets: { 'BTC-USD': MARKET } } };
  const performance = await perform(scene);
  expect(performance.books.orders).toHaveLength(1);
  await replay(performance, scene);
});
