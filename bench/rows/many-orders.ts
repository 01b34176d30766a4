/** Measures row 21b: what an order costs after many others of the same run, and what the replay of such a run costs. */
import { join } from 'node:path';
import { replayStoredRun } from '../../src/app/run/virtual-run.ts';
import { readEntries, readFirstEntry } from '../../src/journal/reading.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { readCpuMs } from '../measure.ts';
import { writeManyOrders } from '../runbooks.ts';
import { execute, loadRunbook } from '../trials/product.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';

const MANY = 100_000;
const REPLAYED = 50_000;
/** How many orders each figure is the mean of; those before the first are slower, because their code is not compiled yet. */
const WINDOW = 3000;
/** The last entries reach the store with the end of the run, which is not the cost of an order. */
const BEHIND = 500;

/** A store that notes when each order was sent, in ms of processor, and keeps nothing. */
class TimedStore extends MemoryStore {
  readonly sentAt: number[] = [];

  override async append(entries: readonly StoredEntry[]): Promise<void> {
    for (const { type, line } of entries)
      if (type === 'call.attempted' && line.includes('"method":"POST"')) this.sentAt.push(readCpuMs());
  }
}

async function measureCpu(work: () => Promise<void>): Promise<number> {
  const begun = readCpuMs();
  await work();
  return readCpuMs() - begun;
}

export const MANY_ORDER_ROWS: readonly Row[] = [
  {
    id: '21b',
    what: `${WINDOW} orders at the end of ${MANY} of a run, in processor time`,
    against: `its orders ${WINDOW} to ${2 * WINDOW}`,
    pass: 1.2,
    excellent: 1.1,
    measure: async () => {
      const store = new TimedStore();
      await execute(loadRunbook(writeManyOrders(MANY)), store, 'bench');
      const { sentAt } = store;
      const last = sentAt.length - BEHIND;
      const at = (order: number) => sentAt[order] as number;
      return (at(last) - at(last - WINDOW)) / (at(2 * WINDOW) - at(WINDOW));
    },
  },
  {
    id: '21b',
    what: `the replay of ${REPLAYED} orders of a run, in processor time`,
    against: 'reading their entries, both from SQLite',
    pass: 3,
    excellent: 2,
    measure: async () => {
      const store = await openSqliteStore(join(getWorkFolder(), 'many-orders.db'));
      const loaded = loadRunbook(writeManyOrders(REPLAYED));
      await execute(loaded, store, 'bench');
      const first = await readFirstEntry(store, 'bench');
      const played = await measureCpu(async () => {
        const { divergence } = await replayStoredRun(store, first, loaded, {});
        if (divergence !== undefined) throw divergence;
      });
      const read = await measureCpu(async () => {
        for await (const { seq } of readEntries(store, 'bench'))
          if (seq < 1) throw new Error('an entry without a number');
      });
      await store.close();
      return played / read;
    },
  },
];
