/** Draws how often a figure of many runs was in each range: the histogram of a sweep. */

import { Decimal, type DecimalString, decimal } from '../../base/decimal.ts';
import { formatCount } from '../../base/format.ts';
import { type Html, html } from '../html/text.ts';
import { roundToTenth } from '../time-scale.ts';
import { type DrawingForm, finishDrawing } from './frame.ts';
import { makeValueAxis } from './value-axis.ts';

const SIZE = { width: 960, height: 420 } as const;
const PLOT = { left: 60, right: 930, top: 60, bottom: 360 } as const;
/** A gap between two bars, pixels. */
const GAP = 2;
const MOST_BARS = 48;

/** `values` in quote currency. */
export function drawHistogram(title: string, values: readonly DecimalString[], form: DrawingForm): string {
  const amounts = values.map(decimal);
  const across = makeValueAxis(amounts, { from: PLOT.left, to: PLOT.right }, 10);
  const count = Math.max(1, Math.min(MOST_BARS, Math.ceil(2 * Math.sqrt(values.length))));
  const counts = new Array<number>(count).fill(0);
  const span = across.high.minus(across.low);
  for (const amount of amounts) {
    const bar = Number(amount.minus(across.low).times(count).div(span).floor().toFixed());
    counts[Math.min(count - 1, bar)] = (counts[Math.min(count - 1, bar)] ?? 0) + 1;
  }
  const most = Math.max(1, ...counts);
  const up = makeValueAxis([new Decimal(0), new Decimal(most)], { from: PLOT.bottom, to: PLOT.top }, 6);
  const width = (PLOT.right - PLOT.left) / count;
  const base = up.place(new Decimal(0));
  const bars = counts.flatMap((height, index): Html[] => {
    if (height === 0) return [];
    const [from, to] = [index, index + 1].map((edge) => across.low.plus(span.times(edge).div(count)));
    const top = up.place(new Decimal(height));
    const loss = to?.lessThanOrEqualTo(0) === true ? ' loss' : '';
    const about = `${from?.toFixed(2)} to ${to?.toFixed(2)}: ${formatCount(height, 'run')}`;
    return [
      html`<rect class="bar${loss}" x="${roundToTenth(PLOT.left + index * width + GAP / 2)}" y="${roundToTenth(top)}" width="${roundToTenth(width - GAP)}" height="${roundToTenth(base - top)}"><title>${about}</title></rect>
`,
    ];
  });
  const below = across.ticks.map(
    (
      tick,
    ) => html`<line class="grid" x1="${roundToTenth(across.place(tick))}" x2="${roundToTenth(across.place(tick))}" y1="${PLOT.top}" y2="${roundToTenth(base)}"/><text class="quiet middle" x="${roundToTenth(across.place(tick))}" y="${roundToTenth(base) + 20}">${across.format(tick)}</text>
`,
  );
  const beside = up.ticks
    .filter((tick) => tick.isInteger() && !tick.isNegative())
    .map(
      (
        tick,
      ) => html`<text class="quiet end" x="${PLOT.left - 8}" y="${roundToTenth(up.place(tick)) + 4}">${tick.toFixed()}</text>
`,
    );
  const zero = new Decimal(0);
  const hasZero = across.low.isNegative() && across.high.isPositive();
  const line = hasZero
    ? html`<line class="zero" x1="${roundToTenth(across.place(zero))}" x2="${roundToTenth(across.place(zero))}" y1="${PLOT.top}" y2="${roundToTenth(base)}"/>`
    : undefined;
  return finishDrawing(
    {
      ...SIZE,
      title,
      description: `${formatCount(values.length, 'run')}, net from ${Decimal.min(...amounts).toFixed(2)} to ${Decimal.max(...amounts).toFixed(2)}`,
      content: [
        below,
        beside,
        html`<line class="axis" x1="${PLOT.left}" x2="${PLOT.right}" y1="${roundToTenth(base)}" y2="${roundToTenth(base)}"/>
`,
        bars,
        line,
        html`<text class="quiet middle" x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 44}">net, quote currency</text><text class="quiet" x="16" y="${PLOT.top - 10}">runs</text>`,
      ],
    },
    form,
  );
}
