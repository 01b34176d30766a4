/** Measures row 22: what a run of a month needs, from hours of virtual time of a loop that reads once a second and finds nothing. */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { writeWatch } from '../runbooks.ts';
import { execute, loadRunbook } from '../trials/product.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';
import { measureTrial, pickCold } from './trials.ts';

const HOUR = 3600;
const HOURS = 6;
/** Six hours in thirty days. */
const IN_A_MONTH = (30 * 24) / HOURS;

/** Bytes that `rounds` rounds take on the disk, without those of an empty store. */
async function measureJournal(rounds: number): Promise<number> {
  const folder = join(getWorkFolder(), `watch-${rounds}`);
  mkdirSync(folder);
  const store = await openSqliteStore(join(folder, 'runbook.db'));
  await execute(loadRunbook(writeWatch(rounds)), store, 'bench');
  await store.close();
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

export const LONG_RUN_ROWS: readonly Row[] = [
  {
    id: '22',
    what: '30 days of a loop of one second that finds nothing: journal, from 6 hours',
    against: 'none',
    unit: 'MB',
    pass: 200,
    excellent: 50,
    measure: async () => (((await measureJournal(HOURS * HOUR)) - (await measureJournal(1))) * IN_A_MONTH) / 2 ** 20,
  },
  {
    id: '22',
    what: 'the same: dry-run, from 6 hours',
    against: 'none',
    unit: 's',
    pass: 90,
    excellent: 45,
    measure: async () => (measureTrial({ trial: 'watch', size: HOURS * HOUR, runs: 1 }, pickCold) * IN_A_MONTH) / 1000,
  },
  {
    id: '22',
    what: 'the same: most memory of 6 hours',
    against: 'of one hour',
    pass: 1.25,
    excellent: 1.1,
    measure: async () =>
      measureTrial({ trial: 'watch', size: HOURS * HOUR, runs: 1 }, ({ peakMb }) => peakMb) /
      measureTrial({ trial: 'watch', size: HOUR, runs: 1 }, ({ peakMb }) => peakMb),
  },
];
