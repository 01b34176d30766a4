/**
 * The token budget of the client: makes requests wait for tokens, until a deadline at most, and reports the end of each request to
 * the ledger. The ledger (venue/tokens/ledger.ts) decides about tokens, the queue (queue.ts) about the order of requests;
 * shared-ledger.ts shares a ledger between processes.
 */
import type { Clock, Metronome, Timer } from '../../base/clock.ts';
import type { CallClass, Wanted } from '../../venue/port.ts';
import type { CostedEndpoint } from '../../venue/tokens/costs.ts';
import { type ResetUnit, readRateHeaders } from '../../venue/tokens/headers.ts';
import type { HeartbeatDemand } from '../../venue/tokens/heartbeat-reserve.ts';
import { type BudgetReport, type BudgetSettings, isUrgent, Ledger } from '../../venue/tokens/ledger.ts';
import { isOrderAction, OrderRate } from '../../venue/tokens/order-rate.ts';
import type { RetryHint } from '../../venue/tokens/rate-limited.ts';
import { BudgetQueue, type Waiting } from './queue.ts';
import { type BudgetShare, type LedgerUpdate, SharedLedger } from './shared-ledger.ts';

export interface Budget {
  /** Resolves when the tokens are held, or at once with a refusal when the deadline cannot be met or the queue is full. */
  acquire(request: BudgetRequest): Promise<BudgetAnswer>;
  /** Gives the tokens that a call costs: the document's figure, else the learned one, else the profile's. */
  weightOf(endpoint: CostedEndpoint): number;
  /** Releases the tokens reserved for the heartbeats of a deadman switch that is off. */
  standDown(of: string): void;
}

export interface BudgetRequest {
  readonly endpoint: CostedEndpoint;
  readonly weight: number;
  readonly class: CallClass;
  /** Longest wait, ms. A length and no instant: the clock of a run and that of its process may disagree, and either may be set. */
  readonly withinMs?: number | undefined;
  /** The request renews a deadman switch: tokens are reserved for the heartbeats that follow. */
  readonly heartbeat?: HeartbeatDemand | undefined;
  /** Shows whether the caller still needs the request; otherwise it is refused as WITHDRAWN. */
  readonly wanted?: Wanted | undefined;
}

export type BudgetAnswer =
  | { readonly kind: 'granted'; readonly ticket: Ticket; readonly waitedMs: number }
  /** `earliestInMs`: before so many ms are over the tokens cannot be free, as far as is known now. */
  | { readonly kind: 'refused'; readonly code: 'DEADLINE' | 'QUEUE_FULL'; readonly earliestInMs: number }
  | { readonly kind: 'refused'; readonly code: 'WITHDRAWN' }
  /** The token limit is too low for the heartbeats of the switch. */
  | { readonly kind: 'refused'; readonly code: 'HEARTBEAT_TOKENS'; readonly because: string };

/** Tokens held for one request. Exactly one of `answered`, `aborted` and `notSent` must be called. */
export interface Ticket {
  /** An answer came; header names are in lower case. `limited`: the venue refused the request because of the rate limit. */
  answered(headers: Readonly<Record<string, string>>, info: { readonly limited: boolean }): void;
  /** The request was given up without an answer; the venue may still count it. */
  aborted(): void;
  /** No byte was sent: the tokens are free again. */
  notSent(): void;
}

export interface BudgetOptions {
  /** Gives a number from 0 to 1 for the jitter of back-offs. */
  readonly random: () => number;
  readonly share?: BudgetShare;
  /** Most requests that may wait; the lowest class is refused first. */
  readonly queueLimit?: number;
  /** Order actions per second that the account may send; the profile's `rate_limit.order_rate`. */
  readonly orderRate?: number | undefined;
  /** Unit of X-RateLimit-Reset; guessed from its magnitude when absent. */
  readonly resetUnit?: ResetUnit;
}

interface LocalBudgetReport extends BudgetReport {
  readonly waiting: number;
}

