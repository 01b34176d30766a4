/**
 * Reads what the run has at the venue before it is judged what it leaves, and before an exit sends anything: an order that rests may have
 * filled since it was last read, and the record that showed an end may be older than what filled. completion.ts says of which order.
 */
import type { OrderTracker, TrackedOrder } from '../../journal/orders.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import { isEndDoubted } from '../../venue/order/guards.ts';
import {
  COMPLETED_TOGETHER,
  COMPLETION_EVERY_MS,
  POLL_MS,
  REPEAT_DELAYS_MS,
  SECOND_LOOK_WITHIN_MS,
} from '../../venue/order/polling.ts';
import { isAtVenue, isTerminal, isWorking } from '../../venue/order/states.ts';
import { type CallOutcome, NOT_RECORDED, SWEEP, type VenueCall } from '../../venue/port.ts';
import { awaitEach, type Cancellation } from '../interruption.ts';
import { sleepUntil } from '../waiting.ts';
import {
  ANSWER_AT_ONCE_MS,
  type Completing,
  type CompletingRequest,
  haltUnrecorded,
  MOST_HIDDEN,
} from './completing.ts';
import { findEndShownAt, findMissing, isClosedShort, mayHaveMore } from './completion.ts';
import { callWhileWanted, type OrderManagerParts } from './parts.ts';
import type { OrderWatch } from './watch.ts';

/** A look at what the run has at the venue. */
export interface LookRequest extends Pick<CompletingRequest, 'step' | 'cancel'> {
  /** How long a reading may wait for tokens, ms. */
  readonly patienceMs: number;
}

/**
 * How long the readings are repeated before it is judged what a run leaves, and until a run that would end well looks again, ms: an
 * interrupted one has 30 s for all of its end, in however many markets.
 */
export const LAST_LOOK_WITHIN_MS = 8000;

/** How much later than its minute what others have spent comes free, ms: it is counted from the answer that showed it, and in whole seconds. */
const TOKENS_LATE_MS = 2000;
/** Pauses between them, ms. */
const LAST_LOOK_DELAYS_MS = REPEAT_DELAYS_MS.slice(0, 3);

/** Of how many orders an exit reads the fills before its next order. */
const MOST_SHORT = 5;
/**
 * How long an answer may take for which an exit waits, ms, as one with its price: without it a venue whose answers take a little longer
 * than those that nothing waits for would have everything sold twice.
 */
const EXIT_ANSWER_MS = 5000;

/** Until when readings are repeated, may wait for tokens, and the last one for its answer, epoch ms. */
interface LookTimes {
  readonly until: number;
  readonly tokensUntil: number;
  readonly answerUntil: number;
}

/** Keeps the orders of a run that ended with less than they asked for: of thousands that filled whole, no look asks anything. */
export class ShortOrders {
  private readonly changed: Set<TrackedOrder>;
  private readonly short = new Set<TrackedOrder>();

  constructor(tracker: Pick<OrderTracker, 'watchOrders'>) {
    this.changed = tracker.watchOrders();
  }

  /** Takes in what has changed: also now and then meanwhile, so that no look has to do so of many at once. */
  update(): void {
    for (const order of this.changed)
      if (mayHaveMore(order.snapshot)) this.short.add(order);
      else this.short.delete(order);
    this.changed.clear();
  }

  list(): readonly TrackedOrder[] {
    this.update();
    return [...this.short];
  }

  /** Forgets those of which nothing more can come to light, until one changes. */
  forget(isOver: (order: TrackedOrder) => boolean): void {
    for (const order of this.short) if (isOver(order)) this.short.delete(order);
  }
}

export class LastLook {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  private readonly completing: Completing;
  /** When the fills of an order that ended with less than it asked for were last read, epoch ms. */
  private readonly lookedAt = new WeakMap<TrackedOrder, number>();
  /** When a look was sent whose answer showed nothing of an order, epoch ms: of one that it need not show. */
  private readonly answeredAt = new WeakMap<TrackedOrder, number>();
  /** Those that ended short and of which a recording has nothing. */
  private readonly unrecorded = new WeakSet<TrackedOrder>();
  /** When one at an order that ended short got no answer, epoch ms: not each look of an end waits for one that is away. */
  private readonly unansweredAt = new WeakMap<TrackedOrder, number>();

  constructor(run: OrderManagerParts, watch: OrderWatch, completing: Completing) {
    this.run = run;
    this.watch = watch;
    this.completing = completing;
  }

