/**
 * The lease on an account: when one may be taken (pure), and the keeper that renews it and says whether an attempt may
 * still be sent. The venue knows no epochs, so a process that slept through its lease must hold itself back.
 */
import type { Clock, Metronome, Timer } from '../../base/clock.ts';
import { StoreError } from '../store.ts';
import { LEASE_LIFE_MS, LEASE_RENEWAL_MS, type LeaseAnswer, type Leases } from './shared.ts';

/** A lease as kept. */
export interface LeaseRow {
  readonly epoch: number;
  /** Undefined once released. */
  readonly heldBy: string | undefined;
  /** Machine mark of the holder's process, and the clock `untilMs` was read on. */
  readonly process: string;
  readonly clockId: string;
  readonly untilMs: number;
}

type LeaseVerdict =
  | { readonly kind: 'free' }
  | { readonly kind: 'taken'; readonly heldBy: string; readonly remainingMs: number }
  /**
   * Its end was written on another clock, or on one that was set back since, and can not be compared: it lives one more
   * life from now.
   */
  | { readonly kind: 'adopted'; readonly heldBy: string; readonly untilMs: number };

/** Whether a lease may be taken now. A living holder renews and so overwrites an adoption. */
export function leaseVerdict(
  row: LeaseRow | undefined,
  machine: { readonly clockId: string; nowMs(): number; isGone(mark: string): boolean },
): LeaseVerdict {
  if (row?.heldBy === undefined || machine.isGone(row.process)) return { kind: 'free' };
  const now = machine.nowMs();
  if (row.clockId !== machine.clockId || row.untilMs - now > LEASE_LIFE_MS)
    return { kind: 'adopted', heldBy: row.heldBy, untilMs: now + LEASE_LIFE_MS };
  const remainingMs = row.untilMs - now;
  return remainingMs <= 0 ? { kind: 'free' } : { kind: 'taken', heldBy: row.heldBy, remainingMs };
}

interface LeaseRequest {
  readonly leases: Leases;
  readonly account: string;
  /** Who, for the message that others get. */
  readonly holder: string;
  readonly clock: Clock;
  /** Counts the pauses between renewals, whatever is done to the wall clock; the clock's own timers when left out. */
  readonly metronome?: Metronome;
  /** Somebody else holds the account now: stop. Called at most once. */
  readonly onLost?: () => void;
}

/** How soon a renewal that the store refused is tried again. */
const RENEWAL_RETRY_MS = 1_000;

/** Takes the lease of an account and keeps it until released or lost. */
export async function takeLease(request: LeaseRequest): Promise<HeldLease | Extract<LeaseAnswer, { kind: 'taken' }>> {
  // Counted from before the store was asked: the lease can only be younger than that.
  const askedAt = request.clock.monotonic();
  const answer = await request.leases.acquire(request.account, request.holder);
  return answer.kind === 'taken' ? answer : new HeldLease(request, answer.epoch, askedAt);
}

export class HeldLease {
  readonly kind = 'held';
  readonly epoch: number;
  private readonly request: LeaseRequest;
  private renewedAt: number;
  /** Since when the store has not taken a renewal, on the monotonic clock. */
  private failingSince: number | undefined;
  private state: 'kept' | 'lost' | 'released' = 'kept';
  private timer: Timer | undefined;
  /** The store may take its time: whoever asks meanwhile waits for the same answer. */
  private renewing: Promise<void> | undefined;

  constructor(request: LeaseRequest, epoch: number, renewedAt: number) {
    this.request = request;
    this.epoch = epoch;
    this.renewedAt = renewedAt;
    this.renewIn(LEASE_RENEWAL_MS);
  }

  /**
   * Whether an attempt may be sent under this lease: asked immediately before each. Half a life is left for the request
   * itself, so that whoever takes over finds nothing of ours on the way (ARCHITECTURE.md, Several processes).
   */
  mayAct(): boolean {
    return this.state === 'kept' && this.request.clock.monotonic() - this.renewedAt < LEASE_LIFE_MS / 2;
  }

  /**
   * Whether this process still acts for the account; resolves when that is certain. A process that slept must not take its
   * own lateness for a loss: it renews first. Where the store can not tell, it waits until it can; `harmless` (a cancel, a
   * reading) goes all the same where nobody else can have taken the account: an order must not live on because a disk is full.
   */
  async holds(harmless = false): Promise<boolean> {
    while (this.state === 'kept' && !this.mayAct()) {
      this.timer?.cancel();
      await this.renew();
      if (this.state !== 'kept' || this.mayAct()) break;
      if (harmless && this.nobodyElseCan) return true;
      await this.retryTime();
    }
    return this.state === 'kept';
  }

  /**
   * Whether the store, which takes nothing, failed while the lease still lived and is the only one in which another could take
   * it. A store that machines share may be there for another machine while this one does not reach it.
   */
  private get nobodyElseCan(): boolean {
    const { failingSince, renewedAt } = this;
    return this.request.leases.ofThisMachine && failingSince !== undefined && failingSince - renewedAt < LEASE_LIFE_MS;
  }

  private retryTime(): Promise<void> {
    const { clock, metronome } = this.request;
    return new Promise(
      (resolve) =>
        void (metronome?.after(RENEWAL_RETRY_MS, resolve) ?? clock.at(clock.now() + RENEWAL_RETRY_MS, resolve)),
    );
  }

  /** Gives the lease back. Where the store can not be told the lease runs out by itself. */
  async release(): Promise<void> {
    this.timer?.cancel();
    const held = this.state === 'kept';
    this.state = 'released';
    if (!held) return;
    try {
      await this.request.leases.release(this.request.account, this.epoch);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  private renewIn(delayMs: number): void {
    const { clock, metronome } = this.request;
    const turn = () => void this.renew();
    this.timer?.cancel();
    this.timer = metronome?.after(delayMs, turn) ?? clock.at(clock.now() + delayMs, turn);
  }

  private renew(): Promise<void> {
    this.renewing ??= this.renewed().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  private async renewed(): Promise<void> {
    const { leases, account, clock, onLost } = this.request;
    const askedAt = clock.monotonic();
    let kept: boolean | undefined;
    try {
      kept = await leases.renew(account, this.epoch);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.failingSince ??= clock.monotonic();
    }
    if (this.state !== 'kept') return;
    if (kept === false) {
      this.state = 'lost';
      onLost?.();
      return;
    }
    if (kept) {
      this.renewedAt = askedAt;
      this.failingSince = undefined;
    }
    this.renewIn(kept ? LEASE_RENEWAL_MS : RENEWAL_RETRY_MS);
  }
}
