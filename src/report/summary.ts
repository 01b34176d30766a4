/**
 * Prints a run on one screen, at its end: outcome, position and money, alarms and notices, orders, steps, requests and tokens.
 * Numbers are rounded for reading; `--json` has them exactly. `audit show` prints the whole timeline.
 */
import { decimal } from '../base/decimal.ts';
import { formatCount, formatOffset, formatSpan, formatTable } from '../base/format.ts';
import { makePrintable } from '../base/printable.ts';
import { isWorking } from '../venue/order/states.ts';
import { describePending } from '../venue/position/residual.ts';
import type { RowTaker } from './export/run-report.ts';
import { getOrderState } from './folds/orders.ts';
import type { RunOutline, RunReport } from './folds/run.ts';
import { countPlaces, formatAmount, formatMoney, formatPairs, formatPrice, formatStepName } from './format.ts';
import { describeSettled } from './glossary.ts';
import { type DeadmanRow, type RequestRow, type StepRow, TokenSum } from './results/run-rows.ts';

type SummaryRole = 'strong' | 'faint' | 'good' | 'bad' | 'warning';
type Paint = (role: SummaryRole, text: string) => string;

/** Above this number, requests are counted by endpoint instead of listed. */
const MOST_REQUESTS = 40;
const MOST_STEPS = 40;
const MOST_ORDERS = 40;
const MOST_NOTICES = 20;

/** Keeps the rows of a report that are shown, however many there are. */
export class SummaryRows implements RowTaker {
  readonly steps: StepChoice;
  readonly requests = new RequestChoice();
  readonly deadman = new Set<string>();

  constructor({ error }: Pick<RunOutline, 'error'>) {
    this.steps = new StepChoice(error?.step);
  }

  static of(report: RunReport): SummaryRows {
    const rows = new SummaryRows(report);
    rows.addSteps(report.steps);
    rows.addRequests(report.requests);
    rows.addDeadman(report.deadman);
    return rows;
  }

  addSteps(rows: readonly StepRow[]): void {
    for (const row of rows) this.steps.add(row);
  }

  addRequests(rows: readonly RequestRow[]): void {
    for (const row of rows) this.requests.add(row);
  }

  addDeadman(rows: readonly DeadmanRow[]): void {
    for (const { event } of rows) this.deadman.add(event);
  }
}

/**
 * What the run came to is first; what it sent, which a reader wants least often, is last. `place`: where the step that failed is
 * written, `entry.yaml:7:5`.
 */
export function printSummary(
  report: RunOutline,
  rows: SummaryRows,
  paint: Paint = (_role, text) => text,
  place?: string,
): string {
  const sections = [
    printHeading(report, paint, place),
    printMoney(report, paint),
    printLeft(report, paint),
    printNotices(report, paint),
    printOutputs(report, paint),
    printOrders(report, paint),
    printSteps(report, rows.steps, paint),
    printRequests(report, rows.requests, paint),
    printFooter(report, rows, paint),
  ];
  return sections.filter((each) => each !== '').join('\n\n');
}

const OUTCOME_ROLE = { succeeded: 'good', stopped: 'warning', failed: 'bad', halted: 'bad' } as const;

function printHeading(report: RunOutline, paint: Paint, place: string | undefined): string {
  const outcome = paint(OUTCOME_ROLE[report.outcome], report.outcome);
  const reason = report.reason === undefined ? '' : `: ${makePrintable(report.reason, 400)}`;
  const lines = [
    `${paint('strong', report.runbook)}  ${outcome}${describeSettled(report)}${reason}`,
    paint('faint', `run ${report.run}  ${report.mode}  ${report.startedAt} to ${report.endedAt}`),
  ];
  const inputs = makePrintable(formatPairs(report.inputs), 400);
  if (inputs !== '') lines.push(paint('faint', `inputs ${inputs}`));
  if (report.error !== undefined) {
    const step =
      report.error.step === undefined || report.error.step === '' ? '' : ` in ${makePrintable(report.error.step, 200)}`;
    const written = place === undefined ? '' : `, ${makePrintable(place, 300)}`;
    lines.push(paint('bad', `error ${report.error.kind}${step}${written}`));
  }
  return lines.join('\n');
}

function printSteps({ startedAt, error }: RunOutline, steps: StepChoice, paint: Paint): string {
  const start = Date.parse(startedAt);
  // What made the run fail is in its first line, and the blocks around that step failed with it.
  const isTold = ({ path }: StepRow) =>
    error?.step === path ||
    error?.step?.startsWith(`${path}/`) === true ||
    error?.step?.startsWith(`${path}[`) === true;
  const rows = steps
    .choose()
    .map(
      ([index, step]) =>
        [index, [...formatStep(step, start, paint), isTold(step) ? '' : formatWhy(step, paint)]] as const,
    );
  return rows.length === 0 ? '' : printSection('steps', dropEmptyColumns(foldRows(rows, 'step', paint)), paint, [0]);
}

