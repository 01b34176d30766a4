/**
 * Loads the built program together with what V8 has compiled of it before: compiling is most of what a short verb costs.
 *
 * From 22.1 on, Node keeps compiled code itself. For Node 20 the build keeps it (`node bin/compiled.js VERB …` runs a verb and
 * keeps what it needed), and nothing is ever written afterwards: a folder that can not be written to is as fast. V8 refuses
 * what another version of it, or other flags, have compiled; of the text it compares the length alone, so the whole text lies
 * beside the code and is compared here. What does not fit is compiled as if nothing had been kept.
 */
'use strict';

const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const nodeModule = require('node:module');
const { join } = require('node:path');

exports.start = start;

if (require.main === module) keepAtExit(join(__dirname, '../dist'));

/** Runs the program in `dist`, which takes its words from the command line. */
function start(dist) {
  if (nodeModule.enableCompileCache === undefined) return loader(dist).load('cli.cjs');
  // Not the default folder under /tmp: whoever can write there could put code into this program.
  nodeModule.enableCompileCache(join(dist, '.cache'));
  return require(join(dist, 'cli.cjs'));
}

/** The pieces of the program, which name one another as `./piece`; whatever else they name is Node's own to find. */
function loader(dist) {
  const vm = require('node:vm');
  const outside = nodeModule.createRequire(join(dist, 'cli.cjs'));
  const pieces = new Map();
  const require_ = (name) => (name.startsWith('./') ? load(name.slice(2)) : outside(name));

  function load(name) {
    let piece = pieces.get(name);
    if (piece === undefined) {
      const filename = join(dist, name);
      const text = readFileSync(filename);
      const script = compile(filename, text, keptCode(dist, name, text));
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

/** What was kept of a piece with this very text; undefined when there is none, or when coverage wants every line compiled. */
function keptCode(dist, name, text) {
  if (process.env.NODE_V8_COVERAGE !== undefined) return undefined;
  let kept;
  try {
    kept = readFileSync(keptFile(dist, name));
  } catch {
    return undefined;
  }
  return kept.length > text.length && kept.compare(text, 0, text.length, 0, text.length) === 0
    ? kept.subarray(text.length)
    : undefined;
}

function keptFile(dist, name) {
  return join(dist, 'compiled', `${name}.bin`);
}

/** Runs the program and keeps all that was compiled for it; what an earlier verb has left is added to. */
function keepAtExit(dist) {
  const { load, pieces } = loader(dist);
  process.on('exit', () => {
    mkdirSync(join(dist, 'compiled'), { recursive: true });
    for (const [name, { text, script }] of pieces) {
      const file = keptFile(dist, name);
      writeFileSync(`${file}.${process.pid}`, Buffer.concat([text, script.createCachedData()]));
      renameSync(`${file}.${process.pid}`, file);
    }
  });
  load('cli.cjs');
}
