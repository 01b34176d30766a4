/**
 * The control constructs: what walks, waits, branches and repeats. Each is one function; none of them talks to the venue
 * but through the steps inside it. Every loop is bounded by the checker, and bounded again here by what was asked.
 */
import { Decimal, wholeNumber } from '../base/decimal.ts';
import type { CheckedStep, StepOf, Verb } from '../runbook/checked.ts';
import { type RecordValue, type Value, valueJson } from '../runbook/values.ts';
import { Abandoned, Cancellation, StepFailure, Stop } from './interruption.ts';
import type { Interpreter, StepRun } from './interpreter.ts';
import { callRunbook } from './call.ts';
import { Frame, StepScope } from './scope.ts';
import type { VenueVerb } from './verbs.ts';
import { waitForOrder } from './verbs.ts';
import { sleepUntil } from './waiting.ts';

export type ControlVerb = Exclude<Verb, VenueVerb>;
type Control<V extends ControlVerb> = (interpreter: Interpreter, at: StepRun<StepOf<V>>) => Promise<Value> | Value;

export function runControl(interpreter: Interpreter, at: StepRun): Promise<Value> | Value {
  const control = CONTROLS[at.step.verb as ControlVerb] as Control<ControlVerb>;
  return control(interpreter, at as StepRun<StepOf<ControlVerb>>);
}

