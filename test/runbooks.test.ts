import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readFixtureFile } from '../src/app/files/fixture.ts';
import { inputValues } from '../src/app/files/load.ts';
import { planFor } from '../src/app/plan.ts';
import { type DryRun, dryRun, replayRun } from '../src/app/run/virtual-run.ts';
import { sha256 } from '../src/base/digest.ts';
import { writeFixture } from '../src/gateway/fixture/text.ts';
import type { Entry } from '../src/journal/entry.ts';
import { MemoryStore } from '../src/journal/stores/memory.ts';
import type { RunReport } from '../src/report/folds/run.ts';
import { checkRunbook } from '../src/runbook/check.ts';
import { formatDocument } from '../src/runbook/document/format.ts';
import { testing } from './cli/testing-bench.ts';
import { findDeparture } from './engine/chart-oracle.ts';
import { START } from './engine/stage.ts';
import { countSpent, findExceeded, findUnplanned } from './plan/against-plan.ts';
import { makeRunReport } from './report/whole-run.ts';
import {
  loadShipped,
  SHIPPED,
  SHIPPED_FOLDER,
  shippedInputs,
  shippedSource,
  shippedVenue,
} from './shipped-runbooks.ts';

/** They end early as meant: no one answers in a recording. */
const STOPPED: ReadonlySet<string> = new Set(['emergency', 'weekend-flatten']);
const outcomeOf = (name: string) => (STOPPED.has(name) ? 'stopped' : 'succeeded');

/** Intended warnings: one input is for people. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  flatten: ['unused-input'],
};

/** Lines without comments and blank ones. */
const MOST_LINES: Readonly<Record<string, number>> = {
  'bracket-entry': 60,
  dca: 30,
  emergency: 80,
  flatten: 51,
  grid: 35,
  'health-check': 43,
  housekeeping: 55,
  iceberg: 72,
  ladder: 55,
  'maintenance-window': 89,
  oco: 20,
  pair: 72,
  peg: 25,
  rebalance: 60,
  requote: 49,
  'scale-out': 81,
  'trailing-stop': 97,
  'triple-barrier': 25,
  twap: 30,
  'weekend-flatten': 33,
  'weekly-buy': 93,
};

/** The examples of the language design keep the layout that they have there. */
const AS_GIVEN: ReadonlySet<string> = new Set(['bracket-entry', 'flatten', 'housekeeping', 'ladder', 'requote']);

/** These say what can go wrong beside their steps. */
const EARLIER: ReadonlySet<string> = new Set(['maintenance-window', 'trailing-stop', 'triple-barrier', 'weekly-buy']);

interface Rehearsed {
  readonly report: RunReport;
  readonly entries: readonly Entry[];
}

async function rehearse(options: Omit<DryRun, 'store'>): Promise<Rehearsed> {
  const entries: Entry[] = [];
  await dryRun({ ...options, store: new MemoryStore(), onEntry: (entry) => entries.push(entry) });
  return { entries, report: makeRunReport(entries) };
}

function fixtureOf(name: string) {
  const { fixture, source: text } = readFixtureFile(`${SHIPPED_FOLDER}fixtures/${name}.yaml`);
  return {
    fixture,
    venue: { kind: 'fixtures', fixture, file: `fixtures/${name}.yaml`, sha256: sha256(text.text) } as const,
  };
}

/** Runs against the recording, with the inputs it was made with. */
function fromFixture(name: string, run: string): Promise<Rehearsed> {
  const { fixture, venue } = fixtureOf(name);
  const loaded = loadShipped(name);
  const inputs = inputValues(loaded.runbook, { pairs: [], recorded: fixture.inputs });
  return rehearse({ loaded, inputs, run, at: fixture.startMs, seed: 1, venue });
}

const rehearsals = new Map<string, Promise<Rehearsed>>();

/** One run against the recording, for all that is asked of its journal. */
function rehearsed(name: string): Promise<Rehearsed> {
  const known = rehearsals.get(name) ?? fromFixture(name, 'the-first');
  rehearsals.set(name, known);
  return known;
}

/** The report without the run's name, and without the order ids that derive from it. */
function withoutNames({ report }: Rehearsed): unknown {
  const ids = report.orders.map(({ clientOrderId }) => clientOrderId);
  const text = ids.reduce((json, id, index) => json.replaceAll(id, `order ${index + 1}`), JSON.stringify(report));
  return JSON.parse(text.replaceAll(report.run, 'run'));
}

