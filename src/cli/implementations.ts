/** The function of each command. A module is loaded when its command is called, never before, so that `--help` stays fast. */
import type { ExitCode } from '../app/errors.ts';
import type { CommandName, Given } from './actions/actions.ts';
import type { Invocation } from './invocation.ts';
import type { Call } from './program.ts';

/** Runs a command with what the program has read and checked against the command's row. */
export async function runCommand({ name, given }: Call, invocation: Invocation): Promise<ExitCode> {
  const command = (await IMPLEMENTATIONS[name as CommandName]()) as (
    given: Call['given'],
    invocation: Invocation,
  ) => Promise<ExitCode>;
  return command(given, { ...invocation, archive: given.archive as string | undefined });
}

type Implementations = {
  readonly [N in CommandName]: () => Promise<(given: Given<N>, invocation: Invocation) => Promise<ExitCode>>;
};

const IMPLEMENTATIONS: Implementations = {
  'account ledger': async () => (await import('./ledger/commands.ts')).showLedger,
  'account rebuild': async () => (await import('./ledger/commands.ts')).rebuildLedger,
  'account reconcile': async () => (await import('./ledger/commands.ts')).reconcileLedger,
  'account baseline': async () => (await import('./ledger/commands.ts')).stateBaseline,
  'audit pnl': async () => (await import('./ledger/trading.ts')).showPnl,
  'audit blotter': async () => (await import('./ledger/trading.ts')).showBlotter,
  'audit people': async () => (await import('./ledger/people.ts')).showPeople,
  test: async () => (await import('./commands/test.ts')).testFiles,
  'audit serve': async () => (await import('./serve/serve.ts')).serveAudit,
  schedule: async () => (await import('./commands/schedule.ts')).runSchedules,
  'schedule preview': async () => (await import('./commands/schedule-preview.ts')).previewSchedules,
  record: async () => (await import('./authoring/record.ts')).convertRecording,
  completion: async () => (await import('./commands/completion.ts')).printCompletion,
  validate: async () => (await import('./authoring/validate.ts')).validateFiles,
  explain: async () => (await import('./authoring/explain.ts')).printExplanation,
  fmt: async () => (await import('./authoring/fmt.ts')).formatFiles,
  watch: async () => (await import('./authoring/watch.ts')).watchFile,
  lsp: async () => (await import('./authoring/lsp.ts')).serveLanguage,
  init: async () => (await import('./authoring/init.ts')).createProject,
  new: async () => (await import('./authoring/new.ts')).createRunbook,
  'audit list': async () => (await import('./audit/list.ts')).listRuns,
  'audit summary': async () => (await import('./audit/summary.ts')).summarise,
  'audit show': async () => (await import('./audit/show.ts')).showRun,
  'audit orders': async () => (await import('./audit/orders.ts')).showOrders,
  'audit fills': async () => (await import('./audit/fills.ts')).showFills,
  'audit budget': async () => (await import('./audit/budget.ts')).showBudget,
  'audit verify': async () => (await import('./audit/verify.ts')).verify,
  'audit diff': async () => (await import('./audit/diff.ts')).showDiff,
  'audit stats': async () => (await import('./audit/stats.ts')).showStats,
  'audit kills': async () => (await import('./audit/kills.ts')).listKills,
  'audit schedule': async () => (await import('./ledger/occurrences.ts')).showSchedule,
  'audit export': async () => (await import('./audit/export.ts')).exportRun,
  'audit reconcile': async () => (await import('./audit/reconcile.ts')).reconcileRun,
  'audit replay': async () => (await import('./audit/replay.ts')).proveRun,
  'audit archive': async () => (await import('./audit/archive.ts')).archiveRuns,
  graph: async () => (await import('./authoring/graph.ts')).showGraph,
  plan: async () => (await import('./commands/plan.ts')).planFile,
  'dry-run': async () => (await import('./rehearsal/dry-run.ts')).dryRunFile,
  paper: async () => (await import('./rehearsal/paper.ts')).runPaper,
  rehearse: async () => (await import('./rehearsal/rehearse.ts')).rehearseRun,
  run: async () => (await import('./commands/run.ts')).runFile,
  resume: async () => (await import('./commands/run.ts')).resumeRuns,
  cancel: async () => (await import('./commands/approve-cancel.ts')).cancelRun,
  approve: async () => (await import('./commands/approve-cancel.ts')).approveStep,
  reject: async () => (await import('./commands/approve-cancel.ts')).rejectStep,
  kill: async () => (await import('./commands/kill.ts')).killUntilSignal,
  release: async () => (await import('./commands/kill.ts')).releaseAccount,
  doctor: async () => (await import('./commands/doctor.ts')).examine,
  sim: async () => (await import('./commands/sim.ts')).serveSimulator,
  replay: async () => (await import('./audit/replay.ts')).replay,
  backup: async () => (await import('./commands/backup.ts')).backUp,
  restore: async () => (await import('./commands/backup.ts')).restore,
  'account adopt': async () => (await import('./commands/adopt.ts')).adoptOrders,
};
