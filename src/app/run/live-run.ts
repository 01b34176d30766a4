/**
 * One live run: its journal, its road to the venue, and what can reach it from outside. Several of them live in one process,
 * under one lease, one session and one token budget; each counts the working orders of the others against its limits. Which
 * run is begun, and what is done with its end, is the business of `run`, `resume` and the scheduler.
 */
import type { Timer } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { RunClock } from '../../base/run-clock.ts';
import { Divergence, Playback } from '../../engine/playback.ts';
import type { OperatorCommand, RunSetup } from '../../engine/ports.ts';
import { type RunningRun, type RunResult, startRun } from '../../engine/run.ts';
import { VenueClient } from '../../gateway/client.ts';
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import { FixtureRecorder } from '../../gateway/fixture/recorder.ts';
import { LimitGate } from '../../gateway/limits/facts.ts';
import { DeclaredFeeds, declaredRequests } from '../../gateway/live/declared.ts';
import { Anchorer } from '../../journal/anchors/anchors.ts';
import { type ChainHead, headOf, readEntry } from '../../journal/chain.ts';
import type { DataOf, Entry, EntryOf } from '../../journal/entry.ts';
import { OrderBook } from '../../journal/orders.ts';
import { RunLog } from '../../journal/run-log.ts';
import type { LeaseKeeper } from '../../journal/shared/lease.ts';
import { machineStart } from '../../journal/shared/machine.ts';
import type { KillOrder, PostedMessage } from '../../journal/shared/shared.ts';
import { type RunRow, StoreError } from '../../journal/store.ts';
import { JournalWriter } from '../../journal/writer.ts';
import type { Aftermath } from '../../report/folds/aftermath.ts';
import { RunFold, type RunReport } from '../../report/folds/run.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Value } from '../../runbook/values.ts';
import type { VenueCall } from '../../venue/port.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Account } from '../account/account.ts';
import { anchoring, anchorsOverdue, contradictionOf } from '../account/anchoring.ts';
import { noticesOf } from '../account/notifications.ts';
import { EXIT, UserError } from '../errors.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { inputsJson, inputValues, loadPinned } from '../files/load.ts';
import type { Voice } from '../voice.ts';
import { type Origin, startedData, thisProcess } from './first-entry.ts';
import { RunTelling } from './progress.ts';
import { resumedTime } from './resumed-clock.ts';
import type { Recollection } from './resurfaced-orders.ts';
import { tellResurfaced } from './resurfaced-orders.ts';
import { act } from './virtual-run.ts';

/** What the runs of an account have in common within a process. */
export interface LiveHost {
  readonly account: Account;
  readonly lease: LeaseKeeper;
  readonly voice: Voice;
  /** The gates of the runs under way: what each has working counts against the limits of all. */
  readonly gates: Set<LimitGate>;
  /** What they know of the account's earlier runs. */
  readonly recollection: Recollection;
  /** Told of every entry as it is written. */
  readonly observe?: (entry: Entry) => void;
}

export interface LiveOptions {
  /** Records the exchanges, for a fixture. */
  readonly record?: boolean;
  /** Asked before each write. */
  readonly confirm?: ((call: VenueCall) => Promise<boolean>) | undefined;
}

/** How often commands and the kill switch are looked at, ms. */
const LOOK_EVERY_MS = 200;

/** Less than this apart, the clock on the wall and the run's own say the same, ms. */
const SAME_TIME_MS = 2_000;

interface Parts {
  readonly clock: RunClock;
  readonly log: RunLog;
  readonly writer: JournalWriter;
  readonly anchorer: Anchorer;
  readonly gate: LimitGate;
  readonly observers: readonly ((entry: Entry) => void)[];
}

export class LiveRun {
  readonly run: string;
  private readonly host: LiveHost;
  private readonly profile: Profile;
  private readonly options: LiveOptions;
  private readonly fold = new RunFold();
  private barred: KillOrder | undefined;
  private contradiction: string | undefined;
  private killTold = false;
  /** Messages up to this one were handed to the run. */
  private readUpTo = 0;
  /** What people had answered before this process took the run up. */
  private answered: readonly EntryOf<'operator.acted'>[] = [];
  /** Nothing may be written behind the end of a run. */
  private over = false;
  /** The look into the journals of earlier runs; the store stays open for it. */
  private earlier: Promise<void> = Promise.resolve();
  private recorder: FixtureRecorder | undefined;
  private current: { readonly running: RunningRun; readonly parts: Parts } | undefined;

  /** `profile`: the one it is to run under, where that is not the account's: one it was begun under. */
  constructor(host: LiveHost, run: string, options: LiveOptions = {}, profile: Profile = host.account.profile) {
    this.host = host;
    this.run = run;
    this.options = options;
    this.profile = profile;
  }

