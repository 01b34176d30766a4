/**
 * How the walk through a runbook is left early. Each is thrown inside the engine and caught inside the engine; none
 * reaches a user as an exception.
 */
import type { ErrorFact } from '../journal/entry.ts';
import type { ErrorKind } from '../runbook/checked.ts';

/** A step failed for a reason that the runbook can catch. */
export class StepFailure extends Error {
  readonly kind: ErrorKind;
  /** Where the failure happened; filled in by the step that meets it first. */
  readonly step: string;
  /** Not before this long from now may it be tried again (X-RateLimit-Retry-After). */
  readonly retryAfterMs: number | undefined;
  constructor(kind: ErrorKind, message: string, step: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.step = step;
    this.retryAfterMs = retryAfterMs;
  }
  get fact(): ErrorFact {
    return { kind: this.kind, message: this.message, step: this.step };
  }
  /** The same failure, of another step. */
  at(step: string): StepFailure {
    return new StepFailure(this.kind, this.message, step, this.retryAfterMs);
  }
}

/** An outcome at the venue is not known, or a contradiction needs a person: nothing that adds risk may follow. */
export class Halt extends Error {
  readonly fact: ErrorFact;
  constructor(kind: string, message: string, step: string) {
    super(message);
    this.fact = { kind, message, step };
  }
}

/** The runbook said `stop`. */
export class Stop extends Error {
  readonly outcome: string;
  readonly because: string;
  constructor(outcome: string, because: string) {
    super(because);
    this.outcome = outcome;
    this.because = because;
  }
}

/** The scope a wait belongs to was left: its time ran out, a sibling failed, a person asked. Never caught by a runbook. */
export class Abandoned extends Error {
  readonly reason: AbandonReason;
  constructor(reason: AbandonReason) {
    super(reason.message);
    this.reason = reason;
  }
}
export interface AbandonReason {
  /** `timeout`: the step's own; `sibling`: another branch ended the block; `operator`; `deadman`: the switch fired. */
  readonly why: 'timeout' | 'sibling' | 'operator' | 'deadman' | 'halt';
  readonly message: string;
  /** The cancellation that began it, so that only the step that owns it turns it into an error. */
  readonly origin: Cancellation;
}

/**
 * A tree of scopes that can be left: leaving one leaves all below it. Waits listen; calls to the venue do not, for a
 * request that is under way must be answered for, whatever else happens.
 */
export class Cancellation {
  private reasonGiven: AbandonReason | undefined;
  private listeners: Set<(reason: AbandonReason) => void> | undefined;
  private readonly detach: (() => void) | undefined;

  constructor(parent?: Cancellation) {
    if (parent?.reason !== undefined) this.reasonGiven = parent.reason;
    else this.detach = parent?.listen((reason) => this.leave(reason));
  }

  get reason(): AbandonReason | undefined {
    return this.reasonGiven;
  }

  cancel(why: AbandonReason['why'], message: string): void {
    this.leave({ why, message, origin: this });
  }

  /** Throws when this scope has been left: asked before anything new is begun. */
  check(): void {
    if (this.reasonGiven !== undefined) throw new Abandoned(this.reasonGiven);
  }

  listen(listener: (reason: AbandonReason) => void): () => void {
    this.listeners ??= new Set();
    this.listeners.add(listener);
    return () => this.listeners?.delete(listener);
  }

  /** Lets go of the parent: to be called when the scope's work is over. */
  close(): void {
    this.detach?.();
  }

  private leave(reason: AbandonReason): void {
    if (this.reasonGiven !== undefined) return;
    this.reasonGiven = reason;
    for (const listener of [...(this.listeners ?? [])]) listener(reason);
    this.listeners = undefined;
  }
}
