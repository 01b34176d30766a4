/**
 * The token budget as the client awaits it: who waits, until when, and the one place where a shared ledger is read and
 * written. Every decision about tokens is the ledger's (venue/budget.ts), every one about turns the queue's
 * (budget-queue.ts). It sends nothing and retries nothing.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { LedgerRows } from '../journal/shared.ts';
import { StoreError } from '../journal/store.ts';
import { type BudgetReport, type BudgetSettings, isUrgent, Ledger } from '../venue/budget.ts';
import type { CostedEndpoint } from '../venue/costs.ts';
import type { CallClass } from '../venue/port.ts';
import { BudgetQueue } from './budget-queue.ts';

export interface Budget {
  /** Resolves when the tokens are held, or tells at once that the deadline can not be met or the queue is full. */
  acquire(request: BudgetRequest): Promise<BudgetAnswer>;
  /** What a call of the endpoint costs: the document's figure, else the learned one, else the profile's. */
  weightOf(endpoint: CostedEndpoint): number;
}

export interface BudgetRequest {
  readonly endpoint: CostedEndpoint;
  readonly weight: number;
  readonly class: CallClass;
  /** Epoch ms. */
  readonly deadlineAt?: number;
}

export type BudgetAnswer =
  | { readonly kind: 'granted'; readonly ticket: Ticket; readonly waitedMs: number }
  /** `earliestAt`: epoch ms before which the tokens can not be had, by what is known now. */
  | { readonly kind: 'refused'; readonly code: 'DEADLINE' | 'QUEUE_FULL'; readonly earliestAt: number };

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

/** A ledger that several processes continue in turn. */
export interface BudgetShare {
  readonly rows: LedgerRows;
  /** `ledgerKey` of the address (journal/shared.ts). */
  readonly key: string;
  /** Tells this process's requests from others'; unique among all that share. */
  readonly owner: string;
}

export interface BudgetOptions {
  /** 0 to 1, for the jitter of back-offs. */
  readonly random: () => number;
  readonly share?: BudgetShare;
  /** Requests that may wait; the lowest class is refused first. */
  readonly queueLimit?: number;
}

export interface LocalBudgetReport extends BudgetReport {
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

interface Entry extends BudgetRequest {
  readonly since: number;
  readonly resolve: (answer: BudgetAnswer) => void;
  deadline: Timer | undefined;
}

/** What one look at the ledger decided. */
interface Pass {
  readonly granted: readonly { readonly entry: Entry; readonly id: string }[];
  readonly late: readonly { readonly entry: Entry; readonly earliest: number }[];
  /** On the ledger's clock; undefined when nobody waits. */
  readonly wakeAt: number | undefined;
}

type Told = (ledger: Ledger, now: number) => void;

export class LocalBudget implements Budget {
  private readonly settings: BudgetSettings;
  private readonly clock: Clock;
  private readonly costs: Readonly<Record<string, number>>;
  private readonly options: BudgetOptions;
  private readonly queue: BudgetQueue<Entry>;
  private readonly tally: Tally;
  private ledger: Ledger;
  private issued = 0;
  private uncounted = 0;
  private wake: Timer | undefined;
  /** What the shared ledger has not heard yet, in order. */
  private told: Told[] = [];
  /** Came with a deadline that has not been compared with the earliest possible time yet. */
  private fresh: Entry[] = [];
  private revision: number | undefined;
  /** The ledger's clock minus ours. */
  private offsetMs = 0;
  private sharing = false;
  private again = false;

  /** `costs`: the profile's `rate_limit.costs` and the tokens of its declared requests. */
  constructor(settings: BudgetSettings, clock: Clock, costs: Readonly<Record<string, number>>, options: BudgetOptions) {
    this.settings = settings;
    this.clock = clock;
    this.costs = costs;
    this.options = options;
    this.queue = new BudgetQueue(options.queueLimit ?? QUEUE_LIMIT, settings.windowMs / 4);
    this.tally = new Tally(settings.windowMs);
    this.ledger = this.restored(undefined, 0);
  }

