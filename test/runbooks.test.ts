import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { SourceText } from '../src/base/diagnostic.ts';
import { readFixtureFile } from '../src/cli/fixture-file.ts';
import { inputValues, sha256 } from '../src/cli/loading.ts';
import { planFor } from '../src/cli/planning.ts';
import { readSimulatorFile } from '../src/cli/simulator-file.ts';
import { type DryRun, dryRun, type LoadedRunbook, replayRun } from '../src/cli/wire.ts';
import { writeFixture } from '../src/gateway/fixture-text.ts';
import type { Entry } from '../src/journal/entry.ts';
import { MemoryStore } from '../src/journal/memory-store.ts';
import { type RunReport, runReport } from '../src/report/run.ts';
import { checkRunbook } from '../src/runbook/check.ts';
import { loadedFrom, START } from './engine/stage.ts';

/**
 * The runbooks that ship, each with the recording that ships beside it. A recording is made of the simulated venue by
 * `runbooks/fixtures/NAME.sim.yaml` and the inputs below; `npm run fixtures` makes all of them again.
 */
const RECORDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'bracket-entry': { side: 'long', size: '0.25', trigger: '64200' },
  dca: { patience: '20s' },
  flatten: { markets: '["BTC-USD", "ETH-USD"]' },
  grid: { for: '1m', rungs: '3' },
  housekeeping: { night_leverage: '2' },
  ladder: { budget: '6000', rungs: '3', for: '36s' },
  'maintenance-window': { window: '2m' },
  requote: { market: 'BTC-USD', side: 'long', size: '0.05', worst: '64100', for: '40s' },
  'trailing-stop': { for: '2m' },
  twap: { over: '2m', slices: '3' },
};
const NAMES = Object.keys(RECORDED);
const FOLDER = fileURLToPath(new URL('../runbooks/', import.meta.url));

/** Warnings that are meant: the examples of the language design come without a stop of their own, and one input is for people. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  flatten: ['unused-input'],
  ladder: ['entry-without-protect'],
  requote: ['entry-without-protect'],
};

function source(name: string): SourceText | undefined {
  const file = `${FOLDER}${name}.yaml`;
  // A path from here would differ from machine to machine, and be part of what is recorded.
  return existsSync(file) ? { file: `runbooks/${name}.yaml`, text: readFileSync(file, 'utf8') } : undefined;
}

function load(name: string): LoadedRunbook {
  return loadedFrom(source(name) as SourceText, source);
}

function pairs(name: string): string[] {
  return Object.entries(RECORDED[name] ?? {}).map(([key, value]) => `${key}=${value}`);
}

interface Rehearsed {
  readonly report: RunReport;
  readonly entries: readonly Entry[];
}

async function rehearse(options: Omit<DryRun, 'store'>): Promise<Rehearsed> {
  const entries: Entry[] = [];
  await dryRun({ ...options, store: new MemoryStore(), onEntry: (entry) => entries.push(entry) });
  return { entries, report: runReport(entries) };
}

function fixtureOf(name: string) {
  const { fixture, source: text } = readFixtureFile(`${FOLDER}fixtures/${name}.yaml`);
  return { fixture, venue: { kind: 'fixtures', fixture, file: `fixtures/${name}.yaml`, sha256: sha256(text.text) } as const };
}

/** Against the recording, with the inputs it was made with. */
function fromFixture(name: string, run: string): Promise<Rehearsed> {
  const { fixture, venue } = fixtureOf(name);
  const loaded = load(name);
  const inputs = inputValues(loaded.runbook, { pairs: [], recorded: fixture.inputs });
  return rehearse({ loaded, inputs, run, at: fixture.startMs, seed: 1, venue });
}

/** The report without the run's name, and without the order ids that derive from it. */
function withoutNames({ report }: Rehearsed): unknown {
  const ids = report.orders.map(({ clientOrderId }) => clientOrderId);
  const text = ids.reduce((json, id, index) => json.replaceAll(id, `order ${index + 1}`), JSON.stringify(report));
  return JSON.parse(text.replaceAll(report.run, 'run'));
}

describe('the runbooks that ship', () => {
  it('are these, each with a recording, a venue it was made of, and a test file', () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
    const named = (ending: string) => NAMES.map((name) => `${name}${ending}`).sort();
    expect(files.filter((file) => !file.endsWith('.test.yaml')).sort()).toEqual(named('.yaml'));
    expect(files.filter((file) => file.endsWith('.test.yaml')).sort()).toEqual(named('.test.yaml'));
    expect(readdirSync(`${FOLDER}fixtures`).sort()).toEqual([...named('.yaml'), ...named('.sim.yaml')].sort());
  });

  it.each(NAMES)('%s is sound, and says in an editor what it may hold', (name) => {
    const text = source(name) as SourceText;
    const { runbook, diagnostics } = checkRunbook(text, source);
    expect(diagnostics.map(({ code }) => code)).toEqual(MEANT[name] ?? []);
    expect(text.text.split('\n')[0]).toBe('# yaml-language-server: $schema=../schemas/runbook.schema.json');
    expect(runbook?.about?.length).toBeGreaterThan(20);
  });

  it.each(NAMES)('%s can be planned from its recording', (name) => {
    const { fixture } = fixtureOf(name);
    const loaded = load(name);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: fixture.inputs });
    const plan = planFor(loaded.runbook, inputs, { fixture, now: fixture.startMs });
    expect(plan.hash).toMatch(/^[0-9a-f]{8,}$/);
    expect(plan.rows.filter((row) => row.kind === 'request').length).toBeGreaterThan(0);
    expect(planFor(loaded.runbook, inputs, { fixture, now: fixture.startMs })).toEqual(plan);
  });
});

describe('recordings', () => {
  it.each(NAMES)('%s: recording again gives the same file', async (name) => {
    const loaded = load(name);
    const { recording, result } = await dryRun({
      loaded,
      inputs: inputValues(loaded.runbook, { pairs: pairs(name) }),
      run: `recorded-${name}`,
      at: START,
      seed: 1,
      store: new MemoryStore(),
      venue: { kind: 'simulated', config: readSimulatorFile(`${FOLDER}fixtures/${name}.sim.yaml`), record: true },
    });
    expect(result).toMatchObject({ outcome: 'succeeded' });
    if (recording === undefined) throw new Error('nothing was recorded');
    expect(recording.exchanges.length).toBeLessThan(150);
    await expect(writeFixture(recording)).toMatchFileSnapshot(`${FOLDER}fixtures/${name}.yaml`);
  });

  it.each(NAMES)('%s: a dry-run from it succeeds, and again, and is the same', async (name) => {
    const first = await fromFixture(name, 'the-first');
    const second = await fromFixture(name, 'another-name');
    expect(first.report).toMatchObject({ outcome: 'succeeded', mode: 'fixtures' });
    expect(first.report.requests.length).toBe(fixtureOf(name).fixture.exchanges.length);
    expect(withoutNames(second)).toEqual(withoutNames(first));
  });

  it.each(NAMES)('%s: its journal replays', async (name) => {
    const { entries } = await fromFixture(name, 'replayed');
    const loaded = load(name);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: fixtureOf(name).fixture.inputs });
    await expect(replayRun(entries, loaded, inputs)).resolves.toBeUndefined();
  });
});
