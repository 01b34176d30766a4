/**
 * The control constructs: what walks, waits, branches and repeats. Each is one function; none of them talks to the venue
 * but through the steps inside it. Every loop is bounded by the checker, and bounded again here by what was asked.
 */
import { Decimal, wholeNumber } from '../../base/decimal.ts';
import type { CheckedStep, StepOf, Verb } from '../../runbook/checked.ts';
import { type RecordValue, type Value, valueJson } from '../../runbook/values.ts';
import { Abandoned, Cancellation, Halt, StepFailure, Stop } from '../interruption.ts';
import { type Frame, StepScope } from '../scope.ts';
import { sleepUntil } from '../waiting.ts';
import { callRunbook } from './call.ts';
import { waitForOrder } from './order-steps.ts';
import type { VenueVerb } from './verbs.ts';
import type { StepRun, Walker } from './walker.ts';

export type ControlVerb = Exclude<Verb, VenueVerb>;
type Control<V extends ControlVerb> = (walker: Walker, at: StepRun<StepOf<V>>) => Promise<Value> | Value;

export function runControl(walker: Walker, at: StepRun): Promise<Value> | Value {
  const control = CONTROLS[at.step.verb as ControlVerb] as Control<ControlVerb>;
  return control(walker, at as StepRun<StepOf<ControlVerb>>);
}

