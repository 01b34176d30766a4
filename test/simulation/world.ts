/**
 * One simulation: runs against the simulated venue in virtual time, with the processes that die on the way and those that
 * take the runs up from the disk. Says what happened; judges nothing. What a run is made of is in world-run.ts.
 */
import { cancelEverything } from '../../src/app/kill/cancels.ts';
import { SILENT } from '../../src/app/voice.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { decimal } from '../../src/base/decimal.ts';
import type { RunSetup } from '../../src/engine/ports.ts';
import type { RunResult } from '../../src/engine/run.ts';
import { CancelAllBarrier } from '../../src/gateway/cancel-all-barrier.ts';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { RunLedgerFold } from '../../src/gateway/limits/run-ledger.ts';
import { Secret } from '../../src/gateway/live/secret.ts';
import { VenueSession } from '../../src/gateway/live/session.ts';
import type { TokenStore } from '../../src/gateway/live/token-store.ts';
import type { BookedOrder } from '../../src/gateway/simulator/ledger-view.ts';
import { type Books, Simulator } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { OrderTracker, type TrackedOrder } from '../../src/journal/orders.ts';
import { readLines } from '../../src/journal/reading.ts';
import { listKills } from '../../src/journal/shared/account-guard.ts';
import { type HeldLease, takeLease } from '../../src/journal/shared/lease.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import type { OrderEvent } from '../../src/venue/order/context.ts';
import { CLIENT_ORDER_PREFIX } from '../../src/venue/order/identity.ts';
import type { Profile } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';
import { drawnWorld } from './drawn-world.ts';
import { Draws } from './draws.ts';
import { Disk, diskOf, Process, rowsOf } from './process.ts';
import { roadOf, type Sent } from './process-transport.ts';
import type { Protocol } from './protocol.ts';
import {
  ACCOUNT,
  type OutsiderAct,
  REFRESH_TOKEN,
  type Scenario,
  START_MS,
  scenarioOf,
  type WorldName,
} from './scenario.ts';
import { BTC, type Shape } from './shapes.ts';
import { type Ended, type Ground, type Host, mistake, WorldRun } from './world-run.ts';

const LEDGER = 'ledger';
/** A person cancels runs that go on for longer than this, in virtual time: each of their steps may be tried ten times. */
const LONGEST_MS = 3_600_000;
/** One that goes on for so long behind that goes on for ever. */
const PATIENCE_MS = 1_200_000;
const PERSON = 'the desk';
/** The process that cancels everything; those of runs are counted from 1. */
const KILLING = 0;

/** What became of one process. */
export interface LifeTold {
  readonly life: number;
  readonly epoch: number;
  readonly startedAt: number;
  /** When it ended, died or was frozen. */
  readonly endedAt: number;
  readonly how: 'ended' | 'dies' | 'frozen' | 'refused by the disk';
  readonly point?: string;
  readonly thawedAt?: number;
}

/** What became of one run. */
export interface RunTold {
  readonly name: string;
  readonly shape: Shape;
  readonly setup: RunSetup;
  readonly stored: readonly StoredEntry[];
  readonly entries: readonly Entry[];
  /** Undefined where it never ended, or never began. */
  readonly result: RunResult | undefined;
  /** The book as the journal folds it. */
  readonly tracker: OrderTracker;
  /** How often each cell of the order table was met, as `EVENT state`. */
  readonly cells: ReadonlyMap<string, number>;
}

