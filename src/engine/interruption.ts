/**
 * How the walk through a runbook is left early. Each is thrown inside the engine and caught inside the engine; none
 * reaches a user as an exception.
 */
import type { ErrorFact } from '../journal/entry.ts';
import type { ErrorKind } from '../runbook/checked.ts';
import type { Wanted } from '../venue/port.ts';

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
 * A tree of scopes that can be left: leaving one leaves all below it. Waits listen. A request that is under way must be
 * answered for, whatever else happens; one that has not left yet is withdrawn.
 */
export class Cancellation {
  private readonly parent: Cancellation | undefined;
  private readonly children = new Set<Cancellation>();
  private listeners = new Set<(reason: AbandonReason) => void>();
  private readonly withdrawals = new Set<Withdrawal>();
  private reasonGiven: AbandonReason | undefined;
  /** An interruption that nobody was waiting for: the next to begin something is told. */
  private untold: AbandonReason | undefined;

  constructor(parent?: Cancellation) {
    this.parent = parent;
    this.reasonGiven = parent?.reason;
    if (this.reasonGiven === undefined) parent?.children.add(this);
  }

  get reason(): AbandonReason | undefined {
    return this.reasonGiven;
  }

  /** Whether it was its own time that ran out. */
  get timedOut(): boolean {
    return this.reasonGiven?.why === 'timeout' && this.reasonGiven.origin === this;
  }

  cancel(why: AbandonReason['why'], message: string): void {
    this.leave({ why, message, origin: this });
  }

  /**
   * Breaks off what is being waited for, and leaves no scope: what follows is decided by who waited. When nobody did, the
   * next that begins something in these scopes is told instead.
   */
  interrupt(why: AbandonReason['why'], message: string): void {
    const reason: AbandonReason = { why, message, origin: this };
    if (this.reasonGiven === undefined && !this.pass(reason)) this.untold = reason;
  }

  /** Throws when this scope has been left: asked before anything new is begun. */
  check(): void {
    if (this.reasonGiven !== undefined) throw new Abandoned(this.reasonGiven);
    const untold = this.takeUntold();
    if (untold !== undefined) throw new Abandoned(untold);
  }

  listen(listener: (reason: AbandonReason) => void): () => void {
    const { listeners } = this;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** For a request that has not left yet: to be ended when it has its outcome. */
  withdrawal(): Withdrawal {
    const withdrawal = new Withdrawal(() => this.withdrawals.delete(withdrawal));
    if (this.reasonGiven !== undefined) withdrawal.withdraw(this.reasonGiven);
    else this.withdrawals.add(withdrawal);
    return withdrawal;
  }

  /** Lets go of the parent: to be called when the scope's work is over. */
  close(): void {
    this.parent?.children.delete(this);
  }

  private takeUntold(): AbandonReason | undefined {
    const { untold } = this;
    this.untold = undefined;
    return untold ?? this.parent?.takeUntold();
  }

  private leave(reason: AbandonReason): void {
    if (this.reasonGiven !== undefined) return;
    this.reasonGiven = reason;
    this.tell(reason);
    for (const child of [...this.children]) child.leave(reason);
    this.children.clear();
  }

  /** Tells all who wait here and below; false when nobody did. */
  private pass(reason: AbandonReason): boolean {
    let told = this.tell(reason);
    for (const child of [...this.children]) told = child.pass(reason) || told;
    return told;
  }

  private tell(reason: AbandonReason): boolean {
    const waiting = [...this.listeners];
    this.listeners = new Set();
    for (const listener of waiting) listener(reason);
    for (const withdrawal of [...this.withdrawals]) withdrawal.withdraw(reason);
    return waiting.length > 0;
  }
}

/**
 * Whether a request that may still be waiting to leave is wanted. It hears of an interruption as well, and does not count
 * as who was told of it: one that has left goes on, and then nobody would act on what it heard.
 */
export class Withdrawal implements Wanted {
  private readonly ended: () => void;
  private readonly listeners = new Set<() => void>();
  private reasonHeard: AbandonReason | undefined;

  constructor(ended: () => void) {
    this.ended = ended;
  }

  /** The first that was heard. */
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
