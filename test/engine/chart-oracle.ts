/**
 * Accepts or refuses a journal as a path through the chart of its runbook. The chart is executed by XState's own actor; the oracle
 * ends the actors of its steps as the journal says, and answers its guards from what the journal decided. A step that begins where
 * the chart is elsewhere, an end that the chart does not reach, or an outcome that it left in another way is refused.
 *
 * The chart decides at once what comes next, so guards look ahead in the journal. The items of a parallel step, which run at the same
 * time, are projected to one after another; a called runbook is projected to a chart of its own.
 */
import { type AnyActor, type AnyMachineSnapshot, createActor, type InspectionEvent } from 'xstate';
import { actorId, type Guard } from '../../src/engine/chart/model.ts';
import type { Entry, ErrorFact } from '../../src/journal/entry.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import { type Chart, type FailureEvent, makeChart, STILL_CLOCK } from './chart-machine.ts';
import {
  type EndRecord,
  escapeText,
  gatherCalls,
  goesOn,
  hasSucceeded,
  isBeginning,
  isEndOf,
  type JournalRecord,
  lineUpItems,
  listOuter,
  listOwners,
  listRounds,
  type RecordOf,
  takeRecords,
  toStatic,
  undoesIn,
} from './chart-records.ts';

/** The first reason why the journal is no path through the chart; undefined where it is one. */
export function findDeparture(runbook: CheckedRunbook, entries: readonly Entry[]): string | undefined {
  const records = takeRecords(entries);
  const [started] = entries;
  const until = started?.type === 'run.started' ? started.data.until : undefined;
  const path = new Path(makeChart(runbook), records, { until });
  try {
    path.walk();
    return undefined;
  } catch (error) {
    if (error instanceof Departure) return error.message;
    throw error;
  } finally {
    path.stop();
  }
}

class Departure extends Error {}

type Left = 'done' | 'failed' | 'skipped';

interface Caller {
  readonly end: EndRecord | undefined;
  isAbandoned(error: ErrorFact | undefined): boolean;
  /** Whether the run, or its clean-up, is over behind the call. */
  stops(): boolean;
}

class Path {
  private readonly chart: Chart;
  private readonly records: readonly JournalRecord[];
  private readonly caller: Caller | undefined;
  /** The step after which the run was asked to stop. */
  private readonly until: string | undefined;
  private readonly actor: AnyActor;
  /** Of the record that is taken in; guards look at those behind it. */
  private at = -1;
  /** Steps whose present attempt has begun in the journal. */
  private readonly begun = new Set<string>();
  /** How the chart left a step, for each time of which the journal has not said so yet. */
  private readonly left = new Map<string, Left[]>();
  /** How the chart left the steps of the run. */
  private ending: 'completed' | 'stopped' | 'unprotected' | 'failed' | 'halted' | undefined;
  /** Attempts of each step, by its path in the run. */
  private readonly attempts = new Map<string, number>();
  /** Parallel steps with a branch that failed in the chart. */
  private readonly failedJoins = new Set<string>();
  private isEndingBranches = false;
  private readonly halted = new Set<string>();
  /** Steps that are over in the journal, and not yet in the chart; the actor distinguishes one time of a step from the next. */
  private readonly over = new Map<string, AnyActor>();
  /** Phases of clean-up that the chart left by a failure. */
  private readonly failedPhases = new Set<string>();
  /** The last round of each loop: in the journal, and in the chart (the beginning of its paths). */
  private readonly rounds = new Map<string, number>();
  private readonly entered = new Map<string, string>();
  /** The first record of that round: the chart may be ahead of the journal, and goes to none before it. */
  private readonly enteredWith = new Map<string, JournalRecord>();

  /** Ends of loops that the chart has given the round in which they failed by themselves. */
  private readonly ranOut = new Set<JournalRecord>();
  /** Loops that the run did not come to before it failed, or an item before it was cancelled. */
  private readonly unbegun = new Set<string>();

  constructor(
    chart: Chart,
    records: readonly JournalRecord[],
    { caller, until }: { readonly caller?: Caller; readonly until?: string | undefined },
  ) {
    this.chart = chart;
    this.caller = caller;
    this.until = until;
    this.records = lineUpItems(gatherCalls(records, chart.calls), chart.each);
    this.actor = createActor(chart.machine, { clock: STILL_CLOCK as never, inspect: (event) => this.inspect(event) });
    this.actor.subscribe({ error: () => {} });
    this.act(() => this.actor.start());
  }

  walk(): void {
    for (this.at = 0; this.at < this.records.length; this.at += 1) {
      const record = this.records[this.at] as JournalRecord;
      this.countRounds(record);
      this.take(record);
      const { status, error } = this.snapshot;
      if (status === 'error') throw this.departs(record, `the chart failed: ${String(error)}`);
    }
  }

  stop(): void {
    this.actor.stop();
  }

  /** The outcome of a called runbook, when its caller's step has ended. */
  finish(succeeded: boolean): string {
    this.at = this.records.length;
    if (this.begun.size > 0) throw new Departure(`${[...this.begun].join(', ')} has no end`);
    if (this.isIn('starting')) this.act(() => this.end('starting', succeeded ? undefined : 'assertion'));
    if (this.isIn('running')) this.send('STOPPED');
    if (this.isIn('finally')) throw new Departure('finally is not finished');
    if (this.isIn('on_exit')) this.end('on_exit');
    return String(this.snapshot.value);
  }

  private get snapshot(): AnyMachineSnapshot {
    return this.actor.getSnapshot() as AnyMachineSnapshot;
  }

