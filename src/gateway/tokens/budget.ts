/**
 * The token budget as the client awaits it: who waits, until when, and what the end of each request tells the ledger. Every
 * decision about tokens is the ledger's (venue/budget.ts), every one about turns the queue's (budget-queue.ts), and how
 * processes share a ledger is in shared-ledger.ts. It sends nothing and retries nothing.
 */
import type { Clock, Metronome, Timer } from '../../base/clock.ts';
import type { CallClass, Wanted } from '../../venue/port.ts';
import type { CostedEndpoint } from '../../venue/tokens/costs.ts';
import { type ResetUnit, readReset } from '../../venue/tokens/headers.ts';
import type { HeartbeatDemand } from '../../venue/tokens/heartbeat-reserve.ts';
import { type BudgetReport, type BudgetSettings, isUrgent, Ledger } from '../../venue/tokens/ledger.ts';
import { isOrderAction, OrderRate } from '../../venue/tokens/order-rate.ts';
import { BudgetQueue, type Waiting } from './queue.ts';
import { type BudgetShare, SharedLedger, type Told } from './shared-ledger.ts';
import { BudgetTally } from './tally.ts';

export interface Budget {
  /** Resolves when the tokens are held, or tells at once that the deadline can not be met or the queue is full. */
  acquire(request: BudgetRequest): Promise<BudgetAnswer>;
  /** What a call of the endpoint costs: the document's figure, else the learned one, else the profile's. */
  weightOf(endpoint: CostedEndpoint): number;
  /** The deadman switch is off: no tokens are kept for its beats any more. */
  standDown(of: string): void;
}

export interface BudgetRequest {
  readonly endpoint: CostedEndpoint;
  readonly weight: number;
  readonly class: CallClass;
  /** Epoch ms. */
  readonly deadlineAt?: number;
  /** It renews a deadman switch: tokens are kept for the beats that follow. */
  readonly beat?: HeartbeatDemand;
  /** Whether it is waited for at all; refused as WITHDRAWN when it is not any more. */
  readonly wanted?: Wanted;
}

export type BudgetAnswer =
  | { readonly kind: 'granted'; readonly ticket: Ticket; readonly waitedMs: number }
  /** `earliestAt`: epoch ms before which the tokens can not be had, by what is known now. */
  | { readonly kind: 'refused'; readonly code: 'DEADLINE' | 'QUEUE_FULL'; readonly earliestAt: number }
  | { readonly kind: 'refused'; readonly code: 'WITHDRAWN' }
  /** The limit can not carry the beats of the switch. */
  | { readonly kind: 'refused'; readonly code: 'HEARTBEAT_TOKENS'; readonly because: string };

/** Tokens held for one request. Exactly one of the three endings must be told. */
export interface Ticket {
  /** The first byte is about to leave. */
  sent(): void;
  /** An answer came; header names in lower case. `limited`: the venue refused it for want of tokens. */
  answered(
    headers: Readonly<Record<string, string>>,
    info: { readonly limited: boolean; readonly retryAfterMs?: number },
  ): void;
  /** No answer is waited for any longer, and the venue may still count it. */
  aborted(): void;
  /** No byte left: the tokens are free again. */
  notSent(): void;
}

export interface BudgetOptions {
  /** 0 to 1, for the jitter of back-offs. */
  readonly random: () => number;
  readonly share?: BudgetShare;
  /** Requests that may wait; the lowest class is refused first. */
  readonly queueLimit?: number;
  /** Order actions a second that the account may send; the profile's `rate_limit.order_rate`. */
  readonly orderRate?: number | undefined;
  /** How X-RateLimit-Reset counts; by its magnitude when left out. */
  readonly resetUnit?: ResetUnit;
}

interface LocalBudgetReport extends BudgetReport {
  /** Tokens of the requests this process sent, in all and at most within one window. */
  readonly ownTokens: number;
  readonly peakPerMinute: number;
  readonly waiting: number;
  /** Urgent requests that went out uncounted because the shared ledger could not be had; they were counted afterwards. */
  readonly uncounted: number;
}

const QUEUE_LIMIT = 2_000;
/** How long to wait before a shared ledger that could not be had is tried again. */
const SHARE_RETRY_MS = 250;
/** The longest sleep while others may free tokens that this process would not hear of. */
const SHARE_LOOK_MS = 1_000;

interface Entry extends Waiting {
  readonly request: BudgetRequest;
  readonly resolve: (answer: BudgetAnswer) => void;
  deadline: Timer | undefined;
}

