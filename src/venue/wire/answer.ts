/**
 * Reads an answer: confirmed with records, refused, or unreadable. It accepts every shape that venue-notes.md lists and is
 * strict where a guess could lose or invent an order. The envelope's `success` decides, not the status. Only two statuses need
 * no envelope: 429, and 401, which the venue sends before anything is done. The caller checks whether the records belong to
 * *our* order.
 */

import { isLosslessNumber } from 'lossless-json';
import { makePrintable } from '../../base/printable.ts';
import {
  type AnswerShape,
  type EndpointName,
  getAction,
  getEndpoint,
  type RecordName,
  type Result,
} from '../catalogue.ts';
import { isOrderId } from '../forms.ts';
import type { Profile } from '../profile/profile.ts';
import { type Headers, readRetryAfter, readTokenCounts } from '../tokens/headers.ts';
import { type ErrorMeaning, readErrorText, writeError } from './errors.ts';
import { asRecord, Notes, readRecord, Unreadable } from './records.ts';
import { readJson } from './request.ts';

/** Header names in lower case; the body as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export type AnswerVerdict<E extends EndpointName = EndpointName> =
  | {
      readonly kind: 'confirmed';
      readonly result: Result<E>;
      /** Harmless oddities of the answer, printable. */
      readonly notes: readonly string[];
      /** Rows of a list that could not be read, where the caller judges each by itself. */
      readonly unread?: readonly UnreadRow[];
    }
  | ({
      readonly kind: 'refused';
      /** The venue's own text, whole; hostile when printed. */
      readonly text: string;
      /** Status 5xx: the server that answered may not know what was done. Never definite. */
      readonly serverError: boolean;
      readonly retryAfterMs?: number;
    } & ErrorMeaning)
  /** No usable answer: the request may have taken effect. */
  | { readonly kind: 'unreadable'; readonly why: string };

/** The settings of a profile that decide how an answer is read. */
export type AnswerSettings = Pick<Profile, 'refusals' | 'rateLimit' | 'positionOrders'>;

/** Fields that show whose a row is that has no id, and whether its order can still fill. */
const TELLING = ['market_id', 'order_type', 'side', 'initial_size', 'price', 'status'] as const;

/** A row that could not be read: the ids that it shows all the same, each absent where it has none of the right form. */
export interface UnreadRow {
  readonly orderId?: string;
  readonly clientOrderId?: string;
  /** As they came, where they are texts. */
  readonly shows: Readonly<Partial<Record<(typeof TELLING)[number], string>>>;
  /** Printable. */
  readonly why: string;
}

/**
 * How a list is read. As a whole, one row that cannot be read makes the answer unreadable: what the caller adds up must not lack a
 * row. Each by itself, such rows are given beside the others.
 */
export type RowReading = 'whole' | 'each';

export function readAnswer<E extends EndpointName>(
  name: E,
  answer: Answer,
  settings: AnswerSettings,
  rows: RowReading = 'whole',
): AnswerVerdict<E> {
  const envelope = readEnvelope(answer);
  if (envelope.kind !== 'envelope' || !envelope.success)
    return readRefusal(answer, envelope, settings) ?? { kind: 'unreadable', why: envelope.why };
  if (answer.status >= 300)
    return { kind: 'unreadable', why: `status ${answer.status}, although the envelope reports success` };
  const notes = new Notes();
  if (envelope.error !== '') notes.add(`success with the error text ${makePrintable(envelope.error, 120)}`);
  try {
    const unread: UnreadRow[] = [];
    const keep = rows === 'each' ? unread : undefined;
    const result = readResult(getEndpoint(name).answer, name, envelope.result, { settings, notes, unread: keep });
    const left = unread.length === 0 ? {} : { unread };
    return { kind: 'confirmed', result: result as Result<E>, notes: notes.list, ...left };
  } catch (problem) {
    if (problem instanceof Unreadable) return { kind: 'unreadable', why: problem.message };
    throw problem;
  }
}

type Envelope =
  | {
      readonly kind: 'envelope';
      readonly success: boolean;
      readonly error: string;
      readonly result: unknown;
      readonly why: string;
    }
  | { readonly kind: 'none'; readonly why: string };