  /** Begins the run and returns once it is under way. */
  async begin(loaded: LoadedRunbook, inputs: Readonly<Record<string, Value>>, origin: Origin): Promise<void> {
    const { account } = this.host;
    this.barred = await account.shared.killSwitch.engaged(account.key);
    const contradiction = await contradictionOf(account);
    if (contradiction !== undefined)
      throw new UserError(`${contradiction}; nothing was sent`, EXIT.failed, 'contradicted');
    // In a turn of the clock, as everything the engine does: its first moment is the one a replay begins with.
    await new Promise<void>((resolve) =>
      account.clock.arrive(() => {
        this.start(loaded, inputs, origin);
        resolve();
      }),
    );
  }

  /** Takes up a run whose process died; throws a UserError when that can not be done. Returns once it is under way. */
  async takeUp(): Promise<void> {
    const { account } = this.host;
    const { run } = this;
    this.barred = await account.shared.killSwitch.engaged(account.key);
    // What rests can still be taken away.
    this.contradiction = await contradictionOf(account);
    if (this.contradiction !== undefined) this.host.voice.complain(this.contradiction);
    const stored = await account.store.read(run);
    const entries = stored.map(readEntry);
    const [first, ...rest] = entries;
    if (first?.type !== 'run.started')
      throw new UserError(`run ${printable(run, 100)} does not begin with run.started`, EXIT.failed, 'damaged');
    const loaded = loadPinned(first.data.sources, this.host.voice);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: first.data.inputs });
    this.answered = rest.flatMap((entry) => (entry.type === 'operator.acted' ? [entry] : []));
    const { clock, away, aheadMs } = resumedTime([first, ...rest], account.clock);
    const parts = this.parts(loaded.runbook, clock, { head: headOf(stored.at(-1)), row: await account.store.run(run) });
    const playback = new Playback(entries, {
      markets: this.profile.markets,
      absenceHorizonMs: this.profile.ambiguityWindowMs,
      resume: true,
      observe: (entry) => {
        parts.gate.apply(entry);
        this.fold.apply(entry);
      },
    });
    const log = new RunLog(parts.writer, playback.log.book, parts.observers);
    parts.gate.useBook(playback.log.book);
    const client = this.client({ ...parts, log });
    const running = startRun(this.setup(loaded.runbook, inputs, first.data), {
      venue: playback.venue,
      clock: playback.clock,
      log: playback.log,
      notifier: playback.notifier(noticesOf(account, this.host.voice)),
    });
    playback.commandsTo((command) => running.command(command));
    playback.clockPutTo((wallAheadMs) => running.clockPut(wallAheadMs));
    playback.resumedTo((awayThen) => running.takenUp(awayThen));
    try {
      await playback.play(running.done);
    } catch (error) {
      if (!(error instanceof Divergence)) throw error;
      throw new UserError(
        `run ${run} can not be taken up by this version: ${printable(error.message, 400)}. Use the version that began it (${first.data.engine}); \`runbook kill\` cancels what rests`,
        EXIT.halted,
        'diverged',
      );
    }
    await new Promise<void>((resolve) =>
      account.clock.arrive(() => {
        playback.takeOver({
          keep: log.keep,
          log,
          venue: client,
          clock,
          process: thisProcess(),
          away,
          continueCall: (call, attempts) => client.continueCall(call, attempts),
        });
        this.follow(running, { ...parts, log });
        account.clock.arrive(() => this.compareClocks(aheadMs));
        // From here on a process that was only asleep, and wakes now, finds the run taken.
        void parts.writer.flush().catch(() => {});
        resolve();
      }),
    );
  }

  /** Resolves when everything written so far is on the disk. */
  flush(): Promise<void> {
    return this.underWay().parts.writer.flush();
  }

  /** Writes what a person or a signal wants of the run, then hands it over. `actor`: who the entry is by, where that is no person. */
  act(command: OperatorCommand, actor?: string): void {
    void this.acted(command, actor);
  }

  /** False where the run has ended before. */
  private acted(command: OperatorCommand, actor?: string): Promise<boolean> {
    const { running, parts } = this.underWay();
    return new Promise((resolve) =>
      this.host.account.clock.arrive(() => {
        if (!this.over) act(running, parts.log, command, actor);
        resolve(!this.over);
      }),
    );
  }

  report(): RunReport {
    return this.fold.report();
  }

  aftermath(): Aftermath {
    return this.fold.aftermath();
  }

  recording(): Fixture | undefined {
    return this.recorder?.fixture();
  }

  /** Lets commands and the kill switch reach the run until it has ended, then closes its journal. */
  async ended(): Promise<RunResult> {
    const { running, parts } = this.underWay();
    const { gates, account, recollection } = this.host;
    gates.add(parts.gate);
    const unwatched = recollection.watches(this.run);
    let timer: Timer | undefined;
    const watching = account.clock.onWallMoved(() => account.clock.arrive(() => this.compareClocks()));
    const listening = account.onSession((moved) =>
      account.clock.arrive(() => {
        if (!this.over) parts.log.append('session.moved', moved, '', 'session');
      }),
    );
    const look = async () => {
      // Also what no write waits for: a run that only reads, or asks, must be there for others, and be left behind by a crash.
      parts.writer.flush().catch(() => {});
      await this.lookOutside();
      if (!this.over) timer = account.clock.after(LOOK_EVERY_MS, () => void look());
    };
    void look();
    try {
      const result = await running.settled();
      await parts.writer.close();
      await parts.anchorer.settled();
      await this.earlier;
      return result;
    } catch (error) {
      if (error instanceof StoreError)
        throw new UserError(`the journal can not be written: ${printable(error.message)}`, EXIT.halted, 'journal');
      throw error;
    } finally {
      this.over = true;
      timer?.cancel();
      watching();
      listening();
      parts.anchorer.close();
      gates.delete(parts.gate);
      unwatched();
    }
  }

  private underWay() {
    if (this.current === undefined) throw new Error(`run ${this.run} has not begun`);
    return this.current;
  }

  /** Writes how far the clock on the wall is from the run's own by now, and tells the run. `known`: the difference it has heard of. */
  private compareClocks(known?: number): void {
    const { running, parts } = this.underWay();
    const wallAheadMs = parts.clock.wallAheadMs();
    if (this.over || (known !== undefined && Math.abs(wallAheadMs - known) < SAME_TIME_MS)) return;
    parts.log.append('clock.put', { wallAheadMs });
    running.clockPut(wallAheadMs);
  }

  /** What people asked of this run meanwhile, and whether the kill switch is engaged. */
  private async lookOutside(): Promise<void> {
    const { shared, key } = this.host.account;
    this.barred = await shared.killSwitch.engaged(key);
    if (this.barred !== undefined && !this.killTold) {
      this.killTold = true;
      this.act({ command: 'kill', by: this.barred.by, reason: this.barred.reason });
    }
    // Of a run that has halted meanwhile the answer is somebody else's to write (answering.ts).
    if (this.over) return;
    try {
      const pending = await shared.mailbox.pending(this.run);
      for (const message of pending) if (message.sequence > this.readUpTo && !(await this.read(message))) return;
      const last = pending.at(-1);
      if (last === undefined) return;
      // Marked as read only when it is durable in the journal: one that is read twice after a crash does nothing new.
      await this.underWay().parts.writer.flush();
      await shared.mailbox.acknowledge(this.run, last.sequence);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  /** Hands a message to the run; false where the run has ended meanwhile, and nothing was written of it. */
  private async read(message: PostedMessage): Promise<boolean> {
    const { command, by, step, reason, sequence } = message;
    const answers = command === 'approve' || command === 'reject';
    // The process before this one may have died between writing an answer down and marking it as read: what is asked next is another question.
    const given = answers && this.answered.some((entry) => isThat(entry, message));
    if (!given) {
      const about = { ...(step === undefined ? {} : { step }), ...(reason === undefined ? {} : { reason }) };
      if (!(await this.acted({ command, by, ...about }))) return false;
    }
    this.readUpTo = sequence;
    return true;
  }

  private start(loaded: LoadedRunbook, inputs: Readonly<Record<string, Value>>, origin: Origin): void {
    const { account, voice } = this.host;
    const startedAt = account.clock.now();
    const clock = new RunClock(account.clock, startedAt);
    const seed = startedAt % 2 ** 31;
    const started = startedData(this.profile, loaded, inputs, { ...origin, startedAt, seed });
    if (this.options.record === true) this.recorder = this.recorderFor(loaded, inputs, clock, seed);
    const parts = this.parts(loaded.runbook, clock);
    parts.log.append('run.started', started);
    const venue = this.client(parts);
    const running = startRun(this.setup(loaded.runbook, inputs, started), {
      venue,
      clock,
      log: parts.log,
      notifier: noticesOf(account, voice),
    });
    this.follow(running, parts);
  }

  private follow(running: RunningRun, parts: Parts): void {
    this.current = { running, parts };
    const end = () => {
      this.over = true;
    };
    running.settled().then(end, end);
  }

  /** `before`: where the journal stands of a run that is taken up; its row is completed when the run ends. */
  private parts(
    runbook: CheckedRunbook,
    clock: RunClock,
    before?: { readonly head: ChainHead; readonly row: RunRow | undefined },
  ): Parts {
    const { account, lease, voice, gates, observe } = this.host;
    const { run, fold, profile } = this;
    const writer = new JournalWriter(account.store, {
      run,
      account: profile.account,
      def: runbook.sha256.slice(0, 16),
      boot: machineStart(),
      epoch: lease.epoch,
      actor: 'engine',
      clock,
      durable: true,
      ...(before === undefined ? {} : { head: before.head }),
      ...(before?.row === undefined ? {} : { row: before.row }),
    });
    const anchorer = new Anchorer(writer, {
      run,
      clock,
      ...anchoring(account, voice),
    });
    const book = new OrderBook({ absenceHorizonMs: profile.ambiguityWindowMs });
    const gate: LimitGate = new LimitGate(book, profile.markets, () => ({
      killed: this.barred !== undefined,
      working: [...gates].flatMap((other) => (other === gate ? [] : other.workingOrders())),
    }));
    const telling = new RunTelling(run, voice, fold);
    const observers = [
      (entry: Entry) => gate.apply(entry),
      (entry: Entry) => fold.apply(entry),
      (entry: Entry) => telling.apply(entry),
      (entry: Entry) => {
        if (entry.type === 'account.reconciled')
          this.earlier = tellResurfaced(this.host, this.run, entry.data.ofOtherRuns, (recalled) => {
            if (!this.over) this.underWay().parts.log.append('account.recalled', recalled, '', 'recall');
          });
      },
      ...(observe === undefined ? [] : [observe]),
    ];
    return { clock, writer, anchorer, gate, observers, log: new RunLog(writer, book, observers) };
  }

  private client({ log, gate, writer, anchorer, clock }: Parts): VenueClient {
    const { account, lease } = this.host;
    const { profile } = this;
    const feeds = new DeclaredFeeds(profile, () => clock.now());
    const client = new VenueClient({
      profile,
      transport: this.recorder ?? account.transport,
      budget: account.budget,
      barrier: account.barrier,
      log: { append: log.append, flush: () => writer.flush(), book: log.book },
      clock,
      gate,
      feeds: this.recorder === undefined ? feeds : recordingFeeds(feeds, this.recorder),
      markets: profile.markets,
      epoch: lease.epoch,
      lease,
      session: account.session,
      requests: declaredRequests(profile),
      ...(this.options.confirm === undefined ? {} : { confirm: this.options.confirm }),
      forbidden: (protective) => {
        if (account.session.failing && !protective)
          return 'SESSION_FAILING: the session could not be renewed; nothing new is sent under it';
        if (this.contradiction !== undefined && !protective) return this.contradiction;
        const overdue = protective ? undefined : anchorsOverdue(anchorer, account);
        if (overdue !== undefined) return overdue;
        return this.barred !== undefined && !protective ? `KILL_SWITCH_ENGAGED: by ${this.barred.by}` : undefined;
      },
    });
    feeds.through(client);
    return client;
  }

  private setup(
    runbook: CheckedRunbook,
    inputs: Readonly<Record<string, Value>>,
    started: DataOf<'run.started'>,
  ): RunSetup {
    const { profile, run } = this;
    return {
      run,
      account: profile.account,
      mode: 'live',
      runbook,
      inputs,
      seed: started.seed,
      startedAt: started.startedAt,
      absenceHorizonMs: profile.ambiguityWindowMs,
      plan: started.plan ?? '',
      until: started.until,
    };
  }

  private recorderFor(
    loaded: LoadedRunbook,
    inputs: Readonly<Record<string, Value>>,
    clock: RunClock,
    seed: number,
  ): FixtureRecorder {
    const { transport, redactor } = this.host.account;
    return new FixtureRecorder(transport, clock, {
      runbook: loaded.runbook.name,
      inputs: inputsJson(inputs) as NonNullable<Fixture['inputs']>,
      seed,
      markets: this.profile.markets,
      startMs: clock.now(),
      redact: (text) => redactor.redact(text),
    });
  }
}

function isThat({ data, at }: EntryOf<'operator.acted'>, message: PostedMessage): boolean {
  const { command, by, step } = message;
  return data.command === command && data.by === by && data.step === step && at >= message.at;
}

function recordingFeeds(feeds: DeclaredFeeds, recorder: FixtureRecorder) {
  return {
    async read(name: string, key: string | undefined, step: string) {
      const value = await feeds.read(name, key, step);
      if (value !== undefined) recorder.feed(value);
      return value;
    },
  };
}
