/** Measures row 14: the token budget at full load against four ways of counting, and the cost of an acquisition. */
import { VirtualClock } from '../../src/base/clock.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { COUNTING_RULES } from '../../test/venue/counting-venues.ts';
import { type LoadResult, saturate } from '../../test/venue/saturation.ts';
import { computeMedian, measureRatio } from '../measure.ts';
import type { Row } from './row.ts';

const MINUTES = 5;
const SEEDS = [1, 2, 3, 4, 5];
/** So many that the garbage of the 10,000 that wait, and the first rounds of a process, are a small part of what is measured. */
const ACQUISITIONS = 20_000;
const ROUNDS = 9;

/**
 * The goals are for the first three ways in which a venue may count. The fourth estimates how much of the previous window
 * still counts, and may refuse requests within the limit: it has a row without a goal.
 */
const ESTIMATE = 'sliding counter';
const READINGS = COUNTING_RULES.filter(({ name }) => name !== ESTIMATE);

const loads = new Map<string, readonly LoadResult[]>();

/** Runs every seed against each way of counting, with `reserve` tokens kept for urgent requests. */
function runLoad(reserve: number, rules = READINGS): readonly LoadResult[] {
  const key = `${reserve} ${rules.map(({ name }) => name).join()}`;
  const known = loads.get(key);
  if (known !== undefined) return known;
  const results = rules.flatMap((rule) =>
    SEEDS.map((seed) => saturate({ rule, seed, minutes: MINUTES, settings: { reserve } })),
  );
  loads.set(key, results);
  return results;
}

function countRefusals(rules = READINGS): number {
  return [12, 0].flatMap((reserve) => runLoad(reserve, rules)).reduce((sum, each) => sum + each.refusals, 0);
}

function computeUtilisation(reserve: number): number {
  return 100 * computeMedian(runLoad(reserve).map((result) => result.utilisation));
}

/** Processor time in µs per acquisition while `waiting` other requests wait: reads, which are paced, unlike cancels. */
async function measureAcquisition(waiting: number): Promise<number> {
  const clock = new VirtualClock(0);
  const budget = new LocalBudget(
    budgetSettings({ tokens: 1e9, burst: 1 }),
    clock,
    {},
    { random: () => 0.5, queueLimit: 50_000 },
  );
  // The first of them is sent at once.
  for (let n = 0; n <= waiting; n += 1) void budget.acquire({ endpoint: 'GET /account', weight: 20, class: 'read' });
  await clock.quiesce();
  const found = budget.report().waiting;
  if (found !== waiting) throw new Error(`${found} wait, not ${waiting}`);
  const before = process.cpuUsage();
  for (let n = 0; n < ACQUISITIONS; n += 1) {
    const answer = await budget.acquire({ endpoint: 'PUT /orders', weight: 1, class: 'protect' });
    if (answer.kind === 'refused') throw new Error(answer.code);
    answer.ticket.answered({}, { limited: false });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ACQUISITIONS;
}

const LOAD = `${MINUTES} minutes at full load, ${SEEDS.length} seeds × ${READINGS.map(({ name }) => name).join(', ')}`;

export const BUDGET_ROWS: readonly Row[] = [
  {
    id: '14',
    what: `use of the limit with a reserve of 1 %, ${LOAD}`,
    against: 'the limit',
    unit: '%',
    pass: 98.5,
    excellent: 98.9,
    least: true,
    measure: async () => computeUtilisation(12),
  },
  {
    id: '14',
    what: 'the same without a reserve',
    against: 'the limit',
    unit: '%',
    pass: 99,
    excellent: 99.4,
    least: true,
    measure: async () => computeUtilisation(0),
  },
  {
    id: '14b',
    what: 'refusals by the venue in all of these',
    against: 'none',
    unit: 'count',
    pass: 0,
    excellent: 0,
    measure: async () => countRefusals(),
  },
  {
    id: '14b',
    what: `the same where the venue counts by a ${ESTIMATE}`,
    against: 'none',
    unit: 'count',
    measure: async () => countRefusals(COUNTING_RULES.filter(({ name }) => name === ESTIMATE)),
  },
  {
    id: '14c',
    what: 'longest wait of a cancel while the reserve holds',
    against: 'none',
    unit: 'ms',
    pass: 50,
    excellent: 0,
    measure: async () => Math.max(...runLoad(60).map((result) => result.longestCancelWaitMs)),
  },
  {
    id: '14d',
    what: 'processor time of an acquisition',
    against: 'none',
    unit: 'µs',
    pass: 10,
    excellent: 3,
    measure: async () => {
      const rounds: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measureAcquisition(0));
      return computeMedian(rounds);
    },
  },
  {
    id: '14d',
    what: 'the same with 10 000 waiting',
    against: 'none waiting',
    pass: 2,
    excellent: 1.2,
    measure: async () => {
      // The code is compiled while the first of them run.
      for (const waiting of [0, 10_000, 0, 10_000]) await measureAcquisition(waiting);
      return measureRatio(
        ROUNDS,
        () => measureAcquisition(10_000),
        () => measureAcquisition(0),
      );
    },
  },
];
