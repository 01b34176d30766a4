/**
 * Loads the built program with code that V8 compiled before, because compiling is most of the cost of a short command.
 *
 * Node 22.1 and newer keep compiled code themselves. For Node 20 the build keeps it: `node bin/compiled.js COMMAND …` runs a
 * command and keeps the code that it needed. Nothing is written afterwards, so a read-only folder is as fast. V8 refuses code
 * of another version or with other flags, but compares only the length of the source text. So the whole text is kept beside the
 * code and compared here. Code that does not match is compiled again.
 */
'use strict';

const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const nodeModule = require('node:module');
const { join } = require('node:path');

exports.start = start;

if (require.main === module) keepAtExit(join(__dirname, '../dist'));

/** Runs the program in `dist`, which reads its arguments from the command line. */
function start(dist) {
  if (nodeModule.enableCompileCache === undefined) return createLoader(dist).load('cli.cjs');
  // Not the default folder under /tmp: other users could put code into this program there.
  nodeModule.enableCompileCache(join(dist, '.cache'));
  return require(join(dist, 'cli.cjs'));
}

/** Loads the pieces of the program, which name one another as `./piece`; Node resolves every other name. */
function createLoader(dist) {
  const vm = require('node:vm');
  const outside = nodeModule.createRequire(join(dist, 'cli.cjs'));
  const pieces = new Map();
  const require_ = (name) => (name.startsWith('./') ? load(name.slice(2)) : outside(name));

  function load(name) {
    let piece = pieces.get(name);
    if (piece === undefined) {
      const filename = join(dist, name);
      const text = readFileSync(filename);
      const script = compile(filename, text, readKeptCode(dist, name, text));
      piece = { text, script, module: { exports: {} } };
      pieces.set(name, piece);
      script.runInThisContext()(piece.module.exports, require_, piece.module, filename, dist);
    }
    return piece.module.exports;
  }

  function compile(filename, text, cachedData) {
    const wrapped = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
    return new vm.Script(wrapped, { filename, cachedData });
  }

  return { load, pieces };
}

/** Reads the code kept for a piece with exactly this text; undefined if there is none, or if coverage needs every line compiled. */
function readKeptCode(dist, name, text) {
  if (process.env.NODE_V8_COVERAGE !== undefined) return undefined;
  let kept;
  try {
    kept = readFileSync(getKeptFile(dist, name));
  } catch {
    return undefined;
  }
  return kept.length > text.length && kept.compare(text, 0, text.length, 0, text.length) === 0
    ? kept.subarray(text.length)
    : undefined;
}

function getKeptFile(dist, name) {
  return join(dist, 'compiled', `${name}.bin`);
}

/** Runs the program and keeps all code that was compiled for it, in addition to that of earlier commands. */
function keepAtExit(dist) {
  const { load, pieces } = createLoader(dist);
  process.on('exit', () => {
    mkdirSync(join(dist, 'compiled'), { recursive: true });
    for (const [name, { text, script }] of pieces) {
      const file = getKeptFile(dist, name);
      writeFileSync(`${file}.${process.pid}`, Buffer.concat([text, script.createCachedData()]));
      renameSync(`${file}.${process.pid}`, file);
    }
  });
  load('cli.cjs');
}
