import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Decimal, decimal } from '../../src/base/decimal.ts';
import { createOrder, type OrderSnapshot } from '../../src/venue/order/context.ts';
import { stepOrder } from '../../src/venue/order/life.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import { OpenedPosition, type OwnOrder } from '../../src/venue/position/opened.ts';
import { findBeyond, findLeft, isCovering, type LeftSide, onlyProtects } from '../../src/venue/position/residual.ts';
import { fill, record, T0, terms } from './order-samples.ts';

interface Given {
  readonly side?: 'long' | 'short';
  readonly type?: OrderTerms['type'];
  readonly size?: string;
  readonly filled?: string;
  readonly state?: OrderState;
  /** The size that the venue reported for a position stop. */
  readonly authorised?: string;
  readonly triggered?: true;
  readonly market?: string;
  readonly provenHeld?: string;
  readonly allow?: 'reduce';
  /** The price of the market. */
  readonly price?: string;
  /** ms after T0. */
  readonly at?: number;
}

let count = 0;

/** An order as the tracker has it; one of a size rests with what is not filled. */
function order(given: Given): OwnOrder {
  const { side = 'long', type = 'limit', size = '1', filled = '0', state = 'closed', at = 0 } = given;
  count += 1;
  const clientOrderId = `rb${count}`;
  const intent = terms({
    clientOrderId,
    side,
    type,
    size,
    market: given.market ?? 'BTC-USD',
    ...(given.allow === undefined ? {} : { allow: given.allow }),
  });
  const isPart = type === 'stop_loss' || type === 'take_profit';
  const authorised = given.authorised ?? (isPart ? undefined : size);
  const rest = authorised === undefined ? '0' : decimal(authorised).minus(decimal(filled)).toFixed();
  const { context } = createOrder(intent, T0);
  const fills = new Map(
    decimal(filled).isZero() ? [] : [[clientOrderId, fill(clientOrderId, filled, { timestamp: (T0 + at) * 1000 })]],
  );
  const snapshot: OrderSnapshot = {
    state,
    context: {
      ...context,
      authorised,
      remaining: rest,
      filled,
      recordFilled: filled,
      fills,
      triggered: given.triggered,
    },
  };
  return { intent, snapshot, createdAt: T0 + at, provenHeld: given.provenHeld };
}

const DONE = { when: 'steps', staysArmed: false } as const;
const END = { when: 'end', staysArmed: false } as const;
const sides = (left: readonly LeftSide[]) => left.map(({ side, size, covered }) => [side, size, covered]);
const left = (...orders: readonly OwnOrder[]) => sides(findLeft(orders, DONE));
const stop = (more: Given = {}) => order({ side: 'short', type: 'stop_loss', state: 'open', ...more });

