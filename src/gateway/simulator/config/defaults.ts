/**
 * Holds the default configuration of the simulated venue: no faults, moderate price moves, and delays long enough to expose an
 * engine that does not wait. The default of each surprise follows venue-api.md, or the default of venue-notes.md.
 */
import { mapFields } from '../../../base/json.ts';
import { type MarketConfig, type Settings, SURPRISES, type SurprisesConfig } from './settings.ts';

/** Prices are near those of the examples; the volatility is that of a lively but ordinary day, about 4 % for BTC. */
export const DEFAULT_MARKETS: Readonly<Record<string, MarketConfig>> = {
  'BTC-USD': {
    tick: '1',
    lot: '0.0001',
    min_size: '0.0001',
    start: '64000',
    path: { kind: 'walk', volatilityBps: 1.5, stepMs: 1000 },
    spreadBps: 0.5,
    depth: '0.1',
    levels: 100,
  },
  'ETH-USD': {
    tick: '0.1',
    lot: '0.001',
    min_size: '0.001',
    start: '3200',
    path: { kind: 'walk', volatilityBps: 1.2, stepMs: 1000 },
    spreadBps: 1,
    depth: '1',
    levels: 100,
  },
  'SOL-USD': {
    tick: '0.01',
    lot: '0.01',
    min_size: '0.01',
    start: '150',
    path: { kind: 'walk', volatilityBps: 1.5, stepMs: 1000 },
    spreadBps: 2,
    depth: '20',
    levels: 100,
  },
};

/** Defaults for a market that is not one of the default ones; its tick, lot and start have no default. */
export const NEW_MARKET = {
  path: { kind: 'walk', volatilityBps: 1, stepMs: 1000 },
  spreadBps: 1,
  depth: '10',
  levels: 100,
} as const satisfies Partial<MarketConfig>;

export const DEFAULTS: Settings = {
  markets: DEFAULT_MARKETS,
  account: {
    id: 88892,
    wallet: '0x51mu1a7ed',
    equity: '18234.10',
    leverage: 5,
    maxLeverage: 20,
    fees: { maker: '-0.00005', taker: '0.0005' },
    volume: '0',
    tiers: [
      { tier: 0, title: 'Standard', min_volume: '0' },
      { tier: 1, title: 'VIP 1', min_volume: '1000000' },
      { tier: 2, title: 'VIP 2', min_volume: '10000000' },
    ],
    positions: [],
    resting: [],
    maxOpenOrders: 1000,
  },
  latencyMs: { min: 20, max: 60 },
  processingMs: { min: 20, max: 80 },
  visibilityLagMs: { min: 0, max: 120 },
  readLagMs: 0,
  fillLagMs: 0,
  clockSteps: [],
  fullScanFactor: 10,
  tokens: {
    limit: 1200,
    windowMs: 60_000,
    algorithm: 'sliding_log',
    costs: {},
    status: 429,
    resetUnit: 's',
    headers: true,
    retryAfter: 'x',
    foreign: [],
  },
  auth: { mode: 'jwt', accept: 'any', rotate: false, result: 'text', header: 'authorization', prefix: 'Bearer ' },
  surprises: mapFields(SURPRISES, (of) => (Array.isArray(of) ? of[0] : of)) as SurprisesConfig,
  faults: [],
};
