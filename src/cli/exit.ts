/** Ends this process: the one place that does. */
import { EXIT, type ExitCode } from '../app/errors.ts';

/** Exits at once, whatever is still running. */
export function endProcess(exit: ExitCode): never {
  process.exit(exit);
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
