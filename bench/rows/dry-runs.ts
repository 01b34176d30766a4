/** Measures rows 1 to 4 and 17: dry-runs in process, against local Amazon States Language and against plain XState. */
import type { Row } from './row.ts';
import { measureTrial, measureTrialRatio, type Pick, pickCold, pickGrowth, pickWarm, type Sample } from './trials.ts';

const STEPS = 1000;
const ITERATIONS = 10_000;

const whole: Sample = { trial: 'wholeLine', size: STEPS };
const aslWhole: Sample = { trial: 'aslWholeLine', size: STEPS };
const conditions: Sample = { trial: 'conditions', size: ITERATIONS, runs: 4 };
const aslConditions: Sample = { trial: 'aslConditions', size: ITERATIONS, runs: 4 };
const branches: Sample = { trial: 'conditionBranches', size: 100, runs: 12 };
const aslBranches: Sample = { trial: 'aslConditionBranches', size: 100, runs: 12 };

function compare(row: Omit<Row, 'measure'>, ours: Sample, theirs: Sample, pick: Pick): Row {
  return { ...row, measure: () => measureTrialRatio(ours, theirs, pick) };
}

const ASL = 'aws-local-stepfunctions';
const text = `${STEPS} calls, from the text to the outcome`;
const alone = `${STEPS} calls, the execution alone`;

export const DRY_RUN_ROWS: readonly Row[] = [
  compare({ id: '1', what: `${text}, cold`, against: ASL, pass: 1, excellent: 0.7 }, whole, aslWhole, pickCold),
  compare({ id: '1', what: `${text}, warm`, against: ASL, pass: 1, excellent: 0.7 }, whole, aslWhole, pickWarm),
  compare(
    { id: '1b', what: `${alone}, warm`, against: `${ASL}, which keeps no journal`, pass: 2.5, excellent: 1.5 },
    { trial: 'line', size: STEPS },
    { trial: 'aslLine', size: STEPS },
    pickWarm,
  ),
  compare(
    { id: '1c', what: `${alone}, SQLite, warm`, against: 'the same, journal in memory' },
    { trial: 'lineSqlite', size: STEPS },
    { trial: 'line', size: STEPS },
    pickWarm,
  ),
  compare(
    { id: '2', what: `${text}, cold`, against: 'raw xstate, a machine of as many states', pass: 0.6, excellent: 0.4 },
    whole,
    { trial: 'xstateWholeLine', size: STEPS },
    pickCold,
  ),
  compare(
    { id: '2', what: `${text}, warm`, against: 'raw xstate, a machine of as many states', pass: 0.6, excellent: 0.4 },
    whole,
    { trial: 'xstateWholeLine', size: STEPS },
    pickWarm,
  ),
  compare(
    { id: '2b', what: `${alone}, warm`, against: 'raw xstate, a machine of as many states', pass: 1, excellent: 0.7 },
    { trial: 'line', size: STEPS },
    { trial: 'xstateLine', size: STEPS },
    pickWarm,
  ),
  compare(
    {
      id: '3',
      what: `${ITERATIONS} iterations of a condition, cold`,
      against: `${ASL}, Map and Choice`,
      pass: 0.7,
      excellent: 0.45,
    },
    conditions,
    aslConditions,
    pickCold,
  ),
  compare(
    {
      id: '3',
      what: `${ITERATIONS} iterations of a condition, warm`,
      against: `${ASL}, Map and Choice`,
      pass: 0.7,
      excellent: 0.45,
    },
    conditions,
    aslConditions,
    pickWarm,
  ),
  {
    id: '3',
    what: `${ITERATIONS} iterations of a condition, SQLite: most memory`,
    against: 'the process before it',
    pass: 1.5,
    excellent: 1.25,
    measure: async () => measureTrial({ trial: 'conditionsSqlite', size: ITERATIONS, runs: 1 }, pickGrowth),
  },
  compare(
    { id: '3b', what: `${ITERATIONS} iterations of a call, warm`, against: `${ASL}, Map and Task` },
    { trial: 'loop', size: ITERATIONS, runs: 4 },
    { trial: 'aslLoop', size: ITERATIONS, runs: 4 },
    pickWarm,
  ),
  compare(
    {
      id: '4',
      what: '100 branches with a condition, cold',
      against: `${ASL}, Parallel and Choice`,
      pass: 1,
      excellent: 0.5,
    },
    branches,
    aslBranches,
    pickCold,
  ),
  compare(
    {
      id: '4',
      what: '100 branches with a condition, warm',
      against: `${ASL}, Parallel and Choice`,
      pass: 1,
      excellent: 0.5,
    },
    branches,
    aslBranches,
    pickWarm,
  ),
  compare(
    {
      id: '4b',
      what: '100 branches with a call, warm',
      against: `${ASL}, Parallel and Task`,
      pass: 1.5,
      excellent: 1,
    },
    { trial: 'branches', size: 100, runs: 12 },
    { trial: 'aslBranches', size: 100, runs: 12 },
    pickWarm,
  ),
  compare(
    { id: '4', what: '1000 branches', against: '100 branches', pass: 12, excellent: 11 },
    { ...branches, size: 1000 },
    branches,
    pickWarm,
  ),
];

/** Row 17: how much longer ten times the work takes. */
export const GROWTH_ROWS: readonly Row[] = [
  compareGrowth('steps, read and executed', { trial: 'wholeLine', size: 300 }),
  compareGrowth('iterations', { trial: 'loop', size: 1000 }),
  compareGrowth('branches with a call', { trial: 'branches', size: 100 }),
];

function compareGrowth(what: string, small: Sample): Row {
  const large = { ...small, size: small.size * 10 };
  const row = { id: '17', what: `${large.size} ${what}`, against: `${small.size}`, pass: 13, excellent: 11 };
  return compare(row, large, small, pickWarm);
}
