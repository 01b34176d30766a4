/**
 * The only road to the venue. One call path, top to bottom: validate, limits, budget, journal the attempt, send, classify,
 * journal the outcome, learn from the headers. It retries nothing that could be a second order; it decides which of the
 * four outcomes a call had, and nothing else does.
 */
import type { Clock } from '../base/clock.ts';
import { decimal, parseDecimal } from '../base/decimal.ts';
import type { DataOf, EntryType, Json, JsonObject } from '../journal/entry.ts';
import type { OrderBook } from '../journal/orders.ts';
import { type AnswerVerdict, readAnswer } from '../venue/answers.ts';
import type { Beat } from '../venue/beat-reserve.ts';
import { type EndpointName, endpoint, type Result } from '../venue/catalogue.ts';
import { type LimitRules, type LimitVerdict, tighter } from '../venue/limits.ts';
import type {
  CallOutcome,
  FeedValue,
  MarketRules,
  OrderTerms,
  RequestOutcome,
  VenueCall,
  VenuePort,
} from '../venue/port.ts';
import type { Profile } from '../venue/profile.ts';
import type { PlacementAck } from '../venue/records.ts';
import { requestProblems } from '../venue/request.ts';
import { digestOf, wireRequest } from '../venue/wire.ts';
import type { Budget, Ticket } from './budget.ts';
import { CancelAllBarrier } from './cancel-all-barrier.ts';
import { type CrashPoint, type CrashPoints, pointOf } from './crash-points.ts';
import type { LimitGate } from './limit-gate.ts';
import type { Transport, WireAnswer, WireReply, WireRequest } from './transport.ts';

/** The longest a whole exchange may take, ms; what comes later is an answer that never came. */
const EXCHANGE_TIMEOUT_MS = 10_000;

