/** Defines the JSON Schema of a simulator configuration; rules that span several fields are checked in `config.ts`. */
import { DURATION_PATTERN } from '../../../base/duration.ts';
import { ENDPOINT_NAMES } from '../../../venue/catalogue.ts';
import { ORDER_TYPES, SIDES } from '../../../venue/records.ts';
import { FAULT_KINDS } from './faults.ts';

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
const RANGE = {
  type: 'object',
  properties: { min: MS, max: MS },
  required: ['min', 'max'],
  additionalProperties: false,
} as const;

const DURATION = { type: 'string', pattern: DURATION_PATTERN, description: 'a duration such as 1m30s' } as const;

const PATH = {
  type: 'object',
  discriminator: { propertyName: 'kind' },
  oneOf: [
    {
      properties: {
        kind: { const: 'walk' },
        volatilityBps: { type: 'number', minimum: 0, maximum: 1000 },
        stepMs: STEP_MS,
      },
      required: ['kind', 'volatilityBps'],
      additionalProperties: false,
    },
    {
      properties: {
        kind: { const: 'points' },
        stepMs: STEP_MS,
        points: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            properties: { afterMs: MS, price: POSITIVE },
            required: ['afterMs', 'price'],
            additionalProperties: false,
          },
        },
      },
      required: ['kind', 'points'],
      additionalProperties: false,
    },
  ],
} as const;

/** A constant, or moves one after the other; which keys go together is checked in `moves.ts`. */
const PRICE = {
  type: ['string', 'array'],
  pattern: POSITIVE.pattern,
  minItems: 1,
  items: {
    type: 'object',
    properties: { ramp: POSITIVE, jump: POSITIVE, gap: POSITIVE, hold: DURATION, over: DURATION },
    additionalProperties: false,
  },
  description: 'a price that does not change, or its moves from `start` on; instead of `path`',
} as const;

const MARKET = {
  type: 'object',
  properties: {
    tick: POSITIVE,
    lot: POSITIVE,
    min_size: POSITIVE,
    start: POSITIVE,
    path: PATH,
    price: PRICE,
    spreadBps: { type: 'number', minimum: 0, maximum: 1000 },
    depth: POSITIVE,
    levels: { type: 'integer', minimum: 1, maximum: 10_000 },
  },
  additionalProperties: false,
} as const;

