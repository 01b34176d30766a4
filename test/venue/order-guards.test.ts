/** Tests both arms of every split cell at their boundary, and the results of the odd rows (orders.md, Guards and actions). */
import { describe, expect, it } from 'vitest';
import { createOrder, type OrderEvent, type OrderSnapshot, TIMINGS } from '../../src/venue/order/context.ts';
import { stepOrder } from '../../src/venue/order/life.ts';
import { isTerminal, ORDER_STATES, type OrderState } from '../../src/venue/order/states.ts';
import { TRANSITIONS } from '../../src/venue/order/transitions.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import type { OrderRecord } from '../../src/venue/records.ts';
import { eventOf, fill, life, orderIn, type record, T0, terms } from './order-samples.ts';

/** A record read: sent at T0 + `sent`, answered 10 ms later. */
function read(type: OrderEvent['type'], sent: number, over: Parameters<typeof record>[1] = {}): OrderEvent {
  return eventOf(type, sent + 10, 10, over);
}
function notFound(sent: number): OrderEvent {
  return eventOf('P_NOT_FOUND', sent + 10, 10);
}
const AMENDED = { price: '101' };
/** An order that a record showed as open. */
function opened(intent: OrderTerms): OrderSnapshot {
  return life([eventOf('SUBMIT', 10), eventOf('ACK', 20), eventOf('P_OPEN', 30, 5)], createOrder(intent, T0)).snapshot;
}
function priceless(type: OrderTerms['type']): OrderTerms {
  const { price: _, ...rest } = terms({ type });
  return rest;
}

/** The result of the last event: the state, its disposition and the alarms. */
function end(events: readonly OrderEvent[], from: OrderSnapshot): readonly [OrderState, string, readonly string[]] {
  const step = life(events, from);
  return [step.snapshot.state, step.disposition, step.alarms.map(({ alarm }) => alarm)];
}

const tested = new Set<string>();
/** One split cell; the set is compared with the table at the end. */
function cell(state: OrderState, type: OrderEvent['type'], name: string, test: () => void): void {
  tested.add(`${state} × ${type}`);
  it(`${state} × ${type}: ${name}`, test);
}

