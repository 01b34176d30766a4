/**
 * Serves a venue over real sockets. It is written from venue-api.md and venue-notes.md and shares no code with the simulator,
 * because no test would find a mistake that both share. It keeps every request as the bytes received. It does not compute with
 * decimals: an order stays open, or fills as a whole.
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as received. `params`: every literal as it was on the wire, texts without quotes. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly params: Readonly<Record<string, string>>;
  readonly at: number;
}

/** An answer other than the usual one. */
export interface Reaction {
  /** Whether the request is carried out nevertheless; default false. */
  readonly done?: boolean;
  readonly status?: number;
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
  /** The connection is cut instead of an answer. */
  readonly cut?: boolean;
}
export type Rule = (heard: Heard, count: number) => Reaction | undefined;

export interface MockOrder {
  readonly id: string;
  readonly client_order_id: string;
  readonly market_id: string;
  readonly order_type: string;
  readonly side: string;
  price: string;
  size: string;
  initial_size: string;
  total_filled_size: string;
  status: string;
  reason: string;
  readonly profile_id: number;
  readonly timestamp: number;
  readonly time_in_force: string;
  readonly trigger_price?: string;
}

/** The secret texts of the tests: long enough to be recognised, and made up. */
export const JWT = 'eyJhbGciOiJIUzI1NiJ9.bW9jay12ZW51ZS1zZXNzaW9uLTAwMDAx.c2lnbmF0dXJlLW9mLW1vY2s';
export const REFRESH = 'refresh-7f3a9c1e5b2d4860-mock+venue/only=';

export class MockVenue {
  readonly heard: Heard[] = [];
  readonly orders: MockOrder[] = [];
  readonly fills: Record<string, unknown>[] = [];
  /** Called in turn; the first that returns a reaction decides. `count`: such requests (method and path) so far, with this one. */
  readonly rules: Rule[] = [];
  /** Status of a placed order in the first record that is read. */
  outcome: (order: MockOrder) => { status: string; filled?: boolean; reason?: string } = (order) =>
    order.order_type === 'market' ? { status: 'closed', filled: true } : { status: 'open' };
  /** Time after its placement during which an order is not shown, ms. */
  hiddenMs = 0;
  /** Whether a second order with a known client order id is refused. */
  refusesDuplicates = true;
  authorized: (headers: Readonly<Record<string, string>>) => boolean = (headers) =>
    headers['authorization'] === `Bearer ${JWT}`;
  jwt: () => unknown = () => [JWT];
  switchTimeout: string | undefined;
  /** How the deadman switch is shown; the record is undefined if the switch is not active. */
  showSwitch: (record: object | undefined) => unknown = (record) => record ?? {};
  /** How a decimal is shown in an answer. */
  shown: (decimal: string) => unknown = (decimal) => decimal;
  private next = 1000;
  private readonly server = createServer((request, response) => void this.answer(request, response));

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  of(method: string, path: string): readonly Heard[] {
    return this.heard.filter((each) => each.method === method && each.path === path);
  }

