/** Random runbooks under random faults: none sends what is not a row of its plan, and none exceeds a bound of it. */
import { describe, expect, it } from 'vitest';
import type { Plan, PlannedRequest, PlanRow } from '../../src/runbook/plan/plan.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { countSpent, findExceeded, findUnplanned } from './against-plan.ts';
import { describeRun, type RandomRun, runRandom } from './random-run.ts';

/** A machine with much else to do needs a multiple of half a minute. */
const PATIENCE_MS = 600_000;

interface Judged {
  readonly steps: ReadonlySet<string>;
  readonly outcomes: ReadonlySet<string>;
  readonly dropped: number;
}

async function judge(from: number, count: number): Promise<Judged> {
  const steps = new Set<string>();
  const outcomes = new Set<string>();
  let dropped = 0;
  for (let seed = from; seed < from + count; seed += 1) {
    const run = await runRandom(seed);
    if (run.breaches.length > 0) throw new Error(describeRun(run));
    outcomes.add(run.outcome);
    dropped += run.dropped.length;
    for (const entry of run.entries) if (entry.type === 'step.started') steps.add(entry.data.verb);
  }
  return { steps, outcomes, dropped };
}

describe('random runbooks keep to their plans under random faults', { timeout: PATIENCE_MS }, () => {
  it('20 fixed ones', async () => {
    const { outcomes, dropped } = await judge(0, 20);
    expect([...outcomes]).toEqual(expect.arrayContaining(['succeeded', 'failed']));
    // Most of what is drawn is well typed.
    expect(dropped).toBeLessThan(30);
  });

  it('500 more', { tags: ['long'] }, async () => {
    const { steps, outcomes } = await judge(20_000, 500);
    expect([...outcomes].sort()).toEqual(['failed', 'halted', 'stopped', 'succeeded']);
    expect(steps.size).toBeGreaterThan(25);
  });
});

describe('the comparison with the plan', () => {
  /** A run that places an order. */
  async function findRun(): Promise<RandomRun> {
    for (let seed = 0; ; seed += 1) {
      const run = await runRandom(seed);
      if (countSpent(run.entries).notional.gt(0)) return run;
    }
  }

  it('finds a row that is missing, and a parameter that differs', async () => {
    const { plan, entries } = await findRun();
    expect(findUnplanned(plan, entries)).toEqual([]);
    expect(
      findUnplanned(
        changeOrders(plan, () => []),
        entries,
      ),
    ).not.toEqual([]);
    const renamed = changeOrders(plan, (row) => [{ ...row, params: { ...row.params, market_id: 'XRP-USD' } }]);
    expect(findUnplanned(renamed, entries)).not.toEqual([]);
  });

  it('finds each bound that is one too small', async () => {
    const { plan, entries } = await findRun();
    const spent = countSpent(entries);
    const { bounds } = plan;
    expect(findExceeded(plan, entries)).toEqual([]);
    for (const [name, count] of Object.entries(spent.requests)) {
      const requests = { ...bounds.requests, [name as EndpointName]: { min: 0, max: count - 1 } };
      expect(findExceeded({ ...plan, bounds: { ...bounds, requests } }, entries)).toHaveLength(1);
    }
    const less: Partial<Plan['bounds']>[] = [
      ...Object.entries(spent.feeds).map(([name, count]) => ({
        feeds: { ...bounds.feeds, [name]: { min: 0, max: count - 1 } },
      })),
      { orders: { min: 0, max: spent.orders - 1 } },
      { notional: { min: '0', max: spent.notional.minus(1).toFixed() } },
      { tokensPerMinute: { min: 0, max: spent.tokensPerMinute - 1 } },
      { duration: { min: 0, max: spent.durationMs - 1 } },
    ];
    for (const each of less) expect(findExceeded({ ...plan, bounds: { ...bounds, ...each } }, entries)).toHaveLength(1);
    expect(findExceeded({ ...plan, bounds: { ...bounds, exposure: {} } }, entries)).not.toEqual([]);
  });
});

/** The plan with other rows for the orders it places. */
function changeOrders(plan: Plan, change: (row: PlannedRequest) => readonly PlanRow[]): Plan {
  const changed = (rows: readonly PlanRow[]): readonly PlanRow[] =>
    rows.flatMap((row): readonly PlanRow[] =>
      row.kind === 'request' && row.method === 'POST' && row.path === '/orders' ? change(row) : [row],
    );
  return {
    ...plan,
    rows: changed(plan.rows),
    sections: plan.sections.map((section) => ({ ...section, rows: changed(section.rows) })),
  };
}