describe('absence', () => {
  const doubt = (over: Partial<Parameters<typeof terms>[0]> = {}) =>
    life([eventOf('SUBMIT', 0), eventOf('SUBMIT_UNKNOWN', 1_000)], createOrder(terms(over), T0)).snapshot;
  const horizon = 1_000 + TIMINGS.absenceHorizonMs;
  const exhausted = eventOf('T_EXHAUSTED', 200_000);

  cell('unknown', 'T_EXHAUSTED', 'absent after five reads, the last sent later than the horizon', () => {
    const reads = [1_500, 3_000, 9_000, 60_000, horizon + 1].map(notFound);
    expect(end([...reads, exhausted], doubt())).toEqual(['absent', 'moved', []]);
  });
  it.each([
    ['four reads', [1_500, 3_000, 9_000, horizon + 1]],
    ['the last at the horizon', [1_500, 3_000, 9_000, 60_000, horizon]],
    ['one sent before the POST was given up', [999, 3_000, 9_000, 60_000, horizon + 1]],
  ] as const)('is not proven by %s', (_, sent) => {
    expect(end([...sent.map(notFound), exhausted], doubt())).toEqual(['quarantined', 'moved', ['Quarantined']]);
  });
  cell('quarantined', 'T_EXHAUSTED', 'absent once reads prove it that could not be made before', () => {
    const later = [210_000, 211_000, 213_000, 217_000, 220_000].map(notFound);
    const again = eventOf('T_EXHAUSTED', 221_000);
    expect(end([exhausted, ...later, again], doubt())[0]).toBe('absent');
    expect(end([exhausted, ...later.slice(1), again], doubt())).toEqual(['quarantined', 'moved', []]);
  });
  it('is never concluded where the venue reported a duplicate', () => {
    const reads = [1_500, 3_000, 9_000, 60_000, horizon + 1].map(notFound);
    expect(end([eventOf('DUPLICATE', 1_100), ...reads, exhausted], doubt())[0]).toBe('quarantined');
  });
  it('is never concluded where the venue acknowledged the order', () => {
    const reads = [1_500, 3_000, 9_000, 60_000, horizon + 1].map(notFound);
    const acknowledged = life(
      [eventOf('SUBMIT', 0), eventOf('ACK', 1_000), eventOf('CANCEL', 1_001)],
      createOrder(terms(), T0),
    );
    expect(end([...reads, exhausted], acknowledged.snapshot)[0]).toBe('quarantined');
  });
  it('counts from the last attempt, and uses the horizon of the profile', () => {
    const order = life(
      [eventOf('SUBMIT', 0), eventOf('SUBMIT_UNKNOWN', 1_000)],
      createOrder(terms(), T0, { absenceHorizonMs: 2_000 }),
    );
    const reads = [1_500, 2_000, 2_500, 2_900, 3_001].map(notFound);
    expect(end([...reads, exhausted], order.snapshot)[0]).toBe('absent');
    expect(end([...reads, eventOf('SUBMIT_UNKNOWN', 3_100), exhausted], order.snapshot)[0]).toBe('quarantined');
  });
  it('is revoked by any event that shows the order', () => {
    const absent = orderIn('absent');
    expect(end([read('P_OPEN', 5_000)], absent)).toEqual(['open', 'moved', ['Reappeared']]);
    expect(end([{ type: 'FILL', at: T0 + 5_000, fill: fill('1', '2') }], absent)).toEqual([
      'open',
      'moved',
      ['LateFill', 'Reappeared'],
    ]);
  });
  it('starts again with a second attempt', () => {
    const step = stepOrder(orderIn('absent'), eventOf('SUBMIT', 5_000));
    expect([step.snapshot.state, step.snapshot.context.attempt, step.alarms]).toEqual(['submitting', 2, []]);
    expect(step.snapshot.context.absence).toEqual({ horizonMs: 20, count: 0, duplicateSeen: false });
  });

  const cancelled = life([eventOf('CANCEL', 1_100), eventOf('CANCEL_ACK', 1_200)], doubt()).snapshot;
  cell('canceling', 'T_EXHAUSTED', 'the same for a cancelled order that no record ever showed', () => {
    const reads = [1_500, 3_000, 9_000, 60_000, horizon + 1].map(notFound);
    expect(end([...reads, exhausted], cancelled)).toEqual(['absent', 'moved', []]);
    expect(end([...reads.slice(1), exhausted], cancelled)[0]).toBe('quarantined');
    expect(end([exhausted], orderIn('canceling'))[0]).toBe('quarantined');
  });
  cell(
    'canceling',
    'P_NOT_FOUND',
    'counted while never seen, stale soon after the first record, then contradicting',
    () => {
      expect(end([notFound(1_500)], cancelled)).toEqual(['canceling', 'updated', []]);
      // The order of the sample was first seen at T0 + 30 ms.
      expect(end([notFound(30 + 2_499)], orderIn('canceling'))).toEqual(['canceling', 'stale', []]);
      expect(end([notFound(30 + 2_500)], orderIn('canceling'))).toEqual([
        'canceling',
        'contradiction',
        ['Contradiction'],
      ]);
    },
  );
  cell('open', 'P_NOT_FOUND', 'stale when sent within the read lag of the first record', () => {
    expect(end([notFound(30 + 2_499)], orderIn('open'))).toEqual(['open', 'stale', []]);
    expect(end([notFound(30 + 2_500)], orderIn('open'))).toEqual(['open', 'contradiction', ['Contradiction']]);
  });
  cell('amending', 'P_NOT_FOUND', 'the same', () => {
    expect(end([notFound(30 + 2_499)], orderIn('amending'))).toEqual(['amending', 'stale', []]);
    expect(end([notFound(30 + 2_500)], orderIn('amending'))).toEqual(['amending', 'contradiction', ['Contradiction']]);
  });
});

