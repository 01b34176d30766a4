/**
 * The venue of a test case. A request is answered by the first rule that fits; if none does, by the script's own orders
 * where it is about one of them, else by the simulated venue, or not at all. How the two live together:
 *
 * - A request that a rule answers does not reach the simulated venue; an order acknowledged by a rule is not in it.
 * - Orders of the script are read, amended and cancelled in the script, and stand beside the simulated ones in listings.
 *   `cancel_all` and the deadman switch of the simulated venue take them too, and what is done with them keeps that switch
 *   from firing.
 * - Stop-loss and take-profit orders in a market with an order of the script belong to the script: the simulated venue
 *   knows no position there.
 * - A listing of several orders asks the rules for each order of the script that it shows.
 */
import type { VirtualClock } from '../../../base/clock.ts';
import { Simulator } from '../../../gateway/simulator/simulator.ts';
import type { Transport, WireAnswer, WireReply, WireRequest } from '../../../gateway/transport.ts';
import { endpoint, isEndpointName } from '../../../venue/catalogue.ts';
import { marketOf } from '../../../venue/forms.ts';
import type { MarketRules } from '../../../venue/port.ts';
import type { AccountRecord, FillRecord, OrderRecord } from '../../../venue/records.ts';
import { wholeRecord } from '../file/reply-shape.ts';
import type { TestCase, VenueRule } from '../file/test-case.ts';
import { refusal, refuses, ruleAnswer, ruleRefusal, saysSomething, success, wasAsked, withResult } from './answers.ts';
import { RuleBook } from './rules.ts';
import { ScriptedAnswers } from './scripted-answers.ts';
import { isInTime, isOver, pageOf, ScriptedOrders, type SentParams } from './scripted-orders.ts';

/** A request that left the process. */
export interface Sent {
  /** From 1, in the order they were sent. */
  readonly number: number;
  readonly name: string;
  /** POST /orders: the type of the order. */
  readonly type: string | undefined;
  readonly params: SentParams;
  /** Epoch ms. */
  readonly at: number;
  reply?: WireReply;
}

/** What befalls one request in the place of what the case says of it. */
export type InjectedFault =
  | { readonly kind: 'lost'; readonly when: 'before' | 'after' }
  | { readonly kind: 'limited' | 'refused' | 'part_filled' };

export interface ScriptedVenueParts {
  readonly test: Pick<TestCase, 'rules' | 'simulator' | 'seed' | 'account' | 'venueDefault' | 'clock'>;
  readonly clock: VirtualClock;
  readonly mishap?: (sent: Sent) => InjectedFault | undefined;
  /** Told where nothing answers a request: the case has failed. */
  readonly onMiss: (message: string) => void;
}

/** There and back, half each way. */
const LATENCY_MS = 40;
const TIMED_OUT: WireReply = { kind: 'failure', sent: true, message: 'timeout: response' };
const POSITION_TYPES: ReadonlySet<string> = new Set(['stop_loss', 'take_profit']);

type Deliver = (reply: WireReply) => void;

export class ScriptedVenue {
  readonly simulator: Simulator;
  readonly orders = new ScriptedOrders();
  readonly sent: Sent[] = [];
  private readonly parts: ScriptedVenueParts;
  private readonly clock: VirtualClock;
  private readonly rules: RuleBook;
  private readonly answers: ScriptedAnswers;
  private readonly simulated: Transport;
  private readonly leverage = new Map<string, string>();
  /** Market of a switch that was armed on the simulated venue. */
  private armed: string | undefined;
  private firingsSeen = 0;

  constructor(parts: ScriptedVenueParts) {
    const { test, clock } = parts;
    this.parts = parts;
    this.clock = clock;
    this.rules = new RuleBook(test.rules);
    this.simulator = new Simulator(test.simulator, clock, test.seed);
    this.simulated = this.simulator.transport();
    this.answers = new ScriptedAnswers(this.orders, {
      order: (params) => this.simulatedOrder(params),
      account: () => this.account(),
    });
  }

  get markets(): Readonly<Record<string, MarketRules>> {
    return this.simulator.markets;
  }

  /** Rules that answered nothing. */
  unusedRules(): readonly VenueRule[] {
    return this.rules.unused();
  }

