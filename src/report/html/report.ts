/**
 * Exports a run as one HTML file that opens from a mail attachment: it holds everything, fetches nothing and has no script. A
 * policy in its head forbids everything it does not need, so that not even an escaping error could load or run anything.
 */
import { createHash } from 'node:crypto';
import { formatCount, formatOffset, formatSpan } from '../../base/format.ts';
import type { Entry, EntryOf, Json, JsonObject } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import type { KillsMeanwhile } from '../answers/allowed.ts';
import type { Answer } from '../answers/answer.ts';
import { answerReviewer } from '../answers/six.ts';
import type { RunVerdict } from '../compare/verify.ts';
import type { FillsDocument } from '../folds/fills.ts';
import type { OrderLife } from '../folds/order-lives.ts';
import { type RunPageDocument, RunPageFold } from '../folds/run-facts.ts';
import { formatJson, formatText, pickRead } from '../format.ts';
import { describeSettled, MODE_MEANING } from '../glossary.ts';
import { RequestFold, type RequestRow, StepFold, type StepRow } from '../results/run-rows.ts';
import { RoutineFilter } from '../timeline/routine.ts';
import { TimelineFold, type TimelineRow } from '../timeline/timeline.ts';
import { makeAnchor, writeAnswers } from './answers.ts';
import { STYLE } from './style.ts';
import { escapeLines, type Html, html, type Piece, toMarkup } from './text.ts';
import { TimeAxisFold } from './time-axis.ts';

interface PageOptions {
  /** The result of `audit verify`, for the answers. */
  readonly verdict?: RunVerdict | undefined;
  /** What happened to the kill switch of the account during the run. */
  readonly kills?: KillsMeanwhile | undefined;
}

/** Rows of a table at most; a browser is slow with more. The rows left out are counted. */
const MOST_ROWS = 3000;
/** Transitions of one order at most. */
const MOST_MOVES = 200;

type Decision = EntryOf<'step.decided'>;

/** The whole file, entry by entry. Throws StoreError `damaged` if the entries do not begin with `run.started`. */
export class HtmlFold {
  private started: EntryOf<'run.started'> | undefined;
  private outputs: JsonObject = {};
  private readonly whole = new RunPageFold();
  private readonly steps = new StepFold({ most: MOST_ROWS });
  private readonly requests = new RequestFold({ most: MOST_ROWS });
  private readonly axis = new TimeAxisFold();
  private readonly timeline = new TimelineFold();
  private readonly routine = new RoutineFilter();
  private readonly rows: TimelineRow[] = [];
  private readonly decisions: Decision[] = [];
  private decisionCount = 0;
  private leftOut = 0;

