/**
 * The whole chart of a checked runbook as data: every step exactly once, its blocks, what is decided between them, its
 * failure paths, and the end of the run. Drawn from the runbook alone, for people and their tools; nothing executes it (what
 * executes are the flat machines of machines.ts).
 */
import { positionAt } from '../base/diagnostic.ts';
import type { CatchClause, CheckedRunbook, CheckedStep, StepOf } from '../runbook/checked.ts';
import { argumentTexts, stepTitle } from './chart-text.ts';

/** States that follow each other; `done` is the end of the block. */
export interface ChartBlock {
  readonly initial: string;
  readonly states: readonly ChartState[];
}

export interface ChartState {
  /** Letters, digits and `_`; unique among its siblings. */
  readonly key: string;
  readonly kind: 'step' | 'choice' | 'round' | 'branch' | 'handler' | 'pause' | 'phase' | 'cleanup' | 'final';
  readonly label: string;
  readonly step?: StepFacts;
  /** What is asked to be done in it: a verb, and its arguments as the author wrote them. */
  readonly does?: { readonly verb: string; readonly id: string; readonly input: ChartJson };
  readonly inside?: ChartBlock;
  /** Happen at the same time. */
  readonly regions?: readonly ChartState[];
  /** When it is done, or, for a choice, at once: the first whose guard holds. */
  readonly then: readonly Arrow[];
  /** When it fails and an arrow takes the failure; else the failure is that of the block around it. */
  readonly fails: readonly Arrow[];
  readonly after?: { readonly delay: string; readonly to: Arrow['to'] };
  /** When the outcome of a request is not known. */
  readonly halts?: Arrow['to'];
  /** Attempts that are made before a failure counts, in words. */
  readonly retry?: string;
}

export interface Arrow {
  /** An expression of the runbook, or a sentence. Absent: otherwise, or always. */
  readonly guard?: string;
  readonly to: Target;
}

/** A state of the same block; one beside the block's own state; a phase of the run. */
export type Target = { readonly in: 'block' | 'parent' | 'run'; readonly key: string };

export type ChartJson = string | number | boolean | readonly ChartJson[] | { readonly [key: string]: ChartJson };

export interface StepFacts {
  readonly path: string;
  readonly verb: string;
  readonly id?: string;
  /** Line of the file, from 1. */
  readonly line: number;
  readonly note?: string;
  readonly because?: string;
}

export const DONE = 'done';
const HALTED = 'an outcome at the venue is not known';

export function chartOf(runbook: CheckedRunbook): ChartBlock {
  return new Charting(runbook).run();
}

const here = (key: string): Target => ({ in: 'block', key });
const phase = (key: string): Target => ({ in: 'run', key });

class Charting {
  private readonly runbook: CheckedRunbook;
  private readonly stopTo: Target;

  constructor(runbook: CheckedRunbook) {
    this.runbook = runbook;
    this.stopTo = phase(this.firstOf('finally', 'on_exit') ?? 'stopped');
  }

