/**
 * Executes one case in virtual time: the runbook against the case's venue, with the processes that die and those that resume the
 * run from the journal. Returns what happened; does not judge it.
 */
import { arriveAt, type Clock, type Metronome, type Timer, VirtualClock } from '../../base/clock.ts';
import { Divergence, Playback } from '../../engine/playback/playback.ts';
import type { RunSetup } from '../../engine/ports.ts';
import { RunPositions } from '../../engine/positions.ts';
import { type RunningRun, startRun } from '../../engine/run.ts';
import { createSignal } from '../../engine/waiting.ts';
import type { VenueClient } from '../../gateway/client.ts';
import { LimitFactsFold } from '../../gateway/limits/facts.ts';
import { SIMULATED_PRICE } from '../../gateway/simulator/simulator.ts';
import type { Transport, WireReply } from '../../gateway/transport.ts';
import { toHead } from '../../journal/chain.ts';
import type { DataOf, Entry } from '../../journal/entry.ts';
import { OrderTracker } from '../../journal/orders.ts';
import { readLines } from '../../journal/reading.ts';
import { RunLog } from '../../journal/run-log.ts';
import type { StoredEntry } from '../../journal/store.ts';
import { MemoryStore } from '../../journal/stores/memory.ts';
import { JournalWriter } from '../../journal/writer.ts';
import { RunFold, type RunReport } from '../../report/folds/run.ts';
import { EvaluationFailure, NotKnown, type Scope, type Value } from '../../runbook/values.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { makeSetup } from '../run/first-entry.ts';
import { act, buildVirtualStart, makeVirtualClient } from '../run/virtual-run.ts';
import type { Invariant } from './file/runbook-names.ts';
import { type Crash, isMeant, type TestCase } from './file/test-case.ts';
import { makeScriptedFeeds } from './venue/feeds.ts';
import { ScriptedVenue, type Sent } from './venue/venue.ts';

export interface CaseRun {
  readonly loaded: LoadedRunbook;
  readonly test: TestCase;
  readonly inputs: Readonly<Record<string, Value>>;
  /** What must hold at every instant. */
  readonly always?: readonly Invariant[];
  /** Name of the run; client order ids derive from it. */
  readonly run: string;
}

export interface CaseResult {
  readonly entries: readonly Entry[];
  readonly report: RunReport;
  readonly venue: ScriptedVenue;
  /** Why the case could not be executed; it has failed then, whatever it expects. */
  readonly problem: string | undefined;
  /** What did not hold at every instant, with when it first did not. */
  readonly broken: readonly BrokenInvariant[];
  /** The journal as it was stored. */
  readonly stored: readonly StoredEntry[];
}

export interface BrokenInvariant extends Invariant {
  /** Since the start of the run, ms. */
  readonly afterMs: number;
}

export async function runCase(options: CaseRun): Promise<CaseResult> {
  return new Execution(options).run();
}

/** One process of the program: after its death none of its pending work runs. */
class Process {
  readonly clock: Clock & Metronome;
  readonly died = createSignal<'died'>();
  dead = false;
  /** Dies as soon as the next answer is journaled. */
  diesOnceSettled = false;

  constructor(base: Clock & Metronome) {
    const whileAlive = (turn: () => void) => () => {
      if (!this.dead) turn();
    };
    this.clock = {
      now: () => base.now(),
      monotonic: () => base.monotonic(),
      read: () => base.read(),
      readAtTurn: () => base.readAtTurn(),
      at: (when, turn): Timer => base.at(when, whileAlive(turn)),
      after: (delay, turn): Timer => base.after(delay, whileAlive(turn)),
      arrive: (turn) => base.arrive(whileAlive(turn)),
    };
  }

  die(): void {
    this.dead = true;
    this.died.resolve('died');
  }
}

/** A process and the run it executes. */
interface Life {
  readonly process: Process;
  readonly running: RunningRun;
  readonly log: RunLog;
  readonly writer: JournalWriter;
}

class Execution {
  private readonly options: CaseRun;
  private readonly clock: VirtualClock;
  private readonly venue: ScriptedVenue;
  private readonly store = new MemoryStore();
  private readonly started: DataOf<'run.started'>;
  private readonly setup: RunSetup;
  private readonly crashing: boolean;
  private readonly crashCounts: number[];
  private entries: Entry[] = [];
  private readonly broken = new Map<Invariant, BrokenInvariant>();
  private problem: string | undefined;
  private life: Life | undefined;
  private lives = 0;
  private downMs = 0;

