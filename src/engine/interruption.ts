/**
 * The errors that end a walk through a runbook early, and the scopes that can be cancelled. Each error is thrown and caught
 * inside the engine; none reaches a user as an exception.
 */
import type { ErrorFact } from '../journal/entry.ts';
import type { ErrorKind } from '../runbook/checked.ts';
import type { Wanted } from '../venue/port.ts';

/** A step failed for a reason that the runbook can catch. */
export class StepFailure extends Error {
  readonly kind: ErrorKind;
  /** Path of the step that failed, set by the innermost one; empty for the run as a whole. */
  readonly step: string;
  /** The step is not retried sooner than this, ms (X-RateLimit-Retry-After). */
  readonly retryAfterMs: number | undefined;
  /** Of a denial. */
  readonly code: string | undefined;
  constructor(
    kind: ErrorKind,
    message: string,
    step: string,
    { retryAfterMs, code }: { readonly retryAfterMs?: number | undefined; readonly code?: string | undefined } = {},
  ) {
    super(message);
    this.kind = kind;
    this.step = step;
    this.retryAfterMs = retryAfterMs;
    this.code = code;
  }
  get fact(): ErrorFact {
    // A failure of the run as a whole has no step.
    return { kind: this.kind, message: this.message, ...(this.step === '' ? {} : { step: this.step }) };
  }
  /** The same failure, with another step's path. */
  withStep(step: string): StepFailure {
    return new StepFailure(this.kind, this.message, step, this);
  }
}

/** An outcome at the venue is unknown, or a contradiction needs a person. Nothing that adds risk may follow. */
export class Halt extends Error {
  readonly fact: ErrorFact;
  constructor(kind: string, message: string, step: string) {
    super(message);
    this.fact = { kind, message, step };
  }
}

/** Does each work, also after one before it has failed. Of several errors a halt is thrown before the first, and a `stop` last. */
export async function runEach(...parts: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const part of parts) {
    try {
      await part();
    } catch (error) {
      errors.push(error);
    }
  }
  throwWorst(errors);
}

/** The same of what goes on side by side: each is awaited, also after one has failed. */
export async function awaitEach(parts: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(parts);
  throwWorst(results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : [])));
}

function throwWorst(errors: readonly unknown[]): void {
  const worst =
    errors.find((error) => error instanceof Halt) ?? errors.find((error) => !(error instanceof Stop)) ?? errors[0];
  if (worst !== undefined) throw worst;
}

/**
 * An internal error, thrown while a run was executed. It fails the run, which is cleaned up like any that failed; a
 * runbook cannot catch it, because what the step has done is not known.
 */
export class InternalFailure extends Error {
  readonly fact: ErrorFact;
  constructor(error: unknown, step: string) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    super(message, { cause: error });
    this.fact = { kind: 'internal', message: message.slice(0, LONGEST_MESSAGE), step };
  }
}
const LONGEST_MESSAGE = 400;

/**
 * Thrown into an engine that executes a journal again where an older build failed by a mistake that this build does not make:
 * what the step would do now is not what happened, so it fails as it did.
 */
export class FailedBefore extends Error {
  /** Path of the step whose end is next in the record. */
  readonly step: string;
  constructor(step: string) {
    super(`step ${step} failed in the build that wrote this journal`);
    this.step = step;
  }
}

/** The runbook said `stop`. */
export class Stop extends Error {
  readonly outcome: string;
  constructor(outcome: string, because: string) {
    super(because);
    this.outcome = outcome;
  }
}

/** The scope of a wait was cancelled: a timeout, a sibling's failure, a person's command. A runbook cannot catch it. */
export class Abandoned extends Error {
  readonly reason: AbandonReason;
  constructor(reason: AbandonReason) {
    super(reason.message);
    this.reason = reason;
  }
}

/** What was thrown as one of the above: anything else is an internal error. `step`: where it was thrown. */
export function toInterruption(error: unknown, step: string): Interruption {
  const known =
    error instanceof StepFailure ||
    error instanceof Halt ||
    error instanceof Stop ||
    error instanceof Abandoned ||
    error instanceof InternalFailure;
  return known ? error : new InternalFailure(error, step);
}
export type Interruption = StepFailure | Halt | Stop | Abandoned | InternalFailure;

export interface AbandonReason {
  /** `timeout`: the step's own; `sibling`: another branch ended the block; `operator`; `deadman`: the switch fired. */
  readonly why: 'timeout' | 'sibling' | 'operator' | 'deadman' | 'halt';
  readonly message: string;
  /** The cancellation that began it: only the step that owns it turns it into an error. */
  readonly origin: Cancellation;
}

interface ScopeKind {
  /** The scope of a step that catches unknown outcomes: a halt inside ends nothing beyond it. */
  readonly catchesHalt?: boolean;
  /** The scope of a clean-up after a halt. */
  readonly onlyReduces?: boolean;
  /** The scope that does not cancel this one, though it may halt: then nothing that adds risk is sent here either. */
  readonly beside?: Cancellation;
}

/**
 * A tree of scopes that can be cancelled; cancelling one cancels all below it. Waits listen. A request that was sent is
 * awaited in any case; one that was not sent yet is withdrawn.
 */
