/**
 * Changes the core one place at a time and counts the changes that no test notices: `npm run mutate`, or `npm run mutate --
 * FILE…` for some of its files. Prints the changes that were not caught, and keeps the figures of the files in figures.json and
 * docs/testing.md. Slow tests, and those of other rooms, judge only files that miss the goal without them. `--first` leaves them
 * out. The exit code is 1 if a file misses the goal.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRefused } from './compiler.js';
import { CORE, GOAL, OTHERS } from './core.js';
import { EQUIVALENTS } from './equivalents.js';
import { instrument } from './instrument.js';
import { explore, failsFromStart, judge, listTests } from './rounds.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('..', import.meta.url));
const work = `${here}work/`;
const figuresFile = `${here}figures.json`;
/** A test that takes longer, ms, judges only what the faster ones left. */
const FAST_MS = 100;
/** A test that takes longer, ms, judges none. */
const SLOWEST_MS = 2000;

const words = process.argv.slice(2);
const onlyFirst = words.includes('--first');
const named = words.filter((word) => !word.startsWith('--'));
const unknown = named.filter((file) => CORE[file] === undefined);
if (unknown.length > 0) {
  process.stderr.write(`not a file of mutate/core.js: ${unknown.join(', ')}\n`);
  process.exit(2);
}
if (!existsSync(`${here}node_modules`)) install();
for (const files of groupByFolder(named.length > 0 ? named : Object.keys(CORE))) {
  const figures = await measure(files);
  if (Object.values(figures).some((each) => scoreOf(each) < GOAL)) process.exitCode = 1;
  // Without the other tests the figure of a file that misses the goal is too low.
  const known = Object.entries(figures).filter(([, each]) => !onlyFirst || scoreOf(each) >= GOAL);
  const kept = { ...readFigures(), ...Object.fromEntries(known) };
  writeFileSync(figuresFile, `${JSON.stringify(kept, null, 2)}\n`);
  publish(kept);
}

/** The files of a folder are measured together: their tests are the same, and are loaded once. */
function groupByFolder(files) {
  const folders = new Map();
  for (const file of files) folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), file]);
  return folders.values();
}

async function measure(files) {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const startedAt = performance.now();
  const { code, mutants } = await instrument(files, root);
  writeFileSync(`${work}code.json`, JSON.stringify(code));
  const refused = findRefused(mutants);
  const compiling = mutants.filter(({ id }) => !refused.has(id));
  const equivalent = new Set(compiling.filter((each) => findEquivalent(each) !== undefined).map(({ id }) => id));
  for (const each of EQUIVALENTS.filter(({ file }) => files.includes(file)))
    if (!compiling.some((mutant) => findEquivalent(mutant) === each))
      process.stdout.write(`no such mutant any more: ${each.file}: ${each.from} → ${each.to}\n`);
  const left = new Set(compiling.map(({ id }) => id).filter((id) => !equivalent.has(id)));
  const caught = new Map();
  const run = async (tests, moreThan, atMost) => {
    for (const [id, how] of await judge(keep(tests, moreThan, atMost), left)) caught.set(id, how);
  };

  const first = await explore(listTests(files.flatMap((file) => CORE[file])), left);
  if (first.tests.size === 0) throw new Error('no test reaches a mutant: mutate/work/output.txt says why');
  await run(first.tests, 0, FAST_MS);
  // What no test reaches but the loading of the module is a table, which is only changed in a new process.
  const reached = new Set([...first.tests.values()].flatMap(({ covered }) => covered));
  for (const id of [...left].filter((each) => first.loading.has(each) && !reached.has(each))) {
    if (!(await failsFromStart(id, keep(first.tests, 0, FAST_MS)))) continue;
    left.delete(id);
    caught.set(id, { how: 'killed' });
  }
  const good = files.filter((file) => scoreOf(count(file)) >= GOAL);
  if (!onlyFirst && good.length < files.length) {
    for (const { id, file } of mutants) if (good.includes(file)) left.delete(id);
    await run(first.tests, FAST_MS, SLOWEST_MS);
    const { tests } = await explore(listTests(OTHERS), left);
    const others = new Map([...tests].filter(([name]) => !first.tests.has(name)));
    await run(others, 0, FAST_MS);
    await run(others, FAST_MS, SLOWEST_MS);
  }

  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  process.stdout.write(`${files.length} files of ${dirname(files[0])} in ${minutes} min\n`);
  return Object.fromEntries(files.map((file) => [file, report(file)]));

  function count(file) {
    const own = mutants.filter((mutant) => mutant.file === file);
    const countHow = (wanted) => own.filter(({ id }) => caught.get(id)?.how === wanted).length;
    return {
      mutants: own.length,
      refused: own.filter(({ id }) => refused.has(id)).length,
      killed: countHow('killed'),
      timeouts: countHow('timeout'),
      equivalent: own.filter(({ id }) => equivalent.has(id)).length,
    };
  }

  function report(file) {
    const figures = count(file);
    process.stdout.write(`${file}: ${scoreOf(figures).toFixed(1)} % ${JSON.stringify(figures)}\n`);
    for (const { id, file: own, line, mutator, from, to } of mutants)
      if (own === file && !caught.has(id) && !refused.has(id) && !equivalent.has(id))
        process.stdout.write(`  ${file}:${line} ${mutator}: ${flat(from)} → ${flat(to)}\n`);
    return figures;
  }
}

function keep(tests, moreThan, atMost) {
  return new Map([...tests].filter(([, { ms }]) => ms > moreThan && ms <= atMost));
}

function findEquivalent({ file, source, from, to }) {
  return EQUIVALENTS.find(
    (each) => each.file === file && each.line === source && each.from === flat(from) && each.to === flat(to),
  );
}

/** Percent of the mutants that compile and change what can be observed. */
function scoreOf({ mutants, refused, killed, timeouts, equivalent }) {
  const real = mutants - refused - equivalent;
  return real === 0 ? 100 : (100 * (killed + timeouts)) / real;
}

function flat(text) {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 90 ? `${line.slice(0, 87)}…` : line;
}

function readFigures() {
  return existsSync(figuresFile) ? JSON.parse(readFileSync(figuresFile, 'utf8')) : {};
}

function publish(kept) {
  const rows = Object.keys(CORE).map((file) => {
    const figures = kept[file];
    const name = `[${file.replace('src/', '')}](../${file})`;
    if (figures === undefined) return `| ${name} | | | | | | | not measured |`;
    const { mutants, refused, killed, timeouts, equivalent } = figures;
    const score = scoreOf(figures);
    const survived = mutants - refused - killed - timeouts - equivalent;
    const counts = [mutants, refused, killed, timeouts, survived, equivalent].join(' | ');
    return `| ${name} | ${counts} | ${score.toFixed(1)} %${score < GOAL ? ', missed' : ''} |`;
  });
  const head = [
    '| file | mutants | do not compile | killed | timed out | survived | equivalent | caught |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
  ];
  const page = `${root}docs/testing.md`;
  const text = readFileSync(page, 'utf8').replace(
    /(<!-- mutate -->\n)[\s\S]*(<!-- \/mutate -->)/,
    (_, begin, end) => `${begin}${[...head, ...rows].join('\n')}\n${end}`,
  );
  writeFileSync(page, text);
}

function install() {
  const { status } = spawnSync('npm', ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) process.exit(status ?? 1);
}
