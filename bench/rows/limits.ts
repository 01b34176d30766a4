/** Measures row 21: what a check of the limits costs after many orders of the same run. */
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import type { LimitRules } from '../../src/venue/limits/check.ts';
import type { VenueCall } from '../../src/venue/port.ts';
import { measureRatio, readCpuMs } from '../measure.ts';
import { AT, createOrderRecord, createTerms } from '../open-orders.ts';
import type { Row } from './row.ts';

const MANY = 100_000;
const FEW = 100;
/** So many that a collection of garbage, or a compilation, is a small part of a round. */
const CHECKS = 5000;
const RULES: LimitRules = { maxPosition: '1000000', maxRunNotional: '1000000000000', maxOpenOrders: 100 };

/** The facts of a run with `count` orders, each filled and ended, that checks the next one. */
function createChecker(count: number): () => number {
  const tracker = new OrderTracker();
  const gate = new LimitFactsFold(tracker, {});
  let at = AT;
  const apply = (type: string, data: object) => {
    at += 1000;
    const entry = { type, data, at, step: 'steps/o' } as unknown as Entry;
    gate.apply(entry);
    tracker.apply(entry);
  };
  const exchange = (call: string, endpoint: string, params: object, result: object, more = {}) => {
    apply('call.intended', { call, endpoint, params, class: 'enter', ...more });
    apply('call.attempted', { call });
    apply('call.settled', { call, kind: 'confirmed', result: [result], sentAt: at });
  };
  for (let n = 0; n < count; n += 1) {
    const [terms, record] = [createTerms(n), createOrderRecord(n)];
    const { id } = record;
    exchange(
      `${n}#1`,
      'POST /orders',
      { market_id: terms.market },
      { id, client_order_id: terms.clientOrderId },
      { intent: terms },
    );
    const fill = {
      id: `f${n}`,
      order_id: id,
      market_id: terms.market,
      side: 'long',
      price: terms.price,
      size: terms.size,
    };
    exchange(`${n}#2`, 'GET /fills/order', { order_id: id }, { ...fill, fee: '0', timestamp: at * 1000 });
    exchange(`${n}#3`, 'GET /orders', { order_id: id }, { ...record, status: 'closed', total_filled_size: terms.size });
  }
  const intent = { ...createTerms(0), clientOrderId: 'rb-next' };
  const call = {
    id: 'next#1',
    step: 'steps/next',
    endpoint: 'POST /orders',
    params: {},
    intent,
  } as unknown as VenueCall;
  return () => {
    const begun = readCpuMs();
    for (let n = 0; n < CHECKS; n += 1) {
      const verdict = gate.check(call, RULES, at);
      if (!verdict.ok) throw new Error(verdict.message);
    }
    return readCpuMs() - begun;
  };
}

export const LIMIT_ROWS: readonly Row[] = [
  {
    id: '21',
    what: `a check of the limits after ${MANY} orders, in processor time`,
    against: `the same after ${FEW}`,
    pass: 1.2,
    excellent: 1.1,
    measure: () => {
      const [afterMany, afterFew] = [createChecker(MANY), createChecker(FEW)];
      // The first check folds the orders, and the code is not compiled yet: neither is the cost of a check.
      for (const warmUp of [afterMany, afterFew]) warmUp();
      return measureRatio(15, afterMany, afterFew);
    },
  },
];
