import { beforeAll, describe, expect, it } from 'vitest';
import { type Entry, LEFT_BRANCH } from '../../src/journal/entry.ts';
import type { RunRow } from '../../src/journal/store.ts';
import { answerReviewer } from '../../src/report/answers/six.ts';
import { EntryIndex, makeEntryRow } from '../../src/report/folds/entry-index.ts';
import { type RunPageDocument, RunPageFold } from '../../src/report/folds/run-facts.ts';
import { type RunsFilter, RunsList } from '../../src/report/folds/runs-list.ts';
import { compareRuns } from '../../src/report/page/comparison.ts';
import { makeConfirmation } from '../../src/report/page/confirmation.ts';
import { writePageJson } from '../../src/report/page/page-json.ts';
import { POLICY, writeShell } from '../../src/report/page/shell.ts';
import { StoryFold } from '../../src/report/timeline/story.ts';
import { START, startedData } from '../journal/sample.ts';
import { orderRecord, Script, sampleRun, TERMS } from './sample-run.ts';
import { makeRunReport, storeRun } from './whole-run.ts';

function pageOf(entries: readonly Entry[]): RunPageDocument {
  const fold = new RunPageFold();
  for (const entry of entries) fold.apply(entry);
  return fold.document();
}

describe('the page of a run', () => {
  let entries: readonly Entry[];
  let page: RunPageDocument;
  beforeAll(async () => {
    entries = await sampleRun();
    page = pageOf(entries);
  });

  it('has what the run was and how it ended', () => {
    expect(page).toMatchObject({
      run: 'r1',
      runbook: 'sample',
      mode: 'simulated',
      account: 'main',
      trigger: 'manual',
      seq: entries.length,
      startedAt: START,
      outcome: 'failed',
      error: { kind: 'transport', message: 'timeout: response', step: 'steps/2:read_account' },
      inputs: [
        { name: 'side', value: 'long' },
        { name: 'size', value: '0.3' },
      ],
      outputs: [{ name: 'filled', value: '0.3' }],
      active: [],
    });
  });

  it('has one lane per step of the runbook, with all its rounds and attempts', () => {
    expect(
      page.steps.map(({ path, verb, count, outcomes, retries }) => [path, verb, count, outcomes, retries]),
    ).toEqual([
      ['steps/0:set_leverage', 'set_leverage', 1, only('skipped'), 0],
      ['steps/entry', 'place', 1, only('succeeded'), 1],
      ['steps/1:repeat', 'repeat', 1, only('succeeded'), 0],
      ['steps/1:repeat/seen', 'list_fills', 1, only('succeeded'), 0],
      ['steps/2:read_account', 'read_account', 1, only('failed'), 0],
    ]);
    const [, entry] = page.steps;
    expect(entry?.bars).toEqual({ from: [80], until: [2160], outcome: ['succeeded'], count: [1], seq: [8] });
    expect(page.steps.at(-1)?.error).toEqual({ kind: 'transport', message: 'timeout: response' });
  });

  it('marks every request by its outcome', () => {
    const { kind, tokens, totals } = page.requests;
    expect(totals).toEqual({ read: 3, keep_alive: 0, write: 2, refused: 0, lost: 1, denied: 1 });
    expect(kind).toEqual([2, 5, 2, 0, 0, 0, 4]);
    expect(tokens).toEqual([10, 0, 1, 10, 10, 10, 20]);
    expect(page.unaccounted.unanswered).toEqual([]);
  });

  it('has the reason for each change of an order, and the entry that shows it', () => {
    const [denied, filled] = page.orders;
    expect(denied?.moves.map(({ to, because }) => [to, because])).toEqual([
      ['denied', 'the budget grants it too late'],
    ]);
    expect(filled?.moves.map(({ to, meaning, because, step }) => ({ to, meaning, because, step }))).toEqual([
      {
        to: 'submitting',
        meaning: 'it was sent',
        because: 'type=limit side=long price=64200 size=0.3',
        step: 'entry (place)',
      },
      { to: 'processing', meaning: 'the venue acknowledged it', because: undefined, step: undefined },
      { to: 'open', meaning: 'a read shows it open', because: undefined, step: undefined },
      { to: 'closed', meaning: 'a read shows it closed', because: undefined, step: undefined },
    ]);
    for (const { seq, at } of filled?.moves ?? []) expect(entries[seq - 1]?.at).toBe(START + at);
    expect(filled).toMatchObject({ state: 'closed', isOver: true, filled: '0.3', levels: [{ price: '64200' }] });
    expect(filled?.fills).toEqual([
      { at: 0, price: '64200', size: '0.1' },
      { at: 0, price: '64190', size: '0.2' },
    ]);
  });

  it('has the money of the report', () => {
    const { money } = page;
    expect(money).toEqual(makeRunReport(entries).money);
    expect(money).toMatchObject({ 'BTC-USD': { position: '0.3', fees: '-0.02' } });
  });

  it('folds entries one by one as they are written', () => {
    const fold = new RunPageFold();
    for (const [index, entry] of entries.entries()) {
      fold.apply(entry);
      const { seq, requests, outcome } = fold.document();
      expect(seq).toBe(index + 1);
      expect(requests.at.length).toBe(requests.kind.length);
      expect(outcome === undefined).toBe(index < entries.length - 1);
    }
    expect(fold.document()).toEqual(page);
  });

  it('shows the active steps of a run in progress', () => {
    const until = entries.findIndex(({ type, step }) => type === 'step.started' && step.endsWith('[0]/seen'));
    const { active, outcome, phase, unaccounted } = pageOf(entries.slice(0, until + 3));
    expect(active.map(({ path, lane, label }) => [path, lane, label])).toEqual([
      ['steps/1:repeat', 'steps/1:repeat', 'repeat'],
      ['steps/1:repeat[0]/seen', 'steps/1:repeat/seen', 'seen[0]'],
    ]);
    expect([outcome, phase]).toEqual([undefined, 'starting']);
    expect(unaccounted.unanswered.map(({ title }) => title)).toEqual(['GET /fills/order']);
  });

  it('refuses entries that do not begin a run', () => {
    expect(() => pageOf(entries.slice(1))).toThrow(/does not begin with run.started/);
    expect(() => pageOf([])).toThrow(/no entries/);
  });
});

