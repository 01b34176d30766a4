/**
 * A fixture: recorded exchanges with the venue, from which a dry-run is answered (interface.md, Fixtures). This file says
 * what a fixture holds and reads one from parsed data; it sends nothing and matches nothing. Bodies are kept as the exact
 * JSON text that came: a decimal in them never becomes a JavaScript number.
 */
import { type DecimalString, parseDecimal } from '../base/decimal.ts';
import { parseDurationMs } from '../base/duration.ts';
import { printable } from '../base/printable.ts';
import { type SchemaIssue, schemaIssues } from '../base/schema.ts';
import type { Json } from '../journal/entry.ts';
import type { MarketRules } from '../venue/port.ts';
import { exactJsonText, numberLiteral, parseExactJson } from './exact-json.ts';
import { FIXTURE_SCHEMA_NAME, fixtureSchema } from './fixture-schema.ts';

export interface Fixture extends FixtureHeader {
  /** In the order they were sent. */
  readonly exchanges: readonly RecordedExchange[];
}

export interface FixtureHeader {
  /** Epoch ms, when the recording was made. */
  readonly recordedAt: number;
  readonly runbook?: string;
  /** Inputs of the recorded run: texts, flags, lists and maps of them; a number as its literal. */
  readonly inputs?: Readonly<Record<string, Json>>;
  readonly seed?: number;
  /** What `tick` and `lot` round to. */
  readonly markets: Readonly<Record<string, MarketRules>>;
  /** Absent: a dry-run against this fixture has every capability. */
  readonly capabilities?: readonly string[];
  /** Epoch ms at which the recorded run started: what recorded times are measured from. */
  readonly startMs: number;
  /** By `afterMs`, as far as they were read in that order. */
  readonly feeds: readonly RecordedFeed[];
}

export interface RecordedFeed {
  readonly name: string;
  /** The market, for a feed that is a map or follows a market. */
  readonly key?: string;
  readonly value: DecimalString;
  /** Since the start of the run; negative for a value that was true before it. */
  readonly afterMs: number;
}

export interface RecordedExchange {
  /** Since the previous exchange was sent; for the first, since the start of the run. */
  readonly afterMs: number;
  /** From sending to the answer or the failure. */
  readonly tookMs: number;
  readonly request: RecordedRequest;
  readonly reply: RecordedReply;
}

export interface RecordedRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base URL, without query. */
  readonly path: string;
  /** The literals that went on the wire, without quotes. */
  readonly params: Readonly<Record<string, string>>;
}

export type RecordedReply =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** Only those that matter, names in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | { readonly kind: 'failure'; readonly sent: boolean; readonly message: string };

/** What is wrong with a fixture, in one sentence, and where: keys and list positions from the root. */
export interface FixtureProblem {
  readonly path: Path;
  readonly message: string;
}
export type Path = readonly (string | number)[];

export type FixtureReading =
  | { readonly fixture: Fixture; readonly problems?: undefined }
  | { readonly fixture?: undefined; readonly problems: readonly FixtureProblem[] };

/**
 * Reads a fixture from parsed data. Numbers come as literals (`exactNumber`) or as JavaScript numbers short enough to be
 * exact; a body is its JSON text or the structure itself.
 */
export function readFixture(data: unknown): FixtureReading {
  const problems: FixtureProblem[] = [];
  const plain = isRecord(data) ? plainFixture(data, problems) : data;
  problems.push(...schemaIssues(FIXTURE_SCHEMA_NAME, fixtureSchema, plain).filter(speaksOfOne).map(problemOf));
  if (problems.length > 0) return { problems };
  const file = plain as FixtureFile;
  const wrong = [...badInstants(file), ...badDecimals(file)];
  return wrong.length > 0 ? { problems: wrong } : { fixture: fixtureOf(file) };
}

/** Reads JSON lines: the header on the first line, one exchange on each further one. */
export function readFixtureLines(text: string): FixtureReading {
  const records: unknown[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const reading = parseExactJson(line);
    if (reading.problem !== undefined)
      return { problems: [{ path: [], message: `line ${index + 1} can not be read: ${reading.problem}` }] };
    records.push(reading.value);
  }
  const [header, ...exchanges] = records;
  if (isRecord(header)) return readFixture({ ...header, exchanges });
  return { problems: [{ path: [], message: 'the first line must be the header, an object with "fixture": 1' }] };
}

/** What stands in a file, once numbers are literals and bodies are texts; the type beside fixture-schema.ts. */
export interface FixtureFile {
  readonly fixture: 1;
  readonly recorded_at: string;
  readonly start: string;
  readonly runbook?: string;
  readonly inputs?: Readonly<Record<string, Json>>;
  readonly seed?: number;
  readonly capabilities?: readonly string[];
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly feeds?: readonly {
    readonly name: string;
    readonly key?: string;
    readonly value: string;
    readonly after: string;
  }[];
  readonly exchanges: readonly FileExchange[];
}
interface FileExchange {
  readonly after: string;
  readonly took: string;
  readonly request: {
    readonly method: RecordedRequest['method'];
    readonly path: string;
    readonly params?: Readonly<Record<string, string>>;
  };
  readonly answer?: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly failure?: { readonly sent: boolean; readonly message: string };
}

function fixtureOf(file: FixtureFile): Fixture {
  const { runbook, inputs, seed, capabilities, markets } = file;
  return {
    recordedAt: Date.parse(file.recorded_at),
    ...(runbook === undefined ? {} : { runbook }),
    ...(inputs === undefined ? {} : { inputs }),
    ...(seed === undefined ? {} : { seed }),
    ...(capabilities === undefined ? {} : { capabilities }),
    markets,
    startMs: Date.parse(file.start),
    feeds: (file.feeds ?? []).map(({ after, ...feed }) => ({ ...feed, afterMs: durationMs(after) })),
    exchanges: file.exchanges.map(exchangeOf),
  };
}

