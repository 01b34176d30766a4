/**
 * What venue-api.md leaves open, each with the default taken, why, and what else has been seen. The profile's defaults are
 * read from here, its settings are named here, and a guess anywhere in the code is cited by its key. Nothing here has been
 * checked against a live server: a row is a guess that is written down as one.
 */
import type { EndpointName } from './catalogue.ts';

export interface Assumption {
  /** The question the document leaves open. */
  readonly open: string;
  readonly default: unknown;
  /** Why this default, or which mistake would be worse. */
  readonly reason: string;
  /** The section of venue-api.md that leaves it open. */
  readonly section: string;
  /** What else is known of venues with this interface. */
  readonly alsoSeen: string;
  /** The setting of the profile, dotted; absent where every form that was seen is read, so that nothing is to be set. */
  readonly setting?: string;
}

/** Where parameters travel when nothing else is said (assumption `encoding`). */
export type Placement = 'query' | 'body';

export const ASSUMPTIONS = {
  jwtHeader: {
    open: 'header that carries the JWT',
    default: 'Authorization',
    reason: 'the registered header for it',
    section: 'Authentication',
    alsoSeen: 'RBT-JWT: <jwt>',
    setting: 'auth.header',
  },
  jwtPrefix: {
    open: 'what stands before the JWT in its header',
    default: 'Bearer ',
    reason: 'the registered scheme; in any header but Authorization nothing stands before it',
    section: 'Authentication',
    alsoSeen: 'none, in RBT-JWT',
    setting: 'auth.prefix',
  },
  jwtCookie: {
    open: 'cookie that carries the JWT',
    default: undefined,
    reason: 'a header is the usual place for a program',
    section: 'Authentication',
    alsoSeen: 'cookie jwt=<jwt>',
    setting: 'auth.cookie',
  },
  jwtLifeMs: {
    open: 'life of a JWT that has no exp claim',
    default: 172_800_000,
    reason: 'seen in public clients; refreshing too early only costs 20 tokens',
    section: 'Authentication',
    alsoSeen: 'an exp claim, which goes before it',
    setting: 'auth.jwt_life',
  },
  jwtResult: {
    open: "shape of POST /jwt's result beyond one string",
    default: 'text',
    reason: 'the document: an array with one string',
    section: 'Account operations',
    alsoSeen: '[{"jwt": …, "refresh_token": …}], and then the old refresh token is spent',
  },
  jwtOnRefresh: {
    open: 'whether POST /jwt carries the JWT it replaces',
    default: true,
    reason: 'the document says authentication is required for every endpoint, this one among them',
    section: 'Endpoints',
    alsoSeen: 'no authentication at all on it',
    setting: 'auth.send_jwt_on_refresh',
  },
  isClient: {
    open: 'what is_client means',
    default: true,
    reason: 'a program that asks for its own token is a client',
    section: 'Account operations',
    alsoSeen: 'false, from web pages',
    setting: 'auth.is_client',
  },
  signing: {
    open: 'API keys and request signing',
    default: 'off',
    reason: 'the document speaks of a JWT for all endpoints',
    section: 'Authentication',
    alsoSeen: 'RBT-API-KEY, RBT-TS, RBT-SIGNATURE and EID',
    setting: 'auth.mode',
  },
  signingHeaders: {
    open: 'headers of a signed request',
    default: { key: 'RBT-API-KEY', expiry: 'RBT-TS', signature: 'RBT-SIGNATURE', chain: 'EID' },
    reason: 'the only ones that were seen',
    section: 'Authentication',
    alsoSeen: 'nothing else',
    setting: 'auth.signing_headers',
  },
  signatureLifeMs: {
    open: 'life of a signature',
    default: 20_000,
    reason:
      'long enough for a skewed clock and a slow network, short enough to bound how late an order can still be accepted',
    section: 'Authentication',
    alsoSeen: 'at most 600 s ahead; 15 to 30 s is usual',
    setting: 'auth.signature_life',
  },
  encoding: {
    open: 'query string or JSON body, per endpoint',
    default: {
      'GET /account': 'query',
      'PUT /account/leverage': 'body',
      'POST /jwt': 'body',
      'GET /orders': 'query',
      'POST /orders': 'body',
      'PUT /orders': 'body',
      'DELETE /orders': 'body',
      'DELETE /orders/cancel_all': 'body',
      'GET /fills': 'query',
      'GET /fills/order': 'query',
      'GET /profile': 'query',
      'POST /cancel_all_after': 'body',
      'GET /cancel_all_after': 'query',
      'DELETE /cancel_all_after': 'body',
    } satisfies Record<EndpointName, Placement>,
    reason: 'by method: a GET has no body, and "request numbers are given as JSON numbers" speaks of bodies',
    section: 'Endpoints',
    alsoSeen: 'POST and DELETE /cancel_all_after in the query string, with an empty JSON body',
    setting: 'encoding',
  },
  limitedStatuses: {
    open: 'HTTP status of an exhausted rate limit',
    default: [429],
    reason: 'the registered status for it; 200 and 400 are recognised by headers and text',
    section: 'Errors',
    alsoSeen: '200 or 400 with success: false',
    setting: 'rate_limit.statuses',
  },
  failureStatus: {
    open: 'HTTP status of other failures',
    default: 'any',
    reason: "the envelope's success decides, never the status alone",
    section: 'Errors',
    alsoSeen: '400 for everything; 401, 403, 404, 5xx',
  },
  unknownCost: {
    open: 'token cost of GET /orders, GET /fills/order, DELETE /orders/cancel_all and the deadman calls',
    default: 10,
    reason:
      'too high wastes some of the budget, too low overruns it; the real cost is learned from X-RateLimit-Remaining',
    section: 'Rate limit',
    alsoSeen: 'unknown',
    setting: 'rate_limit.costs',
  },
  resetUnit: {
    open: 'unit of X-RateLimit-Reset',
    default: 'auto',
    reason: 'the magnitude tells seconds, milliseconds and microseconds apart',
    section: 'Rate limit response headers',
    alsoSeen: 'seconds, milliseconds, microseconds, an ISO date',
    setting: 'rate_limit.reset_unit',
  },
  retryHint: {
    open: 'header that says how long to wait',
    default: 'X-RateLimit-Retry-After',
    reason: 'the document; a plain one is read where it is missing',
    section: 'Rate limit response headers',
    alsoSeen: 'plain Retry-After',
  },
  tokens: {
    open: 'whether this account has a larger limit',
    default: 1200,
    reason: 'the document; X-RateLimit-Limit goes before it',
    section: 'Rate limit',
    alsoSeen: 'larger ones, granted to market makers',
    setting: 'rate_limit.tokens',
  },
  windowMs: {
    open: 'how the window slides',
    default: 60_000,
    reason: 'the document; the budget is right under four readings of it',
    section: 'Rate limit',
    alsoSeen: 'sliding log, fixed window, token bucket, sliding counter',
    setting: 'rate_limit.window',
  },
  orderRate: {
    open: 'an account-wide rate of order actions',
    default: undefined,
    reason: 'the document names none',
    section: 'Other limits',
    alsoSeen: '20 order actions a second per account, refused with 429',
    setting: 'rate_limit.order_rate',
  },
  baseUrl: {
    open: 'base URL',
    default: undefined,
    reason: 'the profile names it: production, test network and others exist',
    section: 'What the service does',
    alsoSeen: 'several',
    setting: 'base_url',
  },
  positionOrders: {
    open: 'how a position stop-loss or take-profit is spelled',
    default: { sizeField: 'size', types: { stop_loss: 'stop_loss', take_profit: 'take_profit' } },
    reason: 'the document; its second choice of type can not be told apart from the first',
    section: 'Orders',
    alsoSeen: 'size_percent for the fraction; types stop_loss_limit and take_profit_limit',
    setting: 'position_orders',
  },
  marketOrderPrice: {
    open: 'whether a market order needs a price',
    default: 'optional',
    reason:
      'listed without an optional marker, but a market order by its name has none; the venue refuses where it wants one',
    section: 'Orders',
    alsoSeen: 'a price as the worst one accepted',
    setting: 'market_order_price',
  },
  deadmanResult: {
    open: 'shape of the deadman result when the switch is not active',
    default: 'object',
    reason: 'the document: an object, or empty; all forms are read',
    section: 'Deadman switch',
    alsoSeen: 'an array of one, an empty array, {} or null',
  },
  cancelAllResult: {
    open: "content of cancel_all's array",
    default: '[]',
    reason: 'the document; both forms are read',
    section: 'Orders',
    alsoSeen: '[true]',
  },
  orderStatuses: {
    open: 'statuses beyond the eight, and transitions between them',
    default: 'not terminal',
    reason: 'an unknown status that were taken for an end would hide a live order',
    section: 'States and transitions',
    alsoSeen: 'placed, for an untriggered stop',
  },
  definiteRejects: {
    open: 'which error texts prove that nothing was placed',
    default: [],
    reason: 'none is documented; a POST that was refused with another text is looked up once',
    section: 'Errors',
    alsoSeen: 'bare codes, a code and a text, free text',
    setting: 'definite_rejects',
  },
  maxLeverage: {
    open: 'whether this account may set more than the documented leverage',
    default: 20,
    reason: 'the document: an integer from 1 to 20',
    section: 'Account operations',
    alsoSeen: 'up to 50',
    setting: 'max_leverage',
  },
  ambiguityWindowMs: {
    open: 'how late a request can still take effect or become visible',
    default: 90_000,
    reason: 'no verdict "absent" before it has passed; too short a time would allow a second order',
    section: 'States and transitions',
    alsoSeen: 'unknown; with signatures, their life and 5 s',
    setting: 'ambiguity.window',
  },
} as const satisfies Record<string, Assumption>;
