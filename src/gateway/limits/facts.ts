/**
 * The facts behind the limits, folded from the journal like everything else that must survive a restart: what works, what
 * has filled, what was sent, what was refused, when the venue was last read. The verdict is venue/limits.ts's.
 */
import { type DecimalString, decimalText } from '../../base/decimal.ts';
import type { DataOf, Entry } from '../../journal/entry.ts';
import type { OrderTracker } from '../../journal/orders.ts';
import { endpoint, isEndpointName } from '../../venue/catalogue.ts';
import {
  checkLimits,
  type LimitFacts,
  type LimitRules,
  type LimitVerdict,
  type WorkingOrder,
} from '../../venue/limits/check.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import { exposureOf } from '../../venue/order/life.ts';
import { isWorking } from '../../venue/order/states.ts';
import type { MarketRules, VenueCall } from '../../venue/port.ts';
import type { AccountRecord, FillRecord, OrderRecord } from '../../venue/records.ts';
import { DeadmanFacts } from './deadman.ts';
import { SentNotional } from './notional.ts';
import { HeldPositions } from './positions.ts';

const MINUTE_MS = 60_000;
/** How long a refusal is remembered, ms: the longest window a throttle may have. */
const REFUSALS_KEPT_MS = 3_600_000;

/** What other runs and people know that this run's journal does not. */
interface AccountFacts {
  readonly killed: boolean;
  /** Working orders of other runs of the account. */
  readonly working: readonly WorkingOrder[];
}

export class LimitFactsFold {
  private tracker: OrderTracker;
  private readonly markets: Readonly<Record<string, MarketRules>>;
  private readonly others: () => AccountFacts;
  private readonly intended = new Map<string, DataOf<'call.intended'>>();
  private readonly held = new HeldPositions();
  private readonly sent = new SentNotional();
  /** Fills with the step that read them, for those of orders that are nobody's here. */
  private fillTimes: { readonly orderId: string; readonly step: string; readonly at: number }[] = [];
  private readonly lastPrices = new Map<string, { readonly price: DecimalString; readonly at: number }>();
  private readonly deadman = new DeadmanFacts();
  private orderTimes: number[] = [];
  private refusals: number[] = [];
  private writes = 0;
  private account: { readonly record: AccountRecord; readonly at: number } | undefined;
  private lastReadAt: number | undefined;
  /** Open orders of the account, as of the last complete list. */
  private listedOpen: readonly OrderRecord[] = [];

  constructor(
    tracker: OrderTracker,
    markets: Readonly<Record<string, MarketRules>>,
    others: () => AccountFacts = () => ({ killed: false, working: [] }),
  ) {
    this.tracker = tracker;
    this.markets = markets;
    this.others = others;
  }

  /** The book of the run as it is taken up again: made by whoever plays its record. */
  useBook(tracker: OrderTracker): void {
    this.tracker = tracker;
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
      case 'order.moved':
        this.rested(entry.data, entry.at);
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
    const lapsed = this.lapsed(call, now);
    if (lapsed !== undefined) return { ok: false, code: 'DEADMAN_LAPSED', message: lapsed, considered: {} };
    return checkLimits(
      { ...call, ...(call.intent?.allow === undefined ? {} : { allow: call.intent.allow }) },
      rules,
      this.facts(call, rules, now),
    );
  }

  /** Why no new order may go while the deadman switch may have fired; undefined where it stands, or was not asked for. */
  lapsed(call: VenueCall, now: number): string | undefined {
    const lapsedAt = call.endpoint === 'POST /orders' ? this.deadman.lapsedAt(now) : undefined;
    if (lapsedAt === undefined) return undefined;
    return `DEADMAN_LAPSED: since=${new Date(lapsedAt).toISOString()}; the deadman switch that this run asked for may have fired, and every order is read before a new one`;
  }

