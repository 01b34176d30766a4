/**
 * Builds the chart's blocks from lists of steps: each step exactly once, its condition before it, its handlers beside it, and the
 * states of a loop or a wait.
 */
import { findPosition, type SourceText } from '../../base/diagnostic.ts';
import { omitUndefined } from '../../base/json.ts';
import {
  type CatchClause,
  type CheckedRunbook,
  type CheckedStep,
  listExceptions,
  type StepOf,
} from '../../runbook/checked.ts';
import { bindCalls } from '../../runbook/steps/steps.ts';
import { listAllSteps, walkSteps } from '../../runbook/steps/walk.ts';
import {
  type Arrow,
  actorId,
  type ChartBlock,
  type ChartState,
  DONE,
  type Guard,
  here,
  makeChoice,
  Names,
  nameStep,
  type StepFacts,
  selectLeads,
  type Target,
} from './model.ts';
import { formatArguments, formatStepTitle } from './text.ts';

export class StepChart {
  readonly source: SourceText;
  readonly calls: CheckedRunbook['calls'];
  private readonly stopTo: Target;
  /** Begins the paths of a called runbook's steps. */
  private readonly prefix: string;

  /** `stopTo`: where a `stop` leads. */
  constructor({ source, calls }: Pick<CheckedRunbook, 'source' | 'calls'>, stopTo: Target, prefix = '') {
    this.source = source;
    this.calls = calls;
    this.stopTo = stopTo;
    this.prefix = prefix;
  }

  /** `last`: states that follow the steps. `reserved`: keys the caller gives to states of its own. */
  block(
    steps: readonly CheckedStep[],
    last: readonly ChartState[] = [],
    reserved: readonly string[] = [],
    cleanUp: Pick<StepPlace, 'endsAlone'> = {},
  ): ChartBlock {
    const names = new Names();
    for (const key of [...last.map((state) => state.key), ...reserved]) names.assign(key);
    const named = steps.map((step) => {
      const key = names.assign(nameStep(step));
      return { step, key, entry: step.if === undefined ? key : names.assign(`if_${key}`) };
    });
    const end = last[0]?.key ?? DONE;
    const states = named.flatMap(({ step, key, entry }, index) =>
      this.step(step, { key, entry, next: here(named[index + 1]?.entry ?? end), names, ...cleanUp }),
    );
    return { initial: named[0]?.entry ?? end, states: [...states, ...last] };
  }

  /** The steps of `on_error` or `finally`. One that halts ends alone: the rest still run. */
  cleanUp(steps: readonly CheckedStep[]): ChartBlock {
    return this.block(steps, [], [], { endsAlone: true });
  }

  /** A step with its condition before it and its handlers beside it. */
  private step(step: CheckedStep, at: StepPlace): readonly ChartState[] {
    const { key, entry, next, names } = at;
    const path = this.pathOf(step);
    const states: ChartState[] = [];
    if (step.if !== undefined) {
      const guard: Guard = { text: step.if.text, what: 'if', step: path };
      states.push(makeChoice(entry, [{ guard, to: here(key) }, { to: next }]));
    }
    const handlers: ChartState[] = [];
    const clauses = step.catch.flatMap((clause, index) =>
      this.clause(clause, { step, path: `${path}/catch/${index + 1}`, key: `${key}_catch_${index + 1}` }, at, handlers),
    );
    let timedOut: string | undefined;
    if (step.onTimeout !== undefined) {
      timedOut = names.assign(`${key}_on_timeout`);
      handlers.push(
        makeBlockState({ key: timedOut, kind: 'handler', label: 'on timeout' }, this.block(step.onTimeout), [
          { to: next },
        ]),
      );
    }
    const fails: readonly Arrow[] = [
      ...(timedOut === undefined ? [] : [{ guard: makeCatchGuard({ on: ['timeout'] }, path), to: here(timedOut) }]),
      ...this.retries(step, at),
      ...clauses,
    ];
    const delay = step.verb === 'wait_for' ? step.args.within : step.timeout;
    const does = describeWork(step, path);
    states.push({
      key,
      kind: 'step',
      label: formatStepTitle(step),
      step: this.facts(step),
      does,
      ...this.body(step, at),
      fails,
      ...(timedOut === undefined || delay === undefined ? {} : { after: { delay: delay.text, to: here(timedOut) } }),
    });
    if (step.verb === 'parallel')
      states.push(makeFailure(names.assign(`${key}_fails`), 'fails with a branch', path, fails));
    const all = [...states, ...handlers];
    if (at.endsAlone !== true || !mayHalt(step)) return all;
    return all.map((state) => (state.kind === 'choice' ? state : { ...state, on: [{ event: 'HALTED', to: next }] }));
  }

