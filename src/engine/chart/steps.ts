/**
 * Builds the chart's blocks from lists of steps: each step exactly once, its condition before it, its handlers beside it, and the
 * states of a loop or a wait.
 */
import { findPosition, type SourceText } from '../../base/diagnostic.ts';
import type { CatchClause, CheckedStep, StepOf } from '../../runbook/checked.ts';
import {
  type Arrow,
  type ChartBlock,
  type ChartState,
  DONE,
  here,
  Names,
  nameStep,
  type StepFacts,
  selectLeads,
  type Target,
} from './model.ts';
import { formatArguments, formatStepTitle } from './text.ts';

export class StepChart {
  private readonly source: SourceText;
  private readonly stopTo: Target;

  /** `stopTo`: where a `stop` leads. */
  constructor(source: SourceText, stopTo: Target) {
    this.source = source;
    this.stopTo = stopTo;
  }

  /** `last`: states that follow the steps. `reserved`: keys the caller gives to states of its own. */
  block(steps: readonly CheckedStep[], last: readonly ChartState[] = [], reserved: readonly string[] = []): ChartBlock {
    const names = new Names();
    for (const key of [...last.map((state) => state.key), ...reserved]) names.assign(key);
    const named = steps.map((step) => {
      const key = names.assign(nameStep(step));
      return { step, key, entry: step.if === undefined ? key : names.assign(`if_${key}`) };
    });
    const end = last[0]?.key ?? DONE;
    const states = named.flatMap(({ step, key, entry }, index) =>
      this.step(step, { key, entry, next: here(named[index + 1]?.entry ?? end), names }),
    );
    return { initial: named[0]?.entry ?? end, states: [...states, ...last] };
  }

