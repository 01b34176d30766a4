/**
 * Checks a configuration of the simulator and completes it with the defaults. An invalid configuration gives a list of
 * problems before the simulation starts.
 */
import { type DecimalString, decimal, formatDecimal, parseDecimal } from '../../../base/decimal.ts';
import { mapFields } from '../../../base/json.ts';
import { makePrintable } from '../../../base/printable.ts';
import { completeWithDefaults, findSchemaIssues, listKeysAt, type SchemaIssue } from '../../../base/schema.ts';
import { suggestSpelling } from '../../../base/spelling.ts';
import { ENDPOINT_NAMES } from '../../../venue/catalogue.ts';
import type { FaultRule } from './faults.ts';
import { describeForm } from './forms.ts';
import { DEFAULT_MARKETS, NEW_MARKET } from './markets.ts';
import { findMoveProblems, toPoints } from './moves.ts';
import { SIMULATOR_SCHEMA } from './schema.ts';
import type { GivenMarket, MarketConfig, PriceHistory, Settings, SimulatorConfig } from './settings.ts';

export type { SimulatorConfig } from './settings.ts';

/** Fills in the defaults. Throws RangeError on a problem that `readSimulatorConfig` reports; the caller has to check first. */
export function completeConfig(config: SimulatorConfig): Settings {
  const problems = [...findProblems(config)];
  if (problems.length > 0) throw new RangeError(`not a simulator configuration: ${problems.join('; ')}`);
  return {
    ...completeWithDefaults(SIMULATOR_SCHEMA, config),
    markets: config.markets === undefined ? DEFAULT_MARKETS : mapFields(config.markets, completeMarket),
  };
}

/** The result may lack tick, lot or start; `findMarketProblems` reports that before the values are used. */
function completeMarket({ price, ...given }: GivenMarket, id: string): MarketConfig {
  const known = DEFAULT_MARKETS[id] ?? { ...NEW_MARKET, ...(given.lot === undefined ? {} : { min_size: given.lot }) };
  const market = { ...known, ...given } as MarketConfig;
  if (price === undefined) return market;
  const [start, moves] = typeof price === 'string' ? [price, []] : [market.start, price];
  return { ...market, start, path: { kind: 'points', points: toPoints(start, moves) } };
}

/** Gives markets recorded prices instead of their own. */
export function withHistories(
  config: SimulatorConfig,
  histories: Readonly<Record<string, PriceHistory>>,
): SimulatorConfig {
  const markets: Record<string, GivenMarket> = { ...(config.markets ?? DEFAULT_MARKETS) };
  for (const [id, history] of Object.entries(histories)) {
    const { price: _replaced, ...given } = markets[id] ?? {};
    markets[id] = { ...given, path: { kind: 'history', history } };
  }
  return { ...config, markets };
}

/** The tick of each market. */
export function listTicks(config: SimulatorConfig): Readonly<Record<string, DecimalString>> {
  return mapFields(completeConfig(config).markets, ({ tick }) => tick);
}

/** Reads a configuration from outside: checks the schema first, then the rules that a schema cannot express. */
export function readSimulatorConfig(data: unknown): { config: SimulatorConfig } | { problems: readonly string[] } {
  const issues = findSchemaIssues('simulator', () => SIMULATOR_SCHEMA, data);
  if (issues.length > 0) return { problems: issues.map((issue) => describeIssue(issue, data)) };
  const config = data as SimulatorConfig;
  const problems = [...findProblems(config)];
  return problems.length > 0 ? { problems } : { config };
}

/** Reads a list of faults, the body of PUT /_sim/faults. */
export function readFaults(data: unknown): { faults: readonly FaultRule[] } | { problems: readonly string[] } {
  const read = readSimulatorConfig({ faults: data });
  return 'problems' in read ? read : { faults: read.config.faults ?? [] };
}

function describeIssue(issue: SchemaIssue, data: unknown): string {
  const where = issue.path.length === 0 ? 'the configuration' : issue.path.join('.');
  switch (issue.keyword) {
    case 'additionalProperties': {
      const found = String(issue.params['additionalProperty']);
      const near = suggestSpelling(found, listKeysAt(SIMULATOR_SCHEMA, issue.path));
      return `${where}: "${found}" is not a key here${near === undefined ? '' : `; did you mean "${near}"?`}`;
    }
    case 'required':
      return `${where}: "${String(issue.params['missingProperty'])}" is missing`;
    case 'enum':
      return `${where}: must be one of ${(issue.params['allowedValues'] as readonly unknown[]).join(', ')}`;
    case 'pattern':
      return `${where}: must be ${describeForm(String(issue.params['pattern']))}${describeFound(issue.path, data)}`;
    default:
      return `${where}: ${issue.message}`;
  }
}

