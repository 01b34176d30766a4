/** Tests the review page in a real Chromium, by mouse and by keyboard, in both themes, wide and narrow. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import { START, startedData } from '../journal/sample.ts';
import { Script, sampleRun } from '../report/sample-run.ts';
import { exportHtml } from '../report/whole-run.ts';
import { launchChromium } from './chromium.ts';
import { folder } from './command.ts';
import { keepMore, keepRun, type Served, serve } from './served-journal.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202e';
const FAILED = '20260105T080000000-sample-1';
const ASKING = '20260105T090000000-asking-2';
const GOING = '20260105T100000000-going-3';
const SILENT = '20260105T060000000-silent-4';
const NAMED = '20260105T050000000-named-5';
const TABS = ['overview', 'chart', 'orders', 'steps', 'story', 'entries', 'runbook'];

const here = folder();
let browser: Browser;
let page: Page;
let served: Served;
/** A run of about eight thousand entries. */
let long: string;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launchChromium();
  const made = here.run(
    '--state',
    'state',
    '--json',
    'dry-run',
    `${ROOT}runbooks/bracket-entry.yaml`,
    '--input',
    'side=long',
    '--input',
    'size=0.25',
    '--input',
    'trigger=64200',
  );
  long = String(JSON.parse(made.out).run);
  const state = `${here.path}/state`;
  await keepRun(state, FAILED, await sampleRun());
  await keepRun(state, '20260105T070000000-hostile-0', hostileRun().entries);
  await keepRun(state, ASKING, askingRun().entries);
  await keepRun(state, SILENT, await liveRun(Date.now() - 3_600_000));
  await keepRun(state, NAMED, namedRun().entries);
  served = await serve(state, true);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => complaints.push(String(error.stack)));
});
afterAll(() => browser?.close());

function hostileRun(): Script {
  const script = new Script();
  script.append(
    'run.started',
    startedData({ runbook: HOSTILE, by: HOSTILE, trigger: HOSTILE, inputs: { [HOSTILE]: HOSTILE } }),
  );
  script.append('step.started', { verb: HOSTILE, id: HOSTILE, attempt: 1, now: START }, `steps/${HOSTILE}`);
  script.append(
    'step.decided',
    { what: 'if', expression: HOSTILE, inputs: { a: HOSTILE }, value: HOSTILE },
    `steps/${HOSTILE}`,
  );
  script.append('approval.asked', { ask: HOSTILE, by: [HOSTILE], until: START, plan: HOSTILE }, `steps/${HOSTILE}`);
  script.append('operator.acted', { command: 'cancel', by: HOSTILE, reason: HOSTILE });
  script.append(
    'step.ended',
    { verb: HOSTILE, id: HOSTILE, outcome: 'failed', attempts: 1, error: { kind: 'venue', message: HOSTILE } },
    `steps/${HOSTILE}`,
  );
  script.append('run.ended', {
    outcome: 'failed',
    error: { kind: HOSTILE, message: HOSTILE },
    outputs: { a: HOSTILE },
  });
  return script;
}

function askingRun(): Script {
  const script = new Script();
  script.append('run.started', startedData({ runbook: 'asking', mode: 'live' }));
  script.append('step.started', { verb: 'approve', id: 'sign', attempt: 1, now: START }, 'steps/sign');
  script.append(
    'approval.asked',
    { ask: 'Go on with the second order?', by: ['desk'], until: START + 1e9, plan: 'abc' },
    'steps/sign',
  );
  return script;
}

/** The sample as a live run that is journaled up to `lastAt` and has not ended: an order open, the switch armed. */
async function liveRun(lastAt: number): Promise<readonly Entry[]> {
  const whole = await sampleRun();
  const until = whole.findIndex(({ type, data }) => type === 'order.moved' && data.to === 'open') + 1;
  const entries = whole.slice(0, until);
  const by = lastAt - (entries.at(-1)?.at ?? START);
  return entries.map((entry): Entry => {
    const at = entry.at + by;
    if (entry.type === 'run.started')
      return {
        ...entry,
        at,
        data: { ...entry.data, runbook: 'resting', mode: 'live', by: 'ada', startedAt: entry.data.startedAt + by },
      };
    if (entry.type === 'call.settled' && entry.data.sentAt !== undefined)
      return { ...entry, at, data: { ...entry.data, sentAt: entry.data.sentAt + by } };
    return { ...entry, at };
  });
}

