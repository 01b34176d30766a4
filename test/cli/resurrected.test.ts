import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { resurrectedOrders } from '../../src/cli/resurrected.ts';
import { MemoryStore } from '../../src/journal/memory-store.ts';
import { JournalWriter } from '../../src/journal/writer.ts';

const START = Date.UTC(2026, 0, 5, 8);

/** A journal that says what became of these orders, by client order id. */
async function kept(
  store: MemoryStore,
  run: string,
  orders: Readonly<Record<string, readonly string[]>>,
  mode: 'live' | 'simulated' = 'live',
) {
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
    mode,
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
    await kept(store, 'rehearsed', { lost: ['closed'] }, 'simulated');
    const look = (account: string, ids: readonly string[]) =>
      resurrectedOrders(store, account, ids, () => Promise.resolve());
    expect(await look('main', ['ended', 'again', 'left', 'lost'])).toEqual([
      { clientOrderId: 'ended', run: 'first', state: 'rejected' },
    ]);
    expect(await look('someone else', ['ended'])).toEqual([]);
  });

  it('are looked for a page at a time, giving way before each', async () => {
    const store = new MemoryStore();
    await kept(store, 'long', { ended: [...Array.from({ length: 4_500 }, () => 'open'), 'closed'] });
    let pauses = 0;
    await resurrectedOrders(store, 'main', ['ended'], async () => {
      pauses += 1;
    });
    expect(pauses).toBe(4);
  });
});
