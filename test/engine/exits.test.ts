/**
 * Tests the exits of `close` and `manage` in drawn markets: the price jumps through stops at any instant, orders of the entry fill beside
 * them, and answers, records and fills come as late as they like. What the run holds never turns into the opposite position.
 */
import { describe, expect, it } from 'vitest';
import { Draws } from '../simulation/draws.ts';
import { inputsFrom, loadedFrom, perform, replay, type Scene } from './stage.ts';

function drawSteps(draws: Draws): readonly string[] {
  const trigger = draws.within(63_500, 63_950);
  const entry = (size: string) =>
    `place: {type: limit, market: BTC-USD, side: long, size: ${size}, price: ${draws.within(63_600, 64_000)}}`;
  const held = `stop_loss: {trigger: ${trigger - 100}, price: ${trigger - 700}}, time_limit: ${draws.within(2, 40)}s`;
  return [
    'place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}',
    ...(draws.chance(0.75)
      ? [
          `protect: {market: BTC-USD, side: short, stop_loss: {fraction: ${draws.of(['1', '0.5'])}, trigger: ${trigger}, price: ${trigger - 700}}}`,
        ]
      : []),
    ...(draws.chance(0.6) ? [entry('0.1')] : []),
    ...(draws.chance(0.4) ? [entry('0.05')] : []),
    ...(draws.chance(0.8) ? [`wait: ${draws.within(1, 30)}s`] : []),
    ...(draws.chance(0.5)
      ? [`manage: {market: BTC-USD, side: short, ${held}}\n    catch: [{on: any, then: continue}]`]
      : []),
    draws.chance(0.25)
      ? `parallel: {branches: {a: [{wait: ${draws.within(1, 4)}s}, {close: BTC-USD}], b: [{close: BTC-USD}]}}`
      : 'close: BTC-USD',
  ];
}

/** Of an order that fills in part no record may be as late as of one that fills whole: nothing says that more is to come. */
function drawLags(draws: Draws, isThin: boolean): Pick<Scene['config'], 'readLagMs' | 'fillLagMs' | 'surprises'> {
  const readLagMs = draws.of([0, 0, 500, 2000]);
  const fillLagMs = draws.of([0, 1000, 8000, 20_000, 45_000]);
  const filledLagMs = draws.of([0, 0, 800, 3000]);
  return {
    readLagMs,
    fillLagMs,
    surprises: { filledLagMs: isThin ? Math.min(filledLagMs, 2400 - readLagMs) : filledLagMs },
  };
}

function drawScene(seed: number): Scene {
  const draws = new Draws(seed, 'exits');
  const steps = drawSteps(draws);
  const lines = steps.map((step) => `  - ${step}\n`);
  const text = `runbook: case\ndsl: 1\nfeeds: {mid: {type: price, max_age: 5s}}\nleaves: {position: open, because: a case}\nsteps:\n${lines.join('')}`;
  const points = [{ afterMs: 0, price: '64000' }];
  for (let at = draws.within(1000, 20_000), price = 64_000; at < 200_000; at += draws.within(500, 8000)) {
    price = Math.max(62_500, Math.min(64_400, price + draws.within(-350, 300)));
    points.push({ afterMs: at, price: String(price) });
  }
  const latency = draws.of([5, 50, 400, 2500]);
  // In a thin market the orders of an exit fill in parts; so do two stops for the position there, which this venue then fills beyond it.
  const isOneStop = steps.filter((step) => step.includes('stop_loss')).length < 2;
  const isThin = isOneStop && draws.chance(0.7);
  const thin = isThin ? { depth: '0.03', levels: draws.of([1, 3]) } : { depth: '100' };
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, ...thin };
  const config = {
    markets: { 'BTC-USD': { ...market, path: { kind: 'points', points } as const } },
    latencyMs: { min: latency, max: latency * draws.within(1, 3) },
    processingMs: { min: 0, max: draws.of([10, 400, 2000]) },
    visibilityLagMs: { min: 0, max: draws.of([0, 1000, 3000]) },
    ...drawLags(draws, isThin),
  };
  const loaded = loadedFrom({ file: 'case.yaml', text });
  return { loaded, inputs: inputsFrom(loaded, {}), config, seed };
}

async function holdExits(first: number, count: number): Promise<void> {
  for (let seed = first; seed < first + count; seed += 1) {
    const scene = drawScene(seed);
    const played = await perform(scene);
    const { books, report } = played;
    if (JSON.stringify(scene.loaded.sources).includes('parallel')) await replay(played, scene);
    let net = 0;
    for (const { side, size } of [...books.fills].sort((a, b) => a.timestamp - b.timestamp)) {
      net += Math.round((side === 'long' ? 1 : -1) * Number(size) * 10_000);
      expect(net, `seed ${seed}`).toBeGreaterThanOrEqual(0);
    }
    if (report.outcome !== 'succeeded') continue;
    expect([net, books.orders.filter(({ terminal }) => !terminal)], `seed ${seed}`).toEqual([0, []]);
  }
}

describe('an exit never opens the opposite position', () => {
  it('in 40 drawn markets', () => holdExits(3060, 40));
  it('in 400 drawn markets', { tags: ['long'], timeout: 300_000 }, () => holdExits(2000, 400));
});
