/**
 * `node test/launch.js live/stop-night --stops 1000`: as many processes as wanted are stopped while they send an order, each at a
 * point and through an event that are drawn from the seed, several side by side. Ends with 1 where an order came late or twice.
 */
import { parseArgs } from 'node:util';
import { Draws } from '../simulation/draws.ts';
import { buildStopping, EVENTS, PLACES, playStop } from './stopping.ts';

const { values } = parseArgs({
  options: {
    stops: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '8' },
  },
});
const wanted = Number(values.stops);
const draws = new Draws(Number(values.seed), 'stops');
const problems: string[] = [];
const counts: Record<string, number> = {};
let begun = 0;

const program = await buildStopping();
try {
  await Promise.all(
    Array.from({ length: Number(values.lanes) }, async () => {
      while (begun < wanted && problems.length < 5) {
        begun += 1;
        const [place, event] = [draws.of(PLACES), draws.of(EVENTS)];
        const which = `${place}, ${event}`;
        counts[which] = (counts[which] ?? 0) + 1;
        const { late, repeated, left, ended } = await playStop(program, place, event);
        if (late > 0) problems.push(`${which}: ${late} orders after it went on: ${ended.err.slice(-300)}`);
        if (repeated.length > 0) problems.push(`${which}: sent twice: ${repeated.join(', ')}`);
        if (event === 'kill' && left !== 0) problems.push(`${which}: kill left ${left}`);
      }
    }),
  );
} finally {
  program.remove();
}
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${begun} stops: ${JSON.stringify(counts)}; ${problems.length} problems\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
