/**
 * The simulated venue: every private endpoint of venue-api.md in process, on the clock and the seed it is given. It
 * shares the shapes of the endpoint table and the records with the client and nothing else: the order machine, the
 * budget, the limits and the deadman model of the client are never imported here, or it would agree with our mistakes.
 * It opens no socket; `sim-server.ts` serves it over HTTP.
 *
 * How it differs from the venue, as far as the documents let anybody say:
 * - Prices are a seeded walk, or given points; mid is mark and index as well. There is no one else in the book: liquidity is the
 *   same depth at each tick away from the touch and is whole again at each step of the path. The account's own orders never
 *   trade with each other.
 * - A stop is triggered by the mid price. A position order waits as a fraction and takes its size when it is triggered; after
 *   that it is an ordinary order, also when the position has gone meanwhile.
 * - There is no liquidation, no funding, no transfer of money; `last_liq_check` is the start. The formulas of the account
 *   record are this simulator's own (`account.ts`), and so are its error codes and reasons.
 * - `timestamp` of an order is that of its arrival and never changes. Order numbers are shared by all markets.
 * - Outcomes come after a delay drawn per order or action, however busy the venue is. Acknowledgements are never late by more
 *   than the latency; faults make them so.
 * - An amend of a post-only order to a price that crosses leaves the old terms, as does one that the margin does not allow.
 * - The deadman switch is armed per market and fires for the account. A request refused for want of tokens or of a session
 *   is no activity; one refused for what it asks is.
 * - A parameter is taken from query or body alike. One that the endpoint does not have is refused.
 * - Tokens are counted when a request arrives; a refused one costs none. Calls that the document gives no cost cost 10.
 * - GET /markets is an addition, so that feeds have something to read over HTTP. There is no websocket.
 */
import type { Clock } from '../../base/clock.ts';
import type { DecimalString } from '../../base/decimal.ts';
import { endpoint } from '../../venue/catalogue.ts';
import type { MarketRules } from '../../venue/port.ts';
import type { Transport, WireReply, WireRequest } from '../transport.ts';
import { Admission, getRequestName, type HandledRequest, isEndpoint } from './admission.ts';
import { completeConfig, type SimulatorConfig } from './config/config.ts';
import { type FaultRule, Faults } from './config/faults.ts';
import { Chance } from './config/random.ts';
import { type Delivery, deliverAnswer, interceptRequest, TIMED_OUT, toReply } from './delivery.ts';
import { type Books, buildBooks, type SeenRequest } from './ledger-view.ts';
import { isFeedName, readFeedPrice } from './market/feeds.ts';
import { type HttpRequest, readHttp, VenueError, type VenueRequest } from './market/request.ts';
import type { Caller } from './market/sessions.ts';
import { openVenue, type Venue } from './market/venue.ts';

export { readFaults, readSimulatorConfig, type SimulatorConfig, simulatorSchema } from './config/config.ts';
export type { Delivery } from './delivery.ts';
export type { Books } from './ledger-view.ts';
export type { HttpRequest } from './market/request.ts';

/** The bearer token that a transport in process would have sent. */
export interface Credentials {
  token(): string | undefined;
}

const HANDLE_TIMEOUT_MS = 30_000;
/** History rows at which a listing without start_time is slower by one more latency. */
const ROWS_PER_LATENCY = 50;
/** Seen requests that are kept; a server that runs for weeks must not fill the memory. */
const KEPT_REQUESTS = 250_000;

export class Simulator {
  /** Tick, lot and smallest size of each market. */
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly clock: Clock;
  private readonly chance: Chance;
  private readonly venue: Venue;
  private readonly admission: Admission;
  private readonly faults: Faults;
  private readonly startedAt: number;
  private readonly seen: SeenRequest[] = [];
  private readonly calls = new Map<string, number>();

  /** `seed` is a whole number. Throws RangeError on a configuration that `readSimulatorConfig` reports problems of. */
  constructor(config: SimulatorConfig, clock: Clock, seed: number) {
    const settings = completeConfig(config);
    this.clock = clock;
    this.startedAt = clock.now();
    this.chance = new Chance(seed);
    this.markets = Object.fromEntries(
      Object.entries(settings.markets).map(([id, { tick, lot, min_size }]) => [id, { tick, lot, min_size }]),
    );
    this.venue = openVenue(settings, clock, this.chance);
    this.admission = new Admission(this.venue, this.startedAt);
    this.faults = new Faults(settings.faults, this.chance);
  }

