/**
 * A run drawn over its time: steps, order lives, requests, the deadman switch, and the tokens of the last minute against the
 * limit. An SVG without styles of its own: its classes are the page's. The tables of the page say the same in words.
 */

import type { BookOrder } from '../../journal/orders.ts';
import type { OrderState } from '../../venue/order/states.ts';
import type { RunReport } from '../folds/run.ts';
import { offsetText, shown, spanText } from '../wording.ts';
import { type Html, html } from './text.ts';

export interface TimeAxisData {
  readonly report: RunReport;
  readonly orders: readonly BookOrder[];
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
const TOKENS_HEIGHT = 90;
/** More rows than this are drawn together as one. */
const MOST_STEPS = 40;
const MOST_ORDERS = 40;

/** Where a moment is on the page. */
class Axis {
  readonly start: number;
  readonly end: number;

  constructor(start: number, end: number) {
    this.start = start;
    // A run without any length still has a place for its marks.
    this.end = Math.max(end, start + 1);
  }

  x(at: number): number {
    const share = (Math.min(Math.max(at, this.start), this.end) - this.start) / (this.end - this.start);
    return round(LEFT + share * (WIDTH - LEFT - RIGHT));
  }

  /** A bar that can be seen, however short. */
  width(from: number, to: number): number {
    return Math.max(1.5, round(this.x(to) - this.x(from)));
  }
}

export function timeAxis(data: TimeAxisData): Html {
  const { report } = data;
  const axis = new Axis(Date.parse(report.startedAt), Date.parse(report.endedAt));
  const lanes: Lane[] = [
    stepLanes(report, axis),
    orderLanes(data.orders, axis),
    requestLanes(report, axis),
    deadmanLane(report, axis),
  ].filter((lane) => lane.rows > 0);
  const parts: Html[] = [];
  let y = 24;
  for (const lane of lanes) {
    parts.push(html`<text class="lane" x="0" y="${y + 12}">${lane.title}</text>`);
    y += ROW;
    parts.push(html`<g transform="translate(0 ${y})">${lane.draw}</g>`);
    y += lane.rows * ROW + 10;
  }
  parts.push(html`<text class="lane" x="0" y="${y + 12}">tokens in ${spanText(data.windowMs)}</text>`);
  parts.push(html`<g transform="translate(0 ${y + ROW})">${tokenArea(data, axis)}</g>`);
  const height = y + ROW + TOKENS_HEIGHT + 10;
  const about = `${report.runbook} from ${report.startedAt} to ${report.endedAt}: ${report.steps.length} steps, ${report.orders.length} orders, ${report.requests.length} requests, ${report.tokens.used} tokens.`;
  return html`<svg class="axis" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="axis-title axis-about" preserveAspectRatio="xMinYMin meet">
<title id="axis-title">The run over its time</title><desc id="axis-about">${about} The tables below say the same.</desc>
${grid(axis, height)}${parts}
</svg>`;
}

interface Lane {
  readonly title: string;
  readonly rows: number;
  readonly draw: readonly Html[];
}

function grid(axis: Axis, height: number): Html {
  const lengthMs = axis.end - axis.start;
  const step = TICKS_MS.find((each) => lengthMs / each <= 8) ?? Math.ceil(lengthMs / 8 / 86_400_000) * 86_400_000;
  const ticks: Html[] = [];
  for (let at = 0; at <= lengthMs; at += step) {
    const x = axis.x(axis.start + at);
    ticks.push(
      html`<line class="grid" x1="${x}" y1="16" x2="${x}" y2="${height}"/><text class="tick" x="${x}" y="11">${offsetText(at).replace(/\.000$/, '')}</text>`,
    );
  }
  return html`<g aria-hidden="true">${ticks}</g>`;
}

const SECOND = 1000;
const TICKS_MS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400].map(
    (seconds) => seconds * SECOND,
  ),
];

