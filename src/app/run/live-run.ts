/**
 * One live run from its start, or from where its process died, to its end, and what reaches it meanwhile from outside: people's
 * commands, the kill switch, the clock. Several of them live in one process, under one lease, one session and one token budget;
 * each counts the working orders of the others against its limits. Which run is begun, and what is done with its end, is the
 * business of execution.ts and of the scheduler (schedule/runs.ts).
 */
import type { Timer } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { RunClock } from '../../base/run-clock.ts';
import { Divergence, Playback } from '../../engine/playback/playback.ts';
import type { OperatorCommand } from '../../engine/ports.ts';
import { type RunningRun, type RunResult, startRun } from '../../engine/run.ts';
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import { headOf, readEntry } from '../../journal/chain.ts';
import type { EntryOf } from '../../journal/entry.ts';
import type { PostedMessage } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import type { Residual } from '../../report/folds/residual.ts';
import { RunFold, type RunReport } from '../../report/folds/run.ts';
import type { Value } from '../../runbook/values.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { contradictionOf } from '../account/anchoring.ts';
import { noticesOf } from '../account/notifications.ts';
import { EXIT, UserError } from '../errors.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { inputValues, loadPinned } from '../files/load.ts';
import { type Origin, refuseOlderVersion, startedData, thisProcess } from './first-entry.ts';
import { reportLateOrders } from './late-orders.ts';
import { type Bars, LiveAssembly, type LiveHost, type LiveOptions, type LiveParts } from './live-assembly.ts';
import { RunProgressReport } from './progress.ts';
import { resumedTime } from './resumed-clock.ts';
import { act } from './virtual-run.ts';

/** How often commands and the kill switch are looked at, ms. */
const LOOK_EVERY_MS = 200;

/** Less than this apart, the clock on the wall and the run's own say the same, ms. */
const SAME_TIME_MS = 2_000;

export class LiveRun {
  readonly run: string;
  private readonly host: LiveHost;
  private readonly profile: Profile;
  private readonly assembly: LiveAssembly;
  private readonly fold = new RunFold();
  private readonly bars: Bars = { killed: undefined, contradiction: undefined };
  private killTold = false;
  /** Messages up to this one were handed to the run. */
  private readUpTo = 0;
  /** What people had answered before this process took the run up. */
  private answered: readonly EntryOf<'operator.acted'>[] = [];
  /** Nothing may be written behind the end of a run. */
  private over = false;
  /** The look into the journals of earlier runs; the store stays open for it. */
  private earlier: Promise<void> = Promise.resolve();
  private current: { readonly running: RunningRun; readonly parts: LiveParts } | undefined;

  /** `profile`: the one it is to run under, where that is not the account's: one it was begun under. */
  constructor(host: LiveHost, run: string, options: LiveOptions = {}, profile: Profile = host.account.profile) {
    this.host = host;
    this.run = run;
    this.profile = profile;
    this.assembly = new LiveAssembly(host, run, profile, options, this.bars);
  }

  /** Begins the run and returns once it is under way. */
  async begin(loaded: LoadedRunbook, inputs: Readonly<Record<string, Value>>, origin: Origin): Promise<void> {
    const { account } = this.host;
    this.bars.killed = await account.shared.killSwitch.engaged(account.key);
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
    this.bars.killed = await account.shared.killSwitch.engaged(account.key);
    // What rests can still be taken away.
    this.bars.contradiction = await contradictionOf(account);
    if (this.bars.contradiction !== undefined) this.host.voice.complain(this.bars.contradiction);
    const stored = await account.store.read(run);
    const entries = stored.map(readEntry);
    const [first, ...rest] = entries;
    if (first?.type !== 'run.started')
      throw new UserError(`run ${printable(run, 100)} does not begin with run.started`, EXIT.failed, 'damaged');
    refuseOlderVersion(first, 'resume');
    const loaded = loadPinned(first.data.sources, this.host.voice);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: first.data.inputs });
    this.answered = rest.flatMap((entry) => (entry.type === 'operator.acted' ? [entry] : []));
    const { clock, away, aheadMs } = resumedTime([first, ...rest], account.clock);
    const soFar = { head: headOf(stored.at(-1)), row: await account.store.run(run) };
    const fresh = this.assembly.parts(loaded.runbook, clock, this.observers(), soFar);
    const playback = new Playback(entries, {
      markets: this.profile.markets,
      absenceHorizonMs: this.profile.ambiguityWindowMs,
      resume: true,
      observe: (entry) => {
        fresh.gate.apply(entry);
        this.fold.apply(entry);
      },
    });
    const parts = this.assembly.onBook(fresh, playback.log.tracker);
    const { log } = parts;
    const client = this.assembly.client(parts);
    const running = startRun(this.assembly.setup(loaded.runbook, inputs, first.data), {
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
        this.follow(running, parts);
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

  residual(): Residual {
    return this.fold.residual();
  }

  recording(): Fixture | undefined {
    return this.assembly.recording();
  }

  /** Lets commands and the kill switch reach the run until it has ended, then closes its journal. */
  async ended(): Promise<RunResult> {
    const { running, parts } = this.underWay();
    const { gates, account, lateOrders } = this.host;
    gates.add(parts.gate);
    const unwatched = lateOrders.watches(this.run);
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
    parts.log.append('clock.adjusted', { wallAheadMs });
    running.clockPut(wallAheadMs);
  }

  /** What people asked of this run meanwhile, and whether the kill switch is engaged. */
  private async lookOutside(): Promise<void> {
    const { shared, key } = this.host.account;
    this.bars.killed = await shared.killSwitch.engaged(key);
    if (this.bars.killed !== undefined && !this.killTold) {
      this.killTold = true;
      this.act({ command: 'kill', by: this.bars.killed.by, reason: this.bars.killed.reason });
    }
    // Of a run that has halted meanwhile the answer is somebody else's to write (halt-answers.ts).
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
    this.assembly.record(loaded, inputs, { clock, seed });
    const parts = this.assembly.parts(loaded.runbook, clock, this.observers());
    parts.log.append('run.started', started);
    const venue = this.assembly.client(parts);
    const running = startRun(this.assembly.setup(loaded.runbook, inputs, started), {
      venue,
      clock,
      log: parts.log,
      notifier: noticesOf(account, voice),
    });
    this.follow(running, parts);
  }

  private follow(running: RunningRun, parts: LiveParts): void {
    this.current = { running, parts };
    const end = () => {
      this.over = true;
    };
    running.settled().then(end, end);
  }

  private observers(): LiveParts['observers'] {
    const { host, run, fold } = this;
    const telling = new RunProgressReport(run, host.voice, fold);
    return [
      (entry) => fold.apply(entry),
      (entry) => telling.apply(entry),
      (entry) => {
        if (entry.type === 'account.reconciled')
          this.earlier = reportLateOrders(host, run, entry.data.ofOtherRuns, (recalled) => {
            if (!this.over) this.underWay().parts.log.append('account.late_orders', recalled, '', 'recall');
          });
      },
      ...(host.observe === undefined ? [] : [host.observe]),
    ];
  }
}

function isThat({ data, at }: EntryOf<'operator.acted'>, message: PostedMessage): boolean {
  const { command, by, step } = message;
  return data.command === command && data.by === by && data.step === step && at >= message.at;
}
