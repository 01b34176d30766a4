import { describe, expect, it } from 'vitest';
import { RoutineFilter } from '../../src/report/timeline/routine.ts';
import { printTimeline, TimelineFold } from '../../src/report/timeline/timeline.ts';
import { startedData } from '../journal/sample.ts';
import { orderRecord, Script, TERMS } from './sample-run.ts';

const QUERY = { order_id: 'BTC-USD@11', market_id: 'BTC-USD' };
const WATCHING = { purpose: 'confirm', clientOrderId: 'k2entry1' };

async function watched(reads: number, last: 'open' | 'closed'): Promise<string[]> {
  const script = new Script();
  script.append('run.started', startedData({ inputs: {} }));
  const ack = { ...orderRecord({ status: 'processing' }), type: 'limit', is_liquidation: false };
  await script.exchange('POST /orders', {}, 1, [ack], 'steps/entry', { intent: TERMS });
  await script.exchange('GET /orders', QUERY, 10, [orderRecord({})], 'watch', WATCHING);
  for (let read = 1; read <= reads; read += 1) {
    await script.at(read * 1000);
    const status = read === reads ? last : 'open';
    await script.exchange(
      'GET /orders',
      QUERY,
      10,
      [orderRecord({ status, size: status === 'open' ? '0.3' : '0' })],
      'watch',
      WATCHING,
    );
    if (read === 1) {
      await script.exchange('POST /cancel_all_after', { timeout: 60_000 }, 10, {}, 'deadman', {
        purpose: 'keep-alive',
      });
      script.append('deadman.moved', { event: 'renewed', market: 'BTC-USD' }, 'deadman');
    }
  }
  script.append('run.ended', { outcome: 'succeeded', outputs: {} });
  const fold = new TimelineFold();
  const filter = new RoutineFilter();
  const rows = script.entries.flatMap((entry) => filter.push(entry, fold.apply(entry)));
  return printTimeline([...rows, ...filter.end()])
    .split('\n')
    .map((line) => line.trim().replace(/ {2,}/g, ' ').slice(0, 160));
}

describe('RoutineFilter', () => {
  it('counts reads and keep-alives that changed nothing', async () => {
    const lines = await watched(100, 'open');
    expect(lines.slice(8)).toEqual([
      expect.stringMatching(/^\+1\.000 … 100 × GET \/orders, 1 × POST \/cancel_all_after, .* 1010 tokens$/),
      expect.stringMatching(/^\+1:40\.080 run succeeded/),
      '',
    ]);
  });

  it('keeps the read that showed a change', async () => {
    const lines = await watched(100, 'closed');
    expect(lines.slice(8, 12)).toEqual([
      expect.stringMatching(/^\+1\.000 … 100 × GET \/orders, 1 × POST \/cancel_all_after, .* 1010 tokens$/),
      expect.stringMatching(/^\+1:40\.000 sends GET \/orders/),
      expect.stringMatching(/^\+1:40\.080 GET \/orders succeeded: .*status=closed/),
      expect.stringMatching(/^\+1:40\.080 order k2entry1 \(BTC-USD@11\) open → closed/),
    ]);
  });

  it('shows a few requests unchanged', async () => {
    const lines = await watched(1, 'open');
    expect(lines.filter((line) => line.includes('GET /orders'))).toHaveLength(4);
    expect(lines.join('\n')).not.toContain('routine');
  });

  it('never leaves out a request that was refused or lost, or one of another purpose', async () => {
    const script = new Script();
    script.append('run.started', startedData({ inputs: {} }));
    const fold = new TimelineFold();
    const filter = new RoutineFilter();
    for (let count = 0; count < 20; count += 1) {
      const call = script.intend('GET /orders', QUERY, 'watch', { purpose: count % 2 === 0 ? 'confirm' : 'lookup' });
      script.attempt(call, 'GET /orders', QUERY, 10, 'watch');
      script.append('call.settled', { call, kind: 'unresolved', message: 'reset' }, 'watch');
    }
    const rows = script.entries.flatMap((entry) => filter.push(entry, fold.apply(entry)));
    expect([...rows, ...filter.end()].filter((row) => row.kind === 'answer')).toHaveLength(20);
    expect(rows.filter((row) => row.kind === 'request')).toHaveLength(20);
  });
});
