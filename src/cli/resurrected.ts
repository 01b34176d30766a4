/**
 * Orders of ours that work at the venue although the journal of an earlier run says that they ended: what that run made of
 * them was wrong, and nobody watches them any more.
 */
import { readEntry } from '../journal/chain.ts';
import type { JournalReader } from '../journal/store.ts';
import { isTerminal, type OrderState } from '../venue/order.ts';

export interface Resurrected {
  readonly clientOrderId: string;
  /** The run whose order it was, and what its journal calls the order. */
  readonly run: string;
  readonly state: OrderState;
}

const PAGE_ENTRIES = 5_000;

/** Those of the orders, named by client order id, that a run of this account calls ended. Reads the newest runs first, and no more of them than needed. */
export async function resurrectedOrders(
  store: Pick<JournalReader, 'read' | 'runs'>,
  account: string,
  clientOrderIds: readonly string[],
): Promise<readonly Resurrected[]> {
  const wanted = new Set(clientOrderIds);
  const found: Resurrected[] = [];
  for (const { run } of await store.runs({ account })) {
    if (wanted.size === 0) break;
    for (const [clientOrderId, state] of await lastStates(store, run, wanted)) {
      wanted.delete(clientOrderId);
      if (isTerminal(state)) found.push({ clientOrderId, run, state });
    }
  }
  return found;
}

async function lastStates(
  store: Pick<JournalReader, 'read'>,
  run: string,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, OrderState>> {
  const states = new Map<string, OrderState>();
  for (let after: number | undefined; ; ) {
    const page = await store.read(run, { limit: PAGE_ENTRIES, ...(after === undefined ? {} : { after }) });
    for (const stored of page) {
      if (stored.type !== 'order.moved') continue;
      const entry = readEntry(stored);
      if (entry.type === 'order.moved' && wanted.has(entry.data.clientOrderId))
        states.set(entry.data.clientOrderId, entry.data.to as OrderState);
    }
    after = page.at(-1)?.seq;
    if (page.length < PAGE_ENTRIES) return states;
  }
}
