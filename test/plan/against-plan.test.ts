/** The comparison of a journal with its plan, which every simulation makes, finds what it is for. */
import { describe, expect, it } from 'vitest';
import { planFor } from '../../src/app/plan.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { Plan, PlannedRequest, PlanRow } from '../../src/runbook/plan/plan.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { simulate } from '../simulation/world.ts';
import { countSpent, findExceeded, findUnplanned } from './against-plan.ts';

describe('the comparison with the plan', () => {
  /** A drawn run that places an order at its first start, and its plan. */
  async function findRun(): Promise<{ plan: Plan; entries: readonly Entry[] }> {
    for (let drawn = 0; ; drawn += 1) {
      const { runs, scenario } = await simulate({ drawn });
      const { shape, entries = [] } = runs[0] ?? {};
      if (shape === undefined || entries.some(({ type }) => type === 'run.resumed')) continue;
      const plan = planFor(shape.runbook, shape.inputs, { profile: scenario.profile, now: 0 });
      if (countSpent(entries).notional.gt(0)) return { plan, entries };
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

  it('finds nothing where an exit that failed puts a stop with a size back: drawn 85000553', async () => {
    // The profile denies its exit, which would trade with an order of the run.
    const { runs, scenario } = await simulate({ drawn: 85_000_553 }, {}, ({ profile, ...rest }) => ({
      ...rest,
      profile: { ...profile, limits: { ...profile.limits, selfMatch: 'deny' } },
    }));
    const found = runs.map(({ shape, entries }) =>
      findUnplanned(planFor(shape.runbook, shape.inputs, { profile: scenario.profile, now: 0 }), entries),
    );
    expect(found.flat()).toEqual([]);
    const isPutBack = ({ step, type, data }: Entry) =>
      step.endsWith(':close') &&
      type === 'call.intended' &&
      (data as { intent?: { type?: string } }).intent?.type === 'stop_limit';
    expect(runs.some(({ entries }) => entries.some(isPutBack))).toBe(true);
  });

  it('counts the tokens of attempts of which a byte left: fixed 300005665', () => {
    const entry = (type: string, epoch: number, data: object) => ({ type, epoch, at: 0, data }) as unknown as Entry;
    const attempted = (epoch = 1) => entry('call.attempted', epoch, { call: 'a', tokens: 10 });
    const settled = (kind: string, epoch = 1) =>
      entry('call.settled', epoch, { call: 'a', kind, failure: 'transport' });
    const answered = entry('call.answered', 1, { call: 'a' });
    const tokensOf = (...entries: readonly Entry[]) => countSpent(entries).tokensPerMinute;
    expect(tokensOf(attempted(), settled('unresolved'))).toBe(10);
    expect(tokensOf(attempted(), settled('denied'))).toBe(0);
    expect(tokensOf(attempted(), settled('rejected'))).toBe(0);
    // One that a dead process made may have left; that of the process which asked again was held back.
    expect(tokensOf(attempted(), settled('denied', 2))).toBe(10);
    expect(tokensOf(attempted(), attempted(2), settled('denied', 2))).toBe(10);
    expect(tokensOf(attempted(), answered, settled('denied'))).toBe(10);
    expect(tokensOf(attempted(), answered, attempted(), settled('denied'))).toBe(10);
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
