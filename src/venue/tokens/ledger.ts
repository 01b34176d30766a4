/**
 * Accounts for the rate-limit tokens of one address: what is held, what may be sent now, and when to ask again (budget.md).
 * It is right whichever way the venue counts: sliding log, fixed window, token bucket or sliding counter. It queues nothing,
 * sets no timer and reads no clock: every instant is passed in, in milliseconds on one monotonic clock.
 *
 * A request holds its weight from before it is sent until its answer plus a window plus a margin. The venue counted it at
 * some instant between the two, so the venue's use never exceeds what is held here, and the clocks need not agree. If tokens
 * were freed a window after *sending*, a slow request and a fast one a minute later would overlap at the venue.
 */

import type { CallClass } from '../port.ts';
import { type CostedEndpoint, LearnedCosts, type SavedCosts } from './costs.ts';
import { countSentSince, HeaderReadings, type SavedHeaderReadings } from './header-readings.ts';
import { readTokenCounts } from './headers.ts';
import {
  describeOvercommitment,
  type HeartbeatDemand,
  HeartbeatReserve,
  type SavedHeartbeats,
} from './heartbeat-reserve.ts';
import { type SavedTokenHolds, TokenHolds } from './holds.ts';
import { type InFlightRequest, InFlightRequests, type SavedInFlightRequests } from './in-flight.ts';
import { RateLimited, type RetryHint, type SavedRateLimited } from './rate-limited.ts';
import type { BudgetSettings } from './settings.ts';

export { type BudgetSettings, budgetSettings } from './settings.ts';

/** Why a request may not be sent yet: own tokens, pacing, the venue's last reading, or a refusal of its weight. */
type AdmissionDelay = 'window' | 'pace' | 'venue' | 'refused';
type Admission =
  | { readonly ok: true }
  /** `at`: asking earlier is useless unless a request settles first. */
  | { readonly ok: false; readonly at: number; readonly because: AdmissionDelay };

export interface BudgetReport {
  /** Held now: at least what the venue has counted for us in its window. */
  readonly used: number;
  readonly urgentUsed: number;
  /** The limit in force. */
  readonly limit: number;
  /** Tokens kept for the heartbeats of armed deadman switches, beside the reserve. */
  readonly beats: number;
  /** Tokens that other programs on the address seem to use. */
  readonly foreign: number;
  /** Tokens that the venue would still grant by its last reading; absent where no reading is younger than a window. */
  readonly venueRemaining?: number;
}

/** Classes 0 and 1 (port.ts): they use the reserve and ignore pacing, because a cancel that waits costs money. */
export function isUrgent(cls: CallClass): boolean {
  return cls === 'protect' || cls === 'resolve';
}

/** No token of ours may become free this close to a request whose cost is read from the remaining ones. */
const QUIET_MS = 2_000;
/** What others spend between two readings counts for little while they are at most so far apart. */
const NEAR_MS = 1_000;
/** This share of the reserve is lent to ordinary requests only against tokens that become free within this time. */
const LENT_SHARE = 0.5;
const LENT_MS = 1_000;

/** A request whose tokens are to be held. */
interface HeldRequest {
  readonly endpoint: CostedEndpoint;
  readonly weight: number;
  readonly class: CallClass;
  readonly beat?: HeartbeatDemand | undefined;
}

export class Ledger {
  private readonly settings: BudgetSettings;
  private readonly costs: LearnedCosts;
  private readonly tokenHolds: TokenHolds;
  private readonly heartbeats: HeartbeatReserve;
  private readonly readings: HeaderReadings;
  private readonly rateLimited: RateLimited;
  private readonly inFlight = new InFlightRequests();
  private now = Number.NEGATIVE_INFINITY;
  private level: number;

  /** `random` gives 0 to 1, for the jitter of back-offs. `configuredCosts`: tokens by endpoint, from the profile. */
  constructor(settings: BudgetSettings, random: () => number, configuredCosts: Readonly<Record<string, number>> = {}) {
    this.settings = settings;
    this.costs = new LearnedCosts(configuredCosts);
    this.tokenHolds = new TokenHolds(settings.windowMs / 1200);
    this.heartbeats = new HeartbeatReserve(settings.windowMs);
    this.readings = new HeaderReadings(settings.tokens, settings.windowMs);
    this.rateLimited = new RateLimited(random);
    this.level = settings.burst;
  }

