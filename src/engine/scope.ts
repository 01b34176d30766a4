/**
 * What an expression sees while a step runs: the names of its block and of the blocks around it, the runbook's own
 * roots, and the step's pinned `now`. Names never change under a step but for `vars` and for orders that it touches.
 */
import type { Decimal, DecimalString } from '../base/decimal.ts';
import type { ErrorFact } from '../journal/entry.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import { type Expr, type RecordValue, type Scope, Time, type Value } from '../runbook/values.ts';
import type { LimitRules } from '../venue/limits/check.ts';

export type MarketLookup = (
  market: string,
) => { readonly tick: DecimalString; readonly lot: DecimalString } | undefined;

/** The roots of one runbook (the run's own, or one that it calls): inputs, lets, vars, defs. */
export interface RunbookGlobals {
  readonly runbook: CheckedRunbook;
  readonly values: Map<string, Value>;
  readonly defs: ReadonlyMap<string, Expr>;
  readonly feeds: (scope: Scope) => RecordValue;
  readonly rules: MarketLookup;
  /** The runbook's limits with their values, tightened by those of the runbook that called it. */
  readonly limits: LimitRules | undefined;
  /** Feeds the price band's reference reads: made fresh before an order. */
  readonly bandFeeds: readonly string[];
  /** The price band's reference now. */
  readonly reference: (scope: Scope) => Decimal | undefined;
}

/** A block's names, and the blocks around it. `path` and `staticPath` place its steps: iterations come in brackets. */
export class Frame {
  readonly globals: RunbookGlobals;
  readonly parent: Frame | undefined;
  /** Path in the file of the step this frame is the body of, and the same with its iterations. */
  readonly staticPath: string;
  readonly path: string;
  readonly error: ErrorFact | undefined;
  private readonly names = new Map<string, Value>();

  constructor(globals: RunbookGlobals, at: { staticPath: string; path: string }, parent?: Frame, error?: ErrorFact) {
    this.globals = globals;
    this.parent = parent;
    this.staticPath = at.staticPath;
    this.path = at.path;
    this.error = error ?? parent?.error;
  }

  /** The frame of a block inside: same place unless said otherwise. */
  inner(at?: { staticPath: string; path: string }, error?: ErrorFact): Frame {
    return new Frame(this.globals, at ?? this, this, error);
  }

  set(name: string, value: Value): void {
    this.names.set(name, value);
  }

  /** Where a step of this block is in the run: the file's path with the iterations of the loops around it. */
  pathOf(staticPath: string): string {
    return staticPath.startsWith(this.staticPath)
      ? this.path + staticPath.slice(this.staticPath.length)
      : `${this.path}/${staticPath}`;
  }

  find(name: string): Value {
    for (let frame: Frame | undefined = this; frame !== undefined; frame = frame.parent) {
      if (frame.names.has(name)) return frame.names.get(name);
    }
    return this.globals.values.get(name);
  }
}

/** A frame seen by one step, with `now` pinned (language.md, decision 16). */
export class StepScope implements Scope {
  private readonly frame: Frame;
  private readonly now: Time;

  constructor(frame: Frame, nowMs: number) {
    this.frame = frame;
    this.now = Time.ofMs(nowMs);
  }

  get(root: string): Value {
    if (root === 'now') return this.now;
    if (root === 'feeds') return this.frame.globals.feeds(this);
    if (root === 'error') return this.frame.error === undefined ? undefined : errorRecord(this.frame.error);
    const def = this.frame.globals.defs.get(root);
    return def === undefined ? this.frame.find(root) : def.evaluate(this);
  }

  rules(market: string): ReturnType<MarketLookup> {
    return this.frame.globals.rules(market);
  }
}

function errorRecord(error: ErrorFact): RecordValue {
  return { kind: error.kind, message: error.message, step: error.step ?? '' };
}
