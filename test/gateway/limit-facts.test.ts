/**
 * The facts of the limits, folded from the entries that a run writes. Every case checks the limits after calls and answers that
 * pass through a real order tracker, both live and as a process that resumes the run finds them.
 */
import { describe, expect, it } from 'vitest';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { ApprovedBounds, DataOf, Entry, EntryType, Json } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { type LimitRules, MOST_OPEN_ORDERS, type WorkingOrder } from '../../src/venue/limits/check.ts';
import type { OrderAlarmName } from '../../src/venue/order/context.ts';
import type { OrderTerms, VenueCall } from '../../src/venue/port.ts';
import type { FillRecord, OrderRecord } from '../../src/venue/records.ts';
import { fill, ID, record, T0, terms } from '../venue/order-samples.ts';

const DAY_US = 86_400_000_000;

/** A run as its entries, one second apart, folded by the limit facts and the tracker. */
class Story {
  now = T0;
  private tracker = new OrderTracker();
  /** Working orders of other runs of the account. */
  others: readonly WorkingOrder[] = [];
  private gate = new LimitFactsFold(this.tracker, {}, () => ({ killed: false, working: this.others }), 'mid');
  /** Of the last check: the market whose price feed should be read first, and the figures. */
  unpriced: string | undefined;
  considered: Readonly<Record<string, string>> = {};
  private readonly entries: Entry[] = [];
  private calls = 0;

  constructor() {
    this.tracker.onChange(({ order, from, to, event }) => {
      if (from === to) return;
      const { intent, snapshot } = order;
      this.observe('order.moved', {
        clientOrderId: intent.clientOrderId,
        from,
        to,
        event,
        filled: snapshot.context.filled,
      });
    });
  }

  /** Starts the run under the bounds of the plan that a person approved. */
  approved(bounds: ApprovedBounds): this {
    this.append('run.started', { bounds, settings: {} } as DataOf<'run.started'>);
    return this;
  }
  /** Places an order that the venue acknowledges as `BTC-USD@<its number>`. */
  placed(number: number, over: Partial<OrderTerms> = {}, reference?: string): this {
    const intent = terms({ clientOrderId: `rb${number}`, ...over });
    const call = this.intend('POST /orders', { market_id: intent.market }, { intent, ...withReference(reference) });
    this.attempt(call, 'POST');
    return this.confirm(call, [
      { id: `${intent.market}@${number}`, client_order_id: intent.clientOrderId, status: 'processing' },
    ]);
  }
  /** The venue contradicts itself about an order. */
  alarmed(number: number, alarm: OrderAlarmName = 'Overfill'): this {
    this.append('order.alarmed', { clientOrderId: `rb${number}`, alarm, detail: {} });
    return this;
  }
  rejected(number: number, over: Partial<OrderTerms> = {}, failure = 'rejected'): this {
    const intent = terms({ clientOrderId: `rb${number}`, ...over });
    const call = this.intend('POST /orders', { market_id: intent.market }, { intent });
    this.attempt(call, 'POST');
    return this.settle(call, { kind: 'rejected', failure, definite: true, message: 'no margin' });
  }
  /** An order whose session the venue refused, and that is denied before or after its second attempt. */
  deniedAgain(number: number, attempts: 1 | 2): this {
    const intent = terms({ clientOrderId: `rb${number}` });
    const call = this.intend('POST /orders', { market_id: intent.market }, { intent });
    this.attempt(call, 'POST');
    this.append('call.answered', { call, n: 1, status: 401, message: 'expired', headers: {} });
    if (attempts === 2) this.attempt(call, 'POST');
    return this.settle(call, { kind: 'denied', code: 'KILL_SWITCH_ENGAGED', message: 'no' });
  }
  /** An order that is denied before its attempt. */
  denied(number: number): this {
    const intent = terms({ clientOrderId: `rb${number}` });
    const call = this.intend('POST /orders', { market_id: intent.market }, { intent });
    return this.settle(call, { kind: 'denied', code: 'MARKET_NOT_ALLOWED', message: 'no' });
  }
  amended(
    number: number,
    params: { price: string; size?: string },
    refusal?: Pick<DataOf<'call.settled'>, 'kind' | 'failure' | 'definite' | 'code' | 'status'>,
  ): this {
    const call = this.intend(
      'PUT /orders',
      { order_id: `BTC-USD@${number}`, market_id: 'BTC-USD', ...params },
      {
        clientOrderId: `rb${number}`,
      },
    );
    this.attempt(call, 'PUT');
    if (refusal !== undefined) return this.settle(call, { ...refusal, message: 'no margin' });
    return this.confirm(call, [{ ...params, id: `BTC-USD@${number}`, status: 'amending' }]);
  }
  /** Cancels an order; the venue confirms at once. */
  cancelled(number: number): this {
    const call = this.intend(
      'DELETE /orders',
      { order_id: `BTC-USD@${number}`, market_id: 'BTC-USD' },
      {
        clientOrderId: `rb${number}`,
      },
    );
    this.attempt(call, 'DELETE');
    return this.confirm(call, [{ id: `BTC-USD@${number}`, status: 'canceled' }]);
  }
  /** Reads a record of an order. */
  shown(number: number, status: string, over: Partial<OrderRecord> = {}): this {
    const one = record(status, { id: `BTC-USD@${number}`, client_order_id: `rb${number}`, ...over });
    return this.read('GET /orders', { order_id: one.id, market_id: 'BTC-USD' }, [one]);
  }
  listed(params: object, fills: readonly FillRecord[]): this {
    return this.read('GET /fills', { market_id: 'BTC-USD', ...params }, fills);
  }
  /** `unread`: rows of the list that could not be read. */
  read(endpoint: EndpointName, params: object, records: readonly object[], unread = 0): this {
    const call = this.intend(endpoint, params, {});
    this.attempt(call, 'GET');
    const rows = Array.from({ length: unread }, () => ({ why: 'no size' }));
    const result = records as unknown as Json;
    return this.settle(call, { kind: 'confirmed', success: true, result, ...(unread === 0 ? {} : { unread: rows }) });
  }
  armed(timeoutMs: number): this {
    const call = this.intend('POST /cancel_all_after', { market_id: 'BTC-USD' }, {});
    this.attempt(call, 'POST');
    this.confirm(call, []);
    this.append('deadman.moved', { event: 'armed', market: 'BTC-USD', timeoutMs });
    return this;
  }
  /** Gives an order up, as the look-ups do when they are over. */
  exhausted(number: number): this {
    this.append('order.concluded', { clientOrderId: `rb${number}`, event: 'T_EXHAUSTED', because: 'unknown' });
    return this;
  }
  /** Reads a feed, as of some ms ago. */
  fed(name: string, market: string, price: string, agoMs = 0): this {
    this.append('feed.read', { call: `#feed:${name}`, name, key: market, value: price, at: this.now - agoMs });
    return this;
  }
  /** Orders that the next check looks at: its cost, whatever the machine. */
  countLooks(over: Partial<OrderTerms>, rules: LimitRules): number {
    const intent = terms({ clientOrderId: 'rbnew', ...over });
    const call = {
      id: 'next#1',
      step: 'steps/next',
      endpoint: 'POST /orders',
      params: { market_id: intent.market },
      intent,
    } as unknown as VenueCall;
    const before = this.gate.own.visits;
    this.gate.check(call, rules, this.now);
    return this.gate.own.visits - before;
  }
  wait(ms: number): this {
    this.now += ms;
    return this;
  }

  /** Checks an order with these facts, with facts that got the same entries first and then the tracker, and once attempted. */
  asks(over: Partial<OrderTerms>, rules: LimitRules, more: Partial<VenueCall> = {}): string {
    const intent = terms({ clientOrderId: 'rbnew', ...over });
    const call: VenueCall = {
      id: 'next#1',
      step: 'steps/next',
      endpoint: 'POST /orders',
      params: { market_id: intent.market } as VenueCall<'POST /orders'>['params'],
      class: 'enter',
      intent,
      ...more,
    };
    const takenUp = new LimitFactsFold(new OrderTracker(), {}, undefined, 'mid');
    for (const entry of this.entries) takenUp.apply(entry);
    takenUp.useBook(this.tracker);
    const [verdict, later] = [this.gate, takenUp].map((gate) => ({
      ...gate.check(call, rules, this.now),
      unpriced: gate.findUnpriced(call, rules, this.now),
    }));
    expect(later).toEqual(verdict);
    const attempted = this.checkAttempted(call, rules);
    // What an amend asks for is in the run's notional by then, so its share of that is not added and not named again.
    if (call.intent === undefined) expect(attempted.ok || verdict?.ok === false).toBe(true);
    else expect({ ...attempted, unpriced: verdict?.unpriced }).toEqual(verdict);
    if (verdict === undefined) throw new Error('no verdict');
    this.unpriced = verdict.unpriced;
    this.considered = verdict.considered;
    return verdict.ok ? 'ok' : verdict.message;
  }
  /** Checks an amend of an order likewise. */
  asksAmend(number: number, params: { price: string; size?: string }, rules: LimitRules): string {
    return this.asks({}, rules, {
      endpoint: 'PUT /orders',
      params: { order_id: `BTC-USD@${number}`, market_id: 'BTC-USD', ...params } as VenueCall['params'],
      clientOrderId: `rb${number}`,
      intent: undefined,
    } as unknown as Partial<VenueCall>);
  }

  /** Facts that got the same entries, beside those of others. */
  fold(others: ConstructorParameters<typeof LimitFactsFold>[2]): LimitFactsFold {
    const tracker = new OrderTracker();
    const gate = new LimitFactsFold(tracker, {}, others, 'mid');
    for (const entry of this.entries) {
      gate.apply(entry);
      tracker.apply(entry);
    }
    return gate;
  }

