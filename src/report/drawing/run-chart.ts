/** Draws one run: by market the price with its orders and fills, the position, and the net, over time. */
import { Decimal } from '../../base/decimal.ts';
import { formatCount, formatOffset } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { RunOutline } from '../folds/run.ts';
import { formatMoney } from '../format.ts';
import { type Html, html, type Piece } from '../html/text.ts';
import type { StepRow } from '../results/run-rows.ts';
import { chooseTicks, createTimeScale, roundToTenth } from '../time-scale.ts';
import { type DrawingForm, finishDrawing } from './frame.ts';
import type { DrawnFill, DrawnOrder, MarketData, MoneyPoint } from './run-data.ts';
import { makeValueAxis, type ValueAxis } from './value-axis.ts';

const WIDTH = 1120;
const LEFT = 78;
const RIGHT = 1100;
const HEAD = 62;
/** Heights of the panels of a market, and the room above each for its name. */
const PANELS = { price: 300, position: 90, net: 130, name: 26 } as const;
const MARKET_HEIGHT = PANELS.price + PANELS.position + PANELS.net + 3 * PANELS.name + 30;
/** Of a run over many markets the first are drawn. */
const MOST_MARKETS = 6;

interface Times {
  readonly start: number;
  x(at: number): number;
  readonly ticks: readonly { readonly x: number; readonly text: string }[];
}

/** `failed`: the step that made the run fail. */
export function drawRun(
  report: RunOutline,
  markets: readonly MarketData[],
  { form, failed }: { readonly form: DrawingForm; readonly failed?: Pick<StepRow, 'endedAt'> | undefined },
): string {
  const start = Date.parse(report.startedAt);
  const times = makeTimes(start, Math.max(Date.parse(report.endedAt), start + 1));
  const shown = markets.slice(0, MOST_MARKETS);
  const failure = failed && Date.parse(failed.endedAt);
  const outcome = `${report.outcome}${report.reason === undefined ? '' : `: ${makePrintable(report.reason, 120)}`}`;
  const fills = shown.reduce((count, { fills: own }) => count + own.length, 0);
  return finishDrawing(
    {
      title: `${report.runbook}  ${outcome}`,
      description: `${formatCount(report.orders.length, 'order')} and ${formatCount(fills, 'fill')} in ${shown.map(({ market }) => market).join(', ') || 'no market'}`,
      width: WIDTH,
      height: HEAD + Math.max(1, shown.length) * MARKET_HEIGHT,
      content: [
        html`<text class="quiet" x="16" y="50">${report.mode}, from ${report.startedAt}; times since the start. Dashed lines are orders (dotted: triggers), triangles fills: up long, down short</text>
`,
        shown.map((data, index) =>
          drawMarket(data, report, times, { top: HEAD + index * MARKET_HEIGHT, failure: failure && times.x(failure) }),
        ),
      ],
    },
    form,
  );
}

function makeTimes(from: number, until: number): Times {
  const scale = createTimeScale(from, until, RIGHT - LEFT);
  const { ticks, digits } = chooseTicks(0, until - from, 10);
  const x = (at: number) => roundToTenth(LEFT + Math.min(RIGHT - LEFT, Math.max(0, scale.x(at))));
  return { start: from, x, ticks: ticks.map((tick) => ({ x: x(from + tick), text: formatOffset(tick, digits) })) };
}

function drawMarket(
  { market, prices, orders, fills, money }: MarketData,
  report: RunOutline,
  times: Times,
  { top, failure }: { readonly top: number; readonly failure: number | undefined },
): Html {
  const figures = report.money[market];
  const price = { top: top + PANELS.name, bottom: top + PANELS.name + PANELS.price };
  const position = { top: price.bottom + PANELS.name, bottom: price.bottom + PANELS.name + PANELS.position };
  const net = { top: position.bottom + PANELS.name, bottom: position.bottom + PANELS.name + PANELS.net };
  const values = [
    ...prices.map((point) => point.price),
    ...fills.map((fill) => fill.price),
    ...orders.flatMap((order) => [order.price ?? [], order.trigger ?? []].flat()),
  ];
  const near = keepNear(values, [...prices.map((point) => point.price), ...fills.map((fill) => fill.price)]);
  const priceAxis = makeValueAxis(near, { from: price.bottom, to: price.top }, 7);
  const zero = new Decimal(0);
  const sizeAxis = makeValueAxis(
    [zero, ...money.map(({ size }) => size)],
    { from: position.bottom, to: position.top },
    3,
  );
  const netAxis = makeValueAxis([zero, ...money.map((point) => point.net)], { from: net.bottom, to: net.top }, 4);
  const said =
    figures === undefined ? 'net' : `net ${formatMoney(figures.net)}, of it fees ${formatMoney(figures.fees)}`;
  const mark =
    failure === undefined
      ? undefined
      : html`<line class="mark" x1="${failure}" x2="${failure}" y1="${price.top}" y2="${net.bottom}"><title>the failure</title></line>`;
  return html`${drawPanel(`${market}: price`, priceAxis, price, times)}${drawPanel('position', sizeAxis, position, times)}${drawPanel(said, netAxis, net, times)}
${drawLine('price', prices, priceAxis, times, (point) => point.price)}
${orders.map((order) => drawOrder(order, priceAxis, price, times))}
${fills.map((fill) => drawFill(fill, priceAxis, times))}
${drawHeld(money, sizeAxis, times)}
${drawLine('net', money, netAxis, times, (point) => point.net)}
${mark}
${times.ticks.map(({ x, text }) => html`<text class="quiet middle" x="${x}" y="${net.bottom + 18}">${text}</text>`)}
`;
}

