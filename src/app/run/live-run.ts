/**
 * Runs one live run from its start, or from where its process died, to its end, and delivers commands, the kill switch and clock
 * changes to it. Several runs live in one process, under one lease, one session and one token budget; the working orders of
 * each count against the limits of all. execution.ts and the scheduler (schedule/runs/runs.ts) decide which runs begin and use
 * their result.
 */
import type { Timer } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import { RunClock } from '../../base/run-clock.ts';
import { Divergence, Playback } from '../../engine/playback/playback.ts';
import type { OperatorCommand } from '../../engine/ports.ts';
import { type RunningRun, type RunResult, startRun } from '../../engine/run.ts';
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import { summarizeRun } from '../../gateway/limits/run-ledger.ts';
import { ChainCheck, type ChainVerdict, readEntry, toHead } from '../../journal/chain.ts';
import type { Entry, EntryOf } from '../../journal/entry.ts';
import { foldEntries, readFirstEntry, readStoredEntries } from '../../journal/reading.ts';
import { appendHeldLines } from '../../journal/rounds/held-lines.ts';
import { listKills, recognizeKills } from '../../journal/shared/account-guard.ts';
import { ignoreStore, type JournalReader, type RunRow, StoreError } from '../../journal/store.ts';
import { fromStore, type ReportSource } from '../../report/export/run-report.ts';
import type { Residual } from '../../report/folds/residual.ts';
import { RunOutlineFold, type RunProgress } from '../../report/folds/run.ts';
import type { Value } from '../../runbook/values.ts';
import { describeBeyond, findBeyond } from '../../venue/position/residual.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { noteAct } from '../account/acts.ts';
import { RunNotifier, reportAlarm, type Subject } from '../account/notifications.ts';
import { EXIT, HAS_ENDED, UserError } from '../errors.ts';
import { formatInputs, inputValues, type LoadedRunbook, loadPinned } from '../files/load.ts';
import { readReleases } from '../reconciliation/ledger-settling.ts';
import { RunReconciliation } from '../reconciliation/run-reconciliation.ts';
import { buildStartedData, describeProcess, makeSetup, type Origin, refuseOlderVersion } from './first-entry.ts';
import {
  type Bars,
  LiveAssembly,
  type LiveHost,
  type LiveOptions,
  type LiveParts,
  readKillSwitch,
} from './live-assembly.ts';
import { RunMessages } from './messages.ts';
import { PlanAlarm } from './plan-alarm.ts';
import { RunProgressReport, reportSlowStart } from './progress.ts';
import { playRecord, RecordToResume } from './recorded-run.ts';
import { StoreWatch } from './store-watch.ts';
import { act } from './virtual-run.ts';

/** Interval for commands and the kill switch, ms. */
const LOOK_EVERY_MS = 200;

/** How long rounds that changed nothing may be missing from the journal at most, ms: each line of them repeats what they say. */
const LONGEST_HOLD_MS = 300_000;
/**
 * And from what is kept beside it: a page calls a run silent after a minute without an entry, and while a switch is armed, a process
 * that resumes the run must not take it for fired.
 */
const KEPT_WITHIN_MS = 30_000;
/** The same of rounds that read something new, or counted: what a crash makes a run forget. */
const NEWS_KEPT_WITHIN_MS = 5_000;
const SWITCH_PER_HOLD = 4;

/** The wall clock and the run's clock count as equal up to this difference, ms. */
const SAME_TIME_MS = 2_000;

export class LiveRun {
  readonly run: string;
  private readonly host: LiveHost;
  private readonly profile: Profile;
  private planAlarm: PlanAlarm;
  private readonly assembly: LiveAssembly;
  private fold = new RunOutlineFold();
  /** False where it lacks rounds that a resume has passed over. */
  private foldIsWhole = true;
  /** Names of the kills that were given before it began. */
  private killsBefore: readonly string[] = [];
  private readonly bars: Bars;
  private killTold = false;
  private readonly messages: RunMessages;
  private readonly reconciliation: RunReconciliation;
  private runbook = '';
  private startedAt = 0;
  /** Timeout of the armed deadman switch, ms. */
  private switchMs = Number.POSITIVE_INFINITY;
  /** Commands that are not on the disk yet. */
  private openCommands = 0;
  /** Nothing may be written after the end of a run. */
  private over = false;
  private current: { readonly running: RunningRun; readonly parts: LiveParts } | undefined;