function only(outcome: string) {
  return { succeeded: 0, failed: 0, skipped: 0, halted: 0, left: 0, active: 0, [outcome]: 1 };
}

describe('a branch that another was faster than', () => {
  it('is left, in its lane and its entry, and has no error', () => {
    const script = new Script();
    const error = { kind: 'cancelled', message: LEFT_BRANCH, step: 'steps/1:wait' } as const;
    script.append('run.started', startedData());
    script.append('step.started', { verb: 'wait', attempt: 1, now: START }, 'steps/1:wait');
    script.append('step.ended', { verb: 'wait', outcome: 'failed', attempts: 1, error }, 'steps/1:wait');
    const [lane] = pageOf(script.entries).steps;
    expect([lane?.outcomes, lane?.bars.outcome, lane?.error]).toEqual([only('left'), ['left'], undefined]);
    expect(script.entries.map((entry) => makeEntryRow(entry).text)).toContain('wait left');
  });
});

describe('the deadman switch on the page', () => {
  const arm = { market_id: 'BTC-USD', timeout: 60_000 };
  const armed = async (script: Script, at: number, event: 'armed' | 'renewed') => {
    await script.at(at);
    await script.exchange('POST /cancel_all_after', arm, 10, { status: 'active' }, 'deadman', {
      purpose: event === 'armed' ? 'arm' : 'keep-alive',
    });
    script.append('deadman.moved', { event, market: 'BTC-USD', timeoutMs: 60_000 }, 'deadman');
  };
  const begun = () => {
    const script = new Script();
    script.append('run.started', startedData());
    return script;
  };

  it('counts silence from when a request was sent to when the next was answered', async () => {
    const script = begun();
    await armed(script, 0, 'armed');
    await armed(script, 15_000, 'renewed');
    await armed(script, 50_000, 'renewed');
    const { deadman } = pageOf(script.entries);
    expect(deadman.longest).toMatchObject({ ms: 35_080, timeoutMs: 60_000, from: 15_000 });
    expect(deadman).toMatchObject({
      state: 'armed',
      risks: 1,
      renewals: 2,
      heartbeats: [0, 15_000, 50_000],
      fired: [],
    });
    expect(deadman.firesAt).toBe(START + 50_000 + 60_000);
  });

  it('does not count a read as a heartbeat', async () => {
    const script = begun();
    await armed(script, 0, 'armed');
    await script.at(40_000);
    await script.exchange('GET /account', {}, 20, [], 'steps/0:read_account');
    await armed(script, 50_000, 'renewed');
    expect(pageOf(script.entries).deadman.longest?.ms).toBe(50_080);
  });

  it('counts a silence that ended with the disarming', async () => {
    expect(pageOf(await sampleRun()).deadman).toMatchObject({
      state: 'disarmed',
      risks: 1,
      longest: { ms: 73_160, timeoutMs: 60_000, from: 2000 },
    });
  });

  it('records that it fired, after which silence, and counts nothing while it is off', async () => {
    const script = begun();
    await armed(script, 0, 'armed');
    await script.at(70_000);
    script.append(
      'deadman.moved',
      { event: 'assumed_fired', market: 'BTC-USD', because: 'silent for 70 s' },
      'deadman',
    );
    await armed(script, 200_000, 'armed');
    const { deadman } = pageOf(script.entries);
    expect(deadman.fired).toEqual([{ at: 70_000, seq: 6, because: 'silent for 70 s' }]);
    expect(deadman.armed).toEqual([
      { from: 80, until: 70_000, timeoutMs: 60_000 },
      { from: 200_080, timeoutMs: 60_000 },
    ]);
    expect(deadman.longest).toEqual({ ms: 70_000, timeoutMs: 60_000, from: 0, seq: 6 });
    expect(deadman.risks).toBe(1);
  });
});

