/**
 * Builds dist/cli.js from src/cli/main.ts, and with `--generate` writes schemas/ and docs/reference/ from the tables.
 *
 * Two things differ from a plain bundle. Validators are compiled here, not at start: src/base/ajv.ts is replaced by what
 * finds their code. And the code is split, so that a verb loads only what it needs.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');

/** In the place of src/base/ajv.ts: finds the validator of a schema, which is a file of its own, loaded when first asked for. */
const VALIDATOR_FINDER = `
const load = bundledRequire(import.meta.url);
export function compiledSchema(name) {
  return load('./' + name + '.validator.cjs').validate;
}
`;

const tools = await load();
if (tools !== undefined) await build(tools).catch(failed);

async function build(tools) {
  const generator = await loadGenerator(tools);
  if (process.argv.includes('--generate')) writeGenerated(generator.generatedFiles());
  await bundle(tools, generator);
}

/** What esbuild finds wrong it has printed already. */
function failed(error) {
  if (!('errors' in error)) console.error(error);
  process.exitCode = 1;
}

/** The build's own dependencies; absent after `npm ci --omit=dev`, when there is nothing to build with. */
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

/** The sources' own account of what is to be generated: bundled to a file, because Node 20 reads no TypeScript. */
async function loadGenerator({ esbuild }) {
  mkdirSync(dist, { recursive: true });
  const file = join(dist, `generator.${process.pid}.mjs`);
  try {
    await esbuild.build({
      entryPoints: [join(root, 'src/cli/generator.ts')],
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
    entryPoints: { cli: join(root, 'src/cli/main.ts') },
    outdir: dist,
    write: false,
    bundle: true,
    splitting: true,
    chunkNames: 'chunk-[hash]',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    // Half of the text is half of the time that reading it takes; names stay, for the reports of crashes.
    minifyWhitespace: true,
    minifySyntax: true,
    // Its prebuilt binaries lie in its own folder.
    external: ['@photostructure/sqlite'],
    // Dependencies in the older module system call `require` for what Node itself has.
    banner: {
      js: "import { createRequire as bundledRequire } from 'node:module';\nconst require = bundledRequire(import.meta.url);",
    },
    plugins: [validatorsAheadOfTime(), pageAssetsAsText()],
    logLevel: 'warning',
  });
  writeDist([...outputFiles, ...(await validators(tools, generator))]);
}

/** Pieces first, the entry last, each at once: a program that starts meanwhile sees a whole build, old or new. */
function writeDist(outputFiles) {
  const names = new Set(outputFiles.map(({ path }) => relative(dist, path)));
  const entryLast = [...outputFiles].sort(
    (a, b) => Number(a.path.endsWith('cli.js')) - Number(b.path.endsWith('cli.js')),
  );
  for (const { path, contents } of entryLast) {
    writeFileSync(`${path}.${process.pid}`, contents);
    renameSync(`${path}.${process.pid}`, path);
  }
  for (const name of readdirSync(dist))
    if (!names.has(name)) rmSync(join(dist, name), { recursive: true, force: true });
}

function validatorsAheadOfTime() {
  return {
    name: 'validators-ahead-of-time',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]base[\\/]ajv\.ts$/ }, () => ({ contents: VALIDATOR_FINDER, loader: 'js' }));
    },
  };
}

/** The review page's scripts and styles as texts, in the place of src/cli/serve-assets.ts, which reads their files. */
function pageAssetsAsText() {
  const folder = join(root, 'src/report/page/assets');
  return {
    name: 'page-assets-as-text',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]cli[\\/]serve-assets\.ts$/ }, () => {
        const names = readdirSync(folder).filter((name) => /\.(?:js|css|svg)$/.test(name));
        const texts = Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
        return { contents: `export const ASSETS = ${JSON.stringify(texts)};`, loader: 'js' };
      });
    },
  };
}

/** Of CEL this program uses the parser alone (src/runbook/syntax.ts): what functions and operators would compute is not registered. */
function _parserOfCelAlone() {
  return {
    name: 'parser-of-cel-alone',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]cel-js[\\/]lib[\\/](?:functions|overloads)\.js$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replace(
          /^export function (register\w+)\(registry\) \{/m,
          'export function $1() {}\nfunction unused(registry) {',
        ),
        loader: 'js',
      }));
    },
  };
}

/** One file for each schema that the program checks values against. Nobody reads these: they are made small. */
async function validators({ esbuild, Ajv2020, standaloneCode }, { AJV_OPTIONS, SCHEMAS }) {
  const ajv = new Ajv2020({ ...AJV_OPTIONS, code: { source: true, esm: true } });
  // Those that only editors use are compiled as well: a schema that ajv refuses must not be published.
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