  private take(record: JournalRecord): void {
    switch (record.type) {
      case 'step.started':
        this.begin(record);
        break;
      case 'step.decided':
        this.approach(record);
        break;
      case 'step.retried':
        this.retry(record);
        break;
      case 'step.ended':
        if (record.data.outcome === 'skipped') this.skip(record);
        else this.endStep(record);
        break;
      case 'call.intended':
        this.undo(record);
        break;
      case 'run.moved':
        this.move(record);
        break;
      case 'run.ended':
        if (this.snapshot.value !== record.data.outcome)
          throw this.departs(record, `the run ends ${record.data.outcome}`);
        break;
      case 'run.residual':
        break;
      default:
        record satisfies never;
    }
  }

  private begin(record: RecordOf<'step.started'>): void {
    this.approach(record);
    const { step, path, inside, data } = record;
    if (this.begun.has(step) || data.attempt !== (this.attempts.get(path) ?? 0) + 1)
      throw this.departs(record, `attempt ${data.attempt} begins, and another is under way or was left out`);
    this.attempts.set(path, data.attempt);
    const [left] = this.left.get(step) ?? [];
    // A loop without rounds is over in the chart before it begins in the journal.
    const isHere = this.isAt(step) && (!this.over.has(step) || this.over.get(step) !== this.child(step));
    if (left === undefined ? !isHere : left !== 'done') throw this.departs(record, 'the step begins');
    this.begun.add(step);
    const callee = this.chart.calls.get(actorId(step));
    if (callee !== undefined) this.call(record, callee, inside ?? []);
  }

  private call(record: RecordOf<'step.started'>, callee: CheckedRunbook, records: readonly JournalRecord[]): void {
    const end = this.nextOwnEnd(record.step);
    const over = end?.data.error;
    // One that rose from the called runbook is no time-out of the call.
    const hasRisen = toStatic(over?.step ?? '').startsWith(`${record.step}/`);
    // As the last step of a clean-up it may have stopped, and ends all the same.
    const stops = () => this.stopsRun(record.step) || this.endsPhase(record);
    const caller: Caller = {
      end,
      stops,
      isAbandoned: (error) =>
        (!hasRisen && error?.kind === 'timeout' && over?.message === error.message) ||
        this.isAbandoned(error, record.step),
    };
    const called = new Path(makeChart(callee), records, { caller });
    try {
      called.walk();
      const isDone = end?.type === 'step.ended' && end.data.outcome === 'succeeded';
      const outcome = called.finish(isDone || records.length > 0);
      if (end !== undefined && hasSucceeded(end) && outcome !== 'succeeded' && !stops())
        throw this.departs(record, `the called runbook ends ${outcome}, its step succeeds`);
    } catch (error) {
      if (error instanceof Departure) throw new Departure(`in ${record.path}: ${error.message}`);
      throw error;
    } finally {
      called.stop();
    }
  }

  private skip(record: RecordOf<'step.ended'>): void {
    this.approach(record);
    if (this.takeLeft(record.step) !== 'skipped') throw this.departs(record, 'the step is skipped');
  }

  /** Brings the chart to where a record of a step can be: a clean-up, or a handler of a step that has failed. */
  private approach(record: Extract<JournalRecord, { type: `step.${string}` }>): void {
    const { step } = record;
    if (this.caller !== undefined && this.isIn('starting')) this.end('starting');
    if (this.caller !== undefined && step.startsWith('finally/') && this.isIn('running')) this.send('STOPPED');
    if (this.isInterrupted && step.startsWith('finally/') && this.isIn('on_error')) this.leaveHandler();
    if (record.type !== 'step.decided' || record.data.what !== 'until') this.beginRound(record);
    const owners = listOwners(step);
    if (record.type === 'step.decided' && record.data.what === 'catch') owners.push(step);
    for (const owner of owners) {
      const error = this.nextOwnEnd(owner)?.data.error;
      const isFailing = this.isOpen(owner) || this.child(`${owner}/fails`) !== undefined;
      if (error !== undefined && isFailing) this.failStep(owner, error.kind, record);
    }
  }

  /** Whether this is a called runbook, and its caller's step ended from outside: its `on_error` goes no further then, or does not begin. */
  private get isInterrupted(): boolean {
    const { caller } = this;
    if (caller?.end === undefined || hasSucceeded(caller.end)) return false;
    const { data } = caller.end;
    return ('outcome' in data && data.outcome === 'halted') || caller.isAbandoned(data.error);
  }

  /** Fails the step of `on_error` that the chart is in, begun or not, in a way that no `catch` takes. */
  private leaveHandler(): void {
    const at = this.snapshot._nodes.find(({ path }) => path.length === 2 && path[0] === 'on_error');
    const id: string | undefined = at?.invoke[0]?.id;
    if (id !== undefined) this.act(() => this.snapshot.children[id]?.send({ type: 'fails' }));
  }

  /** Ends the pause before a round, and the item before an item, if the others were cancelled when one failed or stopped the run. */
  private beginRound({ path }: JournalRecord): void {
    for (const { loop, round } of listRounds(path)) {
      const step = toStatic(loop);
      const own = this.nextOwnEnd(step);
      // The chart may be in a later round already, with a step of this one that is skipped.
      const [entered] = listRounds(this.entered.get(step) ?? '').slice(-1);
      if (entered?.loop === loop && entered.round >= round) continue;
      this.endPause(step);
      const isCancelled = own !== undefined && (!hasSucceeded(own) || this.stopsRun(step));
      if (!isCancelled || this.child(`${step}/do`) === undefined) continue;
      this.forgetBranches(step);
      this.end(`${step}/do`, 'cancelled');
    }
  }

