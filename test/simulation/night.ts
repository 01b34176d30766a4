/**
 * `npm run simulate`: the simulation for a night (--seeds 1000000, --from N), or one seed again with its whole story
 * (--seed N). Ends with 1 where a seed fails, and names the command that repeats it; with 130 when it is interrupted, having
 * reported so far. --mutant NAME simulates a broken protocol, to see what its failure looks like.
 */
import { parseArgs } from 'node:util';
import { added, NOTHING, type Tally } from './batch.ts';
import { MUTANTS } from './mutants.ts';
import { repeatCommand } from './story.ts';
import { runSeeds, withWorkers } from './workers.ts';

const YEAR_MS = 31_557_600_000;
/** Stories shown, and failing seeds after which there is no point in going on. */
const SHOWN = 3;
const ENOUGH = 50;
const INTERRUPTED = 130;

const OPTIONS = {
  seed: { type: 'string' },
  seeds: { type: 'string' },
  from: { type: 'string' },
  workers: { type: 'string' },
  mutant: { type: 'string' },
} as const;

const { seed, seeds, from, workers, mutant } = wanted();
if (seed !== undefined && seeds === undefined) await one(seed);
else await many(seed ?? from ?? 0, seeds ?? 20_000);

async function one(which: number): Promise<void> {
  const told = await withWorkers(1, async ([ask]) => ask?.({ kind: 'story', seed: which, mutant }));
  if (told === undefined) throw new Error('no worker');
  const { story, breaches } = told;
  process.stdout.write(story);
  process.exitCode = breaches > 0 ? 1 : 0;
}

async function many(first: number, count: number): Promise<void> {
  const startedAt = performance.now();
  let sum = NOTHING;
  let interrupted = false;
  const interrupt = () => {
    // A second signal ends the process without waiting for what is under way.
    if (interrupted) process.exit(INTERRUPTED);
    interrupted = true;
    process.stderr.write('\ninterrupted: ends with the seeds that are under way\n');
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const each = (tally: Tally): boolean => {
    for (const failing of tally.failing) {
      const { seed: which, invariants, story } = failing;
      if (sum.failing.length + tally.failing.indexOf(failing) < SHOWN && story !== undefined)
        process.stdout.write(`${story}\n`);
      process.stdout.write(`seed ${which} breaks ${invariants.join(', ')}; again: ${repeatCommand(which, mutant)}\n`);
    }
    sum = added(sum, tally);
    if (process.stderr.isTTY) process.stderr.write(`\r${sum.seeds} of ${count} seeds, ${sum.failing.length} failing `);
    return !interrupted && sum.failing.length < ENOUGH;
  };
  await runSeeds({ from: first, count, each, mutant, ...(workers === undefined ? {} : { workers }) });
  const seconds = (performance.now() - startedAt) / 1000;
  const rows = Object.entries(sum.mix).sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  process.stdout.write(
    `${rows.map(([name, times]) => `${String(times).padStart(9)}  ${name}`).join('\n')}\n` +
      `${sum.seeds} seeds from ${first} in ${seconds.toFixed(0)} s (${Math.round(sum.seeds / seconds)} a second), ${sum.failing.length} failing; ` +
      `${(sum.simulatedMs / YEAR_MS).toFixed(3)} simulated years, ${sum.entries} entries\n`,
  );
  process.exitCode = interrupted ? INTERRUPTED : sum.failing.length > 0 ? 1 : 0;
}

function wanted() {
  let values: Partial<Record<keyof typeof OPTIONS, string>>;
  try {
    ({ values } = parseArgs({ options: OPTIONS }));
  } catch (error) {
    return refuse((error as Error).message);
  }
  const named = values.mutant;
  const found = MUTANTS.filter(({ name }) => named !== undefined && name.includes(named));
  if (named !== undefined && found.length !== 1) {
    const names = (found.length === 0 ? MUTANTS : found).map(({ name }) => `  ${name}`).join('\n');
    refuse(`--mutant takes the name of one broken protocol, or a part of it; found ${named.slice(0, 60)}\n${names}`);
  }
  return {
    seed: whole('seed', values.seed),
    seeds: whole('seeds', values.seeds),
    from: whole('from', values.from),
    workers: whole('workers', values.workers),
    mutant: found[0]?.name,
  };
}

function whole(name: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? undefined : Number(text);
  return refuse(`--${name} takes a whole number, found ${text.slice(0, 60)}`);
}

function refuse(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
