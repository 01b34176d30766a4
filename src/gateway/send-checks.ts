/**
 * Decides whether a call may be sent now: limits, the age of its decision, the lease, cancel_all in progress, kill switch,
 * deadman switch, and that its step still needs it. The client asks before tokens, after them, and after the attempt is durable.
 */
import { formatSpan } from '../base/format.ts';
import { type EndpointName, getEndpoint } from '../venue/catalogue.ts';
import { type LimitRules, type LimitVerdict, tighter } from '../venue/limits/check.ts';
import { STEP_ENDED, type VenueCall } from '../venue/port.ts';
import type { CancelAllBarrier } from './cancel-all-barrier.ts';
import type { ClientParts } from './client-parts.ts';
import type { Ticket } from './tokens/budget.ts';

/** Oldest decision under which an order may still be sent, ms; an order waits no longer for its tokens either. */
const STALE_AFTER_MS = 60_000;

export class SendChecks {
  private readonly parts: ClientParts;
  private readonly barrier: CancelAllBarrier;

  constructor(parts: ClientParts, barrier: CancelAllBarrier) {
    this.parts = parts;
    this.barrier = barrier;
  }

  checkLimits(call: VenueCall): { code: string; message: string } | undefined {
    const { log } = this.parts;
    const verdict = this.applyLimits(call);
    if (verdict.ok) {
      if (Object.keys(verdict.considered).length > 0)
        log.append('call.checked', { call: call.id, limits: verdict.considered }, call.step);
      return undefined;
    }
    return { code: verdict.code, message: verdict.message };
  }

  /**
   * Waits until the lease is certain. Never resolves when another process acts for the account: that process has this run as
   * well, and nothing that this one would still do or write counts.
   */
  private async awaitLease(call: VenueCall, ticket: Ticket): Promise<void> {
    const { lease } = this.parts;
    const harmless = getEndpoint(call.endpoint).method === 'GET' || maySkipJournal(call);
    if (lease === undefined || (await lease.holds(harmless))) return;
    ticket.notSent();
    await new Promise(() => {});
  }

  /** Resolves when this process acts for the account and, for a new order, no cancel_all is in progress. */
  async waitUntilAllowed(call: VenueCall, ticket: Ticket): Promise<void> {
    const isNew = isOrder(call);
    do {
      if (isNew) await Promise.race([this.barrier.opens(), awaitWithdrawal(call)]);
      await this.awaitLease(call, ticket);
    } while (isNew && this.barrier.isClosed && call.wanted?.withdrawn === undefined);
  }

  /** Finds why the call may not be sent now: its step has ended, a kill switch is engaged, or the deadman switch may have fired. */
  findObstacle(call: VenueCall): string | undefined {
    const withdrawn = call.wanted?.withdrawn;
    if (withdrawn !== undefined) return `${STEP_ENDED}: it was not sent before its step ended: ${withdrawn}`;
    const { method, protective } = getEndpoint(call.endpoint);
    const { forbidden, gate, clock } = this.parts;
    return forbidden?.(protective || method === 'GET') ?? gate.describeLapse(call, clock.now());
  }

  findDenial(call: VenueCall): string | undefined {
    const verdict = this.applyLimits(call);
    return verdict.ok ? undefined : verdict.message;
  }

  private applyLimits(call: VenueCall): LimitVerdict {
    const { profile, clock, gate } = this.parts;
    const rules: LimitRules = call.limits === undefined ? profile.limits : tighter(profile.limits, call.limits);
    return gate.check(call, rules, clock.now());
  }

  /**
   * Describes why a call decided by a process that died must not be sent any more: the market has moved since, and a
   * cancel_all would cancel orders that others have placed since.
   */
  describeStaleness(call: { readonly endpoint: EndpointName; readonly decidedAt?: number }): string | undefined {
    const { clock, profile } = this.parts;
    const { decidedAt } = call;
    const isSweeping = call.endpoint === 'DELETE /orders/cancel_all';
    if (decidedAt === undefined || !(isOrder(call) || isSweeping)) return undefined;
    const age = clock.now() - decidedAt;
    if (age <= (isSweeping ? profile.ambiguityWindowMs : STALE_AFTER_MS)) return undefined;
    const when = Number.isFinite(age) ? `${formatSpan(age)} ago` : 'an unknown time ago';
    return `it was decided ${when}, by a process that died before it was ${isSweeping ? 'answered' : 'sent'}`;
  }
}

/**
 * True for requests that are sent even when the journal cannot be written: cancels, and heartbeats of an armed switch. Arming or
 * disarming the deadman switch needs an entry, as an order does, because `resume` relies on it.
 */
export function maySkipJournal(call: { readonly endpoint: EndpointName; readonly purpose?: string }): boolean {
  if (call.endpoint === 'DELETE /cancel_all_after') return false;
  if (call.endpoint === 'POST /cancel_all_after') return call.purpose === 'keep-alive';
  return getEndpoint(call.endpoint).protective;
}

function isOrder(call: { readonly endpoint: EndpointName }): boolean {
  return call.endpoint === 'POST /orders' || call.endpoint === 'PUT /orders';
}

/** Resolves when the call is withdrawn; never for a call that cannot be. */
function awaitWithdrawal(call: Pick<VenueCall, 'wanted'>): Promise<void> {
  const { wanted } = call;
  if (wanted?.withdrawn !== undefined) return Promise.resolve();
  return new Promise((resolve) => void wanted?.onWithdrawn(resolve));
}
