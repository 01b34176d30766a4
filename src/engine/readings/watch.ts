/**
 * Polls the records of awaited orders: one reading serves all orders awaited in a market. Polling begins after half a second and
 * settles at one reading every two seconds, never two of a market at a time. Only this file would change for a push channel.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { PassingMap } from '../../base/passing-map.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { FIRST_POLL_MS, POLL_MS } from '../../venue/order/polling.ts';
import { makeLookupParams, makeMarketParams, makeReadParams, PAGE_ROWS } from '../../venue/order/requests.ts';
import { isTerminal } from '../../venue/order/states.ts';
import {
  type CallClass,
  type CallOutcome,
  isFoundMissing,
  SWEEP,
  type VenueCall,
  type VenuePort,
  type Wanted,
} from '../../venue/port.ts';
import type { OrderRecord } from '../../venue/records.ts';
import { Abandoned, Cancellation } from '../interruption.ts';
import type { WallTime } from '../wall-time.ts';
import { callWhileWanted, type OrderRequestContext, refer } from './parts.ts';

/** How far before an order's intent a reading begins, ms: clocks differ (fault-matrix.md, row 51). */
export const LOOK_BACK_MS = 3_600_000;
/** Most pages of a market's orders that are read for one answer; what they do not show is read by its id, or not proven absent. */
const MOST_PAGES = 10;
/** Until when a reading may wait for tokens (epoch ms), how long for its answer (ms), and whether it is still wanted. */
export type ReadingLimits = Pick<VenueCall, 'deadlineAt' | 'answerMs' | 'wanted'>;

/** The scope of a wait, and the exit that it belongs to. */
type WaitScope = Pick<OrderRequestContext, 'cancel' | 'exit'>;

interface Waiter {
  readonly order: TrackedOrder;
  readonly until: (order: TrackedOrder) => boolean;
  readonly done: (problem?: unknown) => void;
  /** Its orders are of an exit: its stops are cancelled, and the position is bare until their end is seen. */
  readonly isUrgent: boolean;
  nextAt: number;
  polled: boolean;
}

interface Poll {
  readonly scope: Cancellation;
  readonly isUrgent: boolean;
  readonly done: Promise<void>;
}

interface WatchParts {
  readonly venue: VenuePort;
  readonly clock: Clock;
  readonly wall: WallTime;
  readonly callId: (path: string) => string;
}

export class OrderWatch {
  private readonly venue: VenuePort;
  private readonly clock: Clock;
  private readonly wall: WallTime;
  private readonly callId: (path: string) => string;
  private readonly waiters = new Set<Waiter>();
  /** Readings under way or waiting for tokens, by market. */
  private readonly polls = new Map<string, Poll>();
  /** When the reading was sent that last showed the order, epoch ms; of the orders that were shown within POLL_MS. */
  private shownAt = new PassingMap<TrackedOrder, number>();
  /** The same of orders that have ended, for as long as the run. */
  private readonly endShownAt = new WeakMap<TrackedOrder, number>();
  /** Markets whose orders do not fit into one page. */
  private readonly crowded = new Set<string>();
  private timer: Timer | undefined;
  private timerAt = Number.POSITIVE_INFINITY;

  constructor({ venue, clock, wall, callId }: WatchParts) {
    this.venue = venue;
    this.clock = clock;
    this.wall = wall;
    this.callId = callId;
  }

  /**
   * Resolves when `until` holds for the order; polls until then. Rejects with Abandoned when the scope is cancelled. For an exit the
   * readings are urgent, because its position is bare meanwhile: one that waits for its tokens as any other gives way.
   */
  until(order: TrackedOrder, until: (order: TrackedOrder) => boolean, { cancel, exit }: WaitScope): Promise<void> {
    if (until(order)) return Promise.resolve();
    const isUrgent = exit !== undefined;
    return new Promise((resolve, reject) => {
      if (cancel.reason !== undefined) {
        reject(new Abandoned(cancel.reason));
        return;
      }
      const stop = cancel.listen((reason) => waiter.done(new Abandoned(reason)));
      // An exit begins to wait at instants of which the journal has no entry: what it added to them, a replay would add to others.
      const { since } = isUrgent ? order.snapshot.context : { since: this.clock.now() };
      const firstAt = Math.max(this.clock.now(), since + FIRST_POLL_MS);
      const waiter: Waiter = {
        order,
        until,
        isUrgent,
        nextAt: firstAt,
        polled: false,
        done: (problem) => {
          stop();
          this.waiters.delete(waiter);
          this.arm();
          if (problem === undefined) resolve();
          else reject(problem);
        },
      };
      this.waiters.add(waiter);
      const poll = this.polls.get(order.intent.market);
      if (isUrgent && poll?.isUrgent === false) poll.scope.cancel('sibling', 'a more urgent reading takes its place');
      this.arm();
    });
  }

