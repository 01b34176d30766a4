/**
 * The facts behind the limits, folded from the journal like everything else that must survive a restart: what works, what
 * has filled, what was sent, what was refused, when the venue was last read. The verdict is venue/limits.ts's.
 */
import { Decimal, decimal, decimalText } from '../base/decimal.ts';
import type { DataOf, Entry } from '../journal/entry.ts';
import type { OrderBook } from '../journal/orders.ts';
import { endpoint, isEndpointName } from '../venue/catalogue.ts';
import {
  checkLimits,
  type LimitFacts,
  type LimitRules,
  type LimitVerdict,
  notionalOf,
  type PositionFact,
  type WorkingOrder,
} from '../venue/limits.ts';
import { exposureOf, isTerminal } from '../venue/order.ts';
import type { MarketRules, VenueCall } from '../venue/port.ts';
import type { AccountRecord, FillRecord, OrderRecord } from '../venue/records.ts';
import { SwitchStanding } from './switch-standing.ts';

const MINUTE_MS = 60_000;
/** How long a refusal is remembered, ms: the longest window a throttle may have. */
const REFUSALS_KEPT_MS = 3_600_000;

/** States of an order that the venue has certainly refused, or never had. */
const CAME_TO_NOTHING: ReadonlySet<string> = new Set(['draft', 'denied', 'absent', 'rejected']);

/** What other runs and people know that this run's journal does not. */
export interface AccountFacts {
  readonly killed: boolean;
  /** Working orders of other runs of the account. */
  readonly working: readonly WorkingOrder[];
}

export class LimitGate {
  private book: OrderBook;
  private readonly markets: Readonly<Record<string, MarketRules>>;
  private readonly others: () => AccountFacts;
  private readonly intended = new Map<string, DataOf<'call.intended'>>();
  private readonly fills = new Map<string, FillRecord>();
  private readonly stepFills = new Map<string, number[]>();
  private readonly deadman = new SwitchStanding();
  private orderTimes: number[] = [];
  private refusals: number[] = [];
  private writes = 0;
  private account: { readonly record: AccountRecord; readonly at: number } | undefined;
  private lastReadAt: number | undefined;
  /** Open orders of the account that are not this run's, as of the last complete list. */
  private external: readonly OrderRecord[] = [];

  constructor(
    book: OrderBook,
    markets: Readonly<Record<string, MarketRules>>,
    others: () => AccountFacts = () => ({ killed: false, working: [] }),
  ) {
    this.book = book;
    this.markets = markets;
    this.others = others;
  }

  /** The book of the run as it is taken up again: made by whoever plays its record. */
  useBook(book: OrderBook): void {
    this.book = book;
  }

  /** Takes in one entry of the run, in order. */
  apply(entry: Entry): void {
    this.deadman.apply(entry);
    switch (entry.type) {
      case 'call.intended':
        this.intended.set(entry.data.call, entry.data);
        return;
      case 'call.attempted':
        this.attempted(this.intended.get(entry.data.call), entry.at);
        return;
      case 'call.settled':
        this.settled(this.intended.get(entry.data.call), entry.data, entry.at, entry.step);
        this.intended.delete(entry.data.call);
        return;
      case 'order.alarmed':
        this.refusals.push(entry.at);
        return;
      default:
        return;
    }
  }

  /** The verdict on a call; calls that only read or protect pass without looking. */
  check(call: VenueCall, rules: LimitRules, now: number): LimitVerdict {
    const row = endpoint(call.endpoint);
    if (row.method === 'GET' || row.protective) return { ok: true, considered: {} };
    const lapsedAt = call.endpoint === 'POST /orders' ? this.deadman.lapsedAt(now) : undefined;
    if (lapsedAt !== undefined) {
      const message = `DEADMAN_LAPSED: since=${new Date(lapsedAt).toISOString()}; the deadman switch that this run asked for may have fired, and every order is read before a new one`;
      return { ok: false, code: 'DEADMAN_LAPSED', message, considered: {} };
    }
    return checkLimits(
      { ...call, ...(call.intent?.allow === undefined ? {} : { allow: call.intent.allow }) },
      rules,
      this.facts(call, rules, now),
    );
  }

