/**
 * Decides from the journal whether the deadman switch may have fired. Checked directly before an order is sent, because the
 * order may have waited longer than the switch lasts (for tokens, or because its process died and was replaced). The heartbeat
 * arms and renews the switch; this only blocks orders.
 */
import type { DataOf, Entry } from '../../journal/entry.ts';
import { getEndpoint, isEndpointName } from '../../venue/catalogue.ts';

export class DeadmanFacts {
  private readonly intended = new Map<string, string>();
  private timeoutMs: number | undefined;
  private fired = false;
  /** When the latest qualifying request that succeeded was sent, epoch ms. */
  private since = Number.NEGATIVE_INFINITY;

  /** Applies one entry of the run; call it in the order of the journal. */
  apply(entry: Entry): void {
    switch (entry.type) {
      case 'call.intended':
        if (isEndpointName(entry.data.endpoint) && getEndpoint(entry.data.endpoint).qualifies)
          this.intended.set(entry.data.call, entry.data.endpoint);
        return;
      case 'call.settled':
        if (this.intended.delete(entry.data.call) && entry.data.kind === 'confirmed')
          this.since = Math.max(this.since, entry.data.sentAt ?? entry.at);
        return;
      case 'deadman.moved':
        this.applyMove(entry.data);
        return;
      case 'run.resumed':
        if (entry.data.away?.by === 'wall') this.fired = true;
        return;
      default:
        return;
    }
  }

  /** Gives the time since which the switch may have fired, epoch ms; undefined when it is armed, or was not requested. */
  lapsedAt(now: number): number | undefined {
    if (this.timeoutMs === undefined) return undefined;
    const until = this.since + this.timeoutMs;
    return this.fired || now > until ? Math.min(until, now) : undefined;
  }

  private applyMove({ event, timeoutMs, because }: DataOf<'deadman.moved'>): void {
    // A switch that a step arms is the runbook's own responsibility: no heartbeat renews it.
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
