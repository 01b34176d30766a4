/**
 * `npm run simulate`: the simulation for a night (--seeds 1000000, --from N), or one seed again with its whole story
 * (--seed N). Ends with 1 where a seed fails, and names the command that repeats it.
 */
import { parseArgs } from 'node:util';
import { ask, runSeeds, withWorker } from './workers.js';

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

async function one(seed) {
  const { story, failing } = await withWorker((file) => ask(file, { kind: 'story', seed }));
  process.stdout.write(story);
  process.exitCode = failing ? 1 : 0;
}

async function many(from, count) {
  const startedAt = Date.now();
  const sum = { seeds: 0, failing: 0, simulatedMs: 0, entries: 0, outcomes: {}, struck: {} };
  const each = (tally) => {
    sum.seeds += tally.seeds;
    sum.simulatedMs += tally.simulatedMs;
    sum.entries += tally.entries;
    for (const key of ['outcomes', 'struck'])
      for (const [name, times] of Object.entries(tally[key])) sum[key][name] = (sum[key][name] ?? 0) + times;
    for (const { seed, invariants, story } of tally.failing) {
      sum.failing += 1;
      if (sum.failing <= 3 && story !== undefined) process.stdout.write(`${story}\n`);
      process.stdout.write(`seed ${seed} breaks ${invariants.join(', ')}; again: npm run simulate -- --seed ${seed}\n`);
    }
    if (process.stderr.isTTY) process.stderr.write(`\r${sum.seeds} of ${count} seeds, ${sum.failing} failing`);
    return sum.failing < 50;
  };
  await runSeeds({
    from,
    count,
    each,
    ...(values.workers === undefined ? {} : { workers: whole('workers', values.workers) }),
  });
  const seconds = (Date.now() - startedAt) / 1000;
  const years = sum.simulatedMs / 31_557_600_000;
  process.stdout.write(
    `${sum.seeds} seeds in ${seconds.toFixed(0)} s (${Math.round(sum.seeds / seconds)} a second), ${sum.failing} failing; ${years.toFixed(3)} simulated years, ${sum.entries} entries\n` +
      `outcomes: ${JSON.stringify(sum.outcomes)}\nstruck: ${JSON.stringify(sum.struck)}\n`,
  );
  process.exitCode = sum.failing > 0 ? 1 : 0;
}

function whole(name, text) {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} takes a whole number, found ${text.slice(0, 60)}\n`);
  process.exit(2);
}