  /** Writes a request down as sent; `carryOut` is what happens to it. */
  note({ method, path, params }: WireRequest): Sent {
    const texts = Object.fromEntries(Object.entries(params).map(([key, { text }]) => [key, text]));
    const sent: Sent = {
      number: this.sent.length + 1,
      name: `${method} ${path}`,
      type: texts['type'],
      params: texts,
      at: this.clock.now(),
    };
    this.sent.push(sent);
    return sent;
  }

  /** `deliver` is called once, in a turn of the clock, also where no answer comes: then when `timeoutMs` have passed. */
  carryOut(request: WireRequest, sent: Sent, timeoutMs: number, deliver: Deliver): void {
    let done = false;
    const once: Deliver = (reply) => {
      if (done) return;
      done = true;
      timer.cancel();
      sent.reply = reply;
      // Behind all timers that are due, as over a socket.
      this.clock.arrive(() => deliver(reply));
    };
    const timer = this.clock.at(sent.at + timeoutMs, () => once(TIMED_OUT));
    const mishap = this.parts.mishap?.(sent);
    const rule = this.rules.meet(sent.name, sent.params);
    const lost = mishap?.kind === 'lost' ? mishap.when : rule?.lost;
    if (lost === 'before') return;
    const answered: Deliver = lost === 'after' ? () => {} : once;
    const answer = this.ownAnswer(sent, mishap, rule);
    if (answer !== undefined) this.later(mishap === undefined ? (rule?.delayMs ?? 0) : 0, answer, answered);
    else this.simulate(request, sent, timeoutMs, rule?.delayMs ?? 0, answered);
  }

  /** How a request is answered in the simulated venue's place; undefined where that answers. Nothing is done before it is called. */
  private ownAnswer(
    sent: Sent,
    mishap: InjectedFault | undefined,
    rule: VenueRule | undefined,
  ): (() => WireReply) | undefined {
    switch (mishap?.kind) {
      case 'limited':
        return () => refusal(429, 'RATE_LIMIT_EXCEEDED', { 'x-ratelimit-retry-after': '2' });
      case 'refused':
        return () => refusal(400, 'REFUSED_BY_TEST');
      case 'part_filled':
        if (rule === undefined && this.partFills(sent)) return () => this.partFilled(sent);
        break;
      default:
    }
    if (rule !== undefined && saysSomething(rule)) return () => this.scripted(rule, sent);
    if (this.isScripted(sent)) return () => this.ofScript(sent);
    return this.parts.test.venueDefault === 'none' ? this.missed(sent) : undefined;
  }

  private missed(sent: Sent): () => WireReply {
    const message = `no rule answers request ${sent.number}: ${sent.name} ${JSON.stringify(sent.params)}`;
    this.parts.onMiss(message);
    return () => ({ kind: 'failure', sent: false, message });
  }

  /** Every order of the account that still rests: those of the script, and those of the simulated venue that it does not speak for. */
  resting(): readonly { readonly id: string; readonly client_order_id: string; readonly status: string }[] {
    this.takeFirings();
    const simulated = this.simulator
      .books()
      .orders.filter(({ terminal, id }) => !terminal && this.orders.find({ order_id: id }) === undefined);
    return [...this.orders.open(), ...simulated];
  }

  // By rule

  private scripted(rule: VenueRule, sent: Sent): WireAnswer {
    if (!refuses(rule)) return ruleAnswer(rule, this.scriptedResult(rule.reply, sent));
    if (wasAsked(rule)) this.keepSwitch(sent.name);
    return ruleRefusal(rule);
  }

  private scriptedResult(reply: VenueRule['reply'], { name, params }: Sent): unknown {
    if (!isEndpointName(name)) return [];
    this.takeFirings();
    const result = this.answers.result(name, reply, params, this.clock.now());
    this.keepSwitch(name);
    return result;
  }

  // By default

  private simulate(request: WireRequest, sent: Sent, timeoutMs: number, delayMs: number, deliver: Deliver): void {
    void this.simulated.send(request, { timeoutMs }).then((reply) => {
      const whole = reply.kind === 'answer' ? this.completed(sent, reply) : reply;
      if (delayMs === 0) deliver(whole);
      else this.clock.at(this.clock.now() + delayMs, () => deliver(whole));
    });
  }

