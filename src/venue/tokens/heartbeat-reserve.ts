/**
 * Keeps tokens for the heartbeats of every armed deadman switch of the address: a heartbeat that waits for tokens lets its
 * switch cancel every order of the account. Kept is the cost of one window's heartbeats, and of the reads that check whether
 * the switch is still armed, less those already counted in that window; and of one renewal of the session, for which a
 * heartbeat may have to wait. A switch is forgotten when it is released, or when
 * nothing has renewed it for longer than a window: then its process has died, or its orders renew it, and the next heartbeat
 * keeps its tokens again.
 */
import { formatSpan } from '../../base/format.ts';
import { chooseDeadmanReadPauseMs } from '../deadman.ts';
import { type SavedTokenHolds, TokenHolds } from './holds.ts';

/** How often requests for a switch are sent. */
interface HeartbeatRhythm {
  /** The pause between two heartbeats at least, ms; 0 where none follows. */
  readonly everyMs: number;
  /** The time-out of the switch, ms. */
  readonly timeoutMs: number;
  /** Tokens that reading the switch back costs, which happens every few time-outs. */
  readonly readWeight: number;
  /** Tokens that a renewal of the session costs; 0 where there is nothing to renew. */
  readonly sessionWeight: number;
}

/** A request that renews a switch, and is followed by others. */
export interface HeartbeatDemand extends HeartbeatRhythm {
  /** The account of the switch; each has one. */
  readonly of: string;
  /** It reads an armed switch back and renews nothing. */
  readonly reads?: true;
}

export interface SavedHeartbeats {
  readonly armed: readonly (readonly [of: string, tokens: number, until: number])[];
  readonly held: SavedTokenHolds;
}

/** Tokens left for an ordinary request beside the heartbeats, or none would ever be sent: the highest cost of the document. */
const HEAVIEST = 20;

export class HeartbeatReserve {
  /** Tokens that all heartbeats of a window cost. */
  kept = 0;
  private readonly windowMs: number;
  private readonly held: TokenHolds;
  private readonly armed = new Map<string, { readonly tokens: number; readonly until: number }>();

  constructor(windowMs: number) {
    this.windowMs = windowMs;
    this.held = new TokenHolds(windowMs / 1200);
  }

  /** Tokens that must stay free for the heartbeats still to come within a window. */
  get left(): number {
    return Math.max(0, this.kept - this.held.used);
  }

  /** Of the heartbeats counted now, the tokens of those sent as urgent requests. */
  get urgentUsed(): number {
    return this.held.urgentUsed;
  }

  /** Tokens that must stay free after the first heartbeat of a switch. */
  leftBehind(heartbeat: HeartbeatDemand, weight: number): number {
    const kept = this.getKeptForOthers(heartbeat.of) + countHeartbeatTokens(this.windowMs, heartbeat, weight);
    return Math.max(0, kept - this.held.used - weight);
  }

  /** Keeps tokens for a switch that is to be armed; true where none were kept for it yet. */
  claim(heartbeat: HeartbeatDemand, weight: number, now: number): boolean {
    if (heartbeat.reads || this.armed.has(heartbeat.of)) return false;
    this.renew(heartbeat, weight, now);
    return true;
  }

  /** Tokens kept for the switches of all accounts but `of`. */
  getKeptForOthers(of: string): number {
    return this.kept - (this.armed.get(of)?.tokens ?? 0);
  }

  /**
   * A heartbeat or reading is sent; false where it uses none of the tokens kept. Those are for one heartbeat in each interval, and
   * one that repeats another, which got no readable answer, must not use up those of the next.
   */
  begin(heartbeat: HeartbeatDemand, weight: number, urgent: boolean, now: number): boolean {
    const isRepeated = !heartbeat.reads && now - this.getRenewedAt(heartbeat) < heartbeat.everyMs / 2;
    if (!heartbeat.reads) this.renew(heartbeat, weight, now);
    if (!isRepeated) this.held.add(weight, urgent);
    return !isRepeated;
  }

  add(weight: number, urgent: boolean): void {
    this.held.add(weight, urgent);
  }

  end(weight: number, urgent: boolean): void {
    this.held.remove(weight, urgent);
  }

  hold(weight: number, urgent: boolean, until: number): void {
    this.held.keep(weight, urgent, until);
  }

  release(of: string): void {
    this.kept = this.getKeptForOthers(of);
    this.armed.delete(of);
  }

  advance(now: number): void {
    this.held.advance(now);
    for (const [of, { until }] of this.armed) if (until <= now) this.release(of);
  }

  save(): SavedHeartbeats {
    return { armed: [...this.armed].map(([of, { tokens, until }]) => [of, tokens, until]), held: this.held.save() };
  }

  restore({ armed, held }: SavedHeartbeats): void {
    for (const [of, tokens, until] of armed) this.keepFor(of, tokens, until);
    this.held.restore(held);
  }

  private getRenewedAt({ of, timeoutMs }: HeartbeatDemand): number {
    return (this.armed.get(of)?.until ?? Number.NEGATIVE_INFINITY) - this.windowMs - timeoutMs;
  }

  private renew(heartbeat: HeartbeatDemand, weight: number, now: number): void {
    this.keepFor(
      heartbeat.of,
      countHeartbeatTokens(this.windowMs, heartbeat, weight),
      now + this.windowMs + heartbeat.timeoutMs,
    );
  }

  private keepFor(of: string, tokens: number, until: number): void {
    this.kept = this.getKeptForOthers(of) + tokens;
    this.armed.set(of, { tokens, until });
  }
}

/** What the heartbeats and reads of a switch cost in a window: one more of each than fit, because the first is held before it is sent. */
function countHeartbeatTokens(
  windowMs: number,
  { everyMs, timeoutMs, readWeight, sessionWeight }: HeartbeatRhythm,
  weight: number,
): number {
  const countSent = (pauseMs: number) => (pauseMs > 0 ? Math.ceil(windowMs / pauseMs) + 1 : 1);
  return weight * countSent(everyMs) + readWeight * countSent(chooseDeadmanReadPauseMs(timeoutMs)) + sessionWeight;
}

interface HeartbeatNeed extends HeartbeatRhythm {
  readonly limit: number;
  readonly reserve: number;
  readonly windowMs: number;
  /** Of one heartbeat. */
  readonly weight: number;
  /** Kept for other switches of the address. */
  readonly others?: number;
}

/** Says why the token limit cannot carry a switch; undefined where it can. */
export function describeOvercommitment({
  limit,
  reserve,
  windowMs,
  weight,
  others = 0,
  ...rhythm
}: HeartbeatNeed): string | undefined {
  const own = countHeartbeatTokens(windowMs, rhythm, weight);
  if (own + others + reserve + HEAVIEST <= limit) return undefined;
  const session = rhythm.sessionWeight > 0 ? ' and a renewal of the session' : '';
  const beside = others === 0 ? '' : `, and other switches of the address need ${others}`;
  return `heartbeats every ${formatSpan(rhythm.everyMs)}, with a read every ${formatSpan(chooseDeadmanReadPauseMs(rhythm.timeoutMs))}${session}, need ${own} tokens in ${formatSpan(windowMs)}${beside}; of the limit of ${limit}, ${Math.max(0, limit - reserve - HEAVIEST)} are available for heartbeats. Use a longer timeout or keep_alive`;
}
