/**
 * Walks a runbook as an abstract interpreter: every block with the values that every run has there, and placeholders for the
 * others. One walk follows the path without failures and lists its requests; another also walks retries, catch, on_timeout, undo,
 * on_error and lost answers, lists what they send in sections, and gives the upper bounds.
 */
import { Decimal, formatDecimal } from '../../base/decimal.ts';
import { type LimitRules, tighter } from '../../venue/limits/check.ts';
import { CATCH_RETRIES, type CheckedRunbook, type CheckedStep, type StepOf } from '../checked.ts';
import { evaluateLimits, findBand } from '../limit-values.ts';
import { LOOK_EVERY_MS } from '../steps/control.ts';
import { MOST_EXITS } from '../steps/exit.ts';
import { countLooks, HOLD_EVERY_MS } from '../steps/manage.ts';
import { findUndo } from '../steps/steps.ts';
import { listAllSteps } from '../steps/walk.ts';
import type { Value } from '../values.ts';
import { DONE, enterBlock, type Place, PlannedBlocks } from './blocks.ts';
import { forgetChanged, forgetHandled, listChanged, listGrowth } from './changes.ts';
import { PlannedSwitches } from './deadman.ts';
import { PlannedFeeds } from './feeds.ts';
import { endEarly, type Once, passesOver, repeatAttempts } from './load/attempts.ts';
import {
  type Alternative,
  choose,
  EMPTY,
  type Load,
  makeLoad,
  maybe,
  repeat,
  sequence,
  together,
  UNBOUNDED,
} from './load/load.ts';
import { NOT_KNOWN, nameStep, type Planned, PlannedRequests } from './requests.ts';
import { type Bounds, PlanRows } from './rows.ts';
import { type Estimating, makeLazyRecord, type PlanContext, PlanScope } from './scope.ts';
import { KNOWN_AFTER_RUN } from './unknown.ts';

/**
 * The most POST /jwt that one request leads to: before it is sent, and after its session was refused, each again where another
 * process has rotated the token meanwhile.
 */
export const RENEWALS = 4;
/** Calls deeper than this are not walked: the checker refuses a ring, and no runbook is nested so deep. */
const DEEPEST = 16;

export class PlanWalk {
  readonly rows: PlanRows;
  /** Tokens of a minute for the heartbeats of all switches. */
  keepAliveTokens = 0;
  private readonly context: PlanContext;
  private readonly failures: boolean;
  private readonly estimating: Estimating = { on: false, present: false };
  private readonly lengths: ReadonlyMap<string, number>;
  private readonly switches: PlannedSwitches;
  readonly requests: PlannedRequests;
  private readonly feeds: PlannedFeeds;
  private readonly blocks: PlannedBlocks;
  private depth = 0;
  /** The limits of the run's own runbook, tightened by the profile's. */
  rules: LimitRules = {};

  /** `placed`: the most orders that the run can place; `failures`: whether they are walked too; `lengths`: of list variables. */
  constructor(
    context: PlanContext,
    {
      failures,
      placed,
      lengths = new Map(),
    }: { readonly failures: boolean; readonly placed: number; readonly lengths?: ReadonlyMap<string, number> },
  ) {
    this.lengths = lengths;
    this.context = context;
    this.failures = failures;
    const rows = new PlanRows(context, failures ? 'sections' : context.inputs === undefined ? 'nothing' : 'path');
    const weighed = failures && context.declared.renewsSession ? withRenewals(context) : context;
    const switches = new PlannedSwitches(rows, { costOf: weighed.costOf, failures });
    this.rows = rows;
    this.switches = switches;
    this.feeds = new PlannedFeeds(weighed);
    this.blocks = new PlannedBlocks({
      rows,
      feeds: this.feeds,
      hasInputs: context.inputs !== undefined,
      walkBlock: (steps, place) => this.walkBlock(steps, place),
    });
    this.requests = new PlannedRequests({
      context: weighed,
      rows,
      switches,
      estimating: this.estimating,
      failures,
      placed,
    });
  }