  /**
   * Reads those that rest and were not read just now, and those that ended short: what filled, and which stop has triggered, since the
   * last step looked is known afterwards. Gives those that work and those that ended short, and of these the ones that no answer has shown.
   * A precaution: it waits no longer than `patienceMs`; a recording need not hold it.
   */
  async readUnseen(
    orders: readonly TrackedOrder[],
    request: LookRequest,
  ): Promise<{ readonly looked: readonly TrackedOrder[]; readonly unseen: readonly TrackedOrder[] }> {
    const { patienceMs, cancel } = request;
    const ended = await this.waitForEnds(orders, cancel, patienceMs > 0);
    const working = orders.filter(({ snapshot }) => isWorking(snapshot.state));
    const resting = working.filter(
      (order) => isAtVenue(order.snapshot.state) && !this.watch.hasShownSince(this.run.clock.now() - POLL_MS, order),
    );
    await this.readLast([...ended, ...resting], request);
    const looked = [...working, ...ended];
    await this.lookAgain(looked, cancel);
    return { looked, unseen: ended.filter((order) => !this.hasSeenEnd(order)) };
  }

  /**
   * Waits until a record shows what filled of the orders that ended short. Gives those of which no answer came since, the newest first: a
   * position would else stay bare behind a run that ends well. Where their fills are out all the same, the newest alone.
   */
  private async waitForEnds(
    orders: readonly TrackedOrder[],
    cancel: Cancellation,
    insists: boolean,
  ): Promise<readonly TrackedOrder[]> {
    const { clock, setup } = this.run;
    const now = clock.now();
    const [lately, before]: [TrackedOrder[], TrackedOrder[]] = [[], []];
    let until = now;
    for (const order of orders.toReversed()) {
      const { terminalAt } = order.snapshot.context;
      const isOut = terminalAt !== undefined && terminalAt + TIMINGS.readLagMs < now - setup.fillsWindowMs;
      // Of the thousands that a long run has cancelled nothing more is asked.
      if (isOut && before.length === MOST_HIDDEN) continue;
      const shownAt = findEndShownAt(order.snapshot);
      if (shownAt === undefined || this.hasSeenEnd(order, shownAt)) continue;
      const askedAt = this.unansweredAt.get(order) ?? Number.NEGATIVE_INFINITY;
      if (!insists && now - askedAt < LAST_LOOK_WITHIN_MS) continue;
      (isOut ? before : lately).push(order);
      until = Math.max(until, shownAt);
    }
    const found = [...lately, ...before];
    // Also where it is due: an instant of which the journal has no entry is another in a replay, and decides nothing.
    if (found.length > 0) await sleepUntil(clock, until, cancel);
    return found;
  }

  /**
   * Notes of the orders that ended short that an answer shows nothing of them. Of one that a record has shown before it proves nothing, the
   * next answer may have it, until its fills must be out: these say then what it filled.
   */
  private noteAnswer(orders: readonly TrackedOrder[], outcome: CallOutcome<'GET /orders'>, askedAt: number): void {
    const isUnrecorded = outcome.kind === 'denied' && outcome.code === NOT_RECORDED;
    if (outcome.kind !== 'confirmed' && !isUnrecorded) return;
    const before = askedAt - this.run.setup.fillsWindowMs;
    for (const order of orders) {
      const isKnown = order.snapshot.context.confirmedAt !== undefined;
      if (isUnrecorded) this.unrecorded.add(order);
      else if (!isKnown || (findEndShownAt(order.snapshot) ?? askedAt) < before) this.answeredAt.set(order, askedAt);
    }
  }

  /** Whether an answer has shown what filled of an order that ended short, or nothing of one that it need not show. */
  private hasSeenEnd(order: TrackedOrder, shownAt = findEndShownAt(order.snapshot)): boolean {
    if (shownAt === undefined || this.unrecorded.has(order) || this.watch.hasShownEndSince(shownAt, order)) return true;
    if ((this.answeredAt.get(order) ?? Number.NEGATIVE_INFINITY) < shownAt) return false;
    // What one has filled that a record has shown before, its fills say: they have to have been read.
    return order.snapshot.context.confirmedAt === undefined || this.hasReadFills(order);
  }

  /** Whether the fills of an ended order were read when they had to be out. */
  private hasReadFills(order: TrackedOrder): boolean {
    const at = this.completing.fillsReadAt.get(order);
    return at !== undefined && at >= order.snapshot.context.since + this.run.setup.fillsWindowMs;
  }

  /**
   * Before the first order of an exit: waits until a record shows what filled of the orders of its market that ended short, and reads it
   * as urgently as the exit. Without it that would be sold twice.
   */
  async readBeforeExit(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const { clock, setup } = this.run;
    const since = clock.now() - setup.fillsWindowMs;
    const due = orders
      .flatMap((order) => ({ order, shownAt: findEndShownAt(order.snapshot) ?? 0 }))
      .filter(({ order, shownAt }) => shownAt >= since && !this.hasSeenEnd(order))
      .slice(-MOST_HIDDEN);
    if (due.length === 0) return;
    await sleepUntil(clock, Math.max(clock.now(), ...due.map(({ shownAt }) => shownAt)), cancel);
    const looked = due.map(({ order }) => order);
    await this.readRecords(looked, step, cancel);
    const left = looked.filter((order) => !this.hasSeenEnd(order));
    await this.readNewestFills(left, step, cancel);
    this.watch.check();
  }

