/**
 * The venue of a test case. The first matching rule answers a request; without one, the script's own orders answer requests about
 * them, and the simulated venue answers the rest, or nothing does. How scripted and simulated orders coexist:
 *
 * - A request answered by a rule does not reach the simulated venue; an order acknowledged by a rule is not in it.
 * - Orders of the script are read, amended and cancelled in the script, and appear beside the simulated ones in listings.
 *   `cancel_all` and the deadman switch of the simulated venue cancel them too, and actions on them keep that switch from
 *   firing.
 * - Stop-loss and take-profit orders in a market with an order of the script belong to the script: the simulated venue knows no
 *   position there.
 * - A listing of several orders consults the rules for each order of the script that it shows.
 */
import type { VirtualClock } from '../../../base/clock.ts';
import { decimal } from '../../../base/decimal.ts';
import { mapFields } from '../../../base/json.ts';
import { Simulator } from '../../../gateway/simulator/simulator.ts';
import type { Transport, WireAnswer, WireReply, WireRequest } from '../../../gateway/transport.ts';
import { getEndpoint, isEndpointName } from '../../../venue/catalogue.ts';
import { readMarketOfId } from '../../../venue/forms.ts';
import { isPositionStop } from '../../../venue/order/context.ts';
import type { MarketRules } from '../../../venue/port.ts';
import type { AccountRecord, FillRecord, OrderRecord } from '../../../venue/records.ts';
import { completeRecord } from '../file/reply-shape.ts';
import type { TestCase, VenueRule } from '../file/test-case.ts';
import {
  hasAnswer,
  isRefusal,
  makeRefusal,
  makeRuleAnswer,
  makeRuleRefusal,
  makeSuccess,
  replaceResult,
  wasHandled,
} from './answers.ts';
import { RuleMatcher } from './rules.ts';
import { ScriptedAnswers } from './scripted-answers.ts';
import { isInTime, isOver, ScriptedOrders, type SentParams, selectPage } from './scripted-orders.ts';

/** A request that the process sent. */
export interface Sent {
  /** From 1, in sending order. */
  readonly number: number;
  readonly name: string;
  /** POST /orders: the type of the order. */
  readonly type: string | undefined;
  readonly params: SentParams;
  /** Epoch ms. */
  readonly at: number;
  reply?: WireReply;
}

export interface ScriptedVenueParts {
  readonly test: Pick<TestCase, 'rules' | 'simulator' | 'seed' | 'account' | 'venueDefault' | 'clock'>;
  readonly clock: VirtualClock;
  /** Called when nothing answers a request: the case has failed. */
  readonly onMiss: (message: string) => void;
}

/** Round trip, half each way, ms. */
const LATENCY_MS = 40;
const TIMED_OUT: WireReply = { kind: 'failure', sent: true, message: 'timeout: response' };

type Deliver = (reply: WireReply) => void;

export class ScriptedVenue {
  readonly simulator: Simulator;
  readonly orders = new ScriptedOrders();
  readonly sent: Sent[] = [];
  private readonly parts: ScriptedVenueParts;
  private readonly clock: VirtualClock;
  private readonly rules: RuleMatcher;
  private readonly answers: ScriptedAnswers;
  private readonly simulated: Transport;
  private readonly leverage = new Map<string, string>();
  /** Market of a switch armed on the simulated venue. */
  private armed: string | undefined;
  private firingsSeen = 0;

  constructor(parts: ScriptedVenueParts) {
    const { test, clock } = parts;
    this.parts = parts;
    this.clock = clock;
    this.rules = new RuleMatcher(test.rules);
    this.simulator = new Simulator(test.simulator, clock, test.seed);
    this.simulated = this.simulator.transport();
    this.answers = new ScriptedAnswers(this.orders, {
      order: (params) => this.findSimulatedOrder(params),
      account: () => this.readAccount(),
    });
  }

  get markets(): Readonly<Record<string, MarketRules>> {
    return this.simulator.markets;
  }

  /** Rules that answered nothing. */
  listUnusedRules(): readonly VenueRule[] {
    return this.rules.listUnused();
  }

