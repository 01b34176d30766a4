/**
 * Resolves the names of an expression: roots of the environment, loop variables and fields of records. Also tracks which
 * optional values are known to be present at a place and can be used there without a check.
 */

import { type Frame, type Run, readRecordField } from '../functions/evaluation.ts';
import type { Term } from '../functions/term.ts';
import { findUnit } from '../functions/typing.ts';
import { EvaluationFailure, type RecordValue, type Value, type ValueType } from '../values.ts';
import type { TypeEnv } from './environment.ts';
import type { SyntaxNode } from './syntax.ts';

/** Facts about an expression's value, which a `def` passes on to the expressions that use it. */
export interface Facts {
  readonly whenTrue: readonly string[];
  readonly whenFalse: readonly string[];
  readonly bare: boolean;
  /** Where the fields are found that it reads, each once: a `def` may use another many times. */
  readonly origins: readonly string[];
  readonly origin?: string;
}

/** A field of a record that an expression reads. */
export interface FieldRead {
  /** Where it is found: `entry.filled`, `ladder[].o.filled`. */
  readonly origin: string;
  /** What reads it here: the field itself, or the name of a `def` that does. */
  readonly by: SyntaxNode;
}

/** A loop variable of `map`, `filter`, `exists` or `all`; `bare`: of a list of bare literals. */
interface Local {
  readonly name: string;
  readonly type: ValueType;
  readonly bare: boolean;
  readonly origin?: string;
}

export class VisibleNames {
  readonly reads = new Set<string>();
  readonly fields: FieldRead[] = [];
  private readonly text: string;
  private readonly env: TypeEnv;
  private readonly factsOf: (name: string) => Facts | undefined;
  private locals: readonly Local[] = [];
  private assumed: ReadonlySet<string> = new Set();

  constructor(text: string, env: TypeEnv, factsOf: (name: string) => Facts | undefined) {
    this.text = text;
    this.env = env;
    this.factsOf = factsOf;
  }

  /** Finds a loop variable or a root; undefined for a name that is not declared. */
  findName(name: string, by: SyntaxNode): Term | undefined {
    const slot = this.locals.findIndex((each) => each.name === name);
    const local = this.locals[slot];
    if (local !== undefined)
      return this.narrow({
        type: local.type,
        run: (frame) => frame.locals[slot],
        bare: local.bare,
        constant: false,
        path: name,
        ...(local.origin === undefined ? {} : { origin: local.origin }),
      });
    const defined = this.env.defs?.get(name);
    const type = this.env.roots.get(name) ?? defined?.type;
    if (type === undefined) return undefined;
    this.reads.add(name);
    for (const read of defined?.reads ?? []) this.reads.add(read);
    const facts = this.factsOf(name);
    for (const origin of facts?.origins ?? []) this.fields.push({ origin, by });
    return this.narrow({
      type,
      run: this.requireValue(type, name, (frame) => readRoot(frame, name)),
      bare: facts?.bare === true || this.env.bare?.has(name) === true,
      constant: false,
      path: name,
      origin: name,
      ...(facts === undefined ? {} : { whenTrue: facts.whenTrue, whenFalse: facts.whenFalse }),
    });
  }

  /** Reads a declared field of a record; it may be absent if the record may be absent, or after `?.`. */
  readField(record: Term, name: string, own: ValueType, by: SyntaxNode): Term {
    if (record.path === 'feeds') this.reads.add(`feeds.${name}`);
    const optional = by.op === '.?' || record.type.kind === 'optional';
    const type: ValueType = optional && own.kind !== 'optional' ? { kind: 'optional', of: own } : own;
    const path = record.path === undefined ? undefined : `${record.path}.${name}`;
    const origin = record.origin === undefined ? undefined : `${record.origin}.${name}`;
    if (origin !== undefined) this.fields.push({ origin, by });
    const { run: of } = record;
    return this.narrow({
      type,
      run: this.requireValue(type, path ?? name, (frame) =>
        readRecordField(frame, of(frame) as RecordValue | undefined, name),
      ),
      bare: false,
      constant: false,
      ...(path === undefined ? {} : { path }),
      ...(origin === undefined ? {} : { origin }),
    });
  }

  /** All names that can be used here. */
  listAll(): readonly string[] {
    return [...this.locals.map((each) => each.name), ...this.env.roots.keys(), ...(this.env.defs?.keys() ?? [])];
  }

  /** Runs `work` with a visible loop variable, an item of `list`; `slot` is its index in the frame. */
  withLocal<T>(
    name: string,
    list: Term & { type: { kind: 'list' } },
    work: () => T,
  ): { readonly slot: number; readonly result: T } {
    const outer = this.locals;
    const origin = list.origin === undefined ? {} : { origin: `${list.origin}[]` };
    this.locals = [
      ...outer,
      { name, type: list.type.of, bare: list.bare && findUnit(list.type.of) !== undefined, ...origin },
    ];
    const result = work();
    this.locals = outer;
    return { slot: outer.length, result };
  }

  /** Runs `work` with these paths known to be present. */
  withAssumed<T>(paths: readonly string[] | undefined, work: () => T): T {
    if (paths === undefined || paths.length === 0) return work();
    const before = this.assumed;
    this.assumed = new Set([...before, ...paths]);
    const result = work();
    this.assumed = before;
    return result;
  }

  private narrow(term: Term): Term {
    const { type, path, run } = term;
    if (type.kind !== 'optional' || path === undefined) return term;
    if (!this.env.present.has(path) && !this.assumed.has(path)) return term;
    return { ...term, type: type.of, run: this.requireValue(type.of, path, run), narrowed: true };
  }

  /** Throws if a value that is not optional is absent, so that no expression computes with `undefined`. */
  private requireValue(type: ValueType, what: string, read: Run): Run {
    if (type.kind === 'optional') return read;
    const { text } = this;
    return (frame) => {
      const value = read(frame);
      if (value === undefined) throw new EvaluationFailure(`${what} has no value`, text);
      return value;
    };
  }
}

function readRoot(frame: Frame, name: string): Value {
  frame.roots ??= new Map();
  const { scope, roots } = frame;
  const known = roots.get(name);
  if (known !== undefined || roots.has(name)) return known;
  const value = scope.get(name);
  roots.set(name, value);
  return value;
}
