/**
 * Sends the requests and reads the feeds that a profile declares (interface.md, Profile): read-only endpoints of the venue that
 * its document does not describe. A result is read by its declared shape, exact in decimals; other fields cannot be read.
 */

import { isLosslessNumber } from 'lossless-json';
import { type Decimal, type DecimalString, decimal, formatDecimal, parseDecimal } from '../../base/decimal.ts';
import { mapFields } from '../../base/json.ts';
import { makePrintable } from '../../base/printable.ts';
import { buildFeedRequestId } from '../../journal/entry.ts';
import { isMarketId } from '../../venue/forms.ts';
import type { FeedValue } from '../../venue/port.ts';
import type { DeclaredPositions, DeclaredRequest, Profile, ResultShape } from '../../venue/profile/profile.ts';
import { readErrorText, writeError } from '../../venue/wire/errors.ts';
import { readJson, type WireValue } from '../../venue/wire/request.ts';
import type { VenueClient } from '../client.ts';
import type { DeclaredRequests, FeedSource, ReadNeed } from '../client-parts.ts';
import type { WireAnswer } from '../transport.ts';

export function buildDeclaredRequests(profile: Profile): DeclaredRequests {
  return (name, params) => {
    const declared = Object.hasOwn(profile.requests, name) ? profile.requests[name] : undefined;
    if (declared === undefined) return { problem: `the profile declares no request named ${name}` };
    const unknown = Object.keys(params).find((key) => !Object.hasOwn(declared.query, key));
    if (unknown !== undefined) return { problem: `request ${name} takes no parameter ${unknown}` };
    const wire: Record<string, WireValue> = {};
    for (const key of Object.keys(declared.query)) {
      const text = params[key];
      if (text !== undefined) wire[key] = { as: 'text', text };
    }
    const { path, tokens } = declared;
    const endpoint = `GET ${path}` as const;
    return {
      tokens: () => ({ endpoint, weight: tokens, class: 'read' }),
      request: () => ({ endpoint, method: 'GET', path, params: wire, placement: 'query' }),
      read(answer) {
        const read = readDeclared(declared, answer);
        if (profile.rateLimit.statuses.includes(answer.status)) return { kind: 'refused', limited: true };
        if (!('problem' in read)) return { kind: 'confirmed', ...read };
        const words = readErrorText(read.refusal ?? '', answer.status, profile.refusals);
        const unauthorized = answer.status === 401 || (answer.status < 500 && words.unauthorized && !words.doubtful);
        return { kind: 'unreadable', why: read.problem, unauthorized };
      },
    };
  };
}

/** A feed of the profile, with the parameters of its request for one market; undefined where there is none of this name. */
export function findFeed({ feeds }: Pick<Profile, 'feeds'>, name: string, key: string | undefined) {
  const feed = Object.hasOwn(feeds, name) ? feeds[name] : undefined;
  return feed && { ...feed, params: mapFields(feed.with, (text) => text.replaceAll('${market}', key ?? '')) };
}

/** Reads the feeds of a profile, each a declared request and a path into its result. Without a client they have no value. */
export class DeclaredFeeds implements FeedSource {
  private readonly profile: Profile;
  private readonly now: () => number;
  private client: VenueClient | undefined;
  private asked = 0;

  constructor(profile: Profile, now: () => number) {
    this.profile = profile;
    this.now = now;
  }

  /** Sets the client that sends the requests, with tokens and journal entries like any other. */
  through(client: VenueClient): void {
    this.client = client;
  }

  async read(name: string, key: string | undefined, step: string, need?: ReadNeed): Promise<FeedValue | undefined> {
    const feed = findFeed(this.profile, name, key);
    if (feed === undefined || this.client === undefined) return undefined;
    this.asked += 1;
    const askedAt = this.now();
    const id = buildFeedRequestId(step, name, this.asked);
    const outcome = await this.client.request(feed.request, feed.params, id, step, need);
    if (outcome.kind !== 'confirmed') return undefined;
    const value = readDecimalAt(outcome.result, feed.read);
    // Dated when it was sent: a slow answer may be that old. What it waited for its tokens before makes it no older.
    const at = outcome.sentAt ?? askedAt;
    return value === undefined ? undefined : { name, ...(key === undefined ? {} : { key }), value, at };
  }
}

function readDeclared(
  declared: DeclaredRequest,
  answer: WireAnswer,
): { readonly result: unknown } | { readonly problem: string; readonly refusal?: string } {
  const read = readJson(answer.body);
  if (read.problem !== undefined) return { problem: `the answer is not JSON: ${read.problem}` };
  const envelope = read.value as {
    readonly success?: unknown;
    readonly error?: unknown;
    readonly result?: unknown;
  } | null;
  const wrapped = typeof envelope === 'object' && envelope !== null && typeof envelope.success === 'boolean';
  if (wrapped && envelope.success === false) {
    const refusal = writeError(envelope.error);
    return { problem: `refused: ${refusal.slice(0, 200)}`, refusal };
  }
  if (answer.status >= 300) return { problem: `status ${answer.status}` };
  try {
    return { result: readShape(declared.result, wrapped ? envelope.result : read.value, 'result') };
  } catch (error) {
    if (error instanceof Misshapen) return { problem: error.message };
    throw error;
  }
}

