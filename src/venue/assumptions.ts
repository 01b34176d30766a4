/**
 * Lists the questions that venue-api.md leaves open, each with a default, its reason and the other forms that were seen. The
 * profile takes its defaults from here, and code that depends on a guess cites its key. No default has been checked against a
 * live server.
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
  /** Other forms known from venues with this interface. */
  readonly alsoSeen: string;
  /** The setting of the profile, dotted; absent where every form that was seen is read, so that no setting is needed. */
  readonly setting?: string;
}

/** Where the parameters of a request are sent (assumption `encoding`). */
export type Placement = 'query' | 'body';

export const ASSUMPTIONS = {
  jwtHeader: {
    open: 'header that carries the JWT',
    default: 'Authorization',
    reason: 'it is the registered header',
    section: 'Authentication',
    alsoSeen: 'RBT-JWT: <jwt>',
    setting: 'auth.header',
  },
  jwtPrefix: {
    open: 'text before the JWT in its header',
    default: 'Bearer ',
    reason: 'the registered scheme; other headers than Authorization have no text before the JWT',
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
    alsoSeen: 'an exp claim, which takes precedence',
    setting: 'auth.jwt_life',
  },
  jwtResult: {
    open: "shape of POST /jwt's result beyond one string",
    default: 'text',
    reason: 'the document shows an array with one string',
    section: 'Account operations',
    alsoSeen: '[{"jwt": …, "refresh_token": …}]; then the old refresh token is no longer valid',
  },
  jwtOnRefresh: {
    open: 'whether POST /jwt carries the JWT it replaces',
    default: true,
    reason: 'the document requires authentication for every endpoint, this one included',
    section: 'Endpoints',
    alsoSeen: 'no authentication on this endpoint',
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
    reason: 'the document requires a JWT for all endpoints',
    section: 'Authentication',
    alsoSeen: 'RBT-API-KEY, RBT-TS, RBT-SIGNATURE and EID',
    setting: 'auth.mode',
  },
  signingHeaders: {
    open: 'headers of a signed request',
    default: { key: 'RBT-API-KEY', expiry: 'RBT-TS', signature: 'RBT-SIGNATURE', chain: 'EID' },
    reason: 'no other headers were seen',
    section: 'Authentication',
    alsoSeen: 'no others',
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
    reason: 'by method: a GET has no body, and "request numbers are given as JSON numbers" implies bodies',
    section: 'Endpoints',
    alsoSeen: 'POST and DELETE /cancel_all_after in the query string, with an empty JSON body',
    setting: 'encoding',
  },
  limitedStatuses: {
    open: 'HTTP status of an exhausted rate limit',
    default: [429],
    reason: 'the registered status; with 200 and 400 it is recognised by headers and text',
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
      'too high a cost wastes budget, too low a cost overruns it; the real cost is learned from X-RateLimit-Remaining',
    section: 'Rate limit',
    alsoSeen: 'unknown',
    setting: 'rate_limit.costs',
  },
  resetUnit: {
    open: 'unit of X-RateLimit-Reset',
    default: 'auto',
    reason: 'the magnitude distinguishes seconds, milliseconds and microseconds',
    section: 'Rate limit response headers',
    alsoSeen: 'seconds, milliseconds, microseconds, an ISO date',
    setting: 'rate_limit.reset_unit',
  },
  retryHint: {
    open: 'header that gives the time to wait',
    default: 'X-RateLimit-Retry-After',
    reason: 'the document; where it is missing, a plain Retry-After is read',
    section: 'Rate limit response headers',
    alsoSeen: 'plain Retry-After',
  },
  tokens: {
    open: 'whether this account has a larger limit',
    default: 1200,
    reason: 'the document; X-RateLimit-Limit takes precedence',
    section: 'Rate limit',
    alsoSeen: 'larger ones, granted to market makers',
    setting: 'rate_limit.tokens',
  },
  windowMs: {
    open: 'how the window slides',
    default: 60_000,
    reason: 'the document; the budget is right for all four ways to count that were seen',
    section: 'Rate limit',
    alsoSeen: 'sliding log, fixed window, token bucket, sliding counter',
    setting: 'rate_limit.window',
  },
  orderRate: {
    open: 'an account-wide rate of order actions',
    default: undefined,
    reason: 'the document mentions none',
    section: 'Other limits',
    alsoSeen: '20 order actions a second per account, refused with 429',
    setting: 'rate_limit.order_rate',
  },
  baseUrl: {
    open: 'base URL',
    default: undefined,
    reason: 'the profile must set it: production, test networks and others exist',
    section: 'What the service does',
    alsoSeen: 'several',
    setting: 'base_url',
  },
  positionOrders: {
    open: 'how a position stop-loss or take-profit is spelled, and which size its records show before it triggers',
    default: {
      sizeField: 'size',
      shownSize: 'fraction',
      types: { stop_loss: 'stop_loss', take_profit: 'take_profit' },
    },
    reason:
      'the document; its second choice of type cannot be distinguished from the first; a stop that is taken for untriggered and is not covers nothing',
    section: 'Orders',
    alsoSeen:
      'size_percent for the fraction; the size in base currency from the start; types stop_loss_limit and take_profit_limit',
    setting: 'position_orders',
  },
  marketOrderPrice: {
    open: 'whether a market order needs a price',
    default: 'optional',
    reason:
      'the document does not mark it optional, but a market order usually has no price; a venue that needs one refuses the order',
    section: 'Orders',
    alsoSeen: 'a price, which is the worst one accepted',
    setting: 'market_order_price',
  },
  deadmanResult: {
    open: 'shape of the deadman result when the switch is not active',
    default: 'object',
    reason: 'the document shows an object, or an empty result; all forms are read',
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
    reason: 'an unknown status read as terminal would hide a live order',
    section: 'States and transitions',
    alsoSeen: 'placed, for an untriggered stop',
  },
  refusals: {
    open: 'which words of a refusal prove that nothing was done, and which that it may have been',
    default: { definite: [], doubtful: [] },
    reason:
      'the document lists none; an order refused in words that are not known is looked up until its absence is proven',
    section: 'Errors',
    alsoSeen: 'bare codes, a code and a text, free text',
    setting: 'refusals',
  },
  maxLeverage: {
    open: 'whether this account may set more than the documented leverage',
    default: 20,
    reason: 'the document allows an integer from 1 to 20',
    section: 'Account operations',
    alsoSeen: 'up to 50',
    setting: 'max_leverage',
  },
  ambiguityWindowMs: {
    open: 'how late a request can still take effect or become visible',
    default: 90_000,
    reason: 'no order is called absent before it has passed; too short a time would allow a second order',
    section: 'States and transitions',
    alsoSeen: 'unknown; with signatures, their life and 5 s',
    setting: 'ambiguity.window',
  },
  socketIdleMs: {
    open: 'how long the venue, or a balancer before it, keeps an idle connection',
    default: 4_000,
    reason:
      'a request on a connection that was given up may or may not have arrived; common servers close one after 5 s',
    section: 'Endpoints',
    alsoSeen: 'Keep-Alive: timeout=5, and balancers from 10 to 350 s that say nothing',
    setting: 'sockets.idle',
  },
  fillsWindowMs: {
    open: 'how long the fills of an order may lag behind its record',
    default: 60_000,
    reason: 'a step reads until they agree; after this time it fails instead of computing an average of a part',
    section: 'States and transitions',
    alsoSeen: 'none, or some seconds',
    setting: 'fills.window',
  },
} as const satisfies Record<string, Assumption>;
