/**
 * The table of the simulator's settings: a JSON Schema, from which the types (`settings.ts`) and the defaults are derived. By
 * default there are no faults, and delays are long enough to expose an engine that does not wait. Rules that span several fields
 * are checked in `config.ts`.
 */
import { makeObject } from '../../../base/schema.ts';
import { ENDPOINT_NAMES, type EndpointName } from '../../../venue/catalogue.ts';
import { SIDES } from '../../../venue/records.ts';
import { FAULT } from './faults.ts';
import {
  COUNT,
  DECIMAL,
  DURATION,
  described,
  FLAG,
  MS,
  POSITIVE,
  RANGE,
  SECRET,
  STATUS,
  standard,
  TEXT,
  WHOLE,
} from './forms.ts';
import { SURPRISES } from './surprises.ts';

const BPS = { type: 'number', minimum: 0, maximum: 1000 } as const;

const PATH = {
  type: 'object',
  discriminator: { propertyName: 'kind' },
  oneOf: [
    makeObject(
      {
        kind: { const: 'walk', description: 'a seeded walk' },
        volatilityBps: described(BPS, 'standard deviation of a step, whose draw is nearly normal'),
        stepMs: COUNT,
      },
      ['kind', 'volatilityBps'],
    ),
    makeObject(
      {
        kind: { const: 'points', description: 'the price holds from each point to the next' },
        stepMs: described(
          COUNT,
          'the interval at which liquidity returns, and the grid to which the time of a point is rounded up',
        ),
        points: {
          type: 'array',
          minItems: 1,
          items: makeObject({ afterMs: described(MS, 'counts from the start of the simulation'), price: POSITIVE }, [
            'afterMs',
            'price',
          ]),
        },
      },
      ['kind', 'points'],
    ),
  ],
} as const;

/** Which keys of a move go together is checked in `moves.ts`. */
const PRICE = {
  type: ['string', 'array'],
  pattern: POSITIVE.pattern,
  minItems: 1,
  items: makeObject({
    ramp: described(POSITIVE, 'the price to which it moves in a straight line'),
    jump: described(POSITIVE, 'the price that holds from here on'),
    gap: described(POSITIVE, 'the price after a time without quotes'),
    hold: described(DURATION, 'how long nothing changes, a duration such as 5m'),
    over: described(DURATION, 'how long a ramp or a gap takes'),
  }),
  description: 'a price that does not change, or its moves from `start` on, one after the other; instead of `path`',
} as const;

const MARKET = makeObject({
  tick: POSITIVE,
  lot: POSITIVE,
  min_size: POSITIVE,
  start: described(POSITIVE, 'mid price when the simulation starts'),
  path: PATH,
  price: PRICE,
  spreadBps: described(BPS, 'distance between best bid and best ask in basis points of `start`; at least two ticks'),
  depth: described(
    POSITIVE,
    'base currency offered at each tick away from the best price; all of it returns at the next step',
  ),
  levels: {
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    description: 'number of ticks away from the best price at which liquidity is offered',
  },
});

const LEVERAGE = { type: 'integer', minimum: 1, maximum: 50 } as const;

const ACCOUNT = makeObject({
  id: { ...WHOLE, default: 88892 },
  wallet: { ...TEXT, default: '0x51mu1a7ed' },
  equity: standard(DECIMAL, '18234.10', 'equity at the start, quote currency'),
  leverage: standard(LEVERAGE, 5, 'leverage of each market until a request sets it'),
  maxLeverage: { ...LEVERAGE, default: 20 },
  /** Fractions of the notional; a negative rate is a rebate. */
  fees: makeObject({ maker: { ...DECIMAL, default: '-0.00005' }, taker: { ...DECIMAL, default: '0.0005' } }),
  volume: standard(DECIMAL, '0', 'volume traded before the simulation starts, quote currency'),
  tiers: {
    type: 'array',
    minItems: 1,
    items: makeObject({ tier: WHOLE, title: TEXT, min_volume: DECIMAL }, ['tier', 'title', 'min_volume']),
    default: [
      { tier: 0, title: 'Standard', min_volume: '0' },
      { tier: 1, title: 'VIP 1', min_volume: '1000000' },
      { tier: 2, title: 'VIP 2', min_volume: '10000000' },
    ],
  },
  positions: {
    type: 'array',
    items: makeObject({ market: TEXT, size: DECIMAL, price: POSITIVE, agoMs: MS }, [
      'market',
      'size',
      'price',
      'agoMs',
    ]),
    default: [],
    description:
      'positions at the start: each is a closed market order with one fill, `agoMs` before the start; a negative size is short',
  },
  resting: {
    type: 'array',
    items: makeObject(
      {
        market: TEXT,
        side: { enum: SIDES },
        size: POSITIVE,
        price: POSITIVE,
        agoMs: WHOLE,
        client_order_id: TEXT,
        nulls: {
          type: 'array',
          items: TEXT,
          description:
            'fields of its record that GET /orders shows as null: an order may be of a kind that this program never places',
        },
      },
      ['market', 'side', 'size', 'price', 'agoMs'],
    ),
    default: [],
    description:
      'limit orders that another program placed `agoMs` before the start; where that is negative, it places them so long after it',
  },
  maxOpenOrders: { ...COUNT, default: 1000 },
});

