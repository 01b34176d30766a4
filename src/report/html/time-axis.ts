/**
 * Draws a run over time as an SVG: steps, orders, requests, the deadman switch, and the tokens per window against the limit.
 * Its classes are styled by the page. The tables of the page give the same facts in words.
 */

import { formatCount, formatOffset, formatSpan } from '../../base/format.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import type { OrderState } from '../../venue/order/states.ts';
import type { RunReport } from '../folds/run.ts';
import { formatText } from '../format.ts';
import { chooseTicks, clamp, computeTokenColumns, createTimeScale, roundToTenth } from '../time-scale.ts';
import { type Html, html } from './text.ts';

interface TimeAxisData {
  readonly report: RunReport;
  readonly orders: readonly TrackedOrder[];
  readonly spending: readonly { readonly at: number; readonly tokens: number }[];
  /** Tokens allowed in a window. */
  readonly limit: number | undefined;
  readonly windowMs: number;
}

const WIDTH = 1000;
const LEFT = 190;
const RIGHT = 12;
const ROW = 20;
const BAR = 12;
const MOST_TICKS = 8;
const TOKENS_HEIGHT = 90;
/** Further rows are drawn together as one. */
const MOST_STEPS = 40;
const MOST_ORDERS = 40;

/** Positions on the drawing; times are epoch ms. */
interface Axis {
  readonly start: number;
  readonly end: number;
  x(at: number): number;
  /** The width of a bar, wide enough to be seen. */
  width(from: number, to: number): number;
}

function createAxis(start: number, end: number): Axis {
  const scale = createTimeScale(start, end, WIDTH - LEFT - RIGHT);
  const x = (at: number) => roundToTenth(LEFT + scale.x(clamp(at, start, end)));
  return { start, end, x, width: (from, to) => Math.max(1.5, roundToTenth(x(to) - x(from))) };
}

export function drawTimeAxis(data: TimeAxisData): Html {
  const { report } = data;
  const axis = createAxis(Date.parse(report.startedAt), Date.parse(report.endedAt));
  const lanes: Lane[] = [
    drawSteps(report, axis),
    drawOrders(data.orders, axis),
    drawRequests(report, axis),
    drawDeadman(report, axis),
  ].filter((lane) => lane.rows > 0);
  const parts: Html[] = [];
  let y = 24;
  for (const lane of lanes) {
    parts.push(html`<text class="lane" x="0" y="${y + 12}">${lane.title}</text>`);
    y += ROW;
    parts.push(html`<g transform="translate(0 ${y})">${lane.draw}</g>`);
    y += lane.rows * ROW + 10;
  }
  parts.push(html`<text class="lane" x="0" y="${y + 12}">tokens in ${formatSpan(data.windowMs)}</text>`);
  parts.push(html`<g transform="translate(0 ${y + ROW})">${drawTokens(data, axis)}</g>`);
  const height = y + ROW + TOKENS_HEIGHT + 10;
  const about = `${report.runbook} from ${report.startedAt} to ${report.endedAt}: ${formatCount(report.steps.length, 'step')}, ${formatCount(report.orders.length, 'order')}, ${formatCount(report.requests.length, 'request')}, ${formatCount(report.tokens.used, 'token')}.`;
  return html`<svg class="axis" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="axis-title axis-about" preserveAspectRatio="xMinYMin meet">
<title id="axis-title">The run over time</title><desc id="axis-about">${about} The tables below give the same facts.</desc>
${drawGrid(axis, height)}${parts}
</svg>`;
}

interface Lane {
  readonly title: string;
  readonly rows: number;
  readonly draw: readonly Html[];
}

function drawGrid(axis: Axis, height: number): Html {
  const { ticks, digits } = chooseTicks(0, axis.end - axis.start, MOST_TICKS);
  const lines = ticks.map((at) => {
    const x = axis.x(axis.start + at);
    return html`<line class="grid" x1="${x}" y1="16" x2="${x}" y2="${height}"/><text class="tick" x="${x}" y="11">${formatOffset(at, digits)}</text>`;
  });
  return html`<g aria-hidden="true">${lines}</g>`;
}

