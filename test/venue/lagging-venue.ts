/**
 * A small faulty venue for one order, and a plain client that follows the order's machine: requests and answers are lost
 * or late, reads lag each by its own amount, cancels and amends fail behind their acknowledgement, fills race everything.
 * It is written from venue-notes.md alone and shares nothing with the project's simulator.
 */
import { Decimal } from '../../src/base/decimal.ts';
import { createOrder, type OrderEvent, type OrderSnapshot, type OrderStep } from '../../src/venue/order/context.ts';
import { getExposure, mayAmend, stepOrder, toObservation } from '../../src/venue/order/life.ts';
import { isTerminal, isWorking } from '../../src/venue/order/states.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import type { FillRecord, OrderRecord } from '../../src/venue/records.ts';

/** A seeded generator (mulberry32): the same life for the same seed on every machine. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const START = 1_750_000_000_000;
const ENDED = new Set(['closed', 'canceled', 'rejected']);
const SIZE = '10';
/** How far a read may be behind: less than the lag that the table allows for. */
const MOST_LAG = 2_400;
const LIFE_MS = 900_000;

export interface Verdict {
  readonly problems: readonly string[];
  readonly state: string;
  readonly alarms: ReadonlyMap<string, number>;
  readonly events: number;
}

interface Task {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** The order as the venue's book has it from an instant on. */
interface Version {
  readonly at: number;
  readonly record: OrderRecord;
}

class Timeline {
  now = START;
  private tasks: Task[] = [];
  private count = 0;

  in(ms: number, run: () => void): void {
    this.tasks.push({ at: this.now + Math.max(0, Math.round(ms)), order: this.count++, run });
  }
  runUntil(end: number, done: () => boolean): void {
    while (this.tasks.length > 0 && !done()) {
      let best = 0;
      for (let index = 1; index < this.tasks.length; index += 1) {
        const [a, b] = [this.tasks[index] as Task, this.tasks[best] as Task];
        if (a.at < b.at || (a.at === b.at && a.order < b.order)) best = index;
      }
      const [task] = this.tasks.splice(best, 1) as [Task];
      if (task.at > end) return;
      this.now = task.at;
      task.run();
    }
  }
}

/** One order at the venue. */
class VenueOrder {
  readonly versions: Version[] = [];
  readonly fills: FillRecord[] = [];
  readonly id: string;
  private readonly time: Timeline;
  private readonly random: () => number;

  constructor(time: Timeline, random: () => number, id: string, terms: OrderTerms) {
    this.time = time;
    this.random = random;
    this.id = id;
    this.write({
      id,
      client_order_id: terms.clientOrderId,
      market_id: terms.market,
      order_type: terms.type,
      side: terms.side,
      price: terms.price ?? '0',
      size: terms.size,
      initial_size: terms.size,
      total_filled_size: '0',
      status: 'processing',
      reason: '',
      profile_id: 1,
      timestamp: time.now * 1000,
      time_in_force: 'good_till_cancel',
    });
    time.in(20 + random() * 800, () => this.decide());
  }

  get record(): OrderRecord {
    return (this.versions.at(-1) as Version).record;
  }
  get ended(): boolean {
    return ENDED.has(this.record.status);
  }
  /** The record that a reader sees who is `lag` behind; undefined where the order was not there yet. */
  seen(lag: number): OrderRecord | undefined {
    return this.versions.findLast(({ at }) => at <= this.time.now - lag)?.record;
  }
  write(change: Partial<OrderRecord>): void {
    this.versions.push({ at: this.time.now, record: { ...this.versions.at(-1)?.record, ...change } as OrderRecord });
  }

  private decide(): void {
    if (this.record.status !== 'processing') return;
    if (this.random() < 0.08) {
      if (this.random() < 0.3) this.fill(new Decimal('1.5'));
      this.write({ status: 'rejected', reason: 'MARGIN' });
      return;
    }
    this.write({ status: 'open' });
    const fills = Math.floor(this.random() * 5);
    for (let count = 0; count < fills; count += 1) this.time.in(this.random() ** 2 * 60_000, () => this.trade());
  }