const CONTROLS: { readonly [V in ControlVerb]: Control<V> } = {
  let(walker, at) {
    for (const { name, value } of at.step.args.names) at.frame.set(name, walker.evaluate(value, at.scope, at.path));
    return undefined;
  },

  set(walker, at) {
    const values = at.step.args.names.map(
      ({ name, value }) => [name, walker.evaluate(value, at.scope, at.path)] as const,
    );
    for (const [name, value] of values) {
      at.frame.roots.values.set(name, value);
      walker.run.log.append('variable.set', { name, value: valueJson(value) }, at.path);
    }
    return undefined;
  },

  assert(walker, at) {
    if (walker.decideCondition('assert', at.step.args.condition, at.scope, at.path)) return undefined;
    const because = at.step.because === undefined ? '' : `: ${walker.evaluate(at.step.because, at.scope, at.path)}`;
    throw new StepFailure('assertion', `not true: ${at.step.args.condition.text}${because}`, at.path);
  },

  async wait(walker, at) {
    const { args } = at.step;
    const { clock, wall, keeper } = walker.run;
    if (args.kind === 'until') {
      const instant = Math.ceil(walker.evaluate(args.until, at.scope, at.path).us / 1000);
      await wall.until(instant, at.cancel, (until) => keeper.waitsUntil(at.path, until));
      return undefined;
    }
    const until = clock.now() + walker.evaluate(args.for, at.scope, at.path).ms;
    await waits(walker, at, until);
    return undefined;
  },

  async wait_for(walker, at) {
    const { args } = at.step;
    if (args.kind === 'order') return waitForOrder(walker, at, args);
    const { clock } = walker.run;
    const deadline = clock.now() + walker.evaluate(args.within, at.scope, at.path).ms;
    const every = walker.evaluate(args.every, at.scope, at.path).ms;
    for (let round = 0; ; round += 1) {
      const frame = at.frame.inner({ staticPath: at.step.path, path: `${at.path}[${round}]` });
      const startedAt = clock.now();
      await walker.step(args.read, frame, at.cancel);
      const { id } = args.read;
      // The read's name outlives the wait: on_timeout and the steps after speak of what was read last.
      if (id !== undefined) at.frame.set(id, frame.find(id));
      if (walker.decideCondition('until', args.until, new StepScope(frame, walker.run.wall.now()), at.path))
        return undefined;
      const next = startedAt + every;
      if (next > deadline) {
        if (clock.now() < deadline) await waits(walker, at, deadline);
        throw new StepFailure('timeout', `not true within the time given: ${args.until.text}`, at.path);
      }
      await waits(walker, at, next);
    }
  },

  async for_each(walker, at) {
    const { each, in: list, at: position, do: steps, collect } = at.step.args;
    const items = walker.evaluate(list, at.scope, at.path);
    const collected: RecordValue[] = [];
    for (const [index, item] of items.entries()) {
      const pause = walker.pace.next(at.cancel);
      if (pause !== undefined) await pause;
      const frame = iteration(at, index);
      frame.set(each, item);
      if (position !== undefined) frame.set(position, new Decimal(index));
      await walker.block(steps, frame, at.cancel);
      if (collect !== undefined) {
        const scope = new StepScope(frame, walker.run.wall.now());
        collected.push(
          Object.fromEntries(collect.map(({ name, value }) => [name, walker.evaluate(value, scope, at.path)])),
        );
      }
    }
    return collect === undefined ? undefined : collected;
  },

  async repeat(walker, at) {
    const { every, for: duration, max, while: condition, until, do: steps } = at.step.args;
    const { clock } = walker.run;
    const startedAt = clock.now();
    const period = every === undefined ? undefined : walker.evaluate(every, at.scope, at.path).ms;
    const endsAt = duration === undefined ? undefined : startedAt + walker.evaluate(duration, at.scope, at.path).ms;
    const most = max === undefined ? undefined : wholeNumber(walker.evaluate(max, at.scope, at.path));
    for (let round = 0; most === undefined || round < most; round += 1) {
      const pause = walker.pace.next(at.cancel);
      if (pause !== undefined) await pause;
      if (endsAt !== undefined && clock.now() >= endsAt) break;
      const frame = iteration(at, round);
      if (condition !== undefined && !(await decideFresh(walker, at, 'while', condition, frame))) break;
      const roundAt = clock.now();
      await walker.block(steps, frame, at.cancel);
      if (until !== undefined && (await decideFresh(walker, at, 'until', until, frame))) break;
      if (period === undefined) continue;
      const next = roundAt + period;
      if (endsAt !== undefined && next >= endsAt) {
        if (most === undefined || round + 1 < most) await waits(walker, at, endsAt);
        break;
      }
      if (most === undefined || round + 1 < most) await waits(walker, at, next);
    }
    return undefined;
  },

  async parallel(walker, at) {
    const { args } = at.step;
    const branches =
      args.kind === 'branches'
        ? args.branches.map(({ name, do: steps }) => ({
            steps,
            frame: at.frame.inner({
              staticPath: `${at.step.path}/branches/${name}`,
              path: `${at.path}/branches/${name}`,
            }),
          }))
        : walker.evaluate(args.in, at.scope, at.path).map((item, index) => {
            const frame = iteration(at, index);
            frame.set(args.each, item);
            return { steps: args.do, frame };
          });
    const width = args.kind === 'each' ? wholeNumber(walker.evaluate(args.max, at.scope, at.path)) : branches.length;
    const join = args.kind === 'branches' ? args.join : 'all';
    await runBranches(walker, at, branches, { width, join, onFail: args.onFail });
    if (args.kind === 'branches') {
      // Branch names live on behind the join; a branch that did not finish leaves its names absent.
      for (const [index, branch] of args.branches.entries()) {
        for (const step of branch.do)
          if (step.id !== undefined) at.frame.set(step.id, branches[index]?.frame.find(step.id));
      }
    }
    return undefined;
  },

  async switch(walker, at) {
    for (const { when, do: steps } of at.step.args.cases) {
      if (!walker.decideCondition('when', when, at.scope, at.path)) continue;
      await walker.block(steps, at.frame.inner(), at.cancel);
      return undefined;
    }
    if (at.step.args.else !== undefined) await walker.block(at.step.args.else, at.frame.inner(), at.cancel);
    return undefined;
  },

  call: callRunbook,

  async approve(walker, at) {
    const { ask, by, within, onTimeout } = at.step.args;
    const { clock, log, approvals, keeper, setup } = walker.run;
    const until = clock.now() + walker.evaluate(within, at.scope, at.path).ms;
    log.append(
      'approval.asked',
      { ask: walker.evaluate(ask, at.scope, at.path), by, until, plan: setup.plan },
      at.path,
    );
    keeper.waitsUntil(at.path, until);
    const own = new Cancellation(at.cancel);
    const timer = clock.at(until, () => own.cancel('timeout', `nobody answered within the time given`));
    try {
      const answer = await approvals.answer(at.path, own);
      if (answer.command === 'approve') return undefined;
      throw new StepFailure(
        'approval_rejected',
        `rejected by ${answer.by}${answer.reason === undefined ? '' : `: ${answer.reason}`}`,
        at.path,
      );
    } catch (error) {
      if (!(error instanceof Abandoned) || !own.timedOut) throw error;
      const kind = onTimeout === 'reject' ? 'approval_rejected' : 'timeout';
      throw new StepFailure(kind, error.reason.message, at.path);
    } finally {
      timer.cancel();
      own.close();
    }
  },

  notify(walker, at) {
    const { to, text } = at.step.args;
    const said = walker.evaluate(text, at.scope, at.path);
    walker.run.log.append('notification.sent', { to, text: said }, at.path);
    walker.run.notifier.send(to, said);
    return undefined;
  },

  stop(walker, at) {
    const because = at.step.because === undefined ? '' : walker.evaluate(at.step.because, at.scope, at.path);
    throw new Stop(at.step.args.outcome, because);
  },

  fail(walker, at) {
    const because =
      at.step.because === undefined ? 'the runbook says fail' : walker.evaluate(at.step.because, at.scope, at.path);
    throw new StepFailure('assertion', because, at.path);
  },
};

