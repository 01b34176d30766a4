import { formatCount } from '../base/format.ts';
import { type EndpointName, getEndpoint } from '../venue/catalogue.ts';
import {
  type CallOutcome,
  type FeedValue,
  type MarketRules,
  NOT_RECORDED,
  type RequestOutcome,
  STALE_INTENT,
  STEP_ENDED,
  SWEEP,
  type VenueCall,
  type VenuePort,
} from '../venue/port.ts';
import type { HeartbeatDemand } from '../venue/tokens/heartbeat-reserve.ts';
import { readAnswer } from '../venue/wire/answer.ts';
import { findRequestProblems } from '../venue/wire/bounds.ts';
import { toWireRequest } from '../venue/wire/request.ts';
import {
  type Attempt,
  buildAttempt,
  buildSettled,
  endTicket,
  redactParams,
  selectRateHeaders,
} from './call-entries.ts';
import { decideOutcome } from './call-outcome.ts';
import { CancelAllBarrier } from './cancel-all-barrier.ts';
import type { ClientParts } from './client-parts.ts';
import { type CrashPoint, toCrashPoint } from './crash-points.ts';
import { sendDeclared } from './declared-call.ts';
import { maySkipJournal, SendChecks } from './send-checks.ts';
import type { Budget, Ticket } from './tokens/budget.ts';
import type { WireAnswer, WireReply } from './transport.ts';
import { EXCHANGE_TIMEOUT_MS } from './transport.ts';

export class VenueClient implements VenuePort {
  readonly markets: readonly string[];
  private readonly parts: ClientParts;
  private readonly barrier: CancelAllBarrier;
  private readonly checks: SendChecks;

  constructor(parts: ClientParts) {
    this.parts = parts;
    this.barrier = parts.barrier ?? new CancelAllBarrier();
    this.checks = new SendChecks(parts, this.barrier);
    this.markets = Object.keys(parts.markets);
  }

  market(id: string): MarketRules | undefined {
    return Object.hasOwn(this.parts.markets, id) ? this.parts.markets[id] : undefined;
  }

  call<E extends EndpointName>(call: VenueCall<E>): Promise<CallOutcome<E>> {
    const { log } = this.parts;
    this.reached('CP0', call);
    log.append(
      'call.intended',
      {
        call: call.id,
        endpoint: call.endpoint,
        params: redactParams(call.endpoint, call.params),
        class: call.class,
        ...(call.intent === undefined ? {} : { intent: call.intent }),
        ...(call.clientOrderId === undefined ? {} : { clientOrderId: call.clientOrderId }),
        ...(call.purpose === undefined ? {} : { purpose: call.purpose }),
        ...(call.reference === undefined ? {} : { reference: call.reference.price }),
      },
      call.step,
    );
    this.reached('CP1', call);
    return this.barred(call, this.proceed(call, 0));
  }

  /**
   * Settles a call that an earlier process intended. A call that was not attempted is sent now; one that only reads or is
   * harmless to repeat is sent again; any other is `unresolved`.
   */
  continueCall<E extends EndpointName>(call: VenueCall<E>, attempts: number): Promise<CallOutcome<E>> {
    const repeatable = getEndpoint(call.endpoint).repeatable;
    const stale =
      attempts > 0 && call.endpoint === 'DELETE /orders/cancel_all' ? this.checks.describeStaleness(call) : undefined;
    if (stale !== undefined) {
      const message = `${STALE_INTENT}: ${stale}. The venue may or may not have done it. Check the open orders there and cancel by hand`;
      return this.settle(call, {
        kind: 'unresolved',
        code: STALE_INTENT,
        message,
        settledAt: this.parts.clock.now(),
      });
    }
    if (attempts === 0 || repeatable === 'safe' || repeatable === 'effect')
      return this.barred(call, this.proceed(call, attempts));
    return this.settle(call, {
      kind: 'unresolved',
      message: 'the process ended before the answer',
      settledAt: this.parts.clock.now(),
    });
  }

  keepOrdersBack(until: Promise<unknown>): void {
    void this.barrier.during(until).catch(() => {});
  }

  async feed(name: string, key: string | undefined, step: string): Promise<FeedValue | undefined> {
    const { feeds, log } = this.parts;
    const value = await feeds.read(name, key, step);
    await this.turn();
    const call = `${step}#feed:${name}${key === undefined ? '' : `:${key}`}`;
    log.append(
      'feed.read',
      {
        call,
        name,
        ...(key === undefined ? {} : { key }),
        ...(value === undefined ? {} : { value: value.value, at: value.at }),
      },
      step,
    );
    return value;
  }

  request(name: string, params: Readonly<Record<string, string>>, id: string, step: string): Promise<RequestOutcome> {
    return sendDeclared(this.parts, { name, params, id, step });
  }

