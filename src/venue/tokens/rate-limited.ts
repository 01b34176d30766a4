/**
 * Holds requests back after the venue refused one for want of tokens: which weights must wait, how long, and when a single
 * request may probe the venue. A refused 20-token read must not stop a 1-token cancel, so a refusal holds back only its own
 * weight and heavier ones, and the refusal of an ordinary request never holds back urgent ones (fault-matrix.md, row 10).
 */

/** When the venue allows another try, ms from its answer. */
export interface RetryHint {
  readonly retryAfterMs?: number | undefined;
  readonly resetInMs?: number | undefined;
}

/** Nothing of this weight or more is sent before `until`, and after that one request at a time, until the venue grants one. */
interface Gate {
  readonly weight: number;
  readonly urgent: boolean;
  readonly refusals: number;
  readonly until: number;
}

/** The one request that is in flight although the venue's last reading speaks against it. */
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
/** The back-off of urgent probes stays below the two seconds that a cancel may wait (ARCHITECTURE.md, I10). */
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

  /** Until when earlier refusals hold a request back; undefined where none concerns it. In the past, the request is a probe. */
  findGateEnd(weight: number, urgent: boolean): number | undefined {
    let until: number | undefined;
    for (const gate of this.gates) {
      if (gate.weight > weight || (urgent && !gate.urgent)) continue;
      until = Math.max(until ?? gate.until, gate.until);
    }
    return until;
  }

  /**
   * The venue refused a request. Retry-After takes precedence over our own back-off where it is longer. Where the venue gives
   * only a reset, the back-off ends at the reset at the latest, but does not last until a far one: most venues regain sooner.
   * Requests that were in flight together may all be refused: no refusal shortens the wait after another.
   */
  noteRefused(weight: number, urgent: boolean, { retryAfterMs, resetInMs }: RetryHint, now: number): void {
    const same = this.gates.find((gate) => gate.weight === weight && gate.urgent === urgent);
    const refusals = (same?.refusals ?? 0) + 1;
    const full = Math.min(REFUSAL_BACKOFF_MS.cap, REFUSAL_BACKOFF_MS.base * 2 ** (refusals - 1)) * this.random();
    const backoff = resetInMs !== undefined && resetInMs > 0 ? Math.min(full, resetInMs) : full;
    const asked = retryAfterMs !== undefined && retryAfterMs > 0 ? Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs) : 0;
    const until = Math.max(same?.until ?? now, now + Math.max(backoff, asked));
    const gate: Gate = { weight, urgent, refusals, until };
    this.gates = [...this.gates.filter((each) => each !== same), gate];
  }

  /** The venue granted a request: refusals of its weight and lighter ones are over, except where a requested wait still runs. */
  noteGranted(weight: number, now: number): void {
    if (this.gates.length > 0) this.gates = this.gates.filter((gate) => gate.weight > weight || gate.until > now);
  }

  /**
   * When the next probe may be sent; undefined while one is in flight. An urgent probe does not wait; an ordinary one waits
   * until the reading that speaks against it (taken at `readingAt`, if there is one) is old enough.
   */
  findProbeAt(
    urgent: boolean,
    readingAt: number | undefined,
    isInFlight: (request: string) => boolean,
  ): number | undefined {
    const probe = this.probes[getLane(urgent)];
    if (probe.flight !== undefined && isInFlight(probe.flight)) return undefined;
    return urgent || readingAt === undefined ? probe.notBefore : Math.max(probe.notBefore, readingAt + probe.backoffMs);
  }

  beginProbe(flight: string, urgent: boolean): void {
    this.probes[getLane(urgent)] = { ...this.probes[getLane(urgent)], flight };
  }

  /** The request ended; `granted: undefined` where it was never sent. */
  endProbe(flight: string, urgent: boolean, granted: boolean | undefined, now: number): void {
    const lane = getLane(urgent);
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

function getLane(urgent: boolean): Lane {
  return urgent ? 'urgent' : 'ordinary';
}
