/** Makes the calls of a run: journals each with its attempts and outcome, and sends it through the exchange with all its checks. */
import type { Clock } from '../base/clock.ts';
import { buildFeedId, type DraftOf } from '../journal/entry.ts';
import { type EndpointName, getAction, getEndpoint } from '../venue/catalogue.ts';
import {
  type CallOutcome,
  type FeedNeed,
  type FeedValue,
  MARKET_PRICE,
  type MarketRules,
  type RequestOutcome,
  type VenueCall,
  type VenuePort,
} from '../venue/port.ts';
import { getSessionCost, type Profile } from '../venue/profile/profile.ts';
import type { HeartbeatDemand } from '../venue/tokens/heartbeat-reserve.ts';
import type { AnswerVerdict } from '../venue/wire/answer.ts';
import { AnswerReader } from '../venue/wire/answer-reader.ts';
import { toWireRequest } from '../venue/wire/request.ts';
import { buildAttempt, buildSettled, redactParams, selectRateHeaders } from './call-entries.ts';
import { type CallProgress, decideOutcome, describeThrown } from './call-outcome.ts';
import { CancelAllBarrier } from './cancel-all-barrier.ts';
import type { ClientParts, ReadNeed } from './client-parts.ts';
import { type CrashPoint, toCrashPoint } from './crash-points.ts';
import { sendDeclared } from './declared-call.ts';
import { type Exchange, exchangeOnce, makeObstacle, NO_SESSION, type Obstacle } from './exchange.ts';
import { judgeRows } from './listed-rows.ts';
import { MarketPriceReader } from './market-price.ts';
import { type CheckedCall, findLasting, findStale, LEASE_LOST, listChecks, maySkipJournal } from './send-checks.ts';
import type { Budget } from './tokens/budget.ts';
import type { WireReply } from './transport.ts';

/** How long a protective request waits for its attempt to be durable, ms. */
export const PROTECTIVE_FLUSH_MS = 500;

export class VenueClient implements VenuePort {
  readonly markets: readonly string[];
  private readonly parts: CheckedCall['parts'];
  private readonly answers: AnswerReader;

  constructor(parts: ClientParts) {
    this.parts = { barrier: new CancelAllBarrier(), prices: new MarketPriceReader(parts), ...parts };
    this.markets = Object.keys(parts.markets);
    this.answers = new AnswerReader(parts.profile);
  }

  market(id: string): MarketRules | undefined {
    return Object.hasOwn(this.parts.markets, id) ? this.parts.markets[id] : undefined;
  }

  call<E extends EndpointName>(call: VenueCall<E>): Promise<CallOutcome<E>> {
    this.intend(call);
    return this.proceed(call, 0);
  }

  async findDenial(call: VenueCall<'POST /orders'>): Promise<CallOutcome<'POST /orders'> | undefined> {
    const obstacle = findLasting({ call, parts: this.parts });
    if (obstacle === undefined) return undefined;
    this.intend(call);
    return this.stop(call, obstacle, false);
  }

  private intend(call: VenueCall): void {
    const { log } = this.parts;
    this.reached('CP0', call);
    const { id, endpoint, class: klass, intent, clientOrderId, purpose, reference } = call;
    const params = redactParams(endpoint, call.params);
    const intended: DraftOf<'call.intended'> = { call: id, endpoint, params, class: klass };
    if (intent !== undefined) intended.intent = intent;
    if (clientOrderId !== undefined) intended.clientOrderId = clientOrderId;
    if (purpose !== undefined) intended.purpose = purpose;
    if (reference !== undefined) intended.reference = reference.price;
    log.append('call.intended', intended, call.step);
    this.reached('CP1', call);
  }

  /**
   * Settles a call that an earlier process intended. A call that was not attempted is sent now; one that only reads or is
   * harmless to repeat is sent again; any other is `unresolved`.
   */
  continueCall<E extends EndpointName>(call: VenueCall<E>, attempts: number): Promise<CallOutcome<E>> {
    const { action, repeatable } = getEndpoint(call.endpoint);
    const stale = attempts > 0 && action === 'cancel_all' ? findStale({ call, parts: this.parts }) : undefined;
    if (stale === undefined && (attempts === 0 || repeatable === 'safe' || repeatable === 'effect'))
      return this.proceed(call, attempts);
    const unknown = { kind: 'unresolved', settledAt: this.parts.clock.now() } as const;
    if (stale === undefined) return this.settle(call, { ...unknown, message: 'the process ended before the answer' });
    const message = `${stale.message}. The venue may or may not have done it. Check the open orders there and cancel by hand`;
    return this.settle(call, { ...unknown, code: stale.code, message });
  }

