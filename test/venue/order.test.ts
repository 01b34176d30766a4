import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { createOrder, type OrderEvent, type OrderEventType } from '../../src/venue/order/context.ts';
import { GUARDS, isFilledUnseen } from '../../src/venue/order/guards.ts';
import {
  classifyRecord,
  decideOutcome,
  getExposure,
  mayAmend,
  stepOrder,
  toObservation,
} from '../../src/venue/order/life.ts';
import { orderMachine } from '../../src/venue/order/machine.ts';
import {
  countsAsSent,
  getReview,
  isAtVenue,
  isFound,
  isGone,
  isInDoubt,
  isOrderState,
  isPlaced,
  isResting,
  isTerminal,
  isWorking,
  ORDER_STATES,
  type OrderState,
} from '../../src/venue/order/states.ts';
import { ORDER_EVENT_TYPES, TRANSITIONS } from '../../src/venue/order/transitions.ts';
import { tableBelow } from '../page-tables.ts';
import { eventOf, fill, life, orderIn, record, T0, terms } from './order-samples.ts';

/** The table of the design (orders.md, The transition table): the states of its columns, and a row for each event. */
const [[, ...DOCUMENTED_STATES] = [], ...DOCUMENTED] = tableBelow('docs/design/orders.md', 'The transition table');

const CELLS = ORDER_EVENT_TYPES.flatMap((type) =>
  ORDER_STATES.map((state) => ({ type, state, cell: TRANSITIONS[type][state] })),
);

function outcomesOf(cell: (typeof CELLS)[number]['cell']): readonly string[] {
  return typeof cell === 'string' ? [cell] : [...cell.arms.map(([, then]) => then), cell.otherwise];
}

describe('the table', () => {
  it('is the one of the design', () => {
    expect(DOCUMENTED_STATES).toEqual(ORDER_STATES);
    expect(DOCUMENTED.map(([type]) => type)).toEqual(ORDER_EVENT_TYPES);
    for (const [type, ...cells] of DOCUMENTED) {
      const ours = ORDER_STATES.map((state) => [...outcomesOf(TRANSITIONS[type as 'ACK'][state])].sort().join(' / '));
      expect([type, ...ours]).toEqual([type, ...cells.map((cell) => cell.split(' / ').sort().join(' / '))]);
    }
  });

  it('is total and closed: no cell is missing, every target is a state, every guard is used', () => {
    expect(CELLS).toHaveLength(32 * 13);
    const marks = new Set<string>([...ORDER_STATES, '.', '~', '!', 'X']);
    for (const { cell } of CELLS) for (const outcome of outcomesOf(cell)) expect(marks).toContain(outcome);
    const used = new Set(
      CELLS.flatMap(({ cell }) => (typeof cell === 'string' ? [] : cell.arms.map(([guard]) => guard))),
    );
    expect([...used].sort()).toEqual(Object.keys(GUARDS).sort());
  });

  it('leaves a terminal state only by events that re-open it on purpose', () => {
    const exits = CELLS.filter(
      ({ state, cell }) => isTerminal(state) && outcomesOf(cell).some((each) => isOrderState(each) && isWorking(each)),
    );
    expect(exits.map(({ type, state }) => `${state} × ${type}`)).toEqual([
      'absent × SUBMIT',
      'absent × ACK',
      'absent × DUPLICATE',
      'absent × P_PROCESSING',
      'canceled × P_OPEN',
      'rejected × P_OPEN',
      'absent × P_OPEN',
      'canceled × P_AMENDING',
      'absent × P_CANCELING',
      'absent × FILL',
    ]);
  });
});

