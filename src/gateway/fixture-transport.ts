/**
 * Answers from recorded exchanges (interface.md, Fixtures). A request is matched by method, path and parameters, with the
 * run's own ids and times unified, in order per endpoint; it is answered after the time it took when it was recorded. What
 * nothing matches is a miss: it is told with the nearest recorded exchange and the difference, and never answered by guess.
 *
 * Two tolerances, and no others: times may differ a little (`TIME_TOLERANCE_MS`), and a read that is asked once more than it
 * was recorded gets its last answer again (`repeatLastRead`), because a poll may fall on the other side of an event. A write
 * is never answered twice.
 */
import type { Clock } from '../base/clock.ts';
import { parseDecimal } from '../base/decimal.ts';
import { printable } from '../base/printable.ts';
import type { FeedValue } from '../venue/port.ts';
import { parseExactJson } from './exact-json.ts';
import { type Fixture, isRecord, type RecordedExchange, type RecordedReply, type RecordedRequest } from './fixture.ts';
import { OrderIds, TimeShift } from './fixture-identity.ts';
import type { Transport, WireReply, WireRequest } from './transport.ts';

export interface FixtureOptions {
  /** When the run starts, epoch ms: recorded times are moved by the distance to it. */
  readonly startMs: number;
  /** Default true. */
  readonly repeatLastRead?: boolean;
  /** Called before the miss is given as the request's failure: the dry-run can not go on. */
  readonly onMiss: (miss: FixtureMiss) => void;
}

export interface FixtureMiss {
  readonly request: RecordedRequest;
  /** Begins with `fixture: `, is one sentence and printable. */
  readonly message: string;
  readonly nearest?: {
    readonly position: number;
    readonly exchange: RecordedExchange;
    readonly differences: readonly Difference[];
  };
}

export interface Difference {
  readonly name: string;
  readonly recorded: string | undefined;
  readonly sent: string | undefined;
}

interface Slot {
  /** Place in the fixture, from 1. */
  readonly position: number;
  readonly exchange: RecordedExchange;
  used: boolean;
}

export class FixtureTransport implements Transport {
  private readonly fixture: Fixture;
  private readonly clock: Clock;
  private readonly options: FixtureOptions;
  private readonly ids = new OrderIds();
  private readonly times: TimeShift;
  private readonly slots: readonly Slot[];
  private readonly endpoints = new Map<string, Endpoint>();

  constructor(fixture: Fixture, clock: Clock, options: FixtureOptions) {
    this.fixture = fixture;
    this.clock = clock;
    this.options = options;
    this.times = new TimeShift(fixture.startMs, options.startMs);
    this.slots = fixture.exchanges.map((exchange, index) => ({ position: index + 1, exchange, used: false }));
    for (const slot of this.slots) this.endpointOf(slot.exchange.request).slots.push(slot);
  }

  send(request: WireRequest, { timeoutMs }: { readonly timeoutMs: number }): Promise<WireReply> {
    const sent = recordedRequest(request);
    const slot = this.match(sent);
    if (slot === undefined) return this.miss(sent);
    slot.used = true;
    this.learn(slot.exchange, sent);
    const { tookMs, reply } = slot.exchange;
    if (tookMs > timeoutMs) return this.after(timeoutMs, { kind: 'failure', sent: true, message: 'timeout: response' });
    return this.after(tookMs, this.translated(reply));
  }

  knows(request: WireRequest): boolean {
    return this.match(recordedRequest(request)) !== undefined;
  }

  /** Recorded exchanges no request has asked for, with their place in the fixture, from 1. */
  unused(): readonly { readonly position: number; readonly exchange: RecordedExchange }[] {
    return this.slots.filter((slot) => !slot.used);
  }

  /** The recorded value of a feed at this moment of the run: the newest that was true by now. */
  feed(name: string, key: string | undefined): FeedValue | undefined {
    const elapsedMs = this.clock.now() - this.options.startMs;
    const known = this.fixture.feeds.filter(
      (feed) => feed.name === name && feed.key === key && feed.afterMs <= elapsedMs,
    );
    const newest = known.reduce<(typeof known)[number] | undefined>(
      (best, feed) => (best && best.afterMs > feed.afterMs ? best : feed),
      undefined,
    );
    if (newest === undefined) return undefined;
    return {
      name,
      ...(key === undefined ? {} : { key }),
      value: newest.value,
      at: this.options.startMs + newest.afterMs,
    };
  }

  private endpointOf({ method, path }: RecordedRequest): Endpoint {
    const name = `${method} ${path}`;
    const known = this.endpoints.get(name) ?? { slots: [], next: 0 };
    this.endpoints.set(name, known);
    return known;
  }

  private match(sent: RecordedRequest): Slot | undefined {
    const endpoint = this.endpointOf(sent);
    while (endpoint.slots[endpoint.next]?.used) endpoint.next += 1;
    const fits = (slot: Slot) => this.differences(slot.exchange.request, sent).length === 0;
    for (let index = endpoint.next; index < endpoint.slots.length; index += 1) {
      const slot = endpoint.slots[index] as Slot;
      if (!slot.used && fits(slot)) return slot;
    }
    const mayRepeat = sent.method === 'GET' && this.options.repeatLastRead !== false;
    return mayRepeat ? endpoint.slots.findLast((slot) => slot.used && fits(slot)) : undefined;
  }