/** Where the road writes; `flush` resolves when what was written is durable. */
export interface GatewayLog {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string): void;
  flush(): Promise<void>;
  readonly book: OrderBook;
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
  readonly gate: LimitGate;
  readonly feeds: FeedSource;
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly epoch: number;
  readonly session?: Session;
  /** Asked before each attempt: whether this process still acts for the account. Resolves when that is certain. */
  readonly lease?: { holds(): Promise<boolean> };
  /** Why nothing may be sent at this moment although everything else would allow it: a kill switch is engaged. */
  readonly forbidden?: (protective: boolean) => string | undefined;
  /** Asked before each write, where a person wants to be (`run --step`); false denies it. */
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
    if (attempts === 0 || repeatable === 'safe' || repeatable === 'effect')
      return this.barred(call, this.proceed(call, attempts));
    return this.settled(call, {
      kind: 'unresolved',
      message: 'the process ended before the answer',
      settledAt: this.parts.clock.now(),
    });
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
    log.append(
      'call.attempted',
      attemptOf(id, 1, wired.request, wired.tokens, this.parts.epoch, granted.waitedMs),
      step,
    );
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
    const denial = this.limited(call);
    if (denial !== undefined) return this.deny(call, denial.code, denial.message);
    const { budget, session, forbidden, confirm, profile } = this.parts;
    if (row.method !== 'GET' && confirm !== undefined && !(await confirm(call as unknown as VenueCall))) {
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
        ...beatOf(call, profile.account),
      });
      if (granted.kind === 'refused' && granted.code === 'BEATS')
        return this.deny(call, granted.code, `${granted.code}: ${granted.because}`);
      if (granted.kind === 'refused') {
        const when = new Date(granted.earliestAt).toISOString();
        return this.deny(call, granted.code, `${granted.code}: ${weight} tokens could not be had before ${when}`);
      }
      await this.mayLeave(call, granted.ticket);
      // Asked again, with nothing awaited before the attempt is written: an order of another branch may have come between.
      const barred = forbidden?.(row.protective || row.method === 'GET') ?? this.denial(call);
      if (barred !== undefined) {
        granted.ticket.notSent();
        return this.deny(call, barred.split(':')[0] ?? 'FORBIDDEN', barred);
      }
      const request = wireRequest(call.endpoint, call.params, profile);
      const sent = await this.exchange(call, n, request, granted.ticket, weight, granted.waitedMs);
      if (call.endpoint === 'DELETE /cancel_all_after' && sent.outcome.kind === 'confirmed')
        budget.standDown(profile.account);
      if (sent.unauthorized && row.repeatable !== 'never' && n === attempts + 1 && (await session?.renew())) continue;
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
    n: number,
    request: WireRequest,
    ticket: Ticket,
    tokens: number,
    waitedMs: number,
  ): Promise<{ outcome: CallOutcome<E>; unauthorized: boolean; reply?: WireReply }> {
    const { log, clock, transport, epoch, profile } = this.parts;
    log.append('call.attempted', attemptOf(call.id, n, request, tokens, epoch, waitedMs), call.step);
    this.reached('CP3', call);
    if (request.method !== 'GET') {
      try {
        await log.flush();
      } catch (error) {
        // No durable attempt, no order. What only protects still goes: a full disk must not keep an order alive.
        if (!goesUnrecorded(call)) {
          ticket.notSent();
          const message = `JOURNAL: ${error instanceof Error ? error.message : String(error)}`;
          return { outcome: { kind: 'denied', code: 'JOURNAL', message, settledAt: clock.now() }, unauthorized: false };
        }
      }
      // A commit can take as long as somebody else needs to take over, or to begin a cancel_all.
      await this.mayLeave(call, ticket);
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
    return { outcome: this.outcomeOf(call, verdict, times), unauthorized, reply };
  }

  private outcomeOf<E extends EndpointName>(
    call: VenueCall<E>,
    verdict: AnswerVerdict<E>,
    times: { sentAt: number; settledAt: number },
  ): CallOutcome<E> {
    switch (verdict.kind) {
      case 'confirmed': {
        const odd =
          call.endpoint === 'POST /orders' && call.intent !== undefined
            ? echoProblem(call.intent, verdict.result as Result<'POST /orders'>)
            : undefined;
        if (odd !== undefined)
          return { kind: 'unresolved', message: `the answer speaks of another order: ${odd}`, ...times };
        return {
          kind: 'confirmed',
          result: verdict.result,
          ...(verdict.notes.length === 0 ? {} : { notes: verdict.notes }),
          ...times,
        };
      }
      case 'refused': {
        const failure = verdict.limited
          ? 'rate_limited'
          : verdict.unauthorized
            ? 'unauthorized'
            : verdict.duplicate
              ? 'duplicate'
              : verdict.notFound
                ? 'not_found'
                : 'rejected';
        const hint = verdict.retryAfterMs === undefined ? {} : { retryAfterMs: verdict.retryAfterMs };
        // Whoever answers with 5xx may not know what was done: it is no word of the venue on what was asked.
        if (verdict.serverError) return { kind: 'unresolved', message: verdict.text, ...times };
        return {
          kind: 'rejected',
          failure,
          message: verdict.text,
          definite: verdict.definite || verdict.limited || verdict.unauthorized,
          ...hint,
          ...times,
        };
      }
      case 'unreadable':
        return { kind: 'unresolved', message: verdict.why, ...times };
      default:
        return verdict satisfies never;
    }
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
  private async stillHeld(ticket: Ticket): Promise<void> {
    const { lease } = this.parts;
    if (lease === undefined || (await lease.holds())) return;
    ticket.notSent();
    await new Promise(() => {});
  }

  /** Resolves when this process acts for the account and no cancel_all is under way that a new order would run into. */
  private async mayLeave(call: VenueCall, ticket: Ticket): Promise<void> {
    const isNew = call.endpoint === 'POST /orders' || call.endpoint === 'PUT /orders';
    do {
      if (isNew) await this.barrier.opens();
      await this.stillHeld(ticket);
    } while (isNew && this.barrier.isClosed);
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

  private rejection(failure: 'unauthorized', message: string): Extract<CallOutcome, { kind: 'rejected' }> {
    return { kind: 'rejected', failure, message, definite: true, settledAt: this.parts.clock.now() };
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
      pointOf(point, call as unknown as VenueCall, log.book.get(call.clientOrderId ?? '')),
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
function goesUnrecorded(call: { readonly endpoint: EndpointName; readonly purpose?: string }): boolean {
  if (call.endpoint === 'DELETE /cancel_all_after') return false;
  if (call.endpoint === 'POST /cancel_all_after') return call.purpose === 'keep-alive';
  return endpoint(call.endpoint).protective;
}

/** A call's parameters as the journal keeps them: secrets replaced by a word. */
function journalParams(name: EndpointName, params: object): JsonObject {
  const row = endpoint(name);
  return Object.fromEntries(
    Object.entries(params)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, row.parameters[key]?.secret === true ? '[redacted]' : (value as Json)]),
  );
}

function attemptOf(
  call: string,
  n: number,
  request: WireRequest,
  tokens: number,
  epoch: number,
  waitedMs: number,
): DataOf<'call.attempted'> {
  const secret = request.endpoint in SECRET_OF ? SECRET_OF[request.endpoint] : undefined;
  const params = Object.fromEntries(
    Object.entries(request.params).map(([key, value]) => [key, key === secret ? '[redacted]' : value.text]),
  );
  // A digest of a short secret could be guessed; the one request that carries a secret gets none.
  const digest = secret === undefined ? digestOf(request) : '';
  return {
    call,
    n,
    method: request.method,
    path: request.path,
    params,
    digest,
    tokens,
    epoch,
    waitedMs: Math.round(waitedMs),
  };
}
const SECRET_OF: Readonly<Record<string, string>> = { 'POST /jwt': 'refresh_token' };

function settledData(call: VenueCall, outcome: CallOutcome, reply: WireReply | undefined): DataOf<'call.settled'> {
  const answer = reply?.kind === 'answer' ? reply : undefined;
  const secret = call.endpoint === 'POST /jwt';
  return {
    call: call.id,
    kind: outcome.kind,
    ...(answer === undefined ? {} : { status: answer.status, headers: rateHeaders(answer) }),
    ...(answer === undefined ? {} : { success: outcome.kind === 'confirmed' }),
    ...(outcome.kind === 'confirmed'
      ? { result: secret ? null : (outcome.result as unknown as Json) }
      : { message: outcome.message }),
    ...(outcome.kind === 'confirmed' && outcome.notes !== undefined ? { notes: outcome.notes } : {}),
    ...(outcome.kind === 'rejected' ? { failure: outcome.failure, definite: outcome.definite } : {}),
    ...(outcome.kind === 'rejected' && outcome.retryAfterMs !== undefined
      ? { retryAfterMs: outcome.retryAfterMs }
      : {}),
    ...(outcome.kind === 'denied' ? { code: outcome.code } : {}),
    ...(outcome.sentAt === undefined ? {} : { sentAt: outcome.sentAt }),
  };
}

/** Headers worth keeping: those the token budget learned from, and the venue's clock. */
function rateHeaders(answer: WireAnswer): JsonObject {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers))
    if (name.startsWith('x-ratelimit-') || name === 'retry-after' || name === 'date') kept[name] = value;
  return kept;
}