  acquire(request: BudgetRequest): Promise<BudgetAnswer> {
    return new Promise((resolve) => {
      const entry: Entry = { ...request, since: this.clock.monotonic(), resolve, deadline: undefined };
      if (!this.makeRoomFor(entry)) return;
      this.queue.add(entry);
      if (entry.deadlineAt !== undefined) this.fresh.push(entry);
      void this.pump();
    });
  }

  weightOf(endpoint: CostedEndpoint): number {
    return this.ledger.costFor(endpoint);
  }

  /** Takes tokens as used just now: after a restart without a ledger, what the journal's last window attempted (fault matrix, row 66). */
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

  /** Now, on the ledger's clock. */
  private now(): number {
    return this.clock.monotonic() + this.offsetMs;
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
    return ledger.earliest(entry.weight, entry.class, this.queue.tokensAhead(entry.class) - own, now);
  }

  // One look at the ledger: grant what may go, tell what comes too late, and say when to look again.

  private pump(): void | Promise<void> {
    if (this.options.share === undefined) this.act(this.look(this.ledger, this.now()));
    else return this.pumpShared(this.options.share);
  }

  private look(ledger: Ledger, now: number): Pass {
    const granted: { entry: Entry; id: string }[] = [];
    const lightest = { urgent: Number.POSITIVE_INFINITY, ordinary: Number.POSITIVE_INFINITY };
    const lane = (entry: Entry) => (isUrgent(entry.class) ? 'urgent' : 'ordinary');
    const clockNow = now - this.offsetMs;
    let wakeAt: number | undefined;
    for (;;) {
      const entry = this.queue.next(clockNow, (each) => lightest[lane(each)]);
      if (entry === undefined) break;
      const admission = ledger.admit(entry.weight, entry.class, now);
      if (admission.ok) {
        const id = `${this.options.share?.owner ?? 'own'}:${++this.issued}`;
        ledger.hold(id, entry.endpoint, entry.weight, entry.class, now);
        this.queue.remove(entry);
        granted.push({ entry, id });
        continue;
      }
      wakeAt = Math.min(wakeAt ?? admission.at, admission.at);
      // A refusal holds back its weight and heavier ones only; for want of tokens everybody behind waits too.
      if (admission.because !== 'refused') break;
      lightest[lane(entry)] = Math.min(lightest[lane(entry)], entry.weight);
    }
    return { granted, late: this.late(ledger, now), wakeAt };
  }

  /** Those who came with a deadline since the last look and can not be served in time. */
  private late(ledger: Ledger, now: number): { entry: Entry; earliest: number }[] {
    return this.fresh
      .filter((entry) => this.queue.has(entry))
      .map((entry) => ({ entry, earliest: this.earliest(ledger, entry, now) }))
      .filter(({ entry, earliest }) => this.epoch(earliest, now) > (entry.deadlineAt ?? Number.POSITIVE_INFINITY));
  }

  private act({ granted, late, wakeAt }: Pass): void {
    for (const { entry, id } of granted) this.grant(entry, id);
    for (const { entry, earliest } of late) this.refuse(entry, 'DEADLINE', earliest);
    for (const entry of this.fresh) if (this.queue.has(entry)) this.watch(entry);
    this.fresh = [];
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
    if (entry.deadlineAt === undefined || entry.deadline !== undefined) return;
    entry.deadline = this.clock.at(entry.deadlineAt, () => void this.expire(entry));
  }

  private async expire(entry: Entry): Promise<void> {
    await this.pump();
    if (this.queue.has(entry)) this.refuse(entry, 'DEADLINE', this.earliest(this.ledger, entry, this.now()));
  }

