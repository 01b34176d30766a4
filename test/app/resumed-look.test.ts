/** Tests that a run which dies while it looks at what it leaves is judged by what its next process reads. */
import { afterEach, expect, it } from 'vitest';
import type { Transport } from '../../src/gateway/transport.ts';
import { World } from './live-host.ts';

const marketAt = (start: string) => ({
  tick: '1',
  lot: '0.0001',
  start,
  spreadBps: 0,
  depth: '100',
  path: { kind: 'points' as const, points: [{ afterMs: 0, price: start }] },
});
const CONFIG = { markets: { 'BTC-USD': marketAt('64000'), 'ETH-USD': marketAt('3200') } };

/** A market order and its stop. */
const hold = (
  market: string,
  price: number,
) => `  - place: {type: market, market: ${market}, side: long, size: 0.1, price: ${price + 100}}
  - protect: {market: ${market}, side: short, stop_loss: {fraction: 1, trigger: ${price - 500}, price: ${price - 550}}}
`;

let world: World;
afterEach(() => world.close());

it.each([
  ['its steps, and closes what it held', 61_500, ['0.1', '0.1', '0.1']],
  ['what finally did', 64_000, ['0.1', '0.1']],
])('sees a stop that was cancelled meanwhile, behind %s', async (_, hangsFromMs, traded) => {
  const seen = { cancelled: false, hangs: false };
  /** From then on the stop in BTC is shown as cancelled, and a reading of ETH gets no answer. */
  const between = (venue: Transport): Transport => ({
    ...venue,
    async send(request, options) {
      const reply = await venue.send(request, options);
      if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer') return reply;
      if (seen.hangs && JSON.stringify(request.params).includes('ETH-USD')) return new Promise(() => {});
      const { result } = JSON.parse(reply.body) as { result: Record<string, unknown>[] };
      const isGone = (row: Record<string, unknown>) =>
        seen.cancelled && row['order_type'] === 'stop_loss' && row['market_id'] === 'BTC-USD';
      const rows = result.map((row) => (isGone(row) ? { ...row, status: 'canceled' } : row));
      return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
    },
  });
  world = new World({ config: CONFIG, between });
  const { time } = world;
  const begun = time.now();
  const first = await time.runUntil(world.openProcess());
  const steps = `${hold('BTC-USD', 64_000)}${hold('ETH-USD', 3200)}  - wait: 1m\n`;
  const ways = 'finally: [{wait: 3s}]\non_error: [{close: {market: BTC-USD, feed: 64000, slip: 5%}}]\n';
  const text = `runbook: two\ndsl: 1\nleaves: {position: protected}\n${ways}steps:\n${steps}`;
  void (await time.runUntil(first.begin('a', text))).waitForEnd();
  await time.advanceTo(begun + hangsFromMs);
  seen.hangs = true;
  // It has read BTC and waits for ETH.
  await time.advanceTo(begun + hangsFromMs + 2500);
  first.die();
  Object.assign(seen, { cancelled: true, hangs: false });
  const second = await time.runUntil(world.openProcess());
  const run = second.live('a');
  await time.runUntil(run.resume());
  const { outcome, error } = await time.runUntil(run.waitForEnd());
  expect([outcome, error?.kind]).toEqual(['failed', 'unprotected_position']);
  const filled = world.books.orders.flatMap(({ type, filled: size }) => (type === 'market' ? [size] : []));
  expect(filled).toEqual(traded);
});
