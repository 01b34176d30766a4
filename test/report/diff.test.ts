import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import { type DiffDocument, findFieldDifferences, LEARNED, RunComparison } from '../../src/report/compare/diff.ts';
import { startedData } from '../journal/sample.ts';
import { orderRecord, Script, sampleRun, TERMS } from './sample-run.ts';

/** Applies the runs side by side. */
function diffRuns(left: readonly Entry[], right: readonly Entry[]): DiffDocument {
  const comparison = new RunComparison();
  for (const entry of left) comparison.left.learn(entry);
  for (const entry of right) comparison.right.learn(entry);
  for (let index = 0; index < Math.max(left.length, right.length); index += 1)
    comparison.apply(left[index], right[index]);
  return comparison.document();
}

/** A run that reads a feed and decides whether to place an order; the order's ids depend on the run. */
async function quoting({
  mid,
  id,
  offsetMs = 0,
  interleaved = false,
}: {
  mid: string;
  id: string;
  offsetMs?: number;
  interleaved?: boolean;
}): Promise<readonly Entry[]> {
  const script = new Script();
  await script.at(offsetMs);
  script.append('run.started', startedData());
  const other = () => script.append('variable.set', { name: 'n', value: '1' }, 'steps/other');
  if (interleaved) other();
  script.append('feed.read', { call: 'f#1', name: 'mid', value: mid, at: offsetMs }, 'steps/quote');
  const wanted = Number(mid) > 100;
  script.append(
    'step.decided',
    { what: 'if', expression: 'feeds.mid > 100', inputs: { 'feeds.mid': mid }, value: wanted },
    'steps/quote',
  );
  if (wanted) {
    const intent = { ...TERMS, clientOrderId: `c${id}` };
    const ack = {
      ...orderRecord({ id: `BTC-USD@${id}`, client_order_id: `c${id}`, timestamp: offsetMs }),
      is_liquidation: false,
      type: 'limit',
    };
    await script.exchange('POST /orders', { client_order_id: `c${id}`, price: '1' }, 1, [ack], 'steps/quote', {
      intent,
    });
    await script.exchange('GET /orders', { order_id: `BTC-USD@${id}` }, 10, [], 'watch');
  }
  if (!interleaved) other();
  script.append('run.ended', { outcome: 'succeeded', outputs: {} });
  return script.entries;
}

