/** Tests which readings an order needs before a step may hand it out, against every lag of its record and its fills. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimal } from '../../src/base/decimal.ts';
import {
  type CompletionProgress,
  decideCompletion,
  findEndShownAt,
  findMissing,
  findShownAt,
  mayHaveMore,
  noteReading,
} from '../../src/engine/readings/completion.ts';
import type { OrderContext, OrderEvent, OrderSnapshot } from '../../src/venue/order/context.ts';
import { createOrder } from '../../src/venue/order/context.ts';
import { stepOrder } from '../../src/venue/order/life.ts';
import { countCompletions } from '../../src/venue/order/polling.ts';
import { fill, ID, record, T0, terms } from '../venue/order-samples.ts';

function fold(order: OrderSnapshot, ...events: readonly OrderEvent[]): OrderSnapshot {
  return events.reduce((each, event) => stepOrder(each, event).snapshot, order);
}

/** An order that the venue has acknowledged and shown as open. */
function opened(): OrderSnapshot {
  return fold(
    createOrder(terms(), T0),
    { type: 'SUBMIT', at: T0 },
    { type: 'ACK', at: T0, orderId: ID },
    { type: 'P_OPEN', at: T0, sentAt: T0, record: record('open') },
  );
}

interface World {
  /** Sizes of the fills; the order has ended with the last of them, and is read from then on. */
  readonly sizes: readonly number[];
  readonly ends: 'closed' | 'canceled' | 'rejected' | 'open';
  /** How long after the end the record and the fills show it, ms. */
  readonly recordLagMs: number;
  readonly fillLagMs: number;
  readonly windowMs: number;
  /** How long an answer takes, ms. */
  readonly tookMs: number;
  /** How many fills were read before. */
  readonly known: number;
  readonly knowsRecord: boolean;
}

const worlds: fc.Arbitrary<World> = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
  ends: fc.constantFrom('closed', 'canceled', 'rejected', 'open'),
  recordLagMs: fc.integer({ min: 0, max: 70_000 }),
  fillLagMs: fc.integer({ min: 0, max: 70_000 }),
  windowMs: fc.integer({ min: 0, max: 60_000 }),
  tookMs: fc.integer({ min: 1, max: 900 }),
  known: fc.integer({ min: 0, max: 3 }),
  knowsRecord: fc.boolean(),
});

/** Reads as it decides until the end; gives the order and the instants of its readings. */
function complete(world: World): { order: OrderSnapshot; reads: [number, string][]; end: string; endAt: number } {
  const total = world.sizes.reduce((sum, size) => sum + size, 0);
  const shown = record(world.ends, { total_filled_size: String(total) });
  const fills = world.sizes.map((size, index) => fill(String(index), String(size)));
  const type = { closed: 'P_CLOSED', canceled: 'P_CANCELED', rejected: 'P_REJECTED', open: 'P_OPEN' } as const;
  let now = T0;
  const seeRecord = (sentAt: number): OrderEvent[] =>
    sentAt - T0 >= world.recordLagMs ? [{ type: type[world.ends], at: now, sentAt, record: shown }] : [];
  let order = opened();
  if (world.knowsRecord) order = fold(order, { type: type[world.ends], at: now, sentAt: now, record: shown });
  for (const each of fills.slice(0, world.known)) order = fold(order, { type: 'FILL', at: now, fill: each });
  if (world.ends === 'canceled' && !world.knowsRecord) order = fold(order, { type: 'CANCEL_FINAL', at: now });
  let progress: CompletionProgress = { since: now, windowMs: world.windowMs, reads: 0 };
  const reads: [number, string][] = [];
  for (let acts = 0; acts < 1000; acts += 1) {
    const next = decideCompletion(order, progress, now);
    if (next.kind === 'done' || next.kind === 'incomplete') return { order, reads, end: next.kind, endAt: now };
    if (next.kind === 'wait') {
      expect(next.until).toBeGreaterThan(now);
      now = next.until;
      continue;
    }
    const sentAt = now;
    reads.push([sentAt, next.what]);
    progress = noteReading(progress, next.what, sentAt);
    now += world.tookMs;
    if (next.what === 'record') order = fold(order, ...seeRecord(sentAt));
    else if (sentAt - T0 >= world.fillLagMs)
      order = fold(order, ...fills.map((each): OrderEvent => ({ type: 'FILL', at: now, fill: each })));
  }
  throw new Error('it never ends');
}

