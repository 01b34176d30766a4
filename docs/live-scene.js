/**
 * Plays scenes for the documentation in which a process is killed: a live run against the simulated venue over HTTP, as a reader
 * would do it in two terminals. The figures differ each time, the events do not.
 */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SCENES = { 'killed and resumed': killAndResume };

/** Plays a scene and returns its block of Markdown. */
export async function playScene(name, stage) {
  const scene = SCENES[name];
  if (scene === undefined) throw new Error(`paste live: there is no scene ${name}; there are ${Object.keys(SCENES)}`);
  const text = await scene(stage);
  return `\`\`\`console\n${stage.normalize(text, stage.folder).trimEnd()}\n\`\`\`\n`;
}

/** Kills a run with SIGKILL while an order is open; `resume` finds the order and continues. */
async function killAndResume({ root, folder }) {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    XDG_STATE_HOME: folder,
    RUNBOOK_STATE: join(folder, 'live'),
    NO_COLOR: '1',
    VENUE_JWT: 'any-token-will-do',
  };
  const runbook = join(root, 'bin/runbook.js');
  const start = (...words) => spawn(process.execPath, [runbook, ...words], { cwd: root, env });
  const sim = start('sim', '--port', '0');
  try {
    const url = /http:\/\/[\d.:]+/.exec(await readFirstLine(sim))[0];
    const profile = join(folder, 'local.yaml');
    writeFileSync(profile, formatProfile(url));
    const entry = [
      'runbooks/bracket-entry.yaml',
      '--profile',
      profile,
      ...toInputs({ side: 'long', size: '0.25', trigger: '64200' }),
    ];
    const first = start('run', ...entry);
    await waitUntil(async () => (await (await fetch(`${url}/_sim/books`)).text()).includes('"client_order_id":"rb'));
    const killed = waitForExit(first);
    first.kill('SIGKILL');
    await killed;
    const second = start('resume');
    const settled = waitForExit(second);
    await sleep(3);
    second.kill('SIGINT');
    const code = await settled;
    const shown = spawnSync(process.execPath, [runbook, 'audit', 'show', 'last', '--order', 'entry'], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
    return [
      '$ npx runbook run runbooks/bracket-entry.yaml --profile local.yaml --input side=long --input size=0.25 --input trigger=64200',
      'Killed',
      '$ npx runbook resume        # interrupted with Ctrl-C after three seconds',
      `exit code ${code}`,
      '$ npx runbook audit show last --order entry',
      shown.stdout,
    ].join('\n');
  } finally {
    sim.kill();
  }
}

function formatProfile(url) {
  return [
    'profile: local-sim',
    `base_url: ${url}`,
    'auth: {mode: jwt, jwt: {env: VENUE_JWT}}',
    'markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}',
    'notify: {ops: {log: true}}',
    '',
  ].join('\n');
}

function toInputs(values) {
  return Object.entries(values).flatMap(([name, value]) => ['--input', `${name}=${value}`]);
}

/** Waits for the exit code of a running process; called before the process can end. */
function waitForExit(child) {
  child.stdout.resume();
  child.stderr.resume();
  return new Promise((resolve) => child.once('exit', resolve));
}

function readFirstLine(child) {
  return new Promise((resolve) => {
    child.stdout.once('data', (data) => resolve(String(data)));
    child.stderr.once('data', (data) => resolve(String(data)));
  });
}

async function waitUntil(condition) {
  for (let tries = 0; tries < 100; tries += 1) {
    if (await condition()) return;
    await sleep(0.1);
  }
  throw new Error('paste live: the event that the scene waits for did not occur');
}

function sleep(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
