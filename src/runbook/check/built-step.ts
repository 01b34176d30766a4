/** What a step comes to when it has been checked, before its modifiers: the vocabulary between blocks and verbs. */
import type { Span } from '../../base/diagnostic.ts';
import type { CheckedStep, StepOf, Verb } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import type { Declared } from '../expression/scope.ts';
import type { Expr, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';

/** A list of steps and whether whoever comes to its end goes on: not after `stop` and `fail`. */
export interface Block {
  readonly steps: readonly CheckedStep[];
  readonly ends: boolean;
}

/** What a verb gives beside its arguments. */
export interface BuiltStep {
  readonly args: object;
  readonly yields: ValueType | undefined;
  /** Names of inner blocks that may be known after the step. */
  readonly hoisted?: readonly Declared[];
  /** Paths of optionals that are there once the step has succeeded. */
  readonly assures?: readonly string[];
  /** Whether nothing is done after the step. */
  readonly ends?: boolean;
  /** `because` that stands inside the verb's own map. */
  readonly because?: Expr<string>;
}

/** How lists of steps are checked. `before` and `after` run inside the block, where its names are in sight. */
export interface StepChecks {
  inner(
    checking: Checking,
    node: Node | undefined,
    prefix: string,
    before?: () => void,
    after?: () => void,
  ): Block & { readonly declared: readonly Declared[] };
  one(checking: Checking, node: MapNode, stepName: Verb, prefix: string): CheckedStep;
}

/** Where a step stands, and how the lists of steps in it are checked. */
export interface Site {
  readonly path: string;
  /** The verb's key. */
  readonly nameSpan: Span;
  readonly steps: StepChecks;
}

/** Of one verb. */
export type Built<V extends Verb> = BuiltStep & { readonly args: StepOf<V>['args'] };