describe('an amend', () => {
  // Of the sample: sent at 40 ms, answered at 50 ms, to price 101.
  const amending = orderIn('amending');
  const applied = life([read('P_OPEN', 60, AMENDED)], amending).snapshot;

  cell('amending', 'P_OPEN', 'applied when the requested terms are there, at once', () => {
    const step = life([read('P_OPEN', 60, AMENDED)], amending);
    expect([step.snapshot.state, step.alarms, step.snapshot.context.amend?.outcome]).toEqual(['open', [], 'applied']);
    expect(step.snapshot.context.price).toBe('101');
  });
  it('is lost only by two reads with the old terms, each sent more than 3 s after it was resolved', () => {
    expect(end([read('P_OPEN', 3_050), read('P_OPEN', 3_060)], amending)).toEqual(['amending', 'updated', []]);
    expect(end([read('P_OPEN', 3_050), read('P_OPEN', 3_060), read('P_OPEN', 3_070)], amending)).toEqual([
      'open',
      'moved',
      ['AmendLost'],
    ]);
    expect(end([read('P_OPEN', 3_060), read('P_OPEN', 3_060)], amending)).toEqual(['amending', 'updated', []]);
  });
  it('is not settled by any read while the PUT is in flight', () => {
    const sent = life([eventOf('AMEND', 100)], orderIn('open')).snapshot;
    expect(end([read('P_OPEN', 9_000), read('P_OPEN', 12_000)], sent)).toEqual(['amending', 'updated', []]);
  });
  it('needs the requested size where there is one', () => {
    const sized = life(
      [{ type: 'AMEND', at: T0 + 100, price: '101', size: '12' }, eventOf('AMEND_ACK', 110)],
      orderIn('open'),
    ).snapshot;
    expect(end([read('P_OPEN', 120, AMENDED)], sized)[0]).toBe('amending');
    const step = life([read('P_OPEN', 120, { ...AMENDED, size: '12', initial_size: '12' })], sized);
    expect([step.snapshot.state, step.snapshot.context.size, step.snapshot.context.authorised]).toEqual([
      'open',
      '12',
      '12',
    ]);
  });
  it('may show the requested size as what remains and what has filled, and keeps it from then on', () => {
    const sized = life(
      [{ type: 'AMEND', at: T0 + 100, price: '101', size: '4' }, eventOf('AMEND_ACK', 110)],
      orderIn('open'),
    ).snapshot;
    const kept = { ...AMENDED, size: '3', total_filled_size: '1', initial_size: '10' };
    const step = life([read('P_OPEN', 120, kept)], sized);
    const { amend, size, remaining } = step.snapshot.context;
    expect([step.snapshot.state, amend?.outcome, size, remaining]).toEqual(['open', 'applied', '4', '3']);
    const later = life(
      [read('P_OPEN', 60_000, kept), read('P_OPEN', 62_000, { ...kept, size: '2', total_filled_size: '2' })],
      step.snapshot,
    );
    expect([later.alarms, later.snapshot.context.size, later.snapshot.context.remaining]).toEqual([[], '4', '2']);
    const neither = life([read('P_OPEN', 120, { ...AMENDED, size: '7', initial_size: '10' })], sized);
    expect(neither.snapshot.state).toBe('amending');
  });
  it('is over when refused, and a late acknowledgement makes it open again', () => {
    expect(end([eventOf('AMEND_REFUSED', 60)], amending)).toEqual(['open', 'moved', []]);
    const again = life([eventOf('AMEND_ACK', 300)], applied).snapshot;
    expect(again.state).toBe('amending');
    expect(end([read('P_OPEN', 310, AMENDED)], again)[0]).toBe('open');
  });
  it.each(['P_CLOSED', 'P_CANCELED', 'P_REJECTED'] as const)(
    'leaves an order with the terms of its last record: %s',
    (end) => {
      // Around an amend an end other than `closed` must be seen twice.
      const ended = (over: Partial<OrderRecord>) => life([read(end, 60, over), read(end, 5_000, over)], amending);
      const applied = ended({ ...AMENDED, total_filled_size: '4' });
      expect([isTerminal(applied.snapshot.state), applied.snapshot.context.price]).toEqual([true, '101']);
      expect(applied.snapshot.context.amend?.outcome).toBe('applied');
      const late = ended({ total_filled_size: '10' }).snapshot.context;
      expect([late.price, late.amend?.outcome]).toEqual(['100', 'lost']);
    },
  );
  it('does not make older terms look like a change from outside', () => {
    const late = life([read('P_OPEN', 3_069)], applied);
    expect([late.alarms, late.snapshot.context.price, late.snapshot.context.lastRecord?.price]).toEqual([
      [],
      '101',
      '101',
    ]);
    const changed = life([read('P_OPEN', 3_071)], applied);
    expect([changed.alarms.map(({ alarm }) => alarm), changed.snapshot.context.price]).toEqual([
      ['ExternalChange'],
      '100',
    ]);
  });
  it('of another program is adopted and reported', () => {
    const shown = life([read('P_AMENDING', 500)], orderIn('open')).snapshot;
    expect(end([read('P_OPEN', 600, { price: '77' })], shown)).toEqual(['open', 'moved', ['ExternalChange']]);
    expect(life([read('P_CLOSED', 600)], shown).snapshot.context.amend?.outcome).toBe('lost');
  });
  it('of an order that had no price is lost where two late reads show its old size', () => {
    const open = opened(priceless('stop_market'));
    const sent = life([eventOf('AMEND', 40), eventOf('AMEND_ACK', 50)], open).snapshot;
    expect(end([read('P_OPEN', 3_060), read('P_OPEN', 3_070)], sent)).toEqual(['open', 'moved', ['AmendLost']]);
  });
  it('without an answer leaves it open whether a cancel is final', () => {
    const sent = [eventOf('AMEND', 40), eventOf('CANCEL', 50), eventOf('CANCEL_ACK', 60)];
    expect(end([...sent, read('P_CANCELED', 70)], orderIn('open'))).toEqual(['canceling', 'updated', []]);
  });

  cell('amending', 'P_CANCELED', 'must be seen twice, 4 s apart', () => {
    expect(end([read('P_CANCELED', 100)], amending)).toEqual(['amending', 'updated', []]);
    expect(end([read('P_CANCELED', 100), read('P_CANCELED', 4_109)], amending)).toEqual(['amending', 'updated', []]);
    expect(end([read('P_CANCELED', 100), read('P_CANCELED', 4_110)], amending)).toEqual(['canceled', 'moved', []]);
  });
  it('that shows the order working in between clears the suspicion', () => {
    const events = [read('P_CANCELED', 100), read('P_OPEN', 900), read('P_CANCELED', 4_110)];
    expect(end(events, amending)).toEqual(['amending', 'updated', []]);
  });
  cell('open', 'P_CANCELED', 'the same while a read may show an amend that was not refused, else final at once', () => {
    expect(end([read('P_CANCELED', 100)], orderIn('open'))).toEqual(['canceled', 'moved', []]);
    // Its new terms were shown at 70 ms: a read sent 2.5 s later is no older than they.
    expect(end([read('P_CANCELED', 2_569)], applied)).toEqual(['open', 'updated', []]);
    expect(end([read('P_CANCELED', 2_570)], applied)).toEqual(['canceled', 'moved', []]);
    const between = [read('P_CANCELED', 100), read('P_OPEN', 900, AMENDED)];
    expect(end([...between, read('P_CANCELED', 2_569)], applied)).toEqual(['open', 'updated', []]);
  });
  const lost = life([read('P_OPEN', 3_060), read('P_OPEN', 3_070)], amending).snapshot;
  it('whose new terms were not shown may still come: an end behind it is seen twice for 20 s', () => {
    expect(end([read('P_CANCELED', 20_050)], lost)).toEqual(['open', 'updated', []]);
    expect(end([read('P_CANCELED', 20_051)], lost)).toEqual(['canceled', 'moved', []]);
    expect(end([read('P_CANCELED', 10_000), read('P_CANCELED', 14_009)], lost)).toEqual(['open', 'updated', []]);
    expect(end([read('P_CANCELED', 10_000), read('P_CANCELED', 14_010)], lost)).toEqual(['canceled', 'moved', []]);
  });
  it('is not shown by terms that an older read may have, nor by those that were there before', () => {
    const back = (at: number) => [
      { type: 'AMEND', at: T0 + at, price: '100' } as const,
      eventOf('AMEND_ACK', at + 10),
      read('P_OPEN', at + 20),
    ];
    expect(end([...back(2_000), read('P_CANCELED', 6_000)], applied)).toEqual(['open', 'updated', []]);
    expect(end([...back(3_000), read('P_CANCELED', 6_000)], applied)).toEqual(['canceled', 'moved', []]);
    const late = [read('P_OPEN', 60, AMENDED), eventOf('AMEND_ACK', 300), read('P_OPEN', 310, AMENDED)];
    expect(end([...late, read('P_CANCELED', 6_000)], amending)).toEqual(['open', 'updated', []]);
  });
  it('that was refused has no such instant, and hides none of one before it', () => {
    const refused = [eventOf('AMEND', 1_000), eventOf('AMEND_REFUSED', 1_010)];
    expect(end([...refused, read('P_CANCELED', 1_100)], orderIn('open'))).toEqual(['canceled', 'moved', []]);
    expect(end([...refused, read('P_CANCELED', 1_100)], applied)).toEqual(['open', 'updated', []]);
  });
  it('is not ended by what was seen before it', () => {
    const again = [read('P_CANCELED', 100), eventOf('AMEND', 4_000), eventOf('AMEND_ACK', 4_010)];
    expect(end([...again, read('P_CANCELED', 4_200)], applied)).toEqual(['amending', 'updated', []]);
  });
  it('seen before the answer to it counts from what showed it', () => {
    const early = life([eventOf('AMEND', 40), read('P_OPEN', 45, AMENDED)], orderIn('open')).snapshot;
    expect([early.state, end([read('P_CANCELED', 100)], early)[0]]).toEqual(['open', 'open']);
  });
  it('of another program that a record shows is one as well', () => {
    const others = life([read('P_AMENDING', 500), read('P_OPEN', 600, { price: '77' })], orderIn('open')).snapshot;
    // The open record may be older than the amend: which terms it asks for is not known.
    expect(end([read('P_CANCELED', 20_510)], others)).toEqual(['open', 'updated', []]);
    expect(end([read('P_CANCELED', 20_511)], others)).toEqual(['canceled', 'moved', []]);
  });
  it('leaves the terms and the status that were believed until the end is', () => {
    const doubted = life([read('P_CANCELED', 100, { price: '100' })], applied).snapshot.context;
    expect([doubted.price, doubted.lastRecord?.price, doubted.lastRecord?.status]).toEqual(['101', '101', 'open']);
    const filled = life([read('P_CANCELED', 100, { total_filled_size: '4' })], applied).snapshot.context;
    expect([filled.recordFilled, filled.remaining]).toEqual(['4', '6']);
  });
  cell('amending', 'P_REJECTED', 'the same', () => {
    expect(end([read('P_REJECTED', 100), read('P_REJECTED', 4_109)], amending)).toEqual(['amending', 'updated', []]);
    expect(end([read('P_REJECTED', 100), read('P_REJECTED', 4_110)], amending)).toEqual(['rejected', 'moved', []]);
    expect(end([read('P_CANCELED', 100), read('P_REJECTED', 4_110)], amending)).toEqual(['amending', 'updated', []]);
  });
});

