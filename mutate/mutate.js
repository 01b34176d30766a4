/**
 * Changes the core one place at a time and counts the changes that no test notices: `npm run mutate`, or `npm run mutate --
 * FILE…` for some of its files. Prints the changes that were not caught, and keeps the figures of the files in figures.json and
 * docs/design/tests.md. Slow tests, and those of other rooms, judge only files that miss the goal without them. `--first` leaves them
 * out. The exit code is 1 if a file misses the goal.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import '../test/closed-pipe.js';
import { readOptions } from '../test/options.js';
import { findRefused } from './compiler.js';
import { CORE, GOAL, OTHERS } from './core.js';
import { EQUIVALENTS } from './equivalents.js';
import { instrument } from './instrument.js';
import { failsFromStart, filesOf, judge, listTests, TRIES, workIn } from './rounds.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('..', import.meta.url));
/** Which test caught each mutant; a hint for the next time. */
const catchersFile = `${here}work/catchers.json`;
const figuresFile = `${here}figures.json`;
/** A test that takes longer, ms, judges only what the faster ones left. */
const FAST_MS = 200;
/** A test that takes longer, ms, judges none. */
const SLOWEST_MS = 2000;

const { values, rest: named } = readOptions(
  'npm run mutate -- FILE… OPTIONS: changes the core one place at a time',
  {
    first: { kind: 'flag', means: 'leave out slow tests, and those of other rooms' },
  },
  true,
);
const onlyFirst = values.first === true;
const unknown = named.filter((file) => CORE[file] === undefined);
if (unknown.length > 0) {
  process.stderr.write(`not a file of mutate/core.js: ${unknown.join(', ')}\n`);
  process.exit(2);
}
if (!existsSync(`${here}node_modules`)) install();
for (const [layer, files] of groupByLayer(named.length > 0 ? named : Object.keys(CORE))) {
  const figures = await measure(layer, files);
  if (Object.values(figures).some((each) => scoreOf(each) < GOAL)) process.exitCode = 1;
  // Without the other tests the figure of a file that misses the goal is too low.
  const known = Object.entries(figures).filter(([, each]) => !onlyFirst || scoreOf(each) >= GOAL);
  const kept = { ...readFigures(), ...Object.fromEntries(known) };
  writeFileSync(figuresFile, `${JSON.stringify(kept, null, 2)}\n`);
  publish(kept);
}

/** The files of a layer are measured together: the tests of its files reach most of them, and are loaded once. */
function groupByLayer(files) {
  const layers = new Map();
  for (const file of files) {
    const [, layer] = file.split('/');
    layers.set(layer, [...(layers.get(layer) ?? []), file]);
  }
  return layers;
}

async function measure(layer, files) {
  const work = `${here}work/${process.pid}/`;
  workIn(work);
  mkdirSync(work, { recursive: true });
  const startedAt = performance.now();
  const { code, mutants } = await instrument(files, root);
  writeFileSync(`${work}code.json`, JSON.stringify(code));
  // File by file: the copies of all of them would need gigabytes.
  const refused = new Set(
    files.flatMap((file) => [
      ...findRefused(
        mutants.filter((mutant) => mutant.file === file),
        work,
      ),
    ]),
  );
  const compiling = mutants.filter(({ id }) => !refused.has(id));
  const equivalent = new Set(compiling.filter((each) => findEquivalent(each) !== undefined).map(({ id }) => id));
  for (const each of EQUIVALENTS.filter(({ file }) => files.includes(file)))
    if (!compiling.some((mutant) => findEquivalent(mutant) === each))
      process.stdout.write(`no such mutant any more: ${each.file}: ${each.from} → ${each.to}\n`);
  const left = new Set(compiling.map(({ id }) => id).filter((id) => !equivalent.has(id)));
  const caught = new Map();
  const run = async (tests, settings) => {
    const found = await judge(tests, left, settings);
    for (const [id, how] of found.caught) caught.set(id, how);
    keepCatchers(mutants, found.caught);
    return found;
  };

  await run(...listCatchers(compiling.filter(({ id }) => left.has(id))));
  const near = listTests(files.flatMap((file) => CORE[file]));
  const first = await run(near, { atMostMs: FAST_MS });
  if (left.size > 0 && first.tests.size === 0) throw new Error(`no test was run: ${work}output.txt says why`);
  // What no test reaches but the loading of the module is a table, which is only changed in a new process.
  const reached = new Set([...first.tests.values()].flatMap(({ reached: each }) => each));
  // A test that reads a table reaches nothing in it: it counts beside those of its file that do.
  const reaching = filesOf([...first.tests].filter(([, { reached: each }]) => each.length > 0));
  const using = new Map(
    [...first.tests].filter(([name, { ms }]) => ms <= FAST_MS && reaching.includes(name.split(' ', 1)[0])),
  );
  for (const id of [...left].filter((each) => first.loading.has(each) && !reached.has(each))) {
    if (!(await failsFromStart(id, using))) continue;
    left.delete(id);
    caught.set(id, { how: 'killed' });
  }
  const good = files.filter((file) => scoreOf(count(file)) >= GOAL);
  if (!onlyFirst && good.length < files.length) {
    for (const { id, file } of mutants) if (good.includes(file)) left.delete(id);
    await run(near, { atMostMs: FAST_MS, after: TRIES, upTo: Number.MAX_SAFE_INTEGER });
    await runSlow(first.tests);
    const others = await run(
      listTests(OTHERS).filter((file) => !near.includes(file)),
      { atMostMs: FAST_MS },
    );
    await runSlow(others.tests);
  }
  rmSync(work, { recursive: true, force: true });
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  process.stdout.write(`${files.length} files of src/${layer} in ${minutes} min\n`);
  return Object.fromEntries(files.map((file) => [file, report(file)]));

  /** Runs the tests that were too slow at first. */
  async function runSlow(tests) {
    const slow = new Map([...tests].filter(([, { ms }]) => ms > FAST_MS && ms <= SLOWEST_MS));
    const due = [...slow].filter(([, { reached: each }]) => each.some((id) => left.has(id)));
    if (due.length === 0) return;
    await run(filesOf(slow), { atMostMs: SLOWEST_MS, due: Object.fromEntries(due.map(([name]) => [name, true])) });
  }

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

/** The tests that caught these mutants the last time: they are tried first. */
function listCatchers(mutants) {
  const known = existsSync(catchersFile) ? JSON.parse(readFileSync(catchersFile, 'utf8')) : {};
  const due = {};
  for (const mutant of mutants) {
    const name = known[keyOf(mutant)];
    if (name !== undefined) due[name] = [...(due[name] ?? []), mutant.id];
  }
  const files = [...new Set(Object.keys(due).map((name) => name.split(' ', 1)[0]))];
  return [files.filter((file) => existsSync(`${root}${file}`)), { atMostMs: SLOWEST_MS, due }];
}

function keepCatchers(mutants, caught) {
  const known = existsSync(catchersFile) ? JSON.parse(readFileSync(catchersFile, 'utf8')) : {};
  for (const mutant of mutants) {
    const name = caught.get(mutant.id)?.name;
    if (name !== undefined) known[keyOf(mutant)] = name;
  }
  writeFileSync(catchersFile, JSON.stringify(known, null, 1));
}

function keyOf({ file, source, from, to }) {
  return [file, source, flat(from), flat(to)].join(' | ');
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
    const name = `[${file.replace('src/', '')}](../../${file})`;
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
  const page = `${root}docs/design/tests.md`;
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
