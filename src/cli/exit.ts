/** Ends this process: the one place that does. */
import { EXIT, type ExitCode } from '../app/errors.ts';
import type { EndProcess } from '../app/process.ts';
import type { Output } from './terminal/output.ts';

/** Exits at once, whatever is still running. */
export function endProcess(exit: ExitCode): never {
  process.exit(exit);
}

/** The same for work that acts for an account: it says why on this terminal first. */
export function makeEndProcess(terminal: Output): EndProcess {
  return (exit, error) => {
    terminal.endProgress();
    if (error !== undefined) {
      terminal.complain(error.message);
      const { kind, message, beside } = error;
      terminal.answer({ error: { kind, message }, ...beside }, () => '');
    }
    return endProcess(exit);
  };
}

/** Exits with this code once nothing is running any more. */
export function endWhenDone(exit: ExitCode): void {
  process.exitCode = exit;
}

/** Turns a successful exit into a failure. */
export function endAsFailure(): void {
  process.on('exit', () => {
    process.exitCode ||= EXIT.failed;
  });
}

/** Calls the handler for uncaught exceptions and rejections. */
export function handleUncaught(handler: (error: unknown) => void): void {
  process.on('uncaughtException', handler);
  process.on('unhandledRejection', handler);
}
