/** Conditions: each must read something, and while one holds, what it asks for is there. */

import type { Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { presentWhenTrue } from '../expression/expression.ts';
import { BOOLEAN } from '../expression/typing.ts';
import type { Expr } from '../values.ts';
import type { Checking } from './checking.ts';

/** Compiles a condition; one that is the same whatever happens is reported. */
export function checkCondition(checking: Checking, node: Node | undefined, what: string): Expr<boolean> {
  const expr = checking.compiler.value<boolean>(node, BOOLEAN);
  if (node !== undefined && (expr as Expr) !== FAULTY && expr.constant && expr.reads.length === 0) {
    const value = checking.compiler.constant(expr);
    checking.report(
      node,
      'constant-condition',
      `${what} is always ${value === undefined ? 'the same' : String(value)}`,
    );
  }
  return expr;
}

/** The paths of the optionals that are there where a condition holds. */
export function assured(condition: Expr<boolean>): readonly string[] {
  return (condition as Expr) === FAULTY ? [] : presentWhenTrue(condition);
}

/** Takes them, and the ids of earlier steps that hung on the same condition, for there until the block ends. */
export function assume(
  checking: Checking,
  condition: Expr<boolean>,
  guarded: ReadonlyMap<string, readonly string[]> = new Map(),
): void {
  for (const path of assured(condition)) checking.names.assume(path);
  for (const name of guarded.get(condition.text.trim()) ?? []) checking.names.assume(name);
}
