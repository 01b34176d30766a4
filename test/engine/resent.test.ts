/** Tests an order that was sent again after its absence was proven, and whose first POST shows after that: none is left beside it. */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene } from './stage.ts';

/** The first POST reaches the venue after so long, ms; its answer never comes. */
async function resent(steps: string, { arrivesMs = 150_000, price = '50000', more = {} } = {}): Promise<Performance> {
  const config = {
    processingMs: { min: 50, max: 50 },
    visibilityLagMs: { min: 0, max: 0 },
    surprises: { duplicateIds: 'accept' },
    markets: { 'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } } },
    faults: [{ on: 'POST /orders', when: { call: 1 }, do: 'delay', way: 'request', ms: arrivesMs }],
    ...more,
  } as SimulatorConfig;
  const text = `runbook: resent
dsl: 1
leaves: {position: open, because: the case is about the order}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: ${price}, on_ambiguous: resend}
${steps}`;
  const loaded = loadedFrom({ file: 'resent.yaml', text });
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

describe('an order that was sent again', () => {
  it('is left alone, and the one before it that shows late is cancelled before the end', async () => {
    const { report, books } = await resent('  - wait: 5m\n');
    expect(books.orders.map(({ status }) => status).sort()).toEqual(['canceled', 'open']);
    const [order] = report.orders;
    expect(books.orders.find(({ status }) => status === 'open')?.id).toBe(order?.orderId);
    expect([report.outcome, order?.state]).toEqual(['succeeded', 'open']);
  });

  it('is left alone where the one before it is slow to end', async () => {
    const { report, books } = await resent('  - wait: 5m\n', { more: { processingMs: { min: 8_000, max: 8_000 } } });
    expect(books.orders.map(({ status }) => status).sort()).toEqual(['canceled', 'open']);
    expect([report.outcome, report.orders[0]?.state]).toEqual(['succeeded', 'open']);
  });

  it('halts the run where the one before it has filled', async () => {
    const { report, books } = await resent('  - wait: 5m\n', { price: '64100' });
    expect(books.fills.length).toBe(2);
    expect([report.outcome, report.error?.kind]).toEqual(['halted', 'unknown_outcome']);
  });

  it('is looked up once at the end where nothing came of the one before it', async () => {
    const never = { faults: [{ on: 'POST /orders', when: { call: 1 }, do: 'lost_before' }] };
    const { report, entries } = await resent('', { more: never });
    const settled = entries.flatMap((entry) =>
      entry.type === 'call.intended' && entry.step === 'settle' ? [entry.data.endpoint] : [],
    );
    expect([report.outcome, settled]).toEqual(['succeeded', ['GET /orders']]);
  });
});