  private retries(step: CheckedStep, { key, entry }: StepPlace): readonly Arrow[] {
    if (step.retry === undefined || step.retry.max === 0) return [];
    const { on, max } = step.retry;
    const text = `retry on ${on.join(', ')}: at most ${max} more`;
    return this.again({ text, what: 'retry', step: this.pathOf(step), on, max }, step, { key, entry });
  }

  /** The arrows of another attempt. It begins with the step's condition as long as that could not be evaluated. */
  private again(guard: Guard, step: CheckedStep, { key, entry }: Pick<StepPlace, 'key' | 'entry'>): readonly Arrow[] {
    const open: Arrow[] =
      step.if === undefined
        ? []
        : [{ guard: { ...guard, text: `${guard.text}, and its condition is open`, open: true }, to: here(entry) }];
    return [...open, { guard, to: here(key) }];
  }

  private clause(
    clause: CatchClause,
    { step, path, key: wanted }: { readonly step: CheckedStep; readonly path: string; readonly key: string },
    at: StepPlace,
    handlers: ChartState[],
  ): readonly Arrow[] {
    const guard = makeCatchGuard(clause, this.pathOf(step));
    const onwards: Readonly<Record<CatchClause['then'], Target | undefined>> = {
      continue: at.next,
      retry: undefined,
      stop: this.stopTo,
      fail: undefined,
    };
    const to = onwards[clause.then];
    // Without steps or a target the failure goes on as without the clause; so it does in the clauses behind it.
    if (clause.do.length === 0 && to !== undefined) return [{ guard, to }];
    const key = at.names.assign(wanted);
    const fails = makeFailure('fails', 'fails all the same', path, []);
    const again: Guard = { text: 'fewer than 10 retries by catch', what: 'catch_retry', step: this.pathOf(step) };
    const last: readonly ChartState[] =
      clause.then === 'retry'
        ? [makeChoice('again', [{ guard: again, to: here(DONE) }, { to: here('fails') }]), fails]
        : to === undefined
          ? [fails]
          : [];
    const leads = clause.then === 'retry' ? this.reattempts(step, at) : to === undefined ? [] : [{ to }];
    handlers.push(
      makeBlockState({ key, kind: 'handler', label: `catch ${guard.text}` }, this.block(clause.do, last), leads),
    );
    return [{ guard, to: here(key) }];
  }

  /** The arrows of an attempt after a catch. */
  private reattempts(step: CheckedStep, { key, entry }: StepPlace): readonly Arrow[] {
    const guard: Guard = { text: 'its condition is open', what: 'condition_open', step: this.pathOf(step) };
    return [...(step.if === undefined ? [] : [{ guard, to: here(entry) }]), { to: here(key) }];
  }

  private body(step: CheckedStep, { key, next }: StepPlace): Pick<ChartState, 'inside' | 'regions' | 'leads'> {
    const leads = [{ to: next }];
    const path = this.pathOf(step);
    switch (step.verb) {
      case 'for_each': {
        const { each, in: list, do: steps } = step.args;
        const guard: Guard = { text: `another ${each} in ${list.text}`, what: 'rounds', step: path };
        return { inside: makeRounds(this.block(steps), guard, { label: `each ${each}` }), leads };
      }
      case 'repeat':
        return { inside: this.repeated(step), leads };
      case 'if':
      case 'switch':
        return this.switched(step, leads);
      case 'parallel': {
        const failed: Guard = { text: describeJoin(step), what: 'branch_failed', step: path };
        return {
          regions: this.branches(step),
          leads: [...this.stops(step), { guard: failed, to: here(`${key}_fails`) }, ...leads],
        };
      }
      case 'wait_for':
        return step.args.kind === 'read' ? { inside: this.polled(step.args, path), leads } : { leads };
      case 'stop':
        return { leads: [{ to: this.stopTo }] };
      case 'fail':
        return { leads: [] };
      case 'call':
        return { leads: [...this.stops(step), ...leads] };
      default:
        return { leads };
    }
  }

  /** The arrow of a step inside which the run can be stopped without leaving it: branches are joined, a called runbook ends. */
  private stops(step: StepOf<'parallel' | 'call'>): readonly Arrow[] {
    const inside = step.verb === 'call' ? this.calls[step.args.runbook] : undefined;
    const steps = inside === undefined ? [step] : listAllSteps(inside);
    const calls = inside?.calls ?? this.calls;
    if (!mayStop(steps, calls)) return [];
    return [
      { guard: { text: 'it has stopped the run', what: 'run_stopped', step: this.pathOf(step) }, to: this.stopTo },
    ];
  }

