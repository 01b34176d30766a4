/** The names that an expression may use at one place of the runbook, with their types but without values. */
import type { Expr, ValueType } from '../values.ts';

export interface TypeEnv {
  /** The names that an expression may begin with here: `inputs`, `feeds`, `now`, `run`, `error`, lets, defs, vars, step ids. */
  readonly roots: ReadonlyMap<string, ValueType>;
  /** Dotted paths (`entry.avg_price`, `taker`) of an optional type that are known to be present here. */
  readonly present: ReadonlySet<string>;
  /** The market that `tick(x)` and `lot(x)` use here when they name none. */
  readonly market?: Expr<string>;
  /** The named expressions of `def`: an expression that uses one also reads what it reads. Values come from the scope. */
  readonly defs?: ReadonlyMap<string, Expr>;
  /** Roots (lets) whose value consists of bare literals, so that they adapt to a unit as a literal does. */
  readonly bare?: ReadonlySet<string>;
}
