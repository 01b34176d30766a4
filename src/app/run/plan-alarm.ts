/**
 * Reports the requests of a run that go beyond the bounds of its approved plan and are sent all the same: cancels, heartbeats,
 * look-ups and confirming reads. To leave them out would be the worse mistake; that there are so many is for a person to know.
 */
import type { ApprovedBounds, Entry } from '../../journal/entry.ts';
import type { PassedRounds } from '../../journal/rounds/passed-rounds.ts';

export class PlanAlarm {
  private readonly report: (text: string) => void;
  private most: NonNullable<ApprovedBounds['requests']> = {};
  /** Bounds hold from one start to the run's end; each resume may make as many again. */
  private starts = 1;
  private readonly endpoints = new Map<string, string>();
  private readonly sent = new Map<string, number>();
  private readonly reported = new Set<string>();

  constructor(report: (text: string) => void) {
    this.report = report;
  }

  /** Applies one entry; call it in the sequence of the journal. `recorded`: it was reported by the process that wrote it. */
  apply(entry: Entry, { recorded = false } = {}): void {
    if (entry.type === 'run.started') this.most = entry.data.bounds?.requests ?? {};
    if (entry.type === 'run.resumed') this.starts += 1;
    if (entry.type === 'call.intended') this.endpoints.set(entry.data.call, entry.data.endpoint);
    if (entry.type === 'call.settled') this.endpoints.delete(entry.data.call);
    if (entry.type !== 'call.attempted') return;
    const endpoint = this.endpoints.get(entry.data.call);
    const beyond = endpoint === undefined ? undefined : this.count(endpoint, 1);
    if (beyond !== undefined && !recorded) this.report(`run ${entry.run} ${beyond}`);
  }

  /** Counts the requests of recorded rounds that are passed over. */
  pass({ requests }: PassedRounds): void {
    for (const [endpoint, count] of requests) this.count(endpoint, count);
  }

  /** What is to be reported, once. */
  private count(endpoint: string, by: number): string | undefined {
    const most = this.most[endpoint];
    if (most === undefined) return undefined;
    const count = (this.sent.get(endpoint) ?? 0) + by;
    this.sent.set(endpoint, count);
    if (count <= most * this.starts || this.reported.has(endpoint)) return undefined;
    this.reported.add(endpoint);
    return `has sent ${count} requests ${endpoint}, and its approved plan has at most ${most}`;
  }
}
