/**
 * Which names an expression may use at one place of a runbook, with their types, and which optional ones are known to be
 * there. The checker walks the file once, in reading order; blocks are entered and left, so that one table serves all and
 * a file of a thousand steps costs no copies. Reports nothing.
 */

import type { Expr, Value, ValueType } from '../values.ts';
import type { TypeEnv } from './environment.ts';

/** A name of a block that has been left: the block around it may go on knowing it. */
export interface Declared {
  readonly name: string;
  readonly type: ValueType;
  /** What a let stands for. */
  readonly value?: Expr;
}

type Change =
  | { readonly kind: 'root'; readonly name: string; readonly before: ValueType | undefined }
  | { readonly kind: 'present'; readonly path: string };

/** Names with a meaning of their own (language.md, Checks 3). */
export const RESERVED_GLOBALS = ['inputs', 'feeds', 'now', 'run', 'error'] as const;

export class Names {
  readonly roots = new Map<string, ValueType>();
  readonly present = new Set<string>();
  readonly defs = new Map<string, Expr>();
  readonly bare = new Set<string>();
  /** What lets stand for. */
  readonly lets = new Map<string, Expr>();
  /** Values of names that are the same in every run. */
  readonly constants = new Map<string, Value>();
  /** Names whose declaration was at fault: what uses them is not reported again. */
  readonly unknown = new Set<string>();
  /** Whether declarations were lost whose names nobody knows: then a name that is not known may have been one of them. */
  lost = false;
  /** Whether a step was at fault that may have made sure of a value: then that it may be absent follows from that. */
  doubt = false;
  private readonly changes: Change[] = [];

  env(market: Expr<string> | undefined): TypeEnv {
    const { roots, present, defs, bare } = this;
    return market === undefined ? { roots, present, defs, bare } : { roots, present, defs, bare, market };
  }

  declare(name: string, type: ValueType): void {
    // The name may have meant something else in a block that has been left.
    this.bare.delete(name);
    this.constants.delete(name);
    this.lets.delete(name);
    this.changes.push({ kind: 'root', name, before: this.roots.get(name) });
    this.roots.set(name, type);
  }

  /** From here to the end of the block, the optional at `path` is there. */
  assume(path: string): void {
    if (this.present.has(path)) return;
    this.present.add(path);
    this.changes.push({ kind: 'present', path });
  }

  /** A new block; what it gives back closes it again. */
  enter(): number {
    return this.changes.length;
  }

  /** Forgets everything since `enter`, and tells the names that were new in it, in the order of their declaration. */
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

/** The same type, possibly absent. */
export function makeOptional(type: ValueType): ValueType {
  return type.kind === 'optional' ? type : { kind: 'optional', of: type };
}
