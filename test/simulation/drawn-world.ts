/**
 * Draws the world of a seed that has a runbook of its own: the conditions of every world (scenario.ts), and oddities of venue,
 * account and machine that those of the fixed runbooks do not have. What a world has much of follows from its seed alone (AIMS), so
 * that a search can choose seeds which lean to what was not met yet. Each part of a world can be left out by its number: that is how
 * a failing one is made smaller.
 */
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import type { GivenMarket, SimulatorConfig } from '../../src/gateway/simulator/config/settings.ts';
import type { StepName } from '../../src/runbook/checked.ts';
import type { LimitRules } from '../../src/venue/limits/rules.ts';
import { LOOKUP_PATIENCE } from '../../src/venue/order/polling.ts';
import type { Profile } from '../../src/venue/profile/profile.ts';
import { drawRunbook, type Leaning, type RandomRunbook } from './drawn-runbook.ts';
import { Draws } from './draws.ts';
import {
  makeScenario,
  type Scenario,
  START_MS,
  UNDECIDED,
  UP_TO_THE_GATE,
  withForeignOrders,
  withKill,
  withLooseIds,
} from './scenario.ts';
import { BTC, DUST, type Shape } from './shapes.ts';

/** A seed of its own space: the same number means another world than among the fixed runbooks. */
export interface DrawnName {
  readonly drawn: number;
  /** Numbers of the parts that are left out. */
  readonly without?: readonly number[];
}

export interface DrawnWorld {
  readonly scenario: Scenario;
  /** How many parts can be left out. */
  readonly parts: number;
}

/** What a seed has more of, and which names of a mix (mix.ts) it is meant for. */
interface Aim {
  readonly leaning: Leaning;
  /** Oddities that are likely. */
  readonly oddities: readonly OddityName[];
  readonly meets: RegExp;
}

const more = (...names: readonly StepName[]): NonNullable<Leaning['steps']> =>
  Object.fromEntries(names.map((name) => [name, 4] as const));

/** The aim of a seed is the one at its remainder. */
export const AIMS = {
  anything: { leaning: {}, oddities: [], meets: /^(verb|modifier|run) / },
  amend: {
    leaning: { steps: more('amend', 'refresh') },
    oddities: ['flicker', 'disturbed amend'],
    meets: /^row \S*AMEND|^row \S+ amending|AMEND_/,
  },
  cancel: {
    leaning: { steps: more('cancel', 'cancel_all', 'wait_for') },
    oddities: ['disturbed cancel', 'early ends'],
    meets: /^row \S*CANCEL|^row \S+ (canceling|canceled)/,
  },
  doubt: {
    leaning: { steps: more('place'), doubts: true },
    oddities: ['disturbed order', 'missing order', 'claimed', 'late refusals'],
    meets:
      /^denied MARKET_QUARANTINED|^row .*(unknown|absent|quarantined|submitting|NOT_FOUND|EXHAUSTED|DUPLICATE|REFUSED|rejected|draft)/,
  },
  limits: {
    leaning: { steps: more('place', 'set_leverage'), limits: true },
    oddities: ['limits', 'market rules', 'larger least'],
    meets: /^denied /,
  },
  figures: {
    leaning: {
      steps: more('place', 'read_account', 'list_orders', 'list_fills', 'set_leverage', 'repeat'),
      limits: true,
    },
    oddities: ['limits', 'rare limit', 'crowded book', 'approved plan', 'prices fail', 'unread journal'],
    meets: /^denied |^row .*denied/,
  },
  failures: { leaning: { modifiers: 2.5 }, oddities: ['hanging'], meets: /^modifier / },
  positions: {
    leaning: { steps: more('manage', 'protect', 'close'), strict: true },
    oddities: ['gap', 'closed', 'meddler'],
    meets: /^verb (manage|protect|close)|^left /,
  },
  fills: {
    leaning: { steps: more('list_fills', 'wait_for'), strict: true },
    oddities: ['fills down', 'late fills', 'late sizes', 'uneven lags'],
    meets: /^row (FILL|P_CLOSED)|^left /,
  },
  switch: {
    leaning: { steps: more('arm_deadman', 'disarm_deadman', 'read_deadman'), deadman: true },
    oddities: ['outsider', 'suspended', 'disturbed switch'],
    meets: /^row DEADMAN|^denied DEADMAN|^verb \w+_deadman/,
  },
  machine: {
    leaning: { steps: more('parallel', 'for_each', 'repeat', 'call') },
    oddities: ['suspended', 'disk hangs', 'crowded book', 'no headers'],
    meets: /^verb (parallel|for_each|repeat|call|approve) /,
  },
} as const satisfies Readonly<Record<string, Aim>>;
export type AimName = keyof typeof AIMS;
export const AIM_NAMES = Object.keys(AIMS) as readonly AimName[];

