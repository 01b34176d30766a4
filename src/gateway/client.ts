/**
 * The only road to the venue. One call path, top to bottom: validate, limits, budget, journal the attempt, send, classify,
 * journal the outcome, learn from the headers. It retries nothing that could be a second order. Which of the four outcomes a
 * call had is decided in call-outcome.ts, what it leaves in the journal made in call-entries.ts.
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
import { type Attempt, attemptOf, journalParams, rateHeaders, settledData } from './call-entries.ts';
import { outcomeOf } from './call-outcome.ts';
import { CancelAllBarrier } from './cancel-all-barrier.ts';
import { type CrashPoint, type CrashPoints, pointOf } from './crash-points.ts';
import type { LimitFactsFold } from './limits/facts.ts';
import type { Budget, Ticket } from './tokens/budget.ts';
import type { Transport, WireAnswer, WireReply, WireRequest } from './transport.ts';

/** The longest a whole exchange may take, ms; what comes later is an answer that never came. */
const EXCHANGE_TIMEOUT_MS = 10_000;

/** How old the decision for an order may be when it leaves, ms: an order waits no longer for its tokens either. */
const STALE_AFTER_MS = 60_000;

/** Where the road writes; `flush` resolves when what was written is durable. */
interface GatewayLog {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string): void;
  flush(): Promise<void>;
  readonly tracker: OrderTracker;
}

/** The session behind a transport that needs one; simulated and recorded transports need none. */
export interface Session {
  /** Makes the session good before a request leaves. False when it can not be had. */
  ready(): Promise<boolean>;
  /** The venue refused the session: obtains a new one, once for all who ask. False when it can not be had. */
  renew(): Promise<boolean>;
}

/** Where feeds come from: the simulator, a fixture, or a request that the profile declares. */
export interface FeedSource {
  read(name: string, key: string | undefined, step: string): Promise<FeedValue | undefined>;
}

