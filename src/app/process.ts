/**
 * What work needs of the process it runs in: to hear that it is to end, and, where it has lost its account, to end the process.
 * The command line gives both from its signals and its exit; a program that uses this as a library gives what it likes.
 */
import type { AppContext } from './context.ts';
import { EXIT, type ExitCode } from './errors.ts';

/** What a user or the system asks a process to end with. A terminal that is closed sends SIGHUP. */
export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface Interrupts {
  /** Calls the handler at every signal, until the function it gives is called. */
  on(handler: (signal: Signal) => void): () => void;
}

/**
 * Ends the process at once: no other turn of the event loop, no `finally`. For the moment in which the lease of an account is
 * lost: another process acts for the account by then, and a run holds timers, sockets and promises at any depth, of which
 * nothing within the process can prove that none goes on.
 */
export type EndProcess = (exit: ExitCode) => never;

/** The context of work that acts for an account. */
export interface ActingContext extends AppContext {
  readonly interrupts: Interrupts;
  readonly endProcess: EndProcess;
}

/** How a command ends whose work a signal has ended cleanly. */
export function exitOf(signal: Signal): ExitCode {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}