  /** As `until`, but for no longer than `ms`; false when the time ran out first. */
  async waitWithin(
    ms: number,
    order: TrackedOrder,
    until: (order: TrackedOrder) => boolean,
    { cancel, ...scope }: WaitScope,
  ): Promise<boolean> {
    const own = new Cancellation(cancel);
    const timer = this.clock.at(this.clock.now() + ms, () => own.cancel('timeout', 'not seen in time'));
    try {
      await this.until(order, until, { ...scope, cancel: own });
      return true;
    } catch (error) {
      if (!own.timedOut) throw error;
      return false;
    } finally {
      timer.cancel();
      own.close();
    }
  }

  /**
   * As `waitWithin`. Where others use up the tokens, a reading may have waited for them all of that time: then one more is urgent, before
   * an order that rests as it should is cancelled, or a run halts over one that has ended.
   */
  async seeWithin(
    ms: number,
    order: TrackedOrder,
    until: (order: TrackedOrder) => boolean,
    { step, ...scope }: WaitScope & Pick<OrderRequestContext, 'step'>,
  ): Promise<boolean> {
    const { cancel } = scope;
    if (await this.waitWithin(ms, order, until, scope)) return true;
    if (!this.isBeingRead(order)) return false;
    await callWhileWanted(cancel, (wanted) => this.read(order, step, 'confirm', { class: 'resolve', wanted }));
    this.check();
    return until(order);
  }

  /**
   * Reads one order now; the tracker folds the record. `lookup` asks by client order id, for an order whose fate is unknown. A
   * refusal in words that say that there is no such order is a reading that found nothing.
   */
  async read(
    order: TrackedOrder,
    step: string,
    purpose: 'confirm' | 'lookup' | 'refresh' | typeof SWEEP,
    how: { readonly class: CallClass } & ReadingLimits,
  ): Promise<CallOutcome<'GET /orders'>> {
    const since = this.lookFrom(order.createdAt);
    const outcome = await this.venue.call({
      id: this.callId(step),
      step,
      endpoint: 'GET /orders',
      params:
        purpose === 'lookup'
          ? makeLookupParams<never>(order.intent, since)
          : makeReadParams<never>(refer(order), since),
      clientOrderId: order.intent.clientOrderId,
      rows: 'own',
      purpose,
      ...how,
    });
    this.noteShown([order], outcome);
    if (!isFoundMissing(outcome)) return outcome;
    const { sentAt, settledAt } = outcome;
    return { kind: 'confirmed', result: [], settledAt, ...(sentAt === undefined ? {} : { sentAt }) };
  }

  /**
   * Reads the orders that the venue has under the client order id of an order that was sent again. A precaution: a recording need not
   * hold it.
   */
  async readNamesakes(
    order: TrackedOrder,
    step: string,
    how: { readonly class: CallClass } & ReadingLimits,
  ): Promise<readonly OrderRecord[]> {
    const outcome = await this.venue.call({
      id: this.callId(step),
      step,
      endpoint: 'GET /orders',
      params: makeLookupParams<never>(order.intent, this.lookFrom(order.createdAt)),
      clientOrderId: order.intent.clientOrderId,
      rows: 'own',
      purpose: SWEEP,
      ...how,
    });
    if (outcome.kind !== 'confirmed') return [];
    const { clientOrderId } = order.intent;
    return outcome.result.filter(({ client_order_id: given }) => given === clientOrderId);
  }