describe('the runbooks that ship', () => {
  it('are listed, each with a recording, its simulated venue and a test file', () => {
    const files = readdirSync(SHIPPED_FOLDER).filter((file) => file.endsWith('.yaml'));
    const named = (ending: string) => SHIPPED.map((name) => `${name}${ending}`).sort();
    expect(files.filter((file) => !file.endsWith('.test.yaml')).sort()).toEqual(named('.yaml'));
    expect(files.filter((file) => file.endsWith('.test.yaml')).sort()).toEqual(named('.test.yaml'));
    expect(readdirSync(`${SHIPPED_FOLDER}fixtures`).sort()).toEqual([...named('.yaml'), ...named('.sim.yaml')].sort());
  });

  it.each(SHIPPED)('%s is valid, and names its schema for editors', (name) => {
    const text = shippedSource(name) ?? { file: name, text: '' };
    const { runbook, diagnostics } = checkRunbook(text, shippedSource);
    expect(diagnostics.map(({ code }) => code)).toEqual(MEANT[name] ?? []);
    expect(text.text.split('\n')[0]).toBe('# yaml-language-server: $schema=../schemas/runbook.schema.json');
    expect(runbook?.about?.length).toBeGreaterThan(20);
  });

  it.each(SHIPPED)('%s declares what it leaves, and is no longer than its job', (name) => {
    const text = shippedSource(name)?.text ?? '';
    expect(text).toMatch(/^leaves:/m);
    const lines = text.split('\n').filter((line) => !/^\s*(#|$)/.test(line));
    expect(lines.length).toBeLessThanOrEqual(MOST_LINES[name] ?? 0);
  });

  it.each(SHIPPED.filter((name) => !AS_GIVEN.has(name)))('%s is in block style, and says what can go wrong', (name) => {
    for (const each of [name, `${name}.test`]) {
      const source = shippedSource(each) ?? { file: each, text: '' };
      expect(formatDocument(source)).toEqual({ text: source.text });
    }
    if (!EARLIER.has(name)) expect(shippedSource(name)?.text).toMatch(/^# Leaves: .+/m);
  });

  it.each(SHIPPED)('%s can be planned from its recording', (name) => {
    const { fixture } = fixtureOf(name);
    const loaded = loadShipped(name);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: fixture.inputs });
    const plan = planFor(loaded.runbook, inputs, { fixture, now: fixture.startMs });
    expect(plan.hash).toMatch(/^[0-9a-f]{8,}$/);
    expect(plan.rows.filter((row) => row.kind === 'request').length).toBeGreaterThan(0);
    expect(planFor(loaded.runbook, inputs, { fixture, now: fixture.startMs })).toEqual(plan);
  });
});

describe('recordings', () => {
  it.each(SHIPPED)('%s: recording again writes the same file', async (name) => {
    const loaded = loadShipped(name);
    const { recording, result } = await dryRun({
      loaded,
      inputs: shippedInputs(name, loaded),
      run: `recorded-${name}`,
      at: START,
      seed: 1,
      store: new MemoryStore(),
      venue: { kind: 'simulated', config: shippedVenue(name), record: true },
    });
    expect(result).toMatchObject({ outcome: outcomeOf(name) });
    if (recording === undefined) throw new Error('nothing was recorded');
    expect(recording.exchanges.length).toBeLessThan(150);
    await expect(writeFixture(recording)).toMatchFileSnapshot(`${SHIPPED_FOLDER}fixtures/${name}.yaml`);
  });

  it.each(SHIPPED)('%s: a dry-run from it ends as meant, with as many requests', async (name) => {
    const { report } = await rehearsed(name);
    expect(report).toMatchObject({ outcome: outcomeOf(name), mode: 'fixtures' });
    expect(report.requests.length).toBe(fixtureOf(name).fixture.exchanges.length);
  });

  it.each(SHIPPED)('%s: another dry-run from it has the same report', { tags: ['long'] }, async (name) => {
    const second = await fromFixture(name, 'another-name');
    expect(withoutNames(second)).toEqual(withoutNames(await rehearsed(name)));
  });

  it.each(SHIPPED)('%s: sends what its plan says, within its bounds', async (name) => {
    const { entries } = await rehearsed(name);
    const { fixture } = fixtureOf(name);
    const loaded = loadShipped(name);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: fixture.inputs });
    const plan = planFor(loaded.runbook, inputs, { fixture, now: fixture.startMs });
    expect(findExceeded(plan, entries)).toEqual([]);
    expect(findUnplanned(plan, entries)).toEqual([]);
    expect(countSpent(entries).tokensPerMinute).toBeLessThanOrEqual(plan.pathTokensPerMinute);
  });

  it.each(SHIPPED)('%s: its journal replays', async (name) => {
    const { entries } = await rehearsed(name);
    const loaded = loadShipped(name);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: fixtureOf(name).fixture.inputs });
    await expect(replayRun(entries, loaded, inputs)).resolves.toBeUndefined();
  });

  it.each(SHIPPED)('%s: its journal is a path through its chart', async (name) => {
    const { entries } = await rehearsed(name);
    expect(findDeparture(loadShipped(name).runbook, entries)).toBeUndefined();
  });
});

describe('test files', () => {
  it.each(SHIPPED)('%s: every case passes, a story too, and every rule is used', (name) => testShipped(name, 1));

  it.each(SHIPPED)('%s: no story breaks a guarantee', { tags: ['long'], timeout: 300_000 }, (name) =>
    testShipped(name, 30),
  );
});

async function testShipped(name: string, explore: number): Promise<void> {
  const texts = SHIPPED.map((each) => [`${each}.yaml`, shippedSource(each)?.text ?? '']);
  const { files } = await testing(
    {
      ...Object.fromEntries(texts),
      [`${name}.test.yaml`]: shippedSource(`${name}.test`)?.text ?? '',
    },
    { textToo: false, explore },
  );
  const cases = files.flatMap((file) => file.cases);
  expect(cases.filter(({ ok, unusedRules }) => !ok || unusedRules.length > 0)).toEqual([]);
  // The success case and at least three failures.
  expect(cases.length).toBeGreaterThanOrEqual(4);
}