const QUEUE_LIMIT = 2_000;
/** Pause before an unavailable shared ledger is tried again. */
const SHARE_RETRY_MS = 250;
/** Longest pause between two accesses to a shared ledger while requests wait: other processes may free tokens unnoticed. */
const SHARE_CHECK_MS = 1_000;

interface Entry extends Waiting {
  readonly request: BudgetRequest;
  readonly resolve: (answer: BudgetAnswer) => void;
  deadline: Timer | undefined;
}

/** A waiting request that arms a deadman switch. */
interface Arming {
  readonly entry: Entry;
  readonly heartbeat: HeartbeatDemand;
}

/** The decisions of one pass over the queue. */
interface Pass {
  readonly granted: readonly { readonly entry: Entry; readonly id: string }[];
  readonly late: readonly { readonly entry: Entry; readonly earliest: number }[];
  readonly overcommitted: readonly { readonly entry: Entry; readonly because: string }[];
  /** The ledger was changed: tokens were granted, or are reserved from now on for a switch that waits to be armed. */
  readonly changes: boolean;
  /** When to decide again, on the ledger's clock; undefined when no request waits. */
  readonly wakeAt: number | undefined;
}

export class LocalBudget implements Budget {
  private readonly clock: Clock & Metronome;
  private readonly options: BudgetOptions;
  private readonly queue: BudgetQueue<Entry>;
  private readonly rate: OrderRate;
  /** This process's own ledger; unused with a shared one. */
  private readonly own: Ledger;
  private readonly shared: SharedLedger | undefined;
  private issued = 0;
  private wake: Timer | undefined;
  /** When the timer is due, on our monotonic clock. */
  private wakeAt: number | undefined;
  /** Entries whose deadline has not yet been compared with the earliest possible time. */
  private fresh: Entry[] = [];
  private arming: Arming[] = [];
  /** The access to the shared ledger in progress; its store may be slow. */
  private sharing: Promise<void> | undefined;
  private closed = false;
  private again = false;

  /** `costs` has the profile's `rate_limit.costs` and the tokens of its declared requests. */
  constructor(
    settings: BudgetSettings,
    clock: Clock & Metronome,
    costs: Readonly<Record<string, number>>,
    options: BudgetOptions,
  ) {
    this.clock = clock;
    this.options = options;
    this.queue = new BudgetQueue(options.queueLimit ?? QUEUE_LIMIT, settings.windowMs / 4);
    this.rate = new OrderRate(options.orderRate ?? Number.POSITIVE_INFINITY);
    const restore = (text: string | undefined, now: number) =>
      Ledger.restore(text, now, settings, options.random, costs);
    this.own = restore(undefined, 0);
    if (options.share !== undefined)
      this.shared = new SharedLedger(options.share, () => this.clock.monotonic(), restore);
  }

  acquire(request: BudgetRequest): Promise<BudgetAnswer> {
    return new Promise((resolve) => {
      const { weight, class: cls, heartbeat, withinMs, wanted } = request;
      const since = this.clock.monotonic();
      const entry: Entry = { request, weight, class: cls, since, resolve, deadline: undefined };
      // What its step asks next, behind its end.
      if (wanted?.withdrawn !== undefined) return resolve({ kind: 'refused', code: 'WITHDRAWN' });
      if (!this.makeRoomFor(entry)) return;
      this.queue.add(entry);
      wanted?.onWithdrawn(() => this.withdraw(entry));
      if (heartbeat !== undefined && !isUrgent(cls)) this.arming.push({ entry, heartbeat });
      if (withinMs !== undefined) this.fresh.push(entry);
      void this.pump();
    });
  }

  weightOf(endpoint: CostedEndpoint): number {
    return this.ledger.costFor(endpoint);
  }

  standDown(of: string): void {
    this.update((ledger, now) => ledger.standDown(of, now));
  }

  report(): LocalBudgetReport {
    return { ...this.ledger.report(this.now()), waiting: this.queue.size };
  }

