/** Types of a checked step before its modifiers are added: the interface between blocks.ts and the files that check steps. */
import type { Span } from '../../base/diagnostic.ts';
import type { CheckedStep, StepName, StepOf } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import type { Declared } from '../expression/scope.ts';
import type { Expr, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';

/** A checked list of steps; `ends` if a step such as `stop` or `fail` always ends the run there. */
export interface Block {
  readonly steps: readonly CheckedStep[];
  readonly ends: boolean;
  /** Paths of optional values that are present at its end. */
  readonly present?: ReadonlySet<string>;
}

/** The checked arguments of a step, and what they mean for the steps after it. */
export interface BuiltStep {
  readonly args: object;
  readonly yields: ValueType | undefined;
  /** What its id names where it has failed, if that is less. */
  readonly partial?: ValueType;
  /** Names of inner blocks that are visible after the step. */
  readonly hoisted?: readonly Declared[];
  /** Whether its id and its names have a value before it has succeeded: what a wait has read is there when it times out. */
  readonly early?: true;
  /** Paths of optional values that are present once the step has succeeded. */
  readonly assures?: readonly string[];
  /** A condition, and the names that are present where it is true. */
  readonly guards?: { readonly condition: Expr<boolean>; readonly names: readonly string[] };
  /** Whether no step runs after it. */
  readonly ends?: boolean;
  /** `because` inside the step's own map. */
  readonly because?: Expr<string>;
}

/** Checks lists of steps. `before` and `after` run inside the block, where its names are visible. */
export interface StepChecks {
  inner(
    checking: Checking,
    node: Node | undefined,
    prefix: string,
    before?: () => void,
    after?: () => void,
  ): Block & { readonly declared: readonly Declared[] };
  one(checking: Checking, node: MapNode, stepName: StepName, prefix: string): CheckedStep;
}

/** The place of a step, and the functions that check the lists of steps in it. */
export interface Site {
  readonly path: string;
  /** The step's name in the text. */
  readonly nameSpan: Span;
  /** The step with the keys beside its name. */
  readonly node: MapNode;
  /** The names before it in its block that are present where a condition is true. */
  readonly guarded: ReadonlyMap<string, readonly string[]>;
  readonly steps: StepChecks;
}

/** The checked arguments of one kind of step. */
export type Built<V extends StepName> = BuiltStep & { readonly args: StepOf<V>['args'] };