  /** The same call asked about once more when its attempt is in the journal, as before it is sent. */
  private checkAttempted(call: VenueCall, rules: LimitRules) {
    const gate = this.fold(undefined);
    const { id, endpoint, params, intent, clientOrderId = intent?.clientOrderId } = call;
    const [at, step] = [this.now, call.step];
    const own = [
      { type: 'call.intended', data: { call: id, endpoint, params, class: 'enter', intent, clientOrderId }, at, step },
      { type: 'call.attempted', data: { call: id, n: 1 }, at, step },
    ] as unknown as readonly Entry[];
    for (const entry of own) {
      gate.apply(entry);
      gate.orders.apply(entry);
    }
    return gate.check(call, rules, this.now, { attempted: true });
  }

  private intend(endpoint: EndpointName, params: object, data: Partial<DataOf<'call.intended'>>): string {
    this.calls += 1;
    const call = `steps/${this.calls}#1`;
    const { intent } = data;
    this.append('call.intended', {
      call,
      endpoint,
      params: params as { readonly [key: string]: Json },
      class: 'read',
      ...(intent === undefined ? {} : { clientOrderId: intent.clientOrderId }),
      ...data,
    });
    return call;
  }
  private attempt(call: string, method: string): void {
    const data = { call, n: 1, method, path: '', params: {}, digest: '', tokens: 1, epoch: 1, waitedMs: 0 };
    this.append('call.attempted', data);
  }
  private confirm(call: string, result: readonly object[]): this {
    return this.settle(call, { kind: 'confirmed', success: true, result: result as unknown as Json });
  }
  private settle(call: string, data: Omit<DataOf<'call.settled'>, 'call' | 'sentAt'>): this {
    this.append('call.settled', { call, sentAt: this.now - 1, ...data });
    return this;
  }
  private append<T extends EntryType>(type: T, data: DataOf<T>): void {
    this.now += 1_000;
    this.tracker.apply(this.observe(type, data));
  }
  /** As a run's journal does: the limit facts first, then the tracker. */
  private observe<T extends EntryType>(type: T, data: DataOf<T>): Entry {
    const entry = { type, data, at: this.now, step: `steps/${this.calls}` } as unknown as Entry;
    this.entries.push(entry);
    this.gate.apply(entry);
    return entry;
  }
}

function withReference(reference: string | undefined): { readonly reference?: string } {
  return reference === undefined ? {} : { reference };
}

function theirs(number: number, side: 'long' | 'short', size: string, over: Partial<FillRecord> = {}): FillRecord {
  return fill(String(number), size, { order_id: `BTC-USD@${9_000 + number}`, side, ...over });
}

const SHORT = { side: 'short', price: '100' } as const;
const REFUSED = { kind: 'rejected', failure: 'rejected', definite: true } as const;

describe('the position', () => {
  const rules: LimitRules = { maxPosition: '12', selfMatch: 'allow' };

  it('counts the fills of a record, and a fill that is read later only once', () => {
    const story = new Story().placed(1).shown(1, 'closed', { total_filled_size: '10' });
    expect(story.asks({ size: '2' }, rules)).toBe('ok');
    expect(story.asks({ size: '2.1' }, rules)).toBe('POSITION_EXCEEDS_MAX: position=12.1, max=12');
    story.read('GET /fills/order', { order_id: 'BTC-USD@1' }, [
      fill('1', '4', { order_id: 'BTC-USD@1' }),
      fill('2', '6', { order_id: 'BTC-USD@1' }),
    ]);
    expect(story.asks({ size: '2' }, rules)).toBe('ok');
    expect(story.asks({ size: '2.1' }, rules)).toBe('POSITION_EXCEEDS_MAX: position=12.1, max=12');
  });

  it('counts a stop that waits by its trigger, whatever price its record shows', () => {
    const stop = { type: 'stop_market', size: '10', price: '100', trigger: '100' } as const;
    const rules: LimitRules = { maxMarketNotional: '1050' };
    for (const price of ['0', '1', '100'])
      expect(new Story().placed(1, stop).shown(1, 'open', { price }).asks({ price: '100', size: '1' }, rules)).toBe(
        'NOTIONAL_EXCEEDS_MAX_PER_MARKET: notional=100, held=1000, max=1050',
      );
  });

  it('counts a position stop that closed by its record alone', () => {
    const stop = { ...SHORT, type: 'stop_loss', size: '1', trigger: '90' } as const;
    const story = new Story()
      .placed(1)
      .shown(1, 'closed', { total_filled_size: '10' })
      .placed(2, stop)
      .shown(2, 'closed', { side: 'short', order_type: 'stop_loss', total_filled_size: '10' });
    expect(story.asks({ size: '12' }, rules)).toBe('ok');
    expect(story.asks({ ...SHORT, size: '0.1' }, { mode: 'reducing' })).toContain('position=0,');
  });

  it('includes all that an order could have filled before the venue called it canceled, until a record shows it', () => {
    const story = new Story().placed(1).shown(1, 'open').cancelled(1);
    expect(story.asks({ size: '2' }, rules)).toBe('ok');
    expect(story.asks({ size: '3' }, rules)).toBe('POSITION_EXCEEDS_MAX: position=13, max=12');
    expect(story.asks({ ...SHORT, size: '1' }, { mode: 'reducing' })).toBe(
      'REDUCING_ONLY: mode=reducing, side=short, size=1, position=0, working=0; refresh BTC-USD@1: how much was filled before it ended has not been read',
    );
    story.shown(1, 'canceled', { total_filled_size: '4' });
    expect(story.asks({ size: '8' }, rules)).toBe('ok');
    expect(story.asks({ size: '8.1' }, rules)).toContain('position=12.1');
    expect(story.asks({ ...SHORT, size: '4' }, { mode: 'reducing' })).toBe('ok');
    expect(story.asks({ ...SHORT, size: '4.1' }, { mode: 'reducing' })).toContain('REDUCING_ONLY');
  });

  it('has a fill of others as the venue has corrected it', () => {
    const story = new Story().listed({ p_limit: 1000 }, [theirs(1, 'long', '5')]);
    expect(story.asks({ size: '7' }, rules)).toBe('ok');
    story.listed({ p_limit: 1000 }, [theirs(1, 'long', '6')]);
    expect(story.asks({ size: '7' }, rules)).toContain('position=13,');
    story.listed({ p_limit: 1000 }, [theirs(1, 'long', '6')]);
    expect(story.asks({ size: '6' }, rules)).toBe('ok');
  });

  it('is neither raised nor netted by fills of others from an incomplete list', () => {
    const story = new Story().placed(1).shown(1, 'closed', { total_filled_size: '10' });
    story.listed({}, [theirs(1, 'short', '5')]);
    expect(story.asks({ size: '2.1' }, rules)).toContain('position=12.1');
    expect(story.asks({ ...SHORT, size: '17' }, { ...rules, sides: ['long', 'short'] })).toBe('ok');
    story.listed({}, [theirs(2, 'long', '7')]);
    expect(story.asks({ size: '1' }, rules)).toContain('position=13,');
  });
});

describe('a position stop that closes more than the run held', () => {
  const stop = { ...SHORT, type: 'stop_loss', size: '1', trigger: '90' } as const;
  const shown = { side: 'short', order_type: 'stop_loss' } as const;
  const closed = () =>
    new Story()
      .placed(1)
      .shown(1, 'closed', { total_filled_size: '10' })
      .placed(2, stop)
      .shown(2, 'closed', { ...shown, total_filled_size: '30' });

  it('leaves nothing that an order could reduce', () => {
    expect(closed().asks({ size: '1' }, { mode: 'reducing' })).toContain('position=0,');
    const capped = { maxOrderNotional: '99', selfMatch: 'allow' } as const;
    expect(closed().asks({ size: '20', allow: 'reduce' }, capped)).toContain('NOTIONAL_EXCEEDS_MAX_PER_ORDER');
  });
  it('does not hide what the run opens afterwards: it can be closed, and counts in the limits', () => {
    const story = closed().placed(3).shown(3, 'closed', { total_filled_size: '10' });
    expect(story.asks({ ...SHORT, size: '10' }, { mode: 'reducing' })).toBe('ok');
    expect(story.asks({ ...SHORT, size: '10.1' }, { mode: 'reducing' })).toContain('position=10,');
    expect(story.asks({ size: '1' }, { maxPosition: '10', selfMatch: 'allow' })).toContain('position=11,');
  });
  it('shows that a list of the fills lacks what others held', () => {
    const list = { p_limit: 9, p_page: 0, p_order: 'ASC', start_time: T0 * 1000 - DAY_US };
    const story = closed().listed(list, []);
    expect(story.asks({ size: '1' }, { mode: 'reducing' })).toContain('position=0,');
    const whole = closed().listed(list, [theirs(1, 'long', '20'), theirs(2, 'long', '3')]);
    expect(whole.asks({ ...SHORT, size: '3' }, { mode: 'reducing' })).toBe('ok');
    expect(whole.asks({ ...SHORT, size: '3.1' }, { mode: 'reducing' })).toContain('position=3,');
  });
});

describe('an order that closed what a list had proven', () => {
  it('leaves nothing to reduce when the list proves nothing any more', () => {
    const page = { p_limit: 9, p_page: 0, p_order: 'ASC', start_time: T0 * 1000 - DAY_US };
    const story = new Story().listed(page, [theirs(1, 'long', '3')]).placed(1, { ...SHORT, size: '3' });
    story.shown(1, 'closed', { side: 'short', size: '0', initial_size: '3', total_filled_size: '3' }).wait(121_000);
    expect(story.asks({ size: '3' }, { mode: 'reducing' })).toContain('position=0,');
  });
});

