/**
 * Executes the steps that control the walk: wait, branch, repeat, stop. Each is one function. They reach the venue only through
 * the steps inside them. The checker requires a bound of every loop; it is enforced here.
 */
import { Decimal } from '../../base/decimal.ts';
import { LEFT_BRANCH } from '../../journal/entry.ts';
import type { CheckedStep, StepName, StepOf } from '../../runbook/checked.ts';
import { LOOK_EVERY_MS } from '../../runbook/steps/control.ts';
import type { VenueStepName } from '../../runbook/steps/steps.ts';
import { listVisibleIds } from '../../runbook/steps/walk.ts';
import { type Expr, type RecordValue, toJson, type Value } from '../../runbook/values.ts';
import { Abandoned, Cancellation, Halt, StepFailure, Stop } from '../interruption.ts';
import { asHandle, referToOrders } from '../readings/handles.ts';
import { type Frame, StepScope } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import { callRunbook } from './call.ts';
import type { StepExecution } from './execution.ts';
import { waitForFirst, waitForOrder } from './order-steps.ts';
import { passRounds } from './passing.ts';

export type ControlVerb = Exclude<StepName, VenueStepName>;
type Control<V extends ControlVerb> = (execution: StepExecution<StepOf<V>>) => Promise<Value> | Value;

export function runControl(execution: StepExecution): Promise<Value> | Value {
  const control = CONTROLS[execution.step.verb as ControlVerb] as Control<ControlVerb>;
  return control(execution as StepExecution<StepOf<ControlVerb>>);
}

