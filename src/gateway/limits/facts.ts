/**
 * Collects the facts that limits are checked against, folded from the journal so that they survive a restart: working orders,
 * fills, requests sent, refusals, and when the venue was last read. venue/limits/check.ts decides.
 */

import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { type ApprovedBounds, type DataOf, type Entry, stripRounds } from '../../journal/entry.ts';
import { HeldPositions, pickNearerZero } from '../../journal/held-positions.ts';
import type { OrderTracker } from '../../journal/orders.ts';
import { getAction, getEndpoint, isEndpointName, isRunbookWrite } from '../../venue/catalogue.ts';
import {
  checkLimits,
  findUnpricedMarket,
  isProvenToReduce,
  type LimitFacts,
  type LimitRules,
  type LimitVerdict,
  type PositionFact,
  type PriceAt,
  type WorkingOrder,
} from '../../venue/limits/check.ts';
import type { MarketRules, VenueCall } from '../../venue/port.ts';
import type { AccountRecord, OrderRecord } from '../../venue/records.ts';
import { AccountLedger } from './account-ledger.ts';
import { DeadmanFacts } from './deadman.ts';
import { findDay, SentNotional } from './notional.ts';
import { OwnOrders } from './own-orders.ts';
import { type BeyondPlan, findBeyondPlan } from './plan-bounds.ts';

const MINUTE_MS = 60_000;
/** How long a refusal is remembered, ms: the longest window that a throttle may have (venue/profile/settings.ts). */
const REFUSALS_KEPT_MS = 30 * 86_400_000;

/** How old the last price of a market may be before its price feed is read for an order, ms. */
const FRESH_PRICE_MS = 10_000;
/** How long a reading of the price feed measures orders, ms: as long as an order may wait for its tokens. */
const USABLE_PRICE_MS = 60_000;

/**
 * Alarms that tell what the run has decided or could not see, or others have closed: the venue refused and contradicted nothing, and
 * none of them may deny the next order of an exit. What the venue refused before one of them counts already.
 */
const NOTES: ReadonlySet<string> = new Set([
  'SelfMatchPossible',
  'UnseenAtEnd',
  'StopKept',
  'StopNotTightened',
  'StopNotPutBack',
  'ClosedByOthers',
]);

interface OpenQuery {
  readonly p_limit?: number;
  readonly p_page?: number;
  /** Epoch µs. */
  readonly start_time?: number;
}

/** Facts about the account that this run's journal does not have. */
interface AccountFacts {
  readonly killed: boolean;
  /** Working orders of other runs of the account. */
  readonly working: readonly WorkingOrder[];
  /** The account over all its runs; without it the run is its only one. */
  readonly ledger?: { readonly sums: AccountLedger; readonly gates: readonly LimitFactsFold[] };
}

export class LimitFactsFold {
  private tracker: OrderTracker;
  private readonly markets: Readonly<Record<string, MarketRules>>;
  readonly priceFeed: string | undefined;
  private readonly others: () => AccountFacts;
  private readonly intended = new PassingMap<string, DataOf<'call.intended'>>();
  private readonly held = new HeldPositions();
  /** The ledger of an account whose only run this is. */
  private readonly alone = new AccountLedger();
  private readonly sent = new SentNotional();
  /** The run's orders as the checks need them. */
  readonly own: OwnOrders;
  private readonly fillTimes = new StepFillTimes();
  private readonly lastPrices = new Map<string, PriceAt>();
  /** The newest reading of the price feed, by market. */
  private readonly feedPrices = new Map<string, PriceAt>();
  private readonly deadman = new DeadmanFacts();
  /** The bounds of the plan that a person approved. */
  private approved: ApprovedBounds | undefined;
  private orderTimes: number[] = [];
  private refusals: number[] = [];
  private writes = 0;
  /** When writes were attempted that are not settled, by call, epoch ms. */
  private readonly leaving = new Map<string, number>();
  private account: { readonly record: AccountRecord; readonly at: number } | undefined;
  private lastReadAt: number | undefined;
  /**
   * Open orders of the account, as of the last whole list, or of a part of one that has more; the number of its rows that could
   * not be read; and how far it reaches back, µs.
   */
  private listedOpen: { readonly orders: readonly OrderRecord[]; readonly unread: number; readonly reachUs: number } = {
    orders: [],
    unread: 0,
    reachUs: 0,
  };

