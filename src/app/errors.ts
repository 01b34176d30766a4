/** How a command ends: the exit codes other programs rely on (interface.md, Exit codes), and an end that was foreseen. */

export const EXIT = {
  /** As asked. */
  done: 0,
  /** The runbook is invalid, or the run failed, or verification found something. */
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** The account is held by another process. */
  held: 3,
  /** An outcome at the venue is not known, or needs a person. */
  halted: 4,
  /** SIGINT, in order. */
  interrupted: 130,
  /** SIGTERM, in order. */
  terminated: 143,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error that the user can act on: one sentence for them. Everything else that is thrown is a mistake of this program. */
export class UserError extends Error {
  /** How a command ends on it. */
  readonly exit: ExitCode;
  /** A word for programs, as `error.kind` in `--json`. */
  readonly kind: string;
  /** What stands beside `error` in `--json`. */
  readonly beside: object;

  constructor(message: string, exit: ExitCode = EXIT.usage, kind = 'usage', beside: object = {}) {
    super(message);
    this.beside = beside;
    this.name = 'UserError';
    this.exit = exit;
    this.kind = kind;
  }
}
