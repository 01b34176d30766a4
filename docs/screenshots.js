/**
 * Takes the pictures in docs/screenshots/ of the review page: `npm run screenshots`. Runs are made afresh, with fixed seeds
 * and times, in a folder that is gone afterwards; the browser is the machine's own Chromium, or the one CHROMIUM names.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

/** Each with what is done before it is taken. `run` names one of RUNS; without it the list is shown. */
const SHOTS = [
  { name: 'runs-light' },
  { name: 'runs-dark', theme: 'dark' },
  { name: 'overview-light', run: 'grid' },
  { name: 'timeline-dark', run: 'grid', theme: 'dark', scene: timeline, size: { width: 1280, height: 1500 } },
  { name: 'chart-light', run: 'lost', tab: 'chart' },
  { name: 'chart-dark', run: 'twap', tab: 'chart', theme: 'dark' },
  { name: 'orders-light', run: 'bracket', tab: 'orders' },
  { name: 'story-light', run: 'lost', tab: 'story' },
  { name: 'entries-dark', run: 'bracket', tab: 'entries', theme: 'dark', scene: entry },
  { name: 'compare-light', compare: ['lost', 'found'] },
  { name: 'overview-narrow', run: 'bracket', size: NARROW },
  { name: 'timeline-narrow', run: 'grid', size: NARROW, theme: 'dark', scene: timeline },
];

async function timeline(page) {
  const stage = page.locator('.axis');
  await stage.evaluate((node) => scrollTo(0, node.getBoundingClientRect().top + scrollY - 60));
  const { x, y, width } = await page.locator('.ruler-plot').boundingBox();
  await page.mouse.move(x + width * 0.34, y + 80);
}

async function entry(page) {
  await page.locator('.virtual-row').nth(5).click();
  await page.waitForSelector('.inspector:not([hidden]) pre');
}

const folder = mkdtempSync(join(tmpdir(), 'runbook-pictures-'));
try {
  await takeAll(Object.fromEntries(Object.entries(RUNS).map(([name, words]) => [name, dryRun(words)])));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function dryRun(words) {
  const { stdout, stderr } = runbook(['--json', 'dry-run', ...words, '--at', AT]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout).run;
}

function runbook(words) {
  return spawnSync(process.execPath, [join(ROOT, 'bin/runbook.js'), '--state', folder, ...words], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
}

async function takeAll(runs) {
  mkdirSync(PICTURES, { recursive: true });
  const server = spawn(
    process.execPath,
    [join(ROOT, 'bin/runbook.js'), '--state', folder, '--json', 'audit', 'serve', '--port', '0'],
    { cwd: ROOT },
  );
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: findChromium(), args });
  try {
    const { url } = JSON.parse(await firstLine(server.stdout));
    for (const shot of SHOTS) await take(browser, new URL(url), runs, shot);
  } finally {
    await browser.close();
    server.kill();
  }
}

async function take(browser, url, runs, { name, run, tab, compare, theme = 'light', size = WIDE, scene }) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(url.href);
  await page.waitForSelector('.run');
  if (run !== undefined) await page.goto(`${url.origin}/run?id=${runs[run]}${tab === undefined ? '' : `&tab=${tab}`}`);
  if (compare !== undefined)
    await page.goto(`${url.origin}/compare?left=${runs[compare[0]]}&right=${runs[compare[1]]}`);
  await page.waitForLoadState('networkidle');
  await page.waitForSelector('.waiting', { state: 'detached' });
  await scene?.(page);
  // The charts are drawn at the next frame.
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

function firstLine(stream) {
  return new Promise((resolve, reject) => {
    stream.setEncoding('utf8').once('data', (text) => resolve(text.split('\n')[0]));
    stream.once('end', () => reject(new Error('the server ended before it said where it is')));
  });
}