  /** `priceFeed`: the feed of the profile that gives a market's price. */
  constructor(
    tracker: OrderTracker,
    markets: Readonly<Record<string, MarketRules>>,
    others: () => AccountFacts = () => ({ killed: false, working: [] }),
    priceFeed?: string,
  ) {
    this.tracker = tracker;
    this.own = new OwnOrders(tracker, this.sent, (market) => this.lastPrices.get(market)?.price);
    this.markets = markets;
    this.priceFeed = priceFeed;
    this.others = others;
  }

  /** Replaces the tracker when a run is resumed: its playback has built a new one. */
  useBook(tracker: OrderTracker): void {
    this.tracker = tracker;
    this.own.useTracker(tracker);
  }

  /** Applies one entry of the run; call it in the order of the journal. */
  apply(entry: Entry): void {
    this.deadman.apply(entry);
    switch (entry.type) {
      case 'run.started':
        this.approved = entry.data.bounds;
        return;
      case 'run.resumed':
        // What a dead process has sent left, whatever becomes of the attempts behind it.
        this.leaving.clear();
        return;
      case 'call.intended':
        this.intended.set(entry.data.call, entry.data);
        return;
      case 'call.attempted':
        this.applyAttempt(this.intended.get(entry.data.call), entry.at);
        return;
      case 'call.answered':
        // Its bytes left; what becomes of the attempt that follows it is another matter.
        this.leaving.delete(entry.data.call);
        return;
      case 'call.settled':
        this.applySettled(this.intended.get(entry.data.call), entry.data, entry.at, entry.step);
        this.intended.delete(entry.data.call);
        this.leaving.delete(entry.data.call);
        return;
      case 'order.moved':
        this.applyMove(entry.data, entry.at);
        return;
      case 'order.alarmed':
        if (!NOTES.has(entry.data.alarm)) this.refusals.push(entry.at);
        return;
      case 'feed.read':
        this.applyFeed(entry.data);
        return;
      default:
    }
  }

  /**
   * Checks a call against the limits; calls that only read or protect always pass. `attempted`: the journal has its attempt
   * already, so the facts would count it twice. `account`: the limits that hold for the account.
   */
  check(
    call: VenueCall,
    rules: LimitRules,
    now: number,
    { attempted = false, account }: { readonly attempted?: boolean; readonly account?: LimitRules | undefined } = {},
  ): LimitVerdict {
    const row = getEndpoint(call.endpoint);
    if (row.method === 'GET' || row.protective) return { ok: true, considered: {} };
    const lapsed = this.findLapse(call, now);
    if (lapsed !== undefined) return { ok: false, ...lapsed, considered: {} };
    const facts = this.collectFacts(call, rules, now, attempted);
    const verdict = checkLimits(
      call,
      rules,
      facts,
      account && { rules: account, facts: this.collectAccountFacts(facts, call, account, attempted) },
    );
    const beyond = verdict.ok ? this.findBeyond(call, facts) : undefined;
    if (beyond === undefined) return verdict;
    const { figure, value, max } = beyond;
    const message = `BEYOND_PLAN: figure=${figure}, value=${value}, max=${max}`;
    return { ok: false, code: 'BEYOND_PLAN', message, considered: verdict.considered };
  }

  /**
   * The bound of the approved plan that a call would exceed. A plan is of its run alone: an order proves to reduce by the run's own
   * position and orders, and those of other runs do not keep its way out back.
   */
  private findBeyond(call: VenueCall, facts: LimitFacts): BeyondPlan | undefined {
    if (this.approved === undefined) return undefined;
    const working = facts.working.filter(({ clientOrderId }) => this.tracker.get(clientOrderId) !== undefined);
    const opens = call.intent?.allow !== 'reduce' || !isProvenToReduce(call, { ...facts, working });
    return findBeyondPlan({ ...call, opens }, this.own.getPlanned(), this.approved);
  }

  /**
   * Finds the market whose price feed should be read before the call is checked: a notional limit applies to the order, only the
   * market's price measures it, and no price was seen lately.
   */
  findUnpriced(call: VenueCall, rules: LimitRules, now: number): string | undefined {
    if (this.priceFeed === undefined || call.intent?.market === undefined) return undefined;
    const last = this.lastPrices.get(call.intent.market);
    if (last !== undefined && now - last.at <= FRESH_PRICE_MS) return undefined;
    return findUnpricedMarket(call, rules, this.collectFacts(call, rules, now, false));
  }

