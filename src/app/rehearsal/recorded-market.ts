/**
 * The market of a rehearsal from files: recorded prices in place of the simulated walk, and the runbook's own feeds. Decides
 * where virtual time begins, and says when a run went on after the files ended.
 */

import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import { listTicks, withHistories } from '../../gateway/simulator/config/config.ts';
import type { PriceHistory, SimulatorConfig } from '../../gateway/simulator/config/settings.ts';
import { isFeedName } from '../../gateway/simulator/simulator.ts';
import { formatIsoTime } from '../../report/format.ts';
import { findLowerBound } from '../../report/time-scale.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { listRunbooks } from '../../runbook/steps/walk.ts';
import type { Value } from '../../runbook/values.ts';
import { UserError } from '../errors.ts';
import { type FeedFile, readFeedFile, readPriceFile } from '../files/prices.ts';
import { listMarkets } from '../plan.ts';

export interface RecordedMarket {
  readonly config: SimulatorConfig;
  /** By name, or by name and market: `funding[BTC-USD]`. */
  readonly feeds: Readonly<Record<string, FeedFile>>;
  readonly spans: readonly Span[];
  /** The markets whose prices are given. */
  readonly recorded: readonly string[];
}

/** The time that a file covers, epoch ms. */
interface Span {
  /** `prices of BTC-USD`, `feed funding`. */
  readonly what: string;
  readonly from: number;
  readonly to: number;
}

interface Given {
  /** As typed: `[MARKET=]FILE`. */
  readonly prices: readonly string[];
  /** As typed: `NAME=FILE`, `NAME[MARKET]=FILE`. */
  readonly feeds: readonly string[];
}

/** Reads the files. Throws a UserError for what is not in the runbook or at the simulated venue, and for a broken file. */
export function readRecordedMarket(
  given: Given,
  config: SimulatorConfig,
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
): RecordedMarket {
  const ticks = listTicks(config);
  const histories: Record<string, PriceHistory> = {};
  const feeds: Record<string, FeedFile> = {};
  const spans: Span[] = [];
  for (const text of given.prices) {
    const { name, path } = splitName(text);
    const market = name ?? findOnlyMarket(runbook, inputs, Object.keys(ticks), text);
    const tick = Object.hasOwn(ticks, market) ? ticks[market] : undefined;
    if (tick === undefined)
      throw new UserError(
        `the simulated venue has no market ${makePrintable(market, 60)}, only ${Object.keys(ticks).join(', ')}; --simulator can give it one, with its tick and lot`,
      );
    if (Object.hasOwn(histories, market)) throw new UserError(`--prices names ${makePrintable(market, 60)} twice`);
    const { history, from, to } = readPriceFile(path, tick);
    histories[market] = history;
    spans.push({ what: `prices of ${market}`, from, to });
  }
  const declared = listFeeds(runbook);
  for (const text of given.feeds) {
    const { name, path } = splitName(text);
    if (name === undefined)
      throw new UserError(`--feed takes NAME=FILE or NAME[MARKET]=FILE, found ${makePrintable(text, 100)}`);
    const [, of = name, market] = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name) ?? [];
    if (!declared.includes(of)) throw makeNoFeedError(runbook, of, declared);
    if (market !== undefined && !isByMarket(runbook, of))
      throw new UserError(
        `the feed ${of} of ${runbook.name} has one value, not one for each market: write --feed ${of}=FILE`,
      );
    if (Object.hasOwn(feeds, name)) throw new UserError(`--feed names ${makePrintable(name, 60)} twice`);
    const feed = readFeedFile(path);
    feeds[name] = feed;
    spans.push({ what: `feed ${name}`, from: feed.times[0] ?? 0, to: Number.POSITIVE_INFINITY });
  }
  const recorded = Object.keys(histories);
  return { config: recorded.length === 0 ? config : withHistories(config, histories), feeds, spans, recorded };
}