  /** Of what the chart ran ahead to in branches and items that were cancelled the journal says nothing. */
  private forgetBranches(step: string): void {
    if (!this.chart.joins.has(step)) return;
    const isInside = (each: string) =>
      /^\/(?:do|branches)\//.test(each.startsWith(step) ? each.slice(step.length) : '');
    for (const known of [this.left, this.unbegun])
      for (const each of [...known.keys()]) if (isInside(each)) known.delete(each);
  }

  private endPause(step: string): void {
    const pause = this.snapshot._nodes.find(({ key, parent }) => key === 'pause' && parent?.meta?.path === step);
    if (pause !== undefined) this.send(pause.after[0]?.eventType ?? '');
  }

  /** Whether the step has begun, and the chart is still in this attempt of it. */
  private isOpen(step: string): boolean {
    return this.isAt(step) && this.begun.has(step) && !this.left.has(step);
  }

  private takeLeft(step: string): Left | undefined {
    const list = this.left.get(step);
    const first = list?.shift();
    if (list?.length === 0) this.left.delete(step);
    return first;
  }

  private retry(record: RecordOf<'step.retried'>): void {
    const { step, data } = record;
    if (this.isOpen(step)) this.failStep(step, data.error.kind, record);
    // A join that fails, where no clause with steps has taken it.
    const owed = this.findFailure(step);
    if (owed !== undefined) this.failOwed(step, owed, data.error.kind);
    if (!this.begun.delete(step) || this.takeLeft(step) !== 'failed') throw this.departs(record, 'the step is retried');
    // A clause has taken the halt of what is inside: the next attempt may end in another way.
    if (data.error.kind === 'unknown_outcome')
      for (const each of this.halted) if (each.startsWith(`${step}/`)) this.halted.delete(each);
    this.failedJoins.delete(step);
  }

  private endStep(record: RecordOf<'step.ended'>): void {
    const { step, data } = record;
    const { outcome, error } = data;
    if (!this.begun.has(step)) throw this.departs(record, 'a step ends that has not begun');
    const stops = this.isStopping() || this.endsPhase(record);
    if (outcome === 'succeeded' && error !== undefined && error.kind !== 'timeout' && !stops)
      throw this.departs(record, `the step succeeds with ${error.kind}`);
    const work = this.child(step);
    const hasSucceeded = outcome === 'succeeded' && error === undefined;
    if (hasSucceeded) this.succeed(record);
    else if (outcome === 'halted') this.haltCleanUp(step);
    else this.fail(record);
    const left = this.takeLeft(step);
    if (left !== undefined && left !== (hasSucceeded ? 'done' : 'failed'))
      throw this.departs(record, `the step ends ${outcome}, and the chart left it ${left}`);
    if (outcome === 'halted') this.halted.add(step);
    const inside = [...this.halted].filter((each) => each.startsWith(`${step}/`));
    if (inside.length > 0 && outcome !== 'halted' && error?.kind !== 'unknown_outcome')
      throw this.departs(record, `the step ends ${outcome}, and ${inside.join(', ')} halted`);
    for (const each of inside) this.halted.delete(each);
    // The chart stays in a step that halts or is cancelled, until what cancelled it ends.
    if (left === undefined && work !== undefined && work === this.child(step)) this.over.set(step, work);
    this.begun.delete(step);
    this.attempts.delete(record.path);
    this.failedJoins.delete(step);
  }

  private succeed(record: RecordOf<'step.ended'>): void {
    const { step } = record;
    // What is still open of it was cancelled by a `stop`.
    const stops = this.isStopping() || this.endsPhase(record);
    if (this.isOpen(step) && this.isLeaf(step)) this.end(step);
    if (this.isOpen(step)) this.endPause(step);
    const isRace = this.chart.joins.get(step) === 'any';
    // The chart has run ahead through a loop without rounds, and the branch was cancelled before it. Its next round is not begun yet.
    if (isRace && (this.isOpen(step) || !this.isAt(step)))
      for (const each of [...this.left.keys()]) if (each.startsWith(`${step}/`)) this.left.delete(each);
    if (this.isOpen(step) && (stops || isRace)) this.endBranches(step);
    // Of items, which come one after another in the chart, the one that another has cancelled.
    const item = `${step}/do`;
    if (this.isOpen(step) && stops && this.child(item) !== undefined) this.endEach([actorId(item)]);
    const isRefused = this.failedJoins.has(step) && this.chart.joins.get(step) !== 'any' && !stops;
    if (isRefused || (!this.left.has(step) && !stops)) throw this.departs(record, 'the step succeeds');
  }

  /** A step that fails, or has succeeded by its `on_timeout`. */
  private fail(record: RecordOf<'step.ended'>): void {
    const { step, data } = record;
    const kind = data.error?.kind ?? 'assertion';
    if (this.isAbandoned(data.error, step) || this.isOverruled(record)) return;
    const cause = toStatic(data.error?.step ?? '');
    const hasRisen = cause.startsWith(`${step}/`) && kind !== 'unknown_outcome';
    const isJoin = this.chart.joins.has(step);
    if (hasRisen && (isJoin ? !this.failedJoins.has(step) : this.isOpen(step) && !this.isLeaf(step)))
      throw this.departs(record, `the step fails with ${cause}`);
    if (this.isOpen(step)) this.failStep(step, kind, record);
    // A join that fails, and then a `catch` that goes on failing.
    for (let owed = this.findFailure(step); owed !== undefined; owed = this.findFailure(step))
      this.failOwed(step, owed, kind);
  }