  private async proceed<E extends EndpointName>(call: VenueCall<E>, attempts: number): Promise<CallOutcome<E>> {
    const row = getEndpoint(call.endpoint);
    const problems = findRequestProblems(
      call.endpoint,
      call.params as Readonly<Record<string, unknown>>,
      this.parts.profile,
    );
    if (problems.length > 0) return this.deny(call, 'INVALID_REQUEST', `INVALID_REQUEST: ${problems.join('; ')}`);
    const stale = this.checks.describeStaleness(call);
    if (stale !== undefined) return this.deny(call, STALE_INTENT, `${STALE_INTENT}: ${stale}`);
    if (
      call.purpose === SWEEP &&
      this.parts.transport.knows?.(toWireRequest(call.endpoint, call.params, this.parts.profile)) === false
    )
      return this.deny(call, NOT_RECORDED, `${NOT_RECORDED}: the recording has no such exchange`);
    const denial = this.checks.checkLimits(call);
    if (denial !== undefined) return this.deny(call, denial.code, denial.message);
    const { budget, session, confirm, profile } = this.parts;
    // Protective requests never wait for a person: a late heartbeat lets the switch fire, a late cancel lets an order fill.
    const isAsked = row.method !== 'GET' && !row.protective;
    if (isAsked && confirm !== undefined && !(await confirm(call as unknown as VenueCall))) {
      return this.deny(call, 'NOT_CONFIRMED', 'NOT_CONFIRMED: the person at the terminal said no');
    }
    for (let n = attempts + 1; ; n += 1) {
      if (session !== undefined && !(await session.ready())) {
        return this.settle(call, this.rejection('unauthorized', 'the session could not be renewed'));
      }
      this.reached('CP2', call);
      const weight = budget.weightOf(call.endpoint);
      const granted = await budget.acquire({
        endpoint: call.endpoint,
        weight,
        class: call.class,
        ...(call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt }),
        ...(call.wanted === undefined ? {} : { wanted: call.wanted }),
        ...buildHeartbeatDemand(call, profile.account, budget),
      });
      if (granted.kind === 'refused' && granted.code === 'HEARTBEAT_TOKENS')
        return this.deny(call, granted.code, `${granted.code}: ${granted.because}`);
      if (granted.kind === 'refused' && granted.code === 'WITHDRAWN')
        return this.deny(call, STEP_ENDED, this.checks.findObstacle(call) ?? STEP_ENDED);
      if (granted.kind === 'refused') {
        const when = new Date(granted.earliestAt).toISOString();
        return this.deny(
          call,
          granted.code,
          `${granted.code}: ${formatCount(weight, 'token')} would not be free before ${when}`,
        );
      }
      await this.checks.waitUntilAllowed(call, granted.ticket);
      // Checked again, with no await before the attempt is written: an order of another branch may have come first.
      const obstacle = this.checks.findObstacle(call) ?? this.checks.findDenial(call);
      if (obstacle !== undefined) {
        granted.ticket.notSent();
        return this.deny(call, readCode(obstacle), obstacle);
      }
      const request = toWireRequest(call.endpoint, call.params, profile);
      const attempt = { n, request, tokens: weight, waitedMs: granted.waitedMs };
      const sent = await this.exchange(call, attempt, granted.ticket);
      if (call.endpoint === 'DELETE /cancel_all_after' && sent.outcome.kind === 'confirmed')
        budget.standDown(profile.account);
      if (sent.unauthorized && row.repeatable !== 'never' && n === attempts + 1 && (await session?.renew())) {
        if (sent.reply?.kind === 'answer') this.journalAnswer(call, n, sent.outcome, sent.reply);
        continue;
      }
      // A refused session is definite: the venue has no such order. The caller looks it up and sends it again with the same id.
      if (sent.unauthorized) await session?.renew();
      return this.settle(call, sent.outcome, sent.reply);
    }
  }

  private barred<E extends EndpointName>(
    call: VenueCall<E>,
    outcome: Promise<CallOutcome<E>>,
  ): Promise<CallOutcome<E>> {
    return call.endpoint === 'DELETE /orders/cancel_all' ? this.barrier.during(outcome) : outcome;
  }

  private async exchange<E extends EndpointName>(
    call: VenueCall<E>,
    attempt: Attempt,
    ticket: Ticket,
  ): Promise<{ outcome: CallOutcome<E>; unauthorized: boolean; reply?: WireReply }> {
    const { log, clock, transport, epoch, profile } = this.parts;
    const { request } = attempt;
    log.append('call.attempted', buildAttempt(call.id, attempt, epoch), call.step);
    this.reached('CP3', call);
    if (request.method !== 'GET') {
      try {
        await log.flush();
      } catch (error) {
        // Without a durable attempt no order is sent. Protective requests still go: a full disk must not keep an order open.
        if (!maySkipJournal(call)) {
          ticket.notSent();
          const message = `JOURNAL: ${error instanceof Error ? error.message : String(error)}`;
          return { outcome: { kind: 'denied', code: 'JOURNAL', message, settledAt: clock.now() }, unauthorized: false };
        }
      }
      // During a slow commit another process may have taken over, or a cancel_all may have begun.
      await this.checks.waitUntilAllowed(call, ticket);
      // The deadman switch may have fired too. The limits need no second check: they count this order since its attempt.
      const message = this.checks.findObstacle(call);
      if (message !== undefined) {
        ticket.notSent();
        const denied = { kind: 'denied', code: readCode(message), message, settledAt: clock.now() } as const;
        return { outcome: denied, unauthorized: false };
      }
    }
    this.reached('CP4', call);
    const sentAt = clock.now();
    ticket.sent();
    const timeoutMs = Math.min(EXCHANGE_TIMEOUT_MS, call.answerMs ?? EXCHANGE_TIMEOUT_MS);
    const reply = await transport.send(request, { timeoutMs });
    this.reached('CP10', call);
    const times = { sentAt, settledAt: clock.now() };
    if (reply.kind === 'failure') {
      endTicket(ticket, reply);
      const outcome: CallOutcome<E> = reply.sent
        ? { kind: 'unresolved', message: reply.message, ...times }
        : { kind: 'rejected', failure: 'transport', message: reply.message, definite: true, ...times };
      return { outcome, unauthorized: false, reply };
    }
    const verdict = readAnswer(call.endpoint, reply, profile);
    const limited = verdict.kind === 'refused' && verdict.limited;
    const hint =
      verdict.kind === 'refused' && verdict.retryAfterMs !== undefined ? { retryAfterMs: verdict.retryAfterMs } : {};
    ticket.answered(reply.headers, { limited, ...hint });
    const unauthorized = verdict.kind === 'refused' && verdict.unauthorized;
    return { outcome: decideOutcome(call, verdict, times), unauthorized, reply };
  }

  private async deny<E extends EndpointName>(
    call: VenueCall<E>,
    code: string,
    message: string,
  ): Promise<CallOutcome<E>> {
    await this.turn();
    return this.settle(call, { kind: 'denied', code, message, settledAt: this.parts.clock.now() });
  }

  /** Journals the answer to an attempt that another one follows; `call.settled` has only the last answer. */
  private journalAnswer<E extends EndpointName>(
    call: VenueCall<E>,
    n: number,
    outcome: CallOutcome<E>,
    reply: WireAnswer,
  ): void {
    const message = outcome.kind === 'confirmed' ? '' : outcome.message;
    const data = { call: call.id, n, status: reply.status, message, headers: selectRateHeaders(reply) };
    this.parts.log.append('call.answered', data, call.step);
  }

  private rejection(failure: 'unauthorized', message: string): Extract<CallOutcome, { kind: 'rejected' }> {
    return { kind: 'rejected', failure, message, definite: true, settledAt: this.parts.clock.now() };
  }

  private async settle<E extends EndpointName>(
    call: VenueCall<E>,
    outcome: CallOutcome<E>,
    reply?: WireReply,
  ): Promise<CallOutcome<E>> {
    if (reply === undefined) await this.turn();
    const { log } = this.parts;
    log.append('call.settled', buildSettled(call, outcome as CallOutcome, reply), call.step);
    this.reached('CP11', call);
    return outcome;
  }

  /** Reports the point that a call has reached, for simulations that crash there. */
  private reached<E extends EndpointName>(point: CrashPoint, call: VenueCall<E>): void {
    const { crashPoints, log } = this.parts;
    crashPoints?.reached(
      toCrashPoint(point, call as unknown as VenueCall, log.tracker.get(call.clientOrderId ?? '')),
      call as unknown as VenueCall,
    );
  }

  /** Continues in a turn of its own, as every outside event does, so that a replay can feed the result in at the same place. */
  private turn(): Promise<void> {
    return new Promise((resolve) => this.parts.clock.arrive(resolve));
  }
}

/** Reads the code at the beginning of a denial's message. */
function readCode(message: string): string {
  return message.split(':')[0] ?? 'FORBIDDEN';
}

/** Builds the demand for which the budget reserves tokens; an account has one switch. */
function buildHeartbeatDemand<E extends EndpointName>(
  call: VenueCall<E>,
  of: string,
  budget: Budget,
): { readonly heartbeat?: HeartbeatDemand } {
  const { timeout: timeoutMs = 0 } = call.params as { readonly timeout?: number };
  if (call.repeatsMs === undefined) return {};
  const reads = call.endpoint === 'GET /cancel_all_after' ? { reads: true as const } : {};
  const readWeight = budget.weightOf('GET /cancel_all_after');
  return { heartbeat: { of, everyMs: call.repeatsMs, timeoutMs, readWeight, ...reads } };
}
