import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { escapeLines, html, toMarkup } from '../../src/report/html/text.ts';
import { startedData } from '../journal/sample.ts';
import { orderRecord, Script, sampleRun, TERMS } from './sample-run.ts';
import { exportHtml } from './whole-run.ts';

const VOID = new Set(['meta', 'br', 'link', 'img', 'input', 'hr', '!doctype']);
/** A tag; in the drawing some close themselves. */
const TAG = /<(\/?)([a-zA-Z!][\w-]*)((?:\s+[\w:-]+(?:="[^"<>]*")?)*)\s*(\/?)>/y;

/** Reads the page strictly: tags closed in the right order, attributes quoted. Returns the tags; throws where a browser would guess. */
function tagsOf(page: string): { readonly name: string; readonly attributes: string }[] {
  const tags: { name: string; attributes: string }[] = [];
  const open: string[] = [];
  for (let at = page.indexOf('<'); at !== -1; at = page.indexOf('<', at)) {
    TAG.lastIndex = at;
    const match = TAG.exec(page);
    if (match === null) throw new Error(`not a tag: ${page.slice(at, at + 80)}`);
    const [whole, closing, name = '', attributes = '', selfClosing] = match;
    at += whole.length;
    if (closing === '/') {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> closes <${last}>`);
      continue;
    }
    tags.push({ name, attributes });
    if (name === 'style') {
      const end = page.indexOf('</style>', at);
      if (page.slice(at, end).includes('<')) throw new Error('a tag in the style');
      at = end;
    }
    if (selfClosing !== '/' && !VOID.has(name)) open.push(name);
  }
  if (open.length > 0) throw new Error(`never closed: ${open.join(' ')}`);
  return tags;
}

describe('html', () => {
  it('escapes everything except Html', () => {
    const evil = `<script>alert("1")</script>&'\`\u001b\u202e`;
    expect(toMarkup(html`<p title="${evil}">${[evil, 1, undefined, html`<b>${'<'}</b>`]}</p>`)).toBe(
      '<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;&#96;\\u001b\\u202e">&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;&#96;\\u001b\\u202e1<b>&lt;</b></p>',
    );
    expect(toMarkup(escapeLines('a<b\n\tc'))).toBe('a&lt;b\n\\u0009c');
  });
});

describe('runPage', () => {
  it('is one strict file that fetches and runs nothing', async () => {
    const page = exportHtml(await sampleRun());
    const tags = tagsOf(page);
    expect(page.startsWith('<!doctype html>\n<html lang="en">')).toBe(true);
    for (const name of ['script', 'link', 'img', 'iframe', 'object', 'form', 'base', 'use', 'image'])
      expect(tags.map((tag) => tag.name)).not.toContain(name);
    for (const { name, attributes } of tags) {
      if (name === 'a') expect(attributes.trim()).toMatch(/^href="#entry-\d+"$/);
      else expect(attributes).not.toMatch(/\b(?:src|href|srcset|action|style|on\w+)\s*=/i);
    }
    expect(page).not.toMatch(/url\(|@import|https?:/);
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
    const digest = createHash('sha256').update(style).digest('base64');
    expect(page).toContain(
      `content="default-src &#39;none&#39;; style-src &#39;sha256-${digest}&#39;; base-uri &#39;none&#39;; form-action &#39;none&#39;"`,
    );
    expect(style).toContain('prefers-color-scheme:dark');
  });

  it('has the same facts in tables as in the drawing', async () => {
    const page = exportHtml(await sampleRun());
    for (const section of ['Over time', 'Steps', 'Decisions', 'Orders', 'Fills', 'The story', 'Inputs', 'Outputs'])
      expect(page).toContain(`<h2>${section}</h2>`);
    expect(page).toContain('role="img" aria-labelledby="axis-title axis-about"');
    expect(page).toContain('64193.333333333333333333');
    expect(page).toContain('inputs.side = long');
    expect(page).toContain('5 steps, 2 orders, 6 requests, 61 tokens');
    expect(page.match(/class="life /g)).toHaveLength(2 + 5);
    expect(page.match(/class="fill"/g)).toHaveLength(2);
    expect(page).toMatch(/<path class="tokens" d="M190 90L190 [\d.]+(?:L[\d.]+ [\d.]+)+Z">/);
    for (const header of page.match(/<th[ >][^>]*>/g) ?? []) expect(header).toContain('scope="col"');
  });

  it('answers the six questions first', async () => {
    const page = exportHtml(await sampleRun());
    const answers = [...page.matchAll(/<div class="(\w+)"><dt>([^<]+)<\/dt><dd><strong>([^<]+)<\/strong>/g)];
    expect(answers.map(([, tone, question, said]) => [tone, question, said])).toEqual([
      ['soft', 'Who started it?', 'Started by hand'],
      ['doubt', 'What was it allowed to do?', expect.stringMatching(/^! 1 call /)],
      ['good', 'What became of its orders?', '✓ 2 orders: 1 denied, 1 closed'],
      ['doubt', expect.stringMatching(/tokens/), '! 61 in 6 requests'],
      ['bad', 'Was the deadman switch ever at risk?', '✕ It may have fired: 1 min 13 s of silence'],
      ['doubt', 'Is anything missing?', '! Not verified'],
    ]);
    expect(page.indexOf('Is anything missing?')).toBeLessThan(page.indexOf('<h2>'));
    expect(page).toContain('<b>submitting</b>: it was sent<span class="soft">; requested by entry (place); type=limit');
  });

  it('links each reason to the row of its entry in the story, or to the row before', async () => {
    const page = exportHtml(await sampleRun());
    const links = [...page.matchAll(/<a href="#entry-(\d+)">entry (\d+)<\/a>/g)].map(([, to, of]) =>
      [to, of].map(Number),
    );
    expect(links).toHaveLength(4);
    for (const [to = 0, of = 0] of links) {
      expect(page.split(` id="entry-${to}"`)).toHaveLength(2);
      expect(of - to).toBeGreaterThanOrEqual(0);
    }
    expect(links).toContainEqual([1, 1]);
  });

  it('does not call the end of a journal the end of a run', async () => {
    const entries = await sampleRun();
    const page = exportHtml(entries.slice(0, entries.findIndex(({ type }) => type === 'deadman.moved') + 1));
    expect(page).toContain('<span class="outcome doubt">no end yet</span>');
    expect(page).toContain('<strong>! Its end');
    expect(page).toContain('<strong>! Not so far; ');
  });

  it('shows the result of verifying', async () => {
    const entries = await sampleRun();
    const verdict = { run: 'r1', ok: true, entries: entries.length, anchors: 2 };
    expect(exportHtml(entries)).toContain(`not verified, ${entries.length} entries`);
    expect(exportHtml(entries, { verdict })).toContain(
      `<span class="good">verified: ${entries.length} entries, 2 anchors</span>`,
    );
    const problem = { sequence: 3, kind: 'edited', detail: 'entry 3: its hash is <b>' } as const;
    expect(exportHtml(entries, { verdict: { ...verdict, ok: false, problem } })).toContain(
      '<span class="bad">not as it was written: entry 3: its hash is &lt;b&gt;</span>',
    );
  });

  it('is strict whatever a venue, a file or a person wrote', async () => {
    const evil = `"'><script>alert(1)</script><style>*{}</style></style></svg>{{x}}\u001b[2J\r\n\u202e&lt;`;
    const script = new Script();
    const { append } = script;
    append(
      'run.started',
      startedData({
        runbook: evil,
        account: evil,
        by: evil,
        inputs: { [evil]: evil },
        engine: evil,
        settings: { [evil]: evil },
        sources: [{ name: evil, file: evil, text: `${evil}\n${evil}`, sha256: evil }],
      }),
    );
    append('step.started', { verb: evil, id: evil, attempt: 1, now: 0 }, `steps/${evil}`);
    append('step.decided', { what: evil, expression: evil, inputs: { [evil]: evil }, value: evil }, `steps/${evil}`);
    const intent = { ...TERMS, clientOrderId: evil, market: evil };
    const record = orderRecord({ id: evil, client_order_id: evil, market_id: evil, status: evil, reason: evil });
    await script.exchange(
      'POST /orders',
      { [evil]: evil },
      1,
      [{ ...record, type: evil, is_liquidation: false }],
      `steps/${evil}`,
      { intent },
    );
    await script.exchange('GET /orders', { order_id: evil }, 10, [record], 'watch', {
      purpose: 'confirm',
      clientOrderId: evil,
    });
    append('deadman.moved', { event: 'assumed_fired', market: evil, because: evil }, 'deadman');
    append(
      'step.ended',
      { verb: evil, id: evil, outcome: 'failed', attempts: 1, error: { kind: evil, message: evil }, value: evil },
      `steps/${evil}`,
    );
    append('run.ended', {
      outcome: 'halted',
      reason: evil,
      error: { kind: evil, message: evil },
      outputs: { [evil]: evil },
    });
    const page = exportHtml(script.entries);
    const names = new Set(tagsOf(page).map((tag) => tag.name));
    expect(names.has('script')).toBe(false);
    expect(page.match(/<style>/g)).toHaveLength(1);
    expect(page).toContain('&lt;script&gt;');
    expect(page).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/);
  });

  it('draws a run of zero length, and one that was cut off', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    expect(tagsOf(exportHtml(script.entries)).length).toBeGreaterThan(20);
    const entries = await sampleRun();
    const page = exportHtml(
      entries.slice(
        0,
        entries.findIndex((entry) => entry.type === 'call.attempted' && entry.data.path === '/account') + 1,
      ),
    );
    expect(page).toContain('it may have happened');
    expect(page).toContain('1 request: 0 succeeded, 0 refused, 1 without an answer');
  });

  it('stays small enough to open for a long run', () => {
    const script = new Script();
    script.append('run.started', startedData());
    for (let n = 0; n < 5000; n += 1) script.append('variable.set', { name: 'n', value: String(n) }, 'steps/1:set');
    const page = exportHtml(script.entries);
    expect(page).toContain('2002 more lines are in the journal');
    expect(page.length).toBeLessThan(1_000_000);
  });

  it('refuses entries that are not a run', async () => {
    const damaged = expect.objectContaining({ name: 'StoreError', reason: 'damaged' });
    const entries = await sampleRun();
    expect(() => exportHtml([])).toThrow(damaged);
    expect(() => exportHtml(entries.slice(1))).toThrow(damaged);
  });
});
