import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { Anchorer, AnchorFile } from '../../src/journal/anchors/anchors.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { appendMany, newWriter, START, startedData } from '../journal/sample.ts';
import { folder } from './command.ts';

const QUOTE = `runbook: quote
dsl: 1
leaves: {position: open, because: a case}
inputs:
  size: {type: size, default: 0.01}
  price: {type: price, default: 1000}
steps:
  - id: before
    read_account: {}
  - assert: before.account_equity > inputs.size * inputs.price
    because: there must be something
  - id: quote
    place: {type: limit, market: BTC-USD, side: long, size: inputs.size, price: inputs.price}
  - if: inputs.size > 1
    notify: {to: ops, text: large}
  - cancel: quote
    await: terminal
outputs: {filled: quote.filled}
`;

describe('without any run', () => {
  const here = folder();

  it.each([
    [['audit', 'list'], EXIT.done, { runs: [] }],
    [['audit', 'verify'], EXIT.done, { ok: true, runs: [] }],
    [
      ['audit', 'show', 'last'],
      EXIT.usage,
      { error: expect.objectContaining({ kind: 'usage', message: expect.stringMatching(/^there is no run yet/) }) },
    ],
    [['audit', 'export', 'last', '--format', 'csv'], EXIT.usage, { error: expect.objectContaining({ kind: 'usage' }) }],
    [['audit', 'stats'], EXIT.done, expect.objectContaining({ byRunbook: [], byDay: [] })],
  ])('%j says so and makes no file', (args, exit, document) => {
    const json = here.run(...args, '--json');
    expect(json.exit).toBe(exit);
    expect(JSON.parse(json.out)).toEqual(document);
    const human = here.run(...args);
    expect(human.out + human.err).toContain(
      'there is no run yet: .runbook/runbook.db is made by the first `runbook dry-run FILE`; --state shows the runs of another folder',
    );
    expect(existsSync(join(here.path, '.runbook'))).toBe(false);
  });
});