  /** Whether `weight` tokens may be sent now; holds nothing. `heartbeat`: the request is one of a deadman switch. */
  admit(weight: number, cls: CallClass, at: number, heartbeat?: HeartbeatDemand): Admission {
    this.advance(at);
    const urgent = isUrgent(cls);
    const withheld = this.computeWithheld(weight, cls, heartbeat);
    const gateEnd = this.rateLimited.findGateEnd(weight, urgent);
    if (gateEnd !== undefined && gateEnd > this.now) return { ok: false, at: gateEnd, because: 'refused' };
    const roomAt = this.findRoomAt(weight, cls, withheld);
    if (roomAt > this.now) return { ok: false, at: roomAt, because: 'window' };
    const pacedAt = urgent ? this.now : this.findPacedAt(Math.min(weight, this.getBurst()));
    if (pacedAt > this.now) return { ok: false, at: pacedAt, because: 'pace' };
    if (!this.isProbe(weight, urgent, withheld)) return { ok: true };
    const probeAt = this.findProbeAt(weight, urgent, withheld);
    return probeAt <= this.now ? { ok: true } : { ok: false, at: probeAt, because: 'venue' };
  }

  /** The earliest instant at which `weight` could be admitted after `ahead` tokens of other requests, as far as known now. */
  earliest(weight: number, cls: CallClass, ahead: number, at: number, heartbeat?: HeartbeatDemand): number {
    this.advance(at);
    const urgent = isUrgent(cls);
    return Math.max(
      this.rateLimited.findGateEnd(weight, urgent) ?? this.now,
      this.findRoomAt(ahead + weight, cls, this.computeWithheld(weight, cls, heartbeat)),
      urgent ? this.now : this.findPacedAt(ahead + Math.min(weight, this.getBurst())),
    );
  }

  /** Holds the tokens of a request admitted at this same instant. `id` is unique among all processes that share the ledger. */
  hold(id: string, { endpoint, weight, class: klass, beat: heartbeat }: HeldRequest, at: number): void {
    this.advance(at);
    // Known already: a shared ledger was stored, and the answer that said so was lost.
    if (this.inFlight.get(id) !== undefined) return;
    const urgent = isUrgent(klass);
    if (this.isProbe(weight, urgent, this.computeWithheld(weight, klass, heartbeat)))
      this.rateLimited.beginProbe(id, urgent);
    const { latest } = this.readings;
    const usesKept = heartbeat !== undefined && this.heartbeats.begin(heartbeat, weight, urgent, this.now);
    this.inFlight.begin(id, {
      endpoint,
      weight,
      urgent,
      heartbeat: usesKept ? true : undefined,
      at: this.now,
      expiredMark: this.tokenHolds.expired,
      undisturbed: latest !== undefined && countSentSince(latest, this.inFlight.sent) === 0,
    });
    this.tokenHolds.add(weight, urgent);
    if (!urgent) this.level -= weight;
  }

  /** Says why the token limit cannot carry the heartbeats of a switch that is to be armed; undefined where it can. */
  overcommitted(heartbeat: HeartbeatDemand, weight: number, at: number): string | undefined {
    this.advance(at);
    const { limit } = this.readings;
    const { reserve, windowMs } = this.settings;
    return describeOvercommitment({
      limit,
      reserve,
      windowMs,
      weight,
      ...heartbeat,
      others: this.heartbeats.getKeptForOthers(heartbeat.of),
    });
  }

  /**
   * Keeps tokens for the heartbeats of a switch that waits to be armed: without them it could wait for ever beside other
   * requests. True where none were kept yet.
   */
  claim(heartbeat: HeartbeatDemand, weight: number, at: number): boolean {
    this.advance(at);
    return this.heartbeats.claim(heartbeat, weight, this.now);
  }

  /** The switch is off: no tokens are kept for its heartbeats any more. */
  standDown(of: string, at: number): void {
    this.advance(at);
    this.heartbeats.release(of);
  }

  /** An answer came; its headers (names in lower case) give the remaining tokens. */
  answered(id: string, headers: Readonly<Record<string, string>>, at: number): void {
    const request = this.end(id, at, true);
    if (request === undefined) return;
    this.rateLimited.noteGranted(request.weight, this.now);
    this.keep(request, this.readHeaders(request, headers, true), this.getCountedUntil());
  }