  /** Finds why no new order may be sent: the deadman switch may have fired. Undefined when it is armed, or was not requested. */
  private findLapse(
    call: VenueCall,
    now: number,
  ): { readonly code: 'DEADMAN_LAPSED'; readonly message: string } | undefined {
    const lapsedAt = getAction(call.endpoint) === 'place' ? this.deadman.lapsedAt(now) : undefined;
    if (lapsedAt === undefined) return undefined;
    const message = `DEADMAN_LAPSED: since=${new Date(lapsedAt).toISOString()}; the deadman switch of this run may have fired; the run reads every order before it places a new one`;
    return { code: 'DEADMAN_LAPSED', message };
  }

  private collectFacts(call: VenueCall, rules: LimitRules, now: number, attempted: boolean): LimitFacts {
    const others = this.others();
    const { markets } = this;
    const summed = rules.maxRunNotional !== undefined;
    const placed = findPlaced(call, attempted);
    const own = this.own.listWorking(summed).filter(({ clientOrderId }) => clientOrderId !== placed);
    const working = [...own, ...others.working];
    this.orderTimes = this.orderTimes.filter((at) => now - at < MINUTE_MS);
    this.refusals = this.refusals.filter((at) => now - at < REFUSALS_KEPT_MS);
    const within = (times: readonly number[], windowMs: number | undefined) =>
      times.filter((at) => windowMs === undefined || now - at < windowMs).length;
    const market = call.intent?.market ?? (call.params as { readonly market_id?: string }).market_id ?? '';
    const account = this.account;
    const sum = summed ? this.own.sumNotional(placed) : undefined;
    const isKnown = sum !== undefined && !(sum.atLeast && rules.unknownPrice === 'deny');
    return {
      now,
      killed: others.killed,
      working,
      openOrders: { run: own.length, account: working.length + this.countExternalOpen(working) },
      positions: this.held.collectFacts(
        this.own.listFilled(),
        (orderId) => this.tracker.byId(orderId) !== undefined,
        now,
      ),
      counters: {
        writes: this.writes - (attempted ? 1 : 0),
        ordersLastMinute: this.orderTimes.length - (attempted ? 1 : 0),
        runNotional: isKnown ? formatDecimal(sum.value) : undefined,
        runNotionalAtLeast: sum?.atLeast === true,
        stepFills:
          rules.stepFills === undefined
            ? 0
            : this.fillTimes.count(call.step, this.tracker, now, rules.stepFills.windowMs),
        refusals: within(this.refusals, rules.refusals?.windowMs),
      },
      reference: call.reference,
      marketPrice: this.getFeedPrice(market, now),
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
      marketRules: Object.hasOwn(markets, market) ? markets[market] : undefined,
      marketsDescribed: Object.keys(markets).length > 0,
    };
  }

  /** The orders of the run and their fills. */
  get orders(): OrderTracker {
    return this.tracker;
  }