  private repeated(step: StepOf<'repeat'>): ChartBlock {
    const { args } = step;
    const bounds = [
      ...(args.while === undefined ? [] : [args.while.text]),
      ...(args.for === undefined ? [] : [`within ${args.for.text}`]),
      ...(args.max === undefined ? [] : [`fewer than ${args.max.text} rounds`]),
    ];
    const path = this.pathOf(step);
    return makeRounds(
      this.block(args.do),
      { text: bounds.join(' and '), what: 'rounds', step: path },
      {
        label: 'each round',
        until: args.until === undefined ? undefined : { text: args.until.text, what: 'until', step: path },
        every: args.every?.text,
      },
    );
  }

  private polled(
    { read, until, every }: Extract<StepOf<'wait_for'>['args'], { kind: 'read' }>,
    path: string,
  ): ChartBlock {
    const { initial, states } = this.block([read], [], ['until', 'pause']);
    const guard: Guard = { text: until.text, what: 'until', step: path };
    const asked = makeChoice('until', [{ guard, to: here(DONE) }, { to: here('pause') }]);
    const pause = makePause(`wait ${every.text}`, every.text, initial);
    return { initial, states: [...states.map((state) => redirect(state, DONE, 'until')), asked, pause] };
  }

  private switched(step: StepOf<'if' | 'switch'>, leads: readonly Arrow[]): Pick<ChartState, 'inside' | 'leads'> {
    const inside = this.cases(step);
    return { inside, leads: selectLeads(inside, leads) };
  }

  private cases(step: StepOf<'if' | 'switch'>): ChartBlock {
    const { args } = step;
    const path = this.pathOf(step);
    const arrows = args.cases.map(
      ({ when }, index): Arrow => ({
        guard: { text: when.text, what: 'when', step: path },
        to: here(`case_${index + 1}`),
      }),
    );
    const otherwise = args.else === undefined ? DONE : 'else';
    const branch = (key: string, label: string, steps: readonly CheckedStep[]): ChartState =>
      makeBlockState({ key, kind: 'branch', label }, this.block(steps), [{ to: here(DONE) }]);
    return {
      initial: 'choose',
      states: [
        makeChoice('choose', [...arrows, { to: here(otherwise) }]),
        ...args.cases.map(({ when, do: steps }, index) => branch(`case_${index + 1}`, when.text, steps)),
        ...(args.else === undefined ? [] : [branch('else', 'else', args.else)]),
      ],
    };
  }

  /**
   * The branches of a parallel step. None is left behind: a branch that fails or stops the run has come to its end like one that is
   * done, and when all have, their ends decide how the step ends.
   */
  private branches(step: StepOf<'parallel'>): readonly ChartState[] {
    const { args } = step;
    const path = this.pathOf(step);
    if (args.kind === 'each') {
      const item = new StepChart(this, { in: 'branch', key: 'again' }, this.prefix);
      const guard: Guard = { text: `another ${args.each} in ${args.in.text}`, what: 'rounds', step: path };
      const work = { verb: 'branch', id: actorId(`${path}/do`), input: {} };
      const { initial, states } = makeRounds(item.block(args.do), guard, { label: `each ${args.each}` });
      return [
        {
          key: 'each',
          kind: 'branch',
          label: `each ${args.each} in ${args.in.text}, at most ${args.max.text} at a time`,
          inside: {
            initial,
            states: states.map((state) =>
              state.key === 'round' ? { ...state, does: work, fails: [{ to: here('again') }] } : state,
            ),
          },
          leads: [],
          fails: [],
        },
      ];
    }
    const names = new Names();
    const branch = new StepChart(this, { in: 'branch', key: DONE }, this.prefix);
    return args.branches.map(({ name, do: steps }) => ({
      key: names.assign(name),
      kind: 'branch',
      label: name,
      does: { verb: 'branch', id: actorId(`${path}/branches/${name}`), input: {} },
      inside: branch.block(steps),
      leads: [],
      fails: [{ to: { in: 'branch', key: DONE } }],
    }));
  }

  private pathOf(step: CheckedStep): string {
    return `${this.prefix}${step.path}`;
  }

  private facts(step: CheckedStep): StepFacts {
    const { verb, id, note, because, span } = step;
    return {
      path: this.pathOf(step),
      verb,
      line: findPosition(this.source.text, span.start).line,
      ...omitUndefined({ id, note, because: because?.text }),
    };
  }
}

