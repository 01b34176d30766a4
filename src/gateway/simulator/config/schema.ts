/** Defines the JSON Schema of a simulator configuration; rules that span several fields are checked in `config.ts`. */
import { DURATION_PATTERN } from '../../../base/duration.ts';
import { mapFields } from '../../../base/json.ts';
import { makeObject } from '../../../base/schema.ts';
import { ENDPOINT_NAMES } from '../../../venue/catalogue.ts';
import { ORDER_TYPES, SIDES } from '../../../venue/records.ts';
import { FAULT_KINDS } from './faults.ts';
import { SURPRISES } from './settings.ts';

const CALL_PATTERN = '^[1-9][0-9]*(\\+|-[1-9][0-9]*)?$';
const SECRET_PATTERN = '^0x([0-9a-fA-F]{2})+$';
const DECIMAL = {
  type: 'string',
  pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$',
  description: 'a plain decimal, quoted',
} as const;
const POSITIVE = {
  type: 'string',
  pattern: '^(?=.*[1-9])(0|[1-9][0-9]*)(\\.[0-9]+)?$',
  description: 'a plain decimal above 0, quoted',
} as const;
const MS = { type: 'integer', minimum: 0 } as const;
const STEP_MS = { type: 'integer', minimum: 1 } as const;
const RANGE = makeObject({ min: MS, max: MS }, ['min', 'max']);

/** What a text must be, by the pattern of its schema. */
const FORMS: Readonly<Record<string, string>> = {
  [DECIMAL.pattern]: 'a decimal, such as "-0.5"',
  [POSITIVE.pattern]: 'a decimal above 0, such as "64000"',
  [DURATION_PATTERN]: 'a duration, such as 1m30s',
  [CALL_PATTERN]: 'a number, or a range such as "2+" or "2-4"',
  [SECRET_PATTERN]: 'bytes in hex, such as "0x1f"',
};

export function describeForm(pattern: string): string {
  return FORMS[pattern] ?? 'in the required form';
}

const DURATION = { type: 'string', pattern: DURATION_PATTERN, description: 'a duration such as 1m30s' } as const;

const PATH = {
  type: 'object',
  discriminator: { propertyName: 'kind' },
  oneOf: [
    makeObject(
      {
        kind: { const: 'walk' },
        volatilityBps: { type: 'number', minimum: 0, maximum: 1000 },
        stepMs: STEP_MS,
      },
      ['kind', 'volatilityBps'],
    ),
    makeObject(
      {
        kind: { const: 'points' },
        stepMs: STEP_MS,
        points: {
          type: 'array',
          minItems: 1,
          items: makeObject({ afterMs: MS, price: POSITIVE }, ['afterMs', 'price']),
        },
      },
      ['kind', 'points'],
    ),
  ],
} as const;

/** A constant, or moves one after the other; which keys go together is checked in `moves.ts`. */
const PRICE = {
  type: ['string', 'array'],
  pattern: POSITIVE.pattern,
  minItems: 1,
  items: makeObject({ ramp: POSITIVE, jump: POSITIVE, gap: POSITIVE, hold: DURATION, over: DURATION }),
  description: 'a price that does not change, or its moves from `start` on; instead of `path`',
} as const;

const MARKET = makeObject({
  tick: POSITIVE,
  lot: POSITIVE,
  min_size: POSITIVE,
  start: POSITIVE,
  path: PATH,
  price: PRICE,
  spreadBps: { type: 'number', minimum: 0, maximum: 1000 },
  depth: POSITIVE,
  levels: { type: 'integer', minimum: 1, maximum: 10_000 },
});

const FAULT = makeObject(
  {
    on: { type: 'string', description: 'an endpoint such as "POST /orders", or "*"' },
    when: makeObject({
      call: {
        type: ['integer', 'string'],
        minimum: 1,
        pattern: CALL_PATTERN,
        description: 'which of the requests that match: 2, "2+", "2-4"; counted from 1',
      },
      probability: { type: 'number', minimum: 0, maximum: 1 },
      type: { enum: [...ORDER_TYPES] },
      market: { type: 'string' },
      afterMs: MS,
      untilMs: MS,
    }),
    do: { enum: [...FAULT_KINDS] },
    ms: MS,
    status: { type: 'integer', minimum: 200, maximum: 599 },
    body: { type: 'string' },
    error: { type: 'string' },
    reason: { type: 'string' },
    processed: { type: 'boolean' },
    way: { enum: ['request', 'reply'] },
    retryAfter: { type: 'string' },
    fraction: POSITIVE,
    location: { type: 'string' },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
  },
  ['on', 'do'],
);

