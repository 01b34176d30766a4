/** The rate at which a runbook spends tokens whatever its inputs: what the checker holds against the rate of an account. */
import { type EndpointName, getEndpoint } from '../../venue/catalogue.ts';
import type { CheckedRunbook } from '../checked.ts';
import { sumSteady } from './load/pace.ts';
import type { PlanContext } from './scope.ts';
import { PlanWalk } from './walk.ts';

export type Costs = (endpoint: EndpointName) => number;

/** The tokens of an address in a minute (venue-api.md, Limits, Rate limit). */
export const TOKENS_PER_MINUTE = 1200;
/** Tokens assumed for an endpoint whose cost the venue document does not give. */
const UNKNOWN_COST = 10;

/** The token cost of the venue document, or the assumed cost if the document gives none. */
export function readDocumentedCost(name: EndpointName): number {
  return getEndpoint(name).tokens ?? UNKNOWN_COST;
}

/** The most tokens of a minute that a wait or a loop spends while it lasts, without failures, for values that are the same in every run. */
export function countSteadyTokens(runbook: CheckedRunbook, costs: Costs): number {
  const context: PlanContext = {
    runbook,
    inputs: undefined,
    now: 0,
    market: () => undefined,
    markets: [],
    feed: () => undefined,
    read: () => undefined,
    costOf: costs,
    declared: { costOf: () => 0, requestOf: () => undefined, renewsSession: false },
    absenceHorizonMs: 0,
    fillsWindowMs: 0,
    tokensPerMinute: Number.POSITIVE_INFINITY,
    limits: undefined,
    deployment: '',
  };
  const walk = new PlanWalk(context, { failures: false, placed: Number.POSITIVE_INFINITY });
  return Math.ceil(sumSteady(walk.run().steady) + walk.keepAliveTokens);
}
