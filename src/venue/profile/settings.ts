/**
 * The table of a profile's settings (interface.md, Profile) with their forms and bounds. The reader, the JSON Schema and the
 * types of what was read are derived from it. Defaults are in `assumptions.ts` and `profile.ts`, because some depend on other
 * settings.
 */
import { ENDPOINT_NAMES } from '../catalogue.ts';
import { type LimitRules, TRADING_MODES } from '../limits/rules.ts';
import { ORDER_TYPES, SIDES } from '../records.ts';
import { RESET_UNITS } from '../tokens/headers.ts';
import { NOTICE_SHAPES, RESULT_WORDS, type ReadGroup, type Setting } from './setting-form.ts';

const MARKET_PATTERN = '^[A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32}$';
const NAME_PATTERN = '^[A-Za-z][A-Za-z0-9_-]{0,63}$';
const PUBLIC_KEY_PATTERN =
  '^(ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}( .{0,200})?|MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=)$';
const HEADER_PATTERN = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$";

const header = (about: string) => ({ form: 'text', pattern: HEADER_PATTERN, accepts: 'a header name', about }) as const;
const name = (about: string) =>
  ({ form: 'text', pattern: NAME_PATTERN, accepts: 'a letter, then letters, digits, _ or -', about }) as const;
const market = { form: 'text', pattern: MARKET_PATTERN, accepts: 'a market id, <BASE>-<QUOTE>' } as const;
const DAY_MS = 86_400_000;
const duration = (about: string, minMs: number, maxMs: number) => ({ form: 'duration', minMs, maxMs, about }) as const;
const decimal = (about: string) => ({ form: 'decimal', about }) as const;
const whole = (about: string, min: number, max: number) => ({ form: 'whole', min, max, about }) as const;
const resultPath = (about: string) =>
  ({
    form: 'text',
    pattern: '^result(?:\\[\\d{1,4}\\]|\\.[A-Za-z_][A-Za-z0-9_]*)*$',
    accepts: 'a place in the result, such as result[0].fair_price',
    about,
  }) as const;
