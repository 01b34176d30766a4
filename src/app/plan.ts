/** Plans what a run would send for given inputs, and builds the JSON document of the plan. */
import { VirtualClock } from '../base/clock.ts';
import { type Plan, type PlannedRequest, planRun } from '../engine/plan/plan.ts';
import type { Fixture } from '../gateway/fixture/fixture.ts';
import { Simulator } from '../gateway/simulator/simulator.ts';
import type { computeWorstCase } from '../runbook/bounds.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import type { Value } from '../runbook/values.ts';
import { type EndpointName, getEndpoint } from '../venue/catalogue.ts';
import type { MarketRules } from '../venue/port.ts';
import { getCost, type Profile, SIMULATED_PROFILE } from '../venue/profile/profile.ts';
import { readAnswer } from '../venue/wire/answer.ts';
import type { Voice } from './voice.ts';

/** Warns before orders are sent that prices and sizes are unchecked: the venue may round them or reject them one by one. */
export function noteUnchecked({ markets }: Profile, voice: Pick<Voice, 'note'>): void {
  if (Object.keys(markets).length === 0)
    voice.note(
      'warning: the profile names no markets, so prices and sizes are not checked against ticks and lots; add `markets` to it',
    );
}

export type Worst = ReturnType<typeof computeWorstCase>;

/** A plan against a profile, a fixture or the simulated venue's markets, whichever is given. */
export function planFor(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  context: { readonly profile?: Profile | undefined; readonly fixture?: Fixture | undefined; readonly now: number },
): Plan {
  const { profile, fixture, now } = context;
  const used = profile ?? SIMULATED_PROFILE;
  const markets: Readonly<Record<string, MarketRules>> =
    profile?.markets ?? fixture?.markets ?? new Simulator({}, new VirtualClock(0), 1).markets;
  return planRun({
    runbook,
    inputs,
    now,
    market: (id) => (Object.hasOwn(markets, id) ? markets[id] : undefined),
    markets: Object.keys(markets),
    feed: (name, key) =>
      fixture?.feeds.find((feed) => feed.name === name && (feed.key === key || key === undefined))?.value,
    read: (name) => (fixture === undefined ? undefined : findRecordedResult(fixture, name, used)),
    costOf: (name) => getCost(used, name),
    limits: profile?.limits,
    deployment: profile === undefined ? '' : `${profile.baseUrl} ${profile.account}`,
  });
}

/** The result in the first recorded exchange of a read. */
function findRecordedResult(fixture: Fixture, name: EndpointName, profile: Profile): unknown {
  const { method, path } = getEndpoint(name);
  const exchange = fixture.exchanges.find(({ request }) => request.method === method && request.path === path);
  if (exchange?.reply.kind !== 'answer') return undefined;
  const verdict = readAnswer(name, exchange.reply, profile);
  return verdict.kind === 'confirmed' ? verdict.result : undefined;
}

/** The JSON of interface.md: requests and the worst case. */
export function makePlanDocument(plan: Plan, worst: Worst) {
  const requests = plan.rows
    .filter((row): row is PlannedRequest => row.kind === 'request')
    .map(({ kind: _kind, ...row }) => row);
  return {
    hash: plan.hash,
    requests,
    worstCase: {
      tokensPerMinute: worst.tokensPerMinute,
      orders: worst.orders,
      ...(worst.notional === undefined ? {} : { notional: worst.notional }),
    },
  };
}