  /** Requests that place an order. */
  get placed(): readonly Heard[] {
    return this.of('POST', '/orders');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const body = Buffer.concat(chunks).toString('utf8');
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const params = { ...queryParams(query), ...bodyParams(body) };
    const heard = { method: request.method ?? '', path, query, headers, body, params, at: Date.now() };
    this.heard.push(heard);
    const count = this.of(heard.method, path).length;
    const reaction = this.rules.map((rule) => rule(heard, count)).find((each) => each !== undefined);
    const usual =
      reaction === undefined || reaction.done === true
        ? this.respond(heard)
        : { status: 200, body: envelope(null, 'NOTHING_DONE') };
    if (reaction?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reaction.delayMs).unref());
    if (reaction?.cut === true) return void request.socket.destroy();
    const given = reaction?.body ?? usual.body;
    response.writeHead(reaction?.status ?? usual.status, {
      'content-type': 'application/json',
      'x-ratelimit-limit': '1200',
      'x-ratelimit-remaining': '1100',
      ...reaction?.headers,
    });
    response.end(typeof given === 'string' ? given : JSON.stringify(given));
  }

  private respond(heard: Heard): { status: number; body: object } {
    if (heard.path === '/jwt') return { status: 200, body: envelope(this.jwt()) };
    if (!this.authorized(heard.headers)) return { status: 401, body: envelope([], 'UNAUTHORIZED') };
    const { params } = heard;
    switch (`${heard.method} ${heard.path}`) {
      case 'GET /account':
      case 'PUT /account/leverage':
        return ok([this.account()]);
      case 'GET /profile': {
        const tier = { tier: 0, title: 'VIP 0', min_volume: '0' };
        return ok([{ tier_status: { current: tier, next: { ...tier, tier: 1 }, needed_volume: '5000000' } }]);
      }
      case 'GET /orders':
        return ok(this.listed(params));
      case 'POST /orders':
        return this.place(params);
      case 'PUT /orders': {
        const order = this.orders.find(({ id }) => id === params['order_id']);
        if (order === undefined) return refused('ORDER_NOT_FOUND');
        order.price = params['price'] ?? order.price;
        if (params['size'] !== undefined) order.size = order.initial_size = params['size'];
        const { id, market_id, price, profile_id, size } = order;
        return ok([{ id, market_id, price, profile_id, size, status: 'amending' }]);
      }
      case 'DELETE /orders': {
        const order = this.orders.find(
          ({ id, client_order_id }) => id === params['order_id'] || client_order_id === params['client_order_id'],
        );
        if (order === undefined || !LIVE.has(order.status)) return refused('ORDER_NOT_FOUND');
        order.status = 'canceled';
        return ok([{ id: order.id, market_id: order.market_id, profile_id: order.profile_id, status: 'canceling' }]);
      }
      case 'DELETE /orders/cancel_all':
        for (const order of this.orders) if (LIVE.has(order.status)) order.status = 'canceled';
        return ok([]);
      case 'GET /fills':
        return ok(
          this.fills
            .filter(({ market_id }) => params['market_id'] === undefined || market_id === params['market_id'])
            .filter(({ timestamp }) => isWithin(Number(timestamp), params)),
        );
      case 'GET /fills/order':
        return ok(this.fills.filter(({ order_id }) => order_id === params['order_id']));
      case 'POST /cancel_all_after':
        this.switchTimeout = params['timeout'];
        return ok({ market_id: params['market_id'], ...this.switchRecord() });
      case 'GET /cancel_all_after':
        return ok(this.showSwitch(this.switchTimeout === undefined ? undefined : this.switchRecord()));
      case 'DELETE /cancel_all_after':
        this.switchTimeout = undefined;
        return ok(null);
      default:
        return { status: 404, body: envelope(null, 'NOT_FOUND') };
    }
  }

  private switchRecord() {
    return { profile_id: 7, timeout: Number(this.switchTimeout), last_updated: Date.now() * 1000, status: 'active' };
  }

  private place(params: Readonly<Record<string, string>>): { status: number; body: object } {
    const { market_id = '', side = '', type = '', price = '0', client_order_id = '' } = params;
    const size = params['size'] ?? params['size_percent'] ?? '';
    if (/[eE]/.test(size + price)) return refused('INVALID_NUMBER');
    if (this.refusesDuplicates && this.orders.some((each) => each.client_order_id === client_order_id))
      return refused('CLIENT_ORDER_ID_DUPLICATE');
    this.next += 1;
    const order: MockOrder = {
      id: `${market_id}@${this.next}`,
      client_order_id,
      market_id,
      order_type: type,
      side,
      price,
      size,
      initial_size: size,
      total_filled_size: '0',
      status: 'processing',
      reason: '',
      profile_id: 7,
      timestamp: Date.now() * 1000,
      time_in_force: params['time_in_force'] ?? 'good_till_cancel',
      ...(params['trigger_price'] === undefined ? {} : { trigger_price: params['trigger_price'] }),
    };
    this.orders.push(order);
    const { status, filled, reason } = this.outcome(order);
    order.status = status;
    order.reason = reason ?? '';
    if (filled === true) this.fill(order);
    const { id, profile_id, time_in_force } = order;
    const ack = { id, market_id, profile_id, side, type, client_order_id, time_in_force, status: 'processing' };
    return ok([{ ...ack, is_liquidation: false, size: this.shown(size), price: this.shown(price) }]);
  }

  /** Fills an order as a whole, at its price. */
  fill(order: MockOrder): void {
    const { market_id, side, price, size, id: order_id } = order;
    this.next += 1;
    this.fills.push({
      id: `${market_id}-${this.next}`,
      trade_id: `${market_id}-${this.next}`,
      order_id,
      market_id,
      profile_id: 7,
      side,
      price: this.shown(price),
      size: this.shown(size),
      fee: this.shown('-0.0178801'),
      is_maker: false,
      liquidation: false,
      timestamp: Date.now() * 1000,
    });
    order.total_filled_size = order.size;
    order.size = '0';
    order.status = 'closed';
  }

  private listed(params: Readonly<Record<string, string>>): readonly object[] {
    const { order_id, client_order_id, status, market_id, p_limit, p_page, p_order } = params;
    const from = Number(p_page ?? 0) * Number(p_limit ?? 0);
    const newestFirst = [...this.orders].reverse();
    return (p_order === 'ASC' ? this.orders : newestFirst)
      .filter((each) => isWithin(each.timestamp, params))
      .filter((each) => order_id === undefined || each.id === order_id)
      .filter((each) => client_order_id === undefined || each.client_order_id === client_order_id)
      .filter((each) => status === undefined || each.status === status)
      .filter((each) => market_id === undefined || each.market_id === market_id)
      .filter((each) => Date.now() - each.timestamp / 1000 >= this.hiddenMs)
      .slice(from, from + Number(p_limit ?? this.orders.length))
      .map((each) => ({
        ...each,
        price: this.shown(each.price),
        size: this.shown(each.size),
        initial_size: this.shown(each.initial_size),
        total_filled_size: this.shown(each.total_filled_size),
      }));
  }

  private account() {
    const amounts = ['balance', 'withdrawable_balance', 'account_equity'].map((key) => [key, this.shown('10000')]);
    const others = [
      'account_leverage',
      'account_margin',
      'health',
      'cum_trading_volume',
      'cum_unrealized_pnl',
      'total_notional',
      'total_order_margin',
      'total_position_margin',
    ].map((key) => [key, this.shown('0')]);
    return {
      id: 7,
      status: 'active',
      profile_type: 'trader',
      wallet: '0x52908400098527886E0F7030069857D2E4169EE7',
      ...Object.fromEntries([...amounts, ...others]),
      last_liq_check: 0,
      last_update: Date.now() * 1000,
      leverage: { 'BTC-USD': this.shown('5') },
    };
  }
}