describe('the proof of a position', () => {
  const rules: LimitRules = { mode: 'reducing' };
  const page = { p_limit: 2, p_page: 0, p_order: 'ASC', start_time: T0 * 1000 - DAY_US };
  const sell = (story: Story, size = '3') => story.asks({ ...SHORT, size }, rules);
  const [first, second, third] = [theirs(1, 'long', '1'), theirs(2, 'long', '1'), theirs(3, 'long', '1')];

  it('is a list of the account whose last page was not full', () => {
    const story = new Story().listed(page, [first, second]);
    expect(sell(story)).toContain('REDUCING_ONLY');
    story.listed({ ...page, p_page: 1 }, [third]);
    expect(sell(story)).toBe('ok');
    expect(sell(story, '3.1')).toContain('position=3,');
  });
  it('includes what the run does afterwards', () => {
    const story = new Story().listed({ ...page, p_limit: 9 }, [first, second, third]);
    story.placed(1, { ...SHORT, size: '2' }).shown(1, 'open', { side: 'short', size: '2', initial_size: '2' });
    expect(sell(story, '1')).toBe('ok');
    expect(sell(story, '1.1')).toContain('working=2');
    story.shown(1, 'closed', { side: 'short', size: '0', initial_size: '2', total_filled_size: '2' });
    expect(sell(story, '1')).toBe('ok');
    expect(sell(story, '1.1')).toContain('position=1, working=0');
  });
  it.each<[string, (story: Story) => Story]>([
    ['one without its first page', (story) => story.listed({ ...page, p_page: 1 }, [third])],
    [
      'one with a page between left out',
      (story) => story.listed(page, [first, second]).listed({ ...page, p_page: 2 }, [third]),
    ],
    [
      'one whose pages begin at different times',
      (story) =>
        story.listed(page, [first, second]).listed({ ...page, p_page: 1, start_time: page.start_time + 1 }, [third]),
    ],
    [
      'one of several pages read newest first',
      (story) =>
        story
          .listed({ ...page, p_order: 'DESC' }, [first, second])
          .listed({ ...page, p_order: 'DESC', p_page: 1 }, [third]),
    ],
    [
      'one with a row that cannot be read',
      (story) => story.read('GET /fills', { market_id: 'BTC-USD', ...page, p_limit: 9 }, [first, second, third], 1),
    ],
    [
      'a full page of which one row cannot be read',
      (story) => story.read('GET /fills', { market_id: 'BTC-USD', ...page, p_limit: 4 }, [first, second, third], 1),
    ],
    ['one without a number of rows', (story) => story.listed({ start_time: page.start_time }, [first, second, third])],
    [
      'one with an end',
      (story) => story.listed({ ...page, p_limit: 9, end_time: (T0 + 900) * 1000 }, [first, second, third]),
    ],
    [
      'one of less than a day',
      (story) =>
        story.listed({ ...page, p_limit: 9, start_time: (T0 + 60_000) * 1000 - DAY_US }, [first, second, third]),
    ],
    [
      'one of another market',
      (story) => story.listed({ ...page, p_limit: 9, market_id: 'ETH-USD' }, [first, second, third]),
    ],
    ['one of two minutes ago', (story) => story.listed({ ...page, p_limit: 9 }, [first, second, third]).wait(119_000)],
  ])('is not %s', (_, told) => {
    expect(sell(told(new Story()))).toContain('REDUCING_ONLY');
  });
  it('can be a page that was not full, the whole history, or all markets together', () => {
    const all = [first, second, third];
    expect(sell(new Story().listed({ p_limit: 4, start_time: page.start_time }, all))).toBe('ok');
    expect(sell(new Story().listed({ p_limit: 4, p_order: 'DESC' }, all))).toBe('ok');
    expect(sell(new Story().listed({ p_limit: 4, market_id: undefined }, all))).toBe('ok');
    expect(sell(new Story().listed({ p_limit: 4 }, all).wait(118_999))).toBe('ok');
  });
  it('leaves to a working stop the part that it may still close, also when it is amended', () => {
    const story = new Story().listed({ ...page, p_limit: 9 }, [first, second, theirs(3, 'long', '2')]);
    story.placed(1, { ...SHORT, type: 'stop_loss', size: '0.5', trigger: '90' });
    story.shown(1, 'open', { side: 'short', order_type: 'stop_loss', size: '0.5', initial_size: '0.5' });
    expect(sell(story, '2')).toBe('ok');
    expect(sell(story, '2.1')).toContain('(BTC-USD@1) may close 0.5 of the position first');
    story.amended(1, { price: '100', size: '0.75' });
    expect(sell(story, '1')).toBe('ok');
    expect(sell(story, '1.1')).toContain('may close 0.75 of');
    const gone = { side: 'short', order_type: 'stop_loss', size: '0.75', initial_size: '0.75' } as const;
    story.shown(1, 'canceled', gone).wait(3_000).shown(1, 'canceled', gone);
    expect(sell(story, '4')).toBe('ok');
  });
});

describe('the notional of the run', () => {
  const rules: LimitRules = { maxRunNotional: '2000', selfMatch: 'allow' };
  const one = { size: '1' };

  it('counts each order with its largest notional ever sent', () => {
    const story = new Story().placed(1).shown(1, 'open').amended(1, { price: '120' });
    story.shown(1, 'open', { price: '120' }).amended(1, { price: '90' }).shown(1, 'open', { price: '90' });
    expect(story.asks({ price: '800', ...one }, rules)).toBe('ok');
    expect(story.asks({ price: '801', ...one }, rules)).toContain('notional=801, sent=1200, max=2000');
    // Back up to the notional that it counted with already, and beyond.
    expect(story.asksAmend(1, { price: '200' }, rules)).toBe('ok');
    expect(story.asksAmend(1, { price: '201' }, rules)).toContain('notional=810, sent=1200, max=2000');
    expect(story.asksAmend(1, { price: '90', size: '23' }, rules)).toContain('notional=870, sent=1200');
  });
  it('leaves out an amend that was denied here, and counts one whose refusal is not certain', () => {
    const story = new Story().placed(1).shown(1, 'open').amended(1, { price: '150' }, { kind: 'denied', code: 'STOP' });
    expect(story.asks({ price: '1001', ...one }, rules)).toContain('sent=1000');
    story.amended(1, { price: '140' }, { ...REFUSED, definite: false });
    expect(story.asks({ price: '1001', ...one }, rules)).toContain('sent=1400');
  });
  it('measures a market order by what the feed showed when it was sent', () => {
    const market = { type: 'market', price: undefined, size: '1' } as unknown as Partial<OrderTerms>;
    const story = new Story().fed('mid', 'BTC-USD', '110').placed(1, market).fed('mid', 'BTC-USD', '90');
    expect(story.asks({ price: '1891', ...one }, rules)).toContain('sent=110');
  });
  it('leaves out a refused amend and a refused order, but not a cancelled one', () => {
    const story = new Story().placed(1).shown(1, 'open').amended(1, { price: '150' }, REFUSED);
    expect(story.asks({ price: '1001', ...one }, rules)).toContain('sent=1000');
    story.rejected(2);
    expect(story.asks({ price: '1001', ...one }, rules)).toContain('sent=1000');
    story.cancelled(1).shown(1, 'canceled');
    expect(story.asks({ price: '1001', ...one }, rules)).toContain('sent=1000');
  });
  it('counts what a rejected order had filled', () => {
    const story = new Story().placed(1).shown(1, 'rejected', { total_filled_size: '4' });
    expect(story.asks({ price: '1601', ...one }, rules)).toContain('sent=400');
  });
  it('counts terms that another program gave an order of ours', () => {
    const story = new Story()
      .placed(1)
      .shown(1, 'open')
      .wait(10_000)
      .shown(1, 'open', { size: '15', initial_size: '15' });
    expect(story.asks({ price: '501', ...one }, rules)).toContain('sent=1500');
  });
  it('measures a short and a market order by the reference they were sent with', () => {
    const market = { type: 'market', price: undefined } as unknown as Partial<OrderTerms>;
    const story = new Story().placed(1, SHORT, '110').placed(2, { ...market, size: '1' }, '110');
    expect(story.asks({ price: '791', ...one }, rules)).toContain('sent=1210');
  });
  it('counts at least what the fills have cost', () => {
    const story = new Story()
      .placed(1, { side: 'short' }, '100')
      .shown(1, 'closed', { side: 'short', total_filled_size: '10' });
    story.read('GET /fills/order', { order_id: 'BTC-USD@1' }, [
      fill('1', '10', { order_id: 'BTC-USD@1', side: 'short', price: '130' }),
    ]);
    expect(story.asks({ price: '701', ...one }, rules)).toContain('sent=1300');
  });
  it('denies while an order of the run has no price to measure with', () => {
    const market = { type: 'market', price: undefined, size: '1' } as unknown as Partial<OrderTerms>;
    const story = new Story().placed(1, market);
    expect(story.asks(one, rules)).toBe('NOTIONAL_UNKNOWN: market=BTC-USD');
    story.read('GET /fills/order', { order_id: 'BTC-USD@1' }, [
      fill('1', '1', { order_id: 'BTC-USD@1', price: '500' }),
    ]);
    expect(story.asks({ price: '1501', ...one }, rules)).toContain('sent=500');
  });
});