  /** Resolves when the accesses to the shared ledger have ended; its store can be closed then. */
  async close(): Promise<void> {
    this.closed = true;
    this.wakeIn(undefined);
    await this.sharing;
  }

  private get ledger(): Ledger {
    return this.shared?.ledger ?? this.own;
  }

  /** The current time on the ledger's clock. */
  private now(): number {
    return this.clock.monotonic() + this.offsetMs;
  }

  private get offsetMs(): number {
    return this.shared?.offsetMs ?? 0;
  }

  /** Refuses the lowest request of a full queue; false when that is the new one. */
  private makeRoomFor(entry: Entry): boolean {
    if (this.queue.size < this.queue.limit) return true;
    const lowest = this.queue.lowestBelow(entry.class) ?? entry;
    this.refuse(lowest, 'QUEUE_FULL', this.estimateEarliest(this.ledger, lowest, this.now()));
    return lowest !== entry;
  }

  private estimateEarliest(ledger: Ledger, entry: Entry, now: number): number {
    const own = this.queue.has(entry) ? entry.weight : 0;
    const ahead = this.queue.tokensAhead(entry.class) - own;
    const { endpoint, heartbeat } = entry.request;
    const tokensAt = ledger.earliest(entry.weight, entry.class, ahead, now, heartbeat);
    return isOrderAction(endpoint) ? Math.max(tokensAt, this.rate.freeAt(isUrgent(entry.class), now)) : tokensAt;
  }

  // One pass: grant the requests that may go, refuse those that would be too late, and set the time of the next pass.

  private pump(): void | Promise<void> {
    if (this.shared !== undefined) return this.pumpShared(this.shared);
    if (this.queue.isEmpty && this.fresh.length === 0) this.wakeIn(undefined);
    else this.act(this.decide(this.ledger, this.now()));
  }

  private decide(ledger: Ledger, now: number): Pass {
    const granted: { entry: Entry; id: string }[] = [];
    const overcommitted = this.removeOvercommitted(ledger, now);
    const lightest = { urgent: Number.POSITIVE_INFINITY, ordinary: Number.POSITIVE_INFINITY };
    const lane = (entry: Entry) => (isUrgent(entry.class) ? 'urgent' : 'ordinary');
    // Order actions wait for their rate; other requests overtake them.
    const paced = { urgent: false, ordinary: false };
    const bound = (entry: Entry) =>
      paced[lane(entry)] && isOrderAction(entry.request.endpoint) ? 0 : lightest[lane(entry)];
    const clockNow = now - this.offsetMs;
    let wakeAt: number | undefined;
    let claimed = false;
    for (;;) {
      const entry = this.queue.next(clockNow, bound);
      if (entry === undefined) break;
      const { endpoint, heartbeat } = entry.request;
      const ordering = isOrderAction(endpoint);
      const freeAt = ordering ? this.rate.freeAt(isUrgent(entry.class), now) : now;
      if (freeAt > now) {
        wakeAt = Math.min(wakeAt ?? freeAt, freeAt);
        paced[lane(entry)] = true;
        continue;
      }
      const admission = ledger.admit(entry.weight, entry.class, now, heartbeat);
      if (admission.ok) {
        const id = this.nextId();
        ledger.hold(id, { endpoint, weight: entry.weight, class: entry.class, beat: heartbeat }, now);
        if (ordering) this.rate.began(id, now);
        this.queue.remove(entry);
        granted.push({ entry, id });
        continue;
      }
      if (heartbeat !== undefined) claimed = ledger.claim(heartbeat, entry.weight, now) || claimed;
      wakeAt = Math.min(wakeAt ?? admission.at, admission.at);
      // After a refusal only requests of this weight and more wait; without tokens everything behind waits too.
      if (admission.because !== 'refused') break;
      lightest[lane(entry)] = Math.min(lightest[lane(entry)], entry.weight);
    }
    const changes = granted.length > 0 || claimed;
    return { granted, late: this.listLate(ledger, now), overcommitted, changes, wakeAt };
  }