  keepOrdersBack(until: Promise<unknown>): void {
    void this.parts.barrier.during(until).catch(() => {});
  }

  async feed(name: string, key: string | undefined, step: string, need?: FeedNeed): Promise<FeedValue | undefined> {
    const { feeds, gate, log } = this.parts;
    const source = name === MARKET_PRICE ? gate.priceFeed : name;
    const reading = source === undefined ? undefined : feeds.read(source, key, step, need);
    const value = await reading?.catch((error: unknown) => {
      this.parts.onCrash?.(error);
      return undefined;
    });
    await this.turn();
    const call = buildFeedId(step, name, key);
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

  request(
    name: string,
    params: Readonly<Record<string, string>>,
    id: string,
    step: string,
    need?: ReadNeed,
  ): Promise<RequestOutcome> {
    return sendDeclared(this.parts, { name, params, id, step, need });
  }

  private proceed<E extends EndpointName>(call: VenueCall<E>, attempts: number): Promise<CallOutcome<E>> {
    const outcome = this.attempt(call, attempts);
    return getAction(call.endpoint) === 'cancel_all' ? this.parts.barrier.during(outcome) : outcome;
  }

  /**
   * Makes the call. What is thrown on the way is journaled as its outcome, as every outcome is: a call without one is answered by
   * nothing when the journal is executed again.
   */
  private async attempt<E extends EndpointName>(call: VenueCall<E>, attempts: number): Promise<CallOutcome<E>> {
    const progress: CallProgress = { attempted: attempts > 0, settled: false };
    try {
      return await this.exchange(call, attempts, progress);
    } catch (error) {
      if (progress.settled) throw error;
      this.parts.onCrash?.(error);
      return this.settle(call, describeThrown(error, progress, this.parts.clock.now()), progress);
    }
  }

  private async exchange<E extends EndpointName>(
    call: VenueCall<E>,
    attempts: number,
    progress: CallProgress,
  ): Promise<CallOutcome<E>> {
    const { budget, log, profile } = this.parts;
    const { action, repeatable } = getEndpoint(call.endpoint);
    for (let n = attempts + 1; ; n += 1) {
      const isFirst = n === attempts + 1;
      const sent = await exchangeOnce(this.parts, this.describeExchange(call, n, isFirst, progress));
      if (sent.kind === 'stopped') return this.stop(call, sent.obstacle, sent.attempted, progress);
      const unread = sent.kind === 'answered' && sent.verdict.kind === 'confirmed' ? sent.verdict.unread : undefined;
      const outcome = judgeRows(call, decideOutcome(call, sent), unread ?? [], log.tracker);
      if (action === 'disarm' && outcome.kind === 'confirmed') budget.standDown(profile.account);
      // A refused session is definite: the venue has no such order. The engine looks an order up before it sends it again.
      if (sent.kind === 'unanswered' || !sent.renewed || repeatable === 'never' || !isFirst)
        return this.settle(call, outcome, progress, sent.reply);
      // `call.settled` has only the last answer.
      const message = 'message' in outcome ? outcome.message : '';
      const { status } = sent.reply;
      const headers = selectRateHeaders(sent.reply);
      log.append('call.answered', { call: call.id, n, status, message, headers }, call.step);
    }
  }

  /** Describes the exchange of one attempt: with the limits, journal and crash points of a run. */
  private describeExchange<E extends EndpointName>(
    call: VenueCall<E>,
    n: number,
    isFirst: boolean,
    progress: CallProgress,
  ): Exchange<AnswerVerdict<E>> {
    const { budget, epoch, log, profile } = this.parts;
    const { endpoint, deadlineAt, wanted } = call;
    const checked: CheckedCall = { call, parts: this.parts };
    const isRead = getEndpoint(endpoint).method === 'GET';
    return {
      checks: (phase) => (phase === 'before tokens' && !isFirst ? [] : listChecks(phase, checked)),
      tokens: () => {
        checked.readyAt = this.parts.clock.now();
        const weight = budget.weightOf(endpoint);
        const heartbeat = buildHeartbeatDemand(call, profile, budget);
        const withinMs = deadlineAt === undefined ? undefined : deadlineAt - checked.readyAt;
        return { endpoint, weight, class: call.class, withinMs, wanted, heartbeat };
      },
      // A heartbeat is no progress, so neither is its wait.
      waiting:
        call.repeatsMs === undefined
          ? (until) => log.append('call.waiting', { call: call.id, until }, call.step)
          : undefined,
      request: () => toWireRequest(endpoint, call.params, profile),
      attempted: (attempt) => {
        progress.attempted = true;
        log.append('call.attempted', buildAttempt(call.id, n, attempt, epoch), call.step);
        this.reached('CP3', call);
      },
      flush: isRead ? undefined : () => this.flushAttempt(call),
      staleMs: isRead ? undefined : profile.gateStaleMs,
      read: (answer) => this.answers.read(endpoint, answer, call.rows === undefined ? 'whole' : 'each'),
      reached: (point) => this.reached(point, call),
      answerMs: call.answerMs,
    };
  }

  /**
   * Without a durable attempt no order is sent. Protective requests still go, also where the store only does not answer: a full
   * disk must not keep an order open, nor a database that is away let the deadman switch fire. What holds up the heartbeats does
   * not go, and has a deadline.
   */
  private async flushAttempt(
    call: Pick<VenueCall, 'endpoint' | 'purpose' | 'recorded' | 'deadlineAt'>,
  ): Promise<Obstacle | undefined> {
    const { log, clock } = this.parts;
    try {
      const flushed = log.flush(call.purpose === 'keep-alive' ? 'written' : 'all');
      const goesAnyway = maySkipJournal(call);
      const until = goesAnyway ? clock.now() + PROTECTIVE_FLUSH_MS : call.deadlineAt;
      const isDurable = until === undefined ? await flushed.then(() => true) : await isDoneBy(flushed, until, clock);
      return isDurable || goesAnyway
        ? undefined
        : makeObstacle('DEADLINE', 'the journal did not take its entry in time');
    } catch (error) {
      if (maySkipJournal(call)) return undefined;
      return makeObstacle('JOURNAL', error instanceof Error ? error.message : String(error));
    }
  }

  /** Settles a call of which nothing was sent. */
  private async stop<E extends EndpointName>(
    call: VenueCall<E>,
    obstacle: Obstacle,
    attempted: boolean,
    progress?: CallProgress,
  ): Promise<CallOutcome<E>> {
    const { code, message } = obstacle;
    // Nothing that this process would still write counts.
    if (obstacle === LEASE_LOST) return new Promise(() => {});
    // Recorded runs have the denial of a call without an attempt one turn later.
    if (!attempted && code !== NO_SESSION) await this.turn();
    const settledAt = this.parts.clock.now();
    return code === NO_SESSION
      ? this.settle(call, { kind: 'rejected', failure: 'unauthorized', message, definite: true, settledAt }, progress)
      : this.settle(call, { kind: 'denied', code, message, settledAt }, progress);
  }

  private async settle<E extends EndpointName>(
    call: VenueCall<E>,
    outcome: CallOutcome<E>,
    progress?: CallProgress,
    reply?: WireReply,
  ): Promise<CallOutcome<E>> {
    if (reply === undefined) await this.turn();
    const { log } = this.parts;
    if (progress !== undefined) progress.settled = true;
    log.append('call.settled', buildSettled(call, outcome as CallOutcome, reply), call.step);
    this.reached('CP11', call);
    return outcome;
  }

  /** Reports the point that a call has reached, for simulations that crash there. */
  private reached(point: CrashPoint, call: VenueCall): void {
    const { crashPoints, log } = this.parts;
    crashPoints?.reached(toCrashPoint(point, call, log.tracker.get(call.clientOrderId ?? '')), call);
  }

  /** Continues in a turn of its own, as every outside event does, so that a replay can feed the result in at the same place. */
  private turn(): Promise<void> {
    return new Promise((resolve) => this.parts.clock.arrive(resolve));
  }
}

/** Waits for work, but not longer than until then (epoch ms); what becomes of it afterwards is not seen here. */
function isDoneBy(work: Promise<void>, until: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.at(until, () => resolve(false));
    work.then(() => resolve(true), reject).finally(() => timer.cancel());
  });
}

/** Builds the demand for which the budget reserves tokens; an account has one switch. */
function buildHeartbeatDemand(call: VenueCall, profile: Profile, budget: Budget): HeartbeatDemand | undefined {
  const { timeout: timeoutMs = 0 } = call.params as { readonly timeout?: number };
  if (call.repeatsMs === undefined) return undefined;
  const reads = getEndpoint(call.endpoint).method === 'GET' ? { reads: true as const } : {};
  const readWeight = budget.weightOf('GET /cancel_all_after');
  const sessionWeight = getSessionCost(profile);
  return { of: profile.account, everyMs: call.repeatsMs, timeoutMs, readWeight, sessionWeight, ...reads };
}