const LIVE: ReadonlySet<string> = new Set(['processing', 'open', 'placed', 'amending', 'canceling']);

export function envelope(result: unknown, error = ''): object {
  return { success: error === '', error, result };
}

export /** Whether a row of a list is of the time that was asked for; `us`: epoch µs. */
function isWithin(us: number, { start_time, end_time }: Readonly<Record<string, string>>): boolean {
  return us >= Number(start_time ?? 0) && us <= Number(end_time ?? Number.POSITIVE_INFINITY);
}

function ok(result: unknown): { status: number; body: object } {
  return { status: 200, body: envelope(result) };
}

/** Status 200: only the envelope says that the request failed. */
export function refused(error: string): { status: number; body: object } {
  return { status: 200, body: envelope([], error) };
}

/** The signature that a request must have, computed from the bytes that came (venue-notes.md, Signed requests). */
export function signedAs(heard: Heard, secret: string, expiry: string): string {
  const members: (readonly [string, string])[] = Object.entries(heard.body === '' ? {} : bodyParams(heard.body));
  const parts = [...members, ['method', heard.method] as const, ['path', heard.path] as const];
  const message = parts
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join('');
  const digest = createHash('sha256')
    .update(message + expiry)
    .digest();
  return `0x${createHmac('sha256', Buffer.from(secret.replace(/^0x/, ''), 'hex'))
    .update(digest)
    .digest('hex')}`;
}

function queryParams(query: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query));
}

/** Reads the members of a flat body, numbers as their text. */
function bodyParams(body: string): Record<string, string> {
  if (body === '') return {};
  const quoted = body.replace(/:\s*(-?[0-9][0-9.eE+-]*)\s*(?=[,}])/g, ':"$1"');
  return Object.fromEntries(
    Object.entries(JSON.parse(quoted) as Record<string, unknown>).map(([key, value]) => [key, String(value)]),
  );
}
