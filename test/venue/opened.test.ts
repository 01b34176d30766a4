import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimal } from '../../src/base/decimal.ts';
import { createOrder, type OrderSnapshot } from '../../src/venue/order/context.ts';
import { sumFills } from '../../src/venue/order/fills.ts';
import {
  type Beside,
  computeOpened,
  NOTHING_BESIDE,
  OpenedPosition,
  type OwnOrder,
} from '../../src/venue/position/opened.ts';
import type { FillRecord } from '../../src/venue/records.ts';
import { itHolds } from '../property.ts';
import { fill, T0, terms } from './order-samples.ts';

interface Numbered extends OwnOrder {
  readonly place: number;
  snapshot: OrderSnapshot;
}

type Shape = readonly [side: 'long' | 'short', isStop: boolean, held: number];

function makeOrder([side, isStop, held]: Shape, place: number): Numbered {
  const intent = terms({ clientOrderId: `rb${place}`, side, type: isStop ? 'stop_loss' : 'limit', size: '1' });
  return { intent, createdAt: T0, place, snapshot: createOrder(intent, T0), provenHeld: String(held) };
}

/** As the order machine has it once these fills are read. */
function showFills(order: Numbered, fills: readonly FillRecord[]): void {
  const { state, context } = order.snapshot;
  const filled = sumFills(fills);
  const byId = new Map(fills.map((each) => [each.id, each]));
  order.snapshot = { state, context: { ...context, fills: byId, filled, recordFilled: filled } };
}

/** Everything that it says. */
function read(position: OpenedPosition): object {
  const beyond = position.listBeyond().map(({ order, size }) => [order.intent.clientOrderId, size.toFixed()]);
  const { net, byStops, hasOwn } = position;
  return { net: net.toFixed(), byStops: byStops.toFixed(), hasOwn, beyond: beyond.sort() };
}

const SHAPES = fc.array(
  fc.tuple(fc.constantFrom('long', 'short'), fc.boolean(), fc.integer({ min: -3, max: 3 })) as fc.Arbitrary<Shape>,
  { minLength: 2, maxLength: 6 },
);
/** Many more than the last of which the sums are kept. */
const TRADES = fc.array(
  fc.record({
    order: fc.nat(5),
    size: fc.integer({ min: 1, max: 4 }),
    /** How much later than the trade it is read, in trades. */
    late: fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(250) }),
    /** Its size once it is corrected. */
    corrected: fc.option(fc.integer({ min: 5, max: 6 }), { freq: 30 }),
  }),
  { minLength: 150, maxLength: 300 },
);

describe('what a run has opened', () => {
  itHolds('is the same whatever the order in which its fills are read, and however many came before', 40, (numRuns) => {
    fc.assert(
      fc.property(SHAPES, TRADES, (shapes, trades) => {
        const orders = shapes.map(makeOrder);
        const position = new OpenedPosition();
        const known = orders.map(() => new Map<string, FillRecord>());
        const readings = trades.flatMap(({ order, size, late, corrected }, index) => {
          const of = order % orders.length;
          const make = (now: number) => fill(`f${index}`, String(now), { timestamp: (T0 + index) * 1000 });
          const first = { when: index + late, of, shown: make(size) };
          return corrected === null ? [first] : [first, { when: index + late + 3, of, shown: make(corrected) }];
        });
        for (const { of, shown } of readings.sort((a, b) => a.when - b.when)) {
          const [order, fills] = [orders[of] as Numbered, known[of] as Map<string, FillRecord>];
          fills.set(shown.id, shown);
          showFills(order, [...fills.values()]);
          position.update(order);
        }
        const whole = new OpenedPosition();
        const inTurn = [...known.flatMap((fills, of) => [...fills.values()].map((shown) => ({ of, shown })))];
        const shownOf = orders.map(() => [] as FillRecord[]);
        for (const { of, shown } of inTurn.sort((a, b) => a.shown.timestamp - b.shown.timestamp)) {
          shownOf[of]?.push(shown);
          showFills(orders[of] as Numbered, shownOf[of] ?? []);
          whole.update(orders[of] as Numbered);
        }
        expect(read(position)).toEqual(read(whole));
        const hasFilled = ({ intent, snapshot: { context } }: Numbered) =>
          intent.type === 'limit' && context.fills.size > 0;
        expect(position.hasOwn).toBe(orders.some(hasFilled));
        expect(position.net.eq(computeOpened(orders, [], NOTHING_BESIDE))).toBe(true);
      }),
      { numRuns },
    );
  });

  itHolds('lists what others traded beside some of the orders as if each trade were listed', 100, (numRuns) => {
    fc.assert(
      fc.property(SHAPES, TRADES, fc.nat(), fc.nat(300), (shapes, trades, own, from) => {
        const orders = shapes.map(makeOrder);
        const position = new OpenedPosition();
        const isOwn = ({ place }: Numbered) => place === own % orders.length;
        const fills = orders.map(() => [] as FillRecord[]);
        const others: Beside['trades'][number][] = [];
        for (const [index, { order: of, size }] of trades.entries()) {
          const order = orders[of % orders.length] as Numbered;
          if (isOwn(order) && index < from) continue;
          const shown = fill(`f${index}`, String(size), { timestamp: (T0 + index) * 1000 });
          fills[order.place]?.push(shown);
          showFills(order, fills[order.place] ?? []);
          position.update(order);
          if (!isOwn(order)) others.push({ at: shown.timestamp, order, size: decimal(shown.size) });
        }
        const some = orders.filter(isOwn);
        const beside = position.listBeside(some);
        expect(beside.trades.length).toBeLessThanOrEqual(Math.max(0, trades.length - from));
        const listed = computeOpened(some, [], { ...NOTHING_BESIDE, trades: others });
        expect(computeOpened(some, [], beside).toFixed()).toBe(listed.toFixed());
      }),
      { numRuns },
    );
  });

  it('counts a fill that is read after hundreds that traded behind it', () => {
    const position = new OpenedPosition();
    const stop = makeOrder(['short', true, 0], 0);
    const orders = Array.from({ length: 300 }, (_, index) => makeOrder(['long', false, 0], index + 1));
    showFills(stop, [fill('stop', '5', { side: 'short', timestamp: (T0 + 2) * 1000 })]);
    position.update(stop);
    expect(position.listBeyond().map(({ size }) => size.toFixed())).toEqual(['5']);
    for (const order of orders.slice(1)) {
      showFills(order, [fill(`f${order.place}`, '1', { timestamp: (T0 + 2 + order.place) * 1000 })]);
      position.update(order);
    }
    const [first] = orders;
    showFills(first as Numbered, [fill('first', '7', { timestamp: T0 * 1000 })]);
    position.update(first as Numbered);
    expect([position.net.eq(decimal('301')), position.byStops.isZero(), position.listBeyond()]).toEqual([
      true,
      true,
      [],
    ]);
  });
});