export interface Happened {
  readonly scenario: Scenario;
  /** The first is the seed's own; the others are its companions, where they began. */
  readonly runs: readonly RunTold[];
  /** What is on the disk, of all runs, in the order in which it was written. */
  readonly stored: readonly StoredEntry[];
  readonly entries: readonly Entry[];
  /** When an entry was written, by the venue's clock, where it is not by the run's. */
  readonly venueTime: (entry: Pick<Entry, 'run' | 'epoch'>, at: number) => number;
  readonly sent: readonly Sent[];
  readonly books: Books;
  readonly lives: readonly LifeTold[];
  /** When a process was stopped and went on, by the venue's clock. */
  readonly stops: Process['stops'];
  /** By the venue's clock. */
  readonly killedAt: number | undefined;
  /** When the kill was released, and when its sweep ended and how many orders it said were left. */
  readonly releasedAt: number | undefined;
  readonly swept: { readonly at: number; readonly left: number } | undefined;
  /** When the run of a process took the switch for fired, by the venue's clock: also where the entry was lost with the process. */
  readonly assumedFired: readonly { readonly epoch: number; readonly at: number }[];
  /** When a run stopped guarding its orders in a process, by the venue's clock: also where no entry of it reached the disk. */
  readonly unguarded: readonly { readonly run: string; readonly epoch: number; readonly at: number }[];
  /** Adjustments of the wall clock: instant and size. */
  readonly clockPuts: readonly { readonly at: number; readonly byMs: number }[];
  /** An error of ours. */
  readonly broken: string | undefined;
  readonly points: ReadonlyMap<string, number>;
  readonly markets: Profile['markets'];
}

export async function simulate(
  world: WorldName,
  protocol: Protocol = {},
  change: (scenario: Scenario) => Scenario = (scenario) => scenario,
): Promise<Happened> {
  const scenario = typeof world === 'number' ? scenarioOf(world) : drawnWorld(world)?.scenario;
  if (scenario === undefined) throw new RangeError('nothing that can be checked remains of this world');
  return new World(change(scenario), protocol).run();
}

class World {
  private readonly scenario: Scenario;
  private readonly protocol: Protocol;
  private readonly profile: Profile;
  private readonly clock = new VirtualClock(START_MS);
  private readonly simulator: Simulator;
  private readonly disk = new Disk(new MemoryStore());
  private readonly shared = openSharedMemory(() => this.clock.monotonic());
  private readonly sent: Sent[] = [];
  private readonly lives: LifeTold[] = [];
  private readonly processes: Process[] = [];
  private readonly runs: readonly { readonly run: WorldRun; readonly beginsAt: number }[];
  private readonly carried = new WeakMap<Process, string | undefined>();
  private readonly listeners = new Set<() => void>();
  /** How far the clock of a run was ahead of the venue's, by run and epoch. */
  private readonly ahead = new Map<string, number>();
  private readonly assumedFired: { readonly epoch: number; readonly at: number }[] = [];
  private readonly unguarded: { readonly run: string; readonly epoch: number; readonly at: number }[] = [];
  private readonly clockPuts: { readonly at: number; readonly byMs: number }[] = [];
  private wallAheadMs: number;
  private refreshToken: string | undefined;
  private killedAt: number | undefined;
  private releasedAt: number | undefined;
  private swept: Happened['swept'];
  private broken: string | undefined;

  constructor(scenario: Scenario, protocol: Protocol) {
    this.scenario = scenario;
    this.protocol = protocol;
    this.profile = protocol.profile?.(scenario.profile) ?? scenario.profile;
    this.simulator = new Simulator(scenario.venue, this.clock, scenario.seed);
    this.wallAheadMs = scenario.skewMs;
    const ground: Ground = {
      scenario,
      protocol,
      profile: this.profile,
      disk: this.disk,
      mailbox: this.shared.mailbox,
      price: (market) => this.simulator.feed('mid', market)?.value,
      killed: (wasBefore) => this.shared.killSwitch.engaged(ACCOUNT, wasBefore),
      listKills: () => listKills(this.shared.killSwitch, ACCOUNT),
      told: (entry, aheadMs) => this.told(entry, aheadMs),
      stoppedGuarding: (run, epoch) => void this.unguarded.push({ run, epoch, at: this.clock.now() }),
    };
    this.runs = [
      { run: new WorldRun(ground, 'run', scenario.shape), beginsAt: START_MS },
      ...scenario.companions.map(({ shape, afterMs }, index) => ({
        run: new WorldRun(ground, `companion-${index + 1}`, shape),
        beginsAt: START_MS + afterMs,
      })),
    ];
  }

