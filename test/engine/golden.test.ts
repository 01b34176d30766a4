import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseDurationMs } from '../../src/base/duration.ts';
import type { OperatorCommand } from '../../src/engine/ports.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

/**
 * One behaviour a file: a runbook, `---`, what it meets (inputs, faults, what a person does), `---`, what comes of it.
 * `npx vitest run test/engine/golden.test.ts -u` writes what comes of it now: read the difference before believing it.
 */
const FOLDER = new URL('../golden/engine/', import.meta.url);
const GOLDENS = readdirSync(FOLDER).filter((name) => name.endsWith('.yml'));

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

/** A quiet venue with even delays: what is not said in a golden does not show in it. */
const QUIET: SimulatorConfig = {
  latencyMs: { min: 10, max: 10 },
  processingMs: { min: 50, max: 50 },
  visibilityLagMs: { min: 0, max: 0 },
  markets: { 'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } } },
};

function durationMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw new Error(`not a duration: ${text}`);
  return ms;
}

function configOf(simulator: object): SimulatorConfig {
  const read = readSimulatorConfig({ ...QUIET, ...simulator });
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.config;
}

function sceneOf(name: string, runbook: string, setting: Setting): Scene {
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
    config: configOf(simulator),
    ...(seed === undefined ? {} : { seed }),
    commands: commands.map(({ after, ...command }) => ({ ...command, afterMs: durationMs(after) })),
  };
}

/** Seconds since the start, to the millisecond. */
function since(time: string | number): string {
  const ms = (typeof time === 'number' ? time : Date.parse(time)) - START;
  return `+${(ms / 1000).toFixed(3)}s`;
}

/** The client order ids of a run are digests: the order's number in the run is easier to read. */
function named(text: string, orders: Performance['report']['orders']): string {
  return orders.reduce((shown, { clientOrderId }, index) => shown.replaceAll(clientOrderId, `#${index + 1}`), text);
}

/** Parameters as they went out, without what is in every request of their kind. */
function shown(params: object): string {
  return Object.entries(params)
    .map(([key, value]) => `${key}=${/_time$/.test(key) ? since(Math.round(Number(value) / 1000)) : String(value)}`)
    .join(' ');
}

/** The same request again and again is one line: polls are counted, not listed. */
function folded(rows: readonly { readonly at: string; readonly text: string }[]): string[] {
  const lines: { at: string; text: string; count: number; lastAt: string }[] = [];
  for (const row of rows) {
    const line = lines.at(-1);
    if (line?.text === row.text) {
      line.count += 1;
      line.lastAt = row.at;
    } else lines.push({ ...row, count: 1, lastAt: row.at });
  }
  return lines.map(
    ({ at, text, count, lastAt }) =>
      `  ${since(at)} ${text}${count === 1 ? '' : ` (${count} times, last ${since(lastAt)})`}`,
  );
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function of<T extends Entry['type']>(entries: readonly Entry[], type: T): readonly Extract<Entry, { type: T }>[] {
  return entries.filter((entry): entry is Extract<Entry, { type: T }> => entry.type === type);
}

function told({ report, entries }: Performance): string {
  const { outcome, reason, error, steps, requests, orders, deadman, outputs } = report;
  const lines = [
    `${outcome}${outcome === 'stopped' ? ` as ${reason}` : ''} at ${since(report.endedAt)}`,
    ...(error === undefined
      ? []
      : [`error ${error.kind}${error.step === undefined ? '' : ` in ${error.step}`}: ${error.message}`]),
    ...section(
      'steps',
      steps.map(
        ({ startedAt, endedAt, verb, path, outcome: end, attempts }) =>
          `  ${since(startedAt)} ${verb} ${path} ${end}${end === 'skipped' ? '' : ` ${since(endedAt)}`}${attempts > 1 ? ` after ${attempts} attempts` : ''}`,
      ),
    ),
    ...section(
      'requests',
      folded(
        requests.map(({ at, method, path, params, status, success }) => ({
          at,
          text: `${method} ${path} ${shown(params)} → ${status ?? 'no answer'}${success || status === null ? '' : ' refused'}`,
        })),
      ),
    ),
    ...section(
      'orders',
      orders.map(
        ({ orderId = 'no id', type, side, size, price, filled, averagePrice, state }, index) =>
          `  #${index + 1} ${orderId} ${type} ${side} ${size}${price === undefined ? '' : ` at ${price}`} filled ${filled}${averagePrice === undefined ? '' : ` at ${averagePrice}`} ${state}`,
      ),
    ),
    ...section('deadman', folded(deadman.map(({ at, event }) => ({ at, text: event })))),
    ...section(
      'denied',
      of(entries, 'call.settled').flatMap(({ at, data }) =>
        data.kind === 'denied' ? [`  ${since(at)} ${data.message ?? ''}`] : [],
      ),
    ),
    ...section(
      'told',
      of(entries, 'notification.sent').map(({ at, data }) => `  ${since(at)} ${data.to}: ${data.text}`),
    ),
    ...section(
      'outputs',
      Object.entries(outputs).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`),
    ),
  ];
  return named(lines.join('\n'), orders);
}

/** The venue's own view, where a golden asks for it: what a switch that was left armed does behind the run's back. */
async function seenLater(performance: Performance, after: string): Promise<string> {
  const books = await performance.later(durationMs(after));
  const orders = books.orders.map(({ id, status, filled }) => `  ${id} ${status} filled ${filled}`);
  return ['', `at the venue ${after} later`, ...orders].join('\n');
}

describe('the engine', () => {
  it.each(GOLDENS)('%s', async (name) => {
    const [runbook = '', setting = '', ...rest] = readFileSync(new URL(name, FOLDER), 'utf8').split(/^---\n/m);
    expect(rest.length, 'a runbook, what it meets, what comes of it').toBeLessThanOrEqual(1);
    const { look_after, ...asked } = (parse(setting) ?? {}) as Setting;
    const scene = sceneOf(name, runbook, asked);
    const performance = await perform(scene);
    const text = `${told(performance)}${look_after === undefined ? '' : await seenLater(performance, look_after)}`;
    await expect(`${runbook}---\n${setting}---\n${text}\n`).toMatchFileSnapshot(new URL(name, FOLDER).pathname);
    await replay(performance, scene);
  });
});
