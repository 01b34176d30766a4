/**
 * One simulation: a run against the simulated venue in virtual time, with the processes that die on the way and those that
 * take it up from the disk, put together as the command line puts a live run together. Says what happened; judges nothing.
 */
import { VirtualClock } from '../../src/base/clock.ts';
import { Divergence, Playback } from '../../src/engine/playback.ts';
import type { RunPorts, RunSetup } from '../../src/engine/ports.ts';
import { type RunningRun, type RunResult, startRun } from '../../src/engine/run.ts';
import { LocalBudget } from '../../src/gateway/budget.ts';
import { type ClientParts, VenueClient } from '../../src/gateway/client.ts';
import { LimitGate } from '../../src/gateway/limit-gate.ts';
import { Secret } from '../../src/gateway/secret.ts';
import { VenueSession } from '../../src/gateway/session.ts';
import { type Books, Simulator } from '../../src/gateway/simulator/simulator.ts';
import type { TokenStore } from '../../src/gateway/token-store.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { headOf, readEntry } from '../../src/journal/chain.ts';
import type { Entry, JsonObject } from '../../src/journal/entry.ts';
import { type LeaseKeeper, takeLease } from '../../src/journal/lease.ts';
import { MemoryStore } from '../../src/journal/memory-store.ts';
import { OrderBook } from '../../src/journal/orders.ts';
import { RunLog } from '../../src/journal/run-log.ts';
import type { KillOrder } from '../../src/journal/shared.ts';
import { openSharedMemory } from '../../src/journal/shared-memory.ts';
import { type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import { budgetSettings } from '../../src/venue/budget.ts';
import type { Profile } from '../../src/venue/profile.ts';
import { profileSettings } from '../../src/venue/settings-in-force.ts';
import { Draws } from './draws.ts';
import { Disk, diskOf, Process, rowsOf } from './process.ts';
import type { Protocol } from './protocol.ts';
import { roadOf, type Sent } from './road.ts';
import { REFRESH_TOKEN, type Scenario, START_MS, scenarioOf } from './scenario.ts';

const RUN = 'run';
const ACCOUNT = 'simulation';
const LEDGER = 'ledger';
const LOOK_EVERY_MS = 200;
/** A run that goes on for longer than this, in virtual time, goes on for ever. */
const LONGEST_MS = 3_600_000;

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

export interface Happened {
  readonly scenario: Scenario;
  /** What is on the disk. */
  readonly stored: readonly StoredEntry[];
  readonly entries: readonly Entry[];
  readonly sent: readonly Sent[];
  readonly books: Books;
  readonly lives: readonly LifeTold[];
  readonly result: RunResult | undefined;
  /** By the venue's clock. */
  readonly killedAt: number | undefined;
  /** The book as the journal folds it. */
  readonly book: OrderBook;
  /** An error of ours: thrown by the engine, or by whoever takes a run up. */
  readonly broken: string | undefined;
  readonly points: ReadonlyMap<string, number>;
  readonly setup: RunSetup;
  readonly markets: Profile['markets'];
}

export async function simulate(seed: number, protocol: Protocol = {}): Promise<Happened> {
  return new World(scenarioOf(seed), protocol).run();
}

/** How a process comes to its end by itself: with the run's, or with a disk that takes nothing more. */
type Ended = { readonly kind: 'ended'; readonly result: RunResult } | { readonly kind: 'refused by the disk' };

interface Life {
  readonly process: Process;
  readonly lease: LeaseKeeper;
  readonly ended: Promise<Ended>;
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
  private readonly setup: RunSetup;
  private refreshToken: string | undefined;
  private killedAt: number | undefined;
  private broken: string | undefined;
  private askedAgain = false;

  constructor(scenario: Scenario, protocol: Protocol) {
    this.scenario = scenario;
    this.protocol = protocol;
    this.profile = protocol.profile?.(scenario.profile) ?? scenario.profile;
    this.simulator = new Simulator(scenario.venue, this.clock, scenario.seed);
    this.setup = {
      run: RUN,
      account: ACCOUNT,
      mode: 'live',
      runbook: scenario.shape.runbook,
      inputs: {},
      seed: scenario.seed % 2 ** 31,
      startedAt: START_MS + scenario.skewMs,
      absenceHorizonMs: protocol.absenceHorizonMs ?? scenario.profile.ambiguityWindowMs,
      plan: '',
    };
  }

  async run(): Promise<Happened> {
    const { scenario, clock } = this;
    let result: RunResult | undefined;
    if (scenario.killAfterMs !== undefined) this.engageKillAt(START_MS + scenario.killAfterMs);
    try {
      result = await this.lifeAfterLife();
    } catch (error) {
      this.broken =
        error instanceof Divergence
          ? `could not be taken up again: ${error.message}`
          : error instanceof Error
            ? (error.stack ?? error.message)
            : String(error);
    }
    // Late requests arrive, the switch fires where it was left armed, those that were frozen come round.
    await clock.advanceTo(Math.max(clock.now(), START_MS + scenario.faultsUntilMs) + 60_000);
    for (const process of this.processes) process.end();
    const { lines } = this.disk;
    const entries = lines.map(readEntry);
    const book = new OrderBook({ absenceHorizonMs: this.setup.absenceHorizonMs });
    for (const entry of entries) book.apply(entry);
    const points = new Map<string, number>();
    for (const { reachedPoints } of this.processes)
      for (const [key, times] of reachedPoints) points.set(key, (points.get(key) ?? 0) + times);
    const { sent, lives, broken, killedAt, setup, profile } = this;
    return {
      scenario,
      stored: lines,
      entries,
      sent,
      books: this.simulator.books(),
      lives,
      result,
      killedAt,
      book,
      broken,
      points,
      setup,
      markets: profile.markets,
    };
  }

  /** Process after process, until one brings the run to its end. */
  private async lifeAfterLife(): Promise<RunResult | undefined> {
    const { clock, scenario } = this;
    for (;;) {
      const life = await this.start();
      const { process, lease } = life;
      const told = { life: process.life, epoch: lease.epoch, startedAt: process.startedAt };
      const ending = await clock.runUntil(Promise.race([life.ended, process.struck, this.tooLong()]));
      if (ending.kind === 'ended' || ending.kind === 'refused by the disk') {
        this.lives.push({ ...told, endedAt: clock.now(), how: ending.kind });
        await lease.release();
        process.end();
        const asksAgain =
          ending.kind === 'ended' &&
          ending.result.outcome === 'halted' &&
          !this.askedAgain &&
          scenario.asksAgainAfterMs !== undefined;
        if (ending.kind === 'ended' && !asksAgain) return ending.result;
        this.askedAgain ||= asksAgain;
        await clock.advanceTo(clock.now() + (asksAgain ? (scenario.asksAgainAfterMs ?? 0) : 1000));
        continue;
      }
      if (ending.kind === 'dies') {
        this.lives.push({ ...told, endedAt: clock.now(), how: 'dies', point: process.struckAt?.point ?? '' });
        // The machine sees that the process is gone.
        await this.shared.leases.release(ACCOUNT, lease.epoch);
        await clock.advanceTo(clock.now() + ending.downMs);
        continue;
      }
      // Frozen: whoever takes over waits for the lease to run out; it thaws some time after.
      const thawedAt = clock.now() + 16_000 + ending.downMs;
      this.lives.push({ ...told, endedAt: clock.now(), how: 'frozen', point: process.struckAt?.point ?? '', thawedAt });
      clock.at(thawedAt, () => process.thaw());
    }
  }

  private async start(): Promise<Life> {
    const { scenario, clock } = this;
    const number = this.processes.length;
    const process = new Process(clock, number + 1, scenario.mishaps[number], scenario.skewMs);
    this.processes.push(process);
    const lease = await this.takenLease(process);
    const lines = this.protocol.read?.(this.disk.lines) ?? this.disk.lines;
    const killed = await this.shared.killSwitch.engaged(ACCOUNT);
    return lines.length === 0 ? this.begin(process, lease, killed) : this.takeUp(process, lease, lines, killed);
  }

  private async takenLease(process: Process): Promise<LeaseKeeper> {
    for (;;) {
      const lease = await takeLease({
        leases: this.shared.leases,
        account: ACCOUNT,
        holder: `life ${process.life}`,
        clock: process.clock,
        onLost: () => process.end(),
      });
      if (lease.kind === 'held') {
        process.begin();
        return lease;
      }
      await this.clock.advanceTo(this.clock.now() + lease.remainingMs);
    }
  }

  private begin(process: Process, lease: LeaseKeeper, killed: KillOrder | undefined): Promise<Life> {
    const { setup } = this;
    const started = new Promise<Life>((resolve, reject) => {
      process.clock.arrive(() => {
        try {
          const writer = this.writer(process, lease, []);
          const book = new OrderBook({ absenceHorizonMs: setup.absenceHorizonMs });
          const gate = this.gate(book);
          const log = new RunLog(writer, book, [(entry) => gate.apply(entry), (entry) => this.observe(entry, process)]);
          log.append('run.started', {
            runbook: setup.runbook.name,
            file: setup.runbook.source.file,
            mode: 'live',
            trigger: 'manual',
            inputs: {},
            seed: setup.seed,
            startedAt: process.clock.now(),
            sources: [],
            settings: { ...profileSettings(this.profile), absenceHorizonMs: setup.absenceHorizonMs } as JsonObject,
            engine: 'simulation',
            account: ACCOUNT,
          });
          const venue = this.client(process, lease, log, gate, writer);
          const ports = this.ports(
            { venue: this.port(venue, process), clock: process.clock, log, notifier: { send() {} } },
            process,
          );
          resolve(
            this.life(
              process,
              lease,
              startRun({ ...setup, startedAt: process.clock.now() }, ports),
              log,
              writer,
              killed,
            ),
          );
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    return this.clock.runUntil(started);
  }

  private async takeUp(
    process: Process,
    lease: LeaseKeeper,
    lines: readonly StoredEntry[],
    killed: KillOrder | undefined,
  ): Promise<Life> {
    const { setup } = this;
    const entries = lines.map(readEntry);
    const gate = this.gate(new OrderBook());
    const playback = new Playback(entries, {
      markets: this.profile.markets,
      absenceHorizonMs: setup.absenceHorizonMs,
      resume: true,
      observe: (entry) => gate.apply(entry),
    });
    gate.useBook(playback.log.book);
    const writer = this.writer(process, lease, lines);
    const log = new RunLog(writer, playback.log.book, [
      (entry) => gate.apply(entry),
      (entry) => this.observe(entry, process),
    ]);
    const client = this.client(process, lease, log, gate, writer);
    const [first] = entries as [Entry & { type: 'run.started' }];
    const running = startRun(
      { ...setup, startedAt: first.data.startedAt },
      this.ports({ venue: playback.venue, clock: playback.clock, log: playback.log, notifier: { send() {} } }, process),
    );
    playback.commandsTo((command) => running.command(command));
    playback.resumedTo(() => running.reopen());
    await playback.play(running.done);
    const taken = new Promise<Life>((resolve) => {
      process.clock.arrive(() => {
        playback.takeOver({
          keep: log.keep,
          log,
          venue: this.port(client, process),
          clock: process.clock,
          continueCall:
            this.protocol.continueCall?.(client) ?? ((call, attempts) => client.continueCall(call, attempts)),
        });
        running.reopen();
        void writer.flush().catch(() => {});
        resolve(this.life(process, lease, running, log, writer, killed));
      });
    });
    return this.clock.runUntil(taken);
  }

  private life(
    process: Process,
    lease: LeaseKeeper,
    running: RunningRun,
    log: RunLog,
    writer: JournalWriter,
    killed: KillOrder | undefined,
  ): Life {
    const ended = running.settled().then(async (result): Promise<Ended> => {
      try {
        await writer.close();
      } catch (error) {
        if (error instanceof StoreError) return { kind: 'refused by the disk' };
        throw error;
      }
      return { kind: 'ended', result };
    });
    ended.catch(() => {});
    this.lookOutside(process, running, log, killed);
    return { process, lease, ended };
  }

  private writer(process: Process, lease: LeaseKeeper, lines: readonly StoredEntry[]): JournalWriter {
    const { commitMs, fullAfter, mishaps } = this.scenario;
    const committed = mishaps[process.life - 1]?.committed ?? true;
    const disk = diskOf(process, this.disk, {
      commitMs,
      fullAfter: process.life === 1 ? fullAfter : undefined,
      committed,
    });
    const [first] = lines;
    return new JournalWriter(this.protocol.store?.(disk, process) ?? disk, {
      run: RUN,
      account: ACCOUNT,
      def: this.setup.runbook.sha256.slice(0, 16),
      boot: `life-${process.life}`,
      epoch: lease.epoch,
      actor: 'engine',
      clock: process.clock,
      durable: true,
      head: headOf(lines.at(-1)),
      ...(first === undefined
        ? {}
        : {
            row: {
              run: RUN,
              runbook: this.setup.runbook.name,
              mode: 'live',
              account: ACCOUNT,
              trigger: 'manual',
              startedAt: first.at,
            } as const,
          }),
    });
  }

  private client(
    process: Process,
    lease: LeaseKeeper,
    log: RunLog,
    gate: LimitGate,
    writer: JournalWriter,
  ): VenueClient {
    const { profile, protocol } = this;
    const { clock } = process;
    const budget = this.budget(process);
    const flush = () => writer.flush();
    const road = this.road(process);
    const session = this.session(process, budget, protocol.transport?.(road, process) ?? road);
    const parts: ClientParts = {
      profile,
      transport: session,
      budget: protocol.budget?.(budget, process) ?? budget,
      log: { append: log.append, flush: protocol.flush?.(flush, process) ?? flush, book: log.book },
      clock,
      gate,
      feeds: { read: async () => undefined },
      markets: profile.markets,
      epoch: lease.epoch,
      session,
      lease: protocol.lease?.(lease) ?? lease,
      forbidden: (protective) =>
        this.killsSeen.has(process) && !protective ? 'KILL_SWITCH_ENGAGED: by the simulation' : undefined,
      crashPoints: { reached: (point, call) => void process.reached(point, call.endpoint) },
    };
    const changed = protocol.client?.(parts) ?? parts;
    return protocol.makeClient?.(changed) ?? new VenueClient(changed);
  }

  private gate(book: OrderBook): LimitGate {
    const gate = new LimitGate(book, this.profile.markets, () => ({ killed: false, working: [] }));
    return this.protocol.gate?.(gate) ?? gate;
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
        ...(isJwt ? { refreshToken: new Secret('auth.refresh_token', this.refreshToken ?? REFRESH_TOKEN) } : {}),
      },
      transport: {
        send: (request, options) => {
          this.carried.set(
            process,
            (options as { headers?: Readonly<Record<string, string>> }).headers?.['authorization']?.slice(
              'Bearer '.length,
            ),
          );
          return road.send(request, options);
        },
      },
      budget,
      clock: process.clock,
      ...(isJwt ? { store } : {}),
    });
  }

  private readonly carried = new WeakMap<Process, string | undefined>();

  private road(process: Process): Transport {
    const isJwt = this.profile.auth.mode === 'jwt';
    const venue = this.simulator.transport(isJwt ? { token: () => this.carried.get(process) } : undefined);
    return roadOf({ process, base: this.clock, disk: this.disk, sent: this.sent, venue });
  }

  private port(client: VenueClient, process: Process) {
    return this.protocol.venue?.(client, process) ?? client;
  }

  private ports(ports: RunPorts, process: Process): RunPorts {
    return this.protocol.ports?.(ports, process) ?? ports;
  }

  private observe(entry: Entry, process: Process): void {
    if (entry.type === 'step.ended') process.reached('CP15', entry.data.verb);
  }

  // People.

  private readonly killsSeen = new WeakSet<Process>();

  private engageKillAt(at: number): void {
    this.clock.at(at, () => {
      this.killedAt = at;
      void this.shared.killSwitch.engage({ scope: ACCOUNT, by: 'the simulation', reason: 'a person asked', at });
    });
  }

  /** As the command line does: looks five times a second whether the kill switch is engaged, and before the run goes on. */
  private lookOutside(process: Process, running: RunningRun, log: RunLog, killed: KillOrder | undefined): void {
    const { clock } = process;
    const tell = (order: KillOrder) => {
      this.killsSeen.add(process);
      clock.arrive(() => {
        log.append('operator.acted', { command: 'kill', by: order.by, reason: order.reason }, '', order.by);
        running.command({ command: 'kill', by: order.by, reason: order.reason });
      });
    };
    if (this.protocol.deaf) return;
    if (killed !== undefined) tell(killed);
    if (killed !== undefined || this.scenario.killAfterMs === undefined) return;
    const look = async () => {
      const order = await this.shared.killSwitch.engaged(ACCOUNT);
      if (order !== undefined) tell(order);
      else if (process.state !== 'dead') clock.at(clock.now() + LOOK_EVERY_MS, () => void look());
    };
    void look();
  }

  private tooLong(): Promise<never> {
    return new Promise((_, reject) =>
      this.clock.at(START_MS + LONGEST_MS, () => reject(new Error('the run goes on for ever'))),
    );
  }
}
