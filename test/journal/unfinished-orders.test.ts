import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RunPositions } from '../../src/engine/positions.ts';
import { findMissing } from '../../src/engine/readings/completion.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { isTerminal } from '../../src/venue/order/states.ts';
import { computeOpened, NOTHING_BESIDE } from '../../src/venue/position/opened.ts';
import { fill, record, T0, terms } from '../venue/order-samples.ts';

const MARKETS = ['BTC-USD', 'ETH-USD'];

/** Both sides in both markets, and a stop that closes what others hold. */
const KINDS = [
  ['long', 'limit'],
  ['long', 'limit'],
  ['short', 'limit'],
  ['short', 'stop_loss'],
  ['short', 'stop_loss'],
] as const;

/** Orders of a run, numbered from 0, whose records and fills arrive in any sequence. */
class Orders {
  readonly tracker = new OrderTracker();
  readonly alarms: string[] = [];
  private calls = 0;
  private now = T0;

  place(number: number, answered: boolean): void {
    const [side, type] = KINDS[number % KINDS.length] as (typeof KINDS)[number];
    const market = MARKETS[number % 2] as string;
    const intent = { ...terms({ side, type }), clientOrderId: `rb${number}`, market };
    const call = this.intend('POST /orders', {}, { intent });
    this.append('call.attempted', { call });
    if (answered) this.confirm(call, [{ id: nameId(number), client_order_id: intent.clientOrderId }]);
    else this.append('call.settled', { call, kind: 'unresolved', message: 'lost' });
  }
  cancel(number: number): void {
    const call = this.intend('DELETE /orders', { order_id: nameId(number) }, { clientOrderId: `rb${number}` });
    this.append('call.attempted', { call });
    this.confirm(call, [{ id: nameId(number), status: 'canceled' }]);
  }
  show(number: number, status: string, filled: string): void {
    const shown = record(status, {
      id: nameId(number),
      client_order_id: `rb${number}`,
      market_id: MARKETS[number % 2] as string,
      total_filled_size: filled,
    });
    this.confirm(this.intend('GET /orders', { order_id: nameId(number) }), [shown]);
  }
  sweep(): void {
    this.confirm(this.intend('DELETE /orders/cancel_all', {}), []);
    this.append('deadman.moved', { event: 'assumed_fired' });
  }
  /** `back`: how many ms earlier it traded than it is read. */
  fill(number: number, size: string, back = 0): void {
    const { side } = this.tracker.get(`rb${number}`)?.intent ?? {};
    const at = { market_id: MARKETS[number % 2] as string, timestamp: (this.now - back) * 1000 };
    const one = fill(`f${this.calls}`, size, { order_id: nameId(number), ...(side && { side }), ...at });
    this.confirm(this.intend('GET /fills/order', { order_id: nameId(number) }), [one]);
  }

  private intend(endpoint: string, params: object, more: object = {}): string {
    const call = `steps/o#${++this.calls}`;
    this.append('call.intended', { call, endpoint, params, class: 'enter', ...more });
    return call;
  }
  private confirm(call: string, result: readonly object[]): void {
    this.append('call.settled', { call, kind: 'confirmed', result, sentAt: this.now });
  }
  private append(type: string, data: object): void {
    this.now += 4000;
    const changes = this.tracker.apply({ type, data, at: this.now, step: 'steps/o' } as unknown as Entry);
    for (const { order, alarms } of changes)
      for (const { alarm, detail } of alarms)
        this.alarms.push([order.intent.clientOrderId, alarm, detail['beyond']].join(' '));
  }
}

const nameId = (number: number) => `${MARKETS[number % 2]}@${number}`;

