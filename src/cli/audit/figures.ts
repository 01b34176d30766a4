/** `runbook audit orders`, `fills`, `budget` and `stats`: what came of runs, in figures. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { findRun } from '../../app/stores/find-run.ts';
import { folded, noRunYet, storedEntries, withJournal, withRuns } from '../../app/stores/review.ts';
import { readEntry } from '../../journal/chain.ts';
import type { JournalReader } from '../../journal/store.ts';
import { counted } from '../../report/answers/answer.ts';
import {
  type RunFigures,
  type RunTally,
  type StatsDocument,
  StatsFold,
  TALLIED,
  TallyFold,
} from '../../report/compare/stats.ts';
import { type BudgetBucket, type BudgetDocument, BudgetFold } from '../../report/folds/budget.ts';
import { type FillsDocument, fillsOf } from '../../report/folds/fills.ts';
import { OrderFold, type OrderHistory } from '../../report/folds/orders.ts';
import { ORDER_EVENT_MEANING } from '../../report/meanings.ts';
import { isPartOfPosition, offsetText, quoteOf, shown, spanText } from '../../report/wording.ts';
import type { Review } from '../invocation.ts';
import type { Output, Style } from '../terminal/output.ts';
import { type Cell, textTable } from '../terminal/text-table.ts';
import { openTallies } from './tallies.ts';

export async function showOrders(
  name: string,
  options: { readonly history: boolean },
  review: Review,
): Promise<ExitCode> {
  const { terminal } = review;
  return withRuns(review, async (store) => {
    const run = await findRun(store, name);
    const orders = (await folded(store, run.run, new OrderFold())).histories();
    terminal.answer({ orders }, () => {
      if (orders.length === 0) return `run ${shown(run.run)} has no orders`;
      const money = moneyText(['price', 'average'], orders, terminal);
      if (!options.history) return [ordersTable(orders, terminal), money].join('\n\n');
      const lives = orders.map((order) =>
        [ordersTable([order], terminal), ...moves(order, run.startedAt, terminal)].join('\n'),
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

function ordersTable(orders: readonly OrderHistory[], terminal: Output): string {
  const rows = orders.map((order): readonly Cell[] => {
    const { orderId, clientOrderId, market, side, type, price, size, filled, averagePrice, state } = order;
    return [
      shown(orderId ?? ''),
      shown(clientOrderId),
      shown(market),
      shown(side),
      shown(type),
      isPartOfPosition(order) ? `${size} × position` : size,
      price ?? '',
      filled,
      averagePrice ?? '',
      { text: shown(state), style: STATE_STYLE[state] ?? 'faint' },
    ];
  });
  return textTable(
    ['order', 'client order id', 'market', 'side', 'type', '#size', '#price', '#filled', '#average', 'state'],
    rows,
    terminal,
  );
}

function moves({ history }: OrderHistory, startedAt: number, terminal: Output): readonly string[] {
  const meanings: Readonly<Record<string, string>> = ORDER_EVENT_MEANING;
  return history.map(({ at, from, to, event }) => {
    const after = terminal.style('faint', offsetText(Date.parse(at) - startedAt).padStart(12));
    return `${after}  ${shown(from)} → ${shown(to)}${terminal.style('faint', `: ${meanings[event] ?? shown(event)}`)}`;
  });
}

export async function showFills(name: string, review: Review): Promise<ExitCode> {
  const { terminal } = review;
  return withRuns(review, async (store) => {
    const run = await findRun(store, name);
    const document = fillsOf((await folded(store, run.run, new OrderFold())).orders());
    terminal.answer(document, () =>
      document.fills.length === 0 ? `nothing traded in run ${shown(run.run)}` : fillsText(document, terminal),
    );
    return EXIT.done;
  });
}

function fillsText({ fills, totals, net }: FillsDocument, terminal: Output): string {
  const rows = fills.map((fill): readonly Cell[] => [
    fill.at,
    shown(fill.orderId),
    shown(fill.market),
    shown(fill.side),
    fill.size,
    fill.price,
    fill.value,
    fill.fee,
    `${fill.maker ? 'maker' : 'taker'}${fill.liquidation ? ', liquidation' : ''}`,
  ]);
  const sums = totals.map((total): readonly Cell[] => [
    shown(total.market),
    shown(total.side),
    String(total.fills),
    total.size,
    total.averagePrice,
    total.value,
    total.fee,
    net[total.market] ?? '',
  ]);
  return [
    textTable(['at', 'order', 'market', 'side', '#size', '#price', '#value', '#fee', 'as'], rows, terminal),
    textTable(
      ['market', 'side', '#fills', '#size', '#average price', '#value', '#fees', '#net position change'],
      sums,
      terminal,
    ),
    moneyText(['price', 'value', 'fee'], fills, terminal),
  ].join('\n\n');
}

/** The tables name markets, not currencies. */
function moneyText(columns: readonly string[], rows: readonly { readonly market: string }[], terminal: Output): string {
  const quotes = [...new Set(rows.map(({ market }) => quoteOf(market).trim()))];
  const named = `${columns.slice(0, -1).join(', ')} and ${columns.at(-1)}`;
  const unit = quotes.length === 1 && quotes[0] !== '' ? quotes[0] : "each market's quote currency";
  return terminal.style('faint', `${named} in ${unit}`);
}

