/**
 * The library: what the command `runbook` does, for programs. docs/library.md shows it in use; docs/versions.md says what may
 * change. Everything that is not exported here is internal.
 */

// Live: an account is opened, a run is executed or resumed under its lease.
export { type Account, openAccount } from './app/account/account.ts';
export type { AppContext } from './app/context.ts';
export { type Environment, environmentOf } from './app/environment.ts';
export { EXIT, type ExitCode, UserError } from './app/errors.ts';
export { readFixtureFile } from './app/files/fixture.ts';
export type { LoadedRunbook } from './app/files/load.ts';
export { loadRunbook } from './app/files/load.ts';
export { readProfileFile } from './app/files/profile.ts';
export { readSimulatorFile } from './app/files/simulator.ts';
// Check, plan, dry-run, fold: no socket, no clock, no file.
export {
  type CheckResult,
  checkText,
  type DryRunOptions,
  type DryRunOutcome,
  dryRun,
  foldJournal,
  type JournalFolds,
  type PlanDocument,
  type PlanOptions,
  planRun,
  readExport,
  readInputs,
} from './app/library.ts';
export type { ActingContext, EndProcess, Interrupts, Signal } from './app/process.ts';
export { executeRun, type RunRequest, resumeRun } from './app/run/execution.ts';
export { LiveRun } from './app/run/live-run.ts';
export type { EndedRun } from './app/run/outcome.ts';
export { replayRun } from './app/run/virtual-run.ts';
export { type StateFolder, stateFolder } from './app/state.ts';
export { ENGINE_VERSION } from './app/version.ts';
export { SILENT, type Voice } from './app/voice.ts';
export type { Diagnostic, PlacedDiagnostic, SourceText } from './base/diagnostic.ts';
export { Divergence } from './engine/playback/playback.ts';
// The journal: its entries, where they are kept, and the chain that proves them.
export { readEntry, sealEntry, verifyChain } from './journal/chain.ts';
export type { Entry, EntryOf, EntryType } from './journal/entry.ts';
export { ENTRY_VERSION } from './journal/entry.ts';
export { readLines } from './journal/reading.ts';
export { type JournalReader, type JournalStore, type StoredEntry, StoreError } from './journal/store.ts';
export { MemoryStore } from './journal/stores/memory.ts';
export { openSqliteStore } from './journal/stores/sqlite.ts';
// Folds over entries, one at a time; the report of a run that has ended, from its journal.
export { type ReportSource, readRunReport, writeRunReport } from './report/export/run-report.ts';
export { BudgetFold } from './report/folds/budget.ts';
export { OrderFold } from './report/folds/orders.ts';
export { RunFold, type RunReport } from './report/folds/run.ts';
export { orderMachine } from './venue/order/machine.ts';
// The venue as data: profile, orders and their machine.
export { ORDER_STATES, type OrderState } from './venue/order/states.ts';
export type { Profile } from './venue/profile/profile.ts';