  run(): Load {
    const { runbook, inputs } = this.context;
    const reads = this.requests.planStart(runbook);
    const { load } = this.runbook(runbook, { known: inputs === undefined ? undefined : (inputs as Value) }, '');
    return sequence([reads, load]);
  }

  private runbook(
    runbook: CheckedRunbook,
    inputs: { readonly known: Value },
    prefix: string,
  ): { readonly load: Load; readonly scope: PlanScope } {
    const scope = new PlanScope(this.context, this.estimating, runbook);
    if (inputs.known === undefined) scope.setUnknown('inputs');
    else scope.set('inputs', inputs.known);
    for (const { name, value } of runbook.let) scope.define(name, value);
    for (const { name, init, type } of runbook.vars) {
      scope.define(name, init);
      const most = type.kind === 'list' ? this.lengths.get(nameList(runbook, name)) : undefined;
      if (most !== undefined) scope.setLength(name, most);
    }
    const outer = this.rows.bounds;
    this.rows.bounds = tightenBounds(runbook, scope, outer.rules);
    if (this.depth === 0) this.rules = this.rows.bounds.rules;
    const deadman = runbook.deadman && this.switches.expect(runbook.deadman, scope, prefix);
    const place: Place = { runbook, scope, prefix, deadman };
    const globals = scope.listNames();
    const loads = [this.feeds.ofStart(runbook), this.walkBlock(runbook.steps, place)];
    // The run may get here from any step.
    if (runbook.onError.length + runbook.finally.length > 0) forgetChanged(listAllSteps(runbook), scope);
    const after = { ...place, scope: scope.afterSteps(globals) };
    if (this.failures && runbook.onError.length > 0)
      loads.push(this.inSection(prefix, 'if the run fails', runbook.onError, after));
    if (runbook.finally.length > 0) {
      this.rows.addNote(prefix, 'finally:');
      loads.push(this.walkBlock(runbook.finally, enterBlock(after)));
    }
    if (this.failures && this.depth === 0)
      loads.push(this.rows.inSection('if the run is resumed', () => this.requests.planResume()));
    if (deadman !== undefined) {
      loads.push(this.switches.end(deadman));
      if (deadman.under.length > 0 || deadman.section !== undefined)
        this.keepAliveTokens += this.switches.countKeepAliveTokens(deadman);
    }
    this.rows.bounds = outer;
    return { load: sequence(loads), scope };
  }

  /** Steps that are walked only on a failure. */
  private inSection(prefix: string, when: string, steps: readonly CheckedStep[], place: Place): Load {
    const title = prefix === '' ? when : `${when} (${prefix.replace(/\/$/, '')})`;
    return maybe(
      this.rows.inSection(title, () => this.walkBlock(steps, enterBlock(place))),
      title,
    );
  }

  private walkBlock(steps: readonly CheckedStep[], place: Place): Load {
    return sequence(
      steps.map((step) => {
        const holds = step.if === undefined ? true : place.scope.evaluateKnown(step.if);
        // A condition that reads a feed may fail for it, and then the handlers of its step run.
        if (holds === false && step.ifFeeds.length === 0) {
          this.rows.addNote(makePath(step, place), `skipped: ${step.if?.text ?? ''} is false`);
          if (step.id !== undefined) place.scope.set(step.id, undefined);
          return EMPTY;
        }
        if (holds === true) return this.step(step, place, true);
        const condition = step.if?.text ?? '';
        const load = this.rows.withCondition(condition, () => this.step(step, place, false));
        return maybe(load, condition);
      }),
    );
  }

