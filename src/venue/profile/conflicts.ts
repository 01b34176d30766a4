/**
 * Finds settings of a profile that contradict each other or are unsafe: URLs that leak, credentials in two places, feeds that
 * read what no request gives. The forms of the settings are already checked; no defaults are filled in.
 */
import { ENDPOINT_NAMES, getEndpoint, isEndpointName } from '../catalogue.ts';
import { isLoopbackHost } from './loopback.ts';
import type { DataPath, ProfileFinding } from './reading.ts';
import type { ResultShape, ResultWord, SecretReference } from './setting-form.ts';
import type { ReadProfile } from './settings.ts';

const reportConflict = (path: DataPath, message: string): ProfileFinding => ({
  code: 'profile-conflict',
  path,
  message,
});
const reportForm = (path: DataPath, message: string): ProfileFinding => ({ code: 'profile-form', path, message });

/** Every finding that needs more than the form of one setting. */
export function findConflicts(settings: ReadProfile): ProfileFinding[] {
  const url = readBaseUrl(settings.base_url);
  const loopback = 'url' in url && isLoopbackHost(url.url.hostname);
  const rules: (ProfileFinding | false | undefined)[] = [
    'problem' in url && { code: 'profile-url', path: ['base_url'], message: url.problem },
    ...findAuthConflicts(settings.auth, loopback),
    ...Object.keys(settings.rate_limit?.costs ?? {}).map((name) => checkCost(name)),
    ...findStoreConflicts(settings),
    ...Object.entries(settings.notify ?? {}).map(([name, target]) => checkNotifyTarget(name, target)),
    ...Object.entries(settings.anchors?.copies ?? {}).map(([name, copy]) => checkAnchorCopy(name, copy)),
    ...Object.entries(settings.requests ?? {}).map(([name, { path }]) => checkRequest(name, path)),
    ...Object.entries(settings.feeds ?? {}).flatMap(([name, feed]) => [
      ...findFeedConflicts(name, feed, settings.requests ?? {}),
    ]),
    ...findPositionsConflicts(settings),
    ...(settings.limits?.markets ?? []).map((market, index) =>
      checkMarket(market, ['limits', 'markets', index], settings.markets),
    ),
    ...(settings.allowed_addresses ?? []).map((text, index) => checkAddress(text, index)),
  ];
  return rules.filter((rule): rule is ProfileFinding => rule !== undefined && rule !== false);
}

/** Accepts https, or http to a loopback address; refuses what could hold a secret or get lost when a path is appended. */
function readBaseUrl(text: string): { readonly url: URL } | { readonly problem: string } {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { problem: 'base_url is not a URL' };
  }
  if (url.username !== '' || url.password !== '')
    return { problem: 'base_url holds a user name or a password; put references to secrets under auth' };
  if (text.includes('?') || text.includes('#'))
    return { problem: 'base_url has a query or a fragment; it must end with its path' };
  if (/(?:^|\/)\.\.?(?:\/|$)|%2e|\\/i.test(text.replace(/^https?:\/\//, '')))
    return { problem: 'base_url has a path with . or .., a backslash or an escaped dot; write the plain path' };
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))) return { url };
  return {
    problem: `base_url must be https; plain http is only for loopback addresses, found the host ${url.hostname}`,
  };
}