export class Cancellation {
  private readonly parent: Cancellation | undefined;
  // Each made when it is first needed, and given up when it is empty (long-runs.md, Maps that are emptied).
  private children: Set<Cancellation> | undefined;
  private listeners: Set<(reason: AbandonReason) => void> | undefined;
  private withdrawals: Set<Withdrawal> | undefined;
  private readonly kind: ScopeKind;
  private reasonGiven: AbandonReason | undefined;
  /** An interruption that came while nothing waited: the next `check` throws it. */
  private pending: AbandonReason | undefined;

  constructor(parent?: Cancellation, kind: ScopeKind = {}) {
    this.parent = parent;
    this.kind = kind;
    this.reasonGiven = parent?.reason;
    if (parent === undefined || this.reasonGiven !== undefined) return;
    parent.children ??= new Set();
    parent.children.add(this);
  }

  get reason(): AbandonReason | undefined {
    return this.reasonGiven;
  }

  /** Whether its own timeout cancelled it. */
  get timedOut(): boolean {
    return this.reasonGiven?.why === 'timeout' && this.reasonGiven.origin === this;
  }

  /** Whether nothing that adds risk may be sent here: a run halts, and this is where it halts or where it cleans up. */
  get onlyReduces(): boolean {
    const { onlyReduces, beside } = this.kind;
    return onlyReduces === true || this.reasonGiven?.why === 'halt' || (beside ?? this.parent)?.onlyReduces === true;
  }

  /** A scope for what must not stop half-way: it goes on where this one is cancelled. What it waits for has to be bounded. */
  createShield(): Cancellation {
    return new Cancellation(undefined, { beside: this });
  }

  cancel(why: AbandonReason['why'], message: string): void {
    this.leave({ why, message, origin: this });
  }

  /**
   * Cancels every scope up to the step that catches unknown outcomes, or the run: of branches beside, none may begin another
   * order while the one that found the unknown outcome waits for its siblings.
   */
  halt(message: string): void {
    if (this.kind.catchesHalt !== true && this.parent !== undefined) this.parent.halt(message);
    else this.cancel('halt', message);
  }

  /**
   * Interrupts the waits here and below without cancelling a scope: the code that waited decides what follows. Where nothing
   * waits, the next `check` in these scopes throws instead.
   */
  interrupt(why: AbandonReason['why'], message: string): void {
    const reason: AbandonReason = { why, message, origin: this };
    if (this.reasonGiven === undefined && !this.notifyAll(reason)) this.pending = reason;
  }

  /** Throws Abandoned when this scope was cancelled. Called before anything new begins. */
  check(): void {
    if (this.reasonGiven !== undefined) throw new Abandoned(this.reasonGiven);
    const pending = this.takePending();
    if (pending !== undefined) throw new Abandoned(pending);
  }

  listen(listener: (reason: AbandonReason) => void): () => void {
    this.listeners ??= new Set();
    const { listeners } = this;
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.listeners === listeners) this.listeners = undefined;
    };
  }

  /** For a request that was not sent yet. To be ended when it has its outcome. */
  createWithdrawal(): Withdrawal {
    const withdrawal = new Withdrawal(() => {
      this.withdrawals?.delete(withdrawal);
      if (this.withdrawals?.size === 0) this.withdrawals = undefined;
    });
    if (this.reasonGiven !== undefined) {
      withdrawal.withdraw(this.reasonGiven);
      return withdrawal;
    }
    this.withdrawals ??= new Set();
    this.withdrawals.add(withdrawal);
    return withdrawal;
  }

  /** Detaches the scope from its parent. To be called when its work is over. */
  close(): void {
    const { parent } = this;
    parent?.children?.delete(this);
    if (parent?.children?.size === 0) parent.children = undefined;
  }

  private takePending(): AbandonReason | undefined {
    const { pending } = this;
    this.pending = undefined;
    return pending ?? this.parent?.takePending();
  }

  private leave(reason: AbandonReason): void {
    if (this.reasonGiven !== undefined) return;
    this.reasonGiven = reason;
    this.notify(reason);
    for (const child of [...(this.children ?? [])]) child.leave(reason);
    this.children = undefined;
  }

  /** Notifies the waits here and below; false when there were none. */
  private notifyAll(reason: AbandonReason): boolean {
    let notified = this.notify(reason);
    for (const child of [...(this.children ?? [])]) notified = child.notifyAll(reason) || notified;
    return notified;
  }

  private notify(reason: AbandonReason): boolean {
    const waiting = [...(this.listeners ?? [])];
    this.listeners = undefined;
    for (const listener of waiting) listener(reason);
    for (const withdrawal of [...(this.withdrawals ?? [])]) withdrawal.withdraw(reason);
    return waiting.length > 0;
  }
}

/**
 * Says whether a request that may still wait to be sent is wanted. An interruption withdraws it too, but it does not count as
 * a wait: a request that was sent goes on, and then nothing would act on the interruption.
 */
class Withdrawal implements Wanted {
  private readonly ended: () => void;
  private readonly listeners = new Set<() => void>();
  private reasonHeard: AbandonReason | undefined;

  constructor(ended: () => void) {
    this.ended = ended;
  }

  /** The first reason. */
  get reason(): AbandonReason | undefined {
    return this.reasonHeard;
  }

  get withdrawn(): string | undefined {
    return this.reasonHeard?.message;
  }

  onWithdrawn(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  withdraw(reason: AbandonReason): void {
    if (this.reasonHeard !== undefined) return;
    this.reasonHeard = reason;
    for (const listener of [...this.listeners]) listener();
    this.listeners.clear();
  }

  end(): void {
    this.ended();
  }
}