export function aimOf(seed: number): AimName {
  return AIM_NAMES[seed % AIM_NAMES.length] as AimName;
}

/** How likely an oddity is in a world that leans to it. */
const LIKELY = 0.6;

export function drawnWorld({ drawn: seed, without = [] }: DrawnName): DrawnWorld | undefined {
  const { leaning, oddities }: Aim = AIMS[aimOf(seed)];
  const leftOut = new Set(without);
  const runbook = drawRunbook(seed, leaning);
  const less = without.length === 0 ? runbook : drawRunbook(seed, leaning, leftOut);
  if (less === undefined) return undefined;
  // What surrounds it stays the same, whatever is left out of it.
  const whole = withMarkets(makeScenario(seed, shapeOfDrawn(seed, runbook)), new Draws(seed, 'markets'));
  const happens = (name: OddityName, often: number) =>
    new Draws(seed, `whether ${name}`).chance(oddities.includes(name) ? LIKELY : often);
  const odd = (Object.entries(ODDITIES) as [OddityName, Oddity][])
    .filter(([name, { often }]) => happens(name, often))
    .map(
      ([name, { change }]) =>
        (scenario: Scenario) =>
          change(scenario, new Draws(seed, name)),
    );
  const changes = [...odd, ...SIMPLER.filter((simpler) => simpler(whole) !== whole)];
  let scenario = whole;
  for (const [index, change] of changes.entries()) {
    // An oddity is left out by not being put in; what every world has is made simple.
    const isOut = leftOut.has(runbook.pieces + index);
    if (isOut === index >= odd.length) scenario = change(scenario);
  }
  const faults = scenario.venue.faults ?? [];
  const most = odd.reduce((all, change) => change(all), whole).venue.faults?.length ?? 0;
  // Counted from the last: oddities put theirs before the others.
  const last = runbook.pieces + changes.length + most - 1;
  const kept = faults.filter((_, index) => !leftOut.has(last - (faults.length - 1 - index)));
  return {
    scenario: {
      ...scenario,
      shape: shapeOfDrawn(seed, less),
      venue: { ...scenario.venue, faults: kept },
      world: { drawn: seed, without },
    },
    parts: last + 1,
  };
}

/** The facts about a runbook that the invariants need, where they can be known before it runs. */
function shapeOfDrawn(seed: number, { loaded, inputs, given, sources }: RandomRunbook): Shape {
  const { runbook } = loaded;
  const text = sources.map((source) => source.text).join('');
  const has = (pattern: RegExp) => pattern.test(text);
  const timeout = /^deadman: \{.*?timeout: "?([^",]+)/m.exec(text)?.[1];
  const within = Number.parseInt(given['within'] ?? '10s', 10) * 1000;
  const timeoutMs = timeout?.startsWith('inputs') === true ? within * 3 : Number.parseInt(timeout ?? '0', 10) * 1000;
  const most = /^ {2}max_open_orders: "?(.+?)"?$/m.exec(text)?.[1];
  const writes = /^ {2}max_writes: (\d+)$/m.exec(text)?.[1];
  const callsGuarded = Object.values(runbook.calls).some(({ deadman }) => deadman !== undefined);
  return {
    index: seed,
    text,
    runbook,
    inputs,
    deadman:
      runbook.deadman === undefined
        ? undefined
        : {
            market: BTC,
            timeoutMs,
            onExit: runbook.deadman.onExit,
            plain: runbook.deadman.keepAlive === undefined && !callsGuarded && !has(/release_after|(dis)?arm_deadman:/),
          },
    maxOpenOrders:
      runbook.limits?.maxOpenOrders === undefined
        ? Number.POSITIVE_INFINITY
        : most?.startsWith('inputs') === true
          ? Number(given['n'] ?? 2) + 1
          : Number(most),
    maxWrites: runbook.limits?.maxWrites === undefined ? Number.POSITIVE_INFINITY : Number(writes),
    cancelsAll: has(/cancel_all:/),
    asksPeople: has(/approve:/),
    undoesAll: !has(/undo:|on_error:/),
  };
}