  private trade(): void {
    const { status, size } = this.record;
    if (this.ended || status === 'processing' || size === '0') return;
    const rest = new Decimal(size);
    const part = this.random() < 0.3 ? rest : Decimal.min(rest, new Decimal(Math.ceil(this.random() * 40)).div(10));
    this.fill(part);
    if (part.eq(rest)) this.write({ status: 'closed' });
  }

  fill(size: Decimal): void {
    const { record } = this;
    this.fills.push({
      id: `${this.id.replace('@', '-')}${this.fills.length}`,
      trade_id: `BTC-USD-${this.fills.length}`,
      order_id: this.id,
      market_id: 'BTC-USD',
      profile_id: 1,
      side: record.side,
      price: record.price,
      size: size.toFixed(),
      fee: '0',
      is_maker: true,
      liquidation: false,
      timestamp: this.time.now * 1000,
    });
    const filled = new Decimal(record.total_filled_size).plus(size);
    this.write({
      total_filled_size: filled.toFixed(),
      size: Decimal.max(0, new Decimal(record.size).minus(size)).toFixed(),
    });
  }

  /** Accepted, and decided a little later: done, overtaken by a fill, or failed. */
  cancel(): void {
    this.write({ status: 'canceling' });
    this.time.in(20 + this.random() * 900, () => {
      if (this.record.status !== 'canceling') return;
      const failed = this.random() < 0.15;
      this.write({ status: failed ? 'open' : 'canceled' });
      // A fill that won may show behind the cancel that lost.
      if (!failed && this.random() < 0.06 && this.record.size !== '0') {
        this.time.in(this.random() * 1_000, () => {
          this.fill(new Decimal(this.record.size));
          this.write({ status: 'closed' });
        });
        return;
      }
      // A fill that was under way may still be booked behind a cancel.
      if (!failed && this.random() < 0.3 && this.record.size !== '0') {
        this.time.in(this.random() * 3_000, () => this.fill(Decimal.min(this.record.size, '0.5')));
      }
    });
  }

  amend(price: string, size: string | undefined): void {
    this.write({ status: 'amending' });
    const applied = this.random() < 0.8;
    this.time.in(20 + this.random() * 500, () => {
      if (this.record.status !== 'amending') return;
      const settle = () => {
        if (this.record.status !== 'amending' && this.record.status !== 'canceled') return;
        const filled = new Decimal(this.record.total_filled_size);
        const resized = size === undefined || filled.gt(0) ? {} : { size, initial_size: size };
        this.write(applied ? { status: 'open', price, ...resized } : { status: 'open' });
      };
      if (this.random() < 0.3) {
        // For an instant it looks cancelled (venue-notes.md, surprise 4).
        this.write({ status: 'canceled' });
        this.time.in(this.random() * 1_400, settle);
      } else settle();
    });
  }

  sweep(): void {
    if (!this.ended) this.write({ status: 'canceled' });
  }
}

/** Runs one order from start to end and compares the machine with the venue. */
export function live(seed: number): Verdict {
  return new Life(seed).run();
}

class Life {
  private readonly time = new Timeline();
  private readonly random: () => number;
  private readonly dedupes: boolean;
  private readonly orders: VenueOrder[] = [];
  private readonly terms: OrderTerms;
  private order: OrderSnapshot;
  private readonly problems: string[] = [];
  private readonly alarms = new Map<string, number>();
  private events = 0;
  private inFlight = false;
  private settledAt: number | undefined;
  /** Another program has changed the order: statements about it may be outdated for a while, and are corrected later. */
  private meddled = false;
  private readonly seed: number;
  /** When this client stops reading: some stop long before anything is proven. */
  private readonly patience: number;

  constructor(seed: number) {
    this.seed = seed;
    this.random = generator(seed);
    this.patience = 8_000 + this.random() * 150_000;
    this.dedupes = this.random() < 0.5;
    this.terms = {
      clientOrderId: 'rbmodel',
      market: 'BTC-USD',
      side: 'long',
      type: 'limit',
      size: SIZE,
      price: '100',
      onAmbiguous: this.random() < 0.5 ? 'resend' : 'halt',
    };
    this.order = createOrder(this.terms, this.time.now);
  }