  private differences(recorded: RecordedRequest, sent: RecordedRequest): Difference[] {
    const names = [...new Set([...Object.keys(recorded.params), ...Object.keys(sent.params)])];
    return names
      .map((name) => ({ name, recorded: recorded.params[name], sent: sent.params[name] }))
      .filter((pair) => !this.agree(pair, sent.method));
  }

  private agree({ name, recorded, sent }: Difference, method: string): boolean {
    // An order recorded from elsewhere may have had no id of its own: ours is then given to it.
    if (name === 'client_order_id' && recorded === undefined) return method === 'POST';
    if (recorded === undefined || sent === undefined) return false;
    if (name === 'client_order_id') return this.ids.agree(recorded, sent);
    if (name === 'start_time' || name === 'end_time') return this.times.agree(recorded, sent);
    return recorded === sent || sameNumber(recorded, sent);
  }

  private learn({ request, reply }: RecordedExchange, sent: RecordedRequest): void {
    const own = sent.params['client_order_id'];
    if (own === undefined) return;
    const recorded = request.params['client_order_id'];
    if (recorded !== undefined) this.ids.bind(recorded, own);
    const orderId = recorded === undefined && reply.kind === 'answer' ? acknowledgedOrder(reply.body) : undefined;
    if (orderId !== undefined) this.ids.adopt(orderId, own);
  }

  private translated(reply: RecordedReply): WireReply {
    if (reply.kind === 'failure') return reply;
    return {
      ...reply,
      headers: this.times.headers(reply.headers),
      body: this.times.translate(this.ids.translate(reply.body)),
    };
  }

  private after(delayMs: number, reply: WireReply): Promise<WireReply> {
    // In a turn for what arrives, behind all timers that are due: a replay hands it in at that very place.
    return new Promise((resolve) =>
      this.clock.at(this.clock.now() + delayMs, () => this.clock.arrive(() => resolve(reply))),
    );
  }

  private miss(sent: RecordedRequest): Promise<WireReply> {
    const nearest = this.nearest(sent);
    const message = `fixture: ${missText(sent, nearest, this.endpoints)}`;
    this.options.onMiss({ request: sent, message, ...(nearest === undefined ? {} : { nearest }) });
    return this.after(0, { kind: 'failure', sent: false, message });
  }

  /** The exchange of the endpoint that differs least; one that is still to come before one that is used up. */
  private nearest(sent: RecordedRequest): FixtureMiss['nearest'] {
    const ranked = this.endpointOf(sent).slots.map(({ position, exchange, used }) => {
      const differences = this.differences(exchange.request, sent);
      return { position, exchange, differences, rank: differences.length * 2 + (used ? 1 : 0) };
    });
    const [best] = ranked.sort((a, b) => a.rank - b.rank || a.position - b.position);
    if (best === undefined) return undefined;
    return { position: best.position, exchange: best.exchange, differences: best.differences };
  }
}

interface Endpoint {
  readonly slots: Slot[];
  /** No slot before this one is free. */
  next: number;
}

function recordedRequest({ method, path, params }: WireRequest): RecordedRequest {
  return { method, path, params: Object.fromEntries(Object.entries(params).map(([name, { text }]) => [name, text])) };
}

function sameNumber(left: string, right: string): boolean {
  const number = parseDecimal(left);
  const other = parseDecimal(right);
  return number !== undefined && other !== undefined && number.eq(other);
}

function acknowledgedOrder(body: string): string | undefined {
  const { value } = parseExactJson(body) as { value?: unknown };
  const result = isRecord(value) ? value['result'] : undefined;
  const [first] = Array.isArray(result) ? result : [];
  return isRecord(first) && typeof first['id'] === 'string' ? first['id'] : undefined;
}

function missText(
  sent: RecordedRequest,
  nearest: FixtureMiss['nearest'],
  endpoints: ReadonlyMap<string, Endpoint>,
): string {
  const asked = `${sent.method} ${sent.path} ${printable(JSON.stringify(sent.params), 300)}`;
  if (nearest === undefined) {
    const recorded = [...endpoints].filter(([, { slots }]) => slots.length > 0).map(([name]) => printable(name, 80));
    const known = recorded.length === 0 ? 'it holds no exchanges' : `recorded are ${recorded.slice(0, 20).join(', ')}`;
    return `nothing recorded answers ${asked}; ${known}`;
  }
  if (nearest.differences.length === 0) {
    return `nothing recorded answers ${asked} once more; the last such exchange, number ${nearest.position}, has been used`;
  }
  const differences = nearest.differences.map(
    ({ name, recorded, sent: own }) =>
      `${printable(name, 40)} recorded ${printable(recorded ?? 'absent', 80)}, sent ${printable(own ?? 'absent', 80)}`,
  );
  return `nothing recorded answers ${asked}; the nearest is exchange ${nearest.position}: ${differences.join('; ')}`;
}
