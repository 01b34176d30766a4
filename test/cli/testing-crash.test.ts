import { describe, expect, it } from 'vitest';
import type { CaseVerdict } from '../../src/app/testing/verdict.ts';
import { patient, testing } from './testing-bench.ts';

async function verdicts(cases: string): Promise<readonly CaseVerdict[]> {
  const { files, err } = await testing(patient(cases));
  if (files[0] === undefined || files[0].diagnostics !== undefined) throw new Error(err);
  return files[0].cases;
}

describe('a process that dies', () => {
  it.each([
    [
      'before the order leaves: it is never sent',
      '{before: POST /orders}',
      'outcome: failed, never: [POST /orders], error: {kind: not_placed}',
    ],
    [
      'before the answer: the order is found, not sent again',
      '{after: POST /orders, answer: lost}',
      'outcome: stopped, requests_exactly: {POST /orders: 1}, orders: [{state: canceled}]',
    ],
    [
      'after the answer: the order is known',
      '{after: POST /orders, answer: kept}',
      'outcome: stopped, requests_exactly: {POST /orders: 1}, orders: [{state: canceled}]',
    ],
    [
      'in the middle of a poll',
      '{after: GET /orders, call: 4, answer: lost}',
      'outcome: stopped, requests: [POST /orders limit, DELETE /orders], elapsed: "< 40s"',
    ],
    [
      'at the cancel, whose answer is lost',
      '{after: DELETE /orders, answer: lost}',
      'outcome: stopped, orders: [{state: canceled}], requests_exactly: {POST /orders: 1}',
    ],
    [
      'several times',
      '[{after: POST /orders}, {before: GET /orders, call: 3}, {after: DELETE /orders, answer: kept}]',
      'outcome: stopped, requests: [POST /orders limit, DELETE /orders]',
    ],
    [
      'and is away for longer than the order may wait',
      '{after: GET /orders, call: 2, down: 10m}',
      'outcome: stopped, reason: expired, elapsed: ">= 10m, < 11m", orders: [{state: canceled}]',
    ],
  ])('%s', async (_when, crash, expected) => {
    const [verdict] = await verdicts(`  - name: a\n    crash_at: ${crash}\n    expect: {${expected}}\n`);
    expect(verdict?.failures).toEqual([]);
  });

  it('has no effect on the run where nothing was lost', async () => {
    const plain = 'steps: [order], outcome: succeeded, outputs: {filled: 0.01}';
    const found = await verdicts(
      `  - {name: whole, inputs: {price: 65000}, expect: {${plain}}}\n  - {name: killed, inputs: {price: 65000}, crash_at: {after: GET /orders, answer: kept}, expect: {${plain}}}\n`,
    );
    expect(found.map(({ failures }) => failures)).toEqual([[], []]);
  });
});