  /** The venue refused it for want of tokens. The venue may still have counted it, so its weight is held like any other. */
  refused(id: string, headers: Readonly<Record<string, string>>, hint: RetryHint, at: number): void {
    const request = this.end(id, at, false);
    if (request === undefined) return;
    this.readHeaders(request, headers, false);
    this.keep(request, request.weight, this.getCountedUntil());
    this.rateLimited.noteRefused(request.weight, request.urgent, hint, this.now);
  }

  /** The wait for an answer was given up; the venue may still count it until the in-transit limit is over. */
  aborted(id: string, at: number): void {
    const request = this.end(id, at, false);
    if (request === undefined) return;
    this.keep(request, request.weight, this.getCountedUntil() + this.settings.inTransitMs);
  }

  /** Nothing was sent: undoes the hold. */
  notSent(id: string, at: number): void {
    const request = this.end(id, at, undefined);
    if (request === undefined) return;
    this.inFlight.sent -= request.weight;
    if (!request.urgent) this.level += request.weight;
  }

  /** Holds tokens as if counted just now: after a restart without a ledger, those of the journal's last window. */
  assume(weight: number, at: number): void {
    this.advance(at);
    this.tokenHolds.keep(weight, false, this.getCountedUntil());
  }

  /** What a call of the endpoint costs: document, else learned, else profile. */
  costFor(endpoint: CostedEndpoint): number {
    return this.costs.costFor(endpoint);
  }

  report(at: number): BudgetReport {
    this.advance(at);
    const remaining = this.estimateRemaining();
    return {
      used: this.tokenHolds.used,
      urgentUsed: this.tokenHolds.urgentUsed,
      limit: this.readings.limit,
      beats: this.heartbeats.kept,
      foreign: this.readings.foreignUse,
      ...(remaining === Number.POSITIVE_INFINITY ? {} : { venueRemaining: Math.max(0, Math.floor(remaining)) }),
    };
  }

  // Admission.

  /**
   * Tokens that a request must leave to others. Ordinary requests leave the reserve and what the heartbeats of armed switches
   * need; look-ups leave only the latter. The first heartbeat of a switch waits for the tokens of all that follow: no order
   * depends on it yet, and a switch armed into a full window would fire within that window.
   */
  private computeWithheld(weight: number, cls: CallClass, heartbeat: HeartbeatDemand | undefined): number {
    const left = this.heartbeats.left;
    if (isUrgent(cls)) return cls === 'resolve' ? left : 0;
    const reserve = Math.max(0, this.settings.reserve - this.tokenHolds.urgentUsed + this.heartbeats.urgentUsed);
    return reserve + (heartbeat === undefined ? left : this.heartbeats.leftBehind(heartbeat, weight));
  }

  private findRoomAt(tokens: number, cls: CallClass, withheld: number): number {
    const after = this.tokenHolds.used + tokens;
    // An urgent request is checked against the latest reading itself (`isProbe`), not against the worst of the last minute.
    const others = isUrgent(cls) ? 0 : this.readings.foreignUse;
    const fits = this.findFreedAt(after + others - (this.readings.limit - withheld));
    if (cls === 'protect') return fits;
    const lent = Math.max(fits, this.findLentAt(after + others));
    // The largest use by others may leave the last minute sooner than our own tokens become free.
    return others === 0 ? lent : Math.min(this.readings.foreignUntil ?? Number.POSITIVE_INFINITY, lent);
  }

  /**
   * When a request that protects nothing may use some of the last tokens. After urgent requests have used up the reserve, ordinary
   * ones could fill the rest of the window and leave the next cancel nothing for seconds, and so could look-ups, or the readings of
   * a sweep: so half the reserve is lent only against tokens that are about to become free (ARCHITECTURE.md, I10: a cancel never
   * waits more than 2 s).
   */
  private findLentAt(after: number): number {
    const free = this.readings.limit - this.heartbeats.left - after;
    const missing = Math.ceil(this.settings.reserve * LENT_SHARE) - free;
    return this.findFreedAt(missing) - LENT_MS;
  }