interface StepPlace {
  readonly key: string;
  /** The state that others lead to: the step, or the condition before it. */
  readonly entry: string;
  readonly next: Target;
  readonly names: Names;
  /** A halt of the step leads to the next. */
  readonly endsAlone?: true;
}

/** Makes a state that holds a block. */
function makeBlockState(
  state: Pick<ChartState, 'key' | 'kind' | 'label'>,
  inside: ChartBlock,
  leads: readonly Arrow[],
): ChartState {
  return { ...state, inside, leads: selectLeads(inside, leads), fails: [] };
}

function makeRounds(
  inside: ChartBlock,
  another: Guard,
  {
    label,
    until,
    every,
  }: { readonly label: string; readonly until?: Guard | undefined; readonly every?: string | undefined },
): ChartBlock {
  const onwards = every === undefined ? 'again' : 'pause';
  const states: ChartState[] = [
    makeChoice('again', [{ guard: another, to: here('round') }, { to: here(DONE) }]),
    {
      key: 'round',
      kind: 'round',
      label,
      inside,
      leads: [{ to: here(until === undefined ? onwards : 'until') }],
      fails: [],
    },
  ];
  if (until !== undefined) states.push(makeChoice('until', [{ guard: until, to: here(DONE) }, { to: here(onwards) }]));
  if (every !== undefined) states.push(makePause(`every ${every}`, every, 'again'));
  return { initial: 'again', states };
}

/** The pause of a loop, behind which `next` follows. */
function makePause(label: string, delay: string, next: string): ChartState {
  return { key: 'pause', kind: 'pause', label, leads: [], fails: [], after: { delay, to: here(next) } };
}

/** A state that fails, as a step inside the block would. */
function makeFailure(key: string, label: string, path: string, fails: readonly Arrow[]): ChartState {
  return {
    key,
    kind: 'cleanup',
    label,
    does: { verb: 'fail', id: actorId(`${path}/fails`), input: {} },
    leads: [],
    fails,
  };
}

/** The guard of a clause: the kinds it takes, and its condition. */
function makeCatchGuard(
  { on, if: condition, then }: Pick<CatchClause, 'on'> & Partial<Pick<CatchClause, 'if' | 'then'>>,
  step: string,
): Guard {
  const not = listExceptions(then);
  const kinds = on === 'any' ? `any error but ${not.join(' and ')}` : `error is ${on.join(' or ')}`;
  return {
    text: condition === undefined ? kinds : `${kinds} and (${condition.text})`,
    what: 'catch',
    step,
    ...(on === 'any' ? { not } : { on }),
    ...(condition === undefined ? {} : { if: condition.text }),
  };
}

function describeJoin({ args }: StepOf<'parallel'>): string {
  return args.kind === 'branches' && args.join === 'any' ? 'every branch has failed' : 'a branch has failed';
}

/** Whether the run can be stopped by one of the steps, by a step inside it, or by a runbook that it calls. */
function mayStop(steps: readonly CheckedStep[], calls: CheckedRunbook['calls']): boolean {
  return [...walkSteps(steps)].some((step) => {
    if (step.verb === 'stop' || step.catch.some(({ then }) => then === 'stop')) return true;
    const callee = step.verb === 'call' ? calls[step.args.runbook] : undefined;
    return callee !== undefined && mayStop(listAllSteps(callee), callee.calls);
  });
}

/** Whether the outcome of a request may stay unknown in the step: of one of its own, or of an order that it reads. */
function mayHalt(step: CheckedStep): boolean {
  const asksVenue = (each: CheckedStep) =>
    (['calls', 'confirms', 'otherwise'] as const).some((which) => bindCalls(each, which).length > 0);
  return [...walkSteps([step])].some((each) => each.verb === 'call' || asksVenue(each));
}

/** The state with its arrows to one sibling redirected to another. */
function redirect(state: ChartState, from: string, to: string): ChartState {
  const turn = (target: Target): Target => (target.in === 'block' && target.key === from ? here(to) : target);
  const arrows = (list: readonly Arrow[]) => list.map((arrow) => ({ ...arrow, to: turn(arrow.to) }));
  return {
    ...state,
    leads: arrows(state.leads),
    fails: arrows(state.fails),
    ...(state.after === undefined ? {} : { after: { ...state.after, to: turn(state.after.to) } }),
  };
}

function describeWork(step: CheckedStep, path: string): NonNullable<ChartState['does']> {
  return {
    verb: step.verb === 'call' ? `runbook ${step.args.runbook}` : step.verb,
    id: actorId(path),
    input: formatArguments(step.args),
  };
}
