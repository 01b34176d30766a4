/** Tests which feeds a run reads, and how often: what branches read at the same time is read once. */
import { expect, it } from 'vitest';
import { inputsFrom, loadedFrom, perform, replay, type Scene } from './stage.ts';

const MARKETS = ['A-USD', 'B-USD', 'C-USD'];
const market = { tick: '1', lot: '0.0001', start: '1000', spreadBps: 0, depth: '100' };

async function play(steps: string, rest: Partial<Scene> = {}) {
  const text = `runbook: case\ndsl: 1\nleaves: {position: open, because: the case is about feeds}\nfeeds: {mark: {type: map<price>, max_age: 10s}}\nsteps:\n${steps}`;
  const loaded = loadedFrom({ file: 'case.yaml', text });
  const markets = Object.fromEntries(MARKETS.map((name) => [name, market]));
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: { markets }, ...rest };
  const performance = await perform(scene);
  await replay(performance, scene);
  const read = performance.entries.flatMap((entry) => (entry.type === 'feed.read' ? [entry.data.key] : []));
  return { ...performance, read };
}

const EACH = `  - parallel:
      each: m
      in: "${JSON.stringify(MARKETS).replaceAll('"', "'")}"
      max: 3
      do:
        - {place: {type: market, market: "\${m}", side: long, size: 0.1, price: "tick(feeds.mark[m] * 1.01)"}}
`;

it('reads each market once where branches ask for it at the same time', async () => {
  const { report, read } = await play(EACH, { feedAfterMs: 100 });
  expect([report.outcome, report.orders.length, read]).toEqual(['succeeded', 3, MARKETS]);
});

it('reads it again when the value is too old', async () => {
  const { read } = await play(`${EACH}  - wait: 20s\n${EACH}`, { feedAfterMs: 100 });
  expect(read).toEqual([...MARKETS, ...MARKETS]);
});

it('fails each branch where the reading that they share gives nothing', async () => {
  const { report, read } = await play(EACH, { feedAfterMs: 100, answersFeed: () => false });
  expect([report.error?.kind, report.orders, read.length]).toEqual(['stale_feed', [], MARKETS.length]);
});
