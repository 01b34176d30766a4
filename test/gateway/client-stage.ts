/** A client of the venue alone, with what it journals, sends and asks for. */
import { VirtualClock } from '../../src/base/clock.ts';
import { VenueClient } from '../../src/gateway/client.ts';
import type { ClientParts } from '../../src/gateway/client-parts.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { BudgetRequest, Ticket } from '../../src/gateway/tokens/budget.ts';
import type { SendOptions, WireReply, WireRequest } from '../../src/gateway/transport.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import type { VenueCall } from '../../src/venue/port.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { record, terms } from '../venue/order-samples.ts';

export const START = Date.UTC(2026, 0, 5, 8);
const HEADERS = { 'x-ratelimit-remaining': '9', 'set-cookie': 'secret' };

function answer(status: number, body: unknown): WireReply {
  return { kind: 'answer', status, headers: HEADERS, body: JSON.stringify(body) };
}
export const confirmed = (...result: readonly object[]) => answer(200, { success: true, result });
export const NOTHING = answer(200, { success: true, result: null });
export const refused = (status: number, error: string) => answer(status, { success: false, error, result: [] });
export const ACK = record('processing');
export const TOUCH = { id: ACK.id, status: 'processing' };

export interface Given {
  /** The venue's answers in sequence, each 20 ms after its request; one that is an error is thrown. */
  readonly replies?: readonly (WireReply | Error)[];
  /** How long the grant of tokens takes, ms. */
  readonly tokensAfterMs?: number;
  readonly flush?: () => Promise<void>;
  /** Why nothing is stored any more. */
  readonly findFailure?: () => string | undefined;
  /** Whether the recording has an answer; without it there is no recording. */
  readonly knows?: boolean;
  /** What the journal has already. */
  readonly before?: readonly Entry[];
  readonly parts?: Partial<ClientParts>;
}

/** A client, with what it journals, sends and asks for. */
export function setUp({
  replies = [],
  tokensAfterMs = 0,
  flush = async () => {},
  findFailure = () => undefined,
  knows,
  before = [],
  parts = {},
}: Given = {}) {
  const clock = new VirtualClock(START);
  const entries: Entry[] = [];
  const sent: (WireRequest & { readonly at: number; readonly options: SendOptions })[] = [];
  const asked: BudgetRequest[] = [];
  const ended: string[] = [];
  const points: string[] = [];
  const crashes: unknown[] = [];
  const flushes: unknown[] = [];
  let turns = 0;
  const arrive = clock.arrive.bind(clock);
  clock.arrive = (turn) => {
    turns += 1;
    arrive(turn);
  };
  const tracker = new OrderTracker();
  const gate = new LimitFactsFold(tracker, {});
  for (const entry of before) {
    gate.apply(entry);
    tracker.apply(entry);
  }
  const after = (ms: number) => (ms === 0 ? undefined : new Promise<void>((done) => void clock.after(ms, done)));
  const end = (how: string) => () => void ended.push(how);
  const ticket: Ticket = { answered: end('answered'), aborted: end('aborted'), notSent: end('not sent') };
  const client = new VenueClient({
    profile: { ...SIMULATED_PROFILE, account: 'main' },
    transport: {
      async send(request, options) {
        const reply = replies[sent.length] ?? confirmed();
        sent.push({ ...request, at: clock.now() - START, options });
        await after(20);
        if (reply instanceof Error) throw reply;
        return reply;
      },
      ...(knows === undefined ? {} : { knows: () => knows }),
    },
    budget: {
      async acquire(request) {
        asked.push(request);
        await after(tokensAfterMs);
        return { kind: 'granted', ticket, waitedMs: 0 };
      },
      weightOf: (endpoint) => endpoint.length,
      standDown: (of) => void ended.push(`releases ${of}`),
    },
    log: {
      tracker,
      append(type, data, step = '') {
        const entry = { type, data, step, at: clock.now() } as unknown as Entry;
        entries.push(entry);
        gate.apply(entry);
        tracker.apply(entry);
      },
      flush(of) {
        flushes.push(of);
        return flush();
      },
      findFailure,
    },
    clock,
    gate,
    feeds: { read: async () => undefined },
    markets: { 'BTC-USD': { tick: '1', lot: '0.1' } },
    epoch: 7,
    onCrash: (error) => void crashes.push(error),
    crashPoints: { reached: (point) => void points.push(point) },
    ...parts,
  });
  return {
    client,
    clock,
    tracker,
    entries,
    sent,
    asked,
    ended,
    points,
    crashes,
    flushes,
    run: <T>(work: Promise<T>) => clock.runUntil(work),
    types: () => entries.map(({ type }) => type),
    of: (type: Entry['type']) => entries.filter((entry) => entry.type === type).map(({ data }) => data),
    turns: () => turns,
  };
}

const PARAMS: Partial<Record<EndpointName, object>> = {
  'GET /fills/order': { order_id: ACK.id },
  'GET /cancel_all_after': { market_id: 'BTC-USD' },
  'DELETE /cancel_all_after': { market_id: 'BTC-USD' },
  'DELETE /orders/cancel_all': {},
};

export function callOf<E extends EndpointName>(endpoint: E, over: object = {}): VenueCall<E> {
  const params = PARAMS[endpoint] ?? { market_id: 'BTC-USD', order_id: ACK.id };
  return { id: 'steps/o#1', step: 'steps/o', endpoint, params, class: 'read', ...over } as unknown as VenueCall<E>;
}
export const intent = terms();
export const placing = (over: object = {}) =>
  callOf('POST /orders', {
    params: {
      market_id: 'BTC-USD',
      side: 'long',
      type: 'limit',
      size: '10',
      price: '100',
      client_order_id: 'rbabc',
    },
    class: 'enter',
    intent,
    clientOrderId: intent.clientOrderId,
    ...over,
  });
export const ARMING = callOf('POST /cancel_all_after', { params: { market_id: 'BTC-USD', timeout: 20_000 } });
