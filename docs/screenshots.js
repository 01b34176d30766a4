/**
 * Takes the screenshots of the review page in docs/screenshots/: `npm run screenshots`. It makes new runs with fixed seeds and
 * times in a temporary folder, and one live run against the simulated venue. The browser is the machine's own Chromium or the
 * one that CHROMIUM names.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PICTURES = join(ROOT, 'docs/screenshots');
const AT = '2026-03-02T09:00:00Z';
const WIDE = { width: 1280, height: 860 };
const NARROW = { width: 390, height: 844 };

const RUNS = {
  bracket: ['runbooks/bracket-entry.yaml', '--input', 'side=long', '--input', 'size=0.25', '--input', 'trigger=64200'],
  twap: ['runbooks/twap.yaml', '--seed', '3'],
  grid: ['runbooks/grid.yaml'],
  requote: [
    'runbooks/requote.yaml',
    '--input',
    'market=BTC-USD',
    '--input',
    'side=long',
    '--input',
    'size=0.1',
    '--input',
    'worst=70000',
  ],
  found: ['docs/examples/first-order.yaml', '--simulator', 'docs/examples/lost-answer.simulator.yaml'],
  lost: ['docs/examples/first-order.yaml', '--simulator', 'docs/examples/lost-order.simulator.yaml'],
};

/** A run that waits for a person, with an order at the venue and the switch armed. */
const ASKING = `runbook: second-look
dsl: 1
about: Buys, and buys again when a person agrees.
limits: {markets: [BTC-USD], max_order_size: 0.02, max_open_orders: 2}
deadman: {market: BTC-USD, timeout: 30s, on_exit: disarm}
steps:
  - id: first
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 63500}
  - id: sign
    approve: {ask: "The first order rests at 63500. Place a second at 63400?", by: [ada, desk], within: 30m, on_timeout: reject}
  - id: second
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 63400}
`;

/** The screenshots; `scene` runs before one is taken. `run` names one of RUNS; without it the list is shown. */
const SHOTS = [
  { name: 'runs-light' },
  { name: 'runs-dark', theme: 'dark' },
  { name: 'overview-light', run: 'grid' },
  { name: 'timeline-dark', run: 'grid', theme: 'dark', scene: showTimeline, size: { width: 1280, height: 1500 } },
  { name: 'chart-light', run: 'lost', tab: 'chart' },
  { name: 'chart-dark', run: 'twap', tab: 'chart', theme: 'dark' },
  { name: 'orders-light', run: 'bracket', tab: 'orders' },
  { name: 'story-light', run: 'lost', tab: 'story' },
  { name: 'entries-dark', run: 'bracket', tab: 'entries', theme: 'dark', scene: openEntry },
  { name: 'compare-light', compare: ['lost', 'found'] },
  { name: 'live-light', run: 'asking' },
  { name: 'approve-dark', run: 'asking', theme: 'dark', actions: true, scene: openApproval },
  { name: 'report-light', file: 'lost' },
  { name: 'overview-narrow', run: 'bracket', size: NARROW },
  { name: 'timeline-narrow', run: 'grid', size: NARROW, theme: 'dark', scene: showTimeline },
];

async function showTimeline(page) {
  const stage = page.locator('.axis');
  await stage.evaluate((node) => scrollTo(0, node.getBoundingClientRect().top + scrollY - 60));
  const { x, y, width } = await page.locator('.ruler-plot').boundingBox();
  await page.mouse.move(x + width * 0.34, y + 80);
}

async function openEntry(page) {
  await page.locator('.virtual-row').nth(5).click();
  await page.waitForSelector('.inspector:not([hidden]) pre');
}

async function openApproval(page) {
  await page.locator('.ask button.primary').click();
  await page.waitForSelector('dialog[open]');
}

