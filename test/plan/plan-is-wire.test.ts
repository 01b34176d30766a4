/** For every step that calls the venue and random literal arguments: the parameters of the plan are those that are sent. */
import { describe, expect, it } from 'vitest';
import { planFor } from '../../src/app/plan.ts';
import { dryRun } from '../../src/app/run/virtual-run.ts';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { PlannedRequest } from '../../src/runbook/plan/plan.ts';
import { KNOWN_AFTER_RUN } from '../../src/runbook/plan/unknown.ts';
import { bindCalls, getStepRow, STEP_NAMES, type VenueStepName } from '../../src/runbook/steps/steps.ts';
import { loadedFrom, START } from '../engine/stage.ts';
import { Draws } from '../simulation/draws.ts';

const DRAWS = 6;
/** What the venue gives or derives from the run: no literal makes it known. */
const OF_RUN: ReadonlySet<string> = new Set(['client_order_id', 'order_id', 'start_time', 'p_page']);

/** Long size at 64000 that stays, so that there is an order to amend and a position to protect. */
const VENUE: SimulatorConfig = {
  markets: {
    'BTC-USD': { depth: '100', path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } },
    'ETH-USD': {},
    'SOL-USD': {},
  },
  account: { equity: '1000000', positions: [{ market: 'BTC-USD', size: '0.1', price: '64000', agoMs: 60_000 }] },
};

/** The step's arguments as an author writes them. */
const ARGUMENTS: Readonly<Record<Exclude<VenueStepName, 'request'>, (draws: Draws) => unknown>> = {
  place(draws) {
    const type = draws.of(['limit', 'market', 'stop_limit', 'stop_market']);
    const rests = type === 'limit' || type === 'stop_limit';
    return {
      type,
      market: 'BTC-USD',
      side: draws.of(['long', 'short']),
      size: draws.of(['0.01', '0.0100', '0.1', '1', '0.1 + 0.2']),
      ...(rests || draws.chance(0.5) ? { price: draws.of(['63990', '64010.0', '60000', '70000']) } : {}),
      ...(type.startsWith('stop') ? { trigger: draws.of(['63000', '65000.00']) } : {}),
      ...(type === 'limit' && draws.chance(0.5)
        ? { tif: draws.of(['good_till_cancel', 'immediate_or_cancel', 'fill_or_kill']) }
        : {}),
      ...(draws.chance(0.3) ? { tag: 'drawn' } : {}),
    };
  },
  protect(draws) {
    const leg = (trigger: string) => ({ fraction: draws.of(['1', '0.50', '1 / 4']), trigger, price: trigger });
    const legs = draws.within(0, 2);
    return {
      market: 'BTC-USD',
      side: 'short',
      ...(legs === 0 ? {} : { stop_loss: leg('60000') }),
      ...(legs === 1 ? {} : { take_profit: leg('70000') }),
    };
  },
  manage(draws) {
    const leg = (trigger: string) => ({ trigger, price: trigger });
    const legs = draws.within(0, 2);
    return {
      market: 'BTC-USD',
      side: 'short',
      ...(legs === 0 ? {} : { stop_loss: { ...leg('60000.0'), ...(draws.chance(0.5) ? { fraction: '1' } : {}) } }),
      ...(legs === 1 ? {} : { take_profit: { ...leg('70000'), fraction: draws.of(['1', '0.50']) } }),
      time_limit: draws.of(['10s', '1m']),
      ...(draws.chance(0.5) ? { escalate: { after: '5s', slip: draws.of(['50bps', '0.010']) } } : {}),
    };
  },
  close: (draws) => draws.of(['BTC-USD', { market: 'BTC-USD', feed: '64000', slip: draws.of(['1%', '5%']) }]),
  amend: (draws) => ({
    order: 'o',
    price: draws.of(['49000', '51000.0', '50500']),
    ...(draws.chance(0.5) ? { size: draws.of(['0.02', '0.030']) } : {}),
  }),
  cancel: (draws) => draws.of<unknown>(['o', { mine: 'BTC-USD' }, { ids: '[o]' }]),
  cancel_all: () => ({ everyone: true }),
  refresh: () => 'o',
  set_leverage: (draws) => ({ market: draws.of(['BTC-USD', 'ETH-USD']), leverage: draws.within(1, 20) }),
  read_account: () => ({}),
  read_tier: () => ({}),
  list_orders: (draws) => ({
    ...drawListing(draws),
    ...(draws.chance(0.4) ? { status: draws.of(['open', 'closed']) } : {}),
    ...(draws.chance(0.3) ? { order: draws.of(['o', "'BTC-USD@11'"]) } : {}),
    ...(draws.chance(0.2) ? { market: 'BTC-USD', client_order_id: 'mine' } : {}),
  }),
  list_fills: (draws) => (draws.chance(0.3) ? { order: draws.of(['o', "'BTC-USD@11'"]) } : drawListing(draws)),
  refresh_session: () => ({}),
  arm_deadman: (draws) => ({ market: 'BTC-USD', timeout: draws.of(['30s', '1h', '90000ms']) }),
  read_deadman: (draws) => ({ market: draws.of(['BTC-USD', 'ETH-USD']) }),
  disarm_deadman: () => ({ market: 'BTC-USD' }),
};

