/** Makes completion scripts for shells from the command table: static text, so that completing starts no process. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { COMMANDS, type Given } from '../actions/actions.ts';
import type { Shell } from '../choices.ts';
import type { CommandRow, Options, Takes } from '../command-row.ts';
import { GLOBAL_OPTIONS } from '../global-options.ts';
import type { Invocation } from '../invocation.ts';

export async function printCompletion({ shell }: Given<'completion'>, { terminal }: Invocation): Promise<ExitCode> {
  const script = makeCompletionScript(shell, COMMANDS);
  terminal.answer({ shell, script }, () => script);
  return EXIT.done;
}

/** The script with which `shell` completes the given commands. */
export function makeCompletionScript(shell: Shell, commands: readonly CommandRow[]): string {
  switch (shell) {
    case 'bash':
      return makeBashScript(commands);
    case 'zsh':
      // zsh reads bash completions, so one correct script serves both.
      return `#compdef runbook\nautoload -U +X bashcompinit && bashcompinit\n${makeBashScript(commands)}`;
    case 'fish':
      return makeFishScript(commands);
    default:
      return shell satisfies never;
  }
}

/** The commands of each group by its first word; a single command has none. */
function groupByFirstWord(commands: readonly CommandRow[]): Map<string, CommandRow[]> {
  const words = new Map<string, CommandRow[]>();
  for (const row of commands) {
    const [first = '', second] = row.name.split(' ');
    words.set(first, [...(words.get(first) ?? []), ...(second === undefined ? [] : [row])]);
  }
  return words;
}

function makeBashScript(commands: readonly CommandRow[]): string {
  const words = groupByFirstWord(commands);
  const second = [...words].filter(([, rows]) => rows.length > 0);
  const groupCases = second.map(
    ([first, rows]) => `      ${first}) words="${rows.map((row) => row.name.split(' ')[1]).join(' ')}" ;;`,
  );
  const optionCases = commands.map(
    (row) => `    "${row.name}") options="${listFlags({ ...row.options, ...GLOBAL_OPTIONS })}" ;;`,
  );
  const valueCases = commands.flatMap((row) => makeValueCases(row.name, row.options));
  const argumentCases = commands.flatMap((row) => {
    const takes = Object.values(row.arguments)[0]?.takes;
    return takes === undefined || takes === 'text' ? [] : [`    "${row.name}") ${makeReply(takes)} ;;`];
  });
  return `# runbook completion for bash: eval "$(runbook completion bash)"
_runbook() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" words="" options="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
      --state) index=$((index + 1)) ;;
      -*) ;;
      *) command="\${COMP_WORDS[index]}"; break ;;
    esac
  done
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "${[...words.keys(), 'help'].join(' ')} ${listFlags(GLOBAL_OPTIONS)}" -- "$word"))
    return
  fi
  if ((index + 1 == COMP_CWORD)); then
    case "$command" in
${[...groupCases, `      help) words="${[...words.keys()].join(' ')}" ;;`].join('\n')}
    esac
    if [[ -n $words ]]; then
      COMPREPLY=($(compgen -W "$words" -- "$word"))
      [[ \${#COMPREPLY[@]} -gt 0 ]] && return
    fi
  fi
  case "$command \${COMP_WORDS[index+1]}" in
${commands
  .filter((row) => row.name.includes(' '))
  .map((row) => `    "${row.name}") command="${row.name}" ;;`)
  .join('\n')}
    *) ;;
  esac
  case "$command $before" in
${[...valueCases, `    *" --state") ${makeReply('directory')}; return ;;`].join('\n')}
  esac
  case "$command" in
${optionCases.join('\n')}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi
  case "$command" in
${argumentCases.join('\n')}
  esac
}
complete -o filenames -F _runbook runbook
`;
}

function listFlags(options: Options): string {
  return Object.keys(options)
    .map((name) => `--${name}`)
    .join(' ');
}

function makeValueCases(command: string, options: Options): string[] {
  return Object.entries(options).flatMap(([name, { value, takes }]) =>
    value === undefined
      ? []
      : [`    "${command} --${name}") ${takes === undefined ? ':' : makeReply(takes)}; return ;;`],
  );
}

function makeReply(takes: Takes): string {
  if (takes === 'file') return 'COMPREPLY=($(compgen -f -- "$word"))';
  if (takes === 'directory') return 'COMPREPLY=($(compgen -d -- "$word"))';
  return takes === 'text' ? ':' : `COMPREPLY=($(compgen -W "${takes.join(' ')}" -- "$word"))`;
}

function makeFishScript(commands: readonly CommandRow[]): string {
  const words = groupByFirstWord(commands);
  const lines = ['# runbook completion for fish: runbook completion fish | source', 'complete -c runbook -f'];
  const top = `not __fish_seen_subcommand_from ${[...words.keys()].join(' ')}`;
  for (const [first, rows] of words) {
    const summary = commands.find((row) => row.name === first)?.summary ?? '';
    lines.push(`complete -c runbook -n "${top}" -a ${first} -d ${quoteText(summary)}`);
    for (const row of rows) {
      lines.push(
        `complete -c runbook -n "__fish_seen_subcommand_from ${first}" -a ${row.name.split(' ')[1]} -d ${quoteText(row.summary)}`,
      );
    }
  }
  for (const row of commands) {
    const condition = `-n "${row.name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ')}"`;
    const takes = Object.values(row.arguments)[0]?.takes;
    if (takes !== undefined && takes !== 'text') lines.push(`complete -c runbook ${condition} ${makeFishValue(takes)}`);
    lines.push(...makeFishOptions(row.options, condition));
  }
  return `${[...lines, ...makeFishOptions(GLOBAL_OPTIONS, '')].join('\n')}\n`;
}

function makeFishOptions(options: Options, condition: string): string[] {
  return Object.entries(options).map(([name, { doc, value, takes }]) => {
    const taken = value === undefined ? '' : ` -x ${takes === undefined ? '' : makeFishValue(takes)}`;
    return `complete -c runbook ${condition} -l ${name}${taken.trimEnd()} -d ${quoteText(doc)}`.replace('  ', ' ');
  });
}

function makeFishValue(takes: Takes): string {
  if (takes === 'file') return '-a "(__fish_complete_path)"';
  if (takes === 'directory') return '-a "(__fish_complete_directories)"';
  return takes === 'text' ? '' : `-a "${takes.join(' ')}"`;
}

function quoteText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