const folder = mkdtempSync(join(tmpdir(), 'runbook-pictures-'));
// The screenshots show nothing of this machine: neither its runs nor the name of its user.
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  XDG_STATE_HOME: join(folder, 'home'),
  RUNBOOK_STATE: join(folder, '.runbook'),
  USER: 'ada',
  VENUE_JWT: 'any-token-will-do',
  NO_COLOR: '1',
};
const started = [];
try {
  const runs = Object.fromEntries(Object.entries(RUNS).map(([name, words]) => [name, makeDryRun(words)]));
  await takeAll({ ...runs, asking: await startLiveRun() });
} finally {
  for (const child of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

function makeDryRun(words) {
  const { stdout, stderr } = runCommand(['--json', 'dry-run', ...words, '--at', AT]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout).run;
}

function runCommand(words) {
  const options = { cwd: ROOT, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 };
  return spawnSync(process.execPath, [join(ROOT, 'bin/runbook.js'), ...words], options);
}

function start(...words) {
  const child = spawn(process.execPath, [join(ROOT, 'bin/runbook.js'), ...words], { cwd: folder, env });
  child.stderr.resume();
  started.push(child);
  return child;
}

/** Starts a live run that continues while the screenshots are taken. Returns its name when it asks for approval. */
async function startLiveRun() {
  const url = /http:\/\/[\d.:]+/.exec(await readFirstLine(start('sim', '--port', '0').stdout))[0];
  writeFileSync(
    join(folder, 'local.yaml'),
    `profile: local-sim\nbase_url: ${url}\nauth: {mode: jwt, jwt: {env: VENUE_JWT}}\nmarkets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}\n`,
  );
  writeFileSync(join(folder, 'second-look.yaml'), ASKING);
  start('run', 'second-look.yaml', '--profile', 'local.yaml').stdout.resume();
  for (let tries = 0; tries < 100; tries += 1) {
    const { runs = [] } = JSON.parse(runCommand(['--json', 'audit', 'list']).stdout || '{}');
    const live = runs.find(({ mode }) => mode === 'live')?.run;
    if (live !== undefined && runCommand(['audit', 'show', live]).stdout.includes('Place a second')) return live;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  throw new Error('the live run did not ask for approval');
}

async function takeAll(runs) {
  mkdirSync(PICTURES, { recursive: true });
  const serve = async (...options) =>
    new URL(JSON.parse(await readFirstLine(start('--json', 'audit', 'serve', '--port', '0', ...options).stdout)).url);
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: findChromium(), args });
  try {
    const [shows, acts] = [await serve(), await serve('--allow-actions')];
    for (const shot of SHOTS) await take(browser, shot.actions ? acts : shows, runs, shot);
  } finally {
    await browser.close();
  }
}

async function take(browser, url, runs, { name, run, tab, compare, file, theme = 'light', size = WIDE, scene }) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(url.href);
  await page.waitForSelector('.run');
  if (run !== undefined) await page.goto(`${url.origin}/run?id=${runs[run]}${tab === undefined ? '' : `&tab=${tab}`}`);
  if (compare !== undefined)
    await page.goto(`${url.origin}/compare?left=${runs[compare[0]]}&right=${runs[compare[1]]}`);
  if (file !== undefined) {
    const report = join(folder, 'report.html');
    writeFileSync(report, runCommand(['audit', 'export', runs[file], '--format', 'html']).stdout);
    await page.goto(pathToFileURL(report).href);
  }
  await page.waitForLoadState('networkidle');
  await page.waitForSelector('.waiting', { state: 'detached' });
  await scene?.(page);
  // The charts are drawn in the next frame.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  await context.close();
  process.stdout.write(`docs/screenshots/${name}.png\n`);
}

function findChromium() {
  const places = [
    process.env.CHROMIUM ?? '',
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ];
  const found = places.find((place) => place !== '' && existsSync(place));
  if (found === undefined) throw new Error('no Chromium was found: apt-get install chromium, or CHROMIUM=/path/to/it');
  return found;
}

function readFirstLine(stream) {
  return new Promise((resolve, reject) => {
    stream.setEncoding('utf8').once('data', (text) => resolve(text.split('\n')[0]));
    stream.once('end', () => reject(new Error('the server ended before it printed its address')));
  });
}
