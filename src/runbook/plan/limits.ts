/**
 * Finds the requests of a plan that the limits would deny. Only certain denials are marked: a control whose facts only the run
 * will know (a position after a fill, the age of a reading, a price not known yet) is left out. An unmarked plan is no promise
 * that every request passes.
 */
import { Decimal, decimal, formatDecimal } from '../../base/decimal.ts';
import { type EndpointName, getAction, getEndpoint, isRunbookWrite } from '../../venue/catalogue.ts';
import { checkLimits, getBandWidth, type LimitRules, notionalOf, type WriteTerms } from '../../venue/limits/check.ts';
import type { MarketRules } from '../../venue/port.ts';
import type { Side } from '../../venue/records.ts';
import { KNOWN_AFTER_RUN } from './unknown.ts';

export interface PlannedDenial {
  readonly code: string;
  readonly message: string;
}

/** A request as far as it is known. */
export interface PlannedWrite {
  readonly endpoint: EndpointName;
  readonly step: string;
  readonly params: Readonly<Record<string, string>>;
  /** Of an amend: the order before it. */
  readonly order?: Readonly<Record<string, string | undefined>> | undefined;
  readonly allow?: 'reduce' | undefined;
  /** Whether every path sends it, exactly once. */
  readonly certain: boolean;
  /** The limits of its runbook, tightened by those of the profile. */
  readonly rules: LimitRules;
  /** The reference of the price band: undefined without a band, `open` where only the run will know. */
  readonly reference: string | undefined;
}

export class PlanLimits {
  private readonly market: (id: string) => MarketRules | undefined;
  private readonly marketsDescribed: boolean;
  private readonly now: number;
  private readonly priceFeed: boolean;
  /** Writes that the run has certainly sent so far. */
  private writes = 0;
  private notional = new Decimal(0);
  /** True until an order is sent or fills are read: the run knows of no position. */
  private flat = true;
  private accountRead = false;
  private amended = false;

  constructor(parts: {
    readonly market: (id: string) => MarketRules | undefined;
    readonly marketsDescribed: boolean;
    readonly now: number;
    readonly priceFeed: boolean;
  }) {
    this.market = parts.market;
    this.marketsDescribed = parts.marketsDescribed;
    this.now = parts.now;
    this.priceFeed = parts.priceFeed;
  }

  /** The denial of a request, if it is certain. Requests are given in the sequence of the plan. */
  next(write: PlannedWrite): PlannedDenial | undefined {
    const terms = collectTerms(write, this.market);
    // After an amend only the venue knows the order's size.
    if (this.amended && getAction(write.endpoint) === 'amend' && write.params['size'] === undefined)
      terms.open.add('size');
    const denial = this.findDenial(write, terms);
    if (denial === undefined) this.recordSent(write, terms);
    return denial;
  }

  private findDenial(write: PlannedWrite, terms: PlannedTerms): PlannedDenial | undefined {
    const { market, open } = terms;
    const asked = write.params['price'];
    const price = asked === KNOWN_AFTER_RUN ? undefined : asked;
    // Where only the run will know the market price, a short counts at its own price, the least it can be.
    const reference = write.reference === 'open' ? price : write.reference;
    const verdict = checkLimits(
      {
        endpoint: write.endpoint,
        step: write.step,
        params: Object.fromEntries(Object.entries(write.params).filter(([, text]) => text !== KNOWN_AFTER_RUN)),
        allow: write.allow,
        ...(terms.intent === undefined ? {} : { intent: terms.intent }),
      },
      this.selectCertainRules(write, open),
      {
        now: this.now,
        working: [],
        openOrders: { run: 0, account: 0 },
        positions: {},
        counters: { writes: this.writes, ordersLastMinute: 0, runNotional: formatDecimal(this.notional) },
        reference: reference === undefined ? undefined : { price: reference, at: this.now },
        ...(price === undefined || this.flat ? {} : { lastPrices: { [market ?? '']: price } }),
        marketRules: market === undefined ? undefined : this.market(market),
        marketsDescribed: this.marketsDescribed && market !== undefined,
      },
    );
    return verdict.ok ? undefined : { code: verdict.code, message: verdict.message };
  }