/** The markets that drawn runbooks trade beside those of the fixed ones. */
function withMarkets({ venue, profile, ...scenario }: Scenario, draws: Draws): Scenario {
  const market = (start: number, tick: string, lot: string): GivenMarket => {
    const [count, digits] = [Math.round(start / Number(tick)), (tick.split('.')[1] ?? '').length];
    const points = Array.from({ length: 15 }, (_, index) => {
      const ticks = index === 0 ? 0 : draws.within(-Math.floor(count / 150), Math.floor(count / 150));
      return { afterMs: index * 3000, price: ((count + ticks) * Number(tick)).toFixed(digits) };
    });
    const depth = draws.of(['0.05', '100']);
    return { tick, lot, min_size: lot, start: start.toFixed(digits), depth, path: { kind: 'points', points } };
  };
  const added = { 'ETH-USD': market(3200, '0.1', '0.001'), 'SOL-USD': market(150, '0.01', '0.01') };
  const rules = Object.entries(added).map(([id, { tick = '', lot = '' }]) => [id, { tick, lot, min_size: lot }]);
  return {
    ...scenario,
    venue: { ...venue, markets: { ...venue.markets, ...added } },
    profile: { ...profile, markets: { ...profile.markets, ...(Object.fromEntries(rules) as Profile['markets']) } },
  };
}

interface Oddity {
  /** How likely it is in a world that does not lean to it. */
  readonly often: number;
  readonly change: (scenario: Scenario, draws: Draws) => Scenario;
}