const CONTROLS: { readonly [V in ControlVerb]: Control<V> } = {
  let(interpreter, at) {
    for (const { name, value } of at.step.args.names) at.frame.set(name, interpreter.evaluate(value, at.scope, at.path));
    return undefined;
  },

  set(interpreter, at) {
    const values = at.step.args.names.map(({ name, value }) => [name, interpreter.evaluate(value, at.scope, at.path)] as const);
    for (const [name, value] of values) {
      at.frame.roots.values.set(name, value);
      interpreter.run.log.append('variable.set', { name, value: valueJson(value) }, at.path);
    }
    return undefined;
  },

  assert(interpreter, at) {
    if (interpreter.decideCondition('assert', at.step.args.condition, at.scope, at.path)) return undefined;
    const because = at.step.because === undefined ? '' : `: ${interpreter.evaluate(at.step.because, at.scope, at.path)}`;
    throw new StepFailure('assertion', `not true: ${at.step.args.condition.text}${because}`, at.path);
  },

  async wait(interpreter, at) {
    const { args } = at.step;
    const { clock } = interpreter.run;
    const until =
      args.kind === 'for'
        ? clock.now() + interpreter.evaluate(args.for, at.scope, at.path).ms
        : Math.ceil(interpreter.evaluate(args.until, at.scope, at.path).us / 1000);
    interpreter.run.keeper.waitsUntil(at.path, until);
    await sleepUntil(clock, until, at.cancel);
    return undefined;
  },

  async wait_for(interpreter, at) {
    const { args } = at.step;
    if (args.kind === 'order') return waitForOrder(interpreter, at, args);
    const { clock } = interpreter.run;
    const deadline = clock.now() + interpreter.evaluate(args.within, at.scope, at.path).ms;
    const every = interpreter.evaluate(args.every, at.scope, at.path).ms;
    interpreter.run.keeper.waitsUntil(at.path, deadline);
    for (let round = 0; ; round += 1) {
      const frame = at.frame.inner({ staticPath: at.step.path, path: `${at.path}[${round}]` });
      const startedAt = clock.now();
      await interpreter.step(args.read, frame, at.cancel);
      const { id } = args.read;
      // The read's name outlives the wait: on_timeout and the steps after speak of what was read last.
      if (id !== undefined) at.frame.set(id, frame.find(id));
      if (interpreter.decideCondition('until', args.until, new StepScope(frame, clock.now()), at.path)) return undefined;
      const next = startedAt + every;
      if (next > deadline) {
        if (clock.now() < deadline) await sleepUntil(clock, deadline, at.cancel);
        throw new StepFailure('timeout', `not true within the time given: ${args.until.text}`, at.path);
      }
      await sleepUntil(clock, next, at.cancel);
    }
  },

  async for_each(interpreter, at) {
    const { each, in: list, at: position, do: steps, collect } = at.step.args;
    const items = interpreter.evaluate(list, at.scope, at.path);
    const collected: RecordValue[] = [];
    for (const [index, item] of items.entries()) {
      const frame = iteration(at, index);
      frame.set(each, item);
      if (position !== undefined) frame.set(position, new Decimal(index));
      await interpreter.block(steps, frame, at.cancel);
      if (collect !== undefined) {
        const scope = new StepScope(frame, interpreter.run.clock.now());
        collected.push(Object.fromEntries(collect.map(({ name, value }) => [name, interpreter.evaluate(value, scope, at.path)])));
      }
    }
    return collect === undefined ? undefined : collected;
  },

  async repeat(interpreter, at) {
    const { every, for: duration, max, while: condition, until, do: steps } = at.step.args;
    const { clock } = interpreter.run;
    const startedAt = clock.now();
    const period = every === undefined ? undefined : interpreter.evaluate(every, at.scope, at.path).ms;
    const endsAt = duration === undefined ? undefined : startedAt + interpreter.evaluate(duration, at.scope, at.path).ms;
    const most = max === undefined ? undefined : wholeNumber(interpreter.evaluate(max, at.scope, at.path));
    if (endsAt !== undefined) interpreter.run.keeper.waitsUntil(at.path, endsAt);
    for (let round = 0; most === undefined || round < most; round += 1) {
      if (endsAt !== undefined && clock.now() >= endsAt) break;
      const frame = iteration(at, round);
      if (condition !== undefined && !(await decideFresh(interpreter, at, 'while', condition, frame))) break;
      const roundAt = clock.now();
      await interpreter.block(steps, frame, at.cancel);
      if (until !== undefined && (await decideFresh(interpreter, at, 'until', until, frame))) break;
      if (period === undefined) continue;
      const next = roundAt + period;
      if (endsAt !== undefined && next >= endsAt) {
        if (most === undefined || round + 1 < most) await sleepUntil(clock, endsAt, at.cancel);
        break;
      }
      if (most === undefined || round + 1 < most) await sleepUntil(clock, next, at.cancel);
    }
    return undefined;
  },

  async parallel(interpreter, at) {
    const { args } = at.step;
    const branches =
      args.kind === 'branches'
        ? args.branches.map(({ name, do: steps }) => ({
            steps,
            frame: at.frame.inner({ staticPath: `${at.step.path}/${name}`, path: `${at.path}/${name}` }),
          }))
        : interpreter.evaluate(args.in, at.scope, at.path).map((item, index) => {
            const frame = iteration(at, index);
            frame.set(args.each, item);
            return { steps: args.do, frame };
          });
    const width = args.kind === 'each' ? wholeNumber(interpreter.evaluate(args.max, at.scope, at.path)) : branches.length;
    const join = args.kind === 'branches' ? args.join : 'all';
    await runBranches(interpreter, at, branches, { width, join, onFail: args.onFail });
    if (args.kind === 'branches') {
      // Branch names live on behind the join; a branch that did not finish leaves its names absent.
      for (const [index, branch] of args.branches.entries()) {
        for (const step of branch.do) if (step.id !== undefined) at.frame.set(step.id, branches[index]?.frame.find(step.id));
      }
    }
    return undefined;
  },

  async switch(interpreter, at) {
    for (const { when, do: steps } of at.step.args.cases) {
      if (!interpreter.decideCondition('when', when, at.scope, at.path)) continue;
      await interpreter.block(steps, at.frame.inner(), at.cancel);
      return undefined;
    }
    if (at.step.args.else !== undefined) await interpreter.block(at.step.args.else, at.frame.inner(), at.cancel);
    return undefined;
  },

  call: callRunbook,

  async approve(interpreter, at) {
    const { ask, by, within, onTimeout } = at.step.args;
    const { clock, log, approvals, keeper, setup } = interpreter.run;
    const until = clock.now() + interpreter.evaluate(within, at.scope, at.path).ms;
    log.append('approval.asked', { ask: interpreter.evaluate(ask, at.scope, at.path), by, until, plan: setup.plan }, at.path);
    keeper.waitsUntil(at.path, until);
    const own = new Cancellation(at.cancel);
    const timer = clock.at(until, () => own.cancel('timeout', `nobody answered within the time given`));
    try {
      const answer = await approvals.answer(at.path, own);
      if (answer.command === 'approve') return undefined;
      throw new StepFailure('approval_rejected', `rejected by ${answer.by}${answer.reason === undefined ? '' : `: ${answer.reason}`}`, at.path);
    } catch (error) {
      if (!(error instanceof Abandoned) || error.reason.origin !== own) throw error;
      const kind = onTimeout === 'reject' ? 'approval_rejected' : 'timeout';
      throw new StepFailure(kind, error.reason.message, at.path);
    } finally {
      timer.cancel();
      own.close();
    }
  },

  notify(interpreter, at) {
    const { to, text } = at.step.args;
    const said = interpreter.evaluate(text, at.scope, at.path);
    interpreter.run.log.append('notification.sent', { to, text: said }, at.path);
    interpreter.run.notifier.send(to, said);
    return undefined;
  },

  stop(interpreter, at) {
    const because = at.step.because === undefined ? '' : interpreter.evaluate(at.step.because, at.scope, at.path);
    throw new Stop(at.step.args.outcome, because);
  },

  fail(interpreter, at) {
    const because = at.step.because === undefined ? 'the runbook says fail' : interpreter.evaluate(at.step.because, at.scope, at.path);
    throw new StepFailure('assertion', because, at.path);
  },
};