export interface ClientParts {
  readonly profile: Profile;
  readonly transport: Transport;
  readonly budget: Budget;
  readonly log: GatewayLog;
  readonly clock: Clock;
  /** Fed with the entries of the run by whoever feeds the book. */
  readonly gate: LimitFactsFold;
  readonly feeds: FeedSource;
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly epoch: number;
  readonly session?: Session;
  /** Asked before each attempt: whether this process still acts for the account. Resolves when that is certain. */
  readonly lease?: { holds(harmless: boolean): Promise<boolean> };
  /** Why nothing may be sent at this moment although everything else would allow it: a kill switch is engaged. */
  readonly forbidden?: (protective: boolean) => string | undefined;
  /** Asked before each write that adds risk, where a person wants to be (`run --step`); false denies it. */
  readonly confirm?: (call: VenueCall) => Promise<boolean>;
  /** What the runs of an account have in common within a process; a client of its own where left out. */
  readonly barrier?: CancelAllBarrier;
  /** Turns a declared request's answer into the value it is read as. */
  readonly requests?: RequestReader;
  /** Told where a call has come to, by simulations alone. */
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
        params: journalParams(call.endpoint, call.params),
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
   * Settles a call that a process before this one intended: not attempted, it is made now; attempted and only reading or
   * harmless to repeat, it is made again; else nobody knows what became of it.
   */
  continueCall<E extends EndpointName>(call: VenueCall<E>, attempts: number): Promise<CallOutcome<E>> {
    const repeatable = endpoint(call.endpoint).repeatable;
    const stale = attempts > 0 && call.endpoint === 'DELETE /orders/cancel_all' ? this.staleness(call) : undefined;
    if (stale !== undefined) {
      const message = `${STALE_INTENT}: ${stale}. Whether the venue did it is not known; look at what is open there, and cancel by hand what is to go`;
      return this.settled(call, {
        kind: 'unresolved',
        code: STALE_INTENT,
        message,
        settledAt: this.parts.clock.now(),
      });
    }
    if (attempts === 0 || repeatable === 'safe' || repeatable === 'effect')
      return this.barred(call, this.proceed(call, attempts));
    return this.settled(call, {
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
      const told =
        outcome.kind === 'confirmed'
          ? { result: outcome.result as Json }
          : {
              failure: outcome.failure,
              message: outcome.message,
              ...(outcome.retryAfterMs === undefined ? {} : { retryAfterMs: outcome.retryAfterMs }),
            };
      log.append('call.settled', { call: id, kind: outcome.kind, ...told, ...extra }, step);
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
    const stale = this.staleness(call);
    if (stale !== undefined) return this.deny(call, STALE_INTENT, `${STALE_INTENT}: ${stale}`);
    if (
      call.purpose === SWEEP &&
      this.parts.transport.knows?.(wireRequest(call.endpoint, call.params, this.parts.profile)) === false
    )
      return this.deny(call, NOT_RECORDED, `${NOT_RECORDED}: the recording has no such exchange`);
    const denial = this.limited(call);
    if (denial !== undefined) return this.deny(call, denial.code, denial.message);
    const { budget, session, confirm, profile } = this.parts;
    // What only protects is never kept waiting for a person: a beat would let the switch fire, a cancel an order fill.
    const isAsked = row.method !== 'GET' && !row.protective;
    if (isAsked && confirm !== undefined && !(await confirm(call as unknown as VenueCall))) {
      return this.deny(call, 'NOT_CONFIRMED', 'NOT_CONFIRMED: the person at the terminal said no');
    }
    for (let n = attempts + 1; ; n += 1) {
      if (session !== undefined && !(await session.ready())) {
        return this.settled(call, this.rejection('unauthorized', 'the session could not be renewed'));
      }
      this.reached('CP2', call);
      const weight = budget.weightOf(call.endpoint);
      const granted = await budget.acquire({
        endpoint: call.endpoint,
        weight,
        class: call.class,
        ...(call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt }),
        ...(call.wanted === undefined ? {} : { wanted: call.wanted }),
        ...beatOf(call, profile.account, budget),
      });
      if (granted.kind === 'refused' && granted.code === 'HEARTBEAT_TOKENS')
        return this.deny(call, granted.code, `${granted.code}: ${granted.because}`);
      if (granted.kind === 'refused' && granted.code === 'WITHDRAWN')
        return this.deny(call, STEP_ENDED, this.forbids(call) ?? STEP_ENDED);
      if (granted.kind === 'refused') {
        const when = new Date(granted.earliestAt).toISOString();
        return this.deny(
          call,
          granted.code,
          `${granted.code}: ${formatCount(weight, 'token')} could not be had before ${when}`,
        );
      }
      await this.mayLeave(call, granted.ticket);
      // Asked again, with nothing awaited before the attempt is written: an order of another branch may have come between.
      const barred = this.forbids(call) ?? this.denial(call);
      if (barred !== undefined) {
        granted.ticket.notSent();
        return this.deny(call, codeOf(barred), barred);
      }
      const request = wireRequest(call.endpoint, call.params, profile);
      const attempt = { n, request, tokens: weight, waitedMs: granted.waitedMs };
      const sent = await this.exchange(call, attempt, granted.ticket);
      if (call.endpoint === 'DELETE /cancel_all_after' && sent.outcome.kind === 'confirmed')
        budget.standDown(profile.account);
      if (sent.unauthorized && row.repeatable !== 'never' && n === attempts + 1 && (await session?.renew())) {
        if (sent.reply?.kind === 'answer') this.answered(call, n, sent.outcome, sent.reply);
        continue;
      }
      // A refused session is definite: the order is not there. The caller looks it up and sends it again with the same id.
      if (sent.unauthorized) await session?.renew();
      return this.settled(call, sent.outcome, sent.reply);
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
        // No durable attempt, no order. What only protects still goes: a full disk must not keep an order alive.
        if (!maySkipJournal(call)) {
          ticket.notSent();
          const message = `JOURNAL: ${error instanceof Error ? error.message : String(error)}`;
          return { outcome: { kind: 'denied', code: 'JOURNAL', message, settledAt: clock.now() }, unauthorized: false };
        }
      }
      // A commit can take as long as somebody else needs to take over, or to begin a cancel_all.
      await this.mayLeave(call, ticket);
      // Or as long as the deadman switch lasts. The limits need not be asked: since the attempt they have counted this very order.
      const message = this.forbids(call);
      if (message !== undefined) {
        ticket.notSent();
        const denied = { kind: 'denied', code: codeOf(message), message, settledAt: clock.now() } as const;
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

  private limited(call: VenueCall): { code: string; message: string } | undefined {
    const { log } = this.parts;
    const verdict = this.verdictOn(call);
    if (verdict.ok) {
      if (Object.keys(verdict.considered).length > 0)
        log.append('call.checked', { call: call.id, limits: verdict.considered }, call.step);
      return undefined;
    }
    return { code: verdict.code, message: verdict.message };
  }

  /**
   * Never resolves where another process acts for the account by now: it has this run as well, and nothing that this one would
   * still do or write down counts.
   */
  private async stillHeld(call: VenueCall, ticket: Ticket): Promise<void> {
    const { lease } = this.parts;
    const harmless = endpoint(call.endpoint).method === 'GET' || maySkipJournal(call);
    if (lease === undefined || (await lease.holds(harmless))) return;
    ticket.notSent();
    await new Promise(() => {});
  }

  /** Resolves when this process acts for the account and no cancel_all is under way that a new order would run into. */
  private async mayLeave(call: VenueCall, ticket: Ticket): Promise<void> {
    const isNew = isOrder(call);
    do {
      if (isNew) await Promise.race([this.barrier.opens(), withdrawal(call)]);
      await this.stillHeld(call, ticket);
    } while (isNew && this.barrier.isClosed && call.wanted?.withdrawn === undefined);
  }

  /** Why it may not leave at this moment, whatever it is: nobody wants it any more, a kill switch is engaged, the deadman switch may have fired. */
  private forbids(call: VenueCall): string | undefined {
    const withdrawn = call.wanted?.withdrawn;
    if (withdrawn !== undefined) return `${STEP_ENDED}: it had not left when its step was over: ${withdrawn}`;
    const { method, protective } = endpoint(call.endpoint);
    const { forbidden, gate, clock } = this.parts;
    return forbidden?.(protective || method === 'GET') ?? gate.lapsed(call, clock.now());
  }

  private denial(call: VenueCall): string | undefined {
    const verdict = this.verdictOn(call);
    return verdict.ok ? undefined : verdict.message;
  }

  private verdictOn(call: VenueCall): LimitVerdict {
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
    return this.settled(call, { kind: 'denied', code, message, settledAt: this.parts.clock.now() });
  }

  /** Of an attempt that another one follows: the settled call speaks of its last alone. */
  private answered<E extends EndpointName>(
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
   * Why what a process decided on before it died is not to leave any more: the market has gone on meanwhile, and a cancel of
   * everything would take what somebody else has placed since.
   */
  private staleness(call: { readonly endpoint: EndpointName; readonly decidedAt?: number }): string | undefined {
    const { clock, profile } = this.parts;
    const { decidedAt } = call;
    const isSweeping = call.endpoint === 'DELETE /orders/cancel_all';
    if (decidedAt === undefined || !(isOrder(call) || isSweeping)) return undefined;
    const age = clock.now() - decidedAt;
    if (age <= (isSweeping ? profile.ambiguityWindowMs : STALE_AFTER_MS)) return undefined;
    const when = Number.isFinite(age) ? `${formatSpan(age)} ago` : 'nobody can tell how long ago';
    return `it was decided ${when}, by a process that died before it was ${isSweeping ? 'answered' : 'sent'}`;
  }

  private async settled<E extends EndpointName>(
    call: VenueCall<E>,
    outcome: CallOutcome<E>,
    reply?: WireReply,
  ): Promise<CallOutcome<E>> {
    if (reply === undefined) await this.turn();
    const { log } = this.parts;
    log.append('call.settled', settledData(call, outcome as CallOutcome, reply), call.step);
    this.reached('CP11', call);
    return outcome;
  }

  /** Names the point that a call has come to, for whoever wants to know what a crash there would leave behind. */
  private reached<E extends EndpointName>(point: CrashPoint, call: VenueCall<E>): void {
    const { crashPoints, log } = this.parts;
    crashPoints?.reached(
      pointOf(point, call as unknown as VenueCall, log.tracker.get(call.clientOrderId ?? '')),
      call as unknown as VenueCall,
    );
  }

  /** The rest runs in a turn of its own, as what comes from outside always does: a replay hands it in at this very place. */
  private turn(): Promise<void> {
    return new Promise((resolve) => this.parts.clock.arrive(resolve));
  }
}

/**
 * What is sent although the journal takes nothing any more: cancels, and beats of a switch that stands. To arm the deadman
 * switch or to give it back needs a record, as an order does: whoever takes the run up goes by what the record says of it.
 */
function maySkipJournal(call: { readonly endpoint: EndpointName; readonly purpose?: string }): boolean {
  if (call.endpoint === 'DELETE /cancel_all_after') return false;
  if (call.endpoint === 'POST /cancel_all_after') return call.purpose === 'keep-alive';
  return endpoint(call.endpoint).protective;
}

function isOrder(call: { readonly endpoint: EndpointName }): boolean {
  return call.endpoint === 'POST /orders' || call.endpoint === 'PUT /orders';
}

/** Resolves when the call is withdrawn; never, where that can not be. */
function withdrawal(call: Pick<VenueCall, 'wanted'>): Promise<void> {
  const { wanted } = call;
  if (wanted?.withdrawn !== undefined) return Promise.resolve();
  return new Promise((resolve) => void wanted?.onWithdrawn(resolve));
}

/** Messages of denials begin with their code. */
function codeOf(message: string): string {
  return message.split(':')[0] ?? 'FORBIDDEN';
}

/** What the budget keeps tokens by: an account has one switch. */
function beatOf<E extends EndpointName>(
  call: VenueCall<E>,
  of: string,
  budget: Budget,
): { readonly beat?: HeartbeatDemand } {
  const { timeout: timeoutMs = 0 } = call.params as { readonly timeout?: number };
  if (call.repeatsMs === undefined) return {};
  const reads = call.endpoint === 'GET /cancel_all_after' ? { reads: true as const } : {};
  const readWeight = budget.weightOf('GET /cancel_all_after');
  return { beat: { of, everyMs: call.repeatsMs, timeoutMs, readWeight, ...reads } };
}

function endTicket(ticket: Ticket, failure: { readonly sent: boolean }): void {
  if (failure.sent) ticket.aborted();
  else ticket.notSent();
}
