/**
 * Reads the command line of the programs beside the product (`npm run simulate`, `kills`, `mutate` …). A mistake is named in a
 * line and ends with 2 before anything is begun: these programs run for hours, and some write files. `--help` lists the options.
 */
import process from 'node:process';
import { parseArgs } from 'node:util';

const WRONG_USAGE = 2;
const KINDS = { whole: [/^\d{1,15}$/, 'a whole number'], number: [/^\d{1,9}(\.\d{1,9})?$/, 'a number'] };

/**
 * Ends the process where the words are wrong or ask for help.
 * @param {string} usage a line with the program's name, what it does, and what else it takes
 * @param {Record<string, {kind: 'whole' | 'number' | 'text' | 'flag', means: string}>} options
 * @param {boolean} [takesWords] whether words that are no options are taken
 */
export function readOptions(usage, options, takesWords = false) {
  const read = parseWords(usage, options, takesWords, process.argv.slice(2));
  if ('values' in read) return read;
  (read.exit === 0 ? process.stdout : process.stderr).write(`${read.said}\n`);
  process.exit(read.exit);
}

/** The values by option and what is left of the words, or what is to be said and the exit code. */
export function parseWords(usage, options, takesWords, words) {
  const known = { ...options, help: { kind: 'flag', means: 'show this' } };
  let parsed;
  try {
    const types = Object.entries(known).map(([name, { kind }]) => [
      name,
      { type: kind === 'flag' ? 'boolean' : 'string' },
    ]);
    parsed = parseArgs({ args: [...words], options: Object.fromEntries(types), allowPositionals: takesWords });
  } catch (error) {
    return { exit: WRONG_USAGE, said: error.message };
  }
  const { help, ...texts } = parsed.values;
  if (help) return { exit: 0, said: describe(usage, known) };
  const values = {};
  for (const [name, text] of Object.entries(texts)) {
    const [form, what] = KINDS[options[name].kind] ?? [];
    if (form !== undefined && !form.test(text))
      return { exit: WRONG_USAGE, said: `--${name} takes ${what}, found ${text.slice(0, 60)}` };
    values[name] = form === undefined ? text : Number(text);
  }
  return { values, rest: parsed.positionals };
}

function describe(usage, options) {
  const rows = Object.entries(options).map(([name, { kind, means }]) => [
    `--${name}${kind === 'flag' ? '' : kind === 'text' ? ' TEXT' : ' N'}`,
    means,
  ]);
  const width = Math.max(...rows.map(([name]) => name.length));
  return [usage, '', ...rows.map(([name, means]) => `  ${name.padEnd(width)}  ${means}`)].join('\n');
}