export async function showBudget(name: string, review: Review): Promise<ExitCode> {
  const { terminal } = review;
  return withRuns(review, async (store) => {
    const run = await findRun(store, name);
    const document = (await folded(store, run.run, new BudgetFold())).document();
    terminal.answer(document, () => budgetText(document, run.startedAt, terminal));
    return EXIT.done;
  });
}

const BAR_WIDTH = 40;

function budgetText(document: BudgetDocument, startedAt: number, terminal: Output): string {
  const {
    used,
    peak,
    limit,
    windowMs,
    requests,
    waits,
    limited,
    refused,
    leastRemaining,
    endpoints,
    bucketMs,
    buckets,
  } = document;
  if (requests === 0) return 'nothing was sent';
  const window = spanText(windowMs);
  const top = Math.max(limit ?? 0, peak);
  const lines = [
    `${terminal.style('strong', `${used} tokens`)} in ${counted(requests, 'request')}; at most ${peak} within ${window}${limit === undefined ? '' : `, of ${limit}`}`,
    ...(leastRemaining === undefined ? [] : [`the venue said at the least that ${leastRemaining} were left`]),
    ...(waits.count === 0
      ? []
      : [
          `${counted(waits.count, 'request')} waited for tokens, ${spanText(waits.totalMs)} in all, ${spanText(waits.longestMs)} at most`,
        ]),
    ...(limited === 0
      ? []
      : [terminal.style('warning', `${limited} times the venue refused a request for its rate limit`)]),
    ...(refused === 0
      ? []
      : [terminal.style('warning', `${refused} calls were not sent because tokens would have come too late`)]),
    '',
    terminal.style(
      'faint',
      `tokens within ${window}, at their highest in each ${spanText(bucketMs)}; a full bar is ${top}`,
    ),
    ...chart(buckets, { startedAt, bucketMs, top, limit }, terminal),
    '',
    textTable(
      ['endpoint', '#requests', '#tokens'],
      endpoints.map((each): readonly Cell[] => [shown(each.endpoint), String(each.requests), String(each.tokens)]),
      terminal,
    ),
  ];
  return lines.join('\n');
}

interface ChartScale {
  readonly startedAt: number;
  readonly bucketMs: number;
  readonly top: number;
  readonly limit: number | undefined;
}

