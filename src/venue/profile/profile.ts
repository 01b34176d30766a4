/**
 * The venue profile: what is true for one account at one deployment, with every gap of venue-api.md filled in by a setting
 * or by its default (`assumptions.ts`). Secrets are in it as references only. Reading gives a profile or diagnostics, never
 * an exception; it opens no file and asks no environment.
 */
import { dirname, isAbsolute, join } from 'node:path';
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { ASSUMPTIONS, type Placement } from '../assumptions.ts';
import { ENDPOINT_NAMES, type EndpointName, endpoint } from '../catalogue.ts';
import type { LimitRules } from '../limits/rules.ts';
import type { MarketRules } from '../port.ts';
import type { ResetUnit } from '../tokens/headers.ts';
import { canonicalBaseUrl } from './base-url.ts';
import { conflicts } from './conflicts.ts';
import { limitRules } from './limits.ts';
import { type DataPath, dotted, type ProfileCode, type ProfileFinding, readSettings } from './reading.ts';
import { looksSecret } from './secret-like.ts';
import type { ReadProfile, ResultShape, ResultWord, SecretReference } from './settings.ts';

export type { ResultShape, ResultWord, SecretReference } from './settings.ts';

/** Where the JWT travels. */
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
      /** Of a JWT without exp claim. */
      readonly jwtLifeMs: number;
      readonly sendJwtOnRefresh: boolean;
    }
  | {
      readonly mode: 'api_key';
      readonly apiKey: SecretReference;
      readonly secret: SecretReference;
      readonly chain?: string;
      readonly signatureLifeMs: number;
      readonly headers: {
        readonly key: string;
        readonly expiry: string;
        readonly signature: string;
        readonly chain: string;
      };
    }
  | { readonly mode: 'none' };

export interface DeclaredRequest {
  readonly method: 'GET';
  readonly path: string;
  readonly query: Readonly<Record<string, ResultWord>>;
  readonly tokens: number;
  readonly result: ResultShape;
}

interface DeclaredFeed {
  readonly request: string;
  /** `${market}` in a value stands for the feed's market. */
  readonly with: Readonly<Record<string, string>>;
  /** `result[0].fair_price`; `readPath` takes it apart. */
  readonly read: string;
}

type StoreSettings = { readonly sqlite: string } | { readonly postgres: SecretReference };
type AnchorCopy = { readonly file: string } | { readonly webhook: SecretReference };
type NotifyTarget = { readonly webhook: SecretReference } | { readonly log: true };

export interface Profile {
  readonly name: string;
  /** In its one spelling (base-url.ts). */
  readonly baseUrl: string;
  readonly account: string;
  readonly auth: AuthSettings;
  /** Where the parameters of each endpoint travel. */
  readonly encoding: Readonly<Record<EndpointName, Placement>>;
  readonly rateLimit: {
    readonly tokens: number;
    readonly windowMs: number;
    readonly sharedAs: string;
    /** Figures for endpoints that the document gives none for. */
    readonly costs: Readonly<Partial<Record<EndpointName, number>>>;
    /** Order actions a second of the account; absent where there is no such limit. */
    readonly orderRate?: number;
    readonly statuses: readonly number[];
    readonly resetUnit: ResetUnit;
  };
  readonly positionOrders: {
    readonly sizeField: 'size' | 'size_percent';
    readonly types: {
      readonly stop_loss: 'stop_loss' | 'stop_loss_limit';
      readonly take_profit: 'take_profit' | 'take_profit_limit';
    };
  };
  readonly marketOrderPrice: 'optional' | 'required';
  /** The largest leverage the venue lets this account set. */
  readonly maxLeverage: number;
  /** Parts of error texts that prove that nothing was done, beside those of `answers.ts`. */
  readonly definiteRejects: readonly string[];
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly requests: Readonly<Record<string, DeclaredRequest>>;
  readonly feeds: Readonly<Record<string, DeclaredFeed>>;
  readonly capabilities: readonly string[];
  readonly limits: LimitRules;
  readonly ambiguityWindowMs: number;
  /** Private addresses and networks that the base URL's host may resolve to. */
  readonly allowedAddresses: readonly string[];
  readonly store?: StoreSettings;
  readonly anchors: {
    /** Of the key that anchors are signed with. */
    readonly key?: SecretReference;
    readonly copies: Readonly<Record<string, AnchorCopy>>;
    readonly patienceMs: number;
  };
  readonly notify: Readonly<Record<string, NotifyTarget>>;
}

