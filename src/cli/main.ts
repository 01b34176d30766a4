/**
 * The program `runbook`: reads the command line, runs one command, exits with its code. A command's modules are loaded when it
 * is called, so that `--help` stays fast.
 */

import { environment } from '../app/environment.ts';
import { EXIT, type ExitCode, UserError } from '../app/errors.ts';
import { stateFolder } from '../app/state.ts';
import { ENGINE_VERSION } from '../app/version.ts';
import { escapeUnprintable } from '../base/printable.ts';
import { COMMANDS } from './actions/actions.ts';
import { endAsFailure, endProcess, endWhenDone, handleUncaught } from './exit.ts';
import { runCommand } from './implementations.ts';
import { invocationAt } from './invocation.ts';
import { type Call, isHandled, program } from './program.ts';
import { standard, surviveStreams } from './terminal/streams.ts';
import { Terminal } from './terminal/terminal.ts';

const args = process.argv.slice(2);

/** Arguments after `--` are not options, but no command of this program takes any. */
const wantsJson = args.includes('--json');

surviveStreams((reason) => {
  endAsFailure();
  standard.error.write(`error: standard output cannot be written: ${reason}\n`);
});

async function main(): Promise<ExitCode> {
  let exit: ExitCode = EXIT.done;
  let printed = '';
  const output = {
    out: (text: string) => {
      if (wantsJson) printed += text;
      else standard.output.write(text);
    },
    err: (text: string) => void standard.error.write(escapeText(text)),
  };
  const root = program(COMMANDS, ENGINE_VERSION, output, async (call) => {
    exit = await run(call);
  });
  const [help, about] = args.filter((word) => !word.startsWith('-'));
  if (help === 'help' && about !== undefined && !root.commands.some((command) => command.name() === about)) {
    const message = `unknown command '${about}'; \`runbook help\` lists them`;
    output.err(`error: ${message}\n`);
    return reportWrongUsage(message);
  }
  try {
    await root.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!isHandled(error)) throw error;
    if (error.code === 'commander.help' && error.exitCode !== 0)
      return reportWrongUsage('no command was given; `runbook help` lists them');
    if (error.exitCode !== 0) return reportWrongUsage(error.message);
    if (wantsJson) printJson(error.code === 'commander.version' ? { version: printed.trim() } : { help: printed });
  }
  return exit;
}

function reportWrongUsage(message: string): ExitCode {
  if (wantsJson) printJson({ error: { kind: 'usage', message: message.replace(/^error: /, '') } });
  return EXIT.usage;
}

async function run(call: Call): Promise<ExitCode> {
  const { globals } = call;
  const terminal = new Terminal({ out: standard.output, err: standard.error, environment, ...globals });
  try {
    const state = stateFolder(globals.state, environment, process.cwd());
    return await runCommand(call, invocationAt(terminal, environment, state));
  } catch (error) {
    const { message, kind, exit, beside } =
      error instanceof UserError ? error : await describeFailure(error, globals.state);
    terminal.complain(message);
    if (globals.json) printJson({ error: { kind, message }, ...beside });
    return exit;
  } finally {
    terminal.endProgress();
  }
}

type Failure = Pick<UserError, 'message' | 'kind' | 'exit' | 'beside'>;

/** System errors (disk full, no permission) are reported as such; any other unexpected error is a bug. */
async function describeFailure(error: unknown, state: string | undefined): Promise<Failure> {
  const { toSystemError: troubleOf } = await import('../app/system-errors.ts');
  return troubleOf(error) ?? describeCrash(error, state);
}

async function describeCrash(error: unknown, state: string | undefined): Promise<Failure> {
  const { reportCrash } = await import('../app/crash-report.ts');
  const message = reportCrash(error, args, stateFolder(state, environment, process.cwd()), environment);
  return { message, kind: 'internal', exit: EXIT.failed, beside: {} };
}

function printJson(document: object): void {
  standard.output.write(`${escapeUnprintable(JSON.stringify(document))}\n`);
}

/** Commander quotes what was typed: escapes in it must not reach the terminal. */
function escapeText(text: string): string {
  return text.split('\n').map(escapeUnprintable).join('\n');
}

async function reportUncaught(error: unknown): Promise<void> {
  standard.error.write(`error: ${(await describeCrash(error, undefined)).message}\n`);
  endProcess(EXIT.failed);
}
handleUncaught((error) => void reportUncaught(error));

void main().then(endWhenDone);