  private failOwed(step: string, owed: string, kind: string): void {
    this.forgetBranches(step);
    this.endActor(owed, kind);
  }

  /** The actor of a state that only fails, of the step's join or of one of its clauses. */
  private findFailure(step: string): string | undefined {
    const failures = new RegExp(`^${escapeText(actorId(step))}(?:\\.catch\\.\\d+)?\\.fails$`);
    return Object.keys(this.snapshot.children).find((id) => failures.test(id));
  }

  /** A step that halts ends the list of steps that undo another, or ends alone in a clean-up; what follows is done all the same. */
  private haltCleanUp(step: string): void {
    const undoes = /\/undo\/[^/]+$/.test(step) && (this.isIn('undo') || this.isIn('settling'));
    const [, phase] = /^(on_error|finally)\/[^/]+$/.exec(step) ?? [];
    if (undoes || (phase !== undefined && this.isIn(phase))) this.send('HALTED');
  }

  private undo(record: RecordOf<'call.intended'>): void {
    if (this.child(record.step) === undefined) throw this.departs(record, 'a step is undone');
    this.end(record.step);
  }

  private move(record: RecordOf<'run.moved'>): void {
    const { from, to, event } = record.data;
    const phase = PHASE_OF[from];
    if (phase !== undefined) this.leavePhase(record, phase);
    else if (from === 'running') this.leaveSteps(record);
    else if (event === 'HALTED' || event === 'RESUMED') this.send(event);
    else if (from === 'starting') this.end('starting', event === 'FAILED' ? 'assertion' : undefined);
    else if (this.isIn('on_exit')) this.end('on_exit', event === 'FAILED' ? 'transport' : undefined);
    else if (!this.hasEnded()) throw this.departs(record, `the run moves to ${to}`);
  }

  private leaveSteps(record: RecordOf<'run.moved'>): void {
    const { event } = record.data;
    const error = this.runError();
    const hasBegun = this.records.slice(0, this.at).some(({ type }) => type === 'step.started');
    this.checkEnds(record, event === 'HALTED' && hasBegun);
    // What ends the steps from outside: a halt, --until, a person, the deadman switch; or what fails before the first step.
    const mayFail =
      isInterruption(error) || this.halts(() => true) || (!hasBegun && !error?.step?.startsWith('steps/'));
    if (
      this.isIn('running') &&
      (event === 'HALTED' || (isStop(event) ? this.until !== undefined : event === 'FAILED' && mayFail))
    )
      this.send(isStop(event) ? 'STOPPED' : event);
    const wanted = WANTED[event];
    const asks = this.chart.machine.states['leaves'] !== undefined;
    if (wanted === 'unprotected' && !asks && this.ending === (isStop(event) ? 'stopped' : 'completed'))
      this.ending = wanted;
    if (this.ending !== wanted)
      throw this.departs(record, `the steps end ${wanted}, those of the chart ${this.ending ?? 'go on'}`);
  }

  private leavePhase(record: RecordOf<'run.moved'>, phase: string): void {
    const { event } = record.data;
    if (phase !== 'undo') this.checkEnds(record, false);
    if (this.isIn(phase)) throw this.departs(record, `the run leaves ${phase}`);
    const hasFailed = this.failedPhases.has(phase);
    if (phase !== 'undo' && (event === 'DONE' ? hasFailed : event === 'FAILED' && phase === 'on_error' && !hasFailed))
      throw this.departs(record, `${phase} ends ${event}`);
  }

  /** Checks that every step has ended, and that a halt of the last one halts the run. */
  private checkEnds(record: RecordOf<'run.moved'>, hasHalted: boolean): void {
    const { event } = record.data;
    const last = this.records.slice(0, this.at).findLast(({ type }) => type === 'step.ended' || type === 'run.moved');
    // Not one that a clause has taken, for another attempt.
    const isHalt = last?.type === 'step.ended' && last.data.outcome === 'halted' && this.halted.has(last.step);
    if (isHalt ? event !== 'HALTED' : hasHalted) throw this.departs(record, 'the last step ends otherwise');
    // The chart may have left a step of `finally` already that is skipped.
    const left = [...this.left.keys()].filter((step) => step.startsWith('steps/'));
    const open = [...this.begun, ...(event === 'COMPLETED' ? left : [])];
    if (open.length > 0) throw this.departs(record, `the journal does not say that ${open.join(', ')} ended`);
  }

  /** Fails the step's work. Branches that were cancelled have ended with it. */
  private failStep(step: string, kind: string, record: JournalRecord): void {
    this.forgetBranches(step);
    this.endBranches(step);
    const node = this.nodeOf(step);
    const delayed = node?.after[0]?.eventType;
    if (this.child(`${step}/fails`) !== undefined) this.end(`${step}/fails`, kind);
    else if (kind === 'timeout' && delayed !== undefined && this.isLeaf(step)) this.send(delayed);
    else if (this.child(step) === undefined) throw this.departs(record, `the step fails with ${kind}`);
    else this.end(step, kind);
  }

  /** Ends the branches that are left of a parallel step that ends: their steps were cancelled. */
  private endBranches(step: string): void {
    const { _nodes: nodes, children } = this.snapshot;
    const open = nodes.flatMap((node) => {
      const id = node.parent?.type === 'parallel' && node.parent.meta?.path === step ? node.invoke[0]?.id : undefined;
      const isOver = nodes.some((each) => each.parent === node && each.type === 'final');
      return id === undefined || isOver ? [] : [id];
    });
    this.endEach(open, children);
  }

