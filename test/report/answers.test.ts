import { beforeAll, describe, expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import { type Answer, formatReason } from '../../src/report/answers/answer.ts';
import { answerReviewer, type ReviewFacts } from '../../src/report/answers/six.ts';
import { type RunPageDocument, RunPageFold } from '../../src/report/folds/run-facts.ts';
import { START, startedData } from '../journal/sample.ts';
import { Script, sampleRun } from './sample-run.ts';

function pageOf(entries: readonly Entry[]): RunPageDocument {
  const fold = new RunPageFold();
  for (const entry of entries) fold.apply(entry);
  return fold.document();
}

function answer(subject: Answer['subject'], run: RunPageDocument, known: ReviewFacts = {}): Answer {
  const found = answerReviewer(run, known).find((each) => each.subject === subject);
  if (found === undefined) throw new Error(`no answer to ${subject}`);
  return found;
}

const brief = ({ tone, said }: Answer) => [tone, said];
const saying = (fragment: string) => expect.stringContaining(fragment);
const lines = ({ because }: Answer) => because.map(formatReason);

describe('the deadman switch of a run without an end', () => {
  /** A live run with an armed switch and an order at the venue. */
  let run: RunPageDocument;
  let firesAt: number;
  beforeAll(async () => {
    const whole = await sampleRun();
    const until = whole.findIndex(({ type, data }) => type === 'order.moved' && data.to === 'open') + 1;
    run = { ...pageOf(whole.slice(0, until)), mode: 'live' };
    firesAt = run.deadman.firesAt ?? 0;
    expect([firesAt, run.deadman.timeoutMs]).toEqual([START + 62_000, 60_000]);
  });

  it.each([
    ['while it is renewed in time', -59_000, 'good', 'Not so far'],
    ['after half of its time-out', -29_999, 'doubt', 'At risk now'],
    ['after its time-out', 0, 'bad', 'It must have fired'],
  ])('is judged by the clock: %s', (_when, sinceFiring, tone, said) => {
    const found = answer('deadman', run, { now: firesAt + sinceFiring });
    expect(brief(found)).toEqual([tone, saying(said)]);
    const [first] = found.because;
    if (sinceFiring < 0)
      expect(first).toEqual({
        term: 'fires',
        text: `at ${new Date(firesAt).toISOString()} unless renewed`,
        awaited: { at: firesAt, ofMs: 60_000 },
      });
    else
      expect(first).toMatchObject({
        term: 'not renewed',
        tone: 'bad',
        text: expect.stringMatching(/^after 2026-01-05T08:00:02.000Z by this run: .* at 2026-01-05T08:01:02.000Z$/),
      });
  });

  it('is judged as of its last entry without a clock, or if time is virtual', () => {
    const without = ['doubt', saying('Not so far; ')];
    expect(brief(answer('deadman', run))).toEqual(without);
    expect(brief(answer('deadman', { ...run, mode: 'simulated' }, { now: firesAt + 1e9 }))).toEqual(without);
  });

  it('is not called safe once a run left it armed and its time-out has passed', () => {
    const ended: RunPageDocument = { ...run, outcome: 'halted', endedAt: run.lastAt };
    expect(brief(answer('deadman', ended, { now: firesAt - 1 }))).toEqual(['good', 'Never at risk']);
    expect(lines(answer('deadman', ended, { now: firesAt - 1 }))[0]).toMatch(
      /^left armed: .* 2026-01-05T08:01:02\.000Z/,
    );
    expect(brief(answer('deadman', ended, { now: firesAt }))).toEqual(['doubt', saying('Left armed at the end')]);
  });

  it('lacks its end, and reports its orders as last seen, once it is silent', () => {
    const verdict = { run: run.run, ok: true, entries: run.seq - 2, anchors: 1 };
    const at = (of: RunPageDocument, now: number) =>
      (['orders', 'missing'] as const).map((each) => brief(answer(each, of, { verdict, now })));
    const going = [
      ['good', '2 orders: 1 denied, 1 open'],
      ['good', 'Nothing so far'],
    ];
    const silent = [
      ['doubt', saying('2 orders: 1 denied, 1 open, ')],
      ['doubt', 'Its end'],
    ];
    expect([at(run, firesAt - 1), at(run, firesAt)]).toEqual([going, silent]);
    const { firesAt: _fires, ...deadman } = run.deadman;
    const unarmed: RunPageDocument = { ...run, deadman: { ...deadman, state: 'disarmed' } };
    expect([at(unarmed, run.lastAt + 60_000), at(unarmed, run.lastAt + 60_001)]).toEqual([going, silent]);
    expect(lines(answer('missing', run, { verdict }))[0]).toBe(
      `journal verified: the first ${run.seq - 2} of ${run.seq} entries, 1 anchor`,
    );
  });
});

describe('what is missing', () => {
  let run: RunPageDocument;
  beforeAll(async () => {
    run = pageOf(await sampleRun());
  });
  const verdict = { run: 'r1', ok: true, entries: 50, anchors: 0 };
  const said = (
    change: Partial<RunPageDocument['unaccounted']>,
    known: ReviewFacts = { verdict },
    outcome = run.outcome,
  ) =>
    brief(
      answer('missing', { ...run, outcome, unaccounted: { ...run.unaccounted, ...change } } as RunPageDocument, known),
    );
  const open = { seq: 7, at: START, title: 'POST /orders', step: '' };

  it('is summed up in one sentence, the worst first', () => {
    expect(said({})).toEqual(['good', 'Nothing']);
    expect(said({ unanswered: [open] })).toEqual(['doubt', '1 answer']);
    expect(said({ unanswered: [open, open], alarmCount: 1 })).toEqual(['doubt', '2 answers; there was 1 alarm']);
    expect(said({ alarmCount: 2 }, { verdict }, 'halted')).toEqual(['doubt', saying('2 alarms')]);
    expect(said({ unclearOrders: ['o1'], unanswered: [open] })).toEqual(['bad', saying('1 order')]);
    expect(said({ unclearOrders: ['o1'] }, { verdict: { ...verdict, ok: false } })).toEqual(['bad', saying('journal')]);
    expect(said({}, { verdict: { ...verdict, unanchored: true } })).toEqual(['doubt', 'Its anchors']);
  });

  it('is never `Nothing` before the journal is verified', () => {
    expect(said({}, {})).toEqual(['doubt', 'Not verified']);
    expect(said({}, { verdict: 'under way' })).toEqual(['soft', 'Checking …']);
    expect(said({}, { verdict: { failed: 'locked' } })).toEqual(['doubt', saying('could not be verified')]);
  });

  it('lists each lost answer, with the entry of its request', () => {
    const found = answer('missing', run, { verdict }).because.filter(({ term }) => term === 'lost answer to');
    expect(found).toEqual([
      { term: 'lost answer to', text: 'GET /account', tone: 'doubt', entry: run.requests.seq.at(-1) },
    ]);
  });

  it('counts what it does not list, and calls no order working of which nothing is known', () => {
    const unaccounted = {
      ...run.unaccounted,
      unclearOrders: ['o1'],
      leftOpen: ['o1', 'o2'],
      lost: Array.from({ length: 5 }, () => open),
    };
    const { because } = answer('missing', { ...run, unaccounted }, { verdict });
    const list = (name: string) => because.filter(({ term }) => term === name).map(({ text }) => text);
    expect(list('still working')).toEqual(['o2, as last seen']);
    expect(list('lost answer to')).toEqual(['POST /orders', 'POST /orders', 'POST /orders', '2 more']);
  });
});

describe('what was allowed', () => {
  const limited = (limits: Readonly<Record<string, string>>) => {
    const script = new Script();
    script.append('run.started', startedData());
    script.append('call.checked', { call: 'c1', limits });
    return pageOf(script.entries);
  };

  it('lists the nearest limit first, and how close a value came to a minimum', () => {
    expect(
      lines(answer('allowed', limited({ markets: 'BTC-USD', max_order_size: '0.25/0.5', min_equity: '1000/900' }))),
    ).toEqual([saying('min_equity 1000'), 'max_order_size 0.25 of 0.5', 'markets BTC-USD']);
    const [minimum] = answer('allowed', limited({ min_equity: '1000/900' })).because;
    expect(minimum?.share).toEqual({ percent: 90, tone: 'good' });
  });

  it('is worth a look if orders were sent without limits', async () => {
    const run = pageOf(await sampleRun());
    const allowed = { ...run.allowed, checked: [], denied: 0, denials: [] };
    expect(brief(answer('allowed', { ...run, allowed }))).toEqual(['doubt', saying('no limits')]);
    expect(brief(answer('allowed', { ...run, allowed, orders: [] }))).toEqual(['good', saying('nothing')]);
  });

  it('is worth a look if the record of the kill switch could not be read', () => {
    const run = { ...limited({ max_order_size: '0.25/0.5' }), mode: 'live' as const };
    const found = answer('allowed', run, { kills: { failed: 'it is locked' } });
    expect([found.tone, lines(found)[0]]).toEqual(['doubt', expect.stringMatching(/^kill switch .*: it is locked$/)]);
  });
});

describe('an order that needs a look', () => {
  it('is listed with the meaning of its state and the entry that shows it', async () => {
    const run = pageOf(await sampleRun());
    const [denied, filled] = run.orders;
    if (denied === undefined || filled === undefined) throw new Error('the sample has two orders');
    const rejected = { ...denied, state: 'rejected', stateMeaning: 'rejected by the venue' } as const;
    const alarm = { seq: 30, at: 1, alarm: 'LateFill', detail: '' };
    const found = answer('orders', { ...run, orders: [{ ...filled, alarms: [alarm] }, rejected] });
    expect([found.tone, found.because.slice(0, 2), found.orders]).toEqual([
      'doubt',
      [
        { term: 'closed', text: 'BTC-USD@11, done; 1 alarm', tone: 'doubt', entry: 30 },
        { term: 'rejected', text: 'k2entry1, rejected by the venue', tone: 'doubt', entry: denied.moves.at(-1)?.seq },
      ],
      ['k2entry2', 'k2entry1'],
    ]);
  });
});

describe('money', () => {
  it('is shown with its currency', async () => {
    expect(lines(answer('orders', pageOf(await sampleRun())))).toEqual([
      'bought 0.3 BTC-USD at 64193.333333333333333333 USD, fee -0.02 USD, in 2 fills',
      'position changed by 0.3 BTC-USD',
      'net 0.02 USD in BTC-USD: realized 0.00, fees -0.02',
    ]);
  });
});
