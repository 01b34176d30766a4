/**
 * Reads the records of answers into the types of records.ts, by one table of fields. A field that the venue may leave out gets
 * its documented empty value. A field that an order, a fill or a balance needs is never filled in: an invented zero would be
 * believed. Unknown fields and words are noted and do no harm.
 */

import { isLosslessNumber } from 'lossless-json';
import { Decimal, type DecimalString, formatDecimal, isDecimalText } from '../../base/decimal.ts';
import { isRecord, mapFields } from '../../base/json.ts';
import { makePrintable } from '../../base/printable.ts';
import { isFillId, isMarketId, isOrderId, readMarketOfId } from '../forms.ts';
import type { Profile } from '../profile/profile.ts';
import { type FieldRule, RECORD_FIELDS, SIDES, type TierStep, type VenueRecord } from '../records.ts';

/** The answer cannot be used. The message is printable and names the field. */
export class Unreadable extends Error {}

/** Collects harmless oddities, each once, at most twenty. */
export class Notes {
  private readonly noted = new Set<string>();
  add(note: string): void {
    if (this.noted.size < 20) this.noted.add(note);
  }
  get list(): readonly string[] {
    return [...this.noted];
  }
}

interface Row {
  readonly field: string;
  /** The name of the field in messages. */
  readonly what: string;
  readonly rule: FieldRule;
}

const ROWS: ReadonlyMap<string, readonly Row[]> = new Map(
  Object.entries<Readonly<Record<string, FieldRule>>>(RECORD_FIELDS).map(([name, fields]) => [
    name,
    Object.entries(fields).map(([field, rule]) => ({ field, what: `${name}.${field}`, rule })),
  ]),
);

/** Reads one record. Throws `Unreadable` where a required field is missing or malformed. */
export function readRecord(
  name: keyof typeof RECORD_FIELDS,
  value: unknown,
  settings: Pick<Profile, 'positionOrders'>,
  notes: Notes,
): VenueRecord<keyof typeof RECORD_FIELDS> {
  const record = documentTypes(readObject(value, name), settings);
  const read: Record<string, unknown> = {};
  for (const { field, what, rule } of ROWS.get(name) as readonly Row[]) {
    const each = readField(what, record[field], rule, record, notes);
    if (each !== undefined) read[field] = each;
  }
  for (const field of Object.keys(record))
    if (!Object.hasOwn(RECORD_FIELDS[name], field)) notes.add(`unknown field ${makePrintable(field, 40)} of ${name}`);
  if (
    typeof read['id'] === 'string' &&
    read['market_id'] !== undefined &&
    readMarketOfId(read['id']) !== read['market_id']
  ) {
    throw new Unreadable(`${name}.id belongs to another market than ${name}.market_id`);
  }
  return read as unknown as VenueRecord<keyof typeof RECORD_FIELDS>;
}

function readField(
  what: string,
  value: unknown,
  rule: FieldRule,
  record: Readonly<Record<string, unknown>>,
  notes: Notes,
): unknown {
  if (value === undefined || value === null || value === '') {
    if ('missing' in rule && rule.missing !== undefined) return rule.missing;
    if (rule.as === 'optional market') return undefined;
    if (rule.as === 'decimals' && value === null) return {};
    if (rule.as === 'market') return readMarketOfId(String(record['id'])) ?? refuse(what, 'missing');
    return refuse(what, 'missing');
  }
  switch (rule.as) {
    case 'text':
      return readText(what, value, rule.known, notes);
    case 'decimal': {
      const text = readDecimal(what, value);
      return rule.unsigned && text.startsWith('-') ? refuse(what, 'below zero') : text;
    }
    case 'integer':
      return readInteger(what, value);
    case 'boolean':
      return typeof value === 'boolean' ? value : refuse(what, 'not true or false');
    case 'side':
      return readSide(what, value, notes);
    case 'order_id':
      return readForm(what, value, isOrderId, 'not an order id, <market_id>@<number>');
    case 'fill_id':
    case 'trade_id':
      return readForm(what, value, isFillId, 'not a fill id, <market_id>-<number>');
    case 'market':
    case 'optional market':
      return readForm(what, value, isMarketId, 'not a market id, <BASE>-<QUOTE>');
    case 'decimals':
      return readDecimals(what, value);
    case 'tier':
      return readTier(what, value, notes);
    default:
      return rule satisfies never;
  }
}