  /** One step with its retries and handlers. `certain`: whether every run comes here. */
  private step(step: CheckedStep, place: Place, certain: boolean): Load {
    const { deadman, scope } = place;
    forgetHandled(step, 'before', scope);
    const planned = this.planStep(step, place, makePath(step, place), certain);
    forgetHandled(step, 'after', scope);
    const loads = [this.feeds.ofAttempt(step, place.runbook), planned.load];
    const follows = [planned.follows ?? EMPTY];
    if (step.id !== undefined) {
      if (deadman?.deadman.releaseAfter === step.id && !deadman.disarmed) follows.push(this.switches.disarm(deadman));
      const { value } = planned;
      // A step that is skipped, or that failed and was passed over, has no value.
      const passes = passesOver(step);
      if ('open' in value) scope.setUnknown(step.id, value.estimate);
      else if (certain && !passes) scope.set(step.id, value.known);
      else scope.setOptional(step.id, value.known);
    }
    const calls = sequence(loads);
    const rest = sequence(follows);
    if (!this.failures) return sequence([calls, rest]);
    return this.walkFailures(step, place, { calls: endEarly(step, calls), rest: endEarly(step, rest) });
  }

  /** Adds to a step's load its further attempts, its handlers and its undo. */
  private walkFailures(step: CheckedStep, place: Place, once: Once): Load {
    const name = nameStep(step, place.runbook, this.depth);
    const clauses = step.catch.map(
      ({ on, if: condition, do: steps, then }): Alternative & { readonly then: string } => {
        const kinds = on === 'any' ? ' in any way' : `: ${on.join(', ')}`;
        const when = `if ${name} fails${kinds}${condition === undefined ? '' : ` && ${condition.text}`}`;
        const load = this.rows.inSection(when, () => this.walkBlock(steps, enterBlock(place)));
        return { load: then === 'retry' ? repeat(load, { min: 0, max: CATCH_RETRIES + 1 }) : load, when, then };
      },
    );
    const timeout = step.onTimeout === undefined ? [] : [this.handler(step.onTimeout, place, `if ${name} times out`)];
    const undo = this.walkUndo(step, place);
    // A clause that retries comes before the one that ends the step.
    const retrying = clauses.filter(({ then }) => then === 'retry').map(({ load, when }) => maybe(load, when ?? ''));
    const ending = clauses.filter(({ then }) => then !== 'retry');
    const handled = choose([{ load: EMPTY }, ...ending, ...timeout]);
    return sequence([repeatAttempts(step, once), ...retrying, handled, undo]);
  }

  /** What reverts the step when the run fails later. */
  private walkUndo(step: CheckedStep, place: Place): Load {
    const name = nameStep(step, place.runbook, this.depth);
    const when = `if the run fails after ${name}, its undo`;
    const undo = findUndo(step);
    if (undo === undefined || undo === 'keep') return EMPTY;
    const load = this.rows.inSection(when, () => {
      if (Array.isArray(undo)) {
        const inner = enterBlock(place);
        // By then variables may have changed.
        for (const changed of listChanged(listAllSteps(place.runbook))) inner.scope.setUnknown(changed);
        return this.walkBlock(undo as readonly CheckedStep[], inner);
      }
      this.requests.planUndo(step, place.scope, makePath(step, place));
      return EMPTY;
    });
    return maybe(load, `undo of ${name}`);
  }

  private handler(steps: readonly CheckedStep[], place: Place, when: string): Alternative {
    return { load: this.rows.inSection(when, () => this.walkBlock(steps, enterBlock(place))), when };
  }