describe('the market price', () => {
  const rules: LimitRules = { maxOrderNotional: '1000', selfMatch: 'allow', unknownPrice: 'deny' };
  it('of a short comes from the last fill that was read', () => {
    const story = new Story();
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toContain('NOTIONAL_UNKNOWN');
    story.listed({}, [theirs(1, 'long', '1', { price: '200' })]);
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toBe('ok');
    story.listed({}, [theirs(2, 'long', '1', { price: '201', timestamp: T0 * 1000 + 1 })]);
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toContain('notional=1005');
    // An older fill that is read later does not replace it.
    story.listed({}, [theirs(3, 'long', '1', { price: '300', timestamp: T0 * 1000 - 1 })]);
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toContain('notional=1005');
  });
  it('comes from a short of our own that rests, and from no other order', () => {
    const story = new Story().placed(1, { price: '50' }).shown(1, 'open', { price: '50' });
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toContain('NOTIONAL_UNKNOWN');
    story.placed(2, { side: 'short', price: '200', size: '1', timeInForce: 'post_only' });
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toContain('NOTIONAL_UNKNOWN');
    story.shown(2, 'open', { side: 'short', price: '200', size: '1', initial_size: '1' });
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toBe('ok');
    expect(story.asks({ ...SHORT, size: '5.1' }, rules)).toContain('notional=1020');
    // That it rests after an amend does not show that it rests with the new price.
    story.amended(2, { price: '300' }).shown(2, 'open', { side: 'short', price: '300', size: '1', initial_size: '1' });
    expect(story.asks({ ...SHORT, size: '5' }, rules)).toBe('ok');
  });
});

describe('the price feed', () => {
  const rules: LimitRules = { maxOrderNotional: '1000', selfMatch: 'allow' };
  const sells = { ...SHORT, size: '5' };

  it('is read for a short while no price of its market was seen for ten seconds', () => {
    const story = new Story();
    expect([story.asks(sells, rules), story.unpriced]).toEqual(['ok', 'BTC-USD']);
    expect(story.considered).toEqual({ max_order_notional: 'at least 500/1000' });
    story.fed('funding', 'BTC-USD', '900').fed('mid', 'ETH-USD', '900');
    expect([story.asks(sells, rules), story.unpriced]).toEqual(['ok', 'BTC-USD']);
    story.fed('mid', 'BTC-USD', '200');
    expect([story.asks(sells, rules), story.unpriced]).toEqual(['ok', undefined]);
    expect(story.considered).toEqual({ max_order_notional: '1000/1000' });
    expect([story.wait(9_000).asks(sells, rules), story.unpriced]).toEqual(['ok', undefined]);
    expect([story.wait(1).asks(sells, rules), story.unpriced]).toEqual(['ok', 'BTC-USD']);
  });

  it('counts before an older fill, and for a minute', () => {
    const story = new Story().fed('mid', 'BTC-USD', '201');
    story.listed({}, [theirs(1, 'long', '1', { price: '300' })]);
    expect(story.asks(sells, rules)).toBe('NOTIONAL_EXCEEDS_MAX_PER_ORDER: notional=1005, max=1000');
    const market = { type: 'market', price: undefined } as unknown as Partial<OrderTerms>;
    expect(story.asks({ ...market, size: '5' }, rules)).toContain('notional=1005');
    // It was read four seconds ago.
    expect(story.wait(56_000).asks({ ...market, size: '5' }, rules)).toContain('notional=1005');
    expect(story.wait(1).asks({ ...market, size: '5' }, rules)).toBe('NOTIONAL_UNKNOWN: market=BTC-USD');
  });

  it('counts by its newest reading, and of two of one instant by the later one', () => {
    const market = { type: 'market', price: undefined, size: '5' } as unknown as Partial<OrderTerms>;
    const story = new Story().fed('mid', 'BTC-USD', '201').fed('mid', 'BTC-USD', '150', 1_001);
    expect(story.asks(market, rules)).toContain('notional=1005');
    story.fed('mid', 'BTC-USD', '202', 2_000);
    expect(story.asks(market, rules)).toContain('notional=1010');
    // A minute later it is the last price that was seen.
    expect(story.wait(60_000).asks(sells, rules)).toContain('notional=1010');
  });

  it.each<[string, Partial<OrderTerms>, LimitRules]>([
    ['a long', { side: 'long', price: '100' }, rules],
    ['a short that never takes', { ...sells, timeInForce: 'post_only' }, rules],
    ['a stop', { ...sells, type: 'stop_limit', trigger: '110' }, rules],
    ['a fraction of a position', { ...sells, type: 'stop_loss', size: '1', trigger: '110' }, rules],
    ['an order without a notional limit', sells, { maxOrderSize: '5' }],
  ])('is not read for %s', (_, over, limits) => {
    const story = new Story();
    story.asks(over, limits);
    expect(story.unpriced).toBeUndefined();
  });

  it.each<keyof LimitRules>(['maxOrderNotional', 'maxRunNotional', 'maxMarketNotional', 'maxExposure'])(
    'is read under %s, except for what only reduces',
    (control) => {
      const story = new Story().placed(1).shown(1, 'closed', { total_filled_size: '10' }).wait(20_000);
      story.asks(sells, { [control]: '1000' });
      const lowered = ['maxMarketNotional', 'maxExposure'].includes(control);
      expect(story.unpriced).toBe(lowered ? undefined : 'BTC-USD');
      story.asks({ ...sells, size: '11' }, { [control]: '1000' });
      expect(story.unpriced).toBe('BTC-USD');
      story.asks({ ...sells, allow: 'reduce' }, { [control]: '1000' });
      expect(story.unpriced).toBeUndefined();
    },
  );

  it('measures what was sent before, which counts at least until a price is seen', () => {
    const run: LimitRules = { maxRunNotional: '1500', selfMatch: 'allow' };
    const story = new Story().placed(1, sells);
    expect(story.asks({ price: '100', size: '10' }, run)).toBe('ok');
    expect(story.considered).toEqual({ max_run_notional: 'at least 1500/1500' });
    expect(story.asks({ price: '100', size: '10' }, { ...run, unknownPrice: 'deny' })).toContain('NOTIONAL_UNKNOWN');
    story.fed('mid', 'BTC-USD', '110');
    expect(story.asks({ price: '100', size: '9.5' }, { ...run, unknownPrice: 'deny' })).toBe('ok');
    expect(story.considered).toEqual({ max_run_notional: '1500/1500' });
    // A price that falls below its own does not make it less.
    story.fed('mid', 'BTC-USD', '90');
    expect(story.asks({ price: '100', size: '10' }, run)).toBe('ok');
    expect(story.asks({ price: '100', size: '10.1' }, run)).toContain('sent=500');
  });
});

describe('what ends or halts a run', () => {
  it('is a switch that may have fired: no new order until it is armed again', () => {
    const story = new Story().armed(5_000).wait(2_999);
    expect(story.asks({}, {})).toBe('ok');
    expect(story.wait(1).asks({}, {})).toMatch(/^DEADMAN_LAPSED: since=/);
    expect(story.placed(1).asksAmend(1, { price: '99' }, {})).toBe('ok');
    expect(story.armed(5_000).asks({}, {})).toBe('ok');
    expect([story.wait(3_000).asks({}, {}), story.asksAmend(1, { price: '99' }, {})]).toEqual([
      expect.stringMatching(/^DEADMAN_LAPSED/),
      'ok',
    ]);
  });

  it('is an order of unknown fate: nothing new in its market, except what only reduces', () => {
    const story = new Story().placed(1).shown(1, 'closed', { total_filled_size: '10' }).placed(2);
    expect(story.asks({ size: '1' }, {})).toBe('ok');
    story.exhausted(2);
    expect(story.asks({ size: '1' }, {})).toBe('MARKET_QUARANTINED: market=BTC-USD, order=BTC-USD@2');
    expect(story.asks({ size: '1', market: 'ETH-USD' }, {})).toBe('ok');
    expect(story.asks({ ...SHORT, size: '10' }, { selfMatch: 'allow' })).toBe('ok');
  });

  it('is what a person approved: no order beyond it', () => {
    const story = new Story().approved({ orders: 1, notional: '1500', exposure: { 'BTC-USD': '2000' } });
    expect(story.asks({ price: '100', size: '16' }, {})).toBe('BEYOND_PLAN: figure=notional, value=1600, max=1500');
    expect(story.placed(1).asks({ size: '1' }, {})).toBe('BEYOND_PLAN: figure=orders, value=2, max=1');
  });

  it('is no amend of an order that is not known', () => {
    expect(new Story().asksAmend(7, { price: '100' }, {})).toBe('AMEND_TARGET_UNKNOWN: order=BTC-USD@7');
  });
});