const ODDITIES = {
  /** Limits of the profile, tight enough to deny. */
  limits: {
    often: 0.08,
    change: (scenario, draws) => ({
      ...scenario,
      profile: { ...scenario.profile, limits: drawLimits(draws) },
    }),
  },
  /** A market that the profile does not describe. */
  'market rules': {
    often: 0.03,
    change: ({ profile, ...scenario }, draws) => {
      const without = draws.of(['ETH-USD', 'SOL-USD']);
      const markets = Object.entries(profile.markets).filter(([id]) => id !== without);
      return { ...scenario, profile: { ...profile, markets: Object.fromEntries(markets) } };
    },
  },
  /** The run was approved with a plan, and does more than that. */
  'approved plan': {
    often: 0.04,
    change: (scenario, draws) => ({
      ...scenario,
      bounds: draws.of([{ orders: draws.within(0, 2) }, { notional: draws.of(['600', '3000']) }]),
    }),
  },
  /** The price jumps through what is there, and sometimes back. */
  gap: {
    often: 0.08,
    change: (scenario, draws) => {
      const [atMs, forMs] = [draws.within(1, 40) * 500, draws.of([2000, 15_000, 600_000])];
      const ticks = draws.of([-3000, -900, -200, 200, 900, 3000]);
      return withPath(scenario, BTC, (points) => {
        const moved = points.map(({ afterMs, price }) => ({
          afterMs,
          price: afterMs >= atMs && afterMs < atMs + forMs ? String(Number(price) + ticks) : price,
        }));
        const priceAt = (ms: number) => points.findLast(({ afterMs }) => afterMs <= ms)?.price ?? '64000';
        const edges = [
          { afterMs: atMs, price: String(Number(priceAt(atMs)) + ticks) },
          { afterMs: atMs + forMs, price: priceAt(atMs + forMs) },
        ];
        const kept = moved.filter(({ afterMs }) => !edges.some((edge) => edge.afterMs === afterMs));
        return [...kept, ...edges].sort((a, b) => a.afterMs - b.afterMs);
      });
    },
  },
  /** For a while nothing is quoted. */
  closed: {
    often: 0.03,
    change: (scenario, draws) => {
      const [from, length] = [draws.within(1, 6), draws.within(1, 8)];
      return withPath(scenario, BTC, (points) =>
        points.map((point, index) => (index >= from && index < from + length ? { ...point, closed: true } : point)),
      );
    },
  },
  /** GET /fills fails for a while, or for ever. */
  'fills down': {
    often: 0.04,
    change: (scenario, draws) => {
      const when = { afterMs: draws.of([0, 2000]), untilMs: draws.of([20_000, 90_000, 4_000_000]) };
      const status = draws.of([500, 503]);
      return withFaults(scenario, [
        { on: 'GET /fills', when, do: 'status', status, processed: false },
        { on: 'GET /fills/order', when, do: 'status', status, processed: false },
      ]);
    },
  },
  'late fills': {
    often: 0.05,
    change: (scenario, draws) => withVenue(scenario, { fillLagMs: draws.of([5000, 20_000, 58_000, 90_000]) }),
  },
  flicker: {
    often: 0.05,
    change: ({ venue, ...scenario }, draws) => ({
      ...scenario,
      venue: {
        ...venue,
        surprises: {
          ...venue.surprises,
          amendFlickerMs: draws.of([300, 1200]),
          amendInitialSize: draws.of(['changes', 'stays'] as const),
        },
      },
    }),
  },
  'missing order': {
    often: 0.1,
    change: (scenario) => withSurprises(scenario, { missingOrder: 'refuse' }),
  },
  'odd stops': {
    often: 0.04,
    change: (scenario, draws) => withSurprises(scenario, { stopStatus: draws.of(['placed', 'untriggered']) }),
  },
  'disturbed amend': { often: 0.05, change: (scenario, draws) => disturb(scenario, draws, 'PUT /orders') },
  'disturbed cancel': { often: 0.05, change: (scenario, draws) => disturb(scenario, draws, 'DELETE /orders') },
  'disturbed order': { often: 0.05, change: (scenario, draws) => disturb(scenario, draws, 'POST /orders') },
  /** Other programs' orders, some with rows that no one can read; sometimes more than a page of them. */
  'crowded book': {
    often: 0.06,
    change: ({ venue, ...scenario }, draws) => {
      const count = draws.of([3, 3, 3, 12, 12, 960, 1100]);
      const resting = Array.from({ length: count }, (_, index) => {
        const side = draws.of(['long', 'short'] as const);
        const away = 2000 + index * 3;
        return {
          market: BTC,
          side,
          size: draws.of(['0.01', '0.2']),
          price: String(64_000 + (side === 'long' ? -away : away)),
          agoMs: 1000 + index,
          ...(draws.chance(0.2)
            ? { nulls: [draws.of(['size', 'price', 'client_order_id', 'initial_size', 'timestamp', 'side'])] }
            : {}),
        };
      });
      return { ...scenario, venue: { ...venue, account: { ...venue.account, resting, maxOpenOrders: 2000 } } };
    },
  },
  /** The venue takes few orders. */
  'few orders': {
    often: 0.03,
    change: ({ venue, ...scenario }, draws) => ({
      ...scenario,
      venue: { ...venue, account: { ...venue.account, maxOpenOrders: draws.within(1, 3) } },
    }),
  },
  /** Orders, amends and cancels whose outcome takes very long. */
  hanging: {
    often: 0.04,
    change: (scenario, draws) =>
      withFaults(scenario, [
        {
          on: draws.of(['POST /orders', 'PUT /orders', 'DELETE /orders']),
          when: { call: draws.within(1, 3) },
          do: 'stuck',
          ms: draws.of([60_000, 200_000]),
        },
      ]),
  },
  /** Feeds that give old prices, or none. */
  'prices fail': {
    often: 0.05,
    change: (scenario, draws) => {
      const fromMs = draws.within(0, 20) * 500;
      const untilMs = fromMs + draws.of([1500, 8000, 60_000]);
      return { ...scenario, badPrices: { fromMs, untilMs, ageMs: draws.chance(0.5) ? 20_000 : undefined } };
    },
  },
  /** Another program arms or disarms the account's deadman switch. */
  outsider: {
    often: 0.03,
    change: (scenario, draws) => ({
      ...scenario,
      outsider: { afterMs: draws.within(200, 20_000), does: draws.of(['arms', 'disarms'] as const) },
    }),
  },
  /** Another program, or a person on the venue's own pages, changes an order of ours or the position. */
  meddler: {
    often: 0.05,
    change: (scenario, draws) => ({
      ...scenario,
      outsider: {
        afterMs: draws.within(200, 20_000),
        does: draws.of(['cancels', 'cancels', 'cancels all', 'amends', 'trades', 'trades'] as const),
      },
    }),
  },
  /** A cancel is carried out before it is answered, and the answer says so. */
  'early ends': { often: 0.06, change: (scenario) => withSurprises(scenario, { cancelAck: 'canceled' }) },
  /** One order, one fill, or one reading, shows what is later than another does. */
  'uneven lags': {
    often: 0.06,
    change: (scenario, draws) =>
      withVenue(withSurprises(scenario, { lags: draws.of(['each', 'reads']) }), {
        readLagMs: 1500,
        fillLagMs: draws.of([1500, 5000, 20_000]),
      }),
  },
  /** A record shows the end of an order before it shows what filled. */
  'late sizes': {
    often: 0.05,
    change: (scenario, draws) => withSurprises(scenario, { filledLagMs: draws.of([500, 3000, 20_000]) }),
  },
  /** The venue's own clock is adjusted. */
  'venue clock': {
    often: 0.04,
    change: (scenario, draws) =>
      withVenue(scenario, {
        clockSteps: [{ afterMs: draws.within(0, 20_000), byMs: draws.of([-5000, -90_000, -300_000, 90_000]) }],
      }),
  },
  /** For a minute no answer says what is left of the tokens. */
  'no headers': {
    often: 0.04,
    change: (scenario, draws) => {
      const afterMs = draws.within(0, 5000);
      const when = { afterMs, untilMs: afterMs + 60_000 };
      return withVenue(scenario, { faults: [...(scenario.venue.faults ?? []), { on: '*', when, do: 'no_headers' }] });
    },
  },
  /** What an earlier run of the account did cannot be read, and a limit depends on it. */
  'unread journal': {
    often: 0.02,
    change: ({ profile, ...scenario }) => ({
      ...scenario,
      profile: { ...profile, limits: { ...profile.limits, maxPosition: '50' } },
      unreadJournal: { why: 'the journal of an earlier run cannot be read', since: 0, until: START_MS - 1 },
    }),
  },
  /** A process that is stopped, and goes on. */
  suspended: {
    often: 0.05,
    change: (scenario, draws) => ({
      ...scenario,
      stop: {
        point: draws.of(UP_TO_THE_GATE),
        at: draws.of([1, 1, 2, 3, 5, 8]),
        forMs: draws.of([260, 1000, 6000, 20_000, 60_000]),
        clocks: draws.of(['both', 'wall'] as const),
      },
    }),
  },
  /** Commits of the first process do not come back for a while. */
  'disk hangs': {
    often: 0.04,
    change: (scenario, draws) => ({
      ...scenario,
      diskHangs: { fromMs: draws.within(0, 12_000), forMs: draws.of([1500, 6000, 25_000]) },
    }),
  },
  /** One limit that few runs meet, and no other that would be met before it. */
  'rare limit': {
    often: 0.02,
    change: ({ profile, ...scenario }, draws) => {
      const stale = draws.chance(0.2);
      const limits: LimitRules = stale
        ? { priceBandWithin: '0.01', maxReferenceAgeMs: 3000 }
        : draws.of<LimitRules>([
            { minEquity: '2000000', maxAccountAgeMs: 600_000 },
            { stepFills: { max: 1, windowMs: 600_000 } },
            { refusals: { max: 1, windowMs: 600_000 } },
            { mode: 'reducing' },
            { maxDailyLoss: '0.01' },
          ]);
      // Younger than what the runbook's own feeds allow.
      const badPrices = { fromMs: 0, untilMs: 600_000, ageMs: 4000 };
      return { ...scenario, profile: { ...profile, limits }, ...(stale ? { badPrices } : {}) };
    },
  },
  /** The smallest order is more than one lot. */
  'larger least': {
    often: 0.03,
    change: ({ profile, ...scenario }) => {
      const rules = profile.markets[BTC];
      const markets = rules === undefined ? {} : { [BTC]: { ...rules, min_size: '0.015' } };
      return { ...scenario, profile: { ...profile, markets: { ...profile.markets, ...markets } } };
    },
  },
  /** The venue says that it has an order, and shows none: no look-up can prove it absent. */
  claimed: {
    often: 0.02,
    change: (scenario, draws) =>
      withFaults(scenario, [
        {
          on: 'POST /orders',
          when: { call: draws.within(1, 3) },
          do: 'error',
          status: 400,
          error: 'CLIENT_ORDER_ID_DUPLICATE',
        },
      ]),
  },
  /** Orders that are refused in words that decide nothing, and are there: shown when a first look-up has found nothing. */
  'late refusals': {
    often: 0.03,
    change: (scenario, draws) =>
      withFaults(
        scenario,
        Array.from({ length: draws.within(1, 2) }, () => ({
          on: 'POST /orders',
          when: { call: draws.within(1, 3) },
          do: 'error' as const,
          status: 400,
          error: draws.of(UNDECIDED),
          processed: true,
          ms: Math.min(draws.within(5200, 12_000), scenario.lateMs - 2000),
        })),
      ),
  },
  /** No reading of orders is answered for longer than a run looks for one; behind that a person resumes what has halted. */
  blind: {
    often: 0.03,
    change: (scenario, draws) => {
      const afterMs = draws.within(0, 3000);
      const untilMs = LOOKUP_PATIENCE * scenario.profile.ambiguityWindowMs + draws.of([40_000, 100_000]);
      const lost = { call: draws.within(1, 2) };
      const faults: readonly FaultRule[] = [
        { on: 'POST /orders', when: lost, do: draws.of(['lost_before', 'lost_before', 'lost_after']) },
        { on: 'GET /orders', when: { afterMs, untilMs }, do: 'status', status: 503, processed: false },
      ];
      return { ...withFaults(scenario, faults), asksAgainAfterMs: draws.of([1000, untilMs, untilMs]) };
    },
  },
  'disturbed switch': {
    often: 0.03,
    change: (scenario, draws) =>
      withFaults(
        scenario,
        Array.from({ length: draws.within(1, 3) }, () => ({
          on: draws.of(['POST /cancel_all_after', 'DELETE /cancel_all_after']),
          when: { call: draws.within(1, 3) },
          do: draws.of(['error', 'lost_before', 'lost_after'] as const),
          status: 400,
          error: 'SOMETHING_WENT_WRONG',
          processed: false,
        })),
      ),
  },
  /** The account is killed with its orders, and sometimes released. */
  killed: { often: 0.03, change: withKill },
  'loose ids': { often: 0.03, change: withLooseIds },
  'foreign orders': { often: 0.03, change: withForeignOrders },
  /** Orders are refused in words that hold the name of something else. */
  'words inside words': {
    often: 0.05,
    change: (scenario, draws) =>
      withFaults(scenario, [
        {
          on: 'POST /orders',
          when: { call: draws.within(1, 3) },
          do: 'error',
          status: draws.of([200, 400]),
          error: draws.of(['CORPORATE_LIMIT_EXCEEDED', 'SEPARATE_LIMIT_REQUIRED', 'inaccurate limit price']),
          processed: false,
        },
      ]),
  },
} as const satisfies Readonly<Record<string, Oddity>>;
type OddityName = keyof typeof ODDITIES;