  async run(): Promise<Happened> {
    const { scenario, clock } = this;
    this.letPeopleAct();
    // A run of which nothing had reached the disk when its process was frozen may begin there when that thaws: another takes it up.
    do {
      try {
        await this.lifeAfterLife();
      } catch (error) {
        this.broken = mistake(error);
      }
      // Late requests arrive, the switch fires where it was left armed, those that were frozen come round.
      await clock.advanceTo(Math.max(clock.now(), START_MS + scenario.faultsUntilMs) + 60_000);
    } while (this.broken === undefined && this.runs.some(({ run }) => run.beganLate));
    for (const process of this.processes) process.end();
    const { lines } = this.disk;
    const entries = [...readLines(lines)];
    const points = new Map<string, number>();
    for (const { reachedPoints } of this.processes)
      for (const [key, times] of reachedPoints) points.set(key, (points.get(key) ?? 0) + times);
    const { sent, lives, broken, killedAt, releasedAt, swept, profile, ahead, assumedFired, unguarded, clockPuts } =
      this;
    return {
      scenario,
      runs: this.runs
        .map(({ run }) => toldOf(run, lines, entries))
        .filter(({ entries: own }, index) => index === 0 || own.length > 0),
      stored: lines,
      entries,
      venueTime: ({ run, epoch }, at) => at - (ahead.get(`${run} ${epoch}`) ?? scenario.skewMs),
      sent,
      books: this.simulator.books(),
      lives,
      stops: this.processes.flatMap(({ stops }) => stops),
      killedAt,
      releasedAt,
      swept,
      assumedFired,
      unguarded,
      clockPuts,
      broken,
      points,
      markets: profile.markets,
    };
  }

  /** Process after process, until one has brought the last run to its end. */
  private async lifeAfterLife(): Promise<void> {
    const { clock, scenario } = this;
    for (;;) {
      const { process, lease, ended } = await this.start();
      const told = { life: process.life, epoch: lease.epoch, startedAt: process.startedAt };
      const ending = await clock.runUntil(Promise.race([ended, process.struck, this.tooLong()]));
      if (ending.kind === 'ended' || ending.kind === 'refused by the disk') {
        this.lives.push({ ...told, endedAt: clock.now(), how: ending.kind });
        await lease.release();
        process.end();
        const again = ending.kind === 'ended' ? this.haltedRuns() : [];
        if (ending.kind === 'ended' && again.length === 0) return;
        for (const run of again) run.askedAgain = true;
        await clock.advanceTo(clock.now() + (again.length > 0 ? (scenario.asksAgainAfterMs ?? 0) : 1000));
        continue;
      }
      if (ending.kind === 'dies') {
        this.lives.push({ ...told, endedAt: clock.now(), how: 'dies', point: process.struckAt?.point ?? '' });
        // The machine sees that the process is gone.
        await this.shared.leases.release(ACCOUNT, lease.epoch);
        if (process.life === 1 && scenario.putWhileDownMs !== undefined) this.putClock(scenario.putWhileDownMs);
        await clock.advanceTo(clock.now() + ending.downMs);
        continue;
      }
      // Frozen: the next process waits for the lease to run out; this one thaws some time after.
      const thawedAt = clock.now() + 16_000 + ending.downMs;
      this.lives.push({ ...told, endedAt: clock.now(), how: 'frozen', point: process.struckAt?.point ?? '', thawedAt });
      clock.at(thawedAt, () => process.thaw());
    }
  }

  /** Runs that halted and that a person will resume. */
  private haltedRuns(): readonly WorldRun[] {
    if (this.scenario.asksAgainAfterMs === undefined) return [];
    return this.runs.flatMap(({ run }) => (run.result?.outcome === 'halted' && !run.askedAgain ? [run] : []));
  }