describe('what a run opened', () => {
  it('is the position that its fills add up to, by market', () => {
    const found = findLeft(
      [
        order({ filled: '0.25' }),
        order({ side: 'short', filled: '0.05', type: 'market' }),
        order({ side: 'short', filled: '2', market: 'ETH-USD', type: 'market', size: '2' }),
      ],
      DONE,
    );
    expect(found).toEqual([
      { market: 'BTC-USD', side: 'long', size: '0.2', opened: '0.2', covered: '0' },
      { market: 'ETH-USD', side: 'short', size: '2', opened: '2', covered: '0' },
    ]);
    expect(left(order({ filled: '0.25' }), order({ side: 'short', filled: '0.25' }))).toEqual([]);
  });

  it('leaves out what closed a position that was proven when the order was decided, and no more than that', () => {
    const close = (size: string, provenHeld?: string) =>
      order({ side: 'short', type: 'market', size, filled: size, ...(provenHeld === undefined ? {} : { provenHeld }) });
    expect(left(close('0.3', '0.3'))).toEqual([]);
    expect(left(close('0.3', '0.2'))).toEqual([['short', '0.1', '0']]);
    expect(left(close('0.3', '-0.3'))).toEqual([['short', '0.3', '0']]);
    expect(left(close('0.3'))).toEqual([['short', '0.3', '0']]);
    // Two orders do not close the same position twice.
    expect(left(close('0.3', '0.3'), close('0.3', '0.3'))).toEqual([['short', '0.3', '0']]);
  });

  it('is what an order did, whatever its step allowed', () => {
    expect(left(order({ side: 'short', filled: '0.1', allow: 'reduce' }))).toEqual([['short', '0.1', '0']]);
  });

  it('of a called runbook leaves out what closed a position of the rest of the run', () => {
    const close = order({ side: 'short', type: 'market', size: '0.3', filled: '0.3', at: 2 });
    const beside = (given: Given) => {
      const opened = new OpenedPosition();
      for (const [place, each] of [order(given), close].entries()) opened.update(Object.assign(each, { place }));
      return sides(findLeft([close], DONE, (_, orders) => opened.listBeside(orders)));
    };
    expect(beside({ filled: '0.3', at: 1 })).toEqual([]);
    expect(beside({ filled: '0.1', at: 1 })).toEqual([['short', '0.2', '0']]);
    expect(beside({ filled: '0.3', at: 3 })).toEqual([['short', '0.3', '0']]);
  });

  it('counts a position stop as closing only: first what the run opened, then what was held before', () => {
    const closed = stop({ state: 'closed', filled: '0.25', authorised: '0.25', at: 2 });
    expect(left(closed)).toEqual([]);
    expect(left(order({ filled: '0.25', at: 1 }), closed)).toEqual([]);
    // Sold once more after the stop: that opens.
    expect(left(order({ filled: '0.25', at: 1 }), closed, order({ side: 'short', filled: '0.25', at: 3 }))).toEqual([
      ['short', '0.25', '0'],
    ]);
  });

  it('has what is bought after a stop or an order closed what was held before', () => {
    const beyond = stop({ state: 'closed', filled: '0.5', authorised: '0.5', at: 2 });
    const again = order({ filled: '0.1', at: 3 });
    expect(left(order({ filled: '0.2', at: 1 }), beyond, again)).toEqual([['long', '0.1', '0']]);
    const sold = order({ side: 'short', type: 'market', size: '0.3', filled: '0.3', provenHeld: '0.3', at: 2 });
    expect(left(sold, again)).toEqual([['long', '0.1', '0']]);
  });

  it('names an order of unknown fate that may have closed it, and counts nothing of it', () => {
    const entry = order({ size: '0.3', filled: '0.3' });
    const exit = order({ side: 'short', type: 'market', size: '0.3', state: 'quarantined' });
    const [found] = findLeft([entry, exit], { when: 'end', staysArmed: false });
    expect([found?.size, found?.idle?.map(({ why }) => why)]).toEqual(['0.3', ['in_doubt']]);
    const stop = order({ side: 'short', type: 'stop_market', size: '0.3', state: 'quarantined' });
    expect(findLeft([entry, stop], { when: 'end', staysArmed: false })[0]?.idle).toBeUndefined();
  });

  it('names a stop that ended without a request of this program: who closes by hand looks first', () => {
    const entry = order({ size: '0.3', filled: '0.3' });
    const ended = stop({ state: 'canceled' });
    const cause = (by: 'run' | 'external'): OwnOrder => {
      const { state, context } = ended.snapshot;
      return { ...ended, snapshot: { state, context: { ...context, cancel: { cause: by, sentAt: T0, tries: 1 } } } };
    };
    const listIdle = (order: OwnOrder) => findLeft([entry, order], END)[0]?.idle?.map(({ why }) => why);
    expect(listIdle(ended)).toEqual(['ended_by_others']);
    expect(listIdle(cause('external'))).toEqual(['ended_by_others']);
    expect(listIdle(cause('run'))).toBeUndefined();
  });

  it('has what may have filled unseen: an order of unknown fate, and an end that only an answer showed', () => {
    expect(left(order({ size: '0.3', filled: '0.1', state: 'unknown' }))).toEqual([['long', '0.3', '0']]);
    const canceled = order({ size: '0.3', filled: '0.1', state: 'canceled' });
    expect(left(canceled)).toEqual([['long', '0.3', '0']]);
    const { snapshot } = canceled;
    const seen = {
      ...canceled,
      snapshot: { ...snapshot, context: { ...snapshot.context, lastRecord: record('canceled') } },
    };
    expect(left(seen)).toEqual([['long', '0.1', '0']]);
  });
});

