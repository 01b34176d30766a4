/**
 * Resumes the run that another process left, up to its first request to the venue: `recovery.mjs JOURNAL`. Prints the ms
 * beyond a start that finds nothing to resume, the number of open orders, the longest hold of the event loop and the most memory.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readRecord } from '../src/app/run/recorded-run.ts';
import { Playback } from '../src/engine/playback/playback.ts';
import { startRun } from '../src/engine/run.ts';
import type { EntryOf } from '../src/journal/entry.ts';
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
const load = ({ data }: EntryOf<'run.started'>) => loadRunbook(data.sources[0]?.text ?? '').runbook;
const { facts, entries } = await readRecord(store, unfinished.run, load);
const { first } = facts;
if (first?.type !== 'run.started') throw new Error('a journal begins with run.started');
const runbook = load(first);
const { markets = {} } = first.data.settings as { markets?: ConstructorParameters<typeof Playback>[1]['markets'] };
const absenceHorizonMs = SIMULATED_PROFILE.ambiguityWindowMs;
const playback = new Playback(entries, { markets, absenceHorizonMs, resume: true });
const { account, mode, seed, startedAt } = first.data;
const running = startRun(
  {
    run: first.run,
    account,
    mode,
    runbook,
    inputs: {},
    seed,
    startedAt,
    absenceHorizonMs,
    fillsWindowMs: SIMULATED_PROFILE.fillsWindowMs,
    plan: '',
  },
  { venue: playback.venue, clock: playback.clock, log: playback.log, notifier: { send() {} } },
);
playback.commandsTo((command) => running.command(command));
await playback.play(running.done);
const tookMs = performance.now() - begun;
const open = playback.log.tracker.orders().filter(({ snapshot }) => snapshot.state === 'open').length;
process.stdout.write(
  JSON.stringify({ tookMs, open, holdMs: delay.max / 1e6, peakMb: process.resourceUsage().maxRSS / 1024 }),
);
process.exit(0);
