/** The stops that an exit puts back are rows of the plan, also those of other steps. */
import { expect, it } from 'vitest';
import { planFor } from '../../src/app/plan.ts';
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import { inputsFrom, loadedFrom, perform, START } from '../engine/stage.ts';
import { findExceeded, findUnplanned } from './against-plan.ts';

const HEAD = `runbook: case
dsl: 1
feeds: {mid: {type: price, max_age: 5s}}
leaves: {position: open, because: the case asks about the plan}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}
`;
const ordered = (terms: string) =>
  `  - place: {market: BTC-USD, side: short, size: 0.1, trigger: 60000, ${terms}}\n    allow: reduce\n`;
const STOPS = [
  [
    'stop_loss',
    '  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 0.5, trigger: 60000, price: 59000}}\n',
  ],
  ['stop_limit', ordered('type: stop_limit, price: 59000, tif: post_only')],
  ['stop_market', ordered('type: stop_market')],
  ['stop_market with a price', ordered('type: stop_market, price: 59000')],
] as const;
const EXITS = [
  'close: BTC-USD',
  'manage: {market: BTC-USD, side: short, take_profit: {trigger: 70000, price: 70000}, time_limit: 3s}',
] as const;

/** Every market order but the first. */
const REFUSED: FaultRule[] = [
  { on: 'POST /orders', when: { type: 'market', call: '2+' }, do: 'error', error: 'INSUFFICIENT_MARGIN' },
];

async function play(steps: string, faults = REFUSED) {
  const loaded = loadedFrom({ file: 'case.yaml', text: `${HEAD}${steps}` });
  const inputs = inputsFrom(loaded, {});
  const { entries, books } = await perform({
    loaded,
    inputs,
    config: {
      markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' } },
      faults,
    },
  });
  const plan = planFor(loaded.runbook, inputs, { now: START });
  const stops = books.orders.filter(({ type }) => type.startsWith('stop'));
  return { plan, entries, stops: stops.map(({ type, status }) => `${type} ${status}`) };
}

it.each(EXITS.flatMap((exit) => STOPS.map(([stop, step]) => [stop, exit, step] as const)))(
  'a %s of another step, by %s',
  async (stop, exit, step) => {
    const { plan, entries, stops } = await play(`${step}  - ${exit}\n`);
    const [type] = stop.split(' ');
    expect(stops).toEqual([`${type} canceled`, `${type} open`]);
    expect([...findUnplanned(plan, entries), ...findExceeded(plan, entries)]).toEqual([]);
  },
);

it('that of a manage itself is one beside those of other steps', async () => {
  const own = 'manage: {market: BTC-USD, side: short, stop_loss: {trigger: 60100, price: 59000}, time_limit: 3s}';
  const { plan, entries, stops } = await play(`${STOPS[0][1]}  - ${own}\n`);
  expect(stops).toEqual(['stop_loss canceled', 'stop_loss canceled', 'stop_loss open']);
  expect([...findUnplanned(plan, entries), ...findExceeded(plan, entries)]).toEqual([]);
});

it('are within its bounds where a manage exits twice, and each time one stop of seven cannot be cancelled', async () => {
  const seven = [1, 2, 3, 4, 5, 6, 7].map((n) =>
    STOPS[0][1].replace('60000', String(60000 - n)).replace('0.5', '0.14'),
  );
  const faults = [2, 9].map(
    (call): FaultRule => ({ on: 'DELETE /orders', when: { call }, do: 'error', error: 'INVALID_PARAMETER' }),
  );
  const { plan, entries, stops } = await play(`${seven.join('')}  - ${EXITS[1]}\n`, faults);
  expect(stops).toHaveLength(7 + 2 * 6);
  expect([...findUnplanned(plan, entries), ...findExceeded(plan, entries)]).toEqual([]);
});

it('are no rows where no other step places such a stop', async () => {
  const own = 'manage: {market: BTC-USD, side: short, stop_loss: {trigger: 60100, price: 59000}, time_limit: 3s}';
  const { plan } = await play(`  - ${own}\n`);
  const placed = plan.rows.flatMap((row) =>
    row.kind === 'request' && row.step.endsWith(':manage') && row.path === '/orders' && row.method === 'POST'
      ? [[row.params['type'], row.params['size']]]
      : [],
  );
  expect(placed).toEqual([
    ['stop_loss', '1'],
    ['market', expect.anything()],
    ['stop_loss', '1'],
  ]);
});