  /** The phases of a run (language.md, "When a run ends"). */
  run(): ChartBlock {
    const { runbook } = this;
    const undos = undoable(runbook);
    const cleanup = this.firstOf('undo', 'on_error', 'finally', 'on_exit');
    const states: ChartState[] = [];
    if (runbook.deadman !== undefined) {
      const { market, timeout } = runbook.deadman;
      const does = { verb: 'arm_deadman', id: 'deadman', input: { market: market.text, timeout: timeout.text } };
      states.push({ key: 'deadman', kind: 'phase', label: `arm the deadman switch, ${timeout.text}`, does, then: [{ to: here('running') }], fails: [{ to: here(cleanup ?? 'failed') }] });
    }
    states.push({
      key: 'running',
      kind: 'phase',
      label: runbook.name,
      inside: this.block(runbook.steps),
      then: [{ to: here(this.firstOf('finally', 'on_exit') ?? 'succeeded') }],
      fails: [{ to: here(cleanup ?? 'failed') }],
      halts: here(this.firstOf('undo', 'on_error', 'finally') ?? 'halted'),
    });
    if (undos.length > 0) states.push(this.cleanup('undo', 'undo what was done, newest first', this.undoing(undos), this.after('undo')));
    if (runbook.onError.length > 0) states.push(this.cleanup('on_error', 'on_error', this.block(runbook.onError), this.after('on_error')));
    if (runbook.finally.length > 0) states.push(this.cleanup('finally', 'finally', this.block(runbook.finally), this.after('finally')));
    if (runbook.deadman !== undefined) states.push(this.exit());
    for (const key of ['succeeded', 'stopped', 'failed', 'halted']) states.push({ key, kind: 'final', label: key, then: [], fails: [] });
    return { initial: runbook.deadman === undefined ? 'running' : 'deadman', states };
  }

  private cleanup(key: string, label: string, inside: ChartBlock, then: readonly Arrow[]): ChartState {
    // Clean-up that fails does not keep the rest from being done.
    return { key, kind: 'phase', label, inside, then, fails: then };
  }

  private exit(): ChartState {
    const { deadman } = this.runbook;
    const disarms = deadman?.onExit === 'disarm';
    const does = { verb: disarms ? 'disarm_deadman' : 'leave_armed', id: 'on_exit', input: { market: deadman?.market.text ?? '' } };
    const label = disarms ? 'disarm the deadman switch' : 'leave the deadman switch armed';
    return { key: 'on_exit', kind: 'phase', label, does, then: OUTCOMES, fails: [{ to: here('failed') }] };
  }

  /** Where a phase of clean-up leads. */
  private after(key: 'undo' | 'on_error' | 'finally'): readonly Arrow[] {
    const order = ['undo', 'on_error', 'finally'] as const;
    const next = this.firstOf(...order.slice(order.indexOf(key) + 1));
    if (next !== undefined) return [{ to: here(next) }];
    const halted: Arrow = { guard: HALTED, to: here('halted') };
    if (this.runbook.deadman !== undefined) return [halted, { to: here('on_exit') }];
    // Undo and on_error are reached by failures alone.
    return key === 'finally' ? [halted, ...OUTCOMES] : [halted, { to: here('failed') }];
  }

  private firstOf(...phases: readonly ('undo' | 'on_error' | 'finally' | 'on_exit')[]): string | undefined {
    const { onError, finally: last, deadman } = this.runbook;
    const has = { undo: undoable(this.runbook).length > 0, on_error: onError.length > 0, finally: last.length > 0, on_exit: deadman !== undefined };
    return phases.find((each) => has[each]);
  }

  private undoing(undos: readonly CheckedStep[]): ChartBlock {
    const names = new Names();
    const entries = undos.map((step) => ({ step, choice: names.of(`if_${keyOf(step)}`), key: names.of(`undo_${keyOf(step)}`) }));
    const states = entries.flatMap(({ step, choice, key }, index): readonly ChartState[] => {
      const next = [{ to: here(entries[index + 1]?.choice ?? DONE) }];
      const asked: ChartState = { key: choice, kind: 'choice', label: '', then: [{ guard: `${nameOf(step)} was done`, to: here(key) }, ...next], fails: [] };
      const label = `undo ${nameOf(step)}`;
      const done: ChartState = Array.isArray(step.undo)
        ? { key, kind: 'cleanup', label, inside: this.block(step.undo), then: next, fails: next }
        : { key, kind: 'cleanup', label, does: { verb: 'cancel', id: `${step.path}/undo`, input: { order: nameOf(step) } }, then: next, fails: next };
      return [asked, done];
    });
    return { initial: entries[0]?.choice ?? DONE, states };
  }