describe('what is covered', () => {
  it('is what working stops of the other side cover, at most what was opened', () => {
    const entry = order({ filled: '0.25' });
    expect(left(entry, stop())).toEqual([['long', '0.25', '0.25']]);
    expect(left(entry, stop(), stop())).toEqual([['long', '0.25', '0.25']]);
    expect(left(entry, stop({ size: '0.4' }))).toEqual([['long', '0.25', '0.1']]);
    expect(left(entry, stop({ authorised: '0.1' }))).toEqual([['long', '0.25', '0.1']]);
    // A fraction may be one of what the others have left when it triggers.
    const half = stop({ size: '0.5' });
    expect(left(entry, half, half)).toEqual([['long', '0.25', '0.1875']]);
    expect(left(entry, half, stop())).toEqual([['long', '0.25', '0.25']]);
    for (const both of [
      [half, stop({ type: 'stop_market', size: '0.15' })],
      [stop({ type: 'stop_market', size: '0.15' }), half],
    ])
      expect(left(entry, ...both)).toEqual([['long', '0.25', '0.2']]);
    // Shown with its size, it is of what was held when it was placed.
    const fixed = stop({ size: '0.5', authorised: '0.125' });
    expect(left(entry, fixed, fixed)).toEqual([['long', '0.25', '0.25']]);
    expect(left(entry, stop({ type: 'stop_market', size: '0.1' }))).toEqual([['long', '0.25', '0.1']]);
    expect(left(entry, stop({ type: 'take_profit' }))).toEqual([['long', '0.25', '0']]);
    expect(left(entry, order({ type: 'stop_market', state: 'open' }))).toEqual([['long', '0.25', '0']]);
  });

  it.each(['processing', 'canceling', 'canceled', 'rejected', 'closed'] as const)(
    'is nothing while the stop is %s',
    (state) => {
      expect(left(order({ filled: '0.25' }), stop({ state }))).toEqual([['long', '0.25', '0']]);
    },
  );

  it('is nothing of a stop that has triggered and rests', () => {
    const gapped = stop({ triggered: true, authorised: '0.25' });
    const found = findLeft([order({ filled: '0.25' }), gapped], DONE);
    expect(sides(found)).toEqual([['long', '0.25', '0']]);
    expect(found[0]?.idle).toMatchObject([{ clientOrderId: gapped.intent.clientOrderId, why: 'gapped' }]);
    expect(left(order({ filled: '0.25' }), stop({ filled: '0.05', authorised: '0.25' }))).toEqual([
      ['long', '0.2', '0'],
    ]);
  });

  it.each<[string, string, Given, string]>([
    ['at the limit', '1', { price: '100' }, '1'],
    ['below the limit', '1', { price: '99' }, '0'],
    ['not known', '1', {}, '1'],
    ['above the limit, to buy', '-1', { price: '101', side: 'long' }, '0'],
    ['below the limit, to buy', '-1', { price: '99', side: 'long' }, '1'],
    ['below the limit of one without a limit', '1', { price: '99', type: 'stop_market' }, '1'],
    // It shows a size when it has triggered, if its venue keeps to the profile.
    ['below the limit of a part of the position', '1', { price: '99', type: 'stop_loss' }, '0'],
  ])('of a stop, with the market %s', (_, held, { price, ...given }, covered) => {
    const opens = order({ side: held === '1' ? 'long' : 'short', filled: '1' });
    const resting = order({ side: 'short', type: 'stop_limit', state: 'open', ...given });
    const getPrice = () => (price === undefined ? undefined : decimal(price));
    const [found] = findLeft([opens, resting], { ...DONE, getPrice });
    expect(found).toMatchObject({ size: '1', covered });
    expect(found?.idle).toEqual(
      covered === '1' ? undefined : [{ clientOrderId: resting.intent.clientOrderId, why: 'gapped' }],
    );
  });

  it('is nothing under a switch that stays armed', () => {
    const found = findLeft([order({ filled: '0.25' }), stop()], { when: 'steps', staysArmed: true });
    expect(sides(found)).toEqual([['long', '0.25', '0']]);
    expect(found[0]?.idle).toMatchObject([{ why: 'under_switch' }]);
  });

  it('is nothing where a kill ended the run', () => {
    const found = findLeft([order({ filled: '0.25' }), stop()], { when: 'end', staysArmed: false, killed: true });
    expect(sides(found)).toEqual([['long', '0.25', '0']]);
    expect(found[0]?.idle).toMatchObject([{ why: 'under_kill' }]);
  });

  it('names a position stop without a position', () => {
    expect(findLeft([stop()], DONE)).toMatchObject([{ side: 'long', size: '0', idle: [{ why: 'no_position' }] }]);
    expect(findBeyond(findLeft([stop()], DONE), 'none')).toEqual([]);
  });

  it.each<[string, Given]>([
    ['waits', {}],
    ['has triggered', { triggered: true }],
  ])('names a take-profit that %s without a position, and none beside one', (_, more) => {
    const target = stop({ type: 'take_profit', ...more });
    const { clientOrderId } = target.intent;
    const found = findLeft([target], DONE);
    expect(found).toEqual([
      {
        market: 'BTC-USD',
        side: 'long',
        size: '0',
        opened: '0',
        covered: '0',
        idle: [{ clientOrderId, why: 'no_position' }],
      },
    ]);
    expect(findBeyond(found, 'none')).toEqual([]);
    expect(findLeft([order({ filled: '1' }), target], DONE)[0]?.idle).toBeUndefined();
    expect(findLeft([stop({ type: 'take_profit', state: 'canceled' })], DONE)).toEqual([]);
  });
});