  /** `profile`: the profile it was begun under, where that is not the account's current one. */
  constructor(host: LiveHost, run: string, options: LiveOptions = {}, profile: Profile = host.account.profile) {
    this.host = host;
    this.run = run;
    this.profile = profile;
    const reconciliation = new RunReconciliation(host, run, (late) => {
      if (!this.over) this.requireCurrent().parts.log.append('account.late_orders', late, '', 'recall');
    });
    this.reconciliation = reconciliation;
    this.bars = {
      killed: undefined,
      wasBefore: () => true,
      unread: undefined,
      isReady: async () => this.messages.areRead && reconciliation.isReady(),
      reconciliation,
    };
    this.assembly = new LiveAssembly(host, run, profile, options, this.bars);
    this.planAlarm = this.makePlanAlarm();
    this.messages = new RunMessages({
      host,
      run,
      profile,
      deliver: (command) => this.recordCommand(command),
      flush: () => this.flush(),
    });
  }

  private makePlanAlarm(): PlanAlarm {
    return new PlanAlarm((text) => reportAlarm(this.host, text, this.subject));
  }

  /** Begins the run and returns once it is running. `clockAgrees`: of a run whose time a schedule has decided. */
  async begin(
    loaded: LoadedRunbook,
    inputs: Readonly<Record<string, Value>>,
    origin: Origin,
    clockAgrees?: () => boolean,
  ): Promise<void> {
    const { account } = this.host;
    this.killsBefore = await listKills(account.shared.killSwitch, account.key);
    this.bars.wasBefore = recognizeKills(this.killsBefore);
    await readKillSwitch(account, this.bars);
    await this.reconciliation.compareAnchors();
    const stop = reportSlowStart(account.clock, this.host.voice);
    try {
      await this.reconciliation.begin(loaded.runbook, clockAgrees);
    } finally {
      stop();
    }
    // In a turn of the clock, like everything the engine does: a replay begins with the same instant.
    await new Promise<void>((resolve) =>
      account.clock.arrive(() => {
        this.start(loaded, inputs, origin);
        resolve();
      }),
    );
  }

