/** Reads the goldens of the engine, and makes the scene that each describes; nothing here asserts. */
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { parseDurationMs } from '../../src/base/duration.ts';
import type { OperatorCommand } from '../../src/engine/ports.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { inputsFrom, loadedFrom, type Scene, START } from './stage.ts';

/**
 * One behaviour per file: a runbook, `---`, its setting (inputs, faults, what a person does), `---`, the result. Errors are
 * kept by kind, code and step, so that a sentence can be improved without touching a golden.
 * `npx vitest run test/engine/golden.test.ts -u` writes the results anew: read the difference before you commit it.
 */
export const FOLDER = new URL('../golden/engine/', import.meta.url);
export const GOLDENS = readdirSync(FOLDER).filter((name) => name.endsWith('.yml'));

interface Setting {
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly seed?: number;
  readonly simulator?: object;
  readonly commands?: readonly (OperatorCommand & { readonly after: string })[];
  /** Runbooks that are called, by name. */
  readonly called?: Readonly<Record<string, string>>;
  /** How long to look at the venue after the run has ended. */
  readonly look_after?: string;
}

/** A quiet venue with even delays: a golden shows only the faults that its setting names. */
const QUIET: SimulatorConfig = {
  latencyMs: { min: 10, max: 10 },
  processingMs: { min: 50, max: 50 },
  visibilityLagMs: { min: 0, max: 0 },
  markets: { 'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } } },
};

export function readDurationMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw new Error(`not a duration: ${text}`);
  return ms;
}

function readConfig(simulator: object): SimulatorConfig {
  const read = readSimulatorConfig({ ...QUIET, ...simulator });
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.config;
}

export function makeScene(name: string, runbook: string, setting: Setting): Scene {
  const { called = {}, inputs = {}, simulator = {}, seed, commands = [] } = setting;
  const loaded = loadedFrom({ file: name, text: runbook }, (callee) =>
    Object.hasOwn(called, callee) ? { file: `${callee}.yaml`, text: called[callee] as string } : undefined,
  );
  const texts = Object.entries(inputs).map(([key, value]) => [
    key,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ]);
  return {
    loaded,
    inputs: inputsFrom(loaded, Object.fromEntries(texts)),
    config: readConfig(simulator),
    ...(seed === undefined ? {} : { seed }),
    commands: commands.map(({ after, ...command }) => ({ ...command, afterMs: readDurationMs(after) })),
  };
}

/** Seconds since the start, to the millisecond. */
export function formatSince(time: string | number): string {
  const ms = (typeof time === 'number' ? time : Date.parse(time)) - START;
  return `+${(ms / 1000).toFixed(3)}s`;
}

interface Golden {
  readonly runbook: string;
  readonly setting: string;
  readonly asked: Setting;
}

export function readGolden(name: string): Golden {
  const [runbook = '', setting = '', ...rest] = readFileSync(new URL(name, FOLDER), 'utf8').split(/^---\n/m);
  if (rest.length > 1) throw new Error(`${name}: a runbook, its setting, the result`);
  return { runbook, setting, asked: (parse(setting) ?? {}) as Setting };
}
