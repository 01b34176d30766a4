/** The types of the simulator's configuration, derived from the table of its settings (`schema.ts`), and what no file can give. */
import type { DecimalString } from '../../../base/decimal.ts';
import type { CompleteOf, ValueOf } from '../../../base/schema.ts';
import type { SIMULATOR_SCHEMA } from './schema.ts';

/** A configuration as a file gives it: every part is optional, and so is each field of a default market. */
type FileConfig = ValueOf<typeof SIMULATOR_SCHEMA>;
type FileMarket = NonNullable<FileConfig['markets']>[string];
type FilePath = NonNullable<FileMarket['path']>;

export type PathConfig =
  | Extract<FilePath, { kind: 'walk' }>
  | (Omit<Extract<FilePath, { kind: 'points' }>, 'points'> & { readonly points: readonly PricePoint[] })
  /** The price that `Simulator.setPrice` sets, from `start` on. Not of a configuration file: see `runbook paper`. */
  | { readonly kind: 'live'; readonly stepMs?: number }
  /** Recorded prices, in absolute time; the start price is theirs. Not of a configuration file: see `dry-run --prices`. */
  | { readonly kind: 'history'; readonly history: PriceHistory; readonly stepMs?: number };

type PricePoint = Extract<FilePath, { kind: 'points' }>['points'][number] & {
  /** The price moves here in a straight line from the point before. */
  readonly ramp?: boolean;
  /** Until the next point nothing is quoted, and nothing can be traded. */
  readonly closed?: boolean;
};

/** Recorded prices of a market, as whole counts of its ticks; arrays of numbers, because a file may have millions. */
export interface PriceHistory {
  readonly form: 'ticks' | 'candles';
  /** Epoch ms, ascending. */
  readonly times: Float64Array;
  /** One count for each time; of candles four: open, high, low, close. */
  readonly ticks: Float64Array;
}

/** One move of a price, in a configuration file. */
export type PriceMove = Exclude<NonNullable<FileMarket['price']>, DecimalString>[number];

export type MarketConfig = Required<Omit<FileMarket, 'path' | 'price'>> & { readonly path: PathConfig };

export type GivenMarket = Partial<MarketConfig> & Pick<FileMarket, 'price'>;

export type SimulatorConfig = Omit<FileConfig, 'markets'> & {
  readonly markets?: Readonly<Record<string, GivenMarket>>;
};

export type Settings = Omit<CompleteOf<typeof SIMULATOR_SCHEMA>, 'markets'> & {
  readonly markets: Readonly<Record<string, MarketConfig>>;
};
export type AccountConfig = Settings['account'];
export type TokensConfig = Settings['tokens'];
export type TokenAlgorithm = TokensConfig['algorithm'];
export type AuthConfig = Settings['auth'];
export type SurprisesConfig = Settings['surprises'];