/** Its texts are names of properties that every object of JavaScript has. */
function namedRun(): Script {
  const script = new Script();
  script.append(
    'run.started',
    startedData({ runbook: '__proto__', trigger: 'constructor', account: 'toString', inputs: { hasOwnProperty: '1' } }),
  );
  script.append('step.started', { verb: 'valueOf', id: 'constructor', attempt: 1, now: START }, 'steps/constructor');
  script.append('run.ended', { outcome: 'failed', error: { kind: '__proto__', message: 'toString' }, outputs: {} });
  return script;
}

/** A test that needs the browser. */
function inBrowser(name: string, test: () => Promise<void>): void {
  it(name, { tags: ['chromium'] }, test);
}

/** The page's policy forbids the driver's own waiting, which evaluates code inside the page. */
async function until(code: string, timeoutMs = 30_000): Promise<void> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 40)))
    if (await page.evaluate<boolean>(code)) return;
  throw new Error(`it did not come to this: ${code}`);
}

async function open(run: string, tab = 'overview'): Promise<void> {
  await page.goto(`http://127.0.0.1:${served.server.port}/run?id=${run}&tab=${tab}`);
  await page.waitForSelector('[role=tab][aria-selected=true]');
}

const text = (selector: string) => page.textContent(selector);

describe('the page in a browser', () => {
  inBrowser('shows nothing without the token, and takes it out of the address', async () => {
    await page.goto(`http://127.0.0.1:${served.server.port}/`);
    expect(await text('main')).toContain('needs the address that');
    await page.goto(served.server.url);
    await page.waitForSelector('.run');
    expect(page.url()).toBe(`http://127.0.0.1:${served.server.port}/`);
    expect(await page.evaluate('document.cookie + localStorage.length')).toBe('0');
  });

  inBrowser('lists runs, filters them and keeps the filter in the address', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('sample');
    await until("document.querySelectorAll('.run').length === 1");
    expect(page.url()).toContain('text=sample');
    await page.fill('input[type=search]', '');
    await until("document.querySelectorAll('.run').length === 6");
    await page.click('.chip[data-tone=bad]');
    await until("document.querySelectorAll('.run').length === 3");
    await page.click('.chip[data-tone=bad]');
  });

  inBrowser('works with the keyboard alone: choose, open, go through the tabs, come back', async () => {
    await until("document.querySelectorAll('.run').length === 6");
    await page.evaluate('document.activeElement.blur()');
    for (const key of ['j', 'j', 'j']) await page.keyboard.press(key);
    expect(await page.evaluate("document.activeElement.closest('.run').dataset.run")).toBe(FAILED);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.answer');
    await page.focus('[role=tab][aria-selected=true]');
    const seen: string[] = [];
    for (const _tab of TABS) {
      seen.push(await page.evaluate('document.activeElement.dataset.tab'));
      await page.keyboard.press('ArrowRight');
    }
    expect(seen).toEqual(TABS);
    await page.keyboard.press('g');
    await page.waitForSelector('.run');
  });

  inBrowser("answers a reviewer's questions", async () => {
    await open(FAILED);
    await until("document.querySelector('.answers').textContent.includes('verified:')");
    const answers = String(await text('.answers'));
    for (const said of [
      'Started by hand',
      '2 orders: 1 denied, 1 closed',
      '61 in 6 requests',
      'It may have fired: 1 min 13 s of silence',
      '1 call denied',
      'verified: ',
    ])
      expect(answers).toContain(said);
    expect(await text('.run-head')).toContain('transport: timeout: response');
  });

  inBrowser('shows the money of a run above its orders', async () => {
    await open(FAILED, 'orders');
    await page.waitForSelector('.money table');
    expect(String(await text('.money tbody'))).toContain('64193.333333333333333333');
    expect(String(await text('.money thead'))).toContain('largest drawdown');
  });

  inBrowser('leads from an answer to the order it is about', async () => {
    await open(FAILED);
    await page.click('.order-line');
    await page.waitForSelector('.order[open]');
    expect(await page.evaluate("document.activeElement.closest('.order').textContent.includes('k2entry2')")).toBe(true);
    expect(page.url()).toContain('tab=orders&order=k2entry2');
  });

  inBrowser('leads from a reason to the entry that shows it, by keyboard', async () => {
    await open(FAILED);
    await page.focus('.answer:nth-child(5) .entry');
    const named = String(await text('.answer:nth-child(5) .entry'));
    await page.keyboard.press('Enter');
    await page.waitForSelector('.inspector:not([hidden]) pre');
    expect(named).toMatch(/^entry \d+$/);
    expect(await text('.inspector pre')).toContain(`"seq": ${named.slice('entry '.length)},`);
    await page.keyboard.press('Escape');
    await page.waitForSelector('.inspector', { state: 'hidden' });
  });

  inBrowser('marks what is uncertain about a run that fell silent', async () => {
    await open(SILENT);
    await until("document.querySelector('.answers').textContent.includes('verified:')");
    const said = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.answer')].map((each) => `${each.dataset.tone} ${each.querySelector('.said').textContent}`)",
    );
    expect(said).toEqual([
      'soft ada, by hand',
      expect.stringContaining('doubt 1 call'),
      expect.stringContaining('doubt 2 orders: 1 denied, 1 open'),
      'doubt 21 in 3 requests',
      expect.stringContaining('bad It must have fired'),
      'doubt Its end',
    ]);
    expect(await text('.run-head')).toContain('no end yet');
  });

  inBrowser('counts down to the deadman switch of a running run, and follows it', async () => {
    await keepRun(served.folder, GOING, await liveRun(Date.now()));
    await open(GOING);
    await until("/^5\\d s$/.test(document.querySelector('.left')?.textContent ?? '')");
    const before = Number.parseFloat(String(await text('.left')));
    await until(`Number.parseFloat(document.querySelector('.left').textContent) < ${before}`);
    expect(await text('.answers')).toContain('Not so far');
    expect(await text('.run-head .pill')).toContain('running');
    expect(await text('.range')).toContain('following');
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(await page.evaluate('document.getAnimations().length')).toBeGreaterThan(0);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    await page.emulateMedia({ reducedMotion: null });
    // New entries appear by themselves.
    const ended = new Script();
    ended.append('run.started', startedData());
    ended.append('run.ended', { outcome: 'stopped', reason: 'enough', outputs: {} });
    await keepMore(served.folder, GOING, ended.entries.slice(1));
    await until("document.querySelector('.run-head').textContent.includes('enough')");
    expect(await text('.run-head .pill')).toContain('stopped');
  });

  inBrowser('is not confused by names that every object has', async () => {
    for (const tab of TABS) {
      await open(NAMED, tab);
      await until("document.querySelector('#panel').textContent.length > 10");
    }
    await open(NAMED);
    expect(await text('.answers')).toContain('Started constructor');
  });

  inBrowser('never turns text into markup, even when a script tries', async () => {
    await open(FAILED);
    expect(
      await page.evaluate(
        "(() => { try { document.createElement('div').innerHTML = '<b>x</b>'; return 'made'; } catch (error) { return error.name; } })()",
      ),
    ).toBe('TypeError');
    expect(complaints.splice(0).every((each) => /Trusted/i.test(each))).toBe(true);
  });

  inBrowser('shows foreign text as text, in every tab', async () => {
    for (const tab of TABS) {
      await open('20260105T070000000-hostile-0', tab);
      await until("document.querySelector('.waiting') === null");
      await until("document.querySelector('#panel').textContent.length > 20");
      expect(
        await page.evaluate("[String(window.hacked), document.querySelectorAll('main img, main script').length]"),
      ).toEqual(['undefined', 0]);
    }
    expect(await text('h1')).toBe(HOSTILE.replace('\u202e', '\\u202e'));
  });

  inBrowser("shows each order's history with the entry behind it", async () => {
    await open(FAILED, 'orders');
    await page.waitForSelector('.order[open] .moves');
    expect(await text('.orders')).toContain(
      'it was sent: requested by entry (place); type=limit side=long price=64200 size=0.3',
    );
    await page.click('.moves li:nth-child(2) .move-at');
    await page.waitForSelector('.inspector:not([hidden]) pre');
    expect(await text('.inspector pre')).toContain('"seq":');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.inspector', { state: 'hidden' });
  });

  inBrowser('answers a question only when the run is named, and says who answered', async () => {
    await open(ASKING);
    await page.click('.ask button.primary');
    await page.waitForSelector('dialog[open]');
    const typed = 'dialog label:nth-of-type(3) input';
    const isDisabled = () => page.evaluate("document.querySelector('dialog button[type=submit]').disabled");
    expect(
      await page.evaluate("document.activeElement === document.querySelector('dialog label:nth-of-type(3) input')"),
    ).toBe(true);
    await page.fill(typed, 'asking');
    expect(await isDisabled()).toBe(true);
    await page.fill(typed, 'asking-2');
    expect(await isDisabled()).toBe(false);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog .outcome[data-tone=good]');
    expect(await text('dialog .outcome')).toContain('approve of 20260105T090000000-asking-2 by ada is recorded');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    const further = new Script();
    further.append('run.started', startedData());
    further.append('operator.acted', { command: 'approve', by: 'ada', step: 'steps/sign' });
    await keepMore(served.folder, ASKING, further.entries.slice(1));
    // By the page's own polling.
    await page.waitForSelector('.ask', { state: 'detached', timeout: 30_000 });
    expect(await text('.answers')).toContain('approveof steps/sign by ada entry 4');
  });

  inBrowser('kills nothing before the run is named, and Escape cancels', async () => {
    await open(ASKING);
    await page.click('.title .danger');
    await page.waitForSelector('dialog[open]');
    await page.fill('dialog label:nth-of-type(3) input', 'asking');
    expect(await page.evaluate("document.querySelector('dialog button[type=submit]').disabled")).toBe(true);
    await page.keyboard.press('Enter');
    expect(await text('dialog .outcome')).toBe('');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Kill …');
  });

  inBrowser('compares two runs', async () => {
    await page.goto(`http://127.0.0.1:${served.server.port}/compare?left=${FAILED}&right=${long}`);
    await page.waitForSelector('.axes .stage');
    expect(await text('.verdict')).toContain('different texts of the runbook');
    expect(await page.evaluate("document.querySelectorAll('.axes .lane').length")).toBeGreaterThan(10);
    await until("document.querySelectorAll('.flag:not([hidden])').length > 0");
    // Both axes have one scale and move together.
    await page.focus('.axes > div:first-of-type .stage');
    await page.keyboard.press('+');
    await until(
      "new Set([...document.querySelectorAll('.axes .ruler-plot')].map((each) => each.textContent)).size === 1",
    );
  });

  inBrowser('reported no error so far', async () => {
    // Without the token the document requests nothing; no request may be missing or forbidden.
    expect(complaints).toEqual([]);
  });
});

