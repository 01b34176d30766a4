/**
 * Sends every request to the venue. One path, top to bottom: validate, check limits, acquire tokens, journal the attempt, send,
 * classify the answer, journal the outcome, learn from the headers. It retries nothing that could become a second order.
 * call-outcome.ts decides the outcome of a call; call-entries.ts builds its journal entries.
 */
import type { Clock } from '../base/clock.ts';
import { formatCount, formatSpan } from '../base/format.ts';
import type { DataOf, EntryType, Json } from '../journal/entry.ts';
import type { OrderTracker } from '../journal/orders.ts';
import { type EndpointName, endpoint } from '../venue/catalogue.ts';
import { type LimitRules, type LimitVerdict, tighter } from '../venue/limits/check.ts';
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
import type { Profile } from '../venue/profile/profile.ts';
import type { HeartbeatDemand } from '../venue/tokens/heartbeat-reserve.ts';
import { readAnswer } from '../venue/wire/answer.ts';
import { requestProblems } from '../venue/wire/bounds.ts';
import { wireRequest } from '../venue/wire/request.ts';
import { type Attempt, attemptOf, buildSettled, rateHeaders, redactParams } from './call-entries.ts';
import { outcomeOf } from './call-outcome.ts';
import { CancelAllBarrier } from './cancel-all-barrier.ts';
import { type CrashPoint, type CrashPoints, toCrashPoint } from './crash-points.ts';
import type { LimitFactsFold } from './limits/facts.ts';
import type { Budget, Ticket } from './tokens/budget.ts';
import type { Transport, WireAnswer, WireReply, WireRequest } from './transport.ts';

/** Longest time for a whole exchange, ms; a later answer counts as none. */
const EXCHANGE_TIMEOUT_MS = 10_000;

/** Oldest decision under which an order may still be sent, ms; an order waits no longer for its tokens either. */
const STALE_AFTER_MS = 60_000;

/** The journal of the run; `flush` resolves when everything appended is durable. */
interface GatewayLog {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string): void;
  flush(): Promise<void>;
  readonly tracker: OrderTracker;
}

/** The session of a transport that needs one; simulated and recorded transports need none. */
export interface Session {
  /** Ensures a valid session before a request is sent. False when none can be obtained. */
  ready(): Promise<boolean>;
  /** Obtains a new session after the venue refused the old one, once for all callers. False when none can be obtained. */
  renew(): Promise<boolean>;
}

/** The source of feeds: the simulator, a fixture, or a request that the profile declares. */
export interface FeedSource {
  read(name: string, key: string | undefined, step: string): Promise<FeedValue | undefined>;
}

export interface ClientParts {
  readonly profile: Profile;
  readonly transport: Transport;
  readonly budget: Budget;
  readonly log: GatewayLog;
  readonly clock: Clock;
  /** Gets the entries of the run from the same source as the tracker. */
  readonly gate: LimitFactsFold;
  readonly feeds: FeedSource;
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly epoch: number;
  readonly session?: Session;
  /** Called before each attempt; resolves, once it is certain, to whether this process still acts for the account. */
  readonly lease?: { holds(harmless: boolean): Promise<boolean> };
  /** Gives the reason why nothing may be sent now, although the limits allow it: a kill switch is engaged. */
  readonly forbidden?: (protective: boolean) => string | undefined;
  /** Asks a person before each write that adds risk (`run --step`); false denies it. */
  readonly confirm?: (call: VenueCall) => Promise<boolean>;
  /** Shared by the runs of an account within a process; the client creates its own when absent. */
  readonly barrier?: CancelAllBarrier;
  /** Builds declared requests and reads their answers. */
  readonly requests?: RequestReader;
  /** Notified of the points that a call reaches; used by simulations only. */
  readonly crashPoints?: CrashPoints;
}

export interface RequestReader {
  wire(
    name: string,
    params: Readonly<Record<string, string>>,
  ): { readonly request: WireRequest; readonly tokens: number } | { readonly problem: string };
  read(name: string, answer: WireAnswer): { readonly result: unknown } | { readonly problem: string };
}

export class VenueClient implements VenuePort {
  readonly markets: readonly string[];
  private readonly parts: ClientParts;
  private readonly barrier: CancelAllBarrier;