  private block(steps: readonly CheckedStep[], last: readonly ChartState[] = []): ChartBlock {
    const names = new Names();
    for (const { key } of last) names.of(key);
    const named = steps.map((step) => {
      const key = names.of(keyOf(step));
      return { step, key, entry: step.if === undefined ? key : names.of(`if_${key}`) };
    });
    const end = last[0]?.key ?? DONE;
    const states = named.flatMap(({ step, key, entry }, index) => this.step(step, { key, entry, next: here(named[index + 1]?.entry ?? end), names }));
    return { initial: named[0]?.entry ?? end, states: [...states, ...last] };
  }

  /** A step with what belongs to it: the question before it, and its handlers beside it. */
  private step(step: CheckedStep, at: StepPlace): readonly ChartState[] {
    const { key, entry, next, names } = at;
    const states: ChartState[] = [];
    if (step.if !== undefined) {
      states.push({ key: entry, kind: 'choice', label: '', then: [{ guard: step.if.text, to: here(key) }, { to: next }], fails: [] });
    }
    const handlers: ChartState[] = [];
    const fails = step.catch.flatMap((clause, index) => this.clause(clause, names.of(`${key}_catch_${index + 1}`), at, handlers));
    let timedOut: string | undefined;
    if (step.onTimeout !== undefined) {
      timedOut = names.of(`${key}_on_timeout`);
      handlers.push({ key: timedOut, kind: 'handler', label: 'on timeout', inside: this.block(step.onTimeout), then: [{ to: next }], fails: [] });
    }
    const delay = step.verb === 'wait_for' ? step.args.within : step.timeout;
    states.push({
      key,
      kind: 'step',
      label: stepTitle(step),
      step: this.facts(step),
      ...this.body(step, next),
      fails,
      ...(timedOut === undefined || delay === undefined ? {} : { after: { delay: delay.text, to: here(timedOut) } }),
      ...(step.verb === 'wait' ? { then: [], after: { delay: step.args.kind === 'for' ? step.args.for.text : `until ${step.args.until.text}`, to: next } } : {}),
      ...(step.retry === undefined || step.retry.max === 0 ? {} : { retry: `${step.retry.on.join(', ')}: at most ${step.retry.max} more` }),
    });
    return [...states, ...handlers];
  }

  private clause(clause: CatchClause, key: string, { key: step, next }: StepPlace, handlers: ChartState[]): readonly Arrow[] {
    const kinds = clause.on === 'any' ? 'any error' : `error is ${clause.on.join(' or ')}`;
    const guard = clause.if === undefined ? kinds : `${kinds} and (${clause.if.text})`;
    const onwards: Readonly<Record<CatchClause['then'], Target | undefined>> = { continue: next, retry: here(step), stop: this.stopTo, fail: undefined };
    const to = onwards[clause.then];
    // Nothing to do, and the failure goes on as it would without the clause.
    if (clause.do.length === 0) return to === undefined ? [] : [{ guard, to }];
    const last: ChartState[] = to === undefined ? [{ key: 'fails', kind: 'cleanup', label: 'fails all the same', does: { verb: 'fail', id: `${key}/fails`, input: {} }, then: [], fails: [] }] : [];
    handlers.push({ key, kind: 'handler', label: `catch ${guard}`, inside: this.block(clause.do, last), then: to === undefined ? [] : [{ to }], fails: [] });
    return [{ guard, to: here(key) }];
  }

  private body(step: CheckedStep, next: Target): Pick<ChartState, 'does' | 'inside' | 'regions' | 'then'> {
    const then = [{ to: next }];
    switch (step.verb) {
      case 'for_each': {
        const { each, in: list, do: steps } = step.args;
        return { inside: rounds(this.block(steps), [{ guard: `another ${each} in ${list.text}`, to: here('round') }, { to: here(DONE) }], { label: `each ${each}` }), then };
      }
      case 'repeat':
        return { inside: this.repeated(step), then };
      case 'switch':
        return { inside: this.cases(step), then };
      case 'parallel':
        return { regions: this.branches(step, next), then };
      case 'wait_for':
        return step.args.kind === 'read' ? { inside: this.polled(step.args), then } : { does: doesOf(step), then };
      case 'stop':
        return { then: [{ to: this.stopTo }] };
      case 'fail':
        return { does: doesOf(step), then: [] };
      case 'wait':
        return { then: [] };
      default:
        return { does: doesOf(step), then };
    }
  }