/** What to say of markets and feeds that nothing gives, before a run fails to read them. */
export function describeUnread(
  { config, feeds }: RecordedMarket,
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
): readonly string[] {
  const known = Object.keys(listTicks(config));
  const markets = listMarkets(runbook, inputs, known).unknown.map((market) => {
    const meant = suggestSpelling(market, known) ?? known.find((each) => each.toLowerCase() === market.toLowerCase());
    const hint =
      meant === undefined
        ? `it has ${known.join(', ')}, and --simulator can give it another, with its tick and lot`
        : `did you mean ${meant}?`;
    return `the simulated venue has no market ${makePrintable(market, 60)}; ${hint}`;
  });
  const unread = listFeeds(runbook)
    .filter((name) => !isFeedName(name) && !Object.keys(feeds).some((id) => id === name || id.startsWith(`${name}[`)))
    .map((name) => {
      const each = isByMarket(runbook, name) ? `, or --feed '${name}[MARKET]=FILE.csv' those of a market` : '';
      return `the simulated venue has no feed ${name}; --feed ${name}=FILE.csv gives its values (time,value)${each}`;
    });
  return [...markets, ...unread];
}

/** What to say of prices of a market that the runbook does not trade. A feed by market may still read them. */
export function describeUntraded(
  { config, recorded }: RecordedMarket,
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
): readonly string[] {
  if (listRunbooks(runbook).some(({ feeds }) => feeds.some(({ type }) => type.kind === 'map'))) return [];
  const { possible } = listMarkets(runbook, inputs, Object.keys(listTicks(config)));
  return recorded
    .filter((market) => !possible.includes(market))
    .map(
      (market) =>
        `${runbook.name} sends no request for ${market}, of which --prices gives prices; it has requests for ${possible.join(', ') || 'no market'}`,
    );
}

/** When virtual time begins: at the given time, else where every file has begun; undefined without files. */
export function chooseStart(spans: readonly Span[], at: number | undefined): number | undefined {
  const start = at ?? (spans.length === 0 ? undefined : Math.max(...spans.map(({ from }) => from)));
  for (const { what, from, to } of spans) {
    if (start === undefined || (start >= from && start < to) || (start === from && from === to)) continue;
    const until = Number.isFinite(to) ? ` to ${formatIsoTime(to)}` : ' on';
    throw new UserError(
      `the ${what}: from ${formatIsoTime(from)}${until}; the run would begin outside of it, at ${formatIsoTime(start)}`,
    );
  }
  return start;
}

/** What to say where the run went on after a file had ended. */
export function describeEnds(spans: readonly Span[], endedAt: number): readonly string[] {
  return spans
    .filter(({ to }) => to < endedAt)
    .map(({ what, to }) => `the ${what} end at ${formatIsoTime(to)}; from then on the last price held`);
}

/** The value of a feed at a time; undefined before its first. */
export function getFeedValue({ times, values }: FeedFile, at: number): string | undefined {
  // Times are whole.
  return values[findLowerBound(times, at + 1) - 1];
}

/** `MARKET=FILE` or `FILE`; a path may contain `=` after a slash. */
function splitName(text: string): { readonly name: string | undefined; readonly path: string } {
  const [, name, path] = /^([^=/\\]+)=(.+)$/.exec(text) ?? [];
  return name === undefined || path === undefined ? { name: undefined, path: text } : { name, path };
}

/** The market that prices without a name are of: the only one that the run trades, or that there is. */
function findOnlyMarket(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  known: readonly string[],
  text: string,
): string {
  const { traded } = listMarkets(runbook, inputs, known);
  const [market, other] = traded.length > 0 ? traded : known;
  if (market !== undefined && other === undefined) return market;
  throw new UserError(
    `--prices ${makePrintable(text, 100)} does not say of which market: ${(traded.length > 0 ? traded : known).join(', ')}; write --prices ${market ?? 'BTC-USD'}=${makePrintable(text, 100)}`,
  );
}

function listFeeds(runbook: CheckedRunbook): readonly string[] {
  return [...new Set(listRunbooks(runbook).flatMap(({ feeds }) => feeds.map(({ name }) => name)))];
}

function isByMarket(runbook: CheckedRunbook, name: string): boolean {
  return listRunbooks(runbook).some(({ feeds }) =>
    feeds.some((each) => each.name === name && each.type.kind === 'map'),
  );
}

function makeNoFeedError(runbook: CheckedRunbook, name: string, declared: readonly string[]): UserError {
  const meant = suggestSpelling(name, declared);
  const hint = meant !== undefined ? `did you mean ${meant}?` : `it has ${declared.join(', ') || 'none'}`;
  return new UserError(`${runbook.name} has no feed ${makePrintable(name, 60)}; ${hint}`);
}
