/** Tests that the clauses of a step take the deadman switch wherever in the step it is taken for fired. */
import { expect, it } from 'vitest';
import type { VirtualClock } from '../../src/base/clock.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { findDeparture } from './chart-oracle.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

const HEAD = `runbook: case
dsl: 1
feeds: {mid: {type: price, max_age: 5s}}
leaves: {position: none}
limits: {markets: [BTC-USD]}
deadman: {market: BTC-USD, timeout: 10s, on_exit: disarm}
steps:
`;
const CLOSE_AND_FAIL = '    catch: [{on: any, do: [{close: BTC-USD}], then: fail}]\n';

/** No request is answered in between, ms after the start. */
function silent(from: number, to: number) {
  return (venue: Transport, time: VirtualClock): Transport => ({
    async send(request, options) {
      const at = time.now() - START;
      if (at < from || at >= to) return venue.send(request, options);
      const isFills = request.endpoint === 'GET /fills';
      await new Promise<void>((done) => void time.after(isFills ? 1 : options.timeoutMs, done));
      return { kind: 'failure', sent: true, message: 'timeout: response' };
    },
  });
}

async function play(steps: string, rest: Partial<Scene>): Promise<Performance> {
  const loaded = loadedFrom({ file: 'case.yaml', text: HEAD + steps });
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 20_000, price: '63899' },
    { afterMs: 20_500, price: '64000' },
  ];
  const path = { kind: 'points', points, stepMs: 500 } as const;
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '0.02', levels: 1, path };
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: { markets: { 'BTC-USD': market } }, ...rest };
  const performance = await perform(scene);
  await replay(performance, scene);
  expect(findDeparture(loaded.runbook, performance.entries)).toBeUndefined();
  return performance;
}

/** What the run holds at the venue, base currency. */
function sumUp({ books }: Performance): number {
  return books.fills.reduce((sum, { side, size }) => sum + (side === 'long' ? 1 : -1) * Number(size), 0);
}

it('is taken where it fires while the order of a failed step is read', async () => {
  const steps = `  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 63900}
  - wait_for: {order: entry, is: filled, within: 30s}
${CLOSE_AND_FAIL}`;
  const played = await play(steps, { between: silent(29_000, 50_000) });
  expect([played.report.error?.kind, played.books.fills.length, sumUp(played)]).toEqual(['deadman_fired', 2, 0]);
});

it('is taken where it fires before the next attempt', async () => {
  const steps = `  - place: {type: market, market: BTC-USD, side: long, size: 0.02, price: 64100}
  - wait: 5s
  - list_fills: {market: BTC-USD}
    retry: {on: [transport], max: 9, first: 30s, max_delay: 30s, jitter: false}
${CLOSE_AND_FAIL}`;
  const played = await play(steps, { between: silent(3000, 40_000) });
  expect([played.report.error?.kind, played.books.fills.length, sumUp(played)]).toEqual(['deadman_fired', 2, 0]);
});
