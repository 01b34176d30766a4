/**
 * Tracks the names that an expression may use at one place of a runbook, with their types, and the optional values that are
 * known to be present. The check walks the file once, in reading order, and enters and leaves blocks, so that one table
 * serves a file of a thousand steps without copies.
 */

import type { Expr, Value, ValueType } from '../values.ts';
import type { TypeEnv } from './environment.ts';

/** A name of a block that has been left: the outer block may keep it visible. */
export interface Declared {
  readonly name: string;
  readonly type: ValueType;
  /** The expression of a let. */
  readonly value?: Expr;
}

type Change =
  | { readonly kind: 'root'; readonly name: string; readonly before: ValueType | undefined }
  | { readonly kind: 'present'; readonly path: string };

/** Reserved names (language.md, Checks 3). */
export const RESERVED_GLOBALS = ['inputs', 'feeds', 'now', 'run', 'error'] as const;

export class Names {
  readonly roots = new Map<string, ValueType>();
  readonly present = new Set<string>();
  readonly defs = new Map<string, Expr>();
  readonly bare = new Set<string>();
  /** The expressions of lets. */
  readonly lets = new Map<string, Expr>();
  /** The values of names that are the same in every run. */
  readonly constants = new Map<string, Value>();
  /** Names with a wrong declaration: their uses are not reported again. */
  readonly unknown = new Set<string>();
  /** Whether declarations were left out whose names are not known: an unknown name may be one of them. */
  lost = false;
  /** Names of values that a wrong step may have assured: a finding that such a value may be absent follows from that step. */
  readonly doubted = new Set<string>();
  private readonly changes: Change[] = [];

  env(market: Expr<string> | undefined): TypeEnv {
    const { roots, present, defs, bare } = this;
    return market === undefined ? { roots, present, defs, bare } : { roots, present, defs, bare, market };
  }

  /** Every name that can be used now, with its type; a copy. */
  list(): ReadonlyMap<string, ValueType> {
    return new Map([...[...this.defs].map(([name, { type }]) => [name, type] as const), ...this.roots]);
  }

  declare(name: string, type: ValueType): void {
    // The name may have had another meaning in a block that has been left.
    this.bare.delete(name);
    this.constants.delete(name);
    this.lets.delete(name);
    this.changes.push({ kind: 'root', name, before: this.roots.get(name) });
    this.roots.set(name, type);
  }

  /** From here to the end of the block, the optional value at `path` is present. */
  assume(path: string): void {
    if (this.present.has(path)) return;
    this.present.add(path);
    this.changes.push({ kind: 'present', path });
  }

  /** Enters a block; returns the mark that `leave` takes. */
  enter(): number {
    return this.changes.length;
  }

  /** Forgets everything since `enter`, and returns the names that the block declared, in the order of declaration. */
  leave(mark: number): Declared[] {
    const gone: Declared[] = [];
    const latest = new Map<string, ValueType>();
    for (let change = this.take(mark); change !== undefined; change = this.take(mark)) {
      if (change.kind === 'present') {
        this.present.delete(change.path);
        continue;
      }
      const { name, before } = change;
      // A name may have been declared twice in the block, the second time as optional: the later type counts.
      const type = latest.get(name) ?? this.roots.get(name);
      if (type !== undefined) latest.set(name, type);
      if (before !== undefined) this.roots.set(name, before);
      else {
        this.roots.delete(name);
        if (type !== undefined) gone.push({ name, type });
      }
    }
    return gone.reverse();
  }

  private take(mark: number): Change | undefined {
    return this.changes.length > mark ? this.changes.pop() : undefined;
  }
}

/** The same type, as an optional. */
export function makeOptional(type: ValueType): ValueType {
  return type.kind === 'optional' ? type : { kind: 'optional', of: type };
}
