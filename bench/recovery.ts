/**
 * Resumes the run that another process left, up to its first request to the venue: `recovery.mjs JOURNAL`. Prints the ms
 * beyond a start that finds nothing to resume, the number of open orders, the longest hold of the event loop and the most memory.
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

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const begun = performance.now();
const [unfinished] = await store.runs({ unfinished: true });
if (unfinished === undefined) throw new Error(`${file} holds no unfinished run`);
const first = await readFirstEntry(store, unfinished.run);
const { runbook } = loadRunbook(first.data.sources[0]?.text ?? '');
const { markets = {} } = first.data.settings as { markets?: ConstructorParameters<typeof Playback>[1]['markets'] };
const { ambiguityWindowMs: absenceHorizonMs, fillsWindowMs } = SIMULATED_PROFILE;
const { account, mode, seed, startedAt } = first.data;
const setup = { run: first.run, account, mode, runbook, inputs: {}, seed, startedAt, absenceHorizonMs, fillsWindowMs };
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
const tookMs = performance.now() - begun;
const open = tracker.orders().filter(({ snapshot }) => snapshot.state === 'open').length;
process.stdout.write(
  JSON.stringify({ tookMs, open, holdMs: delay.max / 1e6, peakMb: process.resourceUsage().maxRSS / 1024 }),
);
process.exit(0);
