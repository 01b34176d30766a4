/**
 * Prints a run on one screen, at its end: outcome, position and money, alarms and notices, orders, steps, requests and tokens.
 * Numbers are rounded for reading; `--json` has them exactly. `audit show` prints the whole timeline.
 */
import { decimal } from '../base/decimal.ts';
import { formatCount, formatOffset, formatSpan, formatTable } from '../base/format.ts';
import { makePrintable } from '../base/printable.ts';
import { ORDER_ALARMS } from '../venue/order/context.ts';
import { isWorking } from '../venue/order/states.ts';
import { getOrderState } from './folds/orders.ts';
import type { RunReport } from './folds/run.ts';
import { formatAmount, formatMoney, formatPairs, formatPrice, formatStepName } from './format.ts';
import { findMeaning } from './glossary.ts';

type SummaryRole = 'strong' | 'faint' | 'good' | 'bad' | 'warning';
type Paint = (role: SummaryRole, text: string) => string;

/** Above this number, requests are counted by endpoint instead of listed. */
const MOST_REQUESTS = 40;
const MOST_STEPS = 40;
const MOST_ORDERS = 40;
const MOST_NOTICES = 20;

/** What the run came to is first; what it sent, which a reader wants least often, is last. */
export function printSummary(report: RunReport, paint: Paint = (_role, text) => text): string {
  const sections = [
    printHeading(report, paint),
    printMoney(report, paint),
    printLeft(report, paint),
    printNotices(report, paint),
    printOutputs(report, paint),
    printOrders(report, paint),
    printSteps(report, paint),
    printRequests(report, paint),
    printFooter(report, paint),
  ];
  return sections.filter((each) => each !== '').join('\n\n');
}

const OUTCOME_ROLE = { succeeded: 'good', stopped: 'warning', failed: 'bad', halted: 'bad' } as const;

function printHeading(report: RunReport, paint: Paint): string {
  const outcome = paint(OUTCOME_ROLE[report.outcome], report.outcome);
  const reason = report.reason === undefined ? '' : `: ${makePrintable(report.reason, 400)}`;
  const lines = [
    `${paint('strong', report.runbook)}  ${outcome}${reason}`,
    paint('faint', `run ${report.run}  ${report.mode}  ${report.startedAt} to ${report.endedAt}`),
  ];
  const inputs = makePrintable(formatPairs(report.inputs), 400);
  if (inputs !== '') lines.push(paint('faint', `inputs ${inputs}`));
  if (report.error !== undefined) {
    const step =
      report.error.step === undefined || report.error.step === '' ? '' : ` in ${makePrintable(report.error.step, 200)}`;
    lines.push(paint('bad', `error ${report.error.kind}${step}`));
  }
  return lines.join('\n');
}

function printSteps(report: RunReport, paint: Paint): string {
  if (report.steps.length === 0) return '';
  const start = Date.parse(report.startedAt);
  const rows = report.steps.map((step) => formatStep(step, start, paint));
  return printSection('steps', foldRows(rows, chooseSteps(report), 'step', paint), paint, [0]);
}

/** The rows with these indices, and between them how many are left out. */
function foldRows(
  rows: readonly (readonly string[])[],
  shown: readonly number[],
  what: string,
  paint: Paint,
): readonly (readonly string[])[] {
  return shown.flatMap((index, place) => {
    const folded = index - (shown[place - 1] ?? -1) - 1;
    const gap = folded > 0 ? [['', paint('faint', `… ${formatCount(folded, what)}`)]] : [];
    return [...gap, rows[index] ?? []];
  });
}

function formatStep(step: RunReport['steps'][number], start: number, paint: Paint): readonly string[] {
  const attempts = step.attempts > 1 ? formatCount(step.attempts, 'attempt') : '';
  return [
    formatOffset(Date.parse(step.startedAt) - start),
    step.verb,
    makePrintable(step.path, 120),
    paint(STEP_ROLE[step.outcome], step.outcome),
    attempts,
  ];
}

const STEP_ROLE = { succeeded: 'good', skipped: 'faint', left: 'faint', failed: 'bad', halted: 'bad' } as const;

