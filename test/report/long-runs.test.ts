/** Tests that what a report keeps does not depend on how many rounds a run has, and that the drawing of a long run reaches its end. */
import { describe, expect, it } from 'vitest';
import { PastMarketFold } from '../../src/app/rehearsal/past-market.ts';
import type { Entry, Json } from '../../src/journal/entry.ts';
import { readDiff } from '../../src/report/compare/diff.ts';
import { BudgetFold } from '../../src/report/folds/budget.ts';
import { RunPageFold } from '../../src/report/folds/run-facts.ts';
import { HtmlFold } from '../../src/report/html/report.ts';
import { computeTokenColumns } from '../../src/report/time-scale.ts';
import { START, startedData } from '../journal/sample.ts';
import { countHeld } from './held.ts';
import { storeRun } from './whole-run.ts';

const ROUND_MS = 1000;
const LIMIT = 1200;

/** A loop that reads and decides once a second: as a journal has it, but for the chain. */
function* writeRounds(rounds: number, settings: Record<string, Json> = {}, heartbeats = false): Generator<Entry> {
  let seq = 0;
  const write = (type: Entry['type'], data: object, step = '', at = START): Entry => {
    seq += 1;
    const origin = { v: 2, mono: 0, boot: 'b', epoch: 0, account: 'main', def: 'ab', actor: 'engine', prev: '' };
    return { ...origin, run: 'r1', seq, at, type, step, data, hash: `${seq}` } as Entry;
  };
  yield write('run.started', startedData({ settings: { rate_limit: { tokens: LIMIT, window: '1m' }, ...settings } }));
  yield write('step.started', { verb: 'repeat', attempt: 1, now: START }, 'steps/0:repeat');
  for (let round = 0; round < rounds; round += 1) {
    const at = START + round * ROUND_MS;
    const step = `steps/0:repeat[${round}]/do/seen`;
    const call = `${step}#1`;
    const params = { market_id: 'BTC-USD' };
    yield write('step.started', { verb: 'list_fills', id: 'seen', attempt: 1, now: at }, step, at);
    yield write('call.intended', { call, endpoint: 'GET /fills', params, class: 'read' }, step, at);
    yield write(
      'call.attempted',
      { call, n: 1, method: 'GET', path: '/fills', params, digest: '', tokens: 5, epoch: 1, waitedMs: 0 },
      step,
      at,
    );
    const headers = { 'x-ratelimit-remaining': `${(round * 7) % LIMIT}` };
    const settled = { call, kind: 'confirmed', status: 200, success: true, result: [], headers, sentAt: at };
    yield write('call.settled', settled, step, at + 80);
    yield write(
      'step.decided',
      { what: 'if', expression: 'n < 1', inputs: { n: `${round}` }, value: false },
      step,
      at + 80,
    );
    if (heartbeats) {
      const call = `deadman#${round}`;
      const path = '/cancel_all_after';
      yield write('call.intended', { call, endpoint: `POST ${path}`, params: {}, purpose: 'keep-alive' }, '', at);
      const sent = { call, n: 1, method: 'POST', path, params: {}, digest: '', tokens: 1, epoch: 1, waitedMs: 0 };
      yield write('call.attempted', sent, '', at + 80);
      yield write('call.settled', { ...settled, call, result: {} }, '', at + 90);
    }
    yield write('feed.read', { call: 'f', name: 'mid', value: `${64_000 + (round % 50)}`, at: at + 80 }, step, at + 80);
    yield write('step.ended', { verb: 'list_fills', id: 'seen', outcome: 'succeeded', attempts: 1 }, step, at + 90);
  }
  const at = START + rounds * ROUND_MS;
  yield write('step.ended', { verb: 'repeat', outcome: 'succeeded', attempts: 1 }, 'steps/0:repeat', at);
  yield write('run.ended', { outcome: 'succeeded', outputs: {} }, '', at);
}

function fold<F extends { apply(entry: Entry): unknown }>(fold: F, entries: Iterable<Entry>): F {
  for (const entry of entries) fold.apply(entry);
  return fold;
}

