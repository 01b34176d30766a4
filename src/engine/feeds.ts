/**
 * Reads feeds for the steps: again when a value is older than half its `max_age`; refused when older than `max_age`. A stale
 * feed is an error that a runbook can catch, never an old price.
 */

import type { Clock } from '../base/clock.ts';
import { type Decimal, parseDecimal } from '../base/decimal.ts';
import { formatSpan } from '../base/format.ts';
import type { DataOf } from '../journal/entry.ts';
import type { FeedDeclaration } from '../runbook/checked.ts';
import type { Expr, RecordValue, Scope, Value } from '../runbook/values.ts';
import { ACCOUNT_POSITION, type FeedNeed, MARKET_PRICE, type VenuePort } from '../venue/port.ts';
import { StepFailure } from './interruption.ts';
import { evaluate } from './scope.ts';

interface Reading {
  readonly value: Decimal;
  readonly at: number;
}

const NOT_READ = Promise.resolve(false);

/** The price of a market is a precaution where it only judges what a run leaves: it is not waited for long. */
const PRICE_READING: FeedNeed = { class: 'complete', withinMs: 2000 };

/**
 * The path of the step that reads, and its need; with `only`, of a feed by market it reads the value of this market alone. `dueAt`: when
 * the look was due that asks, epoch ms; by it a value that is held is young enough not to be read. Left out: now.
 */
type ReadingPlace =
  | string
  | {
      readonly step: string;
      readonly only: string | undefined;
      readonly need?: FeedNeed | undefined;
      readonly dueAt?: number | undefined;
    };

export class FeedCache {
  private readonly venue: VenuePort;
  private readonly clock: Clock;
  private readonly readings = new Map<string, Reading>();
  /** Readings of feeds that have no answer yet, by feed and market. */
  private readonly underWay = new Map<string, Promise<void>>();

  constructor(venue: VenuePort, clock: Clock) {
    this.venue = venue;
    this.clock = clock;
  }

  /** Refreshes the named feeds before the expressions of a step are evaluated; whether one was read. Throws StepFailure `stale_feed`. */
  ensure(
    names: readonly string[],
    declared: readonly FeedDeclaration[],
    scope: Scope,
    at: ReadingPlace,
  ): Promise<boolean> {
    return names.length === 0 ? NOT_READ : this.ensureAll(names, declared, scope, at);
  }

  private async ensureAll(
    names: readonly string[],
    declared: readonly FeedDeclaration[],
    scope: Scope,
    at: ReadingPlace,
  ): Promise<boolean> {
    const place = typeof at === 'string' ? { step: at, only: undefined } : at;
    const { step, only, need } = place;
    let hasRead = false;
    for (const name of names) {
      if (name === ACCOUNT_POSITION) {
        for (const market of this.venue.markets) await this.read(name, market, step, need);
        hasRead = true;
        continue;
      }
      const feed = declared.find((each) => each.name === name);
      if (feed === undefined) throw new Error(`engine: step ${step} reads feed ${name}, which is not declared`);
      const isOne = feed.type.kind === 'map' && only !== undefined;
      const markets = isOne ? [only] : this.listMarkets(feed, (expr) => evaluate(expr, scope, step));
      for (const market of markets) hasRead = (await this.ensureOne(feed, market, place)) || hasRead;
      if (feed.type.kind === 'map' && !markets.some((market) => this.readings.has(keyOf(name, market)))) {
        throw new StepFailure('stale_feed', `feed ${name}: no market's value could be read`, step);
      }
    }
    return hasRead;
  }

  /** Keeps a reading that the record has, of rounds that a resume passes over. */
  remember({ name, key, value, at }: Pick<DataOf<'feed.read'>, 'name' | 'key' | 'value' | 'at'>): void {
    this.keep(name, key, value === undefined || at === undefined ? undefined : { value, at });
  }

  /** What the account held when it was last read; undefined where that was not proven. */
  getAccountPosition(market: string): Decimal | undefined {
    return this.readings.get(keyOf(ACCOUNT_POSITION, market))?.value;
  }

  /** Reads the price of a market by the profile's price feed, whatever feeds the runbook declares. */
  readMarketPrice(market: string, step: string): Promise<void> {
    return this.read(MARKET_PRICE, market, step, PRICE_READING);
  }

  /** The price that `readMarketPrice` has read last; undefined where that reading gave none. */
  getMarketPrice(market: string): Decimal | undefined {
    return this.readings.get(keyOf(MARKET_PRICE, market))?.value;
  }