describe('the legend', () => {
  it.each(ORDER_EVENT_TYPES)('holds in every plain cell of %s', (type) => {
    for (const state of ORDER_STATES) {
      const cell = TRANSITIONS[type][state];
      if (typeof cell === 'string') behavesAs(cell, state, type);
    }
  });

  function behavesAs(cell: string, state: OrderState, type: OrderEventType): void {
    const before = orderIn(state);
    expect(before.state).toBe(state);
    const step = stepOrder(before, eventOf(type, 1_000));
    expect(step.wants).toEqual([...new Set(step.wants)]);
    switch (cell) {
      case '.':
        expect([step.snapshot.state, step.moved, step.disposition]).toEqual([state, false, 'updated']);
        break;
      case '~':
        expect([step.snapshot.state, step.moved, step.disposition]).toEqual([state, false, 'stale']);
        expect(step.alarms).toEqual([]);
        expect(step.snapshot.context).toEqual({ ...before.context, stale: before.context.stale + 1 });
        break;
      case '!':
        expect([step.snapshot.state, step.moved, step.disposition]).toEqual([state, false, 'contradiction']);
        expect(step.wants).toContain('resync');
        expect(step.alarms.length).toBeGreaterThan(0);
        expect(step.snapshot.context.illegal.total).toBe(before.context.illegal.total + 1);
        break;
      case 'X':
        expect([step.snapshot.state, step.moved, step.disposition, step.alarms, step.wants]).toEqual([
          state,
          false,
          'caller_error',
          [],
          [],
        ]);
        expect({ ...step.snapshot.context, illegal: before.context.illegal }).toEqual(before.context);
        break;
      default:
        expect([step.snapshot.state, step.moved, step.disposition]).toEqual([cell, true, 'moved']);
        expect(step.snapshot.context.since).toBe(T0 + 1_000);
    }
  }

  it.each(ORDER_EVENT_TYPES)('agrees with the XState machine: %s', (type) => {
    for (const [state, ms] of ORDER_STATES.flatMap((each) => [100, 6_000].map((when) => [each, when] as const))) {
      const { context } = orderIn(state);
      const event = eventOf(type, ms);
      const outcome = decideOutcome({ state, context }, event);
      const actor = createActor(orderMachine, {
        input: { intent: terms(), at: T0 },
        snapshot: orderMachine.resolveState({
          value: state,
          context: { order: context, alarms: [], wants: [], redundant: false },
        }),
      }).start();
      actor.send(outcome === '~' || outcome === '!' || outcome === 'X' ? { type: 'ANOMALY', event, outcome } : event);
      const { value, context: after } = actor.getSnapshot();
      const { snapshot, alarms, wants } = stepOrder(orderIn(state), event);
      expect({ value, order: after.order, alarms: after.alarms, wants: after.wants }).toEqual({
        value: snapshot.state,
        order: snapshot.context,
        alarms,
        wants,
      });
    }
  });
});

describe('a record that repeats what is known', () => {
  const seen = (over = {}) => stepOrder(orderIn('open'), eventOf('P_OPEN', 1_000, 50, over)).snapshot;

  it('does not change an open order', () => {
    const before = seen();
    const step = stepOrder(before, eventOf('P_OPEN', 9_000));
    expect(step).toEqual({ snapshot: before, moved: false, disposition: 'updated', alarms: [], wants: [] });
    expect(step.snapshot.context).toBe(before.context);
  });

  it('still asks for fills that no read has shown', () => {
    const before = seen({ size: '6', total_filled_size: '4' });
    const step = stepOrder(before, eventOf('P_OPEN', 9_000, 50, { size: '6', total_filled_size: '4' }));
    expect(step.wants).toEqual(['read_fills']);
  });

  it('still clears an unknown status', () => {
    const before = stepOrder(seen(), eventOf('P_UNKNOWN_STATUS', 2_000)).snapshot;
    expect(before.context.unknownStatus).toBeDefined();
    expect(stepOrder(before, eventOf('P_OPEN', 9_000)).snapshot.context.unknownStatus).toBeUndefined();
  });

  it.each([
    ['price', '123'],
    ['initial_size', '77'],
    ['timestamp', 5],
    ['reason', 'moved'],
    ['size', '1'],
  ] as const)('is applied when its %s differs', (field, value) => {
    const before = seen();
    const { snapshot } = stepOrder(before, eventOf('P_OPEN', 9_000, 50, { [field]: value }));
    expect(snapshot.context.lastRecord?.[field]).toBe(value);
  });
});

