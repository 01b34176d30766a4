/** Plans what a run would send for given inputs, and builds the JSON document of the plan. */
import { VirtualClock } from '../base/clock.ts';
import type { Fixture } from '../gateway/fixture/fixture.ts';
import { Simulator } from '../gateway/simulator/simulator.ts';
import type { ApprovedBounds } from '../journal/entry.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import { type Plan, type PlannedRequest, type PlanRow, planRun } from '../runbook/plan/plan.ts';
import { KNOWN_AFTER_RUN } from '../runbook/plan/unknown.ts';
import type { Value } from '../runbook/values.ts';
import { type EndpointName, getEndpoint } from '../venue/catalogue.ts';
import type { MarketRules } from '../venue/port.ts';
import { findPriceFeed } from '../venue/profile/price-feed.ts';
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
    declared: {
      costOf: (name) => (Object.hasOwn(used.requests, name) ? (used.requests[name]?.tokens ?? 0) : 0),
      requestOf: (name) => (Object.hasOwn(used.feeds, name) ? used.feeds[name]?.request : undefined),
      renewsSession: used.auth.mode === 'jwt',
    },
    absenceHorizonMs: used.ambiguityWindowMs,
    fillsWindowMs: used.fillsWindowMs,
    tokensPerMinute: used.rateLimit.tokens,
    limits: profile?.limits,
    // What a profile binds is not known without one; a dry-run has a price.
    priceFeed: profile === undefined || findPriceFeed(profile) !== undefined,
    deployment: profile === undefined ? '' : `${profile.baseUrl} ${profile.account}`,
  });
}

/**
 * Of the markets of `known`, those that the requests of the runbook's plan name, and those in which a run may have orders: all of them
 * where the plan has a write whose market only the run knows. `unknown`: markets of requests that are none of these.
 */
export function listMarkets(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  known: readonly string[],
): { readonly traded: readonly string[]; readonly possible: readonly string[]; readonly unknown: readonly string[] } {
  const { rows, sections, bounds } = planFor(runbook, inputs, { now: 0 });
  const requests = listRequests([...rows, ...sections.flatMap((section) => section.rows)]);
  const nameMarkets = (of: typeof requests) =>
    new Set([...of.flatMap(({ params }) => params['market_id'] ?? []), ...Object.keys(bounds.exposure)]);
  const [named, written] = [nameMarkets(requests), nameMarkets(requests.filter(({ method }) => method !== 'GET'))];
  return {
    traded: [...named].filter((market) => known.includes(market)),
    possible: written.has('') || written.has(KNOWN_AFTER_RUN) ? known : known.filter((market) => written.has(market)),
    unknown: [...named].filter((market) => market !== '' && market !== KNOWN_AFTER_RUN && !known.includes(market)),
  };
}

/** The result in the first recorded exchange of a read. */
function findRecordedResult(fixture: Fixture, name: EndpointName, profile: Profile): unknown {
  const { method, path } = getEndpoint(name);
  const exchange = fixture.exchanges.find(({ request }) => request.method === method && request.path === path);
  if (exchange?.reply.kind !== 'answer') return undefined;
  const verdict = readAnswer(name, exchange.reply, profile);
  return verdict.kind === 'confirmed' ? verdict.result : undefined;
}

/** The JSON of interface.md: requests, sections, bounds and the worst case. */
export function makePlanDocument({ hash, rows, sections, bounds, pathTokensPerMinute }: Plan) {
  return {
    hash,
    requests: listRequests(rows),
    sections: sections.map(({ when, kind, rows: listed, limits: judged }) => ({
      when,
      kind,
      requests: listRequests(listed),
      limits: judged,
    })),
    bounds: { ...bounds, tokensPerMinute: { ...bounds.tokensPerMinute, withoutFailures: pathTokensPerMinute } },
    worstCase: {
      tokensPerMinute: bounds.tokensPerMinute.max,
      orders: bounds.orders.max ?? 'unbounded',
      ...(bounds.notional.max === undefined ? {} : { notional: bounds.notional.max }),
    },
  };
}

function listRequests(rows: readonly PlanRow[]) {
  return rows.filter((row): row is PlannedRequest => row.kind === 'request').map(({ kind: _kind, ...row }) => row);
}

/** The bounds to which a run is held whose plan a person approved. */
export function makeApprovedBounds({ bounds: { orders, exposure, requests }, opening }: Plan): ApprovedBounds {
  const markets = Object.entries(exposure).map(([market, { max }]) => [market, max ?? null] as const);
  const endpoints = Object.entries(requests).flatMap(([name, bound]) =>
    bound?.max === undefined ? [] : [[name, bound.max]],
  );
  return {
    ...(orders.max === undefined ? {} : { orders: orders.max }),
    ...(opening.max === undefined ? {} : { notional: opening.max }),
    exposure: Object.fromEntries(markets),
    requests: Object.fromEntries(endpoints),
  };
}