describe('what a run was allowed', () => {
  it('keeps the write that came closest to each limit, and every denial', async () => {
    const script = new Script();
    script.append('run.started', startedData({ settings: { limits: { max_open_orders: '5' } } }));
    for (const [call, notional] of [
      ['a', '100/1000'],
      ['b', '999.000000000000000001/1000'],
      ['c', '7/1000'],
    ] as const)
      script.append('call.checked', {
        call,
        limits: { max_order_notional: notional, markets: 'BTC-USD', price_band: `${call} in 1..2` },
      });
    script.append(
      'call.settled',
      { call: 'd', kind: 'denied', code: 'MAX_ORDER_SIZE', message: 'too large' },
      'steps/0:place',
    );
    const { allowed } = pageOf(script.entries);
    expect(allowed.checked).toEqual([
      { limit: 'max_order_notional', allowed: '1000', most: '999.000000000000000001', percent: 100, checks: 3, seq: 3 },
      { limit: 'markets', allowed: 'BTC-USD', checks: 3, seq: 4 },
      { limit: 'price_band', allowed: '1..2', most: 'c', checks: 3, seq: 4 },
    ]);
    expect(allowed).toMatchObject({
      denied: 1,
      denials: [{ seq: 5, step: 'steps/0:place', code: 'MAX_ORDER_SIZE', message: 'too large' }],
      profile: { max_open_orders: '5' },
    });
  });
});

