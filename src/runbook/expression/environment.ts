/** What the author may name in an expression at one place of the runbook, with types. Holds no values. */
import type { Expr, ValueType } from '../values.ts';

export interface TypeEnv {
  /** Every name an expression may begin with here: `inputs`, `feeds`, `now`, `run`, `error`, lets, defs, vars, step ids. */
  readonly roots: ReadonlyMap<string, ValueType>;
  /** Dotted paths (`entry.avg_price`, `taker`) whose type is optional and that are known to be present here. */
  readonly present: ReadonlySet<string>;
  /** The market that `tick(x)` and `lot(x)` mean here when they name none. */
  readonly market?: Expr<string>;
  /** The named expressions of `def`: what they read counts as read by whoever names them. Values come from the scope. */
  readonly defs?: ReadonlyMap<string, Expr>;
  /** Roots (lets) whose value is made of bare literals alone, so that they take on a unit as a literal does. */
  readonly bare?: ReadonlySet<string>;
}
