import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { drawChance } from '../../src/venue/order/identity.ts';
import { loadShipped, SHIPPED, shippedInputs, shippedVenue } from '../shipped-runbooks.ts';
import { loadedFrom, type Performance, perform, replay, type Scene } from './stage.ts';

/** Faults of a venue, each with the endpoints that it concerns. */
const INJECTED_FAULTS: readonly FaultRule[] = [
  { on: '*', do: 'lost_before' },
  { on: '*', do: 'lost_after' },
  { on: '*', do: 'refused' },
  { on: '*', do: 'reset_after' },
  { on: '*', do: 'delay', ms: 3000 },
  { on: '*', do: 'status', status: 503, body: 'busy' },
  { on: '*', do: 'rate_limited', retryAfter: '1' },
  { on: '*', do: 'malformed' },
  { on: '*', do: 'unauthorized' },
  { on: 'POST /orders', do: 'late_reject', reason: 'INSUFFICIENT_MARGIN' },
  { on: 'POST /orders', do: 'error', error: 'REFUSED' },
  { on: 'POST /orders', do: 'stuck', ms: 5000 },
  { on: 'POST /orders', do: 'invisible', ms: 4000 },
  { on: 'POST /orders', do: 'lost_after' },
  { on: 'PUT /orders', do: 'amend_lost' },
  { on: 'PUT /orders', do: 'lost_after' },
  { on: 'DELETE /orders', do: 'cancel_lost' },
  { on: 'DELETE /orders', do: 'fill_first', fraction: '0.5' },
  { on: 'POST /cancel_all_after', do: 'lost_before' },
];

/** Adds two faults drawn by the seed, each with a probability. */
function withFaults(config: SimulatorConfig, seed: number): SimulatorConfig {
  const faults = [0, 1].map((index): FaultRule => {
    const rule = INJECTED_FAULTS[Math.floor(drawChance(seed, `fault ${index}`) * INJECTED_FAULTS.length)] as FaultRule;
    return { ...rule, when: { probability: 0.02 + 0.2 * drawChance(seed, `how often ${index}`) } };
  });
  return { ...config, faults: [...faults, ...(config.faults ?? [])] };
}

function scenes(name: string): (seed: number) => Scene {
  const loaded = loadShipped(name);
  const venue = shippedVenue(name);
  return (seed) => ({ loaded, inputs: shippedInputs(name, loaded), config: withFaults(venue, seed), seed });
}

/** Client order ids that the venue knows more than once: two orders for one intent. */
function doubled({ books }: Performance): string[] {
  const ids = books.orders.map(({ client_order_id }) => client_order_id).filter((id) => id !== '');
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}

/** The same seed at the same time is the same run, and its journal is executed to the same requests again. */
describe.each(SHIPPED.slice(0, 10))('%s, under faults', (name) => {
  it('is the same each time, a seed', () => sameEachTime(scenes(name), 1, 0));
});
describe.each(SHIPPED)('%s, under faults', (name) => {
  it('is the same each time, 20 seeds', { tags: ['long'] }, () => sameEachTime(scenes(name), 20, 1));
});

/** `least`: of so many seeds the faults must have changed something; a short runbook meets few. */
async function sameEachTime(scene: (seed: number) => Scene, seeds: number, least: number): Promise<void> {
  let troubled = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const first = await perform(scene(seed));
    const second = await perform(scene(seed));
    expect(second.report, `seed ${seed}`).toEqual(first.report);
    await expect(replay(first, scene(seed)), `seed ${seed}`).resolves.toBeUndefined();
    expect(doubled(first), `seed ${seed}`).toEqual([]);
    if (first.report.requests.some(({ success }) => !success)) troubled += 1;
  }
  // Faults that no request meets prove nothing.
  expect(troubled).toBeGreaterThanOrEqual(least);
}

it('is the same where a person cancels in the very millisecond in which a step times out', async () => {
  const text = `runbook: late
dsl: 1
steps:
  - approve: {ask: first, by: [risk], within: 5s}
    catch: [{on: [approval_rejected], do: [{id: second, approve: {ask: second, by: [risk], within: 1m}}], then: continue}]
`;
  const scene: Scene = {
    loaded: loadedFrom({ file: 'late.yaml', text }),
    inputs: {},
    config: {},
    commands: [{ command: 'cancel', by: 'ada', afterMs: 5000 }],
  };
  const performance = await perform(scene);
  const asked = performance.entries.flatMap(({ type, step }) => (type === 'approval.asked' ? [step] : []));
  expect(asked).toHaveLength(2);
  expect(performance.report).toMatchObject({ error: { kind: 'cancelled' } });
  await replay(performance, scene);
});
