/** Tests a loop that never waits: other turns take place meanwhile, and its journal holds all that a replay needs. */
import { describe, expect, it } from 'vitest';
import { replayRun } from '../../src/app/run/virtual-run.ts';
import { type MachineTime, SystemClock } from '../../src/base/clock.ts';
import { RunClock } from '../../src/base/run-clock.ts';
import type { RunPorts } from '../../src/engine/ports.ts';
import { type RunResult, startRun } from '../../src/engine/run.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { readLines } from '../../src/journal/reading.ts';
import { RunLog } from '../../src/journal/run-log.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import { inputsFrom, loadedFrom, perform, replay, type Scene, START } from './stage.ts';

/** A machine on which time passes only by being looked at: 50 µs each time. */
function steadyMachine(): MachineTime {
  let looks = 0;
  const passed = () => {
    looks += 1;
    return looks * 0.05;
  };
  return { wall: () => START + Math.floor(passed()), monotonic: passed, sinceBoot: passed };
}

/** A run on the clock of a process, with nothing of a venue, and what `meanwhile` asks of that clock. */
async function performed(text: string, meanwhile: (clock: SystemClock, seq: () => number) => void) {
  const loaded = loadedFrom({ file: 'loop.yaml', text });
  const process = new SystemClock(steadyMachine());
  const store = new MemoryStore();
  const begun = await new Promise<{ done: Promise<RunResult>; writer: JournalWriter }>((resolve) =>
    process.arrive(() => {
      const clock = new RunClock(process, START);
      const def = loaded.runbook.sha256.slice(0, 16);
      const common = { run: 'loop', account: 'stage' };
      const writer = new JournalWriter(store, {
        ...common,
        def,
        boot: 'process',
        epoch: 1,
        actor: 'engine',
        clock,
        durable: false,
      });
      const log = new RunLog(writer, new OrderTracker(), []);
      log.append('run.started', {
        runbook: 'loop',
        file: 'loop.yaml',
        mode: 'simulated',
        trigger: 'manual',
        inputs: {},
        seed: 1,
        startedAt: START,
        sources: [],
        settings: { markets: {} },
        engine: 'stage',
        account: 'stage',
      });
      const venue = { markets: [], market: () => undefined } as unknown as RunPorts['venue'];
      const { done } = startRun(
        {
          ...common,
          mode: 'simulated',
          inputs: {},
          seed: 1,
          startedAt: START,
          runbook: loaded.runbook,
          absenceHorizonMs: 90_000,
          fillsWindowMs: 60_000,
          plan: '',
        },
        { venue, clock, log, notifier: { send() {} } },
      );
      meanwhile(process, () => writer.head.seq);
      resolve({ done, writer });
    }),
  );
  const result = await begun.done;
  await begun.writer.close();
  return { loaded, result, entries: [...readLines(await store.read('loop'))] };
}

describe('a loop that never waits', () => {
  it('lets a timer of 10 ms and an arrival have their turns, and is executed again from its journal', async () => {
    const heard: [string, number][] = [];
    const { loaded, result, entries } = await performed(
      `runbook: loop
dsl: 1
vars: {n: {type: integer, init: 0}}
steps:
  - repeat:
      max: 10000
      do:
        - set: {n: n + 1}
outputs: {n: n}
`,
      (clock, seq) => {
        clock.after(10, () => heard.push(['timer', seq()]));
        setImmediate(() => clock.arrive(() => heard.push(['arrival', seq()])));
      },
    );
    expect(result).toMatchObject({ outcome: 'succeeded', outputs: { n: '10000' } });
    expect(heard.map(([what]) => what).sort()).toEqual(['arrival', 'timer']);
    // Three entries a round: within a tenth of the loop.
    for (const [, seq] of heard) expect(seq).toBeLessThan(3_000);
    await expect(replayRun(entries, loaded, {})).resolves.toBeUndefined();
  });
});

describe.each<[string, string, [number, number][]]>([
  [
    'repeat',
    'repeat: {max: 200, do: [{set: {n: n + 1}}]}',
    [
      [0, 64],
      [1, 64],
      [2, 64],
      [3, 8],
    ],
  ],
  [
    'repeat in repeat',
    'repeat: {max: 20, do: [{repeat: {max: 10, do: [{set: {n: n + 1}}]}}]}',
    [
      [0, 58],
      [1, 58],
      [2, 58],
      [3, 26],
    ],
  ],
  [
    'for_each',
    'for_each: {each: item, in: range(200), do: [{set: {n: n + 1}}]}',
    [
      [0, 64],
      [1, 64],
      [2, 64],
      [3, 8],
    ],
  ],
  [
    'parallel',
    'parallel: {each: item, in: range(200), max: 200, do: [{set: {n: n + 1}}]}',
    [
      [0, 64],
      [1, 136],
    ],
  ],
])('%s', (_, loop, instants) => {
  const scene = (): Scene => {
    const loaded = loadedFrom({
      file: 'loop.yaml',
      text: `runbook: loop\ndsl: 1\nvars: {n: {type: integer, init: 0}}\nsteps:\n  - ${loop}\noutputs: {n: n}\n`,
    });
    return { loaded, inputs: inputsFrom(loaded, {}), config: {} };
  };

  it('begins 64 rounds at one instant, the next a millisecond later, and is executed again from its journal', async () => {
    const performance = await perform(scene());
    expect(performance.report.outputs).toEqual({ n: '200' });
    const perInstant = new Map<number, number>();
    for (const { type, at } of performance.entries)
      if (type === 'variable.set') perInstant.set(at - START, (perInstant.get(at - START) ?? 0) + 1);
    expect([...perInstant]).toEqual(instants);
    await expect(replay(performance, scene())).resolves.toBeUndefined();
  });
});
