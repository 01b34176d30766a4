/**
 * The endpoint table: the fourteen private calls of venue-api.md as data. The client's types, the validation of requests and
 * answers, token costs, deadman activity, redaction, the simulator's handlers, the cost bound of `validate` and the endpoint
 * reference are derived from it. What the document leaves open is a setting of the profile (`assumptions.ts`).
 */
import type { DecimalString } from '../base/decimal.ts';
import {
  type DeadmanRecord,
  ORDER_STATUSES,
  ORDER_TYPES,
  type RECORD_FIELDS,
  SIDES,
  TIMES_IN_FORCE,
  type VenueRecord,
} from './records.ts';

/** A parameter of an endpoint. `market`, `order_id` and `client_order_id` are texts with a form of their own. */
export type Parameter = {
  readonly required: boolean;
  /** Meaning with units, for the reference. */
  readonly doc: string;
  /** The value must never be written anywhere. */
  readonly secret?: true;
} & (
  | { readonly type: 'market' | 'order_id' | 'client_order_id' | 'text' | 'boolean' }
  /** Above 0: a price or a size. */
  | { readonly type: 'decimal' }
  | { readonly type: 'integer'; readonly min?: number; readonly max?: number }
  | { readonly type: 'timestamp' }
  | { readonly type: 'enum'; readonly values: readonly string[] }
);

/** The shape of an answer's result; `of` names a record of records.ts, whose fields `wire/records.ts` reads. */
export type AnswerShape =
  | { readonly shape: 'list'; readonly of: RecordName; readonly one: boolean }
  | { readonly shape: 'jwt' }
  | { readonly shape: 'empty' }
  | { readonly shape: 'deadman' }
  | { readonly shape: 'nothing' };

export type RecordName = Exclude<keyof typeof RECORD_FIELDS, 'deadman'>;

/** Effect of a repeated request: none (`safe`), the same effect or value again, or possibly a second order (`never`). */
type Repeatable = 'safe' | 'effect' | 'value' | 'never';

/** What a request does at the venue beyond reading. */
type Action = 'place' | 'amend' | 'cancel' | 'cancel_all' | 'leverage' | 'arm' | 'disarm' | 'session';

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly answer: AnswerShape;
  /** Tokens per call; undefined where the document gives none: then the profile's figure counts, 10 by default. */
  readonly tokens?: number;
  /** Whether it counts as activity for the deadman switch (venue-api.md, rule 1). */
  readonly qualifies: boolean;
  /** Whether it can only lower risk: allowed under a kill switch and on the reserve of the token budget. */
  readonly protective: boolean;
  readonly repeatable: Repeatable;
  /** What it does; absent for a read. Code that treats a request by its effect asks for this, not for the endpoint's name. */
  readonly action?: Action;
  /** The section of venue-api.md that describes it. */
  readonly section: string;
  readonly about: string;
}

const market = { type: 'market', required: true, doc: 'market id, <BASE>-<QUOTE>' } as const;
const optionalMarket = { ...market, required: false } as const;
const orderId = { type: 'order_id', required: true, doc: 'order id, <market_id>@<number>' } as const;
const buildTimestamp = (doc: string) =>
  ({ type: 'timestamp', required: false, doc: `${doc}, µs since the epoch` }) as const;
const paging = {
  start_time: buildTimestamp('earliest time; without it the whole history is read, up to ten times slower'),
  end_time: buildTimestamp('latest time'),
  p_limit: { type: 'integer', required: false, min: 1, max: 1000, doc: 'most rows to return' },
  p_page: { type: 'integer', required: false, min: 0, doc: 'page, from 0' },
  p_order: { type: 'enum', required: false, values: ['DESC', 'ASC'], doc: 'order by time, DESC by default' },
} as const;

/** What holds for a read of which no protection depends. */
const PLAIN_READ = { qualifies: false, protective: false, repeatable: 'safe' } as const;