/** A row per step of the runbook; its iterations share it. */
function stepLanes(report: RunReport, axis: Axis): Lane {
  const rows = new Map<string, Html[]>();
  for (const step of report.steps) {
    const path = step.path.replace(/\[\d+\]|~\d+/g, '');
    const key = rows.has(path) || rows.size < MOST_STEPS ? path : MORE;
    const [from, to] = [Date.parse(step.startedAt), Date.parse(step.endedAt)];
    const bars = rows.get(key) ?? [];
    rows.set(key, bars);
    if (bars.length > MOST_BARS) continue;
    bars.push(
      html`<rect class="bar ${step.outcome}" x="${axis.x(from)}" y="0" width="${axis.width(from, to)}" height="${BAR}" rx="2"><title>${shown(step.path)}: ${step.verb}, ${step.outcome}, ${spanText(to - from)}</title></rect>`,
    );
  }
  const draw = [...rows].map(([path, bars], row) => {
    const depth = path === MORE ? 0 : Math.min(4, (path.match(/\//g)?.length ?? 1) - 1);
    return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="${6 + depth * 10}" y="10">${clipped(path === MORE ? MORE : labelOf(path), 24 - depth)}</text>${bars}</g>`;
  });
  return { title: 'steps', rows: rows.size, draw };
}
const MORE = 'other steps';
/** In one row; more can not be told apart anyway. */
const MOST_BARS = 500;

function labelOf(path: string): string {
  const last = path.split('/').at(-1) ?? path;
  return last.replace(/^\d+:/, '');
}

const STATE_CLASS: Readonly<Record<OrderState, string>> = {
  draft: 'meant',
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

function orderLanes(orders: readonly BookOrder[], axis: Axis): Lane {
  const drawn = orders.slice(0, MOST_ORDERS);
  const draw = drawn.map((order, row) => {
    const { intent, history, snapshot, createdAt } = order;
    const moves = [{ at: createdAt, to: 'draft' as OrderState }, ...history.map(({ at, to }) => ({ at, to }))];
    const bars = moves.map(({ at, to }, index) => {
      const until = moves[index + 1]?.at ?? (STATE_CLASS[to] === 'ended' ? at : axis.end);
      return html`<rect class="life ${STATE_CLASS[to]}" x="${axis.x(at)}" y="0" width="${axis.width(at, until)}" height="${BAR}"><title>${shown(intent.clientOrderId)}: ${to}, ${spanText(Math.max(0, until - at))}</title></rect>`;
    });
    const fills = [...snapshot.context.fills.values()].map((fill) => {
      const x = axis.x(Math.floor(fill.timestamp / 1000));
      return html`<circle class="fill" cx="${x}" cy="${BAR / 2}" r="4"><title>traded ${shown(fill.size)} at ${shown(fill.price)}</title></circle>`;
    });
    const label = `${snapshot.context.venueId ?? intent.clientOrderId} ${intent.type}`;
    return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="6" y="10">${clipped(label, 26)}</text>${bars}${fills}</g>`;
  });
  const more = orders.length - drawn.length;
  if (more > 0) draw.push(html`<text class="label" x="6" y="${drawn.length * ROW + 10}">and ${more} more</text>`);
  return { title: 'orders', rows: draw.length, draw };
}

/** Requests stand close together; what is drawn is the worst in each place. */
function requestLanes(report: RunReport, axis: Axis): Lane {
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
      return html`<rect class="mark ${worst}" x="${x}" y="0" width="1.5" height="${BAR}"><title>${ok + bad + lost === 1 ? '1 request' : `${ok + bad + lost} requests`}: ${ok} succeeded, ${bad} refused, ${lost} without an answer</title></rect>`;
    });
    return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="6" y="10">${label} (${of.length})</text>${marks}</g>`;
  });
  return { title: 'requests', rows: kinds.length, draw };
}

function deadmanLane(report: RunReport, axis: Axis): Lane {
  const bars: Html[] = [];
  let armedAt: number | undefined;
  const close = (until: number) => {
    if (armedAt === undefined) return;
    bars.push(
      html`<rect class="bar armed" x="${axis.x(armedAt)}" y="0" width="${axis.width(armedAt, until)}" height="${BAR}" rx="2"><title>armed for ${spanText(until - armedAt)}</title></rect>`,
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

/** Two units of the drawing: finer than the eye. */
const COLUMN = 2;

function tokenArea({ spending, limit, windowMs }: TimeAxisData, axis: Axis): readonly Html[] {
  const columns = (WIDTH - LEFT - RIGHT) / COLUMN;
  const perColumn = (axis.end - axis.start) / columns;
  const heights: number[] = [];
  let next = 0;
  let oldest = 0;
  let inWindow = 0;
  for (let column = 0; column <= columns; column += 1) {
    const until = axis.start + column * perColumn;
    const drain = (at: number) => {
      for (
        let first = spending[oldest];
        first !== undefined && oldest < next && first.at <= at - windowMs;
        first = spending[oldest]
      ) {
        inWindow -= first.tokens;
        oldest += 1;
      }
    };
    let most = 0;
    for (let spent = spending[next]; spent !== undefined && spent.at <= until; spent = spending[next]) {
      drain(spent.at);
      inWindow += spent.tokens;
      most = Math.max(most, inWindow);
      next += 1;
    }
    drain(until);
    heights.push(Math.max(most, inWindow));
  }
  const peak = heights.reduce((most, each) => Math.max(most, each), 0);
  const top = Math.max(peak, limit ?? 0, 1);
  const y = (tokens: number) => round(TOKENS_HEIGHT - (tokens / top) * TOKENS_HEIGHT);
  const line = heights.map((tokens, column) => `L${round(LEFT + column * COLUMN)} ${y(tokens)}`).join('');
  const limitLine =
    limit === undefined
      ? []
      : [
          html`<line class="limit" x1="${LEFT}" y1="${y(limit)}" x2="${WIDTH - RIGHT}" y2="${y(limit)}"/><text class="label" x="6" y="${y(limit) + 10}">limit ${limit}</text>`,
        ];
  return [
    html`<path class="tokens" d="M${LEFT} ${TOKENS_HEIGHT}${line}L${WIDTH - RIGHT} ${TOKENS_HEIGHT}Z"><title>at most ${peak} tokens within ${spanText(windowMs)}</title></path>`,
    html`<line class="base" x1="${LEFT}" y1="${TOKENS_HEIGHT}" x2="${WIDTH - RIGHT}" y2="${TOKENS_HEIGHT}"/>`,
    ...limitLine,
    html`<text class="label" x="6" y="${TOKENS_HEIGHT - 2}">peak ${peak}</text>`,
  ];
}

function clipped(text: string, length: number): string {
  const whole = shown(text);
  return whole.length <= length ? whole : `${whole.slice(0, length - 1)}…`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
