/** Exit codes that other programs rely on (interface.md, Exit codes), and the error that ends a command with one of them. */

export const EXIT = {
  /** As asked. */
  done: 0,
  /** The runbook is invalid, the run failed, or verification found something. */
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** Nothing was sent: another process holds the account, or the journal is not the account's newest. */
  held: 3,
  /** An outcome at the venue is not known, or needs a person. */
  halted: 4,
  /** SIGINT, after a clean shutdown. */
  interrupted: 130,
  /** SIGTERM, after a clean shutdown. */
  terminated: 143,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Kind of the error where a run is to be continued that has ended. */
export const HAS_ENDED = 'ended';

/** An error that the user can act on: one sentence for them. Everything else that is thrown is a bug. */
export class UserError extends Error {
  /** Exit code of the command. */
  readonly exit: ExitCode;
  /** Machine-readable kind, `error.kind` in `--json`. */
  readonly kind: string;
  /** Fields beside `error` in `--json`. */
  readonly beside: object;

  constructor(message: string, exit: ExitCode = EXIT.usage, kind = 'usage', beside: object = {}) {
    super(message);
    this.beside = beside;
    this.name = 'UserError';
    this.exit = exit;
    this.kind = kind;
  }
}

/** Throws a UserError for a port of 127.0.0.1 that a server could not take; an error of another kind as it is. */
export function refusePort(port: number, error: unknown): never {
  if (!(error instanceof Error && 'code' in error)) throw error;
  const why = error.code === 'EADDRINUSE' ? 'another program uses it' : String(error.code);
  throw new UserError(`port ${port} of 127.0.0.1 cannot be used: ${why}; --port N takes another, 0 a free one`);
}
