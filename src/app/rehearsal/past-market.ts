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
import { OrderFold } from '../../report/folds/orders.ts';
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

/** Folds the market of a run, entry by entry. It grows with the run's orders and with the changes of its feeds. */
export class PastMarketFold {
  private started: DataOf<'run.started'> | undefined;
  private readonly orders = new OrderFold();
  private readonly readings = new PriceReadingFold();
  private readonly feeds: Record<string, { times: number[]; values: string[] }> = {};
  private readonly asked = new Map<string, number>();
  private readonly answers = new Map<string, Answer>();

  apply(entry: Entry): void {
    if (this.started === undefined && entry.type !== 'run.started')
      throw new UserError('the journal does not begin with run.started', EXIT.failed, 'damaged');
    if (entry.type === 'run.started') this.started ??= entry.data;
    this.orders.apply(entry);
    this.readings.apply(entry);
    if (entry.type === 'feed.read') this.addReading(entry.data, entry.at);
    if (entry.type === 'approval.asked') this.asked.set(entry.step, entry.at);
    if (entry.type === 'operator.acted') this.addAnswer(entry.data, entry.at);
  }

  /** Throws a UserError where the run saw no price. */
  market(): PastMarket {
    const { started, feeds, answers } = this;
    if (started === undefined) throw new UserError('the run has no entries', EXIT.failed, 'damaged');
    const rules = (started.settings as { readonly markets?: Readonly<Record<string, MarketRules>> }).markets ?? {};
    const points = this.listPoints(started.startedAt, Object.keys(rules));
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
      throw new UserError(
        'the run read no price of its markets and has no fills: its market is not known',
        EXIT.failed,
      );
    return { started, config: withHistories({ markets }, histories), feeds, answers };
  }

  /** The prices of each market in the order of their times: one feed of the run, and its fills. */
  private listPoints(startedAt: number, markets: readonly string[]): ReadonlyMap<string, readonly Point[]> {
    const orders = this.orders.orders();
    const known = orders.flatMap(({ intent, snapshot: { context } }) => {
      const price = [...context.fills.values()][0]?.price ?? context.price;
      return price === undefined ? [] : [{ market: intent.market, price }];
    });
    const series = this.readings.listReadings(known);
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

  /** A value holds until the next: one that is read again as it was is not kept. */
  private addReading({ name, key, value }: DataOf<'feed.read'>, at: number): void {
    if (value === undefined || parseDecimal(value) === undefined) return;
    const id = key === undefined ? name : `${name}[${key}]`;
    const feed = this.feeds[id] ?? { times: [], values: [] };
    this.feeds[id] = feed;
    if (feed.values.at(-1) === value) return;
    feed.times.push(at);
    feed.values.push(value);
  }

  /** What people answered, as long after the question as they did. */
  private addAnswer({ command, step = '' }: DataOf<'operator.acted'>, at: number): void {
    const since = this.asked.get(step);
    if ((command === 'approve' || command === 'reject') && since !== undefined)
      this.answers.set(step, { command, afterMs: at - since });
  }
}

function chooseSeries(series: readonly PriceReadings[]): PriceReadings | undefined {
  const middle = findMiddle(series.map(({ feed }) => feed));
  return series.find(({ feed }) => feed === middle) ?? series[0];
}
