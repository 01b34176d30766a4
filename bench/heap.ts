/** A process that holds so many open orders, or as many bare actors, and tells what they weigh: `heap.mjs orders|actors N`. */
import { createActor, createMachine } from 'xstate';
import { openOrders } from './open-orders.ts';

const [what, count = '0'] = process.argv.slice(2);
const collect = (globalThis as { gc?: () => void }).gc ?? (() => {});

function heap(): number {
  for (let round = 0; round < 3; round += 1) collect();
  return process.memoryUsage().heapUsed;
}

const machine = createMachine({
  initial: 'open',
  context: { price: '0', size: '0' },
  states: { open: { on: { SEEN: 'open' } } },
});
const make = (n: number) =>
  what === 'orders' ? openOrders(n) : Array.from({ length: n }, () => createActor(machine).start());

make(10);
const before = heap();
const held = make(Number(count));
const heapPerOrder = (heap() - before) / Number(count);
const rssMb = process.memoryUsage().rss / 2 ** 20;
process.stdout.write(
  JSON.stringify({ heapPerOrder, rssMb, held: Array.isArray(held) ? held.length : held.orders().length }),
);