describe('the window of a count', () => {
  it('ends exactly a minute after an order', () => {
    const story = new Story().placed(1);
    // Placed and answered in two seconds, of which the first is that of the attempt.
    expect(story.wait(58_999).asks({}, { maxOrdersPerMinute: 1 })).toBe('ORDER_RATE_EXCEEDED: orders=2, max=1');
    expect(story.wait(1).asks({}, { maxOrdersPerMinute: 1 })).toBe('ok');
  });

  it('has no order of which no byte left', () => {
    const asks = (story: Story) => story.asks({}, { maxOrdersPerMinute: 1 });
    expect(asks(new Story().rejected(1, {}, 'transport'))).toBe('ok');
    expect(asks(new Story().rejected(1))).toBe('ORDER_RATE_EXCEEDED: orders=2, max=1');
    expect(asks(new Story().placed(1).rejected(2, {}, 'transport'))).toBe('ORDER_RATE_EXCEEDED: orders=2, max=1');
    // The attempt of an order that was answered is followed by one that was held back.
    for (const attempts of [1, 2] as const)
      expect(asks(new Story().deniedAgain(1, attempts))).toBe('ORDER_RATE_EXCEEDED: orders=2, max=1');
    const unresolved = new Story().placed(1).amended(1, { price: '1' }, { kind: 'unresolved', failure: 'transport' });
    expect(asks(unresolved)).toBe('ORDER_RATE_EXCEEDED: orders=3, max=1');
  });

  it.each([60_000, 7_200_000, 86_400_000])('holds refusals as long as the throttle says: %i ms', (windowMs) => {
    const rules: LimitRules = { refusals: { max: 0, windowMs } };
    const story = new Story().rejected(1);
    expect(story.wait(windowMs - 1).asks({}, rules)).toContain('REFUSALS_EXCEEDED: refusals=1, max=0');
    expect(story.wait(1).asks({}, rules)).toBe('ok');
  });

  it('of fills ends as exactly', () => {
    const story = new Story().placed(1).shown(1, 'open');
    story.read('GET /fills/order', { order_id: 'BTC-USD@1' }, [fill('1', '1', { order_id: 'BTC-USD@1' })]);
    const rules: LimitRules = { stepFills: { max: 0, windowMs: 60_000 } };
    const asks = () => story.asks({}, rules, { step: 'steps/1' });
    story.wait(59_999);
    expect(asks()).toContain('STEP_FILLS_EXCEEDED');
    story.wait(1);
    expect(asks()).toBe('ok');
  });

  it('of fills counts one that is there twice in an answer once', () => {
    const once = fill('1', '1', { order_id: 'BTC-USD@1' });
    const story = new Story()
      .placed(1)
      .shown(1, 'open')
      .read('GET /fills/order', { order_id: 'BTC-USD@1' }, [once, once]);
    expect(story.asks({}, { stepFills: { max: 1, windowMs: 60_000 } }, { step: 'steps/1' })).toBe('ok');
  });

  it('holds orders and amends, and no other write', () => {
    const story = new Story().read('PUT /account/leverage', { market_id: 'BTC-USD', leverage: 3 }, []);
    expect(story.asks({}, { maxOrdersPerMinute: 1 })).toBe('ok');
    expect(story.asks({}, { maxWrites: 1 })).toContain('WRITES_EXCEED_MAX: writes=2');
  });

  it('counts a write that may have left, and none of which no byte did', () => {
    const asks = (story: Story) => story.asks({}, { maxWrites: 1 });
    expect(asks(new Story().rejected(1, {}, 'transport'))).toBe('ok');
    expect(asks(new Story().rejected(1))).toContain('WRITES_EXCEED_MAX: writes=2');
    expect(asks(new Story().rejected(1, {}, 'rate_limited'))).toContain('WRITES_EXCEED_MAX: writes=2');
    expect(asks(new Story().placed(1).denied(2).denied(3))).toContain('WRITES_EXCEED_MAX: writes=2');
    // Its session expired while it waited, and no other was obtained; or the venue has refused it.
    expect(asks(new Story().rejected(1, {}, 'unauthorized'))).toBe('ok');
    const refused = { kind: 'rejected', failure: 'unauthorized', status: 401 } as const;
    expect(asks(new Story().amended(1, { price: '1' }, refused))).toContain('WRITES_EXCEED_MAX: writes=2');
    for (const attempts of [1, 2] as const)
      expect(asks(new Story().deniedAgain(1, attempts))).toContain('WRITES_EXCEED_MAX: writes=2');
    for (const [kind, writes] of [
      ['denied', 2],
      ['rejected', 2],
      ['unresolved', 3],
    ] as const) {
      const amended = new Story().placed(1).amended(1, { price: '1' }, { kind, failure: 'transport' });
      expect([kind, asks(amended)]).toEqual([kind, `WRITES_EXCEED_MAX: writes=${writes}, max=1`]);
    }
  });

  it('of fills is one over the rounds and attempts of a step', () => {
    const tracker = new OrderTracker();
    const gate = new LimitFactsFold(tracker, {});
    const apply = (type: EntryType, data: object) => {
      const entry = { type, data, at: T0, step: 'loop[10]/do/o~11' } as unknown as Entry;
      gate.apply(entry);
      tracker.apply(entry);
    };
    const intent = terms();
    const params = { market_id: 'BTC-USD' };
    apply('call.intended', {
      call: 'a',
      endpoint: 'POST /orders',
      params,
      intent,
      clientOrderId: intent.clientOrderId,
    });
    apply('call.attempted', { call: 'a', n: 1 });
    apply('call.settled', { call: 'a', kind: 'confirmed', result: [record('processing')] });
    apply('call.intended', { call: 'b', endpoint: 'GET /fills/order', params: { order_id: ID } });
    apply('call.settled', { call: 'b', kind: 'confirmed', result: [fill('1', '1')] });
    const call = { step: 'loop[2]/do/o', endpoint: 'POST /orders', params, intent: terms({ clientOrderId: 'rbnew' }) };
    const rules: LimitRules = { stepFills: { max: 0, windowMs: 60_000 } };
    expect(gate.check(call as unknown as VenueCall, rules, T0)).toMatchObject({ code: 'STEP_FILLS_EXCEEDED' });
  });

  it('holds contradictions of the venue too, but no request that failed on its way', () => {
    const rules: LimitRules = { refusals: { max: 0, windowMs: 60_000 } };
    expect(new Story().alarmed(1).asks({}, rules)).toContain('REFUSALS_EXCEEDED');
    expect(new Story().rejected(1, {}, 'transport').asks({}, rules)).toBe('ok');
    const notes = [
      'SelfMatchPossible',
      'UnseenAtEnd',
      'StopKept',
      'StopNotTightened',
      'StopNotPutBack',
      'ClosedByOthers',
    ] as const;
    for (const note of notes) expect([note, new Story().alarmed(1, note).asks({}, rules)]).toEqual([note, 'ok']);
  });
});

describe('the account and the last reading', () => {
  const account = { account_equity: '100', health: '5', leverage: { 'BTC-USD': '3' } };
  const lever = (leverage: number) =>
    ({
      endpoint: 'PUT /account/leverage',
      params: { market_id: 'BTC-USD', leverage },
      intent: undefined,
    }) as unknown as Partial<VenueCall>;

  it('count from the record that was read last, and no other record', () => {
    const story = new Story().placed(1).shown(1, 'open');
    expect(story.asks({}, { minEquity: '1' })).toContain('ACCOUNT_STALE');
    story.read('GET /account', {}, [account]);
    expect([story.asks({}, { minEquity: '100' }), story.asks({}, { minEquity: '101' })]).toEqual([
      'ok',
      'EQUITY_BELOW_MIN: equity=100, min=101',
    ]);
    expect(story.asks({}, { minHealth: '6' })).toContain('HEALTH_BELOW_MIN');
    expect(story.asks({}, { mode: 'reducing' }, lever(3))).toBe('ok');
    expect(story.asks({}, { mode: 'reducing' }, lever(4))).toContain('LEVERAGE_RAISED_WHILE_REDUCING');
    story.shown(1, 'open').wait(5);
    const aged = (maxAccountAgeMs: number) => story.asks({}, { minEquity: '1', maxAccountAgeMs });
    expect([aged(3_005), aged(3_004)]).toEqual(['ok', expect.stringContaining('ACCOUNT_STALE: age_ms=3005')]);
    story.read('GET /account', {}, [{ ...account, account_equity: '7' }]);
    expect(story.asks({}, { minEquity: '8' })).toContain('equity=7');
  });

  it('is older with the time since a request that reads was answered', () => {
    const story = new Story().placed(1);
    expect(story.asks({}, { maxReadAgeMs: 1_000_000 })).toContain('MARKET_DATA_STALE');
    story.shown(1, 'open').placed(2).wait(5);
    const aged = (maxReadAgeMs: number) => story.asks({}, { maxReadAgeMs });
    expect([aged(3_005), aged(3_004)]).toEqual(['ok', 'MARKET_DATA_STALE: age_ms=3005, max_ms=3004']);
  });

  it('leave alone what protects, and describe a market that the profile has', () => {
    const tracker = new OrderTracker();
    const fold = new LimitFactsFold(tracker, { 'BTC-USD': { tick: '2', lot: '1' } }, () => ({
      killed: true,
      working: [],
    }));
    const check = (endpoint: EndpointName, intent?: OrderTerms) =>
      fold.check(
        { id: 'a#1', step: 'a', endpoint, params: { market_id: 'BTC-USD' }, class: 'enter', intent } as VenueCall,
        {},
        T0,
      );
    for (const endpoint of ['GET /orders', 'DELETE /orders', 'POST /cancel_all_after'] as const)
      expect(check(endpoint)).toEqual({ ok: true, considered: {} });
    expect(check('POST /orders', terms())).toMatchObject({ code: 'KILL_SWITCH_ENGAGED' });
    const open = new LimitFactsFold(tracker, { 'BTC-USD': { tick: '2', lot: '1' } });
    const ask = (over: Partial<OrderTerms>) =>
      open.check(
        {
          id: 'a#1',
          step: 'a',
          endpoint: 'POST /orders',
          params: {},
          class: 'enter',
          intent: terms(over),
        } as unknown as VenueCall,
        {},
        T0,
      );
    expect(ask({ price: '101' })).toMatchObject({ code: 'PRICE_OFF_TICK' });
    expect(ask({ price: '102' })).toMatchObject({ ok: true });
    expect(ask({ market: 'ETH-USD' })).toMatchObject({ code: 'MARKET_RULES_UNKNOWN' });
    expect(new LimitFactsFold(tracker, {}).findUnpriced({ intent: terms() } as VenueCall, {}, T0)).toBeUndefined();
  });

  it('of a market without a feed is not priced first', () => {
    const fold = new LimitFactsFold(new OrderTracker(), {});
    const call = { endpoint: 'POST /orders', params: {}, intent: terms(SHORT) } as unknown as VenueCall;
    expect(fold.findUnpriced(call, { maxOrderNotional: '1' }, T0)).toBeUndefined();
    const fed = new LimitFactsFold(new OrderTracker(), {}, undefined, 'mid');
    expect(fed.findUnpriced(call, { maxOrderNotional: '1' }, T0)).toBe('BTC-USD');
  });
});

