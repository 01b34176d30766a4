/**
 * The interface to the surrounding process: interrupts that ask work to end, and an immediate exit for when the account is
 * lost. The command line implements both with its signals and its exit; a library user implements them as they like.
 */
import type { AppContext } from './context.ts';
import { EXIT, type ExitCode, type UserError } from './errors.ts';

/** A signal that asks the process to end. Closing a terminal sends SIGHUP. */
export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface Interrupts {
  /** Calls the handler at every signal, until the returned function is called. */
  on(handler: (signal: Signal) => void): () => void;
}

/**
 * Ends the process at once, after it has shown `error`: no further turn of the event loop, no `finally`. Used when the lease on
 * an account is lost, because another process acts for the account by then, and when the time to end after a signal is over: nothing
 * inside this process can prove that none of a run's timers, sockets and promises continues.
 */
export type EndProcess = (exit: ExitCode, error?: UserError) => never;

/** The context of work that acts for an account. */
export interface ActingContext extends AppContext {
  readonly interrupts: Interrupts;
  readonly endProcess: EndProcess;
}

/** The exit code of a command that a signal ended. */
export function exitAfter(signal: Signal): ExitCode {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}