describe('contradictions', () => {
  it('log once per cell with both facts, and ask for both reads every time', () => {
    const first = stepOrder(orderIn('open'), eventOf('P_UNKNOWN_STATUS', 1_000));
    expect(first.alarms).toEqual([
      {
        alarm: 'UnknownStatus',
        detail: {
          state: 'open',
          event: 'P_UNKNOWN_STATUS',
          knownId: 'BTC-USD@1859',
          knownStatus: 'open',
          knownFilled: '0',
          shownId: 'BTC-USD@1859',
          shownStatus: 'limbo',
          shownFilled: '0',
        },
      },
    ]);
    const second = stepOrder(first.snapshot, eventOf('P_UNKNOWN_STATUS', 2_000));
    expect([second.alarms, second.wants]).toEqual([[], ['resync', 'read_fills']]);
  });

  it('quarantine an order at the third within 60 s', () => {
    const events = [10_000, 40_000, 70_000].map((ms) => eventOf('P_NOT_FOUND', ms));
    const step = life(events, orderIn('open'));
    expect([step.snapshot.state, step.moved, step.disposition]).toEqual(['quarantined', true, 'contradiction']);
    expect(step.alarms).toEqual([
      { alarm: 'Quarantined', detail: { from: 'open', event: 'P_NOT_FOUND', notFound: 0, illegal: 3 } },
    ]);
  });

  it('do not quarantine when the third comes later', () => {
    const events = [10_000, 40_000, 70_001].map((ms) => eventOf('P_NOT_FOUND', ms));
    expect(life(events, orderIn('open')).snapshot.state).toBe('open');
  });

  it('are not counted where a status is only unknown (fault-matrix.md, row 56)', () => {
    const events = [1_000, 2_000, 3_000, 4_000, 5_000].map((ms) => eventOf('P_UNKNOWN_STATUS', ms));
    expect(life(events, orderIn('open')).snapshot.state).toBe('open');
  });

  it('are resolved by a definite read', () => {
    expect(stepOrder(orderIn('quarantined'), eventOf('P_OPEN', 9_000)).snapshot.state).toBe('open');
    expect(stepOrder(orderIn('quarantined'), eventOf('P_CLOSED', 9_000)).snapshot.state).toBe('closed');
  });

  it('name another order with the same client order id, and adopt nothing from it', () => {
    const step = stepOrder(
      orderIn('open'),
      eventOf('P_CLOSED', 1_000, 50, { id: 'BTC-USD@7', total_filled_size: '10' }),
    );
    expect([step.snapshot.state, step.alarms.map(({ alarm }) => alarm)]).toEqual(['open', ['DuplicateOrder']]);
    expect(step.snapshot.context.recordFilled).toBe('0');
  });

  it('of a caller refuse the command and leave everything else as it was', () => {
    const open = orderIn('open');
    const step = stepOrder(open, eventOf('SUBMIT', 1_000));
    expect([step.disposition, step.snapshot.state]).toEqual(['caller_error', 'open']);
    for (
      let again = 0, now = step.snapshot;
      again < 5;
      again += 1, now = stepOrder(now, eventOf('SUBMIT', 1_001)).snapshot
    ) {
      expect(now.state).toBe('open');
    }
  });
});

describe('the machine', () => {
  it('refuses every event that the table does not accept', () => {
    for (const { state, type } of CELLS) {
      const { context } = orderIn(state);
      const snapshot = orderMachine.resolveState({
        value: state,
        context: { order: context, alarms: [], wants: [], redundant: false },
      });
      const event = eventOf(type, 6_000);
      const outcome = decideOutcome({ state, context }, event);
      expect([state, type, snapshot.can(event)]).toEqual([state, type, !['~', '!', 'X'].includes(outcome)]);
    }
  });

  it('has no final state, no timer, no call and no child', () => {
    for (const node of Object.values(orderMachine.config.states ?? {}))
      expect(Object.keys(node).sort()).toEqual(['on', 'tags']);
  });

  it('throws internal errors instead of hiding them', () => {
    const { snapshot } = life([eventOf('SUBMIT', 1), eventOf('ACK', 2)], createOrder(terms(), T0));
    const event = { type: 'FILL', at: T0 + 3, fill: fill('1', '1e-7') } as const;
    expect(() => stepOrder(snapshot, event)).toThrow('not a plain decimal');
  });
});