describe('the runs of an account', () => {
  const DAY = 86_400_000;
  const rules: LimitRules = { maxDailyNotional: '1000000', maxOrdersPerMinute: 3 };

  /** Two runs, each with an order of 10 at 100 sent when said. */
  function runs(...sentAt: readonly number[]): LimitFactsFold {
    const sums = new AccountLedger();
    const gates: LimitFactsFold[] = [];
    for (const [index, at] of sentAt.entries()) {
      const tracker = new OrderTracker();
      const gate = new LimitFactsFold(
        tracker,
        {},
        () => ({ killed: false, working: [], ledger: { sums, gates } }),
        'mid',
      );
      gates.push(gate);
      const intent = terms({ clientOrderId: `rb${index}` });
      const data = { call: 'a#1', endpoint: 'POST /orders', params: { market_id: 'BTC-USD' }, class: 'enter', intent };
      for (const [type, more] of [
        ['call.intended', data],
        ['call.attempted', { call: 'a#1', n: 1 }],
      ] as const) {
        const entry = {
          type,
          data: { ...more, clientOrderId: intent.clientOrderId },
          at,
          step: 'a',
        } as unknown as Entry;
        gate.apply(entry);
        tracker.apply(entry);
      }
    }
    return gates[0] as LimitFactsFold;
  }
  function considered(gate: LimitFactsFold, now: number, account: LimitRules = rules) {
    const intent = terms({ clientOrderId: 'rbnew' });
    const call = {
      id: 'b#1',
      step: 'b',
      endpoint: 'POST /orders',
      params: { market_id: 'BTC-USD' },
      class: 'enter',
      intent,
    };
    return gate.check(call as unknown as VenueCall, { selfMatch: 'allow' }, now, { account }).considered;
  }
  const noon = Math.floor(T0 / DAY) * DAY + DAY / 2;

  it('are summed over the day and the minute', () => {
    expect(considered(runs(noon, noon), noon + 1)).toEqual({
      orders_per_minute: '3/3',
      max_daily_notional: '3000/1000000',
    });
    expect(considered(runs(noon, noon - 59_999), noon)).toMatchObject({ orders_per_minute: '3/3' });
    expect(considered(runs(noon, noon - 60_000), noon)).toMatchObject({ orders_per_minute: '2/3' });
    expect(considered(runs(noon, noon - DAY), noon)).toMatchObject({ max_daily_notional: '2000/1000000' });
  });
});

describe('the notional of a day', () => {
  const DAY = 86_400_000;
  const account: LimitRules = { maxDailyNotional: '1500' };
  /** What is counted on a UTC day when another order of 10 at 100 is asked about, and the verdict. */
  function asks(story: Story, now: number) {
    const sums = new AccountLedger();
    const intent = terms({ clientOrderId: 'rbnew' });
    const params = { market_id: 'BTC-USD' };
    const call = {
      id: 'b#1',
      step: 'b',
      endpoint: 'POST /orders',
      params,
      class: 'enter',
      intent,
    } as unknown as VenueCall;
    const gate: LimitFactsFold = story.fold(() => ({ killed: false, working: [], ledger: { sums, gates: [gate] } }));
    const verdict = gate.check(call, {}, now, { account });
    return [verdict.ok, verdict.considered['max_daily_notional']];
  }

  it('counts what an amend and fills add to an order of an earlier day', () => {
    const story = new Story().placed(1, { size: '4' }).shown(1, 'open', { initial_size: '4', size: '4' });
    const sentAt = story.now;
    expect(asks(story, sentAt)).toEqual([true, '1400/1500']);
    expect(asks(story, sentAt + DAY)).toEqual([true, '1000/1500']);
    story.wait(DAY).amended(1, { price: '100', size: '10' }).shown(1, 'open');
    expect(asks(story, sentAt)).toEqual([true, '1400/1500']);
    expect(asks(story, story.now)).toEqual([false, '1600/1500']);
    // A quote that follows the market down adds nothing.
    story.wait(DAY).amended(1, { price: '99' }).shown(1, 'open', { price: '99' });
    expect(asks(story, story.now)).toEqual([true, '1000/1500']);
    story.listed({}, [
      fill('1', '10', { order_id: 'BTC-USD@1', timestamp: story.now * 1000 }),
      fill('2', '6', { order_id: 'BTC-USD@1', timestamp: story.now * 1000 }),
    ]);
    expect(asks(story, story.now)).toEqual([false, '1600/1500']);
  });

  it('is that of the day on which an order was sent, however long it waited', () => {
    const midnight = Math.ceil(T0 / DAY) * DAY;
    // Decided half a second before midnight, sent half a second after it.
    const story = new Story().wait(midnight - T0 - 1_500).placed(1, { size: '6' });
    expect(asks(story, story.now)).toEqual([false, '1600/1500']);
  });
});