function chart(
  buckets: readonly BudgetBucket[],
  { startedAt, bucketMs, top, limit }: ChartScale,
  terminal: Output,
): readonly string[] {
  const lines: string[] = [];
  let expected: number | undefined;
  for (const bucket of buckets) {
    const at = Date.parse(bucket.at);
    if (expected !== undefined && at > expected)
      lines.push(terminal.style('faint', `${''.padStart(12)}  nothing for ${spanText(at - expected)}`));
    expected = at + bucketMs;
    const share = bucket.peak / top;
    const style: Style = limit !== undefined && bucket.peak > limit * 0.8 ? 'warning' : 'good';
    const bar = `${'█'.repeat(Math.floor(share * BAR_WIDTH))}${PARTS[Math.floor(((share * BAR_WIDTH) % 1) * 8)] ?? ''}`;
    const left = bucket.remaining === undefined ? '' : `, ${bucket.remaining} left`;
    const after = terminal.style(
      'faint',
      offsetText(at - startedAt)
        .replace(/\.000$/, '')
        .padStart(12),
    );
    lines.push(
      `${after}  ${terminal.style(style, bar.padEnd(BAR_WIDTH))}  ${bucket.peak}${terminal.style('faint', ` (${counted(bucket.requests, 'request')}${left})`)}`,
    );
  }
  return lines;
}
const PARTS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

export async function showStats(options: { readonly runbook: string | undefined }, review: Review): Promise<ExitCode> {
  const { terminal } = review;
  const document = await withJournal(review, async (store) => {
    const rows = await store.runs(options.runbook === undefined ? {} : { runbook: options.runbook });
    const fold = new StatsFold();
    const known = await openTallies(review.state);
    try {
      for (const row of rows) {
        const tally = known.get(row) ?? (await tallyOf(store, row.run, terminal));
        known.keep(row, tally);
        fold.add(row, tally);
      }
      known.flush();
    } finally {
      known.close();
    }
    return fold.document();
  });
  terminal.answer(document ?? new StatsFold().document(), () =>
    document === undefined || document.total.runs === 0 ? noRunYet(review.state) : statsText(document, terminal),
  );
  return EXIT.done;
}

async function tallyOf(store: JournalReader, run: string, terminal: Output): Promise<RunTally> {
  terminal.progress(`reading ${run}`);
  const fold = new TallyFold();
  for await (const stored of storedEntries(store, run)) if (TALLIED.has(stored.type)) fold.apply(readEntry(stored));
  return fold.tally();
}

function statsText({ total, byRunbook, byDay, denials }: StatsDocument, terminal: Output): string {
  const columns = [
    '#runs',
    '#succeeded',
    '#stopped',
    '#failed',
    '#halted',
    '#no end',
    '#orders',
    '#denials',
    '#rejections',
    '#ambiguous',
    '#alarms',
    '#requests',
    '#tokens',
  ];
  const sections = [
    textTable(
      ['runbook', ...columns],
      [...byRunbook.map((each) => [shown(each.runbook), ...figures(each)]), ['all', ...figures(total)]],
      terminal,
    ),
    textTable(
      ['day', ...columns],
      byDay.map((each) => [each.day, ...figures(each)]),
      terminal,
    ),
    textTable(
      ['refused here because of', '#times'],
      denials.map(({ code, count }): readonly Cell[] => [shown(code), String(count)]),
      terminal,
    ),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function figures({
  runs,
  outcomes,
  orders,
  denials,
  rejections,
  ambiguous,
  alarms,
  requests,
  tokens,
}: RunFigures): readonly Cell[] {
  const { succeeded, stopped, failed, halted, unfinished } = outcomes;
  const alarming = (count: number, style: Style): Cell => (count === 0 ? '0' : { text: String(count), style });
  return [
    String(runs),
    String(succeeded),
    String(stopped),
    alarming(failed, 'bad'),
    alarming(halted, 'warning'),
    alarming(unfinished, 'warning'),
    String(orders),
    alarming(denials, 'warning'),
    alarming(rejections, 'warning'),
    alarming(ambiguous, 'warning'),
    alarming(alarms, 'bad'),
    String(requests),
    String(tokens),
  ];
}
