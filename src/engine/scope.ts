/**
 * The names that an expression sees while a step runs: those of its block and of the blocks around it, the runbook's globals,
 * and the step's pinned `now`. During a step only `vars` and the orders that it touches change.
 */
import type { Decimal, DecimalString } from '../base/decimal.ts';
import type { ErrorFact } from '../journal/entry.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import {
  EvaluationFailure,
  type Expr,
  type HeldPosition,
  type RecordValue,
  type Scope,
  Time,
  type Value,
} from '../runbook/values.ts';
import type { LimitRules } from '../venue/limits/check.ts';
import { StepFailure } from './interruption.ts';
import { readOrderField } from './readings/handles.ts';

export type MarketLookup = (
  market: string,
) => { readonly tick: DecimalString; readonly lot: DecimalString } | undefined;

/** The globals of one runbook (the run's own, or one that it calls): inputs, lets, vars, defs. */
export interface RunbookGlobals {
  readonly runbook: CheckedRunbook;
  readonly values: Map<string, Value>;
  readonly defs: ReadonlyMap<string, Expr>;
  readonly feeds: (scope: Scope) => RecordValue;
  readonly rules: MarketLookup;
  readonly position: (market: string) => HeldPosition;
  readonly accountPosition: (market: string) => Decimal | undefined;
  /** The runbook's limits with their values, tightened by those of the runbook that called it. */
  readonly limits: LimitRules | undefined;
  /** Feeds that the price band's reference reads; refreshed before an order. `only`: of a feed by market, the value of this one. */
  readonly bandFeeds: (market: string) => { readonly names: readonly string[]; readonly only: string | undefined };
  /** The current reference of the price band. */
  readonly reference: (market: string, scope: Scope) => Decimal | undefined;
}

/** The names of a block, with the blocks around it. `path` and `staticPath` locate its steps; iterations are in brackets. */
export class Frame {
  readonly globals: RunbookGlobals;
  readonly parent: Frame | undefined;
  /** Path in the file of the step whose body this is, and the same path with iterations. */
  readonly staticPath: string;
  readonly path: string;
  readonly error: ErrorFact | undefined;
  /** Whether its steps handle a failure or clean up: there an order that is not complete reads as an estimate. */
  readonly isHandler: boolean;
  /** Whether nothing that the author of the run wrote follows its steps: those of `undo`, and of the `finally` of the run's own runbook. */
  readonly isLastWord: boolean;
  private readonly names = new Map<string, Value>();

  constructor(
    globals: RunbookGlobals,
    at: { staticPath: string; path: string },
    parent?: Frame,
    handler?: { readonly error?: ErrorFact | undefined; readonly isLastWord?: boolean },
  ) {
    this.globals = globals;
    this.parent = parent;
    this.staticPath = at.staticPath;
    this.path = at.path;
    this.error = handler?.error ?? parent?.error;
    this.isHandler = handler !== undefined || (parent?.isHandler ?? false);
    this.isLastWord = handler?.isLastWord ?? parent?.isLastWord ?? false;
  }

  /** The frame of a nested block, at the same path unless `at` gives another. */
  inner(at?: { staticPath: string; path: string }): Frame {
    return new Frame(this.globals, at ?? this, this);
  }

  /** The frame of steps that handle a failure, and of the `finally` of a called runbook: its caller may go on. */
  handler(error?: ErrorFact, at?: { staticPath: string; path: string }): Frame {
    return new Frame(this.globals, at ?? this, this, { error });
  }

  /** The frame of the steps of `undo`, and of the `finally` of the run's own runbook. */
  lastWord(error?: ErrorFact): Frame {
    return new Frame(this.globals, this, this, { error, isLastWord: true });
  }

  set(name: string, value: Value): void {
    this.names.set(name, value);
  }

  /** The path of a step of this block in the run: that of the file, with the iterations of the loops around it. */
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
    if (root === 'error') return this.frame.error === undefined ? undefined : toErrorRecord(this.frame.error);
    const def = this.frame.globals.defs.get(root);
    return def === undefined ? this.frame.find(root) : def.evaluate(this);
  }

  readField(record: RecordValue, name: string): Value {
    return readOrderField(record, name, this.frame.isHandler);
  }

  position(market: string): HeldPosition {
    return this.frame.globals.position(market);
  }

  accountPosition(market: string): Decimal | undefined {
    return this.frame.globals.accountPosition(market);
  }

  rules(market: string): ReturnType<MarketLookup> {
    return this.frame.globals.rules(market);
  }
}

function toErrorRecord(error: ErrorFact): RecordValue {
  return { kind: error.kind, message: error.message, step: error.step ?? '' };
}

/** Evaluates an expression; a fault is a StepFailure `assertion` at `path`, which a runbook can catch. */
export function evaluate<T extends Value>(expr: Expr<T>, scope: Scope, path: string): T {
  try {
    return expr.evaluate(scope);
  } catch (error) {
    if (error instanceof EvaluationFailure) throw new StepFailure('assertion', `${expr.text}: ${error.message}`, path);
    throw error;
  }
}