describe('a report of a long run', () => {
  it.each([
    ['the page', () => new RunPageFold(), 330_000],
    ['the HTML file', () => new HtmlFold(), 660_000],
  ] as const)('of %s keeps nothing of most rounds', { tags: ['long'] }, (_name, begin, most) => {
    const whole = begin();
    let rounds = 0;
    // Heartbeats between the reads: neighbours of one kind are not next to each other.
    for (const entry of writeRounds(30_000, {}, true)) {
      whole.apply(entry);
      if (entry.type !== 'step.ended') continue;
      rounds += 1;
      if (rounds % 15_000 === 0) expect(countHeld(whole)).toBeLessThan(most);
    }
  });

  it('counts every round, and draws the lane to its end', { tags: ['long'] }, () => {
    const rounds = 20_000;
    const { steps, requests, tokens, endedAt = 0 } = fold(new RunPageFold(), writeRounds(rounds)).document();
    const [repeat, seen] = steps;
    expect([repeat?.count, seen?.count, seen?.outcomes.succeeded, seen?.totalMs]).toEqual([
      1,
      rounds,
      rounds,
      90 * rounds,
    ]);
    expect(seen?.bars.count.reduce((sum, each) => sum + each, 0)).toBe(rounds);
    expect(seen?.bars.from.length).toBeLessThanOrEqual(1500);
    expect(seen?.bars.until.at(-1)).toBe(endedAt - START - ROUND_MS + 90);
    expect(requests.totals.read).toBe(rounds);
    expect(requests.count.reduce((sum, each) => sum + each, 0)).toBe(rounds);
    expect(tokens).toMatchObject({ used: 5 * rounds, requests: rounds, peak: 300, leastRemaining: 0 });
  });

  it('shows no more tokens in a window than were spent in one', { tags: ['long'] }, () => {
    const { tokens } = fold(new RunPageFold(), writeRounds(30_000)).document();
    const columns = computeTokenColumns(tokens.spent, tokens.windowMs, 0, 30_000 * ROUND_MS, 800);
    expect([Math.min(...columns.slice(1)), Math.max(...columns)]).toEqual([300, 300]);
  });

  it('has the tokens of each span as if all requests were kept', { tags: ['long'] }, () => {
    const rounds = 30_000;
    const document = fold(new BudgetFold(), writeRounds(rounds)).document();
    const spans = Math.ceil((rounds * ROUND_MS) / document.bucketMs);
    expect(document.bucketMs).toBe(1_800_000);
    expect(document.buckets).toHaveLength(spans);
    for (const [index, { requests, tokens, peak, remaining }] of document.buckets.entries()) {
      const last = Math.min(rounds, (index + 1) * 1800) - 1;
      const count = last + 1 - index * 1800;
      expect([requests, tokens, peak, remaining]).toEqual([count, 5 * count, 300, (last * 7) % LIMIT]);
    }
  });

  it('is drawn to its end in the HTML file, which says how many rows it leaves out', () => {
    const rounds = 3500;
    const pieces = [...fold(new HtmlFold(), writeRounds(rounds)).write()];
    const page = pieces.join('');
    const bars = [
      ...page.matchAll(/<rect class="bar succeeded" x="([\d.]+)"[^>]*><title>[^<]*seen: list_fills,([^<]*)<\/title>/g),
    ];
    expect(bars.length).toBeGreaterThan(200);
    expect(bars.length).toBeLessThanOrEqual(500);
    expect(Number(bars.at(-1)?.[1])).toBeGreaterThan(980);
    expect(bars.reduce((sum, [, , said]) => sum + Number(/(\d+) rounds/.exec(said ?? '')?.[1] ?? 1), 0)).toBe(rounds);
    for (const caption of [`the first 3000 of ${rounds + 1}`, `the first 3000 of ${rounds}`])
      expect(page).toContain(caption);
    expect(page).toContain(`All requests (${rounds})`);
    expect(page).toContain(`reads (${rounds})`);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(page.length / 2);
  });
});

describe('a comparison of two long runs', () => {
  it('waits for neither, though one has several entries where the other has one', async () => {
    const left = [...writeRounds(300)];
    const right = left.flatMap((entry): object[] =>
      entry.type === 'feed.read'
        ? [entry, ...Array.from({ length: 9 }, () => ({ ...entry, type: 'run.moved' }))]
        : [entry],
    ) as Entry[];
    const numbered = right.map((entry, index) => ({ ...entry, seq: index + 1 }) as Entry);
    const document = await readDiff(storeRun(left), storeRun(numbered), 10);
    expect(document).toMatchObject({ same: true, differences: [] });
    expect(document.until).toBeUndefined();
  });

  it('ends where more differs than is shown', async () => {
    const left = [...writeRounds(300)];
    const right = left.map((entry) =>
      entry.type === 'feed.read' ? ({ ...entry, data: { ...entry.data, value: '1' } } as Entry) : entry,
    );
    const { until, differences } = await readDiff(storeRun(left), storeRun(right), 50);
    expect(differences.length).toBeGreaterThan(50);
    expect(differences.length).toBeLessThan(60);
    expect(until?.left).toBeLessThan(400);
  });
});

describe('the market of a long run', () => {
  it('keeps the changes of a feed, not its readings', () => {
    const past = new PastMarketFold();
    const markets = { 'BTC-USD': { tick: '1', lot: '0.0001' } };
    for (const entry of writeRounds(5000, { markets })) {
      const isOld = entry.at < START + 2500 * ROUND_MS;
      const more = { key: 'BTC-USD', ...(isOld ? { value: '64100' } : {}) };
      past.apply(entry.type === 'feed.read' ? { ...entry, data: { ...entry.data, ...more } } : entry);
    }
    expect(countHeld(past)).toBeLessThan(16_000);
    const { times, values } = past.market().feeds['mid[BTC-USD]'] ?? {};
    expect([times?.length, values?.length]).toEqual([2501, 2501]);
    expect([values?.[0], times?.[0], values?.[1]]).toEqual(['64100', START + 80, '64000']);
  });
});