/** Orders far from the prices would press these into a line: they are drawn at the edge. */
function keepNear(values: readonly Decimal[], prices: readonly Decimal[]): readonly Decimal[] {
  if (prices.length === 0) return values;
  const [low, high] = [Decimal.min(...prices), Decimal.max(...prices)];
  const room = Decimal.max(high.minus(low), high.times('0.005')).times(2);
  return values.filter((value) => value.gte(low.minus(room)) && value.lte(high.plus(room)));
}

function drawPanel(
  name: string,
  axis: ValueAxis,
  { top, bottom }: { readonly top: number; readonly bottom: number },
  times: Times,
): Html {
  const marks = axis.ticks.map((tick): Html => {
    const y = roundToTenth(axis.place(tick));
    return html`<line class="${tick.isZero() ? 'zero' : 'grid'}" x1="${LEFT}" x2="${RIGHT}" y1="${y}" y2="${y}"/><text class="quiet end" x="${LEFT - 8}" y="${y + 4}">${axis.format(tick)}</text>
`;
  });
  const columns = times.ticks.map(
    ({ x }) => html`<line class="grid" x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>
`,
  );
  return html`<text x="${LEFT}" y="${top - 8}">${name}</text>
${columns}${marks}<line class="axis" x1="${LEFT}" x2="${RIGHT}" y1="${bottom}" y2="${bottom}"/>
`;
}

/** A line over time; of the points of one column of pixels, the first, the extremes and the last. */
function drawLine<P extends { readonly at: number }>(
  name: string,
  points: readonly P[],
  axis: ValueAxis,
  times: Times,
  read: (point: P) => Decimal,
): Piece {
  const columns = new Map<number, number[]>();
  for (const point of points) {
    const x = Math.round(times.x(point.at));
    const y = roundToTenth(axis.place(read(point)));
    const ys = columns.get(x);
    if (ys === undefined) columns.set(x, [y]);
    else ys.push(y);
  }
  const path = [...columns].flatMap(([x, ys]) => {
    const first = ys[0] as number;
    const last = ys.at(-1) as number;
    const kept = ys.length < 4 ? ys : [first, Math.min(...ys), Math.max(...ys), last];
    return kept.map((y) => `${x},${y}`);
  });
  return path.length === 0 ? undefined : html`<polyline class="${name}" points="${path.join(' ')}"/>`;
}

function drawOrder(
  { side, from, until, price, trigger, label }: DrawnOrder,
  axis: ValueAxis,
  panel: { readonly top: number; readonly bottom: number },
  times: Times,
): readonly Piece[] {
  const draw = (value: Decimal | undefined, dashes: string): Piece => {
    if (value === undefined) return undefined;
    const y = Math.min(panel.bottom, Math.max(panel.top, roundToTenth(axis.place(value))));
    const [x1, x2] = [times.x(from), Math.max(times.x(until), times.x(from) + 3)];
    return html`<line class="order ${side}" stroke-dasharray="${dashes}" x1="${x1}" x2="${x2}" y1="${y}" y2="${y}"><title>${`${label} at ${value.toFixed()}`}</title></line>
`;
  };
  return [draw(price, '6 3'), draw(trigger, '2 3')];
}

function drawFill({ at, side, price, size }: DrawnFill, axis: ValueAxis, times: Times): Html {
  const [x, y] = [times.x(at), roundToTenth(axis.place(price))];
  const points =
    side === 'long'
      ? `${x},${y - 6} ${x - 5},${y + 4} ${x + 5},${y + 4}`
      : `${x},${y + 6} ${x - 5},${y - 4} ${x + 5},${y - 4}`;
  return html`<polygon class="fill ${side}" points="${points}"><title>${`${side} ${size} at ${price.toFixed()}, ${formatOffset(at - times.start)}`}</title></polygon>
`;
}

/** The position as an area: it holds from each change to the next. */
function drawHeld(money: readonly MoneyPoint[], axis: ValueAxis, times: Times): Piece {
  const base = roundToTenth(axis.place(new Decimal(0)));
  const corners: string[] = [];
  let before: MoneyPoint | undefined;
  for (const [index, point] of money.entries()) {
    const isLast = index === money.length - 1;
    if (before?.size.equals(point.size) && !isLast) continue;
    const x = times.x(point.at);
    if (before !== undefined) corners.push(`${x},${roundToTenth(axis.place(before.size))}`);
    else corners.push(`${x},${base}`);
    corners.push(`${x},${isLast ? base : roundToTenth(axis.place(point.size))}`);
    before = point;
  }
  return corners.length === 0 ? undefined : html`<polygon class="held" points="${corners.join(' ')}"/>`;
}
