/**
 * HAR 1.2, what browsers and proxies record, to and from fixtures. Reads what belongs to the venue's interface and names
 * what it left out; secrets are replaced on the way, since a HAR holds the headers and cookies of whoever made it. What a
 * HAR has no place for (markets, feeds, the start) travels in a member `_fixture`, as the format allows.
 */
import { printable } from '../base/printable.ts';
import { ENDPOINT_NAMES, type EndpointName, endpoint } from '../venue/catalogue.ts';
import { exactJsonText, numberLiteral, parseExactJson } from './exact-json.ts';
import {
  type Fixture,
  isRecord,
  type RecordedExchange,
  type RecordedReply,
  type RecordedRequest,
  readFixture,
} from './fixture.ts';
import { namesSecret, redactedExchange } from './fixture-redaction.ts';
import { fileHeader } from './fixture-text.ts';
import { Redactor } from './redactor.ts';
import { Secret } from './secret.ts';

export interface HarReading {
  /** Undefined when the text is no HAR or holds nothing of the venue. */
  readonly fixture: Fixture | undefined;
  /** What is wrong, was left out or is missing: one printable sentence each. */
  readonly notes: readonly string[];
}

/** Reads the text of a HAR file. The base URL is the one under which most entries are endpoints of the venue. */
export function harToFixture(text: string): HarReading {
  const reading = parseExactJson(text);
  if (reading.problem !== undefined) return { fixture: undefined, notes: [`it can not be read: ${reading.problem}`] };
  const log = member(reading.value, 'log');
  const entries = member(log, 'entries');
  if (!Array.isArray(entries)) return { fixture: undefined, notes: ['it is not HAR: log.entries is no list'] };

  const notes: string[] = [];
  const met = entries.map((entry, index) => meeting(entry, index + 1)).filter((each) => each !== undefined);
  if (met.length < entries.length)
    notes.push(`${entries.length - met.length} entries without a time or an address were left out`);
  const base = commonBase(met);
  if (base === undefined)
    return { fixture: undefined, notes: [...notes, 'no entry is a request to an endpoint of the venue'] };

  const own = met.filter((each) => belongs(each, base)).sort((a, b) => a.atMs - b.atMs || a.number - b.number);
  if (own.length < met.length)
    notes.push(`${met.length - own.length} entries that are no requests to ${printable(base, 200)} were left out`);
  const startMs = own[0]?.atMs ?? 0;
  const header = headerOf(log, startMs);
  if (header.notes.length > 0) notes.push(...header.notes);
  if (Object.keys(header.fixture.markets).length === 0) {
    notes.push(
      'a HAR does not tell the steps of the markets: write tick, lot and min_size under markets before a runbook uses tick() or lot()',
    );
  }
  const redactor = new Redactor(entries.flatMap(credentialsOf).map((value) => new Secret('har', value)));
  const exchanges = own.map((each, index) => {
    const exchange = recorded(each, base, each.atMs - (own[index - 1]?.atMs ?? header.fixture.startMs), notes);
    return redactedExchange(exchange, (text) => redactor.redact(text));
  });
  return { fixture: { ...header.fixture, exchanges }, notes };
}

/** Writes a fixture as HAR. The host is a name that can not exist: nothing in a fixture tells where it was recorded. */
export function fixtureToHar(fixture: Fixture, version: string): string {
  let atMs = fixture.startMs;
  const entries = fixture.exchanges.map((exchange) => {
    atMs += exchange.afterMs;
    return harEntry(exchange, atMs);
  });
  const creator = { name: 'perp-runbook', version };
  const { fixture: _version, ...header } = fileHeader(fixture);
  return `${JSON.stringify({ log: { version: '1.2', creator, _fixture: header, entries } }, null, 2)}\n`;
}

/** An entry whose request could be read. */
interface Meeting {
  /** Place in the file, from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly method: string;
  readonly url: URL;
  /** The endpoint it may be, and the base URL under which it would be that. */
  readonly endpoint: EndpointName | undefined;
  readonly base: string | undefined;
  readonly entry: Record<string, unknown>;
}

