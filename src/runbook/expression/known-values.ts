/**
 * Evaluates expressions that are known before a run. Nothing is guessed: a value that depends on a feed, on a response or on
 * an input without a value is not known.
 */
import { type Decimal, toWholeNumber } from '../../base/decimal.ts';
import type { CheckedRunbook } from '../checked.ts';
import { Duration, type Expr, NotKnown, type Scope, type Value } from '../values.ts';

/** Values known before the run: given inputs, lets that depend on nothing else, and the lengths of lists. */
export class KnownValues {
  private readonly scope: Scope;
  private readonly lengths = new Map<string, number>();
  private readonly mayKnow: (root: string) => boolean;

  constructor(runbook: CheckedRunbook, inputs: Readonly<Record<string, Value>> | undefined) {
    const lets = new Map([...runbook.let, ...runbook.def].map(({ name, value }) => [name, value]));
    const get = (root: string): Value => {
      const named = lets.get(root);
      if (named !== undefined) return named.evaluate(this.scope);
      if (root === 'inputs' && inputs !== undefined) return inputs as Value;
      throw new NotKnown(root);
    };
    this.scope = { get, rules: () => undefined };
    this.mayKnow = (root) => lets.has(root) || (root === 'inputs' && inputs !== undefined);
  }

  private evaluate<T extends Value>(expr: Expr<T> | undefined): T | undefined {
    if (expr === undefined || !(expr.constant || expr.reads.every((root) => this.mayKnow(root)))) return undefined;
    try {
      return expr.evaluate(this.scope);
    } catch {
      // NotKnown, or a failed evaluation: the value is not known.
      return undefined;
    }
  }

  evaluateDecimal(expr: Expr<Decimal> | undefined): Decimal | undefined {
    return this.evaluate(expr);
  }

  evaluateDuration(expr: Expr<Duration> | undefined): number | undefined {
    const value = this.evaluate(expr);
    return value instanceof Duration ? value.ms : undefined;
  }

  /** The most items of a list. A collected list is as long as the list of its `for_each`, and a filter never adds items. */
  countItems(expr: Expr<readonly Value[]>, collectedAs?: string): number {
    const value = this.evaluate(expr);
    const from = /^\s*([A-Za-z_]\w*)\s*(?:\.\s*(?:filter|map)\s*\((?:[^()]|\([^()]*\))*\)\s*)*$/.exec(expr.text)?.[1];
    const length = Array.isArray(value) ? value.length : from === undefined ? undefined : this.lengths.get(from);
    if (collectedAs !== undefined && length !== undefined) this.lengths.set(collectedAs, length);
    return length ?? Number.POSITIVE_INFINITY;
  }
}

/** A known whole number as a count; else `unknown`. */
export function toCount(value: Decimal | undefined, unknown = Number.POSITIVE_INFINITY): number {
  return value?.isInteger() ? toWholeNumber(value) : unknown;
}