  /** Records a request as sent; `carryOut` executes it. */
  recordSent({ method, path, params }: WireRequest): Sent {
    const texts = mapFields(params, ({ text }) => text);
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

  /** `deliver` is called once, in a turn of the clock; without an answer after `timeoutMs`. */
  carryOut(request: WireRequest, sent: Sent, timeoutMs: number, deliver: Deliver): void {
    let done = false;
    const deliverOnce: Deliver = (reply) => {
      if (done) return;
      done = true;
      timer.cancel();
      sent.reply = reply;
      // After all due timers, as over a socket.
      this.clock.arrive(() => deliver(reply));
    };
    const timer = this.clock.at(sent.at + timeoutMs, () => deliverOnce(TIMED_OUT));
    const rules = this.rules.match(sent.name, sent.params);
    for (const { jump } of rules) for (const [market, price] of Object.entries(jump)) this.jump(market, price);
    this.fillResting(rules.map(({ fills }) => fills?.before));
    const lost = rules.find((rule) => rule.lost !== undefined)?.lost;
    if (lost === 'before') return;
    const answered: Deliver = (reply) => {
      this.fillResting(rules.map(({ fills }) => fills?.after));
      if (lost !== 'after') deliverOnce(reply);
    };
    const delayMs = rules.find((rule) => rule.delayMs > 0)?.delayMs ?? 0;
    const answer = this.chooseAnswer(sent, rules.find(hasAnswer));
    if (answer !== undefined) this.answerLater(delayMs, answer, answered);
    else this.simulate(request, sent, timeoutMs, delayMs, answered);
  }

  private jump(market: string, price: string): void {
    if (Object.hasOwn(this.markets, market)) this.simulator.jump(market, decimal(price));
    else this.parts.onMiss(`a price jumps in ${market}, which is no market of the simulated venue`);
  }

  /** What rests of the run fills, the orders of the script included. */
  private fillResting(fractions: readonly (string | undefined)[]): void {
    for (const fraction of fractions) {
      if (fraction === undefined) continue;
      const ids = new Set(this.sent.flatMap(({ params }) => params['client_order_id'] ?? []));
      this.simulator.fillResting(ids, decimal(fraction));
      for (const { id, market_id: market } of this.orders.listOpen()) {
        const lot = this.markets[market]?.lot;
        if (lot !== undefined) this.orders.fillResting(id, { fraction, lot, now: this.clock.now() });
      }
    }
  }

  /** The answer in place of the simulated venue; undefined where that one answers. Calling it has the effect. */
  private chooseAnswer(sent: Sent, rule: VenueRule | undefined): (() => WireReply) | undefined {
    if (rule !== undefined) return () => this.answerByRule(rule, sent);
    if (this.isScripted(sent)) return () => this.answerFromScript(sent);
    return this.parts.test.venueDefault === 'none' ? this.failMissed(sent) : undefined;
  }

  private failMissed(sent: Sent): () => WireReply {
    const message = `no rule answers request ${sent.number}: ${sent.name} ${JSON.stringify(sent.params)}`;
    this.parts.onMiss(message);
    return () => ({ kind: 'failure', sent: false, message });
  }

  /** Every open order of the account: those of the script, and those of the simulated venue outside it. */
  listOpenOrders(): readonly { readonly id: string; readonly client_order_id: string; readonly status: string }[] {
    this.takeFirings();
    const simulated = this.simulator
      .books()
      .orders.filter(({ terminal, id }) => !terminal && this.orders.find({ order_id: id }) === undefined);
    return [...this.orders.listOpen(), ...simulated];
  }

  // By rule.

  private answerByRule(rule: VenueRule, sent: Sent): WireAnswer {
    if (!isRefusal(rule)) return makeRuleAnswer(rule, this.makeRuleResult(rule.reply, sent));
    if (wasHandled(rule)) this.keepSwitch(sent.name);
    return makeRuleRefusal(rule);
  }

  private makeRuleResult(reply: VenueRule['reply'], { name, params }: Sent): unknown {
    if (!isEndpointName(name)) return [];
    this.takeFirings();
    const result = this.answers.makeResult(name, reply, params, this.clock.now());
    this.keepSwitch(name);
    return result;
  }

  // By default.

  private simulate(request: WireRequest, sent: Sent, timeoutMs: number, delayMs: number, deliver: Deliver): void {
    void this.simulated.send(request, { timeoutMs }).then((reply) => {
      const whole = reply.kind === 'answer' ? this.completeAnswer(sent, reply) : reply;
      if (delayMs === 0) deliver(whole);
      else this.clock.at(this.clock.now() + delayMs, () => deliver(whole));
    });
  }

  /** Whether a request is about orders that only the script knows. */
  private isScripted({ name, type, params }: Sent): boolean {
    this.takeFirings();
    switch (name) {
      case 'POST /orders':
        return type !== undefined && isPositionStop({ type }) && this.orders.knowsMarket(params['market_id']);
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

  private answerFromScript(sent: Sent): WireAnswer {
    const { name, params } = sent;
    if (name === 'GET /orders') return makeSuccess(selectPage(this.listScriptedOrders(params), params));
    if (name === 'GET /fills/order') return makeSuccess(this.listFillsOf(params['order_id'] ?? ''));
    if (name === 'GET /fills') return makeSuccess(selectPage(this.listScriptedFills(params), params));
    const order = this.orders.find(params);
    if (name !== 'POST /orders' && order !== undefined && isOver(order)) return makeRefusal(400, 'ORDER_NOT_OPEN');
    return makeSuccess(this.makeRuleResult(undefined, sent));
  }

  /** The simulated venue's answer, completed with the script's orders. */
  private completeAnswer(sent: Sent, answer: WireAnswer): WireAnswer {
    const { name, params } = sent;
    if (answer.status >= 400) return answer;
    switch (name) {
      case 'GET /orders':
      case 'GET /fills':
        return this.orders.size === 0 ? answer : this.mergeRows(answer, name, params);
      case 'GET /account':
        return this.parts.test.account === undefined ? answer : replaceResult(answer, () => [this.readAccount()]);
      case 'PUT /account/leverage':
        this.leverage.set(params['market_id'] ?? '', params['leverage'] ?? '');
        return this.parts.test.account === undefined ? answer : replaceResult(answer, () => [this.readAccount()]);
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

  private mergeRows(answer: WireAnswer, name: 'GET /orders' | 'GET /fills', params: SentParams): WireAnswer {
    this.takeFirings();
    return replaceResult(answer, (result) => {
      if (!Array.isArray(result)) return result;
      const rows = (result as (OrderRecord | FillRecord)[]).filter(
        (row) => this.orders.find({ order_id: 'order_id' in row ? row.order_id : row.id }) === undefined,
      );
      const scripted: readonly (OrderRecord | FillRecord)[] =
        name === 'GET /orders' ? this.listScriptedOrders(params) : this.listScriptedFills(params);
      const page = { ...params, p_page: '0' };
      // The simulated rows are a page already; the scripted ones are all on the first page.
      return selectPage([...rows, ...(Number(params['p_page'] ?? 0) > 0 ? [] : scripted)], page);
    });
  }

  /** Orders of the script as a listing shows them, after consulting the rules about each. */
  private listScriptedOrders(params: SentParams): readonly OrderRecord[] {
    if (params['order_id'] === undefined && params['client_order_id'] === undefined) {
      const { status: _status, ...wider } = params;
      for (const { id, client_order_id } of this.orders.list(wider)) {
        const asked = { ...params, order_id: id, client_order_id };
        const rule = this.rules.matchOrder('GET /orders', asked);
        if (rule?.reply !== undefined)
          this.answers.makeResult('GET /orders', rule.reply, { order_id: id }, this.clock.now());
      }
    }
    return this.orders.list(params);
  }

  private listScriptedFills(params: SentParams): readonly FillRecord[] {
    return this.orders
      .list({ market_id: params['market_id'] })
      .flatMap(({ id }) => this.listFillsOf(id))
      .filter(({ timestamp }) => isInTime(timestamp, params));
  }

  /** The fills of a rule's reply, or those that follow from the order's filled size. */
  private listFillsOf(id: string): readonly FillRecord[] {
    const market = readMarketOfId(id);
    const asked = { order_id: id, ...(market === undefined ? {} : { market_id: market }) };
    const reply = this.rules.peek('GET /fills/order', asked)?.reply;
    if (reply === undefined) return this.orders.listFills(id);
    return this.answers.makeResult('GET /fills/order', reply, asked, this.clock.now()) as readonly FillRecord[];
  }

  // The simulated venue.

  /** The simulated account with the fields of the case; leverage set by the run overrides both. */
  private readAccount(): AccountRecord {
    const { account } = this.simulator.books();
    const given = this.parts.test.account ?? {};
    const leverage = {
      ...account.leverage,
      ...(given['leverage'] as object | undefined),
      ...Object.fromEntries(this.leverage),
    };
    return completeRecord('account', { ...given, leverage }, { ...account });
  }

  private findSimulatedOrder({ order_id: id, client_order_id: clientId }: SentParams): OrderRecord | undefined {
    const order = this.simulator
      .books()
      .orders.findLast((each) => (id === undefined ? each.client_order_id === clientId : each.id === id));
    if (order === undefined) return undefined;
    const { filled, type, arrivedAt, ...rest } = order;
    const { client_order_id, market_id, side, size, initial_size, status, reason, time_in_force, price = '0' } = rest;
    const known = { client_order_id, market_id, side, size, initial_size, status, reason, time_in_force, price };
    return completeRecord('order', {
      id: order.id,
      order_type: type,
      total_filled_size: filled,
      timestamp: arrivedAt * 1000,
      ...known,
    });
  }

  /** An action on an order of the script is activity of the account: the simulated venue sees it as a cancel of nothing. */
  private keepSwitch(name: string): void {
    if (this.armed === undefined || !isEndpointName(name) || !getEndpoint(name).qualifies) return;
    const params = {
      order_id: { as: 'text', text: `${this.armed}@0` },
      market_id: { as: 'text', text: this.armed },
    } as const;
    void this.simulated.send(
      { endpoint: 'DELETE /orders', method: 'DELETE', path: '/orders', params, placement: 'body' },
      { timeoutMs: LATENCY_MS },
    );
  }

  /** When the simulated switch has fired, the orders of the script placed until then are cancelled too. */
  private takeFirings(): void {
    if (this.armed === undefined || this.orders.size === 0) return;
    const firings = this.simulator.books().deadman.events.filter(({ event }) => event === 'fired');
    for (const { at } of firings.slice(this.firingsSeen)) this.orders.cancelAll('deadman switch', at);
    this.firingsSeen = firings.length;
  }

  private answerLater(delayMs: number, answer: () => WireReply, deliver: Deliver): void {
    const there = LATENCY_MS / 2;
    this.clock.at(this.clock.now() + there, () => {
      const reply = answer();
      this.clock.at(this.clock.now() + there + delayMs, () => deliver(reply));
    });
  }
}
