/**
 * The market of a past run, from its journal: the prices that it read and at which it traded, its feeds as it read them, and the
 * answers that people gave. A rehearsal plays them for another runbook. It knows no more than the run saw: between two readings
 * the price holds, and depth and spread are the simulated ones.
 */
import { type DecimalString, decimal, parseDecimal } from '../../base/decimal.ts';
import { withHistories } from '../../gateway/simulator/config/config.ts';
import type { GivenMarket, PriceHistory, SimulatorConfig } from '../../gateway/simulator/config/settings.ts';
import { countTicks } from '../../gateway/simulator/price/prices.ts';
import type { DataOf, Entry } from '../../journal/entry.ts';
import { foldOrders } from '../../report/folds/orders.ts';
import { PriceReadingFold, type PriceReadings } from '../../report/folds/prices.ts';
import type { MarketRules } from '../../venue/port.ts';
import { EXIT, UserError } from '../errors.ts';
import type { FeedFile } from '../files/prices.ts';
import type { Answer } from './answers.ts';

export interface PastMarket {
  readonly started: DataOf<'run.started'>;
  readonly config: SimulatorConfig;
  /** By name, and by name and market as in `mid[BTC-USD]`. */
  readonly feeds: Readonly<Record<string, FeedFile>>;
  /** By the path of the step. */
  readonly answers: ReadonlyMap<string, Answer>;
}

/** The feed that shows the price of a market best, by its name. */
export function findMiddle(names: readonly string[]): string | undefined {
  return ['mid', 'mark', 'fair', 'index', 'last'].find((name) => names.includes(name));
}

interface Point {
  readonly at: number;
  readonly price: DecimalString;
}

/** Throws a UserError where the run saw no price. */
export function readPastMarket(entries: readonly Entry[]): PastMarket {
  const [first] = entries;
  if (first?.type !== 'run.started')
    throw new UserError('the journal does not begin with run.started', EXIT.failed, 'damaged');
  const rules = (first.data.settings as { readonly markets?: Readonly<Record<string, MarketRules>> }).markets ?? {};
  const points = listPoints(entries, first.data.startedAt, Object.keys(rules));
  const markets: Record<string, GivenMarket> = {};
  const histories: Record<string, PriceHistory> = {};
  for (const [market, rule] of Object.entries(rules)) {
    const own = points.get(market) ?? [];
    if (own.length === 0) continue;
    const tick = decimal(rule.tick);
    markets[market] = { ...rule };
    histories[market] = {
      form: 'ticks',
      times: Float64Array.from(own, ({ at }) => at),
      ticks: Float64Array.from(own, ({ price }) => Math.max(1, countTicks(decimal(price), tick))),
    };
  }
  if (Object.keys(markets).length === 0)
    throw new UserError('the run read no price of its markets and has no fills: its market is not known', EXIT.failed);
  return {
    started: first.data,
    config: withHistories({ markets }, histories),
    feeds: listFeeds(entries),
    answers: listAnswers(entries),
  };
}

/** The prices of each market in the order of their times: one feed of the run, and its fills. */
function listPoints(
  entries: readonly Entry[],
  startedAt: number,
  markets: readonly string[],
): ReadonlyMap<string, readonly Point[]> {
  const orders = foldOrders(entries);
  const readings = new PriceReadingFold();
  for (const entry of entries) readings.apply(entry);
  const known = orders.flatMap(({ intent, snapshot: { context } }) => {
    const price = [...context.fills.values()][0]?.price ?? context.price;
    return price === undefined ? [] : [{ market: intent.market, price }];
  });
  const series = readings.listReadings(known);
  return new Map(
    markets.map((market) => {
      const chosen = chooseSeries(series.filter((each) => each.market === market));
      const quotes = (chosen?.at ?? []).map((at, index) => ({
        at: startedAt + at,
        price: chosen?.price[index] ?? '0',
      }));
      const fills = orders.flatMap(({ intent, snapshot }) =>
        intent.market === market
          ? [...snapshot.context.fills.values()].map(({ timestamp, price }) => ({
              at: Math.floor(timestamp / 1000),
              price,
            }))
          : [],
      );
      return [market, [...quotes, ...fills].sort((a, b) => a.at - b.at)] as const;
    }),
  );
}

function chooseSeries(series: readonly PriceReadings[]): PriceReadings | undefined {
  const middle = findMiddle(series.map(({ feed }) => feed));
  return series.find(({ feed }) => feed === middle) ?? series[0];
}

function listFeeds(entries: readonly Entry[]): Readonly<Record<string, FeedFile>> {
  const feeds: Record<string, { times: number[]; values: string[] }> = {};
  for (const entry of entries) {
    if (entry.type !== 'feed.read' || entry.data.value === undefined) continue;
    const { name, key, value } = entry.data;
    if (parseDecimal(value) === undefined) continue;
    const id = key === undefined ? name : `${name}[${key}]`;
    const feed = feeds[id] ?? { times: [], values: [] };
    feeds[id] = feed;
    feed.times.push(entry.at);
    feed.values.push(value);
  }
  return feeds;
}

/** What people answered, as long after the question as they did. */
function listAnswers(entries: readonly Entry[]): ReadonlyMap<string, Answer> {
  const asked = new Map<string, number>();
  const answers = new Map<string, Answer>();
  for (const entry of entries) {
    if (entry.type === 'approval.asked') asked.set(entry.step, entry.at);
    if (entry.type !== 'operator.acted') continue;
    const { command, step = '' } = entry.data;
    const since = asked.get(step);
    if ((command === 'approve' || command === 'reject') && since !== undefined)
      answers.set(step, { command, afterMs: entry.at - since });
  }
  return answers;
}