function withVenue(scenario: Scenario, changes: Partial<SimulatorConfig>): Scenario {
  return { ...scenario, venue: { ...scenario.venue, ...changes } };
}

function withSurprises(scenario: Scenario, changes: Partial<NonNullable<SimulatorConfig['surprises']>>): Scenario {
  return withVenue(scenario, { surprises: { ...scenario.venue.surprises, ...changes } });
}

/** Before any other, so that they are met. */
function withFaults(scenario: Scenario, faults: readonly FaultRule[]): Scenario {
  return withVenue(scenario, { faults: [...faults, ...(scenario.venue.faults ?? [])] });
}

type Points = readonly { readonly afterMs: number; readonly price: string; readonly closed?: boolean }[];

function withPath(scenario: Scenario, id: string, change: (points: Points) => Points): Scenario {
  const market = scenario.venue.markets?.[id];
  if (market?.path?.kind !== 'points') return scenario;
  const path = { ...market.path, points: change(market.path.points as Points) };
  return withVenue(scenario, { markets: { ...scenario.venue.markets, [id]: { ...market, path } } });
}

/** Several faults about one request, which a runbook that sends it often meets at different times. */
function disturb(scenario: Scenario, draws: Draws, on: 'POST /orders' | 'PUT /orders' | 'DELETE /orders'): Scenario {
  const own = {
    'POST /orders': ['late_reject', 'invisible', 'other_record', 'error'],
    'PUT /orders': ['amend_lost', 'error', 'error'],
    'DELETE /orders': ['cancel_lost', 'fill_first', 'error'],
  } as const;
  const kinds = [...own[on], 'lost_before', 'lost_after', 'stuck', 'status', 'delay', 'rate_limited'] as const;
  const faults = Array.from({ length: draws.within(1, 3) }, (): FaultRule => {
    const what = draws.of(kinds);
    return {
      on,
      when: { call: draws.within(1, 4) },
      do: what,
      ms: what === 'invisible' ? Math.min(4000, scenario.lateMs) : draws.of([700, 2000]),
      way: draws.of(['request', 'reply'] as const),
      ...(what === 'error' ? { error: draws.of(['SOMETHING_WENT_WRONG', 'ORDER_NOT_FOUND']), status: 400 } : {}),
      ...(what === 'status' ? { status: draws.of([500, 503]), processed: draws.chance(0.5) } : {}),
      ...(what === 'rate_limited' ? { retryAfter: '1' } : {}),
      ...(what === 'fill_first' ? { fraction: draws.of(['1', '0.5']) } : {}),
    };
  });
  // An order that is refused as not found is one that the venue decided against.
  return withFaults(
    scenario,
    faults.map((fault) => ({ ...fault, ...(fault.error === undefined ? {} : { processed: false }) })),
  );
}

