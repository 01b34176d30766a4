/** Tests what a run says of an order whose end no answer shows, live and over HTTP. */
import { expect, it } from 'vitest';
import { scene } from './scene.ts';

const RUNBOOK = `runbook: unseen
dsl: 1
leaves: {position: protected}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.02, price: 19800}
  - cancel: o
  - if: o.filled > 0
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 19000, price: 18500}}
  - fail: {because: meant}
`;

it(
  'names the order where a run fails, and no answer shows what it has filled',
  { tags: ['long'], timeout: 200_000 },
  () =>
    scene({ runbook: RUNBOOK }, async ({ venue, run }) => {
      let readings = 0;
      venue.rules.push(({ method, path }) => {
        const [order] = venue.orders;
        if (method !== 'GET' || path !== '/orders' || order?.status !== 'canceled') return undefined;
        readings += 1;
        return readings > 1 ? { status: 500, body: 'no' } : undefined;
      });
      const { exit, err } = await run(['run', 'one.yaml', '--profile', 'p.yaml']);
      expect([exit, err.includes(`order ${venue.orders[0]?.client_order_id} has filled`)]).toEqual([1, true]);
    }),
);