  /**
   * When `tokens` will be free: those in flight become free no sooner than a window from now. With nothing held there is
   * nothing to wait for: a request heavier than the whole limit is then sent alone, because otherwise it could never be tried.
   */
  private findFreedAt(tokens: number): number {
    if (tokens <= 0 || this.tokenHolds.used === 0) return this.now;
    return this.tokenHolds.findFreedAt(tokens) ?? this.now + this.settings.windowMs;
  }

  private getCountedUntil(): number {
    return this.now + this.settings.windowMs + this.settings.marginMs;
  }

  // Pacing.

  private getScale(): number {
    return this.readings.limit / this.settings.tokens;
  }

  private getBurst(): number {
    return this.settings.burst * this.getScale();
  }

  private getRefillPerMs(): number {
    return (this.settings.refillPerSecond * this.getScale()) / 1000;
  }

  private findPacedAt(tokens: number): number {
    const missing = tokens - this.level;
    // Less than a millionth of a token is the rounding of a wait that was exactly long enough.
    return missing <= 1e-6 ? this.now : this.now + missing / this.getRefillPerMs();
  }

  // Time and requests in flight.

  private advance(at: number): void {
    if (at <= this.now) return;
    const elapsed = this.now === Number.NEGATIVE_INFINITY ? 0 : at - this.now;
    this.now = at;
    this.level = Math.min(this.getBurst(), this.level + this.getRefillPerMs() * elapsed);
    this.tokenHolds.advance(at);
    this.heartbeats.advance(at);
    this.readings.advance(at);
    this.freeAbandoned();
  }

  /** Frees requests of processes that died: their end will not be reported. */
  private freeAbandoned(): void {
    const { longestRequestMs, inTransitMs, windowMs, marginMs } = this.settings;
    const before = this.now - (longestRequestMs + inTransitMs + windowMs + marginMs);
    for (;;) {
      const request = this.inFlight.endOldest(before);
      if (request === undefined) return;
      this.tokenHolds.expire(request.weight, request.urgent);
      if (request.heartbeat) this.heartbeats.end(request.weight, request.urgent);
    }
  }

  /** Removes a request from those in flight: its tokens are not held until the caller keeps them to an instant. */
  private end(id: string, at: number, granted: boolean | undefined): InFlightRequest | undefined {
    this.advance(at);
    const request = this.inFlight.end(id);
    if (request === undefined) return undefined;
    this.tokenHolds.remove(request.weight, request.urgent);
    if (request.heartbeat) this.heartbeats.end(request.weight, request.urgent);
    this.rateLimited.endProbe(id, request.urgent, granted, this.now);
    return request;
  }

  private keep({ urgent, heartbeat }: InFlightRequest, weight: number, until: number): void {
    this.tokenHolds.keep(weight, urgent, until);
    if (heartbeat) this.heartbeats.hold(weight, urgent, until);
  }

  // Readings of the headers.

  private estimateRemaining(): number {
    return this.readings.estimateRemaining(
      this.now,
      this.inFlight.sent,
      this.tokenHolds.expired,
      this.getRefillPerMs(),
    );
  }

  /** Whether a request would be sent against the latest reading, or after a refusal of its weight. */
  private isProbe(weight: number, urgent: boolean, withheld: number): boolean {
    return this.contradictsVenue(weight, withheld) || this.rateLimited.findGateEnd(weight, urgent) !== undefined;
  }

  private contradictsVenue(weight: number, withheld: number): boolean {
    return this.estimateRemaining() < weight + withheld;
  }

  private findProbeAt(weight: number, urgent: boolean, withheld: number): number {
    const readingAt = this.contradictsVenue(weight, withheld) ? this.readings.latest?.at : undefined;
    const isInFlight = (id: string) =>
      (this.inFlight.get(id)?.at ?? Number.NEGATIVE_INFINITY) + this.settings.inTransitMs > this.now;
    // While another probe is in flight, only its end matters; the second is for a probe whose process died.
    return this.rateLimited.findProbeAt(urgent, readingAt, isInFlight) ?? this.now + 1_000;
  }

