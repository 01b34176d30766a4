/** Answers what became of a run's orders: their states, what they traded, and which of them to look at first. */

import { formatCount } from '../../base/format.ts';
import { getReview } from '../../venue/order/states.ts';
import type { OrderLife } from '../folds/order-lives.ts';
import { getOrderState } from '../folds/orders.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { formatMoney, formatQuoteCurrency, formatText } from '../format.ts';
import { isSilent } from '../liveness.ts';
import type { Answer, Reason } from './answer.ts';

export function answerOrders(run: RunPageDocument, now: number | undefined): Answer {
  const { orders: lives, fills, money, unaccounted } = run;
  const states = new Map<string, number>();
  for (const { state } of lives) states.set(state, (states.get(state) ?? 0) + 1);
  const isUnsure = isSilent(run, now) && lives.some(({ isOver }) => !isOver);
  return {
    subject: 'orders',
    question: 'What became of its orders?',
    tone:
      unaccounted.unclearOrders.length > 0
        ? 'bad'
        : isUnsure || lives.some((life) => rankOrder(life) === ODD)
          ? 'doubt'
          : lives.length === 0
            ? 'soft'
            : 'good',
    said:
      lives.length === 0
        ? 'It placed no orders'
        : `${formatCount(lives.length, 'order')}: ${formatStates(states, lives.length)}${isUnsure ? ', as last seen' : ''}`,
    because: [
      ...lives
        .filter((life) => rankOrder(life) >= ODD)
        .slice(0, MOST_ODD)
        .map(formatOddReason),
      ...fills.totals.map(({ side, size, market, averagePrice, fee, fills: count }) => ({
        term: side === 'long' ? 'bought' : 'sold',
        text: `${size} ${formatText(market)} at ${averagePrice}${formatQuoteCurrency(market)}, fee ${fee}${formatQuoteCurrency(market)}, in ${formatCount(count, 'fill')}`,
      })),
      ...Object.entries(fills.net).map(([market, size]) => ({
        term: 'position changed by',
        text: `${size} ${formatText(market)}`,
      })),
      ...Object.entries(money).flatMap(([market, figures]) => describeMoney(market, figures)),
    ],
    orders: lives
      .toSorted((a, b) => rankOrder(b) - rankOrder(a) || b.createdAt - a.createdAt)
      .slice(0, MOST_FIRST)
      .map(({ clientOrderId }) => clientOrderId),
  };
}

/** What the run has gained in a market, where it traded. */
function describeMoney(
  market: string,
  { net, realized, unrealized, fees, maxExposure }: RunPageDocument['money'][string],
): readonly Reason[] {
  if (maxExposure === '0') return [];
  const parts = [
    `realized ${formatMoney(realized)}`,
    ...(unrealized === undefined ? [] : [`unrealized ${formatMoney(unrealized)}`]),
    `fees ${formatMoney(fees)}`,
  ];
  return [
    {
      term: 'net',
      text: `${formatMoney(net)}${formatQuoteCurrency(market)} in ${formatText(market)}: ${parts.join(', ')}`,
    },
  ];
}

/** `2 open, 1 closed`; a state that all orders share has no number: `all closed`. */
function formatStates(states: ReadonlyMap<string, number>, count: number): string {
  if (states.size === 1) return `${count === 1 ? '' : 'all '}${[...states.keys()].join()}`;
  return [...states].map(([state, each]) => `${each} ${state}`).join(', ');
}

const UNCLEAR = 3;
const ODD = 2;

/** Orders that are listed one by one. */
const MOST_ODD = 3;
const MOST_FIRST = 4;

function formatOddReason(order: OrderLife): Reason {
  const { state, orderId, clientOrderId, stateMeaning, moves, alarms, seq } = order;
  const meaning = stateMeaning === undefined ? '' : `, ${stateMeaning}`;
  const alarmed = alarms.length === 0 ? '' : `; ${formatCount(alarms.length, 'alarm')}`;
  return {
    term: state,
    text: `${formatText(orderId ?? clientOrderId)}${meaning}${alarmed}`,
    tone: rankOrder(order) === UNCLEAR ? 'bad' : 'doubt',
    entry: alarms.at(-1)?.seq ?? moves.at(-1)?.seq ?? seq,
  };
}

/** How urgently an order needs a look; a higher rank is more urgent. */
function rankOrder(life: OrderLife): number {
  const { isOver, alarms } = life;
  const review = getReview(getOrderState(life));
  if (review === 'unclear') return UNCLEAR;
  if (review === 'odd' || alarms.length > 0) return ODD;
  return isOver ? 0 : 1;
}