  /** A process that resumes unfinished runs and begins what is due; `ended` when all its runs have. */
  private async start(): Promise<{
    readonly process: Process;
    readonly lease: HeldLease;
    readonly ended: Promise<Ended>;
  }> {
    const { clock, scenario } = this;
    const number = this.processes.length;
    const machine = scenario.moves.slice(0, number).filter((moves) => moves).length;
    const faults = { fault: scenario.injectedFaults[number], stop: number === 0 ? scenario.stop : undefined };
    const process = new Process(clock, number + 1, faults, () => this.wallAheadMs, machine);
    this.processes.push(process);
    const lease = await this.takenLease(process);
    const host = this.hostOf(process, lease);
    const killed = await this.shared.killSwitch.engaged(ACCOUNT);
    const ends: Promise<Ended>[] = [];
    for (const { run, beginsAt } of this.runs) {
      const hasBegun = run.lines.length > 0;
      run.readEnd();
      if (run.result !== undefined && !(run.result.outcome === 'halted' && run.askedAgain)) continue;
      if (!hasBegun && beginsAt > clock.now()) ends.push(this.later(host, run, beginsAt));
      else if (hasBegun || killed === undefined || run === this.runs[0]?.run) {
        const begin = await run.prepared(host);
        const started = await clock.runUntil(Promise.race([begin(), process.struck]));
        if ('ended' in started) ends.push(started.ended);
      }
    }
    // One that was struck on the way does not come to an end by itself.
    if (process.struckAt !== undefined) ends.push(new Promise(() => {}));
    const ended = Promise.all(ends).then(
      (all) => all.find(({ kind }) => kind !== 'ended') ?? ({ kind: 'ended' } as Ended),
    );
    ended.catch(() => {});
    return { process, lease, ended };
  }

  /** A run that is handed to the process when its time has come; refused where the kill switch is engaged by then. */
  private later(host: Host, run: WorldRun, beginsAt: number): Promise<Ended> {
    const { clock } = this;
    return new Promise((resolve, reject) => {
      host.process.clock.after(beginsAt - clock.now(), () => {
        const handedOver = async (): Promise<Ended> => {
          const killed = await this.shared.killSwitch.engaged(ACCOUNT);
          // One that was frozen finds that another process has the account, and the run.
          if (killed !== undefined || host.process !== this.processes.at(-1)) return { kind: 'ended' };
          const begin = await run.prepared(host);
          return (await begin()).ended;
        };
        handedOver().then(resolve, reject);
      });
    });
  }

  private async takenLease(process: Process): Promise<HeldLease> {
    for (;;) {
      const lease = await takeLease({
        leases: this.shared.leases,
        account: ACCOUNT,
        holder: `life ${process.life}`,
        clock: process.clock,
        metronome: process.clock,
        onLost: () => process.end(),
      });
      if (lease.kind === 'held') {
        process.begin();
        return lease;
      }
      await this.clock.advanceTo(this.clock.now() + lease.remainingMs);
    }
  }

  private hostOf(process: Process, lease: HeldLease): Host {
    const { commitMs, fullForMs, injectedFaults, diskHangs } = this.scenario;
    const fullAfter = fullFrom(this.scenario, process.life);
    const { protocol, listeners } = this;
    const store = diskOf(process, this.disk, {
      commitMs,
      hangs:
        process.life === 1 && diskHangs !== undefined
          ? { from: START_MS + diskHangs.fromMs, until: START_MS + diskHangs.fromMs + diskHangs.forMs }
          : undefined,
      full: fullAfter === undefined ? undefined : { after: fullAfter, forMs: fullForMs },
      committed: injectedFaults[process.life - 1]?.committed ?? true,
    });
    const budget = this.budget(process);
    const road = this.road(process);
    const session = this.session(process, budget, protocol.transport?.(road, process) ?? road);
    return {
      process,
      lease,
      session,
      store,
      canFill: fullAfter !== undefined,
      budget: protocol.budget?.(budget, process) ?? budget,
      gates: new Set(),
      ledger: this.openLedger(),
      barrier: new CancelAllBarrier(),
      onWallMoved: (listener) => void listeners.add(listener),
    };
  }

  /** The account over the runs on the disk, as a process finds it when it begins. */
  private openLedger(): AccountLedger {
    const runs = this.runs.flatMap(({ run }) => {
      const fold = new RunLedgerFold();
      for (const entry of readLines(run.lines)) fold.apply(entry);
      return fold.finish() ?? [];
    });
    const unknown = this.scenario.unreadJournal;
    return new AccountLedger({
      runs,
      baselines: [],
      listed: [],
      gone: {},
      ...(unknown === undefined ? {} : { unknown }),
    });
  }

  private budget(process: Process): LocalBudget {
    const { tokens, windowMs, costs } = this.profile.rateLimit;
    const draws = new Draws(this.scenario.seed, `jitter ${process.life}`);
    return new LocalBudget(budgetSettings({ tokens, windowMs }), process.clock, costs, {
      random: () => draws.next(),
      ...(this.protocol.freshBudget
        ? {}
        : { share: { rows: rowsOf(process, this.shared.ledgers), key: LEDGER, owner: `life ${process.life}` } }),
    });
  }