/** A beat that asks for its switch to be armed, and may wait. */
interface Arming {
  readonly entry: Entry;
  readonly beat: HeartbeatDemand;
}

/** What one look at the ledger decided. */
interface Pass {
  readonly granted: readonly { readonly entry: Entry; readonly id: string }[];
  readonly late: readonly { readonly entry: Entry; readonly earliest: number }[];
  readonly overcommitted: readonly { readonly entry: Entry; readonly because: string }[];
  /** The ledger came to be another: tokens were granted, or are kept from now on for a switch that waits to be armed. */
  readonly changes: boolean;
  /** On the ledger's clock; undefined when nobody waits. */
  readonly wakeAt: number | undefined;
}

export class LocalBudget implements Budget {
  private readonly clock: Clock & Metronome;
  private readonly options: BudgetOptions;
  private readonly queue: BudgetQueue<Entry>;
  private readonly tally: BudgetTally;
  private readonly rate: OrderRate;
  /** Ours alone; unused where one is shared. */
  private readonly own: Ledger;
  private readonly shared: SharedLedger | undefined;
  private issued = 0;
  private uncounted = 0;
  private wake: Timer | undefined;
  /** When it is due, on our monotonic clock. */
  private wakeAt: number | undefined;
  /** Came with a deadline that has not been compared with the earliest possible time yet. */
  private fresh: Entry[] = [];
  private arming: Arming[] = [];
  /** The looks at the shared ledger that are under way: whatever carries it may take its time. */
  private sharing: Promise<void> | undefined;
  private closed = false;
  private again = false;

  /** `costs`: the profile's `rate_limit.costs` and the tokens of its declared requests. */
  constructor(
    settings: BudgetSettings,
    clock: Clock & Metronome,
    costs: Readonly<Record<string, number>>,
    options: BudgetOptions,
  ) {
    this.clock = clock;
    this.options = options;
    this.queue = new BudgetQueue(options.queueLimit ?? QUEUE_LIMIT, settings.windowMs / 4);
    this.tally = new BudgetTally(settings.windowMs);
    this.rate = new OrderRate(options.orderRate ?? Number.POSITIVE_INFINITY);
    const restored = (text: string | undefined, now: number) =>
      Ledger.restore(text, now, settings, options.random, costs);
    this.own = restored(undefined, 0);
    if (options.share !== undefined)
      this.shared = new SharedLedger(options.share, () => this.clock.monotonic(), restored);
  }

  acquire(request: BudgetRequest): Promise<BudgetAnswer> {
    return new Promise((resolve) => {
      const { weight, class: cls, beat, deadlineAt, wanted } = request;
      const since = this.clock.monotonic();
      const entry: Entry = { request, weight, class: cls, since, resolve, deadline: undefined };
      if (!this.makeRoomFor(entry)) return;
      this.queue.add(entry);
      wanted?.onWithdrawn(() => this.withdraw(entry));
      if (beat !== undefined && !isUrgent(cls)) this.arming.push({ entry, beat });
      if (deadlineAt !== undefined) this.fresh.push(entry);
      void this.pump();
    });
  }

  weightOf(endpoint: CostedEndpoint): number {
    return this.ledger.costFor(endpoint);
  }

  standDown(of: string): void {
    this.tell((ledger, now) => ledger.standDown(of, now));
  }

  /** Takes tokens as used just now: after a restart without a ledger, what the journal's last window attempted (fault-matrix.md, row 66). */
  assume(tokens: number): void {
    this.tell((ledger, now) => ledger.assume(tokens, now));
  }

  report(): LocalBudgetReport {
    const { tokens: ownTokens, peak: peakPerMinute } = this.tally;
    return {
      ...this.ledger.report(this.now()),
      ownTokens,
      peakPerMinute,
      waiting: this.queue.size,
      uncounted: this.uncounted,
    };
  }

  /** Resolves when the shared ledger has heard what it can be told, and is not asked any more: it can be closed then. */
  async close(): Promise<void> {
    this.closed = true;
    this.wakeIn(undefined);
    await this.sharing;
  }

  private get ledger(): Ledger {
    return this.shared?.ledger ?? this.own;
  }

  /** Now, on the ledger's clock. */
  private now(): number {
    return this.clock.monotonic() + this.offsetMs;
  }

  private get offsetMs(): number {
    return this.shared?.offsetMs ?? 0;
  }

  /** False when the request itself was refused. */
  private makeRoomFor(entry: Entry): boolean {
    if (this.queue.size < this.queue.limit) return true;
    const lowest = this.queue.lowestBelow(entry.class) ?? entry;
    this.refuse(lowest, 'QUEUE_FULL', this.earliest(this.ledger, lowest, this.now()));
    return lowest !== entry;
  }