describe('the audit of two dry-runs', () => {
  const here = folder();
  let small = '';
  let large = '';

  beforeAll(() => {
    here.write('quote.yaml', QUOTE);
    const dryRun = (...args: string[]) => {
      const { exit, out } = here.run('dry-run', 'quote.yaml', '--at', '2026-01-05T08:00:00Z', '--json', ...args);
      expect(exit).toBe(EXIT.done);
      return (JSON.parse(out) as { run: string }).run;
    };
    small = dryRun();
    large = dryRun('--input', 'size=2');
  });

  const json = (...args: string[]) => {
    const { exit, out, err } = here.run(...args, '--json');
    expect({ exit, err }).toEqual({ exit: EXIT.done, err: '' });
    return JSON.parse(out);
  };

  it('lists them, newest first', () => {
    const row = {
      runbook: 'quote',
      mode: 'simulated',
      outcome: 'succeeded',
      startedAt: '2026-01-05T08:00:00.000Z',
      endedAt: expect.any(String),
      trigger: 'manual',
    };
    expect(json('audit', 'list')).toEqual({
      runs: [
        { run: large, ...row },
        { run: small, ...row },
      ],
    });
    expect(json('audit', 'list', '--limit', '1').runs).toHaveLength(1);
    expect(json('audit', 'list', '--runbook', 'other')).toEqual({ runs: [] });
    expect(here.run('audit', 'list').out.split('\n')[1]).toMatch(
      new RegExp(`^${large}  quote +simulated  succeeded  2026-01-05T08:00:00.000Z`),
    );
  });

  it('finds a run by its name, an unambiguous part of it, or last', () => {
    for (const name of [large, large.slice(-10), 'last']) expect(json('audit', 'show', name).run).toBe(large);
    expect(here.run('audit', 'show', 'quote')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('could be 2 runs'),
    });
    const unknown = here.run('audit', 'orders', 'nope\u001b[31m');
    expect(unknown).toMatchObject({
      exit: EXIT.usage,
      out: '',
      err: expect.stringMatching(new RegExp(`no run nope\\\\u001b\\[31m.*${small}`)),
    });
  });

  it('shows the timeline', () => {
    const { exit, out, err } = here.run('audit', 'show', small);
    expect({ exit, err }).toEqual({ exit: EXIT.done, err: '' });
    for (const line of [
      'quote begins at 2026-01-05',
      'why: assert before.account_equity > inputs.size * inputs.price is true',
      'sends POST /orders',
      'run succeeded',
    ])
      expect(out).toContain(line);
    const { rows } = json('audit', 'show', small);
    expect(rows[0]).toEqual({
      sequence: 1,
      at: '2026-01-05T08:00:00.000Z',
      offsetMs: 0,
      depth: 0,
      kind: 'run',
      text: expect.stringContaining('quote begins'),
    });
  });

  it('shows the requested part of the timeline', () => {
    const kinds = (...args: string[]) => [
      ...new Set(json('audit', 'show', small, ...args).rows.map((row: { kind: string }) => row.kind)),
    ];
    expect(kinds('--kind', 'order,decision')).toEqual(['decision', 'order']);
    const { rows } = json('audit', 'show', small, '--step', 'quote');
    expect(rows[0].text).toMatch(/^quote: place/);
    expect(rows.every((row: { text: string }) => !row.text.includes('GET /account'))).toBe(true);
    const { orders } = json('audit', 'orders', small);
    for (const order of ['quote', orders[0].orderId, orders[0].clientOrderId]) {
      const moves = json('audit', 'show', small, '--order', order).rows.filter(
        (row: { kind: string }) => row.kind === 'order',
      );
      expect(moves).toHaveLength(orders[0].history.length);
    }
    expect(json('audit', 'show', small, '--since', '2026-01-05T09:00:00Z').rows).toEqual([]);
    expect(json('audit', 'show', small, '--since', '1h').rows).toEqual([]);
    expect(json('audit', 'show', small, '--depth', '0').rows.every((row: { depth: number }) => row.depth === 0)).toBe(
      true,
    );
    expect(json('audit', 'show', small, '--all').rows.length).toBeGreaterThanOrEqual(
      json('audit', 'show', small).rows.length,
    );
  });

  it.each([
    [['--kind', 'foo'], '--kind takes run, step, decision'],
    [['--since', 'soon'], '--since takes a time in ISO 8601'],
    [['--depth', '-1'], '--depth takes a whole number'],
    [['--step', 'qoute'], 'has no step qoute; did you mean quote?'],
    [['--order', 'x'], 'it has BTC-USD@'],
    [['--why', 'befor'], 'did you mean before?'],
  ])('refuses %j with what would be accepted', (args, sentence) => {
    expect(here.run('audit', 'show', small, ...args)).toMatchObject({
      exit: EXIT.usage,
      out: '',
      err: expect.stringContaining(sentence),
    });
  });

  it('explains how a step decided', () => {
    const { decisions } = json('audit', 'show', small, '--why', 'assert');
    expect(decisions).toEqual([
      {
        sequence: expect.any(Number),
        at: expect.any(String),
        step: 'steps/2:assert',
        what: 'assert',
        expression: 'before.account_equity > inputs.size * inputs.price',
        inputs: {
          'before.account_equity': expect.stringMatching(/^\d+/),
          'inputs.size': '0.01',
          'inputs.price': '1000',
        },
        value: true,
      },
    ]);
    const { out } = here.run('audit', 'show', small, '--why', 'quote');
    expect(out).toContain('asks the venue: POST /orders');
    expect(out).toContain('price = 1000');
  });

  it('shows orders, fills, tokens and statistics', () => {
    const { orders } = json('audit', 'orders', small);
    expect(orders).toEqual([
      expect.objectContaining({
        market: 'BTC-USD',
        side: 'long',
        type: 'limit',
        price: '1000',
        size: '0.01',
        filled: '0',
        state: 'canceled',
      }),
    ]);
    expect(orders[0].history[0]).toEqual({ at: expect.any(String), from: 'draft', to: 'submitting', event: 'SUBMIT' });
    const shown = here.run('audit', 'orders', small, '--history').out;
    expect(shown).toContain('draft → submitting: it was sent');
    // Which run `last` was: after a dry-run it is that one.
    expect(shown.trimEnd().split('\n').at(-1)).toMatch(new RegExp(`${small}, simulated$`));
    expect(json('audit', 'fills', small)).toEqual({ fills: [], totals: [], net: {} });
    expect(here.run('audit', 'fills', small).out).toBe(`nothing traded in run ${small}\n`);
    const budget = json('audit', 'budget', small);
    expect(budget).toMatchObject({ limit: 1200, windowMs: 60_000, requests: expect.any(Number) });
    expect(here.run('audit', 'budget', small).out).toContain(
      `${budget.used} tokens in ${budget.requests} requests; at most ${budget.peak} within 1 min, of 1200`,
    );
    const { total, byRunbook } = json('audit', 'stats');
    expect(total).toMatchObject({ runs: 2, orders: 2, ambiguous: 0, outcomes: { succeeded: 2 } });
    expect(byRunbook).toEqual([{ runbook: 'quote', ...total }]);
    expect(here.run('audit', 'stats').out).toMatch(/^runbook +runs/);
  });

  it('shows the first difference, and the input before it', () => {
    const document = json('audit', 'diff', small, large);
    expect(document).toMatchObject({
      same: false,
      sameDefinition: true,
      start: [{ field: 'inputs.size', left: '0.01', right: '2' }],
      first: {
        what: 'request',
        step: 'steps/quote',
        about: 'POST /orders',
        fields: [{ field: 'size', left: '0.01', right: '2' }],
      },
    });
    const { out } = here.run('audit', 'diff', small, large);
    expect(out).toContain('inputs.size: 0.01 → 2');
    expect(out).toContain('if inputs.size > 1');
    expect(json('audit', 'diff', small, small)).toMatchObject({ same: true, differences: [] });
  });

  it('exports', () => {
    const jsonl = here.run('audit', 'export', small, '--format', 'jsonl').out.trimEnd().split('\n');
    expect(JSON.parse(jsonl[0] ?? '')).toMatchObject({
      v: 2,
      seq: 1,
      type: 'run.started',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(here.run('audit', 'export', small, '--format', 'csv', '--table', 'orders').out).toMatch(
      /^clientOrderId,orderId,/,
    );
    const page = here.run('audit', 'export', small, '--format', 'html').out;
    expect(page).toMatch(/^<!doctype html>/);
    expect(page).toContain('<span class="good">verified: ');
    expect(JSON.parse(here.run('audit', 'export', small, '--format', 'otlp').out).resourceSpans).toHaveLength(1);
    expect(here.run('audit', 'export', small, '--format', 'cloudevents').out.trimEnd().split('\n')).toHaveLength(
      jsonl.length,
    );
    expect(json('audit', 'export', small, '--format', 'jsonl')).toEqual({
      run: small,
      format: 'jsonl',
      text: `${jsonl.join('\n')}\n`,
    });
    expect(here.run('audit', 'export', small)).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('--format'),
    });
    expect(here.run('audit', 'export', small, '--format', 'pdf')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('jsonl, csv, html, otlp, cloudevents'),
    });
    expect(here.run('audit', 'export', small, '--format', 'csv', '--table', 'x')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('--table takes timeline'),
    });
  });

  it('answers the six questions on one screen', () => {
    const { exit, out } = here.run('audit', 'summary', small);
    expect(exit).toBe(EXIT.done);
    for (const line of [
      'Who started it?  Started by hand',
      'What was it allowed to do?  ',
      'What became of its orders?  ✓ 1 order: canceled',
      'How many tokens did it use?  ✓ ',
      'Was the deadman switch ever at risk?  It was never armed',
      'Is anything missing?  ✓ Nothing',
      'draft → submitting',
    ])
      expect(out).toContain(line);
    expect(json('audit', 'summary', small)).toMatchObject({
      run: small,
      outcome: 'succeeded',
      answers: Array.from({ length: 6 }, () => ({ question: expect.any(String), said: expect.any(String) })),
      orders: [{ state: 'canceled', moves: expect.arrayContaining([expect.objectContaining({ from: 'draft' })]) }],
    });
  });

  it('names the entry behind an answer', () => {
    const [who] = json('audit', 'summary', small).answers;
    expect(who.entries).toEqual([1]);
    const entry = json('audit', 'show', small, '--entry', '1');
    expect(entry).toMatchObject({
      run: small,
      sequence: 1,
      type: 'run.started',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(JSON.parse(entry.line)).toMatchObject({ seq: 1, run: small, type: 'run.started' });
    const { out } = here.run('audit', 'show', small, '--entry', '1');
    expect(out).toMatch(/^entry 1 {2}run\.started {2}\d{4}-.*Z, \+0\.000\n\{\n/);
    expect(out).toContain(`\nhash ${entry.hash}\n`);
    for (const wrong of ['0', '99999', 'x'])
      expect(here.run('audit', 'show', small, '--entry', wrong).exit).toBe(EXIT.usage);
  });

  it('proves a run by executing it again', () => {
    expect(json('audit', 'replay', small)).toMatchObject({
      run: small,
      ok: true,
      ended: true,
      journal: { ok: true },
      compared: { steps: 5, decisions: 2, orderMoves: expect.any(Number) },
    });
    expect(here.run('audit', 'replay', small).out).toMatch(/^proven: run /);
  });

  it('counts the same from its index as from the journals', () => {
    const first = json('audit', 'stats');
    expect(json('audit', 'stats')).toEqual(first);
    rmSync(join(here.path, '.runbook', 'tallies.db'));
    expect(json('audit', 'stats')).toEqual(first);
  });

  it('has no venue to compare a dry-run with', () => {
    expect(here.run('audit', 'reconcile', small)).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('was a dry-run'),
    });
  });

  it('uses colours only where wanted', () => {
    expect(here.runWith({ env: { FORCE_COLOR: '1' } }, 'audit', 'show', small).out).toContain('\u001b[');
    expect(here.run('audit', 'show', small).out).not.toContain('\u001b');
  });
});