  constructor(parts: ClientParts) {
    this.parts = parts;
    this.barrier = parts.barrier ?? new CancelAllBarrier();
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
    const repeatable = endpoint(call.endpoint).repeatable;
    const stale =
      attempts > 0 && call.endpoint === 'DELETE /orders/cancel_all' ? this.describeStaleness(call) : undefined;
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

  async request(
    name: string,
    params: Readonly<Record<string, string>>,
    id: string,
    step: string,
  ): Promise<RequestOutcome> {
    const { requests, log, budget, transport, clock, session } = this.parts;
    log.append('call.intended', { call: id, endpoint: `request ${name}`, params: { ...params }, class: 'read' }, step);
    const settle = (outcome: RequestOutcome, extra: Partial<DataOf<'call.settled'>> = {}): RequestOutcome => {
      const details =
        outcome.kind === 'confirmed'
          ? { result: outcome.result as Json }
          : {
              failure: outcome.failure,
              message: outcome.message,
              ...(outcome.retryAfterMs === undefined ? {} : { retryAfterMs: outcome.retryAfterMs }),
            };
      log.append('call.settled', { call: id, kind: outcome.kind, ...details, ...extra }, step);
      return outcome;
    };
    const wired = requests?.wire(name, params) ?? { problem: `this deployment declares no request named ${name}` };
    if ('problem' in wired) {
      await this.turn();
      return settle(
        { kind: 'denied', failure: 'denied', message: `UNKNOWN_REQUEST: ${wired.problem}` },
        { code: 'UNKNOWN_REQUEST' },
      );
    }
    if (session !== undefined && !(await session.ready())) {
      await this.turn();
      return settle({ kind: 'rejected', failure: 'transport', message: 'the session could not be renewed' });
    }
    const granted = await budget.acquire({
      endpoint: `GET ${wired.request.path}`,
      weight: wired.tokens,
      class: 'read',
    });
    if (granted.kind === 'refused') {
      await this.turn();
      return settle(
        { kind: 'denied', failure: 'denied', message: `${granted.code}: no tokens in time` },
        { code: granted.code },
      );
    }
    const attempt = { n: 1, request: wired.request, tokens: wired.tokens, waitedMs: granted.waitedMs };
    log.append('call.attempted', attemptOf(id, attempt, this.parts.epoch), step);
    granted.ticket.sent();
    const sentAt = clock.now();
    const reply = await transport.send(wired.request, { timeoutMs: EXCHANGE_TIMEOUT_MS });
    if (reply.kind === 'failure') {
      endTicket(granted.ticket, reply);
      return settle({ kind: 'unresolved', failure: 'transport', message: reply.message }, { sentAt });
    }
    granted.ticket.answered(reply.headers, { limited: reply.status === 429 });
    const read = requests?.read(name, reply) ?? { problem: 'no reader' };
    const success = !('problem' in read) && reply.status !== 429;
    const extra = { sentAt, status: reply.status, success, headers: rateHeaders(reply) };
    if (reply.status === 429)
      return settle({ kind: 'rejected', failure: 'rate_limited', message: 'the rate limit is exhausted' }, extra);
    if ('problem' in read) return settle({ kind: 'unresolved', failure: 'transport', message: read.problem }, extra);
    return settle({ kind: 'confirmed', result: read.result }, extra);
  }

  private async proceed<E extends EndpointName>(call: VenueCall<E>, attempts: number): Promise<CallOutcome<E>> {
    const row = endpoint(call.endpoint);
    const problems = requestProblems(
      call.endpoint,
      call.params as Readonly<Record<string, unknown>>,
      this.parts.profile,
    );
    if (problems.length > 0) return this.deny(call, 'INVALID_REQUEST', `INVALID_REQUEST: ${problems.join('; ')}`);
    const stale = this.describeStaleness(call);
    if (stale !== undefined) return this.deny(call, STALE_INTENT, `${STALE_INTENT}: ${stale}`);
    if (
      call.purpose === SWEEP &&
      this.parts.transport.knows?.(wireRequest(call.endpoint, call.params, this.parts.profile)) === false
    )
      return this.deny(call, NOT_RECORDED, `${NOT_RECORDED}: the recording has no such exchange`);
    const denial = this.checkLimits(call);
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
        return this.deny(call, STEP_ENDED, this.findObstacle(call) ?? STEP_ENDED);
      if (granted.kind === 'refused') {
        const when = new Date(granted.earliestAt).toISOString();
        return this.deny(
          call,
          granted.code,
          `${granted.code}: ${formatCount(weight, 'token')} would not be free before ${when}`,
        );
      }
      await this.waitUntilAllowed(call, granted.ticket);
      // Checked again, with no await before the attempt is written: an order of another branch may have come first.
      const obstacle = this.findObstacle(call) ?? this.findDenial(call);
      if (obstacle !== undefined) {
        granted.ticket.notSent();
        return this.deny(call, readCode(obstacle), obstacle);
      }
      const request = wireRequest(call.endpoint, call.params, profile);
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
    log.append('call.attempted', attemptOf(call.id, attempt, epoch), call.step);
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
      await this.waitUntilAllowed(call, ticket);
      // The deadman switch may have fired too. The limits need no second check: they count this order since its attempt.
      const message = this.findObstacle(call);
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
    return { outcome: outcomeOf(call, verdict, times), unauthorized, reply };
  }

  private checkLimits(call: VenueCall): { code: string; message: string } | undefined {
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
    const harmless = endpoint(call.endpoint).method === 'GET' || maySkipJournal(call);
    if (lease === undefined || (await lease.holds(harmless))) return;
    ticket.notSent();
    await new Promise(() => {});
  }

  /** Resolves when this process acts for the account and, for a new order, no cancel_all is in progress. */
  private async waitUntilAllowed(call: VenueCall, ticket: Ticket): Promise<void> {
    const isNew = isOrder(call);
    do {
      if (isNew) await Promise.race([this.barrier.opens(), awaitWithdrawal(call)]);
      await this.awaitLease(call, ticket);
    } while (isNew && this.barrier.isClosed && call.wanted?.withdrawn === undefined);
  }

  /** Finds why the call may not be sent now: its step has ended, a kill switch is engaged, or the deadman switch may have fired. */
  private findObstacle(call: VenueCall): string | undefined {
    const withdrawn = call.wanted?.withdrawn;
    if (withdrawn !== undefined) return `${STEP_ENDED}: it was not sent before its step ended: ${withdrawn}`;
    const { method, protective } = endpoint(call.endpoint);
    const { forbidden, gate, clock } = this.parts;
    return forbidden?.(protective || method === 'GET') ?? gate.describeLapse(call, clock.now());
  }

  private findDenial(call: VenueCall): string | undefined {
    const verdict = this.applyLimits(call);
    return verdict.ok ? undefined : verdict.message;
  }

  private applyLimits(call: VenueCall): LimitVerdict {
    const { profile, clock, gate } = this.parts;
    const rules: LimitRules = call.limits === undefined ? profile.limits : tighter(profile.limits, call.limits);
    return gate.check(call, rules, clock.now());
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
    const data = { call: call.id, n, status: reply.status, message, headers: rateHeaders(reply) };
    this.parts.log.append('call.answered', data, call.step);
  }

  private rejection(failure: 'unauthorized', message: string): Extract<CallOutcome, { kind: 'rejected' }> {
    return { kind: 'rejected', failure, message, definite: true, settledAt: this.parts.clock.now() };
  }

  /**
   * Describes why a call decided by a process that died must not be sent any more: the market has moved since, and a
   * cancel_all would cancel orders that others have placed since.
   */
  private describeStaleness(call: {
    readonly endpoint: EndpointName;
    readonly decidedAt?: number;
  }): string | undefined {
    const { clock, profile } = this.parts;
    const { decidedAt } = call;
    const isSweeping = call.endpoint === 'DELETE /orders/cancel_all';
    if (decidedAt === undefined || !(isOrder(call) || isSweeping)) return undefined;
    const age = clock.now() - decidedAt;
    if (age <= (isSweeping ? profile.ambiguityWindowMs : STALE_AFTER_MS)) return undefined;
    const when = Number.isFinite(age) ? `${formatSpan(age)} ago` : 'an unknown time ago';
    return `it was decided ${when}, by a process that died before it was ${isSweeping ? 'answered' : 'sent'}`;
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

/**
 * True for requests that are sent even when the journal cannot be written: cancels, and heartbeats of an armed switch. Arming or
 * disarming the deadman switch needs an entry, as an order does, because `resume` relies on it.
 */
function maySkipJournal(call: { readonly endpoint: EndpointName; readonly purpose?: string }): boolean {
  if (call.endpoint === 'DELETE /cancel_all_after') return false;
  if (call.endpoint === 'POST /cancel_all_after') return call.purpose === 'keep-alive';
  return endpoint(call.endpoint).protective;
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

function endTicket(ticket: Ticket, failure: { readonly sent: boolean }): void {
  if (failure.sent) ticket.aborted();
  else ticket.notSent();
}
