/**
 * The lease on an account: decides when it may be taken (pure), renews it, and says whether an attempt may still be sent.
 * The venue does not check epochs, so a process that slept through its lease must stop itself.
 */
import type { Clock, Metronome, Timer } from '../../base/clock.ts';
import { StoreError } from '../store.ts';
import { LEASE_LIFE_MS, LEASE_RENEWAL_MS, type LeaseAnswer, type Leases } from './shared.ts';

/** A lease as stored. */
export interface LeaseRow {
  readonly epoch: number;
  /** Undefined once released. */
  readonly heldBy: string | undefined;
  /** Machine mark of the holder's process, and the clock of `untilMs`. */
  readonly process: string;
  readonly clockId: string;
  readonly untilMs: number;
}

type LeaseVerdict =
  | { readonly kind: 'free' }
  | { readonly kind: 'taken'; readonly heldBy: string; readonly remainingMs: number }
  /**
   * Its end was written on another clock, or on one that was set back since, and cannot be compared: it lasts one more
   * lease life from now.
   */
  | { readonly kind: 'adopted'; readonly heldBy: string; readonly untilMs: number };

/** Decides whether a lease may be taken now. A live holder overwrites an adoption with its next renewal. */
export function judgeLease(
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
  /** Name of the holder, for the message that other processes show. */
  readonly holder: string;
  readonly clock: Clock;
  /** Times the pauses between renewals independently of the wall clock; the clock's own timers when absent. */
  readonly metronome?: Metronome;
  /** Another process holds the account now: stop. Called at most once. */
  readonly onLost?: () => void;
}

/** Pause before a failed renewal is tried again. */
const RENEWAL_RETRY_MS = 1_000;

/**
 * How long heartbeats, cancels and readings go on after the last renewal while a store that other machines share does not answer,
 * ms: as long as a journal is tried again (PATIENCE_MS in app/run/live-assembly.ts), and for the cancels of a run that ends then.
 */
const HARMLESS_FOR_MS = 90_000;

/** Takes the lease of an account and renews it until it is released or lost. */
export async function takeLease(request: LeaseRequest): Promise<HeldLease | Extract<LeaseAnswer, { kind: 'taken' }>> {
  // Read before the store is asked, so that the lease is never older than assumed.
  const askedAt = request.clock.monotonic();
  const answer = await request.leases.acquire(request.account, request.holder);
  return answer.kind === 'taken' ? answer : new HeldLease(request, answer.epoch, askedAt);
}

export class HeldLease {
  readonly kind = 'held';
  readonly epoch: number;
  private readonly request: LeaseRequest;
  private renewedAt: number;
  /** When renewals began to fail, on the monotonic clock. */
  private failingSince: number | undefined;
  private state: 'kept' | 'lost' | 'released' = 'kept';
  private timer: Timer | undefined;
  /** The renewal in progress; callers that ask meanwhile wait for the same answer. */
  private renewing: Promise<void> | undefined;

  constructor(request: LeaseRequest, epoch: number, renewedAt: number) {
    this.request = request;
    this.epoch = epoch;
    this.renewedAt = renewedAt;
    this.renewIn(LEASE_RENEWAL_MS);
  }

  /**
   * True when an attempt may be sent under this lease; call it immediately before each. Half a life remains for the request
   * itself, so that no request of ours is in flight when another process takes over (ARCHITECTURE.md, Several processes).
   */
  mayAct(): boolean {
    return this.state === 'kept' && this.request.clock.monotonic() - this.renewedAt < LEASE_LIFE_MS / 2;
  }

  /**
   * Resolves, once it is certain, to whether this process still acts for the account. A process that slept renews first,
   * because being late does not mean that the lease is lost. While the store does not answer, this waits. With `harmless` (a
   * heartbeat, a cancel, a read) it does not: an order must not stay open, and no stop be cancelled by the deadman switch,
   * because a store is away. Undefined where it is not certain, and `isGivenUp` says that it need not be known any more.
   */
  async holds(harmless = false, isGivenUp: () => boolean = () => false): Promise<boolean | undefined> {
    while (this.state === 'kept' && !this.mayAct()) {
      // The timer goes on renewing; a store that hangs must not hold back a heartbeat each time.
      if (harmless && this.mayActHarmlessly) return true;
      this.timer?.cancel();
      await this.renew();
      if (this.state !== 'kept' || this.mayAct()) break;
      if (harmless && this.mayActHarmlessly) return true;
      if (isGivenUp()) return undefined;
      await this.pauseBeforeRetry();
    }
    return this.state === 'kept';
  }

  /**
   * True when what adds no risk may be sent without the lease: the store began to fail while it was in force. No other process
   * of this machine can have taken it since. Another machine may, where it reaches a shared store and this one does not: so
   * this ends after a while. A store that is away for everybody is the usual case, and without heartbeats the deadman switch
   * would cancel the stops of a position that every machine waits to look after.
   */
  private get mayActHarmlessly(): boolean {
    const { failingSince, renewedAt } = this;
    const { leases, clock } = this.request;
    if (failingSince === undefined || failingSince - renewedAt >= LEASE_LIFE_MS) return false;
    return leases.ofThisMachine || clock.monotonic() - renewedAt < HARMLESS_FOR_MS;
  }

  private pauseBeforeRetry(): Promise<void> {
    const { clock, metronome } = this.request;
    return new Promise(
      (resolve) =>
        void (metronome?.after(RENEWAL_RETRY_MS, resolve) ?? clock.at(clock.now() + RENEWAL_RETRY_MS, resolve)),
    );
  }

  /** Releases the lease. When the store cannot be reached, the lease expires by itself. */
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
    this.renewing ??= this.renewOnce().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  private async renewOnce(): Promise<void> {
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