const FAULT = {
  type: 'object',
  properties: {
    on: { type: 'string', description: 'an endpoint such as "POST /orders", or "*"' },
    when: {
      type: 'object',
      properties: {
        call: {
          type: ['integer', 'string'],
          minimum: 1,
          pattern: '^[1-9][0-9]*(\\+|-[1-9][0-9]*)?$',
          description: 'which of the requests that match: 2, "2+", "2-4"; counted from 1',
        },
        probability: { type: 'number', minimum: 0, maximum: 1 },
        type: { enum: [...ORDER_TYPES] },
        market: { type: 'string' },
        afterMs: MS,
        untilMs: MS,
      },
      additionalProperties: false,
    },
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
  required: ['on', 'do'],
  additionalProperties: false,
} as const;

const FLAG = { type: 'boolean' } as const;
const TEXT = { type: 'string', minLength: 1 } as const;

export const SIMULATOR_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Simulated venue',
  type: 'object',
  properties: {
    markets: { type: 'object', minProperties: 1, additionalProperties: MARKET },
    account: {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        wallet: TEXT,
        equity: DECIMAL,
        leverage: { type: 'integer', minimum: 1, maximum: 50 },
        maxLeverage: { type: 'integer', minimum: 1, maximum: 50 },
        fees: { type: 'object', properties: { maker: DECIMAL, taker: DECIMAL }, additionalProperties: false },
        volume: DECIMAL,
        tiers: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            properties: { tier: { type: 'integer' }, title: TEXT, min_volume: DECIMAL },
            required: ['tier', 'title', 'min_volume'],
            additionalProperties: false,
          },
        },
        positions: {
          type: 'array',
          items: {
            type: 'object',
            properties: { market: TEXT, size: DECIMAL, price: POSITIVE, agoMs: MS },
            required: ['market', 'size', 'price', 'agoMs'],
            additionalProperties: false,
          },
        },
        resting: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              market: TEXT,
              side: { enum: [...SIDES] },
              size: POSITIVE,
              price: POSITIVE,
              agoMs: MS,
              client_order_id: TEXT,
              nulls: { type: 'array', items: TEXT },
            },
            required: ['market', 'side', 'size', 'price', 'agoMs'],
            additionalProperties: false,
          },
        },
        maxOpenOrders: { type: 'integer', minimum: 1 },
      },
      additionalProperties: false,
    },
    latencyMs: RANGE,
    processingMs: RANGE,
    visibilityLagMs: RANGE,
    readLagMs: MS,
    fillLagMs: MS,
    clockSteps: {
      type: 'array',
      items: {
        type: 'object',
        properties: { afterMs: MS, byMs: { type: 'integer' } },
        required: ['afterMs', 'byMs'],
        additionalProperties: false,
      },
    },
    fullScanFactor: { type: 'number', minimum: 1, maximum: 100 },
    tokens: {
      type: 'object',
      properties: {
        limit: { type: 'integer', minimum: 1 },
        windowMs: STEP_MS,
        algorithm: { enum: ['sliding_log', 'fixed_window', 'token_bucket', 'sliding_counter'] },
        costs: {
          type: 'object',
          properties: Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, { type: 'integer', minimum: 0 }])),
          additionalProperties: false,
        },
        status: { type: 'integer', minimum: 200, maximum: 599 },
        resetUnit: { enum: ['s', 'ms', 'us', 'iso'] },
        headers: FLAG,
        retryAfter: { enum: ['x', 'plain', 'both', 'none'] },
        foreign: {
          type: 'array',
          items: {
            type: 'object',
            properties: { afterMs: MS, tokens: { type: 'integer', minimum: 1 } },
            required: ['afterMs', 'tokens'],
            additionalProperties: false,
          },
        },
        ordersPerSecond: { type: 'integer', minimum: 1 },
      },
      additionalProperties: false,
    },
    auth: {
      type: 'object',
      properties: {
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
        apiKey: {
          type: 'object',
          properties: { key: TEXT, secret: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})+$' } },
          required: ['key', 'secret'],
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
    surprises: {
      type: 'object',
      properties: {
        stopStatus: TEXT,
        amendFlickerMs: MS,
        amendSize: { enum: ['total', 'remaining'] },
        amendInitialSize: { enum: ['changes', 'stays'] },
        iocRest: { enum: ['canceled', 'rejected'] },
        immediateOpenMs: MS,
        cancelAck: { enum: ['canceling', 'canceled'] },
        lags: { enum: ['same', 'each', 'reads'] },
        duplicateIds: { enum: ['accept', 'refuse', 'same'] },
        missingOrder: { enum: ['empty', 'refuse'] },
        lookups: { enum: ['exact', 'all'] },
        pages: { enum: ['numbered', 'first'] },
        errorText: { enum: ['code', 'code_and_text', 'text'] },
        refusalStatus: { enum: ['by_kind', 200, 400] },
        cancelAllResult: { enum: ['empty', 'true'] },
        deadmanResult: { enum: ['object', 'array'] },
        deadmanEmpty: { enum: ['object', 'array', 'null'] },
        deadmanDelayMs: MS,
        cancelAllSkipsProcessing: FLAG,
        offStep: { enum: ['refuse', 'accept'] },
        marketWithoutPrice: { enum: ['accept', 'refuse'] },
        unknownParameters: { enum: ['refuse', 'ignore'] },
        positionSizeField: { enum: ['size', 'size_percent'] },
        positionTypeSuffix: { enum: ['', '_limit'] },
      },
      additionalProperties: false,
    },
    faults: { type: 'array', items: FAULT },
  },
  additionalProperties: false,
} as const;
