/** A simulated venue under a virtual clock, spoken to through its transport the way the gateway does. */

import { VirtualClock } from '../../src/base/clock.ts';
import { type DecimalString, decimal } from '../../src/base/decimal.ts';
import { toReply } from '../../src/gateway/simulator/delivery.ts';
import {
  type Credentials,
  type HttpRequest,
  Simulator,
  type SimulatorConfig,
} from '../../src/gateway/simulator/simulator.ts';
import type { Transport, WireReply, WireRequest, WireValue } from '../../src/gateway/transport.ts';
import { type EndpointName, getEndpoint, type Params, type Result } from '../../src/venue/catalogue.ts';
import type { AccountRecord, OrderRecord, PlacementAck } from '../../src/venue/records.ts';

export const START_MS = Date.parse('2026-01-05T08:00:00Z');

/** Everything takes a known time: 10 ms there and back, 50 ms to an outcome, and orders show at once. */
export const CALM: SimulatorConfig = {
  markets: {
    'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] }, spreadBps: 0 },
    'ETH-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '3200' }] } },
  },
  account: { equity: '100000' },
  latencyMs: { min: 10, max: 10 },
  processingMs: { min: 50, max: 50 },
  visibilityLagMs: { min: 0, max: 0 },
};

/** BTC-USD moves as given: [seconds from the start, price]; everything else as in CALM. Bid and ask are one tick off mid. */
export function moving(...points: readonly (readonly [number, DecimalString])[]): SimulatorConfig {
  const path = {
    kind: 'points' as const,
    points: points.map(([seconds, price]) => ({ afterMs: seconds * 1000, price })),
  };
  return { ...CALM, markets: { ...CALM.markets, 'BTC-USD': { path, spreadBps: 0 } } };
}

export interface Said<E extends EndpointName> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly success: boolean;
  readonly error: string;
  /** As the venue sent it, which for POST /jwt and the deadman switch is not yet what the client makes of it. */
  readonly result: Result<E>;
}

export class SimulatedVenue {
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  readonly transport: Transport;
  readonly startMs: number;

  constructor(config: SimulatorConfig = CALM, seed = 1, credentials?: Credentials, startMs = START_MS) {
    this.startMs = startMs;
    this.clock = new VirtualClock(startMs);
    this.simulator = new Simulator(config, this.clock, seed);
    this.transport = this.simulator.transport(credentials);
  }

  /** Sends and waits for the reply, whatever it is. */
  async send<E extends EndpointName>(name: E, params: Params<E>, timeoutMs = 10_000): Promise<WireReply> {
    return this.clock.runUntil(this.transport.send(wire(name, params), { timeoutMs }));
  }

  /** Serves one HTTP request and waits for its answer; a request without one fails the test. */
  async serve(request: HttpRequest): Promise<WireReply> {
    return this.clock.runUntil(
      new Promise((resolve, reject) => {
        this.simulator.serve(request, (delivery) => {
          const reply = toReply(delivery);
          if (reply === undefined) reject(new Error(`no answer to ${request.method} ${request.path}`));
          else resolve(reply);
        });
      }),
    );
  }

  /** Sends and reads the envelope; an exchange without an answer fails the test. */
  async call<E extends EndpointName>(name: E, params: Params<E>): Promise<Said<E>> {
    const reply = await this.send(name, params);
    if (reply.kind !== 'answer') throw new Error(`no answer to ${name}: ${reply.message}`);
    return {
      status: reply.status,
      headers: reply.headers,
      ...(JSON.parse(reply.body) as Pick<Said<E>, 'success' | 'error' | 'result'>),
    };
  }

  /** Places an order and gives its acknowledgement; a refusal fails the test. */
  async place(
    params: { [K in keyof Params<'POST /orders'>]?: Params<'POST /orders'>[K] | undefined } = {},
  ): Promise<PlacementAck> {
    const said = await this.call('POST /orders', {
      market_id: 'BTC-USD',
      side: 'long',
      type: 'limit',
      price: '63000',
      size: '0.1',
      ...params,
    } as Params<'POST /orders'>);
    if (!said.success) throw new Error(`refused: ${said.error}`);
    const [ack] = said.result;
    if (ack === undefined) throw new Error('acknowledged with nothing');
    return ack;
  }

  /** The account record. */
  async account(): Promise<AccountRecord> {
    const [account] = (await this.call('GET /account', {})).result;
    if (account === undefined) throw new Error('no account record');
    return account;
  }

  /** The order as GET /orders shows it. */
  async order(id: string): Promise<OrderRecord | undefined> {
    return (await this.call('GET /orders', { order_id: id })).result[0];
  }

  /** The order as it really is. */
  booked(id: string) {
    const order = this.simulator.books().orders.find((each) => each.id === id);
    if (order === undefined) throw new Error(`no order ${id} in the books`);
    return order;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.clock.advanceTo(this.clock.now() + ms);
  }

  /** Lets time pass until so many milliseconds after the start. */
  async until(afterMs: number): Promise<void> {
    await this.clock.advanceTo(this.startMs + afterMs);
  }
}

/** The parameters as they go on the wire: a number's literal is its text. */
export function wire<E extends EndpointName>(name: E, params: Params<E>): WireRequest {
  const row = getEndpoint(name);
  const given = Object.entries(params).filter(([, value]) => value !== undefined);
  const values = given.map(([key, value]): [string, WireValue] => {
    const type = row.parameters[key]?.type;
    const as =
      type === 'decimal' || type === 'integer' || type === 'timestamp'
        ? 'number'
        : type === 'boolean'
          ? 'boolean'
          : 'text';
    return [key, { as, text: String(value) }];
  });
  return {
    endpoint: name,
    method: row.method,
    path: row.path,
    params: Object.fromEntries(values),
    placement: row.method === 'GET' ? 'query' : 'body',
  };
}

/** The sum of decimals that are texts. */
export function total(texts: readonly DecimalString[]): DecimalString {
  return texts.reduce((sum, text) => sum.plus(decimal(text)), decimal('0')).toFixed();
}
