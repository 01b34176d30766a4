/**
 * The venue's front gate: tokens first, then who is asking, then what is asked. Whatever comes in at a time leaves it
 * with an answer at that time; how long the answer travels, and whether it arrives, is the road's business.
 */
import { CATALOGUE, type EndpointName, endpoint } from '../../venue/catalogue.ts';
import { Answers, type Outcome, type VenueAnswer } from './answer.ts';
import { FAULTS, type FaultRule } from './config/faults.ts';
import { HANDLERS, type Handler } from './handlers.ts';
import { buildMarketRecord } from './market/feeds.ts';
import { readParams, VenueError, type VenueRequest } from './market/request.ts';
import type { Caller } from './market/sessions.ts';
import type { Venue } from './market/venue.ts';
import { type TokenVerdict, TokenWindow } from './tokens.ts';

/** What was said to a request, and what it cost. */
export interface HandledRequest {
  readonly answer: VenueAnswer;
  /** Tokens it was charged. */
  readonly tokens: number;
  /** Code of the refusal, when it was refused for what it asks or who asks. */
  readonly refusal?: string;
}

/** For calls that the document gives no cost, and for what it does not describe. */
const DEFAULT_COST = 10;
/** How long a refusal says to wait where no window tells. */
const SHORT_WAIT_MS = 1000;
const LIMITED = new VenueError('RATE_LIMIT_EXCEEDED', 'too many requests', 429);
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

  /** Answers a request that arrived at a time, under the fault that it meets. */
  answer(request: VenueRequest, caller: Caller, at: number, fault: FaultRule | undefined): HandledRequest {
    this.venue.events.settle(at);
    if (fault?.do === 'rate_limited') {
      const nothingLeft = { admitted: false, remaining: 0, resetAt: at + SHORT_WAIT_MS, waitMs: SHORT_WAIT_MS };
      return { answer: this.answers.buildLimited(nothingLeft, LIMITED, fault.retryAfter), tokens: 0 };
    }
    const name = getRequestName(request);
    const cost = this.getCost(name);
    const verdict = this.tokens.ask(cost, at);
    if (!verdict.admitted) return { answer: this.answers.buildLimited(verdict, LIMITED), tokens: 0 };
    if (ORDER_ACTIONS.has(name) && !this.tokens.askOrderAction(at)) {
      return { answer: this.answers.buildLimited({ ...verdict, waitMs: SHORT_WAIT_MS }, LIMITED), tokens: cost };
    }
    return { ...this.carryOut(request, caller, at, fault, verdict), tokens: cost };
  }

  private carryOut(
    request: VenueRequest,
    caller: Caller,
    at: number,
    fault: FaultRule | undefined,
    verdict: TokenVerdict,
  ): Omit<HandledRequest, 'tokens'> {
    const outcome = this.decideOutcome(request, caller, at, fault);
    const said = this.answers.applyFault(this.answers.buildAnswer(outcome, verdict), fault);
    return outcome.kind === 'refused' ? { answer: said, refusal: outcome.refusal.code } : { answer: said };
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
    const name = getRequestName(request);
    if (!isEndpoint(name)) return this.readMarkets(request, at);
    if (name !== 'POST /jwt') this.venue.sessions.check(request, caller, at);
    // venue-api.md, rule 1: what counts is that the request came, not that it was liked.
    if (endpoint(name).qualifies) this.venue.deadman.noteActivity(at);
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
    const concerned = fault !== undefined && FAULTS[fault.do] === 'orders' ? fault : undefined;
    return handler(this.venue, { params, at, fault: concerned });
  }

  /** GET /markets, for feeds over HTTP: one market or all. Nobody is asked who they are. */
  private readMarkets(request: VenueRequest, at: number): unknown {
    if (getRequestName(request) !== 'GET /markets') {
      throw new VenueError('NOT_FOUND', `there is no ${getRequestName(request)}`, 404);
    }
    const wanted = request.params['market_id']?.text;
    return [...this.venue.markets.values()]
      .filter((market) => wanted === undefined || market.id === wanted)
      .map((market) => buildMarketRecord(market, at));
  }

  private getCost(name: string): number {
    if (!isEndpoint(name)) return DEFAULT_COST;
    return this.venue.settings.tokens.costs[name] ?? endpoint(name).tokens ?? DEFAULT_COST;
  }
}

export function getRequestName({ method, path }: VenueRequest): string {
  return `${method} ${path}`;
}

export function isEndpoint(name: string): name is EndpointName {
  return Object.hasOwn(CATALOGUE, name);
}

/** Whether a fault answers in the venue's place, before anything is carried out. */
function preventsExecution(fault: FaultRule): boolean {
  if (fault.do === 'redirect') return true;
  return (fault.do === 'status' || fault.do === 'error') && fault.processed !== true;
}