describe('a cancel', () => {
  // Of the sample: sent at 40 ms, acknowledged at 50 ms.
  const canceling = orderIn('canceling');

  cell('canceling', 'P_OPEN', 'lost when the order is open in a read sent more than 3.5 s after the answer', () => {
    expect(end([read('P_OPEN', 3_550)], canceling)).toEqual(['canceling', 'updated', []]);
    expect(end([read('P_OPEN', 3_551)], canceling)).toEqual(['open', 'moved', ['CancelLost']]);
    const unanswered = life([eventOf('CANCEL', 100)], orderIn('open')).snapshot;
    expect(end([read('P_OPEN', 9_000)], unanswered)).toEqual(['canceling', 'updated', []]);
  });
  it('is requested again, three times in all', () => {
    let now = orderIn('open');
    const wants: boolean[] = [];
    for (let ms = 1_000; ms < 40_000; ms += 10_000) {
      const step = life([eventOf('CANCEL', ms), eventOf('CANCEL_ACK', ms + 50), read('P_OPEN', ms + 4_000)], now);
      wants.push(step.wants.includes('cancel_again'));
      now = step.snapshot;
    }
    expect(wants).toEqual([true, true, false, false]);
  });
  cell('canceling', 'CANCEL_REFUSED', 'stays where the text says that it has ended, else it is open again', () => {
    for (const message of [
      'ORDER_ALREADY_CLOSED',
      'order not found',
      'CLIENT_ORDER_ID_DUPLICATE',
      'already canceled',
      'ORDER_NOT_FOUND: 1',
      'notfound',
      'NOT-OPEN',
      'unknown order',
      'unknownOrder',
      'does not exist',
      'DOES_NOT_EXIST',
      'doesNotExist',
      'no such order',
      'noSuchOrder',
      'filled',
    ]) {
      const step = stepOrder(canceling, { type: 'CANCEL_REFUSED', at: T0 + 100, message });
      expect([message, step.snapshot.state, step.wants]).toEqual([message, 'canceling', ['resync']]);
    }
    for (const message of ['INTERNAL', '', 'market paused']) {
      const step = stepOrder(canceling, { type: 'CANCEL_REFUSED', at: T0 + 100, message });
      expect([message, step.snapshot.state, step.wants]).toEqual([message, 'open', ['resync']]);
    }
  });
  cell('canceling', 'P_CANCELED', 'final at once, but only when seen twice while a read may show an amend', () => {
    expect(end([read('P_CANCELED', 60)], canceling)).toEqual(['canceled', 'moved', []]);
    const amended = life([eventOf('CANCEL', 100), eventOf('CANCEL_ACK', 110)], orderIn('amending')).snapshot;
    expect(end([read('P_CANCELED', 20_050)], amended)).toEqual(['canceling', 'updated', []]);
    expect(end([read('P_CANCELED', 17_000), read('P_CANCELED', 18_999)], amended)).toEqual([
      'canceling',
      'updated',
      [],
    ]);
    expect(end([read('P_CANCELED', 17_000), read('P_CANCELED', 19_000)], amended)).toEqual(['canceled', 'moved', []]);
    const slow = eventOf('P_CANCELED', 18_000, 1_000);
    expect(end([slow, read('P_CANCELED', 19_499)], amended)).toEqual(['canceling', 'updated', []]);
    expect(end([slow, read('P_CANCELED', 19_500)], amended)).toEqual(['canceled', 'moved', []]);
    expect(end([read('P_CANCELED', 20_051)], amended)).toEqual(['canceled', 'moved', []]);
    const shown = [read('P_OPEN', 60, AMENDED), eventOf('CANCEL', 100), eventOf('CANCEL_ACK', 110)];
    expect(end([...shown, read('P_CANCELED', 2_569)], orderIn('amending'))).toEqual(['canceling', 'updated', []]);
    expect(end([...shown, read('P_CANCELED', 2_570)], orderIn('amending'))).toEqual(['canceled', 'moved', []]);
  });
  it('requested before there is an order is requested again when there is one', () => {
    const wished = life([eventOf('SUBMIT', 0), eventOf('CANCEL', 10)]).snapshot;
    const acked = stepOrder(wished, eventOf('ACK', 20));
    expect([acked.snapshot.state, acked.wants]).toEqual(['processing', ['cancel_again']]);
  });
  it('of all orders keeps its cause, and survivors are cancelled again', () => {
    const fired = life([eventOf('DEADMAN', 1_000)], orderIn('open')).snapshot;
    expect([fired.state, fired.context.cancel?.cause]).toEqual(['canceling', 'deadman']);
    expect(life([read('P_OPEN', 5_000)], fired).wants).toContain('cancel_again');
    const external = life([read('P_CANCELING', 1_000)], orderIn('open')).snapshot;
    expect(external.context.cancel?.cause).toBe('external');
    expect(life([read('P_OPEN', 9_000)], external).wants).not.toContain('cancel_again');
  });
});