  constructor(options: CaseRun) {
    const { test, loaded, inputs, run } = options;
    this.options = options;
    this.clock = new VirtualClock(test.clock);
    this.crashing = test.crashes.length > 0;
    this.crashCounts = test.crashes.map(() => 0);
    this.venue = new ScriptedVenue({
      test,
      clock: this.clock,
      onMiss: (message) => this.failMissed(message),
    });
    const { clock: at, seed } = test;
    const { markets } = this.venue;
    this.started = buildVirtualStart(
      { loaded, inputs, at, seed, trigger: 'test' },
      { mode: 'simulated', account: 'test', markets },
    );
    this.setup = makeSetup(run, loaded.runbook, inputs, this.started);
  }

  async run(): Promise<CaseResult> {
    try {
      this.life = await this.begin();
      for (;;) {
        const { process, running }: Life = this.life;
        const ending = await this.clock.runUntil(Promise.race([running.done, process.died.promise]));
        if (ending !== 'died') break;
        await this.clock.advanceTo(this.clock.now() + this.downMs);
        this.life = await this.resume();
      }
      await this.life.writer.close();
    } catch (error) {
      this.problem ??= describeProblem(error);
    }
    const stored = await this.store.read(this.setup.run);
    const fold = new RunFold();
    for (const entry of this.entries) fold.apply(entry);
    return {
      entries: this.entries,
      report: fold.report(),
      venue: this.venue,
      problem: this.problem,
      broken: [...this.broken.values()],
      stored,
    };
  }

  private async begin(): Promise<Life> {
    const process = new Process(this.clock);
    const writer = this.makeWriter(process, {});
    const tracker = new OrderTracker({ absenceHorizonMs: this.setup.absenceHorizonMs });
    const gate = this.makeGate(tracker);
    const positions = new RunPositions(tracker);
    const log = new RunLog(writer, tracker, [
      (entry) => gate.apply(entry),
      (entry) => this.observe(entry, process, writer, positions),
    ]);
    log.append('run.started', this.started);
    if (this.crashing) await writer.flush();
    const running = startRun(this.setup, {
      venue: this.makeClient(process, log, gate),
      clock: process.clock,
      log,
      notifier: { send() {} },
    });
    return { process, running, log, writer };
  }

  /** A new process resumes the run from the journal of the previous one. */
  private async resume(): Promise<Life> {
    const stored = await this.store.read(this.setup.run);
    this.entries = [...readLines(stored)];
    const process = new Process(this.clock);
    const { absenceHorizonMs } = this.setup;
    const playback = new Playback(this.entries, { markets: this.venue.markets, absenceHorizonMs, resume: true });
    const running = startRun(this.setup, {
      venue: playback.venue,
      clock: playback.clock,
      log: playback.log,
      notifier: { send() {} },
    });
    playback.drive({ command: (command) => running.command(command) });
    await playback.play(running.done);
    const gate = this.makeGate(playback.log.tracker);
    for (const entry of this.entries) gate.apply(entry);
    const row = await this.store.run(this.setup.run);
    const writer = this.makeWriter(process, { head: toHead(stored.at(-1)), ...(row === undefined ? {} : { row }) });
    const positions = new RunPositions(playback.log.tracker);
    const log = new RunLog(writer, playback.log.tracker, [
      (entry) => gate.apply(entry),
      (entry) => this.observe(entry, process, writer, positions),
    ]);
    const venue = this.makeClient(process, log, gate);
    process.clock.arrive(() =>
      playback.takeOver({
        keep: log.keep,
        log,
        venue,
        clock: process.clock,
        continueCall: (call, attempts) => venue.continueCall(call, attempts),
      }),
    );
    return { process, running, log, writer };
  }

  private makeGate(tracker: OrderTracker): LimitFactsFold {
    return new LimitFactsFold(tracker, this.venue.markets, undefined, SIMULATED_PRICE);
  }

  private makeWriter(
    process: Process,
    resumed: Partial<Pick<ConstructorParameters<typeof JournalWriter>[1], 'head' | 'row'>>,
  ): JournalWriter {
    this.lives += 1;
    return new JournalWriter(this.store, {
      run: this.setup.run,
      account: this.setup.account,
      def: this.setup.runbook.sha256.slice(0, 16),
      boot: `virtual-${this.lives}`,
      epoch: this.lives,
      actor: 'engine',
      clock: process.clock,
      // Entries that a dying process had not flushed must be lost.
      durable: this.crashing,
      ...resumed,
    });
  }