function drawListing(draws: Draws) {
  return {
    ...(draws.chance(0.5) ? { market: draws.of(['BTC-USD', 'SOL-USD']) } : {}),
    ...(draws.chance(0.6) ? { since: draws.of(['2026-01-01T00:00:00Z', '2026-01-05T07:00:00.5+01:00']) } : {}),
    ...(draws.chance(0.3) ? { until: '2026-01-06T00:00:00Z' } : {}),
    ...(draws.chance(0.4)
      ? { all_pages: true }
      : {
          ...(draws.chance(0.4) ? { limit: draws.of([1, 500, 1000]) } : {}),
          ...(draws.chance(0.3) ? { page: draws.within(0, 2) } : {}),
          ...(draws.chance(0.4) ? { sort: draws.of(['asc', 'desc']) } : {}),
        }),
  };
}

describe('the parameters of a plan are those that are sent', () => {
  const names = STEP_NAMES.filter((name) => getStepRow(name).group === 'venue' && name !== 'request');

  it.each(names)('%s', async (name) => {
    for (let seed = 0; seed < DRAWS; seed += 1) {
      const args = ARGUMENTS[name as keyof typeof ARGUMENTS](new Draws(seed, name));
      const text = `runbook: case
dsl: 1
leaves: {position: open, because: a case}
needs: [cancel_all]
steps:
  - id: o
    place: {market: BTC-USD, side: long, size: 0.01, ${name === 'manage' || name === 'close' ? 'type: market, price: 64100' : 'type: limit, price: 50000'}}
${BEFORE[name] ?? ''}  - ${name}: ${JSON.stringify(args)}
`;
      const loaded = loadedFrom({ file: 'case.yaml', text });
      const step = loaded.runbook.steps.at(-1);
      if (step === undefined) throw new Error('no step');
      // No stop is moved or put back here.
      const calls = bindCalls(step, 'calls').filter(({ leg }) => leg !== 'tighter stop_loss' && leg !== 'stop');
      const planned = planFor(loaded.runbook, {}, { now: START }).rows.filter(
        (row): row is PlannedRequest => row.kind === 'request' && row.step === step.path,
      );
      const entries: Entry[] = [];
      await dryRun({
        loaded,
        inputs: {},
        run: `wire-${seed}`,
        at: START,
        seed,
        store: new MemoryStore(),
        venue: { kind: 'simulated', config: VENUE },
        onEntry: (entry) => entries.push(entry),
      });
      const sent = entries.flatMap((entry) =>
        entry.type === 'call.intended' && entry.step === step.path
          ? [{ endpoint: entry.data.endpoint, params: writeParams(entry.data.params) }]
          : [],
      );
      for (const [index, { endpoint }] of calls.entries()) {
        const row = planned.filter((each) => `${each.method} ${each.path}` === endpoint)[
          calls.slice(0, index).filter((each) => each.endpoint === endpoint).length
        ];
        const request = sent.filter((each) => each.endpoint === endpoint)[
          calls.slice(0, index).filter((each) => each.endpoint === endpoint).length
        ];
        expect(row, text).toBeDefined();
        expect(request, text).toBeDefined();
        expect(row?.params, text).toEqual(hideUnknown(row?.params ?? {}, request?.params ?? {}));
      }
    }
  });
});

/** For the exit to cancel. */
const BEFORE: Readonly<Record<string, string>> = {
  close: '  - place: {market: BTC-USD, side: long, size: 0.01, type: limit, price: 50000}\n',
  manage: '  - place: {market: BTC-USD, side: short, size: 0.001, type: limit, price: 90000}\n',
};

/** What was sent, as far as the plan can know it. */
function hideUnknown(planned: Readonly<Record<string, string>>, sent: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [
      name,
      (OF_RUN.has(name) || isOfExit(sent, name)) && planned[name] === KNOWN_AFTER_RUN ? KNOWN_AFTER_RUN : value,
    ]),
  );
}

/** What only the run knows of the market order with which `manage` and `close` close what is left. */
function isOfExit({ type }: Readonly<Record<string, string>>, name: string): boolean {
  return type === 'market' && ['size', 'price', 'side'].includes(name);
}

function writeParams(params: object): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