const CONTROLS: { readonly [V in ControlVerb]: Control<V> } = {
  let(execution) {
    for (const { name, value } of execution.args.names) execution.frame.set(name, execution.evaluate(value));
    return undefined;
  },

  set(execution) {
    const values = execution.args.names.map(({ name, value }) => [name, execution.evaluate(value)] as const);
    for (const [name, value] of values) {
      execution.frame.globals.values.set(name, value);
      execution.run.log.append('variable.set', { name, value: toJson(referToOrders(value)) }, execution.path);
    }
    return undefined;
  },

  assert(execution) {
    if (execution.decide('assert', execution.args.condition)) return undefined;
    const because = execution.evaluateGiven(execution.step.because);
    throw new StepFailure(
      'assertion',
      `not true: ${execution.args.condition.text}${because === undefined ? '' : `: ${because}`}`,
      execution.path,
    );
  },

  async wait(execution) {
    const { args } = execution;
    const { clock, wall, heartbeat } = execution.run;
    if (args.kind === 'until') {
      const instant = Math.ceil(execution.evaluate(args.until).us / 1000);
      await wall.waitUntil(instant, execution.cancel, (until) => heartbeat.markWaiting(execution.path, until));
      return undefined;
    }
    const until = clock.now() + execution.evaluate(args.for).ms;
    await waitUntil(execution, until);
    return undefined;
  },

  async wait_for(execution) {
    const { args } = execution;
    if (args.kind === 'order') return waitForOrder(execution, args);
    if (args.kind === 'any') return waitForFirst(execution, args);
    if (args.kind === 'until') return waitForCondition(execution, args);
    const { clock, wall } = execution.run;
    const deadline = clock.now() + execution.evaluate(args.within).ms;
    const every = execution.evaluate(args.every).ms;
    for (let round = 0; ; round += 1) {
      const frame = makeIteration(execution, round);
      const startedAt = clock.now();
      await execution.walker.step(args.read, frame, execution.cancel);
      const { id } = args.read;
      // The read's name outlives the wait: on_timeout and later steps refer to the last reading.
      if (id !== undefined) execution.frame.set(id, frame.find(id));
      if (execution.step.id !== undefined) execution.frame.set(execution.step.id, id && frame.find(id));
      if (execution.decide('until', args.until, new StepScope(frame, wall.now())))
        return id === undefined ? undefined : frame.find(id);
      const next = startedAt + every;
      if (next > deadline) {
        if (clock.now() < deadline) await waitUntil(execution, deadline);
        throw new StepFailure('timeout', `not true within the time given: ${args.until.text}`, execution.path);
      }
      await waitUntil(execution, next);
    }
  },

  async for_each(execution) {
    const { each, in: list, at: position, do: steps, collect } = execution.args;
    const items = execution.evaluate(list);
    const collected: RecordValue[] = [];
    for (const [index, item] of items.entries()) {
      const pause = execution.walker.pace.next(execution.cancel);
      if (pause !== undefined) await pause;
      const frame = makeIteration(execution, index);
      frame.set(each, item);
      if (position !== undefined) frame.set(position, new Decimal(index));
      await execution.block(steps, frame);
      if (collect !== undefined) {
        const scope = new StepScope(frame, execution.run.wall.now());
        collected.push(Object.fromEntries(collect.map(({ name, value }) => [name, execution.evaluate(value, scope)])));
      }
    }
    if (collect === undefined) return undefined;
    execution.requireBounded(collected.map(Object.values<Value>), 'collect');
    // The orders of earlier rounds may have filled since.
    for (const record of collected) for (const value of Object.values<Value>(record)) asHandle(value)?.touch();
    return collected;
  },

  async repeat(execution) {
    const { every, for: duration, max, while: condition, until, do: steps } = execution.args;
    const { clock } = execution.run;
    const startedAt = clock.now();
    const period = execution.evaluateGiven(every)?.ms;
    const endsAt = duration === undefined ? undefined : startedAt + execution.evaluate(duration).ms;
    const most = max === undefined ? undefined : execution.evaluateCount(max);
    for (let round = 0; most === undefined || round < most; round += 1) {
      const pause = execution.walker.pace.next(execution.cancel);
      if (pause !== undefined) await pause;
      if (endsAt !== undefined && clock.now() >= endsAt) break;
      const passed = passRounds(execution, round);
      let roundAt = passed?.beganAt;
      if (passed === undefined) {
        const frame = makeIteration(execution, round);
        if (condition !== undefined && !(await decideFresh(execution, 'while', condition, { frame }))) break;
        roundAt = clock.now();
        await execution.block(steps, frame);
        if (until !== undefined && (await decideFresh(execution, 'until', until, { frame }))) break;
      } else round = passed.next - 1;
      if (period === undefined || roundAt === undefined) continue;
      const next = roundAt + period;
      if (endsAt !== undefined && next >= endsAt) {
        if (most === undefined || round + 1 < most) await waitUntil(execution, endsAt);
        break;
      }
      if (most === undefined || round + 1 < most) await waitUntil(execution, next);
    }
    return undefined;
  },

  async parallel(execution) {
    const { args } = execution;
    const branches =
      args.kind === 'branches'
        ? args.branches.map(({ name, do: steps }) => ({
            steps,
            frame: execution.frame.inner({
              staticPath: `${execution.step.path}/branches/${name}`,
              path: `${execution.path}/branches/${name}`,
            }),
          }))
        : execution.evaluate(args.in).map((item, index) => {
            const frame = makeIteration(execution, index);
            frame.set(args.each, item);
            return { steps: args.do, frame };
          });
    const width = args.kind === 'each' ? execution.evaluateCount(args.max) : branches.length;
    const join = args.kind === 'branches' ? args.join : 'all';
    try {
      await runBranches(execution, branches, { width, join, onFail: args.onFail });
    } finally {
      if (args.kind === 'branches') for (const { steps, frame } of branches) shareIds(steps, frame, execution);
    }
    return undefined;
  },

  if: runFirstCase,

  switch: runFirstCase,

  call: callRunbook,

  async approve(execution) {
    const { ask, by, within, onTimeout } = execution.args;
    const { clock, log, approvals, heartbeat, setup } = execution.run;
    const until = clock.now() + execution.evaluate(within).ms;
    log.append('approval.asked', { ask: execution.evaluate(ask), by, until, plan: setup.plan }, execution.path);
    heartbeat.markWaiting(execution.path, until);
    const own = new Cancellation(execution.cancel);
    const timer = clock.at(until, () => own.cancel('timeout', 'no answer within the time given'));
    try {
      const answer = await approvals.answer(execution.path, own);
      if (answer.command === 'approve') return undefined;
      throw new StepFailure(
        'approval_rejected',
        `rejected by ${answer.by}${answer.reason === undefined ? '' : `: ${answer.reason}`}`,
        execution.path,
      );
    } catch (error) {
      if (!(error instanceof Abandoned) || !own.timedOut) throw error;
      const kind = onTimeout === 'reject' ? 'approval_rejected' : 'timeout';
      throw new StepFailure(kind, error.reason.message, execution.path);
    } finally {
      timer.cancel();
      own.close();
    }
  },

  notify(execution) {
    const { to, text, severity } = execution.args;
    const message = execution.evaluate(text);
    const given = severity === undefined ? {} : { severity };
    execution.run.log.append('notification.sent', { to, text: message, ...given }, execution.path);
    execution.run.notifier.send(to, message, execution.path, severity ?? 'info');
    return undefined;
  },

  stop(execution) {
    const because = execution.evaluateGiven(execution.step.because) ?? '';
    throw new Stop(execution.args.outcome, because);
  },

  fail(execution) {
    const because = execution.evaluateGiven(execution.step.because) ?? 'the runbook failed here';
    throw new StepFailure('assertion', because, execution.path);
  },
};