function iteration(at: StepRun, index: number): Frame {
  return at.frame.inner({ staticPath: at.step.path, path: `${at.path}[${index}]` });
}

async function decideFresh(interpreter: Interpreter, at: StepRun, what: string, condition: Parameters<Interpreter['decideCondition']>[1], frame: Frame): Promise<boolean> {
  const { clock, feeds } = interpreter.run;
  const scope = new StepScope(frame, clock.now());
  await feeds.ensure(at.step.feeds, frame.roots.runbook.feeds, scope, at.path);
  return interpreter.decideCondition(what, condition, new StepScope(frame, clock.now()), frame.path);
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
  interpreter: Interpreter,
  at: StepRun,
  branches: readonly Branch[],
  policy: { readonly width: number; readonly join: 'all' | 'any'; readonly onFail: 'cancel_others' | 'let_others_finish' },
): Promise<void> {
  const own = new Cancellation(at.cancel);
  const failures: unknown[] = [];
  let finished = 0;
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let branch = branches[next++]; branch !== undefined; branch = branches[next++]) {
      if (own.reason !== undefined) return;
      try {
        await interpreter.block(branch.steps, branch.frame, own);
        finished += 1;
        if (policy.join === 'any') own.cancel('sibling', 'another branch was first');
      } catch (error) {
        const mine = error instanceof Abandoned && error.reason.origin === own;
        if (!mine) failures.push(error);
        if (!(error instanceof StepFailure)) own.cancel(error instanceof Stop ? 'sibling' : 'halt', 'another branch ended the run');
        else if (policy.onFail === 'cancel_others' && policy.join === 'all') own.cancel('sibling', 'another branch failed');
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(policy.width, branches.length)) }, worker));
  own.close();
  at.cancel.check();
  // An interruption of the whole run counts before a failure that a catch could take.
  const worst = failures.find((error) => !(error instanceof StepFailure)) ?? failures[0];
  if (worst !== undefined && (policy.join === 'all' || finished === 0 || !(worst instanceof StepFailure))) throw worst;
}