describe('the position of the account', () => {
  /** Runs of one account in this process. */
  function account(sums = new AccountLedger()) {
    const gates: LimitFactsFold[] = [];
    return () => {
      const tracker = new OrderTracker();
      const gate = new LimitFactsFold(
        tracker,
        {},
        () => ({ killed: false, working: [], ledger: { sums, gates } }),
        'mid',
      );
      gates.push(gate);
      const apply = (type: EntryType, data: object) => {
        const entry = { type, data, at: T0, step: 'a' } as unknown as Entry;
        gate.apply(entry);
        tracker.apply(entry);
      };
      let calls = 0;
      const call = (endpoint: EndpointName, params: object, result: readonly object[], more: object = {}) => {
        calls += 1;
        const data = { call: `${gates.length} ${calls}`, endpoint, params, ...more };
        apply('call.intended', data);
        apply('call.attempted', { call: data.call, n: 1 });
        apply('call.settled', { call: data.call, kind: 'confirmed', sentAt: T0, result });
      };
      return {
        apply,
        call,
        /** An order of 10 at 100. */
        place: (over: Partial<OrderTerms> = {}) => {
          const intent = terms(over);
          call('POST /orders', { market_id: intent.market }, [record('processing', { market_id: intent.market })], {
            intent,
            clientOrderId: intent.clientOrderId,
          });
        },
        ask: (rules: LimitRules, over: Partial<OrderTerms> = {}, reference?: string) => {
          const intent = terms({ clientOrderId: 'rbnew', ...over });
          const at = reference === undefined ? {} : { reference: { price: reference, at: T0 } };
          const next = { endpoint: 'POST /orders', params: { market_id: intent.market }, step: 'a', intent, ...at };
          const verdict = gate.check(next as unknown as VenueCall, { selfMatch: 'allow' }, T0, { account: rules });
          return verdict.ok ? 'ok' : verdict.message;
        },
      };
    };
  }
  const closed = (over: Partial<OrderRecord> = {}) => record('closed', { total_filled_size: '10', ...over });

  it('counts the open orders of a journal that cannot be read, but those of its own runs once', () => {
    const unknown = { why: 'the journal of a cannot be read', since: 0, until: T0 };
    const sums = new AccountLedger({ runs: [], baselines: [], listed: [], gone: {}, unknown });
    sums.noteShown();
    const stray = (clientOrderId: string, orderId: string) => ({
      ...terms({ clientOrderId }),
      orderId,
      worstRemaining: '10',
    });
    sums.takeOpen([stray('rbabc', 'BTC-USD@9'), stray('', ID), stray('rblost', 'BTC-USD@8')]);
    const run = account(sums);
    const [here, there] = [run(), run()];
    expect(here.ask({ maxOpenOrders: 3 })).toContain('OPEN_ORDERS_EXCEED_MAX: open=4');
    there.place();
    // The run beside it has one order, under two names, and one is of no run.
    expect(here.ask({ maxOpenOrders: 1 })).toContain('OPEN_ORDERS_EXCEED_MAX: open=2');
  });

  it('includes fills of others, and those of another run once', () => {
    const one = account()();
    one.call('GET /fills', { market_id: 'BTC-USD' }, [theirs(1, 'long', '3')]);
    expect(one.ask({ maxPosition: '13' })).toBe('ok');
    expect(one.ask({ maxPosition: '12.9' })).toContain('POSITION_EXCEEDS_MAX: position=13');

    const run = account();
    const [here, there] = [run(), run()];
    there.place();
    there.call('GET /orders', { order_id: ID, market_id: 'BTC-USD' }, [closed()]);
    here.call('GET /fills', { market_id: 'BTC-USD' }, [fill('1', '10', { order_id: ID })]);
    expect(here.ask({ maxPosition: '20' })).toBe('ok');
    expect(here.ask({ maxPosition: '19.9' })).toContain('POSITION_EXCEEDS_MAX: position=20');
  });

  it.each([
    ['another run held the rest', '20'],
    ['nothing shows who held the rest', '0'],
  ])('is not below zero after a stop that closed more than its run held, where %s', (_who, held) => {
    const run = account();
    const [here, there] = [run(), run()];
    const stop = { type: 'stop_loss', side: 'short', size: '1', trigger: '90' } as const;
    for (const [by, id, terms_, size] of [
      [here, 'BTC-USD@1', {}, '10'],
      [there, 'BTC-USD@2', {}, held],
      [here, 'BTC-USD@3', stop, '30'],
    ] as const) {
      if (size === '0') continue;
      const own = { id, client_order_id: `rb${id.at(-1)}`, side: stop === terms_ ? stop.side : 'long' } as const;
      const intent = terms({ clientOrderId: own.client_order_id, size, ...terms_ });
      const more = { intent, clientOrderId: own.client_order_id };
      by.call('POST /orders', { market_id: 'BTC-USD' }, [record('processing', own)], more);
      const at = Number(id.at(-1));
      const fills = [fill(id, size, { order_id: id, side: own.side, timestamp: (T0 + at) * 1000 })];
      by.call('GET /fills/order', { order_id: id }, fills);
      by.call('GET /orders', { order_id: id, market_id: 'BTC-USD' }, [closed({ ...own, total_filled_size: size })]);
    }
    for (const one of [here, there]) {
      expect(one.ask({ maxPosition: '0' }, { size: '1' })).toContain('POSITION_EXCEEDS_MAX');
      expect(one.ask({ maxPosition: '5' }, { size: '5' })).toBe('ok');
      expect(one.ask({ maxPosition: '5' }, { size: '5.1' })).toContain('POSITION_EXCEEDS_MAX');
    }
  });

  it('is not reduced by a close that fills of another run offset, though the venue has listed none of them', () => {
    const run = account();
    const [here, there] = [run(), run()];
    for (const [by, id, side] of [
      [here, 'BTC-USD@1', 'long'],
      [there, 'BTC-USD@2', 'short'],
    ] as const) {
      const own = { id, side, client_order_id: `rb${side}` };
      const intent = terms({ clientOrderId: own.client_order_id, side });
      const more = { intent, clientOrderId: own.client_order_id };
      by.call('POST /orders', { market_id: 'BTC-USD' }, [record('processing', own)], more);
      by.call('GET /orders', { order_id: id, market_id: 'BTC-USD' }, [closed(own)]);
      by.call('GET /fills/order', { order_id: id }, [fill(side, '10', { order_id: id, side })]);
      if (by === here) expect(here.ask({ maxPosition: '0' }, { side: 'short' })).toBe('ok');
    }
    expect(here.ask({ maxPosition: '5' }, { side: 'short' })).toContain('POSITION_EXCEEDS_MAX');
    expect(here.ask({ maxPosition: '10' }, { side: 'short' })).toBe('ok');
  });

  it.each<[string, string, Partial<OrderTerms>, boolean]>([
    ['0', 'long', { side: 'short', size: '3' }, true],
    ['4', 'long', { side: 'short', size: '3' }, true],
    // Beyond what the run itself holds.
    ['4', 'long', { side: 'short', size: '11' }, false],
    ['4', 'short', { side: 'short', size: '3' }, true],
    // Beyond what is left of it.
    ['4', 'short', { side: 'short', size: '8' }, false],
    // The run and the account hold opposite sides: nothing is certain.
    ['14', 'short', { side: 'short', size: '3' }, false],
    ['14', 'short', { side: 'long', size: '2' }, false],
  ])('that a run of 10 long shares with one of %s %s is certainly reduced by %j: %s', (size, side, order, isSure) => {
    const run = account();
    const [here, there] = [run(), run()];
    for (const [by, id, terms_] of [
      [here, 'BTC-USD@1', { side: 'long', size: '10' }],
      [there, 'BTC-USD@2', { side: side as 'long' | 'short', size }],
    ] as const) {
      if (terms_.size === '0') continue;
      const own = { id, side: terms_.side, client_order_id: `rb${id.at(-1)}`, initial_size: terms_.size };
      const intent = terms({ clientOrderId: own.client_order_id, ...terms_ });
      by.call('POST /orders', { market_id: 'BTC-USD' }, [record('processing', own)], {
        intent,
        clientOrderId: own.client_order_id,
      });
      const ended = { ...own, size: '0', total_filled_size: terms_.size };
      by.call('GET /orders', { order_id: id, market_id: 'BTC-USD' }, [record('closed', ended)]);
      by.call('GET /fills/order', { order_id: id }, [fill(id, terms_.size, { order_id: id, side: terms_.side })]);
    }
    // Only what certainly reduces passes a limit of the day that is used up.
    expect(here.ask({ maxDailyNotional: '1' }, order) === 'ok').toBe(isSure);
  });

  it.each([
    ['the reference', '200', undefined],
    ['the feed', undefined, '200'],
    ['the reference, before the feed', '200', '150'],
  ])('costs what %s says in the market of the order', (_, reference, feed) => {
    const one = account()();
    one.place();
    one.call('GET /fills/order', { order_id: ID }, [fill('1', '10', { order_id: ID })]);
    one.call('GET /orders', { order_id: ID, market_id: 'BTC-USD' }, [closed()]);
    if (feed !== undefined) one.apply('feed.read', { call: 'f', name: 'mid', key: 'BTC-USD', value: feed, at: T0 });
    const order = { size: '1', price: '100' };
    expect(one.ask({ maxExposure: '2100' }, order, reference)).toBe('ok');
    expect(one.ask({ maxExposure: '2099' }, order, reference)).toContain('EXPOSURE_EXCEEDS_MAX');
  });

  it('costs in another market what was paid there last, at its largest possible size', () => {
    const one = account()();
    const market = 'ETH-USD';
    one.place({ market });
    one.call('GET /fills/order', { order_id: ID }, [fill('1', '4', { market_id: market, price: '50' })]);
    one.call('DELETE /orders', { order_id: ID, market_id: market }, [{ id: ID, status: 'canceled' }], {
      clientOrderId: 'rbabc',
    });
    // Of the ten ordered at least four were filled.
    const order = { size: '1', price: '100' };
    expect(one.ask({ maxExposure: '600' }, order, '200')).toBe('ok');
    expect(one.ask({ maxExposure: '599' }, order, '200')).toContain('EXPOSURE_EXCEEDS_MAX');
  });
});

describe('the open orders of the account', () => {
  const near = { status: 'open', p_limit: 1000, start_time: 0 };
  const open = (count: number) =>
    Array.from({ length: count }, (_, index) => record('open', { id: `BTC-USD@${index}`, client_order_id: '' }));
  const asks = (story: Story) => story.asks({}, {});
  const NEAR = 'OPEN_ORDERS_NEAR_VENUE_LIMIT: open=951, max=950';

  it('are those of a whole list', () => {
    const story = new Story().read('GET /orders', near, open(950));
    expect(asks(story)).toBe(NEAR);
    expect(asks(story.read('GET /orders', near, open(949)))).toBe('ok');
    // A full page may not be all of it.
    expect(asks(story.read('GET /orders', { ...near, p_limit: 950 }, open(950)))).toBe(NEAR);
  });

  it.each<[string, object, number]>([
    ['of a page of unknown length', { status: 'open', start_time: 0 }, 100],
    ['of a full page', { ...near, p_limit: 100 }, 100],
    ['of another page', { ...near, p_page: 1 }, 100],
    ['of the last hour', { ...near, start_time: (T0 - 3_600_000) * 1000 }, 100],
    ['of one market', { ...near, market_id: 'BTC-USD' }, 100],
    ['of orders that ended', { ...near, status: 'closed' }, 100],
  ])('are not fewer because %s', (_name, query, count) => {
    const story = new Story().read('GET /orders', near, open(950));
    expect(asks(story.read('GET /orders', query, open(count)))).toBe(NEAR);
  });

  it('are counted once where they are of the run, or of another run of the account', () => {
    const own = { id: 'BTC-USD@2000', client_order_id: '' };
    const story = new Story().placed(2000).shown(2000, 'open');
    expect(asks(story.read('GET /orders', near, [...open(948), record('open', own)]))).toBe('ok');
    expect(asks(story.read('GET /orders', near, [...open(949), record('open', own)]))).toBe(NEAR);
    const theirs = terms({ clientOrderId: 'rbtheirs' });
    const working = { ...theirs, orderId: 'BTC-USD@3000', worstRemaining: '10' };
    const gate = new LimitFactsFold(new OrderTracker(), {}, () => ({ killed: false, working: [working] }));
    const list = (shown: object) => {
      const data = { call: 'a', endpoint: 'GET /orders', params: near };
      const result = [...open(948), record('open', shown)];
      gate.apply({ type: 'call.intended', data, at: T0, step: '' } as unknown as Entry);
      gate.apply({ type: 'call.settled', data: { ...data, kind: 'confirmed', result }, at: T0, step: '' } as never);
      const call = { endpoint: 'POST /orders', params: {}, step: '', intent: terms() } as unknown as VenueCall;
      return gate.check(call, {}, T0).ok;
    };
    expect(list({ id: 'BTC-USD@3000', client_order_id: '' })).toBe(true);
    expect(list({ id: 'BTC-USD@3001', client_order_id: 'rbtheirs' })).toBe(true);
    expect(list({ id: 'BTC-USD@3001', client_order_id: '' })).toBe(false);
  });

  it('include rows that cannot be read', () => {
    const story = new Story().read('GET /orders', near, open(940), 10);
    expect(asks(story)).toBe(NEAR);
    // A full page, and one that is no longer, are not the whole list.
    expect(asks(story.read('GET /orders', { ...near, p_limit: 100 }, open(99), 1))).toBe(NEAR);
    expect(asks(story.read('GET /orders', { status: 'open' }, open(935)))).toBe(NEAR);
    expect(asks(story.read('GET /orders', near, open(948), 1))).toBe('ok');
  });

  it('are those of a list that reaches back as far as the one before, or further', () => {
    const hour = (story: Story) => ({ ...near, start_time: (story.now + 1_999 - 3_600_000) * 1000 });
    const story = new Story();
    story.read('GET /orders', hour(story), open(950));
    expect(asks(story)).toBe(NEAR);
    expect(asks(story.read('GET /orders', hour(story), open(949)))).toBe('ok');
    story.read('GET /orders', hour(story), open(950));
    const day = { ...near, start_time: (story.now - 86_400_000) * 1000 };
    expect(asks(story.read('GET /orders', day, open(949)))).toBe('ok');
    expect(asks(story.read('GET /orders', hour(story), open(900)))).toBe('ok');
    story.read('GET /orders', day, open(950));
    expect(asks(story.read('GET /orders', hour(story), open(900)))).toBe(NEAR);
  });

  it('are more because of a longer list of any kind, but not of another market or status', () => {
    const story = new Story().read('GET /orders', { status: 'open' }, open(950));
    expect(asks(story)).toBe(NEAR);
    expect(asks(new Story().read('GET /orders', { ...near, market_id: 'BTC-USD' }, open(950)))).toBe('ok');
    expect(asks(new Story().read('GET /orders', { ...near, status: 'closed' }, open(950)))).toBe('ok');
  });
});