/**
 * The steps that are shown, by index: all of a short run; of a long one its end, what is around the failure, other failures with
 * their neighbours, and its beginning, as many as there is room for.
 */
export function chooseSteps({ steps, error }: Pick<RunReport, 'steps' | 'error'>): readonly number[] {
  const all = steps.map((_step, index) => index);
  if (steps.length <= MOST_STEPS) return all;
  const chosen = new Set(all.slice(-8));
  const add = (from: number, to: number) => {
    for (let index = from; index <= to; index += 1)
      if (index >= 0 && index < steps.length && chosen.size < MOST_STEPS) chosen.add(index);
  };
  const failure = steps.findLastIndex(({ path }) => path === error?.step);
  if (failure >= 0) add(failure - 8, failure + 4);
  add(0, 3);
  for (const index of all) if (isFailure(steps[index])) add(index - 1, index + 1);
  add(0, steps.length);
  return [...chosen].sort((a, b) => a - b);
}

function isFailure(step: RunReport['steps'][number] | undefined): boolean {
  return step?.outcome === 'failed' || step?.outcome === 'halted';
}

function printRequests(report: RunReport, paint: Paint): string {
  if (report.requests.length === 0) return '';
  const start = Date.parse(report.startedAt);
  if (report.requests.length > MOST_REQUESTS) return printSection('requests', countRequests(report), paint, [0, 3]);
  const rows = report.requests.map((request) => [
    formatOffset(Date.parse(request.at) - start),
    `${request.method} ${request.path}`,
    paint(request.success ? 'good' : 'bad', request.status === null ? 'no answer' : String(request.status)),
    `${request.tokens}`,
    paint('faint', makePrintable(formatParams(request.params), 160)),
  ]);
  return printSection('requests', rows, paint, [0, 3]);
}

function countRequests(report: RunReport): string[][] {
  const counts = new Map<string, { count: number; failed: number; tokens: number }>();
  for (const { method, path, success, tokens } of report.requests) {
    const key = `${method} ${path}`;
    const before = counts.get(key) ?? { count: 0, failed: 0, tokens: 0 };
    counts.set(key, {
      count: before.count + 1,
      failed: before.failed + (success ? 0 : 1),
      tokens: before.tokens + tokens,
    });
  }
  return [...counts].map(([name, { count, failed, tokens }]) => [
    `${count}x`,
    name,
    failed === 0 ? '' : `${failed} not confirmed`,
    formatCount(tokens, 'token'),
  ]);
}

function printOrders(report: RunReport, paint: Paint): string {
  if (report.orders.length === 0) return '';
  const start = Date.parse(report.startedAt);
  const rows = report.orders.map((order) => {
    const prices = listPrices(report, order.market);
    const { price, trigger, averagePrice, filled } = order;
    return [
      formatOffset(Date.parse(order.at) - start),
      makePrintable(formatStepName(order.step, undefined), 60),
      makePrintable(order.orderId ?? order.clientOrderId, 60),
      `${order.type} ${order.side}`,
      formatAmount(order),
      price === undefined ? '' : `at ${price}`,
      trigger === undefined ? '' : `trigger ${trigger}`,
      averagePrice === undefined ? `filled ${filled}` : `filled ${filled} at ${formatPrice(averagePrice, prices)}`,
      order.state,
    ];
  });
  return printSection('orders', dropEmptyColumns(foldRows(rows, chooseOrders(report), 'order', paint)), paint, [0]);
}

/** The orders that are shown, by index: of many the last, what has traded or works, the first, and others as there is room for. */
function chooseOrders({ orders }: Pick<RunReport, 'orders'>): readonly number[] {
  const newest = orders.map((_order, index) => index).reverse();
  const telling = newest.filter((index) => {
    const order = orders[index] as RunReport['orders'][number];
    return order.filled !== '0' || isWorking(getOrderState(order));
  });
  return [...new Set([...newest.slice(0, 8), ...telling, 0, ...newest])].slice(0, MOST_ORDERS).sort((a, b) => a - b);
}

function dropEmptyColumns(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const used = (column: number) => rows.some((row) => (row[column] ?? '') !== '');
  return rows.map((row) => row.filter((_cell, column) => used(column)));
}

