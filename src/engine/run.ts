/**
 * Executes one run from its first entry to its last. The run machine decides which part comes next; this file makes the
 * parts and walks them. Starting and resuming are the same function: what differs is whether the ports play a record first.
 */
import { PassingMap } from '../base/passing-map.ts';
import type { Away, DataOf, ErrorFact, JsonObject, RunOutcome } from '../journal/entry.ts';
import { addsRisk } from '../runbook/steps/risk.ts';
import { toJson, type Value } from '../runbook/values.ts';
import { pickLarger } from '../venue/order/fills.ts';
import { POLL_MS } from '../venue/order/polling.ts';
import { onlyProtects } from '../venue/position/residual.ts';
import type { RunContext, Undo } from './context.ts';
import { Heartbeat } from './deadman/heartbeat.ts';
import { FeedCache } from './feeds.ts';
import { startGlobals } from './globals.ts';
import { Cancellation, Halt, InternalFailure, runEach, StepFailure, Stop, toInterruption } from './interruption.ts';
import { judgeEnd, readAllUnseen, readUnseen, requireKept } from './leaves.ts';
import { type RunEvent, startRunActor } from './machines.ts';
import { OrderManager } from './orders/orders.ts';
import type { OperatorCommand, RunPorts, RunSetup } from './ports.ts';
import { RunPositions } from './positions.ts';
import { reconcile } from './reconciliation.ts';
import { Frame, StepScope } from './scope.ts';
import { Interpreter } from './steps/interpreter.ts';
import { Approvals } from './waiting.ts';
import { WallTime } from './wall-time.ts';

export type RunResult = DataOf<'run.ended'>;

/** A run under way. */
export interface RunningRun {
  readonly done: Promise<RunResult>;
  /**
   * Another process continues the run. A halted run looks up every order whose fate is unknown, cancels those that rest, and
   * leaves the deadman switch as declared; it ends failed, or halted again. A run that was under way continues. Where only the
   * wall clock knows how long no process ran it (`away`), an armed deadman switch counts as fired.
   */
  takenUp(away?: Away): void;
  /** The end of the last resume; the run's first end where it was not resumed. */
  settled(): Promise<RunResult>;
  /** Passes a command of a person or a signal to the run. Its journal entry exists already. */
  command(command: OperatorCommand): void;
  /** Reports that the wall clock was adjusted, and by how many ms it is ahead of the run's clock. Its journal entry exists already. */
  clockPut(wallAheadMs: number): void;
  /** Reports that the store does not answer, or answers again. Its journal entry exists already. */
  storeMoved(event: DataOf<'store.moved'>['event']): void;
}

/**
 * Starts a run. `run.started` is already in the journal. What is thrown while the run is executed fails it (kind `internal`), with
 * its undo, `on_error`, `finally`, `on_exit` and `run.ended`: an order must not be left because of an internal error. The promise
 * rejects only where the journal itself cannot be appended to.
 */
export function startRun(setup: RunSetup, ports: RunPorts): RunningRun {
  const execution = new Execution(setup, ports);
  const done = execution.run();
  let last = done;
  return {
    done,
    command: (command) => execution.command(command),
    clockPut: (wallAheadMs) => execution.clockPut(wallAheadMs),
    storeMoved: (event) => execution.storeMoved(event),
    takenUp: (away) => {
      execution.markResumed();
      if (away?.by === 'wall') execution.markUnseen(away.ms);
      if (execution.hasHalted) last = execution.settleHalted();
    },
    settled: () => last,
  };
}

/** How the steps of a run ended. */
type Ending =
  | { readonly kind: 'completed' }
  | { readonly kind: 'stopped'; readonly stop: Stop }
  /** `unprotected`: the steps are done, or have stopped the run, and left more than the runbook declares, or somebody ended the look at that. */
  | { readonly kind: 'failed' | 'halted' | 'unprotected' | 'stoppedUnprotected'; readonly error: ErrorFact };

