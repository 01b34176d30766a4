/** Tests a loop under a deadman switch whose rounds and heartbeats say what those before them said. */
import { expect, it } from 'vitest';
import { writeArmedWatch } from '../../bench/runbooks.ts';
import { dryRun, replayRun } from '../../src/app/run/virtual-run.ts';
import { Playback } from '../../src/engine/playback/playback.ts';
import { startRun } from '../../src/engine/run.ts';
import type { Entry, EntryOf } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { MarketRules } from '../../src/venue/port.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { loadedFrom } from '../engine/stage.ts';

const ROUNDS = 150;
const text = writeArmedWatch(ROUNDS, { every: '2s', timeout: '40s' });

const pick = ({ at, type, step, data }: Entry) => JSON.stringify({ at, type, step, data });

/** Plays a record whose process died at its end, up to there. */
async function playToEnd(run: readonly Entry[]): Promise<readonly string[]> {
  const [first] = run as readonly EntryOf<'run.started'>[];
  if (first === undefined) throw new Error('no entries');
  const { markets = {} } = first.data.settings as { readonly markets?: Readonly<Record<string, MarketRules>> };
  const { runbook } = loadedFrom({ file: 'one.yaml', text });
  const { ambiguityWindowMs: absenceHorizonMs, fillsWindowMs } = SIMULATED_PROFILE;
  const playback = new Playback(run, { markets, absenceHorizonMs, resume: true });
  const { account, mode, seed, startedAt } = first.data;
  const given = { run: first.run, account, mode, seed, startedAt, absenceHorizonMs, fillsWindowMs };
  const running = startRun(
    { ...given, runbook, inputs: {}, plan: '' },
    { venue: playback.venue, clock: playback.clock, log: playback.log, notifier: { send() {} } },
  );
  await playback.play(running.done);
  return playback.log.tracker.orders().map(({ snapshot }) => snapshot.state);
}

it('is stored as few entries, which replay and resume read one by one', async () => {
  const appended: string[] = [];
  const store = new MemoryStore();
  const loaded = loadedFrom({ file: 'one.yaml', text });
  const { result } = await dryRun({
    loaded,
    inputs: {},
    run: 'r',
    at: Date.UTC(2026, 0, 5, 8),
    seed: 1,
    store,
    venue: { kind: 'simulated' },
    onEntry: (entry) => void appended.push(pick(entry)),
  });
  expect(result.outcome).toBe('succeeded');
  const lines = await store.read('r');
  const recorded = [...readLines(lines)];
  expect(recorded.map(pick)).toEqual(appended);
  // 300 s hold 30 heartbeats of 4 entries.
  const renewed = recorded.filter(({ type, data }) => type === 'deadman.moved' && 'timeoutMs' in data);
  expect(renewed.length).toBeGreaterThan(25);
  expect(lines.length).toBeLessThan(90);
  await replayRun(recorded, loaded, {});
  const died = lines.findIndex(({ type }) => type === 'round.idle') + 1;
  expect(died).toBeGreaterThan(0);
  for (const end of [died, died + 1, died + 4])
    expect(await playToEnd([...readLines(lines.slice(0, end))])).toEqual(['open']);
});
