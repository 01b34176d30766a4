/** The price that a venue shows of a market order is not its own: neither a plan nor the run that is held to it takes it for one. */
import { expect, it } from 'vitest';
import { makeApprovedBounds, planFor } from '../../src/app/plan.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { inputsFrom, loadedFrom, perform, START } from '../engine/stage.ts';
import { findExceeded, findUnplanned } from './against-plan.ts';

const BUYS = 'place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}';

/** Shows another price of market orders than they were sent with. */
const showing = (price: string) => (venue: Transport) => ({
  async send(...sent: Parameters<Transport['send']>) {
    const reply = await venue.send(...sent);
    if (reply.kind !== 'answer' || sent[0].endpoint !== 'GET /orders') return reply;
    const answer = JSON.parse(reply.body) as { result: Record<string, unknown>[] };
    const result = answer.result.map((row) => (row['order_type'] === 'market' ? { ...row, price } : row));
    return { ...reply, body: JSON.stringify({ ...answer, result }) };
  },
});

it.each([
  [
    'an order at the price of one before',
    `  - id: entry\n    ${BUYS}\n  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: tick(entry.price)}\n`,
  ],
  ['a second market order', `  - ${BUYS}\n  - ${BUYS}\n`],
])('%s', async (_, steps) => {
  const text = `runbook: case\ndsl: 1\nleaves: {position: open, because: the case asks about the plan}\nsteps:\n${steps}`;
  const loaded = loadedFrom({ file: 'case.yaml', text });
  const inputs = inputsFrom(loaded, {});
  const plan = planFor(loaded.runbook, inputs, { now: START });
  const { entries, report } = await perform({
    loaded,
    inputs,
    bounds: makeApprovedBounds(plan),
    config: { markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100' } } },
    between: showing('70000'),
  });
  expect([report.outcome, report.error?.message]).toEqual(['succeeded', undefined]);
  expect([...findUnplanned(plan, entries), ...findExceeded(plan, entries)]).toEqual([]);
});