  /** The `feeds` record of a scope: decimals, or a map from market to decimal. */
  makeRecord(declared: readonly FeedDeclaration[], scope: Scope): RecordValue {
    const fields: Record<string, Value> = Object.create(null);
    for (const feed of declared) {
      if (feed.type.kind === 'map') {
        const known = this.venue.markets.flatMap((market): [string, Decimal][] => {
          const reading = this.readings.get(keyOf(feed.name, market));
          return reading === undefined ? [] : [[market, reading.value]];
        });
        fields[feed.name] = new Map(known);
      } else {
        const [market] = this.listMarkets(feed, (expr) => expr.evaluate(scope));
        fields[feed.name] = this.readings.get(keyOf(feed.name, market))?.value;
      }
    }
    return fields;
  }

  /**
   * The instant of the oldest of the named feeds, epoch ms: a price computed from them is as old. Of a map the value of
   * `market` counts, or the oldest where the map lacks it. Undefined without a reading.
   */
  findOldestAt(
    names: readonly string[],
    declared: readonly FeedDeclaration[],
    scope: Scope,
    market: string,
  ): number | undefined {
    const times = declared
      .filter((feed) => names.includes(feed.name))
      .flatMap((feed) => {
        const one = this.readings.get(keyOf(feed.name, market));
        if (feed.type.kind === 'map' && one !== undefined) return [one.at];
        return this.listMarkets(feed, (expr) => expr.evaluate(scope)).map(
          (each) => this.readings.get(keyOf(feed.name, each))?.at,
        );
      })
      .filter((at) => at !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  private listMarkets(feed: FeedDeclaration, find: (market: Expr<string>) => string): readonly (string | undefined)[] {
    if (feed.type.kind === 'map') return this.venue.markets;
    return [feed.market === undefined ? undefined : find(feed.market)];
  }

  private async ensureOne(
    feed: FeedDeclaration,
    market: string | undefined,
    { step, need, dueAt = this.clock.now() }: Exclude<ReadingPlace, string>,
  ): Promise<boolean> {
    const maxAge = feed.maxAge.ms;
    const name = keyOf(feed.name, market);
    const held = this.readings.get(name);
    if (held !== undefined && dueAt - held.at <= maxAge / 2) return false;
    await this.share(name, need, () => this.read(feed.name, market, step, need));
    const reading = this.readings.get(name);
    const age = reading === undefined ? undefined : this.clock.now() - reading.at;
    if (age !== undefined && age <= maxAge) return true;
    // One market without a value must not stop the others: it is absent from the map.
    if (feed.type.kind === 'map') {
      this.readings.delete(name);
      return true;
    }
    const found = age === undefined ? 'no value could be read' : `the newest value is ${formatSpan(age)} old`;
    const fix =
      market === undefined
        ? '; nothing says of which market: write one market under limits.markets, or declare the feed as a map by market'
        : '';
    throw new StepFailure(
      'stale_feed',
      `feed ${feed.name}${market === undefined ? '' : ` of ${market}`}: ${found}, at most ${formatSpan(maxAge)} is accepted${fix}`,
      step,
    );
  }

  /**
   * Waits for the reading that another branch has under way: forty branches that each read forty markets use up the tokens of their stops.
   * One with a need of its own waits for no other.
   */
  private share(name: string, need: FeedNeed | undefined, read: () => Promise<void>): Promise<void> {
    if (need !== undefined) return read();
    const under = this.underWay.get(name);
    if (under !== undefined) return under;
    const reading = read().finally(() => this.underWay.delete(name));
    this.underWay.set(name, reading);
    return reading;
  }

  /**
   * Keeps what was read. A price is kept until it is too old; a position that cannot be read is not the one it was, nor is the price
   * that judges what a run leaves.
   */
  private async read(
    name: string,
    market: string | undefined,
    step: string,
    need: FeedNeed | undefined,
  ): Promise<void> {
    this.keep(name, market, await this.venue.feed(name, market, step, need));
  }

  private keep(
    name: string,
    market: string | undefined,
    read: { readonly value: string; readonly at: number } | undefined,
  ): void {
    const value = read === undefined ? undefined : parseDecimal(read.value);
    const reading = read === undefined || value === undefined ? undefined : { value, at: read.at };
    if (reading !== undefined) this.readings.set(keyOf(name, market), reading);
    else if (name === ACCOUNT_POSITION || name === MARKET_PRICE) this.readings.delete(keyOf(name, market));
  }
}

function keyOf(name: string, market: string | undefined): string {
  return market === undefined ? name : `${name}\0${market}`;
}