describe('questions to people', () => {
  const asked = () => {
    const script = new Script();
    script.append('run.started', startedData({ mode: 'live' }));
    script.append('step.started', { verb: 'approve', id: 'sign', attempt: 1, now: START }, 'steps/sign');
    script.append('approval.asked', { ask: 'go on?', by: ['desk'], until: START + 60_000, plan: 'p1' }, 'steps/sign');
    return script;
  };

  it('are open until a person answers', () => {
    const script = asked();
    expect(pageOf(script.entries).approvals).toMatchObject([
      { step: 'steps/sign', label: 'sign', ask: 'go on?', isOpen: true },
    ]);
    script.append('operator.acted', { command: 'approve', by: 'ada', step: 'sign' });
    const { approvals, people } = pageOf(script.entries);
    expect(approvals).toMatchObject([{ isOpen: false, answer: { by: 'ada', command: 'approve' } }]);
    expect(people).toEqual([
      { seq: 4, at: START, by: 'ada', command: 'approve', step: 'sign', answered: 'steps/sign' },
    ]);
  });

  it('count an answer only for the step that asked', () => {
    const script = asked();
    script.append('operator.acted', { command: 'approve', by: 'eve', step: 'other' });
    script.append('operator.acted', { command: 'approve', by: 'ada', step: 'sign' });
    script.append('operator.acted', { command: 'reject', by: 'mallory', step: 'sign' });
    script.append('operator.acted', { command: 'cancel', by: 'grace' });
    const page = pageOf(script.entries);
    expect(page.people.map(({ by, answered }) => [by, answered])).toEqual([
      ['eve', undefined],
      ['ada', 'steps/sign'],
      ['mallory', undefined],
      ['grace', undefined],
    ]);
    const [started] = answerReviewer(page);
    expect(started?.because.slice(3, 5)).toEqual([
      { term: 'approve', text: 'of steps/sign by ada', entry: 5 },
      { term: 'cancel', text: 'by grace', entry: 7 },
    ]);
  });

  it('show each resume: its process, its reason and the gap before it', () => {
    const script = asked();
    script.append('run.resumed', {
      openCalls: [],
      process: { pid: 4711, node: '20.19.0', clock: 'system' },
      away: { ms: 13_384, by: 'machine' },
    });
    script.append('run.ended', { outcome: 'halted', outputs: {} });
    script.append('run.resumed', { openCalls: [] });
    const page = pageOf(script.entries);
    expect(page.takeovers).toEqual([
      { seq: 4, at: START, hadHalted: false, pid: 4711, away: { ms: 13_384, by: 'machine' } },
      { seq: 6, at: START, hadHalted: true },
    ]);
    const [started] = answerReviewer(page);
    expect(started?.because.slice(3, 5)).toEqual([
      {
        term: 'resumed',
        text: expect.stringMatching(/^2026-01-05T08:00:00\.000Z by process 4711, .* 13\.384 s$/),
        tone: 'doubt',
        entry: 4,
      },
      { term: 'resumed', text: expect.stringMatching(/halted$/), entry: 6 },
    ]);
  });

  it('is settled where it had halted and ends otherwise after a resume', () => {
    const script = asked();
    const end = (outcome: 'halted' | 'failed') => {
      script.append('run.ended', { outcome, reason: 'the outcome of order rb1 is unknown', outputs: {} });
      const story = new StoryFold();
      for (const entry of script.entries) story.apply(entry);
      const texts = story.page(0, 1000).rows.map(({ spans }) => spans.map(({ text }) => text).join(''));
      const ends = texts.filter((text) => /^run (?!resumed)/.test(text));
      return [pageOf(script.entries).hadHalted, ends.map((text) => text.includes('settled after it had halted'))];
    };
    expect(end('halted')).toEqual([undefined, [false]]);
    script.append('run.resumed', { openCalls: [] });
    expect(pageOf(script.entries).hadHalted).toBe(undefined);
    expect(end('halted')).toEqual([undefined, [false, false]]);
    script.append('run.resumed', { openCalls: [] });
    expect(end('failed')).toEqual([true, [false, false, true]]);
  });

  it.each(['step.ended', 'run.ended'] as const)('are over with %s', (end) => {
    const script = asked();
    if (end === 'step.ended') script.append(end, { verb: 'approve', outcome: 'failed', attempts: 1 }, 'steps/sign');
    else script.append(end, { outcome: 'halted', outputs: {} });
    expect(pageOf(script.entries).approvals.map(({ isOpen }) => isOpen)).toEqual([false]);
  });
});

describe('prices', () => {
  it('are feeds of traded markets, and no other figures', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    const call = script.intend('POST /orders', {}, 'steps/entry', { intent: TERMS });
    script.attempt(call, 'POST /orders', {}, 1, 'steps/entry');
    script.append('feed.read', { call: 'f1', name: 'mid', value: '64000.123456789012345678', at: START + 5 });
    script.append('feed.read', { call: 'f2', name: 'funding', value: '0.0001', at: START + 5 });
    script.append('feed.read', { call: 'f3', name: 'mid', value: '64000.123456789012345678', at: START + 5 });
    script.append('feed.read', { call: 'f4', name: 'mid', key: 'ETH-USD', value: '3200', at: START + 9 });
    script.append('feed.read', { call: 'f5', name: 'mid' });
    expect(pageOf(script.entries).prices).toEqual([
      { market: 'BTC-USD', feed: 'mid', at: [5], price: ['64000.123456789012345678'], seq: [5] },
      { market: 'ETH-USD', feed: 'mid', at: [9], price: ['3200'], seq: [8] },
    ]);
  });
});

