/** Rows 12 and 13: what an open order weighs and what an event of its life costs. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createActor, createMachine } from 'xstate';
import type { Entry } from '../../src/journal/entry.ts';
import { newOrder } from '../../src/venue/order/context.ts';
import { observed, stepOrder } from '../../src/venue/order/life.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { readAnswer } from '../../src/venue/wire/answer.ts';
import { inTurns, median, ratio } from '../measure.ts';
import { AT, openOrders, orderRecord, terms } from '../open-orders.ts';
import type { Row } from './row.ts';

const ORDERS = 1000;
const EVENTS = 20_000;

interface Weight {
  readonly heapPerOrder: number;
  readonly rssMb: number;
}

function weightOf(what: 'orders' | 'actors'): Weight {
  const program = fileURLToPath(new URL('./heap.mjs', import.meta.url));
  const { stdout } = spawnSync(process.execPath, ['--expose-gc', program, what, String(ORDERS)], { encoding: 'utf8' });
  return JSON.parse(stdout) as Weight;
}

let weights: ReturnType<typeof inTurns<Weight>> | undefined;

async function weightRatio(pick: (weight: Weight) => number): Promise<number> {
  weights ??= inTurns(
    5,
    () => weightOf('orders'),
    () => weightOf('actors'),
  );
  return median((await weights).map((round) => pick(round.ours) / pick(round.theirs)));
}

function perEvent(send: (n: number) => void): number {
  const begun = performance.now();
  for (let n = 0; n < EVENTS; n += 1) send(n);
  return performance.now() - begun;
}

function ourEvents(): number {
  let order = stepOrder(newOrder(terms(1), AT), { type: 'SUBMIT', at: AT }).snapshot;
  const record = orderRecord(1);
  return perEvent((n) => {
    order = stepOrder(order, observed(record, AT + n, AT + n)).snapshot;
  });
}

function theirEvents(): number {
  const actor = createActor(createMachine({ initial: 'open', states: { open: { on: { SEEN: 'open' } } } })).start();
  return perEvent(() => actor.send({ type: 'SEEN' }));
}

const page = JSON.stringify({
  success: true,
  error: '',
  result: Array.from({ length: ORDERS }, (_, n) => orderRecord(n)),
});

/** Takes in one answer with a thousand orders that stand as they did. */
function reconciler(): () => number {
  const tracker = openOrders(ORDERS);
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

/** The same by hand: parsed, validated, each compared with what is known. */
function comparer(): () => number {
  const sample = orderRecord(0);
  const properties = Object.fromEntries(Object.entries(sample).map(([name, value]) => [name, { type: typeof value }]));
  const validate = new Ajv2020().compile({
    type: 'array',
    items: { type: 'object', required: Object.keys(sample), properties },
  });
  const known = new Map(Array.from({ length: ORDERS }, (_, n) => [orderRecord(n).id, JSON.stringify(orderRecord(n))]));
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
    measure: () => weightRatio(({ heapPerOrder }) => heapPerOrder),
  },
  {
    id: '12',
    what: `resident memory with ${ORDERS} open orders`,
    against: 'the same process with as many bare actors',
    pass: 1.4,
    excellent: 1.15,
    measure: () => weightRatio(({ rssMb }) => rssMb),
  },
  {
    id: '13',
    what: 'an event of an order, no journal',
    against: 'actor.send',
    pass: 4,
    excellent: 2,
    measure: () => ratio(9, ourEvents, theirEvents),
  },
  {
    id: '13',
    what: `${ORDERS} orders read back unchanged`,
    against: 'JSON.parse, ajv and a comparison',
    pass: 4,
    excellent: 2,
    measure: () => ratio(30, reconciler(), comparer()),
  },
];