  /**
   * Reads several orders of a market. One page shows them all, unless it is full: then orders of ours are behind newer ones of
   * other programs, so those that it does not show are read by id. From then on the list of the open orders is read in its place:
   * it holds what rests, however much else is in the market.
   */
  async readTogether(
    orders: readonly TrackedOrder[],
    step: string,
    {
      purpose = 'confirm',
      class: urgency = 'reconcile',
      ...limits
    }: ReadingLimits & { readonly purpose?: 'confirm' | typeof SWEEP; readonly class?: CallClass } = {},
  ): Promise<CallOutcome<'GET /orders'>> {
    const market = orders[0]?.intent.market ?? '';
    const since = Math.min(...orders.map(({ createdAt }) => createdAt));
    const how = { purpose, class: urgency, ...limits };
    const open = this.crowded.has(market);
    const missing = new Set(orders);
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const outcome = await this.readMarket(market, since, step, { ...how, open, page });
      if (outcome.kind !== 'confirmed') return outcome;
      this.noteShown(orders, outcome);
      for (const order of missing)
        if (outcome.result.some((record) => isRecordOf(record, order))) missing.delete(order);
      if (!isFull(outcome)) {
        if (!open) return findUnread(outcome, missing) ?? outcome;
        break;
      }
      this.crowded.add(market);
      if (!open || missing.size === 0) break;
    }
    let worst: CallOutcome<'GET /orders'> | undefined;
    for (const order of missing) {
      const outcome = await this.read(order, step, purpose, { class: urgency, ...limits });
      if (outcome.kind !== 'confirmed') worst ??= outcome;
    }
    return worst ?? { kind: 'confirmed', result: [], settledAt: this.clock.now() };
  }

  /**
   * Looks for an order in the whole list of its market, page by page. Gives why the list proves nothing; undefined where it was read to
   * its end, or as far as the order. For the proof that it is absent: the newest page of a market with many orders proves nothing.
   */
  async lookThroughMarket(order: TrackedOrder, step: string): Promise<string | undefined> {
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const how = { purpose: 'lookup', class: 'resolve', page } as const;
      const outcome = await this.readMarket(order.intent.market, order.createdAt, step, how);
      if (outcome.kind !== 'confirmed') return `the list of ${order.intent.market} cannot be read: ${outcome.message}`;
      const [unread] = outcome.unread ?? [];
      if (unread !== undefined) return unread.why;
      if (!isFull(outcome) || outcome.result.some((record) => isRecordOf(record, order))) return undefined;
    }
    return `the list of ${order.intent.market} is longer than what is read of it`;
  }

  /** Reads a page of the orders of a market since `sinceMs`. */
  private readMarket(
    market: string,
    sinceMs: number,
    step: string,
    {
      purpose,
      open = false,
      page,
      ...limits
    }: {
      readonly purpose: 'confirm' | 'lookup' | typeof SWEEP;
      readonly class: CallClass;
      readonly open?: boolean;
      readonly page: number;
    } & ReadingLimits,
  ): Promise<CallOutcome<'GET /orders'>> {
    return this.venue.call({
      id: this.callId(step),
      step,
      endpoint: 'GET /orders',
      params: makeMarketParams<never>(market, this.lookFrom(sinceMs), { open, page }),
      rows: 'own',
      purpose,
      ...limits,
    });
  }

  /** Forgets which orders a reading has just shown: another process goes on, and they may have changed since. */
  forgetShown(): void {
    this.shownAt = new PassingMap();
  }

  /** Whether a reading showed the order that was sent at `ms` (epoch) or later, at most POLL_MS ago. */
  hasShownSince(ms: number, order: TrackedOrder): boolean {
    return (this.shownAt.get(order) ?? Number.NEGATIVE_INFINITY) >= ms || this.hasShownEndSince(ms, order);
  }

  /** Whether a reading showed the order that was sent at `ms` (epoch) or later, and when it had ended. */
  hasShownEndSince(ms: number, order: TrackedOrder): boolean {
    return (this.endShownAt.get(order) ?? Number.NEGATIVE_INFINITY) >= ms;
  }

  private noteShown(orders: readonly TrackedOrder[], outcome: CallOutcome<'GET /orders'>): void {
    if (outcome.kind !== 'confirmed') return;
    const at = outcome.sentAt ?? outcome.settledAt;
    for (const order of orders) {
      if (!outcome.result.some((record) => isRecordOf(record, order))) continue;
      this.shownAt.set(order, at);
      if (isTerminal(order.snapshot.state)) this.endShownAt.set(order, at);
    }
    const since = this.clock.now() - POLL_MS;
    for (const [order, shownAt] of [...this.shownAt]) if (shownAt < since) this.shownAt.delete(order);
  }

  /** The start of a reading that must find what was done at `at` (epoch ms on the run's clock), in µs. */
  lookFrom(at: number): number {
    return (this.wall.computeEarliest(at) - LOOK_BACK_MS) * 1000;
  }

  /** Wakes the waiters whose condition holds by now, without another reading. */
  check(): void {
    for (const waiter of [...this.waiters]) if (waiter.until(waiter.order)) waiter.done();
  }

  /**
   * Resolves when every reading under way has its answer: none may arrive after the end of a run. One that still waits for tokens
   * after `withinMs` is given up: no step waits for it, and where others use up the tokens the run would never end.
   */
  async waitForReadings(withinMs: number): Promise<void> {
    const polls = [...this.polls.values()];
    if (polls.length === 0) return;
    const timer = this.clock.at(this.clock.now() + withinMs, () => {
      for (const { scope } of polls) scope.cancel('timeout', 'the run ends');
    });
    await Promise.all(polls.map(({ done }) => done));
    timer.cancel();
  }

  private arm(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const waiter of this.waiters) if (!this.isBeingRead(waiter.order)) next = Math.min(next, waiter.nextAt);
    if (next === this.timerAt) return;
    this.timer?.cancel();
    this.timerAt = next;
    this.timer = next === Number.POSITIVE_INFINITY ? undefined : this.clock.at(next, () => this.poll());
  }

  /** A second reading behind one that still waits for its tokens or its answer would show nothing new and cost as much. */
  private isBeingRead(order: TrackedOrder): boolean {
    return this.polls.has(order.intent.market);
  }

  private poll(): void {
    const now = this.clock.now();
    const due = [...this.waiters].filter((waiter) => waiter.nextAt <= now && !this.isBeingRead(waiter.order));
    const markets = new Set(due.map((waiter) => waiter.order.intent.market));
    // Waiters of a market that is read anyway are served by the same page.
    for (const waiter of this.waiters) {
      if (!markets.has(waiter.order.intent.market)) continue;
      waiter.nextAt = now + (waiter.polled ? POLL_MS : POLL_MS - FIRST_POLL_MS);
      waiter.polled = true;
    }
    for (const market of markets) {
      const scope = new Cancellation();
      // Also where the exit itself is not due yet: its reading would have to wait behind this one.
      const isUrgent = [...this.waiters].some((each) => each.isUrgent && each.order.intent.market === market);
      const done = this.pollMarket(market, {
        class: isUrgent ? 'resolve' : 'reconcile',
        wanted: scope.createWithdrawal(),
      });
      this.polls.set(market, { scope, isUrgent, done });
    }
    this.timerAt = Number.POSITIVE_INFINITY;
    this.arm();
  }

  private async pollMarket(market: string, how: { readonly class: CallClass; readonly wanted: Wanted }): Promise<void> {
    const served = [...this.waiters].filter(({ order }) => order.intent.market === market);
    const orders = [...new Set(served.map(({ order }) => order))];
    const [only] = orders;
    try {
      if (only !== undefined && orders.length === 1) {
        await this.read(only, 'watch', 'confirm', how);
      } else {
        await this.readTogether(orders, 'watch', how);
      }
    } catch (error) {
      // An internal error ends the steps that wait, not the process.
      for (const waiter of served) waiter.done(error);
      return;
    } finally {
      this.polls.delete(market);
    }
    // A slow reading is not followed by the next at once.
    for (const waiter of served) waiter.nextAt = Math.max(waiter.nextAt, this.clock.now() + FIRST_POLL_MS);
    this.check();
    this.arm();
  }
}

/** No answer, where a row that cannot be read is or may be one of the orders: what is known of it is as old as before. */
function findUnread(
  { unread = [], sentAt, settledAt }: CallOutcome<'GET /orders'> & { kind: 'confirmed' },
  missing: ReadonlySet<TrackedOrder>,
): CallOutcome<'GET /orders'> | undefined {
  const names = new Set<string | undefined>([...missing].map(({ intent }) => intent.clientOrderId));
  const odd = unread.find(({ clientOrderId }) => clientOrderId === undefined || names.has(clientOrderId));
  if (odd === undefined || missing.size === 0) return undefined;
  return { kind: 'unresolved', message: odd.why, sentAt: sentAt ?? settledAt, settledAt };
}

/** Whether a page holds as many rows as one can: more may be behind it. */
function isFull({ result, leftOut = 0, unread = [] }: CallOutcome<'GET /orders'> & { kind: 'confirmed' }): boolean {
  return result.length + leftOut + unread.length >= PAGE_ROWS;
}

function isRecordOf({ id, client_order_id }: OrderRecord, { intent, snapshot }: TrackedOrder): boolean {
  return id === snapshot.context.venueId || client_order_id === intent.clientOrderId;
}