  /** The session, which puts the JWT on what it sends; the simulator takes it from there. */
  private session(process: Process, budget: LocalBudget, road: Transport): VenueSession {
    const isJwt = this.profile.auth.mode === 'jwt';
    const store: TokenStore = {
      load: () => (this.refreshToken === undefined ? undefined : new Secret('auth.refresh_token', this.refreshToken)),
      save: async (token) => {
        if (process.state === 'running') this.refreshToken = token.reveal();
      },
    };
    return new VenueSession({
      profile: this.profile,
      secrets: {
        webhooks: {},
        anchorAddresses: {},
        ...(isJwt ? { refreshToken: new Secret('auth.refresh_token', this.refreshToken ?? REFRESH_TOKEN) } : {}),
      },
      transport: {
        send: (request, options) => {
          const { headers } = options as { headers?: Readonly<Record<string, string>> };
          this.carried.set(process, headers?.['authorization']?.slice('Bearer '.length));
          return road.send(request, options);
        },
      },
      budget,
      clock: process.clock,
      ...(isJwt ? { store } : {}),
    });
  }

  private road(process: Process, sent = this.sent): Transport {
    const isJwt = this.profile.auth.mode === 'jwt';
    const venue = this.simulator.transport(isJwt ? { token: () => this.carried.get(process) } : undefined);
    const { profile, clock: base, disk, scenario } = this;
    const { balancerMs } = scenario;
    return roadOf({ process, base, disk, sent, venue, idleMs: profile.socketIdleMs, balancerMs });
  }

  // People, and what is done to the machine.

  private letPeopleAct(): void {
    const { clock, shared } = this;
    const { killAfterMs, killSweep, cancelAfterMs, clockPuts, outsider } = this.scenario;
    if (outsider !== undefined) clock.at(START_MS + outsider.afterMs, () => this.letOutsiderAct(outsider.does));
    if (killAfterMs !== undefined) {
      const at = START_MS + killAfterMs;
      clock.at(at, () => {
        this.killedAt = at;
        // By the clock of the machine, as the beginning of a run is.
        const engagedAt = at + this.wallAheadMs;
        void shared.killSwitch.engage({
          scope: ACCOUNT,
          by: 'the simulation',
          reason: 'a person asked',
          at: engagedAt,
        });
      });
    }
    if (killAfterMs !== undefined && killSweep !== undefined) this.sweepAll(START_MS + killAfterMs, killSweep);
    if (cancelAfterMs !== undefined) {
      const at = START_MS + cancelAfterMs;
      clock.at(at, () => void shared.mailbox.post({ run: 'run', command: 'cancel', by: PERSON, at }));
    }
    for (const { afterMs, byMs } of clockPuts) clock.at(START_MS + afterMs, () => this.putClock(byMs));
  }

  /** As `runbook kill` does: a process of its own, without a lease, cancels until nothing is left. */
  private sweepAll(at: number, { releasedAfterMs }: NonNullable<Scenario['killSweep']>): void {
    const { clock, shared, profile, protocol } = this;
    const { killSwitch } = shared;
    clock.at(at, () => {
      const process = new Process(clock, KILLING, { fault: undefined, stop: undefined }, () => this.wallAheadMs, 0);
      const budget = this.budget(process);
      const road = this.road(process, []);
      const session = this.session(process, budget, protocol.transport?.(road, process) ?? road);
      const account = { budget, profile, session, clock: process.clock, transport: session, key: ACCOUNT, shared };
      cancelEverything(account, { voice: SILENT }, () => {}).then(
        (left) => {
          this.swept = { at: clock.now(), left };
        },
        // The venue gave no answer, or a person has released it: it has said nothing about orders.
        () => {},
      );
    });
    if (releasedAfterMs === undefined) return;
    clock.at(at + releasedAfterMs, () => {
      this.releasedAt = clock.now();
      void killSwitch.release(ACCOUNT, PERSON, clock.now() + this.wallAheadMs);
    });
  }

