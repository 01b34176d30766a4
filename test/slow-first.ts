/** The order of the test files: the slowest first, so that none of them is left for the end, when the other cores are idle. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Those that wait and those that compute by turns: together they use the cores all the time. Among the first of a run, which begin at
 * once, two compute.
 */
const SLOW = [
  'cli/workers',
  'soak/soak',
  'live/postgres',
  'simulation/seeds',
  'live/orders',
  'cli/scheduler',
  'runbooks',
  'simulation/kills',
  'live/processes',
  'journal/postgres',
  'cli/serve-browser',
  'cli/store-place',
  'engine/determinism',
  'live/stops',
  'engine/golden',
  'live/unwritable',
  'runbook/schema',
  'docs',
  'simulation/mutants',
  'cli/backup',
  'cli/audit-evidence',
  'live/account',
  'simulation/throwing',
  'cli/restored-database',
  'runbook/format',
  'live/identity',
  'cli/testing',
  'live/late-orders',
  'cli/watchdog',
  'engine/scheduler-year',
  'live/answers',
  'contract/shared-processes',
  'engine/scheduler-stores',
  'live/anchors',
  'live/store-away',
  'live/paper',
  'runbook/schedule-zones',
  'cli/launcher',
];

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = SLOW.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at === -1 ? SLOW.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