/** What the budget keeps tokens by: an account has one switch. */
function beatOf<E extends EndpointName>(call: VenueCall<E>, of: string): { readonly beat?: Beat } {
  const { timeout } = call.params as { readonly timeout?: number };
  if (call.repeatsMs === undefined || timeout === undefined) return {};
  return { beat: { of, everyMs: call.repeatsMs, timeoutMs: timeout } };
}

function endTicket(ticket: Ticket, failure: { readonly sent: boolean }): void {
  if (failure.sent) ticket.aborted();
  else ticket.notSent();
}

/** What an acknowledgement says differently from what was sent; undefined when it is our order. */
function echoProblem(intent: OrderTerms, acks: readonly PlacementAck[]): string | undefined {
  const [ack] = acks;
  if (ack === undefined) return 'no record';
  if (ack.client_order_id !== '' && ack.client_order_id !== intent.clientOrderId)
    return `client_order_id ${ack.client_order_id}`;
  if (ack.market_id !== intent.market) return `market_id ${ack.market_id}`;
  if (ack.side !== intent.side) return `side ${ack.side}`;
  const size = parseDecimal(ack.size);
  const fraction = intent.type === 'stop_loss' || intent.type === 'take_profit';
  if (!fraction && size !== undefined && !size.isZero() && !size.eq(decimal(intent.size))) return `size ${ack.size}`;
  return undefined;
}