  private wakeIn(delayMs: number | undefined): void {
    this.wake?.cancel();
    this.wake = undefined;
    if (delayMs === undefined) return;
    const longest = this.options.share === undefined ? Number.POSITIVE_INFINITY : SHARE_LOOK_MS;
    const wholeMs = Math.max(1, Math.ceil(Math.min(delayMs, longest)));
    this.wake = this.clock.at(this.clock.now() + wholeMs, () => void this.pump());
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
      answered: (headers, { limited, retryAfterMs }) =>
        end((ledger, now) =>
          limited ? ledger.refused(id, headers, retryAfterMs, now) : ledger.answered(id, headers, now),
        ),
      aborted: () => end((ledger, now) => ledger.aborted(id, now)),
      notSent: () => end((ledger, now) => ledger.notSent(id, now)),
    };
  }

  private tell(told: Told): void {
    if (this.options.share === undefined) told(this.ledger, this.now());
    else this.told.push(told);
    void this.pump();
  }

  // The shared ledger.

  private async pumpShared(share: BudgetShare): Promise<void> {
    this.again = true;
    if (this.sharing) return;
    this.sharing = true;
    try {
      while (this.again) {
        this.again = false;
        await this.lookShared(share);
      }
    } finally {
      this.sharing = false;
    }
  }

  /** One change of the shared row: tells it what happened here and grants from it; nothing is granted before it is stored. */
  private async lookShared({ rows, key }: BudgetShare): Promise<void> {
    let pass: Pass | undefined;
    const { told } = this;
    this.told = [];
    try {
      await rows.change(key, (row, nowMs) => {
        if (row === undefined || row.revision !== this.revision) this.ledger = this.restored(row?.text, nowMs);
        this.offsetMs = nowMs - this.clock.monotonic();
        for (const each of told) each(this.ledger, nowMs);
        pass = this.look(this.ledger, nowMs);
        const changed = told.length > 0 || pass.granted.length > 0;
        this.revision = (row?.revision ?? 0) + (changed ? 1 : 0);
        return { text: changed ? this.ledger.save() : undefined, result: undefined };
      });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.revision = undefined;
      this.told = [...told, ...this.told];
      this.goUncounted(pass);
      return;
    }
    if (pass !== undefined) this.act(pass);
  }

  /**
   * The shared ledger can not be had. Ordinary requests wait for it; urgent ones go now and are counted when it is back: a
   * refused cancel costs a token, a cancel that was never sent costs a position.
   */
  private goUncounted(pass: Pass | undefined): void {
    for (const { entry } of [...(pass?.granted ?? [])].reverse()) {
      this.queue.putBack(entry);
      entry.deadline?.cancel();
      entry.deadline = undefined;
      this.watch(entry);
    }
    for (const entry of [...this.queue.inClass('protect'), ...this.queue.inClass('resolve')]) {
      const id = `${this.options.share?.owner ?? 'own'}:${++this.issued}`;
      const { endpoint, weight } = entry;
      this.told.push((ledger, now) => ledger.hold(id, endpoint, weight, entry.class, now));
      this.queue.remove(entry);
      this.uncounted += 1;
      this.grant(entry, id);
    }
    for (const entry of this.fresh) this.watch(entry);
    this.wakeIn(SHARE_RETRY_MS);
  }

  private restored(text: string | undefined, now: number): Ledger {
    return Ledger.restore(text, now, this.settings, this.options.random, this.costs);
  }
}

/** What this process itself has sent: in all, and the most within any one window. */
class Tally {
  tokens = 0;
  peak = 0;
  private readonly windowMs: number;
  private recent: { readonly at: number; readonly weight: number }[] = [];
  private from = 0;
  private inWindow = 0;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  add(weight: number, at: number): void {
    for (
      let first = this.recent[this.from];
      first !== undefined && first.at <= at - this.windowMs;
      first = this.recent[this.from]
    ) {
      this.inWindow -= first.weight;
      this.from += 1;
    }
    if (this.from > 1024) {
      this.recent = this.recent.slice(this.from);
      this.from = 0;
    }
    this.recent.push({ at, weight });
    this.tokens += weight;
    this.inWindow += weight;
    this.peak = Math.max(this.peak, this.inWindow);
  }
}
