/**
 * Prints a run on one screen, at its end: outcome, steps, requests, orders and tokens. `audit show` prints the whole
 * timeline.
 */
import { formatCount, formatOffset, formatTable } from '../base/format.ts';
import { makePrintable } from '../base/printable.ts';
import type { RunReport } from './folds/run.ts';
import { formatAmount } from './format.ts';

type SummaryRole = 'strong' | 'faint' | 'good' | 'bad' | 'warning';
type Paint = (role: SummaryRole, text: string) => string;

/** Above this number, requests are counted by endpoint instead of listed. */
const MOST_REQUESTS = 40;
const MOST_STEPS = 60;
const MOST_NOTICES = 20;

export function printSummary(report: RunReport, paint: Paint = (_role, text) => text): string {
  const sections = [
    printHeading(report, paint),
    printSteps(report, paint),
    printRequests(report, paint),
    printOrders(report, paint),
    printMoney(report, paint),
    printLeft(report, paint),
    printNotices(report, paint),
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
  const rows = report.steps.slice(0, MOST_STEPS).map((step) => {
    const role = step.outcome === 'succeeded' ? 'good' : step.outcome === 'skipped' ? 'faint' : 'bad';
    const attempts = step.attempts > 1 ? formatCount(step.attempts, 'attempt') : '';
    return [
      formatOffset(Date.parse(step.startedAt) - start),
      step.verb,
      makePrintable(step.path, 120),
      paint(role, step.outcome),
      attempts,
    ];
  });
  const more = report.steps.length - rows.length;
  return printSection('steps', more > 0 ? [...rows, ['', `and ${more} more`]] : rows, paint, [0]);
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
  const rows = report.orders.map((order) => [
    makePrintable(order.orderId ?? order.clientOrderId, 60),
    `${order.type} ${order.side}`,
    formatAmount(order),
    order.price === undefined ? '' : `at ${order.price}`,
    `filled ${order.filled}`,
    order.averagePrice === undefined ? '' : `average ${order.averagePrice}`,
    order.state,
  ]);
  return printSection('orders', rows, paint);
}

function printMoney({ money }: RunReport, paint: Paint): string {
  const rows = Object.entries(money)
    .filter(([, { maxExposure }]) => maxExposure !== '0')
    .flatMap(([market, figures]) => {
      const { position, averageEntry, realized, unrealized, fees, net, slippage, maxExposure, maxDrawdown } = figures;
      const entry = averageEntry === undefined ? '' : ` at ${averageEntry}`;
      const open = unrealized === undefined ? '' : `, unrealized ${unrealized}`;
      const slipped = slippage === undefined ? '' : `slippage ${slippage}, `;
      return [
        [
          makePrintable(market, 60),
          `position ${position}${entry}, net ${net}: realized ${realized}${open}, fees ${fees}`,
        ],
        ['', `${slipped}largest exposure ${maxExposure}, largest drawdown ${maxDrawdown}`],
      ];
    });
  return rows.length === 0 ? '' : printSection('money', rows, paint);
}

function printNotices({ notices }: RunReport, paint: Paint): string {
  if (notices.length === 0) return '';
  const rows = notices
    .slice(-MOST_NOTICES)
    .map(({ at, to, text, reason = '' }) => [
      at,
      makePrintable(to, 60),
      makePrintable(text, 400),
      makePrintable(reason, 120),
    ]);
  const before = notices.length - rows.length;
  return printSection('notices', before > 0 ? [['', `and ${before} before`], ...rows] : rows, paint);
}

function printLeft({ leaves, residual }: RunReport, paint: Paint): string {
  const rows = residual
    .filter(({ size }) => size !== '0')
    .map(({ market, side, size, covered }) => [makePrintable(market, 60), side, size, `covered ${covered}`]);
  if (rows.length === 0) return '';
  const said = leaves === undefined ? '' : ` (leaves ${leaves.position}${leaves.ok ? '' : ': more than it says'})`;
  return printSection(`left${said}`, rows, paint);
}

function printFooter(report: RunReport, paint: Paint): string {
  const lines = [`${formatCount(report.tokens.used, 'token')}, at most ${report.tokens.peakPerMinute} in a minute`];
  if (report.deadman.length > 0)
    lines.push(`deadman switch: ${[...new Set(report.deadman.map(({ event }) => event))].join(', ')}`);
  const outputs = Object.entries(report.outputs);
  if (outputs.length > 0)
    lines.push(
      printSection(
        'outputs',
        outputs.map(([name, value]) => [
          name,
          makePrintable(typeof value === 'string' ? value : JSON.stringify(value), 200),
        ]),
        paint,
      ),
    );
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