/** Not a secret, even that of a simulated account. */
function describeFound(path: SchemaIssue['path'], data: unknown): string {
  let found = data;
  for (const part of path) found = (found as Readonly<Record<string, unknown>>)[part];
  return typeof found === 'string' && path.at(-1) !== 'secret' ? `; found ${makePrintable(found, 60)}` : '';
}

function* findProblems(config: SimulatorConfig): Generator<string> {
  for (const [id, given] of Object.entries(config.markets ?? {})) {
    const moves = [...findPriceProblems(id, given)];
    yield* moves;
    if (moves.length === 0) yield* findMarketProblems(id, completeMarket(given, id));
  }
  for (const key of ['latencyMs', 'processingMs', 'visibilityLagMs'] as const) {
    const range = config[key];
    if (range !== undefined && range.max < range.min) yield `${key}: max ${range.max} is below min ${range.min}`;
  }
  const markets = config.markets ?? DEFAULT_MARKETS;
  for (const list of ['positions', 'resting'] as const) {
    for (const [index, row] of (config.account?.[list] ?? []).entries()) {
      if (!Object.hasOwn(markets, row.market)) yield `account.${list}.${index}: there is no market "${row.market}"`;
    }
  }
  for (const [index, fault] of (config.faults ?? []).entries()) {
    if (fault.on !== '*' && !(ENDPOINT_NAMES as readonly string[]).includes(fault.on) && fault.on !== 'GET /markets') {
      const near = suggestSpelling(fault.on, ENDPOINT_NAMES);
      yield `faults.${index}.on: "${fault.on}" is neither an endpoint nor "*"${near === undefined ? '' : `; did you mean "${near}"?`}`;
    }
  }
  if (config.auth?.mode === 'api_key' && config.auth.apiKey === undefined)
    yield 'auth.apiKey: is missing, but mode is api_key';
}

function* findPriceProblems(id: string, { price, path, start }: GivenMarket): Generator<string> {
  const at = `markets.${id}.price`;
  if (price !== undefined && path !== undefined) yield `${at}: says the same as path; leave one out`;
  if (typeof price === 'string' && start !== undefined) yield `${at}: is the start already; leave start out`;
  if (typeof price === 'object') yield* findMoveProblems(at, price);
}

/** A count of ticks must stay exact in a JavaScript number; 2^40 leaves room for the walk. */
export const MOST_TICKS = 2 ** 40;

function* findMarketProblems(id: string, market: MarketConfig): Generator<string> {
  if (!/^[A-Za-z0-9]+-[A-Za-z0-9]+$/.test(id)) yield `markets: "${id}" is not of the form <BASE>-<QUOTE>`;
  const recorded = market.path.kind === 'history';
  for (const key of ['tick', 'lot', 'start'] as const) {
    if (market[key] === undefined && !(recorded && key === 'start')) yield `markets.${id}.${key}: is missing`;
  }
  const tick = parseDecimal(market.tick ?? '');
  const prices = [
    market.start,
    ...(market.path.kind === 'points' ? market.path.points.map((point) => point.price) : []),
  ];
  if (tick === undefined || !tick.greaterThan(0))
    return yield* market.tick === undefined ? [] : [`markets.${id}.tick: must be above 0`];
  for (const text of prices) {
    const price = parseDecimal(text ?? '');
    if (price === undefined) continue;
    const ticks = price.div(tick);
    if (!ticks.isInteger() || !price.greaterThan(0))
      yield `markets.${id}: ${formatDecimal(price)} is not a positive multiple of the tick ${market.tick}`;
    else if (ticks.greaterThan(decimal(MOST_TICKS)))
      yield `markets.${id}: ${formatDecimal(price)} is more than 2^40 ticks of ${market.tick}`;
  }
  if (market.path.kind === 'points') {
    const times = market.path.points.map((point) => point.afterMs);
    if (times.some((time, index) => index > 0 && time <= (times[index - 1] as number)))
      yield `markets.${id}.path.points: afterMs must rise`;
  }
}