  private endEach(open: readonly string[], children: AnyMachineSnapshot['children'] = this.snapshot.children): void {
    this.isEndingBranches = true;
    // The last of them may lead on to the same step, in another round.
    for (const id of open) if (this.snapshot.children[id] === children[id]) this.endActor(id, 'cancelled');
    this.isEndingBranches = false;
  }

  private countRounds({ path }: JournalRecord): void {
    if (/\/undo(?:\/|$)/.test(path)) return;
    for (const { loop, round } of listRounds(path)) {
      const last = this.rounds.get(loop) ?? -1;
      if (!this.chart.each.has(toStatic(loop)) && round !== last && round !== last + 1)
        throw new Departure(`${path}: round ${round} of ${loop} comes after ${last}`);
      this.rounds.set(loop, round);
    }
  }

  // Guards

  answer(guard: Guard, text: string, event: FailureEvent): boolean {
    const { what, step = '' } = guard;
    switch (what) {
      case 'if':
        return this.isWanted(step);
      case 'when':
      case 'until':
        return this.decided(guard, text) ?? (what === 'when' && (this.failsItself(step) || this.isUnbegun(step)));
      case 'rounds':
        return this.hasAnotherRound(step);
      case 'catch':
        return this.isCaught(guard, event.error?.kind);
      case 'retry':
        return this.isRetried(guard, event.error?.kind);
      case 'catch_retry':
        return this.nextOwnEnd(step)?.type === 'step.retried';
      case 'condition_open':
        return this.asksAgain(step);
      case 'branch_failed':
        return this.failsItself(step);
      case 'run_stopped':
        return this.stopsRun(step);
      case 'undo':
        return this.isUndoneNext(step);
      case 'unprotected':
        return this.leavesTooMuch();
      case 'cancelled':
        return this.isCancelledAfterwards();
      case 'halted':
        return this.halts(() => true);
      case 'halted_before_on_error':
        return this.halts(({ data: { from } }) => ['running', 'undoing', 'undoingHalted'].includes(from));
      case 'succeeded':
        return this.ending === 'completed' && !this.failsAfterwards();
      case 'stopped':
        return this.ending === 'stopped' && !this.failsAfterwards();
      default:
        return what satisfies never;
    }
  }

  private isWanted(step: string): boolean {
    for (const record of this.ofAttempt(step)) {
      const isDecided = record.type === 'step.decided' && record.data.what === 'if';
      if (isDecided && record.data.value === false) this.noteLeft(step, 'skipped');
      if (isDecided) return record.data.value === true;
      // A condition that could not be evaluated fails the step as soon as it begins.
      if (record.type === 'step.started') return true;
    }
    return true;
  }

  private decided({ what, step = '' }: Guard, text: string): boolean | undefined {
    const round = this.entered.get(step);
    for (const record of this.ofAttempt(step)) {
      if (record.type !== 'step.decided' || record.data.what !== what || record.data.expression !== text) continue;
      if (what === 'when' || round === undefined || record.path === round) return record.data.value === true;
    }
    return undefined;
  }

  /** A loop that fails by itself does so in a round that had no time to begin: one, for its steps may be loops without rounds. */
  private hasAnotherRound(step: string): boolean {
    const last = this.entered.get(step);
    const first = this.enteredWith.get(step);
    const from = first === undefined ? -1 : this.records.indexOf(first);
    for (const record of this.aheadOf(step)) {
      // One that fails with a step of its own has no other round.
      if (isEndOf(record, step)) {
        const isOwn = !hasSucceeded(record) && !toStatic(record.data.error?.step ?? '').startsWith(`${step}/`);
        if (!isOwn || this.ranOut.has(record)) return false;
        this.ranOut.add(record);
        return true;
      }
      if (from >= 0 && this.records.indexOf(record) <= from) continue;
      const entered = listRounds(record.path).find(({ loop }) => toStatic(loop) === step);
      if (entered === undefined) continue;
      const round = `${entered.loop}[${entered.round}]`;
      if (round === last) continue;
      if (this.isOfLaterItem({ path: entered.loop })) return this.isFirstUnbegun(step);
      this.entered.set(step, round);
      this.enteredWith.set(step, record);
      return record.type !== 'step.decided' || record.data.what !== 'while' || record.data.value === true;
    }
    return this.isUnbegun(step);
  }

  /**
   * Whether the run, or a step around it, failed by itself before the loop or `switch`: the chart, which goes through loops without
   * rounds and past cases that were not asked about, is left in the first of this one.
   */
  private isUnbegun(step: string): boolean {
    // Of a step around it that the chart has left already, the loop is in its next attempt.
    const around = listOuter(step).filter((outer) => this.begun.has(outer));
    const behind = new Map(around.map((outer) => [outer, this.left.get(outer)?.length ?? 0]));
    const isEnd = (record: JournalRecord) => {
      const left = behind.get(record.step);
      if (left === undefined || !isEndOf(record, record.step)) return false;
      behind.set(record.step, left - 1);
      return left <= 0;
    };
    const ahead = [...this.aheadOf(step)];
    const next = ahead.findIndex((record) => isEnd(record) || hasLeft(record));
    const isNamed = ahead.slice(0, next).some(({ step: each }) => each === step || each.startsWith(`${step}/`));
    return next >= 0 && !isNamed && endsEarly(ahead[next] as JournalRecord) && this.isFirstUnbegun(step);
  }

