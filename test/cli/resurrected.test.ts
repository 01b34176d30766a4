import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { resurrectedOrders } from '../../src/cli/resurrected.ts';
import { MemoryStore } from '../../src/journal/memory-store.ts';
import { JournalWriter } from '../../src/journal/writer.ts';

const START = Date.UTC(2026, 0, 5, 8);

/** A journal that says what became of these orders, by client order id. */
async function kept(store: MemoryStore, run: string, orders: Readonly<Record<string, readonly string[]>>) {
  const writer = new JournalWriter(store, {
    run,
    account: 'main',
    def: '0123456789abcdef',
    boot: 'virtual',
    epoch: 1,
    actor: 'engine',
    clock: new VirtualClock(START),
    durable: false,
  });
  writer.append('run.started', {
    runbook: run,
    file: 'one.yaml',
    mode: 'live',
    trigger: 'manual',
    inputs: {},
    seed: 1,
    startedAt: START,
    sources: [],
    settings: {},
    engine: 'test',
    account: 'main',
  });
  for (const [clientOrderId, states] of Object.entries(orders))
    for (const to of states)
      writer.append('order.moved', { clientOrderId, from: 'draft', to, event: 'P_OPEN', filled: '0' }, 'steps/o');
  await writer.close();
}

describe('orders that are open although a journal calls them ended', () => {
  it('are those whose last word is an end, with the run that said so', async () => {
    const store = new MemoryStore();
    await kept(store, 'first', { ended: ['open', 'rejected'], again: ['canceled', 'open'] });
    await kept(store, 'second', { left: ['open'], other: ['closed'] });
    expect(await resurrectedOrders(store, 'main', ['ended', 'again', 'left', 'lost'])).toEqual([
      { clientOrderId: 'ended', run: 'first', state: 'rejected' },
    ]);
    expect(await resurrectedOrders(store, 'someone else', ['ended'])).toEqual([]);
  });
});