describe('a deadman switch that would take nothing but stops away', () => {
  const held = order({ filled: '1' });
  const sized = (type: OrderTerms['type'], more: Given = {}) => order({ side: 'short', type, state: 'open', ...more });

  it.each<[string, boolean, readonly OwnOrder[]]>([
    ['stops alone', true, [held, stop(), sized('stop_market')]],
    ['a stop and a target that can only close', true, [held, stop(), sized('take_profit')]],
    ['a stop, and a limit order that would close too', false, [held, stop(), sized('limit')]],
    ['a stop, and an order that would open', false, [held, stop(), order({ state: 'open' })]],
    ['a stop larger than the position', false, [held, sized('stop_market', { size: '2' })]],
    ['a target alone', false, [held, sized('take_profit')]],
    ['nothing', false, [held]],
  ])('%s: %s', (_, protects, orders) => expect(onlyProtects(orders)).toBe(protects));
});

describe('at the end of a run', () => {
  const resting = order({ state: 'open', size: '0.5', filled: '0.1' });

  it('a working order that can open counts as filled in full, unless a switch will cancel it', () => {
    expect(left(resting)).toEqual([['long', '0.1', '0']]);
    expect(findLeft([resting], END)).toMatchObject([{ size: '0.5', opened: '0.1' }]);
    expect(sides(findLeft([resting], { when: 'end', staysArmed: true }))).toEqual([['long', '0.1', '0']]);
  });

  it('each side is judged at its own worst', () => {
    const other = order({ side: 'short', state: 'open', size: '0.3' });
    expect(sides(findLeft([resting, other], END))).toEqual([
      ['long', '0.5', '0'],
      ['short', '0.2', '0'],
    ]);
  });

  it('a working order that only closes opens nothing', () => {
    expect(
      sides(findLeft([order({ filled: '0.3' }), order({ side: 'short', state: 'open', size: '0.3' }), stop()], END)),
    ).toEqual([['long', '0.3', '0.3']]);
    expect(findLeft([order({ side: 'short', state: 'open', size: '0.3', provenHeld: '0.3' })], END)).toEqual([]);
  });
});

describe('what a record shows of a stop', () => {
  const terms_ = terms({ type: 'stop_loss', side: 'short', size: '0.5', price: '90' });
  const read = (snapshot: OrderSnapshot, over: Parameters<typeof record>[1], at: number) => {
    const shown = record('open', { side: 'short', price: '90', ...over });
    return stepOrder(snapshot, { type: 'P_OPEN', record: shown, sentAt: T0 + at, at: T0 + at }).snapshot;
  };
  const placed = (shownSize?: 'base') => {
    const sent = stepOrder(createOrder(terms_, T0, shownSize && { shownSize }), { type: 'SUBMIT', at: T0 }).snapshot;
    return stepOrder(sent, { type: 'ACK', at: T0, orderId: 'BTC-USD@1859' }).snapshot;
  };

  it('is that it has triggered where its fraction became a size', () => {
    const waiting = read(placed(), { size: '0.5', initial_size: '0.5' }, 100);
    expect(waiting.context.triggered).toBeUndefined();
    expect(read(waiting, { size: '0.1', initial_size: '0.1' }, 9000).context.triggered).toBe(true);
    // The market may have jumped beyond it before its first record.
    expect(read(placed(), { size: '0.1', initial_size: '0.1' }, 100).context.triggered).toBe(true);
    // A venue that shows a size from the beginning proves nothing by it.
    const sized = read(placed('base'), { size: '0.1', initial_size: '0.1' }, 100);
    expect(read(sized, { size: '0.2', initial_size: '0.2' }, 9000).context.triggered).toBeUndefined();
  });

  it('is that it has triggered where it left the status of one that waits', () => {
    const waiting = read(placed(), { size: '0.5', initial_size: '0.5', status: 'placed' }, 100);
    expect(read(waiting, { size: '0.5', initial_size: '0.5' }, 9000).context.triggered).toBe(true);
  });
});