  private makeClient(process: Process, log: RunLog, gate: LimitFactsFold): VenueClient {
    const { test } = this.options;
    const { clock } = process;
    const { markets, simulator } = this.venue;
    return makeVirtualClient({
      transport: this.makeTransport(process),
      feeds: makeScriptedFeeds(test.feeds, clock, test.clock, simulator),
      markets,
      clock,
      log,
      gate,
      seed: test.seed,
      epoch: this.lives,
    });
  }

  /** The transport of one process: it ends with the process. */
  private makeTransport(process: Process): Transport {
    return {
      // A turn, as in every other run: a resume finds the attempt of a write at the same place.
      connect: () =>
        new Promise((resolve) => {
          this.clock.arrive(() => {
            if (!process.dead) resolve(undefined);
          });
        }),
      send: (request, { timeoutMs }) =>
        new Promise<WireReply>((resolve) => {
          if (process.dead) return;
          const sent = this.venue.recordSent(request);
          const crash = this.findCrash(sent);
          if (crash?.when === 'before') {
            this.venue.sent.pop();
            this.die(process, crash);
            return;
          }
          this.venue.carryOut(request, sent, timeoutMs, (reply) => {
            if (process.dead) return;
            if (crash !== undefined) process.diesOnceSettled = true;
            this.downMs = crash?.downMs ?? this.downMs;
            resolve(reply);
          });
          if (crash?.answer === 'lost') this.die(process, crash);
        }),
    };
  }

  private findCrash(sent: Sent): Omit<Crash, 'on' | 'call'> | undefined {
    for (const [index, each] of this.options.test.crashes.entries()) {
      if (!isMeant(each.on, sent.name, sent.type)) continue;
      const met = (this.crashCounts[index] ?? 0) + 1;
      this.crashCounts[index] = met;
      if (met === each.call) return each;
    }
    return undefined;
  }

  private die(process: Process, { downMs }: Pick<Crash, 'downMs'>): void {
    this.downMs = downMs;
    process.die();
  }

  /** An instant is a journal entry: between two of them the run knows nothing new. */
  private holdAlways(positions: RunPositions): void {
    const { always = [], inputs } = this.options;
    const scope: Scope = {
      get: (root) => (root === 'inputs' ? inputs : undefined),
      rules: (market) => this.venue.markets[market],
      position: (market) => positions.get(market),
    };
    for (const invariant of always)
      if (!this.broken.has(invariant) && !isTrue(invariant, scope))
        this.broken.set(invariant, { ...invariant, afterMs: this.clock.now() - this.options.test.clock });
  }

  private observe(entry: Entry, process: Process, writer: JournalWriter, positions: RunPositions): void {
    if (process.dead) return;
    this.entries.push(entry);
    this.holdAlways(positions);
    if (entry.type === 'approval.asked') this.answerApproval(entry.step);
    // The commit includes what this turn still writes; nothing of this process runs after it.
    if (entry.type === 'call.settled' && process.diesOnceSettled) void writer.flush().then(() => process.die());
  }

  private answerApproval(step: string): void {
    const { approvals } = this.options.test;
    const named = Object.keys(approvals).find((name) => name === step || step.endsWith(`/${name}`));
    const script = approvals[named ?? '*'];
    if (script === undefined) return;
    const give = () => {
      const { life } = this;
      if (this.entries.at(-1)?.type === 'run.ended') return;
      // While no process runs, the person answers again later.
      if (life === undefined || life.process.dead) arriveAt(this.clock, this.clock.now() + 1000, give);
      else act(life.running, life.log, { command: script.answer, by: 'test', step });
    };
    arriveAt(this.clock, this.clock.now() + script.afterMs, give);
  }

  private failMissed(message: string): void {
    this.problem ??= message;
    const { life } = this;
    if (life !== undefined) act(life.running, life.log, { command: 'cancel', by: 'test', reason: message });
  }
}

/** One that cannot be evaluated does not hold. */
function isTrue({ expr }: Invariant, scope: Scope): boolean {
  try {
    return expr.evaluate(scope);
  } catch (error) {
    if (error instanceof EvaluationFailure || error instanceof NotKnown) return false;
    throw error;
  }
}

/** Describes why the run itself failed; internal errors are described too, and fail the case. */
function describeProblem(error: unknown): string {
  if (error instanceof Divergence) return `the run could not be resumed: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
