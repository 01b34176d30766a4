/**
 * Walks a runbook to plan it, with "(known after run)" where a value is unknown. Lists every write with its exact parameters, its
 * tokens, the limit it uses, a certain denial, and its undo. Branches that only a failure takes (catch, on_timeout, on_error) are
 * not walked.
 */

import { Decimal, formatDecimal } from '../../base/decimal.ts';
import { writeDuration } from '../../base/duration.ts';
import type { CheckedRunbook, CheckedStep, StepOf } from '../../runbook/checked.ts';
import type { VenueStep } from '../../runbook/steps/steps.ts';
import type { Value } from '../../runbook/values.ts';
import { type LimitRules, tighter } from '../../venue/limits/check.ts';
import { POLL_MS } from '../../venue/order/polling.ts';
import { evaluateLimits } from '../globals.ts';
import { type Planned, PlannedCalls, UNKNOWN } from './calls.ts';
import { type PlannedSwitch, PlannedSwitches } from './deadman.ts';
import { type Bounds, PlanRows } from './rows.ts';
import { KNOWN_AFTER_RUN, makeLazyRecord, type PlanContext, PlanScope } from './scope.ts';

/** The place of the walk: the runbook, its names, the prefix of its paths, and its deadman switch. */
interface Place {
  readonly runbook: CheckedRunbook;
  readonly scope: PlanScope;
  readonly prefix: string;
  readonly deadman: PlannedSwitch | undefined;
}

export class PlanWalk {
  readonly rows: PlanRows;
  private readonly context: PlanContext;
  private readonly switches: PlannedSwitches;
  private readonly calls: PlannedCalls;

  constructor(context: PlanContext) {
    this.context = context;
    this.rows = new PlanRows(context);
    this.switches = new PlannedSwitches(this.rows);
    this.calls = new PlannedCalls(this.rows, this.switches, context.read);
  }

  runbook(runbook: CheckedRunbook, inputs: Readonly<Record<string, Value>>, prefix: string): PlanScope {
    const scope = new PlanScope(this.context, runbook);
    scope.set('inputs', inputs);
    for (const { name, value } of runbook.let) scope.define(name, value);
    for (const { name, init } of runbook.vars) scope.define(name, init);
    const outer = this.rows.bounds;
    this.rows.bounds = tightenBounds(runbook, scope, outer.rules);
    const deadman = runbook.deadman && this.switches.expect(runbook.deadman, scope, prefix);
    const place: Place = { runbook, scope, prefix, deadman };
    this.walkBlock(runbook.steps, place);
    if (runbook.finally.length > 0) {
      this.rows.addNote(prefix, 'finally:');
      this.walkBlock(runbook.finally, this.enterBlock(place));
    }
    if (deadman !== undefined) this.switches.end(deadman);
    this.rows.bounds = outer;
    return scope;
  }

  /** The same place, with names of its own. */
  private enterBlock(place: Place): Place {
    return { ...place, scope: new PlanScope(this.context, undefined, place.scope) };
  }

  private walkBlock(steps: readonly CheckedStep[], place: Place): void {
    for (const step of steps) {
      const holds = step.if === undefined ? true : place.scope.evaluateKnown(step.if);
      if (holds === false) {
        this.rows.addNote(makePath(step, place), `skipped: ${step.if?.text ?? ''} is false`);
        if (step.id !== undefined) place.scope.set(step.id, undefined);
        continue;
      }
      this.rows.withCondition(holds === undefined ? step.if?.text : undefined, () => this.step(step, place));
    }
  }

  private step(step: CheckedStep, place: Place): void {
    const value = this.planStep(step, place, makePath(step, place));
    if (step.id === undefined) return;
    const { deadman, scope } = place;
    if (deadman !== undefined && deadman.deadman.releaseAfter === step.id) this.switches.disarm(deadman);
    if (value === UNKNOWN) scope.setUnknown(step.id);
    else scope.set(step.id, value);
  }

  private planStep(step: CheckedStep, place: Place, path: string): Planned {
    const { rows } = this;
    const { scope } = place;
    switch (step.verb) {
      case 'let':
        for (const { name, value } of step.args.names) scope.define(name, value);
        return undefined;
      case 'set': {
        // A step in a block may be done any number of times: the variables are then unknown.
        const once = place.prefix === '' && step.if === undefined && step.path.split('/').length === 2;
        const values = step.args.names.map(
          ({ name, value }) => [name, once ? scope.evaluateKnown(value) : undefined] as const,
        );
        for (const [name, value] of values) scope.assign(name, value);
        return undefined;
      }
      case 'assert': {
        const holds = scope.evaluateKnown(step.args.condition);
        const verdict = holds === undefined ? KNOWN_AFTER_RUN : holds ? 'OK' : 'FAILS';
        rows.addNote(path, `assert ${step.args.condition.text}   ${verdict}`);
        return undefined;
      }
      case 'wait':
        rows.addNote(
          path,
          step.args.kind === 'for'
            ? `wait ${scope.format(step.args.for)}`
            : `wait until ${scope.format(step.args.until)}`,
        );
        return undefined;
      case 'wait_for':
        this.planWaitFor(step, place, path);
        return undefined;
      case 'for_each':
        return this.planForEach(step, place);
      case 'repeat':
        rows.withLoop(describeBound(step, scope), () => this.walkBlock(step.args.do, this.enterBlock(place)));
        return undefined;
      case 'parallel':
        this.planParallel(step, place, path);
        return undefined;
      case 'switch':
        this.planSwitch(step, place);
        return undefined;
      case 'call':
        return this.planCall(step, place, path);
      case 'approve':
        rows.addNote(
          path,
          `approve "${scope.format(step.args.ask)}" by ${step.args.by.join(' or ')} within ${scope.format(step.args.within)}`,
        );
        return undefined;
      case 'notify':
        rows.addNote(path, `notify ${step.args.to}: ${scope.format(step.args.text)}`);
        return undefined;
      case 'stop':
        rows.addNote(path, `stop as ${step.args.outcome}`);
        return undefined;
      case 'fail':
        rows.addNote(path, 'fail');
        return undefined;
      default:
        return this.calls.plan(step satisfies VenueStep, scope, path);
    }
  }

