/**
 * Remembers on a path how conditions went whose values never change, for as long as a step ahead may ask again: paths that differ in
 * nothing else are then one.
 */
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { findPlain } from '../expression/expression.ts';
import type { SyntaxNode } from '../expression/syntax.ts';
import { listPaths, spell } from '../expression/tree.ts';
import { walkSteps } from '../steps/walk.ts';
import type { Expr } from '../values.ts';
import { type Domain, FlowWalk, type Loop } from './walk.ts';

/** How conditions went on a path: a second one of the same spelling goes the same way. */
export interface Decisions {
  readonly truths: ReadonlyMap<string, boolean>;
  /** What they read; another condition about it may depend on them. */
  readonly paths: ReadonlySet<string>;
}

export const UNDECIDED: Decisions = { truths: new Map(), paths: new Set() };

interface Spelled {
  readonly condition: string;
  /** The condition is negated. */
  readonly negated: boolean;
  readonly paths: readonly string[];
}

/** When each condition of a runbook is asked, first and last, in the sequence in which its paths are walked. */
export class ConditionUses {
  private readonly first = new Map<Expr, number>();
  /** By the spelling of a condition, and by a path that it reads. */
  private readonly last = new Map<string, number>();
  private readonly lastRead = new Map<string, number>();
  private readonly spelled = new Map<Expr, Spelled>();

  constructor(runbook: CheckedRunbook) {
    const asked: Expr[] = [];
    let skipped: Expr | undefined;
    const walk = new FlowWalk(
      new Recording((condition, truth) => {
        // A step that is skipped and one that is taken are asked about once; the next round asks again.
        if (skipped !== condition || !truth) asked.push(condition);
        skipped = truth ? undefined : condition;
      }),
    );
    const undo = [...walkSteps(runbook.steps)].flatMap((step) => (typeof step.undo === 'object' ? [step.undo] : []));
    for (const block of [runbook.steps, ...undo, runbook.onError, runbook.finally]) walk.walkBlock(block, [0]);
    for (const [at, condition] of asked.entries()) {
      if (!this.first.has(condition)) this.first.set(condition, at);
      const tree = findPlain(condition);
      if (tree === undefined) continue;
      const spelled = this.spelled.get(condition) ?? spellCondition(tree);
      this.spelled.set(condition, spelled);
      this.last.set(spelled.condition, at);
      for (const path of spelled.paths) this.lastRead.set(path, at);
    }
  }

  /**
   * The decisions of a path with one more; undefined where it was decided otherwise. `related`: others were about the same, so that
   * this path may be impossible.
   */
  take(
    decided: Decisions,
    expr: Expr,
    tree: SyntaxNode,
    truth: boolean,
  ): { readonly decided: Decisions; readonly related: boolean } | undefined {
    const { condition, negated, paths } = this.spelled.get(expr) ?? spellCondition(tree);
    const known = decided.truths.get(condition);
    if (known !== undefined && known !== (truth !== negated)) return undefined;
    const now = this.first.get(expr) ?? -1;
    const isAhead = (last: ReadonlyMap<string, number>, what: string) =>
      now === -1 || (last.get(what) ?? Number.POSITIVE_INFINITY) > now;
    const truths = [...decided.truths, [condition, truth !== negated] as const];
    return {
      decided: {
        truths: new Map(truths.filter(([each]) => isAhead(this.last, each))),
        paths: new Set([...decided.paths, ...paths].filter((each) => isAhead(this.lastRead, each))),
      },
      related: known === undefined && paths.some((path) => decided.paths.has(path)),
    };
  }
}

function spellCondition(tree: SyntaxNode): Spelled {
  if (tree.op !== '!_') return { condition: spell(tree), negated: false, paths: listPaths(tree) };
  const spelled = spellCondition(tree.args);
  return { ...spelled, negated: !spelled.negated };
}

/** Goes each way at every condition, with one state at a time. */
class Recording implements Domain<number> {
  private readonly note: (condition: Expr, truth: boolean) => void;

  constructor(note: (condition: Expr, truth: boolean) => void) {
    this.note = note;
  }

  begin(): void {}
  narrow(state: number, condition: Expr<boolean>, truth: boolean): number {
    this.note(condition, truth);
    return state;
  }
  perform(_step: CheckedStep, state: number): number {
    return state;
  }
  fail(_step: CheckedStep, state: number): number {
    return state;
  }
  passOver(_loop: Loop, state: number): number {
    return state;
  }
  beginRound(_loop: Loop, state: number): number {
    return state;
  }
  endRound(_loop: Loop, state: number): number {
    return state;
  }
  beginBranches(_step: CheckedStep, state: number): number {
    return state;
  }
  cutBranches(_others: readonly (readonly CheckedStep[])[], state: number): number {
    return state;
  }
  merge(states: readonly number[]): readonly number[] {
    return states.slice(0, 1);
  }
  tell(state: number): number {
    return state;
  }
}
