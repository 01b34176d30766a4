/** Reads the files of `--prices` and `--feed`: recorded ticks or candles of a market, and the values of a feed. */
import { Decimal, type DecimalString, decimal } from '../../base/decimal.ts';
import { MOST_TICKS } from '../../gateway/simulator/config/config.ts';
import type { PriceHistory } from '../../gateway/simulator/config/settings.ts';
import { measureCandle } from '../../gateway/simulator/price/candles.ts';
import { countTicks } from '../../gateway/simulator/price/prices.ts';
import type { UserError } from '../errors.ts';
import { readSeries, type SeriesForm } from './series.ts';

type PriceColumn = 'time' | 'price' | 'size' | 'open' | 'high' | 'low' | 'close' | 'volume';

const TICKS: SeriesForm<PriceColumn> = { columns: ['time', 'price'], optional: ['size'], sameTimes: true };
const CANDLES: SeriesForm<PriceColumn> = {
  columns: ['time', 'open', 'high', 'low', 'close'],
  optional: ['volume'],
  sameTimes: false,
};
const FEED: SeriesForm<'time' | 'value'> = { columns: ['time', 'value'], optional: [], sameTimes: false };

/** Shorter candles do not fit the steps of the simulated market. */
const SHORTEST_CANDLE_MS = 1000;

/** Recorded prices and the time that they cover, epoch ms. */
export interface PriceFile {
  readonly history: PriceHistory;
  readonly from: number;
  readonly to: number;
}

/** Reads ticks or candles; a price between two ticks of the market becomes the nearer one. */
export function readPriceFile(path: string, tick: DecimalString): PriceFile {
  const step = decimal(tick);
  const times: number[] = [];
  const ticks: number[] = [];
  let form = 'ticks' as PriceHistory['form'];
  readSeries(path, 'prices', [TICKS, CANDLES], (found) => {
    form = found === CANDLES ? 'candles' : 'ticks';
    const columns = form === 'ticks' ? (['price'] as const) : (['open', 'high', 'low', 'close'] as const);
    const amount = form === 'ticks' ? 'size' : 'volume';
    return ({ at, text }, refuse) => {
      const prices = columns.map((column) => {
        const price = decimal(text(column));
        const count = countTicks(price, step);
        if (count < 1 || count > MOST_TICKS)
          throw refuse(`${column} ${text(column)} is not from one to 2^40 ticks of ${tick}`);
        ticks.push(count);
        return price;
      });
      if (text(amount).startsWith('-')) throw refuse(`${amount} must not be negative, found ${text(amount)}`);
      if (form === 'candles') checkCandle(prices, refuse);
      const before = times.at(-1);
      if (form === 'candles' && before !== undefined && at - before < SHORTEST_CANDLE_MS)
        throw refuse('candles shorter than a second are not read; give ticks');
      times.push(at);
    };
  });
  const history: PriceHistory = { form, times: Float64Array.from(times), ticks: Float64Array.from(ticks) };
  const length = form === 'candles' ? measureCandle(history.times) : 0;
  return { history, from: times[0] ?? 0, to: (times.at(-1) ?? 0) + length };
}

function checkCandle([open, high, low, close]: readonly Decimal[], refuse: (problem: string) => UserError): void {
  if (open === undefined || high === undefined || low === undefined || close === undefined) return;
  if (high.lessThan(Decimal.max(open, low, close))) throw refuse(`high ${high.toFixed()} is below another price`);
  if (low.greaterThan(Decimal.min(open, close))) throw refuse(`low ${low.toFixed()} is above another price`);
}

/** The values of a feed; each holds from its time to the next. */
export interface FeedFile {
  /** Epoch ms, ascending. */
  readonly times: readonly number[];
  readonly values: readonly DecimalString[];
}

export function readFeedFile(path: string): FeedFile {
  const times: number[] = [];
  const values: DecimalString[] = [];
  readSeries(path, 'feed', [FEED], () => ({ at, text }) => {
    times.push(at);
    values.push(text('value'));
  });
  return { times, values };
}