describe('any orders', () => {
  const size = fc.integer({ min: 0, max: 20 }).map((n) => new Decimal(n).div(10).toFixed());
  const anyOrder = fc
    .record({
      side: fc.constantFrom('long' as const, 'short' as const),
      type: fc.constantFrom('limit' as const, 'market' as const, 'stop_market' as const, 'stop_limit' as const),
      total: fc.integer({ min: 1, max: 20 }),
      done: fc.integer({ min: 0, max: 20 }),
      state: fc.constantFrom('open' as const, 'closed' as const, 'unknown' as const, 'rejected' as const),
      at: fc.integer({ min: 0, max: 50 }),
      held: fc.option(size, { nil: undefined }),
      negative: fc.boolean(),
    })
    .map(({ side, type, total, done, state, at, held, negative }) =>
      order({
        side,
        type,
        size: new Decimal(total).div(10).toFixed(),
        filled: new Decimal(Math.min(total, done)).div(10).toFixed(),
        state,
        at,
        ...(held === undefined || held === '0' ? {} : { provenHeld: negative ? `-${held}` : held }),
      }),
    );
  const net = (orders: readonly OwnOrder[]) =>
    orders.reduce(
      (sum, { intent, snapshot: { context } }) =>
        intent.side === 'long' ? sum.plus(context.filled) : sum.minus(context.filled),
      new Decimal(0),
    );
  const opened = (orders: readonly OwnOrder[]) =>
    findLeft(orders, DONE).reduce(
      (sum, each) => (each.side === 'long' ? sum.plus(each.opened) : sum.minus(each.opened)),
      new Decimal(0),
    );
  const bare = (all: readonly LeftSide[]) =>
    all.reduce((sum, each) => sum.plus(decimal(each.size)).minus(decimal(each.covered)), new Decimal(0));

  it('without a proof open exactly what their fills add up to', () => {
    fc.assert(
      fc.property(fc.array(anyOrder, { maxLength: 8 }), (drawn) => {
        const orders = drawn.map((each) => ({ ...each, provenHeld: undefined }));
        expect(opened(orders).toFixed()).toBe(net(orders).toFixed());
      }),
    );
  });

  it('never cover more than is left, and a proof never makes more of a position than the fills', () => {
    fc.assert(
      fc.property(fc.array(anyOrder, { maxLength: 8 }), fc.boolean(), fc.boolean(), (orders, ends, staysArmed) => {
        for (const { size, opened: certain, covered } of findLeft(orders, {
          when: ends ? 'end' : 'steps',
          staysArmed,
        })) {
          expect(decimal(covered).lte(decimal(size))).toBe(true);
          expect(decimal(certain).lte(decimal(size))).toBe(true);
        }
        const [real, without] = [opened(orders), opened(orders.map((each) => ({ ...each, provenHeld: undefined })))];
        // What reduced a position of others was closed, so it only moves what is opened against the sum of the fills.
        expect(
          real
            .minus(without)
            .abs()
            .lte(orders.reduce((sum, each) => sum.plus(each.snapshot.context.filled), new Decimal(0))),
        ).toBe(true);
      }),
    );
  });

  it('are never less bare without one of their stops, and never less open at the end than before it', () => {
    fc.assert(
      fc.property(fc.array(anyOrder, { maxLength: 6 }), (orders) => {
        const before = bare(findLeft(orders, DONE));
        for (const each of orders.filter((one) => isCovering(one, orders)))
          expect(
            bare(
              findLeft(
                orders.filter((one) => one !== each),
                DONE,
              ),
            ).gte(before.minus(each.snapshot.context.filled)),
          ).toBe(true);
        const total = (all: readonly LeftSide[]) => all.reduce((sum, each) => sum.plus(each.size), new Decimal(0));
        expect(total(findLeft(orders, END)).gte(total(findLeft(orders, DONE)))).toBe(true);
      }),
    );
  });
});
