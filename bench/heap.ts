/** Holds N open orders, or N bare actors, and prints the memory that they use: `heap.mjs orders|actors N`. */
import { createActor, createMachine } from 'xstate';
import { trackOpenOrders } from './open-orders.ts';

const [what, count = '0'] = process.argv.slice(2);
const collect = (globalThis as { gc?: () => void }).gc ?? (() => {});

function measureHeap(): number {
  for (let round = 0; round < 3; round += 1) collect();
  return process.memoryUsage().heapUsed;
}

const machine = createMachine({
  initial: 'open',
  context: { price: '0', size: '0' },
  states: { open: { on: { SEEN: 'open' } } },
});
const make = (n: number) =>
  what === 'orders' ? trackOpenOrders(n) : Array.from({ length: n }, () => createActor(machine).start());

make(10);
const before = measureHeap();
const held = make(Number(count));
const heapPerOrder = (measureHeap() - before) / Number(count);
const rssMb = process.memoryUsage().rss / 2 ** 20;
process.stdout.write(
  JSON.stringify({ heapPerOrder, rssMb, held: Array.isArray(held) ? held.length : held.orders().length }),
);
