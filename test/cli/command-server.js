/**
 * Runs commands of the built program one after another in this process, which ends with its parent: starting a process costs
 * more than most commands do. Each gets modules of its own, its folder, its environment and its standard streams. After a command
 * that exits by itself, or with a code of more than 3, this process ends as the command's own would; and after a number of them.
 *
 * It reads orders from file descriptor 3, one JSON document a line, and writes each answer to the file that the order names.
 */
import { createReadStream, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const BIN = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
const DIST = join(dirname(BIN), '..', 'dist');
const HIGHEST_ORDINARY_EXIT = 3;
/** What commands leave open, as files of a database, is closed with the process. */
const MOST_COMMANDS = 50;
const exitProcess = process.exit.bind(process);
/** Compiled once: the modules that every command evaluates anew share the code. */
const scripts = new Map();
let commands = 0;

for await (const line of createInterface({ input: createReadStream('', { fd: 3 }) })) await run(JSON.parse(line));
exitProcess(0);

async function run({ words, folder, environment, answer }) {
  const texts = { out: '', err: '' };
  const end = (exit, isLast) => {
    writeFileSync(`${answer}.part`, JSON.stringify({ exit, ...texts, isLast }));
    renameSync(`${answer}.part`, answer);
  };
  process.argv = [process.execPath, BIN, ...words];
  setEnvironment(environment);
  process.chdir(folder);
  process.stdout.write = collect(texts, 'out');
  process.stderr.write = collect(texts, 'err');
  process.exit = (exit = process.exitCode ?? 0) => {
    end(exit, true);
    exitProcess(0);
  };
  process.exitCode = undefined;
  makeLoader()('cli.cjs');
  while (process.exitCode === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
  const exit = process.exitCode;
  process.exitCode = undefined;
  commands += 1;
  const isLast = exit > HIGHEST_ORDINARY_EXIT || commands === MOST_COMMANDS;
  end(exit, isLast);
  if (isLast) exitProcess(0);
  for (const emitter of [process.stdout, process.stderr]) emitter.removeAllListeners('error');
  for (const event of ['uncaughtException', 'unhandledRejection']) process.removeAllListeners(event);
}

/** In the process's own environment: the folder of temporary files and the home are read there, not in the object `process.env`. */
function setEnvironment(environment) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
}

function collect(texts, stream) {
  return (text, ...more) => {
    texts[stream] += text;
    more.findLast((each) => typeof each === 'function')?.();
    return true;
  };
}

/** Loads the pieces of the program as bin/compiled.js does. */
function makeLoader() {
  const outside = createRequire(join(DIST, 'cli.cjs'));
  const pieces = new Map();
  const requirePiece = (name) => (name.startsWith('./') ? load(name.slice(2)) : outside(name));
  function load(name) {
    const known = pieces.get(name);
    if (known !== undefined) return known.exports;
    const filename = join(DIST, name);
    const script = scripts.get(name) ?? compile(filename);
    scripts.set(name, script);
    const module = { exports: {} };
    pieces.set(name, module);
    script.runInThisContext()(module.exports, requirePiece, module, filename, DIST);
    return module.exports;
  }
  return load;
}

function compile(filename) {
  const text = readFileSync(filename, 'utf8');
  return new Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, { filename });
}
