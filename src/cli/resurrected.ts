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

/** A page is read in some milliseconds, in which a store on this machine holds up everything else. */
const PAGE_ENTRIES = 2_000;
/** How many runs are looked through: an order that no recent one knows belongs to another journal, and was shown as such. */
const NEWEST_RUNS = 200;

/**
 * Those of the orders, named by client order id, that a live run of this account calls ended. Reads the newest runs first, and
 * no more of them than needed. `breathe`: gives way between pages, for the run that begins has beats to send meanwhile.
 */
export async function resurrectedOrders(
  store: Pick<JournalReader, 'read' | 'runs'>,
  account: string,
  clientOrderIds: readonly string[],
  breathe: () => Promise<void>,
): Promise<readonly Resurrected[]> {
  const wanted = new Set(clientOrderIds);
  const found: Resurrected[] = [];
  await breathe();
  for (const { run, mode } of await store.runs({ account, limit: NEWEST_RUNS })) {
    if (wanted.size === 0) break;
    if (mode !== 'live') continue;
    for (const [clientOrderId, state] of await lastStates(store, run, wanted, breathe)) {
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
  breathe: () => Promise<void>,
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
    await breathe();
    if (page.length < PAGE_ENTRIES) return states;
  }
}
