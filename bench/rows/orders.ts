/** Measures rows 12 and 13: the memory of an open order, and the cost of an event of its life. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createActor, createMachine } from 'xstate';
import type { Entry } from '../../src/journal/entry.ts';
import { createOrder } from '../../src/venue/order/context.ts';
import { stepOrder, toObservation } from '../../src/venue/order/life.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { readAnswer } from '../../src/venue/wire/answer.ts';
import { alternate, computeMedian, measureRatio } from '../measure.ts';
import { AT, createOrderRecord, createTerms, trackOpenOrders } from '../open-orders.ts';
import type { Row } from './row.ts';

const ORDERS = 1000;
const EVENTS = 20_000;

interface Weight {
  readonly heapPerOrder: number;
  readonly rssMb: number;
}

function weigh(what: 'orders' | 'actors'): Weight {
  const program = fileURLToPath(new URL('./heap.mjs', import.meta.url));
  const { stdout } = spawnSync(process.execPath, ['--expose-gc', program, what, String(ORDERS)], { encoding: 'utf8' });
  return JSON.parse(stdout) as Weight;
}

let weights: ReturnType<typeof alternate<Weight>> | undefined;

async function measureWeightRatio(pick: (weight: Weight) => number): Promise<number> {
  weights ??= alternate(
    5,
    () => weigh('orders'),
    () => weigh('actors'),
  );
  return computeMedian((await weights).map((round) => pick(round.ours) / pick(round.theirs)));
}

function measureEvents(send: (n: number) => void): number {
  const begun = performance.now();
  for (let n = 0; n < EVENTS; n += 1) send(n);
  return performance.now() - begun;
}

function measureOurEvents(): number {
  let order = stepOrder(createOrder(createTerms(1), AT), { type: 'SUBMIT', at: AT }).snapshot;
  const record = createOrderRecord(1);
  return measureEvents((n) => {
    order = stepOrder(order, toObservation(record, AT + n, AT + n)).snapshot;
  });
}

function measureTheirEvents(): number {
  const actor = createActor(createMachine({ initial: 'open', states: { open: { on: { SEEN: 'open' } } } })).start();
  return measureEvents(() => actor.send({ type: 'SEEN' }));
}

const page = JSON.stringify({
  success: true,
  error: '',
  result: Array.from({ length: ORDERS }, (_, n) => createOrderRecord(n)),
});

/** Applies one answer with a thousand unchanged orders. */
function createReconciler(): () => number {
  const tracker = trackOpenOrders(ORDERS);
  let turn = 0;
  return () => {
    const begun = performance.now();
    const call = `list#${++turn}`;
    const envelope = { at: AT + turn, step: 'list' };
    const verdict = readAnswer('GET /orders', { status: 200, headers: {}, body: page }, SIMULATED_PROFILE);
    if (verdict.kind !== 'confirmed') throw new Error('the page could not be read');
    tracker.apply({
      ...envelope,
      type: 'call.intended',
      data: { call, endpoint: 'GET /orders', params: { status: 'open' }, class: 'read' },
    } as unknown as Entry);
    tracker.apply({
      ...envelope,
      type: 'call.settled',
      data: { call, kind: 'confirmed', result: verdict.result, sentAt: AT + turn },
    } as unknown as Entry);
    return performance.now() - begun;
  };
}

/** Does the same by hand: parses, validates and compares each order with the known one. */
function createComparer(): () => number {
  const sample = createOrderRecord(0);
  const properties = Object.fromEntries(Object.entries(sample).map(([name, value]) => [name, { type: typeof value }]));
  const validate = new Ajv2020().compile({
    type: 'array',
    items: { type: 'object', required: Object.keys(sample), properties },
  });
  const known = new Map(
    Array.from({ length: ORDERS }, (_, n) => [createOrderRecord(n).id, JSON.stringify(createOrderRecord(n))]),
  );
  return () => {
    const begun = performance.now();
    const { result } = JSON.parse(page) as { result: { id: string }[] };
    if (!validate(result)) throw new Error('the page is not valid');
    for (const record of result)
      if (known.get(record.id) !== JSON.stringify(record)) throw new Error('an order has changed');
    return performance.now() - begun;
  };
}

export const ORDER_ROWS: readonly Row[] = [
  {
    id: '12',
    what: 'heap of an open order',
    against: 'a bare XState actor',
    pass: 2,
    excellent: 1.3,
    measure: () => measureWeightRatio(({ heapPerOrder }) => heapPerOrder),
  },
  {
    id: '12',
    what: `resident memory with ${ORDERS} open orders`,
    against: 'the same process with as many bare actors',
    pass: 1.4,
    excellent: 1.15,
    measure: () => measureWeightRatio(({ rssMb }) => rssMb),
  },
  {
    id: '13',
    what: 'an event of an order, no journal',
    against: 'actor.send',
    pass: 4,
    excellent: 2,
    measure: () => measureRatio(9, measureOurEvents, measureTheirEvents),
  },
  {
    id: '13',
    what: `${ORDERS} orders read back unchanged`,
    against: 'JSON.parse, ajv and a comparison',
    pass: 4,
    excellent: 2,
    measure: () => measureRatio(30, createReconciler(), createComparer()),
  },
];
