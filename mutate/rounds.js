/** Runs tests on mutants in processes of their own, which are replaced when a mutant hangs or spoils them. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LEFT_OUT } from './core.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('..', import.meta.url));
const work = `${here}work/`;
const LOOK_EVERY_MS = 500;

/** The test files at paths that begin so, without those that are left out. */
export function listTests(beginnings) {
  const files = readdirSync(`${root}test`, { recursive: true }).map((file) => `test/${file.replaceAll('\\', '/')}`);
  const tests = files.filter((file) => file.endsWith('.test.ts') || file.endsWith('/each-seed.ts'));
  return tests.filter((file) => !LEFT_OUT.test(file) && beginnings.some((beginning) => file.startsWith(beginning)));
}

/**
 * Runs the tests without a mutant.
 * @returns which of the mutants `left` each test reaches and how long it takes, ms, and those in what is evaluated when a module
 * is loaded
 */
export async function explore(files, left) {
  await start({ files, left: [...left] });
  const lines = readLog();
  const tests = lines.filter(({ name, repeats }) => name !== undefined && repeats);
  return {
    tests: new Map(tests.map(({ name, ms, covered }) => [name, { ms, covered }])),
    loading: new Set(lines.flatMap(({ loading }) => loading ?? [])),
  };
}

/**
 * Runs each test with each mutant that it reaches, and takes the caught ones out of `left`.
 * @param {Map<string, {ms: number, covered: readonly string[]}>} tests by name, which begins with the file
 * @param {Set<string>} left ids of the mutants that are not caught
 * @returns {Promise<Map<string, {how: string, name: string}>>} how each was caught
 */
export async function judge(tests, left) {
  const caught = new Map();
  const due = new Map([...tests].filter(([, { covered }]) => covered.some((id) => left.has(id))));
  let fruitless = 0;
  while (due.size > 0 && left.size > 0 && fruitless < 3) {
    const files = orderFiles(due);
    const hung = await start({
      files,
      tests: Object.fromEntries([...due.keys()].map((name) => [name, 1])),
      left: [...left],
    });
    const before = due.size + left.size;
    const take = (id, how, name) => {
      if (left.delete(id)) caught.set(id, { how, name });
    };
    for (const line of readLog()) {
      if (line.caught !== undefined) take(line.caught, line.how, line.name);
      if (line.done !== undefined) due.delete(line.done);
    }
    if (hung?.mutant !== undefined) take(hung.mutant, 'timeout', hung.name);
    else if (!existsSync(`${work}log.jsonl`)) break;
    // A process that ended cleanly has run what there was to run.
    if (hung === undefined && !readLog().some(({ spoilt }) => spoilt !== undefined)) break;
    fruitless = due.size + left.size < before ? 0 : fruitless + 1;
  }
  return caught;
}

/** Whether a test fails in a process that runs with the mutant from its beginning. */
export async function failsFromStart(id, tests) {
  const files = orderFiles(tests);
  await start({ files, tests: Object.fromEntries([...tests.keys()].map((name) => [name, 1])), always: id, left: [] });
  return lastStatus !== 0;
}

function orderFiles(tests) {
  const total = new Map();
  for (const [name, { ms }] of tests) {
    const [file] = name.split(' ', 1);
    total.set(file, (total.get(file) ?? 0) + ms);
  }
  return [...total].sort(([, a], [, b]) => a - b).map(([file]) => file);
}

let lastStatus;

/** Runs the tests of a plan to the end. Returns the mutant and the test that had to be ended. */
async function start(plan) {
  writeFileSync(`${work}plan.json`, JSON.stringify(plan));
  writeFileSync(`${work}log.jsonl`, '');
  writeFileSync(`${work}now.json`, '{}');
  const output = openSync(`${work}output.txt`, 'w');
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'mutate/vitest.config.js'],
    {
      cwd: root,
      detached: true,
      stdio: ['ignore', output, output],
      env: { ...process.env, CI: '1', NO_COLOR: '1', NODE_OPTIONS: '--max-old-space-size=4096' },
    },
  );
  closeSync(output);
  let hung;
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const stop = () => {
    end();
    process.exit(130);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const watch = setInterval(() => {
    const now = readNow();
    const spoilt = statSync(`${work}log.jsonl`).size > 0 && readLog().some((line) => line.spoilt !== undefined);
    if (now.until !== undefined && Date.now() > now.until) hung = now;
    if (hung !== undefined || spoilt) end();
  }, LOOK_EVERY_MS);
  lastStatus = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(watch);
  process.off('SIGINT', stop).off('SIGTERM', stop);
  // A process that ended within a mutant was ended by it.
  const now = readNow();
  return hung ?? (now.mutant === undefined || readLog().some(({ spoilt }) => spoilt !== undefined) ? undefined : now);
}

function readNow() {
  try {
    return JSON.parse(readFileSync(`${work}now.json`, 'utf8'));
  } catch {
    return {};
  }
}

function readLog() {
  const lines = readFileSync(`${work}log.jsonl`, 'utf8').split('\n');
  return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line));
}
