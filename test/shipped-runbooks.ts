/**
 * The runbooks that ship, and what their recordings are made with: the simulated venue by `runbooks/fixtures/NAME.sim.yaml`
 * and the inputs below. `npm run fixtures` makes all of them again.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadedRunbook } from '../src/app/files/load.ts';
import { inputValues } from '../src/app/files/load.ts';
import { readSimulatorFile } from '../src/app/files/simulator.ts';
import type { SourceText } from '../src/base/diagnostic.ts';
import type { SimulatorConfig } from '../src/gateway/simulator/simulator.ts';
import type { Value } from '../src/runbook/values.ts';
import { loadedFrom } from './engine/stage.ts';

const RECORDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'bracket-entry': { side: 'long', size: '0.25', trigger: '64200', patience: '10m' },
  dca: {},
  emergency: { within: '1m' },
  flatten: { markets: '["BTC-USD", "ETH-USD"]' },
  grid: { for: '1m', rungs: '3' },
  'health-check': {},
  housekeeping: { night_leverage: '2' },
  iceberg: { price: '63900', size: '0.12' },
  ladder: { budget: '6000', rungs: '3', for: '36s' },
  'maintenance-window': { window: '2m' },
  oco: { stop: '62500', worst: '61500', target: '64500' },
  pair: { for: '1m' },
  peg: {},
  rebalance: {},
  requote: { market: 'BTC-USD', side: 'long', size: '0.05', worst: '64100', for: '40s' },
  'scale-out': { price: '63900' },
  'trailing-stop': { for: '2m' },
  'triple-barrier': { hold: '1m' },
  twap: { over: '2m', slices: '3' },
  'weekend-flatten': { within: '1m' },
  'weekly-buy': { patience: '20s' },
};

export const SHIPPED: readonly string[] = Object.keys(RECORDED);
export const SHIPPED_FOLDER = fileURLToPath(new URL('../runbooks/', import.meta.url));

/** The text of a shipped runbook, named from the project's folder: a path from the root would differ from machine to machine. */
export function shippedSource(name: string): SourceText | undefined {
  const file = `${SHIPPED_FOLDER}${name}.yaml`;
  return existsSync(file) ? { file: `runbooks/${name}.yaml`, text: readFileSync(file, 'utf8') } : undefined;
}

const loaded = new Map<string, LoadedRunbook>();

/** Checked once: checking costs more than most of what is asked of it. */
export function loadShipped(name: string): LoadedRunbook {
  const known = loaded.get(name) ?? load(name);
  loaded.set(name, known);
  return known;
}

function load(name: string): LoadedRunbook {
  const source = shippedSource(name);
  if (source === undefined) throw new Error(`no runbook ships as ${name}`);
  return loadedFrom(source, shippedSource);
}

/** The inputs its recording is made with. */
export function shippedInputs(name: string, { runbook }: LoadedRunbook): Readonly<Record<string, Value>> {
  return inputValues(runbook, { pairs: Object.entries(RECORDED[name] ?? {}).map(([key, value]) => `${key}=${value}`) });
}

/** The venue its recording is made of. */
export function shippedVenue(name: string): SimulatorConfig {
  return readSimulatorFile(`${SHIPPED_FOLDER}fixtures/${name}.sim.yaml`);
}
