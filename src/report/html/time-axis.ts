/**
 * Draws a run over time as an SVG: steps, orders, requests, the deadman switch, and the tokens per window against the limit.
 * Its classes are styled by the page. The tables of the page give the same facts in words.
 */

import { formatCount, formatOffset, formatSpan } from '../../base/format.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { type DataOf, type Entry, readStepEnd, stripRounds } from '../../journal/entry.ts';
import type { OrderState } from '../../venue/order/states.ts';
import type { FollowedOrder } from '../folds/orders.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { formatIsoTime, formatText } from '../format.ts';
import { type Merging, PointSeries } from '../results/point-series.ts';
import { listOtherRequests } from '../results/run-rows.ts';
import { type BarOutcome, type StepBar, StepBars } from '../results/step-bars.ts';
import { chooseTicks, clamp, computeTokenColumns, createTimeScale, roundToTenth } from '../time-scale.ts';
import { type Html, html } from './text.ts';

interface TimeAxisData {
  readonly run: RunPageDocument;
  readonly orders: readonly FollowedOrder[];
  /** Of the tables below the drawing. */
  readonly counts: { readonly steps: number; readonly requests: number };
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

/** Requests at a time: those that succeeded, were refused, or got no answer. */
interface RequestPoint {
  readonly at: number;
  readonly isRead: boolean;
  ok: number;
  bad: number;
  lost: number;
  isWaiting: boolean;
}

/** Points of requests that are kept one by one. */
const MOST_REQUESTS = 12_000;
/** Bars in one row at most; more could not be distinguished. */
const MOST_BARS = 500;
const MORE = 'other steps';

/** Spans in which the switch was armed, until each end but one that is armed yet; or the instant at which it must have fired. */
interface ArmedSpan {
  readonly at: number;
  until: number | undefined;
  count: number;
  readonly isFired: boolean;
}

/** Collects what is drawn, entry by entry; its size does not depend on the length of the run. */
export class TimeAxisFold {
  private readonly rows = new Map<string, StepBars>();
  private readonly openSteps = new PassingMap<string, { readonly bars: StepBars; readonly place: number }>();
  private readonly requests = new PointSeries<RequestPoint>(MOST_REQUESTS, MERGED_REQUESTS);
  private readonly waiting = new PassingMap<string, RequestPoint>();
  private readonly counts = { reads: 0, writes: 0 };
  private readonly armed = new PointSeries<ArmedSpan>(MOST_BARS, MERGED_SPANS);
  private open: ArmedSpan | undefined;

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'step.started':
        this.beginStep(entry, entry.data.verb);
        return;
      case 'step.ended': {
        const { bars, place } = this.beginStep(entry, entry.data.verb);
        this.openSteps.delete(entry.step);
        bars.end(place, entry.at, readStepEnd(entry.data).outcome);
        return;
      }
      case 'call.attempted': {
        const { call, method } = entry.data;
        this.settle(call);
        this.waiting.set(call, this.addRequest(entry.at, method === 'GET', { lost: 1, isWaiting: true }));
        return;
      }
      case 'call.answered':
        this.settle(entry.data.call, { status: entry.data.status, success: false });
        return;
      case 'call.settled':
        this.settle(entry.data.call, entry.data);
        return;
      case 'deadman.moved':
        this.moveSwitch(entry.at, entry.data.event);
        return;
      default:
        for (const { row, at, answer } of listOtherRequests(entry))
          this.addRequest(at, row.method === 'GET', { [judge(answer)]: 1 });
    }
  }

  draw(data: TimeAxisData): Html {
    const { run, counts } = data;
    const axis = createAxis(run.startedAt, run.endedAt ?? run.lastAt);
    const lanes: Lane[] = [
      this.drawSteps(run, axis),
      drawOrders(data.orders, axis),
      this.drawRequests(axis),
      this.drawDeadman(axis),
    ].filter((lane) => lane.rows > 0);
    const parts: Html[] = [];
    let y = 24;
    for (const lane of lanes) {
      parts.push(html`<text class="lane" x="0" y="${y + 12}">${lane.title}</text>`);
      y += ROW;
      parts.push(html`<g transform="translate(0 ${y})">${lane.draw}</g>`);
      y += lane.rows * ROW + 10;
    }
    parts.push(html`<text class="lane" x="0" y="${y + 12}">tokens in ${formatSpan(run.tokens.windowMs)}</text>`);
    parts.push(html`<g transform="translate(0 ${y + ROW})">${drawTokens(run, axis)}</g>`);
    const height = y + ROW + TOKENS_HEIGHT + 10;
    const [from, to] = [formatIsoTime(run.startedAt), formatIsoTime(run.endedAt ?? run.lastAt)];
    const about = `${run.runbook} from ${from} to ${to}: ${formatCount(counts.steps, 'step')}, ${formatCount(run.orders.length, 'order')}, ${formatCount(counts.requests, 'request')}, ${formatCount(run.tokens.used, 'token')}.`;
    return html`<svg class="axis" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="axis-title axis-about" preserveAspectRatio="xMinYMin meet">
<title id="axis-title">The run over time</title><desc id="axis-about">${about} The tables below give the same facts.</desc>
${drawGrid(axis, height)}${parts}
</svg>`;
  }

  /** A row per step of the runbook; its iterations share it. */
  private beginStep({ step: path, at, seq }: Entry, verb: string): { readonly bars: StepBars; readonly place: number } {
    const known = this.openSteps.get(path);
    if (known !== undefined) return known;
    const lane = stripRounds(path);
    const key = this.rows.has(lane) || this.rows.size < MOST_STEPS ? lane : MORE;
    const bars = this.rows.get(key) ?? new StepBars(MOST_BARS);
    this.rows.set(key, bars);
    const begun = { bars, place: bars.begin({ from: at, seq, path, verb }) };
    this.openSteps.set(path, begun);
    return begun;
  }

  private drawSteps({ outcome, lastAt }: RunPageDocument, axis: Axis): Lane {
    // As in the table: a step without an end ended as the run did.
    const open: BarOutcome = outcome === undefined || outcome === 'halted' ? 'halted' : 'failed';
    const draw = [...this.rows].map(([path, bars], row) => {
      const depth = path === MORE ? 0 : Math.min(4, (path.match(/\//g)?.length ?? 1) - 1);
      return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="${6 + depth * 10}" y="10">${clipText(path === MORE ? MORE : getLabel(path), 24 - depth)}</text>${bars.list(lastAt, open).map((bar) => drawBar(bar, axis))}</g>`;
    });
    return { title: 'steps', rows: this.rows.size, draw };
  }

  private addRequest(at: number, isRead: boolean, counts: Partial<RequestPoint>): RequestPoint {
    const point = { at, isRead, ok: 0, bad: 0, lost: 0, isWaiting: false, ...counts };
    this.requests.add(point);
    this.counts[isRead ? 'reads' : 'writes'] += 1;
    return point;
  }

  /** Without an answer: of an attempt of a process that died. */
  private settle(call: string, answer?: Answer): void {
    const point = this.waiting.get(call);
    this.waiting.delete(call);
    if (point === undefined) return;
    point.isWaiting = false;
    if (answer === undefined) return;
    point.lost = 0;
    point[judge(answer)] = 1;
  }

  /** Requests are close together; each position shows the worst of them. */
  private drawRequests(axis: Axis): Lane {
    const { points } = this.requests;
    const kinds = [
      { label: 'reads', count: this.counts.reads, of: points.filter(({ isRead }) => isRead) },
      { label: 'writes', count: this.counts.writes, of: points.filter(({ isRead }) => !isRead) },
    ].filter(({ count }) => count > 0);
    const draw = kinds.map(({ label, count, of }, row) => {
      const places = new Map<number, { ok: number; bad: number; lost: number }>();
      for (const { at, ok, bad, lost } of of.toSorted((a, b) => a.at - b.at)) {
        const x = Math.round(axis.x(at));
        const place = places.get(x) ?? { ok: 0, bad: 0, lost: 0 };
        places.set(x, { ok: place.ok + ok, bad: place.bad + bad, lost: place.lost + lost });
      }
      const marks = [...places].map(([x, { ok, bad, lost }]) => {
        const worst = lost > 0 ? 'lost' : bad > 0 ? 'bad' : 'ok';
        return html`<rect class="mark ${worst}" x="${x}" y="0" width="1.5" height="${BAR}"><title>${formatCount(ok + bad + lost, 'request')}: ${ok} succeeded, ${bad} refused, ${lost} without an answer</title></rect>`;
      });
      return html`<g transform="translate(0 ${row * ROW})"><text class="label" x="6" y="10">${label} (${count})</text>${marks}</g>`;
    });
    return { title: 'requests', rows: kinds.length, draw };
  }

  private moveSwitch(at: number, event: DataOf<'deadman.moved'>['event']): void {
    if (event === 'armed' || event === 'renewed') {
      if (this.open !== undefined) return;
      this.open = { at, until: undefined, count: 1, isFired: false };
      this.armed.add(this.open);
      return;
    }
    if (this.open !== undefined) this.open.until = at;
    this.open = undefined;
    if (event === 'assumed_fired') this.armed.add({ at, until: at, count: 1, isFired: true });
  }

  private drawDeadman(axis: Axis): Lane {
    const bars = this.armed.points.map(({ at, until = axis.end, count, isFired }) =>
      isFired
        ? html`<rect class="mark lost" x="${axis.x(at)}" y="-2" width="3" height="${BAR + 4}"><title>must have fired</title></rect>`
        : html`<rect class="bar armed" x="${axis.x(at)}" y="0" width="${axis.width(at, until)}" height="${BAR}" rx="2"><title>armed ${count === 1 ? '' : `${formatCount(count, 'time')} `}for ${formatSpan(until - at)}</title></rect>`,
    );
    const draw = bars.length === 0 ? [] : [html`<text class="label" x="6" y="10">armed</text>`, ...bars];
    return { title: 'deadman switch', rows: draw.length === 0 ? 0 : 1, draw };
  }
}

type Answer = { readonly status?: number | null; readonly success?: boolean };

function judge({ status = null, success = false }: Answer): 'ok' | 'bad' | 'lost' {
  return success ? 'ok' : status === null ? 'lost' : 'bad';
}

const MERGED_REQUESTS: Merging<RequestPoint> = {
  findGroup: ({ isRead, isWaiting }) => (isWaiting ? undefined : isRead ? 'reads' : 'writes'),
  add(into, next) {
    into.ok += next.ok;
    into.bad += next.bad;
    into.lost += next.lost;
  },
};

const MERGED_SPANS: Merging<ArmedSpan> = {
  findGroup: ({ until, isFired }) => (isFired || until === undefined ? undefined : 'armed'),
  add(into, next) {
    into.until = next.until;
    into.count += next.count;
  },
};

function drawBar({ path, verb, outcome, from, until, count }: StepBar, axis: Axis): Html {
  const rounds = count === 1 ? '' : ` ${formatCount(count, 'round', 'rounds')},`;
  return html`<rect class="bar ${outcome}" x="${axis.x(from)}" y="0" width="${axis.width(from, until)}" height="${BAR}" rx="2"><title>${formatText(path)}: ${verb},${rounds} ${outcome}, ${formatSpan(until - from)}</title></rect>`;
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

function drawOrders(orders: readonly FollowedOrder[], axis: Axis): Lane {
  const drawn = orders.slice(0, MOST_ORDERS);
  const draw = drawn.map(({ order: { intent, snapshot, createdAt }, history }, row) => {
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

/** Width of a column in units of the drawing; finer than the eye sees. */
const COLUMN = 2;

function drawTokens({ tokens: { spent, limit, windowMs }, startedAt }: RunPageDocument, axis: Axis): readonly Html[] {
  const columns = (WIDTH - LEFT - RIGHT) / COLUMN;
  const heights = computeTokenColumns(spent, windowMs, axis.start - startedAt, axis.end - startedAt, columns);
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
