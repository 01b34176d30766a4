/** `runbook paper`: executes a runbook with live feeds in real time, and its orders at the simulated venue. */
import { refuseUnready } from '../../app/account/readiness.ts';
import { reportCrash } from '../../app/crash-report.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { inputValues, loadRunbook } from '../../app/files/load.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { endDeadPaperRuns } from '../../app/paper/dead-runs.ts';
import { openQuotes, runOnPaper } from '../../app/paper/paper-run.ts';
import { exitAfter, type Signal } from '../../app/process.ts';
import { readAnswers } from '../../app/rehearsal/answers.ts';
import { makeRunName } from '../../app/run/first-entry.ts';
import { accessStore, chooseStorePlace, describePlace, isThere } from '../../app/stores/location.ts';
import { SystemClock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import type { OperatorCommand } from '../../engine/ports.ts';
import type { Entry } from '../../journal/entry.ts';
import { combineKillSwitches } from '../../journal/shared/account-guard.ts';
import type { Shared } from '../../journal/shared/shared.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import { fromStore } from '../../report/export/run-report.ts';
import { RunOutlineFold } from '../../report/folds/run.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { readSeedOption } from '../option-values.ts';
import { showReport } from '../terminal/run-end.ts';
import { interrupts } from '../terminal/signals.ts';

export async function runPaper(
  options: Given<'paper'>,
  { terminal, state, environment }: Invocation,
): Promise<ExitCode> {
  const loaded = loadRunbook(options.file, terminal);
  const profile = readProfileFile(options.profile, terminal);
  refuseUnready(loaded.runbook, profile);
  const inputs = inputValues(loaded.runbook, { pairs: options.input, file: options.inputs });
  const answers = readAnswers(options.answer, loaded.runbook);
  const seed = readSeedOption(options.seed);
  const clock = new SystemClock();
  const quotes = openQuotes(profile, clock, {
    NODE_TLS_REJECT_UNAUTHORIZED: environment.variable('NODE_TLS_REJECT_UNAUTHORIZED'),
  });
  const store = await openSqliteStore(state.file('runbook.db'));
  const shared = await accessStore({ kind: 'sqlite', file: state.file('runbook.db') }, environment).openShared();
  const ofAccount = await openAccountShared(profile, { terminal, state, environment });
  for (const dead of await endDeadPaperRuns(store, clock))
    terminal.note(`run ${dead}, on paper, has ended as failed: its process died`);
  const fold = new RunOutlineFold();
  const run = makeRunName(loaded.runbook.name);
  let interrupted: Signal | undefined;
  let act: ((command: OperatorCommand, actor: string) => void) | undefined;
  const stopListening = interrupts.on((signal) => {
    interrupted ??= signal;
    act?.({ command: 'interrupt', by: signal }, 'process');
  });
  terminal.note(
    `on paper: feeds of ${profile.baseUrl}, orders at the simulated venue; run ${run}, Ctrl-C ends it cleanly`,
  );
  try {
    const { outcome } = await runOnPaper({
      loaded,
      inputs,
      profile,
      run,
      seed,
      store,
      clock,
      quotes,
      shared:
        ofAccount === undefined
          ? shared
          : { ...shared, killSwitch: combineKillSwitches(shared.killSwitch, ofAccount.killSwitch) },
      answers,
      onBegin: (pass) => {
        act = pass;
        if (interrupted !== undefined) pass({ command: 'interrupt', by: interrupted }, 'process');
      },
      onEntry: (entry: Entry) => {
        fold.apply(entry);
        if (entry.type === 'step.started') terminal.progress(`${loaded.runbook.name} on paper: ${entry.step}`);
      },
      onCrash: (error) => terminal.complain(reportCrash(error, ['paper', options.file], state, environment)),
    });
    terminal.endProgress();
    await showReport(fromStore(store, run, fold), terminal);
    if (outcome === 'halted') return EXIT.halted;
    if (interrupted !== undefined) return exitAfter(interrupted);
    return outcome === 'failed' ? EXIT.failed : EXIT.done;
  } finally {
    stopListening();
    await quotes.close();
    await ofAccount?.close();
    await shared.close();
    await store.close();
  }
}

/**
 * Opens what processes share beside the account's live runs, where the profile keeps those elsewhere: the kill switch of the account is
 * there. One that cannot be opened keeps no paper run back, which sends nothing.
 */
async function openAccountShared(
  profile: Profile,
  { terminal, state, environment }: Pick<Invocation, 'terminal' | 'state' | 'environment'>,
): Promise<Shared | undefined> {
  const place = chooseStorePlace(profile, state);
  if (profile.store === undefined || !isThere(place)) return undefined;
  try {
    return await accessStore(place, environment).openShared();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    terminal.complain(
      `the kill switch in ${makePrintable(describePlace(place), 300)} does not hold for this run on paper: ${error.message}`,
    );
    return undefined;
  }
}
