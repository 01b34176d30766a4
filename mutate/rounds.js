/** Runs tests on mutants in processes of their own, which are replaced when a mutant hangs or spoils them. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LEFT_OUT } from './core.js';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The folder that the processes of this one share, with a slash at its end. */
let work;

/** Keeps what is found in a folder of its own, so that other files can be measured meanwhile. */
export function workIn(folder) {
  work = folder;
}

const LOOK_EVERY_MS = 500;
/** A mutant that so many tests did not notice waits for the next round: those that nothing notices cost the most. */
export const TRIES = 150;

/**
 * The test files at paths that begin so, in the order of the beginnings, without those that are left out. A beginning that is given
 * twice counts at its last place.
 */
export function listTests(beginnings) {
  const files = readdirSync(`${root}test`, { recursive: true }).map((file) => `test/${file.replaceAll('\\', '/')}`);
  const tests = files.filter((file) => /\.test\.ts$|\/each-seed\.ts$/.test(file) && !LEFT_OUT.test(file)).sort();
  const ordered = beginnings.filter((beginning, index) => beginnings.lastIndexOf(beginning) === index);
  return [...new Set(ordered.flatMap((beginning) => tests.filter((file) => file.startsWith(beginning))))];
}

/**
 * Runs tests, each first as it is and then with each mutant of `left` that it reaches, and takes the caught ones out of `left`.
 * @param {readonly string[]} files
 * @param {Set<string>} left ids of the mutants that are not caught
 * @param {{atMostMs: number, due?: Record<string, true | readonly string[]>, after?: number, upTo?: number}} settings tests that take longer only say which
 * mutants they reach; `due`: the only tests to run, by name, with the mutants that are tried;
 * `after`, `upTo`: of the tests that reach a mutant those from this number on, and before that one
 * @returns how each was caught, each test with its time, ms, and the mutants it reaches, and those in what is evaluated when a
 * module is loaded
 */
export async function judge(files, left, { atMostMs, due, after = 0, upTo = TRIES }) {
  const caught = new Map();
  const tests = new Map();
  const loading = new Set();
  const tries = {};
  let fruitless = 0;
  while (left.size > 0 && fruitless < 3) {
    const done = Object.fromEntries([...tests.keys()].map((name) => [name, 1]));
    const open = due && Object.fromEntries(Object.entries(due).filter(([name]) => !tests.has(name)));
    if (open !== undefined && Object.keys(open).length === 0) break;
    const ended = await start({ files, left: [...left], atMostMs, done, due: open, after, upTo, tries });
    const before = tests.size + caught.size;
    const take = (id, how, name) => {
      if (left.delete(id)) caught.set(id, { how, name });
    };
    const lines = readLog();
    for (const line of lines) {
      if (line.caught !== undefined) take(line.caught, line.how, line.name);
      if (line.done !== undefined) tests.set(line.done, line);
      for (const id of line.tried ?? []) tries[id] = (tries[id] ?? 0) + 1;
      for (const id of line.loading ?? []) loading.add(id);
    }
    if (ended?.mutant !== undefined) take(ended.mutant, 'timeout', ended.name);
    // A process that ended by itself has run what there was to run.
    else if (!lines.some(({ spoilt }) => spoilt !== undefined)) break;
    fruitless = tests.size + caught.size > before ? 0 : fruitless + 1;
  }
  return { caught, tests, loading };
}

/** Whether a test fails in a process that runs with the mutant from its beginning. */
export async function failsFromStart(id, tests) {
  const due = Object.fromEntries([...tests.keys()].map((name) => [name, true]));
  await start({ files: filesOf(tests), due, always: id, left: [] });
  return lastStatus !== 0;
}

/** The files of tests, those with the least work first. */
export function filesOf(tests) {
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
      env: { ...process.env, MUTATE_WORK: work, CI: '1', NO_COLOR: '1', NODE_OPTIONS: '--max-old-space-size=4096' },
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
  const stop = () => process.exit(130);
  // Also where the reader of this program has gone (test/closed-pipe.js).
  process.once('exit', end).once('SIGINT', stop).once('SIGTERM', stop);
  const watch = setInterval(() => {
    const now = readNow();
    const spoilt = statSync(`${work}log.jsonl`).size > 0 && readLog().some((line) => line.spoilt !== undefined);
    if (now.until !== undefined && (Date.now() > now.until || readUsedMs(now.pid) > now.untilUsedMs)) hung = now;
    if (hung !== undefined || spoilt) end();
  }, LOOK_EVERY_MS);
  lastStatus = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(watch);
  process.off('exit', end).off('SIGINT', stop).off('SIGTERM', stop);
  // A process that ended within a mutant was ended by it.
  const now = readNow();
  return hung ?? (now.mutant === undefined || readLog().some(({ spoilt }) => spoilt !== undefined) ? undefined : now);
}

/** The processor time of a process, ms; 0 where the system does not say. */
function readUsedMs(pid) {
  try {
    const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [user, system] = fields.split(' ').slice(11, 13).map(Number);
    return (user + system) * 10;
  } catch {
    return 0;
  }
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