describe('a run of eight thousand entries', () => {
  inBrowser('appears at once, and zooms and pans without delay', async () => {
    const before = Date.now();
    await open(long);
    await page.waitForSelector('.plot path.bar');
    expect(Date.now() - before).toBeLessThan(4000);
    // The page never blocks for longer than twice the noticeable delay.
    const longest = await page.evaluate<number>(
      "new Promise((resolve) => { const seen = [0]; new PerformanceObserver((list) => seen.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask', buffered: true }); setTimeout(() => resolve(Math.max(...seen)), 200); })",
    );
    expect(longest).toBeLessThan(500);
    const frames = `new Promise((resolve) => {
      const stage = document.querySelector('.stage');
      stage.focus();
      const took = [];
      const key = (name) => stage.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
      const keys = ['+', '+', '+', 'ArrowRight', '-', '+', '0', '+', '+', '0'];
      const next = () => {
        const name = keys.shift();
        if (name === undefined) return resolve(Math.max(...took));
        const start = performance.now();
        key(name);
        requestAnimationFrame(() => setTimeout(() => { took.push(performance.now() - start); next(); }));
      };
      next();
    })`;
    expect(await page.evaluate(frames)).toBeLessThan(250);
  });

  inBrowser('supports selection by dragging, and reading with the cursor', async () => {
    await open(long);
    await page.waitForSelector('.plot path.bar');
    const box = await page.evaluate<{ x: number; y: number; width: number }>(
      "document.querySelector('.ruler-plot').getBoundingClientRect().toJSON()",
    );
    await page.mouse.move(box.x + box.width * 0.3, box.y + 12);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 12, { steps: 5 });
    await page.mouse.up();
    await until("document.querySelector('.range').textContent.includes('16 min')");
    await page.focus('.stage');
    await page.keyboard.press('ArrowRight');
    expect(await text('.readout')).toMatch(/^\+\d+:\d\d\.\d{3}.* UTC.*orders? not over.*tokens of 1\u202f200/);
    await page.keyboard.press('0');
    await until("document.querySelector('.range').textContent.includes('1 h 21 min')");
  });

  inBrowser('opens every entry raw, the last as fast as the first', async () => {
    await open(long, 'entries');
    await page.waitForSelector('.virtual-row .type');
    await page.focus('.virtual');
    await page.keyboard.press('End');
    await until("document.querySelector('.virtual-row[data-current] .type')?.textContent === 'run.ended'");
    expect(await page.evaluate("document.querySelectorAll('.virtual-row').length")).toBeLessThan(80);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.inspector:not([hidden]) pre');
    expect(await text('.inspector pre')).toContain('"type": "run.ended"');
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement.className')).toBe('virtual');
    await page.click('.list-tools .chip:nth-child(5)');
    await until("document.querySelector('.list-tools').textContent.includes('10 of')");
  });

  inBrowser('has its state chart, with executed states marked in words', async () => {
    await open(long, 'chart');
    await page.waitForSelector('.chart-drawing .state[data-tone=succeeded]');
    const names = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.chart-drawing [role=button]')].map((each) => each.getAttribute('aria-label'))",
    );
    expect(names).toContain('entry: place stop_limit inputs.side: succeeded');
    await page.focus('.chart-drawing .state[data-tone=succeeded]');
    await page.keyboard.press('Enter');
    await until("document.querySelector('.chart-side').textContent.includes('succeeded')");
  });
});

