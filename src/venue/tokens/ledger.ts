/**
 * The ledger of rate-limit tokens of one address, as pure bookkeeping: what is held, what may be sent now, and when to ask
 * again (budget.md). It must be right whichever way the venue counts: sliding log, fixed window, token bucket or sliding
 * counter. It queues nothing, sets no timer and never asks the time: every instant is milliseconds on one clock that never
 * jumps, passed in.
 *
 * A request holds its weight from before it is sent until its answer plus a window plus a margin. The venue counted it at
 * some instant between the two, so at every instant the venue's use is at most what is held here, and no agreement of
 * clocks is needed. Freed a window after *sending*, a slow request and a fast one a minute later overlap at the venue.
 */

import type { CallClass } from '../port.ts';
import { type CostedEndpoint, type CostReport, isDocumented, LearnedCosts, type SavedCosts } from './costs.ts';
import { HeaderReadings, type SavedHeaderReadings, sentSince } from './header-readings.ts';
import { readTokenCounts } from './headers.ts';
import { type HeartbeatDemand, HeartbeatReserve, overcommitted, type SavedHeartbeats } from './heartbeat-reserve.ts';
import { type SavedTokenHolds, TokenHolds } from './holds.ts';
import { type InFlightRequest, InFlightRequests, type SavedInFlightRequests } from './in-flight.ts';
import { RateLimited, type RetryHint, type SavedRateLimited } from './rate-limited.ts';
import type { BudgetSettings } from './settings.ts';

export { type BudgetSettings, budgetSettings } from './settings.ts';

/** Why a request may not be sent yet: own tokens, pacing, the venue's word, or a refusal of its weight. */
type Hindrance = 'window' | 'pace' | 'venue' | 'refused';
type Admission =
  | { readonly ok: true }
  /** `at`: asking earlier is useless unless a request settles first. */
  | { readonly ok: false; readonly at: number; readonly because: Hindrance };

export interface BudgetReport {
  /** Held now: at least what the venue has counted for us in its window. */
  readonly used: number;
  readonly urgentUsed: number;
  /** The limit in force, and the profile's. */
  readonly limit: number;
  readonly configuredLimit: number;
  /** Kept for the beats of the deadman switches that are armed, beside the reserve. */
  readonly beats: number;
  /** What others on the address are believed to use. */
  readonly foreign: number;
  /** What the venue would still grant by its own last word; absent where it has said nothing within a window. */
  readonly venueRemaining?: number;
  readonly costs: readonly CostReport[];
}

/** Classes 0 and 1 (port.ts): they use the reserve and ignore pacing, for a cancel that waits costs money. */
export function isUrgent(cls: CallClass): boolean {
  return cls === 'protect' || cls === 'resolve';
}

/** No token of ours may come back this close to a request whose cost is to be read off the remaining ones. */
const QUIET_MS = 2_000;
/** This share of the reserve is lent to ordinary requests only against tokens that come back within this time. */
const LENT_SHARE = 0.5;
const LENT_MS = 1_000;

