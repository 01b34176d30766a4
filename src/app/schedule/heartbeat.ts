/**
 * Asks for a URL at intervals while an account is served. The service behind it raises an alarm when it is not asked for in time: no
 * alarm of this program arrives once the machine, its network or the program itself is gone.
 */
export interface HeartbeatParts {
  readonly everyMs: number;
  readonly clock: { monotonic(): number };
  /** Asks once; resolves to why it did not succeed, and never rejects. */
  readonly ask: () => Promise<string | undefined>;
  readonly report: (problem: string | undefined) => void;
}

export class Heartbeat {
  private readonly parts: HeartbeatParts;
  private dueMs = Number.NEGATIVE_INFINITY;
  private isUnderWay = false;

  constructor(parts: HeartbeatParts) {
    this.parts = parts;
  }

  /** Called while the account is served and healthy; asks when it is time. Nothing waits for the answer. */
  askIfDue(): void {
    const { clock, everyMs, ask, report } = this.parts;
    if (this.isUnderWay || clock.monotonic() < this.dueMs) return;
    this.dueMs = clock.monotonic() + everyMs;
    this.isUnderWay = true;
    void ask().then((problem) => {
      this.isUnderWay = false;
      report(problem);
    });
  }
}
