/**
 * Measures every row of the benchmark and compares it with its goal. `suite.mjs [ROW…]` measures only those rows and does not
 * change bench/latest.json and the pages that show figures. A missed goal is not an error; a row that cannot be measured says why.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { REASONS } from './reasons.ts';
import { AUDIT_ROWS } from './rows/audit.ts';
import { BUDGET_ROWS } from './rows/budget.ts';
import { DRY_RUN_ROWS, GROWTH_ROWS } from './rows/dry-runs.ts';
import { EDITOR_ROWS } from './rows/editor.ts';
import { EXPRESSION_ROWS } from './rows/expressions.ts';
import { JOURNAL_ROWS } from './rows/journal.ts';
import { LIMIT_ROWS } from './rows/limits.ts';
import { LIVE_ROWS } from './rows/live.ts';
import { LONG_RUN_ROWS } from './rows/long-runs.ts';
import { MANY_ORDER_ROWS } from './rows/many-orders.ts';
import { ORDER_ROWS } from './rows/orders.ts';
import { REVIEW_PAGE_ROWS } from './rows/review-page.ts';
import type { Figure, Row } from './rows/row.ts';
import { SHARED_BUDGET_ROWS } from './rows/shared-budget.ts';
import { START_UP_ROWS } from './rows/start-up.ts';
import { SWEEP_ROWS } from './rows/sweep.ts';
import { TIMER_ROWS } from './rows/timers.ts';

const ROWS: readonly Row[] = [
  ...DRY_RUN_ROWS,
  ...START_UP_ROWS,
  ...LIVE_ROWS,
  ...JOURNAL_ROWS,
  ...AUDIT_ROWS,
  ...ORDER_ROWS,
  ...LIMIT_ROWS,
  ...MANY_ORDER_ROWS,
  ...BUDGET_ROWS,
  ...SHARED_BUDGET_ROWS,
  ...TIMER_ROWS,
  ...LONG_RUN_ROWS,
  ...EXPRESSION_ROWS,
  ...EDITOR_ROWS,
  ...SWEEP_ROWS,
  ...REVIEW_PAGE_ROWS,
  ...GROWTH_ROWS,
];

/** The goal that has no row. */
const NOT_MEASURED =
  'Not measured: `validate` against `ansible-playbook --syntax-check` of as many tasks (5b), for which Ansible would have to be installed.';

/** The rows in the README, by id and label. */
const HEADLINE = [
  '1 1000 calls, from the text to the outcome, warm',
  '3 10000 iterations of a condition, warm',
  '6 validate, 20 steps',
  '7 a live step, one behind the other, durable (FULL)',
  '9 an entry, durable (FULL)',
  '10 a run of 200 entries among 1 000 000, read and shown as a timeline',
  '14 use of the limit with a reserve of 1 %, 5 minutes at full load, 5 seeds × sliding log, fixed window, token bucket',
  '15 a dry-run of 24 h, a condition every second (86 400)',
];

/** The part of bench/latest.json that the pages show. */
interface Kept {
  readonly machine: { readonly node: string; readonly processors: number; readonly model: string };
  readonly figures: readonly Figure[];
}

const wanted = process.argv.slice(2);
if (wanted.includes('--publish')) {
  publish(JSON.parse(readFileSync(new URL('../latest.json', import.meta.url), 'utf8')) as Kept);
  process.exit(0);
}
const figures: Figure[] = [];
for (const row of ROWS) {
  if (wanted.length > 0 && !wanted.includes(row.id)) continue;
  process.stderr.write(`${row.id}  ${row.what}\n`);
  figures.push(await measureRow(row));
}
process.stdout.write(`${formatTable(figures)}\n`);
if (wanted.length === 0) keep(figures);
process.exit(0);

async function measureRow({ measure, ...row }: Row): Promise<Figure> {
  try {
    return { ...row, value: await measure() };
  } catch (error) {
    return { ...row, problem: removeFolders(error instanceof Error ? error.message : String(error)) };
  }
}

