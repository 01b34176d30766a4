/**
 * Writes a profile as settings with every default filled in, and reads it back: a run's first journal entry holds these
 * settings, and a resumed run reads its profile from them. They hold references to secrets, never secrets or values of the
 * environment.
 */

import { decimal, formatDecimal } from '../../base/decimal.ts';
import { writeDuration } from '../../base/duration.ts';
import { mapFields } from '../../base/json.ts';
import { writeLimits } from './limits.ts';
import { type AuthSettings, type Profile, type ResultShape, readProfile } from './profile.ts';

export type SettingsJson = { readonly [key: string]: SettingsValue };
type SettingsValue = null | boolean | number | string | readonly SettingsValue[] | SettingsJson;

export function writeProfileSettings(profile: Profile): SettingsJson {
  const { rateLimit, positionOrders, store, anchors, heartbeat } = profile;
  const settings = {
    profile: profile.name,
    base_url: profile.baseUrl,
    account: profile.account,
    auth: writeAuth(profile.auth),
    encoding: Object.fromEntries(Object.entries(profile.encoding).filter(([name]) => !name.startsWith('GET '))),
    rate_limit: {
      tokens: rateLimit.tokens,
      window: writeDuration(rateLimit.windowMs),
      shared_as: rateLimit.sharedAs,
      costs: rateLimit.costs,
      order_rate: rateLimit.orderRate,
      statuses: rateLimit.statuses,
      reset_unit: rateLimit.resetUnit,
    },
    position_orders: {
      size_field: positionOrders.sizeField,
      shown_size: positionOrders.shownSize,
      ...positionOrders.types,
    },
    market_order_price: profile.marketOrderPrice,
    max_leverage: profile.maxLeverage,
    refusals: profile.refusals,
    markets: profile.markets,
    requests: mapFields(profile.requests, (request) => ({ ...request, result: writeShape(request.result) })),
    feeds: profile.feeds,
    positions: profile.positions,
    ...(Object.keys(profile.people).length === 0 ? {} : { people: profile.people }),
    four_eyes: profile.fourEyes || undefined,
    capabilities: profile.capabilities,
    limits: writeLimits(profile.limits),
    ambiguity: { window: writeDuration(profile.ambiguityWindowMs) },
    sockets: { idle: writeDuration(profile.socketIdleMs) },
    fills: { window: writeDuration(profile.fillsWindowMs) },
    stop: { room: `${formatDecimal(decimal(profile.stopRoom).times(100))}%` },
    gate: { stale: writeDuration(profile.gateStaleMs) },
    clock: { ahead: writeDuration(profile.clockAheadMs) },
    shutdown: { within: writeDuration(profile.shutdownWithinMs) },
    allowed_addresses: profile.allowedAddresses,
    store,
    anchors: { key: anchors.key, copies: anchors.copies, patience: writeDuration(anchors.patienceMs) },
    review_page: profile.reviewPage,
    heartbeat: heartbeat && { url: heartbeat.url, every: writeDuration(heartbeat.everyMs) },
    notify: profile.notify,
  };
  // Without what is undefined.
  return JSON.parse(JSON.stringify(settings)) as SettingsJson;
}

/** The profile that gave these settings; undefined where they are not the settings of a profile. */
export function restoreProfile(settings: SettingsJson): Profile | undefined {
  const { capabilities, ...rest } = settings;
  const read = readProfile(rest, { file: '', text: '' }, () => ({ start: 0, end: 0 }), { recorded: true });
  if (read.profile === undefined || !Array.isArray(capabilities)) return undefined;
  return { ...read.profile, capabilities: capabilities.map(String) };
}

function writeAuth(auth: AuthSettings): unknown {
  switch (auth.mode) {
    case 'none':
      return { mode: 'none' };
    case 'api_key':
      return {
        mode: 'api_key',
        api_key: auth.apiKey,
        secret: auth.secret,
        chain: auth.chain,
        signature_life: writeDuration(auth.signatureLifeMs),
        signing_headers: auth.headers,
      };
    case 'jwt':
      return {
        mode: 'jwt',
        jwt: auth.jwt,
        refresh_token: auth.refreshToken,
        is_client: auth.isClient,
        ...(auth.carrier.in === 'cookie'
          ? { cookie: auth.carrier.cookie }
          : { header: auth.carrier.header, prefix: auth.carrier.prefix }),
        jwt_life: writeDuration(auth.jwtLifeMs),
        send_jwt_on_refresh: auth.sendJwtOnRefresh,
      };
    default:
      return auth satisfies never;
  }
}

function writeShape(shape: ResultShape): unknown {
  switch (shape.kind) {
    case 'value':
      return `${shape.type}${shape.optional ? '?' : ''}`;
    case 'list':
    case 'map':
      return { type: shape.kind, of: writeShape(shape.of) };
    case 'record':
      return mapFields(shape.fields, writeShape);
    default:
      return shape satisfies never;
  }
}
