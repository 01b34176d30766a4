/**
 * Builds dist/cli.cjs from src/cli/main.ts and dist/index.js from src/index.ts; with `--generate` it writes schemas/ and
 * docs/reference/ from the tables, with `--types` the declarations of the library (for `npm pack`).
 *
 * Three things differ from a plain bundle. Validators are compiled here, not at start: a module that finds their code replaces
 * src/base/ajv.ts. The code is split, so that a command loads only what it needs. The code that V8 compiles for the commands
 * used most is kept (bin/compiled.js).
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');

/** Replaces src/base/ajv.ts: loads the validator of a schema from its own file when it is first needed. */
const VALIDATOR_FINDER = `
export function compiledSchema(name) {
  const file = './' + name + '.validator.cjs';
  return require(file).validate;
}
`;
const LIBRARY_VALIDATOR_FINDER = `
import { createRequire } from 'node:module';
const load = createRequire(import.meta.url);
export const compiledSchema = (name) => load('./' + name + '.validator.cjs').validate;
`;

/**
 * Work that dependencies do when they are loaded and that this program does not need. It uses only the parser of CEL
 * (src/runbook/expression/syntax.ts), so the operators need not be registered. None of its commands is a separate program, for
 * which commander would load `child_process`.
 */
const NEEDLESS = [
  {
    file: /[\\/]cel-js[\\/]lib[\\/]overloads\.js$/,
    is: /^export function (register\w+)\(registry\) \{/m,
    becomes: 'export function $1() {}\nfunction unused(registry) {',
  },
  {
    file: /[\\/]commander[\\/]lib[\\/]command\.js$/,
    is: /^const childProcess = require\('node:child_process'\);/m,
    becomes: "const childProcess = { spawn: (...words) => require('node:child_process').spawn(...words) };",
  },
];

const tools = await load();
if (tools !== undefined) await build(tools).catch(reportFailure);

async function build(tools) {
  const generator = await loadGenerator(tools);
  if (process.argv.includes('--generate')) writeGenerated(generator.generatedFiles());
  await bundle(tools, generator);
  if (process.argv.includes('--types')) writeTypes();
  keepCompiled();
}

/** Errors of esbuild are printed already. */
function reportFailure(error) {
  if (!('errors' in error)) console.error(error);
  process.exitCode = 1;
}

/** Loads the build's own dependencies; they are absent after `npm ci --omit=dev`. */
async function load() {
  try {
    const [esbuild, { Ajv2020 }, standalone] = await Promise.all([
      import('esbuild'),
      import('ajv/dist/2020.js'),
      import('ajv/dist/standalone/index.js'),
    ]);
    return { esbuild, Ajv2020, standaloneCode: standalone.default.default };
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error('dist/ was not built: the development dependencies are not installed (npm ci)');
    process.exitCode = process.env.npm_lifecycle_event === 'prepare' ? 0 : 1;
    return undefined;
  }
}

/** Loads the generator from the sources; it is bundled to a file first, because Node 20 does not read TypeScript. */
async function loadGenerator({ esbuild }) {
  mkdirSync(dist, { recursive: true });
  const file = join(dist, `generator.${process.pid}.mjs`);
  try {
    await esbuild.build({
      entryPoints: [join(root, 'src/cli/generate/generator.ts')],
      outfile: file,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      logLevel: 'warning',
    });
    return await import(pathToFileURL(file).href);
  } finally {
    rmSync(file, { force: true });
  }
}

function writeGenerated(files) {
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
  }
  for (const folder of ['schemas', 'docs/reference']) {
    for (const name of readdirSync(join(root, folder)))
      if (!(`${folder}/${name}` in files)) rmSync(join(root, folder, name));
  }
}

async function bundle(tools, generator) {
  const { outputFiles } = await tools.esbuild.build({
    entryPoints: { cli: join(root, 'src/cli/main.ts'), worker: join(root, 'src/app/worker.ts') },
    outdir: dist,
    outExtension: { '.js': '.cjs' },
    write: false,
    bundle: true,
    splitting: true,
    chunkNames: 'chunk-[hash]',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    // Reading half the text takes half the time; names stay, for crash reports.
    minifyWhitespace: true,
    minifySyntax: true,
    // Its prebuilt binaries are in its own folder.
    external: ['@photostructure/sqlite'],
    plugins: [replaceValidators(), inlinePageAssets(generator), inlineVersions(), removeNeedless()],
    logLevel: 'warning',
  });
  const pieces = await Promise.all(outputFiles.map((file) => toCommonJs(tools, file)));
  writeDist([...pieces, ...(await bundleLibrary(tools)), ...(await buildValidators(tools, generator))]);
}

/** The library: one module, whose dependencies stay packages. */
async function bundleLibrary({ esbuild }) {
  const { outputFiles } = await esbuild.build({
    entryPoints: { index: join(root, 'src/index.ts') },
    outdir: dist,
    write: false,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    plugins: [replaceValidators(LIBRARY_VALIDATOR_FINDER), inlineVersions()],
    logLevel: 'warning',
  });
  return outputFiles.map(({ path, contents }) => ({ path, contents: Buffer.from(contents) }));
}