/** Removes the folders of this machine from a message, because the figures are published. */
function removeFolders(message: string): string {
  return message.replace(/(?:\/[\w.@-]+)+\//g, '');
}

function formatTable(all: readonly Figure[]): string {
  const head = ['row', 'what', 'against', 'measured', 'pass', 'excellent', ''];
  const lines = [head, head.map(() => '---'), ...all.map(formatCells)];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function formatCells(figure: Figure): readonly string[] {
  const { id, what, against, pass, excellent } = figure;
  return [
    id,
    what,
    against,
    formatMeasured(figure),
    formatBound(figure, pass),
    formatBound(figure, excellent),
    judge(figure),
  ];
}

function formatMeasured({ value, unit, problem }: Figure): string {
  if (value === undefined) return `not measured: ${(problem ?? '').split('\n')[0]?.replaceAll('|', '/') ?? ''}`;
  return `${formatNumber(value)}${unit === undefined ? ' ×' : unit === 'count' ? '' : ` ${unit}`}`;
}

function formatNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function formatBound({ least }: Figure, limit: number | undefined): string {
  return limit === undefined ? '–' : `${least ? '≥' : '≤'} ${limit}`;
}

function judge({ value, pass, excellent, least }: Figure): string {
  if (value === undefined || pass === undefined || excellent === undefined) return '';
  const holds = (limit: number) => (least ? value >= limit : value <= limit);
  return holds(excellent) ? 'excellent' : holds(pass) ? 'pass' : 'missed';
}

/** Writes all rows to bench/latest.json and docs/performance.md, and the headline rows to the README between its marks. */
function keep(all: readonly Figure[]): void {
  const machine = { node: process.version, processors: cpus().length, model: cpus()[0]?.model.trim() ?? '' };
  writeFileSync(
    new URL('../latest.json', import.meta.url),
    `${JSON.stringify({ at: new Date().toISOString(), machine, figures: all }, null, 2)}\n`,
  );
  publish({ machine, figures: all });
}

/** Writes the pages that show figures; `suite.mjs --publish` writes them from the kept data without measuring. */
function publish({ machine, figures: all }: Kept): void {
  const measured = `Measured by \`npm run bench\` on Node ${machine.node.slice(1)}, ${machine.processors} × ${machine.model}.`;
  const headline = HEADLINE.flatMap((what) => all.find((figure) => toHeadline(figure) === what) ?? []);
  replaceBlock('README.md', `${formatHeadline(headline)}\n\n${measured}`);
  replaceBlock(
    'docs/performance.md',
    [measured, formatTable(all), 'Missed, by how much and why:', listMissed(all), NOT_MEASURED].join('\n\n'),
  );
}

/** Names each row that misses its goal, by how much, and why. */
function listMissed(all: readonly Figure[]): string {
  const missed = all.filter((figure) => judge(figure) === 'missed');
  if (missed.length === 0) return '- none';
  const lines = missed.map((figure) => {
    const { id, what, value = Number.NaN, pass = Number.NaN, least } = figure;
    const factor = formatNumber(least ? pass / value : value / pass);
    return `- ${id}, ${what}: ${formatMeasured(figure)} where ${formatBound(figure, pass)} is asked, ${factor} times the goal. ${REASONS[id] ?? 'Why: not looked into.'}`;
  });
  return lines.join('\n');
}

function formatHeadline(headline: readonly Figure[]): string {
  const lines = [
    ['', 'against', 'measured'],
    ['---', '---', '---'],
    ...headline.map((each) => [each.what, each.against, formatMeasured(each)]),
  ];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function toHeadline({ id, what }: Figure): string {
  return `${id} ${what}`;
}

function replaceBlock(page: string, block: string): void {
  const file = fileURLToPath(new URL(`../../${page}`, import.meta.url));
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(/<!-- bench -->[\s\S]*<!-- \/bench -->/, () => `<!-- bench -->\n${block}\n<!-- /bench -->`),
  );
}