describe('the report as one file', () => {
  inBrowser('opens from a folder, requests nothing, and is complete on a narrow screen and on paper', async () => {
    const file = `${here.path}/report.html`;
    writeFileSync(file, exportHtml(hostileRun().entries));
    const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
    const alone = await context.newPage();
    const asked: string[] = [];
    const said: string[] = [];
    alone.on('request', (request) => asked.push(request.url()));
    alone.on('console', (message) => said.push(message.text()));
    for (const entries of [hostileRun().entries, await sampleRun(), await liveRun(START)]) {
      writeFileSync(file, exportHtml(entries));
      asked.length = 0;
      await alone.goto(pathToFileURL(file).href);
      expect(asked).toEqual([pathToFileURL(file).href]);
      expect(await alone.evaluate('String(window.hacked)')).toBe('undefined');
      expect(await alone.evaluate("document.querySelectorAll('dl.answers > div').length")).toBe(6);
      for (const [media, width] of [
        ['screen', 360],
        ['print', 718],
      ] as const) {
        await alone.emulateMedia({ media });
        await alone.setViewportSize({ width, height: 900 });
        expect(await alone.evaluate(CUT_OFF)).toEqual([]);
      }
      await alone.emulateMedia({ media: 'screen' });
      for (const colorScheme of ['light', 'dark'] as const) {
        await alone.emulateMedia({ colorScheme });
        expect([colorScheme, await alone.evaluate(FAINT_TEXTS)]).toEqual([colorScheme, []]);
      }
    }
    expect(said).toEqual([]);
    await context.close();
  });
});