  private repeated({ args }: StepOf<'repeat'>): ChartBlock {
    const bounds = [
      ...(args.while === undefined ? [] : [args.while.text]),
      ...(args.for === undefined ? [] : [`within ${args.for.text}`]),
      ...(args.max === undefined ? [] : [`fewer than ${args.max.text} rounds`]),
    ];
    const again: readonly Arrow[] = [{ guard: bounds.join(' and '), to: here('round') }, { to: here(DONE) }];
    return rounds(this.block(args.do), again, { label: 'each round', until: args.until?.text, every: args.every?.text });
  }

  private polled({ read, until, every }: Extract<StepOf<'wait_for'>['args'], { kind: 'read' }>): ChartBlock {
    const { initial, states } = this.block([read]);
    const asked: ChartState = { key: 'until', kind: 'choice', label: '', then: [{ guard: until.text, to: here(DONE) }, { to: here('pause') }], fails: [] };
    const pause: ChartState = { key: 'pause', kind: 'pause', label: `wait ${every.text}`, then: [], fails: [], after: { delay: every.text, to: here(initial) } };
    return { initial, states: [...states.map((state) => redirected(state, DONE, 'until')), asked, pause] };
  }

  private cases({ args }: StepOf<'switch'>): ChartBlock {
    const arrows = args.cases.map(({ when }, index): Arrow => ({ guard: when.text, to: here(`case_${index + 1}`) }));
    const otherwise = args.else === undefined ? DONE : 'else';
    const choose: ChartState = { key: 'choose', kind: 'choice', label: '', then: [...arrows, { to: here(otherwise) }], fails: [] };
    const branch = (key: string, label: string, steps: readonly CheckedStep[]): ChartState => ({ key, kind: 'branch', label, inside: this.block(steps), then: [{ to: here(DONE) }], fails: [] });
    return {
      initial: 'choose',
      states: [choose, ...args.cases.map(({ when, do: steps }, index) => branch(`case_${index + 1}`, when.text, steps)), ...(args.else === undefined ? [] : [branch('else', 'else', args.else)])],
    };
  }

  private branches({ args }: StepOf<'parallel'>, next: Target): readonly ChartState[] {
    if (args.kind === 'each') {
      return [{ key: 'each', kind: 'branch', label: `each ${args.each} in ${args.in.text}, at most ${args.max.text} at a time`, inside: this.block(args.do), then: [], fails: [] }];
    }
    const names = new Names();
    // The first branch that is done takes the run onwards; it leaves the parallel state from inside.
    const first: readonly Arrow[] = args.join === 'any' ? [{ to: next.in === 'block' ? { in: 'parent', key: next.key } : next }] : [];
    return args.branches.map(({ name, do: steps }) => ({ key: names.of(name), kind: 'branch', label: name, inside: this.block(steps), then: first, fails: [] }));
  }

  private facts(step: CheckedStep): StepFacts {
    const { path, verb, id, note, because, span } = step;
    return {
      path,
      verb,
      line: positionAt(this.runbook.source.text, span.start).line,
      ...(id === undefined ? {} : { id }),
      ...(note === undefined ? {} : { note }),
      ...(because === undefined ? {} : { because: because.text }),
    };
  }
}

const OUTCOMES: readonly Arrow[] = [
  { guard: 'the steps succeeded', to: here('succeeded') },
  { guard: 'the run was stopped', to: here('stopped') },
  { to: here('failed') },
];