  private planWaitFor({ args }: StepOf<'wait_for'>, place: Place, path: string): void {
    const { scope } = place;
    const within = scope.format(args.within);
    if (args.kind === 'order')
      this.rows.addNote(path, `wait ${args.is} <= ${within}   poll GET /orders every ${writeDuration(POLL_MS)}`);
    else
      this.rows.withLoop(`every ${scope.format(args.every)} until ${args.until.text}, at most ${within}`, () =>
        this.step(args.read, place),
      );
  }

  private planForEach(step: StepOf<'for_each'>, place: Place): Planned {
    const { each, in: list, at: position, do: steps, collect } = step.args;
    const items = place.scope.evaluateKnown(list);
    if (items === undefined) {
      const inner = this.enterBlock(place);
      inner.scope.setUnknown(each);
      if (position !== undefined) inner.scope.setUnknown(position);
      this.rows.withLoop(`for each ${each} in ${list.text}`, () => this.walkBlock(steps, inner));
      return UNKNOWN;
    }
    const collected: Value[] = [];
    for (const [index, item] of items.entries()) {
      const inner = this.enterBlock(place);
      inner.scope.set(each, item);
      if (position !== undefined) inner.scope.set(position, new Decimal(index));
      this.walkBlock(steps, inner);
      if (collect === undefined) continue;
      collected.push(makeLazyRecord(collect.map(({ name, value }) => [name, () => value.evaluate(inner.scope)])));
    }
    return collect === undefined ? undefined : collected;
  }

  private planParallel({ args }: StepOf<'parallel'>, place: Place, path: string): void {
    if (args.kind === 'branches') {
      this.rows.addNote(path, `in parallel, join ${args.join}: ${args.branches.map(({ name }) => name).join(', ')}`);
      this.rows.inBranches(() => {
        for (const branch of args.branches) this.walkBlock(branch.do, place);
      });
      return;
    }
    const items = place.scope.evaluateKnown(args.in);
    this.rows.addNote(path, `in parallel for each ${args.each} in ${args.in.text}`);
    this.rows.inBranches(() => {
      for (const item of items ?? [UNKNOWN]) {
        const inner = this.enterBlock(place);
        if (item === UNKNOWN) inner.scope.setUnknown(args.each);
        else inner.scope.set(args.each, item as Value);
        this.walkBlock(args.do, inner);
      }
    });
  }

  private planSwitch({ args }: StepOf<'switch'>, place: Place): void {
    const undecided: string[] = [];
    const otherwise = (): string | undefined =>
      undecided.length === 0 ? undefined : `not (${undecided.join(' || ')})`;
    for (const { when, do: steps } of args.cases) {
      const holds = place.scope.evaluateKnown(when);
      if (holds === false) continue;
      this.rows.withCondition(holds ? otherwise() : when.text, () => this.walkBlock(steps, this.enterBlock(place)));
      if (holds) return;
      undecided.push(when.text);
    }
    this.rows.withCondition(otherwise(), () => this.walkBlock(args.else ?? [], this.enterBlock(place)));
  }

  private planCall({ args }: StepOf<'call'>, { runbook, scope }: Place, path: string): Planned {
    const callee = runbook.calls[args.runbook];
    if (callee === undefined) throw new Error(`${runbook.name} calls ${args.runbook}, which was not loaded with it`);
    this.rows.addNote(path, `call ${args.runbook}:`);
    const inputs = makeLazyRecord(
      callee.inputs.map((input) => {
        const expr = args.with[input.name];
        return [input.name, () => (expr === undefined ? input.default : expr.evaluate(scope))];
      }),
    );
    const inner = this.runbook(callee, inputs, `${path}/`);
    return makeLazyRecord(callee.outputs.map(({ name, value }) => [name, () => value.evaluate(inner)]));
  }
}

function makePath(step: CheckedStep, { prefix }: Place): string {
  return prefix + step.path;
}

/** The limits around a runbook, tightened by its own. */
function tightenBounds({ limits }: CheckedRunbook, scope: PlanScope, outer: LimitRules): Bounds {
  if (limits === undefined) return { rules: outer, reference: () => undefined };
  const around = limits.priceBand?.around;
  return {
    rules: tighter(
      outer,
      evaluateLimits(limits, (expr) => scope.evaluateKnown(expr)),
    ),
    reference: () => {
      if (around === undefined) return undefined;
      const price = scope.evaluateKnown(around);
      return price === undefined ? 'open' : formatDecimal(price);
    },
  };
}

/** The bound of a loop, in words. */
function describeBound({ args }: StepOf<'repeat'>, scope: PlanScope): string {
  const { every, for: duration, max } = args;
  return [
    every === undefined ? '' : `every ${scope.format(every)}`,
    duration === undefined ? '' : `for at most ${scope.format(duration)}`,
    max === undefined ? '' : `at most ${scope.format(max)} times`,
    args.while === undefined ? '' : `while ${args.while.text}`,
    args.until === undefined ? '' : `until ${args.until.text}`,
  ]
    .filter((each) => each !== '')
    .join(', ');
}
