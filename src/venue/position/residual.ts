/**
 * Decides what a run leaves of what it opened: by market and side, the size that its fills opened, the part that its working
 * stops cover, and what may still come. The engine holds a run to `leaves` by it, and the report, the page and the messages
 * show the same figures (docs/language.md, What a run leaves). Pure: it knows orders and their fills, and sends nothing.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import { formatFirst } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { isPositionStop, type OrderSnapshot } from '../order/context.ts';
import { computeShortfall } from '../order/fills.ts';
import { isFilledUnseen } from '../order/guards.ts';
import { getExposure } from '../order/life.ts';
import { isAtVenue, isInDoubt, isResting, isWorking } from '../order/states.ts';
import type { OrderTerms } from '../port.ts';
import { SIDES, type Side } from '../records.ts';
import { type Beside, computeOpened, NOTHING_BESIDE, type OwnOrder, onSide } from './opened.ts';

/** What a run may leave, as a runbook declares it: no position, one that its working stops cover, or any. */
export type LeftPosition = 'none' | 'protected' | 'open';

/** When it is asked. */
export interface ResidualQuestion {
  /**
   * `steps`: the steps are done, and clean-up may still cancel, so working orders do not count. `end`: nothing follows, so a
   * working order that can open counts as filled in full.
   */
  readonly when: 'steps' | 'end';
  /** A deadman switch stays armed after the run: it will cancel what works, so no order opens any more and no stop covers. */
  readonly staysArmed: boolean;
  /** The kill switch ended the run: the kill cancels every order of the account, so no stop covers. */
  readonly killed?: boolean;
  /** The price of a market at that time; undefined where it is not known. Of stops whose records hide that they have triggered. */
  readonly getPrice?: (market: string) => Decimal | undefined;
}

/** What a deadman switch that stays armed will cancel of a run, unless something renews it. */
export interface SwitchCancels {
  /** When, epoch ms on the run's clock. */
  readonly at: number;
  readonly orders: readonly (Pick<OrderTerms, 'clientOrderId' | 'market' | 'side' | 'type'> & {
    readonly orderId?: string;
  })[];
}

/**
 * Why a stop of the run that works covers nothing, or another order is named beside them: a take-profit (`no_position`), one of unknown
 * fate that closes (`in_doubt`), or a stop or target that ended unasked, as with a position that others close (`ended_by_others`).
 */
export type IdleReason = 'gapped' | 'under_switch' | 'under_kill' | 'no_position' | 'in_doubt' | 'ended_by_others';

export interface IdleStop {
  readonly clientOrderId: string;
  readonly orderId?: string;
  readonly why: IdleReason;
}

/** What is left on one side of a market. Sizes in base currency, unsigned. */
export interface LeftSide {
  readonly market: string;
  readonly side: Side;
  /** What was opened, with what may still fill; `0` where only a stop or a take-profit is left without a position. */
  readonly size: DecimalString;
  /** The part of it that is certainly filled. */
  readonly opened: DecimalString;
  /** The part of it that working stops of the run cover. */
  readonly covered: DecimalString;
  /** Working stops that cover nothing; where there is no position, take-profits too; orders of unknown fate that may have closed it. */
  readonly idle?: readonly IdleStop[];
}

/**
 * What a run leaves, by market and side; empty where it leaves nothing. `listBeside`: of a called runbook, what the run's other orders
 * traded in a market beside these.
 */