class Execution {
  private readonly context: RunContext;
  private readonly interpreter: Interpreter;
  private readonly actor = startRunActor();
  private readonly whole = new Cancellation();
  private killed = false;
  private readonly approvals = new Approvals();
  private frame: Frame | undefined;
  private haltedFor: ErrorFact | undefined;
  /** How many times another process took the run up, and how many of these had been when it looked at its end. */
  private resumes = 0;
  private lookedIn = 0;

  constructor(setup: RunSetup, ports: RunPorts) {
    const calls = new PassingMap<string, number>();
    const callId = (path: string) => {
      const n = (calls.get(path) ?? 0) + 1;
      calls.set(path, n);
      return `${path}#${n}`;
    };
    const numberCalls = (path: string, last: number) => calls.set(path, last);
    const releaseCalls = (path: string) => calls.delete(path);
    const undos: Undo[] = [];
    journalOrders(ports.log);
    const feeds = new FeedCache(ports.venue, ports.clock);
    const wall = new WallTime(ports.clock);
    const heartbeat = new Heartbeat({
      ...ports,
      mode: setup.mode,
      callId,
      numberCalls,
      whole: this.whole,
      readAll: (step) => this.context.orderManager.readAll(step),
    });
    const shared = {
      ...ports,
      setup,
      wall,
      feeds,
      heartbeat,
      undos,
      callId,
      releaseCalls,
      approvals: this.approvals,
      isKilled: () => this.killed,
      countResumes: () => this.resumes,
      positions: new RunPositions(ports.log.tracker),
    };
    this.context = { ...shared, orderManager: new OrderManager(shared) };
    this.interpreter = new Interpreter(this.context);
  }

  command(command: OperatorCommand): void {
    if (command.command === 'approve' || command.command === 'reject') {
      this.approvals.give(command);
      return;
    }
    if (command.command === 'kill') this.killed = true;
    const verb = { cancel: 'cancelled', kill: 'kill switch engaged', interrupt: 'interrupted' }[command.command];
    this.whole.cancel(
      'operator',
      `${verb} by ${command.by}${command.reason === undefined ? '' : `: ${command.reason}`}`,
    );
  }

  clockPut(wallAheadMs: number): void {
    this.context.wall.adjust(wallAheadMs);
  }

  storeMoved(event: DataOf<'store.moved'>['event']): void {
    if (event === 'away') this.context.heartbeat.markSuspended();
    else this.context.heartbeat.markResumed();
  }

  markResumed(): void {
    this.resumes += 1;
    this.context.orderManager.watch.forgetShown();
    this.context.heartbeat.markResumed();
  }

  markUnseen(ms: number): void {
    this.context.heartbeat.markUnseen();
    this.context.orderManager.markUnseen(ms);
  }

  async run(): Promise<RunResult> {
    let ending = await this.walk();
    if (ending.kind === 'completed' || ending.kind === 'stopped') ending = await this.holdToLeaves(ending);
    // The steps did what they were to do: nothing undoes them, also where a halt comes later and the run is resumed.
    if (ending.kind !== 'failed' && ending.kind !== 'halted') this.context.undos.length = 0;
    let error = 'error' in ending ? ending.error : undefined;
    let state = this.move(
      {
        completed: 'COMPLETED',
        stopped: 'STOPPED',
        unprotected: 'UNPROTECTED',
        stoppedUnprotected: 'STOPPED_UNPROTECTED',
        failed: 'FAILED',
        halted: 'HALTED',
      }[ending.kind] as RunEvent,
    );
    while (!ENDED.has(state)) {
      const part = await this.attempt(() => this.runPart(state, error));
      if (part.kind === 'failed' || part.kind === 'halted') error ??= part.error;
      if (part.kind === 'halted' && ending.kind !== 'halted') {
        // The error that needs a person takes precedence over the one that ended the run.
        ending = part;
        error = part.error;
      }
      state = this.move(
        part.kind === 'halted'
          ? 'HALTED'
          : part.kind === 'failed' && state !== 'undoing' && state !== 'undoingHalted'
            ? 'FAILED'
            : 'DONE',
      );
    }
    if (state === 'halted') await this.leaveSwitch();
    await this.waitForArrivals();
    const outcome = state as RunOutcome;
    const outputs = outcome === 'succeeded' || outcome === 'stopped' ? this.evaluateOutputs() : {};
    this.haltedFor = outcome === 'halted' ? error : undefined;
    const result: RunResult = {
      outcome,
      ...(ending.kind === 'stopped' ? { reason: ending.stop.outcome } : {}),
      ...(error === undefined ? {} : { reason: error.message, error }),
      outputs,
    };
    this.end(result);
    return result;
  }