describe('predicates', () => {
  it('split the states into working, terminal and draft', () => {
    expect(ORDER_STATES.filter(isTerminal)).toEqual(['closed', 'canceled', 'rejected', 'absent', 'denied']);
    expect(ORDER_STATES.filter((state) => !isTerminal(state) && !isWorking(state))).toEqual(['draft']);
  });

  it.each([
    ['in doubt', isInDoubt, ['submitting', 'unknown', 'absent', 'quarantined']],
    ['at the venue', isAtVenue, ['processing', 'open', 'amending', 'canceling']],
    ['gone', isGone, ['draft', 'closed', 'canceled', 'rejected', 'denied']],
    ['not placed yet', (state: OrderState) => !isPlaced(state), ['draft', 'submitting', 'unknown', 'processing']],
    [
      'not found yet',
      (state: OrderState) => !isFound(state),
      ['draft', 'submitting', 'unknown', 'absent', 'quarantined'],
    ],
    ['resting', isResting, ['open', 'amending']],
    ['not counted as sent', (state: OrderState) => !countsAsSent(state), ['draft', 'rejected', 'absent', 'denied']],
    ['unclear', (state: OrderState) => getReview(state) === 'unclear', ['unknown', 'quarantined']],
    ['odd', (state: OrderState) => getReview(state) === 'odd', ['rejected', 'absent']],
  ])('read the columns of the states: %s', (_, holds, states) => {
    expect(ORDER_STATES.filter(holds)).toEqual(states);
  });

  it('allow an amend of an open order alone', () => {
    expect(ORDER_STATES.filter((state) => mayAmend(orderIn(state)))).toEqual(['open']);
  });

  it('refuse a new size for a part-filled order and for a position stop', () => {
    const part = stepOrder(orderIn('open'), eventOf('P_OPEN', 1_000, 50, { total_filled_size: '4' })).snapshot;
    expect([mayAmend(part), mayAmend(part, { size: '12' })]).toEqual([true, false]);
    const stop = life(
      [eventOf('SUBMIT', 1), eventOf('ACK', 2), eventOf('P_OPEN', 3)],
      createOrder(terms({ type: 'stop_loss', size: '0.5' }), T0),
    );
    expect([mayAmend(stop.snapshot), mayAmend(stop.snapshot, { size: '0.4' })]).toEqual([true, false]);
  });

  it('read every status of the document, and any other text', () => {
    const statuses = [
      'processing',
      'open',
      'placed',
      'amending',
      'canceling',
      'cancelingall',
      'closed',
      'canceled',
      'rejected',
    ];
    expect(statuses.map((status) => classifyRecord(record(status)))).toEqual([
      'P_PROCESSING',
      'P_OPEN',
      'P_OPEN',
      'P_AMENDING',
      'P_CANCELING',
      'P_CANCELING',
      'P_CLOSED',
      'P_CANCELED',
      'P_REJECTED',
    ]);
    for (const odd of ['', 'OPEN', 'toString', '__proto__', 'constructor'])
      expect(classifyRecord(record(odd))).toBe('P_UNKNOWN_STATUS');
  });
});

describe('an end that only an answer said', () => {
  const answered = stepOrder(orderIn('processing'), eventOf('CANCEL_FINAL', 1_000)).snapshot;

  it('is not seen until a record shows it', () => {
    expect([answered.state, isFilledUnseen(answered)]).toEqual(['canceled', true]);
    const seen = life([eventOf('CANCEL_FINAL', 1_000)], orderIn('open')).snapshot;
    expect(isFilledUnseen(seen)).toBe(true);
    const read = toObservation(record('canceled'), T0 + 2_000, T0 + 2_010);
    expect(read).toEqual({ type: 'P_CANCELED', record: record('canceled'), sentAt: T0 + 2_000, at: T0 + 2_010 });
    expect(isFilledUnseen(stepOrder(seen, read).snapshot)).toBe(false);
  });

  it('nor is what filled, where a record shows it closed with nothing filled', () => {
    expect(ORDER_STATES.filter((state) => isFilledUnseen(orderIn(state)))).toEqual(['closed']);
    const part = createOrder(terms({ type: 'stop_loss', size: '0.5' }), T0);
    expect(isFilledUnseen({ state: 'closed', context: part.context })).toBe(false);
  });
});