export function findLeft(
  orders: readonly OwnOrder[],
  question: ResidualQuestion,
  listBeside: (market: string, orders: readonly OwnOrder[]) => Beside = () => NOTHING_BESIDE,
): readonly LeftSide[] {
  const markets = [...new Set(orders.map(({ intent }) => intent.market))];
  return markets.flatMap((market) => {
    const here = orders.filter(({ intent }) => intent.market === market);
    const beside = listBeside(market, here);
    const opened = computeOpened(here, [], beside);
    const mayFill = here
      .map((order) => ({ order, size: computePending(order, question) }))
      .filter(({ size }) => !size.isZero());
    return SIDES.flatMap((side) => {
      // The other side's orders may not fill: each side is judged at its own worst.
      const pending = mayFill.filter(({ order }) => order.intent.side === side);
      const worst = onSide(pending.length === 0 ? opened : computeOpened(here, pending, beside), side);
      const stops = here.filter((order) => isWorkingStop(order) && order.intent.side !== side);
      // A target covers nothing anyway; without a position it closes what a later run opens, as a stop does.
      const targets = worst.isZero()
        ? here.filter((order) => isWorkingTarget(order) && order.intent.side !== side)
        : [];
      const doubted = here.flatMap((order) => {
        const why = worst.isZero() || order.intent.side === side ? undefined : findDoubt(order);
        return why === undefined ? [] : [nameIdle(order, why)];
      });
      const idle = [...[...stops, ...targets].flatMap((order) => toIdle(order, question, worst)), ...doubted];
      if (worst.isZero() && idle.length === 0) return [];
      const covering = stops.filter((order) => findIdleReason(order, question, worst) === undefined);
      const covered = sumCovered(covering, worst);
      return [
        {
          market,
          side,
          size: formatDecimal(worst),
          opened: formatDecimal(onSide(opened, side)),
          covered: formatDecimal(Decimal.min(covered, worst)),
          ...(idle.length === 0 ? {} : { idle }),
        },
      ];
    });
  });
}

/** The sides on which more is left than the declaration allows. */
export function findBeyond(left: readonly LeftSide[], allowed: LeftPosition): readonly LeftSide[] {
  if (allowed === 'open') return [];
  return left.filter(({ size, covered }) =>
    allowed === 'none' ? !decimal(size).isZero() : decimal(covered).lt(decimal(size)),
  );
}

/** Whether an order covers what the run has opened: it is a working stop, and without it less would be covered. */
export function isCovering(order: OwnOrder, orders: readonly OwnOrder[]): boolean {
  if (!isWorkingStop(order)) return false;
  const question = { when: 'steps', staysArmed: false } as const;
  const sum = (all: readonly OwnOrder[]) =>
    findLeft(all, question)
      .filter(({ market, side }) => market === order.intent.market && side !== order.intent.side)
      .reduce((covered, each) => covered.plus(decimal(each.covered)), ZERO);
  return sum(orders).gt(sum(orders.filter((each) => each.intent.clientOrderId !== order.intent.clientOrderId)));
}

/** Whether all that works or may work at the venue are stops of the run, and targets beside them, which cannot open anything. */
export function onlyProtects(orders: readonly OwnOrder[]): boolean {
  const working = orders.filter(({ snapshot }) => isWorking(snapshot.state));
  return (
    working.some(({ intent }) => isStop(intent.type)) &&
    working.every(({ intent }) => isStop(intent.type) || isPositionStop(intent)) &&
    findLeft(orders, { when: 'end', staysArmed: false }).every(({ size, opened }) => size === opened)
  );
}

/** One side in words, with what would close it: `long 0.25 BTC-USD, of which working stops of this run cover 0.1; …`. */
export function describeLeft({ market, side, size, opened, covered, idle = [] }: LeftSide): string {
  const name = makePrintable(market, 60);
  const stops = idle.map(
    ({ clientOrderId, orderId, why }) =>
      `${NOT_STOPS.has(why) ? 'order' : 'stop'} ${orderId ?? clientOrderId} ${IDLE_WORDS[why]}`,
  );
  if (decimal(size).isZero()) return [`no position in ${name}`, ...stops].join('; ');
  const pending = size === opened ? '' : ` (${describePending({ size, opened })})`;
  const cover = decimal(covered).isZero()
    ? 'which no working stop of this run covers'
    : `of which working stops of this run cover ${covered}`;
  const other: Side = side === 'long' ? 'short' : 'long';
  const may = [...new Set(idle.flatMap(({ why }) => (why in MAY_HAVE ? [MAY_HAVE[why as Doubt]] : [])))];
  const unless = may.length === 0 ? '' : ` unless ${may.join(' or ')} has`;
  return [`${side} ${size} ${name}${pending}, ${cover}`, ...stops, `${other} ${size} ${name} closes it${unless}`].join(
    '; ',
  );
}