  private facts(call: VenueCall, rules: LimitRules, now: number): LimitFacts {
    const others = this.others();
    const summed = rules.maxRunNotional !== undefined;
    const own = this.workingOrders(summed);
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
      positions: this.held.facts(this.tracker, now),
      counters: {
        writes: this.writes,
        ordersLastMinute: this.orderTimes.length,
        runNotional: summed ? this.sent.sum(this.tracker.orders(), (of) => this.lastPrices.get(of)?.price) : '0',
        stepFills: rules.stepFills === undefined ? 0 : within(this.fillsOf(call.step), rules.stepFills.windowMs),
        refusals: within(this.refusals, rules.refusals?.windowMs),
      },
      reference: call.reference,
      lastPrices: Object.fromEntries([...this.lastPrices].map(([of, { price }]) => [of, price])),
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

  /** The run's orders that are not at their end, those whose fate is unknown among them; where asked, with what each counts for. */
  workingOrders(summed = false): readonly WorkingOrder[] {
    return this.tracker
      .orders()
      .filter(({ snapshot }) => isWorking(snapshot.state))
      .map((order) => {
        const { intent, snapshot } = order;
        const counted = summed ? this.sent.of(order, this.lastPrices.get(intent.market)?.price) : undefined;
        return {
          clientOrderId: intent.clientOrderId,
          orderId: snapshot.context.venueId,
          market: intent.market,
          side: intent.side,
          type: intent.type,
          price: snapshot.context.price,
          trigger: intent.trigger,
          size: snapshot.context.size,
          worstRemaining: exposureOf(snapshot).worstRemaining,
          ...(isPositionStop(intent) ? { fraction: this.sent.mostAsked(order) } : {}),
          ...(counted === undefined ? {} : { counted: decimalText(counted) }),
          quarantined: snapshot.state === 'quarantined',
        };
      });
  }

  /** Orders of nobody we know: what other runs of the account have working is counted as theirs. */
  private externalOpen(working: readonly WorkingOrder[]): number {
    const known = new Set(working.flatMap(({ clientOrderId, orderId }) => [clientOrderId, orderId]));
    const { tracker } = this;
    return this.listedOpen.filter(
      ({ id, client_order_id }) =>
        tracker.byId(id) === undefined &&
        tracker.get(client_order_id) === undefined &&
        !known.has(id) &&
        !known.has(client_order_id),
    ).length;
  }

  /** When fills of a step's orders were read. */
  private fillsOf(step: string): readonly number[] {
    return this.fillTimes
      .filter((fill) => (this.tracker.byId(fill.orderId)?.step ?? fill.step) === step)
      .map(({ at }) => at);
  }

  private attempted(call: DataOf<'call.intended'> | undefined, at: number): void {
    if (call === undefined || !isEndpointName(call.endpoint)) return;
    const row = endpoint(call.endpoint);
    if (row.method === 'GET' || row.path === '/cancel_all_after' || row.path === '/jwt') return;
    this.writes += 1;
    if (call.endpoint !== 'POST /orders' && call.endpoint !== 'PUT /orders') return;
    this.orderTimes.push(at);
    const { market_id } = call.params as { readonly market_id?: string };
    this.sent.attempted(call, this.lastPrices.get(market_id ?? '')?.price);
  }

  /** A short that came to rest stands above the market: what it asks is the most that another would have brought then. */
  private rested({ clientOrderId, to, from }: DataOf<'order.moved'>, at: number): void {
    if (to !== 'open' || from === 'amending') return;
    const order = this.sent.restingShort(clientOrderId);
    if (order !== undefined) this.seen(order.market, order.price, at);
  }

  private seen(market: string, price: DecimalString, at: number): void {
    if ((this.lastPrices.get(market)?.at ?? 0) <= at) this.lastPrices.set(market, { price, at });
  }

  private settled(
    call: DataOf<'call.intended'> | undefined,
    data: DataOf<'call.settled'>,
    at: number,
    step: string,
  ): void {
    if (call === undefined) return;
    if (data.kind === 'rejected' && data.failure === 'rejected') this.refusals.push(at);
    if ((data.kind === 'rejected' && data.definite !== false) || data.kind === 'denied') this.sent.refused(call);
    if (data.kind !== 'confirmed') return;
    if (call.endpoint.startsWith('GET ')) this.lastReadAt = at;
    const { status, market_id } = call.params as { readonly status?: string; readonly market_id?: string };
    if (call.endpoint === 'GET /orders' && status === 'open' && market_id === undefined) {
      this.listedOpen = data.result as unknown as readonly OrderRecord[];
    }
    if (call.endpoint === 'GET /account' || call.endpoint === 'PUT /account/leverage') {
      const [record] = data.result as unknown as readonly AccountRecord[];
      if (record !== undefined) this.account = { record, at };
    }
    if (call.endpoint === 'GET /fills' || call.endpoint === 'GET /fills/order') {
      const fills = data.result as unknown as readonly FillRecord[];
      for (const fill of this.held.take(call, fills, data.sentAt ?? at)) {
        this.fillTimes.push({ orderId: fill.order_id, step, at });
        this.seen(fill.market_id, fill.price, fill.timestamp / 1000);
      }
    }
  }
}