function exchangeOf({ after, took, request, answer, failure }: FileExchange): RecordedExchange {
  return {
    afterMs: durationMs(after),
    tookMs: durationMs(took),
    request: { method: request.method, path: request.path, params: request.params ?? {} },
    reply:
      answer === undefined
        ? failureOf(failure)
        : { kind: 'answer', ...answer, headers: lowerCased(answer.headers ?? {}) },
  };
}

/** A duration that has passed the schema. */
function durationMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw new Error(`the schema lets no duration like this through: ${text}`);
  return ms;
}

function failureOf(failure: FileExchange['failure']): RecordedReply {
  if (failure === undefined) throw new Error('the schema lets no exchange through that has neither answer nor failure');
  return { kind: 'failure', ...failure };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** The data as `FixtureFile` has it, so far as it has that form; a number whose digits may be lost is a problem. */
function plainFixture(data: Record<string, unknown>, problems: FixtureProblem[]): Record<string, unknown> {
  const { exchanges, fixture, seed, ...header } = data;
  return {
    ...(literals(header, [], problems) as Record<string, unknown>),
    ...integers({ fixture, seed }),
    exchanges: Array.isArray(exchanges)
      ? exchanges.map((each, index) => plainExchange(each, ['exchanges', index], problems))
      : exchanges,
  };
}

function plainExchange(exchange: unknown, path: Path, problems: FixtureProblem[]): unknown {
  if (!isRecord(exchange) || !isRecord(exchange['answer'])) return literals(exchange, path, problems);
  const { answer, ...rest } = exchange;
  const { body, status, ...others } = answer as Record<string, unknown>;
  const at = [...path, 'answer'];
  return {
    ...(literals(rest, path, problems) as object),
    answer: {
      ...(literals(others, at, problems) as object),
      ...integers({ status }),
      ...bodyText(body, [...at, 'body'], problems),
    },
  };
}

function bodyText(body: unknown, path: Path, problems: FixtureProblem[]): { body?: string } {
  if (body === undefined) return {};
  if (typeof body === 'string') return { body };
  literals(body, path, problems);
  return { body: exactJsonText(body) };
}

/** Every number replaced by its literal; a parameter's flag by its word is left to the wire. */
function literals(value: unknown, path: Path, problems: FixtureProblem[]): unknown {
  const literal = numberLiteral(value);
  if (literal === 'inexact')
    problems.push({ path, message: `${pathText(path)} may have lost digits: write the number in quotes` });
  if (literal !== undefined) return literal;
  if (Array.isArray(value)) return value.map((each, index) => literals(each, [...path, index], problems));
  if (!isRecord(value)) return path.at(-2) === 'params' && typeof value === 'boolean' ? String(value) : value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, literals(each, [...path, key], problems)]),
  );
}

/** The few values of the format that are counted, not measured: JavaScript numbers where they are safe. */
function integers(values: Record<string, unknown>): Record<string, unknown> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([key, value]) => {
      const literal = numberLiteral(value);
      return [key, literal !== undefined && /^\d{1,15}$/.test(literal) ? Number(literal) : (literal ?? value)];
    }),
  );
}

/** `oneOf` and its branches all complain about one missing key; the sentence of `oneOf` is enough. */
function speaksOfOne(issue: SchemaIssue): boolean {
  return !(issue.keyword === 'required' && ['answer', 'failure'].includes(String(issue.params['missingProperty'])));
}

function problemOf({ path, keyword, params, message }: SchemaIssue): FixtureProblem {
  const place = pathText(path);
  if (keyword === 'additionalProperties') {
    return { path, message: `${place} has the unknown key ${printable(String(params['additionalProperty']), 60)}` };
  }
  if (keyword === 'oneOf') return { path, message: `${place} must have either an answer or a failure` };
  if (keyword === 'enum')
    return { path, message: `${place} must be one of ${(params['allowedValues'] as string[]).join(', ')}` };
  if (keyword === 'const') return { path, message: `${place} must be ${String(params['allowedValue'])}` };
  return { path, message: `${place} ${message}` };
}

function badInstants(file: FixtureFile): FixtureProblem[] {
  return (['recorded_at', 'start'] as const)
    .filter((key) => Number.isNaN(Date.parse(file[key])))
    .map((key) => ({ path: [key], message: `${key} is no time that exists: ${file[key]}` }));
}

function badDecimals(file: FixtureFile): FixtureProblem[] {
  const steps = Object.entries(file.markets).flatMap(([id, market]) =>
    Object.entries(market).map(([key, text]) => ({ path: ['markets', id, key], text, positive: key !== 'min_size' })),
  );
  const values = (file.feeds ?? []).map((feed, index) => ({
    path: ['feeds', index, 'value'],
    text: feed.value,
    positive: false,
  }));
  return [...steps, ...values].flatMap(({ path, text, positive }) => {
    const value = parseDecimal(text);
    if (value !== undefined && (!positive || value.gt(0))) return [];
    const wanted = positive ? 'a plain decimal above 0' : 'a plain decimal';
    return [{ path, message: `${pathText(path)} must be ${wanted}, found ${printable(text, 60)}` }];
  });
}

function pathText(path: Path): string {
  if (path.length === 0) return 'the fixture';
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${printable(part, 60)}`))
    .join('');
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