  /** Journals what the run leaves, and its end, which an internal error in the former must not keep out. */
  private end(result: RunResult): void {
    const { log, onCrash, heartbeat } = this.context;
    let left: DataOf<'run.residual'> | undefined;
    try {
      left = judgeEnd(this.context).data;
    } catch (error) {
      onCrash?.(error);
    }
    if (left !== undefined) log.append('run.residual', left, '');
    log.append('run.ended', result, '');
    heartbeat.markEnded();
  }

  /** What the steps left, where that is more than the runbook declares: the ending that leads to `on_error`. */
  private async holdToLeaves(ending: Ending): Promise<Ending> {
    const { runbook, fillsWindowMs } = this.context.setup;
    const held = await this.attempt(async () => {
      await this.context.orderManager.lookUpLimited('settle', fillsWindowMs);
      await readAllUnseen(this.context, runbook, { cancel: this.whole });
      // A kill or a cancel while it looked, which may have been a minute: `on_error` is owed to it as behind a step.
      this.whole.check();
      requireKept(this.context, { runbook, prefix: '' }, '');
    });
    if (!('error' in held)) return ending;
    if (!BEHIND_STEPS.has(held.error.kind)) return held;
    return { kind: ending.kind === 'stopped' ? 'stoppedUnprotected' : 'unprotected', error: held.error };
  }

  get hasHalted(): boolean {
    return this.haltedFor !== undefined;
  }

  /** Settles a halted run: looks up orders in doubt, cancels those that rest, and disarms the switch if so declared. */
  async settleHalted(): Promise<RunResult> {
    const { orderManager } = this.context;
    const before = this.haltedFor;
    this.haltedFor = undefined;
    this.move('RESUMED');
    const part = await this.attempt(async () => {
      // What rested may have filled while no process was there.
      await readUnseen(this.context, {});
      await orderManager.settleDoubts('settle');
      await runEach(
        () => this.undo(this.context.undos, true),
        () => orderManager.finishUndo(),
      );
      await readUnseen(this.context, {});
      await this.exitSwitch(false);
    });
    const failed = part.kind === 'failed' || part.kind === 'halted' ? part.error : undefined;
    const outcome = this.move(failed === undefined ? 'DONE' : 'HALTED') as RunOutcome;
    if (outcome === 'halted') {
      this.haltedFor = failed;
      await this.leaveSwitch();
    }
    const error = outcome === 'halted' ? failed : before;
    const result: RunResult = {
      outcome,
      ...(error === undefined ? {} : { reason: error.message, error }),
      outputs: {},
    };
    await this.waitForArrivals();
    this.end(result);
    return result;
  }

  /**
   * Leaves the switch of a run that halts armed, so that it cancels what may fill; where only stops work it is disarmed as
   * declared, because it would take nothing but the stops away.
   */
  private async leaveSwitch(): Promise<void> {
    const { heartbeat, log } = this.context;
    if (!heartbeat.disarmsAtExit || !onlyProtects(log.tracker.orders())) return heartbeat.abandon();
    // One that cannot be disarmed stays armed, and the run says so: it has halted already.
    await this.attempt(() => heartbeat.exit());
  }

  /** Nothing is written behind the end: readings under way are answered first, and messages delivered or given up. */
  private async waitForArrivals(): Promise<void> {
    const { orderManager, setup } = this.context;
    await orderManager.watch.waitForReadings(setup.fillsWindowMs);
    const deliveries = this.context.notifier.settled?.();
    if (deliveries !== undefined) await deliveries;
  }

