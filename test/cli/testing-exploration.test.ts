import { describe, expect, it } from 'vitest';
import { type CaseResult, runCase } from '../../src/app/testing/case-run.ts';
import { findProblems } from '../../src/app/testing/exploration.ts';
import { readCases } from '../../src/app/testing/file/runbook-names.ts';
import { readTestFile } from '../../src/app/testing/file/test-file.ts';
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

describe('--explore', () => {
  it('repeats every case with each fault in each request, and counts the variations', async () => {
    const tested = await testing(patient('  - {name: fills, inputs: {price: 65000}, expect: {outcome: succeeded}}\n'), {
      explore: true,
    });
    const [verdict] = tested.files[0]?.cases ?? [];
    expect(verdict).toMatchObject({ ok: true, failures: [], explored: { violations: [] } });
    // POST /orders has eight variations, each read seven.
    const [orders, ...reads] = [8, 7, 7];
    expect(verdict?.explored?.variations).toBe((orders ?? 0) + reads.reduce((sum, each) => sum + each, 0));
    expect(tested.out).toMatch(/✓ fills {2}succeeded after \d+ ms, 22 variations/);
  });

  it('does not explore a failing case', async () => {
    const tested = await testing(patient('  - {name: fills, expect: {outcome: halted}}\n'), { explore: true });
    expect(tested.files[0]?.cases[0]?.explored).toBeUndefined();
    expect(tested.exit).toBe(1);
  });
});

describe('what must always hold', () => {
  const FILLS = '{name: fills, inputs: {price: 65000}, expect: {outcome: succeeded}';
  const run = (text: string, explore = false) =>
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
    expect((await run(text, true)).files[0]?.cases[0]?.explored?.violations).toEqual([]);
    // It holds where nothing goes wrong, and not where the order fills in part before its cancel.
    const late = `tests: patient\ncases: [{name: rests, inputs: {patience: 5s}, expect: {outcome: stopped}, always: ["position('BTC-USD') == 0"]}]\n`;
    const { exit, files } = await run(late, true);
    expect(exit).toBe(1);
    expect(files[0]?.cases[0]?.explored?.violations).toContainEqual({
      variation: expect.stringContaining('filled in part'),
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
