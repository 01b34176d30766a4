/**
 * Checks the limits before every write (docs/language.md, Limits): takes the write, the rules and the facts, gives a verdict
 * with the figures that decided it. The first check that denies wins. Cancels and calls of the deadman switch always pass. It
 * reads nothing, asks no time and keeps no counters: the caller passes the facts.
 */
import { getAction } from '../catalogue.ts';
import { type CheckedCase, getParam, type LimitFacts, type LimitWrite, proposeOrder } from './case.ts';
import { ACCOUNT_CHECKS, CHECKS, type Denied, passesCaps } from './control-checks.ts';
import { DENIALS, type DenialCode } from './denials.ts';
import { needsMarketPrice } from './price.ts';
import { lowers } from './reducing.ts';
import type { LimitRules } from './rules.ts';

export type {
  LimitFacts,
  LimitWrite,
  PositionFact,
  PriceAt,
  WorkingOrder,
  WriteTerms,
} from './case.ts';
export { AT_LEAST, MOST_OPEN_ORDERS, SELF_MATCHED } from './control-checks.ts';
export { DENIALS, type DenialCode, endsRun, LASTING_DENIALS } from './denials.ts';
export { type Measure, measurePrice, needsMarketPrice, notionalOf } from './price.ts';
export { PROVING_LIST } from './reducing.ts';
export {
  getBandWidth,
  LIMIT_CONTROLS,
  type LimitRules,
  splitLimits,
  type Throttle,
  TRADING_MODES,
  type TradingMode,
  tighter,
} from './rules.ts';

export type LimitVerdict =
  /** `considered`: control to figures, for the journal: `max_order_notional: 16066.05/25000`. */
  | { readonly ok: true; readonly considered: Readonly<Record<string, string>> }
  | {
      readonly ok: false;
      readonly code: DenialCode;
      readonly message: string;
      readonly considered: Readonly<Record<string, string>>;
    };

/** The limits of a profile that hold for the account, and its facts. */
export interface AccountLimits {
  readonly rules: LimitRules;
  readonly facts: LimitFacts;
}

/** Checks one write. Pure; the tables `CHECKS` and `ACCOUNT_CHECKS` give the order of the checks. */
export function checkLimits(
  write: LimitWrite,
  rules: LimitRules,
  facts: LimitFacts,
  account?: AccountLimits,
): LimitVerdict {
  const kind = getAction(write.endpoint);
  const considered: Record<string, string> = {};
  // Only these can raise exposure or change what it costs.
  if (kind !== 'place' && kind !== 'amend' && kind !== 'leverage') return { ok: true, considered };
  const at = makeCase(write, kind, rules, facts, considered);
  for (const check of CHECKS) {
    const denial = check(at);
    if (denial !== undefined) return { ok: false, code: denial.code, message: formatDenial(denial), considered };
  }
  if (account === undefined) return { ok: true, considered };
  const { priceBandWithin, unknownPrice } = rules;
  const measuring = {
    ...(priceBandWithin === undefined ? {} : { priceBandWithin }),
    ...(unknownPrice === undefined ? {} : { unknownPrice }),
  };
  const ofAccount: Record<string, string> = {};
  const over: CheckedCase = {
    ...at,
    order: kind === 'leverage' ? undefined : proposeOrder(write, account.facts),
    rules: { ...account.rules, ...measuring },
    facts: account.facts,
    considered: ofAccount,
  };
  let denied: Denied | undefined;
  for (const check of ACCOUNT_CHECKS) denied ??= check(over);
  // Of a control that the runbook sets too, both figures are kept.
  for (const [name, figures] of Object.entries(ofAccount))
    considered[Object.hasOwn(considered, name) ? `account ${name}` : name] = figures;
  return denied === undefined
    ? { ok: true, considered }
    : { ok: false, code: denied.code, message: formatDenial(denied), considered };
}

/**
 * The market of a write whose price should be read before the write is checked: a notional limit applies to it, and only the
 * market's price gives its notional. Undefined where nothing has to be read.
 */
export function findUnpricedMarket(write: LimitWrite, rules: LimitRules, facts: LimitFacts): string | undefined {
  // An amend is of an order that rests: the market has not reached its price, which measures it.
  if (getAction(write.endpoint) !== 'place' || write.reference !== undefined) return undefined;
  const at = makeCase(write, 'place', rules, facts);
  const { order } = at;
  if (order === undefined || order.fraction || !needsMarketPrice(order)) return undefined;
  const capped = rules.maxOrderNotional !== undefined || rules.maxRunNotional !== undefined;
  const held =
    rules.maxMarketNotional !== undefined || rules.maxExposure !== undefined || rules.maxDailyNotional !== undefined;
  return (capped && !passesCaps(at)) || (held && !lowers(at)) ? order.market : undefined;
}

/** Whether the facts prove that an order or amend only lowers the position. */
export function isProvenToReduce(write: LimitWrite, facts: LimitFacts): boolean {
  const kind = getAction(write.endpoint);
  return (kind === 'place' || kind === 'amend') && lowers(makeCase(write, kind, {}, facts));
}

function makeCase(
  write: LimitWrite,
  kind: CheckedCase['kind'],
  rules: LimitRules,
  facts: LimitFacts,
  considered: Record<string, string> = {},
): CheckedCase {
  const order = kind === 'leverage' ? undefined : proposeOrder(write, facts);
  const market = order?.market ?? getParam(write, 'market_id') ?? '';
  return { write, kind, order, market, rules, facts, considered };
}

function formatDenial({ code, figures, advice }: Denied): string {
  const named = DENIALS[code].names.flatMap((name, index) =>
    figures[index] === undefined ? [] : [`${name}=${figures[index]}`],
  );
  const parts = [...(named.length === 0 ? [] : [named.join(', ')]), ...(advice === undefined ? [] : [advice])];
  return `${code}: ${parts.length === 0 ? DENIALS[code].summary : parts.join('; ')}`;
}