  run(): Verdict {
    const { time, random } = this;
    this.post();
    this.poll();
    if (random() < 0.6) time.in(random() * 40_000, () => this.amend());
    if (random() < 0.2) time.in(random() * 40_000, () => this.amend());
    if (random() < 0.5) time.in(random() * 50_000, () => this.cancel());
    if (random() < 0.1) time.in(random() * 50_000, () => this.deadman());
    if (random() < 0.1) time.in(random() * 50_000, () => this.someoneElse());
    time.in(60_000, () => this.wrapUp());
    time.runUntil(START + LIFE_MS, () => this.order.context.settled);
    this.judge();
    return { problems: this.problems, state: this.order.state, alarms: this.alarms, events: this.events };
  }

  private take(event: OrderEvent): OrderStep {
    this.events += 1;
    const before = this.order;
    const step = stepOrder(before, event);
    this.order = step.snapshot;
    for (const { alarm } of step.alarms) this.alarms.set(alarm, (this.alarms.get(alarm) ?? 0) + 1);
    if (new Decimal(step.snapshot.context.filled).lt(before.context.filled))
      this.fail(`filled went down at ${event.type}`);
    if (step.disposition === 'caller_error') this.fail(`caller error: ${event.type} in ${before.state}`);
    this.boundHolds(event.type);
    this.checkAlarms(before.state, step);
    if (step.wants.includes('cancel_again')) this.time.in(100, () => this.cancel());
    if (step.wants.includes('read_fills')) this.time.in(100, () => this.readFills());
    if (isTerminal(this.order.state) && !this.resends()) this.watchEnd();
    return step;
  }

  private fail(problem: string): void {
    this.problems.push(`seed ${this.seed} at ${this.time.now - START} ms: ${problem}`);
  }

  /** The machine never counts less than works at the venue (ARCHITECTURE.md, I15). */
  private boundHolds(event: string): void {
    if (isTerminal(this.order.state)) return;
    const { filled, worstRemaining } = getExposure(this.order);
    const bound = new Decimal(filled).plus(worstRemaining);
    for (const order of this.orders) {
      const { total_filled_size, size } = order.record;
      const truth = new Decimal(total_filled_size).plus(order.ended ? 0 : size);
      if (truth.gt(bound))
        this.fail(
          `${this.order.state} after ${event}: counts ${bound}, the venue has ${truth} (${order.record.status})`,
        );
    }
  }

  /** An alarm about a cancel, an amend or an end must be true at the venue at that moment. */
  private checkAlarms(from: string, step: OrderStep): void {
    const truth = this.venueOrder?.record;
    // Where other programs change the order too, it may have changed since the read.
    if (truth === undefined || this.meddled) return;
    const to = step.snapshot.state;
    for (const { alarm, detail } of step.alarms) {
      if (alarm === 'CancelLost' && truth.status === 'canceled') this.fail('calls a cancel lost that was done');
      if (alarm === 'LateOrder' && ENDED.has(truth.status)) this.fail(`calls an order live that is ${truth.status}`);
      if (alarm === 'Contradiction' && from === 'closed' && detail.event === 'P_OPEN')
        this.fail('takes a late read of a closed order for a contradiction');
      const { requestedPrice, requestedSize } = detail;
      const applied =
        truth.price === requestedPrice && (requestedSize === undefined || truth.initial_size === requestedSize);
      if (alarm === 'AmendLost' && applied) this.fail('calls an amend lost that was applied');
    }
    const ended = to === 'canceled' && ['open', 'amending', 'canceling'].includes(from);
    if (ended && !ENDED.has(truth.status)) this.fail(`calls ${from} canceled, the venue says ${truth.status}`);
  }

  private get venueOrder(): VenueOrder | undefined {
    return this.orders[0];
  }
  private delay(): number {
    return 10 + this.random() * 300;
  }

  /** A draft, or an order proven absent that its author allowed to be sent again. */
  private maySubmit(): boolean {
    const { state, context } = this.order;
    return state === 'draft' || (state === 'absent' && context.intent.onAmbiguous === 'resend');
  }

  private resends(): boolean {
    return this.order.state === 'absent' && this.maySubmit() && this.order.context.attempt < 3;
  }

