/** How this process ends: the one place that says so. */
import { EXIT, type ExitCode } from '../app/errors.ts';

/** Ends it at once, whatever is under way. */
export function endProcess(exit: ExitCode): never {
  process.exit(exit);
}

/** Ends it with this code once nothing is under way any more. */
export function endWhenDone(exit: ExitCode): void {
  process.exitCode = exit;
}

/** Makes a failure of what would end as a success. */
export function endAsFailure(): void {
  process.on('exit', () => {
    process.exitCode ||= EXIT.failed;
  });
}

/** Calls the handler with what was thrown, and caught nowhere. */
export function onUncaught(handler: (error: unknown) => void): void {
  process.on('uncaughtException', handler);
  process.on('unhandledRejection', handler);
}
