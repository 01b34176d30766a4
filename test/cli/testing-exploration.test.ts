import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSource } from '../../src/app/files/files.ts';
import { type CaseResult, runCase } from '../../src/app/testing/case-run.ts';
import { type NamedCase, readCases } from '../../src/app/testing/file/runbook-names.ts';
import type { TestCase } from '../../src/app/testing/file/test-case.ts';
import { readTestFile } from '../../src/app/testing/file/test-file.ts';
import { findProblems, findUnsound } from '../../src/app/testing/soundness.ts';
import { drawStories, tell } from '../../src/app/testing/story.ts';
import { type ReadyTests, readTests } from '../../src/app/testing/tests.ts';
import { judgeAll } from '../../src/app/testing/verdict.ts';
import { writeCases } from '../../src/app/testing/written-case.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { PATIENT, patient, testing } from './testing-bench.ts';

/** A run of `PATIENT` to its end. */
async function ended(inputs: string): Promise<CaseResult> {
  const text = `tests: patient\ncases: [{name: a, inputs: ${inputs}, expect: {outcome: succeeded}}]\n`;
  const { file } = readTestFile({ file: 'patient.test.yaml', text }, () => ({ file: '', text: '' }));
  const source = { file: 'patient.yaml', text: PATIENT };
  const { runbook } = checkRunbook(source, () => undefined);
  if (file === undefined || runbook === undefined) throw new Error('the sample is wrong');
  const [only] = readCases(file, runbook).cases;
  if (only === undefined) throw new Error('the sample has no case');
  return runCase({ loaded: { runbook, sources: [{ name: 'patient', source }] }, ...only, run: 'sample' });
}

/** Protects what has filled only where all of it has. */
const HASTY = `runbook: hasty
dsl: 1
leaves: {position: protected}
inputs:
  price: {type: price, default: 60000}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: inputs.price}
    undo: cancel
  - wait_for: {order: entry, is: filled, within: 2s}
    on_timeout:
      - cancel: entry
  - protect:
      market: BTC-USD
      side: short
      stop_loss: {fraction: 1, trigger: tick(inputs.price * 0.9), price: tick(inputs.price * 0.88)}
    if: entry.filled == 0.01
  - wait: 3s
`;
const HASTY_TEST = `tests: hasty
cases:
  # Never reached.
  - name: rests
    expect: {outcome: succeeded}
`;

/** The file as ready cases. */
function ready(folder: string, name: string): ReadyTests {
  const read = readTests(readSource(join(folder, name), 'test file'), { diagnostics() {} });
  if (read.kind !== 'ready') throw new Error(JSON.stringify(read));
  return read;
}