describe('what an order was sent with', () => {
  const rules: LimitRules = { maxRunNotional: '2000', selfMatch: 'allow' };

  it('is nothing for a position stop', () => {
    const stop = { ...SHORT, type: 'stop_loss', size: '1', trigger: '90' } as const;
    const story = new Story().placed(1, { size: '10' }).placed(2, stop).shown(2, 'open', { order_type: 'stop_loss' });
    expect(story.asks({ price: '100', size: '10' }, rules)).toBe('ok');
    expect(story.asks({ price: '100', size: '10.1' }, rules)).toContain('sent=1000');
  });

  it('is not that of an amend of an order that is not known', () => {
    expect(new Story().amended(7, { price: '900' }).asks({ price: '200', size: '10' }, rules)).toBe('ok');
  });

  it('is the size of the amend before, where an amend has none', () => {
    const story = new Story().placed(1).amended(1, { price: '100', size: '15' }).amended(1, { price: '120' });
    expect(story.asks({ price: '100', size: '2' }, rules)).toBe('ok');
    expect(story.asks({ price: '100', size: '2.1' }, rules)).toContain('sent=1800');
  });
});

describe('a short position', () => {
  it('is certain too: a long order closes it, and no more of it', () => {
    const story = new Story()
      .placed(1, { side: 'short', price: '100' })
      .shown(1, 'closed', { side: 'short', total_filled_size: '10' });
    expect(story.asks({ size: '10' }, { mode: 'reducing' })).toBe('ok');
    expect(story.asks({ size: '10.1' }, { mode: 'reducing' })).toContain('position=-10,');
    expect(story.asks({ ...SHORT, size: '1' }, { mode: 'reducing' })).toContain('REDUCING_ONLY');
  });
});

describe('an approved plan', () => {
  it('holds an exit only where nothing proves that it reduces', () => {
    const story = new Story().approved({ orders: 1, exposure: { '': null } });
    story.placed(1).shown(1, 'closed', { total_filled_size: '10' });
    for (const cap of [{ maxOrderNotional: '5000' }, {}] satisfies LimitRules[]) {
      expect(story.asks({ ...SHORT, size: '10', allow: 'reduce' }, cap)).toBe('ok');
      expect(story.asks({ ...SHORT, size: '11', allow: 'reduce' }, cap)).toContain('BEYOND_PLAN: figure=orders');
      expect(story.asks({ ...SHORT, size: '10' }, cap)).toContain('BEYOND_PLAN: figure=orders');
    }
  });
});

describe('counts that outlive a process', () => {
  it('count a fill for the step of its order, and do not count an own open order as external', () => {
    const story = new Story().placed(1).shown(1, 'open');
    story.read('GET /orders', { status: 'open' }, [
      record('open', { id: 'BTC-USD@1', client_order_id: 'rb1' }),
      record('open', { id: 'BTC-USD@8', client_order_id: '' }),
    ]);
    story.read('GET /fills/order', { order_id: 'BTC-USD@1' }, [fill('1', '1', { order_id: 'BTC-USD@1' })]);
    const rules: LimitRules = { stepFills: { max: 0, windowMs: 60_000 } };
    expect(story.asks({}, rules)).toBe('ok');
    expect(story.asks({}, rules, { step: 'steps/1' })).toContain('STEP_FILLS_EXCEEDED');
    expect(story.asks({}, { maxOpenOrders: 1 })).toBe('OPEN_ORDERS_EXCEED_MAX: open=2, max=1');
  });

  it('count no own order that has ended since it was listed', () => {
    const story = new Story().placed(1).shown(1, 'open');
    const foreign = Array.from({ length: MOST_OPEN_ORDERS - 1 }, (_, n) =>
      record('open', { id: `BTC-USD@${100 + n}`, client_order_id: '' }),
    );
    const own = record('open', { id: 'BTC-USD@1', client_order_id: 'rb1' });
    story.read('GET /orders', { status: 'open' }, [own, ...foreign]);
    expect(story.asks({}, {})).toContain('OPEN_ORDERS_NEAR_VENUE_LIMIT');
    expect(story.cancelled(1).shown(1, 'canceled').asks({}, {})).toBe('ok');
  });
});

describe('the bounds of the approved plan', () => {
  const bounds: ApprovedBounds = { orders: 2, exposure: { 'BTC-USD': '2000' } };
  it('deny an order beyond them, also after a resume, and no cancel', () => {
    const story = new Story().approved(bounds).placed(1);
    expect(story.asks({ size: '10', price: '100' }, {})).toBe('ok');
    expect(story.asks({ size: '10.01', price: '100' }, {})).toContain('BEYOND_PLAN: figure=exposure BTC-USD');
    expect(story.placed(2).asks({ size: '1' }, {})).toBe('BEYOND_PLAN: figure=orders, value=3, max=2');
    const params = { order_id: 'BTC-USD@1', market_id: 'BTC-USD' } as VenueCall['params'];
    expect(story.asks({}, {}, { endpoint: 'DELETE /orders', params } as Partial<VenueCall>)).toBe('ok');
  });
  it('leave alone what is proven to reduce, and count an order that is not', () => {
    const reduce = { ...SHORT, allow: 'reduce' } as const;
    const rules: LimitRules = {};
    const story = new Story().approved({ orders: 1 }).placed(1).shown(1, 'closed', { total_filled_size: '10' });
    story.read('GET /fills/order', { order_id: 'BTC-USD@1' }, [fill('1', '10', { order_id: 'BTC-USD@1' })]);
    expect(story.asks({ ...reduce, size: '10' }, rules)).toBe('ok');
    expect(story.asks({ ...reduce, size: '11' }, rules)).toBe('BEYOND_PLAN: figure=orders, value=2, max=1');
    // Of another run: this one closes no more than it holds itself.
    story.others = [
      {
        ...reduce,
        clientOrderId: 'rbother',
        market: 'BTC-USD',
        type: 'limit',
        price: '200',
        size: '5',
        worstRemaining: '5',
      },
    ];
    expect(story.asks({ ...reduce, size: '10' }, rules)).toBe('ok');
    expect(story.asks({ ...reduce, size: '11' }, rules)).toBe('BEYOND_PLAN: figure=orders, value=2, max=1');
  });
  it('count an order that reduces no more where others of the run do already', () => {
    const reduce = { ...SHORT, allow: 'reduce' } as const;
    const story = new Story().approved({ orders: 2 }).placed(1).shown(1, 'closed', { total_filled_size: '10' });
    story.read('GET /fills/order', { order_id: 'BTC-USD@1' }, [fill('1', '10', { order_id: 'BTC-USD@1' })]);
    story.placed(2, { ...reduce, size: '4' }).shown(2, 'open', { side: 'short', size: '4' });
    expect(story.asks({ ...reduce, size: '6' }, {})).toBe('ok');
    expect(story.asks({ ...reduce, size: '7' }, {})).toBe('BEYOND_PLAN: figure=orders, value=3, max=2');
  });
  it('are not there without an approved plan', () => {
    expect(new Story().placed(1).placed(2).asks({ size: '1000' }, {})).toBe('ok');
  });
});

describe('the cost of a check', () => {
  const ALL: LimitRules = { maxPosition: '100000', maxRunNotional: '1000000000000', maxOpenOrders: 9 };

  it('does not depend on how many orders came before', () => {
    const story = new Story();
    const costs = Array.from({ length: 300 }, (_, index) => {
      const number = index + 1;
      const id = `BTC-USD@${number}`;
      story
        .placed(number)
        .listed({ p_limit: 10 }, [fill(String(number), '10', { order_id: id })])
        .shown(number, 'closed', { total_filled_size: '10' });
      return story.countLooks({}, ALL);
    });
    expect(new Set(costs.slice(1))).toEqual(new Set([costs[0]]));
    // Each of them counts: the next one would be beyond it.
    expect(story.asks({}, { maxPosition: '3009' })).toMatch(/^POSITION_EXCEEDS_MAX/);
    expect(story.asks({}, { maxPosition: '3010' })).toBe('ok');
    expect(story.asks({}, { maxRunNotional: '300999' })).toMatch(/^NOTIONAL_EXCEEDS_MAX_PER_RUN/);
    expect(story.asks({}, { maxRunNotional: '301000' })).toBe('ok');
  });
});