  /** A step with its condition before it and its handlers beside it. */
  private step(step: CheckedStep, at: StepPlace): readonly ChartState[] {
    const { key, entry, next, names } = at;
    const states: ChartState[] = [];
    if (step.if !== undefined) {
      states.push({
        key: entry,
        kind: 'choice',
        label: '',
        leads: [{ guard: step.if.text, to: here(key) }, { to: next }],
        fails: [],
      });
    }
    const handlers: ChartState[] = [];
    const fails = step.catch.flatMap((clause, index) =>
      this.clause(clause, names.assign(`${key}_catch_${index + 1}`), at, handlers),
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
    const delay = step.verb === 'wait_for' ? step.args.within : step.timeout;
    states.push({
      key,
      kind: 'step',
      label: formatStepTitle(step),
      step: this.facts(step),
      ...this.body(step, next),
      fails,
      ...(timedOut === undefined || delay === undefined ? {} : { after: { delay: delay.text, to: here(timedOut) } }),
      ...(step.verb === 'wait'
        ? {
            leads: [],
            after: { delay: step.args.kind === 'for' ? step.args.for.text : `until ${step.args.until.text}`, to: next },
          }
        : {}),
      ...(step.retry === undefined || step.retry.max === 0
        ? {}
        : { retry: `${step.retry.on.join(', ')}: at most ${step.retry.max} more` }),
    });
    return [...states, ...handlers];
  }

  private clause(
    clause: CatchClause,
    key: string,
    { key: step, next }: StepPlace,
    handlers: ChartState[],
  ): readonly Arrow[] {
    const kinds = clause.on === 'any' ? 'any error' : `error is ${clause.on.join(' or ')}`;
    const guard = clause.if === undefined ? kinds : `${kinds} and (${clause.if.text})`;
    const onwards: Readonly<Record<CatchClause['then'], Target | undefined>> = {
      continue: next,
      retry: here(step),
      stop: this.stopTo,
      fail: undefined,
    };
    const to = onwards[clause.then];
    // Without steps or a target the failure goes on as without the clause.
    if (clause.do.length === 0) return to === undefined ? [] : [{ guard, to }];
    const last: ChartState[] =
      to === undefined
        ? [
            {
              key: 'fails',
              kind: 'cleanup',
              label: 'fails all the same',
              does: { verb: 'fail', id: `${key}/fails`, input: {} },
              leads: [],
              fails: [],
            },
          ]
        : [];
    handlers.push(
      makeBlockState(
        { key, kind: 'handler', label: `catch ${guard}` },
        this.block(clause.do, last),
        to === undefined ? [] : [{ to }],
      ),
    );
    return [{ guard, to: here(key) }];
  }

  private body(step: CheckedStep, next: Target): Pick<ChartState, 'does' | 'inside' | 'regions' | 'leads'> {
    const leads = [{ to: next }];
    switch (step.verb) {
      case 'for_each': {
        const { each, in: list, do: steps } = step.args;
        return {
          inside: makeRounds(
            this.block(steps),
            [{ guard: `another ${each} in ${list.text}`, to: here('round') }, { to: here(DONE) }],
            { label: `each ${each}` },
          ),
          leads,
        };
      }
      case 'repeat':
        return { inside: this.repeated(step), leads };
      case 'switch':
        return this.switched(step, leads);
      case 'parallel':
        return { regions: this.branches(step, next), leads };
      case 'wait_for':
        return step.args.kind === 'read'
          ? { inside: this.polled(step.args), leads }
          : { does: describeWork(step), leads };
      case 'stop':
        return { leads: [{ to: this.stopTo }] };
      case 'fail':
        return { does: describeWork(step), leads: [] };
      case 'wait':
        return { leads: [] };
      default:
        return { does: describeWork(step), leads };
    }
  }

  private repeated({ args }: StepOf<'repeat'>): ChartBlock {
    const bounds = [
      ...(args.while === undefined ? [] : [args.while.text]),
      ...(args.for === undefined ? [] : [`within ${args.for.text}`]),
      ...(args.max === undefined ? [] : [`fewer than ${args.max.text} rounds`]),
    ];
    const again: readonly Arrow[] = [{ guard: bounds.join(' and '), to: here('round') }, { to: here(DONE) }];
    return makeRounds(this.block(args.do), again, {
      label: 'each round',
      until: args.until?.text,
      every: args.every?.text,
    });
  }

  private polled({ read, until, every }: Extract<StepOf<'wait_for'>['args'], { kind: 'read' }>): ChartBlock {
    const { initial, states } = this.block([read], [], ['until', 'pause']);
    const asked: ChartState = {
      key: 'until',
      kind: 'choice',
      label: '',
      leads: [{ guard: until.text, to: here(DONE) }, { to: here('pause') }],
      fails: [],
    };
    const pause: ChartState = {
      key: 'pause',
      kind: 'pause',
      label: `wait ${every.text}`,
      leads: [],
      fails: [],
      after: { delay: every.text, to: here(initial) },
    };
    return { initial, states: [...states.map((state) => redirect(state, DONE, 'until')), asked, pause] };
  }

  private switched(step: StepOf<'switch'>, leads: readonly Arrow[]): Pick<ChartState, 'inside' | 'leads'> {
    const inside = this.cases(step);
    return { inside, leads: selectLeads(inside, leads) };
  }

  private cases({ args }: StepOf<'switch'>): ChartBlock {
    const arrows = args.cases.map(({ when }, index): Arrow => ({ guard: when.text, to: here(`case_${index + 1}`) }));
    const otherwise = args.else === undefined ? DONE : 'else';
    const choose: ChartState = {
      key: 'choose',
      kind: 'choice',
      label: '',
      leads: [...arrows, { to: here(otherwise) }],
      fails: [],
    };
    const branch = (key: string, label: string, steps: readonly CheckedStep[]): ChartState =>
      makeBlockState({ key, kind: 'branch', label }, this.block(steps), [{ to: here(DONE) }]);
    return {
      initial: 'choose',
      states: [
        choose,
        ...args.cases.map(({ when, do: steps }, index) => branch(`case_${index + 1}`, when.text, steps)),
        ...(args.else === undefined ? [] : [branch('else', 'else', args.else)]),
      ],
    };
  }

  private branches({ args }: StepOf<'parallel'>, next: Target): readonly ChartState[] {
    if (args.kind === 'each') {
      return [
        {
          key: 'each',
          kind: 'branch',
          label: `each ${args.each} in ${args.in.text}, at most ${args.max.text} at a time`,
          inside: this.block(args.do),
          leads: [],
          fails: [],
        },
      ];
    }
    const names = new Names();
    // The first branch that is done continues the run; its arrow leaves the parallel state from inside.
    const first: readonly Arrow[] =
      args.join === 'any' ? [{ to: next.in === 'block' ? { in: 'parent', key: next.key } : next }] : [];
    return args.branches.map(({ name, do: steps }) => ({
      key: names.assign(name),
      kind: 'branch',
      label: name,
      inside: this.block(steps),
      leads: first,
      fails: [],
    }));
  }

  private facts(step: CheckedStep): StepFacts {
    const { path, verb, id, note, because, span } = step;
    return {
      path,
      verb,
      line: findPosition(this.source.text, span.start).line,
      ...(id === undefined ? {} : { id }),
      ...(note === undefined ? {} : { note }),
      ...(because === undefined ? {} : { because: because.text }),
    };
  }
}

interface StepPlace {
  readonly key: string;
  /** The state that others lead to: the step, or the condition before it. */
  readonly entry: string;
  readonly next: Target;
  readonly names: Names;
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
  again: readonly Arrow[],
  {
    label,
    until,
    every,
  }: { readonly label: string; readonly until?: string | undefined; readonly every?: string | undefined },
): ChartBlock {
  const onwards = every === undefined ? 'again' : 'pause';
  const states: ChartState[] = [
    { key: 'again', kind: 'choice', label: '', leads: again, fails: [] },
    {
      key: 'round',
      kind: 'round',
      label,
      inside,
      leads: [{ to: here(until === undefined ? onwards : 'until') }],
      fails: [],
    },
  ];
  if (until !== undefined)
    states.push({
      key: 'until',
      kind: 'choice',
      label: '',
      leads: [{ guard: until, to: here(DONE) }, { to: here(onwards) }],
      fails: [],
    });
  if (every !== undefined)
    states.push({
      key: 'pause',
      kind: 'pause',
      label: `every ${every}`,
      leads: [],
      fails: [],
      after: { delay: every, to: here('again') },
    });
  return { initial: 'again', states };
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

function describeWork(step: CheckedStep): NonNullable<ChartState['does']> {
  return {
    verb: step.verb === 'call' ? `runbook ${step.args.runbook}` : step.verb,
    id: step.path,
    input: formatArguments(step.args),
  };
}