  /** Reads records for an exit, and once more those that an answer lacks. */
  private async readRecords(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const { clock } = this.run;
    const read = (of: readonly TrackedOrder[]) =>
      this.readOnce(of, { class: 'resolve', deadlineAt: clock.now(), answerMs: EXIT_ANSWER_MS, step, cancel });
    const askedAt = clock.now();
    const outcome = await read(orders);
    this.noteAnswer(orders, outcome, askedAt);
    const left = orders.filter((order) => !this.watch.hasShownSince(askedAt, order));
    if (outcome.kind !== 'confirmed' || left.length === 0) return;
    await sleepUntil(clock, clock.now() + REPEAT_DELAYS_MS[0], cancel);
    await read(left);
  }

  /**
   * Reads the fills of the newest of the orders for an exit, side by side: those of the exit itself are the newest, and it waits for the
   * slowest answer alone.
   */
  private async readNewestFills(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const how = { windowMs: 0, answerMs: EXIT_ANSWER_MS, purpose: SWEEP, class: 'resolve' } as const;
    const request = { ...how, step, cancel };
    let newest: readonly TrackedOrder[] = orders.slice(-MOST_SHORT).reverse();
    const [first] = newest;
    if (first !== undefined && newest.length >= COMPLETED_TOGETHER)
      newest = await this.completing.readFillsTogether(first.intent.market, newest, request);
    await awaitEach(
      newest.map(async (order) => haltUnrecorded(await this.completing.readOne(order, 'fills', request), step)),
    );
  }

  /** Reads the orders of each market until an answer comes. */
  private async readLast(orders: readonly TrackedOrder[], { patienceMs, ...request }: LookRequest): Promise<void> {
    const now = this.run.clock.now();
    // For all markets together: a stop elsewhere may have ended, and what closes the position waits for the look.
    const times = {
      until: now + LAST_LOOK_WITHIN_MS,
      tokensUntil: now + (patienceMs === 0 ? 0 : patienceMs + TOKENS_LATE_MS),
      answerUntil: now + patienceMs,
    };
    for (const market of new Set(orders.map(({ intent }) => intent.market)))
      await this.readUntilAnswered(
        orders.filter(({ intent }) => intent.market === market),
        { ...request, ...times },
      );
    this.watch.check();
  }

  /** One lost answer must not make a stop count as working that ended an hour ago. Where none comes, that is said of each order. */
  private async readUntilAnswered(
    orders: readonly TrackedOrder[],
    { step, cancel, until, tokensUntil, answerUntil }: Pick<LookRequest, 'step' | 'cancel'> & LookTimes,
  ): Promise<void> {
    const { clock, log } = this.run;
    const since = clock.now();
    let isUnanswered = false;
    // Of several that are read one by one some may have been shown when the tokens ran out.
    let left = orders;
    for (const delay of [...LAST_LOOK_DELAYS_MS, undefined]) {
      if (left.length === 0) return;
      const askedAt = clock.now();
      const deadlineAt = Math.max(askedAt, tokensUntil);
      const urgency = left.length === 1 ? 'complete' : 'reconcile';
      // A venue whose answers take longer is healthy all the same: one that would end well waits for the last of them.
      const answerMs = delay === undefined ? Math.max(ANSWER_AT_ONCE_MS, answerUntil - askedAt) : ANSWER_AT_ONCE_MS;
      const outcome = await this.readOnce(left, { class: urgency, deadlineAt, answerMs, step, cancel });
      this.noteAnswer(left, outcome, askedAt);
      // One that this answer shows as ended is read once more when what filled has to be shown.
      if (outcome.kind === 'confirmed')
        left = left.filter(
          (order) => !this.hasSeenEnd(order) && (findEndShownAt(order.snapshot) ?? askedAt) <= askedAt,
        );
      else if (outcome.kind === 'denied' && outcome.code === NOT_RECORDED) return;
      else left = left.filter((order) => !this.watch.hasShownSince(since, order));
      if (left.length === 0) return;
      // It waits for tokens no longer.
      if (outcome.kind === 'denied') break;
      isUnanswered = true;
      if (delay === undefined || clock.now() + delay > until) break;
      await sleepUntil(clock, clock.now() + delay, cancel);
    }
    for (const order of left) {
      const { clientOrderId } = order.intent;
      if (isUnanswered && isTerminal(order.snapshot.state)) this.unansweredAt.set(order, clock.now());
      log.append('order.alarmed', { clientOrderId, alarm: 'UnseenAtEnd', detail: {} }, step);
    }
  }