  /** Removes first heartbeats whose switch the limit can never carry; they are put back when this pass cannot be stored. */
  private removeOvercommitted(ledger: Ledger, now: number): { entry: Entry; because: string }[] {
    if (this.arming.length === 0) return [];
    this.arming = this.arming.filter(({ entry }) => this.queue.has(entry));
    return this.arming.flatMap(({ entry, heartbeat }) => {
      const because = ledger.overcommitted(heartbeat, entry.weight, now);
      if (because === undefined) return [];
      this.queue.remove(entry);
      return [{ entry, because }];
    });
  }

  /** Lists the entries that came with a deadline since the last pass and cannot be served in time. */
  private listLate(ledger: Ledger, now: number): { entry: Entry; earliest: number }[] {
    if (this.fresh.length === 0) return [];
    return this.fresh
      .filter((entry) => this.queue.has(entry))
      .map((entry) => ({ entry, earliest: this.estimateEarliest(ledger, entry, now) }))
      .filter(({ entry, earliest }) => Math.max(0, earliest - now) > this.getLeftMs(entry));
  }

  private act({ granted, late, overcommitted, wakeAt }: Pass): void {
    for (const { entry, id } of granted) this.grant(entry, id);
    for (const { entry, because } of overcommitted) {
      entry.deadline?.cancel();
      entry.resolve({ kind: 'refused', code: 'HEARTBEAT_TOKENS', because });
    }
    for (const { entry, earliest } of late) this.refuse(entry, 'DEADLINE', earliest);
    for (const entry of this.fresh.splice(0)) if (this.queue.has(entry)) this.watch(entry);
    this.wakeIn(wakeAt === undefined ? undefined : wakeAt - this.now());
  }

  private grant(entry: Entry, id: string): void {
    entry.deadline?.cancel();
    const waitedMs = Math.max(0, Math.round(this.clock.monotonic() - entry.since));
    entry.resolve({ kind: 'granted', ticket: this.issueTicket(id), waitedMs });
  }

  private refuse(entry: Entry, code: 'DEADLINE' | 'QUEUE_FULL', earliest: number): void {
    entry.deadline?.cancel();
    this.queue.remove(entry);
    entry.resolve({ kind: 'refused', code, earliestInMs: Math.ceil(Math.max(0, earliest - this.now())) });
  }

  /** Refuses the entry if it still waits when its deadline comes. */
  private watch(entry: Entry): void {
    if (entry.request.withinMs === undefined || entry.deadline !== undefined) return;
    entry.deadline = this.clock.after(this.getLeftMs(entry), () => void this.expire(entry));
  }

  /** How long the entry may still wait; negative once that is over. */
  private getLeftMs({ request: { withinMs = Number.POSITIVE_INFINITY }, since }: Entry): number {
    return withinMs - (this.clock.monotonic() - since);
  }

  /** Refuses an entry that its caller no longer needs. One that a pass has already removed is granted; the caller gives it back. */
  private withdraw(entry: Entry): void {
    if (!this.queue.has(entry)) return;
    entry.deadline?.cancel();
    this.queue.remove(entry);
    entry.resolve({ kind: 'refused', code: 'WITHDRAWN' });
    void this.pump();
  }

  private async expire(entry: Entry): Promise<void> {
    await this.pump();
    if (this.queue.has(entry)) this.refuse(entry, 'DEADLINE', this.estimateEarliest(this.ledger, entry, this.now()));
  }

  private wakeIn(delayMs: number | undefined): void {
    const longest = this.shared === undefined ? Number.POSITIVE_INFINITY : SHARE_CHECK_MS;
    const wholeMs =
      delayMs === undefined || this.closed ? undefined : Math.max(1, Math.ceil(Math.min(delayMs, longest)));
    const wakeAt = wholeMs === undefined ? undefined : this.clock.monotonic() + wholeMs;
    // Usually unchanged when a request overtakes those that wait.
    if (wakeAt === this.wakeAt) return;
    this.wake?.cancel();
    this.wakeAt = wakeAt;
    this.wake = wholeMs === undefined ? undefined : this.clock.after(wholeMs, () => this.wakeUp());
  }

