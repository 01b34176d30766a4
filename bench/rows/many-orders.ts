/** Measures row 21b: what an order costs after many others of the same run, and what the replay of such a run costs. */
import { replayRun } from '../../src/app/run/virtual-run.ts';
import { type RecordedRun, readRecordedRun } from '../../src/journal/reading.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { readCpuMs } from '../measure.ts';
import { writeManyOrders } from '../runbooks.ts';
import { execute, loadRunbook } from '../trials/product.ts';
import type { Row } from './row.ts';

const MANY = 50_000;
/** How many orders each figure is the mean of; those before the first are slower, because their code is not compiled yet. */
const WINDOW = 3000;
/** The last entries reach the store with the end of the run, which is not the cost of an order. */
const BEHIND = 500;

/** A store that notes when each order was sent, in ms of processor. */
class TimedStore extends MemoryStore {
  readonly sentAt: number[] = [];

  override append(...given: Parameters<MemoryStore['append']>): ReturnType<MemoryStore['append']> {
    for (const { type, line } of given[0])
      if (type === 'call.attempted' && line.includes('"method":"POST"')) this.sentAt.push(readCpuMs());
    return super.append(...given);
  }
}

let recorded: Promise<{ readonly sentAt: readonly number[]; readonly run: RecordedRun }> | undefined;

/** The run of both rows. */
function record() {
  recorded ??= (async () => {
    const store = new TimedStore();
    await execute(loadRunbook(writeManyOrders(MANY)), store, 'bench');
    return { sentAt: store.sentAt, run: await readRecordedRun(store, 'bench') };
  })();
  return recorded;
}

async function measureCpu(work: () => Promise<void> | void): Promise<number> {
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
      const { sentAt } = await record();
      const last = sentAt.length - BEHIND;
      const at = (order: number) => sentAt[order] as number;
      return (at(last) - at(last - WINDOW)) / (at(2 * WINDOW) - at(WINDOW));
    },
  },
  {
    id: '21b',
    what: `the replay of ${MANY} orders of a run, in processor time`,
    against: 'reading their entries',
    pass: 3,
    excellent: 2,
    measure: async () => {
      const { run } = await record();
      // The rows after this one are not to be measured beside its memory.
      recorded = undefined;
      const loaded = loadRunbook(writeManyOrders(MANY));
      const played = await measureCpu(() => replayRun(run, loaded, {}));
      const read = await measureCpu(() => {
        for (const entry of run) if (entry.seq < 1) throw new Error('an entry without a number');
      });
      return played / read;
    },
  },
];
