/**
 * The short forms of what the package offers to programs: check a text, read inputs, plan, dry-run, fold a journal. src/index.ts
 * exports them beside the parts they are made of.
 */
import { type PlacedDiagnostic, placeDiagnostic, type SourceText, sortForReading } from '../base/diagnostic.ts';
import type { Fixture } from '../gateway/fixture/fixture.ts';
import { readStoredLine } from '../journal/archive/archive.ts';
import type { Entry } from '../journal/entry.ts';
import { readLines } from '../journal/reading.ts';
import type { JournalStore } from '../journal/store.ts';
import { MemoryStore } from '../journal/stores/memory.ts';
import { type BudgetDocument, BudgetFold } from '../report/folds/budget.ts';
import { type FillsDocument, summarizeFills } from '../report/folds/fills.ts';
import { OrderFold, type OrderHistory } from '../report/folds/orders.ts';
import { RunFold, type RunReport } from '../report/folds/run.ts';
import type { Value } from '../runbook/values.ts';
import type { Profile } from '../venue/profile/profile.ts';
import { EXIT, UserError } from './errors.ts';
import { checkSources, inputValues, type LoadedRunbook } from './files/load.ts';
import { makePlanDocument, planFor } from './plan.ts';
import { type DryRun, dryRun as execute } from './run/virtual-run.ts';

export interface CheckResult {
  /** Absent where a diagnostic is an error. */
  readonly loaded?: LoadedRunbook;
  /** In reading order, with lines and columns from 1. */
  readonly diagnostics: readonly PlacedDiagnostic[];
}

/**
 * Checks the text of a runbook offline: shape, names, types, units, limits. `load` gives the text of a runbook that it calls, by
 * name; without it no call can be resolved. Never throws for what an author wrote.
 */
export function checkText(
  source: SourceText,
  load: (name: string) => SourceText | undefined = () => undefined,
): CheckResult {
  const { diagnostics, ...checked } = checkSources(source, load);
  return { ...checked, diagnostics: sortForReading(diagnostics).map(placeDiagnostic) };
}

/**
 * Values for a runbook's inputs, read by their declared types; defaults fill what is missing. Decimals are texts (`'0.25'`), so
 * that no digit is lost; lists and maps are given as such. Throws a UserError that names every input that is wrong, unknown
 * or missing.
 */
export function readInputs(
  { runbook }: LoadedRunbook,
  given: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, Value>> {
  return inputValues(runbook, {
    pairs: Object.entries(given).map(([name, value]) => `${name}=${inputText(name, value)}`),
  });
}

function inputText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw new UserError(
      `input ${name}: give a decimal as text, such as '0.25'; found the number ${value}`,
      EXIT.usage,
      'input',
    );
  return JSON.stringify(value) ?? '';
}

export interface PlanOptions {
  readonly inputs: Readonly<Record<string, Value>>;
  /** The deployment that limits and markets are taken from; the simulated venue without it. */
  readonly profile?: Profile;
  /** Recorded answers that reads and feeds are filled from. */
  readonly fixture?: Fixture;
  /** Epoch ms that `now` stands for. */
  readonly now: number;
}

/** Requests, sections and bounds, as `plan --json` prints them (interface.md, JSON). */
export type PlanDocument = ReturnType<typeof makePlanDocument>;

/** What a run would send: every request with its parameters and tokens, what a failure adds, the bounds, and the hash a person approves. */
export function planRun({ runbook }: LoadedRunbook, { inputs, profile, fixture, now }: PlanOptions): PlanDocument {
  return makePlanDocument(planFor(runbook, inputs, { profile, fixture, now }));
}

export type DryRunOptions = Partial<Pick<DryRun, 'run' | 'seed' | 'venue' | 'trigger' | 'onEntry'>> & {
  readonly inputs: Readonly<Record<string, Value>>;
  /** Epoch ms at which virtual time begins. */
  readonly at: number;
  /** Where the journal is written; in memory without it. */
  readonly store?: JournalStore;
};

export interface DryRunOutcome {
  /** As `dry-run --json` prints it (interface.md, JSON). */
  readonly report: RunReport;
  /** As the journal has them: those of a round that changed nothing bear the number and hash of the line that holds it. */
  readonly entries: readonly Entry[];
  /** With `venue: {kind: 'simulated', record: true}`. */
  readonly recording?: Fixture;
}

/**
 * Executes a runbook in virtual time against the simulated venue or a fixture; opens no socket and reads no clock. The same
 * options give the same journal.
 */
export async function dryRun(loaded: LoadedRunbook, options: DryRunOptions): Promise<DryRunOutcome> {
  const fold = new RunFold();
  const { store = new MemoryStore(), run = 'dry-run' } = options;
  const { recording } = await execute({
    seed: 1,
    venue: { kind: 'simulated' },
    ...options,
    store,
    run,
    loaded,
    onEntry(entry) {
      fold.apply(entry);
      options.onEntry?.(entry);
    },
  });
  return {
    report: fold.report(),
    entries: [...readLines(await store.read(run))],
    ...(recording === undefined ? {} : { recording }),
  };
}

/** The entries of an exported journal (`audit export --format jsonl`). Throws a StoreError for a line that is no entry. */
export function readExport(text: string): readonly Entry[] {
  const lines = text.split('\n').filter((line) => line !== '');
  const stored = lines.map((line, index) => ({ ...readStoredLine('', line, index + 1), run: runOf(line) }));
  return [...readLines(stored)];
}

function runOf(line: string): string {
  return /"run":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? '';
}

export interface JournalFolds {
  readonly report: RunReport;
  readonly orders: { readonly orders: readonly OrderHistory[] };
  readonly fills: FillsDocument;
  readonly budget: BudgetDocument;
}

/** What a journal says of its run: the report, its orders with their histories, its fills, its tokens. */
export function foldJournal(entries: readonly Entry[]): JournalFolds {
  const [run, orders, budget] = [new RunFold(), new OrderFold(), new BudgetFold()];
  for (const entry of entries) for (const fold of [run, orders, budget]) fold.apply(entry);
  return {
    report: run.report(),
    orders: { orders: orders.histories() },
    fills: summarizeFills(orders.orders()),
    budget: budget.document(),
  };
}