  /** The rules without the controls that depend on open terms or on what the run may have learned so far. */
  private selectCertainRules({ rules, reference, allow, params }: PlannedWrite, open: ReadonlySet<Term>): LimitRules {
    const left: Partial<Record<keyof LimitRules, unknown>> = { ...rules };
    const drop = (...controls: (keyof LimitRules)[]) => {
      for (const control of controls) delete left[control];
    };
    drop('maxReadAgeMs', 'maxReferenceAgeMs', 'maxAccountAgeMs', 'maxOrdersPerMinute', 'stepFills', 'refusals');
    // What a price feed will show is open, as a reference may be.
    const hasFeed = this.priceFeed && params['trigger_price'] === undefined;
    const hasNoPrice = params['price'] === undefined && (reference === 'open' || hasFeed);
    const priced = open.has('price') || hasNoPrice;
    if (this.priceFeed) drop('unknownPrice');
    if (priced || open.has('size')) drop('maxOrderNotional', 'maxRunNotional', 'maxMarketNotional', 'maxExposure');
    const isPriced = params['price'] !== undefined;
    if (open.has('price') || (reference === 'open' && isPriced)) drop('priceBandWithin', 'marketBands');
    if (open.has('size')) drop('maxOrderSize', 'maxPosition');
    if (open.has('market')) drop('markets');
    if (open.has('type')) drop('orderTypes');
    if (open.has('leverage')) drop('maxLeverage');
    if (this.accountRead) drop('minEquity', 'minHealth');
    if (!this.flat || open.has('side')) {
      drop('sides', 'maxPosition', 'maxMarketNotional', 'maxExposure', 'minEquity', 'minHealth');
      if (allow === 'reduce') drop('maxOrderNotional', 'maxRunNotional');
      // Whether an order reduces is unknown here; `halted` denies in any case.
      if (left.mode === 'reducing') drop('mode');
      if (rules.marketModes !== undefined)
        left.marketModes = Object.fromEntries(
          Object.entries(rules.marketModes).filter(([, mode]) => mode === 'halted'),
        );
    }
    return left as LimitRules;
  }

  private recordSent(
    { endpoint: name, certain, rules, reference }: PlannedWrite,
    { intent, open }: PlannedTerms,
  ): void {
    const action = getAction(name);
    if (answersWith(name, 'account')) this.accountRead = true;
    if (action === 'amend') this.amended = true;
    if (action === 'place' || answersWith(name, 'fill')) this.flat = false;
    if (!isRunbookWrite(name) || !certain) return;
    this.writes += 1;
    if (action !== 'place' || intent === undefined || open.has('price') || open.has('size')) return;
    if (rules.maxRunNotional === undefined) return;
    const known = reference === undefined || reference === 'open' ? intent.price : reference;
    const notional = notionalOf(intent, { reference: known, within: getBandWidth(rules, intent.market) });
    this.notional = this.notional.plus(decimal(notional?.value ?? '0'));
  }
}

/** Whether an endpoint answers with records of this kind. */
function answersWith(name: EndpointName, of: 'account' | 'fill'): boolean {
  const { answer } = getEndpoint(name);
  return answer.shape === 'list' && answer.of === of;
}

type Term = 'market' | 'side' | 'type' | 'size' | 'price' | 'leverage';
interface PlannedTerms {
  /** Undefined where there is no order. Open terms have a value that no control denies. */
  readonly intent: WriteTerms | undefined;
  readonly market: string | undefined;
  readonly open: Set<Term>;
}

function collectTerms(
  { endpoint: name, params, order }: PlannedWrite,
  rulesOf: (id: string) => MarketRules | undefined,
): PlannedTerms {
  const open = new Set<Term>();
  const known = (text: string | undefined) => (text === KNOWN_AFTER_RUN ? undefined : text);
  const need = (term: Term, text: string | undefined) => {
    const value = known(text);
    if (value === undefined) open.add(term);
    return value;
  };
  const action = getAction(name);
  if (action === 'leverage') {
    need('leverage', params['leverage']);
    return { intent: undefined, market: need('market', params['market_id']), open };
  }
  if (action !== 'place' && action !== 'amend') return { intent: undefined, market: undefined, open };
  const before = action === 'amend' ? { ...order } : params;
  const market = need('market', before['market_id']);
  const rules = market === undefined ? undefined : rulesOf(market);
  const size = need('size', before['size']);
  if (params['size'] !== undefined) need('size', params['size']);
  if (params['price'] === KNOWN_AFTER_RUN || before['price'] === KNOWN_AFTER_RUN) open.add('price');
  const trigger = known(before['trigger_price']);
  const timeInForce = known(before['time_in_force']);
  if (before['trigger_price'] === KNOWN_AFTER_RUN && params['price'] === undefined) open.add('price');
  const price = known(before['price']);
  const intent: WriteTerms = {
    market: market ?? '',
    side: (need('side', before['side']) ?? 'long') as Side,
    type: need('type', before['type']) ?? 'limit',
    size: size ?? rules?.min_size ?? rules?.lot ?? '1',
    ...(price === undefined ? {} : { price }),
    ...(trigger === undefined ? {} : { trigger }),
    ...(timeInForce === undefined ? {} : { timeInForce }),
  };
  return { intent, market, open };
}