/** How much of one side is filled, where orders may still fill: `0 filled, 0.25 may still fill`. */
export function describePending({ size, opened }: Pick<LeftSide, 'size' | 'opened'>): string {
  return size === opened ? '' : `${opened} filled, ${computeShortfall(size, opened)} may still fill`;
}

/** The orders that an armed switch will cancel: `stop_loss short BTC-USD (BTC-USD@1002)`. */
export function describeCancels({ orders }: SwitchCancels): string {
  const named = orders.map(
    ({ clientOrderId, orderId, type, side, market }) =>
      `${type} ${side} ${makePrintable(market, 60)} (${orderId ?? clientOrderId})`,
  );
  return `of this run ${formatFirst(named, 10)}`;
}

/** Why a run did not keep to its declaration, in one sentence. */
export function describeBeyond(allowed: LeftPosition, beyond: readonly LeftSide[]): string {
  const may = allowed === 'none' ? 'leaves no position' : 'leaves only what its working stops cover';
  return `the run says that it ${may}, and it leaves ${beyond.map(describeLeft).join(', and ')}`;
}

const IDLE_WORDS = {
  gapped: 'has triggered and rests unfilled, because the market is beyond its limit: it covers nothing',
  under_switch: 'covers nothing, because the deadman switch stays armed and cancels it',
  under_kill: 'covers nothing, because the kill cancels every order of the account',
  no_position: 'works without a position of this run',
  in_doubt: 'may have closed it: its outcome is not known',
  ended_by_others: 'ended without a request of this program, as it does where others close the position',
} as const satisfies Record<IdleReason, string>;

/** Reasons that name an order of any kind. */
const NOT_STOPS: ReadonlySet<IdleReason> = new Set(['no_position', 'in_doubt', 'ended_by_others']);

/** What may have closed a position that the run still counts: closed by hand beside it, it would be the opposite one. */
const MAY_HAVE = { in_doubt: 'that order', ended_by_others: 'somebody else' } as const;
type Doubt = keyof typeof MAY_HAVE;

const ZERO = new Decimal(0);

/** What an order may have filled unseen, or may still fill, beside what is known to be filled. */
function computePending({ intent, snapshot }: OwnOrder, { when, staysArmed }: ResidualQuestion): Decimal {
  if (isPositionStop(intent)) return ZERO;
  const { state, context } = snapshot;
  const { filled, worstRemaining } = getExposure(snapshot);
  if (isFilledUnseen(snapshot)) return decimal(computeShortfall(context.authorised ?? context.size, filled));
  // An order of unknown fate may be filled already: no switch takes that back.
  if (isWorking(state) && isInDoubt(state)) return decimal(worstRemaining);
  return when === 'end' && !staysArmed && isAtVenue(state) ? decimal(worstRemaining) : ZERO;
}

/** Whether an order of this type stops a loss. */
export function isStop(type: OrderTerms['type']): boolean {
  return type === 'stop_loss' || type === 'stop_market' || type === 'stop_limit';
}

function isWorkingStop({ intent, snapshot }: OwnOrder): boolean {
  return isStop(intent.type) && isResting(snapshot.state);
}

function isWorkingTarget({ intent, snapshot }: OwnOrder): boolean {
  return intent.type === 'take_profit' && isResting(snapshot.state);
}

function findIdleReason(
  order: OwnOrder,
  { staysArmed, killed, getPrice }: ResidualQuestion,
  held: Decimal,
): IdleReason | undefined {
  if (isStop(order.intent.type) && hasGapped(order)) return 'gapped';
  // One that opens when there is nothing to close is judged as an order of its own side.
  if (held.isZero()) return isPositionStop(order.intent) ? 'no_position' : undefined;
  if (isBeyondLimit(order, getPrice)) return 'gapped';
  if (killed === true) return 'under_kill';
  return staysArmed ? 'under_switch' : undefined;
}

