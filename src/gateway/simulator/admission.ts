/**
 * Admits and answers the requests that reach the simulated venue: it checks tokens first, then the session, then executes the
 * request. An answer is made at the time the request arrives; simulator.ts decides how long it travels and whether it arrives.
 */
import { type EndpointName, getEndpoint, isEndpointName } from '../../venue/catalogue.ts';
import { Answers, type Outcome, type VenueAnswer } from './answer.ts';
import type { FaultRule } from './config/faults.ts';
import { HANDLERS, type Handler } from './handlers.ts';
import { buildMarketRecord } from './market/feeds.ts';
import { readParams, VenueError, type VenueRequest } from './market/request.ts';
import type { Caller } from './market/sessions.ts';
import type { Venue } from './market/venue.ts';
import { TokenWindow } from './tokens.ts';

/** A request's answer and its cost. */
export interface HandledRequest {
  readonly answer: VenueAnswer;
  /** Tokens that were charged. */
  readonly tokens: number;
  /** Code of the refusal if the request was refused for its content or its session. */
  readonly refusal?: string;
}

/** Cost in tokens of requests for which the venue document gives none. */
const DEFAULT_COST = 10;
/** The wait that a refusal names if it does not follow from the token window. */
const SHORT_WAIT_MS = 1000;
const ORDER_ACTIONS: ReadonlySet<string> = new Set<EndpointName>(['POST /orders', 'PUT /orders', 'DELETE /orders']);

export class Admission {
  readonly tokens: TokenWindow;
  private readonly venue: Venue;
  private readonly answers: Answers;

  constructor(venue: Venue, startedAt: number) {
    this.venue = venue;
    this.tokens = new TokenWindow(venue.settings.tokens, startedAt);
    this.answers = new Answers(venue.settings);
  }

  /** Answers a request that arrived `at` (epoch ms), with the fault that applies to it. */
  answer(request: VenueRequest, caller: Caller, at: number, fault: FaultRule | undefined): HandledRequest {
    this.venue.events.settle(at);
    if (fault?.do === 'rate_limited') {
      const nothingLeft = { admitted: false, remaining: 0, resetAt: at + SHORT_WAIT_MS, waitMs: SHORT_WAIT_MS };
      return { answer: this.answers.buildLimited(nothingLeft, fault.retryAfter), tokens: 0 };
    }
    const { name } = request;
    const cost = this.getCost(name);
    const verdict = this.tokens.ask(cost, at);
    if (!verdict.admitted) return { answer: this.answers.buildLimited(verdict), tokens: 0 };
    if (ORDER_ACTIONS.has(name) && !this.tokens.askOrderAction(at)) {
      return { answer: this.answers.buildLimited({ ...verdict, waitMs: SHORT_WAIT_MS }), tokens: cost };
    }
    const outcome = this.decideOutcome(request, caller, at, fault);
    const answer = this.answers.applyFault(this.answers.buildAnswer(outcome, verdict), fault);
    if (outcome.kind === 'refused') return { answer, tokens: cost, refusal: outcome.refusal.code };
    return { answer, tokens: cost };
  }

  private decideOutcome(request: VenueRequest, caller: Caller, at: number, fault: FaultRule | undefined): Outcome {
    try {
      if (fault?.do === 'unauthorized') throw new VenueError('UNAUTHORIZED', 'the session is over', 401);
      if (fault !== undefined && preventsExecution(fault)) return { kind: 'done', result: [] };
      return { kind: 'done', result: this.execute(request, caller, at, fault) };
    } catch (problem) {
      if (problem instanceof VenueError) return { kind: 'refused', refusal: problem };
      throw problem;
    }
  }

  private execute(request: VenueRequest, caller: Caller, at: number, fault: FaultRule | undefined): unknown {
    const { name } = request;
    if (name === 'GET /markets') return this.readMarkets(request, at);
    const listsPositions = name === 'GET /positions';
    if (!listsPositions && !isEndpointName(name)) throw new VenueError('NOT_FOUND', `there is no ${name}`, 404);
    if (name !== 'POST /jwt') this.venue.sessions.check(request, caller, at);
    if (listsPositions) return this.venue.account.listPositions();
    // venue-api.md, rule 1: the request counts because it arrived, also if it is refused.
    if (getEndpoint(name).qualifies) this.venue.deadman.noteActivity(at);
    if (request.unreadable !== undefined) throw request.unreadable;
    return this.handle(name, request, at, fault);
  }

  private handle<E extends EndpointName>(
    name: E,
    request: VenueRequest,
    at: number,
    fault: FaultRule | undefined,
  ): unknown {
    const { account, surprises } = this.venue.settings;
    const params = readParams(name, request, surprises, { leverage: { max: account.maxLeverage } });
    const handler: Handler<E> = HANDLERS[name];
    return handler(this.venue, { params, at, fault });
  }

  /** Answers GET /markets, which feeds read over HTTP: one market or all, without a session. */
  private readMarkets(request: VenueRequest, at: number): unknown {
    const wanted = request.params['market_id']?.text;
    return [...this.venue.markets.values()]
      .filter((market) => wanted === undefined || market.id === wanted)
      .map((market) => buildMarketRecord(market, at));
  }

  private getCost(name: string): number {
    if (!isEndpointName(name)) return DEFAULT_COST;
    return this.venue.settings.tokens.costs[name] ?? getEndpoint(name).tokens ?? DEFAULT_COST;
  }
}

/** Whether a fault answers instead of the venue, so that the request is not executed. */
function preventsExecution(fault: FaultRule): boolean {
  if (fault.do === 'redirect') return true;
  return (fault.do === 'status' || fault.do === 'error') && fault.processed !== true;
}