  private post(): void {
    const { time, random } = this;
    if (!this.maySubmit()) return;
    // One request that changes something at a time, for one order (ARCHITECTURE.md, I7).
    if (this.inFlight) {
      time.in(500, () => this.post());
      return;
    }
    this.take({ type: 'SUBMIT', at: time.now });
    const fate = random();
    const arrive = () => {
      if (this.dedupes && this.orders.length > 0) return 'duplicate';
      this.orders.push(new VenueOrder(time, random, `BTC-USD@${1000 + this.orders.length}`, this.terms));
      return 'placed';
    };
    if (fate < 0.08) {
      this.giveUp();
      return;
    }
    if (fate < 0.16) {
      // Late, but not later than the horizon allows.
      time.in(random() * 60_000, arrive);
      this.giveUp();
      return;
    }
    if (fate < 0.24) {
      time.in(this.delay(), arrive);
      this.giveUp();
      return;
    }
    if (fate < 0.3) {
      time.in(this.delay(), () => {
        this.take({ type: 'RATE_LIMITED', at: time.now });
        time.in(1_000, () => this.post());
      });
      return;
    }
    if (fate < 0.34) {
      time.in(this.delay(), () => this.take({ type: 'REFUSED', at: time.now, message: 'MARKET_PAUSED' }));
      return;
    }
    time.in(this.delay(), () => {
      const kind = arrive();
      const orderId = this.orders.at(-1)?.id ?? '';
      time.in(this.delay(), () =>
        this.take(kind === 'placed' ? { type: 'ACK', at: time.now, orderId } : { type: 'DUPLICATE', at: time.now }),
      );
    });
  }

  private giveUp(): void {
    this.time.in(100 + this.random() * 9_000, () => this.take({ type: 'SUBMIT_UNKNOWN', at: this.time.now }));
  }

  private cancel(): void {
    const { time, random } = this;
    if (this.inFlight || isTerminal(this.order.state)) return;
    if (this.order.state === 'submitting') this.take({ type: 'CANCEL', at: time.now });
    if (!isWorking(this.order.state) || this.order.state === 'submitting') return;
    this.inFlight = true;
    this.take({ type: 'CANCEL', at: time.now });
    const fate = random();
    time.in(this.delay(), () => {
      const order = this.venueOrder;
      let answer: OrderEvent['type'] = 'CANCEL_ACK';
      if (fate < 0.1) answer = 'CANCEL_UNKNOWN';
      else if (order === undefined || order.ended) answer = 'CANCEL_REFUSED';
      else if (random() < 0.1 && order.record.status === 'open') {
        order.sweep();
        answer = 'CANCEL_FINAL';
      } else order.cancel();
      if (fate > 0.9) answer = 'CANCEL_UNKNOWN';
      time.in(answer === 'CANCEL_UNKNOWN' ? 2_000 : this.delay(), () => {
        this.inFlight = false;
        this.take({ type: answer, at: time.now, message: 'ORDER_NOT_FOUND' } as OrderEvent);
      });
    });
  }

  private amend(): void {
    const { time, random } = this;
    const size = random() < 0.3 ? String(5 + Math.floor(random() * 10)) : undefined;
    if (this.inFlight || !mayAmend(this.order, { size })) return;
    this.inFlight = true;
    const price = String(90 + Math.floor(random() * 20));
    this.take({ type: 'AMEND', at: time.now, price, size });
    const fate = random();
    time.in(this.delay(), () => {
      const order = this.venueOrder;
      let answer: OrderEvent['type'] = 'AMEND_ACK';
      if (fate < 0.1) answer = 'AMEND_UNKNOWN';
      // No order is resized once it has fills: the document does not say what a size means then.
      else if (order?.record.status !== 'open' || (size !== undefined && order.fills.length > 0))
        answer = 'AMEND_REFUSED';
      else order.amend(price, size);
      if (fate > 0.9) answer = 'AMEND_UNKNOWN';
      time.in(answer === 'AMEND_UNKNOWN' ? 2_000 : this.delay(), () => {
        this.inFlight = false;
        this.take({ type: answer, at: time.now } as OrderEvent);
      });
    });
  }