  private isFirstUnbegun(step: string): boolean {
    const isFirst = !this.unbegun.has(step);
    this.unbegun.add(step);
    return isFirst;
  }

  private isCaught({ on, not, if: condition, step = '' }: Guard, kind: string | undefined): boolean {
    if (kind === undefined) return false;
    if (on !== undefined ? !on.some((each) => each === kind) : not?.some((each) => each === kind)) return false;
    if (condition === undefined) return true;
    const find = (records: Iterable<JournalRecord>): boolean | undefined => {
      for (const record of records) {
        if (record.step !== step) continue;
        if (record.type === 'step.decided' && record.data.what === 'catch' && record.data.expression === condition)
          return record.data.value === true;
        if (isEndOf(record, step)) return undefined;
      }
      return undefined;
    };
    // A parallel step is left in the chart before its clauses are asked.
    return find(this.ofAttempt(step)) ?? find(this.records.slice(Math.max(0, this.at))) ?? false;
  }

  private isRetried({ on, max = 0, step = '', open }: Guard, kind: string | undefined): boolean {
    const own = this.nextOwnEnd(step);
    if (own?.type !== 'step.retried' || !on?.some((each) => each === kind) || own.data.attempt > max) return false;
    return open !== true || this.asksAgain(step);
  }

  /** Whether the next attempt begins with the step's condition. */
  private asksAgain(step: string): boolean {
    const own = this.nextOwnEnd(step);
    const next = this.records
      .slice(own === undefined ? this.at : this.records.indexOf(own) + 1)
      .find((each) => each.step === step);
    return next?.type === 'step.decided' && next.data.what === 'if';
  }

  private failsItself(step: string): boolean {
    const own = this.nextOwnEnd(step);
    return own !== undefined && !hasSucceeded(own);
  }

  /** Whether the next thing after the step's end is that the run stops. */
  private stopsRun(step: string): boolean {
    const own = this.nextOwnEnd(step);
    // One that has succeeded by its `on_timeout`, or failed into a clause, was left that way.
    if (own?.type !== 'step.ended' || own.data.outcome !== 'succeeded' || own.data.error !== undefined) return false;
    const isNext = (each: JournalRecord) => goesOn(each) && !this.isBeside(each.path, own.path);
    const next = this.records.slice(this.records.indexOf(own) + 1).find(isNext);
    // In a clean-up it leads on as the last step does. A called runbook ends its own without a move of the run.
    const isCleanUp = !step.startsWith('steps/');
    const endsCalled = this.caller !== undefined && next?.step.split('/')[0] !== step.split('/')[0];
    if (isCleanUp && endsCalled) return true;
    if (next === undefined) return this.caller?.stops() === true;
    return next.type === 'run.moved' && (isCleanUp ? PHASE_OF[next.data.from] !== undefined : isStop(next.data.event));
  }

