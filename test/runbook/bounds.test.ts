import { describe, expect, it } from 'vitest';
import { Decimal } from '../../src/base/decimal.ts';
import { computeWorstCase, readDocumentedCost } from '../../src/runbook/bounds.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { Value } from '../../src/runbook/values.ts';

function worst(text: string, inputs?: Readonly<Record<string, Value>>) {
  const { runbook, diagnostics } = checkRunbook(
    { file: 'case.yaml', text: `runbook: case\ndsl: 1\n${text}` },
    () => undefined,
  );
  if (runbook === undefined) throw new Error(diagnostics.map((each) => each.message).join('\n'));
  return computeWorstCase(runbook, readDocumentedCost, inputs);
}
const ORDER = 'place: {type: limit, market: BTC-USD, side: long, size: 2, price: 100}, allow: reduce';

describe('the worst case of a runbook', () => {
  it('is the sum of the steps that run once', () => {
    expect(worst(`steps: [{read_account: {}}, {${ORDER}}]`)).toEqual({
      tokensPerMinute: 21,
      writes: 1,
      orders: 1,
      notional: '200',
    });
  });

  it('spreads steps that run once over several minutes when they need more than one', () => {
    expect(worst('steps: [{for_each: {each: k, in: range(500), do: [{read_account: {}}]}}]')).toEqual({
      tokensPerMinute: 1200,
      writes: 0,
      orders: 0,
    });
  });

  it('counts rounds by the bound that is reached first', () => {
    const loop = (bounds: string) => worst(`steps: [{repeat: {${bounds}, do: [{${ORDER}}]}}]`);
    expect(loop('every: 1m, for: 1h')).toMatchObject({ orders: 60, writes: 60, notional: '12000' });
    expect(loop('every: 1m, for: 1h, max: 7')).toMatchObject({ orders: 7, notional: '1400' });
    expect(loop('max: 7')).toMatchObject({ orders: 7 });
  });

  it('counts a pause in the body as a pause of the loop', () => {
    expect(worst('steps: [{repeat: {for: 1h, do: [{read_account: {}}, {wait: 10s}]}}]').tokensPerMinute).toBe(120);
  });

  it('has no bound on orders over a list of unknown length, unless the limits give one', () => {
    const steps = `inputs: {markets: {type: list<market>}}\nsteps: [{for_each: {each: m, in: inputs.markets, do: [{${ORDER.replace('BTC-USD', '"${m}"')}}]}}]`;
    expect(worst(steps)).toMatchObject({ orders: 'unbounded', writes: 'unbounded' });
    expect(worst(`limits: {max_writes: 5}\n${steps}`)).toMatchObject({ orders: 5, writes: 5 });
    expect(worst(steps, { markets: ['BTC-USD', 'ETH-USD', 'SOL-USD'] })).toMatchObject({
      orders: 3,
      writes: 3,
      notional: '600',
    });
  });

  it('follows the length of a collected list', () => {
    const text = `inputs: {n: {type: integer}}
steps:
  - id: rungs
    for_each: {each: k, in: range(inputs.n), do: [{id: o, ${ORDER}}], collect: {o: o}}
  - for_each: {each: r, in: 'rungs.filter(r, r.o.open)', do: [{cancel: r.o}]}`;
    expect(worst(text, { n: new Decimal(4) })).toMatchObject({ orders: 4, writes: 8 });
  });

  it('takes the most expensive case of a switch and all branches of a parallel block', () => {
    const cases = `inputs: {on: {type: boolean}}\nsteps: [{switch: [{when: inputs.on, do: [{${ORDER}}, {${ORDER}}]}, {else: [{${ORDER}}]}]}]`;
    expect(worst(cases)).toMatchObject({ orders: 2 });
    expect(
      worst(`steps: [{parallel: {branches: {a: [{${ORDER}}], b: [{${ORDER}}, {read_account: {}}]}}}]`),
    ).toMatchObject({ orders: 2, tokensPerMinute: 22 });
  });

  it('polls no longer than a wait lasts', () => {
    expect(worst(`steps: [{id: o, ${ORDER}}, {wait_for: {order: o, is: terminal, within: 10s}}]`).tokensPerMinute).toBe(
      50,
    );
  });

  it('counts the reads of one market once for all waits in it', () => {
    const waits = (limits: string) =>
      worst(
        `${limits}steps: [{parallel: {each: k, in: range(3), max: 3, do: [{id: o, ${ORDER}}, {wait_for: {order: o, is: terminal, within: 1h}}]}}]`,
      ).tokensPerMinute;
    expect(waits('')).toBe(3 * 300);
    expect(waits('limits: {markets: [BTC-USD]}\n')).toBe(300);
  });
});