describe('the readings of an order that lacks something', () => {
  it('end, complete or not, within their time and their number', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { order, reads, end, endAt } = complete(world);
        const { filled, recordFilled } = order.context;
        expect(reads.length).toBeLessThanOrEqual(countCompletions(world.windowMs));
        expect(end === 'done').toBe(findMissing(order) === undefined);
        if (end === 'done') expect(decimal(filled).eq(decimal(recordFilled))).toBe(true);
        else expect(endAt - T0).toBeGreaterThanOrEqual(world.windowMs);
        for (const [index, [at, what]] of reads.entries()) {
          const [before, kind] = reads[index - 1] ?? [Number.NEGATIVE_INFINITY, ''];
          if (what === kind && at - T0 < world.windowMs) expect(at - before).toBeGreaterThanOrEqual(1000);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('complete every order whose record and fills are shown within the window', () => {
    fc.assert(
      fc.property(worlds, (drawn) => {
        // A record that shows the end later than its fills takes a reading more.
        const world = { ...drawn, recordLagMs: 0, fillLagMs: Math.min(drawn.fillLagMs, drawn.windowMs) };
        // One that is closed with nothing filled contradicts itself, however long it is read.
        const isUnseen = world.ends === 'closed' && world.sizes.length === 0 && world.knowsRecord;
        expect(complete(world).end).toBe(isUnseen ? 'incomplete' : 'done');
      }),
      { numRuns: 2000 },
    );
  });

  it('are none for an order whose record and fills agree', () => {
    expect(decideCompletion(opened(), { since: T0, windowMs: 60_000, reads: 0 }, T0)).toEqual({ kind: 'done' });
    const filled = fold(
      opened(),
      { type: 'P_CLOSED', at: T0, sentAt: T0, record: record('closed', { total_filled_size: '10.0' }) },
      { type: 'FILL', at: T0, fill: fill('1', '10') },
    );
    expect(findMissing(filled)).toBeUndefined();
  });

  it('are of the record where fills came first, or only an answer said that it was cancelled', () => {
    expect(findMissing(fold(opened(), { type: 'FILL', at: T0, fill: fill('1', '4') }))).toBe('record');
    expect(findMissing(fold(opened(), { type: 'CANCEL', at: T0 }, { type: 'CANCEL_FINAL', at: T0 }))).toBe('record');
  });

  it('are of both for 5 s where a record shows less filled than closed means; then it is taken at its word', () => {
    const world: World = {
      sizes: [2],
      ends: 'closed',
      recordLagMs: 0,
      fillLagMs: 0,
      windowMs: 60_000,
      tookMs: 1,
      known: 1,
      knowsRecord: true,
    };
    const { reads, end } = complete(world);
    expect([reads, end]).toEqual([
      [
        [T0, 'fills'],
        [T0 + 1, 'record'],
        [T0 + 2001, 'fills'],
        [T0 + 6001, 'record'],
      ],
      'done',
    ]);
  });

  describe('of one that never rests and ended with nothing filled', () => {
    const ended = (total = '0', ...events: readonly OrderEvent[]) =>
      fold(
        createOrder(terms({ timeInForce: 'immediate_or_cancel' }), T0),
        { type: 'SUBMIT', at: T0 },
        { type: 'ACK', at: T0, orderId: ID },
        ...events,
        { type: 'P_CANCELED', at: T0, sentAt: T0, record: record('canceled', { total_filled_size: total }) },
      );
    const part: OrderEvent = { type: 'FILL', at: T0, fill: fill('1', '4') };
    const due = T0 + 2500;
    const begun: CompletionProgress = { since: T0, windowMs: 60_000, reads: 0 };

    it('wait until a record shows what filled, and are over with the first from then on', () => {
      expect(decideCompletion(ended(), begun, T0)).toEqual({ kind: 'wait', until: due });
      expect(decideCompletion(ended(), begun, due)).toEqual({ kind: 'read', what: 'record' });
      const early = noteReading(begun, 'record', due - 1);
      expect(decideCompletion(ended(), early, due)).toEqual({ kind: 'read', what: 'record' });
      expect(decideCompletion(ended(), noteReading(begun, 'record', due), due + 1)).toEqual({ kind: 'done' });
    });

    it('wait no longer than they have time, and not at all where they have none', () => {
      expect(decideCompletion(ended(), { ...begun, windowMs: 1000 }, T0)).toEqual({ kind: 'wait', until: T0 + 1000 });
      expect(decideCompletion(ended(), { ...begun, windowMs: 0 }, T0)).toEqual({ kind: 'done' });
    });

    it.each([
      ['a record shows a part before its fills', ended('4'), 'fills'],
      ['fills show a part before a record', ended('0', part), 'record'],
    ])('are of what lacks where %s', (_, order, what) => {
      expect(decideCompletion(order, begun, T0)).toEqual({ kind: 'read', what });
      expect(findShownAt(order)).toBeUndefined();
    });

    it('are none where a part is known of both', () => {
      expect(decideCompletion(ended('4', part), begun, T0)).toEqual({ kind: 'done' });
    });
  });

  it('are none in the step of one that rested and was cancelled with nothing filled: each round of a loop would wait', () => {
    const rested = fold(opened(), {
      type: 'P_CANCELED',
      at: T0 + 10_000,
      sentAt: T0 + 10_000,
      record: record('canceled'),
    });
    const begun: CompletionProgress = { since: T0 + 10_000, windowMs: 60_000, reads: 0 };
    expect(decideCompletion(rested, begun, T0 + 10_000)).toEqual({ kind: 'done' });
    expect([findShownAt(rested), findEndShownAt(rested)]).toEqual([undefined, T0 + 12_500]);
  });

  it('are of the record where an end is shown that may be an instant of an amend', () => {
    const amended = fold(opened(), { type: 'AMEND', at: T0, price: '101' }, { type: 'AMEND_ACK', at: T0 });
    const applied: OrderEvent = { type: 'P_OPEN', at: T0, sentAt: T0, record: record('open', { price: '101' }) };
    const shown = (sentAt: number): OrderEvent => ({
      type: 'P_CANCELED',
      at: sentAt,
      sentAt,
      record: record('canceled'),
    });
    const doubted = fold(amended, applied, shown(T0 + 100));
    expect([doubted.state, findMissing(doubted)]).toEqual(['open', 'record']);
    expect(findMissing(fold(doubted, { ...applied, at: T0 + 200, sentAt: T0 + 190 }))).toBeUndefined();
    const ended = fold(doubted, shown(T0 + 2_600));
    expect([ended.state, findMissing(ended)]).toEqual(['canceled', undefined]);
  });

  it('begin at once with the first of the other kind, and with no later one', () => {
    const closed = record('closed', { total_filled_size: '10' });
    const lacksFills = fold(opened(), { type: 'P_CLOSED', at: T0, sentAt: T0, record: closed });
    const lacksRecord = fold(opened(), { type: 'FILL', at: T0, fill: fill('1', '4') });
    expect([findMissing(lacksFills), findMissing(lacksRecord)]).toEqual(['fills', 'record']);
    const first = noteReading({ since: T0, windowMs: 60_000, reads: 0 }, 'record', T0);
    expect(decideCompletion(lacksRecord, first, T0)).toEqual({ kind: 'wait', until: T0 + 1000 });
    expect(decideCompletion(lacksFills, first, T0)).toEqual({ kind: 'read', what: 'fills' });
    const again = noteReading(first, 'record', T0 + 1000);
    expect(decideCompletion(lacksFills, again, T0 + 1000)).toEqual({ kind: 'read', what: 'fills' });
    const turned = noteReading(first, 'fills', T0);
    expect(decideCompletion(lacksRecord, turned, T0)).toEqual({ kind: 'wait', until: T0 + 2000 });
    const later = noteReading(turned, 'fills', T0 + 2000);
    expect(decideCompletion(lacksRecord, later, T0 + 2000)).toEqual({ kind: 'wait', until: T0 + 6000 });
  });

  it('go on at 1, 2, 4 and every 5 s, the last when the window is over', () => {
    const world: World = {
      sizes: [2],
      ends: 'canceled',
      recordLagMs: 0,
      fillLagMs: 100_000,
      windowMs: 20_000,
      tookMs: 1,
      known: 0,
      knowsRecord: true,
    };
    expect(complete(world).reads.map(([at]) => at - T0)).toEqual([0, 1000, 3000, 7000, 12_000, 17_000, 20_000]);
    expect(complete({ ...world, windowMs: 0 }).reads).toHaveLength(1);
  });
});

describe('what may have filled of an order that ended, and its record does not show', () => {
  const ended = (type: 'limit' | 'stop_loss', state: OrderSnapshot['state'], context: Partial<OrderContext>) => {
    const { context: whole } = createOrder(terms({ type, size: type === 'limit' ? '10' : '1' }), T0);
    return { state, context: { ...whole, venueId: ID, terminalAt: T0, ...context } };
  };
  const shown = (size: string) => ({
    triggered: true as const,
    lastRecord: record('canceled', { initial_size: size }),
  });

  it.each<[string, OrderSnapshot, boolean]>([
    ['all of one that shows nothing', ended('limit', 'canceled', {}), true],
    ['the rest of a part', ended('limit', 'rejected', { filled: '4', recordFilled: '4' }), true],
    ['nothing of a whole', ended('limit', 'closed', { filled: '10', recordFilled: '10' }), false],
    ['nothing of one that still works', ended('limit', 'open', {}), false],
    ['nothing of one that the venue never had', ended('limit', 'canceled', { venueId: undefined }), false],
    ['all of a stop that was not seen to trigger', ended('stop_loss', 'canceled', {}), true],
    ['nothing of such a one of which a part filled', ended('stop_loss', 'canceled', { filled: '4' }), false],
    [
      'the rest of a stop that triggered for a size',
      ended('stop_loss', 'canceled', { ...shown('10'), filled: '4' }),
      true,
    ],
    [
      'nothing of a stop whose size is a fraction still',
      ended('stop_loss', 'canceled', { ...shown('1'), filled: '4' }),
      false,
    ],
  ])('is %s', (_, order, expected) => {
    expect(mayHaveMore(order)).toBe(expected);
    expect(findEndShownAt(order)).toBe(expected ? T0 + 2500 : undefined);
  });
});