function readEnvelope({ status, headers, body }: Answer): Envelope {
  const none = (why: string): Envelope => ({ kind: 'none', why });
  if (status >= 300 && status < 400) return none(`status ${status}: a redirection, which is never followed`);
  if (status < 200 || status > 599) return none(`status ${status}`);
  if (body.trim() === '') return none(`status ${status} with an empty body`);
  const type = headers['content-type'];
  if (type !== undefined && !/^\s*(?:application|text)\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type))
    return none(`status ${status} with content type ${makePrintable(type, 60)}`);
  const read = readJson(body);
  if (read.problem !== undefined) return none(`status ${status}, body: ${read.problem}`);
  const record = asRecord(read.value);
  if (record === undefined || typeof record['success'] !== 'boolean')
    return none(`status ${status} without the envelope of the venue`);
  const { success, error, result } = record;
  return { kind: 'envelope', success, error: writeError(error), result, why: 'refused' };
}

/** Reads a refusal with an envelope, or one whose status alone is enough. */
function readRefusal(
  { status, headers }: Answer,
  envelope: Envelope,
  settings: AnswerSettings,
): Extract<AnswerVerdict, { kind: 'refused' }> | undefined {
  const enveloped = envelope.kind === 'envelope';
  const limitedStatus = settings.rateLimit.statuses.includes(status) && (enveloped || status === 429);
  if (!enveloped && !limitedStatus && status !== 401) return undefined;
  const meaning = readErrorText(enveloped ? envelope.error : '', status, settings.refusals);
  const serverError = status >= 500;
  // Words that decide, or say that a part of the venue failed, count before a status that other refusals may have, and before headers
  // that the last token has for any answer: an order taken for one that the limit kept back is sent again.
  const isOpen = !meaning.definite && !meaning.doubtful;
  const limited =
    !serverError &&
    ((limitedStatus && status === 429) ||
      (enveloped &&
        (meaning.limited ? limitedStatus || showsLimit(headers) : isOpen && (limitedStatus || isExhausted(headers)))));
  const retryAfterMs = readRetryAfter(headers);
  return {
    kind: 'refused',
    text: enveloped ? envelope.error : `status ${status}`,
    serverError,
    limited,
    unauthorized: !serverError && !limited && (status === 401 || (meaning.unauthorized && !meaning.doubtful)),
    notFound: meaning.notFound,
    duplicate: meaning.duplicate,
    definite: meaning.definite && !serverError,
    // A 429 and a 401 come before anything is done, whatever their text says.
    doubtful: meaning.doubtful && !limited && status !== 401,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** The document sends X-RateLimit-Retry-After when the limit is exhausted; a refusal with tokens left has another cause. */
function isExhausted(headers: Headers): boolean {
  return readRetryAfter(headers) !== undefined && (readTokenCounts(headers).remaining ?? 0) === 0;
}

/**
 * Whether a header bears out a text that speaks of the rate limit. Without one the words may be those of a rule of the market,
 * and a rejection taken for the limit is sent again, and holds back every other request.
 */
function showsLimit(headers: Headers): boolean {
  return readRetryAfter(headers) !== undefined || readTokenCounts(headers).remaining === 0;
}

interface ReadingParts {
  readonly settings: AnswerSettings;
  readonly notes: Notes;
  /** Takes the rows that cannot be read; without it such a row makes the answer unreadable. */
  readonly unread: UnreadRow[] | undefined;
}

function readResult(shape: AnswerShape, name: EndpointName, result: unknown, parts: ReadingParts): unknown {
  const { settings, notes } = parts;
  switch (shape.shape) {
    case 'list':
      return shape.one
        ? [readRecord(shape.of, takeOnly(result, notes), settings, notes)]
        : takeRows(result, notes).flatMap((row) => readRow(shape.of, row, parts));
    case 'jwt':
      return readJwt(result, notes);
    case 'deadman':
      return readDeadman(name, result, settings, notes);
    case 'empty':
    case 'nothing':
      return readNothing(result, notes);
    default:
      return shape satisfies never;
  }
}

function readRow(name: RecordName, row: unknown, { settings, notes, unread }: ReadingParts): readonly unknown[] {
  try {
    return [readRecord(name, row, settings, notes)];
  } catch (problem) {
    if (unread === undefined || !(problem instanceof Unreadable)) throw problem;
    const fields = asRecord(row) ?? {};
    const { id, order_id: of, client_order_id: given } = fields;
    const orderId = name === 'fill' ? of : id;
    unread.push({
      ...(typeof orderId === 'string' && isOrderId(orderId) ? { orderId } : {}),
      ...(typeof given === 'string' && given !== '' ? { clientOrderId: given } : {}),
      shows: Object.fromEntries(
        TELLING.map((name) => [name, fields[name]]).filter(([, text]) => typeof text === 'string'),
      ),
      why: problem.message,
    });
    return [];
  }
}

/** The only record of a list; some venues send it without the list. */
function takeOnly(result: unknown, notes: Notes): unknown {
  if (Array.isArray(result)) {
    if (result.length === 1) return result[0] as unknown;
    throw new Unreadable(
      result.length === 0 ? 'success without a record' : `${result.length} records where one was asked for`,
    );
  }
  if (asRecord(result) === undefined)
    throw new Unreadable(`the result is ${describeKind(result)}, not a list of one record`);
  notes.add('the record is not in a list');
  return result;
}

function takeRows(result: unknown, notes: Notes): readonly unknown[] {
  if (Array.isArray(result)) return result as readonly unknown[];
  if (result !== null) throw new Unreadable(`the result is ${describeKind(result)}, not a list`);
  notes.add('null instead of an empty list');
  return [];
}

/** Reads `["<jwt>"]`, `[{jwt, refresh_token}]`, or either without the list (assumption `jwtResult`). No message quotes a token. */
function readJwt(result: unknown, notes: Notes): { jwt: string; refresh_token?: string } {
  const [given, ...more] = Array.isArray(result) ? (result as unknown[]) : [result];
  if (more.length > 0) throw new Unreadable(`${more.length + 1} results where one JWT was asked for`);
  if (!Array.isArray(result)) notes.add('the JWT is not in a list');
  if (typeof given === 'string') return { jwt: readToken(given, 'the JWT') };
  const record = asRecord(given);
  if (record === undefined) throw new Unreadable('success without a JWT');
  const { jwt, refresh_token: rotated } = record;
  if (rotated === undefined || rotated === null || rotated === '') return { jwt: readToken(jwt, 'the JWT') };
  return { jwt: readToken(jwt, 'the JWT'), refresh_token: readToken(rotated, 'the refresh token') };
}

/** A token goes into a header: printable characters, no blanks, at most 8192. */
function readToken(value: unknown, what: string): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,8192}$/.test(value)) return value;
  throw new Unreadable(`${what} is not a text that can be sent in a header`);
}

/** Reads an object, an array of one, or one of the forms of a switch that is not active (assumption `deadmanResult`). */
function readDeadman(name: EndpointName, result: unknown, settings: AnswerSettings, notes: Notes): unknown {
  const given = Array.isArray(result) ? (result as unknown[]) : [result];
  if (given.length > 1) throw new Unreadable(`${given.length} records where one was asked for`);
  const [record] = given;
  const empty =
    record === undefined || record === null || (asRecord(record) !== undefined && Object.keys(record).length === 0);
  if (!empty) return readRecord('deadman', record, settings, notes);
  // Success without a record does not prove that the switch was armed, and believing it would leave orders unguarded.
  if (getAction(name) === 'arm') throw new Unreadable('success without a record of the switch');
  return null;
}

/** Accepts an empty list, `[true]` or null: the document promises no more. A `false` in it is not success. */
function readNothing(result: unknown, notes: Notes): null {
  const items = Array.isArray(result) ? (result as unknown[]) : [result];
  if (items.includes(false)) throw new Unreadable('success with the result false');
  if (items.some((item) => item !== true && item !== null && item !== undefined))
    notes.add('a result where none is documented; ignored');
  return null;
}

function describeKind(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (isLosslessNumber(value)) return 'a number';
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