/** A request as the ledger counts it. */
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
  private readonly beats: HeartbeatReserve;
  private readonly readings: HeaderReadings;
  private readonly refusals: RateLimited;
  private readonly flights = new InFlightRequests();
  private now = Number.NEGATIVE_INFINITY;
  /** Whether a documented request has shown that the venue gives nothing back between two readings. */
  private steady = false;
  private level: number;

  /** `random` gives 0 to 1, for the jitter of back-offs. `configuredCosts`: the profile's figures. */
  constructor(settings: BudgetSettings, random: () => number, configuredCosts: Readonly<Record<string, number>> = {}) {
    this.settings = settings;
    this.costs = new LearnedCosts(configuredCosts);
    this.tokenHolds = new TokenHolds(settings.windowMs / 1200);
    this.beats = new HeartbeatReserve(settings.windowMs);
    this.readings = new HeaderReadings(settings.tokens, settings.windowMs);
    this.refusals = new RateLimited(random);
    this.level = settings.burst;
  }

  /** Whether `weight` tokens may be sent now; changes nothing but what time has changed. `beat`: it is one of a deadman switch. */
  admit(weight: number, cls: CallClass, at: number, beat?: HeartbeatDemand): Admission {
    this.advance(at);
    const urgent = isUrgent(cls);
    const withheld = this.withheld(weight, cls, beat);
    const gated = this.refusals.gatedUntil(weight, urgent);
    if (gated !== undefined && gated > this.now) return { ok: false, at: gated, because: 'refused' };
    const room = this.roomAt(weight, urgent, withheld);
    if (room > this.now) return { ok: false, at: room, because: 'window' };
    const paced = urgent ? this.now : this.pacedAt(Math.min(weight, this.burst()));
    if (paced > this.now) return { ok: false, at: paced, because: 'pace' };
    if (!this.isProbe(weight, urgent, withheld)) return { ok: true };
    const probeAt = this.probeAt(weight, urgent, withheld);
    return probeAt <= this.now ? { ok: true } : { ok: false, at: probeAt, because: 'venue' };
  }

  /** The earliest instant at which `weight` could be admitted behind `ahead` tokens of others, by what is known now. */
  earliest(weight: number, cls: CallClass, ahead: number, at: number, beat?: HeartbeatDemand): number {
    this.advance(at);
    const urgent = isUrgent(cls);
    return Math.max(
      this.refusals.gatedUntil(weight, urgent) ?? this.now,
      this.roomAt(ahead + weight, urgent, this.withheld(weight, cls, beat)),
      urgent ? this.now : this.pacedAt(ahead + Math.min(weight, this.burst())),
    );
  }

  /** Holds the tokens of a request that was admitted at this same instant. `id` is unique among all who share the ledger. */
  hold(id: string, { endpoint, weight, class: klass, beat }: HeldRequest, at: number): void {
    this.advance(at);
    const urgent = isUrgent(klass);
    if (this.isProbe(weight, urgent, this.withheld(weight, klass, beat))) this.refusals.probing(id, urgent);
    const { word } = this.readings;
    this.flights.begin(id, {
      endpoint,
      weight,
      urgent,
      beat: beat === undefined ? undefined : true,
      at: this.now,
      expiredMark: this.tokenHolds.expired,
      undisturbed: word !== undefined && sentSince(word, this.flights.sent) === 0,
    });
    this.tokenHolds.add(weight, urgent);
    if (beat !== undefined) this.beats.began(beat, weight, urgent, this.now);
    if (!urgent) this.level -= weight;
  }

  /** Why the tokens for the beats of a switch that is to be armed can never be had; undefined where they can. */
  overcommitted(beat: HeartbeatDemand, weight: number, at: number): string | undefined {
    this.advance(at);
    const { limit } = this.readings;
    const { reserve, windowMs } = this.settings;
    return overcommitted({ limit, reserve, windowMs, weight, ...beat, others: this.beats.others(beat.of) });
  }

  /** Keeps tokens for the beats of a switch that waits to be armed: else it would wait for ever beside others. True where they were not kept yet. */
  claim(beat: HeartbeatDemand, weight: number, at: number): boolean {
    this.advance(at);
    return this.beats.claim(beat, weight, this.now);
  }

  /** The switch is off: nothing is kept for its beats any more. */
  standDown(of: string, at: number): void {
    this.advance(at);
    this.beats.standDown(of);
  }

  /** An answer came: its headers (names in lower case) are the venue's word on what remains. */
  answered(id: string, headers: Readonly<Record<string, string>>, at: number): void {
    const flight = this.land(id, at, true);
    if (flight === undefined) return;
    this.refusals.granted(flight.weight, this.now);
    this.keep(flight, this.listen(flight, headers, true), this.countedUntil());
  }

  /** The venue refused it for want of tokens. It may have counted it all the same, so its weight is held like any other. */
  refused(id: string, headers: Readonly<Record<string, string>>, hint: RetryHint, at: number): void {
    const flight = this.land(id, at, false);
    if (flight === undefined) return;
    this.listen(flight, headers, false);
    this.keep(flight, flight.weight, this.countedUntil());
    this.refusals.refused(flight.weight, flight.urgent, hint, this.now);
  }

  /** No answer is waited for any longer; the venue may still come to count it until the in-transit limit is over. */
  aborted(id: string, at: number): void {
    const flight = this.land(id, at, false);
    if (flight === undefined) return;
    this.keep(flight, flight.weight, this.countedUntil() + this.settings.inTransitMs);
  }

  /** No byte left: as if its tokens had never been held. */
  notSent(id: string, at: number): void {
    const flight = this.land(id, at, undefined);
    if (flight === undefined) return;
    this.flights.sent -= flight.weight;
    if (!flight.urgent) this.level += flight.weight;
  }

  /** Takes tokens as counted just now: after a restart without a ledger, what the journal's last window attempted. */
  assume(weight: number, at: number): void {
    this.advance(at);
    this.tokenHolds.keep(weight, false, this.countedUntil());
  }

  /** What a call of the endpoint costs: document, else learned, else profile. */
  costFor(endpoint: CostedEndpoint): number {
    return this.costs.costFor(endpoint);
  }

  report(at: number): BudgetReport {
    this.advance(at);
    const remaining = this.remaining();
    return {
      used: this.tokenHolds.used,
      urgentUsed: this.tokenHolds.urgentUsed,
      limit: this.readings.limit,
      configuredLimit: this.settings.tokens,
      beats: this.beats.kept,
      foreign: this.readings.foreignUse,
      ...(remaining === Number.POSITIVE_INFINITY ? {} : { venueRemaining: Math.max(0, Math.floor(remaining)) }),
      costs: this.costs.report(),
    };
  }

  // What may be used.

  /**
   * What a request must leave to others. Ordinary ones leave the reserve, and what the beats of armed switches will need; so
   * do look-ups leave the beats theirs. The first beat of a switch waits for the room of all that follow: nothing rests under
   * it yet, and a switch that is armed into a full window fires in the middle of it.
   */
  private withheld(weight: number, cls: CallClass, beat: HeartbeatDemand | undefined): number {
    const left = this.beats.left;
    if (isUrgent(cls)) return cls === 'resolve' ? left : 0;
    const reserve = Math.max(0, this.settings.reserve - this.tokenHolds.urgentUsed + this.beats.urgentUsed);
    return reserve + (beat === undefined ? left : this.beats.leftBehind(beat, weight));
  }

  private roomAt(tokens: number, urgent: boolean, withheld: number): number {
    const after = this.tokenHolds.used + tokens;
    // An urgent request is measured against the venue's word itself (`isProbe`) instead of the worst of the last minute.
    const allowed = this.readings.limit - withheld - (urgent ? 0 : this.readings.foreignUse);
    const fits = this.freedAt(after - allowed);
    if (urgent) return fits;
    // The others' largest use goes out of the last minute sooner than our own tokens may come back.
    const forgotten = this.readings.foreignUntil ?? Number.POSITIVE_INFINITY;
    return Math.min(forgotten, Math.max(fits, this.lentAt(after)));
  }

  /**
   * When an ordinary request may take of the last tokens. Urgent requests use up the reserve, and ordinary ones could then
   * fill the rest of the window and leave the next cancel nothing for seconds: so half the reserve is lent only against
   * tokens about to come back (ARCHITECTURE.md, I10: a cancel never waits more than 2 s).
   */
  private lentAt(after: number): number {
    const free = this.readings.limit - this.readings.foreignUse - this.beats.left - after;
    const missing = Math.ceil(this.settings.reserve * LENT_SHARE) - free;
    return missing <= 0 ? this.now : this.freedAt(missing) - LENT_MS;
  }

  /**
   * When `tokens` will be free: what is under way comes back no sooner than a window from now. With nothing held there is
   * nothing to wait for: a request heavier than all that is allowed goes then, alone, or it could never even be tried.
   */
  private freedAt(tokens: number): number {
    if (tokens <= 0 || this.tokenHolds.used === 0) return this.now;
    return this.tokenHolds.freedAt(tokens) ?? this.now + this.settings.windowMs;
  }

  private countedUntil(): number {
    return this.now + this.settings.windowMs + this.settings.marginMs;
  }

  // Pacing.

  private scale(): number {
    return this.readings.limit / this.settings.tokens;
  }

  private burst(): number {
    return this.settings.burst * this.scale();
  }

  private perMs(): number {
    return (this.settings.refillPerSecond * this.scale()) / 1000;
  }

  private pacedAt(tokens: number): number {
    const missing = tokens - this.level;
    // Below a millionth of a token is the rounding of a wait that was exactly long enough.
    return missing <= 1e-6 ? this.now : this.now + missing / this.perMs();
  }

  // Time and flights.

  private advance(at: number): void {
    if (at <= this.now) return;
    const elapsed = this.now === Number.NEGATIVE_INFINITY ? 0 : at - this.now;
    this.now = at;
    this.level = Math.min(this.burst(), this.level + this.perMs() * elapsed);
    this.tokenHolds.advance(at);
    this.beats.advance(at);
    this.readings.advance(at);
    this.buryDead();
  }

  /** Frees the flights of processes that died: nobody will tell how they ended. */
  private buryDead(): void {
    const { longestRequestMs, inTransitMs, windowMs, marginMs } = this.settings;
    const before = this.now - (longestRequestMs + inTransitMs + windowMs + marginMs);
    for (;;) {
      const flight = this.flights.endOldest(before);
      if (flight === undefined) return;
      this.tokenHolds.expire(flight.weight, flight.urgent);
      if (flight.beat) this.beats.ended(flight.weight, flight.urgent);
    }
  }

  /** Takes a flight out of the air: its tokens are not held any more until the caller keeps them to an instant. */
  private land(id: string, at: number, granted: boolean | undefined): InFlightRequest | undefined {
    this.advance(at);
    const flight = this.flights.end(id);
    if (flight === undefined) return undefined;
    this.tokenHolds.remove(flight.weight, flight.urgent);
    if (flight.beat) this.beats.ended(flight.weight, flight.urgent);
    this.refusals.probed(id, flight.urgent, granted, this.now);
    return flight;
  }

  private keep({ urgent, beat }: InFlightRequest, weight: number, until: number): void {
    this.tokenHolds.keep(weight, urgent, until);
    if (beat) this.beats.keep(weight, urgent, until);
  }

  // The venue's word.

  private remaining(): number {
    return this.readings.remaining(this.now, this.flights.sent, this.tokenHolds.expired, this.perMs());
  }

  /** Whether a request would be sent against the venue's last word or after a refusal of its weight. */
  private isProbe(weight: number, urgent: boolean, withheld: number): boolean {
    return this.isDisbelieved(weight, withheld) || this.refusals.gatedUntil(weight, urgent) !== undefined;
  }

  private isDisbelieved(weight: number, withheld: number): boolean {
    return this.remaining() < weight + withheld;
  }

  private probeAt(weight: number, urgent: boolean, withheld: number): number {
    const wordAt = this.isDisbelieved(weight, withheld) ? this.readings.word?.at : undefined;
    const underWay = (id: string) =>
      (this.flights.get(id)?.at ?? Number.NEGATIVE_INFINITY) + this.settings.inTransitMs > this.now;
    // While another probe is under way there is nothing to wait for but its end; a second is for the one whose process died.
    return this.refusals.probeAt(urgent, wordAt, underWay) ?? this.now + 1_000;
  }

  /** Reads the headers of a flight's answer; gives what the flight cost, which shows where it ran alone. */
  private listen(flight: InFlightRequest, headers: Readonly<Record<string, string>>, granted: boolean): number {
    // X-RateLimit-Reset comes with the hint of a refusal.
    const { limit, remaining } = readTokenCounts(headers);
    if (limit !== undefined) this.readings.hearLimit(limit);
    if (remaining === undefined) return flight.weight;
    const cost = this.learn(flight, remaining);
    const { order, sentMark, overlap, expiredMark } = flight;
    const { used, expired } = this.tokenHolds;
    // A refusal that says 0 says "not enough", which is no count: taken for what others use, it would hold back everything
    // ordinary for a whole window, whatever time the venue named. Probes find out instead.
    const countable = granted || remaining > 0 ? used + cost + expired - expiredMark : Number.POSITIVE_INFINITY;
    this.readings.hear({ remaining, at: this.now, order, sentMark, overlap, expiredMark: expired }, countable);
    return cost;
  }

  /**
   * Reads the cost of a request that ran alone off the remaining tokens. A venue that regains evenly shows less than was
   * spent; so a cost is lowered only while documented requests are seen to cost what the document says.
   */
  private learn(flight: InFlightRequest, remaining: number): number {
    const { word } = this.readings;
    if (word === undefined || !flight.alone || this.flights.sent !== flight.sentMark) return flight.weight;
    const quiet =
      this.tokenHolds.expired === word.expiredMark && (this.tokenHolds.nextAt() ?? Infinity) > this.now + QUIET_MS;
    const spent = word.remaining - remaining;
    if (!quiet || spent < 0 || spent > this.settings.burst) return flight.weight;
    if (isDocumented(flight.endpoint)) {
      const telling = this.perMs() * (this.now - word.at) >= 2;
      if (spent < flight.weight) this.steady = false;
      else if (spent === flight.weight && telling) this.steady = true;
      return flight.weight;
    }
    if (spent < this.costs.costFor(flight.endpoint) && (!this.steady || spent < 1)) return flight.weight;
    return this.costs.observe(flight.endpoint, spent) === 'learned' ? Math.max(flight.weight, spent) : flight.weight;
  }

  // Sharing.

  /** The whole ledger as text, for whoever continues it. */
  save(): string {
    const { now, steady, level } = this;
    const saved: SavedLedger = {
      v: 1,
      now,
      steady,
      level,
      readings: this.readings.save(),
      expired: this.tokenHolds.expired,
      held: this.tokenHolds.save(),
      ...this.flights.save(),
      beats: this.beats.save(),
      refusals: this.refusals.save(),
      costs: this.costs.save(),
    };
    return JSON.stringify(saved);
  }

  /**
   * Continues a saved ledger under these settings. A text that can not be read, or comes from another version, gives a
   * ledger whose window is full: a minute lost is better than a limit overrun.
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
    else ledger.continue(saved);
    return ledger;
  }

  private continue(saved: SavedLedger): void {
    this.now = saved.now;
    this.steady = saved.steady;
    this.level = saved.level;
    this.readings.restore(saved.readings);
    this.tokenHolds.expired = saved.expired;
    this.tokenHolds.restore(saved.held);
    this.flights.restore(saved);
    for (const [, flight] of saved.flights) {
      this.tokenHolds.add(flight.weight, flight.urgent);
      if (flight.beat) this.beats.add(flight.weight, flight.urgent);
    }
    if (saved.beats !== undefined) this.beats.restore(saved.beats);
    this.refusals.restore(saved.refusals);
    this.costs.restore(saved.costs);
  }
}

interface SavedLedger extends SavedInFlightRequests {
  readonly v: 1;
  readonly now: number;
  readonly steady: boolean;
  readonly level: number;
  readonly readings: SavedHeaderReadings;
  readonly expired: number;
  readonly held: SavedTokenHolds;
  /** Of older versions there are none. */
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