describe('the end', () => {
  // The samples ended at T0 + 30 ms.
  cell('closed', 'P_OPEN', 'stale when sent less than 5 s after, then contradicting; never re-opened', () => {
    expect(end([read('P_OPEN', 5_029)], orderIn('closed'))).toEqual(['closed', 'stale', []]);
    expect(end([read('P_OPEN', 5_030)], orderIn('closed'))).toEqual(['closed', 'contradiction', ['Contradiction']]);
  });
  for (const [state, type] of [
    ['canceled', 'P_OPEN'],
    ['canceled', 'P_AMENDING'],
    ['rejected', 'P_OPEN'],
  ] as const) {
    cell(state, type, 'stale when sent less than 2.5 s after, else working again', () => {
      expect(end([read(type, 2_529)], orderIn(state))).toEqual([state, 'stale', []]);
      expect(end([read(type, 2_530)], orderIn(state))).toEqual(['open', 'moved', ['LateOrder']]);
    });
  }
  it('books an expected fill quietly and raises an alarm for an unannounced one', () => {
    const told = life([read('P_CANCELED', 100, { total_filled_size: '3' })], orderIn('open'));
    expect(told.wants).toEqual(['read_fills']);
    const expected = stepOrder(told.snapshot, { type: 'FILL', at: T0 + 200, fill: fill('1', '3') });
    expect([expected.disposition, expected.alarms, expected.snapshot.context.filled]).toEqual(['updated', [], '3']);
    const late = stepOrder(expected.snapshot, { type: 'FILL', at: T0 + 300, fill: fill('2', '1') });
    expect([late.alarms.map(({ alarm }) => alarm), late.snapshot.context.filled, late.snapshot.state]).toEqual([
      ['LateFill'],
      '4',
      'canceled',
    ]);
  });
  it.each([
    ['a record that calls it closed', '0', ['FillsIncomplete']],
    ['all that was filled', '10', []],
  ])('raises an alarm at the end of the grace where nothing but %s was shown', (_, size, alarms) => {
    const closed = [read('P_CLOSED', 100, { total_filled_size: size }), eventOf('T_SETTLE', 11_000)];
    const filled = size === '0' ? [] : [{ type: 'FILL', at: T0 + 50, fill: fill('1', size) } as const];
    const told = life([...filled, ...closed], orderIn('open'));
    expect([told.alarms.map(({ alarm }) => alarm), told.snapshot.state]).toEqual([alarms, 'closed']);
  });
  it('raises an alarm for every fill after the grace', () => {
    const told = life(
      [read('P_CANCELED', 100, { total_filled_size: '3' }), eventOf('T_SETTLE', 11_000)],
      orderIn('open'),
    );
    expect([told.alarms.map(({ alarm }) => alarm), told.snapshot.context.settled]).toEqual([['FillsIncomplete'], true]);
    expect(
      life([{ type: 'FILL', at: T0 + 12_000, fill: fill('1', '3') }], told.snapshot).alarms.map(({ alarm }) => alarm),
    ).toEqual(['LateFill']);
  });
  it('counts a fill once, however often it is read', () => {
    const events = [1, 2, 3].map((ms) => ({ type: 'FILL', at: T0 + 100 + ms, fill: fill('1', '2') }) as const);
    const step = life(events, orderIn('open'));
    expect([step.disposition, step.snapshot.context.filled, step.snapshot.context.fills.size]).toEqual([
      'stale',
      '2',
      1,
    ]);
  });
  it('raises one alarm for more than was ordered, and wants the market halted', () => {
    const first = life([{ type: 'FILL', at: T0 + 100, fill: fill('1', '10.000000000000000001') }], orderIn('open'));
    expect([first.alarms.map(({ alarm }) => alarm), first.wants]).toEqual([['Overfill'], ['halt_market']]);
    expect(life([{ type: 'FILL', at: T0 + 200, fill: fill('2', '1') }], first.snapshot).alarms).toEqual([]);
    expect(life([{ type: 'FILL', at: T0 + 100, fill: fill('1', '10') }], orderIn('open')).alarms).toEqual([]);
  });
  it('keeps `rejected` with fills, and counts them', () => {
    const told = stepOrder(orderIn('open'), read('P_REJECTED', 100, { total_filled_size: '2' }));
    expect([told.snapshot.state, told.alarms.map(({ alarm }) => alarm)]).toEqual(['rejected', ['RejectedWithFill']]);
    const filled = life(
      [1, 2, 3, 4].map((ms) => ({ type: 'FILL', at: T0 + 200 + ms, fill: fill(String(ms), '1') }) as const),
      orderIn('rejected'),
    );
    expect([filled.snapshot.state, filled.snapshot.context.filled, filled.disposition]).toEqual([
      'rejected',
      '4',
      'contradiction',
    ]);
    expect(filled.alarms.map(({ alarm }) => alarm)).toEqual(['LateFill', 'RejectedWithFill']);
  });
  it('reports a liquidation', () => {
    const step = stepOrder(orderIn('open'), {
      type: 'FILL',
      at: T0 + 100,
      fill: fill('1', '1', { liquidation: true }),
    });
    expect(step.alarms.map(({ alarm }) => alarm)).toEqual(['ExternalAction']);
  });
  it('keeps the larger size of a corrected fill', () => {
    const one = stepOrder(orderIn('open'), { type: 'FILL', at: T0 + 100, fill: fill('1', '2') }).snapshot;
    const more = stepOrder(one, { type: 'FILL', at: T0 + 200, fill: fill('1', '3') });
    expect([more.snapshot.context.filled, more.alarms.map(({ alarm }) => alarm)]).toEqual(['3', ['FillCorrected']]);
    const less = stepOrder(one, { type: 'FILL', at: T0 + 200, fill: fill('1', '1') });
    expect([less.snapshot.context.filled, less.alarms.map(({ alarm }) => alarm)]).toEqual(['2', ['FillCorrected']]);
  });
});