  apply(entry: Entry): void {
    if (entry.type === 'run.started') this.started ??= entry;
    if (entry.type === 'run.ended') this.outputs = entry.data.outputs;
    if (entry.type === 'run.resumed') this.outputs = {};
    if (entry.type === 'step.decided') this.addDecision(entry);
    this.whole.apply(entry);
    this.steps.apply(entry);
    this.requests.apply(entry);
    this.axis.apply(entry);
    const isShown = this.rows.length < MOST_ROWS;
    this.addRows(this.routine.push(entry, isShown ? this.timeline.apply(entry) : this.timeline.count(entry)));
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

  /** The file, piece by piece: after the last entry. */
  *write({ verdict, kills }: PageOptions = {}): Generator<string> {
    const { started, outputs } = this;
    if (started === undefined) throw new StoreError('damaged', 'the run has no entries');
    this.addRows([...this.routine.end(), ...this.timeline.unanswered()]);
    const run = this.whole.document();
    const { outcome = 'halted' } = run;
    const listed = this.rows.map(({ seq }) => seq);
    const counts = { steps: this.steps.count, requests: this.requests.count };
    yield toMarkup(writeHead(`${run.runbook}: ${outcome}`));
    yield toMarkup(writeHeading(run, answerReviewer(run, { verdict, kills }), listed));
    yield toMarkup(html`
<h2>Over time</h2>
<div class="scroll" tabindex="0" role="region" aria-label="the run over its time">${this.axis.draw({ run, orders: this.whole.listFollowed(), counts })}${AXIS_KEY}</div>
`);
    const end = { endedAt: run.lastAt, outcome: outcome === 'halted' ? 'halted' : 'failed' } as const;
    const sections = [
      () => writeSteps(run.startedAt, this.steps.list(end), counts.steps),
      () => writeDecisions(this.decisions, this.decisionCount),
      () => writeOrders(run.orders),
      () => writeFills(run.fills),
      () => writeTimeline(this.rows, this.leftOut),
      () => writeRequests(run.startedAt, this.requests.list(), counts.requests),
      () => writeFacts('Inputs', started.data.inputs),
      () => writeFacts('Outputs', outputs),
    ];
    for (const write of sections) yield `${toMarkup(write())}\n`;
    yield toMarkup(
      html`${started.data.sources.map(({ name, file, text, sha256 }) => html`<details><summary>Runbook ${formatText(name)} as it ran</summary><p class="soft">${formatText(file)}, sha256 ${sha256}</p><div class="scroll" tabindex="0" role="region" aria-label="text of the runbook"><pre>${escapeLines(text)}</pre></div></details>`)}
<details><summary>Settings in force</summary><div class="scroll" tabindex="0" role="region" aria-label="settings"><pre>${escapeLines(JSON.stringify(started.data.settings, null, 2))}</pre></div></details>
</main>
</body>
</html>
`,
    );
  }
}

function writeHead(title: string): Html {
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
`;
}

const OUTCOME_CLASS = { succeeded: 'good', stopped: 'good', failed: 'bad', halted: 'doubt' } as const;

function writeHeading(run: RunPageDocument, answers: readonly Answer[], listed: readonly number[]): Html {
  // The run report calls a run without an end halted, as `resume` finds it; a reader sees that it has no end.
  const { outcome = 'halted', reason = run.outcome === undefined ? 'interrupted' : undefined, error } = run;
  const why = error === undefined ? reason : `${error.kind}: ${error.message}`;
  return html`<header>
<h1>${formatText(run.runbook)}<span class="outcome ${OUTCOME_CLASS[outcome]}">${run.outcome ?? 'no end yet'}</span>${describeSettled(run)}</h1>
${why === undefined ? undefined : html`<p>${formatText(why)}</p>`}
<p class="soft">Run ${formatText(run.run)}, ${MODE_MEANING[run.mode]}.</p>
${writeAnswers(answers, listed)}
</header>`;
}

const AXIS_KEY = html`<ul class="key"><li>orders: hollow while intended, grey in flight, green while open; a ring is a fill</li><li>requests: red where refused, amber without an answer</li></ul>`;

function writeOrders(orders: readonly OrderLife[]): Html | undefined {
  if (orders.length === 0) return undefined;
  return writeRows(
    'Orders',
    'every order of the run, with each change of its state and the reason',
    ['order', 'what', '#size', '#price', '#filled', '#average', 'its life'],
    { rows: orders, count: orders.length },
    (order) => [
      writeCell(
        html`${formatText(order.orderId ?? order.clientOrderId)}<br><span class="soft">${formatText(order.clientOrderId)}</span>`,
      ),
      writeCell(html`${order.type} ${order.side} ${formatText(order.market)}<br>${order.state}`),
      order.ofPosition ? writeCell(`${order.size} of the position`) : writeNumber(order.size),
      writeNumber(order.price ?? ''),
      writeNumber(order.filled),
      writeNumber(order.averagePrice ?? ''),
      writeCell(html`<ol class="life">${writeLife(order.moves)}</ol>`),
    ],
  );
}

/** Keeps the first and the last transitions of an order that has very many, such as one that is amended every second. */
function writeLife(moves: OrderLife['moves']): readonly Html[] {
  const between = moves.length - MOST_MOVES;
  if (between <= 0) return moves.map(writeMove);
  const fold = html`<li class="soft">… ${formatCount(between, 'transition')} between</li>`;
  return [...moves.slice(0, MOST_MOVES / 2).map(writeMove), fold, ...moves.slice(-MOST_MOVES / 2).map(writeMove)];
}

function writeMove({ at, to, meaning, because, step }: OrderLife['moves'][number]): Html {
  const reasons = [step === undefined ? [] : `requested by ${step}`, because ?? []].flat();
  return html`<li>${formatOffset(at)} <b>${to}</b>: ${meaning}${reasons.length === 0 ? undefined : html`<span class="soft">; ${formatText(reasons.join('; '))}</span>`}</li>`;
}

function writeSteps(start: number, steps: readonly StepRow[], count: number): Html {
  return writeRows(
    'Steps',
    'every step that was executed or skipped',
    ['#after', 'step', 'outcome', '#attempts', '#took'],
    { rows: steps, count },
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
  const columns = ['at', 'order', 'what', '#size', '#price', '#value', '#fee', 'as'];
  return writeRows('Fills', sums, columns, { rows: fills, count: fills.length }, (fill) => [
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

function writeRequests(start: number, requests: readonly RequestRow[], count: number): Html {
  const rows = requests
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
  return html`<details><summary>All requests (${count})</summary>${writeTable(formatCaption('every request, in the order of sending', count), ['#after', 'request', 'parameters', '#tokens', 'status'], rows)}</details>`;
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

/** A section with a table of the first rows of `count`. */
function writeRows<T>(
  title: string,
  about: string,
  columns: readonly string[],
  { rows, count }: { readonly rows: readonly T[]; readonly count: number },
  write: (row: T) => readonly Html[],
): Html {
  return writeSection(title, formatCaption(about, count), columns, rows.slice(0, MOST_ROWS).map(write));
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
