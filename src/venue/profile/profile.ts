/**
 * Reads the venue profile: the settings of one account at one deployment, with every gap of venue-api.md filled by a setting or
 * by its default (`assumptions.ts`). Secrets are references only. Reading gives a profile or diagnostics and never throws; it
 * opens no file and reads no environment variable.
 */

import { dirname, isAbsolute, join } from 'node:path';
import { type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { mapFields } from '../../base/json.ts';
import { ASSUMPTIONS, type Placement } from '../assumptions.ts';
import { ENDPOINT_NAMES, type EndpointName, getEndpoint } from '../catalogue.ts';
import type { LimitRules } from '../limits/rules.ts';
import type { MarketRules } from '../port.ts';
import type { ResetUnit } from '../tokens/headers.ts';
import { canonicalizeBaseUrl } from './base-url.ts';
import { findConflicts } from './conflicts.ts';
import { toLimitRules } from './limits.ts';
import { type DataPath, formatPath, type ProfileCode, type ProfileFinding, readSettings } from './reading.ts';
import { looksSecret } from './secret-like.ts';
import type { NoticeShape, ResultWord, SecretReference } from './setting-form.ts';
import type { ReadProfile } from './settings.ts';

export type { ResultShape, ResultWord, SecretReference } from './setting-form.ts';

/** The part of a request that carries the JWT. */
type JwtCarrier =
  | { readonly in: 'header'; readonly header: string; readonly prefix: string }
  | { readonly in: 'cookie'; readonly cookie: string };

export type AuthSettings =
  | {
      readonly mode: 'jwt';
      readonly jwt?: SecretReference;
      readonly refreshToken?: SecretReference;
      readonly isClient: boolean;
      readonly carrier: JwtCarrier;
      /** Life of a JWT without an exp claim. */
      readonly jwtLifeMs: number;
      readonly sendJwtOnRefresh: boolean;
    }
  | {
      readonly mode: 'api_key';
      readonly apiKey: SecretReference;
      readonly secret: SecretReference;
      readonly chain?: string;
      readonly signatureLifeMs: number;
      readonly headers: Required<NonNullable<ReadProfile['auth']['signing_headers']>>;
    }
  | { readonly mode: 'none' };

/** A setting as it was read. */
type Given<K extends keyof ReadProfile> = NonNullable<ReadProfile[K]>;

export type DeclaredRequest = Given<'requests'>[string] & { readonly query: Readonly<Record<string, ResultWord>> };

/** `${market}` in a value of `with` stands for the feed's market; `parseResultPath` reads `read`, such as `result[0].fair_price`. */
type DeclaredFeed = Given<'feeds'>[string] & { readonly with: Readonly<Record<string, string>> };

/** Where the positions of the account are in the result of a declared request: a path to the rows, and fields of a row. */
export type DeclaredPositions = Given<'positions'> & { readonly rows: string };

type StoreSettings = { readonly sqlite: string } | { readonly postgres: SecretReference };
type AnchorCopy =
  | { readonly file: string }
  | { readonly webhook: SecretReference }
  | { readonly bucket: SecretReference };
type NotifyTarget =
  | { readonly webhook: SecretReference; readonly shape?: NoticeShape; readonly chat?: string }
  | { readonly log: true };

export type Person = Given<'people'>[string] & { readonly roles: readonly string[] };

/** Words of refusals, compared as whole words (`wire/refusals.ts`). */
export type RefusalWords = Required<Given<'refusals'>>;

type PositionOrders = Required<Given<'position_orders'>>;

export interface Profile {
  readonly name: string;
  /** In its canonical spelling (base-url.ts). */
  readonly baseUrl: string;
  readonly account: string;
  readonly auth: AuthSettings;
  /** Whether the parameters of each endpoint are sent in the query or in the body. */
  readonly encoding: Readonly<Record<EndpointName, Placement>>;
  readonly rateLimit: {
    readonly tokens: number;
    readonly windowMs: number;
    readonly sharedAs: string;
    /** Tokens of the endpoints for which the document gives no figure. */
    readonly costs: Readonly<Partial<Record<EndpointName, number>>>;
    /** Order actions per second for the account; absent where there is no such limit. */
    readonly orderRate?: number;
    readonly statuses: readonly number[];
    readonly resetUnit: ResetUnit;
  };
  readonly positionOrders: {
    readonly sizeField: PositionOrders['size_field'];
    /** What the records of one that has not triggered show as its size. */
    readonly shownSize: PositionOrders['shown_size'];
    readonly types: Pick<PositionOrders, 'stop_loss' | 'take_profit'>;
  };
  readonly marketOrderPrice: Given<'market_order_price'>;
  /** The largest leverage the venue lets this account set. */
  readonly maxLeverage: number;
  /** Words of refusals beside those of `wire/refusals.ts`. */
  readonly refusals: RefusalWords;
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly requests: Readonly<Record<string, DeclaredRequest>>;
  readonly feeds: Readonly<Record<string, DeclaredFeed>>;
  /** The request that lists the positions of the account; absent where none is declared. */
  readonly positions?: DeclaredPositions;
  /** By name. `key`: an Ed25519 public key. */
  readonly people: Readonly<Record<string, Person>>;
  /** Whether an approval by who started the run is refused. */
  readonly fourEyes: boolean;
  readonly capabilities: readonly string[];
  readonly limits: LimitRules;
  readonly ambiguityWindowMs: number;
  /** Longest time that a connection may have been idle and still carry a request, ms. */
  readonly socketIdleMs: number;
  readonly fillsWindowMs: number;
  /** Least distance of a stop's limit from its trigger, a fraction of it. */
  readonly stopRoom: DecimalString;
  /** How old the readings of the last checks may be when the first byte of a write leaves, ms. */
  readonly gateStaleMs: number;
  /** How far this machine's clock may differ from the venue's or the store's before the scheduler decides nothing new, ms. */
  readonly clockAheadMs: number;
  /** How long the process may take to end after the first signal, ms. */
  readonly shutdownWithinMs: number;
  /** Private addresses and networks that the base URL's host may resolve to. */
  readonly allowedAddresses: readonly string[];
  readonly store?: StoreSettings;
  readonly anchors: {
    /** The key that signs anchors. */
    readonly key?: SecretReference;
    readonly copies: Readonly<Record<string, AnchorCopy>>;
    readonly patienceMs: number;
  };
  /** Where the review page is reached. */
  readonly reviewPage?: string;
  /** What is asked for while the scheduler serves the account. */
  readonly heartbeat?: { readonly url: SecretReference; readonly everyMs: number };
  readonly notify: Readonly<Record<string, NotifyTarget>>;
}

interface ProfileReading {
  readonly profile?: Profile;
  readonly diagnostics: readonly Diagnostic[];
}

/** Gives the place of a path of the data in the source. */
type Locate = (path: DataPath) => Span;

/**
 * Reads a profile from plain data. Numbers may be given as the text that was written. Relative paths start at `folder`, which is
 * absolute where the settings are kept: what is relative to a working directory is another place tomorrow. `recorded`: settings that
 * were accepted once, and hold no secret; the folders of their paths may look like one. Gives a profile only where no diagnostic is
 * an error.
 */
export function readProfile(
  data: unknown,
  source: SourceText,
  locate: Locate,
  { folder = dirname(source.file), recorded = false }: { readonly folder?: string; readonly recorded?: boolean } = {},
): ProfileReading {
  const { settings, findings: forms } = readSettings(data);
  const findings: ProfileFinding[] = [...(recorded ? [] : findSecrets(data)), ...forms];
  const sound = forms.length === 0;
  if (sound) findings.push(...findConflicts(settings));
  const diagnostics = findings.map((finding) => toDiagnostic(finding, source, locate));
  if (!sound || diagnostics.some((each) => each.severity === 'error')) return { diagnostics };
  return { profile: fillDefaults(settings, folder), diagnostics };
}

function toDiagnostic({ code, path, message, hint }: ProfileFinding, source: SourceText, locate: Locate): Diagnostic {
  const severity = WARNINGS.has(code) ? 'warning' : 'error';
  return { severity, code, message, ...(hint === undefined ? {} : { hint }), source, span: locate(path) };
}
const WARNINGS: ReadonlySet<ProfileCode> = new Set(['profile-ineffective']);

/** Finds everything that looks like a secret: in values, in keys and in lists. */
function findSecrets(data: unknown): ProfileFinding[] {
  const found: ProfileFinding[] = [];
  const visit = (value: unknown, path: DataPath): void => {
    if (found.length >= 20 || path.length > 32) return;
    if (typeof value === 'string' && looksSecret(value)) found.push(reportSecret(path));
    if (value === null || typeof value !== 'object') return;
    for (const [key, each] of Object.entries(value)) {
      const inner = [...path, Array.isArray(value) ? Number(key) : key];
      if (!Array.isArray(value) && looksSecret(key)) found.push(reportSecret(inner));
      visit(each, inner);
    }
  };
  visit(data, []);
  return found;
}

function reportSecret(path: DataPath): ProfileFinding {
  return {
    code: 'profile-secret',
    path,
    message: `${formatPath(path)} looks like a secret; it is not shown here`,
    hint: 'Put it into an environment variable or a file of mode 0600 and refer to it: {env: NAME} or {file: PATH}. If it was committed, replace it.',
  };
}

/** A place for anchors that fails for this long is no longer a passing fault (fault-matrix.md, row 73). */
const ANCHOR_PATIENCE_MS = 600_000;

/** Far more than the checks take, and far less than a person or another process needs to act in between. */
const GATE_STALE_MS = 250;

/** A market that moves by 1 % in an instant is rare; one that moves by less is not. */
export const STOP_ROOM: DecimalString = '0.01';

/** More than a time service leaves, and less than the misfire rules of schedules forgive. */
const CLOCK_AHEAD_MS = 5_000;

/** Within the time that supervisors give before they kill. */
const SHUTDOWN_WITHIN_MS = 30_000;

/** More often than a person needs to know, and seldom enough for every such service. */
const HEARTBEAT_EVERY_MS = 60_000;

/** Fills in all defaults. Only for settings without an error. */
function fillDefaults(settings: ReadProfile, folder: string): Profile {
  const {
    rate_limit: rate = {},
    position_orders: position = {},
    feeds = {},
    requests = {},
    notify = {},
    people = {},
    store,
    anchors = {},
    heartbeat,
  } = settings;
  const defaults = ASSUMPTIONS;
  return {
    name: settings.profile,
    baseUrl: canonicalizeBaseUrl(settings.base_url),
    account: settings.account ?? 'main',
    auth: fillAuth(settings.auth, folder),
    encoding: {
      ...defaults.encoding.default,
      ...(settings.encoding as Partial<Record<EndpointName, Placement>> | undefined),
    },
    rateLimit: {
      tokens: rate.tokens ?? defaults.tokens.default,
      windowMs: rate.window ?? defaults.windowMs.default,
      sharedAs: rate.shared_as ?? 'default',
      costs: fillCosts(rate.costs ?? {}),
      ...(rate.order_rate === undefined ? {} : { orderRate: rate.order_rate }),
      statuses: rate.statuses ?? defaults.limitedStatuses.default,
      resetUnit: rate.reset_unit ?? defaults.resetUnit.default,
    },
    positionOrders: {
      sizeField: position.size_field ?? defaults.positionOrders.default.sizeField,
      shownSize: position.shown_size ?? defaults.positionOrders.default.shownSize,
      types: {
        stop_loss: position.stop_loss ?? defaults.positionOrders.default.types.stop_loss,
        take_profit: position.take_profit ?? defaults.positionOrders.default.types.take_profit,
      },
    },
    marketOrderPrice: settings.market_order_price ?? defaults.marketOrderPrice.default,
    maxLeverage: settings.max_leverage ?? defaults.maxLeverage.default,
    refusals: {
      definite: settings.refusals?.definite ?? defaults.refusals.default.definite,
      doubtful: settings.refusals?.doubtful ?? defaults.refusals.default.doubtful,
    },
    markets: mapFields(settings.markets ?? {}, (market) => market),
    requests: mapFields(requests, ({ query, ...request }) => ({ ...request, query: { ...query } })),
    feeds: mapFields(feeds, ({ with: given, ...feed }) => ({ ...feed, with: { ...given } })),
    ...(settings.positions === undefined ? {} : { positions: { rows: 'result', ...settings.positions } }),
    capabilities: settings.capabilities ?? [],
    limits: toLimitRules(settings.limits ?? {}),
    ambiguityWindowMs: settings.ambiguity?.window ?? defaults.ambiguityWindowMs.default,
    socketIdleMs: settings.sockets?.idle ?? defaults.socketIdleMs.default,
    fillsWindowMs: settings.fills?.window ?? defaults.fillsWindowMs.default,
    stopRoom:
      settings.stop?.room === undefined ? STOP_ROOM : formatDecimal(decimal(settings.stop.room.slice(0, -1)).div(100)),
    gateStaleMs: settings.gate?.stale ?? GATE_STALE_MS,
    clockAheadMs: settings.clock?.ahead ?? CLOCK_AHEAD_MS,
    shutdownWithinMs: settings.shutdown?.within ?? SHUTDOWN_WITHIN_MS,
    people: mapFields(people, ({ key, roles = [] }) => ({ ...(key === undefined ? {} : { key }), roles })),
    fourEyes: settings.four_eyes ?? false,
    allowedAddresses: settings.allowed_addresses ?? [],
    ...(store === undefined ? {} : { store: fillStore(store, folder) }),
    anchors: {
      ...(anchors.key === undefined ? {} : { key: resolveReference(anchors.key, folder) }),
      copies: mapFields(anchors.copies ?? {}, ({ file = '', webhook, bucket }): AnchorCopy => {
        if (webhook !== undefined) return { webhook: resolveReference(webhook, folder) };
        return bucket === undefined
          ? { file: resolvePath(file, folder) }
          : { bucket: resolveReference(bucket, folder) };
      }),
      patienceMs: anchors.patience ?? ANCHOR_PATIENCE_MS,
    },
    ...(settings.review_page === undefined ? {} : { reviewPage: settings.review_page }),
    ...(heartbeat === undefined
      ? {}
      : {
          heartbeat: {
            url: resolveReference(heartbeat.url, folder),
            everyMs: heartbeat.every ?? HEARTBEAT_EVERY_MS,
          },
        }),
    notify: mapFields(
      notify,
      ({ webhook, log: _, ...form }): NotifyTarget =>
        webhook === undefined ? { log: true } : { webhook: resolveReference(webhook, folder), ...form },
    ),
  };
}

/** Tokens for each endpoint for which the document gives no figure, and for no other. */
function fillCosts(given: Readonly<Record<string, number>>): Profile['rateLimit']['costs'] {
  const open = ENDPOINT_NAMES.filter((name) => getEndpoint(name).tokens === undefined);
  return Object.fromEntries(open.map((name) => [name, given[name] ?? ASSUMPTIONS.unknownCost.default]));
}

function fillAuth(auth: ReadProfile['auth'], folder: string): AuthSettings {
  const defaults = ASSUMPTIONS;
  switch (auth.mode ?? 'jwt') {
    case 'none':
      return { mode: 'none' };
    case 'api_key':
      return {
        mode: 'api_key',
        apiKey: resolveReference(auth.api_key as SecretReference, folder),
        secret: resolveReference(auth.secret as SecretReference, folder),
        ...(auth.chain === undefined ? {} : { chain: auth.chain }),
        signatureLifeMs: auth.signature_life ?? defaults.signatureLifeMs.default,
        headers: { ...defaults.signingHeaders.default, ...auth.signing_headers },
      };
    default: {
      const header = auth.header ?? defaults.jwtHeader.default;
      const prefix = auth.prefix ?? (header.toLowerCase() === 'authorization' ? defaults.jwtPrefix.default : '');
      return {
        mode: 'jwt',
        ...(auth.jwt === undefined ? {} : { jwt: resolveReference(auth.jwt, folder) }),
        ...(auth.refresh_token === undefined ? {} : { refreshToken: resolveReference(auth.refresh_token, folder) }),
        isClient: auth.is_client ?? defaults.isClient.default,
        carrier: auth.cookie === undefined ? { in: 'header', header, prefix } : { in: 'cookie', cookie: auth.cookie },
        jwtLifeMs: auth.jwt_life ?? defaults.jwtLifeMs.default,
        sendJwtOnRefresh: auth.send_jwt_on_refresh ?? defaults.jwtOnRefresh.default,
      };
    }
  }
}

function fillStore(store: NonNullable<ReadProfile['store']>, folder: string): StoreSettings {
  if (store.postgres !== undefined) return { postgres: resolveReference(store.postgres, folder) };
  return { sqlite: resolvePath(store.sqlite ?? '', folder) };
}

function resolveReference(reference: SecretReference, folder: string): SecretReference {
  return 'file' in reference ? { file: resolvePath(reference.file, folder) } : reference;
}

/** Relative paths are relative to the profile's file (interface.md, Settled points). */
function resolvePath(path: string, folder: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

/** Tokens that an endpoint costs: the document's figure, else the profile's, else the assumed one. */
export function getCost(profile: Pick<Profile, 'rateLimit'>, name: EndpointName): number {
  return getEndpoint(name).tokens ?? profile.rateLimit.costs[name] ?? ASSUMPTIONS.unknownCost.default;
}

/** Tokens that a renewal of the session costs; 0 where there is nothing to renew. */
export function getSessionCost(profile: Pick<Profile, 'auth' | 'rateLimit'>): number {
  return profile.auth.mode === 'jwt' && profile.auth.refreshToken !== undefined ? getCost(profile, 'POST /jwt') : 0;
}

/** Every capability, for runs that reach no venue. */
const ALL = '*';

/**
 * The profile of dry-runs: grants all capabilities and needs no credentials. It has no markets: the caller that composes the
 * run adds those of the simulator or the fixture.
 */
export const SIMULATED_PROFILE: Profile = {
  ...fillDefaults(
    { profile: 'simulated', base_url: 'http://127.0.0.1', account: 'simulated', auth: { mode: 'none' } },
    '.',
  ),
  capabilities: [ALL],
};