describe('an order that is there again', () => {
  it('is reported with where it was, and is not settled any more', () => {
    const settled = life([eventOf('T_SETTLE', 500)], orderIn('canceled')).snapshot;
    expect(settled.context.settled).toBe(true);
    const late = stepOrder(settled, eventOf('P_OPEN', 9_000));
    expect(late.alarms).toEqual([{ alarm: 'LateOrder', detail: { from: 'canceled', to: 'open', event: 'P_OPEN' } }]);
    expect([late.snapshot.context.settled, late.snapshot.context.terminalAt]).toEqual([false, undefined]);
    const absent = stepOrder(orderIn('absent'), eventOf('ACK', 9_000));
    expect(absent.alarms).toEqual([{ alarm: 'Reappeared', detail: { to: 'processing', event: 'ACK' } }]);
  });

  it('is cancelled again where a cancel of ours was lost, and not while one is shown', () => {
    const asked = life([eventOf('CANCEL', 100)], orderIn('submitting')).snapshot;
    const wants = (event: OrderEvent) => {
      const { snapshot, wants } = stepOrder(asked, event);
      return [snapshot.state, wants.includes('cancel_again')];
    };
    expect(wants(eventOf('ACK', 200))).toEqual(['processing', true]);
    expect(wants(eventOf('P_OPEN', 200))).toEqual(['open', true]);
    expect(wants(eventOf('P_CANCELING', 200))).toEqual(['canceling', false]);
    expect(wants(eventOf('SUBMIT_UNKNOWN', 200))).toEqual(['unknown', false]);
  });
});

describe('exposure', () => {
  it.each([
    ['draft', '0'],
    ['submitting', '10'],
    ['unknown', '10'],
    ['processing', '10'],
    ['open', '10'],
    ['amending', '10'],
    ['canceling', '10'],
    ['closed', '0'],
    ['canceled', '0'],
    ['rejected', '0'],
    ['absent', '0'],
    ['denied', '0'],
    ['quarantined', '10'],
  ] as const)('of an order that is %s: %s may still fill', (state, worstRemaining) => {
    expect(getExposure(orderIn(state))).toEqual({ filled: '0', worstRemaining });
  });

  it('counts the larger of the fills and the filled size of the records', () => {
    const told = stepOrder(orderIn('open'), eventOf('P_OPEN', 1_000, 50, { total_filled_size: '4' })).snapshot;
    expect(getExposure(told)).toEqual({ filled: '4', worstRemaining: '6' });
    const read = life(
      [
        { type: 'FILL', at: T0 + 1_100, fill: fill('1', '4') },
        { type: 'FILL', at: T0 + 1_200, fill: fill('2', '3') },
      ],
      told,
    ).snapshot;
    expect(getExposure(read)).toEqual({ filled: '7', worstRemaining: '3' });
  });

  it('counts an amend in doubt with the larger of its sizes', () => {
    const open = orderIn('open');
    const up = stepOrder(open, { type: 'AMEND', at: T0 + 1_000, price: '100', size: '25' }).snapshot;
    const down = stepOrder(open, { type: 'AMEND', at: T0 + 1_000, price: '100', size: '3' }).snapshot;
    expect([getExposure(up).worstRemaining, getExposure(down).worstRemaining]).toEqual(['25', '10']);
    const refused = stepOrder(up, eventOf('AMEND_REFUSED', 1_100)).snapshot;
    expect(getExposure(refused).worstRemaining).toBe('10');
    const foreign = stepOrder(open, eventOf('P_AMENDING', 1_000)).snapshot;
    expect(getExposure(foreign).worstRemaining).toBe('10');
  });

  it('takes the remaining size from the record where it is not size less filled (venue-notes.md, surprise 5)', () => {
    const odd = stepOrder(
      orderIn('open'),
      eventOf('P_OPEN', 1_000, 50, { total_filled_size: '4', size: '8' }),
    ).snapshot;
    expect([odd.context.remaining, getExposure(odd).worstRemaining]).toEqual(['8', '8']);
  });

  it('never adds a fraction to base sizes', () => {
    const stop = createOrder(terms({ type: 'stop_loss', size: '0.5' }), T0);
    const sent = life([eventOf('SUBMIT', 1), eventOf('ACK', 2)], stop).snapshot;
    expect(getExposure(sent)).toEqual({ filled: '0', worstRemaining: '0' });
    const known = life([eventOf('P_OPEN', 3, 1, { size: '2.5', initial_size: '2.5' })], sent).snapshot;
    expect(getExposure(known)).toEqual({ filled: '0', worstRemaining: '2.5' });
    const filled = life([{ type: 'FILL', at: T0 + 9, fill: fill('1', '2.5') }], known);
    expect([filled.alarms, getExposure(filled.snapshot)]).toEqual([[], { filled: '2.5', worstRemaining: '0' }]);
  });
});
