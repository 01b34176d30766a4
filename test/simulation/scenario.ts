/**
 * Draws the scenario of a seed: a runbook, a venue with its delays and misbehaviour, and where processes die. Bounded on purpose where
 * the protocol promises something only within bounds: a request is never later than the window in which its order is looked
 * for, and faults end some time before the simulation does, so that what must come right can.
 */
import type { CrashPoint } from '../../src/gateway/crash-points.ts';
import type { LedgerParts } from '../../src/gateway/limits/ledger-rows.ts';
import type { FaultKind, FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import type { ApprovedBounds } from '../../src/journal/entry.ts';
import { TIMINGS } from '../../src/venue/order/context.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { type Crowd, crowdOf } from './crowd.ts';
import type { DrawnName } from './drawn-world.ts';
import { Draws } from './draws.ts';
import { BTC, DUST, MARKETS, priceOf, type Shape, shapeOf } from './shapes.ts';

export const ACCOUNT = 'simulation';
export const START_MS = Date.parse('2026-01-05T08:00:00Z');
export const REFRESH_TOKEN = 'refresh-secret-of-the-simulation-0123456789';

/** How one process ends, or is stopped for a while. */
export interface InjectedFault {
  /** `frozen`: stopped without dying, as by SIGSTOP, until after another process has taken over. */
  readonly kind: 'dies' | 'frozen';
  /** A named point, the `at`-th time it is reached; or `at` ms after the process began. */
  readonly point: CrashPoint | 'time';
  readonly at: number;
  /** Until somebody takes the run up again. */
  readonly downMs: number;
  /** For the commit that is under way: whether the disk had it. */
  readonly committed: boolean;
}

/** A stop that is no death: no other process takes the run over, and this one goes on where it was. */
export interface Stop {
  readonly point: CrashPoint;
  /** The `at`-th time that the point is reached. */
  readonly at: number;
  readonly forMs: number;
  /** `wall`: the machine slept, and its monotonic clock with it. */
  readonly clocks: 'both' | 'wall';
}

/** Of another program, or a person on the venue's own pages: to the account's deadman switch, to the newest open order of ours, or to the position. */
export type OutsiderAct = 'arms' | 'disarms' | 'cancels' | 'cancels all' | 'amends' | 'trades';

/** A number: a world whose runbook is one of the fixed ones (shapes.ts). */
export type WorldName = number | DrawnName;

export interface Scenario extends Crowd {
  readonly world: WorldName;
  readonly seed: number;
  readonly startMs: number;
  /** Of the first run; the others are among `companions`. */
  readonly shape: Shape;
  readonly venue: SimulatorConfig;
  readonly profile: Profile;
  /** Of the first process, the second, …; the ones after these come through. */
  readonly injectedFaults: readonly InjectedFault[];
  /** Of the first process. */
  readonly stop: Stop | undefined;
  /** The longest that a commit takes, ms. */
  readonly commitMs: number;
  /** From this commit on the first process's disk is full. */
  readonly fullAfter: number | undefined;
  /** For how long a full disk is full, ms. */
  readonly fullForMs: number;
  /** The wall clock of the processes is so far off the venue's. */
  readonly skewMs: number;
  /** After this long somebody engages the kill switch. */
  readonly killAfterMs: number | undefined;
  /** The kill also cancels everything, as `runbook kill` does, and a person releases it this long after it; undefined: never. */
  readonly killSweep?: { readonly releasedAfterMs: number | undefined };
  /** A person resumes a halted run this long afterwards, ms; undefined: never. */
  readonly asksAgainAfterMs: number | undefined;
  /** No fault happens later than this after the start. */
  readonly faultsUntilMs: number;
  /** The longest that a request is late. */
  readonly lateMs: number;
  /** For how long a balancer before the venue keeps an idle connection, ms: longer than this program uses one. */
  readonly balancerMs: number;
  // Only in drawn worlds.
  /** When feeds give old prices, or none; ms after the start. */
  readonly badPrices?: { readonly fromMs: number; readonly untilMs: number; readonly ageMs: number | undefined };
  /** To which a person held the first run. */
  readonly bounds?: ApprovedBounds;
  /** What another program does, ms after the start. */
  readonly outsider?: { readonly afterMs: number; readonly does: OutsiderAct };
  /** The journal of an earlier run of the account, which cannot be read: when it began and ended, epoch ms. */
  readonly unreadJournal?: NonNullable<LedgerParts['unknown']>;
  /** When commits of the first process do not come back, ms after the start. */
  readonly diskHangs?: { readonly fromMs: number; readonly forMs: number };
}

/** Points of a call at which a process can be ended here, the rarely reached ones more often. */
const POINTS: Readonly<Partial<Record<CrashPoint | 'time', number>>> = {
  time: 6,
  CP0: 1,
  CP1: 1,
  CP2: 1,
  CP3: 1.5,
  CP4: 2,
  CP5: 1,
  CP6: 1,
  CP7: 2,
  CP8: 2,
  CP9: 1,
  CP10: 2,
  CP11: 1.5,
  CP12: 1.5,
  CP13: 1,
  CP14: 1,
  CP15: 1,
  CP16: 1,
  CP17: 1.5,
  CP18: 1,
  CP20: 0.3,
};

/**
 * Behind the last gate nothing can be asked any more: a write of a process that is stopped there for as long as a lease lives is
 * the race that remains (reliability.md, The last gate). The others are points of reads, which have no gate.
 */
const BEHIND_THE_GATE: ReadonlySet<string> = new Set(['CP6', 'CP13', 'CP17']);

/** Words of refusals that decide nothing: unknown ones, and such that say that a part of the venue failed. */
export const UNDECIDED = ['SOMETHING_WENT_WRONG', 'try again later', 'ENGINE_TIMEOUT', 'ORDER_SERVICE_BUSY'] as const;

/** The points of a request between its first checks and the gate. */
export const UP_TO_THE_GATE = ['CP1', 'CP2', 'CP5', 'CP3', 'CP4', 'CP4', 'CP23', 'CP23', 'CP23'] as const;

export function scenarioOf(seed: number): Scenario {
  if (seed % 59 !== 47) return dealtScenario(seed);
  // One of which several orders are awaited at once: these are read together.
  let index = seed;
  while (!shapeOf(index).text.includes('parallel:')) index += 1;
  return withForeignOrders(makeScenario(seed, shapeOf(index)), new Draws(seed, 'foreign orders'));
}

function dealtScenario(seed: number): Scenario {
  const scenario = makeScenario(seed, shapeOf(seed));
  const draws = new Draws(seed, 'newer');
  // By residues that no kept seed has, so that none deals another world.
  if (seed % 32 === 30) return withOddVenue(scenario, draws);
  if (seed % 64 === 10 || seed % 64 === 58) return withKill(scenario, draws);
  if (seed % 64 === 32 || seed % 64 === 56) return withLooseIds(scenario, draws);
  if (seed % 64 === 33 || seed % 64 === 60) return withNeighbour(scenario, draws);
  return seed % 64 === 63 ? withAccountLimits(scenario, draws) : scenario;
}

/**
 * Other programs place more orders in the market than a page holds, after ours: no page shows these any more. Some of their rows no one
 * can read.
 */
export function withForeignOrders({ venue, ...scenario }: Scenario, draws: Draws): Scenario {
  const afterMs = draws.of([100, 150, 250, 400, draws.within(500, 9000)]);
  const nulls = draws.chance(0.5) ? [draws.of(['size', 'price', 'initial_size', 'timestamp'])] : undefined;
  const newer = Array.from({ length: 1010 }, (_, index) => ({
    market: BTC,
    side: 'long' as const,
    size: '0.0001',
    price: String(60_000 - index),
    agoMs: -afterMs,
    client_order_id: `of-another-program-${index}`,
    ...(nulls !== undefined && index % 100 === 0 ? { nulls } : {}),
  }));
  const resting = [...(venue.account?.resting ?? []), ...newer];
  return { ...scenario, venue: { ...venue, account: { ...venue.account, resting, maxOpenOrders: 5000 } } };
}

/** Another program on the address that spends a quarter of the usual limit, evenly, for as long as a world lasts. */
function withNeighbour({ venue, ...scenario }: Scenario, draws: Draws): Scenario {
  const everyMs = draws.of([500, 1000, 2000, 5000]);
  const tokens = everyMs / 200;
  const foreign = Array.from({ length: 600_000 / everyMs }, (_, n) => ({ afterMs: n * everyMs, tokens }));
  return { ...scenario, venue: { ...venue, tokens: { ...venue.tokens, foreign } } };
}

/** A venue that cancels before it answers, shows one order later than another, or leaves its headers out for a while. */
function withOddVenue({ venue, ...scenario }: Scenario, draws: Draws): Scenario {
  const { faults = [], surprises } = venue;
  const lags = draws.of(['same', 'each', 'reads'] as const);
  const when = { afterMs: draws.within(0, 5000), untilMs: 65_000 };
  const hides = draws.chance(0.5);
  const clockSteps = draws.chance(0.4) ? [{ afterMs: draws.within(0, 15_000), byMs: draws.of([-5000, -90_000]) }] : [];
  return {
    ...scenario,
    venue: {
      ...venue,
      clockSteps,
      surprises: { ...surprises, lags, cancelAck: draws.of(['canceling', 'canceled']) },
      ...(lags === 'same' ? {} : { readLagMs: 1500, fillLagMs: draws.of([1500, 5000, 20_000]) }),
      faults: hides ? [...faults, { on: '*', when, do: 'no_headers' }] : faults,
    },
  };
}

/** A venue that ignores the id of an order in GET /orders, or takes a second order of a client order id for the first. */
export function withLooseIds({ venue, ...scenario }: Scenario, draws: Draws): Scenario {
  const lookups = draws.of(['all', 'all', 'exact'] as const);
  const duplicateIds = lookups === 'exact' || draws.chance(0.5) ? 'same' : 'accept';
  return { ...scenario, venue: { ...venue, surprises: { ...venue.surprises, lookups, duplicateIds } } };
}

/** Everything of the account is killed while runs go on, and sometimes released: what begins then may trade again. */
export function withKill(scenario: Scenario, draws: Draws): Scenario {
  const killAfterMs = draws.of([draws.within(0, 3000), draws.within(0, 15_000)]);
  const releasedAfterMs = draws.chance(0.2) ? undefined : draws.of([100, 700, 3000, 15_000, 40_000]);
  const again = {
    shape: scenario.shape,
    afterMs: killAfterMs + (releasedAfterMs ?? 0) + draws.of([-400, 50, 1000, 8000]),
  };
  const begins = releasedAfterMs !== undefined && again.afterMs > 0 && scenario.shape.deadman === undefined;
  const { venue } = scenario;
  // A cancel_all that is acknowledged and does nothing, and an order of another program.
  const lost = { on: 'DELETE /orders/cancel_all', when: { call: '1-2' }, do: 'cancel_lost' } as const;
  const foreign = { market: BTC, side: 'long', size: '0.01', price: '60000', agoMs: 5000 } as const;
  return {
    ...scenario,
    venue: {
      ...venue,
      account: {
        ...venue.account,
        resting: [...(venue.account?.resting ?? []), ...(draws.chance(0.5) ? [foreign] : [])],
      },
      faults: [...(draws.chance(0.4) ? [lost] : []), ...(venue.faults ?? [])],
    },
    killAfterMs,
    killSweep: { releasedAfterMs },
    companions: begins ? [...scenario.companions, again] : scenario.companions,
  };
}

/** Limits that hold for the runs of the account together: another run begins where most have ended that were first. */
function withAccountLimits({ venue, profile, ...scenario }: Scenario, draws: Draws): Scenario {
  const limits = draws.of([{ maxPosition: '0.0301' }, { maxPosition: '0.1' }, { maxOpenOrders: 2 }]);
  const again = { shape: scenario.shape, afterMs: draws.of([5000, 20_000]) };
  return {
    ...scenario,
    venue: { ...venue, account: { ...venue.account, positions: [] } },
    profile: { ...profile, limits },
    companions: scenario.shape.deadman === undefined ? [...scenario.companions, again] : scenario.companions,
  };
}

/** The conditions of a seed for a runbook. */
export function makeScenario(seed: number, shape: Shape): Scenario {
  const draws = new Draws(seed, 'scenario');
  const windowMs = draws.of([12_000, 12_000, 20_000, 30_000]);
  const faultsUntilMs = draws.of([15_000, 30_000, 60_000]);
  const visibilityMs = draws.of([0, 0, 150, 1500]);
  const lateMs = windowMs - 2 * visibilityMs - 3000;
  // A heartbeat every quarter of a short timeout is more than a small limit allows: `validate` reports that, and no run could send them.
  const tight = draws.chance(0.12) && (shape.deadman === undefined || shape.deadman.timeoutMs >= 20_000);
  const jwt = draws.chance(0.15);
  const calm = draws.chance(0.2);
  const faults = calm
    ? []
    : faultRules(draws, { lateMs, visibilityMs, faultsUntilMs, guarded: shape.deadman !== undefined });
  const crowd = crowdOf(seed, shape);
  if (crowd.aimedFault !== undefined) faults.unshift(crowd.aimedFault);
  const claimed = claimedOrder(seed);
  if (claimed !== undefined && !calm) faults.unshift(claimed);
  const tokens = tight ? draws.of(shape.deadman === undefined ? [150, 240, 400] : [400, 600]) : 1200;
  return {
    world: seed,
    seed,
    startMs: START_MS,
    shape,
    venue: withLateSizes(
      withAmends(withLags(venueOf(draws, { faults, visibilityMs, tokens, tight, jwt }), new Draws(seed, 'lags')), seed),
      seed,
    ),
    profile: profileOf(windowMs, tokens, jwt),
    injectedFaults: injectedFaults(draws, crowd),
    stop: drawStop(seed),
    commitMs: draws.of([0, 0, 0, 5, 150]),
    fullAfter: draws.chance(0.03) ? draws.within(0, 8) : undefined,
    fullForMs: new Draws(seed, 'room').of([3000, 20_000, 600_000, 600_000]),
    skewMs: draws.chance(0.1) ? draws.within(-300_000, 300_000) : 0,
    killAfterMs: draws.chance(0.04) ? draws.within(0, 15_000) : undefined,
    asksAgainAfterMs: draws.chance(0.6) ? draws.of([1000, 60_000]) : undefined,
    faultsUntilMs,
    lateMs,
    balancerMs: new Draws(seed, 'balancer').of([4_500, 5_000, 10_000, 350_000]),
    ...crowd,
  };
}

/** The venue says that it has an order, and shows none: no look-up can prove that it is absent. A stream of its own shifts no draw. */
function claimedOrder(seed: number): FaultRule | undefined {
  const draws = new Draws(seed, 'claimed');
  if (!draws.chance(0.06)) return undefined;
  const when = { call: draws.within(1, 2) };
  return { on: 'POST /orders', when, do: 'error', status: 400, error: 'CLIENT_ORDER_ID_DUPLICATE' };
}

function injectedFaults(draws: Draws, { aimedPoint }: Crowd): InjectedFault[] {
  const drawn = draws.chance(0.3)
    ? []
    : Array.from({ length: draws.weighted({ 1: 5, 2: 2, 3: 1 }) === '1' ? 1 : draws.within(2, 3) }, () =>
        drawInjectedFault(draws),
      );
  if (aimedPoint === undefined) return drawn;
  const downMs = draws.of([200, 3000, 40_000]);
  return [{ kind: 'dies', point: aimedPoint, at: 1, downMs, committed: draws.chance(0.5) }, ...drawn.slice(1)];
}

function drawInjectedFault(draws: Draws): InjectedFault {
  const frozen = draws.chance(0.06);
  const drawn = draws.weighted(POINTS as Record<CrashPoint | 'time', number>);
  const point = frozen && BEHIND_THE_GATE.has(drawn) ? 'CP3' : drawn;
  return {
    kind: frozen ? 'frozen' : 'dies',
    point,
    at: point === 'time' ? draws.within(1, draws.of([500, 4000, 25_000])) : draws.of([1, 1, 1, 2, 2, 3, 4, 7]),
    downMs: draws.of([200, 200, 700, 3000, 12_000, 40_000]) + draws.within(0, 300),
    committed: draws.chance(0.5),
  };
}

/** In every eighth world, so that the other seeds deal the worlds that they have always dealt. */
function drawStop(seed: number): Stop | undefined {
  if (seed % 8 !== 5) return undefined;
  const draws = new Draws(seed, 'stop');
  return {
    point: draws.of(UP_TO_THE_GATE),
    at: draws.of([1, 1, 2, 2, 3, 4, 6, 9]),
    forMs: draws.of([100, 240, 260, 1000, 6000, 20_000]),
    clocks: draws.of(['both', 'both', 'wall']),
  };
}

interface VenueTraits {
  readonly faults: readonly FaultRule[];
  readonly visibilityMs: number;
  readonly tokens: number;
  readonly tight: boolean;
  readonly jwt: boolean;
}

function venueOf(draws: Draws, { faults, visibilityMs, tokens, tight, jwt }: VenueTraits): SimulatorConfig {
  const market = (id: typeof BTC | typeof DUST) => ({
    tick: MARKETS[id].tick,
    lot: MARKETS[id].lot,
    min_size: MARKETS[id].lot,
    start: MARKETS[id].start,
    spreadBps: 0,
    depth: id === BTC ? draws.of(['0.02', '0.1', '5']) : '100000',
    levels: 60,
    path: { kind: 'points' as const, stepMs: 500, points: wandering(draws, id) },
  });
  return {
    markets: { [BTC]: market(BTC), [DUST]: market(DUST) },
    account: {
      equity: draws.chance(0.08) ? '900' : '1000000',
      positions: draws.chance(0.3)
        ? [{ market: BTC, size: draws.of(['0.1', '-0.2']), price: '64000', agoMs: 60_000 }]
        : [],
    },
    latencyMs: draws.of([
      { min: 10, max: 10 },
      { min: 20, max: 60 },
      { min: 5, max: 400 },
    ]),
    processingMs: draws.of([
      { min: 20, max: 80 },
      { min: 0, max: 10 },
      { min: 50, max: 1500 },
    ]),
    visibilityLagMs: { min: 0, max: visibilityMs },
    readLagMs: draws.of([0, 0, 0, 300, 1500]),
    fillLagMs: draws.of([0, 0, 400, 1500]),
    tokens: {
      limit: tokens,
      algorithm: draws.of(['sliding_log', 'fixed_window', 'token_bucket', 'sliding_counter']),
      resetUnit: draws.of(['s', 'ms', 'us', 'iso']),
      retryAfter: draws.of(['x', 'plain', 'both']),
      foreign:
        !tight && draws.chance(0.05) ? [{ afterMs: draws.within(0, 5000), tokens: draws.within(100, 1100) }] : [],
    },
    ...(jwt
      ? {
          auth: {
            mode: 'jwt',
            accept: 'issued',
            lifeMs: tight ? 60_000 : draws.of([3000, 8000, 30_000]),
            refreshToken: REFRESH_TOKEN,
            rotate: draws.chance(0.3),
            result: draws.of(['text', 'object']),
          } as const,
        }
      : {}),
    surprises: {
      stopStatus: draws.of(['open', 'open', 'placed']),
      amendFlickerMs: draws.of([0, 0, 0, 300, 1200]),
      iocRest: draws.of(['canceled', 'canceled', 'rejected']),
      duplicateIds: draws.of(['accept', 'accept', 'refuse']),
      errorText: draws.of(['code', 'code_and_text']),
      refusalStatus: draws.of(['by_kind', 200, 400]),
      cancelAllResult: draws.of(['empty', 'true']),
      deadmanResult: draws.of(['object', 'array']),
      deadmanEmpty: draws.of(['object', 'array', 'null']),
      cancelAllSkipsProcessing: draws.chance(0.2),
    },
    faults,
  };
}

/** In some worlds the fills come much later than the record, or orders that never rest show as open first. */
function withLags(venue: SimulatorConfig, draws: Draws): SimulatorConfig {
  const fillLagMs = draws.chance(0.15) ? draws.of([5000, 20_000, 58_000]) : (venue.fillLagMs ?? 0);
  const immediateOpenMs = draws.chance(0.2) ? draws.of([300, 2500, 8000]) : 0;
  return { ...venue, fillLagMs, surprises: { ...venue.surprises, immediateOpenMs } };
}

/**
 * In some worlds a record shows an end before what filled, as late as the contract allows a record to be, and fills are late too; and
 * an order fills in part as it is cancelled. In some of them an answer now and then shows no order at all.
 */
function withLateSizes(venue: SimulatorConfig, seed: number): SimulatorConfig {
  const draws = new Draws(seed, 'late sizes');
  if (!draws.chance(0.12)) return venue;
  const most = TIMINGS.readLagMs - (venue.readLagMs ?? 0);
  const filledLagMs = Math.floor(most * draws.of([0.2, 0.6, 1]));
  const fillFirst: FaultRule = { on: 'DELETE /orders', do: 'fill_first', fraction: '0.5', when: { probability: 0.5 } };
  const fillLagMs = draws.of([5000, 20_000]);
  const blank: FaultRule = { on: 'GET /orders', do: 'empty_result', when: { probability: 0.15 } };
  return {
    ...venue,
    fillLagMs,
    faults: [...(venue.faults ?? []), fillFirst, ...(draws.chance(0.4) ? [blank] : [])],
    surprises: { ...venue.surprises, filledLagMs },
  };
}

/** In some worlds an amend leaves the size that a record began with as it was. The stream is one by which no recorded seed changes. */
function withAmends(venue: SimulatorConfig, seed: number): SimulatorConfig {
  const amendInitialSize = new Draws(seed, 'amended records').chance(0.4) ? 'stays' : 'changes';
  return { ...venue, surprises: { ...venue.surprises, amendInitialSize } };
}

/** A price that wanders for the first half minute and is constant afterwards. */
function wandering(draws: Draws, id: typeof BTC | typeof DUST): { afterMs: number; price: string }[] {
  const points = [{ afterMs: 0, price: priceOf(id, 0) }];
  let ticks = 0;
  for (let afterMs = 1000; afterMs <= 30_000; afterMs += draws.within(1, 8) * 500) {
    ticks = Math.max(-60, Math.min(60, ticks + draws.within(-12, 12)));
    points.push({ afterMs, price: priceOf(id, ticks) });
  }
  return points;
}

function profileOf(windowMs: number, tokens: number, jwt: boolean): Profile {
  return {
    ...SIMULATED_PROFILE,
    name: 'simulation',
    account: 'simulation',
    markets: Object.fromEntries(
      Object.entries(MARKETS).map(([id, { tick, lot }]) => [id, { tick, lot, min_size: lot }]),
    ),
    ambiguityWindowMs: windowMs,
    rateLimit: { ...SIMULATED_PROFILE.rateLimit, tokens },
    ...(jwt
      ? {
          auth: {
            mode: 'jwt',
            refreshToken: { env: 'REFRESH' },
            isClient: true,
            carrier: { in: 'header', header: 'Authorization', prefix: 'Bearer ' },
            jwtLifeMs: 60_000,
            sendJwtOnRefresh: false,
          },
        }
      : {}),
  };
}

interface FaultBounds {
  readonly lateMs: number;
  readonly visibilityMs: number;
  readonly faultsUntilMs: number;
  readonly guarded: boolean;
}

const ROAD: readonly FaultKind[] = [
  'lost_before',
  'lost_after',
  'lost_after',
  'delay',
  'delay',
  'refused',
  'reset_before',
  'reset_after',
  'slow_loris',
  'truncated',
  'oversize',
];
const ANSWER: readonly FaultKind[] = [
  'status',
  'status',
  'status',
  'error',
  'error',
  'rate_limited',
  'unauthorized',
  'malformed',
  'empty',
  'html',
  'redirect',
];
const PLACING: readonly FaultKind[] = [
  'late_reject',
  'stuck',
  'invisible',
  'empty_result',
  'two_records',
  'other_record',
];

function faultRules(draws: Draws, bounds: FaultBounds): FaultRule[] {
  return Array.from({ length: draws.within(1, 4) }, () => faultRule(draws, bounds));
}

function faultRule(draws: Draws, bounds: FaultBounds): FaultRule {
  const on = draws.weighted({
    'POST /orders': 10,
    'PUT /orders': 3,
    'DELETE /orders': 3,
    'GET /orders': 3,
    'GET /fills/order': 1,
    'GET /fills': 0.4,
    'POST /cancel_all_after': bounds.guarded ? 2 : 0,
    'DELETE /cancel_all_after': bounds.guarded ? 2 : 0,
    'GET /cancel_all_after': bounds.guarded ? 1 : 0,
    'DELETE /orders/cancel_all': 0.7,
    'PUT /account/leverage': 0.7,
    'POST /jwt': 0.5,
    '*': 0.7,
  });
  const kinds =
    on === 'POST /orders'
      ? [...ROAD, ...ANSWER, ...PLACING]
      : on === 'DELETE /orders'
        ? [...ROAD, ...ANSWER, 'cancel_lost', 'fill_first', 'stuck']
        : on === 'PUT /orders'
          ? [...ROAD, ...ANSWER, 'amend_lost', 'stuck']
          : [...ROAD, ...ANSWER];
  const what = draws.of(kinds as readonly FaultKind[]);
  const often = draws.weighted({ once: 5, some: 3, burst: 2 });
  const when = {
    untilMs: bounds.faultsUntilMs,
    ...(often === 'once'
      ? { call: draws.within(1, 4) }
      : often === 'some'
        ? { probability: 0.3 }
        : { afterMs: draws.within(0, 5000) }),
    ...(often === 'burst'
      ? { probability: 0.8, untilMs: Math.min(bounds.faultsUntilMs, draws.within(3000, 15_000)) }
      : {}),
  };
  return { on, when, do: what, ...detailsOf(draws, what, on, bounds) };
}

function detailsOf(
  draws: Draws,
  what: FaultKind,
  on: string,
  { lateMs, visibilityMs }: FaultBounds,
): Partial<FaultRule> {
  switch (what) {
    case 'delay':
      // Of the deadman switch and amends no more than the client waits: nothing is said of what overtakes a later one.
      return {
        way: on.endsWith('cancel_all_after') ? 'reply' : draws.of(['request', 'reply']),
        ms: on === 'POST /orders' ? draws.within(50, lateMs) : draws.within(50, 2000),
      };
    case 'status':
      return { status: draws.of([500, 502, 503, 504, 404, 404]), processed: draws.chance(0.5) };
    case 'error': {
      // Carried out and yet refused in words that decide nothing. Drawn worlds show such an order only behind its first look-up.
      const error = draws.of(['SOMETHING_WENT_WRONG', 'INSUFFICIENT_MARGIN', 'try again later']);
      const status = draws.of([200, 400]);
      const processed = visibilityMs === 0 && draws.chance(0.3);
      // No protocol can do anything about a venue that decides against an order and carries it out.
      return { error, status, processed: processed && error !== 'INSUFFICIENT_MARGIN' };
    }
    case 'rate_limited':
      return { retryAfter: draws.of(['1', '3', '0.5', '-4', 'soon', '']) };
    case 'stuck':
      return { ms: draws.of([2000, 20_000]) };
    case 'invisible':
      return { ms: draws.within(100, Math.max(200, lateMs - 2000)) };
    case 'fill_first':
      return { fraction: draws.of(['1', '0.5']) };
    default:
      return {};
  }
}