/** Why a step failed whose failure a handler took. */
function formatWhy({ error }: StepRow, paint: Paint): string {
  return error === undefined ? '' : paint('faint', makePrintable(`${error.kind}: ${error.message}`, 120));
}

/** The rows with their indices, and between them how many are left out. */
function foldRows(
  shown: readonly (readonly [number, readonly string[]])[],
  what: string,
  paint: Paint,
): readonly (readonly string[])[] {
  return shown.flatMap(([index, row], place) => {
    const folded = index - (shown[place - 1]?.[0] ?? -1) - 1;
    const gap = folded > 0 ? [['', paint('faint', `… ${formatCount(folded, what)}`)]] : [];
    return [...gap, row];
  });
}

function formatStep(step: StepRow, start: number, paint: Paint): readonly string[] {
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

/** How many steps around the failure are shown, and at the end of the run. */
const BEFORE = 8;
const AFTER = 4;
const LAST = 8;

/**
 * The steps that are shown: all of a short run; of a long one its end, what is around the failure, other failures with their
 * neighbours, and its beginning, as many as there is room for.
 */
class StepChoice {
  private readonly failed: string | undefined;
  private count = 0;
  private readonly kept = new Map<number, StepRow>();
  private readonly failures: number[] = [];
  private last: readonly (readonly [number, StepRow])[] = [];
  private failure = Number.NEGATIVE_INFINITY;
  private around = new Map<number, StepRow>();

  /** `failed`: the path of the step that made the run fail. */
  constructor(failed: string | undefined) {
    this.failed = failed;
  }

  add(row: StepRow): void {
    const index = this.count;
    this.count += 1;
    this.last = [...this.last.slice(-BEFORE), [index, row]];
    if (row.path === this.failed) {
      this.failure = index;
      this.around = new Map(this.last);
    } else if (index <= this.failure + AFTER) this.around.set(index, row);
    if (index < MOST_STEPS || index - 1 === this.failures.at(-1)) this.kept.set(index, row);
    if (this.failures.length === MOST_STEPS || (row.outcome !== 'failed' && row.outcome !== 'halted')) return;
    this.failures.push(index);
    for (const [place, each] of this.last.slice(-2)) this.kept.set(place, each);
  }

  /** With their indices among all. */
  choose(): readonly (readonly [number, StepRow])[] {
    const chosen = new Set<number>();
    const most = Math.min(MOST_STEPS, this.count);
    const add = (from: number, to: number) => {
      for (let index = Math.max(0, from); index <= to; index += 1)
        if (index < this.count && chosen.size < most) chosen.add(index);
    };
    add(this.count - LAST, this.count);
    if (this.failure >= 0) add(this.failure - BEFORE, this.failure + AFTER);
    add(0, 3);
    for (const index of this.failures) add(index - 1, index + 1);
    add(0, most);
    const rows = new Map([...this.kept, ...this.around, ...this.last]);
    return [...chosen].sort((a, b) => a - b).map((index) => [index, rows.get(index) as StepRow]);
  }
}

class RequestChoice {
  private count = 0;
  private readonly first: RequestRow[] = [];
  private readonly counts = new Map<string, { count: number; refused: number; doubtful: number; tokens: number }>();
  private readonly sum = new TokenSum();

  get tokens() {
    return this.sum.use;
  }

  add(row: RequestRow): void {
    this.count += 1;
    if (this.first.length < MOST_REQUESTS) this.first.push(row);
    this.sum.add(row);
    const key = `${row.method} ${row.path}`;
    const before = this.counts.get(key) ?? { count: 0, refused: 0, doubtful: 0, tokens: 0 };
    before.count += 1;
    if (!row.success) before[isRefused(row) ? 'refused' : 'doubtful'] += 1;
    before.tokens += row.tokens;
    this.counts.set(key, before);
  }

  /** Every request; undefined of a run with too many to list. */
  list(): readonly RequestRow[] | undefined {
    return this.count > MOST_REQUESTS ? undefined : this.first;
  }

  /** How many by endpoint. */
  summarize(): string[][] {
    return [...this.counts].map(([name, { count, refused, doubtful, tokens }]) => [
      `${count}x`,
      name,
      [refused === 0 ? '' : `${refused} refused`, doubtful === 0 ? '' : `${doubtful} not confirmed`]
        .filter((each) => each !== '')
        .join(', '),
      formatCount(tokens, 'token'),
    ]);
  }
}

/** Whether the venue answered that it did not do it; behind an error of its server it may have. */
function isRefused({ status }: RequestRow): boolean {
  return status !== null && status < 500;
}

function printRequests({ startedAt }: RunOutline, requests: RequestChoice, paint: Paint): string {
  const start = Date.parse(startedAt);
  const listed = requests.list();
  if (listed === undefined) return printSection('requests', requests.summarize(), paint, [0, 3]);
  if (listed.length === 0) return '';
  const rows = listed.map((request) => [
    formatOffset(Date.parse(request.at) - start),
    `${request.method} ${request.path}`,
    paint(request.success ? 'good' : 'bad', request.status === null ? 'no answer' : String(request.status)),
    `${request.tokens}`,
    paint('faint', makePrintable(formatParams(request.params), 160)),
  ]);
  return printSection('requests', rows, paint, [0, 3]);
}

function printOrders(report: RunOutline, paint: Paint): string {
  if (report.orders.length === 0) return '';
  const start = Date.parse(report.startedAt);
  const chosen = chooseOrders(report).flatMap((index) => {
    const order = report.orders[index];
    return order === undefined ? [] : [[index, order] as const];
  });
  const placesOf = new Map(
    [...new Set(chosen.map(([, { market }]) => market))].map((market) => [market, countMarketPlaces(report, market)]),
  );
  const shown = chosen.map(([index, order]) => {
    const { price, trigger, averagePrice, filled } = order;
    const row = [
      formatOffset(Date.parse(order.at) - start),
      makePrintable(formatStepName(order.step, undefined), 60),
      makePrintable(order.orderId ?? order.clientOrderId, 60),
      `${order.type} ${order.side}`,
      formatAmount(order),
      price === undefined ? '' : `at ${price}`,
      trigger === undefined ? '' : `trigger ${trigger}`,
      averagePrice === undefined
        ? `filled ${filled}`
        : `filled ${filled} at ${formatPrice(averagePrice, placesOf.get(order.market))}`,
      order.state,
    ];
    return [index, row] as const;
  });
  return printSection('orders', dropEmptyColumns(foldRows(shown, 'order', paint)), paint, [0]);
}

/** The orders that are shown, by index: of many the last, what has traded or works, the first, and others as there is room for. */
function chooseOrders({ orders }: Pick<RunOutline, 'orders'>): readonly number[] {
  const newest = orders.map((_order, index) => index).reverse();
  const telling = newest.filter((index) => {
    const order = orders[index] as RunOutline['orders'][number];
    return order.filled !== '0' || isWorking(getOrderState(order));
  });
  return [...new Set([...newest.slice(0, 8), ...telling, 0, ...newest])].slice(0, MOST_ORDERS).sort((a, b) => a - b);
}

function dropEmptyColumns(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const used = (column: number) => rows.some((row) => (row[column] ?? '') !== '');
  return rows.map((row) => row.filter((_cell, column) => used(column)));
}

/** The places of the prices of orders in a market. */
function countMarketPlaces({ orders }: RunOutline, market: string): number | undefined {
  const own = orders.filter((order) => order.market === market);
  return countPlaces(own.flatMap(({ price, trigger }) => [price ?? [], trigger ?? []].flat()));
}

function printMoney(report: RunOutline, paint: Paint): string {
  const rows = Object.entries(report.money)
    .filter(([, { maxExposure }]) => maxExposure !== '0')
    .flatMap(([market, figures]) => {
      const { position, averageEntry, realized, unrealized, fees, net, slippage } = figures;
      const entry =
        averageEntry === undefined ? '' : ` at ${formatPrice(averageEntry, countMarketPlaces(report, market))}`;
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
function printNotices({ notices, alarms, startedAt }: RunOutline, paint: Paint): string {
  const start = Date.parse(startedAt);
  const all = [
    ...alarms.map(({ at, clientOrderId, alarm, meaning = '' }) => ({
      at,
      to: paint('bad', 'alarm'),
      text: `${alarm}${clientOrderId === '' ? '' : ` ${clientOrderId}`}: ${meaning}`,
      reason: '',
    })),
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

function printLeft({ leaves, residual }: RunOutline, paint: Paint): string {
  const rows = residual
    .filter(({ size }) => size !== '0')
    .map(({ market, side, size, opened, covered }) => [
      makePrintable(market, 60),
      side,
      size,
      `covered ${covered}`,
      describePending({ size, opened }),
    ]);
  if (rows.length === 0) return '';
  const said = leaves === undefined ? '' : ` (leaves ${leaves.position}${leaves.ok ? '' : ': more than it says'})`;
  return printSection(`left${said}`, dropEmptyColumns(rows), paint);
}

function printOutputs({ outputs }: RunOutline, paint: Paint): string {
  const rows = Object.entries(outputs).map(([name, value]) => [
    name,
    makePrintable(typeof value === 'string' ? shortenDecimal(value) : JSON.stringify(value), 200),
  ]);
  return rows.length === 0 ? '' : printSection('outputs', rows, paint);
}

/** A quotient has sixty digits, and a sum of them ends in an error at the last. */
function shortenDecimal(text: string): string {
  return /^-?\d+\.\d{19,}$/.test(text) ? decimal(text).toDecimalPlaces(18).toFixed() : text;
}

function printFooter(report: RunOutline, { requests: { tokens }, deadman }: SummaryRows, paint: Paint): string {
  const lines = [`${formatCount(tokens.used, 'token')}, at most ${tokens.peakPerMinute} in a minute`];
  if (deadman.size > 0) lines.push(`deadman switch: ${[...deadman].join(', ')}`);
  lines.push(paint('faint', `runbook audit show ${report.run}`));
  return lines.join('\n');
}

function formatParams(params: RequestRow['params']): string {
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