/**
 * Waits on purpose. The keeper hears of the wait alone, and not of all the time that a loop has: a step inside it that hangs
 * must not be taken for a loop that waits.
 */
function waits(walker: Walker, at: StepRun, until: number): Promise<void> {
  walker.run.keeper.waitsUntil(at.path, until);
  return sleepUntil(walker.run.clock, until, at.cancel);
}

function iteration(at: StepRun, index: number): Frame {
  return at.frame.inner({ staticPath: at.step.path, path: `${at.path}[${index}]` });
}

async function decideFresh(
  walker: Walker,
  at: StepRun,
  what: string,
  condition: Parameters<Walker['decideCondition']>[1],
  frame: Frame,
): Promise<boolean> {
  const { wall, feeds } = walker.run;
  const scope = new StepScope(frame, wall.now());
  await feeds.ensure(at.step.feeds, frame.roots.runbook.feeds, scope, at.path);
  return walker.decideCondition(what, condition, new StepScope(frame, wall.now()), frame.path);
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
  walker: Walker,
  at: StepRun,
  branches: readonly Branch[],
  policy: {
    readonly width: number;
    readonly join: 'all' | 'any';
    readonly onFail: 'cancel_others' | 'let_others_finish';
  },
): Promise<void> {
  const own = new Cancellation(at.cancel);
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
        if (policy.join === 'any') own.cancel('sibling', 'another branch was first');
      } catch (error) {
        const mine = error instanceof Abandoned && error.reason.origin === own;
        if (!mine) failures.push(error);
        if (!(error instanceof StepFailure))
          own.cancel(error instanceof Stop ? 'sibling' : 'halt', 'another branch ended the run');
        else if (policy.onFail === 'cancel_others' && policy.join === 'all')
          own.cancel('sibling', 'another branch failed');
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(policy.width, branches.length)) }, worker));
  own.close();
  // An outcome that is not known halts the run, also one that is being cancelled: cancelled it would count as over.
  const halt = failures.find((error) => error instanceof Halt);
  if (halt !== undefined) throw halt;
  at.cancel.check();
  // An interruption of the whole run counts before a failure that a catch could take.
  const worst = failures.find((error) => !(error instanceof StepFailure)) ?? failures[0];
  if (worst !== undefined && (policy.join === 'all' || finished === 0 || !(worst instanceof StepFailure))) throw worst;
}
