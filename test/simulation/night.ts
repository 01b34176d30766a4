/**
 * `npm run simulate`: the simulation for a night (--seeds 1000000, --from N), or one seed again with its whole story
 * (--seed N). Ends with 1 where a seed fails, and names the command that repeats it.
 */
import { parseArgs } from 'node:util';
import { added, NOTHING, type Tally } from './batch.ts';
import { repeatCommand } from './story.ts';
import { runSeeds, withWorkers } from './workers.ts';

const YEAR_MS = 31_557_600_000;
/** Stories shown, and failing seeds after which there is no point in going on. */
const SHOWN = 3;
const ENOUGH = 50;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '20000' },
    from: { type: 'string', default: '0' },
    workers: { type: 'string' },
  },
});

if (values.seed !== undefined) await one(whole('seed', values.seed));
else await many(whole('from', values.from), whole('seeds', values.seeds));

async function one(seed: number): Promise<void> {
  const told = await withWorkers(1, async ([ask]) => ask?.({ kind: 'story', seed }));
  if (told === undefined) throw new Error('no worker');
  const { story, breaches } = told;
  process.stdout.write(story);
  process.exitCode = breaches > 0 ? 1 : 0;
}

async function many(from: number, count: number): Promise<void> {
  const startedAt = performance.now();
  let sum = NOTHING;
  const each = (tally: Tally): boolean => {
    for (const { seed, invariants, story } of tally.failing) {
      if (sum.failing.length < SHOWN && story !== undefined) process.stdout.write(`${story}\n`);
      process.stdout.write(`seed ${seed} breaks ${invariants.join(', ')}; again: ${repeatCommand(seed)}\n`);
    }
    sum = added(sum, tally);
    if (process.stderr.isTTY) process.stderr.write(`\r${sum.seeds} of ${count} seeds, ${sum.failing.length} failing `);
    return sum.failing.length < ENOUGH;
  };
  const workers = values.workers === undefined ? {} : { workers: whole('workers', values.workers) };
  await runSeeds({ from, count, each, ...workers });
  const seconds = (performance.now() - startedAt) / 1000;
  process.stdout.write(
    `${sum.seeds} seeds in ${seconds.toFixed(0)} s (${Math.round(sum.seeds / seconds)} a second), ${sum.failing.length} failing; ` +
      `${(sum.simulatedMs / YEAR_MS).toFixed(3)} simulated years, ${sum.entries} entries\n` +
      `outcomes: ${shown(sum.outcomes)}\nprocesses struck: ${shown(sum.struck)}\n`,
  );
  process.exitCode = sum.failing.length > 0 ? 1 : 0;
}

function shown(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([name, times]) => `${name} ${times}`)
    .join(', ');
}

function whole(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} takes a whole number, found ${text.slice(0, 60)}\n`);
  process.exit(2);
}