  /** The switch fires, or is only thought to have fired. */
  private deadman(): void {
    const { time, random } = this;
    if (random() < 0.7) {
      this.meddled = true;
      for (const order of this.orders) order.sweep();
    }
    time.in(random() * 2_000, () => {
      if (!isTerminal(this.order.state)) this.take({ type: 'DEADMAN', at: time.now });
    });
  }

  /** Another program amends the order; for an instant it looks cancelled. */
  private someoneElse(): void {
    const order = this.venueOrder;
    if (order?.record.status !== 'open') return;
    this.meddled = true;
    order.amend(String(70 + Math.floor(this.random() * 10)), undefined);
  }

  private poll(): void {
    const { time, random } = this;
    if (this.order.state !== 'draft' && this.order.state !== 'submitting') this.read();
    time.in(300 + random() * 4_000, () => this.poll());
  }

  private read(): void {
    const { time, random } = this;
    const sentAt = time.now;
    if (random() < 0.1) return;
    time.in(this.delay(), () => {
      const lag = random() ** 2 * MOST_LAG;
      const records = this.orders.flatMap((order) => order.seen(lag) ?? []);
      time.in(this.delay(), () => {
        if (records.length === 0) this.take({ type: 'P_NOT_FOUND', at: time.now, sentAt });
        for (const record of records) this.take(toObservation(record, sentAt, time.now));
        this.conclude();
      });
    });
  }

  private readFills(): void {
    const { time, random } = this;
    time.in(this.delay(), () => {
      const until = time.now - random() ** 2 * MOST_LAG;
      const fills = this.orders.flatMap((order) => order.fills).filter(({ timestamp }) => timestamp <= until * 1000);
      time.in(this.delay(), () => {
        for (const fill of fills) this.take({ type: 'FILL', at: time.now, fill });
      });
    });
  }

  /** Gives up reading where the machine may conclude absence, or where nothing was learned for long. */
  private conclude(): void {
    const { state, context } = this.order;
    const { absence } = context;
    const proven =
      absence.count >= 5 && absence.provenAfter !== undefined && (absence.lastSentAt ?? 0) > absence.provenAfter;
    const stuck =
      this.time.now - context.since > this.patience &&
      !isTerminal(state) &&
      state !== 'open' &&
      state !== 'quarantined';
    if ((proven && (state === 'unknown' || state === 'canceling')) || stuck)
      this.take({ type: 'T_EXHAUSTED', at: this.time.now });
    if (this.order.state === 'absent' && this.resends() && this.random() < 0.8) this.post();
  }

  private wrapUp(): void {
    this.cancel();
    if (this.order.state === 'draft') this.post();
    this.time.in(8_000, () => this.wrapUp());
  }

  /** Terminal: reads go on for the grace, then the fills are read once more, and it is settled if it still is. */
  private watchEnd(): void {
    const { terminalAt } = this.order.context;
    if (terminalAt === undefined || this.settledAt === terminalAt) return;
    this.settledAt = terminalAt;
    this.time.in(9_000, () => {
      this.readFills();
      this.time.in(2_500, () => {
        if (isTerminal(this.order.state) && this.order.context.terminalAt === terminalAt)
          this.take({ type: 'T_SETTLE', at: this.time.now });
      });
    });
  }

  private judge(): void {
    const { state, context } = this.order;
    if (this.orders.length > 1) this.fail(`${this.orders.length} orders for one intent`);
    const order = this.venueOrder;
    if (!context.settled) {
      // An unresolved order is not wrong, as long as it is reported.
      if (state === 'quarantined' && order !== undefined)
        this.fail(`left quarantined, though the venue shows ${order.record.status}`);
      if (state !== 'quarantined' && (order === undefined || order.ended))
        this.fail(`left ${state}, the venue says ${order?.record.status ?? 'nothing'}`);
      return;
    }
    const status = order?.record.status;
    const right =
      order === undefined
        ? state === 'absent' || (state === 'rejected' && context.confirmedAt === undefined)
        : state === status;
    if (!right) this.fail(`believes ${state}, the venue says ${status ?? 'nothing'}`);
    const sum = (order?.fills ?? []).reduce((total, fill) => total.plus(fill.size), new Decimal(0));
    if (!sum.eq(context.filled)) this.fail(`counts ${context.filled} filled, the venue ${sum}`);
  }
}