function readText(what: string, value: unknown, known: readonly string[] | undefined, notes: Notes): string {
  if (typeof value !== 'string') return refuse(what, 'not a text');
  if (known !== undefined && !known.includes(value)) notes.add(`unknown ${what} ${makePrintable(value, 60)}`);
  return value;
}

function readForm(what: string, value: unknown, hasForm: (text: string) => boolean, otherwise: string): string {
  return typeof value === 'string' && hasForm(value) ? value : refuse(what, otherwise);
}

/** An unknown side cannot be booked on either side, and leaving the record out would hide an order. */
function readSide(what: string, value: unknown, notes: Notes): string {
  const side = SIDES.find((each) => each === value || (typeof value === 'string' && each === value.toLowerCase()));
  if (side === undefined) return refuse(what, `neither ${SIDES.join(' nor ')}`);
  if (side !== value) notes.add(`${what} spelled ${makePrintable(String(value), 20)}`);
  return side;
}

/** The longest exponent that is written out. */
const LONGEST_EXPONENT = 400;
const ZERO = /^-?0(?:\.0+)?$/;

/** A decimal as text or as a JSON number: a plain literal is kept as it came, an exponent is written out exactly. */
function readDecimal(what: string, value: unknown): DecimalString {
  const text = isLosslessNumber(value) ? value.value : value;
  if (typeof text !== 'string' || text.length > 500) return refuse(what, 'not a decimal');
  if (isDecimalText(text)) return ZERO.test(text) ? '0' : text;
  const [, exponent] = /^-?\d{1,400}(?:\.\d{1,400})?[eE]([+-]?\d{1,4})$/.exec(text) ?? [];
  if (exponent === undefined || Math.abs(Number(exponent)) > LONGEST_EXPONENT) return refuse(what, 'not a decimal');
  return formatDecimal(new Decimal(text));
}

function readInteger(what: string, value: unknown): number {
  const text = readDecimal(what, value);
  const number = Number(text);
  if (!/^-?\d+(?:\.0+)?$/.test(text) || !Number.isSafeInteger(number)) return refuse(what, 'not a whole number');
  return number;
}

function readDecimals(what: string, value: unknown): Readonly<Record<string, DecimalString>> {
  const record = readObject(value, what);
  // `fromEntries` defines keys rather than assigning them: a market named `__proto__` is a key like any other.
  return mapFields(record, (each, market) => readDecimal(`${what}.${makePrintable(market, 40)}`, each));
}

function readTier(what: string, value: unknown, notes: Notes): unknown {
  const { current, next, needed_volume: needed } = readObject(value, what);
  const step = (name: string, each: unknown): TierStep => {
    const { tier, title, min_volume: least } = readObject(each, `${what}.${name}`);
    const field = (suffix: string) => `${what}.${name}.${suffix}`;
    return {
      tier: readInteger(field('tier'), tier),
      title: readText(field('title'), title ?? '', undefined, notes),
      min_volume: readDecimal(field('min_volume'), least),
    };
  };
  const reached = step('current', current);
  if (next !== undefined && next !== null)
    return { current: reached, next: step('next', next), needed_volume: readDecimal(`${what}.needed_volume`, needed) };
  notes.add('no next tier: this is the highest');
  return { current: reached, next: reached, needed_volume: '0' };
}

const TYPE_FIELDS = ['type', 'order_type'] as const;

/** Replaces the deployment's names of order types with the document's (assumption `positionOrders`). */
function documentTypes(
  record: Readonly<Record<string, unknown>>,
  { positionOrders }: Pick<Profile, 'positionOrders'>,
): Readonly<Record<string, unknown>> {
  const { types } = positionOrders;
  let named = record;
  for (const field of TYPE_FIELDS) {
    const spelled = named[field];
    if (spelled === undefined) continue;
    for (const documented of Object.keys(types) as (keyof typeof types)[]) {
      if (types[documented] !== spelled) continue;
      named = { ...named, [field]: documented };
      break;
    }
  }
  return named;
}

/** A JSON object; undefined for anything else, such as a number that is kept as it was written. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) && !isLosslessNumber(value) ? value : undefined;
}

function readObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  return asRecord(value) ?? refuse(what, 'not an object');
}

function refuse(what: string, why: string): never {
  throw new Unreadable(`${what} is ${why}`);
}