/** Prices of orders in a market. */
function listPrices({ orders }: RunReport, market: string): readonly string[] {
  return orders.flatMap((order) => (order.market === market ? [order.price ?? [], order.trigger ?? []].flat() : []));
}

function printMoney(report: RunReport, paint: Paint): string {
  const rows = Object.entries(report.money)
    .filter(([, { maxExposure }]) => maxExposure !== '0')
    .flatMap(([market, figures]) => {
      const { position, averageEntry, realized, unrealized, fees, net, slippage } = figures;
      const entry = averageEntry === undefined ? '' : ` at ${formatPrice(averageEntry, listPrices(report, market))}`;
      const gained = decimal(net).isNegative() ? 'bad' : 'good';
      return [
        [
          makePrintable(market, 60),
          `position ${position}${entry}`,
          paint(gained, `net ${formatMoney(net)}`),
          `realized ${formatMoney(realized)}`,
          unrealized === undefined ? '' : `unrealized ${formatMoney(unrealized)}`,
          `fees ${formatMoney(fees)}`,
        ],
        [
          '',
          `in the market ${formatSpan(figures.timeInMarketMs)}`,
          slippage === undefined ? '' : `slippage ${formatMoney(slippage)}`,
          `worst drawdown ${formatMoney(figures.maxDrawdown)}`,
          `largest exposure ${formatMoney(figures.maxExposure)}`,
        ],
      ];
    });
  return rows.length === 0 ? '' : printSection('position and PnL', rows, paint);
}

/** Alarms about orders, and the messages that people got, or would have got, in the order of their times. */
function printNotices({ notices, alarms, startedAt }: RunReport, paint: Paint): string {
  const start = Date.parse(startedAt);
  const all = [
    ...alarms.map(({ at, clientOrderId, alarm }) => {
      const meaning = findMeaning(ORDER_ALARMS, alarm) ?? '';
      return { at, to: paint('bad', 'alarm'), text: `${alarm} ${clientOrderId}: ${meaning}`, reason: '' };
    }),
    ...notices.map(({ at, to, text, reason = '' }) => ({ at, to: makePrintable(to, 60), text, reason })),
  ].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  if (all.length === 0) return '';
  const rows = all
    .slice(-MOST_NOTICES)
    .map(({ at, to, text, reason }) => [
      formatOffset(Date.parse(at) - start),
      to,
      makePrintable(text, 400),
      paint('faint', makePrintable(reason, 120)),
    ]);
  const before = all.length - rows.length;
  return printSection('alarms and notices', before > 0 ? [['', `and ${before} before`], ...rows] : rows, paint, [0]);
}

function printLeft({ leaves, residual }: RunReport, paint: Paint): string {
  const rows = residual
    .filter(({ size }) => size !== '0')
    .map(({ market, side, size, covered }) => [makePrintable(market, 60), side, size, `covered ${covered}`]);
  if (rows.length === 0) return '';
  const said = leaves === undefined ? '' : ` (leaves ${leaves.position}${leaves.ok ? '' : ': more than it says'})`;
  return printSection(`left${said}`, rows, paint);
}

function printOutputs({ outputs }: RunReport, paint: Paint): string {
  const rows = Object.entries(outputs).map(([name, value]) => [
    name,
    makePrintable(typeof value === 'string' ? value : JSON.stringify(value), 200),
  ]);
  return rows.length === 0 ? '' : printSection('outputs', rows, paint);
}

function printFooter(report: RunReport, paint: Paint): string {
  const lines = [`${formatCount(report.tokens.used, 'token')}, at most ${report.tokens.peakPerMinute} in a minute`];
  if (report.deadman.length > 0)
    lines.push(`deadman switch: ${[...new Set(report.deadman.map(({ event }) => event))].join(', ')}`);
  lines.push(paint('faint', `runbook audit show ${report.run}`));
  return lines.join('\n');
}

function formatParams(params: RunReport['requests'][number]['params']): string {
  return Object.entries(params)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}

/** `right`: indexes of the columns to align right. */
function printSection(
  title: string,
  rows: readonly (readonly string[])[],
  paint: Paint,
  right: readonly number[] = [],
): string {
  return `${paint('strong', title)}\n${formatTable(rows, right).replace(/^/gm, '  ')}`;
}