function meeting(entry: unknown, number: number): Meeting | undefined {
  const request = member(entry, 'request');
  const atMs = Date.parse(String(member(entry, 'startedDateTime')));
  const url = URL.canParse(String(member(request, 'url'))) ? new URL(String(member(request, 'url'))) : undefined;
  if (!isRecord(entry) || url === undefined || Number.isNaN(atMs)) return undefined;
  const method = String(member(request, 'method')).toUpperCase();
  const name = endpointAt(method, url.pathname);
  const base = name === undefined ? undefined : url.origin + url.pathname.slice(0, -endpoint(name).path.length);
  return { number, atMs, method, url, endpoint: name, base, entry };
}

/** The endpoint whose path the address ends with; the longest, since `/orders` is also the end of others. */
function endpointAt(method: string, pathname: string): EndpointName | undefined {
  const [longest] = ENDPOINT_NAMES.filter(
    (name) => endpoint(name).method === method && pathname.endsWith(endpoint(name).path),
  ).sort((a, b) => endpoint(b).path.length - endpoint(a).path.length);
  return longest;
}

function commonBase(met: readonly Meeting[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { base } of met) if (base !== undefined) counts.set(base, (counts.get(base) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

/** Endpoints of the catalogue, and reads below the same base URL: a profile may declare those. */
function belongs({ base, method, url }: Meeting, common: string): boolean {
  return (
    base === common || (base === undefined && method === 'GET' && (url.origin + url.pathname).startsWith(`${common}/`))
  );
}

function recorded(met: Meeting, base: string, afterMs: number, notes: string[]): RecordedExchange {
  const took = Number(numberLiteral(member(met.entry, 'time')) ?? 0);
  return {
    afterMs,
    tookMs: Number.isFinite(took) ? Math.max(0, Math.round(took)) : 0,
    request: {
      method: met.method as RecordedRequest['method'],
      path: (met.url.origin + met.url.pathname).slice(base.length),
      params: { ...Object.fromEntries(met.url.searchParams), ...bodyParams(met, notes) },
    },
    reply: replyOf(met, notes),
  };
}

/**
 * What an entry's headers and cookies identify somebody by. None of them is kept, and a body may say one of them again. Of all
 * entries: a key that another site was shown is a key all the same.
 */
function credentialsOf(entry: unknown): readonly string[] {
  const sides = [member(entry, 'request'), member(entry, 'response')];
  const listed = (name: string) => sides.flatMap((side) => listOf(member(side, name)));
  const headers = listed('headers').filter((header) => namesSecret(textOf(header, 'name')));
  const cookies = listed('cookies').map((cookie) => textOf(cookie, 'value'));
  // `Bearer …`, `name=value; name=value`: every word that could be one, for nobody tells which is.
  const words = headers.flatMap((header) =>
    textOf(header, 'value')
      .split(/[\s;,]+/)
      .map(valueAlone),
  );
  return [...new Set([...words, ...cookies])].filter((word) => word.length >= 8 && /[a-z]/i.test(word));
}

/** Of `name=value` the value; the signs that fill up a text in base 64 name nothing. */
function valueAlone(word: string): string {
  return /^[\w.-]+=(?!=*$)(.+)$/.exec(word)?.[1] ?? word;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown, key: string): string {
  const text = member(value, key);
  return typeof text === 'string' ? text : '';
}

function bodyParams({ entry, number }: Meeting, notes: string[]): Record<string, string> {
  const text = member(member(member(entry, 'request'), 'postData'), 'text');
  if (typeof text !== 'string' || text.trim() === '') return {};
  const { value } = parseExactJson(text) as { value?: unknown };
  if (!isRecord(value)) {
    notes.push(`entry ${number}: its body is no JSON object and was left out`);
    return {};
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, literalText(each)]));
}

function literalText(value: unknown): string {
  return typeof value === 'string' ? value : exactJsonText(value);
}

function replyOf({ entry, number }: Meeting, notes: string[]): RecordedReply {
  const response = member(entry, 'response');
  const status = Number(numberLiteral(member(response, 'status')) ?? 0);
  if (!Number.isInteger(status) || status < 100 || status > 599) {
    const error = member(response, '_error');
    return {
      kind: 'failure',
      sent: member(response, '_sent') !== false,
      message: typeof error === 'string' ? printable(error, 200) : 'no answer was recorded',
    };
  }
  const content = member(response, 'content');
  const text = member(content, 'text');
  if (typeof text !== 'string') notes.push(`entry ${number}: the recording holds no body of its answer`);
  const body = typeof text === 'string' ? text : '';
  const decoded = member(content, 'encoding') === 'base64' ? Buffer.from(body, 'base64').toString('utf8') : body;
  return { kind: 'answer', status, headers: headersOf(response), body: decoded };
}

function headersOf(response: unknown): Record<string, string> {
  return Object.fromEntries(
    listOf(member(response, 'headers')).map((each) => [
      String(member(each, 'name')).toLowerCase(),
      String(member(each, 'value')),
    ]),
  );
}

/** The header that travelled in `_fixture`, or what can be told without it. */
function headerOf(log: unknown, startMs: number): { readonly fixture: Fixture; readonly notes: readonly string[] } {
  const start = new Date(startMs).toISOString();
  const least = { fixture: 1, recorded_at: start, start, markets: {}, exchanges: [] };
  const carried = member(log, '_fixture');
  const reading = readFixture(isRecord(carried) ? { ...least, ...carried, exchanges: [] } : least);
  if (reading.fixture !== undefined) return { fixture: reading.fixture, notes: [] };
  const plain: Fixture = { recordedAt: startMs, startMs, markets: {}, feeds: [], exchanges: [] };
  return { fixture: plain, notes: reading.problems.map(({ message }) => `its _fixture was left out: ${message}`) };
}

function member(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function harEntry({ tookMs, request, reply }: RecordedExchange, atMs: number) {
  return {
    startedDateTime: new Date(atMs).toISOString(),
    time: tookMs,
    request: harRequest(request),
    response: harResponse(reply),
    cache: {},
    timings: { send: 0, wait: tookMs, receive: 0 },
  };
}

const NOTHING_MEASURED = { httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1, bodySize: -1 };

function harRequest({ method, path, params }: RecordedRequest) {
  const query = method === 'GET' ? Object.entries(params) : [];
  const search = query.length === 0 ? '' : `?${new URLSearchParams(query)}`;
  return {
    method,
    url: `https://venue.invalid${path}${search}`,
    headers: [],
    queryString: query.map(([name, value]) => ({ name, value })),
    ...(method === 'GET' ? {} : { postData: { mimeType: 'application/json', text: bodyText(method, path, params) } }),
    ...NOTHING_MEASURED,
  };
}

/** The body as it went: numbers and flags bare where the catalogue has them so, every other value a string. */
function bodyText(method: string, path: string, params: RecordedRequest['params']): string {
  const name = ENDPOINT_NAMES.find((each) => each === `${method} ${path}`);
  const members = Object.entries(params).map(([key, value]) => {
    const type = name === undefined ? undefined : endpoint(name).parameters[key]?.type;
    const bare = type === 'decimal' || type === 'integer' || type === 'timestamp' || type === 'boolean';
    return `${JSON.stringify(key)}:${bare ? value : JSON.stringify(value)}`;
  });
  return `{${members.join(',')}}`;
}

function harResponse(reply: RecordedReply) {
  const answered = reply.kind === 'answer';
  const headers = answered ? Object.entries(reply.headers).map(([name, value]) => ({ name, value })) : [];
  const body = answered ? reply.body : '';
  return {
    status: answered ? reply.status : 0,
    statusText: '',
    headers,
    content: {
      size: Buffer.byteLength(body),
      mimeType: answered ? (reply.headers['content-type'] ?? 'application/json') : '',
      text: body,
    },
    redirectURL: '',
    ...(answered ? {} : { _error: reply.message, _sent: reply.sent }),
    ...NOTHING_MEASURED,
  };
}
