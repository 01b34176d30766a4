/** Builds the context of a plan for tests: documented costs, and nothing known of markets, feeds and readings. */
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import type { PlanContext } from '../../src/runbook/plan/scope.ts';
import { readDocumentedCost } from '../../src/runbook/plan/steady.ts';

export function makePlanContext(runbook: CheckedRunbook, known: Partial<PlanContext> = {}): PlanContext {
  return {
    runbook,
    inputs: {},
    now: 0,
    market: () => undefined,
    markets: [],
    feed: () => undefined,
    read: () => undefined,
    costOf: readDocumentedCost,
    declared: { costOf: () => 0, requestOf: () => undefined, renewsSession: false },
    absenceHorizonMs: 90_000,
    fillsWindowMs: 60_000,
    tokensPerMinute: 1200,
    limits: undefined,
    deployment: '',
    ...known,
  };
}