describe('on every screen', () => {
  inBrowser('nothing is cut off on a narrow one', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`http://127.0.0.1:${served.server.port}/`);
    await page.waitForSelector('.run');
    expect(await page.evaluate(CUT_OFF)).toEqual([]);
    for (const tab of TABS) {
      await open(long, tab);
      await until("document.querySelector('.waiting') === null");
      expect([tab, await page.evaluate(CUT_OFF)]).toEqual([tab, []]);
    }
    await page.goto(`http://127.0.0.1:${served.server.port}/compare?left=${FAILED}&right=${long}`);
    await page.waitForSelector('.axes .stage');
    expect(await page.evaluate(CUT_OFF)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  inBrowser('the six answers are seen without scrolling, on a wide one and on a narrow one', async () => {
    for (const [width, height] of [
      [1280, 860],
      [360, 740],
    ] as const) {
      await page.setViewportSize({ width, height });
      await open(long);
      await page.waitForSelector('.answer');
      const bottoms = await page.evaluate<number[]>(
        "[...document.querySelectorAll('.answer .said')].map((each) => Math.round(each.getBoundingClientRect().bottom))",
      );
      expect(bottoms).toHaveLength(6);
      expect(Math.max(...bottoms)).toBeLessThanOrEqual(height);
    }
    await page.click('.answer:nth-child(2) summary');
    await until("document.querySelector('.answer:nth-child(2) .meter')?.getClientRects().length > 0");
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  inBrowser('paper has the answers and the axis, and no controls', async () => {
    await open(FAILED);
    await page.waitForSelector('.plot path.bar');
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 718, height: 1000 });
    const shown = (selector: string) =>
      page.evaluate<boolean>(`document.querySelector('${selector}').getClientRects().length > 0`);
    for (const selector of ['.said', '.lane', 'h1'])
      expect([selector, await shown(selector)]).toEqual([selector, true]);
    for (const selector of ['.topbar', '.tabs', '.axis-tools', '.readout'])
      expect([selector, await shown(selector)]).toEqual([selector, false]);
    expect(await page.evaluate(CUT_OFF)).toEqual([]);
    await page.emulateMedia({ media: 'screen' });
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  inBrowser('drawings have enough contrast, in light and in dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [run, tab] of [
        [FAILED, 'overview'],
        [long, 'overview'],
        [SILENT, 'overview'],
        [long, 'chart'],
      ] as const) {
        await open(run, tab);
        await page.waitForSelector(tab === 'chart' ? '.chart-drawing' : '.plot path.bar');
        expect([colorScheme, tab, await page.evaluate(FAINT_DRAWING)]).toEqual([colorScheme, tab, []]);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
  });

  inBrowser('the focus is visible with Tab', async () => {
    for (const tab of TABS) {
      await open(FAILED, tab);
      await until("document.querySelector('.waiting') === null");
      await page.evaluate('document.activeElement.blur()');
      const unseen: string[] = [];
      let passed = 0;
      for (let step = 0; step < 60; step += 1) {
        await page.keyboard.press('Tab');
        const found = await page.evaluate<string>(UNSEEN_FOCUS);
        if (found === 'end') break;
        passed += 1;
        if (found !== '') unseen.push(found);
      }
      expect([tab, unseen]).toEqual([tab, []]);
      expect(passed).toBeGreaterThan(5);
    }
  });

  inBrowser('the page has its landmarks, one h1, and no heading skips a level', async () => {
    for (const tab of TABS) {
      await open(FAILED, tab);
      await until("document.querySelector('.waiting') === null");
      expect(
        await page.evaluate(
          "['main', 'header', 'nav', 'h1', '[role=tabpanel]'].map((each) => document.querySelectorAll(each).length)",
        ),
      ).toEqual([1, 1, 1, 1, 1]);
      const levels = await page.evaluate<number[]>(
        "[...document.querySelectorAll('h1, h2, h3, h4')].filter((each) => each.getClientRects().length > 0).map(({ tagName }) => Number(tagName[1]))",
      );
      expect(levels.filter((level, index) => level - (levels[index - 1] ?? 0) > 1)).toEqual([]);
    }
  });

  inBrowser('every text is legible in light and in dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [run, tab] of [...TABS.map((each) => [FAILED, each] as const), [ASKING, 'overview'] as const]) {
        await open(run, tab);
        await until("document.querySelector('.waiting') === null");
        expect([colorScheme, tab, await page.evaluate(FAINT_TEXTS)]).toEqual([colorScheme, tab, []]);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
  });

  inBrowser('everything that can be used has a name, and ids are given once', async () => {
    for (const tab of TABS) {
      await open(FAILED, tab);
      await until("document.querySelector('.waiting') === null");
      expect([tab, await page.evaluate(NAMELESS)]).toEqual([tab, []]);
    }
  });
});