  /** Reads the headers of an answer; gives what the request cost, which is measured where it ran alone. */
  private readHeaders(request: InFlightRequest, headers: Readonly<Record<string, string>>, granted: boolean): number {
    // X-RateLimit-Reset comes with the hint of a refusal.
    const { limit, remaining } = readTokenCounts(headers);
    if (limit !== undefined) this.readings.noteLimit(limit);
    if (remaining === undefined) return request.weight;
    const cost = this.learnCost(request, remaining);
    const { at: askedAt, order, sentMark, overlap, expiredMark } = request;
    const { used, expired } = this.tokenHolds;
    // A refusal with 0 remaining means "not enough" and is not a count: read as use by others, it would hold back everything
    // ordinary for a whole window, whatever wait the venue asked for. Probes find out instead.
    const countable = granted || remaining > 0 ? used + cost + expired - expiredMark : Number.POSITIVE_INFINITY;
    this.readings.noteRemaining(
      { remaining, askedAt, at: this.now, order, sentMark, overlap, expiredMark: expired },
      countable,
    );
    return cost;
  }

  /**
   * Derives the cost of a request that ran alone from the remaining tokens. A venue that regains evenly shows less than was spent,
   * and does so only from its second window on: what it can have regained since the reading before counts as spent.
   */
  private learnCost(request: InFlightRequest, remaining: number): number {
    const { latest } = this.readings;
    if (latest === undefined || !request.alone || this.inFlight.sent !== request.sentMark) return request.weight;
    const quiet =
      this.tokenHolds.expired === latest.expiredMark &&
      (this.tokenHolds.findNextAt() ?? Infinity) > this.now + QUIET_MS;
    const spent = latest.remaining - remaining;
    if (!quiet || spent < 0 || spent > this.settings.burst) return request.weight;
    const regained = Math.max(1, Math.ceil(this.getRefillPerMs() * (this.now - latest.askedAt)));
    // The longer ago the reading before, the more of the change is what others spent.
    return this.costs.observe(request.endpoint, spent, spent + regained, this.now - latest.at <= NEAR_MS)
      ? Math.max(request.weight, spent)
      : request.weight;
  }

  // Sharing.

  /** The whole ledger as text, for the next process that uses it. */
  save(): string {
    const { now, level } = this;
    const saved: SavedLedger = {
      v: 1,
      now,
      level,
      readings: this.readings.save(),
      expired: this.tokenHolds.expired,
      held: this.tokenHolds.save(),
      ...this.inFlight.save(),
      beats: this.heartbeats.save(),
      refusals: this.rateLimited.save(),
      costs: this.costs.save(),
    };
    return JSON.stringify(saved);
  }

  /**
   * Continues a saved ledger under these settings. A text that cannot be read, or is of another version, gives a ledger whose
   * window is full: losing a minute is better than overrunning the limit.
   */
  static restore(
    text: string | undefined,
    at: number,
    settings: BudgetSettings,
    random: () => number,
    configuredCosts: Readonly<Record<string, number>> = {},
  ): Ledger {
    const ledger = new Ledger(settings, random, configuredCosts);
    if (text === undefined) return ledger;
    const saved = readSaved(text);
    if (saved === undefined) ledger.assume(settings.tokens, at);
    else ledger.restoreFrom(saved);
    return ledger;
  }

  private restoreFrom(saved: SavedLedger): void {
    this.now = saved.now;
    this.level = saved.level;
    this.readings.restore(saved.readings);
    this.tokenHolds.expired = saved.expired;
    this.tokenHolds.restore(saved.held);
    this.inFlight.restore(saved);
    for (const { weight, urgent, heartbeat } of this.inFlight.list()) {
      this.tokenHolds.add(weight, urgent);
      if (heartbeat) this.heartbeats.add(weight, urgent);
    }
    if (saved.beats !== undefined) this.heartbeats.restore(saved.beats);
    this.rateLimited.restore(saved.refusals);
    this.costs.restore(saved.costs);
  }
}

interface SavedLedger extends SavedInFlightRequests {
  readonly v: 1;
  readonly now: number;
  readonly level: number;
  readonly readings: SavedHeaderReadings;
  readonly expired: number;
  readonly held: SavedTokenHolds;
  /** Absent in older texts. */
  readonly beats?: SavedHeartbeats;
  readonly refusals: SavedRateLimited;
  readonly costs: SavedCosts;
}

function readSaved(text: string): SavedLedger | undefined {
  try {
    const saved = JSON.parse(text) as SavedLedger | null;
    return saved?.v === 1 ? saved : undefined;
  } catch {
    return undefined;
  }
}
