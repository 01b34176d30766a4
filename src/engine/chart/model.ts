/** The parts of a chart, independent of the language it is rendered in: states, blocks of states, and arrows between them. */
import type { CheckedStep } from '../../runbook/checked.ts';
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
  /** The work of the state: a step's name, and its arguments as the author wrote them. */
  readonly does?: { readonly verb: string; readonly id: string; readonly input: ChartJson };
  readonly inside?: ChartBlock;
  /** Blocks that run at the same time. */
  readonly regions?: readonly ChartState[];
  /** Arrows of success; of a choice, taken at once. The first whose guard holds applies. */
  readonly leads: readonly Arrow[];
  /** Arrows of failure. A failure that none takes is that of the block around it. */
  readonly fails: readonly Arrow[];
  readonly after?: { readonly delay: string; readonly to: Arrow['to'] };
  /** The target when the outcome of a request is unknown. */
  readonly halts?: Arrow['to'];
  /** Attempts that are made before a failure counts, in words. */
  readonly retry?: string;
}

export interface Arrow {
  /** An expression of the runbook, or a sentence. Absent: otherwise, or always. */
  readonly guard?: string;
  readonly to: Target;
}

/** A state of the same block, a sibling of the block's own state, or a phase of the run. */
export type Target = { readonly in: 'block' | 'parent' | 'run'; readonly key: string };

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
  const ends = ({ to }: Arrow) => to.in === 'block' && to.key === DONE;
  const comesToEnd = inside.states.some(
    (state) => [...state.leads, ...state.fails].some(ends) || (state.after !== undefined && ends(state.after)),
  );
  return comesToEnd || inside.initial === DONE ? leads : [];
}

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
