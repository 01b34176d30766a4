/**
 * Soaks workers on one PostgreSQL in real time: kills, stops, suspends and restarts them, and takes their database down, at times
 * that a seed decides. At the end nothing is disturbed for a while; then the results are compared (accounting.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Draws } from '../simulation/draws.ts';
import { type Accounting, account } from './accounting.ts';
import { Stage, type StageWorker } from './stage.ts';

export interface SoakOptions {
  readonly bin: string;
  readonly minutes: number;
  readonly workers: number;
  readonly seed: number;
  readonly told?: (line: string) => void;
}

export interface SoakResult extends Accounting {
  readonly injectedFaults: Readonly<Record<string, number>>;
  /** What was done and when, to explain a problem. */
  readonly story: readonly string[];
  readonly folder: string;
  readonly summary: string;
}

const INJECTED_FAULTS = ['kill', 'sleep', 'long sleep', 'stop', 'restart', 'crash', 'outage'] as const;
type InjectedFault = (typeof INJECTED_FAULTS)[number];

/** Undisturbed time at the end: a lease plus the duration of a run. */
const CALM_MS = 35_000;

export async function soak(wanted: SoakOptions): Promise<SoakResult> {
  const draws = new Draws(wanted.seed, 'soak');
  const startedAt = Date.now();
  const story: string[] = [];
  const note = (line: string) =>
    void story.push(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(8)} s  ${line}`);
  const stage = await Stage.open({
    ...wanted,
    note,
    restartMs: () => draws.within(200, 3_000),
    // With 1 the accounts are shared; with 2 the first worker can serve both.
    maxAccounts: () => draws.within(1, 2),
  });
  const injectedFaults: Record<string, number> = {};
  let problems: readonly string[] = ['the soak did not come to its end'];
  try {
    const until = startedAt + wanted.minutes * 60_000 - CALM_MS;
    const bag: InjectedFault[] = [];
    await pause(6_000);
    // An unexplained exit ends the soak: the rest of the time would only repeat it.
    while (Date.now() < until && stage.surprises.length === 0) {
      // Draws without replacement, so that a short soak has most faults too.
      if (bag.length === 0) bag.push(...INJECTED_FAULTS);
      const [injectedFault] = bag.splice(draws.within(0, bag.length - 1), 1) as [InjectedFault];
      injectedFaults[injectedFault] = (injectedFaults[injectedFault] ?? 0) + 1;
      await meet(injectedFault, stage, draws, note);
      const runs = await runsSoFar(stage);
      wanted.told?.(
        `${minutes(Date.now() - startedAt)} of ${wanted.minutes} min, ${runs} runs, ${tally(injectedFaults)}`,
      );
      await pause(draws.within(1_500, 9_000));
    }
    note('from here on everything is left alone');
    await pause(CALM_MS);
    const calmAt = Date.now();
    await stage.settle(60_000);
    const accounting = await account(stage, calmAt);
    problems = [...stage.surprises, ...accounting.problems];
    const { figures } = accounting;
    const summary = `${minutes(Date.now() - startedAt)} min, seed ${wanted.seed}: ${tally(figures)}; ${tally(injectedFaults)}; ${problems.length} problems`;
    return { ...accounting, problems, injectedFaults, story, folder: stage.folder, summary };
  } finally {
    await stage.close(problems.length > 0);
  }
}

async function meet(
  injectedFault: InjectedFault,
  stage: Stage,
  draws: Draws,
  note: (line: string) => void,
): Promise<void> {
  const worker = draws.of(stage.workers) as StageWorker;
  switch (injectedFault) {
    case 'kill':
    case 'stop':
      note(`${worker.name}: ${injectedFault === 'kill' ? 'SIGKILL' : 'SIGTERM'}`);
      return stage.kill(worker, injectedFault === 'kill' ? 'SIGKILL' : 'SIGTERM');
    case 'sleep':
    case 'long sleep': {
      // A lease lasts 15 s: after the longer sleep, the worker finds that it was replaced.
      const ms = injectedFault === 'sleep' ? draws.within(500, 9_000) : draws.within(16_000, 22_000);
      note(`${worker.name}: SIGSTOP for ${ms} ms`);
      await stage.sleep(worker, ms);
      return note(`${worker.name}: SIGCONT`);
    }
    case 'restart':
    case 'crash':
      note(`the database: ${injectedFault}`);
      await stage.restartDatabase(injectedFault === 'restart' ? 'fast' : 'crash');
      return note('the database is back');
    case 'outage': {
      // Sometimes longer than a lease: then no lease is held when the database returns.
      const ms = draws.chance(0.3) ? draws.within(16_000, 24_000) : draws.within(2_000, 9_000);
      note(`the database: away for ${ms} ms`);
      await stage.withoutDatabase(ms);
      return note('the database is back');
    }
    default:
      return injectedFault satisfies never;
  }
}

async function runsSoFar(stage: Stage): Promise<string> {
  const [row] = await stage.query('SELECT count(*) AS runs FROM runbook.runs').catch(() => []);
  return String(row?.['runs'] ?? '?');
}

function minutes(ms: number): string {
  return (ms / 60_000).toFixed(1);
}

function tally(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');
}
