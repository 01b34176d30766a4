/**
 * Exports a run as one HTML file that opens from a mail attachment: it holds everything, fetches nothing and has no script. A
 * policy in its head forbids everything it does not need, so that not even an escaping error could load or run anything.
 */
import { createHash } from 'node:crypto';
import { formatCount, formatOffset, formatSpan } from '../../base/format.ts';
import type { Entry, EntryOf, Json, JsonObject } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import type { KillsMeanwhile } from '../answers/allowed.ts';
import { answerReviewer } from '../answers/six.ts';
import type { RunVerdict } from '../compare/verify.ts';
import type { FillsDocument } from '../folds/fills.ts';
import type { OrderLife } from '../folds/order-lives.ts';
import { RunFold, type RunReport } from '../folds/run.ts';
import { type RunPageDocument, RunPageFold } from '../folds/run-facts.ts';
import { formatJson, formatText, pickRead } from '../format.ts';
import { MODE_MEANING } from '../glossary.ts';
import { RoutineFilter } from '../timeline/routine.ts';
import { TimelineFold, type TimelineRow } from '../timeline/timeline.ts';
import { makeAnchor, writeAnswers } from './answers.ts';
import { STYLE } from './style.ts';
import { escapeLines, type Html, html, type Piece, toMarkup } from './text.ts';
import { drawTimeAxis } from './time-axis.ts';

interface PageOptions {
  /** The result of `audit verify`, for the answers. */
  readonly verdict?: RunVerdict | undefined;
  /** What happened to the kill switch of the account during the run. */
  readonly kills?: KillsMeanwhile | undefined;
}

/** Rows of a table at most; a browser is slow with more. The rows left out are counted. */
const MOST_ROWS = 3000;

type Decision = EntryOf<'step.decided'>;

/** The whole file, entry by entry. Throws StoreError `damaged` if the entries do not begin with `run.started`. */
export class HtmlFold {
  private started: EntryOf<'run.started'> | undefined;
  private readonly run = new RunFold();
  private readonly whole = new RunPageFold();
  private readonly timeline = new TimelineFold();
  private readonly routine = new RoutineFilter();
  private readonly rows: TimelineRow[] = [];
  private readonly decisions: Decision[] = [];
  private decisionCount = 0;
  private leftOut = 0;

  apply(entry: Entry): void {
    if (entry.type === 'run.started') this.started ??= entry;
    if (entry.type === 'step.decided') this.addDecision(entry);
    this.whole.apply(entry);
    this.run.apply(entry);
    this.addRows(this.routine.push(entry, this.timeline.apply(entry)));
  }

  private addDecision(entry: Decision): void {
    this.decisionCount += 1;
    if (this.decisions.length < MOST_ROWS) this.decisions.push(entry);
  }

  private addRows(rows: readonly TimelineRow[]): void {
    for (const row of rows) {
      if (this.rows.length < MOST_ROWS) this.rows.push(row);
      else this.leftOut += 1;
    }
  }

  write(options: PageOptions = {}): string {
    return toMarkup(this.page(options));
  }

  private page({ verdict, kills }: PageOptions): Html {
    const { started } = this;
    if (started === undefined) throw new StoreError('damaged', 'the run has no entries');
    this.addRows([...this.routine.end(), ...this.timeline.unanswered()]);
    const report = this.run.report();
    const whole = this.whole.document();
    const { limit, windowMs } = whole.tokens;
    const axis = drawTimeAxis({
      report,
      orders: this.whole.listTracked(),
      spending: this.whole.spending,
      limit,
      windowMs,
    });
    return writeDocument(
      `${report.runbook}: ${report.outcome}`,
      html`${writeHeading(report, started, { whole, listed: this.rows.map(({ seq }) => seq) }, { verdict, kills })}
<h2>Over time</h2>
<div class="scroll" tabindex="0" role="region" aria-label="the run over its time">${axis}${AXIS_KEY}</div>
${writeSteps(report)}
${writeDecisions(this.decisions, this.decisionCount)}
${writeOrders(whole.orders)}
${writeFills(whole.fills)}
${writeTimeline(this.rows, this.leftOut)}
${writeRequests(report)}
${writeFacts('Inputs', started.data.inputs)}
${writeFacts('Outputs', report.outputs)}
${started.data.sources.map(({ name, file, text, sha256 }) => html`<details><summary>Runbook ${formatText(name)} as it ran</summary><p class="soft">${formatText(file)}, sha256 ${sha256}</p><div class="scroll" tabindex="0" role="region" aria-label="text of the runbook"><pre>${escapeLines(text)}</pre></div></details>`)}
<details><summary>Settings in force</summary><div class="scroll" tabindex="0" role="region" aria-label="settings"><pre>${escapeLines(JSON.stringify(started.data.settings, null, 2))}</pre></div></details>`,
    );
  }
}