  /** With a session of its own, as the venue takes no request without one. */
  private letOutsiderAct(does: OutsiderAct): void {
    const order = this.simulator
      .books()
      .orders.findLast(({ client_order_id: id, status }) => id.startsWith(CLIENT_ORDER_PREFIX) && status === 'open');
    const named = this.outsiderRequest(does, order);
    if (named === undefined) return;
    const request = toWireRequest(...named, this.profile);
    void this.simulator.transport().send(request, { timeoutMs: 10_000 });
  }

  private outsiderRequest(
    does: OutsiderAct,
    order: BookedOrder | undefined,
  ): readonly [EndpointName, object] | undefined {
    const named = order && { order_id: order.id, market_id: order.market_id };
    switch (does) {
      case 'arms':
        return ['POST /cancel_all_after', { market_id: BTC, timeout: 20_000 }];
      case 'disarms':
        return ['DELETE /cancel_all_after', { market_id: BTC }];
      case 'cancels all':
        return ['DELETE /orders/cancel_all', {}];
      case 'trades':
        return ['POST /orders', FOREIGN_ORDER];
      case 'cancels':
        return named && ['DELETE /orders', named];
      case 'amends':
        return order && ['PUT /orders', { ...named, price: order.price ?? '1', size: doubled(order) }];
      default:
        return does satisfies never;
    }
  }

  /** Whether a process is there or not. */
  private putClock(byMs: number): void {
    this.clockPuts.push({ at: this.clock.now(), byMs });
    this.wallAheadMs += byMs;
    for (const listener of [...this.listeners]) listener();
  }

  private told(entry: Entry, aheadMs: number): void {
    this.ahead.set(`${entry.run} ${entry.epoch}`, aheadMs);
    if (entry.type === 'deadman.moved' && entry.data.event === 'assumed_fired')
      this.assumedFired.push({ epoch: entry.epoch, at: this.clock.now() });
    const { answer } = this.scenario;
    if (entry.type !== 'approval.asked' || answer === undefined) return;
    const { clock, shared } = this;
    const { run, step } = entry;
    clock.at(clock.now() + answer.afterMs, () => {
      void shared.mailbox.post({ run, command: answer.says, by: PERSON, step, at: clock.now() });
    });
  }

  private tooLong(): Promise<never> {
    const { clock, runs } = this;
    clock.at(Math.max(clock.now(), START_MS + LONGEST_MS), () => {
      for (const { run } of runs) run.cancelNow(PERSON);
    });
    return new Promise((_, reject) =>
      clock.at(START_MS + LONGEST_MS + PATIENCE_MS, () => reject(new Error('the run goes on for ever'))),
    );
  }
}

const FOREIGN_ORDER = {
  market_id: BTC,
  type: 'market',
  side: 'short',
  size: '0.02',
  price: '60000',
  time_in_force: 'immediate_or_cancel',
  client_order_id: 'of-another-program',
};

function doubled({ initial_size: size }: BookedOrder): string {
  return decimal(size).times(2).toFixed();
}

/** After how many commits the disk of a process is full. */
export function fullFrom({ fullAfter, fullLater }: Scenario, life: number): number | undefined {
  if (life === 1) return fullAfter;
  return life === fullLater?.life ? fullLater.after : undefined;
}

function toldOf(
  { name, shape, setup, result }: WorldRun,
  lines: readonly StoredEntry[],
  all: readonly Entry[],
): RunTold {
  const stored = lines.filter(({ run }) => run === name);
  const entries = all.filter(({ run }) => run === name);
  const tracker = new OrderTracker({ absenceHorizonMs: setup.absenceHorizonMs });
  const cells = countCells(tracker);
  for (const entry of entries) tracker.apply(entry);
  return { name, shape, setup, stored, entries, result, tracker, cells };
}

/** Counts each event of an order with the state in which it came; the tracker reports changes of state alone. */
function countCells(tracker: OrderTracker): ReadonlyMap<string, number> {
  const cells = new Map<string, number>();
  const own = tracker as unknown as { send: (order: TrackedOrder | undefined, event: OrderEvent, to: unknown) => void };
  const send = own.send.bind(tracker);
  own.send = (order, event, to) => {
    const cell = `${event.type} ${order?.snapshot.state}`;
    if (order !== undefined) cells.set(cell, (cells.get(cell) ?? 0) + 1);
    send(order, event, to);
  };
  return cells;
}
