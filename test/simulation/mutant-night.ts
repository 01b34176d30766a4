/**
 * `npm run mutants`: searches every broken protocol in fresh seeds (--seeds N, --from N to repeat) and says how many seeds it
 * took to catch each. With --record it writes anew in which seeds they are caught (mutant-seeds.json), as `npm test` runs
 * them. Ends with 1 where too few are caught, or one that is in no seed.
 */
import { readOptions } from '../options.js';
import { searchFresh, searchRecorded } from './mutant-search.ts';
import { writeMutantSeeds } from './mutant-seeds.ts';

const { values } = readOptions('npm run mutants -- OPTIONS: searches seeds in which each broken protocol is caught', {
  seeds: { kind: 'whole', means: 'seeds searched for each at most, 3000 by default, with --record 50000' },
  from: { kind: 'whole', means: 'first seed, a fresh one by default' },
  record: { kind: 'flag', means: 'write the seeds in which each is caught to mutant-seeds.json' },
});
const seeds = values.seeds ?? (values.record ? 50_000 : 3000);
const told = (line: string) => process.stdout.write(`${line}\n`);
if (values.record) {
  const found = await searchRecorded({ seeds, told });
  writeMutantSeeds(found);
  process.exitCode = Object.values(found).every((list) => list.length > 0) ? 0 : 1;
} else {
  const caught = await searchFresh({
    seeds,
    told,
    ...(values.from === undefined ? {} : { from: values.from }),
  });
  process.exitCode = caught < 25 ? 1 : 0;
}