function writeDocument(title: string, body: Html): Html {
  const style = toMarkup(STYLE);
  const digest = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${formatText(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

const OUTCOME_CLASS = { succeeded: 'good', stopped: 'good', failed: 'bad', halted: 'doubt' } as const;

function writeHeading(
  report: RunReport,
  { run }: EntryOf<'run.started'>,
  { whole, listed }: { readonly whole: RunPageDocument; readonly listed: readonly number[] },
  { verdict, kills }: PageOptions,
): Html {
  const why = report.error === undefined ? report.reason : `${report.error.kind}: ${report.error.message}`;
  // The run report calls a run without an end halted, as `resume` finds it; a reader sees that it has no end.
  const ended = whole.outcome === undefined ? 'no end yet' : report.outcome;
  return html`<header>
<h1>${formatText(report.runbook)}<span class="outcome ${OUTCOME_CLASS[report.outcome]}">${ended}</span></h1>
${why === undefined ? undefined : html`<p>${formatText(why)}</p>`}
<p class="soft">Run ${formatText(run)}, ${MODE_MEANING[report.mode]}.</p>
${writeAnswers(answerReviewer(whole, { verdict, kills }), listed)}
</header>`;
}

const AXIS_KEY = html`<ul class="key"><li>orders: hollow while intended, grey in flight, green while open; a ring is a fill</li><li>requests: red where refused, amber without an answer</li></ul>`;

function writeOrders(orders: readonly OrderLife[]): Html | undefined {
  if (orders.length === 0) return undefined;
  return writeRows(
    'Orders',
    'every order of the run, with each change of its state and the reason',
    ['order', 'what', '#size', '#price', '#filled', '#average', 'its life'],
    orders,
    (order) => [
      writeCell(
        html`${formatText(order.orderId ?? order.clientOrderId)}<br><span class="soft">${formatText(order.clientOrderId)}</span>`,
      ),
      writeCell(html`${order.type} ${order.side} ${formatText(order.market)}<br>${order.state}`),
      order.ofPosition ? writeCell(`${order.size} of the position`) : writeNumber(order.size),
      writeNumber(order.price ?? ''),
      writeNumber(order.filled),
      writeNumber(order.averagePrice ?? ''),
      writeCell(html`<ol class="life">${order.moves.map(writeMove)}</ol>`),
    ],
  );
}

function writeMove({ at, to, meaning, because, step }: OrderLife['moves'][number]): Html {
  const reasons = [step === undefined ? [] : `requested by ${step}`, because ?? []].flat();
  return html`<li>${formatOffset(at)} <b>${to}</b>: ${meaning}${reasons.length === 0 ? undefined : html`<span class="soft">; ${formatText(reasons.join('; '))}</span>`}</li>`;
}

function writeSteps(report: RunReport): Html {
  const start = Date.parse(report.startedAt);
  return writeRows(
    'Steps',
    'every step that was executed or skipped',
    ['#after', 'step', 'outcome', '#attempts', '#took'],
    report.steps,
    (step) => [
      writeTime(formatOffset(Date.parse(step.startedAt) - start)),
      writeCell(
        html`<span class="name">${formatText(step.id ?? step.verb)}</span>${step.id === undefined ? undefined : ` ${step.verb}`}<br><span class="soft">${formatText(step.path)}</span>`,
      ),
      html`<td class="${step.outcome}">${step.outcome}</td>`,
      writeNumber(step.attempts),
      writeNumber(formatSpan(Date.parse(step.endedAt) - Date.parse(step.startedAt))),
    ],
  );
}

function writeDecisions(decisions: readonly Decision[], count: number): Html | undefined {
  if (decisions.length === 0) return undefined;
  const rows = decisions.map(({ seq, step, data }) => [
    writeNumber(seq),
    writeCell(formatText(step)),
    writeCell(html`${data.what} <span class="value">${formatText(data.expression)}</span>`),
    writeCell(html`<span class="value">${formatJson(data.value)}</span>`),
    writeCell(
      html`<span class="value">${Object.entries(pickRead(data.expression, data.inputs)).map(([name, value]) => html`${formatText(name)} = ${formatJson(value)}<br>`)}</span>`,
    ),
  ]);
  return writeSection(
    'Decisions',
    formatCaption('every decision, with the values it read', count),
    ['#entry', 'step', 'expression', 'value', 'with'],
    rows,
  );
}

function writeFills({ fills, totals }: FillsDocument): Html | undefined {
  if (fills.length === 0) return undefined;
  const sums = totals
    .map((total) => `${total.side} ${total.market}: ${total.size} at ${total.averagePrice}, fee ${total.fee}`)
    .join('; ');
  return writeRows('Fills', sums, ['at', 'order', 'what', '#size', '#price', '#value', '#fee', 'as'], fills, (fill) => [
    writeTime(fill.at),
    writeCell(formatText(fill.orderId)),
    writeCell(`${fill.side} ${formatText(fill.market)}${fill.liquidation ? ', liquidation' : ''}`),
    writeNumber(fill.size),
    writeNumber(fill.price),
    writeNumber(fill.value),
    writeNumber(fill.fee),
    writeCell(fill.maker ? 'maker' : 'taker'),
  ]);
}

function writeTimeline(timeline: readonly TimelineRow[], leftOut: number): Html {
  const rows = timeline.map(({ seq, offsetMs, depth, spans }, index) => [
    // Only the first row of an entry has its id.
    timeline[index - 1]?.seq === seq
      ? writeTime(formatOffset(offsetMs))
      : writeTime(formatOffset(offsetMs), makeAnchor(seq)),
    html`<td><div class="d${Math.min(depth, 4)}">${spans.map(({ role, text }) => html`<span class="${role}">${text}</span>`)}</div></td>`,
  ]);
  const more = leftOut === 0 ? '' : `; ${formatCount(leftOut, 'more line is', 'more lines are')} in the journal`;
  return writeSection(
    'The story',
    `what happened, oldest first; reads and keep-alives that changed nothing are counted, not listed${more}`,
    ['#after', 'what'],
    rows,
  );
}

function writeRequests(report: RunReport): Html {
  const start = Date.parse(report.startedAt);
  const rows = report.requests
    .slice(0, MOST_ROWS)
    .map((request) => [
      writeTime(formatOffset(Date.parse(request.at) - start)),
      writeCell(`${request.method} ${formatText(request.path)}`),
      writeCell(
        html`<span class="value">${Object.entries(request.params).map(([name, value]) => `${formatText(name)}=${formatJson(value)} `)}</span>`,
      ),
      writeNumber(request.tokens),
      html`<td class="${request.success ? 'good' : request.status === null ? 'doubt' : 'bad'}">${request.status ?? 'no answer'}</td>`,
    ]);
  return html`<details><summary>All requests (${report.requests.length})</summary>${writeTable(formatCaption('every request, in the order of sending', report.requests.length), ['#after', 'request', 'parameters', '#tokens', 'status'], rows)}</details>`;
}

function writeFacts(title: string, values: JsonObject): Html | undefined {
  const entries: readonly (readonly [string, Json])[] = Object.entries(values);
  if (entries.length === 0) return undefined;
  return writeSection(
    title,
    undefined,
    ['name', 'value'],
    entries.map(([name, value]) => [
      writeCell(formatText(name)),
      writeCell(html`<span class="value">${formatJson(value)}</span>`),
    ]),
  );
}

function formatCaption(about: string, count: number): string {
  return count > MOST_ROWS ? `${about}; the first ${MOST_ROWS} of ${count}` : about;
}

/** A section with a table of the first rows. */
function writeRows<T>(
  title: string,
  about: string,
  columns: readonly string[],
  all: readonly T[],
  write: (row: T) => readonly Html[],
): Html {
  return writeSection(title, formatCaption(about, all.length), columns, all.slice(0, MOST_ROWS).map(write));
}

function writeSection(
  title: string,
  caption: string | undefined,
  columns: readonly string[],
  rows: readonly (readonly Html[])[],
): Html {
  return html`<section><h2>${title}</h2>${writeTable(caption, columns, rows, title)}</section>`;
}

/** `#` before a column's name marks a column of numbers. */
function writeTable(
  caption: string | undefined,
  columns: readonly string[],
  rows: readonly (readonly Html[])[],
  label = caption,
): Html {
  const head = columns.map((column) =>
    column.startsWith('#')
      ? html`<th scope="col" class="number">${column.slice(1)}</th>`
      : html`<th scope="col">${column}</th>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>${caption === undefined ? undefined : html`<caption>${formatText(caption)}</caption>`}<thead><tr>${head}</tr></thead><tbody>
${rows.map(
  (cells) => html`<tr>${cells}</tr>
`,
)}</tbody></table></div>`;
}

function writeCell(content: Piece): Html {
  return html`<td>${content}</td>`;
}
function writeNumber(content: Piece): Html {
  return html`<td class="number">${content}</td>`;
}
function writeTime(content: Piece, id?: string): Html {
  return id === undefined
    ? html`<td class="time number">${content}</td>`
    : html`<td class="time number" id="${id}">${content}</td>`;
}
