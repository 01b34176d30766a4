/** Executes what a simulation left on the disk once more, as `runbook replay` does: from the record alone, to its end. */
import { Divergence, Playback } from '../../src/engine/playback/playback.ts';
import { startRun } from '../../src/engine/run.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { Profile } from '../../src/venue/profile/profile.ts';
import type { Protocol } from './protocol.ts';
import type { RunTold } from './world.ts';

/** The first thing that differs; undefined where nothing does. */
export async function replayed(
  { entries, setup }: RunTold,
  markets: Profile['markets'],
  protocol: Protocol,
): Promise<string | undefined> {
  const [first] = entries as [Entry & { type: 'run.started' }];
  const playback = new Playback(entries, { markets, absenceHorizonMs: setup.absenceHorizonMs, resume: false });
  const { venue, clock, log } = playback;
  const parts = {
    setup: { ...setup, startedAt: first.data.startedAt },
    ports: { venue, clock, log, notifier: { send() {} } },
  };
  const given = protocol.engine?.(parts) ?? parts;
  const running = startRun(given.setup, given.ports);
  playback.drive(running);
  try {
    await playback.play(running.done);
    return undefined;
  } catch (error) {
    if (error instanceof Divergence) return error.message;
    throw error;
  }
}