  /** The runbook's steps. */
  private async walk(): Promise<Ending> {
    const { setup, heartbeat } = this.context;
    return this.attempt(async () => {
      const globals = await startGlobals(this.context, setup.runbook, setup.inputs, { path: '', limits: undefined });
      this.frame = new Frame(globals, { staticPath: '', path: '' });
      // First: where this fails the run has not begun, and no clean-up of it places an order without its switch.
      await heartbeat.enter(this.frame, this.context.wall.now(), '');
      this.move('STARTED');
      if (setup.mode === 'live') await reconcile(this.context, this.whole);
      await this.interpreter.block(setup.runbook.steps, this.frame, this.whole);
      // An interruption that came while no step was waiting: the switch fired in the last step, or a person cancelled.
      this.whole.check();
    });
  }

  /** Does the work of one state of the run machine. Clean-up has a scope of its own, so it runs after a cancel as well. */
  private async runPart(state: string, error: ErrorFact | undefined): Promise<void> {
    const { runbook, fillsWindowMs } = this.context.setup;
    const { orderManager, undos } = this.context;
    const isHalting = HALTING.has(state);
    const cleanup = new Cancellation(undefined, { onlyReduces: isHalting });
    switch (state) {
      case 'undoing':
      case 'undoingHalted':
        // A way out must not wait for tokens: what gets none is looked up at the end.
        await orderManager.lookUpLimited('settle', 0);
        await this.undo(undos, isHalting);
        return;
      case 'handling':
      case 'handlingHalted': {
        const frame = this.frame?.handler(error);
        if (frame !== undefined && !(isHalting && addsRisk(runbook, runbook.onError)))
          await this.interpreter.cleanUp(runbook.onError, frame, cleanup);
        return;
      }
      case 'finalizing':
      case 'finalizingStopped':
      case 'finalizingFailed':
      case 'finalizingHalted': {
        const frame = this.frame?.lastWord(error);
        await runEach(
          async () => frame !== undefined && this.interpreter.cleanUp(runbook.finally, frame, cleanup),
          () => orderManager.lookUpLimited('settle', fillsWindowMs),
          () => orderManager.lookForLate('settle', fillsWindowMs),
          () => orderManager.settle('settle', new Cancellation(), state === 'finalizingFailed'),
          () => this.lookAtEnd(state),
          async () => state !== 'finalizingHalted' && orderManager.requireKnown('settle'),
        );
        return;
      }
      default:
        await this.exitSwitch(isHalting);
        // What was read before another process took the run up says nothing of what it leaves.
        while (this.lookedIn !== this.resumes) await this.lookAtEnd(state);
        if (state === 'exitingSucceeded' || state === 'exitingStopped') this.requireKeptAtEnd();
    }
  }

  /**
   * Reads what the run has at the venue, and its fills until they are the venue's. Where those took long, once more what it has: a stop may
   * have ended meanwhile.
   */
  private async lookAtEnd(state: string): Promise<void> {
    const { clock, setup } = this.context;
    const endsWell = ['finalizing', 'finalizingStopped', 'exitingSucceeded', 'exitingStopped'].includes(state);
    const look = async () => {
      if (endsWell) await readAllUnseen(this.context, setup.runbook, {});
      else await readUnseen(this.context, {});
      this.lookedIn = this.resumes;
    };
    let since = clock.now();
    await runEach(look, () => {
      since = clock.now();
      return this.reconcileFills(state === 'finalizingHalted');
    });
    if (clock.now() - since > POLL_MS) await look();
  }

  /** The run's fills are the venue's before it ends. A run that halts reads once: its venue may not answer at all. */
  private async reconcileFills(hasHalted: boolean): Promise<void> {
    const { clock, orderManager, setup } = this.context;
    const windowMs = hasHalted ? 0 : setup.fillsWindowMs;
    const deadlineAt = clock.now() + windowMs;
    await orderManager.reconcileFills({ step: 'settle', windowMs, deadlineAt, cancel: new Cancellation() });
  }