describe('very long runs', () => {
  it('keep their page small: bars and reads are merged, problems are not', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    for (let round = 0; round < 4000; round += 1) {
      await script.at(round * 100);
      const step = `steps/0:repeat[${round}]/0:read_account`;
      script.append('step.started', { verb: 'read_account', attempt: 1, now: START }, step);
      for (let read = 0; read < 4; read += 1) {
        const call = script.intend('GET /account', {}, step);
        script.attempt(call, 'GET /account', {}, 20, step);
        script.confirm(call, [], step);
      }
      const outcome = round % 1000 === 7 ? 'failed' : 'succeeded';
      script.append('step.ended', { verb: 'read_account', outcome, attempts: 1 }, step);
    }
    const lost = script.intend('POST /orders', {}, 'steps/1:place');
    script.attempt(lost, 'POST /orders', {}, 1, 'steps/1:place');
    script.append('call.settled', { call: lost, kind: 'unresolved' }, 'steps/1:place');
    const { steps, requests } = pageOf(script.entries);
    expect(steps[0]?.count).toBe(4000);
    expect(steps[0]?.bars.from.length).toBeLessThanOrEqual(1500);
    expect(steps[0]?.bars.outcome.filter((outcome) => outcome === 'failed')).toHaveLength(4);
    expect(steps[0]?.bars.count.reduce((sum, each) => sum + each)).toBe(4000);
    expect(requests.at.length).toBeLessThanOrEqual(12_000);
    expect(requests.count.reduce((sum, each) => sum + each)).toBe(16_001);
    expect(requests.tokens.reduce((sum, each) => sum + each)).toBe(16_000 * 20 + 1);
    expect(requests.kind.filter((kind) => kind === 4)).toEqual([4]);
  });
});

describe('the entries', () => {
  let index: EntryIndex;
  let entries: readonly Entry[];
  beforeAll(async () => {
    entries = await sampleRun();
    index = new EntryIndex();
    for (const entry of entries) index.apply(entry);
  });
  const types = (numbers: readonly number[] | undefined) => [...new Set(numbers?.map((seq) => entries[seq - 1]?.type))];

  it('are selected by kind, by step and by order', () => {
    expect(index.select({})).toHaveLength(entries.length);
    expect(types(index.select({ groups: new Set(['deadman', 'run']) }))).toEqual([
      'run.started',
      'deadman.moved',
      'run.ended',
    ]);
    const within = index.select({ step: 'steps/1:repeat' }).map((seq) => entries[seq - 1]?.step);
    expect(new Set(within)).toEqual(new Set(['steps/1:repeat', 'steps/1:repeat[0]/seen']));
    const ofOrder = index.select({ order: 'k2entry2' });
    expect(types(ofOrder)).toEqual(['call.intended', 'call.attempted', 'order.moved', 'call.settled']);
    expect(index.select({ order: 'nobody' })).toEqual([]);
    expect(index.select({ order: 'k2entry2', groups: new Set(['orders']) })).toHaveLength(4);
  });

  it('each have a text, with unprintable characters escaped', () => {
    const texts = entries.map((entry) => makeEntryRow(entry).text);
    expect(texts.every((text) => text.length > 0)).toBe(true);
    expect(texts.join('\n')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(texts).toContain('unresolved: timeout: response \\u001b[31m');
  });
});

describe('the story', () => {
  it('is read in consecutive pages', async () => {
    const fold = new StoryFold();
    for (const entry of await sampleRun()) fold.apply(entry);
    const whole = fold.page(0, 1000);
    const parts = [0, 7, 14, 21].flatMap((from) => fold.page(from, 7).rows);
    expect(parts).toEqual(whole.rows.slice(0, 28));
    expect(whole.total).toBe(whole.rows.length);
    expect(fold.page(whole.total, 10).rows).toEqual([]);
  });
});

describe('the list of runs', () => {
  const row = (run: string, more: Partial<RunRow> = {}): RunRow => ({
    run,
    runbook: 'ladder',
    mode: 'simulated',
    account: 'main',
    trigger: 'manual',
    startedAt: START,
    ...more,
  });
  const rows = [
    row('20260105T080000000-ladder-a', { outcome: 'succeeded' }),
    row('20260107T080000000-flatten-c', { runbook: 'flatten', mode: 'live', account: 'desk' }),
    row('20260106T080000000-ladder-b', { outcome: 'halted', startedAt: START + 1e9 }),
  ];
  const names = (filter: RunsFilter) => new RunsList(rows).makeDocument(filter).runs.map(({ run }) => run.at(-1));

  it('begins with the newest name, whatever the virtual time of a run', () =>
    expect(names({})).toEqual(['c', 'b', 'a']));
  it.each([
    [{ outcome: 'unfinished' }, ['c']],
    [{ outcome: 'halted' }, ['b']],
    [{ mode: 'live' }, ['c']],
    [{ runbook: 'ladder' }, ['b', 'a']],
    [{ account: 'desk' }, ['c']],
    [{ text: 'LADDER 0105' }, ['a']],
    [{ text: 'nothing' }, []],
    [{ limit: 1, offset: 1 }, ['b']],
  ] as const)('filters by %j', (filter, expected) => expect(names(filter)).toEqual(expected));
  it('counts all runs, filtered or not', () => {
    const { total, counts } = new RunsList(rows).makeDocument({ text: 'ladder' });
    expect(total).toBe(2);
    expect(counts).toEqual({
      all: 3,
      outcomes: { succeeded: 1, stopped: 0, failed: 0, halted: 1, unfinished: 1 },
      modes: { live: 1, simulated: 2 },
      runbooks: { flatten: 1, ladder: 2 },
      accounts: { desk: 1, main: 2 },
    });
  });
});

describe('two runs', () => {
  it('are compared, with the page of each', async () => {
    const left = await sampleRun();
    const right = new Script();
    right.append('run.started', startedData({ runbook: 'sample', inputs: { side: 'short', size: '0.3' } }));
    right.append('run.ended', { outcome: 'succeeded', outputs: {} });
    const [a, b] = [left, right.entries].map((entries) => ({ ...storeRun(entries), page: pageOf(entries) }));
    if (a === undefined || b === undefined) throw new Error('two runs');
    const { diff, ...pages } = await compareRuns(a, b);
    expect([pages.left.outcome, pages.right.outcome]).toEqual(['failed', 'succeeded']);
    expect(diff).toMatchObject({ same: false, start: [{ field: 'inputs.side', left: 'long', right: 'short' }] });
    expect(diff.differenceCount).toBe(diff.differences.length);
    expect((await compareRuns(a, a)).diff.same).toBe(true);
    expect(diff.until).toBeUndefined();
    expect((await compareRuns(a, b, 3)).diff).toMatchObject({ same: false, until: { left: expect.any(Number) } });
  });
});

describe('the data of the page', () => {
  it('holds no character that hides, reorders or breaks text, in values and in keys', () => {
    const hostile = 'a\u001b[31m\u202ered\u0000\u2028<script>alert(1)</script>';
    const text = writePageJson({ [hostile]: [hostile, { deep: hostile }], number: 5, none: undefined });
    const shown = 'a\\u001b[31m\\u202ered\\u0000\\u2028<script>alert(1)</script>';
    expect(JSON.parse(text)).toEqual({ [shown]: [shown, { deep: shown }], number: 5 });
  });

  it('keeps every digit of a decimal', () => {
    const price = '12345678901234567890.123456789012345678';
    expect(writePageJson({ price })).toBe(`{"price":"${price}"}`);
  });

  it('begins with a document without run data and without inline code', () => {
    const document = writeShell();
    expect(document).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=|style=|javascript:/);
    expect(
      [...document.matchAll(/(?:src|href)="([^"#]+)"/g)]
        .map(([, url]) => url)
        .every((url) => url?.startsWith('/assets/')),
    ).toBe(true);
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ])
      expect(POLICY).toContain(directive);
    expect(POLICY).not.toMatch(/unsafe|\*/);
  });
});

