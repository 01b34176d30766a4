/** `runbook audit orders`: shows the orders of a run and, with `--history`, every transition of each. */
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { withRun } from '../../app/stores/review.ts';
import { formatOffset } from '../../base/format.ts';
import { foldEntries } from '../../journal/reading.ts';
import { OrderFold, type OrderHistory } from '../../report/folds/orders.ts';
import { formatText } from '../../report/format.ts';
import { ORDER_EVENT_MEANING } from '../../report/glossary.ts';
import { isFraction } from '../../venue/limits/case.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output, Style } from '../terminal/output.ts';
import { type Cell, formatStyledTable } from '../terminal/text-table.ts';
import { formatQuoteNote } from './fills.ts';

export async function showOrders({ run: name, history }: Given<'audit orders'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  return withRun(review, name, async (store, run) => {
    const orders = (await foldEntries(store, run.run, new OrderFold())).histories();
    terminal.answer({ orders }, () => {
      if (orders.length === 0) return `run ${formatText(run.run)} has no orders`;
      const money = formatQuoteNote(['price', 'average'], orders, run, terminal);
      if (!history) return [formatOrders(orders, terminal), money].join('\n\n');
      const lives = orders.map((order) =>
        [formatOrders([order], terminal), ...formatTransitions(order, run.startedAt, terminal)].join('\n'),
      );
      return [...lives, money].join('\n\n');
    });
    return EXIT.done;
  });
}

const STATE_STYLE: Readonly<Record<string, Style>> = {
  closed: 'good',
  open: 'place',
  placed: 'place',
  rejected: 'bad',
  denied: 'bad',
  unknown: 'warning',
  quarantined: 'warning',
};

function formatOrders(orders: readonly OrderHistory[], terminal: Output): string {
  const rows = orders.map((order): readonly Cell[] => {
    const { orderId, clientOrderId, market, side, type, price, size, filled, averagePrice, state } = order;
    return [
      formatText(orderId ?? ''),
      formatText(clientOrderId),
      formatText(market),
      formatText(side),
      formatText(type),
      isFraction(order.type) ? `${size} × position` : size,
      price ?? '',
      filled,
      averagePrice ?? '',
      { text: formatText(state), style: STATE_STYLE[state] ?? 'faint' },
    ];
  });
  return formatStyledTable(
    ['order', 'client order id', 'market', 'side', 'type', '#size', '#price', '#filled', '#average', 'state'],
    rows,
    terminal,
  );
}

function formatTransitions({ history }: OrderHistory, startedAt: number, terminal: Output): readonly string[] {
  const meanings: Readonly<Record<string, string>> = ORDER_EVENT_MEANING;
  return history.map(({ at, from, to, event }) => {
    const after = terminal.style('faint', formatOffset(Date.parse(at) - startedAt).padStart(12));
    return `${after}  ${formatText(from)} → ${formatText(to)}${terminal.style('faint', `: ${meanings[event] ?? formatText(event)}`)}`;
  });
}
