/** Tests a cancel whose answer alone ends an order: its earlier fills are read before the step ends. */
import { expect, it } from 'vitest';
import { inputsFrom, loadedFrom, perform, replay, type Scene } from './stage.ts';

it('counts what was filled before a cancel that is answered as done', async () => {
  const text = `runbook: orders
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 64000}
  - cancel: o
    await: terminal
outputs: {filled: o.filled, status: "\${o.status}"}
`;
  const loaded = loadedFrom({ file: 'orders.yaml', text });
  const still = { kind: 'points' as const, points: [{ afterMs: 0, price: '64010' }] };
  const scene: Scene = {
    loaded,
    inputs: inputsFrom(loaded, {}),
    config: {
      markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64010', path: still } },
      faults: [{ on: 'DELETE /orders', do: 'fill_first', fraction: '0.5' }],
    },
    between: (venue, time) => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (request.endpoint !== 'DELETE /orders' || reply.kind !== 'answer') return reply;
        await new Promise<void>((done) => void time.after(500, done));
        return { ...reply, body: reply.body.replace('"canceling"', '"canceled"') };
      },
    }),
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  expect(performance.books.fills.map(({ size }) => size)).toEqual(['0.05']);
  expect(performance.report.outputs).toEqual({ filled: '0.05', status: 'canceled' });
  expect(performance.report.orders.map(({ state, filled }) => [state, filled])).toEqual([['canceled', '0.05']]);
});
