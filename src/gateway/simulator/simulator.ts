/**
 * Simulates the venue in process: every private endpoint of venue-api.md, on a given clock and seed. It shares only the endpoint
 * table and the records with the client. The client's order machine, budget, limits and deadman model are never imported here:
 * the simulator would repeat their mistakes. It opens no socket; `server.ts` serves it over HTTP.
 *
 * Known differences from the venue of the documents:
 * - Prices are a seeded walk, given moves or recorded ones; mid is also mark and index. There are no other traders: liquidity has the same
 *   depth at each tick away from the best price and returns at each step of the path. The account's own orders never trade with
 *   each other.
 * - The mid price triggers stops. A position order waits as a fraction and gets its size when it is triggered; from then on it is
 *   an ordinary order, even if the position is closed meanwhile.
 * - There is no liquidation, no funding and no transfer of money; `last_liq_check` is the start. The formulas of the account
 *   record are the simulator's own (`market/account.ts`), and so are its error codes and reasons.
 * - `timestamp` of an order is that of its arrival and never changes. All markets share the order numbers.
 * - Outcomes follow after a delay drawn per order or action, independent of load. Acknowledgements take the latency alone, unless
 *   a fault delays them.
 * - An amend of a post-only order to a price that crosses leaves the old terms, and so does one that the margin does not allow.
 * - The deadman switch is armed per market and fires for the account. A request that is refused for lack of tokens or of a session
 *   is not an activity; a request that is refused for its content is.
 * - Parameters are accepted in query and body alike. A parameter that the endpoint does not have is refused.
 * - Tokens are counted when a request arrives; a refused one costs none. A request without a cost in the document costs 10.
 * - GET /markets, which feeds read over HTTP, and the form of GET /positions are additions. There is no websocket.
 */
import type { Clock } from '../../base/clock.ts';
import { type Decimal, type DecimalString, formatDecimal } from '../../base/decimal.ts';
import { mapFields } from '../../base/json.ts';
import { getEndpoint, isEndpointName } from '../../venue/catalogue.ts';
import { ACCOUNT_POSITION, type MarketRules } from '../../venue/port.ts';
import { HELD, type Transport, type WireReply, type WireRequest } from '../transport.ts';
import { Admission, type HandledRequest } from './admission.ts';
import { completeConfig, type SimulatorConfig } from './config/config.ts';
import { type FaultRule, Faults } from './config/faults.ts';
import { Chance } from './config/random.ts';
import { type Delivery, deliverAnswer, interceptRequest, TIMED_OUT, toReply } from './delivery.ts';
import { type Books, buildBooks, type SeenRequest } from './ledger-view.ts';
import { type FeedName, isFeedName, readFeedPrice } from './market/feeds.ts';
import { type HttpRequest, nameRequest, readHttp, VenueError, type VenueRequest } from './market/request.ts';
import type { Caller } from './market/sessions.ts';
import { openVenue, type Venue } from './market/venue.ts';

export { readFaults, readSimulatorConfig, type SimulatorConfig } from './config/config.ts';
export type { Delivery } from './delivery.ts';
export type { Books } from './ledger-view.ts';
export { isFeedName } from './market/feeds.ts';
export type { HttpRequest } from './market/request.ts';

/** The feed that is the price of a market here. */
export const SIMULATED_PRICE: FeedName = 'mid';

/** Prices of a market over time; `at` in epoch ms. */
export interface MarketPrices {
  readonly market: string;
  readonly points: readonly { readonly at: number; readonly price: Decimal }[];
}

/** Supplies the bearer token of an in-process transport. */
export interface Credentials {
  token(): string | undefined;
}