  /** Whether a request is about orders that only the script knows. */
  private isScripted({ name, type, params }: Sent): boolean {
    this.takeFirings();
    switch (name) {
      case 'POST /orders':
        return type !== undefined && POSITION_TYPES.has(type) && this.orders.knowsMarket(params['market_id']);
      case 'PUT /orders':
      case 'DELETE /orders':
      case 'GET /fills/order':
        return this.orders.find(params) !== undefined;
      case 'GET /orders':
        return (
          this.orders.find(params) !== undefined || (this.parts.test.venueDefault === 'none' && this.orders.size > 0)
        );
      case 'GET /fills':
        return this.parts.test.venueDefault === 'none' && this.orders.size > 0;
      default:
        return false;
    }
  }

  private ofScript(sent: Sent): WireAnswer {
    const { name, params } = sent;
    if (name === 'GET /orders') return success(pageOf(this.scriptedOrders(params), params));
    if (name === 'GET /fills/order') return success(this.fillsOf(params['order_id'] ?? ''));
    if (name === 'GET /fills') return success(pageOf(this.scriptedFills(params), params));
    const order = this.orders.find(params);
    if (name !== 'POST /orders' && order !== undefined && isOver(order)) return refusal(400, 'ORDER_NOT_OPEN');
    return success(this.scriptedResult(undefined, sent));
  }

  /** The simulated venue's answer with what the script knows beside it. */
  private completed(sent: Sent, answer: WireAnswer): WireAnswer {
    const { name, params } = sent;
    if (answer.status >= 400) return answer;
    switch (name) {
      case 'GET /orders':
      case 'GET /fills':
        return this.orders.size === 0 ? answer : this.merged(answer, name, params);
      case 'GET /account':
        return this.parts.test.account === undefined ? answer : withResult(answer, () => [this.account()]);
      case 'PUT /account/leverage':
        this.leverage.set(params['market_id'] ?? '', params['leverage'] ?? '');
        return this.parts.test.account === undefined ? answer : withResult(answer, () => [this.account()]);
      case 'DELETE /orders/cancel_all':
        this.orders.cancelAll('', this.clock.now());
        return answer;
      case 'POST /cancel_all_after':
        this.armed = params['market_id'];
        return answer;
      default:
        return answer;
    }
  }

  private merged(answer: WireAnswer, name: 'GET /orders' | 'GET /fills', params: SentParams): WireAnswer {
    this.takeFirings();
    return withResult(answer, (result) => {
      if (!Array.isArray(result)) return result;
      const rows = (result as (OrderRecord | FillRecord)[]).filter(
        (row) => this.orders.find({ order_id: 'order_id' in row ? row.order_id : row.id }) === undefined,
      );
      const scripted: readonly (OrderRecord | FillRecord)[] =
        name === 'GET /orders' ? this.scriptedOrders(params) : this.scriptedFills(params);
      const page = { ...params, p_page: '0' };
      // The simulated rows are a page already; what a page beyond the first would show of the script has been on the first.
      return pageOf([...rows, ...(Number(params['p_page'] ?? 0) > 0 ? [] : scripted)], page);
    });
  }

  /** Orders of the script as a listing shows them, once the rules that speak of each have been asked. */
  private scriptedOrders(params: SentParams): readonly OrderRecord[] {
    if (params['order_id'] === undefined && params['client_order_id'] === undefined) {
      const { status: _status, ...wider } = params;
      for (const { id, client_order_id } of this.orders.list(wider)) {
        const asked = { ...params, order_id: id, client_order_id };
        const rule = this.rules.meetOrder('GET /orders', asked);
        if (rule?.reply !== undefined)
          this.answers.result('GET /orders', rule.reply, { order_id: id }, this.clock.now());
      }
    }
    return this.orders.list(params);
  }

  private scriptedFills(params: SentParams): readonly FillRecord[] {
    return this.orders
      .list({ market_id: params['market_id'] })
      .flatMap(({ id }) => this.fillsOf(id))
      .filter(({ timestamp }) => isInTime(timestamp, params));
  }