const COSTS = Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, MS])) as Record<EndpointName, typeof MS>;

const TOKENS = makeObject({
  limit: { ...COUNT, default: 1200 },
  windowMs: { ...COUNT, default: 60_000 },
  algorithm: { enum: ['sliding_log', 'fixed_window', 'token_bucket', 'sliding_counter'], default: 'sliding_log' },
  /** In tokens: those that differ from the venue document, or that it does not give (10 by default). */
  costs: makeObject(COSTS),
  status: standard(STATUS, 429, 'HTTP status of a refusal for lack of tokens'),
  resetUnit: { enum: ['s', 'ms', 'us', 'iso'], default: 's' },
  headers: standard(FLAG, true, 'if false, answers have no X-RateLimit headers'),
  retryAfter: {
    enum: ['x', 'plain', 'both', 'none'],
    default: 'x',
    description: 'which headers a refusal carries: X-RateLimit-Retry-After, a plain Retry-After, both or none',
  },
  foreign: {
    type: 'array',
    items: makeObject({ afterMs: MS, tokens: COUNT }, ['afterMs', 'tokens']),
    default: [],
    description: 'tokens that other programs on the same address use',
  },
  ordersPerSecond: described(COUNT, 'order actions per second for the account; no such limit if absent'),
});

const AUTH = makeObject({
  mode: {
    enum: ['off', 'jwt', 'api_key'],
    default: 'jwt',
    description: '`off`: no session is needed; `jwt`: HTTP callers need a token; `api_key`: HTTP callers must sign',
  },
  accept: {
    enum: ['any', 'issued'],
    default: 'any',
    description:
      '`any`: every token is valid, and its life begins with its first use; `issued`: only `token` and those of POST /jwt',
  },
  lifeMs: described(
    COUNT,
    'lifetime of a token; without it, tokens do not expire; it applies to the in-process transport too',
  ),
  token: described(TEXT, 'a token that is valid from the start, in addition to issued ones'),
  refreshToken: described(TEXT, 'the only refresh token that is accepted; without it, every one is'),
  rotate: standard(FLAG, false, 'if true, each refresh invalidates the refresh token and returns a new one'),
  result: { enum: ['text', 'object'], default: 'text' },
  header: { ...TEXT, default: 'authorization' },
  prefix: { type: 'string', default: 'Bearer ' },
  cookie: TEXT,
  apiKey: makeObject({ key: TEXT, secret: SECRET }, ['key', 'secret']),
});

const SETTINGS = makeObject({
  markets: {
    type: 'object',
    minProperties: 1,
    additionalProperties: MARKET,
    description: 'replaces the three default markets',
  },
  account: ACCOUNT,
  latencyMs: standard(RANGE, { min: 20, max: 60 }, 'round trip, half each way'),
  processingMs: standard(
    RANGE,
    { min: 20, max: 80 },
    'from the acknowledgement of an order, an amend or a cancel to its outcome',
  ),
  visibilityLagMs: standard(
    RANGE,
    { min: 0, max: 120 },
    'surprise 2: time after its arrival during which GET /orders does not show an order',
  ),
  readLagMs: standard(MS, 0, 'age of the state of an order that GET /orders shows'),
  fillLagMs: standard(MS, 0, 'time during which GET /fills does not show a new fill'),
  clockSteps: {
    type: 'array',
    items: makeObject({ afterMs: MS, byMs: WHOLE }, ['afterMs', 'byMs']),
    default: [],
    description:
      "adjustments of the venue's own clock, as the timestamps of orders and fills show it; `byMs` below 0 sets it back",
  },
  fullScanFactor: {
    type: 'number',
    minimum: 1,
    maximum: 100,
    default: 10,
    description:
      'how many times longer GET /orders and GET /fills without start_time take at most; grows with the history',
  },
  tokens: TOKENS,
  auth: AUTH,
  surprises: SURPRISES,
  faults: { type: 'array', items: FAULT, default: [] },
});

export const SIMULATOR_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Simulated venue',
  ...SETTINGS,
} as const;
