/**
 * A fixture as text: YAML (the header key by key, then one exchange on each line) or JSON lines. The same fixture always
 * gives the same text. Hides nothing: secrets are replaced before, when a fixture is recorded (`fixture-redaction.ts`).
 */
import { durationWord } from '../base/duration.ts';
import { escapeUnprintable } from '../base/printable.ts';
import { exactJsonText, numberLiteral, parseExactJson } from './exact-json.ts';
import { type Fixture, isRecord, type RecordedExchange, type RecordedFeed } from './fixture.ts';

export function writeFixture(fixture: Fixture): string {
  const { feeds, ...header } = fileHeader(fixture);
  const lines = Object.entries(header).map(([key, value]) => `${key}: ${oneLine(value)}`);
  lines.push(...listLines('feeds', feeds), ...listLines('exchanges', fixture.exchanges.map(fileExchange)));
  return `${lines.join('\n')}\n`;
}

export function writeFixtureLines(fixture: Fixture): string {
  return `${[fileHeader(fixture), ...fixture.exchanges.map(fileExchange)].map(oneLine).join('\n')}\n`;
}

function listLines(key: string, items: readonly object[]): string[] {
  return items.length === 0 ? [`${key}: []`] : [`${key}:`, ...items.map((item) => `  - ${oneLine(item)}`)];
}

/** What a file says before its exchanges. */
export function fileHeader({ runbook, inputs, seed, capabilities, markets, feeds, recordedAt, startMs }: Fixture) {
  return {
    fixture: 1,
    recorded_at: new Date(recordedAt).toISOString(),
    start: new Date(startMs).toISOString(),
    ...(runbook === undefined ? {} : { runbook }),
    ...(inputs === undefined ? {} : { inputs }),
    ...(seed === undefined ? {} : { seed }),
    ...(capabilities === undefined ? {} : { capabilities }),
    markets,
    feeds: feeds.map(fileFeed),
  };
}

function fileFeed({ name, key, value, afterMs }: RecordedFeed) {
  return { name, ...(key === undefined ? {} : { key }), value, after: durationWord(afterMs) };
}

function fileExchange({ afterMs, tookMs, request, reply }: RecordedExchange) {
  const sent = { after: durationWord(afterMs), took: durationWord(tookMs), request };
  if (reply.kind === 'failure') return { ...sent, failure: { sent: reply.sent, message: reply.message } };
  return { ...sent, answer: { status: reply.status, headers: reply.headers, body: fileBody(reply.body) } };
}

/**
 * A body goes into the file as a structure, which people can read and correct, where every reader gets the very same text
 * back from it; else as a string. A whole number below 2^53 is exact in any reader; a longer one or a fraction
 * is left to the string.
 */
function fileBody(body: string): unknown {
  const { value } = parseExactJson(body) as { value?: unknown };
  if (typeof value !== 'object' || value === null || exactJsonText(value) !== body) return body;
  return everyNumberIsShort(value) ? value : body;
}

function everyNumberIsShort(value: unknown): boolean {
  const literal = numberLiteral(value);
  if (literal !== undefined) return /^(?:0|-?[1-9]\d{0,15})$/.test(literal) && Number.isSafeInteger(Number(literal));
  return typeof value !== 'object' || value === null || Object.values(value).every(everyNumberIsShort);
}

/** JSON on one line, with a blank after each comma and colon; also YAML 1.2, since every string is quoted. */
function oneLine(value: unknown): string {
  if (typeof value !== 'number' && numberLiteral(value) !== undefined) return exactJsonText(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (!isRecord(value)) return escapeUnprintable(JSON.stringify(value));
  const fields = Object.entries(value).map(([key, each]) => `${oneLine(key)}: ${oneLine(each)}`);
  return `{${fields.join(', ')}}`;
}
