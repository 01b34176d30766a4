/**
 * Tokens kept for the beats of the deadman switches that are armed, of every run of the address: a beat that waits for tokens
 * cancels every order of its account. What is kept is what the beats of one window cost, and the readings that tell whether
 * the switch still stands, less those that are counted in it already. A switch is forgotten when it is given back, or when nothing has renewed it for longer than a window: its process
 * has died then, or its orders renew it, and the next beat keeps its tokens again.
 */
import { formatSpan } from '../../base/format.ts';
import { deadmanReadEveryMs } from '../deadman.ts';
import { type SavedTokenHolds, TokenHolds } from './holds.ts';

/** How often a switch is heard of. */
interface HeartbeatRhythm {
  /** How often a beat is sent at most, ms; 0 where none follows. */
  readonly everyMs: number;
  /** When the switch fires without one, ms. */
  readonly timeoutMs: number;
  /** What it costs to read the switch back, which is done every few time-outs. */
  readonly readWeight: number;
}

/** A request that renews a switch, and is followed by others. */
export interface HeartbeatDemand extends HeartbeatRhythm {
  /** Whose switch it is: the account, for that has one. */
  readonly of: string;
  /** It reads a switch back that stands, and renews nothing. */
  readonly reads?: true;
}

export interface SavedHeartbeats {
  readonly armed: readonly (readonly [of: string, tokens: number, until: number])[];
  readonly held: SavedTokenHolds;
}

/** An ordinary request must find so many tokens beside the beats, or none would ever be sent: the costliest of the document. */
const HEAVIEST = 20;

export class HeartbeatReserve {
  /** What all beats of a window cost. */
  kept = 0;
  private readonly windowMs: number;
  private readonly held: TokenHolds;
  private readonly armed = new Map<string, { readonly tokens: number; readonly until: number }>();

  constructor(windowMs: number) {
    this.windowMs = windowMs;
    this.held = new TokenHolds(windowMs / 1200);
  }

  /** What must be free for the beats that are still to come within a window. */
  get left(): number {
    return Math.max(0, this.kept - this.held.used);
  }

  /** Of the beats counted now, the tokens of those that went as urgent requests. */
  get urgentUsed(): number {
    return this.held.urgentUsed;
  }

  /** What must be free behind the first beat of a switch. */
  leftBehind(beat: HeartbeatDemand, weight: number): number {
    const kept = this.others(beat.of) + heartbeatTokens(this.windowMs, beat, weight);
    return Math.max(0, kept - this.held.used - weight);
  }

  /** True where nothing was kept for the switch. */
  claim(beat: HeartbeatDemand, weight: number, now: number): boolean {
    if (beat.reads || this.armed.has(beat.of)) return false;
    this.renew(beat, weight, now);
    return true;
  }

  /** What is kept for other switches than that of `of`. */
  others(of: string): number {
    return this.kept - (this.armed.get(of)?.tokens ?? 0);
  }

  began(beat: HeartbeatDemand, weight: number, urgent: boolean, now: number): void {
    this.held.add(weight, urgent);
    if (!beat.reads) this.renew(beat, weight, now);
  }

  add(weight: number, urgent: boolean): void {
    this.held.add(weight, urgent);
  }

  ended(weight: number, urgent: boolean): void {
    this.held.remove(weight, urgent);
  }

  keep(weight: number, urgent: boolean, until: number): void {
    this.held.keep(weight, urgent, until);
  }

  standDown(of: string): void {
    this.kept = this.others(of);
    this.armed.delete(of);
  }

  advance(now: number): void {
    this.held.advance(now);
    for (const [of, { until }] of this.armed) if (until <= now) this.standDown(of);
  }

  save(): SavedHeartbeats {
    return { armed: [...this.armed].map(([of, { tokens, until }]) => [of, tokens, until]), held: this.held.save() };
  }

  restore({ armed, held }: SavedHeartbeats): void {
    for (const [of, tokens, until] of armed) this.keepFor(of, tokens, until);
    this.held.restore(held);
  }

  private renew(beat: HeartbeatDemand, weight: number, now: number): void {
    this.keepFor(beat.of, heartbeatTokens(this.windowMs, beat, weight), now + this.windowMs + beat.timeoutMs);
  }

  private keepFor(of: string, tokens: number, until: number): void {
    this.kept = this.others(of) + tokens;
    this.armed.set(of, { tokens, until });
  }
}

/** What the beats of a switch cost in a window, and its readings: one more of each than fit, for the first is held from before it is sent. */
function heartbeatTokens(
  windowMs: number,
  { everyMs, timeoutMs, readWeight }: HeartbeatRhythm,
  weight: number,
): number {
  const sent = (pauseMs: number) => (pauseMs > 0 ? Math.ceil(windowMs / pauseMs) + 1 : 1);
  return weight * sent(everyMs) + readWeight * sent(deadmanReadEveryMs(timeoutMs));
}

interface HeartbeatNeed extends HeartbeatRhythm {
  readonly limit: number;
  readonly reserve: number;
  readonly windowMs: number;
  /** Of one beat. */
  readonly weight: number;
  /** Kept for other switches of the address. */
  readonly others?: number;
}

/** The sentence why a limit can not carry a switch; undefined where it can. */
export function overcommitted({
  limit,
  reserve,
  windowMs,
  weight,
  others = 0,
  ...rhythm
}: HeartbeatNeed): string | undefined {
  const own = heartbeatTokens(windowMs, rhythm, weight);
  if (own + others + reserve + HEAVIEST <= limit) return undefined;
  const beside = others === 0 ? '' : `, and other switches of the address ${others}`;
  return `beats every ${formatSpan(rhythm.everyMs)}, with a reading every ${formatSpan(deadmanReadEveryMs(rhythm.timeoutMs))}, need ${own} tokens in ${formatSpan(windowMs)}${beside}; of the limit of ${limit} there are ${Math.max(0, limit - reserve - HEAVIEST)} for beats. A longer timeout or keep_alive needs fewer`;
}
