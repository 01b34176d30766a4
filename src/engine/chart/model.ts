/** The parts of a chart, independent of the language it is rendered in: states, blocks of states, and arrows between them. */
import type { CheckedStep, ErrorKind } from '../../runbook/checked.ts';
import type { ChartJson } from './text.ts';

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
  /**
   * The work of the state: a step's name, and its arguments as the author wrote them. A state with states inside does its work as
   * long as it is active, and its `fails` are for this work and for everything inside.
   */
  readonly does?: { readonly verb: string; readonly id: string; readonly input: ChartJson };
  readonly inside?: ChartBlock;
  /** Blocks that run at the same time. */
  readonly regions?: readonly ChartState[];
  /** Arrows of success; of a choice, taken at once. The first whose guard holds applies. */
  readonly leads: readonly Arrow[];
  /** Arrows of failure. A failure that none takes is that of the block around it. */
  readonly fails: readonly Arrow[];
  readonly after?: { readonly delay: string; readonly to: Arrow['to'] };
  /** Events of the run that end the state, whatever is active inside. */
  readonly on?: readonly { readonly event: RunEvent; readonly to: Target }[];
}

/** Events of the run, and how an arrow names them. */
const RUN_EVENTS = {
  HALTED: 'an outcome is not known',
  STOPPED: 'stopped by --until',
  FAILED: 'cancelled',
  RESUMED: 'resume',
} as const;
type RunEvent = keyof typeof RUN_EVENTS;

/** A state that is left at once, by the first arrow whose guard holds. */
export function makeChoice(key: string, leads: readonly Arrow[], label = ''): ChartState {
  return { key, kind: 'choice', label, leads, fails: [] };
}

/** The arrows out of a state with their labels, in the sequence in which they are drawn. */
export function listArrows(state: ChartState): readonly { readonly to: Target; readonly label: string | undefined }[] {
  const { leads, fails, after, on = [] } = state;
  const label = (arrows: readonly Arrow[], otherwise?: string) =>
    arrows.map(({ guard, to }) => ({ to, label: guard?.text ?? otherwise }));
  const delay = after?.delay.startsWith('until ') ? after.delay : `after ${after?.delay}`;
  return [
    ...label(leads, leads.length > 1 ? 'otherwise' : undefined),
    ...(after === undefined ? [] : [{ to: after.to, label: delay }]),
    // Clean-up leads to the same state whether it failed or not.
    ...(fails === leads ? [] : label(fails, 'fails')),
    ...on.map(({ event, to }) => ({ to, label: RUN_EVENTS[event] })),
  ];
}

export interface Arrow {
  /** Absent: otherwise, or always. */
  readonly guard?: Guard;
  readonly to: Target;
}

export interface Guard {
  /** An expression of the runbook, or a sentence. */
  readonly text: string;
  /** What decides it; `if`, `when`, `while`, `until` and `catch` are in the journal as `step.decided`. */
  readonly what: Question;
  /** Path of the step that asks. */
  readonly step?: string;
  /** Kinds of errors, of `catch` and `retry`. */
  readonly on?: readonly ErrorKind[];
  /** Kinds that `catch: any` leaves alone. */
  readonly not?: readonly ErrorKind[];
  /** The clause's own condition, beside the kinds. */
  readonly if?: string;
  /** The most further attempts of `retry`. */
  readonly max?: number;
  /** The step's own condition could not be evaluated, so the attempt begins with it. */
  readonly open?: true;
}

export type Question =
  /** Conditions of the author. `rounds`: whether a loop has another one. */
  | 'if'
  | 'when'
  | 'until'
  | 'rounds'
  | 'catch'
  /** An attempt is repeated: by `retry`, by `catch`; its condition could not be evaluated. */
  | 'retry'
  | 'catch_retry'
  | 'condition_open'
  /** How branches, or a called runbook, have ended. */
  | 'branch_failed'
  | 'run_stopped'
  /** The next step to undo. */
  | 'undo'
  /** How the run goes on. */
  | 'cancelled'
  | 'unprotected'
  | 'halted'
  | 'halted_before_on_error'
  | 'succeeded'
  | 'stopped';

/** A state of the same block, of the branch of a parallel step that the arrow begins in, or a phase of the run. */
export type Target = { readonly in: 'block' | 'branch' | 'run'; readonly key: string };

/** The path of a target from the root; `from` is the path of the state in which the arrow begins. */
export function resolveTarget(to: Target, from: readonly string[], branches: ReadonlySet<string>): readonly string[] {
  if (to.in === 'run') return [to.key];
  if (to.in === 'block') return [...from.slice(0, -1), to.key];
  const end = from.findLastIndex((_, index) => branches.has(from.slice(0, index + 1).join('/')));
  return [...from.slice(0, end + 1), to.key];
}

/** Paths of the branches of parallel steps. */
export function listBranches(states: readonly ChartState[], parent: readonly string[] = []): readonly string[] {
  return states.flatMap(({ key, inside, regions }) => {
    const path = [...parent, key];
    return [
      ...(regions ?? []).map((region) => [...path, region.key].join('/')),
      ...listBranches(inside?.states ?? regions ?? [], path),
    ];
  });
}

export interface StepFacts {
  readonly path: string;
  readonly verb: string;
  readonly id?: string;
  /** Line of the file, from 1. */
  readonly line: number;
  readonly note?: string;
  readonly because?: string;
}

/** The end of every block. */
export const DONE = 'done';

/** A state of the same block. */
export const here = (key: string): Target => ({ in: 'block', key });
/** A phase of the run. */
export const phase = (key: string): Target => ({ in: 'run', key });

/** The arrows of a state that holds a block; none where the block never ends, because it stops or fails the run. */
export function selectLeads(inside: ChartBlock, leads: readonly Arrow[]): readonly Arrow[] {
  const ends = ({ to }: Arrow) => to.in !== 'run' && to.key === DONE;
  const comesToEnd = inside.states.some(
    (state) => [...state.leads, ...state.fails].some(ends) || (state.after !== undefined && ends(state.after)),
  );
  return comesToEnd || inside.initial === DONE ? leads : [];
}

/** The id of the actor that does a step's work. Its dots let an arrow name the failures of a step and of all steps inside it. */
export const actorId = (path: string): string => path.replaceAll('/', '.');

/** The id, else verb and position: `assert 2`. */
export function nameStep(step: CheckedStep): string {
  return (
    step.id ??
    step.path
      .split('/')
      .at(-1)
      ?.replace(/^(\d+):(.*)$/, '$2 $1') ??
    step.verb
  );
}

/** Makes keys: letters, digits and `_`, each given once. */
export class Names {
  private readonly taken = new Set<string>([DONE]);

  assign(wanted: string): string {
    const plain = wanted.replace(/[^A-Za-z0-9]+/g, '_');
    let name = plain;
    for (let count = 2; this.taken.has(name); count += 1) name = `${plain}_${count}`;
    this.taken.add(name);
    return name;
  }
}