function* findAuthConflicts(auth: ReadProfile['auth'], loopback: boolean): Generator<ProfileFinding | false> {
  const mode = auth.mode ?? 'jwt';
  const given = (names: readonly (keyof ReadProfile['auth'])[]) => names.filter((name) => auth[name] !== undefined);
  for (const name of mode === 'jwt' ? [] : given(JWT_ONLY))
    yield reportConflict(['auth', name], `auth.${name} is for mode jwt; the mode is ${mode}`);
  for (const name of mode === 'api_key' ? [] : given(KEY_ONLY))
    yield reportConflict(['auth', name], `auth.${name} is for mode api_key; the mode is ${mode}`);
  if (mode === 'none' && !loopback)
    yield reportConflict(['auth', 'mode'], 'auth.mode none is only for a loopback address');
  if (mode === 'jwt' && given(['jwt', 'refresh_token']).length === 0) {
    yield {
      code: 'profile-missing',
      path: ['auth'],
      message: 'auth has neither a jwt nor a refresh_token; mode jwt needs one of them',
    };
  }
  if (auth.cookie !== undefined)
    for (const name of given(['header', 'prefix']))
      yield reportConflict(
        ['auth', name],
        `auth.${name} and auth.cookie exclude each other: the JWT is sent in one place`,
      );
  if (mode === 'api_key') {
    for (const name of ['api_key', 'secret'] as const) {
      if (auth[name] === undefined)
        yield { code: 'profile-missing', path: ['auth'], message: `auth.${name} is missing; mode api_key needs it` };
    }
  }
}
const JWT_ONLY = [
  'jwt',
  'refresh_token',
  'is_client',
  'header',
  'prefix',
  'cookie',
  'jwt_life',
  'send_jwt_on_refresh',
] as const;
const KEY_ONLY = ['api_key', 'secret', 'chain', 'signature_life', 'signing_headers'] as const;

function checkCost(name: string): ProfileFinding | undefined {
  const documented = isEndpointName(name) ? getEndpoint(name).tokens : undefined;
  if (documented === undefined) return undefined;
  const message = `rate_limit.costs: ${name} costs ${documented} by the venue document, which takes precedence over the profile`;
  return { code: 'profile-ineffective', path: ['rate_limit', 'costs', name], message };
}

function* findStoreConflicts({ store }: ReadProfile): Generator<ProfileFinding> {
  if (store === undefined) return;
  if ((store.sqlite === undefined) === (store.postgres === undefined)) {
    yield reportConflict(['store'], 'store must name exactly one of sqlite and postgres');
  }
}

function checkNotifyTarget(name: string, target: NonNullable<ReadProfile['notify']>[string]): ProfileFinding | false {
  const path = ['notify', name];
  if ((target.webhook === undefined) === (target.log === undefined))
    return reportConflict(path, `notify.${name} must name exactly one of webhook and log`);
  if ((target.chat === undefined) === (target.shape === 'telegram'))
    return reportConflict(path, `notify.${name} must name the chat where its shape is telegram, and only there`);
  if (target.log !== undefined && target.shape !== undefined)
    return reportConflict(path, `notify.${name}.shape is for a webhook; a log has none`);
  return target.log === false && reportForm([...path, 'log'], `notify.${name}.log can only be true`);
}

function checkAnchorCopy(
  name: string,
  copy: { readonly file?: string; readonly webhook?: SecretReference; readonly bucket?: SecretReference },
): ProfileFinding | false {
  return (
    Object.keys(copy).length !== 1 &&
    reportConflict(
      ['anchors', 'copies', name],
      `anchors.copies.${name} must name exactly one of file, webhook and bucket`,
    )
  );
}

/** The endpoints of the venue document have steps of their own, with checks; a declared request must not bypass them. */
function checkRequest(name: string, path: string): ProfileFinding | undefined {
  const known = ENDPOINT_NAMES.find((each) => each === `GET ${path}`);
  if (known === undefined) return undefined;
  return reportConflict(
    ['requests', name, 'path'],
    `requests.${name}: ${known} is an endpoint of the venue document and cannot be declared; use its step`,
  );
}

function* findFeedConflicts(
  name: string,
  feed: NonNullable<ReadProfile['feeds']>[string],
  requests: NonNullable<ReadProfile['requests']>,
): Generator<ProfileFinding> {
  const request = Object.hasOwn(requests, feed.request) ? requests[feed.request] : undefined;
  const path = ['feeds', name];
  if (request === undefined) {
    yield reportConflict([...path, 'request'], `feeds.${name}: requests has no ${feed.request}`);
    return;
  }
  const query = request.query ?? {};
  for (const [key, text] of Object.entries(feed.with ?? {})) {
    if (!Object.hasOwn(query, key))
      yield reportConflict(
        [...path, 'with', key],
        `feeds.${name}: the request ${feed.request} has no parameter ${key}`,
      );
    if (text.replaceAll('${market}', '').includes('${')) {
      yield reportForm([...path, 'with', key], `feeds.${name}.with.${key}: only \${market} can be filled in`);
    }
  }
  if (!leadsToNumber(request.result, parseResultPath(feed.read).slice(1))) {
    yield reportConflict(
      [...path, 'read'],
      `feeds.${name}: ${feed.read} is not a number in the result that requests.${feed.request} declares`,
    );
  }
}