describe('--explore', () => {
  it('runs as many stories as are asked for', async () => {
    const cases = patient('  - {name: fills, inputs: {price: 65000}, expect: {outcome: succeeded}}\n');
    const tested = await testing(cases, { explore: 3 });
    const [verdict] = tested.files[0]?.cases ?? [];
    expect(verdict).toMatchObject({ ok: true, failures: [], explored: { variations: 3, violations: [] } });
    expect(tested.out).toMatch(/✓ fills {2}succeeded after \d+ ms, 3 stories/);
  });

  it('does not explore a failing case', async () => {
    const tested = await testing(patient('  - {name: fills, expect: {outcome: halted}}\n'), { explore: 8 });
    expect(tested.files[0]?.cases[0]?.explored).toBeUndefined();
    expect(tested.exit).toBe(1);
  });

  it('shows the shortest story of a violation, and writes it as a case that fails the same way', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'runbook-story-'));
    try {
      writeFileSync(join(folder, 'hasty.yaml'), HASTY);
      writeFileSync(join(folder, 'hasty.test.yaml'), HASTY_TEST);
      const tested = ready(folder, 'hasty.test.yaml');
      const [judged] = await judgeAll([tested], { stories: 40, threads: 1 });
      const found = judged?.violations ?? [];
      expect(found).toHaveLength(1);
      expect(found[0]?.story.events.map(({ change }) => change?.fills)).toEqual([{ after: '0.5' }]);
      expect(found[0]?.story.fillLagMs).toBeUndefined();
      for (const name of ['hasty.test.yaml', 'found.test.yaml']) {
        const written = writeCases(join(folder, name), tested, found);
        const again = ready(folder, name);
        expect(again.cases.map(({ test }) => test.name)).toEqual([
          ...(name === 'hasty.test.yaml' ? ['rests'] : []),
          ...written,
        ]);
        const verdict = (await judgeAll([again], { threads: 1 }))[0]?.verdicts.at(-1);
        expect(verdict?.failures.map(({ expectation, found: what }) => [expectation, what])).toEqual([
          ['sound', found[0]?.problem.text],
        ]);
      }
      expect(readFileSync(join(folder, 'hasty.test.yaml'), 'utf8').startsWith(HASTY_TEST)).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('lists no story where none is drawn: a long case has a hundred thousand', () => {
    let read = 0;
    const sent = new Proxy<never[]>([], {
      get: (list, key) => {
        read += 1;
        return Reflect.get(list, key) as unknown;
      },
    });
    expect(drawStories([{ id: '0', test: { seed: '1' } as unknown as TestCase, sent }], 0)).toEqual([]);
    expect(read).toBe(0);
  });

  it('writes each kind of story as it was run', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'runbook-story-'));
    try {
      writeFileSync(join(folder, 'hasty.yaml'), HASTY);
      const given =
        'inputs: {price: 65000}\n    simulator: {account: {equity: "5000"}, readLagMs: 5}\n    seed: 7\n    feeds: {mid: [{value: 65000}, {after: 2s, value: ">1"}]}';
      writeFileSync(
        join(folder, 'hasty.test.yaml'),
        `tests: hasty\ncases:\n  - name: fills\n    ${given.replace('">1"', '65001')}\n    venue: [{on: GET /orders, call: 5+, delay: 20ms}]\n    expect: {outcome: succeeded}\n`,
      );
      const tested = ready(folder, 'hasty.test.yaml');
      const only = tested.cases[0]?.test as TestCase;
      const { venue } = await runCase({ ...(tested.cases[0] as NamedCase), loaded: tested.loaded, run: 'sample' });
      const stories = drawStories([{ id: '0', test: only, sent: venue.sent }], 1000).map(({ story }) => story);
      const few = drawStories([{ id: '0', test: only, sent: venue.sent }], 20).map(({ story }) => story);
      expect(few).toEqual(stories.slice(0, 20));
      const changes = stories.flatMap(({ events }) =>
        events.map(({ change, crash }) => Object.keys(change ?? crash ?? {}).join()),
      );
      expect(new Set(changes)).toEqual(new Set(['lost', 'http,headers', 'error', 'when,answer', 'fills', 'jump']));
      const problem = { kind: 'a', text: 'a' };
      writeCases(
        join(folder, 'new.test.yaml'),
        tested,
        stories.map((story) => ({ index: 0, story, problem, requests: 1 })),
      );
      const again = ready(folder, 'new.test.yaml');
      const plain = ({ name: _, span: __, expect: ___, rules, inputs, feeds, ...rest }: TestCase) => ({
        ...rest,
        inputs: inputs['price']?.text,
        feeds: { ...feeds['mid'], keySpan: undefined },
        rules: rules.map(({ span: ____, ...rule }) => rule),
      });
      expect(again.cases.map(({ test }) => plain(test))).toEqual(stories.map((story) => plain(tell(only, story))));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('what must always hold', () => {
  const FILLS = '{name: fills, inputs: {price: 65000}, expect: {outcome: succeeded}';
  const run = (text: string, explore = 0) =>
    testing({ 'patient.yaml': PATIENT, 'patient.test.yaml': text }, { explore });

  it('fails a case in which it does not hold at some instant, for the file and for the case', async () => {
    const kept = `["position('BTC-USD') <= 0.01", "inputs.price > 1000"]`;
    expect((await run(`tests: patient\nalways: ${kept}\ncases: [${FILLS}}]\n`)).exit).toBe(0);
    const broken = '["position(\'BTC-USD\') < 0.01"]';
    for (const text of [
      `tests: patient\nalways: ${broken}\ncases: [${FILLS}}]\n`,
      `tests: patient\ncases: [${FILLS}, always: ${broken}}]\n`,
    ]) {
      const { exit, files } = await run(text);
      expect([exit, files[0]?.cases[0]?.failures.map(({ expectation }) => expectation)]).toEqual([1, ['always']]);
    }
  });

  it('is held in every variation of a case', async () => {
    const text = `tests: patient\ncases: [${FILLS}, always: ["position('BTC-USD') <= 0.01"]}]\n`;
    expect((await run(text, 4)).files[0]?.cases[0]?.explored?.violations).toEqual([]);
    // It holds where nothing goes wrong, and not where the order fills in part before its cancel.
    const late = `tests: patient\ncases: [{name: rests, inputs: {patience: 5s}, expect: {outcome: stopped}, always: ["position('BTC-USD') == 0"]}]\n`;
    const { exit, files } = await run(late, 10);
    expect(exit).toBe(1);
    expect(files[0]?.cases[0]?.explored?.violations).toContainEqual({
      variation: expect.stringContaining('what rests is filled before'),
      problem: expect.stringContaining("position('BTC-USD') == 0"),
    });
  });

  it('is an expression of the language over inputs', async () => {
    for (const wrong of ['inputs.prise > 1', 'position(inputs.price) > 1', '1', 'order.filled == 0']) {
      const { exit, files } = await run(`tests: patient\ncases: [${FILLS}, always: ["${wrong}"]}]\n`);
      expect([exit, files[0]?.diagnostics?.map(({ line }) => line)]).toEqual([2, [2]]);
    }
  });
});

describe('what a run leaves', () => {
  /** The end of a run of `HASTY` in which `rules` apply, YAML. */
  async function left(rules: string) {
    const text = `tests: hasty\ncases: [{name: a, inputs: {price: 65000}, venue: [${rules}], expect: {sound: true}}]\n`;
    const { file } = readTestFile({ file: 'hasty.test.yaml', text }, () => ({ file: '', text: '' }));
    const source = { file: 'hasty.yaml', text: HASTY };
    const { runbook } = checkRunbook(source, () => undefined);
    if (file === undefined || runbook === undefined) throw new Error('the sample is wrong');
    const only = readCases(file, runbook).cases[0] as NamedCase;
    const result = await runCase({ loaded: { runbook, sources: [{ name: 'hasty', source }] }, ...only, run: 'sample' });
    const judge = (changed: Partial<CaseResult['report']>, entries = result.entries) =>
      findUnsound(only.test, 'protected', { ...result, entries, report: { ...result.report, ...changed } });
    return { result, judge };
  }
  const REFUSED = '{on: POST /orders stop_loss, call: 1, error: NO}';

  it('is all covered in a run as it should be', async () => {
    const { result, judge } = await left('');
    expect([result.report.outcome, judge({})]).toEqual(['succeeded', []]);
  });

  it('may be bare under a gap through its stop, where the run fails with it and says so', async () => {
    const { result, judge } = await left('{on: GET /orders, call: 3, jump: {BTC-USD: 50000}}');
    expect([result.report.outcome, result.report.error?.kind, judge({})]).toEqual([
      'failed',
      'unprotected_position',
      [],
    ]);
    expect(judge({ outcome: 'succeeded' })).toEqual([expect.stringContaining('the run succeeded: ')]);
    expect(judge({ outcome: 'halted' })).toEqual([expect.stringContaining('instead of unprotected_position')]);
    expect(judge({ error: { kind: 'internal', message: '' } })).toEqual([
      expect.stringContaining('with internal instead'),
    ]);
    const unsaid = result.entries.filter(({ type }) => type !== 'run.residual');
    expect(judge({}, unsaid)).toEqual([expect.stringContaining('without saying')]);
  });

  it('may not be bare after one fault, and may after two', async () => {
    const one = await left(REFUSED);
    expect([one.result.report.outcome, one.judge({})]).toEqual([
      'failed',
      [expect.stringContaining('the run failed: ')],
    ]);
    const two = await left(REFUSED.replace('call: 1', 'call: 1+'));
    expect([two.result.report.outcome, two.judge({})]).toEqual(['failed', []]);
    expect(two.judge({ outcome: 'stopped' })).toEqual([expect.stringContaining('the run stopped: ')]);
  });
});

describe('what must hold of every run', () => {
  it('holds in a sound run', async () => {
    expect(findProblems(await ended('{price: 65000}'))).toEqual([]);
  });

  it('is violated by a second order for an intent whose first may have arrived', async () => {
    const result = await ended('{price: 65000}');
    const posted = result.venue.sent.find(({ name }) => name === 'POST /orders');
    if (posted === undefined) throw new Error('nothing was posted');
    result.venue.sent.push({ ...posted, number: 99 });
    expect(findProblems(result)).toEqual([
      expect.stringMatching(/^order \S+ was sent as request 1, which may have placed it, and again as request 99$/),
    ]);
    // A first POST that was certainly rejected does not count.
    posted.reply = { kind: 'failure', sent: false, message: 'ECONNREFUSED' };
    expect(findProblems(result)).toEqual([]);
  });

  it('is violated by a run without an end, a changed journal, or a run that could not continue', async () => {
    const result = await ended('{price: 65000}');
    expect(findProblems({ ...result, entries: result.entries.slice(0, -1) })).toEqual(['the run has no end']);
    const stored = result.stored.map((each) =>
      each.seq === 3 ? { ...each, line: each.line.replace('"seq":3', '"seq":3 ') } : each,
    );
    expect(findProblems({ ...result, stored })).toEqual([
      expect.stringContaining('the journal does not verify: entry 3'),
    ]);
    expect(findProblems({ ...result, problem: 'stood still' })).toEqual([expect.stringContaining('stood still')]);
  });

  it('is violated by an open order that the run considers ended, or does not know', async () => {
    const result = await ended('{price: 50000, patience: 1s}');
    expect(findProblems(result)).toEqual([]);
    const [order] = result.report.orders;
    const id = order?.orderId ?? '';
    const clientId = order?.clientOrderId ?? '';
    const venue = Object.create(result.venue, {
      listOpenOrders: { value: () => [{ id, client_order_id: clientId, status: 'open' }] },
    }) as CaseResult['venue'];
    expect(findProblems({ ...result, venue })).toEqual([expect.stringMatching(new RegExp(`^order ${id} .*canceled`))]);
    const unaware = result.entries.filter((entry) => entry.type !== 'call.intended' || entry.data.intent === undefined);
    expect(findProblems({ ...result, venue, entries: unaware })).toEqual([
      expect.stringContaining(`order ${clientId} is open at the venue`),
    ]);
    expect(findProblems({ ...result, venue, report: { ...result.report, outcome: 'halted' } })).toEqual([]);
  });
});
