/**
 * The benchmark: every row in one run, its ratio beside its goal. `suite.mjs [ROW…]` measures those rows alone and leaves
 * bench/latest.json and the pages that show figures as they are. Nothing here fails for a figure; a row that can not be measured says why.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { AUDIT_ROWS } from './rows/audit.ts';
import { BUDGET_ROWS } from './rows/budget.ts';
import { DRY_RUN_ROWS, GROWTH_ROWS } from './rows/dry-runs.ts';
import { JOURNAL_ROWS } from './rows/journal.ts';
import { LIVE_ROWS } from './rows/live.ts';
import { ORDER_ROWS } from './rows/orders.ts';
import type { Figure, Row } from './rows/row.ts';
import { SHARED_BUDGET_ROWS } from './rows/shared-budget.ts';
import { START_UP_ROWS } from './rows/start-up.ts';
import { TIMER_ROWS } from './rows/timers.ts';

const ROWS: readonly Row[] = [
  ...DRY_RUN_ROWS,
  ...START_UP_ROWS,
  ...LIVE_ROWS,
  ...JOURNAL_ROWS,
  ...AUDIT_ROWS,
  ...ORDER_ROWS,
  ...BUDGET_ROWS,
  ...SHARED_BUDGET_ROWS,
  ...TIMER_ROWS,
  ...GROWTH_ROWS,
];

/** What has a goal and no row. */
const NOT_MEASURED =
  'Not measured: `validate` against `ansible-playbook --syntax-check` of as many tasks (5b), for which Ansible would have to be installed.';

/** The rows that the README shows, by their id and what they measure. */
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

/** bench/latest.json, as far as the pages show it. */
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
  figures.push(await figureOf(row));
}
process.stdout.write(`${table(figures)}\n`);
if (wanted.length === 0) keep(figures);
process.exit(0);

async function figureOf({ measure, ...row }: Row): Promise<Figure> {
  try {
    return { ...row, value: await measure() };
  } catch (error) {
    return { ...row, problem: withoutFolders(error instanceof Error ? error.message : String(error)) };
  }
}

/** The figures are published; where this machine keeps its files is not. */
function withoutFolders(message: string): string {
  return message.replace(/(?:\/[\w.@-]+)+\//g, '');
}

function table(all: readonly Figure[]): string {
  const head = ['row', 'what', 'against', 'measured', 'pass', 'excellent', ''];
  const lines = [head, head.map(() => '---'), ...all.map(cells)];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function cells(figure: Figure): readonly string[] {
  const { id, what, against, pass, excellent } = figure;
  return [id, what, against, measured(figure), bound(figure, pass), bound(figure, excellent), verdict(figure)];
}

function measured({ value, unit, problem }: Figure): string {
  if (value === undefined) return `not measured: ${(problem ?? '').split('\n')[0]?.replaceAll('|', '/') ?? ''}`;
  return `${shortNumber(value)}${unit === undefined ? ' ×' : unit === 'count' ? '' : ` ${unit}`}`;
}

function shortNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function bound({ least }: Figure, limit: number | undefined): string {
  return limit === undefined ? '–' : `${least ? '≥' : '≤'} ${limit}`;
}

function verdict({ value, pass, excellent, least }: Figure): string {
  if (value === undefined || pass === undefined || excellent === undefined) return '';
  const holds = (limit: number) => (least ? value >= limit : value <= limit);
  return holds(excellent) ? 'excellent' : holds(pass) ? 'pass' : 'missed';
}

/** Keeps all rows as data and as docs/performance.md, and the headline rows in the README between its marks. */
function keep(all: readonly Figure[]): void {
  const machine = { node: process.version, processors: cpus().length, model: cpus()[0]?.model.trim() ?? '' };
  writeFileSync(
    new URL('../latest.json', import.meta.url),
    `${JSON.stringify({ at: new Date().toISOString(), machine, figures: all }, null, 2)}\n`,
  );
  publish({ machine, figures: all });
}

/** The pages that show figures, made of the kept data: `suite.mjs --publish` makes them again without measuring. */
function publish({ machine, figures: all }: Kept): void {
  const measured = `Measured by \`npm run bench\` on Node ${machine.node.slice(1)}, ${machine.processors} × ${machine.model}.`;
  const headline = HEADLINE.flatMap((what) => all.find((figure) => headlineOf(figure) === what) ?? []);
  replaceBlock('README.md', `${headlineTable(headline)}\n\n${measured}`);
  replaceBlock('docs/performance.md', `${measured}\n\n${table(all)}\n\n${NOT_MEASURED}`);
}

function headlineTable(headline: readonly Figure[]): string {
  const lines = [
    ['', 'against', 'measured'],
    ['---', '---', '---'],
    ...headline.map((each) => [each.what, each.against, measured(each)]),
  ];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function headlineOf({ id, what }: Figure): string {
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