  private earliest(ledger: Ledger, entry: Entry, now: number): number {
    const own = this.queue.has(entry) ? entry.weight : 0;
    const ahead = this.queue.tokensAhead(entry.class) - own;
    const { endpoint, beat } = entry.request;
    const tokensAt = ledger.earliest(entry.weight, entry.class, ahead, now, beat);
    return isOrderAction(endpoint) ? Math.max(tokensAt, this.rate.freeAt(isUrgent(entry.class), now)) : tokensAt;
  }

  // One look at the ledger: grant what may go, tell what comes too late, and say when to look again.

  private pump(): void | Promise<void> {
    if (this.shared !== undefined) return this.pumpShared(this.shared);
    if (this.queue.isEmpty && this.fresh.length === 0) this.wakeIn(undefined);
    else this.act(this.look(this.ledger, this.now()));
  }

  private look(ledger: Ledger, now: number): Pass {
    const granted: { entry: Entry; id: string }[] = [];
    const overcommitted = this.overcommitted(ledger, now);
    const lightest = { urgent: Number.POSITIVE_INFINITY, ordinary: Number.POSITIVE_INFINITY };
    const lane = (entry: Entry) => (isUrgent(entry.class) ? 'urgent' : 'ordinary');
    // Order actions wait for their rate; what is none goes past them.
    const paced = { urgent: false, ordinary: false };
    const bound = (entry: Entry) =>
      paced[lane(entry)] && isOrderAction(entry.request.endpoint) ? 0 : lightest[lane(entry)];
    const clockNow = now - this.offsetMs;
    let wakeAt: number | undefined;
    let claimed = false;
    for (;;) {
      const entry = this.queue.next(clockNow, bound);
      if (entry === undefined) break;
      const { endpoint, beat } = entry.request;
      const ordering = isOrderAction(endpoint);
      const freeAt = ordering ? this.rate.freeAt(isUrgent(entry.class), now) : now;
      if (freeAt > now) {
        wakeAt = Math.min(wakeAt ?? freeAt, freeAt);
        paced[lane(entry)] = true;
        continue;
      }
      const admission = ledger.admit(entry.weight, entry.class, now, beat);
      if (admission.ok) {
        const id = this.nextId();
        ledger.hold(id, { endpoint, weight: entry.weight, class: entry.class, beat }, now);
        if (ordering) this.rate.began(id, now);
        this.queue.remove(entry);
        granted.push({ entry, id });
        continue;
      }
      if (beat !== undefined) claimed = ledger.claim(beat, entry.weight, now) || claimed;
      wakeAt = Math.min(wakeAt ?? admission.at, admission.at);
      // A refusal holds back its weight and heavier ones only; for want of tokens everybody behind waits too.
      if (admission.because !== 'refused') break;
      lightest[lane(entry)] = Math.min(lightest[lane(entry)], entry.weight);
    }
    const changes = granted.length > 0 || claimed;
    return { granted, late: this.late(ledger, now), overcommitted, changes, wakeAt };
  }

  /** First beats that wait for what can never be had; they are taken out, and put back where this look comes to nothing. */
  private overcommitted(ledger: Ledger, now: number): { entry: Entry; because: string }[] {
    if (this.arming.length === 0) return [];
    this.arming = this.arming.filter(({ entry }) => this.queue.has(entry));
    return this.arming.flatMap(({ entry, beat }) => {
      const because = ledger.overcommitted(beat, entry.weight, now);
      if (because === undefined) return [];
      this.queue.remove(entry);
      return [{ entry, because }];
    });
  }

  /** Those who came with a deadline since the last look and can not be served in time. */
  private late(ledger: Ledger, now: number): { entry: Entry; earliest: number }[] {
    if (this.fresh.length === 0) return [];
    return this.fresh
      .filter((entry) => this.queue.has(entry))
      .map((entry) => ({ entry, earliest: this.earliest(ledger, entry, now) }))
      .filter(
        ({ entry, earliest }) => this.epoch(earliest, now) > (entry.request.deadlineAt ?? Number.POSITIVE_INFINITY),
      );
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
    entry.resolve({ kind: 'granted', ticket: this.ticket(id, entry.weight), waitedMs });
  }

  private refuse(entry: Entry, code: 'DEADLINE' | 'QUEUE_FULL', earliest: number): void {
    entry.deadline?.cancel();
    this.queue.remove(entry);
    entry.resolve({ kind: 'refused', code, earliestAt: Math.ceil(this.epoch(earliest, this.now())) });
  }