  /** What a rule would say of an order's fills, else what follows from its filled size. */
  private fillsOf(id: string): readonly FillRecord[] {
    const market = marketOf(id);
    const asked = { order_id: id, ...(market === undefined ? {} : { market_id: market }) };
    const reply = this.rules.peek('GET /fills/order', asked)?.reply;
    if (reply === undefined) return this.orders.fillsOf(id);
    return this.answers.result('GET /fills/order', reply, asked, this.clock.now()) as readonly FillRecord[];
  }

  // The venue behind

  /** The simulated account under what the case says of it; leverage that the run has set wins over both. */
  private account(): AccountRecord {
    const { account } = this.simulator.books();
    const given = this.parts.test.account ?? {};
    const leverage = {
      ...account.leverage,
      ...(given['leverage'] as object | undefined),
      ...Object.fromEntries(this.leverage),
    };
    return wholeRecord('account', { ...given, leverage }, { ...account });
  }

  private simulatedOrder({ order_id: id, client_order_id: clientId }: SentParams): OrderRecord | undefined {
    const order = this.simulator
      .books()
      .orders.findLast((each) => (id === undefined ? each.client_order_id === clientId : each.id === id));
    if (order === undefined) return undefined;
    const { filled, type, arrivedAt, ...rest } = order;
    const { client_order_id, market_id, side, size, initial_size, status, reason, time_in_force, price = '0' } = rest;
    const known = { client_order_id, market_id, side, size, initial_size, status, reason, time_in_force, price };
    return wholeRecord('order', {
      id: order.id,
      order_type: type,
      total_filled_size: filled,
      timestamp: arrivedAt * 1000,
      ...known,
    });
  }

  /** What was done with an order of the script is activity of the account: told to the simulated venue as a cancel of nothing. */
  private keepSwitch(name: string): void {
    if (this.armed === undefined || !isEndpointName(name) || !endpoint(name).qualifies) return;
    const params = {
      order_id: { as: 'text', text: `${this.armed}@0` },
      market_id: { as: 'text', text: this.armed },
    } as const;
    void this.simulated.send(
      { endpoint: 'DELETE /orders', method: 'DELETE', path: '/orders', params, placement: 'body' },
      { timeoutMs: LATENCY_MS },
    );
  }

  /** When the simulated switch has fired, orders of the script that stood by then are gone as well. */
  private takeFirings(): void {
    if (this.armed === undefined || this.orders.size === 0) return;
    const firings = this.simulator.books().deadman.events.filter(({ event }) => event === 'fired');
    for (const { at } of firings.slice(this.firingsSeen)) this.orders.cancelAll('deadman switch', at);
    this.firingsSeen = firings.length;
  }

  /** Whether the script can carry out a request so that its order fills in part. */
  private partFills({ name, type, params }: Sent): boolean {
    if (name === 'DELETE /orders') return this.orders.find(params) !== undefined;
    return name === 'POST /orders' && type !== undefined && !POSITION_TYPES.has(type);
  }

  /** An order of which half fills at once and the rest stays; or a cancel that comes after half of what remained has filled. */
  private partFilled(sent: Sent): WireAnswer {
    const fillHalf = (order: OrderRecord | undefined) => {
      const lot = this.markets[order?.market_id ?? '']?.lot;
      if (order !== undefined && lot !== undefined) this.orders.fillHalf(order.id, lot, this.clock.now());
    };
    if (sent.name === 'DELETE /orders') {
      fillHalf(this.orders.find(sent.params));
      return this.ofScript(sent);
    }
    const answer = success(this.scriptedResult(undefined, sent));
    const order = this.orders.find({ client_order_id: sent.params['client_order_id'] });
    fillHalf(order);
    const { time_in_force: tif } = order ?? {};
    if (order !== undefined && (tif === 'immediate_or_cancel' || tif === 'fill_or_kill')) this.orders.cancel(order.id);
    return answer;
  }

  private later(delayMs: number, answer: () => WireReply, deliver: Deliver): void {
    const there = LATENCY_MS / 2;
    this.clock.at(this.clock.now() + there, () => {
      const reply = answer();
      this.clock.at(this.clock.now() + there + delayMs, () => deliver(reply));
    });
  }
}