describe('a loop in the audit', () => {
  it('accepts the printed names of its rounds', () => {
    const here = folder();
    here.write(
      'loop.yaml',
      `runbook: loop
dsl: 1
leaves: {position: open, because: a case}
inputs:
  levels: {type: list<price>, default: [1000, 1001]}
steps:
  - id: before
    read_account: {}
  - for_each:
      each: level
      in: inputs.levels
      do:
        - id: o
          place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: level}
        - cancel: o
          await: terminal
`,
    );
    expect(here.run('dry-run', 'loop.yaml').exit).toBe(EXIT.done);
    const json = (...args: string[]) => JSON.parse(here.run('audit', ...args, '--json').out);
    const { orders } = json('orders', 'last');
    expect(orders.map(({ step }: { step: string }) => step)).toHaveLength(2);
    const calls = (named: string) =>
      json('show', 'last', '--why', named).calls.map(({ step }: { step: string }) => step);
    const [own] = calls('o[0]');
    expect(calls('o[0]')).toEqual([own]);
    const round = own.replace(/\/do\/o$/, '');
    expect(new Set(calls(round))).toEqual(new Set([...calls('o[0]'), ...calls('cancel[0]')]));
    const moves = json('show', 'last', '--order', 'o[1]').rows.filter(({ kind }: { kind: string }) => kind === 'order');
    expect(moves.length).toBeGreaterThan(0);
    expect(json('show', 'last', '--step', 'cancel[1]').rows[0].text).toMatch(/^cancel\[1\]/);
  });
});

