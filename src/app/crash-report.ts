/**
 * Reports internal errors: one sentence for the user, the stack in a file of the state folder with every secret redacted. A
 * second failure (a full disk, a read-only folder) never hides the first.
 */
import { appendFileSync } from 'node:fs';
import { SystemClock } from '../base/clock.ts';
import { makePrintable } from '../base/printable.ts';
import { redactText } from '../gateway/fixture/redaction.ts';
import { Redactor } from '../gateway/live/redactor.ts';
import { Secret } from '../gateway/live/secret.ts';
import type { Environment } from './environment.ts';
import type { StateFolder } from './state.ts';
import { ENGINE_VERSION } from './version.ts';

/** Writes the report and returns the sentence. `args`: the command line after `runbook`. */
export function reportCrash(
  error: unknown,
  args: readonly string[],
  state: StateFolder,
  environment: Environment,
): string {
  const redactor = new Redactor(environment.secrets().map((text) => new Secret('environment', text)));
  const hide = (text: string) => redactText(redactor.redact(text));
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? (error.stack ?? message) : message;
  const lines = [
    `${new Date(new SystemClock().now()).toISOString()} perp-runbook ${ENGINE_VERSION} on Node ${process.version}, ${process.platform}`,
    `runbook ${args.join(' ')}`,
    stack,
  ];
  const kept = saveReport(
    hide(
      lines
        .map((line) =>
          line
            .split('\n')
            .map((each) => makePrintable(each, 2000))
            .join('\n'),
        )
        .join('\n'),
    ),
    state,
  );
  return `internal error, not caused by your input: ${makePrintable(hide(message), 300)}; ${kept}`;
}

function saveReport(report: string, state: StateFolder): string {
  try {
    appendFileSync(state.file('crash.log'), `${report}\n\n`, { mode: 0o600 });
    return `details are in ${state.shown}/crash.log`;
  } catch {
    return 'the details could not be written';
  }
}