/** Elements that reach beyond the screen, where the page is wider than it. */
const CUT_OFF = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('main *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth).map((each) => each.tagName + '.' + each.className).slice(0, 5)`;

/** Texts with a contrast below 4.5 to 1 (WCAG 2.2, 1.4.3). */
const FAINT_TEXTS = `(() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => { for (let at = node; at; at = at.parentElement) { const c = rgba(getComputedStyle(at).backgroundColor); if (c[3] > 250) return c; } return rgba(getComputedStyle(document.body).backgroundColor); };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement;
    if (node.data.trim() === '' || holder.closest('svg, button:disabled, .unseen, .skip, noscript, option') || holder.getClientRects().length === 0) continue;
    const [a, b] = [light(rgba(getComputedStyle(holder).color)), light(behind(holder))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faint.push(holder.className + ': ' + node.data.trim().slice(0, 30) + ' ' + contrast.toFixed(2));
  }
  return [...new Set(faint)].slice(0, 8);
})()`;

/** Drawn shapes and their labels with a contrast below 3 and 4.5 to 1 (WCAG 2.2, 1.4.11 and 1.4.3), by class. */
const FAINT_DRAWING = `(() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const over = (colour, opacity, back) => { canvas.globalAlpha = 1; canvas.fillStyle = 'rgb(' + back.slice(0, 3).join(' ') + ')'; canvas.fillRect(0, 0, 1, 1); canvas.globalAlpha = opacity; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const card = over(getComputedStyle(document.querySelector('.axis, .chart-main')).backgroundColor, 1, [255, 255, 255]);
  const faint = [];
  // Left out: grid lines, the selection, and backgrounds of a shape that shows the same.
  for (const node of document.querySelectorAll('.plot path:not(.grid, .armed), .plot text, .ruler-plot text, .density, .chart-drawing .state > rect, .chart-drawing .arrow path, .chart-drawing text')) {
    const style = getComputedStyle(node);
    const isText = node.tagName === 'text';
    const seen = isText ? [style.fill] : [style.fill, style.stroke].filter((each) => each !== 'none');
    if (node.closest('[data-kind=pause], .badge-count, .corner') || seen.length === 0) continue;
    const best = Math.max(...seen.map((colour) => contrast(over(colour, Number(style.opacity), card), card)));
    if (best < (isText ? 4.5 : 3)) faint.push(node.tagName + '.' + (node.getAttribute('class') ?? node.parentElement.getAttribute('class')) + ' ' + best.toFixed(2));
  }
  return [...new Set(faint)].slice(0, 8);
})()`;

/** Empty where the focus is visible, by an outline or its SVG replacement; \`end\` after the last element of the page. */
const UNSEEN_FOCUS = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body) return 'end';
  const style = getComputedStyle(at);
  const isOutlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
  const shape = at.querySelector(':scope > rect');
  const isDrawn = shape !== null && parseFloat(getComputedStyle(shape).strokeWidth) >= 3;
  return isOutlined || isDrawn ? '' : at.tagName + '.' + at.className;
})()`;

const NAMELESS = `(() => {
  const usable = [...document.querySelectorAll('button, a[href], input, select, summary, [role=button], [tabindex="0"]')].filter((each) => each.getClientRects().length > 0);
  const nameless = usable.filter((each) => !(each.getAttribute('aria-label') ?? each.textContent ?? '').trim() && !each.labels?.length && !each.getAttribute('aria-labelledby'));
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return [...nameless.map((each) => each.outerHTML.slice(0, 80)), ...ids.filter((id, index) => ids.indexOf(id) !== index)];
})()`;