  /**
   * A transport into this venue. Without credentials it is taken as known, unless the configuration limits the life of
   * tokens or takes only issued ones: then it holds a token of its own, which its POST /jwt renews.
   */
  transport(credentials?: Credentials): Transport {
    const { lifeMs, accept } = this.venue.settings.auth;
    const holds = credentials === undefined && (lifeMs !== undefined || accept === 'issued');
    let own = holds ? this.venue.sessions.issue(this.clock.now()) : undefined;
    return {
      send: (request, { timeoutMs }) =>
        new Promise<WireReply>((settle) => {
          // What arrives comes behind all timers that are due, as it does over a socket: a replay hands it in at that place.
          const resolve = (reply: WireReply) => this.clock.arrive(() => settle(reply));
          const timer = this.clock.at(this.clock.now() + timeoutMs, () => resolve(TIMED_OUT));
          const caller = { inProcess: true, token: credentials === undefined ? own : credentials.token() };
          const venueRequest: VenueRequest = { ...request, params: this.withRefreshToken(request), headers: {} };
          this.exchangeRequest(venueRequest, caller, (delivery) => {
            if (holds && request.endpoint === 'POST /jwt') own = readIssuedToken(delivery) ?? own;
            const reply = toReply(delivery);
            if (reply === undefined) return;
            timer.cancel();
            resolve(reply);
          });
        }),
    };
  }

  /** A session puts the refresh token in where it is left empty; the transport in process stands in for one. */
  private withRefreshToken({ endpoint: name, params }: WireRequest): WireRequest['params'] {
    const { refresh_token: asked } = params;
    if (name !== 'POST /jwt' || asked === undefined || asked.text !== '') return params;
    return {
      ...params,
      refresh_token: { ...asked, text: this.venue.settings.auth.refreshToken ?? 'simulated-refresh' },
    };
  }

  /** One request as it comes over HTTP, answered as a transport would: what never comes is a failure after `timeoutMs`. */
  handle(request: HttpRequest, timeoutMs: number = HANDLE_TIMEOUT_MS): Promise<WireReply> {
    return new Promise((resolve) => {
      const timer = this.clock.at(this.clock.now() + timeoutMs, () => resolve(TIMED_OUT));
      this.serve(request, (delivery) => {
        const reply = toReply(delivery);
        if (reply === undefined) return;
        timer.cancel();
        resolve(reply);
      });
    });
  }

  /** One request as it comes over HTTP; `deliver` is called once, in a turn of the clock, also where nothing is to be sent. */
  serve(request: HttpRequest, deliver: (delivery: Delivery) => void): void {
    let read: VenueRequest;
    try {
      read = readHttp(request);
    } catch (problem) {
      if (!(problem instanceof VenueError)) throw problem;
      read = {
        method: request.method,
        path: request.path,
        params: {},
        placement: 'query',
        headers: request.headers,
        unreadable: problem,
      };
    }
    this.exchangeRequest(read, { inProcess: false, token: undefined }, deliver);
  }

  /**
   * A price of a market as it stands now: mid, bid, ask, mark, index or last. `key` is the market, which may be left out
   * where there is only one. Undefined for a name or market there is not.
   */
  feed(name: string, key: string | undefined): { value: DecimalString; at: number } | undefined {
    const { markets } = this.venue;
    const only = markets.size === 1 ? [...markets.values()][0] : undefined;
    const market = key === undefined ? only : markets.get(key);
    if (market === undefined || !isFeedName(name)) return undefined;
    const at = this.clock.now();
    return { value: readFeedPrice(market, name, at), at };
  }

  /** What is really so: orders with their whole history, fills, the switch, tokens, every request that was sent here. */
  books(): Books {
    const at = this.clock.now();
    const { account, events, ledger, deadman, fillEngine } = this.venue;
    events.settle(at);
    const record = account.toRecord(at, fillEngine.listExposures(at));
    return buildBooks({ ledger, deadman, tokens: this.admission.tokens, seen: this.seen, account: record, at });
  }

