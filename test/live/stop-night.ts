/**
 * `npm run stops -- --stops 1000`: as many processes as wanted are stopped within a request, each in a task, at a place and
 * through an event that are drawn from the seed, several side by side. Ends with 1 where an order came late, twice or unknown; with
 * 130 when it is interrupted, after the scenes that are under way.
 */
import { readOptions } from '../options.js';
import { Draws } from '../simulation/draws.ts';
import { BEHIND, buildStopping, listEvents, listPlaces, playStop, TASKS, type TaskName } from './stopping.ts';

const INTERRUPTED = 130;
const { values } = readOptions('npm run stops -- OPTIONS: stops real processes within a request, and continues them', {
  stops: { kind: 'whole', means: 'stops, 1000 by default' },
  seed: { kind: 'whole', means: 'seed, 1 by default' },
  lanes: { kind: 'whole', means: 'venues side by side, 8 by default' },
});
const wanted = values.stops ?? 1000;
const draws = new Draws(values.seed ?? 1, 'stops');
/** After so many there is no need for more. */
const MOST_PROBLEMS = 5;
const startedAt = performance.now();
const problems: string[] = [];
const counts = { task: {}, place: {}, event: {} } as Record<'task' | 'place' | 'event', Record<string, number>>;
let [begun, stopped, unreached, behind] = [0, 0, 0, 0];
let interrupted = false;
const interrupt = () => {
  interrupted = true;
  process.stderr.write('\ninterrupted: no more stops; those that are under way come to their end\n');
};
process.once('SIGINT', interrupt).once('SIGTERM', interrupt);

const program = await buildStopping();
try {
  await Promise.all(
    Array.from({ length: values.lanes ?? 8 }, async () => {
      while (stopped < wanted && !interrupted && problems.length < MOST_PROBLEMS) await playNext();
    }),
  );
} finally {
  program.remove();
}
const seconds = (performance.now() - startedAt) / 1000;
for (const [what, each] of Object.entries(counts)) process.stdout.write(`${what}: ${JSON.stringify(each)}\n`);
process.stdout.write(
  `${stopped} stops, ${seconds.toFixed(0)} s (${Math.round((stopped / seconds) * 60)} a minute), ${unreached} never came to their place; ` +
    `${behind} requests left that were stopped behind the gate; ${problems.length} problems\n`,
);
process.exitCode = interrupted ? INTERRUPTED : problems.length > 0 ? 1 : 0;

function report(problem: string): void {
  problems.push(problem);
  process.stdout.write(`${problem}\n`);
}

async function playNext(): Promise<void> {
  begun += 1;
  const task = draws.of(Object.keys(TASKS) as TaskName[]);
  const [place, event] = [draws.of(listPlaces(task)), draws.of(listEvents(task))];
  const which = `${begun}: ${task}, ${place}, ${event}`;
  try {
    const { wasStopped, late, repeated, unknown, unsound, left, ended } = await playStop(program, task, place, event);
    const found = [
      ...repeated.map((id) => `twice: ${id}`),
      ...unsound,
      ...(BEHIND.has(place) ? [] : [...late.map((request) => `late: ${request}`), ...unknown]),
      ...(event.startsWith('kill') && wasStopped && left !== 0 ? [`kill left ${left}`] : []),
    ];
    for (const each of found) report(`${which}: ${each}\n  exit ${ended.exit} ${ended.err.slice(-300)}`);
    if (BEHIND.has(place)) behind += late.length;
    if (!wasStopped) unreached += 1;
    else {
      stopped += 1;
      for (const [what, name] of Object.entries({ task, place, event })) {
        const each = counts[what as keyof typeof counts];
        each[name] = (each[name] ?? 0) + 1;
      }
    }
  } catch (error) {
    report(`${which}: ${(error as Error).message}`);
  }
  if (process.stderr.isTTY) process.stderr.write(`\r${stopped} stops `);
  else if (stopped % 50 === 0) process.stderr.write(`${stopped} stops, ${problems.length} problems\n`);
}