  /** The facts of the account: those of the run with the sums over all runs. */
  private collectAccountFacts(facts: LimitFacts, call: VenueCall, rules: LimitRules, attempted: boolean): LimitFacts {
    const { ledger } = this.others();
    const { now } = facts;
    const day = findDay(now);
    const placed = findPlaced(call, attempted);
    const { counters } = facts;
    const { sums, gates } = ledger ?? { sums: this.alone, gates: [this] };
    const others = gates.filter((each) => each !== this);
    const isOwn = (orderId: string) => gates.some((each) => each.tracker.byId(orderId) !== undefined);
    const isOfRun = ({ clientOrderId, orderId = '' }: WorkingOrder) =>
      isOwn(orderId) || gates.some((each) => each.tracker.get(clientOrderId) !== undefined);
    const known = sums.listFilled(gates);
    const possible = this.held.collectFacts(known, isOwn, now, (fill) => sums.hasBooked(fill));
    const working = [...facts.working, ...sums.listLeft(isOfRun)];
    const parts = [sums.sumNotionalOfDay(now), ...gates.map((each) => each.own.sumNotional(placed, day)?.value)];
    const dayNotional = parts.every((part) => part !== undefined)
      ? formatDecimal(parts.reduce((sum, part) => sum.plus(part), decimal('0')))
      : undefined;
    const earlier = others.reduce(
      (sum, each) => sum + each.listOrderTimes(now).length,
      sums.countOrdersLastMinute(now),
    );
    return {
      ...facts,
      working,
      openOrders: { ...facts.openOrders, run: working.length },
      positions: Object.fromEntries(
        Object.entries(possible).map(([market, fact]) => {
          // A position that neither the venue's list nor a person has shown proves no order to reduce: what the run itself holds does,
          // as far as other runs hold nothing against it.
          const own = facts.positions[market]?.certain ?? '0';
          const certain = sums.isProven(market)
            ? fact.certain
            : formatDecimal(pickNearerZero(decimal(own), decimal(fact.certain)));
          const isPriced = market === call.intent?.market && (facts.reference ?? facts.marketPrice) !== undefined;
          const price = isPriced ? undefined : (facts.lastPrices?.[market] ?? sums.findLastPrice(market));
          return [
            market,
            { ...fact, certain, ...(price === undefined ? {} : { notional: measurePosition(fact, price) }) },
          ];
        }),
      ),
      counters: {
        ...counters,
        ordersLastMinute: counters.ordersLastMinute + earlier,
        dayNotional,
        dayPnl: formatDecimal(sums.sumPnlOfDay(now)),
      },
      unknownPositions: sums.findUnknown(
        rules.maxExposure === undefined ? [call.intent?.market ?? ''] : [...Object.keys(this.markets), ...known.keys()],
        now,
      ),
      unknownOrders: sums.findUnlisted(),
      unknownLoss: sums.findUnknownPnl(now),
      unknownSent: sums.findUnknownNotional(now),
    };
  }

  /** When the run sent POST and PUT /orders in the minute before, epoch ms. */
  listOrderTimes(now: number): readonly number[] {
    return this.orderTimes.filter((at) => now - at < MINUTE_MS);
  }

  /** The run's orders that have not ended. */
  workingOrders(): readonly WorkingOrder[] {
    return this.own.listWorking();
  }

  /** Counts open orders that belong to no known run. `working`: the orders of the account's runs. */
  private countExternalOpen(working: readonly WorkingOrder[]): number {
    const known = new Set(working.flatMap(({ clientOrderId, orderId }) => [clientOrderId, orderId]));
    const external = this.listedOpen.orders.filter(
      ({ id, client_order_id }) => this.tracker.byId(id) === undefined && !known.has(id) && !known.has(client_order_id),
    );
    return external.length + this.listedOpen.unread;
  }

  private applyAttempt(call: DataOf<'call.intended'> | undefined, at: number): void {
    if (call === undefined || !isRunbookWrite(call.endpoint)) return;
    this.writes += 1;
    this.leaving.set(call.call, at);
    const action = getAction(call.endpoint);
    if (action !== 'place' && action !== 'amend') return;
    this.orderTimes.push(at);
    const { market_id } = call.params as { readonly market_id?: string };
    const market = market_id ?? '';
    const last = this.lastPrices.get(market)?.price;
    this.sent.addAttempt(call, at, { market: this.getFeedPrice(market, at), last });
  }

  /** Takes out of the counts a write whose last attempt did not leave. */
  private uncount({ call, endpoint }: DataOf<'call.intended'>): void {
    const at = this.leaving.get(call);
    if (at === undefined) return;
    this.writes -= 1;
    const action = getAction(endpoint);
    const index = action === 'place' || action === 'amend' ? this.orderTimes.lastIndexOf(at) : -1;
    if (index !== -1) this.orderTimes.splice(index, 1);
  }

  /** Learns a price from a short that rests: it is above the market, so its price bounds what another short would have brought. */
  private applyMove({ clientOrderId, to, from }: DataOf<'order.moved'>, at: number): void {
    if (to !== 'open' || from === 'amending') return;
    const order = this.sent.findRestingShort(clientOrderId);
    if (order !== undefined) this.noteLastPrice(order.market, order.price, at);
  }

  /** Takes a list of the account's open orders, unless it may lack orders of the one before. */
  private noteOpen(
    { result, unread: { length: unread } = [] }: DataOf<'call.settled'>,
    { p_limit, p_page = 0, start_time = 0 }: OpenQuery,
    at: number,
  ): void {
    const orders = result as unknown as readonly OrderRecord[];
    const rows = orders.length + unread;
    const { orders: known, reachUs: knownReachUs } = this.listedOpen;
    const reachUs = at * 1000 - start_time;
    const isWhole = p_page === 0 && p_limit !== undefined && rows < p_limit;
    if (isWhole && reachUs >= knownReachUs) this.listedOpen = { orders, unread, reachUs };
    else if (rows > known.length + this.listedOpen.unread) this.listedOpen = { orders, unread, reachUs: knownReachUs };
  }

