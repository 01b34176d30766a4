/**
 * Our own mistakes, told decently: one sentence for the person, the stack into a file of the state folder with every secret
 * taken out. Never lets a second failure (a full disk, a read-only folder) hide the first.
 */
import { appendFileSync } from 'node:fs';
import { SystemClock } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import { redactedText } from '../gateway/fixture/redaction.ts';
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
  const hide = (text: string) => redactedText(redactor.redact(text));
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? (error.stack ?? message) : message;
  const lines = [
    `${new Date(new SystemClock().now()).toISOString()} perp-runbook ${ENGINE_VERSION} on Node ${process.version}, ${process.platform}`,
    `runbook ${args.join(' ')}`,
    stack,
  ];
  const kept = keep(
    hide(
      lines
        .map((line) =>
          line
            .split('\n')
            .map((each) => printable(each, 2000))
            .join('\n'),
        )
        .join('\n'),
    ),
    state,
  );
  return `this is a mistake of the program, not yours: ${printable(hide(message), 300)}; ${kept}`;
}

function keep(report: string, state: StateFolder): string {
  try {
    appendFileSync(state.file('crash.log'), `${report}\n\n`, { mode: 0o600 });
    return `details are in ${state.shown}/crash.log`;
  } catch {
    return 'its details could not be written';
  }
}