describe('audit verify', () => {
  /** A journal with one run of twenty entries and its anchors. */
  async function journal(): Promise<ReturnType<typeof folder>> {
    const here = folder();
    const state = join(here.path, '.runbook');
    const store = await openSqliteStore(join(state, 'runbook.db'));
    const clock = new VirtualClock(START);
    const writer = newWriter(store, 'r1', { clock });
    const anchorer = new Anchorer(writer, { run: 'r1', clock, sinks: [new AnchorFile(join(state, 'anchors.jsonl'))] });
    appendMany(writer, 20);
    await writer.flush();
    await anchorer.settled();
    await store.close();
    return here;
  }
  async function sql(here: ReturnType<typeof folder>, text: string): Promise<void> {
    const database = await openDatabase(join(here.path, '.runbook/runbook.db'));
    database.exec(text);
    database.close();
  }
  const verdict = (here: ReturnType<typeof folder>, ...args: string[]) => {
    const { exit, out } = here.run('audit', 'verify', ...args, '--json');
    return { exit, ...(JSON.parse(out) as object) };
  };

  it('accepts an unchanged journal', async () => {
    const here = await journal();
    const whole = { exit: EXIT.done, ok: true, runs: [{ run: 'r1', ok: true, entries: 20 }] };
    expect(verdict(here)).toEqual(whole);
    expect(verdict(here, 'r1')).toEqual(whole);
    expect(here.run('audit', 'verify').out).toMatch(/r1 +20 +1 {2}unchanged\n1 run is unchanged\n$/);
  });

  it.each([
    ["UPDATE entries SET line = replace(line, 'v7', 'v8') WHERE seq = 7", 7, 'edited'],
    ['DELETE FROM entries WHERE seq = 7', 7, 'missing'],
    ["UPDATE runs SET account = 'spare'", 1, 'edited'],
    ['UPDATE runs SET ended_at = ended_at + 1', 20, 'edited'],
    ['DELETE FROM entries WHERE seq > 15', 16, 'truncated'],
    ['DELETE FROM entries; DELETE FROM runs', 1, 'missing'],
  ])('finds %s', async (change, sequence, kind) => {
    const here = await journal();
    await sql(here, change);
    expect(verdict(here)).toMatchObject({
      exit: EXIT.failed,
      ok: false,
      runs: [{ run: 'r1', ok: false, problem: { sequence, kind } }],
    });
    expect(verdict(here, 'r1')).toMatchObject({ exit: EXIT.failed, ok: false });
    expect(here.run('audit', 'verify').out).toContain('1 of 1 run ');
  });

  it('names an unreadable line in every command', async () => {
    const here = await journal();
    await sql(here, "UPDATE entries SET line = 'x' WHERE seq = 7");
    expect(here.run('audit', 'show', 'r1')).toMatchObject({
      exit: EXIT.failed,
      out: '',
      err: expect.stringContaining('entry 7 of run r1'),
    });
    expect(here.run('audit', 'export', 'r1', '--format', 'jsonl').exit).toBe(EXIT.done);
  });

  it('reports broken anchors, and those without the required signature', async () => {
    const here = await journal();
    const anchors = join(here.path, '.runbook/anchors.jsonl');
    writeFileSync(anchors, `${readFileSync(anchors, 'utf8')}{"v":1,"ru`);
    const noted = here.run('audit', 'verify');
    expect(noted).toMatchObject({
      exit: EXIT.done,
      err: expect.stringContaining('anchors.jsonl: line 2 '),
    });
    const { generateKeyPairSync } = await import('node:crypto');
    const { publicKey } = generateKeyPairSync('ed25519');
    here.write('key.pem', publicKey.export({ type: 'spki', format: 'pem' }) as string);
    expect(verdict(here, '--key', 'key.pem')).toMatchObject({
      exit: EXIT.failed,
      ok: false,
      anchors: [{ unreadable: [2], unsigned: [1] }],
    });
    const whole = readFileSync(anchors, 'utf8').split('\n')[0];
    writeFileSync(anchors, `garbage\n${whole}\n`);
    expect(verdict(here)).toMatchObject({
      exit: EXIT.failed,
      ok: false,
      runs: [{ ok: true }],
      anchors: [{ unreadable: [1] }],
    });
    expect(here.run('audit', 'verify').err).toContain('no anchor in line 1');
    here.write('no-key.pem', 'x');
    expect(here.run('audit', 'verify', '--key', 'no-key.pem')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('must be a public key in PEM form'),
    });
  });

  it('rejects a file that is not a journal', () => {
    const here = folder();
    here.run('dry-run', 'nothing.yaml');
    const state = join(here.path, 'state');
    const made = here.run('new', 'a');
    expect(made.exit).toBe(EXIT.done);
    // In a process of its own: one that lives on has the file that is replaced still open.
    here.runWith({}, 'dry-run', 'a.yaml', '--state', 'state');
    writeFileSync(
      join(state, 'runbook.db'),
      'this is no database, and longer than a header of one would be\n'.repeat(20),
    );
    const { exit, err } = here.run('audit', 'verify', '--state', 'state');
    expect(exit).toBe(EXIT.failed);
    expect(err).toMatch(/runbook\.db/);
    expect(err).not.toMatch(/ at .*\.js:/);
  });
});

describe('an interrupted run', () => {
  it('is listed without an end, and counted as unfinished', async () => {
    const here = folder();
    const store = await openSqliteStore(join(here.path, '.runbook/runbook.db'));
    const writer = newWriter(store, 'r9');
    writer.append('run.started', startedData({ runbook: 'cut\u001b[31m', mode: 'live' }));
    await writer.flush();
    await store.close();
    const { out } = here.run('audit', 'list', '--json');
    expect(JSON.parse(out).runs).toEqual([
      {
        run: 'r9',
        runbook: 'cut\u001b[31m',
        mode: 'live',
        outcome: null,
        startedAt: '2026-01-05T08:00:00.000Z',
        endedAt: null,
        trigger: 'manual',
      },
    ]);
    const human = here.run('audit', 'list').out;
    expect(human).toContain('no end yet');
    expect(human).toContain('cut\\u001b[31m');
    expect(human).not.toContain('\u001b');
    expect(JSON.parse(here.run('audit', 'stats', '--json').out).total.outcomes.unfinished).toBe(1);
  });
});
