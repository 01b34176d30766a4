/** The order of the test files: the slowest first, so that none of them is left for the end, when the other cores are idle. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that wait before those that compute, so that no wait is for a core. */
const SLOW = [
  'cli/workers',
  'soak/soak',
  'live/postgres',
  'journal/postgres',
  'contract/shared-processes',
  'cli/scheduler',
  'simulation/kills',
  'live/orders',
  'live/processes',
  'live/stops',
  'cli/store-place',
  'cli/launcher',
  'cli/watchdog',
  'cli/backup',
  'simulation/seeds',
  'cli/audit-evidence',
  'live/unwritable',
  'live/anchors',
  'live/answers',
  'live/late-orders',
  'live/account',
  'runbooks',
  'engine/determinism',
  'simulation/mutants',
  'plan/random-runbooks',
];

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = SLOW.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at === -1 ? SLOW.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