const ROWS = {
  'GET /account': {
    parameters: {},
    answer: { shape: 'list', of: 'account', one: true },
    tokens: 20,
    ...PLAIN_READ,
    section: 'Account operations',
    about: 'Reads the account record.',
  },
  'PUT /account/leverage': {
    parameters: {
      market_id: market,
      leverage: { type: 'integer', required: true, min: 1, max: 20, doc: 'leverage of the market, a whole number' },
    },
    answer: { shape: 'list', of: 'account', one: true },
    tokens: 20,
    qualifies: false,
    protective: false,
    repeatable: 'value',
    action: 'leverage',
    section: 'Account operations',
    about: 'Sets the leverage of one market.',
  },
  'POST /jwt': {
    parameters: {
      is_client: { type: 'boolean', required: true, doc: 'whether the caller is a client application' },
      refresh_token: { type: 'text', required: true, doc: 'the refresh token', secret: true },
    },
    answer: { shape: 'jwt' },
    tokens: 20,
    qualifies: false,
    protective: true,
    repeatable: 'never',
    action: 'session',
    section: 'Account operations',
    about: 'Obtains a new JWT when the current one has expired.',
  },
  'GET /orders': {
    parameters: {
      order_id: { ...orderId, required: false },
      client_order_id: {
        type: 'client_order_id',
        required: false,
        doc: 'client order id; only together with market_id (since 13 December 2024)',
      },
      status: { type: 'enum', required: false, values: ORDER_STATUSES, doc: 'order status' },
      market_id: optionalMarket,
      ...paging,
    },
    answer: { shape: 'list', of: 'order', one: false },
    ...PLAIN_READ,
    section: 'Orders',
    about: 'Lists orders of the account.',
  },
  'POST /orders': {
    parameters: {
      market_id: market,
      price: {
        type: 'decimal',
        required: false,
        doc: 'limit price, quote currency; required except for stop_market (and for market, where the document leaves it open)',
      },
      side: { type: 'enum', required: true, values: SIDES, doc: 'side of the order' },
      size: {
        type: 'decimal',
        required: true,
        doc: 'base currency; for stop_loss and take_profit a fraction of the position, at most 1',
      },
      type: { type: 'enum', required: true, values: ORDER_TYPES, doc: 'order type' },
      trigger_price: {
        type: 'decimal',
        required: false,
        doc: 'price that triggers a stop or position order, quote currency',
      },
      client_order_id: { type: 'client_order_id', required: false, doc: 'id chosen by the client' },
      time_in_force: { type: 'enum', required: false, values: TIMES_IN_FORCE, doc: 'time in force' },
    },
    answer: { shape: 'list', of: 'placement', one: true },
    tokens: 1,
    qualifies: true,
    protective: false,
    repeatable: 'never',
    action: 'place',
    section: 'Orders',
    about: 'Places an order; the answer says only `processing`.',
  },
  'PUT /orders': {
    parameters: {
      order_id: orderId,
      market_id: market,
      price: { type: 'decimal', required: true, doc: 'new price, quote currency' },
      size: { type: 'decimal', required: false, doc: 'new size, base currency' },
    },
    answer: { shape: 'list', of: 'amend', one: true },
    tokens: 1,
    qualifies: true,
    protective: false,
    repeatable: 'value',
    action: 'amend',
    section: 'Orders',
    about: 'Amends price and size of an order; the answer says only `amending`.',
  },
  'DELETE /orders': {
    parameters: {
      order_id: { ...orderId, required: false },
      market_id: market,
      client_order_id: { type: 'client_order_id', required: false, doc: 'client order id' },
    },
    answer: { shape: 'list', of: 'cancel', one: true },
    tokens: 1,
    qualifies: true,
    protective: true,
    repeatable: 'effect',
    action: 'cancel',
    section: 'Orders',
    about: 'Cancels one order; the answer says only `canceling`.',
  },
  'DELETE /orders/cancel_all': {
    parameters: {},
    answer: { shape: 'empty' },
    qualifies: true,
    protective: true,
    repeatable: 'effect',
    action: 'cancel_all',
    section: 'Orders',
    about: 'Cancels every open order of the account.',
  },
  'GET /fills': {
    parameters: { market_id: optionalMarket, ...paging },
    answer: { shape: 'list', of: 'fill', one: false },
    tokens: 10,
    ...PLAIN_READ,
    section: 'Fills',
    about: 'Lists fills of the account.',
  },
  'GET /fills/order': {
    parameters: { order_id: orderId },
    answer: { shape: 'list', of: 'fill', one: false },
    ...PLAIN_READ,
    section: 'Fills',
    about: 'Lists the fills of one order.',
  },
  'GET /profile': {
    parameters: {},
    answer: { shape: 'list', of: 'tier', one: true },
    tokens: 10,
    ...PLAIN_READ,
    section: 'Profile',
    about: 'Reads the volume tier.',
  },
  'POST /cancel_all_after': {
    parameters: {
      market_id: market,
      timeout: {
        type: 'integer',
        required: true,
        min: 1,
        doc: 'milliseconds without a qualifying request until all orders are cancelled',
      },
    },
    answer: { shape: 'deadman' },
    qualifies: true,
    protective: true,
    repeatable: 'value',
    action: 'arm',
    section: 'Deadman switch',
    about: 'Arms or renews the deadman switch.',
  },
  'GET /cancel_all_after': {
    parameters: { market_id: market },
    answer: { shape: 'deadman' },
    qualifies: false,
    protective: true,
    repeatable: 'safe',
    section: 'Deadman switch',
    about: 'Reads the deadman switch; empty when it is not active.',
  },
  'DELETE /cancel_all_after': {
    parameters: { market_id: market },
    answer: { shape: 'nothing' },
    qualifies: false,
    protective: true,
    repeatable: 'effect',
    action: 'disarm',
    section: 'Deadman switch',
    about: 'Disarms the deadman switch.',
  },
} as const satisfies Record<`${Endpoint['method']} /${string}`, Omit<Endpoint, 'method' | 'path'>>;