it('are those that may work, or of which something is still to be read, and no others', () => {
  const number = fc.nat(9);
  const act = fc.oneof(
    fc.record({ act: fc.constant('place' as const), number, answered: fc.boolean() }),
    fc.record({ act: fc.constant('cancel' as const), number }),
    fc.record({
      act: fc.constant('show' as const),
      number,
      status: fc.constantFrom('open', 'closed', 'canceled', 'rejected'),
      filled: fc.constantFrom('0', '0.1', '0.2'),
    }),
    fc.record({
      act: fc.constant('fill' as const),
      number,
      size: fc.constantFrom('0.1', '0.2'),
      back: fc.constantFrom(0, 9000, 30_000),
    }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const orders = new Orders();
      const { tracker } = orders;
      const kept = new RunPositions(tracker);
      for (const each of acts) {
        if (each.act === 'place') orders.place(each.number, each.answered);
        else if (tracker.get(`rb${each.number}`) === undefined) continue;
        else if (each.act === 'cancel') orders.cancel(each.number);
        else if (each.act === 'show') orders.show(each.number, each.status, each.filled);
        else orders.fill(each.number, each.size, each.back);
        const expected = tracker
          .orders()
          .filter(({ snapshot }) => !isTerminal(snapshot.state) || findMissing(snapshot) !== undefined);
        expect(tracker.unfinished()).toEqual(expected);
        // Positions that follow each change are those that are added up anew.
        const anew = new RunPositions(tracker);
        for (const market of MARKETS) {
          expect(kept.get(market).size.toFixed()).toBe(anew.get(market).size.toFixed());
          const here = tracker.orders().filter(({ intent }) => intent.market === market);
          expect(kept.getHeld(market).toFixed()).toBe(computeOpened(here, [], NOTHING_BESIDE).toFixed());
        }
      }
    }),
    { numRuns: 60 },
  );
});

it('cost what has changed: what is held is known without a look at the orders before', () => {
  const orders = new Orders();
  for (let number = 0; number < 20; number += 2) {
    orders.place(number, true);
    orders.fill(number, '0.1');
    orders.show(number, 'closed', '0.1');
  }
  const positions = new RunPositions(orders.tracker);
  const before = positions.getHeld('BTC-USD');
  for (const order of orders.tracker.orders())
    Object.defineProperty(order, 'snapshot', {
      get: () => {
        throw new Error('an order that is over was read again');
      },
    });
  orders.place(20, true);
  orders.fill(20, '0.1');
  expect(positions.getHeld('BTC-USD').minus(before).toFixed()).toBe('0.1');
  orders.sweep();
  expect(orders.tracker.get('rb20')?.snapshot.state).toBe('canceling');
  expect(orders.tracker.countsReadings).toBe(false);
});

describe('a position stop that closed more than the run held', () => {
  /** Orders 0 and 10 buy in the market in which order 4 is the stop. */
  const ENTRY = 0;
  const STOP = 4;
  const LADDER = 10;

  function makeOrders(filled: string): Orders {
    const orders = new Orders();
    for (const number of [ENTRY, STOP]) orders.place(number, true);
    if (filled !== '0') {
      orders.fill(ENTRY, filled);
      orders.show(ENTRY, 'closed', filled);
    }
    return orders;
  }

  it('is an alarm once it has ended and its fills are read, once', () => {
    const orders = makeOrders('0.1');
    orders.fill(STOP, '0.1');
    orders.show(STOP, 'closed', '0.3');
    expect(orders.alarms).toEqual([]);
    orders.fill(STOP, '0.2');
    orders.show(STOP, 'closed', '0.3');
    expect(orders.alarms).toEqual(['rb4 StopClosedMore 0.2']);
  });

  it('is none while an order of the other side may have filled unseen, nor where it shows that it has', () => {
    const orders = makeOrders('0.1');
    orders.place(LADDER, true);
    orders.show(LADDER, 'open', '0');
    orders.fill(STOP, '0.3');
    orders.show(STOP, 'closed', '0.3');
    expect(orders.alarms).toEqual([]);
    orders.fill(LADDER, '0.2', 30_000);
    orders.show(LADDER, 'closed', '0.2');
    expect(orders.alarms).toEqual([]);
  });

  it('is one as soon as those orders have ended without it', () => {
    const orders = makeOrders('0.1');
    orders.place(LADDER, true);
    orders.fill(STOP, '0.3');
    orders.show(STOP, 'closed', '0.3');
    orders.cancel(LADDER);
    expect(orders.alarms).toEqual([]);
    orders.show(LADDER, 'canceled', '0');
    expect(orders.alarms).toEqual(['rb4 StopClosedMore 0.2']);
  });

  it('is none where the run has opened nothing: it protects the position of others', () => {
    const orders = makeOrders('0');
    orders.show(ENTRY, 'canceled', '0');
    orders.fill(STOP, '0.3');
    orders.show(STOP, 'closed', '0.3');
    expect(orders.alarms).toEqual([]);
  });
});