describe('a fill or an acknowledgement of another order', () => {
  it('contradicts, and is not adopted', () => {
    const foreign: OrderEvent = { type: 'FILL', at: T0 + 900, fill: fill('1', '2', { order_id: 'BTC-USD@7' }) };
    const acknowledged: OrderEvent = { type: 'ACK', at: T0 + 900, orderId: 'BTC-USD@7' };
    for (const event of [foreign, acknowledged]) {
      expect(end([event], orderIn('open'))).toEqual(['open', 'contradiction', ['DuplicateOrder']]);
    }
    expect(end([eventOf('ACK', 900)], orderIn('open'))).toEqual(['open', 'stale', []]);
  });
});

describe('terms changed by another program', () => {
  it('are those that an order of its type has', () => {
    const moved = (over: Parameters<typeof record>[1]) => read('P_OPEN', 1_000, over);
    const sized = { size: '15', initial_size: '15' };
    const limited = opened(terms({ type: 'stop_limit' }));
    expect(end([moved({ price: '90' })], limited)[2]).toEqual(['ExternalChange']);
    expect(end([moved(sized)], limited)[2]).toEqual(['ExternalChange']);
    expect(end([moved({ price: '90' })], opened(priceless('market')))[2]).toEqual([]);
    expect(opened(priceless('limit')).state).toBe('open');
    expect(end([moved(sized)], opened(terms({ type: 'stop_loss', size: '0.5' })))[2]).toEqual([]);
  });
  it('are adopted and reported', () => {
    const step = stepOrder(orderIn('open'), read('P_OPEN', 1_000, { price: '90', size: '15', initial_size: '15' }));
    expect(step.alarms).toEqual([
      { alarm: 'ExternalChange', detail: { oldPrice: '100', oldSize: '10', price: '90', size: '15' } },
    ]);
    expect([step.snapshot.context.price, step.snapshot.context.size, step.snapshot.context.authorised]).toEqual([
      '90',
      '15',
      '15',
    ]);
  });
  it('are not another spelling, nor the price of a market order', () => {
    expect(stepOrder(orderIn('open'), read('P_OPEN', 1_000, { price: '100.00', initial_size: '10.0' })).alarms).toEqual(
      [],
    );
    const market = life(
      [eventOf('SUBMIT', 1), eventOf('ACK', 2), read('P_OPEN', 3, { price: '99.5' })],
      createOrder(terms({ type: 'market' }), T0),
    );
    expect(market.alarms).toEqual([]);
  });
});