/** Rows of history that slow down a listing without start_time by one latency. */
const ROWS_PER_LATENCY = 50;
/** Requests that are kept, so that a server that runs for weeks does not fill the memory. */
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
  private readonly keptRequests: number;
  private readonly seen: SeenRequest[] = [];
  private readonly calls = new Map<string, number>();

  /**
   * `seed` is a whole number; `keptRequests`: how many requests the books show, 0 for a run that reads neither them nor the renewals of
   * the switch. Throws RangeError if `readSimulatorConfig` reports problems of the configuration.
   */
  constructor(config: SimulatorConfig, clock: Clock, seed: number, { keptRequests = KEPT_REQUESTS } = {}) {
    const settings = completeConfig(config);
    this.keptRequests = keptRequests;
    this.clock = clock;
    this.startedAt = clock.now();
    this.chance = new Chance(seed);
    this.markets = mapFields(settings.markets, ({ tick, lot, min_size }) => ({ tick, lot, min_size }));
    this.venue = openVenue(settings, clock, this.chance, keptRequests > 0);
    this.admission = new Admission(this.venue, this.startedAt);
    this.faults = new Faults(settings.faults, this.chance);
  }

  /**
   * Returns a transport to this venue. Without credentials the venue accepts it, unless the configuration limits the lifetime
   * of tokens or accepts only issued ones: then the transport holds a token of its own, which its POST /jwt renews.
   */
  transport(credentials?: Credentials): Transport {
    const { lifeMs, accept } = this.venue.settings.auth;
    const holds = credentials === undefined && (lifeMs !== undefined || accept === 'issued');
    let own = holds ? this.venue.sessions.issue(this.clock.now()) : undefined;
    return {
      // A write takes a turn to connect, as over a socket: its attempt comes behind all that other branches do at this instant.
      connect: () => new Promise((resolve) => this.clock.arrive(() => resolve(undefined))),
      send: (request, { timeoutMs, mayLeave }) =>
        new Promise<WireReply>((settle) => {
          // A reply comes behind all timers that are due, as it does over a socket: a replay delivers it at the same place.
          const resolve = (reply: WireReply) => this.clock.arrive(() => settle(reply));
          if (mayLeave?.() === false) return resolve(HELD);
          const timer = this.clock.at(this.clock.now() + timeoutMs, () => resolve(TIMED_OUT));
          const caller = { inProcess: true, token: credentials === undefined ? own : credentials.token() };
          const { endpoint: name, method, path, placement } = request;
          const params = this.withRefreshToken(request);
          const venueRequest: VenueRequest = { name, method, path, params, placement, headers: {} };
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

  /** Fills in an empty refresh token, as a session would; the in-process transport has no session. */
  private withRefreshToken({ endpoint: name, params }: WireRequest): WireRequest['params'] {
    const { refresh_token: asked } = params;
    if (name !== 'POST /jwt' || asked === undefined || asked.text !== '') return params;
    return {
      ...params,
      refresh_token: { ...asked, text: this.venue.settings.auth.refreshToken ?? 'simulated-refresh' },
    };
  }

  /** Serves one HTTP request. `deliver` is called once, in a turn of the clock, even if there is nothing to send. */
  serve(request: HttpRequest, deliver: (delivery: Delivery) => void): void {
    let read: VenueRequest;
    try {
      read = readHttp(request);
    } catch (problem) {
      if (!(problem instanceof VenueError)) throw problem;
      read = {
        name: nameRequest(request),
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
   * Returns the present price of a market: mid, bid, ask, mark, index or last. `key` is the market and may be omitted if there
   * is only one. Undefined for an unknown name or market.
   */
  feed(name: string, key: string | undefined): { value: DecimalString; at: number } | undefined {
    const { markets } = this.venue;
    const only = markets.size === 1 ? [...markets.values()][0] : undefined;
    const market = key === undefined ? only : markets.get(key);
    const at = this.clock.now();
    if (name === ACCOUNT_POSITION && key !== undefined) {
      this.venue.events.settle(at);
      return { value: formatDecimal(this.venue.account.getNetSize(key)), at };
    }
    if (market === undefined || !isFeedName(name)) return undefined;
    return { value: readFeedPrice(market, name, at), at: market.path.findGap(market.path.getStepAt(at)) ?? at };
  }

  /** Sets the mid price of a market from the next step of its path on, whatever that said. */
  setPrice(market: string, price: Decimal): void {
    const at = this.clock.now();
    this.venue.events.settle(at);
    this.venue.fillEngine.getMarket(market).setPrice(price, at);
    this.venue.events.watch();
  }

  /** The price of a market is another from this instant on: what it reaches is triggered and filled at once. */
  jump(market: string, price: Decimal): void {
    const at = this.clock.now();
    const { events, fillEngine } = this.venue;
    const meant = fillEngine.getMarket(market);
    events.settle(at);
    meant.setPrice(price, at, 'now');
    fillEngine.step(meant, at);
    events.watch();
  }

  /**
   * Fills the orders of `clientIds` that rest, or that would not wait for a trigger, by a fraction of what remains, each at its
   * own price.
   */
  fillResting(clientIds: ReadonlySet<string>, fraction: Decimal): void {
    const at = this.clock.now();
    const { events, fillEngine, ledger } = this.venue;
    events.settle(at);
    for (const order of [...ledger.open])
      if (clientIds.has(order.clientOrderId)) fillEngine.fillResting(order, fraction, at);
    events.watch();
  }

  /** The mid price of each market after one time and up to another, at most one per `everyMs`. Reads change nothing. */
  listMids(fromMs: number, toMs: number, everyMs: number): readonly MarketPrices[] {
    return [...this.venue.markets.values()].map(({ id, grid, path }) => ({
      market: id,
      points: path.listMids(fromMs, toMs, everyMs).map(({ at, ticks }) => ({ at, price: grid.toPrice(ticks) })),
    }));
  }

  /** Returns the venue's own books: orders with their history, fills, the deadman switch, tokens, every request sent here. */
  books(): Books {
    const at = this.clock.now();
    const { account, events, ledger, deadman, fillEngine } = this.venue;
    events.settle(at);
    const record = account.toRecord(at, fillEngine.listExposures(at));
    return buildBooks({ ledger, deadman, tokens: this.admission.tokens, seen: this.seen, account: record, at });
  }

  /** Replaces the faults from now on. */
  setFaults(rules: readonly FaultRule[]): void {
    this.faults.replace(rules);
  }

  private exchangeRequest(request: VenueRequest, caller: Caller, deliver: (delivery: Delivery) => void): void {
    const sentAt = this.clock.now();
    const { name } = request;
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
      const handled = this.admission.answer(request, caller, arrivesAt, fault);
      this.recordRequest({ request, sentAt, arrivedAt: arrivesAt, handled, fault });
      const scan = handled.tokens === 0 ? 0 : Math.round(latency * (this.computeScanFactor(request) - 1));
      const back = latency - there + scan + (fault?.way === 'request' ? 0 : late);
      this.clock.at(arrivesAt + back, () => deliver(deliverAnswer(handled.answer.wire, fault)));
    });
  }

  /** Without start_time, GET /orders and GET /fills read the whole history and take longer (`fullScanFactor`). */
  private computeScanFactor(request: VenueRequest): number {
    const { ledger } = this.venue;
    if (request.name !== 'GET /orders' && request.name !== 'GET /fills') return 1;
    if (request.params['start_time'] !== undefined) return 1;
    const rows = request.name === 'GET /orders' ? ledger.orders.length : ledger.fills.length;
    return Math.min(this.venue.settings.fullScanFactor, 1 + rows / ROWS_PER_LATENCY);
  }

  private recordRequest(what: {
    readonly request: VenueRequest;
    readonly sentAt: number;
    readonly arrivedAt?: number;
    readonly handled?: HandledRequest;
    readonly fault: FaultRule | undefined;
  }): void {
    const { request, sentAt, arrivedAt, handled, fault } = what;
    if (this.keptRequests === 0) return;
    if (this.seen.length >= this.keptRequests) this.seen.splice(0, Math.ceil(this.keptRequests / 10));
    this.seen.push({
      sentAt,
      ...(arrivedAt === undefined ? {} : { arrivedAt }),
      method: request.method,
      path: request.path,
      params: redactParams(request),
      tokens: handled?.tokens ?? 0,
      ...(handled === undefined ? {} : toSeenAnswer(handled)),
      ...(fault === undefined ? {} : { fault: fault.do }),
    });
  }
}

function toSeenAnswer({
  answer,
  refusal,
}: HandledRequest): Pick<SeenRequest, 'status' | 'success' | 'error' | 'refusal'> {
  const { wire, success, error } = answer;
  return { status: wire.status, success, error, ...(refusal === undefined ? {} : { refusal }) };
}

/** Returns the parameters as text, without the values that the endpoint table marks as secret. */
function redactParams(request: VenueRequest): Record<string, string> {
  const rows = isEndpointName(request.name) ? getEndpoint(request.name).parameters : {};
  return mapFields(request.params, ({ text }, key) =>
    Object.hasOwn(rows, key) && rows[key]?.secret ? '[redacted]' : text,
  );
}

/** Reads the token in an answer to POST /jwt, in either form. */
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
