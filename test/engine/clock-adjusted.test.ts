import { describe, expect, it } from 'vitest';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

const HOUR = 3_600_000;
const PUTS = [
  ['put back an hour', -HOUR],
  ['put forward an hour', HOUR],
] as const;

function sceneOf(text: string, byMs: number, config: Scene['config'] = {}): Scene {
  const loaded = loadedFrom({
    file: 'clock.yaml',
    text: `runbook: clock\ndsl: 1\nleaves: {position: open, because: the case is about something else}\n${text}`,
  });
  return { loaded, inputs: inputsFrom(loaded, {}), config, clockPut: { afterMs: 5_000, byMs } };
}

async function played(scene: Scene): Promise<Performance> {
  const performance = await perform(scene);
  await expect(replay(performance, scene)).resolves.toBeUndefined();
  return performance;
}

/** When entries were written, ms after the start. */
function timesOf({ entries }: Performance, type: string, about: (data: object) => boolean = () => true): number[] {
  return entries.filter((entry) => entry.type === type && about(entry.data)).map(({ at }) => at - START);
}

describe.each(PUTS)('a wall clock that is %s', (_, byMs) => {
  it('moves no heartbeat and no wait', async () => {
    const performance = await played(
      sceneOf(
        `deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}
  - wait: 60s
  - cancel: o
    await: terminal
`,
        byMs,
      ),
    );
    expect(performance.report.outcome).toBe('succeeded');
    const heartbeats = timesOf(performance, 'deadman.moved', (data) => (data as { event: string }).event === 'renewed');
    const gaps = heartbeats.map((at, index) => at - (heartbeats[index - 1] ?? 0));
    expect(heartbeats.length).toBeGreaterThanOrEqual(8);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(8_000);
    expect(performance.books.orders.map(({ status }) => status)).toEqual(['canceled']);
    const [ended] = timesOf(performance, 'run.ended');
    expect(ended).toBeGreaterThanOrEqual(60_000);
    expect(ended).toBeLessThan(65_000);
  });

  it('moves neither a retry nor the reading of an order nor the look-ups of one that got no answer', async () => {
    const performance = await played(
      sceneOf(
        `steps:
  - read_account: {}
    retry: {max: 3, on: [transport, rejected], first: 3s, jitter: false}
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}
`,
        byMs,
        {
          faults: [
            { on: 'GET /account', when: { call: '1-2' }, do: 'status', status: 503, body: 'busy' },
            { on: 'POST /orders', do: 'lost_after' },
          ],
        },
      ),
    );
    expect(performance.report.outcome).toBe('succeeded');
    expect(performance.books.orders).toHaveLength(1);
    // 3 s and 6 s of retries, 10 s until the POST is given up, and half a second until it is looked for.
    expect(timesOf(performance, 'run.ended')[0]).toBeLessThan(20_500);
  });
});

describe('an instant that an author wrote', () => {
  const until = (clock: string) => `deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}
  - wait: {until: 2026-01-05T${clock}Z}
  - let: {then: now}
outputs: {then: then}
`;

  it('comes sooner when the clock is set forward', async () => {
    const performance = await played(sceneOf(until('08:30:00'), HOUR));
    expect(performance.report.outcome).toBe('succeeded');
    expect(timesOf(performance, 'run.ended')[0]).toBeLessThan(7_000);
    expect(performance.report.outputs['then']).toMatch(/^2026-01-05T09:00:05/);
  });

  it('comes later when it is set back, and heartbeats go on until then', async () => {
    const performance = await played(sceneOf(until('08:01:00'), -600_000));
    expect(performance.report.outcome).toBe('succeeded');
    const [ended] = timesOf(performance, 'run.ended');
    expect(ended).toBeGreaterThanOrEqual(660_000);
    expect(ended).toBeLessThan(662_000);
    expect(performance.report.outputs['then']).toMatch(/^2026-01-05T08:01:00/);
    expect(
      timesOf(performance, 'deadman.moved', (data) => (data as { event: string }).event === 'assumed_fired'),
    ).toEqual([]);
  });

  it('is read from the adjusted wall time on', async () => {
    const performance = await played(
      sceneOf(
        `steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}
  - wait: 10s
  - cancel: o
    await: terminal
`,
        -2 * HOUR,
      ),
    );
    const reads = performance.report.requests
      .filter(({ path }) => path === '/orders')
      .map(({ params }) => params['start_time']);
    const starts = reads.filter((each) => each !== undefined).map((each) => Number(each) / 1000 - START);
    expect(starts[0]).toBeGreaterThanOrEqual(-HOUR);
    expect(starts.at(-1)).toBeLessThan(-3 * HOUR + 5_000);
  });
});
