/**
 * The venue's front gate: tokens first, then who is asking, then what is asked. Whatever comes in at a time leaves it
 * with an answer at that time; how long the answer travels, and whether it arrives, is the road's business.
 */
import { CATALOGUE, type EndpointName, endpoint } from '../../venue/catalogue.ts';
import { Answers, type Outcome, type SaidAnswer } from './answer.ts';
import { FAULTS, type FaultRule } from './config/faults.ts';
import { HANDLERS, type Handler } from './handlers.ts';
import { marketRecord } from './market/feeds.ts';
import { readParams, VenueError, type VenueRequest } from './market/request.ts';
import type { Caller } from './market/sessions.ts';
import type { Venue } from './market/venue.ts';
import { type TokenVerdict, TokenWindow } from './tokens.ts';

/** What was said to a request, and what it cost. */
export interface Judged {
  readonly said: SaidAnswer;
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

export class Admissions {
  readonly tokens: TokenWindow;
  private readonly venue: Venue;
  private readonly answers: Answers;

  constructor(venue: Venue, startedAt: number) {
    this.venue = venue;
    this.tokens = new TokenWindow(venue.settings.tokens, startedAt);
    this.answers = new Answers(venue.settings);
  }

  /** Answers a request that arrived at a time, under the fault that it meets. */
  answer(request: VenueRequest, caller: Caller, at: number, fault: FaultRule | undefined): Judged {
    this.venue.agenda.settle(at);
    if (fault?.do === 'rate_limited') {
      const nothingLeft = { admitted: false, remaining: 0, resetAt: at + SHORT_WAIT_MS, waitMs: SHORT_WAIT_MS };
      return { said: this.answers.limited(nothingLeft, LIMITED, fault.retryAfter), tokens: 0 };
    }
    const name = requestName(request);
    const cost = this.cost(name);
    const verdict = this.tokens.ask(cost, at);
    if (!verdict.admitted) return { said: this.answers.limited(verdict, LIMITED), tokens: 0 };
    if (ORDER_ACTIONS.has(name) && !this.tokens.askOrderAction(at)) {
      return { said: this.answers.limited({ ...verdict, waitMs: SHORT_WAIT_MS }, LIMITED), tokens: cost };
    }
    return { ...this.carriedOut(request, caller, at, fault, verdict), tokens: cost };
  }

  private carriedOut(
    request: VenueRequest,
    caller: Caller,
    at: number,
    fault: FaultRule | undefined,
    verdict: TokenVerdict,
  ): Omit<Judged, 'tokens'> {
    const outcome = this.outcome(request, caller, at, fault);
    const said = this.answers.spoil(this.answers.plain(outcome, verdict), fault);
    return outcome.kind === 'refused' ? { said, refusal: outcome.refusal.code } : { said };
  }

  private outcome(request: VenueRequest, caller: Caller, at: number, fault: FaultRule | undefined): Outcome {
    try {
      if (fault?.do === 'unauthorized') throw new VenueError('UNAUTHORIZED', 'the session is over', 401);
      if (fault !== undefined && stopsAtGate(fault)) return { kind: 'done', result: [] };
      return { kind: 'done', result: this.result(request, caller, at, fault) };
    } catch (problem) {
      if (problem instanceof VenueError) return { kind: 'refused', refusal: problem };
      throw problem;
    }
  }

  private result(request: VenueRequest, caller: Caller, at: number, fault: FaultRule | undefined): unknown {
    const name = requestName(request);
    if (!isEndpoint(name)) return this.publicRead(request, at);
    if (name !== 'POST /jwt') this.venue.sessions.check(request, caller, at);
    // venue-api.md, rule 1: what counts is that the request came, not that it was liked.
    if (endpoint(name).qualifies) this.venue.deadman.activity(at);
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
    const concerned = fault !== undefined && FAULTS[fault.do] === 'desk' ? fault : undefined;
    return handler(this.venue, { params, at, fault: concerned });
  }

  /** GET /markets, for feeds over HTTP: one market or all. Nobody is asked who they are. */
  private publicRead(request: VenueRequest, at: number): unknown {
    if (requestName(request) !== 'GET /markets') {
      throw new VenueError('NOT_FOUND', `there is no ${requestName(request)}`, 404);
    }
    const wanted = request.params['market_id']?.text;
    return [...this.venue.markets.values()]
      .filter((market) => wanted === undefined || market.id === wanted)
      .map((market) => marketRecord(market, at));
  }

  private cost(name: string): number {
    if (!isEndpoint(name)) return DEFAULT_COST;
    return this.venue.settings.tokens.costs[name] ?? endpoint(name).tokens ?? DEFAULT_COST;
  }
}

export function requestName({ method, path }: VenueRequest): string {
  return `${method} ${path}`;
}

export function isEndpoint(name: string): name is EndpointName {
  return Object.hasOwn(CATALOGUE, name);
}

/** Whether a fault answers in the venue's place, before anything is carried out. */
function stopsAtGate(fault: FaultRule): boolean {
  if (fault.do === 'redirect') return true;
  return (fault.do === 'status' || fault.do === 'error') && fault.processed !== true;
}
