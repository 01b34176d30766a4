/**
 * Reads orders until a step may hand them out: filled size, fills and end agree. Which reading is due is decided in
 * completion.ts. No step and no end of a run reads fills in another way.
 */
import { formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { OrderSnapshot } from '../../venue/order/context.ts';
import { COMPLETED_TOGETHER } from '../../venue/order/polling.ts';
import { makeMarketFillParams, makeOrderFillParams, PAGE_ROWS } from '../../venue/order/requests.ts';
import { isTerminal } from '../../venue/order/states.ts';
import { type CallClass, type CallOutcome, STEP_ENDED, SWEEP, type VenueCall } from '../../venue/port.ts';
import { toFailure } from '../failure.ts';
import { Abandoned, Cancellation, Halt } from '../interruption.ts';
import { sleepUntil } from '../waiting.ts';
import {
  type CompletionProgress,
  decideCompletion,
  findMissing,
  findShownAt,
  isClosedShort,
  type Missing,
  mayHaveMore,
  noteReading,
} from './completion.ts';
import { describeMissing } from './handles.ts';
import { callWhileWanted, conclude, type OrderManagerParts } from './parts.ts';
import type { OrderWatch, ReadingLimits } from './watch.ts';

export interface CompletingRequest {
  /** The step's path with iterations. */
  readonly step: string;
  /** How long the orders are read at most, ms; 0: once, and only if that needs no waiting. */
  readonly windowMs: number;
  /** Until when a reading may wait for tokens, epoch ms; without it, as long as its step lasts. */
  readonly deadlineAt?: number | undefined;
  readonly cancel: Cancellation;
  /** By default `fills`: a recording holds each reading. */
  readonly purpose?: typeof SWEEP;
  /** By default `complete`. */
  readonly class?: CallClass;
  /** How long an answer may take where `windowMs` is 0, ms; by default ANSWER_AT_ONCE_MS. */
  readonly answerMs?: number;
}

/** The endpoints that complete an order. */
type Reading = 'GET /orders' | 'GET /fills' | 'GET /fills/order';

/** Most steps touch orders that are complete. */
const NONE: Promise<readonly TrackedOrder[]> = Promise.resolve([]);

/** Most ended orders that are read by themselves where a page may hide what they filled: an exit must leave tokens for its orders. */
export const MOST_HIDDEN = 20;

/** How long an answer may take where nothing may wait for it, ms. */
export const ANSWER_AT_ONCE_MS = 2000;

export class Completing {
  private readonly run: OrderManagerParts;
  private readonly watch: OrderWatch;
  /** The last page of fills of each market. */
  private readonly pages = new Map<string, FillPage>();
  /** When a reading of the fills of an order was sent that got its answer, epoch ms. */
  readonly fillsReadAt = new WeakMap<TrackedOrder, number>();

  constructor(run: OrderManagerParts, watch: OrderWatch) {
    this.run = run;
    this.watch = watch;
  }

  /** Reads the orders until each is complete or the time is over. Gives those that are not complete. */
  complete(orders: Iterable<TrackedOrder>, request: CompletingRequest): Promise<readonly TrackedOrder[]> {
    const now = this.run.clock.now();
    const mayLack = (order: OrderSnapshot) => isClosedShort(order, now) || (findShownAt(order) ?? now) > now;
    const behind = [...orders].filter(({ snapshot }) => findMissing(snapshot) !== undefined || mayLack(snapshot));
    return behind.length === 0 ? NONE : this.readBehind(behind, request);
  }

  private async readBehind(
    orders: readonly TrackedOrder[],
    request: CompletingRequest,
  ): Promise<readonly TrackedOrder[]> {
    const { clock, heartbeat } = this.run;
    const since = clock.now();
    const behind = new Map<TrackedOrder, CompletionProgress>(
      orders.map((order) => [order, { since, windowMs: request.windowMs, reads: 0 }]),
    );
    const incomplete: TrackedOrder[] = [];
    // Readings that fail are no progress by themselves, and the switch would take what rests.
    const markWaiting = (until: number) => {
      if (request.windowMs > 0) heartbeat.markWaiting(`${request.step}#fills`, until);
    };
    markWaiting(since + request.windowMs);
    try {
      while (behind.size > 0) {
        const due = { record: [] as TrackedOrder[], fills: [] as TrackedOrder[] };
        let next = Number.POSITIVE_INFINITY;
        for (const [order, progress] of behind) {
          const decided = decideCompletion(order.snapshot, progress, clock.now());
          if (decided.kind === 'wait') next = Math.min(next, decided.until);
          else if (decided.kind === 'read') due[decided.what].push(order);
          else behind.delete(order);
          if (decided.kind === 'incomplete') incomplete.push(order);
        }
        for (const what of ['record', 'fills'] as const) {
          const at = clock.now();
          for (const order of due[what])
            behind.set(order, noteReading(behind.get(order) as CompletionProgress, what, at));
          await this.readAll(due[what], what, request);
        }
        if (due.record.length + due.fills.length > 0) this.watch.check();
        else if (behind.size > 0) await sleepUntil(clock, next, request.cancel);
      }
    } finally {
      // Also where the wait is cut off: what hangs later is not covered by it.
      markWaiting(clock.now());
    }
    for (const order of incomplete) this.recordIncomplete(order, request);
    return incomplete;
  }

  /** Reads each order, or where several of a market are behind, those of other branches with them, one page for all of them. */
  async readAll(orders: readonly TrackedOrder[], what: Missing, request: CompletingRequest): Promise<void> {
    for (const market of new Set(orders.map(({ intent }) => intent.market))) {
      const own = orders.filter(({ intent }) => intent.market === market);
      request.cancel.check();
      const rest = what === 'fills' ? await this.readFillsTogether(market, own, request) : own;
      if (what === 'record' && own.length >= COMPLETED_TOGETHER)
        haltUnrecorded(
          await this.readWhileWanted(request, (limits) => this.watch.readTogether(own, request.step, limits)),
          request.step,
        );
      else for (const order of rest) haltUnrecorded(await this.readOne(order, what, request), request.step);
    }
  }

  /**
   * Reads a page of fills where enough orders of the market lack some. Gives those that are to be read one by one: all of them where
   * they are few, where the venue soon answers that it gives no page, and those that may still lack some where the page was full, because
   * newer fills of other programs may hide them, or had a row that cannot be read.
   */
  async readFillsTogether(
    market: string,
    own: readonly TrackedOrder[],
    request: CompletingRequest,
  ): Promise<readonly TrackedOrder[]> {
    const lacksFills = ({ snapshot }: TrackedOrder) => findMissing(snapshot) === 'fills';
    const others = this.run.log.tracker
      .unfinished()
      .filter((order) => order.intent.market === market && lacksFills(order));
    const together = [...new Set([...own, ...others])];
    if (together.length < COMPLETED_TOGETHER) return own;
    const { clock } = this.run;
    const askedAt = clock.now();
    const outcome = await this.readFillPage(market, Math.min(...together.map(({ createdAt }) => createdAt)), request);
    haltUnrecorded(outcome, request.step);
    // Where no answer comes each of them would be waited for as long as for the page.
    const isRefused = outcome.kind !== 'denied' && clock.now() - askedAt < ANSWER_AT_ONCE_MS;
    const mayHide =
      outcome.kind === 'confirmed'
        ? (outcome.unread ?? []).length > 0 || outcome.result.length >= PAGE_ROWS
        : isRefused;
    if (outcome.kind === 'confirmed' && !mayHide) for (const order of own) this.fillsReadAt.set(order, askedAt);
    if (!mayHide) return [];
    const hidden = own.filter((order) => !lacksFills(order) && mayHaveMore(order.snapshot)).slice(-MOST_HIDDEN);
    return own.filter((order) => lacksFills(order) || hidden.includes(order));
  }

  /** One page for all branches that ask for it at the same instant; it is withdrawn when none of them wants it any more. */
  private readFillPage(market: string, since: number, request: CompletingRequest): Promise<CallOutcome<'GET /fills'>> {
    const at = this.run.clock.now();
    const params = makeMarketFillParams<never>(market, this.watch.lookFrom(since));
    const which = { endpoint: 'GET /fills', params, rows: 'each' } as const;
    // A reading that may not wait, or not for long, is given up sooner than that of a step may be.
    if (request.windowMs === 0 || request.deadlineAt !== undefined) return this.readFills(which, request);
    let page = this.pages.get(market);
    if (page?.at !== at || page.since > since || page.scope.reason !== undefined) {
      const scope = new Cancellation();
      page = { at, since, scope, askers: 0, outcome: this.readFills(which, { ...request, cancel: scope }) };
      this.pages.set(market, page);
    }
    return this.share(page, request.cancel);
  }

  /** Waits for a page as long as the scope lasts. The last one to leave withdraws it, and waits for its end: nothing may come later. */
  private share(page: FillPage, cancel: Cancellation): Promise<CallOutcome<'GET /fills'>> {
    page.askers += 1;
    return callWhileWanted(
      cancel,
      (wanted) =>
        new Promise((resolve, reject) => {
          const deny = () =>
            resolve({ kind: 'denied', code: STEP_ENDED, message: STEP_ENDED, settledAt: this.run.clock.now() });
          const leave = () => {
            page.askers -= 1;
            if (page.askers === 0) page.scope.cancel('sibling', 'no branch waits for it any more');
            else deny();
          };
          wanted.onWithdrawn(leave);
          page.outcome.then(resolve, (error: unknown) => (error instanceof Abandoned ? deny() : reject(error)));
        }),
    );
  }

  readOne(order: TrackedOrder, what: Missing, request: CompletingRequest): Promise<CallOutcome<Reading>> {
    const { venueId } = order.snapshot.context;
    // Of an order that lacks nothing that is known it is a precaution.
    const purpose = request.purpose ?? (findMissing(order.snapshot) === undefined ? SWEEP : 'confirm');
    if (what === 'record' || venueId === undefined)
      return this.readWhileWanted(request, (limits) =>
        this.watch.read(order, request.step, purpose, {
          class: request.class ?? 'complete',
          ...limits,
        }),
      );
    const { clientOrderId } = order.intent;
    const askedAt = this.run.clock.now();
    return this.readFills(
      { endpoint: 'GET /fills/order', params: makeOrderFillParams<never>(venueId), clientOrderId },
      request,
    ).then((outcome) => {
      if (outcome.kind === 'confirmed') this.fillsReadAt.set(order, askedAt);
      return outcome;
    });
  }

  private readFills<E extends 'GET /fills' | 'GET /fills/order'>(
    which: Pick<VenueCall<E>, 'endpoint' | 'params' | 'clientOrderId' | 'rows'>,
    request: CompletingRequest,
  ): Promise<CallOutcome<E>> {
    const { venue, callId } = this.run;
    const { step, purpose = 'fills', class: klass = 'complete' } = request;
    return this.readWhileWanted(request, (limits) =>
      venue.call({ ...which, id: callId(step), step, class: klass, purpose, ...limits }),
    );
  }

  /**
   * A reading that may not wait is given up where no tokens are free, and where its answer takes long; any other with its step, or at
   * its deadline: where others use up the tokens, a step that a person cancels, and the run behind it, would never end.
   */
  private readWhileWanted<E extends Reading>(
    { windowMs, deadlineAt, answerMs = ANSWER_AT_ONCE_MS, cancel }: CompletingRequest,
    read: (limits: ReadingLimits) => Promise<CallOutcome<E>>,
  ): Promise<CallOutcome<E>> {
    const until = deadlineAt === undefined ? {} : { deadlineAt };
    const limits = windowMs === 0 ? { deadlineAt: this.run.clock.now(), answerMs } : until;
    return callWhileWanted(cancel, (wanted) => read({ ...limits, wanted }));
  }

  /** Journals that the fills of an ended order were not all shown in time; the tracker raises its alarm. */
  private recordIncomplete(order: TrackedOrder, { step, windowMs }: CompletingRequest): void {
    if (windowMs === 0 || !isTerminal(order.snapshot.state) || order.snapshot.context.settled) return;
    const because = `${describeMissing(order)} after ${formatSpan(windowMs)}`;
    conclude(this.run.log, order, { event: 'T_SETTLE', because }, step);
  }
}

/** A page of fills that several branches wait for. */
interface FillPage {
  readonly at: number;
  readonly since: number;
  /** Of the page alone: no branch ends the reading of another. */
  readonly scope: Cancellation;
  askers: number;
  readonly outcome: Promise<CallOutcome<'GET /fills'>>;
}

/** Throws Halt where the run can record nothing more. A reading without an answer is repeated when the next is due. */
export function haltUnrecorded(outcome: CallOutcome<Reading>, step: string): void {
  const failure = outcome.kind === 'denied' ? toFailure(outcome, step) : undefined;
  if (failure instanceof Halt) throw failure;
}
