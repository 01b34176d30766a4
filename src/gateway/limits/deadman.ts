/**
 * Whether the deadman switch certainly stands, folded from the journal: asked on the road itself, because an order can have
 * been on its way to it for longer than the switch lasts (it waited for tokens, or its process died and another one goes on).
 * The keeper arms and renews; this only says no.
 */
import type { DataOf, Entry } from '../../journal/entry.ts';
import { endpoint, isEndpointName } from '../../venue/catalogue.ts';

export class DeadmanFacts {
  private readonly intended = new Map<string, string>();
  private timeoutMs: number | undefined;
  private fired = false;
  /** When the latest qualifying request that was answered with success was sent. */
  private since = Number.NEGATIVE_INFINITY;

  /** Takes in one entry of the run, in order. */
  apply(entry: Entry): void {
    switch (entry.type) {
      case 'call.intended':
        if (isEndpointName(entry.data.endpoint) && endpoint(entry.data.endpoint).qualifies)
          this.intended.set(entry.data.call, entry.data.endpoint);
        return;
      case 'call.settled':
        if (this.intended.delete(entry.data.call) && entry.data.kind === 'confirmed')
          this.since = Math.max(this.since, entry.data.sentAt ?? entry.at);
        return;
      case 'deadman.moved':
        this.moved(entry.data);
        return;
      case 'run.resumed':
        if (entry.data.away?.by === 'wall') this.fired = true;
        return;
      default:
        return;
    }
  }

  /** Since when it may have fired (epoch ms); undefined where it stands, or where nobody asked for it. */
  lapsedAt(now: number): number | undefined {
    if (this.timeoutMs === undefined) return undefined;
    const until = this.since + this.timeoutMs;
    return this.fired || now > until ? Math.min(until, now) : undefined;
  }

  private moved({ event, timeoutMs, because }: DataOf<'deadman.moved'>): void {
    // A switch that a step arms by hand is that runbook's own affair: nobody keeps it.
    if (because === 'arm_deadman' || because === 'disarm_deadman') return;
    if (event === 'armed' || event === 'renewed') {
      this.timeoutMs = timeoutMs;
      this.fired = false;
    } else if (event === 'disarmed') {
      this.timeoutMs = undefined;
    } else {
      this.fired = true;
    }
  }
}