interface ProfileReading {
  readonly profile?: Profile;
  readonly diagnostics: readonly Diagnostic[];
}

/** Where in the source a path of the data stands. */
type Locate = (path: DataPath) => Span;

/**
 * Reads a profile from plain data. Numbers may come as the text they were written as. Relative paths are taken from the
 * folder of `source.file`. A profile is given only where no diagnostic is an error.
 */
export function readProfile(data: unknown, source: SourceText, locate: Locate): ProfileReading {
  const { settings, findings: forms } = readSettings(data);
  const findings: ProfileFinding[] = [...secretFindings(data), ...forms];
  const sound = forms.length === 0;
  if (sound) findings.push(...conflicts(settings));
  const diagnostics = findings.map((finding) => diagnostic(finding, source, locate));
  if (!sound || diagnostics.some((each) => each.severity === 'error')) return { diagnostics };
  return { profile: completed(settings, dirname(source.file)), diagnostics };
}

function diagnostic({ code, path, message, hint }: ProfileFinding, source: SourceText, locate: Locate): Diagnostic {
  const severity = WARNINGS.has(code) ? 'warning' : 'error';
  return { severity, code, message, ...(hint === undefined ? {} : { hint }), source, span: locate(path) };
}
const WARNINGS: ReadonlySet<ProfileCode> = new Set(['profile-ineffective']);

/** Everything that looks like a secret, wherever it stands: in values, in keys, in lists. */
function secretFindings(data: unknown): ProfileFinding[] {
  const found: ProfileFinding[] = [];
  const visit = (value: unknown, path: DataPath): void => {
    if (found.length >= 20 || path.length > 32) return;
    if (typeof value === 'string' && looksSecret(value)) found.push(inlineSecret(path));
    if (value === null || typeof value !== 'object') return;
    for (const [key, each] of Object.entries(value)) {
      const inner = [...path, Array.isArray(value) ? Number(key) : key];
      if (!Array.isArray(value) && looksSecret(key)) found.push(inlineSecret(inner));
      visit(each, inner);
    }
  };
  visit(data, []);
  return found;
}

function inlineSecret(path: DataPath): ProfileFinding {
  return {
    code: 'profile-secret',
    path,
    message: `${dotted(path)} looks like a secret; it is not shown here`,
    hint: 'Put it into an environment variable or a file of mode 0600 and refer to it: {env: NAME} or {file: PATH}. If it was committed, have it replaced.',
  };
}

/** A place for anchors that is down for so long is no accident any more (fault-matrix.md, row 73). */
const ANCHOR_PATIENCE_MS = 600_000;

/** The profile with all defaults filled in. Only for settings that have no error. */
function completed(settings: ReadProfile, folder: string): Profile {
  const {
    rate_limit: rate = {},
    position_orders: position = {},
    feeds = {},
    requests = {},
    notify = {},
    store,
    anchors = {},
  } = settings;
  const defaults = ASSUMPTIONS;
  return {
    name: settings.profile,
    baseUrl: canonicalBaseUrl(settings.base_url),
    account: settings.account ?? 'main',
    auth: completedAuth(settings.auth, folder),
    encoding: {
      ...defaults.encoding.default,
      ...(settings.encoding as Partial<Record<EndpointName, Placement>> | undefined),
    },
    rateLimit: {
      tokens: rate.tokens ?? defaults.tokens.default,
      windowMs: rate.window ?? defaults.windowMs.default,
      sharedAs: rate.shared_as ?? 'default',
      costs: completedCosts(rate.costs ?? {}),
      ...(rate.order_rate === undefined ? {} : { orderRate: rate.order_rate }),
      statuses: rate.statuses ?? defaults.limitedStatuses.default,
      resetUnit: rate.reset_unit ?? defaults.resetUnit.default,
    },
    positionOrders: {
      sizeField: position.size_field ?? defaults.positionOrders.default.sizeField,
      types: {
        stop_loss: position.stop_loss ?? defaults.positionOrders.default.types.stop_loss,
        take_profit: position.take_profit ?? defaults.positionOrders.default.types.take_profit,
      },
    },
    marketOrderPrice: settings.market_order_price ?? defaults.marketOrderPrice.default,
    maxLeverage: settings.max_leverage ?? defaults.maxLeverage.default,
    definiteRejects: settings.definite_rejects ?? defaults.definiteRejects.default,
    markets: mapped(settings.markets ?? {}, (market) => market),
    requests: mapped(requests, ({ query, ...request }) => ({ ...request, query: { ...query } })),
    feeds: mapped(feeds, ({ with: given, ...feed }) => ({ ...feed, with: { ...given } })),
    capabilities: settings.capabilities ?? [],
    limits: limitRules(settings.limits ?? {}),
    ambiguityWindowMs: settings.ambiguity?.window ?? defaults.ambiguityWindowMs.default,
    allowedAddresses: settings.allowed_addresses ?? [],
    ...(store === undefined ? {} : { store: completedStore(store, folder) }),
    anchors: {
      ...(anchors.key === undefined ? {} : { key: located(anchors.key, folder) }),
      copies: mapped(
        anchors.copies ?? {},
        ({ file = '', webhook }): AnchorCopy =>
          webhook === undefined ? { file: besideProfile(file, folder) } : { webhook: located(webhook, folder) },
      ),
      patienceMs: anchors.patience ?? ANCHOR_PATIENCE_MS,
    },
    notify: mapped(
      notify,
      ({ webhook }): NotifyTarget => (webhook === undefined ? { log: true } : { webhook: located(webhook, folder) }),
    ),
  };
}