  /** Other faults from now on. */
  setFaults(rules: readonly FaultRule[]): void {
    this.faults.replace(rules);
  }

  // The road

  private exchangeRequest(request: VenueRequest, caller: Caller, deliver: (delivery: Delivery) => void): void {
    const sentAt = this.clock.now();
    const name = getRequestName(request);
    const call = (this.calls.get(name) ?? 0) + 1;
    this.calls.set(name, call);
    const latency = this.chance.drawWithin(this.venue.settings.latencyMs, `latency ${name}`, call);
    const fault = this.faults.choose({
      endpoint: name,
      type: request.params['type']?.text,
      market: request.params['market_id']?.text,
      elapsedMs: sentAt - this.startedAt,
    });
    const there = Math.floor(latency / 2);
    const late = fault?.do === 'delay' ? (fault.ms ?? 0) : 0;
    const arrivesAt = sentAt + there + (fault?.way === 'request' ? late : 0);
    const undelivered = interceptRequest(fault);
    if (undelivered !== undefined) {
      this.recordRequest({ request, sentAt, fault });
      this.clock.at(sentAt + there, () => deliver(undelivered));
      return;
    }
    this.clock.at(arrivesAt, () => {
      const judged = this.admission.answer(request, caller, arrivesAt, fault);
      this.recordRequest({ request, sentAt, arrivedAt: arrivesAt, judged, fault });
      const scan = judged.tokens === 0 ? 0 : Math.round(latency * (this.computeScanFactor(request) - 1));
      const back = latency - there + scan + (fault?.way === 'request' ? 0 : late);
      this.clock.at(arrivesAt + back, () => deliver(deliverAnswer(judged.answer.wire, fault)));
    });
  }

  /** Orders, Fills: without start_time the whole history is read, up to about ten times slower. */
  private computeScanFactor(request: VenueRequest): number {
    const { ledger } = this.venue;
    const rows = { 'GET /orders': ledger.orders.length, 'GET /fills': ledger.fills.length }[getRequestName(request)];
    if (rows === undefined || request.params['start_time'] !== undefined) return 1;
    return Math.min(this.venue.settings.fullScanFactor, 1 + rows / ROWS_PER_LATENCY);
  }

  private recordRequest(what: {
    readonly request: VenueRequest;
    readonly sentAt: number;
    readonly arrivedAt?: number;
    readonly judged?: HandledRequest;
    readonly fault: FaultRule | undefined;
  }): void {
    const { request, sentAt, arrivedAt, judged, fault } = what;
    if (this.seen.length >= KEPT_REQUESTS) this.seen.splice(0, KEPT_REQUESTS / 10);
    this.seen.push({
      sentAt,
      ...(arrivedAt === undefined ? {} : { arrivedAt }),
      method: request.method,
      path: request.path,
      params: redactParams(request),
      tokens: judged?.tokens ?? 0,
      ...(judged === undefined ? {} : toSeenAnswer(judged)),
      ...(fault === undefined ? {} : { fault: fault.do }),
    });
  }
}

function toSeenAnswer({
  answer: said,
  refusal,
}: HandledRequest): Pick<SeenRequest, 'status' | 'success' | 'error' | 'refusal'> {
  const { wire: answer, success, error } = said;
  return { status: answer.status, success, error, ...(refusal === undefined ? {} : { refusal }) };
}

/** Parameters as text, without those that the endpoint table calls secret. */
function redactParams(request: VenueRequest): Record<string, string> {
  const name = getRequestName(request);
  const rows = isEndpoint(name) ? endpoint(name).parameters : {};
  return Object.fromEntries(
    Object.entries(request.params).map(([key, value]) => [
      key,
      Object.hasOwn(rows, key) && rows[key]?.secret ? '[redacted]' : value.text,
    ]),
  );
}

/** The token in an answer to POST /jwt, in either shape. */
function readIssuedToken(delivery: Delivery): string | undefined {
  if (delivery.kind !== 'answer' || delivery.wire !== undefined || delivery.answer.status !== 200) return undefined;
  try {
    const { success, result } = JSON.parse(delivery.answer.body) as {
      success: boolean;
      result: readonly (string | { jwt: string })[];
    };
    const first = success ? result[0] : undefined;
    return typeof first === 'object' ? first.jwt : first;
  } catch {
    return undefined;
  }
}