  private wakeUp(): void {
    this.wakeAt = undefined;
    void this.pump();
  }

  // Tickets.

  private issueTicket(id: string): Ticket {
    let ended = false;
    const end = (update: LedgerUpdate) => {
      if (ended) throw new Error(`the tokens of request ${id} were given back twice`);
      ended = true;
      this.update(update);
    };
    return {
      answered: (headers, { limited }) => {
        this.rate.ended(id, this.now());
        const hint = limited ? this.readHint(headers) : undefined;
        end((ledger, now) => (hint ? ledger.refused(id, headers, hint, now) : ledger.answered(id, headers, now)));
      },
      aborted: () => {
        this.rate.ended(id, this.now());
        end((ledger, now) => ledger.aborted(id, now));
      },
      notSent: () => {
        this.rate.notSent(id);
        end((ledger, now) => ledger.notSent(id, now));
      },
    };
  }

  /** Reads when the venue allows another try; what is not credible is left out. */
  private readHint(headers: Readonly<Record<string, string>>): RetryHint {
    const now = this.clock.now();
    const { retryAfterMs, resetAt } = readRateHeaders(headers, now, this.options.resetUnit);
    return { retryAfterMs, resetInMs: resetAt === undefined ? undefined : resetAt - now };
  }

  private update(update: LedgerUpdate): void {
    if (this.shared === undefined) update(this.own, this.now());
    else this.shared.add(update);
    void this.pump();
  }

  // The shared ledger.

  private async pumpShared(shared: SharedLedger): Promise<void> {
    this.again = true;
    if (this.sharing !== undefined) return;
    this.sharing = this.decideWhileAsked(shared);
    await this.sharing;
  }

  private async decideWhileAsked(shared: SharedLedger): Promise<void> {
    try {
      while (this.again) {
        this.again = false;
        const result = await shared.access((ledger, now) => this.decide(ledger, now));
        // The store answers at any time. What is granted is journaled, and a replay knows no instants between turns.
        await new Promise<void>((resolve) => this.clock.arrive(resolve));
        if (result.stored) this.act(result.decided);
        else this.grantUncounted(shared, result.decided);
      }
    } finally {
      // Cleared in the same turn as the last check of `again`: a later caller must start a new pass, not wait for this one.
      this.sharing = undefined;
    }
  }

  /**
   * Handles an unavailable shared ledger. Ordinary requests wait for it; urgent ones go now and are counted when it is back: a
   * refused cancel costs a token, a cancel that was never sent costs a position.
   */
  private grantUncounted(shared: SharedLedger, pass: Pass | undefined): void {
    for (const { entry } of [...(pass?.overcommitted ?? [])].reverse()) this.queue.putBack(entry);
    for (const { entry, id } of [...(pass?.granted ?? [])].reverse()) {
      this.rate.notSent(id);
      this.queue.putBack(entry);
      entry.deadline?.cancel();
      entry.deadline = undefined;
      if (entry.request.wanted?.withdrawn === undefined) this.watch(entry);
      else this.withdraw(entry);
    }
    for (const entry of [...this.queue.inClass('protect'), ...this.queue.inClass('resolve')]) {
      const id = this.nextId();
      const { request } = entry;
      const { heartbeat, ...held } = request;
      shared.add((ledger, now) => ledger.hold(id, { ...held, beat: heartbeat }, now));
      if (isOrderAction(request.endpoint)) this.rate.began(id, this.now());
      this.queue.remove(entry);
      this.grant(entry, id);
    }
    for (const entry of this.fresh) this.watch(entry);
    this.wakeIn(SHARE_RETRY_MS);
  }

  /** Gives the id of a request; unique among all processes that share the ledger. */
  private nextId(): string {
    this.issued += 1;
    return `${this.options.share?.owner ?? 'own'}:${this.issued}`;
  }
}