describe('the comparison of two runs', () => {
  it('ignores ids that follow from a run’s name, times, and the order of concurrent entries', async () => {
    const document = diffRuns(
      await quoting({ mid: '101', id: '11' }),
      await quoting({ mid: '101', id: '27', offsetMs: 5000, interleaved: true }),
    );
    expect(document).toMatchObject({ same: true, sameDefinition: true, start: [], before: [], differences: [] });
    expect(document.first).toBeUndefined();
  });

  it('finds the first different decision, and the input before it', async () => {
    const { same, first, before, differences } = diffRuns(
      await quoting({ mid: '101', id: '11' }),
      await quoting({ mid: '99', id: '12' }),
    );
    expect(same).toBe(false);
    expect(first).toMatchObject({
      side: 'done',
      what: 'decision',
      step: 'steps/quote',
      about: 'if feeds.mid > 100',
      fields: [
        { field: 'value', left: true, right: false },
        { field: 'with.feeds.mid', left: '101', right: '99' },
      ],
    });
    expect(before).toEqual([
      {
        side: 'received',
        what: 'feed',
        step: 'steps/quote',
        about: 'mid',
        left: { sequence: 2, at: '2026-01-05T08:00:00.000Z', value: '101' },
        right: { sequence: 2, at: '2026-01-05T08:00:00.000Z', value: '99' },
        fields: [{ field: '', left: '101', right: '99' }],
      },
    ]);
    // The rest: the order of the left run, without the reads that watch it.
    expect(differences.slice(2).map(({ what, about, right }) => [what, about, right])).toEqual([
      ['request', 'POST /orders', undefined],
      ['answer', 'order 1', undefined],
      ['answer', 'POST /orders', undefined],
      ['answer', 'order 1', undefined],
    ]);
  });

  it('does not report an equal decision from other figures', async () => {
    const { first, differences } = diffRuns(
      await quoting({ mid: '101', id: '11' }),
      await quoting({ mid: '102', id: '11' }),
    );
    expect(first).toBeUndefined();
    expect(differences.map(({ what }) => what)).toEqual(['feed']);
  });

  it('reports differences at the start', async () => {
    const script = new Script();
    script.append('run.started', startedData({ inputs: { side: 'short' }, seed: 2 }));
    const other = new Script();
    other.append(
      'run.started',
      startedData({
        settings: { limits: { max: '5' } },
        sources: [{ name: 'sample', file: 'f', text: '', sha256: 'cd' }],
      }),
    );
    expect(diffRuns(script.entries, other.entries)).toMatchObject({
      same: false,
      sameDefinition: false,
      start: [
        { field: 'inputs.side', left: 'short', right: 'long' },
        { field: 'seed', left: 2, right: 1 },
        { field: 'settings.limits', left: null, right: { max: '5' } },
      ],
      differences: [],
    });
  });

  it('is the same for a run and itself', async () => {
    const entries = await sampleRun();
    expect(diffRuns(entries, entries)).toMatchObject({ same: true, differences: [] });
  });

  it('keeps nothing of what both runs have alike, of which one is some entries ahead', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    for (let n = 0; n < 500; n += 1) script.append('variable.set', { name: 'n', value: `${n}` }, `steps/${n}`);
    const { entries } = script;
    const [first, ...rest] = entries;
    if (first === undefined) throw new Error('no entries');
    const early = { ...first, type: 'feed.read', data: { call: 'f', name: 'mid', value: '1', at: 0 } } as Entry;
    const others = [first, ...Array.from({ length: 20 }, () => early), ...rest];
    const comparison = new RunComparison();
    const kept = comparison as unknown as {
      readonly leftAlone: { size: number };
      readonly rightAlone: { size: number };
      readonly left: { readonly counts: { size: number } };
      readonly right: { readonly counts: { size: number } };
    };
    for (const entry of entries) if (LEARNED.has(entry.type)) comparison.left.learn(entry);
    for (const entry of others) if (LEARNED.has(entry.type)) comparison.right.learn(entry);
    for (const [index, other] of others.entries()) {
      comparison.apply(entries[index], other);
      expect(kept.leftAlone.size + kept.rightAlone.size).toBeLessThanOrEqual(40);
      expect(kept.left.counts.size + kept.right.counts.size).toBeLessThanOrEqual(41);
    }
    expect(comparison.document()).toEqual(diffRuns(entries, others));
    expect(comparison.document().differences.map(({ what }) => what)).toEqual(Array(20).fill('feed'));
  });

  it('refuses entries that are not a run', async () => {
    const entries = await sampleRun();
    const damaged = expect.objectContaining({ name: 'StoreError', reason: 'damaged' });
    expect(() => diffRuns([], entries)).toThrow(damaged);
    expect(() => diffRuns(entries, entries.slice(1))).toThrow(damaged);
  });
});

describe('fieldDifferences', () => {
  it('descends into records and lists of equal length', () => {
    expect(findFieldDifferences({ a: [1, { b: '2' }], c: 3 }, { c: 3, a: [1, { b: '3' }] })).toEqual([
      { field: 'a[1].b', left: '2', right: '3' },
    ]);
    expect(findFieldDifferences({ a: [1] }, { a: [1, 2] })).toEqual([{ field: 'a', left: [1], right: [1, 2] }]);
    expect(findFieldDifferences('1', 1)).toEqual([{ field: '', left: '1', right: 1 }]);
  });
});