interface StepPlace {
  readonly key: string;
  /** The state others go to: the step, or the question before it. */
  readonly entry: string;
  readonly next: Target;
  readonly names: Names;
}

function rounds(inside: ChartBlock, again: readonly Arrow[], { label, until, every }: { readonly label: string; readonly until?: string | undefined; readonly every?: string | undefined }): ChartBlock {
  const onwards = every === undefined ? 'again' : 'pause';
  const states: ChartState[] = [
    { key: 'again', kind: 'choice', label: '', then: again, fails: [] },
    { key: 'round', kind: 'round', label, inside, then: [{ to: here(until === undefined ? onwards : 'until') }], fails: [] },
  ];
  if (until !== undefined) states.push({ key: 'until', kind: 'choice', label: '', then: [{ guard: until, to: here(DONE) }, { to: here(onwards) }], fails: [] });
  if (every !== undefined) states.push({ key: 'pause', kind: 'pause', label: `every ${every}`, then: [], fails: [], after: { delay: every, to: here('again') } });
  return { initial: 'again', states };
}

/** The state with its arrows to one sibling turned to another. */
function redirected(state: ChartState, from: string, to: string): ChartState {
  const turn = (target: Target): Target => (target.in === 'block' && target.key === from ? here(to) : target);
  const arrows = (list: readonly Arrow[]) => list.map((arrow) => ({ ...arrow, to: turn(arrow.to) }));
  return {
    ...state,
    then: arrows(state.then),
    fails: arrows(state.fails),
    ...(state.after === undefined ? {} : { after: { ...state.after, to: turn(state.after.to) } }),
  };
}

function doesOf(step: CheckedStep): NonNullable<ChartState['does']> {
  return { verb: step.verb === 'call' ? `runbook ${step.args.runbook}` : step.verb, id: step.path, input: argumentTexts(step.args) };
}

/** Steps that are undone when a later one fails, the last first. */
function undoable(runbook: CheckedRunbook): readonly CheckedStep[] {
  const found: CheckedStep[] = [];
  const walk = (steps: readonly CheckedStep[]): void => {
    for (const step of steps) {
      if (step.undo !== undefined && step.undo !== 'keep') found.push(step);
      for (const inner of innerSteps(step)) walk(inner);
    }
  };
  walk(runbook.steps);
  walk(runbook.onError);
  walk(runbook.finally);
  return found.reverse();
}

/** The lists of steps inside a step, but for its undo. */
function innerSteps(step: CheckedStep): readonly (readonly CheckedStep[])[] {
  const handlers = [...step.catch.map((clause) => clause.do), step.onTimeout ?? []];
  switch (step.verb) {
    case 'for_each':
    case 'repeat':
      return [step.args.do, ...handlers];
    case 'parallel':
      return step.args.kind === 'each' ? [step.args.do, ...handlers] : [...step.args.branches.map((branch) => branch.do), ...handlers];
    case 'switch':
      return [...step.args.cases.map((each) => each.do), step.args.else ?? [], ...handlers];
    case 'wait_for':
      return step.args.kind === 'read' ? [[step.args.read], ...handlers] : handlers;
    default:
      return handlers;
  }
}

function nameOf(step: CheckedStep): string {
  return step.id ?? step.path.split('/').at(-1)?.replace(/^(\d+):(.*)$/, '$2 $1') ?? step.verb;
}

/** `2:assert` becomes `assert_2`. */
function keyOf(step: CheckedStep): string {
  return nameOf(step);
}

/** Makes keys: letters, digits and `_`, each given once. */
class Names {
  private readonly taken = new Set<string>([DONE]);

  of(wanted: string): string {
    const plain = wanted.replace(/[^A-Za-z0-9]+/g, '_');
    let name = plain;
    for (let count = 2; this.taken.has(name); count += 1) name = `${plain}_${count}`;
    this.taken.add(name);
    return name;
  }
}
