/**
 * Runs one run of a simulated world: begun in one process, resumed in the next ones, composed each time as the program composes a
 * live run (app/run). Its parts are the product's own, except those that a broken protocol replaces.
 */
import { measureAway, RunClock } from '../../src/base/run-clock.ts';
import { Divergence, Playback } from '../../src/engine/playback/playback.ts';
import type { RunPorts, RunSetup } from '../../src/engine/ports.ts';
import { type RunningRun, type RunResult, startRun } from '../../src/engine/run.ts';
import type { CancelAllBarrier } from '../../src/gateway/cancel-all-barrier.ts';
import { VenueClient } from '../../src/gateway/client.ts';
import type { ClientParts } from '../../src/gateway/client-parts.ts';
import type { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import { summarizeRun } from '../../src/gateway/limits/run-ledger.ts';
import type { VenueSession } from '../../src/gateway/live/session.ts';
import type { Budget } from '../../src/gateway/tokens/budget.ts';
import { readEntry, toHead } from '../../src/journal/chain.ts';
import type { Entry, JsonObject } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { readLines } from '../../src/journal/reading.ts';
import { RunLog } from '../../src/journal/run-log.ts';
import { recognizeKills } from '../../src/journal/shared/account-guard.ts';
import type { HeldLease } from '../../src/journal/shared/lease.ts';
import type { KillEvent, KillOrder, Mailbox } from '../../src/journal/shared/shared.ts';
import { type JournalStore, type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import { writeProfileSettings } from '../../src/venue/profile/in-force.ts';
import type { Profile } from '../../src/venue/profile/profile.ts';
import { isBadPrice } from './drawn-world.ts';
import { stopsGuarding } from './facts.ts';
import type { Disk, Process } from './process.ts';
import type { Protocol } from './protocol.ts';
import { ACCOUNT, type Scenario } from './scenario.ts';
import { BTC, type Shape } from './shapes.ts';

/** As the command line looks. */
const LOOK_EVERY_MS = 200;
/** For as long as the journal of a live run is tried again (app/run/live-assembly.ts), ms. */
const STORE_PATIENCE_MS = 60_000;
/** How long rounds that changed nothing may be missing from the disk there, ms. */
const HOLD_MS = 30_000;
const HOLD_OF_NEWS_MS = 5_000;
/** Less than this apart, two clocks say the same (cli/live.ts). */
const SAME_TIME_MS = 2000;

/** What a run finds in every process. */
export interface Ground {
  /** The price of a market at the venue. */
  readonly price: (market: string) => string | undefined;
  readonly scenario: Scenario;
  readonly protocol: Protocol;
  readonly profile: Profile;
  readonly disk: Disk;
  readonly mailbox: Mailbox;
  /** The kill in force; `wasBefore`: which kills were given before a run began. */
  readonly killed: (wasBefore?: (kill: KillEvent) => boolean) => Promise<KillOrder | undefined>;
  /** Names the kills so far. */
  readonly listKills: () => Promise<readonly string[]>;
  /** Called with each entry as it is written; `aheadMs`: how far the run's clock is ahead of the venue's. */
  readonly told: (entry: Entry, aheadMs: number) => void;
  /** From now on a run renews no switch in its process. */
  readonly stoppedGuarding: (run: string, epoch: number) => void;
}

/** What the runs of one process have in common. */
export interface Host {
  readonly process: Process;
  readonly lease: HeldLease;
  readonly budget: Budget;
  readonly session: VenueSession;
  readonly store: JournalStore;
  /** Whether its disk may take nothing for a while. */
  readonly canFill: boolean;
  /** The gates of the runs under way: what each has working counts against the limits of all. */
  readonly gates: Set<LimitFactsFold>;
  /** The account over all its runs, as far as this process knows it. */
  readonly ledger: AccountLedger;
  readonly barrier: CancelAllBarrier;
  /** The wall clock was adjusted. */
  readonly onWallMoved: (listener: () => void) => void;
}

/** A start of a run in a process; one that was frozen goes on with its own while the next process has another. */
interface Start extends Host {
  /** Names of the kills that were given before the run began: its first entry has them. */
  readonly killsBefore: readonly string[];
  /** The kill in force for it as it starts. */
  readonly killed: KillOrder | undefined;
  readonly readKill: () => Promise<KillOrder | undefined>;
  /** Whether its process has read a kill that counts for it. */
  readonly bar: { isUp: boolean };
}

/** How a run comes to its end in a process: with its own, or with a disk that takes nothing more. */
export type Ended = { readonly kind: 'ended' } | { readonly kind: 'refused by the disk' };

interface UnderWay {
  readonly ended: Promise<Ended>;
}

interface Parts {
  readonly clock: RunClock;
  readonly gate: LimitFactsFold;
  readonly writer: JournalWriter;
  readonly log: RunLog;
}

export class WorldRun {
  readonly name: string;
  readonly shape: Shape;
  readonly setup: RunSetup;
  result: RunResult | undefined;
  /** It halted, and a person resumed it. */
  askedAgain = false;
  private readonly ground: Ground;
  private starts = 0;
  private cancel: ((by: string) => void) | undefined;

  constructor(ground: Ground, name: string, shape: Shape) {
    const { scenario, protocol } = ground;
    this.ground = ground;
    this.name = name;
    this.shape = shape;
    this.setup = {
      run: name,
      account: ACCOUNT,
      mode: 'live',
      runbook: protocol.runbook?.(shape.runbook) ?? shape.runbook,
      inputs: shape.inputs,
      seed: scenario.seed % 2 ** 31,
      startedAt: scenario.startMs + scenario.skewMs,
      absenceHorizonMs: protocol.absenceHorizonMs ?? scenario.profile.ambiguityWindowMs,
      fillsWindowMs: protocol.fillsWindowMs ?? scenario.profile.fillsWindowMs,
      plan: '',
    };
  }

  get lines(): readonly StoredEntry[] {
    return this.ground.disk.linesOf(this.name);
  }

  /** No process has taken it up since it began on the disk. */
  get beganLate(): boolean {
    return this.result === undefined && this.lines.length > 0;
  }

  /** Takes its end from the disk, where the process that wrote it died before it could tell. */
  readEnd(): void {
    const last = this.lines.at(-1);
    const entry = last?.type === 'run.ended' ? readEntry(last) : undefined;
    if (entry?.type === 'run.ended') this.result ??= entry.data;
  }

  /**
   * Makes ready to begin it, or to take it up from what is on the disk, which takes no time. What this gives puts it under
   * way in a turn of the clock, and resolves with its end to wait for.
   */
  async prepared(host: Host): Promise<() => Promise<UnderWay>> {
    const lines = this.ground.protocol.read?.(this.lines) ?? this.lines;
    this.result = undefined;
    this.starts += 1;
    host.ledger.take(this.name);
    const start = await this.makeStart(host, lines);
    return lines.length === 0 ? () => this.begin(start) : this.takeUp(start, lines);
  }

  /** A person cancels it, where it is under way. */
  cancelNow(by: string): void {
    this.cancel?.(by);
  }

  private async makeStart(host: Host, lines: readonly StoredEntry[]): Promise<Start> {
    const { killed, listKills, protocol } = this.ground;
    const first = lines[0] === undefined ? undefined : readEntry(lines[0]);
    const known = first?.type === 'run.started' ? first.data.killsBefore : undefined;
    const killsBefore = known ?? (await listKills());
    const wasBefore = recognizeKills(killsBefore);
    const readKill = () => (protocol.forgetsReleased ? killed() : killed(wasBefore));
    return { ...host, killsBefore, killed: await readKill(), readKill, bar: { isUp: false } };
  }

  private begin(start: Start): Promise<UnderWay> {
    const { process, killsBefore } = start;
    const { profile, scenario } = this.ground;
    const { bounds } = scenario;
    return new Promise((resolve, reject) => {
      process.clock.arrive(() => {
        try {
          const startedAt = process.clock.now();
          const clock = new RunClock(process.clock, startedAt);
          const tracker = new OrderTracker({ absenceHorizonMs: this.setup.absenceHorizonMs });
          const parts = this.parts(start, clock, tracker, []);
          const setup = { ...this.setup, startedAt };
          parts.log.append('run.started', {
            runbook: setup.runbook.name,
            file: setup.runbook.source.file,
            mode: 'live',
            trigger: 'manual',
            inputs: {},
            seed: setup.seed,
            startedAt,
            sources: [],
            settings: { ...writeProfileSettings(profile), absenceHorizonMs: setup.absenceHorizonMs } as JsonObject,
            engine: 'simulation',
            account: ACCOUNT,
            killsBefore,
            ...(bounds === undefined || this.name !== 'run' ? {} : { bounds }),
          });
          const venue = this.port(this.client(start, parts), process);
          const running = this.started(setup, { venue, clock, log: parts.log, notifier: { send() {} } }, process);
          resolve(this.underWay(start, running, parts, undefined));
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  private async takeUp(start: Start, lines: readonly StoredEntry[]): Promise<() => Promise<UnderWay>> {
    const { process } = start;
    const { profile, protocol } = this.ground;
    const entries = [...readLines(lines)];
    const aheadMs = entries.findLast((entry) => entry.type === 'clock.adjusted')?.data.wallAheadMs ?? 0;
    const leftAt = entries.at(-1) as Entry;
    const away = (protocol.awaySince ?? measureAway)(
      entries.filter(({ epoch, boot }) => epoch === leftAt.epoch && boot === leftAt.boot),
      { at: process.clock.now() - aheadMs, mono: process.clock.monotonic(), boot: process.boot },
    );
    const clock = new RunClock(process.clock, leftAt.at + away.ms);
    const gate = this.gate(start, new OrderTracker());
    const playback = new Playback(entries, {
      markets: profile.markets,
      absenceHorizonMs: this.setup.absenceHorizonMs,
      resume: true,
      observe: (entry) => gate.apply(entry),
    });
    gate.useBook(playback.log.tracker);
    const parts = this.parts(start, clock, playback.log.tracker, lines, gate);
    const client = this.client(start, parts);
    const [first] = entries as [Entry & { type: 'run.started' }];
    const { venue, clock: playedClock, log } = playback;
    const setup = { ...this.setup, startedAt: first.data.startedAt };
    const running = this.started(setup, { venue, clock: playedClock, log, notifier: { send() {} } }, process);
    playback.drive(running);
    await playback.play(running.done);
    const takeOver = (resolve: (underWay: UnderWay) => void) =>
      process.clock.arrive(() => {
        playback.takeOver({
          keep: parts.log.keep,
          log: parts.log,
          venue: this.port(client, process),
          clock,
          away,
          continueCall: protocol.continueCall?.(client) ?? ((call, attempts) => client.continueCall(call, attempts)),
        });
        void parts.writer.flush().catch(() => {});
        resolve(this.underWay(start, running, parts, aheadMs));
      });
    return () => new Promise(takeOver);
  }

  private underWay(start: Start, running: RunningRun, parts: Parts, knownAheadMs: number | undefined): UnderWay {
    const { writer, gate } = parts;
    start.gates.add(gate);
    const standing = { over: false };
    this.cancel = (by) =>
      start.process.clock.arrive(() => {
        if (standing.over) return;
        parts.log.append('operator.acted', { command: 'cancel', by }, '', by);
        running.command({ command: 'cancel', by });
      });
    const end = () => {
      standing.over = true;
      this.cancel = undefined;
      start.gates.delete(gate);
      this.addTo(start.ledger, parts);
    };
    running.settled().then(end, end);
    const number = this.starts;
    const settled = running.settled().then(async (result): Promise<Ended> => {
      try {
        await writer.close();
      } catch (error) {
        if (error instanceof StoreError) return { kind: 'refused by the disk' };
        throw error;
      }
      // A process that was frozen has no say any more in how the run ends.
      if (number === this.starts) this.result = result;
      return { kind: 'ended' };
    });
    const ended = start.canFill ? Promise.race([settled, this.watchStore(start, running, parts, standing)]) : settled;
    ended.catch(() => {});
    this.lookOutside(start, running, parts, standing);
    this.compareClocks(start, running, parts, knownAheadMs, standing);
    return { ended };
  }

  /**
   * As the program does: reports to the run that its store does not answer, or answers again, and ends a run whose journal is given
   * up. Resolves when its process has waited long enough for that.
   */
  private watchStore(
    { process, lease }: Host,
    running: RunningRun,
    { log, writer }: Parts,
    standing: { readonly over: boolean },
  ): Promise<Ended> {
    const { clock } = process;
    return new Promise((resolve) => {
      let isAway = false;
      const tell = (turn: () => void) =>
        clock.arrive(() => {
          if (!standing.over) turn();
        });
      const look = () => {
        if (standing.over) return;
        // Also entries that no write waits for, so that a full disk is known before a request has to wait for it.
        writer.flushOlder(HOLD_MS, HOLD_OF_NEWS_MS).catch(() => {});
        const { failure, away } = writer;
        if (failure !== undefined) {
          this.ground.stoppedGuarding(this.name, lease.epoch);
          tell(() => {
            const command = { command: 'interrupt', by: 'perp-runbook', reason: failure.message } as const;
            log.append('operator.acted', command, '', command.by);
            running.command(command);
          });
          clock.after(this.ground.profile.shutdownWithinMs, () => resolve({ kind: 'refused by the disk' }));
          return;
        }
        if (isAway !== (away !== undefined)) {
          isAway = !isAway;
          const event = isAway ? 'away' : 'back';
          tell(() => {
            log.append('store.moved', { event }, '', 'store');
            running.storeMoved(event);
          });
        }
        clock.after(LOOK_EVERY_MS, look);
      };
      look();
    });
  }

  /** Counts what the run did for the account, when it does not run any more. */
  private addTo(ledger: AccountLedger, { gate, clock, log }: Parts): void {
    const lastAt = clock.now();
    const about = {
      run: this.name,
      runbook: this.setup.runbook.name,
      account: ACCOUNT,
      startedAt: this.setup.startedAt,
    };
    ledger.add({ ...about, lastAt, ...summarizeRun(gate, log.tracker, lastAt) });
  }

  private parts(
    host: Host,
    clock: RunClock,
    tracker: OrderTracker,
    lines: readonly StoredEntry[],
    gate: LimitFactsFold = this.gate(host, tracker),
  ): Parts {
    const { ground } = this;
    const { process, lease, store } = host;
    const { name } = this.setup.runbook;
    const [first] = lines;
    const row = { run: this.name, runbook: name, mode: 'live', account: ACCOUNT, trigger: 'manual' } as const;
    const writer = new JournalWriter(ground.protocol.store?.(store, process) ?? store, {
      run: this.name,
      account: ACCOUNT,
      def: this.setup.runbook.sha256.slice(0, 16),
      boot: process.boot,
      epoch: lease.epoch,
      actor: 'engine',
      clock,
      durable: true,
      patienceMs: STORE_PATIENCE_MS,
      // Its lists are short, and are to be read from what they repeat as well.
      fewestRepeated: 1,
      head: toHead(lines.at(-1)),
      ...(first === undefined ? {} : { row: { ...row, startedAt: first.at } }),
    });
    const log = new RunLog(writer, tracker, [
      (entry) => gate.apply(entry),
      (entry) => {
        if (entry.type === 'step.ended') process.reached('CP15', entry.data.verb);
        if (stopsGuarding(entry, this.shape)) ground.stoppedGuarding(this.name, lease.epoch);
        ground.told(entry, process.aheadOfVenue - clock.wallAheadMs());
      },
    ]);
    return { clock, gate, writer, log };
  }

  private client(start: Start, { log, gate, writer, clock }: Parts): VenueClient {
    const { profile, protocol } = this.ground;
    const { process, lease, session, budget, barrier, readKill, bar } = start;
    const flush = () => writer.flush();
    const parts: ClientParts = {
      profile,
      transport: session,
      budget,
      barrier,
      log: {
        append: log.append,
        flush: protocol.flush?.(flush, process) ?? log.flush,
        findFailure: log.findFailure,
        tracker: log.tracker,
      },
      clock,
      gate,
      feeds: {
        read: async (name, key) => {
          const value = this.ground.price(key ?? BTC);
          const { scenario } = this.ground;
          const isBad = isBadPrice(scenario, process.venueTime());
          if (value === undefined || (isBad && scenario.badPrices?.ageMs === undefined)) return undefined;
          const at = clock.now() - (isBad ? (scenario.badPrices?.ageMs ?? 0) : 0);
          return { name, ...(key === undefined ? {} : { key }), value, at };
        },
      },
      markets: profile.markets,
      epoch: lease.epoch,
      session,
      lease: noteAsked(process, protocol.lease?.(lease) ?? lease),
      readKillSwitch: async () => {
        if (protocol.deaf !== true && (await readKill()) !== undefined) bar.isUp = true;
        return true;
      },
      forbidden: (protective) => {
        process.noteAsked('kill switch');
        return bar.isUp && !protective ? 'KILL_SWITCH_ENGAGED: by the simulation' : undefined;
      },
      crashPoints: { reached: (point, call) => void process.reached(point, call.endpoint) },
    };
    const changed = protocol.client?.(parts) ?? parts;
    return protocol.makeClient?.(changed) ?? new VenueClient(changed);
  }

  private gate({ gates, ledger }: Host, tracker: OrderTracker): LimitFactsFold {
    const { profile, protocol } = this.ground;
    const gate: LimitFactsFold = new LimitFactsFold(tracker, profile.markets, () => ({
      killed: false,
      working: [...gates].flatMap((other) => (other === gate ? [] : other.workingOrders())),
      ...(protocol.noLedger ? {} : { ledger: { sums: ledger, gates: [...new Set([...gates, gate])] } }),
    }));
    return protocol.gate?.(gate) ?? gate;
  }

  private port(client: VenueClient, process: Process) {
    return this.ground.protocol.venue?.(client, process) ?? client;
  }

  private started(setup: RunSetup, given: RunPorts, process: Process): RunningRun {
    const { protocol } = this.ground;
    const parts = { setup, ports: protocol.ports?.(given, process) ?? given };
    const { setup: changed, ports } = protocol.engine?.(parts, process) ?? parts;
    return startRun(changed, ports);
  }

  /** As the command line does: looks five times a second whether the kill switch is engaged and what people asked of the run, and before the run goes on. */
  private lookOutside(
    { process, killed, readKill, bar }: Start,
    running: RunningRun,
    { log }: Parts,
    standing: { readonly over: boolean },
  ): void {
    const { scenario, protocol, mailbox } = this.ground;
    const { clock } = process;
    const kill = (order: KillOrder) => {
      bar.isUp = true;
      clock.arrive(() => {
        if (standing.over) return;
        log.append('operator.acted', { command: 'kill', by: order.by, reason: order.reason }, '', order.by);
        running.command({ command: 'kill', by: order.by, reason: order.reason });
      });
    };
    if (protocol.deaf) return;
    if (killed !== undefined) kill(killed);
    const people = this.shape.asksPeople || scenario.cancelAfterMs !== undefined;
    if (!people && (killed !== undefined || scenario.killAfterMs === undefined)) return;
    let heard = killed !== undefined;
    const look = async () => {
      const order = heard ? undefined : await readKill();
      if (order !== undefined) {
        heard = true;
        kill(order);
      }
      if (people) {
        for (const { command, by, step, sequence } of await mailbox.pending(this.name)) {
          clock.arrive(() => {
            if (standing.over) return;
            const told = { command, by, ...(step === undefined ? {} : { step }) };
            log.append('operator.acted', told, '', by);
            running.command(told);
          });
          await mailbox.acknowledge(this.name, sequence);
        }
      }
      if (process.state === 'dead' || standing.over || (heard && !people)) return;
      clock.after(LOOK_EVERY_MS, () => void look());
    };
    void look();
  }

  /** As the program does: reports an adjustment of the wall clock to the run. */
  private compareClocks(
    { process, onWallMoved }: Host,
    running: RunningRun,
    { clock, log }: Parts,
    knownAheadMs: number | undefined,
    standing: { readonly over: boolean },
  ): void {
    const { clockPuts, putWhileDownMs } = this.ground.scenario;
    if (clockPuts.length === 0 && putWhileDownMs === undefined) return;
    const compare = (known?: number) => {
      const wallAheadMs = clock.wallAheadMs();
      if (standing.over || (known !== undefined && Math.abs(wallAheadMs - known) < SAME_TIME_MS)) return;
      log.append('clock.adjusted', { wallAheadMs });
      running.clockPut(wallAheadMs);
    };
    onWallMoved(() => process.clock.arrive(() => compare()));
    if (knownAheadMs !== undefined) process.clock.arrive(() => compare(knownAheadMs));
  }
}

function noteAsked(process: Process, lease: NonNullable<ClientParts['lease']>): NonNullable<ClientParts['lease']> {
  return {
    holds(harmless) {
      process.noteAsked('lease');
      return lease.holds(harmless);
    },
  };
}

/** Describes an internal error: of the engine, or of the code that resumes a run. */
export function mistake(error: unknown): string {
  if (error instanceof Divergence) return `could not be resumed: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
