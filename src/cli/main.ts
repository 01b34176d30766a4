/**
 * The command `runbook`: reads the command line, calls one verb, ends with its exit code. Everything a verb needs is loaded
 * when it is called, so that `--help` costs next to nothing.
 */

import { environment } from '../app/environment.ts';
import { EXIT, type ExitCode, UserError } from '../app/errors.ts';
import { stateFolder } from '../app/state.ts';
import { ENGINE_VERSION } from '../app/version.ts';
import { escapeUnprintable } from '../base/printable.ts';
import { VERBS } from './actions/actions.ts';
import { type Call, isHandled, program } from './program.ts';
import { Terminal } from './terminal/terminal.ts';

const args = process.argv.slice(2);

/** What was typed after `--` is no option of ours, but nothing of this program takes such a tail. */
const wantsJson = args.includes('--json');

/**
 * What can not be said is no reason to leave a run where it stands: a log on a full disk least of all. Of standard output it
 * is told, and makes a failure of a success, but for a reader that has seen enough (`runbook … | head`).
 */
process.stderr.on('error', () => {});
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || error.code === 'EIO' || error.code === 'ERR_STREAM_DESTROYED') return;
  process.on('exit', () => {
    process.exitCode ||= EXIT.failed;
  });
  process.stderr.write(
    `error: standard output can not be written: ${error.code === 'ENOSPC' ? 'the disk is full' : (error.code ?? error.message)}\n`,
  );
});

async function main(): Promise<ExitCode> {
  let exit: ExitCode = EXIT.done;
  let printed = '';
  const output = {
    out: (text: string) => {
      if (wantsJson) printed += text;
      else process.stdout.write(text);
    },
    err: (text: string) => void process.stderr.write(harmless(text)),
  };
  const root = program(VERBS, ENGINE_VERSION, output, async (call) => {
    exit = await run(call);
  });
  const [help, about] = args.filter((word) => !word.startsWith('-'));
  if (help === 'help' && about !== undefined && !root.commands.some((verb) => verb.name() === about)) {
    const message = `unknown verb '${about}'; \`runbook help\` lists them`;
    output.err(`error: ${message}\n`);
    return wrongUsage(message);
  }
  try {
    await root.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!isHandled(error)) throw error;
    if (error.code === 'commander.help' && error.exitCode !== 0)
      return wrongUsage('no verb was given; `runbook help` lists them');
    if (error.exitCode !== 0) return wrongUsage(error.message);
    if (wantsJson) printJson(error.code === 'commander.version' ? { version: printed.trim() } : { help: printed });
  }
  return exit;
}

function wrongUsage(message: string): ExitCode {
  if (wantsJson) printJson({ error: { kind: 'usage', message: message.replace(/^error: /, '') } });
  return EXIT.usage;
}

async function run({ row, args: given, options, globals }: Call): Promise<ExitCode> {
  const terminal = new Terminal({ out: process.stdout, err: process.stderr, environment, ...globals });
  try {
    const state = stateFolder(globals.state, environment, process.cwd());
    return await row.run(given, options, { terminal, environment, state });
  } catch (error) {
    const { message, kind, exit, beside } = error instanceof UserError ? error : await foreseen(error, globals.state);
    terminal.complain(message);
    if (globals.json) printJson({ error: { kind, message }, ...beside });
    return exit;
  } finally {
    terminal.endProgress();
  }
}

type Told = Pick<UserError, 'message' | 'kind' | 'exit' | 'beside'>;

/** What the system refused is the user's trouble; everything else that was not foreseen is our mistake. */
async function foreseen(error: unknown, state: string | undefined): Promise<Told> {
  const { troubleOf } = await import('../app/system-errors.ts');
  return troubleOf(error) ?? crashed(error, state);
}

async function crashed(error: unknown, state: string | undefined): Promise<Told> {
  const { reportCrash } = await import('../app/crash-report.ts');
  const message = reportCrash(error, args, stateFolder(state, environment, process.cwd()), environment);
  return { message, kind: 'internal', exit: EXIT.failed, beside: {} };
}

function printJson(document: object): void {
  process.stdout.write(`${escapeUnprintable(JSON.stringify(document))}\n`);
}

/** What was typed comes back in commander's sentences: escapes in it must not reach the terminal. */
function harmless(text: string): string {
  return text.split('\n').map(escapeUnprintable).join('\n');
}

async function crash(error: unknown): Promise<void> {
  process.stderr.write(`error: ${(await crashed(error, undefined)).message}\n`);
  process.exit(EXIT.failed);
}
process.on('uncaughtException', (error) => void crash(error));
process.on('unhandledRejection', (error) => void crash(error));

void main().then((exit) => {
  process.exitCode = exit;
});