  private applyFeed({ name, key: market, value: price, at }: DataOf<'feed.read'>): void {
    if (name !== this.priceFeed || market === undefined || price === undefined || at === undefined) return;
    this.noteLastPrice(market, price, at);
    if ((this.feedPrices.get(market)?.at ?? 0) <= at) this.feedPrices.set(market, { price, at });
  }

  private getFeedPrice(market: string, now: number): DecimalString | undefined {
    const reading = this.feedPrices.get(market);
    return reading === undefined || now - reading.at > USABLE_PRICE_MS ? undefined : reading.price;
  }

  private noteLastPrice(market: string, price: DecimalString, at: number): void {
    if ((this.lastPrices.get(market)?.at ?? 0) <= at) this.lastPrices.set(market, { price, at });
  }

  private applySettled(
    call: DataOf<'call.intended'> | undefined,
    data: DataOf<'call.settled'>,
    at: number,
    step: string,
  ): void {
    if (call === undefined) return;
    if (data.failure === 'rejected') this.refusals.push(at);
    // No byte of it left: an exit that goes on while the venue is away would use up what its last order and its stop need.
    const isUnsent =
      data.kind === 'denied' ||
      (data.kind === 'rejected' &&
        (data.failure === 'transport' || (data.failure === 'unauthorized' && data.status === undefined)));
    if (isUnsent) this.uncount(call);
    if ((data.kind === 'rejected' && data.definite !== false) || data.kind === 'denied') this.sent.removeRefused(call);
    if (data.kind !== 'confirmed') return;
    if (call.endpoint.startsWith('GET ')) this.lastReadAt = at;
    const { status, market_id } = call.params as { readonly status?: string; readonly market_id?: string };
    const { answer } = isEndpointName(call.endpoint) ? getEndpoint(call.endpoint) : {};
    const record = answer?.shape === 'list' ? answer.of : undefined;
    if (record === 'order' && status === 'open' && market_id === undefined) {
      this.noteOpen(data, call.params as OpenQuery, data.sentAt ?? at);
    }
    if (record === 'account') {
      const [account] = data.result as unknown as readonly AccountRecord[];
      if (account !== undefined) this.account = { record: account, at };
    }
    if (record === 'fill') {
      for (const fill of this.held.take(call, data, data.sentAt ?? at)) {
        this.fillTimes.add({ orderId: fill.order_id, step, at });
        this.noteLastPrice(fill.market_id, fill.price, fill.timestamp / 1000);
      }
    }
  }
}

/** The largest notional that a position may have at a price. */
function measurePosition({ least, most }: PositionFact, price: DecimalString): DecimalString {
  return formatDecimal(Decimal.max(decimal(least).abs(), decimal(most).abs()).times(decimal(price)));
}

interface FillTime {
  readonly orderId: string;
  /** The step that read it, which counts for fills of orders that this run did not place. */
  readonly step: string;
  readonly at: number;
}

/** When fills were read, by the step whose orders they filled, over all rounds of the loops around it. */
class StepFillTimes {
  /** Not yet assigned: on a resume the orders are known only once the record has been played back. */
  private readonly added: FillTime[] = [];
  private readonly byStep = new Map<string, number[]>();

  add(fill: FillTime): void {
    this.added.push(fill);
  }

  count(step: string, tracker: OrderTracker, now: number, windowMs: number): number {
    for (const { orderId, step: reader, at } of this.added.splice(0)) {
      const placed = stripRounds(tracker.byId(orderId)?.step ?? reader);
      const times = this.byStep.get(placed);
      if (times === undefined) this.byStep.set(placed, [at]);
      else times.push(at);
    }
    const wanted = stripRounds(step);
    const times = (this.byStep.get(wanted) ?? []).filter((at) => now - at < windowMs);
    this.byStep.set(wanted, times);
    return times.length;
  }
}

/** The order that a call places whose attempt is journaled already. */
function findPlaced(call: VenueCall, attempted: boolean): string | undefined {
  return attempted && getAction(call.endpoint) === 'place'
    ? (call.clientOrderId ?? call.intent?.clientOrderId)
    : undefined;
}
