/**
 * `npm run simulate`: the simulation for a night (--seeds 1000000, --from N), or one seed again with its whole story
 * (--seed N). Ends with 1 where a seed fails, and names the command that repeats it; with 130 when it is interrupted, having
 * reported so far. --mutant NAME simulates a broken protocol, to see what its failure looks like. --drawn: seeds that each have a
 * runbook of their own, chosen by what was not met yet; --shrink and --without make one smaller.
 */
import { readOptions } from '../options.js';
import { added, listSeeds, NOTHING, type Tally } from './batch.ts';
import { describeCoverage, weighAims } from './coverage.ts';
import { AIM_NAMES } from './drawn-world.ts';
import { Draws } from './draws.ts';
import { MUTANTS } from './mutants.ts';
import type { WorldName } from './scenario.ts';
import { readParts } from './shrink.ts';
import { repeatCommand } from './story.ts';
import { chooseSeeds, runSeeds, withWorkers } from './workers.ts';

const YEAR_MS = 31_557_600_000;
/** Stories shown, and failing seeds after which there is no point in going on. */
const SHOWN = 3;
const ENOUGH = 50;
const INTERRUPTED = 130;

const { seed, seeds, from, workers, mutant, drawn, without, smallest } = wanted();
if (seed !== undefined && seeds === undefined) await one(drawn ? { drawn: seed, without } : seed);
else await many(seed ?? from ?? 0, seeds ?? 20_000);

async function one(world: WorldName): Promise<void> {
  const told = await withWorkers(1, async ([ask]) => ask?.({ kind: 'story', world, mutant, smallest }));
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
  const showProgress = () =>
    process.stderr.isTTY && process.stderr.write(`\r${sum.seeds} of ${count} seeds, ${sum.failing.length} failing `);
  showProgress();
  const each = (tally: Tally): boolean => {
    for (const failing of tally.failing) {
      const { world, invariants, story } = failing;
      if (sum.failing.length + tally.failing.indexOf(failing) < SHOWN && story !== undefined)
        process.stdout.write(`${story}\n`);
      process.stdout.write(`${invariants.join(', ')} broken; again: ${repeatCommand(world, mutant)}\n`);
    }
    sum = added(sum, tally);
    showProgress();
    return !interrupted && sum.failing.length < ENOUGH;
  };
  const choose = drawn ? chooseDrawn(first, () => sum) : chooseSeeds(listSeeds, first);
  await runSeeds({ count, choose, each, mutant, ...(workers === undefined ? {} : { workers }) });
  const seconds = (performance.now() - startedAt) / 1000;
  const rows = Object.entries(sum.mix).sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  if (drawn) process.stdout.write(`${describeCoverage(sum.mix).join('\n')}\n\n`);
  process.stdout.write(
    `${rows
      .filter(([name]) => !drawn || !name.startsWith('row '))
      .map(([name, times]) => `${String(times).padStart(9)}  ${name}`)
      .join('\n')}\n` +
      `${sum.seeds} seeds from ${first} in ${seconds.toFixed(0)} s (${Math.round(sum.seeds / seconds)} a second), ${sum.failing.length} failing; ` +
      `${(sum.simulatedMs / YEAR_MS).toFixed(3)} simulated years, ${sum.entries} entries\n`,
  );
  process.exitCode = interrupted ? INTERRUPTED : sum.failing.length > 0 ? 1 : 0;
}

/** Chooses fresh seeds from one on, more of the aims that have more left to meet. Which world a seed is never depends on the others. */
function chooseDrawn(first: number, sum: () => Tally): (count: number) => readonly WorldName[] {
  const draws = new Draws(first, 'choice');
  const taken = new Map<string, number>();
  return (count) => {
    const weights = weighAims(sum().mix);
    return Array.from({ length: count }, () => {
      const aim = draws.weighted(weights);
      const before = taken.get(aim) ?? 0;
      taken.set(aim, before + 1);
      const offset = (AIM_NAMES.indexOf(aim) - (first % AIM_NAMES.length) + AIM_NAMES.length) % AIM_NAMES.length;
      return { drawn: first + before * AIM_NAMES.length + offset };
    });
  };
}

function wanted() {
  const { values } = readOptions('npm run simulate -- OPTIONS: simulates worlds, or one with its story', {
    seed: { kind: 'whole', means: 'one world, with its story; with --seeds the first of them' },
    seeds: { kind: 'whole', means: 'how many worlds, 20000 by default' },
    from: { kind: 'whole', means: 'first seed, 0 by default' },
    workers: { kind: 'whole', means: 'threads, as many as cores by default' },
    mutant: { kind: 'text', means: 'a part of the name of a broken protocol to simulate' },
    drawn: { kind: 'flag', means: 'seeds with a runbook of their own, chosen by what was not met yet' },
    without: { kind: 'text', means: 'parts that a drawn world is to lack: 1-3,7' },
    shrink: { kind: 'flag', means: 'the smallest world that fails in the same way' },
  });
  const parts = values.without === undefined ? [] : readParts(values.without);
  if (parts === undefined)
    return refuse(`--without takes numbers and ranges such as 1-3,7, found ${values.without?.slice(0, 60)}`);
  const named = values.mutant;
  const found = MUTANTS.filter(({ name }) => named !== undefined && name.includes(named));
  if (named !== undefined && found.length !== 1) {
    const names = (found.length === 0 ? MUTANTS : found).map(({ name }) => `  ${name}`).join('\n');
    refuse(`--mutant takes the name of one broken protocol, or a part of it; found ${named.slice(0, 60)}\n${names}`);
  }
  return {
    ...values,
    mutant: found[0]?.name,
    drawn: values.drawn === true,
    without: parts,
    smallest: values.shrink === true,
  };
}

function refuse(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
