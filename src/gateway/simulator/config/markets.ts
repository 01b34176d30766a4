/** The default markets of the simulated venue, and the defaults of any other market. The other defaults are in `schema.ts`. */
import type { MarketConfig } from './settings.ts';

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