  private planStep(step: CheckedStep, place: Place, path: string, certain: boolean): Planned {
    const { rows } = this;
    const { scope } = place;
    const note = (text: string, load = EMPTY): Planned => {
      rows.addNote(path, text);
      return { load, value: DONE };
    };
    switch (step.verb) {
      case 'let':
        for (const { name, value } of step.args.names) scope.define(name, value);
        return { load: EMPTY, value: DONE };
      case 'set': {
        // A step in a block may be done any number of times: the variables are then unknown.
        const isOnPath = /^(?:steps|finally)\/[^/]+$/.test(step.path);
        const once = certain && place.prefix === '' && isOnPath;
        for (const { name, value } of step.args.names) scope.assign(name, value, once);
        return { load: makeGrowth(step, place.runbook), value: DONE };
      }
      case 'assert': {
        const holds = scope.evaluateKnown(step.args.condition);
        const verdict = holds === undefined ? '(known after run)' : holds ? 'OK' : 'FAILS';
        return note(`assert ${step.args.condition.text}   ${verdict}`);
      }
      case 'wait': {
        if (step.args.kind === 'until') return note(`wait until ${scope.format(step.args.until)}`, waitLoad(undefined));
        const ms = scope.evaluateKnown(step.args.for)?.ms;
        const limitMs = step.timeout === undefined ? undefined : (scope.evaluateKnown(step.timeout)?.ms ?? 0);
        return note(`wait ${scope.format(step.args.for)}`, waitLoad(ms, limitMs));
      }
      case 'wait_for':
        return this.planWaitFor(step, place, path);
      case 'for_each':
        return this.blocks.planForEach(step, place);
      case 'repeat':
        return this.blocks.planRepeat(step, place);
      case 'parallel':
        return this.blocks.planParallel(step, place, path, certain);
      case 'if':
      case 'switch':
        return { load: this.blocks.planCases(step, place, certain), value: DONE };
      case 'call':
        return this.planCall(step, place, path);
      case 'approve': {
        const within = scope.evaluateKnown(step.args.within)?.ms;
        return note(
          `approve "${scope.format(step.args.ask)}" by ${step.args.by.join(' or ')} within ${scope.format(step.args.within)}`,
          makeLoad({ duration: { max: within === undefined ? UNBOUNDED : new Decimal(within) } }),
        );
      }
      case 'notify':
        return note(`notify ${step.args.to}: ${scope.format(step.args.text)}`);
      case 'stop':
        return note(`stop as ${step.args.outcome}`);
      case 'fail':
        return note('fail');
      case 'manage': {
        const limits = [step.args.timeLimit, step.timeout].map((limit) => limit && scope.evaluateKnown(limit)?.ms);
        const held = Math.min(...limits.map((ms) => ms ?? Number.POSITIVE_INFINITY));
        return this.planLooking(step, place, path, countLooks(held));
      }
      case 'close':
        return this.planLooking(step, place, path, MOST_EXITS + 1);
      default:
        return this.requests.plan(step, scope, { path, name: nameStep(step, place.runbook, this.depth) });
    }
  }

  /** A step that reads its price again at each look. */
  private planLooking(step: StepOf<'manage' | 'close'>, place: Place, path: string, looks: number): Planned {
    const planned = this.requests.plan(step, place.scope, { path, name: nameStep(step, place.runbook, this.depth) });
    const look = repeat(this.feeds.ofCondition(step, place.runbook), { min: 0, max: looks }, HOLD_EVERY_MS);
    return { ...planned, load: together([planned.load, look]) };
  }

  private planWaitFor(step: StepOf<'wait_for'>, place: Place, path: string): Planned {
    const { args } = step;
    const { scope } = place;
    const within = scope.evaluateKnown(args.within)?.ms;
    if (args.kind === 'order' || args.kind === 'any') {
      const awaited = args.kind === 'order' ? args.order.text : `one of ${args.any.text}`;
      this.rows.addNote(path, `wait until ${awaited} is ${args.is}, at most ${scope.format(args.within)}`);
      return {
        load: this.requests.planReads(step, scope, { path, name: nameStep(step, place.runbook, this.depth) }),
        value: NOT_KNOWN,
      };
    }
    const every = args.every === undefined ? LOOK_EVERY_MS : scope.evaluateKnown(args.every)?.ms;
    if (args.kind === 'until') {
      const looks =
        within === undefined || every === undefined
          ? Number.POSITIVE_INFINITY
          : // At once, after each pause, and at the end.
            Math.ceil(within / Math.max(1, every)) + 1;
      this.rows.addNote(path, `wait until ${args.until.text}, at most ${scope.format(args.within)}`);
      const look = repeat(this.feeds.ofCondition(step, place.runbook), { min: 1, max: looks }, every);
      const waited = makeLoad({ duration: { max: within === undefined ? UNBOUNDED : new Decimal(within) } });
      return { load: sequence([look, waited]), value: DONE };
    }
    const most =
      within === undefined || every === undefined
        ? Number.POSITIVE_INFINITY
        : Math.floor(within / Math.max(1, every)) + 1;
    const load = this.rows.withLoop(
      `every ${scope.format(args.every)} until ${args.until.text}, at most ${scope.format(args.within)}`,
      () => this.step(args.read, place, false),
    );
    return { load: repeat(load, { min: 1, max: most }, every), value: NOT_KNOWN };
  }