/** A row per step of the runbook; its iterations share it. */
function drawSteps(report: RunReport, axis: Axis): Lane {
  const rows = new Map<string, Html[]>();
  for (const step of report.steps) {
    const path = step.path.replace(/\[\d+\]|~\d+/g, '');
    const key = rows.has(path) || rows.size < MOST_STEPS ? path : MORE;
    const [from, to] = [Date.parse(step.startedAt), Date.parse(step.endedAt)];
    const bars = rows.get(key) ?? [];
    rows.set(key, bars);
    if (bars.length > MOST_BARS) continue;
    bars.push(
      html`<rect class="bar ${step.outcome}" x="${axis.x(from)}" y="0" width="${axis.width(from, to)}" height="${BAR}" rx="2"><title>${formatText(step.path)}: ${step.verb}, ${step.outcome}, ${formatSpan(to - from)}</title></rect>`,
    );
  }
  const draw = [...rows].map(([path, bars], row) => {
    const depth = path === MORE ? 0 : Math.min(4, (path.match(/\//g)?.length ?? 1) - 1);
    return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="${6 + depth * 10}" y="10">${clipText(path === MORE ? MORE : getLabel(path), 24 - depth)}</text>${bars}</g>`;
  });
  return { title: 'steps', rows: rows.size, draw };
}
const MORE = 'other steps';
/** Bars in one row at most; more could not be distinguished. */
const MOST_BARS = 500;

function getLabel(path: string): string {
  const last = path.split('/').at(-1) ?? path;
  return last.replace(/^\d+:/, '');
}

const STATE_CLASS: Readonly<Record<OrderState, string>> = {
  draft: 'intended',
  submitting: 'flight',
  unknown: 'doubt',
  processing: 'flight',
  open: 'open',
  amending: 'flight',
  canceling: 'flight',
  closed: 'ended',
  canceled: 'ended',
  rejected: 'ended',
  absent: 'ended',
  denied: 'ended',
  quarantined: 'doubt',
};

function drawOrders(orders: readonly TrackedOrder[], axis: Axis): Lane {
  const drawn = orders.slice(0, MOST_ORDERS);
  const draw = drawn.map((order, row) => {
    const { intent, history, snapshot, createdAt } = order;
    const moves = [{ at: createdAt, to: 'draft' as OrderState }, ...history.map(({ at, to }) => ({ at, to }))];
    const bars = moves.map(({ at, to }, index) => {
      const until = moves[index + 1]?.at ?? (STATE_CLASS[to] === 'ended' ? at : axis.end);
      return html`<rect class="life ${STATE_CLASS[to]}" x="${axis.x(at)}" y="0" width="${axis.width(at, until)}" height="${BAR}"><title>${formatText(intent.clientOrderId)}: ${to}, ${formatSpan(Math.max(0, until - at))}</title></rect>`;
    });
    const fills = [...snapshot.context.fills.values()].map((fill) => {
      const x = axis.x(Math.floor(fill.timestamp / 1000));
      return html`<circle class="fill" cx="${x}" cy="${BAR / 2}" r="4"><title>traded ${formatText(fill.size)} at ${formatText(fill.price)}</title></circle>`;
    });
    const label = `${snapshot.context.venueId ?? intent.clientOrderId} ${intent.type}`;
    return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="6" y="10">${clipText(label, 26)}</text>${bars}${fills}</g>`;
  });
  const more = orders.length - drawn.length;
  if (more > 0) draw.push(html`<text class="label" x="6" y="${drawn.length * ROW + 10}">and ${more} more</text>`);
  return { title: 'orders', rows: draw.length, draw };
}

/** Requests are close together; each position shows the worst of them. */
function drawRequests(report: RunReport, axis: Axis): Lane {
  const kinds = [
    { label: 'reads', of: report.requests.filter(({ method }) => method === 'GET') },
    { label: 'writes', of: report.requests.filter(({ method }) => method !== 'GET') },
  ].filter(({ of }) => of.length > 0);
  const draw = kinds.map(({ label, of }, row) => {
    const places = new Map<number, { ok: number; bad: number; lost: number }>();
    for (const { at, status, success } of of) {
      const x = Math.round(axis.x(Date.parse(at)));
      const place = places.get(x) ?? { ok: 0, bad: 0, lost: 0 };
      places.set(x, place);
      place[success ? 'ok' : status === null ? 'lost' : 'bad'] += 1;
    }
    const marks = [...places].map(([x, { ok, bad, lost }]) => {
      const worst = lost > 0 ? 'lost' : bad > 0 ? 'bad' : 'ok';
      return html`<rect class="mark ${worst}" x="${x}" y="0" width="1.5" height="${BAR}"><title>${formatCount(ok + bad + lost, 'request')}: ${ok} succeeded, ${bad} refused, ${lost} without an answer</title></rect>`;
    });
    return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="6" y="10">${label} (${of.length})</text>${marks}</g>`;
  });
  return { title: 'requests', rows: kinds.length, draw };
}

function drawDeadman(report: RunReport, axis: Axis): Lane {
  const bars: Html[] = [];
  let armedAt: number | undefined;
  const close = (until: number) => {
    if (armedAt === undefined) return;
    bars.push(
      html`<rect class="bar armed" x="${axis.x(armedAt)}" y="0" width="${axis.width(armedAt, until)}" height="${BAR}" rx="2"><title>armed for ${formatSpan(until - armedAt)}</title></rect>`,
    );
    armedAt = undefined;
  };
  for (const { at, event } of report.deadman) {
    const when = Date.parse(at);
    if (event === 'armed' || event === 'renewed') armedAt ??= when;
    else close(when);
    if (event === 'assumed_fired') {
      bars.push(
        html`<rect class="mark lost" x="${axis.x(when)}" y="-2" width="3" height="${BAR + 4}"><title>must have fired</title></rect>`,
      );
    }
  }
  close(axis.end);
  const draw = bars.length === 0 ? [] : [html`<text class="label" x="6" y="10">armed</text>`, ...bars];
  return { title: 'deadman switch', rows: draw.length === 0 ? 0 : 1, draw };
}

/** Width of a column in units of the drawing; finer than the eye sees. */
const COLUMN = 2;

function drawTokens({ spending, limit, windowMs }: TimeAxisData, axis: Axis): readonly Html[] {
  const marks = { at: spending.map(({ at }) => at), tokens: spending.map(({ tokens }) => tokens) };
  const columns = (WIDTH - LEFT - RIGHT) / COLUMN;
  const heights = computeTokenColumns(marks, windowMs, axis.start, axis.end, columns);
  const peak = heights.reduce((most, each) => Math.max(most, each), 0);
  const top = Math.max(peak, limit ?? 0, 1);
  const y = (tokens: number) => roundToTenth(TOKENS_HEIGHT - (tokens / top) * TOKENS_HEIGHT);
  const line = [heights[0] ?? 0, ...heights].map((tokens, end) => `L${LEFT + end * COLUMN} ${y(tokens)}`).join('');
  const limitLine =
    limit === undefined
      ? []
      : [
          html`<line class="limit" x1="${LEFT}" y1="${y(limit)}" x2="${WIDTH - RIGHT}" y2="${y(limit)}"/><text class="label" x="6" y="${y(limit) + 10}">limit ${limit}</text>`,
        ];
  return [
    html`<path class="tokens" d="M${LEFT} ${TOKENS_HEIGHT}${line}L${WIDTH - RIGHT} ${TOKENS_HEIGHT}Z"><title>at most ${formatCount(peak, 'token')} within ${formatSpan(windowMs)}</title></path>`,
    html`<line class="base" x1="${LEFT}" y1="${TOKENS_HEIGHT}" x2="${WIDTH - RIGHT}" y2="${TOKENS_HEIGHT}"/>`,
    ...limitLine,
    html`<text class="label" x="6" y="${TOKENS_HEIGHT - 2}">peak ${peak}</text>`,
  ];
}

function clipText(text: string, length: number): string {
  const whole = formatText(text);
  return whole.length <= length ? whole : `${whole.slice(0, length - 1)}…`;
}