/** Evaluates a condition of values as they are until it holds: at once, after each pause, and when the time is over. */
async function waitForCondition(
  execution: StepExecution<StepOf<'wait_for'>>,
  args: Extract<StepOf<'wait_for'>['args'], { kind: 'until' }>,
): Promise<Value> {
  const { clock } = execution.run;
  const deadline = clock.now() + execution.evaluate(args.within).ms;
  const every = execution.evaluateGiven(args.every)?.ms ?? LOOK_EVERY_MS;
  for (;;) {
    const pause = execution.walker.pace.next(execution.cancel);
    if (pause !== undefined) await pause;
    const startedAt = clock.now();
    if (await decideFresh(execution, 'until', args.until, execution)) return undefined;
    if (clock.now() >= deadline)
      throw new StepFailure('timeout', `not true within the time given: ${args.until.text}`, execution.path);
    await waitUntil(execution, Math.min(startedAt + every, deadline));
  }
}

/** Runs the steps of the first case whose condition is true, else those of `else`. */
async function runFirstCase(execution: StepExecution<StepOf<'if' | 'switch'>>): Promise<Value> {
  const { cases, else: otherwise } = execution.args;
  const taken = cases.find(({ when }) => execution.decide('when', when))?.do ?? otherwise;
  if (taken === undefined) return undefined;
  // An attempt of its own, as in a loop: an order of the attempt before is another order.
  const frame = execution.frame.inner({ staticPath: execution.step.path, path: execution.path });
  try {
    await execution.block(taken, frame);
  } finally {
    shareIds(taken, frame, execution);
  }
  return undefined;
}

/**
 * The ids of a block stay visible after it; those of steps that it did not reach are absent. A block that failed has ids too: what
 * handles the failure would otherwise take an order that rests for one that was never placed.
 */
function shareIds(steps: readonly CheckedStep[], inner: Frame, { frame }: StepExecution): void {
  for (const id of listVisibleIds(steps)) frame.set(id, inner.find(id));
}

/**
 * Waits on purpose. Only this wait counts as progress for the heartbeats, not the whole time of a loop: a step that hangs inside
 * a loop must not pass for a loop that waits.
 */
function waitUntil(execution: StepExecution, until: number): Promise<void> {
  execution.run.heartbeat.markWaiting(execution.path, until);
  return sleepUntil(execution.run.clock, until, execution.cancel);
}

function makeIteration({ frame, step, path }: StepExecution, index: number): Frame {
  return frame.inner({ staticPath: step.path, path: `${path}[${index}]` });
}

async function decideFresh(
  execution: StepExecution,
  what: string,
  condition: Expr<boolean>,
  { frame, path = frame.path }: { readonly frame: Frame; readonly path?: string },
): Promise<boolean> {
  const { wall, feeds } = execution.run;
  const scope = new StepScope(frame, wall.now());
  await feeds.ensure(execution.step.feeds, frame.globals.runbook.feeds, scope, execution.path);
  return execution.walker.decideCondition(what, condition, new StepScope(frame, wall.now()), path);
}

interface Branch {
  readonly steps: readonly CheckedStep[];
  readonly frame: Frame;
}

/**
 * Runs branches, at most `width` at a time, and leaves none behind: the block ends when every branch has ended. A failure
 * cancels the others' waits (cancel_others) or lets them finish; either way it is the first failure that is thrown.
 */
async function runBranches(
  execution: StepExecution,
  branches: readonly Branch[],
  policy: {
    readonly width: number;
    readonly join: 'all' | 'any';
    readonly onFail: 'cancel_others' | 'let_others_finish';
  },
): Promise<void> {
  const { walker } = execution;
  const own = new Cancellation(execution.cancel);
  const failures: unknown[] = [];
  let finished = 0;
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let branch = branches[next++]; branch !== undefined; branch = branches[next++]) {
      if (own.reason !== undefined) return;
      try {
        const pause = walker.pace.next(own);
        if (pause !== undefined) await pause;
        await walker.block(branch.steps, branch.frame, own);
        finished += 1;
        if (policy.join === 'any') own.cancel('sibling', LEFT_BRANCH);
      } catch (error) {
        const isOwn = error instanceof Abandoned && error.reason.origin === own;
        if (!isOwn) failures.push(error);
        // A branch that a person or the switch interrupted leaves nothing unknown, so its siblings do not halt.
        const isHalted = !(error instanceof Stop) && !(error instanceof Abandoned && error.reason.why !== 'halt');
        if (!(error instanceof StepFailure)) own.cancel(isHalted ? 'halt' : 'sibling', 'another branch ended the run');
        else if (policy.onFail === 'cancel_others' && policy.join === 'all')
          own.cancel('sibling', 'another branch failed');
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(policy.width, branches.length)) }, worker));
  own.close();
  // An unknown outcome halts the run, even one that is being cancelled, which would count as ended.
  const halt = failures.find((error) => error instanceof Halt);
  if (halt !== undefined) throw halt;
  execution.cancel.check();
  // An interruption of the whole run takes precedence over a failure that a catch could take.
  const worst = failures.find((error) => !(error instanceof StepFailure)) ?? failures[0];
  if (worst !== undefined && (policy.join === 'all' || finished === 0 || !(worst instanceof StepFailure))) throw worst;
}