class Misshapen extends Error {}

function readShape(shape: ResultShape, value: unknown, path: string): unknown {
  switch (shape.kind) {
    case 'value':
      return readLeaf(shape, value, path);
    case 'list':
      if (!Array.isArray(value)) throw new Misshapen(`${path} is not a list`);
      return value.map((each, index) => readShape(shape.of, each, `${path}[${index}]`));
    case 'map':
      return mapFields(readRecord(value, path), (each, key) => readShape(shape.of, each, `${path}.${key}`));
    case 'record': {
      const record = readRecord(value, path);
      return mapFields(shape.fields, (of, name) => readShape(of, record[name], `${path}.${name}`));
    }
    default:
      return shape satisfies never;
  }
}

function readLeaf(shape: Extract<ResultShape, { kind: 'value' }>, value: unknown, path: string): unknown {
  if (value === undefined || value === null) {
    if (shape.optional) return null;
    throw new Misshapen(`${path} is absent`);
  }
  switch (shape.type) {
    case 'price':
    case 'size':
    case 'money':
    case 'number':
    case 'integer': {
      const text = readDecimal(value);
      if (text === undefined) throw new Misshapen(`${path} is not a plain decimal`);
      return text;
    }
    case 'boolean':
      if (typeof value !== 'boolean') throw new Misshapen(`${path} is neither true nor false`);
      return value;
    default:
      return isLosslessNumber(value) ? value.toString() : String(value);
  }
}

function readDecimal(value: unknown): DecimalString | undefined {
  const text = isLosslessNumber(value) ? value.toString() : typeof value === 'string' ? value : undefined;
  return text !== undefined && parseDecimal(text) !== undefined ? text : undefined;
}

function readRecord(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Misshapen(`${path} is not a record`);
  return value as Readonly<Record<string, unknown>>;
}

/** Reads the decimal at a path such as `result[0].fair_price`; undefined when there is none. */
export function readDecimalAt(result: unknown, path: string): DecimalString | undefined {
  return readDecimal(readAt(result, path));
}

function readAt(result: unknown, path: string): unknown {
  const steps = path.match(/[A-Za-z0-9_-]+/g) ?? [];
  let value: unknown = { result };
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}

/** A position as the venue lists it. */
export interface ListedPosition {
  /** Base currency, long positive. */
  readonly size: DecimalString;
  /** Average entry, quote currency; absent where the venue does not give it. */
  readonly price?: DecimalString;
}

/**
 * Reads what a declared request lists, by market; a market held on both sides has their sum. Or why it proves nothing: a row that
 * could be read in two ways, or that repeats another, would let a limit count another position than the one that is held.
 */
export function readPositions(
  result: unknown,
  declared: DeclaredPositions,
): ReadonlyMap<string, ListedPosition> | { readonly why: string } {
  const list = readAt(result, declared.rows);
  if (!Array.isArray(list)) return { why: 'its positions are no list' };
  const found = new Map<string, ListedPosition>();
  const seen = new Set<string>();
  for (const [index, row] of list.entries()) {
    const read = readPosition(row, declared);
    if (typeof read === 'string') return { why: `position ${index + 1} of its list ${read}` };
    const { market, size, price } = read;
    const before = found.get(market);
    const side = size.isNegative() ? 'short' : 'long';
    if (seen.has(market) && (declared.side === undefined || seen.has(`${side} ${market}`)))
      return { why: `position ${index + 1} of its list repeats ${makePrintable(market, 100)}` };
    seen.add(market).add(`${side} ${market}`);
    found.set(market, {
      size: formatDecimal(size.plus(decimal(before?.size ?? '0'))),
      ...(price === undefined || before !== undefined ? {} : { price }),
    });
  }
  return found;
}

/** A row, or what is wrong with it. */
function readPosition(
  row: unknown,
  declared: DeclaredPositions,
): { readonly market: string; readonly size: Decimal; readonly price: DecimalString | undefined } | string {
  if (typeof row !== 'object' || row === null) return 'is no record';
  const fields = row as Readonly<Record<string, unknown>>;
  const market = fields[declared.market];
  if (typeof market !== 'string' || !isMarketId(market)) return 'has no market as orders name it, <BASE>-<QUOTE>';
  const size = decimalOf(fields[declared.size]);
  if (size === undefined) return 'has no size that is a plain decimal';
  const sign = declared.side === undefined ? 1 : SIGNS.get(String(fields[declared.side]).toLowerCase());
  if (sign === undefined) return 'is neither long nor short';
  if (declared.side !== undefined && sign > 0 && size.lt(0)) return 'is long with a size below zero';
  const price = declared.price === undefined ? undefined : readDecimal(fields[declared.price]);
  return {
    market,
    size: declared.side === undefined ? size : size.abs().times(sign),
    // An entry of zero would show a gain where there is none.
    price: size.isZero() || price === undefined || !decimal(price).gt(0) ? undefined : price,
  };
}

function decimalOf(value: unknown): Decimal | undefined {
  const text = readDecimal(value);
  return text === undefined ? undefined : parseDecimal(text);
}
const SIGNS: ReadonlyMap<string, number> = new Map([
  ['long', 1],
  ['short', -1],
]);