  /** Reads orders of one market, several in one page. */
  private async readOnce(
    orders: readonly TrackedOrder[],
    {
      step,
      cancel,
      ...how
    }: Pick<LookRequest, 'step' | 'cancel'> & Pick<VenueCall, 'class' | 'deadlineAt' | 'answerMs'>,
  ): Promise<CallOutcome<'GET /orders'>> {
    const { watch } = this;
    const outcome = await callWhileWanted(cancel, (wanted) => {
      const limits = { answerMs: ANSWER_AT_ONCE_MS, ...how, wanted };
      const [first, ...others] = orders;
      if (first === undefined || others.length > 0)
        return watch.readTogether(orders, step, { purpose: SWEEP, ...limits });
      return watch.read(first, step, SWEEP, limits);
    });
    haltUnrecorded(outcome, step);
    return outcome;
  }

  /** Reads orders again that may be shown as cancelled for an instant alone: what a run leaves is judged by the second look. */
  private async lookAgain(orders: readonly TrackedOrder[], cancel: Cancellation): Promise<void> {
    const isDoubted = ({ snapshot }: TrackedOrder) => isEndDoubted(snapshot);
    const looks = orders
      .filter(isDoubted)
      .map((order) => this.watch.waitWithin(SECOND_LOOK_WITHIN_MS, order, (each) => !isDoubted(each), { cancel }));
    await Promise.all(looks);
  }

  /**
   * Reads the fills of orders that ended with less than they asked for: the record that showed the end may have been older than what
   * filled, and the run would end with a position that it does not know. A precaution, as the look at those that rest; it waits for
   * tokens for seconds, because nothing is known to be held. Gives those of which more has come to light.
   */
  async readEnded(
    orders: readonly TrackedOrder[],
    step: string,
    cancel: Cancellation,
  ): Promise<readonly TrackedOrder[]> {
    const ended = await this.waitForEnds(orders, cancel, false);
    await this.readLast(ended, { step, cancel, patienceMs: LAST_LOOK_WITHIN_MS });
    const now = this.run.clock.now();
    const due = orders.filter((order) => this.mayShowMore(order, now) && mayHaveMore(order.snapshot));
    for (const order of due) this.lookedAt.set(order, now);
    await this.completing.readAll(due, 'fills', { step, windowMs: 0, cancel, purpose: SWEEP });
    this.watch.check();
    return due.filter(({ snapshot }) => findMissing(snapshot) !== undefined);
  }

  /**
   * Reads, before an exit sends another order for the rest, the records of the orders that ended with less than they asked for, and the
   * fills of the newest: either may show first what filled as they ended. As urgent as that order. The position is bare meanwhile: no
   * record is read that an answer has shown late enough, several of either are read in one page, and both side by side.
   */
  async readShort(orders: readonly TrackedOrder[], step: string, cancel: Cancellation): Promise<void> {
    const now = this.run.clock.now();
    const isShort = ({ snapshot }: TrackedOrder) => mayHaveMore(snapshot);
    const short = orders.filter(isShort).slice(-MOST_HIDDEN);
    const owed = short.filter((order) => !this.hasSeenEnd(order) || isClosedShort(order.snapshot, now));
    await awaitEach([
      ...(owed.length > 0 ? [this.readRecords(owed, step, cancel)] : []),
      this.readNewestFills(short, step, cancel),
    ]);
    this.watch.check();
  }

  /** Of the orders those that ended short and that no answer has shown: those `asked` about, and those whose fills need not be out. */
  listUnseen(orders: readonly TrackedOrder[], asked: readonly TrackedOrder[]): readonly TrackedOrder[] {
    const since = this.run.clock.now() - this.run.setup.fillsWindowMs;
    return orders.filter((order) => {
      const shownAt = findEndShownAt(order.snapshot);
      if (shownAt === undefined || this.hasSeenEnd(order, shownAt)) return false;
      return shownAt >= since || asked.includes(order);
    });
  }

  /** Whether nothing more can come to light of an ended order: an answer has shown its end, and its fills were read when they had to be out. */
  isOver(order: TrackedOrder): boolean {
    return this.hasReadFills(order) && this.hasSeenEnd(order);
  }

  /** Whether fills of an ended order could show what its last reading did not: none lag longer than the window. */
  private mayShowMore(order: TrackedOrder, now: number): boolean {
    const at = this.lookedAt.get(order);
    if (at === undefined) return true;
    return now - at >= COMPLETION_EVERY_MS && at < order.snapshot.context.since + this.run.setup.fillsWindowMs;
  }
}
