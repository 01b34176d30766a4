/**
 * `npm run mutants`: searches every broken protocol in fresh seeds (--seeds N, --from N to repeat) and says how many seeds it
 * took to catch each. With --record it writes anew in which seeds they are caught (mutant-seeds.json), as `npm test` runs
 * them. Ends with 1 where too few are caught, or one that is in no seed.
 */
import { parseArgs } from 'node:util';
import { searchFresh, searchRecorded } from './mutant-search.ts';
import { writeMutantSeeds } from './mutant-seeds.ts';

const { values } = parseArgs({
  options: { seeds: { type: 'string' }, from: { type: 'string' }, record: { type: 'boolean', default: false } },
});
const seeds = Number(values.seeds ?? (values.record ? 50_000 : 3000));
const told = (line: string) => process.stdout.write(`${line}\n`);
if (values.record) {
  const found = await searchRecorded({ seeds, told });
  writeMutantSeeds(found);
  process.exitCode = Object.values(found).every((list) => list.length > 0) ? 0 : 1;
} else {
  const caught = await searchFresh({
    seeds,
    told,
    ...(values.from === undefined ? {} : { from: Number(values.from) }),
  });
  process.exitCode = caught < 25 ? 1 : 0;
}