  /** Resumes a run whose process died; throws a UserError when that is impossible. Returns once it is running. */
  async resume(): Promise<void> {
    const { account } = this.host;
    const { run } = this;
    await this.reconciliation.compareAnchors();
    await appendHeldLines(account.store, run, this.host.lease.epoch);
    const first = await readFirstEntry(account.store, run);
    refuseOlderVersion(first, 'resume');
    const loaded = loadPinned(first.data.sources, this.host.voice);
    const last = await account.store.last(run);
    if (last?.type === 'run.ended') this.refuseEnded(readEntry(last));
    this.runbook = loaded.runbook.name;
    this.startedAt = first.data.startedAt;
    const { killsBefore, startedAt } = first.data;
    // The journal of an older version has none.
    this.bars.wasBefore = killsBefore === undefined ? ({ at }) => at < startedAt : recognizeKills(killsBefore);
    await readKillSwitch(account, this.bars);
    await this.reconciliation.resume(loaded.runbook, startedAt);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: first.data.inputs });
    const parts = { loaded, inputs, first, row: await account.store.run(run) };
    try {
      await playRecord(
        (how) => new RecordToResume(account.store, first, loaded.runbook, how),
        (record) => this.play(record, parts),
      );
    } catch (error) {
      if (!(error instanceof Divergence)) throw error;
      const changed = await findChange(account.store, run);
      const why =
        changed === undefined
          ? ` by this version: ${makePrintable(error.message, 400)}. Use the version that began it (${first.data.engine})`
          : `: ${changed}. A copy of it as it was written can be`;
      throw new UserError(
        `run ${run} cannot be resumed${why}; \`runbook kill\` cancels its open orders`,
        EXIT.halted,
        'diverged',
      );
    }
  }

  /** Another process may have ended it since it was listed. */
  private refuseEnded(last: Entry): void {
    if (last.type === 'run.ended' && last.data.outcome !== 'halted')
      throw new UserError(`run ${this.run} has ended: ${last.data.outcome}; nothing was sent`, EXIT.failed, HAS_ENDED);
  }

  /** Plays the record and takes the run over. Throws Divergence where the engine differs from it: then nothing was taken over. */
  private async play(record: RecordToResume, { loaded, inputs, first, row }: ToResume): Promise<void> {
    const { account, voice } = this.host;
    this.fold = new RunOutlineFold();
    this.planAlarm = this.makePlanAlarm();
    const { gate } = this.assembly.makeBook();
    const playback = new Playback(record, {
      markets: this.profile.markets,
      absenceHorizonMs: this.profile.ambiguityWindowMs,
      resume: true,
      readOn: () => record.readOn(),
      observe: (entry) => {
        gate.apply(entry);
        this.fold.apply(entry);
        this.noteSwitch(entry);
        this.messages.apply(entry);
        this.planAlarm.apply(entry, { recorded: true });
      },
      observePassed: (passed) => this.planAlarm.pass(passed),
    });
    const { tracker } = playback.log;
    gate.useBook(tracker);
    let notifier: RunNotifier;
    const running = startRun(makeSetup(this.run, loaded.runbook, inputs, first.data), {
      venue: playback.venue,
      clock: playback.clock,
      log: playback.log,
      notifier: playback.notifier(() => notifier),
      onCrash: this.host.onCrash,
    });
    playback.drive(running);
    await playback.play(running.done);
    const { facts, chain, last } = record;
    if (facts.last !== undefined) this.refuseEnded(facts.last);
    this.foldIsWhole = !record.isShort;
    this.killTold = facts.acts.some(({ data }) => data.command === 'kill');
    this.messages.recall(facts.acts);
    const changed = describeChange(chain.end());
    if (changed !== undefined && this.reconciliation.contradiction === undefined) {
      this.reconciliation.contradiction = `JOURNAL_CONTRADICTED: ${changed}, so it cancels what is open and places nothing`;
      voice.complain(this.reconciliation.contradiction);
    }
    const { clock, away, aheadMs } = facts.time.compute(account.clock);
    const observers = this.makeObservers();
    const parts = this.assembly.makeParts(loaded.runbook, clock, { tracker, gate }, observers, {
      head: toHead(last),
      row,
    });
    const { log } = parts;
    const client = this.assembly.makeClient(parts);
    notifier = this.makeNotifier(parts);
    await new Promise<void>((resolve) =>
      account.clock.arrive(() => {
        playback.takeOver({
          keep: log.keep,
          log,
          venue: client,
          clock,
          process: describeProcess(),
          away,
          continueCall: (call, attempts) => client.continueCall(call, attempts),
        });
        for (const { data, step } of facts.listUnsettledNotices())
          log.append(
            'notification.settled',
            { to: data.to, delivered: false, because: PROCESS_ENDED },
            step,
            'notifier',
          );
        this.follow(running, parts);
        account.clock.arrive(() => this.compareClocks(aheadMs));
        // It could not protect what an order that rests fills: it ends now, not when its next order is denied.
        const { contradiction: reason } = this.reconciliation;
        if (reason !== undefined && row?.outcome !== 'halted')
          this.act({ command: 'cancel', by: 'perp-runbook', reason }, 'engine');
        // From here on, a suspended process that wakes up finds that the run has a new holder.
        void parts.writer.flush().catch(() => {});
        resolve();
      }),
    );
  }

  /** Resolves when everything written so far is on the disk. */
  flush(): Promise<void> {
    return this.requireCurrent().parts.writer.flush();
  }

  /** Writes a command of a person or a signal, then passes it to the run. `actor`: the author of the entry, where that is not a person. */
  act(command: OperatorCommand, actor?: string): void {
    this.openCommands += 1;
    const recorded = this.recordCommand(command, actor).then(() => this.flush());
    recorded.then(
      () => {
        this.openCommands -= 1;
      },
      () => {},
    );
  }

  /** Whether a command was passed to the run that its store has not taken yet: a process that resumes the run would not know it. */
  get hasOpenCommand(): boolean {
    return this.openCommands > 0;
  }

  /** False where the run has already ended. */
  private recordCommand(command: OperatorCommand, actor?: string): Promise<boolean> {
    const { running, parts } = this.requireCurrent();
    return new Promise((resolve) =>
      this.host.account.clock.arrive(() => {
        if (!this.over) act(running, parts.log, command, actor);
        resolve(!this.over);
      }),
    );
  }

  /** What the report is written from when the run has ended. Where a resume has passed over rounds, the journal is read once more. */
  async getReportSource(): Promise<ReportSource> {
    const { store } = this.host.account;
    if (!this.foldIsWhole) this.fold = await foldEntries(store, this.run, new RunOutlineFold());
    this.foldIsWhole = true;
    return fromStore(store, this.run, this.fold);
  }

  progress(): RunProgress {
    return this.fold.progress();
  }

  findUnanswered(): ReturnType<RunOutlineFold['findUnanswered']> {
    return this.fold.findUnanswered();
  }

  residual(): Residual {
    return this.fold.residual();
  }

  getRecording(): Fixture | undefined {
    return this.assembly.getRecording();
  }

  /** Delivers commands and the kill switch to the run until it has ended, then closes its journal. */
  async waitForEnd(): Promise<RunResult> {
    const { running, parts } = this.requireCurrent();
    const { gates, account, lateOrders, ledger } = this.host;
    // From here on there are heartbeats to send.
    account.limitWaits();
    const unwatched = lateOrders.markWatched(this.run);
    let timer: Timer | undefined;
    const watching = account.clock.onWallMoved(() => account.clock.arrive(() => this.compareClocks()));
    const listening = account.watchSession((moved) =>
      account.clock.arrive(() => {
        if (!this.over) parts.log.append('session.moved', moved, '', 'session');
      }),
    );
    const store = new StoreWatch({
      host: this.host,
      run: this.run,
      patienceMs: this.profile.shutdownWithinMs,
      running,
      parts,
      bars: this.bars,
      isOver: () => this.over,
      interrupt: (reason) => void this.recordCommand({ command: 'interrupt', by: 'perp-runbook', reason }),
    });
    const check = async () => {
      // Also entries that no write waits for: a run that only reads or asks must be visible to others and survive a crash.
      parts.writer.flushOlder(LONGEST_HOLD_MS, LONGEST_HOLD_MS).catch(() => {});
      const withinMs = Math.min(KEPT_WITHIN_MS, this.switchMs / SWITCH_PER_HOLD);
      parts.writer.keepHeld(withinMs, Math.min(withinMs, NEWS_KEPT_WITHIN_MS));
      await this.readCommands();
      // The account may be closed behind a run that has ended.
      void this.reconciliation.settleAgain().catch((error: unknown) => {
        if (!this.over) ignoreStore(error);
      });
      store.check();
      if (!this.over) timer = account.clock.after(LOOK_EVERY_MS, () => void check());
    };
    void check();
    try {
      const result = await Promise.race([running.settled(), store.givenUp]);
      await parts.writer.close();
      await parts.anchorer.settled();
      await this.reconciliation.settled();
      return result;
    } catch (error) {
      if (error instanceof StoreError)
        throw new UserError(`the journal cannot be written: ${makePrintable(error.message)}`, EXIT.halted, 'journal');
      throw error;
    } finally {
      this.over = true;
      timer?.cancel();
      watching();
      listening();
      parts.anchorer.close();
      gates.delete(parts.gate);
      ledger.add({
        run: this.run,
        runbook: this.runbook,
        startedAt: this.startedAt,
        account: account.key,
        lastAt: parts.clock.now(),
        ...summarizeRun(parts.gate, parts.log.tracker, parts.clock.now()),
      });
      unwatched();
    }
  }

  private requireCurrent() {
    if (this.current === undefined) throw new Error(`run ${this.run} has not begun`);
    return this.current;
  }

  /** Records the difference between the wall clock and the run's clock, and passes it to the run. `known`: the last recorded difference. */
  private compareClocks(known?: number): void {
    const { running, parts } = this.requireCurrent();
    const wallAheadMs = parts.clock.wallAheadMs();
    if (this.over || (known !== undefined && Math.abs(wallAheadMs - known) < SAME_TIME_MS)) return;
    parts.log.append('clock.adjusted', { wallAheadMs });
    running.clockPut(wallAheadMs);
  }

  /** Reads the commands for this run and the state of the kill switch. */
  private async readCommands(): Promise<void> {
    await readKillSwitch(this.host.account, this.bars);
    if (this.bars.killed !== undefined && !this.killTold) {
      this.killTold = true;
      this.act({ command: 'kill', by: this.bars.killed.by, reason: this.bars.killed.reason });
    }
    // The answer to a halted run is recorded elsewhere (halt-answers.ts).
    if (this.over) return;
    try {
      await readReleases(this.host);
      await this.messages.read();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  private start(loaded: LoadedRunbook, inputs: Readonly<Record<string, Value>>, origin: Origin): void {
    const { account, accountId } = this.host;
    this.runbook = loaded.runbook.name;
    const startedAt = account.clock.now();
    this.startedAt = startedAt;
    const clock = new RunClock(account.clock, startedAt);
    const seed = startedAt % 2 ** 31;
    const about = { ...origin, startedAt, seed, ...(accountId === undefined ? {} : { accountId }) };
    const started = buildStartedData(
      this.profile,
      loaded,
      { mode: 'live', inputs: formatInputs(inputs), ...about },
      { process: describeProcess(), account: this.profile.account, killsBefore: this.killsBefore },
    );
    this.assembly.startRecording(loaded, inputs, { clock, seed });
    const parts = this.assembly.makeParts(loaded.runbook, clock, this.assembly.makeBook(), this.makeObservers());
    parts.log.append('run.started', started);
    const venue = this.assembly.makeClient(parts);
    const running = startRun(makeSetup(this.run, loaded.runbook, inputs, started), {
      venue,
      clock,
      log: parts.log,
      notifier: this.makeNotifier(parts),
      onCrash: this.host.onCrash,
    });
    this.follow(running, parts);
  }

  /** What its messages are about. */
  private get subject(): Subject {
    return { run: this.run, runbook: this.runbook };
  }

  private makeNotifier({ log }: LiveParts): RunNotifier {
    const { account, voice } = this.host;
    return new RunNotifier(account, this.subject, voice, (delivery, step) => {
      if (!this.over) log.append('notification.settled', delivery, step, 'notifier');
      else {
        const at = account.clock.now();
        const data = { run: this.run, ...delivery };
        void noteAct(account, { type: 'delivery.late', by: 'notifier', at, data }, voice);
      }
    });
  }

  private follow(running: RunningRun, parts: LiveParts): void {
    this.current = { running, parts };
    // In one turn: the limits of other runs count its orders at every moment, as an earlier process left them or as they are.
    this.host.ledger.take(this.run);
    this.host.gates.add(parts.gate);
    const end = () => {
      this.over = true;
    };
    running.settled().then(end, end);
  }

  private noteSwitch(entry: Entry): void {
    if (entry.type === 'deadman.moved') this.switchMs = entry.data.timeoutMs ?? Number.POSITIVE_INFINITY;
  }

  private makeObservers(): readonly ((entry: Entry) => void)[] {
    const { host, run, fold } = this;
    const telling = new RunProgressReport(run, host.voice, fold);
    return [
      (entry) => fold.apply(entry),
      (entry) => this.planAlarm.apply(entry),
      (entry) => telling.apply(entry),
      (entry) => this.noteSwitch(entry),
      (entry) => this.messages.apply(entry),
      (entry) => this.reconciliation.apply(entry),
      (entry) => {
        if (entry.type !== 'run.residual' || entry.data.when !== 'end' || entry.data.ok) return;
        const { leaves, left } = entry.data;
        reportAlarm(host, `run ${run}: ${describeBeyond(leaves, findBeyond(left, leaves))}`, this.subject);
      },
      ...(host.observe === undefined ? [] : [host.observe]),
    ];
  }
}

/** What is known of a run that is resumed before its record is played. */
interface ToResume {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly first: EntryOf<'run.started'>;
  readonly row: RunRow | undefined;
}

async function findChange(store: JournalReader, run: string): Promise<string | undefined> {
  const chain = new ChainCheck();
  for await (const stored of readStoredEntries(store, run)) chain.add(stored);
  return describeChange(chain.end());
}

/** What was changed in a run's journal since it was written; undefined where nothing was. */
function describeChange(verdict: ChainVerdict): string | undefined {
  if (verdict.ok) return undefined;
  const { detail } = verdict.problem;
  return `the journal of this run was changed: ${makePrintable(detail, 200)} (\`runbook audit verify\`)`;
}

const PROCESS_ENDED = 'not known: the process ended before the answer, and the message is not sent again';