  private planCall({ args }: StepOf<'call'>, { runbook, scope }: Place, path: string): Planned {
    const callee = runbook.calls[args.runbook];
    this.rows.addNote(path, `call ${args.runbook}:`);
    // A runbook that has errors calls one that was not loaded.
    if (callee === undefined || this.depth >= DEEPEST) return { load: EMPTY, value: NOT_KNOWN };
    const inputs = makeLazyRecord(
      callee.inputs.map((input) => {
        const expr = args.with[input.name];
        return [input.name, expr === undefined ? () => input.default : scope.freeze(expr)];
      }),
    );
    this.depth += 1;
    const { load, scope: inner } = this.runbook(callee, { known: inputs }, `${path}/`);
    this.depth -= 1;
    return {
      load,
      value: { known: makeLazyRecord(callee.outputs.map(({ name, value }) => [name, inner.freeze(value)])) },
    };
  }
}

/** Costs with those of the renewals that a request may lead to. */
function withRenewals(context: PlanContext): PlanContext {
  const { costOf, declared } = context;
  const renewals = RENEWALS * costOf('POST /jwt');
  return {
    ...context,
    costOf: (name) => costOf(name) + renewals,
    declared: { ...declared, costOf: (request) => declared.costOf(request) + renewals },
  };
}

/** The list variable of a runbook, in the figures of a plan. */
export function nameList({ name }: CheckedRunbook, variable: string): string {
  return `${name}/${variable}`;
}

/** What a `set` adds to list variables. */
function makeGrowth(step: StepOf<'set'>, runbook: CheckedRunbook): Load {
  const grown = listGrowth(step, runbook).filter(([, items]) => items > 0);
  if (grown.length === 0) return EMPTY;
  const figures = grown.map(
    ([name, items]) => [`list ${nameList(runbook, name)}`, { max: new Decimal(items) }] as const,
  );
  return makeLoad(Object.fromEntries(figures));
}

function makePath(step: CheckedStep, { prefix }: Place): string {
  return prefix + step.path;
}

/** A pause; undefined where only the run will know how long. `limitMs`: the step times out after this. */
function waitLoad(ms: number | undefined, limitMs = Number.POSITIVE_INFINITY): Load {
  const least = Math.min(ms ?? 0, limitMs);
  return makeLoad(
    { duration: { min: new Decimal(least), max: ms === undefined ? UNBOUNDED : new Decimal(ms) } },
    { tokens: 0, minMs: least, rate: 0 },
  );
}

/** The limits around a runbook, tightened by its own. */
function tightenBounds({ limits }: CheckedRunbook, scope: PlanScope, outer: LimitRules): Bounds {
  if (limits === undefined) return { rules: outer, reference: () => undefined };
  return {
    rules: tighter(
      outer,
      evaluateLimits(limits, (expr) => scope.evaluateKnown(expr)),
    ),
    reference: (market) => {
      const { priceBands = [] } = limits;
      // Only the run will know which band it is.
      if (market === KNOWN_AFTER_RUN && priceBands.some((band) => band.market !== undefined)) return 'open';
      const band = findBand(limits, market);
      if (band === undefined) return undefined;
      const price = scope.evaluateKnown(band.around);
      return price === undefined ? 'open' : formatDecimal(price);
    },
  };
}