  private facts(call: VenueCall, rules: LimitRules, now: number): LimitFacts {
    const others = this.others();
    const own = this.workingOrders();
    const working = [...own, ...others.working];
    this.orderTimes = this.orderTimes.filter((at) => now - at < MINUTE_MS);
    this.refusals = this.refusals.filter((at) => now - at < REFUSALS_KEPT_MS);
    const within = (times: readonly number[], windowMs: number | undefined) =>
      times.filter((at) => windowMs === undefined || now - at < windowMs).length;
    const market = call.intent?.market ?? (call.params as { readonly market_id?: string }).market_id ?? '';
    const account = this.account;
    return {
      now,
      killed: others.killed,
      working,
      openOrders: { run: own.length, account: working.length + this.externalOpen(others.working) },
      positions: this.positions(),
      counters: {
        writes: this.writes,
        ordersLastMinute: this.orderTimes.length,
        runNotional: decimalText(this.runNotional()),
        stepFills: within(this.stepFills.get(call.step) ?? [], rules.stepFills?.windowMs),
        refusals: within(this.refusals, rules.refusals?.windowMs),
      },
      reference: call.reference,
      account:
        account === undefined
          ? undefined
          : {
              equity: account.record.account_equity,
              health: account.record.health,
              at: account.at,
              leverage: account.record.leverage,
            },
      lastReadAgeMs: this.lastReadAt === undefined ? undefined : now - this.lastReadAt,
      marketRules: Object.hasOwn(this.markets, market) ? this.markets[market] : undefined,
      marketsDescribed: Object.keys(this.markets).length > 0,
    };
  }

  /** The run's orders that are not at their end, those whose fate is unknown among them. */
  workingOrders(): readonly WorkingOrder[] {
    return this.book
      .orders()
      .filter(({ snapshot }) => !isTerminal(snapshot.state) && snapshot.state !== 'draft')
      .map(({ intent, snapshot }) => ({
        clientOrderId: intent.clientOrderId,
        orderId: snapshot.context.venueId,
        market: intent.market,
        side: intent.side,
        type: intent.type,
        price: snapshot.context.price,
        size: snapshot.context.size,
        worstRemaining: exposureOf(snapshot).worstRemaining,
        quarantined: snapshot.state === 'quarantined',
      }));
  }

  /** Orders of nobody we know: what other runs of the account have working is counted as theirs. */
  private externalOpen(working: readonly WorkingOrder[]): number {
    if (working.length === 0) return this.external.length;
    const known = new Set(working.flatMap(({ clientOrderId, orderId }) => [clientOrderId, orderId]));
    return this.external.filter(({ id, client_order_id }) => !known.has(id) && !known.has(client_order_id)).length;
  }

  /** Net size per market over every fill that was ever read: this run's, and the account's where a list showed them. */
  private positions(): Readonly<Record<string, PositionFact>> {
    const sizes: Record<string, Decimal> = Object.create(null);
    for (const { market_id, side, size } of this.fills.values()) {
      const before = sizes[market_id] ?? new Decimal(0);
      sizes[market_id] = side === 'long' ? before.plus(decimal(size)) : before.minus(decimal(size));
    }
    return Object.fromEntries(Object.entries(sizes).map(([market, size]) => [market, { size: decimalText(size) }]));
  }

  /** What the run has sent, each order once; of one that certainly did not come about only what it has filled. */
  private runNotional(): Decimal {
    let sum = new Decimal(0);
    for (const { intent, snapshot } of this.book.orders()) {
      const size = CAME_TO_NOTHING.has(snapshot.state) ? exposureOf(snapshot).filled : intent.size;
      sum = sum.plus(decimal(notionalOf({ ...intent, size }) ?? '0'));
    }
    return sum;
  }

  private attempted(call: DataOf<'call.intended'> | undefined, at: number): void {
    if (call === undefined || !isEndpointName(call.endpoint)) return;
    const row = endpoint(call.endpoint);
    if (row.method === 'GET' || row.path === '/cancel_all_after' || row.path === '/jwt') return;
    this.writes += 1;
    if (call.endpoint === 'POST /orders' || call.endpoint === 'PUT /orders') this.orderTimes.push(at);
  }

  private settled(
    call: DataOf<'call.intended'> | undefined,
    data: DataOf<'call.settled'>,
    at: number,
    step: string,
  ): void {
    if (call === undefined) return;
    if (data.kind === 'rejected' && data.failure === 'rejected') this.refusals.push(at);
    if (data.kind !== 'confirmed') return;
    if (call.endpoint.startsWith('GET ')) this.lastReadAt = at;
    const { status, market_id } = call.params as { readonly status?: string; readonly market_id?: string };
    if (call.endpoint === 'GET /orders' && status === 'open' && market_id === undefined) {
      const records = data.result as unknown as readonly OrderRecord[];
      this.external = records.filter(
        (record) => this.book.byId(record.id) === undefined && this.book.get(record.client_order_id) === undefined,
      );
    }
    if (call.endpoint === 'GET /account' || call.endpoint === 'PUT /account/leverage') {
      const [record] = data.result as unknown as readonly AccountRecord[];
      if (record !== undefined) this.account = { record, at };
    }
    if (call.endpoint === 'GET /fills' || call.endpoint === 'GET /fills/order') {
      for (const fill of data.result as unknown as readonly FillRecord[]) {
        if (this.fills.has(fill.id)) continue;
        this.fills.set(fill.id, fill);
        const filledStep = this.book.byId(fill.order_id)?.step ?? step;
        this.stepFills.set(filledStep, [...(this.stepFills.get(filledStep) ?? []), at]);
      }
    }
  }
}