function toIdle(order: OwnOrder, question: ResidualQuestion, held: Decimal): readonly IdleStop[] {
  const why = findIdleReason(order, question, held);
  return why === undefined ? [] : [nameIdle(order, why)];
}

function nameIdle({ intent: { clientOrderId }, snapshot }: OwnOrder, why: IdleReason): IdleStop {
  const { venueId } = snapshot.context;
  return { clientOrderId, ...(venueId === undefined ? {} : { orderId: venueId }), why };
}

/** Why an order that closes leaves it in doubt whether the position is still there. */
function findDoubt(order: OwnOrder): Doubt | undefined {
  const { intent, snapshot } = order;
  const { state } = snapshot;
  if (isEndedByOthers(order)) return 'ended_by_others';
  const isExit = !isStop(intent.type) && !isPositionStop(intent);
  return isExit && isWorking(state) && isInDoubt(state) ? 'in_doubt' : undefined;
}

/** Whether it is a stop or a target that was cancelled without a request of this program: a venue ends them with their position. */
export function isEndedByOthers({ intent, snapshot: { state, context } }: OwnOrder): boolean {
  if (!isStop(intent.type) && !isPositionStop(intent)) return false;
  return state === 'canceled' && (context.cancel?.cause ?? 'external') === 'external';
}

/** Whether a stop has triggered and rests: had the market stayed within its limit, it would have been filled. */
function hasGapped({ intent, snapshot: { context } }: OwnOrder): boolean {
  if (intent.type === 'stop_market') return false;
  return context.triggered === true || !decimal(getFilledSoFar(context)).isZero();
}

/**
 * Whether the records of a stop may look the same before and after it has triggered: one of a size shows that size all the time, and one
 * of a fraction may, against what the profile says of its venue. Then only the market shows whether it still waits.
 */
export function hidesTrigger(order: OwnOrder): boolean {
  const { intent, snapshot } = order;
  if (!isWorkingStop(order) || intent.type === 'stop_market' || hasGapped(order)) return false;
  return snapshot.context.lastRecord?.status !== 'placed';
}

/** Whether the market is beyond the limit of a stop whose records hide that it has triggered: at that price it rests unfilled. */
function isBeyondLimit(order: OwnOrder, getPrice: ResidualQuestion['getPrice'] = () => undefined): boolean {
  const { intent, snapshot } = order;
  const limit = snapshot.context.price ?? intent.price;
  const price = getPrice(intent.market);
  if (!hidesTrigger(order) || limit === undefined || price === undefined) return false;
  return intent.side === 'short' ? price.lt(decimal(limit)) : price.gt(decimal(limit));
}

function getFilledSoFar({ filled, recordFilled }: OrderSnapshot['context']): DecimalString {
  return decimal(filled).isZero() ? recordFilled : filled;
}

/**
 * The part of a position that working stops cover together. A fraction may be one of what is held when its stop triggers, of which the
 * others have closed their parts by then: two halves cover three quarters.
 */
function sumCovered(stops: readonly OwnOrder[], held: Decimal): Decimal {
  let sized = ZERO;
  let left: Decimal = new Decimal(1);
  for (const { intent, snapshot } of stops) {
    const { authorised, remaining } = snapshot.context;
    const fraction = decimal(intent.size);
    if (intent.type !== 'stop_loss') sized = sized.plus(decimal(remaining));
    else if (authorised === undefined) left = left.times(new Decimal(1).minus(fraction));
    // A size that the venue reports may have been fixed when less was held; the repeated fraction never lowers the share.
    else sized = sized.plus(Decimal.min(held.times(fraction), decimal(remaining)));
  }
  const rest = Decimal.max(ZERO, held.minus(sized));
  return sized.plus(rest.times(new Decimal(1).minus(left)));
}