const field = (about: string) =>
  ({ form: 'text', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$', accepts: 'the name of a field', about }) as const;
const refusalWords = (about: string) =>
  ({
    form: 'list',
    of: { form: 'text', pattern: '^[^\\u0000-\\u001f]{3,200}$', accepts: 'at least three characters' },
    about,
  }) as const;
const word = <const W extends readonly string[]>(about: string, of: W) => ({ form: 'word', of, about }) as const;
const group = <const F extends Readonly<Record<string, Setting>>>(about: string, fields: F) =>
  ({ form: 'group', about, fields }) as const;
/** A map from names to groups; `keys`: the pattern of a name, and what it is called. */
const named = <const F extends Readonly<Record<string, Setting>>>(
  about: string,
  keys: { readonly key: string; readonly names: string },
  fields: F,
) => ({ form: 'map', ...keys, about, of: { form: 'group', fields } }) as const;
const MARKETS = { key: MARKET_PATTERN, names: 'a market id, <BASE>-<QUOTE>' } as const;
const NAMES = { key: NAME_PATTERN, names: 'a letter, then letters, digits, _ or -' } as const;
const throttle = (about: string) =>
  group(about, {
    max: { ...whole('how many', 1, 1_000_000), required: true },
    window: { ...duration('in which time', 1, 30 * DAY_MS), required: true },
  });

/** The limits as the file spells them; each is a control of `limits/rules.ts`. */
export const LIMIT_SETTINGS = {
  markets: { form: 'list', of: market, about: 'the only markets orders may be placed in' },
  sides: { form: 'list', of: { form: 'word', of: SIDES }, about: 'the only sides of orders that may raise exposure' },
  order_types: { form: 'list', of: { form: 'word', of: ORDER_TYPES }, about: 'the only order types' },
  max_order_size: decimal('largest size of one order, base currency'),
  max_order_notional: decimal('largest notional of one order, quote currency'),
  max_run_notional: decimal('largest notional of all orders of a run'),
  unknown_price: word(
    'deny an order whose notional can only be measured by its own price, which is the least it can be',
    ['deny'],
  ),
  max_market_notional: decimal('largest notional of position and orders in one market'),
  max_exposure: decimal('the same over all markets'),
  max_position: decimal('largest position in one market, base currency'),
  max_open_orders: whole('most working orders of the account over all its runs; the venue allows 1000', 0, 1000),
  max_daily_notional: decimal('largest notional of all orders of a UTC day, over all runs of the account'),
  max_daily_loss: decimal(
    'largest loss of a UTC day over all runs of the account, realised PnL and fees; beyond it only what lowers exposure is sent',
  ),
  max_leverage: decimal('largest leverage a runbook may set'),
  max_writes: whole('most requests of a run that change something', 0, 1_000_000),
  max_orders_per_minute: whole('most orders per minute of the account over all its runs', 0, 100_000),
  price_band: group('largest distance of a price from the reference', {
    within: { form: 'ratio', about: '3%, or as a ratio: 0.03', required: true },
    max_age: duration('how old the reference may be', 1, DAY_MS),
  }),
  step_fills: throttle('fills of the same step'),
  refusals: throttle('refusals and contradictions'),
  self_match: word(
    'an order that would trade with a resting order of your own; without it only one that is proven to reduce passes',
    ['deny', 'allow'],
  ),
  min_equity: decimal('least equity of the account, quote currency'),
  min_health: decimal('least health of the account'),
  max_account_age: duration('how old the account record for min_equity and min_health may be', 1, 30 * DAY_MS),
  max_read_age: duration('how old the last read from the venue may be', 1, 30 * DAY_MS),
  mode: word('active; reducing: only what lowers exposure; halted: only cancels', TRADING_MODES),
  market_modes: {
    form: 'map',
    of: { form: 'word', of: TRADING_MODES },
    ...MARKETS,
    about: 'the same per market',
  },
} as const satisfies Record<string, Setting>;

export const PROFILE_SETTINGS = {
  profile: { ...name('name of the profile'), required: true },
  base_url: {
    form: 'text',
    pattern: '^https?://[^\\s]+$',
    accepts: 'an https URL; http only to a loopback address',
    required: true,
    about: 'URL of the venue; https, or http to a loopback address',
  },
  account: name('name of the account in leases and journals; main by default'),
  auth: {
    ...group('how requests are authenticated; secrets as references only', {
      mode: word('jwt by default; none only for a loopback address', ['jwt', 'api_key', 'none']),
      jwt: { form: 'secret', about: 'the JWT; may be left out where there is a refresh token' },
      refresh_token: { form: 'secret', about: 'obtains a new JWT when the current one has expired' },
      is_client: { form: 'flag', about: 'sent with POST /jwt; true by default' },
      header: header('header that carries the JWT; Authorization by default'),
      prefix: {
        form: 'text',
        pattern: '^[\\x21-\\x7e]*[ ]?$',
        accepts: 'printable characters',
        about: 'text before the JWT; by default "Bearer " in Authorization and nothing in other headers',
      },
      cookie: {
        form: 'text',
        pattern: HEADER_PATTERN,
        accepts: 'a cookie name',
        about: 'cookie that carries the JWT, instead of a header',
      },
      jwt_life: duration('life of a JWT without exp claim; 48h by default', 60_000, 365 * DAY_MS),
      send_jwt_on_refresh: { form: 'flag', about: 'whether POST /jwt carries the JWT it replaces; true by default' },
      api_key: { form: 'secret', about: 'the API key, in mode api_key' },
      secret: { form: 'secret', about: "the API key's secret, hex" },
      chain: {
        form: 'text',
        pattern: '^[A-Za-z0-9._-]{1,64}$',
        accepts: 'letters, digits, . _ or -',
        about: 'value of the chain header; without it the header is not sent',
      },
      signature_life: duration('life of a signature; 20s by default', 1000, 600_000),
      signing_headers: group('headers of a signed request', {
        key: header('the API key; RBT-API-KEY by default'),
        expiry: header('the expiry, UNIX seconds; RBT-TS by default'),
        signature: header('the signature; RBT-SIGNATURE by default'),
        chain: header('the chain; EID by default'),
      }),
    }),
    required: true,
  },
  encoding: {
    form: 'map',
    of: { form: 'word', of: ['body', 'query'] },
    keys: ENDPOINT_NAMES.filter((endpoint) => !endpoint.startsWith('GET ')),
    names: 'an endpoint with another method than GET',
    about: 'how the parameters of an endpoint are sent; body by default',
  },
  rate_limit: group('the token budget of the address', {
    tokens: whole('tokens per window; 1200 by default', 1, 10_000_000),
    window: duration('the window; 60s by default', 1000, 3_600_000),
    shared_as: name('processes with the same name share one budget on this machine; default by default'),
    costs: {
      form: 'map',
      of: { form: 'whole', min: 0, max: 100_000 },
      keys: ENDPOINT_NAMES,
      names: 'an endpoint',
      about: 'tokens of endpoints for which the venue document gives no figure; 10 by default',
    },
    order_rate: whole('order actions per second for the account; no limit by default', 1, 100_000),
    statuses: {
      form: 'list',
      of: { form: 'whole', min: 200, max: 599 },
      about: 'HTTP statuses that mean an exhausted limit; 429 by default',
    },
    reset_unit: word('unit of X-RateLimit-Reset; auto (by its magnitude) by default', RESET_UNITS),
  }),
  position_orders: group('how position stop-loss and take-profit orders are spelled', {
    size_field: word('field of the fraction; size by default', ['size', 'size_percent']),
    shown_size: word(
      'what the records of one that has not triggered show as its size: fraction (the default; another size proves that it has triggered), or base, the size in base currency, which proves nothing',
      ['fraction', 'base'],
    ),
    stop_loss: word('type of a stop-loss', ['stop_loss', 'stop_loss_limit']),
    take_profit: word('type of a take-profit', ['take_profit', 'take_profit_limit']),
  }),
  market_order_price: word('whether a market order needs a price; optional by default', ['optional', 'required']),
  max_leverage: whole('the largest leverage the venue lets this account set; 20 by default', 1, 50),
  refusals: group('words of refusals beside those that are known, compared as whole words', {
    definite: refusalWords('which prove that the venue decided and nothing was done'),
    doubtful: refusalWords('which say that a part of the venue failed: the order may be there, and is looked up'),
  }),
  markets: named('tick, lot and smallest size of each market', MARKETS, {
    tick: { ...decimal('smallest step of a price'), positive: true, required: true },
    lot: { ...decimal('smallest step of a size'), positive: true, required: true },
    min_size: decimal('smallest size of an order'),
  }),
  requests: named('read-only endpoints of the venue that the venue document does not describe', NAMES, {
    method: { form: 'word', of: ['GET'], required: true, about: 'only reads can be declared' },
    path: {
      form: 'text',
      pattern: '^(?:/(?!\\.\\.?(?:/|$))[A-Za-z0-9._~-]+)+$',
      accepts: 'a path such as /markets',
      required: true,
      about: 'path below the base URL',
    },
    query: {
      form: 'map',
      of: { form: 'word', of: RESULT_WORDS },
      key: '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
      names: 'a parameter name',
      about: 'its parameters and their types',
    },
    tokens: { ...whole('tokens that it costs', 0, 100_000), required: true },
    result: {
      form: 'shape',
      required: true,
      about:
        'type of its result: a word, {type: list, of: …}, {type: map, of: …} or {field: type, …}; a ? after a word where the value may be absent',
    },
  }),
  feeds: named(
    "where runbooks' feeds come from",
    { key: '^[A-Za-z][A-Za-z0-9_]{0,63}$', names: 'a letter, then letters, digits or _' },
    {
      request: { ...name('a declared request'), required: true },
      with: {
        form: 'map',
        of: { form: 'text', accepts: 'a text; ${market} stands for the market' },
        key: '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
        names: 'a parameter name',
        about: 'its parameters',
      },
      read: { ...resultPath('path of the value in the result'), required: true },
    },
  ),
  positions: group(
    'a declared request that lists every position of the account: it proves what the account holds in every market',
    {
      request: { ...name('a declared request'), required: true },
      rows: resultPath('path of the list in the result; result by default'),
      market: { ...field('field of a row with its market'), required: true },
      size: { ...field('field with its size: signed, long positive, or with side'), required: true },
      side: field('field with its side, long or short'),
      price: field('field with its average entry'),
    },
  ),
  people: named(
    'who may approve, and with which key they sign; without it any name counts',
    { key: '^[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]{1,80}$', names: 'the name of a person' },
    {
      key: {
        form: 'text',
        pattern: PUBLIC_KEY_PATTERN,
        accepts: 'an Ed25519 public key: ssh-ed25519 …, or the base64 between the lines of a PEM file',
        about: 'the public key with which acts of this person are verified; an approval has to be signed then',
      },
      roles: { form: 'list', of: name('a role'), about: 'roles that approve steps ask for' },
    },
  ),
  four_eyes: { form: 'flag', about: 'whether an approval by the person who started the run is refused' },
  capabilities: {
    form: 'list',
    of: { form: 'text', pattern: NAME_PATTERN, accepts: 'a capability such as cancel_all' },
    about: 'capabilities that runbooks on this account may use',
  },
  limits: group('limits of the account; a runbook can only tighten them', LIMIT_SETTINGS),
  ambiguity: group('orders whose fate is unknown', {
    window: duration('no order is called absent and none is sent again before this time; 90s by default', 1000, DAY_MS),
  }),
  sockets: group('connections to the venue', {
    idle: duration(
      'how long a connection may have been idle and still carry a request; 4s by default, or a second less than the Keep-Alive timeout that the server states',
      1,
      600_000,
    ),
  }),
  fills: group('fills of an order that are not shown yet', {
    window: duration(
      'how long the fills of an order are read until they add up to the filled size of its record; 60s by default',
      1000,
      DAY_MS,
    ),
  }),
  stop: group('stops that reduce a position', {
    room: {
      form: 'text',
      pattern: '^[0-9]{1,2}(\\.[0-9]{1,4})?%$',
      accepts: 'a percentage, such as 1% or 0.5%',
      about: 'a warning where the limit of such a stop is closer to its trigger than this part of it; 1% by default',
    },
  }),
  gate: group('the last check before a request that changes something is sent', {
    stale: duration(
      'how old lease, kill switch, deadman switch and limits may be when the first byte leaves; 250ms by default',
      10,
      10_000,
    ),
  }),
  clock: group("this machine's clock beside those of the venue and the store", {
    ahead: duration(
      'how far they may differ, ahead or behind, before the scheduler decides nothing new; 5s by default',
      1000,
      DAY_MS,
    ),
  }),
  shutdown: group('how a process ends after a signal', {
    within: duration(
      'how long cancelling, look-ups and closing may take together after the first signal; what is open then is left for `runbook resume`; 30s by default',
      1000,
      DAY_MS,
    ),
  }),
  allowed_addresses: {
    form: 'list',
    of: {
      form: 'text',
      pattern: '^[0-9A-Fa-f:.]{2,45}(?:/\\d{1,3})?$',
      accepts: 'an IP address or a network such as 10.1.0.0/16',
    },
    about: 'private addresses the base URL may resolve to; none by default',
  },
  store: group('store of the journals of runs', {
    sqlite: { form: 'text', pattern: '^[^\\u0000]+$', accepts: 'a file', path: true, about: 'an SQLite file' },
    postgres: { form: 'secret', about: 'the URL of a PostgreSQL database' },
  }),
  anchors: group('records of how far the journal has come, kept beside it and elsewhere', {
    key: { form: 'secret', about: 'Ed25519 private key in PEM form that signs anchors' },
    copies: named('other places to which anchors are written, by name', NAMES, {
      file: {
        form: 'text',
        pattern: '^[^\\u0000]+$',
        accepts: 'a file',
        path: true,
        about: 'a file to which anchors are appended',
      },
      webhook: { form: 'secret', about: 'a URL that takes a POST of JSON' },
      bucket: {
        form: 'secret',
        about: 'the URL of a folder in an object store: each anchor is put into it as an object',
      },
    }),
    patience: duration('how long a place may fail before nothing new is sent; 10m by default', 1000, DAY_MS),
  }),
  review_page: {
    form: 'text',
    pattern: '^https?://[^\\s?#@]{1,300}$',
    accepts: 'an http or https URL without a query',
    about: 'where `runbook audit serve` is reached, for the links of notices',
  },
  heartbeat: group('a service that raises an alarm when the scheduler does not ask for its URL any more', {
    url: { form: 'secret', required: true, about: 'the URL, asked for with GET while the account is served' },
    every: duration('how often; 1m by default', 10_000, DAY_MS),
  }),
  notify: named('targets of notifications, by name', NAMES, {
    webhook: { form: 'secret', about: 'a URL that takes a POST of JSON' },
    shape: word('the form of what is posted: json by default, or that of a chat service', NOTICE_SHAPES),
    chat: {
      form: 'text',
      pattern: '^(-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,63})$',
      accepts: 'the number of a chat, or @ with the name of a channel',
      about: 'the chat of a telegram bot that gets the messages',
    },
    log: { form: 'flag', about: "this program's own log" },
  }),
} as const satisfies Record<string, Setting>;

/** A profile as it was read: spelled as in the file, without defaults. */
export type ReadProfile = ReadGroup<typeof PROFILE_SETTINGS>;

/** Settings that are one control of `limits/rules.ts` each; the others are groups. */
export const LIMIT_CONTROL_OF = {
  markets: 'markets',
  sides: 'sides',
  order_types: 'orderTypes',
  max_order_size: 'maxOrderSize',
  max_order_notional: 'maxOrderNotional',
  max_run_notional: 'maxRunNotional',
  unknown_price: 'unknownPrice',
  max_market_notional: 'maxMarketNotional',
  max_exposure: 'maxExposure',
  max_position: 'maxPosition',
  max_open_orders: 'maxOpenOrders',
  max_daily_notional: 'maxDailyNotional',
  max_daily_loss: 'maxDailyLoss',
  max_leverage: 'maxLeverage',
  max_writes: 'maxWrites',
  max_orders_per_minute: 'maxOrdersPerMinute',
  self_match: 'selfMatch',
  min_equity: 'minEquity',
  min_health: 'minHealth',
  max_account_age: 'maxAccountAgeMs',
  max_read_age: 'maxReadAgeMs',
  mode: 'mode',
  market_modes: 'marketModes',
} as const satisfies Partial<Record<keyof typeof LIMIT_SETTINGS, keyof LimitRules>>;