/** One to three limits of a profile. */
function drawLimits(draws: Draws): LimitRules {
  const all: readonly LimitRules[] = [
    { markets: [BTC] },
    { sides: [draws.of(['long', 'short'] as const)] },
    { orderTypes: ['limit', 'stop_limit'] },
    { maxOrderSize: draws.of(['0.005', '0.05']) },
    { unknownPrice: 'deny', maxOrderNotional: '7000' },
    { maxOrderNotional: draws.of(['100', '700', '7000']) },
    { maxRunNotional: draws.of(['700', '2000']) },
    { maxMarketNotional: draws.of(['700', '2000']) },
    { maxExposure: draws.of(['700', '2000']) },
    { maxPosition: draws.of(['0.005', '0.02', '0.15']) },
    { maxOpenOrders: draws.within(1, 2) },
    { maxDailyNotional: draws.of(['700', '2000']) },
    { maxDailyLoss: draws.of(['0.01', '1']) },
    { maxLeverage: '3' },
    { maxWrites: draws.within(1, 4) },
    { maxOrdersPerMinute: draws.within(1, 2) },
    { priceBandWithin: draws.of(['0.001', '0.01']), maxReferenceAgeMs: draws.of([500, 3000]) },
    { stepFills: { max: 1, windowMs: 60_000 } },
    { refusals: { max: 1, windowMs: 60_000 } },
    { selfMatch: 'deny' },
    { minEquity: draws.of(['1', '2000000']), maxAccountAgeMs: draws.of([2000, 60_000]) },
    { minHealth: draws.of(['0.01', '1000000']), maxAccountAgeMs: 60_000 },
    { maxReadAgeMs: draws.of([500, 5000]) },
    { mode: draws.of(['reducing', 'halted'] as const) },
    { marketModes: { [BTC]: draws.of(['reducing', 'halted'] as const) } },
  ];
  return Object.assign({}, ...Array.from({ length: draws.within(1, 3) }, () => draws.of(all))) as LimitRules;
}