  /** Whether a path is in another branch, or item, of a parallel step than `own`. */
  private isBeside(path: string, own: string): boolean {
    return [...own.matchAll(/\[\d+\]|\/branches\/[^/]+/g)].some(({ 0: branch, index }) => {
      const rest = path.startsWith(own.slice(0, index)) ? path.slice(index) : '';
      return (
        this.chart.joins.has(toStatic(own.slice(0, index))) &&
        /^(?:\[|\/branches\/)/.test(rest) &&
        !`${rest}/`.startsWith(`${branch}/`)
      );
    });
  }

  /** Whether the steps left more than declared: then `on_error` follows, and nothing is undone. */
  private leavesTooMuch(): boolean {
    // Its `on_error` may fail with another error, which is then that of the caller's step.
    if (this.caller !== undefined) return this.records.some(({ type, step }) => type === 'run.residual' && step === '');
    return this.segment().some(({ type, data }) => type === 'run.moved' && WANTED[data.event] === 'unprotected');
  }

  /**
   * Whether the run fails behind a step's failure and halts in its clean-up: no `catch` takes what interrupted it, and its end has the
   * error of the halt. A `catch` took it where a step around it succeeds.
   */
  private isOverruled(end: RecordOf<'step.ended'>): boolean {
    const behind = this.records.slice(this.records.indexOf(end) + 1);
    const isAround = ({ step, path }: JournalRecord) =>
      end.step.startsWith(`${step}/`) && !this.isBeside(path, end.path);
    const succeeds = (each: JournalRecord) => each.type === 'step.ended' && hasSucceeded(each) && isAround(each);
    const next = behind.find((each) => isBeginning(each) || succeeds(each));
    return (
      next?.type === 'run.moved' &&
      next.data.from === 'running' &&
      next.data.event === 'FAILED' &&
      this.halts(({ data: { from } }) => from !== 'running')
    );
  }

  private isCancelledAfterwards(): boolean {
    const next = this.segment().find((record) => record.type === 'run.moved' && record.data.from === 'running');
    // The end of a run that halted in its clean-up has the error of the halt.
    const isHidden = this.halts(({ data: { from } }) => from !== 'running');
    return next?.type === 'run.moved' && next.data.event === 'FAILED' && (isHidden || isInterruption(this.runError()));
  }

  private halts(counts: (move: RecordOf<'run.moved'>) => boolean): boolean {
    return this.segment().some(
      (record) => record.type === 'run.moved' && record.data.event === 'HALTED' && counts(record),
    );
  }

  private failsAfterwards(): boolean {
    if (this.failedPhases.has('finally') || this.leavesTooMuch()) return true;
    return this.segment().some(
      (record) =>
        record.type === 'run.moved' &&
        record.data.event === 'FAILED' &&
        /^(?:finalizing|exiting)/.test(record.data.from),
    );
  }

  /** The records of the present start or resume of the run. */
  private segment(): readonly JournalRecord[] {
    const end = this.records.findIndex((record, index) => index >= this.at && record.type === 'run.ended');
    const isStart = (record: JournalRecord) => record.type === 'run.ended';
    const before = this.records.slice(0, Math.max(0, this.at)).findLastIndex(isStart);
    return this.records.slice(before + 1, end < 0 ? undefined : end + 1);
  }

  private runError(): ErrorFact | undefined {
    const end = this.segment().at(-1);
    return end?.type === 'run.ended' ? end.data.error : undefined;
  }

  /** Whether an error is that of a scope around the step, which was cancelled: no `catch` takes it. */
  private isAbandoned(error: ErrorFact | undefined, step: string): boolean {
    if (error === undefined) return true;
    if (error.kind !== 'cancelled' && error.kind !== 'timeout') return false;
    if (this.caller?.isAbandoned(error) === true) return true;
    if (error.kind === 'cancelled')
      return /^another branch |^(?:cancelled|kill switch engaged|interrupted) by /.test(error.message);
    return listOuter(step).some((outer) => {
      // A step that handles a failure has a time of its own.
      if (/^\/(?:catch\/\d+|on_timeout)\//.test(step.slice(outer.length))) return false;
      const own = this.begun.has(outer) ? this.nextOwnEnd(outer) : undefined;
      const over = own?.data.error;
      // One that only rose through it has the step where it began.
      return over?.kind === 'timeout' && over.message === error.message && toStatic(over.step ?? '') === outer;
    });
  }

  private isStopping(): boolean {
    const next = this.segment().find((record) => record.type === 'run.moved' && record.data.from === 'running');
    if (this.caller !== undefined) return this.caller.end?.type === 'step.ended';
    return next?.type === 'run.moved' && isStop(next.data.event);
  }

  /** Whether no step of a phase of clean-up follows: a `stop` inside the step may have ended it. */
  private endsPhase(record: JournalRecord): boolean {
    const next = this.records.slice(this.at + 1).find(goesOn);
    return next?.type === 'run.moved' && PHASE_OF[next.data.from] !== undefined && !record.step.startsWith('steps/');
  }

  /** The records from the present one on, behind the attempts of the step that are over in the chart already. */
  private *aheadOf(step: string): Generator<JournalRecord> {
    let over = this.left.get(step)?.length ?? 0;
    for (let index = Math.max(0, this.at); index < this.records.length; index += 1) {
      const record = this.records[index] as JournalRecord;
      if (over === 0) yield record;
      else if (isEndOf(record, step)) over -= 1;
    }
  }

  /** The records of a step itself, to the end of its attempt. */
  private *ofAttempt(step: string): Generator<JournalRecord> {
    for (const record of this.aheadOf(step)) {
      if (record.step !== step) continue;
      if (this.isOfLaterItem(record)) return;
      yield record;
      if (isEndOf(record, step)) return;
    }
  }

  /** Whether the chart is still in an item before that of the record: the step was cancelled there before it was asked for. */
  private isOfLaterItem({ path }: Pick<JournalRecord, 'path'>): boolean {
    return listRounds(path).some(({ loop, round }) => {
      const step = toStatic(loop);
      const entered = this.chart.each.has(step) && !undoesIn(loop, path) ? this.entered.get(step) : undefined;
      return entered !== undefined && entered !== `${loop}[${round}]`;
    });
  }

  private nextOwnEnd(step: string): EndRecord | undefined {
    for (let index = Math.max(0, this.at); index < this.records.length; index += 1) {
      const record = this.records[index] as JournalRecord;
      if (isEndOf(record, step)) return record;
    }
    return undefined;
  }

  private isUndoneNext(step: string): boolean {
    // Steps that were skipped have left the chart already, and are still to come in the journal.
    const skipped = new Map([...this.left].map(([each, list]) => [each, list.length]));
    for (const record of this.records.slice(this.at + 1)) {
      if (record.type === 'run.moved' && /^(?:undoing|settling)/.test(record.data.from)) return false;
      const isSkipped = record.type === 'step.ended' && record.data.outcome === 'skipped';
      const isAsked = record.type === 'step.decided' && record.data.what === 'if';
      const over = skipped.get(record.step) ?? 0;
      if (isSkipped && over > 0) skipped.set(record.step, over - 1);
      if ((isSkipped || isAsked) && over > 0) continue;
      if (record.type === 'step.started' || record.type === 'call.intended' || isSkipped || isAsked)
        return record.step === `${step}/undo` || record.step.startsWith(`${step}/undo/`);
    }
    return false;
  }

  private hasEnded(): boolean {
    return ['succeeded', 'stopped', 'failed', 'halted'].includes(String(this.snapshot.value));
  }

  // The actor

  private isIn(phase: string): boolean {
    const { value } = this.snapshot;
    return value === phase || (typeof value === 'object' && Object.hasOwn(value, phase));
  }

  private nodeOf(step: string) {
    return this.snapshot._nodes.find(({ meta }) => meta?.path === step);
  }

  private isAt(step: string): boolean {
    return this.nodeOf(step) !== undefined;
  }

  private isLeaf(step: string): boolean {
    return this.nodeOf(step)?.type === 'atomic';
  }

  private child(path: string): AnyActor | undefined {
    return this.snapshot.children[actorId(path)];
  }

  /** Ends the actor of a step: done, or failed with a kind of error. */
  private end(path: string, kind?: string): void {
    this.endActor(actorId(path), kind);
  }

  private endActor(id: string, kind: string | undefined): void {
    this.act(() => this.snapshot.children[id]?.send(kind === undefined ? { type: 'ends' } : { type: 'fails', kind }));
  }

  private send(type: string): void {
    this.act(() => this.actor.send({ type }));
  }

  private act(work: () => void): void {
    const { chart } = this;
    const before = chart.asking;
    chart.asking = (guard, text, event) => this.answer(guard, text, event);
    try {
      work();
    } finally {
      chart.asking = before;
    }
  }

  /** Notes how the chart leaves steps, from the transitions that XState takes. */
  private inspect(event: InspectionEvent): void {
    if (event.type !== '@xstate.microstep') return;
    for (const { source, target = [], eventType, guard } of event._transitions as readonly TakenTransition[]) {
      const hasFailed = eventType.startsWith('xstate.error.') || guard?.params?.what === 'cancelled';
      const [from] = source.path;
      if (from === 'running' && target.some(({ path }) => path[0] !== 'running'))
        this.ending = source.path.length > 1 ? 'stopped' : (ENDINGS[eventType] ?? (hasFailed ? 'failed' : 'completed'));
      if (guard?.params?.what === 'unprotected') this.ending = 'unprotected';
      if (from !== undefined && source.path.length === 1 && hasFailed) this.failedPhases.add(from);
      const join = source.parent?.type === 'parallel' ? source.parent : source.parent?.parent;
      const isBranch = source.tags?.includes('branch') || source.tags?.includes('round');
      if (isBranch && hasFailed && join?.type === 'parallel' && !this.isEndingBranches && join.meta?.path !== undefined)
        this.failedJoins.add(join.meta.path);
      if (hasFailed) this.noteRisen(event.event.type, source);
      for (const { path } of target) this.noteStopped(source, path);
      const step = source.meta?.path;
      if (step === undefined || target.length === 0) continue;
      const isDone = eventType.startsWith('xstate.done.');
      this.noteLeft(step, isDone && guard?.params?.what !== 'branch_failed' ? 'done' : 'failed');
    }
  }

  /** A failure has left each step that it rises through, before anything that the chart runs ahead to. */
  private noteRisen(failure: string, source: TakenNode): void {
    const id = `${failure.replace('xstate.error.actor.', '')}.`;
    const inside = this.snapshot._nodes.filter(
      ({ path, meta }) => path.length > source.path.length && id.startsWith(`${actorId(String(meta?.path))}.`),
    );
    for (const { meta } of inside) this.noteLeft(meta.path, 'failed');
  }

  /** A `stop` in a branch or an item has left each step around it there: the next item begins them anew. */
  private noteStopped({ parent, path: [phase] }: TakenNode, to: readonly string[]): void {
    const isAround = ({ path }: TakenNode) => path.every((key, index) => to[index] === key);
    for (let node = parent; phase === to[0] && node !== undefined && !isAround(node); node = node.parent)
      if (node.meta?.path !== undefined) this.noteLeft(node.meta.path, 'done');
  }

  private noteLeft(step: string, how: Left): void {
    this.left.set(step, [...(this.left.get(step) ?? []), how]);
  }

  private departs({ seq, type, path }: JournalRecord, what: string): Departure {
    return new Departure(
      `entry ${seq} (${type} ${path}): ${what}; the chart is in ${JSON.stringify(this.snapshot.value)}`,
    );
  }
}

const hasLeft = (record: JournalRecord): record is RecordOf<'run.moved'> =>
  record.type === 'run.moved' && record.data.from === 'running';

/** Whether the run fails, or a step by itself, here. */
function endsEarly(record: JournalRecord): boolean {
  if (record.type === 'run.moved') return record.data.event === 'FAILED';
  return 'error' in record.data && toStatic(record.data.error?.step ?? '') === record.step;
}

/** The chart's phase by the state of the run. */
const PHASE_OF: Readonly<Record<string, string>> = {
  undoing: 'undo',
  undoingHalted: 'undo',
  handling: 'on_error',
  handlingHalted: 'on_error',
  finalizing: 'finally',
  finalizingStopped: 'finally',
  finalizingFailed: 'finally',
  finalizingHalted: 'finally',
  settling: 'settling',
};

/** How the steps end, by the event of the run that ends them. */
const WANTED: Readonly<Record<string, 'completed' | 'stopped' | 'unprotected' | 'failed' | 'halted'>> = {
  COMPLETED: 'completed',
  STOPPED: 'stopped',
  UNPROTECTED: 'unprotected',
  STOPPED_UNPROTECTED: 'unprotected',
  FAILED: 'failed',
  HALTED: 'halted',
};

const isStop = (event: string): boolean => event === 'STOPPED' || event === 'STOPPED_UNPROTECTED';

const ENDINGS: Readonly<Record<string, 'stopped' | 'failed' | 'halted'>> = {
  STOPPED: 'stopped',
  FAILED: 'failed',
  HALTED: 'halted',
};

interface TakenNode {
  readonly path: readonly string[];
  readonly type: string;
  readonly tags?: readonly string[];
  readonly parent?: TakenNode;
  readonly meta?: { readonly path?: string };
}

interface TakenTransition {
  readonly source: TakenNode;
  readonly target?: readonly { readonly path: readonly string[] }[];
  readonly eventType: string;
  readonly guard?: { readonly params?: Guard };
}

/** An end that comes from outside of the steps. */
function isInterruption(error: ErrorFact | undefined): boolean {
  return error?.kind === 'cancelled' || error?.kind === 'deadman_fired';
}
