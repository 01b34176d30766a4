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
  it('makes every case again with each request met by each fault, and says how often', async () => {
    const tested = await testing(patient('  - {name: fills, inputs: {price: 65000}, expect: {outcome: succeeded}}\n'), {
      explore: true,
    });
    const [verdict] = tested.files[0]?.cases ?? [];
    expect(verdict).toMatchObject({ ok: true, failures: [], explored: { violations: [] } });
    // POST /orders meets eight, each of the reads seven.
    const [orders, ...reads] = [8, 7, 7];
    expect(verdict?.explored?.variations).toBe((orders ?? 0) + reads.reduce((sum, each) => sum + each, 0));
    expect(tested.out).toMatch(/✓ fills {2}succeeded after \d+ ms, 22 variations/);
  });

  it('does not explore a case that does not hold', async () => {
    const tested = await testing(patient('  - {name: fills, expect: {outcome: halted}}\n'), { explore: true });
    expect(tested.files[0]?.cases[0]?.explored).toBeUndefined();
    expect(tested.exit).toBe(1);
  });
});

describe('what must hold of every run', () => {
  it('holds of one that is sound', async () => {
    expect(findProblems(await ended('{price: 65000}'))).toEqual([]);
  });

  it('does not where a second order went out for an intent whose first may have arrived', async () => {
    const result = await ended('{price: 65000}');
    const posted = result.venue.sent.find(({ name }) => name === 'POST /orders');
    if (posted === undefined) throw new Error('nothing was posted');
    result.venue.sent.push({ ...posted, number: 99 });
    expect(findProblems(result)).toEqual([
      expect.stringMatching(/^order \S+ was sent as request 1, which may have placed it, and again as request 99$/),
    ]);
    // A first that was certainly refused is no order.
    posted.reply = { kind: 'failure', sent: false, message: 'ECONNREFUSED' };
    expect(findProblems(result)).toEqual([]);
  });

  it('does not where the run has no end, its journal was changed, or it could not go on', async () => {
    const result = await ended('{price: 65000}');
    expect(findProblems({ ...result, entries: result.entries.slice(0, -1) })).toEqual(['the run has no end']);
    const stored = result.stored.map((each) =>
      each.seq === 3 ? { ...each, line: each.line.replace('"seq":3', '"seq":3 ') } : each,
    );
    expect(findProblems({ ...result, stored })).toEqual([
      expect.stringContaining('the journal does not verify: entry 3'),
    ]);
    expect(findProblems({ ...result, problem: 'stood still' })).toEqual([
      'the run did not come to an end: stood still',
    ]);
  });

  it('does not where an order rests that the run holds for over, or does not know', async () => {
    const result = await ended('{price: 50000, patience: 1s}');
    expect(findProblems(result)).toEqual([]);
    const [order] = result.report.orders;
    const id = order?.orderId ?? '';
    const clientId = order?.clientOrderId ?? '';
    const venue = Object.create(result.venue, {
      resting: { value: () => [{ id, client_order_id: clientId, status: 'open' }] },
    }) as CaseResult['venue'];
    expect(findProblems({ ...result, venue })).toEqual([
      `order ${id} rests at the venue (open), and the run, which stopped, holds it for canceled`,
    ]);
    const unaware = result.entries.filter((entry) => entry.type !== 'call.intended' || entry.data.intent === undefined);
    expect(findProblems({ ...result, venue, entries: unaware })).toEqual([
      `order ${clientId} rests at the venue (open) and the journal does not know it`,
    ]);
    expect(findProblems({ ...result, venue, report: { ...result.report, outcome: 'halted' } })).toEqual([]);
  });
});
