/**
 * Resumes the run that another process left, up to its first request to the venue: `recovery.mjs JOURNAL`. Prints the ms
 * beyond a start that finds nothing to resume, the number of open orders, the longest hold of the event loop, then and when the process
 * resumes the run once more, and the most memory of the first time.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { playRecord, RecordToResume } from '../src/app/run/recorded-run.ts';
import { Playback } from '../src/engine/playback/playback.ts';
import { startRun } from '../src/engine/run.ts';
import { readFirstEntry } from '../src/journal/reading.ts';
import { openSqliteStore } from '../src/journal/stores/sqlite.ts';
import { SIMULATED_PROFILE } from '../src/venue/profile/profile.ts';
import { loadRunbook } from './trials/product.ts';

const [file = ''] = process.argv.slice(2);
const store = await openSqliteStore(file);
// Every start looks for unfinished runs, so this is not part of the measurement.
await store.runs({ unfinished: true, account: 'nobody' });

const { ambiguityWindowMs: absenceHorizonMs, fillsWindowMs } = SIMULATED_PROFILE;
const delay = monitorEventLoopDelay({ resolution: 1 });

/** Gives the number of open orders. */
async function resume(): Promise<number> {
  const [unfinished] = await store.runs({ unfinished: true });
  if (unfinished === undefined) throw new Error(`${file} holds no unfinished run`);
  const first = await readFirstEntry(store, unfinished.run);
  const { runbook } = loadRunbook(first.data.sources[0]?.text ?? '');
  const { markets = {} } = first.data.settings as { markets?: ConstructorParameters<typeof Playback>[1]['markets'] };
  const { account, mode, seed, startedAt } = first.data;
  const setup = {
    run: first.run,
    account,
    mode,
    runbook,
    inputs: {},
    seed,
    startedAt,
    absenceHorizonMs,
    fillsWindowMs,
  };
  const { tracker } = await playRecord(
    (how) => new RecordToResume(store, first, runbook, how),
    async (record) => {
      const readOn = () => record.readOn();
      const playback = new Playback(record, { markets, absenceHorizonMs, resume: true, readOn });
      const { venue, clock, log } = playback;
      const running = startRun({ ...setup, plan: '' }, { venue, clock, log, notifier: { send() {} } });
      playback.drive({ command: (command) => running.command(command) });
      await playback.play(running.done);
      if (!record.chain.end().ok) throw new Error('the journal was changed');
      return log;
    },
  );
  return tracker.orders().filter(({ snapshot }) => snapshot.state === 'open').length;
}

delay.enable();
const begun = performance.now();
const open = await resume();
const tookMs = performance.now() - begun;
const firstHoldMs = delay.max / 1e6;
const peakMb = process.resourceUsage().maxRSS / 1024;
// As in a process that serves other runs: whose leases and heartbeats a hold keeps waiting.
delay.reset();
await resume();
process.stdout.write(JSON.stringify({ tookMs, open, firstHoldMs, holdMs: delay.max / 1e6, peakMb }));
process.exit(0);