  /** Ends the switch as declared, and reads what became of orders until then. */
  private async exitSwitch(isHalting: boolean): Promise<void> {
    const { heartbeat, orderManager, setup } = this.context;
    await heartbeat.exit();
    // A switch that may have fired meanwhile may have taken the orders that the run leaves.
    if (orderManager.hasCanceling) await orderManager.readAll('settle');
    await orderManager.watch.waitForReadings(setup.fillsWindowMs);
    // A reading, also one that waited for tokens, may have shown an end, or more that filled.
    await this.reconcileFills(isHalting);
  }

  /** Throws StepFailure where a run that did what it was to do ends with more than it declares: it has not succeeded. */
  private requireKeptAtEnd(): void {
    const { data, message } = judgeEnd(this.context);
    if (!data.ok) throw new StepFailure('unprotected_position', message, '');
  }

  /** Undoes completed steps, newest first. After one fails the others are still undone. */
  private async undo(undos: Undo[], isHalting: boolean): Promise<void> {
    let worst: unknown;
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
      try {
        // A scope for each: a halt of one cancels its own.
        await undo(new Cancellation(undefined, { onlyReduces: isHalting || worst instanceof Halt }));
      } catch (error) {
        if (worst === undefined || error instanceof Halt) worst = error;
      }
    }
    if (worst !== undefined) throw worst;
  }

  private evaluateOutputs(): JsonObject {
    const { runbook } = this.context.setup;
    const { frame } = this;
    if (frame === undefined) return {};
    const fields: Record<string, ReturnType<typeof toJson>> = {};
    for (const { name, value } of runbook.outputs) {
      try {
        fields[name] = toJson(value.evaluate(new StepScope(frame, this.context.wall.now())) as Value);
      } catch {
        // A run that stopped early may lack values that its outputs name.
        fields[name] = null;
      }
    }
    return fields as JsonObject;
  }

  private async attempt(work: () => Promise<void>): Promise<Ending> {
    try {
      await work();
      return { kind: 'completed' };
    } catch (thrown) {
      const error = toInterruption(thrown, '');
      if (error instanceof Stop) return { kind: 'stopped', stop: error };
      if (error instanceof Halt) return { kind: 'halted', error: error.fact };
      if (error instanceof InternalFailure) this.context.onCrash?.(error.cause);
      if ('fact' in error) return { kind: 'failed', error: error.fact };
      return {
        kind: 'failed',
        error: { kind: error.reason.why === 'deadman' ? 'deadman_fired' : 'cancelled', message: error.message },
      };
    }
  }

  private move(event: RunEvent): string {
    const from = this.actor.state;
    const to = this.actor.decide(event);
    this.context.log.append('run.moved', { from, to, event }, '');
    return to;
  }
}

/** States in which a run that halts cleans up: nothing that adds risk is sent. */
const HALTING = new Set(['undoingHalted', 'handlingHalted', 'finalizingHalted']);
const ENDED = new Set(['succeeded', 'stopped', 'failed', 'halted']);
/** What ends a run whose steps are done, or have stopped it, without undoing them. */
const BEHIND_STEPS: ReadonlySet<string> = new Set(['unprotected_position', 'cancelled', 'deadman_fired']);

/** Journals each order's change of state, directly after the entry that caused it. */
function journalOrders(log: RunPorts['log']): void {
  log.tracker.onChange(({ order, from, to, event, alarms }) => {
    const { clientOrderId } = order.intent;
    const { venueId, filled: read, recordFilled } = order.snapshot.context;
    // A record may show more than the fills that were read.
    const filled = pickLarger(read, recordFilled);
    if (from !== to) {
      const id = venueId === undefined ? {} : { orderId: venueId };
      log.append('order.moved', { clientOrderId, ...id, from, to, event, filled }, order.step);
    }
    for (const { alarm, detail } of alarms) log.append('order.alarmed', { clientOrderId, alarm, detail }, order.step);
  });
}