const FLAG = { type: 'boolean' } as const;
const TEXT = { type: 'string', minLength: 1 } as const;

function toSchema(surprise: (typeof SURPRISES)[keyof typeof SURPRISES]): object {
  if (typeof surprise === 'object') return { enum: surprise };
  return typeof surprise === 'number' ? MS : typeof surprise === 'boolean' ? FLAG : TEXT;
}

export const SIMULATOR_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Simulated venue',
  type: 'object',
  properties: {
    markets: { type: 'object', minProperties: 1, additionalProperties: MARKET },
    account: makeObject({
      id: { type: 'integer' },
      wallet: TEXT,
      equity: DECIMAL,
      leverage: { type: 'integer', minimum: 1, maximum: 50 },
      maxLeverage: { type: 'integer', minimum: 1, maximum: 50 },
      fees: makeObject({ maker: DECIMAL, taker: DECIMAL }),
      volume: DECIMAL,
      tiers: {
        type: 'array',
        minItems: 1,
        items: makeObject({ tier: { type: 'integer' }, title: TEXT, min_volume: DECIMAL }, [
          'tier',
          'title',
          'min_volume',
        ]),
      },
      positions: {
        type: 'array',
        items: makeObject({ market: TEXT, size: DECIMAL, price: POSITIVE, agoMs: MS }, [
          'market',
          'size',
          'price',
          'agoMs',
        ]),
      },
      resting: {
        type: 'array',
        items: makeObject(
          {
            market: TEXT,
            side: { enum: [...SIDES] },
            size: POSITIVE,
            price: POSITIVE,
            agoMs: { type: 'integer' },
            client_order_id: TEXT,
            nulls: { type: 'array', items: TEXT },
          },
          ['market', 'side', 'size', 'price', 'agoMs'],
        ),
      },
      maxOpenOrders: { type: 'integer', minimum: 1 },
    }),
    latencyMs: RANGE,
    processingMs: RANGE,
    visibilityLagMs: RANGE,
    readLagMs: MS,
    fillLagMs: MS,
    clockSteps: {
      type: 'array',
      items: makeObject({ afterMs: MS, byMs: { type: 'integer' } }, ['afterMs', 'byMs']),
    },
    fullScanFactor: { type: 'number', minimum: 1, maximum: 100 },
    tokens: makeObject({
      limit: { type: 'integer', minimum: 1 },
      windowMs: STEP_MS,
      algorithm: { enum: ['sliding_log', 'fixed_window', 'token_bucket', 'sliding_counter'] },
      costs: makeObject(Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, { type: 'integer', minimum: 0 }]))),
      status: { type: 'integer', minimum: 200, maximum: 599 },
      resetUnit: { enum: ['s', 'ms', 'us', 'iso'] },
      headers: FLAG,
      retryAfter: { enum: ['x', 'plain', 'both', 'none'] },
      foreign: {
        type: 'array',
        items: makeObject({ afterMs: MS, tokens: { type: 'integer', minimum: 1 } }, ['afterMs', 'tokens']),
      },
      ordersPerSecond: { type: 'integer', minimum: 1 },
    }),
    auth: makeObject({
      mode: { enum: ['off', 'jwt', 'api_key'] },
      accept: { enum: ['any', 'issued'] },
      lifeMs: STEP_MS,
      token: TEXT,
      refreshToken: TEXT,
      rotate: FLAG,
      result: { enum: ['text', 'object'] },
      header: TEXT,
      prefix: { type: 'string' },
      cookie: TEXT,
      apiKey: makeObject({ key: TEXT, secret: { type: 'string', pattern: SECRET_PATTERN } }, ['key', 'secret']),
    }),
    surprises: makeObject(mapFields(SURPRISES, toSchema)),
    faults: { type: 'array', items: FAULT },
  },
  additionalProperties: false,
} as const;
