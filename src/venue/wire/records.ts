/**
 * Reads the records of answers into the types of records.ts, by one table of fields. A field that the venue may leave out gets
 * its documented empty value. A field that an order, a fill or a balance needs is never filled in: an invented zero would be
 * believed. Unknown fields and words are noted and do no harm.
 */

import { isLosslessNumber } from 'lossless-json';
import { Decimal, type DecimalString, formatDecimal, isDecimalText } from '../../base/decimal.ts';
import { isRecord, mapFields } from '../../base/json.ts';
import { makePrintable } from '../../base/printable.ts';
import type { RecordName, RecordOf } from '../catalogue.ts';
import { isFillId, isMarketId, isOrderId, readMarketOfId } from '../forms.ts';
import type { Profile } from '../profile/profile.ts';
import { type DeadmanRecord, ORDER_STATUSES, ORDER_TYPES, SIDES, TIMES_IN_FORCE, type TierStep } from '../records.ts';

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

interface Records extends RecordOf {
  readonly deadman: DeadmanRecord;
}

/** How a field is read; `missing` is the value of an absent, null or empty one. Without `missing` the field is required. */
type FieldRule =
  | { readonly as: 'text'; readonly missing?: string; readonly known?: readonly string[] }
  | { readonly as: 'decimal'; readonly missing?: DecimalString }
  | { readonly as: 'integer'; readonly missing?: number }
  | { readonly as: 'boolean'; readonly missing?: boolean }
  | { readonly as: 'order_id' | 'fill_id' | 'side' | 'decimals' | 'tier' }
  | { readonly as: 'trade_id'; readonly missing: string }
  /** Derived from the record's own id where it is absent. */
  | { readonly as: 'market' }
  | { readonly as: 'optional market' };

const decimal = { as: 'decimal' } as const;
/** Counts and ids that no decision depends on. */
const incidental = { as: 'integer', missing: 0 } as const;
const status = (missing?: string) =>
  ({ as: 'text', known: ORDER_STATUSES, ...(missing === undefined ? {} : { missing }) }) as const;
const timeInForce = { as: 'text', missing: '', known: TIMES_IN_FORCE } as const;

const FIELDS: { readonly [N in keyof Records]: { readonly [F in keyof Records[N]]-?: FieldRule } } = {
  account: {
    id: incidental,
    status: { as: 'text', missing: '' },
    profile_type: { as: 'text', missing: '' },
    wallet: { as: 'text', missing: '' },
    balance: decimal,
    withdrawable_balance: decimal,
    account_equity: decimal,
    account_leverage: decimal,
    account_margin: decimal,
    health: decimal,
    cum_trading_volume: decimal,
    cum_unrealized_pnl: decimal,
    total_notional: decimal,
    total_order_margin: decimal,
    total_position_margin: decimal,
    last_liq_check: incidental,
    last_update: incidental,
    leverage: { as: 'decimals' },
  },
  order: {
    id: { as: 'order_id' },
    client_order_id: { as: 'text', missing: '' },
    market_id: { as: 'market' },
    order_type: { as: 'text', missing: '', known: ORDER_TYPES },
    side: { as: 'side' },
    price: { as: 'decimal', missing: '0' },
    size: decimal,
    initial_size: decimal,
    total_filled_size: decimal,
    status: status(),
    reason: { as: 'text', missing: '' },
    profile_id: incidental,
    timestamp: { as: 'integer' },
    time_in_force: timeInForce,
  },
  placement: {
    id: { as: 'order_id' },
    is_liquidation: { as: 'boolean', missing: false },
    market_id: { as: 'market' },
    price: { as: 'decimal', missing: '0' },
    profile_id: incidental,
    side: { as: 'side' },
    size: decimal,
    status: status('processing'),
    client_order_id: { as: 'text', missing: '' },
    type: { as: 'text', missing: '', known: ORDER_TYPES },
    time_in_force: timeInForce,
  },
  cancel: {
    id: { as: 'order_id' },
    market_id: { as: 'market' },
    profile_id: incidental,
    status: status('canceling'),
  },
  amend: {
    id: { as: 'order_id' },
    market_id: { as: 'market' },
    price: decimal,
    profile_id: incidental,
    size: decimal,
    status: status('amending'),
  },
  fill: {
    id: { as: 'fill_id' },
    trade_id: { as: 'trade_id', missing: '' },
    order_id: { as: 'order_id' },
    market_id: { as: 'market' },
    profile_id: incidental,
    side: { as: 'side' },
    price: decimal,
    size: decimal,
    fee: decimal,
    is_maker: { as: 'boolean', missing: false },
    liquidation: { as: 'boolean', missing: false },
    timestamp: { as: 'integer' },
  },
  tier: { tier_status: { as: 'tier' } },
  deadman: {
    market_id: { as: 'optional market' },
    profile_id: incidental,
    timeout: { as: 'integer' },
    last_updated: incidental,
    status: { as: 'text' },
  },
};

interface Row {
  readonly field: string;
  /** The name of the field in messages. */
  readonly what: string;
  readonly rule: FieldRule;
}

const ROWS: ReadonlyMap<string, readonly Row[]> = new Map(
  Object.entries(FIELDS).map(([name, fields]) => [
    name,
    Object.entries(fields).map(([field, rule]) => ({ field, what: `${name}.${field}`, rule })),
  ]),
);

/** Reads one record. Throws `Unreadable` where a required field is missing or malformed. */
export function readRecord(
  name: RecordName | 'deadman',
  value: unknown,
  settings: Pick<Profile, 'positionOrders'>,
  notes: Notes,
): Records[RecordName | 'deadman'] {
  const record = documentTypes(readObject(value, name), settings);
  const read: Record<string, unknown> = {};
  for (const { field, what, rule } of ROWS.get(name) as readonly Row[]) {
    const each = readField(what, record[field], rule, record, notes);
    if (each !== undefined) read[field] = each;
  }
  for (const field of Object.keys(record))
    if (!Object.hasOwn(FIELDS[name], field)) notes.add(`unknown field ${makePrintable(field, 40)} of ${name}`);
  if (
    typeof read['id'] === 'string' &&
    read['market_id'] !== undefined &&
    readMarketOfId(read['id']) !== read['market_id']
  ) {
    throw new Unreadable(`${name}.id belongs to another market than ${name}.market_id`);
  }
  return read as unknown as Records[RecordName | 'deadman'];
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
    case 'decimal':
      return readDecimal(what, value);
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
