/** Rows 1 to 4: dry-runs in process, against Amazon States Language executed locally and against XState without an engine. */
import type { Row } from './row.ts';
import { cold, type Pick, type Sample, swell, trialFigure, trialRatio, warm } from './trials.ts';

const STEPS = 1000;
const ITERATIONS = 10_000;

const whole: Sample = { trial: 'wholeLine', size: STEPS };
const aslWhole: Sample = { trial: 'aslWholeLine', size: STEPS };
const conditions: Sample = { trial: 'conditions', size: ITERATIONS, runs: 4 };
const aslConditions: Sample = { trial: 'aslConditions', size: ITERATIONS, runs: 4 };
const branches: Sample = { trial: 'conditionBranches', size: 100, runs: 12 };
const aslBranches: Sample = { trial: 'aslConditionBranches', size: 100, runs: 12 };

function pair(row: Omit<Row, 'measure'>, ours: Sample, theirs: Sample, pick: Pick): Row {
  return { ...row, measure: () => trialRatio(ours, theirs, pick) };
}

const ASL = 'aws-local-stepfunctions';
const text = `${STEPS} calls, from the text to the outcome`;
const alone = `${STEPS} calls, the execution alone`;

export const DRY_RUN_ROWS: readonly Row[] = [
  pair({ id: '1', what: `${text}, cold`, against: ASL, pass: 1, excellent: 0.7 }, whole, aslWhole, cold),
  pair({ id: '1', what: `${text}, warm`, against: ASL, pass: 1, excellent: 0.7 }, whole, aslWhole, warm),
  pair(
    { id: '1b', what: `${alone}, warm`, against: `${ASL}, which keeps no journal` },
    { trial: 'line', size: STEPS },
    { trial: 'aslLine', size: STEPS },
    warm,
  ),
  pair(
    { id: '1c', what: `${alone}, SQLite, warm`, against: 'the same, journal in memory' },
    { trial: 'lineSqlite', size: STEPS },
    { trial: 'line', size: STEPS },
    warm,
  ),
  pair(
    { id: '2', what: `${text}, cold`, against: 'raw xstate, a machine of as many states', pass: 0.6, excellent: 0.4 },
    whole,
    { trial: 'xstateWholeLine', size: STEPS },
    cold,
  ),
  pair(
    { id: '2', what: `${text}, warm`, against: 'raw xstate, a machine of as many states', pass: 0.6, excellent: 0.4 },
    whole,
    { trial: 'xstateWholeLine', size: STEPS },
    warm,
  ),
  pair(
    {
      id: '3',
      what: `${ITERATIONS} iterations of a condition, cold`,
      against: `${ASL}, Map and Choice`,
      pass: 0.7,
      excellent: 0.45,
    },
    conditions,
    aslConditions,
    cold,
  ),
  pair(
    {
      id: '3',
      what: `${ITERATIONS} iterations of a condition, warm`,
      against: `${ASL}, Map and Choice`,
      pass: 0.7,
      excellent: 0.45,
    },
    conditions,
    aslConditions,
    warm,
  ),
  {
    id: '3',
    what: `${ITERATIONS} iterations of a condition, SQLite: most memory`,
    against: 'the process before it',
    pass: 1.5,
    excellent: 1.25,
    measure: async () => trialFigure({ trial: 'conditionsSqlite', size: ITERATIONS, runs: 1 }, swell),
  },
  pair(
    { id: '3b', what: `${ITERATIONS} iterations of a call, warm`, against: `${ASL}, Map and Task` },
    { trial: 'loop', size: ITERATIONS, runs: 4 },
    { trial: 'aslLoop', size: ITERATIONS, runs: 4 },
    warm,
  ),
  pair(
    {
      id: '4',
      what: '100 branches with a condition, cold',
      against: `${ASL}, Parallel and Choice`,
      pass: 1,
      excellent: 0.5,
    },
    branches,
    aslBranches,
    cold,
  ),
  pair(
    {
      id: '4',
      what: '100 branches with a condition, warm',
      against: `${ASL}, Parallel and Choice`,
      pass: 1,
      excellent: 0.5,
    },
    branches,
    aslBranches,
    warm,
  ),
  pair(
    { id: '4b', what: '100 branches with a call, warm', against: `${ASL}, Parallel and Task` },
    { trial: 'branches', size: 100, runs: 12 },
    { trial: 'aslBranches', size: 100, runs: 12 },
    warm,
  ),
  pair(
    { id: '4', what: '1000 branches', against: '100 branches', pass: 12, excellent: 11 },
    { ...branches, size: 1000 },
    branches,
    warm,
  ),
];

/** Row 17: ten times as much, in how many times the time. */
export const GROWTH_ROWS: readonly Row[] = [
  growth('steps, read and executed', { trial: 'wholeLine', size: 300 }),
  growth('iterations', { trial: 'loop', size: 1000 }),
  growth('branches with a call', { trial: 'branches', size: 100 }),
];

function growth(what: string, small: Sample): Row {
  const large = { ...small, size: small.size * 10 };
  const row = { id: '17', what: `${large.size} ${what}`, against: `${small.size}`, pass: 13, excellent: 11 };
  return pair(row, large, small, warm);
}