/** Declarations of everything that the library's own lead to; imports name the files as a package has them. */
function writeTypes() {
  const types = join(dist, 'types');
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['-p', root, '--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', types];
  const { status } = spawnSync(process.execPath, [compiler, ...options, '--rootDir', root], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the declarations were not written');
  const reached = new Set();
  const reach = (file) => {
    if (reached.has(file) || !existsSync(file)) return;
    reached.add(file);
    const text = readFileSync(file, 'utf8').replaceAll(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.js$1');
    writeFileSync(file, text);
    for (const [, name] of text.matchAll(/['"](\.{1,2}\/[^'"]+)\.js['"]/g)) reach(join(dirname(file), `${name}.d.ts`));
  };
  reach(join(types, 'src/index.d.ts'));
  for (const name of readdirSync(types, { recursive: true }))
    if (name.endsWith('.d.ts') && !reached.has(join(types, name))) rmSync(join(types, name));
}

/**
 * Converts a piece to CommonJS: ESM resolves its files slowly, and on Node 20 it cannot be given compiled code. esbuild splits
 * only ESM, so each piece is converted afterwards.
 */
async function toCommonJs({ esbuild }, { path, text }) {
  const { code } = await esbuild.transform(text, {
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    minifyWhitespace: true,
    minifySyntax: true,
    define: { 'import.meta.url': 'urlOfPiece' },
    // `import()` would bypass bin/compiled.js, and kept code does not support it.
    supported: { 'dynamic-import': false },
    logLevel: 'warning',
  });
  const url = code.includes('urlOfPiece') ? 'const urlOfPiece=require("node:url").pathToFileURL(__filename).href;' : '';
  return { path, contents: Buffer.from(url + code) };
}

/** Writes the pieces first and the entry last, each atomically: a program that starts meanwhile sees one whole build. */
function writeDist(outputFiles) {
  const names = new Set(outputFiles.map(({ path }) => relative(dist, path)));
  const entryLast = [...outputFiles].sort(
    (a, b) => Number(a.path.endsWith('cli.cjs')) - Number(b.path.endsWith('cli.cjs')),
  );
  for (const { path, contents } of entryLast) {
    writeFileSync(`${path}.${process.pid}`, contents);
    renameSync(`${path}.${process.pid}`, path);
  }
  for (const name of readdirSync(dist))
    if (!names.has(name)) rmSync(join(dist, name), { recursive: true, force: true });
}

/** Runs the commands used most, so that their compiled code is kept. Without it the program only starts more slowly. */
function keepCompiled() {
  if (nodeModule.enableCompileCache !== undefined) return;
  const state = mkdtempSync(join(tmpdir(), 'runbook-build-'));
  const [simple, rich] = ['twap.yaml', 'bracket-entry.yaml'].map((name) => join(root, 'runbooks', name));
  const commands = [
    ['--version'],
    ['--help'],
    ['validate', simple, rich],
    ['plan', rich],
    ['dry-run', rich],
    ['audit', 'list'],
  ];
  for (const words of commands) {
    const args = [join(root, 'bin/compiled.js'), ...words, '--state', state];
    spawnSync(process.execPath, args, { stdio: 'ignore', env: { ...process.env, NODE_OPTIONS: '' } });
  }
  rmSync(state, { recursive: true, force: true });
}

function replaceValidators(contents = VALIDATOR_FINDER) {
  return {
    name: 'validators-ahead-of-time',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]base[\\/]ajv\.ts$/ }, () => ({ contents, loader: 'js' }));
    },
  };
}

/** Puts the review page's scripts and styles into the bundle as texts; src/cli/serve/assets.ts would read their files. */
function inlinePageAssets({ pageAssets }) {
  const folder = pathToFileURL(join(root, 'src/report/page/assets/'));
  return {
    name: 'page-assets-as-text',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]cli[\\/]serve[\\/]assets\.ts$/ }, () => {
        return { contents: `export const ASSETS = ${JSON.stringify(pageAssets(folder))};`, loader: 'js' };
      });
    },
  };
}

function removeNeedless() {
  return {
    name: 'without-needless',
    setup({ onLoad }) {
      for (const { file, is, becomes } of NEEDLESS) {
        onLoad({ filter: file }, ({ path }) => {
          const text = readFileSync(path, 'utf8');
          if (!is.test(text)) return { errors: [{ text: `${path} is not what the build expects: see NEEDLESS` }] };
          return { contents: text.replace(is, becomes), loader: 'js' };
        });
      }
    },
  };
}

/** Puts the versions into the bundle; src/app/version.ts would read package.json and the lock file of a checkout. */
function inlineVersions() {
  return {
    name: 'versions-as-text',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]app[\\/]version\.ts$/ }, () => {
        const lock = join(root, 'package-lock.json');
        const sha256 = existsSync(lock) ? createHash('sha256').update(readFileSync(lock)).digest('hex') : undefined;
        const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
        return {
          contents: `export const ENGINE_VERSION = ${JSON.stringify(version)}; export const LOCK_SHA256 = ${JSON.stringify(sha256)};`,
          loader: 'js',
        };
      });
    },
  };
}

/** Builds one minified file for each schema that the program checks values against. */
async function buildValidators({ esbuild, Ajv2020, standaloneCode }, { AJV_OPTIONS, SCHEMAS }) {
  const ajv = new Ajv2020({ ...AJV_OPTIONS, code: { source: true, esm: true } });
  // Schemas that only editors use are compiled as well: a schema that ajv refuses must not be published.
  for (const { name, schema } of SCHEMAS) ajv.addSchema(schema, name).getSchema(name);
  const builds = SCHEMAS.filter((each) => each.checked).map(({ name }) =>
    esbuild.build({
      stdin: { contents: standaloneCode(ajv, { validate: name }), resolveDir: root },
      outfile: join(dist, `${name}.validator.cjs`),
      write: false,
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'cjs',
      target: 'node20.19',
      logLevel: 'warning',
    }),
  );
  return (await Promise.all(builds)).flatMap(({ outputFiles }) => outputFiles);
}
