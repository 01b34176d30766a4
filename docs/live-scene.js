/**
 * Scenes for the documentation that need a process to die: a live run against the simulated venue over HTTP, as a reader
 * would do it in two terminals. Figures differ each time; what happens does not.
 */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SCENES = { 'killed and resumed': killedAndResumed };

/** The block of Markdown that a scene leaves. */
export async function playScene(name, stage) {
  const scene = SCENES[name];
  if (scene === undefined) throw new Error(`paste live: there is no scene ${name}; there are ${Object.keys(SCENES)}`);
  const text = await scene(stage);
  return `\`\`\`console\n${stage.alike(text, stage.folder).trimEnd()}\n\`\`\`\n`;
}

/** kill -9 while an order rests; resume finds it and goes on. */
async function killedAndResumed({ root, folder }) {
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
    const url = /http:\/\/[\d.:]+/.exec(await firstLine(sim))[0];
    const profile = join(folder, 'local.yaml');
    writeFileSync(profile, profileFor(url));
    const entry = [
      'runbooks/bracket-entry.yaml',
      '--profile',
      profile,
      ...inputs({ side: 'long', size: '0.25', trigger: '64200' }),
    ];
    const first = start('run', ...entry);
    await until(async () => (await (await fetch(`${url}/_sim/books`)).text()).includes('"client_order_id":"rb'));
    const killed = ended(first);
    first.kill('SIGKILL');
    await killed;
    const second = start('resume');
    const settled = ended(second);
    await seconds(3);
    second.kill('SIGINT');
    const code = await settled;
    const told = spawnSync(process.execPath, [runbook, 'audit', 'show', 'last', '--order', 'entry'], {
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
      told.stdout,
    ].join('\n');
  } finally {
    sim.kill();
  }
}

function profileFor(url) {
  return [
    'profile: local-sim',
    `base_url: ${url}`,
    'auth: {mode: jwt, jwt: {env: VENUE_JWT}}',
    'markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}',
    '',
  ].join('\n');
}

function inputs(values) {
  return Object.entries(values).flatMap(([name, value]) => ['--input', `${name}=${value}`]);
}

/** The exit code of a process that is still running; listened for before it can end. */
function ended(child) {
  child.stdout.resume();
  child.stderr.resume();
  return new Promise((resolve) => child.once('exit', resolve));
}

function firstLine(child) {
  return new Promise((resolve) => {
    child.stdout.once('data', (data) => resolve(String(data)));
    child.stderr.once('data', (data) => resolve(String(data)));
  });
}

async function until(condition) {
  for (let tries = 0; tries < 100; tries += 1) {
    if (await condition()) return;
    await seconds(0.1);
  }
  throw new Error('paste live: what the scene waits for did not come');
}

function seconds(count) {
  return new Promise((resolve) => setTimeout(resolve, count * 1000));
}