describe('the word to type', () => {
  it.each([
    ['20260105T080000123-bracket-entry-3f9a0c1b2d', 'bracket-entry-3f9a0c1b2d'],
    ['20260105T080000123-', '20260105T080000123-'],
    ['r1', 'r1'],
  ])('of %s is %s', (run, word) => expect(makeConfirmation(run)).toBe(word));
});

describe('orders that are not clear', () => {
  it('are listed, and so are those that still work at the end', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    const lost = script.intend('POST /orders', {}, 'steps/a', { intent: { ...TERMS, clientOrderId: 'k2lost' } });
    script.attempt(lost, 'POST /orders', {}, 1, 'steps/a');
    script.append('call.settled', { call: lost, kind: 'unresolved', message: 'reset' }, 'steps/a');
    const rests = { ...TERMS, clientOrderId: 'k2rests' };
    await script.exchange('POST /orders', {}, 1, [{ id: 'BTC-USD@12' }], 'steps/b', { intent: rests });
    const record = orderRecord({ id: 'BTC-USD@12', client_order_id: 'k2rests' });
    await script.exchange('GET /orders', { order_id: 'BTC-USD@12' }, 10, [record], 'watch', { purpose: 'confirm' });
    script.append('run.ended', { outcome: 'halted', outputs: {} });
    const { unaccounted } = pageOf(script.entries);
    expect(unaccounted.unclearOrders).toEqual(['k2lost']);
    expect(unaccounted.leftOpen).toEqual(['k2lost', 'BTC-USD@12']);
  });
});