/** What every world has, made simple, one thing at a time; a world that is simple already is given back as it is. */
const SIMPLER: readonly ((scenario: Scenario) => Scenario)[] = [
  (scenario) => (scenario.injectedFaults.length === 0 ? scenario : { ...scenario, injectedFaults: [] }),
  ...[0, 1, 2].map(
    (index) => (scenario: Scenario) =>
      scenario.injectedFaults.length <= Math.max(1, index)
        ? scenario
        : { ...scenario, injectedFaults: scenario.injectedFaults.filter((_, each) => each !== index) },
  ),
  (scenario) => (scenario.companions.length === 0 ? scenario : { ...scenario, companions: [] }),
  (scenario) => (scenario.stop === undefined ? scenario : { ...scenario, stop: undefined }),
  (scenario) => (scenario.commitMs === 0 ? scenario : { ...scenario, commitMs: 0 }),
  (scenario) => (scenario.fullAfter === undefined ? scenario : { ...scenario, fullAfter: undefined }),
  (scenario) => (scenario.fullLater === undefined ? scenario : { ...scenario, fullLater: undefined }),
  (scenario) => (scenario.skewMs === 0 ? scenario : { ...scenario, skewMs: 0 }),
  (scenario) =>
    scenario.killAfterMs === undefined || scenario.killSweep !== undefined
      ? scenario
      : { ...scenario, killAfterMs: undefined },
  (scenario) => (scenario.cancelAfterMs === undefined ? scenario : { ...scenario, cancelAfterMs: undefined }),
  (scenario) => (scenario.asksAgainAfterMs === undefined ? scenario : { ...scenario, asksAgainAfterMs: undefined }),
  (scenario) => (scenario.clockPuts.length === 0 ? scenario : { ...scenario, clockPuts: [] }),
  (scenario) => (scenario.putWhileDownMs === undefined ? scenario : { ...scenario, putWhileDownMs: undefined }),
  (scenario) => (scenario.moves.includes(true) ? { ...scenario, moves: [] } : scenario),
  ({ profile, ...scenario }) => ({
    ...withVenue({ ...scenario, profile }, { tokens: { limit: 1200 } }),
    profile: { ...profile, rateLimit: { ...profile.rateLimit, tokens: 1200 } },
  }),
  (scenario) => withVenue(scenario, { latencyMs: { min: 10, max: 10 } }),
  (scenario) => withVenue(scenario, { processingMs: { min: 20, max: 20 } }),
  (scenario) => withVenue(scenario, { visibilityLagMs: { min: 0, max: 0 } }),
  (scenario) => withVenue(scenario, { readLagMs: 0 }),
  (scenario) => withVenue(scenario, { fillLagMs: 0 }),
  (scenario) => withSurprises(scenario, { immediateOpenMs: 0 }),
  (scenario) => withSurprises(scenario, { amendFlickerMs: 0 }),
  (scenario) => withSurprises(scenario, { duplicateIds: 'accept', iocRest: 'canceled', stopStatus: 'open' }),
  (scenario) => withVenue(scenario, { account: { equity: '1000000' } }),
  (scenario) => withPath(scenario, BTC, ([first]) => (first === undefined ? [] : [first])),
  (scenario) => withPath(scenario, DUST, ([first]) => (first === undefined ? [] : [first])),
];

/** When a bad stretch of the feeds is, by the venue's clock. */
export function isBadPrice({ badPrices }: Scenario, at: number): boolean {
  return badPrices !== undefined && at >= START_MS + badPrices.fromMs && at < START_MS + badPrices.untilMs;
}