/** A figure for each endpoint that the document gives none for, and for no other. */
function completedCosts(given: Readonly<Record<string, number>>): Profile['rateLimit']['costs'] {
  const open = ENDPOINT_NAMES.filter((name) => endpoint(name).tokens === undefined);
  return Object.fromEntries(open.map((name) => [name, given[name] ?? ASSUMPTIONS.unknownCost.default]));
}

function completedAuth(auth: ReadProfile['auth'], folder: string): AuthSettings {
  const defaults = ASSUMPTIONS;
  switch (auth.mode ?? 'jwt') {
    case 'none':
      return { mode: 'none' };
    case 'api_key':
      return {
        mode: 'api_key',
        apiKey: located(auth.api_key as SecretReference, folder),
        secret: located(auth.secret as SecretReference, folder),
        ...(auth.chain === undefined ? {} : { chain: auth.chain }),
        signatureLifeMs: auth.signature_life ?? defaults.signatureLifeMs.default,
        headers: { ...defaults.signingHeaders.default, ...auth.signing_headers },
      };
    default: {
      const header = auth.header ?? defaults.jwtHeader.default;
      const prefix = auth.prefix ?? (header.toLowerCase() === 'authorization' ? defaults.jwtPrefix.default : '');
      return {
        mode: 'jwt',
        ...(auth.jwt === undefined ? {} : { jwt: located(auth.jwt, folder) }),
        ...(auth.refresh_token === undefined ? {} : { refreshToken: located(auth.refresh_token, folder) }),
        isClient: auth.is_client ?? defaults.isClient.default,
        carrier: auth.cookie === undefined ? { in: 'header', header, prefix } : { in: 'cookie', cookie: auth.cookie },
        jwtLifeMs: auth.jwt_life ?? defaults.jwtLifeMs.default,
        sendJwtOnRefresh: auth.send_jwt_on_refresh ?? defaults.jwtOnRefresh.default,
      };
    }
  }
}

function completedStore(store: NonNullable<ReadProfile['store']>, folder: string): StoreSettings {
  if (store.postgres !== undefined) return { postgres: located(store.postgres, folder) };
  return { sqlite: besideProfile(store.sqlite ?? '', folder) };
}

function located(reference: SecretReference, folder: string): SecretReference {
  return 'file' in reference ? { file: besideProfile(reference.file, folder) } : reference;
}

/** Relative paths are relative to the profile's file (interface.md, Settled points). */
function besideProfile(path: string, folder: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

function mapped<T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

/** What an endpoint costs: the document's figure, else the profile's, else what is assumed. */
export function costOf(profile: Pick<Profile, 'rateLimit'>, name: EndpointName): number {
  return endpoint(name).tokens ?? profile.rateLimit.costs[name] ?? ASSUMPTIONS.unknownCost.default;
}

/** Every capability, for runs that reach no venue. */
const ALL = '*';

/** Whether a runbook on this account may need `capability`. */
export function grants(profile: Pick<Profile, 'capabilities'>, capability: string): boolean {
  return profile.capabilities.includes(ALL) || profile.capabilities.includes(capability);
}

/**
 * For dry-runs: grants all capabilities and needs no credentials. Its markets are empty: the simulator or the fixture
 * describes them, and who composes the run puts them in.
 */
export const SIMULATED_PROFILE: Profile = {
  ...completed(
    { profile: 'simulated', base_url: 'http://127.0.0.1', account: 'simulated', auth: { mode: 'none' } },
    '.',
  ),
  capabilities: [ALL],
};
