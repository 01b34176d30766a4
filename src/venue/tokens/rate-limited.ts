/**
 * What refusals for want of tokens teach: which weights must wait, for how long, and when one request may try the venue
 * alone. A refused 20-token read must not stop a 1-token cancel, so a refusal stands in the way of its own weight and
 * heavier ones only; and one of an ordinary request never stands in the way of urgent ones (fault-matrix.md, row 10).
 */

/** What the venue said of when to try again, ms from then. */
export interface RetryHint {
  readonly retryAfterMs?: number | undefined;
  readonly resetInMs?: number | undefined;
}

/** Nothing of this weight or more before `until`, and then one request alone, until the venue grants one. */
interface Gate {
  readonly weight: number;
  readonly urgent: boolean;
  readonly refusals: number;
  readonly until: number;
}

/** One request at a time that is sent although the venue's word is against it. */
interface Probe {
  readonly flight: string | undefined;
  readonly backoffMs: number;
  readonly notBefore: number;
}
type Lane = 'urgent' | 'ordinary';

export interface SavedRateLimited {
  readonly gates: readonly Gate[];
  /** A lane that has never probed is left out. */
  readonly probes: Partial<
    Record<Lane, { readonly flight?: string; readonly backoffMs: number; readonly notBefore: number }>
  >;
}

const REFUSAL_BACKOFF_MS = { base: 250, cap: 8_000 } as const;
/** Urgent probes stay under the two seconds that a cancel may wait (ARCHITECTURE.md, I10). */
const PROBE_BACKOFF_MS = { ordinary: { least: 250, most: 4_000 }, urgent: { least: 250, most: 1_500 } } as const;
/** A venue that asks for more is not believed (fault-matrix.md, row 11). */
const LONGEST_RETRY_AFTER_MS = 120_000;

const NO_PROBE: Probe = { flight: undefined, backoffMs: 250, notBefore: Number.NEGATIVE_INFINITY };

export class RateLimited {
  /** From 0 to 1: spreads the retries of many clients (full jitter). */
  private readonly random: () => number;
  private gates: readonly Gate[] = [];
  private readonly probes: Record<Lane, Probe> = { urgent: NO_PROBE, ordinary: NO_PROBE };

  constructor(random: () => number) {
    this.random = random;
  }

  /** Until when a request must wait for refusals; undefined where none concerns it. May lie in the past: then it is a probe. */
  gatedUntil(weight: number, urgent: boolean): number | undefined {
    let until: number | undefined;
    for (const gate of this.gates) {
      if (gate.weight > weight || (urgent && !gate.urgent)) continue;
      until = Math.max(until ?? gate.until, gate.until);
    }
    return until;
  }

  /**
   * The venue refused a request. Retry-After goes before our own back-off where it is longer; where it says only when the
   * bucket resets, the back-off ends there at the latest. No wait is as long as a reset that is far: most venues regain sooner.
   */
  refused(weight: number, urgent: boolean, { retryAfterMs, resetInMs }: RetryHint, now: number): void {
    const same = this.gates.find((gate) => gate.weight === weight && gate.urgent === urgent);
    const refusals = (same?.refusals ?? 0) + 1;
    const full = Math.min(REFUSAL_BACKOFF_MS.cap, REFUSAL_BACKOFF_MS.base * 2 ** (refusals - 1)) * this.random();
    const backoff = resetInMs !== undefined && resetInMs > 0 ? Math.min(full, resetInMs) : full;
    const asked = retryAfterMs !== undefined && retryAfterMs > 0 ? Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs) : 0;
    const gate: Gate = { weight, urgent, refusals, until: now + Math.max(backoff, asked) };
    this.gates = [...this.gates.filter((each) => each !== same), gate];
  }

  /** The venue granted a request: refusals of its weight and lighter ones are over, but a time the venue asked for stands. */
  granted(weight: number, now: number): void {
    if (this.gates.length > 0) this.gates = this.gates.filter((gate) => gate.weight > weight || gate.until > now);
  }

  /**
   * When the next probe may go; undefined while one is under way. An urgent one does not wait; an ordinary one gives the
   * venue's word against it (`wordAt`, if there is one) time to grow old.
   */
  probeAt(urgent: boolean, wordAt: number | undefined, underWay: (flight: string) => boolean): number | undefined {
    const probe = this.probes[laneOf(urgent)];
    if (probe.flight !== undefined && underWay(probe.flight)) return undefined;
    return urgent || wordAt === undefined ? probe.notBefore : Math.max(probe.notBefore, wordAt + probe.backoffMs);
  }

  probing(flight: string, urgent: boolean): void {
    this.probes[laneOf(urgent)] = { ...this.probes[laneOf(urgent)], flight };
  }

  /** The request ended; `granted: undefined` where it never left. */
  probed(flight: string, urgent: boolean, granted: boolean | undefined, now: number): void {
    const lane = laneOf(urgent);
    const probe = this.probes[lane];
    if (probe.flight !== flight) return;
    const { least, most } = PROBE_BACKOFF_MS[lane];
    if (granted === undefined) this.probes[lane] = { ...probe, flight: undefined };
    else if (granted) this.probes[lane] = { flight: undefined, backoffMs: least, notBefore: now };
    else
      this.probes[lane] = {
        flight: undefined,
        backoffMs: Math.min(most, probe.backoffMs * 2),
        notBefore: now + probe.backoffMs,
      };
  }

  save(): SavedRateLimited {
    const probes: { -readonly [K in keyof SavedRateLimited['probes']]: SavedRateLimited['probes'][K] } = {};
    for (const lane of ['urgent', 'ordinary'] as const) {
      const { flight, backoffMs, notBefore } = this.probes[lane];
      if (this.probes[lane] === NO_PROBE) continue;
      probes[lane] = { backoffMs, notBefore: Math.max(0, notBefore), ...(flight === undefined ? {} : { flight }) };
    }
    return { gates: this.gates, probes };
  }

  restore(saved: SavedRateLimited): void {
    this.gates = saved.gates;
    for (const lane of ['urgent', 'ordinary'] as const) {
      const probe = saved.probes[lane];
      if (probe !== undefined)
        this.probes[lane] = { flight: probe.flight, backoffMs: probe.backoffMs, notBefore: probe.notBefore };
    }
  }
}

function laneOf(urgent: boolean): Lane {
  return urgent ? 'urgent' : 'ordinary';
}
