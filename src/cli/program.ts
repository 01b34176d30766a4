/**
 * Builds the command line for commander from the command table and nothing else. It parses arguments and prints help; a
 * command's modules are loaded when it is called, never before.
 */
import { Argument, Command, type CommanderError, Option } from 'commander';
import type { ArgumentRow, CommandRow, OptionRow } from './command-row.ts';
import { FOREIGN_COMMANDS, GLOBAL_OPTIONS, GROUPS, HEADINGS } from './global-options.ts';

/** A command with the arguments and options given for it, as its row declares them. */
export interface Call {
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly globals: Globals;
}

interface Globals {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
  readonly state: string | undefined;
}

interface Output {
  out(text: string): void;
  err(text: string): void;
}

/** The program; `called` runs the command once the command line has been parsed. */
export function program(
  commands: readonly CommandRow[],
  version: string,
  output: Output,
  called: (call: Call) => Promise<void>,
): Command {
  const root = new Command('runbook')
    .description(
      'Declarative strategies and runbooks for a perpetual-futures venue: checked, dry-run, executed, audited.',
    )
    .version(version, '--version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: output.out, writeErr: output.err, outputError: (text, write) => write(text) })
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', '\nBegin with `runbook init FOLDER`; docs/start.md goes on from there.')
    .showHelpAfterError('(`runbook help` lists the commands)')
    .exitOverride();
  for (const [name, row] of Object.entries(GLOBAL_OPTIONS)) root.addOption(makeOption(name, row));
  for (const row of commands) define(root, row, called);
  for (const [name, meant] of Object.entries(FOREIGN_COMMANDS)) defineForeign(root, name, meant);
  for (const [heading, names] of Object.entries(HEADINGS))
    for (const name of names) findCommand(root, name)?.helpGroup(heading);
  return root;
}

/** Commander signals the end of everything it handles itself by throwing: 0 for help and version, else wrong usage. */
export function isHandled(error: unknown): error is CommanderError {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('commander.')
  );
}

function define(root: Command, row: CommandRow, called: (call: Call) => Promise<void>): void {
  const [first = '', second] = row.name.split(' ');
  const parent = second === undefined ? root : ensureGroup(root, first);
  const command = findCommand(parent, second ?? first) ?? parent.command(second ?? first);
  command.showHelpAfterError(`(\`runbook ${row.name} --help\` shows what it takes)`);
  command.description(row.summary).summary(row.summary).addHelpText('after', `\nExample:\n  runbook ${row.example}`);
  for (const [name, each] of Object.entries(row.arguments)) command.addArgument(makeArgument(name, each));
  for (const [name, each] of Object.entries(row.options)) command.addOption(makeOption(name, each));
  if (!('profile' in row.options)) {
    // A run has the profile of its start; what runs without an account has none.
    if ('run' in row.arguments || 'runs' in row.arguments)
      refuseProfile(
        command,
        'a run has the profile with which it was started in its journal; --state DIR names the folder of its store',
      );
    else if (['validate', 'dry-run', 'test'].includes(row.name))
      refuseProfile(
        command,
        '`runbook plan FILE --profile FILE` checks every request against a profile; `runbook paper` runs within its limits',
      );
  }
  command.action(async () => {
    const { json, quiet, color, state } = root.opts();
    const args = Object.keys(row.arguments).map((name, index) => [name, command.processedArgs[index]] as const);
    await called({
      name: row.name,
      given: { ...Object.fromEntries(args), ...readOptions(row, command) },
      globals: { json: json === true, quiet: quiet === true, color: color !== false, state },
    });
  });
}

/** Says what to do instead of giving a profile to a command that takes none. */
function refuseProfile(command: Command, instead: string): void {
  command.addOption(new Option('--profile [FILE]').hideHelp());
  command.on('option:profile', () =>
    command.error(`error: unknown option '--profile' of this command\n(${instead})`, {
      code: 'commander.unknownOption',
    }),
  );
}

/** A command that only says what is meant by it. */
function defineForeign(root: Command, name: string, meant: string): void {
  const command = root.command(name, { hidden: true });
  command
    .helpOption(false)
    .showHelpAfterError(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() =>
      command.error(`error: unknown command '${name}'; it is \`runbook ${meant}\` here`, {
        code: 'commander.unknownCommand',
      }),
    );
}

function ensureGroup(root: Command, name: string): Command {
  const there = findCommand(root, name);
  if (there !== undefined) return there;
  const summary = GROUPS[name] ?? name;
  const group = root.command(name).description(summary).summary(summary);
  return group.showHelpAfterError(`(\`runbook ${name} --help\` lists its commands)`);
}

function findCommand(parent: Command, name: string): Command | undefined {
  return parent.commands.find((each) => each.name() === name);
}

function makeArgument(name: string, { doc, takes, many, optional }: ArgumentRow): Argument {
  const word = many === true ? `${name}...` : name;
  const made = new Argument(optional === true ? `[${word}]` : `<${word}>`, doc);
  return typeof takes === 'string' ? made : made.choices(takes);
}

function makeOption(name: string, { doc, value, takes, many, required }: OptionRow): Option {
  const made = new Option(value === undefined ? `--${name}` : `--${name} <${value}>`, doc);
  if (takes !== undefined && typeof takes !== 'string') made.choices(takes);
  if (many === true) made.default([], 'none').argParser((text: string, before: readonly string[]) => [...before, text]);
  if (required === true) made.makeOptionMandatory();
  return made;
}

/** Flags that were not given are false, lists that were not given are empty. */
function readOptions(row: CommandRow, command: Command): Call['given'] {
  const given = command.opts();
  return Object.fromEntries(
    Object.entries(row.options).map(([name, { value, many }]) => {
      const key = toCamelCase(name);
      const found: unknown = given[key];
      return [key, value === undefined ? found === true : (found ?? (many === true ? [] : undefined))];
    }),
  );
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_whole, letter: string) => letter.toUpperCase());
}