describe('a draft that was sent and refused', () => {
  const fresh = createOrder(terms(), T0);
  const refused = life([eventOf('SUBMIT', 0), eventOf('RATE_LIMITED', 1_000)], fresh).snapshot;
  const shown = [
    ['P_PROCESSING', 'processing'],
    ['P_OPEN', 'open'],
    ['P_CANCELING', 'canceling'],
    ['P_CLOSED', 'closed'],
    ['P_CANCELED', 'canceled'],
    ['P_REJECTED', 'rejected'],
  ] as const;
  for (const [type, state] of shown) {
    cell('draft', type, `${state} where an attempt was refused, contradicting where none was made`, () => {
      expect(end([read(type, 2_000)], refused).slice(0, 2)).toEqual([state, 'moved']);
      expect(end([read(type, 2_000)], fresh).slice(0, 2)).toEqual(['draft', 'contradiction']);
    });
  }
  cell('draft', 'FILL', 'working where an attempt was refused, contradicting where none was made', () => {
    const filled: OrderEvent = { type: 'FILL', at: T0 + 2_000, fill: fill('1', '2') };
    expect(end([filled], refused).slice(0, 2)).toEqual(['open', 'moved']);
    expect(end([filled], fresh).slice(0, 2)).toEqual(['draft', 'contradiction']);
  });
});

it('every split cell of the table is tested above', () => {
  const split = Object.entries(TRANSITIONS).flatMap(([type, row]) =>
    ORDER_STATES.filter((state) => typeof row[state] !== 'string').map((state) => `${state} × ${type}`),
  );
  expect([...tested].sort()).toEqual(split.sort());
});