/** A row of positions: which words its fields may have. */
const POSITION_FIELDS: Readonly<Record<'market' | 'size' | 'side' | 'price', ReadonlySet<ResultWord>>> = {
  market: new Set(['market', 'text']),
  size: new Set(['size', 'number']),
  side: new Set(['side', 'text']),
  price: new Set(['price', 'number']),
};

function* findPositionsConflicts({ positions, requests = {} }: ReadProfile): Generator<ProfileFinding> {
  if (positions === undefined) return;
  const conflict = (name: string, message: string): ProfileFinding =>
    reportConflict(['positions', name], `positions: ${message}`);
  const request = Object.hasOwn(requests, positions.request) ? requests[positions.request] : undefined;
  if (request === undefined) return yield conflict('request', `requests has no ${positions.request}`);
  const list = findShape(request.result, parseResultPath(positions.rows ?? 'result').slice(1));
  const fields = list?.kind === 'list' && list.of.kind === 'record' ? list.of.fields : undefined;
  if (fields === undefined)
    return yield conflict('rows', `the result of requests.${positions.request} has no list of records there`);
  const sided = Object.entries(fields).find(([, shape]) => shape.kind === 'value' && shape.type === 'side')?.[0];
  if (sided !== undefined && positions.side === undefined)
    yield conflict('side', `a row says its side in ${sided}; without \`side: ${sided}\` a short would count as long`);
  for (const name of ['market', 'size', 'side', 'price'] as const) {
    const given = positions[name];
    const shape = given !== undefined && Object.hasOwn(fields, given) ? fields[given] : undefined;
    // A price may be absent: the entry is then not known.
    const fits =
      shape?.kind === 'value' && POSITION_FIELDS[name].has(shape.type) && (name === 'price' || !shape.optional);
    if (given !== undefined && !fits)
      yield conflict(name, `${given} is no ${[...POSITION_FIELDS[name]].join(' or ')} of a row that is always there`);
  }
}

/** `result[0].fair_price` in parts: `['result', 0, 'fair_price']`. */
export function parseResultPath(text: string): readonly (string | number)[] {
  return [...text.matchAll(/\[(\d+)\]|([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, index, name]) =>
    index === undefined ? (name as string) : Number(index),
  );
}

function leadsToNumber(shape: ResultShape, path: readonly (string | number)[]): boolean {
  const found = findShape(shape, path);
  return found?.kind === 'value' && NUMBERS.has(found.type);
}

/** The shape at a path; undefined where there is none. */
function findShape(shape: ResultShape, path: readonly (string | number)[]): ResultShape | undefined {
  const [part, ...rest] = path;
  if (part === undefined) return shape;
  if (shape.kind === 'value') return undefined;
  if (shape.kind === 'record') {
    const field = typeof part === 'string' && Object.hasOwn(shape.fields, part) ? shape.fields[part] : undefined;
    return field && findShape(field, rest);
  }
  return (shape.kind === 'list') === (typeof part === 'number') ? findShape(shape.of, rest) : undefined;
}
const NUMBERS: ReadonlySet<ResultWord> = new Set(['price', 'size', 'money', 'number', 'integer']);

function checkMarket(market: string, path: DataPath, markets: ReadProfile['markets']): ProfileFinding | undefined {
  if (markets === undefined || Object.hasOwn(markets, market)) return undefined;
  return {
    code: 'profile-ineffective',
    path,
    message: `limits.markets allows ${market}, but markets has no tick and lot for it`,
  };
}

function checkAddress(text: string, index: number): ProfileFinding | undefined {
  const [address = '', bits] = text.split('/');
  const v6 = address.includes(':');
  const form = v6 ? /^(?=.*:)[0-9A-Fa-f:.]+$/ : /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
  if (form.test(address) && (bits === undefined || Number(bits) <= (v6 ? 128 : 32))) return undefined;
  return reportForm(
    ['allowed_addresses', index],
    `allowed_addresses[${index}] is not an IP address or network such as 10.1.0.0/16`,
  );
}