  /** Refuses the entry if it still waits when its deadline comes. */
  private watch(entry: Entry): void {
    const { deadlineAt } = entry.request;
    if (deadlineAt === undefined || entry.deadline !== undefined) return;
    entry.deadline = this.clock.after(deadlineAt - this.clock.now(), () => void this.expire(entry));
  }

  /** One that a look at the shared ledger has in hand is granted all the same; who asked gives it back. */
  private withdraw(entry: Entry): void {
    if (!this.queue.has(entry)) return;
    entry.deadline?.cancel();
    this.queue.remove(entry);
    entry.resolve({ kind: 'refused', code: 'WITHDRAWN' });
    void this.pump();
  }

  private async expire(entry: Entry): Promise<void> {
    await this.pump();
    if (this.queue.has(entry)) this.refuse(entry, 'DEADLINE', this.earliest(this.ledger, entry, this.now()));
  }

  private wakeIn(delayMs: number | undefined): void {
    const longest = this.shared === undefined ? Number.POSITIVE_INFINITY : SHARE_LOOK_MS;
    const wholeMs =
      delayMs === undefined || this.closed ? undefined : Math.max(1, Math.ceil(Math.min(delayMs, longest)));
    const wakeAt = wholeMs === undefined ? undefined : this.clock.monotonic() + wholeMs;
    // What goes past those who wait leaves their time as it was, mostly.
    if (wakeAt === this.wakeAt) return;
    this.wake?.cancel();
    this.wakeAt = wakeAt;
    this.wake = wholeMs === undefined ? undefined : this.clock.after(wholeMs, () => this.woken());
  }

  private woken(): void {
    this.wakeAt = undefined;
    void this.pump();
  }

  private epoch(instant: number, now: number): number {
    return this.clock.now() + Math.max(0, instant - now);
  }

  // Tickets.

  private ticket(id: string, weight: number): Ticket {
    let ended = false;
    const end = (told: Told) => {
      if (ended) throw new Error(`the tokens of request ${id} were given back twice`);
      ended = true;
      this.tell(told);
    };
    return {
      sent: () => this.tally.add(weight, this.clock.monotonic()),
      answered: (headers, { limited, retryAfterMs }) => {
        this.rate.ended(id, this.now());
        const hint = { retryAfterMs, resetInMs: limited ? this.resetIn(headers) : undefined };
        end((ledger, now) => (limited ? ledger.refused(id, headers, hint, now) : ledger.answered(id, headers, now)));
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

  /** Until the bucket resets by the venue's word, ms; undefined where it does not say so credibly. */
  private resetIn(headers: Readonly<Record<string, string>>): number | undefined {
    const now = this.clock.now();
    const resetAt = readReset(headers['x-ratelimit-reset'], now, this.options.resetUnit);
    return resetAt === undefined ? undefined : resetAt - now;
  }

  private tell(told: Told): void {
    if (this.shared === undefined) told(this.own, this.now());
    else this.shared.tell(told);
    void this.pump();
  }

  // The shared ledger.

  private async pumpShared(shared: SharedLedger): Promise<void> {
    this.again = true;
    if (this.sharing !== undefined) return;
    this.sharing = this.lookWhileAsked(shared);
    await this.sharing;
  }

  private async lookWhileAsked(shared: SharedLedger): Promise<void> {
    try {
      while (this.again) {
        this.again = false;
        const looked = await shared.look((ledger, now) => this.look(ledger, now));
        if (looked.stored) this.act(looked.decided);
        else this.goUncounted(shared, looked.decided);
      }
    } finally {
      // In the turn in which nobody asked any more: whoever asks a moment later must begin anew, not wait for this one.
      this.sharing = undefined;
    }
  }

  /**
   * The shared ledger can not be had. Ordinary requests wait for it; urgent ones go now and are counted when it is back: a
   * refused cancel costs a token, a cancel that was never sent costs a position.
   */
  private goUncounted(shared: SharedLedger, pass: Pass | undefined): void {
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
      shared.tell((ledger, now) => ledger.hold(id, request, now));
      if (isOrderAction(request.endpoint)) this.rate.began(id, this.now());
      this.queue.remove(entry);
      this.uncounted += 1;
      this.grant(entry, id);
    }
    for (const entry of this.fresh) this.watch(entry);
    this.wakeIn(SHARE_RETRY_MS);
  }

  /** Of a request; unique among all who share the ledger. */
  private nextId(): string {
    this.issued += 1;
    return `${this.options.share?.owner ?? 'own'}:${this.issued}`;
  }
}
