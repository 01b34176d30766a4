/**
 * The benchmark: every row in one run, its ratio beside its goal. `suite.mjs [ROW…]` measures those rows alone and leaves
 * bench/latest.json and the README as they are. Nothing here fails for a figure; a row that can not be measured says why.
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

const wanted = process.argv.slice(2);
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

/** All rows are kept as data, and stand in the README between its marks. */
function keep(all: readonly Figure[]): void {
  const machine = { node: process.version, processors: cpus().length, model: cpus()[0]?.model.trim() ?? '' };
  writeFileSync(
    new URL('../latest.json', import.meta.url),
    `${JSON.stringify({ at: new Date().toISOString(), machine, figures: all }, null, 2)}\n`,
  );
  const readme = fileURLToPath(new URL('../../README.md', import.meta.url));
  const text = readFileSync(readme, 'utf8');
  const block = `<!-- bench -->\nMeasured by \`npm run bench\` on Node ${process.versions.node}, ${machine.processors} × ${machine.model}.\n\n${table(all)}\n\n${NOT_MEASURED}\n<!-- /bench -->`;
  writeFileSync(
    readme,
    text.replace(/<!-- bench -->[\s\S]*<!-- \/bench -->/, () => block),
  );
}