/** An endpoint's name is its method and its path. */
export const CATALOGUE = Object.fromEntries(
  Object.entries(ROWS).map(([name, row]) => {
    const [method, path] = name.split(' ');
    return [name, { method, path, ...row }];
  }),
) as { readonly [E in keyof typeof ROWS]: (typeof ROWS)[E] & Pick<Endpoint, 'method' | 'path'> };

export type EndpointName = keyof typeof CATALOGUE;
export const ENDPOINT_NAMES = Object.keys(CATALOGUE) as readonly EndpointName[];

/** The row of an endpoint, typed as `Endpoint` instead of its literal type. */
export function getEndpoint(name: EndpointName): Endpoint {
  return CATALOGUE[name];
}

export function isEndpointName(name: string): name is EndpointName {
  return Object.hasOwn(CATALOGUE, name);
}

/** The action of an endpoint; undefined for a read, and for a request that the profile declares. */
export function getAction(name: string): Action | undefined {
  return isEndpointName(name) ? getEndpoint(name).action : undefined;
}

/** True for a write of the runbook: the engine itself handles the switch and the session. */
export function isRunbookWrite(name: string): boolean {
  const action = getAction(name);
  return action !== undefined && action !== 'arm' && action !== 'disarm' && action !== 'session';
}

type ValueOf<P> = P extends { type: 'boolean' }
  ? boolean
  : P extends { type: 'integer' | 'timestamp' }
    ? number
    : P extends { type: 'decimal' }
      ? DecimalString
      : P extends { type: 'enum'; values: readonly (infer V)[] }
        ? V
        : string;
type RequiredNames<P> = { [K in keyof P]: P[K] extends { required: true } ? K : never }[keyof P];

/** The parameters of an endpoint: decimals as strings, instants in µs. */
export type Params<E extends EndpointName> = {
  readonly [K in RequiredNames<(typeof ROWS)[E]['parameters']>]: ValueOf<(typeof ROWS)[E]['parameters'][K]>;
} & {
  readonly [K in Exclude<keyof (typeof ROWS)[E]['parameters'], RequiredNames<(typeof ROWS)[E]['parameters']>>]?:
    | ValueOf<(typeof ROWS)[E]['parameters'][K]>
    | undefined;
};

/** The result of a confirmed call: records that `wire/answer.ts` has validated and normalised. */
export type Result<E extends EndpointName> = (typeof ROWS)[E]['answer'] extends {
  shape: 'list';
  of: infer N extends RecordName;
}
  ? readonly VenueRecord<N>[]
  : (typeof ROWS)[E]['answer'] extends { shape: 'jwt' }
    ? { readonly jwt: string; readonly refresh_token?: string }
    : (typeof ROWS)[E]['answer'] extends { shape: 'deadman' }
      ? DeadmanRecord | null
      : null;

/** The parameters of a request as far as they are known before it is sent: `U` stands for a value that is not. */
export type WireParams<E extends EndpointName, U = never> = { readonly [K in keyof Params<E>]: Params<E>[K] | U };
