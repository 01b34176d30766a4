/**
 * Reads what the run has at the venue before it is judged what it leaves: an order that rests may have filled since it was last read, and
 * the record that showed an end may be older than what filled. completion.ts says of which order.
 */
import type { TrackedOrder } from '../../journal/orders.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import { isEndDoubted } from '../../venue/order/guards.ts';
import { COMPLETION_EVERY_MS, POLL_MS, REPEAT_DELAYS_MS, SECOND_LOOK_WITHIN_MS } from '../../venue/order/polling.ts';
import { isAtVenue, isTerminal, isWorking } from '../../venue/order/states.ts';
import { NOT_RECORDED, SWEEP } from '../../venue/port.ts';
import type { Cancellation } from '../interruption.ts';
import { sleepUntil } from '../waiting.ts';
import { ANSWER_AT_ONCE_MS, type Completing, type CompletingRequest, MOST_HIDDEN } from './completing.ts';
import { findEndShownAt, findMissing, mayHaveMore } from './completion.ts';
import type { OrderManagerParts } from './parts.ts';
import type { SeenEnds } from './seen-ends.ts';
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

/** Until when readings are repeated, may wait for tokens, and the last one for its answer, epoch ms. */
interface LookTimes {
  readonly until: number;
  readonly tokensUntil: number;
  readonly answerUntil: number;
}

export class LastLook {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  private readonly completing: Completing;
  private readonly seen: SeenEnds;
  /** When the fills of an order that ended with less than it asked for were last read, epoch ms. */
  private readonly lookedAt = new WeakMap<TrackedOrder, number>();
  /** When one at an order that ended short got no answer, epoch ms: not each look of an end waits for one that is away. */
  private readonly unansweredAt = new WeakMap<TrackedOrder, number>();

  constructor(run: OrderManagerParts, watch: OrderWatch, completing: Completing, seen: SeenEnds) {
    this.run = run;
    this.watch = watch;
    this.completing = completing;
    this.seen = seen;
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
    return { looked, unseen: ended.filter((order) => !this.seen.has(order)) };
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
      if (shownAt === undefined || this.seen.has(order, shownAt)) continue;
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
      const askedAt = clock.now();
      const deadlineAt = Math.max(askedAt, tokensUntil);
      const urgency = left.length === 1 ? 'complete' : 'reconcile';
      // A venue whose answers take longer is healthy all the same: one that would end well waits for the last of them.
      const answerMs = delay === undefined ? Math.max(ANSWER_AT_ONCE_MS, answerUntil - askedAt) : ANSWER_AT_ONCE_MS;
      const outcome = await this.seen.read(left, { class: urgency, deadlineAt, answerMs, step, cancel });
      this.seen.note(left, outcome, askedAt);
      // One that this answer shows as ended is read once more when what filled has to be shown.
      if (outcome.kind === 'confirmed')
        left = left.filter((order) => !this.seen.has(order) && (findEndShownAt(order.snapshot) ?? askedAt) <= askedAt);
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

  /** Of the orders those that ended short and that no answer has shown: those `asked` about, and those whose fills need not be out. */
  listUnseen(orders: readonly TrackedOrder[], asked: readonly TrackedOrder[]): readonly TrackedOrder[] {
    const since = this.run.clock.now() - this.run.setup.fillsWindowMs;
    return orders.filter((order) => {
      const shownAt = findEndShownAt(order.snapshot);
      if (shownAt === undefined || this.seen.has(order, shownAt)) return false;
      return shownAt >= since || asked.includes(order);
    });
  }

  /** Whether fills of an ended order could show what its last reading did not: none lag longer than the window. */
  private mayShowMore(order: TrackedOrder, now: number): boolean {
    const at = this.lookedAt.get(order);
    if (at === undefined) return true;
    return now - at >= COMPLETION_EVERY_MS && at < order.snapshot.context.since + this.run.setup.fillsWindowMs;
  }
}
